/* Post-processing: u* of degree p + 1, from q and the mean of u, by fast diagonalization.
 *
 * With y_i the eigenfunctions of the 1D Neumann problem (y_i', w') = theta_i (y_i, w) on polynomials of
 * degree p + 1, orthonormal and y_0 constant, the system (k grad u*, grad w) = -(q, grad w) is diagonal in
 * their products: sum_d a_d theta_d on the left, -sum_d V (2/h_d) (q_d, d_d y) on the right. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/modes.h"
#include "boxhdg/work.h"

struct star {
    struct boxhdg_star tables;
    struct boxhdg_solution *solution;
};

/* (l_i', l_j') = sum_a (l_a, l_i') (l_a, l_j') couples functions of one parity only, and l_0 with none. */
static facet_status solve_neumann(struct boxhdg_star *s) {
    facet_status status = FACET_OK;
    int P = s->P, *itself = NULL, *signs = NULL;
    struct box_fold fold = {0};
    double *K = NULL;
    TRY(CALLOC(K, P * P));
    TRY(ALLOC(itself, P));
    TRY(ALLOC(signs, P));
    for (int i = 0; i < P; i++) {
        itself[i] = i;
        signs[i] = i % 2 == 0 ? 1 : -1;
        for (int j = 0; j < P; j++)
            for (int a = 0; a < P; a++) K[i * P + j] += box_legendre_slope(a, i) * box_legendre_slope(a, j);
    }
    TRY(box_fold_create(P, itself, signs, &fold));
    TRY(box_modes(&fold, NULL, K, P, s->Q, s->theta));
    for (int i = 0; i < P; i++) s->Q[i * P] = s->Q[i] = i == 0; /* the constant, but for sign and rounding */
    s->theta[0] = 0.0;
done:
    box_fold_destroy(&fold);
    base_free(&itself);
    base_free(&signs);
    base_free(&K);
    return status;
}

facet_status boxhdg_star_create(const struct boxhdg *h, struct boxhdg_star *s) {
    facet_status status = FACET_OK;
    int P = s->P = h->n + 1, n = h->n;
    int64_t tables = (int64_t)h->n_lines * P * n;
    TRY(CALLOC(s->Q, P * P + P + 2 * tables));
    s->theta = s->Q + P * P;
    s->mass = s->theta + P;
    s->slope = s->mass + tables;
    TRY(solve_neumann(s));
    for (int l = 0; l < h->n_lines; l++) {
        const double *S = h->lines[l].S;
        double *mass = s->mass + (int64_t)l * P * n, *slope = s->slope + (int64_t)l * P * n;
        for (int i = 0; i < P; i++)
            for (int a = 0; a < n; a++) {
                double along = 0.0; /* (l_a, y_i') */
                for (int j = 0; j < P; j++) along += box_legendre_slope(a, j) * s->Q[j * P + i];
                for (int m = 0; m < n; m++) {
                    mass[i * n + m] += s->Q[a * P + i] * S[a * n + m];
                    slope[i * n + m] += along * S[a * n + m];
                }
            }
    }
done:
    return status;
}

/* Divides by the eigenvalues and sets the mean, of which the coefficient of the constant is given. */
static void divide(const struct boxhdg_at *at, const struct boxhdg_star *s, double constant, double *x) {
    int dim = at->h->grid.dim, P = s->P, n1 = dim > 1 ? P : 1, n2 = dim > 2 ? P : 1;
    for (int k = 0; k < n2; k++)
        for (int j = 0; j < n1; j++) {
            double *row = x + ((int64_t)k * n1 + j) * P;
            double rest = at->a[1] * s->theta[j] + at->a[2] * s->theta[k];
            for (int i = j + k == 0; i < P; i++) row[i] /= at->a[0] * s->theta[i] + rest;
        }
    x[0] = constant;
}

static double constant_of(const struct boxhdg_at *at, const double *u) {
    double sum = box_weigh(at->extent, at->moments, u);
    for (int d = 0; d < at->h->grid.dim; d++) sum *= M_SQRT1_2;
    return sum;
}

static facet_status star_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct star *job = user;
    const struct boxhdg_star *s = &job->tables;
    const struct boxhdg_solution *solution = job->solution;
    const struct boxhdg *h = at->h;
    int dim = h->grid.dim, P = s->P, from[3] = {h->n, h->n, h->n}, to[3] = {P, P, P};
    int64_t size = h->cell_size, star = box_power(P, dim);
    double *x = scratch, *other = x + star + BOX_SLACK, *sum = other + star + BOX_SLACK;
    const double *T[3] = {NULL};
    memset(sum, 0, (size_t)star * sizeof *sum);
    for (int d = 0; d < dim; d++) {
        for (int t = 0; t < dim; t++) T[t] = (t == d ? s->slope : s->mass) + (int64_t)at->lines[t] * P * h->n;
        memcpy(x, solution->q + (d * solution->n_cells + at->cell) * size, (size_t)size * sizeof *x);
        const double *part = box_contract_all(dim, to, from, T, x, other);
        double factor = at->V * at->inverse[d];
        for (int64_t i = 0; i < star; i++) sum[i] -= factor * part[i];
    }
    divide(at, s, constant_of(at, solution->u + at->cell * size), sum);
    for (int t = 0; t < dim; t++) T[t] = s->Q;
    const double *result = box_contract_all(dim, to, to, T, sum, x);
    memcpy(solution->star + at->cell * star, result, (size_t)star * sizeof *x);
    return FACET_OK;
}

facet_status boxhdg_postprocess(const struct boxhdg *h, struct boxhdg_solution *solution) {
    facet_status status = FACET_OK;
    struct star s = {.solution = solution};
    int64_t star = box_power(h->n + 1, h->grid.dim);
    TRY(boxhdg_star_create(h, &s.tables));
    if (solution->star == NULL) TRY(ALLOC(solution->star, solution->n_cells * star));
    TRY(boxhdg_for_solution(h, solution, 3 * (star + BOX_SLACK), star_work, &s));
done:
    base_free(&s.tables.Q);
    if (status != FACET_OK) base_free(&solution->star);
    return status;
}
