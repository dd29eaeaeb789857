/* Products along one axis of a lattice, and between lattices and vectors in lanes (kernels/twice.h). */
void NAME(axis_apply)(int64_t outer, int n_out, int n_in, int64_t inner, const REAL *T, const REAL *x,
                      double b, const struct axis_division *by, REAL *y) {
    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < n_out; i++)
            for (int64_t r = 0; r < inner; r++) {
                const int64_t number = (o * n_out + i) * inner + r;
                REAL sum = 0;
                for (int q = 0; q < n_in; q++) sum += T[i * n_in + q] * x[(o * n_in + q) * inner + r];
                if (b != 0.0) sum += (REAL)b * y[number];
                y[number] = by == NULL ? sum : sum / (REAL)axis_divisor(by, number);
            }
}

/* Where in a vector the number i of a lattice stands; -1: nowhere. */
static int64_t NAME(find)(const struct box_plan *plan, int axis, const int size[3], int64_t i) {
    const int at[3] = {(int)(i % size[0]), (int)(i / size[0] % size[1]), (int)(i / size[0] / size[1])};
    return box_lattice_where(plan, axis, at, plan->lanes);
}

void NAME(box_to_lattice)(const struct box_plan *plan, int axis, int size_0, int size_1, int size_2, double a,
                          const double *x, REAL *lattice) {
    const int size[3] = {size_0, size_1, size_2};
    for (int64_t i = 0; i < (int64_t)size_0 * size_1 * size_2; i++) {
        int64_t where = NAME(find)(plan, axis, size, i);
        lattice[i] = where >= 0 ? (REAL)(a * x[where]) : 0;
    }
}

void NAME(box_from_lattice)(const struct box_plan *plan, int axis, int size_0, int size_1, int size_2,
                            double a, const REAL *lattice, double *x) {
    const int size[3] = {size_0, size_1, size_2};
    for (int64_t i = 0; i < (int64_t)size_0 * size_1 * size_2; i++) {
        int64_t where = NAME(find)(plan, axis, size, i);
        if (where >= 0) x[where] = a * lattice[i];
    }
}
