/* Private to the room: the walk over the batches of a block that have u, q and loads, tile by tile: solves
 * inside cells (inner.c) and their balance (balance.c). u, q and loads are those of a solution on the
 * host, or stay on the device (resident.h). */
#ifndef FACET_HDG_INNER_H
#define FACET_HDG_INNER_H

#include "hdg/resident_parts.h"

struct inner_job {
    struct condenser condenser;
    enum batch_way way; /* of the batches at hand */
    int N, n, Q;        /* numbers of a cell: eliminated, kept, of the flux that kernels make */
    const struct resident_block *stays; /* where all of it is; NULL: on the host, in */
    const struct hdg_solution *in;
    unsigned ways; /* those that are taken, bits by enum batch_way */
    /* What is done with a run of batches of a way; before that, what it needs of threads and tables, or
     * NULL. */
    facet_status (*run)(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n);
    facet_status (*prepare)(const struct hdg *h, const struct inner_job *job, int block,
                            struct general_plan *plan);
    void *user;
    /* Of solves: u and q are wanted, in `out`, else the loads of the trace, batch x n x LANES, which are
     * where all others are. */
    int recovers;
    struct hdg_solution *out;
    double *locals;
    int components;                  /* of u that cells may look at in differences only, as bits */
    int n_ones;                      /* slots of the trace where u = 1 is not zero, which are the first, */
    double ones[SHAPE_MAX_VERTICES]; /* and what it is there */
};
#define INNER_ALL (~0u)
/* All batches of a block. The job has what comes after `stays`. */
facet_status inner_walk(const struct hdg *h, int block, struct inner_job *job);
/* For its runs: the trace on the faces of the cells at hand, to W_UHAT; */
facet_status inner_put_trace(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n);
/* coefficients of fast batches, which are made in W_OWN unless they stay on the device. */
facet_status inner_find_coefficients(struct general_work *w, const struct inner_job *job, int64_t begin,
                                     int64_t n, const double **coefficients);

/* Of one block: locals (batch x n x LANES) = R'S^-1 f for the loads f of the solution; and u, with q where
 * kernels make it, from its trace and its loads. solution NULL: all of it stays on the device, and so do
 * the locals. */
facet_status inner_load(const struct hdg *hdg, int block, const struct hdg_solution *solution,
                        double *locals);
facet_status inner_recover(const struct hdg *hdg, int block, struct hdg_solution *solution);

#endif
