/* The matrix of one cell on its closure, applied through its 1D factors.
 *
 * A = M (lambda V + sum_d a_d M^-1 L in direction d), M being the product of the 1D mass matrices, which
 * couples only the ends of a direction: the part in brackets is taken first, entity by entity, then M. The
 * inside comes as a sum over the faces of their couplings with the modes, is divided by Z and goes back the
 * same way. On nodes this needs the faces in modes. */
#include <string.h>

#include "base/memory.h"
#include "bench/papers/condensed_local.h"

/* -------------------------------------------------------------------------------------------- tables */

void condensed_tables_destroy(struct condensed_tables *t) {
    for (int s = 0; s < 2; s++) {
        base_free(&t->inner_end[s]);
        base_free(&t->end_inner[s]);
        base_free(&t->coupling[s]);
    }
    base_free(&t->inner);
    *t = (struct condensed_tables){0};
}

/* On nodes: L = W S Lambda S' W among the inner functions, W S L_ib with the ends. */
static facet_status turn_to_nodes(const struct box_ends *e, struct condensed_tables *t) {
    facet_status status = FACET_OK;
    int n = t->n;
    t->w = e->weights + 1;
    TRY(ALLOC(t->inner, n * n));
    for (int q = 0; q < n; q++) {
        for (int r = 0; r < n; r++) {
            double sum = 0.0;
            for (int m = 0; m < n; m++) sum += e->S[q * n + m] * e->eigenvalues[m] * e->S[r * n + m];
            t->inner[q * n + r] = sum * t->w[r];
        }
        for (int s = 0; s < 2; s++) {
            double sum = 0.0;
            for (int m = 0; m < n; m++) sum += e->S[q * n + m] * t->coupling[s][m];
            t->inner_end[s][q] = sum;
        }
    }
done:
    return status;
}

facet_status condensed_tables_create(const struct box_condensed *h, enum box_condensed_unknowns basis,
                                     struct condensed_tables *t) {
    facet_status status = FACET_OK;
    const struct box_ends *e = &h->ends;
    int n = h->n_inner;
    double m0 = e->mass[0], m1 = e->mass[1], l0 = e->stiffness[0], l1 = e->stiffness[1],
           det = m0 * m0 - m1 * m1;
    *t = (struct condensed_tables){.n = n, .eigenvalues = e->eigenvalues, .mass = {m0, m1}};
    if (basis == BOX_NODES && e->kind != BOX_MASS_COLLOCATED)
        FAIL(FACET_ERROR_INPUT, "tensor products on nodes need the collocated mass matrix");
    t->ends[0] = (m0 * l0 - m1 * l1) / det;
    t->ends[1] = (m0 * l1 - m1 * l0) / det;
    for (int s = 0; s < 2; s++) {
        TRY(ALLOC(t->coupling[s], n));
        TRY(ALLOC(t->inner_end[s], n));
        TRY(ALLOC(t->end_inner[s], n));
        for (int m = 0; m < n; m++) t->inner_end[s][m] = t->coupling[s][m] = box_ends_coupling(e, s, m);
    }
    if (basis == BOX_NODES) TRY(turn_to_nodes(e, t));
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < n; i++)
            t->end_inner[s][i] = (m0 * t->inner_end[s][i] - m1 * t->inner_end[1 - s][i]) *
                                 (t->w != NULL ? t->w[i] : 1.0) / det;
done:
    if (status != FACET_OK) condensed_tables_destroy(t);
    return status;
}

/* --------------------------------------------------------------------------------------- primary part */

/* The numbers below direction d in an entity of this mask. */
static int64_t numbers_below(const struct box_condensed *h, int mask, int d) {
    return h->size[mask & ((1 << d) - 1)];
}

void condensed_up(const struct box_condensed *h, int mask, int d, double scale, const double *C,
                  const double *x, double *U) {
    int n = h->n_inner;
    int64_t inner = numbers_below(h, mask, d), outer = h->size[mask] / (inner > 0 ? inner : 1);
    for (int64_t o = 0; o < outer; o++, x += inner, U += n * inner) {
        if (inner == 1) {
            double a = scale * x[0];
#pragma omp simd
            for (int i = 0; i < n; i++) U[i] += a * C[i];
            continue;
        }
        for (int i = 0; i < n; i++) {
            double a = scale * C[i], *to = U + i * inner;
#pragma omp simd
            for (int64_t r = 0; r < inner; r++) to[r] += a * x[r];
        }
    }
}

void condensed_down(const struct box_condensed *h, int mask, int d, double scale, const double *C,
                    const double *U, double *x) {
    int n = h->n_inner;
    int64_t inner = numbers_below(h, mask, d), outer = h->size[mask] / (inner > 0 ? inner : 1);
    for (int64_t o = 0; o < outer; o++, x += inner, U += n * inner) {
        if (inner == 1) {
            double sum = 0.0;
#pragma omp simd reduction(+ : sum)
            for (int i = 0; i < n; i++) sum += C[i] * U[i];
            x[0] += scale * sum;
            continue;
        }
        for (int i = 0; i < n; i++) {
            double a = scale * C[i];
            const double *from = U + i * inner;
#pragma omp simd
            for (int64_t r = 0; r < inner; r++) x[r] += a * from[r];
        }
    }
}

/* z += a M^-1 L x along a direction of modes: a product with Lambda or, on nodes, with a full matrix. */
static void add_inner(const struct box_condensed *h, const struct condensed_tables *t, int mask, int d,
                      double a, const double *x, double *z) {
    int n = t->n;
    int64_t inner = numbers_below(h, mask, d), outer = h->size[mask] / n / inner;
    for (int64_t o = 0; o < outer; o++, x += n * inner, z += n * inner) {
        if (t->inner == NULL && inner == 1) {
#pragma omp simd
            for (int i = 0; i < n; i++) z[i] += a * t->eigenvalues[i] * x[i];
        } else if (t->inner == NULL) {
            for (int i = 0; i < n; i++) {
                double e = a * t->eigenvalues[i];
#pragma omp simd
                for (int64_t r = 0; r < inner; r++) z[i * inner + r] += e * x[i * inner + r];
            }
        } else if (inner == 1) {
            for (int i = 0; i < n; i++) {
                double sum = 0.0;
#pragma omp simd reduction(+ : sum)
                for (int j = 0; j < n; j++) sum += t->inner[i * n + j] * x[j];
                z[i] += a * sum;
            }
        } else {
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    double e = a * t->inner[i * n + j];
#pragma omp simd
                    for (int64_t r = 0; r < inner; r++) z[i * inner + r] += e * x[j * inner + r];
                }
        }
    }
}

/* The terms among the entities of one mask. */
static void add_own(const struct box_condensed *h, const struct condensed_tables *t,
                    const struct box_condensed_kind *kind, int mask, const double *x, double *z) {
    int64_t size = h->size[mask];
    int dim = h->grid.dim;
    double diagonal = kind->reaction;
    for (int d = 0; d < dim; d++)
        if (!(mask >> d & 1)) diagonal += kind->a[d] * t->ends[0];
    for (int side = 0; side < 1 << (dim - condensed_bits(mask)); side++) {
        const double *from = x + side * size;
        double *to = z + side * size;
#pragma omp simd
        for (int64_t i = 0; i < size; i++) to[i] += diagonal * from[i];
        for (int d = 0; d < dim; d++) {
            if (mask >> d & 1) {
                add_inner(h, t, mask, d, kind->a[d], from, to);
                continue;
            }
            int other = side ^ 1 << condensed_bits(~mask & ((1 << d) - 1));
            double a = kind->a[d] * t->ends[1];
#pragma omp simd
            for (int64_t i = 0; i < size; i++) to[i] += a * x[other * size + i];
        }
    }
}

/* The terms between the entities of a mask and those with direction d more. */
static void add_neighbours(const struct box_condensed *h, const struct condensed_tables *t, double a,
                           int mask, int d, const double *x, double *z) {
    int more = mask | 1 << d;
    for (int side = 0; side < 1 << (h->grid.dim - condensed_bits(more)); side++) {
        int64_t U = h->local_first[more] + side * h->size[more];
        for (int s = 0; s < 2; s++) {
            int64_t T = h->local_first[mask] + condensed_insert(mask, side, d, s) * h->size[mask];
            condensed_up(h, mask, d, a, t->inner_end[s], x + T, z + U);
            condensed_down(h, mask, d, a, t->end_inner[s], x + U, z + T);
        }
    }
}

/* y = M y on the entities of one mask. */
static void multiply_mass(const struct box_condensed *h, const struct condensed_tables *t, int mask,
                          double *y) {
    int64_t size = h->size[mask];
    int dim = h->grid.dim, sides = 1 << (dim - condensed_bits(mask));
    for (int bit = 1; bit < sides; bit *= 2)
        for (int side = 0; side < sides; side++) {
            if (side & bit) continue;
            double *low = y + side * size, *high = y + (side | bit) * size;
#pragma omp simd
            for (int64_t i = 0; i < size; i++) {
                double l = low[i], u = high[i];
                low[i] = t->mass[0] * l + t->mass[1] * u;
                high[i] = t->mass[1] * l + t->mass[0] * u;
            }
        }
    if (t->w == NULL || mask == 0) return;
    int n = t->n, bits = condensed_bits(mask);
    for (int side = 0; side < sides; side++) {
        double *to = y + side * size;
        for (int64_t j = 0; j < (bits == 2 ? n : 1); j++)
            for (int i = 0; i < n; i++) to[j * n + i] *= t->w[i] * (bits == 2 ? t->w[j] : 1.0);
    }
}

static void apply_primary(const struct box_condensed *h, const struct condensed_tables *t,
                          const struct box_condensed_kind *kind, const double *x, double *y) {
    memset(y, 0, (size_t)h->n_local * sizeof *y);
    for (int i = 0; i < h->n_masks; i++) {
        int mask = h->masks[i];
        if (h->size[mask] == 0) continue;
        add_own(h, t, kind, mask, x + h->local_first[mask], y + h->local_first[mask]);
        for (int d = 0; d < h->grid.dim; d++)
            if (!(mask >> d & 1) && (mask | 1 << d) != h->full && t->n > 0)
                add_neighbours(h, t, kind->a[d], mask, d, x, y);
    }
    for (int i = 0; i < h->n_masks; i++) multiply_mass(h, t, h->masks[i], y + h->local_first[h->masks[i]]);
}

/* ------------------------------------------------------------------------------------------ the inside */

/* Both sides of every face on its own: Algorithm 3 of the paper; on nodes with Algorithm 2's products before
 * and after. */
static void apply_inside(const struct box_condensed *h, const struct condensed_tables *t, int kind,
                         const double *x, double *y, double *work) {
    const double *inverse = h->inverse + kind * h->n_inside, *a = h->kinds[kind].a;
    double *F = work, *face = work + h->n_inside, *spare = face + h->size[h->full >> 1];
    memset(F, 0, (size_t)h->n_inside * sizeof *F);
    for (int d = 0; d < h->grid.dim; d++) {
        int mask = h->full & ~(1 << d);
        for (int s = 0; s < 2; s++) {
            const double *from = x + h->local_first[mask] + s * h->size[mask];
            if (t->w != NULL) { /* S' W on both directions */
                int n = t->n, rows = h->grid.dim == 3 ? n : 1;
                for (int j = 0; j < rows; j++)
                    for (int i = 0; i < n && h->grid.dim > 1; i++)
                        face[j * n + i] = from[j * n + i] * t->w[i] * (h->grid.dim == 3 ? t->w[j] : 1.0);
                if (h->grid.dim > 1) {
                    condensed_transform(h, mask, h->ends.S, 1, face, spare);
                    from = face;
                }
            }
            condensed_up(h, mask, d, a[d], t->coupling[s], from, F);
        }
    }
#pragma omp simd
    for (int64_t i = 0; i < h->n_inside; i++) F[i] *= inverse[i];
    for (int d = 0; d < h->grid.dim; d++) {
        int mask = h->full & ~(1 << d), n = t->n, rows = h->grid.dim == 3 ? n : 1;
        for (int s = 0; s < 2; s++) {
            double *to = y + h->local_first[mask] + s * h->size[mask];
            if (t->w == NULL || h->grid.dim == 1) {
                condensed_down(h, mask, d, -a[d], t->coupling[s], F, to);
                continue;
            }
            memset(face, 0, (size_t)h->size[mask] * sizeof *face);
            condensed_down(h, mask, d, -a[d], t->coupling[s], F, face);
            condensed_transform(h, mask, h->ends.S, 0, face, spare);
            for (int j = 0; j < rows; j++)
                for (int i = 0; i < n; i++)
                    to[j * n + i] += face[j * n + i] * t->w[i] * (h->grid.dim == 3 ? t->w[j] : 1.0);
        }
    }
}

int64_t condensed_work(const struct box_condensed *h) {
    return h->n_inside + 2 * h->size[h->full >> 1] + 1;
}

void condensed_cell_apply(const struct box_condensed *h, const struct condensed_tables *t, int kind,
                          const double *x, double *y, double *work) {
    apply_primary(h, t, &h->kinds[kind], x, y);
    if (h->n_inner > 0) apply_inside(h, t, kind, x, y, work);
}
