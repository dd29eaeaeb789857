/* Modes from nodes and back along lines of lanes, for numbers of type REAL (LANE: eight of them; NAME(what)
 * the name of a function). Symmetric lines keep their matrices in two blocks, for the sums and differences of
 * opposite nodes, which halves the work. */

/* out = C in; n is a constant wherever this is inlined, so that the inputs stay in registers. */
INLINE void NAME(block)(const int n, const REAL *C, const LANE *in, LANE *out) {
    int j = 0;
    for (; j + 4 <= n; j += 4, C += 4 * n) {
        LANE s0 = C[0] * in[0], s1 = C[n] * in[0], s2 = C[2 * n] * in[0], s3 = C[3 * n] * in[0];
#pragma GCC unroll 32
        for (int i = 1; i < n; i++) {
            s0 += C[i] * in[i];
            s1 += C[n + i] * in[i];
            s2 += C[2 * n + i] * in[i];
            s3 += C[3 * n + i] * in[i];
        }
        out[j] = s0;
        out[j + 1] = s1;
        out[j + 2] = s2;
        out[j + 3] = s3;
    }
    if (j + 2 <= n) {
        LANE s0 = C[0] * in[0], s1 = C[n] * in[0];
#pragma GCC unroll 32
        for (int i = 1; i < n; i++) {
            s0 += C[i] * in[i];
            s1 += C[n + i] * in[i];
        }
        out[j] = s0;
        out[j + 1] = s1;
        j += 2;
        C += 2 * n;
    }
    if (j < n) {
        LANE s0 = C[0] * in[0];
#pragma GCC unroll 32
        for (int i = 1; i < n; i++) s0 += C[i] * in[i];
        out[j] = s0;
    }
}

/* Modes from the nodes of one symmetric line, the first (m + 1) / 2 even. */
INLINE void NAME(to_modes)(const int m, const REAL *C, int64_t stride, const LANE *in, int64_t out_stride,
                           LANE *out) {
    LANE x[BRICK_MAX_FREE + 3], y[BRICK_MAX_FREE + 3];
    const int even = (m + 1) / 2, odd = m / 2;
#pragma GCC unroll 32
    for (int i = 0; i < odd; i++) {
        const LANE a = in[i * stride], b = in[(m - 1 - i) * stride];
        x[i] = a + b;
        x[even + i] = a - b;
    }
    if (even > odd) x[odd] = in[odd * stride];
    NAME(block)(even, C, x, y);
    if (odd > 0) NAME(block)(odd, C + even * even, x + even, y + even);
#pragma GCC unroll 32
    for (int i = 0; i < m; i++) out[i * out_stride] = y[i];
}

/* Nodes from the modes of one line. */
INLINE void NAME(to_nodes)(const int m, const REAL *C, int64_t stride, const LANE *in, int64_t out_stride,
                           LANE *out) {
    LANE x[BRICK_MAX_FREE + 3], y[BRICK_MAX_FREE + 3];
#pragma GCC unroll 32
    for (int i = 0; i < m; i++) x[i] = in[i * stride];
    const int even = (m + 1) / 2, odd = m / 2;
    NAME(block)(even, C, x, y);
    if (odd > 0) NAME(block)(odd, C + even * even, x + even, y + even);
#pragma GCC unroll 32
    for (int i = 0; i < odd; i++) {
        out[i * out_stride] = y[i] + y[even + i];
        out[(m - 1 - i) * out_stride] = y[i] - y[even + i];
    }
    if (even > odd) out[odd * out_stride] = y[odd];
}
