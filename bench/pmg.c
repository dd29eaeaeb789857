/* p-multigrid on the trace: iterations under refinement, the coarse spaces and smoothers its choices were
 * made from, and two large solids against algebraic multigrid on the assembled matrix. docs/pmg.md discusses
 * the tables. The right-hand side is noise, which no coarse space favours. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "problem/problem.h"
#include "solve/amg.h"
#include "solve/internal.h"
#include "trace/pmg.h"

#define RTOL           1e-10
#define MAX_ITERATIONS 500

/* A box of one shape with homogeneous Dirichlet sides. */
struct domain {
    const char *shape;
    int n;               /* bricks along each side */
    double stretch;      /* length of the box in x, 1 in the others */
    double displacement; /* of the inner vertices, in parts of a brick */
};

static int dimension(const char *shape) {
    return strcmp(shape, "tet") == 0 || strcmp(shape, "hex") == 0 ? 3 : 2;
}

struct system {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
};

static void system_destroy(struct system *s) {
    facet_solver_destroy(&s->solver);
    facet_problem_destroy(&s->problem);
    facet_mesh_destroy(&s->mesh);
    facet_context_destroy(&s->context);
}

/* A number in -1 .. 1 from any other. */
static double scatter(uint64_t i) {
    uint64_t h = (i + 1) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
    return (double)((h ^ (h >> 32)) >> 11) / 4503599627370496.0 - 1.0;
}

/* The same box with its inner vertices moved: cells of many forms, none of them affine but simplices. */
static facet_status distort(const struct domain *d, struct facet_mesh *box, struct facet_mesh **out) {
    facet_status status = FACET_OK;
    const struct mesh_block *b = &box->blocks[0];
    int dim = box->dim, nv = shape_n_vertices(b->shape);
    struct mesh_input in = {.dim = dim, .order = 1, .n_vertices = box->n_vertices, .n_cells = b->count};
    uint8_t *shapes = NULL;
    int64_t *offsets = NULL;
    double *nodes = NULL;
    TRY(ALLOC(shapes, b->count));
    TRY(ALLOC(offsets, b->count + 1));
    TRY(ALLOC(nodes, (int64_t)b->count * nv * dim));
    memcpy(nodes, b->nodes, (size_t)b->count * (size_t)(nv * dim) * sizeof *nodes);
    for (int64_t c = 0; c < b->count; c++) {
        shapes[c] = (uint8_t)b->shape;
        for (int v = 0; v < nv; v++) {
            double *x = nodes + (c * nv + shape_vertex_node(b->shape, 1, v)) * dim;
            int inside = 1;
            for (int a = 0; a < dim; a++) {
                double length = a == 0 ? d->stretch : 1.0;
                inside &= x[a] > 1e-9 * length && x[a] < (1.0 - 1e-9) * length;
            }
            for (int a = 0; a < dim && inside; a++)
                x[a] += d->displacement * (a == 0 ? d->stretch : 1.0) / d->n *
                        scatter((uint64_t)b->vertices[c * nv + v] * 3 + (uint64_t)a);
        }
    }
    for (int64_t c = 0; c <= b->count; c++) offsets[c] = c * nv;
    in.shapes = shapes;
    in.vertex_offsets = in.node_offsets = offsets;
    in.vertices = b->vertices;
    in.nodes = nodes;
    TRY(mesh_create(&in, out));
done:
    base_free(&shapes);
    base_free(&offsets);
    base_free(&nodes);
    return status;
}

static facet_status system_create(const struct bench_options *bench, const struct domain *d, int degree,
                                  struct system *s) {
    facet_status status = FACET_OK;
    facet_options options;
    struct facet_mesh *moved = NULL;
    facet_box box = {.dim = dimension(d->shape),
                     .upper = {d->stretch, 1.0, 1.0},
                     .cells = {d->n, d->n, d->n},
                     .shape = d->shape};
    facet_options_default(&options);
    options.operator_name = "mapped";
    options.degree = degree;
    options.tau = bench->tau;
    options.method = "cg";
    options.preconditioner = "none";
    options.postprocess = 0;
    TRY(facet_context_create(bench->device, &s->context));
    TRY(facet_mesh_create_box(s->context, &box, &s->mesh));
    if (d->displacement > 0.0) {
        TRY(distort(d, s->mesh, &moved));
        facet_mesh_destroy(&s->mesh);
        s->mesh = moved;
    }
    TRY(facet_problem_create(s->context, s->mesh, FACET_DIFFUSION, &s->problem));
    TRY(facet_problem_set_dirichlet(s->problem, "rest", "0"));
    TRY(facet_solver_create(s->problem, &options, &s->solver));
    TRY(solve_fill_noise(&s->solver->b));
done:
    return status;
}

struct outcome {
    int iterations, n_levels;
    double setup, solve; /* seconds */
    double held, peak;   /* bytes beyond the element matrices: during the iteration, and at most */
};

/* Conjugate gradients with M, which is destroyed. */
static facet_status iterate(struct system *s, const struct operator* A, struct operator* M,
                            struct outcome *o) {
    facet_status status = FACET_OK;
    struct solve_report report = {0};
    struct multigrid *mg = operator_multigrid(M);
    struct solve_control control = {
        .rtol = RTOL, .max_iterations = MAX_ITERATIONS, .flexible = multigrid_is_flexible(mg)};
    struct facet_solver *v = s->solver;
    double begin = base_seconds();
    o->n_levels = multigrid_n_levels(mg);
    vector_fill(&v->x, 0.0);
    status = solve_cg(A, M, &v->b, &v->x, &control, &report);
    o->solve = base_seconds() - begin;
    o->iterations = report.converged ? report.iterations : -report.iterations;
    if (status == FACET_NOT_CONVERGED) status = FACET_OK;
    solve_report_clear(&report);
    return status;
}

/* A Cholesky factor is not in the counts of our allocator. */
static double factor_bytes(const struct multigrid *mg) {
    struct mg_summary last;
    multigrid_summarize(mg, multigrid_n_levels(mg) - 1, &last);
    return strcmp(last.name, "inverse") == 0 || strcmp(last.name, "blocks") == 0 ? 0.0 : last.bytes;
}

static facet_status solve_pmg(struct system *s, const struct pmg_options *options, struct outcome *o) {
    facet_status status = FACET_OK;
    struct facet_solver *v = s->solver;
    struct multigrid *mg = NULL;
    struct operator M = {0};
    struct base_memory before, held, after;
    base_memory_reset_peak();
    base_memory_read(&before);
    double begin = base_seconds();
    TRY(trace_pmg_create(&v->hdg->trace, &v->hdg->matrices, &v->A, options, &mg));
    double factor = factor_bytes(mg);
    TRY(operator_create_multigrid(&mg, &M));
    o->setup = base_seconds() - begin;
    base_memory_read(&held);
    TRY(iterate(s, &v->A, &M, o));
    base_memory_read(&after);
    o->held = (double)(held.live_bytes - before.live_bytes) + factor;
    o->peak = (double)(after.peak_bytes - before.live_bytes) + factor;
done:
    multigrid_destroy(&mg);
    operator_destroy(&M);
    return status;
}

/* On the assembled matrix, fine level included. */
static facet_status solve_amg(struct system *s, struct outcome *o) {
    facet_status status = FACET_OK;
    struct facet_solver *v = s->solver;
    struct operator A = {0}, M = {0};
    struct csr csr = {0};
    struct amg_options options;
    struct base_memory before, held, after;
    base_memory_reset_peak();
    base_memory_read(&before);
    amg_options_default(&options);
    options.fine = &A;
    double begin = base_seconds();
    TRY(hdg_assemble(v->hdg, &csr));
    TRY(operator_create_csr(s->context->device, &csr, &A));
    solver_fill_constant(v, v->F);
    TRY(operator_create_amg(s->context->device, &csr, v->system.n_blocks, v->system.block_offsets, 1, v->F,
                            &options, &M));
    csr_destroy(&csr);
    o->setup = base_seconds() - begin;
    base_memory_read(&held);
    TRY(iterate(s, &A, &M, o));
    base_memory_read(&after);
    o->held = (double)(held.live_bytes - before.live_bytes);
    o->peak = (double)(after.peak_bytes - before.live_bytes);
done:
    csr_destroy(&csr);
    operator_destroy(&A);
    operator_destroy(&M);
    return status;
}

/* ------------------------------------------------------------------------------ refinement */

static const char *const shapes[4] = {"triangle", "quad", "tet", "hex"};

static void put_count(struct table *table, int iterations) {
    if (iterations < 0)
        table_cell(table, "> %d", -iterations);
    else
        table_cell(table, "%d", iterations);
}

/* A row of iterations over four refinements (three of solids with --quick). */
static facet_status refine(const struct bench_options *bench, const char *shape, int degree, double stretch,
                           double displacement, struct table *table) {
    facet_status status = FACET_OK;
    struct system s = {0};
    int solid = dimension(shape) == 3, first = 0, last = 0;
    int n_meshes = bench->quick ? (solid ? 3 : 4) : (solid ? 4 : 5);
    table_cell(table, "%s", shape);
    table_cell(table, "%s", displacement > 0.0 ? "distorted" : stretch > 1.0 ? "10:1" : "uniform");
    table_cell(table, "%d", degree);
    for (int i = 0; i < 5; i++) {
        struct domain d = {shape, (solid ? 2 : 8) << i, stretch, displacement};
        struct pmg_options options;
        struct outcome o = {0};
        if (i >= n_meshes) {
            table_cell(table, " ");
            continue;
        }
        pmg_options_default(&options);
        TRY(system_create(bench, &d, degree, &s));
        TRY(solve_pmg(&s, &options, &o));
        put_count(table, o.iterations);
        if (i == 0) first = o.iterations;
        last = o.iterations;
        system_destroy(&s);
    }
    table_cell(table, "%+d", last - first);
done:
    system_destroy(&s);
    return status;
}

static facet_status refinement(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"shape",  "cells",   "k",   "n = 8 (2)", "16 (4)",
                                          "32 (8)", "64 (16)", "128", "growth"};
    int largest = bench->quick ? 3 : 6;
    TRY(table_create(9, headers, &table));
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < 4; i++) {
            for (int k = 1; k <= largest; k++)
                TRY(refine(bench, shapes[i], k, kind == 1 ? 10.0 : 1.0, kind == 2 ? 0.15 : 0.0, table));
            table_rule(table);
        }
    TRY(bench_emit(bench, "pmg-refinement",
                   "Conjugate gradients with p-multigrid to 1e-10: iterations on n x n (solids: n x n x n) "
                   "bricks; uniform, stretched 10:1, and with displaced vertices.",
                   table));
done:
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ coarse spaces */

struct variant {
    const char *name;
    struct pmg_options options;
};

static int list_variants(struct variant *v) {
    int n = 0;
#define VARIANT(text, ...)                                                                                   \
    v[n++] = (struct variant) {                                                                              \
        text, {                                                                                              \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
    VARIANT("auto", .between = -1);
    VARIANT("k=0, faces 2", .coarse = PMG_CONSTANT, .smoother = PMG_FACES, .degree = 2);
    VARIANT("k=0, faces 4", .coarse = PMG_CONSTANT, .smoother = PMG_FACES, .degree = 4);
    VARIANT("k=1, faces 4", .coarse = PMG_LINEAR, .smoother = PMG_FACES, .degree = 4);
    VARIANT("linear, faces 2", .coarse = PMG_CONTINUOUS, .smoother = PMG_FACES, .degree = 2);
    VARIANT("linear, faces 4", .coarse = PMG_CONTINUOUS, .smoother = PMG_FACES, .degree = 4);
    VARIANT("k=1, linear, faces 4", .coarse = PMG_CONTINUOUS, .smoother = PMG_FACES, .degree = 4,
            .between = 1);
    VARIANT("k=1, linear, faces 8", .coarse = PMG_CONTINUOUS, .smoother = PMG_FACES, .degree = 8,
            .between = 1);
    VARIANT("linear, cells 2", .coarse = PMG_CONTINUOUS, .smoother = PMG_CELLS, .degree = 2);
    VARIANT("linear, cells 4", .coarse = PMG_CONTINUOUS, .smoother = PMG_CELLS, .degree = 4);
    VARIANT("rows, faces 2", .coarse = PMG_ROWS, .smoother = PMG_FACES, .degree = 2);
    VARIANT("rows, faces 3", .coarse = PMG_ROWS, .smoother = PMG_FACES, .degree = 3);
    VARIANT("rows, faces 4", .coarse = PMG_ROWS, .smoother = PMG_FACES, .degree = 4);
#undef VARIANT
    return n;
}

static facet_status compare(const struct bench_options *bench, const struct domain *d, int degree,
                            struct table *table) {
    facet_status status = FACET_OK;
    struct variant list[16];
    struct system s = {0};
    int n = list_variants(list);
    TRY(system_create(bench, d, degree, &s));
    for (int i = 0; i < n; i++) {
        struct outcome o = {0};
        int rows = list[i].options.coarse == PMG_ROWS;
        if (rows && shape_is_simplex(s.mesh->blocks[0].shape)) continue;
        if (list[i].options.coarse == PMG_LINEAR && degree == 1) continue;
        TRY(solve_pmg(&s, &list[i].options, &o));
        table_cell(table, "%s", d->shape);
        table_cell(table, "%s", d->displacement > 0.0 ? "distorted" : d->stretch > 1.0 ? "10:1" : "uniform");
        table_cell(table, "%d", degree);
        table_cell(table, "%s", list[i].name);
        put_count(table, o.iterations);
        table_cell(table, "%.3f", o.setup);
        table_cell(table, "%.3f", o.solve);
        table_cell(table, "%.1f", o.held / 1e6);
    }
done:
    system_destroy(&s);
    return status;
}

static facet_status coarse_spaces(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"shape",      "cells",   "k",       "coarse space, smoother",
                                          "iterations", "setup s", "solve s", "MB"};
    int degrees[] = {1, 3, 6}, n_degrees = bench->quick ? 2 : 3;
    TRY(table_create(8, headers, &table));
    for (int i = 0; i < 4; i++)
        for (int kind = 0; kind < 3; kind++)
            for (int k = 0; k < n_degrees; k++) {
                int solid = i >= 2, n = solid ? (bench->quick ? 6 : degrees[k] == 6 ? 8 : 12) : 64;
                struct domain d = {shapes[i], n, kind == 1 ? 10.0 : 1.0, kind == 2 ? 0.15 : 0.0};
                TRY(compare(bench, &d, degrees[k], table));
                table_rule(table);
            }
    TRY(bench_emit(
        bench, "pmg-coarse",
        "Coarse spaces and smoothers of p-multigrid: iterations to 1e-10, seconds, and memory beyond "
        "the element matrices.",
        table));
done:
    table_destroy(&table);
    return status;
}

/* ------------------------------------------------------------------------------ large solids */

static void put_large(struct table *table, const char *what, const struct outcome *o,
                      const struct outcome *amg) {
    table_cell(table, "%s", what);
    put_count(table, o->iterations);
    table_cell(table, "%.2f", o->setup);
    table_cell(table, "%.2f", o->solve);
    table_cell(table, "%.2f", (amg->setup + amg->solve) / (o->setup + o->solve));
    table_cell(table, "%.0f", o->held / 1e6);
    table_cell(table, "%.0f", o->peak / 1e6);
    table_cell(table, "%.2f", amg->held / o->held);
    table_cell(table, "%.2f", amg->peak / o->peak);
}

static facet_status large_one(const struct bench_options *bench, const char *shape, int n,
                              struct table *table) {
    facet_status status = FACET_OK;
    struct system s = {0};
    struct domain d = {shape, n, 1.0, 0.0};
    struct pmg_options options;
    struct outcome amg = {0}, pmg = {0}, mixed = {0};
    pmg_options_default(&options);
    options.precision = PMG_DOUBLE;
    TRY(system_create(bench, &d, 3, &s));
    TRY(solve_pmg(&s, &options, &pmg));
    options.precision = PMG_MIXED;
    TRY(solve_pmg(&s, &options, &mixed));
    TRY(solve_amg(&s, &amg));
    for (int i = 0; i < 3; i++) {
        table_cell(table, "%s %d^3", shape, n);
        table_cell(table, "%lld", (long long)s.solver->system.n_free);
        put_large(table,
                  i == 0   ? "amg, assembled"
                  : i == 1 ? "pmg"
                           : "pmg, mixed",
                  i == 0   ? &amg
                  : i == 1 ? &pmg
                           : &mixed,
                  &amg);
    }
    table_rule(table);
done:
    system_destroy(&s);
    return status;
}

facet_status bench_pmg_large(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"solid",   "unknowns",  "preconditioner", "iterations",
                                          "setup s", "solve s",   "faster",         "MB held",
                                          "MB peak", "less held", "less peak"};
    TRY(table_create(11, headers, &table));
    TRY(large_one(options, "hex", options->quick ? 12 : 32, table));
    TRY(large_one(options, "tet", options->quick ? 8 : 24, table));
    TRY(bench_emit(
        options, "pmg-large",
        "Conjugate gradients to 1e-10 at k = 3: p-multigrid, in double and mixed precision, against "
        "algebraic multigrid on the assembled matrix, assembly included. Memory: what the solve takes "
        "beyond the element matrices, during the iteration and at most.",
        table));
done:
    table_destroy(&table);
    return status;
}

facet_status bench_pmg(const struct bench_options *options) {
    facet_status status = refinement(options);
    return status != FACET_OK ? status : coarse_spaces(options);
}
