/* Fields at points, errors against the exact solution, and the balance of every cell. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

/* The points of the geometry, drawn towards the middle of the cell by hardly more than rounding: on its
 * border an expression that jumps from cell to cell has the value of this cell there. */
#define DRAWN 1e-11
static const double *inner_points(struct local *l, int n) {
    const struct mesh_block *block = &l->hdg->data.mesh->blocks[l->block];
    int dim = l->hdg->data.mesh->dim;
    const double *nodes = block->nodes + (int64_t)l->cell * block->n_nodes * dim;
    for (int d = 0; d < dim; d++) {
        double middle = 0.0;
        for (int i = 0; i < block->n_nodes; i++) middle += nodes[i * dim + d] / block->n_nodes;
        for (int p = 0; p < n; p++)
            l->jets[p * dim + d] = l->geometry.x[p * dim + d] + DRAWN * (middle - l->geometry.x[p * dim + d]);
    }
    return l->jets;
}

/* -K grad w at the points of a table, given the geometry there; w: N coefficients. */
static facet_status gradient_flux(struct local *l, const struct hdg_table *table, int N, const double *w,
                                  double *values) {
    int dim = table->dim, n = table->n;
    facet_status status =
        local_conductivity(l, local_region(&l->hdg->data, l->block, l->cell), n, inner_points(l, n), l->K);
    if (status != FACET_OK) return local_place(status, l);
    for (int p = 0; p < n; p++) {
        double reference[3], gradient[3];
        for (int b = 0; b < dim; b++)
            reference[b] = cblas_ddot(N, table->grad + ((int64_t)b * n + p) * table->N, 1, w, 1);
        for (int a = 0; a < dim; a++) {
            gradient[a] = 0.0;
            for (int b = 0; b < dim; b++)
                gradient[a] += l->geometry.inverse[(p * dim + b) * dim + a] * reference[b];
        }
        for (int a = 0; a < dim; a++) {
            values[p * dim + a] = 0.0;
            for (int b = 0; b < dim; b++) values[p * dim + a] -= l->K[(p * dim + a) * dim + b] * gradient[b];
        }
    }
    return FACET_OK;
}

static facet_status evaluate(struct local *l, const struct hdg_solution *s, enum hdg_field field,
                             const struct hdg_table *table, double *values) {
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    int dim = table->dim, block = l->block;
    if (field == HDG_Q_STAR)
        return gradient_flux(l, table, b->N_star, s->star[block] + (int64_t)l->cell * b->N_star, values);
    if (field == HDG_Q && l->hdg->data.scheme == HDG_CONDENSED)
        return gradient_flux(l, table, b->N, s->u[block] + (int64_t)l->cell * b->N, values);
    int components = field == HDG_Q ? dim : 1, N = field == HDG_U_STAR ? b->N_star : b->N;
    const double *from = field == HDG_U ? s->u[block] : field == HDG_Q ? s->q[block] : s->star[block];
    for (int c = 0; c < components; c++)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, table->n, N, 1.0, table->phi, table->N,
                    from + ((int64_t)l->cell * components + c) * N, 1, 0.0, values + c, components);
    return FACET_OK;
}

facet_status hdg_evaluate(const struct hdg *h, const struct hdg_solution *s, enum hdg_field field, int block,
                          int32_t cell, const struct hdg_table *table, double *values) {
    facet_status status = FACET_OK;
    struct local l = {.hdg = h, .block = block, .cell = cell};
    if (h->data.scheme == HDG_ELASTIC) {
        TRY(elastic_points_create(&l, table->n));
        hdg_cell_geometry(&h->space, block, cell, table, &l.geometry);
        TRY(elastic_evaluate(&l, s, field, table, NULL, l.geometry.x, values));
        goto done;
    }
    if (field == HDG_Q_STAR || (field == HDG_Q && h->data.scheme == HDG_CONDENSED)) {
        int dim = table->dim;
        TRY(hdg_geometry_create(table->n, dim, &l.geometry));
        TRY(ALLOC(l.K, table->n * dim * dim));
        TRY(ALLOC(l.values, table->n));
        TRY(ALLOC(l.jets, table->n * dim));
        hdg_cell_geometry(&h->space, block, cell, table, &l.geometry);
    }
    TRY(evaluate(&l, s, field, table, values));
done:
    local_destroy(&l);
    return status;
}

/* Squared norms of a cell's errors, and the maximum. */
struct cell_errors {
    double u, u_max, q[3], u_star, q_star[3], trace;
};
struct error_job {
    const struct hdg_solution *solution;
    struct cell_errors *cells;
};

/* Adds wJ |a - b|^2 by component. */
static void add_squares(int n, int components, const double *wJ, const double *a, const double *b,
                        double *sums) {
    for (int p = 0; p < n; p++)
        for (int c = 0; c < components; c++) {
            double e = a[p * components + c] - b[p * components + c];
            sums[c] += wJ[p] * e * e;
        }
}

/* u and -K grad u of the exact solution at the points of the geometry at hand: into exact, exact + n. */
static facet_status exact_values(struct local *l, int n, double *u, double *q) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    int dim = data->mesh->dim;
    double *grad = l->jets;
    TRY(base_wrap(field_eval_jet(data->exact, 0, n, dim, l->geometry.x, u, grad, NULL), "exact"));
    TRY(local_conductivity(l, local_region(data, l->block, l->cell), n, l->geometry.x, l->K));
    for (int p = 0; p < n; p++)
        for (int a = 0; a < dim; a++) {
            q[p * dim + a] = 0.0;
            for (int b = 0; b < dim; b++) q[p * dim + a] -= l->K[(p * dim + a) * dim + b] * grad[p * dim + b];
        }
done:
    return local_place(status, l);
}

/* The trace on a face of the cell at hand at point p of a face table. */
static double trace_at(const struct local *l, const struct hdg_solution *s, int face,
                       const struct hdg_face_table *table, int p) {
    const struct hdg *h = l->hdg;
    const struct mesh_block *block = &h->data.mesh->blocks[l->block];
    int64_t at = (int64_t)l->cell * h->space.blocks[l->block].n_faces + face;
    if (h->data.scheme == HDG_HYBRID)
        return cblas_ddot(table->m, table->psi + p * table->m, 1,
                          s->trace + h->trace.face_first[block->faces[at]], 1);
    int N = h->space.blocks[l->block].N;
    return cblas_ddot(N, table->side[face][block->orientations[at]].phi + (int64_t)p * N, 1,
                      s->u[l->block] + (int64_t)l->cell * N, 1);
}

double hdg_mean_trace(const struct hdg *h, const struct hdg_solution *s, int block, int32_t cell) {
    struct local l = {.hdg = h, .block = block, .cell = cell};
    const struct hdg_face_table *table = &h->space.blocks[block].face;
    double sum = 0.0;
    int n_faces = h->space.blocks[block].n_faces;
    for (int f = 0; f < n_faces; f++)
        for (int p = 0; p < table->rule.n; p++) sum += table->rule.w[p] * trace_at(&l, s, f, table, p);
    return sum / (n_faces * shape_measure(shape_face_shape(h->space.blocks[block].shape, 0)));
}

/* Each face is measured once, by its first cell. */
static facet_status trace_errors(struct local *l, const struct hdg_solution *s, struct cell_errors *e) {
    const struct hdg *h = l->hdg;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    const struct hdg_face_table *table = &b->norm_face;
    int dim = mesh->dim, n = table->rule.n;
    for (int f = 0; f < b->n_faces; f++) {
        int32_t face = mesh->blocks[l->block].faces[(int64_t)l->cell * b->n_faces + f];
        if (mesh->face_cells[2 * (int64_t)face] != mesh->blocks[l->block].first + l->cell ||
            mesh->face_locals[2 * (int64_t)face] != f)
            continue;
        hdg_face_geometry(&h->space, l->block, l->cell, f, table, &l->face_geometry, l->x, l->normal);
        facet_status status = field_eval(h->data.exact, n, dim, l->x, l->values);
        if (status != FACET_OK) return base_wrap(status, "exact");
        for (int p = 0; p < n; p++) {
            double area = cblas_dnrm2(dim, l->normal + p * dim, 1);
            double error = l->values[p] - trace_at(l, s, f, table, p);
            e->trace += area * error * error;
        }
    }
    return FACET_OK;
}

/* The squares of the errors of a field and of its flux at the points of a rule, and the largest of the first.
 */
static facet_status add_errors(struct local *l, const struct hdg_solution *s, const enum hdg_field fields[2],
                               const struct hdg_table *table, double *u_square, double *q_square,
                               double *u_max) {
    facet_status status = FACET_OK;
    int dim = l->hdg->data.mesh->dim, n = table->n;
    double *exact_u = l->jets + 4 * n, *exact_q = exact_u + n, *u = exact_q + 3 * n, *q = u + n;
    hdg_cell_geometry(&l->hdg->space, l->block, l->cell, table, &l->geometry);
    TRY(exact_values(l, n, exact_u, exact_q));
    TRY(evaluate(l, s, fields[0], table, u));
    TRY(evaluate(l, s, fields[1], table, q));
    add_squares(n, 1, l->geometry.wJ, u, exact_u, u_square);
    add_squares(n, dim, l->geometry.wJ, q, exact_q, q_square);
    for (int p = 0; p < n; p++) *u_max = fmax(*u_max, fabs(u[p] - exact_u[p]));
done:
    return status;
}

static facet_status error_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    static const enum hdg_field fields[2] = {HDG_U, HDG_Q}, stars[2] = {HDG_U_STAR, HDG_Q_STAR};
    const struct error_job *job = user;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    struct cell_errors *e = &job->cells[h->data.mesh->blocks[block].first + cell];
    double ignored = 0.0;
    *e = (struct cell_errors){0};
    l->block = block;
    l->cell = cell;
    TRY(add_errors(l, job->solution, fields, &b->norm, &e->u, e->q, &e->u_max));
    TRY(trace_errors(l, job->solution, e));
    if (job->solution->star[block] == NULL) goto done;
    TRY(add_errors(l, job->solution, stars, &b->norm_star, &e->u_star, e->q_star, &ignored));
done:
    return status;
}

facet_status hdg_measure_errors(const struct hdg *h, const struct hdg_solution *s,
                                struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    struct error_job job = {.solution = s};
    struct cell_errors sum = {0};
    int dim = h->data.mesh->dim;
    if (h->data.scheme == HDG_ELASTIC) return elastic_errors(h, s, errors);
    if (h->data.exact == NULL) return base_fail(FACET_ERROR_INPUT, "the exact solution is not known");
    TRY(ALLOC(job.cells, h->data.mesh->n_cells));
    TRY(local_for_all_cells(h, error_work, &job));
    for (int32_t c = 0; c < h->data.mesh->n_cells; c++) { /* one order of summation, whatever the threads */
        const struct cell_errors *e = &job.cells[c];
        sum.u += e->u;
        sum.u_max = fmax(sum.u_max, e->u_max);
        sum.u_star += e->u_star;
        sum.trace += e->trace;
        for (int a = 0; a < dim; a++) {
            sum.q[a] += e->q[a];
            sum.q_star[a] += e->q_star[a];
        }
    }
    int star = s->star[0] != NULL;
    *errors =
        (struct hdg_errors){.u_L2 = sqrt(sum.u),
                            .u_Linf = sum.u_max,
                            .q_L2 = sqrt(sum.q[0] + sum.q[1] + sum.q[2]),
                            .trace_L2 = sqrt(sum.trace),
                            .stress_L2 = -1.0,
                            .H_L2 = -1.0,
                            .p_L2 = -1.0,
                            .u_star_L2 = star ? sqrt(sum.u_star) : -1.0,
                            .q_star_L2 = star ? sqrt(sum.q_star[0] + sum.q_star[1] + sum.q_star[2]) : -1.0};
    for (int a = 0; a < dim; a++) {
        errors->q_component[a] = sqrt(sum.q[a]);
        errors->q_star_component[a] = sqrt(sum.q_star[a]);
    }
done:
    base_free(&job.cells);
    return status;
}

/* Integral of qhat.n = q.n + tau (u - uhat) over one face; absolute: of the moduli of its three terms, the
 * size against which rounding counts, also where the flux itself vanishes. */
static facet_status face_flux(struct local *l, const struct hdg_solution *s, int face, double *flux,
                              double *absolute) {
    const struct hdg *h = l->hdg;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int dim = mesh->dim, n = b->face.rule.n, N = b->N, m = b->m;
    int64_t at = (int64_t)l->cell * b->n_faces + face;
    const double *trace = s->trace + h->trace.face_first[mesh->blocks[l->block].faces[at]];
    const double *phi = b->face.side[face][mesh->blocks[l->block].orientations[at]].phi;
    const double *u = s->u[l->block] + (int64_t)l->cell * N, *q = s->q[l->block] + (int64_t)l->cell * N * dim;
    hdg_face_geometry(&h->space, l->block, l->cell, face, &b->face, &l->face_geometry, l->x, l->normal);
    facet_status status = local_tau(l, face, n, l->x, l->values);
    if (status != FACET_OK) return local_place(status, l);
    *flux = *absolute = 0.0;
    for (int p = 0; p < n; p++) {
        double inner = cblas_ddot(N, phi + p * N, 1, u, 1), through = 0.0;
        double outer = cblas_ddot(m, b->face.psi + p * m, 1, trace, 1);
        double weight = l->values[p] * cblas_dnrm2(dim, l->normal + p * dim, 1);
        for (int a = 0; a < dim; a++)
            through += l->normal[p * dim + a] * cblas_ddot(N, phi + p * N, 1, q + a * N, 1);
        *flux += through + weight * (inner - outer);
        *absolute += fabs(through) + weight * (fabs(inner) + fabs(outer));
    }
    return FACET_OK;
}

/* Integral of q.n, q = -K grad u, over one face, by the rule of the norms. */
static facet_status gradient_face_flux(struct local *l, const struct hdg_solution *s, int face,
                                       double *flux) {
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int64_t at = (int64_t)l->cell * b->n_faces + face;
    const struct hdg_table *side = &b->norm_face.side[face][h->data.mesh->blocks[l->block].orientations[at]];
    double *q = l->jets;
    hdg_face_geometry(&h->space, l->block, l->cell, face, &b->norm_face, &l->face_geometry, l->x, l->normal);
    hdg_cell_geometry(&h->space, l->block, l->cell, side, &l->geometry);
    facet_status status = gradient_flux(l, side, b->N, s->u[l->block] + (int64_t)l->cell * b->N, q);
    if (status == FACET_OK) *flux = cblas_ddot(side->n * side->dim, q, 1, l->normal, 1);
    return status;
}

facet_status hdg_face_flux(const struct hdg *h, const struct hdg_solution *s, int block, int32_t cell,
                           int face, double *flux) {
    facet_status status = FACET_OK;
    struct local l;
    double absolute;
    if (h->data.scheme == HDG_ELASTIC)
        return base_fail(FACET_ERROR_INPUT, "elasticity has tractions, no scalar flux");
    TRY(local_create(h, &l));
    if (h->data.scheme == HDG_CONDENSED) {
        l.block = block;
        l.cell = cell;
        TRY(gradient_face_flux(&l, s, face, flux));
        goto done;
    }
    TRY(local_begin(&l, block, cell));
    TRY(face_flux(&l, s, face, flux, &absolute));
done:
    local_destroy(&l);
    return status;
}

static facet_status balance_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct balance_job *job = user;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int64_t id = h->data.mesh->blocks[block].first + cell;
    double sum, through = 0.0, out = 0.0;
    int64_t lane = local_lane(cell, b->N);
    sum = job->solution->loads[block][lane] / b->source.phi[0]; /* the moment of 1 */
    TRY(local_begin(l, block, cell));
    for (int f = 0; f < b->n_faces; f++) {
        double flux, absolute;
        TRY(face_flux(l, job->solution, f, &flux, &absolute));
        job->fluxes[id * SHAPE_MAX_FACES + f] = flux;
        out += flux;
        through += absolute;
    }
    TRY(local_reaction(&h->data, b->cell.n, l->geometry.x, l->values));
    for (int p = 0; p < b->cell.n; p++)
        sum -= l->geometry.wJ[p] * l->values[p] *
               cblas_ddot(b->N, b->cell.phi + p * b->N, 1, job->solution->u[block] + (int64_t)cell * b->N, 1);
    job->cells[2 * id] = fabs(sum - out);
    job->cells[2 * id + 1] = through;
done:
    return status;
}

facet_status hdg_conservation(const struct hdg *h, const struct hdg_solution *s, double *imbalance) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    int n = h->data.scheme == HDG_ELASTIC ? mesh->dim : 1;
    struct balance_job job = {.solution = s};
    double worst = 0.0, scale = 0.0;
    *imbalance = -1.0;
    if (h->data.scheme == HDG_CONDENSED) return FACET_OK;
    TRY(ALLOC(job.cells, 2 * (int64_t)mesh->n_cells));
    TRY(ALLOC(job.fluxes, (int64_t)mesh->n_cells * SHAPE_MAX_FACES * n));
    TRY(local_for_all_cells(h, n > 1 ? elastic_balance_work : balance_work, &job));
    for (int64_t c = 0; c < mesh->n_cells; c++) {
        worst = fmax(worst, job.cells[2 * c]);
        scale = fmax(scale, job.cells[2 * c + 1]);
    }
    for (int64_t f = 0; f < mesh->n_faces; f++) {
        int64_t a = mesh->face_cells[2 * f], b = mesh->face_cells[2 * f + 1];
        if (b < 0) continue;
        const double *one = job.fluxes + (a * SHAPE_MAX_FACES + mesh->face_locals[2 * f]) * n;
        const double *other = job.fluxes + (b * SHAPE_MAX_FACES + mesh->face_locals[2 * f + 1]) * n;
        for (int c = 0; c < n; c++) worst = fmax(worst, fabs(one[c] + other[c]));
    }
    *imbalance = scale > 0.0 ? worst / scale : 0.0;
done:
    base_free(&job.cells);
    base_free(&job.fluxes);
    return status;
}
