/* Continuous elements at points: for the caller, for pictures, and against an exact solution. */
#include "base/memory.h"
#include "boxsem/cells.h"

/* ------------------------------------------------------------------------------------- evaluation */

/* A field in a cell from its nodal values. */
static void describe(const struct boxsem *c, enum boxsem_field field, int64_t cell, const int at[3],
                     const double *local, struct box_function *f) {
    int flux = field == BOXSEM_Q;
    *f = (struct box_function){.dim = c->grid.dim,
                               .n = c->n,
                               .components = flux ? c->grid.dim : 1,
                               .tabulate = boxsem_tabulate,
                               .user = c};
    for (int i = 0; i < f->components; i++) {
        f->from[i] = local;
        f->slope[i] = flux ? i : -1;
        f->factor[i] = flux ? -box_conductivity(&c->grid, cell) / c->grid.widths[i][at[i]] : 1.0;
    }
}

facet_status boxsem_evaluate(const struct boxsem *c, enum boxsem_field field, int64_t cell,
                             const struct box_places *places, double *values) {
    facet_status status = FACET_OK;
    struct box_function f;
    struct vector u = c->u;
    double *local = NULL, *nodes = NULL;
    int at[3];
    TRY(ALLOC(local, c->cell_size));
    TRY(boxsem_nodes_open(&u, &nodes)); /* wherever the vector is */
    box_cell_at(&c->grid, cell, at);
    describe(c, field, cell, at, local, &f);
    boxsem_cell_move(c, at, BOXSEM_GATHER, nodes, local);
    TRY(box_evaluate(&f, places, values));
done:
    boxsem_nodes_close(&u, 0, &nodes);
    base_free(&local);
    return status;
}

/* ------------------------------------------------------------------------------------- all cells */

facet_status boxsem_mean(const struct boxsem *c, double *mean) {
    facet_status status = FACET_OK;
    struct vector u = c->u;
    double *nodes = NULL;
    TRY(boxsem_nodes_open(&u, &nodes));
    *mean = box_weigh(c->n_nodes, (const double *const *)c->moments, nodes) / c->volume;
done:
    boxsem_nodes_close(&u, 0, &nodes);
    return status;
}

struct error_job {
    const struct boxsem *c;
    double *nodes;
};

static void describe_all(const void *user, int64_t cell, const int at[3], double *local,
                         struct box_function fields[]) {
    const struct error_job *job = user;
    boxsem_cell_move(job->c, at, BOXSEM_GATHER, job->nodes, local);
    describe(job->c, BOXSEM_U, cell, at, local, &fields[0]);
    describe(job->c, BOXSEM_Q, cell, at, local, &fields[1]);
}

facet_status boxsem_measure_errors(const struct boxsem *c, const struct field *exact,
                                   struct box_errors *errors) {
    facet_status status = FACET_OK;
    struct error_job job = {.c = c};
    struct box_samples samples = {0};
    const struct box_measure measure = {.grid = &c->grid,
                                        .exact = exact,
                                        .n_fields = 2,
                                        .samples = {&samples, &samples},
                                        .describe = describe_all,
                                        .room = c->cell_size,
                                        .user = &job};
    struct vector u = c->u;
    double L2[2], largest;
    TRY(boxsem_samples_create(c, c->n + BOX_EXTRA_POINTS, &samples));
    TRY(boxsem_nodes_open(&u, &job.nodes));
    TRY(box_measure(&measure, L2, &largest));
    *errors = (struct box_errors){L2[0], largest, L2[1], -1.0, -1.0, -1.0};
done:
    boxsem_nodes_close(&u, 0, &job.nodes);
    box_samples_destroy(&samples);
    return status;
}
