/* The sections of a Gmsh file, MSH 2.2 and 4.1, text and binary. Here: the format, the physical names and the
 * entities; nodes and elements have files of their own. Sections that do not matter are skipped by their end
 * mark. */
#define _GNU_SOURCE /* memmem, memrchr */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/foreign.h"
#include "mesh/gmsh.h"

void gmsh_file_free(struct gmsh_file *file) {
    base_free(&file->names);
    base_free(&file->entities);
    base_free(&file->parents);
    base_free(&file->node_tags);
    base_free(&file->x);
    base_free(&file->physicals);
    base_free(&file->runs);
    base_free(&file->tags);
    base_free(&file->nodes);
    base_free(&file->links);
    base_free(&file->pairs);
}

int gmsh_compare_dim_tag(const void *a, const void *b) {
    const int *p = a, *q = b;
    if (p[0] != q[0]) return p[0] < q[0] ? -1 : 1;
    return (p[1] > q[1]) - (p[1] < q[1]);
}

const struct gmsh_name *gmsh_find_name(const struct gmsh_file *file, int dim, int tag) {
    if (file->n_names == 0) return NULL;
    int key[2] = {dim, tag};
    return bsearch(key, file->names, (size_t)file->n_names, sizeof *file->names, gmsh_compare_dim_tag);
}

const struct gmsh_entity *gmsh_find_entity(const struct gmsh_file *file, int dim, int tag) {
    if (file->n_entities == 0) return NULL;
    int key[2] = {dim, tag};
    return bsearch(key, file->entities, (size_t)file->n_entities, sizeof *file->entities,
                   gmsh_compare_dim_tag);
}

static facet_status parse_format(struct gmsh_scanner *s, struct gmsh_file *file) {
    facet_status status = FACET_OK;
    const char *at = s->at;
    int64_t type, size;
    TRY(gmsh_text_double(s, "the version of the format", &file->version));
    if (file->version == 4.0)
        TRY(gmsh_fail(s, at, "MSH 4.0 is not supported: save as version 4.1: gmsh -format msh41"));
    if (file->version != 2.2 && file->version != 4.1)
        TRY(gmsh_fail(s, at, "MSH %g is not supported, but 4.1 and 2.2 are: gmsh -format msh41",
                      file->version));
    TRY(gmsh_text_int(s, "0 (text) or 1 (binary)", &type));
    if (type != 0 && type != 1)
        TRY(gmsh_fail(s, at, "expected 0 (text) or 1 (binary) behind the version, found %lld",
                      (long long)type));
    TRY(gmsh_text_int(s, "the size of a number, 8", &size));
    if (size != 8) TRY(gmsh_fail(s, at, "expected numbers of 8 bytes, found %lld", (long long)size));
    if (type == 1) {
        int one;
        gmsh_skip_line(s);
        s->binary = 1;
        TRY(gmsh_int(s, "the number 1 that shows the order of bytes", &one));
        if (one == 0x01000000)
            TRY(gmsh_fail(s, s->at - 4,
                          "the file was written by a machine with the other order of bytes: save it there as "
                          "text (Mesh.Binary = 0)"));
        if (one != 1)
            TRY(gmsh_fail(s, s->at - 4, "expected the number 1 that shows the order of bytes, found %d",
                          one));
    }
done:
    return status;
}

static facet_status narrow(const struct gmsh_scanner *s, const char *what, int64_t wide, int *value) {
    if (wide < -INT_MAX || wide > INT_MAX)
        return gmsh_fail(s, s->at, "expected %s, found %lld", what, (long long)wide);
    *value = (int)wide;
    return FACET_OK;
}

/* dim tag "the name"   on a line of text, also in binary files */
static facet_status parse_name(struct gmsh_scanner *s, struct gmsh_name *name) {
    facet_status status = FACET_OK;
    int64_t dim, tag;
    TRY(gmsh_text_int(s, "the dimension of a physical group", &dim));
    TRY(narrow(s, "the dimension of a physical group", dim, &name->dim));
    TRY(gmsh_text_int(s, "the number of a physical group", &tag));
    TRY(narrow(s, "the number of a physical group", tag, &name->tag));
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t')) s->at++;
    if (*s->at != '"') TRY(gmsh_expected(s, "the name of a physical group in quotes"));
    const char *first = s->at + 1;
    gmsh_skip_line(s);
    const char *last = memrchr(first, '"', (size_t)(s->at - first));
    if (last == NULL) {
        s->at = first;
        TRY(gmsh_expected(s, "a name that ends with a quote"));
    }
    s->begin[last - s->begin] = '\0';
    name->text = first;
done:
    return status;
}

static facet_status parse_names(struct gmsh_scanner *s, struct gmsh_file *file) {
    facet_status status = FACET_OK;
    int64_t n;
    TRY(gmsh_text_int(s, "the number of physical names", &n));
    TRY(gmsh_check_count(s, "the number of physical names", n, 6));
    TRY(ALLOC(file->names, n));
    for (int64_t i = 0; i < n; i++) TRY(parse_name(s, &file->names[i]));
    file->n_names = n;
    if (n > 0) qsort(file->names, (size_t)n, sizeof *file->names, gmsh_compare_dim_tag);
    for (int64_t i = 1; i < n; i++)
        if (gmsh_compare_dim_tag(&file->names[i - 1], &file->names[i]) == 0)
            TRY(gmsh_fail(s, s->at, "physical group %d of dimension %d has two names, '%s' and '%s'",
                          file->names[i].tag, file->names[i].dim, file->names[i - 1].text,
                          file->names[i].text));
done:
    return status;
}

facet_status gmsh_parse_entity(struct gmsh_scanner *s, struct gmsh_file *file, struct gmsh_entity *entity) {
    facet_status status = FACET_OK;
    int64_t n;
    int tag;
    double x;
    for (int i = 0; i < (entity->dim == 0 ? 3 : 6); i++) TRY(gmsh_double(s, "a coordinate of an entity", &x));
    TRY(gmsh_count(s, "the number of an entity's physical groups", 2, 4, &n));
    TRY(gmsh_reserve(&file->physicals, &file->n_physicals, n, sizeof *file->physicals));
    entity->first_physical = file->n_physicals.count;
    for (int64_t i = 0; i < n; i++) {
        TRY(gmsh_int(s, "the number of a physical group", &tag));
        if (tag != 0 && tag != INT_MIN) file->physicals[file->n_physicals.count++] = abs(tag);
    }
    entity->n_physicals = file->n_physicals.count - entity->first_physical;
    if (entity->dim == 0) goto done;
    TRY(gmsh_count(s, "the number of an entity's boundaries", 2, 4, &n));
    for (int64_t i = 0; i < n; i++) TRY(gmsh_int(s, "the tag of an entity's boundary", &tag));
done:
    return status;
}

static facet_status parse_entities(struct gmsh_scanner *s, struct gmsh_file *file) {
    facet_status status = FACET_OK;
    if (file->version < 4) TRY(gmsh_fail(s, s->at, "$Entities do not belong in a file of version 2.2"));
    int64_t counts[4], total = 0;
    for (int dim = 0; dim < 4; dim++) {
        TRY(gmsh_count(s, "the number of entities", 2, 8, &counts[dim]));
        total += counts[dim];
    }
    TRY(gmsh_check_count(s, "the number of entities", total, s->binary ? 36 : 10));
    TRY(ALLOC(file->entities, total));
    for (int dim = 0; dim < 4; dim++)
        for (int64_t i = 0; i < counts[dim]; i++) {
            struct gmsh_entity *entity = &file->entities[file->n_entities];
            *entity = (struct gmsh_entity){.dim = dim};
            TRY(gmsh_int(s, "the tag of an entity", &entity->tag));
            TRY(gmsh_parse_entity(s, file, entity));
            file->n_entities++;
        }
    if (total > 0) qsort(file->entities, (size_t)total, sizeof *file->entities, gmsh_compare_dim_tag);
done:
    return status;
}

/* ---------------------------------------------------------------------------------------- sections */

enum section { FORMAT, NAMES, ENTITIES, PARTITIONED, NODES, ELEMENTS, PERIODIC, N_KNOWN, PARAMETRIC, OTHER };

static enum section find_section(const char *name) {
    static const char *const names[OTHER] = {
        "$MeshFormat", "$PhysicalNames", "$Entities", "$PartitionedEntities", "$Nodes",
        "$Elements",   "$Periodic",      "",          "$ParametricNodes"};
    for (int i = 0; i < OTHER; i++)
        if (strcmp(names[i], name) == 0) return (enum section)i;
    return OTHER;
}

/* The $Name at the scanner; goes to the line behind it. */
static facet_status read_header(struct gmsh_scanner *s, char *name, int name_bytes) {
    int n = 0;
    const char *at = s->at;
    while (n < name_bytes - 1 && at[n] > ' ' && at[n] < 127) {
        name[n] = at[n];
        n++;
    }
    name[n] = '\0';
    if (n < 2 || name[0] != '$') return gmsh_expected(s, "the beginning of a section, $...");
    gmsh_skip_line(s);
    return FACET_OK;
}

/* Skips to behind $EndName, or (exactly) expects it here. */
static facet_status close_section(struct gmsh_scanner *s, const char *name, const char *header, int exactly) {
    char mark[80];
    int n = snprintf(mark, sizeof mark, "$End%s", name + 1);
    if (exactly) {
        gmsh_skip_space(s);
        if (gmsh_remaining(s) < n || memcmp(s->at, mark, (size_t)n) != 0) return gmsh_expected(s, mark);
        s->at += n;
        return FACET_OK;
    }
    const char *found = memmem(s->at, (size_t)gmsh_remaining(s), mark, (size_t)n);
    if (found == NULL) return gmsh_fail(s, header, "%s has no %s: the file is truncated", name, mark);
    s->at = found + n;
    return FACET_OK;
}

static facet_status parse_section(struct gmsh_scanner *s, struct gmsh_file *file, enum section section,
                                  const char *header, struct gmsh_tag_map *map) {
    switch (section) {
    case FORMAT:
        return parse_format(s, file);
    case NAMES:
        return parse_names(s, file);
    case ENTITIES:
        file->has_entities = 1;
        return parse_entities(s, file);
    case NODES:
        return gmsh_parse_nodes(s, file, map);
    case ELEMENTS:
        return gmsh_parse_elements(s, file, map);
    case PERIODIC:
        return gmsh_parse_periodic(s, file, map);
    case PARTITIONED:
        if (file->takes_part) return gmsh_parse_partitioned(s, file);
        return gmsh_fail(s, header,
                         "the mesh is partitioned: save it without partitions (without -part, "
                         "Mesh.NbPartitions = 0), since facet-mpi cuts meshes by itself; or name the files "
                         "of its parts, with * for their numbers, to facet-mpi");
    case PARAMETRIC:
        return gmsh_fail(s, header,
                         "$ParametricNodes are not supported in version 2.2: save as version 4.1, or set "
                         "Mesh.SaveParametric = 0");
    default:
        return FACET_OK;
    }
}

/* Says what a file is that is known as something else; FACET_OK for all others. */
static facet_status refuse_foreign(const struct gmsh_scanner *s) {
    struct foreign is;
    size_t n = (size_t)(s->end - s->begin), head = n < FOREIGN_HEAD_BYTES ? n : FOREIGN_HEAD_BYTES;
    if (n == 0) return base_fail(FACET_ERROR_INPUT, "%s is not a Gmsh file: it is empty", s->path);
    if (memmem(s->begin, head, "$MeshFormat", 11) || !foreign_identify(s->path, s->begin, n, 1, &is))
        return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "%s is %s%s%s%s%s", s->path,
                     is.is_old ? "" : "not a Gmsh file: it is ", is.what, is.is_old ? FOREIGN_OLD : "",
                     is.advice[0] ? "; " : "", is.advice);
}

facet_status gmsh_parse(struct gmsh_scanner *s, struct gmsh_file *file) {
    facet_status status = FACET_OK;
    struct gmsh_tag_map map = {0};
    int seen[N_KNOWN] = {0};
    TRY(refuse_foreign(s));
    for (gmsh_skip_space(s); s->at < s->end; gmsh_skip_space(s)) {
        char name[64];
        const char *header = s->at;
        enum section section = OTHER;
        if (!seen[FORMAT] && *s->at != '$') break;
        TRY(read_header(s, name, sizeof name));
        section = find_section(name);
        if (!seen[FORMAT] && section != FORMAT && strcmp(name, "$Comments") != 0) break;
        if (section < N_KNOWN && seen[section]++ > 0)
            TRY(gmsh_fail(s, header, "there is a second %s section", name));
        if (section == ELEMENTS && !seen[NODES]) TRY(gmsh_fail(s, header, "$Elements stand before $Nodes"));
        if (section == PERIODIC && !seen[NODES]) TRY(gmsh_fail(s, header, "$Periodic stands before $Nodes"));
        if (section == ENTITIES && seen[ELEMENTS])
            TRY(gmsh_fail(s, header, "$Entities stand behind $Elements"));
        if (section == PARTITIONED && (!seen[ENTITIES] || seen[NODES]))
            TRY(gmsh_fail(s, header, "$PartitionedEntities do not stand between $Entities and $Nodes"));
        TRY(parse_section(s, file, section, header, &map));
        TRY(close_section(s, name, header, section < N_KNOWN));
    }
    if (!seen[FORMAT])
        FAIL(FACET_ERROR_INPUT, "%s is not a Gmsh file: it does not begin with $MeshFormat", s->path);
    if (file->takes_part && !seen[PARTITIONED])
        TRY(gmsh_fail(s, s->at,
                      "the file is not the part of a mesh, which has $PartitionedEntities: make it by gmsh "
                      "-part N -part_split -part_ghosts, in the format MSH 4.1"));
    if (!seen[NODES]) TRY(gmsh_fail(s, s->at, "expected $Nodes, but the file ends here"));
    if (!seen[ELEMENTS]) TRY(gmsh_fail(s, s->at, "expected $Elements, but the file ends here"));
done:
    gmsh_tag_map_free(&map);
    return status;
}
