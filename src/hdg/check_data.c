/* Looks at all data of a problem without solving it: coefficients and sources at their quadrature points, and
 * whether boundary data agree with the exact solution. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/hdg_null_space.h"

struct check_job {
    double *works; /* n_cells: hdg_null_space.h */
    int has_reaction;
};

/* K, lambda, tau and f of one cell; evaluating them is the check. */
static facet_status cell_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    struct check_job *job = user;
    TRY(local_begin(l, block, cell));
    if (h->data.reaction != NULL)
        TRY(local_place(local_reaction(&h->data, local_region(&h->data, block, cell), b->cell.n,
                                       l->geometry.x, l->values),
                        l));
    for (int q = 0; q < b->cell.n && h->data.reaction != NULL; q++)
        if (l->values[q] > 0.0)
#pragma omp atomic write
            job->has_reaction = 1;
    for (int f = 0; f < b->n_faces && h->data.tau != NULL && !field_is_constant(h->data.tau, NULL); f++) {
        const double *chi;
        int row;
        TRY(local_face_tau(l, f, &chi, &row));
    }
    if (h->data.expansion != NULL) TRY(h->data.equation->initial(l, l->vector, NULL));
    TRY(local_load(l, block, cell, NULL, NULL, l->vector,
                   job->works + (h->data.mesh->blocks[block].first + (int64_t)cell) * hdg_n_works(h)));
done:
    return status;
}

/* How large the exact solution and its flux (or traction) are in the body: rounding is measured by it. */
struct sizes {
    int known;
    double value, flux;
};
#define ROUNDING 1e-12

/* The largest of |data of a condition| at n points of the cell at hand. */
static facet_status find_largest(struct local *l, const struct hdg_condition *c, int n, double *largest) {
    facet_status status = FACET_OK;
    TRY(local_condition_values(l, c, n, l->geometry.x, l->normal, l->values));
    for (int i = 0; i < n * l->hdg->trace.n_components; i++) *largest = fmax(*largest, fabs(l->values[i]));
done:
    return status;
}

/* The exact solution and its flux in the directions of the axes, at the points of the source. */
static facet_status size_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_table *table = h->functions[block].source.table;
    struct sizes *sizes = user;
    int dim = h->data.mesh->dim, mechanical = h->elastic != NULL;
    struct hdg_condition held = {.kind = mechanical ? HDG_MECHANICAL : HDG_DIRICHLET,
                                 .part = "exact",
                                 .fixed = {1, 1, 1}},
                         natural = {.kind = mechanical ? HDG_MECHANICAL : HDG_NEUMANN, .part = "exact"};
    double value = 0.0, flux = 0.0;
    l->block = block;
    l->cell = cell;
    hdg_cell_geometry(&h->space, block, cell, table, &l->geometry);
    TRY(find_largest(l, &held, table->n, &value));
    for (int a = 0; a < dim; a++) {
        for (int i = 0; i < table->n * dim; i++) l->normal[i] = i % dim == a;
        TRY(find_largest(l, &natural, table->n, &flux));
    }
#pragma omp critical(hdg_sizes)
    {
        sizes->value = fmax(sizes->value, value);
        sizes->flux = fmax(sizes->flux, flux);
    }
done:
    return status;
}

facet_status local_exact_sizes(const struct hdg *h, double sizes[2]) {
    struct sizes found = {0};
    facet_status status = local_for_all_cells(h, size_work, &found);
    sizes[0] = found.value;
    sizes[1] = found.flux;
    return status != FACET_OK ? status : team_reduce(mesh_team(h->data.mesh), TEAM_MAX, 2, sizes);
}

/* Below this the difference of a component is rounding. a: of a Robin part, or 0. */
static double find_floor(const struct sizes *sizes, const struct hdg_condition *c, int component, double a) {
    if (!sizes->known) return 0.0;
    int value = c->kind == HDG_MECHANICAL ? c->fixed[component] : c->kind == HDG_DIRICHLET;
    return ROUNDING * (value ? sizes->value : sizes->flux + a * sizes->value);
}

/* The same for a face of symmetry: u.n, and the traction along the face, whichever is larger against all of
 * it.
 */
static facet_status symmetric_difference(struct local *l, int32_t face, const struct sizes *sizes,
                                         double *difference, double *scale) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    int local = local_enter_face(l, face), dim = h->data.mesh->dim;
    const struct hdg_face_table *table = hdg_face_of(&h->space.blocks[l->block].boundary, local);
    hdg_face_geometry(&h->space, l->block, l->cell, local, table, &l->face_geometry, l->x, l->normal);
    for (int natural = 0; natural < 2; natural++) {
        struct hdg_condition exact = {.kind = HDG_MECHANICAL, .part = "exact"};
        double worst = 0.0, size = 0.0, floor = ROUNDING * (natural ? sizes->flux : sizes->value);
        for (int a = 0; a < dim; a++) exact.fixed[a] = !natural;
        TRY(local_condition_values(l, &exact, table->rule.n, l->x, l->normal, l->values));
        for (int q = 0; q < table->rule.n; q++) {
            const double *v = l->values + q * dim, *n = l->normal + q * dim;
            double along = 0.0, length = local_norm(dim, n);
            for (int a = 0; a < dim; a++) along += v[a] * n[a] / length;
            for (int a = 0; a < dim; a++) {
                double off = natural ? fabs(v[a] - along * n[a] / length) : fabs(along);
                if (off > floor) worst = fmax(worst, off);
                size = fmax(size, fabs(v[a]));
            }
        }
        if (natural && worst * *scale <= *difference * size) continue;
        *difference = worst;
        *scale = size;
    }
done:
    return status;
}

/* Largest difference of a condition's data to those of the exact solution on one face, where it is not
 * rounding, and the largest datum. */
static facet_status face_difference(struct local *l, int32_t face, const struct sizes *sizes,
                                    double *difference, double *scale) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_condition *given = &h->data.conditions[h->data.face_condition[face]];
    struct hdg_condition wanted = *given;
    int local = local_enter_face(l, face);
    const struct hdg_face_table *table = hdg_face_of(&h->space.blocks[l->block].boundary, local);
    int n = table->rule.n, nc = h->trace.n_components, size = n * nc;
    double *exact = l->weighted, a = 0.0;
    wanted.g = wanted.t = wanted.pressure = wanted.force = NULL;
    memset(wanted.slack, 0, sizeof wanted.slack);
    *difference = *scale = 0.0;
    if (given->symmetric) return symmetric_difference(l, face, sizes, difference, scale);
    hdg_face_geometry(&h->space, l->block, l->cell, local, table, &l->face_geometry, l->x, l->normal);
    if (given->kind == HDG_ROBIN)
        TRY(field_eval_on(given->a, n, h->data.mesh->dim, l->x, h->data.mesh->dim, l->normal, l->values));
    for (int q = 0; q < n && given->kind == HDG_ROBIN; q++) a = fmax(a, l->values[q]);
    TRY(local_condition_values(l, &wanted, n, l->x, l->normal, l->values));
    memcpy(exact, l->values, (size_t)size * sizeof *exact);
    TRY(local_condition_values(l, given, n, l->x, l->normal, l->values));
    for (int q = 0; q < size; q++) {
        double found = fabs(l->values[q] - exact[q]);
        if (found > find_floor(sizes, given, q % nc, a)) *difference = fmax(*difference, found);
        *scale = fmax(*scale, fmax(fabs(exact[q]), fabs(l->values[q])));
    }
done:
    return status;
}

static int has_own_data(const struct hdg_condition *c) {
    return c->g != NULL || c->t != NULL || c->pressure != NULL || c->force != NULL || c->slack[0] ||
           c->slack[1] || c->slack[2];
}

/* The worst of all parts of the mesh. condition: here. */
static facet_status join_mismatches(const struct hdg *h, int64_t condition, struct hdg_mismatch *mismatch) {
    facet_status status = FACET_OK;
    struct base_team *team = mesh_team(h->data.mesh);
    double most = mismatch->difference;
    if (team == NULL) return FACET_OK;
    TRY(team_reduce(team, TEAM_MAX, 1, &most));
    if (mismatch->difference < most) condition = INT64_MAX;
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &condition));
    if (condition != INT64_MAX) *mismatch = (struct hdg_mismatch){h->data.conditions[condition].part, most};
done:
    return status;
}

/* The worst part, if its data differ from the exact solution's by more than rounding and interpolation
 * explain. Where both nearly vanish on a face, like sin(pi x) at x = 1, only the size of the solution inside
 * tells what rounding is. */
facet_status hdg_find_mismatch(const struct hdg *h, struct hdg_mismatch *mismatch) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct sizes sizes = {0};
    struct local l = {0};
    int64_t worst = INT64_MAX;
    *mismatch = (struct hdg_mismatch){0};
    TRY(local_create(h, &l));
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t c = h->data.face_condition[f];
        double difference, scale;
        if (c < 0 || !has_own_data(&h->data.conditions[c])) continue;
        TRY(face_difference(&l, f, &sizes, &difference, &scale));
        if (difference > 1e-6 * scale && !sizes.known) {
            TRY(local_for_all_cells(h, size_work, &sizes));
            sizes.known = 1;
            TRY(face_difference(&l, f, &sizes, &difference, &scale));
        }
        if (difference <= 1e-6 * scale || difference <= mismatch->difference) continue;
        *mismatch = (struct hdg_mismatch){h->data.conditions[c].part, difference};
        worst = c;
    }
    TRY(join_mismatches(h, worst, mismatch));
done:
    local_destroy(&l);
    return status;
}

/* Neumann or periodic conditions everywhere. A Robin part whose a is zero is left to the solve. */
static int has_no_hold(const struct hdg *h) {
    for (int32_t f = 0; f < h->data.mesh->n_faces; f++) {
        int32_t c = h->data.face_condition[f];
        if (c >= 0 && h->data.conditions[c].kind != HDG_NEUMANN) return 0;
    }
    return h->data.equation->floats;
}

facet_status hdg_check_data(const struct hdg *h, struct hdg_mismatch *mismatch) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct check_job job = {0};
    double sums[2] = {0.0};
    *mismatch = (struct hdg_mismatch){0};
    TRY(ALLOC(job.works, hdg_n_works(h) * (int64_t)mesh->n_cells));
    TRY(local_for_all_cells(h, cell_work, &job));
    if (h->data.exact != NULL) TRY(hdg_find_mismatch(h, mismatch));
    int64_t holds = job.has_reaction || !has_no_hold(h);
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, 1, &holds));
    if (!holds && mismatch->part == NULL) TRY(hdg_balance_constant(h, job.works, NULL, sums));
    if (h->free_pieces != NULL && mismatch->part == NULL) TRY(hdg_balance_motions(h, job.works, NULL, sums));
done:
    base_free(&job.works);
    return status;
}
