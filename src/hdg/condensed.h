/* Private to the room: equation_condensed, continuous Galerkin with the interior modes eliminated.
 *
 * The modes of a cell (poly/modal.h) are ordered interior first: K_e = [S R; R' H] with S the interior block,
 *
 *     U = -S^-1 R,    K = H + R'U,    F = f_b + U'f_i,    u_i = S^-1 f_i + U u_b,
 *
 * which is HDG's but for the sign of R. Tables hold the modes in orientation 0; at the end the cell
 * turns those of its edges and faces into their common frames (modal_turn). In 2D that is a matter of signs,
 * which the fast path knows.
 */
#ifndef FACET_HDG_CONDENSED_H
#define FACET_HDG_CONDENSED_H

#include "hdg/diffusion.h"
#include "trace/continuous.h"

/* Modes of an edge, for Dirichlet values along the edges of a 3D mesh. */
struct condensed_edges {
    struct rule rule;
    double *psi;                               /* points x (degree + 1), in the frame of the edge */
    struct hdg_table side[SHAPE_MAX_EDGES][2]; /* geometry at its points: edge of the cell, orientation */
};
struct condensed_block {
    int N, n;               /* interior modes, all others */
    double *phi, *grad;     /* at the cell rule: points x (N + n), dim x points x (N + n) */
    double *change;         /* (N + n) x (N + n): modes = change times the orthonormal basis */
    double *psi;            /* at the boundary rule: points x modes of a face, in its frame */
    double *moments;        /* N + n: integrals over the reference cell */
    double *terms;          /* reference matrices: pairs of derivatives, then the mass */
    double *turns[3][8];    /* modal_turn of edges [1] and faces [2] by orientation; NULL: none needed */
    int32_t *signs;         /* 2D, n: the face whose frame decides the sign, -1: none */
    struct sum_tables sums; /* 2D: terms, moments and signs on the device */
    struct condensed_edges edges;
};
struct hdg_condensed {
    struct continuous_space space;
    struct condensed_block blocks[MESH_MAX_BLOCKS];
};

/* condensed_boundary.c */
facet_status condensed_boundary_data(struct hdg *hdg);
/* As local_add_robin, for the boundary modes. */
facet_status condensed_add_robin(struct local *l, double *K, double *largest);

/* consistent.c. direct: the loads of the boundary modes of all cells, those of vertices first. */
facet_status condensed_keep_loads(const struct hdg *hdg, double *const direct[MESH_MAX_BLOCKS],
                                  struct hdg_solution *solution);
/* As hdg_find_fluxes and hdg_face_fluxes. */
facet_status condensed_find_fluxes(const struct hdg *hdg, struct hdg_solution *solution);
facet_status condensed_face_fluxes(const struct hdg *hdg, const struct hdg_solution *solution, int n,
                                   const struct mesh_group_face *faces, double *fluxes);

#endif
