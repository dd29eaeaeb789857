/* Shared by the tests of the box room: boxes of all kinds, and the trace operator of boxhdg/boxhdg.h straight
 * from its definition, as an operator over plain modes and as a dense matrix. */
#ifndef FACET_TESTS_BOX_PLAIN_H
#define FACET_TESTS_BOX_PLAIN_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "boxhdg/boxhdg.h"

static inline void ok(facet_status status) {
    if (status != FACET_OK) fail_msg("%s", base_message());
}

static inline double noise(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

/* What a test says of a box; widths: 'u' uniform, 'g' graded, 'm' graded and mirror-symmetric. sides: two
 * letters a direction, of d, n and p. */
struct plain_box {
    int dim, degree, cells[3];
    char widths;
    const char *sides;
    double rho, reaction;
    int jumps; /* k at random in 1 .. 100 in every cell, lambda too if it is there */
};

static inline facet_status plain_create(const struct plain_box *b, struct boxhdg **h) {
    facet_status status = FACET_OK;
    struct box_grid_data data = {.dim = b->dim};
    double *x[3] = {NULL, NULL, NULL}, *rho[3] = {NULL, NULL, NULL}, *k = NULL, *lambda = NULL;
    int64_t n_cells = 1;
    for (int d = 0; d < b->dim; d++) {
        int n = data.cells[d] = b->cells[d];
        n_cells *= n;
        TRY(CALLOC(x[d], n + 1));
        TRY(CALLOC(rho[d], n));
        for (int i = 0; i < n; i++) {
            int from_end = i < n - 1 - i ? i : n - 1 - i;
            double grade = b->widths == 'u' ? 0.0 : 0.3 * (b->widths == 'g' ? i : from_end);
            x[d][i + 1] = x[d][i] + (1.0 + grade) * (1.0 + 0.2 * d) / n;
            rho[d][i] = b->rho * (1.0 + grade);
        }
        data.coordinates[d] = x[d];
        for (int s = 0; s < 2; s++) {
            char c = b->sides[2 * d + s];
            data.sides[d][s] = c == 'd' ? BOX_DIRICHLET : c == 'n' ? BOX_NEUMANN : BOX_PERIODIC;
        }
    }
    TRY(ALLOC(k, n_cells));
    TRY(ALLOC(lambda, n_cells));
    for (int64_t c = 0; c < n_cells; c++) {
        k[c] = b->jumps ? pow(10.0, 1.0 + 2.0 * noise()) : 1.7;
        lambda[c] = b->reaction * (b->jumps ? 1.0 + noise() : 1.0);
    }
    data.conductivity = k;
    data.reaction = lambda;
    TRY(boxhdg_create(&data, b->degree, (const double *const *)rho, h));
done:
    for (int d = 0; d < 3; d++) {
        base_free(&x[d]);
        base_free(&rho[d]);
    }
    base_free(&k);
    base_free(&lambda);
    return status;
}

static inline int plain_is_fixed(const struct boxhdg *h, int64_t unknown) {
    const struct box_grid *g = &h->grid;
    int64_t face = unknown / h->face_size, rest;
    int d = 0, plane = 0;
    while (face >= g->first_face[d + 1]) d++;
    rest = face - g->first_face[d];
    for (int e = 0; e <= d; e++) {
        int extent = e == d ? g->planes[d] : g->cells[e];
        plane = (int)(rest % extent);
        rest /= extent;
    }
    return box_plane_is_fixed(g, d, plane);
}

/* y += K_e x, the cell's own faces, whatever their conditions. */
static inline void plain_cell(const struct boxhdg *h, const int at[3], const double *x, double *y) {
    int dim = h->grid.dim, n[3] = {1, 1, 1}, stride[3][3];
    double a[3], reaction = boxhdg_metric(h, at, a);
    int64_t faces[3][2];
    for (int d = 0; d < dim; d++) {
        n[d] = h->n;
        for (int s = 0; s < 2; s++) faces[d][s] = box_face(&h->grid, at, d, s) * h->face_size;
    }
    for (int d = 0; d < dim; d++)
        for (int e = 0, step = 1; e < 3; e++) {
            stride[d][e] = e == d ? 0 : step;
            if (e != d) step *= n[e];
        }
    for (int d = 0; d < dim; d++) {
        const struct box_line *line = boxhdg_line(h, d, at[d]);
        for (int64_t t = 0; t < h->face_size; t++) {
            double low = x[faces[d][0] + t], high = x[faces[d][1] + t];
            double r0 = a[d] * line->gamma[0] * (high + low), r1 = a[d] * line->gamma[1] * (high - low);
            y[faces[d][0] + t] += r0 - r1;
            y[faces[d][1] + t] += r0 + r1;
        }
    }
    for (int k = 0; k < n[2]; k++)
        for (int j = 0; j < n[1]; j++)
            for (int i = 0; i < n[0]; i++) {
                int m[3] = {i, j, k};
                double Z = reaction, F = 0.0;
                for (int d = 0; d < dim; d++) {
                    const struct box_line *line = boxhdg_line(h, d, at[d]);
                    int t = m[0] * stride[d][0] + m[1] * stride[d][1] + m[2] * stride[d][2];
                    double sign = m[d] < line->n_even ? 1.0 : -1.0;
                    Z += a[d] * line->eigenvalues[m[d]];
                    F += a[d] * line->b[m[d]] * (x[faces[d][1] + t] + sign * x[faces[d][0] + t]);
                }
                for (int d = 0; d < dim; d++) {
                    const struct box_line *line = boxhdg_line(h, d, at[d]);
                    int t = m[0] * stride[d][0] + m[1] * stride[d][1] + m[2] * stride[d][2];
                    double r = a[d] * line->b[m[d]] * F / Z;
                    y[faces[d][1] + t] -= r;
                    y[faces[d][0] + t] -= m[d] < line->n_even ? r : -r;
                }
            }
}

static inline void plain_multiply(const struct boxhdg *h, const double *x, double *y) {
    double *masked = malloc((size_t)h->n_trace * sizeof *masked);
    assert_non_null(masked);
    for (int64_t i = 0; i < h->n_trace; i++) {
        masked[i] = plain_is_fixed(h, i) ? 0.0 : x[i];
        y[i] = 0.0;
    }
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        int at[3];
        box_cell_at(&h->grid, c, at);
        plain_cell(h, at, masked, y);
    }
    for (int64_t i = 0; i < h->n_trace; i++)
        if (plain_is_fixed(h, i)) y[i] = 0.0;
    free(masked);
}

static inline void plain_apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    plain_multiply(A->data, x->data, y->data);
}
static inline struct linear_operator plain_operator(const struct device *device, struct boxhdg *h) {
    return (struct linear_operator){.n = h->n_trace, .device = device, .apply = plain_apply, .data = h};
}

/* Random on free faces; a singular problem's is orthogonal to the constant, whose modes `kernel` receives
 * (normalised; zero when the problem is regular). */
static inline void plain_load(const struct boxhdg *h, double *F, double *kernel) {
    const struct box_grid *g = &h->grid;
    double norm = 0.0, dot = 0.0;
    for (int64_t i = 0; i < h->n_trace; i++) F[i] = plain_is_fixed(h, i) ? 0.0 : noise();
    for (int64_t face = 0, i = 0; face < g->n_faces; face++) {
        int d = 0, at[3];
        while (face >= g->first_face[d + 1]) d++;
        int64_t rest = face - g->first_face[d];
        for (int e = 0; e < 3; e++) {
            int extent = e == d ? g->planes[d] : g->cells[e];
            at[e] = (int)(rest % extent);
            rest /= extent;
        }
        for (int64_t t = 0; t < h->face_size; t++, i++) {
            int64_t m = t;
            kernel[i] = g->singular ? 1.0 : 0.0;
            for (int e = 0; e < g->dim; e++) {
                if (e == d) continue;
                kernel[i] *= sqrt(2.0) * boxhdg_line(h, e, at[e])->S[m % h->n];
                m /= h->n;
            }
            norm += kernel[i] * kernel[i];
        }
    }
    if (!g->singular) return;
    for (int64_t i = 0; i < h->n_trace; i++) dot += (kernel[i] /= sqrt(norm)) * F[i];
    for (int64_t i = 0; i < h->n_trace; i++) F[i] -= dot * kernel[i];
}

static inline double plain_residual(const struct boxhdg *h, const double *F, const double *x) {
    double *y = malloc((size_t)h->n_trace * sizeof *y), r = 0.0, f = 0.0;
    assert_non_null(y);
    plain_multiply(h, x, y);
    for (int64_t i = 0; i < h->n_trace; i++) {
        r += (F[i] - y[i]) * (F[i] - y[i]);
        f += F[i] * F[i];
    }
    free(y);
    return sqrt(r / f);
}

#endif
