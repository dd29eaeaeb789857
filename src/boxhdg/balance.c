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
           (through + face_tau(at, d) * (inner - boxhdg_at_integral(at, d, s->trace + at->faces[d][side])));
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
        for (int side = 0; side < 2; side++) sum += boxhdg_at_integral(&at, d, s->trace + at.faces[d][side]);
    return sum / (2.0 * dim * (double)(1 << (dim - 1)));
}

struct balance_job {
    const struct boxhdg_solution *solution;
    double *cells;  /* n_cells x 2: imbalance, size of what flows */
    double *fluxes; /* n_cells x 6 */
};

/* The integral over a face of |values| of modes; work: two arrays of face_size + slack, the first being
 * filled. */
static double absolute(const struct boxhdg_at *at, int d, double *modes, double *work) {
    const struct boxhdg *h = at->h;
    const struct box_table *tables[3];
    int directions[2], dim = h->grid.dim, n0 = dim > 1 ? h->n : 1, n1 = dim > 2 ? h->n : 1;
    double sum = 0.0;
    boxhdg_at_tangents(at, d, tables, directions);
    const double *values = box_backward(dim - 1, tables, modes, work);
    for (int j = 0; j < n1; j++, values += n0) {
        double row = 0.0;
        for (int i = 0; i < n0; i++) row += (dim > 1 ? h->weights[i] : 1.0) * fabs(values[i]);
        sum += (dim > 2 ? h->weights[j] : 1.0) * row;
    }
    return sum * boxhdg_at_area(at, d);
}

/* What flows out of one face, and |q.n| + tau (|u| + |uhat|) there. u, q: even and odd part of the values at
 * both ends, as boxhdg_at_reduce leaves them; work: three arrays of face_size + slack. */
static double face_balance(const struct boxhdg_at *at, const double *trace, int d, int side, const double *u,
                           const double *q, double *work, double *size_of_flux) {
    int64_t size = at->h->face_size;
    double *modes = work, *other = modes + size + BOX_SLACK, sign = side ? 1.0 : -1.0, tau = face_tau(at, d);
    double integrals[3], sizes[3];
    for (int part = 0; part < 3; part++) {
        const double *ends = part == 0 ? q : u;
        for (int64_t i = 0; i < size; i++)
            modes[i] = part == 2 ? trace[at->faces[d][side] + i] : ends[i] + sign * ends[size + i];
        integrals[part] = boxhdg_at_integral(at, d, modes);
        sizes[part] = absolute(at, d, modes, other);
    }
    *size_of_flux += sizes[0] + tau * (sizes[1] + sizes[2]);
    return boxhdg_at_area(at, d) * (sign * integrals[0] + tau * (integrals[1] - integrals[2]));
}

static facet_status balance_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct balance_job *job = user;
    const struct boxhdg_solution *s = job->solution;
    const struct boxhdg *h = at->h;
    int64_t size = h->cell_size, pairs = boxhdg_pairs_size(h);
    double *v = scratch, *r = v + pairs, *rq = r + pairs, *u = rq + pairs, *q = u + size + BOX_SLACK;
    double *work = q + size + BOX_SLACK, flows = 0.0;
    memcpy(u, s->u + at->cell * size, (size_t)size * sizeof *u);
    double balance = boxhdg_weigh(at->extent, at->moments, s->loads + at->cell * size) -
                     at->reaction * boxhdg_weigh(at->extent, at->moments, u);
    boxhdg_at_gather(at, s->trace, v);
    boxhdg_at_reduce(at, at->ends, u, r);
    for (int d = 0; d < h->grid.dim; d++) {
        boxhdg_at_flux(at, d, u, v, q);
        boxhdg_at_reduce(at, at->ends, q, rq);
        for (int side = 0; side < 2; side++) {
            int64_t pair = 2 * d * h->face_size;
            double flux = face_balance(at, s->trace, d, side, r + pair, rq + pair, work, &flows);
            job->fluxes[6 * at->cell + 2 * d + side] = flux;
            balance -= flux;
        }
    }
    job->cells[2 * at->cell] = balance;
    job->cells[2 * at->cell + 1] = flows;
    return FACET_OK;
}

facet_status boxhdg_conservation(const struct boxhdg *h, const struct boxhdg_solution *s, double *imbalance) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    struct balance_job job = {.solution = s};
    double worst = 0.0, scale = 0.0;
    TRY(ALLOC(job.cells, 2 * g->n_cells));
    TRY(ALLOC(job.fluxes, 6 * g->n_cells));
    int64_t scratch = 3 * (boxhdg_pairs_size(h) + h->face_size + BOX_SLACK) + 2 * (h->cell_size + BOX_SLACK);
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
