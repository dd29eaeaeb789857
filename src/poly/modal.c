/* Modal bases. Everything is a product of linear functions and of homogeneous Jacobi polynomials
 *
 *     F_n(t, s) = s^n p_n(t/s),    F_(n+1) = (A t - B s) F_n - C s^2 F_(n-1),
 *
 * with p_n orthonormal on [-1, 1] for the weight (1-t)^a (1+t)^b, evaluated without a division. */
#include "poly/modal.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/jacobi.h"
#include "poly/rule.h"

/* A value with its gradient: what the product rule needs. */
struct jet {
    double value, grad[3];
};

static struct jet constant(double value) {
    return (struct jet){.value = value};
}

static struct jet sum(double a, struct jet x, double b, struct jet y) {
    struct jet z = {.value = a * x.value + b * y.value};
    for (int d = 0; d < 3; d++) z.grad[d] = a * x.grad[d] + b * y.grad[d];
    return z;
}

static struct jet product(struct jet x, struct jet y) {
    struct jet z = {.value = x.value * y.value};
    for (int d = 0; d < 3; d++) z.grad[d] = x.grad[d] * y.value + x.value * y.grad[d];
    return z;
}

/* The steps A, B, C of one family of polynomials, number 0 holding p_0 in A. */
struct family {
    int n;
    double (*steps)[3];
};

static facet_status family_create(int n, int a, int b, struct family *family) {
    facet_status status = FACET_OK;
    family->n = n;
    TRY(ALLOC(family->steps, n > 0 ? n : 1));
    long double root = 0;
    family->steps[0][0] = (double)(1 / sqrtl(jacobi_mass(a, b)));
    family->steps[0][1] = family->steps[0][2] = 0.0;
    for (int i = 1; i < n; i++) {
        long double next = jacobi_root(i, a, b);
        family->steps[i][0] = (double)(1 / next);
        family->steps[i][1] = (double)(jacobi_alpha(i - 1, a, b) / next);
        family->steps[i][2] = (double)(root / next);
        root = next;
    }
done:
    return status;
}

/* F[0 .. n-1] at t and s. */
static void family_run(const struct family *family, struct jet t, struct jet s, struct jet *F) {
    struct jet square = product(s, s);
    for (int i = 0; i < family->n; i++) {
        const double *step = family->steps[i];
        if (i == 0) {
            F[0] = constant(step[0]);
            continue;
        }
        F[i] = product(sum(step[0], t, -step[1], s), F[i - 1]);
        if (i > 1) F[i] = sum(1.0, F[i], -step[2], product(square, F[i - 2]));
    }
}

/* ------------------------------------------------------------------------------------------ the cell */

/* What depends on the shape and the degree only. */
struct plan {
    enum shape shape;
    int degree, dim;
    struct family kernels;    /* of l_2 .. l_degree: weight (1-t)(1+t) */
    struct family base;       /* bubbles of simplices: weight (1-t)^2 (1+t)^2 along the first edge */
    struct family *towers[4]; /* [2], [3]: for each degree m below, weight (1-t)^(2m + 3 level - 1) (1+t)^2 */
    struct jet *scratch[3];   /* degree x degree each */
};

/* Bubbles of an entity of dimension d and their polynomial factors have degrees 0 .. this minus 1. */
static int n_bubble_degrees(const struct plan *plan, int d) {
    return plan->degree > d ? plan->degree - d : 0;
}

static void plan_free(struct plan *plan) {
    base_free(&plan->kernels.steps);
    base_free(&plan->base.steps);
    for (int level = 2; level < 4; level++) {
        for (int m = 0; plan->towers[level] != NULL && m < n_bubble_degrees(plan, level); m++)
            base_free(&plan->towers[level][m].steps);
        base_free(&plan->towers[level]);
    }
    for (int i = 0; i < 3; i++) base_free(&plan->scratch[i]);
}

static facet_status plan_make(enum shape shape, int degree, struct plan *plan) {
    facet_status status = FACET_OK;
    *plan = (struct plan){.shape = shape, .degree = degree, .dim = shape_dim(shape)};
    TRY(family_create(degree - 1, 1, 1, &plan->kernels));
    for (int i = 0; i < 3; i++) TRY(ALLOC(plan->scratch[i], degree * degree));
    if (!shape_is_simplex(shape) || plan->dim < 2) goto done;
    TRY(family_create(n_bubble_degrees(plan, 2), 2, 2, &plan->base));
    for (int level = 2; level <= plan->dim; level++) {
        int n = n_bubble_degrees(plan, level);
        TRY(CALLOC(plan->towers[level], n));
        for (int m = 0; m < n; m++)
            TRY(family_create(n - m, 2 * m + 3 * level - 1, 2, &plan->towers[level][m]));
    }
done:
    if (status != FACET_OK) plan_free(plan);
    return status;
}

int modal_n_interior(enum shape shape, int degree) {
    int dim = shape_dim(shape), n = 1;
    for (int d = 0; d < dim; d++) /* (k-1 choose dim) on simplices, (k-1)^dim otherwise */
        n = shape_is_simplex(shape) ? n * (degree - 1 - d) / (d + 1) : n * (degree - 1);
    return n;
}

int modal_n_boundary(enum shape shape, int degree) {
    return basis_size(shape, degree) - modal_n_interior(shape, degree);
}

/* The coordinate x_d, or 1 - x_d where the vertex has 0. */
static struct jet factor(const double *vertex, int d, const double *x) {
    struct jet f = {.value = vertex[d] > 0.5 ? x[d] : 1.0 - x[d]};
    f.grad[d] = vertex[d] > 0.5 ? 1.0 : -1.0;
    return f;
}

static struct jet vertex_mode(const struct plan *plan, int vertex, const double *x) {
    const double *v = shape_vertices(plan->shape) + vertex * plan->dim;
    struct jet f = constant(1.0);
    if (!shape_is_simplex(plan->shape)) {
        for (int d = 0; d < plan->dim; d++) f = product(f, factor(v, d, x));
        return f;
    }
    if (vertex > 0) { /* vertex i of a simplex lies on axis i - 1 */
        f = constant(x[vertex - 1]);
        f.grad[vertex - 1] = 1.0;
        return f;
    }
    for (int d = 0; d < plan->dim; d++) {
        f.value -= x[d];
        f.grad[d] = -1.0;
    }
    return f;
}

/* l_2 .. l_degree, made homogeneous in the coordinates a and b of the ends: to[0 ..]. With t = 2s - 1 on
 * [0, 1]: l_j = -(1 - t^2) p_(j-2)(t) / sqrt(2 j (j-1)), 1 - t^2 = 4 a b. */
static void kernel_modes(const struct plan *plan, struct jet a, struct jet b, struct jet *to) {
    struct jet ends = product(a, b);
    family_run(&plan->kernels, sum(1.0, b, -1.0, a), sum(1.0, a, 1.0, b), to);
    for (int j = 2; j <= plan->degree; j++) {
        double scale = -4.0 / sqrt(2.0 * j * (j - 1));
        to[j - 2] = product(sum(scale, ends, 0.0, ends), to[j - 2]);
    }
}

static void store(const struct plan *plan, struct jet f, double **value, double **grad) {
    *(*value)++ = f.value;
    for (int d = 0; d < plan->dim && *grad != NULL; d++) *(*grad)++ = f.grad[d];
}

/* With c_0 .. c_d the coordinates of the entity's vertices and s_l = c_0 + .. + c_l the modes are
 *
 *     c_0 .. c_d  F_i(c_1 - c_0, s_1)  G_j(c_2 - s_1, s_2)  H_n(c_3 - s_2, s_3):
 *
 * orthonormal on the entity, where s_d = 1, since the squared bubble is the weight of the families; powers of
 * 2 come from [-1, 1] against [0, 1]. */
static void bubble_modes(const struct plan *plan, int d, const struct jet *c, double **value, double **grad) {
    struct jet *F = plan->scratch[0], *G = plan->scratch[1], *H = plan->scratch[2];
    struct jet bubble = product(c[0], c[1]), s = sum(1.0, c[0], 1.0, c[1]);
    int degree = plan->degree;
    family_run(&plan->base, sum(1.0, c[1], -1.0, c[0]), s, F);
    for (int level = 2; level <= d; level++) {
        struct jet t = sum(1.0, c[level], -1.0, s);
        s = sum(1.0, s, 1.0, c[level]);
        bubble = product(bubble, c[level]);
        for (int m = 0; m < n_bubble_degrees(plan, level); m++)
            family_run(&plan->towers[level][m], t, s, plan->scratch[level - 1] + m * degree);
    }
    for (int n = 0; n < n_bubble_degrees(plan, d); n++)
        for (int m = n; m >= (d > 2 ? 0 : n); m--)
            for (int i = m; i >= 0; i--) {
                double scale = sqrt(ldexp(1.0, 5 + 2 * i + 8 + (d > 2 ? 2 * m + 11 : 0)));
                struct jet f = product(F[i], G[i * degree + m - i]);
                if (d > 2) f = product(f, H[m * degree + n - m]);
                store(plan, product(sum(scale, bubble, 0.0, bubble), f), value, grad);
            }
}

/* Products of kernels along d axes, from[a] and to[a] being the coordinates of their ends, by the largest
 * index; `blend` is 1 on the entity. */
static void product_modes(const struct plan *plan, int d, const struct jet *from, const struct jet *to,
                          struct jet blend, double **value, double **grad) {
    struct jet *const *l = plan->scratch;
    for (int a = 0; a < d; a++) kernel_modes(plan, from[a], to[a], l[a]);
    for (int n = 0; n < plan->degree - 1; n++)
        for (int k = 0; k <= (d > 2 ? n : 0); k++)
            for (int j = 0; j <= (d > 1 ? n : 0); j++)
                for (int i = 0; i <= n; i++) {
                    if (i < n && (d < 2 || j < n) && (d < 3 || k < n)) continue;
                    struct jet f = product(blend, l[0][i]);
                    if (d > 1) f = product(f, l[1][j]);
                    if (d > 2) f = product(f, l[2][k]);
                    store(plan, f, value, grad);
                }
}

/* The modes of the entity of dimension d >= 1 with these vertices, in the frame that their order gives. */
static void entity_modes(const struct plan *plan, int d, const int *vertices, const double *x, double **value,
                         double **grad) {
    enum shape shape = shape_entity_shape(plan->shape, d);
    if (shape_is_simplex(plan->shape)) {
        struct jet c[4];
        for (int i = 0; i <= d; i++) c[i] = vertex_mode(plan, vertices[i], x);
        if (d > 1) {
            bubble_modes(plan, d, c, value, grad);
            return;
        }
        product_modes(plan, 1, c, c + 1, constant(1.0), value, grad);
        return;
    }
    const double *origin = shape_vertices(plan->shape) + vertices[0] * plan->dim;
    struct jet from[3], to[3], blend = constant(1.0);
    int taken = 0;
    for (int a = 0; a < d; a++) {
        const double *end = shape_vertices(plan->shape) + vertices[shape_axis_vertex(shape, a)] * plan->dim;
        for (int b = 0; b < plan->dim; b++) {
            if (origin[b] == end[b]) continue;
            from[a] = factor(origin, b, x);
            to[a] = factor(end, b, x);
            taken |= 1 << b;
        }
    }
    for (int b = 0; b < plan->dim; b++)
        if (!(taken >> b & 1)) blend = product(blend, factor(origin, b, x));
    product_modes(plan, d, from, to, blend, value, grad);
}

static void eval_point(const struct plan *plan, const unsigned char *orientations, const double *x,
                       double *value, double *grad) {
    for (int v = 0; v < shape_n_vertices(plan->shape); v++)
        store(plan, vertex_mode(plan, v, x), &value, &grad);
    for (int d = 1; d <= plan->dim; d++) {
        enum shape shape = shape_entity_shape(plan->shape, d);
        for (int e = 0; e < shape_n_entities(plan->shape, d); e++) {
            const int *ids = shape_entity_vertices(plan->shape, d, e);
            int vertices[SHAPE_MAX_VERTICES], o = 0;
            if (d < plan->dim && orientations != NULL) o = *orientations++;
            for (int i = 0; i < shape_n_vertices(shape); i++)
                vertices[i] = ids[o > 0 ? shape_permutation(shape, o)[i] : i];
            entity_modes(plan, d, vertices, x, &value, &grad);
        }
    }
}

facet_status modal_eval(enum shape shape, int degree, const unsigned char *orientations, int n_points,
                        const double *x, double *values, double *gradients) {
    facet_status status = FACET_OK;
    struct plan plan = {0};
    size_t size = (size_t)basis_size(shape, degree), dim = (size_t)shape_dim(shape);
    if (dim < 1) FAIL(FACET_ERROR_INPUT, "there is no modal basis for the shape %s", shape_name(shape));
    if (degree < 1) FAIL(FACET_ERROR_INPUT, "a modal basis of degree %d: at least 1 is needed", degree);
    TRY(plan_make(shape, degree, &plan));
    for (size_t p = 0; p < (size_t)n_points; p++)
        eval_point(&plan, orientations, x + p * dim, values + p * size,
                   gradients != NULL ? gradients + p * size * dim : NULL);
done:
    plan_free(&plan);
    return status;
}

/* ------------------------------------------------------------------------------------------ frames */

/* The number of the mode l_(i+2) l_(j+2) of a quad, or of l_(i+2) of a segment. */
static int product_number(int dim, int i, int j) {
    int n = i > j ? i : j;
    return dim == 1 ? i : n * n + (j < n ? j : n + i);
}

/* Axis d of the frame runs along one axis of the shape, perhaps backwards. */
static void turn_products(enum shape shape, int degree, const int *permutation, double *T) {
    const double *v = shape_vertices(shape), *origin;
    int dim = shape_dim(shape), n = modal_n_interior(shape, degree), along[2] = {0}, backwards[2] = {0};
    origin = v + permutation[0] * dim;
    for (int d = 0; d < dim; d++) {
        const double *end = v + permutation[shape_axis_vertex(shape, d)] * dim;
        for (int a = 0; a < dim; a++)
            if (origin[a] != end[a]) along[d] = a, backwards[d] = origin[a] > end[a];
    }
    for (int j = 0; j < (dim > 1 ? degree - 1 : 1); j++)
        for (int i = 0; i < degree - 1; i++) {
            int frame[2] = {i, j}, local[2] = {0}, odd = 0;
            for (int d = 0; d < dim; d++) {
                local[along[d]] = frame[d];
                odd += backwards[d] * frame[d];
            }
            T[product_number(dim, i, j) * n + product_number(dim, local[0], local[1])] = odd % 2 ? -1.0 : 1.0;
        }
}

/* Orthonormal modes of one degree span what they span in any other frame. */
static facet_status turn_bubbles(int degree, int orientation, double *T) {
    facet_status status = FACET_OK;
    const int *permutation = shape_permutation(SHAPE_TRIANGLE, orientation);
    const double *v = shape_vertices(SHAPE_TRIANGLE), *origin = v + 2 * permutation[0];
    int size = basis_size(SHAPE_TRIANGLE, degree), n = modal_n_interior(SHAPE_TRIANGLE, degree);
    struct rule rule = {0};
    double *x = NULL, *frame = NULL, *local = NULL;
    TRY(rule_create(SHAPE_TRIANGLE, 2 * degree, &rule));
    TRY(ALLOC(x, 2 * rule.n));
    TRY(ALLOC(frame, rule.n * size));
    TRY(ALLOC(local, rule.n * size));
    for (int q = 0; q < rule.n; q++)
        for (int a = 0; a < 2; a++) {
            x[2 * q + a] = origin[a];
            for (int d = 0; d < 2; d++)
                x[2 * q + a] += rule.x[2 * q + d] * (v[2 * permutation[d + 1] + a] - origin[a]);
        }
    TRY(modal_eval(SHAPE_TRIANGLE, degree, NULL, rule.n, rule.x, frame, NULL));
    TRY(modal_eval(SHAPE_TRIANGLE, degree, NULL, rule.n, x, local, NULL));
    for (int m = 0, i = 0; m < degree - 2; m++)
        for (int first = i; i <= first + m; i++)
            for (int j = first; j <= first + m; j++)
                for (int q = 0; q < rule.n; q++)
                    T[i * n + j] += rule.w[q] * frame[(q + 1) * size - n + i] * local[(q + 1) * size - n + j];
done:
    rule_destroy(&rule);
    base_free(&x);
    base_free(&frame);
    base_free(&local);
    return status;
}

facet_status modal_turn(enum shape shape, int degree, int orientation, double *T) {
    int n = modal_n_interior(shape, degree);
    memset(T, 0, (size_t)(n * n) * sizeof *T);
    if (shape == SHAPE_TRIANGLE) return turn_bubbles(degree, orientation, T);
    turn_products(shape, degree, shape_permutation(shape, orientation), T);
    return FACET_OK;
}
