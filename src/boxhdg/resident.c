/* The solve of a box on a device, from data to results. */
#include "boxhdg/resident.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/tiles.h"
#include "boxhdg/points.h"
#include "boxhdg/resident_errors.h"
#include "boxhdg/work.h"

struct boxhdg_resident {
    const struct boxhdg *hdg;
    const struct device *device;
    struct boxhdg_solver *solver;
    const struct boxhdg_lanes *lanes;
    struct vector *F, *trace; /* the solver's */
    struct vector loads, u;   /* n_volume, in modes */
    struct boxhdg_lanes_points *points;
    struct box_tiles *tiles;
    struct box_samples gauss, data; /* modes at n and at n + BOX_EXTRA_POINTS points */
    double *sides[3][2];            /* plain modes; NULL: zero */
};

const char *boxhdg_resident_refusal(const struct device *device, const struct boxhdg *h) {
    static const char *const kernels[] = {"box_load",      "box_recover",     "box_balance",  "box_cells",
                                          "tile_contract", "tile_expression", "tile_extremes"};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!device_has(device, kernels[i])) return kernels[i];
    return h->n > device_box_modes(device) ? "the degree" : NULL;
}

double boxhdg_resident_bytes(const struct device *device, const struct boxhdg *h, double n_cells) {
    return 8.0 * 2.0 * n_cells * (double)h->cell_size + box_tiles_bytes(device, h->grid.dim, h->n, n_cells);
}

void boxhdg_resident_destroy(struct boxhdg_resident **resident) {
    struct boxhdg_resident *r = *resident;
    if (r == NULL) return;
    vector_destroy(&r->loads);
    vector_destroy(&r->u);
    boxhdg_lanes_points_destroy(&r->points);
    box_tiles_destroy(&r->tiles);
    box_samples_destroy(&r->gauss);
    box_samples_destroy(&r->data);
    for (int i = 0; i < 6; i++) base_free(&r->sides[i / 2][i % 2]);
    base_free(resident);
}

facet_status boxhdg_resident_create(struct boxhdg_solver *solver, struct boxhdg_resident **resident) {
    facet_status status = FACET_OK;
    struct boxhdg_resident *r;
    TRY(CALLOC(*resident, 1));
    r = *resident;
    r->solver = solver;
    r->lanes = boxhdg_solver_lanes(solver, &r->F, &r->trace);
    r->hdg = r->lanes->hdg;
    r->device = r->lanes->device;
    TRY(vector_create(r->device, r->hdg->n_volume, &r->loads));
    TRY(vector_create(r->device, r->hdg->n_volume, &r->u));
    TRY(boxhdg_lanes_points_create(r->lanes, NULL, NULL, &r->points));
    boxhdg_lanes_points_in_modes(r->points);
    TRY(box_tiles_create(r->device, &r->hdg->grid, (const int *const *)r->hdg->column_line, &r->tiles));
    TRY(boxhdg_samples_create(r->hdg, r->hdg->n, &r->gauss));
    TRY(boxhdg_samples_create(r->hdg, r->hdg->n + BOX_EXTRA_POINTS, &r->data));
    TRY(box_tiles_keep(r->tiles, r->hdg->n, r->hdg->n, r->gauss.weighted));
    TRY(box_tiles_keep(r->tiles, r->hdg->n, r->hdg->n, r->gauss.values));
done:
    if (status != FACET_OK) boxhdg_resident_destroy(resident);
    return status;
}

/* ------------------------------------------------------------------------------------------ data */

facet_status boxhdg_resident_set_boundary(struct boxhdg_resident *r, const struct box_given *given) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &r->hdg->grid;
    for (int d = 0; d < g->dim; d++)
        for (int side = 0; side < 2; side++) {
            double value;
            const struct field *field = given->boundary[d][side];
            int zero =
                field == NULL ? given->exact == NULL : field_is_constant(field, &value) && value == 0.0;
            base_free(&r->sides[d][side]);
            if (g->sides[d][side] == BOX_PERIODIC || g->sides[d][side] == BOX_SEAM) continue;
            if (!zero) {
                TRY(ALLOC(r->sides[d][side], g->n_cells / g->cells[d] * r->hdg->face_size));
                TRY(boxhdg_project_side(r->hdg, given, d, side, r->sides[d][side]));
            }
            TRY(boxhdg_lanes_points_set_side(r->points, d, side, r->sides[d][side]));
        }
done:
    return status;
}

/* The integrals of a function in modes over all cells; volume: it is not integrated yet. */
static facet_status integrate_cells(struct boxhdg_resident *r, int volume, const double *modes,
                                    double *integrals) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = r->hdg;
    const struct tile_scale scale = {.factor = volume ? 1.0 / (double)(1 << h->grid.dim) : 1.0,
                                     .powers = {volume, volume, volume}};
    double *moments = NULL;
    TRY(ALLOC(moments, h->n_lines * h->n));
    for (int l = 0; l < h->n_lines; l++)
        memcpy(moments + (int64_t)l * h->n, h->tables[l].moments, (size_t)h->n * sizeof *moments);
    const double *const T[3] = {moments, moments, moments};
    TRY(box_tiles_download(r->tiles, h->n, 1, T, &scale, modes, integrals));
done:
    base_free(&moments);
    return status;
}

/* What goes in through the faces of a side, in sum and in moduli. */
static void add_side(const struct boxhdg_resident *r, int d, int side, double sums[2]) {
    const struct box_grid *g = &r->hdg->grid;
    for (int64_t i = 0; r->sides[d][side] != NULL && i < g->n_cells / g->cells[d]; i++) {
        struct boxhdg_at at;
        int place[3];
        box_side_cell(g, d, side, i, place);
        boxhdg_at_set(r->hdg, box_cell(g, place), &at);
        const double through = boxhdg_at_integral(&at, d, r->sides[d][side] + i * r->hdg->face_size);
        sums[0] += through;
        sums[1] += fabs(through);
    }
}

facet_status boxhdg_resident_balance(struct boxhdg_resident *r, double sums[2]) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &r->hdg->grid;
    const double *const T[3] = {r->gauss.weighted, r->gauss.weighted, r->gauss.weighted};
    double *integrals = NULL;
    sums[0] = sums[1] = 0.0;
    TRY(ALLOC(integrals, g->n_cells));
    TRY(integrate_cells(r, 0, r->loads.data, integrals));
    for (int64_t c = 0; c < g->n_cells; c++) {
        sums[0] += integrals[c];
        sums[1] += fabs(integrals[c]);
    }
    for (int i = 0; i < 2 * g->dim; i++) add_side(r, i / 2, i % 2, sums);
    if (g->part != NULL) TRY(team_reduce(g->part->team, TEAM_SUM, 2, sums));
    const struct tile_scale excess = {.factor = -sums[0] / box_volume(g), .powers = {1, 1, 1}};
    TRY(box_tiles_add_one(r->tiles, r->hdg->n, T, &excess, r->loads.data));
done:
    base_free(&integrals);
    return status;
}

/* Of numbers of cells that no two blocks have. */
static double square_of(const struct boxhdg_resident *r, const struct vector *v) {
    const double norm = vector_norm(v);
    return box_all(&r->hdg->grid, TEAM_SUM, norm * norm);
}

double boxhdg_resident_square_of_loads(const struct boxhdg_resident *r) {
    const struct box_grid *g = &r->hdg->grid;
    double sum = 0.0;
    for (int i = 0; i < 2 * g->dim; i++) {
        const double *values = r->sides[i / 2][i % 2];
        if (g->sides[i / 2][i % 2] != BOX_NEUMANN || values == NULL) continue;
        for (int64_t j = 0; j < g->n_cells / g->cells[i / 2] * r->hdg->face_size; j++)
            sum += values[j] * values[j];
    }
    return square_of(r, &r->loads) + box_all(g, TEAM_SUM, sum);
}

double boxhdg_resident_size_of_loads(const struct boxhdg_resident *r) {
    const struct box_grid *g = &r->hdg->grid;
    return sqrt(box_all(g, TEAM_SUM, (double)(g->n_cells << g->dim)) * square_of(r, &r->loads));
}

void boxhdg_resident_clear(struct boxhdg_resident *r) {
    vector_fill(&r->loads, 0.0);
    vector_fill(r->F, 0.0);
}

facet_status boxhdg_resident_condense(struct boxhdg_resident *r) {
    boxhdg_lanes_load(r->points, &r->loads, r->F);
    seam_add(r->lanes->seam, r->F);
    return device_check(r->device);
}

facet_status boxhdg_resident_load(struct boxhdg_resident *r, const struct box_given *given) {
    if (given->source != NULL || given->exact != NULL)
        return box_tiles_integrate(r->tiles, &r->data, given, r->loads.data);
    vector_fill(&r->loads, 0.0);
    return FACET_OK;
}

facet_status boxhdg_resident_load_values(struct boxhdg_resident *r, const double *f,
                                         enum boxhdg_where where) {
    facet_status status = FACET_OK;
    const double *const T[3] = {r->gauss.weighted, r->gauss.weighted, r->gauss.weighted};
    const struct tile_scale volume = {.factor = 1.0, .powers = {1, 1, 1}};
    if (where == BOXHDG_HOST) { /* looked at by the caller */
        TRY(vector_upload(&r->u, f));
        f = r->u.data;
    } else
        TRY(box_tiles_check_finite(r->tiles, r->hdg->n, f, "the source"));
    TRY(box_tiles_contract(r->tiles, r->hdg->n, r->hdg->n, T, &volume, f, r->loads.data));
done:
    return status;
}

/* The Dirichlet or the Neumann data of all sides, to their faces of a vector of the trace. */
static void put_sides(const struct boxhdg_resident *r, enum box_side kind, double *trace) {
    const struct boxhdg *h = r->hdg;
    const struct box_grid *g = &h->grid;
    const size_t bytes = (size_t)h->face_size * sizeof *trace;
    for (int d = 0; d < g->dim; d++)
        for (int side = 0; side < 2; side++) {
            const double *values = r->sides[d][side];
            if (g->sides[d][side] != kind) continue;
            for (int64_t i = 0; i < g->n_cells / g->cells[d]; i++) {
                int at[3];
                box_side_cell(g, d, side, i, at);
                double *to = trace + box_face(g, at, d, side) * h->face_size;
                if (values != NULL)
                    memcpy(to, values + i * h->face_size, bytes);
                else
                    memset(to, 0, bytes);
            }
        }
}

/* Such a vector, zero elsewhere. */
static facet_status spread_sides(const struct boxhdg_resident *r, enum box_side kind, double **trace) {
    facet_status status = CALLOC(*trace, r->hdg->n_trace);
    if (status == FACET_OK) put_sides(r, kind, *trace);
    return status;
}

facet_status boxhdg_resident_neumann(const struct boxhdg_resident *r, double **neumann) {
    return spread_sides(r, BOX_NEUMANN, neumann);
}

/* A trace without its constant; every face counts once. */
static facet_status drop_constant(const struct boxhdg *h, double *trace) {
    facet_status status = FACET_OK;
    double *one = NULL, sums[2] = {0.0, 0.0};
    TRY(ALLOC(one, h->n_trace));
    boxhdg_constant(h, one);
    seam_clear_foreign(h->seam, one);
    for (int64_t i = 0; i < h->n_trace; i++) {
        sums[0] += one[i] * trace[i];
        sums[1] += one[i] * one[i];
    }
    if (h->seam != NULL) TRY(team_reduce(h->seam->team, TEAM_SUM, 2, sums));
    boxhdg_constant(h, one);
    for (int64_t i = 0; i < h->n_trace; i++) trace[i] -= sums[0] / sums[1] * one[i];
done:
    base_free(&one);
    return status;
}

facet_status boxhdg_resident_set_guess(struct boxhdg_resident *r, const double *u, int drop) {
    facet_status status = FACET_OK;
    const double *const T[3] = {r->gauss.weighted, r->gauss.weighted, r->gauss.weighted};
    const struct tile_scale to_modes = {
        .factor = (double)(1 << r->hdg->grid.dim)}; /* weights are those of [0, 1] */
    double *dirichlet = NULL, *neumann = NULL, *trace = NULL, *modes = NULL;
    TRY(ALLOC(modes, r->hdg->n_volume));
    TRY(vector_upload(&r->u, u));
    TRY(box_tiles_download(r->tiles, r->hdg->n, r->hdg->n, T, &to_modes, r->u.data, modes));
    TRY(spread_sides(r, BOX_DIRICHLET, &dirichlet));
    TRY(spread_sides(r, BOX_NEUMANN, &neumann));
    TRY(ALLOC(trace, r->hdg->n_trace));
    TRY(boxhdg_hybridize(r->hdg, modes, dirichlet, neumann, trace));
    if (drop) TRY(drop_constant(r->hdg, trace));
    TRY(boxhdg_lanes_pack(r->lanes, BOXHDG_UNKNOWN, trace, r->trace));
done:
    base_free(&modes);
    base_free(&dirichlet);
    base_free(&neumann);
    base_free(&trace);
    return status;
}

void boxhdg_resident_adopt(struct boxhdg_resident *r, const struct boxhdg_resident *other) {
    vector_axpby(1.0, other->trace, 0.0, r->trace);
}

/* ------------------------------------------------------------------------------------------ solve */

facet_status boxhdg_resident_solve(struct boxhdg_resident *r, enum boxhdg_guess guess,
                                   const struct solve_control *control, struct solve_report *report) {
    facet_status status = boxhdg_solver_solve_lanes(r->solver, guess, control, report);
    return status == FACET_OK ? boxhdg_solver_find_uncertainty(r->solver) : status;
}

facet_status boxhdg_resident_recover(struct boxhdg_resident *r) {
    boxhdg_lanes_recover(r->points, r->trace, &r->loads, &r->u);
    return device_check(r->device);
}

/* The coefficients of the function 1 are the integrals of the modes over [-1, 1]. */
facet_status boxhdg_resident_set_mean(struct boxhdg_resident *r, double mean) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &r->hdg->grid;
    const double *const T[3] = {r->gauss.weighted, r->gauss.weighted, r->gauss.weighted};
    double *integrals = NULL, sum = 0.0;
    TRY(ALLOC(integrals, g->n_cells));
    TRY(integrate_cells(r, 1, r->u.data, integrals));
    for (int64_t c = 0; c < g->n_cells; c++) sum += integrals[c];
    const double by = mean - box_all(g, TEAM_SUM, sum) / box_volume(g);
    const struct tile_scale shift = {.factor = by * (double)(1 << g->dim)};
    TRY(box_tiles_add_one(r->tiles, r->hdg->n, T, &shift, r->u.data));
    boxhdg_solver_shift(r->solver, by);
done:
    base_free(&integrals);
    return status;
}

/* ------------------------------------------------------------------------------------------ results */

double boxhdg_resident_norm(const struct boxhdg_resident *r) {
    return sqrt(square_of(r, &r->u));
}

int boxhdg_resident_given_flux(const struct boxhdg_resident *r, int64_t cell, int d, int side, double *flux) {
    const struct box_grid *g = &r->hdg->grid;
    struct boxhdg_at at;
    boxhdg_at_set(r->hdg, cell, &at);
    if (g->sides[d][side] != BOX_NEUMANN || !boxhdg_at_boundary(&at, d, side)) return 0;
    int64_t face = 0, step = 1;
    for (int t = 0; t < g->dim; t++) {
        if (t == d) continue;
        face += at.at[t] * step;
        step *= g->cells[t];
    }
    *flux = r->sides[d][side] != NULL
                ? -boxhdg_at_integral(&at, d, r->sides[d][side] + face * r->hdg->face_size)
                : 0.0;
    return 1;
}

/* Adds a constant to values at the Gauss points, on the device: to what a table makes of the function 1. */
static facet_status add_constant(struct boxhdg_resident *r, double constant, double *u) {
    facet_status status = FACET_OK;
    const int n = r->hdg->n;
    const struct tile_scale by = {.factor = constant};
    double *identity = NULL;
    TRY(CALLOC(identity, (int64_t)r->hdg->n_lines * n * n));
    for (int64_t i = 0; i < (int64_t)r->hdg->n_lines * n; i++) identity[i * n + i % n] = 1.0;
    const double *const T[3] = {identity, identity, identity};
    TRY(box_tiles_add_one(r->tiles, n, T, &by, u));
done:
    base_free(&identity);
    return status;
}

facet_status boxhdg_resident_copy(struct boxhdg_resident *r, double constant, double *u,
                                  enum boxhdg_where where) {
    facet_status status = FACET_OK;
    const double *const T[3] = {r->gauss.values, r->gauss.values, r->gauss.values};
    const struct tile_scale plain = {.factor = 1.0};
    TRY((where == BOXHDG_HOST ? box_tiles_download : box_tiles_contract)(r->tiles, r->hdg->n, r->hdg->n, T,
                                                                         &plain, r->u.data, u));
    for (int64_t i = 0; where == BOXHDG_HOST && constant != 0.0 && i < r->hdg->n_volume; i++)
        u[i] += constant;
    if (where == BOXHDG_DEVICE && constant != 0.0) TRY(add_constant(r, constant, u));
done:
    return status;
}

facet_status boxhdg_resident_conservation(const struct boxhdg_resident *r, struct solve_balance *balance) {
    return boxhdg_lanes_conservation(r->points, r->trace, &r->loads, &r->u, balance);
}

facet_status boxhdg_resident_integrals(struct boxhdg_resident *r, double *integrals) {
    return integrate_cells(r, 1, r->u.data, integrals);
}

facet_status boxhdg_resident_extremes(struct boxhdg_resident *r, int n, const double *x, double *extremes) {
    facet_status status = FACET_OK;
    double *values = NULL;
    TRY(boxhdg_tabulate_all(r->hdg, n, x, &values));
    const double *const T[3] = {values, values, values};
    TRY(box_tiles_extremes(r->tiles, r->hdg->n, n, T, r->u.data, extremes));
done:
    base_free(&values);
    return status;
}

facet_status boxhdg_resident_errors(struct boxhdg_resident *r, const struct field *exact, double constant,
                                    int star, struct box_errors *errors) {
    const struct boxhdg_there there = {&r->lanes->plan, &r->points->points, r->trace->data, r->u.data};
    return boxhdg_tiles_errors(r->hdg, r->tiles, &there, exact, constant, star, errors);
}

facet_status boxhdg_resident_fetch(const struct boxhdg_resident *r, int64_t n, const int64_t *cells, int q,
                                   int star, struct boxhdg_solution *s) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = r->hdg;
    const struct device *device = r->device;
    const int64_t faces = 2 * h->grid.dim * h->face_size, width = h->cell_size + faces;
    int64_t *list = NULL;
    double *there = NULL, *here = NULL;
    boxhdg_solution_destroy(s);
    TRY(ALLOC(s->cells, n));
    memcpy(s->cells, cells, (size_t)n * sizeof *cells);
    s->n_cells = n;
    TRY(ALLOC(s->rooms[1], n * h->cell_size));
    s->u = s->rooms[1];
    TRY(ALLOC(s->trace, n * faces));
    TRY(ALLOC(here, n * width));
    TRY(device_copy(device, &list, cells, (size_t)n, sizeof *cells));
    TRY(device_alloc(device, &there, (size_t)(n * width), sizeof *there));
    device_box_cells(device, &r->lanes->plan, &r->points->points, n, list, r->trace->data, r->u.data, there);
    TRY(device_download(device, here, there, (size_t)(n * width) * sizeof *here));
    for (int64_t i = 0; i < n; i++) {
        memcpy(s->u + i * h->cell_size, here + i * width, (size_t)h->cell_size * sizeof *here);
        memcpy(s->trace + i * faces, here + i * width + h->cell_size, (size_t)faces * sizeof *here);
    }
    if (q || star) TRY(boxhdg_solution_find_q(h, s));
    if (star) TRY(boxhdg_postprocess(h, s));
done:
    device_free(device, &list);
    device_free(device, &there);
    base_free(&here);
    if (status != FACET_OK) boxhdg_solution_destroy(s);
    return status;
}

/* An array of all cells to a solution: where it stands, or in a room of its own. */
static facet_status bring_array(const struct vector *v, double **room, double **array) {
    facet_status status = FACET_OK;
    TRY(device_alloc_room(v->device, room, (size_t)v->n, sizeof **room));
    *array = *room != NULL ? *room : v->data;
    if (*room != NULL) TRY(device_download(v->device, *room, v->data, (size_t)v->n * sizeof **room));
done:
    return status;
}

facet_status boxhdg_resident_bring(const struct boxhdg_resident *r, int q, int star,
                                   struct boxhdg_solution *s) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = r->hdg;
    boxhdg_solution_destroy(s);
    s->n_cells = h->grid.n_cells;
    TRY(ALLOC(s->trace, h->n_trace));
    TRY(bring_array(&r->loads, &s->rooms[0], &s->loads));
    TRY(bring_array(&r->u, &s->rooms[1], &s->u));
    TRY(boxhdg_lanes_unpack(r->lanes, BOXHDG_UNKNOWN, r->trace, s->trace));
    put_sides(r, BOX_DIRICHLET, s->trace);
    if (q || star) TRY(boxhdg_solution_find_q(h, s));
    if (star) TRY(boxhdg_postprocess(h, s));
done:
    if (status != FACET_OK) boxhdg_solution_destroy(s);
    return status;
}
