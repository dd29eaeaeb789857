/* Plain C: element matrices in 16 bits, and the product with them. */
#include <math.h>

#include "kernels/ref/ref.h"

/* Whether a lane holds a cell that a product reads. */
static int is_used(const struct cell_plan *plan, const int64_t *map, int lane) {
    for (int f = 0; f < plan->n_faces; f++)
        if (map[f * plan->lanes + lane] >= 0) return 1;
    return 0;
}

/* u of a cell whose scales s are L apart; returns their sum. */
static double fill_u(const struct cell_plan *plan, const uint16_t *s, double *u) {
    double sum = 0.0;
    for (int f = 0; f < plan->n_faces; f++) {
        int i = cell_plan_start(plan, f), is_empty = i == cell_plan_start(plan, f + 1);
        u[f] = is_empty ? 0.0 : plan->ones[f] * half_scale(s[i * plan->lanes]);
        sum += u[f];
    }
    return sum;
}

/* Entry (i, j) of one triangle, and of A. */
static int64_t at(int i, int j) {
    return i >= j ? (int64_t)i * (i + 1) / 2 + j : (int64_t)j * (j + 1) / 2 + i;
}
static int64_t place(int n, int i, int j) {
    return i >= j ? half_place(n, i, j) : half_place(n, j, i);
}

/* The power of a scale. */
static int power_of(uint16_t s) {
    return (s >> 7) - 127;
}

/* One cell: K and the 16-bit numbers L apart. Returns 0 where K is not positive semidefinite. */
static int halve(const struct cell_plan *plan, const double *K, uint16_t *to) {
    const int L = plan->lanes, n = cell_plan_start(plan, plan->n_faces);
    uint16_t *s = to, *e = s + n * L, *A = e + n * L;
    double u[KERNEL_CELL_FACES];
    int good = 1;
    for (int i = 0; i < n; i++) {
        double diagonal = K[at(i, i) * L];
        int k = 0;
        if (diagonal > 1e-60 && diagonal < 1e60) {
            frexp(diagonal, &k);
            k = (k + 1) >> 1;
        }
        if (diagonal < 0.0) good = 0;
        s[i * L] = half_power(k);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double exact = ldexp(K[at(i, j) * L], -power_of(s[i * L]) - power_of(s[j * L]));
            int fits = exact >= -1.0 && exact <= 1.0;
            if (!fits) good = 0;
            A[place(n, i, j) * L] = half_round(fits ? (float)exact : 0.0f);
        }
    double sum = fill_u(plan, s, u);
    for (int i = 0; i < n; i++) {
        double c = 0.0;
        for (int f = 0; f < plan->n_faces; f++) {
            int j = cell_plan_start(plan, f);
            if (u[f] == 0.0) continue;
            double exact = ldexp(K[at(i, j) * L], -power_of(s[i * L]) - power_of(s[j * L]));
            c += (exact - half_widen(A[place(n, i, j) * L])) * u[f];
        }
        c /= sum * HALF_UNIT;
        e[i * L] = half_round(c >= -1.0 && c <= 1.0 ? (float)c : 0.0f);
    }
    return good;
}

int64_t cell_halve_ref(const struct cell_plan *plan, const double *matrices, uint16_t *halves) {
    const int L = plan->lanes, n = cell_plan_start(plan, plan->n_faces);
    int64_t first = -1;
    for (int64_t batch = 0; batch < plan->n_batches; batch++)
        for (int lane = 0; lane < L; lane++) {
            int good = halve(plan, matrices + batch * (n * (n + 1) / 2) * L + lane,
                             halves + batch * half_size(n) * L + lane);
            if (!good && first < 0 && is_used(plan, plan->maps + batch * plan->n_faces * L, lane))
                first = batch;
        }
    return first;
}

/* y += K x of one cell; x and y by its own unknowns, entries of the matrix L apart. */
static void multiply(const struct cell_plan *plan, const uint16_t *matrix, const float *x, float *y) {
    const int L = plan->lanes, n = cell_plan_start(plan, plan->n_faces);
    const uint16_t *s = matrix, *e = s + n * L, *A = e + n * L;
    double u[KERNEL_CELL_FACES];
    float h = (float)(HALF_UNIT * fill_u(plan, s, u)), square = 0.0f, wx = 0.0f, cx = 0.0f, cu = 0.0f;
    for (int f = 0; f < plan->n_faces; f++) square += (float)(u[f] * u[f]);
    for (int f = 0; f < plan->n_faces; f++) {
        int i = cell_plan_start(plan, f);
        if (u[f] == 0.0) continue;
        wx += (float)u[f] / square * half_scale(s[i * L]) * x[i];
        cu += h * half_widen(e[i * L]) * (float)u[f];
    }
    for (int i = 0; i < n; i++) cx += h * half_widen(e[i * L]) * half_scale(s[i * L]) * x[i];
    for (int i = 0; i < n; i++) {
        float sum = h * half_widen(e[i * L]) * wx;
        for (int j = 0; j < n; j++) sum += half_widen(A[place(n, i, j) * L]) * half_scale(s[j * L]) * x[j];
        for (int f = 0; f < plan->n_faces; f++)
            if (i == cell_plan_start(plan, f) && u[f] != 0.0) sum += (float)u[f] / square * (cx - cu * wx);
        y[i] += half_scale(s[i * L]) * sum;
    }
}

void cell_apply_half_ref(const struct cell_plan *plan, const float *x, float *y) {
    const int L = plan->lanes, n_faces = plan->n_faces, n = cell_plan_start(plan, n_faces);
    float in[KERNEL_CELL_UNKNOWNS], out[KERNEL_CELL_UNKNOWNS];
    for (int64_t batch = 0; batch < plan->n_batches; batch++) {
        const uint16_t *matrix = (const uint16_t *)plan->matrices + batch * half_size(n) * L;
        const int64_t *map = plan->maps + batch * n_faces * L;
        for (int lane = 0; lane < L; lane++) {
            for (int f = 0; f < n_faces; f++)
                for (int i = cell_plan_start(plan, f); i < cell_plan_start(plan, f + 1); i++) {
                    int64_t first = map[f * L + lane];
                    in[i] = first < 0 ? 0.0f : x[first + i - cell_plan_start(plan, f)];
                    out[i] = 0.0f;
                }
            multiply(plan, matrix + lane, in, out);
            for (int f = 0; f < n_faces; f++)
                for (int i = cell_plan_start(plan, f); i < cell_plan_start(plan, f + 1); i++)
                    if (map[f * L + lane] >= 0) y[map[f * L + lane] + i - cell_plan_start(plan, f)] += out[i];
        }
    }
}

int64_t cell_half_pays_ref(int64_t n, int64_t n_cells) {
    (void)n;
    (void)n_cells;
    return 1;
}
