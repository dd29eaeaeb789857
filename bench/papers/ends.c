/* The 1D functions of continuous elements.
 *
 * The integrals N_k of l_k, k = 1 .. p - 1, vanish at both ends and have the identity as stiffness matrix.
 * Their mass matrix is B'B, B being sqrt(gamma) times their Legendre coefficients, two a column. The singular
 * values of B, by a Jacobi method, are the inverse roots of the eigenvalues to nearly full relative
 * precision; the left vectors are the coefficients of the modes times sqrt(gamma). Parity splits B in two. */
#include "bench/papers/ends.h"

#include <math.h>

#include "base/memory.h"
#include "box/box.h"
#include "box/line.h"
#include "box/modes.h"
#include "poly/rule.h"

void box_ends_destroy(struct box_ends *ends) {
    base_free(&ends->coefficients);
    base_free(&ends->eigenvalues);
    base_free(&ends->b);
    base_free(&ends->linear);
    base_free(&ends->nodes);
    base_free(&ends->weights);
    base_free(&ends->S);
    *ends = (struct box_ends){0};
}

static double gamma_of(const struct box_ends *ends, int i) {
    int p = ends->n - 1;
    return ends->kind == BOX_MASS_COLLOCATED && i == p ? (2.0 * p + 1.0) / p : 1.0;
}

/* The polynomial of one parity that is 1 at +1 and orthogonal to all that vanish there: its coefficients are
 * those of the end values over gamma. Returns its mass and stiffness; slopes: the coefficients of its
 * derivative. */
static void end_polynomial(const struct box_ends *ends, int parity, double *c, double *slopes, double *mass,
                           double *stiffness) {
    double sum = 0.0;
    for (int i = parity; i < ends->n; i += 2)
        sum += box_legendre_end(i) * box_legendre_end(i) / gamma_of(ends, i);
    for (int i = parity; i < ends->n; i += 2) c[i] = box_legendre_end(i) / (gamma_of(ends, i) * sum);
    *mass = 1.0 / sum;
    *stiffness = 0.0;
    for (int i = 1 - parity; i < ends->n; i += 2) {
        slopes[i] = 0.0;
        for (int j = i + 1; j < ends->n; j += 2) slopes[i] += box_legendre_slope(i, j) * c[j];
        *stiffness += slopes[i] * slopes[i];
    }
}

static facet_status make_modes(struct box_ends *ends, int parity, int first, int count,
                               const double *slopes) {
    facet_status status = FACET_OK;
    int n = ends->n, rows = count + 1;
    double *B = NULL, *sigma = NULL, *U = NULL, *V = NULL;
    if (count == 0) goto done;
    TRY(CALLOC(B, rows * count));
    TRY(ALLOC(sigma, count));
    TRY(ALLOC(U, rows * count));
    TRY(ALLOC(V, count * count));
    for (int a = 0; a < count; a++) { /* N_k = (P_(k+1) - P_(k-1)) sqrt(k + 1/2) / (2k + 1), even for odd k */
        int low = 2 * a + parity, k = low + 1, high = k + 1;
        double scale = box_legendre_end(k) / (2.0 * k + 1.0);
        B[a * rows + a] = -scale / box_legendre_end(low) * sqrt(gamma_of(ends, low));
        B[a * rows + a + 1] = scale / box_legendre_end(high) * sqrt(gamma_of(ends, high));
    }
    TRY(box_singular_values_precise(rows, count, B, sigma, U, V));
    for (int m = 0; m < count; m++) { /* singular values descend, eigenvalues ascend */
        double root = sigma[m], b = 0.0;
        for (int a = 0; a < count; a++) b += V[m * count + a] * slopes[2 * a + parity + 1];
        double sign = b < 0.0 ? -1.0 : 1.0;
        ends->eigenvalues[first + m] = 1.0 / (root * root);
        ends->b[first + m] = 0.5 * fabs(b) / root;
        for (int a = 0; a < rows; a++) {
            int i = 2 * a + parity;
            ends->coefficients[i * n + 2 + first + m] = sign * U[m * rows + a] / sqrt(gamma_of(ends, i));
        }
        ends->linear[first + m] =
            (parity == 0 ? sqrt(0.5) : sqrt(1.0 / 6.0)) * ends->coefficients[parity * n + 2 + first + m];
    }
done:
    base_free(&B);
    base_free(&sigma);
    base_free(&U);
    base_free(&V);
    return status;
}

static facet_status make_nodes(struct box_ends *ends) {
    facet_status status = FACET_OK;
    int n = ends->n, inner = ends->n_inner;
    double *values = NULL;
    TRY(ALLOC(ends->nodes, n));
    TRY(ALLOC(ends->weights, n));
    TRY(ALLOC(ends->S, inner * inner));
    TRY(ALLOC(values, n * n));
    TRY(rule_gauss_lobatto(n, 0.0, 0.0, ends->nodes, ends->weights));
    TRY(box_ends_evaluate(ends, n, ends->nodes, values, NULL));
    for (int q = 0; q < inner; q++)
        for (int m = 0; m < inner; m++) ends->S[q * inner + m] = values[(q + 1) * n + 2 + m];
done:
    base_free(&values);
    return status;
}

facet_status box_ends_create(int degree, enum box_mass kind, struct box_ends *ends) {
    facet_status status = FACET_OK;
    int n = degree + 1, inner = degree - 1;
    double c[BOX_MAX_DEGREE + 1] = {0}, slopes[BOX_MAX_DEGREE + 1] = {0}, mass[2], stiffness[2];
    *ends = (struct box_ends){.n = n, .n_inner = inner, .n_even = degree / 2, .kind = kind};
    if (degree < 1 || degree > BOX_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree on a box must be 1 to %d, not %d", BOX_MAX_DEGREE, degree);
    TRY(CALLOC(ends->coefficients, n * n));
    TRY(ALLOC(ends->eigenvalues, inner));
    TRY(ALLOC(ends->b, inner));
    TRY(ALLOC(ends->linear, inner));
    for (int parity = 0; parity < 2; parity++) {
        end_polynomial(ends, parity, c, slopes, &mass[parity], &stiffness[parity]);
        for (int i = parity; i < n; i += 2) {
            ends->coefficients[i * n] = parity == 0 ? 0.5 * c[i] : -0.5 * c[i];
            ends->coefficients[i * n + 1] = 0.5 * c[i];
        }
        int count = parity == 0 ? ends->n_even : inner - ends->n_even;
        TRY(make_modes(ends, parity, parity == 0 ? 0 : ends->n_even, count, slopes));
    }
    for (int other = 0; other < 2; other++) {
        double sign = other == 0 ? 1.0 : -1.0;
        ends->mass[other] = 0.25 * (mass[0] + sign * mass[1]);
        ends->stiffness[other] = 0.25 * (stiffness[0] + sign * stiffness[1]);
    }
    TRY(make_nodes(ends));
done:
    if (status != FACET_OK) box_ends_destroy(ends);
    return status;
}

facet_status box_ends_evaluate(const struct box_ends *ends, int n_points, const double *x, double *values,
                               double *derivatives) {
    return box_legendre_evaluate(ends->n, ends->coefficients, n_points, x, values, derivatives);
}
