/* Private to resident*.c: what is kept on the device. */
#ifndef FACET_HDG_RESIDENT_PARTS_H
#define FACET_HDG_RESIDENT_PARTS_H

#include "hdg/resident.h"

/* Numbers of an array of points that are worked on at once, and of what comes to the host at once. */
#define RESIDENT_NUMBERS (1 << 24)

/* Arrays of one block on the device, all batches of them. */
struct resident_block {
    int N, n, n_flux, face; /* numbers of a cell: u, trace, flux (with p after it); of the trace on a face */
    double *corners, *coefficients; /* kernels/straight.h, kernels/elastic.h */
    int64_t *maps;                  /* batch x n_faces x LANES: into the trace of hdg_resident */
    int64_t *sides;                 /* of the free faces: the kernel face_sums */
    double *loads, *u, *q;
    double *normals,
        *moments;      /* of the reference cell: struct balance_cells; elasticity: elastic_forces.phi, */
    double *moments_u; /* and chi, else NULL */
    double *det;       /* batch x LANES: of the Jacobian, 0 in lanes without a cell; elasticity: NULL */
};

struct hdg_resident {
    struct resident_block blocks[MESH_MAX_BLOCKS];
    double *trace; /* device: the free unknowns, then those that are eliminated, by faces */
    int64_t n_eliminated;
    double volume, reaction;
    /* What the host has of it: the trace, u with the loads, and q, of all cells; and whether u* is made. */
    int has_trace, has_u, has_q, has_star;
    int wants_q; /* when all cells are fetched */
};

/* elastic_resident.c: whether a problem of elasticity, all of whose batches are fast, is one for this; its
 * coefficients, and integrals of functions over faces; and the balance of the cells of a block on the device,
 * batch x (2 + n_faces dim) x LANES. */
int elastic_stays(const struct hdg *h);
facet_status elastic_put_coefficients(struct hdg *h, int block);
facet_status elastic_put_moments(const struct hdg *h, int block, struct resident_block *to);
void elastic_find_balance(const struct hdg *h, int block, double *balance);

#endif
