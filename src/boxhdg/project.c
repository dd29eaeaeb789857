/* Data of a problem onto the modes of cells and faces, and traces from a given u. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"
#include "poly/rule.h"

/* Gauss points on [0, 1] and, for every line, the matrix (n x n_points) of the weighted modes at them. */
struct projector {
    int n_points;
    double *x, *w, *matrices;
};

static void projector_destroy(struct projector *p) {
    base_free(&p->x);
    base_free(&p->w);
    base_free(&p->matrices);
}

static facet_status projector_create(const struct boxhdg *h, int n_points, struct projector *p) {
    facet_status status = FACET_OK;
    int n = h->n;
    double *values = NULL;
    *p = (struct projector){.n_points = n_points};
    TRY(ALLOC(p->x, n_points));
    TRY(ALLOC(p->w, n_points));
    TRY(ALLOC(p->matrices, (int64_t)h->n_lines * n * n_points));
    TRY(ALLOC(values, n * n_points));
    TRY(rule_gauss_jacobi(n_points, 0.0, 0.0, p->x, p->w));
    for (int l = 0; l < h->n_lines; l++) {
        double *T = p->matrices + (int64_t)l * n * n_points;
        TRY(box_line_evaluate(&h->lines[l], n_points, p->x, values, NULL));
        for (int m = 0; m < n; m++)
            for (int q = 0; q < n_points; q++) T[m * n_points + q] = p->w[q] * values[q * n + m];
    }
    for (int q = 0; q < n_points; q++) p->x[q] = 0.5 * (1.0 + p->x[q]);
done:
    base_free(&values);
    return status;
}

static const double *matrix_of(const struct boxhdg_at *at, const struct projector *p, int d) {
    int line = at->h->column_line[d][at->at[d]];
    return p->matrices + (int64_t)line * at->h->n * p->n_points;
}

/* ------------------------------------------------------------------------------------- cells */

struct project_job {
    const struct projector *projector;
    const struct box_given *given; /* the source is projected, or what it is of the exact solution */
    int integrals;                 /* (f, mode) instead of coefficients */
    double *modes;
};

/* Points, values, gradients and Hessians, and two arrays to contract in. */
static int64_t project_scratch(const struct boxhdg *h, int n_points, int dim) {
    int all = h->grid.dim;
    return box_power(n_points, dim) * (2 * all + all * all) + 2 * (box_power(n_points, dim) + BOX_SLACK);
}

static facet_status project_work(const struct boxhdg_at *at, double *scratch, void *user) {
    facet_status status = FACET_OK;
    const struct project_job *job = user;
    const struct boxhdg *h = at->h;
    int dim = h->grid.dim, n = job->projector->n_points, from[3] = {n, n, n}, to[3] = {h->n, h->n, h->n};
    int64_t count = box_power(n, dim);
    double *values = scratch, *other = values + count + BOX_SLACK, *points = other + count + BOX_SLACK;
    const double *T[3] = {NULL};
    const double *const x[3] = {job->projector->x, job->projector->x, job->projector->x};
    box_cell_points(&h->grid, at->at, from, x, points);
    TRY(box_source_values(&h->grid, at->cell, job->given, (int)count, points, points + count * dim, values));
    for (int d = 0; d < dim; d++) T[d] = matrix_of(at, job->projector, d);
    const double *modes = box_contract_all(dim, to, from, T, values, other);
    double scale = job->integrals ? at->V : 1.0;
    for (int64_t i = 0; i < h->cell_size; i++) job->modes[at->cell * h->cell_size + i] = scale * modes[i];
done:
    return status;
}

static facet_status project_cells(const struct boxhdg *h, int n_points, struct project_job job) {
    facet_status status = FACET_OK;
    struct projector projector = {0};
    job.projector = &projector;
    TRY(projector_create(h, n_points, &projector));
    TRY(boxhdg_for_cells(h, 0, project_scratch(h, n_points, h->grid.dim), project_work, &job));
done:
    projector_destroy(&projector);
    return status;
}

facet_status boxhdg_project_source(const struct boxhdg *h, const struct box_given *given, double *loads) {
    struct project_job job = {.given = given, .integrals = 1, .modes = loads};
    if (given->source != NULL || given->exact != NULL) return project_cells(h, h->n + BOX_EXTRA_POINTS, job);
    memset(loads, 0, (size_t)h->n_volume * sizeof *loads);
    return FACET_OK;
}

facet_status boxhdg_project(const struct boxhdg *h, const struct field *field, double *modes) {
    const struct box_given given = {.source = field};
    return project_cells(h, h->n + BOX_EXTRA_POINTS, (struct project_job){.given = &given, .modes = modes});
}

/* ------------------------------------------------------------------------------------- the boundary */

struct boundary_job {
    const struct projector *projector;
    const struct box_given *data;
    double *dirichlet, *neumann;
};

static facet_status boundary_face(const struct boxhdg_at *at, const struct boundary_job *job, int d, int side,
                                  double *scratch) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = at->h;
    int dim = h->grid.dim, n = job->projector->n_points, fixed = h->grid.sides[d][side] == BOX_DIRICHLET,
        count = (int)box_power(n, dim - 1);
    int counts[3], from[3] = {n, n, n}, to[3] = {h->n, h->n, h->n};
    double *values = scratch, *other = values + count + BOX_SLACK, *points = other + count + BOX_SLACK,
           end = side, *target = fixed ? job->dirichlet : job->neumann;
    const double *T[3] = {NULL}, *x[3];
    if (target == NULL) return FACET_OK;
    if (job->data->boundary[d][side] == NULL && job->data->exact == NULL) {
        memset(target + at->faces[d][side], 0, (size_t)h->face_size * sizeof *target);
        return FACET_OK;
    }
    for (int t = 0, tangent = 0; t < dim; t++) {
        counts[t] = t == d ? 1 : n;
        x[t] = t == d ? &end : job->projector->x;
        if (t != d) T[tangent++] = matrix_of(at, job->projector, t);
    }
    box_cell_points(&h->grid, at->at, counts, x, points);
    TRY(box_side_values(&h->grid, at->cell, job->data, d, side, count, points, points + count * dim, values));
    const double *modes = box_contract_all(dim - 1, to, from, T, values, other);
    double scale = fixed ? 1.0 : boxhdg_at_area(at, d);
    for (int64_t i = 0; i < h->face_size; i++) target[at->faces[d][side] + i] = scale * modes[i];
done:
    return status;
}

static facet_status boundary_work(const struct boxhdg_at *at, double *scratch, void *user) {
    facet_status status = FACET_OK;
    for (int d = 0; d < at->h->grid.dim; d++)
        for (int side = 0; side < 2; side++)
            if (boxhdg_at_boundary(at, d, side)) TRY(boundary_face(at, user, d, side, scratch));
done:
    return status;
}

facet_status boxhdg_project_boundary(const struct boxhdg *h, const struct box_given *data, double *dirichlet,
                                     double *neumann) {
    facet_status status = FACET_OK;
    struct projector projector = {0};
    struct boundary_job job = {&projector, data, dirichlet, neumann};
    int n_points = h->n + BOX_EXTRA_POINTS;
    TRY(projector_create(h, n_points, &projector));
    TRY(boxhdg_for_cells(h, 0, project_scratch(h, n_points, h->grid.dim - 1), boundary_work, &job));
done:
    projector_destroy(&projector);
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
    double *u = scratch, *other = u + size + BOX_SLACK, *r = other + size + BOX_SLACK;
    double c[3][BOX_MAX_DEGREE + 1], factor[3] = {0.0};
    const double *const rows[3] = {c[0], c[1], c[2]};
    memcpy(u, job->u + at->cell * size, (size_t)size * sizeof *u);
    const double *modes = box_forward(h->grid.dim, at->tables, u, other);
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
    boxhdg_at_reduce(at, rows, modes, r);
    boxhdg_at_scatter(at, r, factor, job->trace);
    return FACET_OK;
}

facet_status boxhdg_hybridize(const struct boxhdg *h, const double *u, const double *dirichlet,
                              const double *neumann, double *uhat) {
    facet_status status = FACET_OK;
    struct hybridize_job job = {.u = u, .neumann = neumann, .trace = uhat};
    TRY(CALLOC(job.taus, h->grid.n_faces));
    memset(uhat, 0, (size_t)h->n_trace * sizeof *uhat);
    TRY(boxhdg_for_cells(h, 1, 2 * (h->cell_size + BOX_SLACK) + boxhdg_pairs_size(h), hybridize_work, &job));
    for (int64_t f = 0; f < h->grid.n_faces; f++)
        for (int64_t i = 0; i < h->face_size; i++) uhat[f * h->face_size + i] /= job.taus[f];
    boxhdg_fix(h, dirichlet, uhat);
done:
    base_free(&job.taus);
    return status;
}

/* ------------------------------------------------------------------------------------- constants */

double boxhdg_mean(const struct boxhdg *h, const double *u) {
    double integral = 0.0, volume = 0.0;
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        integral += at.V * boxhdg_weigh(at.extent, at.moments, u + c * h->cell_size);
        volume += at.V * (double)(1 << h->grid.dim);
    }
    return integral / volume;
}

facet_status boxhdg_field_mean(const struct boxhdg *h, const struct field *field, double *mean) {
    facet_status status = FACET_OK;
    double *modes = NULL;
    TRY(ALLOC(modes, h->n_volume));
    TRY(boxhdg_project(h, field, modes));
    *mean = boxhdg_mean(h, modes);
done:
    base_free(&modes);
    return status;
}

/* Coefficients of the function 1 are the products of the moments. */
static void add_constant(const int extent[3], const double *const moments[3], double by, double *u) {
    for (int k = 0; k < extent[2]; k++)
        for (int j = 0; j < extent[1]; j++)
            for (int i = 0; i < extent[0]; i++)
                u[((int64_t)k * extent[1] + j) * extent[0] + i] +=
                    by * moments[0][i] * moments[1][j] * moments[2][k];
}

static void add_trace_constant(const struct boxhdg_at *at, int d, int side, double by, double *trace) {
    const double one = 1.0, *moments[3] = {at->moments[0], at->moments[1], at->moments[2]};
    int extent[3] = {at->extent[0], at->extent[1], at->extent[2]};
    extent[d] = 1;
    moments[d] = &one;
    add_constant(extent, moments, by, trace + at->faces[d][side]);
}

/* Every face once: by the cell above it, or by the last one. */
static void add_to_trace(const struct boxhdg *h, double by, double *trace) {
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        for (int d = 0; d < h->grid.dim; d++) {
            add_trace_constant(&at, d, 0, by, trace);
            if (boxhdg_at_boundary(&at, d, 1)) add_trace_constant(&at, d, 1, by, trace);
        }
    }
}

void boxhdg_constant(const struct boxhdg *h, double *trace) {
    memset(trace, 0, (size_t)h->n_trace * sizeof *trace);
    add_to_trace(h, 1.0, trace);
    boxhdg_fix(h, NULL, trace);
}

void boxhdg_shift(const struct boxhdg *h, double by, struct boxhdg_solution *s) {
    int64_t star = box_power(h->n + 1, h->grid.dim);
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        add_constant(at.extent, at.moments, by, s->u + c * h->cell_size);
        if (s->star != NULL) s->star[c * star] += by * sqrt((double)(1 << h->grid.dim));
    }
    add_to_trace(h, by, s->trace);
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
        double inside = boxhdg_weigh(at.extent, at.moments, loads + c * h->cell_size);
        sum += inside;
        *scale += fabs(inside);
        volume += at.V * (double)(1 << g->dim);
        for (int d = 0; neumann != NULL && d < g->dim; d++)
            for (int side = 0; side < 2; side++) {
                if (g->sides[d][side] != BOX_NEUMANN || !boxhdg_at_boundary(&at, d, side)) continue;
                double through = boxhdg_at_integral(&at, d, neumann + at.faces[d][side]);
                sum += through;
                *scale += fabs(through);
            }
    }
    *shift = sum / volume;
    *scale /= volume;
    for (int64_t c = 0; c < g->n_cells; c++) {
        struct boxhdg_at at;
        boxhdg_at_set(h, c, &at);
        add_constant(at.extent, at.moments, -*shift * at.V, loads + c * h->cell_size);
    }
}
