/* The operators tp and tpt of huismann2020 (box/straight.h) by their names, for box_method.c. */
#ifndef FACET_PROBLEM_BOX_PAPER_H
#define FACET_PROBLEM_BOX_PAPER_H

#include "problem/box.h"

struct box_paper;
/* name: "tp" (values at Gauss-Lobatto nodes) or "tpt" (modes); preconditioner: "none" (M stays empty),
 * "jacobi" or "block". A and M borrow from *paper. */
facet_status box_paper_create(const struct device *device, const struct box_hdg *h, const char *name,
                              const char *preconditioner, struct box_paper **paper, struct operator* A,
                              struct operator* M);
void box_paper_destroy(struct box_paper **paper);
int box_paper_is_nodal(const struct box_paper *paper);
/* Right-hand side and first guess from modes to the basis of the operator, the solution back; b and x are
 * vectors of a host device, and modes have been put into them already. */
void box_paper_to_basis(const struct box_paper *paper, const double *F, const double *uhat, struct vector *b,
                        struct vector *x);
void box_paper_to_modes(const struct box_paper *paper, const struct vector *x, double *uhat);

#endif
