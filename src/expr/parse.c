/* From text to program, by recursive descent; the precedences are those of expr.h. Nodes are made as the text
 * is read, so that there is no tree in between. The depth of the recursion is limited. */
#include "expr/program.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expr/lex.h"

struct parser {
    struct lexer lexer;
    struct program *program;
    int n_parameters;
    const struct expr_parameter *parameters;
    int depth;
};

/* How tightly the operators with two sides bind; `not` stands between `and` and the comparisons. */
enum { BIND_OR = 1, BIND_AND, BIND_NOT, BIND_COMPARE, BIND_SUM, BIND_PRODUCT };
static const struct {
    int bind;
    enum op op;
} operators[N_TOKENS] = {
    [TOKEN_OR] = {BIND_OR, OP_OR},
    [TOKEN_AND] = {BIND_AND, OP_AND},
    [TOKEN_LESS] = {BIND_COMPARE, OP_LESS},
    [TOKEN_LESS_EQUAL] = {BIND_COMPARE, OP_LESS_EQUAL},
    [TOKEN_GREATER] = {BIND_COMPARE, OP_GREATER},
    [TOKEN_GREATER_EQUAL] = {BIND_COMPARE, OP_GREATER_EQUAL},
    [TOKEN_EQUAL] = {BIND_COMPARE, OP_EQUAL},
    [TOKEN_NOT_EQUAL] = {BIND_COMPARE, OP_NOT_EQUAL},
    [TOKEN_PLUS] = {BIND_SUM, OP_ADD},
    [TOKEN_MINUS] = {BIND_SUM, OP_SUBTRACT},
    [TOKEN_TIMES] = {BIND_PRODUCT, OP_MULTIPLY},
    [TOKEN_OVER] = {BIND_PRODUCT, OP_DIVIDE},
};

/* At most this much of a token is quoted. */
#define QUOTED(token) ((token)->length < 40 ? (token)->length : 40), (token)->text

static facet_status parse_conditional(struct parser *p, int *node);
static facet_status parse_unary(struct parser *p, int *node);

static facet_status enter(struct parser *p) {
    if (++p->depth <= EXPR_MAX_DEPTH) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "column %d: nested more than %d deep; use fewer parentheses",
                     p->lexer.token.column, EXPR_MAX_DEPTH);
}

/* The token cannot stand where it is. */
static facet_status unexpected(const struct parser *p, const char *wanted) {
    const struct token *token = &p->lexer.token;
    if (token->kind == TOKEN_END)
        return base_fail(FACET_ERROR_INPUT, "column %d: the expression ends too early; %s is missing",
                         token->column, wanted);
    return base_fail(FACET_ERROR_INPUT, "column %d: unexpected '%.*s'; %s should stand here", token->column,
                     QUOTED(token), wanted);
}

/* Behind a whole operand: says what is wrong with the token there, which is neither an operator nor `wanted`.
 */
static facet_status stray(const struct parser *p, const char *wanted) {
    const struct token *token = &p->lexer.token;
    if (token->kind == TOKEN_NUMBER || token->kind == TOKEN_NAME || token->kind == TOKEN_OPEN)
        return base_fail(FACET_ERROR_INPUT,
                         "column %d: an operator is missing before '%.*s'; write * to multiply",
                         token->column, QUOTED(token));
    if (token->kind == TOKEN_COMMA && token->column > 1 && isdigit((unsigned char)token->text[-1]) &&
        isdigit((unsigned char)token->text[1]))
        return base_fail(FACET_ERROR_INPUT, "column %d: unexpected ','; decimals are written behind a point",
                         token->column);
    return unexpected(p, wanted);
}

/* The ')' that belongs to the '(' in this column. */
static facet_status close_parenthesis(struct parser *p, int column) {
    if (p->lexer.token.kind == TOKEN_CLOSE) return lexer_next(&p->lexer);
    if (p->lexer.token.kind != TOKEN_END) return stray(p, "an operator or ')'");
    return base_fail(FACET_ERROR_INPUT, "column %d: this '(' is never closed; add ')'", column);
}

static facet_status wrong_count(const struct function *function, int column, int n) {
    const char *at_least = function->most < 0 ? " or more" : "";
    return base_fail(FACET_ERROR_INPUT, "column %d: %s takes %d argument%s%s, not %d", column, function->name,
                     function->least, function->least == 1 && !*at_least ? "" : "s", at_least, n);
}

/* The arguments of a call, from behind '(' to behind ')'. min and max of many are taken pair by pair, so that
 * no list is kept. */
static facet_status parse_arguments(struct parser *p, const struct function *function, int column, int open,
                                    int *node) {
    facet_status status = FACET_OK;
    int arguments[3] = {0}, n = 0;
    int most = function->most < 0 ? 2 : function->most;
    if (p->lexer.token.kind == TOKEN_CLOSE) TRY(wrong_count(function, column, 0));
    for (;;) {
        int argument;
        TRY(parse_conditional(p, &argument));
        if (n >= function->least && function->most < 0)
            TRY(program_apply(p->program, function->op, column, (int[]){arguments[0], argument},
                              &arguments[0]));
        else if (n < most)
            arguments[n] = argument;
        n++;
        if (n == function->least && function->most < 0)
            TRY(program_apply(p->program, function->op, column, arguments, &arguments[0]));
        if (p->lexer.token.kind != TOKEN_COMMA) break;
        TRY(lexer_next(&p->lexer));
    }
    TRY(close_parenthesis(p, open));
    if (n < function->least || (function->most >= 0 && n > function->most))
        TRY(wrong_count(function, column, n));
    if (function->most < 0)
        *node = arguments[0];
    else
        TRY(program_apply(p->program, function->op, column, arguments, node));
done:
    return status;
}

static facet_status unknown_name(const struct parser *p, const struct token *name, int call) {
    const char *nearest =
        names_nearest(name->text, (size_t)name->length, call, p->n_parameters, p->parameters);
    const char *what = call ? "function" : "name";
    if (nearest)
        return base_fail(FACET_ERROR_INPUT, "column %d: unknown %s '%.*s'; did you mean '%.40s'?",
                         name->column, what, QUOTED(name), nearest);
    char known[256] = "";
    int least, most, used = 0;
    for (int i = 0; call && expr_function(i, &least, &most) != NULL; i++)
        used += snprintf(known + used, sizeof known - (size_t)used, "%s%s", i > 0 ? ", " : "",
                         expr_function(i, &least, &most));
    return base_fail(
        FACET_ERROR_INPUT, "column %d: unknown %s '%.*s'; %s%s", name->column, what, QUOTED(name),
        call ? "functions are " : "known are x, y, z, pi, e, t, on boundaries nx, ny, nz, and the parameters",
        known);
}

static facet_status parse_call(struct parser *p, const struct token *name, int *node) {
    facet_status status = FACET_OK;
    const struct function *function = names_function(name->text, (size_t)name->length);
    int open = p->lexer.token.column;
    if (!function) TRY(unknown_name(p, name, 1));
    TRY(lexer_next(&p->lexer));
    TRY(parse_arguments(p, function, name->column, open, node));
done:
    return status;
}

/* The number a name stands for; false when it stands for none. */
static int constant_value(const struct parser *p, const struct token *name, double *value) {
    size_t length = (size_t)name->length;
    if (length == 2 && !memcmp(name->text, "pi", 2)) {
        *value = M_PI;
        return 1;
    }
    if (length == 1 && name->text[0] == 'e') {
        *value = M_E;
        return 1;
    }
    for (int i = 0; i < p->n_parameters; i++) {
        if (strlen(p->parameters[i].name) != length || memcmp(p->parameters[i].name, name->text, length) != 0)
            continue;
        *value = p->parameters[i].value;
        return 1;
    }
    *value = 0.0;
    return length == 1 && name->text[0] == 't'; /* the time, where nobody has said another */
}

static facet_status parse_name(struct parser *p, int *node) {
    facet_status status = FACET_OK;
    struct token name = p->lexer.token;
    double value = 0;
    int constant = constant_value(p, &name, &value);
    const char letter = name.text[name.length - 1];
    int normal = name.length == 2 && name.text[0] == 'n';
    int coordinate = !constant && (normal || name.length == 1) && letter >= 'x' && letter <= 'z';
    TRY(lexer_next(&p->lexer));
    int call = p->lexer.token.kind == TOKEN_OPEN;
    if (call && (coordinate || constant))
        FAIL(FACET_ERROR_INPUT, "column %d: '%.*s' is not a function; write %.*s*(...) to multiply",
             name.column, QUOTED(&name), QUOTED(&name));
    if (call) {
        TRY(parse_call(p, &name, node));
    } else if (coordinate) {
        TRY(program_coordinate(p->program, letter - 'x' + (normal ? 3 : 0), name.column, node));
    } else if (constant) {
        TRY(program_number(p->program, value, name.column, node));
    } else if (names_function(name.text, (size_t)name.length)) {
        FAIL(FACET_ERROR_INPUT, "column %d: the function '%.*s' lacks its argument; write %.*s(...)",
             name.column, QUOTED(&name), QUOTED(&name));
    } else {
        TRY(unknown_name(p, &name, 0));
    }
done:
    return status;
}

static facet_status parse_primary(struct parser *p, int *node) {
    facet_status status = FACET_OK;
    struct token token = p->lexer.token;
    if (token.kind == TOKEN_NAME) {
        TRY(parse_name(p, node));
    } else if (token.kind == TOKEN_NUMBER) {
        TRY(program_number(p->program, token.number, token.column, node));
        TRY(lexer_next(&p->lexer));
    } else if (token.kind == TOKEN_OPEN) {
        TRY(lexer_next(&p->lexer));
        TRY(parse_conditional(p, node));
        TRY(close_parenthesis(p, token.column));
    } else if (token.kind == TOKEN_NOT) {
        FAIL(FACET_ERROR_INPUT, "column %d: '%.*s' binds too loosely to stand here; put it into parentheses",
             token.column, QUOTED(&token));
    } else {
        TRY(unexpected(p, "a number, a name or '('"));
    }
done:
    return status;
}

/* [+-] unary, or primary [^ unary]. */
static facet_status parse_unary(struct parser *p, int *node) {
    facet_status status = FACET_OK;
    struct token sign = p->lexer.token;
    if (sign.kind == TOKEN_PLUS || sign.kind == TOKEN_MINUS) {
        TRY(enter(p));
        TRY(lexer_next(&p->lexer));
        TRY(parse_unary(p, node));
        if (sign.kind == TOKEN_MINUS)
            TRY(program_apply(p->program, OP_NEGATE, sign.column, (int[]){*node}, node));
        p->depth--;
    } else {
        TRY(parse_primary(p, node));
        struct token power = p->lexer.token;
        if (power.kind == TOKEN_POWER) {
            int exponent;
            TRY(enter(p));
            TRY(lexer_next(&p->lexer));
            TRY(parse_unary(p, &exponent));
            TRY(program_apply(p->program, OP_POWER, power.column, (int[]){*node, exponent}, node));
            p->depth--;
        }
    }
done:
    return status;
}

/* Operators that bind at least as tightly as `bind`, from left to right. */
static facet_status parse_binary(struct parser *p, int bind, int *node) {
    facet_status status = FACET_OK;
    struct token token = p->lexer.token;
    if (token.kind == TOKEN_NOT && bind <= BIND_NOT) {
        TRY(enter(p));
        TRY(lexer_next(&p->lexer));
        TRY(parse_binary(p, BIND_NOT, node));
        TRY(program_apply(p->program, OP_NOT, token.column, (int[]){*node}, node));
        p->depth--;
    } else {
        TRY(parse_unary(p, node));
    }
    for (;;) {
        token = p->lexer.token;
        int own = operators[token.kind].bind, right;
        if (own == 0 || own < bind) break;
        TRY(lexer_next(&p->lexer));
        TRY(parse_binary(p, own + 1, &right));
        TRY(program_apply(p->program, operators[token.kind].op, token.column, (int[]){*node, right}, node));
        if (own == BIND_COMPARE && operators[p->lexer.token.kind].bind == BIND_COMPARE)
            FAIL(FACET_ERROR_INPUT, "column %d: comparisons do not chain; write a < b and b < c",
                 p->lexer.token.column);
    }
done:
    return status;
}

/* c ? a : b, from right to left. */
static facet_status parse_conditional(struct parser *p, int *node) {
    facet_status status = FACET_OK;
    int choice[3];
    TRY(enter(p));
    TRY(parse_binary(p, BIND_OR, &choice[0]));
    struct token question = p->lexer.token;
    if (question.kind == TOKEN_QUESTION) {
        TRY(lexer_next(&p->lexer));
        TRY(parse_conditional(p, &choice[1]));
        if (p->lexer.token.kind != TOKEN_COLON) TRY(stray(p, "':' and the other branch of '?'"));
        TRY(lexer_next(&p->lexer));
        TRY(parse_conditional(p, &choice[2]));
        TRY(program_apply(p->program, OP_SELECT, question.column, choice, node));
    } else {
        *node = choice[0];
    }
    p->depth--;
done:
    return status;
}

facet_status parse_text(const char *text, int n_parameters, const struct expr_parameter *parameters,
                        struct program *program) {
    facet_status status = FACET_OK;
    struct parser p = {.program = program, .n_parameters = n_parameters, .parameters = parameters};
    int root;
    if (strlen(text) > EXPR_MAX_BYTES)
        FAIL(FACET_ERROR_INPUT, "the expression has %zu characters; at most %d are read", strlen(text),
             EXPR_MAX_BYTES);
    lexer_begin(&p.lexer, text);
    TRY(lexer_next(&p.lexer));
    if (p.lexer.token.kind == TOKEN_END)
        FAIL(FACET_ERROR_INPUT, "column 1: the expression is empty; write a number such as 0, or a formula");
    TRY(parse_conditional(&p, &root));
    if (p.lexer.token.kind == TOKEN_CLOSE)
        FAIL(FACET_ERROR_INPUT, "column %d: this ')' closes nothing; remove it or add '('",
             p.lexer.token.column);
    if (p.lexer.token.kind != TOKEN_END) TRY(stray(&p, "an operator or the end"));
    TRY(program_finish(program, root));
done:
    return status;
}
