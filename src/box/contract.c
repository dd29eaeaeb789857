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

double box_weigh(const int extent[3], const double *const weights[3], const double *u) {
    return device_tensor_weigh(device_host(), extent, weights, u);
}

void box_add_products(const int extent[3], const double *const weights[3], double by, double *u) {
    device_tensor_add(device_host(), extent, weights, by, u);
}

double *box_forward(int dim, const struct box_table *const tables[3], double *in, double *work) {
    int n[3] = {1, 1, 1};
    const double *T[3];
    for (int d = 0; d < dim; d++) {
        n[d] = tables[d]->n;
        T[d] = tables[d]->forward;
    }
    return box_contract_all(dim, n, n, T, in, work);
}

/* ------------------------------------------------------------------------------------- tables */

void box_table_destroy(struct box_table *t) {
    base_free(&t->store);
    *t = (struct box_table){0};
}

static void place(struct box_table *t) {
    int n = t->n, even = t->n_even, odd = n - even;
    double *at = t->store;
    t->forward = at;
    t->values = at += n * n;
    at += n * n;
    for (int parity = 0; parity < 2; parity++, at += even * odd) t->flux[parity] = at;
    t->ends = at;
    t->slopes = at + n;
    t->moments = at + 2 * n;
}

/* values, derivatives: n x n at the Gauss points. */
static void fill(struct box_table *t, const double *weights, const double *values,
                 const double *derivatives) {
    int n = t->n, even = t->n_even, odd = n - even;
    for (int m = 0; m < n; m++) {
        int parity = m >= even, first = parity ? even : 0;
        int others = parity ? even : odd, begin = parity ? 0 : even;
        for (int j = 0; j < others; j++) {
            double sum = 0.0;
            for (int q = 0; q < n; q++)
                sum += weights[q] * values[q * n + begin + j] * derivatives[q * n + m];
            t->flux[parity][(m - first) * others + j] = sum;
        }
        for (int q = 0; q < n; q++) {
            t->forward[m * n + q] = weights[q] * values[q * n + m];
            t->values[m * n + q] = values[q * n + m];
        }
        t->moments[m] = 0.0;
        for (int q = 0; !parity && q < n; q++) t->moments[m] += weights[q] * values[q * n + m];
    }
}

facet_status box_table_create(const struct box_line *line, const double *gauss, const double *weights,
                              struct box_table *t) {
    facet_status status = FACET_OK;
    int n = line->n, even = line->n_even, odd = n - even;
    double *values = NULL, one = 1.0;
    *t = (struct box_table){.n = n, .n_even = even};
    TRY(CALLOC(t->store, 2 * (n * n + even * odd) + 3 * n));
    TRY(ALLOC(values, 2 * n * n));
    place(t);
    TRY(box_legendre_evaluate(n, line->S, n, gauss, values, values + n * n));
    fill(t, weights, values, values + n * n);
    TRY(box_legendre_evaluate(n, line->S, 1, &one, t->ends, t->slopes));
done:
    base_free(&values);
    if (status != FACET_OK) box_table_destroy(t);
    return status;
}
