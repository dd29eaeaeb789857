/* Rows of cells: chains of opposite faces, and the tridiagonal matrices of their last functions, factored
 * here and solved by the kernel row_solve. See rows.h. */
#include "trace/rows.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "device/seam.h"
#include "trace/sides.h"

/* Rows of cells that go through several parts of a mesh are cut at the faces between them (S). With the rest
 * of a row in its parts (I), T_II is solved there, and what is left are the shared faces,
 *
 *     (T_SS - T_SI T_II^-1 T_IS) x_S = r_S - T_SI T_II^-1 r_I,     x_I = T_II^-1 r_I - T_II^-1 T_IS x_S,
 *
 * whose matrix couples the two ends of a row in a part. T_II^-1 falls off along a row, and these couplings
 * with it: they are left out, so that neighbours have all that is needed. */
struct cut_end {  /* a row that ends at a shared face */
    int32_t face; /* among the free ones */
    int64_t last; /* the unknown beside it */
    double coupling;
    int64_t first, n; /* T_II^-1 T_IS: unknowns and values, as far as it can be seen */
};
struct cut {
    struct seam *seam;           /* of vectors with one number for every free face */
    struct vector inner, shared; /* T_II^-1 r_I in its place, and numbers of faces */
    int64_t n_ends, n_faces;
    struct cut_end *ends;
    int64_t *unknowns; /* of all ends */
    double *values;
    int32_t *faces; /* that are shared */
    int64_t *places;
    double *inverse; /* of what is left of T_SS */
};

/* The longest rows come first. */
struct rows {
    struct linear_operator D; /* the rest of the smoother */
    struct row_plan plan;     /* its arrays are owned, on the device */
    struct cut *cut;          /* NULL: all rows are here */
};

static void plan_free(const struct device *device, struct row_plan *plan) {
    device_free(device, &plan->starts);
    device_free(device, &plan->unknowns);
    device_free(device, &plan->below);
    device_free(device, &plan->inverse);
    device_free(device, &plan->z);
}

static void cut_free(struct cut **cut) {
    struct cut *c = *cut;
    if (c == NULL) return;
    seam_release(&c->seam);
    vector_destroy(&c->inner);
    vector_destroy(&c->shared);
    base_free(&c->ends);
    base_free(&c->unknowns);
    base_free(&c->values);
    base_free(&c->faces);
    base_free(&c->places);
    base_free(&c->inverse);
    base_free(cut);
}

static void rows_free(struct linear_operator *M) {
    struct rows *r = M->data;
    if (r == NULL) return;
    operator_destroy(&r->D);
    cut_free(&r->cut);
    plan_free(M->device, &r->plan);
    base_free(&M->data);
}

static double get(const struct vector *v, int64_t i) {
    return v->precision == F64 ? v->data[i] : (double)((const float *)v->numbers)[i];
}

static void add(struct vector *v, int64_t i, double value) {
    if (v->precision == F64)
        v->data[i] += value;
    else
        ((float *)v->numbers)[i] += (float)value;
}

/* y += R' T^-1 R x, up to what was said above. */
static void cut_apply(const struct linear_operator *M, const struct row_plan *plan, struct cut *c,
                      const struct vector *x, struct vector *y) {
    vector_fill(&c->inner, 0.0);
    device_row_solve(M->device, M->precision, plan, x->numbers, c->inner.numbers);
    vector_fill(&c->shared, 0.0);
    for (int64_t e = 0; e < c->n_ends; e++)
        c->shared.data[c->ends[e].face] -= c->ends[e].coupling * get(&c->inner, c->ends[e].last);
    seam_add(c->seam, &c->shared);
    vector_axpby(1.0, &c->inner, 1.0, y);
    for (int64_t i = 0; i < c->n_faces; i++) {
        double *value = &c->shared.data[c->faces[i]];
        *value = (get(x, c->places[i]) + *value) * c->inverse[i];
        add(y, c->places[i], *value);
    }
    for (int64_t e = 0; e < c->n_ends; e++)
        for (int64_t k = c->ends[e].first; k < c->ends[e].first + c->ends[e].n; k++)
            add(y, c->unknowns[k], -c->shared.data[c->ends[e].face] * c->values[k]);
}

static void rows_apply(const struct linear_operator *M, const struct vector *x, struct vector *y) {
    const struct rows *r = M->data;
    operator_apply(&r->D, x, y);
    if (r->cut != NULL)
        cut_apply(M, &r->plan, r->cut, x, y);
    else
        device_row_solve(M->device, M->precision, &r->plan, x->numbers, y->numbers);
}

static facet_status cut_copy(const struct cut *from, enum precision precision, struct cut **copy) {
    facet_status status = FACET_OK;
    struct cut *c = NULL;
    int64_t n = 0;
    for (int64_t e = 0; e < from->n_ends; e++) n += from->ends[e].n;
    TRY(CALLOC(*copy, 1));
    c = *copy;
    c->seam = seam_hold(from->seam);
    c->n_ends = from->n_ends;
    c->n_faces = from->n_faces;
    TRY(vector_create_in(from->inner.device, precision, from->inner.n, &c->inner));
    TRY(vector_create(from->shared.device, from->shared.n, &c->shared));
    c->shared.seam = c->seam;
    TRY(ALLOC(c->ends, c->n_ends));
    TRY(ALLOC(c->unknowns, n));
    TRY(ALLOC(c->values, n));
    TRY(ALLOC(c->faces, c->n_faces));
    TRY(ALLOC(c->places, c->n_faces));
    TRY(ALLOC(c->inverse, c->n_faces));
    if (n > 0) memcpy(c->unknowns, from->unknowns, (size_t)n * sizeof *c->unknowns);
    if (n > 0) memcpy(c->values, from->values, (size_t)n * sizeof *c->values);
    for (int64_t i = 0; i < c->n_ends; i++) c->ends[i] = from->ends[i];
    for (int64_t i = 0; i < c->n_faces; i++) {
        c->faces[i] = from->faces[i];
        c->places[i] = from->places[i];
        c->inverse[i] = from->inverse[i];
    }
done:
    return status;
}

static facet_status rows_to_single(const struct linear_operator *M, struct linear_operator *single) {
    facet_status status = FACET_OK;
    const struct rows *from = M->data;
    struct rows *to;
    size_t n = (size_t)(from->plan.n_steps * from->plan.lanes);
    *single = (struct linear_operator){.n = M->n,
                                       .device = M->device,
                                       .apply = rows_apply,
                                       .free = rows_free,
                                       .name = M->name,
                                       .precision = F32};
    TRY(CALLOC(to, 1));
    single->data = to;
    to->plan.lanes = from->plan.lanes;
    to->plan.n_groups = from->plan.n_groups;
    to->plan.n_steps = from->plan.n_steps;
    TRY(operator_create_single(&from->D, &to->D));
    if (from->cut != NULL) TRY(cut_copy(from->cut, F32, &to->cut));
    TRY(device_duplicate(M->device, &to->plan.starts, from->plan.starts, (size_t)from->plan.n_groups + 1,
                         sizeof(int64_t)));
    TRY(device_duplicate(M->device, &to->plan.unknowns, from->plan.unknowns, n, sizeof(int64_t)));
    TRY(device_duplicate(M->device, &to->plan.below, from->plan.below, n, sizeof(double)));
    TRY(device_duplicate(M->device, &to->plan.inverse, from->plan.inverse, n, sizeof(double)));
    TRY(device_alloc(M->device, &to->plan.z, n, sizeof(double)));
done:
    if (status != FACET_OK) operator_destroy(single);
    return status;
}

/* ------------------------------------------------------------------------------ chains of faces */

/* Free faces by their block numbers: the opposite ones through the cells on both sides, and T. */
struct chains {
    int64_t n;
    int64_t *next;    /* n x 2, -1: none */
    double *coupling; /* n x 2 */
    double *diagonal;
    int64_t n_chains, *starts, *order; /* the blocks of all chains, one after the other */
    double *link; /* of each place in the order: the coupling to the one before, 0 at the beginning */
    uint8_t *seen;
    uint8_t *shared; /* faces of a seam are in no chain */
};

static void chains_destroy(struct chains *c) {
    base_free(&c->next);
    base_free(&c->coupling);
    base_free(&c->diagonal);
    base_free(&c->starts);
    base_free(&c->order);
    base_free(&c->link);
    base_free(&c->seen);
    base_free(&c->shared);
}

/* The local face opposite to one of a quad or hex; -1 in a simplex. */
static int opposite(enum shape shape, int face) {
    static const int of_hex[6] = {5, 3, 4, 1, 2, 0};
    return shape == SHAPE_QUAD ? (face + 2) % 4 : shape == SHAPE_HEX ? of_hex[face] : -1;
}

static facet_status link_faces(const struct trace_space *space, const struct trace_matrices *matrices,
                               struct chains *c) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = matrices};
    int64_t *block = NULL;
    TRY(ALLOC(block, space->mesh->n_faces));
    TRY(trace_view_open(matrices, &view));
    for (int32_t f = 0; f < space->mesh->n_faces; f++) block[f] = -1;
    for (int64_t b = 0; b < c->n; b++) block[space->free_faces[b]] = b;
#pragma omp parallel for num_threads(base_threads_for(c->n)) schedule(static)
    for (int64_t b = 0; b < c->n; b++) {
        c->diagonal[b] = 0.0;
        for (int w = 0; w < 2; w++) {
            struct trace_side side;
            c->next[2 * b + w] = -1;
            if (!trace_side(space, space->free_faces[b], w, &side)) continue;
            const double *K = trace_view_cell(&view, side.block, side.cell);
            int own = side.starts[side.local + 1] - 1;
            int other = opposite(space->mesh->blocks[side.block].shape, side.local);
            c->diagonal[b] += trace_entry(K, matrices->lanes, own, own);
            if (other < 0 || block[side.faces[other]] < 0 || block[side.faces[other]] == b) continue;
            c->next[2 * b + w] = block[side.faces[other]];
            c->coupling[2 * b + w] = trace_entry(K, matrices->lanes, own, side.starts[other + 1] - 1);
        }
    }
done:
    trace_view_close(&view);
    base_free(&block);
    return status;
}

/* Follows the chain from a block through its side w. */
static void walk(struct chains *c, int64_t at, int w) {
    int64_t place = c->starts[c->n_chains];
    double link = 0.0;
    for (;;) {
        c->seen[at] = 1;
        c->order[place] = at;
        c->link[place++] = link;
        int64_t next = c->next[2 * at + w];
        if (next < 0 || c->seen[next]) break; /* a closed chain is opened here; shared faces are seen */
        link = c->coupling[2 * at + w];
        w = c->next[2 * next] == at && !(c->next[2 * next + 1] == at && c->coupling[2 * next] != link);
        at = next;
    }
    c->starts[++c->n_chains] = place;
}

/* Whether a chain ends at this side of a face. */
static int is_end(const struct chains *c, int64_t b, int w) {
    return c->next[2 * b + w] < 0 || c->shared[c->next[2 * b + w]];
}

static facet_status chains_create(const struct trace_space *space, const struct trace_matrices *matrices,
                                  struct chains *c) {
    facet_status status = FACET_OK;
    c->n = space->n_free_faces;
    TRY(ALLOC(c->next, 2 * c->n));
    TRY(CALLOC(c->coupling, 2 * c->n));
    TRY(ALLOC(c->diagonal, c->n));
    TRY(ALLOC(c->starts, c->n + 1));
    TRY(ALLOC(c->order, c->n));
    TRY(ALLOC(c->link, c->n));
    TRY(CALLOC(c->seen, c->n));
    TRY(CALLOC(c->shared, c->n));
    TRY(link_faces(space, matrices, c));
    c->starts[0] = 0;
    for (int k = 0; space->seam != NULL && k < space->seam->n_neighbours; k++)
        for (int64_t i = 0; i < space->seam->neighbours[k].count; i++)
            c->shared[space->seam->neighbours[k].items[i]] = 1;
    memcpy(c->seen, c->shared, (size_t)c->n);
    for (int64_t b = 0; b < c->n; b++)
        if (!c->seen[b] && (is_end(c, b, 0) || is_end(c, b, 1))) walk(c, b, is_end(c, b, 0));
    for (int64_t b = 0; b < c->n; b++)
        if (!c->seen[b]) walk(c, b, 0);
done:
    return status;
}

/* ------------------------------------------------------------------------------ factors */

/* The chains sorted by length, the longest first (counting sort). */
static facet_status sort_chains(const struct chains *c, int64_t **sorted) {
    facet_status status = FACET_OK;
    int64_t longest = 0, *count = NULL;
    for (int64_t k = 0; k < c->n_chains; k++)
        if (c->starts[k + 1] - c->starts[k] > longest) longest = c->starts[k + 1] - c->starts[k];
    TRY(ALLOC(*sorted, c->n_chains));
    TRY(CALLOC(count, longest + 2));
    for (int64_t k = 0; k < c->n_chains; k++) count[longest - (c->starts[k + 1] - c->starts[k]) + 1]++;
    for (int64_t i = 0; i <= longest; i++) count[i + 1] += count[i];
    for (int64_t k = 0; k < c->n_chains; k++)
        (*sorted)[count[longest - (c->starts[k + 1] - c->starts[k])]++] = k;
done:
    base_free(&count);
    return status;
}

/* The arrays of a plan on the host. */
struct factors {
    int lanes;
    int64_t *starts, *unknowns;
    double *below, *inverse;
};

static void factors_destroy(struct factors *f) {
    base_free(&f->starts);
    base_free(&f->unknowns);
    base_free(&f->below);
    base_free(&f->inverse);
}

/* T = (1 + below) diag(pivots) (1 + below)' of one row in a lane. 0 when it is not positive definite. */
static int factor_row(const struct trace_space *space, const struct chains *c, int64_t chain, int64_t at,
                      struct factors *f) {
    double pivot = 0.0;
    for (int64_t p = c->starts[chain]; p < c->starts[chain + 1]; p++, at += f->lanes) {
        int64_t b = c->order[p];
        double below = p > c->starts[chain] ? c->link[p] / pivot : 0.0;
        pivot = c->diagonal[b] - below * c->link[p];
        if (!(pivot > 0.0)) return 0;
        f->unknowns[at] = space->free_offsets[b + 1] - 1;
        f->below[at] = below;
        f->inverse[at] = 1.0 / pivot;
    }
    return 1;
}

static facet_status fill_rows(const struct trace_space *space, const struct chains *c, const int64_t *sorted,
                              int64_t n_groups, struct factors *f) {
    facet_status status = FACET_OK;
    const int lanes = f->lanes;
    TRY(ALLOC(f->starts, n_groups + 1));
    f->starts[0] = 0;
    for (int64_t g = 0; g < n_groups; g++) {
        int64_t longest = sorted[g * lanes];
        f->starts[g + 1] = f->starts[g] + c->starts[longest + 1] - c->starts[longest];
    }
    int64_t n = f->starts[n_groups] * lanes;
    TRY(ALLOC(f->unknowns, n));
    TRY(CALLOC(f->below, n));
    TRY(CALLOC(f->inverse, n));
    for (int64_t i = 0; i < n; i++) f->unknowns[i] = -1;
    for (int64_t k = 0; k < c->n_chains; k++)
        if (!factor_row(space, c, sorted[k], f->starts[k / lanes] * lanes + k % lanes, f))
            FAIL(FACET_NOT_CONVERGED, "the matrix is not positive definite: row modes from face %d on",
                 (int)space->free_faces[c->order[c->starts[sorted[k]]]]);
done:
    return status;
}

static facet_status make_plan(const struct device *device, const struct trace_space *space,
                              const struct chains *c, const int64_t *sorted, struct row_plan *plan) {
    facet_status status = FACET_OK;
    struct factors f = {.lanes = device_lanes(device)};
    plan->lanes = f.lanes;
    plan->n_groups = (c->n_chains + f.lanes - 1) / f.lanes;
    TRY(fill_rows(space, c, sorted, plan->n_groups, &f));
    plan->n_steps = f.starts[plan->n_groups];
    size_t n = (size_t)(plan->n_steps * f.lanes);
    TRY(device_copy(device, &plan->starts, f.starts, (size_t)plan->n_groups + 1, sizeof *f.starts));
    TRY(device_copy(device, &plan->unknowns, f.unknowns, n, sizeof *f.unknowns));
    TRY(device_copy(device, &plan->below, f.below, n, sizeof *f.below));
    TRY(device_copy(device, &plan->inverse, f.inverse, n, sizeof *f.inverse));
    TRY(device_alloc(device, &plan->z, n, sizeof *plan->z));
done:
    factors_destroy(&f);
    return status;
}

/* ------------------------------------------------------------------------------ rows that are cut */

/* So much of the largest entry of T_II^-1 T_IS is nothing. */
#define UNSEEN 1e-14

/* coupling T^-1 e of a chain, e its first (or last) face, in the order of the chain. */
static void solve_from_end(const struct chains *c, int64_t chain, int at_first, double coupling, double *v) {
    const int64_t first = c->starts[chain], n = c->starts[chain + 1] - first;
    double *pivots = v + n;
    for (int64_t i = 0; i < n; i++) { /* from the far end to this one, then back */
        const int64_t p = at_first ? n - 1 - i : i;
        const double link = i == 0 ? 0.0 : c->link[first + (at_first ? p + 1 : p)];
        pivots[i] = c->diagonal[c->order[first + p]] - (i > 0 ? link * link / pivots[i - 1] : 0.0);
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        const int64_t p = at_first ? n - 1 - i : i;
        const double link = i == n - 1 ? 0.0 : c->link[first + (at_first ? p : p + 1)];
        v[p] = i == n - 1 ? coupling / pivots[i] : -link * v[at_first ? p - 1 : p + 1] / pivots[i];
    }
}

/* Which chain a face ends, by faces: chain, + n_chains where it is the last; -1: none. Of chains of one face:
 * both are the same. */
static facet_status find_ends(const struct chains *c, int64_t **ends) {
    facet_status status = ALLOC(*ends, c->n);
    if (status != FACET_OK) return status;
    for (int64_t b = 0; b < c->n; b++) (*ends)[b] = -1;
    for (int64_t k = 0; k < c->n_chains; k++) {
        (*ends)[c->order[c->starts[k + 1] - 1]] = c->n_chains + k;
        (*ends)[c->order[c->starts[k]]] = k;
    }
    return FACET_OK;
}

/* The end of a chain at a shared face, if there is one; *left: what it takes from T_SS. */
static void make_end(const struct trace_space *space, const struct chains *c, const int64_t *chain_ends,
                     int64_t face, double *v, struct cut *cut, int64_t *n, double *left) {
    const int w = c->next[2 * face] < 0; /* the one side that is here */
    const int64_t last = c->next[2 * face + w];
    if (last < 0 || c->shared[last]) return;
    const double coupling = c->coupling[2 * face + w];
    const int at_first = chain_ends[last] < c->n_chains;
    const int64_t chain = at_first ? chain_ends[last] : chain_ends[last] - c->n_chains,
                  first = c->starts[chain], length = c->starts[chain + 1] - first;
    struct cut_end *end = &cut->ends[cut->n_ends++];
    solve_from_end(c, chain, at_first, coupling, v);
    *end = (struct cut_end){
        .face = (int32_t)face, .last = space->free_offsets[last + 1] - 1, .coupling = coupling, .first = *n};
    const double largest = fabs(v[at_first ? 0 : length - 1]);
    for (int64_t i = 0; i < length; i++) {
        const int64_t p = at_first ? i : length - 1 - i;
        if (!(fabs(v[p]) > UNSEEN * largest)) break;
        cut->unknowns[*n] = space->free_offsets[c->order[first + p] + 1] - 1;
        cut->values[(*n)++] = v[p];
        end->n++;
    }
    *left = coupling * v[at_first ? 0 : length - 1];
}

/* Each face is in at most two of the arrays of ends. */
static facet_status make_cut(const struct device *device, const struct trace_space *space,
                             const struct chains *c, struct cut **made) {
    facet_status status = FACET_OK;
    struct cut *cut = NULL;
    int64_t *chain_ends = NULL, *offsets = NULL, n = 0, longest = 0;
    double *v = NULL;
    TRY(CALLOC(cut, 1));
    for (int64_t k = 0; k < c->n_chains; k++)
        if (c->starts[k + 1] - c->starts[k] > longest) longest = c->starts[k + 1] - c->starts[k];
    for (int64_t b = 0; b < c->n; b++) cut->n_faces += c->shared[b];
    TRY(ALLOC(v, 2 * longest));
    TRY(ALLOC(offsets, c->n + 1));
    for (int64_t b = 0; b <= c->n; b++) offsets[b] = b;
    TRY(find_ends(c, &chain_ends));
    TRY(seam_create(space->seam->team, c->n, offsets, space->seam->n_neighbours, space->seam->neighbours,
                    &cut->seam));
    TRY(vector_create(device, space->n_free, &cut->inner));
    TRY(vector_create(device, c->n, &cut->shared));
    cut->shared.seam = cut->seam;
    TRY(ALLOC(cut->ends, cut->n_faces));
    TRY(ALLOC(cut->unknowns, 2 * c->n));
    TRY(ALLOC(cut->values, 2 * c->n));
    TRY(ALLOC(cut->faces, cut->n_faces));
    TRY(ALLOC(cut->places, cut->n_faces));
    TRY(ALLOC(cut->inverse, cut->n_faces));
    vector_fill(&cut->shared, 0.0);
    cut->n_faces = 0;
    for (int64_t b = 0; b < c->n; b++) {
        double left = 0.0;
        if (!c->shared[b]) continue;
        make_end(space, c, chain_ends, b, v, cut, &n, &left);
        cut->shared.data[b] = c->diagonal[b] - left;
        cut->places[cut->n_faces] = space->free_offsets[b + 1] - 1;
        cut->faces[cut->n_faces++] = (int32_t)b;
    }
    seam_add(cut->seam, &cut->shared);
    for (int64_t i = 0; i < cut->n_faces; i++) {
        const double pivot = cut->shared.data[cut->faces[i]];
        if (!(pivot > 0.0))
            FAIL(FACET_NOT_CONVERGED, "the matrix is not positive definite: row modes at face %d",
                 (int)space->free_faces[cut->faces[i]]);
        cut->inverse[i] = 1.0 / pivot;
    }
    *made = cut;
    cut = NULL;
done:
    base_free(&chain_ends);
    base_free(&offsets);
    base_free(&v);
    cut_free(&cut);
    return status;
}

facet_status operator_create_rows(const struct trace_space *space, const struct trace_matrices *matrices,
                                  struct linear_operator *D, struct linear_operator *M) {
    static const char *const kernels[] = {"row_solve", NULL};
    facet_status status = FACET_OK;
    struct chains c = {0};
    struct rows *r = NULL;
    int64_t *sorted = NULL;
    *M = (struct linear_operator){0};
    TRY(device_require(D->device, "the smoother rows", kernels));
    TRY(CALLOC(r, 1));
    *M = (struct linear_operator){.n = D->n,
                                  .device = D->device,
                                  .apply = rows_apply,
                                  .free = rows_free,
                                  .data = r,
                                  .name = "rows of cells",
                                  .to_single = rows_to_single};
    TRY(chains_create(space, matrices, &c));
    TRY(sort_chains(&c, &sorted));
    TRY(make_plan(D->device, space, &c, sorted, &r->plan));
    if (space->seam != NULL && space->seam->team->size > 1) TRY(make_cut(D->device, space, &c, &r->cut));
    r->D = *D;
    *D = (struct linear_operator){0};
done:
    chains_destroy(&c);
    base_free(&sorted);
    operator_destroy(D);
    if (status != FACET_OK) operator_destroy(M);
    return status;
}
