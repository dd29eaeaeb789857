/* The coarse space: its numbering, its matrix, and its solve. */
#include "boxhdg/vertex_space.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/shared_vertices.h"
#include "mesh/part.h"
#include "solve/coarse.h"
#include "solve/jumps.h"

struct boxhdg_coarse {
    const struct boxhdg_lanes *lanes;
    const struct device *device; /* of the unknowns */
    int faces;   /* the space of face constants: total and numbers are of the lanes of all face-packs */
    int size[3]; /* of the lattice of kernels/box.h */
    int n[3];    /* unknowns along each axis */
    int64_t n_lattice, total; /* numbers of it; unknowns */
    int64_t *numbers;         /* of the unknowns of the lattice; -1: none */
    /* Constant coefficients: A is solved on the lattice, and vectors are lattices. */
    struct box_diagonal *diagonal;
    struct vector lattice; /* vertices, on the device of the lanes */
    double *staged;        /* the same on the host, where that memory is elsewhere; of faces: their moments */
    int64_t *foreign;      /* lanes of the faces that other blocks own; lanes->n_foreign */
    int64_t *places;       /* on a device that is not the host: where their moments are */
    /* Of a block: numbers of the unknowns in the whole, and those that are owned. */
    int64_t *global, first, n_owned, n_all;
};

void boxhdg_coarse_destroy(struct boxhdg_coarse **coarse) {
    struct boxhdg_coarse *c = *coarse;
    if (c == NULL) return;
    base_free(&c->numbers);
    base_free(&c->foreign);
    if (c->places != NULL) device_free(c->lanes->device, &c->places);
    base_free(&c->global);
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
static void coarse_energies(const struct boxhdg_lanes *lanes, const struct boxhdg_kind *kind,
                            double energies[8]) {
    const struct box_plan *p = &lanes->plan;
    const struct boxhdg *h = lanes->hdg;
    const double *a = kind->metric;
    double hats[3][BOX_MAX_DEGREE + 1];
    const struct box_line *line[3] = {0};
    int m[3];
    for (int axis = 0; axis < 3; axis++) {
        hats[axis][0] = 1.0;
        if (kind->line[axis] < 0) continue;
        line[axis] = &h->lines[kind->line[axis]];
        for (int i = 0; i < h->n; i++)
            hats[axis][i] =
                i < p->even[axis] ? sqrt(2.0) * line[axis]->S[i] : sqrt(2.0 / 3.0) * line[axis]->S[h->n + i];
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
                    double F = 0.0, Z = kind->metric[3];
                    for (int axis = 0; axis < 3; axis++) {
                        if (line[axis] == NULL) continue;
                        int o = (axis + 1) % 3, q = (axis + 2) % 3;
                        F += 2.0 * a[axis] * line[axis]->b[m[axis]] * hats[o][m[o]] * hats[q][m[q]];
                        Z += a[axis] * line[axis]->eigenvalues[m[axis]];
                    }
                    sum -= F * F / Z;
                }
        energies[block] = fmax(sum, 0.0);
    }
}

/* The energies of the constants on the faces of a cell: even[d][e] of those that are 1 on both faces of axis
 * d, odd[d] of 1 above and -1 below; the latter see nothing else. As coarse_energies, with the faces of one
 * axis at a time. */
struct face_energies {
    double even[3][3], odd[3];
};

static void face_energies(const struct boxhdg_lanes *lanes, const struct boxhdg_kind *kind,
                          struct face_energies *out) {
    const struct box_plan *p = &lanes->plan;
    const struct boxhdg *h = lanes->hdg;
    const double *a = kind->metric;
    const struct box_line *line[3] = {0};
    double hats[3][BOX_MAX_DEGREE + 1], norm[3] = {0};
    int m[3];
    *out = (struct face_energies){0};
    for (int axis = 0; axis < 3; axis++) {
        hats[axis][0] = 1.0;
        if (kind->line[axis] >= 0) line[axis] = &h->lines[kind->line[axis]];
        for (int i = 0; i < p->even[axis]; i++) {
            if (line[axis] != NULL) hats[axis][i] = sqrt(2.0) * line[axis]->S[i];
            norm[axis] += hats[axis][i] * hats[axis][i];
        }
    }
    for (int d = 0; d < 3; d++) {
        if (line[d] == NULL) continue;
        out->even[d][d] += 4.0 * a[d] * line[d]->gamma[0] * norm[(d + 1) % 3] * norm[(d + 2) % 3];
        out->odd[d] += 4.0 * a[d] * line[d]->gamma[1] * norm[(d + 1) % 3] * norm[(d + 2) % 3];
    }
    for (int odd = 0; odd <= 3; odd++) { /* 3: no axis */
        int first[3], last[3];
        if (odd < 3 && line[odd] == NULL) continue;
        for (int axis = 0; axis < 3; axis++) {
            first[axis] = box_first(p, axis, axis == odd);
            last[axis] = first[axis] + box_count(p, axis, axis == odd);
        }
        for (m[0] = first[0]; m[0] < last[0]; m[0]++)
            for (m[1] = first[1]; m[1] < last[1]; m[1]++)
                for (m[2] = first[2]; m[2] < last[2]; m[2]++) {
                    double F[3] = {0}, Z = kind->metric[3];
                    for (int d = 0; d < 3; d++) {
                        if (line[d] == NULL) continue;
                        int o = (d + 1) % 3, q = (d + 2) % 3;
                        Z += a[d] * line[d]->eigenvalues[m[d]];
                        if (odd == 3 || odd == d)
                            F[d] = 2.0 * a[d] * line[d]->b[m[d]] * hats[o][m[o]] * hats[q][m[q]];
                    }
                    if (odd < 3) out->odd[odd] -= F[odd] * F[odd] / Z;
                    for (int i = 0; i < 9 && odd == 3; i++)
                        out->even[i / 3][i % 3] -= F[i / 3] * F[i % 3] / Z;
                }
    }
}

static void cell_at(const struct boxhdg_coarse *c, int64_t i, int at[3]) {
    const int *n = c->lanes->plan.cells;
    at[0] = (int)(i % n[0]);
    at[1] = (int)(i / n[0] % n[1]);
    at[2] = (int)(i / n[0] / n[1]);
}

/* Energies of cell after cell, computed only where they change. */
struct energies {
    struct boxhdg_kind kind;
    double of_kind[8], values[8];
    int known;
};

static const double *energies_of(const struct boxhdg_coarse *c, const int cell[3], struct energies *last) {
    struct boxhdg_kind kind;
    double k = boxhdg_lanes_kind(c->lanes, cell, &kind);
    if (!last->known || !boxhdg_same_kind(&kind, &last->kind)) {
        coarse_energies(c->lanes, &kind, last->of_kind);
        last->kind = kind;
        last->known = 1;
    }
    for (int i = 0; i < 8; i++) last->values[i] = k * last->of_kind[i];
    return last->values;
}

/* ------------------------------------------------------------------------------------------ products of
 * lines */

/* The mean over all cells of the coefficients of A in products of mass (0) and stiffness (1). On an element
 * of width h the mass has the eigenvalues h/2 (even) and h/6 (odd), the stiffness 0 and 2/h. */
static void add_coefficients(const struct boxhdg_coarse *c, int64_t first, int64_t end, double mean[8]) {
    const struct box_grid *g = &c->lanes->hdg->grid;
    struct energies last = {.known = 0};
    int at[3];
    for (int64_t cell = first; cell < end; cell++) {
        double v[8];
        cell_at(c, cell, at);
        memcpy(v, energies_of(c, at, &last), sizeof v);
        for (int axis = 0; axis < 3; axis++) {
            int d = c->lanes->direction[axis], bit = 4 >> axis;
            if (d < 0) continue;
            double h = g->widths[d][at[axis]];
            for (int i = 0; i < 8; i++) {
                if (i & bit) continue;
                v[i] = 0.5 * v[i] / (h / 2.0);
                v[i | bit] = (0.5 * v[i | bit] - v[i] * h / 6.0) / (2.0 / h);
            }
        }
        for (int i = 0; i < 8; i++) mean[i] += v[i] / (double)g->n_cells;
    }
}

/* In parts that do not depend on the number of threads. */
static void mean_coefficients(const struct boxhdg_coarse *c, double mean[8]) {
    enum { PARTS = 64 };
    const int64_t n = c->lanes->hdg->grid.n_cells;
    double parts[PARTS][8] = {{0.0}};
    memset(mean, 0, 8 * sizeof *mean);
#pragma omp parallel for num_threads(base_threads_for(n)) schedule(static)
    for (int p = 0; p < PARTS; p++) add_coefficients(c, n * p / PARTS, n * (p + 1) / PARTS, parts[p]);
    for (int p = 0; p < PARTS; p++)
        for (int i = 0; i < 8; i++) mean[i] += parts[p][i];
}

static facet_status make_products(struct boxhdg_coarse *c) {
    facet_status status = FACET_OK;
    const struct boxhdg_lanes *lanes = c->lanes;
    struct box_element linear = {0};
    double *inverses = NULL, mean[8];
    TRY(box_element_create(1, &linear));
    TRY(box_diagonal_create(lanes->device, &lanes->hdg->grid, &linear, lanes->direction, c->size, 1,
                            &c->diagonal));
    TRY(ALLOC(inverses, c->total));
    mean_coefficients(c, mean);
    boxhdg_invert_products(c->diagonal, mean, lanes->hdg->grid.singular, inverses);
    TRY(box_diagonal_set_inverses(c->diagonal, inverses));
done:
    box_element_destroy(&linear);
    base_free(&inverses);
    return status;
}

/* ------------------------------------------------------------------------------------------ assembled */

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
        numbers[n] = c->numbers[((int64_t)(at[2] + bit[2]) * c->size[1] + at[1] + bit[1]) * c->size[0] +
                                at[0] + bit[0]];
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

/* The lane of the face above a cell along an axis, in the numbering of face-packs; a place of -1: below the
 * first. */
static int64_t face_lane(const struct box_plan *p, int axis, const int at[3]) {
    int L = p->lanes, pack = at[0] < 0 ? -1 : at[0] / L, lane = at[0] < 0 ? L - 1 : at[0] % L;
    int64_t layer = p->front_faces + (int64_t)at[2] * p->layer_faces, number;
    if (axis == 0)
        number = layer + (int64_t)at[1] * (p->packs + p->extra[0]) + p->extra[0] + pack;
    else if (axis == 1)
        number = layer + p->faces[0] + (int64_t)(at[1] + p->extra[1]) * p->packs + pack;
    else
        number = (at[2] < 0 ? 0 : layer + p->faces[0] + p->faces[1]) + (int64_t)at[1] * p->packs + pack;
    return number * L + lane;
}

/* The lane of a face of a cell; -1: fixed. */
static int64_t face_of_cell(const struct box_plan *p, int axis, const int cell[3], int side) {
    int at[3] = {cell[0], cell[1], cell[2]}, last = p->cells[axis] - 1;
    if (side == 0 && at[axis]-- == 0 && p->periodic[axis]) at[axis] = last;
    if (at[axis] < 0 ? !p->extra[axis] : at[axis] == last && p->fixed[axis][1]) return -1;
    return face_lane(p, axis, at);
}

static void add_cell_faces(const struct boxhdg_coarse *c, const int at[3], double k,
                           const struct face_energies *e, struct csr_elements *elements) {
    const struct box_plan *p = &c->lanes->plan;
    int n = 0, axis[6], sign[6];
    int64_t numbers[6];
    double matrix[21], *to = matrix;
    for (int d = 0; d < 3; d++)
        for (int side = 0; side < 2 && p->present[d]; side++, n++) {
            int64_t lane = face_of_cell(p, d, at, side);
            numbers[n] = lane >= 0 ? c->numbers[lane] : -1;
            axis[n] = d;
            sign[n] = side ? 1 : -1;
        }
    for (int r = 0; r < n; r++)
        for (int s = 0; s <= r; s++) {
            double sum = e->even[axis[r]][axis[s]];
            if (axis[r] == axis[s]) sum += sign[r] * sign[s] * e->odd[axis[r]];
            *to++ = 0.25 * k * sum;
        }
    csr_elements_add(elements, n, numbers, matrix);
}

static void add_all_faces(const struct boxhdg_coarse *c, struct csr_elements *elements) {
    struct boxhdg_kind last = {0}, kind;
    struct face_energies energies;
    for (int64_t cell = 0; cell < c->lanes->hdg->grid.n_cells; cell++) {
        int at[3];
        cell_at(c, cell, at);
        double k = boxhdg_lanes_kind(c->lanes, at, &kind);
        if (cell == 0 || !boxhdg_same_kind(&kind, &last)) face_energies(c->lanes, &kind, &energies);
        last = kind;
        add_cell_faces(c, at, k, &energies, elements);
    }
}

/* On the host. */
static facet_status end_assembled(struct boxhdg_coarse *c, struct multigrid *mg) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &c->lanes->hdg->grid;
    struct coarse_matrix matrix = {
        .name = c->faces ? "constants" : "vertices", .singular = g->singular, .classical = c->faces};
    struct csr_elements elements = {0};
    struct energies last = {.known = 0};
    struct coarse_options options = {.unknowns = COARSE_FEW_UNKNOWNS};
    TRY(csr_elements_create(c->total, g->n_cells, 8, 0, &elements));
    if (c->faces) add_all_faces(c, &elements);
    for (int64_t cell = 0; cell < g->n_cells && !c->faces; cell++) {
        int at[3];
        cell_at(c, cell, at);
        add_cell(c, at, energies_of(c, at, &last), &elements);
    }
    TRY(csr_from_elements(&elements, &matrix.csr));
    csr_elements_destroy(&elements); /* before more is needed */
    if (g->part != NULL) {
        matrix.team = g->part->team;
        matrix.first = c->first;
        matrix.n_owned = c->n_owned;
        matrix.numbers = c->global;
        c->global = NULL;
        options.external = g->part->external;
    }
    TRY(multigrid_end_coarse(mg, c->device, &matrix, &options));
done:
    csr_elements_destroy(&elements);
    coarse_matrix_destroy(&matrix);
    return status;
}

/* By fast diagonalization. */
static facet_status end_whole(struct boxhdg_coarse *c, struct multigrid *mg) {
    facet_status status = FACET_OK;
    struct linear_operator solve = {0};
    double mean[8];
    mean_coefficients(c, mean);
    TRY(operator_create_shared_vertices(c->lanes, mean, c->size, c->numbers, c->total, &solve));
    TRY(multigrid_end(mg, "vertices", &solve));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ numbers */

/* How many there are, and (assembled) their numbers. */
static facet_status number_vertices(struct boxhdg_coarse *c, int assembled) {
    const int L = c->lanes->plan.lanes;
    facet_status status = FACET_OK;
    const struct box_plan *p = &c->lanes->plan;
    box_lattice(p, L, c->size);
    c->n_lattice = (int64_t)c->size[0] * c->size[1] * c->size[2];
    if (assembled) TRY(CALLOC(c->numbers, c->n_lattice));
    c->total = 1;
    for (int axis = 0; axis < 3; c->total *= c->n[axis], axis++) {
        int last = p->present[axis] ? p->cells[axis] : 0, low = p->fixed[axis][0];
        int64_t inner = axis == 0 ? 1 : axis == 1 ? c->size[0] : (int64_t)c->size[0] * c->size[1];
        c->n[axis] = last + 1 - low - (p->fixed[axis][1] || p->periodic[axis]);
        for (int64_t i = 0; assembled && i < c->n_lattice; i++) {
            int at = (int)(i / inner % c->size[axis]);
            if (at == last && p->periodic[axis]) at = 0;
            int none = at < low || at - low >= c->n[axis] || c->numbers[i] < 0;
            c->numbers[i] = none ? -1 : c->numbers[i] + (at - low) * c->total;
        }
    }
done:
    return status;
}

/* Every face that is free. */
static facet_status number_faces(struct boxhdg_coarse *c) {
    facet_status status = FACET_OK;
    const struct box_plan *p = &c->lanes->plan;
    c->n_lattice = p->n_faces * p->lanes;
    c->total = 0;
    base_free(&c->numbers);
    TRY(ALLOC(c->numbers, c->n_lattice));
    for (int64_t i = 0; i < c->n_lattice; i++) {
        struct box_face_pack f = box_face_pack(p, i / p->lanes, p->lanes);
        int lane = (int)(i % p->lanes), x = f.at[0] * p->lanes + lane, at = f.axis == 0 ? x : f.at[f.axis];
        int there = f.at[0] < 0 ? lane == p->lanes - 1 : x < p->cells[0];
        if (f.at[0] >= 0 && at == p->cells[f.axis] - 1 && p->fixed[f.axis][1]) there = 0;
        c->numbers[i] = there ? c->total++ : -1;
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ blocks */

/* Number i of the constants of all lanes stands among the moments here. */
static inline int64_t place_of(const struct boxhdg_coarse *c, int64_t i) {
    const int L = c->lanes->plan.lanes;
    return i / L * KERNEL_BOX_MOMENTS * L + i % L;
}

/* The number of vertex `at` of the lattice in the whole. */
static int64_t number_in_whole(const struct boxhdg_coarse *c, const int at[3]) {
    const struct part_box *whole = &c->lanes->hdg->grid.part->mesh->part->box;
    int64_t number = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int d = c->lanes->direction[axis];
        if (d < 0) continue;
        number *= whole->cells[d] + 1;
        number += (whole->first[d] + at[axis]) % (whole->cells[d] + !whole->periodic[d]);
    }
    return number;
}

/* Unknowns of vertices that other blocks may have too: those on the sides of this one. */
static facet_status share_vertices(const struct boxhdg_coarse *c, int *n_neighbours,
                                   struct team_neighbour **neighbours) {
    facet_status status = FACET_OK;
    const int *cells = c->lanes->plan.cells;
    struct team_key *keys = NULL;
    int32_t *items = NULL;
    int64_t n = 0;
    uint8_t *seen = NULL; /* ends of a ring are one */
    TRY(ALLOC(keys, c->total));
    TRY(ALLOC(items, c->total));
    TRY(CALLOC(seen, c->total));
    for (int64_t i = 0; i < c->n_lattice; i++) {
        const int at[3] = {(int)(i % c->size[0]), (int)(i / c->size[0] % c->size[1]),
                           (int)(i / c->size[0] / c->size[1])};
        int outside = 0;
        for (int axis = 0; axis < 3; axis++) outside |= at[axis] == 0 || at[axis] == cells[axis];
        if (c->numbers[i] < 0 || !outside || seen[c->numbers[i]]) continue;
        const int64_t number = number_in_whole(c, at);
        seen[c->numbers[i]] = 1;
        items[n] = (int32_t)c->numbers[i];
        keys[n++] = team_key_of(1, &number);
    }
    TRY(team_find_neighbours(c->lanes->hdg->seam->team, n, items, keys, n_neighbours, neighbours));
done:
    base_free(&keys);
    base_free(&items);
    base_free(&seen);
    return status;
}

/* Unknowns of faces of the seam. */
static facet_status share_faces(const struct boxhdg_coarse *c, int *n_neighbours,
                                struct team_neighbour **neighbours) {
    facet_status status = FACET_OK;
    const struct boxhdg_lanes *lanes = c->lanes;
    struct seam *seam = lanes->hdg->seam;
    const int L = lanes->plan.lanes;
    int32_t *numbers = NULL; /* of all faces */
    TRY(ALLOC(numbers, lanes->hdg->grid.n_faces));
    for (int64_t f = 0; f < lanes->hdg->grid.n_faces; f++) numbers[f] = -1;
    for (int64_t i = 0; i < c->n_lattice; i++) {
        const struct box_face_pack pack = box_face_pack(&lanes->plan, i / L, L);
        if (c->numbers[i] >= 0)
            numbers[boxhdg_lanes_face(lanes, &pack, (int)(i % L))] = (int32_t)c->numbers[i];
    }
    TRY(team_map_neighbours(seam->n_neighbours, seam->neighbours, numbers, neighbours));
    *n_neighbours = seam->n_neighbours;
done:
    base_free(&numbers);
    return status;
}

static facet_status list_foreign(struct boxhdg_coarse *c) {
    struct seam *seam = c->lanes->hdg->seam;
    int64_t n = 0;
    facet_status status = ALLOC(c->foreign, c->lanes->n_foreign);
    for (int k = 0; status == FACET_OK && k < seam->n_neighbours; k++)
        for (int64_t i = 0; seam->neighbours[k].rank < seam->team->rank && i < seam->neighbours[k].count;
             i++) {
            struct boxhdg_place at;
            boxhdg_lanes_find_face(c->lanes, seam->neighbours[k].items[i], &at);
            c->foreign[n++] = face_of_cell(&c->lanes->plan, at.axis, at.cell, at.side);
        }
    return status;
}

static facet_status number_all(struct boxhdg_coarse *c) {
    facet_status status = FACET_OK;
    struct team_neighbour *neighbours = NULL;
    struct team_range range;
    int n = 0;
    TRY(list_foreign(c));
    TRY(c->faces ? share_faces(c, &n, &neighbours) : share_vertices(c, &n, &neighbours));
    TRY(ALLOC(c->global, c->total));
    TRY(team_number_items(c->lanes->hdg->seam->team, n, neighbours, c->total, NULL, c->global, &range));
    c->first = range.first;
    c->n_owned = range.count;
    c->n_all = range.all;
done:
    team_free_neighbours(n, &neighbours);
    return status;
}

/* Number i of the moments that other blocks count. */
static int64_t foreign_place(const struct boxhdg_coarse *c, int64_t i) {
    return place_of(c, c->foreign[i / KERNEL_BOX_MOMENTS]) + i % KERNEL_BOX_MOMENTS * c->lanes->plan.lanes;
}

/* Of vertices, on a device that is not the host. */
static facet_status list_foreign_places(struct boxhdg_coarse *c) {
    facet_status status = FACET_OK;
    const struct device *device = c->lanes->device;
    const int64_t n = KERNEL_BOX_MOMENTS * c->lanes->n_foreign;
    int64_t *places = NULL;
    if (c->foreign == NULL || n == 0) return FACET_OK;
    TRY(ALLOC(places, n));
    for (int64_t i = 0; i < n; i++) places[i] = foreign_place(c, i);
    TRY(device_copy(device, &c->places, places, (size_t)n, sizeof *places));
done:
    base_free(&places);
    return status;
}

/* What other blocks count becomes zero, among moments of the host; and where they are, taken off. */
static void clear_foreign(const struct boxhdg_coarse *c, void *moments) {
    for (int64_t i = 0; c->foreign != NULL && i < KERNEL_BOX_MOMENTS * c->lanes->n_foreign; i++)
        if (c->lanes->precision == F32)
            ((float *)moments)[foreign_place(c, i)] = 0.0F;
        else
            ((double *)moments)[foreign_place(c, i)] = 0.0;
}

static void take_off_foreign(const struct boxhdg_coarse *c, struct vector *moments) {
    if (c->places == NULL) return;
    device_put_entries(c->lanes->device, c->lanes->precision, KERNEL_BOX_MOMENTS * c->lanes->n_foreign,
                       c->places, NULL, 0.0, moments->numbers);
}

/* ------------------------------------------------------------------------------------------ all of it */

facet_status boxhdg_coarse_create(const struct boxhdg_lanes *lanes, struct boxhdg_coarse **coarse) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &lanes->hdg->grid;
    const int products = g->separable && g->part == NULL;
    double jump;
    struct boxhdg_coarse *c;
    TRY(CALLOC(*coarse, 1));
    c = *coarse;
    c->lanes = lanes;
    TRY(number_vertices(c, !products));
    if (c->total == 0 && g->part == NULL) goto done;
    c->device = lanes->device;
    if (products) {
        TRY(make_products(c));
        goto done;
    }
    TRY(box_jump(g, &jump));
    c->faces = jump > SOLVE_LARGE_JUMP;
    if (c->faces) {
        TRY(number_faces(c));
        if (c->total == 0 && g->part == NULL) goto done;
    } else
        TRY(vector_create(lanes->device, c->n_lattice, &c->lattice));
    if (g->part != NULL) TRY(number_all(c));
    c->device = device_of_host(lanes->device);
    if (c->device == lanes->device) goto done;
    if (!c->faces) TRY(list_foreign_places(c));
    TRY(ALLOC(c->staged, c->n_lattice * (c->faces ? KERNEL_BOX_MOMENTS : 1)));
done:
    if (status != FACET_OK) boxhdg_coarse_destroy(coarse);
    return status;
}

int boxhdg_coarse_is_empty(const struct boxhdg_coarse *c) {
    return (c->lanes->hdg->seam != NULL ? c->n_all : c->total) == 0;
}

int64_t boxhdg_coarse_size(const struct boxhdg_coarse *c) {
    return c->diagonal != NULL ? c->n_lattice : c->total;
}

facet_status boxhdg_coarse_end(struct boxhdg_coarse *c, struct multigrid *mg) {
    facet_status status = FACET_OK;
    struct linear_operator solve;
    const struct box_grid *g = &c->lanes->hdg->grid;
    int pays = 0;
    if (g->part != NULL && g->separable && !c->faces) TRY(boxhdg_shared_vertices_pay(c->lanes, &pays));
    if (pays) return end_whole(c, mg);
    if (c->diagonal == NULL) return end_assembled(c, mg);
    operator_create_diagonal_solve(c->diagonal, &solve);
    status = multigrid_end(mg, "vertices", &solve);
done:
    return status;
}

static void gather_faces(const struct boxhdg_coarse *c, struct vector *moments, struct vector *values) {
    void *from = moments->numbers;
    if (c->staged != NULL) { /* the device keeps what fails */
        (void)device_download(c->lanes->device, c->staged, from,
                              (size_t)moments->n * precision_size(c->lanes->precision));
        from = c->staged;
    }
    clear_foreign(c, from);
    for (int64_t i = 0; i < c->n_lattice; i++)
        if (c->numbers[i] >= 0)
            values->data[c->numbers[i]] = c->lanes->precision == F32
                                              ? (double)((const float *)from)[place_of(c, i)]
                                              : ((const double *)from)[place_of(c, i)];
}

static void spread_faces(const struct boxhdg_coarse *c, const struct vector *values,
                         struct vector *coefficients) {
    void *to = c->staged != NULL ? (void *)c->staged : coefficients->numbers;
    size_t bytes = (size_t)coefficients->n * precision_size(c->lanes->precision);
    memset(to, 0, bytes);
    for (int64_t i = 0; i < c->n_lattice; i++) {
        double value = c->numbers[i] >= 0 ? values->data[c->numbers[i]] : 0.0;
        if (c->lanes->precision == F32)
            ((float *)to)[place_of(c, i)] = (float)value;
        else
            ((double *)to)[place_of(c, i)] = value;
    }
    if (c->staged != NULL) (void)device_upload(c->lanes->device, coefficients->numbers, to, bytes);
}

void boxhdg_coarse_gather(struct boxhdg_coarse *c, struct vector *moments, struct vector *vertices) {
    const struct boxhdg_lanes *lanes = c->lanes;
    double *lattice = c->diagonal != NULL ? vertices->data : c->lattice.data;
    if (c->faces) {
        gather_faces(c, moments, vertices);
        return;
    }
    if (c->staged != NULL)
        take_off_foreign(c, moments);
    else
        clear_foreign(c, moments->numbers);
    device_box_restrict(lanes->device, lanes->precision, &lanes->plan, moments->numbers, lattice);
    if (c->diagonal != NULL) return;
    if (c->staged != NULL) (void)vector_download(&c->lattice, c->staged); /* the device keeps what fails */
    lattice = c->staged != NULL ? c->staged : lattice;
    memset(vertices->data, 0, (size_t)c->total * sizeof *vertices->data);
    for (int64_t i = 0; i < c->n_lattice; i++)
        if (c->numbers[i] >= 0) vertices->data[c->numbers[i]] += lattice[i];
}

void boxhdg_coarse_spread(struct boxhdg_coarse *c, const struct vector *vertices,
                          struct vector *coefficients) {
    const struct boxhdg_lanes *lanes = c->lanes;
    double *lattice = c->diagonal != NULL ? vertices->data : c->staged != NULL ? c->staged : c->lattice.data;
    if (c->faces) {
        spread_faces(c, vertices, coefficients);
        return;
    }
    for (int64_t i = 0; i < c->n_lattice && c->diagonal == NULL; i++)
        lattice[i] = c->numbers[i] >= 0 ? vertices->data[c->numbers[i]] : 0.0;
    if (c->staged != NULL) (void)vector_upload(&c->lattice, c->staged);
    lattice = c->diagonal != NULL ? vertices->data : c->lattice.data;
    device_box_prolong(lanes->device, lanes->precision, &lanes->plan, lattice, coefficients->numbers);
}
