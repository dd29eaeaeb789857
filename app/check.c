/* facet check: reads a case and its mesh, puts the one on the other, and reports what it found without
 * solving anything. A mesh file by itself gets the report of the mesh. */
#include <string.h>
#include <sys/stat.h>

#include "app/app.h"
#include "base/memory.h"
#include "case/places.h"
#include "mesh/part.h"

static facet_status report_mesh(const facet_mesh *mesh, struct text *out) {
    struct mesh_quality q;
    const struct mesh_counts counts = mesh_count(mesh);
    facet_status status = mesh_measure_quality(mesh, &q);
    if (status != FACET_OK) return status;
    text_printf(out, "mesh      %s:", report_number_of(counts.cells, "cell").text);
    for (int s = 0, n = 0; s < SHAPE_COUNT; s++)
        if (counts.shapes[s] > 0)
            text_printf(out, "%s %s %s", n++ ? "," : "", report_count(counts.shapes[s]).text,
                        shape_name((enum shape)s));
    text_printf(out, "\n          %s, %s of them on the boundary; %s vertices\n",
                report_number_of(counts.faces, "face").text, report_count(counts.boundary_faces).text,
                report_count(counts.vertices).text);
    text_printf(out, "geometry  order %d, %s\n", mesh->order,
                report_number_of(q.n_curved, "curved cell").text);
    text_printf(out, "          [%.6g, %.6g] x [%.6g, %.6g]", q.lower[0], q.upper[0], q.lower[1], q.upper[1]);
    if (mesh->dim == 3) text_printf(out, " x [%.6g, %.6g]", q.lower[2], q.upper[2]);
    text_printf(out, ", %s %.10g\n", mesh->dim == 2 ? "area" : "volume", q.volume);
    text_printf(
        out,
        "quality   cell sizes %.4g to %.4g; smallest Jacobian %.3g of the largest in its cell (cell %lld)\n",
        q.smallest_diameter, q.largest_diameter, q.smallest_jacobian, (long long)q.smallest_jacobian_cell);
    return FACET_OK;
}

/* How the mesh is shared out: a table of what the ranks have, and of each coarser mesh. */
static facet_status report_parts(const facet_mesh *mesh, struct text *out) {
    facet_status status = FACET_OK;
    if (mesh->part == NULL) return FACET_OK;
    struct base_team *team = mesh->part->team;
    const int all = team->outer != NULL ? team->outer->size : team->size;
    text_printf(out, "parts     %-12s %8s %10s %8s\n", report_number_of(team->size, "rank").text, "least",
                "mean", "most");
    for (const struct mesh_part *p = mesh->part; p != NULL; p = p->coarse) {
        static const char *const names[] = {"cells", "faces", "seam faces", "neighbours"};
        const double here[4] = {p->mesh->n_cells, p->mesh->n_faces, p->n_seam_faces, p->n_neighbours};
        double numbers[3][4];
        for (int k = 0; k < 3; k++) {
            memcpy(numbers[k], here, sizeof here);
            TRY(team_reduce(team, k == 0 ? TEAM_MIN : k == 1 ? TEAM_SUM : TEAM_MAX, 4, numbers[k]));
        }
        if (p != mesh->part)
            text_printf(out, "          of a coarser mesh of %s and %s\n",
                        report_number_of(p->n_cells, "cell").text, report_number_of(p->n_faces, "face").text);
        for (int i = 0; i < 4; i++)
            text_printf(out, "          %-12s %8.0f %10.1f %8.0f\n", names[i], numbers[0][i],
                        numbers[1][i] / team->size, numbers[2][i]);
    }
    if (all > team->size)
        text_printf(out, "          %s without cells: there are not enough of them\n",
                    report_number_of(all - team->size, "rank").text);
done:
    return status;
}

static void put_vector(const char *name, const struct case_vector *vector, struct text *out) {
    if (vector->n == 0) return;
    text_printf(out, ", %s: %s", name, vector->n > 1 ? "[" : "");
    for (int i = 0; i < vector->n; i++)
        text_printf(out, "%s%s", i > 0 ? ", " : "", vector->texts[i].text ? vector->texts[i].text : "null");
    text_printf(out, "%s", vector->n > 1 ? "]" : "");
}

static void put_condition(const struct case_boundary *b, struct text *out) {
    char rollers[8] = "";
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (b->held[i] == CASE_ROLLER) rollers[n++] = "xyz"[i], rollers[n] = '\0';
    if (b->symmetry) text_printf(out, ", symmetry: true");
    if (b->held[0] == CASE_FIXED) text_printf(out, ", fixed: true");
    if (n > 0) text_printf(out, ", roller: %s", rollers);
    put_vector("displacement", &b->displacement, out);
    if (b->pressure.text) text_printf(out, ", pressure: %s", b->pressure.text);
    put_vector("force", &b->force, out);
    if (b->n_spring == 1) text_printf(out, ", spring: %s", b->spring[0].text);
    if (b->n_spring == 2)
        text_printf(out, ", spring: {normal: %s, tangential: %s}", b->spring[0].text, b->spring[1].text);
    if (b->n_spring > 2) text_printf(out, ", spring: a matrix");
    put_vector("traction", &b->traction, out);
    put_vector("gradient_pressure", &b->gradient_pressure, out);
    if (b->condition == CASE_MECHANICAL || b->condition == CASE_GRADIENT_PRESSURE) return;
    if (b->condition == CASE_ROBIN)
        text_printf(out, ", robin: {a: %s, g: %s}", b->a.text, b->g.text);
    else
        text_printf(out, ", %s: %s",
                    b->condition == CASE_DIRICHLET    ? "dirichlet"
                    : b->condition == CASE_TOTAL_FLUX ? "total_flux"
                                                      : "neumann",
                    b->g.text);
}

/* What lies in the same place. */
static facet_status report_overlap(const facet_mesh *mesh, struct text *out) {
    facet_status status = FACET_OK;
    struct mesh_overlap overlap;
    struct mesh_quality q;
    char place[96];
    TRY(mesh_find_overlap(mesh, 1, &overlap));
    if (!overlap.found) goto done;
    TRY(mesh_measure_size(mesh, &q));
    const char *measure = mesh->dim == 2 ? "area" : "volume";
    text_printf(out, "overlap   allowed: cells %lld and %lld both occupy the space at %s\n",
                (long long)overlap.cells[0], (long long)overlap.cells[1],
                expr_point_text(mesh->dim, overlap.x, 6, place, sizeof place));
    text_printf(out,
                "          about %.3g of the %s of all cells, %.6g, is there more than once: the union has "
                "about %.4g\n",
                overlap.volume, measure, q.volume, q.volume - overlap.volume);
done:
    return status;
}

/* What no face connects, and what lies in the same place all the same, which is refused unless it may. */
static facet_status report_bodies(const facet_mesh *mesh, int may_overlap, struct text *out) {
    enum { MOST_SHOWN = 10 };
    facet_status status = FACET_OK;
    int32_t *piece = NULL, *count = NULL, n = 0;
    char place[96];
    TRY(may_overlap ? report_overlap(mesh, out) : mesh_refuse_overlap(mesh));
    if (mesh_is_box(mesh) || mesh->part != NULL) return FACET_OK; /* `facet check` looks at the whole */
    TRY(ALLOC(piece, mesh->n_cells));
    TRY(CALLOC(count, mesh->n_cells));
    mesh_find_pieces(mesh, piece);
    for (int32_t c = 0; c < mesh->n_cells; c++) n += count[piece[c]]++ == 0;
    if (n > 1) text_printf(out, "pieces    %s that no face connects\n", report_count(n).text);
    for (int32_t c = 0, shown = 0; c < mesh->n_cells && n > 1 && shown < MOST_SHOWN; c++)
        if (count[c] > 0 && shown++ >= 0)
            text_printf(out, "          %s, one at %s\n", report_number_of(count[c], "cell").text,
                        mesh_middle_text(mesh, c, -1, place, sizeof place));
    if (n > MOST_SHOWN) text_printf(out, "          and %s more\n", report_count(n - MOST_SHOWN).text);
done:
    base_free(&piece);
    base_free(&count);
    return status;
}

/* Boundary faces, or cells, that belong to no group. */
static facet_status count_rest(const facet_mesh *mesh, int dim, int64_t *n) {
    facet_status status = FACET_OK;
    uint8_t *named = NULL;
    int32_t count = dim == mesh->dim ? mesh->n_cells : mesh->n_faces;
    *n = 0;
    if (mesh_is_box(mesh)) return FACET_OK;
    TRY(CALLOC(named, count));
    for (int g = 0; g < mesh->n_groups; g++)
        for (int32_t i = 0; mesh->groups[g].dim == dim && i < mesh->groups[g].count; i++)
            named[mesh->groups[g].ids[i]] = 1;
    for (int32_t i = 0; i < count; i++) *n += !named[i] && (dim == mesh->dim || mesh_is_boundary(mesh, i));
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, n));
done:
    base_free(&named);
    return status;
}

/* The condition of a part, "rest" for what belongs to none. */
static void report_condition(const struct case_file *file, const char *part, struct text *out) {
    int named = -1, rest = -1;
    for (int i = 0; i < file->n_boundary; i++) {
        if (!strcmp(file->boundary[i].on, part)) named = i;
        if (!strcmp(file->boundary[i].on, "rest")) rest = i;
    }
    if (named < 0) named = rest;
    if (named >= 0)
        put_condition(&file->boundary[named], out);
    else if (file->exact.n > 0)
        text_printf(out, ", %s: exact", physics_of(file->equation)->parts[0]);
}

/* Whether a part is on the axis of a body of revolution: it has no condition then, not even that of `rest`.
 */
static int is_on_axis(const facet_mesh *mesh, const struct mesh_group *part, const struct case_file *file) {
    if (!file || file->options.plane != PLANE_AXISYMMETRIC || part->count == 0 || mesh->part != NULL)
        return 0;
    double size = problem_axis_size(mesh);
    for (int32_t i = 0; i < part->count; i++) {
        struct mesh_group_face face = mesh_group_face(mesh, part, i);
        if (face.is_inner || !problem_is_on_axis(mesh, size, face.cell, face.local)) return 0;
    }
    return 1;
}

/* ", area 1" of a group of faces; of those at a seam one rank counts each. */
static facet_status report_area(const facet_mesh *mesh, const struct mesh_group *part, struct text *out) {
    enum { MOST_POINTS = (MESH_MAX_ORDER + 2) * (MESH_MAX_ORDER + 2) };
    facet_status status = FACET_OK;
    struct mesh_rules *rules = NULL;
    double sum = 0.0, x[3 * MOST_POINTS], weights[MOST_POINTS];
    TRY(mesh_rules_create(mesh, mesh_is_box(mesh) ? 0 : 2 * mesh->order + 2, 1, &rules));
    for (int32_t i = 0; i < part->count; i++) {
        struct mesh_group_face face = mesh_group_face(mesh, part, i);
        if (mesh->part != NULL && !mesh->part->owns_face[part->ids[i]]) continue;
        mesh_rules_points(rules, face.cell, face.local, x, weights, NULL);
        for (int p = 0; p < mesh_rules_n(rules, face.cell, face.local); p++) sum += weights[p];
    }
    TRY(team_reduce(mesh_team(mesh), TEAM_SUM, 1, &sum));
    text_printf(out, ", %s %.6g", mesh->dim == 2 ? "length" : "area", sum);
done:
    mesh_rules_destroy(&rules);
    return status;
}

/* The groups of cells or of faces, a line each, with what the case (or NULL) says about them. */
static facet_status report_groups(const facet_mesh *mesh, int dim, const struct case_file *file,
                                  struct text *out) {
    facet_status status = FACET_OK;
    const char *title = dim == mesh->dim ? "regions" : "parts", *thing = dim == mesh->dim ? "cell" : "face";
    int64_t n_rest, count;
    int n = 0;
    for (int g = 0; g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        if (group->dim != dim) continue;
        TRY(mesh_count_group(mesh, group, &count));
        text_printf(out, "%-9s %-16s %s", n++ ? "" : title, group->name, report_number_of(count, thing).text);
        if (dim < mesh->dim) TRY(report_area(mesh, group, out));
        if (dim < mesh->dim && is_on_axis(mesh, group, file))
            text_printf(out, ", on the axis");
        else if (dim < mesh->dim && group->count > 0 && mesh_group_face(mesh, group, 0).is_inner)
            text_printf(out, problem_is_joined(mesh, group, 0) ? ", joined to the side that it repeats"
                                                               : ", inside the domain");
        else if (file && dim < mesh->dim)
            report_condition(file, group->name, out);
        text_printf(out, "\n");
    }
    TRY(count_rest(mesh, dim, &n_rest));
    if (n == 0) text_printf(out, "%-9s none is named\n", title);
    if (n_rest == 0 || (n == 0 && dim == mesh->dim)) goto done;
    text_printf(out, "%-9s %-16s %s of no %s", "", "rest", report_number_of(n_rest, thing).text,
                dim == mesh->dim ? "region" : "part");
    if (file && dim < mesh->dim) report_condition(file, "rest", out);
    text_printf(out, "\n");
done:
    return status;
}

/* By its name, or by its first line. */
static int is_mesh_file(const char *path) {
    char head[11];
    struct stat info;
    size_t n = strlen(path);
    if (n > 4 && strcmp(path + n - 4, ".msh") == 0) return 1;
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    n = file ? fread(head, 1, sizeof head, file) : 0;
    if (file) fclose(file);
    return n == sizeof head && memcmp(head, "$MeshFormat", n) == 0;
}

static facet_status check_mesh(facet_context *context, const char *path, struct text *out) {
    facet_status status = FACET_OK;
    facet_mesh *mesh = NULL;
    TRY(facet_mesh_read(context, path, &mesh));
    if (mesh == NULL) goto done; /* a rank without cells */
    text_printf(out, "file      %s\n", path);
    TRY(report_mesh(mesh, out));
    TRY(report_parts(mesh, out));
    TRY(report_bodies(mesh, 0, out));
    TRY(report_groups(mesh, mesh->dim, NULL, out));
    TRY(report_groups(mesh, mesh->dim - 1, NULL, out));
done:
    facet_mesh_destroy(&mesh);
    return status;
}

/* What one case says about its mesh, and its data. */
static facet_status check_data(const struct case_file *file, facet_context *context, const facet_mesh *mesh,
                               struct text *out) {
    facet_status status = FACET_OK;
    facet_problem *problem = NULL;
    struct problem_findings findings;
    const int64_t *unknowns = findings.unknowns;
    char note[RUN_NOTE_BYTES];
    TRY(run_problem(file, context, mesh, NULL, &problem));
    TRY(report_groups(mesh, mesh->dim - 1, file, out));
    TRY(run_check_data(file, problem, &findings));
    text_printf(out, "unknowns  degree %d: ", file->options.degree);
    if (unknowns[0] < 0)
        text_printf(out, "%s\n", report_count(unknowns[1]).text);
    else
        text_printf(out, "%s on the trace, %s in the cells\n", report_count(unknowns[0]).text,
                    report_count(unknowns[1]).text);
    if (findings.solver[0]) text_printf(out, "solver    %s\n", findings.solver);
    if (run_hidden_note(file, note)) text_printf(out, "note      %s\n", note);
    if (run_unused_note(file, note)) report_note(note, out);
    if (findings.conflict[0]) report_note(findings.conflict, out);
    if (findings.unresolved[0]) report_note(findings.unresolved, out);
    report_mismatch(&findings.mismatch, out);
    if (findings.broken[0]) report_note(findings.broken, out);
done:
    facet_problem_destroy(&problem);
    return status;
}

/* Adds what is wrong with the input to what is known to be; other failures are returned. */
static facet_status gather(facet_status status, struct text *errors) {
    if (status != FACET_ERROR_INPUT) return status;
    if (errors->length > 0) case_join_messages(errors->data, base_message());
    text_free(errors);
    text_printf(errors, "%s", base_message());
    return errors->status;
}

/* A case of which something was refused already: the rest of it against its mesh. */
static facet_status check_rest(const struct case_file *file, facet_context *context, struct text *errors) {
    facet_status status = FACET_OK;
    facet_mesh *mesh = NULL;
    TRY(gather(run_mesh(file, context, 0, &mesh), errors));
    for (const struct case_file *f = file; mesh != NULL && f != NULL; f = f->next)
        TRY(gather(run_check_names(f, mesh), errors));
done:
    facet_mesh_destroy(&mesh);
    return status;
}

facet_status check_read(const struct app_options *options, facet_context **context, struct case_file **file) {
    facet_status status = FACET_OK;
    struct text errors = {0};
    TRY(gather(
        case_read_partly(options->arguments[0], options->team, options->n_settings, options->settings, file),
        &errors));
    if (errors.length == 0) goto done;
    if (*file != NULL && *context == NULL) TRY(app_context(options, context));
    if (*file != NULL) TRY(check_rest(*file, *context, &errors));
    TRY(base_fail_lines(FACET_ERROR_INPUT, errors.data));
done:
    text_free(&errors);
    return status;
}

static facet_status check_case(const struct app_options *options, facet_context *context, struct text *out) {
    facet_status status = FACET_OK;
    struct case_file *file = NULL;
    facet_mesh *mesh = NULL;
    struct text errors = {0};
    TRY(check_read(options, &context, &file));
    TRY(run_mesh(file, context, 0, &mesh));
    for (const struct case_file *f = file; mesh != NULL && f != NULL; f = f->next) {
        text_printf(out, "case      %s%s%s%s%s\n", f->path, f->name ? ", " : "", f->name ? f->name : "",
                    f->title ? ": " : "", f->title ? f->title : "");
        if (f == file) {
            TRY(report_mesh(mesh, out));
            TRY(report_parts(mesh, out));
            TRY(case_in_file(report_bodies(mesh, f->options.overlap == OVERLAP_ALLOW, out), f));
            TRY(report_groups(mesh, mesh->dim, NULL, out));
        }
        TRY(gather(check_data(f, context, mesh, out), &errors));
    }
    if (errors.length > 0) TRY(base_fail_lines(FACET_ERROR_INPUT, errors.data));
done:
    text_free(&errors);
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
    TRY(report_put(report_stream(options), &out));
done:
    text_free(&out);
    facet_context_destroy(&context);
    return status;
}
