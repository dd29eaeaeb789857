/* Allocation faults along whole runs, on every device: a sample; test_slow_faults.c makes every one fail. */
#include "faults.h"

static void on_cpu(void **state) {
    (void)state;
    fault_device("cpu", 1, 97);
    fault_device("cpu", 2, 197);
}

static void on_ref(void **state) {
    (void)state;
    fault_device("ref", 1, 97);
}

static void on_debug(void **state) {
    (void)state;
    fault_device("debug", 1, 197);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_cpu),
        cmocka_unit_test(on_ref),
        cmocka_unit_test(on_debug),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, fault_set_up, fault_tear_down);
}
