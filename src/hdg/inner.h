/* Private to the room: the walk over the batches of a block that have u, q and loads, tile by tile: solves
 * inside cells (inner.c) and their balance (balance.c). */
#ifndef FACET_HDG_INNER_H
#define FACET_HDG_INNER_H

#include "hdg/general.h"

struct inner_job {
    struct condenser condenser;
    enum batch_way way;            /* of the batches at hand */
    int N, n, Q;                   /* numbers of a cell: eliminated, kept, of the flux, p included */
    struct hdg_solution *solution; /* has loads and the trace, and gets u and q */
    unsigned ways;                 /* those that are taken, bits by enum batch_way */
    /* What is done with a run of batches of a way; before that, what it needs of threads and tables, or
     * NULL. */
    facet_status (*run)(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n);
    facet_status (*prepare)(const struct hdg *h, const struct inner_job *job, int block,
                            struct general_plan *plan);
    void *user;
    /* Of solves: u and q are wanted, else the loads of the trace, on the device: batch x n x LANES. */
    int recovers;
    double *locals;
    int components;                  /* of u that cells may look at in differences only, as bits */
    int n_ones;                      /* slots of the trace where u = 1 is not zero, which are the first, */
    double ones[SHAPE_MAX_VERTICES]; /* and what it is there */
};
#define INNER_ALL (~0u)
/* All batches of a block. The job has what comes after Q. */
facet_status inner_walk(const struct hdg *h, int block, struct inner_job *job);
/* For its runs: the trace on the faces of the cells at hand, to W_UHAT. */
facet_status inner_put_trace(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n);

/* Of one block: locals (batch x n x LANES, on the device) = R'S^-1 f for the loads f of the solution; and u
 * and q, from its trace and its loads, which are there. */
facet_status inner_load(const struct hdg *hdg, int block, struct hdg_solution *solution, double *locals);
facet_status inner_recover(const struct hdg *hdg, int block, struct hdg_solution *solution);
/* solution->u of an equation that joins it (equation.join) from what is there and the trace. */
facet_status inner_join(const struct hdg *hdg, struct hdg_solution *solution);

#endif
