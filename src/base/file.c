/* Whole files or none (see file.h). A regular target is written as PATH.part in its own directory, where a
 * rename is atomic, and every write, flush and close is checked, since a full disk may show itself only
 * there. Devices and pipes (/dev/null, /dev/stdout) cannot be renamed over and are written directly; a
 * symbolic link is followed, so that the file it names is replaced and not the link. */
#include "base/file.h"

#include <errno.h>
#include <limits.h>
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

#define MAX_LINKS 40

struct file_writer {
    FILE *stream;
    char *path; /* the target, links followed */
    char *part; /* NULL: written directly */
    char *name; /* the target as the caller called it, for messages */
};

static facet_status fail_write(const char *name, int error) {
    return base_fail(FACET_ERROR_MACHINE, "cannot write '%s': %s", name, strerror(error));
}

/* fopen(part) failed with `error`; a missing directory is the likely mistake and gets its name. */
static facet_status fail_open(const struct file_writer *writer, int error) {
    const char *slash = strrchr(writer->name, '/');
    if (error == ENOENT && slash) {
        return base_fail(FACET_ERROR_MACHINE, "cannot write '%s': the directory '%.*s' does not exist",
                         writer->name, slash == writer->name ? 1 : (int)(slash - writer->name), writer->name);
    }
    return fail_write(writer->name, error);
}

/* Where a link leads, also when nothing is there yet: a file written through a link must not replace the
 * link. Only the last part of a path is looked at, the system follows the others. */
static facet_status follow_links(const char *name, char path[PATH_MAX]) {
    char link[PATH_MAX], next[2 * PATH_MAX];
    if (strlen(name) >= PATH_MAX) return fail_write(name, ENAMETOOLONG);
    snprintf(path, PATH_MAX, "%s", name);
    for (int hops = 0;; hops++) {
        const ssize_t n = readlink(path, link, sizeof link - 1);
        if (n < 0) return FACET_OK; /* no link, or nothing at all */
        link[n] = '\0';
        const char *slash = link[0] == '/' ? NULL : strrchr(path, '/');
        snprintf(next, sizeof next, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, link);
        if (hops == MAX_LINKS) return fail_write(name, ELOOP);
        if (strlen(next) >= PATH_MAX) return fail_write(name, ENAMETOOLONG);
        snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 1, next);
    }
}

/* Sets path and part from name. */
static facet_status find_target(struct file_writer *writer) {
    facet_status status = FACET_OK;
    char resolved[PATH_MAX];
    struct stat info;
    const int exists = stat(writer->name, &info) == 0;

    if (writer->name[0] == '\0') FAIL(FACET_ERROR_INPUT, "the name of the file to write is empty");
    if (exists && S_ISDIR(info.st_mode)) {
        FAIL(FACET_ERROR_MACHINE, "cannot write '%s': it is a directory", writer->name);
    }
    if (exists && access(writer->name, W_OK) != 0) {
        status = fail_write(writer->name, errno);
        goto done;
    }
    if (exists && !S_ISREG(info.st_mode)) {
        TRY(base_strdup(writer->name, &writer->path));
        goto done;
    }
    TRY(follow_links(writer->name, resolved));
    TRY(base_strdup(resolved, &writer->path));
    const size_t bytes = strlen(writer->path) + sizeof ".part";
    TRY(ALLOC(writer->part, bytes));
    snprintf(writer->part, bytes, "%s.part", writer->path);
done:
    return status;
}

static void writer_free(struct file_writer **writer) {
    if (!*writer) return;
    base_free(&(*writer)->path);
    base_free(&(*writer)->part);
    base_free(&(*writer)->name);
    base_free(writer);
}

facet_status file_writer_open(const char *path, struct file_writer **writer) {
    facet_status status = FACET_OK;
    struct file_writer *w = NULL;

    *writer = NULL;
    TRY(CALLOC(w, 1));
    TRY(base_strdup(path, &w->name));
    if (strcmp(path, "-") == 0) {
        w->stream = stdout;
    } else {
        TRY(find_target(w));
        w->stream = fopen(w->part ? w->part : w->path, "wb");
        if (!w->stream) {
            status = fail_open(w, errno);
            goto done;
        }
    }
    *writer = w;
    w = NULL;
done:
    writer_free(&w);
    return status;
}

/* A large file takes a while; who interrupts it wants the part gone. */
facet_status file_writer_put(struct file_writer *writer, const void *bytes, size_t n) {
    const facet_status status = base_check_interrupt();
    if (status != FACET_OK) return status;
    if (n > 0 && fwrite(bytes, 1, n, writer->stream) != n) return fail_write(writer->name, errno);
    return FACET_OK;
}

facet_status file_writer_close(struct file_writer **writer) {
    facet_status status = FACET_OK;
    struct file_writer *w = *writer;
    if (!w) return FACET_OK;

    if (ferror(w->stream)) {
        FAIL(FACET_ERROR_MACHINE, "cannot write '%s': an earlier write failed", w->name);
    }
    if (fflush(w->stream) != 0) {
        status = fail_write(w->name, errno);
        goto done;
    }
    if (w->stream != stdout) {
        const int closed = fclose(w->stream);
        w->stream = NULL;
        if (closed != 0) status = fail_write(w->name, errno);
    }
    if (status == FACET_OK && w->part && rename(w->part, w->path) != 0) status = fail_write(w->name, errno);
    if (status != FACET_OK) goto done;
    writer_free(writer);
done:
    file_writer_abandon(writer);
    return status;
}

void file_writer_abandon(struct file_writer **writer) {
    struct file_writer *w = *writer;
    if (!w) return;
    if (w->stream == stdout) {
        clearerr(stdout);
    } else if (w->stream) {
        fclose(w->stream);
    }
    if (w->part) unlink(w->part);
    writer_free(writer);
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

/* Reads to the end and not to a size asked for beforehand, so that pipes work too. */
facet_status file_read_whole(const char *path, char **bytes, size_t *n) {
    facet_status status = FACET_OK;
    struct stat info;
    char *data = NULL;
    size_t length = 0, capacity = 0, got = 0;

    *bytes = NULL;
    *n = 0;
    FILE *stream = fopen(path, "rb");
    if (!stream || fstat(fileno(stream), &info) != 0) {
        status = fail_read(path, errno);
        goto done;
    }
    if (S_ISDIR(info.st_mode)) FAIL(FACET_ERROR_INPUT, "cannot read '%s': it is a directory", path);
    if (S_ISREG(info.st_mode) && info.st_size > 0) capacity = (size_t)info.st_size + 2;
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

/* The directory of a path, and the rest of it. */
static const char *split_path(const char *path, char directory[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    snprintf(directory, PATH_MAX, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    return slash ? slash + 1 : path;
}

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
