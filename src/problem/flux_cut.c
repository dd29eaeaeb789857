/* The flux through a part by the balance of cells behind it. A set S of cells that has all its faces balances
 * what goes through it against the rest of its surface,
 *
 *     (flux through the part) = (integral of f - lambda u over S) - (flux through all other faces of S),
 *
 * and every S gives the same number, but not with the same error: a face adds its weight times the error of u
 * (flux_bars.c). The best S ends where little can pass: at a contact that resists, in a layer of small K, at
 * sides whose condition says what goes through. It is looked for among those that begin at the part and end
 * at the faces below a threshold, decade by decade of the weights. In elasticity forces balance. */
#include "problem/flux_cut.h"
#include "problem/mapped_backend.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"

struct cut {
    const struct facet_solver *s;
    int version; /* of the solution that is looked at */
    const struct facet_mesh *mesh;
    int n, component;      /* of a flux; the one that is looked for */
    double *weights;       /* n_faces x 2: as the cell of either side sees it; the one of a cell that is not
                              here counts for nothing */
    int64_t *least, *most; /* n_faces: the bits of the smaller and of the larger weight of both sides */
    uint8_t *seeds;        /* n_faces: those of the part, but for the ones whose condition says all */
    uint8_t *flags;        /* n_faces: closed ones */
    uint8_t *inside;       /* n_cells: S */
    int32_t *piece;        /* n_cells */
    int64_t *marks;        /* n_faces x 2 */
    double *hold;          /* n_cells: the integral of the reaction */
};

/* Positive numbers in the order of their bits. */
static int64_t bits_of(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static double of_bits(int64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static int is_seam(const struct cut *c, int32_t f) {
    return c->mesh->face_cells[2 * (int64_t)f + 1] == MESH_SEAM;
}
/* A face that two ranks have counts on one of them. */
static int is_ours(const struct cut *c, int32_t f) {
    return !is_seam(c, f) || c->mesh->part->owns_face[f];
}

/* ------------------------------------------------------------------------------------------ set-up */

static int32_t face_number(const struct facet_mesh *mesh, struct mesh_group_face at) {
    const struct mesh_block *block = mesh_block_of(mesh, at.cell);
    return block->faces[(int64_t)(at.cell - block->first) * shape_n_faces(block->shape) + at.local];
}

/* The condition of every face of the boundary, -1 elsewhere. */
static facet_status find_conditions(const struct cut *c, int32_t *conditions) {
    const struct facet_mesh *mesh = c->mesh;
    for (int32_t f = 0; f < mesh->n_faces; f++)
        conditions[f] = mesh_is_box(mesh) ? -1 : c->s->resolved.face_condition[f];
    for (int g = 0; mesh_is_box(mesh) && g < mesh->n_groups; g++)
        for (int32_t i = 0; mesh->groups[g].dim == mesh->dim - 1 && i < mesh->groups[g].count; i++)
            conditions[face_number(mesh, mesh_group_face(mesh, &mesh->groups[g], i))] =
                flux_condition(c->s, &mesh->groups[g], i);
    return FACET_OK;
}

/* A contact lets its conductance through; where its sides lie on two ranks, the one with the second knows
 * both traces. */
static facet_status contact_weight(const struct cut *c, int32_t f, double area, const uint8_t *second,
                                   double weights[2]) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &c->s->resolved.data;
    const int64_t first = c->mesh->face_cells[2 * (int64_t)f];
    double x[3], J[9], h;
    if (data->face_contact == NULL || data->face_contact[f] < 0 || (is_seam(c, f) && !second[f]))
        return FACET_OK;
    mesh_middle(c->mesh, (int32_t)first, c->mesh->face_locals[2 * (int64_t)f], x, J);
    TRY(field_eval(data->contacts[data->face_contact[f]].conductance, 1, c->mesh->dim, x, &h));
    for (int side = 0; side < 2; side++) weights[side] = fmin(weights[side], h * area);
done:
    return status;
}

static facet_status weigh_faces(struct cut *c, const int32_t *conditions, const uint8_t *second) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = c->mesh;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        double *weights = c->weights + 2 * (int64_t)f;
        struct flux_face face = {0};
        weights[0] = weights[1] = DBL_MAX;
        for (int side = 0; side < 2; side++) {
            const int32_t cell = mesh->face_cells[2 * (int64_t)f + side];
            if (cell < 0) continue;
            const int32_t number = mesh_is_boundary(mesh, f) ? conditions[f] : -1;
            TRY(flux_face_weight(c->s, cell, mesh->face_locals[2 * (int64_t)f + side], c->component,
                                 number >= 0 ? &c->s->resolved.conditions[number] : NULL, &face));
            weights[side] = face.weight;
        }
        if (mesh_is_boundary(mesh, f) && conditions[f] < 0) weights[0] = 0.0; /* on the axis */
        TRY(contact_weight(c, f, face.area, second, weights));
        c->least[f] = -bits_of(fmin(weights[0], weights[1]));
        c->most[f] = bits_of(is_seam(c, f) ? weights[0] : fmin(weights[0], weights[1]));
    }
    TRY(mesh_merge_faces(mesh, 1, c->least));
    TRY(mesh_merge_faces(mesh, 1, c->most));
    for (int32_t f = 0; f < mesh->n_faces; f++) c->least[f] = -c->least[f];
done:
    return status;
}

static facet_status integrate_reaction(struct cut *c) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &c->s->resolved.data;
    for (int32_t cell = 0; cell < c->mesh->n_cells && data->reaction != NULL; cell++) {
        const struct field *field = data->reaction[flux_region(c->s, cell)];
        double x[3], J[9], lambda;
        if (field == NULL) continue;
        mesh_middle(c->mesh, cell, -1, x, J);
        TRY(field_eval(field, 1, c->mesh->dim, x, &lambda));
        double det = c->mesh->dim == 2
                         ? J[0] * J[3] - J[1] * J[2]
                         : J[0] * (J[4] * J[8] - J[5] * J[7]) - J[1] * (J[3] * J[8] - J[5] * J[6]) +
                               J[2] * (J[3] * J[7] - J[4] * J[6]);
        c->hold[cell] = lambda * fabs(det) * shape_measure(mesh_block_of(c->mesh, cell)->shape);
    }
done:
    return status;
}

static facet_status cut_create(struct cut *c, const struct sample_domain *where) {
    facet_status status = FACET_OK;
    const int64_t n_faces = c->mesh->n_faces, n_cells = c->mesh->n_cells;
    int32_t *conditions = NULL;
    uint8_t *second = NULL;
    TRY(ALLOC(c->weights, 2 * n_faces));
    TRY(ALLOC(c->least, n_faces));
    TRY(ALLOC(c->most, n_faces));
    TRY(CALLOC(c->seeds, n_faces));
    TRY(CALLOC(c->flags, n_faces));
    TRY(ALLOC(c->marks, 2 * n_faces));
    TRY(CALLOC(c->inside, n_cells));
    TRY(ALLOC(c->piece, n_cells));
    TRY(CALLOC(c->hold, n_cells));
    TRY(ALLOC(conditions, n_faces));
    TRY(CALLOC(second, n_faces));
    TRY(mesh_find_second_sides(c->mesh, second));
    TRY(find_conditions(c, conditions));
    TRY(weigh_faces(c, conditions, second));
    TRY(integrate_reaction(c));
    for (int k = 0; k < where->n; k++)
        for (int32_t i = 0; i < where->groups[k]->count; i++) {
            const int32_t f = face_number(c->mesh, mesh_group_face(c->mesh, where->groups[k], i));
            c->seeds[f] = c->least[f] > 0;
        }
done:
    base_free(&conditions);
    base_free(&second);
    return status;
}

static void cut_destroy(struct cut *c) {
    base_free(&c->weights);
    base_free(&c->least);
    base_free(&c->most);
    base_free(&c->seeds);
    base_free(&c->flags);
    base_free(&c->marks);
    base_free(&c->inside);
    base_free(&c->piece);
    base_free(&c->hold);
}

/* ------------------------------------------------------------------------------------------ sets of cells */

/* inside: the cells that hang together with those of the part where faces are not closed. */
static facet_status flood(struct cut *c) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = c->mesh;
    int64_t changed = 1;
    mesh_find_pieces_between(mesh, c->flags, c->piece);
    memset(c->inside, 0, (size_t)mesh->n_cells); /* of the first cells of pieces, until the end */
    for (int32_t f = 0; f < mesh->n_faces; f++)
        if (c->seeds[f]) c->inside[c->piece[mesh->face_cells[2 * (int64_t)f]]] = 1;
    while (mesh->part != NULL && changed) {
        changed = 0;
        for (int32_t f = 0; f < mesh->n_faces; f++)
            c->marks[f] =
                is_seam(c, f) && !c->flags[f] && c->inside[c->piece[mesh->face_cells[2 * (int64_t)f]]];
        TRY(mesh_merge_faces(mesh, 1, c->marks));
        for (int32_t f = 0; f < mesh->n_faces; f++) {
            uint8_t *inside = &c->inside[c->piece[mesh->face_cells[2 * (int64_t)f]]];
            if (!c->marks[f] || *inside) continue;
            *inside = 1;
            changed = 1;
        }
        TRY(team_reduce_counts(mesh->part->team, TEAM_MAX, 1, &changed));
    }
    for (int32_t cell = mesh->n_cells - 1; cell >= 0; cell--) c->inside[cell] = c->inside[c->piece[cell]];
done:
    return status;
}

/* marks: of every face whether a cell on one side is in S, and whether one is not. The outside of the mesh is
 * not in S. */
static facet_status mark_surface(struct cut *c) {
    const struct facet_mesh *mesh = c->mesh;
    const uint8_t *inside = c->inside;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        const int32_t *cells = mesh->face_cells + 2 * (int64_t)f;
        const int one = inside[cells[0]], other = cells[1] >= 0 ? inside[cells[1]] : is_seam(c, f) ? one : 0;
        c->marks[2 * (int64_t)f] = one || other;
        c->marks[2 * (int64_t)f + 1] = !one || !other;
    }
    return mesh_merge_faces(mesh, 2, c->marks);
}

static int on_surface(const struct cut *c, int32_t f) {
    return c->marks[2 * (int64_t)f] && c->marks[2 * (int64_t)f + 1] && !c->seeds[f];
}

/* The weight of the surface of `inside`, without the part itself, and of the reaction in it. */
static facet_status weigh_surface(struct cut *c, double *weight) {
    facet_status status = FACET_OK;
    double sums[2] = {0.0};
    TRY(mark_surface(c));
    for (int32_t f = 0; f < c->mesh->n_faces; f++)
        if (on_surface(c, f) && is_ours(c, f)) sums[0] += pow(of_bits(c->least[f]), 2);
    for (int32_t cell = 0; cell < c->mesh->n_cells; cell++)
        if (c->inside[cell]) sums[1] += c->hold[cell];
    TRY(team_reduce(mesh_team(c->mesh), TEAM_SUM, 2, sums));
    *weight = sqrt(sums[0] + sums[1] * sums[1]);
done:
    return status;
}

/* The decades in which faces inside of the mesh have weights, as bits. */
#define LOWEST    (-290)
#define N_DECADES 600
static facet_status find_decades(const struct cut *c, int64_t decades[N_DECADES]) {
    memset(decades, 0, N_DECADES * sizeof *decades);
    for (int32_t f = 0; f < c->mesh->n_faces; f++) {
        const double weight = of_bits(c->least[f]);
        if (mesh_is_boundary(c->mesh, f) || !(weight > 0.0)) continue;
        int decade = (int)floor(log10(weight)) - LOWEST;
        decades[decade < 0 ? 0 : decade >= N_DECADES ? N_DECADES - 1 : decade] = 1;
    }
    return team_reduce_counts(mesh_team(c->mesh), TEAM_MAX, N_DECADES, decades);
}

/* ------------------------------------------------------------------------------------------ the balance */

/* Whether this rank computes what goes through a face, and from which side: the one that knows it better. */
static int find_side(const struct cut *c, int32_t f, int *side) {
    const double *weights = c->weights + 2 * (int64_t)f;
    *side = weights[1] < weights[0];
    if (!is_seam(c, f) || c->least[f] == c->most[f]) return is_ours(c, f);
    return bits_of(weights[0]) == c->least[f];
}

/* sums: the components, then their moduli. */
static facet_status add_faces(const struct cut *c, double *sums) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = c->mesh;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int side;
        double flux[3];
        if (!on_surface(c, f) || !find_side(c, f, &side)) continue;
        const struct mesh_group_face at = {.cell = mesh->face_cells[2 * (int64_t)f + side],
                                           .local = mesh->face_locals[2 * (int64_t)f + side]};
        TRY(c->s->backend->face_fluxes(c->s, c->version, 1, &at, flux));
        for (int i = 0; i < c->n; i++) {
            sums[i] -= c->inside[at.cell] ? flux[i] : -flux[i];
            sums[c->n + i] += fabs(flux[i]);
        }
    }
done:
    return status;
}

/* The faces of the part itself that are what their condition says. */
static facet_status add_others(const struct cut *c, const struct sample_domain *where, double *sums) {
    facet_status status = FACET_OK;
    for (int k = 0; k < where->n; k++)
        for (int32_t i = 0; i < where->groups[k]->count; i++) {
            const struct mesh_group_face at = mesh_group_face(c->mesh, where->groups[k], i);
            double flux[3];
            if (c->seeds[face_number(c->mesh, at)]) continue;
            TRY(c->s->backend->face_fluxes(c->s, c->version, 1, &at, flux));
            for (int j = 0; j < c->n; j++) {
                sums[j] += flux[j];
                sums[c->n + j] += fabs(flux[j]);
            }
        }
done:
    return status;
}

/* The integrals of the source, at the points where the solve takes it. */
static facet_status add_source(const struct cut *c, double *sums) {
    facet_status status = FACET_OK;
    const struct facet_solver *s = c->s;
    const struct hdg_data *data = &s->resolved.data;
    const int dim = c->mesh->dim;
    const int64_t n_all = s->backend->n_points(s);
    double *x = NULL, *weights = NULL, *values = NULL;
    if (data->source == NULL) return FACET_OK;
    TRY(ALLOC(x, n_all * dim));
    TRY(ALLOC(weights, n_all));
    TRY(s->backend->points(s, x));
    TRY(s->backend->point_weights(s, weights));
    for (int64_t cell = 0, at = 0, n; cell < c->mesh->n_cells; cell++, at += n) {
        const int block = (int)(mesh_block_of(c->mesh, (int32_t)cell) - c->mesh->blocks);
        const struct field *f = data->source[flux_region(s, (int32_t)cell)];
        n = s->backend == &mapped_backend ? mapped_of(s)->hdg->space.blocks[block].source.n
                                          : n_all / c->mesh->n_cells;
        if (f == NULL || !c->inside[cell]) continue;
        if (values == NULL) TRY(ALLOC(values, n_all * c->n)); /* blocks differ in n */
        TRY(field_eval(f, (int)n, dim, x + at * dim, values));
        for (int64_t i = 0; i < n * c->n; i++) {
            const double part = weights[at + i / c->n] * values[i];
            sums[i % c->n] += data->equation->outward * part;
            sums[c->n + i % c->n] += fabs(part);
        }
    }
done:
    base_free(&x);
    base_free(&weights);
    base_free(&values);
    return status;
}

/* Minus the integral of lambda u, in cells of diffusion. */
static facet_status add_reaction(const struct cut *c, double *sums) {
    facet_status status = FACET_OK;
    const struct facet_solver *s = c->s;
    struct backend_points points = {0};
    double *x = NULL, *u = NULL, *lambda = NULL, *wJ = NULL;
    int block = -1;
    for (int32_t cell = 0; cell < c->mesh->n_cells; cell++) {
        const int own = (int)(mesh_block_of(c->mesh, cell) - c->mesh->blocks);
        if (!c->inside[cell] || c->hold[cell] == 0.0) continue;
        if (own != block) {
            backend_points_destroy(&points);
            TRY(s->backend->rule(s, block = own, &points));
            TRY(base_realloc(&x, (size_t)(points.n * c->mesh->dim), sizeof *x));
            TRY(base_realloc(&u, (size_t)points.n, sizeof *u));
            TRY(base_realloc(&lambda, (size_t)points.n, sizeof *lambda));
            TRY(base_realloc(&wJ, (size_t)points.n, sizeof *wJ));
        }
        s->backend->map(s, cell, &points, x);
        TRY(s->backend->weights(s, cell, &points, wJ));
        TRY(s->backend->evaluate(s, c->version, HDG_U, 1, &cell, &points, u));
        TRY(field_eval(s->resolved.data.reaction[flux_region(s, cell)], points.n, c->mesh->dim, x, lambda));
        for (int p = 0; p < points.n; p++) {
            sums[0] -= wJ[p] * lambda[p] * u[p];
            sums[c->n] += fabs(wJ[p] * lambda[p] * u[p]);
        }
    }
done:
    backend_points_destroy(&points);
    base_free(&x);
    base_free(&u);
    base_free(&lambda);
    base_free(&wJ);
    return status;
}

/* The data are those of the solve, and cells balance what goes through their faces. A reaction that varies
 * would have to be integrated as the solve does. In a body of revolution the stress around the axis takes
 * part in the balance of radial forces, so that the forces on the surface of S do not balance by themselves.
 */
static int can_balance(const struct facet_solver *s, int component) {
    const struct equation *e = s->resolved.data.equation;
    if (e->is_vector && s->resolved.data.plane == HDG_AXISYMMETRIC && component == 0) return 0;
    for (int r = 0; s->resolved.data.reaction != NULL && r < s->resolved.n_regions; r++)
        if (s->resolved.data.reaction[r] != NULL && !field_is_constant(s->resolved.data.reaction[r], NULL))
            return 0;
    return e->conserved != NULL && e->asymmetric == 0 && s->resolved.data.exact == NULL &&
           !s->resolved.is_turned && !s->has_source && s->backend != &boxsem_backend;
}

/* What goes through by the balance of `inside`, whose surface is marked, and the rounding of that sum. */
static facet_status balance(const struct cut *c, const struct sample_domain *where, double *flux,
                            double *rounding) {
    facet_status status = FACET_OK;
    double sums[6] = {0.0};
    TRY(add_faces(c, sums));
    TRY(add_others(c, where, sums));
    TRY(add_source(c, sums));
    TRY(add_reaction(c, sums));
    TRY(team_reduce(mesh_team(c->mesh), TEAM_SUM, 2 * c->n, sums));
    *rounding = 0.0;
    for (int i = 0; i < c->n; i++) {
        flux[i] = sums[i];
        *rounding = fmax(*rounding, 8.0 * DBL_EPSILON * sums[c->n + i]);
    }
done:
    return status;
}

/* And what it lacks. */
static facet_status balance_better(struct cut *c, const struct sample_domain *where, int better, double flux,
                                   double *lacks) {
    facet_status status = FACET_OK;
    double other[3], rounding;
    *lacks = 0.0;
    if (better == BACKEND_SOLVED) return FACET_OK;
    c->version = better;
    status = balance(c, where, other, &rounding);
    c->version = BACKEND_SOLVED;
    *lacks = FLUX_LACKS * fabs(other[c->component] - flux);
    return status;
}

/* A number and its doubt against the best so far, which the better one becomes. */
static void compare(double flux, double bar, struct flux_known *best) {
    const double difference = fabs(flux - best->flux), both = bar + best->bar;
    if (difference > 0.0) best->apart = fmax(best->apart, both > 0.0 ? difference / both : DBL_MAX);
    if (bar >= best->bar) return;
    best->bar = bar;
    best->flux = flux;
}

facet_status flux_by_cut(const struct facet_solver *s, const struct sample_domain *where, int n, double size,
                         struct flux_known *best) {
    facet_status status = FACET_OK;
    struct cut c = {.s = s, .mesh = s->problem->mesh, .n = n, .component = best->component};
    int64_t decades[N_DECADES];
    if (!can_balance(s, best->component)) return FACET_OK;
    TRY(mesh_need_lists(c.mesh));
    if (s->backend->fetch != NULL) TRY(s->backend->fetch(s, 0, NULL));
    TRY(cut_create(&c, where));
    TRY(find_decades(&c, decades));
    for (int d = N_DECADES - 1; d >= -1; d--) { /* what is no larger is closed, and in the end nothing */
        const double limit = d >= 0 ? pow(10.0, d + LOWEST + 1) : 0.0;
        double weight, rounding, lacks, flux[3];
        if (d >= 0 && !decades[d]) continue;
        for (int32_t f = 0; f < c.mesh->n_faces; f++) c.flags[f] = of_bits(c.least[f]) <= limit;
        TRY(flood(&c));
        TRY(weigh_surface(&c, &weight));
        TRY(balance(&c, where, flux, &rounding));
        TRY(balance_better(&c, where, best->better, flux[c.component], &lacks));
        const double bar = fmax(flux_doubt(s, weight, size, best->rest), lacks) + rounding;
        if (bar < best->bar) best->weight = weight;
        compare(flux[c.component], bar, best);
    }
done:
    cut_destroy(&c);
    return status;
}
