/* Private to the room: what nothing holds, taken off the loads and put into the solutions (solve/null_space.h
 * has the algebra). The functions W are, on every piece of the mesh, the constant of a field of one
 * component, or the rigid motions of a body (free_motions.h). What quadrature leaves of the balance of loads
 * is taken off the source as a force that varies like W; more is refused with what is left. After the solve u
 * gets, of W, what the exact solution has, or nothing.
 *
 * Works are what a load does along the functions of a piece, and the sum of its moduli: hdg_n_works numbers,
 * for cells and for pieces. */
#ifndef FACET_HDG_NULL_SPACE_H
#define FACET_HDG_NULL_SPACE_H

#include "hdg/local.h"

int hdg_n_works(const struct hdg *hdg);
/* Of a load with the values f (n x components, with the weights of the rule) at points x of the cell at hand.
 */
void hdg_find_works(const struct local *l, int n, const double *x, const double *f, double *works);
/* Pieces of the mesh: of cells, and of faces of the trace; -1: none. Without numbers the mesh is one piece. */
struct hdg_pieces {
    int n;
    const int32_t *of_cell, *of_face; /* of_face NULL: as the first cell of a face */
};
/* sums (n x count): of the pieces, over all parts of the mesh, from those of cells (n_cells x count). */
facet_status hdg_sum_pieces(const struct hdg *hdg, const struct hdg_pieces *pieces, int count,
                            const double *cells, double *sums);
/* The same for works, with those of the boundary data. */
facet_status hdg_sum_works(const struct hdg *hdg, const struct hdg_pieces *pieces, const double *cells,
                           double *works);

/* Refuses loads that do not balance; cells: their works. shift (or NULL): what is to be taken off f, c = G^-1
 * W'F: one number of a singular problem, else n_free_pieces x FREE_MOTIONS. imbalance: as in hdg_solution. */
facet_status hdg_balance_constant(const struct hdg *hdg, const double *cells, double *shift,
                                  double imbalance[2]);
facet_status hdg_balance_motions(const struct hdg *hdg, const double *cells, double *shift,
                                 double imbalance[2]);
/* That off the values f (n x components) at points x of the cell at hand. */
void hdg_take_shift(const struct local *l, int n, const double *x, const double *shift, double *f);
/* After recovery: W G^-1 C'(exact solution, or 0, - u). Constants are added to all of the solution, motions to
 * the trace, from which it is to be recovered again. */
facet_status hdg_fix_null_space(const struct hdg *hdg, struct hdg_solution *solution);
/* Adds constants by piece to u and the trace. */
void hdg_add_constants(const struct hdg *hdg, const struct hdg_pieces *pieces, const double *constants,
                       struct hdg_solution *solution);

#endif
