/* The direct solve on the trace: planes of faces are transformed in their two tangential directions, the
 * unknown of the volume passes by in slabs of the last direction. */
#include "boxhdg/direct.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/hdg_cells.h"

/* Values of theta_3 in a slab, and of theta_2 in a tile of it: a tile stays in the second cache. */
#define SLAB 8
#define TILE 32
/* Columns at a time of what works along the planes. */
#define CHUNK 512

struct boxhdg_direct {
    const struct boxhdg *h;
    struct box_axis own[3];
    const struct box_axis *axes[3]; /* directions alike share theirs */
    struct box_planes planes[3];    /* free ones of the faces normal to d, */
    int64_t begin[3];               /* the first of which begins here in plain modes */
    int64_t plane_size[3];          /* of their modes */
    double *hat[3], *result[3];     /* free planes x plane_size */
    double *slab;                   /* u of one slab */
    int n_work;                     /* threads that have scratch */
    int64_t scratch_size;
    double *scratch; /* n_work x scratch_size */
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
    base_free(direct);
}

/* ------------------------------------------------------------------------------------ the planes */

/* Faces normal to d are a lattice; within a plane, the lower tangential direction comes first. */
static void describe_planes(struct boxhdg_direct *s, int d) {
    const struct box_grid *g = &s->h->grid;
    const struct box_axis *fast = s->axes[d == 0 ? 1 : 0], *slow = s->axes[d == 2 ? 1 : 2];
    int64_t step[3], next = s->h->face_size;
    for (int t = 0; t < 3; next *= t == d ? g->planes[t] : g->cells[t], t++) step[t] = next;
    s->planes[d] = (struct box_planes){.x = &fast->modes,
                                       .y = &slow->modes,
                                       .n = s->axes[d]->n_planes,
                                       .piece = {fast->n, slow->n, 1},
                                       .step = {step[d == 0 ? 1 : 0], step[d == 2 ? 1 : 2], step[d]}};
    box_planes_prepare(&s->planes[d]);
    s->begin[d] = g->first_face[d] * s->h->face_size + box_plane_is_fixed(g, d, 0) * step[d];
    s->plane_size[d] = (int64_t)fast->modes.n_modes * slow->modes.n_modes;
}

/* All planes of all directions, in parallel. */
static void transform_all(struct boxhdg_direct *s, int back, double *plain) {
#pragma omp parallel num_threads(s->n_work)
    for (int d = 0; d < s->h->grid.dim; d++)
        box_planes_transform(&s->planes[d], back ? NULL : plain + s->begin[d], plain + s->begin[d],
                             back ? s->result[d] : s->hat[d],
                             s->scratch + omp_get_thread_num() * s->scratch_size);
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
            box_multiply(0, 0, planes, count, planes, 1.0 / k, a->inverse[b], planes,
                         s->hat[d] + first * size + begin, size, 0.0, s->result[d] + first * size + begin,
                         size);
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
/* The first plane of one parity. */
static double *first_plane(const struct boxhdg_direct *s, double *const planes[3], int d, int parity) {
    return planes[d] + box_fold_first(&s->axes[d]->plane_fold, parity) * s->plane_size[d];
}

/* u of a tile, theta_3 in `z`, theta_2 in `y`, all theta_1, before the division: U has rows (theta_3 of the
 * slab, all theta_2) of m_1 numbers. */
static void sum_tile(const struct boxhdg_direct *s, struct range z, struct range y, double *U) {
    const struct box_axis *const *a = s->axes;
    const int64_t m1 = a[0]->modes.n_modes, m2 = a[1]->modes.n_modes, *step = s->plane_size;
    const int p1 = a[1]->plane_fold.sizes[y.parity], p2 = a[2]->plane_fold.sizes[z.parity];
    for (int i = 0; i < z.count; i++) {
        int64_t theta3 = z.first + i;
        double *to = U + (i * m2 + y.first) * m1;
        for (int b = 0, first = 0; b < 2; first += a[0]->modes.fold.sizes[b++]) {
            int size = a[0]->modes.fold.sizes[b], p = a[0]->plane_fold.sizes[b];
            box_multiply(1, 1, y.count, size, p, 1.0, first_plane(s, s->hat, 0, b) + theta3 * m2 + y.first,
                         step[0], a[0]->P[b], p, 0.0, to + first, m1);
        }
        box_multiply(0, 0, y.count, (int)m1, p1, 1.0, a[1]->P[y.parity] + y.within * p1, p1,
                     first_plane(s, s->hat, 1, y.parity) + theta3 * m1, step[1], 1.0, to, m1);
    }
    box_multiply(0, 0, z.count, y.count * (int)m1, p2, 1.0, a[2]->P[z.parity] + z.within * p2, p2,
                 first_plane(s, s->hat, 2, z.parity) + y.first * m1, step[2], 1.0, U + y.first * m1, m1 * m2);
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
    const int64_t m1 = a[0]->modes.n_modes, m2 = a[1]->modes.n_modes, *step = s->plane_size;
    const int p2 = a[2]->plane_fold.sizes[z.parity];
    for (int i = 0; i < z.count; i++)
        for (int b = 0, first = 0; b < 2; first += a[0]->modes.fold.sizes[b++]) {
            int size = a[0]->modes.fold.sizes[b], p = a[0]->plane_fold.sizes[b];
            box_multiply(1, 1, p, y.count, size, 1.0, a[0]->P[b], p, U + (i * m2 + y.first) * m1 + first, m1,
                         1.0, first_plane(s, s->result, 0, b) + (z.first + i) * m2 + y.first, step[0]);
        }
    box_multiply(1, 0, p2, y.count * (int)m1, z.count, 1.0, a[2]->P[z.parity] + z.within * p2, p2,
                 U + y.first * m1, m1 * m2, 1.0, first_plane(s, s->result, 2, z.parity) + y.first * m1,
                 step[2]);
}

/* result_2 += P_2' U for one theta_3. */
static void spread_row(const struct boxhdg_direct *s, int64_t theta3, const double *U) {
    const struct box_axis *a = s->axes[1];
    const int m1 = s->axes[0]->modes.n_modes;
    for (int64_t b = 0, first = 0; b < 2; first += a->modes.fold.sizes[b++]) {
        int size = a->modes.fold.sizes[b], p = a->plane_fold.sizes[b];
        box_multiply(1, 0, p, m1, size, 1.0, a->P[b], p, U + first * m1, m1, 1.0,
                     first_plane(s, s->result, 1, (int)b) + theta3 * m1, s->plane_size[1]);
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

void boxhdg_direct_solve(struct boxhdg_direct *s, double k, double lambda, const double *F, double *uhat) {
    const struct boxhdg *h = s->h;
    int singular = !h->grid.closed && lambda == 0.0;
    if (F != uhat) memcpy(uhat, F, (size_t)h->n_trace * sizeof *uhat);
    transform_all(s, 0, uhat);
    for (int d = 0; d < h->grid.dim; d++) {
        fold_planes(s, d, 0, s->hat[d]);
        divide_planes(s, d, k);
    }
    pass_slabs(s, k, lambda, singular);
    for (int d = 0; d < h->grid.dim; d++) fold_planes(s, d, 1, s->result[d]);
    memset(uhat, 0, (size_t)h->n_trace * sizeof *uhat);
    transform_all(s, 1, uhat);
}

facet_status boxhdg_direct_create(const struct boxhdg *h, struct boxhdg_direct **direct) {
    facet_status status = FACET_OK;
    struct boxhdg_direct *s;
    TRY(CALLOC(*direct, 1));
    s = *direct;
    s->h = h;
    for (int d = 0; d < 3; d++) {
        for (int e = 0; e < d && s->axes[d] == NULL; e++)
            if (box_axis_same(h, e, d)) s->axes[d] = s->axes[e];
        if (s->axes[d] == NULL) {
            TRY(base_wrap(box_axis_create_whole(h, d, &s->own[d]), "direction %c", "xyz"[d]));
            s->axes[d] = &s->own[d];
        }
    }
    for (int d = 0; d < h->grid.dim; d++) {
        describe_planes(s, d);
        int64_t size = s->plane_size[d], all = size * s->axes[d]->n_planes;
        TRY(ALLOC(s->hat[d], all));
        TRY(ALLOC(s->result[d], all));
        if (2 * s->planes[d].room > s->scratch_size) s->scratch_size = 2 * s->planes[d].room;
        if (CHUNK * (int64_t)s->axes[d]->n_planes > s->scratch_size)
            s->scratch_size = CHUNK * (int64_t)s->axes[d]->n_planes;
        if (size > INT32_MAX)
            FAIL(FACET_ERROR_INPUT, "a plane of %lld unknowns is too large for the direct solve of a box",
                 (long long)size);
    }
    TRY(ALLOC(s->slab, (int64_t)SLAB * s->axes[0]->modes.n_modes * s->axes[1]->modes.n_modes));
    s->n_work = base_threads_for(h->n_volume);
    TRY(ALLOC(s->scratch, s->n_work * s->scratch_size));
done:
    if (status != FACET_OK) boxhdg_direct_destroy(direct);
    return status;
}

/* ----------------------------------------------------------------------------------- as operator */

struct in_lanes {
    const struct boxhdg_lanes *lanes;
    struct boxhdg_direct *direct;
    double *plain; /* modes: the residual becomes the unknown */
};

static facet_status solve_lanes(void *data, const double *F, double *uhat) {
    facet_status status = FACET_OK;
    const struct in_lanes *s = data;
    const struct box_grid *g = &s->direct->h->grid;
    struct vector v = {.device = device_host(), .n = s->lanes->plan.size, .seen = F};
    TRY(boxhdg_lanes_unpack(s->lanes, BOXHDG_RESIDUAL, &v, s->plain));
    boxhdg_direct_solve(s->direct, box_conductivity(g, 0), box_reaction(g, 0), s->plain, s->plain);
    v.data = uhat;
    vector_fill(&v, 0.0);
    TRY(boxhdg_lanes_pack(s->lanes, BOXHDG_UNKNOWN, s->plain, &v));
done:
    return status;
}

static void release(void **data) {
    struct in_lanes *s = *data;
    if (s == NULL) return;
    boxhdg_direct_destroy(&s->direct);
    base_free(&s->plain);
    base_free(data);
}

facet_status operator_create_box_direct(const struct boxhdg_lanes *lanes, struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct in_lanes *s = NULL;
    void *data;
    TRY(CALLOC(s, 1));
    s->lanes = lanes;
    TRY(CALLOC(s->plain, lanes->hdg->n_trace));
    TRY(boxhdg_direct_create(lanes->hdg, &s->direct));
    data = s;
    s = NULL; /* the operator's, also on failure */
    TRY(operator_create_host(lanes->device, lanes->plan.size, "the direct solve of the box", solve_lanes,
                             data, release, M));
done:
    data = s;
    release(&data);
    return status;
}
