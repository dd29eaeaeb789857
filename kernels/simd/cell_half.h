/* The element-wise product with matrices in 16 bits (struct cell_plan says how they are made up): half the
 * bytes of single precision. Included by trace.c after the products in single precision, whose gather and
 * scatter it uses. */
#ifdef __F16C__
#    include <immintrin.h>
#endif

typedef uint16_t lane_half __attribute__((vector_size(L * sizeof(uint16_t))));
typedef uint32_t lane_bits __attribute__((vector_size(L * sizeof(uint32_t))));

INLINE lane_single half_to_lane(lane_half half) {
#ifdef __F16C__
    return (lane_single)_mm256_cvtph_ps((__m128i)half);
#else /* as half_widen */
    lane_bits bits = __builtin_convertvector(half, lane_bits);
    lane_single size = (lane_single)((bits & 0x7fff) << 13) * 0x1p112f;
    return (lane_single)((lane_bits)size | (bits & 0x8000) << 16);
#endif
}

INLINE lane_single half_powers(lane_half power) {
    return (lane_single)(__builtin_convertvector(power, lane_bits) << 16);
}

/* Two columns: one register of AVX-512, else two. */
#ifdef __AVX512F__
typedef float half_columns __attribute__((vector_size(2 * L * sizeof(float)), may_alias));
#    define HALF_REGISTERS 1
INLINE half_columns half_read(const lane_half *A) {
    return (half_columns)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)A));
}
INLINE half_columns half_both(lane_single x) {
    return (half_columns)_mm512_broadcast_f64x4((__m256d)x);
}
INLINE lane_single half_sum(const half_columns *sum) {
    return (lane_single)_mm256_add_ps(_mm512_castps512_ps256((__m512)*sum),
                                      (__m256)_mm512_extractf64x4_pd((__m512d)*sum, 1));
}
#else
typedef lane_single half_columns;
#    define HALF_REGISTERS 2
INLINE half_columns half_read(const lane_half *A) {
    return half_to_lane(*A);
}
INLINE half_columns half_both(lane_single x) {
    return x;
}
INLINE lane_single half_sum(const half_columns *sum) {
    return sum[0] + sum[1];
}
#endif

/* y = A x, both uses of every entry of one triangle, `rows` (1 or 2) rows from i, which is even, on: two read
 * and write y once. */
INLINE void half_rows(int rows, int i, const lane_half *A, const lane_single *x, lane_single *y) {
    half_columns xi[2], sum[2][HALF_REGISTERS];
    for (int r = 0; r < rows; r++) {
        xi[r] = half_both(x[i + r]);
        for (int p = 0; p < HALF_REGISTERS; p++) sum[r][p] = (half_columns){0};
    }
    for (int j = 0; j < i; j += 2) {
        const half_columns *from = (const half_columns *)(x + j);
        half_columns *to = (half_columns *)(y + j);
        for (int p = 0; p < HALF_REGISTERS; p++) {
            half_columns value = to[p];
            for (int r = 0; r < rows; r++) {
                half_columns k = half_read(A + rows * j + 2 * r + p);
                sum[r][p] += k * from[p];
                value += k * xi[r];
            }
            to[p] = value;
        }
    }
    A += rows * i;
    for (int r = 0; r < rows; r++) y[i + r] = half_sum(sum[r]) + half_to_lane(A[2 * r]) * x[i + r];
    if (rows == 2) {
        lane_single k = half_to_lane(A[1]);
        y[i] += k * x[i + 1];
        y[i + 1] += k * x[i];
    }
}

INLINE void half_product(int n, const lane_half *A, const lane_single *x, lane_single *y) {
    int i = 0;
    for (; i + 2 <= n; i += 2) {
        half_rows(2, i, A, x, y);
        A += 2 * i + 3;
    }
    if (i < n) half_rows(1, i, A, x, y);
}

/* x becomes S x; then y = A x with what restores constants; then y becomes S y. */
INLINE void half_cell(const struct cell_plan *plan, int n, const lane_half *matrix, lane_single *x,
                      lane_single *y) {
    const lane_half *s = matrix, *e = s + n, *A = e + n;
    lane_single u[KERNEL_CELL_FACES], sum = {0}, square = {0}, ux = {0}, eu = {0}, ex = {0};
    for (int i = 0; i < n; i++) {
        x[i] *= half_powers(s[i]);
        ex += half_to_lane(e[i]) * x[i];
    }
    for (int f = 0; f < plan->n_faces; f++) {
        int i = cell_plan_start(plan, f);
        u[f] = (lane_single){0};
        if (i == cell_plan_start(plan, f + 1)) continue;
        u[f] = plan->ones[f] * half_powers(s[i]);
        sum += u[f];
        square += u[f] * u[f];
        ux += u[f] * x[i];
        eu += u[f] * half_to_lane(e[i]);
    }
    half_product(n, A, x, y);
    lane_single h = (float)HALF_UNIT * sum, inverse = 1.0f / square, along = ux * inverse, g = h * along;
    lane_single rest = h * (ex - eu * along) * inverse;
    for (int f = 0; f < plan->n_faces; f++)
        if (cell_plan_start(plan, f) < cell_plan_start(plan, f + 1))
            y[cell_plan_start(plan, f)] += u[f] * rest;
    for (int i = 0; i < n; i++) y[i] = half_powers(s[i]) * (y[i] + half_to_lane(e[i]) * g);
}

/* Loops over components and rotations come apart, so that what they index stays in registers. */
#define EACH_AXIS(c, n) _Pragma("GCC unroll 6") for (int c = 0; c < (n); c++)

/* t += U'v of the functions i of face f; x: their coordinates, v and s (scales): `size` apart. */
INLINE void half_gather_motion(int dim, int size, int constant, float one, const lane_single *s,
                               const lane_single *v, const float *X, lane_single *t) {
    lane_single z[3], x[3];
    EACH_AXIS(c, dim) {
        z[c] = s[c * size] * v[c * size];
        x[c] = lane_load_single(L, X + c * L);
        if (constant) t[c] += one * z[c];
    }
    EACH_AXIS(k, motion_turns(dim))
    t[dim + k] +=
        z[motion_to(dim, k)] * x[motion_from(dim, k)] - z[motion_from(dim, k)] * x[motion_to(dim, k)];
}

/* v -= U w of them. */
INLINE void half_take_motion(int dim, int size, int constant, float one, const lane_single *s,
                             const lane_single *w, const float *X, lane_single *v) {
    lane_single z[3], x[3];
    EACH_AXIS(c, dim) {
        x[c] = lane_load_single(L, X + c * L);
        z[c] = constant ? one * w[c] : (lane_single){0};
    }
    EACH_AXIS(k, motion_turns(dim)) {
        z[motion_to(dim, k)] += w[dim + k] * x[motion_from(dim, k)];
        z[motion_from(dim, k)] -= w[dim + k] * x[motion_to(dim, k)];
    }
    EACH_AXIS(c, dim) v[c * size] -= s[c * size] * z[c];
}

/* v = (I - U G U') v, of displacements of dim components on faces of `near` functions of degree 1; X and G:
 * floats in lanes, s: scales. */
INLINE void half_project(const struct cell_plan *plan, int dim, int near, const lane_single *s,
                         const float *X, const float *G, lane_single *v) {
    const int m = plan->m, size = m / dim, n = dim * (dim + 1) / 2;
    lane_single t[6], w[6];
    EACH_AXIS(k, n) t[k] = w[k] = (lane_single){0};
    for (int f = 0; f < plan->n_faces; f++)
        _Pragma("GCC unroll 4") for (int i = 0; i < near; i++) half_gather_motion(
            dim, size, i == 0, plan->ones[f], s + f * m + i, v + f * m + i, X + (f * near + i) * dim * L, t);
    EACH_AXIS(k, n)
    EACH_AXIS(j, k + 1) {
        lane_single g = lane_load_single(L, G + (k * (k + 1) / 2 + j) * L);
        w[k] += g * t[j];
        if (j < k) w[j] += g * t[k];
    }
    for (int f = 0; f < plan->n_faces; f++)
        _Pragma("GCC unroll 4") for (int i = 0; i < near; i++) half_take_motion(
            dim, size, i == 0, plan->ones[f], s + f * m + i, w, X + (f * near + i) * dim * L, v + f * m + i);
}

/* The flux h'x of a cell, and y += flux h; h: floats in lanes. */
INLINE lane_single half_flux(const struct cell_plan *plan, int dim, int near, const float *h,
                             const lane_single *x) {
    const int size = plan->m / dim;
    lane_single flux = {0};
    for (int f = 0; f < plan->n_faces; f++)
        for (int i = 0; i < near; i++) {
            const float *part = h + (f * near + i) * dim * L;
            EACH_AXIS(c, dim) flux += lane_load_single(L, part + c * L) * x[f * plan->m + c * size + i];
        }
    return flux;
}
INLINE void half_add_flux(const struct cell_plan *plan, int dim, int near, const float *h, lane_single flux,
                          lane_single *y) {
    const int size = plan->m / dim;
    for (int f = 0; f < plan->n_faces; f++)
        for (int i = 0; i < near; i++) {
            const float *part = h + (f * near + i) * dim * L;
            EACH_AXIS(c, dim) y[f * plan->m + c * size + i] += lane_load_single(L, part + c * L) * flux;
        }
}

/* As half_cell, for displacements. scales: room. */
INLINE void half_motions(const struct cell_plan *plan, int dim, int near, int n, const lane_half *matrix,
                         lane_single *x, lane_single *scales, lane_single *y) {
    const lane_half *s = matrix, *A = s + n + 2 * cell_plan_floats(plan);
    const float *X = (const float *)(const void *)(s + n), *G = X + plan->n_faces * near * dim * L,
                *h = G + dim * (dim + 1) / 2 * (dim * (dim + 1) / 2 + 1) / 2 * L;
    lane_single flux = {0};
    if (plan->apart) flux = half_flux(plan, dim, near, h, x);
    for (int i = 0; i < n; i++) {
        scales[i] = half_powers(s[i]);
        x[i] *= scales[i];
    }
    half_project(plan, dim, near, scales, X, G, x);
    half_product(n, A, x, y);
    half_project(plan, dim, near, scales, X, G, y);
    for (int i = 0; i < n; i++) y[i] *= scales[i];
    if (plan->apart) half_add_flux(plan, dim, near, h, flux, y);
}

/* Compiled apart for each kind of faces: edges, triangles, quads. */
static void half_edges(const struct cell_plan *plan, int n, const lane_half *matrix, lane_single *x,
                       lane_single *scales, lane_single *y) {
    half_motions(plan, 2, 2, n, matrix, x, scales, y);
}
static void half_triangles(const struct cell_plan *plan, int n, const lane_half *matrix, lane_single *x,
                           lane_single *scales, lane_single *y) {
    half_motions(plan, 3, 3, n, matrix, x, scales, y);
}
static void half_quads(const struct cell_plan *plan, int n, const lane_half *matrix, lane_single *x,
                       lane_single *scales, lane_single *y) {
    half_motions(plan, 3, 4, n, matrix, x, scales, y);
}

static void take_half(const struct cell_plan *plan, int64_t begin, int64_t end, const float *x, float *y) {
    int n_faces = plan->n_faces, n = cell_plan_start(plan, n_faces);
    const int size = (n + 1) / 2 * 2 + L; /* columns are read by twos */
    lane_single *const in = cell_room(plan), *const out = in + size, *const scales = out + size;
    for (int64_t b = begin; b < end; b++) {
        int64_t batch = plan->colour_batches[b];
        const int64_t *map = plan->maps + batch * n_faces * L;
        const lane_half *matrix = (const lane_half *)plan->matrices + batch * cell_plan_half_size(plan);
        OF(gather_single)(plan, map, x, in);
        if (plan->n_near == 0)
            half_cell(plan, n, matrix, in, out);
        else if (plan->n_components == 2)
            half_edges(plan, n, matrix, in, scales, out);
        else if (plan->n_near == 3)
            half_triangles(plan, n, matrix, in, scales, out);
        else
            half_quads(plan, n, matrix, in, scales, out);
        OF(scatter_single)(plan, map, out, y);
    }
}

void OF(cell_apply_half)(const struct cell_plan *plan, const float *x, float *y) {
    OF(all_runs_single)(plan, x, y, take_half);
}

void OF(cell_apply_apart)(const struct cell_plan *plan, const float *x, float *y) {
    OF(all_runs_single)(plan, x, y, take_half);
}

/* ------------------------------------------------------------------------------- making them */

/* By registers of doubles: whole lane vectors are compared one number at a time where they are split. */
typedef int64_t packet_long __attribute__((vector_size(PART * sizeof(int64_t)), may_alias));

INLINE void half_store(uint16_t *to, packet value) {
#if defined(__AVX512F__)
    _mm_storeu_si128((__m128i *)to,
                     _mm256_cvtps_ph(_mm512_cvtpd_ps((__m512d)value), _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    _mm_storel_epi64((__m128i *)to, _mm_cvtps_ph(_mm256_cvtpd_ps((__m256d)value), _MM_FROUND_TO_NEAREST_INT));
#else
    for (int w = 0; w < PART; w++) to[w] = half_round((float)value[w]);
#endif
}

INLINE packet half_load(const uint16_t *from) {
#if defined(__AVX512F__)
    return (packet)_mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from)));
#elif defined(__F16C__)
    return (packet)_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)from)));
#else
    packet value = {0};
    for (int w = 0; w < PART; w++) value[w] = half_widen(from[w]);
    return value;
#endif
}

/* The packet, zero where it is not within -1 .. 1, and there *bad is set. */
INLINE packet half_check(packet value, packet_long *bad) {
    packet_long fits = (packet_long)(value >= -1.0) & (packet_long)(value <= 1.0);
    *bad |= ~fits;
    return (packet)((packet_long)value & fits);
}

/* Entry (i, j) of K - h h' (h NULL: K) in units of the scales; K: row i. */
INLINE packet half_exact(const double *K, const packet *h, const packet *inverse, int i, int j) {
    packet entry = *(const packet *)(K + j * L);
    if (h != NULL) entry -= h[i] * h[j];
    return entry * inverse[i] * inverse[j];
}

/* The scales of one register of a batch, and their inverses. K, A, .. are there L apart. */
INLINE void half_scales(int n, const double *K, const packet *h, uint16_t *s, packet *inverse,
                        packet_long *bad) {
    for (int i = 0; i < n; i++) { /* the exponent of a double, halved and rounded up */
        packet diagonal = *(const packet *)(K + (int64_t)i * (i + 3) / 2 * L);
        if (h != NULL) diagonal -= h[i] * h[i];
        packet_long within = (packet_long)(diagonal > 1e-60) & (packet_long)(diagonal < 1e60);
        packet_long k = ((((packet_long)diagonal >> 52) - 1021) >> 1) & within;
        *bad |= (packet_long)(diagonal < 0.0);
        for (int w = 0; w < PART; w++) s[i * L + w] = half_power((int)k[w]);
        inverse[i] = (packet)((1023 - k) << 52);
    }
}

/* Row i of A; K: row i. Places as half_place says. */
INLINE void half_row(int n, int i, const double *K, const packet *h, const packet *inverse, uint16_t *A,
                     packet_long *bad) {
    int pair = i & ~1, step = pair == n - 1 ? 2 : 4;
    uint16_t *row = A + half_place(n, i, 0) * L, *end = A + half_place(n, i, pair) * L;
    for (int j = 0; j < pair; j += 2)
        for (int k = 0; k < 2; k++)
            half_store(row + (step * (j / 2) + k) * L, half_check(half_exact(K, h, inverse, i, j + k), bad));
    for (int j = pair; j <= i; j++)
        half_store(end + (j - pair) * L, half_check(half_exact(K, h, inverse, i, j), bad));
}

/* One register of a batch. Lanes of the result are not zero where K is not positive semidefinite. */
static packet_long halve_part(const struct cell_plan *plan, int n, const double *K, uint16_t *to) {
    uint16_t *s = to, *e = s + n * L, *A = e + n * L;
    packet *const c = cell_room(plan), *const inverse = c + n, u[KERNEL_CELL_FACES], sum = {0};
    int place[KERNEL_CELL_FACES], n_places = 0;
    packet_long bad = {0}, ignored = {0};
    half_scales(n, K, NULL, s, inverse, &bad);
    for (int i = 0; i < n; i++) c[i] = (packet){0};
    for (int f = 0; f < plan->n_faces; f++) {
        int i = cell_plan_start(plan, f);
        if (i == cell_plan_start(plan, f + 1)) continue;
        place[n_places] = i;
        u[n_places] = plan->ones[f] / inverse[i];
        sum += u[n_places++];
    }
    for (int i = 0, before = 0; i < n; i++, K += i * L) {
        int is_place = before < n_places && place[before] == i;
        half_row(n, i, K, NULL, inverse, A, &bad);
        for (int p = 0; p < before + is_place; p++) /* columns of the function 1 */
            c[i] +=
                (half_exact(K, NULL, inverse, i, place[p]) - half_load(A + half_place(n, i, place[p]) * L)) *
                u[p];
        for (int j = 0; j < i && is_place; j++)
            c[j] += (half_exact(K, NULL, inverse, i, j) - half_load(A + half_place(n, i, j) * L)) * u[before];
        before += is_place;
    }
    for (int i = 0; i < n; i++) half_store(e + i * L, half_check(c[i] / (sum * HALF_UNIT), &ignored));
    return bad;
}

/* U'U of the motions of a cell, lower triangle. X: doubles in lanes; row by row of U. */
INLINE void half_gram(const struct cell_plan *plan, const packet *inverse, const double *X, packet (*G)[6]) {
    const int dim = plan->n_components, size = plan->m / dim, n = cell_plan_motions(plan);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) G[i][j] = (packet){0};
    for (int k = 0; k < plan->n_faces * plan->n_near * dim; k++) {
        int c = k % dim, i = k / dim % plan->n_near, f = k / dim / plan->n_near, places[4], n_places = 0;
        packet scale = 1.0 / inverse[f * plan->m + c * size + i], u[6];
        if (i == 0) {
            places[n_places++] = c;
            u[c] = scale * plan->ones[f];
        }
        for (int t = 0; t < motion_turns(dim); t++) {
            int from = motion_from(dim, t), to = motion_to(dim, t);
            if (c != from && c != to) continue;
            packet x = *(const packet *)(X + (k - c + (c == to ? from : to)) * L) * scale;
            places[n_places++] = dim + t;
            u[dim + t] = c == to ? x : -x;
        }
        for (int a = 0; a < n_places; a++)
            for (int b = 0; b <= a; b++) G[places[a]][places[b]] += u[places[a]] * u[places[b]];
    }
}

/* G becomes minus its inverse, as in ref. */
INLINE void half_invert(int n, packet (*G)[6]) {
    packet column[6], least[6];
    for (int k = 0; k < n; k++) least[k] = KERNEL_MOTION_LEAST * G[k][k];
    for (int k = 0; k < n; k++) {
        packet_long counts = (packet_long)(G[k][k] > least[k]);
        packet inverse = (packet)((packet_long)(1.0 / G[k][k]) & counts);
        for (int j = 0; j < n; j++) column[j] = j < k ? G[k][j] : j > k ? G[j][k] : (packet){0};
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) G[i][j] -= column[i] * inverse * column[j];
        for (int j = 0; j < n; j++) *(j < k ? &G[k][j] : &G[j][k]) = column[j] * inverse;
        G[k][k] = -inverse;
    }
}

INLINE void half_store_floats(uint16_t *floats, int i, int part, packet value) {
    for (int w = 0; w < PART; w++) half_put(floats, (int64_t)i * L + part + w, (float)value[w]);
}

/* h of one register of a batch, as floats have it, by the unknowns of a cell. */
static void half_find_flux(const struct cell_plan *plan, int n, int part, const double *K, const double *X,
                           uint16_t *floats, packet *h) {
    const int n_near = cell_plan_near(plan);
    packet energy = {0};
    for (int i = 0; i < n; i++) h[i] = (packet){0};
    for (int k = 0; k < n_near; k++) {
        int64_t row = cell_plan_near_row(plan, k);
        for (int l = 0; l < n_near; l++) {
            int64_t column = cell_plan_near_row(plan, l);
            int64_t at = row >= column ? row * (row + 1) / 2 + column : column * (column + 1) / 2 + row;
            h[row] += *(const packet *)(K + at * L) * *(const packet *)(X + l * L);
        }
        energy += h[row] * *(const packet *)(X + k * L);
    }
    for (int k = 0; k < n_near; k++) {
        packet *to = &h[cell_plan_near_row(plan, k)];
        for (int w = 0; w < PART; w++) {
            float rounded = energy[w] > 0.0 ? (float)((*to)[w] / sqrt(energy[w])) : 0.0f;
            half_put(floats, (int64_t)k * L + part + w, rounded);
            (*to)[w] = (double)rounded;
        }
    }
}

/* The same for displacements. batch: of the plan; part: the first lane. */
static packet_long halve_motions_part(const struct cell_plan *plan, int64_t batch, int part, int n,
                                      const double *K, uint16_t *to) {
    const int dim = plan->n_components, n_motions = cell_plan_motions(plan), n_X = cell_plan_near(plan);
    const double *X = plan->motions + batch * n_X * L + part;
    const uint8_t *loose = plan->loose + batch * L + part;
    uint16_t *s = to + part, *floats = to + n * L, *A = floats + 2 * cell_plan_floats(plan) * L + part;
    packet *const inverse = cell_room(plan), *const flux = inverse + n, G[6][6], active[4];
    const packet *h = plan->apart ? flux : NULL;
    packet_long bad = {0};
    if (plan->apart)
        half_find_flux(plan, n, part, K, X, floats + (n_X + n_motions * (n_motions + 1) / 2) * 2 * L, flux);
    half_scales(n, K, h, s, inverse, &bad);
    for (int i = 0; i < n; i++, K += i * L) half_row(n, i, K, h, inverse, A, &bad);
    for (int c = 0; c <= dim; c++)
        for (int w = 0; w < PART; w++) active[c][w] = loose[w] >> c & 1;
    half_gram(plan, inverse, X, G);
    for (int i = 0; i < n_motions; i++)
        for (int j = 0; j <= i; j++) G[i][j] *= active[i < dim ? i : dim] * active[j < dim ? j : dim];
    half_invert(n_motions, G);
    for (int k = 0; k < n_X; k++) half_store_floats(floats, k, part, *(const packet *)(X + k * L));
    for (int i = 0; i < n_motions; i++)
        for (int j = 0; j <= i; j++) half_store_floats(floats, n_X + i * (i + 1) / 2 + j, part, -G[i][j]);
    return bad;
}

int64_t OF(cell_halve)(const struct cell_plan *plan, const double *matrices, uint16_t *halves) {
    int n = cell_plan_start(plan, plan->n_faces);
    int64_t first = plan->n_batches;
#pragma omp parallel for num_threads(cell_threads(plan)) if (plan->n_batches > 8) schedule(static)           \
    reduction(min                                                                                            \
              : first)
    for (int64_t batch = 0; batch < plan->n_batches; batch++) {
        const int64_t *map = plan->maps + batch * plan->n_faces * L;
        const double *K = matrices + batch * ((int64_t)n * (n + 1) / 2) * L;
        for (int p = 0; p < L; p += PART) {
            uint16_t *to = halves + batch * cell_plan_half_size(plan) * L;
            packet_long bad = plan->n_near > 0 ? halve_motions_part(plan, batch, p, n, K + p, to)
                                               : halve_part(plan, n, K + p, to + p);
            for (int k = 0; k < plan->n_faces * PART; k++)
                if (map[k / PART * L + p + k % PART] >= 0 && bad[k % PART] && batch < first) first = batch;
        }
    }
    return first < plan->n_batches ? first : -1;
}
