/* Plain C: what levels on the trace are made of: blocks of faces, matrices of lower degree, a few of all
 * cells; and what goes between the cells and their faces. */
#include <math.h>

#include "kernels/ref/ref.h"
#include "kernels/summary.h"

#define TEMPLATE "kernels/ref/part_real.h"
#include "kernels/twice.h"

/* Entry (i, j), j <= i, of a triangle, and the other one. */
static int64_t at(int i, int j) {
    return i >= j ? (int64_t)i * (i + 1) / 2 + j : (int64_t)j * (j + 1) / 2 + i;
}

/* Gauss-Jordan: after step k the unknowns 0 .. k have changed sides, up to the sign. B: entries L apart. */
static int invert(int m, int L, double *B) {
    for (int k = 0; k < m; k++) {
        const double pivot = B[at(k, k) * L];
        if (!(pivot > 0.0)) return 0;
        for (int i = 0; i < m; i++)
            for (int j = 0; j <= i; j++)
                if (i != k && j != k) B[at(i, j) * L] -= B[at(i, k) * L] * B[at(k, j) * L] / pivot;
        for (int i = 0; i < m; i++)
            if (i != k) B[at(i, k) * L] /= pivot;
        B[at(k, k) * L] = -1.0 / pivot;
    }
    for (int64_t e = 0; e < at(m, 0); e++) B[e * L] = -B[e * L];
    return 1;
}

int64_t lane_invert_ref(int lanes, int64_t n_blocks, int m, double *matrices) {
    for (int64_t b = 0; b < n_blocks; b++)
        if (!invert(m, lanes, matrices + b / lanes * at(m, 0) * lanes + b % lanes)) return b;
    return -1;
}

void face_blocks_ref(int lanes, int64_t n_blocks, int n_faces, int m, const int64_t *sides,
                     const double *matrices, double *blocks) {
    const int64_t size = at(n_faces * m, 0);
    for (int64_t b = 0; b < n_blocks; b++)
        for (int s = 0; s < 2; s++) {
            if (sides[2 * b + s] < 0) continue;
            int64_t cell = sides[2 * b + s] / n_faces;
            int first = (int)(sides[2 * b + s] % n_faces) * m;
            const double *K = matrices + cell / lanes * size * lanes + cell % lanes;
            double *B = blocks + b / lanes * at(m, 0) * lanes + b % lanes;
            for (int i = 0; i < m; i++)
                for (int j = 0; j <= i; j++) B[at(i, j) * lanes] += K[at(first + i, first + j) * lanes];
        }
}

void face_sums_ref(int lanes, int64_t n_blocks, int n_faces, int m, const int64_t *sides,
                   const double *locals, double *y) {
    for (int64_t b = 0; b < n_blocks; b++)
        for (int s = 0; s < 2; s++) {
            if (sides[2 * b + s] < 0) continue;
            int64_t cell = sides[2 * b + s] / n_faces, first = sides[2 * b + s] % n_faces * m;
            for (int i = 0; i < m; i++)
                y[b * m + i] += locals[(cell / lanes * n_faces * m + first + i) * lanes + cell % lanes];
        }
}

/* Takes in a face that a cell has as number `slot`; which: of the two cells of the row. */
static int couple(int64_t *list, int count, int64_t first, int slot, int which) {
    const int64_t bits = (int64_t)(slot + 1) << 4 * which;
    int k = count;
    while (k > 0 && list[k - 1] >> 8 > first) k--;
    if (k > 0 && list[k - 1] >> 8 == first) {
        list[k - 1] |= bits;
        return count;
    }
    for (int i = count; i > k; i--) list[i] = list[i - 1];
    list[k] = first * 256 + bits;
    return count + 1;
}

void face_couple_ref(int lanes, int64_t n_blocks, int n_faces, const int64_t *sides, const int64_t *maps,
                     int width, int first, int32_t *counts, int64_t *coupled) {
    for (int64_t b = 0; b < n_blocks; b++) {
        int64_t *list = coupled + b * width;
        int count = first ? 0 : counts[b];
        for (int which = 0; which < 2; which++) {
            if (sides[2 * b + which] < 0) continue;
            int64_t cell = sides[2 * b + which] / n_faces;
            for (int f = 0; f < n_faces; f++) {
                int64_t unknown = maps[(cell / lanes * n_faces + f) * lanes + cell % lanes];
                if (unknown >= 0) count = couple(list, count, unknown, f, which);
            }
        }
        for (int i = count; i < width; i++) list[i] = -1;
        counts[b] = count;
    }
}

void face_columns_ref(int64_t n_blocks, int m, int width, const int64_t *coupled, const int64_t *starts,
                      int64_t *offsets, int32_t *columns) {
    for (int64_t b = 0; b < n_blocks; b++) {
        const int64_t length = starts != NULL ? (starts[b + 1] - starts[b]) / m : (int64_t)width * m;
        for (int i = 0; i < m; i++) {
            if (starts != NULL) offsets[b * m + i] = starts[b] + i * length;
            for (int64_t c = 0; c < length; c++) {
                const int64_t face = coupled[b * width + c / m];
                columns[starts != NULL ? starts[b] + i * length + c : c * n_blocks * m + b * m + i] =
                    face >= 0 ? (int32_t)((face >> 8) + c % m) : -1;
            }
        }
    }
    if (starts != NULL) offsets[n_blocks * m] = starts[n_blocks];
}

void face_rows_ref(int lanes, int64_t n_blocks, int n_faces, int m, const int64_t *sides,
                   const double *matrices, int width, int first, const int64_t *coupled,
                   const int64_t *starts, double *values) {
    const int64_t size = at(n_faces * m, 0);
    for (int64_t b = 0; b < n_blocks; b++) {
        const int64_t length = starts != NULL ? (starts[b + 1] - starts[b]) / m : (int64_t)width * m;
        for (int i = 0; i < m; i++)
            for (int64_t c = 0; c < length; c++) {
                const int64_t face = coupled[b * width + c / m], place = starts != NULL
                                                                             ? starts[b] + i * length + c
                                                                             : c * n_blocks * m + b * m + i;
                double sum = first ? 0.0 : values[place];
                for (int which = 0; which < 2 && face >= 0; which++) {
                    const int64_t side = sides[2 * b + which], slot = (face >> 4 * which & 15) - 1;
                    if (side < 0 || slot < 0) continue;
                    const double *K =
                        matrices + side / n_faces / lanes * size * lanes + side / n_faces % lanes;
                    sum += K[at((int)(side % n_faces) * m + i, (int)(slot * m + c % m)) * lanes];
                }
                values[place] = sum;
            }
    }
}

void cell_gather_ref(int lanes, int64_t n_batches, int n_faces, int m, const int64_t *maps, const double *x,
                     double *locals) {
    for (int64_t k = 0; k < n_batches * n_faces; k++)
        for (int i = 0; i < m; i++)
            for (int lane = 0; lane < lanes; lane++) {
                int64_t first = maps[k * lanes + lane];
                locals[(k * m + i) * lanes + lane] = first >= 0 ? x[first + i] : 0.0;
            }
}

void cell_lower_ref(int lanes, int64_t n_batches, int n_parts, int from, int to, const double *matrices,
                    double *lower) {
    const int n = n_parts * to;
    for (int64_t batch = 0; batch < n_batches; batch++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++)
                for (int lane = 0; lane < lanes; lane++)
                    lower[(batch * at(n, 0) + at(i, j)) * lanes + lane] =
                        matrices[(batch * at(n_parts * from, 0) +
                                  at(i / to * from + i % to, j / to * from + j % to)) *
                                     lanes +
                                 lane];
}

void cell_corners_ref(int lanes, int64_t n_batches, int dim, int n_components, int m,
                      const uint8_t *orientations, const double *hats, const double *matrices,
                      double *corners) {
    const int n_corners = dim + 1, nc = n_components, c = n_corners * nc, n = n_corners * nc * dim;
    for (int64_t batch = 0; batch < n_batches; batch++)
        for (int lane = 0; lane < lanes; lane++) {
            const double *K = matrices + batch * at(c * m, 0) * lanes + lane, *P[36];
            double *to = corners + batch * at(c, 0) * lanes + lane;
            for (int i = 0; i < n; i++) { /* face, component, function */
                const int f = i / dim / nc, o = orientations[(batch * n_corners + f) * lanes + lane];
                P[i] = hats + ((f * 8 + o) * dim + i % dim) * n_corners;
            }
            for (int a = 0; a < c; a++)
                for (int b = 0; b <= a; b++) {
                    double sum = 0.0;
                    for (int i = 0; i < n; i++)
                        for (int j = 0; j < n; j++)
                            if (i / dim % nc == a % nc && j / dim % nc == b % nc)
                                sum += P[i][a / nc] * P[j][b / nc] *
                                       K[at(i / dim * m + i % dim, j / dim * m + j % dim) * lanes];
                    to[at(a, b) * lanes] = sum;
                }
        }
}

void cell_summary_ref(int lanes, int64_t n_batches, int n_faces, int n_components, int n,
                      const double *matrices, double *summary) {
    for (int64_t batch = 0; batch < n_batches; batch++)
        for (int lane = 0; lane < lanes; lane++) {
            const double *K = matrices + batch * at(n, 0) * lanes + lane;
            double *s = summary + batch * (3 + n_faces) * lanes + lane;
            s[0] = INFINITY;
            s[lanes] = s[2 * lanes] = 0.0;
            for (int i = 0; i < n; i++) {
                double entry = K[at(i, i) * lanes];
                s[0] = fmin(s[0], entry);
                s[lanes] = fmax(s[lanes], entry);
                s[2 * lanes] += entry / n;
            }
            for (int f = 0; f < n_faces; f++)
                s[(3 + f) * lanes] =
                    summary_constants(K, lanes, f * (n / n_faces), n / n_faces / n_components, n_components);
        }
}

void cell_extract_ref(int lanes, int64_t n, const int64_t *cells, int64_t size, const double *from,
                      double *to) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = 0; e < size; e++)
            to[i * size + e] = from[(cells[i] / lanes * size + e) * lanes + cells[i] % lanes];
}
