/* Data of cells whose map is curved or whose data vary: values at points, a block of them at a time, and
 * weights, the same arithmetic in every lane. Where K is a matrix, lanes are taken one by one. */
#include <string.h>

#include "kernels/simd/lane.h"

#include "kernels/general.h"

#define POINTS 32 /* of a batch whose values are computed at once */

/* Values at points first .. first + n - 1 of a batch, in lanes. */
static void program_values(const struct lane_points *p, int64_t first, int n, lane *values) {
    double x[POINTS * L * 3];
    for (int q = 0; q < n; q++)
        for (int a = 0; a < p->dim; a++) {
            const double *from = p->points + ((first + q) * p->step + a) * L;
            for (int w = 0; w < L; w++) x[(q * L + w) * p->dim + a] = from[w];
        }
    const double *row = p->work + expression_row(&p->plan, p->plan.n_nodes - 1, 0);
    for (int i = 0; i < n * L; i += p->plan.block) { /* mostly all of them */
        const int many = n * L - i < p->plan.block ? n * L - i : p->plan.block;
        OF(expression)(&p->plan, many, x + (int64_t)i * p->dim, NULL, p->work);
        memcpy((double *)values + i, row, (size_t)many * sizeof *row);
    }
}

/* Whether some cell of the batch is of the region, and all are. */
static int has_region(const struct lane_points *p, int64_t batch, int *all) {
    int any = 0;
    *all = 1;
    for (int w = 0; w < L && p->regions != NULL; w++) {
        const int mine = p->regions[batch * L + w] == p->region;
        any |= mine;
        *all &= mine;
    }
    return any || p->regions == NULL;
}

static void put_values(const struct lane_points *p, int64_t batch, int all, int first, int n,
                       const lane *from, double *values) {
    for (int q = 0; q < n; q++) {
        const int64_t point = batch * p->n + first + q;
        double *to = values + lane_place(p, point, 0);
        lane value = from[q];
        if (p->weights != NULL) value *= lane_load(L, p->weights + point * L);
        for (int w = 0; w < L; w++)
            if (all || p->regions[batch * L + w] == p->region) to[w] = value[w];
    }
}

void OF(lane_values)(const struct lane_points *p, int64_t n_batches, double *values) {
    lane found[POINTS];
    for (int q = 0; q < POINTS; q++) found[q] = (lane){0} + p->constant;
    for (int64_t batch = 0; batch < n_batches; batch++) {
        int all;
        if (!has_region(p, batch, &all)) continue;
        for (int first = 0; first < p->n; first += POINTS) {
            const int n = p->n - first < POINTS ? p->n - first : POINTS;
            if (p->plan.n_nodes > 0) program_values(p, batch * p->n + first, n, found);
            put_values(p, batch, all, first, n, found, values);
        }
    }
}

/* ------------------------------------------------------------------------------- weights */

/* Of lanes that are numbers between these two: -1, of others 0. */
typedef int64_t flags __attribute__((vector_size(L * sizeof(int64_t))));
INLINE flags within(lane value, double least, double most) {
    return (flags)(value >= least) & (flags)(value <= most);
}
INLINE int all_set(flags f) {
    int set = 1;
    for (int w = 0; w < L; w++) set &= f[w] != 0;
    return set;
}

/* Weights inside a cell where K is a number; its integral is *trace. */
static flags weigh_inside(const struct general_data *d, int64_t batch, lane *volume, lane *trace,
                          lane *largest) {
    const lane *wJ = (const lane *)d->wJ + batch * d->n, *K = (const lane *)d->K;
    flags fit = within((lane){0}, 0.0, 0.0);
    K += d->varying ? batch * d->n : batch;
    *volume = *trace = *largest = (lane){0};
    for (int q = 0; q < d->n; q++) {
        const lane w = wJ[q], k = K[d->varying ? q : 0];
        fit &= within(k, 1.0 / d->most, d->most);
        *volume += w;
        *trace += w * k;
        if (d->mass != NULL) ((lane *)d->mass)[batch * d->n + q] = w / k;
        if (d->reaction == NULL) continue;
        const lane lambda = ((const lane *)d->reaction)[batch * d->n + q];
        fit &= within(lambda, 0.0, d->most);
        for (int l = 0; l < L; l++) (*largest)[l] = lambda[l] > (*largest)[l] ? lambda[l] : (*largest)[l];
        ((lane *)d->weights)[batch * d->n + q] = w * lambda;
    }
    for (int q = 0; d->det != NULL && q < d->n_det; q++) ((lane *)d->det)[batch * d->n_det + q] /= K[0];
    return fit;
}

/* tau times the lengths of the normals; trace: of K, as struct general_sums has it. */
static void weigh_faces(const struct general_data *d, int64_t batch, lane volume, lane trace) {
    int positive = 1;
    for (int f = 0; f < d->n_faces; f++) {
        const int64_t at = (batch * d->n_faces + f) * d->n_face;
        const lane *normals = (const lane *)d->normals + at * d->dim;
        lane *to = (lane *)d->taus + at, area = {0}, tau = (lane){0} + d->tau;
        for (int q = 0; q < d->n_face; q++) {
            lane square = {0};
            for (int a = 0; a < d->dim; a++) square += normals[q * d->dim + a] * normals[q * d->dim + a];
            area += to[q] = lane_sqrt(square, &positive);
        }
        for (int l = 0; l < L && !(d->tau > 0.0); l++)
            tau[l] = general_tau(d, f, volume[l], trace[l], area[l]);
        for (int q = 0; q < d->n_face; q++) to[q] *= tau;
    }
}

static int weigh(const struct general_data *d, int64_t batch) {
    lane volume, trace, largest;
    int fit = 1;
    if (d->n_components > 1) {
        for (int w = 0; w < L; w++) fit &= general_weights_of(d, batch, w);
        return fit;
    }
    fit = all_set(weigh_inside(d, batch, &volume, &trace, &largest));
    weigh_faces(d, batch, volume, d->dim * trace);
    ((lane *)d->size)[batch] = volume / d->unit;
    ((lane *)d->largest)[batch] = largest;
    return fit;
}

int64_t OF(general_weights)(const struct general_data *d, int64_t n_batches) {
    int64_t failed = INT64_MAX;
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(min : failed)
    for (int64_t batch = 0; batch < n_batches; batch++)
        if (!weigh(d, batch) && batch < failed) failed = batch;
    return failed == INT64_MAX ? -1 : failed;
}
