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

/* s and A of one cell from K - h h' (h NULL: K): K and the 16-bit numbers L apart. Returns 0 where it is not
 * positive semidefinite. */
static int round_matrix(int n, int L, const double *K, const double *h, uint16_t *s, uint16_t *A) {
    int good = 1;
    for (int i = 0; i < n; i++) {
        double diagonal = K[at(i, i) * L] - (h != NULL ? h[i] * h[i] : 0.0);
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
            double entry = K[at(i, j) * L] - (h != NULL ? h[i] * h[j] : 0.0);
            double exact = ldexp(entry, -power_of(s[i * L]) - power_of(s[j * L]));
            int fits = exact >= -1.0 && exact <= 1.0;
            if (!fits) good = 0;
            A[place(n, i, j) * L] = half_round(fits ? (float)exact : 0.0f);
        }
    return good;
}

static int halve(const struct cell_plan *plan, const double *K, uint16_t *to) {
    const int L = plan->lanes, n = cell_plan_start(plan, plan->n_faces);
    uint16_t *s = to, *e = s + n * L, *A = e + n * L;
    double u[KERNEL_CELL_FACES];
    int good = round_matrix(n, L, K, NULL, s, A);
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

/* ------------------------------------------------------------------------------- displacements */

/* Numbers of a lane. */
struct motions {
    int L, lane, dim, n, size; /* n: unknowns; size: functions of a component of a face */
    const uint16_t *s, *A;     /* of the lane, L apart */
    const uint16_t *X, *G, *h; /* of all lanes */
};

static struct motions motions_of(const struct cell_plan *plan, const uint16_t *cell, int lane) {
    const int L = plan->lanes, n = cell_plan_start(plan, plan->n_faces), dim = plan->n_components;
    struct motions m = {.L = L, .lane = lane, .dim = dim, .n = n, .size = plan->m / dim, .s = cell + lane};
    m.X = cell + n * L;
    m.G = m.X + 2 * cell_plan_near(plan) * L;
    m.h = m.G + cell_plan_motions(plan) * (cell_plan_motions(plan) + 1) * L;
    m.A = m.X + 2 * cell_plan_floats(plan) * L + lane;
    return m;
}

/* Where that is written, in a cell whose numbers are made. */
static uint16_t *place_of(uint16_t *cell, const uint16_t *number) {
    return cell + (number - cell);
}

static float of_lane(const struct motions *m, const uint16_t *floats, int64_t i) {
    return half_get(floats, i * m->L + m->lane);
}

/* The row of U of function i of component c of face f. */
static void motion_row(const struct cell_plan *plan, const struct motions *m, int f, int i, int c, float *u) {
    float scale = half_scale(m->s[(f * plan->m + c * m->size + i) * m->L]);
    int X = (f * plan->n_near + i) * m->dim;
    for (int k = 0; k < m->dim; k++) u[k] = k == c && i == 0 ? scale * plan->ones[f] : 0.0f;
    for (int t = 0; t < motion_turns(m->dim); t++) {
        int from = motion_from(m->dim, t), to = motion_to(m->dim, t);
        u[m->dim + t] = c == to     ? scale * of_lane(m, m->X, X + from)
                        : c == from ? -scale * of_lane(m, m->X, X + to)
                                    : 0.0f;
    }
}

/* G (n x n, lower triangle), of which what is not independent or not active counts as zero, becomes its
 * inverse: Gauss-Jordan, after step k the unknowns 0 .. k have changed sides. */
static void invert(int n, double (*G)[6]) {
    double column[6] = {0}, first[6];
    for (int k = 0; k < n; k++) first[k] = G[k][k];
    for (int k = 0; k < n; k++) {
        double inverse = G[k][k] > KERNEL_MOTION_LEAST * first[k] ? 1.0 / G[k][k] : 0.0;
        for (int j = 0; j < n; j++) column[j] = j < k ? G[k][j] : j > k ? G[j][k] : 0.0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) G[i][j] -= column[i] * inverse * column[j];
        for (int j = 0; j < n; j++) *(j < k ? &G[k][j] : &G[j][k]) = column[j] * inverse;
        G[k][k] = -inverse;
    }
}

/* h of a lane, as floats have it, by the unknowns of a cell, and in its halves; X: L apart. */
static void find_flux(const struct cell_plan *plan, const struct motions *m, const double *K, const double *X,
                      uint16_t *halves, double *h) {
    const int n_near = cell_plan_near(plan);
    double energy = 0.0;
    for (int i = 0; i < m->n; i++) h[i] = 0.0;
    for (int k = 0; k < n_near; k++) {
        double *to = &h[cell_plan_near_row(plan, k)];
        for (int l = 0; l < n_near; l++)
            *to += K[at(cell_plan_near_row(plan, k), cell_plan_near_row(plan, l)) * m->L] * X[l * m->L];
        energy += *to * X[k * m->L];
    }
    for (int k = 0; k < n_near; k++) {
        double *to = &h[cell_plan_near_row(plan, k)];
        float rounded = energy > 0.0 ? (float)(*to / sqrt(energy)) : 0.0f;
        half_put(place_of(halves, m->h), k * m->L + m->lane, rounded);
        *to = (double)rounded;
    }
}

static int halve_motions(const struct cell_plan *plan, int64_t batch, int lane, const double *K,
                         uint16_t *halves) {
    struct motions m = motions_of(plan, halves, lane);
    const int dim = m.dim, n_motions = cell_plan_motions(plan), n_X = cell_plan_near(plan);
    const double *X = plan->motions + batch * n_X * m.L + lane;
    int loose = plan->loose[batch * m.L + lane];
    double G[6][6] = {{0}}, h[KERNEL_CELL_UNKNOWNS];
    if (plan->apart) find_flux(plan, &m, K, X, halves, h);
    int good =
        round_matrix(m.n, m.L, K, plan->apart ? h : NULL, place_of(halves, m.s), place_of(halves, m.A));
    for (int k = 0; k < n_X; k++) half_put(place_of(halves, m.X), k * m.L + lane, (float)X[k * m.L]);
    for (int k = 0; k < n_X; k++) {
        float u[6];
        motion_row(plan, &m, k / (plan->n_near * dim), k / dim % plan->n_near, k % dim, u);
        for (int i = 0; i < n_motions; i++)
            for (int j = 0; j <= i; j++) G[i][j] += (double)u[i] * (double)u[j];
    }
    for (int i = 0; i < n_motions; i++)
        for (int j = 0; j <= i; j++)
            if (!(loose >> (i < dim ? i : dim) & 1) || !(loose >> (j < dim ? j : dim) & 1)) G[i][j] = 0.0;
    invert(n_motions, G);
    for (int i = 0; i < n_motions; i++)
        for (int j = 0; j <= i; j++) half_put(place_of(halves, m.G), at(i, j) * m.L + lane, (float)-G[i][j]);
    return good;
}

/* v = (I - U G U') v. */
static void project(const struct cell_plan *plan, const struct motions *m, float *v) {
    const int n = cell_plan_motions(plan);
    float t[6] = {0}, w[6] = {0}, u[6];
    for (int pass = 0; pass < 2; pass++) {
        for (int f = 0; f < plan->n_faces; f++)
            for (int i = 0; i < plan->n_near; i++)
                for (int c = 0; c < m->dim; c++) {
                    float *entry = v + f * plan->m + c * m->size + i;
                    motion_row(plan, m, f, i, c, u);
                    for (int k = 0; k < n && pass == 0; k++) t[k] += u[k] * *entry;
                    for (int k = 0; k < n && pass == 1; k++) *entry -= u[k] * w[k];
                }
        for (int k = 0; k < n && pass == 0; k++)
            for (int j = 0; j < n; j++) w[k] += of_lane(m, m->G, at(k, j)) * t[j];
    }
}

static void multiply_motions(const struct cell_plan *plan, const uint16_t *matrix, int lane, const float *x,
                             float *y) {
    struct motions m = motions_of(plan, matrix, lane);
    float in[KERNEL_CELL_UNKNOWNS], out[KERNEL_CELL_UNKNOWNS], flux = 0.0f;
    const int n_flux = plan->apart ? cell_plan_near(plan) : 0;
    for (int k = 0; k < n_flux; k++) flux += of_lane(&m, m.h, k) * x[cell_plan_near_row(plan, k)];
    for (int i = 0; i < m.n; i++) in[i] = half_scale(m.s[i * m.L]) * x[i];
    project(plan, &m, in);
    for (int i = 0; i < m.n; i++) {
        out[i] = 0.0f;
        for (int j = 0; j < m.n; j++) out[i] += half_widen(m.A[place(m.n, i, j) * m.L]) * in[j];
    }
    project(plan, &m, out);
    for (int i = 0; i < m.n; i++) y[i] += half_scale(m.s[i * m.L]) * out[i];
    for (int k = 0; k < n_flux; k++) y[cell_plan_near_row(plan, k)] += flux * of_lane(&m, m.h, k);
}

/* ------------------------------------------------------------------------------- both */

int64_t cell_halve_ref(const struct cell_plan *plan, const double *matrices, uint16_t *halves) {
    const int L = plan->lanes, n = cell_plan_start(plan, plan->n_faces);
    int64_t first = -1;
    for (int64_t batch = 0; batch < plan->n_batches; batch++)
        for (int lane = 0; lane < L; lane++) {
            const double *K = matrices + batch * (n * (n + 1) / 2) * L + lane;
            uint16_t *to = halves + batch * cell_plan_half_size(plan) * L;
            int good = plan->n_near > 0 ? halve_motions(plan, batch, lane, K, to) : halve(plan, K, to + lane);
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
    const int L = plan->lanes, n_faces = plan->n_faces;
    float in[KERNEL_CELL_UNKNOWNS], out[KERNEL_CELL_UNKNOWNS];
    for (int64_t i = 0; i < plan->n_unknowns && plan->parts != 0 && plan->fresh; i++) y[i] = 0.0f;
    for (int64_t k = 0; k < cell_plan_count(plan); k++) {
        const int64_t batch = cell_plan_batch(plan, k);
        const uint16_t *matrix = (const uint16_t *)plan->matrices + batch * cell_plan_half_size(plan) * L;
        const int64_t *map = plan->maps + batch * n_faces * L;
        for (int lane = 0; lane < L; lane++) {
            for (int f = 0; f < n_faces; f++)
                for (int i = cell_plan_start(plan, f); i < cell_plan_start(plan, f + 1); i++) {
                    int64_t first = map[f * L + lane];
                    in[i] = first < 0 ? 0.0f : x[first + i - cell_plan_start(plan, f)];
                    out[i] = 0.0f;
                }
            if (plan->n_near > 0)
                multiply_motions(plan, matrix, lane, in, out);
            else
                multiply(plan, matrix + lane, in, out);
            for (int f = 0; f < n_faces; f++)
                for (int i = cell_plan_start(plan, f); i < cell_plan_start(plan, f + 1); i++)
                    if (map[f * L + lane] >= 0) y[map[f * L + lane] + i - cell_plan_start(plan, f)] += out[i];
        }
    }
}
