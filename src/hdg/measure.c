/* Fields at points, errors against the exact solution, and fluxes through faces, of any equation. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/condensed.h"
#include "hdg/contact.h"
#include "hdg/diffusion.h"
#include "hdg/general.h"

/* values (n x components) = sum_j coefficients_cj functions_j. */
static void expand(int n, int components, int N, const double *functions, int row, const double *coefficients,
                   double *values) {
    if (components == 1)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, n, N, 1.0, functions, row, coefficients, 1, 0.0, values, 1);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, components, N, 1.0, functions, row,
                    coefficients, N, 0.0, values, components);
}

/* At the points of the geometry at hand. */
static facet_status evaluate(struct local *l, const struct hdg_solution *s, enum hdg_field field,
                             const struct hdg_points *points, double *values) {
    const struct hdg *h = l->hdg;
    const struct hdg_table *table = points->table;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int64_t nc = h->trace.n_components, Nu = h->functions[l->block].Nu;
    const double *u = s->u[l->block] + l->cell * nc * Nu, *chi;
    int row;
    switch (field) {
    case HDG_U:
        chi = local_chi(l, table, points->chi, l->geometry.x, &row);
        expand(table->n, (int)nc, (int)Nu, chi, row, u, values);
        return FACET_OK;
    case HDG_U_STAR:
        expand(table->n, (int)nc, b->N_star, table->phi, table->N,
               s->star[l->block] + l->cell * nc * b->N_star, values);
        return FACET_OK;
    case HDG_P:
        expand(table->n, 1, b->N, table->phi, table->N, s->p[l->block] + (int64_t)l->cell * b->N, values);
        return FACET_OK;
    case HDG_Q:
        if (s->q[l->block] == NULL) break;
        expand(table->n, table->dim, b->N, table->phi, table->N,
               s->q[l->block] + (int64_t)l->cell * table->dim * b->N, values);
        return FACET_OK;
    default:
        break;
    }
    return h->data.equation->evaluate(l, s, field, points, values);
}

facet_status hdg_evaluate(const struct hdg *h, const struct hdg_solution *s, enum hdg_field field, int block,
                          int n_cells, const int32_t *cells, const struct hdg_table *table, double *values) {
    facet_status status = FACET_OK;
    const int64_t size =
        (int64_t)table->n * equation_field_components(h->data.equation, h->data.mesh->dim, field);
    struct local l = {.hdg = h, .block = block};
    struct hdg_points points = {.table = table};
    if (!equation_has_field(h->data.equation, field))
        FAIL(FACET_ERROR_INPUT, "this equation, as it is written, has no such field");
    TRY(h->data.equation->scratch_at(&l, table->n, field));
    for (int i = 0; i < n_cells; i++) {
        l.cell = cells[i] - h->data.mesh->blocks[block].first;
        if (l.geometry.x != NULL) hdg_cell_geometry(&h->space, block, l.cell, table, &l.geometry);
        TRY(evaluate(&l, s, field, &points, values + i * size));
    }
done:
    local_destroy(&l);
    return status;
}

/* -------------------------------------------------------------------------------------- errors */

/* Squared norms of a cell's errors by component, and the maximum. Diffusion has no H, elasticity no q. */
enum { SUM_U = 0, SUM_U_STAR = 3, SUM_Q = 6, SUM_Q_STAR = 9, SUM_H = 6, SUM_STRESS = 15, SUM_P, N_SUMS };
struct cell_errors {
    double sums[N_SUMS], u_max;
};
struct error_job {
    const struct hdg_solution *solution;
    struct cell_errors *cells;
};

/* The field, where its squares go, and whether its components are told apart. */
static const struct measured {
    enum hdg_field field;
    int sum, apart;
} measured[] = {{HDG_U, SUM_U, 1},          {HDG_Q, SUM_Q, 1}, {HDG_STRESS, SUM_STRESS, 0},
                {HDG_H, SUM_H, 1},          {HDG_P, SUM_P, 1}, {HDG_U_STAR, SUM_U_STAR, 1},
                {HDG_Q_STAR, SUM_Q_STAR, 1}};
enum { N_MEASURED = sizeof measured / sizeof measured[0] };

/* The squares of the errors of the fields of degree k (or star: k + 1) at the points of a rule. */
static facet_status add_errors(struct local *l, const struct hdg_solution *s, int star,
                               const struct hdg_points *points, struct cell_errors *e) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    int dim = h->data.mesh->dim, nc = h->trace.n_components, n = points->table->n;
    double *u = l->jets + 4 * n, *q = u + nc * n, *stress = q + nc * dim * n, *p = stress + dim * dim * n;
    double *found = p + n;
    hdg_cell_geometry(&h->space, l->block, l->cell, points->table, &l->geometry);
    TRY(h->data.equation->exact_values(l, n, u, q, stress, p));
    for (int i = 0; i < N_MEASURED; i++) {
        const struct measured *m = &measured[i];
        int sum = m->sum, components = equation_field_components(h->data.equation, dim, m->field);
        if (hdg_fields[m->field].star != star || !equation_has_field(h->data.equation, m->field)) continue;
        const double *exact = sum == SUM_U || sum == SUM_U_STAR ? u
                              : sum == SUM_STRESS               ? stress
                              : sum == SUM_P                    ? p
                                                                : q;
        TRY(evaluate(l, s, m->field, points, found));
        for (int j = 0; j < n; j++) {
            double square = 0.0;
            for (int c = 0; c < components; c++) {
                double error = found[j * components + c] - exact[j * components + c];
                e->sums[sum + (m->apart ? c : 0)] += l->geometry.wJ[j] * error * error;
                square += error * error;
            }
            if (sum == SUM_U) e->u_max = fmax(e->u_max, sqrt(square));
        }
    }
    if (star || !hdg_has_hoop(h)) goto done;
    TRY(evaluate(l, s, HDG_ACROSS, points, found)); /* is of the stress too */
    for (int j = 0; j < n; j++) e->sums[SUM_STRESS] += l->geometry.wJ[j] * pow(found[j] - p[j], 2);
done:
    return status;
}

/* The trace at n points of a face of the cell at hand, as the cell sees it, from the unknowns v. */
static void expand_trace(const struct local *l, int face, int n, int m, const double *psi, const double *v,
                         double *values) {
    const double *W = trace_whole_turn_of(&l->hdg->trace, l->block, l->cell, face);
    int nc = l->hdg->trace.n_components, size = nc * m;
    if (W == NULL) {
        expand(n, nc, m, psi, m, v, values);
        local_turn_values(l, face, 0, n, values);
        return;
    }
    memset(values, 0, (size_t)(n * nc) * sizeof *values);
    for (int i = 0; i < size; i++) {
        double coefficient = cblas_ddot(size, W + (int64_t)i * size, 1, v, 1);
        for (int q = 0; q < n; q++) values[q * nc + i / m] += coefficient * psi[q * m + i % m];
    }
}

void local_trace_values(const struct local *l, const struct hdg_solution *s, int face,
                        const struct hdg_face_table *table, int first, int n, double *values) {
    const struct hdg *h = l->hdg;
    int N = h->space.blocks[l->block].N;
    table = hdg_face_of(table, face);
    if (h->data.equation->by_faces) {
        expand_trace(l, face, n, table->m, table->psi + (int64_t)first * table->m,
                     s->trace + contact_start(h, l->block, l->cell, face), values);
    } else {
        expand(n, 1, N, table->side[face][local_orientation(l, face)].phi + (int64_t)first * N, N,
               s->u[l->block] + (int64_t)l->cell * N, values);
    }
}

void hdg_mean_trace(const struct hdg *h, const struct hdg_solution *s, int block, int32_t cell,
                    double *mean) {
    struct local l = {.hdg = h, .block = block, .cell = cell};
    const struct hdg_block_space *b = &h->space.blocks[block];
    double ones[SHAPE_MAX_FACES];
    int places[SHAPE_MAX_FACES], n_ones = local_find_ones(&l, 1, 0, places, ones);
    for (int c = 0; c < h->trace.n_components; c++) mean[c] = 0.0;
    for (int f = 0; f < b->n_faces; f++) {
        const struct hdg_face_table *table = hdg_face_of(&b->face, f);
        double area = n_ones * shape_measure(shape_face_shape(b->shape, f));
        for (int q = 0; q < table->rule.n && !local_on_axis(&l, f); q++) {
            double values[3], weight = table->rule.w[q] / area;
            local_trace_values(&l, s, f, table, q, 1, values);
            for (int c = 0; c < h->trace.n_components; c++) mean[c] += weight * values[c];
        }
    }
}

static facet_status error_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct error_job *job = user;
    const struct hdg *h = l->hdg;
    struct cell_errors *e = &job->cells[h->data.mesh->blocks[block].first + cell];
    struct hdg_points star = {.table = &h->space.blocks[block].norm_star};
    *e = (struct cell_errors){0};
    l->block = block;
    l->cell = cell;
    TRY(add_errors(l, job->solution, 0, &h->functions[block].norm, e));
    if (job->solution->star[block] != NULL) TRY(add_errors(l, job->solution, 1, &star, e));
done:
    return status;
}

/* The same in batches, where the equation allows it. */
static facet_status batch_errors(const struct hdg *h, const struct error_job *job) {
    facet_status status = FACET_OK;
    struct general_errors *found = NULL;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct mesh_block *block = &h->data.mesh->blocks[b];
        base_free(&found);
        TRY(ALLOC(found, block->count));
        TRY(general_errors(h, b, job->solution, found));
        for (int32_t c = 0; c < block->count; c++) {
            struct cell_errors *e = &job->cells[block->first + c];
            *e = (struct cell_errors){0};
            e->sums[SUM_U] = found[c].u;
            e->sums[SUM_U_STAR] = found[c].u_star;
            memcpy(e->sums + SUM_Q, found[c].q, sizeof found[c].q);
            memcpy(e->sums + SUM_Q_STAR, found[c].q_star, sizeof found[c].q_star);
            e->u_max = found[c].u_max;
        }
    }
done:
    base_free(&found);
    return status;
}

/* The norm of a field, and of its components where they are asked for; -1: there is no such field. */
static double norm_of(const struct hdg *h, const struct hdg_solution *s, enum hdg_field field,
                      const double *sums, double *components) {
    double total = 0.0;
    const struct equation *e = h->data.equation;
    if (!equation_has_field(e, field) || (hdg_fields[field].star && s->star[0] == NULL)) return -1.0;
    int n = components != NULL ? equation_field_components(e, h->data.mesh->dim, field) : 1;
    for (int c = 0; c < n; c++) {
        total += sums[c];
        if (components != NULL) components[c] = sqrt(sums[c]);
    }
    return sqrt(total);
}

/* In parts that do not depend on the number of threads. Returns the largest error. */
static double sum_cells(int32_t n, const struct cell_errors *cells, double *sum) {
    enum { PARTS = 64 };
    struct cell_errors parts[PARTS];
    double largest = 0.0;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int p = 0; p < PARTS; p++) {
        parts[p] = (struct cell_errors){0};
        for (int64_t c = (int64_t)n * p / PARTS; c < (int64_t)n * (p + 1) / PARTS; c++) {
            for (int i = 0; i < N_SUMS; i++) parts[p].sums[i] += cells[c].sums[i];
            parts[p].u_max = fmax(parts[p].u_max, cells[c].u_max);
        }
    }
    for (int p = 0; p < PARTS; p++) {
        for (int i = 0; i < N_SUMS; i++) sum[i] += parts[p].sums[i];
        largest = fmax(largest, parts[p].u_max);
    }
    return largest;
}

/* Each face once, where it is owned; those where u jumps, and an expression cannot say which side is meant,
 * not at all. */
static int counts(const struct hdg *h, int64_t face) {
    const struct mesh_part *part = h->data.mesh->part;
    if (part != NULL && !part->owns_face[face]) return 0;
    return h->contacts == NULL || h->contacts->seen.records[face].n_traces < 2;
}

static facet_status trace_norms(const struct hdg *h, const struct hdg_solution *s,
                                struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    int nc = h->trace.n_components;
    double *faces = NULL, sum = 0.0, sums[3] = {0};
    TRY(ALLOC(faces, (int64_t)h->data.mesh->n_faces * (nc + 1)));
    TRY(general_trace_errors(h, s, faces));
    for (int64_t f = 0; f < h->data.mesh->n_faces; f++)
        for (int c = 0; c < nc && counts(h, f); c++) {
            sum += faces[f * (nc + 1) + c];
            sums[c] += faces[f * (nc + 1) + c] * faces[f * (nc + 1) + nc];
        }
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_SUM, 1, &sum));
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_SUM, nc, sums));
    errors->trace_L2 = sqrt(sum);
    for (int c = 0; c < nc; c++) errors->trace_area_component[c] = sqrt(sums[c]);
done:
    base_free(&faces);
    return status;
}

facet_status hdg_measure_errors(const struct hdg *h, const struct hdg_solution *s,
                                struct hdg_errors *errors) {
    facet_status status = FACET_OK;
    struct error_job job = {.solution = s};
    double sum[N_SUMS] = {0};
    *errors = (struct hdg_errors){0};
    if (h->data.exact == NULL) return base_fail(FACET_ERROR_INPUT, "the exact solution is not known");
    TRY(ALLOC(job.cells, h->data.mesh->n_cells));
    if (cells_in_batches(h))
        TRY(batch_errors(h, &job));
    else
        TRY(local_for_all_cells(h, error_work, &job));
    errors->u_Linf = sum_cells(h->data.mesh->n_cells, job.cells, sum);
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_MAX, 1, &errors->u_Linf));
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_SUM, N_SUMS, sum));
    errors->u_L2 = norm_of(h, s, HDG_U, sum + SUM_U, errors->u_component);
    errors->q_L2 = norm_of(h, s, HDG_Q, sum + SUM_Q, errors->q_component);
    errors->u_star_L2 = norm_of(h, s, HDG_U_STAR, sum + SUM_U_STAR, errors->u_star_component);
    errors->q_star_L2 = norm_of(h, s, HDG_Q_STAR, sum + SUM_Q_STAR, errors->q_star_component);
    errors->stress_L2 = norm_of(h, s, HDG_STRESS, sum + SUM_STRESS, NULL);
    errors->H_L2 = norm_of(h, s, HDG_H, sum + SUM_H, errors->H_component);
    errors->p_L2 = norm_of(h, s, HDG_P, sum + SUM_P, NULL);
    TRY(trace_norms(h, s, errors));
done:
    base_free(&job.cells);
    return status;
}

/* -------------------------------------------------------------------------------------- fluxes */

facet_status local_face_values(struct local *l, const struct hdg_solution *s, int face, int natural,
                               struct local_face *values) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_functions *v = &h->functions[l->block];
    const struct hdg_face_table *table = hdg_face_of(v->face, face);
    int dim = h->data.mesh->dim, nc = h->trace.n_components, n = table->rule.n, m = table->m, row;
    double *u = l->jets, *uhat = u + n * nc, *Q = uhat + n * nc;
    const double *chi;
    TRY(local_face_tau(l, face, &chi, &row));
    expand(n, nc, v->Nu, chi, row, s->u[l->block] + (int64_t)l->cell * nc * v->Nu, u);
    expand_trace(l, face, n, m, table->psi, s->trace + contact_start(h, l->block, l->cell, face), uhat);
    expand(n, nc * dim, v->N, chi, row, s->q[l->block] + (int64_t)l->cell * nc * dim * v->N, Q);
    if (h->data.equation->face_flux != NULL)
        TRY(local_place(h->data.equation->face_flux(l, s, n, chi, row, natural, Q + n * dim * dim, Q), l));
    *values = (struct local_face){.table = table, .n = n, .u = u, .uhat = uhat, .Q = Q};
done:
    return status;
}

facet_status local_face_flux(struct local *l, const struct hdg_solution *s, int face, int natural,
                             double *flux, double *absolute) {
    facet_status status = FACET_OK;
    int dim = l->hdg->data.mesh->dim, nc = l->hdg->trace.n_components;
    struct local_face at;
    TRY(local_face_values(l, s, face, natural, &at));
    for (int c = 0; c < nc; c++) {
        flux[c] = absolute[c] = 0.0;
        for (int p = 0; p < at.n; p++) {
            const double *normal = l->normal + p * dim;
            double inner = at.u[p * nc + c], outer = at.uhat[p * nc + c];
            double weight = l->values[p] * local_norm(dim, normal);
            double through = cblas_ddot(dim, at.Q + (p * nc + c) * dim, 1, normal, 1);
            flux[c] += through + weight * (inner - outer);
            absolute[c] += fabs(through) + weight * (fabs(inner) + fabs(outer));
        }
    }
done:
    return status;
}

facet_status hdg_find_fluxes(const struct hdg *h, struct hdg_solution *s) {
    return h->condensed != NULL ? condensed_find_fluxes(h, s) : FACET_OK;
}

facet_status hdg_face_fluxes(const struct hdg *h, const struct hdg_solution *s, int n,
                             const struct mesh_group_face *faces, double *fluxes) {
    facet_status status = FACET_OK;
    struct local l;
    double absolute[3];
    if (h->condensed != NULL) return condensed_face_fluxes(h, s, n, faces, fluxes);
    TRY(local_create(h, &l));
    for (int i = 0; i < n; i++) {
        const struct mesh_block *block = mesh_block_of(h->data.mesh, faces[i].cell);
        double *flux = fluxes + 3 * (int64_t)i;
        l.block = (int)(block - h->data.mesh->blocks);
        l.cell = faces[i].cell - block->first;
        TRY(local_begin(&l, l.block, l.cell));
        TRY(local_face_flux(&l, s, faces[i].local, 0, flux, absolute));
        for (int c = 0; c < h->trace.n_components; c++) flux[c] *= h->data.equation->outward;
        TRY(local_told_flux(&l, s, faces[i].local, flux));
    }
done:
    local_destroy(&l);
    return status;
}

facet_status local_take(struct local *l, const struct hdg_solution *s, double *taken) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    *taken = 0.0;
    if (h->data.reaction == NULL) return FACET_OK;
    TRY(local_reaction(&h->data, local_region(&h->data, l->block, l->cell), b->cell.n, l->geometry.x,
                       l->values));
    for (int p = 0; p < b->cell.n; p++)
        *taken += l->geometry.wJ[p] * l->values[p] *
                  cblas_ddot(b->N, b->cell.phi + p * b->N, 1, s->u[l->block] + (int64_t)l->cell * b->N, 1);
done:
    return status;
}
