/* Equations, as entries of one table: all that the rooms above and the loops of this one ask about what is
 * discretized on the cells. A new equation is a new entry, in a file of its own; problem/physics.h says by
 * which words of a user it is chosen.
 *
 * equation_hybrid: diffusion by HDG (hdg.h). equation_condensed: diffusion by continuous Galerkin (K grad u,
 * grad w) + (lambda u, w) + <a u, w> = (f, w) + <g, w> with u and w continuous and of degree k, the modes
 * inside the cells eliminated (condensed.h); q means -K grad u at points, and the trace is u itself.
 * equation_symmetric, equation_gradient: linear elasticity (elastic.h), the stress symmetric and of degree k
 * >= 1 and u of degree k + 1, or H = grad u, p = -(mu + lambda) div u and u of degree k (fabien2019), with
 * one mu for the whole body.
 */
#ifndef FACET_HDG_EQUATION_H
#define FACET_HDG_EQUATION_H

#include "base/status.h"

/* Fields of solutions. H, p, the vorticity (the curl of u: 1 number in 2D, 3 in 3D): of elasticity; tensors
 * are dim x dim by rows. stress_across: in 2D the third normal stress, across the plane or around the axis,
 * which von_mises knows. */
enum hdg_field {
    HDG_U,
    HDG_U_STAR,
    HDG_Q,
    HDG_Q_STAR,
    HDG_H,
    HDG_P,
    HDG_STRESS,
    HDG_STRAIN,
    HDG_VON_MISES,
    HDG_VORTICITY,
    HDG_ACROSS,
    HDG_N_FIELDS
};
enum hdg_form { HDG_SCALAR, HDG_VECTOR, HDG_TENSOR, HDG_CURL, HDG_AS_U };
struct hdg_field_kind {
    const char *name;
    enum hdg_form form;
    int star; /* made by post-processing, of degree k + 1 */
};
extern const struct hdg_field_kind hdg_fields[HDG_N_FIELDS];

/* HDG_MECHANICAL: component a of the displacement is g_a where fixed[a], and component a of the traction
 * (stress times normal) is t_a where not. HDG_GRADIENT_PRESSURE: (mu H - p I) n = g. */
enum hdg_kind {
    HDG_DIRICHLET,
    HDG_NEUMANN,
    HDG_ROBIN,
    HDG_MECHANICAL,
    HDG_GRADIENT_PRESSURE,
    HDG_SPRING,  /* no condition by itself: that HDG_MECHANICAL may have springs; */
    HDG_CONTACT, /* that faces may resist (hdg_data.contacts); */
    HDG_JUMP     /* that u may jump across joined sides (hdg_data.jump) */
};

#define HDG_BIT(name)   (1u << (name))
#define HDG_MOST_ERRORS 4

struct hdg;
struct hdg_data;
struct hdg_condition;
struct hdg_points;
struct hdg_solution;
struct condenser;
struct local;
struct equation {
    int is_vector;       /* u, f and the trace have dim components, else one */
    int raise;           /* u is of degree k + raise, in functions of its own */
    int least_degree;    /* k */
    int n_flux[4];       /* by dim: unknowns of the flux for each of its functions */
    unsigned fields;     /* bits of enum hdg_field */
    unsigned conditions; /* bits of enum hdg_kind */
    int drifts;          /* pieces that nothing holds are solved up to their motions (free_motions.h) */
    unsigned asymmetric; /* those of them that make K nonsymmetric, unless they fix all components */
    int one_mu;          /* the material has the same mu everywhere */
    int on_boxes;        /* the rooms of boxes have it */
    /* What its system is like. */
    int floats; /* constants are in the kernel of K where nothing holds u; else it is for the caller to refuse
                   what can move */
    int rigid;  /* near-null space: rigid motions, else the constant */
    int turns;  /* K_e does not see the rotations of a cell either */
    int by_faces;   /* unknowns of orthonormal bases on faces, as p- and geometric multigrid want them */
    int easy_gmg;   /* geometric multigrid is worth a thought where the coefficient does not jump */
    int in_batches; /* loads and errors are taken for many cells at once (general.h), but not of bodies of
                       revolution, whose cells are all worked on one by one */
    double outward; /* a flux out of a cell, times this, is what a part is said to have */
    const char *conserved; /* what every cell balances; NULL: nothing */
    const char *no_star;   /* why there is no post-processing; NULL: there is */
    int star_of_gradient;  /* which is of grad u, else of -K grad u */

    /* For people: what is written to a file unless something else is wanted (in this order, -1 behind the
     * last), and the errors that a table shows, by their members of facet_errors. */
    int written[HDG_N_FIELDS];
    int n_errors;
    struct equation_error {
        const char *name;
        size_t offset;
    } errors[HDG_MOST_ERRORS];

    /* Checks of data and degree, before the tables; what belongs to the equation alone is let go. Here and
     * below NULL: there is nothing to do. */
    facet_status (*create)(struct hdg *hdg);
    void (*destroy)(struct hdg *hdg);
    /* The trace space and tables of its own (eliminated: n_faces flags); boundary data, also when they have
     * changed. */
    facet_status (*number)(struct hdg *hdg, const uint8_t *eliminated);
    facet_status (*boundary)(struct hdg *hdg);
    /* Whether kernels condense an affine cell (batch.h); before `number`. NULL: `number` says which. */
    int (*fits)(const struct hdg *hdg, int block, int32_t cell);
    /* The first coefficient of the function 1 on what carries unknowns. */
    double (*one_on)(const struct hdg *hdg, int64_t face);

    /* Scratch of a thread for so many points and unknowns of a cell; and for the points of one field. */
    facet_status (*scratch)(struct local *l, int64_t points, int64_t total);
    facet_status (*scratch_at)(struct local *l, int n, enum hdg_field field);
    facet_status (*begin)(struct local *l, int block, int32_t cell);
    facet_status (*tau)(struct local *l, int face, double area, int n, const double *x, double *tau);
    facet_status (*exact_source)(struct local *l, int32_t region, int n, const double *x, double *f);
    facet_status (*condition_values)(struct local *l, const struct hdg_condition *c, int n, const double *x,
                                     const double *normal, double *g);

    /* How cells are condensed; and, when all are, what is left to do. */
    void (*condenser)(const struct hdg *hdg, int block, struct condenser *condenser);
    facet_status (*finish_condense)(struct hdg *hdg);
    /* The load of a cell in lanes: of the eliminated unknowns, and directly of the shared ones. */
    void (*split_load)(const struct hdg *hdg, int block, int32_t cell, const double *load, double *interior,
                       double *boundary);
    void (*finish_load)(const struct hdg *hdg, const struct hdg_solution *solution, double *F);
    /* What data make of the flux where u and uhat vanish, of the cell at hand (after local_begin): the
     * coefficients (N) of its spherical part, and (or NULL) what they load: the eliminated unknowns, then
     * minus that of the shared ones. NULL: there is no such thing; data.expansion: where there is. */
    facet_status (*initial)(struct local *l, double *spherical, double *loads);
    /* u of the cell at hand from lanes of both; NULL: the eliminated unknowns are u. */
    void (*join)(struct local *l, const double *interior, const double *boundary, double *u);
    /* The flux of a cell (NULL: it is no unknown); p: NULL where there is none. */
    facet_status (*flux)(struct local *l, const double *u, const double *uhat, double *flux, double *p);

    /* Fields of its own at the points of the geometry at hand; those of the exact solution: u, flux, stress
     * and p. */
    facet_status (*evaluate)(struct local *l, const struct hdg_solution *s, enum hdg_field field,
                             const struct hdg_points *points, double *values);
    facet_status (*exact_values)(struct local *l, int n, double *u, double *flux, double *stress, double *p);
    /* Q (n x components x dim), the flux at the points of a face, becomes what goes through it; natural: what
     * cells balance. */
    facet_status (*face_flux)(struct local *l, const struct hdg_solution *s, int n, const double *chi,
                              int row, int natural, double *moduli, double *Q);
};
extern const struct equation equation_hybrid, equation_condensed, equation_symmetric, equation_gradient;

static inline int equation_has_field(const struct equation *e, enum hdg_field field) {
    return (e->fields & HDG_BIT(field)) != 0;
}
static inline int equation_components(const struct equation *e, int dim) {
    return e->is_vector ? dim : 1;
}
/* Their number by its name, -1: there is none. */
int hdg_find_field(const char *name);
/* The names of all fields of an equation, the last after `last`: ", " or " and ". */
void equation_list_fields(const struct equation *equation, const char *last, char *text, size_t text_bytes);
int equation_field_components(const struct equation *equation, int dim, enum hdg_field field);
/* Whether K is symmetric with these conditions. */
int equation_is_symmetric(const struct hdg_data *data);

#endif
