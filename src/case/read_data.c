/* The data of the equation: parameters, coefficients, boundary conditions, tau. Expressions are kept as text;
 * they are compiled here once, to find what is wrong with them while their place is known. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/guess.h"
#include "base/memory.h"
#include "case/reader.h"

#define NAME_BYTES     64
#define MAX_PARAMETERS 1000 /* names are looked up one by one */
#define UNUSED_BYTES   256  /* of the names that a note has room for */

/* ------------------------------------------------------------------------------------------ expressions */

static size_t trimmed_length(const char *text) {
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1])) n--;
    return n;
}

/* An unquoted comma inside { } or [ ] ends the text there, and cuts a call in two. */
static const char *comma_hint(const struct tree_node *node) {
    int open = 0;
    for (const char *c = node->text; *c; c++) open += (*c == '(') - (*c == ')');
    return open > 0 && !node->quoted ? "; quote an expression that contains a comma" : "";
}

/* The parameters that a text reads are marked, those of a text with a mistake as well. */
static void mark_parameters(const struct reader *r, const char *text) {
    const struct tree_node *map = reader_get(r->tree->root, "parameters");
    for (int i = 0; map && map->kind == TREE_MAP && i < map->n; i++)
        if (!map->keys[i]->used) map->keys[i]->used = expr_reads(text, map->keys[i]->text);
}

/* Compiles the text; if it is constant, its value must exist and lie within the bounds of `row` (NULL: no
 * bounds). */
static facet_status check_expression(struct reader *r, const struct tree_node *node, const char *row,
                                     const char *name, const char *text, struct reader_constant *constant) {
    facet_status status = FACET_OK;
    struct expr *expr = NULL;
    const double origin[3] = {0, 0, 0};
    constant->is_constant = 0;
    mark_parameters(r, text);
    status = expr_compile(text, r->file->n_parameters, r->file->parameters, &expr);
    if (status == FACET_OK && r->dim > 0 && expr_n_coordinates(expr) > r->dim)
        status = base_fail(FACET_ERROR_INPUT, "a box of %d dimensions has no %c", r->dim,
                           "xyz"[expr_n_coordinates(expr) - 1]);
    if (status == FACET_OK && expr_reads_normal(expr) && strncmp(name, "boundary", 8) != 0)
        status = base_fail(FACET_ERROR_INPUT, "the normal nx, ny, nz belongs to boundary conditions");
    if (status == FACET_OK && expr_is_constant(expr, NULL)) {
        status = expr_eval(expr, 1, 3, origin, NULL, &constant->value, NULL, NULL);
        constant->is_constant = status == FACET_OK;
    }
    if (status == FACET_ERROR_INPUT) {
        issues_add(r->issues, node, "%s: %s%s", name, base_message(), comma_hint(node));
        status = FACET_OK;
    } else if (status == FACET_OK && constant->is_constant && row &&
               !schema_in_bounds(schema_find(row), constant->value)) {
        char phrase[128];
        schema_phrase(schema_find(row), SCHEMA_EXPRESSION, phrase, sizeof phrase);
        issues_add(r->issues, node, "%s: must be %s, not %.10g", name, phrase, constant->value);
    }
    expr_destroy(&expr);
    return status;
}

facet_status reader_copy_expression(struct reader *r, const struct tree_node *node, const char *row,
                                    const char *name, struct case_text *out,
                                    struct reader_constant *constant) {
    facet_status status = FACET_OK;
    TRY(tree_copy(r->tree, node->text, trimmed_length(node->text), &out->text));
    out->place = reader_place(node);
    TRY(check_expression(r, node, row, name, out->text, constant));
done:
    return status;
}

/* The expression at a key of a map, if there is one; name: of the map, for messages ("": the file). */
static facet_status read_expression(struct reader *r, const struct tree_node *map, const char *row,
                                    const char *name, struct case_text *out) {
    struct reader_constant constant;
    char full[4 * NAME_BYTES];
    const struct tree_node *node = reader_get(map, row);
    if (!node || node->kind != TREE_SCALAR) return FACET_OK;
    snprintf(full, sizeof full, "%s%s%s", name, *name ? "." : "", schema_key(schema_find(row)));
    return reader_copy_expression(r, node, row, full, out, &constant);
}

/* The same for boundary data, which may be the word "exact". */
static facet_status read_boundary_data(struct reader *r, const struct tree_node *map, const char *row,
                                       const char *name, struct case_text *out) {
    char full[2 * NAME_BYTES];
    const struct tree_node *node = reader_get(map, row);
    if (!node) return FACET_OK;
    snprintf(full, sizeof full, "%s.%s", name, schema_key(schema_find(row)));
    return reader_take_exact(r, node, full, out) ? FACET_OK : read_expression(r, map, row, name, out);
}

/* ------------------------------------------------------------------------------------------ parameters */

static int is_known_parameter(const struct case_file *file, const char *name) {
    for (int i = 0; i < file->n_parameters; i++)
        if (!strcmp(file->parameters[i].name, name)) return 1;
    return 0;
}

/* The value of a parameter that is no number: an expression of those before it. */
static facet_status read_parameter(struct reader *r, const struct tree_node *map, int i, double *value) {
    facet_status status = FACET_OK;
    const struct tree_node *node = map->items[i];
    const double origin[3] = {0, 0, 0};
    struct expr *expr = NULL;
    char hint[2 * NAME_BYTES] = "";
    mark_parameters(r, node->text);
    status = expr_compile(node->text, r->file->n_parameters, r->file->parameters, &expr);
    if (status == FACET_OK && !expr_is_constant(expr, NULL))
        status = base_fail(FACET_ERROR_INPUT, "must be a number, or an expression of parameters before it");
    if (status == FACET_OK) status = expr_eval(expr, 1, 3, origin, NULL, value, NULL, NULL);
    for (int k = i; status == FACET_ERROR_INPUT && k < map->n; k++) {
        char quoted[NAME_BYTES];
        snprintf(quoted, sizeof quoted, "'%s'", map->keys[k]->text);
        if (strstr(base_message(), quoted))
            snprintf(hint, sizeof hint, "; %s stands %s", quoted, k > i ? "after it: put it before" : "here");
    }
    if (status == FACET_ERROR_INPUT) {
        issues_add(r->issues, node, "parameters.%s: %s%s%s", issues_word(map->keys[i]->text).text,
                   base_message(), hint, comma_hint(node));
        status = FACET_OK;
    }
    expr_destroy(&expr);
    return status;
}

facet_status reader_read_parameters(struct reader *r) {
    facet_status status = FACET_OK;
    struct expr *probe = NULL;
    const struct tree_node *map = reader_get(r->tree->root, "parameters");
    if (!map || map->kind != TREE_MAP) goto done;
    if (map->n > MAX_PARAMETERS) {
        issues_add(r->issues, map, "parameters: %d names are more than the %d that are allowed", map->n,
                   MAX_PARAMETERS);
        goto done;
    }
    TRY(tree_alloc(r->tree, (size_t)map->n * sizeof *r->file->parameters, &r->file->parameters));
    for (int i = 0; i < map->n; i++) {
        struct expr_parameter parameter = {.name = map->keys[i]->text, .value = 1};
        if (map->keys[i]->bad || is_known_parameter(r->file, parameter.name)) continue;
        status = expr_compile("0", 1, &parameter, &probe); /* whether the name may be used */
        expr_destroy(&probe);
        if (status == FACET_ERROR_INPUT) {
            issues_add(r->issues, map->keys[i], "parameters: %s", base_message());
            status = FACET_OK;
            continue;
        }
        if (status != FACET_OK) goto done;
        if (!map->items[i]->bad && !schema_parse_number(map->items[i]->text, &parameter.value))
            TRY(read_parameter(r, map, i, &parameter.value));
        r->file->parameters[r->file->n_parameters++] = parameter;
    }
done:
    return status;
}

/* Whether a name was added to the file by --set parameters.NAME. */
static int is_made_up(const struct tree_node *key) {
    return key->setting && strncmp(key->setting, "parameters.", 11) == 0;
}

static void refuse_parameter(struct reader *r, const struct tree_node *map, const struct tree_node *key) {
    char known[UNUSED_BYTES] = "";
    struct guess guess = guess_begin(key->text);
    for (int i = 0; i < map->n; i++) {
        if (is_made_up(map->keys[i])) continue;
        guess_consider(&guess, map->keys[i]->text);
        issues_append(known, sizeof known, map->keys[i]->text);
    }
    issues_add(r->issues, key, "the file has no parameter '%s', and no expression that uses it; %s%s%s",
               issues_word(key->text).text,
               guess.nearest ? "did you mean '"
               : known[0]    ? "its parameters are: "
                             : "it has no parameters",
               guess.nearest ? guess.nearest : known, guess.nearest ? "'?" : "");
}

facet_status reader_check_parameters(struct reader *r) {
    facet_status status = FACET_OK;
    char names[UNUSED_BYTES] = "";
    const struct tree_node *map = reader_get(r->tree->root, "parameters");
    if (!map || map->kind != TREE_MAP) goto done;
    for (int i = 0; i < map->n; i++) {
        const struct tree_node *key = map->keys[i];
        char quoted[NAME_BYTES];
        if (key->used || key->bad) continue;
        snprintf(quoted, sizeof quoted, "'%s'", issues_word(key->text).text);
        if (is_made_up(key))
            refuse_parameter(r, map, key);
        else
            issues_append(names, sizeof names, quoted);
    }
    if (names[0]) TRY(tree_copy(r->tree, names, strlen(names), &r->file->unused));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ conductivity */

/* By Cholesky's factorization of the dim x dim matrix, to which `slack` times its largest entry is added. */
static int is_positive_definite(int dim, double K[9], double slack) {
    double size = 0.0;
    for (int i = 0; i < dim * dim; i++) size = fmax(size, fabs(K[i]));
    if (slack > 0.0 && size == 0.0) return 1;
    for (int j = 0; j < dim; j++) {
        double rounding = 16.0 * DBL_EPSILON * K[j * dim + j];
        K[j * dim + j] += slack * size;
        for (int k = 0; k < j; k++) K[j * dim + j] -= K[j * dim + k] * K[j * dim + k];
        if (!(K[j * dim + j] > 0 && K[j * dim + j] > rounding)) return 0;
        K[j * dim + j] = sqrt(K[j * dim + j]);
        for (int i = j + 1; i < dim; i++) {
            for (int k = 0; k < j; k++) K[i * dim + j] -= K[i * dim + k] * K[j * dim + k];
            K[i * dim + j] /= K[j * dim + j];
        }
    }
    return 1;
}

/* The texts are trimmed at the end already. */
static int is_same_text(const struct case_text *a, const struct case_text *b) {
    return !strcmp(a->text + strspn(a->text, " \t\r\n"), b->text + strspn(b->text, " \t\r\n"));
}

static void check_matrix(struct reader *r, const struct tree_node *node, const char *name, double slack,
                         const char *what, const struct case_text *entries,
                         const struct reader_constant *constants) {
    int dim = node->n, all_constant = 1, symmetric = 1;
    double K[9];
    for (int i = 0; i < dim; i++) {
        for (int j = 0; j < dim; j++) {
            int here = i * dim + j, there = j * dim + i;
            K[here] = constants[here].value;
            all_constant &= constants[here].is_constant;
            if (j >= i || is_same_text(&entries[here], &entries[there])) continue;
            if (constants[here].is_constant && constants[there].is_constant &&
                constants[here].value == constants[there].value)
                continue;
            issues_add(
                r->issues, node->items[i]->items[j],
                "%s: the matrix must be symmetric: row %d, column %d is \"%s\", but row %d, column %d is "
                "\"%s\"",
                name, i + 1, j + 1, issues_word(entries[here].text).text, j + 1, i + 1,
                issues_word(entries[there].text).text);
            symmetric = 0;
        }
    }
    if (all_constant && symmetric && !is_positive_definite(dim, K, slack))
        issues_add(r->issues, node, "%s: the matrix must be positive %s", name, what);
    if (r->dim > 0 && dim != r->dim)
        issues_add(r->issues, node, "%s: a matrix of size %d for a box of %d dimensions", name, dim, r->dim);
}

facet_status reader_read_matrix(struct reader *r, const struct tree_node *node, const char *name,
                                double slack, const char *what, struct case_text *entries) {
    facet_status status = FACET_OK;
    struct reader_constant constants[9];
    for (int k = 0; k < node->n * node->n; k++) {
        const struct tree_node *entry = node->items[k / node->n]->items[k % node->n];
        TRY(reader_copy_expression(r, entry, NULL, name, &entries[k], &constants[k]));
    }
    check_matrix(r, node, name, slack, what, entries, constants);
done:
    return status;
}

/* A value of the conductivity on one region: a scalar or a matrix. */
static facet_status read_region_value(struct reader *r, const struct tree_node *node, const char *row,
                                      const char *name, struct case_region_value *region) {
    facet_status status = FACET_OK;
    struct reader_constant constant;
    if (node->kind == TREE_SCALAR) {
        region->n = 1;
        TRY(reader_copy_expression(r, node, row, name, &region->value[0], &constant));
    } else if (node->kind == TREE_LIST) {
        region->n = node->n * node->n;
        TRY(reader_read_matrix(r, node, name, 0.0, "definite", region->value));
    }
done:
    return status;
}

static facet_status read_regions(struct reader *r, const struct tree_node *list) {
    facet_status status = FACET_OK;
    const struct tree_node **names;
    int n = reader_count_names(list, "conductivity[].on"), at = 0;
    if (list->n == 0)
        issues_add(r->issues, list,
                   "conductivity: the list is empty; give {on: group, value: ...} for each group");
    TRY(tree_alloc(r->tree, (size_t)n * sizeof *names, &names));
    TRY(tree_alloc(r->tree, (size_t)n * sizeof *r->file->conductivity, &r->file->conductivity));
    r->file->n_conductivity = n;
    r->file->regions_place = reader_place(list);
    for (int i = 0; i < list->n; i++) {
        char name[NAME_BYTES];
        struct case_region_value region = {.place = reader_place(list->items[i])};
        const struct tree_node *value = reader_get(list->items[i], "conductivity[].value"),
                               *on = reader_get(list->items[i], "conductivity[].on");
        snprintf(name, sizeof name, "conductivity.%d.value", i);
        if (value) TRY(read_region_value(r, value, "conductivity[].value", name, &region));
        for (int k = 0; k < reader_n_names(on); k++, at++) {
            names[at] = reader_name(on, k);
            if (on) region.on = names[at]->text, region.on_place = reader_place(names[at]);
            r->file->conductivity[at] = region;
        }
    }
    TRY(schema_check_duplicates(r->tree, r->issues, n, names, "group"));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ by group */

/* One of them: as many components as the equation has unknowns, or one. */
static facet_status read_share(struct reader *r, const struct tree_node *map, const char *row,
                               const char *name, int scalar, struct case_vector *to) {
    if (!scalar) return reader_read_vector(r, map, row, name, 0, to);
    facet_status status = read_expression(r, map, row, name, &to->texts[0]);
    to->n = to->texts[0].text != NULL;
    return status;
}

/* A value for all cells, or a list of values by group. rows: of the key, of its `on` and its `value`. */
static facet_status read_shares(struct reader *r, const struct tree_node *map, const char *const rows[3],
                                const char *prefix, int scalar, struct case_shares *to) {
    facet_status status = FACET_OK;
    const struct tree_node *node = reader_get(map, rows[0]), **names;
    int by_group = node && node->kind == TREE_LIST && (node->n == 0 || node->items[0]->kind == TREE_MAP);
    int n = by_group ? reader_count_names(node, rows[1]) : 1, at = 0;
    if (!node) return FACET_OK;
    TRY(tree_alloc(r->tree, (size_t)n * sizeof *names, &names));
    TRY(tree_alloc(r->tree, (size_t)n * sizeof *to->items, &to->items));
    to->n = n;
    if (!by_group) {
        TRY(read_share(r, map, rows[0], prefix, scalar, &to->items[0].value));
        to->items[0].place = reader_place(node);
        if (to->items[0].value.n == 0) to->n = 0; /* refused */
        goto done;
    }
    if (node->n == 0)
        issues_add(r->issues, node, "%s%s%s: the list is empty; give {on: group, value: ...} for each group",
                   prefix, *prefix ? "." : "", schema_key(schema_find(rows[0])));
    for (int i = 0; i < node->n; i++) {
        char name[2 * NAME_BYTES];
        const struct tree_node *item = node->items[i], *on = reader_get(item, rows[1]);
        struct case_share share = {.place = reader_place(item)};
        snprintf(name, sizeof name, "%s%s%s.%d", prefix, *prefix ? "." : "", schema_key(schema_find(rows[0])),
                 i);
        if (item->kind == TREE_MAP) TRY(read_share(r, item, rows[2], name, scalar, &share.value));
        for (int k = 0; k < reader_n_names(on); k++, at++) {
            names[at] = reader_name(on, k);
            if (on) share.on = names[at]->text, share.on_place = reader_place(names[at]);
            to->items[at] = share;
        }
    }
    TRY(schema_check_duplicates(r->tree, r->issues, n, names, "group"));
done:
    return status;
}

static facet_status read_conductivity(struct reader *r) {
    facet_status status = FACET_OK;
    const struct tree_node *node = reader_get(r->tree->root, "conductivity");
    if (node && node->kind == TREE_LIST && (node->n == 0 || node->items[0]->kind == TREE_MAP)) {
        TRY(read_regions(r, node));
        goto done;
    }
    TRY(tree_alloc(r->tree, sizeof *r->file->conductivity, &r->file->conductivity));
    r->file->n_conductivity = 1;
    if (node) {
        r->file->conductivity[0].place = reader_place(node);
        TRY(read_region_value(r, node, "conductivity", "conductivity", &r->file->conductivity[0]));
    } else {
        r->file->conductivity[0].n = 1;
        r->file->conductivity[0].value[0].text = schema_find("conductivity")->fallback;
    }
done:
    return status;
}

/* A temperature that is the field of a case before this one. */
static void read_source_case(struct reader *r, const struct tree_node *node) {
    const struct tree_node *name = reader_get(node, "thermal.temperature.case");
    const struct case_file *found = NULL;
    r->file->thermal.from = -1;
    if (!node || node->kind != TREE_MAP || !name) return;
    for (const struct case_file *file = r->first; file && file != r->file; file = file->next)
        if (file->name && strcmp(file->name, name->text) == 0) found = file;
    r->file->thermal.field = reader_text(node, "thermal.temperature.field");
    r->file->thermal.temperature.place = reader_place(node);
    if (!found)
        issues_add(r->issues, name, "thermal.temperature.case: no case before this one has the name \"%s\"%s",
                   issues_word(name->text).text, r->first ? "" : "; a chain of cases stands under cases");
    else if (found->equation != FACET_DIFFUSION)
        issues_add(r->issues, name, "thermal.temperature.case: \"%s\" is no case of diffusion",
                   issues_word(name->text).text);
    else if (strcmp(r->file->thermal.field, "u") != 0 &&
             (!found->options.postprocess || found->options.discretization != DISCRETIZATION_HDG))
        issues_add(r->issues, node, "thermal.temperature.field: the case \"%s\" has no %s, only u",
                   issues_word(name->text).text, r->file->thermal.field);
    else
        r->file->thermal.from = found->number;
}

/* Heat into stress. */
static facet_status read_thermal(struct reader *r) {
    static const char *const rows[3] = {"thermal.expansion", "thermal.expansion[].on",
                                        "thermal.expansion[].value"};
    facet_status status = FACET_OK;
    const struct tree_node *map = reader_get(r->tree->root, "thermal");
    if (!map || map->kind != TREE_MAP) goto done;
    r->file->thermal.place = reader_place(map);
    r->file->thermal.reference.text = schema_find("thermal.reference")->fallback;
    TRY(read_shares(r, map, rows, "thermal", 1, &r->file->thermal.expansion));
    TRY(read_expression(r, map, "thermal.reference", "thermal", &r->file->thermal.reference));
    TRY(read_expression(r, map, "thermal.temperature", "thermal", &r->file->thermal.temperature));
    read_source_case(r, reader_get(map, "thermal.temperature"));
done:
    return status;
}

static facet_status read_elastic(struct reader *r) {
    facet_status status = reader_read_material(r);
    return status == FACET_OK ? read_thermal(r) : status;
}

static facet_status read_interfaces(struct reader *r) {
    facet_status status = FACET_OK;
    const struct tree_node *list = reader_get(r->tree->root, "interfaces");
    if (!list) return FACET_OK;
    TRY(tree_alloc(r->tree, (size_t)list->n * sizeof *r->file->interfaces, &r->file->interfaces));
    for (int i = 0; i < list->n; i++) {
        char name[NAME_BYTES];
        struct case_interface *to = &r->file->interfaces[r->file->n_interfaces++];
        const struct tree_node *between = reader_get(list->items[i], "interfaces[].between");
        snprintf(name, sizeof name, "interfaces.%d", i);
        to->place = reader_place(list->items[i]);
        TRY(read_expression(r, list->items[i], "interfaces[].conductance", name, &to->conductance));
        for (int k = 0; between && k < between->n && k < 2; k++) {
            to->between[k] = between->items[k]->text;
            to->places[k] = reader_place(between->items[k]);
        }
    }
done:
    return status;
}

static facet_status read_diffusion(struct reader *r) {
    static const char *const rows[3] = {"reaction", "reaction[].on", "reaction[].value"};
    facet_status status = read_conductivity(r);
    if (status == FACET_OK) status = read_interfaces(r);
    return status == FACET_OK ? read_shares(r, r->tree->root, rows, "", 1, &r->file->reaction) : status;
}

/* Of diffusion a vector, of elasticity a matrix, which needs not be definite. */
#define ANY_MATRIX 10.0
static facet_status read_jump(struct reader *r) {
    facet_status status = FACET_OK;
    const struct tree_node *node = reader_get(r->tree->root, "jump");
    struct case_jump *to = &r->file->jump;
    struct reader_constant constant;
    if (!node) return FACET_OK;
    int matrix = node->items[0]->kind == TREE_LIST, vector = r->file->equation == FACET_ELASTICITY;
    to->place = reader_place(node);
    if (matrix != vector) {
        issues_add(r->issues, node, "jump: %s",
                   vector ? "of elasticity is a matrix, the mean strain"
                          : "of diffusion is a list of 2 numbers (3 in 3D)");
        return FACET_OK;
    }
    to->n = matrix ? node->n * node->n : node->n;
    if (matrix) return reader_read_matrix(r, node, "jump", ANY_MATRIX, "definite", to->value);
    for (int i = 0; i < node->n; i++)
        TRY(reader_copy_expression(r, node->items[i], NULL, "jump", &to->value[i], &constant));
done:
    return status;
}

facet_status reader_read_data(struct reader *r) {
    static facet_status (*const read_coefficients[])(struct reader *) = {
        [FACET_DIFFUSION] = read_diffusion, [FACET_ELASTICITY] = read_elastic};
    static const char *const rows[3] = {"source", "source[].on", "source[].value"};
    facet_status status = FACET_OK;
    const struct tree_node *root = r->tree->root, *source = tree_find(root, "source");
    TRY(read_coefficients[r->file->equation](r));
    TRY(read_shares(r, root, rows, "", 0, &r->file->source));
    TRY(read_jump(r));
    TRY(reader_read_vector(r, root, "exact", "", 0, &r->file->exact));
    if (source && tree_find(root, "exact"))
        issues_add(r->issues, source, "source: follows from exact; give one or the other");
done:
    return status;
}

facet_status reader_read_tau(struct reader *r, const struct tree_node *discretization) {
    const struct tree_node *tau = reader_get(discretization, "discretization.tau");
    if (!tau) return FACET_OK;
    struct options *o = &r->file->options;
    if (physics_entry(physics_of(r->file->equation), o)->tau == NULL)
        issues_add(r->issues, tau, "discretization.tau: belongs to method: hdg; %s has none",
                   option_words[OPTION_DISCRETIZATION][o->discretization]);
    if (tau->kind == TREE_MAP) {
        o->tau_hat = reader_number(tau, "discretization.tau.hat");
        return FACET_OK;
    }
    facet_status status =
        read_expression(r, discretization, "discretization.tau", "discretization", &r->file->tau);
    o->tau = r->file->tau.text;
    return status;
}

/* ------------------------------------------------------------------------------------------ boundary */

/* The condition of an item of `boundary` in diffusion. */
static facet_status read_scalar_condition(struct reader *r, const struct tree_node *item, const char *name,
                                          struct case_boundary *boundary) {
    facet_status status = FACET_OK;
    static const char *const rows[4] = {"boundary[].dirichlet", "boundary[].neumann", "boundary[].robin",
                                        "boundary[].total_flux"};
    int n = 0, n_foreign = reader_refuse_parts(r, item, name);
    for (int i = 0; i < 4; i++) {
        if (!tree_find(item, schema_key(schema_find(rows[i])))) continue;
        n++;
        boundary->condition = (enum case_condition)i;
    }
    if (n == 0 && n_foreign == 0)
        issues_add(r->issues, item, "%s: needs a condition: dirichlet, neumann, robin or total_flux", name);
    else if (n > 1)
        issues_add(r->issues, item,
                   "%s: has %d conditions; keep one of dirichlet, neumann, robin and total_flux", name, n);
    if (n != 1) goto done;
    if (boundary->condition == CASE_ROBIN) {
        const struct tree_node *robin = reader_get(item, "boundary[].robin");
        char inner[NAME_BYTES + 8];
        snprintf(inner, sizeof inner, "%s.robin", name);
        TRY(read_expression(r, robin, "boundary[].robin.a", inner, &boundary->a));
        TRY(read_boundary_data(r, robin, "boundary[].robin.g", inner, &boundary->g));
    } else if (boundary->condition == CASE_TOTAL_FLUX) {
        TRY(read_expression(r, item, rows[CASE_TOTAL_FLUX], name, &boundary->g));
        if (tree_find(r->tree->root, "exact"))
            issues_add(r->issues, item, "%s.total_flux: is excluded by exact; write dirichlet or neumann",
                       name);
    } else {
        TRY(read_boundary_data(r, item, rows[boundary->condition], name, &boundary->g));
    }
done:
    return status;
}

/* The condition of item `index` on each of its parts: `boundary` and those behind it. */
static facet_status read_condition(struct reader *r, const struct tree_node *item, int index,
                                   const struct tree_node **names, struct case_boundary *boundary) {
    facet_status status = FACET_OK;
    static facet_status (*const read[])(struct reader *, const struct tree_node *, const char *,
                                        struct case_boundary *) = {
        [FACET_DIFFUSION] = read_scalar_condition, [FACET_ELASTICITY] = reader_read_mechanical};
    char name[NAME_BYTES];
    const struct tree_node *on = reader_get(item, "boundary[].on");
    struct case_boundary condition = {.place = reader_place(item), .item = index};
    snprintf(name, sizeof name, "boundary.%d", index);
    for (int k = 0; on && k < reader_n_names(on); k++) {
        char full[2 * NAME_BYTES];
        snprintf(full, sizeof full, on->kind == TREE_LIST ? "%s.on.%d" : "%s.on", name, k);
        reader_check_side(r, reader_name(on, k), full, 1);
    }
    condition.n_parts = reader_n_names(on);
    TRY(read[r->file->equation](r, item, name, &condition));
    for (int k = 0; k < reader_n_names(on); k++) {
        names[k] = reader_name(on, k);
        if (on) condition.on = names[k]->text, condition.on_place = reader_place(names[k]);
        boundary[k] = condition;
    }
done:
    return status;
}

/* Whether the box has such a side; one that it has not is refused by itself, and may stand for any. */
static int is_side(int n, const char *const *sides, const char *on) {
    for (int i = 0; i < n; i++)
        if (!strcmp(sides[i], on)) return 1;
    return 0;
}

/* Without an exact solution, the sides of a box that no entry names have no condition. */
static void check_complete(struct reader *r, const struct tree_node *where) {
    const char *sides[6];
    char missing[64] = "";
    int n = reader_sides(r, sides);
    if (tree_find(r->tree->root, "exact")) return;
    for (int i = 0; i < n; i++) {
        int named = 0;
        for (int k = 0; k < r->file->n_boundary && !named; k++) {
            const char *on = r->file->boundary[k].on;
            named = !on || !is_side(n, sides, on) || !strcmp(on, sides[i]); /* also rest */
        }
        if (r->file->options.plane == PLANE_AXISYMMETRIC && !strcmp(sides[i], "xmin"))
            continue; /* may be the axis */
        if (named) continue;
        issues_append(missing, sizeof missing, sides[i]);
    }
    if (missing[0])
        issues_add(r->issues, where,
                   "boundary: no condition on %s; add it, or {on: rest, ...}, or give exact", missing);
}

facet_status reader_read_boundary(struct reader *r) {
    facet_status status = FACET_OK;
    const struct tree_node *root = r->tree->root, *list = reader_get(root, "boundary"), **names;
    if (!list) {
        if (!tree_find(root, "boundary")) check_complete(r, root);
        goto done;
    }
    int n = reader_count_names(list, "boundary[].on"), at = 0;
    TRY(tree_alloc(r->tree, (size_t)n * sizeof *names, &names));
    TRY(tree_alloc(r->tree, (size_t)n * sizeof *r->file->boundary, &r->file->boundary));
    r->file->n_boundary = n;
    r->file->boundary_place = reader_place(list);
    for (int i = 0; i < list->n; i++) {
        const struct tree_node *item = list->items[i];
        if (item->kind == TREE_MAP) TRY(read_condition(r, item, i, names + at, r->file->boundary + at));
        at += reader_n_names(reader_get(item, "boundary[].on"));
    }
    TRY(schema_check_duplicates(r->tree, r->issues, n, names, "part"));
    check_complete(r, list);
done:
    return status;
}
