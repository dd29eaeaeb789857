/* Rows of cells: chains of opposite faces, and the tridiagonal matrices of their last functions, factored
 * here and solved by the kernel row_solve. See rows.h. */
#include "trace/rows.h"

#include <string.h>

#include "base/memory.h"
#include "trace/sides.h"

/* The longest rows come first. */
struct rows {
    struct operator D;    /* the rest of the smoother */
    struct row_plan plan; /* its arrays are owned, on the device */
};

static void plan_free(const struct device *device, struct row_plan *plan) {
    device_free(device, &plan->starts);
    device_free(device, &plan->unknowns);
    device_free(device, &plan->below);
    device_free(device, &plan->inverse);
    device_free(device, &plan->z);
}

static void rows_free(struct operator* M) {
    struct rows *r = M->data;
    if (r == NULL) return;
    operator_destroy(&r->D);
    plan_free(M->device, &r->plan);
    base_free(&M->data);
}

static void rows_apply(const struct operator* M, const struct vector *x, struct vector *y) {
    const struct rows *r = M->data;
    operator_apply(&r->D, x, y);
    device_row_solve(M->device, M->precision, &r->plan, x->numbers, y->numbers);
}

static facet_status rows_to_single(const struct operator* M, struct operator* single) {
    facet_status status = FACET_OK;
    const struct rows *from = M->data;
    struct rows *to;
    size_t n = (size_t)(from->plan.n_steps * from->plan.lanes);
    *single = (struct operator){.n = M->n,
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
};

static void chains_destroy(struct chains *c) {
    base_free(&c->next);
    base_free(&c->coupling);
    base_free(&c->diagonal);
    base_free(&c->starts);
    base_free(&c->order);
    base_free(&c->link);
    base_free(&c->seen);
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
        if (next < 0 || c->seen[next]) break; /* a closed chain is opened here */
        link = c->coupling[2 * at + w];
        w = c->next[2 * next] == at && !(c->next[2 * next + 1] == at && c->coupling[2 * next] != link);
        at = next;
    }
    c->starts[++c->n_chains] = place;
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
    TRY(link_faces(space, matrices, c));
    c->starts[0] = 0;
    for (int64_t b = 0; b < c->n; b++)
        if (!c->seen[b] && (c->next[2 * b] < 0 || c->next[2 * b + 1] < 0)) walk(c, b, c->next[2 * b] < 0);
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

facet_status operator_create_rows(const struct trace_space *space, const struct trace_matrices *matrices,
                                  struct operator* D, struct operator* M) {
    static const char *const kernels[] = {"row_solve", NULL};
    facet_status status = FACET_OK;
    struct chains c = {0};
    struct rows *r = NULL;
    int64_t *sorted = NULL;
    *M = (struct operator){0};
    TRY(device_require(D->device, "the smoother rows", kernels));
    TRY(CALLOC(r, 1));
    *M = (struct operator){.n = D->n,
                           .device = D->device,
                           .apply = rows_apply,
                           .free = rows_free,
                           .data = r,
                           .name = "rows of cells",
                           .to_single = rows_to_single};
    TRY(chains_create(space, matrices, &c));
    TRY(sort_chains(&c, &sorted));
    TRY(make_plan(D->device, space, &c, sorted, &r->plan));
    r->D = *D;
    *D = (struct operator){0};
done:
    chains_destroy(&c);
    base_free(&sorted);
    operator_destroy(D);
    if (status != FACET_OK) operator_destroy(M);
    return status;
}
