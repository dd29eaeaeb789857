/* The 1D matrices of the paper in a nodal basis. */
#include <lapacke.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/straight_work.h"
#include "poly/jacobi.h"
#include "poly/rule.h"

void straight_line_destroy(struct straight_line *line) {
    base_free(&line->store);
    *line = (struct straight_line){0};
}

facet_status straight_nodes(enum box_basis basis, int n, double *nodes) {
    facet_status status = FACET_OK;
    double *weights = NULL;
    TRY(ALLOC(weights, n));
    if (basis == BOX_GAUSS)
        TRY(rule_gauss_jacobi(n, 0.0, 0.0, nodes, weights));
    else
        TRY(rule_gauss_lobatto(n, 0.0, 0.0, nodes, weights));
done:
    base_free(&weights);
    return status;
}

static void take_line(const struct box_line *line, double *S, struct straight_line *to) {
    int n = line->n;
    memcpy(S, line->S, (size_t)(n * n) * sizeof *S);
    memcpy(to->eigenvalues, line->eigenvalues, (size_t)n * sizeof *S);
    for (int m = 0; m < n; m++) {
        to->B[1][m] = line->b[m];
        to->B[0][m] = m < line->n_even ? line->b[m] : -line->b[m];
    }
    to->g = line->gamma[0] + line->gamma[1];
    to->c = line->gamma[0] - line->gamma[1];
}

/* S at the nodes, and S'M = S^-1, since S'MS = 1. */
static facet_status to_nodes(int n, const double *S, const double *nodes, struct straight_line *to) {
    facet_status status = FACET_OK;
    double legendre[BOX_MAX_DEGREE + 1];
    lapack_int pivots[BOX_MAX_DEGREE + 1];
    for (int i = 0; i < n; i++) {
        jacobi_orthonormal(n - 1, 0.0, 0.0, nodes[i], legendre, NULL);
        for (int m = 0; m < n; m++) {
            double sum = 0.0;
            for (int j = 0; j < n; j++) sum += legendre[j] * S[j * n + m];
            to->S[i * n + m] = to->SM[i * n + m] = to->St[m * n + i] = sum;
        }
    }
    if (LAPACKE_dgetrf(LAPACK_ROW_MAJOR, n, n, to->SM, n, pivots) != 0 ||
        LAPACKE_dgetri(LAPACK_ROW_MAJOR, n, to->SM, n, pivots) != 0)
        FAIL(FACET_ERROR_MACHINE, "the modes of a line of degree %d cannot be inverted at its nodes", n - 1);
    for (int i = 0; i < n; i++)
        for (int m = 0; m < n; m++) to->MS[i * n + m] = to->SM[m * n + i];
done:
    return status;
}

facet_status straight_line_create(const struct box_line *line, enum box_basis basis, const double *nodes,
                                  struct straight_line *to) {
    facet_status status = FACET_OK;
    int n = line->n;
    double *S = NULL;
    struct box_line lumped = {0};
    *to = (struct straight_line){0};
    TRY(ALLOC(to->store, 4 * n * n + 3 * n));
    TRY(ALLOC(S, n * n));
    double *at = to->store, **squares[] = {&to->S, &to->SM, &to->St, &to->MS};
    for (int i = 0; i < 4; i++, at += n * n) *squares[i] = at;
    to->B[0] = at;
    to->B[1] = at + n;
    to->eigenvalues = at + 2 * n;
    if (basis == BOX_COLLOCATED) TRY(box_line_create(n - 1, line->rho, 1, &lumped));
    take_line(basis == BOX_COLLOCATED ? &lumped : line, S, to);
    TRY(to_nodes(n, S, nodes, to));
done:
    base_free(&S);
    box_line_destroy(&lumped);
    if (status != FACET_OK) straight_line_destroy(to);
    return status;
}
