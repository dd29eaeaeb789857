/* Whole files or none: a file is written under a new name beside its target (the part), synchronized and
 * renamed, so that the target is at all times the old file or the new one, with the permissions of the old
 * one. What is no regular file is written directly: devices, pipes, "-" (standard output). */
#ifndef FACET_BASE_FILE_H
#define FACET_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct text {
    char *data; /* NUL-terminated; NULL when empty */
    size_t length, capacity;
    facet_status status; /* the first failure sticks; checked once at the end */
};
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_append(struct text *text, const char *bytes, size_t n);
void text_free(struct text *text);

/* Failure (no permission, disk full) is FACET_ERROR_MACHINE with the path and the reason. */
facet_status file_write_whole(const char *path, const void *bytes, size_t n);
/* What a path of this st_mode leads to if it is no regular file: "a pipe", "a device"; NULL for a file. */
const char *file_what(int mode);
/* Reads a whole file; *bytes is NUL-terminated for convenience and freed with base_free. A missing file, and
 * what is no regular file, is FACET_ERROR_INPUT. */
facet_status file_read_whole(const char *path, char **bytes, size_t *n);

/* The failure of writing a file, or a stream: errno in words. */
facet_status file_cannot_write(const char *name, int error);

/* True when two paths lead to one regular file, also one that is not there yet. */
int file_is_same(const char *a, const char *b);

/* Whether a file could be written there, as far as this can be known without touching anything. */
facet_status file_check(const char *path);

/* A file being written in pieces. Each call fails with FACET_INTERRUPTED when that was asked for, also while
 * a pipe waits for its reader; the caller then abandons it. */
#define FILE_NAME_BYTES 4096 /* with the NUL */
struct file_writer;
facet_status file_writer_open(const char *path, struct file_writer **writer);
/* Where the bytes go until the file is whole, for those who write by other means; NULL: they go to a stream,
 * a pipe or a device. */
const char *file_writer_path(const struct file_writer *writer);
facet_status file_writer_put(struct file_writer *writer, const void *bytes, size_t n);
/* Room for the whole file, before others write to it: a full disk, or a limit, is found here. *reserved = 0:
 * not every file system can, and then a write may still find no room. */
facet_status file_writer_reserve(struct file_writer *writer, int64_t n_bytes, int *reserved);
/* Synchronizes and checks. The file has its name after file_writer_close: of several that belong together
 * none should have it before all are written. */
facet_status file_writer_finish(struct file_writer *writer);
facet_status file_writer_close(struct file_writer **writer); /* finish, rename */
void file_writer_abandon(struct file_writer **writer);       /* removes the part */
/* Removes the parts that are being written: for a signal handler that ends the program. */
void file_remove_unfinished(void);

#endif
