/* Private to the room: bodies that nothing holds (hdg_data.free_pieces), which are known up to their rigid
 * motions.
 *
 * Loads that balance need no support: as many unknowns of the trace as there are motions are held at zero,
 * chosen so that they hold all of these and nothing else. Their reactions are then zero, K is regular, and
 * every solver works as with supports. What they leave of loads and solutions: hdg_null_space.h. */
#ifndef FACET_HDG_FREE_MOTIONS_H
#define FACET_HDG_FREE_MOTIONS_H

#include "hdg/hdg_null_space.h"

/* Motions 0 .. 2 are translations, 3 .. 5 rotations about the axes through the centre of the piece, with
 * coordinates relative to its size. */
#define FREE_MOTIONS 6

struct hdg_free_motions {
    double *traces;  /* FREE_MOTIONS x n_free: the motions of the pieces, none of which share a face */
    double *inverse; /* n_free_pieces x FREE_MOTIONS^2: of their Gram matrix over the piece, n x n */
};

/* After boundary data are there: the unknowns that are held. */
facet_status free_motions_create(struct hdg *hdg);
void free_motions_destroy(struct hdg *hdg);
/* The pieces that move; that of a cell, or NULL. */
struct hdg_pieces free_motions_pieces(const struct hdg *hdg);
const struct hdg_free_piece *free_piece_of(const struct hdg *hdg, int block, int32_t cell);
/* A motion at a point. */
void free_motion_at(const struct hdg_free_piece *piece, int motion, int dim, const double *x, double u[3]);

#endif
