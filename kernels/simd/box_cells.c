/* The diagonal of K on a box: every face gathers from the cells on its two sides, so that threads need not
 * know of each other. Most cells share that of their kind, which is read; the others compute theirs. */
#include "kernels/simd/lane.h"

/* One cell as a face of an axis sees it. */
struct side {
    const struct box_plan *plan;
    int at[3], pack, lane, axis, slow, fast;
    const double *shared, *metric;
};

static double entry(const struct side *s, const double *const table[3], int axis, int width, int mode) {
    return axis == 0 ? table[0][((int64_t)s->pack * width + mode) * L + s->lane]
                     : table[axis][(int64_t)s->at[axis] * width + mode];
}

static void look_at(const struct box_plan *p, const double *diagonals, int axis, const int at[3],
                    struct side *s) {
    const int64_t sizes = p->face[0] + p->face[1] + p->face[2];
    *s = (struct side){.plan = p, .axis = axis, .slow = axis == 0 ? 1 : 0, .fast = axis == 2 ? 1 : 2};
    for (int d = 0; d < 3; d++) s->at[d] = at[d];
    s->pack = at[0] / L;
    s->lane = at[0] % L;
    const int64_t number = ((int64_t)at[2] * p->cells[1] + at[1]) * p->packs + s->pack;
    s->metric = p->f64.metric + number * KERNEL_BOX_METRIC * L + s->lane;
    if (p->tables[number] < 0) return;
    s->shared = diagonals + p->tables[number] * sizes;
    for (int d = 0; d < axis; d++) s->shared += p->face[d];
}

/* For k = 1: a gamma B B - a^2 (sum of w along the axis). */
static double own(const struct side *s, int i, int j) {
    const struct box_numbers *f = &s->plan->f64;
    const int *n = s->plan->modes, axis = s->axis, slow = s->slow, fast = s->fast;
    const double *a = s->metric;
    double sum = 0.0, rest = a[3 * L] + a[slow * L] * entry(s, f->eigenvalues, slow, n[slow], i) +
                             a[fast * L] * entry(s, f->eigenvalues, fast, n[fast], j);
    for (int m = 0; m < n[axis]; m++)
        sum += entry(s, f->squares, axis, n[axis], m) /
               (rest + a[axis * L] * entry(s, f->eigenvalues, axis, n[axis], m));
    return a[axis * L] * entry(s, f->squares, slow, n[slow], i) * entry(s, f->squares, fast, n[fast], j) *
           (entry(s, f->gamma, axis, 2, 0) + entry(s, f->gamma, axis, 2, 1) - a[axis * L] * sum);
}

/* All modes of one lane of a face-pack: the sum of what the sides give, which are two at most. */
static void add_side(const struct side *s, double *d) {
    const int *n = s->plan->modes;
    const double k = s->metric[4 * L];
    for (int64_t t = 0; s->shared != NULL && t < s->plan->face[s->axis]; t++) d[t * L] += k * s->shared[t];
    for (int i = 0; s->shared == NULL && i < n[s->slow]; i++)
        for (int j = 0; j < n[s->fast]; j++)
            d[box_face_mode(s->plan, s->slow, s->fast, i, j) * L] += k * own(s, i, j);
}

void OF(box_diagonal)(const struct box_plan *p, const double *diagonals, double *d) {
#pragma omp parallel for num_threads(p->threads)
    for (int64_t number = 0; number < p->n_faces; number++) {
        const struct box_face_pack f = box_face_pack(p, number, L);
        const int64_t size = p->face[f.axis];
        double *to = d + f.begin;
        for (int64_t i = 0; i < size * L; i++) to[i] = 0.0;
        for (int i = 0; i < L; i++) {
            int cells[2][3], sides = box_neighbours(p, &f, i, L, cells[0], cells[1]);
            struct side s;
            for (int side = 0; side < 2; side++) {
                if (!(sides >> side & 1)) continue;
                look_at(p, diagonals, f.axis, cells[side], &s);
                add_side(&s, to + i);
            }
        }
        for (int64_t i = 0; i < size * L; i++) to[i] = to[i] > 0.0 ? 1.0 / to[i] : 0.0;
    }
}
