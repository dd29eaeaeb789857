/* Rivals that solve in the volume by fast diagonalization: the continuous method, and the part of HDG's that
 * rival_hdg.c asks for. */
#include <string.h>

#include "base/memory.h"
#include "bench/papers/volume.h"
#include "bench/rival.h"
#include "box/contract.h"
#include "poly/jacobi.h"
#include "poly/rule.h"

facet_status rival_volume_create(const struct boxhdg *h, struct box_volume **volume) {
    return box_volume_create_hdg(h, volume);
}

void rival_volume_destroy(struct box_volume **volume) {
    box_volume_destroy(volume);
}

void rival_volume_solve(struct box_volume *volume, const double *f, double *u) {
    box_volume_solve(volume, 1.0, 0.0, f, u);
}

/* The boundary values do not change from solve to solve: what they do to u is computed once. */
struct continuous_data {
    struct box_grid grid;
    double *nodes;    /* of the lattice: the boundary values */
    double *lift, *u; /* at the Gauss points: of the boundary values alone; the solution */
    double *T, *work; /* from Gauss points to those of the norm; n_points x n */
};

static void drop(struct rival_space *space, void **solver) {
    struct box_volume *volume = *solver;
    (void)space;
    box_volume_destroy(&volume);
    *solver = NULL;
}

static facet_status create(struct rival_space *space, enum rival_kind kind, void **solver) {
    facet_status status = FACET_OK;
    struct continuous_data *d = space->data;
    struct box_volume *volume = NULL;
    (void)kind;
    TRY(box_volume_create_continuous(&d->grid, space->wave->given.degree, &volume));
    *solver = volume;
    box_volume_solve_data(volume, 1.0, 0.0, NULL, NULL, d->nodes, d->lift);
done:
    return status;
}

static facet_status run(struct rival_space *space, void *solver, double seconds[N_RIVAL_STAGES],
                        struct solve_report *report) {
    struct continuous_data *d = space->data;
    int64_t n = box_volume_size(solver);
    memset(seconds, 0, N_RIVAL_STAGES * sizeof *seconds);
    double begin = rival_clock();
    box_volume_solve(solver, 1.0, 0.0, space->wave->source, d->u);
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < n; i++) d->u[i] += d->lift[i];
    seconds[RIVAL_SOLVE] = rival_clock() - begin;
    report->converged = 1;
    return FACET_OK;
}

static facet_status evaluate(void *user, int64_t cell, double *values) {
    struct rival_space *space = user;
    struct continuous_data *d = space->data;
    int n = space->wave->given.degree + 1, m = space->wave->n_points;
    const int from[3] = {n, n, n}, to[3] = {m, m, m};
    int64_t size = (int64_t)n * n * n, fine = (int64_t)m * m * m;
    memcpy(d->work, d->u + cell * size, (size_t)size * sizeof *d->work);
    const double *result = box_contract_all(3, to, from, (const double *const[3]){d->T, d->T, d->T}, d->work,
                                            d->work + fine + BOX_SLACK);
    memcpy(values, result, (size_t)fine * sizeof *values);
    return FACET_OK;
}

static facet_status error(struct rival_space *space, double *e) {
    return wave_error(space->wave, evaluate, space, e);
}

/* T_qi = sum over l of l_l(fine q) w_i l_l(Gauss i): exact for polynomials of the degree. */
static facet_status make_table(const struct wave *wave, double **T) {
    facet_status status = FACET_OK;
    int n = wave->given.degree + 1, m = wave->n_points;
    double *gauss = NULL;
    TRY(ALLOC(*T, m * n));
    TRY(ALLOC(gauss, 5 * n));
    double *weights = gauss + n, *here = weights + n, *there = here + n, *slopes = there + n;
    TRY(rule_gauss_jacobi(n, 0.0, 0.0, gauss, weights));
    for (int q = 0; q < m; q++) {
        jacobi_orthonormal(n - 1, 0.0, 0.0, wave->points[q], there, slopes);
        for (int i = 0; i < n; i++) {
            jacobi_orthonormal(n - 1, 0.0, 0.0, gauss[i], here, slopes);
            (*T)[q * n + i] = 0.0;
            for (int l = 0; l < n; l++) (*T)[q * n + i] += weights[i] * here[l] * there[l];
        }
    }
done:
    base_free(&gauss);
    return status;
}

static void destroy(struct rival_space *space) {
    struct continuous_data *d = space->data;
    if (d == NULL) return;
    box_grid_destroy(&d->grid);
    base_free(&d->nodes);
    base_free(&d->lift);
    base_free(&d->u);
    base_free(&d->T);
    base_free(&d->work);
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
    TRY(CALLOC(d->nodes, (int64_t)line * line * line));
    TRY(ALLOC(d->lift, d->grid.n_cells * n * n * n));
    TRY(ALLOC(d->u, d->grid.n_cells * n * n * n));
    TRY(CALLOC(d->work, 2 * ((int64_t)wave->n_points * wave->n_points * wave->n_points + BOX_SLACK)));
    TRY(make_table(wave, &d->T));
    TRY(fill_boundary(wave, line, d->nodes));
done:
    return status;
}
