/* Bytes that an iteration of conjugate gradients with p-multigrid moves an unknown, counted from the arrays
 * that its kernels pass through, beside the least: entries of packed matrices, one read and one write of each
 * vector in every fused step, blocks of faces. docs/pmg.md compares the count with the misses of a simulated
 * cache. */
#include <stdio.h>

#include "bench/trial.h"
#include "trace/half_precision.h"
#include "trace/levels.h"
#include "trace/pmg_parts.h"

#define STEPS 4 /* of the polynomial, before and after the coarse correction */

/* Per cycle of one level, in bytes. */
struct count {
    double entries, blocks, vectors; /* the least */
    double scales, maps, again; /* beside it: scales and sums of matrices, places of faces, second touches */
};

/* A level of a space: 2 STEPS products (one fewer before the correction, and the residual), as many steps.
 * The second cell of a face reads x and adds to y once more, which is cleared before. */
static facet_status count_level(const struct trace_space *space, const struct trace_matrices *matrices,
                                const struct linear_operator *A, struct count *c) {
    facet_status status = FACET_OK;
    struct linear_operator half = {0};
    double products = 2 * STEPS, real = sizeof(float), entries = 0.0, faces = 0.0;
    TRY(trace_operator_halve(space, matrices, A, &half));
    for (int b = 0; b < matrices->n_blocks; b++) {
        entries += (double)space->mesh->blocks[b].count * (double)trace_matrix_size(matrices, b);
        faces += (double)space->mesh->blocks[b].count * space->n_slots[b];
    }
    double width = half.apply != NULL ? 2.0 : real;
    double bytes = half.apply != NULL ? trace_operator_bytes(&half) : real * entries;
    for (int64_t f = 0; f < space->n_free_faces; f++) {
        double m = (double)(space->free_offsets[f + 1] - space->free_offsets[f]);
        c->blocks += products * real * m * (m + 1.0) / 2.0;
    }
    c->entries += products * width * entries;
    c->scales += products * (bytes - width * entries);
    c->maps += products * (double)sizeof(int64_t) * faces;
    c->vectors += products * real * (2.0 + 6.0) * (double)space->n_free; /* x, y; r, d, x read and written */
    c->again += products * real * 4.0 * (double)space->n_free; /* x, y read and written, y cleared */
done:
    operator_destroy(&half);
    return status;
}

/* The product in double precision, and the vectors of a step of conjugate gradients: x, r, p read and
 * written, K p and the preconditioned r read, and these two written; what goes into the cycle and comes out
 * is converted. */
static void count_iteration(const struct trace_space *space, const struct trace_matrices *matrices,
                            struct count *c) {
    double real = sizeof(double);
    for (int b = 0; b < matrices->n_blocks; b++) {
        double cells = (double)space->mesh->blocks[b].count;
        c->entries += real * cells * (double)trace_matrix_size(matrices, b);
        c->maps += (double)sizeof(int64_t) * cells * space->n_slots[b];
    }
    c->vectors += real * 10.0 * (double)space->n_free;
    c->again += (real * 4.0 + 2.0 * (double)sizeof(float)) * (double)space->n_free;
}

static facet_status count_linear(const struct trial *s, struct count *c) {
    facet_status status = FACET_OK;
    const struct hdg *h = mapped_of(s->solver)->hdg;
    struct trace_space low = {0};
    struct trace_matrices matrices = {0};
    struct linear_operator A = {0};
    TRY(trace_lower_space(&h->trace, 1, &low));
    TRY(trace_matrices_lower(&h->trace, &low, &h->matrices, &matrices));
    TRY(trace_operator_create(&low, &matrices, &A));
    TRY(count_level(&low, &matrices, &A, c));
done:
    operator_destroy(&A);
    trace_matrices_destroy(&matrices);
    trace_space_destroy(&low);
    return status;
}

static facet_status count_one(const struct bench_options *bench, const char *shape, int n, int degree,
                              struct table *table) {
    facet_status status = FACET_OK;
    struct trial s = {0};
    struct trial_domain d = {shape, n, 1.0, 0.0, NULL, NULL};
    struct count c = {0};
    TRY(trial_create(bench, &d, degree, &s));
    const struct hdg *h = mapped_of(s.solver)->hdg;
    double unknowns = (double)h->trace.n_free;
    count_iteration(&h->trace, &h->matrices, &c);
    TRY(count_level(&h->trace, &h->matrices, &mapped_of(s.solver)->A, &c));
    if (degree > 1 && shape_is_simplex(s.mesh->blocks[0].shape)) TRY(count_linear(&s, &c));
    double least = c.entries + c.blocks + c.vectors, all = least + c.scales + c.maps + c.again;
    table_cell(table, "%s %d^%d", shape, n, trial_dimension(shape));
    table_cell(table, "%d", degree);
    table_cell(table, "%.0f", unknowns);
    const double parts[] = {c.entries, c.blocks, c.vectors, least, c.scales, c.maps, c.again, all};
    for (int i = 0; i < 8; i++) table_cell(table, "%.0f", parts[i] / unknowns);
    table_cell(table, "%.2f", all / least);
done:
    trial_destroy(&s);
    return status;
}

facet_status bench_pmg_bytes(const struct bench_options *options) {
    facet_status status = FACET_OK;
    struct table *table = NULL;
    static const char *const headers[] = {"cells", "k",      "unknowns", "matrices", "blocks",  "vectors",
                                          "least", "scales", "maps",     "again",    "at most", "ratio"};
    static const char *const shapes[] = {"triangle", "quad", "tet", "hex"};
    TRY(table_create(12, headers, &table));
    for (int i = 0; i < 4; i++) {
        for (int k = 1; k <= (options->quick ? 2 : 4); k++)
            TRY(count_one(options, shapes[i],
                          (i < 2   ? 64
                           : k < 3 ? 12
                                   : 8) /
                              (options->quick ? 2 : 1),
                          k, table));
        table_rule(table);
    }
    TRY(bench_emit(
        options, "pmg-bytes",
        "Bytes an unknown that one iteration of conjugate gradients with p-multigrid in mixed precision "
        "moves (polynomials of degree 4; the last space not counted). Least: entries of matrices, blocks "
        "of faces, one read and one write of every vector in a fused step. At most: with the scales of "
        "matrices in 16 bits, the places of faces, and vectors that are passed again for the second "
        "cell of a face, as if no cache kept them.",
        table));
done:
    table_destroy(&table);
    return status;
}
