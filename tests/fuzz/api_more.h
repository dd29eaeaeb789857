/* The rest of facet.h for fuzz_api: meshes as arrays, quadrature, values, fields, the linear system, samples
 * and case files. What is made here goes within the operation. */
#ifndef FACET_TESTS_API_MORE_H
#define FACET_TESTS_API_MORE_H

#include "api_solver.h"

/* ------------------------------------------------------------------------------------------ arrays */

/* A square of two triangles or a quad, a cube of five tets or a hex, all of order 1. */
struct plain {
    int dim, n_nodes;
    const char *shape;
    int64_t n_points, n_cells, nodes[20];
};
static const struct plain plains[] = {
    {2, 3, "triangle", 4, 2, {0, 1, 2, 0, 2, 3}},
    {2, 4, "quad", 4, 1, {0, 1, 2, 3}},
    {3, 4, "tet", 8, 5, {0, 1, 2, 5, 0, 2, 3, 7, 0, 5, 7, 4, 2, 7, 5, 6, 0, 2, 7, 5}},
    {3, 8, "hex", 8, 1, {0, 1, 2, 3, 4, 5, 6, 7}},
};

static inline int64_t odd_number(struct world *w) {
    static const int64_t numbers[] = {-1, 0, 3, 7, 8, INT64_MAX, INT64_MIN, 1 << 20};
    return PICK(w, numbers);
}

/* One thing wrong, or at least unusual; counts only where arrays are longer than they say. */
static inline void spoil_arrays(struct world *w, facet_arrays *a, facet_cells *cells, facet_members *groups,
                                int64_t *nodes, int64_t *faces, double *points) {
    static const char *const numberings[] = {"vtk", "lattice", "gmsh", "", "%n", NULL};
    switch (draw(w, 12)) {
    case 0:
        a->dim = odd_int(w);
        break;
    case 1:
        a->n_points = rarely(w, 2) ? 0 : 3;
        break;
    case 2:
        a->numbering = lend_text(w, PICK(w, numberings));
        break;
    case 3:
        nodes[draw(w, 3)] = odd_number(w);
        break;
    case 4:
        points[draw(w, 8)] = any_number(w);
        break;
    case 5:
        faces[draw(w, 2)] = odd_number(w);
        break;
    case 6:
        cells->shape = lend_text(w, rarely(w, 2) ? "hex" : bad_text(w));
        break;
    case 7:
        cells->order = (const int[]){0, -1, 10, INT32_MAX}[draw(w, 4)];
        break;
    case 8:
        cells->count = (const int64_t[]){0, -1, INT64_MIN, INT64_MAX}[draw(w, 4)];
        break;
    case 9:
        groups->name = lend_text(w, bad_text(w));
        break;
    case 10:
        groups->dim = odd_int(w);
        break;
    default:
        cells->size = (const size_t[]){0, 8, 70000, sizeof *cells - 8}[draw(w, 4)];
    }
}

static inline void create_arrays(struct world *w) {
    static const double cube[8][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                      {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
    const struct plain *p = &PICK(w, plains);
    int i = draw(w, SLOTS), context = any_context(w);
    if (w->meshes[i].it != NULL && !rarely(w, 4)) return;
    drop_mesh(w, i);
    double *points = lend(w, NULL, (size_t)(8 * 3) * sizeof *points);
    for (int k = 0; k < p->n_points * p->dim; k++) points[k] = cube[k / p->dim][k % p->dim];
    int64_t *nodes = lend(w, NULL, 64 * sizeof *nodes), faces[] = {0, 1, p->dim == 2 ? 0 : 5, 4, 0},
            *face = lend(w, faces, sizeof faces);
    memcpy(nodes, p->nodes, sizeof p->nodes);
    if (p->dim == 3 && p->n_nodes == 4) face[3] = -1;
    facet_cells *cells = lend(w, NULL, sizeof *cells + 70000);
    facet_members *groups = lend(w, NULL, 2 * sizeof *groups);
    *cells = (facet_cells){sizeof *cells, p->shape, 1, p->n_cells, nodes};
    groups[0] = (facet_members){sizeof *groups, "ymin", p->dim - 1, 1, NULL, face};
    groups[1] = (facet_members){sizeof *groups, "inside", p->dim, 1, &face[4], NULL};
    facet_arrays arrays = {sizeof arrays, p->dim, p->n_points, points, NULL, 1, cells, 2, groups};
    if (rarely(w, 2)) spoil_arrays(w, &arrays, cells, groups, nodes, face, points);
    const facet_arrays *given = rarely(w, 32) ? NULL : lend(w, &arrays, sizeof arrays);
    int64_t *numbers = rarely(w, 2) ? NULL : room(w, 5 * sizeof *numbers);
    w->meshes[i] = (struct own_mesh){.context = context, .dim = p->dim};
    facet_status status =
        CALL(w, MAY_LACK, facet_mesh_create_arrays(w->contexts[context], given, numbers, &w->meshes[i].it));
    check_made(status, w->meshes[i].it);
    w->meshes[i].cells = p->n_cells;
}

static inline void read_arrays(struct world *w) {
    static const char *const numberings[] = {NULL, "vtk", "lattice", "gmsh", "w"};
    struct own_mesh *m = &w->meshes[any_mesh(w)];
    facet_group *group = any_struct(w, sizeof *group);
    int64_t n = 0;
    int g = rarely(w, 8) ? odd_int(w) : 0;
    if (CALL(w, MAY_LACK, facet_mesh_n_points(m->it, rarely(w, 16) ? NULL : &n)) == FACET_OK && n > 0) {
        double *points = room(w, (size_t)(n * m->dim) * sizeof *points);
        if (CALL(w, MAY_LACK, facet_mesh_points(m->it, points)) == FACET_OK)
            check_finite(n * m->dim, points, "a point that is not finite");
    }
    for (int b = 0; b < facet_mesh_n_blocks(m->it); b++) {
        facet_cells cells = {.size = sizeof cells};
        if (CALL(w, 0, facet_mesh_block(m->it, b, NULL, &cells, NULL)) != FACET_OK) continue;
        int64_t *nodes = room(w, (size_t)cells.count * 1000 * sizeof *nodes);
        CALL(w, MAY_LACK, facet_mesh_block(m->it, b, PICK(w, numberings), &cells, nodes));
    }
    if (CALL(w, 0, facet_mesh_group(m->it, g, group)) != FACET_OK || !is_whole(group, sizeof *group)) return;
    int64_t *members = room(w, (size_t)group->count * 4 * sizeof *members + 8);
    int *faces = room(w, (size_t)group->count * sizeof *faces + 8);
    if (rarely(w, 2))
        CALL(w, MAY_LACK, facet_mesh_group_members(m->it, g, members, NULL, NULL));
    else
        CALL(w, MAY_LACK, facet_mesh_group_members(m->it, g, NULL, faces, members));
}

static inline void integrate(struct world *w) {
    struct own_mesh *m = &w->meshes[any_mesh(w)];
    const char *name = rarely(w, 2) ? "boundary" : any_name(w), *const *on = lend(w, &name, sizeof name);
    int degree = rarely(w, 8) ? odd_int(w) : draw(w, 6), n_on = draw(w, 2);
    int64_t n = 0;
    if (CALL(w, MAY_LACK, facet_mesh_quadrature(m->it, degree, n_on, on, &n, NULL, NULL, NULL, NULL)) !=
        FACET_OK)
        return;
    double *x = room(w, (size_t)(n * m->dim) * sizeof *x), *weights = room(w, (size_t)n * sizeof *weights),
           *normals = room(w, (size_t)(n * m->dim) * sizeof *normals);
    int64_t *cells = room(w, (size_t)n * sizeof *cells), given = rarely(w, 4) ? n - 1 : n;
    on = lend(w, &name, sizeof name);
    if (CALL(w, MAY_LACK,
             facet_mesh_quadrature(m->it, degree, n_on, on, &given, x, weights,
                                   n_on > 0 && rarely(w, 2) ? normals : NULL, cells)) == FACET_OK) {
        check_finite(n * m->dim, x, "a point that is not finite");
        check_finite(n, weights, "a weight that is not finite");
        check_finite(n * m->dim, normals, "a normal that is not finite");
    }
}

/* ------------------------------------------------------------------------------------------ functions */

static inline void set_more_functions(struct world *w) {
    struct own_problem *p = any_problem(w);
    const char *name = lend_text(w, any_name(w));
    static const int counts[] = {1, 2, 4, 9, 3, 0};
    int which = draw(w, 6), vector = p->equation == FACET_ELASTICITY;
    int n = which == 0 ? PICK(w, counts) : which == 1 && vector ? p->dim : 1;
    struct user *user = any_user(w, n > 0 ? n : 1);
    facet_function f = user != NULL && !rarely(w, 32) ? give : NULL;
    switch (which) {
    case 0:
        CALL(w, 0, facet_problem_set_spring_function(p->it, name, n, f, user));
        break;
    case 1:
        CALL(w, 0, facet_problem_set_group_source_function(p->it, name, f, user));
        break;
    case 2:
        CALL(w, 0, facet_problem_set_group_reaction_function(p->it, name, f, user));
        break;
    case 3:
        CALL(w, 0, facet_problem_set_robin_function(p->it, name, f, user, f, user));
        break;
    case 4:
        CALL(w, 0, facet_problem_set_pressure_function(p->it, name, f, user));
        break;
    default:
        CALL(w, 0, facet_problem_set_expansion_function(p->it, rarely(w, 2) ? name : NULL, f, user));
    }
}

static inline void set_more(struct world *w) {
    struct own_problem *p = any_problem(w);
    const char *name = lend_text(w, any_name(w)), *text = lend_text(w, any_text(w));
    const char *const *names = lend(w, &name, sizeof name);
    int n = any_count(w, p->dim);
    const char *const *texts = lend_texts(w, n);
    switch (draw(w, 9)) {
    case 0:
        CALL(w, 0, facet_problem_set_pressure(p->it, name, text));
        break;
    case 1:
        CALL(w, 0, facet_problem_set_spring(p->it, name, n, texts));
        break;
    case 2:
        CALL(w, 0, facet_problem_set_symmetry(p->it, name));
        break;
    case 3:
        CALL(w, 0, facet_problem_set_force(p->it, draw(w, 2), names, n, texts));
        break;
    case 4:
        CALL(w, 0, facet_problem_set_total_flux(p->it, draw(w, 2), names, text));
        break;
    case 5:
        CALL(w, 0, facet_problem_set_expansion(p->it, rarely(w, 2) ? name : NULL, text));
        break;
    case 6:
        CALL(w, 0, facet_problem_set_temperature(p->it, text, lend_text(w, any_text(w))));
        break;
    case 7:
        CALL(w, 0, facet_problem_set_group_reaction(p->it, name, text));
        break;
    default:
        CALL(w, 0, facet_problem_set_group_source(p->it, name, n, texts));
    }
}

/* ------------------------------------------------------------------------------------------ results */

static inline void take_value(struct world *w) {
    static const char *const takes[] = {"integral", "mean", "max", "min", "sum", ""};
    struct own_solver *s = any_solver(w);
    const char *name = any_name(w), *const *on = lend(w, &name, sizeof name);
    double *values = room(w, 9 * sizeof *values), potential;
    int n;
    if (CALL(w, MAY_LACK,
             facet_solver_take(s->it, lend_text(w, PICK(w, fields)), draw(w, 4) - 1, PICK(w, takes),
                               draw(w, 2), on, values, &n)) == FACET_OK)
        check_finite(n, values, "a value that is not finite");
    if (CALL(w, 0, facet_solver_potential(s->it, lend_text(w, any_name(w)), &potential)) == FACET_OK)
        check_finite(1, &potential, "a potential that is not finite");
}

static inline void look_at_system(struct world *w) {
    struct own_solver *s = any_solver(w);
    int64_t n = facet_solver_n_unknowns(s->it), wrong = rarely(w, 8) ? n + 1 : n, entries = 0, m;
    double *y = room(w, (size_t)n * sizeof *y), *F = room(w, (size_t)n * sizeof *F);
    char *text = room(w, 64);
    switch (draw(w, 6)) {
    case 0:
        if (CALL(w, MAY_LACK, facet_solver_apply(s->it, wrong, any_array(w, n), y)) == FACET_OK && n > 0)
            check_finite(n, y, "a product that is not finite");
        break;
    case 1:
        CALL(w, MAY_LACK | MAY_STOP, facet_solver_precondition(s->it, wrong, any_array(w, n), y));
        break;
    case 2:
        if (CALL(w, MAY_LACK, facet_solver_system(s->it, wrong, rarely(w, 4) ? NULL : F, y)) == FACET_OK)
            check_finite(n, y, "an unknown that is not finite");
        break;
    case 3:
        if (CALL(w, MAY_LACK, facet_solver_matrix(s->it, wrong, &entries, NULL, NULL, NULL)) == FACET_OK) {
            int64_t *offsets = room(w, (size_t)(n + 1) * sizeof *offsets);
            int32_t *columns = room(w, (size_t)entries * sizeof *columns);
            double *values = room(w, (size_t)entries * sizeof *values);
            if (rarely(w, 4)) entries--;
            if (CALL(w, MAY_LACK, facet_solver_matrix(s->it, n, &entries, offsets, columns, values)) ==
                FACET_OK)
                check_finite(entries, values, "an entry that is not finite");
        }
        break;
    case 4:
        if (CALL(w, 0, facet_solver_history(s->it, 0, NULL, &m)) == FACET_OK) {
            double *history = room(w, (size_t)m * sizeof *history);
            CALL(w, 0, facet_solver_history(s->it, rarely(w, 4) ? m - 1 : m, history, &m));
        }
        break;
    default:
        CALL(w, 0, facet_solver_note(s->it, draw(w, 3) - 1, (size_t)draw(w, 64), text));
        if (s->n > 0) {
            double *weights = room(w, (size_t)s->n * sizeof *weights);
            if (CALL(w, MAY_LACK, facet_solver_weights(s->it, weights)) == FACET_OK)
                check_finite(s->n, weights, "a weight that is not finite");
        }
    }
}

/* A field, as data of a problem of its own. */
static inline void carry_field(struct world *w) {
    struct own_solver *s = any_solver(w);
    struct own_mesh *m = &w->meshes[any_mesh(w)];
    const char *name = rarely(w, 4) ? PICK(w, fields) : "u";
    facet_field *field = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    double *x = room(w, 3 * 3 * sizeof *x), *values = room(w, 3 * 9 * sizeof *values);
    for (int i = 0; i < 9; i++) x[i] = 0.05 * draw(w, 21);
    facet_status status = CALL(w, MAY_LACK, facet_field_create(s->it, lend_text(w, name), &field));
    check_made(status, field);
    if (field == NULL) return;
    CALL(w, 0, facet_field_evaluate(field, draw(w, 4), x, values));
    if (rarely(w, 4)) CALL(w, MAY_STOP | MAY_LACK, facet_solver_solve(s->it, NULL, NULL));
    if (rarely(w, 2)) CALL(w, MAY_LACK, facet_field_update(field));
    facet_context *context = w->contexts[any_context(w)];
    status = CALL(w, 0, facet_problem_create(context, m->it, FACET_DIFFUSION, &problem));
    if (status == FACET_OK)
        status = CALL(w, 0, facet_problem_set_source_function(problem, facet_field_function, field));
    if (status == FACET_OK) status = CALL(w, 0, facet_problem_set_dirichlet(problem, "rest", "0"));
    if (status == FACET_OK && m->cells <= 8) {
        facet_options o;
        facet_options_default(&o, sizeof o);
        o.degree = 1;
        status = CALL(w, MAY_LACK | MAY_STOP, facet_solver_create(problem, &o, &solver));
        if (status == FACET_OK) CALL(w, MAY_LACK | MAY_STOP, facet_solver_solve(solver, NULL, NULL));
    }
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_field_destroy(&field);
    fuzz_check(field == NULL, "a destroyed field is not NULL");
}

static inline void sample(struct world *w) {
    static const char *const lists[] = {NULL, "u", "", "u,q", "cell, region, part", "trace", "error", "%n"};
    facet_sample *sample = NULL;
    facet_sample_info info = {.size = sizeof info};
    facet_status status = CALL(w, MAY_LACK,
                               facet_sample_create(any_solver(w)->it, lend_text(w, PICK(w, lists)),
                                                   rarely(w, 8) ? odd_int(w) : draw(w, 4), &sample));
    check_made(status, sample);
    if (sample == NULL || CALL(w, 0, facet_sample_get_info(sample, &info)) != FACET_OK) return;
    double *points = room(w, (size_t)(info.n_points * info.dim) * sizeof *points);
    int64_t *nodes = room(w, (size_t)info.n_nodes * sizeof *nodes),
            *offsets = room(w, (size_t)(info.n_cells + 1) * sizeof *offsets);
    uint8_t *types = room(w, (size_t)info.n_cells);
    if (CALL(w, 0, facet_sample_cells(sample, points, nodes, offsets, types)) == FACET_OK)
        check_finite(info.n_points * info.dim, points, "a point that is not finite");
    for (int i = 0; i < info.n_fields + 1; i++) {
        facet_sample_field field = {.size = sizeof field};
        if (CALL(w, 0, facet_sample_get_field(sample, i, &field, NULL)) != FACET_OK) continue;
        int64_t n = (field.on_cells ? info.n_cells : info.n_points) * field.components;
        double *values = room(w, (size_t)n * sizeof *values);
        if (CALL(w, 0, facet_sample_get_field(sample, i, &field, values)) == FACET_OK)
            check_finite(n, values, "a sampled value that is not finite");
    }
    if (rarely(w, 4)) CALL(w, MAY_LACK, facet_sample_write(sample, "/dev/null"));
    facet_sample_destroy(&sample);
}

/* ------------------------------------------------------------------------------------------ cases */

static const char *const case_texts[] = {
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 2], shape: quad}}\nequation: diffusion\n"
    "parameters: {k: 2}\nconductivity: k\nsource: 1\nboundary: [{on: rest, dirichlet: 0}]\n"
    "discretization: {degree: 1}\nvalues: [{name: a, field: u, at: [0.5, 0.5]}, {name: b, field: u, take: "
    "max}]\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 1], shape: triangle}}\ncases:\n"
    "  - {name: heat, equation: diffusion, source: 1, boundary: [{on: rest, dirichlet: 0}], discretization: "
    "{degree: 1}}\n"
    "  - {name: stress, equation: elasticity, material: {E: 1, nu: 0.3}, thermal: {expansion: 1, "
    "temperature: {case: heat}}, boundary: [{on: rest, fixed: true}], discretization: {degree: 1}}\n",
    "mesh: {file: tests/meshes/annulus_1_22.msh}\nequation: diffusion\nsource: 1\n"
    "boundary: [{on: nowhere, dirichlet: 0}]\n",
    "mesh: [1, 2\n",
    "",
    "equation: diffusion\n",
};

static inline void walk_case(struct world *w, facet_case *file) {
    facet_mesh *mesh = NULL;
    int i = rarely(w, 8) ? odd_int(w) : facet_case_count(file) - 1;
    facet_case_info *info = any_struct(w, sizeof *info);
    facet_options *options = any_struct(w, sizeof *options);
    CALL(w, 0, facet_case_get_info(file, i, info));
    CALL(w, 0, facet_case_options(file, i, options));
    if (CALL(w, MAY_LACK, facet_case_create_mesh(file, &mesh)) == FACET_OK) {
        facet_problem *problem = NULL;
        CALL(w, MAY_LACK, facet_case_create_problem(file, i, mesh, any_solver(w)->it, &problem));
        facet_problem_destroy(&problem);
    }
    facet_mesh_destroy(&mesh);
}

static inline void use_case(struct world *w) {
    static const char *const settings[] = {
        "parameters.k=3",   "solver.rtol=1e-4", "discretization.degree=2", "discretization.degre=2", "=",
        "cases.0.source=x", "solver.method=cg"};
    const char *setting = PICK(w, settings);
    const char *const *given = lend(w, &setting, sizeof setting);
    facet_case *file = NULL;
    double *number = room(w, 4 * sizeof *number);
    facet_status status =
        rarely(w, 8)
            ? CALL(w, MAY_LACK, facet_case_load(w->contexts[any_context(w)], "/nowhere.yaml", 0, NULL, &file))
            : CALL(w, MAY_LACK,
                   facet_case_parse(w->contexts[any_context(w)], lend_text(w, PICK(w, case_texts)), NULL,
                                    draw(w, 2), given, &file));
    check_made(status, file);
    if (file == NULL) return;
    if (rarely(w, 2)) walk_case(w, file);
    for (int again = 0; again < 1 + rarely(w, 4); again++) {
        status = CALL(w, MAY_LACK | MAY_STOP, facet_case_solve(file, 0));
        if (status == FACET_OK)
            fuzz_check(facet_case_json(file) != NULL && facet_case_solver(file, 0) != NULL &&
                           facet_case_mesh(file) != NULL,
                       "a case without results");
    }
    facet_value *value = any_struct(w, sizeof *value);
    const char *name;
    CALL(w, MAY_LACK, facet_case_value(file, 0, draw(w, 3) - 1, NULL, value, draw(w, 4), number));
    CALL(w, 0, facet_case_parameter(file, 0, draw(w, 3) - 1, &name, number));
    facet_case_destroy(&file);
    fuzz_check(file == NULL, "a destroyed case is not NULL");
}

#endif
