/* The short form of the orders on all four shapes. */
#include "solid_orders.h"

static void on_straight_cells(void **state) {
    (void)state;
    straight_cells(0);
}

static void on_curved_cells(void **state) {
    (void)state;
    curved_cells(0);
}

static void with_the_order_of_geometry(void **state) {
    (void)state;
    orders_of_geometry(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_straight_cells),
        cmocka_unit_test(on_curved_cells),
        cmocka_unit_test(with_the_order_of_geometry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
