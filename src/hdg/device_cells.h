/* Private to the room: what the device has of the cells of a block, all batches of them in lanes: where they
 * lie, the coefficients of straight ones, and where their faces are in the trace. Lanes nobody uses repeat
 * the last cell. A solution (struct hdg_stored) lies beside them: kernels load and recover it there, a tile
 * at a time, and what cells need beyond a kernel is a step of the host on their tile (inner.h).
 *
 * Where the host does not see the device's memory and asks for nothing on the way, a solution stays there
 * (hdg.stays) and the host is told what it asks for. */
#ifndef FACET_HDG_DEVICE_CELLS_H
#define FACET_HDG_DEVICE_CELLS_H

#include "hdg/hdg.h"

/* Numbers of an array of points that are worked on at once, and of what comes to the host at once. */
#define CELLS_NUMBERS (1 << 24)

struct general_work;
struct hdg_cells {
    int N, n, n_flux, face; /* numbers of a cell: eliminated, trace, flux (with p after it); of the trace on a
                               face */
    double *nodes, *orientations; /* batch x (n_nodes dim, n_faces) x LANES */
    double *offsets;              /* nodes less the first of the cell; NULL: not wanted */
    int32_t *regions;             /* NULL: there is one region */
    double *coefficients;         /* of fast batches: kernels/straight.h, kernels/elastic.h; NULL: none */
    int64_t *maps;  /* batch x n_faces x LANES: into hdg_solution.device_trace; NULL: the host gathers */
    int64_t *sides; /* of the free faces: the kernel face_sums; NULL: the host sums up */
    struct general_work *work; /* of batches that are BATCH_GENERAL, kept from run to run; NULL: not yet */
};

/* The cell of a lane. */
static inline int64_t cells_of_lane(const struct mesh_block *b, int64_t i) {
    return i < b->count ? i : b->count - 1;
}
/* hdg.cells of a block that has cells, unless it is there. */
facet_status cells_place(struct hdg *hdg, int block, int offsets);
void cells_forget(struct hdg *hdg, int block);
/* Before element matrices are made: the cells, with coefficients; adds the volume of fast batches, and what
 * reacts there. */
facet_status cells_put_coefficients(struct hdg *hdg);
/* After element matrices are made: decides whether solutions stay on the device (hdg.stays). */
void cells_decide(struct hdg *hdg);
/* Whether loads of the trace are those of the cells, face by face, so that a kernel adds them up. */
int cells_add_up(const struct hdg *hdg);
/* Says that this and the matrices will not fit before anybody waits for them. */
facet_status cells_check_memory(const struct hdg *hdg);

/* Make the arrays of a solution, with its maps, on the device and on the host, unless they are there. */
facet_status cells_need(const struct hdg *hdg, struct hdg_solution *solution);
facet_status cells_need_host(const struct hdg *hdg, struct hdg_solution *solution);
/* fetch_cells.c. From the host to the device: loads; the trace; u, q and p. */
facet_status cells_send_loads(const struct hdg *hdg, struct hdg_solution *solution);
facet_status cells_send_trace(const struct hdg *hdg, struct hdg_solution *solution);
facet_status cells_send_fields(const struct hdg *hdg, struct hdg_solution *solution);
/* From the device to the host: loads; trace, u and loads, with q once somebody wants it; or trace, u and q of
 * n cells alone, while all other cells are left as they were. */
facet_status cells_fetch_loads(const struct hdg *hdg, struct hdg_solution *solution);
facet_status cells_fetch(const struct hdg *hdg, struct hdg_solution *solution);
facet_status cells_fetch_some(const struct hdg *hdg, int64_t n, const int32_t *cells,
                              struct hdg_solution *solution);
/* Whether the host has all of trace, u and q. */
int cells_are_here(const struct hdg *hdg, const struct hdg_solution *solution);
/* Brings u* as well, made there, once. */
facet_status cells_fetch_star(const struct hdg *hdg, struct hdg_solution *solution);
/* Call this when a new solution is made: what the host has fetched belongs to the one before. */
void cells_forget_fetched(struct hdg_solution *solution);
/* A number no smaller than the largest of u and the trace, and no more than the root of their number times
 * it; infinite where it is not known. */
double cells_size(const struct hdg *hdg, const struct hdg_solution *solution);

/* cell_integrals.c, where loads, errors and integrals are taken for many cells at once: of all cells the
 * integral of u (of one component) and the volume; their sums; of every cell the least and the greatest u at
 * shape_samples of this order, in all cells of its batch. */
static inline int cells_in_batches(const struct hdg *h) {
    return h->data.equation->in_batches && !h->space.revolved;
}
facet_status cells_integrals(const struct hdg *hdg, const struct hdg_solution *solution, double *values);
facet_status cells_total(const struct hdg *hdg, const struct hdg_solution *solution, double values[2]);
facet_status cells_range(const struct hdg *hdg, const struct hdg_solution *solution, int order,
                         double *values);

#endif
