/* The plan of a box for the kernels: layout, tables, weights and diagonal. */
#include "boxhdg/lanes.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

#define SPURIOUS_B        1e-14
#define SPURIOUS_B_SINGLE 1e-6

/* ------------------------------------------------------------------------------------------ layout */

static void choose_axes(struct boxhdg_lanes *lanes) {
    static const int directions[3][3] = {{0, -1, -1}, {0, -1, 1}, {0, 1, 2}};
    const struct boxhdg *h = lanes->hdg;
    const struct box_grid *g = &h->grid;
    struct box_plan *p = &lanes->plan;
    for (int axis = 0; axis < 3; axis++) {
        int d = lanes->direction[axis] = directions[g->dim - 1][axis];
        p->present[axis] = d >= 0;
        p->modes[axis] = d >= 0 ? h->n : 1;
        p->even[axis] = d >= 0 ? (h->n + 1) / 2 : 1;
        p->cells[axis] = d >= 0 ? g->cells[d] : 1;
        if (d < 0) continue;
        p->periodic[axis] = g->sides[d][0] == BOX_PERIODIC;
        for (int side = 0; side < 2; side++) p->fixed[axis][side] = g->sides[d][side] == BOX_DIRICHLET;
        p->extra[axis] = !p->periodic[axis] && !p->fixed[axis][0];
    }
}

void boxhdg_lanes_lay_out(struct box_plan *p) {
    const int L = p->lanes;
    p->packs = (p->cells[0] + L - 1) / L;
    p->layer = p->layer_faces = 0;
    for (int axis = 0; axis < 3; axis++)
        p->face[axis] =
            p->present[axis] ? (int64_t)p->modes[0] * p->modes[1] * p->modes[2] / p->modes[axis] : 0;
    p->faces[0] = (int64_t)p->cells[1] * (p->packs + p->extra[0]);
    p->faces[1] = p->present[1] ? (int64_t)(p->cells[1] + p->extra[1]) * p->packs : 0;
    p->faces[2] = p->present[2] ? (int64_t)p->cells[1] * p->packs : 0;
    for (int axis = 0; axis < 3; axis++) {
        p->section[axis] = p->faces[axis] * p->face[axis] * L;
        p->layer += p->section[axis];
        p->layer_faces += p->faces[axis];
    }
    p->front = p->extra[2] ? p->section[2] : 0;
    p->front_faces = p->extra[2] ? p->faces[2] : 0;
    p->size = p->front + p->cells[2] * p->layer;
    p->n_faces = p->front_faces + p->cells[2] * p->layer_faces;
    p->threads = base_threads();
}

/* ------------------------------------------------------------------------------------------ arrays */

facet_status boxhdg_lanes_give(struct boxhdg_lanes *lanes, const double *host, int64_t n, const double **f64,
                               const float **f32) {
    facet_status status = FACET_OK;
    double *copy = NULL;
    void *rounded = NULL;
    TRY(device_copy(lanes->device, &copy, host, (size_t)n, sizeof *host));
    *f64 = copy;
    if (lanes->precision == F64) {
        lanes->owned[lanes->n_owned++] = copy;
        goto done;
    }
    lanes->staged[lanes->n_staged++] = copy;
    TRY(device_copy_rounded(lanes->device, F32, &rounded, copy, n));
    lanes->owned[lanes->n_owned++] = rounded;
    *f32 = rounded;
done:
    return status;
}

/* The doubles of lanes of single precision go. */
static void unstage(struct boxhdg_lanes *lanes) {
    for (int i = 0; i < lanes->n_staged; i++) device_free(lanes->device, &lanes->staged[i]);
    lanes->n_staged = 0;
    if (lanes->precision == F32) lanes->plan.f64 = (struct box_numbers){0};
}

facet_status boxhdg_lanes_vector(const struct boxhdg_lanes *lanes, int64_t n, struct vector *v) {
    facet_status status = vector_create_in(lanes->device, lanes->precision, n, v);
    if (n == lanes->plan.size) v->seam = lanes->seam;
    return status;
}

static facet_status make_scratch(struct boxhdg_lanes *lanes) {
    const int L = lanes->plan.lanes;
    facet_status status = FACET_OK;
    struct box_plan *p = &lanes->plan;
    double *zeros = NULL;
    int64_t largest = p->face[0];
    if (p->face[1] > largest) largest = p->face[1];
    if (p->face[2] > largest) largest = p->face[2];
    TRY(CALLOC(zeros, largest * L));
    TRY(boxhdg_lanes_give(lanes, zeros, largest * L, &p->f64.zeros, &p->f32.zeros));
    p->scratch_size = box_scratch(p, p->own_weights, L);
    size_t count = (size_t)p->threads * (size_t)p->scratch_size;
    void *scratch;
    TRY(device_alloc(lanes->device, &scratch, count, precision_size(lanes->precision)));
    lanes->owned[lanes->n_owned++] = scratch;
    if (lanes->precision == F32)
        p->f32.scratch = scratch;
    else
        p->f64.scratch = scratch;
done:
    base_free(&zeros);
    return status;
}

/* ------------------------------------------------------------------------------------------ lines */

/* What a column contributes to the tables: entries of mode m. */
enum column_table { TABLE_B, TABLE_SQUARES, TABLE_INVERSES, TABLE_EIGENVALUES, TABLE_HATS, N_COLUMN_TABLES };

static void fill_column(const struct boxhdg_lanes *lanes, int direction, int column, int modes,
                        double *table[N_COLUMN_TABLES], int64_t at, int stride) {
    const struct boxhdg *h = lanes->hdg;
    const struct box_line *line = direction >= 0 ? boxhdg_line(h, direction, column) : NULL;
    for (int m = 0; m < modes; m++, at += stride) {
        double square = line != NULL ? lanes->line_squares[(line - h->lines) * h->n + m] : 1.0;
        double b = sqrt(square);
        table[TABLE_B][at] = b;
        table[TABLE_SQUARES][at] = square;
        table[TABLE_INVERSES][at] = 1.0 / square;
        table[TABLE_EIGENVALUES][at] = line != NULL ? line->eigenvalues[m] : 0.0;
        /* 1 = sqrt(2) l_0 and xi = sqrt(2/3) l_1 */
        table[TABLE_HATS][at] = line == NULL       ? 1.0
                                : m < line->n_even ? sqrt(2.0) * line->S[m] / b
                                                   : sqrt(2.0 / 3.0) * line->S[line->n + m] / b;
    }
}

static facet_status make_columns(struct boxhdg_lanes *lanes, int axis) {
    const int L = lanes->plan.lanes;
    facet_status status = FACET_OK;
    struct box_plan *p = &lanes->plan;
    int d = lanes->direction[axis], width = axis == 0 ? L : 1, m = p->modes[axis];
    int columns = axis == 0 ? p->packs : p->cells[axis];
    int64_t n = (int64_t)columns * m * width;
    double *table[N_COLUMN_TABLES] = {0}, *gamma = NULL;
    for (int t = 0; t < N_COLUMN_TABLES; t++) TRY(ALLOC(table[t], n));
    TRY(CALLOC(gamma, 2 * columns * width));
    for (int c = 0; c < columns; c++)
        for (int lane = 0; lane < width; lane++) {
            int column = c * width + lane; /* lanes without a cell copy the last one */
            if (column >= p->cells[axis]) column = p->cells[axis] - 1;
            fill_column(lanes, d, column, m, table, (int64_t)c * m * width + lane, width);
            for (int parity = 0; d >= 0 && parity < 2; parity++)
                gamma[(2 * c + parity) * width + lane] = boxhdg_line(lanes->hdg, d, column)->gamma[parity];
        }
    TRY(boxhdg_lanes_give(lanes, table[TABLE_SQUARES], n, &p->f64.squares[axis], &p->f32.squares[axis]));
    TRY(boxhdg_lanes_give(lanes, table[TABLE_INVERSES], n, &p->f64.inverses[axis], &p->f32.inverses[axis]));
    TRY(boxhdg_lanes_give(lanes, table[TABLE_EIGENVALUES], n, &p->f64.eigenvalues[axis],
                          &p->f32.eigenvalues[axis]));
    TRY(boxhdg_lanes_give(lanes, table[TABLE_HATS], n, &p->f64.hats[axis], &p->f32.hats[axis]));
    TRY(boxhdg_lanes_give(lanes, gamma, 2 * columns * width, &p->f64.gamma[axis], &p->f32.gamma[axis]));
    lanes->b[axis] = table[TABLE_B];
    table[TABLE_B] = NULL;
done:
    for (int t = 0; t < N_COLUMN_TABLES; t++) base_free(&table[t]);
    base_free(&gamma);
    return status;
}

/* b^2 of all lines, spurious modes raised. */
static facet_status make_line_squares(struct boxhdg_lanes *lanes) {
    const struct boxhdg *h = lanes->hdg;
    facet_status status = ALLOC(lanes->line_squares, h->n_lines * h->n);
    for (int l = 0; status == FACET_OK && l < h->n_lines; l++) {
        double largest = 0.0;
        for (int m = 0; m < h->n; m++) largest = fmax(largest, h->lines[l].b[m]);
        for (int m = 0; m < h->n; m++) {
            double b =
                fmax(h->lines[l].b[m], (lanes->precision == F32 ? SPURIOUS_B_SINGLE : SPURIOUS_B) * largest);
            lanes->line_squares[l * h->n + m] = b * b;
        }
    }
    return status;
}

/* The plain mode (lower tangential direction fastest) of every mode of a face in lanes. */
static facet_status make_order(struct boxhdg_lanes *lanes, int axis) {
    const struct box_plan *p = &lanes->plan;
    int slow = axis == 0 ? 1 : 0, fast = axis == 2 ? 1 : 2;
    facet_status status = ALLOC(lanes->order[axis], p->face[axis]);
    if (status != FACET_OK) return status;
    for (int a = 0; a < p->modes[slow] && p->present[axis]; a++)
        for (int b = 0; b < p->modes[fast]; b++)
            lanes->order[axis][box_face_mode(p, slow, fast, a, b)] = b * p->modes[slow] + a;
    return FACET_OK;
}

facet_status boxhdg_lanes_create(const struct device *device, const struct boxhdg *hdg,
                                 enum precision precision, struct boxhdg_lanes **result) {
    facet_status status = FACET_OK;
    struct boxhdg_lanes *lanes;
    TRY(CALLOC(*result, 1));
    lanes = *result;
    lanes->device = device;
    lanes->hdg = hdg;
    lanes->precision = precision;
    lanes->plan.lanes = device_box_lanes(device);
    choose_axes(lanes);
    boxhdg_lanes_lay_out(&lanes->plan);
    TRY(make_line_squares(lanes));
    for (int axis = 0; axis < 3; axis++) {
        TRY(make_columns(lanes, axis));
        TRY(make_order(lanes, axis));
    }
    TRY(boxhdg_lanes_make_seam(lanes));
    TRY(boxhdg_lanes_make_cells(lanes));
    TRY(make_scratch(lanes));
    unstage(lanes);
done:
    if (status != FACET_OK) boxhdg_lanes_destroy(result);
    return status;
}

void boxhdg_lanes_destroy(struct boxhdg_lanes **result) {
    struct boxhdg_lanes *lanes = *result;
    if (lanes == NULL) return;
    for (int axis = 0; axis < 3; axis++) {
        base_free(&lanes->b[axis]);
        base_free(&lanes->order[axis]);
    }
    base_free(&lanes->line_squares);
    base_free(&lanes->foreign_scales);
    base_free(&lanes->foreign_diagonal);
    base_free(&lanes->foreign_values);
    seam_release(&lanes->seam);
    unstage(lanes);
    for (int i = 0; i < lanes->n_owned; i++) device_free(lanes->device, &lanes->owned[i]);
    base_free(result);
}
