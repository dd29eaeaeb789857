/* A stranger's program, as C and as C++: the library it runs with is the one whose header it was compiled
 * with. */
#include <facet.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    printf("compiled with facet %s, running with %s\n", FACET_VERSION, facet_version());
    return strcmp(FACET_VERSION, facet_version()) == 0 ? 0 : 1;
}
