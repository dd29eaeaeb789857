/* What is wanted from the solution: the output file and the values. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "case/reader.h"

#define NAME_BYTES 64

/* In 2D the vorticity is a scalar; of a mesh file the dimension is not known here. */
static enum hdg_form find_form(const struct reader *r, const char *name) {
    const struct physics *physics = physics_of(r->file->equation);
    int field = hdg_find_field(name), is_vector = physics->entries[0]->is_vector;
    enum hdg_form form = field >= 0                            ? hdg_fields[field].form
                         : strcmp(name, physics->through) == 0 ? HDG_AS_U
                                                               : HDG_SCALAR;
    if (form == HDG_AS_U) return is_vector ? HDG_VECTOR : HDG_SCALAR;
    if (form == HDG_CURL) return r->dim == 2 ? HDG_SCALAR : HDG_VECTOR;
    return form;
}

/* Fields of another equation, or of another way to write this one; returns 0 after an issue. */
static int check_owner(struct reader *r, const struct tree_node *node, const char *name) {
    const struct physics *own = physics_of(r->file->equation), *owner = physics_of_field(own, node->text);
    int field = hdg_find_field(node->text);
    char instead[192];
    if (owner == NULL) return 1; /* trace, error and cell, which every equation has */
    if (owner != own) {
        issues_add(r->issues, node, "%s: %s belongs to equation: %s", name, node->text, owner->name);
        return 0;
    }
    if (field < 0 || equation_has_field(physics_entry(own, &r->file->options), (enum hdg_field)field))
        return 1;
    const char *word =
        physics_elsewhere(own, &r->file->options, (enum hdg_field)field, instead, sizeof instead);
    issues_add(r->issues, node, "%s: %s belongs to %s: %s%s", name, node->text, option_paths[own->chosen_by],
               word, instead);
    return 0;
}

/* Fields that exist only under conditions. */
static void check_field(struct reader *r, const struct tree_node *node, const char *name) {
    int method = r->file->options.discretization, field = hdg_find_field(node->text);
    if (!check_owner(r, node, name)) return;
    if (method == DISCRETIZATION_CONTINUOUS && !strcmp(node->text, "trace"))
        issues_add(r->issues, node, "%s: trace belongs to discretization.method: hdg and condensed", name);
    else if (field >= 0 && hdg_fields[field].star && !r->file->options.postprocess)
        issues_add(r->issues, node, "%s: %s needs discretization.postprocess: true", name, node->text);
    if (!strcmp(node->text, "error") && !tree_find(r->tree->root, "exact"))
        issues_add(r->issues, node, "%s: error needs an exact solution", name);
}

facet_status reader_read_output(struct reader *r) {
    facet_status status = FACET_OK;
    const struct tree_node *map = reader_get(r->tree->root, "output");
    const struct tree_node *file = reader_get(map, "output.file"), *fields = reader_get(map, "output.fields");
    if (file) {
        size_t n = strlen(file->text);
        if (n < 5 || strcmp(file->text + n - 4, ".vtu") != 0 || file->text[n - 5] == '/')
            issues_add(r->issues, file, "output.file: must be a name that ends in .vtu, not \"%s\"",
                       issues_word(file->text).text);
        r->file->output.file = file->text;
    }
    r->file->output.order = reader_integer(map, "output.order");
    r->file->output.pieces = reader_integer(map, "output.pieces");
    if (!fields) goto done;
    if (fields->n == 0)
        issues_add(r->issues, fields, "output.fields: is empty; name a field, or leave the key out");
    TRY(tree_alloc(r->tree, (size_t)fields->n * sizeof *r->file->output.fields, &r->file->output.fields));
    r->file->output.n_fields = fields->n;
    for (int i = 0; i < fields->n; i++) {
        check_field(r, fields->items[i], "output.fields");
        r->file->output.fields[i] = fields->items[i]->text;
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ values */

/* One entry of `values` on its way into the struct. */
struct value_reader {
    struct reader *r;
    const struct tree_node *item;
    struct case_value *value;
    char name[NAME_BYTES]; /* values.3: for messages */
};

static void copy_point(struct value_reader *v, const struct tree_node *list, const char *key,
                       double point[3]) {
    if (v->r->dim > 0 && list->n != v->r->dim)
        issues_add(v->r->issues, list, "%s.%s: a point of the box has %d coordinates, not %d", v->name, key,
                   v->r->dim, list->n);
    for (int d = 0; d < list->n; d++) schema_parse_number(list->items[d]->text, &point[d]);
    if (v->value->n_coordinates == 0 || list->n < v->value->n_coordinates) v->value->n_coordinates = list->n;
}

static int is_same_point(const double a[3], const double b[3]) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* Exactly one of at, take, along; returns 0 after an issue. */
static int read_kind(struct value_reader *v) {
    static const char *const keys[3] = {"at", "take", "along"};
    const struct tree_node *take = reader_get(v->item, "values[].take");
    int n = 0;
    for (int i = 0; i < 3; i++) n += tree_find(v->item, keys[i]) != NULL;
    if (n != 1) {
        issues_add(v->r->issues, v->item, "%s: needs %s of at, take and along", v->name,
                   n ? "one, not several," : "one");
        return 0;
    }
    v->value->take = take ? (enum case_take)schema_word(schema_find("values[].take"), take->text)
                     : tree_find(v->item, "along") ? CASE_ALONG
                                                   : CASE_AT;
    return !tree_find(v->item, "take") || take;
}

static void need_key(struct value_reader *v, const char *key, int allowed, const char *with) {
    const struct tree_node *node = tree_find(v->item, key);
    if (node && !allowed)
        issues_add(v->r->issues, node, "%s.%s: makes sense only with %s", v->name, key, with);
}

/* One letter for a vector, two for a tensor, none for a scalar. */
static void check_component(struct value_reader *v, const struct tree_node *field,
                            const struct tree_node *component) {
    enum hdg_form form = find_form(v->r, field->text);
    if (form == HDG_SCALAR)
        issues_add(v->r->issues, component, "%s.component: %s is a scalar; remove the component", v->name,
                   field->text);
    else if ((form == HDG_TENSOR) != (component->text[1] != '\0'))
        issues_add(v->r->issues, component, "%s.component: %s is a %s; its components are %s", v->name,
                   field->text, form == HDG_TENSOR ? "tensor" : "vector",
                   form == HDG_TENSOR ? "xx, xy, ..." : "x, y, z");
}

/* flux and traction live on a part of the boundary. */
static void check_through(struct value_reader *v, const struct tree_node *field) {
    const struct physics *physics = physics_of(v->r->file->equation);
    if (strcmp(field->text, physics->through) != 0) return;
    if (v->value->take == CASE_ALONG || v->value->take == CASE_AT)
        issues_add(v->r->issues, field, "%s.field: %s is %s on a part of the boundary; it needs take and on",
                   v->name, field->text, physics->through_formula);
    else if (!tree_find(v->item, "on"))
        issues_add(v->r->issues, v->item, "%s: %s needs on, the part of the boundary it %s", v->name,
                   field->text, physics->through_verb);
    else if (v->value->take != CASE_INTEGRAL && v->value->take != CASE_MEAN)
        issues_add(v->r->issues, field, "%s.field: %s has an integral or a mean only", v->name, field->text);
}

/* What the kind of value and the field allow together. */
static void check_combination(struct value_reader *v) {
    struct reader *r = v->r;
    const struct tree_node *field = reader_get(v->item, "values[].field");
    const struct tree_node *component = reader_get(v->item, "values[].component");
    int along = v->value->take == CASE_ALONG, at = v->value->take == CASE_AT;
    need_key(v, "points", along, "along");
    need_key(v, "file", along, "along");
    need_key(v, "on", !along && !at, "take");
    if (component && strchr(component->text, 'z') && r->dim == 2)
        issues_add(r->issues, component, "%s.component: a box of 2 dimensions has no z", v->name);
    if (!field) return;
    check_field(r, field, v->name);
    if (component) check_component(v, field, component);
    check_through(v, field);
}

/* The parts or groups that a value is taken on. */
static facet_status read_on(struct value_reader *v) {
    facet_status status = FACET_OK;
    const struct tree_node *on = reader_get(v->item, "values[].on"), **names;
    int n = on ? reader_n_names(on) : 0;
    TRY(tree_alloc(v->r->tree, (size_t)n * sizeof *names, &names));
    TRY(tree_alloc(v->r->tree, (size_t)n * sizeof *v->value->on, &v->value->on));
    TRY(tree_alloc(v->r->tree, (size_t)n * sizeof *v->value->on_places, &v->value->on_places));
    for (int i = 0; i < n; i++) {
        char full[NAME_BYTES + 24];
        names[i] = reader_name(on, i);
        v->value->on[i] = names[i]->text;
        v->value->on_places[i] = reader_place(names[i]);
        snprintf(full, sizeof full, on->kind == TREE_LIST ? "%s.on.%d" : "%s.on", v->name, i);
        reader_check_side(v->r, names[i], full, 1);
    }
    v->value->n_on = n;
    TRY(schema_check_duplicates(v->r->tree, v->r->issues, n, names, "name"));
done:
    return status;
}

static facet_status read_value(struct value_reader *v) {
    const struct tree_node *component = reader_get(v->item, "values[].component");
    const struct tree_node *at = reader_get(v->item, "values[].at");
    const struct tree_node *along = reader_get(v->item, "values[].along");
    v->value->place = reader_place(v->item);
    v->value->component = component ? component->text[0] - 'x' : -1;
    v->value->column = component && component->text[1] != '\0' ? component->text[1] - 'x' : -1;
    v->value->name = reader_text(v->item, "values[].name");
    v->value->field = reader_text(v->item, "values[].field");
    v->value->file = reader_text(v->item, "values[].file");
    if (!read_kind(v)) return FACET_OK;
    check_combination(v);
    if (at) copy_point(v, at, "at", v->value->from);
    if (along) {
        copy_point(v, along->items[0], "along", v->value->from);
        copy_point(v, along->items[1], "along", v->value->to);
        if (is_same_point(v->value->from, v->value->to))
            issues_add(v->r->issues, along, "%s.along: the two points are the same", v->name);
        v->value->n_points = reader_integer(v->item, "values[].points");
    }
    return read_on(v);
}

facet_status reader_read_values(struct reader *r) {
    facet_status status = FACET_OK;
    const struct tree_node *list = reader_get(r->tree->root, "values"), **names;
    if (!list) goto done;
    TRY(tree_alloc(r->tree, (size_t)list->n * sizeof *names, &names));
    TRY(tree_alloc(r->tree, (size_t)list->n * sizeof *r->file->values, &r->file->values));
    r->file->n_values = list->n;
    for (int i = 0; i < list->n; i++) {
        struct value_reader v = {.r = r, .item = list->items[i], .value = &r->file->values[i]};
        snprintf(v.name, sizeof v.name, "values.%d", i);
        names[i] = reader_get(v.item, "values[].name");
        if (v.item->kind == TREE_MAP) TRY(read_value(&v));
    }
    TRY(schema_check_duplicates(r->tree, r->issues, list->n, names, "value name"));
done:
    return status;
}
