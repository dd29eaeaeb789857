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
#include "boxsem/element_nodes.h"
#include "boxsem/halved_boxes.h"

/* Cells of a row that are worked on together, at most, and so many of their nodal values. */
enum { MOST_LANES = 32, LANE_NUMBERS = 1024 };

/* Sums at the nodes with Dirichlet values, in the order of c->fixed. */
struct node_sums {
    double *rest;    /* r_i */
    double *through; /* <q.n, phi_i> over Dirichlet sides */
    double *area;    /* <1, phi_i> over them */
};

/* Below a node of direction d lies a line or a plane of nodes: all of them, and those with Dirichlet values.
 */
struct node_counts {
    int64_t all[3], fixed[3];
};

/* Sums at the nodes of the side at work, a plane of them with the lower direction fastest. */
struct plane {
    int d, side, s, t; /* normal; the directions of the plane, s < t */
    double *rest, *through;
    double *fluxes, *sizes; /* of faces: what goes through, and what rounding in that is relative to */
};

struct flux_job {
    const struct boxsem *c;
    const struct box_given *given;
    int lanes; /* faces that are worked on together */
    struct node_sums sums;
    struct node_counts below;
    struct plane at;
};

static struct node_counts count_nodes(const struct boxsem *c) {
    struct node_counts below = {.all = {1}};
    for (int d = 1; d < c->grid.dim; d++) {
        const int n = c->n_nodes[d - 1],
                  ends = boxsem_is_fixed(c, d - 1, 0) + boxsem_is_fixed(c, d - 1, n - 1);
        below.all[d] = n * below.all[d - 1];
        below.fixed[d] = ends * below.all[d - 1] + (n - ends) * below.fixed[d - 1];
    }
    return below;
}

/* The place in c->fixed of a node on a Dirichlet side: how many come before it. */
static int64_t find_fixed(const struct boxsem *c, const struct node_counts *below, const int node[3]) {
    int64_t place = 0;
    for (int d = c->grid.dim - 1, whole = 0; d >= 0; d--) {
        const int64_t each = whole ? below->all[d] : below->fixed[d];
        place += node[d] * each + (node[d] > 0 && boxsem_is_fixed(c, d, 0) ? below->all[d] - each : 0);
        whole |= boxsem_is_fixed(c, d, node[d]);
    }
    return place;
}

/* ------------------------------------------------------------------------------------------ one face */

/* k / h^2 times the volume of a cell. */
static double stiffness(const struct boxsem *c, const int at[3], int d) {
    const struct box_grid *g = &c->grid;
    const double h = g->widths[d][at[d]];
    return box_conductivity(g, box_cell(g, at)) * box_cell_volume(g, at) / (h * h);
}

/* Some cells of a row behind faces of one side, a cell in every lane: entry i of cell l is [i * lanes + l].
 */
struct lanes {
    int n, d, side;
    double *u;               /* nodal values */
    double *through, *rest;  /* <q.n, phi> and (k grad u, grad phi) + (lambda u, phi) at the nodes of faces */
    double *stiff, *reacted; /* 3 x n: stiffness(); n: lambda times the volume */
    double *scratch;
};

static int64_t lane_room(const struct boxsem *c) {
    return 2 * c->cell_size + 11 * (c->cell_size / c->n) + 4;
}

/* room: n x lane_room numbers and 4 BOX_SLACK. */
static struct lanes lanes_in(const struct boxsem *c, int n, int d, int side, double *room) {
    const int64_t size = n * (c->cell_size / c->n);
    struct lanes x = {.n = n, .d = d, .side = side, .u = room};
    x.through = x.u + n * c->cell_size;
    x.rest = x.through + size;
    x.stiff = x.rest + size;
    x.reacted = x.stiff + 3 * (int64_t)n;
    x.scratch = x.reacted + n;
    return x;
}

/* Returns k u / h times the area of the face, at most: what rounding in its flux is relative to. */
static double take_lane(const struct boxsem *c, const int at[3], int l, struct lanes *x) {
    double *u = x->scratch, most = 0.0;
    boxsem_cell_move(c, at, BOXSEM_GATHER, c->held.nodes, u);
    for (int64_t i = 0; i < c->cell_size; i++) {
        x->u[i * x->n + l] = u[i];
        most = fmax(most, fabs(u[i]));
    }
    for (int d = 0; d < c->grid.dim; d++) x->stiff[d * x->n + l] = stiffness(c, at, d);
    x->reacted[l] = box_reaction(&c->grid, box_cell(&c->grid, at)) * box_cell_volume(&c->grid, at);
    return most * x->stiff[x->d * x->n + l];
}

/* y += factors x, by lanes. */
static void add_scaled(int64_t size, int n, double sign, const double *factors, const double *x, double *y) {
    for (int64_t i = 0; i < size; i++)
        for (int l = 0; l < n; l++) y[i * n + l] += sign * factors[l] * x[i * n + l];
}

/* Across the face the functions are the one of that end of a line, so that lines become one number each
 * before the rest is done; a constant is taken off u where it does not count. */
static void find_moments(const struct boxsem *c, struct lanes *x) {
    enum { THROUGH, REST, U, N_KINDS };
    const int n = c->n;
    const int64_t size = c->cell_size / n, all = size * x->n, inner = box_power(n, x->d) * x->n;
    const double *rows = c->fluxes.rows + 3 * x->side * n, *across = x->stiff + x->d * x->n;
    double *less = x->scratch, *raw = less + c->cell_size * x->n + BOX_SLACK,
           *kinds = raw + N_KINDS * all + BOX_SLACK, *next = kinds + N_KINDS * all + BOX_SLACK;
    for (int64_t i = 0; i < c->cell_size; i++)
        for (int l = 0; l < x->n; l++) less[i * x->n + l] = x->u[i * x->n + l] - x->u[l];
    for (int kind = 0; kind < N_KINDS; kind++)
        box_contract(all / inner, 1, n, inner, rows + kind * n, less, n * inner, raw + kind * all, inner);
    memset(kinds, 0, 2 * (size_t)all * sizeof *kinds);
    memcpy(kinds + U * all, raw + U * all, (size_t)all * sizeof *kinds);
    add_scaled(size, x->n, x->side ? -1.0 : 1.0, across, raw + THROUGH * all, kinds + THROUGH * all);
    add_scaled(size, x->n, 1.0, across, raw + REST * all, kinds + REST * all);
    for (int64_t i = 0; i < all; i++)
        raw[U * all + i] += c->fluxes.moments[x->side * c->degree] * x->u[i % x->n];
    add_scaled(size, x->n, 1.0, x->reacted, raw + U * all, kinds + REST * all);
    for (int64_t t = 0, step = x->n; t < c->grid.dim; t++) {
        if (t == x->d) continue;
        double *from = kinds;
        box_contract(N_KINDS * all / (n * step), n, n, step, c->element.mass, from, n * step, next, n * step);
        box_contract(all / (n * step), n, n, step, c->element.stiffness, from + U * all, n * step, raw,
                     n * step);
        add_scaled(size, x->n, 1.0, x->stiff + t * x->n, raw, next + REST * all);
        kinds = next;
        next = from;
        step *= n;
    }
    memcpy(x->through, kinds + THROUGH * all, (size_t)all * sizeof *kinds);
    memcpy(x->rest, kinds + REST * all, (size_t)all * sizeof *kinds);
}

/* ------------------------------------------------------------------------------------------ faces of a side
 */

static int is_dirichlet(const struct flux_job *job) {
    return job->c->grid.sides[job->at.d][job->at.side] == BOX_DIRICHLET;
}

/* The plane of side number i, 2 d + side; sizes: room for those of its faces. */
static void enter_side(struct flux_job *job, int i, double *sizes) {
    const int d = i / 2;
    job->at.d = d;
    job->at.side = i % 2;
    job->at.s = d == 0;
    job->at.t = d == 2 ? 1 : 2;
    job->at.fluxes = job->c->fluxes.sides[d][i % 2];
    job->at.sizes = sizes;
}

/* Rows of faces as the cells of a box: those of neighbours are never at work together. */
static facet_status for_rows(struct flux_job *job, box_work work) {
    const struct boxsem *c = job->c;
    const int64_t room = job->lanes * lane_room(c) + 4 * BOX_SLACK;
    struct box_grid rows = c->grid;
    rows.cells[job->at.d] = rows.cells[job->at.s] = 1;
    rows.n_cells = rows.cells[job->at.t];
    return box_for_cells(&rows, c->grid.cells[job->at.s] * c->cell_size, 1, room, work, job);
}

/* Node i, j of a face in its plane. */
static int64_t plane_node(const struct flux_job *job, const int at[3], int i, int j) {
    const struct boxsem *c = job->c;
    const int s = job->at.s, t = job->at.t;
    return boxsem_around(c, t, at[t] * c->degree + j) * (int64_t)c->n_nodes[s] +
           boxsem_around(c, s, at[s] * c->degree + i);
}

static int n_along(const struct boxsem *c, int d) {
    return d < c->grid.dim ? c->n : 1;
}

/* Adds what cell l gives to the nodes of its face; returns what goes through by u alone. */
static double add_lane(const struct flux_job *job, const int at[3], int l, const struct lanes *x) {
    const struct boxsem *c = job->c;
    double flux = 0.0;
    for (int j = 0, k = l; j < n_along(c, job->at.t); j++)
        for (int i = 0; i < n_along(c, job->at.s); i++, k += x->n) {
            const int64_t node = plane_node(job, at, i, j);
            job->at.through[node] += x->through[k];
            job->at.rest[node] += x->rest[k];
            flux += x->through[k];
        }
    return flux;
}

static facet_status add_row(int64_t row, const int place[3], double *scratch, void *user) {
    const struct flux_job *job = user;
    const struct boxsem *c = job->c;
    const int d = job->at.d, s = job->at.s, cells = c->grid.cells[s];
    int at[3] = {place[0], place[1], place[2]};
    at[d] = job->at.side * (c->grid.cells[d] - 1);
    for (int first = 0; first < cells; first += job->lanes) {
        const int n = cells - first < job->lanes ? cells - first : job->lanes;
        struct lanes x = lanes_in(c, n, d, job->at.side, scratch);
        const int64_t face = row * cells + first;
        for (int l = 0; l < n; l++) {
            at[s] = first + l;
            job->at.sizes[face + l] = take_lane(c, at, l, &x);
        }
        if (!is_dirichlet(job)) continue;
        find_moments(c, &x);
        for (int l = 0; l < n; l++) {
            at[s] = first + l;
            job->at.fluxes[face + l] = add_lane(job, at, l, &x);
        }
    }
    return FACET_OK;
}

/* Adds what fluxes lack: `rest` is that by nodes, as a density. */
static facet_status complete_row(int64_t row, const int place[3], double *scratch, void *user) {
    const struct flux_job *job = user;
    const struct boxsem *c = job->c;
    const int s = job->at.s, t = job->at.t;
    int at[3] = {place[0], place[1], place[2]};
    (void)scratch;
    at[job->at.d] = job->at.side * (c->grid.cells[job->at.d] - 1);
    for (at[s] = 0; at[s] < c->grid.cells[s]; at[s]++) {
        double sum = 0.0;
        for (int j = 0, k = 0; j < n_along(c, t); j++)
            for (int i = 0; i < n_along(c, s); i++, k++)
                sum += c->fluxes.weights[k] * job->at.rest[plane_node(job, at, i, j)];
        job->at.fluxes[row * c->grid.cells[s] + at[s]] +=
            sum * box_cell_volume(&c->grid, at) / c->grid.widths[job->at.d][at[job->at.d]];
    }
    return FACET_OK;
}

/* From the plane of a Dirichlet side to the sums of all nodes, whose rest counts on the first of their sides;
 * back: what the plane is to have as `rest`. */
static void exchange(struct flux_job *job, int back) {
    const struct boxsem *c = job->c;
    const struct plane *p = &job->at;
    int node[3];
    node[p->d] = p->side * (c->n_nodes[p->d] - 1);
    for (int64_t k = 0, j = 0; j < c->n_nodes[p->t]; j++)
        for (int i = 0; i < c->n_nodes[p->s]; i++, k++) {
            node[p->s] = i;
            node[p->t] = (int)j;
            const int64_t place = find_fixed(c, &job->below, node);
            int first = 1;
            if (back) {
                p->rest[k] = job->sums.rest[place];
                continue;
            }
            for (int d = 0; d < p->d; d++) first &= !boxsem_is_fixed(c, d, node[d]);
            if (first) job->sums.rest[place] += p->rest[k];
            job->sums.through[place] += p->through[k];
            job->sums.area[place] += c->moments[p->s][i] * c->moments[p->t][j];
        }
}

/* The fluxes of a side where they are given. */
static facet_status take_given(struct flux_job *job) {
    facet_status status = FACET_OK;
    const struct boxsem *c = job->c;
    const int d = job->at.d, side = job->at.side;
    const int64_t n = c->grid.n_cells / c->grid.cells[d], size = c->cell_size / c->n;
    double *faces = NULL;
    memset(job->at.fluxes, 0, (size_t)n * sizeof *faces);
    if (job->given->boundary[d][side] == NULL && job->given->exact == NULL) return FACET_OK;
    TRY(ALLOC(faces, n * size));
    TRY(box_integrate_side(&c->fluxes.rule, NULL, &c->grid, job->given, d, side, 1, faces));
    for (int64_t i = 0; i < n * size; i++) job->at.fluxes[i / size] -= faces[i];
done:
    base_free(&faces);
    return status;
}

static int64_t count_faces(const struct boxsem *c, int i) {
    return c->fluxes.sides[i / 2][i % 2] != NULL ? c->grid.n_cells / c->grid.cells[i / 2] : 0;
}

/* Fluxes by u alone and the sums of nodes; or, with those known, what the fluxes lack. */
static facet_status visit_sides(struct flux_job *job, int lacks, double *sizes) {
    facet_status status = FACET_OK;
    const struct boxsem *c = job->c;
    for (int i = 0; i < 2 * c->grid.dim; sizes += count_faces(c, i), i++) {
        const size_t bytes = (size_t)(c->n_all / c->n_nodes[i / 2]) * sizeof(double);
        enter_side(job, i, sizes);
        if (job->at.fluxes == NULL || (lacks && !is_dirichlet(job))) continue;
        memset(job->at.rest, 0, bytes);
        memset(job->at.through, 0, bytes);
        if (lacks) exchange(job, 1);
        if (!is_dirichlet(job)) TRY(take_given(job));
        TRY(for_rows(job, lacks ? complete_row : add_row));
        if (!lacks && is_dirichlet(job)) exchange(job, 0);
    }
done:
    return status;
}

facet_status boxsem_face_flux(const struct boxsem *c, int64_t cell, int d, int side, double *flux) {
    facet_status status = FACET_OK;
    double *room = NULL;
    int at[3];
    box_cell_at(&c->grid, cell, at);
    if (at[d] == side * (c->grid.cells[d] - 1) && c->fluxes.sides[d][side] != NULL) {
        const int s = d == 0, t = d == 2 ? 1 : 2;
        *flux = c->fluxes.sides[d][side][(int64_t)at[t] * c->grid.cells[s] + at[s]];
        return FACET_OK;
    }
    TRY(ALLOC(room, lane_room(c) + 4 * BOX_SLACK));
    struct lanes x = lanes_in(c, 1, d, side, room);
    take_lane(c, at, 0, &x);
    find_moments(c, &x);
    *flux = 0.0;
    for (int64_t i = 0; i < c->cell_size / c->n; i++) *flux += x.through[i];
done:
    base_free(&room);
    return status;
}

/* ------------------------------------------------------------------------------------------ all of them */

/* The sum of the fluxes of all sides, of their moduli, and of the squares of their sizes. */
static void sum_fluxes(const struct boxsem *c, const double *sizes, double sums[3]) {
    for (int i = 0; i < 2 * c->grid.dim; i++)
        for (int64_t face = 0; face < count_faces(c, i); face++) {
            const double flux = c->fluxes.sides[i / 2][i % 2][face], size = fabs(flux) + *sizes++;
            sums[0] += flux;
            sums[1] += fabs(flux);
            sums[2] += size * size;
        }
}

/* So many times the mean square of rounding that has no sign. */
#define SPREAD 4.0

/* What is left of the equations of nodes without Dirichlet values: the sum, and that of the moduli, with what
 * rounding may have left there. A copy of u has zeros on fixed nodes, since others may be reading u. */
static facet_status sum_rest(struct boxsem *c, double left[2]) {
    facet_status status = FACET_OK;
    struct vector r = {0}, u = {0}, rough = {0};
    double *nodes = NULL;
    TRY(vector_create_like(&c->b, &rough));
    TRY(boxsem_levels_prepare(c->levels));
    TRY(vector_create_like(&c->b, &r));
    TRY(vector_create_like(&c->u, &u));
    vector_axpby(1.0, &c->u, 0.0, &u);
    TRY(boxsem_nodes_fix(c, NULL, &u));
    operator_residual(&c->levels->A, &c->b, &u, &r);
    TRY(boxsem_nodes_fix(c, NULL, &r));
    TRY(boxsem_nodes_open(&r, &nodes));
    if (c->u.seam != NULL) seam_clear_foreign(c->u.seam, nodes);
    boxsem_add_up(c, nodes, left);
    left[0] = -left[0];
    if (!boxsem_knows_rounding(c)) goto done;
    TRY(boxsem_draw_rounding(c, 0, &u, &rough));
    left[1] += SPREAD * vector_norm(&rough);
done:
    boxsem_nodes_close(&r, 0, &nodes);
    vector_destroy(&rough);
    vector_destroy(&r);
    vector_destroy(&u);
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

/* Tables, and room for the fluxes of the sides with conditions. */
static facet_status make_tables(struct boxsem *c) {
    facet_status status = FACET_OK;
    static const double ends[2] = {0.0, 1.0};
    struct boxsem_fluxes *f = &c->fluxes;
    const int n = c->n, size = (int)(c->cell_size / n);
    double *values = NULL, *slopes;
    if (f->rows != NULL) return FACET_OK;
    TRY(ALLOC(values, 4 * n));
    slopes = values + 2 * n;
    TRY(boxsem_samples_create(c, n + BOX_EXTRA_POINTS, &f->rule));
    TRY(box_element_tables(&c->element, 2, ends, values, slopes));
    TRY(CALLOC(f->moments, n + size));
    f->weights = f->moments + n;
    for (int i = 0; i < n * n; i++) f->moments[i / n] += c->element.mass[i];
    for (int i = 0; i < size; i++)
        f->weights[i] =
            (c->grid.dim > 1 ? f->moments[i % n] : 1.0) * (c->grid.dim > 2 ? f->moments[i / n] : 1.0);
    for (int i = 0; i < 2 * c->grid.dim; i++)
        if (c->grid.sides[i / 2][i % 2] == BOX_DIRICHLET || c->grid.sides[i / 2][i % 2] == BOX_NEUMANN)
            TRY(ALLOC(f->sides[i / 2][i % 2], c->grid.n_cells / c->grid.cells[i / 2]));
    TRY(ALLOC(f->rows, 6 * n));
    for (int side = 0; side < 2; side++) {
        const size_t row = (size_t)(side * c->degree * n), bytes = (size_t)n * sizeof *values;
        memcpy(f->rows + 3 * side * n, slopes + side * n, bytes);
        memcpy(f->rows + (3 * side + 1) * n, c->element.stiffness + row, bytes);
        memcpy(f->rows + (3 * side + 2) * n, c->element.mass + row, bytes);
    }
done:
    base_free(&values);
    if (status != FACET_OK) boxsem_fluxes_destroy(c);
    return status;
}

void boxsem_fluxes_destroy(struct boxsem *c) {
    box_samples_destroy(&c->fluxes.rule);
    for (int i = 0; i < 6; i++) base_free(&c->fluxes.sides[i / 2][i % 2]);
    base_free(&c->fluxes.moments);
    base_free(&c->fluxes.rows);
}

facet_status boxsem_find_fluxes(struct boxsem *c, const struct box_given *given) {
    facet_status status = FACET_OK;
    const int64_t n = c->n_all - c->n_free;
    struct flux_job job = {.c = c, .given = given, .below = count_nodes(c)};
    double *loads = NULL, *sizes = NULL, all[5] = {0.0}; /* as of sum_rest, then of sum_fluxes */
    int64_t n_faces = 0, n_plane = 0;
    if (c->fluxes.known) return FACET_OK;
    TRY(boxsem_fetch(c, 0, NULL));
    TRY(make_tables(c));
    for (int i = 0; i < 2 * c->grid.dim; i++) {
        n_faces += count_faces(c, i);
        if (c->n_all / c->n_nodes[i / 2] > n_plane) n_plane = c->n_all / c->n_nodes[i / 2];
    }
    job.lanes = LANE_NUMBERS / c->cell_size < 1 ? 1 : (int)fmin(MOST_LANES, LANE_NUMBERS / c->cell_size);
    TRY(ALLOC(job.at.rest, 2 * n_plane));
    job.at.through = job.at.rest + n_plane;
    TRY(ALLOC(sizes, n_faces));
    TRY(ALLOC(loads, n));
    TRY(CALLOC(job.sums.rest, n));
    TRY(CALLOC(job.sums.through, n));
    TRY(CALLOC(job.sums.area, n));
    if (n > 0) TRY(device_download(c->device, loads, c->fixed_loads, (size_t)n * sizeof *loads));
    TRY(visit_sides(&job, 0, sizes));
    for (int64_t i = 0; i < n; i++) job.sums.rest[i] -= loads[i];
    TRY(join(c, job.sums.rest));
    TRY(join(c, job.sums.through));
    TRY(join(c, job.sums.area));
    for (int64_t i = 0; i < n; i++)
        job.sums.rest[i] = -(job.sums.rest[i] + job.sums.through[i]) / job.sums.area[i];
    TRY(visit_sides(&job, 1, sizes));
    TRY(sum_rest(c, all));
    sum_fluxes(c, sizes, all + 2);
    if (c->grid.part != NULL) TRY(team_reduce(c->grid.part->team, TEAM_SUM, 5, all));
    c->fluxes.left = all[1];
    c->fluxes.balance = (struct solve_balance){.cells = -1.0,
                                               .missing = fabs(all[0]),
                                               .through = 0.5 * (all[3] + fabs(all[2])),
                                               .terms = sqrt(all[4])};
    c->fluxes.known = 1;
done:
    base_free(&loads);
    base_free(&sizes);
    base_free(&job.at.rest);
    base_free(&job.sums.rest);
    base_free(&job.sums.through);
    base_free(&job.sums.area);
    return status;
}
