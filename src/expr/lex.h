/* The tokens of an expression; private to parse.c and lex.c. */
#ifndef FACET_EXPR_LEX_H
#define FACET_EXPR_LEX_H

#include <stddef.h>

#include "base/status.h"

enum token_kind {
    TOKEN_END,
    TOKEN_NUMBER,
    TOKEN_NAME,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_COMMA,
    TOKEN_QUESTION,
    TOKEN_COLON,
    TOKEN_NOT,
    TOKEN_POWER,
    /* with two sides, as in the table of precedences of parse.c */
    TOKEN_OR,
    TOKEN_AND,
    TOKEN_LESS,
    TOKEN_LESS_EQUAL,
    TOKEN_GREATER,
    TOKEN_GREATER_EQUAL,
    TOKEN_EQUAL,
    TOKEN_NOT_EQUAL,
    TOKEN_PLUS,
    TOKEN_MINUS,
    TOKEN_TIMES,
    TOKEN_OVER,
    N_TOKENS
};

struct token {
    enum token_kind kind;
    const char *text; /* `length` bytes of the expression, all of them printable */
    int length;
    int column; /* from 1, in characters */
    double number;
};

/* The reader stands behind `token`. */
struct lexer {
    const char *at;
    int column;
    struct token token;
};

void lexer_begin(struct lexer *lexer, const char *text);
/* Reads the next token. */
facet_status lexer_next(struct lexer *lexer);

#endif
