// The GPU itself: start, memory, copies, errors. Many threads of the host may be at work at the same time;
// all of them send their kernels to one stream, where each finds its own in the order of its calls.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

#include "kernels/cuda/internal.cuh"

namespace {

char description[320];
int chosen, gpu;         // the number that was asked for; that of the GPU, known once it has started
thread_local bool bound; // to the GPU
int n_multiprocessors;
std::atomic<bool> started;
// The start takes some tenths of a second, in which the host has other things to do.
std::thread *starter;
std::mutex &starting = *new std::mutex;
std::atomic<bool> awaited; // somebody waits for it
// What no solver survives: an error that stays when it has been told.
std::atomic<bool> lost;
char loss[512];
// For everything that is done once, or seldom, for all threads. Never freed: threads may end after main.
std::mutex &once = *new std::mutex;
struct cuda_copies copies;

// The first error of this thread that nobody has been told yet.
thread_local bool failed;
thread_local char failure[512];

// What kernels called in one thread write and read back, until that thread ends; then another may have it.
struct room {
    void *address;
    size_t bytes;
};
enum { SUMS, BOXES, N_ROOMS };
std::vector<room> &spare = *new std::vector<room>;
struct rooms {
    room of[N_ROOMS];
    ~rooms() {
        std::lock_guard<std::mutex> lock(once);
        for (const room &r : of)
            if (r.address != nullptr) spare.push_back(r);
    }
};
thread_local rooms mine;

// A spare one that is large enough, or a new one; nullptr, and the failure kept, where there is none.
void *room_of(int which, size_t bytes) {
    room &r = mine.of[which];
    if (bytes <= r.bytes) return r.address;
    if (r.address != nullptr) cudaFree(r.address);
    r = {nullptr, 0};
    {
        std::lock_guard<std::mutex> lock(once);
        for (room &s : spare)
            if (s.bytes >= bytes) {
                r = s;
                s = spare.back();
                spare.pop_back();
                return r.address;
            }
    }
    if (!facet::good(cudaMalloc(&r.address, bytes), "the allocation of room for sums")) {
        r.address = nullptr;
        return nullptr;
    }
    r.bytes = bytes;
    return r.address;
}

// Two pieces of memory that the GPU reaches by itself, for large copies; false: there are none.
constexpr size_t PIECE = (size_t)32 << 20, STAGED = 2 * PIECE;
char *pieces[2];
cudaEvent_t piece_done[2];
bool have_pieces() {
    for (int i = 0; i < 2 && pieces[i] == nullptr; i++)
        if (cudaMallocHost(&pieces[i], PIECE) != cudaSuccess ||
            cudaEventCreate(&piece_done[i]) != cudaSuccess) {
            cudaGetLastError(); // the plain way is left
            pieces[i] = nullptr;
            return false;
        }
    return pieces[0] != nullptr && pieces[1] != nullptr;
}

// The context and what belongs to it; false, and why not.
bool start_now(char *reason, size_t bytes) {
    int n = 0;
    cudaError_t error = cudaGetDeviceCount(&n);
    if (error != cudaSuccess || n == 0) {
        snprintf(reason, bytes, "there is no GPU to work on (%s)",
                 error != cudaSuccess ? cudaGetErrorString(error) : "none found");
        return false;
    }
    cudaDeviceProp properties;
    gpu = chosen % n;
    error = cudaGetDeviceProperties(&properties, gpu);
    if (error == cudaSuccess) error = cudaSetDevice(gpu);
    if (error == cudaSuccess) error = cudaFree(nullptr); // makes the context
    if (error != cudaSuccess) {
        snprintf(reason, bytes, "the GPU cannot be used (%s)", cudaGetErrorString(error));
        return false;
    }
    n_multiprocessors = properties.multiProcessorCount;
    snprintf(description, sizeof description, "%s, %d multiprocessors, %.1f GiB", properties.name,
             n_multiprocessors, (double)properties.totalGlobalMem / 1073741824.0);
    if (!awaited) have_pieces();
    return true;
}

// Waits for a start that is under way; a GPU that did not start is lost, and says why.
bool wait_for_start() {
    if (started) return true;
    awaited = true;
    std::lock_guard<std::mutex> lock(starting);
    if (starter != nullptr) starter->join();
    delete starter;
    starter = nullptr;
    return started;
}

// The same; the calling thread then works on the GPU of this process.
bool is_ready() {
    if (bound) return true;
    if (!wait_for_start()) return false;
    bound = lost || cudaSetDevice(gpu) == cudaSuccess;
    return true;
}

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
    return may_launch();
}
bool may_launch() {
    return is_ready() && !failed && !lost;
}
int multiprocessors() {
    return n_multiprocessors;
}
double *partial_sums() {
    return (double *)room_of(SUMS, MAX_PARTIAL * sizeof(double));
}
unsigned long long *first_failure() {
    double *room = partial_sums();
    if (room == nullptr || !good(cudaMemset(room, 0xff, sizeof(double)), "a reset")) return nullptr;
    return (unsigned long long *)room;
}
int64_t failure_found(const unsigned long long *first) {
    int64_t batch = -1;
    if (may_launch()) good(cudaMemcpy(&batch, first, sizeof batch, cudaMemcpyDeviceToHost), "a kernel");
    return batch;
}
void *box_room(size_t bytes) {
    return room_of(BOXES, bytes);
}

// The limit belongs to the kernel, whoever launches it: it is only ever raised.
bool allow_shared(const void *kernel, size_t bytes, const char *what) {
    static std::map<const void *, size_t> &limits = *new std::map<const void *, size_t>;
    std::lock_guard<std::mutex> lock(once);
    size_t &limit = limits[kernel];
    if (bytes <= limit) return may_launch();
    if (!good(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes), what))
        return false;
    limit = bytes;
    return true;
}

} // namespace facet

using facet::good;

extern "C" {

void cuda_choose(int process) {
    chosen = process;
}

// Where a driver is to be seen nobody waits: what is wrong is then told by those who want to use the GPU.
const char *cuda_start(void) {
    static thread_local char reason[512];
    if (started) return nullptr;
    std::lock_guard<std::mutex> lock(starting);
    if (started || starter != nullptr) return nullptr;
    if (access("/dev/nvidiactl", F_OK) != 0) {
        started = start_now(reason, sizeof reason);
        return started ? nullptr : reason;
    }
    try {
        starter = new std::thread([] {
            char why[384];
            if (!start_now(why, sizeof why)) {
                snprintf(loss, sizeof loss, "the device 'cuda' cannot be used: %s", why);
                lost = true;
            }
            started = true;
        });
    } catch (...) { // no more threads are to be had
        starter = nullptr;
        started = start_now(reason, sizeof reason);
        return started ? nullptr : reason;
    }
    return nullptr;
}

int cuda_is_starting(void) {
    if (started) return 0;
    std::lock_guard<std::mutex> lock(starting);
    return starter != nullptr && !started;
}

const char *cuda_settle(void) {
    is_ready();
    return lost ? loss : nullptr;
}

const char *cuda_describe(void) {
    is_ready();
    return description;
}

void *cuda_alloc(size_t bytes, size_t *available) {
    void *address = nullptr;
    size_t total;
    *available = 0;
    if (!is_ready() || lost) return nullptr;
    if (cudaMalloc(&address, bytes) == cudaSuccess) return address;
    cudaGetLastError(); // no room is not a failure of the device
    if (cudaMemGetInfo(available, &total) != cudaSuccess) *available = 0;
    return nullptr;
}

void *cuda_alloc_host(size_t bytes) {
    void *address = nullptr;
    if (!is_ready() || lost) return nullptr;
    if (cudaMallocHost(&address, bytes) == cudaSuccess) return address;
    cudaGetLastError(); // no room is not a failure of the device
    return nullptr;
}

void cuda_free_host(void *address) {
    if (address != nullptr) cudaFreeHost(address);
}

int cuda_owns(const void *address) {
    cudaPointerAttributes attributes;
    is_ready();
    if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
        cudaGetLastError(); // not a failure of the device
        return 0;
    }
    return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

void cuda_free(void *address) {
    if (address != nullptr) cudaFree(address);
}

double cuda_free_bytes(void) {
    size_t available = 0, total = 0;
    if (facet::may_launch()) good(cudaMemGetInfo(&available, &total), "a question about memory");
    return (double)available;
}

// Large copies go through two pieces of memory, one being filled (or emptied) by several threads while the
// other is on its way.
constexpr int HELPERS = 8;

static void copy_here(char *to, const char *from, size_t bytes) {
    std::vector<std::thread> helpers;
    const size_t part = (bytes / HELPERS + 4095) / 4096 * 4096;
    for (size_t at = 0; at < bytes; at += part) {
        auto work = [=] { memcpy(to + at, from + at, bytes - at < part ? bytes - at : part); };
        try {
            helpers.emplace_back(work);
        } catch (...) { // no more threads are to be had
            work();
        }
    }
    for (std::thread &helper : helpers) helper.join();
}

static bool copy_staged(char *to, const char *from, size_t bytes, bool up) {
    static std::mutex &turn = *new std::mutex;
    std::lock_guard<std::mutex> lock(turn);
    if (!have_pieces()) return false;
    const size_t n = (bytes + PIECE - 1) / PIECE;
    auto size = [=](size_t i) { return i + 1 < n ? PIECE : bytes - i * PIECE; };
    for (size_t i = 0; i < n + 1; i++) { // up: fill i, then send it; else: ask for i, then empty i - 1
        const int k = (int)(i % 2);
        if (i < n) {
            if (i >= 2 && up && !good(cudaEventSynchronize(piece_done[k]), "a copy")) return true;
            if (up) copy_here(pieces[k], from + i * PIECE, size(i));
            good(cudaMemcpyAsync(up ? to + i * PIECE : pieces[k], up ? pieces[k] : from + i * PIECE, size(i),
                                 up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost),
                 "a copy");
            if (!good(cudaEventRecord(piece_done[k]), "a copy")) return true;
        }
        if (!up && i > 0) {
            if (!good(cudaEventSynchronize(piece_done[1 - k]), "a copy")) return true;
            copy_here(to + (i - 1) * PIECE, pieces[1 - k], size(i - 1));
        }
    }
    if (up) good(cudaDeviceSynchronize(), "a copy");
    return true;
}

static void copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    double begin = now();
    if (bytes == 0 || !facet::may_launch()) return;
    if (bytes < STAGED || kind == cudaMemcpyDeviceToDevice ||
        !copy_staged((char *)to, (const char *)from, bytes, kind == cudaMemcpyHostToDevice))
        good(cudaMemcpy(to, from, bytes, kind), "a copy");
    if (kind == cudaMemcpyDeviceToDevice) return;
    std::lock_guard<std::mutex> lock(once);
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
// An error of a call that could not be done (no room, a launch that asked for too much) belongs to the thread
// that made the call. One of a kernel that ran is told to all and again and again: then the GPU is lost.
const char *cuda_failure(void) {
    if (!started) return nullptr; // nothing has been done yet
    if (!lost) good(cudaDeviceSynchronize(), "a kernel");
    if (failed && !lost) {
        cudaGetLastError();
        if (cudaDeviceSynchronize() != cudaSuccess) {
            std::lock_guard<std::mutex> lock(once);
            if (!lost) memcpy(loss, failure, sizeof loss);
            lost = true;
        }
    }
    const bool told = failed;
    failed = false;
    return lost ? loss : told ? failure : nullptr;
}
struct cuda_copies cuda_copies(void) {
    std::lock_guard<std::mutex> lock(once);
    return copies;
}

} // extern "C"
