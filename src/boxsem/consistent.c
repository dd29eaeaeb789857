/* What goes through the sides of a box by the equations of continuous elements.
 *
 * With phi_i, the function of node i, the solution satisfies
 *
 *     r_i = (k grad u, grad phi_i) + (lambda u - f, phi_i) - <g, phi_i> on Neumann sides = 0
 *
 * at all nodes without Dirichlet values. At the others r_i is the flux in, weighed with phi_i, so that their
 * sum over the nodes of a side is what goes in there: see src/hdg/consistent.c, whose vertices are nodes
 * here. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxsem/cells.h"
#include "boxsem/levels.h"

/* Sums at the nodes with Dirichlet values, in the order of c->fixed. */
struct node_sums {
    double *rest;    /* r_i */
    double *through; /* <q.n, phi_i> over Dirichlet sides */
    double *area;    /* <1, phi_i> over them */
};

struct flux_job {
    const struct boxsem *c;
    double *u;      /* all nodes, read alone */
    double *slopes; /* 2 x n: at the ends of a line */
    struct node_sums sums;
};

static double *host_nodes(const struct boxsem *c) {
    return device_is_host(c->device) ? c->u.data : c->held.nodes;
}

static int is_at(const struct boxsem *c, const int at[3], int d, int side, enum box_side kind) {
    return at[d] == side * (c->grid.cells[d] - 1) && c->grid.sides[d][side] == kind;
}

/* The place in c->fixed of node i of a cell. */
static int64_t find_fixed(const struct boxsem *c, const int at[3], int64_t i) {
    int64_t node = 0, step = 1, low = 0, high = c->n_all - c->n_free;
    for (int d = 0; d < c->grid.dim; d++, i /= c->n) {
        node += step * ((at[d] * (int64_t)c->degree + i % c->n) % c->n_nodes[d]);
        step *= c->n_nodes[d];
    }
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        *(c->fixed[middle] <= node ? &low : &high) = middle;
    }
    return low;
}

/* Which node of a cell node i of its face is. */
static int64_t face_node(const struct boxsem *c, int d, int side, int64_t i) {
    const int64_t inner = box_power(c->n, d);
    return (i / inner * c->n + side * c->degree) * inner + i % inner;
}

/* Of a cell with nodal values u: <q.n, phi> and <1, phi> over a face, by its nodes. scratch: two rooms. */
static void face_moments(const struct boxsem *c, const double *slopes, const int at[3], int d, int side,
                         const double *u, double *scratch, double *through, double *area) {
    const struct box_grid *g = &c->grid;
    const int dim = g->dim, n = c->n, counts[3] = {n, n, n};
    const int64_t size = c->cell_size / n, inner = box_power(n, d);
    const double *const mass[3] = {c->element.mass, c->element.mass, c->element.mass};
    const double measure = box_cell_volume(g, at) / g->widths[d][at[d]],
                 k = box_conductivity(g, box_cell(g, at)), out = side ? -1.0 : 1.0;
    for (int which = 0; which < 2; which++) {
        double *values = scratch, *to = which ? area : through;
        for (int64_t i = 0; i < size; i++) {
            double slope = 0.0;
            for (int j = 0; j < n; j++)
                slope += slopes[side * n + j] * (u[(i / inner * n + j) * inner + i % inner] - u[0]);
            values[i] = which ? measure : out * measure * k / g->widths[d][at[d]] * slope;
        }
        memcpy(to,
               box_contract_all(dim - 1, counts, counts, mass, values, scratch + c->cell_size + BOX_SLACK),
               (size_t)size * sizeof *to);
    }
}

/* y = (k grad u, grad phi) + (lambda u, phi) of a cell; scratch: two rooms. */
static void apply_cell(const struct boxsem *c, int64_t cell, const int at[3], const double *u,
                       double *scratch, double *y) {
    const struct box_grid *g = &c->grid;
    const int counts[3] = {c->n, c->n, c->n};
    const double volume = box_cell_volume(g, at);
    memset(y, 0, (size_t)c->cell_size * sizeof *y);
    for (int d = 0; d <= g->dim; d++) {
        const int slope = d < g->dim;
        const double factor = slope ? box_conductivity(g, cell) * volume / pow(g->widths[d][at[d]], 2)
                                    : box_reaction(g, cell) * volume;
        const double *T[3] = {c->element.mass, c->element.mass, c->element.mass};
        if (slope) T[d] = c->element.stiffness;
        if (factor == 0.0) continue;
        for (int64_t i = 0; i < c->cell_size; i++) scratch[i] = u[i] - (slope ? u[0] : 0.0);
        const double *part =
            box_contract_all(g->dim, counts, counts, T, scratch, scratch + c->cell_size + BOX_SLACK);
        for (int64_t i = 0; i < c->cell_size; i++) y[i] += factor * part[i];
    }
}

static facet_status cell_work(int64_t cell, const int at[3], double *scratch, void *user) {
    const struct flux_job *job = user;
    const struct boxsem *c = job->c;
    const int64_t room = c->cell_size + BOX_SLACK, size = c->cell_size / c->n;
    double *u = scratch, *y = u + room, *through = y + room, *area = through + room, *rest = area + room;
    int done = 0; /* bits of sides */
    for (int d = 0; d < c->grid.dim; d++)
        for (int side = 0; side < 2; side++) {
            if (!is_at(c, at, d, side, BOX_DIRICHLET)) continue;
            if (done == 0) {
                boxsem_cell_move(c, at, BOXSEM_GATHER, job->u, u);
                apply_cell(c, cell, at, u, rest, y);
            }
            done |= 1 << (2 * d + side);
            face_moments(c, job->slopes, at, d, side, u, rest, through, area);
            for (int64_t i = 0; i < size; i++) {
                const int64_t node = face_node(c, d, side, i), place = find_fixed(c, at, node);
                job->sums.through[place] += through[i];
                job->sums.area[place] += area[i];
                job->sums.rest[place] += y[node];
                y[node] = 0.0; /* once, though it may be on several sides */
            }
        }
    return FACET_OK;
}

/* ------------------------------------------------------------------------------------------ one face */

/* The integral of g over a face of a cell. */
static facet_status given_flux(const struct boxsem *c, const struct box_given *given, int64_t cell,
                               const int at[3], int d, int side, double *flux) {
    facet_status status = FACET_OK;
    static const int kinds[3] = {0, 0, 0};
    const double measure = box_cell_volume(&c->grid, at) / c->grid.widths[d][at[d]];
    double *scratch = NULL, *integrals;
    *flux = 0.0;
    if (given->boundary[d][side] == NULL && given->exact == NULL) goto done;
    TRY(ALLOC(scratch, box_integrate_room(&c->fluxes.rule, c->grid.dim)));
    TRY(box_integrate(&c->fluxes.rule, kinds, &c->grid, given, cell, d, side, scratch, &integrals));
    for (int64_t i = 0; i < c->cell_size / c->n; i++) *flux -= measure * integrals[i];
done:
    base_free(&scratch);
    return status;
}

facet_status boxsem_face_flux(const struct boxsem *c, const struct box_given *given, int64_t cell, int d,
                              int side, double *flux) {
    facet_status status = FACET_OK;
    const int64_t room = c->cell_size + BOX_SLACK;
    double *u = NULL;
    int at[3];
    box_cell_at(&c->grid, cell, at);
    if (is_at(c, at, d, side, BOX_NEUMANN)) return given_flux(c, given, cell, at, d, side, flux);
    TRY(ALLOC(u, 5 * room));
    double *through = u + room, *area = through + room;
    boxsem_cell_move(c, at, BOXSEM_GATHER, host_nodes(c), u);
    face_moments(c, c->fluxes.slopes, at, d, side, u, area + room, through, area);
    *flux = 0.0;
    for (int64_t i = 0; i < c->cell_size / c->n; i++) {
        *flux += through[i];
        if (is_at(c, at, d, side, BOX_DIRICHLET))
            *flux += c->fluxes.lacks[find_fixed(c, at, face_node(c, d, side, i))] * area[i];
    }
done:
    base_free(&u);
    return status;
}

/* ------------------------------------------------------------------------------------------ all of them */

/* k u / h times the area of a face of a cell, at most: what rounding in a flux is relative to. */
static double flux_size(const struct boxsem *c, int64_t cell, const int at[3], int d, double *scratch) {
    const struct box_grid *g = &c->grid;
    double most = 0.0;
    boxsem_cell_move(c, at, BOXSEM_GATHER, host_nodes(c), scratch);
    for (int64_t i = 0; i < c->cell_size; i++) most = fmax(most, fabs(scratch[i]));
    return most * box_conductivity(g, cell) * box_cell_volume(g, at) / pow(g->widths[d][at[d]], 2);
}

/* The sum of the fluxes of all sides, of their moduli, and of the squares of their sizes. */
static facet_status sum_fluxes(const struct boxsem *c, const struct box_given *given, double sums[3]) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &c->grid;
    double *scratch = NULL;
    TRY(ALLOC(scratch, c->cell_size));
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        int at[3];
        box_cell_at(g, cell, at);
        for (int d = 0; d < g->dim; d++)
            for (int side = 0; side < 2; side++) {
                double flux;
                if (!is_at(c, at, d, side, BOX_DIRICHLET) && !is_at(c, at, d, side, BOX_NEUMANN)) continue;
                TRY(boxsem_face_flux(c, given, cell, d, side, &flux));
                sums[0] += flux;
                sums[1] += fabs(flux);
                sums[2] += pow(fabs(flux) + flux_size(c, cell, at, d, scratch), 2);
            }
    }
done:
    base_free(&scratch);
    return status;
}

/* What is left of the equations of nodes without Dirichlet values: the sum, and that of the moduli. */
static facet_status sum_rest(struct boxsem *c, double left[2]) {
    facet_status status = FACET_OK;
    struct vector u = {0}, r = {0};
    double *nodes = NULL;
    TRY(boxsem_levels_prepare(c->levels));
    TRY(vector_create_like(&c->u, &u));
    TRY(vector_create_like(&c->b, &r));
    vector_axpby(1.0, &c->u, 0.0, &u);
    TRY(boxsem_nodes_fix(c, NULL, &u));
    operator_residual(&c->levels->A, &c->b, &u, &r);
    TRY(boxsem_nodes_fix(c, NULL, &r));
    TRY(boxsem_nodes_open(&r, &nodes));
    if (c->u.seam != NULL) seam_clear_foreign(c->u.seam, nodes);
    for (int64_t i = 0; i < c->n_all; i++) {
        left[0] -= nodes[i];
        left[1] += fabs(nodes[i]);
    }
done:
    boxsem_nodes_close(&r, 0, &nodes);
    vector_destroy(&u);
    vector_destroy(&r);
    return status;
}

/* Sums at nodes become those of all blocks. */
static facet_status join(const struct boxsem *c, double *values) {
    facet_status status = FACET_OK;
    struct vector x = {0};
    if (c->u.seam == NULL) return FACET_OK;
    TRY(vector_create_like(&c->u, &x));
    vector_fill(&x, 0.0);
    for (int64_t i = 0; i < c->n_all - c->n_free; i++) x.data[c->fixed[i]] = values[i];
    seam_add(c->u.seam, &x);
    for (int64_t i = 0; i < c->n_all - c->n_free; i++) values[i] = x.data[c->fixed[i]];
done:
    vector_destroy(&x);
    return status;
}

static facet_status make_tables(struct boxsem *c) {
    facet_status status = FACET_OK;
    static const double ends[2] = {0.0, 1.0};
    double *values = NULL;
    if (c->fluxes.slopes != NULL) return FACET_OK;
    TRY(ALLOC(values, 2 * c->n));
    TRY(boxsem_samples_create(c, c->n + BOX_EXTRA_POINTS, &c->fluxes.rule));
    TRY(ALLOC(c->fluxes.lacks, c->n_all - c->n_free));
    TRY(ALLOC(c->fluxes.slopes, 2 * c->n));
    TRY(box_element_tables(&c->element, 2, ends, values, c->fluxes.slopes));
done:
    base_free(&values);
    if (status != FACET_OK) boxsem_fluxes_destroy(c);
    return status;
}

void boxsem_fluxes_destroy(struct boxsem *c) {
    box_samples_destroy(&c->fluxes.rule);
    base_free(&c->fluxes.lacks);
    base_free(&c->fluxes.slopes);
}

facet_status boxsem_find_fluxes(struct boxsem *c, const struct box_given *given) {
    facet_status status = FACET_OK;
    const int64_t n = c->n_all - c->n_free, room = c->cell_size + BOX_SLACK;
    struct flux_job job = {.c = c};
    double *loads = NULL, all[5] = {0.0}; /* as of sum_rest, then of sum_fluxes */
    if (c->fluxes.known) return FACET_OK;
    TRY(boxsem_fetch(c, 0, NULL));
    TRY(make_tables(c));
    TRY(ALLOC(loads, n));
    TRY(CALLOC(job.sums.rest, n));
    TRY(CALLOC(job.sums.through, n));
    TRY(CALLOC(job.sums.area, n));
    job.u = host_nodes(c);
    job.slopes = c->fluxes.slopes;
    if (n > 0) TRY(device_download(c->device, loads, c->fixed_loads, (size_t)n * sizeof *loads));
    TRY(box_for_cells(&c->grid, c->cell_size, 1, 6 * room, cell_work, &job));
    for (int64_t i = 0; i < n; i++) job.sums.rest[i] -= loads[i];
    TRY(join(c, job.sums.rest));
    TRY(join(c, job.sums.through));
    TRY(join(c, job.sums.area));
    for (int64_t i = 0; i < n; i++)
        c->fluxes.lacks[i] = -(job.sums.rest[i] + job.sums.through[i]) / job.sums.area[i];
    TRY(sum_rest(c, all));
    TRY(sum_fluxes(c, given, all + 2));
    if (c->grid.part != NULL) TRY(team_reduce(c->grid.part->team, TEAM_SUM, 5, all));
    c->fluxes.left = all[1];
    c->fluxes.balance = (struct solve_balance){.cells = -1.0,
                                               .missing = fabs(all[0]),
                                               .through = 0.5 * (all[3] + fabs(all[2])),
                                               .terms = sqrt(all[4])};
    c->fluxes.known = 1;
done:
    base_free(&loads);
    base_free(&job.sums.rest);
    base_free(&job.sums.through);
    base_free(&job.sums.area);
    return status;
}
