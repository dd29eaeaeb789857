/* The typed table of hot kernels: the only seam between src/ and the hardware.
 *
 * kernels/ref holds the plain-C specification of every entry. A device starts from a table and overrides what
 * it does better; all its entries must give what ref gives up to rounding. Pointers are addresses in the
 * device's memory; structs, sizes and scalars come from the host. src/device is the only includer.
 *
 * Lanes. Arrays of many small things of one shape (element matrices, element vectors) are kept in batches of
 * KERNEL_LANES cells, the cell being the fastest index: entry e of cell c is at [(c / LANES) * n_entries +
 * e][c % LANES]. Lanes beyond the last cell exist and hold what the caller put there. Symmetric matrices keep
 * one triangle: entry (i, j), j <= i, is number i (i + 1) / 2 + j.
 *
 * Precision. An entry whose name ends in _single is the entry without that ending with arrays of float:
 * factors come as doubles and are rounded, and sums are taken in float, except for dot_single.
 */
#ifndef FACET_KERNELS_H
#define FACET_KERNELS_H

#include <stdint.h>

#include "kernels/box.h"
#include "kernels/brick.h"

#define KERNEL_LANES 8

/* Element-wise product. Faces of a cell have m unknowns each, n = n_faces m. The batches of a colour are
 * taken in runs of `run`, batches that follow each other in memory; two runs of one colour share no unknown,
 * so they may be worked on at the same time, the batches of a run one after another. */
struct cell_plan {
    int n_faces, m;
    int64_t n_batches;
    int n_colours;
    int64_t run;                  /* >= 1; the last run of a colour may be shorter */
    const int64_t *colour_starts; /* n_colours + 1, into colour_batches; on the host */
    const int64_t *colour_batches;
    const int64_t *maps;    /* batch x n_faces x LANES: first unknown of a face, -1: none (counts as zero,
                               receives nothing) */
    const double *matrices; /* batch x n (n + 1) / 2 x LANES */
    const float *single;    /* the same for cell_apply_single, which reads nothing of `matrices` */
};

/* Facet-wise product. Row block r (a face) sums its panels; panel p couples it with the unknowns columns[p]
 * .. columns[p] + sizes[p] - 1 and is stored as sizes[p] rows of its row block's length: y_r += panel' x. */
struct facet_plan {
    int64_t n_rows;
    const int64_t *first;       /* n_rows + 1: first unknown of each row block */
    const int64_t *panel_first; /* n_rows + 1: first panel of each row block */
    const int64_t *columns;     /* per panel */
    const int32_t *sizes;       /* per panel */
    const int64_t *starts;      /* per panel: where it lies in values */
    const double *values;
};

/* Patches of row blocks whose unknowns are solved for together. Patch p has the row blocks blocks[first[p]]
 * .. blocks[first[p + 1] - 1], all different; its unknowns are theirs in this order. The patches of a colour
 * follow each other, and no panel leads from one to another of them, so that they may be worked on at the
 * same time.
 */
struct facet_patches {
    struct facet_plan rows;
    const float *single; /* the values of the panels for facet_sweep_single, which reads nothing of those of
                            `rows` and of `inverses` */
    int64_t n_patches;
    const int64_t *first;         /* n_patches + 1 */
    const int64_t *blocks;        /* row blocks */
    const int64_t *starts;        /* n_patches: where the inverse of a patch begins */
    const double *inverses;       /* symmetric, all rows of it */
    const float *inverses_single; /* likewise */
    int n_colours;
    const int64_t *colour_starts; /* n_colours + 1: patches; on the host */
    int64_t largest;              /* unknowns of the largest patch */
};

/* Reference matrices of affine cells: one shape and degree, faces in orientation 0. Symmetric pairs (b, c), b
 * <= c, in the order 00 01 11 (02 12 22: by c, then b).
 *
 * Turns. Another orientation of a face is another frame for the same trace functions: F_f becomes F_f O with
 * O orthogonal. O mixes few functions with one another: those of a group, into which the m functions fall,
 * the first (the constant) being one by itself. Group g has s = group_starts[g + 1] - group_starts[g]
 * functions, modes[group_starts[g]] and the following, and an s x s block of O (rows: orientation 0); blocks
 * follow each other. */
struct affine_tables {
    int dim, n_faces, N, m;
    double volume;           /* of the reference cell */
    double face;             /* of a reference face */
    const double *stiffness; /* pairs x N x N: D_b'D_c, plus its transpose for b < c */
    const double *face_mass; /* n_faces x N x N: F_f F_f' */
    const double *F;         /* n_faces x N x m: phi_i psi_j over the reference face */
    const double *DF;        /* n_faces x dim x N x m: D_b'F_f */
    const double *FF;        /* n_faces x n_faces x m x m: F_f'F_g */
    const double *D;         /* dim x N x N: d_b phi_i phi_j over the reference cell */
    int n_groups, n_turn;    /* n_turn: sum of s^2; n_groups = m: every O is diagonal, modes in order */
    const int32_t *group_starts, *modes; /* n_groups + 1, m */
    const double *turns;                 /* orientations x n_turn: the blocks of O */
};
/* Where the coefficients of an affine cell with constant data stand. C: cofactors of its Jacobian, J: its
 * determinant, n_f: its outward normals times areas. */
struct affine_layout {
    int reaction, stiffness, weight, orientation, gradient, flux_normal, normals, flux, count;
};

static inline struct affine_layout affine_layout(int dim, int n_faces) {
    struct affine_layout at;
    at.reaction = 0;                                /* J lambda */
    at.stiffness = 1;                               /* C'KC/J: pairs */
    at.weight = at.stiffness + dim * (dim + 1) / 2; /* tau |F| of each face */
    at.orientation = at.weight + n_faces;           /* of each face: 0, 1, .. */
    at.gradient = at.orientation + n_faces;         /* C'K n_f/J: face x dim */
    at.flux_normal = at.gradient + n_faces * dim;   /* K n_f/J: face x dim */
    at.normals = at.flux_normal + n_faces * dim;    /* n_f'K n_g/J: face x face */
    at.flux = at.normals + n_faces * n_faces;       /* KC/J: dim x dim */
    at.count = at.flux + dim * dim;
    return at;
}

/* Cells whose matrices are combinations of reference matrices: sum_p c_p T_p. N unknowns are eliminated, then
 * n kept. The constant function is 1 on the first n_ones kept unknowns and 0 elsewhere; only the last term
 * does not vanish on it, and gives `moments`. A kept unknown may carry a sign of the cell. */
struct sum_tables {
    int N, n, n_terms, n_ones, n_signs;
    const double *terms;   /* n_terms x (N + n) x (N + n), symmetric */
    const double *moments; /* N + n */
    const int32_t *signs;  /* n: the number of the sign, -1: none */
};

struct kernels {
    void (*fill)(int64_t n, double a, double *x); /* x = a */
    void (*axpby)(int64_t n, double a, const double *x, double b,
                  double *y); /* y = a x + b y; b = 0 ignores y */
    void (*multiply)(int64_t n, const double *d, const double *x, double *y); /* y_i = d_i x_i */
    double (*dot)(int64_t n, const double *x, const double *y);
    /* y = A x, A in compressed rows: row i holds entries offsets[i] .. offsets[i+1]-1. */
    void (*csr_apply)(int64_t n_rows, const int64_t *offsets, const int32_t *columns, const double *values,
                      const double *x, double *y);
    /* y = A x, A with `width` entries in every row, entry k of row i at [k * n_rows + i]; column -1: none. */
    void (*ell_apply)(int64_t n_rows, int width, const int32_t *columns, const double *values,
                      const double *x, double *y);
    /* y_b = B_b x_b: block b covers unknowns first[b] .. first[b+1]-1, its square matrix (rows) begins at
     * matrices[starts[b]]. */
    void (*block_apply)(int64_t n_blocks, const int64_t *first, const int64_t *starts, const double *matrices,
                        const double *x, double *y);
    /* One step of a polynomial smoother over these blocks: r = f - t (t NULL: r = f), d = a B r + b d,
     * x = c x + d. b = 0 and c = 0 ignore d and x. r may be f. */
    void (*block_smooth)(int64_t n_blocks, const int64_t *first, const int64_t *starts,
                         const double *matrices, double a, double b, double c, const double *f,
                         const double *t, double *r, double *d, double *x);
    void (*facet_apply)(const struct facet_plan *plan, const double *x, double *y); /* y = K x */
    void (*cell_apply)(const struct cell_plan *plan, const double *x, double *y);   /* y += K x */
    /* The run (>= 1) that cell_apply likes best when the matrices of a batch have so many bytes. */
    int64_t (*cell_run)(int64_t batch_bytes);
    /* One step over all patches, colour by colour (backward: from the last colour to the first): x_p = x_p +
     * B_p (f - K x)_p, K being the panels, B_p the inverse of a patch. scratch: facet_sweep_scratch numbers
     * of the precision of the vectors. */
    void (*facet_sweep)(const struct facet_patches *patches, int backward, const double *f, double *x,
                        double *scratch);
    int64_t (*facet_sweep_scratch)(const struct facet_patches *patches);

    /* Condenses batches of affine cells from their coefficients (batch x affine_layout.count x LANES), faces
     * in the orientations of each cell: with S, R and H + G'A^-1 G as in src/hdg/hdg.h, factor (batch x
     * N(N+1)/2 x LANES): entry (i, j) holds R_ji of S = R'R; U (batch x N n x LANES) = S^-1 R; K (batch x n
     * (n+1)/2 x LANES). scratch: condense_scratch numbers. Returns the first batch where S is not positive
     * definite, or -1. */
    int64_t (*condense_affine)(const struct affine_tables *tables, int64_t n_batches,
                               const double *coefficients, double *factor, double *U, double *K,
                               double *scratch);
    int64_t (*condense_scratch)(const struct affine_tables *tables);
    /* Condenses combinations S R; R' H of reference matrices from their coefficients (batch x (n_terms +
     * n_signs) x LANES: c, then the signs): factor of S as above, U = -S^-1 R, K = H - R'S^-1 R. scratch:
     * condense_sum_scratch numbers. Returns the first batch where S is not positive definite, or -1. */
    int64_t (*condense_sum)(const struct sum_tables *tables, int64_t n_batches, const double *coefficients,
                            double *factor, double *U, double *K, double *scratch);
    int64_t (*condense_sum_scratch)(const struct sum_tables *tables);
    /* out (batch x n x LANES) = U'f, f (batch x N x LANES). */
    void (*batch_load)(int64_t n_batches, int N, int n, const double *U, const double *f, double *out);
    /* f (batch x N x LANES) becomes u = S^-1 f + U uhat, uhat (batch x n x LANES). */
    void (*batch_recover)(int64_t n_batches, int N, int n, const double *factor, const double *U,
                          const double *uhat, double *f);
    /* q (batch x dim N x LANES) = A^-1 (D u - G uhat) of affine cells. */
    void (*affine_flux)(const struct affine_tables *tables, int64_t n_batches, const double *coefficients,
                        const double *u, const double *uhat, double *q);

    /* HDG on a box; kernels/box.h. */
    double (*box_step)(const struct box_plan *plan, const struct box_step *step, const double *f, double *r,
                       const double *e, double *d, double *x, double *y);
    /* r -= alpha y; sums (on the host): r . D r, and |r|^2 in plain modes; moments (NULL: not wanted): for
     * every face-pack the sums of r times hats over its blocks. */
    void (*box_residual)(const struct box_plan *plan, double alpha, const double *y, double *r,
                         double *moments, double *sums);
    /* Between vertex values and coefficients of faces. The lattice has packs LANES + 1 numbers in a row
     * (cells
     * + 1 of them vertices, the others zero), rows and layers of vertices being cells + 1 of an axis that is
     * present, else 1. A face with the corners g(-,-) .. g(+,+) has the coefficients of its bilinear function
     * in 1, xi_q, xi_p, xi_p xi_q; those of lanes without a face are zero. Vertices of fixed planes must be
     * zero. box_restrict is the transpose. */
    void (*box_prolong)(const struct box_plan *plan, const double *vertices, double *coefficients);
    void (*box_restrict)(const struct box_plan *plan, const double *moments, double *vertices);
    /* Continuous elements on bricks (kernels/brick.h). Nodes that carry Dirichlet values are called fixed.
     *
     * y = a A x + b f on free nodes, 0 on fixed ones, whose x counts as it stands. b = 0 or f = NULL: no f.
     * scratch: brick_scratch numbers, of the precision of the vectors; so for the next ones. */
    void (*brick_apply)(const struct brick_cells *cells, double a, const double *x, double b, const double *f,
                        double *y, double *scratch);
    int64_t (*brick_scratch)(const struct brick_cells *cells); /* of brick_apply and point_sweep */
    /* The diagonal of A; 1 on fixed nodes. */
    void (*brick_diagonal)(const struct brick_cells *cells, double *d);
    /* One step of Gauss-Seidel: free nodes one after another such that their equation A x = b holds. A layer
     * is a cell in the last direction that has more than one, with its nodes except the last (which is the
     * first of the next layer; of the last layer too where there is no next). Even layers come first, then
     * odd ones, then the last one if the direction is periodic with an odd number; within a layer nodes are
     * lexicographic. backward: the same in reverse. */
    void (*point_sweep)(const struct brick_cells *cells, int backward, const double *b, double *x,
                        double *scratch);
    /* fine += P coarse, all nodes. scratch: transfer_scratch numbers. */
    void (*brick_prolong)(const struct brick_transfer *transfer, const double *coarse, double *fine,
                          double *scratch);
    /* coarse = P' fine on free nodes, 0 on fixed ones; each fine node counts once. */
    void (*brick_restrict)(const struct brick_transfer *transfer, const double *fine, double *coarse,
                           double *scratch);
    int64_t (*transfer_scratch)(const struct brick_transfer *transfer);
    /* One step over all patches, colour by colour, backward in reverse order of the colours: x of the free
     * nodes of a patch such that its equations hold. x of fixed nodes counts as it stands. scratch:
     * patch_scratch numbers. */
    void (*patch_sweep)(const struct brick_patches *patches, int backward, const double *b, double *x,
                        double *scratch);
    int64_t (*patch_scratch)(const struct brick_patches *patches);

    /* Single precision. */
    void (*fill_single)(int64_t n, double a, float *x);
    void (*axpby_single)(int64_t n, double a, const float *x, double b, float *y);
    void (*multiply_single)(int64_t n, const float *d, const float *x, float *y);
    double (*dot_single)(int64_t n, const float *x, const float *y); /* products and sum in double */
    void (*csr_apply_single)(int64_t n_rows, const int64_t *offsets, const int32_t *columns,
                             const float *values, const float *x, float *y);
    void (*block_apply_single)(int64_t n_blocks, const int64_t *first, const int64_t *starts,
                               const float *matrices, const float *x, float *y);
    void (*block_smooth_single)(int64_t n_blocks, const int64_t *first, const int64_t *starts,
                                const float *matrices, double a, double b, double c, const float *f,
                                const float *t, float *r, float *d, float *x);
    void (*cell_apply_single)(const struct cell_plan *plan, const float *x, float *y);
    void (*facet_sweep_single)(const struct facet_patches *patches, int backward, const float *f, float *x,
                               float *scratch);
    void (*convert_to_single)(int64_t n, const double *x, float *y); /* y = x, rounded */
    void (*convert_to_double)(int64_t n, const float *x, double *y); /* y = x */
    double (*box_step_single)(const struct box_plan *plan, const struct box_step *step, const float *f,
                              float *r, const float *e, float *d, float *x, float *y);
    void (*box_residual_single)(const struct box_plan *plan, double alpha, const float *y, float *r,
                                float *moments, double *sums);
    void (*box_prolong_single)(const struct box_plan *plan, const double *vertices, float *coefficients);
    void (*box_restrict_single)(const struct box_plan *plan, const float *moments, double *vertices);
    void (*brick_apply_single)(const struct brick_cells *cells, double a, const float *x, double b,
                               const float *f, float *y, float *scratch);
    void (*brick_diagonal_single)(const struct brick_cells *cells, float *d);
    void (*point_sweep_single)(const struct brick_cells *cells, int backward, const float *b, float *x,
                               float *scratch);
    void (*brick_prolong_single)(const struct brick_transfer *transfer, const float *coarse, float *fine,
                                 float *scratch);
    void (*brick_restrict_single)(const struct brick_transfer *transfer, const float *fine, float *coarse,
                                  float *scratch);
    void (*patch_sweep_single)(const struct brick_patches *patches, int backward, const float *b, float *x,
                               float *scratch);
};

const struct kernels *kernels_ref(void);
/* ref with OpenMP and vector overrides. */
const struct kernels *kernels_simd(void);

#endif
