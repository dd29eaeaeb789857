/* The discrete space on mapped cells: bases and geometry tabulated at quadrature points, once per shape.
 *
 * u lives in the mapped P_k (simplices), Q_k (tensor cells) or P_k x P_k (prisms) of every cell, q in the
 * same space once per direction, the trace in the orthonormal basis of the face frame. A table holds, for n
 * points of the reference cell, the basis (n x N, row-major), its reference gradients (dim matrices n x N)
 * and the Lagrange basis of the geometry. Bases are hierarchical: a table made for a higher degree serves the
 * lower one through its first columns.
 */
#ifndef FACET_HDG_SPACE_H
#define FACET_HDG_SPACE_H

#include "mesh/mesh.h"
#include "poly/rule.h"

struct hdg_table {
    int n, N; /* points, basis functions */
    int dim;
    int n_nodes;
    const double *w;        /* n weights of the rule; NULL when the points are no rule */
    double *xi;             /* n x dim */
    double *phi;            /* n x N */
    double *grad;           /* dim x n x N */
    double *geo, *geo_grad; /* n x n_nodes, n x n_nodes x dim: for mesh_cell_map */
};

/* A face rule seen from the cell: one table for every local face and orientation, the points being the same
 * on both sides. Where the faces of a cell differ (prisms), this is the table of those that are like the
 * first; the others have theirs in `other`. Whoever goes over faces asks hdg_face_of. */
struct hdg_face_table {
    struct rule rule;                          /* in frame coordinates */
    int m;                                     /* trace functions of one face */
    double *psi;                               /* n x m */
    struct hdg_table side[SHAPE_MAX_FACES][8]; /* empty where no cell of the mesh has this orientation */
    unsigned others;                           /* bits of the faces that belong to */
    struct hdg_face_table *other;              /* NULL: none */
};
static inline const struct hdg_face_table *hdg_face_of(const struct hdg_face_table *table, int face) {
    return table->others >> face & 1 ? table->other : table;
}
static inline int hdg_face_points(const struct hdg_face_table *table) { /* of any face, at most */
    int n = table->rule.n;
    return table->other != NULL && table->other->rule.n > n ? table->other->rule.n : n;
}

/* What a rule is for. Benches replace some to measure as a paper did; NULL means the default: exact for the
 * matrices of cells with constant coefficients, over-integrating for data and norms. */
enum hdg_use { HDG_CELL, HDG_FACE, HDG_SOURCE, HDG_BOUNDARY, HDG_NORM, HDG_NORM_STAR, HDG_NORM_FACE };
typedef facet_status (*hdg_rule_maker)(enum hdg_use use, enum shape shape, int degree, int order,
                                       struct rule *rule);
/* A face rule for functions of `basis_degree` on the cells of a block and of `degree` on its faces. */
facet_status hdg_face_table_create(hdg_rule_maker maker, enum hdg_use use, const struct mesh_block *block,
                                   int degree, int basis_degree, int order, struct hdg_face_table *table);
void hdg_face_table_destroy(struct hdg_face_table *table);
int hdg_rule_degree(enum hdg_use use, enum shape shape, int degree, int order);
facet_status hdg_default_rule(enum hdg_use use, enum shape shape, int degree, int order, struct rule *rule);

struct hdg_block_space {
    enum shape shape;
    int n_faces;
    int N, N_star, n_trace;          /* functions: volume, post-processed, of all faces */
    int m;                           /* of a face, where they differ: of the largest */
    int starts[SHAPE_MAX_FACES + 1]; /* where those of each face begin */
    struct rule cell_rule, star_rule, source_rule, norm_rule, norm_star_rule;
    struct hdg_table cell, star, source, norm, norm_star; /* star, norm_star: degree k + 1 */
    struct hdg_table center;                              /* one point, no weight */
    struct hdg_face_table face, boundary, norm_face;
    double *D_ref; /* dim x N x N: integral of d_b phi_i phi_j over the reference cell */
    double *F_ref; /* n_faces x 8 x N x m: integral of phi_i psi_m over the reference face; 0 where face.side
                      is empty. A face with fewer functions fills the beginning of its part, by rows as long
                      as it has functions */
    double normals[SHAPE_MAX_FACES][3]; /* outward, scaled: area per unit of the frame's parameter */
};
static inline int hdg_face_size(const struct hdg_block_space *b, int face) {
    return b->starts[face + 1] - b->starts[face];
}

/* The functions of an equation on the cells of a block: phi of the flux, chi of u; the phi are the first of
 * the chi. They are those of the space, but for the symmetric formulation of elasticity (elastic.h), which
 * has tables of its own. */
struct hdg_points {
    const struct hdg_table *table;
    double *chi; /* n x Nu on parallelepipeds, for functions of physical coordinates; NULL: the table's */
};
struct hdg_functions {
    int N, Nu;    /* functions of a component of the flux, of u */
    int physical; /* they are polynomials of physical coordinates */
    struct hdg_points cell, source, norm;
    const struct hdg_face_table *face;    /* with sides of the degree of u */
    double *face_chi[SHAPE_MAX_FACES][8]; /* as hdg_points.chi */
    const double *D_ref;                  /* dim x N x Nu */
    const double *F_ref, *FU_ref;         /* n_faces x 8 x (N, Nu) x m: <phi, psi>, <chi, psi> */
    /* symmetric only */
    double *change;            /* physical, pyramids: Nu x Nu, lower triangle; NULL: the identity */
    struct rule own_rule;      /* physical */
    struct hdg_table own_cell; /* physical */
    struct hdg_table own_source;
    struct hdg_face_table own_face;
    struct hdg_table middle; /* one point */
    double *own_matrices;    /* D_ref, F_ref, FU_ref */
};

struct hdg_space {
    const struct facet_mesh *mesh;
    int degree;
    int revolved; /* the body that the mesh makes turning about x = 0: all weights of rules contain 2 pi x */
    double
        length; /* of the domain, for the default tau: 2 dim volume / boundary, at most the largest extent */
    struct hdg_block_space blocks[MESH_MAX_BLOCKS];
};
/* FACET_ERROR_MACHINE, before anything large is allocated, when the degree does not fit. */
facet_status hdg_space_create(const struct facet_mesh *mesh, int degree, hdg_rule_maker maker,
                              struct hdg_space *space);
void hdg_space_destroy(struct hdg_space *space); /* safe on a zeroed struct, and twice */

/* A table at any points xi (n x dim) for the basis of this degree. */
facet_status hdg_table_create(enum shape shape, int degree, int order, int n, const double *xi,
                              struct hdg_table *table);
void hdg_table_destroy(struct hdg_table *table);

/* C (N x M, rows of length ld_C) = A' diag(w) B + beta C: A has n rows of length ld_A, B of ld_B; w: `step`
 * apart. scaled: n x N of scratch. */
void hdg_weighted_product(int n, int N, const double *A, int ld_A, const double *w, int step, int M,
                          const double *B, int ld_B, double beta, double *scaled, double *C, int ld_C);

/* Geometry of one cell at the points of a table. wJ: weights times det J (det J alone when the table has no
 * weights); inverse: n x dim x dim, d xi_b / d x_a at [b][a]. Any output but wJ may be NULL. Of a revolved
 * space weights contain HDG_AROUND x, those of faces too, so that all integrals are over the body. */
#define HDG_AROUND 6.283185307179586476925 /* 2 pi */
struct hdg_geometry {
    double *x, *wJ, *inverse, *jacobian; /* n x dim, n, n x dim x dim, n x dim x dim */
};
facet_status hdg_geometry_create(int n, int dim, struct hdg_geometry *geometry);
void hdg_geometry_destroy(struct hdg_geometry *geometry);
void hdg_cell_geometry(const struct hdg_space *space, int block, int32_t cell, const struct hdg_table *table,
                       struct hdg_geometry *geometry);
/* Geometry of one face of a cell at the points of a face table: x (n x dim) and the outward normal times
 * weight times area element (n x dim). */
void hdg_face_geometry(const struct hdg_space *space, int block, int32_t cell, int face,
                       const struct hdg_face_table *table, struct hdg_geometry *scratch, double *x,
                       double *normal);
int hdg_max_points(const struct hdg_space *space); /* of any table, for scratch */

#endif
