/* A function of position with one or several components, as the user gave it: numbers, expressions or a C
 * function. This is how data of a problem reaches the discretization. */
#ifndef FACET_EXPR_FIELD_H
#define FACET_EXPR_FIELD_H

#include "expr/expr.h"

struct field;

/* Components from texts (expressions or numbers). */
facet_status field_create_texts(int n_components, const char *const *texts, int n_parameters,
                                const struct expr_parameter *parameters, struct field **field);
facet_status field_create_constants(int n_components, const double *values, struct field **field);
facet_status field_create_function(int n_components, facet_function function, void *user,
                                   struct field **field);
void field_destroy(struct field **field);

int field_n_components(const struct field *field);
/* True when all components are numbers; then values (or NULL) receives them. */
int field_is_constant(const struct field *field, double *values);
/* True when derivatives can be had, that is, not a C function. */
int field_is_differentiable(const struct field *field);
/* FACET_ERROR_INPUT when an expression uses a coordinate that points of this dimension do not have. */
facet_status field_check_coordinates(const struct field *field, int dim);

/* values: n_points x n_components. A value that is not finite is a FACET_ERROR_INPUT that names the point. */
facet_status field_eval(const struct field *field, int n_points, int dim, const double *x, double *values);
/* One component with derivatives; as expr_eval. Fails for a C function. */
facet_status field_eval_jet(const struct field *field, int component, int n_points, int dim, const double *x,
                            double *values, double *gradients, double *hessians);

#endif
