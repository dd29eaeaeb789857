/* The tables of lines, and contractions by them: the loops are kernels. */
#include "box/contract.h"

#include "base/memory.h"
#include "box/box.h"
#include "device/device.h"

_Static_assert(BOX_SLACK >= KERNEL_SLACK && BOX_MAX_LINE <= KERNEL_LINE && BOX_MAX_DEGREE < KERNEL_MODES,
               "what the kernels read and hold");

void box_contract(int64_t outer, int n_out, int n_in, int64_t inner, const double *T, const double *in,
                  int64_t in_step, double *out, int64_t out_step) {
    device_tensor_contract(device_host(), outer, n_out, n_in, inner, T, in, in_step, out, out_step);
}

double *box_contract_all(int dim, const int n_out[3], const int n_in[3], const double *const T[3], double *in,
                         double *out) {
    int64_t inner = 1, outer = 1;
    for (int d = 0; d < dim; d++) outer *= n_in[d];
    for (int d = 0; d < dim; d++) {
        double *result = out;
        outer /= n_in[d];
        box_contract(outer, n_out[d], n_in[d], inner, T[d], in, n_in[d] * inner, out, n_out[d] * inner);
        inner *= n_out[d];
        out = in;
        in = result;
    }
    return in;
}

/* Several sums, since one would wait for itself. */
double box_weigh(const int extent[3], const double *const weights[3], const double *u) {
    enum { SUMS = 4 };
    double sums[SUMS] = {0.0};
    for (int k = 0; k < extent[2]; k++)
        for (int j = 0; j < extent[1]; j++, u += extent[0]) {
            const double weight = weights[2][k] * weights[1][j];
            for (int i = 0; i < extent[0]; i++) sums[i % SUMS] += weight * weights[0][i] * u[i];
        }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

void box_add_products(const int extent[3], const double *const weights[3], double by, double *u) {
    for (int k = 0; k < extent[2]; k++)
        for (int j = 0; j < extent[1]; j++, u += extent[0])
            for (int i = 0; i < extent[0]; i++) u[i] += by * weights[0][i] * weights[1][j] * weights[2][k];
}

/* ------------------------------------------------------------------------------------- tables */

void box_table_destroy(struct box_table *t) {
    base_free(&t->store);
    *t = (struct box_table){0};
}

/* values, derivatives: n x n at the Gauss points. */
static void fill(struct box_table *t, const double *weights, const double *values,
                 const double *derivatives) {
    int n = t->n, even = t->n_even;
    for (int m = 0; m < n; m++) {
        for (int j = 0; j < n; j++)
            for (int q = 0; q < n && (j < even) != (m < even); q++)
                t->flux[m * n + j] += weights[q] * values[q * n + j] * derivatives[q * n + m];
        for (int q = 0; m < even && q < n; q++) t->moments[m] += weights[q] * values[q * n + m];
    }
}

facet_status box_table_create(const struct box_line *line, const double *gauss, const double *weights,
                              struct box_table *t) {
    facet_status status = FACET_OK;
    int n = line->n;
    double *values = NULL, one = 1.0;
    *t = (struct box_table){.n = n, .n_even = line->n_even};
    TRY(CALLOC(t->store, n * (n + 3)));
    TRY(ALLOC(values, 2 * n * n));
    t->flux = t->store;
    t->ends = t->flux + n * n;
    t->slopes = t->ends + n;
    t->moments = t->slopes + n;
    TRY(box_legendre_evaluate(n, line->S, n, gauss, values, values + n * n));
    fill(t, weights, values, values + n * n);
    TRY(box_legendre_evaluate(n, line->S, 1, &one, t->ends, t->slopes));
done:
    base_free(&values);
    if (status != FACET_OK) box_table_destroy(t);
    return status;
}
