/* Setup of the algebraic multigrid: tentative prolongation from the near-null vectors, and the products P'AP.
 *
 * One level of coarsening is made of stages: first every node by itself is reduced to its near-null modes,
 * then nodes are gathered (pairs, pairs of pairs, ...). Each stage is a small coarsening of its own, its
 * matrix is the strength of connection for the next, and the product of their prolongations is that of the
 * level. All parallel loops own what they write, aggregate by aggregate, so that nothing depends on the
 * number of threads.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "solve/amg_grid.h"

/* A mode whose part orthogonal to the earlier ones is below this share of it is no unknown of its own. */
#define RANK_TOLERANCE 1e-8

void amg_grid_destroy(struct amg_grid *grid) {
    csr_destroy(&grid->A);
    base_free(&grid->nodes);
    base_free(&grid->kind);
    base_free(&grid->modes);
    grid->n_nodes = 0;
}

/* ------------------------------------------------------------------------------ tentative prolongation */

/* The unknowns of each aggregate: rows[starts[g]] .. rows[starts[g+1]-1], ascending. */
struct members {
    int64_t n_aggregates;
    int64_t *starts;
    int64_t *rows;
    int32_t *owner; /* per unknown, -1: none */
    int32_t *kind;  /* per aggregate */
};

static void members_destroy(struct members *m) {
    base_free(&m->starts);
    base_free(&m->rows);
    base_free(&m->owner);
    base_free(&m->kind);
}

static facet_status members_alloc(const struct amg_grid *grid, struct members *m) {
    facet_status status = FACET_OK;
    TRY(ALLOC(m->owner, grid->A.n));
    TRY(ALLOC(m->kind, grid->n_nodes + grid->A.n)); /* nodes, some of them empty, and groups of chains */
done:
    return status;
}

/* From aggregates of nodes. */
static facet_status members_gather(const struct amg_grid *grid, const int32_t *aggregate, int64_t n,
                                   struct members *m) {
    facet_status status = FACET_OK;
    TRY(members_alloc(grid, m));
    m->n_aggregates = n;
    for (int64_t i = 0; i < grid->n_nodes; i++) {
        for (int64_t r = grid->nodes[i]; r < grid->nodes[i + 1]; r++) m->owner[r] = aggregate[i];
        if (aggregate[i] >= 0) m->kind[aggregate[i]] = grid->kind[i];
    }
    TRY(base_group(m->n_aggregates, grid->A.n, m->owner, &m->starts, &m->rows));
done:
    return status;
}

/* Every node by itself (of each only the first `leading` unknowns, if not 0), and the groups of chains. */
static facet_status members_split(const struct amg_grid *grid, int leading, const struct amg_chains *chains,
                                  struct members *m) {
    facet_status status = FACET_OK;
    int32_t n = 0, *number = NULL;
    TRY(members_alloc(grid, m));
    TRY(ALLOC(number, chains->n_groups));
    for (int64_t g = 0; g < chains->n_groups; g++) number[g] = -1;
    for (int64_t i = 0; i < grid->n_nodes; i++) {
        int32_t whole = n;
        m->kind[n++] = grid->kind[i];
        for (int64_t r = grid->nodes[i]; r < grid->nodes[i + 1]; r++) {
            int32_t g = chains->group[r];
            m->owner[r] = leading == 0 || r - grid->nodes[i] < leading ? whole : -1;
            if (g < 0) continue;
            if (number[g] < 0) {
                m->kind[n] = 1;
                number[g] = n++;
            }
            m->owner[r] = number[g];
        }
    }
    m->n_aggregates = n;
    TRY(base_group(m->n_aggregates, grid->A.n, m->owner, &m->starts, &m->rows));
done:
    base_free(&number);
    return status;
}

/* Q (rows of all unknowns, m wide): the rows of one aggregate, which hold B, become orthonormal columns; R
 * (rank x m, in m x m) with B = Q R. Gram-Schmidt, twice. Returns the rank. */
static int orthonormalise(const int64_t *rows, int64_t n, int m, double *Q, double *R) {
    int rank = 0;
    memset(R, 0, (size_t)(m * m) * sizeof *R);
    for (int j = 0; j < m; j++) {
        double before = 0.0, after = 0.0;
        for (int64_t k = 0; k < n; k++) before += Q[rows[k] * m + j] * Q[rows[k] * m + j];
        for (int pass = 0; pass < 2; pass++)
            for (int i = 0; i < rank; i++) {
                double dot = 0.0;
                for (int64_t k = 0; k < n; k++) dot += Q[rows[k] * m + i] * Q[rows[k] * m + j];
                for (int64_t k = 0; k < n; k++) Q[rows[k] * m + j] -= dot * Q[rows[k] * m + i];
                R[i * m + j] += dot;
            }
        for (int64_t k = 0; k < n; k++) after += Q[rows[k] * m + j] * Q[rows[k] * m + j];
        if (!(after > RANK_TOLERANCE * RANK_TOLERANCE * before)) continue;
        double norm = sqrt(after);
        for (int64_t k = 0; k < n; k++) Q[rows[k] * m + rank] = Q[rows[k] * m + j] / norm;
        R[rank * m + j] = norm;
        rank++;
    }
    return rank;
}

/* P in compressed rows from Q; zeros are left out, and a row of zeros leaves its aggregate. */
static facet_status pack(int64_t n, int m, const double *Q, const int64_t *nodes, struct members *members,
                         struct mg_transfer *P) {
    facet_status status = FACET_OK;
    P->n_rows = n;
    P->n_columns = nodes[members->n_aggregates];
    TRY(ALLOC(P->offsets, n + 1));
    P->offsets[0] = 0;
    for (int64_t r = 0; r < n; r++) {
        int32_t g = members->owner[r];
        int64_t rank = g >= 0 ? nodes[g + 1] - nodes[g] : 0, count = 0;
        for (int64_t a = 0; a < rank; a++) count += Q[r * m + a] != 0.0;
        if (count == 0) members->owner[r] = -1;
        P->offsets[r + 1] = P->offsets[r] + count;
    }
    TRY(ALLOC(P->columns, P->offsets[n]));
    TRY(ALLOC(P->values, P->offsets[n]));
    for (int64_t r = 0; r < n; r++) {
        int64_t at = P->offsets[r];
        for (int a = 0; at < P->offsets[r + 1]; a++) {
            if (Q[r * m + a] == 0.0) continue;
            P->columns[at] = (int32_t)(nodes[members->owner[r]] + a);
            P->values[at++] = Q[r * m + a];
        }
    }
done:
    return status;
}

/* P, and nodes and modes of the coarse grid. chains: NULL, or those that begin here. */
static facet_status tentative(const struct amg_grid *fine, const struct amg_chains *chains,
                              struct members *members, struct mg_transfer *P, struct amg_grid *coarse) {
    facet_status status = FACET_OK;
    int m = fine->n_modes;
    int64_t n_aggregates = members->n_aggregates;
    double *Q = NULL, *R = NULL;
    coarse->n_modes = m;
    coarse->n_nodes = n_aggregates;
    TRY(ALLOC(Q, fine->A.n * m));
    TRY(ALLOC(R, n_aggregates * m * m));
    TRY(CALLOC(coarse->nodes, n_aggregates + 1));
    TRY(ALLOC(coarse->kind, n_aggregates));
    memcpy(coarse->kind, members->kind, (size_t)n_aggregates * sizeof *coarse->kind);
    memcpy(Q, fine->modes, (size_t)(fine->A.n * m) * sizeof *Q);
    for (int64_t r = 0; chains != NULL && r < fine->A.n; r++)
        if (chains->sign[r] != 0) Q[r * m] = chains->sign[r];
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t g = 0; g < n_aggregates; g++)
        coarse->nodes[g + 1] =
            orthonormalise(members->rows + members->starts[g], members->starts[g + 1] - members->starts[g], m,
                           Q, R + g * m * m);
    for (int64_t g = 0; g < n_aggregates; g++) coarse->nodes[g + 1] += coarse->nodes[g];
    coarse->A.n = coarse->nodes[n_aggregates];
    TRY(ALLOC(coarse->modes, coarse->A.n * m));
    for (int64_t g = 0; g < n_aggregates; g++)
        memcpy(coarse->modes + coarse->nodes[g] * m, R + g * m * m,
               (size_t)((coarse->nodes[g + 1] - coarse->nodes[g]) * m) * sizeof *R);
    TRY(pack(fine->A.n, m, Q, coarse->nodes, members, P));
done:
    base_free(&Q);
    base_free(&R);
    return status;
}

/* ------------------------------------------------------------------------------ coarse matrix */

/* What one thread needs to gather the neighbours of an aggregate. */
struct scratch {
    int32_t *stamp, *list;
    int64_t *position;
};

/* The aggregates coupled to g through A; returns their number. `stamp` must not have been used before. */
static int64_t neighbours(const struct csr *A, const struct members *m, int64_t g, int32_t stamp,
                          struct scratch *s) {
    int64_t n = 0;
    for (int64_t k = m->starts[g]; k < m->starts[g + 1]; k++) {
        int64_t row = m->rows[k];
        if (m->owner[row] < 0) continue;
        for (int64_t e = A->offsets[row]; e < A->offsets[row + 1]; e++) {
            int32_t other = m->owner[A->columns[e]];
            if (other < 0 || s->stamp[other] == stamp) continue;
            s->stamp[other] = stamp;
            s->list[n++] = other;
        }
    }
    return n;
}

/* The rows of aggregate g of P'AP, `length` entries each. */
static void product_rows(const struct csr *A, const struct mg_transfer *P, const struct members *m, int64_t g,
                         int64_t first, int64_t length, const int64_t *position, double *C) {
    for (int64_t k = m->starts[g]; k < m->starts[g + 1]; k++) {
        int64_t row = m->rows[k];
        for (int64_t e = A->offsets[row]; P->offsets[row] < P->offsets[row + 1] && e < A->offsets[row + 1];
             e++) {
            int32_t column = A->columns[e];
            if (m->owner[column] < 0) continue;
            int64_t at = position[m->owner[column]]; /* of the coarse unknown 0 in the row */
            for (int64_t a = P->offsets[row]; a < P->offsets[row + 1]; a++) {
                double factor = P->values[a] * A->values[e], *to = C + (P->columns[a] - first) * length + at;
                for (int64_t b = P->offsets[column]; b < P->offsets[column + 1]; b++)
                    to[P->columns[b]] += factor * P->values[b];
            }
        }
    }
}

/* Rows of aggregate g: pattern and values. */
static void product_of(const struct csr *A, const struct mg_transfer *P, const struct members *m, int64_t g,
                       const int64_t *nodes, struct scratch *s, struct csr *C) {
    int64_t first = nodes[g], n_rows = nodes[g + 1] - first, at = 0;
    if (n_rows == 0) return;
    int64_t length = C->offsets[first + 1] - C->offsets[first], begin = C->offsets[first];
    int64_t n = neighbours(A, m, g, (int32_t)(-2 - g), s);
    base_sort(n, s->list);
    for (int64_t i = 0; i < n; i++) {
        int32_t other = s->list[i];
        s->position[other] = at - nodes[other];
        for (int64_t c = nodes[other]; c < nodes[other + 1]; c++, at++)
            for (int64_t r = 0; r < n_rows; r++) C->columns[begin + r * length + at] = (int32_t)c;
    }
    memset(C->values + begin, 0, (size_t)(n_rows * length) * sizeof *C->values);
    product_rows(A, P, m, g, first, length, s->position, C->values + begin);
}

static facet_status galerkin(const struct csr *A, const struct mg_transfer *P, const struct members *m,
                             const int64_t *nodes, struct csr *C) {
    facet_status status = FACET_OK;
    int64_t n = m->n_aggregates;
    int n_threads = base_threads();
    int32_t *stamps = NULL, *lists = NULL;
    int64_t *positions = NULL;
    C->n = P->n_columns;
    TRY(ALLOC(stamps, n_threads * n));
    TRY(ALLOC(lists, n_threads * n));
    TRY(ALLOC(positions, n_threads * n));
    TRY(ALLOC(C->offsets, C->n + 1));
    memset(stamps, 0xff, (size_t)(n_threads * n) * sizeof *stamps); /* -1 */
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t g = 0; g < n; g++) {
        int64_t t = omp_get_thread_num(), length = 0;
        struct scratch s = {stamps + t * n, lists + t * n, positions + t * n};
        int64_t n_coupled = neighbours(A, m, g, (int32_t)g, &s);
        for (int64_t i = 0; i < n_coupled; i++) length += nodes[s.list[i] + 1] - nodes[s.list[i]];
        for (int64_t r = nodes[g]; r < nodes[g + 1]; r++) C->offsets[r + 1] = length;
    }
    C->offsets[0] = 0;
    base_sum_up(C->n, C->offsets);
    TRY(ALLOC(C->columns, C->offsets[C->n]));
    TRY(ALLOC(C->values, C->offsets[C->n]));
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t g = 0; g < n; g++) {
        int64_t t = omp_get_thread_num();
        struct scratch s = {stamps + t * n, lists + t * n, positions + t * n};
        product_of(A, P, m, g, nodes, &s, C);
    }
done:
    base_free(&stamps);
    base_free(&lists);
    base_free(&positions);
    return status;
}

/* ------------------------------------------------------------------------------ stages and levels */

static facet_status stage(const struct amg_grid *fine, const int32_t *aggregate, int64_t n_aggregates,
                          struct mg_transfer *P, struct amg_grid *coarse) {
    facet_status status = FACET_OK;
    struct members members = {0};
    TRY(members_gather(fine, aggregate, n_aggregates, &members));
    TRY(tentative(fine, NULL, &members, P, coarse));
    TRY(galerkin(&fine->A, P, &members, coarse->nodes, &coarse->A));
done:
    members_destroy(&members);
    return status;
}

/* Nodes by themselves, reduced to their modes, and chains. */
static facet_status split_stage(const struct amg_grid *fine, struct mg_transfer *P, struct amg_grid *coarse) {
    facet_status status = FACET_OK;
    struct members members = {0};
    struct amg_chains chains = {0};
    TRY(amg_chains_find(fine, 0, &chains));
    TRY(members_split(fine, 0, &chains, &members));
    TRY(tentative(fine, &chains, &members, P, coarse));
    TRY(galerkin(&fine->A, P, &members, coarse->nodes, &coarse->A));
done:
    members_destroy(&members);
    amg_chains_destroy(&chains);
    return status;
}

/* Row i of P P2; returns its number of entries. The columns of a row of P belong to one node, hence the
 * product's to one coarse node, and a short buffer holds them. */
static int64_t compose_row(const struct mg_transfer *P, const struct mg_transfer *P2, int64_t i,
                           int32_t *columns, double *values) {
    double sums[AMG_MAX_MODES] = {0};
    int32_t base = INT32_MAX;
    int64_t n = 0;
    for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++) {
        int32_t c = P->columns[k];
        if (P2->offsets[c] < P2->offsets[c + 1] && P2->columns[P2->offsets[c]] < base)
            base = P2->columns[P2->offsets[c]];
    }
    for (int64_t k = P->offsets[i]; k < P->offsets[i + 1]; k++)
        for (int64_t e = P2->offsets[P->columns[k]]; e < P2->offsets[P->columns[k] + 1]; e++)
            sums[P2->columns[e] - base] += P->values[k] * P2->values[e];
    for (int32_t a = 0; a < AMG_MAX_MODES; a++) {
        if (sums[a] == 0.0) continue;
        if (columns != NULL) {
            columns[n] = base + a;
            values[n] = sums[a];
        }
        n++;
    }
    return n;
}

/* P = P P2. */
static facet_status compose(struct mg_transfer *P, const struct mg_transfer *P2) {
    facet_status status = FACET_OK;
    struct mg_transfer product = {.n_rows = P->n_rows, .n_columns = P2->n_columns};
    TRY(ALLOC(product.offsets, P->n_rows + 1));
    product.offsets[0] = 0;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < P->n_rows; i++) product.offsets[i + 1] = compose_row(P, P2, i, NULL, NULL);
    base_sum_up(P->n_rows, product.offsets);
    TRY(ALLOC(product.columns, product.offsets[P->n_rows]));
    TRY(ALLOC(product.values, product.offsets[P->n_rows]));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < P->n_rows; i++)
        compose_row(P, P2, i, product.columns + product.offsets[i], product.values + product.offsets[i]);
    mg_transfer_destroy(P);
    *P = product;
    product = (struct mg_transfer){0};
done:
    mg_transfer_destroy(&product);
    return status;
}

/* One more stage below `current`, which is replaced by its result; its prolongation is multiplied to P. */
static facet_status add_stage(struct amg_grid *current, const int32_t *aggregate, int64_t n_aggregates,
                              struct mg_transfer *P) {
    facet_status status = FACET_OK;
    struct amg_grid next = {0};
    struct mg_transfer P2 = {0};
    TRY(stage(current, aggregate, n_aggregates, &P2, &next));
    TRY(compose(P, &P2));
    amg_grid_destroy(current);
    *current = next;
    next = (struct amg_grid){0};
done:
    mg_transfer_destroy(&P2);
    amg_grid_destroy(&next);
    return status;
}

static int has_large_node(const struct amg_grid *grid) {
    for (int64_t i = 0; i < grid->n_nodes; i++)
        if (grid->nodes[i + 1] - grid->nodes[i] > grid->n_modes) return 1;
    return 0;
}

facet_status amg_coarsen(const struct amg_grid *fine, const struct amg_options *options,
                         struct mg_transfer *P, struct amg_grid *coarse) {
    facet_status status = FACET_OK;
    int32_t *aggregate = NULL;
    int64_t n = fine->n_nodes;
    int n_passes = amg_is_pairwise(fine, options) ? options->passes : 1, pass = 0;
    TRY(ALLOC(aggregate, n + fine->A.n)); /* nodes, some of them empty, and groups that splitting makes */
    if (has_large_node(fine)) {
        TRY(split_stage(fine, P, coarse));
    } else {
        TRY(amg_aggregate(fine, options, 1, aggregate, &n));
        if (n > 0) TRY(stage(fine, aggregate, n, P, coarse));
        pass = 1;
    }
    for (; pass < n_passes && coarse->n_nodes > 1; pass++) {
        TRY(amg_aggregate(coarse, options, pass == 0, aggregate, &n));
        if (n == 0) amg_grid_destroy(coarse);
        if (n > 0) TRY(add_stage(coarse, aggregate, n, P));
    }
done:
    base_free(&aggregate);
    if (status != FACET_OK) {
        mg_transfer_destroy(P);
        amg_grid_destroy(coarse);
    }
    return status;
}

/* P with a single entry in the rows that are kept: 1 for a leading unknown, in a group of a chain sign /
 * sqrt(members). */
static void inject(const struct amg_grid *fine, const struct members *members,
                   const struct amg_chains *chains, struct mg_transfer *P, struct amg_grid *coarse) {
    int64_t m = fine->n_modes, at = 0;
    for (int64_t r = 0; r < fine->A.n; r++) {
        int32_t g = members->owner[r];
        P->offsets[r] = at;
        if (g < 0) continue;
        if (chains->sign[r] != 0) {
            double size = (double)(members->starts[g + 1] - members->starts[g]);
            P->columns[at] = (int32_t)coarse->nodes[g];
            P->values[at] = chains->sign[r] / sqrt(size);
            coarse->modes[coarse->nodes[g] * m] = sqrt(size);
        } else {
            int64_t column = coarse->nodes[g] + r - members->rows[members->starts[g]];
            P->columns[at] = (int32_t)column;
            P->values[at] = 1.0;
            memcpy(coarse->modes + column * m, fine->modes + r * m, (size_t)m * sizeof *fine->modes);
        }
        at++;
    }
    P->offsets[fine->A.n] = at;
}

static facet_status keep_leading(const struct amg_grid *fine, int leading, struct mg_transfer *P,
                                 struct amg_grid *coarse) {
    facet_status status = FACET_OK;
    struct members members = {0};
    struct amg_chains chains = {0};
    int64_t n;
    TRY(amg_chains_find(fine, leading, &chains));
    TRY(members_split(fine, leading, &chains, &members));
    n = members.n_aggregates;
    coarse->n_modes = fine->n_modes;
    coarse->n_nodes = n;
    TRY(ALLOC(coarse->nodes, n + 1));
    TRY(ALLOC(coarse->kind, n));
    memcpy(coarse->kind, members.kind, (size_t)n * sizeof *coarse->kind);
    coarse->nodes[0] = 0;
    for (int64_t g = 0; g < n; g++) {
        int64_t size = members.starts[g + 1] - members.starts[g];
        int chain = size > 0 && chains.sign[members.rows[members.starts[g]]] != 0;
        coarse->nodes[g + 1] = coarse->nodes[g] + (chain ? 1 : size);
    }
    coarse->A.n = coarse->nodes[n];
    *P = (struct mg_transfer){.n_rows = fine->A.n, .n_columns = coarse->A.n};
    TRY(ALLOC(P->offsets, P->n_rows + 1));
    TRY(ALLOC(P->columns, members.starts[n]));
    TRY(ALLOC(P->values, members.starts[n]));
    TRY(CALLOC(coarse->modes, coarse->A.n * fine->n_modes));
    inject(fine, &members, &chains, P, coarse);
    TRY(galerkin(&fine->A, P, &members, coarse->nodes, &coarse->A));
done:
    members_destroy(&members);
    amg_chains_destroy(&chains);
    return status;
}

facet_status amg_reduce(const struct amg_grid *fine, int leading, struct mg_transfer *P,
                        struct amg_grid *coarse) {
    facet_status status =
        leading == 1 ? split_stage(fine, P, coarse) : keep_leading(fine, leading, P, coarse);
    if (status != FACET_OK) {
        mg_transfer_destroy(P);
        amg_grid_destroy(coarse);
    }
    return status;
}
