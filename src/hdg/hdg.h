/* HDG for diffusion on mapped cells: lambda u - div(K grad u) = f as a system in (q, u, uhat).
 *
 * On every cell, for all test functions v, w of the mapped space (king2014, eq. 5, with q = -K grad u and
 * variable K):
 *
 *     (K^-1 q, v) - (u, div v) + <uhat, v.n> = 0
 *     (lambda u, w) + (div q, w) + <tau (u - uhat), w> = (f, w)
 *
 * and on every face <q.n + tau (u - uhat), mu> summed over its sides is 0, or -<g, mu> where K grad u . n =
 * g. In matrices, with A = (K^-1 phi, phi), D = (d_a phi_i, phi_j), G = <psi, phi n_a>, M = (phi, phi), T =
 * <tau phi, phi>, E = <tau psi, phi>, H = <tau psi, psi>:
 *
 *     q = A^-1 (D u - G uhat)
 *     S u = f + R uhat,     S = lambda M + T + D' A^-1 D,     R = E + D' A^-1 G
 *     K_e = H + G' A^-1 G - R' S^-1 R,     F_e = R' S^-1 f = U' f,     U = S^-1 R
 *
 * so only A (block diagonal) and S are ever factored, and K_e is symmetric by construction. Both D and G are
 * exact on polynomial geometry (cofactors of the Jacobian are polynomials), which makes the scheme
 * conservative to rounding on curved cells.
 *
 * The order of calls: hdg_create, hdg_condense, (hdg_load, solve, hdg_recover,
 * hdg_postprocess)*.
 */
#ifndef FACET_HDG_HDG_H
#define FACET_HDG_HDG_H

#include "expr/field.h"
#include "hdg/equation.h"
#include "hdg/space.h"
#include "trace/trace.h"

/* 2D. Elasticity: HDG_PLANE_STRESS replaces lambda by 2 mu lambda / (lambda + 2 mu) everywhere.
 * HDG_AXISYMMETRIC: x is the distance r from an axis and y the height z along it, and nothing depends on the
 * angle. All integrals are over the body of revolution, (r K^-1 q, v) - (u, div(r v)) + <r uhat, v.n> = 0 and
 * so on: their weights contain 2 pi r (hdg_space.revolved), and D_r = (r d_r phi, phi) + (phi, phi), which is
 * all that is different. The rows of faces on r = 0 vanish: these have no unknowns and no condition. */
enum hdg_plane { HDG_PLANE_STRAIN, HDG_PLANE_STRESS, HDG_AXISYMMETRIC };

struct hdg_condition {
    enum hdg_kind kind;
    const struct field *g; /* NULL: from the exact solution */
    const struct field *a; /* Robin only */
    const char *part;      /* for messages */
    uint8_t fixed[3];      /* HDG_MECHANICAL: the components that carry a displacement */
    const struct field *t; /* HDG_MECHANICAL: traction, dim components; NULL: from the exact solution */
    /* Beside t: */
    uint8_t slack[3];             /* free components without a traction, where t is not looked at */
    const struct field *pressure; /* p: -p n is added to t; NULL: none */
    const struct field *force;    /* dim numbers, a total that is spread evenly over all faces of conditions
                                     that share it; NULL: none */
    int shared;                   /* which one that is, from 0 */
    const struct field *spring;   /* k of (stress) n + k u = t: one number, those along the normal and across
                                     it, or a matrix (dim x dim), positive semidefinite; NULL: none. Symmetric
                                     formulation only */
    int symmetric; /* a plane of symmetry: of the free components the natural flux vanishes with the traction,
                      so that K stays symmetric in both formulations */
    int oblique;   /* such a plane across no axis: component 0 is the one along its normal */
    int curved; /* such a surface: component 0 of the unknowns are all functions with a normal part, and its
                   faces have turns of their own, which are replaced */
};

/* Where two groups of cells meet and the flux is h (u of one side - u of the other): diffusion by HDG. */
struct hdg_contact {
    const struct field *conductance; /* h > 0 */
    const char *between[2];          /* for messages */
};

/* Elasticity: a piece of the body that nothing holds, solved up to its rigid motions, which are combinations
 * of translations and of rotations about the axes through the centre, with coordinates relative to the size.
 */
struct hdg_free_piece {
    int alone;      /* it is the whole mesh */
    char place[96]; /* where it lies, for messages */
    double center[3], size;
    int n;
    double motions[6][6];
    char text[256]; /* what it can still do */
};

/* The data of a problem; fields and arrays belong to the caller and outlive the struct hdg. */
struct hdg_data {
    const struct facet_mesh *mesh;
    const struct equation *equation;
    int n_regions;
    const struct field *const *conductivity;             /* one per region: 1 or dim*dim components */
    const int32_t *cell_region;                          /* NULL: region 0 everywhere */
    const struct field *const *reaction, *const *source; /* one per region, NULL: zero there; or no array:
                                                            zero everywhere. Elasticity: dim components of
                                                            the source, and no reaction */
    const struct field *exact;                           /* NULL: unknown; components as the source */
    const struct field *tau; /* physical, or in equation_symmetric the tau of tau/h, h the cell's height over
                                the face; NULL: see tau_hat */
    double tau_hat;          /* > 0: physical tau = 2 tau_hat / h; 0: (mean K of the cell) / length, in
                                equation_gradient mu / length, in equation_symmetric (mean 2 mu of the cell) / h */
    enum hdg_plane plane;    /* 2D */
    /* Elasticity, instead of the conductivity. */
    const struct field *const *mu, *const *lambda; /* one component for each region; lambda > -2 mu/3 */
    /* Orthotropic regions, and their axes, where these are not those of the coordinates; each NULL in other
     * regions, and no arrays: there are none. Constants: E1 E2 E3 nu12 nu13 nu23 G12 G13 G23, or in plane
     * stress E1 E2 nu12 G12. Axes: dim components of the first, in 3D as many of a vector in the plane of the
     * first two, of any length. mu is what tau follows there. */
    const struct field *const *orthotropic, *const *axes;
    /* Elasticity that knows heat: the strain expansion (temperature - reference) in all directions without
     * stress. One expansion per region, NULL: none there; or no array, and none of the others. */
    const struct field *const *expansion;
    const struct field *temperature, *reference;
    int located; /* the temperature is looked for by place: between cells it may have two values */
    const struct hdg_condition *conditions;
    const int32_t *face_condition; /* n_faces: index, or -1 for interior faces and those on an axis */
    const struct hdg_contact *contacts;
    const int32_t *face_contact; /* n_faces: index, or -1; NULL: there are none */
    const struct field *jump;    /* numbers, components x dim: u of the second side of a face that lies s away
                                    from    the first is larger by jump s; NULL: nowhere */
    int n_free_pieces;
    const struct hdg_free_piece *free_pieces;
    const int32_t *cell_free_piece; /* n_cells: which of these, or -1; NULL: there are none */
    struct trace_extras extras; /* elasticity: turns of faces; data of a condition on one are still in x, y,
                                   z, but its components, as `fixed` counts them, those of the unknowns */
};

/* What is wrong with the constants (9, or 4) of an orthotropic material, as a sentence; NULL: nothing. */
const char *hdg_orthotropic_fault(int n, const double *constants);

/* A boundary face without a condition lies on the axis. */
static inline int hdg_is_on_axis(const struct hdg_data *data, int64_t face) {
    return data->plane == HDG_AXISYMMETRIC && mesh_is_boundary(data->mesh, face) &&
           data->face_condition[face] < 0;
}

/* weak_constants.c: pieces of the mesh of which K holds the constant so weakly that rounding decides about
 * it. */
struct hdg_weak_constants {
    int n;
    int32_t *cell_piece, *face_piece; /* n_cells; faces of the trace: the piece, or -1; NULL: n is 0 */
    double *hold;                     /* n: the integrals of the reaction and of Robin's a; */
    double *face_hold;                /* these by faces of the trace; */
    double *ratio;                    /* the same over K volume / length^2 */
    int whole;                        /* the mesh is one piece, */
    int nearly_singular;              /* and K may not be positive definite to rounding */
    int negligible; /* what holds it is left out, which changes the rest of u by that part: */
    double softest; /* the ratio with the smallest K of all cells */
};

/* Element data is kept in lanes (kernels/kernels.h) on the device. */
struct hdg {
    const struct device *device;
    int lanes; /* of the device */
    struct hdg_data data;
    struct hdg_space space;
    struct hdg_functions functions[MESH_MAX_BLOCKS];
    int n_eliminated[MESH_MAX_BLOCKS];    /* unknowns that a cell eliminates */
    struct trace_space trace;             /* equation_condensed: of vertices, edges and faces */
    int64_t n_on_axis;                    /* its unknowns that are none: eliminated, and zero */
    struct hdg_condensed *condensed;      /* equation_condensed only */
    struct hdg_elastic *elastic;          /* elasticity only */
    struct hdg_contacts *contacts;        /* contact.h; NULL: none */
    struct hdg_free_motions *free_pieces; /* free_motions.h; NULL: none */
    const struct base_monitor *monitor;
    hdg_rule_maker maker;
    struct trace_matrices matrices; /* K_e */
    /* Of batches whose cells are condensed one by one; those of the others are made again (inner.c). */
    struct affine_tables tables[MESH_MAX_BLOCKS]; /* reference matrices on the device */
    uint8_t *ways[MESH_MAX_BLOCKS];               /* per batch: how it is worked on (batch.h) */
    struct hdg_general *general[MESH_MAX_BLOCKS]; /* NULL: no batch is BATCH_GENERAL */
    struct hdg_cells *cells[MESH_MAX_BLOCKS]; /* cells on the device (device_cells.h); NULL: there are none */
    int stays; /* solutions stay on the device until the host asks (device_cells.h); after hdg_condense */
    double *eliminated;                     /* n_all: Dirichlet values, 0 elsewhere */
    double *held, *moved;                   /* n_free, or NULL: values of fixed unknowns (trace.fixed), and
                                               what they contribute; after hdg_condense */
    double *lift;                           /* n_free: what Dirichlet values contribute */
    double *boundary;                       /* n_free: <g, mu> of Neumann and Robin parts */
    double largest_reaction, largest_robin; /* after hdg_condense */
    int singular;     /* constants are in the kernel of K; after hdg_condense. 0 for elasticity, where pieces
                         that can move are held (free_motions.h) */
    int nonsymmetric; /* known after hdg_create: K = (symmetric element matrices) + a correction in the rows
                         of faces with tractions in equation_gradient. hdg_operator_create and hdg_assemble
                         contain it, trace_block_diagonal and `matrices` do not. CG and Cholesky are not for
                         such K */
    double volume;
    double rounding;           /* of entries of K_e, relative, from a sample; after hdg_condense */
    double inside;             /* the same of u inside a cell, from its trace */
    double uneven;             /* the largest diagonal entry of a K_e over its smallest, from the sample */
    double contrast;           /* the largest diagonal entry of a K_e over that of another, from the sample */
    double heaviest, lightest; /* tau h / K, from the sample */
    struct hdg_weak_constants weak;
    int has_robin;  /* some face has a condition of that kind */
    double *unheld; /* of cells with Robin's a or springs on a face: the largest diagonal entry of K_e without
                       these, of others 0; NULL: there are none */
};

/* Whether the stress has a component around the axis. */
static inline int hdg_has_hoop(const struct hdg *h) {
    return h->space.revolved && h->data.equation->rigid;
}

/* Coefficients of a solution in the orthonormal basis: u count x N, q count x dim x N (not in
 * equation_condensed), star count x N_star per block; trace: full numbering. Elasticity: u count x dim x
 * (functions of a component), q count x dim x dim x N the stress or H, p count x N, star count x dim x
 * N_star; take them from hdg_evaluate.
 */
/* equation_condensed: fluxes through Dirichlet faces by the equations (consistent.c). */
struct hdg_consistent {
    int known;     /* of this solution */
    double *lacks; /* n_all: what fluxes lack at vertices, as a density on Dirichlet faces */
    double left;   /* sum of the moduli of what is left of the equations of vertices */
    struct solve_balance balance;
};
/* What the cells of a block have on the device, all batches of them in lanes; p follows q. */
struct hdg_stored {
    double *loads, *u, *q;
};
struct hdg_solution {
    const struct device *device; /* NULL: nothing of it is there */
    struct hdg_stored cells[MESH_MAX_BLOCKS];
    double *device_trace; /* where the solution stays: the free unknowns, then those that are eliminated, by
                            faces; else as `trace` */
    /* What the host has of it: the trace, u with the loads, and q, of all cells; whether u* is made; and q is
     * wanted when all cells are fetched. */
    int has_trace, has_u, has_q, has_star, wants_q;
    double *u[MESH_MAX_BLOCKS], *q[MESH_MAX_BLOCKS],
        *star[MESH_MAX_BLOCKS]; /* star: NULL until post-processed */
    double *p[MESH_MAX_BLOCKS]; /* equation_gradient; or, hdg_has_hoop, the stress around the axis */
    double *trace;              /* behind them those of second sides (contact.h), which hdg_recover makes */
    double *kept;               /* of these: what the loads make of them; NULL: there are none */
    double *loads[MESH_MAX_BLOCKS]; /* (f, phi) of the last right-hand side, for the unknowns that a cell
                                       eliminates: batch x N x LANES. This and the trace are the device's
                                       where the host sees them */
    double *vertex_loads; /* equation_condensed, n_all: (f, phi) of the vertices, in this part of the mesh */
    struct hdg_consistent consistent;
    double imbalance[2]; /* what the data of such a problem sum to, and their moduli; elasticity: the largest
                            work of them in a motion that nothing prevents, which is taken off likewise */
    double *supply;      /* of weak pieces: the integrals of f and the boundary data, and of their moduli */
    double offset, offset_source; /* a constant that is taken off u, and off f, until hdg_recover is done */
    double uncertainty;           /* of the constants of weak pieces, relative to u: rounding in these
                                     integrals, and the flux that a constant in itself makes */
};

/* maker: NULL for the default rules. Elasticity refuses here: degree 0 of equation_symmetric, several (or
 * variable) mu in equation_gradient, conditions that the formulation does not have. */
facet_status hdg_create(const struct device *device, const struct hdg_data *data, int degree,
                        hdg_rule_maker maker, const struct base_monitor *monitor, struct hdg **hdg);
void hdg_destroy(struct hdg **hdg);

/* Evaluates all data at their quadrature points, so that what is wrong with them is said before anything is
 * condensed; and compares boundary data that were given with those of the exact solution: part is NULL when
 * they agree. */
struct hdg_mismatch {
    const char *part; /* lives as long as the data */
    double difference;
};
facet_status hdg_check_data(const struct hdg *hdg, struct hdg_mismatch *mismatch);
facet_status hdg_find_mismatch(const struct hdg *hdg,
                               struct hdg_mismatch *mismatch); /* the comparison alone */

/* check_exact.c: where the exact solution is none of the problem inside of the mesh. */
enum hdg_break_kind {
    HDG_BREAK_NONE,
    HDG_BREAK_CONTACT,  /* a contact conducts another flux */
    HDG_BREAK_PERIODIC, /* across joined sides something differs, */
    HDG_BREAK_JUMP,     /* where the jump is given */
    HDG_BREAK_GROUPS    /* between cells with different data */
};
struct hdg_break {
    enum hdg_break_kind kind;
    int flux; /* that (or the traction) differs, not u */
    double difference, at[3];
    const char *between[2]; /* of a contact; as long as the data */
};
facet_status hdg_find_break(const struct hdg *hdg, struct hdg_break *found);

/* k (n x dim x dim) of a condition with springs at points of a boundary face, checked; raw: n x dim x dim of
 * scratch. */
facet_status hdg_spring_at(int dim, const struct hdg_condition *c, int n, const double *x,
                           const double *normal, double *raw, double *k);

/* Element matrices, local solvers and the lift of all cells; again, in the same memory, when it is called
 * again. */
facet_status hdg_condense(struct hdg *hdg);
/* After hdg_condense, when boundary data have changed: their loads and what eliminated values contribute;
 * with `matrices` (Robin's a has changed) also the element matrices of cells that have such faces. */
facet_status hdg_renew_boundary(struct hdg *hdg, int matrices);

/* The global system, whatever the equation. Blocks: the unknowns of one face (or vertex). */
struct hdg_system {
    int64_t n_all, n_free;
    int64_t n_blocks;
    const int64_t *block_offsets; /* n_blocks + 1, in the free numbering */
    int64_t n_volume;             /* unknowns before condensation */
};
void hdg_describe(const struct hdg *hdg, struct hdg_system *system);
/* Cells whose matrices the host makes one by one, whatever the device. */
int64_t hdg_n_single(const struct hdg *hdg);
/* Unknowns that a cell of a block eliminates, and those that it shares. */
void hdg_local_sizes(const struct hdg *hdg, int block, int *N, int *n);
facet_status hdg_operator_create(const struct hdg *hdg, struct linear_operator *A);
facet_status hdg_assemble(const struct hdg *hdg, struct csr *csr);
/* The trace of the solution from the free values. */
facet_status hdg_set_trace(const struct hdg *hdg, const struct vector *free, struct hdg_solution *solution);
void hdg_free_constant(const struct hdg *hdg, double *free); /* the function 1 in the free numbering */
/* The largest diagonal entry of K_e (n x n) of a cell, or without Robin's a and springs, if it has these. */
double hdg_stiffest(const struct hdg *hdg, int block, int32_t cell, int n, const double *K);
/* rounding.c: whether K_e is rounded much more than products are; and r = what that may do to K x, by cells
 * (data of a solve_control: the hdg). */
int hdg_rounding_matters(const struct hdg *hdg);
/* recover.c: what an error of the trace (n_free) is as a solution that has no data; made here. */
facet_status hdg_recover_error(const struct hdg *hdg, const double *error, struct hdg_solution *solution);
/* Whether tau is so small that an error of the trace may be far larger inside the cells; and what an error
 * (n_free) is there: in every cell in the mean square, and relative to u of the solution, in coefficients. */
int hdg_is_light(const struct hdg *hdg);
facet_status hdg_error_inside(const struct hdg *hdg, const struct hdg_solution *solution, const double *error,
                              double *cells, double *relative);
double hdg_rounding_error(
    const struct hdg *hdg); /* what rounding in the local problems does to u at least, relative */
facet_status hdg_draw_rounding(void *hdg, int draw, const struct vector *x, struct vector *r);
/* The rigid motions as traces in the free numbering, one after the other, zero at unknowns that are fixed
 * (trace.fixed): dim translations, then the rotation(s) about the centre of the mesh's box: 1 in 2D, about x,
 * y, z in 3D. modes: (3 or 6) x n_free. 0 of an equation whose near-null space is the constant. */
int hdg_n_rigid_modes(const struct hdg *hdg);
facet_status hdg_rigid_modes(const struct hdg *hdg, double *modes);

facet_status hdg_solution_create(const struct hdg *hdg, struct hdg_solution *solution);
void hdg_solution_destroy(struct hdg_solution *solution);
/* The loads (f, phi) into the solution, and the right-hand side F. source: values at the
 * points of the source rule, cell after cell (NULL: the problem's), the components of a point together. For a
 * singular problem the source is balanced by a constant; an imbalance beyond quadrature error is an error. */
facet_status hdg_load(const struct hdg *hdg, const double *source, struct hdg_solution *solution,
                      struct vector *F);
/* Gives weak pieces of an error, in the free numbering, the constants that hdg_recover will leave them: those
 * with which the reaction and Robin's a take nothing. */
facet_status hdg_weak_constants_forget(const struct hdg *hdg, double *free);
/* u and q from the trace and the loads. A singular problem's u is shifted to the mean of the exact
 * solution, or to mean zero. */
facet_status hdg_recover(const struct hdg *hdg, struct hdg_solution *solution);
/* (K grad u*, grad w) = -(q, grad w) for w of degree k+1, and equal means; equation_gradient: (grad u*, grad
 * w) = (H, grad w) by component. equation_symmetric has none and needs none: u itself converges with order
 * k + 2. */
facet_status hdg_postprocess(const struct hdg *hdg, struct hdg_solution *solution);

/* Norms of whole vectors and tensors; -1: there is no such thing in this equation. */
struct hdg_errors {
    double u_L2, u_Linf, q_L2, trace_L2;
    double u_star_L2, q_star_L2; /* -1 when not post-processed */
    double q_component[3], q_star_component[3];
    /* Elasticity. */
    double stress_L2, H_L2, p_L2;
    double u_component[3], u_star_component[3], H_component[9];
    double trace_area_component[3]; /* sqrt of the sum over faces of |F| times the integral of e_a^2: what
                                       fabien2019 prints */
};
facet_status hdg_measure_errors(const struct hdg *hdg, const struct hdg_solution *solution,
                                struct hdg_errors *errors);
/* The mean over the faces of a cell of the trace's mean on them (straight faces), by component. */
void hdg_mean_trace(const struct hdg *hdg, const struct hdg_solution *solution, int block, int32_t cell,
                    double *mean);
/* The imbalance of a cell is f - lambda u against the numerical flux through its faces, and the terms of the
 * flux are |q.n| + tau (|u| + |uhat|) over the faces of a cell. cells is -1 where nothing is conserved cell
 * by cell (equation_condensed). In elasticity every component of the force is balanced in this way; in
 * equation_gradient the force on a face is the integral of (mu H - p I) n. */
facet_status hdg_conservation(const struct hdg *hdg, struct hdg_solution *solution,
                              struct solve_balance *balance);
/* Elasticity with a source of its own, in space or a plane: what is missing of the moments about a center that
 * the loads and supports of the body have, relative to half of their moduli (moments.c). */
facet_status hdg_missing_moment(const struct hdg *hdg, const struct hdg_solution *solution,
                                const double *center, double *share);

/* Values (n_cells x n x components) at the points of a table of some cells of a block (numbers of the mesh);
 * the table has the degree of the field (star fields, and all of equation_symmetric: k + 1) or more. */
facet_status hdg_evaluate(const struct hdg *hdg, const struct hdg_solution *solution, enum hdg_field field,
                          int block, int n_cells, const int32_t *cells, const struct hdg_table *table,
                          double *values);
/* equation_condensed, before hdg_face_fluxes: finds what the equations say of fluxes through Dirichlet faces,
 * if it is not known. Collective. */
facet_status hdg_find_fluxes(const struct hdg *hdg, struct hdg_solution *solution);
/* Integrals over n faces of the numerical flux qhat.n (equation_condensed: of the flux by the equations) out
 * of the given cells, three numbers each, of which one counts. Elasticity: of the numerical traction on them,
 * dim numbers: sigma n - (tau/h) (P u - uhat), in equation_gradient (mu (H + H') - epsilon lambda p I) n -
 * tau (u - uhat). The sum over a part is the force that the surroundings exert there: at a support, its
 * reaction. */
facet_status hdg_face_fluxes(const struct hdg *hdg, const struct hdg_solution *solution, int n,
                             const struct mesh_group_face *faces, double *fluxes);
/* totals.c: what goes in (minus the flux out) through the parts on which traces psi_i (in the numbering of
 * solution.trace, hdg_trace_size numbers) are 1, while they are 0 on the others with Dirichlet values: the
 * sum psi_i'(K uhat - F) over all faces, without cancellation where psi_i are discrete solutions. Diffusion
 * by HDG. whole 0: of a difference of solutions, which has no source and no data. totals, roundings: n, the
 * latter what the last bits of its terms may make of a total. squares: n + 1, the sum over the faces of all
 * cells of <tau psi_i, psi_i>, and at last of the trace of the solution. */
int64_t hdg_trace_size(const struct hdg *hdg);
facet_status hdg_totals(const struct hdg *hdg, const struct hdg_solution *solution, int whole, int n,
                        double *const *psi, double *totals, double *roundings, double *squares);

#endif
