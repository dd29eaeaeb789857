/* Data of a problem onto the modes of cells and faces, and traces from a given u. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"

/* ------------------------------------------------------------------------------------- data */

facet_status boxhdg_project_side(const struct boxhdg *h, const struct box_given *given, int d, int side,
                                 double *faces) {
    facet_status status = FACET_OK;
    struct box_samples samples = {0};
    const int fixed = h->grid.sides[d][side] == BOX_DIRICHLET;
    const int64_t all = h->grid.n_cells / h->grid.cells[d] * h->face_size;
    memset(faces, 0, (size_t)all * sizeof *faces);
    if (given->boundary[d][side] == NULL && given->exact == NULL) return FACET_OK;
    TRY(boxhdg_samples_create(h, h->n + BOX_EXTRA_POINTS, &samples));
    TRY(box_integrate_side(&samples, (const int *const *)h->column_line, &h->grid, given, d, side, !fixed,
                           faces));
    for (int64_t i = 0; fixed && i < all; i++) faces[i] *= (double)(1 << (h->grid.dim - 1));
done:
    box_samples_destroy(&samples);
    return status;
}

/* ------------------------------------------------------------------------------------- hybridization */

struct hybridize_job {
    const double *u, *neumann;
    double *trace, *taus; /* numerators and denominators of eq. 4a; taus: one a face */
};

/* What a side contributes to the numerator is tau u + q.n = (2k/h) (rho u -+ u'), in modes (2k/h) times
 * rho end - slope, with the sign of the parity on the lower side: sums and differences as for R. */
static facet_status hybridize_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct hybridize_job *job = user;
    const struct boxhdg *h = at->h;
    int64_t size = h->cell_size;
    double *u = scratch, *r = u + size + BOX_SLACK;
    double c[3][BOX_MAX_DEGREE + 1], factor[3] = {0.0};
    const double *const rows[3] = {c[0], c[1], c[2]};
    memcpy(u, job->u + at->cell * size, (size_t)size * sizeof *u);
    for (int d = 0; d < 3; d++) {
        double rho = d < h->grid.dim ? boxhdg_line(h, d, at->at[d])->rho : 0.0;
        factor[d] = at->k * at->inverse[d];
        for (int m = 0; m < at->extent[d]; m++) c[d][m] = rho * at->ends[d][m] - at->slopes[d][m];
        for (int side = 0; d < h->grid.dim && side < 2; side++) {
            double *face = job->trace + at->faces[d][side];
            job->taus[at->faces[d][side] / h->face_size] += factor[d] * rho;
            if (job->neumann == NULL || h->grid.sides[d][side] != BOX_NEUMANN ||
                !boxhdg_at_boundary(at, d, side))
                continue;
            for (int64_t i = 0; i < h->face_size; i++)
                face[i] += job->neumann[at->faces[d][side] + i] / boxhdg_at_area(at, d);
        }
    }
    boxhdg_at_reduce(at, rows, u, r);
    boxhdg_at_scatter(at, r, factor, job->trace);
    return FACET_OK;
}

facet_status boxhdg_add_seam_of_faces(const struct boxhdg *h, double *faces) {
    facet_status status = FACET_OK;
    int64_t *offsets = NULL;
    if (h->seam == NULL) return FACET_OK;
    TRY(ALLOC(offsets, h->grid.n_faces + 1));
    for (int64_t f = 0; f <= h->grid.n_faces; f++) offsets[f] = f;
    TRY(seam_add_blocks(h->seam, offsets, faces));
done:
    base_free(&offsets);
    return status;
}

facet_status boxhdg_hybridize(const struct boxhdg *h, const double *u, const double *dirichlet,
                              const double *neumann, double *uhat) {
    facet_status status = FACET_OK;
    struct hybridize_job job = {.u = u, .neumann = neumann, .trace = uhat};
    TRY(CALLOC(job.taus, h->grid.n_faces));
    memset(uhat, 0, (size_t)h->n_trace * sizeof *uhat);
    TRY(boxhdg_for_cells(h, 1, h->cell_size + BOX_SLACK + boxhdg_pairs_size(h), hybridize_work, &job));
    TRY(boxhdg_add_seam(h, uhat));
    TRY(boxhdg_add_seam_of_faces(h, job.taus));
    for (int64_t f = 0; f < h->grid.n_faces; f++)
        for (int64_t i = 0; i < h->face_size; i++) uhat[f * h->face_size + i] /= job.taus[f];
    boxhdg_add_dirichlet(h, dirichlet, uhat);
done:
    base_free(&job.taus);
    return status;
}

/* ------------------------------------------------------------------------------------- constants */

/* Coefficients of the function 1 are the products of the moments. Every face once: by the cell above it, or
 * by the last one. */
static void add_to_trace(const struct boxhdg *h, double by, double *trace) {
    const double one = 1.0;
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        for (int d = 0; d < h->grid.dim; d++) {
            const double *moments[3] = {at.moments[0], at.moments[1], at.moments[2]};
            int extent[3] = {at.extent[0], at.extent[1], at.extent[2]};
            extent[d] = 1;
            moments[d] = &one;
            for (int side = 0; side <= boxhdg_at_boundary(&at, d, 1); side++)
                box_add_products(extent, moments, by, trace + at.faces[d][side]);
        }
    }
}

void boxhdg_constant(const struct boxhdg *h, double *trace) {
    memset(trace, 0, (size_t)h->n_trace * sizeof *trace);
    add_to_trace(h, 1.0, trace);
    boxhdg_add_dirichlet(h, NULL, trace);
}
