/* Between degrees for numbers of type REAL: level.c includes this once for each precision, with NAME(what)
 * the name of a function. */

void NAME(part_copy)(int64_t n_parts, int n_from, const REAL *from, double b, int n_to, REAL *to) {
    const REAL s = (REAL)b;
    for (int64_t p = 0; p < n_parts; p++)
        for (int i = 0; i < n_from && i < n_to; i++)
            to[p * n_to + i] = s == 0 ? from[p * n_from + i] : from[p * n_from + i] + s * to[p * n_to + i];
}

void NAME(corner_prolong)(int64_t n_faces, int dim, const int32_t *corners, const double *hats,
                          const REAL *coarse, REAL *fine) {
    for (int64_t f = 0; f < n_faces; f++)
        for (int i = 0; i < dim; i++) {
            REAL sum = 0;
            for (int j = 0; j < dim; j++)
                if (corners[f * dim + j] >= 0) sum += (REAL)hats[i * dim + j] * coarse[corners[f * dim + j]];
            fine[f * dim + i] += sum;
        }
}

void NAME(corner_restrict)(int64_t n_vertices, int dim, const int64_t *starts, const int32_t *places,
                           const double *hats, const REAL *fine, REAL *coarse) {
    for (int64_t v = 0; v < n_vertices; v++) {
        REAL sum = 0;
        for (int64_t k = starts[v]; k < starts[v + 1]; k++) {
            const int64_t face = places[k] / dim;
            for (int i = 0; i < dim; i++) sum += (REAL)hats[i * dim + places[k] % dim] * fine[face * dim + i];
        }
        coarse[v] = sum;
    }
}
