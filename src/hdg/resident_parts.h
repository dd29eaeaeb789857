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
    struct resident_cells cells;
    double *coefficients; /* kernels/straight.h, kernels/elastic.h */
    int64_t *maps;        /* batch x n_faces x LANES: into the trace of hdg_resident */
    int64_t *sides;       /* of the free faces: the kernel face_sums */
    double *loads, *u, *q;
    double *det; /* batch x LANES: volume over that of the reference cell, 0 in lanes without a cell;
                          elasticity: NULL */
    struct general_work *work; /* of batches that are BATCH_GENERAL, kept from run to run; NULL: not yet */
};

struct hdg_resident {
    struct resident_block blocks[MESH_MAX_BLOCKS];
    double *trace; /* device: the free unknowns, then those that are eliminated, by faces */
    int64_t n_eliminated;
    double volume, reaction; /* reaction: the largest */
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
/* The cell of a lane; those without a cell repeat the last one. */
static inline int64_t resident_cell(const struct hdg *h, int block, int64_t i) {
    int64_t count = h->data.mesh->blocks[block].count;
    return i < count ? i : count - 1;
}
/* The cells of a block, all batches of them, on the device. */
facet_status resident_put_cells(const struct hdg *h, int block, int offsets, struct resident_cells *to);
void resident_forget_cells(const struct hdg *h, struct resident_cells *cells);
/* Those of a problem that stays there. */
const struct resident_cells *resident_cells_of(const struct hdg *h, int block);
/* resident_general.c: batches whose maps or data vary, begin .. end-1 of a block, all of them such. Data are
 * made anew, tile by tile, whenever they are wanted. */
/* The det of all these batches, and h->resident->reaction. */
facet_status resident_general_create(struct hdg *h, int block);
/* integrals (of all batches, batch x LANES) = those of u. */
facet_status resident_general_integrals(const struct hdg *h, int block, int64_t begin, int64_t end,
                                        double *integrals);

/* elastic_resident.c: whether a problem of elasticity is one for this; and coefficients of batches that
 * are fast. */
int elastic_stays(const struct hdg *h);
facet_status elastic_put_coefficients(struct hdg *h, int block);

#endif
