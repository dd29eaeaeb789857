/* Between degrees for numbers of type REAL: level.c includes this once for each precision, with NAME(what)
 * the name of a function. */

void NAME(part_copy)(int64_t n_parts, int n_from, const REAL *from, double b, int n_to, REAL *to) {
    const int n = n_from < n_to ? n_from : n_to;
    const REAL s = (REAL)b;
#pragma omp parallel for num_threads(base_threads_for(n_parts *n)) schedule(static)
    for (int64_t p = 0; p < n_parts; p++) {
        const REAL *x = from + p * n_from;
        REAL *y = to + p * n_to;
        for (int i = 0; i < n; i++) y[i] = s == 0 ? x[i] : x[i] + s * y[i];
    }
}
