/* Multilinear functions of the vertices: transfers to the faces, the Galerkin matrix, its solve. */
#include "bench/papers/vertices.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "solve/coarse.h"

/* A factor beyond so many vertices takes longer to apply than a cycle of multigrid. */
#define CHOLESKY_VERTICES 60000

void box_coarse_destroy(struct box_coarse *c) {
    for (int l = 0; c->ends != NULL && l < c->h->n_lines; l++) base_free(&c->ends[l]);
    base_free(&c->ends);
    base_free(&c->numbers);
    base_free(&c->sums);
    csr_destroy(&c->A);
    *c = (struct box_coarse){0};
}

int64_t box_coarse_vertex(const struct box_coarse *c, const int at[3], const int ends[3]) {
    int64_t number = 0;
    for (int d = 2; d >= 0; d--) {
        int index = d < c->h->grid.dim ? (at[d] + ends[d]) % c->vertices[d] : 0;
        number = number * c->vertices[d] + index;
    }
    return number;
}

/* ------------------------------------------------------------------------------------- transfers */

/* A face seen from its lower cell: modes and end tables of the two tangential directions (one mode of value 1
 * where there is none), and the unknowns of its corners, the lower direction fastest, or -1. */
struct face_frame {
    int n[2];
    const double *ends[2];
    int64_t numbers[4];
};
static const double no_direction[2] = {1.0, 0.0};

/* False for faces with Dirichlet values. */
static int find_frame(const struct box_coarse *c, int64_t face, struct face_frame *f) {
    const struct box_grid *g = &c->h->grid;
    int d = 0, at[3], t = 0;
    while (face >= g->first_face[d + 1]) d++;
    int64_t rest = face - g->first_face[d];
    for (int e = 0; e < 3; e++) {
        int extent = e == d ? g->planes[d] : g->cells[e];
        at[e] = (int)(rest % extent);
        rest /= extent;
    }
    if (box_plane_is_fixed(g, d, at[d])) return 0;
    int tangential[2] = {d == 0 ? 1 : 0, d == 2 ? 1 : 2};
    for (t = 0; t < 2; t++) {
        int e = tangential[t], inside = e < g->dim;
        f->n[t] = inside ? c->h->n : 1;
        f->ends[t] = inside ? c->ends[c->h->column_line[e][at[e]]] : no_direction;
    }
    for (int v = 0; v < 4; v++) {
        int ends[3] = {0, 0, 0};
        ends[tangential[0]] = v % 2;
        ends[tangential[1]] = v / 2;
        int outside = (v % 2 == 1 && tangential[0] >= g->dim) || (v / 2 == 1 && tangential[1] >= g->dim);
        f->numbers[v] = outside ? -1 : c->numbers[box_coarse_vertex(c, at, ends)];
    }
    return 1;
}

#define REAL       double
#define NAME(what) what
#include "bench/papers/vertices_real.h"
#undef REAL
#undef NAME
#define REAL       float
#define NAME(what) what##_single
#include "bench/papers/vertices_real.h"

/* --------------------------------------------------------------------------------------- matrix */

/* sum over the modes of parity pi of E_i^2 E_j^2 E_k^2 Z_0 / (Z_0 + lambda V), times lambda V. */
static double reaction_energy(const struct box_coarse *c, const int at[3], const double a[3], double reaction,
                              int pi) {
    const struct boxhdg *h = c->h;
    const struct box_line *lines[3];
    const double *ends[3];
    int first[3] = {0, 0, 0}, last[3] = {1, 1, 1};
    for (int d = 0; d < h->grid.dim; d++) {
        int odd = pi >> d & 1;
        lines[d] = boxhdg_line(h, d, at[d]);
        ends[d] = c->ends[h->column_line[d][at[d]]];
        first[d] = odd ? lines[d]->n_even : 0;
        last[d] = odd ? h->n : lines[d]->n_even;
    }
    double sum = 0.0;
    for (int k = first[2]; k < last[2]; k++)
        for (int j = first[1]; j < last[1]; j++)
            for (int i = first[0]; i < last[0]; i++) {
                int m[3] = {i, j, k};
                double square = 1.0, Z = 0.0;
                for (int d = 0; d < h->grid.dim; d++) {
                    double E = 2.0 * ends[d][2 * m[d] + 1]; /* of 1 on even modes, of xi on odd ones */
                    square *= E * E;
                    Z += a[d] * lines[d]->eigenvalues[m[d]];
                }
                sum += square * Z / (Z + reaction);
            }
    return reaction * sum;
}

/* The lower triangle of the matrix of a cell: energies of products of 1 and xi, taken to the corners. */
static void cell_matrix(const struct box_coarse *c, const int at[3], double *matrix) {
    const struct boxhdg *h = c->h;
    int dim = h->grid.dim, corners = 1 << dim;
    double a[3], energies[8], reaction = boxhdg_metric(h, at, a);
    for (int pi = 0; pi < corners; pi++) {
        double energy = 0.0;
        for (int d = 0; d < dim; d++) {
            double term = 2.0 * a[d];
            if ((pi >> d & 1) == 0) continue;
            for (int e = 0; e < dim; e++)
                if (e != d) term *= (pi >> e & 1) == 0 ? 2.0 : 2.0 / 3.0;
            energy += term;
        }
        if (reaction > 0.0) energy += reaction_energy(c, at, a, reaction, pi);
        energies[pi] = energy / (corners * corners);
    }
    for (int v = 0; v < corners; v++)
        for (int w = 0; w <= v; w++) {
            double sum = 0.0;
            for (int pi = 0; pi < corners; pi++) /* corner v has the sign of xi^pi there */
                sum += __builtin_popcount((unsigned)((v ^ w) & pi)) % 2 == 0 ? energies[pi] : -energies[pi];
            *matrix++ = sum;
        }
}

/* Cells that follow one another along x mostly differ in nothing, or in k alone without reaction. */
static int is_multiple(const struct boxhdg *h, const int a[3], const int b[3]) {
    const struct box_grid *g = &h->grid;
    int64_t one = box_cell(g, a), two = box_cell(g, b);
    double k = box_conductivity(g, one), l = box_conductivity(g, two);
    if (fabs(box_reaction(g, one) * l - box_reaction(g, two) * k) > 0.0) return 0;
    for (int d = 0; d < g->dim; d++)
        if (g->widths[d][a[d]] != g->widths[d][b[d]] || h->column_line[d][a[d]] != h->column_line[d][b[d]])
            return 0;
    return 1;
}

static facet_status assemble(struct box_coarse *c) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &c->h->grid;
    int corners = 1 << g->dim, triangle = corners * (corners + 1) / 2, last[3] = {-1, 0, 0};
    struct csr_elements e;
    double kept[36], matrix[36];
    TRY(csr_elements_create(c->n, g->n_cells, corners, 0, &e));
    for (int64_t cell = 0; cell < g->n_cells; cell++) {
        int at[3];
        int64_t numbers[8];
        box_cell_at(g, cell, at);
        if (last[0] < 0 || !is_multiple(c->h, last, at)) {
            cell_matrix(c, at, kept);
            memcpy(last, at, sizeof last);
        }
        double factor = box_conductivity(g, cell) / box_conductivity(g, box_cell(g, last));
        for (int i = 0; i < triangle; i++) matrix[i] = factor * kept[i];
        for (int v = 0; v < corners; v++)
            numbers[v] = c->numbers[box_coarse_vertex(c, at, (int[3]){v & 1, v >> 1 & 1, v >> 2 & 1})];
        csr_elements_add(&e, corners, numbers, matrix);
    }
    TRY(csr_from_elements(&e, &c->A));
done:
    csr_elements_destroy(&e);
    return status;
}

/* The modes of (1 -+ xi) / 2, from 1 = sqrt(2) l_0 and xi = sqrt(2/3) l_1. */
static facet_status make_ends(struct box_coarse *c) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = c->h;
    TRY(CALLOC(c->ends, h->n_lines));
    for (int l = 0; l < h->n_lines; l++) {
        TRY(ALLOC(c->ends[l], 2 * h->n));
        for (int m = 0; m < h->n; m++) {
            double even = sqrt(0.5) * h->lines[l].S[m], odd = sqrt(1.0 / 6.0) * h->lines[l].S[h->n + m];
            c->ends[l][2 * m] = even - odd;
            c->ends[l][2 * m + 1] = even + odd;
        }
    }
done:
    return status;
}

facet_status box_coarse_create(const struct boxhdg *h, struct box_coarse *c) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &h->grid;
    *c = (struct box_coarse){.h = h, .n_vertices = 1};
    for (int d = 0; d < 3; d++) {
        c->vertices[d] = d < g->dim ? g->planes[d] : 1;
        c->n_vertices *= c->vertices[d];
    }
    if (c->n_vertices > INT32_MAX)
        FAIL(FACET_ERROR_INPUT, "a box of %lld vertices is too large for a coarse space of vertices",
             (long long)c->n_vertices);
    TRY(make_ends(c));
    TRY(ALLOC(c->numbers, c->n_vertices));
    TRY(ALLOC(c->sums, g->n_faces));
    for (int64_t v = 0; v < c->n_vertices; v++) {
        int64_t rest = v;
        int fixed = 0;
        for (int d = 0; d < g->dim; d++) {
            fixed |= box_plane_is_fixed(g, d, (int)(rest % c->vertices[d]));
            rest /= c->vertices[d];
        }
        c->numbers[v] = fixed ? -1 : (int32_t)c->n++;
    }
    TRY(assemble(c));
done:
    if (status != FACET_OK) box_coarse_destroy(c);
    return status;
}

/* ---------------------------------------------------------------------------------------- solve */

facet_status box_coarse_solver(const struct device *device, struct box_coarse *c, struct linear_operator *M) {
    struct coarse_matrix matrix = {.name = "vertices", .csr = c->A, .singular = c->h->grid.singular};
    facet_status status = operator_create_coarse(
        device, &matrix, &(struct coarse_options){.unknowns = CHOLESKY_VERTICES, .cycle = MG_W}, M);
    coarse_matrix_destroy(&matrix);
    c->A = (struct csr){0};
    return status;
}
