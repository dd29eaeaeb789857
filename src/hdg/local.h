/* Private to the room: one cell's coefficients and matrices, in scratch that a thread reuses. */
#ifndef FACET_HDG_LOCAL_H
#define FACET_HDG_LOCAL_H

#include <math.h>

#include "device/seam.h"
#include "hdg/hdg.h"
#include "mesh/part.h"

/* How A = (K^-1 phi, phi) is inverted. */
enum flux_mass {
    FLUX_SCALED,   /* K constant, affine cell: A^-1 = K/J */
    FLUX_CONSTANT, /* K constant: A^-1 = K x M^-1 */
    FLUX_SCALAR,   /* K scalar: one factored mass matrix for every direction */
    FLUX_FULL      /* K a matrix that varies: one factored matrix of dim N unknowns */
};

struct local {
    const struct hdg *hdg;
    struct hdg_geometry geometry, face_geometry;
    double *x, *normal; /* face points */
    double *K;          /* conductivity: points x dim x dim */
    double *values;     /* points */
    double *jets;       /* points x 40 */
    double *weighted;   /* points x N_star */
    double missing;     /* the most that K_e times a constant lacked, relative to K_e */
    double *X;          /* dim N x (N + n_trace): [D | G], then L^-1 of it */
    double *A;          /* factor of the flux mass: (dim N)^2 */
    double *C;          /* (N + n_trace)^2, upper triangle */
    double *vector;     /* 4 (dim N + N_star + n_trace) */
    /* of the cell at hand */
    int block;
    int32_t cell;
    enum flux_mass mass;
    int affine;                      /* and not revolved: one Jacobian serves all integrals */
    double volume, det;              /* det: of an affine cell */
    double mean_K, K_root[9];        /* K_root: K = K_root K_root', lower, when K is constant */
    double heights[SHAPE_MAX_FACES]; /* over each face; with tau_hat only */
    struct elastic_local *elastic;   /* elasticity only, which leaves X and A out */
    int known; /* the region, and 1, of the last fast cell, whose data all of them there have; 0: none */
    double known_K[9], known_reaction;
};
facet_status local_create(const struct hdg *hdg, struct local *local);
/* With room for coefficients at a few points only. */
facet_status local_create_light(const struct hdg *hdg, struct local *local);
void local_destroy(struct local *local);

/* Runs `work` for every cell in parallel, with scratch per thread; the failure of the first failing cell is
 * returned. */
typedef facet_status (*local_work)(struct local *l, int block, int32_t cell, void *user);
facet_status local_for_all_cells(const struct hdg *hdg, local_work work, void *user);

/* functions.c */
#define HDG_MAX_PHYSICAL_DEGREE 64
facet_status local_functions_create(struct hdg *hdg, int block);
void local_functions_destroy(struct hdg_functions *functions);
/* The chi at the points of a table of the cell at hand; x: the points; compact: as hdg_points.chi. Answers
 * with the length of a row. */
const double *local_chi(struct local *l, const struct hdg_table *table, const double *compact,
                        const double *x, int *row);
/* The derivatives of the phi by reference coordinates at the cell rule of the cell at hand, dim arrays of n
 * rows, `step` numbers apart; inverse (one matrix every `matrix` numbers): of the coordinates by x. */
struct local_gradients {
    const double *grad, *inverse;
    int64_t step;
    int row, matrix;
};
void local_gradients(struct local *l, struct local_gradients *g);

static inline int local_orientation(const struct local *l, int face) {
    const struct mesh_block *block = &l->hdg->data.mesh->blocks[l->block];
    return block->orientations[(int64_t)l->cell * shape_n_faces(block->shape) + face];
}
static inline int32_t local_face_number(const struct local *l, int face) {
    const struct mesh_block *block = &l->hdg->data.mesh->blocks[l->block];
    return block->faces[(int64_t)l->cell * shape_n_faces(block->shape) + face];
}
static inline int local_on_axis(const struct local *l, int face) {
    return l->hdg->space.revolved && hdg_is_on_axis(&l->hdg->data, local_face_number(l, face));
}

/* coefficients.c: data at points, checked. region: of the cell. */
/* "<name> must <rule>, but is <value> at <x>" */
facet_status local_refuse(const char *name, const char *rule, double value, int dim, const double *x);
/* Refuses positive numbers whose squares are beyond double precision. */
facet_status local_check_size(const char *name, double value, int dim, const double *x);
int32_t local_region(const struct hdg_data *data, int block, int32_t cell);
facet_status local_conductivity(struct local *l, int32_t region, int n, const double *x, double *K);
/* 1 when K is one matrix on the whole region; then K (dim x dim) holds it. */
int local_constant_conductivity(const struct hdg_data *data, int32_t region, double *K);
/* check_data.c: how large the exact solution and its flux (or traction) are, in all parts of the mesh. */
facet_status local_exact_sizes(const struct hdg *h, double sizes[2]);
/* measure.c: the trace on a face of the cell at hand at n points of a face table: n x components. */
void local_trace_values(const struct local *l, const struct hdg_solution *s, int face,
                        const struct hdg_face_table *table, int first, int n, double *values);
/* Of the cell at hand (after local_begin), at the points of a face: u, its trace, and Q = q or minus the
 * stress (natural: minus the flux that elasticity balances in every cell), so that Q n + tau (u - uhat) is
 * the numerical flux out of the cell. tau is in l->values, and l->normal has the weights of the rule. The
 * arrays are scratch of `l`. */
struct local_face {
    const struct hdg_face_table *table;
    int n;
    const double *u, *uhat, *Q; /* n x components, the same, n x components x dim */
};
facet_status local_face_values(struct local *l, const struct hdg_solution *s, int face, int natural,
                               struct local_face *values);
/* The integral of that over the face, by component. absolute: of the moduli of its three terms, the size
 * against which rounding counts, also where the flux itself vanishes. */
facet_status local_face_flux(struct local *l, const struct hdg_solution *s, int face, int natural,
                             double *flux, double *absolute);
/* The integral of reaction u over the cell at hand. */
facet_status local_take(struct local *l, const struct hdg_solution *s, double *taken);
/* condition_flux.c: where a condition or a contact says what goes through a face of the cell at hand, the
 * integrals (one a component) of the flux out of it (diffusion) or of the traction upon it become that. */
facet_status local_told_flux(struct local *l, const struct hdg_solution *s, int face, double *flux);
/* rounding.c, before hdg_condense. */
/* On devices other than the host a few of these matrices are kept, for hdg_compare_samples: after
 * condensation they must be those of the device. */
#define ROUGH_KEPT 4
struct rounding_samples {
    int n;
    struct rounding_sample {
        int block, n;
        int32_t cell;
        double *K; /* n x n */
    } of[ROUGH_KEPT * MESH_MAX_BLOCKS];
};
facet_status hdg_measure_rounding(struct hdg *hdg, struct rounding_samples *samples);
facet_status hdg_compare_samples(const struct hdg *hdg, struct rounding_samples *samples);
void rounding_samples_destroy(struct rounding_samples *samples);
/* weak_constants.c. Finds weak pieces, after condensation; refuses a piece that nothing holds. */
facet_status hdg_weak_constants_find(const struct hdg *h, struct hdg_weak_constants *weak);
void hdg_weak_constants_destroy(struct hdg_weak_constants *weak); /* safe on a zeroed struct, and twice */
/* Keeps what their balance needs of a load (works of cells as of hdg_null_space.h; source as of hdg_load). */
facet_status hdg_weak_constants_supply(const struct hdg *h, const double *source, const double *works,
                                       struct hdg_solution *s);
/* Their constants, in u and the trace. */
facet_status hdg_weak_constants_fix(const struct hdg *h, struct hdg_solution *s);
facet_status local_reaction(const struct hdg_data *data, int32_t region, int n, const double *x,
                            double *values);
/* 1 when the reaction is a number on the region (everywhere with region -1: the same one), which *value (or
 * NULL) becomes. */
int local_constant_reaction(const struct hdg_data *data, int32_t region, double *value);
/* f (n x components) at points, from the source or the exact solution. */
facet_status local_source(struct local *l, int32_t region, int n, const double *x, double *values);
/* A caller's values (n x components) are numbers. */
facet_status local_check_source(int n, int components, const double *f);
/* load.c: where the source points of a block begin in the caller's array (times the components). */
int64_t local_source_start(const struct hdg *h, int block);
/* load (components x Nu) = (f - shift, chi) of one cell; source as in hdg_load. shift (or NULL) and works, of
 * f - shift: hdg_null_space.h. */
facet_status local_load(struct local *l, int block, int32_t cell, const double *source, const double *shift,
                        double *load, double *works);
/* K grad u . (normal) of the exact solution at points; normal: n x dim, not normalised. */
facet_status local_exact_flux(struct local *l, int32_t region, int n, const double *x, const double *normal,
                              double *flux);
/* The tau that was given, checked. */
facet_status local_given_tau(const struct hdg_data *data, int n, const double *x, double *tau);
facet_status local_place(facet_status status, const struct local *l); /* wraps a failure with the cell */

static inline double local_norm(int dim, const double *v) {
    double square = 0.0;
    for (int a = 0; a < dim; a++) square += v[a] * v[a];
    return sqrt(square);
}

/* boundary.c. Functions psi on a face: n points x m; normal: n x dim, with areas and weights. */
facet_status local_boundary_data(struct hdg *hdg);
/* Room for it, all zero. */
facet_status local_clear_boundary(struct hdg *hdg);
/* The cell of a boundary face becomes the cell at hand; returns the local face. */
int local_enter_face(struct local *l, int32_t face);
/* Runs `work` in parallel for every face with a condition, or for every free face. */
typedef facet_status (*local_face_work)(struct local *l, int32_t face, void *user);
facet_status local_for_all_faces(const struct hdg *hdg, int conditions, local_face_work work, void *user);
/* The cell of a face becomes the cell at hand, with the geometry at the boundary rule in l->x, l->normal; all
 * normals point outward. */
const struct hdg_face_table *local_place_face(struct local *l, int32_t face);
/* Values (n x components) at points of a face of the cell at hand, from unknowns to what the cell sees; back:
 * the other way (trace_turn). */
void local_turn_values(const struct local *l, int face, int back, int n, double *values);
/* moments (m) = <component a of values, psi>; values: n x components. */
void local_component_moments(struct local *l, const struct hdg_face_table *table, const double *values, int a,
                             double *moments);
/* The moments (count x m) of functions become the coefficients of their projections. */
facet_status local_project(struct local *l, const struct hdg_face_table *table, int32_t face, int count,
                           double *moments);
/* moments[i] += <g, psi_i>; mass (m x m) += <a psi, psi>, a NULL: 1. */
void local_face_moments(int n, int m, const double *psi, int dim, const double *normal, const double *g,
                        double *moments);
void local_face_mass(int n, int m, const double *psi, int dim, const double *normal, const double *a,
                     double *mass, int ld);
/* g of a condition at points of the cell at hand; normal: not for Dirichlet conditions. */
static inline facet_status local_condition_values(struct local *l, const struct hdg_condition *c, int n,
                                                  const double *x, const double *normal, double *g) {
    return l->hdg->data.equation->condition_values(l, c, n, x, normal, g);
}
/* Is a face of the cell at hand on a Robin part? Then a at the boundary rule is in l->values and the normals
 * in l->normal. *largest: the largest a met. */
facet_status local_robin(struct local *l, int face, int *found, double *largest);
/* Notes the largest diagonal entry of K (n x n) of the cell at hand, before Robin's a or springs are added.
 */
void local_note_stiffest(const struct local *l, int n, const double *K);
/* Robin faces of the cell at hand: K (n_trace x n_trace) += <a psi, psi>; *largest: the largest a met. */
facet_status local_add_robin(struct local *l, double *K, double *largest);

/* local.c */
/* A cell becomes the cell at hand, with its geometry at the cell rule and its coefficients. */
static inline facet_status local_begin(struct local *l, int block, int32_t cell) {
    return l->hdg->data.equation->begin(l, block, cell);
}
/* Refuses a cell of a body of revolution that is not right of the axis at the n points of its geometry. */
facet_status local_check_axis(const struct local *l, int n);
double local_one_on(const struct hdg *hdg, int64_t face); /* system.c: on faces, as equation.one_on */
/* The normal of a face of an affine cell; returns its length. */
double local_affine_normal(const struct local *l, int face, double *normal);
/* Geometry of a face at its rule into l->x, l->normal; the chi there. And tau into l->values. */
const double *local_face(struct local *l, int face, int *row);
facet_status local_face_tau(struct local *l, int face, const double **chi, int *row);
/* D_a = (d_a phi, chi) into N rows of length ld at D + a * step; about an axis D_r has (phi/r, chi) more. */
void local_gradient_matrix(struct local *l, double *D, int64_t step, int ld);
/* t (components x dim x N) = D_a u_c - G_a uhat_c at the points of the rules. */
void local_moments(struct local *l, const double *u, const double *uhat, double *t);
/* X = [D | G] and C = [lambda M + T, E; ., H]. */
facet_status local_matrices(struct local *l);
/* Factors the flux mass of the cell at hand. */
facet_status local_factor_flux(struct local *l);
void local_half_flux(struct local *l);                     /* X = L^-1 X, so that X'X = [D|G]' A^-1 [D|G] */
void local_apply_flux_inverse(struct local *l, double *v); /* v = A^-1 v, dim N */

/* K = root root', lower by rows; 0: not positive definite, or no more than rounding is. And K^-1. */
static inline int local_small_root(int dim, const double *K, double *root) {
    return general_root(dim, K, root);
}
static inline int local_small_inverse(int dim, const double *K, double *inverse) {
    return general_inverse(dim, K, inverse);
}

/* A ((P - skip)^2, upper triangle) = (K grad w_j, grad w_i) at n points of the geometry at hand, with K there
 * in l->K and the reference gradients grad (dim x n x P); the first `skip` functions are left out. */
facet_status local_stiffness(struct local *l, int n, int P, const double *grad, int skip, double *A);

/* condense.c. C = [S R; . H] (upper triangle, N and n rows, S = L L') becomes [L', L^-1 R; ..]; matrix (n x
 * n) = H - R'S^-1 R. */
facet_status local_eliminate(struct local *l, int N, int n, double *matrix);
/* No more than L. */
facet_status local_factor(struct local *l, int N, int n);
/* v = L^-1 v; transposed: L'^-1 v. */
void local_half_solve(const struct local *l, int N, int n, int transposed, double *v);
/* Makes K 1 = sums (n x n, symmetric), where the function 1 is ones[k] at the unknowns places[k] and 0
 * elsewhere. Destroys sums. Returns the most that was missing, relative to K. */
double local_restore_sums(int n, int n_ones, const int *places, const double *ones, double *sums, double *K);
/* Of component c of the trace of the cell at hand: one of each for every face but those on an axis; answers
 * with their number. */
int local_find_ones(const struct local *l, int n_components, int c, int *places, double *ones);
/* Where entry 0 of a cell stands in a host array of `size` numbers per cell in lanes. */
static inline int64_t local_lane(int lanes, int32_t cell, int64_t size) {
    return cell / lanes * size * lanes + cell % lanes;
}

#endif
