/* A rename that fails with the error of FACET_RENAME_ERRNO: loaded before the C library's. */
#include <errno.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int rename(const char *from, const char *to);
int rename(const char *from, const char *to) {
    (void)from;
    (void)to;
    const char *number = getenv("FACET_RENAME_ERRNO");
    errno = number != NULL ? atoi(number) : EIO;
    return -1;
}
