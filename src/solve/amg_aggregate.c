/* Aggregation: which nodes become one coarse node.
 *
 * The strength of a coupling is |A_ij| / sqrt(|A_ii| |A_jj|) in Frobenius norms, which a scaling of the
 * unknowns does not change. Between single unknowns a positive entry does not couple: both want different
 * signs.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "solve/amg_grid.h"

/* A node whose couplings sum up to less than this is left to the smoother: block Jacobi alone has a condition
 * below (1 + s) / (1 - s) there. */
#define WEAK_NODE 0.2

struct graph {
    int64_t n;
    int64_t *offsets;
    int32_t *columns;
    double *weights;
    int n_modes;
};

static void graph_destroy(struct graph *graph) {
    base_free(&graph->offsets);
    base_free(&graph->columns);
    base_free(&graph->weights);
}

/* Neighbours of one node (itself among them), found by stamping; their number. columns, weights: NULL to
 * count only. weights: |A_ij|_F^2, or with single unknowns the entry itself. */
static int64_t node_row(const struct amg_grid *grid, const int32_t *node_of, int64_t node, int64_t *position,
                        int32_t *columns, double *weights) {
    const struct csr *A = &grid->A;
    int scalar = grid->n_modes == 1;
    int64_t n = 0, first = grid->nodes[node], last = grid->nodes[node + 1];
    for (int64_t e = A->offsets[first]; e < A->offsets[last]; e++) position[node_of[A->columns[e]]] = -1;
    for (int64_t e = A->offsets[first]; e < A->offsets[last]; e++) {
        int32_t other = node_of[A->columns[e]];
        if (position[other] < 0) {
            position[other] = n++;
            if (columns != NULL) {
                columns[position[other]] = other;
                weights[position[other]] = 0.0;
            }
        }
        if (columns != NULL) weights[position[other]] += scalar ? A->values[e] : A->values[e] * A->values[e];
    }
    return n;
}

/* From sums of entries to strengths, with the diagonal ones given. */
static void normalise(struct graph *graph, const int32_t *kind, const double *diagonal) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < graph->n; i++)
        for (int64_t e = graph->offsets[i]; e < graph->offsets[i + 1]; e++) {
            int64_t j = graph->columns[e];
            double w = graph->weights[e], scale = sqrt(diagonal[i] * diagonal[j]);
            w = graph->n_modes == 1 ? -w : sqrt(w);
            graph->weights[e] = j != i && kind[i] == kind[j] && w > 0.0 && scale > 0.0 ? w / scale : 0.0;
        }
}

/* Of nodes that are single unknowns: the pattern is that of the matrix. */
static facet_status graph_of_unknowns(const struct amg_grid *grid, struct graph *graph) {
    facet_status status = FACET_OK;
    const struct csr *A = &grid->A;
    double *diagonal = NULL;
    *graph = (struct graph){.n = A->n, .n_modes = 1};
    TRY(CALLOC(diagonal, A->n));
    TRY(ALLOC(graph->offsets, A->n + 1));
    TRY(ALLOC(graph->columns, A->offsets[A->n]));
    TRY(ALLOC(graph->weights, A->offsets[A->n]));
    graph->offsets[0] = 0;
#pragma omp parallel for num_threads(base_threads_for(A->offsets[A->n])) schedule(static)
    for (int64_t i = 0; i < A->n; i++) {
        graph->offsets[i + 1] = A->offsets[i + 1];
        for (int64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++) {
            graph->columns[e] = A->columns[e];
            graph->weights[e] = A->values[e];
            if (A->columns[e] == i) diagonal[i] = A->values[e];
        }
    }
    normalise(graph, grid->kind, diagonal);
done:
    base_free(&diagonal);
    return status;
}

static int has_single_unknowns(const struct amg_grid *grid) {
    int single = grid->n_modes == 1 && grid->n_nodes == grid->A.n;
    for (int64_t i = 0; single && i < grid->n_nodes; i++) single = grid->nodes[i] == i;
    return single;
}

static facet_status graph_create(const struct amg_grid *grid, struct graph *graph) {
    facet_status status = FACET_OK;
    if (has_single_unknowns(grid)) return graph_of_unknowns(grid, graph);
    int n_threads = base_threads();
    int64_t n = grid->n_nodes, *positions = NULL;
    int32_t *node_of = NULL;
    double *diagonal = NULL;
    graph->n = n;
    graph->n_modes = grid->n_modes;
    TRY(ALLOC(node_of, grid->A.n));
    TRY(ALLOC(positions, n_threads * n));
    TRY(CALLOC(diagonal, n));
    TRY(ALLOC(graph->offsets, n + 1));
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = grid->nodes[i]; r < grid->nodes[i + 1]; r++) node_of[r] = (int32_t)i;
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        graph->offsets[i + 1] = node_row(grid, node_of, i, positions + omp_get_thread_num() * n, NULL, NULL);
    graph->offsets[0] = 0;
    base_sum_up(n, graph->offsets);
    TRY(ALLOC(graph->columns, graph->offsets[n]));
    TRY(ALLOC(graph->weights, graph->offsets[n]));
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = graph->offsets[i];
        node_row(grid, node_of, i, positions + omp_get_thread_num() * n, graph->columns + begin,
                 graph->weights + begin);
        for (int64_t e = begin; e < graph->offsets[i + 1]; e++)
            if (graph->columns[e] == i)
                diagonal[i] = graph->n_modes == 1 ? graph->weights[e] : sqrt(graph->weights[e]);
    }
    normalise(graph, grid->kind, diagonal);
done:
    base_free(&node_of);
    base_free(&positions);
    base_free(&diagonal);
    return status;
}

static double strongest(const struct graph *graph, int64_t i) {
    double w = 0.0;
    for (int64_t e = graph->offsets[i]; e < graph->offsets[i + 1]; e++) w = fmax(w, graph->weights[e]);
    return w;
}

/* States of a node besides the number of its aggregate. */
enum { DROPPED = -1, FREE = -2 };

static void mark_weak(const struct graph *graph, int drop, int32_t *aggregate) {
#pragma omp parallel for num_threads(base_threads_for(graph->offsets[graph->n])) schedule(static)
    for (int64_t i = 0; i < graph->n; i++) {
        double sum = 0.0;
        for (int64_t e = graph->offsets[i]; e < graph->offsets[i + 1]; e++) sum += graph->weights[e];
        int empty = graph->offsets[i] == graph->offsets[i + 1]; /* no mode was left of it */
        aggregate[i] = empty || (drop && sum < WEAK_NODE) ? DROPPED : FREE;
    }
}

/* The strongest neighbour in the wanted state (free, or in an aggregate below `limit`) whose coupling is at
 * least `least`; -1: none. Ties go to the first. */
static int64_t best_neighbour(const struct graph *graph, int64_t i, const int32_t *aggregate, int free,
                              int32_t limit, double least) {
    int64_t best = -1;
    double w = 0.0;
    for (int64_t e = graph->offsets[i]; e < graph->offsets[i + 1]; e++) {
        int64_t j = graph->columns[e];
        int fits = free ? aggregate[j] == FREE : aggregate[j] >= 0 && aggregate[j] < limit;
        if (!fits || graph->weights[e] < least || graph->weights[e] <= w) continue;
        best = j;
        w = graph->weights[e];
    }
    return best;
}

/* Nodes that stayed alone join their strongest neighbour's aggregate. */
static void adopt(const struct graph *graph, int32_t *aggregate, int32_t *n) {
    int32_t limit = *n;
    for (int64_t i = 0; i < graph->n; i++) {
        if (aggregate[i] != FREE) continue;
        int64_t j = best_neighbour(graph, i, aggregate, 0, limit, 0.0);
        aggregate[i] = j >= 0 ? aggregate[j] : (*n)++;
    }
}

static void pair_up(const struct graph *graph, double threshold, int32_t *aggregate, int32_t *n) {
    for (int64_t i = 0; i < graph->n; i++) {
        if (aggregate[i] != FREE) continue;
        int64_t j = best_neighbour(graph, i, aggregate, 1, 0, threshold * strongest(graph, i));
        if (j >= 0) aggregate[i] = aggregate[j] = (*n)++;
    }
}

/* A free node none of whose strong neighbours is taken becomes an aggregate with them; then the others join.
 */
static void gather(const struct graph *graph, double threshold, int32_t *aggregate, int32_t *n) {
    for (int64_t i = 0; i < graph->n; i++) {
        if (aggregate[i] != FREE) continue;
        double least = threshold * strongest(graph, i);
        int whole = least > 0.0;
        for (int64_t e = graph->offsets[i]; whole && e < graph->offsets[i + 1]; e++)
            if (graph->weights[e] >= least && aggregate[graph->columns[e]] >= 0) whole = 0;
        if (!whole) continue;
        for (int64_t e = graph->offsets[i]; e < graph->offsets[i + 1]; e++)
            if (graph->weights[e] >= least && aggregate[graph->columns[e]] == FREE)
                aggregate[graph->columns[e]] = *n;
        aggregate[i] = (*n)++;
    }
}

int amg_is_pairwise(const struct amg_grid *grid, const struct amg_options *options) {
    return options->aggregation == AMG_PAIRWISE || (options->aggregation == AMG_AUTO && grid->n_modes > 1);
}

facet_status amg_aggregate(const struct amg_grid *grid, const struct amg_options *options, int drop,
                           int32_t *aggregate, int64_t *n_aggregates) {
    facet_status status = FACET_OK;
    struct graph graph = {0};
    int32_t n = 0;
    TRY(graph_create(grid, &graph));
    mark_weak(&graph, drop, aggregate);
    if (amg_is_pairwise(grid, options))
        pair_up(&graph, options->threshold, aggregate, &n);
    else
        gather(&graph, options->threshold, aggregate, &n);
    adopt(&graph, aggregate, &n);
    *n_aggregates = n;
done:
    graph_destroy(&graph);
    return status;
}
