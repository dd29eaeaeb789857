/* The world of fuzz_api: where its choices come from, the objects that live, what is lent to the library and
 * taken back spoilt, and the judge of every call. */
#ifndef FACET_TESTS_API_WORLD_H
#define FACET_TESTS_API_WORLD_H

#include "fuzz.h"

#include <math.h>
#include <stdatomic.h>

enum { SLOTS = 3, USERS = 8, LENT = 64 };
#define COUNT(array)   ((int)(sizeof(array) / sizeof((array)[0])))
#define PICK(w, array) ((array)[draw(w, COUNT(array))])

/* What a function of the problem gives. */
enum user_mode {
    GOOD,
    OTHER,
    NEGATIVE,
    NOTHING,
    LARGE,
    NOT_A_NUMBER,
    INFINITE,
    REFUSES,
    INTERRUPTS,
    N_MODES
};
struct user {
    int n; /* values a point */
    enum user_mode mode;
};

/* Others of which an object was made are named by their slots, and live as long as it. */
struct own_mesh {
    facet_mesh *it;
    int context, dim;
    int64_t cells;
};
struct own_problem {
    facet_problem *it;
    int context, mesh, dim;
    facet_equation equation;
};
struct own_solver {
    facet_solver *it;
    int context, mesh, dim, warm;
    facet_equation equation;
    int64_t n; /* of its points */
};

struct world {
    const uint8_t *next; /* of the input */
    size_t left;
    facet_context *contexts[SLOTS];
    struct own_mesh meshes[SLOTS];
    struct own_problem problems[SLOTS];
    struct own_solver solvers[SLOTS];
    struct user users[USERS];
    struct {
        void *block;
        size_t size;
        int until_end; /* of the operation, else of the call */
    } lent[LENT];
    int n_lent;
};

/* Whether anything asked for an interrupt in this sequence; and what was done in all of them. */
static atomic_int interrupted;
static long long n_calls, n_good;

/* ------------------------------------------------------------------------------------------ choices */

/* 0 .. n - 1, n at most 256; 0 behind the end of the input. */
static inline int draw(struct world *w, int n) {
    if (w->left == 0 || n < 2) return 0;
    w->left--;
    return *w->next++ % n;
}

/* Once in n times. */
static inline int rarely(struct world *w, int n) {
    return draw(w, n) == n - 1;
}

static inline int odd_int(struct world *w) {
    static const int ints[] = {0, -1, INT32_MAX, INT32_MIN, 1 << 30, 33, 17};
    return PICK(w, ints);
}

static inline double any_number(struct world *w) {
    static const double numbers[] = {1,   0.5,    2,    0,      -1,     1e-3,     -0.0,      1e3,
                                     NAN, 1e-300, 1e16, 1e-160, 5e-324, INFINITY, -INFINITY, 1e300};
    return PICK(w, numbers);
}

/* ------------------------------------------------------------------------------------------ slots */

/* A slot whose object lives, if there is one; rarely any, and then NULL goes into the call. */
static inline int any_slot(struct world *w, const void *const lives[SLOTS]) {
    int i = draw(w, SLOTS);
    if (rarely(w, 24)) return i;
    for (int k = 0; k < SLOTS; k++)
        if (lives[(i + k) % SLOTS] != NULL) return (i + k) % SLOTS;
    return i;
}

static inline int any_context(struct world *w) {
    const void *lives[SLOTS];
    for (int i = 0; i < SLOTS; i++) lives[i] = w->contexts[i];
    return any_slot(w, lives);
}

static inline int any_mesh(struct world *w) {
    const void *lives[SLOTS];
    for (int i = 0; i < SLOTS; i++) lives[i] = w->meshes[i].it;
    return any_slot(w, lives);
}

static inline struct own_problem *any_problem(struct world *w) {
    const void *lives[SLOTS];
    for (int i = 0; i < SLOTS; i++) lives[i] = w->problems[i].it;
    return &w->problems[any_slot(w, lives)];
}

static inline struct own_solver *any_solver(struct world *w) {
    const void *lives[SLOTS];
    for (int i = 0; i < SLOTS; i++) lives[i] = w->solvers[i].it;
    return &w->solvers[any_slot(w, lives)];
}

/* ------------------------------------------------------------------------------------------ what is lent */

static inline void *lend_until(struct world *w, int until_end, const void *from, size_t size) {
    void *block = malloc(size);
    if (block == NULL || w->n_lent == LENT) abort();
    if (from != NULL)
        memcpy(block, from, size);
    else
        memset(block, 0, size);
    w->lent[w->n_lent].block = block;
    w->lent[w->n_lent].size = size;
    w->lent[w->n_lent++].until_end = until_end;
    return block;
}

/* A block of exactly this size (from: NULL for zeros), for one call. */
static inline void *lend(struct world *w, const void *from, size_t size) {
    return lend_until(w, 0, from, size);
}

static inline char *lend_text(struct world *w, const char *text) {
    return text != NULL ? lend(w, text, strlen(text) + 1) : NULL;
}

/* For the operation: what a call fills in. */
static inline void *room(struct world *w, size_t size) {
    return lend_until(w, 1, NULL, size);
}

/* Whoever kept a pointer finds rubbish, and the sanitizer finds him. */
static inline void take_back(struct world *w, int at_end) {
    int n = 0;
    for (int i = 0; i < w->n_lent; i++) {
        if (w->lent[i].until_end && !at_end) {
            w->lent[n++] = w->lent[i];
            continue;
        }
        memset(w->lent[i].block, 0xa5, w->lent[i].size);
        free(w->lent[i].block);
    }
    w->n_lent = n;
}

/* ------------------------------------------------------------------------------------------ structs */

/* A struct with the size that it says, mostly the right one; for what the library fills in. */
static inline void *any_struct(struct world *w, size_t right) {
    const size_t sizes[] = {right - 8, right + 24, sizeof right, 0, right / 16 * 8, 70000, SIZE_MAX};
    size_t size = rarely(w, 6) ? PICK(w, sizes) : right;
    char *given = room(w, size == 0 || size == SIZE_MAX ? right : size);
    memcpy(given, &size, sizeof size);
    return rarely(w, 32) ? NULL : given;
}

static inline int is_whole(const void *given, size_t right) {
    size_t size = 0;
    if (given != NULL) memcpy(&size, given, sizeof size);
    return size == right;
}

/* ------------------------------------------------------------------------------------------ the judge */

#define STALE "this message is older than the call"
enum { MAY_LACK = 1, MAY_STOP = 2 }; /* machine; tolerance */

static inline void check(int holds, const char *call, const char *what) {
    if (!holds) fprintf(stderr, "fuzz: %s\nfuzz: message: %s\n", call, facet_message());
    fuzz_check(holds, what);
}

static inline facet_status judge(struct world *w, facet_status status, int may, const char *call) {
    static int trace = -1;
    if (trace < 0) trace = getenv("FACET_FUZZ_TRACE") != NULL;
    if (trace)
        fprintf(stderr, "%3d %s%s%s\n", (int)status, call, status != FACET_OK ? "\n    " : "",
                status != FACET_OK ? facet_message() : "");
    n_calls++;
    n_good += status == FACET_OK;
    take_back(w, 0);
    if (status == FACET_OK) return status;
    check(status == FACET_ERROR_INPUT || (status == FACET_ERROR_MACHINE && may & MAY_LACK) ||
              (status == FACET_NOT_CONVERGED && may & MAY_STOP) ||
              (status == FACET_INTERRUPTED && atomic_load(&interrupted)),
          call, "a status that nothing asked for");
    check(facet_message()[0] != '\0' && strcmp(facet_message(), STALE) != 0, call,
          "a failure without a message");
    return status;
}

/* A call with the proof that its failure has a message of its own, and all that it was lent gone after it. */
#define CALL(w, may, call) judge(w, (base_fail(FACET_ERROR_INPUT, STALE), (call)), may, #call)

static inline void check_finite(int64_t n, const double *values, const char *what) {
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(values[i])) continue;
        fprintf(stderr, "fuzz: number %lld of %lld is %g\n", (long long)i, (long long)n, values[i]);
        fuzz_check(0, what);
    }
}

static inline void check_made(facet_status status, const void *object) {
    fuzz_check((status == FACET_OK) == (object != NULL), "an object with a failure, or none without one");
}

/* ------------------------------------------------------------------------------------------ ends */

static inline void drop_solver(struct world *w, int i) {
    facet_solver_destroy(&w->solvers[i].it);
    fuzz_check(w->solvers[i].it == NULL, "a destroyed solver is not NULL");
}

static inline void drop_problem(struct world *w, int i) {
    facet_problem_destroy(&w->problems[i].it);
    fuzz_check(w->problems[i].it == NULL, "a destroyed problem is not NULL");
}

static inline void drop_mesh(struct world *w, int mesh) {
    for (int i = 0; i < SLOTS; i++) {
        if (w->solvers[i].mesh == mesh) drop_solver(w, i);
        if (w->problems[i].mesh == mesh) drop_problem(w, i);
    }
    facet_mesh_destroy(&w->meshes[mesh].it);
    fuzz_check(w->meshes[mesh].it == NULL, "a destroyed mesh is not NULL");
}

static inline void drop_context(struct world *w, int context) {
    for (int i = 0; i < SLOTS; i++) {
        if (w->solvers[i].context == context) drop_solver(w, i);
        if (w->problems[i].context == context) drop_problem(w, i);
    }
    for (int i = 0; i < SLOTS; i++)
        if (w->meshes[i].context == context) drop_mesh(w, i);
    facet_context_destroy(&w->contexts[context]);
    fuzz_check(w->contexts[context] == NULL, "a destroyed context is not NULL");
}

#endif
