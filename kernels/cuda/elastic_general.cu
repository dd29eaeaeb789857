// Element matrices of curved cells of elasticity and of those whose moduli vary: see elastic_general.cuh.
#include "kernels/cuda/elastic_general.cuh"

namespace facet {
namespace {

// Where the numbers of a cell stand, all of them even. C, which is room for projections before, makes room
// for the motions and for K as it is turned.
struct places {
    int ld_A, ld, numbers, o, K, T, W, V, C, motions, D, turned, size;
};

places places_of(const body &b) {
    places at;
    const int n_K = even((int64_t)b.n * (b.n + 1) / 2);
    at.ld_A = (int)row_length(2 * b.N);
    at.ld = (int)row_length(b.rows + b.n);
    at.numbers = 0;
    at.o = at.numbers + even(N_ELASTIC_NUMBERS);
    at.K = at.o + even(b.dim * b.t.sizes.n_faces);
    at.T = at.K + n_K;
    at.W = at.T + (b.t.projects ? even(b.Nu * (b.Nu + 1) / 2) : 0);
    at.V = at.W + b.masses * b.n_W;
    const int n_V = b.masses * b.dim * b.n_V, n_A = even(padded_rows(b.N) * at.ld_A);
    at.C = at.V + (n_V > n_A ? n_V : n_A);
    at.motions = at.C;
    at.D = at.motions + even(MOTIONS * b.n);
    at.turned = at.D + even(MOTIONS * b.n);
    const int64_t ends[] = {at.C + padded_rows(b.rows) * at.ld, at.C + projection_size(b),
                            at.turned + (n_K > b.n * b.m ? n_K : b.n * b.m) + MOTIONS * MOTIONS};
    at.size = 0;
    for (int64_t end : ends) at.size = even(end) > at.size ? even(end) : at.size;
    return at;
}

// K is zero on rigid motions. diagonal: room for n numbers and no fewer than 36.
template <class T>
__device__ __forceinline__ void restore(const body &b, const T &team, const double *coordinates, double *of,
                                        double *D, double *diagonal, double *K) {
    const int n = b.n, dim = b.dim, m = b.m, faces = b.t.sizes.n_faces;
    const bool rotations = b.t.sizes.rotations;
    if (team.warp == 0) {
        double mean[3] = {0.0, 0.0, 0.0};
        for (int k = 0; k < faces * dim && rotations; k++)
            mean[k % dim] += coordinates[(int64_t)((k / dim) * m * dim + k % dim) * L] / faces;
        for (int q = team.lane; q < n; q += 32) {
            const int k = q % m, c = q / m % dim, f = q / m / dim;
            double x[3] = {0.0, 0.0, 0.0};
            for (int a = 0; a < dim && rotations; a++)
                x[a] = coordinates[(int64_t)((f * m + k) * dim + a) * L] - (k == 0 ? mean[a] : 0.0);
            put_motion(dim, faces, rotations, c, k, x, of + q * MOTIONS);
        }
        __syncwarp();
        orthonormalize(team.lane, n, dim, rotations, of);
    }
    for (int q = team.thread; q < n; q += T::THREADS) diagonal[q] = K[triangle_row(q) + q];
    team.sync();
    find_lack(
        team, n, n, dim, [&](int q, int j) { return entry_of(K, q, j); }, of, D, diagonal);
    for (int i = team.warp; i < n; i += T::THREADS / 32)
        for (int j = team.lane; j <= i; j += 32) {
            double sum = K[triangle_row(i) + j];
#pragma unroll
            for (int r = 0; r < MOTIONS; r++)
                sum += D[i * MOTIONS + r] * of[j * MOTIONS + r] + of[i * MOTIONS + r] * D[j * MOTIONS + r];
            K[triangle_row(i) + j] = sum;
        }
    team.sync();
}

// In slices two blocks of eight warps hide more of each other's waits than all registers of one would.
template <int DIM, int WARPS, bool SHARED>
__global__ void __launch_bounds__(WARPS == 1 ? 32 * TEAMS : 32 * WARPS, SHARED ? 1 : 2)
    condense(const __grid_constant__ body b, const __grid_constant__ places at, int64_t first_batch,
             int64_t n_cells, const double *records, const __grid_constant__ struct elastic_general_cells g,
             const double *O, double *K, double *slices, unsigned long long *failed) {
    extern __shared__ __align__(16) double room[];
    constexpr int CELLS = WARPS == 1 ? TEAMS : 1;
    const int mine = WARPS == 1 ? threadIdx.x / 32 : 0;
    const int rows = b.rows, n = b.n, n_K = triangle_row(n), trace = 8 * b.inner, m = b.m;
    double *own = SHARED ? room + mine * at.size : slices + (int64_t)blockIdx.x * at.size;
    double *numbers = own + at.numbers, *o = own + at.o, *C = own + at.C, *own_K = own + at.K;
    for (int64_t first = (int64_t)blockIdx.x * CELLS; first < n_cells; first += (int64_t)gridDim.x * CELLS) {
        const team<WARPS> team = team_here<WARPS>();
        const int64_t cell = first + mine, batch = first_batch + cell / L;
        const int lane = (int)(cell % L);
        const double *record = records + cell * b.size;
        get_numbers(b, team, g, batch, lane, numbers, o);
        bool good = make_V(b, team, record, at.ld_A, own + at.W, own + at.V);
        if (b.t.projects) good = project(b, team, record, C, own + at.T) && good;
        make_entries<DIM>(b, team, b.tiles, record, own + at.T, numbers, own + at.V,
                          [&](int c, int x, int d, int y, double value) {
                              if (y < trace) {
                                  const int i = c * b.Nu + x, j = d * b.Nu + y;
                                  C[i <= j ? i * at.ld + j : j * at.ld + i] = value;
                              } else if (x < trace) {
                                  C[(c * b.Nu + x) * at.ld + rows + trace_place(b, d, y - trace)] = value;
                              } else {
                                  entry_of(own_K, trace_place(b, c, x - trace),
                                           trace_place(b, d, y - trace)) = value;
                              }
                          });
        clear_padding(team, rows, at.ld, C);
        team.sync();
        good = eliminate<false>(team, rows, rows + n, at.ld, C) && good;
        if (!good && team.thread == 0) atomicMin(failed, (unsigned long long)batch);
        subtract_gram(
            team, rows, n, at.ld, C + rows,
            [&](int i) { return [row = own_K + triangle_row(i)](int j) { return row[j]; }; },
            [&](int i, int j, double x) { own_K[triangle_row(i) + j] = x; });
        team.sync();
        restore(b, team, g.coordinates + (batch * b.n_face * b.dim) * L + lane, own + at.motions, own + at.D,
                own + at.turned, own_K);
        if (O != nullptr)
            turn_faces(team, b.dim * b.t.sizes.n_faces, m, O, o, own_K, own + at.turned);
        else
            turn(oriented{b.turns, n, {0}}, team, o, own_K, own + at.turned);
        team.sync();
        const double *from = O != nullptr ? own + at.turned : own_K;
        double *to = K + batch * n_K * L + lane;
        for (int e = team.thread; e < n_K; e += team.THREADS) to[(int64_t)e * L] = from[e];
        team.sync();
    }
}

// The matrices of a record.
struct record {
    const body &b;
    const struct elastic_general_cells *g;
    struct integrals *list;

    record_place X() const {
        return {b.X, 0, b.tiles, false};
    }
    record_place C() const {
        return {b.C, 0, b.tiles, true};
    }
    void masses() const {
        const struct elastic_general_tables &t = b.t;
        for (int mass = 0; mass < b.masses; mass++) {
            integrals_add(list, b.N, b.N, true, true, {mass == 0 ? b.A : b.B, 8 * b.blocks, 0, false}, 0, 0);
            integrals_part(list, plain_part(t.n, t.chi, b.Nu, t.chi, b.Nu, mass == 0 ? g->dev : g->vol,
                                            (int64_t)t.n * L, L));
        }
    }
    void gradients() const {
        const struct elastic_general_tables &t = b.t;
        const int dim = b.dim;
        for (int a = 0; a < dim; a++) {
            integrals_add(list, b.N, b.Nu, false, true, X(), a * 8 * b.blocks, 0);
            for (int c = 0; c < dim; c++)
                integrals_part(list, plain_part(t.n, t.grad + (int64_t)c * t.n * b.Nu, b.Nu, t.chi, b.Nu,
                                                g->cofactors + (c * dim + a) * L,
                                                (int64_t)t.n * dim * dim * L, dim * dim * L));
        }
    }
    void faces() const {
        const struct elastic_general_tables &t = b.t;
        const int n = t.n_face, dim = b.dim, trace = 8 * b.inner;
        const int64_t points = (int64_t)t.sizes.n_faces * n;
        if (!t.projects) {
            integrals_add(list, b.Nu, b.Nu, true, true, C(), 0, 0);
            integrals_part(
                list, plain_part((int)points, t.face_chi, b.Nu, t.face_chi, b.Nu, g->tau, points * L, L));
        }
        for (int f = 0; f < t.sizes.n_faces; f++) {
            const double *chi = t.face_chi + (int64_t)f * n * b.Nu, *tau = g->tau + (int64_t)f * n * L;
            for (int a = 0; a < dim; a++) {
                integrals_add(list, b.N, b.m, false, true, X(), a * 8 * b.blocks, trace + f * b.m);
                integrals_part(list, plain_part(n, chi, b.Nu, t.psi, b.m,
                                                g->normals + ((int64_t)f * n * dim + a) * L, points * dim * L,
                                                dim * L));
            }
            integrals_add(list, b.Nu, b.m, false, true, C(), 0, trace + f * b.m);
            integrals_part(list, plain_part(n, chi, b.Nu, t.psi, b.m, tau, points * L, L));
            trace_mass(f);
        }
    }
    void trace_mass(int f) const {
        const int n = b.t.n_face, first = 8 * b.inner + f * b.m;
        integrals_add(list, b.m, b.m, true, false, C(), first, first);
        integrals_part(list, plain_part(n, b.t.psi, b.m, b.t.psi, b.m, g->tau + (int64_t)f * n * L,
                                        (int64_t)b.t.sizes.n_faces * n * L, L));
    }
};

// The same of functions of the cells' own, where projections stabilize.
struct own_record {
    const body &b;
    const struct elastic_general_cells *g;
    struct own_integrals *list;
    const record &r;

    void inside() const {
        const int n = b.t.n, N = b.N, Nu = b.Nu;
        const int64_t chi = (int64_t)n * Nu * L, slopes = (int64_t)n * N * L;
        for (int mass = 0; mass < b.masses; mass++)
            own_integrals_add(list, {g->chi,
                                     g->chi,
                                     mass == 0 ? g->dev : g->vol,
                                     chi,
                                     chi,
                                     (int64_t)n * L,
                                     Nu,
                                     Nu,
                                     L,
                                     n,
                                     N,
                                     N,
                                     0,
                                     0,
                                     {mass == 0 ? b.A : b.B, 8 * b.blocks, 0, false},
                                     0});
        for (int a = 0; a < b.dim; a++)
            own_integrals_add(list, {g->slopes + a * slopes, g->chi, nullptr, b.dim * slopes, chi, 0, N, Nu,
                                     0, n, N, Nu, a * 8 * b.blocks, 0, r.X(), 0});
    }
    void faces() const {
        const int n = b.t.n_face, dim = b.dim, Nu = b.Nu, m = b.m;
        const int64_t points = (int64_t)b.t.sizes.n_faces * n;
        for (int f = 0; f < b.t.sizes.n_faces; f++) {
            const double *chi = g->face_chi + (int64_t)f * n * Nu * L;
            const int column = 8 * b.inner + f * m;
            for (int a = 0; a < dim; a++)
                own_integrals_add(list, {chi, b.t.psi, g->normals + ((int64_t)f * n * dim + a) * L,
                                         points * Nu * L, 0, points * dim * L, Nu, m, dim * L, n, b.N, m,
                                         a * 8 * b.blocks, column, r.X(), 0});
            own_integrals_add(list, {chi, b.t.psi, g->tau + (int64_t)f * n * L, points * Nu * L, 0,
                                     points * L, Nu, m, L, n, Nu, m, 0, column, r.C(), 0});
            r.trace_mass(f);
        }
    }
};

// Numbers of O; 0: K is turned by signs, or by groups of functions.
int64_t turns_size(const body &b) {
    const int64_t side = 8 * face_tiles(b.m);
    if (b.turns.n_groups == b.m || face_tiles(b.m) > MOST_FACE_TILES) return 0;
    return orientations_of(b.dim, b.t.sizes.n_faces) * side * side;
}

// Of either form, with one mass or two: the smaller cells may be more.
int64_t slices_size(const struct elastic_general_tables *t) {
    int64_t most = 0;
    for (int form = 0; form < 4; form++) {
        const body b = body_of(t, form % 2 == 1);
        const int64_t size = form < 2 ? body_condense_size(b) : body_solve_size(b);
        most = general_slices(size) * size > most ? general_slices(size) * size : most;
    }
    return most;
}

int64_t records_size(const struct elastic_general_tables *t) {
    const int64_t one = body_of(t, false).size, both = body_of(t, true).size;
    const int64_t first = batches_of(one) * one, second = batches_of(both) * both;
    return (first > second ? first : second) * L;
}

} // namespace

int64_t body_condense_size(const body &b) {
    return places_of(b).size;
}

body body_of(const struct elastic_general_tables *t, bool vol) {
    body b = {};
    b.t = *t;
    b.turns = *t->sizes.turns;
    b.dim = t->sizes.dim;
    b.N = t->sizes.N;
    b.Nu = t->sizes.Nu;
    b.m = t->sizes.m;
    b.n_face = t->sizes.n_faces * b.m;
    b.rows = b.dim * b.Nu;
    b.n = b.dim * b.n_face;
    b.blocks = (b.N + 7) / 8;
    b.inner = (b.Nu + 7) / 8;
    b.tiles = b.inner + (b.n_face + 7) / 8;
    b.masses = vol ? 2 : 1;
    b.n_W = triangle_tiles(b.blocks) * 64;
    b.n_V = b.blocks * b.tiles * 64;
    b.A = 0;
    b.B = b.A + b.N * 8 * b.blocks;
    b.X = b.A + b.masses * b.N * 8 * b.blocks;
    b.C = b.X + b.dim * b.n_V;
    b.size = b.C + triangle_tiles(b.tiles) * 64;
    return b;
}

struct integrals body_integrals(const body &b, const struct elastic_general_cells *g,
                                struct own_integrals *own) {
    struct integrals list;
    integrals_begin(&list);
    const record r = {b, g, &list};
    if (g->chi != nullptr) {
        const own_record o = {b, g, own, r};
        o.inside();
        o.faces();
    } else {
        r.masses();
        r.gradients();
        r.faces();
    }
    return list;
}

body_room body_room_of(const struct elastic_general_tables *t, double *scratch) {
    const body b = body_of(t, true);
    body_room room;
    room.O = turns_size(b) > 0 ? scratch : nullptr;
    room.slices = scratch + turns_size(b);
    room.records = room.slices + slices_size(t);
    return room;
}

void body_turns(const body &b, double *O, const char *what) {
    if (O != nullptr)
        make_turns(b.turns, orientations_of(b.dim, b.t.sizes.n_faces), 8 * face_tiles(b.m), O, what);
}

} // namespace facet

using namespace facet;

int64_t elastic_general_scratch_cuda(const struct elastic_general_tables *t) {
    return turns_size(body_of(t, true)) + slices_size(t) + records_size(t);
}

int64_t condense_elastic_general_cuda(const struct elastic_general_tables *t,
                                      const struct elastic_general_cells *g, int64_t n_batches, double *K,
                                      double *scratch) {
    const char *what = "condense_elastic_general";
    const body b = body_of(t, g->vol != nullptr);
    const places at = places_of(b);
    const body_room room = body_room_of(t, scratch);
    const struct elastic_general_cells cells = *g;
    return find_failure(n_batches, [&](unsigned long long *failed) {
        auto work = [&](int64_t first, int64_t n) {
            by_size<true>(at.size, general_slices(at.size), SMALL, MANY_NUMBERS, TEAMS, n * L,
                          [&](const auto &way) {
                              using W = std::decay_t<decltype(way)>;
                              auto go = [&](auto kernel) {
                                  launch(kernel, what, way.blocks, way.threads, way.bytes, b, at, first,
                                         n * L, (const double *)room.records, cells, (const double *)room.O,
                                         K, room.slices, failed);
                              };
                              if (b.dim == 2)
                                  go(condense<2, W::WARPS, W::SHARED>);
                              else
                                  go(condense<3, W::WARPS, W::SHARED>);
                          });
        };
        body_turns(b, room.O, what);
        struct own_integrals own = {};
        const struct integrals list = body_integrals(b, g, &own);
        by_records(list, n_batches, b.size, room.records, what, work, &own);
    });
}
