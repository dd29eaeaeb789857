/* Where arrays live.
 *
 * A device owns memory and a table of kernels. Code above this room never dereferences a device address: it
 * uploads, downloads, and calls the functions below, which run a kernel each (kernels/kernels.h says what
 * they compute and how arrays are laid out). `ref` is plain C, `cpu` (the default) threads and vector
 * instructions; both keep their arrays in the host's memory. `debug` is ref behind a wall: its memory can be
 * touched only by kernels and copies, so that a missing transfer is caught (by a segmentation fault) without
 * a GPU; and its number of lanes is another one than theirs.
 */
#ifndef FACET_DEVICE_DEVICE_H
#define FACET_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/run.h"
#include "base/status.h"
#include "kernels/kernels.h"

struct device;

/* The device called name (NULL: "cpu"); it lives as long as the process. An unknown name lists the known
 * ones. */
facet_status device_find(const char *name, const struct device **device);
/* Before a GPU is found: how many processes of the machine have one before this one does; they have them in
 * turn. */
void device_choose_gpu(int process);
/* The one of the host's own work, `cpu`: for kernels over small arrays that never leave it. */
const struct device *device_host(void);
const char *device_name(const struct device *device);
/* "cpu, ref, debug" */
const char *device_list(void);

/* The support matrix, one row for every kernel of kernels.def in its order: the device's own code, that of
 * ref, or none, in all its precisions. */
enum device_support { DEVICE_NONE, DEVICE_REF, DEVICE_OWN };
int device_n_kernels(void);
const char *device_kernel_name(int kernel);
enum device_support device_support(const struct device *device, int kernel);
const char *device_support_name(enum device_support support); /* "-", "ref", "own" */
/* Why a device that is not the host need not have it; "" if it should. */
const char *device_why_none(int kernel);

/* What it is, "" for the host's own. */
const char *device_describe(const struct device *device);
/* Whether its memory is its own: not the host's, behind a wall or not. Bytes that are free in it. */
int device_has_memory(const struct device *device);
double device_free_bytes(const struct device *device);
/* Copies between the host and a device that is not the host, so far: bytes, calls, and the seconds they took;
 * sums of dot products are not counted. */
struct device_copies {
    double bytes, seconds;
    long calls;
};
struct device_copies device_copies(const struct device *device);
/* FACET_OK, or what first went wrong on the device in this thread since it last asked, which is then
 * forgotten, unless the device is lost for good. Kernels return nothing: solvers ask at their end. */
facet_status device_check(const struct device *device);
/* Whether a thread is at work to start the device. Waits for it; why it cannot be used. */
int device_is_starting(const struct device *device);
facet_status device_settle(const struct device *device);
int device_has(const struct device *device, const char *kernel); /* whether it has it, by any code */
/* Whether kernels (a list that ends with NULL) are to take the place of a loop of the host over what it sees:
 * the device has them all, and its memory is another one than the host's. */
int device_takes_over(const struct device *device, const char *const *kernels);
/* Refuses a device that lacks one of the kernels (a list that ends with NULL), by name. what: "the method
 * continuous". */
facet_status device_require(const struct device *device, const char *what, const char *const *kernels);

/* The number of cells in a batch (kernels/kernels.h): arrays in lanes are made and read with that of the
 * device whose kernels see them. */
int device_lanes(const struct device *device);
int device_box_lanes(const struct device *device); /* of those of boxes (kernels/box.h) */
/* Modes of an axis of a cell of a box, at most; terms of the recurrence of conjugate gradients that moves the fewest
 * vectors there: by two, the update of the directions is in a cache when they are multiplied; by three, it is one sweep
 * less. */
int device_box_modes(const struct device *device);
int device_box_terms(const struct device *device);
/* Of which number the lengths of lattices are multiples where products along them (kernel axis_apply) are fast. */
int device_lattice_multiple(const struct device *device);
/* Numbers of an array of a tile, as a device works best: what stays in the cache of a thread, of which each
 * has tiles of its own, or what fills a GPU. */
int64_t device_tile_numbers(const struct device *device);
/* Threads of the host that work on tiles at once, each by kernels of its own, where there are so many numbers. */
int device_callers(const struct device *device, int64_t numbers);
/* Numbers of scratch that contractions of a tile want: of all its cells, or of one where a thread takes one after
 * the other. */
int64_t device_tile_scratch(const struct device *device, const struct tile_plan *tile, int n_in, int n_out);
/* How work on tiles is shared out. whole: the device makes all of it, and the host none. threads: of the
 * host, each with a tile of so many bytes at a time: what stays in its cache, or as much as makes many
 * launches one. keeps: what is made of a tile is worth to be kept for the next run. */
struct device_work {
    int threads, keeps;
    int64_t bytes;
};
struct device_work device_work(const struct device *device, int whole);
/* How products with the matrices of cells work best, and whether those of n_cells cells are faster in 16
 * bits than in single precision. */
const struct cell_tuning *device_cell_tuning(const struct device *device);
int device_half_pays(const struct device *device, int64_t rows, int64_t n_cells);

/* Whether the host can read and write the device's memory. */
int device_is_host(const struct device *device);
/* The device itself where that is so, else device_host(). */
const struct device *device_of_host(const struct device *device);

/* Whether an address is one of the device: on the host every one is. */
int device_owns(const struct device *device, const void *address);
/* Whether it is one that the host cannot read. */
int device_hides(const struct device *device, const void *address);
/* Whether so many bytes from there on are, as far as the device knows: a GPU looks at the address alone. */
int device_holds(const struct device *device, const void *address, size_t bytes);
/* *pointer receives a device address; NULL for 0 bytes. */
facet_status device_alloc(const struct device *device, void *pointer, size_t count, size_t size);
void device_free(const struct device *device, void *pointer);
/* The same of the host's memory, for copies that go to and fro: a GPU reaches it by itself. */
facet_status device_alloc_staging(const struct device *device, void *pointer, size_t count, size_t size);
void device_free_staging(const struct device *device, void *pointer);
facet_status device_upload(const struct device *device, void *to, const void *from_host, size_t bytes);
facet_status device_download(const struct device *device, void *to_host, const void *from, size_t bytes);
/* Allocates and uploads. */
facet_status device_copy(const struct device *device, void *pointer, const void *from_host, size_t count,
                         size_t size);
/* The same, and *from_host goes: where the host can read the device's arrays, it becomes the device's. */
facet_status device_adopt(const struct device *device, void *pointer, void *from_host, size_t count,
                          size_t size);
/* Room of the host for copies of arrays of the device: none (NULL) where it can read these themselves; freed
 * by base_free. And what stands in an array: the array itself where there is no room, else a copy there. */
facet_status device_alloc_room(const struct device *device, void *pointer, size_t count, size_t size);
double device_room_bytes(const struct device *device, double bytes); /* what copies of so many take */
facet_status device_see(const struct device *device, const void *array, size_t bytes, void *room,
                        const void **seen);
/* An array of the device where the host can read and write it; else NULL. */
void *device_seen(const struct device *device, void *array);
/* Access of the device to count items of an array of the host: the array itself, where they have one memory,
 * else a copy. Ends with device_unplace. */
facet_status device_place(const struct device *device, const void *from_host, size_t count, size_t size,
                          const void **there);
void device_unplace(const struct device *device, const void *from_host, const void **there);
/* Host access to count items of a device array: the array itself where the host can read it, else a copy.
 * Ends with device_unview, which frees the copy. */
facet_status device_view(const struct device *device, const void *array, size_t count, size_t size,
                         const void **view);
void device_unview(const struct device *device, const void *array, const void **view);

/* The same from an array of the same device, without a way through the host. */
facet_status device_duplicate(const struct device *device, void *pointer, const void *from, size_t count,
                              size_t size);

/* Between two arrays of one device. */
void device_move(const struct device *device, void *to, const void *from, size_t bytes);

/* A vector on a device, in double or in single precision. The vectors of one call must be of one device and
 * one precision, except for vector_convert and vector_add; nothing checks it. */
struct seam;
struct vector {
    const struct device *device;
    int64_t n;
    enum precision precision;
    struct seam *seam; /* device/seam.h: whose entries these are; NULL: all of this process */
    union {
        void *numbers;
        double *data;       /* where the precision is F64, */
        const double *seen; /* and of a vector that is only read */
    };
};
facet_status vector_create(const struct device *device, int64_t n, struct vector *vector); /* in F64 */
facet_status vector_create_in(const struct device *device, enum precision precision, int64_t n,
                              struct vector *vector);
/* y = x, two vectors of the same length in any precision on any devices. On one device, or where the host can
 * read both, this is one kernel and cannot fail; else it goes through memory of the host, for which there may
 * be no room. */
facet_status vector_convert(const struct vector *x, struct vector *y);
facet_status vector_create_like(const struct vector *like, struct vector *vector);
void vector_destroy(struct vector *vector); /* safe on a zeroed struct, and twice */
/* Single vectors are rounded, and widened, on the host. */
facet_status vector_upload(struct vector *vector, const double *from_host);
facet_status vector_download(const struct vector *vector, double *to_host);
void vector_fill(struct vector *x, double a);
void vector_axpby(double a, const struct vector *x, double b, struct vector *y); /* y = a x + b y */
void vector_add(const struct vector *x, struct vector *y); /* y += x; a single x may be added to a double y */
double vector_dot(const struct vector *x, const struct vector *y); /* summed in double */
double vector_norm(const struct vector *x);

/* device_NAME(device, precision where a kernel has both, parameters) runs a kernel of kernels/kernels.def;
 * device_NAME(device, parameters) says how much scratch kernels need. */
#define DEVICE_ONE       const struct device *device
#define DEVICE_BOTH      const struct device *device, enum precision precision
#define DEVICE_LIST(...) __VA_ARGS__
#define KERNEL(result, precisions, name, parameters, arguments)                                              \
    KERNEL_##result device_##name(DEVICE_##precisions, DEVICE_LIST parameters);
#define SCRATCH(name, parameters, arguments) int64_t device_##name(DEVICE_ONE, DEVICE_LIST parameters);
#define REAL                                 void
#include "kernels/kernels.def"
#undef KERNEL
#undef REAL

/* Unknowns on bricks that are solved faster by modes_solve than by more levels of a multigrid; 0: none. */
int64_t device_direct_size(const struct device *device);
/* Blocks of a matrix are multiplied many at once, in lanes, from so many rows on. */
int device_least_rows(const struct device *device);
/* Points at which a program of an expression is run at once. */
int64_t device_points(const struct device *device);
/* Steps inside a patch that pay where k varies from cell to cell. */
int device_inner_steps(const struct device *device);
/* Allocates n numbers and fills them with x, doubles of the same device, rounded. */
facet_status device_copy_rounded(const struct device *device, enum precision precision, void *pointer,
                                 const double *x, int64_t n);

/* How a team comes to a mesh: each rank to its part, NULL where it has no cells. */
struct context_meshes {
    facet_status (*create_box)(struct base_team *team, const facet_box *box, struct facet_mesh **mesh);
    facet_status (*read)(struct base_team *team, const char *path, int join, struct facet_mesh **mesh);
};

/* What the program around the library chose: the public handle. */
struct solve_external;
struct facet_context {
    const struct device *device;
    const struct solve_external *external; /* solve/external.h, of contexts of a team; else NULL */
    struct base_monitor monitor;
    struct base_owner owner;
    struct base_team *team;              /* of all who share the work; NULL: nobody does */
    struct base_team *at_work;           /* those of them who have cells of the mesh that was made last */
    const struct context_meshes *meshes; /* of a team */
    void (*release)(struct facet_context *context); /* frees the team */
};
/* A public call with this context. Its end is what went wrong on the device, or else `status`. threads: 0:
 * those of the context. */
void context_call_begin(struct facet_context *context, int threads, struct base_call *call);
facet_status context_call_end(const struct facet_context *context, struct base_call *call,
                              facet_status status);

#endif
