/* Samples a solution at the lattice of every cell and writes it. */
#include "io/solution.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "io/vtu.h"
#include "mesh/part.h"
#include "problem/problem.h"

#define MAX_ORDER  10
#define MAX_FIELDS 16

/* From KIND_TRACE on: one value a cell. */
enum kind { KIND_FIELD, KIND_ERROR, KIND_TRACE, KIND_CELL, KIND_REGION, KIND_PART };
struct column {
    const char *name;
    enum kind kind;
    enum hdg_field field;
    int components;
    double *values;
    int32_t *numbers; /* of groups, by cell; NULL: of other kinds */
};

struct sampler {
    const struct facet_solver *solver; /* while it is sampled */
    struct base_team *team;            /* of whose mesh this is a part */
    int dim, n_blocks, order, pieces;  /* pieces > 1: each cell is written as that many */
    int64_t n_points, n_cells;
    double *points;
    struct vtu_block blocks[MESH_MAX_BLOCKS];
    int n_columns;
    struct column columns[MAX_FIELDS];
};

static facet_status find_column(const struct facet_solver *s, const char *name, struct column *column) {
    *column = (struct column){.name = name, .components = 1};
    int components = physics_components(s->problem->physics, s->problem->mesh->dim);
    static const char *const numbers[] = {"cell", "region", "part"};
    for (int i = 0; i < 3; i++)
        if (strcmp(name, numbers[i]) == 0) {
            column->kind = (enum kind)(KIND_CELL + i);
            return FACET_OK;
        }
    if (strcmp(name, "trace") == 0) {
        column->kind = KIND_TRACE;
        column->components = components;
        if (s->backend->mean_trace != NULL) return FACET_OK;
        return base_fail(
            FACET_ERROR_INPUT,
            "output: the field 'trace' belongs to discretization: {method: hdg} or condensed; the %s "
            "method has no trace",
            option_words[OPTION_DISCRETIZATION][s->options.discretization]);
    }
    if (strcmp(name, "error") == 0) {
        column->kind = KIND_ERROR;
        column->components = components;
        if (s->problem->exact != NULL) return FACET_OK;
        return base_fail(FACET_ERROR_INPUT, "output: the field 'error' needs an exact solution");
    }
    facet_status status = sample_find_field(s, name, &column->field, &column->components);
    if (status == FACET_OK) return FACET_OK;
    if (hdg_find_field(name) >= 0) return base_wrap(status, "output"); /* but not here */
    char fields[256];
    equation_list_fields(&(struct equation){.fields = HDG_BIT(HDG_N_FIELDS) - 1}, ", ", fields,
                         sizeof fields);
    return base_fail(FACET_ERROR_INPUT,
                     "output: there is no field '%s'; fields: %s, trace, error, cell, region, part", name,
                     fields);
}

static int has_groups(const struct facet_mesh *mesh, int dim) {
    for (int g = 0; g < mesh->n_groups; g++)
        if (mesh->groups[g].dim == dim) return 1;
    return 0;
}

/* fields NULL: all that there are. */
static facet_status choose_columns(struct sampler *p, int n, const char *const *fields) {
    facet_status status = FACET_OK;
    const struct facet_solver *s = p->solver;
    const char *all[MAX_FIELDS];
    if (fields == NULL) {
        n = 0;
        for (const int *field = s->resolved.data.equation->written; *field >= 0; field++)
            if (!hdg_fields[*field].star || s->options.postprocess) all[n++] = hdg_fields[*field].name;
        if (s->resolved.data.plane == HDG_AXISYMMETRIC &&
            equation_has_field(s->resolved.data.equation, HDG_ACROSS))
            all[n++] = hdg_fields[HDG_ACROSS].name;
        if (s->problem->exact != NULL) all[n++] = "error";
        all[n++] = "cell";
        if (has_groups(s->problem->mesh, s->problem->mesh->dim)) all[n++] = "region";
        if (has_groups(s->problem->mesh, s->problem->mesh->dim - 1)) all[n++] = "part";
        fields = all;
    }
    if (n > MAX_FIELDS) FAIL(FACET_ERROR_INPUT, "output: at most %d fields", MAX_FIELDS);
    for (p->n_columns = 0; p->n_columns < n; p->n_columns++)
        TRY(find_column(s, fields[p->n_columns], &p->columns[p->n_columns]));
done:
    return status;
}

/* Order of the cells: that of the richest field or of the geometry; above 10 the cells are split, and the
 * parts need one more than half of it, the solution being smoother in them. */
static void choose_order(struct sampler *p, int order) {
    int wanted = p->solver->problem->mesh->order;
    for (int c = 0; c < p->n_columns; c++) {
        enum hdg_field field = p->columns[c].kind == KIND_FIELD ? p->columns[c].field : HDG_U;
        int degree = p->columns[c].kind >= KIND_TRACE ? 1 : sample_table_degree(p->solver, field);
        wanted = degree > wanted ? degree : wanted;
    }
    p->pieces = order == 0 && wanted > MAX_ORDER ? 1 << p->solver->problem->mesh->dim : 1;
    int enough = wanted <= MAX_ORDER ? wanted : (wanted + 1) / 2 + 1;
    p->order = order > 0 ? order : enough < MAX_ORDER ? enough : MAX_ORDER;
}

/* VTK has no Lagrange pyramids: they are written as hexes whose upper face is the apex. What lives on them
 * are polynomials of the coordinates of these (poly/pyramid.h), so that nothing is lost. */
static enum shape written_shape(enum shape shape) {
    return shape == SHAPE_PYRAMID ? SHAPE_HEX : shape;
}

/* Lattice points of piece k of a reference cell: the cell itself, or one of its 2^dim parts, whose corners
 * are nodes of the lattice of order 2. Those of a prism lie in two layers. */
static void piece_lattice(const struct sampler *p, enum shape cell_shape, int piece, double *xi) {
    const enum shape shape = written_shape(cell_shape);
    static const int triangles[4][4] = {{0, 1, 3}, {1, 2, 4}, {3, 4, 5}, {4, 3, 1}};
    static const int tets[8][4] = {{0, 1, 3, 6}, {1, 2, 4, 7}, {3, 4, 5, 8}, {6, 7, 8, 9},
                                   {1, 8, 4, 3}, {1, 8, 7, 4}, {1, 8, 6, 7}, {1, 8, 3, 6}};
    const int *corner = shape == SHAPE_TET ? tets[piece] : triangles[piece % 4];
    int dim = shape_dim(shape), n = shape_n_nodes(shape, p->order);
    int skew = shape_is_simplex(shape) ? dim : shape == SHAPE_PRISM ? 2 : 0; /* directions of simplices */
    double middles[27 * 3];
    shape_nodes(shape, p->order, xi);
    shape_nodes(shape, 2, middles);
    for (int i = 0; i < n && p->pieces > 1; i++) {
        double *x = xi + i * dim, at[3];
        memcpy(at, x, (size_t)dim * sizeof *at);
        for (int d = 0; d < dim; d++) {
            double origin = middles[corner[0] * dim + d];
            x[d] = d < skew ? origin : 0.5 * (at[d] + (piece >> d & 1));
            for (int b = 0; d < skew && b < skew; b++)
                x[d] += at[b] * (middles[corner[b + 1] * dim + d] - origin);
        }
    }
    for (int i = 0; i < 2 * n && cell_shape == SHAPE_PYRAMID; i++) /* x = u (1 - z), y = v (1 - z) */
        xi[i / 2 * 3 + i % 2] *= 1 - xi[i / 2 * 3 + 2];
}

/* Values of one column at the points of one cell; error: u - exact at x. */
static facet_status sample_column(const struct facet_solver *s, const struct column *column, int32_t cell,
                                  const struct backend_points *points, const double *x, double *values) {
    facet_status status = FACET_OK;
    double *exact = NULL;
    TRY(s->backend->evaluate(s, BACKEND_SOLVED, column->kind == KIND_ERROR ? HDG_U : column->field, 1, &cell,
                             points, values));
    if (column->kind != KIND_ERROR) goto done;
    TRY(ALLOC(exact, points->n * column->components));
    TRY(field_eval(s->problem->exact, points->n, points->dim, x, exact));
    for (int i = 0; i < points->n * column->components; i++) values[i] -= exact[i];
done:
    base_free(&exact);
    return status;
}

/* One piece of one cell into the arrays. */
static facet_status sample_piece(struct sampler *p, int32_t cell, const struct backend_points *points,
                                 int64_t point, int64_t written_cell) {
    facet_status status = FACET_OK;
    const struct facet_solver *s = p->solver;
    double *x = p->points + point * points->dim;
    s->backend->map(s, cell, points, x);
    for (int c = 0; c < p->n_columns; c++) {
        struct column *column = &p->columns[c];
        if (column->kind == KIND_CELL)
            column->values[written_cell] = p->solver->problem->mesh->part != NULL
                                               ? (double)p->solver->problem->mesh->part->cell_numbers[cell]
                                               : cell;
        else if (column->numbers != NULL)
            column->values[written_cell] = column->numbers[cell];
        else if (column->kind == KIND_TRACE)
            TRY(s->backend->mean_trace(s, cell, column->values + written_cell * column->components));
        else
            TRY(sample_column(s, column, cell, points, x, column->values + point * column->components));
    }
done:
    return status;
}

/* All cells of a block, from point `first_point` and written cell `first_cell` on. */
static facet_status sample_block(struct sampler *p, int block, int64_t first_point, int64_t first_cell) {
    facet_status status = FACET_OK;
    const struct facet_solver *s = p->solver;
    const struct mesh_block *b = &s->problem->mesh->blocks[block];
    struct base_collector failures;
    struct backend_points points[8] = {0};
    double *xi = NULL;
    int n = shape_n_nodes(written_shape(b->shape), p->order);
    base_collector_init(&failures);
    TRY(ALLOC(xi, n * shape_dim(b->shape)));
    for (int k = 0; k < p->pieces; k++) {
        piece_lattice(p, b->shape, k, xi);
        TRY(s->backend->prepare(s, block, s->options.degree + 1, n, xi, &points[k]));
    }
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int32_t cell = 0; cell < b->count; cell++)
        for (int k = 0; k < p->pieces; k++) {
            int64_t at = (int64_t)cell * p->pieces + k;
            base_collect(&failures, cell,
                         sample_piece(p, b->first + cell, &points[k], first_point + at * n, first_cell + at));
        }
    TRY(base_collected(&failures));
done:
    for (int k = 0; k < 8; k++) backend_points_destroy(&points[k]);
    base_free(&xi);
    return status;
}

/* The group that each cell lies in, or the part that it touches: from 1 in the order of the mesh, 0: none,
 * the first of several. */
static facet_status number_groups(const struct facet_mesh *mesh, struct column *column) {
    facet_status status = FACET_OK;
    int dim = column->kind == KIND_REGION ? mesh->dim : mesh->dim - 1, number = 0;
    TRY(CALLOC(column->numbers, mesh->n_cells));
    for (int g = 0; g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        if (group->dim != dim) continue;
        number++;
        for (int32_t i = 0; i < group->count; i++) {
            struct mesh_group_face face = {.cell = dim == mesh->dim ? group->ids[i] : -1};
            if (dim < mesh->dim) face = mesh_group_face(mesh, group, i);
            int32_t across = face.is_inner ? mesh->face_cells[2 * (int64_t)group->ids[i] + 1] : face.cell;
            if (column->numbers[face.cell] == 0) column->numbers[face.cell] = number;
            if (across >= 0 && column->numbers[across] == 0) column->numbers[across] = number;
        }
    }
done:
    return status;
}

static facet_status sample(struct sampler *p) {
    facet_status status = FACET_OK;
    const struct backend *backend = p->solver->backend;
    if (backend->fetch != NULL) TRY(backend->fetch(p->solver, 0, NULL));
    const struct facet_mesh *mesh = p->solver->problem->mesh;
    for (int b = 0; b < mesh->n_blocks; b++) {
        p->blocks[b] = (struct vtu_block){written_shape(mesh->blocks[b].shape),
                                          (int64_t)mesh->blocks[b].count * p->pieces};
        p->n_cells += p->blocks[b].count;
        p->n_points += p->blocks[b].count * shape_n_nodes(p->blocks[b].shape, p->order);
    }
    TRY(ALLOC(p->points, p->n_points * mesh->dim));
    for (int c = 0; c < p->n_columns; c++) {
        int on_cells = p->columns[c].kind >= KIND_TRACE;
        if (p->columns[c].kind >= KIND_REGION) TRY(number_groups(mesh, &p->columns[c]));
        TRY(ALLOC(p->columns[c].values, (on_cells ? p->n_cells : p->n_points) * p->columns[c].components));
    }
    int64_t point = 0, cell = 0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        TRY(sample_block(p, b, point, cell));
        point += p->blocks[b].count * shape_n_nodes(p->blocks[b].shape, p->order);
        cell += p->blocks[b].count;
    }
done:
    return status;
}

static void sampler_free(struct sampler *p) {
    base_free(&p->points);
    for (int c = 0; c < MAX_FIELDS; c++) {
        base_free(&p->columns[c].values);
        base_free(&p->columns[c].numbers);
    }
}

/* All of it; the fields are those of find_column. */
static facet_status make_sample(const struct facet_solver *solver, int n_fields, const char *const *fields,
                                int order, struct sampler *p) {
    facet_status status = FACET_OK;
    *p = (struct sampler){.solver = solver,
                          .team = mesh_team(solver->problem->mesh),
                          .dim = solver->problem->mesh->dim,
                          .n_blocks = solver->problem->mesh->n_blocks};
    if (!solver->solved) FAIL(FACET_ERROR_INPUT, "there is no solution to write yet");
    if (order < 0 || order > MAX_ORDER)
        FAIL(FACET_ERROR_INPUT, "output.order must be 1 to %d, not %d", MAX_ORDER, order);
    TRY(choose_columns(p, n_fields, fields));
    choose_order(p, order);
    TRY(sample(p));
done:
    p->solver = NULL;
    return status;
}

static facet_status write_sample(const struct sampler *p, const char *path, int pieces) {
    struct vtu_field columns[MAX_FIELDS];
    for (int c = 0; c < p->n_columns; c++)
        columns[c] = (struct vtu_field){p->columns[c].name, p->columns[c].components,
                                        p->columns[c].kind >= KIND_TRACE, p->columns[c].values};
    struct vtu_grid grid = {p->dim, p->order, p->n_blocks, p->blocks, p->points, p->team, pieces};
    return vtu_write(path, &grid, p->n_columns, columns);
}

facet_status solution_write(const struct facet_solver *solver, const char *path, int n_fields,
                            const char *const *fields, int order, int pieces) {
    struct sampler p;
    facet_status status = make_sample(solver, n_fields, n_fields > 0 ? fields : NULL, order, &p);
    if (status == FACET_OK) status = write_sample(&p, path, pieces);
    sampler_free(&p);
    return status;
}

/* ------------------------------------------------------------------------------------------ samples */

struct facet_sample {
    struct sampler of;
    struct facet_context *context;
    char *text; /* the names of its fields */
};

/* The names in a list with commas, which stay in the text. */
static facet_status split_names(char *text, const char *names[MAX_FIELDS], int *n) {
    char *rest = NULL;
    *n = 0;
    for (char *name = strtok_r(text, ", ", &rest); name != NULL; name = strtok_r(NULL, ", ", &rest)) {
        if (*n == MAX_FIELDS) return base_fail(FACET_ERROR_INPUT, "at most %d fields", MAX_FIELDS);
        names[(*n)++] = name;
    }
    return FACET_OK;
}

void facet_sample_destroy(facet_sample **sample) {
    if (sample == NULL || *sample == NULL) return;
    sampler_free(&(*sample)->of);
    base_free(&(*sample)->text);
    base_free(sample);
}

facet_status facet_sample_create(const facet_solver *solver, const char *fields, int order,
                                 facet_sample **sample) {
    facet_status status = FACET_OK;
    const char *names[MAX_FIELDS];
    int n = 0;
    REQUIRE(sample);
    *sample = NULL;
    REQUIRE(solver);
    TRY(CALLOC(*sample, 1));
    (*sample)->context = solver->context;
    if (fields != NULL) TRY(base_strdup(fields, &(*sample)->text));
    if (fields != NULL) TRY(split_names((*sample)->text, names, &n));
    SOLVER_READ(solver, status, make_sample(solver, n, fields != NULL ? names : NULL, order, &(*sample)->of));
done:
    if (status != FACET_OK) facet_sample_destroy(sample);
    return status;
}

facet_status facet_sample_get_info(const facet_sample *sample, facet_sample_info *info) {
    REQUIRE(sample, info);
    const struct sampler *p = &sample->of;
    facet_sample_info full = {.dim = p->dim,
                              .order = p->order,
                              .n_fields = p->n_columns,
                              .n_points = p->n_points,
                              .n_cells = p->n_cells,
                              .n_nodes = p->n_points};
    return base_struct_write("facet_sample_info", &full, info, sizeof full);
}

/* Points belong to one cell each and stand in the order of the lattice: the nodes say which comes when. */
facet_status facet_sample_cells(const facet_sample *sample, double *points, int64_t *nodes, int64_t *offsets,
                                uint8_t *types) {
    facet_status status = FACET_OK;
    int *map = NULL;
    int64_t point = 0, cell = 0;
    REQUIRE(sample);
    const struct sampler *p = &sample->of;
    if (points != NULL) base_copy(points, p->points, (size_t)(p->n_points * p->dim) * sizeof *points);
    if (offsets != NULL) offsets[0] = 0;
    for (int b = 0; b < p->n_blocks; b++) {
        enum shape shape = p->blocks[b].shape;
        int n = shape_n_nodes(shape, p->order);
        base_free(&map);
        TRY(ALLOC(map, n));
        TRY(vtu_memory_map(shape, p->order, map));
        for (int64_t c = 0; c < p->blocks[b].count; c++, cell++, point += n) {
            for (int i = 0; i < n && nodes != NULL; i++) nodes[point + i] = point + map[i];
            if (offsets != NULL) offsets[cell + 1] = point + n;
            if (types != NULL) types[cell] = vtu_cell_type(shape, p->order);
        }
    }
done:
    base_free(&map);
    return status;
}

facet_status facet_sample_get_field(const facet_sample *sample, int i, facet_sample_field *field,
                                    double *values) {
    REQUIRE(sample, field);
    const struct sampler *p = &sample->of;
    if (i < 0 || i >= p->n_columns)
        return base_fail(FACET_ERROR_INPUT, "there is no field %d; the sample has %d", i, p->n_columns);
    const struct column *c = &p->columns[i];
    facet_sample_field full = {
        .name = c->name, .components = c->components, .on_cells = c->kind >= KIND_TRACE};
    facet_status status = base_struct_write("facet_sample_field", &full, field, sizeof full);
    if (status == FACET_OK && values != NULL)
        base_copy(values, c->values,
                  (size_t)((full.on_cells ? p->n_cells : p->n_points) * c->components) * sizeof *values);
    return status;
}

facet_status facet_sample_write(const facet_sample *sample, const char *path) {
    REQUIRE(sample, path);
    struct base_call call;
    context_call_begin(sample->context, 0, &call);
    return context_call_end(sample->context, &call, write_sample(&sample->of, path, 1));
}

facet_status facet_solver_write(const facet_solver *solver, const char *path, const char *fields) {
    REQUIRE(solver, path);
    facet_status status = FACET_OK;
    const char *names[MAX_FIELDS];
    char *copy = NULL;
    int n = 0;
    if (fields != NULL) TRY(base_strdup(fields, &copy));
    if (fields != NULL) TRY(split_names(copy, names, &n));
    SOLVER_READ(solver, status, solution_write(solver, path, n, names, 0, 1));
done:
    base_free(&copy);
    return status;
}
