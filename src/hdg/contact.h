/* Private to the room: faces whose sides see different traces, by contacts that resist, or by a jump that is
 * given across joined sides. The latter is data alone: where the unknowns are v the second side sees v +
 * jump, so that K stays what it is, and -K_e jump is a load.
 *
 * Contacts. Between two groups of cells the flux through a face is
 *
 *     qhat.n = h (uhat_2 - uhat_1),     n out of the second side,
 *
 * with a trace for each side: one more element h [M -M; -M M] between the two. The trace of the second side
 * meets its own cell and this element only, so that it is condensed as well: of the cell, with the rows f of
 * its contacts and the others o,
 *
 *     S = K_ff + h M,     uhat_f = S^-1 (h M uhat_1 - K_fo uhat_o + F_f) = T uhat + S^-1 F_f,
 *     K_oo -> K_oo - K_of S^-1 K_fo,     K_fo -> h M S^-1 K_fo,     K_ff -> h M S^-1 K_ff,     F -> T'F.
 *
 * So all that solves sees one trace a face, that of the first side. However large h is, no number is the
 * difference of large ones: h to infinity gives K_e back. A small h is all that holds a constant of the cell
 * against one of the first sides, K_oo 1 = -K_of 1 + (T'K 1)_o, and K_oo is such a difference: the right side
 * of this identity, whose numbers are as small as h, replaces what rounding left of the left side. All that
 * looks at results sees both traces: those of the second sides stand behind all others in solution.trace, in
 * the numbering of `seen`. */
#ifndef FACET_HDG_CONTACT_H
#define FACET_HDG_CONTACT_H

#include "hdg/local.h"

struct contact_cell {
    int block, n_slots;
    int32_t cell;
    uint8_t slots[SHAPE_MAX_FACES];  /* its faces with a contact, of which it is the second side */
    int starts[SHAPE_MAX_FACES + 1]; /* where the rows f of each of them begin, and their number */
    double *T;                       /* f x n, after condensation */
    double *L;                       /* f x f, by rows: S = L L' */
    double stiffest, joined; /* the largest diagonal entries: of K_e before condensation; of K_ff after it */
};
/* A second side with a jump. */
struct contact_jump {
    int block, slot;
    int32_t cell;
    double shift[3]; /* from the first side to this one */
    double value[3];
};
struct hdg_contacts {
    struct trace_space seen; /* with both traces */
    int32_t n, n_jumps;
    struct contact_cell *cells;
    struct contact_jump *jumps;       /* values: of the last lift */
    int32_t *number[MESH_MAX_BLOCKS]; /* of a cell: which of these, -1: none */
    double *scratch;                  /* of one cell */
};

/* After the trace is numbered, where data have contacts; looks at them as well. eliminated: by face. */
facet_status contact_create(struct hdg *hdg, const uint8_t *eliminated);
void contact_destroy(struct hdg *hdg);
/* The numbering of solution.trace. */
static inline const struct trace_space *contact_seen(const struct hdg *hdg) {
    return hdg->contacts != NULL ? &hdg->contacts->seen : &hdg->trace;
}
/* equation.one_on of a trace that a cell sees. */
static inline double contact_one_on(const struct hdg *hdg, int32_t face) {
    return hdg->data.equation->one_on(hdg, face < hdg->trace.n_faces ? face
                                                                     : contact_seen(hdg)->records[face].face);
}
/* Where the trace that a cell sees on a face begins there. */
static inline int64_t contact_start(const struct hdg *hdg, int block, int32_t cell, int face) {
    const struct trace_space *seen = contact_seen(hdg);
    return seen->face_first[seen->faces[block][(int64_t)cell * seen->n_slots[block] + face]];
}
/* h at the boundary rule of a face of the cell at hand into l->values, with the normals in l->normal. */
facet_status contact_conductance(struct local *l, int face);
int contact_has_cell(const struct hdg *hdg, int block, int32_t cell);
/* Whether it sees another trace on a slot than that of the solve, which is another cell's. */
static inline int contact_is_second(const struct hdg *hdg, int block, int32_t cell, int slot) {
    const int64_t at = (int64_t)cell * hdg->trace.n_slots[block] + slot;
    return hdg->contacts != NULL && hdg->contacts->seen.faces[block][at] != hdg->trace.faces[block][at];
}
/* Whether it does, over a contact that hardly joins the two: their constants need not be alike. */
int contact_is_weak(const struct hdg *hdg, int block, int32_t cell, int slot);
/* K_e (n x n) of the cell at hand, if it is one of them, without what Robin faces add. sums (n): K_e times
 * the constant 1, to more digits than K_e has; overwritten. */
facet_status contact_condense(struct local *l, double *sums, double *K);
/* The loads of the cells on the trace (as of trace_assemble_vector); what recovery needs of them is kept. */
void contact_load(const struct hdg *hdg, struct hdg_solution *solution, double *const *locals);
/* The traces of second sides, from the others and what was kept; jump 0: of differences of solutions, which
 * have none. */
void contact_recover(const struct hdg *hdg, int jump, struct hdg_solution *solution);
/* totals[i] += <h [uhat], [psi_i]> over all contacts, psi_i being traces in the numbering of `seen`;
 * moduli[i]: of the moduli. */
facet_status contact_add_totals(const struct hdg *hdg, const struct hdg_solution *solution, int n,
                                double *const *psi, double *totals, double *moduli);
/* lift (n_free) -= K_e jump. */
facet_status contact_lift(struct hdg *hdg, double *lift);
/* Refuses bodies that nothing but a contact holds, and that so weakly that rounding decides. */
facet_status contact_check(const struct hdg *hdg);

#endif
