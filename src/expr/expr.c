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

/* out[i * stride] = row[i], zeros for no row; true when all are finite. */
static int copy_row(int n, const double *row, double *out, int stride) {
    int n_bad = 0;
    for (int i = 0; row && i < n; i++) n_bad += !isfinite(row[i]);
    for (int i = 0; i < n; i++) out[(size_t)i * (size_t)stride] = row ? row[i] : 0;
    return n_bad == 0;
}

/* Copies the result of a block; true when it is finite. */
static int copy_result(const struct run *run, int n, double *values, double *gradients, double *hessians) {
    int root = run->plan.n_nodes - 1, dim = run->plan.dim;
    int finite = copy_row(n, run_value(run, root), values, 1);
    for (int i = 0; gradients && i < dim; i++)
        finite &= copy_row(n, run_first(run, root, i), gradients + i, dim);
    for (int i = 0; hessians && i < dim; i++)
        for (int j = 0; j < dim; j++)
            finite &= copy_row(n, run_second(run, root, i, j), hessians + i * dim + j, dim * dim);
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

facet_status expr_eval(const struct expr *expr, int n_points, int dim, const double *x, const double *normals,
                       double *values, double *gradients, double *hessians) {
    static const int blocks[3] = {EXPR_BLOCK, EXPR_BLOCK / 2, EXPR_BLOCK / 4};
    facet_status status = FACET_OK;
    struct run run = {0};
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
