/* Exchange at the seams between the processes of a team, and dot products over all of them. See seam.h. */
#include "device/seam.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static void there_free(struct seam_there *t) {
    if (t->device == NULL) return;
    device_free(t->device, &t->places);
    device_free(t->device, &t->values);
    device_free(t->device, &t->arrived);
    for (int i = 0; i < 2; i++) device_free(t->device, &t->foreign[i]);
    device_free_staging(t->device, &t->taken);
    device_free_staging(t->device, &t->out);
    device_free_staging(t->device, &t->in);
    t->device = NULL;
}

static void seam_free(struct seam *s) {
    there_free(&s->there);
    team_free_neighbours(s->n_neighbours, &s->neighbours);
    base_free(&s->offsets);
    base_free(&s->places);
    base_free(&s->foreign);
    base_free(&s->several);
    base_free(&s->own);
    base_free(&s->names);
    base_free(&s->messages);
    base_free(&s->out);
    base_free(&s->in);
    base_free(&s);
}

struct seam *seam_hold(struct seam *seam) {
    if (seam != NULL) seam->holders++;
    return seam;
}

void seam_release(struct seam **seam) {
    if (*seam != NULL && --(*seam)->holders == 0) seam_free(*seam);
    *seam = NULL;
}

/* Runs of entries whose owner is another. */
static facet_status find_foreign(struct seam *s) {
    facet_status status = FACET_OK;
    uint8_t *flags = NULL;
    int64_t n = 0;
    TRY(CALLOC(flags, s->n_blocks + 1));
    for (int k = 0; k < s->n_neighbours; k++)
        for (int64_t i = 0; s->neighbours[k].rank < s->team->rank && i < s->neighbours[k].count; i++, n++)
            flags[s->neighbours[k].items[i]] = 1;
    TRY(ALLOC(s->foreign, 2 * n));
    for (int64_t b = 0; b < s->n_blocks; b++) {
        if (!flags[b]) continue;
        const int64_t first = s->places != NULL ? s->places[b] : s->offsets[b];
        if (b == 0 || !flags[b - 1] || s->places != NULL) s->foreign[2 * s->n_foreign++] = first;
        s->foreign[2 * s->n_foreign - 1] = first + (s->offsets[b + 1] - s->offsets[b]) * s->stride;
    }
done:
    base_free(&flags);
    return status;
}

/* Blocks that several neighbours have. */
static facet_status find_several(struct seam *s) {
    facet_status status = FACET_OK;
    uint8_t *counts = NULL;
    TRY(CALLOC(counts, s->n_blocks + 1));
    for (int k = 0; k < s->n_neighbours; k++)
        for (int64_t i = 0; i < s->neighbours[k].count; i++) {
            uint8_t *count = &counts[s->neighbours[k].items[i]];
            s->n_several += *count == 1;
            if (*count < 2) (*count)++;
        }
    if (s->n_several == 0) goto done;
    TRY(ALLOC(s->several, s->n_several));
    s->n_several = 0;
    for (int64_t b = 0; b < s->n_blocks; b++)
        if (counts[b] > 1) s->several[s->n_several++] = (int32_t)b;
done:
    base_free(&counts);
    return status;
}

/* Room for messages of blocks that begin at these offsets. */
static facet_status make_room(struct seam *s, const int64_t *offsets) {
    facet_status status = FACET_OK;
    size_t bytes = 0;
    int64_t own = 0;
    for (int64_t i = 0; i < s->n_several; i++) own += offsets[s->several[i] + 1] - offsets[s->several[i]];
    if (own > s->own_size) {
        base_free(&s->own);
        s->own_size = 0;
        TRY(ALLOC(s->own, own));
        s->own_size = own;
    }
    for (int k = 0; k < s->n_neighbours; k++)
        for (int64_t i = 0; i < s->neighbours[k].count; i++) {
            int32_t b = s->neighbours[k].items[i];
            bytes += (size_t)(offsets[b + 1] - offsets[b]) * sizeof(double);
        }
    if (bytes <= s->bytes) return FACET_OK;
    base_free(&s->out);
    base_free(&s->in);
    s->bytes = 0;
    TRY(base_alloc(&s->out, bytes, 1));
    TRY(base_alloc(&s->in, bytes, 1));
    s->bytes = bytes;
done:
    return status;
}

facet_status seam_create_apart(struct base_team *team, int64_t n_blocks, const int64_t *offsets,
                               const int64_t *places, int stride, int n_neighbours,
                               const struct team_neighbour *neighbours, struct seam **seam) {
    facet_status status = FACET_OK;
    struct seam *s;
    *seam = NULL;
    TRY(CALLOC(s, 1));
    *seam = s;
    s->holders = 1;
    s->team = team;
    s->n_blocks = n_blocks;
    s->n_neighbours = n_neighbours;
    s->stride = stride;
    TRY(ALLOC(s->offsets, n_blocks + 1));
    memcpy(s->offsets, offsets, (size_t)(n_blocks + 1) * sizeof *offsets);
    if (places != NULL) TRY(ALLOC(s->places, n_blocks));
    if (places != NULL && n_blocks > 0) memcpy(s->places, places, (size_t)n_blocks * sizeof *places);
    TRY(team_map_neighbours(n_neighbours, neighbours, NULL, &s->neighbours));
    TRY(CALLOC(s->messages, n_neighbours));
    TRY(find_foreign(s));
    TRY(find_several(s));
    TRY(make_room(s, s->offsets));
done:
    if (status != FACET_OK) seam_release(seam);
    return status;
}

facet_status seam_create(struct base_team *team, int64_t n_blocks, const int64_t *offsets, int n_neighbours,
                         const struct team_neighbour *neighbours, struct seam **seam) {
    return seam_create_apart(team, n_blocks, offsets, NULL, 1, n_neighbours, neighbours, seam);
}

/* ------------------------------------------------------------------------------ exchange */

/* Where the blocks of an array stand: one after the other, or as those of the seam's vectors. */
struct layout {
    const int64_t *offsets, *places;
    int stride;
};

static struct layout own_layout(struct seam *s) {
    return (struct layout){s->offsets, s->places, s->stride};
}

static inline int64_t first_of(const struct layout *l, int32_t block) {
    return l->places != NULL ? l->places[block] : l->offsets[block];
}

static inline int64_t size_of(const struct layout *l, int32_t block) {
    return l->offsets[block + 1] - l->offsets[block];
}

/* A block that goes out. */
static char *pack(const struct layout *l, int32_t block, size_t size, const void *values, char *to) {
    const int64_t first = first_of(l, block), n = size_of(l, block);
    if (l->stride == 1) {
        memcpy(to, (const char *)values + (size_t)first * size, (size_t)n * size);
    } else if (size == sizeof(double)) {
        for (int64_t j = 0; j < n; j++) ((double *)to)[j] = ((const double *)values)[first + j * l->stride];
    } else {
        for (int64_t j = 0; j < n; j++) ((float *)to)[j] = ((const float *)values)[first + j * l->stride];
    }
    return to + (size_t)n * size;
}

/* What goes to a neighbour, and comes from it. */
static void address(struct seam *s, int k, void *out, void *in, int64_t bytes) {
    s->messages[k] = (struct team_message){.rank = s->neighbours[k].rank,
                                           .send = out,
                                           .send_bytes = bytes,
                                           .receive = in,
                                           .receive_bytes = bytes};
}

/* All shared blocks, of numbers of so many bytes, go out and come in. */
static facet_status begin(struct seam *s, const struct layout *l, size_t size, const void *values) {
    char *out = s->out, *in = s->in;
    for (int k = 0; k < s->n_neighbours; k++) {
        const struct team_neighbour *neighbour = &s->neighbours[k];
        char *to = out;
        for (int64_t i = 0; i < neighbour->count; i++) to = pack(l, neighbour->items[i], size, values, to);
        address(s, k, out, in, to - out);
        in += to - out;
        out = to;
    }
    return team_exchange_begin(s->team, s->n_neighbours, s->messages, &s->pending);
}

static facet_status end(struct seam *s) {
    return s->pending != NULL ? team_exchange_end(s->team, &s->pending) : FACET_OK;
}

/* What stands in blocks of several neighbours is set aside, so that all sums begin with the lowest rank. */
#define ADD(type)                                                                                            \
    static void set_aside_##type(struct seam *s, const struct layout *l, type *values) {                     \
        double *own = s->own;                                                                                \
        for (int64_t i = 0; i < s->n_several; i++) {                                                         \
            type *from = values + first_of(l, s->several[i]);                                                \
            for (int64_t n = size_of(l, s->several[i]); n > 0; n--, from += l->stride) {                     \
                *own++ = *from;                                                                              \
                *from = 0;                                                                                   \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void add_own_##type(struct seam *s, const struct layout *l, type *values) {                       \
        const double *own = s->own;                                                                          \
        for (int64_t i = 0; i < s->n_several; i++) {                                                         \
            type *to = values + first_of(l, s->several[i]);                                                  \
            for (int64_t n = size_of(l, s->several[i]); n > 0; n--, to += l->stride) *to += (type)*own++;    \
        }                                                                                                    \
    }                                                                                                        \
    static void add_##type(struct seam *s, const struct layout *l, type *values) {                           \
        const type *in = s->in;                                                                              \
        int lower = 0;                                                                                       \
        set_aside_##type(s, l, values);                                                                      \
        while (lower < s->n_neighbours && s->neighbours[lower].rank < s->team->rank) lower++;                \
        for (int k = 0; k <= s->n_neighbours; k++) {                                                         \
            if (k == lower) add_own_##type(s, l, values);                                                    \
            for (int64_t i = 0; k < s->n_neighbours && i < s->neighbours[k].count; i++) {                    \
                const int32_t b = s->neighbours[k].items[i];                                                 \
                type *to = values + first_of(l, b);                                                          \
                for (int64_t n = size_of(l, b); n > 0; n--, to += l->stride) *to += *in++;                   \
            }                                                                                                \
        }                                                                                                    \
    }
ADD(double)
ADD(float)

/* ------------------------------------------------------------------------------ vectors of other devices */

/* Where the entries lie that go to a neighbour; their number. places: NULL, or room. */
static int64_t list_places(struct seam *s, int neighbour, int64_t *places) {
    const struct layout l = own_layout(s);
    int64_t n = 0;
    for (int64_t i = 0; i < s->neighbours[neighbour].count; i++) {
        const int32_t b = s->neighbours[neighbour].items[i];
        for (int64_t j = 0; j < size_of(&l, b); j++, n++)
            if (places != NULL) places[n] = first_of(&l, b) + j * l.stride;
    }
    return n;
}

/* The arrays for vectors of this device, made when the first one comes. */
static facet_status go_there(const struct device *device, struct seam *s) {
    facet_status status = FACET_OK;
    struct seam_there *t = &s->there;
    int64_t *places = NULL;
    if (t->device != NULL) return FACET_OK;
    if (s->n_several > 0) /* sums would differ by their order, and dot products count them twice */
        return team_fail(s->team, base_fail(FACET_ERROR_INPUT,
                                            "unknowns that more than two processes share are not on the "
                                            "device '%s' yet; use cpu",
                                            device_name(device)));
    *t = (struct seam_there){.device = device};
    for (int k = 0; k < s->n_neighbours; k++) {
        const int64_t n = list_places(s, k, NULL);
        t->n += n;
        if (s->neighbours[k].rank < s->team->rank) t->n_foreign += n; /* lower ranks come first */
    }
    TRY(ALLOC(places, t->n));
    for (int64_t k = 0, n = 0; k < s->n_neighbours; k++) n += list_places(s, (int)k, places + n);
    TRY(device_copy(device, &t->places, places, (size_t)t->n, sizeof *places));
    TRY(device_alloc(device, &t->values, (size_t)t->n, sizeof(double)));
    TRY(device_alloc(device, &t->arrived, (size_t)t->n, sizeof(double)));
    for (int i = 0; i < 2; i++)
        TRY(device_alloc(device, &t->foreign[i], (size_t)t->n_foreign, sizeof(double)));
    TRY(device_alloc_staging(device, &t->taken, (size_t)t->n_foreign, sizeof(double)));
    if (s->team->reaches_devices) goto done;
    TRY(device_alloc_staging(device, &t->out, (size_t)t->n, sizeof(double)));
    TRY(device_alloc_staging(device, &t->in, (size_t)t->n, sizeof(double)));
done:
    base_free(&places);
    if (status != FACET_OK) there_free(t);
    return team_fail(s->team, status);
}

static facet_status begin_there(struct seam *s, const struct vector *x) {
    const struct seam_there *t = &s->there;
    const size_t size = precision_size(x->precision);
    facet_status status = go_there(x->device, s);
    if (status != FACET_OK) return status;
    device_take_entries(t->device, x->precision, t->n, t->places, x->numbers, t->values);
    status = s->team->reaches_devices ? device_check(t->device) /* waits for the kernel */
                                      : device_download(t->device, t->out, t->values, (size_t)t->n * size);
    if (team_fail(s->team, status) != FACET_OK) return status;
    char *out = s->team->reaches_devices ? t->values : t->out,
         *in = s->team->reaches_devices ? t->arrived : t->in;
    for (int k = 0; k < s->n_neighbours; k++) {
        const int64_t bytes = list_places(s, k, NULL) * (int64_t)size;
        address(s, k, out, in, bytes);
        out += bytes;
        in += bytes;
    }
    return team_exchange_begin(s->team, s->n_neighbours, s->messages, &s->pending);
}

/* The first n numbers that have come, on the device. */
static facet_status fetch_arrived(struct seam *s, enum precision precision, int64_t n) {
    const struct seam_there *t = &s->there;
    facet_status status = end(s);
    if (status != FACET_OK || s->team->reaches_devices) return status;
    return team_fail(s->team,
                     device_upload(t->device, t->arrived, t->in, (size_t)n * precision_size(precision)));
}

/* The dot product of what others own, 0 where there is no room for it: the team has failed then. */
static double foreign_dot_there(struct seam *s, const struct vector *x, const struct vector *y) {
    const struct seam_there *t = &s->there;
    const struct vector *both[2] = {x, y};
    if (go_there(x->device, s) != FACET_OK) return 0.0;
    for (int i = 0; i < 2; i++)
        device_take_entries(t->device, x->precision, t->n_foreign, t->places, both[i]->numbers,
                            t->foreign[i]);
    return t->n_foreign > 0 ? device_dot(t->device, x->precision, t->n_foreign, t->foreign[0], t->foreign[1])
                            : 0.0;
}

/* ------------------------------------------------------------------------------ of vectors */

facet_status seam_add_begin(struct seam *s, const struct vector *x) {
    const struct layout own = own_layout(s);
    return device_is_host(x->device) ? begin(s, &own, precision_size(x->precision), x->numbers)
                                     : begin_there(s, x);
}

void seam_add_end(struct seam *s, facet_status begun, struct vector *x) {
    const int here = device_is_host(x->device);
    const struct seam_there *t = &s->there;
    facet_status status = begun != FACET_OK ? begun : here ? end(s) : fetch_arrived(s, x->precision, t->n);
    const struct layout own = own_layout(s);
    if (status != FACET_OK)
        vector_fill(x, NAN);
    else if (!here)
        device_put_entries(t->device, x->precision, t->n, t->places, t->arrived, 1.0, x->numbers);
    else if (x->precision == F64)
        add_double(s, &own, x->data);
    else
        add_float(s, &own, x->numbers);
}

static facet_status exchange(struct seam *s, const struct layout *l, const double *values) {
    facet_status status = team_fail(s->team, make_room(s, l->offsets));
    if (status == FACET_OK) status = begin(s, l, sizeof *values, values);
    return status == FACET_OK ? end(s) : status;
}

facet_status seam_add_blocks(struct seam *s, const int64_t *offsets, double *values) {
    if (s == NULL) return FACET_OK;
    const struct layout blocks = {offsets, NULL, 1};
    facet_status status = exchange(s, &blocks, values);
    if (status == FACET_OK) add_double(s, &blocks, values);
    return status;
}

/* What owners have, the lowest ranks, takes the place of the other copies. */
static facet_status copy(struct seam *s, const struct layout *l, double *values) {
    facet_status status = exchange(s, l, values);
    for (int k = s->n_neighbours - 1; status == FACET_OK && k >= 0; k--) {
        const double *in = s->messages[k].receive;
        for (int64_t i = 0; s->neighbours[k].rank < s->team->rank && i < s->neighbours[k].count; i++) {
            const int32_t b = s->neighbours[k].items[i];
            double *to = values + first_of(l, b);
            for (int64_t n = size_of(l, b); n > 0; n--, to += l->stride) *to = *in++;
        }
    }
    return status;
}

facet_status seam_share(struct seam *s, struct vector *x) {
    if (s == NULL || x->precision != F64) return FACET_OK;
    const struct layout own = own_layout(s);
    if (device_is_host(x->device)) return copy(s, &own, x->data);
    facet_status status = begin_there(s, x);
    if (status == FACET_OK) status = fetch_arrived(s, F64, s->there.n_foreign);
    if (status == FACET_OK)
        device_put_entries(x->device, F64, s->there.n_foreign, s->there.places, s->there.arrived, 0.0,
                           x->data);
    return status;
}

/* Places come neighbour by neighbour, the lower ranks first: that is the order of the blocks of a seam whose
 * blocks are apart. */
static facet_status fetch_foreign(struct seam *s, const struct vector *x, double *values) {
    const struct seam_there *t = &s->there;
    const size_t size = precision_size(x->precision);
    facet_status status = go_there(x->device, s);
    if (status != FACET_OK || t->n_foreign == 0) return status;
    device_take_entries(t->device, x->precision, t->n_foreign, t->places, x->numbers, t->foreign[0]);
    status = device_download(t->device, t->taken, t->foreign[0], (size_t)t->n_foreign * size);
    for (int64_t i = 0; status == FACET_OK && i < t->n_foreign; i++)
        values[i] = x->precision == F64 ? ((double *)t->taken)[i] : (double)((float *)t->taken)[i];
    return team_fail(s->team, status);
}

facet_status seam_take_foreign(struct seam *s, const struct vector *x, double *values) {
    if (!device_is_host(x->device)) return fetch_foreign(s, x, values);
    for (int64_t k = 0; k < s->n_foreign; k++)
        for (int64_t i = s->foreign[2 * k]; i < s->foreign[2 * k + 1]; i += s->stride)
            *values++ = x->precision == F64 ? x->data[i] : (double)((float *)x->numbers)[i];
    return FACET_OK;
}

void seam_clear_foreign(struct seam *s, double *values) {
    for (int64_t k = 0; s != NULL && k < s->n_foreign; k++)
        for (int64_t i = s->foreign[2 * k]; i < s->foreign[2 * k + 1]; i += s->stride) values[i] = 0.0;
}

/* ------------------------------------------------------------------------------ sums */

int64_t seam_n_owned(struct seam *s) {
    int64_t n = s->offsets[s->n_blocks];
    for (int64_t k = 0; k < s->n_foreign; k++) n -= s->foreign[2 * k + 1] - s->foreign[2 * k];
    return n;
}

#define FOREIGN_DOT(type)                                                                                    \
    static double foreign_dot_##type(struct seam *s, const type *x, const type *y) {                         \
        double sum = 0.0;                                                                                    \
        for (int64_t k = 0; k < s->n_foreign; k++)                                                           \
            for (int64_t i = s->foreign[2 * k]; i < s->foreign[2 * k + 1]; i += s->stride)                   \
                sum += (double)x[i] * (double)y[i];                                                          \
        return sum;                                                                                          \
    }
FOREIGN_DOT(double)
FOREIGN_DOT(float)

double seam_dot(struct seam *s, const struct vector *x, const struct vector *y, double here) {
    double sum = here - (!device_is_host(x->device) ? foreign_dot_there(s, x, y)
                         : x->precision == F64      ? foreign_dot_double(s, x->data, y->data)
                                                    : foreign_dot_float(s, x->numbers, y->numbers));
    return team_reduce(s->team, TEAM_SUM, 1, &sum) == FACET_OK ? sum : NAN;
}

facet_status seam_set_names(struct seam *s, const int64_t *names) {
    base_free(&s->names);
    facet_status status = ALLOC(s->names, s->n_blocks);
    if (status == FACET_OK && s->n_blocks > 0) memcpy(s->names, names, (size_t)s->n_blocks * sizeof *names);
    return status;
}
