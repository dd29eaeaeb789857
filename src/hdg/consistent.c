/* What goes through the faces of a boundary by the equations of continuous elements (equation_condensed).
 *
 * With phi_v, the function that is 1 at vertex v and linear along edges, the solution satisfies
 *
 *     r_v = (K grad u, grad phi_v) + (lambda u - f, phi_v) + <a u - g, phi_v> on Robin and Neumann parts = 0
 *
 * where no Dirichlet part touches v. Elsewhere r_v is the flux in through Dirichlet faces, weighed with
 * phi_v. So their sum over the vertices of a part is what goes in there, with an error of order 2 degree, and
 * all that goes in and out balances. The integral of q.n has neither. What these integrals lack at a vertex,
 *
 *     -r_v - <q.n, phi_v>,
 *
 * goes to its Dirichlet faces in proportion to <1, phi_v>. A vertex where parts meet has one r_v for all of
 * them: there the share of a part is that of q, and one order is gained. Natural faces know their flux from
 * the condition, but for Robin parts that hold u as Dirichlet parts do (is_held): they count among these. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/condensed.h"

#define FACE_MODES 289 /* of a quad at the largest degree, 16 */
#define CORNERS    SHAPE_MAX_VERTICES

/* Sums at the unknowns in their full numbering, of which those of vertices are used. */
struct vertex_sums {
    double *rest;    /* r_v */
    double *through; /* <q.n, phi_v> over Dirichlet faces */
    double *area;    /* <1, phi_v> over them */
};

facet_status condensed_keep_loads(const struct hdg *h, double *const direct[MESH_MAX_BLOCKS],
                                  struct hdg_solution *s) {
    facet_status status = FACET_OK;
    if (s->vertex_loads == NULL) TRY(ALLOC(s->vertex_loads, h->trace.n_all));
    memset(s->vertex_loads, 0, (size_t)h->trace.n_all * sizeof *s->vertex_loads);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const int n_vertices = shape_n_vertices(h->space.blocks[b].shape), n_slots = h->trace.n_slots[b];
        int N, n;
        hdg_local_sizes(h, b, &N, &n);
        for (int32_t cell = 0; cell < h->data.mesh->blocks[b].count; cell++) {
            const int32_t *nodes = h->condensed->space.nodes[b] + (int64_t)cell * n_slots;
            const double *from = direct[b] + local_lane(h->lanes, cell, n);
            for (int v = 0; v < n_vertices; v++)
                s->vertex_loads[h->trace.face_first[nodes[v]]] += from[(int64_t)v * h->lanes];
        }
    }
done:
    return status;
}

static const struct hdg_condition *condition_of(const struct hdg *h, int32_t face) {
    const int32_t number = h->data.face_condition[face];
    return number >= 0 ? &h->data.conditions[number] : NULL;
}

/* Whether the equations of the cell at hand say better than the condition what goes through a face: on
 * Dirichlet parts, and on Robin parts with a above K / h, where a u - g is the difference of larger numbers.
 */
static facet_status is_held(struct local *l, int face, int *held) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_condition *c = condition_of(h, local_face_number(l, face));
    const int dim = h->data.mesh->dim;
    double largest = 0.0, area = 0.0;
    int found;
    *held = c != NULL && c->kind == HDG_DIRICHLET;
    if (c == NULL || c->kind != HDG_ROBIN) goto done;
    TRY(local_begin(l, l->block, l->cell));
    TRY(local_robin(l, face, &found, &largest));
    for (int q = 0; q < h->space.blocks[l->block].boundary.rule.n; q++)
        area += local_norm(dim, l->normal + q * dim);
    *held = found && largest * l->volume > (h->space.degree + 1) * l->mean_K * area;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ cells */

struct cell_job {
    const struct hdg_solution *solution;
    double *cells; /* n_cells x CORNERS */
};

/* (K grad u, grad phi_v) + (lambda u, phi_v) of the cell at hand, by the rule of its matrix. */
static facet_status add_volume(struct local *l, const double *u, double *to) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_table *table = &h->space.blocks[l->block].cell;
    const struct condensed_block *c = &h->condensed->blocks[l->block];
    const int dim = table->dim, n = table->n, M = c->N + c->n, N = h->space.blocks[l->block].N;
    const int corners = shape_n_vertices(h->space.blocks[l->block].shape);
    const int one_K = l->mass == FLUX_SCALED || l->mass == FLUX_CONSTANT;
    for (int q = 0; q < n; q++) {
        const double *inverse = l->geometry.inverse + q * dim * dim, *K = l->K + (one_K ? 0 : q * dim * dim);
        double slope[3] = {0.0}, flux[3] = {0.0};
        for (int b = 0; b < dim; b++) {
            const double by_b = cblas_ddot(N, table->grad + ((int64_t)b * n + q) * table->N, 1, u, 1);
            for (int a = 0; a < dim; a++) slope[a] += inverse[b * dim + a] * by_b;
        }
        for (int a = 0; a < dim * dim; a++) flux[a / dim] += l->geometry.wJ[q] * K[a] * slope[a % dim];
        for (int b = 0; b < dim; b++) {
            const double *grad = c->grad + ((int64_t)b * n + q) * M + c->N;
            const double back = cblas_ddot(dim, inverse + b * dim, 1, flux, 1);
            for (int v = 0; v < corners; v++) to[v] += back * grad[v];
        }
    }
    if (h->data.reaction == NULL) goto done;
    TRY(local_place(
        local_reaction(&h->data, local_region(&h->data, l->block, l->cell), n, l->geometry.x, l->values), l));
    for (int q = 0; q < n; q++) {
        const double taken =
            l->geometry.wJ[q] * l->values[q] * cblas_ddot(N, table->phi + (int64_t)q * table->N, 1, u, 1);
        for (int v = 0; v < corners; v++) to[v] += taken * c->phi[(int64_t)q * M + c->N + v];
    }
done:
    return status;
}

/* The integrals of a u phi over a face of the cell at hand, by the corners of the face, if it is on a Robin
 * part; and where these are in the cell. */
static facet_status robin_moments(struct local *l, const struct hdg_solution *s, int face,
                                  struct continuous_mode *modes, int *n_corners, double *moments) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    const double *psi = h->condensed->blocks[l->block].psi;
    const int m = b->m, dim = h->data.mesh->dim;
    double largest = 0.0;
    int found;
    *n_corners = 0;
    TRY(local_robin(l, face, &found, &largest));
    if (!found) goto done;
    *n_corners = shape_n_vertices(shape_face_shape(b->shape, face));
    continuous_face_modes(&h->condensed->space, &h->trace, l->block, l->cell, face, modes);
    for (int q = 0; q < b->boundary.rule.n; q++) {
        double u = 0.0;
        for (int i = 0; i < m; i++) u += modes[i].sign * s->trace[modes[i].full] * psi[q * m + i];
        l->values[q] *= u;
    }
    memset(moments, 0, (size_t)m * sizeof *moments);
    local_face_moments(b->boundary.rule.n, m, psi, dim, l->normal, l->values, moments);
done:
    return status;
}

static facet_status cell_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct cell_job *job = user;
    const struct hdg_block_space *b = &l->hdg->space.blocks[block];
    double *to = job->cells + (l->hdg->data.mesh->blocks[block].first + (int64_t)cell) * CORNERS;
    memset(to, 0, CORNERS * sizeof *to);
    TRY(local_begin(l, block, cell));
    TRY(add_volume(l, job->solution->u[block] + (int64_t)cell * b->N, to));
    for (int f = 0; f < b->n_faces; f++) {
        struct continuous_mode modes[FACE_MODES];
        int n, held;
        TRY(is_held(l, f, &held));
        if (held) continue;
        TRY(robin_moments(l, job->solution, f, modes, &n, l->vector));
        for (int i = 0; i < n; i++) to[modes[i].local] += l->vector[i];
    }
done:
    return status;
}

/* r_v of cells; *square: that of the terms. */
static facet_status sum_cells(const struct hdg *h, const struct hdg_solution *s, double *rest,
                              double *square) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct cell_job job = {.solution = s};
    TRY(ALLOC(job.cells, (int64_t)mesh->n_cells * CORNERS));
    TRY(local_for_all_cells(h, cell_work, &job));
    for (int64_t i = 0; i < h->trace.n_all; i++) rest[i] -= s->vertex_loads[i];
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int32_t cell = 0; cell < mesh->blocks[b].count; cell++) {
            const int32_t *nodes = h->condensed->space.nodes[b] + (int64_t)cell * h->trace.n_slots[b];
            const double *from = job.cells + (mesh->blocks[b].first + (int64_t)cell) * CORNERS;
            double moduli = 0.0;
            for (int v = 0; v < shape_n_vertices(h->space.blocks[b].shape); v++) {
                rest[h->trace.face_first[nodes[v]]] += from[v];
                moduli += fabs(from[v]);
            }
            *square += moduli * moduli;
        }
done:
    base_free(&job.cells);
    return status;
}

/* ------------------------------------------------------------------------------------------ faces */

/* <q.n, phi> and <1, phi> over a face of the cell at hand, by the corners of the face; their number. */
static facet_status dirichlet_moments(struct local *l, const struct hdg_solution *s, int face,
                                      struct continuous_mode *modes, int *n_corners, double *through,
                                      double *area) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    const struct hdg_table *side = &b->boundary.side[face][local_orientation(l, face)];
    const double *psi = h->condensed->blocks[l->block].psi;
    const int m = b->m, dim = side->dim, n = shape_n_vertices(shape_face_shape(b->shape, face));
    double *q = l->jets;
    *n_corners = n;
    continuous_face_modes(&h->condensed->space, &h->trace, l->block, l->cell, face, modes);
    hdg_face_geometry(&h->space, l->block, l->cell, face, &b->boundary, &l->face_geometry, l->x, l->normal);
    hdg_cell_geometry(&h->space, l->block, l->cell, side, &l->geometry);
    TRY(diffusion_gradient_flux(l, side, b->N, s->u[l->block] + (int64_t)l->cell * b->N, q));
    for (int i = 0; i < n; i++) through[i] = area[i] = 0.0;
    for (int p = 0; p < side->n; p++) {
        const double out = cblas_ddot(dim, q + p * dim, 1, l->normal + p * dim, 1),
                     size = local_norm(dim, l->normal + p * dim);
        for (int i = 0; i < n; i++) {
            through[i] += out * psi[p * m + i];
            area[i] += size * psi[p * m + i];
        }
    }
done:
    return status;
}

/* <g, phi> over a face of the cell at hand with a natural condition, by the modes of the face. */
static facet_status given_moments(struct local *l, const struct hdg_condition *c, int face, double *moments) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    const struct hdg_face_table *table = &b->boundary;
    hdg_face_geometry(&h->space, l->block, l->cell, face, table, &l->face_geometry, l->x, l->normal);
    TRY(local_condition_values(l, c, table->rule.n, l->x, l->normal, l->values));
    memset(moments, 0, (size_t)b->m * sizeof *moments);
    local_face_moments(table->rule.n, b->m, h->condensed->blocks[l->block].psi, h->data.mesh->dim, l->normal,
                       l->values, moments);
done:
    return status;
}

static facet_status sum_faces(const struct hdg *h, const struct hdg_solution *s,
                              const struct vertex_sums *sums) {
    facet_status status = FACET_OK;
    struct local l;
    struct continuous_mode modes[FACE_MODES];
    TRY(local_create(h, &l));
    for (int32_t f = 0; f < h->data.mesh->n_faces; f++) {
        const struct hdg_condition *c = condition_of(h, f);
        double through[CORNERS], area[CORNERS], *given = l.vector;
        int n, held;
        if (c == NULL) continue;
        const int face = local_enter_face(&l, f);
        TRY(is_held(&l, face, &held));
        if (held) {
            TRY(dirichlet_moments(&l, s, face, modes, &n, through, area));
            for (int i = 0; i < n; i++) sums->through[modes[i].full] += through[i];
            for (int i = 0; i < n; i++) sums->area[modes[i].full] += area[i];
            continue;
        }
        continuous_face_modes(&h->condensed->space, &h->trace, l.block, l.cell, face, modes);
        TRY(given_moments(&l, c, face, given));
        n = shape_n_vertices((enum shape)h->data.mesh->face_shapes[f]);
        for (int i = 0; i < n; i++) sums->rest[modes[i].full] -= given[i];
    }
done:
    local_destroy(&l);
    return status;
}

/* The integral of q.n over a face of the cell at hand. */
static facet_status face_flux(struct local *l, const struct hdg_solution *s, int face, double *flux) {
    facet_status status = FACET_OK;
    const struct hdg_condition *c = condition_of(l->hdg, local_face_number(l, face));
    struct continuous_mode modes[FACE_MODES];
    double through[CORNERS], area[CORNERS];
    int n, held;
    *flux = 0.0;
    TRY(is_held(l, face, &held));
    if (c != NULL && !held) {
        TRY(robin_moments(l, s, face, modes, &n, l->vector));
        for (int i = 0; i < n; i++) *flux += l->vector[i];
        TRY(given_moments(l, c, face, l->vector));
        n = shape_n_vertices(shape_face_shape(l->hdg->space.blocks[l->block].shape, face));
        for (int i = 0; i < n; i++) *flux -= l->vector[i];
        goto done;
    }
    TRY(dirichlet_moments(l, s, face, modes, &n, through, area));
    for (int i = 0; i < n; i++)
        *flux += through[i] + (c != NULL ? s->consistent.lacks[modes[i].full] * area[i] : 0.0);
done:
    return status;
}

facet_status condensed_face_fluxes(const struct hdg *h, const struct hdg_solution *s, int n,
                                   const struct mesh_group_face *faces, double *fluxes) {
    facet_status status = FACET_OK;
    struct local l;
    TRY(local_create(h, &l));
    for (int i = 0; i < n; i++) {
        const struct mesh_block *block = mesh_block_of(h->data.mesh, faces[i].cell);
        l.block = (int)(block - h->data.mesh->blocks);
        l.cell = faces[i].cell - block->first;
        TRY(face_flux(&l, s, faces[i].local, fluxes + 3 * (int64_t)i));
    }
done:
    local_destroy(&l);
    return status;
}

/* ------------------------------------------------------------------------------------------ all of it */

/* What is left where r_v should be zero, of vertices that count here: signed, and moduli. */
static facet_status sum_rest(const struct hdg *h, const struct vertex_sums *sums, double left[2]) {
    facet_status status = FACET_OK;
    const struct continuous_space *space = &h->condensed->space;
    uint8_t *foreign = NULL;
    TRY(CALLOC(foreign, space->skeleton.n_vertices));
    for (int64_t k = 0; space->seam != NULL && k < space->seam->n_foreign; k++)
        for (int64_t v = space->seam->foreign[2 * k]; v < space->seam->foreign[2 * k + 1]; v++)
            if (v < space->skeleton.n_vertices) foreign[v] = 1;
    left[0] = left[1] = 0.0;
    for (int64_t v = 0; v < space->skeleton.n_vertices; v++) {
        const int64_t i = h->trace.face_first[v];
        if (foreign[v] || sums->area[i] > 0.0) continue;
        left[0] += sums->rest[i];
        left[1] += fabs(sums->rest[i]);
    }
done:
    base_free(&foreign);
    return status;
}

/* The fluxes of all faces with a condition: their sum, and half that of the moduli with that of the sum. */
static facet_status sum_fluxes(const struct hdg *h, const struct hdg_solution *s, double fluxes[2]) {
    facet_status status = FACET_OK;
    struct local l;
    double flux;
    TRY(local_create(h, &l));
    for (int32_t f = 0; f < h->data.mesh->n_faces; f++) {
        if (condition_of(h, f) == NULL) continue;
        const int face = local_enter_face(&l, f);
        TRY(face_flux(&l, s, face, &flux));
        fluxes[0] += flux;
        fluxes[1] += fabs(flux);
    }
done:
    local_destroy(&l);
    return status;
}

facet_status condensed_find_fluxes(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    struct seam *seam = h->condensed->space.seam;
    const int64_t n = h->trace.n_all;
    struct vertex_sums sums = {0};
    struct hdg_consistent *found = &s->consistent;
    double all[5] = {0.0}; /* what is left, its moduli; fluxes, their moduli; squares of terms */
    if (found->known) goto done;
    TRY(CALLOC(sums.rest, n));
    TRY(CALLOC(sums.through, n));
    TRY(CALLOC(sums.area, n));
    if (found->lacks == NULL) TRY(ALLOC(found->lacks, n));
    TRY(sum_cells(h, s, sums.rest, &all[4]));
    TRY(sum_faces(h, s, &sums));
    double *const vectors[] = {sums.rest, sums.through, sums.area};
    for (int k = 0; k < 3; k++) TRY(seam_add_blocks(seam, h->trace.face_first, vectors[k]));
    for (int64_t i = 0; i < n; i++)
        found->lacks[i] = sums.area[i] > 0.0 ? -(sums.rest[i] + sums.through[i]) / sums.area[i] : 0.0;
    TRY(sum_rest(h, &sums, all));
    TRY(sum_fluxes(h, s, all + 2));
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_SUM, 5, all));
    found->left = all[1];
    found->balance = (struct solve_balance){.cells = -1.0,
                                            .missing = fabs(all[0]),
                                            .through = 0.5 * (all[3] + fabs(all[2])),
                                            .terms = sqrt(all[4])};
    found->known = 1;
done:
    base_free(&sums.rest);
    base_free(&sums.through);
    base_free(&sums.area);
    return status;
}
