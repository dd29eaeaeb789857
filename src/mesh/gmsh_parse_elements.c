/* The $Elements of a Gmsh file: runs of elements of one type and one set of physical groups. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/gmsh.h"

static int is_wanted(int number, const struct gmsh_type *type) {
    if (type->family == SHAPE_POINT || type->order > MESH_MAX_ORDER) return 0;
    return gmsh_type_is_complete(type) || number == GMSH_QUAD_8;
}

static facet_status find_type(struct gmsh_scanner *s, int number, const struct gmsh_type **type) {
    *type = gmsh_find_type(number);
    if (*type == NULL) return gmsh_fail(s, s->at, "%d is not the number of a known type of elements", number);
    return FACET_OK;
}

static facet_status reserve_elements(struct gmsh_file *file, int64_t n, int64_t n_nodes) {
    facet_status status = FACET_OK;
    TRY(gmsh_reserve(&file->tags, &file->n_elements, n, sizeof *file->tags));
    TRY(gmsh_reserve(&file->nodes, &file->n_element_nodes, n * n_nodes, sizeof *file->nodes));
done:
    return status;
}

static facet_status append_run(struct gmsh_file *file, int type, int64_t first_physical,
                               int64_t n_physicals) {
    facet_status status = gmsh_reserve(&file->runs, &file->n_runs, 1, sizeof *file->runs);
    if (status != FACET_OK) return status;
    file->runs[file->n_runs.count++] = (struct gmsh_run){.type = type,
                                                         .first = file->n_elements.count,
                                                         .first_node = file->n_element_nodes.count,
                                                         .first_physical = first_physical,
                                                         .n_physicals = n_physicals};
    return FACET_OK;
}

static inline facet_status parse_tag(struct gmsh_scanner *s, int wide, const char *what, int64_t *tag) {
    if (wide) return gmsh_size(s, what, tag);
    int narrow;
    facet_status status = gmsh_int(s, what, &narrow);
    *tag = narrow;
    return status;
}

/* The nodes of an element into the last run (room is reserved), or to nowhere. */
static facet_status parse_element_nodes(struct gmsh_scanner *s, struct gmsh_file *file,
                                        const struct gmsh_tag_map *map, int n, int64_t element, int keep) {
    facet_status status = FACET_OK;
    int32_t *nodes = keep ? &file->nodes[file->n_element_nodes.count] : NULL;
    for (int i = 0; i < n; i++) {
        int64_t tag = 0;
        TRY(parse_tag(s, file->version >= 4, "a node of an element", &tag));
        if (!keep) continue;
        nodes[i] = gmsh_tag_find(map, tag);
        if (nodes[i] < 0)
            TRY(gmsh_fail(s, s->at, "element %lld has node %lld, which is not among the $Nodes",
                          (long long)element, (long long)tag));
    }
    if (!keep) goto done;
    if (file->n_elements.count % GMSH_LOOK == 0) TRY(base_look());
    file->tags[file->n_elements.count++] = element;
    file->n_element_nodes.count += n;
    file->runs[file->n_runs.count - 1].count++;
done:
    return status;
}

/* ---------------------------------------------------------------------------------------- version 2.2 */

/* Continues the last run when type and physical group (0: none) are the same. */
static facet_status continue_run(struct gmsh_file *file, int type, int physical) {
    facet_status status = FACET_OK;
    if (file->n_runs.count > 0) {
        const struct gmsh_run *last = &file->runs[file->n_runs.count - 1];
        int last_physical = last->n_physicals > 0 ? file->physicals[last->first_physical] : 0;
        if (last->type == type && last_physical == physical) return FACET_OK;
    }
    TRY(gmsh_reserve(&file->physicals, &file->n_physicals, 1, sizeof *file->physicals));
    int64_t first = file->n_physicals.count;
    if (physical != 0) file->physicals[file->n_physicals.count++] = physical;
    TRY(append_run(file, type, first, physical != 0));
done:
    return status;
}

/* n_tags tags (the physical group, the entity, partitions), then the nodes. */
static facet_status parse_element_2(struct gmsh_scanner *s, struct gmsh_file *file,
                                    const struct gmsh_tag_map *map, int64_t element, int number, int n_tags) {
    facet_status status = FACET_OK;
    const struct gmsh_type *type;
    int physical = 0, tag;
    TRY(find_type(s, number, &type));
    for (int i = 0; i < n_tags; i++) {
        TRY(gmsh_int(s, "a tag of an element", &tag));
        if (i == 0 && tag != INT_MIN) physical = abs(tag);
        if (i == 2 && tag > 0 && n_tags > 3) /* of a mesh that was split, nothing says where */
            TRY(gmsh_fail(s, s->at,
                          "element %lld has a partition: save the mesh without partitions (without -part, "
                          "Mesh.NbPartitions = 0); facet-mpi cuts meshes by itself",
                          (long long)element));
    }
    int keep = is_wanted(number, type);
    if (keep) {
        TRY(reserve_elements(file, 1, type->n_nodes));
        TRY(continue_run(file, number, physical));
    } else
        file->refused[number]++;
    TRY(parse_element_nodes(s, file, map, type->n_nodes, element, keep));
done:
    return status;
}

/* Binary: type, how many follow, number of tags; then tag, tags, nodes of each. Text: each has its own
 * header. */
static facet_status parse_elements_2(struct gmsh_scanner *s, struct gmsh_file *file,
                                     const struct gmsh_tag_map *map) {
    facet_status status = FACET_OK;
    int64_t n;
    int element, type, n_follow = 1, n_tags;
    TRY(gmsh_text_int(s, "the number of elements", &n));
    if (s->binary) gmsh_skip_line(s);
    TRY(gmsh_check_count(s, "the number of elements", n, 8));
    for (int64_t done_elements = 0; done_elements < n; done_elements += n_follow) {
        if (!s->binary) TRY(gmsh_int(s, "the tag of an element", &element));
        TRY(gmsh_int(s, "the type of an element", &type));
        if (s->binary) {
            TRY(gmsh_int(s, "the number of elements that follow", &n_follow));
            if (n_follow < 1 || n_follow > n - done_elements)
                TRY(gmsh_fail(s, s->at - 4, "expected a number of elements from 1 to %lld, found %d",
                              (long long)(n - done_elements), n_follow));
        }
        TRY(gmsh_int(s, "the number of tags of an element", &n_tags));
        if (n_tags < 0)
            TRY(gmsh_fail(s, s->at, "expected the number of tags of an element, found %d", n_tags));
        for (int i = 0; i < n_follow; i++) {
            if (s->binary) TRY(gmsh_int(s, "the tag of an element", &element));
            TRY(parse_element_2(s, file, map, element, type, n_tags));
        }
    }
done:
    return status;
}

/* ---------------------------------------------------------------------------------------- version 4.1 */

/* A block: dimension and tag of its entity, type, count; then tag and nodes of each element. */
static facet_status parse_element_block(struct gmsh_scanner *s, struct gmsh_file *file,
                                        const struct gmsh_tag_map *map, int64_t n_total, int64_t *n_done) {
    facet_status status = FACET_OK;
    int dim, tag, number;
    int64_t n, element;
    const struct gmsh_type *type;
    TRY(gmsh_int(s, "the dimension of an entity", &dim));
    TRY(gmsh_int(s, "the tag of an entity", &tag));
    TRY(gmsh_int(s, "the type of elements", &number));
    TRY(find_type(s, number, &type));
    TRY(gmsh_count(s, "the number of elements of a block", 2 * (1 + type->n_nodes), 8 * (1 + type->n_nodes),
                   &n));
    if (n > n_total - *n_done)
        TRY(gmsh_fail(s, s->at, "the blocks have more elements than the %lld announced", (long long)n_total));
    const struct gmsh_entity *entity = gmsh_find_entity(file, dim, tag);
    if (entity == NULL && file->has_entities)
        TRY(gmsh_fail(s, s->at,
                      "a block of elements is on entity %d of dimension %d, which is not among the $Entities",
                      tag, dim));
    int keep = is_wanted(number, type);
    if (keep) {
        TRY(reserve_elements(file, n, type->n_nodes));
        TRY(append_run(file, number, entity != NULL ? entity->first_physical : 0,
                       entity != NULL ? entity->n_physicals : 0));
        if (entity != NULL) {
            struct gmsh_run *run = &file->runs[file->n_runs.count - 1];
            run->is_seam = entity->is_seam;
            run->is_ghost = entity->is_ghost;
            run->partition = entity->partition;
        }
    } else
        file->refused[number] += n;
    for (int64_t i = 0; i < n; i++) {
        TRY(gmsh_size(s, "the tag of an element", &element));
        TRY(parse_element_nodes(s, file, map, type->n_nodes, element, keep));
    }
    *n_done += n;
done:
    return status;
}

static facet_status parse_elements_4(struct gmsh_scanner *s, struct gmsh_file *file,
                                     const struct gmsh_tag_map *map) {
    facet_status status = FACET_OK;
    int64_t n_blocks, n, n_done = 0, unused;
    TRY(gmsh_size(s, "the number of blocks of elements", &n_blocks));
    TRY(gmsh_count(s, "the number of elements", 4, 16, &n));
    TRY(gmsh_size(s, "the smallest tag of an element", &unused));
    TRY(gmsh_size(s, "the largest tag of an element", &unused));
    for (int64_t b = 0; b < n_blocks; b++) TRY(parse_element_block(s, file, map, n, &n_done));
    if (n_done != n)
        TRY(gmsh_fail(s, s->at, "the blocks have %lld elements, but %lld were announced", (long long)n_done,
                      (long long)n));
done:
    return status;
}

/* ---------------------------------------------------------------------------------------- what is refused */

/* Says how many elements of which kind are not supported, and what to do about each kind. */
static facet_status check_refused(struct gmsh_scanner *s, const struct gmsh_file *file) {
    char list[400] = "", remedy[400] = "";
    size_t length = 0;
    int incomplete = 0, high = 0;
    for (int number = 0; number <= GMSH_MAX_TYPE; number++) {
        const struct gmsh_type *type = gmsh_find_type(number);
        if (file->refused[number] == 0 || type->family == SHAPE_POINT) continue;
        int is_high = type->order > MESH_MAX_ORDER;
        high |= is_high;
        incomplete |= !is_high;
        if (length >= sizeof list) continue;
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%lld %s%s of order %d",
                                   length > 0 ? ", " : "", (long long)file->refused[number],
                                   !gmsh_type_is_complete(type) ? "incomplete " : "",
                                   gmsh_family_name(type->family, file->refused[number] == 1), type->order);
    }
    if (length == 0) return FACET_OK;
    snprintf(remedy, sizeof remedy, "%s%s",
             incomplete ? "; set Mesh.SecondOrderIncomplete = 0 and mesh again" : "",
             high ? "; set Mesh.ElementOrder to 9 or less" : "");
    return gmsh_fail(s, s->at, "the file has elements that are not supported: %s%s", list, remedy);
}

facet_status gmsh_parse_elements(struct gmsh_scanner *s, struct gmsh_file *file,
                                 const struct gmsh_tag_map *map) {
    facet_status status = FACET_OK;
    TRY(file->version < 4 ? parse_elements_2(s, file, map) : parse_elements_4(s, file, map));
    TRY(check_refused(s, file));
done:
    return status;
}
