/* The base room: error text and its way home from threads, the counted allocator, threads and phases. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/run.h"
#include "base/sort.h"
#include "hdg_helpers.h"

static void messages_gather_their_place(void **state) {
    (void)state;
    facet_status status = base_fail(FACET_ERROR_INPUT, "unknown name '%c'", 'w');
    status = base_wrap(status, "column %d", 3);
    status = base_wrap(status, "part.yaml:12:5");
    assert_int_equal(status, FACET_ERROR_INPUT);
    assert_string_equal(base_message(), "part.yaml:12:5: column 3: unknown name 'w'");
    assert_int_equal(base_wrap(FACET_OK, "nothing happened"), FACET_OK);
    assert_string_equal(base_message(), "part.yaml:12:5: column 3: unknown name 'w'");
}

static void long_messages_are_cut(void **state) {
    (void)state;
    char text[3 * BASE_MESSAGE_BYTES];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    base_fail(FACET_ERROR_INPUT, "%s", text);
    assert_int_equal(strlen(base_message()), BASE_MESSAGE_BYTES - 1);
    base_wrap(FACET_ERROR_INPUT, "place");
    assert_memory_equal(base_message(), "place: aaa", 10);
    assert_true(strlen(base_message()) < BASE_MESSAGE_BYTES);
    base_wrap(FACET_ERROR_INPUT, "%s", text); /* a place longer than all the room */
    assert_int_equal(strlen(base_message()), BASE_MESSAGE_BYTES - 1);
    for (int n = BASE_MESSAGE_BYTES - 8; n < BASE_MESSAGE_BYTES + 2; n++) {
        base_fail(FACET_ERROR_INPUT, "inner");
        base_wrap(FACET_ERROR_INPUT, "%.*s", n, text);
        assert_true(strlen(base_message()) < BASE_MESSAGE_BYTES);
    }
}

static facet_status chain(int k) {
    facet_status status = FACET_OK;
    TRY(k == 0 ? FACET_OK : base_fail(FACET_NOT_CONVERGED, "first"));
    FAIL(FACET_ERROR_MACHINE, "second %d", k);
done:
    return status;
}

static void try_and_fail_leave_at_once(void **state) {
    (void)state;
    refused(chain(1), FACET_NOT_CONVERGED, "first");
    refused(chain(0), FACET_ERROR_MACHINE, "second 0");
}

static void *other_thread(void *user) {
    base_fail(FACET_ERROR_INPUT, "of the other thread");
    snprintf(user, 64, "%s", base_message());
    return NULL;
}

static void messages_belong_to_their_thread(void **state) {
    (void)state;
    char text[64] = "";
    pthread_t thread;
    base_fail(FACET_ERROR_INPUT, "of this thread");
    assert_int_equal(pthread_create(&thread, NULL, other_thread, text), 0);
    pthread_join(thread, NULL);
    assert_string_equal(text, "of the other thread");
    assert_string_equal(base_message(), "of this thread");
}

static void the_collector_keeps_the_first_index(void **state) {
    (void)state;
    for (int threads = 1; threads <= 5; threads += 2) {
        struct base_collector collector;
        base_set_threads(threads);
        base_collector_init(&collector);
        assert_int_equal(base_collected(&collector), FACET_OK);
        assert_false(base_collector_failed(&collector));
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic)
        for (int i = 0; i < 1000; i++) {
            facet_status status = FACET_OK;
            if (i % 100 == 37)
                status = base_fail(i == 37 ? FACET_ERROR_INPUT : FACET_ERROR_MACHINE, "iteration %d", i);
            base_collect(&collector, i, status);
        }
        assert_true(base_collector_failed(&collector));
        base_fail(FACET_ERROR_MACHINE, "of another failure");
        refused(base_collected(&collector), FACET_ERROR_INPUT, "iteration 37");
    }
    base_set_threads(0);
}

static void the_allocator_counts(void **state) {
    (void)state;
    struct base_memory before, during, after;
    double *a = NULL, *b = NULL;
    char *text = NULL;
    base_memory_read(&before);
    ok(ALLOC(a, 7));
    ok(CALLOC(b, 1000));
    ok(base_strdup("facet", &text));
    for (int i = 0; i < 1000; i++) assert_true(b[i] == 0.0);
    assert_string_equal(text, "facet");
    base_memory_read(&during);
    assert_int_equal(during.live_blocks - before.live_blocks, 3);
    assert_int_equal(during.live_bytes - before.live_bytes, 8 * 1007 + 6);
    assert_int_equal(during.allocations - before.allocations, 3);
    assert_true(during.peak_bytes >= during.live_bytes);
    assert_int_equal((uintptr_t)a % BASE_ALIGNMENT, 0);
    assert_int_equal((uintptr_t)b % BASE_ALIGNMENT, 0);
    base_free(&a);
    base_free(&a);
    base_free(&b);
    base_free(&text);
    assert_null(a);
    base_memory_read(&after);
    assert_int_equal(after.live_blocks, before.live_blocks);
    assert_int_equal(after.live_bytes, before.live_bytes);
}

static void nothing_is_an_allocation_of_none(void **state) {
    (void)state;
    int64_t before = live_blocks();
    double x, *a = &x;
    ok(ALLOC(a, 0));
    assert_null(a);
    ok(base_realloc(&a, 4, sizeof *a));
    ok(base_realloc(&a, 0, sizeof *a));
    assert_null(a);
    assert_int_equal(live_blocks(), before);
}

static void realloc_keeps_the_contents(void **state) {
    (void)state;
    int64_t before = live_blocks();
    int *a = NULL;
    for (int n = 1; n <= 1000; n = 3 * n + 1) {
        ok(base_realloc(&a, (size_t)n, sizeof *a));
        for (int i = n / 3; i < n; i++) a[i] = i;
        for (int i = 0; i < n; i++) assert_int_equal(a[i], i);
    }
    ok(base_realloc(&a, 5, sizeof *a));
    for (int i = 0; i < 5; i++) assert_int_equal(a[i], i);
    base_memory_fail_at(1);
    refused(base_realloc(&a, 100, sizeof *a), FACET_ERROR_MACHINE, "400 bytes");
    for (int i = 0; i < 5; i++) assert_int_equal(a[i], i);
    base_free(&a);
    assert_int_equal(live_blocks(), before);
}

/* Byte by byte, and nothing beside them, in pieces or not, whoever does it. */
static void copies_and_zeros_are_whole(void **state) {
    (void)state;
    const size_t piece = (size_t)1 << 18, sizes[] = {0, 1, piece - 1, piece, 2 * piece + 1, 5 * piece - 3};
    unsigned char *from, *to;
    assert_int_equal(ALLOC(from, 5 * piece), FACET_OK);
    for (size_t i = 0; i < 5 * piece; i++) from[i] = (unsigned char)(i * 7 + i / 251);
    for (int k = 0; k < 18; k++) {
        size_t n = sizes[k % 6];
        base_set_threads(1 + k / 6);
        assert_int_equal(ALLOC(to, n + 1), FACET_OK);
        memset(to, 9, n + 1);
        base_copy(to, from, n);
        assert_memory_equal(to, from, n);
        assert_int_equal(to[n], 9);
        base_free(&to); /* and the same memory again */
        assert_int_equal(CALLOC(to, n + 1), FACET_OK);
        for (size_t i = 0; i <= n; i++) assert_int_equal(to[i], 0);
        base_free(&to);
    }
    base_set_threads(0);
    base_free(&from);
}

/* Blocks that the heap grew for keep what was written into them, whatever pages it asks for. */
static void a_growing_heap_keeps_what_it_holds(void **state) {
    (void)state;
    enum { BLOCKS = 40 };
    const int64_t n = 190007;
    double *blocks[BLOCKS];
    base_memory_prepare();
    for (int round = 0; round < 2; round++) {
        for (int b = 0; b < BLOCKS; b++) {
            assert_int_equal(ALLOC(blocks[b], n), FACET_OK);
            for (int64_t i = 0; i < n; i++) blocks[b][i] = (double)(b * n + i);
        }
        for (int b = 0; b < BLOCKS; b++) {
            for (int64_t i = 0; i < n; i++) assert_true(blocks[b][i] == (double)(b * n + i));
            base_free(&blocks[b]);
        }
    }
}

static void sizes_beyond_the_machine_are_refused(void **state) {
    (void)state;
    int64_t before = live_blocks();
    double x, *a = &x;
    refused(base_alloc(&a, SIZE_MAX / 4, 8), FACET_ERROR_MACHINE,
            "out of memory"); /* the product overflows */
    assert_null(a);
    a = &x;
    refused(base_calloc(&a, SIZE_MAX, 1), FACET_ERROR_MACHINE, "out of memory"); /* the header does */
    assert_null(a);
    refused(base_realloc(&a, SIZE_MAX / 2, 3), FACET_ERROR_MACHINE, "out of memory");
    assert_int_equal(live_blocks(), before);
}

static void the_kth_allocation_fails(void **state) {
    (void)state;
    int64_t before = live_blocks();
    for (int k = 1; k <= 5; k++) {
        char *blocks[5];
        base_memory_fail_at(k);
        for (int i = 1; i <= 5; i++)
            assert_int_equal(base_alloc(&blocks[i - 1], 16, 1), i == k ? FACET_ERROR_MACHINE : FACET_OK);
        for (int i = 0; i < 5; i++) base_free(&blocks[i]);
    }
    base_memory_fail_at(2);
    base_memory_fail_at(0);
    char *a, *b;
    ok(ALLOC(a, 1));
    ok(ALLOC(b, 1));
    base_free(&a);
    base_free(&b);
    assert_int_equal(live_blocks(), before);
}

static void the_count_is_right_from_many_threads(void **state) {
    (void)state;
    struct base_memory before, after;
    base_memory_read(&before);
#pragma omp parallel for num_threads(4) schedule(dynamic, 7)
    for (int i = 0; i < 20000; i++) {
        char *p;
        if (base_alloc(&p, (size_t)(i % 50), 1) == FACET_OK) base_free(&p);
    }
    base_memory_read(&after);
    assert_int_equal(after.live_blocks, before.live_blocks);
    assert_int_equal(after.live_bytes, before.live_bytes);
    assert_int_equal(after.allocations - before.allocations, 20000 / 50 * 49);
}

static void threads_are_a_property_of_the_process(void **state) {
    (void)state;
    base_set_threads(3);
    assert_int_equal(base_threads(), BASE_HAS_OPENMP ? 3 : 1);
    base_set_threads(-5);
    assert_true(base_threads() >= 1);
    base_set_threads(0);
    assert_true(base_threads() >= 1);
}

static atomic_int busy;

static void *spin(void *unused) {
    while (atomic_load(&busy)) {
    }
    return unused;
}

/* The second team comes and goes while others take the processors and give them back: main says that nobody
 * has decided how threads wait. */
static void loops_are_right_while_processors_are_shared(void **state) {
    (void)state;
    pthread_t others[4];
    for (int round = 0; round < 4; round++) {
        double begin = base_seconds();
        atomic_store(&busy, round % 2 == 0);
        for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&others[i], NULL, spin, NULL), 0);
        while (base_seconds() < begin + 0.15) {
            int sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
            for (int i = 0; i < 1000; i++) sum += i;
            assert_int_equal(sum, 499500);
            base_waits_look();
        }
        atomic_store(&busy, 0);
        for (int i = 0; i < 4; i++) pthread_join(others[i], NULL);
    }
}

struct log {
    int begins, ends, progress, iterations;
    double seconds, residual;
};

static void listen(void *user, const facet_event *event) {
    struct log *log = user;
    log->begins += event->kind == FACET_EVENT_BEGIN;
    log->ends += event->kind == FACET_EVENT_END;
    log->progress += event->kind == FACET_EVENT_PROGRESS;
    log->iterations += event->kind == FACET_EVENT_ITERATION;
    if (event->kind == FACET_EVENT_END) log->seconds = event->seconds;
    if (event->kind == FACET_EVENT_ITERATION) log->residual = event->residual;
}

static void phases_are_timed_and_told(void **state) {
    (void)state;
    struct log log = {0};
    struct base_monitor monitor = {listen, &log}, silent = {NULL, NULL};
    struct base_timers timers = {0};
    double begin = base_phase_begin(&timers, &monitor, FACET_PHASE_SETUP);
    base_report_progress(&monitor, FACET_PHASE_SETUP, 1, 2);
    base_report_iteration(&monitor, 1, 0.5);
    base_phase_end(&timers, &monitor, FACET_PHASE_SETUP, begin);
    assert_true(log.begins == 1 && log.ends == 1 && log.progress == 1 && log.iterations == 1);
    assert_true(log.seconds >= 0.0 && timers.seconds[FACET_PHASE_SETUP] == log.seconds);
    near(log.residual, 0.5, 0);
    base_phase_end(&timers, &silent, FACET_PHASE_SETUP, base_phase_begin(NULL, NULL, FACET_PHASE_SETUP));
    assert_true(timers.seconds[FACET_PHASE_SETUP] >= log.seconds);
    assert_string_equal(facet_phase_name(FACET_PHASE_CONDENSE), "condense");
    assert_string_equal(facet_phase_name(FACET_PHASE_MEASURE), "measure");
    assert_string_equal(facet_phase_name(FACET_N_PHASES), "?");
}

static void wait_until(double seconds) {
    while (base_seconds() < seconds) continue;
}

/* Seconds of a phase inside another count once, and those of the same phase inside itself too. */
static void a_phase_stands_still_while_another_runs(void **state) {
    (void)state;
    struct base_timers timers = {0};
    const double step = 2e-3;
    double now = base_seconds(), outer = base_phase_begin(&timers, NULL, FACET_PHASE_SETUP);
    wait_until(now + step);
    double inner = base_phase_begin(&timers, NULL, FACET_PHASE_LOAD);
    wait_until(now + 3 * step);
    base_phase_end(&timers, NULL, FACET_PHASE_LOAD, inner);
    double same = base_phase_begin(&timers, NULL, FACET_PHASE_SETUP);
    wait_until(now + 4 * step);
    base_phase_end(&timers, NULL, FACET_PHASE_SETUP, same);
    base_phase_end(&timers, NULL, FACET_PHASE_SETUP, outer);
    double passed = base_seconds() - now;
    double setup = timers.seconds[FACET_PHASE_SETUP], load = timers.seconds[FACET_PHASE_LOAD];
    assert_true(setup > 0.0 && load > 0.0 && setup + load >= 4 * step * (1 - 1e-3));
    assert_true(setup + load <= passed + 1e-6);
}

/* Outside of all calls, who has no end that could obey. */
static void the_stop_flag_stays_up(void **state) {
    (void)state;
    ok(base_check_interrupt());
    facet_interrupt();
    refused(base_check_interrupt(), FACET_INTERRUPTED, "interrupted");
    assert_int_equal(base_check_interrupt(), FACET_INTERRUPTED);
    facet_interrupt_clear();
    ok(base_check_interrupt());
}

static void lengths_become_offsets(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 5, 1000, 123457};
    for (int k = 0; k < 5; k++)
        for (int n_threads = 1; n_threads <= 4; n_threads += 3) {
            const int64_t n = sizes[k];
            int64_t *offsets = malloc((size_t)(n + 1) * sizeof *offsets), sum = 7;
            base_set_threads(n_threads);
            offsets[0] = 7;
            for (int64_t i = 0; i < n; i++) offsets[i + 1] = i * i % 13;
            base_sum_up(n, offsets);
            for (int64_t i = 0; i <= n; i++) {
                assert_int_equal(offsets[i], sum);
                sum += i * i % 13;
            }
            free(offsets);
        }
    base_set_threads(0);
}

static void the_machine_has_memory(void **state) {
    (void)state;
    assert_true(base_peak_resident_bytes() > 0);
    assert_true(base_available_bytes() > 0);
}

int main(void) {
    unsetenv("OMP_WAIT_POLICY");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_gather_their_place),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(try_and_fail_leave_at_once),
        cmocka_unit_test(messages_belong_to_their_thread),
        cmocka_unit_test(the_collector_keeps_the_first_index),
        cmocka_unit_test(the_allocator_counts),
        cmocka_unit_test(nothing_is_an_allocation_of_none),
        cmocka_unit_test(realloc_keeps_the_contents),
        cmocka_unit_test(copies_and_zeros_are_whole),
        cmocka_unit_test(a_growing_heap_keeps_what_it_holds),
        cmocka_unit_test(sizes_beyond_the_machine_are_refused),
        cmocka_unit_test(the_kth_allocation_fails),
        cmocka_unit_test(the_count_is_right_from_many_threads),
        cmocka_unit_test(threads_are_a_property_of_the_process),
        cmocka_unit_test(loops_are_right_while_processors_are_shared),
        cmocka_unit_test(phases_are_timed_and_told),
        cmocka_unit_test(a_phase_stands_still_while_another_runs),
        cmocka_unit_test(the_stop_flag_stays_up),
        cmocka_unit_test(lengths_become_offsets),
        cmocka_unit_test(the_machine_has_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
