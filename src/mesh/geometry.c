/* The geometry of cells: Lagrange maps from the reference cell and their Jacobians, the dense sampling of det
 * J that decides whether a cell is valid, and the turning over of clockwise cells. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"
#include "poly/basis.h"

/* det J below this multiple of (cell size)^dim is degenerate: the aspect ratio of such a cell exceeds 1e12.
 */
#define DEGENERATE 1e-13
/* A lattice node may be off the affine image by this multiple of the cell size and still count as affine. */
#define AFFINE_TOLERANCE 1e-12

/* ------------------------------------------------------------------------------------------ maps */

/* Measured from the node with the largest weight: where all nodes with a weight have the same coordinate, as
 * on a face in a plane x = c, the result is c exactly, and data that is defined up to there (sqrt(c - x)) can
 * be taken. */
/* n and dim are constants where this is inlined. */
static inline __attribute__((always_inline)) void interpolate(int n, int dim, const double *weights,
                                                              const double *nodes, double *x) {
    int first = 0;
    for (int i = 1; i < n; i++)
        if (fabs(weights[i]) > fabs(weights[first])) first = i;
    for (int a = 0; a < dim; a++) {
        double origin = nodes[first * dim + a], sum = 0;
        for (int i = 0; i < n; i++) sum += weights[i] * (nodes[i * dim + a] - origin);
        x[a] = origin + sum;
    }
}

/* J (dim x dim) = sum of nodes times gradients (n x dim). */
static inline __attribute__((always_inline)) void differentiate(int n, int dim, const double *gradients,
                                                                const double *nodes, double *J) {
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++) J[a * dim + b] = 0.0;
    for (int i = 0; i < n; i++)
        for (int a = 0; a < dim; a++)
            for (int b = 0; b < dim; b++) J[a * dim + b] += gradients[i * dim + b] * nodes[i * dim + a];
}

/* The sizes of simplices of order 1 and 2 as constants. */
#define BY_NODES(n, dim, what)                                                                               \
    if (n == 3 && dim == 2)                                                                                  \
        what(3, 2);                                                                                          \
    else if (n == 4 && dim == 3)                                                                             \
        what(4, 3);                                                                                          \
    else if (n == 6 && dim == 2)                                                                             \
        what(6, 2);                                                                                          \
    else if (n == 10 && dim == 3)                                                                            \
        what(10, 3);                                                                                         \
    else                                                                                                     \
        what(n, dim)

void mesh_interpolate(int n, int dim, const double *weights, const double *nodes, double *x) {
#define INTERPOLATE(n, dim) interpolate(n, dim, weights, nodes, x)
    BY_NODES(n, dim, INTERPOLATE);
#undef INTERPOLATE
}

static void find_jacobian(int n, int dim, const double *gradients, const double *nodes, double *J) {
#define DIFFERENTIATE(n, dim) differentiate(n, dim, gradients, nodes, J)
    BY_NODES(n, dim, DIFFERENTIATE);
#undef DIFFERENTIATE
}

void mesh_cell_map(const struct mesh_block *block, int dim, int32_t cell_in_block, int n,
                   const double *lagrange, const double *lagrange_gradients, double *x, double *jacobians) {
    int n_nodes = block->n_nodes;
    const double *nodes = block->nodes + (int64_t)cell_in_block * n_nodes * dim;
    for (int p = 0; x && p < n; p++)
        mesh_interpolate(n_nodes, dim, lagrange + (int64_t)p * n_nodes, nodes, x + (int64_t)p * dim);
    for (int p = 0; jacobians && p < n; p++)
        find_jacobian(n_nodes, dim, lagrange_gradients + (int64_t)p * n_nodes * dim, nodes,
                      jacobians + (int64_t)p * dim * dim);
}

double mesh_determinant(int dim, const double *J) {
    if (dim == 2) return J[0] * J[3] - J[1] * J[2];
    return J[0] * (J[4] * J[8] - J[5] * J[7]) - J[1] * (J[3] * J[8] - J[5] * J[6]) +
           J[2] * (J[3] * J[7] - J[4] * J[6]);
}

facet_status mesh_point_map(enum shape shape, int order, int dim, const double *nodes, const double *xi,
                            double *x, double *J) {
    facet_status status = FACET_OK;
    enum { MOST = (MESH_MAX_ORDER + 1) * (MESH_MAX_ORDER + 1) * (MESH_MAX_ORDER + 1) };
    double values[MOST], gradients[3 * MOST];
    int rdim = shape_dim(shape), n = shape_n_nodes(shape, order);
    TRY(basis_lagrange(shape, order, 1, xi, values, gradients));
    mesh_interpolate(n, dim, values, nodes, x);
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < rdim; b++) {
            double slope = 0;
            for (int i = 0; i < n; i++) slope += gradients[i * rdim + b] * nodes[i * dim + a];
            J[a * rdim + b] = slope;
        }
done:
    return status;
}

void mesh_middle(const struct facet_mesh *mesh, int32_t cell, int local, double *x, double *J) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    double xi[3] = {0}, corners[3 * SHAPE_MAX_VERTICES];
    const double *nodes = mesh_is_box(mesh) ? corners : mesh_cell_nodes(mesh, cell);
    if (mesh_is_box(mesh)) mesh_box_nodes(mesh, cell, corners);
    int n =
        local < 0 ? shape_n_vertices(block->shape) : shape_n_vertices(shape_face_shape(block->shape, local));
    for (int i = 0; i < n; i++) {
        int vertex = local < 0 ? i : shape_face_vertices(block->shape, local)[i];
        for (int a = 0; a < mesh->dim; a++) xi[a] += shape_vertices(block->shape)[vertex * mesh->dim + a] / n;
    }
    mesh_point_map(block->shape, mesh->order, mesh->dim, nodes, xi, x, J);
}

const char *mesh_middle_text(const struct facet_mesh *mesh, int32_t cell, int local, char *text,
                             int text_bytes) {
    double x[3] = {0}, J[9];
    mesh_middle(mesh, cell, local, x, J);
    return mesh_point_text(mesh->dim, x, text, text_bytes);
}

/* ------------------------------------------------------------------------------------------ samples */

facet_status mesh_samples_create(enum shape shape, int order, int lattice, struct mesh_samples *samples) {
    facet_status status = FACET_OK;
    int dim = shape_dim(shape);
    *samples = (struct mesh_samples){
        .n = shape_n_nodes(shape, lattice), .n_nodes = shape_n_nodes(shape, order), .dim = dim};
    int64_t size = (int64_t)samples->n * samples->n_nodes;
    TRY(ALLOC(samples->xi, samples->n * dim));
    TRY(ALLOC(samples->values, size));
    TRY(ALLOC(samples->gradients, size * dim));
    shape_nodes(shape, lattice, samples->xi);
    TRY(basis_lagrange(shape, order, samples->n, samples->xi, samples->values, samples->gradients));
done:
    return status;
}

void mesh_samples_free(struct mesh_samples *samples) {
    base_free(&samples->xi);
    base_free(&samples->values);
    base_free(&samples->gradients);
}

double mesh_sample_determinant(const struct mesh_samples *samples, int s, const double *nodes) {
    int dim = samples->dim, n_nodes = samples->n_nodes;
    const double *gradients = samples->gradients + (int64_t)s * n_nodes * dim;
    double J[9] = {0};
    for (int i = 0; i < n_nodes; i++)
        for (int a = 0; a < dim; a++)
            for (int b = 0; b < dim; b++) J[a * dim + b] += nodes[i * dim + a] * gradients[i * dim + b];
    return mesh_determinant(dim, J);
}

void mesh_affine_jacobian(enum shape shape, int order, const double *nodes, double *J) {
    int dim = shape_dim(shape);
    for (int b = 0; b < dim; b++) {
        int end = shape_vertex_node(shape, order, shape_axis_vertex(shape, b));
        for (int a = 0; a < dim; a++) J[a * dim + b] = nodes[end * dim + a] - nodes[a];
    }
}

void mesh_bounds(int n, int dim, const double *nodes, double *lower, double *upper) {
    for (int a = 0; a < dim; a++) lower[a] = upper[a] = nodes[a];
    for (int i = 1; i < n; i++)
        for (int a = 0; a < dim; a++) { /* fmin is a call, and there are millions */
            const double x = nodes[i * dim + a];
            lower[a] = x < lower[a] ? x : lower[a];
            upper[a] = x > upper[a] ? x : upper[a];
        }
}

double mesh_extent(int n, int dim, const double *nodes) {
    double lower[3], upper[3], square = 0;
    mesh_bounds(n, dim, nodes, lower, upper);
    for (int a = 0; a < dim; a++) square += (upper[a] - lower[a]) * (upper[a] - lower[a]);
    return sqrt(square);
}

int mesh_nearest_node(int n_nodes, int dim, const double *lattice, const double *xi) {
    int best = 0;
    double smallest = INFINITY;
    for (int i = 0; i < n_nodes; i++) {
        double square = 0;
        for (int a = 0; a < dim; a++) {
            double away = lattice[i * dim + a] - xi[a];
            square += away * away;
        }
        if (square < smallest) {
            smallest = square;
            best = i;
        }
    }
    return best;
}

int mesh_face_nodes(enum shape shape, int face, int orientation, int order, int *nodes) {
    enum { MOST = (MESH_MAX_ORDER + 1) * (MESH_MAX_ORDER + 1) };
    double s[2 * MOST], cell_lattice[3 * MOST * (MESH_MAX_ORDER + 1)], xi[3] = {0};
    enum shape face_shape = shape_face_shape(shape, face);
    int dim = shape_dim(shape), n = shape_n_nodes(face_shape, order);
    shape_nodes(face_shape, order, s);
    shape_nodes(shape, order, cell_lattice);
    for (int i = 0; i < n; i++) {
        shape_face_point(shape, face, orientation, s + i * (dim - 1), xi);
        nodes[i] = mesh_nearest_node(shape_n_nodes(shape, order), dim, cell_lattice, xi);
    }
    return n;
}

/* ------------------------------------------------------------------------------------------ validity */

enum verdict { VALID, NOT_A_NUMBER, REPEATED_VERTEX, NO_SIZE, DEGENERATE_CELL, INVERTED };

/* What the check of one block needs: the swap of the first two reference coordinates, which turns a cell
 * over. */
struct block_check {
    struct mesh_block *block;
    int dim, order, n_vertices;
    struct mesh_samples samples;
    double *lattice;    /* n_nodes x dim */
    int *swapped_nodes; /* n_nodes */
    int swapped_vertices[SHAPE_MAX_VERTICES];
};

static int is_affine(const struct block_check *check, const double *nodes, const double *J, double size) {
    int dim = check->dim;
    if (check->order == 1 && shape_is_simplex(check->block->shape)) return 1;
    double largest = 0, magnitude = 0;
    for (int i = 0; i < check->block->n_nodes; i++)
        for (int a = 0; a < dim; a++) {
            double x = nodes[a];
            for (int b = 0; b < dim; b++) x += J[a * dim + b] * check->lattice[i * dim + b];
            largest = fmax(largest, fabs(x - nodes[i * dim + a]));
            magnitude = fmax(magnitude, fabs(nodes[i * dim + a]));
        }
    return largest <= AFFINE_TOLERANCE * size + 4e-16 * magnitude;
}

static void turn_over(const struct block_check *check, int32_t cell, double *scratch) {
    struct mesh_block *block = check->block;
    int dim = check->dim, n_nodes = block->n_nodes;
    double *nodes = block->nodes + (int64_t)cell * n_nodes * dim;
    int32_t *vertices = block->vertices + (int64_t)cell * check->n_vertices, old[SHAPE_MAX_VERTICES];
    memcpy(scratch, nodes, (size_t)(n_nodes * dim) * sizeof(double));
    for (int i = 0; i < n_nodes; i++)
        for (int a = 0; a < dim; a++) nodes[i * dim + a] = scratch[check->swapped_nodes[i] * dim + a];
    memcpy(old, vertices, (size_t)check->n_vertices * sizeof *old);
    for (int v = 0; v < check->n_vertices; v++) vertices[v] = old[check->swapped_vertices[v]];
}

static void determinant_range(const struct block_check *check, int32_t cell, const double *nodes, double size,
                              double *lowest, double *highest) {
    double J[9];
    mesh_affine_jacobian(check->block->shape, check->order, nodes, J);
    check->block->affine[cell] = (uint8_t)is_affine(check, nodes, J, size);
    *lowest = *highest = mesh_determinant(check->dim, J);
    if (check->block->affine[cell]) return;
    *lowest = INFINITY; /* the chords at a corner say nothing of a cell that is curved there */
    *highest = -INFINITY;
    for (int s = 0; s < check->samples.n; s++) {
        double determinant = mesh_sample_determinant(&check->samples, s, nodes);
        *lowest = fmin(*lowest, determinant);
        *highest = fmax(*highest, determinant);
    }
}

static enum verdict judge(const struct block_check *check, int32_t cell, double *scratch) {
    struct mesh_block *block = check->block;
    int dim = check->dim;
    const double *nodes = block->nodes + (int64_t)cell * block->n_nodes * dim;
    for (int i = 0; i < block->n_nodes * dim; i++)
        if (!isfinite(nodes[i])) return NOT_A_NUMBER;
    const int32_t *vertices = block->vertices + (int64_t)cell * check->n_vertices;
    for (int i = 0; i < check->n_vertices; i++)
        for (int j = 0; j < i; j++)
            if (vertices[i] == vertices[j]) return REPEATED_VERTEX;
    double lowest, highest, size = mesh_extent(block->n_nodes, dim, nodes);
    if (size > 2 * MESH_LARGEST_SIZE) return NO_SIZE; /* a diagonal */
    if (size > 0.0 && size < MESH_SMALLEST_SIZE) return NO_SIZE;
    determinant_range(check, cell, nodes, size, &lowest, &highest);
    double tolerance = DEGENERATE * (dim == 2 ? size * size : size * size * size);
    if (lowest > tolerance) return VALID;
    if (highest < -tolerance) {
        turn_over(check, cell, scratch);
        return VALID;
    }
    return lowest < -tolerance && highest > tolerance ? INVERTED : DEGENERATE_CELL;
}

static facet_status check_init(struct block_check *check, struct mesh_block *block, int dim, int order) {
    facet_status status = FACET_OK;
    *check = (struct block_check){
        .block = block, .dim = dim, .order = order, .n_vertices = shape_n_vertices(block->shape)};
    TRY(mesh_samples_create(block->shape, order, MESH_SAMPLE_LATTICE(order), &check->samples));
    TRY(ALLOC(check->lattice, block->n_nodes * dim));
    TRY(ALLOC(check->swapped_nodes, block->n_nodes));
    shape_nodes(block->shape, order, check->lattice);
    for (int i = 0; i < block->n_nodes; i++) {
        const double *at = check->lattice + i * dim;
        double xi[3] = {0};
        for (int a = 0; a < dim; a++) xi[a] = at[a < 2 ? 1 - a : a]; /* the first two exchanged */
        check->swapped_nodes[i] = mesh_nearest_node(block->n_nodes, dim, check->lattice, xi);
    }
    for (int v = 0; v < check->n_vertices; v++) {
        const double *at = shape_vertices(block->shape) + v * dim;
        double xi[3] = {0};
        for (int a = 0; a < dim; a++) xi[a] = at[a < 2 ? 1 - a : a]; /* the first two exchanged */
        check->swapped_vertices[v] =
            mesh_nearest_node(check->n_vertices, dim, shape_vertices(block->shape), xi);
    }
done:
    return status;
}

static void check_free(struct block_check *check) {
    mesh_samples_free(&check->samples);
    base_free(&check->lattice);
    base_free(&check->swapped_nodes);
}

/* The sample with the smallest determinant in a cell that is wrong, or the first node. */
static void worst_place(const struct block_check *check, int32_t cell, double *x, double *smallest) {
    *smallest = INFINITY;
    int dim = check->dim, worst = 0, n_nodes = check->block->n_nodes;
    const double *nodes = check->block->nodes + (int64_t)cell * n_nodes * dim;
    for (int s = 0; s < check->samples.n; s++) {
        double determinant = mesh_sample_determinant(&check->samples, s, nodes);
        if (determinant < *smallest) {
            *smallest = determinant;
            worst = s;
        }
    }
    mesh_cell_map(check->block, dim, cell, 1, check->samples.values + (int64_t)worst * n_nodes, NULL, x,
                  NULL);
}

static void report_cell(struct mesh_builder *builder, const struct block_check *check, int32_t cell,
                        enum verdict verdict) {
    char name[64], place[80];
    double x[3], smallest;
    worst_place(check, cell, x, &smallest);
    mesh_cell_text(builder, check->block->first + cell, name, sizeof name);
    mesh_point_text(check->dim, x, place, sizeof place);
    struct mesh_issues *issues = &builder->issues;
    if (verdict == NOT_A_NUMBER)
        mesh_issue(issues, "%s has a node whose coordinates are not finite numbers", name);
    else if (verdict == REPEATED_VERTEX)
        mesh_issue(issues, "%s at %s has the same vertex twice: remove the cell or mesh again", name, place);
    else if (verdict == NO_SIZE)
        mesh_issue(issues, "%s at %s is too large or too small: sizes must be %g to %g; choose other units",
                   name, place, MESH_SMALLEST_SIZE, MESH_LARGEST_SIZE);
    else if (verdict == DEGENERATE_CELL)
        mesh_issue(issues, "%s at %s is degenerate: its Jacobian is %.3g; remove the cell or mesh again",
                   name, place, smallest);
    else
        mesh_issue(issues, "%s is inverted at %s: its Jacobian changes sign (smallest %.3g); %s", name, place,
                   smallest,
                   check->order > 1
                       ? "optimize the high-order mesh (Gmsh: Mesh.HighOrderOptimize) or refine there"
                       : "its corners are not convex or not in order; mesh again");
}

facet_status mesh_check_cells(struct mesh_builder *builder) {
    facet_status status = FACET_OK;
    struct block_check check = {0};
    uint8_t *verdicts = NULL;
    double *scratch = NULL;
    struct facet_mesh *mesh = builder->mesh;
    TRY(CALLOC(builder->is_bad, mesh->n_cells));
    for (int b = 0; b < mesh->n_blocks; b++) {
        struct mesh_block *block = &mesh->blocks[b];
        TRY(check_init(&check, block, mesh->dim, mesh->order));
        TRY(ALLOC(verdicts, block->count));
        int n_threads = base_threads();
        TRY(ALLOC(scratch, (int64_t)n_threads * block->n_nodes * mesh->dim));
#pragma omp parallel for num_threads(n_threads) schedule(static)
        for (int t = 0; t < n_threads; t++) {
            int32_t begin = (int32_t)((int64_t)block->count * t / n_threads);
            int32_t end = (int32_t)((int64_t)block->count * (t + 1) / n_threads);
            for (int32_t c = begin; c < end; c++)
                verdicts[c] = (uint8_t)judge(&check, c, scratch + (int64_t)t * block->n_nodes * mesh->dim);
        }
        for (int32_t c = 0; c < block->count; c++) {
            if (verdicts[c] == VALID) continue;
            builder->is_bad[block->first + c] = 1;
            if (verdicts[c] == NOT_A_NUMBER) builder->has_broken_nodes = 1;
            report_cell(builder, &check, c, (enum verdict)verdicts[c]);
        }
        check_free(&check);
        base_free(&verdicts);
        base_free(&scratch);
    }
done:
    check_free(&check);
    base_free(&verdicts);
    base_free(&scratch);
    return status;
}
