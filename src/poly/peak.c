/* The greatest value of a polynomial over the unit cube. */
#include "poly/peak.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/hull.h"

/* Bernstein coefficients of higher degree are far from the polynomial, and take long. */
#define MOST_HULL 8

void peak_point(enum shape shape, const double *t, double *xi) {
    for (int d = shape_dim(shape) - 1; d >= 0; d--) {
        xi[d] = 0.0;
        xi[d] = t[d] * shape_room(shape, d, xi);
    }
}

static int64_t power(int64_t n, int dim) {
    int64_t all = 1;
    for (int d = 0; d < dim; d++) all *= n;
    return all;
}

/* (degree + 1) x (n + 1): coefficients of Chebyshev polynomials of at most this degree from values at the
 * points whose 1 - 2 t is cos(j pi/n). */
static void fill_coefficients(int degree, int n, double *to) {
    const double pi = acos(-1.0);
    for (int i = 0; i <= degree; i++)
        for (int j = 0; j <= n; j++) {
            const double half = (i == 0 || i == n ? 0.5 : 1.0) * (j == 0 || j == n ? 0.5 : 1.0);
            to[i * (n + 1) + j] = 2.0 / n * half * cos(pi * (i * j % (2 * n)) / n);
        }
}

facet_status peak_table_create(int dim, int degree, int squares, struct peak_table *table) {
    facet_status status = FACET_OK;
    const double pi = acos(-1.0);
    const int n = degree + 1, resolved = (squares ? 3 : 2) * degree, fine = resolved < 6 ? 6 : resolved,
              sought = (squares ? 2 : 1) * degree;
    *table = (struct peak_table){.dim = dim, .degree = degree, .fine = fine};
    TRY(ALLOC(table->coefficients, n * n));
    TRY(ALLOC(table->values, (fine + 1) * n));
    TRY(ALLOC(table->points, n));
    TRY(ALLOC(table->sums, (sought + 1) * (fine + 1)));
    TRY(pieces_table_create(dim, sought, &table->pieces));
    fill_coefficients(degree, degree, table->coefficients);
    if (squares && degree <= MOST_HULL) {
        TRY(ALLOC(table->bernstein, n * n));
        pieces_fill_bernstein(n, table->bernstein);
    }
    fill_coefficients(sought, fine, table->sums);
    for (int p = 0; p <= fine; p++)
        for (int i = 0; i < n; i++) table->values[p * n + i] = cos(pi * (i * p % (2 * fine)) / fine);
    for (int j = 0; j < n; j++) table->points[j] = pow(sin(0.5 * pi * j / degree), 2);
    for (int j = 0; j < 3; j++) table->near[j] = pow(sin(0.5 * pi * (j + 1) / fine), 2);
done:
    if (status != FACET_OK) peak_table_destroy(table);
    return status;
}

void peak_table_destroy(struct peak_table *table) {
    base_free(&table->coefficients);
    base_free(&table->values);
    base_free(&table->points);
    base_free(&table->bernstein);
    base_free(&table->sums);
    pieces_table_destroy(&table->pieces);
    *table = (struct peak_table){0};
}

int peak_sample_order(int degree, int cheap) {
    const int wanted = 2 * degree < cheap ? 2 * degree : cheap,
              least = degree + (degree < 8 ? 2 : degree / 4);
    return wanted > least ? wanted : least;
}

double peak_reach(enum shape shape, int degree, int order) {
    static const double triangles[] = {1.0, 1.4, 1.5, 1.6, 1.7, 1.9, 2.3, 2.7, 2.8,
                                       3.1, 3.4, 2.9, 3.1, 3.3, 3.5, 3.2, 3.4};
    static const double tets[] = {1.0, 1.4, 1.5, 1.8, 2.0, 2.4, 3.0, 4.2, 4.6,
                                  5.8, 6.8, 6.2, 6.3, 7.0, 8.0, 8.0, 8.0};
    static const double pyramids[] = {1.0, 1.5, 1.8, 2.2, 2.5, 3.2, 3.3, 5.5, 6.0,
                                      7.0, 8.0, 8.0, 8.5, 9.0, 9.5, 10., 10.};
    const int last = (int)(sizeof tets / sizeof *tets), row = (degree < last ? degree : last) - 1;
    const double line = order < 2 * degree ? 2.15 : degree <= 5 ? 1.25 : degree <= 16 ? 1.33 : 1.42;
    switch (shape) {
    case SHAPE_TRIANGLE:
        return triangles[row];
    case SHAPE_PRISM:
        return triangles[row] * line;
    case SHAPE_TET:
        return tets[row];
    case SHAPE_PYRAMID:
        return pyramids[row];
    default:
        return pow(line, shape_dim(shape));
    }
}

int64_t peak_n_points(const struct peak_table *table) {
    return power(table->degree + 1, table->dim);
}

void peak_points(const struct peak_table *table, enum shape shape, double *xi) {
    const int n = table->degree + 1;
    const int64_t all = peak_n_points(table);
    for (int64_t i = 0; i < all; i++) {
        double t[3];
        int64_t rest = i;
        for (int d = 0; d < table->dim; d++, rest /= n) t[d] = table->points[rest % n];
        peak_point(shape, t, xi + i * table->dim);
    }
}

int64_t peak_scratch(const struct peak_table *table, int n) {
    return n * peak_n_points(table) + 4 * power(table->fine + 1, table->dim) + pieces_room(&table->pieces);
}

/* ------------------------------------------------------------------------------ tensor products */

/* out[o][i][r] = sum_q T[i][q] in[o][q][r]. */
static void contract(int64_t outer, int n_out, int n_in, int64_t inner, const double *T, const double *in,
                     double *out) {
    memset(out, 0, (size_t)(outer * n_out * inner) * sizeof *out);
    for (int64_t o = 0; o < outer; o++, in += n_in * inner)
        for (int i = 0; i < n_out; i++, out += inner)
            for (int q = 0; q < n_in; q++) {
                const double factor = T[i * n_in + q], *from = in + q * inner;
                for (int64_t r = 0; r < inner; r++) out[r] += factor * from[r];
            }
}

/* In all directions, to `out`; work: as large as the larger of both. The last direction goes first, since its
 * lines are long. */
static void contract_all(int dim, int n_out, int n_in, const double *T, const double *in, double *work,
                         double *out) {
    const double *from = in;
    for (int d = dim - 1; d >= 0; d--) {
        double *to = d % 2 == 0 ? out : work;
        contract(power(n_out, dim - 1 - d), n_out, n_in, power(n_in, d), T, from, to);
        from = to;
    }
}

/* ------------------------------------------------------------------------------ values and slopes */

enum { N_JET = 10 }; /* value, 3 first derivatives, second ones 00 01 11 02 12 22 */
static int second(int a, int b) {
    return 4 + (a > b ? a * (a + 1) / 2 + b : b * (b + 1) / 2 + a);
}

/* Chebyshev polynomials in 1 - 2 t: values, first and second derivatives by t. */
static void make_rows(int n, double t, double rows[3][PEAK_MAX_DEGREE + 1]) {
    const double y = 1.0 - 2.0 * t;
    for (int i = 0; i < n; i++) {
        const int before = i < 2 ? 0 : i - 2;
        rows[0][i] = i == 0 ? 1.0 : i == 1 ? y : 2.0 * y * rows[0][i - 1] - rows[0][before];
        rows[1][i] = i == 0   ? 0.0
                     : i == 1 ? -2.0
                              : 2.0 * y * rows[1][i - 1] - 4.0 * rows[0][i - 1] - rows[1][before];
        rows[2][i] = i < 2 ? 0.0 : 2.0 * y * rows[2][i - 1] - 8.0 * rows[1][i - 1] - rows[2][before];
    }
}

struct search {
    const struct peak_table *table;
    const struct peak_goal *goal;
    const double *coefficients; /* n x points */
};

/* The jet of one polynomial. Missing directions have one function, the constant. */
static void jet_of(const int counts[3], double rows[3][3][PEAK_MAX_DEGREE + 1], const double *c,
                   double jet[N_JET]) {
    memset(jet, 0, N_JET * sizeof *jet);
    for (int k = 0; k < counts[2]; k++) {
        double plane[6] = {0}; /* 00 10 01 20 11 02 */
        for (int j = 0; j < counts[1]; j++) {
            double line[3] = {0};
            for (int i = 0; i < counts[0]; i++, c++)
                for (int a = 0; a < 3; a++) line[a] += *c * rows[0][a][i];
            plane[0] += line[0] * rows[1][0][j];
            plane[1] += line[1] * rows[1][0][j];
            plane[2] += line[0] * rows[1][1][j];
            plane[3] += line[2] * rows[1][0][j];
            plane[4] += line[1] * rows[1][1][j];
            plane[5] += line[0] * rows[1][2][j];
        }
        for (int i = 0; i < 3; i++) jet[i] += plane[i] * rows[2][0][k];
        for (int i = 3; i < 6; i++) jet[i + 1] += plane[i] * rows[2][0][k];
        jet[3] += plane[0] * rows[2][1][k];
        jet[7] += plane[1] * rows[2][1][k];
        jet[8] += plane[2] * rows[2][1][k];
        jet[9] += plane[0] * rows[2][2][k];
    }
}

/* The jet of what is sought. */
static void make_jet(const struct search *s, const double t[3], double jet[N_JET]) {
    const int n = s->table->degree + 1;
    const int64_t size = peak_n_points(s->table);
    int counts[3];
    double rows[3][3][PEAK_MAX_DEGREE + 1], one[N_JET], sign = s->goal->sign;
    for (int d = 0; d < 3; d++) {
        counts[d] = d < s->table->dim ? n : 1;
        make_rows(counts[d], d < s->table->dim ? t[d] : 0.0, rows[d]);
    }
    memset(jet, 0, N_JET * sizeof *jet);
    for (int p = 0; p < s->goal->n; p++) {
        jet_of(counts, rows, s->coefficients + p * size, one);
        if (!s->goal->squares) {
            for (int i = 0; i < N_JET; i++) jet[i] = sign * one[i];
            continue;
        }
        jet[0] += sign * one[0] * one[0];
        for (int a = 0; a < 3; a++) {
            jet[1 + a] += sign * 2.0 * one[0] * one[1 + a];
            for (int b = 0; b <= a; b++)
                jet[second(a, b)] += sign * 2.0 * (one[1 + a] * one[1 + b] + one[0] * one[second(a, b)]);
        }
    }
}

/* ------------------------------------------------------------------------------ Newton */

/* step = (shift - H)^-1 g in the n free directions; 0: that matrix is not positive definite. */
static int solve(int n, const int *free, const double *jet, double shift, double *step) {
    double L[3][3];
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = (i == j ? shift : 0.0) - jet[second(free[i], free[j])];
            for (int k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
            if (i == j && !(sum > 0.0)) return 0;
            L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
        }
    for (int i = 0; i < n; i++) {
        step[i] = jet[1 + free[i]];
        for (int k = 0; k < i; k++) step[i] -= L[i][k] * step[k];
        step[i] /= L[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) step[i] -= L[k][i] * step[k];
        step[i] /= L[i][i];
    }
    return 1;
}

/* Where climbs end. */
struct box {
    const double *lower, *upper;
};

/* The directions in which it goes uphill from t within the box; *scale: their largest derivative. */
static int find_free(int dim, const struct box *box, const double *t, const double *jet, int *free,
                     double *scale) {
    int n = 0;
    *scale = 0.0;
    for (int d = 0; d < dim; d++) {
        if ((t[d] <= box->lower[d] && jet[1 + d] <= 0.0) || (t[d] >= box->upper[d] && jet[1 + d] >= 0.0))
            continue;
        if (!(box->upper[d] > box->lower[d])) continue;
        free[n++] = d;
        *scale = fmax(*scale, fmax(fabs(jet[second(d, d)]), fabs(jet[1 + d])));
    }
    return n;
}

/* A step uphill in the directions that the faces at hand leave free; returns what it promises. Newton's step
 * may lead out of a face that its slope leads away from, and what the face leaves of it may go downhill: then
 * `by_slope` asks for a step along the slope. */
static double find_step(int dim, const struct box *box, const double *t, const double *jet, int by_slope,
                        double step[3]) {
    int free[3];
    double some[3], scale, promise = 0.0;
    const int n = find_free(dim, box, t, jet, free, &scale);
    for (int d = 0; d < dim; d++) step[d] = 0.0;
    if (n == 0 || !(scale > 0.0)) return 0.0;
    int solved = by_slope ? 0 : solve(n, free, jet, 0.0, some);
    for (int i = 0; i < n && by_slope; i++, solved = 1) some[i] = jet[1 + free[i]] / scale;
    for (double shift = 1e-6 * scale; !solved && shift < 1e3 * scale; shift *= 4.0)
        solved = solve(n, free, jet, shift, some);
    if (!solved) return 0.0;
    for (int i = 0; i < n; i++) {
        step[free[i]] = some[i];
        promise += 0.5 * some[i] * jet[1 + free[i]];
    }
    return promise;
}

/* The slope that remains in the directions that are free. */
static double rest_of(int dim, const struct box *box, const double *t, const double *jet) {
    int free[3];
    double scale, rest = 0.0;
    const int n = find_free(dim, box, t, jet, free, &scale);
    for (int i = 0; i < n; i++) rest = fmax(rest, fabs(jet[1 + free[i]]));
    return rest;
}

/* Goes along a step as far as it leads uphill, or, where rounding hides that, to where it is flatter. Returns
 * 0 if it does nowhere. */
static int walk(const struct search *s, const struct box *box, const double *step, double promise,
                double t[3], double jet[N_JET]) {
    enum { MOST_HALVINGS = 30 };
    const int dim = s->table->dim, is_small = promise < s->goal->slack;
    double length = 1.0, next[3] = {0}, there[N_JET];
    for (int k = 0; k < MOST_HALVINGS; k++, length *= 0.5) {
        for (int d = 0; d < dim; d++)
            next[d] = fmin(fmax(t[d] + length * step[d], box->lower[d]), box->upper[d]);
        make_jet(s, next, there);
        const int flatter = is_small && there[0] >= jet[0] - 1e-15 * fabs(jet[0]) - 0.01 * s->goal->slack &&
                            rest_of(dim, box, next, there) < 0.25 * rest_of(dim, box, t, jet);
        if (there[0] > jet[0] || flatter) {
            memcpy(t, next, sizeof next);
            memcpy(jet, there, sizeof there);
            return 1;
        }
        if (is_small) return 0;
    }
    return 0;
}

/* Whether a face of the box cuts a step short. */
static int is_cut(int dim, const struct box *box, const double *t, const double *step) {
    for (int d = 0; d < dim; d++)
        if (t[d] + step[d] < box->lower[d] || t[d] + step[d] > box->upper[d]) return 1;
    return 0;
}

/* From t uphill. jet: that of the point where it ends. */
static void climb(const struct search *s, const struct box *box, double t[3], double jet[N_JET]) {
    enum { MOST_STEPS = 60 };
    const int dim = s->table->dim;
    double step[3];
    make_jet(s, t, jet);
    for (int i = 0; i < MOST_STEPS; i++) {
        double promise = find_step(dim, box, t, jet, 0, step);
        if (promise > 1e-17 * fabs(jet[0]) && walk(s, box, step, promise, t, jet)) continue;
        if (!is_cut(dim, box, t, step)) break;
        promise = find_step(dim, box, t, jet, 1, step);
        if (!(promise > s->goal->slack) || !walk(s, box, step, promise, t, jet)) break;
    }
}

/* For pieces of the cube. */
static double climb_piece(const void *user, const double *lower, const double *upper, double *t,
                          double *slope) {
    const struct box box = {lower, upper};
    double jet[N_JET];
    climb(user, &box, t, jet);
    memcpy(slope, jet + 1, 3 * sizeof *slope);
    return jet[0];
}

/* ------------------------------------------------------------------------------ the search */

/* A magnitude is at least its part in the direction of the constant c_0: |c_0| - sum of |c_0 . c_i| / |c_0|,
 * and at most |c_0| + sum of |c_i|. */
static double bound_magnitude(const struct search *s) {
    const int64_t size = peak_n_points(s->table);
    const int n = s->goal->n;
    const double *c = s->coefficients;
    double constant = 0.0, reach = 0.0;
    for (int p = 0; p < n; p++) constant += c[p * size] * c[p * size];
    constant = sqrt(constant);
    for (int64_t i = 1; i < size; i++) {
        double square = 0.0, along = 0.0;
        for (int p = 0; p < n; p++) {
            square += c[p * size + i] * c[p * size + i];
            along += c[p * size + i] * c[p * size];
        }
        reach += s->goal->sign > 0.0 ? sqrt(square) : constant > 0.0 ? fabs(along) / constant : 0.0;
    }
    return s->goal->sign > 0.0 ? pow(constant + reach, 2) : -pow(fmax(constant - reach, 0.0), 2);
}

/* The values of polynomials lie in the convex hull of their Bernstein coefficients, where a magnitude is
 * greatest at one of these. work: three times as large as all coefficients. */
static double bound_hull(const struct search *s, double *work) {
    const struct peak_table *table = s->table;
    const int64_t size = peak_n_points(table);
    const int n = s->goal->n;
    double *hull = work + size, *room = hull + n * size, x[HULL_MOST], most = 0.0;
    for (int p = 0; p < n; p++)
        contract_all(table->dim, table->degree + 1, table->degree + 1, table->bernstein,
                     s->coefficients + p * size, work, hull + p * size);
    if (s->goal->sign < 0.0)
        return -pow(hull_distance(n, (int)size, hull, sqrt(fmax(-s->goal->low, 0.0)), room, x), 2);
    for (int64_t i = 0; i < size; i++) {
        double square = 0.0;
        for (int p = 0; p < n; p++) square += hull[p * size + i] * hull[p * size + i];
        most = fmax(most, square);
    }
    return most * (1.0 + 1e-13);
}

/* What is sought is at most this, by the coefficients. */
static double bound(const struct search *s) {
    const int64_t size = peak_n_points(s->table);
    const double *c = s->coefficients;
    double reach = 0.0;
    if (s->goal->squares) return bound_magnitude(s);
    for (int64_t i = 1; i < size; i++) reach += fabs(c[i]);
    return s->goal->sign * c[0] + reach;
}

/* What is sought, on the finer grid. */
static void fill_grid(const struct search *s, double *work, double *grid) {
    const struct peak_table *table = s->table;
    const int64_t size = peak_n_points(table), all = power(table->fine + 1, table->dim);
    double *one = work + all;
    memset(grid, 0, (size_t)all * sizeof *grid);
    for (int p = 0; p < s->goal->n; p++) {
        contract_all(table->dim, table->fine + 1, table->degree + 1, table->values,
                     s->coefficients + p * size, work, one);
        for (int64_t i = 0; i < all; i++)
            grid[i] += s->goal->sign * (s->goal->squares ? one[i] * one[i] : one[i]);
    }
}

/* What there may be to gain at an end of a line: nothing where the slope there is negative, by the next two
 * points and by the next three, whose difference counts as its error. */
static double gain_at_end(const struct peak_table *table, const double *here, int64_t step) {
    double slopes[3];
    const double *t = table->near;
    for (int i = 0; i < 3; i++) slopes[i] = (here[(i + 1) * step] - *here) / t[i];
    const double bend = (slopes[1] - slopes[0]) / (t[1] - t[0]),
                 next = (slopes[2] - slopes[1]) / (t[2] - t[1]);
    const double rise = slopes[0] - bend * t[0], other = rise + (next - bend) / (t[2] - t[0]) * t[0] * t[1];
    return fmax(fmax(rise, other) + fabs(rise - other), 0.0) * t[0];
}

/* Whether a point of the grid is a local maximum, and how much more there may be around it: by the bend of
 * its lines. Equal neighbours all are: where a face of the cube has become a vertex, they look into different
 * directions. */
static int is_top(const struct search *s, const double *grid, int64_t i, double *gain) {
    const struct peak_table *table = s->table;
    const double here = grid[i] + s->goal->slack;
    const int n = table->fine + 1;
    int64_t step = 1;
    *gain = 0.0;
    for (int d = 0; d < table->dim; d++, step *= n) {
        const int64_t at = i / step % n;
        if ((at > 0 && grid[i - step] > here) || (at < n - 1 && grid[i + step] > here)) return 0;
        if (at == 0 || at == n - 1)
            *gain += gain_at_end(table, grid + i, at == 0 ? step : -step);
        else
            *gain += 0.5 * fmax(2.0 * grid[i] - grid[i - step] - grid[i + step], 0.0);
    }
    return 1;
}

enum { MOST_STARTS = 32 };
struct start {
    int64_t at;
    double value, gain;
};

static double promised(const struct start *start) {
    return start->value + start->gain;
}

/* The local maxima of the grid, those with the highest hopes first. */
static int find_starts(const struct search *s, const double *grid, struct start *starts) {
    const int64_t all = power(s->table->fine + 1, s->table->dim);
    int n = 0;
    for (int64_t i = 0; i < all; i++) {
        struct start start = {.at = i, .value = grid[i]};
        int k;
        if (!is_top(s, grid, i, &start.gain)) continue;
        if (n == MOST_STARTS && !(promised(&start) > promised(&starts[n - 1]))) continue;
        if (n < MOST_STARTS) n++;
        for (k = n - 1; k > 0 && promised(&starts[k - 1]) < promised(&start); k--) starts[k] = starts[k - 1];
        starts[k] = start;
    }
    return n;
}

/* The largest of what climbs from the local maxima of the grid find. */
static void climb_from_grid(const struct search *s, const double *grid, double *most, double t[3]) {
    const struct peak_table *table = s->table;
    const struct peak_goal *goal = s->goal;
    const double zero[3] = {0}, one[3] = {1.0, 1.0, 1.0};
    const struct box cube = {zero, one};
    struct start starts[MOST_STARTS];
    const int n = find_starts(s, grid, starts);
    int64_t first = 0;
    for (int k = 0; k < n; k++) {
        double from[3] = {0}, jet[N_JET] = {starts[k].value};
        int64_t rest = starts[k].at;
        if (!(promised(&starts[k]) >= fmax(*most - goal->tie, goal->low))) continue;
        for (int d = 0; d < table->dim; d++, rest /= table->fine + 1)
            from[d] = pow(sin(0.5 * acos(-1.0) * (double)(rest % (table->fine + 1)) / table->fine), 2);
        if (*most == -INFINITY || starts[k].gain > goal->slack) climb(s, &cube, from, jet);
        const int tied = fabs(jet[0] - *most) <= goal->tie;
        if (tied ? starts[k].at < first : jet[0] > *most) {
            first = starts[k].at;
            memcpy(t, from, sizeof from);
        }
        *most = fmax(*most, jet[0]);
    }
}

/* Coefficients of what is sought, by its values on the grid where it is a sum of squares. Returns the sum of
 * their sizes. */
static double fill_sought(const struct search *s, const double *grid, double *work, double *to) {
    const struct peak_table *table = s->table;
    const int64_t size = power(table->pieces.n, table->dim);
    double scale = 0.0;
    if (s->goal->squares)
        contract_all(table->dim, table->pieces.n, table->fine + 1, table->sums, grid, work, to);
    else
        for (int64_t i = 0; i < size; i++) to[i] = s->goal->sign * s->coefficients[i];
    for (int64_t i = 0; i < size; i++) scale += fabs(to[i]);
    return scale;
}

/* What is sought, by climbs from the grid and then by pieces. room: that of pieces. */
static void find_most(const struct search *s, double *work, double *grid, double *room, double *most,
                      double t[3]) {
    const struct peak_table *table = s->table;
    const int squares = s->goal->squares;
    double bound;
    if (squares) fill_grid(s, work, grid);
    const double scale = fill_sought(s, grid, work, room);
    const struct pieces_goal goal = {.low = s->goal->low,
                                     .enough = fmax(0.5 * s->goal->tie, 4e-15 * scale),
                                     .climb = climb_piece,
                                     .user = s};
    const int bernstein = pieces_prepare(&table->pieces, goal.enough, room, &bound);
    if (!(bound >= goal.low - goal.enough)) return;
    if (!squares) fill_grid(s, work, grid);
    climb_from_grid(s, grid, most, t);
    if (s->goal->quick) return;
    /* Squares are positive: where zero, up to rounding, is known or asked for, there is nothing to prove. */
    if (squares && s->goal->sign < 0.0 && fmax(*most, goal.low) + goal.enough >= 0.0) return;
    pieces_search(&table->pieces, &goal, bernstein, room, most, t);
}

void peak_find(const struct peak_table *table, const struct peak_goal *goal, const double *values,
               double *scratch, double *most, double t[3]) {
    const int64_t size = peak_n_points(table), all = power(table->fine + 1, table->dim);
    double *work = scratch + goal->n * size, *grid = work + 2 * all, *plain = work + 3 * all;
    struct search s = {table, goal, scratch};
    *most = -INFINITY;
    for (int p = 0; p < goal->n; p++) {
        for (int64_t i = 0; i < size; i++) plain[i] = values[i * goal->n + p];
        contract_all(table->dim, table->degree + 1, table->degree + 1, table->coefficients, plain, work,
                     scratch + p * size);
    }
    if (!(bound(&s) >= goal->low)) return;
    if (table->bernstein != NULL && goal->n <= HULL_MOST && !(bound_hull(&s, work) >= goal->low)) return;
    find_most(&s, work, grid, work + 4 * all, most, t);
    if (!(*most >= goal->low)) *most = -INFINITY;
}
