/* The data of elasticity: moduli, vectors and mechanical conditions, and which keys belong to which equation.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "case/reader.h"
#include "problem/problem.h"

#define NAME_BYTES 160

/* ------------------------------------------------------------------------------------------ the equation */

facet_equation reader_find_equation(const struct reader *r) {
    const struct tree_node *node = reader_get(r->tree->root, "equation");
    if (node) return (facet_equation)schema_word(schema_find("equation"), node->text);
    int guess = physics_count - 1; /* by a key that the others do not have */
    while (guess > 0 && !tree_find(r->tree->root, physics_of((facet_equation)guess)->keys[0])) guess--;
    return (facet_equation)guess;
}

/* Reports a key of another equation, if it is there; prefix: of its name. */
static int refuse_key(struct reader *r, const struct tree_node *map, const char *prefix, const char *key,
                      const struct physics *owner) {
    const struct tree_node *node = tree_find(map, key);
    if (node) issues_add(r->issues, node, "%s%s: belongs to equation: %s", prefix, key, owner->name);
    return node != NULL;
}

int reader_refuse_parts(struct reader *r, const struct tree_node *item, const char *name) {
    char prefix[NAME_BYTES];
    int n = 0;
    snprintf(prefix, sizeof prefix, "%s.", name);
    for (int e = 0; e < physics_count; e++) {
        const struct physics *other = physics_of((facet_equation)e);
        for (const char *const *key = other->parts; e != (int)r->file->equation && *key != NULL; key++)
            n += refuse_key(r, item, prefix, *key, other);
    }
    return n;
}

void reader_check_equation(struct reader *r) {
    const struct tree_node *root = r->tree->root, *discretization = reader_get(root, "discretization");
    const struct tree_node *plane = tree_find(root, "plane");
    static const char prefix[] = "discretization.";
    size_t length = strlen(prefix);
    for (int e = 0; e < physics_count; e++) {
        const struct physics *other = physics_of((facet_equation)e);
        for (const char *const *key = other->keys; e != (int)r->file->equation && *key != NULL; key++) {
            int inside = strncmp(*key, prefix, length) == 0;
            refuse_key(r, inside ? discretization : root, inside ? prefix : "", *key + (inside ? length : 0),
                       other);
        }
    }
    if (plane && r->dim == 3)
        issues_add(r->issues, plane, "plane: belongs to 2D, but the box has 3 dimensions; remove it");
}

/* ------------------------------------------------------------------------------------------ moduli */

/* What can be said of the two numbers together, each being within its bounds; of E and nu the latter alone
 * tells. Constants of a pair that is not complete are not set. */
static void check_moduli(struct reader *r, const struct tree_node *map, const char *name, int young,
                         const struct reader_constant values[2]) {
    const double pair[2] = {young ? 1.0 : values[0].value, values[1].value};
    char fault[256];
    int second = young ? pair[1] >= 0.5 : pair[1] < 0.0; /* it alone is wrong */
    int good = young ? pair[1] > -1.0 : pair[0] > 0.0;
    const char *row = young ? "material.nu" : "material.lambda";
    if (!values[1].is_constant || !(young || values[0].is_constant) || !good) return;
    if (problem_find_fault(young, pair, fault, sizeof fault) != NULL)
        issues_add(r->issues, second ? reader_get(map, row) : map, "%s%s: %s", name,
                   second ? row + strlen("material") : "", fault);
}

/* The expressions of a key behind those that are there: a list of them, or one. */
static facet_status read_constants(struct reader *r, const struct tree_node *map, const char *row,
                                   const char *name, struct case_text *to, int *n) {
    facet_status status = FACET_OK;
    const struct tree_node *node = reader_get(map, row);
    struct reader_constant constant;
    char full[NAME_BYTES];
    snprintf(full, sizeof full, "%s.%s", name, schema_key(schema_find(row)));
    *n = node == NULL || node->kind == TREE_MAP ? 0 : node->kind == TREE_LIST ? node->n : 1;
    for (int i = 0; i < *n && i < 3; i++)
        TRY(reader_copy_expression(r, node->kind == TREE_LIST ? node->items[i] : node, NULL, full, &to[i],
                                   &constant));
done:
    return status;
}

/* All of them in the order of facet_problem_set_orthotropic. */
static facet_status read_orthotropic(struct reader *r, const struct tree_node *map, const char *outer,
                                     struct case_material *m) {
    static const char *const rows[5] = {"material.orthotropic.E", "material.orthotropic.nu",
                                        "material.orthotropic.G", "material.orthotropic.first",
                                        "material.orthotropic.second"};
    facet_status status = FACET_OK;
    char name[NAME_BYTES];
    int n[5];
    snprintf(name, sizeof name, "%s.orthotropic", outer);
    for (int i = 0; i < 3; i++) {
        TRY(read_constants(r, map, rows[i], name, m->constants + m->n_constants, &n[i]));
        m->n_constants += n[i] <= 3 ? n[i] : 3;
    }
    for (int i = 3; i < 5; i++) {
        TRY(read_constants(r, map, rows[i], name, m->axes + m->n_axes, &n[i]));
        m->n_axes += n[i] <= 3 ? n[i] : 3;
        if (n[i] > 0 && r->dim > 0 && n[i] != r->dim)
            issues_add(r->issues, reader_get(map, rows[i]),
                       "%s.%s: has %d components, but the box has %d dimensions", name,
                       schema_key(schema_find(rows[i])), n[i], r->dim);
    }
    if (n[0] == 0 || n[1] == 0 || n[2] == 0) return FACET_OK; /* refused already */
    if (!(n[0] == 3 && n[1] == 3 && n[2] == 3) && !(n[0] == 2 && n[1] == 1 && n[2] == 1 && r->dim != 3))
        issues_add(r->issues, map, "%s: needs E, nu and G of three%s", name,
                   r->dim == 3 ? "" : ", or in plane: stress E of two, and one nu and G");
    if (n[4] > 0 && (n[3] == 0 || r->dim == 2))
        issues_add(r->issues, map, "%s.second: %s", name,
                   r->dim == 2 ? "belongs to 3D; in 2D axis 2 is across the first"
                               : "comes together with first");
    if (n[3] > 0 && n[4] == 0 && r->dim == 3)
        issues_add(r->issues, map, "%s.first: comes together with second", name);
done:
    return status;
}

static facet_status read_moduli(struct reader *r, const struct tree_node *map, const char *name,
                                struct case_material *material) {
    static const char *const keys[4] = {"mu", "lambda", "E", "nu"};
    static const char *const rows[4] = {"material.mu", "material.lambda", "material.E", "material.nu"};
    facet_status status = FACET_OK;
    struct reader_constant values[2] = {{0}};
    int lame = 0, young = 0, one = 0;
    for (int i = 0; i < 4; i++)
        if (tree_find(map, keys[i])) *(i < 2 ? &lame : &young) += 1, one = i;
    const struct tree_node *orthotropic = reader_get(map, "material.orthotropic");
    if (tree_find(map, "orthotropic") && lame + young > 0)
        issues_add(r->issues, map, "%s: mixes orthotropic with mu, lambda, E or nu; keep one", name);
    if (tree_find(map, "orthotropic"))
        return orthotropic && orthotropic->kind == TREE_MAP ? read_orthotropic(r, orthotropic, name, material)
                                                            : FACET_OK;
    if (lame > 0 && young > 0)
        issues_add(r->issues, map, "%s: mixes mu, lambda with E, nu; keep one pair", name);
    else if (lame + young == 0)
        issues_add(r->issues, map, "%s: needs mu and lambda, or E and nu, or orthotropic", name);
    else if (lame + young == 1)
        issues_add(r->issues, map, "%s: %s comes together with %s", name, keys[one], keys[one ^ 1]);
    material->which = young > 0 ? "E,nu" : "mu,lambda";
    for (int k = 0; k < 2; k++) {
        int i = k + (young > 0 ? 2 : 0);
        const struct tree_node *node = reader_get(map, rows[i]);
        char full[NAME_BYTES];
        if (!node || node->kind != TREE_SCALAR) continue;
        snprintf(full, sizeof full, "%s.%s", name, keys[i]);
        TRY(reader_copy_expression(r, node, rows[i], full, &material->value[k], &values[k]));
    }
    check_moduli(r, map, name, young > 0, values);
done:
    return status;
}

facet_status reader_read_material(struct reader *r) {
    facet_status status = FACET_OK;
    const struct tree_node *root = r->tree->root, *node = reader_get(root, "material"), **names;
    if (!tree_find(root, "material"))
        issues_add(r->issues, root,
                   "missing key \"material\"; elasticity needs {mu: ..., lambda: ...} or {E: ..., nu: ...}");
    if (!node) goto done;
    int n_items = node->kind == TREE_LIST ? node->n : 1, at = 0;
    int n = node->kind == TREE_LIST ? reader_count_names(node, "material[].on") : 1;
    if (n_items == 0)
        issues_add(r->issues, node,
                   "material: the list is empty; give {on: group, mu: ..., lambda: ...} for each group");
    TRY(tree_alloc(r->tree, (size_t)n * sizeof *names, &names));
    TRY(tree_alloc(r->tree, (size_t)n * sizeof *r->file->material, &r->file->material));
    r->file->n_material = n;
    r->file->regions_place = reader_place(node);
    for (int i = 0; i < n_items; i++) {
        char name[NAME_BYTES / 2] = "material";
        const struct tree_node *item = node->kind == TREE_LIST ? node->items[i] : node;
        const struct tree_node *on = node->kind == TREE_LIST ? reader_get(item, "material[].on") : NULL;
        struct case_material material = {.place = reader_place(item)};
        if (node->kind == TREE_LIST) snprintf(name, sizeof name, "material.%d", i);
        if (item->kind == TREE_MAP) TRY(read_moduli(r, item, name, &material));
        for (int k = 0; k < reader_n_names(on); k++, at++) {
            names[at] = reader_name(on, k);
            if (on) material.on = names[at]->text, material.on_place = reader_place(names[at]);
            r->file->material[at] = material;
        }
    }
    TRY(schema_check_duplicates(r->tree, r->issues, n, names, "group"));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ vectors */

int reader_take_exact(struct reader *r, const struct tree_node *node, const char *name,
                      struct case_text *out) {
    if (node->kind != TREE_SCALAR || strcmp(node->text, "exact") != 0) return 0;
    if (!tree_find(r->tree->root, "exact"))
        issues_add(r->issues, node, "%s: is exact, but the case gives no exact solution", name);
    *out = (struct case_text){node->text, reader_place(node)};
    return 1;
}

/* A list of expressions; of boundary data some may be null, and all others exact. */
static facet_status read_components(struct reader *r, const struct tree_node *list, const char *name,
                                    int boundary, struct case_vector *out) {
    facet_status status = FACET_OK;
    int n_exact = 0, n_null = 0;
    struct reader_constant constant;
    out->n = list->n;
    if (r->dim > 0 && list->n != r->dim)
        issues_add(r->issues, list, "%s: has %d components, but the box has %d dimensions", name, list->n,
                   r->dim);
    for (int i = 0; i < list->n; i++) {
        const struct tree_node *item = list->items[i];
        char full[NAME_BYTES + 16];
        snprintf(full, sizeof full, "%s.%d", name, i);
        if (schema_is_null(item)) {
            n_null++;
        } else if (boundary && reader_take_exact(r, item, full, &out->texts[i])) {
            n_exact++;
        } else {
            TRY(reader_copy_expression(r, item, NULL, full, &out->texts[i], &constant));
        }
    }
    if (n_exact > 0 && n_exact + n_null < list->n)
        issues_add(r->issues, list, "%s: mixes exact with other data; make all components exact, or none",
                   name);
    if (n_null == list->n)
        issues_add(r->issues, list, "%s: gives no component; remove it, or give one", name);
done:
    return status;
}

facet_status reader_read_vector(struct reader *r, const struct tree_node *map, const char *row,
                                const char *name, int boundary, struct case_vector *out) {
    struct reader_constant constant;
    char full[NAME_BYTES];
    const struct tree_node *node = reader_get(map, row);
    const struct physics *physics = physics_of(r->file->equation);
    int is_vector = physics->entries[0]->is_vector;
    if (!node || node->kind == TREE_MAP) return FACET_OK;
    snprintf(full, sizeof full, "%s%s%s", name, *name ? "." : "", schema_key(schema_find(row)));
    out->place = reader_place(node);
    if (node->kind == TREE_LIST && is_vector) return read_components(r, node, full, boundary, out);
    if (node->kind == TREE_LIST) {
        issues_add(r->issues, node, "%s: %s has one unknown; write an expression, not a list", full,
                   physics->name);
        return FACET_OK;
    }
    out->n = 1;
    if (!is_vector) return reader_copy_expression(r, node, row, full, &out->texts[0], &constant);
    if (!boundary || !reader_take_exact(r, node, full, &out->texts[0])) {
        out->n = 0;
        issues_add(r->issues, node, "%s: must be a list of %s%s, not \"%s\"", full,
                   r->dim == 2   ? "2 expressions"
                   : r->dim == 3 ? "3 expressions"
                                 : "2 expressions (3 in 3D)",
                   boundary ? ", or the word exact" : "", issues_word(node->text).text);
    }
    return FACET_OK;
}
