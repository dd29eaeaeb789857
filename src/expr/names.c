/* The names an expression may use: functions, reserved words and parameters, and the nearest of them to a
 * name that is unknown. */
#include "expr/program.h"

#include <math.h>
#include <string.h>

#include "base/guess.h"

static const struct function functions[] = {
    {"sin", OP_SIN, 1, 1},     {"cos", OP_COS, 1, 1},   {"tan", OP_TAN, 1, 1},     {"asin", OP_ASIN, 1, 1},
    {"acos", OP_ACOS, 1, 1},   {"atan", OP_ATAN, 1, 1}, {"atan2", OP_ATAN2, 2, 2}, {"sinh", OP_SINH, 1, 1},
    {"cosh", OP_COSH, 1, 1},   {"tanh", OP_TANH, 1, 1}, {"exp", OP_EXP, 1, 1},     {"log", OP_LOG, 1, 1},
    {"log10", OP_LOG10, 1, 1}, {"sqrt", OP_SQRT, 1, 1}, {"abs", OP_ABS, 1, 1},     {"sign", OP_SIGN, 1, 1},
    {"min", OP_MIN, 2, -1},    {"max", OP_MAX, 2, -1},  {"pow", OP_POWER, 2, 2},   {"floor", OP_FLOOR, 1, 1},
    {"ceil", OP_CEIL, 1, 1},   {"erf", OP_ERF, 1, 1},   {"hypot", OP_HYPOT, 2, 2}, {"step", OP_STEP, 1, 1},
    {"mod", OP_MOD, 2, 2},     {"if", OP_SELECT, 3, 3},
};
enum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };

static const char *const reserved[] = {"x", "y", "z", "pi", "e", "and", "or", "not"};
enum { N_RESERVED = sizeof reserved / sizeof reserved[0], N_VALUES = 5 };

const struct function *names_function(const char *name, size_t length) {
    for (int i = 0; i < N_FUNCTIONS; i++)
        if (strlen(functions[i].name) == length && !memcmp(functions[i].name, name, length))
            return &functions[i];
    return NULL;
}

const char *expr_function(int i, int *least, int *most) {
    if (i < 0 || i >= N_FUNCTIONS) return NULL;
    *least = functions[i].least;
    *most = functions[i].most;
    return functions[i].name;
}

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_name(const char *name) {
    if (!is_letter(name[0])) return 0;
    for (const char *c = name; *c; c++)
        if (!is_letter(*c) && !(*c >= '0' && *c <= '9')) return 0;
    return 1;
}

facet_status names_check_parameters(int n_parameters, const struct expr_parameter *parameters) {
    facet_status status = FACET_OK;
    for (int i = 0; i < n_parameters; i++) {
        const char *name = parameters[i].name;
        if (!name || !is_name(name))
            FAIL(FACET_ERROR_INPUT,
                 "parameter '%.40s' is not a name; use letters, digits and _, beginning with a letter",
                 name ? name : "");
        if (names_function(name, strlen(name)))
            FAIL(FACET_ERROR_INPUT, "parameter '%s' has the name of a function; choose another name", name);
        for (int j = 0; j < N_RESERVED; j++)
            if (!strcmp(name, reserved[j]))
                FAIL(FACET_ERROR_INPUT, "parameter '%s' hides the built-in '%s'; choose another name", name,
                     name);
        for (int j = 0; j < i; j++)
            if (!strcmp(name, parameters[j].name))
                FAIL(FACET_ERROR_INPUT, "parameter '%.40s' is given twice; remove one", name);
        if (!isfinite(parameters[i].value))
            FAIL(FACET_ERROR_INPUT, "parameter '%.40s' is %g; give it a finite number", name,
                 parameters[i].value);
    }
done:
    return status;
}

static void consider(const char *name, size_t length, const char *candidate, const char **nearest,
                     int *least) {
    size_t m = strlen(candidate);
    if (m > GUESS_BYTES) return;
    int d = guess_distance(name, length, candidate, m);
    if (d < *least) *least = d, *nearest = candidate;
}

const char *names_nearest(const char *name, size_t length, int call, int n_parameters,
                          const struct expr_parameter *parameters) {
    if (length > GUESS_BYTES) return NULL;
    const char *nearest = NULL;
    int least = (int)length / 2 + 1; /* half of the letters must be right */
    if (call) {
        for (int i = 0; i < N_FUNCTIONS; i++) consider(name, length, functions[i].name, &nearest, &least);
    } else {
        for (int i = 0; i < N_VALUES; i++) consider(name, length, reserved[i], &nearest, &least);
        for (int i = 0; i < n_parameters; i++) consider(name, length, parameters[i].name, &nearest, &least);
    }
    return nearest;
}
