/* What the error of u does to fluxes: a cell of size h turns an error e into K e / h, times its face. Where K
 * is larger by orders of magnitude than what the flux has to pass elsewhere, that may be all there is. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "mesh/part.h"
#include "problem/problem.h"

/* The least part of a flux that is worth a word; and what a flux is measured by at least, where there is
 * none: this part of what the least K, of so many cells that are looked at, would let through. */
#define LITTLE  1e-5
#define NOTHING 1e-6
#define LOOKED  10000

/* K h^(dim - 2) of a face, K and h being those of the middle of its cell. */
static facet_status face_stiffness(const struct facet_solver *s, int32_t cell, double *stiffness) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct hdg_data *data = &s->resolved.data;
    const struct field *field = data->conductivity[data->cell_region != NULL ? data->cell_region[cell] : 0];
    const int dim = mesh->dim, n = field_n_components(field);
    double x[3], J[9], K[9], largest = 0.0;
    mesh_middle(mesh, cell, -1, x, J);
    TRY(field_eval(field, 1, dim, x, K));
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(K[i]));
    double volume = dim == 2 ? J[0] * J[3] - J[1] * J[2]
                             : J[0] * (J[4] * J[8] - J[5] * J[7]) - J[1] * (J[3] * J[8] - J[5] * J[6]) +
                                   J[2] * (J[3] * J[7] - J[4] * J[6]);
    *stiffness = dim == 2 ? largest : largest * cbrt(fabs(volume));
done:
    return status;
}

facet_status sample_part_stiffness(const struct facet_solver *s, int n_on, const char *const *on,
                                   double *sum) {
    facet_status status = FACET_OK;
    struct sample_where where;
    *sum = 0.0;
    TRY(sample_where_find(s, n_on, on, 1, &where));
    for (int k = 0; k < where.n; k++)
        for (int32_t i = 0; i < where.groups[k]->count; i++) {
            double stiffness;
            TRY(face_stiffness(s, mesh_group_face(s->problem->mesh, where.groups[k], i).cell, &stiffness));
            *sum += stiffness * stiffness;
        }
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_SUM, 1, sum));
    *sum = sqrt(*sum);
done:
    sample_where_destroy(&where);
    return status;
}

static facet_status least_stiffness(const struct facet_solver *s, double *least) {
    facet_status status = FACET_OK;
    const int32_t n = s->problem->mesh->n_cells, step = n > LOOKED ? n / LOOKED : 1;
    *least = DBL_MAX;
    for (int32_t cell = 0; cell < n; cell += step) {
        double stiffness;
        TRY(face_stiffness(s, cell, &stiffness));
        *least = fmin(*least, stiffness);
    }
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_MIN, 1, least));
done:
    return status;
}

facet_status sample_flux_doubt(const struct facet_solver *s, int n_on, const char *const *on, double flux,
                               double *doubt) {
    facet_status status = FACET_OK;
    const double error = fmax(s->report.error, DBL_EPSILON);
    double stiffness, least, extremes[2], size;
    int n;
    *doubt = 0.0;
    if (s->resolved.data.conductivity == NULL || strcmp(s->problem->physics->through, "flux") != 0)
        return FACET_OK;
    TRY(sample_part_stiffness(s, n_on, on, &stiffness));
    if (error * stiffness * s->report.largest <= LITTLE * fabs(flux))
        return FACET_OK; /* it is large enough */
    TRY(sample_take(s, "u", -1, SAMPLE_MAX, NULL, &extremes[0], &n));
    TRY(sample_take(s, "u", -1, SAMPLE_MIN, NULL, &extremes[1], &n));
    TRY(least_stiffness(s, &least));
    size = fmax(fabs(extremes[0]), fabs(extremes[1]));
    *doubt = error * stiffness * size;
    if (*doubt <= LITTLE * fmax(fabs(flux), NOTHING * least * size)) *doubt = 0.0;
done:
    return status;
}
