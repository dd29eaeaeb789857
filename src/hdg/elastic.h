/* Private to the room: linear elasticity, equation_symmetric and equation_gradient.
 *
 * Both formulations have the shape of diffusion (hdg.h): a flux that lives in the functions phi of degree k,
 * displacements u_c in functions chi, traces uhat_c in psi. With the moments
 *
 *     t_ca = D_a u_c - G_a uhat_c,    D_a = (d_a phi, chi),    G_a = <phi n_a, psi>
 *
 * (minus the moments of the discrete d_a u_c) and the two weighted masses M_dev, M_vol of the phi,
 *
 *   gradient   M_dev = (1/mu phi, phi),    M_vol = (1/(mu+lambda) phi, phi)
 *              H_ca = -1/mu M_dev^-1 t_ca,    p = M_vol^-1 sum_c t_cc
 *   symmetric  M_dev = (1/(2 mu) phi, phi), M_vol = (1/(2 mu + d lambda) phi, phi)
 *              sigma_ca = -M_dev^-1 ((t_ca + t_ac)/2 - 1_ca tr t/d) - 1_ca M_vol^-1 tr t/d
 *
 * In the gradient formulation the equations for p and H are linked in the discrete spaces (take E = q I in
 * that for H), so neither is an unknown of the local problem; in the symmetric one the compliance has the
 * eigenspaces of trace-free and of spherical tensors, and is never inverted as a whole. What remains,
 *
 *     S u = f + R uhat,    K_e = H + .. - R' S^-1 R,
 *
 * is in blocks of components, with P = [D|G]' M_dev^-1 [D|G], Q the same of M_vol, scalar in u and uhat,
 *
 *     gradient   S_cd = Q_cd + 1_cd sum_b P_bb
 *     symmetric  S_cd = (Q_cd - P_cd)/d + P_dc/2 + 1_cd sum_b P_bb/2
 *
 * plus the stabilization 1_cd [T E; E' H]: T = <tau chi, chi> in the gradient formulation, <tau/h P_M chi,
 * P_M chi> with P_M the projection on the trace space in the symmetric one. So the matrix of the flux (13 N
 * unknowns with H and p) is never formed: one symmetric product of N rows, and the elimination of u.
 *
 * With heat the stress vanishes at a strain e = alpha (T - T0), times 1 + nu in plane strain: A sigma =
 * eps(u) - e 1, so that (e, phi) is added to the t_cc of the symmetric formulation. In the gradient one p
 * becomes -(mu + lambda) div u + beta, beta = (2 mu + d lambda) e: (beta/(mu + lambda), phi) is added to
 * sum_c t_cc, and the stress is mu (H + H') - (lambda p + mu beta)/(mu + lambda) 1. Either way the flux has a
 * part s 1 with s = -M_vol^-1 of these moments whatever u is, and loads u_c by D_c's and uhat_c by -G_c's: no
 * gradient of e is ever taken, and nothing grows with lambda but what the stress does itself.
 *
 * Displacements: the phi themselves in the gradient formulation. In the symmetric one P_k for the stress and
 * P_{k+1} for u, mapped on simplices, and in physical coordinates on quads and hexes: the space of polygons
 * and polyhedra (Qiu, Shen, Shi). There mapped P_k loses order on trapezoids, mapped Q_{k+1} for u makes the
 * local problem singular, and mapped Q_k for the stress is unstable for large lambda on hexes from k = 2 on:
 * the pressure L_k(x) L_k(y) L_k(z) has a gradient orthogonal to P_{k+1}, so that nothing but the boundary
 * stops it when it goes through the mesh with continuous traces. The functions are products of Legendre
 * polynomials of the coordinates xi(x) = 1/2 + J^-1 (x - x_middle), J in the middle of the cell: on
 * parallelepipeds the reference coordinates, so that their matrices are those of the reference cell.
 */
#ifndef FACET_HDG_ELASTIC_H
#define FACET_HDG_ELASTIC_H

#include "hdg/general.h"

/* A face with tractions in the gradient formulation, and what it adds to the trace system: rows c, i are
 * its unknowns. */
struct elastic_traction {
    int32_t face, cell; /* cell in the block */
    int block, local;
    double *trace; /* dim m x n: of the cell's trace unknowns */
    double *load;  /* dim m x N: of its loads */
};

struct hdg_elastic {
    struct elastic_tables tables[MESH_MAX_BLOCKS];    /* of fast batches, on the device */
    struct elastic_general *general[MESH_MAX_BLOCKS]; /* elastic_general.c; NULL: no batch is BATCH_GENERAL */
    int varies;                                       /* some modulus is no number */
    int voigt;                                        /* some law is a matrix */
    double
        *moved; /* n_free: what fixed unknowns contribute to the right-hand side, while cells are condensed */
    int has_springs;
    double *areas; /* over which each force is spread; NULL: there are none */
    int64_t n_tractions;
    struct elastic_traction *tractions; /* gradient only, by face */
    int32_t *face_traction;             /* n_faces: index or -1; NULL: none */
    struct csr correction;              /* rows of those faces, n_free rows in all */
    double *correction_lift;            /* n_free */
};

/* Scratch of a thread and the cell at hand. */
struct elastic_local {
    double *chi;         /* points x Nu */
    double *grad;        /* dim x points x N: of physical functions by the coordinates xi(x) */
    double *mu, *lambda; /* points; one number when they are constant */
    double *values;      /* points x 9 */
    double *strain;      /* points x 2: thermal, and scratch */
    double *Z;           /* N0 x (N + n): [D | G], columns as in C with directions for components */
    double *Q;           /* (N + n)^2 when moduli vary */
    double *dev, *vol;   /* N0 x N0 factors */
    double *T;           /* Nu x Nu */
    double *E, *B, *W;   /* of a face: Nu x m, 2 m x m, Nu x m */
    double *rows;        /* n x (N + n): Gram rows of traction faces */
    /* Where the law is a matrix (elastic_voigt.c; s: components of the stress), else NULL: */
    double *stiffness;  /* s x s: C where it is constant, else points x s x s: C^-1; */
    double *V;          /* s N0 x (N + n), */
    double *compliance; /* s N0 x s N0 */
    double *hoop;       /* N0 x Nu: what u_r does around an axis */
    int constant, constant_lambda;
    double mean_mu;
    double middle[3], inverse[9]; /* xi(x) of physical displacements */
};
void elastic_local_destroy(struct local *local); /* safe when there is none */

/* Which of the two: H = grad u is the flux, or the stress is. */
static inline int elastic_is_gradient(const struct hdg_data *data) {
    return equation_has_field(data->equation, HDG_H);
}
/* Where the runs of C's rows begin: u of component c, and the trace of component c on face f. */
static inline int elastic_u_start(int Nu, int c) {
    return c * Nu;
}
static inline int elastic_trace_start(const struct hdg_block_space *b, int dim, int face, int c) {
    return dim * b->starts[face] + c * hdg_face_size(b, face);
}
/* elastic_data.c: data at points, checked; moduli as the plane wants them. */
facet_status elastic_moduli(const struct hdg_data *data, int32_t region, int n, const double *x, double *mu,
                            double *lambda);
facet_status elastic_exact_source(struct local *l, int32_t region, int n, const double *x, double *f);
/* u (n x dim, or NULL) and grad u (n x dim x dim: d_a u_c at [c][a]) of the exact solution. */
facet_status elastic_exact(const struct hdg_data *data, int n, const double *x, double *scratch, double *u,
                           double *H); /* scratch: n (1 + dim) */
/* Given or exact data of a condition: displacement components where fixed, traction (or gradient-pressure)
 * components elsewhere; n x dim. */
facet_status elastic_condition_values(struct local *l, const struct hdg_condition *c, int n, const double *x,
                                      const double *normal, double *values);
/* expansion (temperature - reference) at points of the cell at hand, 0 where there is no heat; scratch: n. */
facet_status elastic_thermal(const struct local *l, int n, const double *x, double *scratch, double *strain);
/* Those in which a body is strained: d of the formulas above. */
static inline int elastic_directions(const struct hdg_data *data) {
    return data->plane == HDG_AXISYMMETRIC ? 3 : data->mesh->dim;
}
/* The strain in the plane, or in space, that is without stress: in plane strain the third direction, which
 * cannot give way, adds nu times it. And the pressure that holds it back. */
static inline double elastic_swelling(const struct hdg_data *data, double mu, double lambda, double strain) {
    int plane_strain = data->mesh->dim == 2 && data->plane == HDG_PLANE_STRAIN;
    return plane_strain ? (2.0 * mu + 3.0 * lambda) / (2.0 * (mu + lambda)) * strain : strain;
}
static inline double elastic_thermal_pressure(const struct hdg_data *data, double mu, double lambda,
                                              double strain) {
    return (2.0 * mu + elastic_directions(data) * lambda) * elastic_swelling(data, mu, lambda, strain);
}
/* The default tau of the gradient formulation with tractions, times mu / height. */
#define ELASTIC_TRACTION_TAU 20.0
/* Physical tau of a face of the cell at hand, which has this area. */
facet_status elastic_tau(struct local *l, int face, double area, int n, const double *x, double *tau);
/* The same of a cell of this mean mu and height over the face. */
facet_status elastic_tau_at(const struct hdg *hdg, double mean_mu, double height, int n, const double *x,
                            double *tau);

/* elastic_law.c: laws that are a matrix C between the components of strain (shears twice) and stress. How
 * many there are, and which pair of directions one is: 2 in the plane is across it, or around the axis. */
#define ELASTIC_MOST_STRESS 6
int elastic_n_stress(const struct hdg_data *data);
const int *elastic_pair(int dim, int row);
/* Whether the law of a region is one; whether it is the same everywhere; and C (n x s x s) at points. */
int elastic_is_voigt(const struct hdg_data *data, int32_t region);
int elastic_is_uniform(const struct hdg_data *data, int32_t region);
facet_status elastic_stiffness(const struct hdg_data *data, int32_t region, int n, const double *x,
                               double *C);
/* Of an orthotropic region in plane strain the stress across the plane, else 0. */
facet_status elastic_voigt_across(const struct hdg_data *data, int32_t region, const double *x,
                                  const double *stress, double *across);
/* The stress (dim x dim, and across the plane) of u and its gradient at a point, less beta in all directions.
 */
void elastic_voigt_stress(int dim, int rows, const double *C, const double *x, const double *u,
                          const double *H, double beta, double *stress, double *across);
/* The strain (dim x dim) of a stress, and what heat adds to it in all directions. C is destroyed. */
void elastic_voigt_strain(int dim, int rows, double *C, const double *stress, double across, double swelling,
                          double *strain);
facet_status elastic_voigt_source(struct local *l, int32_t region, int n, const double *x, double *f);
/* elastic_voigt.c: their cells. Scratch for so many points and functions; total 0: for fields alone. */
facet_status elastic_voigt_scratch(struct local *l, int64_t points, int64_t N, int64_t Nu, int64_t total);
/* The law of the cell at hand at the n points of its geometry. */
facet_status elastic_voigt_begin(struct local *l, int32_t region, int n);
/* -(phi/r, chi) around an axis, else nothing. */
void elastic_hoop_matrix(struct local *l);
/* The Gram matrix of the law into C, Z being there; and the stress (flux: of the moments t_ca, in place;
 * across: N or NULL) of the cell at hand. */
facet_status elastic_voigt_gram(struct local *l);
facet_status elastic_voigt_flux(struct local *l, const double *u, double *flux, double *across);

/* elastic_boundary.c */
facet_status elastic_list_faces(struct hdg *hdg);                              /* before the boundary data, */
facet_status elastic_boundary(struct hdg *hdg);                                /* which these are */
facet_status elastic_number_faces(struct hdg *hdg, const uint8_t *eliminated); /* the trace space */
/* Whether a cell has faces on springs; and K_e (all of it) += <k psi, psi> on these, of the cell at hand. */
int elastic_has_springs(const struct hdg *hdg, int block, int32_t cell);
facet_status elastic_add_springs(struct local *l, double *K);

/* elastic_local.c */
facet_status elastic_factor_masses(struct local *l); /* into dev and vol, as they are needed */
void elastic_solve_mass(const struct local *l, const double *factor,
                        double *v); /* v = M^-1 v; NULL: affine */
facet_status elastic_begin(struct local *l, int block, int32_t cell);
facet_status elastic_initial(struct local *l, double *spherical, double *loads); /* equation.initial */
/* C of the cell at hand, ready for local_eliminate. */
facet_status elastic_matrix(struct local *l);
/* flux (dim x dim x N: stress or H) and p (N, or NULL) from u and uhat of the cell at hand. */
facet_status elastic_flux(struct local *l, const double *u, const double *uhat, double *flux, double *p);

/* elastic_batch.c: straight cells with constant data, in lanes. Which batches are such; after
 * elastic_list_faces. */
facet_status elastic_find_fast(struct hdg *hdg, int block);
void elastic_tables_destroy(struct hdg *hdg, int block);
void elastic_fast_condenser(const struct hdg *hdg, int block, struct condenser *condenser);
/* S_cd = alpha P_cd + beta Q_cd + delta P_dc + gamma 1_cd sum_b P_bb; with constant moduli there is no Q. */
struct elastic_mixture {
    double alpha, beta, gamma, delta;
};
static inline struct elastic_mixture elastic_mixture(const struct hdg_data *data, double mu, double lambda) {
    return elastic_is_gradient(data) ? (struct elastic_mixture){.alpha = mu + lambda, .gamma = mu}
                                     : (struct elastic_mixture){.alpha = lambda, .gamma = mu, .delta = mu};
}

/* elastic_general.c: which batches go to the kernels of kernels/elastic.h for curved cells and moduli that
 * vary, of those that are one by one and whose cells fit; and these, as the functions of general.h. */
typedef int (*elastic_cell_fits)(const struct hdg *hdg, int block, int32_t cell);
facet_status elastic_find_general(struct hdg *hdg, int block, elastic_cell_fits fits);
void elastic_general_destroy(struct hdg *hdg, int block); /* safe when there is nothing */
extern const struct general_maker elastic_general_maker;  /* batch.h */

/* elastic_condense.c */
void elastic_condenser(const struct hdg *hdg, int block, struct condenser *condenser);
/* Whether unknowns of a cell's trace have values that are given (trace.fixed); and how they leave its matrix.
 */
int elastic_has_fixed(const struct hdg *hdg, int block, int32_t cell);
facet_status elastic_remove_fixed(struct local *l, double *K, double *largest_robin);
facet_status elastic_finish_condense(struct hdg *hdg); /* lift and correction */
void elastic_finish_load(const struct hdg *hdg, const struct hdg_solution *solution, double *F);
facet_status elastic_operator(const struct hdg *hdg, struct linear_operator *A);
void elastic_add_correction(const struct hdg *hdg, struct csr *csr);

/* elastic_measure.c. Fields of elasticity alone, at the points of the geometry at hand. */
facet_status elastic_evaluate(struct local *l, const struct hdg_solution *s, enum hdg_field field,
                              const struct hdg_points *points, double *values);
/* Those of the exact solution: n x dim, n x dim x dim twice, n. Moduli into l->elastic; l->jets is scratch.
 */
facet_status elastic_exact_values(struct local *l, int n, double *u, double *H, double *stress, double *p);
/* Q (n x dim x dim), the stress or H at the points of a face, becomes minus the stress; natural: minus (mu H
 * - p I) in the gradient formulation. moduli: 4 n of scratch. */
facet_status elastic_face_stress(struct local *l, const struct hdg_solution *s, int n, const double *chi,
                                 int row, int natural, double *moduli, double *Q);

#endif
