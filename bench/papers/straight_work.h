/* What the two files of bench/papers/straight.h share. */
#ifndef FACET_BENCH_PAPERS_STRAIGHT_WORK_H
#define FACET_BENCH_PAPERS_STRAIGHT_WORK_H

#include "base/run.h"
#include "bench/papers/straight.h"

/* The 1D matrices of a line in a nodal basis: S'MS = 1, S'LS = Lambda, B = S'PR (n x 2, kept as two columns),
 * and G + C'M^-1C = [g c; c g]. */
struct straight_line {
    double *S, *SM;  /* n x n: nodes x modes; S'M: modes x nodes */
    double *St, *MS; /* their transposes */
    double *B[2];    /* n each: lower and upper end */
    double *eigenvalues;
    double g, c;
    double *store;
};
facet_status straight_line_create(const struct box_line *line, enum box_basis basis, const double *nodes,
                                  struct straight_line *to);
void straight_line_destroy(struct straight_line *line);
/* The nodes of a basis. */
facet_status straight_nodes(enum box_basis basis, int n, double *nodes);

struct box_straight {
    const struct boxhdg *h;
    enum box_basis basis;
    double *nodes;               /* n */
    struct straight_line *lines; /* h->n_lines */
    double *inverse;             /* D^-1: n_volume */
    double *metric;              /* cells x 3: a_d */
    int64_t *faces;              /* cells x 6: where a face begins in a vector, -1 for Dirichlet faces */
    double *block;               /* n_trace: inverse blocks of the faces in modes; 0 on Dirichlet faces */
    double *zeros;               /* one face */
    double *scratch;             /* threads x size */
    int threads;
    int64_t scratch_size;
};
static inline const struct straight_line *straight_line_of(const struct box_straight *s, int d, int column) {
    return &s->lines[s->h->column_line[d][column]];
}
/* Not more than there were when the work arrays were made. */
static inline int straight_threads(const struct box_straight *s) {
    return base_threads() < s->threads ? base_threads() : s->threads;
}
/* The tangential lines of a face normal to d; NULL where there is none. */
void straight_tangents(const struct box_straight *s, const int at[3], int d,
                       const struct straight_line *lines[2]);
/* out = (T1 x T0) in for a face, T by lines; in, out, work: face_size + BOX_SLACK, all different. */
void straight_turn(const struct box_straight *s, const double *const T[2], const double *in, double *work,
                   double *out);

#endif
