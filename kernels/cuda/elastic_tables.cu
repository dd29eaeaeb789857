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
__global__ void turn_pairs(const __grid_constant__ solid p) {
    const int m = p.t.m, faces = p.t.n_faces, places = faces * p.orientations, linear = p.t.n_linear;
    for (int e = first_thread(); e < faces * places * m * m; e += all_threads()) {
        const int j = e % m, i = e / m % m, g = e / m / m % places, f = e / m / m / places;
        const double *row = p.t.FF + ((f * faces + g / p.orientations) * m + i) * m;
        const double *O = p.O + g % p.orientations * m * m + j;
        double sum = 0.0;
        for (int a = 0; a < m; a++) sum += row[a] * O[a * m];
        p.half[e] = sum;
    }
    for (int e = first_thread(); e < places * p.t.dim * linear; e += all_threads()) {
        const int k = e % linear, axis = e / linear % p.t.dim, place = e / linear / p.t.dim;
        const double *O = p.O + place % p.orientations * m * m, *of = p.t.coordinates + axis * faces * linear;
        double sum = 0.0, mean = 0.0;
        for (int f = 0; f < faces; f++) mean += of[f * linear] / faces;
        for (int a = 0; a < linear; a++)
            sum += O[p.t.linear[a] * m + p.t.linear[k]] *
                   (of[place / p.orientations * linear + a] - (a == 0 ? mean : 0.0));
        p.coordinates[e] = sum;
    }
}

// O_f'F_f'F_g O_g.
__global__ void finish_pairs(const __grid_constant__ solid p) {
    const int m = p.t.m, places = p.t.n_faces * p.orientations;
    for (int64_t e = first_thread(); e < (int64_t)places * places * m * m; e += all_threads()) {
        const int j = (int)(e % m), i = (int)(e / m % m), g = (int)(e / m / m % places),
                  f = (int)(e / m / m / places);
        const double *half = p.half + ((int64_t)(f / p.orientations) * places + g) * m * m + j;
        const double *O = p.O + f % p.orientations * m * m + i;
        double sum = 0.0;
        for (int a = 0; a < m; a++) sum += O[a * m] * half[a * m];
        p.FF[e] = sum;
    }
}

// One thread: a few hundred numbers.
__global__ void list_order(const __grid_constant__ solid p) {
    const int m = p.t.m, runs = p.t.n_faces * p.t.dim, linear = p.t.n_linear;
    int rest = p.n_linear;
    for (int run = 0; run < runs; run++)
        for (int i = 0; i < m; i++) {
            int place = -1;
            for (int k = 0; k < linear; k++)
                if (p.t.linear[k] == i) place = run * linear + k;
            p.order[place >= 0 ? place : rest++] = run * m + i;
        }
}

// Numbers of the arrays of struct solid, in their order.
struct sizes {
    int64_t O, F, FU, DF, FF, half, coordinates, order;
    sizes(const struct elastic_tables *t, bool condense) {
        const int64_t m = t->m, places = t->n_faces * orientations_of(t->dim, t->n_faces);
        O = orientations_of(t->dim, t->n_faces) * m * m;
        F = places * t->N * m;
        FU = places * t->Nu * m;
        DF = places * t->dim * t->n_low * m;
        FF = condense ? places * places * m * m : 0;
        half = condense ? t->n_faces * places * m * m : 0;
        coordinates = condense ? places * t->dim * t->n_linear : 0;
        order = condense ? (t->n_faces * t->dim * m + 1) / 2 : 0;
    }
};

} // namespace

int64_t solid_size(const struct elastic_tables *t, bool condense) {
    const sizes s(t, condense);
    return even(s.O + s.F + s.FU + s.DF + s.FF + s.half + s.coordinates + s.order);
}

solid solid_of(const struct elastic_tables *t, bool condense, double *scratch) {
    const sizes s(t, condense);
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
    p.n_linear = t->dim * t->n_faces * t->n_linear;
    p.O = scratch;
    p.F = p.O + s.O;
    p.FU = p.F + s.F;
    p.DF = p.FU + s.FU;
    p.FF = p.DF + s.DF;
    p.half = p.FF + s.FF;
    p.coordinates = p.half + s.half;
    p.order = (int *)(p.coordinates + s.coordinates);
    return p;
}

void make_solid(const solid &p, bool condense) {
    const int blocks = 2 * multiprocessors();
    make_turns(p.turns, p.orientations, p.t.m, p.O, "condense_elastic");
    turn_tables<<<blocks, 256>>>(p);
    if (condense) {
        turn_pairs<<<blocks, 256>>>(p);
        finish_pairs<<<2 * blocks, 256>>>(p);
        list_order<<<1, 1>>>(p);
    }
    launched("condense_elastic");
}

} // namespace facet
