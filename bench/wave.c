/* The manufactured solution by products of complex exponentials in one coordinate each: a dozen
 * multiplications a point instead of five calls of sin, so that degree 32 does not wait for its data. */
#include "bench/wave.h"

#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/run.h"
#include "poly/rule.h"
#include "solve/spectrum.h"

#define PI        3.14159265358979323846
#define N_FACTORS 5
#define N_EXTRA   2 /* Gauss points for norms beyond those of the degree */

/* Factor i is sin(k (a.x + c) + shift). */
static const struct {
    double a[3], c, shift;
} factors[N_FACTORS] = {
    {{1, -3, 2}, 0, PI / 2}, {{1, 0, 0}, 1, 0}, {{0, -1, 0}, 1, 0}, {{2, 1, 0}, 0, 0}, {{3, -2, 2}, 0, 0}};

struct turn {
    double c, s; /* exp(i theta) */
};

static struct turn turned(struct turn a, struct turn b) {
    return (struct turn){a.c * b.c - a.s * b.s, a.c * b.s + a.s * b.c};
}

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

double wave_unknowns(const struct wave_case *given) {
    return pow((given->degree + 1.0) * given->cells, 3.0);
}

/* ------------------------------------------------------------------------------------------ values */

/* The product of all factors, or -Laplace of it: with s and c the sine and cosine of the factors,
 * k^2 (sum |a_i|^2 u - 2 sum over i < j of a_i.a_j c_i c_j product of the other s). */
static double combine(const struct turn t[N_FACTORS], double k, int laplace) {
    double u = 1.0, squares = 0.0, mixed = 0.0;
    for (int i = 0; i < N_FACTORS; i++) {
        u *= t[i].s;
        squares += dot(factors[i].a, factors[i].a);
    }
    if (!laplace) return u;
    for (int i = 0; i < N_FACTORS; i++)
        for (int j = i + 1; j < N_FACTORS; j++) {
            double others = 1.0;
            for (int l = 0; l < N_FACTORS; l++)
                if (l != i && l != j) others *= t[l].s;
            mixed += dot(factors[i].a, factors[j].a) * t[i].c * t[j].c * others;
        }
    return k * k * (squares * u - 2.0 * mixed);
}

/* exp(i k a_d x) of every factor at the points of all cells of direction d; the constant goes with d = 0. */
static facet_status make_turns(const struct wave *w, int d, int m, const double *points,
                               struct turn (**turns)[N_FACTORS]) {
    facet_status status = FACET_OK;
    int n_cells = w->data.cells[d];
    TRY(ALLOC(*turns, n_cells * m));
    for (int i = 0; i < n_cells * m; i++) {
        const double *x = w->coordinates[d] + i / m;
        double at = x[0] + 0.5 * (1.0 + points[i % m]) * (x[1] - x[0]);
        for (int f = 0; f < N_FACTORS; f++) {
            double angle = w->given.k * factors[f].a[d] * at;
            if (d == 0) angle += w->given.k * factors[f].c + factors[f].shift;
            (*turns)[i][f] = (struct turn){cos(angle), sin(angle)};
        }
    }
done:
    return status;
}

static void fill_cell(double k, int laplace, int m, struct turn (*const t[3])[N_FACTORS], double *values) {
    for (int q = 0; q < m * m; q++) {
        struct turn line[N_FACTORS];
        for (int f = 0; f < N_FACTORS; f++) line[f] = turned(t[1][q % m][f], t[2][q / m][f]);
        for (int i = 0; i < m; i++) {
            struct turn point[N_FACTORS];
            for (int f = 0; f < N_FACTORS; f++) point[f] = turned(t[0][i][f], line[f]);
            values[q * m + i] = combine(point, k, laplace);
        }
    }
}

static facet_status fill(const struct wave *w, int laplace, int m, const double *points, double *values) {
    facet_status status = FACET_OK;
    struct turn(*turns[3])[N_FACTORS] = {NULL};
    int n = w->given.cells;
    for (int d = 0; d < 3; d++) TRY(make_turns(w, d, m, points, &turns[d]));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t cell = 0; cell < (int64_t)n * n * n; cell++) {
        struct turn(*const at[3])[N_FACTORS] = {turns[0] + cell % n * m, turns[1] + cell / n % n * m,
                                                turns[2] + cell / n / n * m};
        fill_cell(w->given.k, laplace, m, at, values + cell * m * m * m);
    }
done:
    for (int d = 0; d < 3; d++) base_free(&turns[d]);
    return status;
}

facet_status wave_values(const struct wave *w, int n_points, const double *points, double *values) {
    return fill(w, 0, n_points, points, values);
}

/* ------------------------------------------------------------------------------------------ the case */

static facet_status make_grid(struct wave *w) {
    facet_status status = FACET_OK;
    const struct wave_case *c = &w->given;
    int64_t n_cells = (int64_t)c->cells * c->cells * c->cells;
    w->data.dim = 3;
    for (int d = 0; d < 3; d++) {
        double length = 2.0 * PI * (d == 0 ? c->aspect : 1.0);
        TRY(ALLOC(w->coordinates[d], c->cells + 1));
        TRY(ALLOC(w->rho[d], c->cells));
        for (int i = 0; i <= c->cells; i++) w->coordinates[d][i] = length * i / c->cells;
        for (int i = 0; i < c->cells; i++) w->rho[d][i] = 0.5 * c->tau * length / c->cells;
        w->data.cells[d] = c->cells;
        w->data.coordinates[d] = w->coordinates[d];
        w->data.sides[d][0] = w->data.sides[d][1] = BOX_DIRICHLET;
    }
    if (c->contrast > 1.0) {
        TRY(ALLOC(w->conductivity, n_cells));
        solve_noise(n_cells, w->conductivity);
        for (int64_t i = 0; i < n_cells; i++)
            w->conductivity[i] = pow(c->contrast, 0.5 * (1.0 + w->conductivity[i]));
        w->data.conductivity = w->conductivity;
    }
done:
    return status;
}

static facet_status make_exact(struct wave *w) {
    const struct expr_parameter k = {.name = "k", .value = w->given.k};
    const char *text = "cos(k*(x - 3*y + 2*z))*sin(k*(1 + x))*sin(k*(1 - y))*sin(k*(2*x + y))*"
                       "sin(k*(3*x - 2*y + 2*z))";
    return field_create_texts(1, &text, 1, &k, &w->exact);
}

facet_status wave_create_grid(const struct wave_case *given, struct wave *w) {
    facet_status status = FACET_OK;
    *w = (struct wave){.given = *given, .n_points = given->degree + 1 + N_EXTRA};
    TRY(make_grid(w));
    TRY(make_exact(w));
done:
    return status;
}

facet_status wave_create(const struct wave_case *given, int with_values, struct wave *w) {
    facet_status status = FACET_OK;
    int n = given->degree + 1;
    int64_t n_cells = (int64_t)given->cells * given->cells * given->cells;
    double *gauss = NULL;
    TRY(wave_create_grid(given, w));
    TRY(ALLOC(gauss, 2 * n));
    TRY(rule_gauss_jacobi(n, 0.0, 0.0, gauss, gauss + n));
    TRY(ALLOC(w->source, n_cells * n * n * n));
    TRY(fill(w, 1, n, gauss, w->source));
    TRY(ALLOC(w->points, w->n_points));
    TRY(ALLOC(w->weights, w->n_points));
    TRY(rule_gauss_jacobi(w->n_points, 0.0, 0.0, w->points, w->weights));
    if (with_values) {
        TRY(ALLOC(w->values, n_cells * w->n_points * w->n_points * w->n_points));
        TRY(fill(w, 0, w->n_points, w->points, w->values));
    }
done:
    base_free(&gauss);
    return status;
}

void wave_destroy(struct wave *w) {
    for (int d = 0; d < 3; d++) {
        base_free(&w->coordinates[d]);
        base_free(&w->rho[d]);
    }
    base_free(&w->conductivity);
    base_free(&w->source);
    base_free(&w->points);
    base_free(&w->weights);
    base_free(&w->values);
    field_destroy(&w->exact);
}

facet_status wave_error(const struct wave *w, wave_evaluate evaluate, void *user, double *error) {
    facet_status status = FACET_OK;
    int m = w->n_points, n = w->given.cells;
    int64_t size = (int64_t)m * m * m;
    double *values = NULL, square = 0.0, volume = pow(PI / n, 3.0) * w->given.aspect;
    TRY(ALLOC(values, size));
    for (int64_t cell = 0; cell < (int64_t)n * n * n; cell++) {
        const double *exact = w->values + cell * size;
        TRY(evaluate(user, cell, values));
        for (int64_t i = 0; i < size; i++) {
            double e = values[i] - exact[i];
            square += w->weights[i % m] * w->weights[i / m % m] * w->weights[i / m / m] * e * e;
        }
    }
    *error = sqrt(volume * square);
done:
    base_free(&values);
    return status;
}
