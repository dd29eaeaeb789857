/* Plain C: contractions inside one cell of a box. */
#include "kernels/ref/ref.h"

void tensor_contract_ref(int64_t outer, int n_out, int n_in, int64_t inner, const double *T, const double *in,
                         int64_t in_step, double *out, int64_t out_step) {
    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < n_out; i++)
            for (int64_t r = 0; r < inner; r++) {
                double sum = 0.0;
                for (int q = 0; q < n_in; q++) sum += T[i * n_in + q] * in[o * in_step + q * inner + r];
                out[o * out_step + i * inner + r] = sum;
            }
}
