/* Inside the Gmsh reader: what the parser hands to the assembly, and the scanner both formats are read with.
 *
 *   file ── gmsh_scan.c: numbers, text or binary ── gmsh_parse*.c: sections ──► struct gmsh_file
 *        ── gmsh.c, gmsh_groups.c: cells in our lattice order, groups by name ──► mesh_create
 *
 * Everything is parsed from one buffer. No count of the file is believed before it is compared with the bytes
 * that remain, so a corrupt file can neither lead outside the buffer nor ask for more memory than a small
 * multiple of its size.
 */
#ifndef FACET_MESH_GMSH_H
#define FACET_MESH_GMSH_H

#include <locale.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "mesh/mesh.h"

/* mesh_read_gmsh with the file in memory: bytes[n] is NUL, and the contents are changed. path: for messages.
 */
facet_status gmsh_read_bytes(const char *path, char *bytes, size_t n, struct facet_mesh **mesh);

/* ---------------------------------------------------------------------------------------- element types */

#define GMSH_MAX_TYPE 140

struct gmsh_type {
    uint8_t family; /* enum shape */
    uint8_t order;
    short n_nodes; /* 0: no such type */
};
/* NULL for a type whose number of nodes is not known. */
const struct gmsh_type *gmsh_find_type(int64_t type);
const char *gmsh_family_name(int family, int is_one); /* "prisms", or "prism" */
/* Has the nodes of the whole lattice. */
int gmsh_type_is_complete(const struct gmsh_type *type);
#define GMSH_QUAD_8 16

/* lattice[i] = lattice number (shape.h) of Gmsh's i-th node. Gmsh numbers vertices, then edges, then faces,
 * then the inside, each as a smaller cell of the same kind. Segments, triangles, quads, tets, hexes, prisms
 * and pyramids of any order >= 1. */
void gmsh_lattice(enum shape shape, int order, int *lattice);

/* ---------------------------------------------------------------------------------------- the file's content
 */

struct gmsh_array {
    int64_t count, capacity;
};
struct gmsh_name {
    int dim, tag;
    const char *text; /* inside the buffer */
};
struct gmsh_entity {
    int dim, tag;
    int64_t first_physical, n_physicals; /* in physicals */
    int is_seam, is_ghost;               /* of a part: it lies between parts; its cells are those of others */
    int partition;                       /* of a part: the one it is in, or the last of them */
};
/* Consecutive elements of one type and one set of physical groups. */
struct gmsh_run {
    int type;
    int64_t first, count; /* elements */
    int64_t first_node;   /* in nodes */
    int64_t first_physical, n_physicals;
    int is_seam, is_ghost, partition; /* as their entity */
};

/* An entity that repeats another: x = map (x there), node by node. */
struct gmsh_link {
    int dim, tag, from;
    int has_map;
    double map[16];       /* by rows: x of `tag` from that of `from` */
    int64_t first, count; /* pairs of nodes */
};

struct gmsh_file {
    double version;
    int takes_part; /* wanted is one of the files into which Gmsh splits a partitioned mesh, and no other */
    int n_parts;    /* of such a one: how many there are */
    int has_entities;
    int64_t n_names, n_entities, n_nodes;
    struct gmsh_name *names;      /* sorted by dim, tag */
    struct gmsh_entity *entities; /* sorted by dim, tag */
    int64_t n_parents;            /* of a part: the entities of the whole mesh */
    struct gmsh_entity *parents;
    double *x;          /* n_nodes x 3 */
    int64_t *node_tags; /* n_nodes */
    struct gmsh_array n_physicals, n_runs, n_elements, n_element_nodes;
    int32_t *physicals; /* > 0 */
    struct gmsh_run *runs;
    int64_t *tags;  /* of elements */
    int32_t *nodes; /* of elements: node numbers 0 .. n_nodes-1, in Gmsh's order */
    int64_t n_links;
    struct gmsh_link *links;
    struct gmsh_array n_pairs; /* twice their number */
    int32_t *pairs;            /* node numbers: here and there */
    int64_t refused[GMSH_MAX_TYPE + 1];
};
void gmsh_file_free(struct gmsh_file *file);

/* So many items are read between two looks for an interrupt. */
#define GMSH_LOOK 4096

/* Room for `more` items behind the count-th; grows by doubling. */
facet_status gmsh_reserve(void *pointer, struct gmsh_array *array, int64_t more, size_t size);

/* ---------------------------------------------------------------------------------------- the scanner */

struct gmsh_scanner {
    const char *path;
    char *begin;          /* physical names are closed with a NUL in place */
    const char *at, *end; /* *end is NUL */
    int binary;
    locale_t locale; /* "C": numbers do not depend on the program's language */
};

/* Fails with FACET_ERROR_INPUT; the message begins with the file and the line (text) or byte (binary) of
 * `at`. */
facet_status gmsh_fail(const struct gmsh_scanner *s, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected <what>, found <the word at s->at>" */
facet_status gmsh_expected(const struct gmsh_scanner *s, const char *what);

/* Numbers of the present mode; `what` completes "expected ...". */
facet_status gmsh_int(struct gmsh_scanner *s, const char *what, int *value);
facet_status gmsh_size(struct gmsh_scanner *s, const char *what,
                       int64_t *value); /* 8 bytes; refuses those >= 2^63 */
facet_status gmsh_double(struct gmsh_scanner *s, const char *what,
                         double *value); /* refuses what is not finite */
/* A count of things that take at least text_bytes (in text) or binary_bytes each. */
facet_status gmsh_count(struct gmsh_scanner *s, const char *what, int64_t text_bytes, int64_t binary_bytes,
                        int64_t *value);
/* As text, even in a binary file. */
facet_status gmsh_text_int(struct gmsh_scanner *s, const char *what, int64_t *value);
facet_status gmsh_text_double(struct gmsh_scanner *s, const char *what, double *value);
facet_status gmsh_check_count(const struct gmsh_scanner *s, const char *what, int64_t count, int64_t bytes);
void gmsh_skip_space(struct gmsh_scanner *s);
/* Goes behind the next line end. */
void gmsh_skip_line(struct gmsh_scanner *s);
static inline int64_t gmsh_remaining(const struct gmsh_scanner *s) {
    return s->end - s->at;
}

/* ---------------------------------------------------------------------------------------- the sections */

/* From node tags to 0 .. n-1: a table when the tags are dense, else a hash. */
struct gmsh_tag_map {
    int64_t lowest, n_dense;
    int32_t *dense;
    int64_t mask; /* of the hash */
    int64_t *keys;
    int32_t *values;
};
void gmsh_tag_map_free(struct gmsh_tag_map *map);
/* -1 when there is no such tag. */
int32_t gmsh_tag_find(const struct gmsh_tag_map *map, int64_t tag);

facet_status gmsh_parse(struct gmsh_scanner *s, struct gmsh_file *file);
facet_status gmsh_parse_nodes(struct gmsh_scanner *s, struct gmsh_file *file, struct gmsh_tag_map *map);
facet_status gmsh_parse_elements(struct gmsh_scanner *s, struct gmsh_file *file,
                                 const struct gmsh_tag_map *map);
facet_status gmsh_parse_periodic(struct gmsh_scanner *s, struct gmsh_file *file,
                                 const struct gmsh_tag_map *map);
/* $PartitionedEntities, behind $Entities; these become the parents. */
facet_status gmsh_parse_partitioned(struct gmsh_scanner *s, struct gmsh_file *file);
/* What all entities end with: point or bounding box, physical groups, entities of the boundary. */
facet_status gmsh_parse_entity(struct gmsh_scanner *s, struct gmsh_file *file, struct gmsh_entity *entity);
/* Names and entities both begin with dim, tag: an order of these. */
int gmsh_compare_dim_tag(const void *a, const void *b);
/* NULL when there is none. */
const struct gmsh_name *gmsh_find_name(const struct gmsh_file *file, int dim, int tag);
const struct gmsh_entity *gmsh_find_entity(const struct gmsh_file *file, int dim, int tag);

/* ---------------------------------------------------------------------------------------- periodic faces */

struct gmsh_cells {
    int dim;
    int64_t n_cells, n_vertices;
    const uint8_t *shapes;
    const int64_t *vertex_offsets;
    const int32_t *vertices;
};
struct gmsh_pairs {
    struct gmsh_array n; /* numbers: 2 x SHAPE_MAX_FACE_VERTICES a pair, as mesh_input.periodic */
    int32_t *vertices;
};
/* The pairs of boundary faces that $Periodic joins; maps that do not match are refused. */
facet_status gmsh_collect_pairs(const struct gmsh_file *file, const struct gmsh_cells *cells,
                                const int32_t *vertex_of, struct gmsh_pairs *pairs);

/* ---------------------------------------------------------------------------------------- the groups */

struct gmsh_group_set {
    int64_t n_keys;
    struct gmsh_key *keys; /* the physical groups that have elements, and the input group of each */
    int n_groups;
    struct mesh_input_group *groups;
    int64_t *cells; /* of all groups */
    int32_t *vertices;
};
/* The groups of dimension dim and dim - 1. cell_of: cell number by element; vertex_of: vertex number by node,
 * or -1. */
facet_status gmsh_collect_groups(const struct gmsh_file *file, int dim, const int32_t *cell_of,
                                 const int32_t *vertex_of, struct gmsh_group_set *set);
void gmsh_group_set_free(struct gmsh_group_set *set);

/* ---------------------------------------------------------------------------------------- parts */

/* One of the files into which Gmsh splits a mesh that it has partitioned (gmsh -part N -part_split
 * -part_ghosts, MSH 4.1). Tags of nodes and elements are those of the whole mesh. Its groups are those of the
 * whole mesh, with what of them is here. */
struct gmsh_part {
    int n_parts, part;            /* how many there are, and which one this is (1 .. n_parts) */
    struct mesh_input input;      /* without a seam; cell_names are tags */
    int64_t *vertex_tags;         /* of its vertices: ascending */
    double *points;               /* of its vertices, x 3 */
    int64_t n_open;               /* faces that have one cell here */
    int32_t *open;                /* x SHAPE_MAX_FACE_VERTICES: in the order of their frame, padded with -1 */
    uint8_t *is_seam;             /* of these: the file says that another part has a cell across */
    struct gmsh_reading *reading; /* what the arrays of `input` belong to */
};
/* join: as of mesh_read_gmsh_as; sides that are to be joined are refused. */
facet_status gmsh_part_read(const char *path, int join, struct gmsh_part **part);
void gmsh_part_destroy(struct gmsh_part **part);
/* Finds the open faces; vertex_of: by node, or -1. */
facet_status gmsh_part_open(const struct gmsh_file *file, const struct gmsh_cells *cells,
                            const int32_t *vertex_of, struct gmsh_part *part);

#endif
