/* Fields at points, and errors against an exact solution. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/work.h"
#include "poly/jacobi.h"

/* ------------------------------------------------------------------------------------- evaluation */

/* The basis of u*. */
static facet_status tabulate_legendre(const void *user, int kind, int n, const double *x, double *values,
                                      double *slopes) {
    const struct boxhdg *h = user;
    int P = h->n + 1;
    (void)kind;
    for (int q = 0; q < n; q++) {
        jacobi_orthonormal(P - 1, 0.0, 0.0, 2.0 * x[q] - 1.0, values + q * P, slopes + q * P);
        for (int i = 0; i < P; i++) slopes[q * P + i] *= 2.0;
    }
    return FACET_OK;
}

/* u* in the Legendre basis, q* = -k grad u*; u and q in the modes of the lines. */
static void describe(const struct boxhdg *h, const struct boxhdg_solution *s, enum boxhdg_field field,
                     int64_t cell, struct box_function *f) {
    int star = field == BOX_U_STAR || field == BOX_Q_STAR, at[3];
    const int64_t place = boxhdg_solution_place(s, cell);
    *f = (struct box_function){.dim = h->grid.dim,
                               .n = h->n + star,
                               .components = boxhdg_field_components(h, field),
                               .tabulate = star ? tabulate_legendre : boxhdg_tabulate,
                               .user = h};
    box_cell_at(&h->grid, cell, at);
    for (int d = 0; !star && d < f->dim; d++) f->kinds[d] = h->column_line[d][at[d]];
    for (int c = 0; c < f->components; c++) {
        f->from[c] = star             ? s->star + place * box_power(h->n + 1, f->dim)
                     : field == BOX_U ? s->u + place * h->cell_size
                                      : s->q + (c * s->n_cells + place) * h->cell_size;
        f->slope[c] = field == BOX_Q_STAR ? c : -1;
        f->factor[c] =
            field == BOX_Q_STAR ? -box_conductivity(&h->grid, cell) / h->grid.widths[c][at[c]] : 1.0;
    }
}

static facet_status check_field(const struct boxhdg_solution *s, enum boxhdg_field field) {
    if ((field == BOX_U_STAR || field == BOX_Q_STAR) && s->star == NULL)
        return base_fail(FACET_ERROR_INPUT, "u* and q* are there only after post-processing");
    return FACET_OK;
}

facet_status boxhdg_evaluate(const struct boxhdg *h, const struct boxhdg_solution *s, enum boxhdg_field field,
                             int64_t cell, const struct box_places *places, double *values) {
    facet_status status = FACET_OK;
    struct box_function f;
    TRY(check_field(s, field));
    describe(h, s, field, cell, &f);
    TRY(box_evaluate(&f, places, values));
done:
    return status;
}

struct numbers {
    const struct boxhdg *h;
    const double *u;
};

static facet_status numbers_of(const void *user, int64_t cell, const int at[3], double *numbers) {
    const struct numbers *from = user;
    (void)at;
    memcpy(numbers, from->u + cell * from->h->cell_size, (size_t)from->h->cell_size * sizeof *numbers);
    return FACET_OK;
}

facet_status boxhdg_extremes(const struct boxhdg *h, const struct boxhdg_solution *s, int n, const double *x,
                             double *extremes) {
    facet_status status = FACET_OK;
    const struct numbers from = {h, s->u};
    double *values = NULL;
    TRY(boxhdg_tabulate_all(h, n, x, &values));
    TRY(box_extremes(&h->grid, (const int *const *)h->column_line, h->n, n, values, numbers_of, &from, 0.0,
                     extremes));
done:
    base_free(&values);
    return status;
}

/* Of the derivative of a Legendre polynomial the ends are left, sqrt((2 i + 1) / 2) and the same with the
 * sign of its parity; of the others, along tangents, the constant. */
static double star_flux(const struct boxhdg_at *at, int d, const double *star) {
    const struct boxhdg *h = at->h;
    int64_t step = box_power(h->n + 1, d);
    double sum = 0.0;
    for (int i = 1; i <= h->n; i += 2) sum += 2.0 * box_legendre_end(i) * star[i * step];
    return -at->k * at->inverse[d] * sum * sqrt((double)(1 << (h->grid.dim - 1)));
}

facet_status boxhdg_integrate(const struct boxhdg *h, const struct boxhdg_solution *s,
                              enum boxhdg_field field, int64_t cell, double *integrals) {
    facet_status status = FACET_OK;
    struct boxhdg_at at;
    TRY(check_field(s, field));
    boxhdg_at_find(h, s, cell, &at);
    int64_t star = at.cell * box_power(h->n + 1, h->grid.dim);
    for (int c = 0; c < boxhdg_field_components(h, field); c++) {
        const double *modes =
            (field == BOX_Q ? s->q + c * s->n_cells * h->cell_size : s->u) + at.cell * h->cell_size;
        integrals[c] = at.V * (field == BOX_U_STAR   ? s->star[star] * sqrt((double)(1 << h->grid.dim))
                               : field == BOX_Q_STAR ? star_flux(&at, c, s->star + star)
                                                     : box_weigh(at.extent, at.moments, modes));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------- errors */

struct error_job {
    const struct boxhdg *h;
    const struct boxhdg_solution *solution;
    const struct field *exact;
    struct box_samples modes, legendre; /* at the points of one rule */
    double *faces;                      /* squares of the trace, cell by cell */
};

static void describe_all(const void *user, int64_t cell, const int at[3], double *coefficients,
                         struct box_function fields[]) {
    static const enum boxhdg_field names[] = {BOX_U, BOX_Q, BOX_U_STAR, BOX_Q_STAR};
    const struct error_job *job = user;
    (void)at, (void)coefficients;
    for (int f = 0; f < (job->solution->star != NULL ? 4 : 2); f++)
        describe(job->h, job->solution, names[f], cell, &fields[f]);
}

static facet_status face_error(const struct boxhdg_at *at, const struct error_job *job, int d, int side,
                               double *scratch) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = at->h;
    const struct box_samples *s = &job->modes;
    int dim = h->grid.dim, n = s->n_points, counts[3], to[3] = {n, n, n}, from[3] = {h->n, h->n, h->n};
    int points = (int)box_power(n, dim - 1);
    double *exact = scratch, *modes = exact + points, *other = modes + points + BOX_SLACK, end = side,
           lines[3][BOX_MAX_LINE], square = 0.0;
    const double *T[3] = {NULL}, *at_points[3];
    for (int t = 0, count = 0; t < dim; t++) {
        counts[t] = t == d ? 1 : n;
        at_points[t] = t == d ? &end : s->x;
        if (t != d) T[count++] = s->values + (int64_t)at->lines[t] * n * h->n;
    }
    struct expr_grid grid = box_cell_lines(&h->grid, at->at, counts, at_points, lines);
    TRY(base_wrap(field_eval_grid(job->exact, &grid, exact), "exact"));
    memcpy(modes, job->solution->trace + at->faces[d][side], (size_t)h->face_size * sizeof *modes);
    const double *values = box_contract_all(dim - 1, to, from, T, modes, other);
    for (int i = 0; i < points; i++) {
        double error = values[i] - exact[i], weight = dim > 1 ? s->w[i % n] : 1.0;
        square += weight * (dim > 2 ? s->w[i / n] : 1.0) * error * error;
    }
    job->faces[at->cell] += boxhdg_at_area(at, d) * (double)(1 << (dim - 1)) * square;
done:
    return status;
}

/* Each face once: by the cell above it, or below at the end of the whole. */
static facet_status faces_work(const struct boxhdg_at *at, double *scratch, void *user) {
    facet_status status = FACET_OK;
    for (int d = 0; d < at->h->grid.dim; d++) {
        TRY(face_error(at, user, d, 0, scratch));
        if (boxhdg_at_boundary(at, d, 1) && at->h->grid.sides[d][1] != BOX_SEAM)
            TRY(face_error(at, user, d, 1, scratch));
    }
done:
    return status;
}

facet_status boxhdg_measure_errors(const struct boxhdg *h, const struct boxhdg_solution *s,
                                   const struct field *exact, struct box_errors *errors) {
    facet_status status = FACET_OK;
    struct error_job job = {.h = h, .solution = s, .exact = exact};
    const struct box_measure measure = {.grid = &h->grid,
                                        .exact = exact,
                                        .n_fields = s->star != NULL ? 4 : 2,
                                        .samples = {&job.modes, &job.modes, &job.legendre, &job.legendre},
                                        .describe = describe_all,
                                        .user = &job};
    double L2[BOX_MAX_FIELDS] = {0.0, 0.0, -1.0, -1.0}, largest, trace = 0.0;
    int n = h->n + 1 + BOX_EXTRA_POINTS;
    TRY(boxhdg_samples_create(h, n, &job.modes));
    TRY(box_samples_create(h->n + 1, n, 1, tabulate_legendre, h, &job.legendre));
    TRY(CALLOC(job.faces, h->grid.n_cells));
    TRY(box_measure(&measure, L2, &largest));
    int64_t points = box_power(n, h->grid.dim - 1);
    TRY(boxhdg_for_cells(h, 0, 3 * points + 2 * BOX_SLACK, faces_work, &job));
    for (int64_t c = 0; c < h->grid.n_cells; c++) trace += job.faces[c];
    trace = box_all(&h->grid, TEAM_SUM, trace);
    *errors = (struct box_errors){L2[0], largest, L2[1], L2[2], L2[3], sqrt(trace)};
done:
    box_samples_destroy(&job.modes);
    box_samples_destroy(&job.legendre);
    base_free(&job.faces);
    return status;
}
