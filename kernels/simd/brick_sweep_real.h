/* Steps over all patches for numbers of type REAL: brick.c includes this once for each precision, after
 * brick_residual_real.h. */
#include "kernels/simd/brick_residual_real.h"

static void NAME(work_batch)(const struct brick_patches *p, struct NAME(batch) * t, enum patch_work work,
                             const REAL *b, REAL *x, REAL *r) {
    switch (work) {
    case WORK_BOUNDARY:
        NAME(solve_batch)(p, t, p->axis[1].first[t->column1], p->axis[2].first[t->column2], b, x);
        break;
    case WORK_FUSED:
        NAME(load_batch)(p, t, b, x);
        NAME(correct_batch)(p, t, 0, x);
        break;
    case WORK_RESIDUAL:
        NAME(load_batch)(p, t, b, x);
        NAME(store_batch)(p, t, r);
        break;
    case WORK_CORRECT:
    case WORK_WEIGHTED:
        NAME(load_batch)(p, t, b, NULL);
        NAME(correct_batch)(p, t, work == WORK_WEIGHTED, x);
        break;
    }
}

/* The patches of one row of columns of direction 0, colour by colour from step_first to step_last. */
static void NAME(sweep_row)(const struct brick_patches *p, struct NAME(batch) * t, int step_first,
                            int step_last, int backward, enum patch_work work, const REAL *b, REAL *x,
                            REAL *r) {
    const struct brick_axis *ax = &p->axis[0];
    for (int step = step_first; step <= step_last; step++) {
        const int colour = backward ? ax->n_colours - 1 - step : step;
        int i = 0;
        while (i < ax->n_columns) {
            int n = 0, line = -1;
            t->wraps = 0;
            for (; i < ax->n_columns && n < L; i++) {
                if (ax->colour[i] != colour) continue;
                if (line >= 0 && ax->lines[i] != line) break;
                line = ax->lines[i];
                t->column[n] = i;
                t->first[n++] = ax->first[i];
                const int m = p->lines[line].m;
                if (ax->periodic && (ax->first[i] < 1 || ax->first[i] + m >= ax->n_nodes)) t->wraps = 1;
            }
            if (n == 0) break;
            t->n_lanes = n;
            for (int w = n; w < L; w++) {
                t->first[w] = t->first[n - 1];
                t->column[w] = t->column[n - 1];
            }
            t->chained = n == L && !t->wraps && t->first[0] > 0;
            for (int w = 0; w + 1 < n; w++)
                t->chained &= t->first[w + 1] == t->first[w] + p->lines[line].m + 1;
            NAME(set_line)(t, 0, &p->lines[line]);
            NAME(work_batch)(p, t, work, b, x, r);
        }
    }
}

static void NAME(set_columns)(const struct brick_patches *p, struct NAME(batch) * t, int y, int z) {
    t->column1 = y;
    t->column2 = z;
    NAME(set_line)(t, 1, &p->lines[p->axis[1].lines[y]]);
    NAME(set_line)(t, 2, &p->lines[p->axis[2].lines[z]]);
}

/* A step without residuals of the whole brick. A single thread goes through the columns in an order that
 * keeps what it touched in the caches; several share the columns of one colour in direction 1. */
static void NAME(sweep_pipelined)(const struct brick_patches *p, int backward, enum patch_work work,
                                  const REAL *b, REAL *x, REAL *scratch) {
    const struct brick_axis *ay = &p->axis[1], *az = &p->axis[2];
    const int threads = base_threads(), last = p->axis[0].n_colours - 1;
    const int64_t m = largest(p), own = NAME(batch_lanes)(m, p->cells->element[0].k + 1);
#pragma omp parallel num_threads(threads) if (threads > 1 && ay->n_columns > 3)
    {
        struct NAME(batch) t;
        const int self = omp_get_thread_num(), crew = omp_get_num_threads();
        NAME(batch_begin)(p, m, (LANE *)scratch + self * own, &t);
        for (int k = 0; k < az->n_columns; k++) {
            const int z = az->order[backward ? az->n_columns - 1 - k : k];
            for (int step = 0; step < (crew > 1 ? ay->n_colours : 1); step++) {
                const int colour = backward ? ay->n_colours - 1 - step : step;
                for (int j = 0, turn = 0; j < ay->n_columns; j++) {
                    const int y = ay->order[backward ? ay->n_columns - 1 - j : j];
                    if (crew > 1 && (ay->colour[y] != colour || turn++ % crew != self)) continue;
                    NAME(set_columns)(p, &t, y, z);
                    NAME(sweep_row)(p, &t, 0, last, backward, work, b, x, NULL);
                }
                if (crew > 1) {
#pragma omp barrier
                }
            }
        }
    }
}

/* All patches of one colour: corrections of x from the residuals b, or residuals of x with loads b into r. */
static void NAME(work_colour)(const struct brick_patches *p, const int step[3], int backward,
                              enum patch_work work, const REAL *b, REAL *x, REAL *r, REAL *scratch) {
    const struct brick_axis *ay = &p->axis[1], *az = &p->axis[2];
    const int threads = base_threads(), n = ay->n_columns * az->n_columns;
    const int want1 = backward ? ay->n_colours - 1 - step[1] : step[1],
              want2 = backward ? az->n_colours - 1 - step[2] : step[2];
    const int64_t m = largest(p), own = NAME(batch_lanes)(m, p->cells->element[0].k + 1);
#pragma omp parallel num_threads(threads) if (threads > 1 && n > 3)
    {
        struct NAME(batch) t;
        const int self = omp_get_thread_num();
        NAME(batch_begin)(p, m, (LANE *)scratch + self * own, &t);
#pragma omp for schedule(static)
        for (int i = 0; i < n; i++) {
            const int y = i % ay->n_columns, z = i / ay->n_columns;
            if (ay->colour[y] != want1 || az->colour[z] != want2) continue;
            NAME(set_columns)(p, &t, y, z);
            NAME(sweep_row)(p, &t, step[0], step[0], backward, work, b, x, r);
        }
    }
}

/* Colour by colour through the whole brick, with residuals in a vector. */
static void NAME(sweep_colours)(const struct brick_patches *p, int backward, const REAL *b, REAL *x,
                                REAL *scratch) {
    const int *colours = (const int[3]){p->axis[0].n_colours, p->axis[1].n_colours, p->axis[2].n_colours};
    REAL *r = scratch, *room = r + brick_whole_lanes(brick_n_nodes(p->cells));
    int step[3];
    if (p->variant == PATCH_ADDITIVE) NAME(brick_apply)(p->cells, -1, x, 1, b, r, room);
    for (step[2] = 0; step[2] < colours[2]; step[2]++)
        for (step[1] = 0; step[1] < colours[1]; step[1]++)
            for (step[0] = 0; step[0] < colours[0]; step[0]++) {
                if (p->variant == PATCH_GLOBAL) NAME(brick_apply)(p->cells, -1, x, 1, b, r, room);
                if (p->variant == PATCH_SEPARATE)
                    NAME(work_colour)(p, step, backward, WORK_RESIDUAL, b, x, r, room);
                NAME(work_colour)
                (p, step, backward, p->variant == PATCH_ADDITIVE ? WORK_WEIGHTED : WORK_CORRECT, r, x, NULL,
                 room);
            }
}

void NAME(patch_sweep)(const struct brick_patches *p, int backward, const REAL *b, REAL *x, REAL *scratch) {
    if (p->variant == PATCH_BOUNDARY || p->variant == PATCH_FUSED)
        NAME(sweep_pipelined)(p, backward, is_plain(p) ? WORK_FUSED : WORK_BOUNDARY, b, x, scratch);
    else
        NAME(sweep_colours)(p, backward, b, x, scratch);
}
