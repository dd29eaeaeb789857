/* The $Nodes of a Gmsh file, and the map from node tags to node numbers. */
#include <limits.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/gmsh.h"

void gmsh_tag_map_free(struct gmsh_tag_map *map) {
    base_free(&map->dense);
    base_free(&map->keys);
    base_free(&map->values);
}

static inline int64_t first_slot(const struct gmsh_tag_map *map, int64_t tag) {
    uint64_t h = (uint64_t)tag * UINT64_C(0x9e3779b97f4a7c15);
    return (int64_t)((h ^ h >> 32) & (uint64_t)map->mask);
}

int32_t gmsh_tag_find(const struct gmsh_tag_map *map, int64_t tag) {
    if (map->dense != NULL) {
        uint64_t i = (uint64_t)tag - (uint64_t)map->lowest;
        return i < (uint64_t)map->n_dense ? map->dense[i] : -1;
    }
    if (map->keys == NULL) return -1;
    for (int64_t slot = first_slot(map, tag); map->values[slot] >= 0; slot = (slot + 1) & map->mask)
        if (map->keys[slot] == tag) return map->values[slot];
    return -1;
}

static facet_status create_dense(int64_t n, const int64_t *tags, struct gmsh_tag_map *map, int64_t *twice) {
    facet_status status = ALLOC(map->dense, map->n_dense);
    if (status != FACET_OK) return status;
    memset(map->dense, 0xff, (size_t)map->n_dense * sizeof *map->dense);
    for (int64_t i = 0; i < n; i++) {
        int32_t *entry = &map->dense[tags[i] - map->lowest];
        if (*entry >= 0 && *twice < 0) *twice = i;
        *entry = (int32_t)i;
    }
    return FACET_OK;
}

static facet_status create_hash(int64_t n, const int64_t *tags, struct gmsh_tag_map *map, int64_t *twice) {
    facet_status status = FACET_OK;
    int64_t capacity = 16;
    while (capacity < 2 * n) capacity *= 2;
    map->mask = capacity - 1;
    TRY(ALLOC(map->keys, capacity));
    TRY(ALLOC(map->values, capacity));
    memset(map->values, 0xff, (size_t)capacity * sizeof *map->values);
    for (int64_t i = 0; i < n; i++) {
        int64_t slot = first_slot(map, tags[i]);
        for (; map->values[slot] >= 0; slot = (slot + 1) & map->mask)
            if (map->keys[slot] == tags[i] && *twice < 0) *twice = i;
        map->keys[slot] = tags[i];
        map->values[slot] = (int32_t)i;
    }
done:
    return status;
}

static facet_status tag_map_create(int64_t n, const int64_t *tags, struct gmsh_tag_map *map, int64_t *twice) {
    *twice = -1;
    if (n == 0) return FACET_OK;
    int64_t lowest = tags[0], highest = tags[0], range;
    for (int64_t i = 1; i < n; i++) {
        if (tags[i] < lowest) lowest = tags[i];
        if (tags[i] > highest) highest = tags[i];
    }
    if (!__builtin_sub_overflow(highest, lowest, &range) && range < 4 * n + 1024) {
        map->lowest = lowest;
        map->n_dense = range + 1;
        return create_dense(n, tags, map, twice);
    }
    return create_hash(n, tags, map, twice);
}

static facet_status allocate_nodes(struct gmsh_scanner *s, struct gmsh_file *file, int64_t n,
                                   int64_t **tags) {
    if (n >= INT32_MAX) return gmsh_fail(s, s->at, "%lld nodes are too many", (long long)n);
    facet_status status = ALLOC(file->x, 3 * n);
    if (status == FACET_OK) status = ALLOC(*tags, n);
    return status;
}

static inline facet_status parse_point(struct gmsh_scanner *s, double *x) {
    facet_status status = FACET_OK;
    for (int d = 0; d < 3; d++) TRY(gmsh_double(s, "a coordinate of a node", &x[d]));
done:
    return status;
}

/* The count; then tag x y z for each node. */
static facet_status parse_nodes_2(struct gmsh_scanner *s, struct gmsh_file *file, int64_t **tags) {
    facet_status status = FACET_OK;
    int64_t n;
    TRY(gmsh_text_int(s, "the number of nodes", &n));
    if (s->binary) gmsh_skip_line(s);
    TRY(gmsh_check_count(s, "the number of nodes", n, s->binary ? 28 : 8));
    TRY(allocate_nodes(s, file, n, tags));
    for (int64_t i = 0; i < n; i++) {
        int tag;
        if (i % GMSH_LOOK == 0) TRY(base_look());
        TRY(gmsh_int(s, "the tag of a node", &tag));
        (*tags)[i] = tag;
        TRY(parse_point(s, &file->x[3 * i]));
    }
    file->n_nodes = n;
done:
    return status;
}

/* A block: dimension and tag of its entity, whether parameters follow, count; all tags; all points. */
static facet_status parse_node_block(struct gmsh_scanner *s, struct gmsh_file *file, int64_t n_total,
                                     int64_t *tags) {
    facet_status status = FACET_OK;
    int dim, entity, parametric;
    int64_t n, first = file->n_nodes;
    double unused;
    TRY(gmsh_int(s, "the dimension of an entity", &dim));
    if (dim < 0 || dim > 3)
        TRY(gmsh_fail(s, s->at, "expected the dimension of an entity, 0 to 3, found %d", dim));
    TRY(gmsh_int(s, "the tag of an entity", &entity));
    TRY(gmsh_int(s, "0 or 1 (parametric nodes)", &parametric));
    if (parametric != 0 && parametric != 1)
        TRY(gmsh_fail(s, s->at, "expected 0 or 1 (parametric nodes), found %d", parametric));
    TRY(gmsh_count(s, "the number of nodes of a block", 8, 32 + 8 * parametric * dim, &n));
    if (n > n_total - first)
        TRY(gmsh_fail(s, s->at, "the blocks have more nodes than the %lld announced", (long long)n_total));
    for (int64_t i = first; i < first + n; i++) TRY(gmsh_size(s, "the tag of a node", &tags[i]));
    for (int64_t i = first; i < first + n; i++) {
        if (i % GMSH_LOOK == 0) TRY(base_look());
        TRY(parse_point(s, &file->x[3 * i]));
        for (int d = 0; d < parametric * dim; d++) TRY(gmsh_double(s, "a parameter of a node", &unused));
    }
    file->n_nodes = first + n;
done:
    return status;
}

static facet_status parse_nodes_4(struct gmsh_scanner *s, struct gmsh_file *file, int64_t **tags) {
    facet_status status = FACET_OK;
    int64_t n_blocks, n, unused;
    TRY(gmsh_size(s, "the number of blocks of nodes", &n_blocks));
    TRY(gmsh_count(s, "the number of nodes", 8, 32, &n));
    TRY(gmsh_size(s, "the smallest tag of a node", &unused));
    TRY(gmsh_size(s, "the largest tag of a node", &unused));
    TRY(allocate_nodes(s, file, n, tags));
    for (int64_t b = 0; b < n_blocks; b++) TRY(parse_node_block(s, file, n, *tags));
    if (file->n_nodes != n)
        TRY(gmsh_fail(s, s->at, "the blocks have %lld nodes, but %lld were announced",
                      (long long)file->n_nodes, (long long)n));
done:
    return status;
}

facet_status gmsh_parse_nodes(struct gmsh_scanner *s, struct gmsh_file *file, struct gmsh_tag_map *map) {
    facet_status status = FACET_OK;
    int64_t *tags = NULL, twice;
    TRY(file->version < 4 ? parse_nodes_2(s, file, &tags) : parse_nodes_4(s, file, &tags));
    TRY(tag_map_create(file->n_nodes, tags, map, &twice));
    if (twice >= 0) TRY(gmsh_fail(s, s->at, "node %lld appears twice", (long long)tags[twice]));
    if (!file->takes_part) goto done;
    file->node_tags = tags;
    tags = NULL;
done:
    base_free(&tags);
    return status;
}
