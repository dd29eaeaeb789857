/* Preconditioners of the condensed method.
 *
 * The block of a face, edge or vertex with itself is diagonal in modes: with M_ee and L_ee the mass and the
 * stiffness of an end with itself, a cell of k = 1 gives its face normal to d
 *
 *     M_ee (lambda V + sum of a Lambda over the other directions) + a_d L_ee - sum_i (a_d b_i)^2 / Z(i, ., .)
 *
 * so the inverse is a diagonal too, and on nodes a product with S' and S in every direction of the entity
 * (huismann2020, Algorithm 4). */
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "bench/papers/condensed_local.h"

/* The diagonal of a cell's matrix for k = 1 on its closure. */
static void cell_diagonal(const struct box_condensed *h, int kind, double *local) {
    const double *a = h->kinds[kind].a, *Lambda = h->ends.eigenvalues, mass = h->ends.mass[0],
                 stiffness = h->ends.stiffness[0], *inverse = h->inverse + kind * h->n_inside;
    int dim = h->grid.dim, n = h->n_inner;
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i], sides = 1 << (dim - condensed_bits(mask));
        int64_t size = h->size[mask];
        double *own = local + h->local_first[mask];
        if (mask != 0 && n < 1) continue;
        for (int64_t t = 0; t < size; t++) {
            int64_t rest = t;
            double ends = 1.0, sum = h->kinds[kind].reaction; /* over the product of the masses */
            for (int d = 0; d < dim; d++) {
                int inside = mask >> d & 1;
                sum += a[d] * (inside ? Lambda[rest % n] : stiffness / mass);
                if (inside)
                    rest /= n;
                else
                    ends *= mass;
            }
            own[t] = sum * ends;
        }
        for (int d = 0; d < dim; d++) {
            if (mask != (h->full & ~(1 << d)) || n == 0) continue;
            int64_t below = h->size[mask & ((1 << d) - 1)];
            for (int64_t t = 0; t < size; t++)
                for (int m = 0; m < n; m++) {
                    double c = a[d] * h->ends.b[m];
                    own[t] -= c * c * inverse[(t / below * n + m) * below + t % below];
                }
        }
        for (int side = 1; side < sides; side++) memcpy(own + side * size, own, (size_t)size * sizeof *own);
    }
}

facet_status box_condensed_diagonal(const struct box_condensed *h, double *diagonal) {
    facet_status status = FACET_OK;
    double *kinds = NULL, *locals = NULL;
    int64_t n = h->n_local;
    TRY(ALLOC(kinds, h->n_kinds * n));
    TRY(ALLOC(locals, h->grid.n_cells * n));
#pragma omp parallel for num_threads(base_threads_for(h->n_kinds * h->n_inside)) schedule(static)
    for (int kind = 0; kind < h->n_kinds; kind++) cell_diagonal(h, kind, kinds + kind * n);
#pragma omp parallel for num_threads(base_threads_for(n * h->grid.n_cells)) schedule(static)
    for (int64_t cell = 0; cell < h->grid.n_cells; cell++) {
        const double *from = kinds + h->cell_kind[cell] * n;
        double k = box_conductivity(&h->grid, cell);
        for (int64_t i = 0; i < n; i++) locals[cell * n + i] = k * from[i];
    }
    condensed_sum(h, locals, 0, diagonal);
done:
    base_free(&kinds);
    base_free(&locals);
    return status;
}

struct precondition {
    const struct box_condensed *h;
    enum box_condensed_preconditioner which;
    double *inverse; /* n_trace: of the diagonal; 0 on Dirichlet entities */
    struct condensed_coarse *coarse;
    int n_threads;
    double *work; /* per thread: a face */
};

static void destroy(struct precondition *p) {
    base_free(&p->inverse);
    base_free(&p->work);
    condensed_coarse_destroy(&p->coarse);
    base_free(&p);
}
static void free_operator(struct linear_operator *M) {
    destroy(M->data);
}

/* y = S (S' x / diagonal) on every entity. */
static void apply_blocks(const struct precondition *p, const double *x, double *y) {
    const struct box_condensed *h = p->h;
#pragma omp parallel num_threads(p->n_threads)
    {
        double *work = p->work + omp_get_thread_num() * h->size[h->full >> 1];
        for (int i = 0; i < h->n_masks; i++) {
            int mask = h->masks[i];
            int64_t size = h->size[mask];
#pragma omp for schedule(static) nowait
            for (int64_t entity = 0; entity < h->n_entities[mask]; entity++) {
                int64_t at = h->first[mask] + entity * size;
                memcpy(y + at, x + at, (size_t)size * sizeof *y);
                condensed_transform(h, mask, h->ends.S, 1, y + at, work);
                for (int64_t t = 0; t < size; t++) y[at + t] *= p->inverse[at + t];
                condensed_transform(h, mask, h->ends.S, 0, y + at, work);
            }
        }
    }
}

static void apply(const struct linear_operator *M, const struct vector *x, struct vector *y) {
    struct precondition *p = M->data;
    if (p->which == BOX_CCG_BLOCK) {
        apply_blocks(p, x->data, y->data);
        return;
    }
    device_multiply(M->device, F64, M->n, p->inverse, x->data, y->data);
    if (p->coarse != NULL) condensed_coarse_add(p->coarse, x->data, y->data);
}

/* The diagonal of S D^-1 S' on every entity, in place of D^-1: the squares of S in every direction. */
static facet_status diagonal_of_blocks(const struct box_condensed *h, double *inverse) {
    facet_status status = FACET_OK;
    int n = h->n_inner;
    double *squares = NULL, *work = NULL;
    TRY(ALLOC(squares, n * n));
    TRY(ALLOC(work, n * n));
    for (int i = 0; i < n * n; i++) squares[i] = h->ends.S[i] * h->ends.S[i];
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i];
        for (int64_t entity = 0; entity < h->n_entities[mask]; entity++)
            condensed_transform(h, mask, squares, 0, inverse + h->first[mask] + entity * h->size[mask], work);
    }
done:
    base_free(&squares);
    base_free(&work);
    return status;
}

facet_status box_condensed_preconditioner(const struct box_condensed *h, const struct device *device,
                                          enum box_condensed_preconditioner which,
                                          struct linear_operator *M) {
    static const char *const names[] = {"diagonal", "blocks", "diagonal in modes", "modes and vertices"};
    facet_status status = FACET_OK;
    struct precondition *p = NULL;
    *M = (struct linear_operator){0};
    if (!device_is_host(device))
        FAIL(FACET_ERROR_INPUT, "the condensed method of a box runs on the host, not on '%s'",
             device_name(device));
    if (which <= BOX_CCG_BLOCK && h->ends.kind != BOX_MASS_COLLOCATED)
        FAIL(FACET_ERROR_INPUT, "a preconditioner on nodes needs the collocated mass matrix");
    TRY(CALLOC(p, 1));
    p->h = h;
    p->which = which;
    p->n_threads = base_threads_for(h->n_trace);
    TRY(ALLOC(p->inverse, h->n_trace));
    TRY(ALLOC(p->work, p->n_threads * h->size[h->full >> 1]));
    TRY(box_condensed_diagonal(h, p->inverse));
    for (int64_t i = 0; i < h->n_trace; i++) p->inverse[i] = p->inverse[i] > 0.0 ? 1.0 / p->inverse[i] : 0.0;
    if (which == BOX_CCG_DIAGONAL) TRY(diagonal_of_blocks(h, p->inverse));
    if (which == BOX_CCG_TWO_LEVEL) {
        TRY(condensed_coarse_create(h, device, &p->coarse));
        if (h->n_trace == h->n_entities[0]) /* the vertices are all there is */
            memset(p->inverse, 0, (size_t)h->n_trace * sizeof *p->inverse);
    }
    *M = (struct linear_operator){.n = h->n_trace,
                                  .device = device,
                                  .apply = apply,
                                  .free = free_operator,
                                  .data = p,
                                  .name = names[which]};
done:
    if (status != FACET_OK && p != NULL) destroy(p);
    return status;
}
