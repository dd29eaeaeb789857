/* The eigenproblem of one cell in one direction.
 *
 * L is never formed: L = A A' with A = [D, sqrt(rho) e_-, sqrt(rho) e_+], and by parity A falls into two
 * parts. The singular values of each part, by a Jacobi method, are the roots of the eigenvalues to nearly
 * full relative precision, where an eigensolver for L would lose the small ones in the rounding of the large
 * (of order n^4). */
#include "box/line.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/box.h"
#include "box/modes.h"
#include "poly/jacobi.h"

void box_line_destroy(struct box_line *line) {
    base_free(&line->S);
    base_free(&line->eigenvalues);
    base_free(&line->b);
    *line = (struct box_line){0};
}

/* With the last function scaled to mass 1, which changes D in the column of its derivative alone. */
static double scale(const struct box_line *line, int i) {
    return i == line->n - 1 ? line->last : 1.0;
}
static double derivative(const struct box_line *line, int i, int j) {
    return scale(line, j) * box_legendre_slope(i, j);
}
static double end_value(const struct box_line *line, int i) {
    return scale(line, i) * box_legendre_end(i);
}

/* The modes of one parity, from number `first` on. Rows of the transpose of A: the basis functions of the
 * other parity, and one for both ends together, e_+ e_+' + e_- e_-' being twice e_+ e_+' on one parity. */
static facet_status solve_parity(struct box_line *line, int parity, int first, int count) {
    facet_status status = FACET_OK;
    int n = line->n, others = n - count, rows = others + 1 > count ? others + 1 : count;
    double *A = NULL, *sigma, *V;
    TRY(CALLOC(A, (rows + 1 + count) * count));
    sigma = A + rows * count;
    V = sigma + count;
    for (int a = 0; a < count; a++) {
        int i = 2 * a + parity;
        for (int o = 0; o < others; o++) A[a * rows + o] = derivative(line, i, 2 * o + 1 - parity);
        A[a * rows + others] = sqrt(2.0 * line->rho) * end_value(line, i);
    }
    TRY(box_singular_values_precise(rows, count, A, sigma, NULL, V));
    for (int m = 0; m < count; m++) { /* singular values descend */
        int from = count - 1 - m, mode = first + m;
        double root = sigma[from], b = 0.0;
        line->eigenvalues[mode] = root * root;
        for (int a = 0; a < count; a++) {
            int i = 2 * a + parity;
            double De = 0.0;
            for (int j = i + 1; j < n; j += 2) De += derivative(line, i, j) * end_value(line, j);
            b += V[from * count + a] * (line->rho * end_value(line, i) + De);
        }
        for (int a = 0; a < count; a++)
            line->S[(2 * a + parity) * n + mode] =
                (b < 0.0 ? -1.0 : 1.0) * scale(line, 2 * a + parity) * V[from * count + a];
        line->b[mode] = fabs(b);
    }
done:
    base_free(&A);
    return status;
}

facet_status box_line_create(int degree, double rho, int lumped, struct box_line *line) {
    facet_status status = FACET_OK;
    int n = degree + 1;
    double last = lumped ? 1.0 / sqrt(2.0 + 1.0 / degree) : 1.0;
    *line = (struct box_line){.n = n, .n_even = (n + 1) / 2, .rho = rho, .last = last};
    if (degree < 1 || degree > BOX_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree on a box must be 1 to %d, not %d", BOX_MAX_DEGREE, degree);
    if (!(rho > 0.0) || !isfinite(rho)) FAIL(FACET_ERROR_INPUT, "tau must be positive, not %g k h / 2", rho);
    TRY(CALLOC(line->S, n * n));
    TRY(ALLOC(line->eigenvalues, n));
    TRY(ALLOC(line->b, n));
    TRY(solve_parity(line, 0, 0, line->n_even));
    TRY(solve_parity(line, 1, line->n_even, n - line->n_even));
    double less = (1.0 - last * last) * (n - 0.5), g = rho + 0.5 * n * n - less,
           c = (n % 2 == 0 ? 1.0 : -1.0) * (0.5 * n - less);
    line->gamma[0] = 0.5 * (g + c);
    line->gamma[1] = 0.5 * (g - c);
done:
    if (status != FACET_OK) box_line_destroy(line);
    return status;
}

facet_status box_legendre_evaluate(int n, const double *coefficients, int n_points, const double *x,
                                   double *values, double *derivatives) {
    facet_status status = FACET_OK;
    double *p = NULL;
    TRY(ALLOC(p, 2 * n));
    for (int q = 0; q < n_points; q++) {
        jacobi_orthonormal(n - 1, 0.0, 0.0, x[q], p, p + n);
        for (int f = 0; f < n; f++) {
            double value = 0.0, slope = 0.0;
            for (int i = 0; i < n; i++) {
                value += coefficients[i * n + f] * p[i];
                slope += coefficients[i * n + f] * p[n + i];
            }
            values[q * n + f] = value;
            if (derivatives != NULL) derivatives[q * n + f] = slope;
        }
    }
done:
    base_free(&p);
    return status;
}
