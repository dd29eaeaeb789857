/* Physical groups of a Gmsh file as named groups of cells and faces. Groups without a name are called by
 * their number; groups of one dimension that share a name are one group. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/gmsh.h"

struct gmsh_key {
    int dim, tag;
    int group;
    const char *name;
    char number[16]; /* the name of a group without one */
};

void gmsh_group_set_free(struct gmsh_group_set *set) {
    base_free(&set->keys);
    base_free(&set->groups);
    base_free(&set->cells);
    base_free(&set->vertices);
}

static int compare_keys(const void *a, const void *b) {
    const struct gmsh_key *p = a, *q = b;
    if (p->dim != q->dim) return p->dim < q->dim ? -1 : 1;
    return (p->tag > q->tag) - (p->tag < q->tag);
}

static int compare_names(const void *a, const void *b) {
    const struct gmsh_key *p = *(const struct gmsh_key *const *)a, *q = *(const struct gmsh_key *const *)b;
    if (p->dim != q->dim) return p->dim < q->dim ? -1 : 1;
    int order = strcmp(p->name, q->name);
    return order != 0 ? order : (p->tag > q->tag) - (p->tag < q->tag);
}

static int run_dim(const struct gmsh_run *run) {
    return shape_dim((enum shape)gmsh_find_type(run->type)->family);
}

static struct gmsh_key *find_key(const struct gmsh_group_set *set, int dim, int tag) {
    struct gmsh_key key = {.dim = dim, .tag = tag};
    if (set->n_keys == 0) return NULL;
    return bsearch(&key, set->keys, (size_t)set->n_keys, sizeof key, compare_keys);
}

static facet_status append_keys(const struct gmsh_file *file, int dim, int64_t first, int64_t count,
                                struct gmsh_group_set *set, struct gmsh_array *n) {
    facet_status status = gmsh_reserve(&set->keys, n, count, sizeof *set->keys);
    for (int64_t i = 0; status == FACET_OK && i < count; i++)
        set->keys[n->count++] = (struct gmsh_key){.dim = dim, .tag = file->physicals[first + i]};
    return status;
}

/* The (dim, tag) that occur, each once, in ascending order; of a part those of the whole mesh. */
static facet_status collect_keys(const struct gmsh_file *file, int dim, struct gmsh_group_set *set) {
    facet_status status = FACET_OK;
    struct gmsh_array n = {0};
    for (int64_t i = 0; i < file->n_parents; i++) {
        const struct gmsh_entity *entity = &file->parents[i];
        if (entity->dim == dim || entity->dim == dim - 1)
            TRY(append_keys(file, entity->dim, entity->first_physical, entity->n_physicals, set, &n));
    }
    for (int64_t r = 0; r < file->n_runs.count; r++) {
        const struct gmsh_run *run = &file->runs[r];
        int d = run_dim(run);
        if (d < dim - 1 || run->count == 0) continue;
        TRY(append_keys(file, d, run->first_physical, run->n_physicals, set, &n));
    }
    if (n.count == 0) goto done;
    qsort(set->keys, (size_t)n.count, sizeof *set->keys, compare_keys);
    for (int64_t i = 0; i < n.count; i++)
        if (i == 0 || compare_keys(&set->keys[i], &set->keys[i - 1]) != 0)
            set->keys[set->n_keys++] = set->keys[i];
done:
    return status;
}

/* Gives every key its name and its group; keys of one name get one group. */
static facet_status name_keys(const struct gmsh_file *file, struct gmsh_group_set *set) {
    facet_status status = FACET_OK;
    struct gmsh_key **by_name = NULL;
    if (set->n_keys == 0) goto done;
    TRY(ALLOC(by_name, set->n_keys));
    for (int64_t k = 0; k < set->n_keys; k++) {
        struct gmsh_key *key = by_name[k] = &set->keys[k];
        const struct gmsh_name *name = gmsh_find_name(file, key->dim, key->tag);
        snprintf(key->number, sizeof key->number, "%d", key->tag);
        key->name = name != NULL && name->text[0] != '\0' ? name->text : key->number;
        key->group = -1;
    }
    qsort(by_name, (size_t)set->n_keys, sizeof *by_name, compare_names);
    TRY(CALLOC(set->groups, set->n_keys));
    struct gmsh_key *first = NULL;
    for (int64_t k = 0; k < set->n_keys; k++) {
        struct gmsh_key *key = by_name[k];
        if (first == NULL || first->dim != key->dim || strcmp(first->name, key->name) != 0) {
            first = key;
            set->groups[set->n_groups++] = (struct mesh_input_group){.name = key->name, .dim = key->dim};
        }
        key->group = set->n_groups - 1;
    }
done:
    base_free(&by_name);
    return status;
}

/* A name whose group has no element is a mistake in the geometry that would only show as a missing boundary
 * condition. */
static facet_status check_dangling(const struct gmsh_file *file, int dim, const struct gmsh_group_set *set) {
    char list[600] = "";
    size_t length = 0;
    int n = 0;
    for (int64_t i = 0; i < file->n_names; i++) {
        const struct gmsh_name *name = &file->names[i];
        if ((name->dim != dim && name->dim != dim - 1) || find_key(set, name->dim, name->tag) != NULL)
            continue;
        if (n++ < 10 && length < sizeof list)
            length +=
                (size_t)snprintf(list + length, sizeof list - length, "%s'%.60s' (dimension %d, number %d)",
                                 n > 1 ? ", " : "", name->text, name->dim, name->tag);
    }
    if (n == 0) return FACET_OK;
    return base_fail(
        FACET_ERROR_INPUT,
        "%d physical group%s no elements: %s: remove the name, or give it curves or surfaces that are "
        "meshed",
        n, n == 1 ? " has" : "s have", list);
}

/* Splits cells and vertices among the groups; leaves their counts at zero, to be filled. */
static facet_status allocate_members(const struct gmsh_file *file, int dim, struct gmsh_group_set *set) {
    facet_status status = FACET_OK;
    int64_t n_members[2] = {0, 0};
    for (int64_t r = 0; r < file->n_runs.count; r++) {
        const struct gmsh_run *run = &file->runs[r];
        int d = run_dim(run);
        if (d < dim - 1 || run->count == 0) continue;
        for (int64_t i = 0; i < run->n_physicals; i++)
            set->groups[find_key(set, d, file->physicals[run->first_physical + i])->group].count +=
                run->count;
        n_members[d == dim] += run->count * run->n_physicals;
    }
    TRY(ALLOC(set->vertices, n_members[0] * SHAPE_MAX_FACE_VERTICES));
    TRY(ALLOC(set->cells, n_members[1]));
    int64_t next[2] = {0, 0};
    for (int g = 0; g < set->n_groups; g++) {
        struct mesh_input_group *group = &set->groups[g];
        if (group->dim == dim)
            group->cells = set->cells + next[1];
        else
            group->vertices = set->vertices + next[0] * SHAPE_MAX_FACE_VERTICES;
        next[group->dim == dim] += group->count;
        group->count = 0;
    }
done:
    return status;
}

static facet_status add_faces(const struct gmsh_file *file, const struct gmsh_run *run,
                              const int32_t *vertex_of, const struct gmsh_group_set *set,
                              struct mesh_input_group *group) {
    const struct gmsh_type *type = gmsh_find_type(run->type);
    int n = shape_n_vertices((enum shape)type->family);
    int32_t *face =
        set->vertices + (group->vertices - set->vertices) + group->count * SHAPE_MAX_FACE_VERTICES;
    for (int64_t e = 0; e < run->count; e++, face += SHAPE_MAX_FACE_VERTICES)
        for (int i = 0; i < SHAPE_MAX_FACE_VERTICES; i++) {
            face[i] = i < n ? vertex_of[file->nodes[run->first_node + e * type->n_nodes + i]] : -1;
            if (i < n && face[i] < 0)
                return base_fail(
                    FACET_ERROR_INPUT,
                    "element %lld of the physical group '%s' is not a face of a cell: take the group off "
                    "curves or surfaces that bound no meshed region",
                    (long long)file->tags[run->first + e], group->name);
        }
    group->count += run->count;
    return FACET_OK;
}

static facet_status fill_members(const struct gmsh_file *file, int dim, const int32_t *cell_of,
                                 const int32_t *vertex_of, struct gmsh_group_set *set) {
    facet_status status = FACET_OK;
    for (int64_t r = 0; r < file->n_runs.count; r++) {
        const struct gmsh_run *run = &file->runs[r];
        int d = run_dim(run);
        if (d < dim - 1 || run->count == 0) continue;
        for (int64_t i = 0; i < run->n_physicals; i++) {
            const struct gmsh_key *key = find_key(set, d, file->physicals[run->first_physical + i]);
            struct mesh_input_group *group = &set->groups[key->group];
            if (d < dim) {
                TRY(add_faces(file, run, vertex_of, set, group));
                continue;
            }
            int64_t *cells = set->cells + (group->cells - set->cells) + group->count;
            for (int64_t e = 0; e < run->count; e++) cells[e] = cell_of[run->first + e];
            group->count += run->count;
        }
    }
done:
    return status;
}

facet_status gmsh_collect_groups(const struct gmsh_file *file, int dim, const int32_t *cell_of,
                                 const int32_t *vertex_of, struct gmsh_group_set *set) {
    facet_status status = FACET_OK;
    TRY(collect_keys(file, dim, set));
    TRY(name_keys(file, set));
    if (!file->takes_part) TRY(check_dangling(file, dim, set)); /* else others may have them */
    TRY(allocate_members(file, dim, set));
    TRY(fill_members(file, dim, cell_of, vertex_of, set));
done:
    return status;
}
