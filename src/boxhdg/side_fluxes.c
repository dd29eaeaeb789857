/* Fluxes through faces, the balance of every cell, and what goes in through sides of the box. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"

static double face_tau(const struct boxhdg_at *at, int d) {
    return at->k * at->inverse[d] * boxhdg_line(at->h, d, at->at[d])->rho;
}

void boxhdg_line_ends(const struct box_table *t, double *c, double squares[2]) {
    int n = t->n;
    memset(c, 0, (size_t)n * sizeof *c);
    squares[0] = squares[1] = 0.0;
    for (int i = 0; i < n; i++) {
        squares[i >= t->n_even] += t->ends[i] * t->ends[i];
        for (int j = 0; j < n; j++) c[j] += t->ends[i] * t->flux[i * n + j];
    }
}

/* Along the tangents integrals are left: a line of u, and two numbers of the traces. */
double boxhdg_face_flux(const struct boxhdg *h, const struct boxhdg_solution *s, int64_t cell, int d,
                        int side) {
    struct boxhdg_at at;
    double c[BOX_MAX_DEGREE + 1], squares[2], one[BOX_MAX_DEGREE + 1] = {0.0}, slope[2] = {0.0}, inner = 0.0,
                                                                   sign = side ? 1.0 : -1.0;
    boxhdg_at_find(h, s, cell, &at);
    const double *weights[3] = {at.moments[0], at.moments[1], at.moments[2]};
    boxhdg_line_ends(at.tables[d], c, squares);
    weights[d] = one;
    for (int m = 0; m < h->n; m++) {
        int odd = m >= at.tables[d]->n_even;
        one[m] = 1.0;
        double u = box_weigh(at.extent, weights, s->u + at.cell * h->cell_size);
        one[m] = 0.0;
        slope[odd] += c[m] * u;
        inner += (odd ? sign : 1.0) * at.ends[d][m] * u;
    }
    double lower = boxhdg_at_integral(&at, d, s->trace + at.faces[d][0]),
           upper = boxhdg_at_integral(&at, d, s->trace + at.faces[d][1]);
    double even = slope[1] - squares[0] * (upper - lower), odd = slope[0] - squares[1] * (upper + lower);
    return boxhdg_at_area(&at, d) *
           (at.k * at.inverse[d] * (sign * even + odd) + face_tau(&at, d) * (inner - (side ? upper : lower)));
}

double boxhdg_mean_trace(const struct boxhdg *h, const struct boxhdg_solution *s, int64_t cell) {
    struct boxhdg_at at;
    double sum = 0.0;
    int dim = h->grid.dim;
    boxhdg_at_find(h, s, cell, &at);
    for (int d = 0; d < dim; d++)
        for (int side = 0; side < 2; side++) sum += boxhdg_at_integral(&at, d, s->trace + at.faces[d][side]);
    return sum / (2.0 * dim * (double)(1 << (dim - 1)));
}

/* q_d at the ends of every direction d, as boxhdg_at_reduce leaves it, from u and v without q itself
 * (boxhdg_fields_flux): the ends times D' are numbers of a line. */
static void reduce_fluxes(const struct boxhdg_at *at, const double *u, const double *v, double *rq) {
    static const double zero[1] = {0.0};
    double c[3][BOX_MAX_DEGREE + 1], squares[3][2] = {{0.0}};
    const double *rows[3] = {zero, zero, zero};
    int64_t size = at->h->face_size;
    int dim = at->h->grid.dim;
    for (int d = 0; d < dim; d++) {
        boxhdg_line_ends(at->tables[d], c[d], squares[d]);
        rows[d] = c[d];
    }
    boxhdg_at_reduce(at, rows, u, rq);
    for (int d = 0; d < dim; d++) { /* what is even in q comes from what is odd in u, and the reverse */
        double *even = rq + 2 * d * size, *odd = even + size, factor = at->k * at->inverse[d];
        const double *sum = v + 2 * d * size, *difference = sum + size;
        for (int64_t i = 0; i < size; i++) {
            double from_odd = odd[i] - squares[d][0] * difference[i],
                   from_even = even[i] - squares[d][1] * sum[i];
            even[i] = factor * from_odd;
            odd[i] = factor * from_even;
        }
    }
}

/* What makes the flux through a face of a cell; r, rq: u and q_d at the ends, as boxhdg_at_reduce leaves
 * them. */
enum part { PART_Q, PART_U, PART_TRACE };

/* The flux through a face, and *bound of its size: of each part by the norm of its modes. Four sums of
 * squares, since one would wait for itself. work: face_size. */
static double flux_through(const struct boxhdg_at *at, const double *trace, int d, int side, const double *r,
                           const double *rq, double *work, double *bound) {
    enum { SUMS = 4 };
    const struct boxhdg *h = at->h;
    int64_t size = h->face_size, whole = size / SUMS * SUMS;
    double sign = side ? 1.0 : -1.0, tau = face_tau(at, d), area = boxhdg_at_area(at, d);
    double sums[3][SUMS] = {{0.0}}, norms[3] = {0.0};
    const double *u = r + 2 * d * size, *q = rq + 2 * d * size;
    trace += at->faces[d][side];
    for (int64_t i = 0; i < size; i += SUMS)
        for (int s = 0; s < (i < whole ? SUMS : (int)(size - whole)); s++) {
            double through = q[i + s] + sign * q[size + i + s], inner = u[i + s] + sign * u[size + i + s],
                   outer = trace[i + s];
            sums[PART_Q][s] += through * through;
            sums[PART_U][s] += inner * inner;
            sums[PART_TRACE][s] += outer * outer;
            work[i + s] = sign * through + tau * (inner - outer);
        }
    for (enum part part = PART_Q; part <= PART_TRACE; part++)
        norms[part] = sqrt(sums[part][0] + sums[part][1] + sums[part][2] + sums[part][3]);
    *bound += area * sqrt((double)(1 << (h->grid.dim - 1))) *
              (norms[PART_Q] + tau * (norms[PART_U] + norms[PART_TRACE]));
    return area * boxhdg_at_integral(at, d, work);
}

/* ------------------------------------------------------------------------------------------ totals */

/* As hdg/totals.c, which says why; a box has neither contacts nor Robin sides. */
struct total_job {
    const struct boxhdg_solution *solution;
    int whole, n;
    double *const *psi;
    double *cells; /* n_cells x (1 + 3 n): square of u; and for each psi the total, its moduli, its square */
};

static double dot(int64_t n, const double *a, const double *b) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* The modes of psi - mean on a face normal to d: those of 1 are the integrals of the modes. */
static void take_mean(const struct boxhdg_at *at, int d, double mean, const double *psi, double *modes) {
    const int first = d == 0, second = d == 2 ? 1 : 2, n0 = at->extent[first], n1 = at->extent[second];
    for (int j = 0; j < n1; j++)
        for (int i = 0; i < n0; i++)
            modes[j * n0 + i] = psi[j * n0 + i] - mean * at->moments[first][i] * at->moments[second][j];
}

/* Adds what a face gives; flux: its modes; size: the norms of their parts; means: of every psi. */
static void add_face(const struct boxhdg_at *at, const struct total_job *job, int d, int side,
                     const double *flux, double size, const double *means, double *modes, double *to) {
    const int64_t n = at->h->face_size, place = at->faces[d][side];
    const double area = boxhdg_at_area(at, d), weight = area * face_tau(at, d);
    to[0] += weight * dot(n, job->solution->trace + place, job->solution->trace + place);
    for (int k = 0; k < job->n; k++) {
        const double *psi = job->psi[k] + place;
        take_mean(at, d, means[k], psi, modes);
        to[1 + 3 * k] -= area * dot(n, flux, modes);
        to[2 + 3 * k] += size * sqrt(dot(n, modes, modes));
        to[3 + 3 * k] += weight * dot(n, psi, psi);
    }
}

static facet_status total_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct total_job *job = user;
    const struct boxhdg_solution *s = job->solution;
    const struct boxhdg *h = at->h;
    const int64_t size = h->cell_size, pairs = boxhdg_pairs_size(h);
    double *v = scratch, *r = v + pairs, *rq = r + pairs, *u = rq + pairs, *flux = u + size + BOX_SLACK,
           *modes = flux + h->face_size + BOX_SLACK, *means = modes + h->face_size + BOX_SLACK;
    double *to = job->cells + at->cell * (1 + 3 * (int64_t)job->n), supply = 0.0, taken = 0.0;
    const double root = sqrt((double)(1 << (h->grid.dim - 1)));
    memset(to, 0, (size_t)(1 + 3 * job->n) * sizeof *to);
    memcpy(u, s->u + at->cell * size, (size_t)size * sizeof *u);
    if (job->whole) supply = box_weigh(at->extent, at->moments, s->loads + at->cell * size);
    if (at->reaction != 0.0) taken = at->reaction * box_weigh(at->extent, at->moments, u);
    for (int k = 0; k < job->n; k++) {
        const struct boxhdg_solution trace = {.trace = job->psi[k]};
        means[k] = boxhdg_mean_trace(h, &trace, at->cell);
        to[1 + 3 * k] = means[k] * (taken - supply);
        to[2 + 3 * k] = fabs(means[k]) * (fabs(taken) + fabs(supply));
    }
    boxhdg_at_gather(at, s->trace, v);
    boxhdg_at_reduce(at, at->ends, u, r);
    reduce_fluxes(at, u, v, rq);
    for (int d = 0; d < h->grid.dim; d++)
        for (int side = 0; side < 2; side++) {
            double bound = 0.0;
            flux_through(at, s->trace, d, side, r, rq, flux, &bound);
            add_face(at, job, d, side, flux, bound / root, means, modes, to);
        }
    return FACET_OK;
}

/* <g, psi> over all Neumann sides, and the sum of the moduli over faces. */
static void take_data(const struct boxhdg *h, const double *neumann, const double *psi, double *total,
                      double *moduli) {
    const struct box_grid *g = &h->grid;
    for (int i = 0; i < 2 * g->dim; i++) {
        if (g->sides[i / 2][i % 2] != BOX_NEUMANN) continue;
        for (int64_t j = 0; j < g->n_cells / g->cells[i / 2]; j++) {
            int at[3];
            box_side_cell(g, i / 2, i % 2, j, at);
            const int64_t face = box_face(g, at, i / 2, i % 2) * h->face_size;
            double part = dot(h->face_size, neumann + face, psi + face);
            *total -= part;
            *moduli += fabs(part);
        }
    }
}

facet_status boxhdg_totals(const struct boxhdg *h, const struct boxhdg_solution *s, const double *neumann,
                           int whole, int n, double *const *psi, double *totals, double *roundings,
                           double *squares) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    struct total_job job = {.solution = s, .whole = whole, .n = n, .psi = psi};
    const int64_t size = 1 + 3 * (int64_t)n;
    double *sums = NULL; /* as of a cell, but for the squares of moduli; then the data, and their moduli */
    TRY(ALLOC(job.cells, g->n_cells * size));
    TRY(CALLOC(sums, size + 2 * (int64_t)n));
    int64_t scratch =
        3 * boxhdg_pairs_size(h) + 2 * (h->face_size + BOX_SLACK) + h->cell_size + BOX_SLACK + n;
    TRY(boxhdg_for_cells(h, 0, scratch, total_work, &job));
    for (int64_t c = 0; c < g->n_cells; c++)
        for (int64_t i = 0; i < size; i++)
            sums[i] +=
                i % 3 == 2 ? job.cells[c * size + i] * job.cells[c * size + i] : job.cells[c * size + i];
    for (int k = 0; k < n && whole && neumann != NULL; k++)
        take_data(h, neumann, psi[k], &sums[size + k], &sums[size + n + k]);
    if (g->part != NULL) TRY(team_reduce(g->part->team, TEAM_SUM, (int)size + 2 * n, sums));
    squares[n] = sums[0];
    for (int k = 0; k < n; k++) {
        totals[k] = sums[1 + 3 * k] + sums[size + k];
        roundings[k] = DBL_EPSILON * (sqrt(sums[2 + 3 * k]) + sums[size + n + k]);
        squares[k] = sums[3 + 3 * k];
    }
done:
    base_free(&job.cells);
    base_free(&sums);
    return status;
}
