/* Whole steps on boxes: updates of vectors fused with the product layer by layer, while a layer is in cache;
 * and the way to the coarse space and back. For numbers of type REAL, as box_real.h. */
#include "kernels/simd/box_real.h"

/* n numbers without a coarse part. The flags are constants where it matters. */
INLINE void NAME(update_range)(const struct box_step *step, int subtract, int direction, int with_x,
                               int64_t n, const REAL *f, const REAL *D, REAL *r, REAL *d, REAL *x,
                               const REAL *y) {
    REAL x_old = (REAL)step->x_old, x_new = (REAL)step->x_new, a = (REAL)step->a, b = (REAL)step->b;
    int keeps_d = b != 0 || x_old != 0;
    const PACKET *F = (const PACKET *)f, *DD = (const PACKET *)D, *Y = (const PACKET *)y;
    PACKET *R = (PACKET *)r, *dd = (PACKET *)d, *X = (PACKET *)x;
    for (int64_t i = 0; i < n / L * PARTS; i++) {
        if (f != NULL) R[i] = subtract ? (PACKET)(F[i] - Y[i]) : F[i];
        if (!direction) continue;
        PACKET old = {0}, next = a * DD[i] * R[i];
        if (keeps_d) {
            old = dd[i];
            next += b * old;
        }
        dd[i] = next;
        if (with_x) X[i] = (step->assign ? (PACKET){0} : X[i]) + x_old * old + x_new * next;
    }
}

/* Numbers begin .. begin+n-1, whose diagonal is D. */
#define FROM(v) ((v) != NULL ? (v) + begin : NULL)
static void NAME(update_plain)(const struct box_step *step, int64_t begin, int64_t n, const REAL *f,
                               const REAL *D, REAL *r, REAL *d, REAL *x, const REAL *y) {
    f = FROM(f), r = FROM(r), d = FROM(d), x = FROM(x), y = FROM(y);
    if (f != NULL && step->subtract && step->direction && x != NULL)
        NAME(update_range)(step, 1, 1, 1, n, f, D, r, d, x, y);
    else if (f == NULL && step->direction && x != NULL)
        NAME(update_range)(step, 0, 1, 1, n, NULL, D, r, d, x, y);
    else
        NAME(update_range)(step, step->subtract, step->direction, x != NULL, n, f, D, r, d, x, y);
}
#undef FROM

/* Tables of the two tangential axes of a face-pack: lanes of the slow one are spread where it is not x. */
struct NAME(tangent) {
    int slow, fast;
    const LANE *lanes;
    const REAL *outer, *inner;
};
INLINE struct NAME(tangent)
    NAME(tangent)(const struct box_plan *p, const REAL *const table[3], const struct box_face_pack *f) {
    struct NAME(tangent) t = {.slow = f->axis == 0 ? 1 : 0, .fast = f->axis == 2 ? 1 : 2};
    t.inner = table[t.fast] + (int64_t)box_column(f, t.fast) * p->modes[t.fast];
    if (t.slow == 0)
        t.lanes = (const LANE *)table[0] + (int64_t)box_column(f, 0) * p->modes[0];
    else
        t.outer = table[1] + (int64_t)box_column(f, 1) * p->modes[1];
    return t;
}
/* A part of the slow one. */
INLINE PACKET NAME(outer)(const struct NAME(tangent) * t, int mode, int part) {
    return t->lanes != NULL ? ((const PACKET *)(t->lanes + mode))[part]
                            : (PACKET)((PACKET){0} + t->outer[mode]);
}

/* d = a D r + P e + b d and x += x_old d on one face-pack: the step of conjugate gradients. */
INLINE void NAME(update_face_by)(const struct box_plan *p, const struct box_step *step,
                                 const struct box_face_pack *face, const REAL *r, const PACKET *e, REAL *d,
                                 REAL *x, int keeps_d, int assign) {
    const TABLES *n = NUMBERS(p);
    struct NAME(tangent) hats = NAME(tangent)(p, n->hats, face);
    REAL x_old = (REAL)step->x_old, x_new = (REAL)step->x_new, a = (REAL)step->a, b = (REAL)step->b;
    const PACKET *R = (const PACKET *)(r + face->begin),
                 *D = (const PACKET *)(n->diagonal + box_diagonal_begin(p, face, L));
    PACKET *dd = (PACKET *)(d + face->begin), *X = x != NULL ? (PACKET *)(x + face->begin) : NULL;
    for (int block = 0; block < 4; block++) {
        int q[2] = {block >> 1, block & 1};
        int first = box_first(p, hats.slow, q[0]), count = box_count(p, hats.fast, q[1]);
        const REAL *inner = hats.inner + box_first(p, hats.fast, q[1]);
        int64_t t = box_block(p, hats.slow, hats.fast, q[0], q[1]) * PARTS;
        for (int o = first; o < first + box_count(p, hats.slow, q[0]); o++) {
            PACKET c[PARTS];
            EACH_PART(part) c[part] = e[block * PARTS + part] * NAME(outer)(&hats, o, part);
            for (int i = 0; i < count; i++) EACH_PART(part) {
                    PACKET old = {0}, next = a * D[t] * R[t] + c[part] * inner[i];
                    if (keeps_d) {
                        old = dd[t];
                        next += b * old;
                    }
                    dd[t] = next;
                    if (X != NULL) X[t] = (assign ? (PACKET){0} : X[t]) + x_old * old + x_new * next;
                    t++;
                }
        }
    }
}

/* What conjugate gradients do in every step but the first and the last is a loop without questions. */
static void NAME(update_face)(const struct box_plan *p, const struct box_step *step,
                              const struct box_face_pack *face, const REAL *r, const PACKET *e, REAL *d,
                              REAL *x) {
    int keeps_d = step->b != 0 || step->x_old != 0;
    if (x != NULL && keeps_d && !step->assign)
        NAME(update_face_by)(p, step, face, r, e, d, x, 1, 0);
    else
        NAME(update_face_by)(p, step, face, r, e, d, x, keeps_d, step->assign);
}

/* What precedes the product on face-packs first .. last-1, which fill numbers begin .. end-1. */
static void NAME(update)(const struct box_plan *p, const struct box_step *step, int64_t first, int64_t last,
                         int64_t begin, int64_t end, const REAL *f, REAL *r, const REAL *e, REAL *d, REAL *x,
                         const REAL *y) {
    const REAL *D = NUMBERS(p)->diagonal;
    struct box_step residual = *step;
    const int faces = step->direction && (e != NULL || p->alike);
    if (f == NULL && !step->direction) return;
    residual.direction = step->direction && !faces;
    if (f != NULL || !faces) NAME(update_plain)(&residual, begin, end - begin, f, D + begin, r, d, x, y);
    for (int64_t number = first; faces && number < last; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        if (e == NULL) NAME(update_plain)
        (step, face.begin, p->face[face.axis] * L, NULL, D + box_diagonal_begin(p, &face, L), r, d, x, y);
        else NAME(update_face)(p, step, &face, r, (const PACKET *)e + number * KERNEL_BOX_MOMENTS * PARTS, d,
                               x);
    }
}

#define LAYER(l)                                                                                             \
    NAME(update)                                                                                             \
    (p, step, p->front_faces + (l)*p->layer_faces, p->front_faces + ((l) + 1) * p->layer_faces,              \
     p->front + (l)*p->layer, p->front + ((l) + 1) * p->layer, f, r, e, d, x, y)

#ifndef BOX_THREADS
#    define BOX_THREADS 64
#    define BOX_FACES   1024 /* face-packs below which a parallel region costs more than it gains */
/* Threads that have layers to work on, in a loop over `points`. */
static int box_threads(const struct box_plan *p, int64_t points) {
    int n = base_threads_for(points);
    if (n > p->threads) n = p->threads;
    if (n > BOX_THREADS) n = BOX_THREADS;
    if (n > p->cells[2]) n = p->cells[2];
    return n;
}
static int64_t box_points(const struct box_plan *p) {
    return (int64_t)p->packs * L * p->cells[1] * p->cells[2] * p->modes[0] * p->modes[1] * p->modes[2];
}
#endif

double NAME(box_step)(const struct box_plan *p, const struct box_step *step, const REAL *f, REAL *r,
                      const REAL *e, REAL *d, REAL *x, REAL *y) {
    int n_threads = box_threads(p, step->product ? box_points(p) : p->size);
    double dots[BOX_THREADS] = {0}, sum = 0.0;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        struct NAME(workspace) w;
        int thread = omp_get_thread_num(), team = omp_get_num_threads();
        int first = (int)((int64_t)p->cells[2] * thread / team);
        int last = (int)((int64_t)p->cells[2] * (thread + 1) / team) - 1;
        NAME(workspace_lay_out)(p, thread, &w);
        /* The neighbour above, or around a period, needs the last layer. */
        if (thread == 0) NAME(update)(p, step, 0, p->front_faces, 0, p->front, f, r, e, d, x, y);
        if (last >= first) LAYER(last);
#pragma omp barrier
        for (int l = first; l <= last; l++) {
            if (l < last) LAYER(l);
            if (step->product) NAME(layer)(p, l, l == first, d, y, &w);
        }
#pragma omp barrier
        if (step->product && last >= first) NAME(add_below)(p, first, y, &w);
        dots[thread] = w.dot;
    }
    for (int i = 0; i < n_threads; i++) sum += dots[i];
    return sum;
}
#undef LAYER

INLINE double NAME(total)(const PACKET *v) {
    double sum = 0.0;
    for (int i = 0; i < L; i++) sum += (double)((const REAL *)v)[i];
    return sum;
}

/* One face-pack of box_residual. */
INLINE void NAME(residual_face)(const struct box_plan *p, const struct box_face_pack *face, REAL alpha,
                                const REAL *y, REAL *r, PACKET *moments, double sums[2]) {
    const TABLES *n = NUMBERS(p);
    struct NAME(tangent) hats = NAME(tangent)(p, n->hats, face);
    struct NAME(tangent) inverses = NAME(tangent)(p, n->inverses, face);
    const PACKET *Y = (const PACKET *)(y + face->begin),
                 *D = (const PACKET *)(n->diagonal + box_diagonal_begin(p, face, L));
    PACKET *R = (PACKET *)(r + face->begin), product[PARTS] = {{0}}, norm[PARTS] = {{0}};
    for (int block = 0; block < 4; block++) {
        int q[2] = {block >> 1, block & 1};
        int first = box_first(p, hats.slow, q[0]), start = box_first(p, hats.fast, q[1]);
        int count = box_count(p, hats.fast, q[1]);
        int64_t t = box_block(p, hats.slow, hats.fast, q[0], q[1]) * PARTS;
        PACKET moment[PARTS] = {{0}};
        for (int o = first; o < first + box_count(p, hats.slow, q[0]); o++) {
            PACKET line[PARTS] = {{0}}, square[PARTS] = {{0}}, energy[PARTS] = {{0}};
            for (int i = start; i < start + count; i++) EACH_PART(part) {
                    PACKET value = R[t] - alpha * Y[t];
                    R[t] = value;
                    line[part] += value * hats.inner[i];
                    square[part] += value * value * inverses.inner[i];
                    energy[part] += value * (D[t] * value);
                    t++;
                }
            EACH_PART(part) {
                moment[part] += line[part] * NAME(outer)(&hats, o, part);
                norm[part] += square[part] * NAME(outer)(&inverses, o, part);
                product[part] += energy[part];
            }
        }
        if (moments != NULL) EACH_PART(part) moments[block * PARTS + part] = moment[part];
    }
    sums[0] += NAME(total)(product);
    sums[1] += NAME(total)(norm);
}

void NAME(box_residual)(const struct box_plan *p, double alpha, const REAL *y, REAL *r, REAL *moments,
                        double *sums) {
    int n_threads = box_threads(p, p->size);
    double parts[BOX_THREADS][2] = {{0}};
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        int thread = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t first = p->n_faces * thread / team, last = p->n_faces * (thread + 1) / team;
        double part[2] = {0};
        for (int64_t number = first; number < last; number++) {
            struct box_face_pack face = box_face_pack(p, number, L);
            PACKET *m = moments != NULL ? (PACKET *)moments + number * KERNEL_BOX_MOMENTS * PARTS : NULL;
            NAME(residual_face)(p, &face, (REAL)alpha, y, r, m, part);
        }
        parts[thread][0] = part[0];
        parts[thread][1] = part[1];
    }
    sums[0] = sums[1] = 0.0;
    for (int i = 0; i < n_threads; i++) {
        sums[0] += parts[i][0];
        sums[1] += parts[i][1];
    }
}

/* The four corners of lane 0 of a face-pack in the lattice; the other lanes follow. */
static void NAME(corners)(const struct box_plan *p, const struct box_face_pack *f, int64_t corner[4]) {
    int size[3], at[3] = {f->at[0] * L, f->at[1], f->at[2]};
    int slow = f->axis == 0 ? 1 : 0, fast = f->axis == 2 ? 1 : 2;
    box_lattice(p, L, size);
    at[f->axis]++;
    for (int c = 0; c < 4; c++) {
        int v[3] = {at[0], at[1], at[2]};
        v[slow] += p->present[slow] ? c / 2 : 0;
        v[fast] += p->present[fast] ? c % 2 : 0;
        corner[c] = ((int64_t)v[2] * size[1] + v[1]) * size[0] + v[0];
    }
}

/* 1 for the lanes of a face-pack that are faces. */
static lane NAME(mask)(const struct box_plan *p, const struct box_face_pack *f) {
    lane mask = {0};
    for (int i = 0; i < L; i++) mask[i] = f->at[0] < 0 ? i == L - 1 : f->at[0] * L + i < p->cells[0];
    return mask;
}

void NAME(box_prolong)(const struct box_plan *p, const double *vertices, REAL *coefficients) {
    int n_threads = box_threads(p, p->size);
#pragma omp parallel for schedule(static) num_threads(n_threads) if (n_threads > 1 && p->n_faces > BOX_FACES)
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        int64_t corner[4];
        lane g[4], mask = 0.25 * NAME(mask)(p, &face);
        NAME(corners)(p, &face, corner);
        for (int c = 0; c < 4; c++) {
            g[c] = (lane){0};
            if (face.at[0] < 0)
                g[c][L - 1] = vertices[corner[c] + L - 1];
            else
                memcpy(&g[c], vertices + corner[c], sizeof g[c]);
        }
        lane low = g[0] + g[1], high = g[2] + g[3], below = g[1] - g[0], above = g[3] - g[2];
        LANE *out = (LANE *)coefficients + number * KERNEL_BOX_MOMENTS;
        out[0] = __builtin_convertvector(mask * (high + low), LANE);
        out[1] = __builtin_convertvector(mask * (above + below), LANE);
        out[2] = __builtin_convertvector(mask * (high - low), LANE);
        out[3] = __builtin_convertvector(mask * (above - below), LANE);
    }
}

void NAME(box_restrict)(const struct box_plan *p, const REAL *moments, double *vertices) {
    int size[3];
    box_lattice(p, L, size);
    memset(vertices, 0, (size_t)size[0] * (size_t)size[1] * (size_t)size[2] * sizeof *vertices);
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        int64_t corner[4];
        lane m[4], g[4], mask = 0.25 * NAME(mask)(p, &face);
        NAME(corners)(p, &face, corner);
        for (int q = 0; q < 4; q++)
            m[q] = mask *
                   __builtin_convertvector(((const LANE *)moments)[number * KERNEL_BOX_MOMENTS + q], lane);
        g[0] = (m[0] - m[1]) - (m[2] - m[3]);
        g[1] = (m[0] + m[1]) - (m[2] + m[3]);
        g[2] = (m[0] - m[1]) + (m[2] - m[3]);
        g[3] = (m[0] + m[1]) + (m[2] + m[3]);
        for (int c = 0; c < 4; c++) {
            lane old;
            if (face.at[0] < 0) {
                vertices[corner[c] + L - 1] += g[c][L - 1];
                continue;
            }
            memcpy(&old, vertices + corner[c], sizeof old);
            old += g[c];
            memcpy(vertices + corner[c], &old, sizeof old);
        }
    }
}

void NAME(box_scale)(const struct box_plan *p, const REAL *table_0, const REAL *table_1, const REAL *table_2,
                     REAL *x) {
    const REAL *const tables[3] = {table_0, table_1, table_2};
#pragma omp parallel for num_threads(p->threads)
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        struct NAME(tangent) B = NAME(tangent)(p, tables, &face);
        for (int o = 0; o < p->modes[B.slow]; o++)
            for (int i = 0; i < p->modes[B.fast]; i++) {
                PACKET *to = (PACKET *)(x + face.begin) + box_face_mode(p, B.slow, B.fast, o, i) * PARTS;
                EACH_PART(part) to[part] *= NAME(outer)(&B, o, part) * B.inner[i];
            }
    }
}
