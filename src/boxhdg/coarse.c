/* The coarse space: its numbering, its matrix, and its solve. */
#include "boxhdg/coarse.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/diagonalize.h"
#include "solve/coarse.h"

#define L           KERNEL_LANES
#define SMALL_ANGLE 1e-11 /* an eigenvalue below this part of the largest is the kernel's */

struct boxhdg_coarse {
    const struct boxhdg_lanes *lanes;
    const struct device *device; /* of the vertices */
    int size[3];                 /* of the lattice of kernels/box.h */
    int n[3];                    /* unknowns along each axis */
    int32_t *number[3];          /* of a vertex along each axis; -1: none */
    int64_t total;
    /* Constant coefficients: A is solved on the lattice, and vectors are lattices. */
    struct box_diagonal *diagonal;
    struct vector lattice; /* vertices, on the device of the lanes */
    double *staged;        /* the same on the host, where that memory is elsewhere */
};

void boxhdg_coarse_destroy(struct boxhdg_coarse **coarse) {
    struct boxhdg_coarse *c = *coarse;
    if (c == NULL) return;
    for (int axis = 0; axis < 3; axis++) base_free(&c->number[axis]);
    box_diagonal_destroy(&c->diagonal);
    base_free(&c->staged);
    vector_destroy(&c->lattice);
    base_free(coarse);
}

/* ------------------------------------------------------------------------------------------ cells */

/* The energies v'Kv of a cell, bit 2 - axis of the index saying whether v is xi (1) or 1 (0) along an axis.
 * With v = the product of 1 and xi: the sum (even) or difference (odd) of its values on the two faces of axis
 * d is 2 T_d, T_d its factors along the other axes. v'Kv = k [sum_d a_d gamma 4 |T_d|^2 - sum over the modes
 * of these parities of (sum_d 2 a_d b T_d)^2 / Z]. */
static void coarse_energies(const struct boxhdg_lanes *lanes, const int cell[3], double energies[8]) {
    const struct box_plan *p = &lanes->plan;
    const struct boxhdg *h = lanes->hdg;
    int at[3] = {0}, m[3];
    double metric[3], a[3] = {0}, hats[3][BOX_MAX_DEGREE + 1], b[3][BOX_MAX_DEGREE + 1];
    const struct box_line *line[3] = {0};
    for (int axis = 0; axis < 3; axis++)
        if (lanes->direction[axis] >= 0) at[lanes->direction[axis]] = cell[axis];
    double lambda = boxhdg_metric(h, at, metric);
    for (int axis = 0; axis < 3; axis++) {
        int d = lanes->direction[axis];
        hats[axis][0] = 1.0;
        if (d < 0) continue;
        a[axis] = metric[d];
        line[axis] = boxhdg_line(h, d, cell[axis]);
        for (int i = 0; i < h->n; i++) {
            b[axis][i] = line[axis]->b[i];
            hats[axis][i] =
                i < p->even[axis] ? sqrt(2.0) * line[axis]->S[i] : sqrt(2.0 / 3.0) * line[axis]->S[h->n + i];
        }
    }
    for (int block = 0; block < 8; block++) {
        int parity[3] = {block >> 2, (block >> 1) & 1, block & 1};
        double norm[3] = {0}, sum = 0.0;
        for (int axis = 0; axis < 3; axis++)
            for (int i = 0; i < box_count(p, axis, parity[axis]); i++) {
                double hat = hats[axis][box_first(p, axis, parity[axis]) + i];
                norm[axis] += hat * hat;
            }
        for (int axis = 0; axis < 3; axis++)
            if (line[axis] != NULL)
                sum += 4.0 * a[axis] * line[axis]->gamma[parity[axis]] * norm[(axis + 1) % 3] *
                       norm[(axis + 2) % 3];
        int first[3], last[3];
        for (int axis = 0; axis < 3; axis++) {
            first[axis] = box_first(p, axis, parity[axis]);
            last[axis] = first[axis] + box_count(p, axis, parity[axis]);
        }
        for (m[0] = first[0]; m[0] < last[0]; m[0]++)
            for (m[1] = first[1]; m[1] < last[1]; m[1]++)
                for (m[2] = first[2]; m[2] < last[2]; m[2]++) {
                    double F = 0.0, Z = lambda;
                    for (int axis = 0; axis < 3; axis++) {
                        if (line[axis] == NULL) continue;
                        int o = (axis + 1) % 3, q = (axis + 2) % 3;
                        F += 2.0 * a[axis] * b[axis][m[axis]] * hats[o][m[o]] * hats[q][m[q]];
                        Z += a[axis] * line[axis]->eigenvalues[m[axis]];
                    }
                    sum -= F * F / Z;
                }
        energies[block] = fmax(sum, 0.0);
    }
}

/* Energies of cell after cell, computed only where they change. */
struct energies {
    int lines[3];
    double metric[4], values[8];
    int known;
};

static const double *energies_of(const struct boxhdg_coarse *c, const int cell[3], struct energies *last) {
    const struct boxhdg *h = c->lanes->hdg;
    int at[3] = {0}, same = last->known, lines[3];
    double metric[4];
    for (int axis = 0; axis < 3; axis++)
        if (c->lanes->direction[axis] >= 0) at[c->lanes->direction[axis]] = cell[axis];
    metric[3] = boxhdg_metric(h, at, metric);
    for (int d = 0; d < 3; d++) lines[d] = h->column_line[d][at[d]];
    /* energies are proportional to k where the ratio of lambda and k is the same */
    double factor = last->known && last->metric[0] > 0.0 ? metric[0] / last->metric[0] : 1.0;
    for (int i = 0; i < 4; i++)
        if (fabs(metric[i] - factor * last->metric[i]) > 1e-12 * fabs(metric[i])) same = 0;
    for (int d = 0; d < 3; d++)
        if (lines[d] != last->lines[d]) same = 0;
    if (!same) {
        coarse_energies(c->lanes, cell, last->values);
        factor = 1.0;
    }
    for (int i = 0; i < 8; i++) last->values[i] *= factor;
    memcpy(last->metric, metric, sizeof metric);
    memcpy(last->lines, lines, sizeof lines);
    last->known = 1;
    return last->values;
}

/* ------------------------------------------------------------------------------------------ products of
 * lines */

/* The mean over all cells of the coefficients of A in products of mass (0) and stiffness (1). On an element
 * of width h the mass has the eigenvalues h/2 (even) and h/6 (odd), the stiffness 0 and 2/h. */
static void mean_coefficients(const struct boxhdg_coarse *c, double mean[8]) {
    const struct box_plan *p = &c->lanes->plan;
    struct energies last = {.known = 0};
    double share = 1.0 / (double)c->lanes->hdg->grid.n_cells;
    int at[3];
    memset(mean, 0, 8 * sizeof *mean);
    for (at[2] = 0; at[2] < p->cells[2]; at[2]++)
        for (at[1] = 0; at[1] < p->cells[1]; at[1]++)
            for (at[0] = 0; at[0] < p->cells[0]; at[0]++) {
                double v[8];
                memcpy(v, energies_of(c, at, &last), sizeof v);
                for (int axis = 0; axis < 3; axis++) {
                    int d = c->lanes->direction[axis], bit = 4 >> axis;
                    if (d < 0) continue;
                    double h = c->lanes->hdg->grid.widths[d][at[axis]];
                    for (int i = 0; i < 8; i++) {
                        if (i & bit) continue;
                        v[i] = 0.5 * v[i] / (h / 2.0);
                        v[i | bit] = (0.5 * v[i | bit] - v[i] * h / 6.0) / (2.0 / h);
                    }
                }
                for (int i = 0; i < 8; i++) mean[i] += share * v[i];
            }
}

/* The inverse eigenvalues of A from those of linear elements along the axes. */
static void invert(const struct boxhdg_coarse *c, double *inverses) {
    const struct box_direction *axes[3];
    double mean[8], largest = 0.0;
    for (int axis = 0; axis < 3; axis++) axes[axis] = box_diagonal_axis(c->diagonal, axis);
    mean_coefficients(c, mean);
    for (int64_t i = 0; i < c->total; i++) {
        int64_t at[3] = {i % c->n[0], i / c->n[0] % c->n[1], i / c->n[0] / c->n[1]};
        double sum = 0.0, leading = 0.0;
        for (int term = 0; term < 8; term++) {
            double value = mean[term];
            for (int axis = 0; axis < 3; axis++)
                if (term & (4 >> axis)) value *= axes[axis]->theta[at[axis]];
            sum += value;
            if (term == 0 || term == 1 || term == 2 || term == 4) leading += fmax(value, 0.0);
        }
        inverses[i] = fmax(sum, 0.05 * leading); /* averages need not keep the sum positive */
        largest = fmax(largest, inverses[i]);
    }
    int singular = c->lanes->hdg->grid.singular;
    for (int64_t i = 0; i < c->total; i++)
        inverses[i] = singular && inverses[i] <= SMALL_ANGLE * largest ? 0.0 : 1.0 / inverses[i];
}

static facet_status make_products(struct boxhdg_coarse *c) {
    facet_status status = FACET_OK;
    const struct boxhdg_lanes *lanes = c->lanes;
    struct box_element linear = {0};
    double *inverses = NULL;
    TRY(box_element_create(1, &linear));
    TRY(box_diagonal_create(lanes->device, &lanes->hdg->grid, &linear, lanes->direction, c->size, 1,
                            &c->diagonal));
    TRY(ALLOC(inverses, c->total));
    invert(c, inverses);
    TRY(box_diagonal_set_inverses(c->diagonal, inverses));
done:
    box_element_destroy(&linear);
    base_free(&inverses);
    return status;
}

/* ------------------------------------------------------------------------------------------ assembled */

static int64_t unknown(const struct boxhdg_coarse *c, int i, int j, int k) {
    int32_t a = c->number[0][i], b = c->number[1][j], d = c->number[2][k];
    return a < 0 || b < 0 || d < 0 ? -1 : ((int64_t)d * c->n[1] + b) * c->n[0] + a;
}

/* The matrix of one cell: sum over the eight products of energy / 64 e e', e = their signs at the vertices.
 */
static void add_cell(const struct boxhdg_coarse *c, const int at[3], const double *energies,
                     struct csr_elements *elements) {
    const int *present = c->lanes->plan.present;
    int n = 0, corner[8], corners = 1;
    int64_t numbers[8];
    double matrix[36], *to = matrix;
    for (int axis = 0; axis < 3; axis++) corners *= present[axis] ? 2 : 1;
    for (int v = 0; v < 8; v++) {
        int bit[3] = {v >> 2, (v >> 1) & 1, v & 1}, skip = 0;
        for (int axis = 0; axis < 3; axis++) skip |= bit[axis] && !present[axis];
        if (skip) continue;
        numbers[n] = unknown(c, at[0] + bit[0], at[1] + bit[1], at[2] + bit[2]);
        corner[n++] = v;
    }
    for (int r = 0; r < n; r++)
        for (int s = 0; s <= r; s++) {
            double sum = 0.0;
            for (int q = 0; q < 8; q++) {
                int odd = __builtin_popcount((unsigned)(q & (corner[r] ^ corner[s]))) & 1;
                sum += odd ? -energies[q] : energies[q];
            }
            *to++ = sum / (corners * corners);
        }
    csr_elements_add(elements, n, numbers, matrix);
}

static facet_status assemble(const struct boxhdg_coarse *c, struct csr *csr) {
    facet_status status = FACET_OK;
    const struct box_plan *p = &c->lanes->plan;
    struct csr_elements elements;
    struct energies last = {.known = 0};
    int at[3];
    TRY(csr_elements_create(c->total, c->lanes->hdg->grid.n_cells, 8, 0, &elements));
    for (at[2] = 0; at[2] < p->cells[2]; at[2]++)
        for (at[1] = 0; at[1] < p->cells[1]; at[1]++)
            for (at[0] = 0; at[0] < p->cells[0]; at[0]++)
                add_cell(c, at, energies_of(c, at, &last), &elements);
    TRY(csr_from_elements(&elements, csr));
done:
    csr_elements_destroy(&elements);
    return status;
}

/* On the host. */
static facet_status end_assembled(struct boxhdg_coarse *c, struct multigrid *mg) {
    facet_status status = FACET_OK;
    struct coarse_matrix matrix = {.name = "vertices", .singular = c->lanes->hdg->grid.singular};
    TRY(assemble(c, &matrix.csr));
    TRY(multigrid_end_coarse(mg, c->device, &matrix,
                             &(struct coarse_options){.unknowns = COARSE_FEW_UNKNOWNS}));
done:
    coarse_matrix_destroy(&matrix);
    return status;
}

/* ------------------------------------------------------------------------------------------ the whole */

static facet_status number_vertices(struct boxhdg_coarse *c) {
    facet_status status = FACET_OK;
    const struct box_plan *p = &c->lanes->plan;
    box_lattice(p, L, c->size);
    c->total = 1;
    for (int axis = 0; axis < 3; axis++) {
        int last = p->present[axis] ? p->cells[axis] : 0;
        TRY(ALLOC(c->number[axis], c->size[axis]));
        for (int i = 0; i < c->size[axis]; i++) {
            int fixed = (i == 0 && p->fixed[axis][0]) || (i == last && p->fixed[axis][1]);
            c->number[axis][i] = fixed || i > last ? -1 : i == last && p->periodic[axis] ? 0 : c->n[axis]++;
        }
        c->total *= c->n[axis];
    }
done:
    return status;
}

facet_status boxhdg_coarse_create(const struct boxhdg_lanes *lanes, struct boxhdg_coarse **coarse) {
    facet_status status = FACET_OK;
    struct boxhdg_coarse *c;
    TRY(CALLOC(*coarse, 1));
    c = *coarse;
    c->lanes = lanes;
    TRY(number_vertices(c));
    if (c->total == 0) goto done;
    c->device = lanes->device;
    if (lanes->hdg->grid.separable) {
        TRY(make_products(c));
        goto done;
    }
    int64_t n_lattice = (int64_t)c->size[0] * c->size[1] * c->size[2];
    TRY(vector_create(lanes->device, n_lattice, &c->lattice));
    if (device_is_host(lanes->device)) goto done;
    TRY(device_find(NULL, &c->device));
    TRY(ALLOC(c->staged, n_lattice));
done:
    if (status != FACET_OK) boxhdg_coarse_destroy(coarse);
    return status;
}

int64_t boxhdg_coarse_size(const struct boxhdg_coarse *c) {
    return c->diagonal != NULL ? (int64_t)c->size[0] * c->size[1] * c->size[2] : c->total;
}

static void apply_products(const struct operator* M, const struct vector *b, struct vector *x) {
    struct boxhdg_coarse *c = M->data;
    box_diagonal_solve(c->diagonal, b->data, x->data);
}

facet_status boxhdg_coarse_end(struct boxhdg_coarse *c, struct multigrid *mg) {
    if (c->diagonal == NULL) return end_assembled(c, mg);
    struct operator solve = {
        .n = boxhdg_coarse_size(c), .device = c->device, .apply = apply_products, .data = c};
    return multigrid_end(mg, "vertices", &solve);
}

void boxhdg_coarse_gather(struct boxhdg_coarse *c, const struct vector *moments, struct vector *vertices) {
    const struct boxhdg_lanes *lanes = c->lanes;
    double *lattice = c->diagonal != NULL ? vertices->data : c->lattice.data;
    device_box_restrict(lanes->device, lanes->precision, &lanes->plan, moments->numbers, lattice);
    if (c->diagonal != NULL) return;
    if (c->staged != NULL) (void)vector_download(&c->lattice, c->staged); /* the device keeps what fails */
    lattice = c->staged != NULL ? c->staged : lattice;
    memset(vertices->data, 0, (size_t)c->total * sizeof *vertices->data);
    for (int k = 0; k < c->size[2]; k++)
        for (int j = 0; j < c->size[1]; j++)
            for (int i = 0; i < c->size[0]; i++, lattice++) {
                int64_t to = unknown(c, i, j, k);
                if (to >= 0) vertices->data[to] += *lattice;
            }
}

void boxhdg_coarse_spread(struct boxhdg_coarse *c, const struct vector *vertices,
                          struct vector *coefficients) {
    const struct boxhdg_lanes *lanes = c->lanes;
    double *lattice = c->diagonal != NULL ? vertices->data : c->staged != NULL ? c->staged : c->lattice.data;
    for (int k = 0; k < c->size[2] && c->diagonal == NULL; k++)
        for (int j = 0; j < c->size[1]; j++)
            for (int i = 0; i < c->size[0]; i++) {
                int64_t from = unknown(c, i, j, k);
                *lattice++ = from >= 0 ? vertices->data[from] : 0.0;
            }
    if (c->staged != NULL) (void)vector_upload(&c->lattice, c->staged);
    lattice = c->diagonal != NULL ? vertices->data : c->lattice.data;
    device_box_prolong(lanes->device, lanes->precision, &lanes->plan, lattice, coefficients->numbers);
}
