/* Noise, bounds of spectra, Chebyshev polynomials. See spectrum.h. */
#include "solve/spectrum.h"

#include <lapacke.h>
#include <math.h>

#include "base/memory.h"
#include "device/seam.h"

#define EIGENVALUE_SAFETY 1.05
/* Of the first r'Dr and of the first entry of the Lanczos matrix: what is left is rounding, or a kernel. */
#define LITTLE_LEFT 1e-10
#define KERNEL      1e-8

/* A hash of the index. */
static void noise_from(int64_t first, int64_t n, double *x) {
#pragma omp parallel for num_threads(base_threads_for(n)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        uint64_t h = ((uint64_t)(first + i) + 1) * 0x9e3779b97f4a7c15u;
        h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93u;
        x[i] = (double)((h ^ (h >> 32)) >> 11) / 4503599627370496.0 - 1.0;
    }
}

void solve_noise(int64_t n, double *x) {
    noise_from(0, n, x);
}

/* The same numbers however the blocks are shared out. */
static void noise_of_blocks(struct seam *seam, double *x) {
    for (int64_t b = 0; b < seam->n_blocks; b++)
        noise_from(seam->names[b] << 16, seam->offsets[b + 1] - seam->offsets[b], x + seam->offsets[b]);
}

/* It need not come from the host all along: after so many numbers it is repeated. */
#define PERIOD (1 << 20)

facet_status solve_fill_noise(struct vector *x) {
    facet_status status = FACET_OK;
    struct vector first = *x;
    const size_t size = precision_size(x->precision);
    const int named = x->seam != NULL && x->seam->names != NULL;
    double *host = NULL;
    if (x->n > PERIOD && !named) first.n = PERIOD;
    TRY(ALLOC(host, first.n));
    if (named)
        noise_of_blocks(x->seam, host);
    else
        noise_from(x->seam != NULL ? (int64_t)x->seam->team->rank * PERIOD : 0, first.n, host);
    TRY(vector_upload(&first, host));
    for (int64_t done_so_far = first.n, more; done_so_far < x->n; done_so_far += more) {
        more = x->n - done_so_far < done_so_far ? x->n - done_so_far : done_so_far;
        device_move(x->device, (char *)x->numbers + (size_t)done_so_far * size, x->numbers,
                    (size_t)more * size);
    }
    if (!named) seam_add(x->seam, x); /* every process has another, and seams the sum of two */
done:
    base_free(&host);
    return status;
}

/* r -= alpha q, z = D r; returns r'Dr. */
static double reduce(const struct linear_operator *A, const struct linear_operator *D, double alpha,
                     const struct vector *q, struct vector *r, struct vector *z) {
    double sums[2];
    if (D == NULL) {
        A->steps->reduce(A, alpha, q, r, NULL, sums);
        return sums[0];
    }
    vector_axpby(-alpha, q, 1.0, r);
    operator_apply(D, r, z);
    return vector_dot(r, z);
}

/* p = z + beta p, q = A p; returns p . q. */
static double advance(const struct linear_operator *A, const struct linear_operator *D, double beta,
                      const struct vector *r, const struct vector *z, struct vector *p, struct vector *q) {
    if (D == NULL) return A->steps->advance(A, 0.0, beta, r, NULL, p, NULL, q);
    vector_axpby(1.0, z, beta, p);
    return operator_product(A, p, q);
}

void solve_eigenvalue_bounds(const struct linear_operator *A, const struct linear_operator *D, int steps,
                             struct vector *const work[4], double *least, double *top) {
    struct vector *r = work[0], *z = work[1], *q = work[2], *p = work[3];
    double diagonal[LANCZOS_ROOM], below[LANCZOS_ROOM], beta = 0.0, previous = 1.0;
    int n = 0;
    vector_fill(q, 0.0);
    double rz = reduce(A, D, 0.0, q, r, z), first = rz;
    while (n < steps && n < LANCZOS_ROOM && rz > LITTLE_LEFT * first) {
        double alpha = rz / advance(A, D, beta, r, z, p, q);
        /* Of a singular A only the kernel is left when everything else has been found. */
        if (!(alpha > 0.0) || !isfinite(alpha) || (n > 0 && 1.0 / alpha < KERNEL * diagonal[0])) break;
        double next = reduce(A, D, alpha, q, r, z);
        if (!(next >= 0.0)) break;
        diagonal[n] = 1.0 / alpha + beta / previous;
        beta = next / rz;
        below[n++] = sqrt(beta) / alpha;
        rz = next;
        previous = alpha;
    }
    *top = EIGENVALUE_SAFETY;
    if (least != NULL) *least = 1.0 / EIGENVALUE_SAFETY;
    if (n == 0 || LAPACKE_dsterf_work(n, diagonal, below) != 0) return;
    *top *= diagonal[n - 1];
    if (least != NULL) *least *= diagonal[0];
}

double solve_least_eigenvalue(int n, double *diagonal, double *below) {
    return n == 0 || LAPACKE_dsterf_work(n, diagonal, below) != 0 ? 1.0 : diagonal[0];
}

void polynomial_coefficients(enum polynomial kind, double top, double ratio, int degree, double *a,
                             double *b) {
    double low = top / ratio, theta = 0.5 * (top + low), delta = 0.5 * (top - low);
    double sigma = theta / delta, rho = 1.0 / sigma;
    for (int k = 0; k < degree; k++) {
        if (kind == POLYNOMIAL_FOURTH) {
            a[k] = (8.0 * k + 4.0) / (2.0 * k + 3.0) / top;
            b[k] = (2.0 * k - 1.0) / (2.0 * k + 3.0);
        } else if (k == 0) {
            a[k] = 1.0 / theta;
        } else {
            double next = 1.0 / (2.0 * sigma - rho);
            a[k] = 2.0 * next / delta;
            b[k] = next * rho;
            rho = next;
        }
    }
    b[0] = 0.0;
}
