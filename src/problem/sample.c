/* Numbers from a solution: values at points, integrals, means and extremes. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "problem/problem.h"

facet_status sample_find_field(const struct facet_solver *s, const char *name, enum hdg_field *field,
                               int *components) {
    static const struct {
        const char *name;
        enum hdg_field field;
    } known[] = {{"u", HDG_U},
                 {"u_star", HDG_U_STAR},
                 {"q", HDG_Q},
                 {"q_star", HDG_Q_STAR},
                 {"stress", HDG_STRESS},
                 {"strain", HDG_STRAIN},
                 {"von_mises", HDG_VON_MISES},
                 {"H", HDG_H},
                 {"p", HDG_P},
                 {"vorticity", HDG_VORTICITY}};
    int elastic = s->problem->equation == FACET_ELASTICITY;
    if (!s->solved) return base_fail(FACET_ERROR_INPUT, "there is no solution yet");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        *field = known[i].field;
        if (elastic ? *field == HDG_Q || *field == HDG_Q_STAR : *field >= HDG_STRESS)
            return base_fail(FACET_ERROR_INPUT, "the field '%s' belongs to %s", name,
                             elastic ? "diffusion" : "elasticity");
        if (elastic && !hdg_has_field(s->hdg, *field))
            return base_fail(FACET_ERROR_INPUT, "the field '%s' belongs to the formulation gradient", name);
        *components = hdg_field_components(s->hdg, *field);
        if ((*field == HDG_U_STAR || *field == HDG_Q_STAR) && s->hdg->data.scheme == HDG_CONDENSED)
            return base_fail(FACET_ERROR_INPUT,
                             "the field '%s' belongs to discretization: {method: hdg}; the condensed method "
                             "has u and q",
                             name);
        if ((*field == HDG_U_STAR || *field == HDG_Q_STAR) && s->solution.star[0] == NULL)
            return base_fail(FACET_ERROR_INPUT, "the field '%s' needs discretization: {postprocess: true}",
                             name);
        return FACET_OK;
    }
    return base_fail(FACET_ERROR_INPUT, "there is no field '%s'; fields: %s", name,
                     !elastic ? "u, u_star, q, q_star"
                     : s->hdg->data.formulation == HDG_GRADIENT
                         ? "u, u_star, H, p, stress, strain, von_mises, vorticity"
                         : "u, stress, strain, von_mises");
}

int sample_table_degree(const struct facet_solver *s, enum hdg_field field) {
    const struct hdg_data *data = &s->hdg->data;
    int symmetric = data->scheme == HDG_ELASTIC && data->formulation == HDG_SYMMETRIC;
    return s->options.degree + (symmetric || field == HDG_U_STAR || field == HDG_Q_STAR);
}

facet_status facet_solver_evaluate(const facet_solver *s, const char *name, int64_t n_points, const double *x,
                                   double *values) {
    REQUIRE_AS(s, "solver");
    REQUIRE(name);
    REQUIRE(x);
    REQUIRE(values);
    if (n_points < 0)
        return base_fail(FACET_ERROR_INPUT, "facet_solver_evaluate: %lld points", (long long)n_points);
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct mesh_locator *locator = NULL;
    struct hdg_table table = {0};
    enum hdg_field field;
    int components;
    TRY(sample_find_field(s, name, &field, &components));
    TRY(mesh_locator_create(mesh, &locator));
    for (int64_t i = 0; i < n_points; i++) {
        int32_t cell;
        double xi[3];
        TRY(mesh_locate(locator, x + i * mesh->dim, &cell, xi));
        if (cell < 0) {
            char z[32] = "";
            if (mesh->dim == 3) snprintf(z, sizeof z, ", %g", x[i * mesh->dim + 2]);
            FAIL(FACET_ERROR_INPUT, "the point (%g, %g%s) lies outside the mesh", x[i * mesh->dim],
                 x[i * mesh->dim + 1], z);
        }
        const struct mesh_block *block = mesh_block_of(mesh, cell);
        hdg_table_destroy(&table);
        TRY(hdg_table_create(block->shape, sample_table_degree(s, field), mesh->order, 1, xi, &table));
        TRY(hdg_evaluate(s->hdg, &s->solution, field, (int)(block - mesh->blocks), cell - block->first,
                         &table, values + i * components));
    }
done:
    hdg_table_destroy(&table);
    mesh_locator_destroy(&locator);
    return status;
}

/* What a sweep over cells or faces gathers. */
struct gathered {
    double integral[SAMPLE_MAX_COMPONENTS], measure;
    double largest, smallest;
    int components, component; /* component -1: the magnitude of a vector counts */
};

static void gather(struct gathered *g, int n, const double *weights, const double *values) {
    for (int p = 0; p < n; p++) {
        const double *v = values + p * g->components;
        double size = v[0];
        if (g->component >= 0) {
            size = v[g->component];
        } else if (g->components > 1) {
            size = 0.0;
            for (int c = 0; c < g->components; c++) size += v[c] * v[c];
            size = sqrt(size);
        }
        if (weights != NULL) {
            for (int c = 0; c < g->components; c++) g->integral[c] += weights[p] * v[c];
            g->measure += weights[p];
        }
        g->largest = fmax(g->largest, size);
        g->smallest = fmin(g->smallest, size);
    }
}

/* Order of the lattices on which extremes are sought. */
static int lattice_order(const struct facet_solver *s) {
    return 2 * (s->options.degree + 1) < 10 ? 2 * (s->options.degree + 1) : 10;
}

/* Cells: integrals by the norm rule; extremes at a lattice that includes edges and vertices. */
static facet_status over_cells(const struct facet_solver *s, enum hdg_field field,
                               const struct mesh_group *group, int extremes, struct gathered *g) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct hdg_geometry geometry = {0};
    struct hdg_table lattice = {0};
    double *values = NULL, *xi = NULL;
    int32_t n_cells = group != NULL ? group->count : mesh->n_cells;
    int last_block = -1, n = 0;
    const struct hdg_table *table = NULL;
    for (int32_t i = 0; i < n_cells; i++) {
        int32_t cell = group != NULL ? group->ids[i] : i;
        const struct mesh_block *block = mesh_block_of(mesh, cell);
        int b = (int)(block - mesh->blocks);
        if (b != last_block) {
            const struct hdg_block_space *space = &s->hdg->space.blocks[b];
            int order = lattice_order(s);
            hdg_table_destroy(&lattice);
            hdg_geometry_destroy(&geometry);
            base_free(&values);
            base_free(&xi);
            n = shape_n_nodes(block->shape, order);
            TRY(ALLOC(xi, n * mesh->dim));
            shape_nodes(block->shape, order, xi);
            if (extremes)
                TRY(hdg_table_create(block->shape, sample_table_degree(s, field), mesh->order, n, xi,
                                     &lattice));
            table = extremes ? &lattice : &space->norm_star;
            n = table->n;
            TRY(hdg_geometry_create(n, mesh->dim, &geometry));
            TRY(ALLOC(values, n * g->components));
            last_block = b;
        }
        if (!extremes) hdg_cell_geometry(&s->hdg->space, b, cell - block->first, table, &geometry);
        TRY(hdg_evaluate(s->hdg, &s->solution, field, b, cell - block->first, table, values));
        gather(g, n, extremes ? NULL : geometry.wJ, values);
    }
done:
    hdg_table_destroy(&lattice);
    hdg_geometry_destroy(&geometry);
    base_free(&values);
    base_free(&xi);
    return status;
}

/* Extremes over one face, at a lattice that includes its ends, seen from its first cell. */
static facet_status extremes_of_face(const struct facet_solver *s, enum hdg_field field, int32_t face,
                                     struct gathered *g) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    int dim = mesh->dim, local = mesh->face_locals[2 * (int64_t)face];
    enum shape shape = shape_face_shape(block->shape, local);
    int n = shape_n_nodes(shape, lattice_order(s)),
        orientation =
            block->orientations[(int64_t)(cell - block->first) * shape_n_faces(block->shape) + local];
    struct hdg_table table = {0};
    double *frame = NULL, *xi = NULL, *values = NULL;
    TRY(ALLOC(frame, n * (dim - 1)));
    TRY(ALLOC(xi, n * dim));
    TRY(ALLOC(values, n * g->components));
    shape_nodes(shape, lattice_order(s), frame);
    for (int p = 0; p < n; p++)
        shape_face_point(block->shape, local, orientation, frame + p * (dim - 1), xi + p * dim);
    TRY(hdg_table_create(block->shape, sample_table_degree(s, field), mesh->order, n, xi, &table));
    TRY(hdg_evaluate(s->hdg, &s->solution, field, (int)(block - mesh->blocks), cell - block->first, &table,
                     values));
    gather(g, n, NULL, values);
done:
    hdg_table_destroy(&table);
    base_free(&frame);
    base_free(&xi);
    base_free(&values);
    return status;
}

/* One face of a part: values of a field (or of the numerical flux or traction, whose integral is exact) seen
 * from its first cell. */
static facet_status over_face(const struct facet_solver *s, const enum hdg_field *field, int32_t face,
                              struct hdg_geometry *geometry, struct gathered *g) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    int32_t cell = mesh->face_cells[2 * (int64_t)face];
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    int b = (int)(block - mesh->blocks), local = mesh->face_locals[2 * (int64_t)face], dim = mesh->dim;
    const struct hdg_face_table *rule = &s->hdg->space.blocks[b].norm_face;
    int n = rule->rule.n, n_faces = s->hdg->space.blocks[b].n_faces;
    struct hdg_table table = {0};
    double *normal = NULL, *x = NULL, *values = NULL, flux[3];
    int orientation = block->orientations[(int64_t)(cell - block->first) * n_faces + local];
    TRY(ALLOC(normal, n * dim));
    TRY(ALLOC(x, n * dim));
    TRY(ALLOC(values, n * SAMPLE_MAX_COMPONENTS));
    hdg_face_geometry(&s->hdg->space, b, cell - block->first, local, rule, geometry, x, normal);
    for (int p = 0; p < n; p++) { /* weights in place of the first coordinates */
        double square = 0.0;
        for (int a = 0; a < dim; a++) square += normal[p * dim + a] * normal[p * dim + a];
        x[p] = sqrt(square);
    }
    if (field != NULL) {
        TRY(hdg_table_create(block->shape, sample_table_degree(s, *field), mesh->order, n,
                             rule->side[local][orientation].xi, &table));
        TRY(hdg_evaluate(s->hdg, &s->solution, *field, b, cell - block->first, &table, values));
        gather(g, n, x, values);
        goto done;
    }
    TRY(s->problem->equation == FACET_ELASTICITY
            ? hdg_face_traction(s->hdg, &s->solution, b, cell - block->first, local, flux)
            : hdg_face_flux(s->hdg, &s->solution, b, cell - block->first, local, flux));
    for (int c = 0; c < g->components; c++) g->integral[c] += flux[c];
    for (int p = 0; p < n; p++) g->measure += x[p];
done:
    hdg_table_destroy(&table);
    base_free(&normal);
    base_free(&x);
    base_free(&values);
    return status;
}

static facet_status over_part(const struct facet_solver *s, const enum hdg_field *field,
                              const struct mesh_group *part, int extremes, struct gathered *g) {
    facet_status status = FACET_OK;
    struct hdg_geometry geometry = {0};
    TRY(hdg_geometry_create(hdg_max_points(&s->hdg->space), s->problem->mesh->dim, &geometry));
    for (int32_t i = 0; i < part->count; i++)
        TRY(extremes ? extremes_of_face(s, *field, part->ids[i], g)
                     : over_face(s, field, part->ids[i], &geometry, g));
done:
    hdg_geometry_destroy(&geometry);
    return status;
}

static facet_status gather_all(const struct facet_solver *s, const char *name, enum sample_take take,
                               const char *on, struct gathered *g) {
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct mesh_group *cells = on != NULL ? mesh_find_group(mesh, on, mesh->dim) : NULL;
    const struct mesh_group *part = on != NULL ? mesh_find_group(mesh, on, mesh->dim - 1) : NULL;
    int extremes = take == SAMPLE_MAX || take == SAMPLE_MIN,
        elastic = s->problem->equation == FACET_ELASTICITY;
    int is_flux = strcmp(name, elastic ? "traction" : "flux") == 0;
    enum hdg_field field = HDG_U;
    g->components = elastic ? mesh->dim : 1;
    if (on != NULL && cells == NULL && part == NULL) {
        char regions[256], parts[256];
        mesh_group_names(mesh, mesh->dim, regions, sizeof regions);
        mesh_group_names(mesh, mesh->dim - 1, parts, sizeof parts);
        return base_fail(FACET_ERROR_INPUT,
                         "there is no '%s' in the mesh; boundary parts: %s; groups of cells: %s", on, parts,
                         regions);
    }
    if (cells != NULL && part != NULL && !is_flux)
        return base_fail(FACET_ERROR_INPUT,
                         "'%s' is the name of a boundary part and of a group of cells; which is meant?", on);
    for (int32_t i = 0; is_flux && part != NULL && i < part->count; i++)
        if (mesh->face_cells[2 * (int64_t)part->ids[i] + 1] >= 0)
            return base_fail(
                FACET_ERROR_INPUT,
                "the %s '%s' has no direction: its faces lie inside the domain; integrate %s there",
                elastic ? "traction on" : "flux through", on, elastic ? "the stress" : "q");
    if (is_flux && (part == NULL || extremes))
        return base_fail(FACET_ERROR_INPUT,
                         "the field %s has an integral or a mean over a boundary part only", name);
    if (!is_flux) {
        facet_status status = sample_find_field(s, name, &field, &g->components);
        if (status != FACET_OK) return status;
    }
    if (g->component >= g->components)
        return base_fail(FACET_ERROR_INPUT, "the field '%s' has no component %d", name, g->component + 1);
    return part != NULL ? over_part(s, is_flux ? NULL : &field, part, extremes, g)
                        : over_cells(s, field, cells, extremes, g);
}

facet_status sample_take(const struct facet_solver *s, const char *name, int component, enum sample_take take,
                         const char *on, double *values, int *n) {
    struct gathered g = {.component = component, .largest = -DBL_MAX, .smallest = DBL_MAX};
    *n = 0;
    if (!s->solved) return base_fail(FACET_ERROR_INPUT, "there is no solution yet");
    facet_status status = gather_all(s, name, take, on, &g);
    if (status != FACET_OK) return status;
    if (take == SAMPLE_MAX || take == SAMPLE_MIN) {
        values[(*n)++] = take == SAMPLE_MAX ? g.largest : g.smallest;
        return FACET_OK;
    }
    double scale = take == SAMPLE_MEAN ? 1.0 / g.measure : 1.0;
    for (int c = 0; c < g.components; c++)
        if (component < 0 || c == component) values[(*n)++] = scale * g.integral[c];
    return FACET_OK;
}
