// The integrals of cells whose map is curved or whose data vary: see general_cell.cuh.
#include "kernels/cuda/general_cell.cuh"

namespace facet {
namespace {

constexpr int64_t RECORDS = (int64_t)24 << 20; // numbers of all records at hand, about

// With the directions a, a + 1, .. mixed by column a of the roots.
struct integral_part mixed_part(struct integral_part p, const struct general_tables &t, const double *roots,
                                int a) {
    if (roots == nullptr) return p;
    p.mix = roots + a * (t.dim + 1) * L;
    p.mix_step = t.dim * L;
    p.mix_batch = t.dim * t.dim * L;
    p.n_mix = t.dim - a;
    return p;
}

// The matrices of a record.
struct record {
    const shape &s;
    const struct general_cells *g;
    struct integrals *list;
    bool padded; // rows of a part, or of a direction, end with a tile

    record_place A() const {
        return {s.A, 8 * s.blocks, 0, false};
    }
    record_place C() const {
        return {s.C, 0, s.tiles, true};
    }
    record_place X() const {
        return {s.X, 0, s.tiles, false};
    }
    // The first row of direction a in X: parts stand one after the other.
    int row_of(int a) const {
        return s.full ? a * s.N : a * 8 * s.blocks;
    }

    void mass() const {
        const struct general_tables &t = s.t;
        const int N = t.N, pairs = s.full ? t.dim * (t.dim + 1) / 2 : 1;
        for (int b = 0, pair = 0; b < (s.full ? t.dim : 1); b++)
            for (int a = 0; a <= b; a++, pair++) {
                integrals_add(list, N, N, a == b, padded, A(), a * N, b * N);
                integrals_part(list,
                               g->det != nullptr
                                   ? plain_part(t.n_det, t.M, N * N, nullptr, 0, g->det, t.n_det * L, L)
                                   : plain_part(t.n, t.phi, N, t.phi, N, g->mass + (int64_t)pair * t.n * L,
                                                (int64_t)pairs * t.n * L, L));
            }
    }

    void gradients() const {
        const struct general_tables &t = s.t;
        const int N = t.N, dim = t.dim;
        const int64_t batch = (int64_t)t.n_metric * dim * dim * L;
        for (int a = 0; a < dim; a++) {
            integrals_add(list, N, N, false, padded, X(), row_of(a), 0);
            if (t.D != nullptr)
                integrals_part(list, mixed_part(plain_part(t.n_metric * dim, t.D, N * N, nullptr, 0,
                                                           g->cofactors + a * L, batch, dim * L),
                                                t, g->roots, a));
            for (int c = 0; c < dim && t.D == nullptr; c++)
                integrals_part(list,
                               mixed_part(plain_part(t.n, t.grad + (int64_t)c * t.n * N, N, t.phi, N,
                                                     g->cofactors + (c * dim + a) * L, batch, dim * dim * L),
                                          t, g->roots, a));
        }
    }

    // T and the reaction.
    void inside() const {
        const struct general_tables &t = s.t;
        const int N = t.N, points = t.n_faces * t.n_face;
        integrals_add(list, N, N, true, true, C(), 0, 0);
        integrals_part(list,
                       plain_part(points, t.face_phi, N, t.face_phi, N, g->tau, (int64_t)points * L, L));
        if (!s.reacts) return;
        integrals_part(list, plain_part(t.n, t.phi, N, t.phi, N, g->reaction, (int64_t)t.n * L, L));
        integrals_add(list, N, 1, false, true, {s.b, 8 * s.inner, 0, false}, 0, 0);
        integrals_part(list, plain_part(t.n, t.phi, N, nullptr, 0, g->reaction, (int64_t)t.n * L, L));
    }

    void faces() const {
        const struct general_tables &t = s.t;
        const int N = t.N, m = t.m, n = t.n_face, dim = t.dim, trace = 8 * s.inner;
        const int64_t points = (int64_t)t.n_faces * n;
        for (int f = 0; f < t.n_faces; f++) {
            const double *phi = t.face_phi + (int64_t)f * n * N, *tau = g->tau + (int64_t)f * n * L;
            for (int a = 0; a < dim; a++) {
                integrals_add(list, N, m, false, padded, X(), row_of(a), trace + f * m);
                integrals_part(list, mixed_part(plain_part(n, phi, N, t.psi, m,
                                                           g->normals + ((int64_t)f * n * dim + a) * L,
                                                           points * dim * L, dim * L),
                                                t, g->roots, a));
            }
            integrals_add(list, N, m, false, true, C(), 0, trace + f * m);
            integrals_part(list, plain_part(n, phi, N, t.psi, m, tau, points * L, L));
            integrals_add(list, m, m, true, false, C(), trace + f * m, trace + f * m);
            integrals_part(list, plain_part(n, t.psi, m, t.psi, m, tau, points * L, L));
        }
    }
};

// `to` = `count` matrices of N x N by columns.
__global__ void turn_over(int64_t count, int N, const double *from, double *to) {
    for (int64_t e = first_thread(); e < count * N * N; e += all_threads()) {
        const int64_t matrix = e / N / N;
        const int i = (int)(e % N), j = (int)(e / N % N);
        to[e] = from[(matrix * N + i) * N + j];
    }
}

// Numbers of O; 0: K is turned by signs, or by groups of functions.
int64_t turns_size(const struct general_tables *t) {
    const int64_t side = 8 * face_tiles(t->m);
    if (t->affine->n_groups == t->m || face_tiles(t->m) > MOST_FACE_TILES) return 0;
    return orientations_of(t->dim, t->n_faces) * side * side;
}

int64_t table_size(const struct general_tables *t) {
    return t->D != nullptr ? even((int64_t)t->n_metric * t->dim * t->N * t->N) : 0;
}

int64_t slices_size(const struct general_tables *t, bool full) {
    const int64_t a = general_condense_slices(shape_of(t, full, true, true)),
                  b = general_solve_slices(shape_of(t, full, true, false));
    return a > b ? a : b;
}

} // namespace

general_room general_room_of(const struct general_tables *t, bool full, double *scratch) {
    general_room room;
    room.O = turns_size(t) > 0 ? scratch : nullptr;
    room.D = t->D != nullptr ? scratch + turns_size(t) : nullptr;
    room.slices = scratch + turns_size(t) + table_size(t);
    room.records = room.slices + slices_size(t, full);
    return room;
}

int64_t general_room_size(const struct general_tables *t, bool full) {
    const int64_t a = shape_of(t, full, true, true).size, b = shape_of(t, full, true, false).size;
    const int64_t first = batches_of(a) * a, second = batches_of(b) * b;
    return turns_size(t) + table_size(t) + slices_size(t, full) + (first > second ? first : second) * L;
}

void general_room::begin(shape *s, const char *what) const {
    const struct general_tables &t = s->t;
    if (!may_launch()) return;
    if (O != nullptr && s->faces)
        make_turns(s->turns, orientations_of(t.dim, t.n_faces), 8 * face_tiles(t.m), O, what);
    if (D == nullptr) return;
    turn_over<<<2 * multiprocessors(), 256>>>((int64_t)t.n_metric * t.dim, t.N, t.D, D);
    launched(what);
    s->t.D = D;
}

shape shape_of(const struct general_tables *t, bool full, bool reacts, bool faces) {
    shape s = {};
    s.t = *t;
    s.turns = *t->affine;
    s.N = t->N;
    s.n = t->n_faces * t->m;
    s.full = full;
    s.reacts = reacts;
    s.faces = faces;
    s.rows = full ? t->dim * t->N : t->N;
    s.parts = full ? 1 : t->dim;
    s.blocks = (s.rows + 7) / 8;
    s.inner = (t->N + 7) / 8;
    s.tiles = s.inner + (faces ? (s.n + 7) / 8 : 0);
    s.A = 0;
    s.X = s.A + s.rows * 8 * s.blocks;
    s.C = s.X + s.parts * s.blocks * s.tiles * 64;
    s.b = s.C + triangle_tiles(s.tiles) * 64;
    s.size = s.b + 8 * s.inner;
    return s;
}

int64_t batches_of(int64_t size) {
    const int64_t n = RECORDS / (size * L);
    return n < 1 ? 1 : n;
}

struct integral_part plain_part(int n, const double *left, int ld_left, const double *right, int ld_right,
                                const double *in, int64_t batch, int step) {
    struct integral_part p = {};
    p.left = left;
    p.right = right;
    p.in = in;
    p.batch = batch;
    p.ld_left = ld_left;
    p.ld_right = ld_right;
    p.step = step;
    p.n = n;
    return p;
}

struct integrals general_integrals(const shape &s, const struct general_cells *g) {
    struct integrals list;
    integrals_begin(&list);
    const record r = {s, g, &list, !s.full || s.N % 8 == 0};
    r.mass();
    r.gradients();
    r.inside();
    if (s.faces) r.faces();
    return list;
}

} // namespace facet
