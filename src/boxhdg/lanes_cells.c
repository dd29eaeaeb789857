/* What the cells of a box contribute to its plan: metric, shared weights, and the diagonal of the operator.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/lanes.h"

#define SAME_SIZE 1e-12 /* up to the rounding of widths */

/* The kinds of all packs, and what is common to the cells of one. */
struct kinds {
    struct boxhdg_kind *kinds;
    int n, capacity;
    double *diagonals; /* kinds x faces of the three axes */
    int64_t size;      /* of one of these */
    int32_t *tables;   /* per pack */
    double *metric;
    double *sum;                  /* a vector: the diagonal */
    struct boxhdg_kind *of_lanes; /* of the pack at hand */
};

double boxhdg_lanes_kind(const struct boxhdg_lanes *lanes, const int at[3], struct boxhdg_kind *kind) {
    const struct boxhdg *h = lanes->hdg;
    const struct box_grid *g = &h->grid;
    int cell[3];
    double a[3];
    boxhdg_lanes_place(lanes, at, cell);
    double k = box_conductivity(g, box_cell(g, cell)), reaction = boxhdg_metric(h, cell, a);
    for (int axis = 0; axis < 3; axis++) {
        int d = lanes->direction[axis];
        kind->line[axis] = d >= 0 ? h->column_line[d][at[axis]] : -1;
        kind->metric[axis] = d >= 0 ? a[d] / k : 0.0;
    }
    kind->metric[3] = reaction / k;
    return k;
}

int boxhdg_same_kind(const struct boxhdg_kind *a, const struct boxhdg_kind *b) {
    for (int i = 0; i < 3; i++)
        if (a->line[i] != b->line[i]) return 0;
    for (int i = 0; i < 4; i++)
        if (fabs(a->metric[i] - b->metric[i]) > SAME_SIZE * fabs(a->metric[i])) return 0;
    return 1;
}

static double square(const struct boxhdg_lanes *lanes, const struct boxhdg_kind *kind, int axis, int mode) {
    return kind->line[axis] >= 0 ? lanes->line_squares[kind->line[axis] * lanes->hdg->n + mode] : 1.0;
}

static double weight(const struct boxhdg_lanes *lanes, const struct boxhdg_kind *kind, int i, int j, int k) {
    int mode[3] = {i, j, k};
    double product = 1.0, Z = kind->metric[3];
    for (int axis = 0; axis < 3; axis++) {
        if (kind->line[axis] < 0) continue;
        product *= square(lanes, kind, axis, mode[axis]);
        Z += kind->metric[axis] * lanes->hdg->lines[kind->line[axis]].eigenvalues[mode[axis]];
    }
    return product / Z;
}

/* The diagonal of a cell's matrix for k = 1, the same for both faces of an axis: the sum over both parities
 * of a gamma B B - a^2 (sum of w along the axis). */
static void cell_diagonal(const struct boxhdg_lanes *lanes, const struct boxhdg_kind *kind,
                          double *diagonal) {
    const struct box_plan *p = &lanes->plan;
    double *faces[3] = {diagonal, diagonal + p->face[0], diagonal + p->face[0] + p->face[1]};
    int m[3];
    memset(diagonal, 0, (size_t)(p->face[0] + p->face[1] + p->face[2]) * sizeof *diagonal);
    for (m[0] = 0; m[0] < p->modes[0]; m[0]++)
        for (m[1] = 0; m[1] < p->modes[1]; m[1]++)
            for (m[2] = 0; m[2] < p->modes[2]; m[2]++) {
                double w = weight(lanes, kind, m[0], m[1], m[2]);
                for (int axis = 0; axis < 3; axis++) {
                    if (kind->line[axis] < 0) continue;
                    int slow = axis == 0 ? 1 : 0, fast = axis == 2 ? 1 : 2;
                    const double *gamma = lanes->hdg->lines[kind->line[axis]].gamma;
                    double a = kind->metric[axis], value = -a * a * w;
                    if (m[axis] == 0)
                        value += a * (gamma[0] + gamma[1]) * square(lanes, kind, slow, m[slow]) *
                                 square(lanes, kind, fast, m[fast]);
                    faces[axis][box_face_mode(p, slow, fast, m[slow], m[fast])] += value;
                }
            }
}

/* The number of a kind, which is added if it is new. */
static facet_status find_kind(const struct boxhdg_lanes *lanes, struct kinds *all,
                              const struct boxhdg_kind *kind, int *number) {
    facet_status status = FACET_OK;
    for (*number = all->n - 1; *number >= 0; --*number)
        if (boxhdg_same_kind(&all->kinds[*number], kind)) return FACET_OK;
    if (all->n == all->capacity) {
        int capacity = all->capacity > 0 ? 2 * all->capacity : 4;
        TRY(base_realloc(&all->kinds, (size_t)capacity, sizeof *all->kinds));
        TRY(base_realloc(&all->diagonals, (size_t)(capacity * all->size), sizeof *all->diagonals));
        all->capacity = capacity;
    }
    *number = all->n++;
    all->kinds[*number] = *kind;
    cell_diagonal(lanes, kind, all->diagonals + *number * all->size);
done:
    return status;
}

/* Adds a cell's diagonal to its faces. */
static void add_diagonal(const struct boxhdg_lanes *lanes, const int at[3], double k, const double *diagonal,
                         double *sum) {
    const int L = lanes->plan.lanes;
    const struct box_plan *p = &lanes->plan;
    for (int axis = 0; axis < 3; diagonal += p->face[axis], axis++)
        for (int side = 0; side < 2 && p->present[axis]; side++) {
            int64_t where = box_where(p, axis, at, side, L);
            for (int64_t t = 0; where >= 0 && t < p->face[axis]; t++) sum[where + t * L] += k * diagonal[t];
        }
}

/* One pack: its metric and its table. */
static facet_status make_pack(struct boxhdg_lanes *lanes, int layer, int row, int pack, struct kinds *all) {
    const int L = lanes->plan.lanes;
    facet_status status = FACET_OK;
    const struct box_plan *p = &lanes->plan;
    int64_t number = ((int64_t)layer * p->cells[1] + row) * p->packs + pack;
    double *metric = all->metric + number * KERNEL_BOX_METRIC * L;
    struct boxhdg_kind *kinds = all->of_lanes;
    int shared = 1, table = -1;
    for (int lane = 0; lane < L; lane++) {
        int c = pack * L + lane, cell[3] = {c < p->cells[0] ? c : p->cells[0] - 1, row, layer};
        double k = boxhdg_lanes_kind(lanes, cell, &kinds[lane]);
        if (!boxhdg_same_kind(&kinds[0], &kinds[lane])) shared = 0;
        for (int i = 0; i < 4; i++) metric[i * L + lane] = kinds[lane].metric[i];
        metric[4 * L + lane] = c < p->cells[0] ? k : 0.0;
    }
    if (shared) TRY(find_kind(lanes, all, &kinds[0], &table));
    all->tables[number] = table;
    if (!shared) lanes->plan.own_weights = 1;
done:
    return status;
}

/* Adds the diagonals of the cells of a layer. own: room for that of one cell. */
static void add_layer(const struct boxhdg_lanes *lanes, int layer, const struct kinds *all, double *own) {
    const int L = lanes->plan.lanes;
    const struct box_plan *p = &lanes->plan;
    for (int row = 0; row < p->cells[1]; row++)
        for (int c = 0; c < p->cells[0]; c++) {
            int64_t number = ((int64_t)layer * p->cells[1] + row) * p->packs + c / L;
            int cell[3] = {c, row, layer}, table = all->tables[number];
            struct boxhdg_kind kind;
            double k = all->metric[(number * KERNEL_BOX_METRIC + 4) * L + c % L];
            if (table < 0) {
                (void)boxhdg_lanes_kind(lanes, cell, &kind);
                cell_diagonal(lanes, &kind, own);
            }
            add_diagonal(lanes, cell, k, table >= 0 ? all->diagonals + table * all->size : own, all->sum);
        }
}

/* The inverse diagonal. Layers share faces with the next one only: even ones first, then odd ones; around a
 * ring of an odd number the last is on its own. A face has at most two cells, so that the sums are the same
 * in any order. */
static facet_status make_diagonal(const struct boxhdg_lanes *lanes, const struct kinds *all) {
    const struct box_plan *p = &lanes->plan;
    struct base_collector failures;
    int n = p->cells[2], alone = p->periodic[2] && n % 2 == 1;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads_for(p->size))
    {
        double *own = NULL;
        facet_status mine = ALLOC(own, all->size);
        base_collect(&failures, -1, mine);
#pragma omp for
        for (int64_t i = 0; i < p->size; i++) all->sum[i] = 0.0;
        for (int turn = 0; turn < 2; turn++) {
#pragma omp for schedule(dynamic)
            for (int layer = turn; layer < n - alone; layer += 2)
                if (mine == FACET_OK) add_layer(lanes, layer, all, own);
        }
#pragma omp single
        if (alone && mine == FACET_OK) add_layer(lanes, n - 1, all, own);
#pragma omp for
        for (int64_t i = 0; i < p->size; i++) all->sum[i] = all->sum[i] > 0.0 ? 1.0 / all->sum[i] : 0.0;
        base_free(&own);
    }
    return base_collected(&failures);
}

/* The weights of a kind in the order of kernels/box.h. */
static void fill_weights(const struct boxhdg_lanes *lanes, const struct boxhdg_kind *kind, double *w) {
    const struct box_plan *p = &lanes->plan;
    for (int block = 0; block < 8; block++) {
        int N[3], first[3];
        for (int axis = 0; axis < 3; axis++) {
            int parity = (block >> (2 - axis)) & 1;
            N[axis] = box_count(p, axis, parity);
            first[axis] = box_first(p, axis, parity);
        }
        for (int i0 = 0; i0 < N[0]; i0 += KERNEL_BOX_I)
            for (int j0 = 0; j0 < N[1]; j0 += KERNEL_BOX_J)
                for (int k = 0; k < N[2]; k++)
                    for (int i = i0; i < i0 + KERNEL_BOX_I && i < N[0]; i++)
                        for (int j = j0; j < j0 + KERNEL_BOX_J && j < N[1]; j++)
                            *w++ = weight(lanes, kind, first[0] + i, first[1] + j, first[2] + k);
    }
}

facet_status boxhdg_lanes_make_cells(struct boxhdg_lanes *lanes) {
    const int L = lanes->plan.lanes;
    facet_status status = FACET_OK;
    struct box_plan *p = &lanes->plan;
    struct kinds all = {.size = p->face[0] + p->face[1] + p->face[2]};
    int64_t n_packs = (int64_t)p->cells[2] * p->cells[1] * p->packs, volume = lanes->hdg->cell_size;
    double *weights = NULL;
    void *tables = NULL;
    TRY(ALLOC(all.tables, n_packs));
    TRY(ALLOC(all.metric, n_packs * KERNEL_BOX_METRIC * L));
    TRY(ALLOC(all.sum, p->size));
    TRY(ALLOC(all.of_lanes, L));
    for (int64_t i = 0; i < n_packs; i++)
        TRY(make_pack(lanes, (int)(i / p->packs / p->cells[1]), (int)(i / p->packs % p->cells[1]),
                      (int)(i % p->packs), &all));
    TRY(ALLOC(weights, all.n * volume));
    for (int i = 0; i < all.n; i++) fill_weights(lanes, &all.kinds[i], weights + i * volume);
    TRY(make_diagonal(lanes, &all));
    TRY(device_copy(lanes->device, &tables, all.tables, (size_t)n_packs, sizeof *all.tables));
    lanes->owned[lanes->n_owned++] = tables;
    p->tables = tables;
    TRY(boxhdg_lanes_give(lanes, all.metric, n_packs * KERNEL_BOX_METRIC * L, &p->f64.metric,
                          &p->f32.metric));
    TRY(boxhdg_lanes_give(lanes, weights, all.n * volume, &p->f64.weights, &p->f32.weights));
    TRY(boxhdg_lanes_give(lanes, all.sum, p->size, &p->f64.diagonal, &p->f32.diagonal));
done:
    base_free(&all.kinds);
    base_free(&all.diagonals);
    base_free(&all.tables);
    base_free(&all.metric);
    base_free(&all.sum);
    base_free(&all.of_lanes);
    base_free(&weights);
    return status;
}
