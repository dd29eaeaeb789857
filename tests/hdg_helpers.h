/* What the tests of solve, trace, hdg and problem share: comparisons, random numbers, lattices of the unit
 * square, and a problem described by texts, solved in one call. */
#ifndef FACET_TESTS_HDG_HELPERS_H
#define FACET_TESTS_HDG_HELPERS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "hdg/device_cells.h"
#include "problem/mapped_backend.h"

static inline void ok(facet_status status) {
    if (status != FACET_OK) fail_msg("status %d: %s", (int)status, base_message());
}

static inline void near(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g and %.17g differ by more than %g", a, b, tolerance);
}

/* The call failed with this status, and the message says `text`. */
static inline void refused(facet_status status, facet_status expected, const char *text) {
    if (status != expected || strstr(facet_message(), text) == NULL)
        fail_msg("status %d, message '%s', but wanted %d with '%s'", (int)status, facet_message(),
                 (int)expected, text);
}

/* -1 .. 1, the same everywhere. */
static inline double random_signed(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 8388608.0 - 1.0;
}

/* hdg_load, and its right-hand side on the host. */
static inline facet_status load_to_host(const struct hdg *h, struct hdg_solution *s, double *F) {
    facet_status status = FACET_OK;
    struct vector b = {0};
    TRY(vector_create(h->device, h->trace.n_free, &b));
    TRY(hdg_load(h, NULL, s, &b));
    TRY(vector_download(&b, F));
done:
    vector_destroy(&b);
    return status;
}

/* u and q of these free values, on the host. */
static inline facet_status recover_from(const struct hdg *h, const double *free, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    struct vector x = {0};
    TRY(vector_create(h->device, h->trace.n_free, &x));
    TRY(vector_upload(&x, free));
    TRY(hdg_set_trace(h, &x, s));
    TRY(hdg_recover(h, s));
    s->wants_q = 1;
    TRY(cells_fetch(h, s));
done:
    vector_destroy(&x);
    return status;
}

/* Groups of trace functions as a face of this dimension might have them: single ones on an edge; else 1, 2,
 * 3,
 * .. functions, not in order. starts: m + 1, modes: m. Returns how many; *n_turn: numbers of an orientation.
 */
static inline int make_groups(int dim, int m, int32_t *starts, int32_t *modes, int *n_turn) {
    int n = 0, end = 0;
    starts[0] = *n_turn = 0;
    for (int i = 0; i < m; i++) modes[i] = i == 0 || dim == 2 ? i : m - i;
    for (; end < m; n++) {
        int size = dim == 2 ? 1 : n + 1 < m - end ? n + 1 : m - end;
        starts[n + 1] = end += size;
        *n_turn += size * size;
    }
    return n;
}

/* Orientations (n x n_turn) for such groups: signs, the first 1, where they are single; else reflections,
 * which are orthogonal, the constant kept and orientation 0 the identity. */
static inline void make_turns(int n, int n_groups, const int32_t *starts, int n_turn, double *turns) {
    uint32_t seed = 12;
    for (int o = 0; o < n; o++)
        for (int g = 0; g < n_groups; g++) {
            int size = starts[g + 1] - starts[g], plain = o == 0 || g == 0;
            double v[16], square = 0.0;
            assert_true(size <= 16);
            for (int i = 0; i < size; i++) {
                v[i] = random_signed(&seed);
                square += v[i] * v[i];
            }
            for (int i = 0; i < size; i++)
                for (int j = 0; j < size; j++, turns++)
                    *turns = (i == j) -
                             (plain || (n_groups == n_turn && v[0] > 0) ? 0.0 : 2.0 * v[i] * v[j] / square);
        }
}

static inline int64_t live_blocks(void) {
    struct base_memory memory;
    base_memory_read(&memory);
    return memory.live_blocks;
}

/* ------------------------------------------------------------------------------------------ meshes */

enum kind { TRIANGLES, QUADS, MIXED };

static inline struct facet_mesh *box(const char *shape, int nx, int ny, int periodic_x, int periodic_y) {
    facet_box b = {.size = sizeof(facet_box),
                   .dim = 2,
                   .upper = {1, 1},
                   .cells = {nx, ny},
                   .shape = shape,
                   .periodic = {periodic_x, periodic_y}};
    struct facet_mesh *mesh;
    ok(mesh_create_box(&b, &mesh));
    ok(mesh_need_lists(mesh));
    return mesh;
}

struct lattice {
    struct mesh_input input;
    int nx, ny;
    uint8_t *shapes;
    int64_t *vertex_offsets, *node_offsets, *regions[2];
    int32_t *vertices, *sides[4];
    double *nodes, *points;
    struct mesh_input_group groups[6];
};

static inline void lattice_cell(struct lattice *l, enum shape shape, const int32_t *v) {
    int n = shape_n_vertices(shape);
    int64_t c = l->input.n_cells++;
    l->shapes[c] = (uint8_t)shape;
    l->vertex_offsets[c + 1] = l->vertex_offsets[c] + n;
    l->node_offsets[c + 1] = l->node_offsets[c] + n;
    for (int i = 0; i < n; i++) {
        l->vertices[l->vertex_offsets[c] + i] = v[i];
        memcpy(l->nodes + 2 * (l->node_offsets[c] + shape_vertex_node(shape, 1, i)), l->points + 2 * v[i],
               2 * sizeof(double));
    }
}

/* Numbers are scrambled by a stride, so that faces have both orientations. */
static inline int32_t lattice_vertex(const struct lattice *l, int i, int j) {
    int64_t n = l->input.n_vertices, stride = n % 7 != 0 ? 7 : 1;
    return (int32_t)((j * (l->nx + 1) + i) * stride % n);
}

static inline void lattice_points(struct lattice *l, double displacement) {
    uint32_t seed = 12345;
    for (int j = 0; j <= l->ny; j++)
        for (int i = 0; i <= l->nx; i++) {
            double *x = l->points + 2 * lattice_vertex(l, i, j);
            double dx = displacement * random_signed(&seed) / l->nx,
                   dy = displacement * random_signed(&seed) / l->ny;
            x[0] = (double)i / l->nx + (i > 0 && i < l->nx ? dx : 0.0);
            x[1] = (double)j / l->ny + (j > 0 && j < l->ny ? dy : 0.0);
        }
}

static inline void lattice_cells(struct lattice *l, enum kind kind) {
    for (int j = 0; j < l->ny; j++)
        for (int i = 0; i < l->nx; i++) {
            struct mesh_input_group *region = &l->groups[4 + (2 * i >= l->nx)];
            int64_t begin = l->input.n_cells;
            int32_t a = lattice_vertex(l, i, j), b = lattice_vertex(l, i + 1, j),
                    c = lattice_vertex(l, i + 1, j + 1), d = lattice_vertex(l, i, j + 1);
            if (kind == QUADS || (kind == MIXED && (i + 2 * j) % 3 != 0)) {
                lattice_cell(l, SHAPE_QUAD, (const int32_t[]){c, d, a, b});
            } else if ((i + j) % 2) {
                lattice_cell(l, SHAPE_TRIANGLE, (const int32_t[]){a, b, c});
                lattice_cell(l, SHAPE_TRIANGLE, (const int32_t[]){c, d, a});
            } else {
                lattice_cell(l, SHAPE_TRIANGLE, (const int32_t[]){b, d, a});
                lattice_cell(l, SHAPE_TRIANGLE, (const int32_t[]){b, c, d});
            }
            for (int64_t k = begin; k < l->input.n_cells; k++)
                l->regions[2 * i >= l->nx][region->count++] = k;
        }
}

static inline void lattice_sides(struct lattice *l) {
    for (int s = 0; s < 4; s++) {
        int n = s < 2 ? l->ny : l->nx;
        for (int k = 0; k < n; k++) {
            int i = s == 0 ? 0 : s == 1 ? l->nx : k, j = s == 2 ? 0 : s == 3 ? l->ny : k;
            int32_t *v = l->sides[s] + SHAPE_MAX_FACE_VERTICES * k;
            v[0] = lattice_vertex(l, i, j);
            v[1] = s < 2 ? lattice_vertex(l, i, j + 1) : lattice_vertex(l, i + 1, j);
            v[2] = v[3] = -1;
        }
    }
}

/* The unit square in nx x ny parts, interior vertices moved by up to `displacement` of a part. Parts of the
 * boundary xmin, xmax, ymin, ymax; groups of cells west, east. */
static inline struct facet_mesh *lattice(enum kind kind, int nx, int ny, double displacement) {
    static const char *const names[6] = {"xmin", "xmax", "ymin", "ymax", "west", "east"};
    struct lattice l = {.nx = nx, .ny = ny};
    struct facet_mesh *mesh;
    size_t most = 2 * (size_t)nx * (size_t)ny, n_vertices = (size_t)(nx + 1) * (size_t)(ny + 1);
    l.shapes = calloc(most, sizeof *l.shapes);
    l.vertex_offsets = calloc(most + 1, sizeof *l.vertex_offsets);
    l.node_offsets = calloc(most + 1, sizeof *l.node_offsets);
    l.vertices = calloc(4 * most, sizeof *l.vertices);
    l.nodes = calloc(8 * most, sizeof *l.nodes);
    l.points = calloc(2 * n_vertices, sizeof *l.points);
    for (int s = 0; s < 4; s++)
        l.sides[s] = calloc(SHAPE_MAX_FACE_VERTICES * (size_t)(nx > ny ? nx : ny), sizeof *l.sides[s]);
    for (int r = 0; r < 2; r++) l.regions[r] = calloc(most, sizeof *l.regions[r]);
    for (int g = 0; g < 6; g++)
        l.groups[g] = (struct mesh_input_group){.name = names[g],
                                                .dim = g < 4 ? 1 : 2,
                                                .count = g < 2   ? ny
                                                         : g < 4 ? nx
                                                                 : 0,
                                                .cells = g < 4 ? NULL : l.regions[g - 4],
                                                .vertices = g < 4 ? l.sides[g] : NULL};
    l.input = (struct mesh_input){.dim = 2, .order = 1, .n_vertices = (int64_t)n_vertices};
    lattice_points(&l, displacement);
    lattice_cells(&l, kind);
    lattice_sides(&l);
    l.input.shapes = l.shapes;
    l.input.vertex_offsets = l.vertex_offsets;
    l.input.vertices = l.vertices;
    l.input.node_offsets = l.node_offsets;
    l.input.nodes = l.nodes;
    l.input.n_groups = l.groups[4].count > 0 ? 6 : 4;
    l.input.groups = l.groups;
    ok(mesh_create(&l.input, &mesh));
    free(l.shapes);
    free(l.vertex_offsets);
    free(l.node_offsets);
    free(l.vertices);
    free(l.nodes);
    free(l.points);
    for (int s = 0; s < 4; s++) free(l.sides[s]);
    for (int r = 0; r < 2; r++) free(l.regions[r]);
    return mesh;
}

/* ------------------------------------------------------------------------------------------ problems */

struct condition {
    const char *part, *kind, *g, *a; /* kind: dirichlet, neumann, robin */
};
struct setup {
    struct facet_mesh *mesh;
    int degree, n_K;
    const char *K[9], *reaction, *source, *exact, *tau;
    double tau_hat, rtol; /* rtol 0: 1e-12 */
    const char *device, *discretization, *method, *preconditioner;
    struct condition conditions[7]; /* ends with one without a part */
};
struct solved {
    facet_context *context;
    facet_problem *problem;
    facet_solver *solver;
    facet_errors errors;
    facet_report report;
};

static inline void release(struct solved *s) {
    facet_solver_destroy(&s->solver);
    facet_problem_destroy(&s->problem);
    facet_context_destroy(&s->context);
}

static inline facet_status describe(const struct setup *p, facet_problem *problem) {
    facet_status status = FACET_OK;
    if (p->n_K > 0) TRY(facet_problem_set_conductivity(problem, NULL, p->n_K, p->K));
    if (p->reaction != NULL) TRY(facet_problem_set_reaction(problem, p->reaction));
    if (p->source != NULL) TRY(facet_problem_set_source(problem, p->source));
    if (p->exact != NULL) TRY(facet_problem_set_exact(problem, p->exact));
    for (const struct condition *c = p->conditions; c->part != NULL; c++) {
        if (c->kind[0] == 'd')
            TRY(facet_problem_set_dirichlet(problem, c->part, c->g));
        else if (c->kind[0] == 'n')
            TRY(facet_problem_set_neumann(problem, c->part, c->g));
        else
            TRY(facet_problem_set_robin(problem, c->part, c->a, c->g));
    }
done:
    return status;
}

/* On failure everything is freed again. */
static inline facet_status try_solve(const struct setup *p, struct solved *s) {
    facet_status status = FACET_OK;
    facet_options options;
    *s = (struct solved){.errors.size = sizeof s->errors, .report.size = sizeof s->report};
    facet_options_default(&options, sizeof options);
    options.discretization = p->discretization;
    options.operator_name = "mapped"; /* on boxes too: src/hdg is looked at */
    options.degree = p->degree;
    options.tau = p->tau;
    options.tau_hat = p->tau_hat;
    options.rtol = p->rtol > 0.0 ? p->rtol : 1e-12;
    options.method = p->method;
    options.preconditioner = p->preconditioner;
    TRY(facet_context_create(p->device, &s->context));
    TRY(facet_problem_create(s->context, p->mesh, FACET_DIFFUSION, &s->problem));
    TRY(describe(p, s->problem));
    TRY(facet_solver_create(s->problem, &options, &s->solver));
    TRY(facet_solver_solve(s->solver, NULL, NULL));
    if (s->solver->backend->need != NULL) TRY(s->solver->backend->need(s->solver, HDG_Q));
    if (s->solver->backend->fetch != NULL) TRY(s->solver->backend->fetch(s->solver, 0, NULL));
    TRY(facet_solver_report(s->solver, &s->report));
    if (p->exact != NULL) TRY(facet_solver_errors(s->solver, &s->errors));
done:
    if (status != FACET_OK) release(s);
    return status;
}

static inline void solve(const struct setup *p, struct solved *s) {
    ok(try_solve(p, s));
}

/* The largest difference of the coefficients of u, q and the trace of two solutions on the same mesh. */
static inline double difference(const struct solved *a, const struct solved *b) {
    const struct hdg *h = mapped_of(a->solver)->hdg;
    double largest = 0.0;
    for (int k = 0; k < h->data.mesh->n_blocks; k++) {
        int64_t n = (int64_t)h->data.mesh->blocks[k].count * h->space.blocks[k].N;
        for (int64_t i = 0; i < n; i++)
            largest = fmax(largest, fabs(mapped_of(a->solver)->solution.u[k][i] -
                                         mapped_of(b->solver)->solution.u[k][i]));
        for (int64_t i = 0; i < h->data.mesh->dim * n; i++)
            largest = fmax(largest, fabs(mapped_of(a->solver)->solution.q[k][i] -
                                         mapped_of(b->solver)->solution.q[k][i]));
    }
    for (int64_t i = 0; i < h->trace.n_all; i++)
        largest = fmax(
            largest, fabs(mapped_of(a->solver)->solution.trace[i] - mapped_of(b->solver)->solution.trace[i]));
    return largest;
}

#endif
