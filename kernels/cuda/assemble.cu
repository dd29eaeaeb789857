// Rows of the trace matrix, face by face (king2014, Algorithms 1 and 2): which faces a face is coupled with,
// and the entries, gathered from the one or two cells of each by the thread that writes them. Threads go over
// the entries as they lie in memory; what they read of a cell is read again by those of its other faces, from
// the second cache. The floor is the bytes of the matrices and of the entries with their columns.
#include "kernels/cuda/lanes.cuh"

namespace facet {
namespace {

constexpr int THREADS = 256;

// A thread has a face.
__global__ void __launch_bounds__(THREADS)
    couple_faces(int64_t n_blocks, int n_faces, const int64_t *__restrict__ sides,
                 const int64_t *__restrict__ maps, int width, int first, int32_t *counts, int64_t *coupled) {
    const int64_t b = number_of_thread();
    if (b >= n_blocks) return;
    int64_t *list = coupled + b * width;
    int count = first ? 0 : counts[b];
    for (int which = 0; which < 2; which++) {
        const int64_t side = sides[2 * b + which];
        if (side < 0) continue;
        const int64_t cell = side / n_faces;
        for (int f = 0; f < n_faces; f++) {
            const int64_t unknown = maps[(cell / L * n_faces + f) * L + cell % L];
            const int64_t bits = (int64_t)(f + 1) << 4 * which;
            if (unknown < 0) continue;
            int k = count;
            while (k > 0 && list[k - 1] >> 8 > unknown) k--;
            if (k > 0 && list[k - 1] >> 8 == unknown) {
                list[k - 1] |= bits;
                continue;
            }
            for (int i = count; i > k; i--) list[i] = list[i - 1];
            list[k] = unknown * 256 + bits;
            count++;
        }
    }
    for (int i = count; i < width; i++) list[i] = -1;
    counts[b] = count;
}

// The entry of a thread.
struct entry {
    int64_t face, place, number; // number: of the row
    int row, column;             // of the face, and of its rows
    bool there;
};

// Of compressed rows (starts) a face has m x width m threads, those beyond its rows idle.
__device__ __forceinline__ entry entry_of(int64_t n_blocks, int m, int width, const int64_t *starts) {
    const int64_t number = number_of_thread(), rows = n_blocks * m, length = (int64_t)width * m;
    entry e;
    e.there = number < rows * length;
    if (starts != nullptr) {
        e.number = number / length;
        e.column = (int)(number % length);
    } else {
        e.number = number % rows;
        e.column = (int)(number / rows);
    }
    e.face = e.number / m;
    e.row = (int)(e.number % m);
    e.place = number;
    if (starts != nullptr && e.there) {
        const int64_t mine = (starts[e.face + 1] - starts[e.face]) / m;
        e.there = e.column < mine;
        e.place = starts[e.face] + e.row * mine + e.column;
    }
    return e;
}

__global__ void __launch_bounds__(THREADS)
    fill_columns(int64_t n_blocks, int m, int width, const int64_t *__restrict__ coupled,
                 const int64_t *__restrict__ starts, int64_t *offsets, int32_t *columns) {
    const entry e = entry_of(n_blocks, m, width, starts);
    if (!e.there) return;
    const int64_t face = coupled[e.face * width + e.column / m];
    columns[e.place] = face >= 0 ? (int32_t)((face >> 8) + e.column % m) : -1;
    if (starts == nullptr || e.column > 0) return;
    offsets[e.number] = e.place;
    if (e.number == n_blocks * m - 1) offsets[e.number + 1] = starts[n_blocks];
}

__global__ void __launch_bounds__(THREADS)
    fill_rows(int64_t n_blocks, int n_faces, int m, const int64_t *__restrict__ sides,
              const double *__restrict__ matrices, int width, int first, const int64_t *__restrict__ coupled,
              const int64_t *__restrict__ starts, double *values) {
    const entry e = entry_of(n_blocks, m, width, starts);
    if (!e.there) return;
    const int64_t face = coupled[e.face * width + e.column / m], size = row_of(n_faces * m);
    double sum = first ? 0.0 : values[e.place];
    for (int which = 0; which < 2 && face >= 0; which++) {
        const int64_t side = sides[2 * e.face + which];
        const int slot = (int)(face >> 4 * which & 15) - 1;
        if (side < 0 || slot < 0) continue;
        const int64_t cell = side / n_faces;
        const int i = (int)(side % n_faces) * m + e.row, j = slot * m + e.column % m;
        sum += matrices[(cell / L * size + (i >= j ? row_of(i) + j : row_of(j) + i)) * L + cell % L];
    }
    values[e.place] = sum;
}

} // namespace
} // namespace facet

using namespace facet;

void face_couple_cuda(int lanes, int64_t n_blocks, int n_faces, const int64_t *sides, const int64_t *maps,
                      int width, int first, int32_t *counts, int64_t *coupled) {
    (void)lanes;
    if (n_blocks == 0 || !may_launch()) return;
    couple_faces<<<blocks_of(n_blocks, THREADS), THREADS>>>(n_blocks, n_faces, sides, maps, width, first,
                                                            counts, coupled);
    launched("face_couple");
}

void face_columns_cuda(int64_t n_blocks, int m, int width, const int64_t *coupled, const int64_t *starts,
                       int64_t *offsets, int32_t *columns) {
    const int64_t threads = n_blocks * m * width * m;
    if (threads == 0 || !may_launch()) return;
    fill_columns<<<blocks_of(threads, THREADS), THREADS>>>(n_blocks, m, width, coupled, starts, offsets,
                                                           columns);
    launched("face_columns");
}

void face_rows_cuda(int lanes, int64_t n_blocks, int n_faces, int m, const int64_t *sides,
                    const double *matrices, int width, int first, const int64_t *coupled,
                    const int64_t *starts, double *values) {
    const int64_t threads = n_blocks * m * width * m;
    (void)lanes;
    if (threads == 0 || !may_launch()) return;
    fill_rows<<<blocks_of(threads, THREADS), THREADS>>>(n_blocks, n_faces, m, sides, matrices, width, first,
                                                        coupled, starts, values);
    launched("face_rows");
}
