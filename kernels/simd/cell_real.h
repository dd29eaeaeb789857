/* The element-wise product for numbers of type REAL: trace.c includes this
 * once for each precision, with NAME(what) the name of a function, LANE eight numbers and LANES(what) a
 * function of lane.h for them. */

/* Whether all lanes of a face have unknowns. */
INLINE int NAME(all_there)(const int64_t *map) {
    int64_t sign = 0;
    for (int w = 0; w < L; w++) sign |= map[w];
    return sign >= 0;
}

/* n <= 4 numbers of one face of the cells of a batch into lanes: a row of four from every cell, and rows
 * become columns in registers. */
INLINE void NAME(gather_few)(int n, int all, const int64_t *map, const REAL *x, LANE *local) {
#if WIDTH >= 4
    EACH_PART(p) {
        FOUR row[WIDTH];
        PACKET a[4];
        for (int w = 0; w < WIDTH; w++) {
            int64_t at = map[p * WIDTH + w];
            row[w] = all || at >= 0 ? LANES(read)(n, x + at) : (FOUR){0};
        }
        for (int k = 0; k < 4; k++) a[k] = LANES(join)(row[k], row[k + WIDTH - 4]);
        LANES(turn)(a);
        for (int k = 0; k < n; k++) ((PACKET *)(local + k))[p] = a[k];
    }
#else
    for (int w = 0; w < L; w++)
        for (int i = 0; i < n; i++) local[i][w] = all || map[w] >= 0 ? x[map[w] + i] : 0;
#endif
}

/* Lanes added to unknowns: two cells of a batch may have a face in common. */
INLINE void NAME(scatter_few)(int n, int all, const int64_t *map, const LANE *local, REAL *y) {
#if WIDTH >= 4
    EACH_PART(p) {
        PACKET a[4] = {{0}};
        for (int k = 0; k < n; k++) a[k] = ((const PACKET *)(local + k))[p];
        LANES(turn)(a);
        for (int w = 0; w < WIDTH; w++) {
            int64_t at = map[p * WIDTH + w];
            if (all || at >= 0) LANES(add)(n, y + at, LANES(half_of)(a[w % 4], w / 4));
        }
    }
#else
    for (int w = 0; w < L; w++)
        for (int i = 0; i < n && (all || map[w] >= 0); i++) y[map[w] + i] += local[i][w];
#endif
}

/* The m numbers of a face, with `all` and what is left of fours as constants where they are inlined. */
#define EACH_FEW(what)                                                                                       \
    int i = 0;                                                                                               \
    for (; i + 4 <= m; i += 4) what(4);                                                                      \
    if (m - i == 3)                                                                                          \
        what(3);                                                                                             \
    else if (m - i == 2)                                                                                     \
        what(2);                                                                                             \
    else if (m - i == 1)                                                                                     \
    what(1)

INLINE void NAME(gather_face)(int m, const int64_t *map, const REAL *x, LANE *local) {
#define GATHER(n)      NAME(gather_few)(n, 1, map, x + i, local + i)
#define GATHER_SOME(n) NAME(gather_few)(n, 0, map, x + i, local + i)
    if (NAME(all_there)(map)) {
        EACH_FEW(GATHER);
    } else {
        EACH_FEW(GATHER_SOME);
    }
#undef GATHER
#undef GATHER_SOME
}

INLINE void NAME(scatter_face)(int m, const int64_t *map, const LANE *local, REAL *y) {
#define SCATTER(n)      NAME(scatter_few)(n, 1, map, local + i, y + i)
#define SCATTER_SOME(n) NAME(scatter_few)(n, 0, map, local + i, y + i)
    if (NAME(all_there)(map)) {
        EACH_FEW(SCATTER);
    } else {
        EACH_FEW(SCATTER_SOME);
    }
#undef SCATTER
#undef SCATTER_SOME
}
#undef EACH_FEW

INLINE void NAME(gather)(const struct cell_plan *plan, const int64_t *map, const REAL *x, LANE *local) {
    for (int f = 0; f < plan->n_faces; f++, map += L) {
        int first = cell_plan_start(plan, f), m = cell_plan_start(plan, f + 1) - first;
        NAME(gather_face)(m, map, x, local + first);
    }
}

/* The constants of loose components, as they are on the first face, are taken off all faces. */
INLINE void NAME(take_constants)(const struct cell_plan *plan, int64_t batch, LANE *local) {
    typedef uint8_t bytes __attribute__((vector_size(L)));
    typedef __typeof__(local[0] == local[0]) bits;
    const bits loose = __builtin_convertvector(*(const bytes *)(plan->loose + batch * L), bits);
    int size = plan->m / plan->n_components;
    for (int c = 0; c < plan->n_components; c++) {
        LANE constant = (LANE)((bits)local[c * size] & -(loose >> c & 1));
        for (int f = 0; f < plan->n_faces; f++) local[f * plan->m + c * size] -= constant;
    }
}

INLINE void NAME(scatter)(const struct cell_plan *plan, const int64_t *map, const LANE *local, REAL *y) {
    for (int f = 0; f < plan->n_faces; f++, map += L) {
        int first = cell_plan_start(plan, f), m = cell_plan_start(plan, f + 1) - first;
        NAME(scatter_face)(m, map, local + first, y);
    }
}

/* Both uses of every entry of one triangle, row after row: only where memory is read in strictly ascending
 * order does the processor fetch ahead at full speed; several rows at once, or prefetch instructions, halve
 * it. By registers: the compiler keeps vectors that are wider in memory. */
INLINE void NAME(symmetric_product)(int n, const LANE *matrix, const LANE *from, LANE *to) {
    const PACKET *K = (const PACKET *)matrix, *x = (const PACKET *)from;
    PACKET *y = (PACKET *)to;
    for (int i = 0; i < n; i++, K += i * PARTS) {
        PACKET xi[PARTS], even[PARTS], odd[PARTS];
        int j = 0;
        for (int p = 0; p < PARTS; p++) {
            xi[p] = x[i * PARTS + p];
            even[p] = odd[p] = (PACKET){0};
        }
        for (; j + 2 <= i; j += 2)
            for (int p = 0; p < PARTS; p++) {
                int a = j * PARTS + p, b = a + PARTS;
                PACKET k0 = *(const volatile PACKET *)(K + a); /* loaded once, not once for every use */
                PACKET k1 = *(const volatile PACKET *)(K + b);
                even[p] += k0 * x[a];
                odd[p] += k1 * x[b];
                y[a] += k0 * xi[p];
                y[b] += k1 * xi[p];
            }
        for (int p = 0; p < PARTS; p++) {
            int a = j * PARTS + p, b = i * PARTS + p;
            if (j < i) {
                even[p] += K[a] * x[a];
                y[a] += K[a] * xi[p];
            }
            y[b] = even[p] + odd[p] + K[b] * xi[p];
        }
    }
}

INLINE void NAME(full_product)(int n, const LANE *matrix, const LANE *from, LANE *to) {
    const PACKET *K = (const PACKET *)matrix, *x = (const PACKET *)from;
    PACKET *y = (PACKET *)to;
    for (int i = 0; i < n; i++, K += n * PARTS) {
        PACKET even[PARTS], odd[PARTS];
        int j = 0;
        for (int p = 0; p < PARTS; p++) even[p] = odd[p] = (PACKET){0};
        for (; j + 2 <= n; j += 2)
            for (int p = 0; p < PARTS; p++) {
                even[p] += K[j * PARTS + p] * x[j * PARTS + p];
                odd[p] += K[(j + 1) * PARTS + p] * x[(j + 1) * PARTS + p];
            }
        for (int p = 0; p < PARTS; p++) {
            if (j < n) even[p] += K[j * PARTS + p] * x[j * PARTS + p];
            y[i * PARTS + p] = even[p] + odd[p];
        }
    }
}

/* Batches begin .. end-1 of the list. */
INLINE void NAME(take_run)(const struct cell_plan *plan, int full, int64_t begin, int64_t end, const REAL *x,
                           REAL *y) {
    int n_faces = plan->n_faces, n = cell_plan_start(plan, n_faces);
    int64_t size = full ? (int64_t)n * n : (int64_t)n * (n + 1) / 2;
    LANE *const in = cell_room(plan), *const out = in + n + L;
    for (int64_t b = begin; b < end; b++) {
        int64_t batch = plan->colour_batches[b];
        const int64_t *map = plan->maps + batch * n_faces * L;
        const LANE *K = (const LANE *)plan->matrices + batch * size;
        NAME(gather)(plan, map, x, in);
        if (plan->loose != NULL) NAME(take_constants)(plan, batch, in);
        if (full)
            NAME(full_product)(n, K, in, out);
        else
            NAME(symmetric_product)(n, K, in, out);
        NAME(scatter)(plan, map, out, y);
    }
}
/* The same for cells of few unknowns, m on each of n_faces faces, both constants where this is inlined: what
 * is gathered and summed stays in registers. */
#define SMALL_CELL 15
INLINE void NAME(small_product)(int n, const LANE *matrix, const LANE *from, LANE *to) {
    EACH_PART(p) {
        PACKET x[SMALL_CELL], y[SMALL_CELL];
        const PACKET *K = (const PACKET *)matrix + p;
        for (int i = 0; i < n; i++) x[i] = ((const PACKET *)(from + i))[p];
        _Pragma("GCC unroll 15") for (int i = 0; i < n; i++) {
            y[i] = K[(i * (i + 3) / 2) * PARTS] * x[i];
            _Pragma("GCC unroll 15") for (int j = 0; j < n; j++) {
                if (j >= i) continue;
                PACKET k = K[(i * (i + 1) / 2 + j) * PARTS];
                y[i] += k * x[j];
                y[j] += k * x[i];
            }
        }
        for (int i = 0; i < n; i++) ((PACKET *)(to + i))[p] = y[i];
    }
}

INLINE void NAME(take_small)(const struct cell_plan *plan, int n_faces, int m, int64_t begin, int64_t end,
                             const REAL *x, REAL *y) {
    const int n = n_faces * m;
    for (int64_t b = begin; b < end; b++) {
        int64_t batch = plan->colour_batches[b];
        const int64_t *map = plan->maps + batch * n_faces * L;
        LANE in[SMALL_CELL], out[SMALL_CELL];
        for (int f = 0; f < n_faces; f++) NAME(gather_face)(m, map + f * L, x, in + f * m);
        if (plan->loose != NULL) NAME(take_constants)(plan, batch, in);
        NAME(small_product)(n, (const LANE *)plan->matrices + batch * (n * (n + 1) / 2), in, out);
        for (int f = 0; f < n_faces; f++) NAME(scatter_face)(m, map + f * L, out + f * m, y);
    }
}

static void NAME(take_symmetric)(const struct cell_plan *plan, int64_t begin, int64_t end, const REAL *x,
                                 REAL *y) {
    int m = plan->starts == NULL ? plan->m : 0;
    if (plan->n_faces == 3 && m == 2)
        NAME(take_small)(plan, 3, 2, begin, end, x, y);
    else if (plan->n_faces == 3 && m == 3)
        NAME(take_small)(plan, 3, 3, begin, end, x, y);
    else if (plan->n_faces == 3 && m == 4)
        NAME(take_small)(plan, 3, 4, begin, end, x, y);
    else if (plan->n_faces == 3 && m == 5)
        NAME(take_small)(plan, 3, 5, begin, end, x, y);
    else if (plan->n_faces == 4 && m == 3)
        NAME(take_small)(plan, 4, 3, begin, end, x, y);
    else
        NAME(take_run)(plan, 0, begin, end, x, y);
}
static void NAME(take_full)(const struct cell_plan *plan, int64_t begin, int64_t end, const REAL *x,
                            REAL *y) {
    NAME(take_run)(plan, 1, begin, end, x, y);
}

/* A barrier keeps colours apart. Threads that share a memory are never equally fast: each has its share of
 * the runs of a colour, in order and the same in every product, and helps the others when it is through. */
static void NAME(all_runs)(const struct cell_plan *plan, const REAL *x, REAL *y,
                           void (*take)(const struct cell_plan *, int64_t, int64_t, const REAL *, REAL *)) {
    struct run_share shares[MAX_SHARES];
    const int64_t n = cell_plan_start(plan, plan->n_faces), points = plan->n_batches * (n * (n + 1) / 2);
    const int most = cell_threads(plan),
              wanted = base_threads_again(points / (1 + plan->n_colours)); /* to each barrier */
#pragma omp parallel num_threads(wanted < most ? wanted : most)
    {
        const int self = omp_get_thread_num(), team = omp_get_num_threads(),
                  n_shares = team < MAX_SHARES ? team : MAX_SHARES;
        for (int i = 0; i < 2 && self < n_shares; i++) atomic_init(&shares[self].taken[i], 0);
#pragma omp barrier
        for (int colour = 0; colour < plan->n_colours; colour++) {
            const int64_t first = plan->colour_starts[colour], last = plan->colour_starts[colour + 1],
                          run = plan->run, n_runs = (last - first + run - 1) / run;
            if (self < n_shares) atomic_store(&shares[self].taken[(colour + 1) % 2], 0);
            for (int k = 0; k < n_shares; k++) {
                const int s = (self + k) % n_shares;
                const int64_t begin = n_runs * s / n_shares, end = n_runs * (s + 1) / n_shares;
                for (int64_t i; (i = next_run(&shares[s].taken[colour % 2], begin, end)) < end;) {
                    const int64_t from = first + i * run;
                    take(plan, from, from + run < last ? from + run : last, x, y);
                }
            }
#pragma omp barrier
        }
    }
}

void NAME(cell_apply)(const struct cell_plan *plan, const REAL *x, REAL *y) {
    NAME(all_runs)(plan, x, y, plan->full ? NAME(take_full) : NAME(take_symmetric));
}

/* ------------------------------------------------------------------------------- blocks of faces */

/* out (rows of m numbers, one block each) from lanes. */
INLINE void NAME(put_rows)(int m, const LANE *local, REAL *out) {
    for (int i = 0; i < m; i += L) {
        LANE rows[L];
        for (int k = 0; k < L; k++) rows[k] = local[i + k];
        LANES(transpose)(rows);
        for (int w = 0; w < L; w++) LANES(store)(m - i, out + w * m + i, rows[w]);
    }
}

/* Blocks of one batch, `count` of them, from unknown 0 of these arrays on. */
INLINE void NAME(smooth_batch)(int count, int m, const LANE *K, REAL a, REAL b, REAL c, const REAL *f,
                               const REAL *t, REAL *r, REAL *d, REAL *x) {
    _Alignas(64) LANE in[KERNEL_LANE_ROWS + L], out[KERNEL_LANE_ROWS + L];
    REAL *const residual = (REAL *)out, *const found = (REAL *)in; /* each is done with when it is taken */
    const int n = count * m;
    int64_t map[L];
    for (int i = 0; i < n; i++) residual[i] = t != 0 ? f[i] - t[i] : f[i];
    for (int i = 0; i < n && r != 0; i++) r[i] = residual[i];
    for (int w = 0; w < L; w++) map[w] = w < count ? w * m : -1;
    NAME(gather_face)(m, map, residual, in);
    NAME(symmetric_product)(m, K, in, out);
    NAME(put_rows)(m, out, found);
    for (int i = 0; i < n; i++) d[i] = b == 0 ? a * found[i] : a * found[i] + b * d[i];
    for (int i = 0; i < n && x != 0; i++) x[i] = c == 0 ? d[i] : c * x[i] + d[i];
}

void NAME(lane_smooth)(int lanes, int64_t n_blocks, int m, const REAL *matrices, double a, double b, double c,
                       const REAL *f, const REAL *t, REAL *r, REAL *d, REAL *x) {
    (void)lanes;
#pragma omp parallel for num_threads(base_threads_again(n_blocks / L * m * (m + 1) / 2)) schedule(static)
    for (int64_t k = 0; k < n_blocks; k += L) {
        const LANE *K = (const LANE *)matrices + k / L * (m * (m + 1) / 2);
        int64_t at = k * m;
        NAME(smooth_batch)
        (n_blocks - k < L ? (int)(n_blocks - k) : L, m, K, (REAL)a, (REAL)b, (REAL)c, f + at,
         t != 0 ? t + at : 0, r != 0 ? r + at : 0, d + at, x != 0 ? x + at : 0);
    }
}
