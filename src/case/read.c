/* Reading a case: the file into a tree, the settings into the tree, the tree against the schema, and into the
 * struct. Here are the frame, the mesh, and the getters; data and results are read by their own files. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/guess.h"
#include "base/memory.h"
#include "case/reader.h"
#include "mesh/foreign.h"
#include "mesh/mesh.h"

/* ------------------------------------------------------------------------------------------ getters */

struct case_place reader_place(const struct tree_node *node) {
    return (struct case_place){node->line, node->column, node->setting};
}

static const char *last_part(const char *row) {
    const char *dot = strrchr(row, '.');
    return dot ? dot + 1 : row;
}

/* What stands under a bad key (one with an anchor, say) has not been checked. */
const struct tree_node *reader_get(const struct tree_node *map, const char *row) {
    const struct tree_node *node = tree_find(map, last_part(row));
    for (int i = 0; node && i < map->n; i++)
        if (map->items[i] == node && map->keys[i]->bad) return NULL;
    return node && !node->bad ? node : NULL;
}

const char *reader_text(const struct tree_node *map, const char *row) {
    const struct tree_node *node = reader_get(map, row);
    return node && node->kind == TREE_SCALAR ? node->text : schema_find(row)->fallback;
}

int reader_integer(const struct tree_node *map, const char *row) {
    const char *text = reader_text(map, row);
    return text ? (int)strtol(text, NULL, 10) : 0;
}

double reader_number(const struct tree_node *map, const char *row) {
    const char *text = reader_text(map, row);
    double value = 0;
    if (text) schema_parse_number(text, &value);
    return value;
}

int reader_n_names(const struct tree_node *on) {
    return on && on->kind == TREE_LIST ? on->n : 1;
}

const struct tree_node *reader_name(const struct tree_node *on, int i) {
    return on && on->kind == TREE_LIST ? on->items[i] : on;
}

int reader_count_names(const struct tree_node *list, const char *row) {
    int n = 0;
    for (int i = 0; i < list->n; i++) n += reader_n_names(reader_get(list->items[i], row));
    return n;
}

int reader_boolean(const struct tree_node *map, const char *row) {
    return strcmp(reader_text(map, row), "true") == 0;
}

/* ------------------------------------------------------------------------------------------ mesh */

int reader_sides(const struct reader *r, const char *sides[6]) {
    static const char *const all[6] = {"xmin", "xmax", "ymin", "ymax", "zmin", "zmax"};
    int n = 0;
    for (int i = 0; i < 2 * r->dim; i++)
        if (!r->file->mesh.box.periodic[i / 2]) sides[n++] = all[i];
    return n;
}

void reader_check_side(struct reader *r, const struct tree_node *node, const char *name, int allow_rest) {
    const char *sides[7] = {NULL};
    char known[64] = "";
    int n = reader_sides(r, sides);
    if (r->dim == 0 || (allow_rest && !strcmp(node->text, "rest"))) return;
    for (int i = 0; i < n; i++)
        if (!strcmp(sides[i], node->text)) return;
    if (allow_rest) sides[n++] = "rest";
    const char *nearest = guess_nearest(node->text, n, sides), *meant = mesh_side_meant(r->dim, node->text);
    for (int i = 0; meant && i < n; i++)
        if (!strcmp(sides[i], meant)) nearest = meant;
    for (int i = 0; i < n; i++) issues_append(known, sizeof known, sides[i]);
    issues_add(r->issues, node, "%s: the box has no side \"%s\"%s; known here: %s%s%s%s", name,
               issues_word(node->text).text,
               n - allow_rest < 2 * r->dim ? " (periodic ones do not count)" : "", known,
               nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
}

static double item_number(const struct tree_node *list, int i) {
    double value = 0;
    schema_parse_number(list->items[i]->text, &value);
    return value;
}

static facet_status read_coordinates(struct reader *r, const struct tree_node *box,
                                     const struct tree_node *coordinates) {
    facet_status status = FACET_OK;
    static const char *const rows[3] = {"mesh.box.coordinates.x", "mesh.box.coordinates.y",
                                        "mesh.box.coordinates.z"};
    static const char *const excluded[3] = {"lower", "upper", "cells"};
    facet_box *target = &r->file->mesh.box;
    for (int i = 0; i < 3; i++) {
        const struct tree_node *other = tree_find(box, excluded[i]);
        if (other)
            issues_add(r->issues, other, "mesh.box.%s: follows from coordinates; give one or the other",
                       excluded[i]);
    }
    for (int d = 0; d < 3; d++) {
        const struct tree_node *list = reader_get(coordinates, rows[d]);
        if (!list) continue;
        double *numbers;
        TRY(tree_alloc(r->tree, (size_t)list->n * sizeof *numbers, &numbers));
        target->coordinates[d] = numbers;
        target->cells[d] = list->n - 1;
        for (int i = 0; i < list->n; i++) {
            numbers[i] = item_number(list, i);
            if (i > 0 && !(numbers[i] > numbers[i - 1]))
                issues_add(r->issues, list->items[i], "%s: must increase; %.10g follows %.10g", rows[d],
                           numbers[i], numbers[i - 1]);
        }
        target->lower[d] = numbers[0];
        target->upper[d] = numbers[list->n - 1];
    }
    if (tree_find(coordinates, "x") && tree_find(coordinates, "y"))
        r->dim = tree_find(coordinates, "z") ? 3 : 2;
done:
    return status;
}

static void read_uniform(struct reader *r, const struct tree_node *box) {
    static const char *const rows[3] = {"mesh.box.cells", "mesh.box.lower", "mesh.box.upper"};
    const struct tree_node *lists[3];
    facet_box *target = &r->file->mesh.box;
    for (int i = 0; i < 3; i++) {
        lists[i] = reader_get(box, rows[i]);
        if (!tree_find(box, last_part(rows[i])))
            issues_add(r->issues, box, "mesh.box: missing key \"%s\" (or give coordinates)",
                       last_part(rows[i]));
        if (!lists[i]) continue;
        if (r->dim == 0) r->dim = lists[i]->n;
        if (lists[i]->n != r->dim) {
            issues_add(r->issues, lists[i], "%s: has %d entries, but the box has %d dimensions", rows[i],
                       lists[i]->n, r->dim);
            lists[i] = NULL;
        }
    }
    for (int d = 0; d < r->dim; d++) {
        target->cells[d] = lists[0] ? (int)item_number(lists[0], d) : 1;
        target->lower[d] = lists[1] ? item_number(lists[1], d) : 0;
        target->upper[d] = lists[2] ? item_number(lists[2], d) : 1;
        if (lists[1] && lists[2] && !(target->lower[d] < target->upper[d]))
            issues_add(r->issues, lists[2]->items[d],
                       "mesh.box.upper: must be above lower: %.10g is not above %.10g", target->upper[d],
                       target->lower[d]);
    }
}

/* Shapes and splits that do not belong together; what is not given is chosen here. */
static void read_shape(struct reader *r, const struct tree_node *box) {
    const struct schema_entry *shapes = schema_find("mesh.box.shape"),
                              *splits = schema_find("mesh.box.split");
    facet_box *target = &r->file->mesh.box;
    const struct tree_node *shape = reader_get(box, "mesh.box.shape");
    const struct tree_node *split = reader_get(box, "mesh.box.split");
    r->shape = shape ? schema_word(shapes, shape->text) : r->dim == 3 ? 2 : 0;
    target->shape = shapes->words[r->shape];
    int dim = r->shape < 2 ? 2 : 3, is_simplex = r->shape == 0 || r->shape == 2;
    if (shape && r->dim > 0 && dim != r->dim)
        issues_add(r->issues, shape, "mesh.box.shape: a box of %d dimensions has cells of shape %s, not %s",
                   r->dim, r->dim == 2 ? "triangle or quad" : "tet, hex or prism", target->shape);
    else if (split && !is_simplex)
        issues_add(r->issues, split, "mesh.box.split: cuts %s; it needs shape: %s",
                   dim == 2 ? "quads into triangles" : "cubes into tets", dim == 2 ? "triangle" : "tet");
    if (!split) return;
    target->split = splits->words[schema_word(splits, split->text)];
    int split_dim = schema_word(splits, split->text) < 3 ? 2 : 3;
    r->alternates = schema_word(splits, split->text) == 4; /* five */
    if (is_simplex && r->dim > 0 && dim == r->dim && split_dim != r->dim)
        issues_add(r->issues, split, "mesh.box.split: %s cuts %s; for a box of %d dimensions: %s",
                   target->split, split_dim == 2 ? "quads into triangles" : "cubes into tets", r->dim,
                   r->dim == 2 ? "right, left, alternating" : "six, five");
}

static facet_status read_box(struct reader *r, const struct tree_node *box) {
    facet_status status = FACET_OK;
    facet_box *target = &r->file->mesh.box;
    const struct tree_node *periodic = reader_get(box, "mesh.box.periodic");
    const struct tree_node *coordinates = reader_get(box, "mesh.box.coordinates");
    r->file->mesh.is_box = 1;
    if (coordinates)
        TRY(read_coordinates(r, box, coordinates));
    else if (!tree_find(box, "coordinates"))
        read_uniform(r, box);
    target->dim = r->dim;
    read_shape(r, box);
    for (int i = 0; periodic && i < periodic->n; i++) {
        int direction = periodic->items[i]->text[0] - 'x';
        if (r->dim > 0 && direction >= r->dim)
            issues_add(r->issues, periodic->items[i], "mesh.box.periodic: a box of %d dimensions has no z",
                       r->dim);
        else
            target->periodic[direction] = 1;
        if (direction < r->dim && r->alternates && target->cells[direction] % 2 != 0)
            issues_add(
                r->issues, periodic->items[i],
                "mesh.box.periodic: with split five, which alternates, a periodic direction needs an even "
                "number of cells; %s has %d",
                periodic->items[i]->text, target->cells[direction]);
    }
done:
    return status;
}

/* What is no mesh is told here, where its place in the case is known; a mesh that is wrong when it is read.
 */
static void check_contents(struct reader *r, const struct tree_node *node, const char *path) {
    char head[FOREIGN_HEAD_BYTES];
    struct foreign is;
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(head, 1, sizeof head, file) : 0;
    int unreadable = !file || ferror(file);
    if (file) fclose(file);
    if (unreadable) return;
    if (n == 0)
        issues_add(r->issues, node, "mesh.file: \"%s\" is empty", issues_word(node->text).text);
    else if (!memmem(head, n, "$MeshFormat", 11) && foreign_identify(node->text, head, n, 1, &is))
        issues_add(r->issues, node, "mesh.file: \"%s\" is %s%s%s%s", issues_word(node->text).text, is.what,
                   is.is_old ? FOREIGN_OLD : ", not a Gmsh mesh", is.advice[0] ? "; " : "", is.advice);
}

/* The mesh is read later; that its file can be opened is checked here, where its place in the case is known.
 */
static facet_status read_file(struct reader *r, const struct tree_node *node) {
    facet_status status = FACET_OK;
    struct text path = {0};
    struct stat info;
    text_printf(&path, "%s%s%s", node->text[0] == '/' ? "" : r->file->directory,
                node->text[0] == '/' ? "" : "/", node->text);
    TRY(path.status);
    TRY(tree_copy(r->tree, path.data, path.length, &r->file->mesh.path));
    if (strchr(node->text, '*') != NULL) goto done; /* files of parts, of which every rank opens its own */
    if (stat(path.data, &info) != 0)
        issues_add(r->issues, node, "mesh.file: there is no file \"%s\" (relative to the case file)",
                   issues_word(node->text).text);
    else if (file_what((int)info.st_mode) != NULL)
        issues_add(r->issues, node, "mesh.file: \"%s\" is %s, not a file", issues_word(node->text).text,
                   file_what((int)info.st_mode));
    else if (access(path.data, R_OK) != 0)
        issues_add(r->issues, node, "mesh.file: \"%s\" may not be read: no permission",
                   issues_word(node->text).text);
    else
        check_contents(r, node, path.data);
done:
    text_free(&path);
    return status;
}

/* Whether something in a value was refused. */
static int has_bad(const struct tree_node *node) {
    int bad = node->bad;
    for (int i = 0; i < node->n && !bad; i++)
        bad = has_bad(node->items[i]) || (node->kind == TREE_MAP && node->keys[i]->bad);
    return bad;
}

static facet_status read_mesh(struct reader *r) {
    facet_status status = FACET_OK;
    const struct tree_node *mesh = reader_get(r->tree->root, "mesh");
    const int before = r->issues->count;
    if (!mesh) goto done;
    const struct tree_node *box = reader_get(mesh, "mesh.box"), *file = reader_get(mesh, "mesh.file");
    r->file->mesh.place = reader_place(mesh);
    r->file->mesh.refine = reader_integer(mesh, "mesh.refine");
    r->file->mesh.scale = reader_number(mesh, "mesh.scale");
    r->file->mesh.apart = !reader_boolean(mesh, "mesh.periodic");
    if (tree_find(mesh, "box") && tree_find(mesh, "periodic"))
        issues_add(r->issues, tree_find(mesh, "periodic"),
                   "mesh.periodic: belongs to a file; the directions of a box stand in box.periodic");
    if (tree_find(mesh, "box") && tree_find(mesh, "file"))
        issues_add(r->issues, mesh, "mesh: gives both box and file; keep one");
    else if (!tree_find(mesh, "box") && !tree_find(mesh, "file"))
        issues_add(r->issues, mesh, "mesh: needs either box or file");
    if (box) TRY(read_box(r, box));
    if (file) TRY(read_file(r, file));
    if (tree_find(mesh, "file")) r->dim = 0;
    r->file->mesh.known = r->issues->count == before && !has_bad(mesh) && (box != NULL || file != NULL);
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ the rest */

/* Degrees that only the tensor operators have. That these apply is seen later. */
static void check_degree(struct reader *r, const struct tree_node *node) {
    int box = r->file->mesh.is_box && (r->shape == 1 || r->shape == 3); /* quad, hex */
    int mapped = r->file->options.operator_kind == OPERATOR_MAPPED;
    if (!node || r->file->options.degree <= 16) return;
    if (!physics_of(r->file->equation)->entries[0]->on_boxes || !box || mapped)
        issues_add(r->issues, node,
                   "discretization.degree: must be at most 16%s; up to 32 it needs equation: diffusion on a "
                   "mesh.box of shape quad or hex, with operator: tensor",
                   mapped ? " with operator: mapped" : "");
}

/* The words of the options become enums; those that have no place, whatever the mesh, are refused here, where
 * their place in the file is known. */
static facet_status read_options(struct reader *r) {
    const struct tree_node *root = r->tree->root, *nodes[OPTION_N_KEYS];
    const struct tree_node *d = reader_get(root, "discretization"), *s = reader_get(root, "solver"),
                           *mesh = reader_get(root, "mesh");
    struct options *o = &r->file->options;
    char sentence[OPTIONS_SENTENCE_BYTES];
    const struct physics *physics = physics_of(r->file->equation);
    for (int key = 0; key < OPTION_N_KEYS; key++) {
        const char *path = option_paths[key];
        nodes[key] = reader_get(path[0] == 'd' ? d : path[0] == 's' ? s : path[0] == 'm' ? mesh : root, path);
        if (nodes[key]) o->words[key] = options_find((enum option_key)key, nodes[key]->text);
    }
    /* of keys that belong to another equation the reader has spoken */
    o->has_formulation =
        nodes[OPTION_FORMULATION] && physics_has_key(physics, option_paths[OPTION_FORMULATION]);
    o->has_plane = nodes[OPTION_PLANE] && physics_has_key(physics, option_paths[OPTION_PLANE]);
    o->degree = reader_integer(d, "discretization.degree");
    o->postprocess = reader_boolean(d, "discretization.postprocess");
    o->smoother_degree = reader_integer(s, "solver.smoother_degree");
    o->coarse_unknowns = reader_integer(s, "solver.coarse_unknowns");
    o->fill = reader_number(s, "solver.fill");
    o->rtol = reader_number(s, "solver.rtol");
    o->error = reader_number(s, "solver.error");
    options_follow_error(o, reader_get(s, "solver.rtol") != NULL);
    o->max_iterations = reader_integer(s, "solver.max_iterations");
    o->petsc = reader_text(s, "solver.petsc");
    check_degree(r, reader_get(d, "discretization.degree"));
    int key = options_refuse(o, options_place(o, r->file->equation), sentence);
    if (key >= 0) issues_add(r->issues, nodes[key], "%s: %s", option_paths[key], sentence);
    return reader_read_tau(r, d);
}

static facet_status read_everything(struct reader *r) {
    facet_status status = FACET_OK;
    const struct tree_node *root = r->tree->root;
    r->file->title = reader_text(root, "title");
    r->file->name = reader_text(root, "name");
    r->file->thermal.from = -1;
    r->file->equation = reader_find_equation(r);
    TRY(reader_read_parameters(r));
    TRY(read_mesh(r));
    reader_check_equation(r);
    TRY(reader_read_data(r));
    TRY(read_options(r));
    TRY(reader_read_boundary(r));
    TRY(reader_read_output(r));
    TRY(reader_read_values(r));
done:
    return status;
}

static facet_status copy_settings(struct tree *tree, int n, const char *const *settings,
                                  struct case_file *file) {
    facet_status status = FACET_OK;
    TRY(tree_alloc(tree, (size_t)n * sizeof *file->settings, &file->settings));
    for (int i = 0; i < n; i++) {
        const char *equals = strchr(settings[i], '=');
        if (!equals) continue; /* refused already */
        struct case_setting *setting = &file->settings[file->n_settings++];
        TRY(tree_copy(tree, settings[i], (size_t)(equals - settings[i]), &setting->key));
        TRY(tree_copy(tree, equals + 1, strlen(equals + 1), &setting->value));
    }
done:
    return status;
}

static facet_status copy_paths(struct tree *tree, const char *path, struct case_file *file) {
    facet_status status = FACET_OK;
    const char *slash = strrchr(path, '/');
    TRY(tree_copy(tree, path, strlen(path), &file->path));
    TRY(tree_copy(tree, slash ? path : ".", slash && slash > path ? (size_t)(slash - path) : 1,
                  &file->directory));
done:
    return status;
}

/* A mesh, geometry or a picture in place of the case. by_name: also when only its name tells. */
static facet_status refuse_foreign(const char *path, const char *bytes, size_t n, int by_name) {
    struct foreign is;
    char file[128] = "";
    if (!foreign_identify(path, bytes, n, by_name, &is)) return FACET_OK;
    if (is.becomes_mesh)
        snprintf(file, sizeof file, ", and write a case with mesh: {file: ...}, see 'facet help input'");
    return base_fail(FACET_ERROR_INPUT, "%s is %s, not a case file%s%s%s", path, is.what,
                     is.advice[0] ? "; " : "", is.advice, file);
}

/* ------------------------------------------------------------------------------------------ chains */

/* One map of what the cases of a chain share and of one of them. */
static facet_status merge(struct tree *tree, const struct tree_node *root, const struct tree_node *item,
                          struct tree_node **merged) {
    facet_status status = FACET_OK;
    struct tree_node *m;
    TRY(tree_alloc(tree, sizeof *m, merged));
    m = *merged;
    *m = (struct tree_node){
        .kind = TREE_MAP, .line = item->line, .column = item->column, .setting = item->setting};
    TRY(tree_alloc(tree, (size_t)(root->n + item->n) * sizeof *m->items, &m->items));
    TRY(tree_alloc(tree, (size_t)(root->n + item->n) * sizeof *m->keys, &m->keys));
    for (int i = 0; i < root->n + item->n; i++) {
        const struct tree_node *from = i < root->n ? root : item;
        int k = i < root->n ? i : i - root->n;
        int shared = SCHEMA_IS_SHARED(from->keys[k]->text) ||
                     (strcmp(from->keys[k]->text, "title") == 0 && !tree_find(item, "title"));
        if (i < root->n ? !shared : SCHEMA_IS_SHARED(from->keys[k]->text)) continue;
        m->keys[m->n] = from->keys[k];
        m->items[m->n++] = from->items[k];
    }
done:
    return status;
}

/* Names by which cases are called are not given twice. */
static facet_status check_names(struct reader *r, const struct tree_node *cases) {
    facet_status status = FACET_OK;
    const struct tree_node **names;
    TRY(tree_alloc(r->tree, (size_t)cases->n * sizeof *names, &names));
    for (int i = 0; i < cases->n; i++) names[i] = tree_find(cases->items[i], "name");
    TRY(schema_check_duplicates(r->tree, r->issues, cases->n, names, "case"));
done:
    return status;
}

/* All cases of a chain, into a list that begins with r->file. */
static facet_status read_chain(struct reader *r) {
    facet_status status = FACET_OK;
    struct tree_node *root = r->tree->root, *cases = tree_find(root, "cases");
    struct case_file *first = r->file, *file = first;
    if (cases->kind != TREE_LIST || cases->bad) goto done;
    TRY(check_names(r, cases));
    for (int i = 0; i < cases->n; i++) {
        struct reader own = {.tree = r->tree, .issues = r->issues, .first = first};
        if (cases->items[i]->kind != TREE_MAP) continue;
        if (i > 0) {
            TRY(CALLOC(file->next, 1));
            file->next->path = first->path;
            file->next->directory = first->directory;
            file->next->n_settings = first->n_settings;
            file->next->settings = first->settings;
            file = file->next;
        }
        file->is_chain = 1;
        file->number = i;
        own.file = file;
        TRY(merge(r->tree, root, cases->items[i], &r->tree->root));
        status = read_everything(&own);
        r->tree->root = root;
        if (status != FACET_OK) goto done;
    }
done:
    r->tree->root = root;
    return status;
}

static void free_chain(struct case_file **file) {
    while (*file != NULL) {
        struct case_file *next = (*file)->next;
        base_free(file);
        *file = next;
    }
}

/* partly: as case_read_partly. */
static facet_status read_bytes(const char *path, const char *bytes, size_t n_bytes, int n_settings,
                               const char *const *settings, int partly, struct case_file **file) {
    facet_status status = FACET_OK;
    struct tree tree = {0};
    struct issues issues;
    struct reader reader = {.tree = &tree, .issues = &issues};
    *file = NULL;
    issues_init(&issues, path);
    TRY(CALLOC(reader.file, 1));
    TRY(copy_paths(&tree, path, reader.file));
    TRY(refuse_foreign(path, bytes, n_bytes, 0));
    TRY(tree_parse(&tree, bytes, n_bytes, &issues));
    if (!tree.root || tree.root->kind != TREE_MAP) TRY(refuse_foreign(path, bytes, n_bytes, 1));
    for (int i = 0; i < n_settings; i++) TRY(tree_set(&tree, settings[i], &issues));
    TRY(copy_settings(&tree, n_settings, settings, reader.file));
    TRY(schema_check(&tree, &issues));
    if (tree.root && !tree.root->bad)
        TRY(tree_find(tree.root, "cases") ? read_chain(&reader) : read_everything(&reader));
    if (tree.root && !has_bad(tree.root)) TRY(reader_check_parameters(&reader)); /* what is bad is not read */
    TRY(issues_status(&issues));
done:
    if (status == FACET_OK ||
        (status == FACET_ERROR_INPUT && partly && reader.file != NULL && reader.file->mesh.known)) {
        *file = reader.file;
        (*file)->memory = tree.chunks;
        return status;
    }
    free_chain(&reader.file);
    tree_free(&tree);
    return status;
}

facet_status case_read_bytes(const char *path, const char *bytes, size_t n_bytes, int n_settings,
                             const char *const *settings, struct case_file **file) {
    return read_bytes(path, bytes, n_bytes, n_settings, settings, 0, file);
}

#define MOST_BYTES ((off_t)64 << 20) /* of a case, which a person or a program wrote */

static facet_status read_text(const char *path, char **bytes, size_t *n) {
    struct stat info;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > MOST_BYTES)
        return base_fail(FACET_ERROR_INPUT, "%s: the file has %.3g MB; no case is larger than 64 MB", path,
                         1e-6 * (double)info.st_size);
    return file_read_whole(path, bytes, n);
}

static facet_status read_path(const char *path, struct base_team *team, int n_settings,
                              const char *const *settings, int partly, struct case_file **file) {
    facet_status status = FACET_OK;
    char *bytes = NULL;
    size_t n_bytes = 0;
    *file = NULL;
    if (team_rank(team) == 0) TRY(read_text(path, &bytes, &n_bytes));
    TRY(team_broadcast(team, 0, &n_bytes, sizeof n_bytes));
    if (team_rank(team) > 0) TRY(base_calloc(&bytes, n_bytes + 1, 1));
    TRY(team_broadcast(team, 0, bytes, (int64_t)n_bytes));
    status = read_bytes(path, bytes, n_bytes, n_settings, settings, partly, file);
done:
    base_free(&bytes);
    return status;
}

facet_status case_read(const char *path, struct base_team *team, int n_settings, const char *const *settings,
                       struct case_file **file) {
    return read_path(path, team, n_settings, settings, 0, file);
}

facet_status case_read_partly(const char *path, struct base_team *team, int n_settings,
                              const char *const *settings, struct case_file **file) {
    return read_path(path, team, n_settings, settings, 1, file);
}

void case_destroy(struct case_file **file) {
    if (!*file) return;
    struct tree tree = {.chunks = (*file)->memory};
    tree_free(&tree);
    free_chain(file);
}
