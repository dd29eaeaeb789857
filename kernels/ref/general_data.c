/* Plain C: data of cells whose map is curved or whose data vary, and their balance. */
#include "kernels/ref/ref.h"

void lane_values_ref(const struct lane_points *p, int64_t n_batches, double *values) {
    const int L = p->lanes;
    for (int64_t i = 0; i < n_batches * p->n * L; i++) {
        const int64_t point = i / L, lane = i % L;
        if (p->regions != NULL && p->regions[point / p->n * L + lane] != p->region) continue;
        double x[3], value = p->constant;
        if (p->plan.n_nodes > 0) {
            for (int a = 0; a < p->dim; a++) x[a] = p->points[(point * p->step + a) * L + lane];
            expression_ref(&p->plan, 1, x, NULL, p->work);
            value = p->work[expression_row(&p->plan, p->plan.n_nodes - 1, 0)];
        }
        values[lane_place(p, point, lane)] = p->weights != NULL ? p->weights[i] * value : value;
    }
}

int64_t general_weights_ref(const struct general_data *data, int64_t n_batches) {
    int64_t failed = -1;
    for (int64_t i = 0; i < n_batches * data->lanes; i++)
        if (!general_weights_of(data, i / data->lanes, (int)(i % data->lanes)) && failed < 0)
            failed = i / data->lanes;
    return failed;
}

void cell_balance_ref(const struct cell_balance *cells, int64_t n_batches, double *balance) {
    const int L = cells->lanes;
    for (int64_t i = 0; i < n_batches * L; i++) cell_balance_all(cells, i / L, (int)(i % L), balance);
}
