/* Vectors in lanes: from plain modes and back, and the operators on them. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/lanes.h"

/* ------------------------------------------------------------------------------------------ plain modes */

int64_t boxhdg_lanes_face(const struct boxhdg_lanes *lanes, const struct box_face_pack *f, int lane) {
    const int L = lanes->plan.lanes;
    const struct box_plan *p = &lanes->plan;
    const struct box_grid *g = &lanes->hdg->grid;
    int at[3] = {f->at[0] * L + lane, f->at[1], f->at[2]}, cell[3];
    if (f->at[0] < 0 ? lane != L - 1 : at[0] >= p->cells[0]) return -1;
    int side = at[f->axis] >= 0;
    if (side == 0) at[f->axis] = 0;
    if (side == 1 && at[f->axis] == p->cells[f->axis] - 1 && p->fixed[f->axis][1]) return -1;
    boxhdg_lanes_place(lanes, at, cell);
    return box_face(g, cell, lanes->direction[f->axis], side);
}

/* b b of mode t of every lane of a face-pack, or one over it: n x LANES. */
static void face_scales(const struct boxhdg_lanes *lanes, const struct box_face_pack *f, int inverse,
                        double *scales) {
    const int L = lanes->plan.lanes;
    const struct box_plan *p = &lanes->plan;
    int slow = f->axis == 0 ? 1 : 0, fast = f->axis == 2 ? 1 : 2, width = slow == 0 ? L : 1;
    const double *outer = lanes->b[slow] + (int64_t)box_column(f, slow) * p->modes[slow] * width;
    const double *inner = lanes->b[fast] + (int64_t)box_column(f, fast) * p->modes[fast];
    double along[BOX_MAX_DEGREE + 1];
    for (int b = 0; b < p->modes[fast]; b++) along[b] = inverse ? 1.0 / inner[b] : inner[b];
    for (int a = 0; a < p->modes[slow]; a++)
        for (int lane = 0; lane < L; lane++) {
            const double own = outer[a * width + (width > 1 ? lane : 0)], scale = inverse ? 1.0 / own : own;
            for (int b = 0; b < p->modes[fast]; b++)
                scales[box_face_mode(p, slow, fast, a, b) * L + lane] = scale * along[b];
        }
}

/* One face-pack to lanes, or (from NULL) back from them. */
static void convert_face(const struct boxhdg_lanes *lanes, int64_t number, enum boxhdg_scaling scaling,
                         const double *from, double *plain, double *packed, double *scales) {
    const int back = from == NULL;
    const int L = lanes->plan.lanes;
    const struct box_plan *p = &lanes->plan;
    struct box_face_pack face = box_face_pack(p, number, L);
    const int32_t *order = lanes->order[face.axis];
    int64_t n = p->face[face.axis];
    face_scales(lanes, &face, (scaling == BOXHDG_UNKNOWN) != back, scales);
    for (int lane = 0; lane < L; lane++) {
        int64_t first = boxhdg_lanes_face(lanes, &face, lane) * n;
        double *to = packed + face.begin + lane;
        if (first < 0)
            for (int64_t t = 0; !back && t < n; t++) to[t * L] = 0.0;
        else if (back)
            for (int64_t t = 0; t < n; t++) plain[first + order[t]] = to[t * L] * scales[t * L + lane];
        else
            for (int64_t t = 0; t < n; t++) to[t * L] = from[first + order[t]] * scales[t * L + lane];
    }
}

/* By way of the host where the vector is not there, or not of double precision. */
static facet_status convert(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling, const double *from,
                            double *plain, struct vector *v) {
    const int L = lanes->plan.lanes, back = from == NULL;
    facet_status status = FACET_OK;
    int64_t n = lanes->plan.n_faces;
    double *staged = NULL, *packed = v->precision == F64 ? device_seen(v->device, v->data) : NULL;
    double *scales = NULL; /* of a face-pack, for every thread */
    int64_t n_scales = 0;
    for (int axis = 0; axis < 3; axis++)
        if (lanes->plan.face[axis] * L > n_scales) n_scales = lanes->plan.face[axis] * L;
    TRY(ALLOC(scales, base_threads() * n_scales));
    if (packed == NULL) TRY(ALLOC(staged, lanes->plan.size));
    if (packed == NULL && back) TRY(vector_download(v, staged));
    if (packed == NULL) packed = staged;
#pragma omp parallel for num_threads(base_threads_for(lanes->plan.size)) schedule(static)
    for (int64_t number = 0; number < n; number++)
        convert_face(lanes, number, scaling, from, plain, packed, scales + n_scales * omp_get_thread_num());
    if (staged != NULL && !back) TRY(vector_upload(v, staged));
done:
    base_free(&staged);
    base_free(&scales);
    return status;
}

facet_status boxhdg_lanes_pack(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling,
                               const double *plain, struct vector *to) {
    return convert(lanes, scaling, plain, NULL, to);
}

facet_status boxhdg_lanes_unpack(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling,
                                 const struct vector *from, double *plain) {
    struct vector v = *from;
    return convert(lanes, scaling, NULL, plain, &v);
}

/* ------------------------------------------------------------------------------------------ kernels */

static void *numbers(const struct vector *v) {
    return v != NULL ? v->numbers : NULL;
}

/* What this block makes of a step. */
static double take_step(const struct boxhdg_lanes *lanes, const struct box_step *step, const struct vector *f,
                        const struct vector *r, const struct vector *e, struct vector *d, struct vector *x,
                        struct vector *y) {
    return device_box_step(lanes->device, lanes->precision, &lanes->plan, step, numbers(f), numbers(r),
                           numbers(e), d->numbers, numbers(x), numbers(y));
}

double boxhdg_lanes_step(const struct boxhdg_lanes *lanes, const struct box_step *step,
                         const struct vector *f, struct vector *r, const struct vector *e, struct vector *d,
                         struct vector *x, struct vector *y) {
    const double dot = take_step(lanes, step, f, r, e, d, x, y);
    if (step->product) seam_add(lanes->seam, y);
    return dot;
}

void boxhdg_lanes_residual(const struct boxhdg_lanes *lanes, double alpha, const struct vector *y,
                           struct vector *r, struct vector *moments, double sums[2]) {
    device_box_residual(lanes->device, lanes->precision, &lanes->plan, alpha, y->numbers, r->numbers,
                        numbers(moments), sums);
}

/* ------------------------------------------------------------------------------------------ operators */

static void box_apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    struct vector d = *x;
    boxhdg_lanes_step(A->of, &(struct box_step){.product = 1}, NULL, NULL, NULL, &d, NULL, y);
}

static void free_lanes(struct linear_operator *A) {
    struct boxhdg_lanes *lanes = A->data;
    boxhdg_lanes_destroy(&lanes);
    A->data = NULL;
}

static facet_status box_to_single(const struct linear_operator *A, struct linear_operator *S) {
    const struct boxhdg_lanes *lanes = A->of;
    struct boxhdg_lanes *rounded = NULL;
    facet_status status = boxhdg_lanes_create(lanes->device, lanes->hdg, 1, &rounded);
    if (status != FACET_OK) return status;
    operator_create_box(rounded, S);
    S->data = rounded;
    S->free = free_lanes;
    return FACET_OK;
}

/* The parts of a product q become their sums; that of p . q goes round while the messages are on their way.
 */
static double add_parts(const struct boxhdg_lanes *lanes, double dot, struct vector *q) {
    if (lanes->seam == NULL) return dot;
    facet_status begun = seam_add_begin(lanes->seam, q);
    dot = box_all(&lanes->hdg->grid, TEAM_SUM, dot);
    seam_add_end(lanes->seam, begun, q);
    return dot;
}

static double box_advance(const struct linear_operator *A, double alpha, double beta, const struct vector *r,
                          const struct vector *e, struct vector *p, struct vector *x, struct vector *q) {
    const struct boxhdg_lanes *lanes = A->of;
    struct box_step step = {
        .direction = r != NULL, .product = q != NULL, .x_old = alpha, .a = 1.0, .b = beta};
    double dot = take_step(lanes, &step, NULL, r, e, p, alpha != 0.0 ? x : NULL, q);
    return q != NULL ? add_parts(lanes, dot, q) : dot;
}

static void box_reduce(const struct linear_operator *A, double alpha, const struct vector *q,
                       struct vector *r, struct vector *moments, double sums[2]) {
    boxhdg_lanes_residual(A->of, alpha, q, r, moments, sums);
    boxhdg_lanes_join_sums(A->of, BOXHDG_RESIDUAL, r, sums);
}

static double box_form(const struct linear_operator *A, const struct vector *r, const struct vector *e,
                       struct vector *q) {
    const struct boxhdg_lanes *lanes = A->of;
    double dot =
        device_box_form(lanes->device, lanes->precision, &lanes->plan, r->numbers, numbers(e), q->numbers);
    return add_parts(lanes, dot, q);
}

static void box_recur(const struct linear_operator *A, const struct operator_recurrence *by,
                      const struct vector *q, const struct vector *r, const struct vector *e_r,
                      struct vector *s, const struct vector *e_s, struct vector *p, struct vector *x,
                      struct vector *moments, double sums[2]) {
    const struct boxhdg_lanes *lanes = A->of;
    const struct box_recurrence step = {
        .a = {by->a[0], by->a[1]}, .b = {by->b[0], by->b[1]}, .alpha = by->alpha, .c = by->c};
    device_box_recur(lanes->device, lanes->precision, &lanes->plan, &step, q->numbers, r->numbers,
                     numbers(e_r), s->numbers, numbers(e_s), p->numbers, numbers(x), numbers(moments), sums);
    boxhdg_lanes_join_sums(lanes, BOXHDG_RESIDUAL, s, sums);
}

/* As residuals are measured, which are multiplied by b b where unknowns are divided by it. */
static double box_size(const struct linear_operator *A, const struct vector *x) {
    const struct boxhdg_lanes *lanes = A->of;
    struct box_plan plan = lanes->plan;
    double sums[2];
    for (int axis = 0; axis < 3; axis++) {
        plan.f64.inverses[axis] = plan.f64.squares[axis];
        plan.f32.inverses[axis] = plan.f32.squares[axis];
    }
    device_box_residual(lanes->device, lanes->precision, &plan, 0.0, x->numbers, x->numbers, NULL, sums);
    boxhdg_lanes_join_sums(lanes, BOXHDG_UNKNOWN, x, sums);
    return sqrt(sums[1]);
}

void operator_create_box(const struct boxhdg_lanes *lanes, struct linear_operator *A) {
    /* The host has the update of the directions in cache when it multiplies: two terms move as few vectors
     * there. */
    static const struct operator_steps two = {.advance = box_advance, .reduce = box_reduce, .size = box_size},
                                       three = {.advance = box_advance,
                                                .reduce = box_reduce,
                                                .size = box_size,
                                                .form = box_form,
                                                .recur = box_recur};
    *A = (struct linear_operator){.n = lanes->plan.size,
                                  .device = lanes->device,
                                  .apply = box_apply,
                                  .of = lanes,
                                  .name = "HDG on a box",
                                  .precision = lanes->precision,
                                  .seam = seam_hold(lanes->seam),
                                  .to_single = lanes->precision == F32 ? NULL : box_to_single,
                                  .steps = device_is_host(lanes->device) ? &two : &three};
}

static void diagonal_apply(const struct linear_operator *D, const struct vector *x, struct vector *y) {
    struct vector r = *x;
    boxhdg_lanes_step(D->of, &(struct box_step){.direction = 1, .a = 1.0}, NULL, &r, NULL, y, NULL, NULL);
}

void operator_create_box_diagonal(const struct boxhdg_lanes *lanes, struct linear_operator *D) {
    operator_create_box(lanes, D);
    D->apply = diagonal_apply;
    D->to_single = NULL;
    D->steps = NULL;
    D->name = "the diagonal of HDG on a box";
}

/* ------------------------------------------------------------------------------------------ constants */

/* 1 at the vertices of the lattice that are not on Dirichlet sides. */
static facet_status make_ones(const struct boxhdg_lanes *lanes, struct vector *vertices) {
    facet_status status = FACET_OK;
    const struct box_plan *p = &lanes->plan;
    double *ones = NULL;
    int size[3];
    box_lattice(p, p->lanes, size);
    int64_t n = (int64_t)size[0] * size[1] * size[2];
    TRY(ALLOC(ones, n));
    for (int64_t i = 0; i < n; i++) {
        int at[3] = {(int)(i % size[0]), (int)(i / size[0] % size[1]), (int)(i / size[0] / size[1])};
        ones[i] = at[0] <= p->cells[0];
        for (int axis = 0; axis < 3; axis++)
            if (p->present[axis] &&
                ((at[axis] == 0 && p->fixed[axis][0]) || (at[axis] == p->cells[axis] && p->fixed[axis][1])))
                ones[i] = 0.0;
    }
    TRY(vector_create(lanes->device, n, vertices));
    TRY(vector_upload(vertices, ones));
done:
    base_free(&ones);
    return status;
}

/* From an unknown to a residual with the same plain modes. */
static void to_residual(const struct boxhdg_lanes *lanes, struct vector *v) {
    const struct box_plan *p = &lanes->plan;
    if (lanes->precision == F32)
        device_box_scale(lanes->device, F32, p, p->f32.squares[0], p->f32.squares[1], p->f32.squares[2],
                         v->numbers);
    else
        device_box_scale(lanes->device, F64, p, p->f64.squares[0], p->f64.squares[1], p->f64.squares[2],
                         v->numbers);
}

facet_status boxhdg_lanes_constant(const struct boxhdg_lanes *lanes, enum boxhdg_scaling scaling,
                                   struct vector *v) {
    facet_status status = FACET_OK;
    const struct box_plan *p = &lanes->plan;
    const struct box_step spread = {.direction = 1};
    struct vector vertices = {0}, coefficients = {0};
    TRY(make_ones(lanes, &vertices));
    TRY(boxhdg_lanes_vector(lanes, p->n_faces * KERNEL_BOX_MOMENTS * p->lanes, &coefficients));
    device_box_prolong(lanes->device, lanes->precision, p, vertices.data, coefficients.numbers);
    vector_fill(v, 0.0);
    boxhdg_lanes_step(lanes, &spread, NULL, v, &coefficients, v, NULL, NULL);
    if (scaling == BOXHDG_RESIDUAL) to_residual(lanes, v);
done:
    vector_destroy(&vertices);
    vector_destroy(&coefficients);
    return status;
}
