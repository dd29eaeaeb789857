/* An item of `boundary` in elasticity: supports, loads and springs, and what of them contradicts itself. */
#include <stdio.h>
#include <string.h>

#include "case/reader.h"
#include "problem/physics.h"

#define NAME_BYTES 160
/* Relative to its largest entry, so much of a matrix of springs is rounding. */
#define SPRING_ROUNDING 1e-12

static int gives(const struct case_vector *vector, int component) {
    if (vector->n == 0) return 0;
    return vector->n == 1 || (component < vector->n && vector->texts[component].text != NULL);
}

/* Components of the item: of the box, or of the longest of its vectors. */
static int count_components(const struct reader *r, const struct case_boundary *b) {
    int n = b->displacement.n > b->traction.n ? b->displacement.n : b->traction.n;
    n = n > b->force.n ? n : b->force.n;
    return r->dim > 0 ? r->dim : n > 1 ? n : 3;
}

/* ------------------------------------------------------------------------------------------ reading */

/* `key: true`; false says nothing, and is refused. */
static int read_flag(struct reader *r, const struct tree_node *item, const char *row, const char *name) {
    const struct tree_node *node = reader_get(item, row);
    if (!node || node->kind != TREE_SCALAR) return 0;
    if (reader_boolean(item, row)) return 1;
    issues_add(r->issues, node, "%s.%s: false says nothing; remove it", name, schema_key(schema_find(row)));
    return 0;
}

static void read_held(struct reader *r, const struct tree_node *item, const char *name,
                      struct case_boundary *b) {
    const struct tree_node *roller = reader_get(item, "boundary[].roller");
    if (read_flag(r, item, "boundary[].fixed", name)) memset(b->held, CASE_FIXED, sizeof b->held);
    b->symmetry = read_flag(r, item, "boundary[].symmetry", name);
    for (int i = 0; roller && i < reader_n_names(roller); i++) {
        const struct tree_node *word = reader_name(roller, i);
        int component = word->text[0] - 'x';
        if (component >= (r->dim > 0 ? r->dim : 3))
            issues_add(r->issues, word, "%s.roller: a box of %d dimensions has no %s", name, r->dim,
                       word->text);
        else
            b->held[component] = CASE_ROLLER;
    }
}

static facet_status read_spring(struct reader *r, const struct tree_node *item, const char *name,
                                struct case_boundary *b) {
    static const char *const rows[2] = {"boundary[].spring.normal", "boundary[].spring.tangential"};
    facet_status status = FACET_OK;
    const struct tree_node *node = reader_get(item, "boundary[].spring");
    struct reader_constant constant;
    char full[NAME_BYTES];
    snprintf(full, sizeof full, "%s.spring", name);
    if (!node) return FACET_OK;
    if (!(physics_entry(physics_of(r->file->equation), &r->file->options)->conditions & HDG_BIT(HDG_SPRING)))
        issues_add(r->issues, node, "%s: belongs to discretization.formulation: symmetric", full);
    if (node->kind == TREE_LIST) {
        b->n_spring = node->n * node->n;
        return reader_read_matrix(r, node, full, SPRING_ROUNDING,
                                  "semidefinite: a spring pulls back, whatever the direction", b->spring);
    }
    b->n_spring = node->kind == TREE_MAP ? 2 : 1;
    if (node->kind == TREE_SCALAR)
        return reader_copy_expression(r, node, "boundary[].spring", full, &b->spring[0], &constant);
    for (int i = 0; i < 2; i++) {
        const struct tree_node *part = reader_get(node, rows[i]);
        b->spring[i].text = schema_find(rows[i])->fallback;
        if (!part || part->kind != TREE_SCALAR) continue;
        snprintf(full, sizeof full, "%s.spring.%s", name, schema_key(schema_find(rows[i])));
        TRY(reader_copy_expression(r, part, rows[i], full, &b->spring[i], &constant));
    }
    if (b->spring[0].text == NULL) b->n_spring = 0; /* refused */
done:
    return status;
}

static facet_status read_loads(struct reader *r, const struct tree_node *item, const char *name,
                               struct case_boundary *b) {
    facet_status status = FACET_OK;
    const struct tree_node *pressure = reader_get(item, "boundary[].pressure");
    struct reader_constant constant;
    char full[NAME_BYTES];
    TRY(reader_read_vector(r, item, "boundary[].displacement", name, 1, &b->displacement));
    TRY(reader_read_vector(r, item, "boundary[].traction", name, 1, &b->traction));
    TRY(reader_read_vector(r, item, "boundary[].gradient_pressure", name, 1, &b->gradient_pressure));
    TRY(reader_read_vector(r, item, "boundary[].force", name, 0, &b->force));
    snprintf(full, sizeof full, "%s.pressure", name);
    if (pressure && pressure->kind == TREE_SCALAR)
        TRY(reader_copy_expression(r, pressure, "boundary[].pressure", full, &b->pressure, &constant));
    TRY(read_spring(r, item, name, b));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ checks */

/* Which keys of the item stand beside one that excludes them. */
static void list_others(const struct tree_node *item, const char *but, char *list, size_t bytes) {
    list[0] = '\0';
    for (int i = 0; i < item->n; i++)
        if (strcmp(item->keys[i]->text, "on") != 0 && strcmp(item->keys[i]->text, but) != 0)
            issues_append(list, bytes, item->keys[i]->text);
}

/* Keys that say all there is to say of a part; 0 after an issue. */
static int check_alone(struct reader *r, const struct tree_node *item, const char *name) {
    static const struct {
        const char *key, *why;
    } alone[] = {{"gradient_pressure", "excludes other conditions on the same part; keep one"},
                 {"symmetry", "is all there is to say of a part; keep one"},
                 {"fixed", "holds the part in all directions; keep one"}};
    char others[NAME_BYTES];
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++) {
        if (!tree_find(item, alone[i].key)) continue;
        list_others(item, alone[i].key, others, sizeof others);
        if (!others[0]) return 1;
        issues_add(r->issues, item, "%s: %s %s (there %s %s)", name, alone[i].key, alone[i].why,
                   strchr(others, ',') ? "are" : "is", others);
        return 0;
    }
    return 1;
}

/* No component is held and loaded, or held twice. */
static void check_components(struct reader *r, const struct tree_node *item, const char *name,
                             const struct case_boundary *b) {
    int n = count_components(r, b), n_held = 0;
    if (b->displacement.n > 1 && b->traction.n > 1 && b->displacement.n != b->traction.n) {
        issues_add(r->issues, item, "%s: displacement has %d components, and traction %d", name,
                   b->displacement.n, b->traction.n);
        return;
    }
    for (int c = 0; c < n; c++) {
        int moved = gives(&b->displacement, c), pushed = gives(&b->traction, c), held = b->held[c];
        n_held += moved || held;
        if (moved && held)
            issues_add(r->issues, item,
                       "%s: the component %c is given by both roller and displacement; make it "
                       "null in displacement, or remove the roller",
                       name, "xyz"[c]);
        else if ((moved || held) && pushed)
            issues_add(r->issues, item, "%s: the component %c is given by both %s and traction; %s", name,
                       "xyz"[c], moved ? "displacement" : "roller",
                       moved ? "make it null in one of them" : "make it null in traction");
    }
    const char *load = b->pressure.text  ? "pressure"
                       : b->n_spring > 0 ? "spring"
                       : b->force.n > 0  ? "force"
                                         : NULL;
    if (n_held == n && load)
        issues_add(r->issues, item, "%s: %s does nothing where all components are held; keep one", name,
                   load);
}

static const char *const conditions =
    "displacement, fixed, roller, symmetry, traction, pressure, force, spring or gradient_pressure";

facet_status reader_read_mechanical(struct reader *r, const struct tree_node *item, const char *name,
                                    struct case_boundary *boundary) {
    facet_status status = FACET_OK;
    int foreign = reader_refuse_parts(r, item, name), own = 0, bad = 0, before;
    const struct tree_node *pressure = tree_find(item, "gradient_pressure");
    for (int i = 0; i < item->n; i++) {
        bad |= item->items[i]->bad;
        own += strcmp(item->keys[i]->text, "on") != 0;
    }
    boundary->condition = pressure ? CASE_GRADIENT_PRESSURE : CASE_MECHANICAL;
    if (own == 0 && !foreign) issues_add(r->issues, item, "%s: needs a condition: %s", name, conditions);
    if (pressure && !(physics_entry(physics_of(r->file->equation), &r->file->options)->conditions &
                      HDG_BIT(HDG_GRADIENT_PRESSURE)))
        issues_add(
            r->issues, pressure,
            "%s.gradient_pressure: belongs to discretization.formulation: gradient; for symmetric give "
            "the traction",
            name);
    int alone = foreign || check_alone(r, item, name);
    before = r->issues->count;
    read_held(r, item, name, boundary);
    TRY(read_loads(r, item, name, boundary));
    if (alone && !foreign && !bad && r->issues->count == before && !pressure)
        check_components(r, item, name, boundary);
done:
    return status;
}
