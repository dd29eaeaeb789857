/* Null spaces of mapped cells: hdg_null_space.h. */
#include "hdg/hdg_null_space.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "hdg/free_motions.h"
#include "solve/null_space.h"

#define ROUNDING 1e-12 /* of all loads: what is told of a force is no more than that */

static const struct hdg_pieces whole = {.n = 1};

static int piece_of(const struct hdg_pieces *pieces, int64_t cell) {
    return pieces->of_cell != NULL ? pieces->of_cell[cell] : 0;
}

static int piece_of_face(const struct hdg *h, const struct hdg_pieces *pieces, int32_t face) {
    if (pieces->of_face != NULL || pieces->of_cell == NULL)
        return pieces->of_face != NULL ? pieces->of_face[face] : 0;
    return pieces->of_cell[h->data.mesh->face_cells[2 * (int64_t)face]];
}

/* ------------------------------------------------------------------------------------------ works */

int hdg_n_works(const struct hdg *h) {
    return h->free_pieces != NULL ? FREE_MOTIONS + 1 : 2;
}

void hdg_find_works(const struct local *l, int n, const double *x, const double *f, double *works) {
    const struct hdg *h = l->hdg;
    const int nc = h->trace.n_components, n_works = hdg_n_works(h);
    memset(works, 0, (size_t)n_works * sizeof *works);
    for (int i = 0; h->free_pieces == NULL && i < n * nc; i++) {
        works[0] += f[i];
        works[1] += fabs(f[i]);
    }
    const struct hdg_free_piece *p = h->free_pieces != NULL ? free_piece_of(h, l->block, l->cell) : NULL;
    for (int q = 0; q < n && p != NULL; q++, x += nc, f += nc) {
        for (int k = 0; k < FREE_MOTIONS; k++) {
            double u[3];
            free_motion_at(p, k, nc, x, u);
            for (int a = 0; a < nc; a++) works[k] += f[a] * u[a];
        }
        works[FREE_MOTIONS] += local_norm(nc, f);
    }
}

/* Of boundary data, in the unknowns of the trace; between parts there are none. */
static void add_boundary(const struct hdg *h, const struct hdg_pieces *pieces, double *works) {
    const int nc = h->trace.n_components, n = hdg_n_works(h);
    for (int64_t b = 0; b < h->trace.n_free_faces; b++) {
        const int32_t face = h->trace.free_faces[b];
        const int64_t first = h->trace.free_offsets[b], end = h->trace.free_offsets[b + 1];
        const double one = h->data.equation->one_on(h, face);
        const int p = piece_of_face(h, pieces, face);
        double *to = works + p * n;
        if (p < 0) continue;
        if (h->free_pieces == NULL) to[0] += one * h->boundary[first];
        for (int k = 0; h->free_pieces != NULL && k < FREE_MOTIONS; k++)
            for (int64_t i = first; i < end; i++)
                to[k] += h->boundary[i] * h->free_pieces->traces[k * h->trace.n_free + i];
        to[n - 1] += cblas_dnrm2(nc, h->boundary + first, (int)((end - first) / nc)) * one;
    }
}

static void add_cells(const struct hdg *h, const struct hdg_pieces *pieces, int count, const double *cells,
                      double *sums) {
    memset(sums, 0, (size_t)(pieces->n * count) * sizeof *sums);
    for (int64_t c = 0; c < h->data.mesh->n_cells; c++) {
        const int p = piece_of(pieces, c);
        for (int i = 0; p >= 0 && i < count; i++) sums[p * count + i] += cells[c * count + i];
    }
}

facet_status hdg_sum_pieces(const struct hdg *h, const struct hdg_pieces *pieces, int count,
                            const double *cells, double *sums) {
    add_cells(h, pieces, count, cells, sums);
    return team_reduce(mesh_team(h->data.mesh), TEAM_SUM, pieces->n * count, sums);
}

facet_status hdg_sum_works(const struct hdg *h, const struct hdg_pieces *pieces, const double *cells,
                           double *works) {
    add_cells(h, pieces, hdg_n_works(h), cells, works);
    add_boundary(h, pieces, works);
    return team_reduce(mesh_team(h->data.mesh), TEAM_SUM, pieces->n * hdg_n_works(h), works);
}

/* ------------------------------------------------------------------------------------------ loads */

facet_status hdg_balance_constant(const struct hdg *h, const double *cells, double *shift,
                                  double imbalance[2]) {
    facet_status status = FACET_OK;
    TRY(hdg_sum_works(h, &whole, cells, imbalance));
    TRY(null_space_check_constant(imbalance[0], imbalance[1]));
    if (shift != NULL) *shift = imbalance[0] / h->volume;
done:
    return status;
}

static facet_status refuse(const struct hdg *h, const struct hdg_free_piece *p, const double *all) {
    char force[96], moment[96], center[96];
    int dim = h->data.mesh->dim;
    double works[FREE_MOTIONS + 1], turning[3];
    for (int i = 0; i <= FREE_MOTIONS; i++)
        works[i] = fabs(all[i]) > ROUNDING * all[FREE_MOTIONS] ? all[i] : 0.0;
    if (h->space.revolved) works[0] = works[5] = 0.0; /* across its axis a body of revolution balances */
    for (int a = 0; a < 3; a++) turning[a] = works[3 + a] * p->size;
    if (dim == 2) {
        snprintf(force, sizeof force, "(%.6g, %.6g)", works[0], works[1]);
        snprintf(moment, sizeof moment, "%.6g", turning[2]);
        snprintf(center, sizeof center, "(%.6g, %.6g)", p->center[0], p->center[1]);
    } else {
        snprintf(force, sizeof force, "(%.6g, %.6g, %.6g)", works[0], works[1], works[2]);
        snprintf(moment, sizeof moment, "(%.6g, %.6g, %.6g)", turning[0], turning[1], turning[2]);
        snprintf(center, sizeof center, "(%.6g, %.6g, %.6g)", p->center[0], p->center[1], p->center[2]);
    }
    const char *whose = "the body";
    char text[160];
    if (!p->alone) {
        snprintf(text, sizeof text, "the piece with the cell at %s", p->place);
        whose = text;
    }
    return base_fail(
        FACET_ERROR_INPUT,
        "boundary: %s can still %s, and its loads do not balance: a force of %s and a moment of "
        "%s about %s are left (of %.6g in absolute terms); give displacements that prevent these "
        "motions, or loads that balance",
        whose, p->text, force, moment, center, works[FREE_MOTIONS]);
}

/* One of several pieces without any load: it was meant to touch another. */
static facet_status refuse_idle(const struct hdg_free_piece *p) {
    return base_fail(FACET_ERROR_INPUT,
                     "boundary: the mesh falls into unconnected pieces, and the one with the cell at %s can "
                     "still %s, and carries no load; give displacements that prevent this, or let the mesh "
                     "join the pieces",
                     p->place, p->text);
}

/* n numbers by motions of a piece: those of the canonical ones become the combination c of its own with
 * these products, c = G^-1 (motions, .), in terms of the canonical ones. */
static void combine(const struct hdg *h, int piece, const double *products, double *c) {
    enum { N = FREE_MOTIONS };
    const struct hdg_free_piece *p = &h->data.free_pieces[piece];
    double own[N];
    for (int j = 0; j < p->n; j++) own[j] = cblas_ddot(N, p->motions[j], 1, products, 1);
    memset(c, 0, N * sizeof *c);
    for (int j = 0; j < p->n; j++)
        cblas_daxpy(N, cblas_ddot(p->n, h->free_pieces->inverse + piece * N * N + j * p->n, 1, own, 1),
                    p->motions[j], 1, c, 1);
}

facet_status hdg_balance_motions(const struct hdg *h, const double *cells, double *shift,
                                 double imbalance[2]) {
    facet_status status = FACET_OK;
    const struct hdg_pieces pieces = free_motions_pieces(h);
    double *all = NULL;
    TRY(ALLOC(all, pieces.n * (FREE_MOTIONS + 1)));
    TRY(hdg_sum_works(h, &pieces, cells, all));
    for (int i = 0; i < pieces.n; i++) {
        const struct hdg_free_piece *p = &h->data.free_pieces[i];
        const double *works = all + i * (FREE_MOTIONS + 1), scale = works[FREE_MOTIONS];
        if (!p->alone && scale == 0.0 && h->data.expansion == NULL) TRY(refuse_idle(p));
        for (int j = 0; j < p->n; j++) {
            const double left = fabs(cblas_ddot(FREE_MOTIONS, p->motions[j], 1, works, 1));
            if (!null_space_balances(left, scale)) TRY(refuse(h, p, works));
            if (left * imbalance[1] <= imbalance[0] * scale && imbalance[1] > 0.0) continue;
            imbalance[0] = left; /* relative to all loads of its piece, the largest so far */
            imbalance[1] = scale;
        }
        if (shift != NULL) combine(h, i, works, shift + i * FREE_MOTIONS);
    }
done:
    base_free(&all);
    return status;
}

void hdg_take_shift(const struct local *l, int n, const double *x, const double *shift, double *f) {
    const struct hdg *h = l->hdg;
    const int nc = h->trace.n_components;
    for (int i = 0; h->free_pieces == NULL && i < n * nc; i++) f[i] -= shift[0];
    const struct hdg_free_piece *p = h->free_pieces != NULL ? free_piece_of(h, l->block, l->cell) : NULL;
    for (int i = 0; p != NULL && i < n * FREE_MOTIONS; i++) {
        const int q = i / FREE_MOTIONS, k = i % FREE_MOTIONS;
        double u[3];
        free_motion_at(p, k, nc, x + q * nc, u);
        for (int a = 0; a < nc; a++)
            f[q * nc + a] -= shift[(p - h->data.free_pieces) * FREE_MOTIONS + k] * u[a];
    }
}

/* ------------------------------------------------------------------------------------------ solutions */

struct fix_job {
    const struct hdg_solution *solution;
    double *cells; /* n_cells: works of the exact solution (or 0) minus u, as if it were a force */
};

static facet_status fix_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct fix_job *job = user;
    const struct hdg *h = l->hdg;
    const struct hdg_functions *v = &h->functions[block];
    const int constant = h->free_pieces == NULL, nc = h->trace.n_components;
    const struct hdg_table *table = constant ? &h->space.blocks[block].norm : v->source.table;
    const int n = table->n;
    int row = table->N;
    double *u = l->values;
    l->block = block;
    l->cell = cell;
    hdg_cell_geometry(&h->space, block, cell, table, &l->geometry);
    memset(u, 0, (size_t)(n * nc) * sizeof *u);
    if (h->data.exact != NULL)
        TRY(base_wrap(field_eval(h->data.exact, n, h->data.mesh->dim, l->geometry.x, u), "exact"));
    const double *chi = constant ? table->phi : local_chi(l, table, v->source.chi, l->geometry.x, &row);
    for (int a = 0; a < nc; a++)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, v->Nu, -1.0, chi, row,
                    job->solution->u[block] + ((int64_t)cell * nc + a) * v->Nu, 1, 1.0, u + a, nc);
    for (int i = 0; i < n * nc; i++) u[i] *= l->geometry.wJ[i / nc];
    hdg_find_works(l, n, l->geometry.x, u,
                   job->cells + (h->data.mesh->blocks[block].first + (int64_t)cell) * hdg_n_works(h));
done:
    return status;
}

void hdg_add_constants(const struct hdg *h, const struct hdg_pieces *pieces, const double *constants,
                       struct hdg_solution *s) {
    const struct facet_mesh *mesh = h->data.mesh;
    for (int b = 0; b < mesh->n_blocks; b++) /* phi_0 = 1 / sqrt(measure) */
        for (int64_t c = 0; c < mesh->blocks[b].count; c++) {
            const int p = piece_of(pieces, mesh->blocks[b].first + c);
            if (p >= 0)
                s->u[b][c * h->space.blocks[b].N] +=
                    constants[p] * sqrt(shape_measure(mesh->blocks[b].shape));
        }
    for (int64_t f = 0; f < h->trace.n_faces; f++) {
        const int p = piece_of_face(h, pieces, (int32_t)f);
        if (p >= 0 && h->trace.face_first[f] < h->trace.face_first[f + 1])
            s->trace[h->trace.face_first[f]] += constants[p] * h->data.equation->one_on(h, f);
    }
    for (int64_t f = h->trace.n_faces; h->contacts != NULL && f < h->contacts->seen.n_faces; f++) {
        int32_t first = h->contacts->seen.records[f].face; /* both are of one piece */
        const int p = piece_of_face(h, pieces, first);
        if (p >= 0)
            s->trace[h->contacts->seen.face_first[f]] += constants[p] * h->data.equation->one_on(h, first);
    }
}

static facet_status add_motions(const struct hdg *h, const struct hdg_pieces *pieces, const double *works,
                                struct hdg_solution *s) {
    facet_status status = FACET_OK;
    double *motions = NULL;
    TRY(ALLOC(motions, pieces->n * FREE_MOTIONS));
    for (int i = 0; i < pieces->n; i++)
        combine(h, i, works + i * (FREE_MOTIONS + 1), motions + i * FREE_MOTIONS);
    for (int64_t b = 0; b < h->trace.n_free_faces; b++) {
        const int32_t face = h->trace.free_faces[b];
        const int p = piece_of_face(h, pieces, face);
        const int64_t first = h->trace.free_offsets[b], n = h->trace.free_offsets[b + 1] - first;
        for (int k = 0; p >= 0 && k < FREE_MOTIONS; k++)
            cblas_daxpy((int)n, motions[p * FREE_MOTIONS + k],
                        h->free_pieces->traces + k * h->trace.n_free + first, 1,
                        s->trace + h->trace.face_first[face], 1);
    }
done:
    base_free(&motions);
    return status;
}

facet_status hdg_fix_null_space(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct hdg_pieces pieces = h->free_pieces != NULL ? free_motions_pieces(h) : whole;
    const int n_works = hdg_n_works(h);
    struct fix_job job = {.solution = s};
    double *works = NULL;
    TRY(ALLOC(job.cells, n_works * (int64_t)h->data.mesh->n_cells));
    TRY(ALLOC(works, pieces.n * n_works));
    TRY(local_for_all_cells(h, fix_work, &job));
    TRY(hdg_sum_pieces(h, &pieces, n_works, job.cells, works));
    if (h->free_pieces != NULL) {
        TRY(add_motions(h, &pieces, works, s));
    } else {
        works[0] /= h->volume;
        hdg_add_constants(h, &pieces, works, s);
    }
done:
    base_free(&job.cells);
    base_free(&works);
    return status;
}
