/* Solutions: back from the trace to u and q. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "hdg/hdg_null_space.h"
#include "hdg/inner.h"

/* The free unknowns as they are, and those that are eliminated. */
static facet_status take_free(const struct hdg *h, const struct vector *x, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct trace_space *t = &h->trace;
    const int64_t n_eliminated = t->n_all - t->n_free;
    double *host = NULL, *to;
    if (t->n_free > 0) device_move(h->device, s->device_trace, x->data, (size_t)t->n_free * sizeof(double));
    if (n_eliminated == 0) goto done;
    TRY(ALLOC(host, n_eliminated));
    to = host;
    for (int64_t f = 0, k = 0; f < t->n_faces; f++) {
        const int64_t end = k < t->n_free_faces ? t->free_faces[k++] : t->n_faces, n = f < end ? end - f : 0;
        const int64_t size = t->face_first[f + n] - t->face_first[f];
        if (size > 0) memcpy(to, h->eliminated + t->face_first[f], (size_t)size * sizeof *to);
        to += size;
        f = end;
    }
    TRY(device_upload(h->device, s->device_trace + t->n_free, host, (size_t)n_eliminated * sizeof *host));
done:
    base_free(&host);
    return status;
}

facet_status hdg_set_trace(const struct hdg *h, const struct vector *x, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct trace_space *t = &h->trace;
    const void *view = NULL;
    const double *free;
    cells_forget_fetched(s);
    if (h->stays) return take_free(h, x, s);
    TRY(cells_need_host(h, s));
    TRY(device_view(h->device, x->data, (size_t)t->n_free, sizeof(double), &view));
    free = view;
    trace_scatter(t, free, h->eliminated, s->trace);
    for (int64_t b = 0; b < t->n_free_faces && t->fixed != NULL; b++) { /* exactly as given */
        double *to = s->trace + t->face_first[t->free_faces[b]] - t->free_offsets[b];
        for (int64_t i = t->free_offsets[b]; i < t->free_offsets[b + 1]; i++)
            if (t->fixed[i]) to[i] = h->held[i];
    }
    s->has_trace = 1;
done:
    device_unview(h->device, x->data, &view);
    return status;
}

/* The part of the flux that u and uhat do not make: of tensors on the diagonal (and around an axis), minus it
 * in the pressure. */
static facet_status initial_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    struct hdg_solution *s = user;
    const struct hdg *h = l->hdg;
    int dim = h->data.mesh->dim, N = h->functions[block].N;
    double *spherical = l->C, hoop = hdg_has_hoop(h) ? 1.0 : -1.0;
    TRY(local_begin(l, block, cell));
    TRY(h->data.equation->initial(l, spherical, NULL));
    if (s->p[block] != NULL) cblas_daxpy(N, hoop, spherical, 1, s->p[block] + (int64_t)cell * N, 1);
    for (int a = 0; a < dim && (s->p[block] == NULL || hdg_has_hoop(h)); a++)
        cblas_daxpy(N, 1.0, spherical, 1, s->q[block] + ((int64_t)cell * dim * dim + a * (dim + 1)) * N, 1);
done:
    return status;
}

/* u and q of all cells, from their trace, which the host has unless the solution stays on the device. jump:
 * as of contact_recover. */
static facet_status solve_inside(const struct hdg *h, int jump, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    if (!h->stays) {
        contact_recover(h, jump, s);
        TRY(cells_send_trace(h, s));
    }
    for (int b = 0; b < h->data.mesh->n_blocks; b++) TRY(inner_recover(h, b, s));
    TRY(device_check(h->device));
    s->has_u = s->has_q = 0;
    s->wants_q = !h->stays;
    if (!h->stays) TRY(cells_fetch(h, s));
done:
    return status;
}

facet_status hdg_recover(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    s->consistent.known = 0;
    TRY(solve_inside(h, 1, s));
    if (h->stays) return FACET_OK;
    if (h->free_pieces != NULL) {
        TRY(hdg_fix_null_space(h, s));
        TRY(solve_inside(h, 1, s));
    }
    if (h->data.expansion != NULL) TRY(local_for_all_cells(h, initial_work, s));
    if (h->singular) TRY(hdg_fix_null_space(h, s));
    TRY(hdg_weak_constants_fix(h, s));
    if (h->data.expansion == NULL && !h->singular && h->weak.n == 0) goto done;
    TRY(cells_send_trace(h, s));
    TRY(cells_send_fields(h, s));
done:
    return status;
}

/* cells (or NULL): the root of the mean square of u in every cell. */
static double sum_of_squares(const struct hdg *h, const struct hdg_solution *s, double *cells) {
    double sum = 0.0;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct mesh_block *block = &h->data.mesh->blocks[b];
        const int64_t n = (int64_t)h->trace.n_components * h->functions[b].Nu;
        for (int64_t cell = 0; cell < block->count; cell++) {
            double own = 0.0;
            for (int64_t i = cell * n; i < (cell + 1) * n; i++) own += s->u[b][i] * s->u[b][i];
            if (cells != NULL) cells[block->first + cell] = sqrt(own / shape_measure(block->shape));
            sum += own;
        }
    }
    return sum;
}

facet_status hdg_recover_error(const struct hdg *h, const double *error, struct hdg_solution *d) {
    facet_status status = FACET_OK;
    double *zero = NULL;
    TRY(hdg_solution_create(h, d));
    TRY(CALLOC(zero, h->trace.face_first[h->trace.n_faces]));
    trace_scatter(&h->trace, error, zero, d->trace);
    d->has_trace = 1;
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        if (h->cells[b] != NULL)
            device_fill(h->device, F64, h->matrices.n_batches[b] * h->lanes * h->cells[b]->N, 0.0,
                        d->cells[b].loads);
    TRY(solve_inside(h, 0, d));
done:
    base_free(&zero);
    return status;
}

facet_status hdg_error_inside(const struct hdg *h, const struct hdg_solution *s, const double *error,
                              double *cells, double *relative) {
    facet_status status = FACET_OK;
    struct hdg_solution d = {0};
    TRY(hdg_recover_error(h, error, &d));
    double squares[2] = {sum_of_squares(h, &d, cells), sum_of_squares(h, s, NULL)};
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_SUM, 2, squares));
    *relative = squares[0] > 0.0 ? sqrt(squares[0] / squares[1]) : 0.0;
done:
    hdg_solution_destroy(&d);
    return status;
}
