/* Private to the room: cells whose map is curved or whose data vary, in batches (kernels/general.h,
 * kernels/elastic.h). A batch goes this way when not all its cells are fast (batch.h), unless the matrices of
 * a batch would not fit the caches: then its cells are worked on one by one (local.h).
 *
 * Work is done on tiles, runs of batches. How large a tile is, is a property of the device: on the host what
 * stays in a cache, one for every thread; on others as much as makes many launches one. general_place finds
 * the cells of a tile, the struct general_maker of an equation makes maps and data at their points, and its
 * kernels work on these. */
#ifndef FACET_HDG_GENERAL_H
#define FACET_HDG_GENERAL_H

#include "hdg/batch.h"
#include "hdg/device_cells.h"

/* The points of a table as the kernels want them, on the device. In straight cells one Jacobian serves all of
 * them. */
struct general_rule {
    const struct hdg_table *table;
    double *map; /* n_nodes x n (1 + dim): the map and its derivatives at every point; straight: x n, the map
                    alone */
    double *middle; /* straight: n_nodes x (1 + dim), the same at one point; else NULL */
    double *w;      /* n; straight: 1 */
    double *spread; /* straight: the weights, n; else NULL */
};
/* Numbers of a point in what `map` makes of the nodes. */
static inline int general_point_size(const struct general_rule *rule) {
    return rule->table->dim * (rule->middle != NULL ? 1 : 1 + rule->table->dim);
}

/* Few points that determine a polynomial of the map, of the reference cell; and what its values there
 * contribute to a matrix. Without the table the points are those of the rule of the cell. */
struct general_few {
    struct rule rule;
    struct hdg_table points;
    struct general_rule at; /* of weight 1 */
    double *table;          /* device */
};

struct hdg_general {
    struct general_tables tables;
    struct general_rule cell, face; /* face: the points of all faces, one after the other, w of one */
    double *normals;                /* n_faces x 3: of the reference cell */
    double *phi, *grad, *face_phi, *psi;
    struct general_few metric, det; /* cofactors, det J */
};

facet_status general_create(struct hdg *hdg, int block); /* where the block has such batches */
void general_destroy(struct hdg *hdg, int block);
/* Of `general`: maps at the points of a face rule, the functions of cells of this degree there, psi and
 * normals. */
facet_status general_face_tables(const struct hdg *hdg, int block, const struct hdg_face_table *face,
                                 int degree, struct hdg_general *general);
facet_status general_rule_create(const struct hdg *hdg, const struct hdg_table *table, int straight,
                                 struct general_rule *rule);
void general_rule_destroy(const struct hdg *hdg, struct general_rule *rule);

/* What a thread works with: arrays in lanes of up to `most` batches on the device, and what of them the host
 * reads or fills, which is the same memory where that can be. */
#define GENERAL_ARRAYS 32
enum { W_UHAT, W_U, W_Q, W_LOAD, W_OWN }; /* of solves inside cells; from W_OWN on each has its own */
/* The arrays of batches whose maps or data vary, of any equation; those before A_POINTS are seen by the host.
 */
enum {
    A_NODES = W_OWN,
    A_OFFSETS, /* nodes less the first of the cell */
    A_ORIENTATIONS,
    A_VOLUMES, /* in units of general_plan.unit */
    A_LARGEST, /* reaction */
    A_POINTS,
    A_FACE_POINTS,
    A_WJ,
    A_METRIC_POINTS,
    A_METRIC_DET, /* not used */
    A_COFACTORS,
    A_DET_POINTS,
    A_NORMALS,
    FIRST_DATA,         /* of diffusion: */
    A_DET = FIRST_DATA, /* divided by K */
    A_MASS,
    A_ROOTS,
    A_REACTION,
    A_TAU,
    A_K,
    A_LAMBDA,
    A_TAU_GIVEN,
    N_GENERAL_ARRAYS
};

struct general_work;
struct general_plan {
    int n_arrays;
    int64_t sizes[GENERAL_ARRAYS]; /* numbers of a cell */
    int n_seen;                    /* arrays from here on are those of the device alone; 0: there are none */
    int64_t n_scratch;             /* of the kernels */
    int on_host;                   /* no kernels: the host's memory, and all its threads */
    int whole;      /* the device makes all of it, and the host nothing but what it knows alone */
    int64_t beside; /* numbers of a cell that a tile has besides, in other arrays */
    /* Data at points: number c of all that a region has (component *component of a field; NULL: zero), at so
     * many points of a cell at once. */
    const struct field *(*number)(const struct hdg *hdg, int region, int c, int *component);
    int n_numbers, n_points;
    double unit;                /* of A_VOLUMES */
    struct general_work **kept; /* where the work of a device that keeps it is; NULL: it is not kept */
};
struct general_work {
    const struct hdg *hdg;
    int block, n_arrays;
    int64_t most, size[GENERAL_ARRAYS]; /* numbers of a batch */
    struct general_plan plan;
    struct local local;
    double *device[GENERAL_ARRAYS], *host[GENERAL_ARRAYS];
    double *scratch;
    struct general_number *numbers; /* n_regions x n_numbers */
    const int32_t *regions;         /* of the cells at hand; NULL: there is one region */
    double largest_reaction;
    struct general_cells cells;
    struct elastic_general_cells bodies;
};
facet_status general_fetch(const struct general_work *w, int array, int64_t n_batches); /* to the host */
facet_status general_send(const struct general_work *w, int array, int64_t n_batches);
/* device: columns x n from n rows of a table, which lie `row` apart. */
facet_status general_put_turned(const struct hdg *h, int n, int columns, int row, const double *from,
                                double **to);
/* The cell of a lane; lanes nobody uses repeat the last one. */
int32_t general_cell(const struct general_work *w, int64_t batch, int lane);
/* The batches from `begin` on become those at hand: an array without a size of its own is their nodes; */
void general_nodes(struct general_work *w, int array, int64_t begin);
/* Numbers of the cells of n batches, which the host has one cell after the other, width x count of each:
 * into an array of the host, as count x width, and to the device. */
facet_status general_put_numbers(const struct general_work *w, int array, int64_t begin, int64_t n,
                                 const double *values, int64_t count, int64_t width);
/* A_NODES, A_OFFSETS, A_ORIENTATIONS and the regions of the batches from `begin` on. */
void general_place(struct general_work *w, int64_t begin);
/* A number of the data of a region as the device knows it: a program, or a number. */
struct general_number {
    struct expr_program program; /* empty where it is a number */
    double constant;
};
/* Numbers c .. c + count - 1 (plan.number) at n_points of the points of an array, which are `step` numbers
 * apart, of the cells of n batches. values (device): n_points x count x LANES, or by rows count x n_points x
 * LANES, times the weights (n_points x LANES, or NULL). Functions of the caller are asked for on the host. */
struct general_values {
    const char *name; /* of what a function of the caller is asked for */
    int points, n_points, step, c, count, by_rows;
    const double *weights;
    double *values;
};
facet_status general_put_field(const struct general_work *w, int64_t begin, int64_t n,
                               const struct general_values *to);
/* The points of one lane of batch number `batch` of those at hand, n x dim on the host. */
facet_status general_points_of(const struct general_work *w, int array, int n, int64_t batch, int lane,
                               double *x);
/* From there x and Jacobians at the points of a rule, w det J and (array -1: not wanted) cofactors, as
 * cell_metric has them. Of straight cells x alone, det J and cofactors of weight 1 at one point (middle: (1 +
 * dim) dim numbers). */
struct general_places {
    int nodes, points, wJ, cofactors, middle, det;
};
facet_status general_maps(const struct general_work *w, const struct general_rule *rule, int64_t begin,
                          int64_t n, const struct general_places *places);
/* n points of one lane of an array of points that are `step` numbers apart, one after the other; */
void general_points(int n, int dim, int lanes, int step, const double *points, double *x);
/* and n points of all lanes, point after point: n x LANES x dim. */
void general_all_points(const struct hdg *hdg, int64_t n, int step, const double *points, double *x);
/* Whether some K has a value of its own at every point. */
int general_varies(const struct hdg *hdg);
/* K at n points of every cell, for a plan whose numbers are its entries; and, after that, of the cells of n
 * batches into an array, a matrix for each or (where it varies) one at each of the points of an array of
 * n_points, checked. */
void general_plan_conductivity(const struct hdg *hdg, int n, struct general_plan *plan);
facet_status general_conductivity(struct general_work *w, int64_t begin, int64_t n, int points, int n_points,
                                  int array);
/* All cells of the batch are. */
int general_is_straight(const struct hdg *hdg, int block, int64_t batch);

/* Runs `work` for pieces of the batches begin .. end-1, shared out among the threads (which debug does not
 * let in together). reaction, or NULL: becomes at least the largest that was met. */
typedef facet_status (*general_piece)(struct general_work *w, int64_t begin, int64_t n, void *user);
facet_status general_for_pieces(const struct hdg *hdg, int block, int64_t begin, int64_t end,
                                const struct general_plan *plan, general_piece work, void *user,
                                double *reaction);
void general_forget(struct general_work **kept); /* safe where there is none */

/* Batches begin .. end-1 of the block, all of them general: condensed into the arrays of the struct hdg.
 * volumes: of the batches; *reaction: the largest coefficient. */
facet_status general_condense(struct hdg *hdg, int block, int64_t begin, int64_t end, double *volumes,
                              double *reaction);
/* Batches at hand, all of them general, with arrays of the device as general_solve of the kernels; failed: as
 * it answers. */
facet_status general_solve(struct general_work *w, const struct general_maker *maker, int64_t begin,
                           int64_t n, const double *uhat, double *u, double *q, double *load,
                           int64_t *failed);
/* Maps of n batches at their points, from the nodes, in its arrays on the device. Answers with the first that
 * is inverted at a point, or -1. */
int64_t general_map_points(const struct hdg *hdg, int block, int64_t n, double *const *arrays);
/* One of these batches is inverted at a point. */
facet_status general_refuse_inverted(const struct hdg *hdg, int block, int64_t batch);

/* general_data.c: diffusion, for struct general_maker (batch.h). */
extern const struct general_maker general_diffusion;
/* general_load.c: loads (batch x N x LANES, on the device) of a block = (f - shift, chi). source: as of
 * hdg_load. totals: per cell the integrals of f - shift and of its modulus; NULL: not wanted. */
struct general_load {
    const double *source;
    double shift, *loads, *totals;
    int ones; /* f = 1 instead, of one component */
};
facet_status general_load(const struct hdg *hdg, int block, const struct general_load *data);
/* Whether a device knows f. source: as of hdg_load. */
int general_knows_source(const struct hdg *hdg, const double *source);
/* general_measure.c: squares of the errors of the cells of a block; those of u* where there is one. */
struct general_errors {
    double u, u_star, q[3], q_star[3], u_max;
};
facet_status general_errors(const struct hdg *hdg, int block, const struct hdg_solution *solution,
                            struct general_errors *cells);
/* trace_errors.c: of every face, of any equation, the integrals of the squares of the error of the trace by
 * component, and the area: n_faces x (components + 1). */
facet_status general_trace_errors(const struct hdg *hdg, const struct hdg_solution *solution, double *faces);
/* general_star.c: their u*. */
facet_status general_star(const struct hdg *hdg, int block, int64_t begin, int64_t end,
                          struct hdg_solution *solution);

#endif
