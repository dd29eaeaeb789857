/* Private side of the public handles: a problem's data, and a solver made from it. io and case look inside.
 */
#ifndef FACET_PROBLEM_PROBLEM_H
#define FACET_PROBLEM_PROBLEM_H

#include <pthread.h>

#include "box/box.h"
#include "mesh/part.h"
#include "problem/backend.h"
#include "problem/physics.h"
#include "solve/history.h"

#define PROBLEM_MAX_DEGREE 16 /* of mapped cells; boxes have BOX_MAX_DEGREE */

struct problem_moduli; /* material.c: makes one modulus of a caller's function of two */
struct problem_region {
    char *group;                      /* NULL: all cells that no other entry names */
    struct field *conductivity;       /* diffusion */
    struct field *mu, *lambda;        /* elasticity */
    struct field *given[2];           /* E and nu, where these were given */
    struct field *orthotropic, *axes; /* as in struct hdg_data; mu is then the shear modulus, and lambda 0 */
    struct problem_moduli *moduli[2];
};
/* What groups of cells may have of their own beside the coefficient; others have what is given for all. */
enum problem_share_kind { SHARE_SOURCE, SHARE_REACTION, SHARE_EXPANSION, N_SHARES };
struct problem_share {
    enum problem_share_kind kind;
    char *group;
    struct field *field;
};
struct problem_condition {
    char *part;
    enum hdg_kind kind;
    struct field *g, *a; /* g NULL: from the exact solution */
    /* HDG_MECHANICAL: g is the displacement, t the traction (NULL: exact), and who gives which component. */
    struct field *t;
    uint8_t gives_g[3], gives_t[3];          /* neither: no traction */
    struct field *pressure, *force, *spring; /* as in struct hdg_condition; NULL: none */
    int shared;                              /* conditions of one force have the same number */
    int symmetric;                           /* a plane or surface of symmetry, and nothing else */
    /* HDG_DIRICHLET with a constant g that is an unknown: electrodes.c. Parts of one electrode have its
     * number. */
    int electrode;       /* from 1; 0: none */
    struct field *total; /* what goes in through all its parts */
};

struct problem_contact { /* contacts.c */
    char *between[2];
    struct field *conductance;
};

/* What the caller has set. Solvers have copies, whose parameters are their own. */
struct problem {
    const struct physics *physics;
    struct facet_context *context;
    const struct facet_mesh *mesh;
    int n_parameters;
    struct expr_parameter *parameters; /* the first is t */
    int own_t;                         /* t is a parameter that the caller has set, not the time */
    double t;                          /* the time */
    int n_regions;
    struct problem_region *regions;
    int n_shares;
    struct problem_share *shares;
    int n_conditions;
    struct problem_condition *conditions;
    int n_forces, n_electrodes;
    int n_contacts;
    struct problem_contact *contacts;
    struct field *reaction, *source, *exact;
    struct field *expansion, *temperature, *reference; /* heat; NULL: none */
    struct facet_field *carried;                       /* the field that the temperature is, or was; NULL */
    struct field *jump;                                /* NULL: none */
    struct field *tau;                                 /* of a solver */
};
struct facet_problem {
    struct problem data;
};
void problem_clear(struct problem *problem);
/* All of it, with expressions compiled for the values that the parameters have. */
facet_status problem_copy(const struct problem *from, struct problem *copy);
int problem_find_parameter(const struct problem *problem, const char *name); /* -1: there is none */
facet_status problem_add_parameter(struct problem *problem, const char *name, double value);
/* Field number i of all, in an order that copies share; 0 when there are no more. role: what depends on it,
 * as in facet_solver_update, and of the cells whether it is the reaction or more; group: facet_points.group.
 */
#define PROBLEM_REACTION 8
#define PROBLEM_DEEP     16
struct problem_slot {
    struct field **field; /* to NULL: not given */
    int role;
    const char *group;
};
int problem_slot(struct problem *problem, int i, struct problem_slot *slot);
/* For all setters: whether the problem has this equation; a field from texts, which may use normals on the
 * boundary only. */
facet_status problem_may_set(const facet_problem *problem, facet_equation equation, const char *what);
facet_status problem_compile(const struct problem *p, int on_boundary, int n, const char *const *texts,
                             struct field **field);
facet_status problem_create_function(const struct problem *p, int n, facet_function function, void *user,
                                     struct field **field);
/* One or the other: from texts, or where these are NULL from a function. */
facet_status problem_create_field(const struct problem *p, int on_boundary, int n, const char *const *texts,
                                  facet_function function, void *user, struct field **field);
/* Takes the fields over, also on failure; the region replaces an earlier one of the same group, whose name is
 * copied. */
facet_status problem_set_region(facet_problem *problem, const char *group, struct problem_region region);
void problem_region_clear(struct problem_region *region);
extern const char *const problem_share_names[N_SHARES];
/* Replaces *slot by a new field of n components from texts or a function. */
facet_status problem_set_field(facet_problem *problem, struct field **slot, const char *what, int n,
                               const char *const *texts, facet_function function, void *user);
/* Takes the fields over, also on failure; the name of the part is copied. */
facet_status problem_add_condition(facet_problem *problem, const char *part,
                                   struct problem_condition condition);

/* field_data.c: whether the field of a solver has so many components and dimensions; one that is carried over
 * goes with its copy. */
/* Whether points of cells of this part of a mesh lie in those of the part that the solver has. */
int problem_field_data_is_here(const struct facet_field *field, const struct facet_mesh *mesh);
int problem_field_data_is_revolved(const struct facet_field *carried); /* its body is one of revolution */
facet_status problem_check_field_data(const struct facet_field *carried, int dim, int components);
facet_status problem_copy_field_data(const struct problem *from, struct problem *copy);

/* material.c: the function that both moduli of a region are made of goes with its copy. */
facet_status problem_copy_moduli(const struct problem_region *from, struct problem_region *copy);
/* What is wrong with E and nu (young), or mu and lambda, as a sentence; NULL: nothing. */
const char *problem_find_fault(int young, const double pair[2], char *text, size_t text_bytes);
/* Whether the moduli of all cells are such that the problem is solvable, looked at in the middle
 * of every cell; what is wrong goes to `errors`. */
struct text;
struct problem_resolved;
facet_status problem_check_moduli(const struct problem *problem, const struct problem_resolved *resolved,
                                  struct text *errors);

/* resolve.c: the data of the discretization. Checks names, parts and regions against the mesh and reports all
 * errors at once, one per line. options: NULL when only the problem itself is to be checked. */
struct problem_resolved {
    struct hdg_data data;
    int n_regions; /* cells whose data are the same in all of these: */
    const struct field **conductivity, **mu, **lambda, **orthotropic, **axes;
    const struct field **shares[N_SHARES]; /* NULL: there are none of this kind */
    int32_t *coefficient;                  /* of a region: problem.regions */
    struct field *one;                     /* conductivity where none was given */
    struct field *zero;                    /* dim components: displacement or traction where none is given */
    struct hdg_condition *conditions;
    int32_t region;            /* of a box: that of all its cells */
    int32_t side_condition[6]; /* of a box: as mesh_group.side; -1: periodic */
    int32_t *cell_region;      /* of a box both arrays are NULL until its lists are asked for */
    int32_t *face_condition;
    uint8_t *on_axis; /* of a body of revolution: flags of faces, which have no condition; NULL: none */
    struct hdg_contact *contacts;
    int32_t *face_contact; /* NULL: there are none */
    int n_free_pieces;     /* pieces that nothing holds, and by cell which, or -1; NULL: there are none */
    struct hdg_free_piece *free_pieces;
    int32_t *cell_free_piece;
    int is_turned; /* some unknowns are, in whatever part */
    int n_turns;   /* of oblique planes of symmetry: dim x dim each, and by face which, or -1; NULL: none */
    double *turns;
    int32_t *face_turn;
};
facet_status problem_resolve(const struct problem *problem, const struct options *options,
                             struct problem_resolved *resolved);
void problem_resolved_destroy(struct problem_resolved *resolved);
/* regions.c: the part of it that is about cells; a line of `errors`; an array of one number. */
facet_status problem_resolve_regions(const struct problem *problem, struct problem_resolved *resolved,
                                     struct text *errors);
void problem_add_error(struct text *errors, const char *line);
#define PROBLEM_ERROR(errors, ...)                                                                           \
    do {                                                                                                     \
        char line_[BASE_MESSAGE_BYTES / 2];                                                                  \
        snprintf(line_, sizeof line_, __VA_ARGS__);                                                          \
        problem_add_error(errors, line_);                                                                    \
    } while (0)
facet_status problem_fill(int32_t n, int32_t value, int32_t **array);
/* revolution.c: the faces of a body of revolution that lie on its axis, and what is wrong with the mesh of it. */
facet_status problem_resolve_axis(const struct problem *problem, struct problem_resolved *resolved,
                                  struct text *errors);
/* Of a mesh whose lists are there: the largest distance from the axis (of all its parts, by all of them), and
 * whether a face lies on it. */
double problem_axis_size(const struct facet_mesh *mesh);
int problem_is_on_axis(const struct facet_mesh *mesh, double size, int32_t cell, int local);
/* conflict.c: where parts of the boundary meet and give u different values, the largest difference (0: there
 * is none), and at how many vertices of the mesh the values differ. has_potentials: those of electrodes are
 * solved for. Collective. And the sentence about it, ""
 * for none. */
struct problem_conflict {
    double difference, at[3];
    int component;
    int64_t n_vertices;
    const char *parts[2]; /* as long as the problem */
};
facet_status problem_find_conflict(const struct problem *problem, const struct problem_resolved *resolved,
                                   int has_potentials, struct problem_conflict *conflict);
void problem_conflict_text(const struct problem *problem, const struct options *options,
                           const struct problem_conflict *conflict, char *text, size_t bytes);
/* unresolved.c: the sentence about data finer than the rules that integrate them, "" for none. on_box: the
 * rules are those of the tensor operators. Collective. */
facet_status problem_find_unresolved(const struct problem *problem, const struct problem_resolved *resolved,
                                     int degree, int on_box, char *text, size_t bytes);
/* symmetry.c: conditions that its parts need room for, and these; after the lists of faces are there. */
int problem_n_symmetric(const struct problem *problem);
facet_status problem_resolve_symmetry(const struct problem *problem, struct problem_resolved *resolved,
                                      struct text *errors);
/* contacts.c */
void problem_clear_contacts(struct problem *problem);
facet_status problem_copy_contacts(const struct problem *from, struct problem *copy); /* without fields */
facet_status problem_resolve_contacts(const struct problem *problem, struct problem_resolved *resolved,
                                      struct text *errors);
/* joined_sides.c: whether face i of a part is one of a periodic pair; the sentence about parts that are, where
 * `rest` could be meant for them, "" for none (collective); what is given across joined sides; the turns of
 * rotated ones, after those of symmetry. */
int problem_is_joined(const struct facet_mesh *mesh, const struct mesh_group *part, int32_t i);
facet_status problem_joined_text(const struct problem *problem, const struct problem_resolved *resolved,
                                 char *text, size_t bytes);
facet_status problem_resolve_turns(const struct problem *problem, struct problem_resolved *resolved);
facet_status problem_resolve_joints(const struct problem *problem, struct problem_resolved *resolved,
                                    struct text *errors);
/* Entries of physics.resolve. */
facet_status problem_resolve_diffusion(const struct problem *problem, const struct options *options,
                                       struct problem_resolved *resolved, struct text *errors);
facet_status problem_resolve_elastic(const struct problem *problem, const struct options *options,
                                     struct problem_resolved *resolved, struct text *errors);
/* The same cell by cell and face by face, with the lists of the mesh, for those who do not work on boxes. */
facet_status problem_resolve_lists(const struct problem *problem, struct problem_resolved *resolved);

/* rigid.c: elasticity. Adds a line to `errors` for each way in which a piece of the body can still move;
 * lists those that nothing holds at all, where the formulation can do with their motions. */
facet_status problem_check_rigid(const struct problem *problem, struct problem_resolved *resolved,
                                 struct text *errors);

/* softest_support.c: the softest of springs, Robin sides and contacts, as a sentence; "": none is soft. */
facet_status problem_softest_support(const struct problem *problem, const struct problem_resolved *resolved,
                                     char *text, size_t bytes);

#define PROBLEM_WHY_BYTES 384
/* solver.c: a caller's array that must be memory of the host; whose numbers must be finite, and squares of
 * them, too: one that is not is named. */
facet_status solver_check_finite(const char *function, const char *array, int64_t n, const double *values);
facet_status solver_check_host(const struct facet_solver *s, const char *function, const char *array,
                               const void *address);
/* status of a public call of a solver, which runs `expression`. */
#define SOLVER_CALL(s, status, expression)                                                                   \
    do {                                                                                                     \
        struct base_call call_;                                                                              \
        context_call_begin((s)->context, (s)->threads, &call_);                                              \
        (status) = solver_check_mesh(s);                                                                     \
        if ((status) == FACET_OK) (status) = (expression);                                                   \
        (status) = context_call_end((s)->context, &call_, (status));                                         \
    } while (0)

/* Any number of threads may read a solution at once. What is made when somebody asks for it (q and u* of a
 * box, what is fetched from a device) is made between lock and unlock, which one thread may nest; so is what
 * needs the room that a device keeps for walks over cells. Whoever looks at some cells alone keeps the lock
 * until it has seen them: SOLVER_READ is SOLVER_CALL for those who do. What all cells were fetched for stays
 * until the next solve, and is read without the lock. The exact solution, which may be a function that reads
 * this very solution, is not asked under the lock. */
void solver_lock(const struct facet_solver *s);
void solver_unlock(const struct facet_solver *s);
int solver_hold(const struct facet_solver *s); /* solver_lock, unless all cells were fetched: 0 */
facet_status solver_need(const struct facet_solver *s, enum hdg_field field); /* backend.need, locked */
/* backend.find_fluxes, locked; left is negative where the fluxes are those of HDG. */
facet_status solver_find_fluxes(const struct facet_solver *s, int version, double *left);
#define SOLVER_READ(s, status, expression)                                                                   \
    do {                                                                                                     \
        const int held_ = solver_hold(s);                                                                    \
        SOLVER_CALL(s, status, expression);                                                                  \
        if (held_) solver_unlock(s);                                                                         \
    } while (0)

/* status of a public call about a mesh, which runs `expression`. */
#define MESH_CALL(mesh, status, expression)                                                                  \
    do {                                                                                                     \
        struct base_call call_;                                                                              \
        if ((mesh)->context != NULL) context_call_begin((mesh)->context, 0, &call_);                         \
        (status) = (expression);                                                                             \
        if ((mesh)->context != NULL) (status) = context_call_end((mesh)->context, &call_, (status));         \
    } while (0)

/* group_errors.c: the error by groups of cells, or by pieces of a mesh without groups. */
struct solver_group_errors {
    int n, n_used, by_groups; /* n = 0: there are not two of them */
    int32_t *cell_share;      /* the group (of the mesh) or piece of every cell, -1: none */
    double *squares;          /* n_cells: of the errors of the last estimate */
    double *errors, *sizes;   /* n + 1 each: of u, in its unit, in the worst cell of a share; u there, in the
                                 mean square; those of all cells stand last */
    double *levels;           /* 2 (n + 1): errors of u besides that the whole share has, and of those what
                                 changes within a cell */
    double judged;            /* the relative error of the whole of which these are parts */
    int worst;                /* the one that is to be told, -1: none */
    int n_told;               /* that have fewer digits than the whole */
    double error, size;       /* of u there, relative; u there, relative to that of the whole */
    char place[MESH_PLACE_BYTES]; /* of a piece */
};

/* What whoever reads the results should know: why the tensor operators do not apply; why there is no
 * geometric multigrid; why a factor could not be made; what a device leaves to the host; options of PETSc
 * that nobody asked for; pieces of the mesh that nothing connects; sides of a file that it joins; parts of
 * the boundary that contradict each other; data finer than the mesh; what was taken off data that must
 * balance; the group of cells whose error is far above that of the whole; moments that curved cells of a low
 * degree take away. NULL means nothing. */
enum solver_note {
    SOLVER_NOTE_OPERATOR,
    SOLVER_NOTE_PMG,
    SOLVER_NOTE_FACTOR,
    SOLVER_NOTE_HOST,
    SOLVER_NOTE_PETSC,
    SOLVER_NOTE_PIECES,
    SOLVER_NOTE_JOINED,
    SOLVER_NOTE_CONFLICT,
    SOLVER_NOTE_UNRESOLVED,
    SOLVER_NOTE_BALANCE,
    SOLVER_NOTE_GROUP,
    SOLVER_NOTE_MOMENT,
    SOLVER_N_NOTES
};
/* What those who read a solution have in common. */
struct solver_readers {
    pthread_mutex_t making; /* see solver_lock */
    double size;            /* the largest |u|, */
    unsigned size_n_solves; /* after so many solves; 0: not known */
};
#define SOLVER_DRAWS 3
struct facet_solver {
    const struct backend *backend;
    void *
        self; /* of the backend: struct mapped (mapped_backend.h), struct box (box_backend.h), or that of boxsem_backend.c */
    enum option_operator_kind operator_used;       /* mapped or tensor */
    char notes[SOLVER_N_NOTES][PROBLEM_WHY_BYTES]; /* those that are not made when asked for; "": none */
    double energy;       /* e'K e of the error e of the last estimate, where there are electrodes */
    double imbalance[2]; /* of the last load: what data that must balance sum to, which is taken off the
                            source, and what their moduli sum to; 0: nothing must balance */
    struct problem own;  /* its data, at which `problem` points */
    struct problem *problem;
    struct problem next; /* the same with other parameters, until the next solve or update */
    int has_next;
    int stale;                            /* what must be made anew: roles */
    uint64_t digest;                      /* of what functions give in the cells */
    struct solver_electrodes *electrodes; /* electrodes.c: how totals answer to potentials; NULL: not known */
    hdg_rule_maker maker;
    struct facet_context *context;
    int32_t n_cells; /* of the mesh when the solver was made */
    int n_scalings;
    int threads; /* of all its calls: arrays are made for so many */
    struct options options;
    struct problem_resolved resolved;
    struct hdg_system system;  /* of a box the numbers of unknowns only */
    int64_t n_unknowns;        /* of mapped cells: on the trace, of all parts of the mesh */
    enum option_method method; /* that is used, and its preconditioner */
    enum option_preconditioner preconditioner;
    int solved;
    int has_source;    /* the last solve was for a source of the caller's */
    unsigned n_solves; /* so that fields see when there is another solution */
    struct solver_readers *readers;
    struct solve_report report;
    double carried_error; /* relative: of the temperature that another solver found, beside the reference */
    struct base_timers timers;
};

/* field_data.c: what the estimated error of a temperature that is a field of another solver makes of u comes
 * into the estimate, and into carried_error. Collective. */
facet_status solver_find_carried_error(struct facet_solver *solver);
/* correction.c: the version of the solution that has what the solution is found to lack, so that values of
 * both differ by what theirs lack; BACKEND_SOLVED where nobody knows: boxes, devices that keep the solution,
 * and a factor, which leaves but rounding; or where fluxes lack no more than is little. Collective. It lives
 * until the next call after a solve. */
facet_status solver_find_better(const struct facet_solver *solver, double little, int *version);
/* Of fluxes of the version that solver_find_better found no more than rest is missing, rounding in K included;
 * INFINITY where nobody knows. Collective. */
facet_status solver_find_rest(const struct facet_solver *solver, int version, double *rest);
/* After a factor: the version to which an error is added that rounding may have made; draw: 0 ..
 * SOLVER_DRAWS - 1. BACKEND_SOLVED where nobody knows. */
facet_status solver_find_drawn(const struct facet_solver *solver, int draw, int *version);

/* electrodes.c: solves by `once` until what goes in through each electrode is what is wanted. */
typedef facet_status (*solver_once)(struct facet_solver *solver, const double *source, int there);
facet_status solver_balance_electrodes(struct facet_solver *solver, solver_once once, const double *source,
                                       int there);
void solver_forget_electrodes(struct facet_solver *solver); /* the matrices are others */
/* What totals may lack, of all electrodes together; 0 without any. After a solve. */
double solver_totals_error(const struct facet_solver *solver);
/* The potential of the electrode of condition i of the problem; after a solve its error, and |u| around it.
 */
double solver_potential(const struct facet_solver *solver, int i);
double solver_potential_error(const struct facet_solver *solver, int i, double *size);

/* solver.c: refuses a mesh that was refined under the solver, whose arrays are those of the coarse one. */
facet_status solver_check_mesh(const struct facet_solver *solver);
const char *solver_note(const struct facet_solver *solver, enum solver_note which, char *text, size_t bytes);
/* The steps of solver_create that a check takes, too: the solver's choices and the data of its discretization;
 * whether the tensor operators take it (operator_used; then there are data), with all its words looked at;
 * the notes about data, has_potentials: those of electrodes are among them. */
struct box_data;
facet_status solver_prepare(const struct facet_problem *problem, const struct options *options,
                            struct facet_solver **solver);
facet_status solver_choose_backend(struct facet_solver *solver, hdg_rule_maker maker, struct box_data *data);
facet_status solver_find_conflict(struct facet_solver *solver, int has_potentials);
facet_status solver_find_unresolved(struct facet_solver *solver);
/* As facet_solver_create, with quadrature rules of the caller's choice (NULL: the default ones). */
facet_status solver_create(const struct facet_problem *problem, const struct options *options,
                           hdg_rule_maker maker, struct facet_solver **solver);
void solver_destroy(struct facet_solver **solver);
/* From the data to u; there: source and u are arrays of the device. */
facet_status solver_solve(struct facet_solver *solver, const double *source, double *u, int there);
/* Adds to the message of a solve that failed what may be the cause, and what may help. */
facet_status solver_explain(const struct facet_solver *solver, facet_status status);
const char *solver_preconditioner(const struct facet_solver *solver);

/* update.c: what functions of the cells give, as a number. */
facet_status solver_digest(const struct facet_solver *solver, uint64_t *digest);
/* Makes anew what is stale; called by every solve. look: functions of the cells may give something else.
 * changed: as of facet_solver_update. */
facet_status solver_renew(struct facet_solver *solver, int look, int *changed);
facet_status solver_set_reaction(struct facet_solver *solver, double reaction);
/* solver.c: the backend made again, with its operator, after the data have changed. */
facet_status solver_rebuild(struct facet_solver *solver);

/* group_errors.c, of solvers on mapped cells: who the groups are; what an estimate sees (a solver; as
 * solve_control.regard); which of them is to be told when the whole has this error, and one of a constant
 * besides; the note. */
facet_status solver_group_errors_create(struct facet_solver *solver);
void solver_group_errors_destroy(struct solver_group_errors *shares);
facet_status solver_regard(void *solver, const struct vector *residual, const struct vector *error);
facet_status solver_group_errors_judge(struct facet_solver *solver, double error, double constant);
/* More errors of u: in every cell, of which q sees nothing; and n of them, each of so much times a trace. */
facet_status solver_group_errors_raise(struct facet_solver *solver, const double *cells);
facet_status solver_group_errors_add(struct facet_solver *solver, int n, const double *errors,
                                     const double *const *traces);
/* missing_moment.c, after a solve: SOLVER_NOTE_MOMENT. Collective. */
facet_status solver_find_missing_moment(struct facet_solver *solver);
const char *solver_group_errors_note(const struct facet_solver *solver, char *text, size_t bytes);
/* The algebraic error of u around a cell, in the unit of u, and the size of u there: of its share, or of all
 * cells where there are no shares. of_change: without what is constant in the cell, which fluxes do not see.
 */
void solver_error_at(const struct facet_solver *solver, int32_t cell, int of_change, double *error,
                     double *size);
/* What is found when data are looked at without solving. */
struct problem_findings {
    struct hdg_mismatch
        mismatch; /* see hdg_check_data; its part lives as long as the problem, or the solver */
    char broken[PROBLEM_WHY_BYTES]; /* where the exact solution is none of the problem; "": nowhere */
    int64_t unknowns[2];            /* on the trace, and in the cells */
    char conflict[PROBLEM_WHY_BYTES], unresolved[PROBLEM_WHY_BYTES];
    char solver[2 * PROBLEM_WHY_BYTES]; /* what would solve the system, and why; "": not known */
};
/* look.c: everything solver_create would refuse in options and data, without solving. */
facet_status problem_check_data(const struct facet_problem *problem, const struct options *options,
                                struct problem_findings *findings);
/* The comparison of a solver's data with the exact solution alone, if there is one: mismatch and broken. */
facet_status solver_find_mismatch(struct facet_solver *solver, struct problem_findings *findings);
/* exact.c: whether there are faces in the mesh that an exact solution may contradict (collective); the worst
 * of those of a box, without lists; and the sentence about it. */
facet_status problem_may_break(const struct problem *problem, int *may);
facet_status problem_find_box_break(const struct problem *problem, const struct problem_resolved *resolved,
                                    struct hdg_break *found);
void problem_break_text(const struct problem *problem, const struct hdg_break *found, char *text,
                        size_t bytes);

/* sample.c: fields by name. components: 1, dim or dim*dim. */
facet_status sample_find_field(const struct facet_solver *solver, const char *name, enum hdg_field *field,
                               int *components);
#define SAMPLE_MAX_COMPONENTS 9
/* The degree for which points must be prepared to give the field, and that of the field itself. */
int sample_table_degree(const struct facet_solver *solver, enum hdg_field field);
/* A field of a solution at points that are looked for: from one thread alone (here), or by all that the call
 * has, the points of a device being fetched. */
struct sample_field {
    const struct facet_solver *from;
    enum hdg_field field;
    int components;
    struct mesh_locator *locator;
    struct sample_outside *outside;
    int is_whole; /* all cells are here: nothing is to be fetched */
};
/* point_values.c */
facet_status sample_field_create(const struct facet_solver *from, const char *name, int64_t n_points,
                                 struct sample_field *f); /* n_points: about as many will be asked for */
void sample_field_destroy(struct sample_field *f);        /* safe on a zeroed struct, and twice */
facet_status sample_field_here(const struct sample_field *f, int64_t n, const double *x, double *values);
/* Collective, each process with its own points or all with the same ones; checks what was given to `call`. */
facet_status sample_field_evaluate(const struct sample_field *f, const char *call, int64_t n_points,
                                   const double *x, double *values);
/* How well a number is known. */
struct error_bar {
    double error; /* what of it may be the algebraic error of u, by the estimate of that */
    double scale; /* of u: the size of u there; 0: of other fields */
    double drive; /* of a flux or traction through a part: what the largest u there is could drive through the
                     same faces: a flux that is nothing beside it is zero */
    int by_cells; /* of the faces where cells behind the part end: these know it better than its own */
};
/* What is to be told of a point: how far it was moved to the surface (NaN: it lies outside the mesh, and has
 * no value), how many cells it touches, how far their values are apart, and the largest of these; doubt: the
 * worst of these cells (sample_cell_bar). */
struct sample_point {
    double away, apart, size;
    struct error_bar bar;
    int64_t n_cells;
};
/* facet_solver_evaluate for points that are those of all processes. may_leave: values are NaN at those
 * outside the mesh, which are refused else. points: n, or NULL. */
facet_status sample_points(const struct facet_solver *s, const char *name, int64_t n, const double *x,
                           int may_leave, double *values, struct sample_point *points);
enum sample_take { SAMPLE_INTEGRAL, SAMPLE_MEAN, SAMPLE_MAX, SAMPLE_MIN };
/* A field over the domain (n_on 0), cell groups, or boundary parts. component -1: all; values:
 * up to SAMPLE_MAX_COMPONENTS numbers, or one for the extremes, which are those of the magnitude when a
 * vector or tensor has no component chosen. "flux" on a part is the numerical flux qhat.n out of the domain,
 * "traction" the force upon the body there. *n: how many values were set. */
facet_status sample_take_on(const struct facet_solver *s, const char *name, int component,
                            enum sample_take take, int n_on, const char *const *on, double *values, int *n);
/* Where an extreme is: at a point, of the cell with this number in the whole mesh. */
struct sample_place {
    double at[3];
    int64_t cell;
};
/* What a number brings with it: how well it is known, and the place of an extreme. */
struct sample_about {
    struct error_bar bar;
    struct sample_place place;
    double measure; /* of the cells or faces of an integral, else 1 */
};
/* sample_take_on, with that; about may be NULL. */
facet_status sample_take_with(const struct facet_solver *s, const char *name, int component,
                              enum sample_take take, int n_on, const char *const *on, double *values, int *n,
                              struct sample_about *about);
struct sample_domain;
/* flux_bars.c: the doubt of the n components (or of one, -1 means all) of what goes through parts, and, where
 * cells behind these know it better, the better number. Collective. */
facet_status flux_judge(const struct facet_solver *s, const struct sample_domain *where, int n, int component,
                        double *flux, struct error_bar *bar);
/* The error and the scale of a field inside a cell: an error of 1 in u may be K (p + 1) A / V in fluxes and
 * stresses. */
facet_status sample_cell_bar(const struct facet_solver *s, enum hdg_field field, int32_t cell,
                             struct error_bar *bar);
/* Of the integral of a field over cells or faces of this measure. Collective. */
facet_status sample_integral_bar(const struct facet_solver *s, enum hdg_field field,
                                 const struct sample_domain *where, double measure, struct error_bar *bar);
/* Whether an error is something beside the largest value of a field. Collective. */
facet_status sample_is_uncertain(const struct facet_solver *s, const char *name, double error,
                                 int *uncertain);
/* The largest flux or force through a part that has a condition: of each the integral of the modulus, face by
 * face. given: that of the parts whose conditions say what goes through them; infinite where there is a
 * source. Collective. */
facet_status sample_largest_flux(const struct facet_solver *s, double *largest, double *given);
static inline facet_status sample_take(const struct facet_solver *s, const char *name, int component,
                                       enum sample_take take, const char *on, double *values, int *n) {
    return sample_take_on(s, name, component, take, on != NULL, &on, values, n);
}

/* sample_domain.c: the cells or faces that names mean together; n 0: all cells. */
struct sample_domain {
    int dim; /* of the mesh: cells; one less: faces; 0: no name was given */
    int n;   /* groups, none of which shares a face with another */
    const struct mesh_group *groups[6];
    struct mesh_group merged;
    const char *const *names;
};
facet_status sample_domain_find(const struct facet_solver *s, int n, const char *const *names, int faces_only,
                                struct sample_domain *where);
void sample_domain_destroy(struct sample_domain *where);
/* extremes.c: the greatest or the least value of a component (-1: of the magnitude), and its place; of values
 * that differ by 1e-10 of the range or less, the place in the cell with the lowest number. Collective. */
facet_status sample_extreme(const struct facet_solver *s, enum hdg_field field, int components, int component,
                            const struct sample_domain *where, int greatest, double *value,
                            struct sample_about *about);
/* Whether there are faces that `rest` means. */
int problem_has_rest(const struct facet_mesh *mesh, const struct problem_resolved *resolved);

#endif
