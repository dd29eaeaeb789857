/* Algorithms 2 and 3 of huismann2020, cell by cell. */
#include "bench/papers/straight.h"

#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "bench/papers/straight_work.h"
#include "boxhdg/work.h"

void box_straight_destroy(struct box_straight **straight) {
    struct box_straight *s = *straight;
    if (s == NULL) return;
    for (int l = 0; s->lines != NULL && l < s->h->n_lines; l++) straight_line_destroy(&s->lines[l]);
    base_free(&s->lines);
    base_free(&s->nodes);
    base_free(&s->inverse);
    base_free(&s->metric);
    base_free(&s->faces);
    base_free(&s->block);
    base_free(&s->zeros);
    base_free(&s->scratch);
    base_free(straight);
}

const double *box_straight_nodes(const struct box_straight *s) {
    return s->nodes;
}

void straight_tangents(const struct box_straight *s, const int at[3], int d,
                       const struct straight_line *lines[2]) {
    int count = 0;
    lines[0] = lines[1] = NULL;
    for (int t = 0; t < s->h->grid.dim; t++)
        if (t != d) lines[count++] = straight_line_of(s, t, at[t]);
}

void straight_turn(const struct box_straight *s, const double *const T[2], const double *in, double *work,
                   double *out) {
    int n = s->h->n, dim = s->h->grid.dim;
    if (dim == 1)
        out[0] = in[0];
    else if (dim == 2)
        box_contract(1, n, n, 1, T[0], in, n, out, n);
    else {
        box_contract(n, n, n, 1, T[0], in, n, work, n);
        box_contract(1, n, n, n, T[1], work, n * n, out, n * n);
    }
}

/* ------------------------------------------------------------------------------------- preparation */

/* One over lambda V + sum of a_d Lambda_d, and what this cell adds to the blocks of its faces: a_d g - a_d^2
 * sum over the modes along d of B^2 D^-1. */
static void prepare_cell(struct box_straight *s, int64_t cell) {
    const struct boxhdg *h = s->h;
    int dim = h->grid.dim, at[3], n[3] = {1, 1, 1};
    double *a = s->metric + 3 * cell, *inverse = s->inverse + cell * h->cell_size;
    const struct straight_line *lines[3] = {NULL};
    box_cell_at(&h->grid, cell, at);
    double reaction = boxhdg_metric(h, at, a);
    for (int d = 0; d < dim; d++) {
        lines[d] = straight_line_of(s, d, at[d]);
        n[d] = h->n;
        for (int side = 0; side < 2; side++) {
            int fixed = box_plane_is_fixed(&h->grid, d, at[d] + side);
            s->faces[6 * cell + 2 * d + side] = fixed ? -1 : box_face(&h->grid, at, d, side) * h->face_size;
        }
    }
    for (int64_t i = 0; i < h->cell_size; i++) {
        int64_t index[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        double Z = reaction;
        for (int d = 0; d < dim; d++) Z += a[d] * lines[d]->eigenvalues[index[d]];
        inverse[i] = 1.0 / Z;
    }
    for (int d = 0; d < dim; d++)
        for (int side = 0; side < 2; side++) {
            int64_t face = s->faces[6 * cell + 2 * d + side], inner = 1;
            if (face < 0) continue;
            for (int t = 0; t < d; t++) inner *= h->n;
            for (int64_t f = 0; f < h->face_size; f++) {
                double sum = a[d] * lines[d]->g;
                for (int m = 0; m < h->n; m++) {
                    double B = a[d] * lines[d]->B[side][m];
                    sum -= B * B * inverse[f % inner + (m + f / inner * h->n) * inner];
                }
                s->block[face + f] += sum;
            }
        }
}

facet_status box_straight_create(const struct boxhdg *h, enum box_basis basis,
                                 struct box_straight **straight) {
    facet_status status = FACET_OK;
    struct box_straight *s;
    TRY(CALLOC(*straight, 1));
    s = *straight;
    s->h = h;
    s->basis = basis;
    s->threads = base_threads_for(h->n_volume);
    s->scratch_size = (h->cell_size + 18 * (h->face_size + BOX_SLACK) + 15) / 8 * 8;
    TRY(CALLOC(s->lines, h->n_lines));
    TRY(ALLOC(s->nodes, h->n));
    TRY(straight_nodes(basis, h->n, s->nodes));
    for (int l = 0; l < h->n_lines; l++)
        TRY(straight_line_create(&h->lines[l], basis, s->nodes, &s->lines[l]));
    TRY(ALLOC(s->inverse, h->n_volume));
    TRY(ALLOC(s->metric, 3 * h->grid.n_cells));
    TRY(ALLOC(s->faces, 6 * h->grid.n_cells));
    TRY(CALLOC(s->block, h->n_trace));
    TRY(CALLOC(s->zeros, h->face_size));
    TRY(CALLOC(s->scratch, s->threads * s->scratch_size));
    for (int64_t c = 0; c < h->grid.n_cells; c++) prepare_cell(s, c);
    for (int64_t i = 0; i < h->n_trace; i++)
        if (s->block[i] != 0.0) s->block[i] = 1.0 / s->block[i];
done:
    if (status != FACET_OK) box_straight_destroy(straight);
    return status;
}

/* ------------------------------------------------------------------------------------- Algorithm 3 */

/* r = B' D^-1 B u in modes for the six faces of a cell, each factor with its a_d. */
static void hybrid_term(const struct box_straight *s, int64_t cell,
                        const struct straight_line *const lines[3], const double *const u[6],
                        double *const r[6]) {
    const struct boxhdg *h = s->h;
    int dim = h->grid.dim, n0 = h->n, n1 = dim > 1 ? h->n : 1, n2 = dim > 2 ? h->n : 1;
    const double *a = s->metric + 3 * cell, *lower = lines[0]->B[0], *upper = lines[0]->B[1];
    double E[BOX_MAX_DEGREE + 1];
    for (int f = 0; f < 2 * dim; f++) memset(r[f], 0, (size_t)h->face_size * sizeof **r);
    for (int k = 0; k < n2; k++)
        for (int j = 0; j < n1; j++) {
            int64_t row = (int64_t)k * n1 + j;
            const double *inverse = s->inverse + cell * h->cell_size + row * n0;
            double u0 = a[0] * u[0][row], u1 = a[0] * u[1][row], r0 = 0.0, r1 = 0.0;
#pragma omp simd
            for (int i = 0; i < n0; i++) E[i] = lower[i] * u0 + upper[i] * u1;
            if (dim > 1) {
                double b2 = a[1] * lines[1]->B[0][j], b3 = a[1] * lines[1]->B[1][j];
                const double *u2 = u[2] + (int64_t)k * n0, *u3 = u[3] + (int64_t)k * n0;
#pragma omp simd
                for (int i = 0; i < n0; i++) E[i] += b2 * u2[i] + b3 * u3[i];
            }
            if (dim > 2) {
                double b4 = a[2] * lines[2]->B[0][k], b5 = a[2] * lines[2]->B[1][k];
                const double *u4 = u[4] + (int64_t)j * n0, *u5 = u[5] + (int64_t)j * n0;
#pragma omp simd
                for (int i = 0; i < n0; i++) E[i] += b4 * u4[i] + b5 * u5[i];
            }
#pragma omp simd reduction(+ : r0, r1)
            for (int i = 0; i < n0; i++) {
                E[i] *= inverse[i];
                r0 += lower[i] * E[i];
                r1 += upper[i] * E[i];
            }
            r[0][row] = r0;
            r[1][row] = r1;
            if (dim > 1) {
                double b2 = lines[1]->B[0][j], b3 = lines[1]->B[1][j];
                double *r2 = r[2] + (int64_t)k * n0, *r3 = r[3] + (int64_t)k * n0;
#pragma omp simd
                for (int i = 0; i < n0; i++) {
                    r2[i] += b2 * E[i];
                    r3[i] += b3 * E[i];
                }
            }
            if (dim > 2) {
                double b4 = lines[2]->B[0][k], b5 = lines[2]->B[1][k];
                double *r4 = r[4] + (int64_t)j * n0, *r5 = r[5] + (int64_t)j * n0;
#pragma omp simd
                for (int i = 0; i < n0; i++) {
                    r4[i] += b4 * E[i];
                    r5[i] += b5 * E[i];
                }
            }
        }
}

/* r = a_d (g u + c u_opposite - r): what a face of the cell receives, in modes. */
static void face_term(const struct box_straight *s, int64_t cell, const struct straight_line *const lines[3],
                      const double *const u[6], double *const r[6]) {
    int64_t size = s->h->face_size;
    for (int f = 0; f < 2 * s->h->grid.dim; f++) {
        double a = s->metric[3 * cell + f / 2], g = lines[f / 2]->g, c = lines[f / 2]->c;
        const double *mine = u[f], *opposite = u[f ^ 1];
        double *to = r[f];
        for (int64_t i = 0; i < size; i++) to[i] = a * (g * mine[i] + c * opposite[i] - to[i]);
    }
}

static void add_face(int64_t size, const double *from, double *to) {
    for (int64_t i = 0; i < size; i++) to[i] += from[i];
}

static void apply_modes(const struct box_straight *s, int64_t cell, const double *x, double *y,
                        double *scratch) {
    const struct boxhdg *h = s->h;
    const int64_t *faces = s->faces + 6 * cell;
    const struct straight_line *lines[3] = {NULL};
    const double *u[6] = {NULL};
    double *r[6] = {NULL};
    int at[3], dim = h->grid.dim;
    box_cell_at(&h->grid, cell, at);
    for (int d = 0; d < dim; d++) lines[d] = straight_line_of(s, d, at[d]);
    for (int f = 0; f < 2 * dim; f++) {
        u[f] = faces[f] >= 0 ? x + faces[f] : s->zeros;
        r[f] = scratch + f * (h->face_size + BOX_SLACK);
    }
    hybrid_term(s, cell, lines, u, r);
    face_term(s, cell, lines, u, r);
    for (int f = 0; f < 2 * dim; f++)
        if (faces[f] >= 0) add_face(h->face_size, r[f], y + faces[f]);
}

/* ------------------------------------------------------------------------------------- Algorithm 2 */

/* The same between S'M x S'M on the way in and MS x MS on the way out. (M x M) (G + C'M^-1C) u is the second
 * of these applied to (G + C'M^-1C) of what the first one made, so that it needs no product of its own,
 * whatever the mass matrix. */
static void apply_nodes(const struct box_straight *s, int64_t cell, const double *x, double *y,
                        double *scratch) {
    const struct boxhdg *h = s->h;
    const int64_t *faces = s->faces + 6 * cell;
    int64_t size = h->face_size, step = size + BOX_SLACK;
    const struct straight_line *lines[3] = {NULL}, *tangents[2];
    const double *u[6] = {NULL};
    double *r[6] = {NULL}, *in = scratch + 12 * step, *work = in + step, *out = work + step;
    int at[3], dim = h->grid.dim;
    box_cell_at(&h->grid, cell, at);
    for (int f = 0; f < 2 * dim; f++) {
        double *mine = scratch + (6 + f) * step;
        r[f] = scratch + f * step;
        u[f] = faces[f] >= 0 ? mine : s->zeros;
        lines[f / 2] = straight_line_of(s, f / 2, at[f / 2]);
        if (faces[f] < 0) continue;
        straight_tangents(s, at, f / 2, tangents);
        const double *const T[2] = {tangents[0] ? tangents[0]->SM : NULL,
                                    tangents[1] ? tangents[1]->SM : NULL};
        memcpy(in, x + faces[f], (size_t)size * sizeof *in);
        straight_turn(s, T, in, work, mine);
    }
    hybrid_term(s, cell, lines, u, r);
    face_term(s, cell, lines, u, r);
    for (int f = 0; f < 2 * dim; f++) {
        if (faces[f] < 0) continue;
        straight_tangents(s, at, f / 2, tangents);
        const double *const T[2] = {tangents[0] ? tangents[0]->MS : NULL,
                                    tangents[1] ? tangents[1]->MS : NULL};
        straight_turn(s, T, r[f], work, out);
        add_face(size, out, y + faces[f]);
    }
}

/* ------------------------------------------------------------------------------------- operators */

static void apply_layers(const struct box_straight *s, enum box_algorithm algorithm, const double *x,
                         double *y) {
    const struct boxhdg *h = s->h;
    struct box_layers layers;
    box_layers(&h->grid, &layers);
    memset(y, 0, (size_t)h->n_trace * sizeof *y);
    for (int colour = 0; colour < 3; colour++) {
        int first, end;
        box_layers_colour(&layers, colour, &first, &end);
#pragma omp parallel for num_threads(straight_threads(s)) schedule(static)
        for (int l = first; l < end; l += 2) {
            double *scratch = s->scratch + omp_get_thread_num() * s->scratch_size;
            for (int64_t i = 0; i < layers.size; i++)
                (algorithm == BOX_TPT ? apply_modes : apply_nodes)(s, box_layers_cell(&layers, l, i), x, y,
                                                                   scratch);
        }
    }
}

static void tp_apply(const struct linear_operator *K, const struct vector *x, struct vector *y) {
    apply_layers(K->data, BOX_TP, x->data, y->data);
}
static void tpt_apply(const struct linear_operator *K, const struct vector *x, struct vector *y) {
    apply_layers(K->data, BOX_TPT, x->data, y->data);
}

facet_status box_straight_operator(const struct device *device, struct box_straight *s,
                                   enum box_algorithm algorithm, struct linear_operator *K) {
    if (!device_is_host(device))
        return base_fail(FACET_ERROR_INPUT, "the operators tp and tpt run on the host, not on the device %s",
                         device_name(device));
    *K = (struct linear_operator){.n = s->h->n_trace,
                                  .device = device,
                                  .apply = algorithm == BOX_TP ? tp_apply : tpt_apply,
                                  .data = s,
                                  .name = algorithm == BOX_TP ? "HDG-TP" : "HDG-TPT"};
    return FACET_OK;
}

/* ------------------------------------------------------------------------------------- counting */

static double turn_flops(const struct boxhdg *h) {
    double count = 0.0, n = h->n;
    for (int t = 0; t < h->grid.dim - 1; t++) count += 2.0 * n * (double)h->face_size;
    return count;
}

/* As the loops of hybrid_term and face_term run, a cell without Dirichlet faces. */
static double cell_flops(const struct boxhdg *h, enum box_algorithm algorithm) {
    int dim = h->grid.dim, n1 = dim > 1 ? h->n : 1, n2 = dim > 2 ? h->n : 1;
    double count = 0.0;
    for (int k = 0; k < n2; k++)
        for (int j = 0; j < n1; j++) {
            count += 2.0;                               /* a_0 u */
            for (int d = 1; d < dim; d++) count += 2.0; /* a_d B */
            for (int i = 0; i < h->n; i++) {
                count += 4.0 * dim; /* into the cell, the sum beginning with zero */
                count += 1.0;       /* D^-1 */
                count += 4.0 * dim; /* back */
            }
        }
    for (int f = 0; f < 2 * dim; f++) {
        count += 6.0 * (double)h->face_size; /* a (g u + c u - r), added */
        if (algorithm == BOX_TP) count += 2.0 * turn_flops(h);
    }
    return count;
}

double box_straight_flops(const struct box_straight *s, enum box_algorithm algorithm) {
    return cell_flops(s->h, algorithm) * (double)s->h->grid.n_cells;
}

double box_straight_preconditioner_flops(const struct box_straight *s, enum box_algorithm algorithm,
                                         enum box_condition condition) {
    double count = (double)s->h->face_size;
    if (algorithm == BOX_TP && condition == BOX_BLOCK) count += 2.0 * turn_flops(s->h);
    return count * (double)s->h->grid.n_faces;
}
