/* Which method solves the trace system: facts as bits, rows of choices and of refusals. See choice.h. */
#include "problem/choice.h"

#include <math.h>
#include <stdio.h>

#include "mesh/part.h"
#include "solve/external.h"
#include "trace/gmg.h"
#include "trace/levels.h"

#define MOST_PRODUCTS 1200.0 /* of a solve on simplices where K has a strong direction across the faces */
/* Cells of a coarsest mesh below which geometric multigrid has nothing left to do. */
#define SMALL_COARSEST 1024
/* Coefficients that vary more may jump inside coarse cells. */
#define LARGE_CONTRAST 30.0
/* From so many unknowns on a factor takes longer than multigrid: on round cells, and on stretched ones or
 * where K jumps inside cells, where the iteration takes longer (docs/gmg.md, docs/pmg.md). */
#define MANY_ROUND      2000
#define LARGE_STRETCH   3.0
#define HARD_WORK       100.0
#define SMOOTHED_WORK   26.7 /* what a polynomial of degree 4 does: 4/3 d (d + 1), src/trace/estimate.c */
#define MANY_HARD_IN_2D 50000
#define MANY_HARD_IN_3D 10000

/* lambda / mu from which a continuous linear space is too stiff. */
#define LOCKING_RATIO 8.0

/* ------------------------------------------------------------------------------ what is asked and given */

/* A smoother that p-multigrid does not have. */
int choice_wants_gmg_smoother(const struct options *o) {
    return o->smoother != SMOOTHER_AUTO && o->smoother != SMOOTHER_FACES;
}

/* Something that only geometric multigrid has. */
int choice_wants_gmg(const struct options *o) {
    return choice_wants_gmg_smoother(o) || o->degrees != DEGREES_AUTO || o->fill > 0.0 ||
           o->coarse_unknowns > 0;
}

/* Whether the caller asks for one of these words. */
int choice_is_tuned(const struct options *o) {
    return o->smoother_degree > 0 || o->smoother != SMOOTHER_AUTO || o->cycle != CYCLE_AUTO ||
           o->precision != PRECISION_AUTO || o->coarse_device != COARSE_DEVICE_SAME || choice_wants_gmg(o);
}

/* Beside a GPU to order the matrix of a large body takes longer than to solve. */
int choice_may_order(const struct facet_solver *s) {
    const int64_t many = s->problem->mesh->dim == 2 ? MANY_HARD_IN_2D : MANY_HARD_IN_3D;
    return !device_has_memory(mapped_device(s)) || !mapped_of(s)->hdg->data.equation->rigid ||
           s->system.n_free <= many;
}

#define MIDDLES 256 /* of cells, looked at together */

/* The middles of so many cells of a region; 1 where one would lock, or where the moduli cannot be had. */
static int middles_lock(const struct hdg_data *data, int32_t region, int n, const double *x) {
    double mu[MIDDLES], lambda[MIDDLES];
    int dim = data->mesh->dim;
    if (field_eval(data->mu[region], n, dim, x, mu) != FACET_OK ||
        field_eval(data->lambda[region], n, dim, x, lambda) != FACET_OK)
        return 1;
    for (int i = 0; i < n; i++)
        if (!(lambda[i] <= LOCKING_RATIO * mu[i])) return 1;
    return 0;
}

/* Moduli that vary are looked at in the middle of every cell. */
static int some_cell_locks(const struct hdg_data *data, int32_t region) {
    const struct facet_mesh *mesh = data->mesh;
    int dim = mesh->dim, n = 0;
    double x[MIDDLES * 3];
    for (int k = 0; k < mesh->n_blocks; k++) {
        const struct mesh_block *b = &mesh->blocks[k];
        for (int64_t cell = 0; cell < b->count; cell++) {
            if (data->cell_region != NULL && data->cell_region[b->first + cell] != region) continue;
            for (int a = 0; a < dim; a++) {
                x[n * dim + a] = 0.0;
                for (int i = 0; i < b->n_nodes; i++)
                    x[n * dim + a] += b->nodes[(cell * b->n_nodes + i) * dim + a] / b->n_nodes;
            }
            if (++n < MIDDLES) continue;
            if (middles_lock(data, region, n, x)) return 1;
            n = 0;
        }
    }
    return n > 0 && middles_lock(data, region, n, x);
}

/* Whether continuous linear functions would lock in some material. */
int choice_locks(const struct hdg_data *data) {
    double mu, lambda;
    int64_t found = 0;
    if (data->mesh->dim == 2 && data->plane == HDG_PLANE_STRESS) return 0;
    for (int r = 0; data->mu != NULL && r < data->n_regions && !found; r++)
        found = field_is_constant(data->mu[r], &mu) && field_is_constant(data->lambda[r], &lambda)
                    ? lambda > LOCKING_RATIO * mu
                    : some_cell_locks(data, r);
    /* a part of the mesh may know other regions than the next */
    return team_reduce_counts(mesh_team(data->mesh), TEAM_MAX, 1, &found) == FACET_OK && found;
}

/* Whether geometric multigrid is expected to be faster than p-multigrid where the coefficient does not jump
 * and rows of cells matter: quads with a small coarsest mesh (docs/gmg.md). */
static int prefers_gmg(const struct facet_mesh *mesh) {
    if (mesh->dim != 2 || mesh->part != NULL) return 0;
    for (int b = 0; b < mesh->n_blocks; b++)
        if (mesh->blocks[b].count > 0 && mesh->blocks[b].shape != SHAPE_QUAD) return 0;
    return mesh_hierarchy_coarsest(mesh) <= SMALL_COARSEST;
}

/* Whether geometric multigrid, if it is made at all (there are coarser meshes, and they help), has rows of
 * quads to solve along. */
static int lacks_rows(const struct facet_solver *s) {
    const struct facet_mesh *mesh = s->problem->mesh;
    int has_rows = mesh->dim == 2 && trace_has_tensor_cells(mesh) && !s->resolved.data.equation->is_vector;
    if (mesh->part != NULL) return !has_rows;
    return !has_rows && !choice_locks(&s->resolved.data) &&
           (mesh->coarse != NULL || mesh_hierarchy_coarsest(mesh) < mesh->n_cells);
}

/* What the choice depends on. */
struct outlook {
    int easy; /* diffusion, and its coefficient does not vary so much that it may jump inside coarse cells */
    int rows; /* what vertices leave reaches along rows of quads */
    int skew; /* there is a strong direction across the faces of cells, which no row of them follows */
    int few;  /* so few unknowns that a factor is worth a thought */
    double products; /* of an iterative solve */
};

static facet_status look(const struct facet_solver *s, struct outlook *o) {
    facet_status status = FACET_OK;
    const struct hdg *hdg = mapped_of(s)->hdg;
    double contrast, stretch, skew, work;
    *o = (struct outlook){.few = choice_may_order(s) && s->problem->mesh->part == NULL,
                          .products = CHOICE_PRODUCTS};
    if (!hdg->data.equation->easy_gmg || choice_has_axis(s)) goto done;
    TRY(trace_contrast(&hdg->trace, &hdg->matrices, &contrast));
    TRY(trace_stretch(&hdg->trace, &hdg->matrices, &stretch, &skew));
    o->easy = contrast <= LARGE_CONTRAST;
    o->skew = skew > LARGE_STRETCH;
    int slow = o->skew && !trace_has_tensor_cells(s->problem->mesh);
    if (slow) o->products = MOST_PRODUCTS;
    if (!o->easy && s->n_unknowns <= MANY_HARD_IN_2D) {
        TRY(trace_measure_work(&hdg->trace, &hdg->matrices, 0, &work));
        slow = slow || work > HARD_WORK;
        o->products =
            fmax(o->products, fmin(CHOICE_PRODUCTS * sqrt(1.0 + work / SMOOTHED_WORK), MOST_PRODUCTS));
    }
    int64_t many = slow                         ? MANY_HARD_IN_2D
                   : stretch <= LARGE_STRETCH   ? MANY_ROUND
                   : s->problem->mesh->dim == 2 ? MANY_HARD_IN_2D
                                                : MANY_HARD_IN_3D;
    o->few = s->n_unknowns <= many && s->problem->mesh->part == NULL;
    if (!o->easy || o->skew || !prefers_gmg(s->problem->mesh)) goto done;
    TRY(trace_measure_work(&hdg->trace, &hdg->matrices, 0, &work));
    o->rows = work > TRACE_MUCH_WORK;
done:
    return status;
}

/* ------------------------------------------------------------------------------ facts */

enum fact {
    ASKED_DIRECT = 1 << 0,
    ASKED_PETSC = 1 << 1,
    ASKED_MULTIGRID = 1 << 2,
    ASKED_FGMRES = 1 << 3,
    AUTO_METHOD = 1 << 4,
    AUTO_PRECONDITIONER = 1 << 5,
    TUNED = 1 << 6,
    NONSYMMETRIC = 1 << 7,
    ON_FACES = 1 << 8, /* unknowns of orthonormal bases on faces; else those of nodes */
    TURNED = 1 << 9,
    SEVERAL = 1 << 10, /* processes */
    ROWS = 1 << 11,    /* geometric multigrid is worth it, or its words were given */
    FEW = 1 << 12      /* so few unknowns that a factor is worth a thought */
};

/* rows: what vertices leave reaches along rows of quads; few: see above. */
static unsigned find_facts(const struct facet_solver *s, int nonsymmetric, int rows, int few) {
    const struct options *o = &s->options;
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct equation *e = s->resolved.data.equation;
    return choice_fact(o->method == METHOD_DIRECT, ASKED_DIRECT) |
           choice_fact(o->method == METHOD_PETSC, ASKED_PETSC) |
           choice_fact(o->method == METHOD_MULTIGRID, ASKED_MULTIGRID) |
           choice_fact(o->method == METHOD_FGMRES, ASKED_FGMRES) |
           choice_fact(o->method == METHOD_AUTO, AUTO_METHOD) |
           choice_fact(o->preconditioner == PRECONDITIONER_AUTO, AUTO_PRECONDITIONER) |
           choice_fact(choice_is_tuned(o), TUNED) | choice_fact(nonsymmetric, NONSYMMETRIC) |
           choice_fact(e->by_faces, ON_FACES) | choice_fact(choice_has_turns(s), TURNED) |
           choice_fact(team_size(mesh_team(mesh)) > 1, SEVERAL) |
           choice_fact(e->easy_gmg && (rows || choice_wants_gmg(o)) && prefers_gmg(mesh), ROWS) |
           choice_fact(few, FEW);
}

/* ------------------------------------------------------------------------------ the table */

static const struct choice_row factors[] = {
    {ASKED_DIRECT, 0, CHOICE_FACTOR, CHOICE_ASKED_FOR},
    {AUTO_METHOD | AUTO_PRECONDITIONER | FEW, TUNED | NONSYMMETRIC, CHOICE_CHEAP_FACTOR,
     "where it is cheaper than an iteration"},
    {0, 0, CHOICE_NO_FACTOR, ""},
};
static const struct choice_row methods[] = {
    {ASKED_DIRECT, 0, METHOD_DIRECT, CHOICE_ASKED_FOR},
    {ASKED_PETSC, 0, METHOD_PETSC, CHOICE_ASKED_FOR},
    {AUTO_METHOD | AUTO_PRECONDITIONER | SEVERAL, ON_FACES, METHOD_PETSC,
     "levels of nodes over several processes are those of PETSc"},
    {AUTO_METHOD | AUTO_PRECONDITIONER | SEVERAL | TURNED, 0, METHOD_PETSC,
     "levels of turned unknowns over several processes are those of PETSc"},
    {ASKED_MULTIGRID, 0, METHOD_MULTIGRID, CHOICE_ASKED_FOR},
    {ASKED_FGMRES, 0, METHOD_FGMRES, CHOICE_ASKED_FOR},
    {NONSYMMETRIC, 0, METHOD_FGMRES, "the matrix is not symmetric"},
    {AUTO_METHOD, 0, METHOD_CG, "the matrix is symmetric"},
    {0, 0, METHOD_CG, CHOICE_ASKED_FOR},
};
static const struct choice_row preconditioners[] = {
    {ASKED_DIRECT, 0, PRECONDITIONER_NONE, "a factor needs none"},
    {0, AUTO_PRECONDITIONER, CHOICE_ASKED, CHOICE_ASKED_FOR},
    {ASKED_PETSC, 0, PRECONDITIONER_NONE, "PETSc has its own"},
    {AUTO_METHOD | SEVERAL, ON_FACES, PRECONDITIONER_NONE, "PETSc has its own"},
    {AUTO_METHOD | SEVERAL | TURNED, 0, PRECONDITIONER_NONE, "PETSc has its own"},
    {0, ON_FACES, PRECONDITIONER_AMG, "pmg and gmg are for unknowns on faces"},
    {TURNED, NONSYMMETRIC, PRECONDITIONER_AMG, "pmg and gmg do not know turned unknowns"},
    {TURNED, 0, PRECONDITIONER_BLOCK, "pmg, gmg and amg do not know turned unknowns of such a matrix"},
    {ROWS, 0, PRECONDITIONER_GMG,
     "rows of quads matter, and there are coarser meshes; or its words were given"},
    {0, 0, PRECONDITIONER_PMG, "the general choice on faces"},
};

int choice_take(const struct choice_row *row, unsigned facts, int asked, const char **why) {
    while ((facts & row->all) != row->all || (facts & row->none) != 0) row++;
    *why = row->why;
    return row->choice == CHOICE_ASKED ? asked : row->choice;
}

static void choose(const struct facet_solver *s, unsigned facts, struct choice *c) {
    c->factor = (enum choice_factor)choice_take(factors, facts, 0, &c->why[0]);
    c->method = choice_take(methods, facts, s->options.method, &c->why[1]);
    c->preconditioner = choice_take(preconditioners, facts, s->options.preconditioner, &c->why[2]);
}

void choice_foresee(const struct facet_solver *s, struct choice *c) {
    const int few = s->problem->mesh->part == NULL;
    *c = (struct choice){.products = CHOICE_PRODUCTS};
    choose(s, find_facts(s, !equation_is_symmetric(&s->resolved.data), 0, few), c);
}

void choice_say(const struct choice *c, char *text, size_t bytes) {
    const char *const *method = option_words[OPTION_METHOD], *const *preconditioner =
                                                                 option_words[OPTION_PRECONDITIONER];
    int n = snprintf(text, bytes, "%s: %s", method[c->method], c->why[1]);
    if (c->preconditioner != PRECONDITIONER_NONE && n > 0 && (size_t)n < bytes)
        n += snprintf(text + n, bytes - (size_t)n, "; %s: %s", preconditioner[c->preconditioner], c->why[2]);
    if (c->factor == CHOICE_CHEAP_FACTOR && n > 0 && (size_t)n < bytes)
        snprintf(text + n, bytes - (size_t)n, "; a factor instead %s", c->why[0]);
}

/* Words that have no place are refused; whoever gives keys of geometric multigrid means it wherever it is
 * thought of. What PETSc takes from us is chosen as without it. */
facet_status solver_check_method(const struct facet_solver *s) {
    struct options o = s->options; /* with what is taken */
    struct choice c;
    const int nonsymmetric = !equation_is_symmetric(&s->resolved.data);
    unsigned place = options_place(&o, s->problem->physics->equation) | AT_MAPPED |
                     (nonsymmetric ? AT_NONSYMMETRIC : 0) | (lacks_rows(s) ? AT_NO_ROWS : 0) |
                     (choice_has_turns(s) ? AT_TURNED : 0) | (choice_has_axis(s) ? AT_AXIS : 0) |
                     (s->context->external == NULL ? AT_ALONE : 0);
    choose(s, find_facts(s, nonsymmetric, 0, 0) & ~(unsigned)(ASKED_PETSC | SEVERAL), &c);
    o.preconditioner = c.preconditioner;
    return options_check_place(&o, place);
}

/* ------------------------------------------------------------------------------ what is not distributed */

struct refusal {
    int holds;
    const char *what;
};

static facet_status check_part(const struct facet_solver *s) {
    const struct options *o = &s->options;
    const struct hdg_data *data = &mapped_of(s)->hdg->data;
    const struct facet_mesh *mesh = s->problem->mesh;
    const int nodes = !data->equation->by_faces, turned = choice_has_turns(s),
              several = team_size(mesh_team(mesh)) > 1, there = !device_is_host(mapped_device(s));
    if (mesh->part == NULL && o->method == METHOD_PETSC)
        return base_fail(FACET_ERROR_INPUT, "the method petsc needs a mesh that was made for a team");
    if (mesh->part == NULL) return FACET_OK;
    const struct refusal rows[] = {
        {o->method == METHOD_DIRECT, "the method direct"},
        {o->method == METHOD_MULTIGRID, "the method multigrid"},
        {o->preconditioner == PRECONDITIONER_AMG, "the preconditioner amg"},
        {o->smoother == SMOOTHER_ROWS && !device_is_host(s->context->device),
         "the smoother rows on this device"},
        {(choice_wants_gmg_smoother(o) && o->smoother != SMOOTHER_ROWS) || o->coarse_unknowns > 0,
         "a smoother other than faces and rows, or a second device,"},
        {o->cycle == CYCLE_FULL, "the cycle full"},
        {nodes && choice_is_singular(s), "the discretization condensed where nothing holds the constant"},
        {(nodes || turned) && o->preconditioner == PRECONDITIONER_AUTO && o->method != METHOD_AUTO &&
             o->method != METHOD_PETSC && several,
         "the preconditioner amg, which this method takes,"},
        {o->method == METHOD_PETSC && choice_is_singular(s),
         "the method petsc where nothing holds the constant"},
        {!equation_is_symmetric(data), "the gradient formulation with tractions"},
        {data->located && !problem_field_data_is_here(s->problem->carried, mesh),
         "a temperature from a case with another mesh"},
        {there && (turned || (data->equation->is_vector && mesh->part->is_turned)),
         "a wall of symmetry or a rotation that turns the unknowns of faces, on this device,"},
        {o->coarse_device != COARSE_DEVICE_SAME, "a second device"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].holds)
            return base_fail(FACET_ERROR_INPUT,
                             "%s is not distributed yet; use the program facet, or leave it to auto",
                             rows[i].what);
    return FACET_OK;
}

facet_status choice_make(const struct facet_solver *s, struct choice *choice) {
    facet_status status = FACET_OK;
    struct outlook outlook;
    TRY(check_part(s));
    TRY(look(s, &outlook));
    *choice = (struct choice){.products = outlook.products};
    choose(s,
           find_facts(s, mapped_of(s)->hdg->nonsymmetric, outlook.rows,
                      outlook.few && s->system.n_free <= cholesky_reasonable_size()),
           choice);
done:
    return status;
}
