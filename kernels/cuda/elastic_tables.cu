// Tables of straight cells of elasticity for every orientation of a face: see elastic.cuh.
#include "kernels/cuda/elastic.cuh"

namespace facet {
namespace {

// to (face and orientation x rows x m) = from (face x rows x m) O.
__device__ void turn_table(const solid &p, int rows, const double *from, double *to) {
    const int m = p.t.m, size = rows * m;
    for (int e = first_thread(); e < p.t.n_faces * p.orientations * size; e += all_threads()) {
        const int k = e % m, place = e / size;
        const double *O = p.O + place % p.orientations * m * m + k;
        const double *row = from + place / p.orientations * size + e % size - k;
        double sum = 0.0;
        for (int a = 0; a < m; a++) sum += row[a] * O[a * m];
        to[e] = sum;
    }
}

__global__ void turn_tables(const __grid_constant__ solid p) {
    turn_table(p, p.t.N, p.t.F, p.F);
    turn_table(p, p.t.Nu, p.t.FU, p.FU);
    turn_table(p, p.t.dim * p.low, p.t.DF, p.DF);
}

// F_f'F_g O_g; and the coordinates, of which a face in another orientation has other coefficients.
__global__ void turn_pairs(const __grid_constant__ solid_tiles p) {
    const solid &s = p.of;
    const int m = s.t.m, faces = s.t.n_faces, places = faces * s.orientations, linear = s.t.n_linear;
    for (int e = first_thread(); e < faces * places * m * m; e += all_threads()) {
        const int j = e % m, i = e / m % m, g = e / m / m % places, f = e / m / m / places;
        const double *row = s.t.FF + ((f * faces + g / s.orientations) * m + i) * m;
        const double *O = s.O + g % s.orientations * m * m + j;
        double sum = 0.0;
        for (int a = 0; a < m; a++) sum += row[a] * O[a * m];
        p.half[e] = sum;
    }
    for (int e = first_thread(); e < places * s.t.dim * linear; e += all_threads()) {
        const int k = e % linear, axis = e / linear % s.t.dim, place = e / linear / s.t.dim;
        const double *O = s.O + place % s.orientations * m * m, *of = s.t.coordinates + axis * faces * linear;
        double sum = 0.0, mean = 0.0;
        for (int f = 0; f < faces; f++) mean += of[f * linear] / faces;
        for (int a = 0; a < linear; a++)
            sum += O[s.t.linear[a] * m + s.t.linear[k]] *
                   (of[place / s.orientations * linear + a] - (a == 0 ? mean : 0.0));
        p.coordinates[e] = sum;
    }
}

// O_f'F_f'F_g O_g.
__global__ void finish_pairs(const __grid_constant__ solid_tiles p) {
    const solid &s = p.of;
    const int m = s.t.m, places = s.t.n_faces * s.orientations;
    for (int64_t e = first_thread(); e < (int64_t)p.columns * p.columns; e += all_threads()) {
        const int row = (int)(e / p.columns), column = (int)(e % p.columns), f = row / m, i = row % m;
        const double *half =
            p.half + ((int64_t)(f / s.orientations) * places + column / m) * m * m + column % m;
        const double *O = s.O + f % s.orientations * m * m + i;
        double sum = 0.0;
        for (int a = 0; a < m; a++) sum += O[a * m] * half[a * m];
        p.FF[e] = sum;
    }
}

// The face and function at a place in the order of a component: constants, where rotations are motions the
// other linear functions, and the rest by faces.
__device__ int function_of_face(const solid &p, int place) {
    const int m = p.t.m, faces = p.t.n_faces, known = p.t.rotations ? p.t.n_linear : 1, others = known - 1;
    if (place >= faces * m) return -1;
    if (place < faces) return place * m + p.t.linear[0];
    if (place < faces * known) return (place - faces) / others * m + p.t.linear[1 + (place - faces) % others];
    const int left = place - faces * known, face = left / (m - known);
    int before = left % (m - known);
    for (int k = 0; k < m; k++) {
        bool is_known = false;
        for (int a = 0; a < known; a++) is_known = is_known || p.t.linear[a] == k;
        if (!is_known && before-- == 0) return face * m + k;
    }
    return -1;
}

// Entry (i, j) of the matrix of n columns at `from`, and zero beyond.
__device__ __forceinline__ double entry_within(const double *from, int n, bool within, int i, int j) {
    return within ? from[i * n + j] : 0.0;
}

// Tile `number` of a triangle of columns of tiles: its column; its row is what is left of the number.
__device__ __forceinline__ int column_of(int &number) {
    int column = 0;
    while (number > column) number -= ++column;
    return column;
}

__device__ void lay_S(const solid_tiles &p) {
    const solid &s = p.of;
    const int pairs = p.low_tiles * (p.low_tiles + 1) / 2, low = s.low, squares = s.t.dim * s.t.dim;
    for (int e = first_thread(); e < pairs * p.terms * 32; e += all_threads()) {
        const int lane = e % 32, term = e / 32 % p.terms;
        int tile = e / 32 / p.terms;
        const int column = column_of(tile), i = 8 * tile + row_at(lane / 4), k = 8 * column + lane % 4;
        const int n = term < squares ? low : s.t.Nu;
        const double *from = term < squares ? s.t.DD + term * low * low : s.t.mass + (term - squares) * n * n;
        p.S[e] = make_double2(entry_within(from, n, i < low && k < low, i, k),
                              entry_within(from, n, i < low && k + 4 < low, i, k + 4));
    }
}

__device__ void lay_mass(const solid_tiles &p) {
    const solid &s = p.of;
    const int blocks = p.high_blocks, corners = blocks * (blocks + 1) / 2, faces = s.t.n_faces, Nu = s.t.Nu;
    for (int e = first_thread(); e < (corners + blocks * p.low_tiles) * faces * 32; e += all_threads()) {
        const int lane = e % 32, face = e / 32 % faces, tile = e / 32 / faces;
        int block = tile < corners ? tile : (tile - corners) % blocks;
        const int column =
            8 * (tile < corners ? column_of(block) : (tile - corners) / blocks) + row_at(lane / 4);
        const bool there = column < (tile < corners ? s.high : s.low);
        const int i = 8 * block + lane % 4, j = tile < corners ? s.low + column : column;
        const double *from = s.t.mass + face * Nu * Nu;
        p.mass[e] = make_double2(entry_within(from, Nu, there && i < s.high, s.low + i, j),
                                 entry_within(from, Nu, there && i + 4 < s.high, s.low + i + 4, j));
    }
}

// Which tiles are worked on.
__device__ void list_pieces(const solid_tiles &p) {
    const int blocks = p.high_blocks, corners = blocks * (blocks + 1) / 2, low = p.low_tiles,
              pairs = low * (low + 1) / 2;
    for (int e = first_thread(); e < p.n_high + pairs + low * p.tiles; e += all_threads()) {
        int number = e < p.n_high ? e : e - p.n_high;
        if (number < (e < p.n_high ? corners : pairs)) {
            const int column = column_of(number);
            p.pieces[e] = make_int2(number, column);
        } else if (e < p.n_high)
            p.pieces[e] = make_int2((number - corners) % blocks, (number - corners) / blocks);
        else
            p.pieces[e] = make_int2((number - pairs) / p.tiles, (number - pairs) % p.tiles);
    }
    for (int e = first_thread(); e < p.n_jobs; e += all_threads()) {
        int J = 0, first = p.linear, left = e;
        for (; left >= p.tiles - first; J++, first = J < p.linear ? p.linear : J) left -= p.tiles - first;
        p.jobs[e] = make_int2(first + left, J);
    }
}

// All but FF.
__global__ void lay_tables(const __grid_constant__ solid_tiles p) {
    const solid &s = p.of;
    const int m = s.t.m, dim = s.t.dim, rows = 8 * p.low_tiles, high_rows = 8 * p.high_blocks;
    lay_S(p);
    lay_mass(p);
    for (int e = first_thread(); e < p.columns * rows; e += all_threads()) {
        const int i = e % rows, k = e / rows % m, place = e / rows / m, step = s.low * m;
        const double *DF = s.DF + (place * dim * s.low + i) * m + k;
        const bool there = i < s.low;
        p.R[e] = {there ? DF[0] : 0.0, there ? DF[step] : 0.0, there && dim == 3 ? DF[2 * step] : 0.0,
                  there ? s.FU[(place * s.t.Nu + i) * m + k] : 0.0};
    }
    for (int e = first_thread(); e < p.columns * high_rows; e += all_threads()) {
        const int i = e % high_rows, k = e / high_rows % m, place = e / high_rows / m;
        p.FU[e] = i < s.high ? s.FU[(place * s.t.Nu + s.low + i) * m + k] : 0.0;
    }
    for (int e = first_thread(); e < 8 * p.tiles; e += all_threads()) p.order[e] = function_of_face(s, e);
    list_pieces(p);
}

// Numbers of the arrays of struct solid, in their order.
struct sizes {
    int64_t O, F, FU, DF;
    explicit sizes(const struct elastic_tables *t) {
        const int64_t m = t->m, places = t->n_faces * orientations_of(t->dim, t->n_faces);
        O = orientations_of(t->dim, t->n_faces) * m * m;
        F = places * t->N * m;
        FU = places * t->Nu * m;
        DF = places * t->dim * t->n_low * m;
    }
};
// And of struct solid_tiles.
struct tile_sizes {
    int64_t R, S, mass, FU, FF, half, coordinates, pieces, jobs, order;
    explicit tile_sizes(const solid_tiles &p) {
        const struct elastic_tables &t = p.of.t;
        const int64_t columns = p.columns, blocks = p.high_blocks;
        R = columns * 8 * p.low_tiles * 4;
        S = (int64_t)p.low_tiles * (p.low_tiles + 1) / 2 * p.terms * 64;
        mass = (blocks * (blocks + 1) / 2 + blocks * p.low_tiles) * t.n_faces * 64;
        FU = columns * 8 * blocks;
        FF = columns * columns;
        half = columns * t.n_faces * t.m;
        coordinates = columns / t.m * t.dim * t.n_linear;
        pieces = p.n_high + p.low_tiles * (p.low_tiles + 1) / 2 + p.low_tiles * p.tiles;
        jobs = p.n_jobs;
        order = 4 * p.tiles;
    }
};

} // namespace

int64_t solid_size(const struct elastic_tables *t) {
    const sizes s(t);
    return even(s.O + s.F + s.FU + s.DF);
}

solid solid_of(const struct elastic_tables *t, double *scratch) {
    const sizes s(t);
    solid p = {};
    p.t = *t;
    p.turns = *t->turns;
    p.at = elastic_layout(t->dim, t->n_faces);
    p.orientations = orientations_of(t->dim, t->n_faces);
    p.high = t->Nu - t->n_low;
    p.low = t->n_low;
    p.n_face = t->n_faces * t->m;
    p.N = t->dim * t->n_low;
    p.n = t->dim * p.n_face;
    p.O = scratch;
    p.F = p.O + s.O;
    p.FU = p.F + s.F;
    p.DF = p.FU + s.FU;
    return p;
}

void make_solid(const solid &p) {
    make_turns(p.turns, p.orientations, p.t.m, p.O, "condense_elastic");
    turn_tables<<<2 * multiprocessors(), 256>>>(p);
    launched("condense_elastic");
}

solid_tiles solid_tiles_of(const struct elastic_tables *t, double *scratch) {
    solid_tiles p = {};
    p.of = solid_of(t, scratch);
    p.tiles = (p.of.n_face + 7) / 8;
    p.linear = (t->n_faces * (t->rotations ? t->n_linear : 1) + 7) / 8;
    p.low_tiles = (p.of.low + 7) / 8;
    p.blocks = (p.of.N + 7) / 8;
    p.panels = (p.of.N + 3) / 4;
    p.high_blocks = (p.of.high + 7) / 8;
    p.high_panels = (p.of.high + 3) / 4;
    p.terms = t->dim * t->dim + t->n_faces;
    p.columns = t->n_faces * p.of.orientations * t->m;
    p.n_high = p.high_blocks * (p.high_blocks + 1) / 2 + p.high_blocks * (p.low_tiles + p.tiles);
    p.n_jobs = p.tiles * (p.tiles + 1) / 2 - p.linear * (p.linear + 1) / 2;
    const tile_sizes s(p);
    p.R = (four *)(((uintptr_t)(scratch + solid_size(t)) + 31) / 32 * 32);
    p.S = (double2 *)((double *)p.R + s.R);
    p.mass = p.S + s.S / 2;
    p.FU = (double *)(p.mass + s.mass / 2);
    p.FF = p.FU + s.FU;
    p.half = p.FF + s.FF;
    p.coordinates = p.half + s.half;
    p.pieces = (int2 *)(p.coordinates + s.coordinates);
    p.jobs = p.pieces + s.pieces;
    p.order = (int *)(p.jobs + s.jobs);
    return p;
}

int64_t solid_tiles_size(const struct elastic_tables *t) {
    const tile_sizes s(solid_tiles_of(t, nullptr));
    return even(solid_size(t) + 4 + s.R + s.S + s.mass + s.FU + s.FF + s.half + s.coordinates + s.pieces +
                s.jobs + s.order);
}

void make_solid_tiles(const solid_tiles &p) {
    const int blocks = 2 * multiprocessors();
    make_solid(p.of);
    turn_pairs<<<blocks, 256>>>(p);
    finish_pairs<<<2 * blocks, 256>>>(p);
    lay_tables<<<blocks, 256>>>(p);
    launched("condense_elastic");
}

} // namespace facet
