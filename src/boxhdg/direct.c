/* The direct solve on the trace: planes of faces are transformed in their two tangential directions, the
 * unknown of the volume passes by in slabs of the last direction. */
#include "boxhdg/direct.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/cells.h"

/* Values of theta_3 in a slab, and of theta_2 in a tile of it: a tile stays in the second cache. */
#define SLAB 8
#define TILE 32
/* Columns at a time of what works along the planes. */
#define CHUNK 512

struct boxhdg_direct {
    const struct boxhdg *h;
    struct box_axis own[3];
    const struct box_axis *axes[3]; /* directions alike share theirs */
    int tangential[3][2];           /* of direction d; the lower one first */
    int64_t plane_size[3];
    double *hat[3], *result[3]; /* free planes x plane_size */
    double *slab;               /* u of one slab */
    int n_work;                 /* threads that have scratch */
    int64_t scratch_size;
    double *scratch; /* n_work x scratch_size */
    double *kernel;  /* the constant in plain modes, normalised; NULL: there is a Dirichlet side */
};

void boxhdg_direct_destroy(struct boxhdg_direct **direct) {
    struct boxhdg_direct *s = *direct;
    if (s == NULL) return;
    for (int d = 0; d < 3; d++) {
        box_axis_destroy(&s->own[d]);
        base_free(&s->hat[d]);
        base_free(&s->result[d]);
    }
    base_free(&s->slab);
    base_free(&s->scratch);
    base_free(&s->kernel);
    base_free(direct);
}

/* ------------------------------------------------------------------------------------ the planes */

/* The number of the plane that is free plane s. */
static int free_plane(const struct box_grid *g, int d, int s) {
    return s + box_plane_is_fixed(g, d, 0);
}

/* Where the row (slow cell and mode) of a plane begins in plain modes, and the step between its cells. */
static int64_t row_start(const struct boxhdg_direct *s, int d, int plane, int slow, int64_t *step) {
    const struct boxhdg *h = s->h;
    const int *t = s->tangential[d];
    int n = s->axes[t[1]]->n, at[3] = {0, 0, 0}, next[3] = {0, 0, 0};
    at[t[1]] = next[t[1]] = slow / n;
    at[d] = next[d] = plane;
    next[t[0]] = h->grid.cells[t[0]] > 1 ? 1 : 0;
    int64_t first = box_face(&h->grid, at, d, 0), second = box_face(&h->grid, next, d, 0);
    *step = (second - first) * h->face_size;
    return first * h->face_size + (int64_t)(slow % n) * s->axes[t[0]]->n;
}

/* The rows of one plane between plain modes and folded ones. */
static void fold_plane(const struct boxhdg_direct *s, int d, int plane, int back, double *plain,
                       double *folded, double *work) {
    const struct box_axis *fast = s->axes[s->tangential[d][0]], *slow = s->axes[s->tangential[d][1]];
    int number = free_plane(&s->h->grid, d, plane);
    for (int r = 0; r < slow->modes.n_modes; r++, folded += fast->modes.n_modes) {
        int64_t step, at = row_start(s, d, number, r, &step);
        box_direction_row(&fast->modes, back, fast->n, step, plain + at, folded, work);
    }
}

/* All planes of all directions, in parallel. */
static void transform_all(struct boxhdg_direct *s, int back, double *plain) {
    int dim = s->h->grid.dim, first[4] = {0, 0, 0, 0};
    for (int d = 0; d < 3; d++) first[d + 1] = first[d] + (d < dim ? s->axes[d]->n_planes : 0);
#pragma omp parallel for schedule(dynamic) num_threads(s->n_work)
    for (int i = 0; i < first[3]; i++) {
        int d = i < first[1] ? 0 : i < first[2] ? 1 : 2, plane = i - first[d];
        double *one = s->scratch + omp_get_thread_num() * s->scratch_size, *two = one + s->scratch_size / 2;
        const struct box_direction *fast = &s->axes[s->tangential[d][0]]->modes,
                                   *slow = &s->axes[s->tangential[d][1]]->modes;
        if (back) {
            box_planes_back(fast, slow, 1, s->result[d] + plane * s->plane_size[d], two, one);
            fold_plane(s, d, plane, 1, plain, one, two);
        } else {
            fold_plane(s, d, plane, 0, plain, one, two);
            box_planes_forward(fast, slow, 1, one, two, s->hat[d] + plane * s->plane_size[d]);
        }
    }
}

/* Sums and differences of mirrored planes, in place. */
static void fold_planes(struct boxhdg_direct *s, int d, int back, double *planes) {
    const struct box_fold *f = &s->axes[d]->plane_fold;
    int64_t size = s->plane_size[d];
    if (f->sizes[1] == 0) return;
#pragma omp parallel for schedule(static) num_threads(s->n_work)
    for (int64_t begin = 0; begin < size; begin += CHUNK) {
        int64_t count = size - begin < CHUNK ? size - begin : CHUNK;
        double *copy = s->scratch + omp_get_thread_num() * s->scratch_size;
        box_fold_rows(f, back, count, planes + begin, size, copy, count);
        for (int i = 0; i < f->n; i++)
            memcpy(planes + i * size + begin, copy + i * count, (size_t)count * sizeof *copy);
    }
}

/* result_d = G_d^-1 hat_d / k. */
static void divide_planes(struct boxhdg_direct *s, int d, double k) {
    const struct box_axis *a = s->axes[d];
    int64_t size = s->plane_size[d];
#pragma omp parallel for schedule(static) num_threads(s->n_work)
    for (int64_t begin = 0; begin < size; begin += CHUNK) {
        int count = (int)(size - begin < CHUNK ? size - begin : CHUNK);
        for (int b = 0, first = 0; b < 2; first += a->plane_fold.sizes[b++]) {
            int planes = a->plane_fold.sizes[b];
            if (planes > 0)
                cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, planes, count, planes, 1.0 / k,
                            a->inverse[b], planes, s->hat[d] + first * size + begin, (int)size, 0.0,
                            s->result[d] + first * size + begin, (int)size);
        }
    }
}

/* ------------------------------------------------------------------------------------- the slabs */

/* A range of indices of one parity: first, how many, the parity, and its place within the parity. */
struct range {
    int first, count, parity, within;
};
static int n_ranges(const struct box_axis *a, int length) {
    return (a->modes.fold.sizes[0] + length - 1) / length + (a->modes.fold.sizes[1] + length - 1) / length;
}
static struct range get_range(const struct box_axis *a, int length, int i) {
    int even = (a->modes.fold.sizes[0] + length - 1) / length, parity = i >= even;
    int within = (i - (parity ? even : 0)) * length, left = a->modes.fold.sizes[parity] - within;
    return (struct range){.first = within + box_fold_first(&a->modes.fold, parity),
                          .count = left < length ? left : length,
                          .parity = parity,
                          .within = within};
}
/* u of a tile, theta_3 in `z`, theta_2 in `y`, all theta_1, before the division: U has rows (theta_3 of the
 * slab, all theta_2) of m_1 numbers. */
static void sum_tile(const struct boxhdg_direct *s, struct range z, struct range y, double *U) {
    const struct box_axis *const *a = s->axes;
    int m1 = a[0]->modes.n_modes, m2 = a[1]->modes.n_modes;
    int64_t ld = s->plane_size[0];
    for (int i = 0; i < z.count; i++) {
        double *to = U + ((int64_t)i * m2 + y.first) * m1;
        int planes = a[1]->plane_fold.sizes[y.parity];
        for (int b = 0, first = 0; b < 2; first += a[0]->modes.fold.sizes[b++]) {
            int size = a[0]->modes.fold.sizes[b], p = a[0]->plane_fold.sizes[b];
            if (size == 0) continue;
            if (p == 0)
                for (int j = 0; j < y.count; j++) memset(to + j * m1 + first, 0, (size_t)size * sizeof *to);
            else
                cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, y.count, size, p, 1.0,
                            s->hat[0] + box_fold_first(&a[0]->plane_fold, b) * ld +
                                (int64_t)(z.first + i) * m2 + y.first,
                            (int)ld, a[0]->P[b], p, 0.0, to + first, m1);
        }
        if (planes > 0)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, y.count, m1, planes, 1.0,
                        a[1]->P[y.parity] + y.within * planes, planes,
                        s->hat[1] + box_fold_first(&a[1]->plane_fold, y.parity) * s->plane_size[1] +
                            (int64_t)(z.first + i) * m1,
                        (int)s->plane_size[1], 1.0, to, m1);
    }
    int planes = a[2]->plane_fold.sizes[z.parity];
    if (planes > 0)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, z.count, y.count * m1, planes, 1.0,
                    a[2]->P[z.parity] + z.within * planes, planes,
                    s->hat[2] + box_fold_first(&a[2]->plane_fold, z.parity) * s->plane_size[2] +
                        (int64_t)y.first * m1,
                    (int)s->plane_size[2], 1.0, U + (int64_t)y.first * m1, m1 * m2);
}

/* U / (lambda + k (theta_1 + theta_2 + theta_3)); the constant of a singular problem becomes 0. */
static void divide_tile(const struct boxhdg_direct *s, struct range z, struct range y, double k,
                        double lambda, int singular, double *U) {
    const struct box_axis *const *a = s->axes;
    int m1 = a[0]->modes.n_modes;
    const double *theta = a[0]->modes.theta;
    for (int i = 0; i < z.count; i++)
        for (int j = 0; j < y.count; j++) {
            double *row = U + ((int64_t)i * a[1]->modes.n_modes + y.first + j) * m1;
            double rest = lambda + k * (a[2]->modes.theta[z.first + i] + a[1]->modes.theta[y.first + j]);
            int zero = singular && z.first + i == a[2]->modes.smallest && y.first + j == a[1]->modes.smallest;
            for (int x = 0; x < m1; x++) row[x] /= rest + k * theta[x];
            if (zero) row[a[0]->modes.smallest] = 0.0;
        }
}

/* result_1 += P_1' U and result_3 += P_3' U of a tile: no other tile of the slab writes there. */
static void spread_tile(const struct boxhdg_direct *s, struct range z, struct range y, const double *U) {
    const struct box_axis *const *a = s->axes;
    int m1 = a[0]->modes.n_modes, m2 = a[1]->modes.n_modes, planes = a[2]->plane_fold.sizes[z.parity];
    int64_t ld = s->plane_size[0];
    for (int i = 0; i < z.count; i++)
        for (int b = 0, first = 0; b < 2; first += a[0]->modes.fold.sizes[b++]) {
            int size = a[0]->modes.fold.sizes[b], p = a[0]->plane_fold.sizes[b];
            if (size > 0 && p > 0)
                cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, p, y.count, size, 1.0, a[0]->P[b], p,
                            U + ((int64_t)i * m2 + y.first) * m1 + first, m1, 1.0,
                            s->result[0] + box_fold_first(&a[0]->plane_fold, b) * ld +
                                (int64_t)(z.first + i) * m2 + y.first,
                            (int)ld);
        }
    if (planes > 0)
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, planes, y.count * m1, z.count, 1.0,
                    a[2]->P[z.parity] + z.within * planes, planes, U + (int64_t)y.first * m1, m1 * m2, 1.0,
                    s->result[2] + box_fold_first(&a[2]->plane_fold, z.parity) * s->plane_size[2] +
                        (int64_t)y.first * m1,
                    (int)s->plane_size[2]);
}

/* result_2 += P_2' U for one theta_3. */
static void spread_row(const struct boxhdg_direct *s, int theta3, const double *U) {
    const struct box_axis *a = s->axes[1];
    int m1 = s->axes[0]->modes.n_modes;
    for (int b = 0, first = 0; b < 2; first += a->modes.fold.sizes[b++]) {
        int size = a->modes.fold.sizes[b], p = a->plane_fold.sizes[b];
        if (size > 0 && p > 0)
            cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, p, m1, size, 1.0, a->P[b], p,
                        U + (int64_t)first * m1, m1, 1.0,
                        s->result[1] + box_fold_first(&a->plane_fold, b) * s->plane_size[1] +
                            (int64_t)theta3 * m1,
                        (int)s->plane_size[1]);
    }
}

static void pass_slabs(struct boxhdg_direct *s, double k, double lambda, int singular) {
    const struct box_axis *const *a = s->axes;
    int slabs = n_ranges(a[2], SLAB), tiles = n_ranges(a[1], TILE);
#pragma omp parallel num_threads(s->n_work)
    for (int i = 0; i < slabs; i++) {
        struct range z = get_range(a[2], SLAB, i);
#pragma omp for schedule(dynamic)
        for (int j = 0; j < tiles; j++) {
            struct range y = get_range(a[1], TILE, j);
            sum_tile(s, z, y, s->slab);
            divide_tile(s, z, y, k, lambda, singular, s->slab);
            spread_tile(s, z, y, s->slab);
        }
#pragma omp for schedule(dynamic)
        for (int j = 0; j < z.count; j++)
            spread_row(s, z.first + j, s->slab + (int64_t)j * a[1]->modes.n_modes * a[0]->modes.n_modes);
    }
}

/* --------------------------------------------------------------------------------------- solve */

static void remove_kernel(const struct boxhdg_direct *s, double *x) {
    double dot = 0.0;
    for (int64_t i = 0; i < s->h->n_trace; i++) dot += s->kernel[i] * x[i];
    for (int64_t i = 0; i < s->h->n_trace; i++) x[i] -= dot * s->kernel[i];
}

void boxhdg_direct_solve(struct boxhdg_direct *s, double k, double lambda, const double *F, double *uhat) {
    const struct boxhdg *h = s->h;
    int singular = s->kernel != NULL && lambda == 0.0;
    if (F != uhat) memcpy(uhat, F, (size_t)h->n_trace * sizeof *uhat);
    if (singular) remove_kernel(s, uhat);
    transform_all(s, 0, uhat);
    for (int d = 0; d < h->grid.dim; d++) {
        fold_planes(s, d, 0, s->hat[d]);
        divide_planes(s, d, k);
    }
    pass_slabs(s, k, lambda, singular);
    for (int d = 0; d < h->grid.dim; d++) fold_planes(s, d, 1, s->result[d]);
    memset(uhat, 0, (size_t)h->n_trace * sizeof *uhat);
    transform_all(s, 1, uhat);
    if (singular) remove_kernel(s, uhat);
}

/* The function 1 on every face, normalised. */
static facet_status make_kernel(struct boxhdg_direct *s) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &s->h->grid;
    double square = 0.0;
    for (int d = 0; d < g->dim; d++)
        if (g->sides[d][0] == BOX_DIRICHLET || g->sides[d][1] == BOX_DIRICHLET) goto done;
    TRY(ALLOC(s->kernel, s->h->n_trace));
    boxhdg_constant(s->h, s->kernel);
    for (int64_t i = 0; i < s->h->n_trace; i++) square += s->kernel[i] * s->kernel[i];
    for (int64_t i = 0; i < s->h->n_trace; i++) s->kernel[i] /= sqrt(square);
done:
    return status;
}

/* The same cells, conditions and lines. */
static int same_axis(const struct boxhdg *h, int d, int e) {
    return box_same_direction(&h->grid, d, e) &&
           memcmp(h->column_line[d], h->column_line[e],
                  (size_t)h->grid.cells[d] * sizeof *h->column_line[d]) == 0;
}

facet_status boxhdg_direct_create(const struct boxhdg *h, struct boxhdg_direct **direct) {
    facet_status status = FACET_OK;
    struct boxhdg_direct *s;
    int64_t largest = 0;
    TRY(CALLOC(*direct, 1));
    s = *direct;
    s->h = h;
    for (int d = 0; d < 3; d++) {
        for (int e = 0; e < d && s->axes[d] == NULL; e++)
            if (same_axis(h, e, d)) s->axes[d] = s->axes[e];
        if (s->axes[d] == NULL) {
            TRY(base_wrap(box_axis_create_whole(h, d, &s->own[d]), "direction %c", "xyz"[d]));
            s->axes[d] = &s->own[d];
        }
        s->tangential[d][0] = d == 0 ? 1 : 0;
        s->tangential[d][1] = d == 2 ? 1 : 2;
    }
    for (int d = 0; d < h->grid.dim; d++) {
        int64_t size = s->plane_size[d] = (int64_t)s->axes[s->tangential[d][0]]->modes.n_modes *
                                          s->axes[s->tangential[d][1]]->modes.n_modes;
        int64_t all = size * s->axes[d]->n_planes;
        TRY(ALLOC(s->hat[d], all));
        TRY(ALLOC(s->result[d], all));
        largest = size > largest ? size : largest;
        if (CHUNK * (int64_t)s->axes[d]->n_planes > 2 * largest)
            largest = CHUNK * (int64_t)s->axes[d]->n_planes / 2 + 1;
        if (size > INT32_MAX)
            FAIL(FACET_ERROR_INPUT, "a plane of %lld unknowns is too large for the direct solve of a box",
                 (long long)size);
    }
    TRY(ALLOC(s->slab, (int64_t)SLAB * s->axes[0]->modes.n_modes * s->axes[1]->modes.n_modes));
    s->n_work = base_threads_for(h->n_volume);
    s->scratch_size = 2 * largest;
    TRY(ALLOC(s->scratch, s->n_work * s->scratch_size));
    TRY(make_kernel(s));
done:
    if (status != FACET_OK) boxhdg_direct_destroy(direct);
    return status;
}

/* ----------------------------------------------------------------------------------- as operator */

struct direct_operator {
    struct boxhdg_direct *direct;
    double conductivity, reaction;
};

static facet_status solve_on_host(void *data, const double *F, double *uhat) {
    const struct direct_operator *o = data;
    boxhdg_direct_solve(o->direct, o->conductivity, o->reaction, F, uhat);
    return FACET_OK;
}

static void release(void **data) {
    struct direct_operator *o = *data;
    boxhdg_direct_destroy(&o->direct);
    base_free(data);
}

facet_status operator_create_box_direct(const struct device *device, double conductivity, double reaction,
                                        struct boxhdg_direct **direct, struct operator* M) {
    facet_status status = FACET_OK;
    struct direct_operator *o = NULL;
    int64_t n = (*direct)->h->n_trace;
    TRY(CALLOC(o, 1));
    *o = (struct direct_operator){.direct = *direct, .conductivity = conductivity, .reaction = reaction};
    *direct = NULL;
    TRY(operator_create_host(device, n, "the direct solve of the box", solve_on_host, o, release, M));
done:
    boxhdg_direct_destroy(direct);
    return status;
}
