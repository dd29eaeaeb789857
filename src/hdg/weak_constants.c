/* Pieces of a mesh that no Dirichlet part holds, only a reaction or Robin's a, and these so weakly that
 * rounding in K decides about the constant of u. All but that constant is right: K's rounding of a constant
 * is in the constant, whatever it is. So the constant is found anew, from the balance of the piece,
 *
 *     integral of f, g - reaction u - a u^  =  c (integral of the reaction and of a),
 *
 * whose sides are integrals of the data: no product with K, whose rounding is larger than a small reaction.
 * With an exact solution f and g are replaced by its own reaction u + a u^: numbers that nearly balance are
 * not subtracted. A constant that is large beside the rest of u would drown it in rounding: where the mesh is
 * one piece and the reaction one number, it is taken off the data before the solve. A piece that nothing
 * holds is refused. */
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/hdg_null_space.h"

/* Of hold length^2 / (K volume): up to here the constant is found anew; K being the smallest of all cells,
 * what holds it is nothing to the rest of u, and a factor of K needs help. It needs that too where a factor
 * cannot see what holds it, and then the rest of u lacks it. */
#define WEAK            1e-3
#define NEARLY_SINGULAR 1e-9
#define INVISIBLE       1e-12

void hdg_weak_constants_destroy(struct hdg_weak_constants *weak) {
    base_free(&weak->cell_piece);
    base_free(&weak->face_piece);
    base_free(&weak->hold);
    base_free(&weak->face_hold);
    base_free(&weak->ratio);
    *weak = (struct hdg_weak_constants){0};
}

/* ------------------------------------------------------------------------------ what holds the pieces */

/* Of every cell. */
struct held {
    double hold, volume, stiffness; /* integrals of the reaction and of a; a diagonal entry of K */
    double softest;                 /* the smallest of these */
    double robin[SHAPE_MAX_FACES];  /* the part of a of every face in hold */
};

static facet_status hold_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int dim = h->data.mesh->dim;
    struct held *held = (struct held *)user + h->data.mesh->blocks[block].first + cell;
    double largest = 0.0;
    *held = (struct held){0};
    TRY(local_begin(l, block, cell));
    TRY(local_place(
        local_reaction(&h->data, local_region(&h->data, block, cell), b->cell.n, l->geometry.x, l->values),
        l));
    for (int q = 0; q < b->cell.n; q++) {
        held->hold += l->geometry.wJ[q] * l->values[q];
        held->volume += l->geometry.wJ[q];
    }
    TRY(local_conductivity(l, local_region(&h->data, block, cell), 1, l->geometry.x, l->values));
    held->stiffness = held->softest = fabs(l->values[0]);
    for (int f = 0; f < b->n_faces; f++) {
        const struct rule *rule = &hdg_face_of(&b->boundary, f)->rule;
        int found;
        TRY(local_robin(l, f, &found, &largest));
        for (int q = 0; found && q < rule->n; q++)
            held->robin[f] += l->values[q] * copysign(local_norm(dim, l->normal + q * dim), rule->w[q]);
        held->hold += held->robin[f];
    }
done:
    return status;
}

/* Flags of the pieces that a Dirichlet part holds. */
static void mark_fixed(const struct hdg *h, const int32_t *piece, int64_t *fixed) {
    const struct facet_mesh *mesh = h->data.mesh;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t c = h->data.face_condition[f];
        if (c >= 0 && h->data.conditions[c].kind == HDG_DIRICHLET)
            fixed[piece[mesh->face_cells[2 * (int64_t)f]]] = 1;
    }
}

/* What holds the pieces, from that of their cells (sum), over all parts of the mesh. */
static facet_status sum_up(const struct hdg *h, const int32_t *piece, int n, const struct held *cells,
                           struct held *pieces) {
    facet_status status = FACET_OK;
    struct base_team *team = mesh_team(h->data.mesh);
    for (int i = 0; i < n; i++) pieces[i] = (struct held){.softest = INFINITY};
    for (int32_t c = 0; c < h->data.mesh->n_cells; c++) {
        struct held *p = &pieces[piece[c]];
        p->hold += cells[c].hold;
        p->volume += cells[c].volume;
        p->stiffness = fmax(p->stiffness, cells[c].stiffness);
        p->softest = fmin(p->softest, cells[c].softest);
    }
    for (int i = 0; team != NULL && i < n; i++) {
        double sums[2] = {pieces[i].hold, pieces[i].volume},
               most[2] = {pieces[i].stiffness, -pieces[i].softest};
        TRY(team_reduce(team, TEAM_SUM, 2, sums));
        TRY(team_reduce(team, TEAM_MAX, 2, most));
        pieces[i] =
            (struct held){.hold = sums[0], .volume = sums[1], .stiffness = most[0], .softest = -most[1]};
    }
done:
    return status;
}

/* The weak ones among n pieces, numbered. */
static facet_status choose(const struct hdg *h, const int32_t *piece, int n, const int64_t *fixed,
                           const struct held *held, struct hdg_weak_constants *weak) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct mesh_quality quality;
    double square = 0.0;
    int *numbers = NULL;
    TRY(mesh_measure_size(mesh, &quality));
    for (int d = 0; d < mesh->dim; d++) square += pow(quality.upper[d] - quality.lower[d], 2);
    TRY(ALLOC(numbers, n));
    TRY(ALLOC(weak->cell_piece, mesh->n_cells));
    TRY(ALLOC(weak->hold, n));
    TRY(ALLOC(weak->ratio, n));
    for (int i = 0; i < n; i++) {
        const struct held *p = &held[i];
        numbers[i] = -1;
        if (fixed[i]) continue;
        if (p->hold == 0.0) {
            char place[MESH_PLACE_BYTES];
            TRY(mesh_piece_text(mesh, piece, i, place));
            FAIL(FACET_ERROR_INPUT,
                 "the mesh falls into %d unconnected pieces, and the one with the cell at %s is held by "
                 "nothing: it has no Dirichlet part, and the reaction and Robin's a are zero there",
                 n, place);
        }
        double ratio = p->hold * square / (p->stiffness * p->volume);
        if (!(ratio < WEAK)) continue;
        weak->whole = n == 1;
        weak->nearly_singular = weak->whole && ratio < NEARLY_SINGULAR;
        weak->softest = ratio * p->stiffness / p->softest;
        weak->negligible = weak->nearly_singular && (weak->softest < NEARLY_SINGULAR || ratio < INVISIBLE);
        weak->hold[weak->n] = p->hold;
        weak->ratio[weak->n] = ratio;
        numbers[i] = weak->n++;
    }
    for (int32_t c = 0; c < mesh->n_cells; c++) weak->cell_piece[c] = numbers[piece[c]];
    if (weak->n == 0) hdg_weak_constants_destroy(weak);
done:
    base_free(&numbers);
    return status;
}

/* What u on the faces of the trace, or at its vertices, has to do with the constant: of the reaction, as if u
 * in a cell were the mean around it, and of a. */
static facet_status share_hold(const struct hdg *h, const struct held *cells, double **face_hold) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    TRY(CALLOC(*face_hold, h->trace.n_faces));
    for (int b = 0; b < mesh->n_blocks; b++) {
        const enum shape shape = mesh->blocks[b].shape;
        const int n_faces = shape_n_faces(shape), at_vertices = !h->data.equation->by_faces;
        const int n = at_vertices ? shape_n_vertices(shape) : n_faces;
        for (int32_t cell = 0; cell < mesh->blocks[b].count; cell++) {
            const struct held *held = &cells[mesh->blocks[b].first + cell];
            const int32_t *slots = h->trace.faces[b] + (int64_t)cell * h->trace.n_slots[b];
            double reaction = held->hold;
            for (int f = 0; f < n_faces; f++) {
                const int m = at_vertices ? shape_n_vertices(shape_face_shape(shape, f)) : 1;
                reaction -= held->robin[f];
                for (int i = 0; i < m && held->robin[f] != 0.0; i++)
                    (*face_hold)[slots[at_vertices ? shape_face_vertices(shape, f)[i] : f]] +=
                        held->robin[f] / m;
            }
            if (h->data.reaction == NULL) continue;
            for (int i = 0; i < n; i++) (*face_hold)[slots[i]] += reaction / n;
        }
    }
done:
    return status;
}

facet_status hdg_weak_constants_find(const struct hdg *h, struct hdg_weak_constants *weak) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    int32_t *piece = NULL, n = 0;
    int64_t *fixed = NULL;
    struct held *cells = NULL, *held = NULL;
    int loose = 0;
    hdg_weak_constants_destroy(weak);
    if (!h->data.equation->floats || h->singular) return FACET_OK;
    TRY(ALLOC(piece, mesh->n_cells));
    mesh_find_pieces(mesh, piece);
    TRY(mesh_number_pieces(mesh, piece, &n));
    TRY(CALLOC(fixed, n));
    mark_fixed(h, piece, fixed);
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, n, fixed));
    for (int i = 0; i < n; i++) loose |= !fixed[i];
    if (!loose) goto done;
    TRY(ALLOC(cells, mesh->n_cells));
    TRY(ALLOC(held, n));
    TRY(local_for_all_cells(h, hold_work, cells));
    TRY(sum_up(h, piece, n, cells, held));
    TRY(choose(h, piece, n, fixed, held, weak));
    if (weak->n == 0) goto done;
    TRY(share_hold(h, cells, &weak->face_hold));
    TRY(ALLOC(weak->face_piece, h->trace.n_faces));
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int64_t i = 0; i < (int64_t)mesh->blocks[b].count * h->trace.n_slots[b]; i++)
            weak->face_piece[h->trace.faces[b][i]] =
                weak->cell_piece[mesh->blocks[b].first + i / h->trace.n_slots[b]];
done:
    if (status != FACET_OK) hdg_weak_constants_destroy(weak);
    base_free(&piece);
    base_free(&fixed);
    base_free(&cells);
    base_free(&held);
    return status;
}

/* ------------------------------------------------------------------------------ their constants */

static struct hdg_pieces pieces_of(const struct hdg *h) {
    return (struct hdg_pieces){h->weak.n, h->weak.cell_piece, h->weak.face_piece};
}

/* Whether all sources are those of the exact solution, boundary data included. */
static facet_status is_exact(const struct hdg *h, int *exact) {
    int64_t own = h->data.exact == NULL;
    for (int32_t f = 0; f < h->data.mesh->n_faces && !own; f++) {
        int32_t c = h->data.face_condition[f];
        if (c >= 0 && h->data.conditions[c].g != NULL) own = 1;
    }
    facet_status status = team_reduce_counts(mesh_team(h->data.mesh), TEAM_MAX, 1, &own);
    *exact = !own;
    return status;
}

/* What the reaction and Robin parts take of u, or of the exact solution, in every cell; and the size of u. */
struct taken {
    double taken, volume, mean, square;
};
enum { N_TAKEN = sizeof(struct taken) / sizeof(double) };
struct taken_job {
    const struct hdg_solution *solution; /* NULL: the exact one */
    struct taken *cells;
};

static facet_status values_in_cell(struct local *l, const struct hdg_solution *s, double *u) {
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    if (s == NULL)
        return base_wrap(field_eval(h->data.exact, b->cell.n, h->data.mesh->dim, l->geometry.x, u), "exact");
    cblas_dgemv(CblasRowMajor, CblasNoTrans, b->cell.n, b->N, 1.0, b->cell.phi, b->N,
                s->u[l->block] + (int64_t)l->cell * b->N, 1, 0.0, u, 1);
    return FACET_OK;
}

static facet_status values_on_face(struct local *l, const struct hdg_solution *s, int face, double *u) {
    const struct hdg *h = l->hdg;
    const struct hdg_face_table *table = hdg_face_of(&h->space.blocks[l->block].boundary, face);
    if (s == NULL)
        return base_wrap(field_eval(h->data.exact, table->rule.n, h->data.mesh->dim, l->x, u), "exact");
    local_trace_values(l, s, face, table, 0, table->rule.n, u);
    return FACET_OK;
}

static facet_status take_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct taken_job *job = user;
    int32_t number = h->data.mesh->blocks[block].first + cell;
    struct taken *to = &job->cells[number];
    int dim = h->data.mesh->dim, n = b->cell.n;
    double *u = l->jets, largest = 0.0;
    *to = (struct taken){0};
    if (h->weak.cell_piece[number] < 0) return FACET_OK;
    TRY(local_begin(l, block, cell));
    TRY(values_in_cell(l, job->solution, u));
    TRY(local_place(
        local_reaction(&h->data, local_region(&h->data, block, cell), n, l->geometry.x, l->values), l));
    for (int q = 0; q < n; q++) {
        to->volume += l->geometry.wJ[q];
        to->mean += l->geometry.wJ[q] * u[q];
        to->square += l->geometry.wJ[q] * u[q] * u[q];
        to->taken += l->geometry.wJ[q] * l->values[q] * u[q];
    }
    for (int f = 0; f < b->n_faces; f++) {
        const struct rule *rule = &hdg_face_of(&b->boundary, f)->rule;
        int found;
        TRY(local_robin(l, f, &found, &largest));
        if (!found) continue;
        TRY(values_on_face(l, job->solution, f, u));
        for (int q = 0; q < rule->n; q++)
            to->taken += l->values[q] * u[q] * copysign(local_norm(dim, l->normal + q * dim), rule->w[q]);
    }
done:
    return status;
}

/* The same of every piece. pieces: to be freed. */
static facet_status take(const struct hdg *h, const struct hdg_solution *s, struct taken **pieces) {
    facet_status status = FACET_OK;
    const struct hdg_pieces weak = pieces_of(h);
    struct taken_job job = {.solution = s};
    TRY(ALLOC(*pieces, weak.n));
    TRY(ALLOC(job.cells, h->data.mesh->n_cells));
    TRY(local_for_all_cells(h, take_work, &job));
    TRY(hdg_sum_pieces(h, &weak, N_TAKEN, &job.cells->taken, &(*pieces)->taken));
done:
    base_free(&job.cells);
    return status;
}

facet_status hdg_weak_constants_supply(const struct hdg *h, const double *source, const double *works,
                                       struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct hdg_weak_constants *weak = &h->weak;
    const struct hdg_pieces pieces = pieces_of(h);
    struct taken *taken = NULL;
    double reaction = 0.0;
    int exact;
    base_free(&s->supply);
    s->offset = s->offset_source = 0.0;
    if (weak->n == 0) return FACET_OK;
    TRY(CALLOC(s->supply, 2 * weak->n));
    TRY(is_exact(h, &exact));
    if (source == NULL && exact) {
        TRY(take(h, NULL, &taken));
        for (int i = 0; i < weak->n; i++) s->supply[2 * i] = taken[i].taken;
    } else {
        TRY(hdg_sum_works(h, &pieces, works, s->supply));
    }
    if (!weak->whole || h->largest_robin > 0.0 || !local_constant_reaction(&h->data, -1, &reaction))
        goto done;
    s->offset = s->supply[0] / weak->hold[0];
    s->offset_source = s->offset * reaction;
done:
    base_free(&taken);
    return status;
}

facet_status hdg_weak_constants_fix(const struct hdg *h, struct hdg_solution *s) {
    facet_status status = FACET_OK;
    const struct hdg_weak_constants *weak = &h->weak;
    const struct hdg_pieces pieces = pieces_of(h);
    struct taken *taken = NULL;
    double *constants = NULL;
    s->uncertainty = 0.0;
    if (weak->n == 0) return FACET_OK;
    TRY(ALLOC(constants, weak->n));
    TRY(take(h, s, &taken));
    for (int i = 0; i < weak->n; i++) {
        const struct taken *p = &taken[i];
        double c = constants[i] = (s->supply[2 * i] - p->taken) / weak->hold[i];
        double size = sqrt(fmax((p->square + 2.0 * c * p->mean) / p->volume + c * c, 0.0));
        double uncertainty = DBL_EPSILON * s->supply[2 * i + 1] / weak->hold[i] +
                             fabs(c - s->offset) * weak->ratio[i] +
                             (weak->negligible ? weak->softest : 0.0) *
                                 sqrt(fmax(p->square / p->volume - pow(p->mean / p->volume, 2), 0.0));
        if (uncertainty > 0.0) s->uncertainty = fmax(s->uncertainty, uncertainty / size);
    }
    hdg_add_constants(h, &pieces, constants, s);
done:
    base_free(&taken);
    base_free(&constants);
    return status;
}

facet_status hdg_weak_constants_forget(const struct hdg *h, double *free) {
    facet_status status = FACET_OK;
    const struct hdg_weak_constants *weak = &h->weak;
    double *taken = NULL; /* of what is free, by the reaction and a */
    if (weak->n == 0) return FACET_OK;
    TRY(CALLOC(taken, weak->n));
    for (int64_t b = 0; b < h->trace.n_free_faces; b++) {
        int32_t face = h->trace.free_faces[b];
        int p = weak->face_piece[face];
        double one = h->data.equation->one_on(h, face);
        if (p >= 0 && one > 0.0) taken[p] += weak->face_hold[face] * free[h->trace.free_offsets[b]] / one;
    }
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_SUM, weak->n, taken));
    for (int64_t b = 0; b < h->trace.n_free_faces; b++) {
        int32_t face = h->trace.free_faces[b];
        int p = weak->face_piece[face];
        if (p < 0) continue;
        free[h->trace.free_offsets[b]] -= taken[p] / weak->hold[p] * h->data.equation->one_on(h, face);
    }
done:
    base_free(&taken);
    return status;
}
