/* Fuzzes the Gmsh reader with the topology, the checks and the refinement behind it. A mesh that is accepted
 * must be one: its quality can be measured, and a small one refined and its cells found again. */
#include "fuzz.h"

#include <math.h>

#include "mesh/gmsh.h"

/* The middle of a cell lies in some cell. */
static facet_status locate_middle(const struct facet_mesh *mesh) {
    facet_status status = FACET_OK;
    struct mesh_locator *locator = NULL;
    const struct mesh_block *block = &mesh->blocks[0];
    double x[3] = {0}, xi[3];
    int32_t cell;
    for (int i = 0; i < block->n_nodes; i++)
        for (int d = 0; d < mesh->dim; d++) x[d] += block->nodes[i * mesh->dim + d] / block->n_nodes;
    TRY(mesh_locator_create(mesh, &locator));
    TRY(mesh_locate(locator, x, &cell, xi));
    fuzz_check(cell >= -1 && cell < mesh->n_cells, "a point was found in a cell that is none");
done:
    mesh_locator_destroy(&locator);
    return status;
}

static facet_status use(const struct facet_mesh *mesh) {
    facet_status status = FACET_OK;
    struct facet_mesh *fine = NULL;
    struct mesh_quality quality;
    TRY(mesh_measure_quality(mesh, &quality));
    fuzz_check(quality.volume > 0.0 && isfinite(quality.volume), "an accepted mesh has no volume");
    TRY(locate_middle(mesh));
    if (mesh->n_cells <= 64 && mesh->order <= 3) TRY(mesh_refine(mesh, &fine));
done:
    mesh_destroy(&fine);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct facet_mesh *mesh = NULL;
    char *bytes = fuzz_text(data, size);
    fuzz_begin();
    facet_status status = gmsh_read_bytes("fuzz.msh", bytes, size, &mesh);
    fuzz_check((status == FACET_OK) == (mesh != NULL), "a mesh with a failure, or none without one");
    if (mesh != NULL) status = use(mesh);
    mesh_destroy(&mesh);
    free(bytes);
    fuzz_end(status);
    return 0;
}
