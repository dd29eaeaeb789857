/* The element-wise product for numbers of type REAL: trace.c includes this
 * once for each precision, with NAME(what) the name of a function. */

/* The place of entry (i, j) of a matrix of n rows: one triangle, or all of it. */
static int64_t NAME(place)(int n, int full, int i, int j) {
    if (full) return (int64_t)i * n + j;
    return i >= j ? (int64_t)i * (i + 1) / 2 + j : (int64_t)j * (j + 1) / 2 + i;
}

static void NAME(apply)(const struct cell_plan *plan, int full, const REAL *x, REAL *y) {
    const int L = plan->lanes;
    int n_faces = plan->n_faces, n = cell_plan_start(plan, n_faces);
    for (int64_t batch = 0; batch < plan->n_batches; batch++) {
        const REAL *matrix = (const REAL *)plan->matrices + batch * (full ? n * n : n * (n + 1) / 2) * L;
        const int64_t *map = plan->maps + batch * n_faces * L;
        for (int lane = 0; lane < L; lane++)
            for (int f = 0; f < n_faces; f++)
                for (int g = 0; g < n_faces; g++) {
                    int64_t row = map[f * L + lane] - cell_plan_start(plan, f),
                            column = map[g * L + lane] - cell_plan_start(plan, g);
                    if (map[f * L + lane] < 0 || map[g * L + lane] < 0) continue;
                    for (int i = cell_plan_start(plan, f); i < cell_plan_start(plan, f + 1); i++)
                        for (int j = cell_plan_start(plan, g); j < cell_plan_start(plan, g + 1); j++)
                            y[row + i] += matrix[NAME(place)(n, full, i, j) * L + lane] * x[column + j];
                }
    }
}

void NAME(cell_apply)(const struct cell_plan *plan, const REAL *x, REAL *y) {
    NAME(apply)(plan, 0, x, y);
}

void NAME(cell_apply_full)(const struct cell_plan *plan, const REAL *x, REAL *y) {
    NAME(apply)(plan, 1, x, y);
}
