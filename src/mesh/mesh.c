/* A mesh from its parts: the input is checked for form, its cells are sorted into blocks of one shape, and
 * the rest is handed to geometry.c (Jacobians), topology.c (faces), groups.c and conformity.c. Begin reading
 * at mesh_create. */
#include "mesh/mesh.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"
#include "mesh/part.h"

/* ------------------------------------------------------------------------------------------ faults */

void mesh_issue(struct mesh_issues *issues, const char *format, ...) {
    if (issues->count++ >= MESH_MAX_ISSUES) return;
    char item[MESH_ISSUE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(item, sizeof item, format, args);
    va_end(args);
    issues->length +=
        snprintf(issues->text + issues->length, sizeof issues->text - (size_t)issues->length, "\n  %s", item);
}

/* FACET_OK when nothing was found, otherwise FACET_ERROR_INPUT with all items in one message. */
static facet_status issues_status(const struct mesh_issues *issues) {
    if (issues->count == 0) return FACET_OK;
    if (issues->count == 1) return base_fail(FACET_ERROR_INPUT, "%s", issues->text + 3);
    char rest[64] = "";
    if (issues->count > MESH_MAX_ISSUES)
        snprintf(rest, sizeof rest, "\n  and %lld more", (long long)(issues->count - MESH_MAX_ISSUES));
    return base_fail(FACET_ERROR_INPUT, "the mesh has %lld faults:%s%s", (long long)issues->count,
                     issues->text, rest);
}

const char *mesh_point_text(int dim, const double *x, char *text, int text_bytes) {
    if (dim == 2)
        snprintf(text, (size_t)text_bytes, "(%.6g, %.6g)", x[0], x[1]);
    else
        snprintf(text, (size_t)text_bytes, "(%.6g, %.6g, %.6g)", x[0], x[1], x[2]);
    return text;
}

static const char *input_cell_text(const struct mesh_input *input, int64_t cell, char *text, int text_bytes) {
    if (input->cell_names)
        snprintf(text, (size_t)text_bytes, "cell %lld (Gmsh element %lld)", (long long)cell,
                 (long long)input->cell_names[cell]);
    else
        snprintf(text, (size_t)text_bytes, "cell %lld", (long long)cell);
    return text;
}

const char *mesh_cell_text(const struct mesh_builder *builder, int32_t cell, char *text, int text_bytes) {
    return input_cell_text(builder->input, builder->input_cell[cell], text, text_bytes);
}

/* ------------------------------------------------------------------------------------------ the form of the
 * input */

static facet_status fail_cell(const struct mesh_input *input, int64_t cell, const char *what,
                              long long expected, long long found) {
    char name[64];
    int shape = input->shapes[cell];
    return base_fail(FACET_ERROR_INPUT, "%s (%s): %s: expected %lld, found %lld",
                     input_cell_text(input, cell, name, sizeof name),
                     shape < SHAPE_COUNT ? shape_name((enum shape)shape) : "unknown shape", what, expected,
                     found);
}

static facet_status check_cell_form(const struct mesh_input *input, int64_t cell) {
    if (input->shapes[cell] >= SHAPE_COUNT || shape_dim((enum shape)input->shapes[cell]) != input->dim)
        return fail_cell(input, cell, "dimension of the cell", input->dim,
                         input->shapes[cell] < SHAPE_COUNT ? shape_dim((enum shape)input->shapes[cell]) : -1);
    enum shape shape = (enum shape)input->shapes[cell];
    int64_t first = input->vertex_offsets[cell], n_vertices = input->vertex_offsets[cell + 1] - first;
    int64_t n_nodes = input->node_offsets[cell + 1] - input->node_offsets[cell];
    if (n_vertices != shape_n_vertices(shape))
        return fail_cell(input, cell, "number of vertices", shape_n_vertices(shape), n_vertices);
    if (n_nodes != shape_n_nodes(shape, input->order))
        return fail_cell(input, cell, "number of nodes", shape_n_nodes(shape, input->order), n_nodes);
    for (int i = 0; i < n_vertices; i++) {
        int32_t v = input->vertices[first + i];
        if (v < 0 || v >= input->n_vertices)
            return fail_cell(input, cell, "a vertex number below the number of vertices", input->n_vertices,
                             v);
    }
    return FACET_OK;
}

/* Faults that make the rest of the input unreadable are reported alone and at once. */
static facet_status check_form(const struct mesh_input *input) {
    facet_status status = FACET_OK;
    struct base_collector failures;
    if (input->dim != 2 && input->dim != 3)
        FAIL(FACET_ERROR_INPUT, "a mesh has dimension 2 or 3, not %d", input->dim);
    if (input->order < 1 || input->order > MESH_MAX_ORDER)
        FAIL(FACET_ERROR_INPUT, "the geometry has order %d; orders 1 to %d are known", input->order,
             MESH_MAX_ORDER);
    if (input->n_cells < 1) FAIL(FACET_ERROR_INPUT, "the mesh has no cells of dimension %d", input->dim);
    if (input->n_vertices > INT32_MAX || input->n_cells > MESH_MAX_CELLS)
        FAIL(FACET_ERROR_INPUT,
             "%lld cells and %lld vertices are too many: at most %d cells fit 32-bit numbers",
             (long long)input->n_cells, (long long)input->n_vertices, MESH_MAX_CELLS);
    if (input->vertex_offsets[0] != 0 || input->node_offsets[0] != 0)
        FAIL(FACET_ERROR_INPUT, "the offsets of the first cell are not zero");
    base_collector_init(&failures);
#pragma omp parallel for num_threads(base_threads_for(input->n_cells)) schedule(static)
    for (int64_t cell = 0; cell < input->n_cells; cell++) {
        facet_status form = check_cell_form(input, cell);
        if (form != FACET_OK) base_collect(&failures, cell, form);
    }
    TRY(base_collected(&failures));
    for (int g = 0; g < input->n_groups; g++) {
        const struct mesh_input_group *group = &input->groups[g];
        if (!group->name || !group->name[0]) FAIL(FACET_ERROR_INPUT, "group %d has no name", g);
        if (group->dim != input->dim && group->dim != input->dim - 1)
            FAIL(FACET_ERROR_INPUT, "group '%s' has dimension %d; cells have %d, faces %d", group->name,
                 group->dim, input->dim, input->dim - 1);
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ blocks */

/* Vertices that no cell uses (curve nodes, points of the drawing) are left out; the others keep their order.
 */
static facet_status number_vertices(struct mesh_builder *builder) {
    facet_status status = FACET_OK;
    const struct mesh_input *input = builder->input;
    TRY(ALLOC(builder->vertex_map, input->n_vertices));
    for (int64_t v = 0; v < input->n_vertices; v++) builder->vertex_map[v] = -1;
#pragma omp parallel for num_threads(base_threads_for(input->n_cells)) schedule(static)
    for (int64_t i = 0; i < input->vertex_offsets[input->n_cells]; i++) {
#pragma omp atomic write
        builder->vertex_map[input->vertices[i]] = 0;
    }
    int32_t n = 0;
    for (int64_t v = 0; v < input->n_vertices; v++)
        if (builder->vertex_map[v] == 0) builder->vertex_map[v] = n++;
    builder->mesh->n_vertices = n;
done:
    return status;
}

static facet_status allocate_block(struct mesh_block *block, int dim, int order) {
    facet_status status = FACET_OK;
    block->n_nodes = shape_n_nodes(block->shape, order);
    TRY(ALLOC(block->vertices, (int64_t)block->count * shape_n_vertices(block->shape)));
    TRY(ALLOC(block->faces, (int64_t)block->count * shape_n_faces(block->shape)));
    TRY(CALLOC(block->orientations, (int64_t)block->count * shape_n_faces(block->shape)));
    TRY(ALLOC(block->nodes, (int64_t)block->count * block->n_nodes * dim));
    TRY(CALLOC(block->affine, block->count));
done:
    return status;
}

void mesh_add_shape(enum shape shape, char *text, size_t text_bytes) {
    const size_t used = strlen(text);
    snprintf(text + used, text_bytes - used, "%s%s", used ? "+" : "", shape_name(shape));
}

/* Cells in blocks of one shape, in input order within each; simplices come first. See put_straight_first. */
static facet_status make_blocks(struct mesh_builder *builder) {
    facet_status status = FACET_OK;
    const struct mesh_input *input = builder->input;
    struct facet_mesh *mesh = builder->mesh;
    int32_t counts[SHAPE_COUNT] = {0};
    int block_of_shape[SHAPE_COUNT] = {0};
    for (int64_t c = 0; c < input->n_cells; c++) counts[input->shapes[c]]++;
    mesh->n_cells = (int32_t)input->n_cells;
    int32_t first = 0;
    for (int s = 0; s < SHAPE_COUNT; s++) {
        if (counts[s] == 0) continue;
        struct mesh_block *block = &mesh->blocks[mesh->n_blocks];
        *block = (struct mesh_block){.shape = (enum shape)s, .first = first, .count = counts[s]};
        block_of_shape[s] = mesh->n_blocks++;
        first += counts[s];
        TRY(allocate_block(block, mesh->dim, mesh->order));
        mesh_add_shape(block->shape, mesh->shape_text, sizeof mesh->shape_text);
    }
    TRY(ALLOC(builder->mesh_cell, input->n_cells));
    TRY(ALLOC(builder->input_cell, input->n_cells));
    int32_t filled[MESH_MAX_BLOCKS] = {0};
    for (int64_t c = 0; c < input->n_cells; c++)
        builder->mesh_cell[c] = filled[block_of_shape[input->shapes[c]]]++;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t c = 0; c < input->n_cells; c++) {
        struct mesh_block *block = &mesh->blocks[block_of_shape[input->shapes[c]]];
        int32_t i = builder->mesh_cell[c];
        int n_vertices = shape_n_vertices(block->shape);
        for (int v = 0; v < n_vertices; v++)
            block->vertices[(int64_t)i * n_vertices + v] =
                builder->vertex_map[input->vertices[input->vertex_offsets[c] + v]];
        int64_t n = (int64_t)block->n_nodes * mesh->dim;
        memcpy(block->nodes + i * n, input->nodes + input->node_offsets[c] * mesh->dim,
               (size_t)n * sizeof(double));
        builder->mesh_cell[c] = block->first + i;
        builder->input_cell[block->first + i] = c;
    }
done:
    return status;
}

/* The items of a block's cells (size bytes each), from[i] being the cell that comes to place i. */
static facet_status move_items(void *items, int32_t count, size_t size, const int32_t *from) {
    char *old = NULL;
    facet_status status = ALLOC(old, (size_t)count * size);
    if (status != FACET_OK) return status;
    memcpy(old, items, (size_t)count * size);
    for (int32_t i = 0; i < count; i++)
        memcpy((char *)items + (size_t)i * size, old + (size_t)from[i] * size, size);
    base_free(&old);
    return FACET_OK;
}

/* Affine cells of every block first, both kinds in their order. After the cells were checked, before anything
 * else knows their numbers. */
static facet_status put_straight_first(struct mesh_builder *builder) {
    facet_status status = FACET_OK;
    struct facet_mesh *mesh = builder->mesh;
    int32_t *from = NULL;
    for (int b = 0; b < mesh->n_blocks; b++) {
        struct mesh_block *block = &mesh->blocks[b];
        int32_t straight = 0, others;
        for (int32_t i = 0; i < block->count; i++) straight += block->affine[i] != 0;
        if (straight == 0 || straight == block->count) continue;
        base_free(&from);
        TRY(ALLOC(from, block->count));
        others = straight;
        straight = 0;
        for (int32_t i = 0; i < block->count; i++) from[block->affine[i] ? straight++ : others++] = i;
        TRY(move_items(block->vertices, block->count,
                       (size_t)shape_n_vertices(block->shape) * sizeof *block->vertices, from));
        TRY(move_items(block->nodes, block->count,
                       (size_t)(block->n_nodes * mesh->dim) * sizeof *block->nodes, from));
        TRY(move_items(block->affine, block->count, sizeof *block->affine, from));
        TRY(move_items(builder->is_bad + block->first, block->count, sizeof *builder->is_bad, from));
        TRY(move_items(builder->input_cell + block->first, block->count, sizeof *builder->input_cell, from));
        for (int32_t i = block->first; i < block->first + block->count; i++)
            builder->mesh_cell[builder->input_cell[i]] = i;
    }
done:
    base_free(&from);
    return status;
}

/* ------------------------------------------------------------------------------------------ create and
 * destroy */

static void builder_free(struct mesh_builder *builder) {
    base_free(&builder->input_cell);
    base_free(&builder->mesh_cell);
    base_free(&builder->vertex_map);
    base_free(&builder->is_bad);
    tuple_set_free(&builder->raw);
    base_free(&builder->raw_cells);
    base_free(&builder->raw_locals);
    base_free(&builder->raw_pair);
    base_free(&builder->face_of_raw);
    base_free(&builder->raw_of_face);
    base_free(&builder->face_seam);
}

facet_status mesh_create(const struct mesh_input *input, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct mesh_builder *builder = NULL;
    *mesh = NULL;
    TRY(check_form(input));
    TRY(CALLOC(builder, 1));
    TRY(mesh_alloc(&builder->mesh));
    builder->input = input;
    builder->mesh->dim = input->dim;
    builder->mesh->order = input->order;
    builder->mesh->has_pairs = input->n_periodic > 0;
    TRY(number_vertices(builder));
    TRY(make_blocks(builder));
    TRY(base_look());
    TRY(mesh_check_cells(builder));
    TRY(base_look());
    if (input->straight_first) TRY(put_straight_first(builder));
    TRY(mesh_build_topology(builder));
    TRY(base_look());
    TRY(mesh_build_groups(builder));
    if (!input->conforming) TRY(mesh_check_conformity(builder));
    TRY(issues_status(&builder->issues));
    TRY(base_look());
    atomic_init(&builder->mesh->late->has_lists, 1);
    for (int64_t c = 0; input->numbers != NULL && c < input->n_cells; c++)
        input->numbers[c] = builder->mesh_cell[c];
    *mesh = builder->mesh;
    builder->mesh = NULL;
done:
    if (builder) {
        builder_free(builder);
        mesh_destroy(&builder->mesh);
        base_free(&builder);
    }
    return status;
}

facet_status mesh_alloc(struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    TRY(CALLOC(*mesh, 1));
    TRY(CALLOC((*mesh)->late, 1));
    (*mesh)->late->mesh = *mesh;
    pthread_mutex_init(&(*mesh)->late->making, NULL);
done:
    return status;
}

void mesh_destroy(struct facet_mesh **mesh) {
    struct facet_mesh *m = *mesh;
    if (!m) return;
    mesh_destroy(&m->coarse);
    mesh_part_destroy(&m->part);
    for (int b = 0; b < m->n_blocks; b++) {
        base_free(&m->blocks[b].vertices);
        base_free(&m->blocks[b].faces);
        base_free(&m->blocks[b].orientations);
        base_free(&m->blocks[b].nodes);
        base_free(&m->blocks[b].affine);
    }
    base_free(&m->face_cells);
    base_free(&m->face_locals);
    base_free(&m->face_shapes);
    for (int g = 0; g < m->n_groups; g++) {
        base_free(&m->groups[g].name);
        base_free(&m->groups[g].ids);
    }
    base_free(&m->groups);
    if (m->late != NULL) pthread_mutex_destroy(&m->late->making);
    base_free(&m->late);
    for (int d = 0; d < 3; d++) {
        base_free(&m->box.coordinates[d]);
        base_free(&m->cut.coordinates[d]);
    }
    base_free(mesh);
}

const struct mesh_block *mesh_block_of(const struct facet_mesh *mesh, int32_t cell) {
    return &mesh->blocks[mesh_block_index(mesh, cell)];
}

/* ------------------------------------------------------------------------------------------ units */

/* Squares of volumes must not overflow. */
#define LARGEST_SCALED 1e40

static void scale_numbers(int64_t n, double factor, double *numbers) {
    for (int64_t i = 0; numbers != NULL && i < n; i++) numbers[i] *= factor;
}

static void scale_box(struct mesh_box *box, double factor) {
    for (int d = 0; d < 3; d++)
        if (box->coordinates[d] != NULL) scale_numbers(box->cells[d] + 1, factor, box->coordinates[d]);
}

facet_status mesh_scale(struct facet_mesh *mesh, double factor) {
    struct mesh_quality size;
    if (!(factor > 0.0) || !isfinite(factor))
        return base_fail(FACET_ERROR_INPUT, "the scale of a mesh must be positive and finite, not %g",
                         factor);
    facet_status status = mesh_measure_size(mesh, &size);
    if (status != FACET_OK) return status;
    double largest = 0.0, least = pow(size.volume, 1.0 / mesh->dim) * factor;
    for (int d = 0; d < mesh->dim; d++)
        largest = fmax(largest, fmax(fabs(size.lower[d]), fabs(size.upper[d])) * factor);
    if (!(largest < LARGEST_SCALED) || !(least > 1.0 / LARGEST_SCALED))
        return base_fail(FACET_ERROR_INPUT, "times %g the mesh is beyond double precision", factor);
    for (struct facet_mesh *m = mesh; m != NULL; m = m->coarse) {
        scale_box(&m->box, factor);
        scale_box(&m->cut, factor);
        for (int b = 0; b < m->n_blocks; b++)
            scale_numbers((int64_t)m->blocks[b].count * m->blocks[b].n_nodes * m->dim, factor,
                          m->blocks[b].nodes);
        m->n_scalings++;
    }
    return FACET_OK;
}
