/* From a mesh that one rank has to parts on all: the cells of a rank with their faces, groups and seam become
 * a parcel, which is sent as one run of bytes and made a mesh where it arrives. Vertices, cells and faces
 * keep their order, and seam faces the frame they have in the whole. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "dist/parts.h"

/* ------------------------------------------------------------------------------------------ parcels */

/* What struct mesh_input and struct part_input need. */
enum {
    N_DIM,
    N_ORDER,
    N_CELLS,
    N_VERTICES,
    N_CELL_VERTICES,
    N_CELL_NODES, /* x dim doubles */
    N_GROUPS,
    N_NAMES, /* bytes */
    N_GROUP_CELLS,
    N_GROUP_FACES,
    N_PERIODIC,
    N_SEAM,
    N_NEIGHBOURS,
    N_SHARED,
    N_TURNED, /* whether sides of the whole are joined by a rotation */
    N_COUNTS
};
struct parcel {
    int64_t n[N_COUNTS];
    char *bytes; /* all arrays, one after the other */
    int64_t n_bytes;
    int64_t *vertex_offsets, *node_offsets, *cell_numbers, *group_counts, *group_cells;
    struct team_key *keys;
    double *nodes;
    int32_t *vertices, *group_dims, *group_vertices, *periodic, *seam, *ranks, *counts, *shared;
    uint8_t *shapes;
    char *names;
};

enum { N_ARRAYS = 17 };
struct array {
    void *address; /* of the member */
    int64_t count;
    size_t size;
};

static void list_arrays(struct parcel *p, struct array arrays[N_ARRAYS]) {
    const int64_t *n = p->n, corners = SHAPE_MAX_FACE_VERTICES;
    const struct array all[N_ARRAYS] = {
        {&p->vertex_offsets, n[N_CELLS] + 1, 8},
        {&p->node_offsets, n[N_CELLS] + 1, 8},
        {&p->cell_numbers, n[N_CELLS], 8},
        {&p->group_counts, n[N_GROUPS], 8},
        {&p->group_cells, n[N_GROUP_CELLS], 8},
        {&p->keys, n[N_SHARED], sizeof *p->keys},
        {&p->nodes, n[N_CELL_NODES] * n[N_DIM], 8},
        {&p->vertices, n[N_CELL_VERTICES], 4},
        {&p->group_dims, n[N_GROUPS], 4},
        {&p->group_vertices, corners * n[N_GROUP_FACES], 4},
        {&p->periodic, 2 * corners * n[N_PERIODIC], 4},
        {&p->seam, corners * n[N_SEAM], 4},
        {&p->ranks, n[N_NEIGHBOURS], 4},
        {&p->counts, n[N_NEIGHBOURS], 4},
        {&p->shared, n[N_SHARED], 4},
        {&p->shapes, n[N_CELLS], 1},
        {&p->names, n[N_NAMES], 1},
    };
    memcpy(arrays, all, sizeof all);
}

/* Room for all arrays, once the counts are known. */
static facet_status parcel_allocate(struct parcel *p) {
    facet_status status = FACET_OK;
    struct array arrays[N_ARRAYS];
    list_arrays(p, arrays);
    p->n_bytes = 0;
    for (int i = 0; i < N_ARRAYS; i++) p->n_bytes += (arrays[i].count * (int64_t)arrays[i].size + 7) / 8 * 8;
    TRY(CALLOC(p->bytes, p->n_bytes));
    char *at = p->bytes;
    for (int i = 0; i < N_ARRAYS; i++) {
        *(void **)arrays[i].address = at;
        at += (arrays[i].count * (int64_t)arrays[i].size + 7) / 8 * 8;
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ packing */

/* What is known of the whole mesh while its parts are packed. */
struct packer {
    const struct facet_mesh *mesh;
    const int32_t *ranks;
    int is_turned;
    int32_t *starts, *cells;            /* by rank: its cells, ascending */
    int32_t *face_starts, *face_groups; /* by face: its groups */
    int32_t *cell_starts, *cell_groups; /* by cell */
    uint8_t *is_shared;                 /* vertices that cells of several ranks have */
    int32_t *local_vertex, *local_cell; /* of the rank at hand; -1 */
    int32_t *used, n_used;              /* its vertices */
    int32_t *visited, n_visited;        /* 2 face + side, of all its faces, in the order of cells */
    struct crossing *seam;
    int32_t n_seam;
};
struct crossing {
    int32_t rank, face, side;
};

static void packer_free(struct packer *k) {
    base_free(&k->starts);
    base_free(&k->cells);
    base_free(&k->face_starts);
    base_free(&k->face_groups);
    base_free(&k->cell_starts);
    base_free(&k->cell_groups);
    base_free(&k->is_shared);
    base_free(&k->local_vertex);
    base_free(&k->local_cell);
    base_free(&k->used);
    base_free(&k->visited);
    base_free(&k->seam);
}

static const int32_t *cell_vertices(const struct facet_mesh *mesh, int32_t cell, int *n) {
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    *n = shape_n_vertices(block->shape);
    return block->vertices + (int64_t)(cell - block->first) * *n;
}

/* Which groups of a dimension each item is in. */
static facet_status invert_groups(const struct facet_mesh *mesh, int dim, int32_t n, int32_t **starts,
                                  int32_t **groups) {
    facet_status status = FACET_OK;
    TRY(CALLOC(*starts, (int64_t)n + 2));
    for (int g = 0; g < mesh->n_groups; g++)
        for (int32_t i = 0; mesh->groups[g].dim == dim && i < mesh->groups[g].count; i++)
            (*starts)[mesh->groups[g].ids[i] + 2]++;
    for (int32_t i = 0; i < n; i++) (*starts)[i + 2] += (*starts)[i + 1];
    TRY(ALLOC(*groups, (*starts)[n + 1]));
    for (int g = 0; g < mesh->n_groups; g++)
        for (int32_t i = 0; mesh->groups[g].dim == dim && i < mesh->groups[g].count; i++)
            (*groups)[(*starts)[mesh->groups[g].ids[i] + 1]++] = g;
done:
    return status;
}

static facet_status packer_create(const struct facet_mesh *mesh, const int32_t *ranks, int size,
                                  struct packer *k) {
    facet_status status = FACET_OK;
    int32_t *first_rank = NULL;
    k->mesh = mesh;
    k->ranks = ranks;
    TRY(CALLOC(k->starts, size + 2));
    TRY(ALLOC(k->cells, mesh->n_cells));
    for (int32_t f = 0; f < mesh->n_faces && !k->is_turned; f++) {
        double R[9], s[3];
        k->is_turned = mesh_face_joint(mesh, f, R, s) == MESH_TURNED;
    }
    for (int32_t c = 0; c < mesh->n_cells; c++) k->starts[ranks[c] + 2]++;
    for (int r = 0; r < size; r++) k->starts[r + 2] += k->starts[r + 1];
    for (int32_t c = 0; c < mesh->n_cells; c++) k->cells[k->starts[ranks[c] + 1]++] = c;
    TRY(invert_groups(mesh, mesh->dim, mesh->n_cells, &k->cell_starts, &k->cell_groups));
    TRY(invert_groups(mesh, mesh->dim - 1, mesh->n_faces, &k->face_starts, &k->face_groups));
    TRY(ALLOC(k->local_vertex, mesh->n_vertices));
    TRY(ALLOC(k->local_cell, mesh->n_cells));
    TRY(ALLOC(k->used, mesh->n_vertices));
    TRY(ALLOC(k->visited, mesh->n_faces));
    TRY(ALLOC(k->seam, mesh->n_faces));
    TRY(CALLOC(k->is_shared, mesh->n_vertices));
    TRY(ALLOC(first_rank, mesh->n_vertices));
    for (int32_t v = 0; v < mesh->n_vertices; v++) first_rank[v] = k->local_vertex[v] = -1;
    for (int32_t c = 0; c < mesh->n_cells; c++) {
        int n;
        const int32_t *vertices = cell_vertices(mesh, c, &n);
        for (int i = 0; i < n; i++) {
            int32_t *first = &first_rank[vertices[i]];
            if (*first >= 0 && *first != ranks[c]) k->is_shared[vertices[i]] = 1;
            *first = ranks[c];
        }
    }
done:
    base_free(&first_rank);
    return status;
}

static int compare_crossings(const void *one, const void *two) {
    const struct crossing *a = one, *b = two;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->face < b->face ? -1 : a->face > b->face;
}

/* Lists the vertices, faces and seam of a rank. */
static void visit(struct packer *k, int rank) {
    const struct facet_mesh *mesh = k->mesh;
    for (int32_t i = 0; i < k->n_used; i++) k->local_vertex[k->used[i]] = -1;
    k->n_used = k->n_visited = k->n_seam = 0;
    for (int32_t i = k->starts[rank]; i < k->starts[rank + 1]; i++) {
        const int32_t cell = k->cells[i];
        const struct mesh_block *block = mesh_block_of(mesh, cell);
        const int n_faces = shape_n_faces(block->shape);
        int n;
        const int32_t *vertices = cell_vertices(mesh, cell, &n);
        k->local_cell[cell] = i - k->starts[rank];
        for (int v = 0; v < n; v++)
            if (k->local_vertex[vertices[v]] < 0) {
                k->local_vertex[vertices[v]] = 0;
                k->used[k->n_used++] = vertices[v];
            }
        for (int f = 0; f < n_faces; f++) {
            const int32_t face = block->faces[(int64_t)(cell - block->first) * n_faces + f];
            const int32_t *sides = mesh->face_cells + 2 * (int64_t)face;
            const int side = sides[0] != cell || mesh->face_locals[2 * (int64_t)face] != f;
            const int crosses = sides[1] >= 0 && k->ranks[sides[1 - side]] != rank;
            if (side == 1 && !crosses) continue; /* its first side is here */
            k->visited[k->n_visited++] = face;
            if (crosses) k->seam[k->n_seam++] = (struct crossing){k->ranks[sides[1 - side]], face, side};
        }
    }
    base_sort(k->n_used, k->used);
    for (int32_t v = 0; v < k->n_used; v++) k->local_vertex[k->used[v]] = v;
    if (k->n_seam > 0) qsort(k->seam, (size_t)k->n_seam, sizeof *k->seam, compare_crossings);
}

/* The side of a face that is here: 1 where the first is not. */
static int side_here(const struct packer *k, int32_t face, int rank) {
    return k->ranks[k->mesh->face_cells[2 * (int64_t)face]] != rank;
}

static int is_inside(const struct packer *k, int32_t face, int rank) {
    const int32_t *cells = k->mesh->face_cells + 2 * (int64_t)face;
    return cells[1] >= 0 && k->ranks[cells[0]] == rank && k->ranks[cells[1]] == rank;
}

/* The vertices of one side of a face in the order of its frame, as the rank numbers them. */
static void put_side(const struct packer *k, int32_t face, int side, int32_t *to) {
    int32_t vertices[SHAPE_MAX_FACE_VERTICES];
    const int n = mesh_side_vertices(k->mesh, face, side, vertices, NULL);
    for (int i = 0; i < SHAPE_MAX_FACE_VERTICES; i++) to[i] = i < n ? k->local_vertex[vertices[i]] : -1;
}

static int is_periodic(const struct facet_mesh *mesh, int32_t face) {
    int32_t one[SHAPE_MAX_FACE_VERTICES], two[SHAPE_MAX_FACE_VERTICES];
    const int n = mesh_side_vertices(mesh, face, 0, one, NULL);
    mesh_side_vertices(mesh, face, 1, two, NULL);
    return memcmp(one, two, (size_t)n * sizeof *one) != 0;
}

static void count(const struct packer *k, int rank, struct parcel *p) {
    const struct facet_mesh *mesh = k->mesh;
    p->n[N_DIM] = mesh->dim;
    p->n[N_ORDER] = mesh->order;
    p->n[N_CELLS] = k->starts[rank + 1] - k->starts[rank];
    p->n[N_VERTICES] = k->n_used;
    for (int32_t i = k->starts[rank]; i < k->starts[rank + 1]; i++) {
        const struct mesh_block *block = mesh_block_of(mesh, k->cells[i]);
        p->n[N_CELL_VERTICES] += shape_n_vertices(block->shape);
        p->n[N_CELL_NODES] += block->n_nodes;
        p->n[N_GROUP_CELLS] += k->cell_starts[k->cells[i] + 1] - k->cell_starts[k->cells[i]];
    }
    p->n[N_GROUPS] = mesh->n_groups;
    for (int g = 0; g < mesh->n_groups; g++) p->n[N_NAMES] += (int64_t)strlen(mesh->groups[g].name) + 1;
    for (int32_t i = 0; i < k->n_visited; i++) {
        const int32_t face = k->visited[i];
        p->n[N_GROUP_FACES] += k->face_starts[face + 1] - k->face_starts[face];
        p->n[N_PERIODIC] += is_inside(k, face, rank) && is_periodic(mesh, face);
    }
    p->n[N_TURNED] = k->is_turned;
    p->n[N_SEAM] = k->n_seam;
    for (int32_t i = 0; i < k->n_seam; i++)
        p->n[N_NEIGHBOURS] += i == 0 || k->seam[i].rank != k->seam[i - 1].rank;
    for (int32_t i = 0; i < k->n_used; i++) p->n[N_SHARED] += k->is_shared[k->used[i]];
}

static void put_cells(const struct packer *k, int rank, struct parcel *p) {
    const struct facet_mesh *mesh = k->mesh;
    int64_t vertex = 0, node = 0, at = 0;
    for (int32_t i = k->starts[rank]; i < k->starts[rank + 1]; i++, at++) {
        const int32_t cell = k->cells[i];
        const struct mesh_block *block = mesh_block_of(mesh, cell);
        const int64_t n_nodes = block->n_nodes;
        int n;
        const int32_t *vertices = cell_vertices(mesh, cell, &n);
        p->shapes[at] = (uint8_t)block->shape;
        p->cell_numbers[at] = cell;
        for (int v = 0; v < n; v++) p->vertices[vertex++] = k->local_vertex[vertices[v]];
        memcpy(p->nodes + node * mesh->dim, block->nodes + (cell - block->first) * n_nodes * mesh->dim,
               (size_t)(n_nodes * mesh->dim) * sizeof *p->nodes);
        node += n_nodes;
        p->vertex_offsets[at + 1] = vertex;
        p->node_offsets[at + 1] = node;
    }
}

/* Groups exist on all ranks, with what of them is there. */
static facet_status put_groups(const struct packer *k, int rank, struct parcel *p) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = k->mesh;
    int64_t *next = NULL, cells = 0, faces = 0;
    char *name = p->names;
    for (int g = 0; g < mesh->n_groups; g++) {
        p->group_dims[g] = mesh->groups[g].dim;
        name += strlen(strcpy(name, mesh->groups[g].name)) + 1;
    }
    for (int32_t i = k->starts[rank]; i < k->starts[rank + 1]; i++)
        for (int32_t j = k->cell_starts[k->cells[i]]; j < k->cell_starts[k->cells[i] + 1]; j++)
            p->group_counts[k->cell_groups[j]]++;
    for (int32_t i = 0; i < k->n_visited; i++)
        for (int32_t j = k->face_starts[k->visited[i]]; j < k->face_starts[k->visited[i] + 1]; j++)
            p->group_counts[k->face_groups[j]]++;
    TRY(ALLOC(next, mesh->n_groups));
    for (int g = 0; g < mesh->n_groups; g++) {
        int64_t *all = mesh->groups[g].dim == mesh->dim ? &cells : &faces;
        next[g] = *all;
        *all += p->group_counts[g];
    }
    for (int32_t i = k->starts[rank]; i < k->starts[rank + 1]; i++)
        for (int32_t j = k->cell_starts[k->cells[i]]; j < k->cell_starts[k->cells[i] + 1]; j++)
            p->group_cells[next[k->cell_groups[j]]++] = k->local_cell[k->cells[i]];
    for (int32_t i = 0; i < k->n_visited; i++) {
        const int32_t face = k->visited[i];
        for (int32_t j = k->face_starts[face]; j < k->face_starts[face + 1]; j++)
            put_side(k, face, side_here(k, face, rank),
                     p->group_vertices + SHAPE_MAX_FACE_VERTICES * next[k->face_groups[j]]++);
    }
done:
    base_free(&next);
    return status;
}

static void put_faces(const struct packer *k, int rank, struct parcel *p) {
    int32_t *pair = p->periodic;
    int neighbour = -1;
    for (int32_t i = 0; i < k->n_visited; i++) {
        const int32_t face = k->visited[i];
        if (!is_inside(k, face, rank) || !is_periodic(k->mesh, face)) continue;
        for (int side = 0; side < 2; side++, pair += SHAPE_MAX_FACE_VERTICES) put_side(k, face, side, pair);
    }
    for (int32_t i = 0; i < k->n_seam; i++) {
        put_side(k, k->seam[i].face, k->seam[i].side, p->seam + (int64_t)i * SHAPE_MAX_FACE_VERTICES);
        if (i == 0 || k->seam[i].rank != k->seam[i - 1].rank) p->ranks[++neighbour] = k->seam[i].rank;
        p->counts[neighbour]++;
    }
}

static facet_status pack(struct packer *k, int rank, struct parcel *p) {
    facet_status status = FACET_OK;
    int64_t shared = 0;
    visit(k, rank);
    count(k, rank, p);
    TRY(parcel_allocate(p));
    put_cells(k, rank, p);
    TRY(put_groups(k, rank, p));
    put_faces(k, rank, p);
    for (int32_t i = 0; i < k->n_used; i++) {
        if (!k->is_shared[k->used[i]]) continue;
        const int64_t vertex = k->used[i];
        p->keys[shared] = team_key_of(1, &vertex);
        p->shared[shared++] = i;
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ on the way */

#define PIECE ((int64_t)1 << 28)

static facet_status pass(struct base_team *team, int other, int sends, void *bytes, int64_t n) {
    facet_status status = FACET_OK;
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t length = n - at < PIECE ? n - at : PIECE;
        struct team_message message = {.rank = other};
        void *pending = NULL;
        if (sends) {
            message.send = (const char *)bytes + at;
            message.send_bytes = length;
        } else {
            message.receive = (char *)bytes + at;
            message.receive_bytes = length;
        }
        TRY(team_exchange_begin(team, 1, &message, &pending));
        TRY(team_exchange_end(team, &pending));
    }
done:
    return status;
}

/* Rank 0 packs and sends them one after the other, its own last. */
static facet_status send_all(struct base_team *team, const struct facet_mesh *whole, const int32_t *ranks,
                             struct parcel *own) {
    facet_status status = FACET_OK;
    struct packer packer = {0};
    TRY(packer_create(whole, ranks, team->size, &packer));
    for (int r = team->size - 1; r >= 0; r--) {
        struct parcel parcel = {.n_bytes = 0};
        status = pack(&packer, r, r == 0 ? own : &parcel);
        if (status == FACET_OK && r > 0) status = pass(team, r, 1, parcel.n, sizeof parcel.n);
        if (status == FACET_OK && r > 0) status = pass(team, r, 1, parcel.bytes, parcel.n_bytes);
        base_free(&parcel.bytes);
        if (status != FACET_OK) goto done;
    }
done:
    packer_free(&packer);
    return status;
}

static facet_status receive(struct base_team *team, struct parcel *p) {
    facet_status status = FACET_OK;
    TRY(pass(team, 0, 0, p->n, sizeof p->n));
    TRY(parcel_allocate(p));
    TRY(pass(team, 0, 0, p->bytes, p->n_bytes));
done:
    return status;
}

static facet_status unpack(struct base_team *team, const struct parcel *p, struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct mesh_input_group *groups = NULL;
    int32_t *faces = NULL;
    const char *name = p->names;
    int64_t cells = 0, group_faces = 0;
    TRY(CALLOC(groups, p->n[N_GROUPS]));
    TRY(ALLOC(faces, p->n[N_SEAM]));
    for (int g = 0; g < p->n[N_GROUPS]; g++, name += strlen(name) + 1) {
        groups[g] =
            (struct mesh_input_group){.name = name, .dim = p->group_dims[g], .count = p->group_counts[g]};
        if (groups[g].dim == p->n[N_DIM]) {
            groups[g].cells = p->group_cells + cells;
            cells += groups[g].count;
        } else {
            groups[g].vertices = p->group_vertices + SHAPE_MAX_FACE_VERTICES * group_faces;
            group_faces += groups[g].count;
        }
    }
    const struct mesh_input input = {.dim = (int)p->n[N_DIM],
                                     .order = (int)p->n[N_ORDER],
                                     .n_vertices = p->n[N_VERTICES],
                                     .n_cells = p->n[N_CELLS],
                                     .shapes = p->shapes,
                                     .vertex_offsets = p->vertex_offsets,
                                     .vertices = p->vertices,
                                     .node_offsets = p->node_offsets,
                                     .nodes = p->nodes,
                                     .n_groups = (int)p->n[N_GROUPS],
                                     .groups = groups,
                                     .n_periodic = p->n[N_PERIODIC],
                                     .periodic = p->periodic,
                                     .n_seam = p->n[N_SEAM],
                                     .seam = p->seam,
                                     .seam_faces = faces,
                                     .conforming = 1};
    const struct part_input part = {.team = team,
                                    .cell_numbers = p->cell_numbers,
                                    .is_turned = (int)p->n[N_TURNED],
                                    .n_neighbours = (int)p->n[N_NEIGHBOURS],
                                    .ranks = p->ranks,
                                    .counts = p->counts,
                                    .faces = faces,
                                    .n_shared = (int32_t)p->n[N_SHARED],
                                    .shared = p->shared,
                                    .keys = p->keys};
    TRY(mesh_create(&input, mesh));
    TRY(mesh_part_create(*mesh, &part));
done:
    base_free(&groups);
    base_free(&faces);
    if (status != FACET_OK) mesh_destroy(mesh);
    return status;
}

facet_status part_distribute(struct base_team *team, const struct facet_mesh *whole, const int32_t *ranks,
                             struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct parcel parcel = {.n_bytes = 0};
    struct base_team *with_cells = NULL;
    int64_t used = 0;
    *mesh = NULL;
    for (int32_t c = 0; whole != NULL && c < whole->n_cells; c++)
        used = ranks[c] >= used ? ranks[c] + 1 : used;
    TRY(team_broadcast(team, 0, &used, sizeof used));
    TRY(team_first(team, (int)used, &with_cells));
    if (with_cells == NULL) goto done;
    if (with_cells->rank == 0)
        TRY(send_all(with_cells, whole, ranks, &parcel));
    else
        TRY(receive(with_cells, &parcel));
    TRY(unpack(with_cells, &parcel, mesh));
done:
    base_free(&parcel.bytes);
    return status;
}
