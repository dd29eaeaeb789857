/* Private to resident*.c: what is kept on the device. */
#ifndef FACET_HDG_RESIDENT_PARTS_H
#define FACET_HDG_RESIDENT_PARTS_H

#include "hdg/general.h"
#include "hdg/resident.h"

/* Numbers of an array of points that are worked on at once, and of what comes to the host at once. */
#define RESIDENT_NUMBERS (1 << 24)

/* Arrays of one block on the device, all batches of them. */
struct resident_block {
    int N, n, n_flux, face; /* numbers of a cell: u, trace, flux (with p after it); of the trace on a face */
    double *coefficients;   /* kernels/straight.h, kernels/elastic.h */
    int64_t *maps;          /* batch x n_faces x LANES: into the trace of hdg_resident */
    int64_t *sides;         /* of the free faces: the kernel face_sums */
    double *loads, *u, *q;
};

struct hdg_resident {
    struct resident_block blocks[MESH_MAX_BLOCKS];
    double *trace; /* device: the free unknowns, then those that are eliminated, by faces */
    int64_t n_eliminated;
    double volume, reaction; /* of batches that are fast; the largest reaction */
    /* What the host has of it: the trace, u with the loads, and q, of all cells; and whether u* is made. */
    int has_trace, has_u, has_q, has_star;
    int wants_q; /* when all cells are fetched */
};

/* The batches from `begin` on that go the same way. */
static inline int64_t resident_run_end(const struct hdg *h, int block, int64_t begin) {
    const int64_t n = h->matrices.n_batches[block];
    int64_t end = begin + 1;
    while (end < n && batch_way(h, block, end) == batch_way(h, block, begin)) end++;
    return end;
}
/* elastic_resident.c: whether a problem of elasticity is one for this; and coefficients of batches that
 * are fast. */
int elastic_stays(const struct hdg *h);
facet_status elastic_put_coefficients(struct hdg *h, int block);

#endif
