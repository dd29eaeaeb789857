/* The element-wise product for numbers of type REAL: trace.c includes this
 * once for each precision, with NAME(what) the name of a function. */

/* Entry (i, j) of a lane's symmetric matrix. */
static REAL NAME(entry)(const REAL *matrix, int i, int j, int lane) {
    int64_t at = i >= j ? (int64_t)i * (i + 1) / 2 + j : (int64_t)j * (j + 1) / 2 + i;
    return matrix[at * L + lane];
}

void NAME(cell_apply)(const struct cell_plan *plan, const REAL *x, REAL *y) {
    int m = plan->m, n = plan->n_faces * m;
    for (int64_t batch = 0; batch < plan->n_batches; batch++) {
        const REAL *matrix = (const REAL *)plan->matrices + batch * (n * (n + 1) / 2) * L;
        const int64_t *map = plan->maps + batch * plan->n_faces * L;
        for (int lane = 0; lane < L; lane++)
            for (int i = 0; i < n; i++) {
                int64_t row = map[i / m * L + lane];
                for (int j = 0; j < n && row >= 0; j++) {
                    int64_t column = map[j / m * L + lane];
                    if (column >= 0) y[row + i % m] += NAME(entry)(matrix, i, j, lane) * x[column + j % m];
                }
            }
    }
}
