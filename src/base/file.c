/* Whole files or none (see file.h). A regular target is written under a name of its own in the same directory
 * (the part), where a rename is atomic: two runs that write one file each write a part, and the later one
 * stays. Writing, fsync and close are checked, since a full disk may show itself only there. Devices and
 * pipes cannot be renamed over and are written directly; a symbolic link is followed, so that the file it
 * names is replaced and not the link. Nothing waits without looking at the stop flag, neither for the reader
 * of a pipe nor for room in it. */
#define _GNU_SOURCE /* fallocate */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"

/* ------------------------------------------------------------------------------------------ text */

/* Room for n more bytes and the NUL. */
static int text_reserve(struct text *text, size_t n) {
    if (text->status != FACET_OK) return 0;
    if (n >= SIZE_MAX - text->length) {
        text->status = base_fail(FACET_ERROR_MACHINE, "a text of %zu more bytes is too long", n);
        return 0;
    }
    const size_t wanted = text->length + n + 1;
    if (wanted <= text->capacity) return 1;
    size_t capacity = text->capacity < 128 ? 256 : 2 * text->capacity;
    if (capacity < wanted) capacity = wanted;
    text->status = base_realloc(&text->data, capacity, 1);
    if (text->status != FACET_OK) return 0;
    text->capacity = capacity;
    return 1;
}

void text_append(struct text *text, const char *bytes, size_t n) {
    if (!text_reserve(text, n)) return;
    if (n > 0) memcpy(text->data + text->length, bytes, n);
    text->length += n;
    text->data[text->length] = '\0';
}

void text_printf(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (n < 0) {
        if (text->status == FACET_OK) {
            text->status =
                base_fail(FACET_ERROR_MACHINE, "a text could not be formatted: %s", strerror(errno));
        }
        return;
    }
    if (!text_reserve(text, (size_t)n)) return;
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)n + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)n;
}

void text_free(struct text *text) {
    base_free(&text->data);
    *text = (struct text){.data = NULL};
}

/* ------------------------------------------------------------------------------------------ writing */

#define MAX_LINKS   40
#define MOST_PARTS  1000    /* of one run in one directory, those of killed runs included */
#define PART_BYTES  32      /* what the name of a part adds to that of its target, or more */
#define CHUNK_BYTES 1048576 /* between two looks at the stop flag */
#define WAIT_MS     20      /* the same, while a pipe has no reader or no room */

static const struct {
    const char *name, *says;
    int fd;
} streams[] = {{"-", "to standard output", STDOUT_FILENO},
               {"/dev/stdout", "to standard output", STDOUT_FILENO},
               {"/dev/stderr", "to standard error", STDERR_FILENO}};

/* What a name leads to. */
struct target {
    char path[PATH_MAX]; /* links followed */
    int stream;          /* open already; or -1 */
    mode_t mode;         /* of what is there, 0 for nothing */
};

struct file_writer {
    struct target to;
    int fd;
    char name[PATH_MAX];               /* the target as the caller called it, for messages */
    char part[PATH_MAX];               /* empty: written directly */
    struct file_writer *volatile next; /* unfinished, too */
};

/* Those that have a part, the one that was opened last first; threads change it one at a time, so that a
 * signal handler, which cannot wait, finds a whole list. */
static struct file_writer *volatile unfinished;
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;

void file_remove_unfinished(void) {
    for (const struct file_writer *w = unfinished; w; w = w->next) unlink(w->part);
}

static void note_unfinished(struct file_writer *writer) {
    pthread_mutex_lock(&change);
    writer->next = unfinished;
    unfinished = writer;
    pthread_mutex_unlock(&change);
}

static void forget_unfinished(struct file_writer *writer) {
    pthread_mutex_lock(&change);
    struct file_writer *volatile *at = &unfinished;
    while (*at && *at != writer) at = &(*at)->next;
    if (*at) *at = writer->next;
    pthread_mutex_unlock(&change);
}

facet_status file_cannot_write(const char *name, int error) {
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (strcmp(name, streams[i].name) == 0)
            return base_fail(FACET_ERROR_MACHINE, "cannot write %s: %s", streams[i].says, strerror(error));
    return base_fail(FACET_ERROR_MACHINE, "cannot write '%s': %s", name, strerror(error));
}

/* The directory of a path, and the rest of it. */
static const char *split_path(const char *path, char directory[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    snprintf(directory, PATH_MAX, "%.*s", slash && slash > path ? (int)(slash - path) : 1,
             slash ? path : ".");
    return slash ? slash + 1 : path;
}

/* Where a link leads, also when nothing is there yet: a file written through a link must not replace the
 * link. Only the last part of a path is looked at, the system follows the others. */
static facet_status follow_links(const char *name, char path[PATH_MAX]) {
    char link[PATH_MAX], next[2 * PATH_MAX];
    if (strlen(name) >= PATH_MAX) return file_cannot_write(name, ENAMETOOLONG);
    snprintf(path, PATH_MAX, "%s", name);
    for (int hops = 0;; hops++) {
        const ssize_t n = readlink(path, link, sizeof link - 1);
        if (n < 0) return FACET_OK; /* no link, or nothing at all */
        link[n] = '\0';
        const char *slash = link[0] == '/' ? NULL : strrchr(path, '/');
        snprintf(next, sizeof next, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, link);
        if (hops == MAX_LINKS) return file_cannot_write(name, ELOOP);
        if (strlen(next) >= PATH_MAX) return file_cannot_write(name, ENAMETOOLONG);
        snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 1, next);
    }
}

/* A part needs a directory that is there and takes files; a missing one is the likely mistake. */
static facet_status check_directory(const char *name, const char *path) {
    char directory[PATH_MAX];
    split_path(path, directory);
    if (access(directory, W_OK | X_OK) == 0) return FACET_OK;
    if (errno == ENOENT)
        return base_fail(FACET_ERROR_MACHINE, "cannot write '%s': the directory '%s' does not exist", name,
                         directory);
    return base_fail(FACET_ERROR_MACHINE, "cannot write '%s': the directory '%s' takes no files: %s", name,
                     directory, strerror(errno));
}

/* Finds out all that can be known without touching anything. */
static facet_status find_target(const char *name, struct target *to) {
    struct stat info;
    *to = (struct target){.stream = -1};
    if (name[0] == '\0') return base_fail(FACET_ERROR_INPUT, "the name of the file to write is empty");
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (strcmp(name, streams[i].name) == 0) to->stream = streams[i].fd;
    if (to->stream >= 0) {
        const int flags = fcntl(to->stream, F_GETFL);
        return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY ? FACET_OK : file_cannot_write(name, EBADF);
    }
    const facet_status followed = follow_links(name, to->path);
    if (followed != FACET_OK) return followed;
    if (stat(name, &info) != 0)
        return errno == ENOENT ? check_directory(name, to->path) : file_cannot_write(name, errno);
    to->mode = info.st_mode;
    if (S_ISDIR(info.st_mode))
        return base_fail(FACET_ERROR_MACHINE, "cannot write '%s': it is a directory", name);
    if (access(name, W_OK) != 0) return file_cannot_write(name, errno);
    if (S_ISREG(info.st_mode)) return check_directory(name, to->path);
    snprintf(to->path, sizeof to->path, "%s", name); /* what a link in /proc says of a pipe is no path */
    return FACET_OK;
}

facet_status file_check(const char *path) {
    struct target to;
    return find_target(path, &to);
}

/* A new file beside the target, with the permissions of the old one. Its name is that of the target and
 * numbers; a very long name gives way. Returns errno. */
static int open_part(struct file_writer *w) {
    char directory[PATH_MAX];
    const char *base = split_path(w->to.path, directory);
    if (strlen(base) + PART_BYTES > NAME_MAX) base = "facet";
    w->fd = -1;
    for (int i = 0; w->fd < 0 && i < MOST_PARTS; i++) {
        const int n =
            snprintf(w->part, sizeof w->part, "%s/%s.%ld-%d.part", directory, base, (long)getpid(), i);
        if (n < 0 || (size_t)n >= sizeof w->part)
            errno = ENAMETOOLONG;
        else
            w->fd = open(w->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (w->fd < 0 && errno != EEXIST) break;
    }
    if (w->fd < 0) {
        w->part[0] = '\0';
        return errno;
    }
    note_unfinished(w);
    return w->to.mode != 0 && fchmod(w->fd, w->to.mode & 0777) != 0 && errno != EPERM ? errno : 0;
}

/* A pipe is opened when it has a reader. */
static facet_status open_direct(struct file_writer *w) {
    for (;;) {
        const facet_status status = base_check_interrupt();
        if (status != FACET_OK) return status;
        w->fd = open(w->to.path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (w->fd >= 0) return FACET_OK;
        if (errno != EINTR && (errno != ENXIO || !S_ISFIFO(w->to.mode)))
            return file_cannot_write(w->name, errno);
        poll(NULL, 0, WAIT_MS);
    }
}

facet_status file_writer_open(const char *path, struct file_writer **writer) {
    facet_status status = FACET_OK;
    struct file_writer *w = NULL;

    *writer = NULL;
    TRY(CALLOC(w, 1));
    w->fd = -1;
    TRY(find_target(path, &w->to));
    snprintf(w->name, sizeof w->name, "%s", path);
    if (w->to.stream >= 0) {
        w->fd = w->to.stream;
        if (w->fd == STDOUT_FILENO && fflush(stdout) != 0) TRY(file_cannot_write(path, errno));
    } else if (w->to.mode == 0 || S_ISREG(w->to.mode)) {
        const int error = open_part(w);
        if (error != 0) TRY(file_cannot_write(path, error));
    } else {
        TRY(open_direct(w));
    }
    *writer = w;
    w = NULL;
done:
    file_writer_abandon(&w);
    return status;
}

const char *file_writer_path(const struct file_writer *writer) {
    return writer->part[0] ? writer->part : NULL;
}

facet_status file_writer_reserve(struct file_writer *writer, int64_t n_bytes, int *reserved) {
    *reserved = 0;
#ifdef __linux__
    while (writer->part[0] && !*reserved) {
        const facet_status status = base_check_interrupt();
        if (status != FACET_OK) return status;
        *reserved = fallocate(writer->fd, 0, 0, (off_t)n_bytes) == 0;
        if (*reserved || errno == EINTR) continue;
        return errno == EOPNOTSUPP || errno == ENOSYS ? FACET_OK : file_cannot_write(writer->name, errno);
    }
#else
    (void)writer, (void)n_bytes;
#endif
    return FACET_OK;
}

/* A large file takes a while; who interrupts it wants the part gone. A pipe that has room has it for
 * PIPE_BUF bytes. */
facet_status file_writer_put(struct file_writer *writer, const void *bytes, size_t n) {
    const size_t most = writer->part[0] ? CHUNK_BYTES : PIPE_BUF;
    for (const char *at = bytes;;) {
        const facet_status status = base_check_interrupt();
        if (status != FACET_OK || n == 0) return status;
        struct pollfd room = {.fd = writer->fd, .events = POLLOUT};
        const int ready = poll(&room, 1, WAIT_MS);
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        const ssize_t written = write(writer->fd, at, n < most ? n : most);
        if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (written <= 0) return file_cannot_write(writer->name, written < 0 ? errno : ENOSPC);
        at += written;
        n -= (size_t)written;
    }
}

facet_status file_writer_finish(struct file_writer *w) {
    facet_status status = FACET_OK;
    if (w->to.stream >= 0 || w->fd < 0) goto done;
    if (w->part[0] && fsync(w->fd) != 0 && errno != EINVAL && errno != EINTR)
        TRY(file_cannot_write(w->name, errno));
    TRY(base_check_interrupt());
    const int closed = close(w->fd);
    w->fd = -1;
    if (closed != 0 && errno != EINTR) TRY(file_cannot_write(w->name, errno));
done:
    return status;
}

facet_status file_writer_close(struct file_writer **writer) {
    facet_status status = FACET_OK;
    struct file_writer *w = *writer;
    if (!w) goto done;
    TRY(file_writer_finish(w));
    if (w->part[0]) {
        if (rename(w->part, w->to.path) != 0) TRY(file_cannot_write(w->name, errno));
        forget_unfinished(w);
        w->part[0] = '\0';
    }
done:
    file_writer_abandon(writer);
    return status;
}

void file_writer_abandon(struct file_writer **writer) {
    struct file_writer *w = *writer;
    if (!w) return;
    if (w->fd >= 0 && w->to.stream < 0) close(w->fd);
    if (w->part[0]) {
        unlink(w->part);
        forget_unfinished(w);
    }
    base_free(writer);
}

facet_status file_write_whole(const char *path, const void *bytes, size_t n) {
    facet_status status = FACET_OK;
    struct file_writer *writer = NULL;

    TRY(file_writer_open(path, &writer));
    TRY(file_writer_put(writer, bytes, n));
    TRY(file_writer_close(&writer));
done:
    file_writer_abandon(&writer);
    return status;
}

/* ------------------------------------------------------------------------------------------ reading */

static facet_status fail_read(const char *path, int error) {
    const int absent = error == ENOENT || error == ENOTDIR || error == EISDIR;
    return base_fail(absent ? FACET_ERROR_INPUT : FACET_ERROR_MACHINE, "cannot read '%s': %s", path,
                     error == ENOENT ? "there is no such file" : strerror(error));
}

const char *file_what(int mode) {
    return S_ISREG(mode)    ? NULL
           : S_ISDIR(mode)  ? "a directory"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* A pipe is refused before it is opened, which would wait for somebody to write. Reads to the end and not to
 * a size asked for beforehand: some files of the system do not know theirs. */
facet_status file_read_whole(const char *path, char **bytes, size_t *n) {
    facet_status status = FACET_OK;
    struct stat info;
    char *data = NULL;
    size_t length = 0, capacity = 0, got = 0;

    *bytes = NULL;
    *n = 0;
    FILE *stream = NULL;
    if (stat(path, &info) == 0 && file_what((int)info.st_mode) != NULL)
        FAIL(FACET_ERROR_INPUT, "cannot read '%s': it is %s, not a file", path, file_what((int)info.st_mode));
    stream = fopen(path, "rb");
    if (!stream || fstat(fileno(stream), &info) != 0) {
        status = fail_read(path, errno);
        goto done;
    }
    if (info.st_size > 0) capacity = (size_t)info.st_size + 2;
    if (capacity < 4096) capacity = 4096;
    TRY(base_alloc(&data, capacity, 1));
    while ((got = fread(data + length, 1, capacity - length - 1, stream)) > 0) {
        length += got;
        if (capacity - length > 1) continue;
        TRY(base_realloc(&data, 2 * capacity, 1));
        capacity *= 2;
    }
    if (ferror(stream)) {
        status = fail_read(path, errno);
        goto done;
    }
    data[length] = '\0';
    *bytes = data;
    *n = length;
    data = NULL;
done:
    if (stream) fclose(stream);
    base_free(&data);
    return status;
}

/* ------------------------------------------------------------------------------------------ paths */

int file_is_same(const char *a, const char *b) {
    char path[2][PATH_MAX], directory[2][PATH_MAX];
    struct stat info[2];
    const int there = stat(a, &info[0]) == 0;
    if ((stat(b, &info[1]) == 0) != there) return 0;
    if (!there) { /* then the same name in the same directory */
        if (follow_links(a, path[0]) != FACET_OK || follow_links(b, path[1]) != FACET_OK) return 0;
        if (strcmp(split_path(path[0], directory[0]), split_path(path[1], directory[1])) != 0) return 0;
        for (int i = 0; i < 2; i++)
            if (stat(directory[i], &info[i]) != 0) return strcmp(path[0], path[1]) == 0;
    }
    return (!there || S_ISREG(info[0].st_mode)) && info[0].st_dev == info[1].st_dev &&
           info[0].st_ino == info[1].st_ino;
}
