/* Rows of unknowns for vectors of type REAL: trace.c includes this once for each precision, with NAME(what)
 * the name of a function. */

void NAME(row_solve)(const struct row_plan *plan, const REAL *x, REAL *y) {
    const int L = plan->lanes;
    for (int64_t row = 0; row < plan->n_groups * L; row++) {
        int64_t begin = plan->starts[row / L] * L + row % L, end = plan->starts[row / L + 1] * L + row % L;
        double *z = plan->z;
        for (int64_t p = begin; p < end; p += L) {
            z[p] = plan->unknowns[p] >= 0 ? (double)x[plan->unknowns[p]] : 0.0;
            if (p > begin) z[p] -= plan->below[p] * z[p - L];
        }
        for (int64_t p = end - L; p >= begin; p -= L) {
            z[p] *= plan->inverse[p];
            if (p + L < end) z[p] -= plan->below[p + L] * z[p + L];
            if (plan->unknowns[p] >= 0) y[plan->unknowns[p]] += (REAL)z[p];
        }
    }
}
