/* Fluxes through faces, and the balance of every cell. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"

static double face_tau(const struct boxhdg_at *at, int d) {
    return at->k * at->inverse[d] * boxhdg_line(at->h, d, at->at[d])->rho;
}

static double face_flux(const struct boxhdg_at *at, const struct boxhdg_solution *s, int d, int side) {
    const struct boxhdg *h = at->h;
    const double *weights[3] = {at->moments[0], at->moments[1], at->moments[2]};
    double end[BOX_MAX_DEGREE + 1], sign = side ? 1.0 : -1.0;
    int even = (h->n + 1) / 2;
    for (int m = 0; m < h->n; m++) end[m] = m < even ? at->ends[d][m] : sign * at->ends[d][m];
    weights[d] = end;
    double through =
        sign * boxhdg_weigh(at->extent, weights, s->q + d * h->n_volume + at->cell * h->cell_size);
    double inner = boxhdg_weigh(at->extent, weights, s->u + at->cell * h->cell_size);
    return boxhdg_at_area(at, d) *
           (through + face_tau(at, d) * (inner - boxhdg_at_integral(at, s->trace, d, side)));
}

double boxhdg_face_flux(const struct boxhdg *h, const struct boxhdg_solution *s, int64_t cell, int d,
                        int side) {
    struct boxhdg_at at;
    boxhdg_at_set(h, cell, &at);
    return face_flux(&at, s, d, side);
}

double boxhdg_mean_trace(const struct boxhdg *h, const struct boxhdg_solution *s, int64_t cell) {
    struct boxhdg_at at;
    double sum = 0.0;
    int dim = h->grid.dim;
    boxhdg_at_set(h, cell, &at);
    for (int d = 0; d < dim; d++)
        for (int side = 0; side < 2; side++) sum += boxhdg_at_integral(&at, s->trace, d, side);
    return sum / (2.0 * dim * (double)(1 << (dim - 1)));
}

struct balance_job {
    const struct boxhdg_solution *solution;
    double *cells;  /* n_cells x 2: imbalance, size of what flows */
    double *fluxes; /* n_cells x 6 */
};

/* Adds the integral over a face of |values| of modes; work: two arrays of face_size + slack, the first being
 * filled. */
static double absolute(const struct boxhdg_at *at, int d, double *modes, double *work) {
    const struct boxhdg *h = at->h;
    const struct box_table *tables[3];
    int dim = h->grid.dim;
    double sum = 0.0;
    boxhdg_at_tangents(at, d, tables);
    const double *values = box_backward(dim - 1, tables, modes, work);
    for (int64_t i = 0; i < h->face_size; i++) {
        double weight = dim > 1 ? h->weights[i % h->n] : 1.0;
        sum += weight * (dim > 2 ? h->weights[i / h->n] : 1.0) * fabs(values[i]);
    }
    return sum * boxhdg_at_area(at, d);
}

/* |q.n| + tau (|u| + |uhat|) over all faces of a cell. */
static double cell_size_of_flux(const struct boxhdg_at *at, const struct boxhdg_solution *s,
                                double *scratch) {
    const struct boxhdg *h = at->h;
    int64_t size = h->face_size;
    size_t bytes = (size_t)h->cell_size * sizeof(double);
    double *r = scratch, *rq = r + boxhdg_pairs_size(h), *modes = rq + boxhdg_pairs_size(h);
    double *work = modes + size + BOX_SLACK, *cell = work + size + BOX_SLACK, sum = 0.0;
    memcpy(cell, s->u + at->cell * h->cell_size, bytes);
    boxhdg_at_reduce(at, at->ends, cell, r);
    for (int d = 0; d < h->grid.dim; d++) {
        memcpy(cell, s->q + d * h->n_volume + at->cell * h->cell_size, bytes);
        boxhdg_at_reduce(at, at->ends, cell, rq);
        for (int side = 0; side < 2; side++) {
            double sign = side ? 1.0 : -1.0, tau = face_tau(at, d);
            const double *u = r + 2 * d * size, *q = rq + 2 * d * size;
            for (int64_t i = 0; i < size; i++) modes[i] = q[i] + sign * q[size + i];
            sum += absolute(at, d, modes, work);
            for (int64_t i = 0; i < size; i++) modes[i] = u[i] + sign * u[size + i];
            sum += tau * absolute(at, d, modes, work);
            memcpy(modes, s->trace + at->faces[d][side], (size_t)size * sizeof *modes);
            sum += tau * absolute(at, d, modes, work);
        }
    }
    return sum;
}

static facet_status balance_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct balance_job *job = user;
    const struct boxhdg_solution *s = job->solution;
    int64_t size = at->h->cell_size;
    double balance = boxhdg_weigh(at->extent, at->moments, s->loads + at->cell * size) -
                     at->reaction * boxhdg_weigh(at->extent, at->moments, s->u + at->cell * size);
    for (int d = 0; d < at->h->grid.dim; d++)
        for (int side = 0; side < 2; side++) {
            double flux = face_flux(at, s, d, side);
            job->fluxes[6 * at->cell + 2 * d + side] = flux;
            balance -= flux;
        }
    job->cells[2 * at->cell] = balance;
    job->cells[2 * at->cell + 1] = cell_size_of_flux(at, s, scratch);
    return FACET_OK;
}

facet_status boxhdg_conservation(const struct boxhdg *h, const struct boxhdg_solution *s, double *imbalance) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    struct balance_job job = {.solution = s};
    double worst = 0.0, scale = 0.0;
    TRY(ALLOC(job.cells, 2 * g->n_cells));
    TRY(ALLOC(job.fluxes, 6 * g->n_cells));
    int64_t scratch = 2 * (boxhdg_pairs_size(h) + h->face_size + BOX_SLACK) + h->cell_size + BOX_SLACK;
    TRY(boxhdg_for_cells(h, 0, scratch, balance_work, &job));
    for (int64_t c = 0; c < g->n_cells; c++) {
        int at[3];
        box_cell_at(g, c, at);
        worst = fmax(worst, fabs(job.cells[2 * c]));
        scale = fmax(scale, job.cells[2 * c + 1]);
        for (int d = 0; d < g->dim; d++) { /* against the next cell */
            int next[3] = {at[0], at[1], at[2]};
            if (++next[d] == g->cells[d]) {
                if (g->sides[d][1] != BOX_PERIODIC) continue;
                next[d] = 0;
            }
            worst =
                fmax(worst, fabs(job.fluxes[6 * c + 2 * d + 1] + job.fluxes[6 * box_cell(g, next) + 2 * d]));
        }
    }
    *imbalance = scale > 0.0 ? worst / scale : 0.0;
done:
    base_free(&job.cells);
    base_free(&job.fluxes);
    return status;
}
