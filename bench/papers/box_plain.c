/* HDG on a box cell by cell, in plain modes on the host. */
#include "bench/papers/box_plain.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"

/* ------------------------------------------------------------------------------------- points and modes */

struct points_job {
    const double *from;
    double *to;
    int forward;
    struct box_samples samples; /* at the n Gauss points */
};

static facet_status points_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct points_job *job = user;
    const int64_t size = at->h->cell_size;
    const int dim = at->h->grid.dim, n = at->h->n, counts[3] = {n, n, n};
    const double *T[3];
    for (int d = 0; d < 3; d++)
        T[d] = (job->forward ? job->samples.weighted : job->samples.values) + (int64_t)at->lines[d] * n * n;
    memcpy(scratch, job->from + at->cell * size, (size_t)size * sizeof *scratch);
    const double *result = box_contract_all(dim, counts, counts, T, scratch, scratch + size + BOX_SLACK);
    const double factor = job->forward ? (double)(1 << dim) : 1.0; /* weights are those of [0, 1] */
    for (int64_t i = 0; i < size; i++) job->to[at->cell * size + i] = factor * result[i];
    return FACET_OK;
}

facet_status boxhdg_transform(const struct boxhdg *h, int to_points, const double *from, double *to) {
    struct points_job job = {.from = from, .to = to, .forward = !to_points};
    facet_status status = boxhdg_samples_create(h, h->n, &job.samples);
    if (status == FACET_OK)
        status = boxhdg_for_cells(h, 0, 2 * (h->cell_size + BOX_SLACK), points_work, &job);
    box_samples_destroy(&job.samples);
    return status;
}

/* ------------------------------------------------------------------------------------- right-hand side */

struct load_job {
    const double *loads;
    double *F;
};

/* u = (loads + sum of a_d b v_d^par) / Z; loads or v may be NULL (zero). */
static void solve_cell(const struct boxhdg_at *at, const double *loads, const double *v, double *u) {
    const int *n = at->extent;
    const int64_t size = at->h->face_size;
    int64_t i = 0, place[3];
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++)
            for (int x = 0; x < n[0]; x++, i++) {
                const int mode[3] = {x, y, z};
                double F = loads != NULL ? loads[i] : 0.0, Z = at->reaction;
                place[0] = (int64_t)z * n[1] + y;
                place[1] = (int64_t)z * n[0] + x;
                place[2] = (int64_t)y * n[0] + x;
                for (int d = 0; d < at->h->grid.dim; d++) {
                    const int m = mode[d];
                    Z += at->a[d] * at->eigenvalues[d][m];
                    if (v != NULL)
                        F += at->a[d] * at->b[d][m] * v[(2 * d + (m >= (n[d] + 1) / 2)) * size + place[d]];
                }
                u[i] = F / Z;
            }
}

static facet_status load_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct load_job *job = user;
    int64_t size = at->h->cell_size;
    double *u = scratch, *r = u + size + BOX_SLACK;
    solve_cell(at, job->loads + at->cell * size, NULL, u);
    boxhdg_at_reduce(at, at->b, u, r);
    boxhdg_at_scatter(at, r, at->a, job->F);
    return FACET_OK;
}

/* y += sign K x, cell by cell: y += sign (a gamma v - a R' Z^-1 R v). */
struct apply_job {
    double sign;
    const double *x;
    double *y;
};

static facet_status apply_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct apply_job *job = user;
    const struct boxhdg *h = at->h;
    const int64_t size = h->face_size;
    double *u = scratch, *v = u + h->cell_size + BOX_SLACK, *r = v + boxhdg_pairs_size(h), factor[3];
    boxhdg_at_gather(at, job->x, v);
    solve_cell(at, NULL, v, u);
    boxhdg_at_reduce(at, at->b, u, r);
    for (int d = 0; d < h->grid.dim; d++) {
        const double *gamma = boxhdg_line(h, d, at->at[d])->gamma;
        factor[d] = job->sign * at->a[d];
        for (int64_t i = 0; i < 2 * size; i++)
            r[2 * d * size + i] = gamma[i / size] * v[2 * d * size + i] - r[2 * d * size + i];
    }
    boxhdg_at_scatter(at, r, factor, job->y);
    return FACET_OK;
}

static facet_status add_applied(const struct boxhdg *h, double sign, const double *x, double *y) {
    struct apply_job job = {sign, x, y};
    return boxhdg_for_cells(h, 1, h->cell_size + BOX_SLACK + 2 * boxhdg_pairs_size(h), apply_work, &job);
}

facet_status boxhdg_apply(const struct boxhdg *h, const double *x, double *y) {
    facet_status status = FACET_OK;
    double *free = NULL;
    TRY(ALLOC(free, h->n_trace));
    memcpy(free, x, (size_t)h->n_trace * sizeof *free);
    boxhdg_add_dirichlet(h, NULL, free);
    memset(y, 0, (size_t)h->n_trace * sizeof *y);
    TRY(add_applied(h, 1.0, free, y));
    boxhdg_add_dirichlet(h, NULL, y);
    TRY(boxhdg_add_seam(h, y));
done:
    base_free(&free);
    return status;
}

/* What known traces contribute, moved to the right: F -= K dirichlet. */
static facet_status add_lift(const struct boxhdg *h, const double *dirichlet, double *F) {
    facet_status status = FACET_OK;
    double *extended = NULL;
    TRY(CALLOC(extended, h->n_trace));
    boxhdg_add_dirichlet(h, dirichlet, extended);
    TRY(add_applied(h, -1.0, extended, F));
done:
    base_free(&extended);
    return status;
}

/* Where a face of a side lies in vectors of the trace. */
static int64_t face_of_side(const struct boxhdg *h, int d, int side, int64_t i) {
    int at[3];
    box_side_cell(&h->grid, d, side, i, at);
    return box_face(&h->grid, at, d, side) * h->face_size;
}

static void add_neumann(const struct boxhdg *h, const double *neumann, double *F) {
    const struct box_grid *g = &h->grid;
    for (int s = 0; s < 2 * g->dim; s++)
        for (int64_t i = 0; g->sides[s / 2][s % 2] == BOX_NEUMANN && i < g->n_cells / g->cells[s / 2]; i++) {
            const int64_t first = face_of_side(h, s / 2, s % 2, i);
            for (int64_t m = first; m < first + h->face_size; m++) F[m] += neumann[m];
        }
}

facet_status boxhdg_condense_loads(const struct boxhdg *h, const double *loads, const double *dirichlet,
                                   const double *neumann, double *F) {
    facet_status status = FACET_OK;
    struct load_job job = {loads, F};
    memset(F, 0, (size_t)h->n_trace * sizeof *F);
    if (loads != NULL)
        TRY(boxhdg_for_cells(h, 1, h->cell_size + BOX_SLACK + boxhdg_pairs_size(h), load_work, &job));
    if (dirichlet != NULL) TRY(add_lift(h, dirichlet, F));
    if (neumann != NULL) add_neumann(h, neumann, F);
    boxhdg_add_dirichlet(h, NULL, F);
    TRY(boxhdg_add_seam(h, F));
done:
    return status;
}

facet_status boxhdg_load(const struct boxhdg *h, const double *f, const double *dirichlet,
                         const double *neumann, double *loads, double *F) {
    facet_status status = FACET_OK;
    memset(loads, 0, (size_t)h->n_volume * sizeof *loads);
    if (f != NULL) TRY(boxhdg_transform(h, 0, f, loads));
    for (int64_t c = 0; f != NULL && c < h->grid.n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        for (int64_t i = 0; i < h->cell_size; i++) loads[c * h->cell_size + i] *= at.V;
    }
    TRY(boxhdg_condense_loads(h, f != NULL ? loads : NULL, dirichlet, neumann, F));
done:
    return status;
}

struct recover_job {
    const double *loads, *trace;
    double *u;
};

static facet_status recover_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct recover_job *job = user;
    const int64_t place = at->cell * at->h->cell_size;
    boxhdg_at_gather(at, job->trace, scratch);
    solve_cell(at, job->loads + place, scratch, job->u + place);
    return FACET_OK;
}

facet_status boxhdg_recover(const struct boxhdg *h, const double *loads, double *uhat, double *u, double *q) {
    struct recover_job job = {.loads = loads, .trace = uhat, .u = u};
    struct boxhdg_solution s = {.n_cells = h->grid.n_cells, .trace = uhat, .u = u, .q = q};
    const facet_status status = boxhdg_for_cells(h, 0, boxhdg_pairs_size(h), recover_work, &job);
    return status == FACET_OK && q != NULL ? boxhdg_solution_find_q(h, &s) : status;
}

/* ------------------------------------------------------------------------------------- data */

struct project_job {
    struct box_samples samples;
    const struct box_given *given;
    double *loads;
};

static facet_status project_work(const struct boxhdg_at *at, double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct project_job *job = user;
    const struct boxhdg *h = at->h;
    double *modes, scale = at->V * (double)(1 << h->grid.dim);
    TRY(box_integrate(&job->samples, at->lines, &h->grid, job->given, at->cell, -1, 0, scratch, &modes));
    for (int64_t i = 0; i < h->cell_size; i++) job->loads[at->cell * h->cell_size + i] = scale * modes[i];
done:
    return status;
}

facet_status boxhdg_project_source(const struct boxhdg *h, const struct box_given *given, double *loads) {
    facet_status status = FACET_OK;
    struct project_job job = {.given = given, .loads = loads};
    memset(loads, 0, (size_t)h->n_volume * sizeof *loads);
    if (given->source == NULL && given->exact == NULL) return FACET_OK;
    TRY(boxhdg_samples_create(h, h->n + BOX_EXTRA_POINTS, &job.samples));
    TRY(boxhdg_for_cells(h, 0, box_integrate_room(&job.samples, h->grid.dim), project_work, &job));
done:
    box_samples_destroy(&job.samples);
    return status;
}

facet_status boxhdg_project_boundary(const struct boxhdg *h, const struct box_given *given, double *dirichlet,
                                     double *neumann) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    double *faces = NULL;
    for (int s = 0; s < 2 * g->dim; s++) {
        const int d = s / 2, side = s % 2;
        const enum box_side kind = g->sides[d][side];
        double *to = kind == BOX_DIRICHLET ? dirichlet : kind == BOX_NEUMANN ? neumann : NULL;
        if (to == NULL) continue;
        TRY(ALLOC(faces, g->n_cells / g->cells[d] * h->face_size));
        TRY(boxhdg_project_side(h, given, d, side, faces));
        for (int64_t i = 0; i < g->n_cells / g->cells[d]; i++)
            memcpy(to + face_of_side(h, d, side, i), faces + i * h->face_size,
                   (size_t)h->face_size * sizeof *faces);
        base_free(&faces);
    }
done:
    base_free(&faces);
    return status;
}

/* ------------------------------------------------------------------------------------- constants */

double boxhdg_mean(const struct boxhdg *h, const double *u) {
    double integral = 0.0, volume = 0.0;
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        integral += at.V * box_weigh(at.extent, at.moments, u + c * h->cell_size);
        volume += at.V * (double)(1 << h->grid.dim);
    }
    return box_all(&h->grid, TEAM_SUM, integral) / box_all(&h->grid, TEAM_SUM, volume);
}

void boxhdg_shift(const struct boxhdg *h, double by, struct boxhdg_solution *s) {
    const double one = 1.0;
    int64_t star = box_power(h->n + 1, h->grid.dim);
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        box_add_products(at.extent, at.moments, by, s->u + c * h->cell_size);
        if (s->star != NULL) s->star[c * star] += by * sqrt((double)(1 << h->grid.dim));
        for (int d = 0; d < h->grid.dim; d++) { /* every face once */
            const double *moments[3] = {at.moments[0], at.moments[1], at.moments[2]};
            int extent[3] = {at.extent[0], at.extent[1], at.extent[2]};
            extent[d] = 1;
            moments[d] = &one;
            for (int side = 0; side <= boxhdg_at_boundary(&at, d, 1); side++)
                box_add_products(extent, moments, by, s->trace + at.faces[d][side]);
        }
    }
}

/* At least the modulus of the integral of f over a cell, and its rounding with it: f may change its sign
 * there. */
static double modulus(const struct boxhdg *h, const double *loads) {
    double square = 0.0;
    for (int64_t i = 0; i < h->cell_size; i++) square += loads[i] * loads[i];
    return sqrt(square * (double)(1 << h->grid.dim));
}

/* Neumann data are integrals already: their coefficient of the constant is what the moments make of them. */
void boxhdg_balance(const struct boxhdg *h, const double *neumann, double *loads, double *shift,
                    double *scale) {
    const struct box_grid *g = &h->grid;
    double sum = 0.0, volume = 0.0;
    *scale = 0.0;
    for (int64_t c = 0; c < g->n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        sum += box_weigh(at.extent, at.moments, loads + c * h->cell_size);
        *scale += modulus(h, loads + c * h->cell_size);
        volume += at.V * (double)(1 << g->dim);
        for (int d = 0; neumann != NULL && d < g->dim; d++)
            for (int side = 0; side < 2; side++) {
                if (g->sides[d][side] != BOX_NEUMANN || !boxhdg_at_boundary(&at, d, side)) continue;
                double through = boxhdg_at_integral(&at, d, neumann + at.faces[d][side]);
                sum += through;
                *scale += fabs(through);
            }
    }
    volume = box_all(g, TEAM_SUM, volume);
    *shift = box_all(g, TEAM_SUM, sum) / volume;
    *scale = box_all(g, TEAM_SUM, *scale) / volume;
    for (int64_t c = 0; c < g->n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        box_add_products(at.extent, at.moments, -*shift * at.V, loads + c * h->cell_size);
    }
}

/* ------------------------------------------------------------------------------------- errors */

struct error_job {
    const struct boxhdg *h;
    const struct boxhdg_solution *solution;
    const struct field *exact;
    struct box_samples modes; /* at the points of the rule */
    double *values, *points, *jets, *work, sums[5], most;
};

/* Squares of a field of a cell whose exact jets are there: values, then gradients. */
static void add_field(struct error_job *job, int f, double k, double volume, int64_t n) {
    const struct box_samples *rule = &job->modes;
    const int dim = job->h->grid.dim, components = f % 2 ? dim : 1;
    for (int64_t i = 0; i < n; i++) {
        double weight = volume;
        for (int64_t d = 0, rest = i; d < dim; d++, rest /= rule->n_points)
            weight *= rule->w[rest % rule->n_points];
        for (int c = 0; c < components; c++) {
            const double exact = f % 2 ? -k * job->jets[n + i * dim + c] : job->jets[i],
                         error = job->values[i * components + c] - exact;
            job->sums[f] += weight * error * error;
            if (f == 0) job->most = fmax(job->most, fabs(error));
        }
    }
}

static facet_status measure_cell(struct error_job *job, int64_t cell) {
    static const enum boxhdg_field names[] = {BOX_U, BOX_Q, BOX_U_STAR, BOX_Q_STAR};
    facet_status status = FACET_OK;
    const struct boxhdg *h = job->h;
    const struct box_grid *g = &h->grid;
    const int m = job->modes.n_points, counts[3] = {m, m, m};
    const double *const x[3] = {job->modes.x, job->modes.x, job->modes.x};
    const int64_t n = box_power(m, g->dim);
    double lines[3][BOX_MAX_LINE];
    int at[3];
    box_cell_at(g, cell, at);
    const struct expr_grid grid = box_cell_lines(g, at, counts, x, lines);
    expr_grid_points(&grid, job->points);
    TRY(field_eval_jet(job->exact, 0, (int)n, g->dim, job->points, job->jets, job->jets + n, NULL));
    for (int f = 0; f < (job->solution->star != NULL ? 4 : 2); f++) {
        TRY(boxhdg_evaluate(h, job->solution, names[f], cell, BOX_LATTICE(m, job->modes.x), job->values));
        add_field(job, f, box_conductivity(g, cell), box_cell_volume(g, at), n);
    }
done:
    return status;
}

static facet_status measure_face(struct error_job *job, const struct boxhdg_at *at, int d, int side) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = job->h;
    const struct box_samples *s = &job->modes;
    const int dim = h->grid.dim, n = s->n_points, to[3] = {n, n, n}, from[3] = {h->n, h->n, h->n};
    const double end = side, *T[3] = {NULL}, *x[3];
    double lines[3][BOX_MAX_LINE], square = 0.0;
    int counts[3];
    for (int t = 0, count = 0; t < dim; t++) {
        counts[t] = t == d ? 1 : n;
        x[t] = t == d ? &end : s->x;
        if (t != d) T[count++] = s->values + (int64_t)at->lines[t] * n * h->n;
    }
    const struct expr_grid grid = box_cell_lines(&h->grid, at->at, counts, x, lines);
    TRY(field_eval_grid(job->exact, &grid, job->jets));
    memcpy(job->values, job->solution->trace + at->faces[d][side],
           (size_t)h->face_size * sizeof *job->values);
    const double *values = box_contract_all(dim - 1, to, from, T, job->values, job->work);
    for (int64_t i = 0; i < box_power(n, dim - 1); i++) {
        const double error = values[i] - job->jets[i], weight = dim > 1 ? s->w[i % n] : 1.0;
        square += weight * (dim > 2 ? s->w[i / n] : 1.0) * error * error;
    }
    job->sums[4] += boxhdg_at_area(at, d) * (double)(1 << (dim - 1)) * square;
done:
    return status;
}

facet_status boxhdg_measure_errors(const struct boxhdg *h, const struct boxhdg_solution *s,
                                   const struct field *exact, struct box_errors *errors) {
    facet_status status = FACET_OK;
    struct error_job job = {.h = h, .solution = s, .exact = exact};
    const int m = h->n + 1 + BOX_EXTRA_POINTS, dim = h->grid.dim;
    const int64_t n = box_power(m, dim) + BOX_SLACK;
    TRY(boxhdg_samples_create(h, m, &job.modes));
    TRY(CALLOC(job.values, n * (3 * dim + 2)));
    job.points = job.values + n * dim;
    job.jets = job.points + n * dim;
    job.work = job.jets + n * (1 + dim);
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        TRY(measure_cell(&job, c));
        for (int d = 0; d < dim; d++)
            for (int side = 0; side <= boxhdg_at_boundary(&at, d, 1); side++)
                TRY(measure_face(&job, &at, d, side));
    }
    const int star = s->star != NULL;
    *errors = (struct box_errors){.u_L2 = sqrt(job.sums[0]),
                                  .u_Linf = job.most,
                                  .q_L2 = sqrt(job.sums[1]),
                                  .u_star_L2 = star ? sqrt(job.sums[2]) : -1.0,
                                  .q_star_L2 = star ? sqrt(job.sums[3]) : -1.0,
                                  .trace_L2 = sqrt(job.sums[4])};
done:
    base_free(&job.values);
    box_samples_destroy(&job.modes);
    return status;
}

/* ------------------------------------------------------------------------------------- the solve */

facet_status boxhdg_solver_solve(struct boxhdg_solver *solver, const double *F, double *uhat,
                                 enum boxhdg_guess guess, const struct solve_control *control,
                                 struct solve_report *report) {
    facet_status status = FACET_OK, solved;
    struct vector *there, *solution;
    const struct boxhdg_lanes *lanes = boxhdg_solver_lanes(solver, &there, &solution);
    TRY(boxhdg_lanes_pack(lanes, BOXHDG_RESIDUAL, F, there));
    if (guess != BOXHDG_FROM_ZERO) TRY(boxhdg_lanes_pack(lanes, BOXHDG_UNKNOWN, uhat, solution));
    solved = boxhdg_solver_solve_lanes(solver, guess, control, report);
    if (solved != FACET_OK && solved != FACET_NOT_CONVERGED) TRY(solved);
    TRY(boxhdg_lanes_unpack(lanes, BOXHDG_UNKNOWN, solution, uhat));
    if (solved == FACET_OK) TRY(boxhdg_solver_find_uncertainty(solver));
    status = solved;
done:
    return status;
}
