/* Tensor contractions by blocks of registers: eight numbers that lie together times four rows. */
#include "box/contract.h"

#include <string.h>

#include "base/memory.h"
#include "base/widest.h"
#include "box/vec.h"

#define B 4 /* rows at once */

/* `rows` (at most B) outputs of VEC neighbouring columns, r_left of which are wanted. */
static inline void block(int rows, int n_in, int64_t inner, const double *T, const double *in, double *out,
                         int r_left) {
    vec sums[B] = {{0}};
    for (int q = 0; q < n_in; q++) {
        vec x = vec_load(in + q * inner);
        for (int i = 0; i < rows; i++) sums[i] += T[i * n_in + q] * x;
    }
    for (int i = 0; i < rows; i++) vec_store(r_left, out + i * inner, sums[i]);
}

/* One o of box_contract, inner > 1. A last block that is not full begins earlier where it can. */
static void contract_columns(int n_out, int n_in, int64_t inner, const double *T, const double *in,
                             double *out) {
    for (int i = 0; i < n_out; i += B) {
        const double *rows = T + i * n_in;
        for (int64_t from = 0; from < inner; from += VEC) {
            int64_t r = from + VEC > inner && inner >= VEC ? inner - VEC : from;
            int left = inner - r < VEC ? (int)(inner - r) : VEC;
            double *to = out + i * inner + r;
            switch (n_out - i) {
            case 1:
                block(1, n_in, inner, rows, in + r, to, left);
                break;
            case 2:
                block(2, n_in, inner, rows, in + r, to, left);
                break;
            case 3:
                block(3, n_in, inner, rows, in + r, to, left);
                break;
            default:
                block(4, n_in, inner, rows, in + r, to, left);
            }
        }
    }
}

/* `left` outputs (at most VEC) of every row of inputs, by the columns of a matrix, so many numbers from one
 * to the next. */
static inline void multiply_rows(int64_t rows, int left, int n_in, const double *columns, int step,
                                 const double *in, int64_t in_step, double *out, int64_t out_step) {
    int64_t o = 0;
    for (; o + B <= rows; o += B) {
        const double *x = in + o * in_step;
        vec sums[B] = {{0}};
        for (int q = 0; q < n_in; q++) {
            vec column = vec_load(columns + q * step);
            for (int i = 0; i < B; i++) sums[i] += x[i * in_step + q] * column;
        }
        for (int i = 0; i < B; i++) vec_store(left, out + (o + i) * out_step, sums[i]);
    }
    for (; o < rows; o++) {
        vec sum = {0};
        for (int q = 0; q < n_in; q++) sum += in[o * in_step + q] * vec_load(columns + q * step);
        vec_store(left, out + o * out_step, sum);
    }
}

/* inner = 1: vectors run over the outputs, with the columns of T at hand. */
static void contract_rows(int64_t outer, int n_out, int n_in, const double *T, const double *in,
                          int64_t in_step, double *out, int64_t out_step) {
    double columns[BOX_MAX_LINE * VEC];
    for (int from = 0; from < n_out; from += VEC) {
        int left = n_out - from < VEC ? n_out - from : VEC;
        for (int q = 0; q < n_in; q++)
            for (int i = 0; i < VEC; i++) columns[q * VEC + i] = i < left ? T[(from + i) * n_in + q] : 0.0;
        multiply_rows(outer, left, n_in, columns, VEC, in, in_step, out + from, out_step);
    }
}

WIDEST void box_contract(int64_t outer, int n_out, int n_in, int64_t inner, const double *T, const double *in,
                         int64_t in_step, double *out, int64_t out_step) {
    if (inner == 1)
        contract_rows(outer, n_out, n_in, T, in, in_step, out, out_step);
    else
        for (int64_t o = 0; o < outer; o++)
            contract_columns(n_out, n_in, inner, T, in + o * in_step, out + o * out_step);
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

WIDEST double box_weigh(const int extent[3], const double *const weights[3], const double *u) {
    double sum = 0.0;
    for (int k = 0; k < extent[2]; k++)
        for (int j = 0; j < extent[1]; j++, u += extent[0]) {
            double row = 0.0;
            for (int i = 0; i < extent[0]; i++) row += weights[0][i] * u[i];
            sum += weights[2][k] * weights[1][j] * row;
        }
    return sum;
}

WIDEST void box_add_products(const int extent[3], const double *const weights[3], double by, double *u) {
    for (int k = 0; k < extent[2]; k++)
        for (int j = 0; j < extent[1]; j++, u += extent[0])
            for (int i = 0; i < extent[0]; i++) u[i] += by * weights[0][i] * weights[1][j] * weights[2][k];
}

/* ------------------------------------------------------------------------------------- even and odd */

/* Sums of opposite points, then differences (upper less lower), n_even and n - n_even of them; back: the
 * points from these. */
static void fold(int64_t outer, int n, int64_t inner, int back, const double *in, double *out) {
    int pairs = n / 2, n_even = n - pairs;
    for (int64_t o = 0; o < outer; o++, in += n * inner, out += n * inner) {
        for (int q = 0; q < pairs; q++) {
            int high = n - 1 - q, odd = n_even + q;
            const double *one = in + (back ? q : high) * inner, *two = in + (back ? odd : q) * inner;
            double *sum = out + (back ? high : q) * inner, *difference = out + (back ? q : odd) * inner;
            for (int64_t r = 0; r < inner; r++) {
                sum[r] = one[r] + two[r];
                difference[r] = one[r] - two[r];
            }
        }
        if (pairs < n_even) memcpy(out + pairs * inner, in + pairs * inner, (size_t)inner * sizeof *out);
    }
}

/* Direction 0 in one go, by a full matrix of padded columns (n x vec_padded(n)): sums and differences inside
 * a row would cost more than the half of the products that they save. */
static void full_rows(int64_t rows, int n, const double *columns, const double *in, double *out) {
    for (int from = 0; from < n; from += VEC)
        multiply_rows(rows, n - from, n, columns + from, vec_padded(n), in, n, out + from, n);
}

/* Both parities of one direction. */
static void halves(int64_t outer, int n, int64_t inner, double *const T[2], const double *in, double *out) {
    int n_even = (n + 1) / 2, n_odd = n / 2;
    int64_t step = n * inner;
    box_contract(outer, n_even, n_even, inner, T[0], in, step, out, step);
    box_contract(outer, n_odd, n_odd, inner, T[1], in + n_even * inner, step, out + n_even * inner, step);
}

WIDEST double *box_forward(int dim, const struct box_table *const tables[3], double *in, double *work) {
    if (dim == 0) return in;
    int n = tables[0]->n;
    int64_t inner = n, outer = dim == 1 ? 1 : dim == 2 ? n : (int64_t)n * n;
    full_rows(outer, n, tables[0]->full[0], in, work);
    for (int d = 1; d < dim; d++, inner *= n) {
        outer /= n;
        fold(outer, n, inner, 0, work, in);
        halves(outer, n, inner, tables[d]->forward, in, work);
    }
    return work;
}

WIDEST double *box_backward(int dim, const struct box_table *const tables[3], double *in, double *work) {
    if (dim == 0) return in;
    int n = tables[0]->n;
    int64_t inner = n, outer = dim == 1 ? 1 : dim == 2 ? n : (int64_t)n * n;
    full_rows(outer, n, tables[0]->full[1], in, work);
    for (int d = 1; d < dim; d++, inner *= n) {
        outer /= n;
        halves(outer, n, inner, tables[d]->backward, work, in);
        fold(outer, n, inner, 1, in, work);
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
    for (int i = 0; i < 2; i++, at += n * vec_padded(n)) t->full[i] = at;
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
            t->full[0][q * vec_padded(n) + m] = weights[q] * values[q * n + m];
            t->full[1][m * vec_padded(n) + q] = values[q * n + m];
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
    TRY(CALLOC(t->store, 2 * (even * even + odd * odd + even * odd + n * vec_padded(n)) + 3 * n));
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
