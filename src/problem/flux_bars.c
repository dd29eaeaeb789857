/* What the error of u does to a flux, and to a force: an error e of u is w e in what goes through a face of a
 * cell, w = K A^2 / V with the area A of the face and the volume V of the cell. Where K is larger by orders
 * of magnitude than what the flux has to pass elsewhere, that may be all there is. Where a condition says
 * what goes through (src/hdg/condition_flux.c), w is a A (Robin), k A (springs), or 0. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "mesh/part.h"
#include "problem/flux_cut.h"

/* A flux that is known as well as CLOSE, relative, has no bar and is not looked at again, unless it is below
 * LITTLE^2 of what K would let through. */
#define CLOSE  2e-8
#define LITTLE 1e-6
/* A doubt above this is told in words: then it is worth the draws of an error. */
#define TOLD 1e-6
/* What is missing of a flux is not looked for below this. */
#define EXACT 1e-8
/* So many times what errors make of a flux by an estimate of their size. */
#define SPREAD 4.0
/* An error below this much of the largest value of a field is nothing. */
#define NOTHING 1e-8

/* ------------------------------------------------------------------------------------------ one face */

/* What stands across one edge of the plane or two of space, with its length. */
static double cross(int dim, const double *a, const double *b, double n[3]) {
    n[0] = dim == 2 ? a[1] : a[1] * b[2] - a[2] * b[1];
    n[1] = dim == 2 ? -a[0] : a[2] * b[0] - a[0] * b[2];
    n[2] = dim == 2 ? 0.0 : a[0] * b[1] - a[1] * b[0];
    return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

/* The area of a face (with 2 pi r of a body of revolution), its middle, a normal of any sign and the volume
 * of its cell, all from the map in the middle of the face. */
static double face_area(const struct facet_solver *s, int32_t cell, int local, double x[3], double normal[3],
                        double *volume) {
    const struct facet_mesh *mesh = s->problem->mesh;
    const int dim = mesh->dim;
    const enum shape shape = mesh_block_of(mesh, cell)->shape, face = shape_face_shape(shape, local);
    double J[9], frame[4 * 2], corners[3][3] = {{0.0}}, edges[2][3] = {{0.0}};
    mesh_middle(mesh, cell, local, x, J);
    shape_nodes(face, 1, frame);
    for (int i = 0; i < dim; i++) shape_face_point(shape, local, 0, frame + i * (dim - 1), corners[i]);
    for (int i = 1; i < dim; i++)
        for (int a = 0; a < dim * dim; a++)
            edges[i - 1][a / dim] += J[a] * (corners[i][a % dim] - corners[0][a % dim]);
    double det = dim == 2 ? J[0] * J[3] - J[1] * J[2]
                          : J[0] * (J[4] * J[8] - J[5] * J[7]) - J[1] * (J[3] * J[8] - J[5] * J[6]) +
                                J[2] * (J[3] * J[7] - J[4] * J[6]);
    double around = s->resolved.data.plane == HDG_AXISYMMETRIC ? 2.0 * M_PI * fabs(x[0]) : 1.0;
    *volume = around * fabs(det) * shape_measure(shape);
    return around * cross(dim, edges[0], edges[1], normal) * (dim == 3 ? shape_measure(face) : 1.0);
}

/* The largest entry of a field of any number of components. */
static facet_status largest_entry(const struct field *field, int dim, const double *x, double *largest) {
    facet_status status = FACET_OK;
    double values[16] = {0.0};
    *largest = 0.0;
    TRY(field_eval(field, 1, dim, x, values));
    for (int i = 0; i < field_n_components(field); i++) *largest = fmax(*largest, fabs(values[i]));
done:
    return status;
}

/* K, or what stands in its place in elasticity: an error of u that costs no energy of lambda is not weighed
 * by it, hence the geometric mean. */
static facet_status stiffness_at(const struct facet_solver *s, int32_t cell, const double *x, double *K) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &s->resolved.data;
    const int32_t region = flux_region(s, cell);
    const int dim = data->mesh->dim;
    double mu, lambda;
    if (!data->equation->is_vector) return largest_entry(data->conductivity[region], dim, x, K);
    if (data->orthotropic != NULL && data->orthotropic[region] != NULL)
        return largest_entry(data->orthotropic[region], dim, x, K);
    TRY(largest_entry(data->mu[region], dim, x, &mu));
    TRY(largest_entry(data->lambda[region], dim, x, &lambda));
    *K = sqrt(2.0 * mu * (2.0 * mu + lambda));
done:
    return status;
}

/* Robin's a, or what springs make of u in this component, at the middle of a face. */
static facet_status hold_at(const struct hdg_condition *c, int dim, int component, const double *x,
                            const double *normal, double *hold) {
    facet_status status = FACET_OK;
    double raw[9], k[9];
    *hold = 0.0;
    if (c->kind == HDG_ROBIN) {
        TRY(field_eval_on(c->a, 1, dim, x, dim, normal, hold));
        *hold = fabs(*hold);
    } else if (c->spring != NULL) {
        TRY(hdg_spring_at(dim, c, 1, x, normal, raw, k));
        for (int b = 0; b < dim; b++) *hold = fmax(*hold, fabs(k[component * dim + b]));
    }
done:
    return status;
}

/* Whether this component of u is given: then the flux is that of the cell. On surfaces of symmetry whose
 * unknowns are turned one component counts for all. */
static int gives_u(const struct facet_solver *s, int component, const struct hdg_condition *c) {
    const struct equation *e = s->resolved.data.equation;
    if (e->asymmetric != 0) return 1;
    if (c->kind != HDG_MECHANICAL) return c->kind == HDG_DIRICHLET;
    return c->oblique || c->curved || c->fixed[component];
}

/* Of a face that u is given on, by its area. Continuous elements share out what their equations say at a node
 * where parts meet, and with it the error of a part whose faces may be far larger than this one. */
static double area_of_error(const struct facet_solver *s, int32_t cell, double area) {
    double x[3], normal[3], volume, largest = area;
    if (s->options.discretization == DISCRETIZATION_HDG) return area;
    for (int face = 0; face < shape_n_faces(mesh_block_of(s->problem->mesh, cell)->shape); face++)
        largest = fmax(largest, face_area(s, cell, face, x, normal, &volume));
    return largest;
}

facet_status flux_face_weight(const struct facet_solver *s, int32_t cell, int local, int component,
                              const struct hdg_condition *c, struct flux_face *face) {
    facet_status status = FACET_OK;
    const int dim = s->problem->mesh->dim;
    double x[3], middle[3], J[9], normal[3], volume, K, hold, outward = 0.0, square = 0.0;
    face->area = face_area(s, cell, local, x, normal, &volume);
    mesh_middle(s->problem->mesh, cell, -1, middle, J);
    TRY(stiffness_at(s, cell, middle, &K));
    face->weight = face->of_cell =
        volume > 0.0 ? (s->options.degree + 1) * K * face->area * face->area / volume : 0.0;
    if (c == NULL) goto done;
    if (gives_u(s, component, c)) {
        face->weight *= face->area > 0.0 ? area_of_error(s, cell, face->area) / face->area : 1.0;
        goto done;
    }
    for (int a = 0; a < dim; a++) {
        outward += (x[a] - middle[a]) * normal[a];
        square += normal[a] * normal[a];
    }
    for (int a = 0; a < dim; a++) normal[a] /= copysign(sqrt(square), outward);
    TRY(hold_at(c, dim, component, x, normal, &hold));
    face->weight = fmin(face->weight, hold * face->area);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ parts */

/* Of all faces as if their errors were independent: their weights, and those of their cells. */
static facet_status part_weights(const struct facet_solver *s, const struct sample_domain *where,
                                 int component, double weights[2]) {
    facet_status status = FACET_OK;
    weights[0] = weights[1] = 0.0;
    for (int k = 0; k < where->n; k++)
        for (int32_t i = 0; i < where->groups[k]->count; i++) {
            const struct mesh_group_face at = mesh_group_face(s->problem->mesh, where->groups[k], i);
            const int32_t number = flux_condition(s, where->groups[k], i);
            struct flux_face face;
            TRY(flux_face_weight(s, at.cell, at.local, component,
                                 number >= 0 ? &s->resolved.conditions[number] : NULL, &face));
            weights[0] += face.weight * face.weight;
            weights[1] += face.of_cell * face.of_cell;
        }
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_SUM, 2, weights));
    for (int i = 0; i < 2; i++) weights[i] = sqrt(weights[i]);
done:
    return status;
}

static facet_status largest_of(const struct facet_solver *s, const char *field, double *size) {
    facet_status status = FACET_OK;
    double extremes[2];
    int n;
    TRY(sample_take(s, field, -1, SAMPLE_MAX, NULL, &extremes[0], &n));
    TRY(sample_take(s, field, -1, SAMPLE_MIN, NULL, &extremes[1], &n));
    *size = fmax(fabs(extremes[0]), fabs(extremes[1]));
done:
    return status;
}

/* Of u, found once for a solution. */
static facet_status size_of_u(const struct facet_solver *s, double *size) {
    facet_status status = FACET_OK;
    struct solver_readers *own = s->readers;
    solver_lock(s);
    const int known = own->size_n_solves == s->n_solves && s->n_solves > 0;
    *size = own->size;
    solver_unlock(s);
    if (known) return FACET_OK;
    TRY(largest_of(s, "u", size));
    solver_lock(s);
    own->size = *size;
    own->size_n_solves = s->n_solves;
    solver_unlock(s);
done:
    return status;
}

/* The least that so many cells, and those of all ranks, let through the largest of their faces: what a flux
 * has to pass somewhere, where nobody looks for the place. Others may be slender, or have no area on an axis.
 */
#define LOOKED 10000
static facet_status least_weight(const struct facet_solver *s, int component, double *least) {
    facet_status status = FACET_OK;
    const int32_t n = s->problem->mesh->n_cells, step = n > LOOKED ? n / LOOKED : 1;
    *least = DBL_MAX;
    for (int32_t cell = 0; cell < n; cell += step) {
        const int n_faces = shape_n_faces(mesh_block_of(s->problem->mesh, cell)->shape);
        double most = 0.0;
        for (int local = 0; local < n_faces; local++) {
            struct flux_face face;
            TRY(flux_face_weight(s, cell, local, component, NULL, &face));
            most = fmax(most, face.weight);
        }
        *least = fmin(*least, most);
    }
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_MIN, 1, least));
done:
    return status;
}

/* Whether a flux with this doubt is looked for in other ways; through: what K would let through. */
static int is_worth(double bar, double through, double modulus) {
    return bar > CLOSE * modulus || LITTLE * through > modulus;
}

/* What a flux lacks at most, with the weights of what it was summed over; beside what a correction changes. */
double flux_doubt(const struct facet_solver *s, double weight, double size, double rest) {
    return fmin(fmax(s->report.error, DBL_EPSILON) * weight * size, DBL_EPSILON * weight * size + rest);
}

/* What may be missing in any flux, beside rounding of u, by what is left of the equations: with psi, the
 * discrete solution that is 1 on the part and 0 on all others with Dirichlet values, a flux lacks psi'(what is
 * left). Forces that turn a body lack more by a lever that nobody knows: hence SPREAD. Electrodes at other
 * potentials would send no more through a part than their totals lack. */
static facet_status find_rest(const struct facet_solver *s, int better, double *rest) {
    facet_status status = FACET_OK;
    if (isfinite(*rest)) return FACET_OK; /* of continuous elements, whose equations have it */
    TRY(solver_find_rest(s, better, rest));
    *rest = SPREAD * *rest + solver_totals_error(s);
done:
    return status;
}

/* The fluxes through parts, by components, without what others have. */
static facet_status add_fluxes(const struct facet_solver *s, int version, const struct sample_domain *where,
                               int n, double sign, double *sums) {
    facet_status status = FACET_OK;
    double left;
    TRY(solver_find_fluxes(s, version, &left));
    for (int k = 0; k < where->n; k++)
        for (int32_t i = 0; i < where->groups[k]->count; i++) {
            const struct mesh_group_face at = mesh_group_face(s->problem->mesh, where->groups[k], i);
            double flux[3];
            TRY(s->backend->face_fluxes(s, version, 1, &at, flux));
            for (int c = 0; c < n; c++) sums[c] += sign * flux[c];
        }
done:
    return status;
}

/* What the fluxes through parts lack, by components; 0 where nobody knows. */
static facet_status find_lacks(const struct facet_solver *s, int better, const struct sample_domain *where,
                               int n, double lacks[3]) {
    facet_status status = FACET_OK;
    lacks[0] = lacks[1] = lacks[2] = 0.0;
    if (better == BACKEND_SOLVED) return FACET_OK;
    TRY(add_fluxes(s, BACKEND_SOLVED, where, n, 1.0, lacks));
    TRY(add_fluxes(s, better, where, n, -1.0, lacks));
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_SUM, n, lacks));
    for (int c = 0; c < n; c++) lacks[c] = FLUX_LACKS * fabs(lacks[c]);
done:
    return status;
}

/* What rounding that a factor leaves may have changed in one component: SPREAD times the mean square of
 * draws, and the rounding of the flux itself. Infinite where nobody knows. */
static facet_status draw_bar(const struct facet_solver *s, const struct sample_domain *where, int n,
                             int component, double rounding, double *bar) {
    facet_status status = FACET_OK;
    double squares = 0.0;
    *bar = INFINITY;
    for (int draw = 0; draw < SOLVER_DRAWS; draw++) {
        double change[3] = {0.0};
        int drawn;
        TRY(solver_find_drawn(s, draw, &drawn));
        if (drawn == BACKEND_SOLVED) return FACET_OK;
        TRY(add_fluxes(s, BACKEND_SOLVED, where, n, 1.0, change));
        TRY(add_fluxes(s, drawn, where, n, -1.0, change));
        TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_SUM, n, change));
        squares += change[component] * change[component] / SOLVER_DRAWS;
    }
    *bar = SPREAD * sqrt(squares) + rounding;
done:
    return status;
}

/* One component, and what it lacks. A flux that is small beside what K would let through is looked for in
 * other ways as well, whatever its doubt: where they differ the estimate of the error of u is wrong. modulus:
 * of all components.
 */
static facet_status judge_component(const struct facet_solver *s, const struct sample_domain *where, int n,
                                    double modulus, double lacks, struct flux_known *best,
                                    struct error_bar *bar) {
    facet_status status = FACET_OK;
    const double flux = best->flux;
    double weights[2], least, size, left, drawn;
    TRY(part_weights(s, where, best->component, weights));
    TRY(solver_find_fluxes(s, BACKEND_SOLVED, &left));
    best->weight = weights[0];
    best->rest = left >= 0.0 ? left : INFINITY;
    *bar = (struct error_bar){.error = fmax(flux_doubt(s, weights[0], s->report.largest, best->rest), lacks)};
    if (weights[0] == 0.0 || !is_worth(bar->error, weights[1] * s->report.largest, modulus)) goto done;
    TRY(size_of_u(s, &size));
    TRY(find_rest(s, best->better, &best->rest));
    best->rest += s->carried_error * modulus;
    best->bar = fmax(flux_doubt(s, best->weight, size, best->rest), lacks);
    if (is_worth(best->bar, weights[1] * size, modulus)) TRY(flux_by_cut(s, where, n, size, best));
    TRY(least_weight(s, best->component, &least));
    bar->error = best->bar * (best->apart > 1.0 ? 2.0 * best->apart : 1.0);
    bar->by_cells = best->weight < weights[0];
    bar->drive = (bar->by_cells ? best->weight : fmin(least, best->weight)) * size;
    if (bar->error <= TOLD * modulus) goto done;
    TRY(draw_bar(s, where, n, best->component, DBL_EPSILON * weights[0] * size, &drawn));
    drawn += solver_totals_error(s) + s->carried_error * modulus;
    if (drawn >= bar->error) goto done;
    best->flux = flux;
    bar->error = drawn;
done:
    return status;
}

facet_status flux_judge(const struct facet_solver *s, const struct sample_domain *where, int n, int component,
                        double *flux, struct error_bar *bar) {
    facet_status status = FACET_OK;
    double modulus = 0.0, sum = 0.0, most = -1.0, lacks[3];
    int better;
    for (int c = 0; c < n; c++) modulus = hypot(modulus, flux[c]);
    *bar = (struct error_bar){0};
    TRY(solver_find_better(s, EXACT * (component < 0 ? modulus : fabs(flux[component])), &better));
    TRY(find_lacks(s, better, where, n, lacks));
    for (int c = 0; c < n; c++) {
        struct flux_known best = {.better = better, .component = c, .flux = flux[c], .apart = 1.0};
        struct error_bar own;
        if (component >= 0 && c != component) continue;
        TRY(judge_component(s, where, n, modulus, lacks[c], &best, &own));
        flux[c] = best.flux;
        sum = hypot(sum, own.error);
        if (own.error > most) *bar = own;
        most = fmax(most, own.error);
    }
    bar->error = sum;
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ fields */

static int is_u(enum hdg_field field) {
    return field == HDG_U || field == HDG_U_STAR;
}

/* What an error of 1 in u may make of a field in the mean of a cell, at most; of u itself 1. */
static facet_status steepness(const struct facet_solver *s, enum hdg_field field, int32_t cell, double *steep,
                              double *volume) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    double middle[3], x[3], normal[3], J[9], K = 1.0, most = 0.0;
    *volume = 0.0;
    *steep = 1.0;
    if (is_u(field)) return FACET_OK;
    if (field == HDG_ACROSS && s->resolved.data.plane == HDG_PLANE_STRESS) *steep = 0.0; /* it is zero */
    if (*steep == 0.0) return FACET_OK;
    mesh_middle(mesh, cell, -1, middle, J);
    if (field != HDG_H && field != HDG_STRAIN && field != HDG_VORTICITY)
        TRY(stiffness_at(s, cell, middle, &K));
    for (int face = 0; face < shape_n_faces(mesh_block_of(mesh, cell)->shape); face++) {
        const double area = face_area(s, cell, face, x, normal, volume);
        if (*volume > 0.0) most = fmax(most, area / *volume);
    }
    *steep = K * most;
done:
    return status;
}

facet_status sample_cell_bar(const struct facet_solver *s, enum hdg_field field, int32_t cell,
                             struct error_bar *bar) {
    const double order = is_u(field) ? 1.0 : s->options.degree + 1;
    double steep, volume, error, size;
    facet_status status = steepness(s, field, cell, &steep, &volume);
    solver_error_at(s, cell, !is_u(field), &error, &size);
    *bar = (struct error_bar){.error = order * steep * error, .scale = is_u(field) ? size : 0.0};
    return status;
}

/* The largest error of u in the cells of faces; of other fields too. */
static facet_status faces_bar(const struct facet_solver *s, enum hdg_field field,
                              const struct sample_domain *where, struct error_bar *bar) {
    facet_status status = FACET_OK;
    for (int k = 0; k < where->n; k++)
        for (int32_t i = 0; i < where->groups[k]->count; i++) {
            struct error_bar own;
            TRY(sample_cell_bar(s, field, mesh_group_face(s->problem->mesh, where->groups[k], i).cell, &own));
            bar->error = fmax(bar->error, own.error);
            bar->scale = fmax(bar->scale, own.scale);
        }
done:
    return status;
}

/* The mean over cells, of LOOKED at most, as if the errors of cells were independent; of u the largest. */
static facet_status cells_bar(const struct facet_solver *s, enum hdg_field field,
                              const struct mesh_group *group, double measure, struct error_bar *bar) {
    facet_status status = FACET_OK;
    const int32_t n = group != NULL ? group->count : s->problem->mesh->n_cells;
    const int32_t step = n > LOOKED && !is_u(field) ? n / LOOKED : 1;
    double sum = 0.0;
    for (int32_t i = 0; i < n; i += step) {
        const int32_t cell = group != NULL ? group->ids[i] : i;
        double steep, volume, error, size;
        TRY(steepness(s, field, cell, &steep, &volume));
        solver_error_at(s, cell, !is_u(field), &error, &size);
        sum += step * pow(steep * error * (volume / measure), 2);
        if (!is_u(field)) continue;
        bar->error = fmax(bar->error, error);
        bar->scale = fmax(bar->scale, size);
    }
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_SUM, 1, &sum));
    if (!is_u(field)) bar->error = sqrt(sum);
done:
    return status;
}

facet_status sample_integral_bar(const struct facet_solver *s, enum hdg_field field,
                                 const struct sample_domain *where, double measure, struct error_bar *bar) {
    facet_status status = FACET_OK;
    *bar = (struct error_bar){0};
    if (where->dim == s->problem->mesh->dim - 1)
        TRY(faces_bar(s, field, where, bar));
    else
        TRY(cells_bar(s, field, where->n > 0 ? where->groups[0] : NULL, measure, bar));
    double most[2] = {measure * bar->error, measure * bar->scale};
    TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_MAX, 2, most));
    bar->error = most[0];
    bar->scale = most[1];
done:
    return status;
}

facet_status sample_is_uncertain(const struct facet_solver *s, const char *name, double error,
                                 int *uncertain) {
    double largest = 0.0;
    facet_status status = largest_of(s, name, &largest);
    *uncertain = error > NOTHING * largest;
    return status;
}

/* ------------------------------------------------------------------------------------------ scale */

/* The moduli of all faces of a part, summed. */
static facet_status part_modulus(const struct facet_solver *s, const struct mesh_group *part, int n,
                                 double *sum) {
    facet_status status = FACET_OK;
    for (int32_t i = 0; i < part->count; i++) {
        const struct mesh_group_face at = mesh_group_face(s->problem->mesh, part, i);
        double flux[3], square = 0.0;
        if (at.is_inner) continue;
        TRY(s->backend->face_fluxes(s, BACKEND_SOLVED, 1, &at, flux));
        for (int c = 0; c < n; c++) square += flux[c] * flux[c];
        *sum += sqrt(square);
    }
done:
    return status;
}

/* The integral of |f| by the middles of cells, of LOOKED at most, where no reaction takes f up again. */
static facet_status source_modulus(const struct facet_solver *s, double *sum) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct hdg_data *data = &s->resolved.data;
    const int32_t n = mesh->n_cells, step = n > LOOKED ? n / LOOKED : 1;
    for (int32_t cell = 0; data->source != NULL && cell < n; cell += step) {
        const int32_t region = flux_region(s, cell);
        double x[3], at[3], J[9], normal[3], volume, f;
        if (data->source[region] == NULL || (data->reaction != NULL && data->reaction[region] != NULL))
            continue;
        mesh_middle(mesh, cell, -1, x, J);
        face_area(s, cell, 0, at, normal, &volume);
        TRY(largest_entry(data->source[region], mesh->dim, x, &f));
        *sum += step * f * volume;
    }
    TRY(team_reduce(mesh_team(mesh), TEAM_SUM, 1, sum));
done:
    return status;
}

/* Whether a condition says what goes through its part: a spring adds what nobody knows before. */
static int gives_flux(const struct problem_condition *c) {
    if (c->kind != HDG_MECHANICAL) return c->kind == HDG_NEUMANN || c->total != NULL;
    if (c->spring != NULL) return 0;
    return c->pressure != NULL || c->force != NULL || c->gives_t[0] || c->gives_t[1] || c->gives_t[2];
}

facet_status sample_largest_flux(const struct facet_solver *s, double *largest, double *given) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    const int n = physics_components(s->problem->physics, mesh->dim);
    double left;
    *largest = 0.0;
    *given = 0.0;
    TRY(source_modulus(s, given));
    TRY(solver_find_fluxes(s, BACKEND_SOLVED, &left));
    if (s->backend->fetch != NULL) TRY(s->backend->fetch(s, 0, NULL));
    for (int c = 0; c < s->own.n_conditions; c++) {
        const char *part = s->own.conditions[c].part;
        struct sample_domain where;
        double sum = 0.0;
        if (strcmp(part, "rest") == 0 && !problem_has_rest(mesh, &s->resolved)) continue;
        TRY(sample_domain_find(s, 1, &part, 1, &where));
        for (int k = 0; k < where.n && status == FACET_OK; k++)
            status = part_modulus(s, where.groups[k], n, &sum);
        sample_domain_destroy(&where);
        TRY(status);
        TRY(team_reduce(mesh_team(mesh), TEAM_SUM, 1, &sum));
        *largest = fmax(*largest, sum);
        if (gives_flux(&s->own.conditions[c])) *given = fmax(*given, sum);
    }
done:
    return status;
}
