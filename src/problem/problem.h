/* Private side of the public handles: a problem's data, and a solver made from it. io and case look inside.
 */
#ifndef FACET_PROBLEM_PROBLEM_H
#define FACET_PROBLEM_PROBLEM_H

#include "hdg/hdg.h"

#define PROBLEM_MAX_DEGREE 16

struct problem_region {
    char *group; /* NULL: all cells that no other entry names */
    struct field *conductivity;
};
struct problem_condition {
    char *part;
    enum hdg_kind kind;
    struct field *g, *a; /* g NULL: from the exact solution */
};

/* Shared by the handle and the solvers made from it; it may not change while a solver holds it. */
struct problem {
    int references;
    const struct facet_context *context;
    const struct facet_mesh *mesh;
    int n_parameters;
    struct expr_parameter *parameters;
    int n_regions;
    struct problem_region *regions;
    int n_conditions;
    struct problem_condition *conditions;
    struct field *reaction, *source, *exact;
};
struct facet_problem {
    struct problem *shared;
};
void problem_release(struct problem **problem);

/* resolve.c: the data of the discretization. Checks names, parts and regions against the mesh and reports all
 * errors at once, one per line. */
struct problem_resolved {
    struct hdg_data data;
    const struct field **conductivity;
    struct field *one; /* conductivity where none was given */
    int32_t *cell_region;
    struct hdg_condition *conditions;
    int32_t *face_condition;
};
facet_status problem_resolve(const struct problem *problem, struct problem_resolved *resolved);
void problem_resolved_destroy(struct problem_resolved *resolved);

struct facet_solver {
    struct problem *problem;
    const struct facet_context *context;
    facet_options options;
    struct problem_resolved resolved;
    struct field *tau;
    struct hdg *hdg;
    struct hdg_system system; /* of hdg */
    struct operator A, M;
    struct cholesky *cholesky;
    const char *method, *preconditioner;
    int flexible; /* the preconditioner changes from step to step */
    struct vector b, x, kernel;
    double *F; /* n_free */
    struct hdg_solution solution;
    int solved;
    double conservation;
    struct solve_report report;
    struct base_timers timers;
    double assembled_bytes; /* of the assembled matrix and its factor, where the method needed them */
};

/* solver.c: as facet_solver_create, with quadrature rules of the caller's choice (NULL: the default ones). */
facet_status solver_create(const struct facet_problem *problem, const facet_options *options,
                           hdg_rule_maker maker, struct facet_solver **solver);

/* method.c: the method, and its preconditioner or factor. */
facet_status solver_choose_method(struct facet_solver *solver);
/* The constant function in the free numbering, normalised. */
void solver_fill_constant(const struct facet_solver *solver, double *constant);

/* Everything solver_create would refuse in the data, without solving. *mismatch: see hdg_check_data; its part
 * lives as long as the problem. */
facet_status problem_check_data(const struct facet_problem *problem, const facet_options *options,
                                struct hdg_mismatch *mismatch);

/* sample.c: fields by name. components: 1 or dim. */
facet_status sample_find_field(const struct facet_solver *solver, const char *name, enum hdg_field *field,
                               int *components);
enum sample_take { SAMPLE_INTEGRAL, SAMPLE_MEAN, SAMPLE_MAX, SAMPLE_MIN };
/* A field over the domain (on NULL), a cell group, or a boundary part. component -1: all; values:
 * `components` numbers, or one for the extremes, which are those of the magnitude when a vector has no
 * component chosen. "flux" on a part is the numerical flux qhat.n out of the domain. *n: how many values were
 * set. */
facet_status sample_take(const struct facet_solver *s, const char *name, int component, enum sample_take take,
                         const char *on, double *values, int *n);

#endif
