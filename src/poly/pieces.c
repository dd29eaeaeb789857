/* Branch and bound for a polynomial over the unit cube. */
#include "poly/pieces.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

enum { LEAST_PIECES = 60, MOST_PIECES = 20000, WORK = 400000000, MOST_HALVINGS = 20, MOST_NUMBERS = 1 << 22 };

static int64_t size_of(const struct pieces_table *table) {
    int64_t size = 1;
    for (int d = 0; d < table->dim; d++) size *= table->n;
    return size;
}

/* A piece stands for each halving on the way to the smallest one, and one more. */
static int count_slots(const struct pieces_table *table) {
    const int64_t fit = MOST_NUMBERS / size_of(table), wanted = MOST_HALVINGS * table->dim + 1;
    return (int)(fit < 8 ? 8 : fit < wanted ? fit : wanted);
}

int64_t pieces_room(const struct pieces_table *table) {
    return count_slots(table) * size_of(table);
}

/* In the half whose coordinate is z, T_j(y) with y = (z + 1)/2 or (z - 1)/2 by the recurrence
 * T_j = 2 y T_{j-1} - T_{j-2}, where z T_i = (T_{i+1} + T_{|i-1|})/2. */
static void fill_half(int n, double shift, double *half) {
    memset(half, 0, (size_t)(n * n) * sizeof *half);
    half[0] = 1.0;
    for (int j = 1; j < n; j++)
        for (int i = 0; i < j; i++) {
            const double before = half[i * n + j - 1], times = j == 1 ? 0.5 : 1.0;
            half[i * n + j] += 2.0 * shift * times * before;
            half[(i + 1) * n + j] += 0.5 * times * before;
            half[(i > 0 ? i - 1 : 1) * n + j] += 0.5 * times * before;
            if (j > 1) half[i * n + j] -= half[i * n + j - 2];
        }
}

/* De Casteljau's weights: in the lower half coefficient i is sum_j C(i, j)/2^i b_j, and the other half
 * mirrors it. */
static void split_bernstein(int n, double *lower, double *upper) {
    memset(lower, 0, (size_t)(n * n) * sizeof *lower);
    lower[0] = 1.0;
    for (int i = 1; i < n; i++)
        for (int j = 0; j <= i; j++)
            lower[i * n + j] = 0.5 * (lower[(i - 1) * n + j] + (j > 0 ? lower[(i - 1) * n + j - 1] : 0.0));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) upper[i * n + j] = lower[(n - 1 - i) * n + n - 1 - j];
}

/* (-1)^i C(2 j, 2 i)/C(j, i) are those of degree j, which are raised to n - 1. */
void pieces_fill_bernstein(int n, double *to) {
    for (int j = 0; j < n; j++) {
        double b[PIECES_MOST_BERNSTEIN + 1] = {1.0};
        for (int i = 1; i <= j; i++) b[i] = -b[i - 1] * (2.0 * j - 2.0 * i + 1.0) / (2.0 * i - 1.0);
        for (int degree = j; degree < n - 1; degree++)
            for (int i = degree + 1; i >= 0; i--) {
                const double weight = (double)i / (degree + 1);
                b[i] = (i > 0 ? weight * b[i - 1] : 0.0) + (i <= degree ? (1.0 - weight) * b[i] : 0.0);
            }
        for (int i = 0; i < n; i++) to[i * n + j] = b[i];
    }
}

facet_status pieces_table_create(int dim, int degree, struct pieces_table *table) {
    facet_status status = FACET_OK;
    const int n = degree + 1;
    *table = (struct pieces_table){.dim = dim, .n = n};
    TRY(ALLOC(table->halves, 5 * n * n));
    fill_half(n, 0.5, table->halves);
    fill_half(n, -0.5, table->halves + n * n);
    split_bernstein(n, table->halves + 2 * n * n, table->halves + 3 * n * n);
    if (degree <= PIECES_MOST_BERNSTEIN) pieces_fill_bernstein(n, table->halves + 4 * n * n);
done:
    return status;
}

void pieces_table_destroy(struct pieces_table *table) {
    base_free(&table->halves);
    *table = (struct pieces_table){0};
}

/* counts: functions in a direction, 1 where the piece is a point there. bernstein: those of Bernstein, else
 * of Chebyshev. */
struct piece {
    double lower[3], upper[3];
    int counts[3], bernstein;
};

/* Of what depends on more than a constant in a piece, in its coordinates y from -1 to 1: the slope in the
 * middle and second derivatives by the coefficients that alone make them in a quadratic function, and how far
 * those of all others may be off. */
struct bounds {
    double constant, reach; /* |p - constant| <= reach */
    double slope[3], slope_off[3], bend[3][3], bend_off[3][3];
};

/* ------------------------------------------------------------------------------ halves and sides */

/* out = the half `which` of in, along axis d; out may be in. The matrix is triangular: an entry depends on
 * those behind it (`back`), or on those before it. */
static void halve(const struct pieces_table *table, const struct piece *piece, int d, int which,
                  const double *in, double *out) {
    const int n = piece->counts[d];
    const double *half = table->halves + (2 * piece->bernstein + which) * table->n * table->n;
    const int back = piece->bernstein && which == 0;
    int64_t inner = 1, outer = 1;
    for (int e = 0; e < d; e++) inner *= piece->counts[e];
    for (int e = d + 1; e < 3; e++) outer *= piece->counts[e];
    for (int64_t o = 0; o < outer; o++, in += n * inner, out += n * inner)
        for (int row = 0; row < n; row++) {
            const int i = back ? n - 1 - row : row, first = back ? 0 : i + 1, end = back ? i : n;
            double *to = out + i * inner;
            for (int64_t r = 0; r < inner; r++) to[r] = half[i * (table->n + 1)] * in[i * inner + r];
            for (int j = first; j < end; j++) {
                const double factor = half[i * table->n + j], *from = in + j * inner;
                for (int64_t r = 0; r < inner; r++) to[r] += factor * from[r];
            }
        }
}

static void halve_box(struct piece *piece, int d, int which) {
    const double middle = 0.5 * (piece->lower[d] + piece->upper[d]);
    (which ? piece->lower : piece->upper)[d] = middle;
}

/* The piece becomes its side where y = end (1 or -1), that is, where t is the least or the greatest. */
static void take_side(struct piece *piece, int d, double end, double *c) {
    const int n = piece->counts[d];
    int64_t inner = 1, outer = 1;
    for (int e = 0; e < d; e++) inner *= piece->counts[e];
    for (int e = d + 1; e < 3; e++) outer *= piece->counts[e];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t r = 0; r < inner; r++) {
            const double *from = c + o * n * inner + r;
            double sum = 0.0, sign = 1.0;
            for (int i = 0; i < n && !piece->bernstein; i++, sign *= end) sum += sign * from[i * inner];
            if (piece->bernstein) sum = from[(end > 0.0 ? 0 : n - 1) * inner];
            c[o * inner + r] = sum;
        }
    if (end > 0.0)
        piece->upper[d] = piece->lower[d];
    else
        piece->lower[d] = piece->upper[d];
    piece->counts[d] = 1;
}

/* ------------------------------------------------------------------------------ bounds */

/* The greatest |T_i'| and |T_i''| are i^2 and i^2 (i^2 - 1)/3. */
static void find_all(const struct piece *piece, const double *c, struct bounds *b) {
    const int *n = piece->counts;
    const double *from = c;
    memset(b, 0, sizeof *b);
    b->constant = c[0];
    for (int k = 0; k < n[2]; k++)
        for (int j = 0; j < n[1]; j++) {
            const double kk = (double)k * k, jj = (double)j * j;
            double size = 0.0, first = 0.0, twice = 0.0;
            for (int i = 0; i < n[0]; i++) {
                const double a = fabs(*from++), ii = (double)i * i;
                size += a;
                first += a * ii;
                twice += a * ii * (ii - 1.0);
            }
            b->reach += size;
            b->slope_off[0] += first;
            b->slope_off[1] += jj * size;
            b->slope_off[2] += kk * size;
            b->bend_off[0][0] += twice / 3.0;
            b->bend_off[1][1] += jj * (jj - 1.0) / 3.0 * size;
            b->bend_off[2][2] += kk * (kk - 1.0) / 3.0 * size;
            b->bend_off[0][1] += jj * first;
            b->bend_off[0][2] += kk * first;
            b->bend_off[1][2] += jj * kk * size;
        }
    b->reach -= fabs(c[0]);
    const int64_t steps[3] = {1, n[0], (int64_t)n[0] * n[1]};
    for (int d = 0; d < 3; d++) {
        if (n[d] > 1) b->slope[d] = c[steps[d]];
        b->slope_off[d] -= fabs(b->slope[d]);
        if (n[d] > 2) b->bend[d][d] = 4.0 * c[2 * steps[d]];
        b->bend_off[d][d] -= fabs(b->bend[d][d]);
        for (int e = d + 1; e < 3; e++) {
            if (n[d] > 1 && n[e] > 1) b->bend[d][e] = b->bend[e][d] = c[steps[d] + steps[e]];
            b->bend_off[d][e] -= fabs(b->bend[d][e]);
            b->bend_off[e][d] = b->bend_off[d][e];
        }
    }
}

/* The middle and half the length of the range of differences of Bernstein coefficients: of the first ones
 * along d (e < 0), or the second ones along d and e. */
static void find_differences(const struct piece *piece, const double *c, int d, int e, double *middle,
                             double *half) {
    const int64_t steps[3] = {1, piece->counts[0], (int64_t)piece->counts[0] * piece->counts[1]};
    int counts[3] = {piece->counts[0], piece->counts[1], piece->counts[2]};
    double least = INFINITY, most = -INFINITY;
    *middle = *half = 0.0;
    counts[d]--;
    if (e >= 0) counts[e]--;
    if (counts[d] < 1 || (e >= 0 && counts[e] < 1)) return;
    const int64_t first = steps[d], other = e < 0 ? 0 : steps[e];
    for (int k = 0; k < counts[2]; k++)
        for (int j = 0; j < counts[1]; j++) {
            const double *from = c + k * steps[2] + j * steps[1];
            for (int i = 0; i < counts[0]; i++, from++) {
                const double rise = from[first] - from[0],
                             v = e < 0 ? rise : from[first + other] - from[other] - rise;
                least = v < least ? v : least;
                most = v > most ? v : most;
            }
        }
    *middle = 0.5 * (most + least);
    *half = 0.5 * (most - least);
}

static void find_values(const struct piece *piece, const double *c, struct bounds *b) {
    const int64_t n = (int64_t)piece->counts[0] * piece->counts[1] * piece->counts[2];
    double most = c[0];
    if (!piece->bernstein) {
        find_all(piece, c, b);
        return;
    }
    for (int64_t i = 1; i < n; i++) most = c[i] > most ? c[i] : most;
    b->constant = most;
    b->reach = 0.0;
}

/* In y, which falls from 1 to -1 as t rises by the size of the piece. */
static void find_slopes(const struct piece *piece, const double *c, struct bounds *b) {
    for (int d = 0; d < 3 && piece->bernstein; d++) {
        find_differences(piece, c, d, -1, &b->slope[d], &b->slope_off[d]);
        b->slope[d] *= -0.5 * (piece->counts[d] - 1);
        b->slope_off[d] *= 0.5 * (piece->counts[d] - 1);
    }
}

static void find_bends(const struct piece *piece, const double *c, struct bounds *b) {
    for (int d = 0; d < 3 && piece->bernstein; d++)
        for (int e = 0; e <= d; e++) {
            const int degree = piece->counts[d] - 1, other = d == e ? degree - 1 : piece->counts[e] - 1;
            find_differences(piece, c, d, e, &b->bend[d][e], &b->bend_off[d][e]);
            b->bend[e][d] = b->bend[d][e] *= 0.25 * degree * other;
            b->bend_off[e][d] = b->bend_off[d][e] *= 0.25 * degree * other;
        }
}

/* Whether no second derivative of the piece in any direction exceeds `most`: whether most - bend, less the
 * norm of what it may be off, is positive definite. */
static int is_concave(const struct bounds *b, double most) {
    double off = 0.0, L[3][3];
    for (int d = 0; d < 3; d++) off = fmax(off, b->bend_off[d][0] + b->bend_off[d][1] + b->bend_off[d][2]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            double sum = (i == j ? most - off : 0.0) - b->bend[i][j];
            for (int k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
            if (i == j && !(sum > 0.0)) return 0;
            L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
        }
    return 1;
}

/* ------------------------------------------------------------------------------ the search */

struct hunt {
    const struct pieces_table *table;
    const struct pieces_goal *goal;
    double most, t[3];
};

/* What a piece must exceed. */
static double bar_of(const struct hunt *h) {
    return fmax(h->most + h->goal->enough, h->goal->low);
}

/* Climbs within the piece from its middle. Returns how much more than the value there a concave polynomial
 * may have in the piece. */
static double climb_within(struct hunt *h, const struct piece *piece, double *value) {
    double t[3] = {0}, slope[3], more = 0.0;
    for (int d = 0; d < h->table->dim; d++) t[d] = 0.5 * (piece->lower[d] + piece->upper[d]);
    *value = h->goal->climb(h->goal->user, piece->lower, piece->upper, t, slope);
    for (int d = 0; d < h->table->dim; d++)
        more += fmax(fmax(slope[d] * (piece->upper[d] - t[d]), slope[d] * (piece->lower[d] - t[d])), 0.0);
    if (*value > h->most + 0.01 * h->goal->enough) {
        h->most = *value;
        memcpy(h->t, t, (size_t)h->table->dim * sizeof *t);
    }
    return more;
}

/* Leaves of a piece the side on which its maximum lies. Returns 0 where it lies between this piece and
 * another one, and is none. *sides: there is a side. */
static int reduce(struct piece *piece, const struct bounds *b, double *c, int *sides) {
    *sides = 0;
    for (int d = 0; d < 3; d++) {
        if (piece->counts[d] == 1 || !(fabs(b->slope[d]) > b->slope_off[d])) continue;
        const int at_lower = b->slope[d] > 0.0; /* y falls as t rises */
        if (at_lower ? piece->lower[d] > 0.0 : piece->upper[d] < 1.0) return 0;
        take_side(piece, d, at_lower ? 1.0 : -1.0, c);
        *sides = 1;
    }
    return 1;
}

/* The direction in which the slopes may change most. */
static int choose_axis(const struct piece *piece, const struct bounds *b) {
    int axis = -1;
    double most = -1.0;
    for (int d = 0; d < 3; d++) {
        double change = 0.0;
        for (int e = 0; e < 3; e++) change += fabs(b->bend[d][e]) + b->bend_off[d][e];
        if (piece->counts[d] == 1 || !(change > most)) continue;
        most = change;
        axis = d;
    }
    return axis;
}

/* Whether a piece is to be halved, along *axis. */
static int is_open(struct hunt *h, struct piece *piece, double *c, int *axis) {
    const double enough = h->goal->enough;
    struct bounds b;
    int sides = 1;
    while (sides) {
        find_values(piece, c, &b);
        if (!(b.constant + b.reach > bar_of(h))) return 0;
        find_slopes(piece, c, &b);
        if (!reduce(piece, &b, c, &sides)) return 0;
    }
    find_bends(piece, c, &b);
    if (is_concave(&b, enough / 16.0)) {
        double value;
        const double more = climb_within(h, piece, &value);
        if (value + more + 0.5 * enough <= bar_of(h)) return 0;
    }
    *axis = choose_axis(piece, &b);
    return *axis >= 0;
}

/* Makes Bernstein coefficients of those of Chebyshev of a piece, in place; work: twice as many numbers.
 * *bound: the polynomial is not greater. Returns 0, and leaves them, where they are so large that rounding in
 * them counts. */
static int to_bernstein(const struct pieces_table *table, const int *counts, double enough, double *c,
                        double *work, double *bound) {
    const int n = table->n;
    const int64_t size = (int64_t)counts[0] * counts[1] * counts[2];
    const double *factors = table->halves + 4 * n * n;
    double *to = work + size, most = -INFINITY, largest = 0.0;
    if (n - 1 > PIECES_MOST_BERNSTEIN) return 0;
    memcpy(work, c, (size_t)size * sizeof *c);
    int64_t inner = 1;
    for (int d = 0; d < 3; inner *= counts[d++]) {
        if (counts[d] == 1) continue;
        for (int64_t first = 0; first < size; first += n * inner)
            for (int i = 0; i < n; i++)
                for (int64_t r = 0; r < inner; r++) {
                    double sum = 0.0;
                    for (int j = 0; j < n; j++) sum += factors[i * n + j] * work[first + j * inner + r];
                    to[first + i * inner + r] = sum;
                }
        memcpy(work, to, (size_t)size * sizeof *work);
    }
    for (int64_t i = 0; i < size; i++) {
        most = fmax(most, work[i]);
        largest = fmax(largest, fabs(work[i]));
    }
    if (!(4e-16 * largest <= 0.25 * enough)) return 0;
    *bound = fmin(*bound, most);
    memcpy(c, work, (size_t)size * sizeof *c);
    return 1;
}

int pieces_prepare(const struct pieces_table *table, double enough, double *c, double *bound) {
    const int64_t size = size_of(table);
    const int counts[3] = {table->n, table->dim > 1 ? table->n : 1, table->dim > 2 ? table->n : 1};
    *bound = c[0];
    for (int64_t i = 1; i < size; i++) *bound += fabs(c[i]);
    return to_bernstein(table, counts, enough, c, c + size, bound);
}

/* How many pieces are looked at before the search gives up: fewer where each has many coefficients. */
static int64_t count_most(const struct pieces_table *table) {
    const int64_t most = WORK / (size_of(table) * table->n);
    return most < LEAST_PIECES ? LEAST_PIECES : most < MOST_PIECES ? most : MOST_PIECES;
}

int pieces_search(const struct pieces_table *table, const struct pieces_goal *goal, int bernstein,
                  double *room, double *most, double *t) {
    const int64_t size = size_of(table);
    const int slots = count_slots(table);
    const int64_t most_pieces = count_most(table);
    struct hunt h = {table, goal, *most, {0}};
    struct piece stack[3 * MOST_HALVINGS + 1] = {0};
    int n = 1, proven = 1;
    for (int d = 0; d < 3; d++) {
        stack[0].upper[d] = d < table->dim;
        stack[0].counts[d] = d < table->dim ? table->n : 1;
    }
    stack[0].bernstein = bernstein;
    for (int count = 0; n > 0; count++) {
        struct piece *piece = &stack[n - 1], *other = &stack[n];
        double *c = room + (n - 1) * size, value;
        int axis;
        if (!is_open(&h, piece, c, &axis)) {
            n--;
        } else if (n == slots || count >= most_pieces) {
            climb_within(&h, piece, &value);
            proven = 0;
            n--;
        } else {
            double unused = INFINITY;
            if (!piece->bernstein && n + 2 <= slots)
                piece->bernstein = to_bernstein(table, piece->counts, goal->enough, c, c + size, &unused);
            *other = *piece;
            halve(table, piece, axis, 1, c, c + size);
            halve(table, piece, axis, 0, c, c);
            halve_box(other, axis, 1);
            halve_box(piece, axis, 0);
            n++;
        }
    }
    if (h.most > *most) {
        *most = h.most;
        memcpy(t, h.t, (size_t)table->dim * sizeof *t);
    }
    return proven;
}
