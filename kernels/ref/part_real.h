/* Between degrees for numbers of type REAL: level.c includes this once for each precision, with NAME(what)
 * the name of a function. */

void NAME(part_prolong)(int64_t n_parts, int m, int low, const REAL *coarse, REAL *fine) {
    for (int64_t p = 0; p < n_parts; p++)
        for (int i = 0; i < low; i++) fine[p * m + i] += coarse[p * low + i];
}

void NAME(part_restrict)(int64_t n_parts, int m, int low, const REAL *fine, REAL *coarse) {
    for (int64_t p = 0; p < n_parts; p++)
        for (int i = 0; i < low; i++) coarse[p * low + i] = fine[p * m + i];
}
