/* What is measured: a Poisson problem on a box of one shape whose stages can be run again and again, and
 * trace products on matrices of no meaning. */
#ifndef FACET_BENCH_SUBJECT_H
#define FACET_BENCH_SUBJECT_H

#include "bench/bench.h"
#include "bench/ceiling.h"
#include "problem/mapped_backend.h"

struct subject_shape {
    const char *name;
    enum shape shape;
    int per_brick; /* cells of a brick of the box */
};
extern const struct subject_shape subject_quads, subject_triangles, subject_tets, subject_hexes;

facet_box subject_box(const struct subject_shape *shape, int cells);
/* Bricks along a side of the box so that all cells together take `bytes`, with so many of each. */
int subject_cells(const struct subject_shape *shape, double bytes_per_cell, double bytes);
/* The same for the element matrices. */
int subject_matrix_cells(const struct subject_shape *shape, int degree, double bytes);
/* "12^3 x 6" */
void subject_cells_text(const struct subject_shape *shape, int cells, char *text, size_t text_bytes);

struct subject {
    facet_context *context;
    facet_mesh *mesh;
    facet_problem *problem;
    facet_solver *solver;
    struct linear_operator facets;
};
facet_status subject_create(const struct bench_options *bench, const struct subject_shape *shape, int cells,
                            int degree, struct subject *subject);
/* The same without the product by facets, which not every device has. */
facet_status subject_create_bare(const struct bench_options *bench, const struct subject_shape *shape,
                                 int cells, int degree, struct subject *subject);
/* Of a context, a mesh and a problem that has its coefficients: the rest. */
facet_status subject_finish(int degree, struct subject *subject);
void subject_destroy(struct subject *subject);

/* STAGE_CONDENSE: in memory that is taken for it; STAGE_AGAIN: in memory that is there. */
enum stage {
    STAGE_CONDENSE,
    STAGE_AGAIN,
    STAGE_ASSEMBLE,
    STAGE_CELLS,
    STAGE_FACETS,
    STAGE_LOAD,
    STAGE_RECOVER,
    STAGE_POSTPROCESS
};
/* Seconds of one run of a stage. */
facet_status subject_run(struct subject *subject, enum stage stage, double *seconds);

/* The trace product in all the forms it can take. */
enum { N_PRODUCTS = 4 };
struct products {
    int cells, degree; /* given */
    int64_t n_unknowns;
    double triad;                                                          /* bytes per second */
    double bytes[N_PRODUCTS], operations[N_PRODUCTS], seconds[N_PRODUCTS]; /* of one product */
};
const char *products_name(int form); /* cells facets ELL CSR */
/* The first n_forms of them. */
facet_status products_measure(const struct device *device, const struct subject_shape *shape, int n_forms,
                              struct triad *triad, struct products *m);

#endif
