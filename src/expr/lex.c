/* Splits the text of an expression into tokens. Any bytes may come; those that begin no token are refused. */
#define _GNU_SOURCE /* strtod_l: a decimal point is a point in every locale */
#include "expr/lex.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

void lexer_begin(struct lexer *lexer, const char *text) {
    *lexer = (struct lexer){.at = text, .column = 1};
}

/* The token of this kind and length begins at the reader, which moves behind it. */
static void take(struct lexer *lexer, enum token_kind kind, int length) {
    lexer->token = (struct token){.kind = kind, .text = lexer->at, .length = length, .column = lexer->column};
    lexer->at += length;
    lexer->column += length;
}

static facet_status take_number(struct lexer *lexer) {
    facet_status status = FACET_OK;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) FAIL(FACET_ERROR_MACHINE, "the C locale is not available");
    char *end;
    double value = strtod_l(lexer->at, &end, plain);
    int length = (int)(end - lexer->at);
    freelocale(plain);
    if (lexer->at[0] == '0' && (lexer->at[1] == 'x' || lexer->at[1] == 'X')) {
        value = 0; /* not hexadecimal, but a zero with a name behind it */
        length = 1;
    }
    if (isinf(value))
        FAIL(FACET_ERROR_INPUT, "column %d: the number %.20s%s is too large; the largest is about 1.8e308",
             lexer->column, lexer->at, strlen(lexer->at) > 20 ? "..." : "");
    take(lexer, TOKEN_NUMBER, length);
    lexer->token.number = value;
done:
    return status;
}

static void take_name(struct lexer *lexer) {
    static const struct {
        const char *word;
        enum token_kind kind;
    } words[] = {{"and", TOKEN_AND}, {"or", TOKEN_OR}, {"not", TOKEN_NOT}};
    int length = 0;
    while (is_letter(lexer->at[length]) || is_digit(lexer->at[length])) length++;
    enum token_kind kind = TOKEN_NAME;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == (size_t)length && !memcmp(words[i].word, lexer->at, (size_t)length))
            kind = words[i].kind;
    take(lexer, kind, length);
}

static int take_symbol(struct lexer *lexer) {
    static const struct {
        const char *symbol;
        enum token_kind kind;
    } symbols[] = {{"<=", TOKEN_LESS_EQUAL}, {">=", TOKEN_GREATER_EQUAL}, {"==", TOKEN_EQUAL},
                   {"!=", TOKEN_NOT_EQUAL},  {"&&", TOKEN_AND},           {"||", TOKEN_OR},
                   {"<", TOKEN_LESS},        {">", TOKEN_GREATER},        {"!", TOKEN_NOT},
                   {"+", TOKEN_PLUS},        {"-", TOKEN_MINUS},          {"*", TOKEN_TIMES},
                   {"/", TOKEN_OVER},        {"^", TOKEN_POWER},          {"(", TOKEN_OPEN},
                   {")", TOKEN_CLOSE},       {",", TOKEN_COMMA},          {"?", TOKEN_QUESTION},
                   {":", TOKEN_COLON}};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        size_t length = strlen(symbols[i].symbol);
        if (strncmp(lexer->at, symbols[i].symbol, length) != 0) continue;
        take(lexer, symbols[i].kind, (int)length);
        return 1;
    }
    return 0;
}

static facet_status refuse(const struct lexer *lexer) {
    unsigned char c = (unsigned char)*lexer->at;
    int column = lexer->column;
    if (c == '=')
        return base_fail(FACET_ERROR_INPUT, "column %d: unexpected '='; write == to compare", column);
    if (c == '&') return base_fail(FACET_ERROR_INPUT, "column %d: unexpected '&'; write 'and' or &&", column);
    if (c == '|')
        return base_fail(FACET_ERROR_INPUT, "column %d: unexpected '|'; write 'or', ||, or abs(...)", column);
    if (c == '[' || c == '{')
        return base_fail(FACET_ERROR_INPUT, "column %d: unexpected '%c'; use round parentheses", column, c);
    if (c > 32 && c < 127)
        return base_fail(FACET_ERROR_INPUT, "column %d: unexpected character '%c'", column, c);
    return base_fail(FACET_ERROR_INPUT,
                     "column %d: unexpected byte 0x%02x; an expression is plain ASCII text", column, c);
}

facet_status lexer_next(struct lexer *lexer) {
    while (*lexer->at == ' ' || *lexer->at == '\t' || *lexer->at == '\n' || *lexer->at == '\r')
        lexer->at++, lexer->column++;
    char c = *lexer->at;
    if (!c) {
        take(lexer, TOKEN_END, 0);
        return FACET_OK;
    }
    if (is_digit(c) || (c == '.' && is_digit(lexer->at[1]))) return take_number(lexer);
    if (is_letter(c)) {
        take_name(lexer);
        return FACET_OK;
    }
    if (strncmp(lexer->at, "**", 2) == 0)
        return base_fail(FACET_ERROR_INPUT, "column %d: unexpected '**'; write ^ for a power", lexer->column);
    return take_symbol(lexer) ? FACET_OK : refuse(lexer);
}
