/* Solutions: back from the trace to u and q. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "hdg/hdg_null_space.h"
#include "hdg/inner.h"

/* n numbers; what a device brings is written before it is read, as far as it is wanted: often of a few cells
 * alone. */
static facet_status make(const struct hdg *h, int64_t n, double **array) {
    if (h->resident == NULL) return CALLOC(*array, n);
    return base_alloc_sparse(array, (size_t)n, sizeof **array);
}

facet_status hdg_solution_need(const struct hdg *h, struct hdg_solution *s) {
    const int lanes = h->lanes;
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct hdg_system system;
    if (s->trace != NULL) return FACET_OK;
    hdg_describe(h, &system);
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t count = mesh->blocks[b].count, flux = count * h->functions[b].N;
        int N, n, nc = h->trace.n_components;
        hdg_local_sizes(h, b, &N, &n);
        TRY(make(h, count * nc * h->functions[b].Nu, &s->u[b]));
        if (h->data.equation->flux != NULL) TRY(make(h, flux * nc * mesh->dim, &s->q[b]));
        if (equation_has_field(h->data.equation, HDG_P) || hdg_has_hoop(h)) TRY(CALLOC(s->p[b], flux));
        TRY(make(h, trace_n_batches(h->device, mesh, b) * N * lanes, &s->loads[b]));
    }
    int64_t n_seconds = h->contacts != NULL ? h->contacts->seen.n_all - h->trace.n_all : 0;
    if (n_seconds > 0) TRY(CALLOC(s->kept, n_seconds));
    TRY(make(h, system.n_all + n_seconds, &s->trace));
done:
    if (status != FACET_OK) hdg_solution_destroy(s);
    return status;
}

facet_status hdg_solution_create(const struct hdg *h, struct hdg_solution *s) {
    *s = (struct hdg_solution){0};
    return hdg_solution_need(h, s);
}

void hdg_solution_destroy(struct hdg_solution *s) {
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) {
        base_free(&s->u[b]);
        base_free(&s->q[b]);
        base_free(&s->p[b]);
        base_free(&s->star[b]);
        base_free(&s->loads[b]);
    }
    base_free(&s->trace);
    base_free(&s->kept);
    base_free(&s->supply);
    base_free(&s->vertex_loads);
    base_free(&s->consistent.lacks);
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

facet_status hdg_recover(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    s->consistent.known = 0;
    contact_recover(h, 1, s);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) TRY(inner_recover(h, b, s));
    if (h->free_pieces != NULL) {
        TRY(hdg_fix_null_space(h, s));
        contact_recover(h, 1, s);
        for (int b = 0; b < h->data.mesh->n_blocks; b++) TRY(inner_recover(h, b, s));
    }
    if (h->data.expansion != NULL) TRY(local_for_all_cells(h, initial_work, s));
    if (h->singular) TRY(hdg_fix_null_space(h, s));
    TRY(hdg_weak_constants_fix(h, s));
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
    contact_recover(h, 0, d);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) TRY(inner_recover(h, b, d));
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
