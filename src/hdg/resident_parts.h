/* Private to resident*.c: what is kept on the device. */
#ifndef FACET_HDG_RESIDENT_PARTS_H
#define FACET_HDG_RESIDENT_PARTS_H

#include "hdg/resident.h"

/* Numbers of an array of points that are worked on at once, and of what comes to the host at once. */
#define RESIDENT_NUMBERS (1 << 24)

/* Arrays of one block on the device, all batches of them. */
struct resident_block {
    double *corners, *coefficients; /* kernels/straight.h */
    int64_t *maps;                  /* batch x n_faces x LANES: into the trace of hdg_resident */
    int64_t *sides;                 /* of the free faces: the kernel face_sums */
    double *loads, *u, *q;
    double *normals, *moments; /* of the reference cell: struct balance_cells */
    double *det;               /* batch x LANES: of the Jacobian, 0 in lanes without a cell */
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

#endif
