/* The papers' quadrature rules on triangles and tets: Gauss-Lobatto times Gauss-Radau, collapsed, those of
 * Grundmann and Moeller, and symmetric ones of few points. */
#include "bench/papers/rules.h"

#include <math.h>

#include "base/memory.h"
#include "poly/jacobi.h"

static facet_status simplex_alloc(enum shape shape, int n, struct rule *rule) {
    facet_status status = FACET_OK;
    *rule = (struct rule){.shape = shape, .dim = shape_dim(shape), .n = n};
    TRY(ALLOC(rule->x, (size_t)n * (size_t)rule->dim));
    TRY(ALLOC(rule->w, n));
done:
    if (status != FACET_OK) rule_destroy(rule);
    return status;
}

/* n points on [-1,1] for the weight (1-x)^a (1+x)^b, -1 being one of them; exact to degree 2n-2. The inner
 * points are Gauss points for the weight times (1+x), which the weights are divided by; at -1, with
 * the orthonormal p_k, the weight is 1 / sum_(k<n) p_k(-1)^2. */
static facet_status gauss_radau(int n, double a, double b, double *x, double *w) {
    facet_status status = FACET_OK;
    double sum = 0.0, *p = NULL;
    TRY(ALLOC(p, n));
    jacobi_orthonormal(n - 1, a, b, -1.0, p, NULL);
    for (int i = 0; i < n; i++) sum += p[i] * p[i];
    x[0] = -1.0;
    w[0] = 1.0 / sum;
    if (n > 1) TRY(rule_gauss_jacobi(n - 1, a, b + 1.0, x + 1, w + 1));
    for (int i = 1; i < n; i++) w[i] /= 1.0 + x[i];
done:
    base_free(&p);
    return status;
}

facet_status rule_create_collapsed_lobatto_radau(int n_lobatto, int n_radau, struct rule *rule) {
    facet_status status = FACET_OK;
    double *line[4] = {NULL};
    *rule = (struct rule){0};
    if (n_lobatto < 2 || n_radau < 1)
        FAIL(FACET_ERROR_INPUT, "a collapsed rule of %d Lobatto times %d Radau points: at least 2 and 1",
             n_lobatto, n_radau);
    for (int i = 0; i < 4; i++) TRY(ALLOC(line[i], i < 2 ? n_lobatto : n_radau));
    TRY(rule_gauss_lobatto(n_lobatto, 0.0, 0.0, line[0], line[1]));
    TRY(gauss_radau(n_radau, 1.0, 0.0, line[2], line[3]));
    TRY(simplex_alloc(SHAPE_TRIANGLE, n_lobatto * n_radau, rule));
    for (int i = 0; i < rule->n; i++) { /* (x, y) = (u (1 - v), v), u and v in [0,1] */
        int along = i % n_lobatto, up = i / n_lobatto;
        double u = (1.0 + line[0][along]) / 2.0, v = (1.0 + line[2][up]) / 2.0;
        rule->x[2 * i] = u * (1.0 - v);
        rule->x[2 * i + 1] = v;
        rule->w[i] = line[1][along] * line[3][up] / 8.0;
    }
done:
    for (int i = 0; i < 4; i++) base_free(&line[i]);
    return status;
}

/* The compositions of `total` into `parts` numbers, one after the other; 0 after the last. */
static int next_composition(int parts, int total, int *part) {
    if (part[parts - 1] == total) return 0;
    int first = 0;
    while (part[first] == 0) first++;
    int rest = part[first] - 1;
    part[first] = 0;
    part[0] = rest;
    part[first + 1]++;
    return 1;
}

static int binomial(int n, int k) {
    int value = 1;
    for (int i = 1; i <= k; i++) value = value * (n - k + i) / i;
    return value;
}

/* With d = 2s + 1 in dimension n, the layers i = 0..s: weight (-1)^i 2^(-2s) (d+n-2i)^d / (i! (d+n-i)!) at
 * the points (2 b_j + 1)/(d+n-2i), |b| = s - i (Grundmann and Moeller, 1978). */
static double layer_weight(int s, int dim, int i) {
    int d = 2 * s + 1;
    double size = d + dim - 2 * i, w = i % 2 == 0 ? 1.0 : -1.0;
    for (int j = 1; j <= d; j++) w *= size / j;
    for (int j = d + 1; j <= d + dim - i; j++) w /= j;
    for (int j = d; j > d + dim - i; j--) w *= j; /* where (d+n-i)! is shorter than d! */
    for (int j = 1; j <= i; j++) w /= j;
    return ldexp(w, -2 * s);
}

facet_status rule_create_grundmann_moeller(enum shape shape, int s, struct rule *rule) {
    facet_status status = FACET_OK;
    int dim = shape_dim(shape), at = 0;
    *rule = (struct rule){0};
    if ((shape != SHAPE_TRIANGLE && shape != SHAPE_TET) || s < 0 || s > 20)
        FAIL(FACET_ERROR_INPUT,
             "a rule of Grundmann and Moeller of index %d on a %s: 0 to 20, triangle or tet", s,
             shape_name(shape));
    TRY(simplex_alloc(shape, binomial(dim + 1 + s, s), rule));
    for (int i = 0; i <= s; i++) {
        int part[4] = {s - i};
        double w = layer_weight(s, dim, i), size = 2 * s + 1 + dim - 2 * i;
        do {
            for (int c = 0; c < dim; c++) rule->x[at * dim + c] = (2 * part[c] + 1) / size;
            rule->w[at++] = w;
        } while (next_composition(dim + 1, s - i, part));
    }
done:
    return status;
}

/* All arrangements of barycentric coordinates that are a, but b in `n_b` places; each of weight w. */
struct orbit {
    int n_b;
    double a, b, w;
};

static void fill_orbit(const struct orbit *orbit, struct rule *rule, int *at) {
    int dim = rule->dim;
    for (unsigned places = 0; places < 1u << (dim + 1); places++) {
        if (__builtin_popcount(places) != orbit->n_b) continue;
        for (int c = 0; c < dim; c++) rule->x[*at * dim + c] = places & (1u << c) ? orbit->b : orbit->a;
        rule->w[(*at)++] = orbit->w * shape_measure(rule->shape);
    }
}

facet_status rule_create_symmetric(enum shape shape, int n, struct rule *rule) {
    facet_status status = FACET_OK;
    struct orbit orbits[3] = {{0}};
    int n_orbits = 0, at = 0;
    *rule = (struct rule){0};
    if (shape == SHAPE_TRIANGLE && n == 6) {
        double root = sqrt(38.0 - 44.0 * sqrt(0.4)), spread = sqrt(213125.0 - 53320.0 * sqrt(10.0)) / 3720.0;
        for (int i = 0; i < 2; i++) {
            double sign = i == 0 ? 1.0 : -1.0, a = (8.0 - sqrt(10.0) + sign * root) / 18.0;
            orbits[n_orbits++] = (struct orbit){1, a, 1.0 - 2.0 * a, 1.0 / 6.0 + sign * spread};
        }
    } else if (shape == SHAPE_TET && n == 4) {
        double a = (5.0 - sqrt(5.0)) / 20.0;
        orbits[n_orbits++] = (struct orbit){1, a, 1.0 - 3.0 * a, 0.25};
    } else if (shape == SHAPE_TET && n == 14) {
        /* The solution of the six moment equations up to degree 5. */
        static const double a[3] = {0.310885919263300609797, 0.092735250310891226402,
                                    0.045503704125649649492};
        orbits[n_orbits++] = (struct orbit){1, a[0], 1.0 - 3.0 * a[0], 0.112687925718015850799};
        orbits[n_orbits++] = (struct orbit){1, a[1], 1.0 - 3.0 * a[1], 0.073493043116361949544};
        orbits[n_orbits++] = (struct orbit){2, a[2], 0.5 - a[2], 0.042546020777081466438};
    } else {
        FAIL(FACET_ERROR_INPUT,
             "a symmetric rule of %d points on a %s: there are 6 on a triangle, 4 and 14 on a tet", n,
             shape_name(shape));
    }
    TRY(simplex_alloc(shape, n, rule));
    for (int i = 0; i < n_orbits; i++) fill_orbit(&orbits[i], rule, &at);
done:
    return status;
}
