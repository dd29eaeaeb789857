/* Fields at points, errors against an exact solution, and the balance of every cell. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"
#include "poly/jacobi.h"
#include "poly/rule.h"

/* The 1D functions at the points of a lattice, by direction: modes (points x n), and the Legendre basis of u*
 * with its derivatives (points x (n + 1)). */
struct lattice {
    int counts[3];
    const double *modes[3], *legendre[3], *slopes[3];
};

static int64_t largest_size(const struct boxhdg *h, const int counts[3]) {
    int64_t size = 1;
    for (int d = 0; d < h->grid.dim; d++) size *= counts[d] > h->n + 1 ? counts[d] : h->n + 1;
    return size + BOX_SLACK;
}

/* One component of a field into values[i * components]. work: twice largest_size. */
static void evaluate_component(const struct boxhdg_at *at, const struct boxhdg_solution *s,
                               enum boxhdg_field field, int c, const struct lattice *lattice, double *work,
                               int components, double *values) {
    const struct boxhdg *h = at->h;
    int star = field == BOX_U_STAR || field == BOX_Q_STAR, dim = h->grid.dim, m = h->n + star;
    int counts[3] = {m, m, m};
    int64_t size = box_power(m, dim), n = 1;
    const double *T[3] = {NULL};
    const double *from = (star ? s->star : field == BOX_U ? s->u : s->q + c * h->n_volume) + at->cell * size;
    double factor = field == BOX_Q_STAR ? -at->k * at->inverse[c] : 1.0;
    for (int d = 0; d < dim; d++) {
        T[d] = !star                           ? lattice->modes[d]
               : field == BOX_Q_STAR && d == c ? lattice->slopes[d]
                                               : lattice->legendre[d];
        n *= lattice->counts[d];
    }
    memcpy(work, from, (size_t)size * sizeof *work);
    const double *result =
        box_contract_all(dim, lattice->counts, counts, T, work, work + largest_size(h, lattice->counts));
    for (int64_t i = 0; i < n; i++) values[i * components] = factor * result[i];
}

static void evaluate_field(const struct boxhdg_at *at, const struct boxhdg_solution *s,
                           enum boxhdg_field field, const struct lattice *lattice, double *work,
                           double *values) {
    int components = boxhdg_field_components(at->h, field);
    for (int c = 0; c < components; c++)
        evaluate_component(at, s, field, c, lattice, work, components, values + c);
}

static void legendre_at(int P, int n, const double *x, double *values, double *slopes) {
    for (int q = 0; q < n; q++) jacobi_orthonormal(P - 1, 0.0, 0.0, x[q], values + q * P, slopes + q * P);
}

/* ------------------------------------------------------------------------------------- evaluation */

/* Tables for n points in each direction of a cell, x[d*n + i] in [-1, 1]; *store owns them. */
static facet_status lattice_create(const struct boxhdg_at *at, int n, const double *x,
                                   struct lattice *lattice, double **store) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = at->h;
    int P = h->n + 1;
    int64_t step = (int64_t)n * (h->n + 2 * P);
    TRY(ALLOC(*store, 3 * step));
    for (int d = 0; d < h->grid.dim; d++) {
        double *modes = *store + d * step, *legendre = modes + (int64_t)n * h->n;
        TRY(box_line_evaluate(boxhdg_line(h, d, at->at[d]), n, x + d * n, modes, NULL));
        legendre_at(P, n, x + d * n, legendre, legendre + (int64_t)n * P);
        lattice->counts[d] = n;
        lattice->modes[d] = modes;
        lattice->legendre[d] = legendre;
        lattice->slopes[d] = legendre + (int64_t)n * P;
    }
done:
    return status;
}

static facet_status check_field(const struct boxhdg_solution *s, enum boxhdg_field field) {
    if ((field == BOX_U_STAR || field == BOX_Q_STAR) && s->star == NULL)
        return base_fail(FACET_ERROR_INPUT, "u* and q* are there only after post-processing");
    return FACET_OK;
}

facet_status boxhdg_evaluate_product(const struct boxhdg *h, const struct boxhdg_solution *s,
                                     enum boxhdg_field field, int64_t cell, const int counts[3],
                                     const double *const x[3], double *values) {
    facet_status status = FACET_OK;
    struct boxhdg_at at;
    struct lattice lattice = {.counts = {1, 1, 1}};
    double *store = NULL, *work = NULL, *reference = NULL;
    int n = 1, dim = h->grid.dim;
    TRY(check_field(s, field));
    boxhdg_at_set(h, cell, &at);
    for (int d = 0; d < dim; d++) n = counts[d] > n ? counts[d] : n;
    TRY(ALLOC(reference, dim * n)); /* shorter directions are filled up; these rows are not read */
    for (int d = 0; d < dim; d++)
        for (int i = 0; i < n; i++) reference[d * n + i] = i < counts[d] ? 2.0 * x[d][i] - 1.0 : 0.0;
    TRY(lattice_create(&at, n, reference, &lattice, &store));
    for (int d = 0; d < dim; d++) lattice.counts[d] = counts[d];
    TRY(CALLOC(work, 2 * largest_size(h, lattice.counts)));
    evaluate_field(&at, s, field, &lattice, work, values);
done:
    base_free(&store);
    base_free(&work);
    base_free(&reference);
    return status;
}

/* Of the derivative of a Legendre polynomial the ends are left, sqrt((2 i + 1) / 2) and the same with the
 * sign of its parity; of the others, along tangents, the constant. */
static double star_flux(const struct boxhdg_at *at, int d, const double *star) {
    const struct boxhdg *h = at->h;
    int64_t step = box_power(h->n + 1, d);
    double sum = 0.0;
    for (int i = 1; i <= h->n; i += 2) sum += 2.0 * sqrt(i + 0.5) * star[i * step];
    return -at->k * at->inverse[d] * sum * sqrt((double)(1 << (h->grid.dim - 1)));
}

facet_status boxhdg_integrate(const struct boxhdg *h, const struct boxhdg_solution *s,
                              enum boxhdg_field field, int64_t cell, double *integrals) {
    facet_status status = FACET_OK;
    struct boxhdg_at at;
    int64_t star = cell * box_power(h->n + 1, h->grid.dim);
    TRY(check_field(s, field));
    boxhdg_at_set(h, cell, &at);
    for (int c = 0; c < boxhdg_field_components(h, field); c++) {
        const double *modes = (field == BOX_Q ? s->q + c * h->n_volume : s->u) + cell * h->cell_size;
        integrals[c] = at.V * (field == BOX_U_STAR   ? s->star[star] * sqrt((double)(1 << h->grid.dim))
                               : field == BOX_Q_STAR ? star_flux(&at, c, s->star + star)
                                                     : boxhdg_weigh(at.extent, at.moments, modes));
    }
done:
    return status;
}

facet_status boxhdg_evaluate(const struct boxhdg *h, const struct boxhdg_solution *s, enum boxhdg_field field,
                             int64_t cell, int n, const double *xi, double *values) {
    facet_status status = FACET_OK;
    struct boxhdg_at at;
    struct lattice all = {.counts = {1, 1, 1}}, point = {.counts = {1, 1, 1}};
    double *store = NULL, *work = NULL, *reference = NULL;
    int dim = h->grid.dim, P = h->n + 1;
    TRY(check_field(s, field));
    boxhdg_at_set(h, cell, &at);
    TRY(ALLOC(reference, dim * n));
    for (int i = 0; i < n; i++)
        for (int d = 0; d < dim; d++) reference[d * n + i] = 2.0 * xi[i * dim + d] - 1.0;
    TRY(lattice_create(&at, n, reference, &all, &store));
    TRY(CALLOC(work, 2 * largest_size(h, point.counts)));
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < dim; d++) {
            point.modes[d] = all.modes[d] + (int64_t)i * h->n;
            point.legendre[d] = all.legendre[d] + (int64_t)i * P;
            point.slopes[d] = all.slopes[d] + (int64_t)i * P;
        }
        evaluate_field(&at, s, field, &point, work, values + (int64_t)i * boxhdg_field_components(h, field));
    }
done:
    base_free(&store);
    base_free(&work);
    base_free(&reference);
    return status;
}

/* ------------------------------------------------------------------------------------- errors */

struct cell_errors {
    double u, u_max, q, u_star, q_star, trace;
};

/* One Gauss rule for everything; modes: for every line, n_points x n. */
struct error_job {
    const struct boxhdg_solution *solution;
    const struct field *exact;
    int n_points;
    double *x, *w, *modes, *legendre, *slopes;
    struct cell_errors *cells;
};

static void error_job_destroy(struct error_job *job) {
    base_free(&job->x);
    base_free(&job->w);
    base_free(&job->modes);
    base_free(&job->legendre);
    base_free(&job->slopes);
    base_free(&job->cells);
}

static facet_status error_job_create(const struct boxhdg *h, struct error_job *job) {
    facet_status status = FACET_OK;
    int n = job->n_points = h->n + 1 + BOX_EXTRA_POINTS, P = h->n + 1;
    TRY(ALLOC(job->x, n));
    TRY(ALLOC(job->w, n));
    TRY(ALLOC(job->modes, (int64_t)h->n_lines * n * h->n));
    TRY(ALLOC(job->legendre, n * P));
    TRY(ALLOC(job->slopes, n * P));
    TRY(CALLOC(job->cells, h->grid.n_cells));
    TRY(rule_gauss_jacobi(n, 0.0, 0.0, job->x, job->w));
    for (int l = 0; l < h->n_lines; l++)
        TRY(box_line_evaluate(&h->lines[l], n, job->x, job->modes + (int64_t)l * n * h->n, NULL));
    legendre_at(P, n, job->x, job->legendre, job->slopes);
done:
    return status;
}

static const double *modes_of(const struct boxhdg_at *at, const struct error_job *job, int d) {
    return job->modes + (int64_t)at->h->column_line[d][at->at[d]] * job->n_points * at->h->n;
}

/* Point i of n^count: coordinates along `directions`, and its weight on the reference cell or face. */
static double place(const struct boxhdg_at *at, const struct error_job *job, int count, const int *directions,
                    int64_t i, double *point) {
    const struct box_grid *g = &at->h->grid;
    double weight = 1.0;
    for (int t = 0; t < count; t++, i /= job->n_points) {
        int d = directions[t], q = (int)(i % job->n_points);
        double low = g->coordinates[d][at->at[d]], half = 0.5 * g->widths[d][at->at[d]];
        point[d] = low + half * (1.0 + job->x[q]);
        weight *= job->w[q];
    }
    return weight;
}

static facet_status face_error(const struct boxhdg_at *at, const struct error_job *job, int d, int side,
                               double *scratch, struct cell_errors *e) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = at->h;
    int dim = h->grid.dim, n = job->n_points, directions[2], counts[3] = {n, n, n};
    int from[3] = {h->n, h->n, h->n}, points = (int)box_power(n, dim - 1);
    double *x = scratch, *exact = x + points * dim, *weights = exact + points;
    double *modes = weights + points, *other = modes + points + BOX_SLACK;
    const struct box_table *tables[3];
    const double *T[3] = {NULL};
    boxhdg_at_tangents(at, d, tables, directions);
    for (int i = 0; i < points; i++) {
        x[i * dim + d] = h->grid.coordinates[d][at->at[d] + side];
        weights[i] = place(at, job, dim - 1, directions, i, x + i * dim);
    }
    for (int t = 0; t < dim - 1; t++) T[t] = modes_of(at, job, directions[t]);
    TRY(field_eval(job->exact, points, dim, x, exact));
    memcpy(modes, job->solution->trace + at->faces[d][side], (size_t)h->face_size * sizeof *modes);
    const double *values = box_contract_all(dim - 1, counts, from, T, modes, other);
    for (int i = 0; i < points; i++) {
        double error = values[i] - exact[i];
        e->trace += boxhdg_at_area(at, d) * weights[i] * error * error;
    }
done:
    return status;
}

static double squares(int64_t points, int components, const double *weights, const double *a,
                      const double *b) {
    double sum = 0.0;
    for (int64_t i = 0; i < points; i++)
        for (int c = 0; c < components; c++) {
            double e = a[i * components + c] - b[i * components + c];
            sum += weights[i] * e * e;
        }
    return sum;
}

static int64_t error_scratch(const struct boxhdg *h, int n_points) {
    int dim = h->grid.dim;
    return box_power(n_points, dim) * (3 * dim + 3) + 2 * (box_power(n_points, dim) + BOX_SLACK);
}

static facet_status error_work(const struct boxhdg_at *at, double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct error_job *job = user;
    const struct boxhdg *h = at->h;
    struct cell_errors *e = &job->cells[at->cell];
    int dim = h->grid.dim, n = job->n_points, directions[3] = {0, 1, 2};
    int64_t points = box_power(n, dim);
    double *x = scratch, *exact = x + points * dim, *gradients = exact + points;
    double *weights = gradients + points * dim, *values = weights + points, *work = values + points * dim;
    struct lattice lattice = {.counts = {n, n, n}};
    for (int d = 0; d < dim; d++) {
        lattice.modes[d] = modes_of(at, job, d);
        lattice.legendre[d] = job->legendre;
        lattice.slopes[d] = job->slopes;
    }
    for (int64_t i = 0; i < points; i++) weights[i] = at->V * place(at, job, dim, directions, i, x + i * dim);
    TRY(field_eval_jet(job->exact, 0, (int)points, dim, x, exact, gradients, NULL));
    for (int64_t i = 0; i < points * dim; i++) gradients[i] *= -at->k;
    evaluate_field(at, job->solution, BOX_U, &lattice, work, values);
    e->u = squares(points, 1, weights, values, exact);
    for (int64_t i = 0; i < points; i++) e->u_max = fmax(e->u_max, fabs(values[i] - exact[i]));
    evaluate_field(at, job->solution, BOX_Q, &lattice, work, values);
    e->q = squares(points, dim, weights, values, gradients);
    if (job->solution->star != NULL) {
        evaluate_field(at, job->solution, BOX_U_STAR, &lattice, work, values);
        e->u_star = squares(points, 1, weights, values, exact);
        evaluate_field(at, job->solution, BOX_Q_STAR, &lattice, work, values);
        e->q_star = squares(points, dim, weights, values, gradients);
    }
    for (int d = 0; d < dim; d++) { /* each face once: by the cell above it, or below at the end */
        TRY(face_error(at, job, d, 0, scratch, e));
        if (boxhdg_at_boundary(at, d, 1)) TRY(face_error(at, job, d, 1, scratch, e));
    }
done:
    return status;
}

facet_status boxhdg_measure_errors(const struct boxhdg *h, const struct boxhdg_solution *s,
                                   const struct field *exact, struct boxhdg_errors *errors) {
    facet_status status = FACET_OK;
    struct error_job job = {.solution = s, .exact = exact};
    struct cell_errors sum = {0};
    TRY(error_job_create(h, &job));
    TRY(base_wrap(boxhdg_for_cells(h, 0, error_scratch(h, job.n_points), error_work, &job), "exact"));
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        const struct cell_errors *e = &job.cells[c];
        sum.u += e->u;
        sum.u_max = fmax(sum.u_max, e->u_max);
        sum.q += e->q;
        sum.u_star += e->u_star;
        sum.q_star += e->q_star;
        sum.trace += e->trace;
    }
    *errors = (struct boxhdg_errors){.u_L2 = sqrt(sum.u),
                                     .u_Linf = sum.u_max,
                                     .q_L2 = sqrt(sum.q),
                                     .u_star_L2 = s->star != NULL ? sqrt(sum.u_star) : -1.0,
                                     .q_star_L2 = s->star != NULL ? sqrt(sum.q_star) : -1.0,
                                     .trace_L2 = sqrt(sum.trace)};
done:
    error_job_destroy(&job);
    return status;
}
