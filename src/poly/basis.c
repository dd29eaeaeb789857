/* The orthonormal hierarchical bases. On the unit simplex with coordinates x_0..x_(d-1) let
 *
 *     s_l = 1 - sum_(j>l) x_j,   t_l = 2 x_l - s_l                                   (t_l/s_l runs over
 * [-1,1])
 *
 * and let p_n^a be the polynomials orthonormal on u in [0,1] for the weight (1-u)^a, written in t = 2u-1. The
 * functions
 *
 *     phi = prod_l  F_l,   F_l = s_l^n_l p_(n_l)^(a_l) (t_l/s_l),   a_l = 2 (n_0 + .. + n_(l-1)) + l
 *
 * (Proriol, Koornwinder, Dubiner) are orthonormal. F_l is a homogeneous polynomial in (t_l, s_l), and
 * multiplying the three-term recurrence by powers of s_l evaluates it without a division:
 *
 *     F^(n+1) = (A t - B s) F^n - C s^2 F^(n-1).
 *
 * On tensor cells the factors are p_n^0(x_l), the same with s = 1; on a prism those of x and y are of the
 * triangle, that of z of the line. So s_l = 1 - (the coordinates that shorten axis l; poly/shape.h), and a_l
 * counts the indices of the axes that x_l shortens. A "chain" is one such recurrence: level l and a weight a;
 * the chains of all (l, a) are run for a block of points at once, and each basis function is then a product
 * of dim entries of their table. */
#include "poly/basis.h"

#include <math.h>

#include "base/memory.h"
#include "poly/jacobi.h"
#include "poly/pyramid.h"

/* Points that are carried through the recurrences together, across the vector unit. */
#define BLOCK 8

struct chain {
    int level, offset, length; /* entries offset .. offset+length-1 of the table hold F^0, F^1, .. */
};

/* What depends on the shape and the degree only. */
struct plan {
    enum shape shape;
    int dim, size;
    int n_chains, n_entries;
    struct chain *chains;
    double (
        *steps)[3]; /* n_entries: A, B, C of the step to this entry; the first of a chain holds F^0 in A */
    int *factors;   /* size x dim: the entries whose product is the basis function */
};

/* An entry of the table: F, its derivative along x_l, and along each x_j that shortens axis l (they are all
 * equal). */
struct entry {
    double value[BLOCK], own[BLOCK], later[BLOCK];
};

int basis_size(enum shape shape, int degree) {
    return degree < 0 ? 0 : shape_n_nodes(shape, degree);
}

static void plan_free(struct plan *plan) {
    base_free(&plan->chains);
    base_free(&plan->steps);
    base_free(&plan->factors);
}

static void add_chain(struct plan *plan, int level, int a, int length) {
    struct chain *chain = &plan->chains[plan->n_chains++];
    *chain = (struct chain){level, plan->n_entries, length};
    plan->n_entries += length;
    double(*step)[3] = plan->steps + chain->offset;
    step[0][0] = sqrt(a + 1.0);
    step[0][1] = step[0][2] = 0.0;
    long double root = 0;
    for (int n = 1; n < length; n++) {
        long double next = jacobi_root(n, a, 0);
        step[n][0] = (double)(1 / next);
        step[n][1] = (double)(jacobi_alpha(n - 1, a, 0) / next);
        step[n][2] = (double)(root / next);
        root = next;
    }
}

/* How many axes x_level shortens. */
static int n_shortened(enum shape shape, int level) {
    int n = 0;
    for (int l = 0; l < level; l++) n += shape_shortened(shape, l) >> level & 1;
    return n;
}

/* The degree of a function, by which bases are ordered: the total degree on simplices, the largest index on
 * tensor cells, and on prisms the larger one of the triangle and the line. */
static int degree_of(enum shape shape, int i, int j, int k) {
    int plane = shape_shortened(shape, 0) & 2 ? i + j : i > j ? i : j;
    return shape == SHAPE_TET ? plane + k : plane > k ? plane : k;
}

/* The entry of index n of level l, the sum of the indices of the axes it shortens being m. */
static int entry_of(const struct plan *plan, int level, int m, int n) {
    int chain = 0;
    while (plan->chains[chain].level < level) chain++;
    return plan->chains[chain + m].offset + n;
}

/* By degree n; of one degree the last index counts down on simplices, and the first one runs fastest
 * elsewhere. */
static void list_functions(struct plan *plan, int degree) {
    const int down = shape_is_simplex(plan->shape);
    int *factor = plan->factors;
    for (int n = 0; n <= degree; n++)
        for (int at_k = 0; at_k <= (plan->dim > 2 ? n : 0); at_k++)
            for (int at_j = 0; at_j <= (plan->dim > 1 ? n : 0); at_j++)
                for (int i = 0; i <= n; i++) {
                    int k = down && plan->dim > 2 ? n - at_k : at_k,
                        j = down && plan->dim > 1 ? n - at_j : at_j;
                    if (degree_of(plan->shape, i, j, k) != n) continue;
                    factor[0] = entry_of(plan, 0, 0, i);
                    if (plan->dim > 1) factor[1] = entry_of(plan, 1, n_shortened(plan->shape, 1) * i, j);
                    if (plan->dim > 2)
                        factor[2] = entry_of(plan, 2, n_shortened(plan->shape, 2) > 0 ? i + j : 0, k);
                    factor += plan->dim;
                }
}

static facet_status plan_make(enum shape shape, int degree, struct plan *plan) {
    facet_status status = FACET_OK;
    int dim = shape_dim(shape), length = degree + 1, n_chains = 0, n_entries = 0;
    *plan = (struct plan){.shape = shape, .dim = dim, .size = basis_size(shape, degree)};
    for (int level = 0; level < dim; level++) {
        int many = n_shortened(shape, level) > 0;
        n_chains += many ? length : 1;
        n_entries += many ? length * (length + 1) / 2 : length;
    }
    TRY(ALLOC(plan->chains, n_chains));
    TRY(ALLOC(plan->steps, n_entries));
    TRY(ALLOC(plan->factors, plan->size * dim));
    for (int level = 0; level < dim; level++) {
        int less = n_shortened(shape, level);
        for (int m = 0; m <= (less > 0 ? degree : 0); m++) add_chain(plan, level, 2 * m + less, length - m);
    }
    list_functions(plan, degree);
done:
    if (status != FACET_OK) plan_free(plan);
    return status;
}

/* t and s of one level at the points of a block. */
struct level {
    double t[BLOCK], s[BLOCK];
};

/* The last of fewer than BLOCK points is repeated. */
static void block_levels(const struct plan *plan, int n, const double *x, struct level *levels) {
    for (int b = 0; b < BLOCK; b++) {
        const double *point = x + (size_t)plan->dim * (size_t)(b < n ? b : n - 1);
        for (int l = plan->dim - 1; l >= 0; l--) {
            double s = 1.0;
            for (int j = plan->dim - 1; j > l; j--)
                if (shape_shortened(plan->shape, l) >> j & 1) s -= point[j];
            levels[l].s[b] = s;
            levels[l].t[b] = 2 * point[l] - s;
        }
    }
}

static void run_values(const struct chain *chain, const double (*step)[3], const struct level *at,
                       struct entry *entry) {
    for (int b = 0; b < BLOCK; b++) entry[0].value[b] = step[0][0];
    if (chain->length < 2) return;
    for (int b = 0; b < BLOCK; b++)
        entry[1].value[b] = (step[1][0] * at->t[b] - step[1][1] * at->s[b]) * step[0][0];
    for (int n = 2; n < chain->length; n++) {
        double A = step[n][0], B = step[n][1], C = step[n][2];
        const double *p = entry[n - 1].value, *q = entry[n - 2].value;
        double *value = entry[n].value;
#pragma omp simd
        for (int b = 0; b < BLOCK; b++)
            value[b] = (A * at->t[b] - B * at->s[b]) * p[b] - C * at->s[b] * at->s[b] * q[b];
    }
}

/* Along x_l: dt = 2, ds = 0. Along a coordinate that shortens it: dt = 1, ds = -1. */
static void run_derivatives(const struct chain *chain, const double (*step)[3], const struct level *at,
                            struct entry *entry) {
    const double dt = 1.0, ds = -1.0;
    for (int b = 0; b < BLOCK; b++) entry[0].own[b] = entry[0].later[b] = 0.0;
    for (int n = 1; n < chain->length; n++) {
        double A = step[n][0], B = step[n][1], C = step[n][2], slope = A * dt - B * ds;
        const struct entry *p = &entry[n - 1], *q = &entry[n > 1 ? n - 2 : 0]; /* C is 0 at n = 1 */
        struct entry *e = &entry[n];
#pragma omp simd
        for (int b = 0; b < BLOCK; b++) {
            double t = at->t[b], s = at->s[b], line = A * t - B * s;
            e->own[b] = 2 * A * p->value[b] + line * p->own[b] - C * s * s * q->own[b];
            e->later[b] =
                slope * p->value[b] + line * p->later[b] - C * s * (2 * ds * q->value[b] + s * q->later[b]);
        }
    }
}

static void write_values(const struct plan *plan, const struct entry *table, int n, double *values) {
    int dim = plan->dim, size = plan->size;
    for (int i = 0; i < size; i++) {
        const int *factor = plan->factors + i * dim;
        double product[BLOCK];
        for (int b = 0; b < BLOCK; b++) product[b] = table[factor[0]].value[b];
        for (int l = 1; l < dim; l++)
            for (int b = 0; b < BLOCK; b++) product[b] *= table[factor[l]].value[b];
        for (int b = 0; b < n; b++) values[(size_t)b * (size_t)size + (size_t)i] = product[b];
    }
}

/* The product rule, factor by factor: (F_0 .. F_l)' = (F_0 .. F_(l-1))' F_l + F_0 .. F_(l-1) F_l'. */
static void write_gradients(const struct plan *plan, const struct entry *table, int n, double *gradients) {
    int dim = plan->dim, size = plan->size;
    for (int i = 0; i < size; i++) {
        const int *factor = plan->factors + i * dim;
        double value[BLOCK], gradient[3][BLOCK];
        for (int b = 0; b < BLOCK; b++) value[b] = 1.0;
        for (int l = 0; l < dim; l++) {
            const struct entry *e = &table[factor[l]];
            for (int j = 0; j < dim; j++) {
                const double *slope = j == l                                     ? e->own
                                      : shape_shortened(plan->shape, l) >> j & 1 ? e->later
                                                                                 : NULL;
                for (int b = 0; b < BLOCK; b++) {
                    gradient[j][b] = l > 0 ? gradient[j][b] * e->value[b] : 0.0;
                    if (slope != NULL) gradient[j][b] += value[b] * slope[b];
                }
            }
            for (int b = 0; b < BLOCK; b++) value[b] *= e->value[b];
        }
        for (int b = 0; b < n; b++)
            for (int j = 0; j < dim; j++)
                gradients[((size_t)b * (size_t)size + (size_t)i) * (size_t)dim + (size_t)j] = gradient[j][b];
    }
}

facet_status basis_eval(enum shape shape, int degree, int n_points, const double *x, double *values,
                        double *gradients) {
    facet_status status = FACET_OK;
    struct plan plan = {0};
    struct entry *table = NULL;
    struct level levels[3];
    if (degree < 0) FAIL(FACET_ERROR_INPUT, "a basis of degree %d: the degree must be at least 0", degree);
    if (shape == SHAPE_POINT) {
        for (int i = 0; i < n_points; i++) values[i] = 1.0;
        goto done;
    }
    if (shape == SHAPE_PYRAMID) return pyramid_eval(degree, n_points, x, values, gradients);
    TRY(plan_make(shape, degree, &plan));
    TRY(ALLOC(table, plan.n_entries));
    for (int begin = 0; begin < n_points; begin += BLOCK) {
        int n = n_points - begin < BLOCK ? n_points - begin : BLOCK;
        size_t row = (size_t)begin * (size_t)plan.size;
        block_levels(&plan, n, x + (size_t)begin * (size_t)plan.dim, levels);
        for (int c = 0; c < plan.n_chains; c++) {
            const struct chain *chain = &plan.chains[c];
            const double(*steps)[3] = (const double(*)[3])plan.steps + chain->offset;
            run_values(chain, steps, &levels[chain->level], table + chain->offset);
            if (gradients != NULL)
                run_derivatives(chain, steps, &levels[chain->level], table + chain->offset);
        }
        write_values(&plan, table, n, values + row);
        if (gradients != NULL) write_gradients(&plan, table, n, gradients + row * (size_t)plan.dim);
    }
done:
    plan_free(&plan);
    base_free(&table);
    return status;
}
