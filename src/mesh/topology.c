/* Which cells share which faces. Every side of every cell is a sorted tuple of vertices; equal tuples are one
 * raw face, numbered in the order of first appearance, so that faces lie in memory as their cells do.
 * Periodic pairs then join two raw boundary faces to one face, and each side gets the orientation of the
 * common frame. */
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"

#define NAME_BYTES 64

/* The vertices of local face `local` of a cell, in the cell's order; returns their number. */
static int local_vertices(const struct mesh_block *block, int32_t cell_in_block, int local,
                          int32_t *vertices) {
    const int *corners = shape_face_vertices(block->shape, local);
    int n = shape_n_vertices(shape_face_shape(block->shape, local));
    const int32_t *cell = block->vertices + (int64_t)cell_in_block * shape_n_vertices(block->shape);
    for (int i = 0; i < n; i++) vertices[i] = cell[corners[i]];
    return n;
}

void mesh_side_center(const struct facet_mesh *mesh, int32_t cell, int local, double *x) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const int *corners = shape_face_vertices(block->shape, local);
    int n = shape_n_vertices(shape_face_shape(block->shape, local));
    const double *nodes = mesh_cell_nodes(mesh, cell);
    for (int a = 0; a < mesh->dim; a++) {
        x[a] = 0;
        for (int i = 0; i < n; i++)
            x[a] += nodes[shape_vertex_node(block->shape, mesh->order, corners[i]) * mesh->dim + a] / n;
    }
}

/* ------------------------------------------------------------------------------------------ raw faces */

static int same_vertices(const struct facet_mesh *mesh, int32_t one, int32_t two) {
    const struct mesh_block *a = mesh_block_of(mesh, one), *b = mesh_block_of(mesh, two);
    if (a != b) return 0;
    int n = shape_n_vertices(a->shape);
    const int32_t *u = a->vertices + (int64_t)(one - a->first) * n,
                  *v = a->vertices + (int64_t)(two - a->first) * n;
    uint32_t u_sum = 0, v_sum = 0;
    for (int i = 0; i < n; i++) {
        u_sum += (uint32_t)u[i];
        v_sum += (uint32_t)v[i];
    }
    if (u_sum != v_sum) return 0;
    int32_t u_key[SHAPE_MAX_VERTICES], v_key[SHAPE_MAX_VERTICES];
    tuple_sort(n, u, n, u_key);
    tuple_sort(n, v, n, v_key);
    return memcmp(u_key, v_key, (size_t)n * sizeof *u_key) == 0;
}

/* A second cell at a face is as it should be unless it is the first again; a third is one too many. */
static void meet(struct mesh_builder *builder, int32_t raw, int32_t cell, int local,
                 int32_t *last_duplicate) {
    char name[NAME_BYTES], other[NAME_BYTES], another[NAME_BYTES], place[80];
    double x[3];
    int32_t *cells = builder->raw_cells + 2 * (int64_t)raw;
    if (*last_duplicate == cell) return;
    for (int i = 0; i < 2; i++) {
        if (cells[i] < 0 || cells[i] == cell || !same_vertices(builder->mesh, cells[i], cell)) continue;
        *last_duplicate = cell;
        mesh_side_center(builder->mesh, cell, local, x);
        mesh_issue(&builder->issues, "%s and %s at %s are the same cell twice: remove one of them",
                   mesh_cell_text(builder, cells[i], other, sizeof other),
                   mesh_cell_text(builder, cell, name, sizeof name),
                   mesh_point_text(builder->mesh->dim, x, place, sizeof place));
        return;
    }
    if (cells[1] < 0) {
        cells[1] = cell;
        builder->raw_locals[2 * (int64_t)raw + 1] = (uint8_t)local;
        return;
    }
    mesh_side_center(builder->mesh, cell, local, x);
    mesh_issue(
        &builder->issues,
        "the face at %s is shared by more than two cells: %s, %s and %s; regions overlap or surfaces branch, "
        "remove the overlap",
        mesh_point_text(builder->mesh->dim, x, place, sizeof place),
        mesh_cell_text(builder, cells[0], other, sizeof other),
        mesh_cell_text(builder, cells[1], another, sizeof another),
        mesh_cell_text(builder, cell, name, sizeof name));
}

/* The sorted vertices of all sides, cell after cell. */
static void list_keys(const struct facet_mesh *mesh, int stride, int32_t *keys) {
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        int n_faces = shape_n_faces(block->shape);
#pragma omp parallel for num_threads(base_threads()) schedule(static)
        for (int32_t c = 0; c < block->count; c++)
            for (int f = 0; f < n_faces; f++) {
                int32_t vertices[SHAPE_MAX_FACE_VERTICES];
                tuple_sort(local_vertices(block, c, f, vertices), vertices, stride,
                           keys + ((int64_t)c * n_faces + f) * stride);
            }
        keys += (int64_t)block->count * n_faces * stride;
    }
}

/* firsts: of each face its first side, counted over all blocks. */
static void put_first_sides(struct mesh_builder *builder, const int32_t *firsts) {
    const struct facet_mesh *mesh = builder->mesh;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t raw = 0; raw < builder->raw.count; raw++) {
        int64_t side = firsts[raw], n;
        int b = 0;
        while (n = (int64_t)mesh->blocks[b].count * shape_n_faces(mesh->blocks[b].shape), side >= n) {
            side -= n;
            b++;
        }
        int n_faces = shape_n_faces(mesh->blocks[b].shape);
        builder->raw_cells[2 * raw] = mesh->blocks[b].first + (int32_t)(side / n_faces);
        builder->raw_locals[2 * raw] = (uint8_t)(side % n_faces);
    }
}

static int is_first_side(const struct mesh_builder *builder, int32_t raw, int32_t cell, int local) {
    return builder->raw_cells[2 * (int64_t)raw] == cell && builder->raw_locals[2 * (int64_t)raw] == local;
}

/* All second sides at once; 0 where something is wrong, which is then found side by side. */
static int put_second_sides(struct mesh_builder *builder) {
    int wrong = 0;
    for (int b = 0; b < builder->mesh->n_blocks; b++) {
        struct mesh_block *block = &builder->mesh->blocks[b];
        int n_faces = shape_n_faces(block->shape);
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(| : wrong)
        for (int64_t i = 0; i < (int64_t)block->count * n_faces; i++) {
            int32_t raw = block->faces[i], cell = block->first + (int32_t)(i / n_faces), before;
            if (is_first_side(builder, raw, cell, (int)(i % n_faces))) continue;
#pragma omp atomic capture
            {
                before = builder->raw_cells[2 * (int64_t)raw + 1];
                builder->raw_cells[2 * (int64_t)raw + 1] = cell;
            }
            builder->raw_locals[2 * (int64_t)raw + 1] = (uint8_t)(i % n_faces);
            wrong |= before >= 0 || same_vertices(builder->mesh, builder->raw_cells[2 * (int64_t)raw], cell);
        }
    }
    return !wrong;
}

static void meet_one_by_one(struct mesh_builder *builder) {
    int32_t last_duplicate = -1;
    for (int b = 0; b < builder->mesh->n_blocks; b++) {
        struct mesh_block *block = &builder->mesh->blocks[b];
        int n_faces = shape_n_faces(block->shape);
        for (int64_t i = 0; i < (int64_t)block->count * n_faces; i++) {
            int32_t raw = block->faces[i], cell = block->first + (int32_t)(i / n_faces);
            if (!is_first_side(builder, raw, cell, (int)(i % n_faces)))
                meet(builder, raw, cell, (int)(i % n_faces), &last_duplicate);
        }
    }
}

static void forget_second_sides(struct mesh_builder *builder) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t raw = 0; raw < builder->raw.count; raw++) {
        builder->raw_cells[2 * raw + 1] = -1;
        builder->raw_locals[2 * raw + 1] = 0;
    }
}

static facet_status number_raw_faces(struct mesh_builder *builder) {
    facet_status status = FACET_OK;
    struct facet_mesh *mesh = builder->mesh;
    int64_t n_sides = 0;
    int32_t *keys = NULL, *numbers = NULL, *firsts = NULL;
    for (int b = 0; b < mesh->n_blocks; b++)
        n_sides += (int64_t)mesh->blocks[b].count * shape_n_faces(mesh->blocks[b].shape);
    int stride = mesh->dim == 2 ? 2 : SHAPE_MAX_FACE_VERTICES;
    TRY(tuple_set_init(&builder->raw, stride, n_sides));
    TRY(ALLOC(builder->raw_cells, 2 * n_sides));
    TRY(ALLOC(builder->raw_locals, 2 * n_sides));
    TRY(ALLOC(keys, n_sides * stride));
    TRY(ALLOC(numbers, n_sides));
    list_keys(mesh, stride, keys);
    TRY(ALLOC(firsts, n_sides));
    TRY(tuple_set_fill(&builder->raw, n_sides, keys, numbers, firsts));
    n_sides = 0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        int64_t n = (int64_t)mesh->blocks[b].count * shape_n_faces(mesh->blocks[b].shape);
        memcpy(mesh->blocks[b].faces, numbers + n_sides, (size_t)n * sizeof *numbers);
        n_sides += n;
    }
    put_first_sides(builder, firsts);
    forget_second_sides(builder);
    if (!put_second_sides(builder)) {
        forget_second_sides(builder);
        meet_one_by_one(builder);
    }
done:
    base_free(&keys);
    base_free(&numbers);
    base_free(&firsts);
    return status;
}

/* ------------------------------------------------------------------------------------------ periodic pairs
 */

static const int32_t *pair_side(const struct mesh_input *input, int64_t pair, int side) {
    return input->periodic + (2 * pair + side) * SHAPE_MAX_FACE_VERTICES;
}

int32_t mesh_find_raw(const struct mesh_builder *builder, const int32_t *vertices) {
    int32_t mapped[SHAPE_MAX_FACE_VERTICES], key[SHAPE_MAX_FACE_VERTICES];
    int n = 0;
    for (; n < SHAPE_MAX_FACE_VERTICES && vertices[n] >= 0; n++) {
        if (n >= builder->raw.stride || vertices[n] >= builder->input->n_vertices) return -1;
        mapped[n] = builder->vertex_map[vertices[n]];
        if (mapped[n] < 0) return -1;
    }
    tuple_sort(n, mapped, builder->raw.stride, key);
    return tuple_set_find(&builder->raw, key);
}

static facet_status join_periodic(struct mesh_builder *builder, int32_t *partner) {
    facet_status status = FACET_OK;
    const struct mesh_input *input = builder->input;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int32_t r = 0; r < builder->raw.count; r++) partner[r] = builder->raw_pair[r] = -1;
    for (int64_t pair = 0; pair < input->n_periodic; pair++) {
        int32_t raw[2];
        for (int side = 0; side < 2; side++) raw[side] = mesh_find_raw(builder, pair_side(input, pair, side));
        if (raw[0] < 0 || raw[1] < 0) {
            const int32_t *v = pair_side(input, pair, raw[0] < 0 ? 0 : 1);
            mesh_issue(&builder->issues,
                       "periodic pair %lld: its %s side (vertices %d, %d, ...) is no face of the mesh",
                       (long long)pair, raw[0] < 0 ? "first" : "second", v[0], v[1]);
            continue;
        }
        if (partner[raw[0]] == raw[1]) continue;
        double x[3];
        char place[80];
        int bad =
            raw[0] == raw[1] || builder->raw_cells[2 * (int64_t)raw[0] + 1] >= 0 || partner[raw[0]] >= 0;
        int bad_second = builder->raw_cells[2 * (int64_t)raw[1] + 1] >= 0 || partner[raw[1]] >= 0;
        if (bad || bad_second) {
            int32_t r = raw[bad ? 0 : 1];
            mesh_side_center(builder->mesh, builder->raw_cells[2 * (int64_t)r],
                             builder->raw_locals[2 * (int64_t)r], x);
            mesh_issue(&builder->issues,
                       "periodic pair %lld: the face at %s is not free: it has two cells or another partner",
                       (long long)pair, mesh_point_text(builder->mesh->dim, x, place, sizeof place));
            continue;
        }
        partner[raw[0]] = raw[1];
        partner[raw[1]] = raw[0];
        builder->raw_pair[raw[0]] = builder->raw_pair[raw[1]] = (int32_t)pair;
    }
    return status;
}

static facet_status number_faces(struct mesh_builder *builder) {
    facet_status status = FACET_OK;
    struct facet_mesh *mesh = builder->mesh;
    int32_t n_raw = builder->raw.count, *partner = NULL;
    TRY(ALLOC(partner, n_raw));
    TRY(ALLOC(builder->raw_pair, n_raw));
    TRY(ALLOC(builder->face_of_raw, n_raw));
    TRY(ALLOC(builder->raw_of_face, n_raw));
    TRY(join_periodic(builder, partner));
    if (builder->input->n_periodic == 0) {
        mesh->n_faces = n_raw;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
        for (int32_t r = 0; r < n_raw; r++) builder->face_of_raw[r] = builder->raw_of_face[r] = r;
    }
    for (int32_t r = 0; builder->input->n_periodic > 0 && r < n_raw; r++) {
        int joined = partner[r] >= 0 && partner[r] < r;
        builder->face_of_raw[r] = joined ? builder->face_of_raw[partner[r]] : mesh->n_faces;
        if (!joined) builder->raw_of_face[mesh->n_faces++] = r;
    }
    TRY(ALLOC(mesh->face_cells, 2 * (int64_t)mesh->n_faces));
    TRY(ALLOC(mesh->face_locals, 2 * (int64_t)mesh->n_faces));
    TRY(ALLOC(mesh->face_shapes, mesh->n_faces));
    int32_t n_boundary = 0;
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(+ : n_boundary)
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int64_t r = builder->raw_of_face[f], p = partner[r];
        int64_t second = p >= 0 ? 2 * p : 2 * r + 1;
        mesh->face_cells[2 * (int64_t)f] = builder->raw_cells[2 * r];
        mesh->face_locals[2 * (int64_t)f] = builder->raw_locals[2 * r];
        mesh->face_cells[2 * (int64_t)f + 1] = builder->raw_cells[second];
        mesh->face_locals[2 * (int64_t)f + 1] = builder->raw_locals[second];
        enum shape shape = mesh_block_of(mesh, builder->raw_cells[2 * r])->shape;
        mesh->face_shapes[f] = (uint8_t)shape_face_shape(shape, builder->raw_locals[2 * r]);
        n_boundary += builder->raw_cells[second] < 0;
    }
    mesh->n_boundary_faces = n_boundary;
    for (int b = 0; b < mesh->n_blocks; b++) {
        struct mesh_block *block = &mesh->blocks[b];
        int64_t n = (int64_t)block->count * shape_n_faces(block->shape);
#pragma omp parallel for num_threads(base_threads()) schedule(static)
        for (int64_t i = 0; i < n; i++) block->faces[i] = builder->face_of_raw[block->faces[i]];
    }
done:
    base_free(&partner);
    return status;
}

/* ------------------------------------------------------------------------------------------ seams */

static const int32_t *seam_face(const struct mesh_input *input, int64_t i) {
    return input->seam + i * SHAPE_MAX_FACE_VERTICES;
}

/* A face with one cell here, which is not the boundary. */
static facet_status mark_seam(struct mesh_builder *builder) {
    facet_status status = FACET_OK;
    const struct mesh_input *input = builder->input;
    struct facet_mesh *mesh = builder->mesh;
    if (input->n_seam == 0) return FACET_OK;
    TRY(ALLOC(builder->face_seam, mesh->n_faces));
    for (int32_t f = 0; f < mesh->n_faces; f++) builder->face_seam[f] = -1;
    for (int64_t i = 0; i < input->n_seam; i++) {
        const int32_t *v = seam_face(input, i);
        int32_t raw = mesh_find_raw(builder, v), face = raw >= 0 ? builder->face_of_raw[raw] : -1;
        if (face < 0 || mesh->face_cells[2 * (int64_t)face + 1] != MESH_BOUNDARY) {
            mesh_issue(&builder->issues, "face %lld of the seam (vertices %d, %d, ...) is %s", (long long)i,
                       v[0], v[1], face < 0 ? "no face of this part" : "given twice, or has two cells");
            continue;
        }
        mesh->face_cells[2 * (int64_t)face + 1] = MESH_SEAM;
        mesh->n_boundary_faces--;
        builder->face_seam[face] = (int32_t)i;
        if (input->seam_faces != NULL) input->seam_faces[i] = face;
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ frames */

/* The smallest vertex first, then its smaller neighbour: for segments and triangles this is ascending order.
 */
void mesh_make_frame(int n, const int32_t *local, int32_t *frame) {
    int first = 0;
    for (int i = 1; i < n; i++)
        if (local[i] < local[first]) first = i;
    int step = local[(first + 1) % n] < local[(first + n - 1) % n] ? 1 : n - 1;
    for (int i = 0; i < n; i++) frame[i] = local[(first + i * step) % n];
}

/* The frame of the first side as the vertices of the second side of a periodic pair. */
static void carry_over(const struct mesh_builder *builder, int64_t pair, int n, int32_t *frame) {
    const int32_t *side[2] = {pair_side(builder->input, pair, 0), pair_side(builder->input, pair, 1)};
    int n_found = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) n_found += builder->vertex_map[side[0][j]] == frame[i];
    int from = n_found == n ? 0 : 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (builder->vertex_map[side[from][j]] == frame[i]) {
                frame[i] = builder->vertex_map[side[1 - from][j]];
                break;
            }
}

static int is_mirrored(enum shape face_shape, int orientation) {
    const int *p = shape_permutation(face_shape, orientation);
    int n = shape_n_vertices(face_shape);
    return n == 2 ? p[0] == 1 : (p[1] - p[0] + n) % n != 1;
}

enum frame_fault { FRAME_OK, FRAME_TWISTED, FRAME_FOLDED };

/* Sets the orientations of both sides of a face. Across an ordinary face the two cells run round it in
 * opposite directions; if they do not, both lie on the same side of it. */
static enum frame_fault orient_face(struct mesh_builder *builder, int32_t face) {
    struct facet_mesh *mesh = builder->mesh;
    enum shape face_shape = (enum shape)mesh->face_shapes[face];
    int n = shape_n_vertices(face_shape), mirrored[2] = {0, 1};
    int32_t pair = builder->raw_pair[builder->raw_of_face[face]], frame[SHAPE_MAX_FACE_VERTICES];
    for (int side = 0; side < 2; side++) {
        int32_t cell = mesh->face_cells[2 * (int64_t)face + side], local[SHAPE_MAX_FACE_VERTICES];
        if (cell < 0) break;
        int f = mesh->face_locals[2 * (int64_t)face + side];
        struct mesh_block *block = &mesh->blocks[mesh_block_index(mesh, cell)];
        local_vertices(block, cell - block->first, f, local);
        if (side == 0 && builder->face_seam != NULL && builder->face_seam[face] >= 0)
            for (int i = 0; i < n; i++)
                frame[i] = builder->vertex_map[seam_face(builder->input, builder->face_seam[face])[i]];
        else if (side == 0)
            mesh_make_frame(n, local, frame);
        else if (pair >= 0)
            carry_over(builder, pair, n, frame);
        int orientation = shape_find_orientation(face_shape, frame, local);
        if (orientation < 0) return FRAME_TWISTED;
        mirrored[side] = is_mirrored(face_shape, orientation);
        block->orientations[(int64_t)(cell - block->first) * shape_n_faces(block->shape) + f] =
            (uint8_t)orientation;
        if (side == 1 && pair < 0 && mirrored[0] == mirrored[1]) return FRAME_FOLDED;
    }
    return FRAME_OK;
}

static void report_frame(struct mesh_builder *builder, int32_t face, enum frame_fault fault) {
    const struct facet_mesh *mesh = builder->mesh;
    char one[NAME_BYTES], two[NAME_BYTES], place[80];
    double x[3];
    const int32_t *cells = mesh->face_cells + 2 * (int64_t)face;
    if (builder->is_bad[cells[0]] || (cells[1] >= 0 && builder->is_bad[cells[1]])) return;
    mesh_side_center(mesh, cells[0], mesh->face_locals[2 * (int64_t)face], x);
    mesh_cell_text(builder, cells[0], one, sizeof one);
    if (cells[1] < 0) {
        mesh_issue(&builder->issues,
                   "%s and the seam join the vertices of its face at %s in different orders", one,
                   mesh_point_text(mesh->dim, x, place, sizeof place));
        return;
    }
    mesh_cell_text(builder, cells[1], two, sizeof two);
    mesh_point_text(mesh->dim, x, place, sizeof place);
    if (fault == FRAME_TWISTED)
        mesh_issue(&builder->issues,
                   "%s and %s join the vertices of their common face at %s in different orders", one, two,
                   place);
    else
        mesh_issue(&builder->issues,
                   "%s and %s overlap: both lie on the same side of their common face at %s; mesh again", one,
                   two, place);
}

facet_status mesh_build_topology(struct mesh_builder *builder) {
    facet_status status = FACET_OK;
    uint8_t *faults = NULL;
    TRY(number_raw_faces(builder));
    TRY(number_faces(builder));
    TRY(mark_seam(builder));
    int32_t n_faces = builder->mesh->n_faces;
    TRY(ALLOC(faults, n_faces));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int32_t f = 0; f < n_faces; f++) faults[f] = (uint8_t)orient_face(builder, f);
    for (int32_t f = 0; f < n_faces; f++)
        if (faults[f] != FRAME_OK) report_frame(builder, f, (enum frame_fault)faults[f]);
done:
    base_free(&faults);
    return status;
}
