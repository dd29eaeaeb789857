/* Values on the products of points on lines. What depends on x alone is computed on the line of x, what
 * depends on x and y on their plane, and so on: the nodes of a program that depend on the same coordinates
 * are a stage, which takes the values of smaller ones along the directions that these do not know. The
 * operations are those of expr_eval, and so are the bits. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "expr/program.h"

/* Numbers that the rows of a block may have, so that they stay in the nearest cache. */
#define ROWS 4096

/* The coordinates x, y, z that a node depends on, as a set of bits; there is no normal inside a grid. */
static int set_of(const struct program *program, int node) {
    return program->nodes[node].coordinates & 7;
}

static int is_computed(const struct node *node) {
    return node->op != OP_NUMBER && node->op != OP_COORDINATE;
}

/* ------------------------------------------------------------------------------------- compilation */

static int takes(struct stage *stage, int *local, int number, struct expression_node node) {
    local[number] = stage->n_nodes;
    stage->numbers[stage->n_nodes] = number;
    stage->code[stage->n_nodes] = node;
    return stage->n_nodes++;
}

/* local: numbers of the nodes in the stage, -1 for those it does not have. */
static void fill_stage(const struct program *program, int set, struct stage *stage, int *local) {
    for (int i = 0; i < program->n_nodes; i++) local[i] = -1;
    for (int i = 0; i < program->n_nodes; i++) {
        struct expression_node node = program->code[i];
        if (set_of(program, i) != set || !is_computed(&program->nodes[i])) continue;
        for (int j = 0; j < device_operations[node.op].n_arguments; j++) {
            int from = node.argument[j];
            const struct node *argument = &program->nodes[from];
            node.argument[j] = local[from] >= 0 ? local[from]
                               : argument->op == OP_NUMBER
                                   ? takes(stage, local, from, program->code[from])
                                   : takes(stage, local, from, (struct expression_node){.op = OP_GIVEN});
        }
        takes(stage, local, i, node);
    }
}

facet_status stages_create(struct program *program) {
    facet_status status = FACET_OK;
    int *local = NULL, n = program->n_nodes;
    TRY(ALLOC(local, n));
    for (int set = 0; set < N_STAGES; set++) {
        struct stage *stage = &program->stages[set];
        TRY(ALLOC(stage->code, n));
        TRY(ALLOC(stage->numbers, n));
        fill_stage(program, set, stage, local);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < device_operations[program->nodes[i].op].n_arguments; j++) {
            int from = program->nodes[i].argument[j];
            program->nodes[from].leaves |= set_of(program, from) != set_of(program, i);
        }
    program->nodes[n - 1].leaves = 1;
done:
    base_free(&local);
    return status;
}

void stages_free(struct program *program) {
    for (int set = 0; set < N_STAGES; set++) {
        base_free(&program->stages[set].code);
        base_free(&program->stages[set].numbers);
    }
}

/* ------------------------------------------------------------------------------------- evaluation */

struct evaluation {
    const struct program *program;
    int counts[3];     /* 1 from dim on */
    const double **at; /* values of every node on the grid of its own coordinates; NULL: stays in its stage */
    double **to;       /* the same where a stage makes them; else NULL */
};

static int size_of(const struct evaluation *e, int set) {
    int size = 1;
    for (int d = 0; d < 3; d++) size *= set >> d & 1 ? e->counts[d] : 1;
    return size;
}

/* The first direction of a set: 3 for none. */
static int first_of(int set) {
    int d = 0;
    while (d < 3 && !(set >> d & 1)) d++;
    return d;
}

/* Values on the grid of one set, on so many lines of the grid of another that contains it. A line runs along
 * the first direction. */
static void spread(const struct evaluation *e, int from, const double *values, int to, int first_line,
                   int n_lines, double *row) {
    int fast = first_of(to), n = fast < 3 ? e->counts[fast] : 1, along = from >> fast & 1;
    for (int line = first_line; line < first_line + n_lines; line++, row += n) {
        int place = 0, step = along ? n : 1, rest = line;
        for (int d = fast + 1; d < 3; d++) {
            if (!(to >> d & 1)) continue;
            if (from >> d & 1) {
                place += rest % e->counts[d] * step;
                step *= e->counts[d];
            }
            rest /= e->counts[d];
        }
        if (along)
            memcpy(row, values + place, (size_t)n * sizeof *row);
        else
            for (int i = 0; i < n; i++) row[i] = values[place];
    }
}

/* The whole grid; above the last direction that the values know, all is the same again. */
static void fill(const struct evaluation *e, int from, const double *values, int to, double *out) {
    int last = 2;
    while (last > 0 && !(from >> last & 1)) last--;
    int period = size_of(e, to & ((2 << last) - 1)), size = size_of(e, to);
    spread(e, from, values, to, 0, period / e->counts[0], out);
    for (int i = period; i < size; i += period) memcpy(out + i, out, (size_t)period * sizeof *out);
}

/* A stage takes so many lines at a time; returns the numbers that its rows have. */
static int64_t plan_stage(const struct evaluation *e, int set, struct expression_plan *plan, int *many) {
    const struct stage *stage = &e->program->stages[set];
    int fast = first_of(set), n = fast < 3 ? e->counts[fast] : 1, n_lines = size_of(e, set) / n;
    if (stage->n_nodes == 0) return 0;
    int points = ROWS / stage->n_nodes < EXPR_BLOCK ? ROWS / stage->n_nodes : EXPR_BLOCK;
    *many = points <= n ? 1 : points / n < n_lines ? points / n : n_lines;
    *plan = (struct expression_plan){.dim = 1,
                                     .block = (*many * n + 7) / 8 * 8,
                                     .n_nodes = stage->n_nodes,
                                     .keep = 1,
                                     .nodes = stage->code};
    return (int64_t)(EXPRESSION_SCRATCH + stage->n_nodes) * plan->block;
}

static void run_stage(const struct evaluation *e, int set, double *work) {
    const struct stage *stage = &e->program->stages[set];
    struct expression_plan plan;
    int fast = first_of(set), n = fast < 3 ? e->counts[fast] : 1, n_lines = size_of(e, set) / n, many;
    if (plan_stage(e, set, &plan, &many) == 0) return;
    for (int line = 0; line < n_lines; line += many) {
        int some = n_lines - line < many ? n_lines - line : many;
        for (int i = 0; i < stage->n_nodes; i++)
            if (stage->code[i].op == OP_GIVEN)
                spread(e, set_of(e->program, stage->numbers[i]), e->at[stage->numbers[i]], set, line, some,
                       work + expression_row(&plan, i, 0));
        device_expression(device_host(), &plan, some * n, NULL, NULL, work);
        for (int i = 0; i < stage->n_nodes; i++) {
            double *to = e->to[stage->numbers[i]];
            if (to == NULL || stage->code[i].op == OP_GIVEN) continue;
            memcpy(to + line * n, work + expression_row(&plan, i, 0), (size_t)(some * n) * sizeof *to);
        }
    }
}

/* Where values live: coordinates on their lines, what leaves its stage in `store`, the result where it is
 * wanted if it depends on every coordinate. Returns the numbers of the store, which is not there yet if NULL.
 */
static int64_t place(struct evaluation *e, const struct expr_grid *grid, double *store, double *values) {
    static const double zero[1];
    int64_t used = 0;
    int root = e->program->n_nodes - 1;
    for (int i = 0; i <= root; i++) {
        const struct node *node = &e->program->nodes[i];
        int axis = (int)node->constant;
        e->at[i] = e->to[i] = NULL;
        if (node->op == OP_COORDINATE)
            e->at[i] = axis < grid->dim ? grid->lines[axis] : zero;
        else if (node->op == OP_NUMBER)
            e->at[i] = &node->constant;
        else if (i == root && set_of(e->program, i) == (1 << grid->dim) - 1)
            e->at[i] = e->to[i] = values;
        else if (node->leaves) {
            if (store != NULL) e->at[i] = e->to[i] = store + used;
            used += size_of(e, set_of(e->program, i));
        }
    }
    return used;
}

static facet_status fault_on_grid(const struct program *program, const struct expr_grid *grid,
                                  const double *values) {
    double x[3] = {0};
    int i = 0;
    while (isfinite(values[i])) i++;
    for (int d = 0; d < grid->dim; i /= grid->counts[d], d++) x[d] = grid->lines[d][i % grid->counts[d]];
    return fault_trace(program, grid->dim, 0, x, NULL);
}

facet_status grid_eval(const struct program *program, const struct expr_grid *grid, double *values) {
    facet_status status = FACET_OK;
    double *store = NULL;
    int root = program->n_nodes - 1, set = set_of(program, root), full = (1 << grid->dim) - 1;
    struct evaluation e = {.program = program, .counts = {1, 1, 1}};
    for (int d = 0; d < grid->dim; d++) e.counts[d] = grid->counts[d];
    int size = size_of(&e, full);
    if (size == 0) goto done;
    TRY(ALLOC(e.at, program->n_nodes));
    TRY(ALLOC(e.to, program->n_nodes));
    int64_t used = place(&e, grid, NULL, values), rows = 0;
    for (int stage = 0; stage < N_STAGES; stage++) {
        struct expression_plan plan;
        int many;
        int64_t needed = plan_stage(&e, stage, &plan, &many);
        if (needed > rows) rows = needed;
    }
    TRY(ALLOC(store, used + rows + 1));
    place(&e, grid, store, values);
    for (int stage = 0; stage < N_STAGES; stage++) run_stage(&e, stage, store + used);
    if (e.at[root] != values) fill(&e, set, e.at[root], full, values);
    if (!expr_row_is_finite(size_of(&e, set), e.at[root])) TRY(fault_on_grid(program, grid, values));
done:
    base_free(&store);
    base_free(&e.at);
    base_free(&e.to);
    return status;
}
