/* Continuous elements at points: for the caller, for pictures, and against an exact solution. */
#include <string.h>

#include "base/memory.h"
#include "boxsem/cells.h"

/* ------------------------------------------------------------------------------------- evaluation */

static facet_status tabulate(const struct box_function *f, int d, int n_points, const double *x,
                             double *values, double *slopes) {
    const struct boxsem *c = f->user;
    (void)d;
    return box_element_tables(&c->element, n_points, x, values, slopes);
}

/* A field in a cell from its nodal values. */
static void describe(const struct boxsem *c, enum boxsem_field field, int64_t cell, const double *local,
                     struct box_function *f) {
    int flux = field == BOXSEM_Q;
    *f = (struct box_function){
        .dim = c->grid.dim, .n = c->n, .components = flux ? c->grid.dim : 1, .tabulate = tabulate, .user = c};
    box_cell_at(&c->grid, cell, f->at);
    for (int i = 0; i < f->components; i++) {
        f->from[i] = local;
        f->slope[i] = flux ? i : -1;
        f->factor[i] = flux ? -box_conductivity(&c->grid, cell) / c->grid.widths[i][f->at[i]] : 1.0;
    }
}

facet_status boxsem_evaluate(const struct boxsem *c, enum boxsem_field field, int64_t cell,
                             const struct box_places *places, double *values) {
    facet_status status = FACET_OK;
    struct box_function f;
    struct vector u = c->u;
    double *local = NULL, *nodes = NULL;
    TRY(ALLOC(local, c->cell_size));
    TRY(boxsem_nodes_open(&u, &nodes)); /* wherever the vector is */
    describe(c, field, cell, local, &f);
    boxsem_cell_gather(c, f.at, nodes, local);
    TRY(box_evaluate(&f, places, values));
done:
    boxsem_nodes_close(&u, 0, &nodes);
    base_free(&local);
    return status;
}

/* ------------------------------------------------------------------------------------- all cells */

struct job {
    const struct boxsem *c;
    struct boxsem_samples samples;
    double *nodes, *values;
};

static facet_status get_work(int64_t cell, const int at[3], double *scratch, void *user) {
    const struct job *job = user;
    const struct boxsem *c = job->c;
    int n[3] = {c->n, c->n, c->n};
    const double *T[3] = {job->samples.values, job->samples.values, job->samples.values};
    boxsem_cell_gather(c, at, job->nodes, scratch);
    const double *result =
        box_contract_all(c->grid.dim, n, n, T, scratch, scratch + boxsem_cell_room(c, c->n));
    memcpy(job->values + cell * c->cell_size, result, sizeof *result * (size_t)c->cell_size);
    return FACET_OK;
}

facet_status boxsem_get(const struct boxsem *c, double *values) {
    facet_status status = FACET_OK;
    struct job job = {.c = c, .values = values};
    struct vector u = c->u;
    TRY(boxsem_samples_create(c, c->n, &job.samples));
    TRY(boxsem_nodes_open(&u, &job.nodes));
    TRY(box_for_cells(&c->grid, c->cell_size, 0, 2 * boxsem_cell_room(c, c->n), get_work, &job));
done:
    boxsem_nodes_close(&u, 0, &job.nodes);
    boxsem_samples_destroy(&job.samples);
    return status;
}

facet_status boxsem_mean(const struct boxsem *c, double *mean) {
    facet_status status = FACET_OK;
    struct vector u = c->u;
    double *nodes = NULL;
    TRY(boxsem_nodes_open(&u, &nodes));
    *mean = boxsem_nodes_integral(c, nodes) / c->volume;
done:
    boxsem_nodes_close(&u, 0, &nodes);
    return status;
}

static void describe_all(const void *user, int64_t cell, const int at[3], double *local,
                         struct box_function fields[], const double *values[][3], const double *slopes[][3]) {
    const struct job *job = user;
    boxsem_cell_gather(job->c, at, job->nodes, local);
    for (int f = 0; f < 2; f++) {
        describe(job->c, f == 0 ? BOXSEM_U : BOXSEM_Q, cell, local, &fields[f]);
        for (int d = 0; d < 3; d++) {
            values[f][d] = job->samples.values;
            slopes[f][d] = job->samples.slopes;
        }
    }
}

facet_status boxsem_measure_errors(const struct boxsem *c, const struct field *exact,
                                   struct box_errors *errors) {
    facet_status status = FACET_OK;
    struct job job = {.c = c};
    struct vector u = c->u;
    double L2[2], largest;
    TRY(boxsem_samples_create(c, c->n + BOX_EXTRA_POINTS, &job.samples));
    TRY(boxsem_nodes_open(&u, &job.nodes));
    const struct box_measure measure = {.grid = &c->grid,
                                        .exact = exact,
                                        .n_fields = 2,
                                        .n_points = job.samples.n_points,
                                        .x = job.samples.x,
                                        .weights = job.samples.w,
                                        .describe = describe_all,
                                        .room = c->cell_size,
                                        .user = &job};
    TRY(box_measure(&measure, L2, &largest));
    *errors = (struct box_errors){L2[0], largest, L2[1], -1.0, -1.0, -1.0};
done:
    boxsem_nodes_close(&u, 0, &job.nodes);
    boxsem_samples_destroy(&job.samples);
    return status;
}
