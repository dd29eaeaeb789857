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

/* One tile of a block, one part of all lanes: what follows each other lies PARTS apart. first_i: out[0] is
 * assigned, not added to; first_j: out[1]; own: weights have lanes.
 */
INLINE void NAME(tile)(int I, int J, int first_i, int first_j, int own, int Nj, int Nk, const PACKET *in0,
                       const PACKET *in1, const PACKET *in2, const void *weights, PACKET *out0, PACKET *out1,
                       PACKET *out2) {
    PACKET fixed[KERNEL_BOX_I][KERNEL_BOX_J], sum[KERNEL_BOX_I][KERNEL_BOX_J];
    const REAL *w = weights;
#pragma GCC unroll 4
    for (int i = 0; i < I; i++)
#pragma GCC unroll 4
        for (int j = 0; j < J; j++) {
            fixed[i][j] = in2[(i * Nj + j) * PARTS];
            sum[i][j] = (PACKET){0};
        }
#pragma GCC unroll 1
    for (int k = 0; k < Nk; k++) {
        PACKET x0[KERNEL_BOX_J], y0[KERNEL_BOX_J];
#pragma GCC unroll 4
        for (int j = 0; j < J; j++) {
            x0[j] = in0[(j * Nk + k) * PARTS];
            y0[j] = first_i ? (PACKET){0} : out0[(j * Nk + k) * PARTS];
        }
#pragma GCC unroll 4
        for (int i = 0; i < I; i++) {
            PACKET x1 = in1[(i * Nk + k) * PARTS], y1 = first_j ? (PACKET){0} : out1[(i * Nk + k) * PARTS];
#pragma GCC unroll 4
            for (int j = 0; j < J; j++) {
                PACKET s = x0[j] + x1 + fixed[i][j], t;
                if (own)
                    t = ((const PACKET *)weights)[((k * I + i) * J + j) * PARTS] * s;
                else
                    t = w[(k * I + i) * J + j] * s;
                sum[i][j] += t;
                y0[j] += t;
                y1 += t;
            }
            out1[(i * Nk + k) * PARTS] = y1;
        }
#pragma GCC unroll 4
        for (int j = 0; j < J; j++) out0[(j * Nk + k) * PARTS] = y0[j];
    }
#pragma GCC unroll 4
    for (int i = 0; i < I; i++)
#pragma GCC unroll 4
        for (int j = 0; j < J; j++) out2[(i * Nj + j) * PARTS] = sum[i][j];
}

/* All tiles of a row of tiles: fixed I. */
INLINE const REAL *NAME(tiles)(int I, int first_i, int own, int Nj, int Nk, const PACKET *in0,
                               const PACKET *in1, const PACKET *in2, const REAL *w, PACKET *out0,
                               PACKET *out1, PACKET *out2) {
    int j = 0, lanes = own ? L : 1;
    if (Nj >= KERNEL_BOX_J) {
        NAME(tile)(I, KERNEL_BOX_J, first_i, 1, own, Nj, Nk, in0, in1, in2, w, out0, out1, out2);
        w += I * KERNEL_BOX_J * Nk * lanes;
        for (j = KERNEL_BOX_J; j + KERNEL_BOX_J <= Nj; j += KERNEL_BOX_J, w += I * KERNEL_BOX_J * Nk * lanes)
            NAME(tile)
        (I, KERNEL_BOX_J, first_i, 0, own, Nj, Nk, in0 + j * Nk * PARTS, in1, in2 + j * PARTS, w,
         out0 + j * Nk * PARTS, out1, out2 + j * PARTS);
    }
    _Static_assert(KERNEL_BOX_J == 2, "one mode may be left over");
    if (j < Nj) {
        if (j == 0)
            NAME(tile)(I, 1, first_i, 1, own, Nj, Nk, in0, in1, in2, w, out0, out1, out2);
        else
            NAME(tile)
        (I, 1, first_i, 0, own, Nj, Nk, in0 + j * Nk * PARTS, in1, in2 + j * PARTS, w, out0 + j * Nk * PARTS,
         out1, out2 + j * PARTS);
        w += I * Nk * lanes;
    }
    return w;
}

#define TILES(I)                                                                                             \
    (i == 0 ? NAME(tiles)(I, 1, own, Nj, Nk, in0, in1, in2, w, out0, out1, out2)                             \
            : NAME(tiles)(I, 0, own, Nj, Nk, in0, in1 + i * Nk * PARTS, in2 + i * Nj * PARTS, w, out0,       \
                          out1 + i * Nk * PARTS, out2 + i * Nj * PARTS))

/* One block of parities; returns where the weights of the next one begin. */
INLINE const REAL *NAME(block)(int own, int Ni, int Nj, int Nk, const PACKET *in0, const PACKET *in1,
                               const PACKET *in2, const REAL *w, PACKET *out0, PACKET *out1, PACKET *out2) {
    _Static_assert(KERNEL_BOX_I == 4, "the cases below");
    for (int i = 0; i < Ni; i += KERNEL_BOX_I) {
        int left = Ni - i;
        w = left >= 4 ? TILES(4) : left == 3 ? TILES(3) : left == 2 ? TILES(2) : TILES(1);
    }
    return w;
}
#undef TILES

/* All parts of it, by weights that are the same in all lanes, or not. */
#define BLOCK(name, own)                                                                                     \
    static __attribute__((noinline)) const REAL *NAME(name)(int Ni, int Nj, int Nk, const LANE *in0,         \
                                                            const LANE *in1, const LANE *in2, const REAL *w, \
                                                            LANE *out0, LANE *out1, LANE *out2) {            \
        const REAL *end = w;                                                                                 \
        for (int p = 0; p < PARTS; p++)                                                                      \
            end = NAME(block)(own, Ni, Nj, Nk, (const PACKET *)in0 + p, (const PACKET *)in1 + p,             \
                              (const PACKET *)in2 + p, (own) ? w + p * (L / PARTS) : w, (PACKET *)out0 + p,  \
                              (PACKET *)out1 + p, (PACKET *)out2 + p);                                       \
        return end;                                                                                          \
    }
BLOCK(block_shared, 0)
BLOCK(block_own, 1)
#undef BLOCK

/* Where a pack stands. */
struct NAME(place) {
    int layer, row, pack;
    const LANE *metric;
    int64_t number;
};

/* Weights of all lanes of a block, in the order of reading. */
static void NAME(weigh)(const struct box_plan *p, const struct NAME(place) * at, const int parity[3],
                        PACKET *w) {
    const TABLES *n = NUMBERS(p);
    const PACKET *m = (const PACKET *)at->metric;
    const int *modes = p->modes;
    int N[3], first[3];
    for (int d = 0; d < 3; d++) {
        N[d] = box_count(p, d, parity[d]);
        first[d] = box_first(p, d, parity[d]);
    }
    const PACKET *Bx = (const PACKET *)n->squares[0] + (at->pack * modes[0] + first[0]) * PARTS;
    const PACKET *Lx = (const PACKET *)n->eigenvalues[0] + (at->pack * modes[0] + first[0]) * PARTS;
    const REAL *By = n->squares[1] + at->row * modes[1] + first[1],
               *Ly = n->eigenvalues[1] + at->row * modes[1] + first[1];
    const REAL *Bz = n->squares[2] + at->layer * modes[2] + first[2],
               *Lz = n->eigenvalues[2] + at->layer * modes[2] + first[2];
    for (int i0 = 0; i0 < N[0]; i0 += KERNEL_BOX_I)
        for (int j0 = 0; j0 < N[1]; j0 += KERNEL_BOX_J)
            for (int k = 0; k < N[2]; k++)
                for (int i = i0; i < i0 + KERNEL_BOX_I && i < N[0]; i++)
                    for (int j = j0; j < j0 + KERNEL_BOX_J && j < N[1]; j++) EACH_PART(part) {
                            PACKET Z = m[3 * PARTS + part] + m[part] * Lx[i * PARTS + part] +
                                       m[2 * PARTS + part] * Lz[k];
                            *w++ = Bx[i * PARTS + part] * Bz[k] * By[j] / (Z + m[PARTS + part] * Ly[j]);
                        }
}

/* Sums and differences of a face-pack and the one below it. */
static __attribute__((noinline)) void NAME(pair)(int64_t n, const LANE *a, const LANE *upper,
                                                 const LANE *lower, LANE *sum, LANE *difference) {
    const PACKET *A = (const PACKET *)a, *u = (const PACKET *)upper, *l = (const PACKET *)lower;
    PACKET *restrict s = (PACKET *)sum, *restrict d = (PACKET *)difference;
    for (int64_t t = 0; t < n * PARTS; t += PARTS) EACH_PART(p) {
            s[t + p] = A[p] * (u[t + p] + l[t + p]);
            d[t + p] = A[p] * (u[t + p] - l[t + p]);
        }
}

/* The same along x: the face below lane 0 is lane `last` of another pack, or zero. */
static __attribute__((noinline)) void NAME(pair_x)(int64_t n, const LANE *a, const LANE *upper,
                                                   const REAL *before, LANE *sum, LANE *difference) {
    const PACKET *A = (const PACKET *)a, *u = (const PACKET *)upper;
    PACKET *restrict s = (PACKET *)sum, *restrict d = (PACKET *)difference;
    for (int64_t t = 0; t < n * PARTS; t += PARTS, before += L) EACH_PART(p) {
            PACKET l = LANES(up)(p == 0 ? (PACKET)((PACKET){0} + *before) : u[t + p - 1], u[t + p]);
            s[t + p] = A[p] * (u[t + p] + l);
            d[t + p] = A[p] * (u[t + p] - l);
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
    NAME(pair_x)(p->face[0], at->metric, (const LANE *)x, before, w->in[0][0], w->in[0][1]);
    if (p->present[1]) {
        const REAL *lower = zeros;
        if (r > 0 || p->extra[1] || p->periodic[1])
            lower = d + box_face_1(p, l, r > 0 || p->extra[1] ? r - 1 : p->cells[1] - 1, at->pack, L);
        NAME(pair)
        (p->face[1], at->metric + 1, (const LANE *)(d + box_face_1(p, l, r, at->pack, L)),
         (const LANE *)lower, w->in[1][0], w->in[1][1]);
    }
    if (p->present[2]) {
        const REAL *lower = zeros;
        if (l > 0 || p->extra[2] || p->periodic[2])
            lower = d + box_face_2(p, l > 0 || p->extra[2] ? l - 1 : p->cells[2] - 1, r, at->pack, L);
        NAME(pair)
        (p->face[2], at->metric + 2, (const LANE *)(d + box_face_2(p, l, r, at->pack, L)),
         (const LANE *)lower, w->in[2][0], w->in[2][1]);
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
            NAME(weigh)(p, at, q, (PACKET *)w->own);
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
    const PACKET *ka = (const PACKET *)&f->ka, *mask = (const PACKET *)&f->mask, *g0 = (const PACKET *)&f->g0,
                 *g1 = (const PACKET *)&f->g1, *lanes = (const PACKET *)f->lanes;
    const PACKET *in0 = (const PACKET *)f->in0, *in1 = (const PACKET *)f->in1,
                 *out0 = (const PACKET *)f->out0, *out1 = (const PACKET *)f->out1;
    PACKET dot[PARTS] = {{0}}, *restrict y = (PACKET *)upper, *restrict z = (PACKET *)lower;
    for (int odd = 0; odd < 2; odd++)
        for (int parity = 0; parity < 2; parity++) {
            int first = box_first(p, f->slow, odd), last = first + box_count(p, f->slow, odd);
            int count = box_count(p, f->fast, parity);
            const REAL *B = f->inner + box_first(p, f->fast, parity);
            int64_t t = box_block(p, f->slow, f->fast, odd, parity) * PARTS;
            for (int o = first; o < last; o++) {
                PACKET h0[PARTS], h1[PARTS];
                EACH_PART(a) {
                    PACKET outer = lanes != NULL ? lanes[o * PARTS + a] : (PACKET)((PACKET){0} + f->outer[o]);
                    h0[a] = g0[a] * outer;
                    h1[a] = g1[a] * outer;
                }
                for (int i = 0; i < count; i++, t += PARTS) {
                    PACKET plus[PARTS], minus[PARTS + 1] = {{0}};
                    EACH_PART(a) {
                        PACKET v0 = in0[t + a], v1 = in1[t + a];
                        PACKET q0 = B[i] * h0[a] * v0 - ka[a] * out0[t + a],
                               q1 = B[i] * h1[a] * v1 - ka[a] * out1[t + a];
                        plus[a] = q0 + q1;
                        minus[a] = q0 - q1;
                        dot[a] += q0 * v0 + q1 * v1;
                    }
                    EACH_PART(a) {
                        if (along_x) {
                            y[t + a] = plus[a] * mask[a] + LANES(down)(minus[a], minus[a + 1]);
                            continue;
                        }
                        y[t + a] = up == NAME(DROP)  ? (PACKET){0}
                                   : up == NAME(ADD) ? (PACKET)(y[t + a] + plus[a])
                                                     : plus[a];
                        if (down != NAME(DROP))
                            z[t + a] = down == NAME(ADD) ? (PACKET)(z[t + a] + minus[a]) : minus[a];
                    }
                    REAL *below = lower + t * (L / PARTS);
                    if (along_x) *below = down == NAME(ADD) ? *below + minus[0][0] : minus[0][0];
                }
            }
        }
    double sum = 0.0;
    for (int i = 0; i < L; i++) sum += (double)(((const REAL *)dot)[i] / f->a[i]);
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
