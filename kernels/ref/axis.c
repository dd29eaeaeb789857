/* Products along one axis of a lattice, and between lattices and vectors in lanes. */
#include "kernels/box.h"
#include "kernels/ref/ref.h"

void axis_apply_ref(int64_t outer, int n_out, int n_in, int64_t inner, const double *T, const double *x,
                    double b, double *y) {
    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < n_out; i++)
            for (int64_t r = 0; r < inner; r++) {
                double sum = 0.0, *to = &y[(o * n_out + i) * inner + r];
                for (int q = 0; q < n_in; q++) sum += T[i * n_in + q] * x[(o * n_in + q) * inner + r];
                *to = b != 0.0 ? sum + b * *to : sum;
            }
}

void axis_divide_ref(int n_0, int n_1, int n_2, const double *theta_0, const double *theta_1,
                     const double *theta_2, double k, double lambda, double *x) {
    for (int64_t i = 0; i < (int64_t)n_0 * n_1 * n_2; i++)
        x[i] /= lambda + k * (theta_0[i % n_0] + theta_1[i / n_0 % n_1] + theta_2[i / n_0 / n_1]);
}

/* x, or lattice where it is known what stands in x. */
static void move(const struct box_plan *plan, int axis, const int size[3], int back, double *x,
                 double *lattice) {
    for (int64_t i = 0; i < (int64_t)size[0] * size[1] * size[2]; i++) {
        const int at[3] = {(int)(i % size[0]), (int)(i / size[0] % size[1]), (int)(i / size[0] / size[1])};
        int64_t where = box_lattice_where(plan, axis, at, plan->lanes);
        if (!back)
            lattice[i] = where >= 0 ? x[where] : 0.0;
        else if (where >= 0)
            x[where] = lattice[i];
    }
}

void box_to_lattice_ref(const struct box_plan *plan, int axis, int size_0, int size_1, int size_2,
                        const double *x, double *lattice) {
    move(plan, axis, (const int[3]){size_0, size_1, size_2}, 0, (double *)x, lattice);
}

void box_from_lattice_ref(const struct box_plan *plan, int axis, int size_0, int size_1, int size_2,
                          const double *lattice, double *x) {
    move(plan, axis, (const int[3]){size_0, size_1, size_2}, 1, x, (double *)lattice);
}
