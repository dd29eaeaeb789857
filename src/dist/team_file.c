/* Files of a team. What MPI-IO says of its writes cannot be relied on: collective writes of Open MPI 4.1
 * return success, and the full count, where a disk was full or a limit reached. So they are used where
 * nothing of the kind can happen: the system has promised the room (is_reserved), and no rank has a limit
 * below it. Elsewhere every rank writes its bytes by itself, and looks at what the system says; and so it
 * does with bytes of which MPI-IO says that they were not written.
 *
 * A collective open waits for ever for a rank that cannot open the file. So each rank opens it by itself
 * first, and finds in it what rank 0 has just written there: it is the same file, and not one of that name on
 * a disk of another machine. */
#include "dist/team_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "dist/comm.h"

struct shared_file {
    const char *name;
    MPI_File file; /* MPI_FILE_NULL: all writes are our own */
    int fd;
};

/* What rank 0 leaves at the beginning of the file until the others have seen it. */
struct token {
    int64_t process, seconds, nanoseconds;
};

static facet_status write_own(const struct shared_file *f, int64_t at, const char *bytes, int64_t n_bytes) {
    while (n_bytes > 0) {
        const ssize_t n = pwrite(f->fd, bytes, (size_t)n_bytes, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return file_cannot_write(f->name, n < 0 ? errno : ENOSPC);
        at += n;
        bytes += n;
        n_bytes -= n;
    }
    return FACET_OK;
}

static facet_status leave_token(struct shared_file *f, const char *path, struct token *token) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *token = (struct token){(int64_t)getpid(), (int64_t)now.tv_sec, (int64_t)now.tv_nsec};
    f->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (f->fd < 0) return file_cannot_write(f->name, errno);
    const facet_status status = write_own(f, 0, (const char *)token, sizeof *token);
    if (status != FACET_OK) return status;
    return fsync(f->fd) == 0 || errno == EINVAL || errno == EINTR ? FACET_OK
                                                                  : file_cannot_write(f->name, errno);
}

static facet_status find_token(int rank, struct shared_file *f, const char *path, const struct token *token) {
    struct token found = {0, 0, 0};
    char host[256] = "";
    const char *why = "it sees another one";
    f->fd = open(path, O_RDWR | O_CLOEXEC);
    if (f->fd < 0)
        why = strerror(errno);
    else if (pread(f->fd, &found, sizeof found, 0) == (ssize_t)sizeof found &&
             memcmp(&found, token, sizeof found) == 0)
        return FACET_OK;
    gethostname(host, sizeof host - 1);
    return base_fail(
        FACET_ERROR_MACHINE,
        "rank %d, on %s, does not see the file that rank 0 has made for '%s': %s; all ranks must "
        "run in one folder of a file system that they share",
        rank, host, f->name, why);
}

/* Rank 0 learns of its limit when it reserves the room, or writes; of the others MPI-IO would tell nobody. */
static facet_status check_limit(const struct team_file *which) {
    struct rlimit limit;
    const int is_low = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                       limit.rlim_cur < (rlim_t)which->n_bytes;
    return is_low ? file_cannot_write(which->name, EFBIG) : FACET_OK;
}

facet_status dist_file_open(struct base_team *team, const struct team_file *which, void **file) {
    facet_status status = FACET_OK;
    struct shared_file *f = NULL;
    struct token token;
    TRY(CALLOC(f, 1));
    *f = (struct shared_file){.name = which->name, .file = MPI_FILE_NULL, .fd = -1};
    TRY(check_limit(which));
    if (team->rank == 0) TRY(leave_token(f, which->path, &token));
    TRY(team_broadcast(team, 0, &token, sizeof token));
    if (team->rank > 0) status = find_token(team->rank, f, which->path, &token);
    TRY(team_agree(team, status));
    if (which->is_reserved)
        TRY(dist_check(
            MPI_File_open(dist_comm_of(team)->data, which->path, MPI_MODE_WRONLY, MPI_INFO_NULL, &f->file),
            which->name));
    *file = f;
    f = NULL;
done:
    if (f != NULL && f->fd >= 0) close(f->fd);
    base_free(&f);
    return status;
}

facet_status dist_file_write(struct base_team *team, void *file, int64_t at, const void *bytes,
                             int64_t n_bytes) {
    struct shared_file *f = file;
    MPI_Status said;
    int n = 0;
    (void)team;
    if (f->file == MPI_FILE_NULL) return write_own(f, at, bytes, n_bytes);
    if (MPI_File_write_at_all(f->file, (MPI_Offset)at, bytes, (int)n_bytes, MPI_BYTE, &said) != MPI_SUCCESS ||
        MPI_Get_count(&said, MPI_BYTE, &n) != MPI_SUCCESS || n < 0 || n > n_bytes)
        n = 0;
    return write_own(f, at + n, (const char *)bytes + n, n_bytes - n);
}

/* What a machine has kept for later goes out now, or says that it cannot. */
facet_status dist_file_close(struct base_team *team, void **file) {
    facet_status status = FACET_OK, closed = FACET_OK;
    struct shared_file *f = *file;
    (void)team;
    if (f->file != MPI_FILE_NULL) {
        status = dist_check(MPI_File_sync(f->file), f->name);
        closed = dist_check(MPI_File_close(&f->file), f->name);
        if (status == FACET_OK) status = closed;
    }
    if (fsync(f->fd) != 0 && errno != EINVAL && errno != EINTR && status == FACET_OK)
        status = file_cannot_write(f->name, errno);
    if (close(f->fd) != 0 && errno != EINTR && status == FACET_OK) status = file_cannot_write(f->name, errno);
    base_free(&f);
    *file = NULL;
    return status;
}
