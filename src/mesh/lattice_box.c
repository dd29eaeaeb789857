/* Boxes: a lattice of points, its bricks as quads or hexes or cut into simplices or prisms, and the sides as
 * groups or as periodic pairs. Dimension and shape are values here; a brick's corner is a number whose bit a
 * says upper or lower in direction a. Whole bricks are listed when someone asks for it (plain_box.c), the
 * others at once.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"

static const char axis_names[3] = {'x', 'y', 'z'};

/* How a brick is cut: cells of corner numbers. */
struct cut {
    enum shape shape;
    int n_cells;
    int corners[6][SHAPE_MAX_VERTICES];
};

static const struct cut whole_quad = {SHAPE_QUAD, 1, {{0, 1, 3, 2}}};
static const struct cut whole_hex = {SHAPE_HEX, 1, {{0, 1, 3, 2, 4, 5, 7, 6}}};
/* Triangles as `right` cuts them in x and y, extruded in z. */
static const struct cut prisms = {SHAPE_PRISM, 2, {{0, 1, 3, 4, 5, 7}, {0, 3, 2, 4, 7, 6}}};
static const struct cut right = {SHAPE_TRIANGLE, 2, {{0, 1, 3}, {0, 3, 2}}};
static const struct cut left = {SHAPE_TRIANGLE, 2, {{0, 1, 2}, {1, 3, 2}}};
/* Six tets, every brick alike (fabien2019): the corners 0 and 7 cut off, and the rest round the diagonal 2-5.
 */
static const struct cut six = {
    SHAPE_TET, 6, {{0, 1, 2, 4}, {1, 2, 4, 5}, {2, 4, 5, 6}, {1, 2, 5, 3}, {2, 3, 6, 5}, {3, 5, 7, 6}}};
/* Five tets: four corners cut off, and what is left. Neighbours are mirror images, so that their faces have
 * the same diagonal. */
static const struct cut five_even = {
    SHAPE_TET, 5, {{0, 1, 3, 5}, {0, 2, 6, 3}, {0, 4, 5, 6}, {3, 5, 7, 6}, {0, 3, 6, 5}}};
static const struct cut five_odd = {
    SHAPE_TET, 5, {{0, 1, 2, 4}, {1, 2, 7, 3}, {1, 4, 5, 7}, {2, 4, 7, 6}, {1, 2, 4, 7}}};

/* A box on its way to mesh_create. */
struct generator {
    const facet_box *box;
    int dim;
    const struct cut *even, *odd; /* for bricks whose index sum is even, odd */
    const char *split;            /* NULL: bricks stay whole */
    int parity;         /* of the index sum of the first brick in the whole, where this is a block */
    unsigned seams;     /* bit s: side s is a seam */
    int joined[3];      /* directions in which the whole is periodic and the block is not */
    int64_t strides[3]; /* of the lattice of points */
    int64_t n_points, n_bricks;
    double *coordinates[3];
    uint8_t *sides; /* of each point: bits 2a (lower) and 2a + 1 (upper) */
    struct mesh_input input;
    uint8_t *shapes;
    int64_t *vertex_offsets, *node_offsets;
    int32_t *vertices;
    double *nodes;
    int64_t side_counts[6];
    int32_t *side_faces[6];
    int32_t *periodic;
    struct mesh_input_group groups[6];
    char names[6][8];
};

/* ------------------------------------------------------------------------------------------ what is asked
 * for */

static const struct {
    enum shape shape;
    const char *name;
    const struct cut *even, *odd;
} splits[] = {{SHAPE_TRIANGLE, "right", &right, &right},      {SHAPE_TRIANGLE, "left", &left, &left},
              {SHAPE_TRIANGLE, "alternating", &right, &left}, {SHAPE_TET, "six", &six, &six},
              {SHAPE_TET, "five", &five_even, &five_odd},     {SHAPE_PRISM, "right", &prisms, &prisms}};
enum { N_SPLITS = sizeof splits / sizeof splits[0] };

static facet_status choose_cut(struct generator *g) {
    facet_status status = FACET_OK;
    const char *shape = g->box->shape ? g->box->shape : "";
    const char *split = g->box->split;
    const char *simplex = g->dim == 2 ? "triangle" : "tet", *brick = g->dim == 2 ? "quad" : "hex";
    const int is_prism = g->dim == 3 && strcmp(shape, "prism") == 0;
    char known[64] = "";
    int length = 0;
    if (strcmp(shape, simplex) != 0 && strcmp(shape, brick) != 0 && !is_prism)
        FAIL(FACET_ERROR_INPUT, "unknown shape '%s' of a box of dimension %d; known are: %s, %s%s", shape,
             g->dim, simplex, brick, g->dim == 3 ? ", prism" : "");
    if (strcmp(shape, brick) == 0) {
        if (split)
            FAIL(FACET_ERROR_INPUT, "split '%s' applies to simplices; a box of shape %s has none", split,
                 shape);
        g->even = g->odd = g->dim == 2 ? &whole_quad : &whole_hex;
        goto done;
    }
    for (int i = 0; i < N_SPLITS; i++) {
        if (strcmp(shape_name(splits[i].shape), shape) != 0) continue;
        length += snprintf(known + length, sizeof known - (size_t)length, "%s%s", length ? ", " : "",
                           splits[i].name);
        if (g->even || (split && strcmp(split, splits[i].name) != 0)) continue;
        g->even = splits[i].even;
        g->odd = splits[i].odd;
        g->split = splits[i].name;
    }
    if (!g->even)
        FAIL(FACET_ERROR_INPUT, "unknown split '%s' of a box of shape %s; known are: %s", split, shape,
             known);
done:
    return status;
}

/* Opposite sides of a row of bricks in alternation have the same diagonals when their number is even. */
static facet_status check_alternation(const struct generator *g) {
    facet_status status = FACET_OK;
    for (int a = 0; a < 3; a++)
        if (g->even == &five_even && g->box->periodic[a] && g->box->cells[a] % 2 != 0)
            FAIL(FACET_ERROR_INPUT,
                 "split 'five' alternates from cube to cube, so that the diagonals on both sides of a "
                 "periodic "
                 "direction agree for an even number of cells only: direction %c has %d; use an even number, "
                 "or "
                 "split 'six'",
                 axis_names[a], g->box->cells[a]);
done:
    return status;
}

static facet_status check_direction(const facet_box *box, int a) {
    facet_status status = FACET_OK;
    char axis = axis_names[a];
    const double *x = box->coordinates[a];
    if (box->cells[a] < 1)
        FAIL(FACET_ERROR_INPUT, "a box needs at least 1 cell in direction %c, not %d", axis, box->cells[a]);
    if (x) {
        for (int i = 0; i <= box->cells[a]; i++)
            if (!isfinite(x[i]))
                FAIL(FACET_ERROR_INPUT, "%c coordinate %d of the box is %g: not a finite number", axis, i,
                     x[i]);
        for (int i = 0; i < box->cells[a]; i++)
            if (!(x[i] < x[i + 1]))
                FAIL(FACET_ERROR_INPUT,
                     "the %c coordinates of the box must increase: number %d is %g, number %d is %g", axis, i,
                     x[i], i + 1, x[i + 1]);
        goto done;
    }
    if (!isfinite(box->lower[a]) || !isfinite(box->upper[a]))
        FAIL(FACET_ERROR_INPUT, "the box runs from %g to %g in direction %c: not finite numbers",
             box->lower[a], box->upper[a], axis);
    if (!(box->lower[a] < box->upper[a]))
        FAIL(FACET_ERROR_INPUT, "the box runs from %g to %g in direction %c: lower must be less than upper",
             box->lower[a], box->upper[a], axis);
done:
    return status;
}

static facet_status check_box(struct generator *g) {
    facet_status status = FACET_OK;
    if (g->dim != 2 && g->dim != 3) FAIL(FACET_ERROR_INPUT, "a box has dimension 2 or 3, not %d", g->dim);
    TRY(choose_cut(g));
    for (int a = 0; a < g->dim; a++) TRY(check_direction(g->box, a));
    TRY(check_alternation(g));
done:
    return status;
}

static facet_status check_count(const struct generator *g) {
    double cells = g->even->n_cells, points = 1;
    for (int a = 0; a < g->dim; a++) {
        cells *= g->box->cells[a];
        points *= g->box->cells[a] + 1.0;
    }
    return mesh_check_count(cells, points);
}

facet_status mesh_check_box(const facet_box *box, int *cells_per_brick) {
    struct generator g = {.box = box, .dim = box->dim};
    facet_status status = check_box(&g);
    if (status == FACET_OK) *cells_per_brick = g.even->n_cells;
    return status;
}

/* ------------------------------------------------------------------------------------------ points and cells
 */

/* Cells that have a volume. */
static facet_status check_widths(const struct generator *g, int a) {
    int n = g->box->cells[a];
    const double *x = g->coordinates[a];
    for (int i = 0; i < n; i++) {
        double width = x[i + 1] - x[i];
        if (!(width > 0.0))
            return base_fail(
                FACET_ERROR_INPUT,
                "%d cells between %.17g and %.17g in direction %c have no width in double precision", n,
                g->box->lower[a], g->box->upper[a], axis_names[a]);
        if (width < MESH_SMALLEST_SIZE || width > MESH_LARGEST_SIZE)
            return base_fail(FACET_ERROR_INPUT,
                             "a cell of the box has the width %g in direction %c, but must have %g to %g; "
                             "choose other units",
                             width, axis_names[a], MESH_SMALLEST_SIZE, MESH_LARGEST_SIZE);
    }
    return FACET_OK;
}

/* i/n is one rounding of the exact fraction, so that i/n and 2i/2n give the same number. */
double mesh_box_coordinate(const facet_box *box, int a, int i) {
    const double lower = box->lower[a], width = box->upper[a] - lower;
    if (box->coordinates[a] != NULL) return box->coordinates[a][i];
    return i == box->cells[a] ? box->upper[a] : lower + width * ((double)i / box->cells[a]);
}

static facet_status lay_coordinates(struct generator *g) {
    facet_status status = FACET_OK;
    for (int a = 0; a < g->dim; a++) {
        TRY(ALLOC(g->coordinates[a], g->box->cells[a] + 1));
        for (int i = 0; i <= g->box->cells[a]; i++) g->coordinates[a][i] = mesh_box_coordinate(g->box, a, i);
        TRY(check_widths(g, a));
    }
done:
    return status;
}

static facet_status lay_points(struct generator *g) {
    facet_status status = FACET_OK;
    g->n_points = g->n_bricks = 1;
    for (int a = 0; a < g->dim; a++) {
        g->strides[a] = g->n_points;
        g->n_points *= g->box->cells[a] + 1;
        g->n_bricks *= g->box->cells[a];
    }
    TRY(CALLOC(g->sides, g->n_points));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t p = 0; p < g->n_points; p++)
        for (int a = 0; a < g->dim; a++) {
            int64_t i = p / g->strides[a] % (g->box->cells[a] + 1);
            if (i == 0) g->sides[p] |= (uint8_t)(1 << 2 * a);
            if (i == g->box->cells[a]) g->sides[p] |= (uint8_t)(2 << 2 * a);
        }
done:
    return status;
}

/* One cell of brick `index`; the lattice nodes of order 1 are the vertices in lattice order. */
static void put_cell(struct generator *g, int64_t cell, const int *index, const int *corners,
                     enum shape shape) {
    int n = shape_n_vertices(shape), dim = g->dim;
    g->shapes[cell] = (uint8_t)shape;
    g->vertex_offsets[cell] = g->node_offsets[cell] = cell * n;
    for (int v = 0; v < n; v++) {
        double *node = g->nodes + (cell * n + shape_vertex_node(shape, 1, v)) * dim;
        int64_t point = 0;
        for (int a = 0; a < dim; a++) {
            int i = index[a] + (corners[v] >> a & 1);
            point += g->strides[a] * i;
            node[a] = g->coordinates[a][i];
        }
        g->vertices[cell * n + v] = (int32_t)point;
    }
}

static facet_status lay_cells(struct generator *g) {
    facet_status status = FACET_OK;
    enum shape shape = g->even->shape;
    int64_t n_cells = g->n_bricks * g->even->n_cells, n = shape_n_vertices(shape);
    TRY(ALLOC(g->shapes, n_cells));
    TRY(ALLOC(g->vertex_offsets, n_cells + 1));
    TRY(ALLOC(g->node_offsets, n_cells + 1));
    TRY(ALLOC(g->vertices, n_cells * n));
    TRY(ALLOC(g->nodes, n_cells * n * g->dim));
    g->vertex_offsets[n_cells] = g->node_offsets[n_cells] = n_cells * n;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t brick = 0; brick < g->n_bricks; brick++) {
        int index[3] = {0}, sum = g->parity;
        int64_t rest = brick;
        for (int a = 0; a < g->dim; a++) {
            index[a] = (int)(rest % g->box->cells[a]);
            rest /= g->box->cells[a];
            sum += index[a];
        }
        const struct cut *cut = sum % 2 == 0 ? g->even : g->odd;
        for (int c = 0; c < cut->n_cells; c++)
            put_cell(g, brick * cut->n_cells + c, index, cut->corners[c], shape);
    }
    g->input = (struct mesh_input){.dim = g->dim,
                                   .order = 1,
                                   .conforming = 1,
                                   .n_vertices = g->n_points,
                                   .n_cells = n_cells,
                                   .shapes = g->shapes,
                                   .vertex_offsets = g->vertex_offsets,
                                   .vertices = g->vertices,
                                   .node_offsets = g->node_offsets,
                                   .nodes = g->nodes};
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ sides */

/* Whether a brick has a face on a side of the box. */
static int is_at_side(const struct generator *g, int64_t brick) {
    for (int a = 0; a < g->dim; a++) {
        const int64_t n = g->box->cells[a], i = brick % n;
        if (i == 0 || i == n - 1) return 1;
        brick /= n;
    }
    return 0;
}

/* Visits the faces that lie on a side; with room given, writes their vertices. */
static void walk_sides(struct generator *g) {
    enum shape shape = g->even->shape;
    int n = shape_n_vertices(shape);
    for (int s = 0; s < 6; s++) g->side_counts[s] = 0;
    for (int64_t cell = 0; cell < g->input.n_cells; cell++) {
        const int32_t *vertices = g->vertices + cell * n;
        int any = 0;
        if (!is_at_side(g, cell / g->even->n_cells)) {
            cell += g->even->n_cells - 1; /* nor have the other cells of the brick */
            continue;
        }
        for (int v = 0; v < n; v++) any |= g->sides[vertices[v]];
        for (int f = 0; any && f < shape_n_faces(shape); f++) {
            const int *corners = shape_face_vertices(shape, f);
            int common = 255, n_corners = shape_n_vertices(shape_face_shape(shape, f));
            for (int i = 0; i < n_corners; i++) common &= g->sides[vertices[corners[i]]];
            for (int s = 0; common >> s; s++) {
                if (!(common >> s & 1)) continue;
                int64_t k = g->side_counts[s]++;
                for (int i = 0; g->side_faces[s] && i < SHAPE_MAX_FACE_VERTICES; i++)
                    g->side_faces[s][k * SHAPE_MAX_FACE_VERTICES + i] =
                        i < n_corners ? vertices[corners[i]] : -1;
            }
        }
    }
}

static facet_status name_sides(struct generator *g) {
    facet_status status = FACET_OK;
    walk_sides(g);
    int64_t n_pairs = 0;
    for (int s = 0; s < 2 * g->dim; s++) {
        TRY(ALLOC(g->side_faces[s], g->side_counts[s] * SHAPE_MAX_FACE_VERTICES));
        if (g->box->periodic[s / 2] && s % 2 == 0) n_pairs += g->side_counts[s];
    }
    walk_sides(g);
    TRY(ALLOC(g->periodic, n_pairs * 2 * SHAPE_MAX_FACE_VERTICES));
    for (int s = 0; s < 2 * g->dim; s++) {
        int a = s / 2;
        if (g->joined[a]) continue;
        if (!g->box->periodic[a]) {
            snprintf(g->names[s], sizeof g->names[s], "%c%s", axis_names[a], s % 2 ? "max" : "min");
            g->groups[g->input.n_groups++] =
                (struct mesh_input_group){.name = g->names[s],
                                          .dim = g->dim - 1,
                                          .count = g->seams >> s & 1 ? 0 : g->side_counts[s],
                                          .vertices = g->side_faces[s]};
        } else if (s % 2 == 0) {
            for (int64_t k = 0; k < g->side_counts[s]; k++, g->input.n_periodic++)
                for (int i = 0; i < SHAPE_MAX_FACE_VERTICES; i++) {
                    int32_t v = g->side_faces[s][k * SHAPE_MAX_FACE_VERTICES + i];
                    int32_t *pair = g->periodic + g->input.n_periodic * 2 * SHAPE_MAX_FACE_VERTICES;
                    pair[i] = v;
                    pair[SHAPE_MAX_FACE_VERTICES + i] =
                        v < 0 ? -1 : v + (int32_t)(g->strides[a] * g->box->cells[a]);
                }
        }
    }
    g->input.groups = g->groups;
    g->input.periodic = g->periodic;
done:
    return status;
}

static facet_status list_all(struct generator *g, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    double cells = g->even->n_cells;
    for (int a = 0; a < g->dim; a++) cells *= g->box->cells[a];
    TRY(mesh_check_lists(g->even->shape, cells));
    TRY(lay_points(g));
    TRY(lay_cells(g));
    TRY(name_sides(g));
    TRY(mesh_create(&g->input, mesh));
done:
    return status;
}

static void generator_free(struct generator *g) {
    for (int a = 0; a < 3; a++) base_free(&g->coordinates[a]);
    for (int s = 0; s < 6; s++) base_free(&g->side_faces[s]);
    base_free(&g->sides);
    base_free(&g->shapes);
    base_free(&g->vertex_offsets);
    base_free(&g->node_offsets);
    base_free(&g->vertices);
    base_free(&g->nodes);
    base_free(&g->periodic);
}

static void remember_cut(struct generator *g, struct facet_mesh *mesh) {
    mesh->split = g->split;
    for (int a = 0; a < g->dim; a++) {
        mesh->cut.cells[a] = g->box->cells[a];
        mesh->cut.periodic[a] = g->box->periodic[a] != 0;
        mesh->cut.coordinates[a] = g->coordinates[a];
        g->coordinates[a] = NULL;
    }
}

facet_status mesh_create_box(const facet_box *box, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct generator g = {.box = box, .dim = box->dim};
    *mesh = NULL;
    TRY(check_box(&g));
    TRY(check_count(&g));
    TRY(lay_coordinates(&g));
    if (g.split == NULL) {
        TRY(mesh_create_plain_box(box, g.even->shape, g.coordinates, mesh));
        goto done;
    }
    TRY(list_all(&g, mesh));
    remember_cut(&g, *mesh);
done:
    generator_free(&g);
    return status;
}

facet_status mesh_list_box(const struct facet_mesh *box, struct facet_mesh **lists) {
    facet_status status = FACET_OK;
    facet_box made = {.dim = box->dim, .shape = shape_name(box->blocks[0].shape)};
    struct generator g = {.box = &made, .dim = box->dim};
    *lists = NULL;
    for (int a = 0; a < box->dim; a++) {
        made.cells[a] = box->box.cells[a];
        made.periodic[a] = box->box.periodic[a];
        made.coordinates[a] = box->box.coordinates[a];
    }
    TRY(choose_cut(&g));
    TRY(lay_coordinates(&g));
    TRY(list_all(&g, lists));
done:
    generator_free(&g);
    return status;
}

/* ------------------------------------------------------------------------------------------ blocks */

/* A block of a larger box, and that box. */
struct block {
    const facet_box *whole;
    facet_box own;
    int first[3];
};

/* Which sides of the block are a seam: not those of the whole, unless these are joined to another block's. */
static unsigned seams_of(const struct block *b) {
    unsigned seams = 0;
    for (int a = 0; a < b->own.dim; a++) {
        const int all = b->own.cells[a] == b->whole->cells[a], joined = b->whole->periodic[a] && !all;
        if (joined || b->first[a] > 0) seams |= 1u << 2 * a;
        if (joined || b->first[a] + b->own.cells[a] < b->whole->cells[a]) seams |= 2u << 2 * a;
    }
    return seams;
}

/* Places the faces of the seam, side after side, in the order of their frames. */
static facet_status list_seam(struct generator *g, int32_t **vertices) {
    facet_status status = FACET_OK;
    int64_t n = 0;
    for (int s = 0; s < 2 * g->dim; s++) n += g->seams >> s & 1 ? g->side_counts[s] : 0;
    TRY(ALLOC(*vertices, n * SHAPE_MAX_FACE_VERTICES));
    for (int s = 0; s < 2 * g->dim; s++)
        for (int64_t k = 0; (g->seams >> s & 1) && k < g->side_counts[s]; k++, g->input.n_seam++) {
            const int32_t *face = g->side_faces[s] + k * SHAPE_MAX_FACE_VERTICES;
            int32_t *frame = *vertices + g->input.n_seam * SHAPE_MAX_FACE_VERTICES;
            int corners = 0;
            for (int i = 0; i < SHAPE_MAX_FACE_VERTICES; i++) {
                frame[i] = -1;
                corners += face[i] >= 0;
            }
            mesh_make_frame(corners, face, frame);
        }
    g->input.seam = *vertices;
done:
    return status;
}

/* The index of a point in the whole lattice. */
static void point_index(const struct generator *g, const struct block *b, int32_t point, int *index) {
    int64_t rest = point;
    for (int a = 0; a < g->dim; a++) {
        index[a] = b->first[a] + (int)(rest % (g->box->cells[a] + 1));
        rest /= g->box->cells[a] + 1;
    }
}

/* The brick across a face of side s: the lowest corner of the face, or one step below it; one step further
 * round a periodic direction. The key: the points of the face in the whole, those of an upper side of the
 * whole being those of the lower, and the direction, since these points may have other faces, too. */
static void describe_face(const struct generator *g, const struct block *b, int s, const int32_t *frame,
                          int *across, int64_t *key) {
    const int a = s / 2;
    for (int d = 0; d < 3; d++) across[d] = d < g->dim ? INT32_MAX : 0;
    for (int i = 0; i < MESH_SEAM_KEY; i++) key[i] = -1;
    for (int i = 0; i < SHAPE_MAX_FACE_VERTICES && frame[i] >= 0; i++) {
        int index[3] = {0};
        int64_t number = 0;
        point_index(g, b, frame[i], index);
        for (int d = 0; d < g->dim; d++) across[d] = index[d] < across[d] ? index[d] : across[d];
        if (index[a] == b->whole->cells[a] && b->whole->periodic[a]) index[a] = 0;
        for (int d = g->dim - 1; d >= 0; d--) number = number * (b->whole->cells[d] + 1) + index[d];
        key[i] = number;
    }
    key[MESH_SEAM_KEY - 1] = a;
    const int n = b->whole->cells[a];
    across[a] = (s % 2 ? across[a] : across[a] - 1 + n) % n;
}

static facet_status describe_seam(const struct generator *g, const struct block *b,
                                  struct mesh_box_seam *seam) {
    facet_status status = FACET_OK;
    int32_t i = 0;
    seam->n = (int32_t)g->input.n_seam;
    TRY(ALLOC(seam->across, 3 * (int64_t)seam->n));
    TRY(ALLOC(seam->keys, MESH_SEAM_KEY * (int64_t)seam->n));
    for (int s = 0; s < 2 * g->dim; s++)
        for (int64_t k = 0; (g->seams >> s & 1) && k < g->side_counts[s]; k++, i++)
            describe_face(g, b, s, g->input.seam + (int64_t)i * SHAPE_MAX_FACE_VERTICES,
                          seam->across + 3 * (int64_t)i, seam->keys + MESH_SEAM_KEY * (int64_t)i);
done:
    return status;
}

void mesh_box_seam_free(struct mesh_box_seam *seam) {
    base_free(&seam->faces);
    base_free(&seam->across);
    base_free(&seam->keys);
    seam->n = 0;
}

/* Coordinates of the whole, as its own generator lays them, and of them those of the block. */
static facet_status cut_coordinates(struct block *b, double *coordinates[3]) {
    facet_status status = FACET_OK;
    struct generator whole = {.box = b->whole, .dim = b->whole->dim};
    TRY(check_box(&whole));
    TRY(lay_coordinates(&whole));
    for (int a = 0; a < whole.dim; a++) {
        TRY(ALLOC(coordinates[a], b->own.cells[a] + 1));
        memcpy(coordinates[a], whole.coordinates[a] + b->first[a],
               ((size_t)b->own.cells[a] + 1) * sizeof *coordinates[a]);
        b->own.coordinates[a] = coordinates[a];
    }
done:
    generator_free(&whole);
    return status;
}

facet_status mesh_create_box_block(const facet_box *box, const int first[3], const int count[3],
                                   struct mesh_box_seam *seam, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct block b = {.whole = box, .own = {.dim = box->dim, .shape = box->shape, .split = box->split}};
    struct generator g = {.box = &b.own, .dim = box->dim};
    double *coordinates[3] = {NULL}, cells = 1.0;
    int32_t *vertices = NULL;
    *mesh = NULL;
    *seam = (struct mesh_box_seam){0};
    for (int a = 0; a < box->dim; a++) {
        b.first[a] = first[a];
        b.own.cells[a] = count[a];
        b.own.periodic[a] = box->periodic[a] && count[a] == box->cells[a];
        g.parity += first[a];
        cells *= count[a];
    }
    TRY(cut_coordinates(&b, coordinates));
    TRY(choose_cut(&g));
    TRY(check_count(&g));
    TRY(mesh_check_lists(g.even->shape, cells * g.even->n_cells));
    g.seams = seams_of(&b);
    TRY(lay_coordinates(&g));
    TRY(lay_points(&g));
    TRY(lay_cells(&g));
    for (int a = 0; a < box->dim; a++) /* which decides whether sides have names */
        g.joined[a] = box->periodic[a] && !b.own.periodic[a];
    TRY(name_sides(&g));
    TRY(list_seam(&g, &vertices));
    TRY(ALLOC(seam->faces, g.input.n_seam));
    g.input.seam_faces = seam->faces;
    TRY(describe_seam(&g, &b, seam));
    TRY(mesh_create(&g.input, mesh));
    remember_cut(&g, *mesh);
done:
    if (status != FACET_OK) {
        mesh_destroy(mesh);
        mesh_box_seam_free(seam);
    }
    base_free(&vertices);
    for (int a = 0; a < 3; a++) base_free(&coordinates[a]);
    generator_free(&g);
    return status;
}
