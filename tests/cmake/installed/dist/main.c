/* A stranger's program with the library over MPI, which is found and linked, and not begun. */
#include <facet_dist.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    int begun = 1;
    MPI_Initialized(&begun);
    printf("compiled with facet %s, running with %s, a rank of %d\n", FACET_VERSION, facet_version(),
           facet_context_size(NULL));
    return !begun && strcmp(FACET_VERSION, facet_version()) == 0 ? 0 : 1;
}
