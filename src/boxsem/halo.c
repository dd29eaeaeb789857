/* Steps over vertex patches that reach into other blocks. See shared_nodes.h. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "boxsem/shared_nodes.h"

/* Products of places along the directions: a part of a lattice. */
struct places {
    int n[3];
    int32_t *at[3];
};

/* What goes to another process, and what comes from there, part by part in an order that both have. */
struct message {
    int rank;
    int n_out, n_in;
    struct places *out, *in;
    int64_t out_count, in_count;
};
struct exchange {
    int n;
    struct message *messages;
    struct team_message *sent;
};

struct boxsem_halo {
    const struct device *device;
    struct base_team *team;
    struct box_grid grid; /* with the cells below the seams */
    struct boxsem_brick brick;
    struct boxsem_patches patches;
    struct brick_axis *colours[3]; /* the columns of each colour */
    int n_colours[3];
    struct vector x, f;
    struct boxsem_window window; /* from vectors of the block to these */
    struct exchange fill;        /* of what others own */
    struct exchange *changed;    /* of what patches of one colour have changed, for each */
    void *out, *in;
    int64_t out_size, in_size;
};

/* ------------------------------------------------------------------------------ who has what */

enum what { CELLS, NODES, COLOUR };

/* What is needed to say what any rank holds. */
struct builder {
    const struct boxsem_blocks *b;
    int k;
    struct boxsem_column *columns[3]; /* of the whole */
    int n_columns[3], n_colours[3];
    int n_near, *near; /* other ranks whose cells, with those below, meet those here */
    int64_t extent[3]; /* of the lattice of numbers that are exchanged */
};

/* Along a direction: places low .. high that a rank holds, and those that it gives to others. Places that
 * differ by a period are the same. */
struct reach {
    int low, high, period, is_ring;
    int n, *given;
};

static int has_ghost(const struct boxsem_blocks *b, const struct boxsem_block *block, int d) {
    return d < b->dim && !boxsem_block_is_ring(b, block, d) &&
           (block->first[d] > 0 || b->sides[d][0] == BOX_PERIODIC);
}

/* The vertex in the middle of a column. */
static int middle_of(const struct boxsem_column *column, int n_cells) {
    if (n_cells == 1) return 0;
    return column->cells == 2 ? column->cell + 1 : column->cell == 0 ? 0 : n_cells;
}

static int owns_column(const struct boxsem_blocks *b, const struct boxsem_block *block, int d,
                       const struct boxsem_column *column) {
    const int v = middle_of(column, b->cells[d]), end = block->first[d] + block->count[d];
    return v == b->cells[d] ? end == v : block->first[d] <= v && v < end;
}

static facet_status find_reach(const struct builder *m, int rank, int d, enum what what, int colour,
                               struct reach *r) {
    facet_status status = FACET_OK;
    const struct boxsem_blocks *b = m->b;
    const struct boxsem_block *block = &b->blocks[rank];
    const int k = what == CELLS ? 1 : m->k, ghost = has_ghost(b, block, d), real = d < b->dim;
    *r = (struct reach){.is_ring = real && boxsem_block_is_ring(b, block, d)};
    if (real) {
        r->low = k * (block->first[d] - ghost);
        r->high = k * (block->first[d] + block->count[d]) - (what == CELLS || r->is_ring);
        if (b->sides[d][0] == BOX_PERIODIC) r->period = k * b->cells[d];
    }
    TRY(ALLOC(r->given, r->high - r->low + 1));
    if (!real || what != COLOUR) {
        const int n = real && what == NODES ? boxsem_owned_nodes(b, block, k, d) : real ? block->count[d] : 1;
        for (int i = 0; i < n; i++) r->given[r->n++] = (real ? k * block->first[d] : 0) + i;
        goto done;
    }
    for (int c = 0; c < m->n_columns[d]; c++) {
        const struct boxsem_column *column = &m->columns[d][c];
        if (column->colour != colour || !owns_column(b, block, d, column)) continue;
        for (int i = 0; i < column->m; i++) r->given[r->n++] = column->first + i;
    }
done:
    return status;
}

/* Places along a direction that `from` gives and `to` holds when those of `from` are moved by so many
 * periods: as the places of this rank, which is one of them. */
static facet_status match(const struct reach *from, const struct reach *to, int shift, int is_from, int *n,
                          int32_t **at) {
    facet_status status = FACET_OK;
    *n = 0;
    TRY(ALLOC(*at, from->n));
    for (int i = 0; i < from->n; i++) {
        const int place = from->given[i] + shift * from->period;
        if (place < to->low || place > to->high) continue;
        (*at)[(*n)++] = !is_from        ? place - to->low
                        : from->is_ring ? (from->given[i] + from->period) % from->period
                                        : from->given[i] - from->low;
    }
done:
    return status;
}

static void places_free(struct places *p) {
    for (int d = 0; d < 3; d++) base_free(&p->at[d]);
}

/* One part after the other, of all moves round rings. */
static facet_status list_parts(const struct reach from[3], const struct reach to[3], int is_from, int *n,
                               struct places **parts, int64_t *count) {
    facet_status status = FACET_OK;
    int shift[3], most[3];
    struct places p = {.n = {0}};
    for (int d = 0; d < 3; d++) most[d] = from[d].period > 0;
    for (shift[2] = -most[2]; shift[2] <= most[2]; shift[2]++)
        for (shift[1] = -most[1]; shift[1] <= most[1]; shift[1]++)
            for (shift[0] = -most[0]; shift[0] <= most[0]; shift[0]++) {
                for (int d = 0; d < 3; d++)
                    TRY(match(&from[d], &to[d], shift[d], is_from, &p.n[d], &p.at[d]));
                const int64_t size = (int64_t)p.n[0] * p.n[1] * p.n[2];
                if (size > 0) {
                    TRY(base_realloc(parts, (size_t)*n + 1, sizeof **parts));
                    (*parts)[(*n)++] = p;
                    p = (struct places){.n = {0}};
                }
                places_free(&p);
                *count += size;
            }
done:
    places_free(&p);
    return status;
}

static void exchange_free(struct exchange *e) {
    for (int i = 0; i < e->n; i++) {
        struct message *m = &e->messages[i];
        for (int j = 0; j < m->n_out; j++) places_free(&m->out[j]);
        for (int j = 0; j < m->n_in; j++) places_free(&m->in[j]);
        base_free(&m->out);
        base_free(&m->in);
    }
    base_free(&e->messages);
    base_free(&e->sent);
    e->n = 0;
}

static facet_status make_exchange(const struct builder *m, enum what what, const int colour[3],
                                  struct exchange *e) {
    facet_status status = FACET_OK;
    struct reach own[3] = {{0}}, other[3] = {{0}};
    TRY(CALLOC(e->messages, m->n_near));
    TRY(CALLOC(e->sent, m->n_near));
    for (int d = 0; d < 3; d++) TRY(find_reach(m, m->b->team->rank, d, what, colour[d], &own[d]));
    for (int i = 0; i < m->n_near; i++) {
        struct message *message = &e->messages[e->n];
        for (int d = 0; d < 3; d++) {
            base_free(&other[d].given);
            TRY(find_reach(m, m->near[i], d, what, colour[d], &other[d]));
        }
        message->rank = m->near[i];
        e->n++; /* from now on it is freed */
        TRY(list_parts(own, other, 1, &message->n_out, &message->out, &message->out_count));
        TRY(list_parts(other, own, 0, &message->n_in, &message->in, &message->in_count));
        if (message->n_out == 0 && message->n_in == 0) e->n--;
    }
done:
    for (int d = 0; d < 3; d++) {
        base_free(&own[d].given);
        base_free(&other[d].given);
    }
    return status;
}

/* ------------------------------------------------------------------------------ messages */

#define MOVE(type)                                                                                           \
    static char *pack_##type(const struct places *p, const int64_t extent[2], const type *values,            \
                             char *buffer) {                                                                 \
        type *to = (type *)(void *)buffer;                                                                   \
        for (int z = 0; z < p->n[2]; z++)                                                                    \
            for (int y = 0; y < p->n[1]; y++) {                                                              \
                const type *row = values + (p->at[2][z] * extent[1] + p->at[1][y]) * extent[0];              \
                for (int x = 0; x < p->n[0]; x++) *to++ = row[p->at[0][x]];                                  \
            }                                                                                                \
        return (char *)to;                                                                                   \
    }                                                                                                        \
    static const char *unpack_##type(const struct places *p, const int64_t extent[2], const char *buffer,    \
                                     type *values) {                                                         \
        const type *from = (const type *)(const void *)buffer;                                               \
        for (int z = 0; z < p->n[2]; z++)                                                                    \
            for (int y = 0; y < p->n[1]; y++) {                                                              \
                type *row = values + (p->at[2][z] * extent[1] + p->at[1][y]) * extent[0];                    \
                for (int x = 0; x < p->n[0]; x++) row[p->at[0][x]] = *from++;                                \
            }                                                                                                \
        return (const char *)from;                                                                           \
    }
MOVE(double)
MOVE(float)

/* Numbers of a lattice so long in directions 0 and 1; out, in: room. */
static facet_status run_exchange(const struct exchange *e, struct base_team *team, const int64_t extent[2],
                                 enum precision precision, void *values, char *out, char *in) {
    facet_status status = FACET_OK;
    void *pending = NULL;
    char *into = in;
    const char *from = in;
    const int64_t size = (int64_t)precision_size(precision);
    for (int i = 0; i < e->n; i++) {
        const struct message *m = &e->messages[i];
        e->sent[i] = (struct team_message){.rank = m->rank,
                                           .send = out,
                                           .send_bytes = m->out_count * size,
                                           .receive = into,
                                           .receive_bytes = m->in_count * size};
        for (int j = 0; j < m->n_out; j++)
            out = precision == F64 ? pack_double(&m->out[j], extent, values, out)
                                   : pack_float(&m->out[j], extent, values, out);
        into += m->in_count * size;
    }
    TRY(team_exchange_begin(team, e->n, e->sent, &pending));
    TRY(team_exchange_end(team, &pending));
    for (int i = 0; i < e->n; i++)
        for (int j = 0; j < e->messages[i].n_in; j++)
            from = precision == F64 ? unpack_double(&e->messages[i].in[j], extent, from, values)
                                    : unpack_float(&e->messages[i].in[j], extent, from, values);
done:
    return status;
}

static void measure_exchange(const struct exchange *e, int64_t *out_size, int64_t *in_size) {
    int64_t out = 0, in = 0;
    for (int i = 0; i < e->n; i++) {
        out += e->messages[i].out_count;
        in += e->messages[i].in_count;
    }
    if (out > *out_size) *out_size = out;
    if (in > *in_size) *in_size = in;
}

/* ------------------------------------------------------------------------------ set-up */

static facet_status find_near(struct builder *m) {
    facet_status status = FACET_OK;
    const struct boxsem_blocks *b = m->b;
    const struct boxsem_block *own = boxsem_own_block(b);
    TRY(ALLOC(m->near, b->team->size));
    for (int r = 0; r < b->team->size; r++) {
        const struct boxsem_block *other = &b->blocks[r];
        int near = r != b->team->rank;
        for (int d = 0; d < b->dim && near; d++) {
            const int period = b->sides[d][0] == BOX_PERIODIC ? b->cells[d] : 0;
            near = 0;
            for (int shift = -period; shift <= period && !near; shift += period > 0 ? period : 1)
                near = own->first[d] + shift <= other->first[d] + other->count[d] + 1 &&
                       other->first[d] <= own->first[d] + shift + own->count[d] + 1;
        }
        if (near) m->near[m->n_near++] = r;
    }
done:
    return status;
}

static facet_status builder_create(const struct boxsem_blocks *b, int k, struct builder *m) {
    facet_status status = FACET_OK;
    *m = (struct builder){.b = b, .k = k};
    for (int d = 0; d < 3; d++) {
        TRY(ALLOC(m->columns[d], b->cells[d] + 1));
        m->columns[d][0] = (struct boxsem_column){.m = 1, .cells = 1};
        m->n_columns[d] = m->n_colours[d] = 1;
        if (d < b->dim)
            m->n_columns[d] =
                boxsem_list_columns(b->cells[d], b->sides[d], k, m->columns[d], &m->n_colours[d]);
    }
    TRY(find_near(m));
done:
    return status;
}

static void builder_destroy(struct builder *m) {
    for (int d = 0; d < 3; d++) base_free(&m->columns[d]);
    base_free(&m->near);
}

/* Numbers of the cells of the block, and from others those of the cells below. */
static facet_status extend_cells(const struct builder *m, const struct box_grid *g, const int cells[3],
                                 const double *values, double **extended) {
    facet_status status = FACET_OK;
    const struct boxsem_block *own = boxsem_own_block(m->b);
    struct exchange e = {0};
    char *out = NULL, *in = NULL;
    int64_t sizes[2] = {0, 0};
    const int64_t extent[2] = {cells[0], cells[1]};
    if (values == NULL) return FACET_OK;
    TRY(CALLOC(*extended, (int64_t)cells[0] * cells[1] * cells[2]));
    for (int64_t i = 0; i < g->n_cells; i++) {
        int at[3];
        box_cell_at(g, i, at);
        for (int d = 0; d < 3; d++) at[d] += has_ghost(m->b, own, d);
        (*extended)[(at[2] * extent[1] + at[1]) * extent[0] + at[0]] = values[i];
    }
    TRY(make_exchange(m, CELLS, (const int[3]){0}, &e));
    measure_exchange(&e, &sizes[0], &sizes[1]);
    TRY(base_alloc(&out, (size_t)sizes[0], sizeof(double)));
    TRY(base_alloc(&in, (size_t)sizes[1], sizeof(double)));
    TRY(run_exchange(&e, m->b->team, extent, F64, *extended, out, in));
done:
    exchange_free(&e);
    base_free(&out);
    base_free(&in);
    return status;
}

static facet_status make_grid(const struct builder *m, const struct box_grid *g, struct box_grid *extended) {
    facet_status status = FACET_OK;
    const struct boxsem_blocks *b = m->b;
    const struct boxsem_block *own = boxsem_own_block(b);
    struct box_grid_data data = {.dim = g->dim, .cells = {1, 1, 1}};
    double *coordinates[3] = {NULL}, *conductivity = NULL, *reaction = NULL;
    for (int d = 0; d < g->dim; d++) {
        const int ghost = has_ghost(b, own, d);
        data.cells[d] = own->count[d] + ghost;
        data.sides[d][0] = ghost ? BOX_SEAM : g->sides[d][0];
        data.sides[d][1] = g->sides[d][1];
        TRY(ALLOC(coordinates[d], data.cells[d] + 1));
        for (int i = ghost; i <= data.cells[d]; i++) coordinates[d][i] = g->coordinates[d][i - ghost];
        const int below = (own->first[d] > 0 ? own->first[d] : b->cells[d]) - 1;
        if (ghost)
            coordinates[d][0] = coordinates[d][1] - (b->coordinates[d][below + 1] - b->coordinates[d][below]);
        data.coordinates[d] = coordinates[d];
    }
    TRY(extend_cells(m, g, data.cells, g->conductivity, &conductivity));
    TRY(extend_cells(m, g, data.cells, g->reaction, &reaction));
    data.conductivity = conductivity;
    data.reaction = reaction;
    TRY(box_grid_create(&data, extended));
done:
    for (int d = 0; d < 3; d++) base_free(&coordinates[d]);
    base_free(&conductivity);
    base_free(&reaction);
    return status;
}

/* The columns of this block, numbered as its cells and those below are. */
static facet_status make_patches(const struct builder *m, const struct box_element *element,
                                 struct boxsem_halo *h) {
    facet_status status = FACET_OK;
    const struct boxsem_block *own = boxsem_own_block(m->b);
    struct boxsem_column *columns[3] = {NULL};
    int n[3] = {0};
    for (int d = 0; d < 3; d++) {
        const int from = own->first[d] - has_ghost(m->b, own, d);
        TRY(ALLOC(columns[d], m->n_columns[d]));
        for (int c = 0; c < m->n_columns[d]; c++) {
            if (d < m->b->dim && !owns_column(m->b, own, d, &m->columns[d][c])) continue;
            columns[d][n[d]] = m->columns[d][c];
            columns[d][n[d]].first -= from * m->k;
            columns[d][n[d]++].cell -= from;
        }
    }
    TRY(boxsem_patches_create_of(h->device, &h->grid, element, &h->brick.cells, n,
                                 (const struct boxsem_column *const *)columns, m->n_colours, &h->patches));
done:
    for (int d = 0; d < 3; d++) base_free(&columns[d]);
    return status;
}

/* The columns of one colour as an axis by itself. */
static facet_status take_colour(const struct brick_axis *all, int colour, struct brick_axis *axis) {
    facet_status status = FACET_OK;
    int32_t *first = NULL;
    const int most = all->n_columns;
    int n = 0;
    *axis = *all;
    axis->n_colours = 1;
    axis->first = NULL;
    TRY(CALLOC(first, 6 * most)); /* owns all of these: */
    axis->first = first;
    int32_t *lines = first + most, *order = lines + most, *cell = order + most, *cells = cell + most;
    axis->lines = lines;
    axis->order = order;
    axis->cell = cell;
    axis->cells = cells;
    axis->colour = cells + most; /* all 0 */
    for (int i = 0; i < most; i++) {
        if (all->colour[i] != colour) continue;
        first[n] = all->first[i];
        lines[n] = all->lines[i];
        cell[n] = all->cell[i];
        cells[n] = all->cells[i];
        order[n] = n;
        n++;
    }
    axis->n_columns = n;
done:
    return status;
}

static int n_all_colours(const struct boxsem_halo *h) {
    return h->n_colours[0] * h->n_colours[1] * h->n_colours[2];
}

static void split_colour(const struct boxsem_halo *h, int colour, int at[3]) {
    at[0] = colour % h->n_colours[0];
    at[1] = colour / h->n_colours[0] % h->n_colours[1];
    at[2] = colour / h->n_colours[0] / h->n_colours[1];
}

static facet_status make_exchanges(const struct builder *m, struct boxsem_halo *h) {
    facet_status status = FACET_OK;
    int colour[3] = {0, 0, 0};
    for (int d = 0; d < 3; d++) {
        h->n_colours[d] = m->n_colours[d];
        TRY(CALLOC(h->colours[d], m->n_colours[d]));
        for (int c = 0; c < m->n_colours[d]; c++)
            TRY(take_colour(&h->patches.plan.axis[d], c, &h->colours[d][c]));
    }
    TRY(make_exchange(m, NODES, colour, &h->fill));
    measure_exchange(&h->fill, &h->out_size, &h->in_size);
    TRY(CALLOC(h->changed, n_all_colours(h)));
    for (int i = 0; i < n_all_colours(h); i++) {
        split_colour(h, i, colour);
        TRY(make_exchange(m, COLOUR, colour, &h->changed[i]));
        measure_exchange(&h->changed[i], &h->out_size, &h->in_size);
    }
    TRY(base_alloc(&h->out, (size_t)h->out_size, sizeof(double)));
    TRY(base_alloc(&h->in, (size_t)h->in_size, sizeof(double)));
done:
    return status;
}

facet_status boxsem_halo_create(const struct device *device, const struct boxsem_blocks *b,
                                const struct box_grid *grid, const struct box_element *element,
                                enum precision precision, enum patch_variant variant, int inner,
                                struct boxsem_halo **halo) {
    facet_status status = FACET_OK;
    const struct boxsem_block *own = boxsem_own_block(b);
    struct boxsem_halo *h = NULL;
    struct builder m = {0};
    *halo = NULL;
    TRY(CALLOC(h, 1));
    *halo = h;
    h->device = device;
    h->team = b->team;
    TRY(builder_create(b, element->k, &m));
    TRY(make_grid(&m, grid, &h->grid));
    TRY(boxsem_brick_create(device, &h->grid, element, &h->brick));
    TRY(make_patches(&m, element, h));
    h->patches.plan.variant = variant;
    h->patches.plan.inner = inner;
    TRY(make_exchanges(&m, h));
    const int64_t n = brick_n_nodes(&h->brick.cells);
    TRY(vector_create_in(device, precision, n, &h->x));
    TRY(vector_create_in(device, precision, n, &h->f));
    for (int d = 0; d < 3; d++) {
        const int ghosts = element->k * has_ghost(b, own, d), all = h->brick.cells.n_nodes[d];
        h->window.count[d] = h->window.ends_from[d] = all - ghosts;
        h->window.to[d] = ghosts;
        h->window.ends_to[d] = all;
    }
done:
    builder_destroy(&m);
    if (status != FACET_OK) boxsem_halo_destroy(halo);
    return status;
}

void boxsem_halo_destroy(struct boxsem_halo **halo) {
    struct boxsem_halo *h = *halo;
    if (h == NULL) return;
    for (int d = 0; d < 3; d++) {
        for (int c = 0; h->colours[d] != NULL && c < h->n_colours[d]; c++)
            base_free((void *)&h->colours[d][c].first);
        base_free(&h->colours[d]);
    }
    for (int i = 0; h->changed != NULL && i < n_all_colours(h); i++) exchange_free(&h->changed[i]);
    base_free(&h->changed);
    exchange_free(&h->fill);
    boxsem_patches_destroy(&h->patches);
    boxsem_brick_destroy(&h->brick);
    box_grid_destroy(&h->grid);
    vector_destroy(&h->x);
    vector_destroy(&h->f);
    base_free(&h->out);
    base_free(&h->in);
    base_free(halo);
}

const struct brick_patches *boxsem_halo_plan(const struct boxsem_halo *h) {
    return &h->patches.plan;
}

/* ------------------------------------------------------------------------------ steps */

static facet_status tell(const struct boxsem_halo *h, const struct exchange *e, struct vector *v) {
    const int *n = h->brick.cells.n_nodes;
    return run_exchange(e, h->team, (const int64_t[2]){n[0], n[1]}, v->precision, v->numbers, h->out, h->in);
}

/* A vector of the block, with what others own. */
static facet_status take(struct boxsem_halo *h, const struct vector *from, struct vector *to) {
    boxsem_window_copy(&h->window, from, to);
    return tell(h, &h->fill, to);
}

static facet_status sweep(struct boxsem_halo *h, int backward, double *scratch) {
    facet_status status = FACET_OK;
    struct brick_patches plan = h->patches.plan;
    for (int step = 0; step < n_all_colours(h); step++) {
        const int number = backward ? n_all_colours(h) - 1 - step : step;
        int colour[3], any = 1;
        split_colour(h, number, colour);
        for (int d = 0; d < 3; d++) {
            plan.axis[d] = h->colours[d][colour[d]];
            any = any && plan.axis[d].n_columns > 0;
        }
        if (any)
            device_patch_sweep(h->device, h->x.precision, &plan, backward, h->f.numbers, h->x.numbers,
                               scratch);
        TRY(tell(h, &h->changed[number], &h->x));
    }
done:
    return status;
}

void boxsem_halo_sweep(struct boxsem_halo *h, int steps, int backward, int from_zero, const struct vector *f,
                       struct vector *x, double *scratch) {
    const struct boxsem_window *w = &h->window;
    struct boxsem_window back = *w;
    for (int d = 0; d < 3; d++) {
        back.from[d] = w->to[d];
        back.to[d] = w->from[d];
        back.ends_from[d] = w->ends_to[d];
        back.ends_to[d] = w->ends_from[d];
    }
    facet_status status = take(h, f, &h->f);
    if (from_zero)
        vector_fill(&h->x, 0.0);
    else if (status == FACET_OK)
        status = take(h, x, &h->x);
    for (int step = 0; step < steps && status == FACET_OK; step++) status = sweep(h, backward, scratch);
    if (status == FACET_OK)
        boxsem_window_copy(&back, &h->x, x);
    else
        vector_fill(x, NAN);
}
