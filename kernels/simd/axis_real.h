/* Products along an axis as products of matrices C = A B + b C: B goes through a panel that stays in the first cache,
 * and tiles of C through registers. Where lines lie side by side A is T and B the lattice; where they lie one after
 * the other A is the lattice and B the transpose of T (kernels/twice.h). */

#define COLUMNS (VECTORS * WIDTH)
#define LOOSE   PICK(loose, loose_single)

struct NAME(product) {
    int rows, depth, columns;
    const REAL *A, *B;
    int64_t A_step,
        B_step; /* from row to row; B_step 0: B is the transpose of the matrix B, rows of `depth` */
    REAL *C;
    int64_t C_step, number; /* the number of C[0][0] in its lattice */
    double b;
    const struct axis_division *by;
};

/* Rows from k on of the columns from c on, padded with zeros. */
static void NAME(pack)(const struct NAME(product) * p, int c, int left, int k, int depth, REAL *panel) {
    const int width = left < COLUMNS ? left : COLUMNS;
    for (int q = 0; q < depth; q++, panel += COLUMNS) {
        const REAL *from =
            p->B_step > 0 ? p->B + (k + q) * p->B_step + c : p->B + (int64_t)c * p->depth + k + q;
        const int64_t step = p->B_step > 0 ? 1 : p->depth;
        if (step == 1 && width == COLUMNS)
            memcpy(panel, from, sizeof *panel * COLUMNS);
        else
            for (int j = 0; j < COLUMNS; j++) panel[j] = j < width ? from[j * step] : 0;
    }
}

/* C = A panel + b C, `rows` being a constant. */
INLINE void NAME(multiply_tile)(int rows, int depth, const REAL *A, int64_t A_step, const REAL *panel, REAL b,
                                REAL *C, int64_t C_step) {
    PACKET sums[ROWS][VECTORS];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            sums[i][v] = (PACKET){0};
            if (b != 0) sums[i][v] += b * (PACKET)((const LOOSE *)(C + i * C_step))[v];
        }
    for (int k = 0; k < depth; k++, panel += COLUMNS) {
        PACKET x[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) x[v] = (PACKET)((const LOOSE *)panel)[v];
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            const REAL a = A[i * A_step + k];
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) sums[i][v] += a * x[v];
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) ((LOOSE *)(C + i * C_step))[v] = (LOOSE)sums[i][v];
}

INLINE void NAME(multiply_rows)(int rows, int depth, const REAL *A, int64_t A_step, const REAL *panel, REAL b,
                                REAL *C, int64_t C_step) {
    switch (rows) {
#define CASE(n)                                                                                              \
    case n:                                                                                                  \
        NAME(multiply_tile)(n, depth, A, A_step, panel, b, C, C_step);                                       \
        break;
#if ROWS == 8
        CASE(8)
        CASE(7)
        CASE(6)
        CASE(5)
#endif
        CASE(4)
        CASE(3)
        CASE(2)
        CASE(1)
#undef CASE
    }
}

/* n numbers of one row, from `number` of the lattice on. */
static void NAME(divide)(const struct axis_division *by, int64_t number, int n, REAL *y) {
    int64_t row = number / by->n_0;
    int at = (int)(number - row * by->n_0);
    for (int i = 0; i < n; row++, at = 0) {
        const double rest = by->lambda + by->k * (by->theta[1][row % by->n_1] + by->theta[2][row / by->n_1]),
                     *theta = by->theta[0] + at;
        const int end = n - i < by->n_0 - at ? n : i + by->n_0 - at;
        for (; i < end; i++) y[i] /= (REAL)(rest + by->k * *theta++);
    }
}

/* Some rows of the columns from c on. */
static void NAME(columns)(const struct NAME(product) * p, int row, int rows, int c) {
    REAL panel[DEPTH * COLUMNS] __attribute__((aligned(64))), edge[ROWS * COLUMNS];
    const int left = p->columns - c < COLUMNS ? p->columns - c : COLUMNS;
    for (int k = 0; k < p->depth; k += DEPTH) {
        const int depth = p->depth - k < DEPTH ? p->depth - k : DEPTH, last = k + depth == p->depth;
        const REAL b = k == 0 ? (REAL)p->b : 1;
        NAME(pack)(p, c, left, k, depth, panel);
        for (int i = row, some; i < row + rows; i += some) {
            REAL *C = p->C + i * p->C_step + c, *to = left < COLUMNS ? edge : C;
            const int64_t step = left < COLUMNS ? COLUMNS : p->C_step;
            some = row + rows - i < ROWS ? row + rows - i : ROWS;
            for (int s = 0; to == edge && b != 0 && s < some; s++)
                memcpy(edge + s * COLUMNS, C + s * p->C_step, sizeof *edge * (size_t)left);
            NAME(multiply_rows)(some, depth, p->A + i * p->A_step + k, p->A_step, panel, b, to, step);
            for (int s = 0; s < some; s++) {
                if (to == edge) memcpy(C + s * p->C_step, edge + s * COLUMNS, sizeof *edge * (size_t)left);
                if (last && p->by != NULL)
                    NAME(divide)(p->by, p->number + (i + s) * p->C_step + c, left, C + s * p->C_step);
            }
        }
    }
}

void NAME(axis_apply)(int64_t outer, int n_out, int n_in, int64_t inner, const REAL *T, const REAL *x,
                      double b, const struct axis_division *by, REAL *y) {
    const int along = inner == 1; /* lines lie one after the other */
    const int64_t columns = along ? n_out : inner, panels = (columns + COLUMNS - 1) / COLUMNS,
                  groups = along ? (outer + GROUP - 1) / GROUP : outer;
    const int64_t work = outer * n_out * (int64_t)n_in * inner / PER_POINT;
#pragma omp parallel for collapse(2) schedule(static) num_threads(base_threads_again(work))
    for (int64_t o = 0; o < groups; o++)
        for (int64_t j = 0; j < panels; j++) {
            const int64_t first = along ? 0 : o * n_out * inner;
            const struct NAME(product) p = {.rows = n_out,
                                            .depth = n_in,
                                            .columns = (int)columns,
                                            .A = along ? x : T,
                                            .B = along ? T : x + o * n_in * inner,
                                            .A_step = n_in,
                                            .B_step = along ? 0 : inner,
                                            .C = y + first,
                                            .C_step = columns,
                                            .number = first,
                                            .b = b,
                                            .by = by};
            const int64_t row = along ? o * GROUP : 0, end = !along                ? n_out
                                                             : row + GROUP < outer ? row + GROUP
                                                                                   : outer;
            NAME(columns)(&p, (int)row, (int)(end - row), (int)(j * COLUMNS));
        }
}

void NAME(box_to_lattice)(const struct box_plan *p, int axis, int size_0, int size_1, int size_2, double a,
                          const double *x, REAL *lattice) {
    const int64_t rows = (int64_t)size_1 * size_2;
#pragma omp parallel for schedule(static) num_threads(base_threads_again(rows *size_0))
    for (int64_t j = 0; j < rows; j++) {
        struct row row;
        REAL *to = lattice + j * size_0;
        int i = 0;
        const int there = find_row(p, axis, (int)(j % size_1), (int)(j / size_1), &row);
        for (int c = 0; there && i + row.n <= size_0; c++, i += row.n) {
            const int64_t place = find_place(p, axis, c);
            if (place == NOWHERE) break;
            for (int m = 0; m < row.n; m++) to[i + m] = (REAL)(a * x[row.begin + place + row.modes[m]]);
        }
        for (; i < size_0; i++) to[i] = 0;
    }
}

void NAME(box_from_lattice)(const struct box_plan *p, int axis, int size_0, int size_1, int size_2, double a,
                            const REAL *lattice, double *x) {
    const int64_t rows = (int64_t)size_1 * size_2;
#pragma omp parallel for schedule(static) num_threads(base_threads_again(rows *size_0))
    for (int64_t j = 0; j < rows; j++) {
        struct row row;
        const REAL *from = lattice + j * size_0;
        const int there = find_row(p, axis, (int)(j % size_1), (int)(j / size_1), &row);
        for (int c = 0, i = 0; there && i + row.n <= size_0; c++, i += row.n) {
            const int64_t place = find_place(p, axis, c);
            if (place == NOWHERE) break;
            for (int m = 0; m < row.n; m++) x[row.begin + place + row.modes[m]] = a * from[i + m];
        }
    }
}

#undef COLUMNS
#undef LOOSE
