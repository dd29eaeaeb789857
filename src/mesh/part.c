/* What a part knows of the others: which of its faces and vertices they have too, who owns them, and the
 * numbers all agree upon. Faces are known from the seam. Vertices may be shared by ranks that have no face in
 * common: every rank sends the keys of those that may be shared to a rank that the key determines, and that
 * one tells all who sent the same key of each other. */
#include "mesh/part.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/internal.h"

static void free_neighbours(int n, struct part_neighbour **neighbours) {
    for (int i = 0; *neighbours != NULL && i < n; i++) base_free(&(*neighbours)[i].items);
    base_free(neighbours);
}

void mesh_part_destroy(struct mesh_part **part) {
    struct mesh_part *p = *part;
    if (p == NULL) return;
    free_neighbours(p->n_neighbours, &p->neighbours);
    free_neighbours(p->n_vertex_neighbours, &p->vertex_neighbours);
    base_free(&p->owns_face);
    base_free(&p->owns_vertex);
    base_free(&p->cell_numbers);
    base_free(&p->face_numbers);
    base_free(&p->vertex_numbers);
    base_free(part);
}

/* ------------------------------------------------------------------------------------------ messages */

/* Sends the numbers of the common items to each neighbour; taken: those of the neighbours, one after the
 * other. */
static facet_status swap_numbers(struct base_team *team, int n, const struct part_neighbour *neighbours,
                                 const int64_t *numbers, int64_t **taken) {
    facet_status status = FACET_OK;
    struct team_message *messages = NULL;
    int64_t *given = NULL, total = 0, at = 0;
    void *pending = NULL;
    *taken = NULL;
    for (int i = 0; i < n; i++) total += neighbours[i].count;
    TRY(ALLOC(messages, n));
    TRY(ALLOC(given, total));
    TRY(ALLOC(*taken, total));
    for (int i = 0; i < n; i++) {
        const int64_t bytes = neighbours[i].count * (int64_t)sizeof *given;
        for (int32_t k = 0; k < neighbours[i].count; k++) given[at + k] = numbers[neighbours[i].items[k]];
        messages[i] = (struct team_message){neighbours[i].rank, given + at, bytes, *taken + at, bytes};
        at += neighbours[i].count;
    }
    TRY(team_exchange_begin(team, n, messages, &pending));
    TRY(team_exchange_end(team, &pending));
done:
    if (status != FACET_OK) base_free(taken);
    base_free(&messages);
    base_free(&given);
    return status;
}

/* Numbers what is owned, without gaps over all ranks, and learns the others' numbers of the rest. *first: of
 * this rank; *all: of all ranks. */
static facet_status number_items(struct base_team *team, int n_neighbours,
                                 const struct part_neighbour *neighbours, int32_t n, const uint8_t *owned,
                                 int64_t *numbers, int64_t *first, int64_t *all) {
    facet_status status = FACET_OK;
    int64_t *counts = NULL, *taken = NULL, own = 0, next;
    for (int32_t i = 0; i < n; i++) own += owned[i];
    TRY(ALLOC(counts, team->size));
    TRY(team_gather(team, 1, &own, counts));
    *first = *all = 0;
    for (int r = 0; r < team->size; r++) {
        if (r < team->rank) *first += counts[r];
        *all += counts[r];
    }
    next = *first;
    for (int32_t i = 0; i < n; i++) numbers[i] = owned[i] ? next++ : -1;
    TRY(swap_numbers(team, n_neighbours, neighbours, numbers, &taken));
    const int64_t *from = taken;
    for (int i = 0; i < n_neighbours; i++)
        for (int32_t k = 0; k < neighbours[i].count; k++, from++)
            if (*from >= 0) numbers[neighbours[i].items[k]] = *from;
done:
    base_free(&counts);
    base_free(&taken);
    return status;
}

/* ------------------------------------------------------------------------------------------ faces */

static facet_status list_faces(struct mesh_part *part, const struct part_input *input) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = part->mesh;
    const int32_t *faces = input->faces;
    TRY(CALLOC(part->neighbours, input->n_neighbours));
    part->n_neighbours = input->n_neighbours;
    TRY(ALLOC(part->owns_face, mesh->n_faces));
    memset(part->owns_face, 1, (size_t)mesh->n_faces);
    for (int i = 0; i < input->n_neighbours; i++) {
        struct part_neighbour *to = &part->neighbours[i];
        to->rank = input->ranks[i];
        TRY(ALLOC(to->items, input->counts[i]));
        for (; to->count < input->counts[i]; faces++) {
            to->items[to->count++] = *faces;
            if (to->rank < part->team->rank) part->owns_face[*faces] = 0;
        }
        part->n_seam_faces += to->count;
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ vertices */

/* A vertex that may be shared, as it is sent to the rank of its key. */
struct claim {
    int64_t key[PART_KEY];
    int64_t vertex, rank;
};
/* And what comes back: this vertex, `other` has it too. Sorted by rank and then by key on both sides. */
struct match {
    int64_t key[PART_KEY];
    int64_t vertex, other;
};

static int compare_keys(const int64_t *a, const int64_t *b) {
    for (int i = 0; i < PART_KEY; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_claims(const void *one, const void *two) {
    const struct claim *a = one, *b = two;
    const int order = compare_keys(a->key, b->key);
    return order != 0 ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static int compare_matches(const void *one, const void *two) {
    const struct match *a = one, *b = two;
    if (a->other != b->other) return a->other < b->other ? -1 : 1;
    return compare_keys(a->key, b->key);
}

static int rank_of_key(const int64_t *key, int size) {
    uint64_t hash = 0;
    for (int i = 0; i < PART_KEY; i++) {
        hash = (hash ^ (uint64_t)key[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return (int)(hash % (uint64_t)size);
}

/* Counts what goes where, then puts items of `size` bytes there. */
struct mail {
    int64_t *offsets; /* size + 1, in bytes */
    char *bytes;
};

static void mail_free(struct mail *mail) {
    base_free(&mail->offsets);
    base_free(&mail->bytes);
}

static facet_status mail_items(struct base_team *team, int64_t n, const void *items, const int32_t *ranks,
                               size_t size, struct mail *mail) {
    facet_status status = FACET_OK;
    int64_t *next = NULL;
    TRY(CALLOC(mail->offsets, team->size + 1));
    TRY(ALLOC(mail->bytes, (size_t)n * size));
    TRY(ALLOC(next, team->size));
    for (int64_t i = 0; i < n; i++) mail->offsets[ranks[i] + 1] += (int64_t)size;
    for (int r = 0; r < team->size; r++) mail->offsets[r + 1] += mail->offsets[r];
    memcpy(next, mail->offsets, (size_t)team->size * sizeof *next);
    for (int64_t i = 0; i < n; i++) {
        memcpy(mail->bytes + next[ranks[i]], (const char *)items + (size_t)i * size, size);
        next[ranks[i]] += (int64_t)size;
    }
done:
    base_free(&next);
    return status;
}

static facet_status send_claims(const struct mesh_part *part, const struct part_input *input,
                                struct claim **claims, int64_t *n_claims) {
    facet_status status = FACET_OK;
    struct base_team *team = part->team;
    struct mail mail = {0};
    struct claim *own = NULL;
    int32_t *ranks = NULL;
    int64_t *offsets = NULL;
    char *received = NULL;
    TRY(ALLOC(own, input->n_shared));
    TRY(ALLOC(ranks, input->n_shared));
    TRY(ALLOC(offsets, team->size + 1));
    for (int32_t i = 0; i < input->n_shared; i++) {
        const int64_t *key = input->keys + PART_KEY * (int64_t)i;
        own[i] = (struct claim){.vertex = input->shared[i], .rank = team->rank};
        memcpy(own[i].key, key, sizeof own[i].key);
        ranks[i] = rank_of_key(key, team->size);
    }
    TRY(mail_items(team, input->n_shared, own, ranks, sizeof *own, &mail));
    TRY(team_all_to_all(team, mail.bytes, mail.offsets, &received, offsets));
    *n_claims = offsets[team->size] / (int64_t)sizeof *own;
    *claims = (struct claim *)received;
done:
    mail_free(&mail);
    base_free(&own);
    base_free(&ranks);
    base_free(&offsets);
    return status;
}

/* Tells all who claimed the same key of each other. */
static facet_status answer_claims(struct base_team *team, int64_t n, struct claim *claims,
                                  struct match **matches, int64_t *n_matches) {
    facet_status status = FACET_OK;
    struct mail mail = {0};
    struct match *answers = NULL;
    int32_t *ranks = NULL;
    int64_t *offsets = NULL, n_answers = 0, end;
    char *received = NULL;
    if (n > 0) qsort(claims, (size_t)n, sizeof *claims, compare_claims);
    for (int64_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && compare_keys(claims[i].key, claims[end].key) == 0; end++) {
        }
        n_answers += (end - i) * (end - i - 1);
    }
    TRY(ALLOC(answers, n_answers));
    TRY(ALLOC(ranks, n_answers));
    TRY(ALLOC(offsets, team->size + 1));
    n_answers = 0;
    for (int64_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n && compare_keys(claims[i].key, claims[end].key) == 0; end++) {
        }
        for (int64_t a = i; a < end; a++)
            for (int64_t b = i; b < end; b++) {
                if (a == b) continue;
                struct match *answer = &answers[n_answers];
                ranks[n_answers++] = (int32_t)claims[a].rank;
                *answer = (struct match){.vertex = claims[a].vertex, .other = claims[b].rank};
                memcpy(answer->key, claims[a].key, sizeof answer->key);
            }
    }
    TRY(mail_items(team, n_answers, answers, ranks, sizeof *answers, &mail));
    TRY(team_all_to_all(team, mail.bytes, mail.offsets, &received, offsets));
    *n_matches = offsets[team->size] / (int64_t)sizeof *answers;
    *matches = (struct match *)received;
done:
    mail_free(&mail);
    base_free(&answers);
    base_free(&ranks);
    base_free(&offsets);
    return status;
}

/* The ranks and vertices of sorted matches. */
static facet_status list_sharers(struct mesh_part *part, int64_t n, const struct match *matches) {
    facet_status status = FACET_OK;
    int64_t end;
    int count = 0;
    for (int64_t i = 0; i < n; i++) count += i == 0 || matches[i].other != matches[i - 1].other;
    TRY(CALLOC(part->vertex_neighbours, count));
    for (int64_t i = 0; i < n; i = end) {
        struct part_neighbour *to = &part->vertex_neighbours[part->n_vertex_neighbours++];
        for (end = i; end < n && matches[end].other == matches[i].other; end++) {
        }
        to->rank = (int)matches[i].other;
        TRY(ALLOC(to->items, end - i));
        for (int64_t k = i; k < end; k++) {
            to->items[to->count++] = (int32_t)matches[k].vertex;
            if (to->rank < part->team->rank) part->owns_vertex[matches[k].vertex] = 0;
        }
    }
done:
    return status;
}

static facet_status find_sharers(struct mesh_part *part, const struct part_input *input) {
    facet_status status = FACET_OK;
    struct claim *claims = NULL;
    struct match *matches = NULL;
    int64_t n_claims = 0, n_matches = 0;
    TRY(ALLOC(part->owns_vertex, part->mesh->n_vertices));
    memset(part->owns_vertex, 1, (size_t)part->mesh->n_vertices);
    TRY(send_claims(part, input, &claims, &n_claims));
    TRY(answer_claims(part->team, n_claims, claims, &matches, &n_matches));
    if (n_matches > 0) qsort(matches, (size_t)n_matches, sizeof *matches, compare_matches);
    TRY(list_sharers(part, n_matches, matches));
done:
    base_free(&claims);
    base_free(&matches);
    return status;
}

static int compare_numbers(const void *one, const void *two) {
    const int64_t a = *(const int64_t *)one, b = *(const int64_t *)two;
    return (a > b) - (a < b);
}

/* By number instead of key. */
static facet_status order_vertices(struct mesh_part *part) {
    facet_status status = FACET_OK;
    int64_t *pairs = NULL; /* number, vertex */
    for (int i = 0; i < part->n_vertex_neighbours; i++) {
        struct part_neighbour *to = &part->vertex_neighbours[i];
        base_free(&pairs);
        TRY(ALLOC(pairs, 2 * (int64_t)to->count));
        for (int32_t k = 0; k < to->count; k++) {
            pairs[2 * (int64_t)k] = part->vertex_numbers[to->items[k]];
            pairs[2 * (int64_t)k + 1] = to->items[k];
        }
        qsort(pairs, (size_t)to->count, 2 * sizeof *pairs, compare_numbers);
        for (int32_t k = 0; k < to->count; k++) to->items[k] = (int32_t)pairs[2 * (int64_t)k + 1];
    }
done:
    base_free(&pairs);
    return status;
}

/* ------------------------------------------------------------------------------------------ all */

static facet_status count_all(struct mesh_part *part) {
    const struct facet_mesh *mesh = part->mesh;
    int64_t counts[3 + SHAPE_COUNT] = {mesh->n_cells, mesh->n_boundary_faces, part->n_seam_faces};
    for (int b = 0; b < mesh->n_blocks; b++) counts[3 + mesh->blocks[b].shape] = mesh->blocks[b].count;
    for (int32_t f = 0; f < mesh->n_faces; f++) part->n_owned_faces += part->owns_face[f];
    for (int32_t v = 0; v < mesh->n_vertices; v++) part->n_owned_vertices += part->owns_vertex[v];
    facet_status status = team_reduce_counts(part->team, TEAM_SUM, 3 + SHAPE_COUNT, counts);
    part->n_cells = counts[0];
    part->n_boundary_faces = counts[1];
    part->n_all_seam_faces = counts[2] / 2;
    for (int s = 0; s < SHAPE_COUNT; s++) {
        part->n_shapes[s] = counts[3 + s];
        if (counts[3 + s] > 0) mesh_add_shape((enum shape)s, part->shape_text, sizeof part->shape_text);
    }
    return status;
}

struct mesh_counts mesh_count(const struct facet_mesh *mesh) {
    const struct mesh_part *part = mesh->part;
    struct mesh_counts counts = {.cells = mesh->n_cells,
                                 .faces = mesh->n_faces,
                                 .boundary_faces = mesh->n_boundary_faces,
                                 .vertices = mesh->n_vertices,
                                 .shape_text = mesh->shape_text};
    for (int b = 0; b < mesh->n_blocks; b++) counts.shapes[mesh->blocks[b].shape] = mesh->blocks[b].count;
    if (part == NULL) return counts;
    counts = (struct mesh_counts){.cells = part->n_cells,
                                  .faces = part->n_faces,
                                  .boundary_faces = part->n_boundary_faces,
                                  .vertices = part->n_vertices,
                                  .seam_faces = part->n_all_seam_faces,
                                  .shape_text = part->shape_text};
    memcpy(counts.shapes, part->n_shapes, sizeof counts.shapes);
    return counts;
}

facet_status mesh_part_create(struct facet_mesh *mesh, const struct part_input *input) {
    facet_status status = FACET_OK;
    struct mesh_part *part = NULL;
    TRY(CALLOC(part, 1));
    part->team = input->team;
    part->mesh = mesh;
    part->is_turned = input->is_turned;
    if (input->box != NULL) part->box = *input->box;
    if (mesh->coarse != NULL) part->coarse = mesh->coarse->part;
    TRY(list_faces(part, input));
    TRY(ALLOC(part->cell_numbers, mesh->n_cells));
    memcpy(part->cell_numbers, input->cell_numbers, (size_t)mesh->n_cells * sizeof *part->cell_numbers);
    TRY(ALLOC(part->face_numbers, mesh->n_faces));
    TRY(ALLOC(part->vertex_numbers, mesh->n_vertices));
    TRY(number_items(part->team, part->n_neighbours, part->neighbours, mesh->n_faces, part->owns_face,
                     part->face_numbers, &part->first_face, &part->n_faces));
    TRY(find_sharers(part, input));
    TRY(number_items(part->team, part->n_vertex_neighbours, part->vertex_neighbours, mesh->n_vertices,
                     part->owns_vertex, part->vertex_numbers, &part->first_vertex, &part->n_vertices));
    TRY(order_vertices(part));
    TRY(count_all(part));
    mesh->part = part;
    part = NULL;
done:
    mesh_part_destroy(&part);
    return status;
}

facet_status mesh_count_group(const struct facet_mesh *mesh, const struct mesh_group *group, int64_t *n) {
    *n = group->count;
    for (int32_t i = 0; mesh->part != NULL && group->dim < mesh->dim && i < group->count; i++)
        *n -= !mesh->part->owns_face[group->ids[i]];
    return team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, n);
}
