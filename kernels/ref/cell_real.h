/* The element-wise product for numbers of type REAL: trace.c includes this
 * once for each precision, with NAME(what) the name of a function. */

/* The place of entry (i, j) of a matrix of n rows: one triangle, or all of it. */
static int64_t NAME(place)(int n, int full, int i, int j) {
    if (full) return (int64_t)i * n + j;
    return i >= j ? (int64_t)i * (i + 1) / 2 + j : (int64_t)j * (j + 1) / 2 + i;
}

/* What is taken off unknown j of a cell: the constant of its component, on the first face. */
static REAL NAME(constant)(const struct cell_plan *plan, int64_t batch, int lane, int j, const REAL *x) {
    if (plan->loose == NULL) return 0;
    int size = plan->m / plan->n_components, c = j % plan->m / size;
    int64_t first = plan->maps[batch * plan->n_faces * plan->lanes + lane];
    if (j % size != 0 || !(plan->loose[batch * plan->lanes + lane] >> c & 1) || first < 0) return 0;
    return x[first + c * size];
}

void NAME(cell_apply)(const struct cell_plan *plan, const REAL *x, REAL *y) {
    const int L = plan->lanes, full = plan->full;
    int n_faces = plan->n_faces, n = cell_plan_start(plan, n_faces);
    for (int64_t i = 0; i < plan->n_unknowns && plan->parts != 0 && plan->fresh; i++) y[i] = 0;
    for (int64_t k = 0; k < cell_plan_count(plan); k++) {
        const int64_t batch = cell_plan_batch(plan, k);
        const REAL *matrix = (const REAL *)plan->matrices + batch * (full ? n * n : n * (n + 1) / 2) * L;
        const int64_t *map = plan->maps + batch * n_faces * L;
        for (int lane = 0; lane < L; lane++)
            for (int f = 0; f < n_faces; f++)
                for (int g = 0; g < n_faces; g++) {
                    int64_t row = map[f * L + lane] - cell_plan_start(plan, f),
                            column = map[g * L + lane] - cell_plan_start(plan, g);
                    int there = map[g * L + lane] >= 0;
                    if (map[f * L + lane] < 0 || (!there && plan->loose == NULL)) continue;
                    for (int i = cell_plan_start(plan, f); i < cell_plan_start(plan, f + 1); i++)
                        for (int j = cell_plan_start(plan, g); j < cell_plan_start(plan, g + 1); j++)
                            y[row + i] +=
                                matrix[NAME(place)(n, full, i, j) * L + lane] *
                                ((there ? x[column + j] : 0) - NAME(constant)(plan, batch, lane, j, x));
                }
    }
}
