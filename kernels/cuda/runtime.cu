// The GPU itself: start, memory, copies, errors.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "kernels/cuda/internal.cuh"

namespace {

char failure[512];
char description[256];
bool failed, started;
int n_multiprocessors;
double *partials;
struct cuda_copies copies;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

namespace facet {

bool good(cudaError_t error, const char *what) {
    if (error != cudaSuccess && !failed) {
        failed = true;
        snprintf(failure, sizeof failure, "the GPU failed in %s: %s", what, cudaGetErrorString(error));
    }
    return !failed;
}
bool may_launch() {
    return !failed;
}
int multiprocessors() {
    return n_multiprocessors;
}
double *partial_sums() {
    return partials;
}

} // namespace facet

using facet::good;

extern "C" {

const char *cuda_start(void) {
    static char reason[512];
    if (started) return nullptr;
    int n = 0;
    cudaError_t error = cudaGetDeviceCount(&n);
    if (error != cudaSuccess || n == 0) {
        snprintf(reason, sizeof reason, "there is no GPU to work on (%s)",
                 error != cudaSuccess ? cudaGetErrorString(error) : "none found");
        return reason;
    }
    cudaDeviceProp properties;
    error = cudaGetDeviceProperties(&properties, 0);
    if (error == cudaSuccess) error = cudaMalloc(&partials, facet::MAX_PARTIAL * sizeof *partials);
    if (error != cudaSuccess) {
        snprintf(reason, sizeof reason, "the GPU cannot be used (%s)", cudaGetErrorString(error));
        return reason;
    }
    n_multiprocessors = properties.multiProcessorCount;
    snprintf(description, sizeof description, "%s, %d multiprocessors, %.1f GiB", properties.name,
             n_multiprocessors, (double)properties.totalGlobalMem / 1073741824.0);
    started = true;
    return nullptr;
}

const char *cuda_describe(void) {
    return description;
}

void *cuda_alloc(size_t bytes, size_t *available) {
    void *address = nullptr;
    size_t total;
    if (cudaMalloc(&address, bytes) == cudaSuccess) return address;
    cudaGetLastError(); // no room is not a failure of the device
    if (cudaMemGetInfo(available, &total) != cudaSuccess) *available = 0;
    return nullptr;
}

void cuda_free(void *address) {
    if (address != nullptr) cudaFree(address);
}

double cuda_free_bytes(void) {
    size_t available = 0, total = 0;
    good(cudaMemGetInfo(&available, &total), "a question about memory");
    return (double)available;
}

static void copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    double begin = now();
    if (bytes == 0 || !facet::may_launch()) return;
    good(cudaMemcpy(to, from, bytes, kind), "a copy");
    if (kind == cudaMemcpyDeviceToDevice) return;
    copies.bytes += (double)bytes;
    copies.calls++;
    copies.seconds += now() - begin;
}

void cuda_upload(void *to, const void *from_host, size_t bytes) {
    copy(to, from_host, bytes, cudaMemcpyHostToDevice);
}
void cuda_download(void *to_host, const void *from, size_t bytes) {
    if (!facet::may_launch()) memset(to_host, 0, bytes);
    copy(to_host, from, bytes, cudaMemcpyDeviceToHost);
}
void cuda_duplicate(void *to, const void *from, size_t bytes) {
    copy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
void cuda_wait(void) {
    good(cudaDeviceSynchronize(), "a kernel");
}
const char *cuda_failure(void) {
    if (started) cuda_wait();
    return failed ? failure : nullptr;
}
struct cuda_copies cuda_copies(void) {
    return copies;
}

} // extern "C"
