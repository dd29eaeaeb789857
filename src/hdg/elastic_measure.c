/* Fields of elasticity at points, errors against the exact solution, tractions, and the balance of forces of
 * every cell. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

int hdg_has_field(const struct hdg *h, enum hdg_field field) {
    int elastic = h->data.scheme == HDG_ELASTIC, gradient = elastic && h->data.formulation == HDG_GRADIENT;
    switch (field) {
    case HDG_U:
        return 1;
    case HDG_U_STAR:
        return h->data.scheme == HDG_HYBRID || gradient;
    case HDG_Q:
        return !elastic;
    case HDG_Q_STAR:
        return h->data.scheme == HDG_HYBRID;
    case HDG_STRESS:
    case HDG_STRAIN:
    case HDG_VON_MISES:
        return elastic;
    default:
        return gradient;
    }
}

int hdg_field_components(const struct hdg *h, enum hdg_field field) {
    int dim = h->data.mesh->dim, elastic = h->data.scheme == HDG_ELASTIC;
    switch (field) {
    case HDG_U:
    case HDG_U_STAR:
        return elastic ? dim : 1;
    case HDG_Q:
    case HDG_Q_STAR:
        return dim;
    case HDG_STRESS:
    case HDG_STRAIN:
    case HDG_H:
        return dim * dim;
    case HDG_VORTICITY:
        return dim == 2 ? 1 : 3;
    default:
        return 1;
    }
}

/* values (n x components) = sum_j coefficients_cj functions_j. */
static void expand(int n, int components, int N, const double *functions, int row, const double *coefficients,
                   double *values) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, components, N, 1.0, functions, row, coefficients,
                N, 0.0, values, components);
}

/* ------------------------------------------------------------------------ tensors at one point */

/* Stress from H and p (gradient), p = -(mu + lambda) tr H. */
static void stress_of_gradient(int dim, double mu, double lambda, const double *H, double p, double *stress) {
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++)
            stress[a * dim + b] =
                mu * (H[a * dim + b] + H[b * dim + a]) - (a == b ? lambda / (mu + lambda) * p : 0.0);
}

static double trace_of(int dim, const double *tensor) {
    double sum = 0.0;
    for (int a = 0; a < dim; a++) sum += tensor[a * (dim + 1)];
    return sum;
}

static void strain_of_stress(int dim, double mu, double lambda, const double *stress, double *strain) {
    double spherical = lambda / (2.0 * mu + dim * lambda) * trace_of(dim, stress);
    for (int i = 0; i < dim * dim; i++)
        strain[i] = (stress[i] - (i % (dim + 1) == 0 ? spherical : 0.0)) / (2.0 * mu);
}

static double von_mises(const struct hdg_data *data, double mu, double lambda, const double *stress) {
    int dim = data->mesh->dim;
    double s[9] = {0}, sum = 0.0;
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++) s[a * 3 + b] = stress[a * dim + b];
    if (dim == 2 && data->plane == HDG_PLANE_STRAIN)
        s[8] = lambda / (2.0 * (mu + lambda)) * trace_of(dim, stress);
    double mean = (s[0] + s[4] + s[8]) / 3.0;
    for (int i = 0; i < 9; i++) {
        double e = s[i] - (i % 4 == 0 ? mean : 0.0);
        sum += e * e;
    }
    return sqrt(1.5 * sum);
}

static void vorticity_of(int dim, const double *H, double *values) {
    if (dim == 2) {
        values[0] = H[2] - H[1];
        return;
    }
    for (int a = 0; a < 3; a++) {
        int b = (a + 1) % 3, c = (a + 2) % 3;
        values[a] = H[c * 3 + b] - H[b * 3 + c];
    }
}

/* -------------------------------------------------------------------------------------- fields */

/* What is made of the flux tensor and p. */
static facet_status derived(struct local *l, const struct hdg_solution *s, enum hdg_field field,
                            const struct hdg_table *table, const double *compact, const double *x,
                            double *values) {
    const struct hdg *h = l->hdg;
    struct elastic_local *e = l->elastic;
    int dim = table->dim, n = table->n, N = h->elastic->blocks[l->block].N, size = dim * dim, row;
    int symmetric = h->data.formulation == HDG_SYMMETRIC;
    facet_status status =
        elastic_moduli(&h->data, local_region(&h->data, l->block, l->cell), n, x, e->mu, e->lambda);
    if (status != FACET_OK) return local_place(status, l);
    const double *phi = elastic_chi(l, table, compact, x, &row);
    expand(n, size, N, phi, row, s->q[l->block] + (int64_t)l->cell * size * N, e->values);
    for (int q = 0; q < n; q++) {
        double *tensor = e->values + q * size, stress[9], mu = e->mu[q], lambda = e->lambda[q];
        if (field == HDG_H) {
            memcpy(values + q * size, tensor, (size_t)size * sizeof *tensor);
        } else if (field == HDG_VORTICITY) {
            vorticity_of(dim, tensor, values + q * (dim == 2 ? 1 : 3));
        } else if (field == HDG_STRAIN && !symmetric) {
            for (int i = 0; i < size; i++)
                values[q * size + i] = 0.5 * (tensor[i] + tensor[i % dim * dim + i / dim]);
        } else if (field == HDG_STRAIN) {
            strain_of_stress(dim, mu, lambda, tensor, values + q * size);
        } else {
            if (symmetric)
                memcpy(stress, tensor, (size_t)size * sizeof *tensor);
            else
                stress_of_gradient(
                    dim, mu, lambda, tensor,
                    cblas_ddot(N, phi + (int64_t)q * row, 1, s->p[l->block] + (int64_t)l->cell * N, 1),
                    stress);
            if (field == HDG_VON_MISES)
                values[q] = von_mises(&h->data, mu, lambda, stress);
            else
                memcpy(values + q * size, stress, (size_t)size * sizeof *stress);
        }
    }
    return FACET_OK;
}

facet_status elastic_evaluate(struct local *l, const struct hdg_solution *s, enum hdg_field field,
                              const struct hdg_table *table, const double *compact, const double *x,
                              double *values) {
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int dim = table->dim, Nu = h->elastic->blocks[l->block].Nu, row;
    if (!hdg_has_field(h, field))
        return base_fail(FACET_ERROR_INPUT, "this formulation of elasticity has no such field");
    if (field == HDG_U) {
        const double *chi = elastic_chi(l, table, compact, x, &row);
        expand(table->n, dim, Nu, chi, row, s->u[l->block] + (int64_t)l->cell * dim * Nu, values);
    } else if (field == HDG_U_STAR) {
        expand(table->n, dim, b->N_star, table->phi, table->N,
               s->star[l->block] + (int64_t)l->cell * dim * b->N_star, values);
    } else if (field == HDG_P) {
        expand(table->n, 1, b->N, table->phi, table->N, s->p[l->block] + (int64_t)l->cell * b->N, values);
    } else {
        return derived(l, s, field, table, compact, x, values);
    }
    return FACET_OK;
}

/* -------------------------------------------------------------------------------------- errors */

/* Squared norms of a cell's errors, and the maximum. */
struct cell_errors {
    double u[3], u_max, stress, H[9], p, u_star[3], trace, trace_area[3];
};
struct error_job {
    const struct hdg_solution *solution;
    struct cell_errors *cells;
};

static void add_squares(int n, int components, const double *wJ, const double *a, const double *b,
                        double *sums, int step) {
    for (int p = 0; p < n; p++)
        for (int c = 0; c < components; c++) {
            double e = a[p * components + c] - b[p * components + c];
            sums[c * step] += wJ[p] * e * e;
        }
}

/* Each face is measured once, by its first cell. */
static facet_status trace_errors(struct local *l, const struct hdg_solution *s, struct cell_errors *e) {
    const struct hdg *h = l->hdg;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    const struct hdg_face_table *table = &b->norm_face;
    int dim = mesh->dim, n = table->rule.n;
    double *exact = l->values, *found = l->elastic->values;
    for (int f = 0; f < b->n_faces; f++) {
        int32_t face = mesh->blocks[l->block].faces[(int64_t)l->cell * b->n_faces + f];
        double sums[3] = {0}, total = 0.0;
        if (mesh->face_cells[2 * (int64_t)face] != mesh->blocks[l->block].first + l->cell ||
            mesh->face_locals[2 * (int64_t)face] != f)
            continue;
        hdg_face_geometry(&h->space, l->block, l->cell, f, table, &l->face_geometry, l->x, l->normal);
        facet_status status = field_eval(h->data.exact, n, dim, l->x, exact);
        if (status != FACET_OK) return base_wrap(status, "exact");
        expand(n, dim, b->m, table->psi, b->m, s->trace + h->trace.face_first[face], found);
        for (int p = 0; p < n; p++) {
            double area = copysign(cblas_dnrm2(dim, l->normal + p * dim, 1), table->rule.w[p]);
            total += area;
            add_squares(1, dim, &area, exact + p * dim, found + p * dim, sums, 1);
        }
        for (int a = 0; a < dim; a++) {
            e->trace += sums[a];
            e->trace_area[a] += total * sums[a];
        }
    }
    return FACET_OK;
}

/* u, H and the stress of the exact solution at the points of the geometry at hand; moduli too. */
struct exact_values {
    double *u, *H, *stress, *found, *scratch;
};
static facet_status evaluate_exact(struct local *l, int n, struct exact_values *v) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    struct elastic_local *e = l->elastic;
    int dim = data->mesh->dim;
    v->u = l->jets;
    v->H = v->u + n * dim;
    v->stress = v->H + n * dim * dim;
    v->found = v->stress + n * dim * dim;
    v->scratch = v->found + n * dim * dim;
    TRY(elastic_exact(data, n, l->geometry.x, v->scratch, v->u, v->H));
    TRY(elastic_moduli(data, local_region(data, l->block, l->cell), n, l->geometry.x, e->mu, e->lambda));
    for (int q = 0; q < n; q++)
        stress_of_gradient(dim, e->mu[q], e->lambda[q], v->H + q * dim * dim,
                           -(e->mu[q] + e->lambda[q]) * trace_of(dim, v->H + q * dim * dim),
                           v->stress + q * dim * dim);
done:
    return local_place(status, l);
}

static facet_status error_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct error_job *job = user;
    const struct hdg_solution *s = job->solution;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct elastic_table *norm = &h->elastic->blocks[block].norm;
    struct cell_errors *e = &job->cells[h->data.mesh->blocks[block].first + cell];
    int dim = h->data.mesh->dim, n = norm->table->n;
    const double *wJ = l->geometry.wJ, *x = l->geometry.x;
    struct exact_values v;
    *e = (struct cell_errors){0};
    l->block = block;
    l->cell = cell;
    hdg_cell_geometry(&h->space, block, cell, norm->table, &l->geometry);
    TRY(evaluate_exact(l, n, &v));
    TRY(elastic_evaluate(l, s, HDG_U, norm->table, norm->chi, x, v.found));
    add_squares(n, dim, wJ, v.found, v.u, e->u, 1);
    for (int p = 0; p < n; p++) {
        double square = 0.0;
        for (int a = 0; a < dim; a++)
            square += (v.found[p * dim + a] - v.u[p * dim + a]) * (v.found[p * dim + a] - v.u[p * dim + a]);
        e->u_max = fmax(e->u_max, sqrt(square));
    }
    TRY(elastic_evaluate(l, s, HDG_STRESS, norm->table, norm->chi, x, v.found));
    add_squares(n, dim * dim, wJ, v.found, v.stress, &e->stress, 0);
    TRY(trace_errors(l, s, e));
    if (h->data.formulation == HDG_SYMMETRIC) goto done;
    TRY(elastic_evaluate(l, s, HDG_H, norm->table, norm->chi, x, v.found));
    add_squares(n, dim * dim, wJ, v.found, v.H, e->H, 1);
    TRY(elastic_evaluate(l, s, HDG_P, norm->table, norm->chi, x, v.found));
    for (int p = 0; p < n; p++)
        v.stress[p] = -(l->elastic->mu[p] + l->elastic->lambda[p]) * trace_of(dim, v.H + p * dim * dim);
    add_squares(n, 1, wJ, v.found, v.stress, &e->p, 1);
    if (s->star[block] == NULL) goto done;
    hdg_cell_geometry(&h->space, block, cell, &b->norm_star, &l->geometry);
    TRY(evaluate_exact(l, b->norm_star.n, &v));
    TRY(elastic_evaluate(l, s, HDG_U_STAR, &b->norm_star, NULL, x, v.found));
    add_squares(b->norm_star.n, dim, wJ, v.found, v.u, e->u_star, 1);
done:
    return status;
}

facet_status elastic_errors(const struct hdg *h, const struct hdg_solution *s, struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    struct error_job job = {.solution = s};
    int dim = h->data.mesh->dim, gradient = h->data.formulation == HDG_GRADIENT, star = s->star[0] != NULL;
    double u = 0.0, u_star = 0.0, H = 0.0, stress = 0.0, p = 0.0, trace = 0.0;
    *errors = (struct hdg_errors){.q_L2 = -1.0, .q_star_L2 = -1.0};
    if (h->data.exact == NULL) return base_fail(FACET_ERROR_INPUT, "the exact solution is not known");
    TRY(ALLOC(job.cells, h->data.mesh->n_cells));
    TRY(local_for_all_cells(h, error_work, &job));
    for (int32_t c = 0; c < h->data.mesh->n_cells; c++) { /* one order of summation, whatever the threads */
        const struct cell_errors *e = &job.cells[c];
        errors->u_Linf = fmax(errors->u_Linf, e->u_max);
        stress += e->stress;
        p += e->p;
        trace += e->trace;
        for (int a = 0; a < dim; a++) {
            errors->u_component[a] += e->u[a];
            errors->u_star_component[a] += e->u_star[a];
            errors->trace_area_component[a] += e->trace_area[a];
        }
        for (int i = 0; i < dim * dim; i++) errors->H_component[i] += e->H[i];
    }
    for (int a = 0; a < dim; a++) {
        u += errors->u_component[a];
        u_star += errors->u_star_component[a];
        errors->u_component[a] = sqrt(errors->u_component[a]);
        errors->u_star_component[a] = sqrt(errors->u_star_component[a]);
        errors->trace_area_component[a] = sqrt(errors->trace_area_component[a]);
    }
    for (int i = 0; i < dim * dim; i++) {
        H += errors->H_component[i];
        errors->H_component[i] = sqrt(errors->H_component[i]);
    }
    errors->u_L2 = sqrt(u);
    errors->u_star_L2 = gradient && star ? sqrt(u_star) : -1.0;
    errors->stress_L2 = sqrt(stress);
    errors->H_L2 = gradient ? sqrt(H) : -1.0;
    errors->p_L2 = gradient ? sqrt(p) : -1.0;
    errors->trace_L2 = sqrt(trace);
done:
    base_free(&job.cells);
    return status;
}

/* ----------------------------------------------------------------------------------- tractions */

/* Of the cell at hand (after elastic_begin): integral over a face of the flux that is balanced in every cell
 * (natural), or of the traction; absolute: of the moduli of its terms, the size against which rounding
 * counts. Both dim numbers. */
static facet_status face_force(struct local *l, const struct hdg_solution *s, int face, int natural,
                               double *force, double *absolute) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct mesh_block *block = &h->data.mesh->blocks[l->block];
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    const struct elastic_block *eb = &h->elastic->blocks[l->block];
    int dim = h->data.mesh->dim, n = eb->face->rule.n, N = eb->N, m = b->m, row;
    int gradient = h->data.formulation == HDG_GRADIENT, size = dim * dim;
    int64_t at = (int64_t)l->cell * b->n_faces + face;
    const double *chi, *p = gradient ? s->p[l->block] + (int64_t)l->cell * N : NULL;
    double *u = l->jets, *uhat = u + n * dim, *tensor = uhat + n * dim, *lambda = tensor + n * size,
           *mu = lambda + n;
    TRY(elastic_face(l, face, &chi, &row));
    expand(n, dim, eb->Nu, chi, row, s->u[l->block] + (int64_t)l->cell * dim * eb->Nu, u);
    expand(n, dim, m, eb->face->psi, m, s->trace + h->trace.face_first[block->faces[at]], uhat);
    expand(n, size, N, chi, row, s->q[l->block] + (int64_t)l->cell * size * N, tensor);
    TRY(elastic_moduli(&h->data, local_region(&h->data, l->block, l->cell), n, l->x, mu, lambda));
    memset(force, 0, (size_t)dim * sizeof *force);
    memset(absolute, 0, (size_t)dim * sizeof *absolute);
    for (int q = 0; q < n; q++) {
        double *H = tensor + q * size, stress[9];
        const double *N_q = l->normal + q * dim;
        double weight = l->values[q] * cblas_dnrm2(dim, N_q, 1);
        double pressure = gradient ? cblas_ddot(N, chi + (int64_t)q * row, 1, p, 1) : 0.0;
        if (gradient && !natural)
            stress_of_gradient(dim, mu[q], lambda[q], H, pressure, stress);
        else
            for (int i = 0; i < size; i++)
                stress[i] = gradient ? mu[q] * H[i] - (i % (dim + 1) == 0 ? pressure : 0.0) : H[i];
        for (int a = 0; a < dim; a++) {
            double through = cblas_ddot(dim, stress + a * dim, 1, N_q, 1);
            force[a] += through - weight * (u[q * dim + a] - uhat[q * dim + a]);
            absolute[a] += fabs(through) + weight * (fabs(u[q * dim + a]) + fabs(uhat[q * dim + a]));
        }
    }
done:
    return local_place(status, l);
}

facet_status hdg_face_traction(const struct hdg *h, const struct hdg_solution *s, int block, int32_t cell,
                               int face, double *traction) {
    facet_status status = FACET_OK;
    struct local l;
    double absolute[3];
    if (h->data.scheme != HDG_ELASTIC) return base_fail(FACET_ERROR_INPUT, "only elasticity has tractions");
    TRY(local_create(h, &l));
    TRY(elastic_begin(&l, block, cell));
    TRY(face_force(&l, s, face, 0, traction, absolute));
done:
    local_destroy(&l);
    return status;
}

facet_status elastic_balance_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct balance_job *job = user;
    const struct hdg *h = l->hdg;
    const struct elastic_block *eb = &h->elastic->blocks[block];
    int dim = h->data.mesh->dim, N, n;
    int64_t id = h->data.mesh->blocks[block].first + cell;
    double sum[3], through = 0.0, worst = 0.0;
    hdg_local_sizes(h, block, &N, &n);
    const double *load = job->solution->loads[block] + local_lane(cell, N);
    double constant = eb->physical ? 1.0 : eb->source.table->phi[0]; /* the first function */
    for (int a = 0; a < dim; a++) sum[a] = load[(int64_t)a * eb->Nu * TRACE_LANES] / constant;
    TRY(elastic_begin(l, block, cell));
    for (int f = 0; f < h->space.blocks[block].n_faces; f++) {
        double absolute[3], *force = job->fluxes + (id * SHAPE_MAX_FACES + f) * dim;
        TRY(face_force(l, job->solution, f, 1, force, absolute));
        for (int a = 0; a < dim; a++) {
            sum[a] += force[a];
            through += absolute[a];
        }
    }
    for (int a = 0; a < dim; a++) worst = fmax(worst, fabs(sum[a]));
    job->cells[2 * id] = worst;
    job->cells[2 * id + 1] = through;
done:
    return status;
}
