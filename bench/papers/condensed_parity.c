/* The matrix of a cell by parity, for several cells of one kind side by side.
 *
 * In a direction with ends take v_0 = u_+ + u_- and v_1 = u_+ - u_-. They belong to an even and an odd
 * function, which meet only modes of their parity:
 *
 *     mass mu_pi = (mass[0] +- mass[1]) / 2,   stiffness kappa_pi likewise,   b_m with mode m of parity pi
 *
 * so the mass matrix is diagonal, and of the couplings of bench/papers/condensed.h half are left. What a
 * block of T does to itself is a diagonal, known before; between T and T | d stand a_d b_m times the masses
 * of the other directions with ends. The inside is never stored: u(i, j, k) goes at once to the faces it
 * meets. Blocks are numbered as the sides of an entity are, the odd parity in place of the upper side. */
#include <string.h>

#include "bench/papers/condensed_local.h"

#define L CONDENSED_LANES
/* One number of every cell. */
typedef double lanes __attribute__((vector_size(L * sizeof(double)), may_alias));

static double of_parity(const double both[2], int parity) {
    return 0.5 * (parity == 0 ? both[0] + both[1] : both[0] - both[1]);
}

void condensed_parity_diagonal(const struct box_condensed *h, int kind, double *diagonal) {
    const struct box_ends *e = &h->ends;
    const double *a = h->kinds[kind].a;
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i];
        for (int block = 0; block < 1 << (h->grid.dim - condensed_bits(mask)); block++)
            for (int64_t t = 0; t < h->size[mask]; t++) {
                double mass = 1.0, sum = h->kinds[kind].reaction;
                int64_t rest = t;
                for (int d = 0; d < h->grid.dim; d++) {
                    if (mask >> d & 1) {
                        sum += a[d] * e->eigenvalues[rest % h->n_inner];
                        rest /= h->n_inner;
                        continue;
                    }
                    int parity = condensed_side(mask, block, d);
                    double mu = of_parity(e->mass, parity);
                    sum += a[d] * of_parity(e->stiffness, parity) / mu;
                    mass *= mu;
                }
                *diagonal++ = mass * sum;
            }
    }
}

/* (low, high) becomes (high + low, high - low) in all directions with ends. */
static void butterfly(const struct box_condensed *h, lanes *x) {
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i], blocks = 1 << (h->grid.dim - condensed_bits(mask));
        int64_t size = h->size[mask];
        lanes *own = x + h->local_first[mask];
        for (int bit = 1; bit < blocks; bit *= 2)
            for (int block = 0; block < blocks; block++) {
                if (block & bit) continue;
                lanes *low = own + block * size, *high = own + (block | bit) * size;
                for (int64_t t = 0; t < size; t++) {
                    lanes sum = high[t] + low[t];
                    high[t] = high[t] - low[t];
                    low[t] = sum;
                }
            }
    }
}

/* Its transpose: (v_0, v_1) becomes (v_0 - v_1, v_0 + v_1). */
static void butterfly_back(const struct box_condensed *h, lanes *y) {
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i], blocks = 1 << (h->grid.dim - condensed_bits(mask));
        int64_t size = h->size[mask];
        lanes *own = y + h->local_first[mask];
        for (int bit = 1; bit < blocks; bit *= 2)
            for (int block = 0; block < blocks; block++) {
                if (block & bit) continue;
                lanes *even = own + block * size, *odd = own + (block | bit) * size;
                for (int64_t t = 0; t < size; t++) {
                    lanes sum = even[t] + odd[t];
                    even[t] = even[t] - odd[t];
                    odd[t] = sum;
                }
            }
    }
}

/* Between a block x of T and one, U, of T | d, for the modes first .. last - 1 of d: both ways at once. outer
 * and inner: the numbers above and below d. */
static void couple(int64_t outer, int n, int64_t inner, int first, int last, double c, const double *b,
                   const lanes *restrict x, const lanes *restrict U, lanes *restrict x_out,
                   lanes *restrict U_out) {
    for (int64_t o = 0; o < outer; o++)
        for (int64_t r = 0; r < inner; r++) {
            lanes v = c * x[o * inner + r], sum = {0.0};
            for (int i = first; i < last; i++) {
                int64_t at = (o * n + i) * inner + r;
                sum += b[i] * U[at];
                U_out[at] += b[i] * v;
            }
            x_out[o * inner + r] += c * sum;
        }
}

static void couple_all(const struct box_condensed *h, const double *a, const lanes *x, lanes *y) {
    const struct box_ends *e = &h->ends;
    int dim = h->grid.dim, n = h->n_inner;
    for (int m = 0; m < h->n_masks; m++)
        for (int d = 0; d < dim; d++) {
            int mask = h->masks[m], more = mask | 1 << d;
            if (mask >> d & 1 || more == h->full) continue;
            int64_t inner = h->size[mask & ((1 << d) - 1)], outer = h->size[mask] / inner;
            for (int block = 0; block < 1 << (dim - condensed_bits(more)); block++) {
                int64_t U = h->local_first[more] + block * h->size[more];
                double c = a[d];
                for (int o = 0; o < dim; o++)
                    if (!(more >> o & 1)) c *= of_parity(e->mass, condensed_side(more, block, o));
                for (int parity = 0; parity < 2; parity++) {
                    int64_t T =
                        h->local_first[mask] + condensed_insert(mask, block, d, parity) * h->size[mask];
                    couple(outer, n, inner, parity == 0 ? 0 : e->n_even, parity == 0 ? e->n_even : n, c, e->b,
                           x + T, x + U, y + T, y + U);
                }
            }
        }
}

/* The modes i of one parity of the row (j, k). v0: of the faces normal to direction 0; v1, v2: rows of the
 * others. Returns what the faces normal to direction 0 get, and adds what the others do. */
static inline lanes sweep_row(int first, int last, const double *b, const double *inverse, lanes v0,
                              double bj, const lanes *restrict v1, double bk, const lanes *restrict v2,
                              lanes *restrict r1, lanes *restrict r2) {
    lanes sum = {0.0};
    for (int i = first; i < last; i++) {
        lanes u = (b[i] * v0 + bj * v1[i] + bk * v2[i]) * inverse[i];
        sum += b[i] * u;
        r1[i] += bj * u;
        r2[i] += bk * u;
    }
    return sum;
}

/* Faces are times a before and after. In fewer dimensions the faces that do not exist are rows of zeros with
 * b = 0. */
static void sweep(const struct box_condensed *h, const double *inverse, lanes *const v[3],
                  lanes *const r[3]) {
    const double *b = h->ends.b;
    int n = h->n_inner, n_even = h->ends.n_even, dim = h->grid.dim;
    int64_t face = h->size[h->full >> 1];
    for (int k = 0; k < (dim > 2 ? n : 1); k++)
        for (int j = 0; j < (dim > 1 ? n : 1); j++, inverse += n) {
            int64_t at0 = (int64_t)k * n + j, at1 = (int64_t)k * n, at2 = dim > 2 ? (int64_t)j * n : 0;
            double bj = dim > 1 ? b[j] : 0.0, bk = dim > 2 ? b[k] : 0.0;
            if (dim > 1 && j >= n_even) at1 += face;
            if (dim > 2 && k >= n_even) at2 += face;
            r[0][at0] = sweep_row(0, n_even, b, inverse, v[0][at0], bj, v[1] + at1, bk, v[2] + at2,
                                  r[1] + at1, r[2] + at2);
            at0 += face;
            r[0][at0] = sweep_row(n_even, n, b, inverse, v[0][at0], bj, v[1] + at1, bk, v[2] + at2,
                                  r[1] + at1, r[2] + at2);
        }
}

int64_t condensed_parity_work(const struct box_condensed *h) {
    int64_t n = h->n_inner, face = h->grid.dim == 3 ? n * n : n;
    return 12 * (face + 1) * L;
}

/* What the inside takes off. v and r: two blocks of every face, or a row of zeros, each. */
static void subtract_inside(const struct box_condensed *h, int kind, const lanes *x, lanes *y, lanes *work) {
    const double *a = h->kinds[kind].a;
    int64_t room = condensed_parity_work(h) / (6 * L);
    lanes *v[3], *r[3];
    for (int d = 0; d < 3; d++) {
        v[d] = work + d * room;
        r[d] = work + (3 + d) * room;
        memset(r[d], 0, (size_t)room * sizeof *work);
        if (d >= h->grid.dim) {
            memset(v[d], 0, (size_t)room * sizeof *work);
            continue;
        }
        int mask = h->full & ~(1 << d);
        for (int64_t t = 0; t < 2 * h->size[mask]; t++) v[d][t] = a[d] * x[h->local_first[mask] + t];
    }
    sweep(h, h->inverse + kind * h->n_inside, v, r);
    for (int d = 0; d < h->grid.dim; d++) {
        int mask = h->full & ~(1 << d);
        lanes *to = y + h->local_first[mask];
        for (int64_t t = 0; t < 2 * h->size[mask]; t++) to[t] -= a[d] * r[d][t];
    }
}

void condensed_parity_apply(const struct box_condensed *h, int kind, const double *diagonal, double *x,
                            double *y, double *work) {
    lanes *in = (lanes *)x, *out = (lanes *)y;
    butterfly(h, in);
    for (int64_t i = 0; i < h->n_local; i++) out[i] = diagonal[i] * in[i];
    if (h->n_inner > 0) {
        couple_all(h, h->kinds[kind].a, in, out);
        subtract_inside(h, kind, in, out, (lanes *)work);
    }
    butterfly_back(h, out);
}
