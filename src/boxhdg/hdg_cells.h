/* What happens in the cells of a box before and after the solve on the trace: loads, recovery, projection,
 * hybridization, post-processing, errors, evaluation. Vectors are those of boxhdg/boxhdg.h.
 *
 * Costs O(p^4) a cell (transforms between Gauss points and modes, at half the usual work since both are
 * symmetric) or O(p^3). Parallel over cells; what is added to faces is added in layers of cells that share no
 * face, so that results do not depend on the number of threads.
 *
 * The order of calls: boxhdg_load or (boxhdg_project_source, boxhdg_condense_loads); a solve of K uhat =
 * F; boxhdg_add_dirichlet; boxhdg_recover, boxhdg_postprocess.
 */
#ifndef FACET_BOXHDG_HDG_CELLS_H
#define FACET_BOXHDG_HDG_CELLS_H

#include "box/cell_loop.h"
#include "boxhdg/boxhdg.h"

/* Sets a vector of the trace to the Dirichlet values (NULL: zero) on their faces. */
void boxhdg_add_dirichlet(const struct boxhdg *h, const double *dirichlet, double *trace);

/* ------------------------------------------------------------------------------------- data */

/* Gauss points for data: n + BOX_EXTRA_POINTS. */
/* Data of one side: coefficients on a Dirichlet side, integrals <g, mode> over the face itself on a Neumann
 * side; face_size numbers for each of its faces (box_side_cell). */
facet_status boxhdg_project_side(const struct boxhdg *h, const struct box_given *data, int d, int side,
                                 double *faces);

/* A trace from u in modes (eq. 4a): with q = -k grad u inside the cells, the uhat for which the
 * numerical flux is continuous, or that of the Neumann condition; Dirichlet values as given. */
facet_status boxhdg_hybridize(const struct boxhdg *h, const double *u, const double *dirichlet,
                              const double *neumann, double *uhat);

/* ------------------------------------------------------------------------------------- results */

/* All cells of the box in their order, with the trace as a vector; or some of them, in ascending order, each
 * with the traces of its own 2 dim faces (lower, upper; direction after direction). */
struct boxhdg_solution {
    int64_t n_cells; /* that it holds */
    int64_t *cells;  /* their numbers; NULL: all */
    double *loads, *trace,
        *u;       /* n_volume (NULL where some cells are held), n_trace, n_volume; of these cells */
    int borrowed; /* loads and u are another's */
    double *q;    /* dim x n_volume, NULL until boxhdg_solution_find_q */
    double *star; /* NULL until post-processed; cells x (n+1)^dim coefficients of the orthonormal Legendre
                     basis on [-1, 1], direction 0 fastest */
};
/* The arrays, with nothing in them. */
facet_status boxhdg_solution_create(const struct boxhdg *h, struct boxhdg_solution *solution);
/* q from u and the trace. */
facet_status boxhdg_solution_find_q(const struct boxhdg *h, struct boxhdg_solution *solution);
void boxhdg_solution_destroy(struct boxhdg_solution *solution);
/* The place of a cell among those that it holds; -1: it does not. */
int64_t boxhdg_solution_place(const struct boxhdg_solution *solution, int64_t cell);

/* u* in Q_(p+1): (k grad u*, grad w) = -(q, grad w) for all w, and the mean of u. */
facet_status boxhdg_postprocess(const struct boxhdg *h, struct boxhdg_solution *solution);
/* The function 1 as a trace, zero on Dirichlet faces: the kernel of K if the problem is singular. */
void boxhdg_constant(const struct boxhdg *h, double *trace);

enum boxhdg_field { BOX_U, BOX_U_STAR, BOX_Q, BOX_Q_STAR };
static inline int boxhdg_field_components(const struct boxhdg *h, enum boxhdg_field field) {
    return field == BOX_Q || field == BOX_Q_STAR ? h->grid.dim : 1;
}
/* Values (points x components) at points of a cell. */
facet_status boxhdg_evaluate(const struct boxhdg *h, const struct boxhdg_solution *solution,
                             enum boxhdg_field field, int64_t cell, const struct box_places *places,
                             double *values);
/* The integrals of its components over a cell. */
facet_status boxhdg_integrate(const struct boxhdg *h, const struct boxhdg_solution *solution,
                              enum boxhdg_field field, int64_t cell, double *integrals);

/* The integral over a face of a cell of the numerical flux out of it, qhat.n = q.n + tau (u - uhat). */
double boxhdg_face_flux(const struct boxhdg *h, const struct boxhdg_solution *solution, int64_t cell, int d,
                        int side);
/* The mean over the faces of a cell of the trace's mean on them. */
double boxhdg_mean_trace(const struct boxhdg *h, const struct boxhdg_solution *solution, int64_t cell);
/* As hdg_totals: psi are vectors of the trace with their values on Dirichlet sides, neumann the data there
 * (or NULL). */
facet_status boxhdg_totals(const struct boxhdg *h, const struct boxhdg_solution *solution,
                           const double *neumann, int whole, int n, double *const *psi, double *totals,
                           double *roundings, double *squares);

#endif
