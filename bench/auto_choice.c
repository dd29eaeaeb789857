/* What `auto` takes against the best that can be chosen by hand: twelve cases of different kinds, each solved
 * by turns with `auto` and with every choice that applies. Seconds are those of assembly, set-up and solve,
 * the least of some rounds; a choice that takes PATIENCE times as long as the best has one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/bench.h"
#include "facet.h"

#define ROUNDS         3
#define PATIENCE       2.0
#define MAX_ITERATIONS 300

/* K: 1 and c on a chessboard of 4^d pieces, and without pattern on `n` bricks a side; a weak direction at an
 * angle of 30 degrees, in 3D across all faces. */
#define CHESSBOARD(c, z) "if(mod(floor(4*x)+floor(4*y)+floor(4*" z "),2)<0.5,1," c ")"
#define SCATTERED(n, c, z)                                                                                   \
    "if(mod(43758.5*sin(127.1*floor(" n "*x)+311.7*floor(" n "*y)+74.7*floor(" n "*" z ")),1)<0.5,1," c ")"
#define ROTATED_2D "0.75025", "0.43258", "0.43258", "0.25075"
#define ROTATED_3D                                                                                           \
    "0.48052", "0.27685", "0.41528", "0.27685", "0.16084", "0.23976", "0.41528", "0.23976", "0.36064"

struct kind {
    const char *name, *shape;
    int n, degree;
    double length;      /* of the box in x, 1 in the others */
    const char *K[9];   /* one text, or those of a matrix */
    const char *lambda; /* elasticity with mu = 1; NULL: diffusion */
    int boxes;          /* the operator tensor may be taken */
};
static const struct kind kinds[] = {
    {"triangles, K = 1", "triangle", 64, 2, 1.0, {"1"}, NULL, 0},
    {"triangles, chessboard 1e4", "triangle", 64, 3, 1.0, {CHESSBOARD("1e4", "0")}, NULL, 0},
    {"triangles, K without pattern, 1e6", "triangle", 40, 2, 1.0, {SCATTERED("40", "1e6", "0")}, NULL, 0},
    {"triangles, K 1:1e-3 rotated", "triangle", 48, 2, 1.0, {ROTATED_2D}, NULL, 0},
    {"triangles, 100:1", "triangle", 48, 2, 100.0, {"1"}, NULL, 0},
    {"quads, K = 1", "quad", 64, 3, 1.0, {"1"}, NULL, 0},
    {"quads, K 1:1e-3 rotated", "quad", 48, 2, 1.0, {ROTATED_2D}, NULL, 0},
    {"tets, chessboard 1e4", "tet", 8, 2, 1.0, {CHESSBOARD("1e4", "z")}, NULL, 0},
    {"tets, K 1:1e-3 rotated", "tet", 6, 2, 1.0, {ROTATED_3D}, NULL, 0},
    {"hexes, K without pattern, 1e6", "hex", 8, 2, 1.0, {SCATTERED("8", "1e6", "z")}, NULL, 0},
    {"boxes, K without pattern, 1e4", "hex", 8, 4, 1.0, {SCATTERED("8", "1e4", "z")}, NULL, 1},
    {"elasticity, tets, lambda = mu", "tet", 4, 2, 2.0, {NULL}, "1", 0},
};

/* Words for the solver. */
struct choice {
    const char *name, *method, *preconditioner, *smoother, *precision;
    int smoother_degree;
    const char *operator_name;
};
static const struct choice choices[] = {
    {"auto", "auto", "auto", "auto", "auto", 0, "auto"},
    {"direct", "direct", "auto", "auto", "auto", 0, "mapped"},
    {"pmg", "cg", "pmg", "auto", "auto", 0, "mapped"},
    {"pmg, degree 2", "cg", "pmg", "auto", "auto", 2, "mapped"},
    {"pmg, degree 8", "cg", "pmg", "auto", "auto", 8, "mapped"},
    {"pmg, cells", "cg", "pmg", "cells", "auto", 0, "mapped"},
    {"pmg, double", "cg", "pmg", "auto", "double", 0, "mapped"},
    {"pmg, mixed", "cg", "pmg", "auto", "mixed", 0, "mapped"},
    {"gmg", "cg", "gmg", "auto", "auto", 0, "mapped"},
    {"amg", "cg", "amg", "auto", "auto", 0, "mapped"},
    {"chebyshev", "cg", "chebyshev", "auto", "auto", 0, "tensor"},
    {"additive", "cg", "additive", "auto", "auto", 0, "tensor"},
};
#define N_CHOICES ((int)(sizeof choices / sizeof choices[0]))

struct outcome {
    double seconds; /* infinite: not possible, or not converged */
    int iterations;
    char taken[32]; /* what `auto` took */
};

static int applies(const struct kind *k, const struct choice *c) {
    if (strcmp(c->preconditioner, "gmg") == 0 && strcmp(k->shape, "quad") != 0) return 0;
    return k->boxes || strcmp(c->operator_name, "tensor") != 0;
}

static facet_status pose(facet_context *context, const struct kind *k, facet_mesh **mesh,
                         facet_problem **problem) {
    facet_status status = FACET_OK;
    const int solid = strcmp(k->shape, "tet") == 0 || strcmp(k->shape, "hex") == 0, dim = solid ? 3 : 2;
    static const char *const zero[3] = {"0", "0", "0"}, *const force[3] = {"1+x", "y", "1"};
    facet_box box = {.size = sizeof box,
                     .dim = dim,
                     .upper = {k->length, 1.0, 1.0},
                     .cells = {k->lambda != NULL ? 2 * k->n : k->n, k->n, k->n},
                     .shape = k->shape};
    TRY(facet_mesh_create_box(context, &box, mesh));
    TRY(facet_problem_create(context, *mesh, k->lambda != NULL ? FACET_ELASTICITY : FACET_DIFFUSION,
                             problem));
    if (k->lambda != NULL) {
        const char *const moduli[2] = {"1", k->lambda};
        TRY(facet_problem_set_material(*problem, NULL, "mu,lambda", moduli));
        TRY(facet_problem_set_vector_source(*problem, dim, force));
        TRY(facet_problem_set_displacement(*problem, "rest", dim, zero));
        goto done;
    }
    TRY(facet_problem_set_conductivity(*problem, NULL, k->K[1] != NULL ? dim * dim : 1, k->K));
    TRY(facet_problem_set_source(*problem, "1+x"));
    TRY(facet_problem_set_dirichlet(*problem, "rest", "0"));
done:
    return status;
}

static facet_status try_choice(facet_problem *problem, const struct kind *k, const struct choice *c,
                               struct outcome *o) {
    facet_status status = FACET_OK;
    facet_solver *solver = NULL;
    facet_options options;
    facet_report report = {.size = sizeof report};
    facet_options_default(&options, sizeof options);
    options.degree = k->degree;
    options.operator_name = k->boxes ? c->operator_name : "mapped";
    options.postprocess = 0;
    options.method = c->method;
    options.preconditioner = c->preconditioner;
    options.smoother = c->smoother;
    options.smoother_degree = c->smoother_degree;
    options.precision = c->precision;
    options.max_iterations = MAX_ITERATIONS;
    TRY(facet_solver_create(problem, &options, &solver));
    status = facet_solver_solve(solver, NULL, NULL);
    if (status == FACET_NOT_CONVERGED) {
        status = FACET_OK;
        goto done;
    }
    TRY(status);
    TRY(facet_solver_report(solver, &report));
    double seconds = report.seconds[FACET_PHASE_ASSEMBLE] + report.seconds[FACET_PHASE_SETUP] +
                     report.seconds[FACET_PHASE_SOLVE];
    o->seconds = fmin(o->seconds, seconds);
    o->iterations = report.iterations;
    snprintf(o->taken, sizeof o->taken, "%s",
             strcmp(report.method, "direct") == 0 ? report.method : report.preconditioner);
done:
    facet_solver_destroy(&solver);
    return status;
}

static facet_status run_kind(const struct bench_options *bench, const struct kind *k, struct outcome *o) {
    facet_status status = FACET_OK;
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    double best = INFINITY;
    for (int i = 0; i < N_CHOICES; i++) o[i] = (struct outcome){.seconds = INFINITY};
    TRY(facet_context_create(bench->device, &context));
    TRY(pose(context, k, &mesh, &problem));
    for (int round = 0; round < (bench->quick ? 1 : ROUNDS); round++)
        for (int i = 0; i < N_CHOICES; i++) {
            if (!applies(k, &choices[i]) || (round > 0 && i > 0 && !(o[i].seconds <= PATIENCE * best)))
                continue;
            TRY(try_choice(problem, k, &choices[i], &o[i]));
            best = fmin(best, o[i].seconds);
        }
done:
    facet_problem_destroy(&problem);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return status;
}

static void put_row(const struct kind *k, const struct outcome *o, struct table *table) {
    int best = 1;
    for (int i = 2; i < N_CHOICES; i++)
        if (o[i].seconds < o[best].seconds) best = i;
    table_cell(table, "%s", k->name);
    table_cell(table, "%s %d^%d", k->shape, k->n,
               strcmp(k->shape, "tet") == 0 || strcmp(k->shape, "hex") == 0 ? 3 : 2);
    table_cell(table, "%d", k->degree);
    table_cell(table, "%s", o[0].taken);
    table_cell(table, "%d", o[0].iterations);
    table_cell(table, "%.3f", o[0].seconds);
    table_cell(table, "%s", choices[best].name);
    table_cell(table, "%d", o[best].iterations);
    table_cell(table, "%.3f", o[best].seconds);
    table_cell(table, "%.2f", o[0].seconds / fmin(o[best].seconds, o[0].seconds));
}

facet_status bench_auto_choice(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"case", "cells",        "k",          "auto took", "iterations",
                                          "s",    "best by hand", "iterations", "s",         "auto / best"};
    TRY(table_create(10, headers, &table));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct outcome o[N_CHOICES];
        TRY(run_kind(options, &kinds[i], o));
        put_row(&kinds[i], o, table);
    }
    TRY(bench_emit(options, "auto-choice",
                   "What auto takes against the best choice by hand of method, preconditioner, smoother and "
                   "precision: seconds of assembly, set-up and solve to 1e-10, the least of three rounds by "
                   "turns.",
                   table));
done:
    table_destroy(&table);
    return status;
}
