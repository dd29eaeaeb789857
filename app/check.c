/* facet check: reads a case and its mesh, puts the one on the other, and reports what it found without
 * solving anything. A mesh file by itself gets the report of the mesh. */
#include <string.h>

#include "app/app.h"

static facet_status report_mesh(const facet_mesh *mesh, struct text *out) {
    struct mesh_quality q;
    facet_status status = mesh_measure_quality(mesh, &q);
    if (status != FACET_OK) return status;
    text_printf(out, "mesh      %s:", report_number_of(mesh->n_cells, "cell").text);
    for (int b = 0; b < mesh->n_blocks; b++)
        text_printf(out, "%s %s %s", b ? "," : "", report_count(mesh->blocks[b].count).text,
                    shape_name(mesh->blocks[b].shape));
    text_printf(out, "\n          %s, %s of them on the boundary; %s vertices\n",
                report_number_of(mesh->n_faces, "face").text, report_count(mesh->n_boundary_faces).text,
                report_count(mesh->n_vertices).text);
    text_printf(out, "geometry  order %d, %s\n", mesh->order,
                report_number_of(q.n_curved, "curved cell").text);
    text_printf(out, "          [%.6g, %.6g] x [%.6g, %.6g]", q.lower[0], q.upper[0], q.lower[1], q.upper[1]);
    if (mesh->dim == 3) text_printf(out, " x [%.6g, %.6g]", q.lower[2], q.upper[2]);
    text_printf(out, ", %s %.10g\n", mesh->dim == 2 ? "area" : "volume", q.volume);
    text_printf(
        out,
        "quality   cell sizes %.4g to %.4g; smallest Jacobian %.3g of the largest in its cell (cell %d)\n",
        q.smallest_diameter, q.largest_diameter, q.smallest_jacobian, q.smallest_jacobian_cell);
    return FACET_OK;
}

static void put_vector(const char *name, const struct case_vector *vector, struct text *out) {
    if (vector->n == 0) return;
    text_printf(out, ", %s: %s", name, vector->n > 1 ? "[" : "");
    for (int i = 0; i < vector->n; i++)
        text_printf(out, "%s%s", i > 0 ? ", " : "", vector->texts[i].text ? vector->texts[i].text : "null");
    text_printf(out, "%s", vector->n > 1 ? "]" : "");
}

static void put_condition(const struct case_boundary *b, struct text *out) {
    put_vector("displacement", &b->displacement, out);
    put_vector("traction", &b->traction, out);
    put_vector("gradient_pressure", &b->gradient_pressure, out);
    if (b->condition == CASE_MECHANICAL || b->condition == CASE_GRADIENT_PRESSURE) return;
    if (b->condition == CASE_ROBIN)
        text_printf(out, ", robin: {a: %s, g: %s}", b->a.text, b->g.text);
    else
        text_printf(out, ", %s: %s", b->condition == CASE_DIRICHLET ? "dirichlet" : "neumann", b->g.text);
}

/* The groups of cells or of faces, a line each, with what the case (or NULL) says about them. */
static void report_groups(const facet_mesh *mesh, int dim, const struct case_file *file, struct text *out) {
    int n = 0;
    for (int g = 0; g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        if (group->dim != dim) continue;
        text_printf(out, "%-9s %-16s %s",
                    n++                ? ""
                    : dim == mesh->dim ? "regions"
                                       : "parts",
                    group->name, report_number_of(group->count, dim == mesh->dim ? "cell" : "face").text);
        int named = -1, rest = -1;
        for (int i = 0; file && dim < mesh->dim && i < file->n_boundary; i++) {
            if (!strcmp(file->boundary[i].on, group->name)) named = i;
            if (!strcmp(file->boundary[i].on, "rest")) rest = i;
        }
        if (named < 0) named = rest;
        if (named >= 0)
            put_condition(&file->boundary[named], out);
        else if (file && dim < mesh->dim && file->exact.n > 0)
            text_printf(out, ", %s: exact", physics_of(file->equation)->parts[0]);
        text_printf(out, "\n");
    }
    if (n == 0) text_printf(out, "%-9s none is named\n", dim == mesh->dim ? "regions" : "parts");
}

static int is_mesh_file(const char *path) {
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".msh") == 0;
}

static facet_status check_mesh(facet_context *context, const char *path, struct text *out) {
    facet_status status = FACET_OK;
    facet_mesh *mesh = NULL;
    TRY(facet_mesh_read(context, path, &mesh));
    text_printf(out, "file      %s\n", path);
    TRY(report_mesh(mesh, out));
    report_groups(mesh, mesh->dim, NULL, out);
    report_groups(mesh, mesh->dim - 1, NULL, out);
done:
    facet_mesh_destroy(&mesh);
    return status;
}

static facet_status check_case(const struct app_options *options, facet_context *context, struct text *out) {
    facet_status status = FACET_OK;
    struct case_file *file = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    struct hdg_mismatch mismatch;
    int64_t unknowns[2];
    TRY(case_read(options->arguments[0], options->n_settings, options->settings, &file));
    TRY(run_mesh(file, context, 0, &mesh));
    TRY(run_problem(file, context, mesh, &problem));
    text_printf(out, "case      %s%s%s\n", file->path, file->title ? ": " : "",
                file->title ? file->title : "");
    TRY(report_mesh(mesh, out));
    report_groups(mesh, mesh->dim, NULL, out);
    report_groups(mesh, mesh->dim - 1, file, out);
    TRY(run_check_data(file, problem, &mismatch, unknowns));
    text_printf(out, "unknowns  degree %d: ", file->options.degree);
    if (unknowns[0] < 0)
        text_printf(out, "%s\n", report_count(unknowns[1]).text);
    else
        text_printf(out, "%s on the trace, %s in the cells\n", report_count(unknowns[0]).text,
                    report_count(unknowns[1]).text);
    report_mismatch(&mismatch, out);
done:
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    case_destroy(&file);
    return status;
}

facet_status check_command(const struct app_options *options) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    struct text out = {0};
    TRY(app_context(options, &context));
    if (is_mesh_file(options->arguments[0]))
        TRY(check_mesh(context, options->arguments[0], &out));
    else
        TRY(check_case(options, context, &out));
    text_printf(&out, "good\n");
    TRY(report_put(stdout, &out));
done:
    text_free(&out);
    facet_context_destroy(&context);
    return status;
}
