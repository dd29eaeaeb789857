/* Trace systems on boxes with noise on the right, and preconditioners tried on them. See trial.h. */
#include "bench/trial.h"

#include <stdio.h>
#include <string.h>

#include "solve/amg.h"
#include "solve/solve_internal.h"

#define RTOL           1e-10
#define MAX_ITERATIONS 500

int trial_dimension(const char *shape) {
    return strcmp(shape, "tet") == 0 || strcmp(shape, "hex") == 0 ? 3 : 2;
}

void trial_destroy(struct trial *s) {
    facet_solver_destroy(&s->solver);
    facet_problem_destroy(&s->problem);
    facet_mesh_destroy(&s->mesh);
    facet_context_destroy(&s->context);
}

double trial_scatter(uint64_t i) {
    uint64_t h = (i + 1) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
    return (double)((h ^ (h >> 32)) >> 11) / 4503599627370496.0 - 1.0;
}

/* The same box with its inner vertices moved: cells of many forms, none of them affine but simplices. */
static facet_status distort(const struct trial_domain *d, struct facet_mesh *box, struct facet_mesh **out) {
    facet_status status = FACET_OK;
    const struct mesh_block *b = &box->blocks[0];
    int dim = box->dim, nv = shape_n_vertices(b->shape);
    struct mesh_input in = {.dim = dim, .order = 1, .n_vertices = box->n_vertices, .n_cells = b->count};
    uint8_t *shapes = NULL;
    int64_t *offsets = NULL;
    double *nodes = NULL;
    TRY(mesh_need_lists(box));
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
                        trial_scatter((uint64_t)b->vertices[c * nv + v] * 3 + (uint64_t)a);
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

static facet_status pose_diffusion(const struct trial_domain *d, struct trial *s) {
    facet_status status = FACET_OK;
    TRY(facet_problem_create(s->context, s->mesh, FACET_DIFFUSION, &s->problem));
    if (d->conductivity != NULL) TRY(facet_problem_set_conductivity(s->problem, NULL, 1, &d->conductivity));
    TRY(facet_problem_set_dirichlet(s->problem, "rest", "0"));
done:
    return status;
}

static facet_status pose_body(const struct trial_domain *d, struct trial *s) {
    facet_status status = FACET_OK;
    static const char *const zero[3] = {"0", "0", "0"};
    const char *const moduli[2] = {"1", d->lambda};
    const int dim = trial_dimension(d->shape);
    TRY(facet_problem_create(s->context, s->mesh, FACET_ELASTICITY, &s->problem));
    TRY(facet_problem_set_material(s->problem, NULL, "mu,lambda", moduli));
    TRY(facet_problem_set_displacement(s->problem, "xmin", dim, zero));
    TRY(facet_problem_set_traction(s->problem, "rest", dim, zero));
done:
    return status;
}

facet_status trial_create(const struct bench_options *bench, const struct trial_domain *d, int degree,
                          struct trial *s) {
    facet_status status = FACET_OK;
    facet_options options;
    struct facet_mesh *moved = NULL;
    facet_box box = {.size = sizeof(facet_box),
                     .dim = trial_dimension(d->shape),
                     .upper = {d->stretch, 1.0, 1.0},
                     .cells = {d->n, d->n, d->n},
                     .shape = d->shape};
    facet_options_default(&options, sizeof options);
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
    TRY(d->lambda != NULL ? pose_body(d, s) : pose_diffusion(d, s));
    TRY(facet_solver_create(s->problem, &options, &s->solver));
    TRY(solve_fill_noise(&mapped_of(s->solver)->b));
done:
    return status;
}

facet_status trial_middles(const struct trial *s, double **middles) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->mesh;
    const int dim = mesh->dim;
    TRY(mesh_need_lists(s->mesh));
    TRY(CALLOC(*middles, (int64_t)mesh->n_cells * dim));
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        const int nv = shape_n_vertices(block->shape);
        for (int64_t i = 0; i < (int64_t)block->count * nv * dim; i++)
            (*middles)[block->first * dim + i / (nv * dim) * dim + i % dim] += block->nodes[i] / nv;
    }
done:
    return status;
}

facet_status trial_scale(struct trial *s, const double *K, int undo) {
    struct trace_matrices *m = &mapped_of(s->solver)->hdg->matrices;
    if (!device_is_host(m->device))
        return base_fail(FACET_ERROR_INPUT, "element matrices are scaled on devices of the host only");
    for (int b = 0; b < m->n_blocks; b++) {
        const struct mesh_block *block = &s->mesh->blocks[b];
        const int64_t size = trace_matrix_size(m, b);
        for (int64_t c = 0; c < block->count; c++) {
            double *values = m->values[b] + trace_matrix_start(m, b, c);
            const double factor = K[block->first + c];
            for (int64_t e = 0; e < size && factor != 1.0; e++)
                values[e * m->lanes] = undo ? values[e * m->lanes] / factor : values[e * m->lanes] * factor;
        }
    }
    return FACET_OK;
}

/* Conjugate gradients with M, which is destroyed. */
facet_status trial_iterate(struct trial *s, const struct linear_operator *A, struct linear_operator *M,
                           struct trial_outcome *o) {
    facet_status status = FACET_OK;
    struct solve_report report = {0};
    struct multigrid *mg = operator_multigrid(M);
    struct solve_control control = {
        .rtol = RTOL, .max_iterations = MAX_ITERATIONS, .flexible = multigrid_is_flexible(mg)};
    struct facet_solver *v = s->solver;
    double begin = base_seconds();
    o->n_levels = multigrid_n_levels(mg);
    vector_fill(&mapped_of(v)->x, 0.0);
    status = solve_cg(A, M, &mapped_of(v)->b, &mapped_of(v)->x, &control, &report);
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

/* The space below the traces of degree 1 and more. */
static void find_last(const struct multigrid *mg, struct trial_outcome *o) {
    struct mg_summary level;
    int i = 0;
    do multigrid_summarize(mg, i++, &level);
    while (i < multigrid_n_levels(mg) && strncmp(level.name, "k=", 2) == 0 && strcmp(level.name, "k=0") != 0);
    snprintf(o->last, sizeof o->last, "%s%s", level.name, i < multigrid_n_levels(mg) ? ", amg" : "");
    o->n_last = level.n;
}

facet_status trial_solve(struct trial *s, struct multigrid **mg, double begin,
                         const struct base_memory *before, struct trial_outcome *o) {
    facet_status status = FACET_OK;
    struct linear_operator M = {0};
    struct base_memory held, after;
    double factor = factor_bytes(*mg);
    find_last(*mg, o);
    TRY(operator_create_multigrid(mg, &M));
    o->setup = base_seconds() - begin;
    base_memory_read(&held);
    TRY(trial_iterate(s, &mapped_of(s->solver)->A, &M, o));
    base_memory_read(&after);
    o->held = (double)(held.live_bytes - before->live_bytes) + factor;
    o->peak = (double)(after.peak_bytes - before->live_bytes) + factor;
done:
    operator_destroy(&M);
    return status;
}

facet_status trial_solve_pmg(struct trial *s, const struct pmg_options *options, struct trial_outcome *o) {
    facet_status status = FACET_OK;
    struct facet_solver *v = s->solver;
    struct multigrid *mg = NULL;
    struct base_memory before;
    base_memory_reset_peak();
    base_memory_read(&before);
    double begin = base_seconds();
    TRY(trace_pmg_create(&mapped_of(v)->hdg->trace, &mapped_of(v)->hdg->matrices, &mapped_of(v)->A, options,
                         &mg));
    TRY(trial_solve(s, &mg, begin, &before, o));
done:
    multigrid_destroy(&mg);
    return status;
}

/* On the assembled matrix, fine level included. */
facet_status trial_solve_amg(struct trial *s, struct trial_outcome *o) {
    facet_status status = FACET_OK;
    struct facet_solver *v = s->solver;
    struct linear_operator A = {0}, M = {0};
    struct csr csr = {0};
    struct amg_options options;
    struct base_memory before, held, after;
    base_memory_reset_peak();
    base_memory_read(&before);
    amg_options_default(&options);
    options.fine = &A;
    double begin = base_seconds();
    TRY(hdg_assemble(mapped_of(v)->hdg, &csr));
    TRY(operator_create_csr(s->context->device, &csr, &A));
    solver_fill_constant(v, mapped_of(v)->F);
    TRY(operator_create_amg(s->context->device, &csr, v->system.n_blocks, v->system.block_offsets, 1,
                            mapped_of(v)->F, &options, &M));
    csr_destroy(&csr);
    o->setup = base_seconds() - begin;
    base_memory_read(&held);
    TRY(trial_iterate(s, &A, &M, o));
    base_memory_read(&after);
    o->held = (double)(held.live_bytes - before.live_bytes);
    o->peak = (double)(after.peak_bytes - before.live_bytes);
done:
    csr_destroy(&csr);
    operator_destroy(&A);
    operator_destroy(&M);
    return status;
}

void trial_put_count(struct table *table, int iterations) {
    if (iterations < 0)
        table_cell(table, "> %d", -iterations);
    else
        table_cell(table, "%d", iterations);
}
