/* Rows of unknowns for vectors of type REAL, a group of L rows at a time: trace.c includes this once for each
 * precision, with NAME(what) the name of a function. */

/* The rows of a group: steps first .. end-1. */
INLINE void NAME(solve_group)(const struct row_plan *r, int64_t first, int64_t end, const REAL *x, REAL *y) {
    const int64_t *unknowns = r->unknowns;
    const lane *below = (const lane *)r->below, *inverse = (const lane *)r->inverse;
    lane *z = (lane *)r->z;
    for (int64_t p = first * L; p < end * L; p++) r->z[p] = unknowns[p] < 0 ? 0.0 : (double)x[unknowns[p]];
    for (int64_t s = first + 1; s < end; s++) z[s] -= below[s] * z[s - 1];
    z[end - 1] *= inverse[end - 1];
    for (int64_t s = end - 2; s >= first; s--) z[s] = z[s] * inverse[s] - below[s + 1] * z[s + 1];
    for (int64_t p = first * L; p < end * L; p++)
        if (unknowns[p] >= 0) y[unknowns[p]] += (REAL)r->z[p];
}

void NAME(row_solve)(const struct row_plan *r, const REAL *x, REAL *y) {
#pragma omp parallel for num_threads(base_threads_for(r->n_steps *L)) schedule(static)
    for (int64_t g = 0; g < r->n_groups; g++) NAME(solve_group)(r, r->starts[g], r->starts[g + 1], x, y);
}
