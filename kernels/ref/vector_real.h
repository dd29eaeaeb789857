/* Vector and matrix kernels for numbers of type REAL: vector.c includes this once for each precision, with
 * NAME(what) the name of a kernel. */

void NAME(fill)(int64_t n, double a, REAL *x) {
    for (int64_t i = 0; i < n; i++) x[i] = (REAL)a;
}

void NAME(axpby)(int64_t n, double a, const REAL *x, double b, REAL *y) {
    const REAL s = (REAL)a, t = (REAL)b;
    for (int64_t i = 0; i < n; i++) y[i] = t == 0 ? s * x[i] : s * x[i] + t * y[i];
}

void NAME(multiply)(int64_t n, const REAL *d, const REAL *x, REAL *y) {
    for (int64_t i = 0; i < n; i++) y[i] = d[i] * x[i];
}

double NAME(dot)(int64_t n, const REAL *x, const REAL *y) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

void NAME(narrow)(int64_t n, const double *x, REAL *y) {
    for (int64_t i = 0; i < n; i++) y[i] = (REAL)x[i];
}

void NAME(widen)(int64_t n, const REAL *x, double b, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = b == 0.0 ? x[i] : x[i] + b * y[i];
}

void NAME(take_entries)(int64_t n, const int64_t *places, const REAL *x, REAL *values) {
    for (int64_t i = 0; i < n; i++) values[i] = x[places[i]];
}

void NAME(put_entries)(int64_t n, const int64_t *places, const REAL *values, double b, REAL *x) {
    const REAL s = (REAL)b;
    for (int64_t i = 0; i < n; i++)
        x[places[i]] = (values != NULL ? values[i] : 0) + (s == 0 ? 0 : s * x[places[i]]);
}

void NAME(csr_apply)(int64_t n_rows, const int64_t *offsets, const int32_t *columns, const REAL *values,
                     const REAL *x, REAL *y) {
    for (int64_t i = 0; i < n_rows; i++) {
        REAL sum = 0;
        for (int64_t k = offsets[i]; k < offsets[i + 1]; k++) sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}

void NAME(block_smooth)(int64_t n_blocks, const int64_t *first, const int64_t *starts, const REAL *matrices,
                        double a, double b, double c, const REAL *f, const REAL *t, REAL *r, REAL *d,
                        REAL *x) {
    const REAL of_new = (REAL)a, of_old = (REAL)b, of_x = (REAL)c;
    for (int64_t k = 0; k < n_blocks; k++) {
        int64_t begin = first[k], n = first[k + 1] - begin;
        const REAL *B = matrices + starts[k];
        for (int64_t i = begin; i < begin + n && r != 0; i++) r[i] = t != 0 ? f[i] - t[i] : f[i];
        for (int64_t i = 0; i < n; i++) {
            REAL sum = 0, *di = d + begin + i;
            for (int64_t j = 0; j < n; j++) sum += B[j * n + i] * (r != 0 ? r : f)[begin + j];
            *di = of_old == 0 ? of_new * sum : of_new * sum + of_old * *di;
            if (x != 0) x[begin + i] = of_x == 0 ? *di : of_x * x[begin + i] + *di;
        }
    }
}

void NAME(lane_smooth)(int lanes, int64_t n_blocks, int m, const REAL *matrices, double a, double b, double c,
                       const REAL *f, const REAL *t, REAL *r, REAL *d, REAL *x) {
    const REAL of_new = (REAL)a, of_old = (REAL)b, of_x = (REAL)c;
    for (int64_t k = 0; k < n_blocks; k++) {
        const REAL *B = matrices + k / lanes * (m * (m + 1) / 2) * lanes + k % lanes;
        REAL residual[KERNEL_LANE_ROWS];
        for (int i = 0; i < m; i++) {
            residual[i] = t != 0 ? f[k * m + i] - t[k * m + i] : f[k * m + i];
            if (r != 0) r[k * m + i] = residual[i];
        }
        for (int i = 0; i < m; i++) {
            REAL sum = 0, *di = d + k * m + i;
            for (int j = 0; j < m; j++)
                sum += B[(i > j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i) * lanes] * residual[j];
            *di = of_old == 0 ? of_new * sum : of_new * sum + of_old * *di;
            if (x != 0) x[k * m + i] = of_x == 0 ? *di : of_x * x[k * m + i] + *di;
        }
    }
}
