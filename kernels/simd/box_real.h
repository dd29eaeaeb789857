/* The product y = K d of one pack of cells, for numbers of type REAL in lanes of type LANE: box.c includes
 * this once for each precision. */

/* Scratch of a thread: a_d v_d^parity, and the sums of w s. */
struct NAME(workspace) {
    LANE *in[3][2], *out[3][2];
    LANE *own;   /* weights of a pack whose lanes differ */
    LANE *below; /* what goes to the plane below the first layer */
    REAL *wrap;  /* of a row: what goes to its last face */
    LANE *same;  /* what goes to the lower face where it is the upper one */
    double dot;
};

static void NAME(workspace_lay_out)(const struct box_plan *p, int thread, struct NAME(workspace) * w) {
    LANE *at = (LANE *)(NUMBERS(p)->scratch + thread * p->scratch_size);
    int64_t volume = (int64_t)p->modes[0] * p->modes[1] * p->modes[2];
    for (int d = 0; d < 3; d++)
        for (int parity = 0; parity < 2; parity++) {
            int64_t room = volume / p->modes[d] + KERNEL_BOX_GAP;
            w->in[d][parity] = at;
            w->out[d][parity] = at + room;
            if (!p->present[d]) memset((void *)at, 0, (size_t)room * sizeof *at);
            at += 2 * room;
        }
    w->wrap = (REAL *)at;
    at += p->face[0];
    w->same = at;
    at += p->face[1];
    w->below = at;
    at += p->face[2] * p->cells[1] * p->packs;
    w->own = at;
    w->dot = 0.0;
}

/* One tile of a block. first_i: out[0] is assigned, not added to; first_j: out[1]; own: weights have lanes.
 */
INLINE void NAME(tile)(int I, int J, int first_i, int first_j, int own, int Nj, int Nk, const LANE *in0,
                       const LANE *in1, const LANE *in2, const void *weights, LANE *out0, LANE *out1,
                       LANE *out2) {
    LANE fixed[KERNEL_BOX_I][KERNEL_BOX_J], sum[KERNEL_BOX_I][KERNEL_BOX_J];
    const REAL *w = weights;
#pragma GCC unroll 4
    for (int i = 0; i < I; i++)
#pragma GCC unroll 4
        for (int j = 0; j < J; j++) {
            fixed[i][j] = in2[i * Nj + j];
            sum[i][j] = (LANE){0};
        }
#pragma GCC unroll 1
    for (int k = 0; k < Nk; k++) {
        LANE x0[KERNEL_BOX_J], y0[KERNEL_BOX_J];
#pragma GCC unroll 4
        for (int j = 0; j < J; j++) {
            x0[j] = in0[j * Nk + k];
            y0[j] = first_i ? (LANE){0} : out0[j * Nk + k];
        }
#pragma GCC unroll 4
        for (int i = 0; i < I; i++) {
            LANE x1 = in1[i * Nk + k], y1 = first_j ? (LANE){0} : out1[i * Nk + k];
#pragma GCC unroll 4
            for (int j = 0; j < J; j++) {
                LANE s = x0[j] + x1 + fixed[i][j], t;
                if (own)
                    t = ((const LANE *)weights)[(k * I + i) * J + j] * s;
                else
                    t = w[(k * I + i) * J + j] * s;
                sum[i][j] += t;
                y0[j] += t;
                y1 += t;
            }
            out1[i * Nk + k] = y1;
        }
#pragma GCC unroll 4
        for (int j = 0; j < J; j++) out0[j * Nk + k] = y0[j];
    }
#pragma GCC unroll 4
    for (int i = 0; i < I; i++)
#pragma GCC unroll 4
        for (int j = 0; j < J; j++) out2[i * Nj + j] = sum[i][j];
}

/* All tiles of a row of tiles: fixed I. */
INLINE const REAL *NAME(tiles)(int I, int first_i, int own, int Nj, int Nk, const LANE *in0, const LANE *in1,
                               const LANE *in2, const REAL *w, LANE *out0, LANE *out1, LANE *out2) {
    int j = 0, lanes = own ? L : 1;
    if (Nj >= KERNEL_BOX_J) {
        NAME(tile)(I, KERNEL_BOX_J, first_i, 1, own, Nj, Nk, in0, in1, in2, w, out0, out1, out2);
        w += I * KERNEL_BOX_J * Nk * lanes;
        for (j = KERNEL_BOX_J; j + KERNEL_BOX_J <= Nj; j += KERNEL_BOX_J, w += I * KERNEL_BOX_J * Nk * lanes)
            NAME(tile)
        (I, KERNEL_BOX_J, first_i, 0, own, Nj, Nk, in0 + j * Nk, in1, in2 + j, w, out0 + j * Nk, out1,
         out2 + j);
    }
    _Static_assert(KERNEL_BOX_J == 2, "one mode may be left over");
    if (j < Nj) {
        if (j == 0)
            NAME(tile)(I, 1, first_i, 1, own, Nj, Nk, in0, in1, in2, w, out0, out1, out2);
        else
            NAME(tile)
        (I, 1, first_i, 0, own, Nj, Nk, in0 + j * Nk, in1, in2 + j, w, out0 + j * Nk, out1, out2 + j);
        w += I * Nk * lanes;
    }
    return w;
}

#define TILES(I)                                                                                             \
    (i == 0 ? NAME(tiles)(I, 1, own, Nj, Nk, in0, in1, in2, w, out0, out1, out2)                             \
            : NAME(tiles)(I, 0, own, Nj, Nk, in0, in1 + i * Nk, in2 + i * Nj, w, out0, out1 + i * Nk,        \
                          out2 + i * Nj))

/* One block of parities; returns where the weights of the next one begin. */
INLINE const REAL *NAME(block)(int own, int Ni, int Nj, int Nk, const LANE *in0, const LANE *in1,
                               const LANE *in2, const REAL *w, LANE *out0, LANE *out1, LANE *out2) {
    _Static_assert(KERNEL_BOX_I == 4, "the cases below");
    for (int i = 0; i < Ni; i += KERNEL_BOX_I) {
        int left = Ni - i;
        w = left >= 4 ? TILES(4) : left == 3 ? TILES(3) : left == 2 ? TILES(2) : TILES(1);
    }
    return w;
}
#undef TILES

static __attribute__((noinline)) const REAL *NAME(block_shared)(int Ni, int Nj, int Nk, const LANE *in0,
                                                                const LANE *in1, const LANE *in2,
                                                                const REAL *w, LANE *out0, LANE *out1,
                                                                LANE *out2) {
    return NAME(block)(0, Ni, Nj, Nk, in0, in1, in2, w, out0, out1, out2);
}

static __attribute__((noinline)) const REAL *NAME(block_own)(int Ni, int Nj, int Nk, const LANE *in0,
                                                             const LANE *in1, const LANE *in2, const REAL *w,
                                                             LANE *out0, LANE *out1, LANE *out2) {
    return NAME(block)(1, Ni, Nj, Nk, in0, in1, in2, w, out0, out1, out2);
}

/* Where a pack stands. */
struct NAME(place) {
    int layer, row, pack;
    const LANE *metric;
    int64_t number;
};

/* Weights of all lanes of a block, in the order of reading. */
static void NAME(weigh)(const struct box_plan *p, const struct NAME(place) * at, const int parity[3],
                        LANE *w) {
    const TABLES *n = NUMBERS(p);
    const int *m = p->modes;
    int N[3], first[3];
    for (int d = 0; d < 3; d++) {
        N[d] = box_count(p, d, parity[d]);
        first[d] = box_first(p, d, parity[d]);
    }
    const LANE *Bx = (const LANE *)n->squares[0] + at->pack * m[0] + first[0];
    const LANE *Lx = (const LANE *)n->eigenvalues[0] + at->pack * m[0] + first[0];
    const REAL *By = n->squares[1] + at->row * m[1] + first[1],
               *Ly = n->eigenvalues[1] + at->row * m[1] + first[1];
    const REAL *Bz = n->squares[2] + at->layer * m[2] + first[2],
               *Lz = n->eigenvalues[2] + at->layer * m[2] + first[2];
    for (int i0 = 0; i0 < N[0]; i0 += KERNEL_BOX_I)
        for (int j0 = 0; j0 < N[1]; j0 += KERNEL_BOX_J)
            for (int k = 0; k < N[2]; k++)
                for (int i = i0; i < i0 + KERNEL_BOX_I && i < N[0]; i++) {
                    LANE Z = at->metric[3] + at->metric[0] * Lx[i] + at->metric[2] * Lz[k], B = Bx[i] * Bz[k];
                    for (int j = j0; j < j0 + KERNEL_BOX_J && j < N[1]; j++)
                        *w++ = B * By[j] / (Z + at->metric[1] * Ly[j]);
                }
}

/* Sums and differences of a face-pack and the one below it. */
static __attribute__((noinline)) void NAME(pair)(int64_t n, LANE a, const LANE *upper, const LANE *lower,
                                                 LANE *restrict sum, LANE *restrict difference) {
    for (int64_t t = 0; t < n; t++) {
        LANE u = upper[t], l = lower[t];
        sum[t] = a * (u + l);
        difference[t] = a * (u - l);
    }
}

INLINE LANE NAME(shift_up)(LANE u, REAL first) {
    LANE f = {first};
    return __builtin_shufflevector(u, f, 8, 0, 1, 2, 3, 4, 5, 6);
}
INLINE LANE NAME(shift_down)(LANE u) {
    return __builtin_shufflevector(u, (LANE){0}, 1, 2, 3, 4, 5, 6, 7, 8);
}

/* The same along x: the face below lane 0 is lane `last` of another pack, or zero. */
static __attribute__((noinline)) void NAME(pair_x)(int64_t n, LANE a, const LANE *upper, const REAL *before,
                                                   LANE *restrict sum, LANE *restrict difference) {
    for (int64_t t = 0; t < n; t++) {
        LANE u = upper[t], l = NAME(shift_up)(u, before[t * L]);
        sum[t] = a * (u + l);
        difference[t] = a * (u - l);
    }
}

static void NAME(gather)(const struct box_plan *p, const struct NAME(place) * at, const REAL *d,
                         struct NAME(workspace) * w) {
    const REAL *zeros = NUMBERS(p)->zeros, *before = zeros;
    int last = p->cells[0] - 1, l = at->layer, r = at->row;
    const REAL *x = d + box_face_0(p, l, r, at->pack, L);
    if (at->pack > 0 || p->extra[0])
        before = x - p->face[0] * L + L - 1;
    else if (p->periodic[0])
        before = d + box_face_0(p, l, r, last / L, L) + last % L;
    NAME(pair_x)(p->face[0], at->metric[0], (const LANE *)x, before, w->in[0][0], w->in[0][1]);
    if (p->present[1]) {
        const REAL *lower = zeros;
        if (r > 0 || p->extra[1] || p->periodic[1])
            lower = d + box_face_1(p, l, r > 0 || p->extra[1] ? r - 1 : p->cells[1] - 1, at->pack, L);
        NAME(pair)
        (p->face[1], at->metric[1], (const LANE *)(d + box_face_1(p, l, r, at->pack, L)), (const LANE *)lower,
         w->in[1][0], w->in[1][1]);
    }
    if (p->present[2]) {
        const REAL *lower = zeros;
        if (l > 0 || p->extra[2] || p->periodic[2])
            lower = d + box_face_2(p, l > 0 || p->extra[2] ? l - 1 : p->cells[2] - 1, r, at->pack, L);
        NAME(pair)
        (p->face[2], at->metric[2], (const LANE *)(d + box_face_2(p, l, r, at->pack, L)), (const LANE *)lower,
         w->in[2][0], w->in[2][1]);
    }
}

static void NAME(multiply_blocks)(const struct box_plan *p, const struct NAME(place) * at,
                                  struct NAME(workspace) * w) {
    int64_t volume = (int64_t)p->modes[0] * p->modes[1] * p->modes[2];
    int table = p->tables[at->number];
    const REAL *weights = table >= 0 ? NUMBERS(p)->weights + table * volume : (const REAL *)w->own;
    for (int block = 0; block < 8; block++) {
        int q[3] = {block >> 2, (block >> 1) & 1, block & 1};
        int Ni = box_count(p, 0, q[0]), Nj = box_count(p, 1, q[1]), Nk = box_count(p, 2, q[2]);
        if (Ni == 0 || Nj == 0 || Nk == 0) continue;
        int64_t at0 = box_block(p, 1, 2, q[1], q[2]), at1 = box_block(p, 0, 2, q[0], q[2]),
                at2 = box_block(p, 0, 1, q[0], q[1]);
        const LANE *in0 = w->in[0][q[0]] + at0, *in1 = w->in[1][q[1]] + at1, *in2 = w->in[2][q[2]] + at2;
        LANE *out0 = w->out[0][q[0]] + at0, *out1 = w->out[1][q[1]] + at1, *out2 = w->out[2][q[2]] + at2;
        if (table >= 0) {
            weights = NAME(block_shared)(Ni, Nj, Nk, in0, in1, in2, weights, out0, out1, out2);
        } else {
            NAME(weigh)(p, at, q, w->own);
            NAME(block_own)(Ni, Nj, Nk, in0, in1, in2, (const REAL *)w->own, out0, out1, out2);
        }
    }
}

/* What a pack gives to its faces along one axis. */
struct NAME(faces) {
    LANE a, ka, g0, g1, mask; /* metric, k a, k gamma, and 0 in the lane of a fixed upper face along x */
    const LANE *in0, *in1, *out0, *out1;
    const LANE *lanes; /* B of the slow axis: of lanes, or one number a mode */
    const REAL *outer, *inner;
    int slow, fast;
};

static void NAME(prepare)(const struct box_plan *p, int axis, const struct NAME(place) * at,
                          const struct NAME(workspace) * w, struct NAME(faces) * f) {
    const TABLES *n = NUMBERS(p);
    const int column[3] = {at->pack, at->row, at->layer};
    LANE k = at->metric[4];
    f->slow = axis == 0 ? 1 : 0;
    f->fast = axis == 2 ? 1 : 2;
    f->a = at->metric[axis];
    f->ka = k * f->a;
    f->mask = (LANE){0} + 1;
    if (axis == 0) {
        f->g0 = k * ((const LANE *)n->gamma[0])[2 * at->pack];
        f->g1 = k * ((const LANE *)n->gamma[0])[2 * at->pack + 1];
        if (p->fixed[0][1] && at->pack == (p->cells[0] - 1) / L) f->mask[(p->cells[0] - 1) % L] = 0;
    } else {
        f->g0 = k * n->gamma[axis][2 * column[axis]];
        f->g1 = k * n->gamma[axis][2 * column[axis] + 1];
    }
    f->in0 = w->in[axis][0];
    f->in1 = w->in[axis][1];
    f->out0 = w->out[axis][0];
    f->out1 = w->out[axis][1];
    f->lanes = f->slow == 0 ? (const LANE *)n->squares[0] + (int64_t)at->pack * p->modes[0] : NULL;
    f->outer = n->squares[1] + (int64_t)at->row * p->modes[1];
    f->inner = n->squares[f->fast] + (int64_t)column[f->fast] * p->modes[f->fast];
}

/* How a contribution reaches its face. */
enum NAME(manner) { NAME(STORE), NAME(ADD), NAME(DROP) };

/* What the cells of a pack give to their upper and lower faces along an axis: with
 * q_parity = k (gamma_parity B B in_parity - a out_parity), q_0 + q_1 and q_0 - q_1; returns d . y of these.
 * along_x: the lower faces are the upper ones of the lanes before, and the first lane's goes to `lower`. */
INLINE double NAME(scatter)(const struct box_plan *p, const struct NAME(faces) * f, int along_x,
                            enum NAME(manner) up, enum NAME(manner) down, REAL *restrict upper,
                            REAL *restrict lower) {
    LANE dot = {0}, *restrict y = (LANE *)upper, *restrict z = (LANE *)lower;
    const LANE a = f->a, ka = f->ka, mask = f->mask;
    for (int odd = 0; odd < 2; odd++)
        for (int parity = 0; parity < 2; parity++) {
            int first = box_first(p, f->slow, odd), last = first + box_count(p, f->slow, odd);
            int count = box_count(p, f->fast, parity);
            const REAL *B = f->inner + box_first(p, f->fast, parity);
            int64_t t = box_block(p, f->slow, f->fast, odd, parity);
            for (int o = first; o < last; o++) {
                LANE outer = f->lanes != NULL ? f->lanes[o] : (LANE){0} + f->outer[o];
                LANE h0 = f->g0 * outer, h1 = f->g1 * outer;
                for (int i = 0; i < count; i++, t++) {
                    LANE v0 = f->in0[t], v1 = f->in1[t];
                    LANE q0 = B[i] * h0 * v0 - ka * f->out0[t], q1 = B[i] * h1 * v1 - ka * f->out1[t];
                    LANE plus = q0 + q1, minus = q0 - q1;
                    dot += q0 * v0 + q1 * v1;
                    if (along_x) {
                        y[t] = plus * mask + NAME(shift_down)(minus);
                        lower[t * L] = down == NAME(ADD) ? lower[t * L] + minus[0] : minus[0];
                        continue;
                    }
                    y[t] = up == NAME(DROP) ? (LANE){0} : up == NAME(ADD) ? y[t] + plus : plus;
                    if (down != NAME(DROP)) z[t] = down == NAME(ADD) ? z[t] + minus : minus;
                }
            }
        }
    double sum = 0.0;
    for (int i = 0; i < L; i++) sum += (double)(dot[i] / a[i]);
    return sum;
}

#define SCATTER(name, along_x, up, down)                                                                     \
    static __attribute__((noinline)) double NAME(name)(                                                      \
        const struct box_plan *p, const struct NAME(faces) * f, REAL * upper, REAL * lower) {                \
        return NAME(scatter)(p, f, along_x, NAME(up), NAME(down), upper, lower);                             \
    }
SCATTER(row_begin, 1, STORE, STORE)
SCATTER(row_on, 1, STORE, ADD)
SCATTER(store_add, 0, STORE, ADD)
SCATTER(store_store, 0, STORE, STORE)
SCATTER(store_drop, 0, STORE, DROP)
SCATTER(add_add, 0, ADD, ADD)
SCATTER(drop_add, 0, DROP, ADD)
SCATTER(drop_store, 0, DROP, STORE)
SCATTER(drop_drop, 0, DROP, DROP)
#undef SCATTER

static void NAME(scatter_x)(const struct box_plan *p, const struct NAME(place) * at, REAL *y,
                            struct NAME(workspace) * w) {
    int last = p->cells[0] - 1;
    REAL *upper = y + box_face_0(p, at->layer, at->row, at->pack, L), *before = upper - p->face[0] * L;
    struct NAME(faces) f;
    NAME(prepare)(p, 0, at, w, &f);
    if (at->pack > 0) {
        w->dot += NAME(row_on)(p, &f, upper, before + L - 1);
    } else if (p->extra[0]) {
        memset(before, 0, (size_t)p->face[0] * L * sizeof *upper);
        w->dot += NAME(row_begin)(p, &f, upper, before + L - 1);
    } else {
        w->dot += NAME(row_begin)(p, &f, upper, w->wrap);
    }
    if (!p->periodic[0] || at->pack != last / L) return;
    upper += last % L;
    for (int64_t t = 0; t < p->face[0]; t++) upper[t * L] += w->wrap[t * L];
}

static void NAME(scatter_y)(const struct box_plan *p, const struct NAME(place) * at, REAL *y,
                            struct NAME(workspace) * w) {
    int l = at->layer, r = at->row, last = p->cells[1] - 1, first = r == 0 && !p->extra[1];
    REAL *upper = y + box_face_1(p, l, r, at->pack, L),
         *lower = y + box_face_1(p, l, first ? last : r - 1, at->pack, L);
    struct NAME(faces) f;
    NAME(prepare)(p, 1, at, w, &f);
    if (p->periodic[1] && last == 0) { /* both are the same face */
        w->dot += NAME(store_store)(p, &f, upper, (REAL *)w->same);
        for (int64_t t = 0; t < p->face[1]; t++) ((LANE *)upper)[t] += w->same[t];
    } else if (p->periodic[1] && r == last) { /* the first row has stored at the far end */
        w->dot += NAME(add_add)(p, &f, upper, lower);
    } else if (r == last && p->fixed[1][1]) {
        w->dot += first    ? NAME(drop_drop)(p, &f, upper, lower)
                  : r == 0 ? NAME(drop_store)(p, &f, upper, lower)
                           : NAME(drop_add)(p, &f, upper, lower);
    } else if (r > 0) {
        w->dot += NAME(store_add)(p, &f, upper, lower);
    } else if (p->extra[1] || p->periodic[1]) {
        w->dot += NAME(store_store)(p, &f, upper, lower);
    } else {
        w->dot += NAME(store_drop)(p, &f, upper, lower);
    }
}

/* below: the first layer of a thread stores what belongs to the plane below it apart. */
static void NAME(scatter_z)(const struct box_plan *p, const struct NAME(place) * at, int below, REAL *y,
                            struct NAME(workspace) * w) {
    int l = at->layer, r = at->row, dropped = l == p->cells[2] - 1 && p->fixed[2][1];
    REAL *upper = y + box_face_2(p, l, r, at->pack, L);
    REAL *lower = below ? (REAL *)(w->below + ((int64_t)r * p->packs + at->pack) * p->face[2])
                        : y + box_face_2(p, l - 1, r, at->pack, L);
    struct NAME(faces) f;
    NAME(prepare)(p, 2, at, w, &f);
    w->dot += dropped && below ? NAME(drop_store)(p, &f, upper, lower)
              : dropped        ? NAME(drop_add)(p, &f, upper, lower)
              : below          ? NAME(store_store)(p, &f, upper, lower)
                               : NAME(store_add)(p, &f, upper, lower);
}

/* y = K d of a layer, but for what the layer above adds to its upper faces. */
static void NAME(layer)(const struct box_plan *p, int layer, int below, const REAL *d, REAL *y,
                        struct NAME(workspace) * w) {
    for (int row = 0; row < p->cells[1]; row++)
        for (int pack = 0; pack < p->packs; pack++) {
            struct NAME(place) at = {.layer = layer, .row = row, .pack = pack};
            at.number = ((int64_t)layer * p->cells[1] + row) * p->packs + pack;
            at.metric = (const LANE *)(NUMBERS(p)->metric + at.number * KERNEL_BOX_METRIC * L);
            NAME(gather)(p, &at, d, w);
            NAME(multiply_blocks)(p, &at, w);
            NAME(scatter_x)(p, &at, y, w);
            if (p->present[1]) NAME(scatter_y)(p, &at, y, w);
            if (p->present[2]) NAME(scatter_z)(p, &at, below, y, w);
        }
}

/* Adds what the thread kept for the plane below its first layer: the one before it, the extra plane, the last
 * one of a periodic axis, or none. */
static void NAME(add_below)(const struct box_plan *p, int layer, REAL *y, const struct NAME(workspace) * w) {
    int64_t n = p->face[2] * p->cells[1] * p->packs;
    if (!p->present[2] || (layer == 0 && !p->extra[2] && !p->periodic[2])) return;
    int to = layer > 0 || p->extra[2] ? layer - 1 : p->cells[2] - 1;
    LANE *target = (LANE *)(y + box_face_2(p, to, 0, 0, L));
    if (to < 0)
        memcpy(target, w->below, (size_t)n * sizeof *target);
    else
        for (int64_t i = 0; i < n; i++) target[i] += w->below[i];
}
