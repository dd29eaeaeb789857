/* Runs command lines of facet-mpi one after the other, so that tests start MPI once and not for every case:
 * mpiexec -n N mpi_serve PLACE. tests/dist/mpi_ranks.py is the other end. Each rank reads from a pipe of its own,
 * PLACE/commands.<rank>, since a rank that waits in a call of MPI would spin: a line holds the directory to
 * run in and the arguments, with tabs between them. Rank 0 writes the exit status of each command to
 * PLACE/answers, a line each, and what it says on standard error during a command to PLACE/errors. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/mpi/launch.h"

#define MAX_ARGUMENTS 32
#define MAX_BYTES     4096

static void give_up(const char *what) {
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
}

static FILE *open_pipe(const char *place, const char *name, const char *mode) {
    char path[MAX_BYTES];
    snprintf(path, sizeof path, "%s/%s", place, name);
    FILE *pipe = fopen(path, mode);
    if (pipe == NULL) give_up(path);
    return pipe;
}

/* Standard error goes to the file `to` until it is given back. */
static void redirect_errors(int to) {
    fflush(stderr);
    if (dup2(to, STDERR_FILENO) < 0) give_up("standard error");
}

static int run_line(char *line) {
    char program[] = "facet-mpi", *arguments[MAX_ARGUMENTS + 1] = {program};
    int n = 1;
    line[strcspn(line, "\n")] = '\0';
    const char *directory = strtok(line, "\t");
    for (char *word; n < MAX_ARGUMENTS && (word = strtok(NULL, "\t")) != NULL;) arguments[n++] = word;
    if (directory == NULL || chdir(directory) != 0) give_up("the directory of a command");
    return launch_run(n, arguments);
}

int main(int argc, char **argv) {
    char name[64], line[MAX_BYTES];
    int rank;
    if (launch_begin(&argc, &argv) != 0 || argc != 2) return 3;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "commands.%d", rank);
    FILE *commands = open_pipe(argv[1], name, "r");
    FILE *answers = rank == 0 ? open_pipe(argv[1], "answers", "w") : NULL;
    FILE *errors = rank == 0 ? open_pipe(argv[1], "errors", "w") : NULL;
    const int own = dup(STDERR_FILENO);
    while (fgets(line, sizeof line, commands) != NULL) {
        if (errors != NULL) {
            if (ftruncate(fileno(errors), 0) != 0 || lseek(fileno(errors), 0, SEEK_SET) < 0)
                give_up("errors");
            redirect_errors(fileno(errors));
        }
        const int status = run_line(line);
        if (errors != NULL) redirect_errors(own);
        if (answers != NULL) {
            fprintf(answers, "%d\n", status);
            fflush(answers);
        }
    }
    launch_end();
    return 0;
}
