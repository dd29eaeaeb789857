/* A file that ranks write together (dist/team_file.h): with room that was reserved, by MPI-IO, and without it, by
 * each rank itself; and what one rank cannot do is the failure of all. */
#include "dist/team_file.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "mpi_helpers.h"

#define PATH    "mpi_files.part"
#define N_BYTES 3000 /* of a rank */

/* Byte i of the file. */
static char byte_at(int64_t i) {
    return (char)(i * 31 + i / 251);
}

static facet_status write_bytes(struct base_team *team, const struct team_file *which) {
    facet_status status = FACET_OK, failed = FACET_OK;
    char bytes[N_BYTES];
    const int64_t at = (int64_t)team->rank * N_BYTES;
    void *file = NULL;
    for (int i = 0; i < N_BYTES; i++) bytes[i] = byte_at(at + i);
    TRY(team_file_open(team, which, &file));
    failed = team_file_write(team, file, at, bytes, N_BYTES);
    const facet_status nothing = team_file_write(team, file, 0, NULL, 0);
    status = team_file_close(team, &file);
    if (failed == FACET_OK) failed = nothing;
    TRY(team_agree(team, failed != FACET_OK ? failed : status));
done:
    return status;
}

/* All have the same status and message, and that in time. */
static facet_status write_together(struct base_team *team, const struct team_file *which) {
    if (team->rank == 0) {
        const int fd = open(PATH, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        CHECK(fd >= 0, "cannot make " PATH);
        close(fd);
    }
    team_enter(team);
    return team_leave(team, write_bytes(team, which));
}

static void expect(facet_status status, const char *words) {
    CHECK(status == FACET_ERROR_MACHINE, "status %d", (int)status);
    CHECK(strstr(facet_message(), words) != NULL, "'%s' is not in '%s'", words, facet_message());
}

static void test_bytes(struct base_team *team, const struct team_file *which) {
    OK(write_together(team, which));
    if (team->rank == 0) {
        FILE *file = fopen(PATH, "rb");
        CHECK(file != NULL, "cannot read " PATH);
        for (int64_t i = 0; i < which->n_bytes; i++)
            CHECK((char)fgetc(file) == byte_at(i), "byte %lld of the file", (long long)i);
        CHECK(fgetc(file) == EOF, "the file is too long");
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The last rank may write less than it has to. */
static void test_limit(struct base_team *team, const struct team_file *which, int64_t most) {
    const int last = team->size - 1;
    struct rlimit before, low;
    char name[64];
    signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0, "getrlimit");
    low = before;
    low.rlim_cur = (rlim_t)most;
    if (team->rank == last) CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0, "setrlimit");
    snprintf(name, sizeof name, "rank %d: cannot write 'out': File too large", last);
    expect(write_together(team, which), name);
    if (team->rank == last) CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0, "setrlimit");
}

/* Rank 1 has a file of that name in a folder of its own, which is empty, or none. */
static void test_folders(struct base_team *team, const struct team_file *which) {
    for (int is_there = 0; is_there <= 1; is_there++) {
        if (team->rank == 1) {
            CHECK(mkdir("mpi_files", 0777) == 0 && chdir("mpi_files") == 0, "mkdir");
            FILE *file = is_there ? fopen(PATH, "wb") : NULL;
            if (file != NULL) fclose(file);
        }
        expect(write_together(team, which), "does not see the file that rank 0 has made for 'out': ");
        CHECK(strncmp(facet_message(), "rank 1, on ", 11) == 0, "%s", facet_message());
        if (team->rank == 1) {
            unlink(PATH);
            CHECK(chdir("..") == 0 && rmdir("mpi_files") == 0, "rmdir");
        }
    }
}

int main(int argc, char **argv) {
    struct dist_comm *comm = mpi_begin(&argc, &argv, 20);
    struct base_team *team = &comm->team;
    struct team_file which = {.name = "out", .path = PATH, .n_bytes = (int64_t)team->size * N_BYTES};
    for (which.is_reserved = 0; which.is_reserved <= 1; which.is_reserved++) {
        test_bytes(team, &which);
        test_limit(team, &which, which.n_bytes - 1);
        if (team->size > 1) test_folders(team, &which);
    }
    /* Nobody foresees it: the write itself has to tell. */
    const struct team_file less = {.name = "out", .path = PATH, .n_bytes = 1};
    test_limit(team, &less, which.n_bytes - 1);
    if (team->rank == 0) unlink(PATH);
    return mpi_end(&comm);
}
