/* Fluxes through faces, and the balance of every cell. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"

static double face_tau(const struct boxhdg_at *at, int d) {
    return at->k * at->inverse[d] * boxhdg_line(at->h, d, at->at[d])->rho;
}

void boxhdg_line_ends(const struct box_table *t, double *c, double squares[2]) {
    int n = t->n, even = t->n_even;
    memset(c, 0, (size_t)n * sizeof *c);
    squares[0] = squares[1] = 0.0;
    for (int i = 0; i < n; i++) {
        int odd = i >= even, others = odd ? even : n - even, begin = odd ? 0 : even;
        const double *row = t->flux[odd] + (odd ? i - even : i) * others;
        squares[odd] += t->ends[i] * t->ends[i];
        for (int j = 0; j < others; j++) c[begin + j] += t->ends[i] * row[j];
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

int boxhdg_given_flux(const struct boxhdg *h, const double *neumann, int64_t cell, int d, int side,
                      double *flux) {
    struct boxhdg_at at;
    boxhdg_at_set(h, cell, &at);
    if (h->grid.sides[d][side] != BOX_NEUMANN || !boxhdg_at_boundary(&at, d, side)) return 0;
    *flux = neumann != NULL ? -boxhdg_at_integral(&at, d, neumann + at.faces[d][side]) : 0.0;
    return 1;
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

struct balance_job {
    const struct boxhdg_solution *solution;
    double *imbalances; /* n_cells */
    double *fluxes;     /* n_cells x 6 */
    double largest;     /* integral of |q.n| + tau (|u| + |uhat|) over the faces of a cell, so far */
};

/* The integral over a face of |values| of modes; work: two arrays of face_size + slack, the first being
 * filled. */
static double absolute(const struct boxhdg_at *at, int d, double *modes, double *work) {
    const struct boxhdg *h = at->h;
    const struct box_table *const tables[3] = {at->tables[d == 0], at->tables[d == 2 ? 1 : 2]};
    int dim = h->grid.dim, n0 = dim > 1 ? h->n : 1, n1 = dim > 2 ? h->n : 1;
    double sum = 0.0;
    const double *values = box_backward(dim - 1, tables, modes, work);
    for (int j = 0; j < n1; j++, values += n0) {
        double row = 0.0;
        for (int i = 0; i < n0; i++) row += (dim > 1 ? h->weights[i] : 1.0) * fabs(values[i]);
        sum += (dim > 2 ? h->weights[j] : 1.0) * row;
    }
    return sum * boxhdg_at_area(at, d);
}

/* q_d at the ends of every direction d, as boxhdg_at_reduce leaves it, from u and v without q itself
 * (boxhdg_at_flux): the ends times D' are numbers of a line. */
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

/* What makes the flux through a face of a cell, in modes; r, rq: u and q_d at the ends, as boxhdg_at_reduce
 * leaves them. */
enum part { PART_Q, PART_U, PART_TRACE };
static void take_modes(const struct boxhdg_at *at, const double *trace, int d, int side, enum part part,
                       const double *r, const double *rq, double *modes) {
    int64_t size = at->h->face_size;
    const double *even = (part == PART_Q ? rq : r) + 2 * d * size;
    double sign = side ? 1.0 : -1.0;
    for (int64_t i = 0; i < size; i++)
        modes[i] = part == PART_TRACE ? trace[at->faces[d][side] + i] : even[i] + sign * even[size + i];
}

/* The integral of the modulus of the parts of all faces of a cell. */
static double size_of_flux(const struct boxhdg_at *at, const double *trace, const double *r, const double *rq,
                           double *work) {
    double sum = 0.0, *other = work + at->h->face_size + BOX_SLACK;
    for (int d = 0; d < at->h->grid.dim; d++)
        for (int side = 0; side < 2; side++)
            for (enum part part = PART_Q; part <= PART_TRACE; part++) {
                take_modes(at, trace, d, side, part, r, rq, work);
                sum += (part == PART_Q ? 1.0 : face_tau(at, d)) * absolute(at, d, work, other);
            }
    return sum;
}

/* The largest size only is wanted: it is computed where its bound by the norm (which the coefficients of
 * orthonormal modes have at no cost) is not below one that is known. */
static void keep_largest(struct balance_job *job, const struct boxhdg_at *at, double bound, const double *r,
                         const double *rq, double *work) {
    double known;
#pragma omp atomic read
    known = job->largest;
    if (bound <= known) return;
    double size = size_of_flux(at, job->solution->trace, r, rq, work);
#pragma omp critical(boxhdg_balance)
    if (size > job->largest) {
#pragma omp atomic write
        job->largest = size;
    }
}

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

static facet_status balance_work(const struct boxhdg_at *at, double *scratch, void *user) {
    struct balance_job *job = user;
    const struct boxhdg_solution *s = job->solution;
    const struct boxhdg *h = at->h;
    int64_t size = h->cell_size, pairs = boxhdg_pairs_size(h);
    double *v = scratch, *r = v + pairs, *rq = r + pairs, *u = rq + pairs, *work = u + size + BOX_SLACK;
    double bound = 0.0;
    memcpy(u, s->u + at->cell * size, (size_t)size * sizeof *u);
    double balance = box_weigh(at->extent, at->moments, s->loads + at->cell * size);
    if (at->reaction != 0.0) balance -= at->reaction * box_weigh(at->extent, at->moments, u);
    boxhdg_at_gather(at, s->trace, v);
    boxhdg_at_reduce(at, at->ends, u, r);
    reduce_fluxes(at, u, v, rq);
    for (int d = 0; d < h->grid.dim; d++)
        for (int side = 0; side < 2; side++) {
            double flux = flux_through(at, s->trace, d, side, r, rq, work, &bound);
            job->fluxes[6 * at->cell + 2 * d + side] = flux;
            balance -= flux;
        }
    job->imbalances[at->cell] = balance;
    keep_largest(job, at, (1.0 + 1e-12) * bound, r, rq, work);
    return FACET_OK;
}

/* The largest difference of the fluxes that the two cells of a face have for it. */
static double largest_jump(const struct box_grid *g, const double *fluxes) {
    double worst = 0.0;
#pragma omp parallel for num_threads(base_threads_for(g->n_cells)) reduction(max : worst)
    for (int64_t c = 0; c < g->n_cells; c++) {
        int at[3];
        box_cell_at(g, c, at);
        for (int d = 0; d < g->dim; d++) { /* against the next cell */
            int next[3] = {at[0], at[1], at[2]};
            if (++next[d] == g->cells[d]) {
                if (g->sides[d][1] != BOX_PERIODIC) continue;
                next[d] = 0;
            }
            worst = fmax(worst, fabs(fluxes[6 * c + 2 * d + 1] + fluxes[6 * box_cell(g, next) + 2 * d]));
        }
    }
    return worst;
}

/* The same across seams: outward fluxes of both cells of a face sum to nothing. */
static facet_status add_seam_jumps(const struct boxhdg *h, const double *fluxes, double *worst) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    double *sums = NULL;
    if (h->seam == NULL) return FACET_OK;
    TRY(CALLOC(sums, g->n_faces));
    for (int64_t c = 0; c < g->n_cells; c++) {
        int at[3];
        box_cell_at(g, c, at);
        for (int i = 0; i < 2 * g->dim; i++)
            if (g->sides[i / 2][i % 2] == BOX_SEAM && at[i / 2] == (i % 2) * (g->cells[i / 2] - 1))
                sums[box_face(g, at, i / 2, i % 2)] = fluxes[6 * c + i];
    }
    TRY(boxhdg_add_seam_of_faces(h, sums));
    for (int64_t f = 0; f < g->n_faces; f++) *worst = fmax(*worst, fabs(sums[f]));
done:
    base_free(&sums);
    return status;
}

facet_status boxhdg_conservation(const struct boxhdg *h, const struct boxhdg_solution *s, double *imbalance) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    struct balance_job job = {.solution = s};
    double worst = 0.0;
    TRY(ALLOC(job.imbalances, g->n_cells));
    TRY(ALLOC(job.fluxes, 6 * g->n_cells));
    int64_t scratch = 3 * boxhdg_pairs_size(h) + 3 * (h->face_size + BOX_SLACK) + h->cell_size + BOX_SLACK;
    TRY(boxhdg_for_cells(h, 0, scratch, balance_work, &job));
    for (int64_t c = 0; c < g->n_cells; c++) worst = fmax(worst, fabs(job.imbalances[c]));
    worst = fmax(worst, largest_jump(g, job.fluxes));
    TRY(add_seam_jumps(h, job.fluxes, &worst));
    worst = box_all(g, TEAM_MAX, worst);
    job.largest = box_all(g, TEAM_MAX, job.largest);
    *imbalance = job.largest > 0.0 ? worst / job.largest : 0.0;
done:
    base_free(&job.imbalances);
    base_free(&job.fluxes);
    return status;
}
