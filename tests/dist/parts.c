/* The parts of meshes against the whole: counts, numbers, frames of seam faces, vertices that several ranks
 * have, and the levels below. Boxes of all shapes, periodic ones, and Gmsh files, refined or not. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "dist/parts.h"
#include "mesh/nesting.h"
#include "mpi_helpers.h"

#define MOST_ROW 16
/* Gmsh moves the nodes of a side that repeats another by a map that it has to about ten digits. */
#define JOINED 1e-9

/* `row` numbers for each item that a rank shares with a neighbour, and those of the neighbour beside them. */
static void swap_rows(const struct mesh_part *part, const struct team_neighbour *to, int row,
                      const double *own, double *theirs) {
    const int64_t bytes = (int64_t)to->count * row * (int64_t)sizeof *own;
    struct team_message message = {to->rank, own, bytes, theirs, bytes};
    void *pending = NULL;
    OK(team_exchange_begin(part->team, 1, &message, &pending));
    OK(team_exchange_end(part->team, &pending));
}

static const double *vertex_place(const struct facet_mesh *mesh, int32_t vertex) {
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        const int n = shape_n_vertices(block->shape);
        for (int64_t k = 0; k < (int64_t)block->count * n; k++)
            if (block->vertices[k] == vertex)
                return block->nodes +
                       (k / n * block->n_nodes + shape_vertex_node(block->shape, mesh->order, (int)(k % n))) *
                           mesh->dim;
    }
    CHECK(0, "vertex %d of no cell", vertex);
    return NULL;
}

/* The face's number, whether it is owned, and its vertices in the order of the frame, less the first: a
 * translation may lie between both copies. */
static void face_row(const struct facet_mesh *mesh, int32_t face, double *row) {
    int32_t vertices[SHAPE_MAX_FACE_VERTICES];
    const int n = mesh_side_vertices(mesh, face, 0, vertices, NULL), dim = mesh->dim;
    memset(row, 0, MOST_ROW * sizeof *row);
    row[0] = (double)mesh->part->face_numbers[face];
    row[1] = mesh->part->owns_face[face];
    for (int i = 1; i < n; i++)
        for (int a = 0; a < dim; a++)
            row[1 + (i - 1) * dim + a + 1] =
                vertex_place(mesh, vertices[i])[a] - vertex_place(mesh, vertices[0])[a];
}

static void check_seam(const struct facet_mesh *mesh, int is_turned) {
    const struct mesh_part *part = mesh->part;
    int32_t n_seam = 0, n_boundary = 0;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        n_seam += mesh->face_cells[2 * (int64_t)f + 1] == MESH_SEAM;
        n_boundary += mesh->face_cells[2 * (int64_t)f + 1] == MESH_BOUNDARY;
    }
    CHECK(n_seam == part->n_seam_faces && n_boundary == mesh->n_boundary_faces, "%d of %d, %d of %d", n_seam,
          part->n_seam_faces, n_boundary, mesh->n_boundary_faces);
    for (int i = 0; i < part->n_neighbours; i++) {
        const struct team_neighbour *to = &part->neighbours[i];
        double *own = calloc((size_t)to->count * MOST_ROW, sizeof *own),
               *theirs = calloc((size_t)to->count * MOST_ROW, sizeof *own);
        CHECK(i == 0 || to->rank > part->neighbours[i - 1].rank, "the ranks are not sorted");
        for (int32_t k = 0; k < to->count; k++) {
            CHECK(mesh->face_cells[2 * (int64_t)to->items[k] + 1] == MESH_SEAM, "face %d", to->items[k]);
            face_row(mesh, to->items[k], own + (size_t)k * MOST_ROW);
        }
        swap_rows(part, to, MOST_ROW, own, theirs);
        for (int32_t k = 0; k < to->count; k++) {
            const double *a = own + (size_t)k * MOST_ROW, *b = theirs + (size_t)k * MOST_ROW;
            CHECK(a[0] == b[0] && a[1] + b[1] == 1.0, "face %d has the numbers %g and %g", to->items[k], a[0],
                  b[0]);
            for (int j = 2; j < MOST_ROW && !is_turned; j++)
                CHECK(fabs(a[j] - b[j]) < JOINED, "the frames of face %d differ: %g and %g", to->items[k],
                      a[j], b[j]);
        }
        free(own);
        free(theirs);
    }
}

/* Places of shared vertices, and the order of their local numbers. */
static void check_vertices(const struct facet_mesh *mesh) {
    const struct mesh_part *part = mesh->part;
    for (int i = 0; i < part->n_vertex_neighbours; i++) {
        const struct team_neighbour *to = &part->vertex_neighbours[i];
        double *own = calloc((size_t)to->count * 5, sizeof *own),
               *theirs = calloc((size_t)to->count * 5, sizeof *own);
        for (int32_t k = 0; k < to->count; k++) {
            const double *x = vertex_place(mesh, to->items[k]);
            for (int a = 0; a < mesh->dim; a++) own[5 * k + a] = x[a];
            own[5 * k + 3] = (double)part->vertex_numbers[to->items[k]];
            own[5 * k + 4] = to->items[k];
            CHECK(k == 0 || own[5 * k + 3] > own[5 * k - 2], "the vertices are not sorted");
        }
        swap_rows(part, to, 5, own, theirs);
        for (int32_t k = 0; k < to->count; k++) {
            for (int a = 0; a < 4; a++)
                CHECK(fabs(own[5 * k + a] - theirs[5 * k + a]) < 1e-12, "vertex %d is another one there",
                      to->items[k]);
            for (int32_t j = 0; j < k; j++)
                CHECK((own[5 * k + 4] > own[5 * j + 4]) == (theirs[5 * k + 4] > theirs[5 * j + 4]),
                      "the order of vertices differs");
        }
        free(own);
        free(theirs);
    }
}

/* Each number of the whole once, and the cells where they are there. */
static void check_cells(const struct facet_mesh *mesh, const struct facet_mesh *whole, int same_order) {
    const struct mesh_part *part = mesh->part;
    int64_t *seen = calloc((size_t)part->n_cells, sizeof *seen);
    for (int32_t c = 0; c < mesh->n_cells; c++) {
        const int64_t number = part->cell_numbers[c];
        CHECK(number >= 0 && number < part->n_cells, "cell number %lld", (long long)number);
        seen[number]++;
        if (!same_order) continue;
        const struct mesh_block *here = mesh_block_of(mesh, c),
                                *there = mesh_block_of(whole, (int32_t)number);
        CHECK(here->shape == there->shape, "cell %lld has another shape", (long long)number);
        for (int i = 0; i < here->n_nodes * mesh->dim; i++)
            CHECK(fabs(here->nodes[(int64_t)(c - here->first) * here->n_nodes * mesh->dim + i] -
                       there->nodes[(number - there->first) * there->n_nodes * mesh->dim + i]) < 1e-12,
                  "cell %lld lies elsewhere", (long long)number);
    }
    OK(team_reduce_counts(part->team, TEAM_SUM, (int)part->n_cells, seen));
    for (int64_t i = 0; i < part->n_cells; i++)
        CHECK(seen[i] == 1, "%lld cells are number %lld", (long long)seen[i], (long long)i);
    free(seen);
}

/* Groups: as many cells and faces in all parts together as in the whole. */
static void check_groups(const struct facet_mesh *mesh, const struct facet_mesh *whole) {
    CHECK(mesh->n_groups == whole->n_groups, "%d groups", mesh->n_groups);
    for (int g = 0; g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        int64_t n;
        OK(mesh_count_group(mesh, group, &n));
        CHECK(strcmp(group->name, whole->groups[g].name) == 0 && n == whole->groups[g].count,
              "%s has %lld, not %d", group->name, (long long)n, whole->groups[g].count);
    }
}

/* All parts lie in those of the coarser mesh where the whole does; boxes of whose levels nothing is kept do.
 */
static void check_levels(const struct facet_mesh *mesh, const struct facet_mesh *whole) {
    for (; mesh->coarse != NULL; mesh = mesh->coarse) {
        struct mesh_nesting nesting;
        int nested, expected = 1;
        CHECK(mesh->part->coarse == mesh->coarse->part && mesh->part->coarse->mesh == mesh->coarse,
              "the levels are not linked");
        if (whole->coarse != NULL) {
            OK(mesh_nest(whole, whole->coarse, &nesting, &expected));
            mesh_nesting_destroy(&nesting);
            whole = whole->coarse;
        }
        OK(mesh_nest(mesh, mesh->coarse, &nesting, &nested));
        CHECK(nested || !expected, "a mesh of %d cells in one of %d: nested %d", mesh->n_cells,
              mesh->coarse->n_cells, nested);
        mesh_nesting_destroy(&nesting);
    }
}

static void check_part(const struct facet_mesh *mesh, const struct facet_mesh *whole, int same_order) {
    const struct mesh_counts counts = mesh_count(mesh), wanted = mesh_count(whole);
    struct mesh_quality here, there;
    OK(mesh_need_lists(whole));
    CHECK(counts.cells == wanted.cells && counts.faces == wanted.faces &&
              counts.vertices == wanted.vertices && counts.boundary_faces == wanted.boundary_faces &&
              strcmp(counts.shape_text, wanted.shape_text) == 0,
          "%lld cells, %lld faces (%lld), %lld vertices, %s instead of %lld, %lld (%lld), %lld, %s",
          (long long)counts.cells, (long long)counts.faces, (long long)counts.boundary_faces,
          (long long)counts.vertices, counts.shape_text, (long long)wanted.cells, (long long)wanted.faces,
          (long long)wanted.boundary_faces, (long long)wanted.vertices, wanted.shape_text);
    check_cells(mesh, whole, same_order);
    check_seam(mesh, mesh->part->is_turned);
    check_vertices(mesh);
    check_groups(mesh, whole);
    OK(mesh_measure_quality(mesh, &here));
    OK(mesh_measure_quality(whole, &there));
    CHECK(fabs(here.volume - there.volume) < 1e-12 * there.volume, "the volume is %g, not %g", here.volume,
          there.volume);
    check_levels(mesh, whole);
}

static void check_box(struct base_team *team, const facet_box *box, int refine) {
    struct facet_mesh *mesh = NULL, *whole = NULL;
    OK(part_create_box(team, box, &mesh));
    if (mesh != NULL) {
        OK(mesh_create_box(box, &whole));
        OK(mesh_refine_keeping(mesh, refine));
        OK(mesh_refine_keeping(whole, refine));
        check_part(mesh, whole, refine == 0);
    }
    mesh_destroy(&mesh);
    mesh_destroy(&whole);
}

static void check_file(struct base_team *team, const char *path, int refine) {
    struct facet_mesh *mesh = NULL, *whole = NULL;
    OK(part_read_gmsh(team, path, 1, &mesh));
    if (mesh != NULL) {
        OK(mesh_read_gmsh(path, &whole));
        OK(mesh_refine_keeping(mesh, refine));
        OK(mesh_refine_keeping(whole, refine));
        check_part(mesh, whole, 1);
    }
    mesh_destroy(&mesh);
    mesh_destroy(&whole);
}

int main(int argc, char **argv) {
    struct dist_comm *comm = mpi_begin(&argc, &argv, 60);
    struct base_team *team = &comm->team;
    static double graded[] = {0, 0.1, 0.3, 0.6, 1, 1.2, 1.9, 2, 2.5};
    static const struct {
        facet_box box;
        int refine;
    } boxes[] = {
        {{.dim = 2, .upper = {1, 1}, .cells = {8, 8}, .shape = "quad"}, 1},
        {{.dim = 2, .upper = {2, 1}, .cells = {7, 3}, .shape = "triangle", .split = "alternating"}, 1},
        {{.dim = 2, .upper = {1, 1}, .cells = {4, 4}, .shape = "triangle", .periodic = {1, 1}}, 1},
        {{.dim = 2, .upper = {1, 1}, .cells = {2, 2}, .shape = "triangle", .periodic = {0, 1}}, 0},
        {{.dim = 2, .upper = {0, 1}, .cells = {8, 4}, .shape = "quad", .coordinates = {graded}}, 0},
        {{.dim = 3, .upper = {1, 1, 1}, .cells = {4, 4, 4}, .shape = "hex", .periodic = {1}}, 1},
        {{.dim = 3, .upper = {1, 1, 1}, .cells = {4, 2, 2}, .shape = "tet"}, 1},
        {{.dim = 3, .upper = {1, 1, 1}, .cells = {4, 2, 3}, .shape = "tet", .split = "five", .periodic = {1}},
         0},
        {{.dim = 3, .upper = {1, 1, 1}, .cells = {2, 3, 2}, .shape = "prism", .periodic = {0, 0, 1}}, 1},
        {{.dim = 2, .upper = {1, 1}, .cells = {2, 1}, .shape = "quad"}, 1}, /* fewer than ranks */
    };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        for (int refine = 0; refine <= boxes[i].refine; refine++) check_box(team, &boxes[i].box, refine);
    for (int i = 1; i < argc; i++)
        for (int refine = 0; refine < 2; refine++) check_file(team, argv[i], refine);
    return mpi_end(&comm);
}
