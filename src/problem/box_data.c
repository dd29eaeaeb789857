/* Whether a problem is one for the box room. Coefficients are sampled at Gauss points of every cell, about as
 * many as the mapped discretization would look at: what is the same at all of them is taken as constant. */
#include "problem/box_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "poly/rule.h"

/* Values of one cell that differ by less are rounding. */
#define SAME 1e-12

void box_data_destroy(struct box_data *data) {
    base_free(&data->conductivity);
    base_free(&data->reaction);
    for (int d = 0; d < 3; d++) base_free(&data->rho[d]);
    base_free(&data->cells);
    *data = (struct box_data){0};
}

void box_data_side(enum shape shape, int local, int *d, int *side) {
    const int *corners = shape_face_vertices(shape, local);
    const double *vertices = shape_vertices(shape);
    int dim = shape_dim(shape), n = shape_n_vertices(shape_face_shape(shape, local));
    for (*d = 0; *d < dim; ++*d) {
        int sum = 0;
        for (int i = 0; i < n; i++) sum += vertices[corners[i] * dim + *d] > 0.5;
        *side = sum == n;
        if (sum == 0 || sum == n) return;
    }
}

static const char *cell_text(const struct facet_mesh *mesh, int32_t cell, char text[96]) {
    return mesh_middle_text(mesh, cell, -1, text, 96);
}

/* ------------------------------------------------------------------------------ conditions */

static void find_conditions(const struct hdg_data *from, struct box_data *data, char *why) {
    const struct facet_mesh *mesh = from->mesh;
    for (int64_t f = 0; f < mesh->n_faces && why[0] == '\0'; f++) {
        if (mesh->face_cells[2 * f + 1] >= 0) continue;
        int d, side;
        const struct hdg_condition *condition = &from->conditions[from->face_condition[f]];
        box_data_side(mesh->blocks[0].shape, mesh->face_locals[2 * f], &d, &side);
        const struct hdg_condition **known = &data->conditions[d][side];
        if (*known != NULL && *known != condition)
            snprintf(why, BOX_WHY_BYTES, "one condition for each whole side of the box, but %c%s has two",
                     "xyz"[d], side ? "max" : "min");
        if (condition->kind == HDG_ROBIN)
            snprintf(why, BOX_WHY_BYTES,
                     "Dirichlet, Neumann or periodic sides, but '%.64s' has a Robin condition",
                     condition->part);
        *known = condition;
    }
    for (int d = 0; d < mesh->dim && why[0] == '\0'; d++)
        for (int side = 0; side < 2; side++)
            data->grid.sides[d][side] = mesh->box.periodic[d]                              ? BOX_PERIODIC
                                        : data->conditions[d][side]->kind == HDG_DIRICHLET ? BOX_DIRICHLET
                                                                                           : BOX_NEUMANN;
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
            const double *ends = mesh->box.coordinates[d] + index[d];
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
    if (value > 0.0 || (value == 0.0 && !kind->positive)) return FACET_OK;
    char z[32] = "";
    if (dim == 3) snprintf(z, sizeof z, ", z=%.6g", x[2]);
    return base_fail(FACET_ERROR_INPUT, "%s %s, but is %g at x=%.6g, y=%.6g%s", kind->name, kind->refusal,
                     value, x[0], x[1], z);
}

/* The value of a field in a cell whose points are placed; `why` when it has several. */
static facet_status sample(const struct facet_mesh *mesh, const struct field *field, const struct kind *kind,
                           int32_t cell, struct samples *s, double *value, char *why) {
    facet_status status = FACET_OK;
    char where[96];
    if (field_is_constant(field, value)) {
        TRY(check_value(kind, *value, s->dim, s->x));
        goto done;
    }
    TRY(base_wrap(field_eval(field, s->n, s->dim, s->x, s->values), "%s", kind->name));
    *value = s->values[0];
    for (int q = 0; q < s->n; q++) {
        TRY(check_value(kind, s->values[q], s->dim, s->x + q * s->dim));
        if (fabs(s->values[q] - *value) <= SAME * fabs(*value) || why[0] != '\0') continue;
        snprintf(why, BOX_WHY_BYTES, "%s to be constant in every cell, but in the one at %s it varies",
                 kind->name, cell_text(mesh, cell, where));
    }
done:
    return status;
}

/* tau of a cell makes rho of its columns, unless they have another one already. */
static facet_status find_rho(const struct hdg_data *from, int32_t cell, const int index[3], double k,
                             double length, struct samples *s, struct box_data *data, char *why) {
    facet_status status = FACET_OK;
    double tau = k / length;
    if (from->tau != NULL) TRY(sample(from->mesh, from->tau, &stabilization, cell, s, &tau, why));
    for (int d = 0; d < s->dim; d++) {
        const double *ends = from->mesh->box.coordinates[d] + index[d];
        double h = ends[1] - ends[0], *known = &data->rho[d][index[d]];
        double rho = from->tau == NULL && from->tau_hat > 0.0 ? from->tau_hat / k : tau * h / (2.0 * k);
        if (*known == 0.0) *known = rho;
        if (fabs(rho - *known) <= SAME * rho || why[0] != '\0') continue;
        char where[96];
        snprintf(why, BOX_WHY_BYTES,
                 "tau / conductivity to be the same in all cells of a layer, but the cell at %s differs "
                 "(leave tau out, and it follows the conductivity)",
                 cell_text(from->mesh, cell, where));
    }
done:
    return status;
}

/* The length of src/hdg/space.h for a box. */
static double domain_length(const struct facet_mesh *mesh) {
    double extent[3] = {1.0, 1.0, 1.0}, volume = 1.0, area = 0.0, largest = 0.0, smallest = INFINITY;
    for (int d = 0; d < mesh->dim; d++) {
        extent[d] = mesh->box.coordinates[d][mesh->box.cells[d]] - mesh->box.coordinates[d][0];
        volume *= extent[d];
        largest = fmax(largest, extent[d]);
        smallest = fmin(smallest, extent[d]);
    }
    for (int d = 0; d < mesh->dim; d++)
        if (!mesh->box.periodic[d]) area += 2.0 * volume / extent[d];
    return area > 0.0 ? fmin(largest, 2.0 * mesh->dim * volume / area) : smallest;
}

static facet_status find_coefficients(const struct hdg_data *from, int degree, struct box_data *data,
                                      char *why) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = from->mesh;
    struct samples s = {0};
    double length = domain_length(mesh);
    TRY(ALLOC(data->cells, mesh->n_cells));
    TRY(ALLOC(data->conductivity, mesh->n_cells));
    TRY(CALLOC(data->reaction, mesh->n_cells));
    for (int d = 0; d < mesh->dim; d++) TRY(CALLOC(data->rho[d], mesh->box.cells[d]));
    TRY(samples_create(mesh->dim, degree, &s));
    for (int32_t c = 0; c < mesh->n_cells; c++) {
        int at[3];
        mesh_box_index(mesh, c, at);
        int64_t cell = ((int64_t)at[2] * mesh->box.cells[1] + at[1]) * mesh->box.cells[0] + at[0];
        const struct field *k = from->conductivity[from->cell_region[c]];
        data->cells[c] = cell;
        if (field_n_components(k) != 1) {
            snprintf(why, BOX_WHY_BYTES, "a conductivity that is a number, not a matrix");
            break;
        }
        place(mesh, at, &s);
        TRY(sample(mesh, k, &conductivity, c, &s, &data->conductivity[cell], why));
        if (from->reaction != NULL)
            TRY(sample(mesh, from->reaction, &reaction, c, &s, &data->reaction[cell], why));
        if (from->scheme == HDG_HYBRID)
            TRY(find_rho(from, c, at, data->conductivity[cell], length, &s, data, why));
        if (why[0] != '\0') break;
    }
done:
    samples_free(&s);
    return status;
}

facet_status box_data_create(const struct problem_resolved *resolved, int degree, struct box_data *data,
                             char why[BOX_WHY_BYTES]) {
    facet_status status = FACET_OK;
    const struct hdg_data *from = &resolved->data;
    const struct facet_mesh *mesh = from->mesh;
    *data = (struct box_data){.grid = {.dim = mesh->dim}};
    why[0] = '\0';
    if (from->scheme == HDG_ELASTIC)
        snprintf(why, BOX_WHY_BYTES, "the equation diffusion");
    else if (mesh->box.cells[0] == 0)
        snprintf(why, BOX_WHY_BYTES, "a mesh.box of quads or hexes");
    if (why[0] != '\0') goto done;
    for (int d = 0; d < mesh->dim; d++) {
        data->grid.cells[d] = mesh->box.cells[d];
        data->grid.coordinates[d] = mesh->box.coordinates[d];
    }
    find_conditions(from, data, why);
    if (why[0] != '\0') goto done;
    TRY(find_coefficients(from, degree, data, why));
    data->grid.conductivity = data->conductivity;
    data->grid.reaction = data->reaction;
done:
    if (status != FACET_OK || why[0] != '\0') box_data_destroy(data);
    return status;
}
