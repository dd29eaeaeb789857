/* VTU files (see vtu.h). A file is an XML head that lists the arrays, and after it the arrays themselves, one
 * after the other. A compressed array is
 *
 *     n_blocks, block_bytes, last_block_bytes (0: the last block is full)      UInt64
 *     the compressed bytes of each block                                       UInt64
 *     the blocks, each a zlib stream
 *
 * and one that is not compressed, in a build without zlib or in a file by many ranks, is
 *
 *     n_bytes                                                                  UInt64
 *     the bytes
 *
 * The head gives the place of every array, so all of them are compressed before anything is written. The
 * blocks of an array are independent: a thread makes the raw bytes of its block from the caller's values
 * (reordered, padded) and compresses them, so that only the compressed file is ever held in memory. */
#include "io/vtu.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/run.h"
#include "io/compress.h"
#include "poly/shape.h"

enum {
    MAX_ORDER = 10,
    BLOCK_BYTES = 1 << 17, /* large enough that zlib's start-up does not count, small enough to share out */
    ZLIB_LEVEL = 1,        /* mantissas hardly compress at any level; zeros and counters do at the lowest */
    N_GRID_ARRAYS = 4      /* points, connectivity, offsets, types: after the fields */
};
#define WORTHWHILE 0.7

struct layout {
    const struct vtu_grid *grid;
    int64_t n_points, n_cells;       /* here */
    int64_t first_point, first_cell; /* of those in the file, */
    int64_t all_points, all_cells;   /* which are so many */
    int is_compressed;
    int n_nodes[SHAPE_COUNT];
    int *map[SHAPE_COUNT]; /* VTK's point p is lattice node map[p] */
};

struct array;
/* Makes the tuples first .. first+n-1 of an array. */
typedef void fill_function(const struct layout *layout, const struct array *array, int64_t first, int64_t n,
                           void *out);

struct array {
    const char *name, *type;
    int n_in, n_out; /* components given and written */
    int on_cells;    /* a field of the cells */
    int per_cell;    /* or another array of as many items */
    const double *values;
    fill_function *fill;
    int64_t n_tuples;
    size_t tuple_bytes;
    /* packed: compressed, if the file is */
    size_t block_bytes, last_bytes;
    int64_t n_blocks;
    int level; /* of zlib */
    unsigned char **blocks;
    uint64_t *sizes;
};

/* ------------------------------------------------------------------------------------------ raw arrays */

/* Where an item lies: its block, and the first point and cell of that block. */
struct place {
    int block;
    int64_t first_point, first_cell;
};

static struct place find_place(const struct layout *layout, int on_cells, int64_t item) {
    struct place place = {0, 0, 0};
    for (;; place.block++) {
        const struct vtu_block *block = &layout->grid->blocks[place.block];
        const int64_t points = block->count * layout->n_nodes[block->shape];
        if (item < (on_cells ? place.first_cell + block->count : place.first_point + points)) return place;
        place.first_point += points;
        place.first_cell += block->count;
    }
}

/* A number stays, a plane vector gets z = 0, a 2x2 tensor becomes the upper left of a 3x3 one. */
static void expand(int n_in, const double *in, double *out) {
    switch (n_in) {
    case 2:
        out[0] = in[0], out[1] = in[1], out[2] = 0;
        break;
    case 4:
        memset(out, 0, 9 * sizeof *out);
        out[0] = in[0], out[1] = in[1], out[3] = in[2], out[4] = in[3];
        break;
    default:
        memcpy(out, in, (size_t)n_in * sizeof *out);
    }
}

static void fill_cell_values(const struct layout *layout, const struct array *array, int64_t first, int64_t n,
                             void *out) {
    double *to = out;
    (void)layout;
    for (int64_t i = 0; i < n; i++) {
        expand(array->n_in, &array->values[(first + i) * array->n_in], &to[i * array->n_out]);
    }
}

static void fill_point_values(const struct layout *layout, const struct array *array, int64_t first,
                              int64_t n, void *out) {
    double *to = out;
    for (int64_t item = first; item < first + n;) {
        const struct place place = find_place(layout, 0, item);
        const struct vtu_block *block = &layout->grid->blocks[place.block];
        const int n_nodes = layout->n_nodes[block->shape];
        const int *map = layout->map[block->shape];
        const int64_t block_end = place.first_point + block->count * n_nodes;
        const int64_t end = block_end < first + n ? block_end : first + n;
        int node = (int)((item - place.first_point) % n_nodes);
        for (int64_t cell_begin = item - node; item < end; item++) {
            expand(array->n_in, &array->values[(cell_begin + map[node]) * array->n_in], to);
            to += array->n_out;
            if (++node == n_nodes) {
                node = 0;
                cell_begin += n_nodes;
            }
        }
    }
}

/* Points are not shared: the corners of the cells are numbered through. */
static void fill_connectivity(const struct layout *layout, const struct array *array, int64_t first,
                              int64_t n, void *out) {
    int64_t *to = out;
    (void)array;
    for (int64_t i = 0; i < n; i++) to[i] = layout->first_point + first + i;
}

/* The end of each cell in the connectivity. */
static void fill_offsets(const struct layout *layout, const struct array *array, int64_t first, int64_t n,
                         void *out) {
    int64_t *to = out;
    (void)array;
    for (int64_t i = 0; i < n; i++) {
        const struct place place = find_place(layout, 1, first + i);
        const int n_nodes = layout->n_nodes[layout->grid->blocks[place.block].shape];
        to[i] = layout->first_point + place.first_point + (first + i - place.first_cell + 1) * n_nodes;
    }
}

unsigned char vtu_cell_type(enum shape shape, int order) {
    static const unsigned char linear[SHAPE_COUNT] = {
        [SHAPE_SEGMENT] = 3, [SHAPE_TRIANGLE] = 5, [SHAPE_QUAD] = 9,
        [SHAPE_TET] = 10,    [SHAPE_HEX] = 12,     [SHAPE_PRISM] = 13};
    static const unsigned char lagrange[SHAPE_COUNT] = {
        [SHAPE_SEGMENT] = 68, [SHAPE_TRIANGLE] = 69, [SHAPE_QUAD] = 70,
        [SHAPE_TET] = 71,     [SHAPE_HEX] = 72,      [SHAPE_PRISM] = 73};
    return order == 1 ? linear[shape] : lagrange[shape];
}

static void fill_types(const struct layout *layout, const struct array *array, int64_t first, int64_t n,
                       void *out) {
    unsigned char *to = out;
    (void)array;
    for (int64_t i = 0; i < n; i++) {
        const struct place place = find_place(layout, 1, first + i);
        to[i] = vtu_cell_type(layout->grid->blocks[place.block].shape, layout->grid->order);
    }
}

/* ------------------------------------------------------------------------------------------ compression */

static facet_status pack_block(const struct layout *layout, struct array *array, int64_t b,
                               unsigned char *raw, unsigned char *packed, size_t packed_bytes) {
    facet_status status = FACET_OK;
    const int64_t per_block = (int64_t)(array->block_bytes / array->tuple_bytes), first = b * per_block;
    const int64_t n = array->n_tuples - first < per_block ? array->n_tuples - first : per_block;

    array->fill(layout, array, first, n, raw);
    TRY(base_wrap(compress_bytes(array->level, (size_t)n * array->tuple_bytes, raw, &packed_bytes, packed),
                  "the array '%s' of a VTU file", array->name));
    TRY(ALLOC(array->blocks[b], packed_bytes));
    memcpy(array->blocks[b], packed, packed_bytes);
    array->sizes[b] = packed_bytes;
done:
    return status;
}

/* Compressing mantissas costs more than all else, and saves little: an array whose middle block hardly
 * shrinks is stored. */
static facet_status choose_level(const struct layout *layout, struct array *array, size_t packed_bytes) {
    facet_status status = FACET_OK;
    unsigned char *raw = NULL, *packed = NULL;
    const int64_t middle = array->n_blocks / 2;
    array->level = ZLIB_LEVEL;
    if (array->n_blocks < 2 || !layout->is_compressed) goto done;
    TRY(base_alloc(&raw, array->block_bytes, 1));
    TRY(base_alloc(&packed, packed_bytes, 1));
    TRY(pack_block(layout, array, middle, raw, packed, packed_bytes));
    if ((double)array->sizes[middle] > WORTHWHILE * (double)array->block_bytes) array->level = 0;
    base_free(&array->blocks[middle]);
done:
    base_free(&raw);
    base_free(&packed);
    return status;
}

static facet_status pack_array(const struct layout *layout, struct array *array) {
    facet_status status = FACET_OK;
    struct base_collector collector;

    const int64_t per_block = (int64_t)(BLOCK_BYTES / array->tuple_bytes);
    array->block_bytes = (size_t)per_block * array->tuple_bytes;
    array->last_bytes = (size_t)(array->n_tuples % per_block) * array->tuple_bytes;
    const int64_t n_blocks = (array->n_tuples + per_block - 1) / per_block;
    const size_t packed_bytes = compress_bound(array->block_bytes);
    TRY(CALLOC(array->blocks, n_blocks));
    array->n_blocks = n_blocks;
    TRY(CALLOC(array->sizes, n_blocks));
    TRY(choose_level(layout, array, packed_bytes));

    const struct base_call *call = base_call_here();
    base_collector_init(&collector);
#pragma omp parallel num_threads(base_threads())
    {
        unsigned char *raw = NULL, *packed = NULL;
        facet_status mine = base_alloc(&raw, array->block_bytes, 1);
        if (mine == FACET_OK) mine = base_alloc(&packed, packed_bytes, 1);
        if (mine != FACET_OK) base_collect(&collector, -1, mine);
#pragma omp for schedule(dynamic)
        for (int64_t b = 0; b < n_blocks; b++) {
            if (mine != FACET_OK || base_collector_failed(&collector)) continue;
            facet_status packing = base_check_interrupt_of(call);
            if (packing == FACET_OK) packing = pack_block(layout, array, b, raw, packed, packed_bytes);
            base_collect(&collector, b, packing);
        }
        base_free(&raw);
        base_free(&packed);
    }
    status = base_collected(&collector);
done:
    return status;
}

static void array_free(struct array *array) {
    for (int64_t b = 0; b < array->n_blocks; b++) base_free(&array->blocks[b]);
    array->n_blocks = 0;
    base_free(&array->blocks);
    base_free(&array->sizes);
}

static uint64_t array_file_bytes(const struct layout *layout, const struct array *array) {
    if (!layout->is_compressed)
        return sizeof(uint64_t) +
               (uint64_t)(array->per_cell ? layout->all_cells : layout->all_points) * array->tuple_bytes;
    uint64_t bytes = (3 + (uint64_t)array->n_blocks) * sizeof(uint64_t);
    for (int64_t b = 0; b < array->n_blocks; b++) bytes += array->sizes[b];
    return bytes;
}

static facet_status put_array(const struct layout *layout, const struct array *array,
                              struct file_writer *writer) {
    facet_status status = FACET_OK;
    const uint64_t head[3] = {(uint64_t)array->n_blocks, array->block_bytes, array->last_bytes};
    const uint64_t n_bytes = array_file_bytes(layout, array) - sizeof n_bytes;

    if (layout->is_compressed) {
        TRY(file_writer_put(writer, head, sizeof head));
        TRY(file_writer_put(writer, array->sizes, (size_t)array->n_blocks * sizeof *array->sizes));
    } else {
        TRY(file_writer_put(writer, &n_bytes, sizeof n_bytes));
    }
    for (int64_t b = 0; b < array->n_blocks; b++) {
        TRY(file_writer_put(writer, array->blocks[b], array->sizes[b]));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ head */

static void put_escaped(struct text *xml, const char *name) {
    for (; *name; name++) {
        switch (*name) {
        case '&':
            text_printf(xml, "&amp;");
            break;
        case '<':
            text_printf(xml, "&lt;");
            break;
        case '>':
            text_printf(xml, "&gt;");
            break;
        case '"':
            text_printf(xml, "&quot;");
            break;
        default:
            text_append(xml, (unsigned char)*name < 0x20 ? " " : name, 1);
        }
    }
}

static void put_entry(struct text *xml, const struct layout *layout, const struct array *array,
                      uint64_t *offset) {
    text_printf(xml, "        <DataArray type=\"%s\" Name=\"", array->type);
    put_escaped(xml, array->name);
    text_printf(xml, "\" NumberOfComponents=\"%d\" format=\"appended\" offset=\"%llu\"/>\n", array->n_out,
                (unsigned long long)*offset);
    *offset += array_file_bytes(layout, array);
}

/* The fields on points or those on cells; the first field of all is the active one of its kind. */
static void put_fields(struct text *xml, const struct layout *layout, int on_cells, int n_fields,
                       const struct array *fields, uint64_t *offset) {
    const char *section = on_cells ? "CellData" : "PointData";
    text_printf(xml, "      <%s", section);
    if (n_fields > 0 && fields[0].on_cells == on_cells) {
        const int n = fields[0].n_out;
        text_printf(xml, " %s=\"", n == 1 ? "Scalars" : n == 3 ? "Vectors" : "Tensors");
        put_escaped(xml, fields[0].name);
        text_append(xml, "\"", 1);
    }
    text_printf(xml, ">\n");
    for (int i = 0; i < n_fields; i++) {
        if (fields[i].on_cells == on_cells) put_entry(xml, layout, &fields[i], offset);
    }
    text_printf(xml, "      </%s>\n", section);
}

static void put_head(struct text *xml, const struct layout *layout, int n_fields,
                     const struct array *arrays) {
    const struct array *points = &arrays[n_fields];
    uint64_t offset = 0;
    text_printf(xml,
                "<?xml version=\"1.0\"?>\n"
                "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"%s\" "
                "header_type=\"UInt64\"%s>\n"
                "  <UnstructuredGrid>\n"
                "    <Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n",
                __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "LittleEndian" : "BigEndian",
                layout->is_compressed ? " compressor=\"vtkZLibDataCompressor\"" : "",
                (long long)layout->all_points, (long long)layout->all_cells);
    put_fields(xml, layout, 0, n_fields, arrays, &offset);
    put_fields(xml, layout, 1, n_fields, arrays, &offset);
    text_printf(xml, "      <Points>\n");
    put_entry(xml, layout, points, &offset);
    text_printf(xml, "      </Points>\n      <Cells>\n");
    for (int i = 1; i < N_GRID_ARRAYS; i++) put_entry(xml, layout, &points[i], &offset);
    text_printf(xml, "      </Cells>\n"
                     "    </Piece>\n"
                     "  </UnstructuredGrid>\n"
                     "  <AppendedData encoding=\"raw\">\n_");
}

/* ------------------------------------------------------------------------------------------ the file */

static facet_status check_grid(const struct vtu_grid *grid) {
    if (grid->dim != 2 && grid->dim != 3) {
        return base_fail(FACET_ERROR_INPUT, "a VTU grid has dimension 2 or 3, not %d", grid->dim);
    }
    if (grid->order < 1 || grid->order > MAX_ORDER) {
        return base_fail(FACET_ERROR_INPUT, "the order of a VTU file is 1 .. %d, not %d", MAX_ORDER,
                         grid->order);
    }
    for (int b = 0; b < grid->n_blocks; b++) {
        const struct vtu_block *block = &grid->blocks[b];
        if (block->count < 0 || (int)block->shape < 0 || block->shape >= SHAPE_COUNT ||
            block->shape == SHAPE_POINT || shape_dim(block->shape) > grid->dim) {
            return base_fail(FACET_ERROR_INPUT, "block %d of the VTU grid has a wrong shape or count", b);
        }
    }
    return FACET_OK;
}

/* Where the items of this rank stand among those of all. */
static facet_status layout_join(struct layout *layout) {
    facet_status status = FACET_OK;
    struct base_team *team = layout->grid->team;
    int64_t *all = NULL, here[2] = {layout->n_points, layout->n_cells};
    TRY(ALLOC(all, 2 * (int64_t)team->size));
    TRY(team_gather(team, 2, here, all));
    layout->all_points = layout->all_cells = 0;
    for (int r = 0; r < team->size; r++) {
        if (r == team->rank) {
            layout->first_point = layout->all_points;
            layout->first_cell = layout->all_cells;
        }
        layout->all_points += all[2 * r];
        layout->all_cells += all[2 * r + 1];
    }
done:
    base_free(&all);
    return status;
}

static facet_status layout_init(struct layout *layout, const struct vtu_grid *grid) {
    facet_status status = FACET_OK;

    layout->grid = grid;
    layout->is_compressed = grid->team == NULL && compress_version() != NULL;
    for (int b = 0; b < grid->n_blocks; b++) {
        const enum shape shape = grid->blocks[b].shape;
        const int n_nodes = shape_n_nodes(shape, grid->order);
        layout->n_nodes[shape] = n_nodes;
        layout->n_cells += grid->blocks[b].count;
        layout->n_points += grid->blocks[b].count * n_nodes;
        if (layout->map[shape]) continue;
        TRY(ALLOC(layout->map[shape], n_nodes));
        TRY(vtu_node_map(shape, grid->order, layout->map[shape]));
    }
    layout->all_points = layout->n_points;
    layout->all_cells = layout->n_cells;
    if (grid->team != NULL) TRY(layout_join(layout));
done:
    return status;
}

static facet_status describe_field(const struct layout *layout, const struct vtu_field *field,
                                   struct array *array) {
    const int n = field->n_components;
    if (!field->name || !*field->name) {
        return base_fail(FACET_ERROR_INPUT, "a field of a VTU file has no name");
    }
    if (n != 1 && n != 2 && n != 3 && n != 4 && n != 9) {
        return base_fail(FACET_ERROR_INPUT, "field '%s' has %d components; a VTU file takes 1, 2, 3, 4 or 9",
                         field->name, n);
    }
    *array = (struct array){.name = field->name,
                            .type = "Float64",
                            .n_in = n,
                            .n_out = n == 2   ? 3
                                     : n == 4 ? 9
                                              : n,
                            .on_cells = field->on_cells != 0,
                            .per_cell = field->on_cells != 0,
                            .values = field->values,
                            .fill = field->on_cells ? fill_cell_values : fill_point_values,
                            .n_tuples = field->on_cells ? layout->n_cells : layout->n_points};
    array->tuple_bytes = (size_t)array->n_out * sizeof(double);
    return FACET_OK;
}

static void describe_grid(const struct layout *layout, struct array *arrays) {
    const int64_t n_points = layout->n_points, n_cells = layout->n_cells;
    arrays[0] = (struct array){.name = "Points",
                               .type = "Float64",
                               .n_in = layout->grid->dim,
                               .n_out = 3,
                               .values = layout->grid->points,
                               .fill = fill_point_values,
                               .n_tuples = n_points,
                               .tuple_bytes = 3 * sizeof(double)};
    arrays[1] = (struct array){.name = "connectivity",
                               .type = "Int64",
                               .n_out = 1,
                               .fill = fill_connectivity,
                               .n_tuples = n_points,
                               .tuple_bytes = sizeof(int64_t)};
    arrays[2] = (struct array){.name = "offsets",
                               .type = "Int64",
                               .n_out = 1,
                               .per_cell = 1,
                               .fill = fill_offsets,
                               .n_tuples = n_cells,
                               .tuple_bytes = sizeof(int64_t)};
    arrays[3] = (struct array){.name = "types",
                               .type = "UInt8",
                               .n_out = 1,
                               .per_cell = 1,
                               .fill = fill_types,
                               .n_tuples = n_cells,
                               .tuple_bytes = 1};
}

/* In the order of the head: fields on points, fields on cells, the grid. */
static facet_status put_arrays(const struct layout *layout, struct array *arrays, int n_fields,
                               struct file_writer *writer) {
    facet_status status = FACET_OK;
    for (int on_cells = 0; on_cells <= 1; on_cells++) {
        for (int i = 0; i < n_fields; i++) {
            if (arrays[i].on_cells == on_cells) TRY(put_array(layout, &arrays[i], writer));
        }
    }
    for (int i = n_fields; i < n_fields + N_GRID_ARRAYS; i++) TRY(put_array(layout, &arrays[i], writer));
done:
    return status;
}

static const char tail[] = "\n  </AppendedData>\n</VTKFile>\n";

/* ------------------------------------------------------------------------------------------ by a team */

#define SHARE_BYTES ((int64_t)1 << 24) /* that a rank writes at a time */

/* A file that is being written by a team. */
struct together {
    const struct layout *layout;
    struct base_team *team;
    void *file;
    int64_t at; /* where the next array, or other text, begins */
    char *bytes;
    int64_t n_shares; /* the most that any rank needs for an array */
    facet_status failed;
};

/* A failure is kept: all ranks write as often. */
static void write_share(struct together *t, int64_t at, const void *bytes, int64_t n) {
    facet_status status = team_file_write(t->team, t->file, at, bytes, n);
    if (t->failed == FACET_OK) t->failed = status;
}

/* What rank 0 alone has to say. */
static void write_text(struct together *t, const void *bytes, int64_t n) {
    write_share(t, t->at, bytes, t->team->rank == 0 ? n : 0);
    t->at += n;
}

static void write_array(struct together *t, const struct array *array) {
    const uint64_t n_bytes = array_file_bytes(t->layout, array) - sizeof n_bytes;
    const int64_t size = (int64_t)array->tuple_bytes, most = SHARE_BYTES / size;
    const int64_t first = array->per_cell ? t->layout->first_cell : t->layout->first_point;
    write_text(t, &n_bytes, sizeof n_bytes);
    for (int64_t share = 0; share < t->n_shares; share++) {
        const int64_t done = share * most < array->n_tuples ? share * most : array->n_tuples;
        const int64_t n = array->n_tuples - done < most ? array->n_tuples - done : most;
        if (n > 0) array->fill(t->layout, array, done, n, t->bytes);
        write_share(t, t->at + (first + done) * size, t->bytes, n * size);
    }
    t->at += (int64_t)n_bytes;
}

static facet_status count_shares(struct together *t, int n_arrays, const struct array *arrays) {
    for (int i = 0; i < n_arrays; i++) {
        const int64_t most = SHARE_BYTES / (int64_t)arrays[i].tuple_bytes;
        const int64_t n = (arrays[i].n_tuples + most - 1) / most;
        if (n > t->n_shares) t->n_shares = n;
    }
    return team_reduce_counts(t->team, TEAM_MAX, 1, &t->n_shares);
}

/* Rank 0 makes the file beside its target, with room for all of it. *writer is that of rank 0. */
static facet_status write_together(const char *path, const struct layout *layout, int n_fields,
                                   const struct array *arrays, const struct text *head,
                                   struct file_writer **writer) {
    facet_status status = FACET_OK;
    struct together t = {.layout = layout, .team = layout->grid->team};
    struct {
        char path[FILE_NAME_BYTES];
        int is_reserved;
    } made = {.path = ""};
    int64_t n_bytes = (int64_t)(head->length + sizeof tail - 1);
    for (int i = 0; i < n_fields + N_GRID_ARRAYS; i++)
        n_bytes += (int64_t)array_file_bytes(layout, &arrays[i]);
    if (t.team->rank == 0) {
        TRY(file_writer_open(path, writer));
        if (file_writer_path(*writer) == NULL)
            FAIL(FACET_ERROR_INPUT,
                 "many ranks cannot write to a stream or device: give the output a file name");
        snprintf(made.path, sizeof made.path, "%s", file_writer_path(*writer));
        TRY(file_writer_reserve(*writer, n_bytes, &made.is_reserved));
    }
    TRY(ALLOC(t.bytes, SHARE_BYTES));
    TRY(count_shares(&t, n_fields + N_GRID_ARRAYS, arrays));
    TRY(team_broadcast(t.team, 0, &made, sizeof made));
    const struct team_file which = {path, made.path, n_bytes, made.is_reserved};
    TRY(team_file_open(t.team, &which, &t.file));
    write_text(&t, head->data, (int64_t)head->length);
    for (int on_cells = 0; on_cells <= 1; on_cells++)
        for (int i = 0; i < n_fields; i++)
            if (arrays[i].on_cells == on_cells) write_array(&t, &arrays[i]);
    for (int i = n_fields; i < n_fields + N_GRID_ARRAYS; i++) write_array(&t, &arrays[i]);
    write_text(&t, tail, sizeof tail - 1);
    status = team_file_close(t.team, &t.file);
    TRY(team_agree(t.team, t.failed != FACET_OK ? t.failed : status));
    if (*writer != NULL) TRY(file_writer_finish(*writer));
done:
    base_free(&t.bytes);
    return status;
}

/* ------------------------------------------------------------------------------------------ by one */

/* The file is whole then, but not under its name: *writer, of rank 0, is closed by the caller. */
static facet_status write_file(const char *path, const struct vtu_grid *grid, int n_fields,
                               const struct vtu_field *fields, struct file_writer **writer) {
    facet_status status = FACET_OK;
    struct layout layout = {.grid = NULL};
    struct array *arrays = NULL;
    struct text head = {.data = NULL};
    const int n_arrays = n_fields + N_GRID_ARRAYS;

    TRY(check_grid(grid));
    TRY(layout_init(&layout, grid));
    TRY(CALLOC(arrays, n_arrays));
    for (int i = 0; i < n_fields; i++) TRY(describe_field(&layout, &fields[i], &arrays[i]));
    describe_grid(&layout, arrays + n_fields);
    if (team_rank(grid->team) == 0) TRY(file_check(path)); /* before the work */
    for (int i = 0; grid->team == NULL && i < n_arrays; i++) TRY(pack_array(&layout, &arrays[i]));
    put_head(&head, &layout, n_fields, arrays);
    TRY(head.status);
    if (grid->team != NULL) {
        TRY(write_together(path, &layout, n_fields, arrays, &head, writer));
        goto done;
    }
    TRY(file_writer_open(path, writer));
    TRY(file_writer_put(*writer, head.data, head.length));
    TRY(put_arrays(&layout, arrays, n_fields, *writer));
    TRY(file_writer_put(*writer, tail, sizeof tail - 1));
    TRY(file_writer_finish(*writer));
done:
    text_free(&head);
    for (int i = 0; arrays && i < n_arrays; i++) array_free(&arrays[i]);
    base_free(&arrays);
    for (int s = 0; s < SHAPE_COUNT; s++) base_free(&layout.map[s]);
    return status;
}

/* ------------------------------------------------------------------------------------------ in pieces */

int vtu_n_pieces(const struct base_team *team, int pieces) {
    return pieces < 1 ? 1 : pieces < team_size(team) ? pieces : team_size(team);
}

#define MORE_BYTES 24 /* that the name of a piece may have, with the NUL */

static void put_piece_name(const char *path, int piece, size_t bytes, char *name) {
    const size_t n = strlen(path), stem = n > 4 && strcmp(path + n - 4, ".vtu") == 0 ? n - 4 : n;
    if (piece < 0)
        snprintf(name, bytes, "%.*s.pvtu", (int)stem, path);
    else
        snprintf(name, bytes, "%.*s-%d.vtu", (int)stem, path, piece);
}

facet_status vtu_piece_name(const char *path, int piece, char **name) {
    const size_t bytes = strlen(path) + MORE_BYTES;
    const facet_status status = ALLOC(*name, bytes);
    if (status == FACET_OK) put_piece_name(path, piece, bytes, *name);
    return status;
}

static void put_parallel_fields(struct text *xml, int on_cells, int n_fields, const struct array *fields) {
    text_printf(xml, "    <%s>\n", on_cells ? "PCellData" : "PPointData");
    for (int i = 0; i < n_fields; i++) {
        if (fields[i].on_cells != on_cells) continue;
        text_printf(xml, "      <PDataArray type=\"%s\" Name=\"", fields[i].type);
        put_escaped(xml, fields[i].name);
        text_printf(xml, "\" NumberOfComponents=\"%d\"/>\n", fields[i].n_out);
    }
    text_printf(xml, "    </%s>\n", on_cells ? "PCellData" : "PPointData");
}

/* The pieces lie beside the file that names them. */
static void put_source(struct text *xml, const char *name) {
    const char *slash = strrchr(name, '/');
    text_printf(xml, "<Piece Source=\"");
    put_escaped(xml, slash != NULL ? slash + 1 : name);
    text_printf(xml, "\"/>");
}

/* The file that names the pieces. */
static facet_status write_index(const char *path, int n_pieces, int n_fields, const struct array *fields,
                                struct file_writer **writer) {
    facet_status status = FACET_OK;
    struct text xml = {.data = NULL};
    char *name = NULL;
    text_printf(&xml,
                "<?xml version=\"1.0\"?>\n"
                "<VTKFile type=\"PUnstructuredGrid\" version=\"1.0\" byte_order=\"%s\" "
                "header_type=\"UInt64\">\n"
                "  <PUnstructuredGrid GhostLevel=\"0\">\n",
                __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "LittleEndian" : "BigEndian");
    put_parallel_fields(&xml, 0, n_fields, fields);
    put_parallel_fields(&xml, 1, n_fields, fields);
    text_printf(&xml, "    <PPoints>\n      <PDataArray type=\"Float64\" Name=\"Points\" "
                      "NumberOfComponents=\"3\"/>\n    </PPoints>\n");
    for (int p = 0; p < n_pieces; p++) {
        base_free(&name);
        TRY(vtu_piece_name(path, p, &name));
        text_printf(&xml, "    ");
        put_source(&xml, name);
        text_printf(&xml, "\n");
    }
    text_printf(&xml, "  </PUnstructuredGrid>\n</VTKFile>\n");
    TRY(xml.status);
    base_free(&name);
    TRY(vtu_piece_name(path, -1, &name));
    TRY(file_writer_open(name, writer));
    TRY(file_writer_put(*writer, xml.data, xml.length));
    TRY(file_writer_finish(*writer));
done:
    text_free(&xml);
    base_free(&name);
    return status;
}

/* How many pieces an older index names; 0 if one of them is not a piece of this file: it is another's. */
static facet_status count_older(const char *path, const char *index, int *n_pieces) {
    facet_status status = FACET_OK;
    struct text source = {.data = NULL};
    char *name = NULL, *xml = NULL;
    size_t n_bytes;
    *n_pieces = 0;
    TRY(file_read_whole(index, &xml, &n_bytes));
    for (const char *at = xml; (at = strstr(at, "<Piece ")) != NULL; at++, ++*n_pieces) {
        base_free(&name);
        TRY(vtu_piece_name(path, *n_pieces, &name));
        text_free(&source);
        put_source(&source, name);
        TRY(source.status);
        if (strncmp(at, source.data, source.length) == 0) continue;
        *n_pieces = 0;
        break;
    }
done:
    text_free(&source);
    base_free(&name);
    base_free(&xml);
    return status;
}

/* Pieces first .. end - 1 of an older output; `index` as it was then: what was written since is another's. */
static void remove_older(const char *path, int first, int end, const struct stat *index) {
    struct stat info;
    char name[FILE_NAME_BYTES + MORE_BYTES];
    for (int p = first; p < end; p++) {
        put_piece_name(path, p, sizeof name, name);
        if (lstat(name, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        const int is_newer = info.st_mtim.tv_sec != index->st_mtim.tv_sec
                                 ? info.st_mtim.tv_sec > index->st_mtim.tv_sec
                                 : info.st_mtim.tv_nsec > index->st_mtim.tv_nsec;
        if (!is_newer) unlink(name);
    }
}

/* All files have their names now, and what an older index of this output named besides goes: nobody shall
 * take pieces of two runs for one solution. Of rank 0. */
static facet_status name_files(const char *path, int n, struct file_writer **writers) {
    facet_status status = FACET_OK;
    struct stat index;
    char name[FILE_NAME_BYTES + MORE_BYTES];
    int n_older = 0;
    put_piece_name(path, -1, sizeof name, name);
    if (stat(name, &index) == 0 && S_ISREG(index.st_mode) && access(name, R_OK) == 0)
        TRY(count_older(path, name, &n_older));
    for (int i = 0; i < n; i++) TRY(file_writer_close(&writers[i]));
    if (n_older == 0) goto done;
    remove_older(path, n > 1 ? n - 1 : 0, n_older, &index);
    if (n == 1) unlink(name);
done:
    return status;
}

static facet_status write_pieces(const char *path, int n, const struct vtu_grid *grid, int n_fields,
                                 const struct vtu_field *fields, struct file_writer **writers) {
    facet_status status = FACET_OK;
    const struct layout layout = {.grid = grid};
    const struct base_team *team = grid->team;
    struct array *arrays = NULL;
    char *name = NULL;
    TRY(CALLOC(arrays, n_fields));
    for (int i = 0; i < n_fields; i++) TRY(describe_field(&layout, &fields[i], &arrays[i]));
    for (int p = 0; p < n; p++) {
        struct vtu_grid piece = *grid;
        if ((int64_t)team->rank * n / team->size != p) piece.n_blocks = 0;
        base_free(&name);
        TRY(vtu_piece_name(path, p, &name));
        TRY(write_file(name, &piece, n_fields, fields, &writers[p]));
    }
    if (team->rank == 0) TRY(write_index(path, n, n_fields, arrays, &writers[n]));
done:
    base_free(&arrays);
    base_free(&name);
    return status;
}

facet_status vtu_write(const char *path, const struct vtu_grid *grid, int n_fields,
                       const struct vtu_field *fields) {
    facet_status status = FACET_OK;
    const int n = vtu_n_pieces(grid->team, grid->pieces), n_files = n > 1 ? n + 1 : 1;
    struct file_writer **writers = NULL;
    TRY(CALLOC(writers, n_files));
    TRY(n > 1 ? write_pieces(path, n, grid, n_fields, fields, writers)
              : write_file(path, grid, n_fields, fields, &writers[0]));
    if (team_rank(grid->team) == 0) TRY(name_files(path, n_files, writers));
done:
    for (int i = 0; writers && i < n_files; i++) file_writer_abandon(&writers[i]);
    base_free(&writers);
    return status;
}
