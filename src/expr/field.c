/* A function of position in one of three forms: expressions (of which some may be numbers), numbers, or a C
 * function. Numbers are kept as such, also when they come as text. */
#include "expr/field.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"

struct field {
    int n_components;
    char **texts;        /* as given; all NULL for numbers and functions */
    struct expr **exprs; /* NULL where a component is a number; all NULL for a field of numbers */
    double *numbers;
    double t;                /* for functions; in expressions it is a parameter */
    const char *group;       /* or NULL */
    facet_function function; /* or NULL */
    int ours;                /* it answers with a status, whose message stands */
    void *user;
};

static facet_status create(int n_components, struct field **field) {
    facet_status status = FACET_OK;
    struct field *made = NULL;
    *field = NULL;
    if (n_components < 1) FAIL(FACET_ERROR_INPUT, "a field has one component or more, not %d", n_components);
    TRY(CALLOC(made, 1));
    made->n_components = n_components;
    TRY(CALLOC(made->texts, n_components));
    TRY(CALLOC(made->exprs, n_components));
    TRY(CALLOC(made->numbers, n_components));
    *field = made;
    made = NULL;
done:
    field_destroy(&made);
    return status;
}

/* Says which component a failure belongs to, where there are several. */
static facet_status at_component(const struct field *field, int component, facet_status status) {
    return field->n_components > 1 && status != FACET_OK ? base_wrap(status, "component %d", component + 1)
                                                         : status;
}

static facet_status check_number(double value) {
    if (fabs(value) <= FIELD_LARGEST) return FACET_OK;
    if (!isfinite(value)) return base_fail(FACET_ERROR_INPUT, "the value is %g; give a finite number", value);
    return base_fail(FACET_ERROR_INPUT, "the value is %g, beyond %g (use other units)", value, FIELD_LARGEST);
}

/* n values of one component, `step` numbers apart. */
static facet_status check_values(int n, int step, const double *values, int dim, const double *x) {
    char where[128];
    int wrong = 0, i = 0;
    for (int k = 0; k < n; k++) wrong |= !(fabs(values[(int64_t)k * step]) <= FIELD_LARGEST);
    if (!wrong) return FACET_OK;
    while (fabs(values[(int64_t)i * step]) <= FIELD_LARGEST) i++;
    return base_fail(FACET_ERROR_INPUT, "the value at %s is %g, beyond %g (use other units)",
                     expr_point_text(dim, x + (int64_t)i * dim, 10, where, sizeof where),
                     values[(int64_t)i * step], FIELD_LARGEST);
}

facet_status field_create_texts(int n_components, const char *const *texts, int n_parameters,
                                const struct expr_parameter *parameters, struct field **field) {
    facet_status status = FACET_OK;
    struct field *made = NULL;
    *field = NULL;
    TRY(create(n_components, &made));
    for (int c = 0; c < n_components; c++) {
        TRY(at_component(made, c, expr_compile(texts[c], n_parameters, parameters, &made->exprs[c])));
        TRY(base_strdup(texts[c], &made->texts[c]));
        if (!expr_is_constant(made->exprs[c], &made->numbers[c])) continue;
        TRY(at_component(made, c, check_number(made->numbers[c])));
        expr_destroy(&made->exprs[c]);
    }
    *field = made;
    made = NULL;
done:
    field_destroy(&made);
    return status;
}

facet_status field_create_constants(int n_components, const double *values, struct field **field) {
    facet_status status = FACET_OK;
    struct field *made = NULL;
    *field = NULL;
    TRY(create(n_components, &made));
    for (int c = 0; c < n_components; c++) {
        TRY(at_component(made, c, check_number(values[c])));
        made->numbers[c] = values[c];
    }
    *field = made;
    made = NULL;
done:
    field_destroy(&made);
    return status;
}

facet_status field_create_function(int n_components, facet_function function, void *user,
                                   struct field **field) {
    facet_status status = FACET_OK;
    *field = NULL;
    if (!function) FAIL(FACET_ERROR_INPUT, "the function of a field is NULL; give one, or an expression");
    TRY(create(n_components, field));
    (*field)->function = function;
    (*field)->user = user;
done:
    return status;
}

facet_status field_copy(const struct field *from, int n_parameters, const struct expr_parameter *parameters,
                        double t, const char *group, struct field **copy) {
    facet_status status = FACET_OK;
    *copy = NULL;
    if (!from) goto done;
    int n = from->n_components;
    TRY(from->function ? field_create_function(n, from->function, from->user, copy)
        : from->texts[0]
            ? field_create_texts(n, (const char *const *)from->texts, n_parameters, parameters, copy)
            : field_create_constants(n, from->numbers, copy));
    (*copy)->ours = from->ours;
    (*copy)->t = t;
    (*copy)->group = group;
done:
    return status;
}

void field_answers_status(struct field *field) {
    field->ours = 1;
}

int field_is_ours(const struct field *field) {
    return field->function != NULL && field->ours;
}

void field_set_user(struct field *field, void *user) {
    field->user = user;
}

void field_swap(struct field *a, struct field *b) {
    struct field other = *a;
    const char *group = b->group;
    *a = *b;
    a->group = other.group;
    *b = other;
    b->group = group;
}

void field_destroy(struct field **field) {
    if (!*field) return;
    for (int c = 0; (*field)->exprs && c < (*field)->n_components; c++) expr_destroy(&(*field)->exprs[c]);
    for (int c = 0; (*field)->texts && c < (*field)->n_components; c++) base_free(&(*field)->texts[c]);
    base_free(&(*field)->texts);
    base_free(&(*field)->exprs);
    base_free(&(*field)->numbers);
    base_free(field);
}

int field_n_components(const struct field *field) {
    return field->n_components;
}

int field_is_constant(const struct field *field, double *values) {
    if (field->function) return 0;
    for (int c = 0; c < field->n_components; c++)
        if (field->exprs[c]) return 0;
    for (int c = 0; values && c < field->n_components; c++) values[c] = field->numbers[c];
    return 1;
}

int field_is_number(const struct field *field, int component, double *value) {
    if (field->function || field->exprs[component]) return 0;
    *value = field->numbers[component];
    return 1;
}

int field_is_differentiable(const struct field *field) {
    return !field->function;
}

facet_status field_program_create(const struct field *field, int component, const struct device *device,
                                  int dim, int order, unsigned sets, int64_t n_points,
                                  struct expr_program *program) {
    return expr_program_create(field->exprs[component], device, dim, order, sets, n_points, program);
}

facet_status field_program_set_lines(const struct field *field, int component, struct expr_program *program,
                                     const int n[3], const double *const x[3]) {
    return expr_program_set_lines(field->exprs[component], program, n, x);
}

int field_reads(const struct field *field, const char *name) {
    for (int c = 0; c < field->n_components; c++)
        if (field->texts[c] && expr_reads(field->texts[c], name)) return 1;
    return 0;
}

facet_status field_check_coordinates(const struct field *field, int dim, int has_normal) {
    for (int c = 0; c < field->n_components; c++) {
        int n = field->exprs[c] ? expr_n_coordinates(field->exprs[c]) : 0;
        if (n > 0 && !has_normal && expr_reads_normal(field->exprs[c]))
            return at_component(field, c,
                                base_fail(FACET_ERROR_INPUT,
                                          "'%s' uses the normal nx, ny, nz, which only boundaries have",
                                          expr_text(field->exprs[c])));
        if (n > dim)
            return at_component(field, c,
                                base_fail(FACET_ERROR_INPUT,
                                          "'%s' uses %c, which points in %d dimensions do not have",
                                          expr_text(field->exprs[c]), "xyz"[n - 1], dim));
    }
    return FACET_OK;
}

/* Rows not written by the function stay NaN and are found with the values that are not finite. */
static facet_status eval_function(const struct field *field, int n_points, int dim, const double *x,
                                  const double *normals, double *values) {
    facet_status status = FACET_OK;
    size_t n = (size_t)n_points * (size_t)field->n_components;
    const facet_points points = {
        .n = n_points, .dim = dim, .x = x, .normals = normals, .t = field->t, .group = field->group};
    for (size_t i = 0; i < n; i++) values[i] = NAN;
    int answer = field->function(field->user, &points, values);
    if (answer && field->ours) return (facet_status)answer;
    if (answer)
        FAIL(FACET_ERROR_INPUT, "the user's function stopped with the value %d; it should return 0", answer);
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i])) continue;
        char where[128];
        const double *point = x + i / (size_t)field->n_components * (size_t)dim;
        status = base_fail(FACET_ERROR_INPUT, "the user's function gives %g at %s; it should be finite",
                           values[i], expr_point_text(dim, point, 10, where, sizeof where));
        TRY(at_component(field, (int)(i % (size_t)field->n_components), status));
    }
    for (int c = 0; c < field->n_components; c++)
        TRY(at_component(field, c, check_values(n_points, field->n_components, values + c, dim, x)));
done:
    return status;
}

/* normals: unit ones, or NULL. */
static facet_status evaluate(const struct field *field, int n_points, int dim, const double *x,
                             const double *normals, double *values) {
    facet_status status = FACET_OK;
    double *column = NULL;
    size_t n_components = (size_t)field->n_components;
    if (n_points <= 0) goto done;
    if (field->function) {
        TRY(eval_function(field, n_points, dim, x, normals, values));
        goto done;
    }
    for (size_t c = 0; c < n_components; c++) {
        if (!field->exprs[c]) {
            for (size_t i = 0; i < (size_t)n_points; i++) values[i * n_components + c] = field->numbers[c];
        } else if (n_components == 1) {
            TRY(expr_eval(field->exprs[c], n_points, dim, x, normals, values, NULL, NULL));
            TRY(check_values(n_points, 1, values, dim, x));
        } else {
            if (!column) TRY(ALLOC(column, n_points));
            TRY(at_component(field, (int)c,
                             expr_eval(field->exprs[c], n_points, dim, x, normals, column, NULL, NULL)));
            TRY(at_component(field, (int)c, check_values(n_points, 1, column, dim, x)));
            for (size_t i = 0; i < (size_t)n_points; i++) values[i * n_components + c] = column[i];
        }
    }
done:
    base_free(&column);
    return status;
}

facet_status field_eval(const struct field *field, int n_points, int dim, const double *x, double *values) {
    return evaluate(field, n_points, dim, x, NULL, values);
}

facet_status field_eval_grid(const struct field *field, const struct expr_grid *grid, double *values) {
    facet_status status = FACET_OK;
    double *points = NULL;
    int n = 1;
    const int own = field->n_components == 1 && field->exprs[0];
    for (int d = 0; d < grid->dim; d++) n *= grid->counts[d];
    if (own) TRY(expr_eval_grid(field->exprs[0], grid, values));
    if (own && check_values(n, 1, values, 0, NULL) == FACET_OK) return FACET_OK;
    TRY(ALLOC(points, (int64_t)n * grid->dim));
    expr_grid_points(grid, points);
    TRY(evaluate(field, n, grid->dim, points, NULL, values));
done:
    base_free(&points);
    return status;
}

static int wants_normal(const struct field *field) {
    int wants = field->function != NULL;
    for (int c = 0; c < field->n_components; c++)
        wants |= field->exprs[c] && expr_reads_normal(field->exprs[c]);
    return wants;
}

facet_status field_eval_on(const struct field *field, int n_points, int dim, const double *x, int step,
                           const double *normals, double *values) {
    facet_status status = FACET_OK;
    double *unit = NULL;
    int wants = wants_normal(field);
    if (wants && normals == NULL && !field->function)
        FAIL(FACET_ERROR_INPUT,
             "the normal is not known at corners and edges, where the condensed method needs the "
             "values that u has on the boundary");
    if (wants && normals != NULL) {
        TRY(ALLOC(unit, (int64_t)n_points * dim));
        for (int64_t i = 0; i < n_points; i++) {
            const double *normal = normals + i * step;
            double square = 0.0;
            for (int d = 0; d < dim; d++) square += normal[d] * normal[d];
            for (int d = 0; d < dim; d++) unit[i * dim + d] = normal[d] / sqrt(square);
        }
    }
    TRY(evaluate(field, n_points, dim, x, unit, values));
done:
    base_free(&unit);
    return status;
}

facet_status field_eval_jet(const struct field *field, int component, int n_points, int dim, const double *x,
                            double *values, double *gradients, double *hessians) {
    facet_status status = FACET_OK;
    if (field->function)
        FAIL(FACET_ERROR_INPUT, "derivatives of a C function are not known; give an expression instead");
    if (component < 0 || component >= field->n_components)
        FAIL(FACET_ERROR_INPUT, "component %d is wanted of a field with %d", component + 1,
             field->n_components);
    if (n_points <= 0) goto done;
    if (field->exprs[component]) {
        TRY(at_component(
            field, component,
            expr_eval(field->exprs[component], n_points, dim, x, NULL, values, gradients, hessians)));
        TRY(at_component(field, component, check_values(n_points, 1, values, dim, x)));
        goto done;
    }
    size_t n = (size_t)n_points, d = (size_t)dim;
    for (size_t i = 0; i < n; i++) values[i] = field->numbers[component];
    if (gradients) memset(gradients, 0, n * d * sizeof *gradients);
    if (hessians) memset(hessians, 0, n * d * d * sizeof *hessians);
done:
    return status;
}

#define ROUNDING (16.0 * DBL_EPSILON)

void field_point_inside(int dim, const double *x, const double *normal, double size, double *inside) {
    double square = 0.0, along = 0.0;
    for (int d = 0; d < dim; d++) {
        along += fabs(normal[d] * x[d]);
        square += normal[d] * normal[d];
    }
    const double length = sqrt(square);
    if (length > 0.0) size = fmax(size, along / length);
    for (int d = 0; d < dim; d++)
        inside[d] = length > 0.0 ? x[d] - ROUNDING * size * normal[d] / length : x[d];
}

facet_status field_gradient_inside(const struct field *field, int n_points, int dim, const double *x,
                                   int step, const double *normals, double size, double *inside, double *work,
                                   double *gradients) {
    facet_status status = FACET_OK;
    double *further = work + n_points, *there = further + n_points * dim;
    for (int i = 0; i < n_points; i++) {
        const double *normal = normals + i * step;
        field_point_inside(dim, x + i * dim, normal, size, inside + i * dim);
        for (int d = 0; d < dim; d++)
            further[i * dim + d] = inside[i * dim + d] + (inside[i * dim + d] - x[i * dim + d]);
    }
    TRY(field_eval_jet(field, 0, n_points, dim, inside, work, gradients, NULL));
    TRY(field_eval_jet(field, 0, n_points, dim, further, work, there, NULL));
    for (int i = 0; i < n_points * dim; i++) gradients[i] += gradients[i] - there[i];
done:
    return status;
}
