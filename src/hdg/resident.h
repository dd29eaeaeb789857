/* Diffusion and elasticity on a device that is not the host: corners and nodes, coefficients, loads, the
 * trace, u and q (elasticity: the stress, or H and p) stay there, and the host is told what it asks for.
 * Functions of the caller are asked for on the host, tile by tile. hdg_condense finds out whether a problem
 * is one for this (hdg.resident is not NULL then); everything else goes through the host. */
#ifndef FACET_HDG_RESIDENT_H
#define FACET_HDG_RESIDENT_H

#include "hdg/hdg.h"

struct hdg_resident;

/* Before element matrices are made: h->resident, with the coefficients of all cells, or NULL where the
 * problem is none for it. */
facet_status hdg_resident_create(struct hdg *h);
void hdg_resident_destroy(struct hdg *h); /* safe where there is none, and twice */
/* After that: gives it up where something is singular, or nearly so, or must be watched cell by cell. */
void hdg_resident_decide(struct hdg *h);
/* On the device: the coefficients (struct affine_layout, elastic_layout) of the batches of a block. */
const double *hdg_resident_coefficients(const struct hdg *h, int block);
/* Of the cells of batches that are fast, and the largest reaction there. */
void hdg_resident_facts(const struct hdg *h, double *volume, double *reaction);

/* hdg_load, hdg_set_trace and hdg_recover; F and x are vectors of the device. */
facet_status hdg_resident_load(const struct hdg *h, const double *source, struct hdg_solution *solution,
                               struct vector *F);
facet_status hdg_resident_take(const struct hdg *h, const struct vector *x);
facet_status hdg_resident_recover(const struct hdg *h);
/* A number no smaller than the largest of u and the trace, and no more than the root of their number times
 * it; infinite where it is not known. */
double hdg_resident_size(const struct hdg *h);
/* Brings trace, u and loads to the host, and q once somebody wants it; or trace, u and q of n cells alone:
 * all others are left as they were. */
facet_status hdg_resident_fetch(const struct hdg *h, struct hdg_solution *solution);
int hdg_resident_is_here(const struct hdg *h); /* all of it was brought */
void hdg_resident_want_flux(const struct hdg *h);
facet_status hdg_resident_fetch_some(const struct hdg *h, int64_t n, const int32_t *cells,
                                     struct hdg_solution *solution);
/* The same and u*, made there, once. */
facet_status hdg_resident_star(const struct hdg *h, struct hdg_solution *solution);
/* Of all cells the integral of u (of one component) and the volume; their sums. */
facet_status hdg_resident_integrals(const struct hdg *h, double *values);
facet_status hdg_resident_total(const struct hdg *h, double values[2]);
/* Of every cell the least and the greatest u at shape_samples of this order, in all cells of its batch. */
facet_status hdg_resident_range(const struct hdg *h, int order, double *values);

#endif
