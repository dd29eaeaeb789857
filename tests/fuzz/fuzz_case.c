/* Fuzzes the reader of case files and, where the case has a small box for a mesh, the making of the problem
 * it describes. What follows a NUL byte is the text of a --set. */
#include "fuzz.h"

#include "case/run_case.h"

#define MOST_CELLS 256

/* Mesh files are not followed: an input may name any file of the machine. */
static int is_small_box(const struct case_file *file) {
    const facet_box *box = &file->mesh.box;
    int64_t cells = 1;
    if (!file->mesh.is_box || file->mesh.refine > 1) return 0;
    for (int d = 0; d < box->dim; d++) {
        if (box->cells[d] < 1 || box->cells[d] > MOST_CELLS) return 0;
        cells *= box->cells[d];
    }
    return cells <= MOST_CELLS;
}

static facet_status use(const struct case_file *file) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    TRY(facet_context_create("ref", &context));
    TRY(run_mesh(file, context, 0, &mesh));
    TRY(run_problem(file, context, mesh, NULL, &problem));
done:
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct case_file *file = NULL;
    char *text = fuzz_text(data, size);
    const char *setting = memchr(text, '\0', size);
    size_t n = setting != NULL ? (size_t)(setting - text) : size;
    fuzz_begin();
    if (setting != NULL) setting++;
    facet_status status = case_read_bytes("fuzz.yaml", text, n, setting != NULL, &setting, &file);
    fuzz_check((status == FACET_OK) == (file != NULL), "a case with a failure, or none without one");
    if (file != NULL && is_small_box(file)) status = use(file);
    case_destroy(&file);
    free(text);
    fuzz_end(status);
    return 0;
}
