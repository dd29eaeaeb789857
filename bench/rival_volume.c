/* Rivals that solve in the volume by fast diagonalization: the continuous method, and the part of HDG's that
 * rival_hdg.c asks for. */
#include <string.h>

#include "base/memory.h"
#include "bench/rival.h"
#include "box/volume.h"
#include "poly/rule.h"

facet_status rival_volume_create(const struct box_hdg *h, struct box_volume **volume) {
    return box_volume_create_hdg(h, volume);
}

void rival_volume_destroy(struct box_volume **volume) {
    box_volume_destroy(volume);
}

void rival_volume_solve(struct box_volume *volume, const double *f, double *u) {
    box_volume_solve(volume, 1.0, 0.0, f, u);
}

struct continuous_data {
    struct box_grid grid;
    struct box_volume *volume; /* of the solver, for errors */
    double *boundary, *nodes, *u;
    int64_t n_nodes;
};

static void drop(struct rival_space *space, void **solver) {
    struct continuous_data *d = space->data;
    struct box_volume *volume = *solver;
    box_volume_destroy(&volume);
    d->volume = NULL;
    *solver = NULL;
}

static facet_status create(struct rival_space *space, enum rival_kind kind, void **solver) {
    struct continuous_data *d = space->data;
    (void)kind;
    facet_status status = box_volume_create_continuous(&d->grid, space->wave->given.degree, &d->volume);
    *solver = d->volume;
    return status;
}

static facet_status run(struct rival_space *space, void *solver, double seconds[N_RIVAL_STAGES],
                        struct solve_report *report) {
    struct continuous_data *d = space->data;
    memset(seconds, 0, N_RIVAL_STAGES * sizeof *seconds);
    memcpy(d->nodes, d->boundary, (size_t)d->n_nodes * sizeof *d->nodes);
    double begin = rival_clock();
    box_volume_solve_data(solver, 1.0, 0.0, space->wave->source, NULL, d->nodes, d->u);
    seconds[RIVAL_SOLVE] = rival_clock() - begin;
    report->converged = 1;
    return FACET_OK;
}

static facet_status error(struct rival_space *space, double *e) {
    struct continuous_data *d = space->data;
    return box_volume_error(d->volume, d->u, space->wave->exact, e);
}

static void destroy(struct rival_space *space) {
    struct continuous_data *d = space->data;
    if (d == NULL) return;
    box_grid_destroy(&d->grid);
    base_free(&d->boundary);
    base_free(&d->nodes);
    base_free(&d->u);
    base_free(&d);
    space->data = NULL;
}

/* The exact solution at the nodes of the boundary: side nodes of the lattice with `line` nodes a direction.
 */
static facet_status fill_boundary(const struct wave *wave, int line, double *values) {
    facet_status status = FACET_OK;
    int p = wave->given.degree;
    double *nodes = NULL, *x = NULL;
    TRY(ALLOC(nodes, 2 * (p + 1)));
    TRY(ALLOC(x, 3 * line));
    TRY(rule_gauss_lobatto(p + 1, 0.0, 0.0, nodes, nodes + p + 1));
    for (int64_t row = 0; row < (int64_t)line * line; row++) {
        int j = (int)(row % line), k = (int)(row / line);
        int side = j == 0 || k == 0 || j == line - 1 || k == line - 1, step = side || line < 2 ? 1 : line - 1;
        int count = 0;
        for (int i = 0; i < line; i += step, count++) {
            const int at[3] = {i, j, k};
            for (int d = 0; d < 3; d++) {
                int cell = at[d] == line - 1 ? wave->given.cells - 1 : at[d] / p;
                const double *c = wave->coordinates[d] + cell;
                x[3 * count + d] = c[0] + 0.5 * (1.0 + nodes[at[d] - cell * p]) * (c[1] - c[0]);
            }
        }
        double *target = values + row * line;
        if (side)
            TRY(field_eval(wave->exact, count, 3, x, target));
        else
            for (int i = 0; i < count; i++) TRY(field_eval(wave->exact, 1, 3, x + 3 * i, target + i * step));
    }
done:
    base_free(&nodes);
    base_free(&x);
    return status;
}

facet_status rival_space_continuous(const struct wave *wave, const struct device *device, double rtol,
                                    struct rival_space *space) {
    facet_status status = FACET_OK;
    struct continuous_data *d = NULL;
    int n = wave->given.degree + 1, line = wave->given.degree * wave->given.cells + 1;
    *space = (struct rival_space){.wave = wave,
                                  .device = device,
                                  .rtol = rtol,
                                  .destroy = destroy,
                                  .create = create,
                                  .drop = drop,
                                  .run = run,
                                  .error = error};
    TRY(CALLOC(d, 1));
    space->data = d;
    TRY(box_grid_create(&wave->data, &d->grid));
    d->n_nodes = (int64_t)line * line * line;
    TRY(CALLOC(d->boundary, d->n_nodes));
    TRY(ALLOC(d->nodes, d->n_nodes));
    TRY(ALLOC(d->u, d->grid.n_cells * n * n * n));
    TRY(fill_boundary(wave, line, d->boundary));
done:
    return status;
}
