/* The Gmsh reader: the cells of a parsed file in the lattice order and at the order of the mesh, its vertices
 * numbered without gaps, its physical groups by name. Begin reading at mesh_read_gmsh_as. */
#include "mesh/gmsh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "mesh/mesh_internal.h"
#include "poly/basis.h"

/* How the nodes of an element type become the lattice nodes of a cell. */
struct element_map {
    int *lattice; /* by Gmsh's node number; NULL: type not used */
    double
        *elevate; /* lattice of the mesh order x lattice of the type's order; NULL when they are the same */
};

struct assembly {
    const struct gmsh_file *file;
    int dim, order;
    int64_t n_cells;
    int32_t *cell_of;   /* by element; -1 for elements that are no cells */
    int32_t *vertex_of; /* by node; -1 for nodes that are no vertices */
    struct element_map maps[GMSH_MAX_TYPE + 1];
    /* for the mesh_input, by cell */
    int64_t n_vertices;
    uint8_t *shapes;
    int64_t *vertex_offsets, *node_offsets, *names;
    int32_t *vertices;
    double *nodes;
    struct gmsh_group_set groups;
    struct gmsh_pairs pairs;
};

static void assembly_free(struct assembly *a) {
    base_free(&a->cell_of);
    base_free(&a->vertex_of);
    for (int type = 0; type <= GMSH_MAX_TYPE; type++) {
        base_free(&a->maps[type].lattice);
        base_free(&a->maps[type].elevate);
    }
    base_free(&a->shapes);
    base_free(&a->vertex_offsets);
    base_free(&a->node_offsets);
    base_free(&a->names);
    base_free(&a->vertices);
    base_free(&a->nodes);
    gmsh_group_set_free(&a->groups);
    base_free(&a->pairs.vertices);
}

static const struct gmsh_type *cell_type(const struct assembly *a, const struct gmsh_run *run) {
    const struct gmsh_type *type = gmsh_find_type(run->type);
    return run->count > 0 && !run->is_ghost && shape_dim((enum shape)type->family) == a->dim ? type : NULL;
}

/* ---------------------------------------------------------------------------------------- dimension, cells,
 * vertices */

static facet_status choose_dimension(struct assembly *a) {
    const struct gmsh_file *file = a->file;
    for (int64_t r = 0; r < file->n_runs.count; r++) {
        const struct gmsh_type *type = gmsh_find_type(file->runs[r].type);
        int dim = shape_dim((enum shape)type->family);
        if (file->runs[r].count == 0 || dim < a->dim) continue;
        if (dim > a->dim) a->order = 0;
        a->dim = dim;
        if (type->order > a->order) a->order = type->order;
    }
    if (a->dim >= 2) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT,
                     "the file has no cells (triangles, quads, tets, hexahedra, prisms, pyramids): "
                     "mesh the surfaces (gmsh -2), and if "
                     "there are physical groups, put the surfaces in one");
}

/* A file of version 2.2 repeats a cell for each of its physical groups: the same vertices are the same cell.
 */
static facet_status number_cells(struct assembly *a) {
    facet_status status = FACET_OK;
    const struct gmsh_file *file = a->file;
    struct tuple_set seen = {0};
    int64_t n = 0, *first = NULL;
    int stride = a->dim == 2 ? 4 : 8;
    for (int64_t r = 0; r < file->n_runs.count; r++)
        if (cell_type(a, &file->runs[r]) != NULL) n += file->runs[r].count;
    if (n > INT32_MAX / SHAPE_MAX_FACES) FAIL(FACET_ERROR_INPUT, "%lld cells are too many", (long long)n);
    TRY(ALLOC(a->cell_of, file->n_elements.count));
    memset(a->cell_of, 0xff, (size_t)file->n_elements.count * sizeof *a->cell_of);
    TRY(tuple_set_init(&seen, stride, n));
    TRY(ALLOC(first, n));
    TRY(ALLOC(a->names, n));
    for (int64_t r = 0; r < file->n_runs.count; r++) {
        const struct gmsh_run *run = &file->runs[r];
        const struct gmsh_type *type = cell_type(a, run);
        if (type == NULL) continue;
        for (int64_t e = 0; e < run->count; e++) {
            int32_t key[SHAPE_MAX_VERTICES];
            tuple_sort(shape_n_vertices((enum shape)type->family),
                       &file->nodes[run->first_node + e * type->n_nodes], stride, key);
            int32_t cell = tuple_set_add(&seen, key);
            if (cell == a->n_cells) {
                first[cell] = r;
                a->names[cell] = file->tags[run->first + e];
                a->n_cells++;
            } else if (file->runs[first[cell]].type != run->type)
                FAIL(FACET_ERROR_INPUT,
                     "elements %lld and %lld have the same vertices, but are of different types",
                     (long long)a->names[cell], (long long)file->tags[run->first + e]);
            a->cell_of[run->first + e] = cell;
        }
    }
done:
    tuple_set_free(&seen);
    base_free(&first);
    return status;
}

struct tagged {
    int64_t tag, node;
};

static int compare_tags(const void *one, const void *two) {
    const struct tagged *a = one, *b = two;
    return a->tag < b->tag ? -1 : a->tag > b->tag;
}

/* Vertices that two parts share have one order on both: that of their tags. */
static facet_status number_by_tags(struct assembly *a) {
    facet_status status = FACET_OK;
    struct tagged *list = NULL;
    TRY(ALLOC(list, a->file->n_nodes));
    for (int64_t i = 0; i < a->file->n_nodes; i++)
        if (a->vertex_of[i] == 0) list[a->n_vertices++] = (struct tagged){a->file->node_tags[i], i};
    if (a->n_vertices > 0) qsort(list, (size_t)a->n_vertices, sizeof *list, compare_tags);
    for (int64_t v = 0; v < a->n_vertices; v++) a->vertex_of[list[v].node] = (int32_t)v;
done:
    base_free(&list);
    return status;
}

/* Corner nodes of cells become vertices, numbered in the order of the nodes. */
static facet_status number_vertices(struct assembly *a) {
    const struct gmsh_file *file = a->file;
    facet_status status = ALLOC(a->vertex_of, file->n_nodes);
    if (status != FACET_OK) return status;
    memset(a->vertex_of, 0xff, (size_t)file->n_nodes * sizeof *a->vertex_of);
    for (int64_t r = 0; r < file->n_runs.count; r++) {
        const struct gmsh_type *type = cell_type(a, &file->runs[r]);
        if (type == NULL) continue;
        int n = shape_n_vertices((enum shape)type->family);
        const int32_t *nodes = &file->nodes[file->runs[r].first_node];
        for (int64_t e = 0; e < file->runs[r].count; e++, nodes += type->n_nodes)
            for (int i = 0; i < n; i++) a->vertex_of[nodes[i]] = 0;
    }
    if (file->takes_part) return number_by_tags(a);
    for (int64_t i = 0; i < file->n_nodes; i++)
        if (a->vertex_of[i] == 0) a->vertex_of[i] = (int32_t)a->n_vertices++;
    return FACET_OK;
}

/* ---------------------------------------------------------------------------------------- plane and
 * orientation */

static facet_status check_plane(const struct assembly *a) {
    const struct gmsh_file *file = a->file;
    double lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t r = 0; r < file->n_runs.count; r++) {
        const struct gmsh_type *type = cell_type(a, &file->runs[r]);
        if (type == NULL) continue;
        const int32_t *nodes = &file->nodes[file->runs[r].first_node];
        for (int64_t i = 0; i < file->runs[r].count * type->n_nodes; i++)
            for (int d = 0; d < 3; d++) {
                double x = file->x[3 * (int64_t)nodes[i] + d];
                lower[d] = x < lower[d] ? x : lower[d];
                upper[d] = x > upper[d] ? x : upper[d];
            }
    }
    double size = fmax(upper[0] - lower[0], upper[1] - lower[1]);
    if (upper[2] - lower[2] <= 1e-12 * size) return FACET_OK;
    for (int d = 0; d < 2; d++)
        if (upper[d] - lower[d] <= 1e-12 * (upper[2] - lower[2]))
            return base_fail(
                FACET_ERROR_INPUT,
                "the mesh lies in a plane of constant %c, but one of two dimensions lies in x and y: "
                "turn it (Gmsh: Rotate)",
                "xy"[d]);
    return base_fail(
        FACET_ERROR_INPUT,
        "z goes from %g to %g: a surface mesh in 3D is not supported; a 2D mesh lies in a plane of "
        "constant z. If this should be a solid: Gmsh saves only physical groups once there is one, so add a "
        "Physical Volume",
        lower[2], upper[2]);
}

/* ---------------------------------------------------------------------------------------- nodes */

static facet_status make_map(struct assembly *a, int number) {
    facet_status status = FACET_OK;
    const struct gmsh_type *type = gmsh_find_type(number);
    enum shape shape = (enum shape)type->family;
    struct element_map *map = &a->maps[number];
    double *points = NULL;
    int n = shape_n_nodes(shape, a->order), n_low = shape_n_nodes(shape, type->order);
    if (map->lattice != NULL) goto done;
    TRY(ALLOC(map->lattice, n_low));
    gmsh_lattice(shape, type->order, map->lattice);
    if (type->order == a->order) goto done;
    TRY(ALLOC(points, n * a->dim));
    shape_nodes(shape, a->order, points);
    TRY(ALLOC(map->elevate, n * n_low));
    TRY(basis_lagrange(shape, type->order, n, points, map->elevate, NULL));
done:
    base_free(&points);
    return status;
}

/* The midpoint of an 8-node quad: its serendipity functions are there -1/4 at the corners, 1/2 at the sides'
 * middles. They lie in Q2, so this completes the map exactly. */
static void complete_quad(int dim, const int *lattice, double *x) {
    for (int d = 0; d < dim; d++) {
        double sum = 0;
        for (int i = 0; i < 8; i++) sum += (i < 4 ? -0.25 : 0.5) * x[lattice[i] * dim + d];
        x[lattice[8] * dim + d] = sum;
    }
}

/* scratch: room for the lattice of the type's order. */
static void fill_nodes(const struct assembly *a, int number, const int32_t *nodes, double *scratch,
                       double *out) {
    const struct gmsh_type *type = gmsh_find_type(number);
    const struct element_map *map = &a->maps[number];
    int dim = a->dim;
    double *low = map->elevate != NULL ? scratch : out;
    for (int i = 0; i < type->n_nodes; i++)
        for (int d = 0; d < dim; d++) low[map->lattice[i] * dim + d] = a->file->x[3 * (int64_t)nodes[i] + d];
    if (number == GMSH_QUAD_8) complete_quad(dim, map->lattice, low);
    if (map->elevate == NULL) return;
    enum shape shape = (enum shape)type->family;
    int n = shape_n_nodes(shape, a->order), n_low = shape_n_nodes(shape, type->order);
    memset(out, 0, (size_t)(n * dim) * sizeof *out);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n_low; j++)
            for (int d = 0; d < dim; d++) out[i * dim + d] += map->elevate[i * n_low + j] * low[j * dim + d];
}

#define MAX_NODES 1000 /* of a hex of order MESH_MAX_ORDER */

/* A cell that is repeated was numbered at its first appearance: the numbers ascend, and `next` is the first
 * new one. */
static void fill_run(struct assembly *a, const struct gmsh_run *run, int64_t *next) {
    const struct gmsh_file *file = a->file;
    const struct gmsh_type *type = gmsh_find_type(run->type);
    enum shape shape = (enum shape)type->family;
    int n_vertices = shape_n_vertices(shape), n_nodes = shape_n_nodes(shape, a->order);
    double scratch[3 * MAX_NODES];
    for (int64_t e = 0; e < run->count; e++) {
        const int32_t *nodes = &file->nodes[run->first_node + e * type->n_nodes];
        int64_t cell = *next;
        if (a->cell_of[run->first + e] != cell) continue;
        (*next)++;
        a->shapes[cell] = (uint8_t)shape;
        a->vertex_offsets[cell + 1] = a->vertex_offsets[cell] + n_vertices;
        a->node_offsets[cell + 1] = a->node_offsets[cell] + n_nodes;
        int32_t *vertices = &a->vertices[a->vertex_offsets[cell]];
        for (int i = 0; i < n_vertices; i++) vertices[i] = a->vertex_of[nodes[i]];
        fill_nodes(a, run->type, nodes, scratch, &a->nodes[a->node_offsets[cell] * a->dim]);
    }
}

static facet_status fill_cells(struct assembly *a) {
    facet_status status = FACET_OK;
    const struct gmsh_file *file = a->file;
    int64_t n_vertices = 0, n_nodes = 0, next = 0;
    /* Repeated cells make these a little too large. */
    for (int64_t r = 0; r < file->n_runs.count; r++) {
        const struct gmsh_type *type = cell_type(a, &file->runs[r]);
        if (type == NULL) continue;
        TRY(make_map(a, file->runs[r].type));
        n_vertices += file->runs[r].count * shape_n_vertices((enum shape)type->family);
        n_nodes += file->runs[r].count * shape_n_nodes((enum shape)type->family, a->order);
    }
    TRY(ALLOC(a->shapes, a->n_cells));
    TRY(CALLOC(a->vertex_offsets, a->n_cells + 1));
    TRY(CALLOC(a->node_offsets, a->n_cells + 1));
    TRY(ALLOC(a->vertices, n_vertices));
    TRY(ALLOC(a->nodes, n_nodes * a->dim));
    for (int64_t r = 0; r < file->n_runs.count; r++)
        if (cell_type(a, &file->runs[r]) != NULL) fill_run(a, &file->runs[r], &next);
done:
    return status;
}

/* ---------------------------------------------------------------------------------------- the whole */

static struct gmsh_cells cells_of(const struct assembly *a) {
    return (struct gmsh_cells){a->dim, a->n_cells, a->n_vertices, a->shapes, a->vertex_offsets, a->vertices};
}

/* The arrays of the input belong to the assembly. */
static facet_status assemble(struct assembly *a, int join, struct mesh_input *input) {
    facet_status status = FACET_OK;
    TRY(choose_dimension(a));
    TRY(number_cells(a));
    TRY(number_vertices(a));
    if (a->dim == 2) TRY(check_plane(a));
    TRY(fill_cells(a));
    TRY(gmsh_collect_groups(a->file, a->dim, a->cell_of, a->vertex_of, &a->groups));
    const struct gmsh_cells cells = cells_of(a);
    if (join) TRY(gmsh_collect_pairs(a->file, &cells, a->vertex_of, &a->pairs));
    *input = (struct mesh_input){.dim = a->dim,
                                 .order = a->order,
                                 .n_vertices = a->n_vertices,
                                 .n_cells = a->n_cells,
                                 .shapes = a->shapes,
                                 .vertex_offsets = a->vertex_offsets,
                                 .vertices = a->vertices,
                                 .node_offsets = a->node_offsets,
                                 .nodes = a->nodes,
                                 .n_groups = a->groups.n_groups,
                                 .groups = a->groups.groups,
                                 .n_periodic = a->pairs.n.count / (2 * SHAPE_MAX_FACE_VERTICES),
                                 .periodic = a->pairs.vertices,
                                 .cell_names = a->names,
                                 .straight_first = 1};
done:
    return status;
}

static facet_status parse_bytes(const char *path, char *bytes, size_t n, struct gmsh_file *file) {
    facet_status status = FACET_OK;
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (locale == (locale_t)0) FAIL(FACET_ERROR_MACHINE, "out of memory: no \"C\" locale");
    struct gmsh_scanner scanner = {.path = path, .at = bytes, .end = bytes + n, .locale = locale};
    scanner.begin = bytes;
    TRY(gmsh_parse(&scanner, file));
done:
    if (locale != (locale_t)0) freelocale(locale);
    return status;
}

static facet_status read_bytes(const char *path, char *bytes, size_t n, int join, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct gmsh_file file = {0};
    struct assembly *a = NULL;
    struct mesh_input input;
    *mesh = NULL;
    TRY(parse_bytes(path, bytes, n, &file));
    TRY(CALLOC(a, 1));
    a->file = &file;
    status = assemble(a, join, &input);
    if (status == FACET_OK) status = mesh_create(&input, mesh);
    status = base_wrap(status, "%s", path);
done:
    if (a != NULL) assembly_free(a);
    base_free(&a);
    gmsh_file_free(&file);
    return status;
}

facet_status gmsh_read_bytes(const char *path, char *bytes, size_t n, struct facet_mesh **mesh) {
    return read_bytes(path, bytes, n, 1, mesh);
}

facet_status mesh_read_gmsh_as(const char *path, int join, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    char *bytes = NULL;
    size_t n;
    *mesh = NULL;
    if (strchr(path, '*') != NULL)
        FAIL(FACET_ERROR_INPUT,
             "%s: * stands for the numbers of parts, which the processes of facet-mpi read: mpiexec -n N",
             path);
    TRY(file_read_whole(path, &bytes, &n));
    status = read_bytes(path, bytes, n, join, mesh);
done:
    base_free(&bytes);
    return status;
}

/* ---------------------------------------------------------------------------------------- one of many files
 */

struct gmsh_reading {
    struct gmsh_file file;
    struct assembly assembly;
    char *bytes; /* which names point into */
};

void gmsh_part_destroy(struct gmsh_part **part) {
    if (*part == NULL) return;
    struct gmsh_reading *r = (*part)->reading;
    if (r != NULL) {
        assembly_free(&r->assembly);
        gmsh_file_free(&r->file);
        base_free(&r->bytes);
        base_free(&(*part)->reading);
    }
    base_free(&(*part)->vertex_tags);
    base_free(&(*part)->points);
    base_free(&(*part)->open);
    base_free(&(*part)->is_seam);
    base_free(part);
}

/* The one that all its cells are in. */
static facet_status find_part(const struct assembly *a, int *part) {
    *part = 0;
    for (int64_t r = 0; r < a->file->n_runs.count; r++) {
        const struct gmsh_run *run = &a->file->runs[r];
        if (cell_type(a, run) == NULL) continue;
        if (run->is_seam || (*part != 0 && *part != run->partition))
            return base_fail(FACET_ERROR_INPUT,
                             "the file has several parts: let Gmsh write a file for each (-part_split, "
                             "Mesh.PartitionSplitMeshFiles = 1)");
        *part = run->partition;
    }
    return FACET_OK;
}

static facet_status list_vertices(const struct assembly *a, struct gmsh_part *part) {
    facet_status status = FACET_OK;
    TRY(ALLOC(part->vertex_tags, a->n_vertices));
    TRY(ALLOC(part->points, 3 * a->n_vertices));
    for (int64_t i = 0; i < a->file->n_nodes; i++) {
        const int64_t v = a->vertex_of[i];
        if (v < 0) continue;
        part->vertex_tags[v] = a->file->node_tags[i];
        memcpy(part->points + 3 * v, a->file->x + 3 * i, 3 * sizeof *part->points);
    }
done:
    return status;
}

facet_status gmsh_part_read(const char *path, int join, struct gmsh_part **part) {
    facet_status status = FACET_OK;
    size_t n;
    TRY(CALLOC(*part, 1));
    TRY(CALLOC((*part)->reading, 1));
    struct gmsh_reading *r = (*part)->reading;
    struct assembly *a = &r->assembly;
    a->file = &r->file;
    r->file.takes_part = 1;
    TRY(file_read_whole(path, &r->bytes, &n));
    TRY(parse_bytes(path, r->bytes, n, &r->file));
    (*part)->n_parts = r->file.n_parts;
    status = base_wrap(assemble(a, 0, &(*part)->input), "%s", path);
    if (status == FACET_OK) status = base_wrap(find_part(a, &(*part)->part), "%s", path);
    if (status != FACET_OK) goto done;
    for (int64_t i = 0; join && i < r->file.n_links; i++)
        if (r->file.links[i].dim == a->dim - 1)
            FAIL(FACET_ERROR_INPUT,
                 "%s: sides that $Periodic joins are not supported in parts; give facet-mpi the whole mesh",
                 path);
    TRY(list_vertices(a, *part));
    const struct gmsh_cells cells = cells_of(a);
    status = base_wrap(gmsh_part_open(&r->file, &cells, a->vertex_of, *part), "%s", path);
done:
    if (status != FACET_OK) gmsh_part_destroy(part);
    return status;
}
