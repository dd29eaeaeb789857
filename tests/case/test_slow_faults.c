/* Allocation faults along whole runs, on every device: every allocation in turn, and
 * with two threads every eleventh. */
#include "faults.h"

static void on_cpu(void **state) {
    (void)state;
    fault_device("cpu", 1, 1);
    fault_device("cpu", 2, 11);
}

static void on_ref(void **state) {
    (void)state;
    fault_device("ref", 1, 1);
}

static void on_debug(void **state) {
    (void)state;
    fault_device("debug", 1, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_cpu),
        cmocka_unit_test(on_ref),
        cmocka_unit_test(on_debug),
    };
    return cmocka_run_group_tests(tests, fault_set_up, fault_tear_down);
}
