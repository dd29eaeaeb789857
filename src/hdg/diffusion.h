/* Private to the room: what the two entries of diffusion, equation_hybrid and equation_condensed, share. */
#ifndef FACET_HDG_DIFFUSION_H
#define FACET_HDG_DIFFUSION_H

#include "hdg/batch.h"

facet_status diffusion_scratch(struct local *l, int64_t points, int64_t total);
facet_status diffusion_scratch_at(struct local *l, int n, enum hdg_field field);
facet_status diffusion_begin(struct local *l, int block, int32_t cell); /* local.c: K, mean K, heights */
facet_status diffusion_tau(struct local *l, int face, double area, int n, const double *x, double *tau);
facet_status diffusion_exact_source(struct local *l, int32_t region, int n, const double *x, double *f);
facet_status diffusion_condition_values(struct local *l, const struct hdg_condition *c, int n,
                                        const double *x, const double *normal, double *g);
/* -K grad w at the points of a table, given the geometry there; w: N coefficients. */
facet_status diffusion_gradient_flux(struct local *l, const struct hdg_table *table, int N, const double *w,
                                     double *values);
/* q_star, and q where it is no unknown. */
facet_status diffusion_evaluate(struct local *l, const struct hdg_solution *s, enum hdg_field field,
                                const struct hdg_points *points, double *values);
facet_status diffusion_exact_values(struct local *l, int n, double *u, double *q, double *stress, double *p);

#define DIFFUSION_CONDITIONS (HDG_BIT(HDG_DIRICHLET) | HDG_BIT(HDG_NEUMANN) | HDG_BIT(HDG_ROBIN))
#define DIFFUSION_ERRORS                                                                                     \
    .n_errors = 4, .errors = {{"u L2", offsetof(facet_errors, u_L2)},                                        \
                              {"q L2", offsetof(facet_errors, q_L2)},                                        \
                              {"u* L2", offsetof(facet_errors, u_star_L2)},                                  \
                              {"q* L2", offsetof(facet_errors, q_star_L2)}}

#endif
