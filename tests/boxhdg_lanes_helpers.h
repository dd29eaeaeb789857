/* For tests of boxes: discretizations with data of all sorts, and HDG in plain modes as boxhdg/boxhdg.h
 * defines it, cell by cell and without any of the tricks of the fast operator. */
#ifndef FACET_TESTS_BOX_LANES_HELPERS_H
#define FACET_TESTS_BOX_LANES_HELPERS_H

#include "boxhdg/boxhdg.h"
#include "hdg_helpers.h"

#define BOX_TEST_CELLS 40

struct box_case {
    int dim, degree, cells[3];
    enum box_side sides[3][2];
    int graded;          /* widths differ */
    int varied_lines;    /* rho differs from column to column */
    double conductivity; /* random in [1, this]; 0: constant */
    double reaction;     /* > 0: constant; < 0: random in [0, -this] */
    double rho;
    double length;
};

static inline struct boxhdg *make_box(const struct box_case *c) {
    double coordinates[3][BOX_TEST_CELLS + 1], rho[3][BOX_TEST_CELLS];
    uint32_t seed = 7;
    int64_t n_cells = 1;
    struct box_grid_data data = {.dim = c->dim};
    const double *rhos[3];
    for (int d = 0; d < 3; d++) {
        data.cells[d] = c->cells[d];
        data.coordinates[d] = coordinates[d];
        rhos[d] = rho[d];
        for (int i = 0; d < c->dim && i <= c->cells[d]; i++)
            coordinates[d][i] =
                c->length * (i + (c->graded ? 0.3 * random_signed(&seed) : 0.0)) / c->cells[d];
        for (int i = 0; d < c->dim && i < c->cells[d]; i++)
            rho[d][i] = c->rho * (c->varied_lines ? 1.5 + random_signed(&seed) : 1.0);
        for (int s = 0; s < 2; s++) data.sides[d][s] = c->sides[d][s];
        if (d < c->dim) n_cells *= c->cells[d];
    }
    double *k = test_malloc((size_t)n_cells * sizeof *k), *lambda = test_malloc((size_t)n_cells * sizeof *k);
    for (int64_t i = 0; i < n_cells; i++) {
        k[i] = 1.0 + 0.5 * (c->conductivity - 1.0) * (1.0 + random_signed(&seed));
        lambda[i] = c->reaction > 0.0 ? c->reaction : -0.5 * c->reaction * (1.0 + random_signed(&seed));
    }
    if (c->conductivity > 0.0) data.conductivity = k;
    if (c->reaction != 0.0) data.reaction = lambda;
    struct boxhdg *h = NULL;
    ok(boxhdg_create(&data, c->degree, rhos, &h));
    test_free(k);
    test_free(lambda);
    return h;
}

/* The plain mode of a face of direction d that the modes m of a cell fall on. */
static inline int64_t plain_mode(const struct boxhdg *h, int d, const int m[3]) {
    int64_t t = 0, stride = 1;
    for (int o = 0; o < h->grid.dim; o++)
        if (o != d) {
            t += stride * m[o];
            stride *= h->n;
        }
    return t;
}

/* y = K x. */
static inline void plain_apply(const struct boxhdg *h, const double *x, double *y) {
    const struct box_grid *g = &h->grid;
    for (int64_t i = 0; i < h->n_trace; i++) y[i] = 0.0;
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        int at[3];
        double a[3], lambda;
        int64_t face[3][2];
        const struct box_line *line[3];
        box_cell_at(g, cell, at);
        lambda = boxhdg_metric(h, at, a);
        for (int d = 0; d < g->dim; d++) {
            line[d] = boxhdg_line(h, d, at[d]);
            for (int s = 0; s < 2; s++) {
                int plane = (at[d] + s) % g->planes[d];
                face[d][s] = box_plane_is_fixed(g, d, plane) ? -1 : box_face(g, at, d, s) * h->face_size;
            }
        }
        for (int64_t e = 0; e < h->cell_size; e++) {
            int m[3] = {(int)(e % h->n), (int)(e / h->n % h->n), (int)(e / h->n / h->n)};
            double u = 0.0, Z = lambda, v[3] = {0};
            for (int d = 0; d < g->dim; d++) {
                int64_t t = plain_mode(h, d, m);
                double sign = m[d] < line[d]->n_even ? 1.0 : -1.0;
                v[d] = (face[d][1] >= 0 ? x[face[d][1] + t] : 0.0) +
                       sign * (face[d][0] >= 0 ? x[face[d][0] + t] : 0.0);
                u += a[d] * line[d]->b[m[d]] * v[d];
                Z += a[d] * line[d]->eigenvalues[m[d]];
            }
            u /= Z;
            for (int d = 0; d < g->dim; d++) {
                int64_t t = plain_mode(h, d, m);
                int odd = m[d] >= line[d]->n_even;
                double r = -a[d] * line[d]->b[m[d]] * u;
                if (m[d] == 0 || m[d] == line[d]->n_even) r += a[d] * line[d]->gamma[odd] * v[d];
                if (face[d][1] >= 0) y[face[d][1] + t] += r;
                if (face[d][0] >= 0) y[face[d][0] + t] += odd ? -r : r;
            }
        }
    }
}

#endif
