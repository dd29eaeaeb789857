/* Whether a problem is one for the box room. Coefficients that are no numbers are sampled at Gauss points of
 * every cell, about as many as the mapped discretization would look at: what is the same at all of them is
 * taken as constant. */
#include "problem/box_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "box/tiles.h"
#include "mesh/part.h"
#include "poly/rule.h"

/* Values of one cell that differ by less are rounding. */
#define SAME 1e-12

void box_data_destroy(struct box_data *data) {
    base_free(&data->conductivity);
    base_free(&data->reaction);
    for (int d = 0; d < 3; d++) base_free(&data->rho[d]);
    base_free(&data->part);
    *data = (struct box_data){0};
}

facet_status box_data_is_uniform(const struct box_data *data, int *uniform) {
    facet_status status = FACET_OK;
    double most[2] = {0.0, 0.0}, least[2] = {INFINITY, INFINITY};
    int64_t n = 1;
    for (int d = 0; d < data->grid.dim; d++) n *= data->grid.cells[d];
    for (int64_t c = 0; c < n; c++) {
        most[0] = fmax(most[0], data->conductivity[c]);
        most[1] = fmax(most[1], data->reaction[c]);
        least[0] = fmin(least[0], data->conductivity[c]);
        least[1] = fmin(least[1], data->reaction[c]);
    }
    if (data->part != NULL) TRY(team_reduce(data->part->team, TEAM_MAX, 2, most));
    if (data->part != NULL) TRY(team_reduce(data->part->team, TEAM_MIN, 2, least));
    *uniform = most[0] == least[0] && most[1] == least[1];
done:
    return status;
}

static const char *cell_text(const struct facet_mesh *mesh, int32_t cell, char text[96]) {
    return mesh_middle_text(mesh, cell, -1, text, 96);
}

/* ------------------------------------------------------------------------------ conditions */

/* The number of the condition on a side; of a block -1 where that is a seam. */
static int32_t condition_of_side(const struct problem_resolved *from, int d, int side) {
    const struct facet_mesh *mesh = from->data.mesh;
    const struct mesh_block *block = &mesh->blocks[0];
    const int n = shape_n_faces(block->shape);
    const int32_t cell = side ? mesh->n_cells - 1 : 0;
    if (mesh_is_box(mesh)) return from->side_condition[2 * d + side];
    for (int i = 0; i < n; i++) {
        int direction, end;
        const int32_t face = block->faces[(int64_t)cell * n + i];
        shape_face_side(block->shape, i, &direction, &end);
        if (direction == d && end == side)
            return mesh_is_boundary(mesh, face) ? from->face_condition[face] : -1;
    }
    return -1;
}

/* *first: the number of the side that is named in `why`. */
static void find_conditions(const struct problem_resolved *from, struct box_data *data, int64_t *first,
                            char *why) {
    const struct facet_mesh *mesh = from->data.mesh;
    for (int d = 0; d < mesh->dim; d++)
        for (int side = 0; side < 2; side++) {
            data->grid.sides[d][side] = BOX_PERIODIC;
            if (mesh_bricks(mesh)->periodic[d]) continue;
            const int32_t number = condition_of_side(from, d, side);
            data->grid.sides[d][side] = BOX_SEAM;
            if (number < 0) continue;
            const struct hdg_condition *condition = &from->conditions[number];
            if (condition->kind == HDG_ROBIN && why[0] == '\0') {
                *first = 2 * d + side;
                snprintf(why, BOX_WHY_BYTES,
                         "Dirichlet, Neumann or periodic sides, but '%.64s' has a Robin condition",
                         condition->part);
            }
            data->conditions[d][side] = condition;
            data->grid.sides[d][side] = condition->kind == HDG_DIRICHLET ? BOX_DIRICHLET : BOX_NEUMANN;
        }
}

/* The reason that comes first, by the number of a side or of a cell in the whole, is that of all: whichever
 * process has it. */
static facet_status share_reason(struct base_team *team, int64_t place, char why[BOX_WHY_BYTES]) {
    facet_status status = FACET_OK;
    int64_t least = why[0] != '\0' ? place : INT64_MAX, first;
    if (team == NULL) return FACET_OK;
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &least));
    first = why[0] != '\0' && place == least ? team->rank : team->size;
    TRY(team_reduce_counts(team, TEAM_MIN, 1, &first));
    if (first < team->size) TRY(team_broadcast(team, (int)first, why, BOX_WHY_BYTES));
done:
    return status;
}

/* ------------------------------------------------------------------------------ coefficients */

/* Points of a cell, and room for a coefficient there. */
struct samples {
    int m, n, dim;
    double *line, *x, *values;
};

static void samples_free(struct samples *s) {
    base_free(&s->line);
    base_free(&s->x);
    base_free(&s->values);
}

static facet_status samples_create(int dim, int degree, struct samples *s) {
    facet_status status = FACET_OK;
    double *weights = NULL;
    *s = (struct samples){.m = degree + 2 < BOX_SAMPLES ? degree + 2 : BOX_SAMPLES, .n = 1, .dim = dim};
    for (int d = 0; d < dim; d++) s->n *= s->m;
    TRY(ALLOC(s->line, s->m));
    TRY(ALLOC(weights, s->m));
    TRY(ALLOC(s->x, s->n * dim));
    TRY(ALLOC(s->values, s->n));
    TRY(rule_gauss_jacobi(s->m, 0.0, 0.0, s->line, weights));
done:
    base_free(&weights);
    if (status != FACET_OK) samples_free(s);
    return status;
}

static void place(const struct facet_mesh *mesh, const int index[3], struct samples *s) {
    for (int q = 0; q < s->n; q++)
        for (int d = 0, rest = q; d < s->dim; d++, rest /= s->m) {
            const double *ends = mesh_bricks(mesh)->coordinates[d] + index[d];
            s->x[q * s->dim + d] = ends[0] + 0.5 * (1.0 + s->line[rest % s->m]) * (ends[1] - ends[0]);
        }
}

/* What a coefficient is called, and what it must be. */
struct kind {
    const char *name, *refusal;
    int positive;
};
static const struct kind conductivity = {"the conductivity", "must be positive", 1};
static const struct kind reaction = {"the reaction", "must not be negative", 0};
static const struct kind stabilization = {"tau", "must be positive", 1};

static facet_status check_value(const struct kind *kind, double value, int dim, const double *x) {
    int odd = kind == &conductivity && (value < SOLVE_LEAST || value > 1.0 / SOLVE_LEAST);
    if (!odd && (value > 0.0 || (value == 0.0 && !kind->positive))) return FACET_OK;
    char z[32] = "";
    if (dim == 3) snprintf(z, sizeof z, ", z=%.6g", x[2]);
    return base_fail(FACET_ERROR_INPUT, "%s %s, but is %g at x=%.6g, y=%.6g%s", kind->name,
                     value > 0.0 ? "must lie between 1e-140 and 1e140 (use other units)" : kind->refusal,
                     value, x[0], x[1], z);
}

/* The value of a field in a cell; *varies when it has several. */
static facet_status sample(const struct facet_mesh *mesh, const struct field *field, const struct kind *kind,
                           int32_t cell, struct samples *s, double *value, int *varies) {
    facet_status status = FACET_OK;
    int index[3];
    mesh_box_index(mesh, cell, index);
    place(mesh, index, s);
    TRY(base_wrap(field_eval(field, s->n, s->dim, s->x, s->values), "%s", kind->name));
    *value = s->values[0];
    for (int q = 0; q < s->n; q++) {
        TRY(check_value(kind, s->values[q], s->dim, s->x + q * s->dim));
        *varies |= !(fabs(s->values[q] - *value) <= SAME * fabs(*value));
    }
done:
    return status;
}

/* Of an expression on a device with memory of its own: values[c] where it is the same at all points of a
 * cell, else -1, and someone has to look closer. */
static facet_status sample_there(const struct device *device, const struct facet_mesh *mesh,
                                 const struct field *field, int degree, double *values) {
    facet_status status = FACET_OK;
    struct box_grid_data data = {.dim = mesh->dim};
    struct box_grid grid = {0};
    struct box_tiles *tiles = NULL;
    struct samples s = {0};
    double *extremes = NULL;
    for (int d = 0; d < mesh->dim; d++) {
        data.cells[d] = mesh_bricks(mesh)->cells[d];
        data.coordinates[d] = mesh_bricks(mesh)->coordinates[d];
    }
    TRY(samples_create(mesh->dim, degree, &s));
    for (int i = 0; i < s.m; i++) s.line[i] = 0.5 * (1.0 + s.line[i]);
    TRY(box_grid_create(&data, &grid));
    TRY(box_tiles_create(device, &grid, NULL, &tiles));
    TRY(ALLOC(extremes, 2 * grid.n_cells));
    TRY(box_tiles_field_extremes(tiles, field, s.m, s.line, extremes));
    for (int64_t c = 0; c < grid.n_cells; c++)
        values[c] = extremes[2 * c] == extremes[2 * c + 1] ? extremes[2 * c] : -1.0;
done:
    samples_free(&s);
    box_tiles_destroy(&tiles);
    box_grid_destroy(&grid);
    base_free(&extremes);
    return status;
}

/* A field in all cells; `why` when it varies in one. A number is the same everywhere without a look. */
static facet_status sample_all(const struct device *device, const struct facet_mesh *mesh,
                               const struct field *field, const struct kind *kind, int degree, double *values,
                               char *why) {
    static const char *const kernels[] = {"expression", NULL};
    facet_status status = FACET_OK;
    struct base_collector collector;
    int32_t first = mesh->n_cells;
    const int there = device_takes_over(device, kernels) && field_is_differentiable(field);
    double value, corner[3] = {0.0};
    if (field_is_constant(field, &value)) {
        for (int d = 0; d < mesh->dim; d++) corner[d] = mesh_bricks(mesh)->coordinates[d][0];
        for (int32_t c = 0; c < mesh->n_cells; c++) values[c] = value;
        return check_value(kind, value, mesh->dim, corner);
    }
    if (there) TRY(sample_there(device, mesh, field, degree, values));
    base_collector_init(&collector);
#pragma omp parallel num_threads(base_threads()) reduction(min : first)
    {
        struct samples s = {0};
        base_collect(&collector, -1, samples_create(mesh->dim, degree, &s));
#pragma omp for schedule(static)
        for (int32_t c = 0; c < mesh->n_cells; c++) {
            int varies = 0;
            if (s.x == NULL || first < mesh->n_cells) continue;
            if (there && ((values[c] > SOLVE_LEAST && values[c] < 1.0 / SOLVE_LEAST) ||
                          (values[c] == 0.0 && !kind->positive)))
                continue;
            base_collect(&collector, c, sample(mesh, field, kind, c, &s, &values[c], &varies));
            if (varies) first = c;
        }
        samples_free(&s);
    }
    TRY(base_collected(&collector));
    if (first < mesh->n_cells) {
        char where[96];
        snprintf(why, BOX_WHY_BYTES, "%s to be constant in every cell, but in the one at %s it varies",
                 kind->name, cell_text(mesh, first, where));
    }
    TRY(share_reason(mesh_team(mesh),
                     mesh->part != NULL && first < mesh->n_cells ? mesh->part->cell_numbers[first] : first,
                     why));
done:
    return status;
}

/* tau of a cell makes rho of its columns, unless they have another one already. tau: NULL for k / length. */
static void find_rho(const struct hdg_data *from, const double *tau, double length, struct box_data *data,
                     char *why) {
    const struct facet_mesh *mesh = from->mesh;
    for (int32_t c = 0; c < mesh->n_cells && why[0] == '\0'; c++) {
        double k = data->conductivity[c], tau_c = tau != NULL ? tau[c] : k / length;
        int index[3];
        mesh_box_index(mesh, c, index);
        for (int d = 0; d < mesh->dim; d++) {
            const double *ends = mesh_bricks(mesh)->coordinates[d] + index[d];
            double h = ends[1] - ends[0], *known = &data->rho[d][index[d]];
            double rho = tau == NULL && from->tau_hat > 0.0 ? from->tau_hat / k : tau_c * h / (2.0 * k);
            if (*known == 0.0) *known = rho;
            if (fabs(rho - *known) <= SAME * rho) continue;
            char where[96];
            snprintf(why, BOX_WHY_BYTES,
                     "tau / conductivity to be the same in all cells of a layer, but the cell at %s differs "
                     "(leave tau out, and it follows the conductivity)",
                     cell_text(mesh, c, where));
        }
    }
}

/* The length of src/hdg/space.h for a box, that of the whole where this is a block. */
static facet_status domain_length(const struct facet_mesh *mesh, double *length) {
    facet_status status = FACET_OK;
    const struct mesh_box *box = mesh_bricks(mesh);
    const int *periodic = mesh->part != NULL ? mesh->part->box.periodic : box->periodic;
    double ends[6] = {0.0}, volume = 1.0, area = 0.0, largest = 0.0, smallest = INFINITY;
    for (int d = 0; d < mesh->dim; d++) {
        ends[d] = box->coordinates[d][box->cells[d]];
        ends[3 + d] = -box->coordinates[d][0];
    }
    TRY(team_reduce(mesh_team(mesh), TEAM_MAX, 6, ends));
    for (int d = 0; d < mesh->dim; d++) {
        const double extent = ends[d] + ends[3 + d];
        volume *= extent;
        largest = fmax(largest, extent);
        smallest = fmin(smallest, extent);
    }
    for (int d = 0; d < mesh->dim; d++)
        if (!periodic[d]) area += 2.0 * volume / (ends[d] + ends[3 + d]);
    *length = area > 0.0 ? fmin(largest, 2.0 * mesh->dim * volume / area) : smallest;
done:
    return status;
}

/* ------------------------------------------------------------------------------ blocks */

/* Whether the cells of a layer that other blocks have agree with those here. */
static facet_status compare_layers(const struct facet_mesh *mesh, const struct box_data *data, char *why) {
    facet_status status = FACET_OK;
    const struct part_box *whole = &mesh->part->box;
    double *most = NULL, *least = NULL;
    for (int d = 0; d < mesh->dim; d++) {
        base_free(&most);
        base_free(&least);
        TRY(CALLOC(most, whole->cells[d]));
        TRY(ALLOC(least, whole->cells[d]));
        for (int i = 0; i < whole->cells[d]; i++) least[i] = INFINITY;
        for (int i = 0; i < data->grid.cells[d]; i++)
            most[whole->first[d] + i] = least[whole->first[d] + i] = data->rho[d][i];
        TRY(team_reduce(mesh_team(mesh), TEAM_MAX, whole->cells[d], most));
        TRY(team_reduce(mesh_team(mesh), TEAM_MIN, whole->cells[d], least));
        for (int i = 0; i < whole->cells[d]; i++)
            if (most[i] - least[i] > SAME * most[i])
                snprintf(why, BOX_WHY_BYTES,
                         "tau / conductivity to be the same in all cells of a layer, but those of layer %d "
                         "in direction %c differ (leave tau out, and it follows the conductivity)",
                         i, "xyz"[d]);
    }
done:
    base_free(&most);
    base_free(&least);
    return status;
}

/* ------------------------------------------------------------------------------ all data */

/* That of all cells. */
static int32_t region_of(const struct problem_resolved *resolved) {
    return resolved->cell_region != NULL ? resolved->cell_region[0] : resolved->region;
}

static facet_status find_coefficients(const struct device *device, const struct problem_resolved *resolved,
                                      int degree, struct box_data *data, char *why) {
    facet_status status = FACET_OK;
    const struct hdg_data *from = &resolved->data;
    const struct facet_mesh *mesh = from->mesh;
    const struct field *k = from->conductivity[region_of(resolved)];
    double *tau = NULL, length;
    if (field_n_components(k) != 1) {
        snprintf(why, BOX_WHY_BYTES, "a conductivity that is a number, not a matrix");
        goto done;
    }
    TRY(ALLOC(data->conductivity, mesh->n_cells));
    TRY(CALLOC(data->reaction, mesh->n_cells));
    for (int d = 0; d < mesh->dim; d++) TRY(CALLOC(data->rho[d], mesh_bricks(mesh)->cells[d]));
    TRY(sample_all(device, mesh, k, &conductivity, degree, data->conductivity, why));
    if (from->reaction != NULL && why[0] == '\0')
        TRY(sample_all(device, mesh, from->reaction[region_of(resolved)], &reaction, degree, data->reaction,
                       why));
    if (from->equation->tau == NULL || why[0] != '\0') goto done;
    if (from->tau != NULL) {
        TRY(ALLOC(tau, mesh->n_cells));
        TRY(sample_all(device, mesh, from->tau, &stabilization, degree, tau, why));
    }
    TRY(domain_length(mesh, &length));
    find_rho(from, tau, length, data, why);
    TRY(share_reason(mesh_team(mesh), 0, why));
    if (mesh->part != NULL && why[0] == '\0') TRY(compare_layers(mesh, data, why));
done:
    base_free(&tau);
    return status;
}

static facet_status make_part(const struct facet_context *context, const struct facet_mesh *mesh,
                              struct box_data *data) {
    facet_status status = FACET_OK;
    TRY(CALLOC(data->part, 1));
    *data->part = (struct box_part){.mesh = mesh, .external = context->external, .team = mesh_team(mesh)};
    data->grid.part = data->part;
done:
    return status;
}

facet_status box_data_create(const struct facet_context *context, const struct problem_resolved *resolved,
                             int degree, struct box_data *data, char why[BOX_WHY_BYTES]) {
    facet_status status = FACET_OK;
    const struct hdg_data *from = &resolved->data;
    const struct facet_mesh *mesh = from->mesh;
    *data = (struct box_data){.grid = {.dim = mesh->dim}};
    why[0] = '\0';
    if (!from->equation->on_boxes)
        snprintf(why, BOX_WHY_BYTES, "the equation diffusion");
    else if (mesh_bricks(mesh) == NULL)
        snprintf(why, BOX_WHY_BYTES, "a mesh.box of quads or hexes");
    else if (from->plane == HDG_AXISYMMETRIC)
        snprintf(why, BOX_WHY_BYTES, "a plane that is not axisymmetric");
    else if (from->jump != NULL)
        snprintf(why, BOX_WHY_BYTES, "joined sides across which u does not jump");
    if (why[0] != '\0') goto done;
    for (int d = 0; d < mesh->dim; d++) {
        data->grid.cells[d] = mesh_bricks(mesh)->cells[d];
        data->grid.coordinates[d] = mesh_bricks(mesh)->coordinates[d];
    }
    if (team_size(mesh_team(mesh)) > 1) TRY(make_part(context, mesh, data)); /* one process has all of it */
    int64_t side = 0;
    find_conditions(resolved, data, &side, why);
    TRY(share_reason(mesh_team(mesh), side, why));
    if (why[0] != '\0') goto done;
    TRY(find_coefficients(context->device, resolved, degree, data, why));
    data->grid.conductivity = data->conductivity;
    data->grid.reaction = data->reaction;
done:
    if (status != FACET_OK || why[0] != '\0') box_data_destroy(data);
    return status;
}
