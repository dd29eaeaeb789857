/* The volume solves: planes of points are transformed in the first two directions, columns through them in
 * the third, there divided, and all the way back. */
#include "bench/papers/volume.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "poly/basis.h"
#include "poly/rule.h"

struct box_volume {
    const struct box_grid *grid;
    int degree, n;
    struct box_volume_axis own[3];
    const struct box_volume_axis *axes[3]; /* directions alike share theirs */
    struct box_transform gauss, nodes;     /* nodes: of the continuous space */
    struct box_element element;            /* and its functions on [0, 1], */
    double *values;                        /* n x n: them at the Gauss points, */
    double *spectrum;                      /* eigenvectors of all three directions, */
    double *load, *cell;                   /* a lattice of nodes, and room for three cells */
};

void box_volume_destroy(struct box_volume **volume) {
    struct box_volume *v = *volume;
    if (v == NULL) return;
    for (int d = 0; d < 3; d++) box_volume_axis_destroy(&v->own[d]);
    box_transform_destroy(&v->gauss);
    box_transform_destroy(&v->nodes);
    box_element_destroy(&v->element);
    base_free(&v->values);
    base_free(&v->spectrum);
    base_free(&v->load);
    base_free(&v->cell);
    base_free(volume);
}

int64_t box_volume_size(const struct box_volume *v) {
    int64_t size = v->grid->n_cells;
    for (int d = 0; d < v->grid->dim; d++) size *= v->n;
    return size;
}

void box_volume_lattice(const struct box_volume *v, int counts[3]) {
    for (int d = 0; d < 3; d++) counts[d] = v->axes[d]->nodes.fold.n;
}

/* ------------------------------------------------------------------------------------ solves */

/* What to do in the middle of the columns of the third direction: eigenvectors come from points or are those
 * kept; are added to those kept; are divided; are kept. */
struct passage {
    struct box_volume *v;
    int come, add, solve, singular;
    double k, lambda;
};

static void pass(void *user, int64_t begin, int count, double *E) {
    const struct passage *p = user;
    const struct box_transform *t = &p->v->gauss;
    const int64_t columns = (int64_t)t->axes[0]->n_modes * t->axes[1]->n_modes;
    double *spectrum = p->v->spectrum;
    int n = t->axes[2]->n_modes;
    for (int i = 0; i < n && (!p->come || p->add); i++)
        for (int j = 0; j < count; j++)
            E[(int64_t)i * count + j] =
                (p->come ? E[(int64_t)i * count + j] : 0.0) + spectrum[i * columns + begin + j];
    if (p->solve) box_transform_divide(t, p->k, p->lambda, p->singular, begin, count, E);
    for (int i = 0; i < n && spectrum != NULL; i++)
        memcpy(spectrum + i * columns + begin, E + (int64_t)i * count, (size_t)count * sizeof *E);
}

static int is_singular(const struct box_grid *g, double lambda) {
    for (int d = 0; d < g->dim; d++)
        if (g->sides[d][0] == BOX_DIRICHLET || g->sides[d][1] == BOX_DIRICHLET) return 0;
    return lambda == 0.0;
}

/* A single cell of degree 1 between Dirichlet sides leaves nothing to solve for. */
static int has_unknowns(const struct box_volume *v) {
    return v->gauss.planes != NULL;
}

void box_volume_solve(struct box_volume *v, double k, double lambda, const double *f, double *u) {
    struct passage p = {v, 1, 0, 1, is_singular(v->grid, lambda), k, lambda};
    if (!has_unknowns(v)) {
        memset(u, 0, (size_t)box_volume_size(v) * sizeof *u);
        return;
    }
    box_transform_planes(&v->gauss, 0, f, NULL);
    box_transform_columns(&v->gauss, &v->gauss, pass, &p);
    box_transform_planes(&v->gauss, 1, NULL, u);
}

void box_volume_nodes(struct box_volume *v, double *values) {
    struct passage p = {.v = v};
    int counts[3];
    box_volume_lattice(v, counts);
    if (has_unknowns(v)) {
        box_transform_columns(NULL, &v->nodes, pass, &p);
        box_transform_planes(&v->nodes, 1, NULL, values);
    } else
        memset(values, 0, (size_t)counts[0] * (size_t)counts[1] * (size_t)counts[2] * sizeof *values);
}

/* --------------------------------------------------------------------------------- boundary data */

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

/* load -= (lambda M + k L) g of one cell; work: 3 cells with slack. */
static void subtract_cell(const struct box_volume *v, const int at[3], const int counts[3], double k,
                          double lambda, const double *g, double *work) {
    int dim = v->grid->dim, size = 1, any = 0;
    for (int d = 0; d < dim; d++) size *= v->n;
    double *x = work, *y = x + size + BOX_SLACK, *t = y + size + BOX_SLACK;
    const int counts_of_cell[3] = {v->n, v->n, v->n};
    for (int i = 0; i < size; i++) {
        int64_t node = cell_node(v, at, counts, i);
        x[i] = is_fixed_node(v, counts, node) ? g[node] : 0.0;
        any |= x[i] != 0.0;
    }
    for (int term = 0; any && term <= dim; term++) { /* term = dim: the mass */
        double scale = term == dim ? lambda : k;
        const double *T[3] = {NULL};
        memcpy(y, x, (size_t)size * sizeof *y);
        for (int d = 0; d < dim; d++) {
            double h = v->grid->widths[d][at[d]];
            T[d] = d == term ? v->element.stiffness : v->element.mass;
            scale *= d == term ? 1.0 / h : h;
        }
        const double *product = box_contract_all(dim, counts_of_cell, counts_of_cell, T, y, t);
        for (int i = 0; i < size; i++) v->load[cell_node(v, at, counts, i)] -= scale * product[i];
    }
}

/* Values at the Gauss points of a cell from those at its nodes. */
static void interpolate_cell(const struct box_volume *v, const int at[3], const int counts[3],
                             const double *nodes, double *u, double *work) {
    int dim = v->grid->dim, size = 1, n[3] = {v->n, v->n, v->n};
    const double *T[3] = {v->values, v->values, v->values};
    for (int d = 0; d < dim; d++) size *= v->n;
    for (int i = 0; i < size; i++) work[i] = nodes[cell_node(v, at, counts, i)];
    const double *x = box_contract_all(dim, n, n, T, work, work + size + BOX_SLACK);
    memcpy(u + box_cell(v->grid, at) * size, x, (size_t)size * sizeof *x);
}

void box_volume_solve_data(struct box_volume *v, double k, double lambda, const double *f, const double *load,
                           double *nodes, double *u) {
    struct passage keep = {.v = v, .come = 1},
                   p = {v, 1, f != NULL, 1, is_singular(v->grid, lambda), k, lambda};
    int counts[3];
    box_volume_lattice(v, counts);
    int64_t n = (int64_t)counts[0] * counts[1] * counts[2];
    for (int64_t i = 0; i < n; i++) v->load[i] = load != NULL ? load[i] : 0.0;
    for (int64_t c = 0; c < v->grid->n_cells; c++) {
        int at[3];
        box_cell_at(v->grid, c, at);
        subtract_cell(v, at, counts, k, lambda, nodes, v->cell);
    }
    if (has_unknowns(v)) {
        if (f != NULL) {
            box_transform_planes(&v->gauss, 0, f, NULL);
            box_transform_columns(&v->gauss, NULL, pass, &keep);
        }
        box_transform_planes(&v->nodes, 0, v->load, NULL);
        box_transform_columns(&v->nodes, &v->nodes, pass, &p);
        box_transform_planes(&v->nodes, 1, NULL, v->load);
    }
    for (int64_t i = 0; i < n; i++)
        if (!is_fixed_node(v, counts, i)) nodes[i] = v->load[i];
    for (int64_t c = 0; u != NULL && c < v->grid->n_cells; c++) {
        int at[3];
        box_cell_at(v->grid, c, at);
        interpolate_cell(v, at, counts, nodes, u, v->cell);
    }
}

/* ------------------------------------------------------------------------------------------ error */

/* The square of the error on one cell; points: Gauss points (n_fine a direction), A: interpolation. */
static facet_status cell_error(const struct box_volume *v, int64_t cell, int n_fine, const double *points,
                               const double *weights, const double *A, const double *u,
                               const struct field *exact, double *work, double *square) {
    facet_status status = FACET_OK;
    const struct box_grid *g = v->grid;
    int at[3], dim = g->dim, n[3] = {v->n, v->n, v->n}, n_out[3] = {n_fine, n_fine, n_fine};
    int size = 1, fine = 1;
    const double *const T[3] = {A, A, A};
    for (int d = 0; d < dim; d++) {
        size *= v->n;
        fine *= n_fine;
    }
    double *two = work + fine + BOX_SLACK, *x = two + fine + BOX_SLACK, *values = x + dim * fine;
    box_cell_at(g, cell, at);
    memcpy(work, u + cell * size, (size_t)size * sizeof *work);
    const double *one = box_contract_all(dim, n_out, n, T, work, two);
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
    TRY(CALLOC(work, fine * (3 + v->grid->dim) + 2 * BOX_SLACK));
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

static facet_status make_continuous(struct box_volume *v) {
    facet_status status = FACET_OK;
    int counts[3], n = v->n;
    int64_t modes = 1;
    double *x = NULL, *w;
    box_volume_lattice(v, counts);
    for (int d = 0; d < 3; d++) modes *= v->axes[d]->nodes.n_modes;
    TRY(CALLOC(v->spectrum, modes));
    TRY(CALLOC(v->cell, 3 * (n * n * n + BOX_SLACK)));
    TRY(ALLOC(v->load, (int64_t)counts[0] * counts[1] * counts[2]));
    TRY(ALLOC(v->values, 2 * n * n));
    TRY(ALLOC(x, 2 * n));
    w = x + n;
    TRY(rule_gauss_jacobi(n, 0.0, 0.0, x, w));
    for (int q = 0; q < n; q++) x[q] = 0.5 * (1.0 + x[q]);
    TRY(box_element_tables(&v->element, n, x, v->values, v->values + n * n));
done:
    base_free(&x);
    return status;
}

static facet_status make_transforms(struct box_volume *v, int continuous) {
    facet_status status = FACET_OK;
    const struct box_direction *gauss[3], *nodes[3];
    int piece[3], counts[3];
    box_volume_lattice(v, counts);
    for (int d = 0; d < 3; d++) {
        gauss[d] = &v->axes[d]->gauss;
        nodes[d] = &v->axes[d]->nodes;
        piece[d] = d < v->grid->dim ? v->n : 1;
        if (gauss[d]->n_modes == 0) goto done;
    }
    TRY(box_transform_create(gauss, piece, &v->gauss));
    if (continuous) TRY(box_transform_create(nodes, counts, &v->nodes));
done:
    return status;
}

/* The same cells and conditions, of HDG the same lines. */
static int same_axis(const struct box_grid *g, const struct boxhdg *h, int d, int e) {
    return box_same_direction(g, d, e) &&
           (h == NULL || memcmp(h->column_line[d], h->column_line[e],
                                (size_t)g->cells[d] * sizeof *h->column_line[d]) == 0);
}

static facet_status create(const struct box_grid *g, int degree, const struct boxhdg *h,
                           struct box_volume **volume) {
    facet_status status = FACET_OK;
    struct box_volume *v;
    TRY(CALLOC(*volume, 1));
    v = *volume;
    v->grid = g;
    v->degree = degree;
    v->n = degree + 1;
    if (degree < 1 || degree > BOX_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree on a box must be 1 to %d, not %d", BOX_MAX_DEGREE, degree);
    if (h == NULL) TRY(box_element_create(degree, &v->element));
    for (int d = 0; d < 3; d++) {
        for (int e = 0; e < d && v->axes[d] == NULL; e++)
            if (same_axis(g, h, e, d)) v->axes[d] = v->axes[e];
        if (v->axes[d] != NULL) continue;
        TRY(base_wrap(h != NULL ? box_volume_axis_create_hdg(h, d, &v->own[d])
                                : box_volume_axis_create_continuous(g, &v->element, d, &v->own[d]),
                      "direction %c", "xyz"[d]));
        v->axes[d] = &v->own[d];
    }
    TRY(make_transforms(v, h == NULL));
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
