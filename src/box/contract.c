/* The tables of lines, and contractions by them: the loops are kernels. */
#include "box/contract.h"

#include "base/memory.h"
#include "box/box.h"
#include "device/device.h"

_Static_assert(BOX_SLACK >= KERNEL_SLACK && BOX_MAX_LINE <= KERNEL_LINE && BOX_MAX_DEGREE < KERNEL_MODES,
               "what the kernels read and hold");

/* n, rounded up to what the kernel of rows takes at once. */
static int padded(int n) {
    return (n + KERNEL_SLACK - 1) / KERNEL_SLACK * KERNEL_SLACK;
}

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

/* ------------------------------------------------------------------------------------- even and odd */

/* Both parities of one direction. */
static void halves(int64_t outer, int n, int64_t inner, double *const T[2], const double *in, double *out) {
    int n_even = (n + 1) / 2, n_odd = n / 2;
    int64_t step = n * inner;
    box_contract(outer, n_even, n_even, inner, T[0], in, step, out, step);
    box_contract(outer, n_odd, n_odd, inner, T[1], in + n_even * inner, step, out + n_even * inner, step);
}

double *box_forward(int dim, const struct box_table *const tables[3], double *in, double *work) {
    if (dim == 0) return in;
    int n = tables[0]->n;
    int64_t inner = n, outer = dim == 1 ? 1 : dim == 2 ? n : (int64_t)n * n;
    device_tensor_rows(device_host(), outer, n, padded(n), tables[0]->full[0], in, work);
    for (int d = 1; d < dim; d++, inner *= n) {
        outer /= n;
        device_tensor_fold(device_host(), outer, n, inner, 0, work, in);
        halves(outer, n, inner, tables[d]->forward, in, work);
    }
    return work;
}

/* ------------------------------------------------------------------------------------- tables */

void box_table_destroy(struct box_table *t) {
    base_free(&t->store);
    *t = (struct box_table){0};
}

static void place(struct box_table *t) {
    int n = t->n, even = t->n_even, odd = n - even;
    double *at = t->store;
    double **squares[2][2] = {{&t->forward[0], &t->backward[0]}, {&t->forward[1], &t->backward[1]}};
    for (int parity = 0; parity < 2; parity++) {
        int size = parity == 0 ? even : odd;
        for (int i = 0; i < 2; i++, at += size * size) *squares[parity][i] = at;
        t->flux[parity] = at;
        at += even * odd;
    }
    for (int i = 0; i < 2; i++, at += n * padded(n)) t->full[i] = at;
    t->ends = at;
    t->slopes = at + n;
    t->moments = at + 2 * n;
}

/* values, derivatives: n x n at the Gauss points. */
static void fill(struct box_table *t, const double *weights, const double *values,
                 const double *derivatives) {
    int n = t->n, even = t->n_even, odd = n - even;
    for (int m = 0; m < n; m++) {
        int parity = m >= even, size = parity ? odd : even, first = parity ? even : 0;
        for (int pair = 0; pair < size; pair++) {
            int q = n - 1 - pair;
            t->backward[parity][pair * size + m - first] = values[q * n + m];
            t->forward[parity][(m - first) * size + pair] = weights[q] * values[q * n + m];
        }
        int others = parity ? even : odd, begin = parity ? 0 : even;
        for (int j = 0; j < others; j++) {
            double sum = 0.0;
            for (int q = 0; q < n; q++)
                sum += weights[q] * values[q * n + begin + j] * derivatives[q * n + m];
            t->flux[parity][(m - first) * others + j] = sum;
        }
        for (int q = 0; q < n; q++) {
            t->full[0][q * padded(n) + m] = weights[q] * values[q * n + m];
            t->full[1][m * padded(n) + q] = values[q * n + m];
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
    TRY(CALLOC(t->store, 2 * (even * even + odd * odd + even * odd + n * padded(n)) + 3 * n));
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
