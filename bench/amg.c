/* Algebraic multigrid on the trace systems of king2014's problem: iterations as the mesh is refined, and the
 * variants the defaults were chosen from. docs/amg.md discusses both tables. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "problem/mapped_backend.h"
#include "solve/amg.h"

#define RTOL 1e-10

struct trace_problem {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    struct csr csr;   /* the assembled trace matrix */
    double *constant; /* in the trace basis: 1 at the first unknown of every face */
};

static void trace_problem_destroy(struct trace_problem *p) {
    base_free(&p->constant);
    csr_destroy(&p->csr);
    facet_solver_destroy(&p->solver);
    facet_problem_destroy(&p->problem);
    facet_mesh_destroy(&p->mesh);
    facet_context_destroy(&p->context);
}

static facet_status trace_problem_create(const struct bench_options *bench, const char *shape, int n,
                                         int degree, struct trace_problem *p) {
    facet_status status = FACET_OK;
    facet_options options;
    facet_box box = {
        .size = sizeof(facet_box), .dim = 2, .upper = {1.0, 1.0}, .cells = {n, n}, .shape = shape};
    facet_options_default(&options, sizeof options);
    options.operator_name = "mapped";
    options.degree = degree;
    options.tau = bench->tau != NULL ? bench->tau : "1";
    options.method = "cg";
    options.preconditioner = "none";
    options.postprocess = 0;
    TRY(facet_context_create(bench->device, &p->context));
    TRY(facet_mesh_create_box(p->context, &box, &p->mesh));
    TRY(facet_problem_create(p->context, p->mesh, FACET_DIFFUSION, &p->problem));
    TRY(facet_problem_set_reaction(p->problem, "1"));
    TRY(facet_problem_set_exact(p->problem, "sin(2*pi*x)*sin(2*pi*y)"));
    TRY(facet_solver_create(p->problem, &options, &p->solver));
    const struct trace_space *trace = &mapped_of(p->solver)->hdg->trace;
    TRY(CALLOC(p->constant, trace->n_free));
    for (int64_t b = 0; b < trace->n_free_faces; b++) p->constant[trace->free_offsets[b]] = 1.0;
    TRY(hdg_load(mapped_of(p->solver)->hdg, NULL, &mapped_of(p->solver)->solution, &mapped_of(p->solver)->b));
    TRY(trace_assemble(trace, &mapped_of(p->solver)->hdg->matrices, &p->csr));
done:
    return status;
}

struct outcome {
    int iterations, n_levels;
    double complexity, setup_seconds, solve_seconds;
};

/* The entries of all levels over those of the finest. */
static double complexity(const struct multigrid *mg, int *n_levels) {
    double entries = 0.0, finest = 1.0;
    *n_levels = multigrid_n_levels(mg);
    for (int i = 0; i < *n_levels; i++) {
        struct mg_summary level;
        multigrid_summarize(mg, i, &level);
        entries += (double)level.entries;
        if (i == 0) finest = (double)level.entries;
    }
    return entries / finest;
}

/* options NULL: block Jacobi instead. */
static facet_status solve(struct trace_problem *p, const struct amg_options *options, struct outcome *o) {
    facet_status status = FACET_OK;
    struct facet_solver *s = p->solver;
    const struct trace_space *trace = &mapped_of(s)->hdg->trace;
    struct linear_operator M = {0};
    struct solve_report report = {0};
    struct solve_control control = {
        .rtol = RTOL, .max_iterations = 20000, .flexible = options != NULL && options->cycle == MG_K};
    double begin = base_seconds();
    *o = (struct outcome){0};
    if (options != NULL) {
        struct amg_options with = *options;
        with.fine = &mapped_of(s)->A;
        TRY(operator_create_amg(p->context->device, &p->csr, trace->n_free_faces, trace->free_offsets, 1,
                                p->constant, &with, &M));
        o->complexity = complexity(operator_multigrid(&M), &o->n_levels);
    } else {
        TRY(operator_create_block_jacobi(p->context->device, &p->csr, trace->n_free_faces,
                                         trace->free_offsets, &M));
    }
    double middle = base_seconds();
    vector_fill(&mapped_of(s)->x, 0.0);
    TRY(solve_cg(&mapped_of(s)->A, &M, &mapped_of(s)->b, &mapped_of(s)->x, &control, &report));
    o->iterations = report.iterations;
    o->setup_seconds = middle - begin;
    o->solve_seconds = base_seconds() - middle;
done:
    operator_destroy(&M);
    solve_report_clear(&report);
    return status;
}

static facet_status refinement(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct trace_problem p = {0};
    struct amg_options options;
    static const char *const headers[] = {"shape",   "P",          "n",          "unknowns",
                                          "levels",  "complexity", "iterations", "growth",
                                          "setup s", "solve s",    "ns/unknown"};
    static const char *const shapes[] = {"triangle", "quad"};
    int largest = bench->quick ? 80 : 320;
    amg_options_default(&options);
    TRY(table_create(11, headers, &table));
    for (int k = 0; k < 12; k++) {
        int first = 0, P = k % 6 + 1;
        for (int n = 20; n <= largest; n *= bench->quick ? 2 : 4) {
            struct outcome o;
            TRY(trace_problem_create(bench, shapes[k / 6], n, P, &p));
            TRY(solve(&p, &options, &o));
            if (first == 0) first = o.iterations;
            table_cell(table, "%s", shapes[k / 6]);
            table_cell(table, "%d", P);
            table_cell(table, "%d", n);
            table_cell(table, "%lld", (long long)p.csr.n);
            table_cell(table, "%d", o.n_levels);
            table_cell(table, "%.2f", o.complexity);
            table_cell(table, "%d", o.iterations);
            table_cell(table, "%.2f", (double)o.iterations / first);
            table_cell(table, "%.3f", o.setup_seconds);
            table_cell(table, "%.3f", o.solve_seconds);
            table_cell(table, "%.0f", 1e9 * (o.setup_seconds + o.solve_seconds) / (double)p.csr.n);
            trace_problem_destroy(&p);
        }
        table_rule(table);
    }
    TRY(bench_emit(
        bench, "amg-refinement",
        "Conjugate gradients with algebraic multigrid to 1e-10: king2014's problem on n x n squares, "
        "whole or split into two triangles; growth is against n = 20.",
        table));
done:
    trace_problem_destroy(&p);
    table_destroy(&table);
    return status;
}

struct variant {
    const char *name;
    struct amg_options options; /* without meaning for block Jacobi */
    int block;
};

/* The defaults, and each with one thing changed. */
static int list_variants(struct variant *v) {
    int n = 0;
    struct amg_options d;
    amg_options_default(&d);
#define VARIANT(text, ...)                                                                                   \
    do {                                                                                                     \
        struct amg_options o = d;                                                                            \
        __VA_ARGS__;                                                                                         \
        v[n++] = (struct variant){.name = text, .options = o};                                               \
    } while (0)
    VARIANT("default", (void)0);
    VARIANT("pairwise, 2 passes", o.aggregation = AMG_PAIRWISE);
    VARIANT("pairwise, 3 passes", o.aggregation = AMG_PAIRWISE; o.passes = 3);
    VARIANT("W", o.cycle = MG_W);
    VARIANT("W, coarse correction x 1.5", o.cycle = MG_W; o.overcorrection = 1.5);
    VARIANT("V", o.cycle = MG_V);
    VARIANT("V, coarse correction x 1.8", o.cycle = MG_V; o.overcorrection = 1.8);
    VARIANT("smoother degree 1", o.degree = 1);
    VARIANT("smoother degree 3", o.degree = 3);
    VARIANT("smoother degree 4", o.degree = 4);
    VARIANT("coarse smoother degree 1", o.coarse_degree = 1);
    VARIANT("first kind, ratio 6", o.polynomial = POLYNOMIAL_FIRST; o.ratio = 6);
    VARIANT("leading 0", o.leading = 0);
    VARIANT("leading 1", o.leading = 1);
    VARIANT("leading 2", o.leading = 2);
#undef VARIANT
    v[n++] = (struct variant){.name = "block Jacobi, no multigrid", .block = 1};
    return n;
}

static facet_status variants(const struct bench_options *bench) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    struct trace_problem p = {0};
    struct variant list[32];
    static const char *const headers[] = {"variant",  "shape",   "P",      "n = 20",
                                          "larger n", "setup s", "solve s"};
    static const char *const shapes[] = {"triangle", "quad"};
    int n_variants = list_variants(list), larger = bench->quick ? 40 : 160;
    TRY(table_create(7, headers, &table));
    for (int k = 0; k < 6; k++) {
        int P = (int[]){1, 3, 6}[k % 3], before[32];
        for (int size = 0; size < 2; size++) {
            TRY(trace_problem_create(bench, shapes[k / 3], size == 0 ? 20 : larger, P, &p));
            for (int i = 0; i < n_variants; i++) {
                struct outcome o;
                TRY(solve(&p, list[i].block ? NULL : &list[i].options, &o));
                if (size == 0) {
                    before[i] = o.iterations;
                    continue;
                }
                table_cell(table, "%s", list[i].name);
                table_cell(table, "%s", shapes[k / 3]);
                table_cell(table, "%d", P);
                table_cell(table, "%d", before[i]);
                table_cell(table, "%d", o.iterations);
                table_cell(table, "%.3f", o.setup_seconds);
                table_cell(table, "%.3f", o.solve_seconds);
            }
            trace_problem_destroy(&p);
        }
        table_rule(table);
    }
    char title[200];
    snprintf(
        title, sizeof title,
        "Variants of the multigrid: iterations to 1e-10 at n = 20 and n = %d, and seconds at the latter.",
        larger);
    TRY(bench_emit(bench, "amg-variants", title, table));
done:
    trace_problem_destroy(&p);
    table_destroy(&table);
    return status;
}

facet_status bench_amg(const struct bench_options *options) {
    facet_status status = refinement(options);
    return status != FACET_OK ? status : variants(options);
}
