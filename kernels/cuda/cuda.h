/* The device cuda as src/device sees it: memory of the GPU and the table of kernels. Everything runs on one
 * stream, in the order of the calls; copies to the host wait for it. Any number of threads may call. An error
 * of the CUDA runtime is kept for the thread in which it happened: after the first one that thread launches
 * nothing any more, until cuda_failure has said what happened. */
#ifndef FACET_KERNELS_CUDA_CUDA_H
#define FACET_KERNELS_CUDA_CUDA_H

#include <stddef.h>

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which GPU of the machine this process works on: so many of its processes have one before it. Before the
 * start; where there are fewer GPUs, processes share them. */
void cuda_choose(int process);
/* NULL when there is a GPU to work on, or seems to be one, which is then started while the caller goes on;
 * else a sentence that says why not. Everything below that needs the GPU waits for the start. */
const char *cuda_start(void);
int cuda_is_starting(void);
/* After that: waits for it. NULL, or why the GPU cannot be used (any more). */
const char *cuda_settle(void);
/* "NVIDIA H200, 132 multiprocessors, 139.8 GiB"; after cuda_start. */
const char *cuda_describe(void);
/* Address, or NULL when there is no room; *available: the bytes that are free. */
void *cuda_alloc(size_t bytes, size_t *available);
void cuda_free(void *address);
/* The same of the host, which the GPU reaches by itself: copies from and to it take one step. */
void *cuda_alloc_host(size_t bytes);
void cuda_free_host(void *address);
int cuda_owns(const void *address); /* whether kernels may use it: memory of the GPU, or managed */
double cuda_free_bytes(void);       /* what is free now */
void cuda_upload(void *to, const void *from_host, size_t bytes);
void cuda_download(void *to_host, const void *from, size_t bytes);
void cuda_duplicate(void *to, const void *from, size_t bytes);
/* NULL, or the first error in this thread since it last asked; an error that the GPU does not recover from is
 * told to all threads, and again and again. Waits for the kernels. */
const char *cuda_failure(void);
/* Bytes and calls of all copies between host and GPU so far, and the seconds they took. */
struct cuda_copies {
    double bytes, seconds;
    long calls;
};
struct cuda_copies cuda_copies(void);

/* Entries that are NULL do not exist on this device. */
const struct kernels *kernels_cuda(void);

#ifdef __cplusplus
}
#endif
#endif
