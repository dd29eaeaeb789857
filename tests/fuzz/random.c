/* Gives random bytes to a fuzz target, input number i of a seed always the same: a fuzzer that needs no
 * libFuzzer, and says which input it was when it fails.
 *   random_<target> SEED COUNT          inputs 0 .. COUNT - 1
 *   random_<target> SEED SECONDSs       as many as there is time for
 *   random_<target> SEED COUNT FIRST    inputs from FIRST on: random_api 7 1 345 is number 345 alone */
#include "fuzz.h"

#include <signal.h>
#include <unistd.h>

#define MOST_BYTES   512
#define MOST_SECONDS 60 /* of an input */

static const char *program, *seed_text;
static long long number;

static void say_number(void) {
    char text[4096];
    int n = snprintf(text, sizeof text, "\nfuzz: input %lld of seed %s; alone: %s %s 1 %lld\n", number,
                     seed_text, program, seed_text, number);
    if (n >= (int)sizeof text) n = sizeof text - 1;
    if (write(STDERR_FILENO, text, (size_t)n) < 0) _exit(1);
}

static void stop(int signal_number) {
    if (signal_number == SIGALRM) (void)!write(STDERR_FILENO, "fuzz: no end in sight", 21);
    say_number();
    signal(SIGABRT, SIG_DFL);
    abort();
}

/* The sanitizers call back before they end the program; elsewhere the function does not exist. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* splitmix64 */
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static void run(uint64_t seed, uint64_t input) {
    uint64_t state = seed ^ next(&input);
    size_t size = 16 + next(&state) % (MOST_BYTES - 16);
    uint8_t *bytes = malloc(size);
    if (bytes == NULL) abort();
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)next(&state);
    alarm(MOST_SECONDS);
    LLVMFuzzerTestOneInput(bytes, size);
    alarm(0);
    free(bytes);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s SEED COUNT|SECONDSs [FIRST]\n", argv[0]);
        return 2;
    }
    char *unit;
    const long long amount = strtoll(argv[2], &unit, 10), first = argc > 3 ? atoll(argv[3]) : 0;
    const double begin = base_seconds();
    program = argv[0];
    seed_text = argv[1];
    signal(SIGABRT, stop);
    signal(SIGALRM, stop);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(say_number);
    else
        signal(SIGSEGV, stop);
    for (number = first; *unit == 's' ? base_seconds() - begin < (double)amount : number < first + amount;
         number++)
        run(strtoull(seed_text, NULL, 10), (uint64_t)number);
    printf("%lld inputs of seed %s in %.0f s\n", number - first, seed_text, base_seconds() - begin);
    return 0;
}
