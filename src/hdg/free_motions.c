/* Bodies that nothing holds: free_motions.h says how they are solved. */
#include "hdg/free_motions.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "mesh/part.h"

#define NOTHING 1e-9

void free_motion_at(const struct hdg_free_piece *p, int motion, int dim, const double *x, double u[3]) {
    for (int a = 0; a < 3; a++) u[a] = a == motion ? 1.0 : 0.0;
    if (motion < 3) return;
    int axis = motion - 3, b = (axis + 1) % 3, c = (axis + 2) % 3;
    double y[3] = {0.0};
    for (int a = 0; a < dim; a++) y[a] = (x[a] - p->center[a]) / p->size;
    u[b] = -y[c];
    u[c] = y[b];
}

const struct hdg_free_piece *free_piece_of(const struct hdg *h, int block, int32_t cell) {
    int32_t i = h->data.cell_free_piece[h->data.mesh->blocks[block].first + cell];
    return i >= 0 ? &h->data.free_pieces[i] : NULL;
}

static const struct hdg_free_piece *piece_of_face(const struct hdg *h, int32_t face) {
    int32_t i = h->data.cell_free_piece[h->data.mesh->face_cells[2 * (int64_t)face]];
    return i >= 0 ? &h->data.free_pieces[i] : NULL;
}

/* ------------------------------------------------------------------------------------------ set-up */

static facet_status trace_face(struct local *l, int32_t face, void *user) {
    facet_status status = FACET_OK;
    struct hdg *h = user;
    const struct hdg_free_piece *p = piece_of_face(h, face);
    if (p == NULL || hdg_is_on_axis(&h->data, face)) return FACET_OK;
    const struct hdg_face_table *table = local_place_face(l, face);
    int dim = h->data.mesh->dim, m = table->m;
    double *moments = l->vector;
    for (int k = 0; k < FREE_MOTIONS; k++) {
        double *to = h->free_pieces->traces + k * h->trace.n_free + h->trace.face_free[face];
        for (int q = 0; q < table->rule.n; q++) {
            double u[3];
            free_motion_at(p, k, dim, l->x + q * dim, u);
            for (int a = 0; a < dim; a++) l->values[q * dim + a] = u[a];
        }
        for (int a = 0; a < dim; a++) local_component_moments(l, table, l->values, a, moments + a * m);
        TRY(local_project(l, table, face, dim, moments));
        memcpy(to, moments, (size_t)(dim * m) * sizeof *to);
    }
done:
    return status;
}

struct hdg_pieces free_motions_pieces(const struct hdg *h) {
    return (struct hdg_pieces){.n = h->data.n_free_pieces, .of_cell = h->data.cell_free_piece};
}

static facet_status gram_work(struct local *l, int block, int32_t cell, void *user) {
    const struct hdg *h = l->hdg;
    const struct hdg_free_piece *p = free_piece_of(h, block, cell);
    const struct hdg_table *table = h->functions[block].source.table;
    enum { N = FREE_MOTIONS };
    int dim = h->data.mesh->dim;
    double *G = (double *)user + (int64_t)(h->data.mesh->blocks[block].first + cell) * N * N;
    memset(G, 0, N * N * sizeof *G);
    if (p == NULL) return FACET_OK;
    hdg_cell_geometry(&h->space, block, cell, table, &l->geometry);
    for (int q = 0; q < table->n; q++) {
        double u[N][3];
        for (int k = 0; k < N; k++) free_motion_at(p, k, dim, l->geometry.x + q * dim, u[k]);
        for (int i = 0; i < N * N; i++)
            for (int a = 0; a < dim; a++) G[i] += l->geometry.wJ[q] * u[i / N][a] * u[i % N][a];
    }
    return FACET_OK;
}

/* The inverse of the Gram matrix of the motions that each piece has. */
static facet_status find_gram(struct hdg *h) {
    facet_status status = FACET_OK;
    enum { N = FREE_MOTIONS };
    const struct hdg_pieces pieces = free_motions_pieces(h);
    double *cells = NULL, *totals = NULL;
    TRY(ALLOC(cells, (int64_t)h->data.mesh->n_cells * N * N));
    TRY(ALLOC(totals, pieces.n * N * N));
    TRY(CALLOC(h->free_pieces->inverse, pieces.n * N * N));
    TRY(local_for_all_cells(h, gram_work, cells));
    TRY(hdg_sum_pieces(h, &pieces, N * N, cells, totals));
    for (int i = 0; i < pieces.n; i++) {
        const struct hdg_free_piece *p = &h->data.free_pieces[i];
        double *to = h->free_pieces->inverse + i * N * N, *G = totals + i * N * N;
        for (int k = 0; k < p->n * p->n; k++)
            for (int r = 0; r < N * N; r++)
                to[k] += p->motions[k / p->n][r / N] * G[r] * p->motions[k % p->n][r % N];
        if (!solve_invert(p->n, to)) FAIL(FACET_ERROR_INPUT, "a piece of the mesh has no extent");
    }
done:
    base_free(&cells);
    base_free(&totals);
    return status;
}

/* What the motions of a piece, as many as it has, are at an unknown. */
static void values_at(const struct hdg *h, const struct hdg_free_piece *p, int64_t unknown, double *v) {
    for (int j = 0; j < p->n; j++) {
        v[j] = 0.0;
        for (int k = 0; k < FREE_MOTIONS; k++)
            v[j] += p->motions[j][k] * h->free_pieces->traces[k * h->trace.n_free + unknown];
    }
}

/* Where u jumps: the column of such an unknown makes a load, and must stay in K. */
static int is_double(const struct hdg *h, int32_t face) {
    return h->contacts != NULL && h->contacts->seen.records[face].n_traces == 2;
}

/* An unknown that holds a motion. */
struct best {
    double size, v[FREE_MOTIONS];
    int found;
    int64_t unknown;  /* -1: another part of the mesh has it */
    int64_t face, at; /* where it lies between parts: the number of its face in the whole, its place there */
};

/* The best of all parts. */
static facet_status compare_parts(struct base_team *team, struct best *best) {
    facet_status status = FACET_OK;
    double size = best->size;
    int64_t owner;
    if (team == NULL) return FACET_OK;
    TRY(team_reduce(team, TEAM_MAX, 1, &size));
    owner = best->size == size ? team->rank : team->size;
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &owner));
    const int64_t own = owner == team->rank ? best->unknown : -1;
    TRY(team_broadcast(team, (int)owner, best, sizeof *best));
    best->unknown = own;
done:
    return status;
}

/* Faces that may hold a motion: those of this part alone, or those between parts at which nothing is joined
 * (where u may jump as well). */
enum { OF_PART = 1, OF_SEAM = 2 };

static facet_status find_holders(const struct hdg *h, uint8_t *holders) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct mesh_seam_joint *joints = NULL;
    int32_t n = 0;
    TRY(mesh_find_seam_joints(mesh, &joints, &n));
    for (int32_t face = 0; face < mesh->n_faces; face++) {
        const int none = h->trace.records[face].turn >= 0 || is_double(h, face);
        const int shared = mesh->face_cells[2 * (int64_t)face + 1] == MESH_SEAM;
        holders[face] = none ? 0 : shared ? OF_SEAM : OF_PART;
    }
    for (int32_t i = 0; i < n; i++) holders[joints[i].face] = 0;
done:
    base_free(&joints);
    return status;
}

/* One unknown for each piece: the one with the largest part of all motions that the chosen ones do not hold
 * yet. chosen: n_free_pieces x n x n, orthonormal; step: how many there are. Pieces for which one is found
 * keep it. */
static void look_for_best(const struct hdg *h, const uint8_t *holders, int kind, int step,
                          const double *chosen, struct best *best) {
    enum { N = FREE_MOTIONS };
    const int dim = h->data.mesh->dim;
    const struct mesh_part *part = h->data.mesh->part;
    for (int64_t b = 0; b < h->trace.n_free_faces; b++) {
        int32_t face = h->trace.free_faces[b];
        const struct hdg_free_piece *p = piece_of_face(h, face);
        int64_t first = h->trace.free_offsets[b], m = (h->trace.free_offsets[b + 1] - first) / dim;
        const int64_t i = p != NULL ? p - h->data.free_pieces : -1;
        if (i < 0 || step >= p->n || holders[face] != kind || best[i].found) continue;
        for (int a = 0; a < dim; a++) {
            double v[N], size = 0.0;
            values_at(h, p, first + a * m, v);
            for (int k = 0; k < step; k++) {
                const double *q = chosen + (i * N + k) * N;
                double along = cblas_ddot(p->n, q, 1, v, 1);
                cblas_daxpy(p->n, -along, q, 1, v, 1);
            }
            size = cblas_dnrm2(p->n, v, 1);
            if (size <= best[i].size) continue;
            best[i].size = size;
            best[i].unknown = first + a * m;
            best[i].face = kind == OF_SEAM ? part->face_numbers[face] : -1;
            best[i].at = a * m;
            for (int k = 0; k < p->n; k++) best[i].v[k] = v[k] / size;
        }
    }
}

/* It is held in both parts that have it. */
static void hold(struct hdg *h, const struct best *best) {
    const struct mesh_part *part = h->data.mesh->part;
    if (best->unknown >= 0) h->trace.fixed[best->unknown] = 1;
    for (int k = 0; best->face >= 0 && k < part->n_neighbours; k++)
        for (int32_t i = 0; i < part->neighbours[k].count; i++) {
            const int32_t face = part->neighbours[k].items[i];
            if (part->face_numbers[face] == best->face)
                h->trace.fixed[h->trace.face_free[face] + best->at] = 1;
        }
}

/* One unknown to be held for each piece; between parts only where nothing else is left. */
static facet_status choose_step(struct hdg *h, const uint8_t *holders, int step, double *chosen) {
    facet_status status = FACET_OK;
    enum { N = FREE_MOTIONS };
    struct best *best = NULL;
    TRY(ALLOC(best, h->data.n_free_pieces));
    for (int i = 0; i < h->data.n_free_pieces; i++)
        best[i] = (struct best){.size = NOTHING, .unknown = -1, .face = -1};
    for (int kind = OF_PART; kind <= OF_SEAM; kind++) {
        look_for_best(h, holders, kind, step, chosen, best);
        for (int i = 0; i < h->data.n_free_pieces; i++)
            if (step < h->data.free_pieces[i].n && !best[i].found)
                TRY(compare_parts(mesh_team(h->data.mesh), &best[i]));
        for (int i = 0; i < h->data.n_free_pieces; i++) best[i].found = best[i].size > NOTHING;
    }
    for (int i = 0; i < h->data.n_free_pieces; i++) {
        if (step >= h->data.free_pieces[i].n) continue;
        if (!best[i].found)
            FAIL(FACET_ERROR_INPUT,
                 "every face of the body is joined to another, and nothing is left to hold; "
                 "refine the mesh");
        hold(h, &best[i]);
        memcpy(chosen + ((int64_t)i * N + step) * N, best[i].v, sizeof best[i].v);
    }
done:
    base_free(&best);
    return status;
}

facet_status free_motions_create(struct hdg *h) {
    facet_status status = FACET_OK;
    double *chosen = NULL;
    uint8_t *holders = NULL;
    if (h->data.n_free_pieces == 0) return FACET_OK;
    TRY(CALLOC(h->free_pieces, 1));
    TRY(CALLOC(h->free_pieces->traces, FREE_MOTIONS * h->trace.n_free));
    TRY(local_for_all_faces(h, 0, trace_face, h));
    TRY(find_gram(h));
    TRY(CALLOC(chosen, h->data.n_free_pieces * FREE_MOTIONS * FREE_MOTIONS));
    if (h->trace.fixed == NULL) {
        TRY(CALLOC(h->trace.fixed, h->trace.n_free));
        TRY(CALLOC(h->held, h->trace.n_free));
        TRY(CALLOC(h->moved, h->trace.n_free));
    }
    TRY(ALLOC(holders, h->data.mesh->n_faces));
    TRY(find_holders(h, holders));
    for (int step = 0; step < FREE_MOTIONS; step++) TRY(choose_step(h, holders, step, chosen));
done:
    base_free(&holders);
    base_free(&chosen);
    return status;
}

void free_motions_destroy(struct hdg *h) {
    if (h->free_pieces == NULL) return;
    base_free(&h->free_pieces->traces);
    base_free(&h->free_pieces->inverse);
    base_free(&h->free_pieces);
}
