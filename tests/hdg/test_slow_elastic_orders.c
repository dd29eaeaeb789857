/* Orders of elasticity for k = 1 .. 4 on all shapes, straight and curved: both formulations, at lambda = mu
 * and 1e6 mu. The meshes end where rounding, 1e-13 of lambda, would show in the stress. */
#include "elastic_orders.h"

static void orders(void **state) {
    const char *shape = *state;
    int solid = solid_dim(shape) == 3;
    for (int degree = 1; degree <= 4; degree++)
        for (int curved = 0; curved < 2; curved++)
            elastic_orders(shape, degree,
                           curved, /* curved tets of degree 4 are late: 4.81 from 2 to 4 cells */
                           solid        ? (degree < 3                                           ? 4
                                           : curved && degree == 4 && strcmp(shape, "tet") == 0 ? 3
                                                                                                : 2)
                           : degree < 3 ? 8
                           : degree < 4 ? 4
                                        : 3);
}

int main(void) {
    static char triangle[] = "triangle", quad[] = "quad", tet[] = "tet", hex[] = "hex";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(orders, triangle), cmocka_unit_test_prestate(orders, quad),
        cmocka_unit_test_prestate(orders, tet), cmocka_unit_test_prestate(orders, hex)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
