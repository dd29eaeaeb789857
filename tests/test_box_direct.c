/* Direct solves of separable boxes: on the trace against the operator itself, and in the volume. */
#include "box_plain.h"

#include "base/run.h"
#include "box/direct.h"

static const struct plain_box boxes[] = {
    {1, 3, {4}, 'g', "dn", 0.7, 0.0, 0},           {1, 2, {5}, 'u', "pp", 2.0, 0.0, 0},
    {1, 32, {1}, 'u', "nd", 2.0, 0.0, 0},          {1, 4, {1}, 'u', "pp", 2.0, 1.5, 0},
    {2, 3, {3, 2}, 'u', "dddn", 1.3, 0.0, 0},      {2, 4, {2, 3}, 'g', "ppnn", 0.4, 0.0, 0},
    {2, 5, {1, 1}, 'u', "ddnn", 3.0, 2.0, 0},      {2, 2, {4, 3}, 'm', "ppnn", 1.0, 3.0, 0},
    {2, 16, {4, 4}, 'u', "dddd", 625.0, 0.0, 0},   {2, 32, {3, 3}, 'g', "dddd", 25.0, 0.0, 0},
    {2, 24, {4, 5}, 'u', "nnpp", 0.01, 0.0, 0},    {3, 2, {2, 3, 2}, 'g', "ddnnpp", 2.0, 0.0, 0},
    {3, 3, {2, 2, 2}, 'u', "dddddd", 9.0, 4.0, 0}, {3, 1, {1, 2, 3}, 'u', "ppdnpp", 1.0, 0.0, 0},
    {3, 5, {3, 3, 3}, 'u', "nnppnn", 5.0, 0.0, 0}, {3, 9, {4, 3, 2}, 'm', "dddddd", 25.0, 0.1, 0}};
#define N_BOXES (int)(sizeof boxes / sizeof boxes[0])

/* K uhat = F to rounding, for the k and lambda of the box. */
static void trace_solves(void **state) {
    (void)state;
    for (int b = 0; b < N_BOXES; b++) {
        struct box_hdg *h;
        struct box_direct *direct;
        ok(plain_create(&boxes[b], &h));
        ok(box_direct_create(h, &direct));
        double *F = calloc((size_t)h->n_trace, sizeof *F), *x = calloc((size_t)h->n_trace, sizeof *x);
        double *kernel = calloc((size_t)h->n_trace, sizeof *x), along = 0.0;
        plain_load(h, F, kernel);
        box_direct_solve(direct, 1.7, boxes[b].reaction, F, x);
        double residual = plain_residual(h, F, x);
        if (getenv("FACET_SHOW") != NULL) printf("box %d: residual %.2e\n", b, residual);
        if (!(residual <= 5e-12)) fail_msg("box %d: residual %g", b, residual);
        for (int64_t i = 0; i < h->n_trace; i++) along += kernel[i] * x[i];
        assert_true(fabs(along) < 1e-10);
        free(F);
        free(x);
        free(kernel);
        box_direct_destroy(&direct);
        box_hdg_destroy(&h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trace_solves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
