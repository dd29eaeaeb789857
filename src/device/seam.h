/* Vectors that the processes of a team (base/team.h) hold together.
 *
 * The unknowns come in blocks (those of a face). A block at the seam between two processes stands in the
 * vectors of both; one of them owns it. A vector is consistent when both copies have the same numbers, and so
 * are all vectors but for the moment between a product with the cells of each process and seam_add, which
 * makes both copies the sum of both: the same bits, since a + b is b + a. A block may stand in the vectors of
 * more than two (nodes at edges and corners of boxes): its sum is taken in the order of their ranks. In a dot
 * product a block counts where it is owned, by the lowest rank that has it.
 *
 * A seam is shared by the spaces, operators and vectors that know it: whoever keeps it holds it. Vectors and
 * operators have NULL where all unknowns are here.
 */
#ifndef FACET_DEVICE_SEAM_H
#define FACET_DEVICE_SEAM_H

#include "base/neighbours.h"
#include "device/device.h"

/* What the vectors of a device that is not the host need: its arrays, but for the staging ones. */
struct seam_there {
    const struct device *device;
    int64_t n, n_foreign; /* entries that are shared; the first of them are owned by others */
    int64_t *places;      /* n: in the order of the messages */
    void *values;         /* n numbers that go out, */
    void *arrived;        /* and that have come */
    void *foreign[2];     /* n_foreign numbers each */
    void *taken;          /* likewise, of the host */
    void *out, *in;       /* n numbers each, of the host, where messages take their way through it */
};

struct seam {
    int holders;
    struct base_team *team;
    int64_t n_blocks;
    int64_t *offsets; /* n_blocks + 1: where they begin in a vector; with places: the sums of their sizes */
    int64_t *places;  /* NULL, or where the blocks begin, whose numbers are `stride` apart */
    int stride;
    int n_neighbours;
    struct team_neighbour *neighbours; /* blocks shared with a lower rank are its */
    int64_t n_several;                 /* blocks that more than one neighbour has, */
    int32_t *several;                  /* and room for what stands there before a sum */
    double *own;
    int64_t own_size;
    int64_t n_foreign;
    int64_t
        *foreign; /* 2 x n_foreign: where runs of entries, `stride` apart, begin and end that others own */
    struct team_message *messages;
    void *pending;  /* of the exchange under way */
    void *out, *in; /* room for the largest blocks that were ever sent */
    size_t bytes;
    struct seam_there there;
    int64_t *names; /* n_blocks: what a block is called, however the whole is parted; NULL: not known */
};

/* neighbours: copied; their items are blocks. offsets: copied. */
facet_status seam_create(struct base_team *team, int64_t n_blocks, const int64_t *offsets, int n_neighbours,
                         const struct team_neighbour *neighbours, struct seam **seam);
/* The same for vectors whose blocks do not follow each other: block b has offsets[b + 1] - offsets[b] numbers
 * at places[b], places[b] + stride, ...; only blocks at the seam need be among them. */
facet_status seam_create_apart(struct base_team *team, int64_t n_blocks, const int64_t *offsets,
                               const int64_t *places, int stride, int n_neighbours,
                               const struct team_neighbour *neighbours, struct seam **seam);
struct seam *seam_hold(struct seam *seam); /* the same, which is to be released once more; NULL too */
void seam_release(struct seam **seam);     /* safe on NULL, and twice */

/* Shared blocks become the sums of all copies: of a vector (those of one seam lie on the host, or, where no
 * block is of more than two processes, all on one other device, from which messages take their way through
 * the host); or of arrays of the host whose block b stands at offsets[b] .. offsets[b + 1]-1. Between begin
 * and end the rest of the vector may change. Where the exchange fails, which another process has then caused,
 * the vector is NaN, as the dot product below: whoever iterates notices, and the end of the public call says
 * why. */
facet_status seam_add_begin(struct seam *seam, const struct vector *x);
void seam_add_end(struct seam *seam, facet_status begun, struct vector *x);
static inline void seam_add(struct seam *seam, struct vector *x) {
    if (seam != NULL) seam_add_end(seam, seam_add_begin(seam, x), x);
}
facet_status seam_add_blocks(struct seam *seam, const int64_t *offsets, double *values);
/* Blocks of other owners become what these have; so that copies which rounding has led apart are one again,
 * of a vector in double precision, which is not needed after sums. */
facet_status seam_share(struct seam *seam, struct vector *x);
/* The entries of other owners, as many as `foreign` has and in its order, on the host; of a seam whose blocks
 * are apart. */
facet_status seam_take_foreign(struct seam *seam, const struct vector *x, double *values);
/* Entries of other owners become zero. */
void seam_clear_foreign(struct seam *seam, double *values);
int64_t seam_n_owned(struct seam *seam); /* of a seam whose vectors are its blocks */
/* The sum over all processes of what is owned, `here` being the dot product of all entries of x and y. */
double seam_dot(struct seam *seam, const struct vector *x, const struct vector *y, double here);
/* names: copied. */
facet_status seam_set_names(struct seam *seam, const int64_t *names);

#endif
