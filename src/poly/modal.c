/* Modal bases. Everything is a product of linear functions and of homogeneous Jacobi polynomials
 *
 *     F_n(t, s) = s^n p_n(t/s),    F_(n+1) = (A t - B s) F_n - C s^2 F_(n-1),
 *
 * with p_n orthonormal on [-1, 1] for the weight (1-t)^a (1+t)^b, evaluated without a division. */
#include "poly/modal.h"

#include <math.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/jacobi.h"

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
    struct family kernels; /* of l_2 .. l_degree: weight (1-t)(1+t) */
    struct family base;    /* triangles: weight (1-t)^2 (1+t)^2 along the base */
    struct family *towers; /* triangles, for each degree i on the base: (1-t)^(2i+5) (1+t)^2 */
    struct jet *F, *G;     /* scratch, `degree` each */
};

static void plan_free(struct plan *plan) {
    base_free(&plan->kernels.steps);
    base_free(&plan->base.steps);
    for (int i = 0; plan->towers != NULL && i < plan->base.n; i++) base_free(&plan->towers[i].steps);
    base_free(&plan->towers);
    base_free(&plan->F);
    base_free(&plan->G);
}

static facet_status plan_make(enum shape shape, int degree, struct plan *plan) {
    facet_status status = FACET_OK;
    *plan = (struct plan){.shape = shape, .degree = degree, .dim = shape_dim(shape)};
    TRY(family_create(degree - 1, 1, 1, &plan->kernels));
    TRY(ALLOC(plan->F, degree));
    TRY(ALLOC(plan->G, degree));
    if (shape == SHAPE_TRIANGLE && degree >= 3) {
        TRY(family_create(degree - 2, 2, 2, &plan->base));
        TRY(CALLOC(plan->towers, plan->base.n));
        for (int i = 0; i < plan->base.n; i++)
            TRY(family_create(degree - 2 - i, 2 * i + 5, 2, &plan->towers[i]));
    }
done:
    if (status != FACET_OK) plan_free(plan);
    return status;
}

static int n_edges(enum shape shape) {
    return shape_dim(shape) > 1 ? shape_n_faces(shape) : 0;
}

int modal_n_boundary(enum shape shape, int degree) {
    return shape_n_vertices(shape) + n_edges(shape) * (degree - 1);
}

int modal_n_interior(enum shape shape, int degree) {
    return basis_size(shape, degree) - modal_n_boundary(shape, degree);
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

static void edge_modes(const struct plan *plan, int edge, int orientation, const double *x, struct jet *to) {
    const int *ids = shape_face_vertices(plan->shape, edge);
    const int *order = shape_permutation(SHAPE_SEGMENT, orientation);
    int from = ids[order[0]], end = ids[order[1]];
    if (shape_is_simplex(plan->shape)) {
        kernel_modes(plan, vertex_mode(plan, from, x), vertex_mode(plan, end, x), to);
        return;
    }
    const double *v = shape_vertices(plan->shape) + from * plan->dim;
    const double *w = shape_vertices(plan->shape) + end * plan->dim;
    struct jet blend = constant(1.0);
    for (int d = 0; d < plan->dim; d++) {
        if (v[d] == w[d])
            blend = product(blend, factor(v, d, x));
        else
            kernel_modes(plan, factor(v, d, x), factor(w, d, x), to);
    }
    for (int j = 0; j < plan->degree - 1; j++) to[j] = product(blend, to[j]);
}

static void store(const struct plan *plan, struct jet f, double **value, double **grad) {
    *(*value)++ = f.value;
    for (int d = 0; d < plan->dim && *grad != NULL; d++) *(*grad)++ = f.grad[d];
}

/* x y (1-x-y) s^i p_i(t/s) p_j(2y-1), s = 1-y, t = 2x-s: orthonormal, since the squared bubble is the weight
 * of both families; powers of 2 come from [-1, 1] against [0, 1]. */
static void triangle_interior(struct plan *plan, const double *x, double **value, double **grad) {
    struct jet a = vertex_mode(plan, 0, x), b = vertex_mode(plan, 1, x), c = vertex_mode(plan, 2, x);
    struct jet bubble = product(product(a, b), c), one = constant(1.0);
    family_run(&plan->base, sum(1.0, b, -1.0, a), sum(1.0, a, 1.0, b), plan->F);
    for (int n = 0; n + 3 <= plan->degree; n++)
        for (int i = n; i >= 0; i--) {
            family_run(&plan->towers[i], sum(2.0, c, -1.0, one), one, plan->G);
            double scale = sqrt(ldexp(1.0, 5 + 2 * i + 8));
            store(plan, product(sum(scale, bubble, 0.0, bubble), product(plan->F[i], plan->G[n - i])), value,
                  grad);
        }
}

static void quad_interior(struct plan *plan, const double *x, double **value, double **grad) {
    static const double ends[2] = {1.0, 1.0};
    struct jet a = factor(ends, 0, x), b = factor(ends, 1, x), one = constant(1.0);
    kernel_modes(plan, sum(1.0, one, -1.0, a), a, plan->F);
    kernel_modes(plan, sum(1.0, one, -1.0, b), b, plan->G);
    for (int n = 0; n < plan->degree - 1; n++)
        for (int j = 0; j <= n; j++)
            for (int i = 0; i <= n; i++)
                if (i == n || j == n) store(plan, product(plan->F[i], plan->G[j]), value, grad);
}

static void eval_point(struct plan *plan, const unsigned char *orientations, const double *x, double *value,
                       double *grad) {
    for (int v = 0; v < shape_n_vertices(plan->shape); v++)
        store(plan, vertex_mode(plan, v, x), &value, &grad);
    if (plan->shape == SHAPE_SEGMENT) {
        kernel_modes(plan, vertex_mode(plan, 0, x), vertex_mode(plan, 1, x), plan->F);
        for (int j = 0; j < plan->degree - 1; j++) store(plan, plan->F[j], &value, &grad);
        return;
    }
    for (int e = 0; e < n_edges(plan->shape); e++) {
        edge_modes(plan, e, orientations != NULL ? orientations[e] : 0, x, plan->F);
        for (int j = 0; j < plan->degree - 1; j++) store(plan, plan->F[j], &value, &grad);
    }
    if (plan->shape == SHAPE_TRIANGLE)
        triangle_interior(plan, x, &value, &grad);
    else
        quad_interior(plan, x, &value, &grad);
}

facet_status modal_eval(enum shape shape, int degree, const unsigned char *orientations, int n_points,
                        const double *x, double *values, double *gradients) {
    facet_status status = FACET_OK;
    struct plan plan = {0};
    size_t size = (size_t)basis_size(shape, degree), dim = (size_t)shape_dim(shape);
    if (shape != SHAPE_SEGMENT && shape != SHAPE_TRIANGLE && shape != SHAPE_QUAD)
        FAIL(FACET_ERROR_INPUT, "there is no modal basis for the shape %s", shape_name(shape));
    if (degree < 1) FAIL(FACET_ERROR_INPUT, "a modal basis of degree %d: at least 1 is needed", degree);
    TRY(plan_make(shape, degree, &plan));
    for (size_t p = 0; p < (size_t)n_points; p++)
        eval_point(&plan, orientations, x + p * dim, values + p * size,
                   gradients != NULL ? gradients + p * size * dim : NULL);
done:
    plan_free(&plan);
    return status;
}
