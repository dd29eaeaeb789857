/* The preconditioners of a box: the coarse space of vertices, the vertex stars. */
#include "box_plain.h"

#include "box/coarse.h"

static const struct plain_box boxes[] = {
    {1, 3, {4}, 'g', "dn", 0.7, 0.0, 0},           {1, 2, {3}, 'u', "pp", 2.0, 1.5, 1},
    {2, 3, {3, 2}, 'u', "dddn", 1.3, 0.0, 0},      {2, 4, {2, 3}, 'g', "ppnn", 0.4, 0.0, 0},
    {2, 5, {1, 1}, 'u', "ddnn", 3.0, 2.0, 0},      {2, 2, {4, 3}, 'm', "pppp", 1.0, 3.0, 1},
    {3, 2, {2, 3, 2}, 'g', "ddnnpp", 2.0, 0.0, 1}, {3, 3, {2, 2, 2}, 'u', "dddddd", 9.0, 4.0, 0},
    {3, 1, {1, 2, 3}, 'u', "ppdnpp", 1.0, 0.0, 0}, {3, 2, {3, 3, 3}, 'u', "nnppnn", 5.0, 0.0, 1}};
#define N_BOXES (int)(sizeof boxes / sizeof boxes[0])

/* A_c = P'KP by columns, and <P'r, x> = <r, P x>. */
static void coarse_is_galerkin(void **state) {
    (void)state;
    for (int b = 0; b < N_BOXES; b++) {
        struct box_hdg *h;
        struct box_coarse c;
        ok(plain_create(&boxes[b], &h));
        ok(box_coarse_create(h, &c));
        double *x = calloc((size_t)c.n, sizeof *x), *y = calloc((size_t)c.n, sizeof *y);
        double *t = calloc((size_t)h->n_trace, sizeof *t), *Kt = calloc((size_t)h->n_trace, sizeof *t);
        double worst = 0.0, largest = 0.0;
        for (int64_t j = 0; j < c.n; j++) {
            for (int64_t i = 0; i < c.n; i++) x[i] = i == j;
            memset(t, 0, (size_t)h->n_trace * sizeof *t);
            box_coarse_prolong(&c, x, t);
            plain_multiply(h, t, Kt);
            box_coarse_restrict(&c, Kt, y);
            for (int64_t k = c.A.offsets[j]; k < c.A.offsets[j + 1]; k++) {
                y[c.A.columns[k]] -= c.A.values[k];
                largest = fmax(largest, fabs(c.A.values[k]));
            }
            for (int64_t i = 0; i < c.n; i++) worst = fmax(worst, fabs(y[i]));
        }
        if (!(worst <= 1e-12 * largest)) fail_msg("box %d: %g of %g", b, worst, largest);
        free(x);
        free(y);
        free(t);
        free(Kt);
        box_coarse_destroy(&c);
        box_hdg_destroy(&h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(coarse_is_galerkin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
