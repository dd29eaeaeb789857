/* The interface of a compiled expression. Points are taken in blocks small enough that the jets stay in the
 * cache. */
#include "expr/expr.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "expr/lex.h"
#include "expr/program.h"

struct expr {
    char *text;
    struct program program;
};

facet_status expr_compile(const char *text, int n_parameters, const struct expr_parameter *parameters,
                          struct expr **expr) {
    facet_status status = FACET_OK;
    struct expr *made = NULL;
    *expr = NULL;
    if (!text)
        FAIL(FACET_ERROR_INPUT, "no expression is given; write a number or a formula such as 'sin(pi*x)'");
    TRY(names_check_parameters(n_parameters, parameters));
    TRY(CALLOC(made, 1));
    TRY(parse_text(text, n_parameters, parameters, &made->program));
    TRY(base_strdup(text, &made->text));
    *expr = made;
    made = NULL;
done:
    expr_destroy(&made);
    return status;
}

void expr_destroy(struct expr **expr) {
    if (!*expr) return;
    program_free(&(*expr)->program);
    base_free(&(*expr)->text);
    base_free(expr);
}

const char *expr_text(const struct expr *expr) {
    return expr->text;
}

int expr_is_constant(const struct expr *expr, double *value) {
    const struct node *root = &expr->program.nodes[expr->program.n_nodes - 1];
    if (root->op != OP_NUMBER) return 0;
    if (value) *value = root->constant;
    return 1;
}

int expr_n_coordinates(const struct expr *expr) {
    int n = 0;
    for (int i = 0; i < expr->program.n_nodes; i++) {
        const struct node *node = &expr->program.nodes[i];
        if (node->op != OP_COORDINATE) continue;
        int axis = (int)node->constant % 3;
        if (axis >= n) n = axis + 1;
    }
    return n;
}

int expr_reads_normal(const struct expr *expr) {
    for (int i = 0; i < expr->program.n_nodes; i++)
        if (expr->program.nodes[i].op == OP_COORDINATE && expr->program.nodes[i].constant >= 3.0) return 1;
    return 0;
}

int expr_reads(const char *text, const char *name) {
    struct lexer lexer;
    size_t length = strlen(name);
    lexer_begin(&lexer, text);
    while (lexer_next(&lexer) == FACET_OK && lexer.token.kind != TOKEN_END)
        if (lexer.token.kind == TOKEN_NAME && (size_t)lexer.token.length == length &&
            memcmp(lexer.token.text, name, length) == 0)
            return 1;
    return 0;
}

/* True when all numbers are finite: then, and only then, zero times each of them is 0. Four sums, since one
 * would wait for itself. */
int expr_row_is_finite(int n, const double *row) {
    double sums[4] = {0};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) sums[k] += 0.0 * row[i + k];
    for (; i < n; i++) sums[0] += 0.0 * row[i];
    return sums[0] + sums[1] + sums[2] + sums[3] == 0.0;
}

/* out[i] = the numbers i of the rows (NULL: zero), point by point; true when all are finite. */
static int copy_rows(int n, int n_rows, const double *const *rows, double *out) {
    static const double zeros[EXPR_BLOCK];
    const double *from[9];
    int finite = 1;
    for (int k = 0; k < n_rows; k++) {
        from[k] = rows[k] != NULL ? rows[k] : zeros;
        if (rows[k] != NULL) finite &= expr_row_is_finite(n, rows[k]);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n_rows; k++) *out++ = from[k][i];
    return finite;
}

/* Copies the result of a block; true when it is finite. */
static int copy_result(const struct run *run, int n, double *values, double *gradients, double *hessians) {
    int root = run->plan.n_nodes - 1, dim = run->plan.dim;
    const double *value = run_value(run, root), *rows[9];
    int finite = expr_row_is_finite(n, value);
    memcpy(values, value, (size_t)n * sizeof *values);
    for (int i = 0; gradients && i < dim; i++) rows[i] = run_first(run, root, i);
    if (gradients) finite &= copy_rows(n, dim, rows, gradients);
    for (int i = 0; hessians && i < dim * dim; i++) rows[i] = run_second(run, root, i / dim, i % dim);
    if (hessians) finite &= copy_rows(n, dim * dim, rows, hessians);
    return finite;
}

static int point_is_finite(int dim, const double *value, const double *gradient, const double *hessian) {
    if (!isfinite(*value)) return 0;
    for (int i = 0; gradient && i < dim; i++)
        if (!isfinite(gradient[i])) return 0;
    for (int i = 0; hessian && i < dim * dim; i++)
        if (!isfinite(hessian[i])) return 0;
    return 1;
}

void expr_grid_points(const struct expr_grid *grid, double *points) {
    int n[3] = {1, 1, 1}, dim = grid->dim;
    for (int d = 0; d < dim; d++) n[d] = grid->counts[d];
    for (int k = 0; k < n[2]; k++)
        for (int j = 0; j < n[1]; j++, points += n[0] * dim)
            for (int i = 0; i < n[0]; i++) {
                points[i * dim] = grid->lines[0][i];
                if (dim > 1) points[i * dim + 1] = grid->lines[1][j];
                if (dim > 2) points[i * dim + 2] = grid->lines[2][k];
            }
}

facet_status expr_eval_grid(const struct expr *expr, const struct expr_grid *grid, double *values) {
    return grid_eval(&expr->program, grid, values);
}

facet_status expr_eval(const struct expr *expr, int n_points, int dim, const double *x, const double *normals,
                       double *values, double *gradients, double *hessians) {
    static const int blocks[3] = {EXPR_BLOCK, EXPR_BLOCK / 2, EXPR_BLOCK / 4};
    facet_status status = FACET_OK;
    struct run run;
    run.work = NULL;
    int order = hessians ? 2 : gradients ? 1 : 0;
    if (dim < 1 || dim > 3) FAIL(FACET_ERROR_INPUT, "an expression has 1 to 3 coordinates, not %d", dim);
    if (hessians && !gradients)
        FAIL(FACET_ERROR_INPUT, "second derivatives are evaluated together with the first");
    if (n_points <= 0) goto done;
    int block = n_points < blocks[order] ? (n_points + 7) / 8 * 8 : blocks[order];
    TRY(run_begin(&run, &expr->program, dim, order, block, 0));
    for (int begin = 0; begin < n_points; begin += block) {
        int n = n_points - begin < block ? n_points - begin : block;
        size_t at = (size_t)begin, d = (size_t)dim;
        double *v = values + at, *g = gradients ? gradients + at * d : NULL,
               *h = hessians ? hessians + at * d * d : NULL;
        run_block(&run, n, x + at * d, normals ? normals + at * d : NULL);
        if (copy_result(&run, n, v, g, h)) continue;
        size_t i = 0;
        while (point_is_finite(dim, v + i, g ? g + i * d : NULL, h ? h + i * d * d : NULL)) i++;
        TRY(fault_trace(&expr->program, dim, order, x + (at + i) * d,
                        normals ? normals + (at + i) * d : NULL));
    }
done:
    run_end(&run);
    return status;
}

int64_t expr_program_block(const struct device *device, int64_t n_points) {
    const int64_t most = device_points(device);
    return n_points < most ? n_points : most;
}

/* Which nodes the result needs when lines and planes are given: 1, or 2 for these themselves. sets: bit i for
 * the set i of coordinates. */
static void choose_lines(const struct program *program, unsigned sets, struct expr_program *p, int *place) {
    int n = program->n_nodes;
    for (int i = 0; i < n; i++) place[i] = i == n - 1;
    for (int i = n - 1; i >= 0; i--) {
        const struct node *node = &program->nodes[i];
        const int set = node->coordinates;
        if (!place[i]) continue;
        const int given =
            sets >> set & 1 && set > 0 && node->leaves && node->op != OP_NUMBER && p->lines.n < TILE_LINES;
        for (int j = 0; !given && j < device_operations[node->op].n_arguments; j++)
            place[node->argument[j]] = 1;
        if (!given) continue;
        p->lines.set[p->lines.n] = set;
        p->numbers[p->lines.n++] = i;
        place[i] = 2;
    }
}

/* These nodes in their order; returns how many. Given nodes have slots behind all others, which keep theirs.
 */
static int shorten(const struct program *program, struct expr_program *p, struct expression_node *code,
                   int *place) {
    int count = 0;
    for (int i = 0; i < program->n_nodes; i++) {
        int given = place[i] == 2;
        if (place[i] == 0) continue;
        code[count] = program->code[i];
        for (int j = 0; !given && j < device_operations[code[count].op].n_arguments; j++)
            code[count].argument[j] = place[code[count].argument[j]];
        for (int l = 0; given && l < p->lines.n; l++)
            if (p->numbers[l] == i) {
                code[count] = (struct expression_node){.op = OP_GIVEN,
                                                       .first = program->code[i].first,
                                                       .second = program->code[i].second,
                                                       .slot = program->n_slots + l};
                p->lines.node[l] = count;
            }
        place[i] = count++;
    }
    return count;
}

facet_status expr_program_create(const struct expr *expr, const struct device *device, int dim, int order,
                                 unsigned sets, int64_t n_points, struct expr_program *p) {
    facet_status status = FACET_OK;
    const struct program *program = &expr->program;
    struct expression_node *nodes = NULL, *code = NULL;
    int block = (int)expr_program_block(device, n_points), *place = NULL;
    *p = (struct expr_program){.device = device};
    TRY(ALLOC(code, program->n_nodes));
    TRY(ALLOC(place, program->n_nodes));
    choose_lines(program, sets, p, place);
    int n = shorten(program, p, code, place);
    TRY(device_copy(device, &nodes, code, (size_t)n, sizeof *nodes));
    p->plan =
        (struct expression_plan){.dim = dim, .order = order, .block = block, .n_nodes = n, .nodes = nodes};
    size_t rows =
        (size_t)((program->n_slots + p->lines.n) * expression_jet(order) + EXPRESSION_SCRATCH + dim);
    TRY(device_alloc(device, &p->work, rows * (size_t)block, sizeof *p->work));
done:
    base_free(&code);
    base_free(&place);
    if (status != FACET_OK) expr_program_destroy(p);
    return status;
}

/* Point number i of the lines of a set. */
static void point_of(int dim, const int n[3], const double *const x[3], int set, int64_t i, double *point) {
    for (int d = 0; d < dim; d++) {
        point[d] = set >> d & 1 ? x[d][i % n[d]] : 0.0;
        if (set >> d & 1) i /= n[d];
    }
}

/* The nodes of a set at its points, the other coordinates being zero: these nodes do not know them. */
static facet_status fill_set(const struct expr *expr, struct expr_program *p, const int n[3],
                             const double *const x[3], int set, double *const jets[TILE_LINES]) {
    facet_status status = FACET_OK;
    struct run run = {0};
    const int dim = p->plan.dim, block = EXPR_BLOCK / 4;
    double points[3 * EXPR_BLOCK / 4];
    int rows[6];
    const int n_rows = tile_line_rows(set, p->plan.order, rows);
    int64_t size = 1;
    for (int d = 0; d < dim; d++) size *= set >> d & 1 ? n[d] : 1;
    TRY(run_begin(&run, &expr->program, dim, p->plan.order, block, 1));
    for (int64_t first = 0; first < size; first += block) {
        const int many = size - first < block ? (int)(size - first) : block;
        for (int i = 0; i < many; i++) point_of(dim, n, x, set, first + i, points + i * dim);
        run_block(&run, many, points, NULL);
        for (int l = 0; l < p->lines.n; l++)
            for (int r = 0; p->lines.set[l] == set && r < n_rows; r++) {
                const struct node *node = &expr->program.nodes[p->numbers[l]];
                const int known = rows[r] == 0 || (rows[r] < 4 ? node->first >> (rows[r] - 1) & 1
                                                               : node->second >> (rows[r] - 4) & 1);
                const double *row = run.work + expression_row(&run.plan, p->numbers[l], rows[r]);
                for (int i = 0; i < many; i++) jets[l][r * size + first + i] = known ? row[i] : 0.0;
            }
    }
done:
    run_end(&run);
    return status;
}

facet_status expr_program_set_lines(const struct expr *expr, struct expr_program *p, const int n[3],
                                    const double *const x[3]) {
    facet_status status = FACET_OK;
    double *jets[TILE_LINES] = {NULL}, *copy;
    int64_t sizes[TILE_LINES];
    unsigned sets = 0;
    int rows[6];
    for (int l = 0; l < p->lines.n; l++) {
        sizes[l] = tile_line_rows(p->lines.set[l], p->plan.order, rows);
        for (int d = 0; d < p->plan.dim; d++) sizes[l] *= p->lines.set[l] >> d & 1 ? n[d] : 1;
        TRY(ALLOC(jets[l], sizes[l]));
        sets |= 1u << p->lines.set[l];
    }
    for (int set = 1; set < 8; set++)
        if (sets >> set & 1) TRY(fill_set(expr, p, n, x, set, jets));
    for (int l = 0; l < p->lines.n; l++) {
        TRY(device_copy(p->device, &copy, jets[l], (size_t)sizes[l], sizeof *copy));
        p->lines.values[l] = copy;
    }
done:
    for (int l = 0; l < p->lines.n; l++) base_free(&jets[l]);
    return status;
}

void expr_program_destroy(struct expr_program *p) {
    if (p->device == NULL) return;
    for (int l = 0; l < p->lines.n; l++) device_free(p->device, &p->lines.values[l]);
    device_free(p->device, &p->plan.nodes);
    device_free(p->device, &p->work);
    *p = (struct expr_program){0};
}
