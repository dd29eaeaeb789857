/* The greatest value of a polynomial over the unit cube. */
#include "poly/peak.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

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

facet_status peak_table_create(int dim, int degree, int squares, struct peak_table *table) {
    facet_status status = FACET_OK;
    const double pi = acos(-1.0);
    const int n = degree + 1, resolved = (squares ? 3 : 2) * degree, fine = resolved < 6 ? 6 : resolved;
    *table = (struct peak_table){.dim = dim, .degree = degree, .fine = fine};
    TRY(ALLOC(table->coefficients, n * n));
    TRY(ALLOC(table->values, (fine + 1) * n));
    TRY(ALLOC(table->points, n));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double half = (i == 0 || i == degree ? 0.5 : 1.0) * (j == 0 || j == degree ? 0.5 : 1.0);
            table->coefficients[i * n + j] = 2.0 / degree * half * cos(pi * (i * j % (2 * degree)) / degree);
        }
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
    return n * peak_n_points(table) + 4 * power(table->fine + 1, table->dim);
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

/* A step uphill in the directions that the faces at hand leave free; returns what it promises. */
static double find_step(int dim, const double *t, const double *jet, double step[3]) {
    int free[3], n = 0;
    double some[3], scale = 0.0, promise = 0.0;
    for (int d = 0; d < dim; d++) {
        step[d] = 0.0;
        if ((t[d] <= 0.0 && jet[1 + d] <= 0.0) || (t[d] >= 1.0 && jet[1 + d] >= 0.0)) continue;
        free[n++] = d;
        scale = fmax(scale, fmax(fabs(jet[second(d, d)]), fabs(jet[1 + d])));
    }
    if (n == 0 || !(scale > 0.0)) return 0.0;
    int solved = solve(n, free, jet, 0.0, some);
    for (double shift = 1e-6 * scale; !solved && shift < 1e3 * scale; shift *= 4.0)
        solved = solve(n, free, jet, shift, some);
    if (!solved) return 0.0;
    for (int i = 0; i < n; i++) {
        step[free[i]] = some[i];
        promise += 0.5 * some[i] * jet[1 + free[i]];
    }
    return promise;
}

/* From t uphill. Returns the value there. */
static double climb(const struct search *s, double t[3]) {
    enum { MOST_STEPS = 60, MOST_HALVINGS = 30 };
    double jet[N_JET], step[3];
    make_jet(s, t, jet);
    for (int i = 0; i < MOST_STEPS; i++) {
        const double promise = find_step(s->table->dim, t, jet, step);
        double length = 1.0, next[3] = {0}, there[N_JET];
        int better = 0;
        if (!(promise > 1e-17 * fabs(jet[0]))) break;
        for (int k = 0; k < MOST_HALVINGS && !better; k++, length *= 0.5) {
            for (int d = 0; d < s->table->dim; d++) next[d] = fmin(fmax(t[d] + length * step[d], 0.0), 1.0);
            make_jet(s, next, there);
            better = there[0] > jet[0];
            if (!better && promise < s->goal->slack) break;
        }
        if (!better) break;
        memcpy(t, next, sizeof next);
        memcpy(jet, there, sizeof jet);
    }
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

void peak_find(const struct peak_table *table, const struct peak_goal *goal, const double *values,
               double *scratch, double *most, double t[3]) {
    const int64_t size = peak_n_points(table), all = power(table->fine + 1, table->dim);
    double *work = scratch + goal->n * size, *grid = work + 2 * all, *plain = work + 3 * all;
    struct search s = {table, goal, scratch};
    struct start starts[MOST_STARTS];
    *most = -INFINITY;
    for (int p = 0; p < goal->n; p++) {
        for (int64_t i = 0; i < size; i++) plain[i] = values[i * goal->n + p];
        contract_all(table->dim, table->degree + 1, table->degree + 1, table->coefficients, plain, work,
                     scratch + p * size);
    }
    if (!(bound(&s) >= goal->low)) return;
    fill_grid(&s, work, grid);
    const int n = find_starts(&s, grid, starts);
    int64_t first = 0;
    for (int k = 0; k < n; k++) {
        double from[3] = {0}, value = starts[k].value;
        int64_t rest = starts[k].at;
        if (k > 0 && !(value + starts[k].gain >= fmax(*most - goal->tie, goal->low))) continue;
        for (int d = 0; d < table->dim; d++, rest /= table->fine + 1)
            from[d] = pow(sin(0.5 * acos(-1.0) * (double)(rest % (table->fine + 1)) / table->fine), 2);
        if (k == 0 || starts[k].gain > goal->slack) value = climb(&s, from);
        const int tied = fabs(value - *most) <= goal->tie;
        if (tied ? starts[k].at < first : value > *most) {
            first = starts[k].at;
            memcpy(t, from, sizeof from);
        }
        *most = fmax(*most, value);
    }
    if (!(*most >= goal->low)) *most = -INFINITY;
}
