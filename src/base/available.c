/* What memory is left to this process, and the sentences that refuse what does not fit. See memory.h. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#    include <malloc.h>
#endif

#include "base/memory.h"

#define PATH_BYTES 4096

/* The number behind `key` at the beginning of a line; -1: no such file, no such line, or no number ("max").
 */
static double read_number(const char *directory, const char *name, const char *key) {
    char text[PATH_BYTES];
    double number = -1.0;
    if (snprintf(text, sizeof text, "%s/%s", directory, name) >= (int)sizeof text) return number;
    FILE *file = fopen(text, "r");
    if (file == NULL) return number;
    while (number < 0.0 && fgets(text, sizeof text, file) != NULL)
        if (strncmp(text, key, strlen(key)) == 0 && sscanf(text + strlen(key), "%lf", &number) != 1)
            number = -1.0;
    fclose(file);
    return number;
}

/* The files of one control group, by the version of the interface: limits, what is used, and how much of that
 * are pages of files that can be dropped at once. */
struct group_files {
    const char *limits[2], *used, *droppable;
};
static const struct group_files versions[] = {
    {{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file "},
    {{"memory.max", "memory.high"}, "memory.current", "inactive_file "}};

static double free_in_group(const char *directory, const struct group_files *files) {
    double limit = INFINITY;
    for (int i = 0; i < 2 && files->limits[i] != NULL; i++) {
        double number = read_number(directory, files->limits[i], "");
        if (number >= 0.0) limit = fmin(limit, number);
    }
    if (isinf(limit)) return limit;
    double used = read_number(directory, files->used, ""),
           droppable = read_number(directory, "memory.stat", files->droppable);
    return fmin(limit, fmax(0.0, limit - fmax(0.0, used) + fmax(0.0, droppable)));
}

/* A group has no more than every group around it: from the process's own up to the mount. In a container the
 * path may be that of the machine outside, of which only the mount itself is there. */
static double free_in_groups(const char *mount, const char *path, const struct group_files *files) {
    char directory[2 * PATH_BYTES], *end = directory;
    double least = INFINITY;
    snprintf(directory, sizeof directory, "%s%s", mount, path);
    while (end != NULL) {
        least = fmin(least, free_in_group(directory, files));
        end = strrchr(directory + strlen(mount), '/');
        if (end != NULL) *end = '\0';
    }
    return least;
}

double base_available_under(const char *root) {
    char text[PATH_BYTES], mount[PATH_BYTES];
    snprintf(text, sizeof text, "%s/proc", root);
    double kib = read_number(text, "meminfo", "MemAvailable:");
    double least =
        kib >= 0.0 ? 1024.0 * kib : (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    snprintf(text, sizeof text, "%s/proc/self/cgroup", root);
    FILE *file = fopen(text, "r");
    while (file != NULL && fgets(text, sizeof text, file) != NULL) { /* number:controllers:path */
        char *controllers = strchr(text, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL) continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        int second = controllers[1] == '\0';
        if (!second && strstr(controllers, "memory") == NULL) continue;
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, second ? "" : "/memory");
        least = fmin(least, free_in_groups(mount, path, &versions[second]));
    }
    if (file != NULL) fclose(file);
    return least;
}

int base_is_limited(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* Of the addresses that `ulimit -v` leaves. */
static double free_addresses(void) {
    struct rlimit limit;
    if (!base_is_limited() || getrlimit(RLIMIT_AS, &limit) != 0) return INFINITY;
    double pages = read_number("/proc/self", "statm", "");
    return fmax(0.0, (double)limit.rlim_cur - fmax(0.0, pages) * (double)sysconf(_SC_PAGESIZE));
}

static _Atomic double pretended;

void base_pretend_available(double bytes) {
    pretended = bytes;
}

double base_available_bytes(void) {
    return pretended > 0.0 ? pretended : fmin(base_available_under(""), free_addresses());
}

#ifdef __GLIBC__
#    if __GLIBC_PREREQ(2, 33)
#        define HAVE_MALLINFO2
#    endif
#endif

#ifdef HAVE_MALLINFO2
#    define MARGIN (8 << 20) /* for what is not allocated: page tables, stacks */

/* A system that promises more memory than it has kills who believes it. What may become used is what malloc
 * has from the system; what may be used is what is left and what is used already. */
int base_may_take(size_t bytes) {
    struct mallinfo2 heap = mallinfo2();
    double page = (double)sysconf(_SC_PAGESIZE), resident = 0.0, shared = 0.0;
    FILE *file = fopen("/proc/self/statm", "r");
    int known = file != NULL && fscanf(file, "%*f %lf %lf", &resident, &shared) == 2;
    if (file != NULL) fclose(file);
    if (!known) return 1;
    return (double)bytes + (double)heap.arena + (double)heap.hblkhd + MARGIN <=
           base_available_bytes() + fmax(0.0, resident - shared) * page;
}
#else
int base_may_take(size_t bytes) {
    (void)bytes;
    return 1;
}
#endif

facet_status base_check_memory(double bytes, double available, const char *where, const char *fits,
                               const char *what, ...) {
    const double gib = 1073741824.0;
    char text[256];
    va_list arguments;
    if (bytes <= available) return FACET_OK;
    va_start(arguments, what);
    vsnprintf(text, sizeof text, what, arguments);
    va_end(arguments);
    return base_fail(FACET_ERROR_MACHINE,
                     "%s would take about %.3f GiB (%.0f bytes) of memory, and %.3f GiB (%.0f bytes) are "
                     "free%s; %s",
                     text, bytes / gib, bytes, available / gib, available, where, fits);
}

/* ------------------------------------------------------------------------------------------ stacks */

#define LEAST_STACK (256u << 10) /* bytes */
#define LEAST_OWN                                                                                            \
    (192u                                                                                                    \
     << 10) /* of a thread, which has its guard and its variables off what it was given                 \
                  */

/* The bytes of "512", "64k", "8 M": OpenMP counts in kB. 0: none of these. */
static double stack_bytes(const char *text) {
    char *end;
    double n = strtod(text, &end), unit = 1024.0;
    while (*end == ' ') end++;
    if (*end == 'b' || *end == 'B') unit = 1.0;
    if (*end == 'm' || *end == 'M') unit = 1048576.0;
    if (*end == 'g' || *end == 'G') unit = 1073741824.0;
    return n * unit;
}

const char *base_small_stack(const char *const given[2]) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < LEAST_STACK)
        return "the stack is limited (ulimit -s) to less than 256 kB, which is too small; ulimit -s 8192 is "
               "usual";
    for (int i = 0; i < 2; i++) {
        const double bytes = given[i] != NULL ? stack_bytes(given[i]) : 0.0;
        if (bytes > 0.0 && bytes < LEAST_STACK)
            return "the stack of OpenMP's threads (OMP_STACKSIZE) is less than 256 kB, which is too small; "
                   "OMP_STACKSIZE=8M is usual";
    }
    return NULL;
}

facet_status base_check_stack(void) {
    const char *const given[2] = {getenv("OMP_STACKSIZE"), getenv("GOMP_STACKSIZE")};
    const char *message = base_small_stack(given);
#ifdef __GLIBC__
    pthread_attr_t own;
    size_t bytes;
    if (message == NULL && pthread_getattr_np(pthread_self(), &own) == 0) {
        if (pthread_attr_getstacksize(&own, &bytes) == 0 && bytes < LEAST_OWN)
            message = "the calling thread was made with a stack of less than 192 kB, which is too small";
        pthread_attr_destroy(&own);
    }
#endif
    return message == NULL ? FACET_OK : base_fail(FACET_ERROR_MACHINE, "%s", message);
}
