/* Chains: unknowns outside the near-null modes that still couple almost as strongly as they stand for
 * themselves.
 *
 * On quads the condensed HDG matrix has such ones. For the highest face mode P_k it is, along a row of cells,
 * (-c, 1, -c) with c -> 1/2 as tau h -> 0, and nothing else: a vertical face sees its neighbours left and
 * right, not the horizontal ones. Smooth along the row is then slow for every smoother, and the constants,
 * which are mode 0, do not help. So these unknowns get coarse unknowns of their own: one for every few
 * neighbours. The frames of two faces may look in opposite directions, which turns the sign of odd modes:
 * walking along the strong couplings gives every unknown the sign that makes them negative.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "solve/amg_grid.h"

/* |a_ij| / sqrt(a_ii a_jj) from which a coupling makes a chain: a chain of this strength has a condition of
 * (1 + 2 c) / (1 - 2 c) = 6. */
#define STRONG_CHAIN 0.35

/* Unknowns of a group: neighbours along the chain that become one coarse unknown. */
#define GROUP 2

/* What is known of the unknowns. */
struct unknowns {
    int32_t *node;
    int8_t *candidate; /* carries no mode and is not leading */
    double *diagonal;
};

static void find_candidates(const struct amg_grid *grid, int leading, struct unknowns *u) {
    const struct csr *A = &grid->A;
    int m = grid->n_modes;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < grid->n_nodes; i++)
        for (int64_t r = grid->nodes[i]; r < grid->nodes[i + 1]; r++) {
            u->node[r] = (int32_t)i;
            u->candidate[r] = r - grid->nodes[i] >= leading && grid->kind[i] == 0;
            for (int a = 0; a < m; a++)
                if (grid->modes[r * m + a] != 0.0) u->candidate[r] = 0;
            u->diagonal[r] = 0.0;
            for (int64_t e = A->offsets[r]; e < A->offsets[r + 1]; e++)
                if (A->columns[e] == r) u->diagonal[r] = A->values[e];
            if (!(u->diagonal[r] > 0.0)) u->candidate[r] = 0;
        }
}

static int is_link(const struct unknowns *u, int64_t i, int64_t j, double a) {
    return u->node[i] != u->node[j] && u->candidate[j] &&
           fabs(a) >= STRONG_CHAIN * sqrt(u->diagonal[i] * u->diagonal[j]);
}

/* Gives signs and groups to all that hang together with `start`. stack: room for all unknowns; sizes: of the
 * groups. */
static void walk(const struct csr *A, const struct unknowns *u, int64_t start, int32_t *stack, int32_t *sizes,
                 struct amg_chains *chains) {
    int64_t n = 0;
    stack[n++] = (int32_t)start;
    while (n > 0) {
        int64_t i = stack[--n];
        for (int64_t e = A->offsets[i]; e < A->offsets[i + 1]; e++) {
            int64_t j = A->columns[e];
            if (!is_link(u, i, j, A->values[e])) continue;
            if (chains->group[i] < 0) { /* the start, now that it has a neighbour */
                chains->sign[i] = 1;
                chains->group[i] = (int32_t)chains->n_groups++;
                sizes[chains->group[i]] = 1;
            }
            if (chains->group[j] >= 0) continue;
            if (sizes[chains->group[i]] == GROUP) {
                sizes[chains->n_groups] = 0;
                chains->group[j] = (int32_t)chains->n_groups++;
            } else {
                chains->group[j] = chains->group[i];
            }
            sizes[chains->group[j]]++;
            chains->sign[j] = (int8_t)(A->values[e] < 0.0 ? chains->sign[i] : -chains->sign[i]);
            stack[n++] = (int32_t)j;
        }
    }
}

void amg_chains_destroy(struct amg_chains *chains) {
    base_free(&chains->group);
    base_free(&chains->sign);
}

facet_status amg_chains_find(const struct amg_grid *grid, int leading, struct amg_chains *chains) {
    facet_status status = FACET_OK;
    int64_t n = grid->A.n;
    struct unknowns u = {0};
    int32_t *stack = NULL, *sizes = NULL;
    *chains = (struct amg_chains){0};
    TRY(ALLOC(chains->group, n));
    TRY(CALLOC(chains->sign, n));
    TRY(ALLOC(u.node, n));
    TRY(ALLOC(u.candidate, n));
    TRY(ALLOC(u.diagonal, n));
    TRY(ALLOC(stack, n));
    TRY(ALLOC(sizes, n));
    find_candidates(grid, leading, &u);
    for (int64_t i = 0; i < n; i++) chains->group[i] = -1;
    for (int64_t i = 0; i < n; i++)
        if (u.candidate[i] && chains->group[i] < 0) walk(&grid->A, &u, i, stack, sizes, chains);
done:
    base_free(&u.node);
    base_free(&u.candidate);
    base_free(&u.diagonal);
    base_free(&stack);
    base_free(&sizes);
    return status;
}
