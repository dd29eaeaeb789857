/* The volume solves: planes of points are transformed in the first two directions, columns through them in
 * the third, there divided, and all the way back. */
#include "bench/papers/volume.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/rule.h"

/* Columns at a time in the third direction. */
#define CHUNK 256

enum points { GAUSS, NODES };

struct box_volume {
    const struct box_grid *grid;
    int degree, n;
    struct box_basis own[3];
    const struct box_basis *bases[3]; /* directions alike share theirs */
    double *planes;   /* points of the third direction x eigenvectors of the second and first */
    double *spectrum; /* of the continuous space: eigenvectors of all three */
    double *mass, *stiffness, *values; /* and its matrices in a cell of width 2 */
    double *load;                      /* and a lattice of nodes */
    int n_work;
    int64_t scratch_size;
    double *scratch;
};

void box_volume_destroy(struct box_volume **volume) {
    struct box_volume *v = *volume;
    if (v == NULL) return;
    for (int d = 0; d < 3; d++) box_basis_destroy(&v->own[d]);
    base_free(&v->planes);
    base_free(&v->spectrum);
    base_free(&v->mass);
    base_free(&v->load);
    base_free(&v->scratch);
    base_free(volume);
}

int64_t box_volume_size(const struct box_volume *v) {
    int64_t size = v->grid->n_cells;
    for (int d = 0; d < v->grid->dim; d++) size *= v->n;
    return size;
}

void box_volume_lattice(const struct box_volume *v, int counts[3]) {
    for (int d = 0; d < 3; d++) counts[d] = v->bases[d]->nodes.fold.n;
}

static const struct box_volume_table *table_of(const struct box_volume *v, int d, enum points kind) {
    return kind == GAUSS ? &v->bases[d]->gauss : &v->bases[d]->nodes;
}

/* ------------------------------------------------------------------------------------ transforms */

/* What a parity without inputs gives. */
static void clear(int rows, int columns, double *C, int64_t step) {
    for (int i = 0; i < rows; i++) memset(C + i * step, 0, (size_t)columns * sizeof *C);
}

/* C = A B' along the columns (A: rows x all inputs, parity by parity), B the table of one direction. */
static void multiply_columns(double *const B[2], const int in[2], const int out[2], int rows, const double *A,
                             double *C) {
    int ld_in = in[0] + in[1], ld_out = out[0] + out[1];
    for (int b = 0, from = 0, to = 0; b < 2; from += in[b], to += out[b++])
        if (in[b] > 0 && out[b] > 0)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out[b], in[b], 1.0, A + from, ld_in,
                        B[b], in[b], 0.0, C + to, ld_out);
        else
            clear(rows, out[b], C + to, ld_out);
}
/* C = B A along the rows. */
static void multiply_rows(double *const B[2], const int in[2], const int out[2], int columns, const double *A,
                          double *C, int64_t C_step) {
    for (int b = 0, from = 0, to = 0; b < 2; from += in[b], to += out[b++])
        if (in[b] > 0 && out[b] > 0)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, out[b], columns, in[b], 1.0, B[b], in[b],
                        A + (int64_t)from * columns, columns, 0.0, C + to * C_step, (int)C_step);
        else
            clear(out[b], columns, C + to * C_step, C_step);
}

/* Row (y, z) of points: pieces of n numbers every `step` (Gauss points lie cell by cell), or one piece. */
static double *find_row(const struct box_volume *v, enum points kind, int y, int z, const double *data,
                        int *piece, int64_t *step) {
    const struct box_grid *g = v->grid;
    int n[3] = {v->n, g->dim > 1 ? v->n : 1, g->dim > 2 ? v->n : 1};
    if (kind == NODES) {
        int counts[3];
        box_volume_lattice(v, counts);
        *piece = counts[0];
        *step = 0;
        return (double *)data + ((int64_t)z * counts[1] + y) * counts[0];
    }
    int at[3] = {0, y / n[1], z / n[2]};
    *piece = n[0];
    *step = (int64_t)n[0] * n[1] * n[2];
    return (double *)data + box_cell(g, at) * *step + ((int64_t)(z % n[2]) * n[1] + y % n[1]) * n[0];
}

/* Plane z of the points to the eigenvectors of the first two directions. */
static void plane_forward(struct box_volume *v, enum points kind, int z, const double *f, double *one,
                          double *two) {
    const struct box_volume_table *x = table_of(v, 0, kind), *y = table_of(v, 1, kind);
    int m1 = v->bases[0]->m, m2 = v->bases[1]->m, piece;
    double *row = two;
    for (int j = 0; j < y->fold.n; j++) {
        int64_t step;
        const double *from = find_row(v, kind, j, z, f, &piece, &step);
        for (int c = 0; c * piece < x->fold.n; c++)
            memcpy(row + c * piece, from + c * step, (size_t)piece * sizeof *row);
        box_fold_row(&x->fold, 0, row, one + (int64_t)j * x->fold.n);
    }
    multiply_columns(x->to, x->fold.sizes, v->bases[0]->sizes, y->fold.n, one, two);
    box_fold_rows(&y->fold, 0, m1, two, m1, one, m1);
    multiply_rows(y->to, y->fold.sizes, v->bases[1]->sizes, m1, one, v->planes + (int64_t)z * m1 * m2, m1);
}

static void plane_back(struct box_volume *v, enum points kind, int z, double *u, double *one, double *two) {
    const struct box_volume_table *x = table_of(v, 0, kind), *y = table_of(v, 1, kind);
    int m1 = v->bases[0]->m, m2 = v->bases[1]->m, piece;
    double *row = one;
    multiply_rows(y->from, v->bases[1]->sizes, y->fold.sizes, m1, v->planes + (int64_t)z * m1 * m2, one, m1);
    box_fold_rows(&y->fold, 1, m1, one, m1, two, m1);
    multiply_columns(x->from, v->bases[0]->sizes, x->fold.sizes, y->fold.n, two, one);
    for (int j = 0; j < y->fold.n; j++) {
        int64_t step;
        double *to = find_row(v, kind, j, z, u, &piece, &step);
        row = two;
        box_fold_row(&x->fold, 1, one + (int64_t)j * x->fold.n, row);
        for (int c = 0; c * piece < x->fold.n; c++)
            memcpy(to + c * step, row + c * piece, (size_t)piece * sizeof *row);
    }
}

static void all_planes(struct box_volume *v, enum points kind, const double *f, double *u) {
    int n = table_of(v, 2, kind)->fold.n;
#pragma omp parallel for schedule(static) num_threads(v->n_work)
    for (int z = 0; z < n; z++) {
        double *one = v->scratch + omp_get_thread_num() * v->scratch_size, *two = one + v->scratch_size / 2;
        if (f != NULL)
            plane_forward(v, kind, z, f, one, two);
        else
            plane_back(v, kind, z, u, one, two);
    }
}

/* E (eigenvectors of the third direction x count) / (lambda + k (theta_1 + theta_2 + theta_3)). */
static void divide(const struct box_volume *v, double k, double lambda, int singular, int64_t begin,
                   int count, double *E) {
    const struct box_basis *const *b = v->bases;
    int64_t zero = (int64_t)b[1]->smallest * b[0]->m + b[0]->smallest;
    double rest[CHUNK];
    for (int j = 0; j < count; j++)
        rest[j] = lambda + k * (b[0]->theta[(begin + j) % b[0]->m] + b[1]->theta[(begin + j) / b[0]->m]);
    for (int i = 0; i < b[2]->m; i++)
        for (int j = 0; j < count; j++) E[(int64_t)i * count + j] /= rest[j] + k * b[2]->theta[i];
    if (singular && zero >= begin && zero < begin + count)
        E[(int64_t)b[2]->smallest * count + (zero - begin)] = 0.0;
}

/* What to do with the columns of the third direction. */
struct passage {
    int in, out; /* points to come from and go to: enum points, or -1 for the spectrum */
    int add;     /* the spectrum that is there */
    int solve, singular;
    double k, lambda;
};

static void pass_columns(struct box_volume *v, const struct passage *p) {
    const struct box_basis *z = v->bases[2];
    int64_t columns = (int64_t)v->bases[0]->m * v->bases[1]->m;
#pragma omp parallel for schedule(static) num_threads(v->n_work)
    for (int64_t begin = 0; begin < columns; begin += CHUNK) {
        int count = (int)(columns - begin < CHUNK ? columns - begin : CHUNK);
        double *one = v->scratch + omp_get_thread_num() * v->scratch_size, *E = one + v->scratch_size / 2;
        if (p->in >= 0) {
            const struct box_volume_table *t = table_of(v, 2, (enum points)p->in);
            box_fold_rows(&t->fold, 0, count, v->planes + begin, columns, one, count);
            multiply_rows(t->to, t->fold.sizes, z->sizes, count, one, E, count);
        }
        for (int i = 0; i < z->m && v->spectrum != NULL; i++) {
            double *row = E + (int64_t)i * count, *kept = v->spectrum + i * columns + begin;
            for (int j = 0; j < count && (p->in < 0 || p->add); j++)
                row[j] = (p->in < 0 ? 0.0 : row[j]) + kept[j];
        }
        if (p->solve) divide(v, p->k, p->lambda, p->singular, begin, count, E);
        for (int i = 0; i < z->m && v->spectrum != NULL; i++)
            memcpy(v->spectrum + i * columns + begin, E + (int64_t)i * count, (size_t)count * sizeof *E);
        if (p->out >= 0) {
            const struct box_volume_table *t = table_of(v, 2, (enum points)p->out);
            multiply_rows(t->from, z->sizes, t->fold.sizes, count, E, one, count);
            box_fold_rows(&t->fold, 1, count, one, count, v->planes + begin, columns);
        }
    }
}

static int is_singular(const struct box_grid *g, double lambda) {
    for (int d = 0; d < g->dim; d++)
        if (g->sides[d][0] == BOX_DIRICHLET || g->sides[d][1] == BOX_DIRICHLET) return 0;
    return lambda == 0.0;
}

/* A single cell of degree 1 between Dirichlet sides leaves nothing to solve for. */
static int has_unknowns(const struct box_volume *v) {
    return v->bases[0]->m > 0 && v->bases[1]->m > 0 && v->bases[2]->m > 0;
}

void box_volume_solve(struct box_volume *v, double k, double lambda, const double *f, double *u) {
    struct passage p = {.in = GAUSS,
                        .out = GAUSS,
                        .solve = 1,
                        .singular = is_singular(v->grid, lambda),
                        .k = k,
                        .lambda = lambda};
    if (!has_unknowns(v)) {
        memset(u, 0, (size_t)box_volume_size(v) * sizeof *u);
        return;
    }
    all_planes(v, GAUSS, f, NULL);
    pass_columns(v, &p);
    all_planes(v, GAUSS, NULL, u);
}

void box_volume_nodes(struct box_volume *v, double *values) {
    struct passage p = {.in = -1, .out = NODES};
    int counts[3];
    box_volume_lattice(v, counts);
    if (has_unknowns(v)) {
        pass_columns(v, &p);
        all_planes(v, NODES, NULL, values);
    } else
        memset(values, 0, (size_t)counts[0] * (size_t)counts[1] * (size_t)counts[2] * sizeof *values);
}

/* --------------------------------------------------------------------------------- boundary data */

/* y = A x along direction d of a tensor with extents `in`, A being out_d x in_d; in becomes the new extents.
 */
static void contract(int d, int out, int in[3], const double *A, const double *x, double *y) {
    int inner = d == 0 ? 1 : d == 1 ? in[0] : in[0] * in[1], outer = in[0] * in[1] * in[2] / inner / in[d];
    for (int o = 0; o < outer; o++)
        for (int i = 0; i < out; i++) {
            double *to = y + ((int64_t)o * out + i) * inner;
            for (int r = 0; r < inner; r++) to[r] = 0.0;
            for (int j = 0; j < in[d]; j++) {
                const double *from = x + ((int64_t)o * in[d] + j) * inner;
                for (int r = 0; r < inner; r++) to[r] += A[i * in[d] + j] * from[r];
            }
        }
    in[d] = out;
}

/* The node of the lattice that is node (i, j, k) of a cell. */
static int64_t cell_node(const struct box_volume *v, const int at[3], const int counts[3], int i) {
    int64_t node = 0;
    int n = v->n, local[3] = {i % n, i / n % n, i / n / n};
    for (int d = 2; d >= 0; d--)
        node = node * counts[d] + (d < v->grid->dim ? (at[d] * v->degree + local[d]) % counts[d] : 0);
    return node;
}

static int is_fixed_node(const struct box_volume *v, const int counts[3], int64_t node) {
    for (int d = 0; d < v->grid->dim; d++) {
        int64_t index = node % counts[d];
        node /= counts[d];
        if (index == 0 && v->grid->sides[d][0] == BOX_DIRICHLET) return 1;
        if (index == counts[d] - 1 && v->grid->sides[d][1] == BOX_DIRICHLET) return 1;
    }
    return 0;
}

/* load -= (lambda M + k L) g of one cell; work: 3 cells. */
static void subtract_cell(const struct box_volume *v, const int at[3], const int counts[3], double k,
                          double lambda, const double *g, double *work) {
    int dim = v->grid->dim, size = 1, any = 0;
    for (int d = 0; d < dim; d++) size *= v->n;
    double *x = work, *y = work + size, *t = y + size;
    for (int i = 0; i < size; i++) {
        int64_t node = cell_node(v, at, counts, i);
        x[i] = is_fixed_node(v, counts, node) ? g[node] : 0.0;
        any |= x[i] != 0.0;
    }
    for (int term = 0; any && term <= dim; term++) { /* term = dim: the mass */
        double scale = term == dim ? lambda : k;
        int extents[3] = {v->n, dim > 1 ? v->n : 1, dim > 2 ? v->n : 1};
        memcpy(y, x, (size_t)size * sizeof *y);
        for (int d = 0; d < dim; d++) {
            double half = 0.5 * v->grid->widths[d][at[d]];
            contract(d, v->n, extents, d == term ? v->stiffness : v->mass, y, t);
            memcpy(y, t, (size_t)size * sizeof *y);
            scale *= d == term ? 1.0 / half : half;
        }
        for (int i = 0; i < size; i++) v->load[cell_node(v, at, counts, i)] -= scale * y[i];
    }
}

/* Values at the Gauss points of a cell from those at its nodes. */
static void interpolate_cell(const struct box_volume *v, const int at[3], const int counts[3],
                             const double *nodes, double *u, double *work) {
    int dim = v->grid->dim, size = 1, extents[3] = {v->n, dim > 1 ? v->n : 1, dim > 2 ? v->n : 1};
    for (int d = 0; d < dim; d++) size *= v->n;
    double *x = work, *y = work + size;
    for (int i = 0; i < size; i++) x[i] = nodes[cell_node(v, at, counts, i)];
    for (int d = 0; d < dim; d++) {
        contract(d, v->n, extents, v->values, x, y);
        memcpy(x, y, (size_t)size * sizeof *x);
    }
    memcpy(u + box_cell(v->grid, at) * size, x, (size_t)size * sizeof *x);
}

void box_volume_solve_data(struct box_volume *v, double k, double lambda, const double *f, const double *load,
                           double *nodes, double *u) {
    struct passage p = {.in = GAUSS, .out = -1, .k = k, .lambda = lambda};
    int counts[3];
    box_volume_lattice(v, counts);
    int64_t n = (int64_t)counts[0] * counts[1] * counts[2];
    for (int64_t i = 0; i < n; i++) v->load[i] = load != NULL ? load[i] : 0.0;
    for (int64_t c = 0; c < v->grid->n_cells; c++) {
        int at[3];
        box_cell_at(v->grid, c, at);
        subtract_cell(v, at, counts, k, lambda, nodes, v->scratch);
    }
    if (has_unknowns(v)) {
        if (f != NULL) {
            all_planes(v, GAUSS, f, NULL);
            pass_columns(v, &p);
        }
        p = (struct passage){
            .in = NODES, .out = NODES, .add = f != NULL, .solve = 1, .k = k, .lambda = lambda};
        p.singular = is_singular(v->grid, lambda);
        all_planes(v, NODES, v->load, NULL);
        pass_columns(v, &p);
        all_planes(v, NODES, NULL, v->load);
    }
    for (int64_t i = 0; i < n; i++)
        if (!is_fixed_node(v, counts, i)) nodes[i] = v->load[i];
    for (int64_t c = 0; u != NULL && c < v->grid->n_cells; c++) {
        int at[3];
        box_cell_at(v->grid, c, at);
        interpolate_cell(v, at, counts, nodes, u, v->scratch);
    }
}

/* ------------------------------------------------------------------------------------------ error */

/* The square of the error on one cell; points: Gauss points (n_fine a direction), A: interpolation. */
static facet_status cell_error(const struct box_volume *v, int64_t cell, int n_fine, const double *points,
                               const double *weights, const double *A, const double *u,
                               const struct field *exact, double *work, double *square) {
    facet_status status = FACET_OK;
    const struct box_grid *g = v->grid;
    int at[3], dim = g->dim, extents[3] = {v->n, dim > 1 ? v->n : 1, dim > 2 ? v->n : 1};
    int size = 1, fine = 1;
    for (int d = 0; d < dim; d++) {
        size *= v->n;
        fine *= n_fine;
    }
    double *one = work, *two = one + fine, *x = two + fine, *values = x + dim * fine;
    box_cell_at(g, cell, at);
    memcpy(one, u + cell * size, (size_t)size * sizeof *one);
    for (int d = 0; d < dim; d++) {
        contract(d, n_fine, extents, A, one, two);
        memcpy(one, two, (size_t)(extents[0] * extents[1] * extents[2]) * sizeof *one);
    }
    for (int i = 0; i < fine; i++)
        for (int d = 0, rest = i; d < dim; d++, rest /= n_fine)
            x[i * dim + d] =
                g->coordinates[d][at[d]] + 0.5 * g->widths[d][at[d]] * (1.0 + points[rest % n_fine]);
    TRY(field_eval(exact, fine, dim, x, values));
    *square = 0.0;
    for (int i = 0; i < fine; i++) {
        double weight = 1.0;
        for (int d = 0, rest = i; d < dim; d++, rest /= n_fine)
            weight *= 0.5 * g->widths[d][at[d]] * weights[rest % n_fine];
        *square += weight * (one[i] - values[i]) * (one[i] - values[i]);
    }
done:
    return status;
}

facet_status box_volume_error(const struct box_volume *v, const double *u, const struct field *exact,
                              double *error) {
    facet_status status = FACET_OK;
    int n = v->n, n_fine = n + 2;
    int64_t fine = 1;
    double *gauss = NULL, *bary, *points, *weights, *A, *work = NULL, sum = 0.0, square;
    for (int d = 0; d < v->grid->dim; d++) fine *= n_fine;
    TRY(ALLOC(gauss, 2 * n + 2 * n_fine + n * n_fine));
    bary = gauss + n;
    points = bary + n;
    weights = points + n_fine;
    A = weights + n_fine;
    TRY(rule_gauss_jacobi(n, 0.0, 0.0, gauss, bary));
    TRY(rule_gauss_jacobi(n_fine, 0.0, 0.0, points, weights));
    lagrange_weights(n, gauss, bary);
    for (int q = 0; q < n_fine; q++) lagrange_row(n, gauss, bary, points[q], A + q * n);
    TRY(ALLOC(work, fine * (3 + v->grid->dim)));
    for (int64_t c = 0; c < v->grid->n_cells; c++) {
        TRY(cell_error(v, c, n_fine, points, weights, A, u, exact, work, &square));
        sum += square;
    }
    *error = sqrt(sum);
done:
    base_free(&gauss);
    base_free(&work);
    return status;
}

/* ------------------------------------------------------------------------------------------ setup */

/* The same cells and conditions; lines: of HDG, or NULL. */
static int same_direction(const struct box_grid *g, int *const lines[3], int d, int e) {
    if (d >= g->dim || e >= g->dim || g->cells[d] != g->cells[e]) return 0;
    for (int side = 0; side < 2; side++)
        if (g->sides[d][side] != g->sides[e][side]) return 0;
    for (int c = 0; c < g->cells[d]; c++)
        if (g->widths[d][c] != g->widths[e][c] || (lines != NULL && lines[d][c] != lines[e][c])) return 0;
    return 1;
}

static facet_status make_continuous(struct box_volume *v) {
    facet_status status = FACET_OK;
    int counts[3], n = v->n;
    box_volume_lattice(v, counts);
    TRY(ALLOC(v->spectrum, (int64_t)v->bases[0]->m * v->bases[1]->m * v->bases[2]->m));
    TRY(ALLOC(v->load, (int64_t)counts[0] * counts[1] * counts[2]));
    TRY(ALLOC(v->mass, 3 * n * n));
    v->stiffness = v->mass + n * n;
    v->values = v->stiffness + n * n;
    TRY(box_nodal_matrices(v->degree, v->mass, v->stiffness, v->values));
done:
    return status;
}

static facet_status create(const struct box_grid *g, int degree, const struct boxhdg *h,
                           struct box_volume **volume) {
    facet_status status = FACET_OK;
    struct box_volume *v;
    int64_t most[3], cell = 1, scratch;
    TRY(CALLOC(*volume, 1));
    v = *volume;
    v->grid = g;
    v->degree = degree;
    v->n = degree + 1;
    if (degree < 1 || degree > BOX_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree on a box must be 1 to %d, not %d", BOX_MAX_DEGREE, degree);
    for (int d = 0; d < 3; d++) {
        for (int e = 0; e < d && v->bases[d] == NULL; e++)
            if (same_direction(g, h != NULL ? h->column_line : NULL, e, d)) v->bases[d] = v->bases[e];
        if (v->bases[d] == NULL) {
            TRY(base_wrap(h != NULL ? box_basis_create_hdg(h, d, &v->own[d])
                                    : box_basis_create_continuous(g, degree, d, &v->own[d]),
                          "direction %c", "xyz"[d]));
            v->bases[d] = &v->own[d];
        }
        most[d] = v->bases[d]->gauss.fold.n; /* never fewer than nodes or eigenvectors, but for p = N = 1 */
        if (v->bases[d]->nodes.fold.n > most[d]) most[d] = v->bases[d]->nodes.fold.n;
        if (d < g->dim) cell *= v->n;
    }
    TRY(ALLOC(v->planes, most[2] * v->bases[0]->m * v->bases[1]->m));
    scratch = most[0] * most[1] > CHUNK * most[2] ? most[0] * most[1] : CHUNK * most[2];
    v->scratch_size = 2 * (scratch > 2 * cell ? scratch : 2 * cell);
    v->n_work = base_threads_for(g->n_cells * cell);
    TRY(ALLOC(v->scratch, v->n_work * v->scratch_size));
    if (h == NULL) TRY(make_continuous(v));
done:
    if (status != FACET_OK) box_volume_destroy(volume);
    return status;
}

facet_status box_volume_create_hdg(const struct boxhdg *h, struct box_volume **volume) {
    return create(&h->grid, h->degree, h, volume);
}

facet_status box_volume_create_continuous(const struct box_grid *grid, int degree,
                                          struct box_volume **volume) {
    return create(grid, degree, NULL, volume);
}
