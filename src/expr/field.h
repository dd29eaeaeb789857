/* A function of position with one or several components, as the user gave it: numbers, expressions or a C
 * function. This is how data of a problem reaches the discretization. Expressions are compiled with the
 * values of their parameters, so that what is a number is known to be one; other values mean another
 * compilation (field_copy), and field_swap puts it where the old one stands. */
#ifndef FACET_EXPR_FIELD_H
#define FACET_EXPR_FIELD_H

#include "expr/expr.h"

struct field;

/* Values beyond this are refused, as those that are not finite, wherever they come from: squares of what is
 * made of them would be infinite. */
#define FIELD_LARGEST 1e140

/* Components from texts (expressions or numbers). */
facet_status field_create_texts(int n_components, const char *const *texts, int n_parameters,
                                const struct expr_parameter *parameters, struct field **field);
facet_status field_create_constants(int n_components, const double *values, struct field **field);
facet_status field_create_function(int n_components, facet_function function, void *user,
                                   struct field **field);
/* The same with other values of the parameters, for the time t, and called by this name (facet_points.group,
 * which the caller keeps). NULL: NULL. */
facet_status field_copy(const struct field *from, int n_parameters, const struct expr_parameter *parameters,
                        double t, const char *group, struct field **copy);
/* The function of a field is one of this library: it answers with a facet_status, whose message stands. */
void field_answers_status(struct field *field);
int field_is_ours(const struct field *field); /* it is such a function */
/* What the function of a field is called with. */
void field_set_user(struct field *field, void *user);
/* Each becomes the other; groups stay. */
void field_swap(struct field *a, struct field *b);
void field_destroy(struct field **field);

int field_n_components(const struct field *field);
/* True when all components are numbers; then values (or NULL) receives them. */
int field_is_constant(const struct field *field, double *values);
/* The same of one component. */
int field_is_number(const struct field *field, int component, double *value);
/* True when derivatives can be had, that is, not a C function. */
int field_is_differentiable(const struct field *field);
/* The program of a component that is an expression, on a device; see expr_program_create. */
facet_status field_program_create(const struct field *field, int component, const struct device *device,
                                  int dim, int order, unsigned sets, int64_t n_points,
                                  struct expr_program *program);
facet_status field_program_set_lines(const struct field *field, int component, struct expr_program *program,
                                     const int n[3], const double *const x[3]);
/* True when an expression uses the name, whatever value it has. */
int field_reads(const struct field *field, const char *name);
/* FACET_ERROR_INPUT when an expression uses a coordinate that points of this dimension do not have, or the
 * normal where there is none. */
facet_status field_check_coordinates(const struct field *field, int dim, int has_normal);

/* values: n_points x n_components. A value that is not finite, or beyond FIELD_LARGEST, is a
 * FACET_ERROR_INPUT that names the point. */
facet_status field_eval(const struct field *field, int n_points, int dim, const double *x, double *values);
/* The same at the points of a grid. */
facet_status field_eval_grid(const struct field *field, const struct expr_grid *grid, double *values);
/* The same on a boundary. normals: outward, of any length, `step` numbers apart: dim, or 0 where all points
 * have the same. NULL: not known, and expressions that use them are refused. */
facet_status field_eval_on(const struct field *field, int n_points, int dim, const double *x, int step,
                           const double *normals, double *values);
/* A point of a boundary as the cell there sees it, for data that may jump at its end: moved inwards, against
 * the normal (of any length), by the rounding of its coordinates along the normal, or of `size`. inside may
 * be x. */
void field_point_inside(int dim, const double *x, const double *normal, double size, double *inside);
/* The gradient of the first component on a boundary, as the cell there sees it: from two points inside, which
 * become inside and what is further in, so that it is that of the boundary itself. Where K is large, the flux
 * of a point that is off by rounding is no zero beside small ones. step: of normals, as above. work: n_points
 * x (1 + 2 dim). */
facet_status field_gradient_inside(const struct field *field, int n_points, int dim, const double *x,
                                   int step, const double *normals, double size, double *inside, double *work,
                                   double *gradients);
/* One component with derivatives; as expr_eval. Fails for a C function. */
facet_status field_eval_jet(const struct field *field, int component, int n_points, int dim, const double *x,
                            double *values, double *gradients, double *hessians);

#endif
