/* What goes in through a part of the boundary, measured from afar.
 *
 * The integral of the numerical flux over the faces of the part is of no use where the flux is small: q there
 * is a difference of numbers as large as K u / h, and rounding in these may be larger than what passes a thin
 * layer or a contact elsewhere. But the flux is conserved, so that it can be measured wherever that is done
 * best. With a trace psi that is 1 on the part and 0 on all others with Dirichlet values, and any number d in
 * each cell,
 *
 *     Q = - sum over cells ( <qhat.n, psi - d> + d integral of (f - lambda u) )
 *         + <h [uhat], [psi]> on contacts + <a uhat - g, psi> on Robin parts - <g, psi> on Neumann parts.
 *
 * This is psi'(K uhat - F), each cell having been balanced as a whole first: -<qhat.n, 1> is the integral of
 * lambda u - f. Two things make it exact.
 * - d is the mean of psi on the faces of the cell. So a cell's rounding, which is that of K u / h, counts
 * with psi - d only, and is nothing where psi is nearly constant.
 * - psi is the discrete solution that has these values, with no other data. Then it is nearly constant just
 *   where K is large beside what the flux has to pass; and since psi'K e = 0 for every error e of the trace
 *   that leaves Dirichlet values alone, an error of u counts only times that of psi: they are multiplied, and
 *   not divided by anything. */
#include <cblas.h>
#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "hdg/contact.h"

struct total_job {
    const struct hdg_solution *solution;
    int whole, n;
    double *const *psi;
    double *cells; /* n_cells x (1 + 3 n): square of u; and for each psi the total, its moduli, its square */
};

/* Adds what a face of the cell at hand gives; d: by psi. */
static facet_status add_face(struct local *l, const struct total_job *job, int face, const double *d,
                             double *to) {
    facet_status status = FACET_OK;
    const int dim = l->hdg->data.mesh->dim;
    struct local_face at;
    TRY(local_face_values(l, job->solution, face, 1, &at));
    double *flux = l->jets + (2 + dim) * at.n, *moduli = flux + at.n, *weight = moduli + at.n;
    double *test = weight + at.n;
    for (int p = 0; p < at.n; p++) {
        const double *normal = l->normal + p * dim;
        double through = cblas_ddot(dim, at.Q + p * dim, 1, normal, 1);
        weight[p] = l->values[p] * local_norm(dim, normal);
        flux[p] = through + weight[p] * (at.u[p] - at.uhat[p]);
        moduli[p] = fabs(through) + weight[p] * (fabs(at.u[p]) + fabs(at.uhat[p]));
        to[0] += weight[p] * at.uhat[p] * at.uhat[p];
    }
    for (int i = 0; i < job->n; i++) {
        const struct hdg_solution trace = {.trace = job->psi[i]};
        double *of = to + 1 + 3 * i;
        local_trace_values(l, &trace, face, at.table, 0, at.n, test);
        for (int p = 0; p < at.n; p++) {
            of[0] -= flux[p] * (test[p] - d[i]);
            of[1] += moduli[p] * fabs(test[p] - d[i]);
            of[2] += weight[p] * test[p] * test[p];
        }
    }
done:
    return status;
}

/* <a uhat, psi>, where a face of the cell at hand is on a Robin part. */
static facet_status add_robin(struct local *l, const struct total_job *job, int face, double *to) {
    facet_status status = FACET_OK;
    const struct hdg_face_table *table = hdg_face_of(&l->hdg->space.blocks[l->block].boundary, face);
    const int dim = l->hdg->data.mesh->dim, n = table->rule.n;
    double largest = 0.0, *u = l->jets, *test = u + n;
    int found;
    TRY(local_robin(l, face, &found, &largest));
    if (!found) return FACET_OK;
    local_trace_values(l, job->solution, face, table, 0, n, u);
    for (int i = 0; i < job->n; i++) {
        const struct hdg_solution trace = {.trace = job->psi[i]};
        local_trace_values(l, &trace, face, table, 0, n, test);
        for (int p = 0; p < n; p++) {
            double part = l->values[p] * u[p] * test[p] *
                          copysign(local_norm(dim, l->normal + p * dim), table->rule.w[p]);
            to[1 + 3 * i] += part;
            to[2 + 3 * i] += fabs(part);
        }
    }
done:
    return status;
}

static facet_status total_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct total_job *job = user;
    const struct hdg *h = l->hdg;
    const struct hdg_functions *v = &h->functions[block];
    double *to = job->cells + (h->data.mesh->blocks[block].first + cell) * (1 + 3 * (int64_t)job->n);
    double supply = 0.0, taken, *d = NULL;
    TRY(ALLOC(d, job->n));
    for (int i = 0; i < 1 + 3 * job->n; i++) to[i] = 0.0;
    TRY(local_begin(l, block, cell));
    TRY(local_take(l, job->solution, &taken));
    if (job->whole)
        supply = job->solution->loads[block][local_lane(h->lanes, cell, v->Nu)] / v->source.table->phi[0];
    for (int i = 0; i < job->n; i++) {
        const struct hdg_solution trace = {.trace = job->psi[i]};
        hdg_mean_trace(h, &trace, block, cell, &d[i]);
        to[1 + 3 * i] = d[i] * (taken - supply);
        to[2 + 3 * i] = fabs(d[i]) * (fabs(taken) + fabs(supply));
    }
    for (int f = 0; f < h->space.blocks[block].n_faces; f++) TRY(add_face(l, job, f, d, to));
    for (int f = 0; f < h->space.blocks[block].n_faces; f++) TRY(add_robin(l, job, f, to));
done:
    base_free(&d);
    return status;
}

/* <g, psi> on Neumann and Robin parts. */
static void take_data(const struct hdg *h, const double *psi, double *total, double *moduli) {
    for (int64_t b = 0; b < h->trace.n_free_faces; b++) {
        const double *at = psi + h->trace.face_first[h->trace.free_faces[b]] - h->trace.free_offsets[b];
        double sum = 0.0;
        for (int64_t i = h->trace.free_offsets[b]; i < h->trace.free_offsets[b + 1]; i++)
            sum += at[i] * h->boundary[i];
        *total -= sum;
        *moduli += fabs(sum);
    }
}

int64_t hdg_trace_size(const struct hdg *h) {
    return contact_seen(h)->n_all;
}

facet_status hdg_totals(const struct hdg *h, const struct hdg_solution *s, int whole, int n,
                        double *const *psi, double *totals, double *roundings, double *squares) {
    facet_status status = FACET_OK;
    struct total_job job = {.solution = s, .whole = whole, .n = n, .psi = psi};
    const int64_t size = 1 + 3 * (int64_t)n;
    double *sums = NULL; /* as of a cell, but for the squares of moduli; then those of contacts, and moduli */
    TRY(ALLOC(job.cells, h->data.mesh->n_cells * size));
    TRY(CALLOC(sums, size + 2 * (int64_t)n));
    TRY(local_for_all_cells(h, total_work, &job));
    for (int64_t c = 0; c < h->data.mesh->n_cells; c++)
        for (int64_t i = 0; i < size; i++)
            sums[i] +=
                i % 3 == 2 ? job.cells[c * size + i] * job.cells[c * size + i] : job.cells[c * size + i];
    TRY(contact_add_totals(h, s, n, psi, sums + size, sums + size + n));
    for (int i = 0; i < n && whole; i++) take_data(h, psi[i], &sums[size + i], &sums[size + n + i]);
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_SUM, (int)size + 2 * n, sums));
    squares[n] = sums[0];
    for (int i = 0; i < n; i++) {
        totals[i] = sums[1 + 3 * i] + sums[size + i];
        roundings[i] = DBL_EPSILON * (sqrt(sums[2 + 3 * i]) + sums[size + n + i]);
        squares[i] = sums[3 + 3 * i];
    }
done:
    base_free(&job.cells);
    base_free(&sums);
    return status;
}
