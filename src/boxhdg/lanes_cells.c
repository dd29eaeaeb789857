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

/* One pack: its metric, and the kind of its cells, if they have one; else a line of -2. */
static void look_at_pack(const struct boxhdg_lanes *lanes, int64_t number, double *metric,
                         struct boxhdg_kind *kind) {
    const int L = lanes->plan.lanes;
    const struct box_plan *p = &lanes->plan;
    int pack = (int)(number % p->packs), row = (int)(number / p->packs % p->cells[1]),
        layer = (int)(number / p->packs / p->cells[1]), shared = 1;
    for (int lane = 0; lane < L; lane++) {
        int c = pack * L + lane, cell[3] = {c < p->cells[0] ? c : p->cells[0] - 1, row, layer};
        struct boxhdg_kind own;
        double k = boxhdg_lanes_kind(lanes, cell, &own);
        if (lane == 0) *kind = own;
        if (!boxhdg_same_kind(kind, &own)) shared = 0;
        for (int i = 0; i < 4; i++) metric[i * L + lane] = own.metric[i];
        metric[4 * L + lane] = c < p->cells[0] ? k : 0.0;
    }
    if (!shared) kind->line[0] = -2;
}

/* The table of every pack, and the kinds that there are. */
static facet_status make_packs(struct boxhdg_lanes *lanes, int64_t n_packs, struct kinds *all) {
    facet_status status = FACET_OK;
    struct boxhdg_kind *kinds = NULL;
    int table = -1;
    TRY(ALLOC(kinds, n_packs));
#pragma omp parallel for num_threads(base_threads_for(64 * n_packs))
    for (int64_t i = 0; i < n_packs; i++)
        look_at_pack(lanes, i, all->metric + i * KERNEL_BOX_METRIC * lanes->plan.lanes, &kinds[i]);
    for (int64_t i = 0; i < n_packs; i++) {
        int shared = kinds[i].line[0] != -2;
        if (shared && (table < 0 || !boxhdg_same_kind(&all->kinds[table], &kinds[i])))
            TRY(find_kind(lanes, all, &kinds[i], &table));
        all->tables[i] = shared ? table : -1;
        lanes->plan.own_weights |= !shared;
    }
done:
    base_free(&kinds);
    return status;
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

int boxhdg_is_alike(const struct boxhdg *h) {
    const struct box_grid *g = &h->grid;
    int alike = g->separable && g->part == NULL;
    for (int d = 0; d < g->dim; d++)
        for (int i = 1; i < g->cells[d]; i++)
            alike = alike && h->column_line[d][i] == h->column_line[d][0] &&
                    fabs(g->widths[d][i] - g->widths[d][0]) <= 0.1 * SAME_SIZE * g->widths[d][0];
    return alike;
}

/* Where cells are alike: a box of the packs, rows and layers at the ends, whose diagonal serves all. metric:
 * of its packs, on the device. */
static facet_status make_few(struct boxhdg_lanes *lanes, const struct kinds *all, struct box_plan *few,
                             double **metric) {
    facet_status status = FACET_OK;
    struct box_plan *p = &lanes->plan;
    const int L = p->lanes;
    const int64_t size = KERNEL_BOX_METRIC * L;
    double *host = NULL;
    *few = *p;
    if (p->packs > 2) few->cells[0] -= (p->packs - 2) * L;
    for (int axis = 1; axis < 3; axis++)
        if (few->cells[axis] > 2) few->cells[axis] = 2;
    boxhdg_lanes_lay_out(few);
    const int64_t n_packs = (int64_t)few->cells[2] * few->cells[1] * few->packs;
    TRY(ALLOC(host, n_packs * size));
    for (int64_t i = 0; i < n_packs; i++)
        memcpy(host + i * size, all->metric + (i % few->packs > 0 ? p->packs - 1 : 0) * size,
               (size_t)size * sizeof *host);
    TRY(device_copy(lanes->device, metric, host, (size_t)(n_packs * size), sizeof *host));
    few->f64.metric = *metric;
    p->few.packs = few->packs;
    p->few.layer = few->layer;
    p->few.front = few->front;
    for (int axis = 0; axis < 3; axis++) p->few.section[axis] = few->section[axis];
done:
    base_free(&host);
    return status;
}

/* The inverse diagonal, by the kernel that makes it. */
static facet_status make_diagonal(struct boxhdg_lanes *lanes, const struct kinds *all) {
    facet_status status = FACET_OK;
    const struct device *device = lanes->device;
    struct box_plan *p = &lanes->plan, plan = *p;
    double *diagonals = NULL, *sum = NULL, *metric = NULL;
    void *rounded = NULL;
    if (p->alike) TRY(make_few(lanes, all, &plan, &metric));
    TRY(device_copy(device, &diagonals, all->diagonals, (size_t)(all->n * all->size), sizeof *diagonals));
    TRY(device_alloc(device, &sum, (size_t)plan.size, sizeof *sum));
    device_box_diagonal(device, &plan, diagonals, sum);
    TRY(boxhdg_lanes_join_diagonal(lanes, sum));
    if (lanes->precision == F32) {
        TRY(device_copy_rounded(device, F32, &rounded, sum, plan.size));
        lanes->owned[lanes->n_owned++] = rounded;
        p->f32.diagonal = rounded;
    } else {
        lanes->owned[lanes->n_owned++] = sum;
        p->f64.diagonal = sum;
        sum = NULL;
    }
done:
    device_free(device, &diagonals);
    device_free(device, &metric);
    device_free(device, &sum);
    return status;
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
    TRY(make_packs(lanes, n_packs, &all));
    p->alike = all.n == 1 && !p->own_weights && boxhdg_is_alike(lanes->hdg);
    TRY(ALLOC(weights, all.n * volume));
    for (int i = 0; i < all.n; i++) fill_weights(lanes, &all.kinds[i], weights + i * volume);
    TRY(device_copy(lanes->device, &tables, all.tables, (size_t)n_packs, sizeof *all.tables));
    lanes->owned[lanes->n_owned++] = tables;
    p->tables = tables;
    TRY(boxhdg_lanes_give(lanes, all.metric, n_packs * KERNEL_BOX_METRIC * L, &p->f64.metric,
                          &p->f32.metric));
    TRY(boxhdg_lanes_give(lanes, weights, all.n * volume, &p->f64.weights, &p->f32.weights));
    TRY(make_diagonal(lanes, &all));
done:
    base_free(&all.kinds);
    base_free(&all.diagonals);
    base_free(&all.tables);
    base_free(&all.metric);
    base_free(&weights);
    return status;
}
