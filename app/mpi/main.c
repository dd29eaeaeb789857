/* The program `facet-mpi`. */
#include "app/mpi/launch.h"

int main(int argc, char **argv) {
    int status = launch_begin(&argc, &argv);
    if (status != 0) return status;
    status = launch_run(argc, argv);
    launch_end();
    return status;
}
