/* Do cells occupy the same space? Let m(x) be the number of cells around x. It changes across boundary faces
 * only, so where m > 1 anywhere, some boundary face has another cell than its own on its inner side; and
 * by the divergence theorem the volume that is there more than once,
 *
 *     V = integral of f(m(x)), f(m) = max(m - 1, 0),     V = sum over boundary faces of <[f] (x_a - c), n_a>,
 *
 * with the jump [f] from the inner side to the outer one, any c and any direction a. With `in` other cells on
 * the inner side and `out` on the outer one, [f] = f(in + 1) - f(out) belongs to in + 1 - out faces at the
 * same place. That is as good for bodies that overlap by a thin layer or lie inside one another; only faces
 * that are cut by the overlap are integrated approximately, and the direction is that of the largest faces.
 */
#include <math.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/internal.h"
#include "poly/rule.h"

#define NEAR_CORNER 1e-3    /* how far points beside the vertices of a face are from them, of the face */
#define SIDE_STEP   1e-6    /* from a face to its sides, of the size of the cell */
#define MOST_POINTS 2000000 /* of the second look */
#define MOST_DEGREE 15

/* Points of a face, in frame coordinates; w is 0 for those that are only looked at. */
struct face_points {
    int n;
    double *s, *w;
};

struct seen {
    facet_status status;
    int64_t n; /* points inside other cells */
    int32_t cells[2];
    double x[3], lower[3], upper[3];
    double sum[3], moment[3], area[3]; /* by directions, of [f] x_a n_a, [f] n_a and |[f] n_a| */
};

static void face_points_free(struct face_points *points) {
    base_free(&points->s);
    base_free(&points->w);
}

static facet_status face_points_create(enum shape shape, int degree, struct face_points *points) {
    facet_status status = FACET_OK;
    struct rule rule = {0};
    int dim = shape_dim(shape), n_vertices = shape_n_vertices(shape);
    const double *vertices = shape_vertices(shape);
    TRY(rule_create_product(shape, degree, &rule));
    points->n = rule.n + n_vertices;
    TRY(CALLOC(points->s, points->n * dim));
    TRY(CALLOC(points->w, points->n));
    for (int i = 0; i < rule.n * dim; i++) points->s[i] = rule.x[i];
    for (int i = 0; i < rule.n; i++) points->w[i] = rule.w[i];
    for (int v = 0; v < n_vertices; v++)
        for (int a = 0; a < dim; a++) {
            double middle = 0;
            for (int k = 0; k < n_vertices; k++) middle += vertices[k * dim + a] / n_vertices;
            points->s[(rule.n + v) * dim + a] =
                vertices[v * dim + a] + NEAR_CORNER * (middle - vertices[v * dim + a]);
        }
done:
    rule_destroy(&rule);
    return status;
}

/* A point of a face of a cell and the normal there, times the area by the coordinates of the face. */
static facet_status place_point(const struct facet_mesh *mesh, int32_t cell, int face, const double *s,
                                double *x, double *normal) {
    facet_status status = FACET_OK;
    const struct mesh_block *block = &mesh->blocks[mesh_block_index(mesh, cell)];
    int dim = mesh->dim;
    double xi[3], origin[3], J[9], tangents[2][3] = {{0}};
    const double zero[2] = {0, 0};
    shape_face_point(block->shape, face, 0, s, xi);
    shape_face_point(block->shape, face, 0, zero, origin);
    TRY(mesh_point_map(block->shape, mesh->order, dim, mesh_cell_nodes(mesh, cell), xi, x, J));
    for (int t = 0; t < dim - 1; t++) {
        double end[3], unit[2] = {t == 0, t == 1};
        shape_face_point(block->shape, face, 0, unit, end);
        for (int a = 0; a < dim; a++)
            for (int b = 0; b < dim; b++) tangents[t][a] += J[a * dim + b] * (end[b] - origin[b]);
    }
    const double *t = tangents[0], *u = tangents[1];
    if (dim == 2) {
        normal[0] = t[1];
        normal[1] = -t[0];
    } else {
        for (int a = 0; a < 3; a++)
            normal[a] = t[(a + 1) % 3] * u[(a + 2) % 3] - t[(a + 2) % 3] * u[(a + 1) % 3];
    }
done:
    return status;
}

static double excess(int m) {
    return m > 1 ? m - 1 : 0;
}

static facet_status look_at(const struct mesh_locator *locator, const struct facet_mesh *mesh, int32_t face,
                            const struct face_points *points, struct seen *seen) {
    facet_status status = FACET_OK;
    int dim = mesh->dim;
    int32_t cell = mesh->face_cells[2 * (int64_t)face], other = -1, ignored;
    const struct mesh_block *block = &mesh->blocks[mesh_block_index(mesh, cell)];
    double size = mesh_extent(block->n_nodes, dim, mesh_cell_nodes(mesh, cell));
    for (int p = 0; p < points->n; p++) {
        double x[3] = {0}, normal[3], sides[2][3], length = 0;
        int in, out;
        TRY(place_point(mesh, cell, mesh->face_locals[2 * (int64_t)face], points->s + p * (dim - 1), x,
                        normal));
        for (int a = 0; a < dim; a++) length += normal[a] * normal[a];
        length = sqrt(length);
        for (int a = 0; a < dim; a++) {
            double step = length > 0 ? SIDE_STEP * size * normal[a] / length : 0;
            sides[0][a] = x[a] - step;
            sides[1][a] = x[a] + step;
        }
        TRY(mesh_count_around(locator, sides[0], cell, &in, &other));
        TRY(mesh_count_around(locator, sides[1], cell, &out, &ignored));
        if (in > 0 && seen->n++ == 0) {
            seen->cells[0] = cell;
            seen->cells[1] = other;
            for (int a = 0; a < dim; a++) seen->x[a] = x[a];
        }
        int share = in + 1 - out;
        double jump = share != 0 ? (excess(in + 1) - excess(out)) / share : 0;
        for (int a = 0; a < dim; a++) {
            if (in > 0) seen->lower[a] = fmin(seen->lower[a], x[a]);
            if (in > 0) seen->upper[a] = fmax(seen->upper[a], x[a]);
            double part = points->w[p] * jump * normal[a];
            seen->sum[a] += part * x[a];
            seen->moment[a] += part;
            seen->area[a] += fabs(part);
        }
    }
done:
    return status;
}

static void join(int dim, struct seen *into, const struct seen *part) {
    if (into->n == 0 && part->n > 0) {
        for (int k = 0; k < 2; k++) into->cells[k] = part->cells[k];
        for (int a = 0; a < dim; a++) into->x[a] = part->x[a];
    }
    if (into->status == FACET_OK) into->status = part->status;
    into->n += part->n;
    for (int a = 0; a < dim; a++) {
        into->lower[a] = fmin(into->lower[a], part->lower[a]);
        into->upper[a] = fmax(into->upper[a], part->upper[a]);
        into->sum[a] += part->sum[a];
        into->moment[a] += part->moment[a];
        into->area[a] += part->area[a];
    }
}

/* All boundary faces, in parts that do not depend on the number of threads. */
static facet_status look(const struct mesh_locator *locator, const struct facet_mesh *mesh, int degree,
                         struct seen *seen) {
    enum { PARTS = 64 };
    facet_status status = FACET_OK;
    static const struct seen nothing = {.lower = {INFINITY, INFINITY, INFINITY},
                                        .upper = {-INFINITY, -INFINITY, -INFINITY}};
    struct face_points points[SHAPE_COUNT] = {{0}};
    struct seen parts[PARTS];
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int f = 0; f < shape_n_faces(mesh->blocks[b].shape); f++) {
            enum shape shape = shape_face_shape(mesh->blocks[b].shape, f);
            if (points[shape].n == 0) TRY(face_points_create(shape, degree, &points[shape]));
        }
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic)
    for (int p = 0; p < PARTS; p++) {
        parts[p] = nothing;
        int32_t end = (int32_t)((int64_t)mesh->n_faces * (p + 1) / PARTS);
        for (int32_t f = (int32_t)((int64_t)mesh->n_faces * p / PARTS); f < end; f++) {
            if (!mesh_is_boundary(mesh, f) || parts[p].status != FACET_OK) continue;
            parts[p].status = look_at(locator, mesh, f, &points[mesh->face_shapes[f]], &parts[p]);
        }
    }
    *seen = nothing;
    for (int p = 0; p < PARTS; p++) join(mesh->dim, seen, &parts[p]);
    if (seen->status != FACET_OK) FAIL(seen->status, "the overlap of cells cannot be measured");
done:
    for (int s = 0; s < SHAPE_COUNT; s++) face_points_free(&points[s]);
    return status;
}

facet_status mesh_measure_overlap(const struct facet_mesh *mesh, struct mesh_overlap *overlap) {
    facet_status status = FACET_OK;
    struct mesh_locator *locator = NULL;
    struct seen seen;
    int degree = 3, dim = mesh->dim;
    *overlap = (struct mesh_overlap){.cells = {-1, -1}};
    if (mesh_is_box(mesh)) goto done; /* its cells lie side by side */
    TRY(mesh_locator_create(mesh, &locator));
    TRY(look(locator, mesh, degree, &seen));
    if (seen.n == 0) goto done;
    while (degree < MOST_DEGREE && mesh->n_boundary_faces * pow((degree + 3) / 2.0, dim - 1) < MOST_POINTS)
        degree += 2;
    TRY(look(locator, mesh, degree, &seen));
    int best = 0;
    for (int a = 1; a < dim; a++)
        if (seen.area[a] > seen.area[best]) best = a;
    overlap->n_points = seen.n;
    overlap->volume = seen.sum[best] - 0.5 * (seen.lower[best] + seen.upper[best]) * seen.moment[best];
    for (int k = 0; k < 2; k++) overlap->cells[k] = seen.cells[k];
    for (int a = 0; a < dim; a++) overlap->x[a] = seen.x[a];
    overlap->volume = fmax(overlap->volume, 0);
done:
    mesh_locator_destroy(&locator);
    return status;
}
