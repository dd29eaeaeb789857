/* The devices, and one function for every kernel that opens the wall around it. */
#include "device/device.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "device/wall.h"
#ifdef FACET_HAVE_CUDA
#    include "kernels/cuda/cuda.h"
#endif

/* Where its arrays lie: in the host's memory, in that behind the wall, or on the GPU. */
enum place { HOST, WALL, GPU };

struct device {
    const char *name;
    const struct kernels *(*own)(void), *(*others)(void); /* its own code, and whose it takes beside it */
    enum place place;
    int lanes; /* where its own code takes any number */
};

#define REF_LANES   8
#define DEBUG_LANES 3 /* another number, and an odd one: nothing may rely on that of the others */

static const struct device devices[] = {
    {"cpu", kernels_simd, kernels_ref, HOST, 0},
    {"ref", kernels_ref, NULL, HOST, REF_LANES},
    {"debug", NULL, kernels_ref, WALL, DEBUG_LANES},
#ifdef FACET_HAVE_CUDA
    {"cuda", kernels_cuda, NULL, GPU, 0},
#endif
};
#define N_DEVICES ((int)(sizeof devices / sizeof devices[0]))

/* The tables in use, made once. */
static struct kernels in_use[N_DEVICES];
static pthread_once_t in_use_made = PTHREAD_ONCE_INIT;

static void add_to_table(const struct kernels *from, struct kernels *to) {
    if (to->lanes == 0) to->lanes = from->lanes;
    if (to->box_lanes == 0) to->box_lanes = from->box_lanes;
    if (to->box_modes == 0) to->box_modes = from->box_modes;
    if (to->box_terms == 0) to->box_terms = from->box_terms;
    if (to->lattice_multiple == 0) to->lattice_multiple = from->lattice_multiple;
    if (to->tile == 0) to->tile = from->tile;
    if (to->cells.half_rows == 0) to->cells = from->cells;
#define KERNEL(result, precisions, name, parameters, arguments)                                              \
    for (int p = 0; p < KERNEL_##precisions; p++)                                                            \
        if (to->name[p] == NULL) to->name[p] = from->name[p];
#define SCRATCH(name, parameters, arguments)                                                                 \
    if (to->name == NULL) to->name = from->name;
#include "kernels/kernels.def"
#undef KERNEL
}

static void make_tables(void) {
    base_blas_narrow();
    for (int i = 0; i < N_DEVICES; i++) {
        in_use[i].lanes = devices[i].lanes;
        if (devices[i].place == WALL) { /* goes the ways of a GPU */
            in_use[i].box_terms = 3;
            in_use[i].lattice_multiple = 16;
        }
        if (devices[i].own != NULL) add_to_table(devices[i].own(), &in_use[i]);
        if (devices[i].others != NULL) add_to_table(devices[i].others(), &in_use[i]);
    }
}

/* The support matrix, read off the tables. */
static int has(const struct kernels *(*table)(void), int kernel) {
    static const struct kernels nothing;
    const struct kernels *k = table != NULL ? table() : &nothing;
    int row = 0;
#define KERNEL(result, precisions, name, parameters, arguments)                                              \
    if (row++ == kernel) return k->name[0] != NULL && k->name[KERNEL_##precisions - 1] != NULL;
#include "kernels/kernels.def"
#undef KERNEL
    return 0;
}

static const char *const kernel_names[] = {
#define KERNEL(result, precisions, name, parameters, arguments) #name,
#include "kernels/kernels.def"
#undef KERNEL
};

int device_n_kernels(void) {
    return (int)(sizeof kernel_names / sizeof kernel_names[0]);
}

const char *device_kernel_name(int kernel) {
    return kernel_names[kernel];
}

enum device_support device_support(const struct device *device, int kernel) {
    return has(device->own, kernel) ? DEVICE_OWN : has(device->others, kernel) ? DEVICE_REF : DEVICE_NONE;
}

const char *device_support_name(enum device_support support) {
    static const char *const names[] = {"-", "ref", "own"};
    return names[support];
}

const char *device_why_none(int kernel) {
    static const struct {
        const char *first, *why; /* how names begin */
    } reasons[] = {
        {"batch_extend", "the host makes coarse cells of gmg, whose matrices go there"},
        {"tensor_", "one cell of a box at a time, by a thread of the host; tile_contract takes all"},
        {"line_", "one cell of a box at a time, by a thread of the host; box_* take all"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strncmp(kernel_names[kernel], reasons[i].first, strlen(reasons[i].first)) == 0)
            return reasons[i].why;
    return "";
}

facet_status device_find(const char *name, const struct device **device) {
    pthread_once(&in_use_made, make_tables);
    if (name == NULL) name = devices[0].name;
    for (int i = 0; i < N_DEVICES; i++) {
        if (strcmp(name, devices[i].name) != 0) continue;
        *device = &devices[i];
        const char *wanted = NULL, *chosen = kernels_instructions(&wanted);
        if (wanted != NULL)
            return base_fail(
                FACET_ERROR_INPUT,
                "FACET_INSTRUCTIONS=%s: there are no such kernels for this processor; this library "
                "has %s, and the best of them that the processor can run is %s",
                wanted, kernels_instruction_sets(), chosen);
#ifdef FACET_HAVE_CUDA
        const char *reason = devices[i].place == GPU ? cuda_start() : NULL;
        if (reason != NULL)
            return base_fail(FACET_ERROR_MACHINE, "the device 'cuda' cannot be used: %s; available: %s",
                             reason, device_list());
#endif
        return FACET_OK;
    }
    *device = NULL;
    if (strcmp(name, "cuda") == 0)
        return base_fail(FACET_ERROR_MACHINE,
                         "the device 'cuda' is not in this build (cmake -DFACET_CUDA=ON); available: %s",
                         device_list());
    return base_fail(FACET_ERROR_INPUT, "there is no device '%s'; available: %s", name, device_list());
}

void device_choose_gpu(int process) {
#ifdef FACET_HAVE_CUDA
    cuda_choose(process);
#endif
    (void)process;
}

const struct device *device_host(void) {
    pthread_once(&in_use_made, make_tables);
    return &devices[0];
}

const char *device_name(const struct device *device) {
    return device->name;
}

const char *device_list(void) {
#ifdef FACET_HAVE_CUDA
    if (cuda_start() == NULL && cuda_settle() == NULL) return "cpu, ref, debug, cuda";
#endif
    return "cpu, ref, debug";
}

const char *device_describe(const struct device *device) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) return cuda_describe();
#endif
    (void)device;
    return "";
}

struct device_copies device_copies(const struct device *device) {
    struct device_copies copies = {0};
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) {
        struct cuda_copies of = cuda_copies();
        copies = (struct device_copies){of.bytes, of.seconds, of.calls};
    }
#endif
    (void)device;
    return copies;
}

int device_has_memory(const struct device *device) {
    return device->place == GPU;
}

double device_free_bytes(const struct device *device) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) return cuda_free_bytes();
#endif
    (void)device;
    return base_available_bytes();
}

facet_status device_check(const struct device *device) {
#ifdef FACET_HAVE_CUDA
    const char *failure = device->place == GPU ? cuda_failure() : NULL;
    if (failure != NULL) return base_fail(FACET_ERROR_MACHINE, "%s", failure);
#endif
    (void)device;
    return FACET_OK;
}

int device_is_starting(const struct device *device) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) return cuda_is_starting();
#endif
    (void)device;
    return 0;
}

facet_status device_settle(const struct device *device) {
#ifdef FACET_HAVE_CUDA
    const char *lost = device->place == GPU ? cuda_settle() : NULL;
    if (lost != NULL) return base_fail(FACET_ERROR_MACHINE, "%s", lost);
#endif
    (void)device;
    return FACET_OK;
}

int device_has(const struct device *device, const char *kernel) {
    for (int i = 0; i < device_n_kernels(); i++)
        if (strcmp(kernel, device_kernel_name(i)) == 0) return device_support(device, i) != DEVICE_NONE;
    return 0;
}

int device_takes_over(const struct device *device, const char *const *kernels) {
    for (; *kernels != NULL; kernels++)
        if (!device_has(device, *kernels)) return 0;
    return device->place != HOST;
}

facet_status device_require(const struct device *device, const char *what, const char *const *kernels) {
    for (; *kernels != NULL; kernels++)
        if (!device_has(device, *kernels))
            return base_fail(FACET_ERROR_INPUT,
                             "the device '%s' has no kernel '%s', which %s needs; use another device",
                             device->name, *kernels, what);
    return FACET_OK;
}

static const struct kernels *enter(const struct device *device) {
    if (device->place == WALL) wall_open();
    return &in_use[device - devices];
}

static void leave(const struct device *device) {
    if (device->place == WALL) wall_shut();
}

#ifdef FACET_HAVE_CUDA
static facet_status gpu_alloc(void *pointer, size_t count, size_t size) {
    size_t available = 0;
    void *address = NULL;
    memcpy(pointer, &address, sizeof address);
    if (count == 0) return FACET_OK;
    if (size > 0 && count > SIZE_MAX / size)
        return base_fail(FACET_ERROR_MACHINE, "more bytes than can be counted");
    address = cuda_alloc(count * size, &available);
    const char *lost = address == NULL ? cuda_settle() : NULL;
    if (lost != NULL) return base_fail(FACET_ERROR_MACHINE, "%s", lost);
    if (address == NULL)
        return base_fail(
            FACET_ERROR_MACHINE, "the GPU has no room for %.3f GiB (%zu bytes) more; %.3f GiB are free",
            (double)(count * size) / 1073741824.0, count * size, (double)available / 1073741824.0);
    memcpy(pointer, &address, sizeof address);
    return FACET_OK;
}

static void gpu_free(void *pointer) {
    void *address;
    memcpy(&address, pointer, sizeof address);
    cuda_free(address);
    address = NULL;
    memcpy(pointer, &address, sizeof address);
}
#endif

int device_owns(const struct device *device, const void *address) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) return cuda_owns(address);
#endif
    return device->place != WALL || wall_owns(address);
}

int device_hides(const struct device *device, const void *address) {
    return device->place != HOST && device_owns(device, address);
}

int device_holds(const struct device *device, const void *address, size_t bytes) {
    return device->place == WALL ? wall_holds(address, bytes) : device_owns(device, address);
}

facet_status device_alloc(const struct device *device, void *pointer, size_t count, size_t size) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) return gpu_alloc(pointer, count, size);
#endif
    return device->place == WALL ? wall_alloc(pointer, count, size) : base_alloc(pointer, count, size);
}

void device_free(const struct device *device, void *pointer) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) {
        gpu_free(pointer);
        return;
    }
#endif
    if (device->place == WALL)
        wall_free(pointer);
    else
        base_free(pointer);
}

facet_status device_alloc_staging(const struct device *device, void *pointer, size_t count, size_t size) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU && count > 0) {
        void *address = cuda_alloc_host(count * size);
        memcpy(pointer, &address, sizeof address);
        if (address == NULL)
            return base_fail(FACET_ERROR_MACHINE, "no %zu bytes of memory that the GPU reaches",
                             count * size);
        return FACET_OK;
    }
#endif
    (void)device;
    return base_alloc(pointer, count, size);
}

void device_free_staging(const struct device *device, void *pointer) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) {
        void *address;
        memcpy(&address, pointer, sizeof address);
        cuda_free_host(address);
        address = NULL;
        memcpy(pointer, &address, sizeof address);
        return;
    }
#endif
    (void)device;
    base_free(pointer);
}

static void copy_bytes(const struct device *device, void *to, const void *from, size_t bytes) {
    enter(device);
    base_copy(to, from, bytes);
    leave(device);
}

facet_status device_upload(const struct device *device, void *to, const void *from_host, size_t bytes) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) {
        cuda_upload(to, from_host, bytes);
        return FACET_OK;
    }
#endif
    copy_bytes(device, to, from_host, bytes);
    return FACET_OK;
}

facet_status device_download(const struct device *device, void *to_host, const void *from, size_t bytes) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) {
        cuda_download(to_host, from, bytes);
        return device_check(device);
    }
#endif
    copy_bytes(device, to_host, from, bytes);
    return FACET_OK;
}

facet_status device_copy(const struct device *device, void *pointer, const void *from_host, size_t count,
                         size_t size) {
    facet_status status = device_alloc(device, pointer, count, size);
    void *address;
    memcpy(&address, pointer, sizeof address);
    return status != FACET_OK ? status : device_upload(device, address, from_host, count * size);
}

facet_status device_adopt(const struct device *device, void *pointer, void *from_host, size_t count,
                          size_t size) {
    facet_status status = FACET_OK;
    void *address;
    memcpy(&address, from_host, sizeof address);
    if (device->place == HOST) {
        memcpy(pointer, &address, sizeof address);
        memset(from_host, 0, sizeof address);
        return FACET_OK;
    }
    status = device_copy(device, pointer, address, count, size);
    base_free(from_host);
    return status;
}

facet_status device_alloc_room(const struct device *device, void *pointer, size_t count, size_t size) {
    return base_alloc(pointer, device->place == HOST ? 0 : count, size);
}

double device_room_bytes(const struct device *device, double bytes) {
    return device->place == HOST ? 0.0 : bytes;
}

facet_status device_see(const struct device *device, const void *array, size_t bytes, void *room,
                        const void **seen) {
    *seen = room != NULL ? room : array;
    return room != NULL ? device_download(device, room, array, bytes) : FACET_OK;
}

void *device_seen(const struct device *device, void *array) {
    return device->place == HOST ? array : NULL;
}

facet_status device_place(const struct device *device, const void *from_host, size_t count, size_t size,
                          const void **there) {
    *there = from_host;
    return device->place == HOST ? FACET_OK : device_copy(device, there, from_host, count, size);
}

void device_unplace(const struct device *device, const void *from_host, const void **there) {
    if (*there != from_host) device_free(device, there);
    *there = NULL;
}

facet_status device_view(const struct device *device, const void *array, size_t count, size_t size,
                         const void **view) {
    facet_status status = FACET_OK;
    char *copy = NULL;
    *view = array;
    if (device->place == HOST || count == 0) return FACET_OK;
    *view = NULL;
    TRY(base_alloc(&copy, count, size));
    TRY(device_download(device, copy, array, count * size));
    *view = copy;
done:
    return status;
}

void device_unview(const struct device *device, const void *array, const void **view) {
    (void)device;
    if (*view != array) base_free(view);
    *view = NULL;
}

void device_move(const struct device *device, void *to, const void *from, size_t bytes) {
#ifdef FACET_HAVE_CUDA
    if (device->place == GPU) {
        cuda_duplicate(to, from, bytes);
        return;
    }
#endif
    copy_bytes(device, to, from, bytes);
}

facet_status device_duplicate(const struct device *device, void *pointer, const void *from, size_t count,
                              size_t size) {
    facet_status status = device_alloc(device, pointer, count, size);
    void *address;
    memcpy(&address, pointer, sizeof address);
    if (status == FACET_OK) device_move(device, address, from, count * size);
    return status;
}

/* The end of every kernel that returns sums: the one place where sums over parts of vectors come together. */
static double *leave_with(const struct device *device, double *sums) {
    leave(device);
    return sums;
}

/* One function for every kernel, which opens the wall around it. */
#define CALL_NONE(call)                                                                                      \
    enter(device)->call;                                                                                     \
    leave(device)
#define CALL_COUNT(call)                                                                                     \
    int64_t count = enter(device)->call;                                                                     \
    leave(device);                                                                                           \
    return count
#define CALL_SUM(call)                                                                                       \
    double sum = enter(device)->call;                                                                        \
    return *leave_with(device, &sum)
#define CALL_SUMS(call)                                                                                      \
    enter(device)->call;                                                                                     \
    leave_with(device, sums)
#define INDEX_ONE  0
#define INDEX_BOTH precision
#define KERNEL(result, precisions, name, parameters, arguments)                                              \
    KERNEL_##result device_##name(DEVICE_##precisions, DEVICE_LIST parameters) {                             \
        base_tell();                                                                                         \
        CALL_##result(name[INDEX_##precisions] arguments);                                                   \
    }
#define SCRATCH(name, parameters, arguments)                                                                 \
    int64_t device_##name(DEVICE_ONE, DEVICE_LIST parameters) {                                              \
        return in_use[device - devices].name arguments;                                                      \
    }
#define REAL void
#include "kernels/kernels.def"
#undef KERNEL
#undef REAL

facet_status device_copy_rounded(const struct device *device, enum precision precision, void *pointer,
                                 const double *x, int64_t n) {
    facet_status status = device_alloc(device, pointer, (size_t)n, precision_size(precision));
    void *address;
    memcpy(&address, pointer, sizeof address);
    if (status == FACET_OK) device_narrow(device, precision, n, x, address);
    return status;
}

int device_lanes(const struct device *device) {
    return in_use[device - devices].lanes;
}

#define TILE (1 << 14) /* by measurement: stays in a cache */

int64_t device_tile_numbers(const struct device *device) {
    const int64_t tile = in_use[device - devices].tile;
    return tile > 0 ? tile : TILE;
}

int device_callers(const struct device *device, int64_t numbers) {
    return device->place == HOST ? base_threads_for(numbers) : 1;
}

int64_t device_tile_scratch(const struct device *device, const struct tile_plan *tile, int n_in, int n_out) {
    return tile_scratch(in_use[device - devices].tile > 0 ? tile->count : 1, tile->dim, n_in, n_out);
}

/* Caches of the host; where calls cost more than caches bring; and where a GPU has all of it. */
#define WORK_BYTES       ((int64_t)1 << 20)
#define WORK_GPU_BYTES   ((int64_t)16 << 20)
#define WORK_WHOLE_BYTES ((int64_t)512 << 20)

struct device_work device_work(const struct device *device, int whole) {
    const int host = device->place == HOST, gpu = device_has_memory(device);
    return (struct device_work){.threads = host || (gpu && !whole) ? base_threads() : 1,
                                .keeps = whole && !host,
                                .bytes = whole && !host ? WORK_WHOLE_BYTES
                                         : gpu          ? WORK_GPU_BYTES
                                                        : WORK_BYTES};
}

int device_box_lanes(const struct device *device) {
    const struct kernels *table = &in_use[device - devices];
    return table->box_lanes > 0 ? table->box_lanes : table->lanes;
}

int device_box_modes(const struct device *device) {
    const int modes = in_use[device - devices].box_modes;
    return modes > 0 ? modes : INT_MAX;
}

int device_box_terms(const struct device *device) {
    const int terms = in_use[device - devices].box_terms;
    return terms > 0 ? terms : 2;
}

int device_lattice_multiple(const struct device *device) {
    const int multiple = in_use[device - devices].lattice_multiple;
    return multiple > 0 ? multiple : 1;
}

const struct cell_tuning *device_cell_tuning(const struct device *device) {
    return &in_use[device - devices].cells;
}

int device_half_pays(const struct device *device, int64_t rows, int64_t n_cells) {
    const struct cell_tuning *cells = device_cell_tuning(device);
    const int64_t bytes = n_cells * rows * (rows + 1) / 2 * (int64_t)sizeof(float);
    const int from = bytes > cells->cached_bytes && cells->few_rows > 0 ? cells->few_rows : cells->half_rows;
    return rows >= from && (cells->most_rows == 0 || rows <= cells->most_rows);
}

int device_is_host(const struct device *device) {
    return device->place == HOST;
}

const struct device *device_of_host(const struct device *device) {
    return device->place == HOST ? device : device_host();
}

/* docs/pmg.md has the measurement; others than the host like vectors to be read in one piece, and take all. */
int device_least_rows(const struct device *device) {
    return device->place == HOST ? 5 : 1;
}

/* What stays in a cache of the host; enough threads for a GPU, few enough that their rows stay in its own. */
int64_t device_points(const struct device *device) {
    return device->place == HOST ? 256 : 1 << 17;
}

/* Measured on an H200: 111^3 unknowns take 0.13 ms, where a cycle over smaller and smaller levels launches
 * hundreds of kernels that are over before the next one arrives. */
int64_t device_direct_size(const struct device *device) {
    return device->place == GPU ? 128 * 128 * 128 : 0;
}

/* On a GPU a step is a product of the whole box, and half the iterations take longer. */
int device_inner_steps(const struct device *device) {
    return device->place == GPU ? 0 : 4;
}
