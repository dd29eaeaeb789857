/* Meshes that Gmsh has partitioned and split into files, one for each rank. Nobody sees the whole: faces and
 * cells meet by their tags, which are those of the whole mesh, on ranks that the tags determine.
 *
 * A seam must never become a part of the boundary in silence. So every face that has one cell here is either
 * found on exactly one other rank, with the same points, and said to be a seam by both files (by an element
 * between the parts, or by a cell of the other part); or it is found nowhere, and no file says so. Anything
 * else is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "dist/parts.h"
#include "mesh/gmsh.h"

#define CORNERS SHAPE_MAX_FACE_VERTICES

/* What the ranks tell each other of a face, or of a cell. */
struct open_face {
    int64_t tags[CORNERS]; /* ascending, padded with -1 */
    double x[3];           /* the sum of its points, in this order */
    int64_t number;        /* there */
    int32_t rank, is_seam;
};
struct cell_tag {
    int64_t tag, number;
    int32_t rank, kind;
};
struct answer {
    int64_t number, what;
};

/* ------------------------------------------------------------------------------------------ the maker */

struct maker {
    struct base_team *team;
    struct gmsh_part *part;
    int32_t *across;       /* of each open face the rank of the cell on its other side, or -1 */
    int32_t n_seam;        /* those that have one: by rank and tags, */
    int32_t *seam, *faces; /* as mesh_create wants them, and tells their numbers */
    int *ranks, n_neighbours;
    int32_t *counts, *shared;
    int64_t *numbers, *cell_numbers;
    struct team_key *keys;
    struct facet_mesh *mesh;
};

static void maker_free(struct maker *m) {
    gmsh_part_destroy(&m->part);
    base_free(&m->across);
    base_free(&m->seam);
    base_free(&m->faces);
    base_free(&m->ranks);
    base_free(&m->counts);
    base_free(&m->shared);
    base_free(&m->numbers);
    base_free(&m->cell_numbers);
    base_free(&m->keys);
    mesh_destroy(&m->mesh);
}

/* ------------------------------------------------------------------------------------------ faces */

static void describe_face(const struct maker *m, int64_t i, struct open_face *f) {
    const struct gmsh_part *p = m->part;
    const int32_t *v = p->open + i * CORNERS;
    int32_t sorted[CORNERS];
    int n = 0;
    *f = (struct open_face){.number = i, .rank = m->team->rank, .is_seam = p->is_seam[i]};
    for (; n < CORNERS && v[n] >= 0; n++) {
        int j = n;
        for (; j > 0 && sorted[j - 1] > v[n]; j--) sorted[j] = sorted[j - 1];
        sorted[j] = v[n];
    }
    for (int k = 0; k < CORNERS; k++) f->tags[k] = k < n ? p->vertex_tags[sorted[k]] : -1;
    for (int k = 0; k < n; k++)
        for (int d = 0; d < 3; d++) f->x[d] += p->points[3 * (int64_t)sorted[k] + d];
}

static int compare_faces(const void *one, const void *two) {
    const struct open_face *a = one, *b = two;
    for (int i = 0; i < CORNERS; i++)
        if (a->tags[i] != b->tags[i]) return a->tags[i] < b->tags[i] ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int same_face(const struct open_face *a, const struct open_face *b) {
    return memcmp(a->tags, b->tags, sizeof a->tags) == 0;
}

/* One face that n ranks have. */
static facet_status check_face(int n, const struct open_face *f) {
    char nodes[100];
    int length = 0;
    for (int i = 0; i < CORNERS && f->tags[i] >= 0; i++)
        length += snprintf(nodes + length, sizeof nodes - (size_t)length, "%s%lld", i > 0 ? ", " : "",
                           (long long)f->tags[i]);
    if (n > 2)
        return base_fail(FACET_ERROR_INPUT, "parts %d, %d and %d all have a cell at the face of nodes %s",
                         f[0].rank + 1, f[1].rank + 1, f[2].rank + 1, nodes);
    if (n == 2 && memcmp(f[0].x, f[1].x, sizeof f[0].x) != 0)
        return base_fail(FACET_ERROR_INPUT,
                         "the face of nodes %s lies in different places in parts %d and %d: their nodes are "
                         "not numbered as those of one mesh",
                         nodes, f[0].rank + 1, f[1].rank + 1);
    if (n == 1 && f->is_seam)
        return base_fail(
            FACET_ERROR_INPUT,
            "part %d says that another part has a cell across the face of nodes %s, but none has: "
            "the files are not those of one mesh",
            f->rank + 1, nodes);
    if (n == 2 && !(f[0].is_seam && f[1].is_seam))
        return base_fail(FACET_ERROR_INPUT,
                         "parts %d and %d both have a cell at the face of nodes %s, but part %d does not say "
                         "that it lies between parts: save them with -part_ghosts",
                         f[0].rank + 1, f[1].rank + 1, nodes, f[f[0].is_seam].rank + 1);
    return FACET_OK;
}

/* Of the faces that came here, who has the cells on their two sides. */
static facet_status pair_faces(struct base_team *team, int64_t n, struct open_face *faces, int64_t *n_answers,
                               struct answer **answers) {
    facet_status status = FACET_OK;
    struct answer *out = NULL;
    int32_t *to = NULL;
    int64_t found = 0;
    status = ALLOC(out, n);
    if (status == FACET_OK) status = ALLOC(to, n);
    if (n > 0) qsort(faces, (size_t)n, sizeof *faces, compare_faces);
    for (int64_t i = 0, j; status == FACET_OK && i < n; i = j) {
        for (j = i + 1; j < n && same_face(&faces[i], &faces[j]); j++) {
        }
        status = check_face((int)(j - i), &faces[i]);
        for (int64_t k = i; j - i == 2 && k < j; k++, found++) {
            out[found] = (struct answer){faces[k].number, faces[k == i ? j - 1 : i].rank};
            to[found] = faces[k].rank;
        }
    }
    if (status != FACET_OK) goto done;
    TRY(team_post(team, found, sizeof *out, out, to, n_answers, answers));
done:
    base_free(&out);
    base_free(&to);
    return status;
}

static facet_status find_across(struct maker *m) {
    facet_status status = FACET_OK;
    const int64_t n = m->part->n_open;
    struct open_face *faces = NULL, *received = NULL;
    struct answer *answers = NULL;
    int32_t *to = NULL;
    int64_t n_received = 0, n_answers = 0;
    TRY(ALLOC(faces, n));
    TRY(ALLOC(to, n));
    TRY(ALLOC(m->across, n));
    for (int64_t i = 0; i < n; i++) {
        describe_face(m, i, &faces[i]);
        to[i] = team_rank_of_key(faces[i].tags, 1, m->team->size);
        m->across[i] = -1;
    }
    TRY(team_post(m->team, n, sizeof *faces, faces, to, &n_received, &received));
    TRY(pair_faces(m->team, n_received, received, &n_answers, &answers));
    for (int64_t i = 0; i < n_answers; i++) m->across[answers[i].number] = (int32_t)answers[i].what;
done:
    base_free(&faces);
    base_free(&to);
    base_free(&received);
    base_free(&answers);
    return status;
}

struct ordered {
    struct open_face face;
    int32_t across;
};

static int compare_ordered(const void *one, const void *two) {
    const struct ordered *a = one, *b = two;
    if (a->across != b->across) return a->across < b->across ? -1 : 1;
    return compare_faces(&a->face, &b->face);
}

/* Faces of the seam, in an order that both sides have. */
static facet_status list_seam(struct maker *m) {
    facet_status status = FACET_OK;
    const struct gmsh_part *p = m->part;
    struct ordered *list = NULL;
    TRY(ALLOC(list, p->n_open));
    TRY(ALLOC(m->seam, p->n_open * CORNERS));
    TRY(ALLOC(m->faces, p->n_open));
    TRY(ALLOC(m->ranks, p->n_open));
    TRY(CALLOC(m->counts, p->n_open));
    for (int64_t i = 0; i < p->n_open; i++) {
        if (m->across[i] < 0) continue;
        describe_face(m, i, &list[m->n_seam].face);
        list[m->n_seam].face.rank = 0;
        list[m->n_seam++].across = m->across[i];
    }
    if (m->n_seam > 0) qsort(list, (size_t)m->n_seam, sizeof *list, compare_ordered);
    for (int32_t i = 0; i < m->n_seam; i++) {
        memcpy(m->seam + (int64_t)i * CORNERS, p->open + list[i].face.number * CORNERS,
               CORNERS * sizeof *m->seam);
        if (i == 0 || list[i].across != list[i - 1].across) m->ranks[m->n_neighbours++] = list[i].across;
        m->counts[m->n_neighbours - 1]++;
    }
done:
    base_free(&list);
    return status;
}

/* ------------------------------------------------------------------------------------------ cells */

#define N_KINDS (2 * SHAPE_COUNT) /* of each shape straight ones, then the others: the order of a mesh */

static int compare_cells(const void *one, const void *two) {
    const struct cell_tag *a = one, *b = two;
    return a->tag < b->tag ? -1 : a->tag > b->tag;
}

/* The cells of some range of tags, which came here, get their numbers: kind by kind, by their tags. */
static facet_status number_range(struct base_team *team, int64_t n, struct cell_tag *cells,
                                 int64_t *n_answers, struct answer **answers) {
    facet_status status = FACET_OK;
    int64_t counts[N_KINDS] = {0}, *all = NULL;
    struct answer *out = NULL;
    int32_t *to = NULL;
    TRY(ALLOC(all, N_KINDS * (int64_t)team->size));
    TRY(ALLOC(out, n));
    TRY(ALLOC(to, n));
    if (n > 0) qsort(cells, (size_t)n, sizeof *cells, compare_cells);
    for (int64_t i = 0; i < n; i++) {
        counts[cells[i].kind]++;
        if (i > 0 && cells[i].tag == cells[i - 1].tag)
            FAIL(FACET_ERROR_INPUT, "element %lld is a cell of part %d and of part %d",
                 (long long)cells[i].tag, cells[i - 1].rank + 1, cells[i].rank + 1);
    }
    TRY(team_gather(team, N_KINDS, counts, all));
    int64_t first = 0;
    for (int k = 0; k < N_KINDS; k++)
        for (int r = 0; r < team->size; r++) {
            if (r == team->rank) counts[k] = first;
            first += all[(int64_t)r * N_KINDS + k];
        }
    for (int64_t i = 0; i < n; i++) {
        out[i] = (struct answer){cells[i].number, counts[cells[i].kind]++};
        to[i] = cells[i].rank;
    }
    TRY(team_post(team, n, sizeof *out, out, to, n_answers, answers));
done:
    base_free(&all);
    base_free(&out);
    base_free(&to);
    return status;
}

/* As a file of the whole mesh would number them, whose elements stand in the order of their tags. */
static facet_status number_cells(struct maker *m) {
    facet_status status = FACET_OK;
    const int64_t n = m->part->input.n_cells, *tags = m->part->input.cell_names;
    struct cell_tag *cells = NULL, *received = NULL;
    struct answer *answers = NULL;
    int32_t *to = NULL;
    int64_t n_received = 0, n_answers = 0, range[2] = {-tags[0], tags[0]};
    TRY(ALLOC(cells, n));
    TRY(ALLOC(to, n));
    TRY(ALLOC(m->cell_numbers, n));
    for (int64_t c = 0; c < n; c++) {
        if (-tags[c] > range[0]) range[0] = -tags[c];
        if (tags[c] > range[1]) range[1] = tags[c];
    }
    TRY(team_reduce_counts(m->team, TEAM_MAX, 2, range));
    const double width = ((double)range[1] + (double)range[0] + 1.0) / m->team->size;
    for (int64_t c = 0; c < n; c++) {
        const int64_t number = m->numbers[c];
        const struct mesh_block *block = mesh_block_of(m->mesh, (int32_t)number);
        cells[c] = (struct cell_tag){tags[c], number, m->team->rank,
                                     2 * (int)block->shape + !block->affine[number - block->first]};
        const int rank = (int)(((double)tags[c] + (double)range[0]) / width);
        to[c] = rank < m->team->size ? rank : m->team->size - 1;
    }
    TRY(team_post(m->team, n, sizeof *cells, cells, to, &n_received, &received));
    TRY(number_range(m->team, n_received, received, &n_answers, &answers));
    for (int64_t i = 0; i < n_answers; i++) m->cell_numbers[answers[i].number] = answers[i].what;
done:
    base_free(&cells);
    base_free(&to);
    base_free(&received);
    base_free(&answers);
    return status;
}

/* ------------------------------------------------------------------------------------------ the whole */

/* All parts are of one dimension and order, and have the same groups in the same order. */
static facet_status check_alike(const struct maker *m) {
    facet_status status = FACET_OK;
    const struct mesh_input *input = &m->part->input;
    struct text names = {0};
    char *first = NULL;
    int64_t n, alike[4] = {input->dim, -input->dim, input->order, -input->order};
    for (int g = 0; g < input->n_groups; g++)
        text_printf(&names, "%d %s\n", input->groups[g].dim, input->groups[g].name);
    text_printf(&names, "\n");
    TRY(names.status);
    TRY(team_reduce_counts(m->team, TEAM_MAX, 4, alike));
    if (alike[0] != -alike[1] || alike[2] != -alike[3])
        FAIL(FACET_ERROR_INPUT, "the parts have cells of different dimension or order");
    n = (int64_t)names.length;
    TRY(team_broadcast(m->team, 0, &n, sizeof n));
    TRY(ALLOC(first, n));
    if (m->team->rank == 0) memcpy(first, names.data, (size_t)n);
    TRY(team_broadcast(m->team, 0, first, n));
    if ((size_t)n != names.length || memcmp(first, names.data, names.length) != 0)
        FAIL(FACET_ERROR_INPUT, "part %d has other physical groups than part 1", m->part->part);
done:
    text_free(&names);
    base_free(&first);
    return status;
}

static facet_status check_groups(const struct facet_mesh *mesh) {
    facet_status status = FACET_OK;
    for (int g = 0; g < mesh->n_groups; g++) {
        int64_t n;
        TRY(mesh_count_group(mesh, &mesh->groups[g], &n));
        if (n == 0)
            FAIL(FACET_ERROR_INPUT, "the physical group '%s' (dimension %d) has no elements in any part",
                 mesh->groups[g].name, mesh->groups[g].dim);
    }
done:
    return status;
}

/* Vertices of open faces may be others', too. */
static facet_status list_shared(struct maker *m, int32_t *n_shared) {
    facet_status status = FACET_OK;
    const struct gmsh_part *p = m->part;
    const int64_t n = p->input.n_vertices;
    uint8_t *is_open = NULL;
    TRY(CALLOC(is_open, n));
    TRY(ALLOC(m->shared, n));
    TRY(ALLOC(m->keys, n));
    for (int64_t i = 0; i < p->n_open * CORNERS; i++)
        if (p->open[i] >= 0) is_open[p->open[i]] = 1;
    *n_shared = 0;
    for (int64_t v = 0; v < n; v++) {
        if (!is_open[v]) continue;
        m->keys[*n_shared] = team_key_of(1, &p->vertex_tags[v]);
        m->shared[(*n_shared)++] = (int32_t)v;
    }
done:
    base_free(&is_open);
    return status;
}

static facet_status read_own(struct maker *m, const char *pattern, int join) {
    facet_status status = FACET_OK;
    struct text path = {0};
    const char *star = strchr(pattern, '*');
    text_printf(&path, "%.*s%d%s", (int)(star - pattern), pattern, m->team->rank + 1, star + 1);
    TRY(path.status);
    TRY(gmsh_part_read(path.data, join, &m->part));
    if (m->part->n_parts != m->team->size)
        FAIL(FACET_ERROR_INPUT, "%s is one of %d parts, but there %s %d rank%s: use mpiexec -n %d", path.data,
             m->part->n_parts, m->team->size == 1 ? "is" : "are", m->team->size,
             m->team->size == 1 ? "" : "s", m->part->n_parts);
    if (m->part->part != m->team->rank + 1)
        FAIL(FACET_ERROR_INPUT, "%s is part %d, not part %d", path.data, m->part->part, m->team->rank + 1);
done:
    text_free(&path);
    return status;
}

facet_status part_read_files(struct base_team *team, const char *pattern, int join,
                             struct facet_mesh **mesh) {
    facet_status status = FACET_OK;
    struct maker m = {.team = team};
    struct part_input input = {.team = team};
    *mesh = NULL;
    TRY(read_own(&m, pattern, join));
    TRY(check_alike(&m));
    TRY(find_across(&m));
    TRY(list_seam(&m));
    TRY(ALLOC(m.numbers, m.part->input.n_cells));
    m.part->input.n_seam = m.n_seam;
    m.part->input.seam = m.seam;
    m.part->input.seam_faces = m.faces;
    m.part->input.numbers = m.numbers;
    status = base_wrap(mesh_create(&m.part->input, &m.mesh), "part %d", m.part->part);
    if (status != FACET_OK) goto done;
    TRY(number_cells(&m));
    TRY(list_shared(&m, &input.n_shared));
    input.cell_numbers = m.cell_numbers;
    input.n_neighbours = m.n_neighbours;
    input.ranks = m.ranks;
    input.counts = m.counts;
    input.faces = m.faces;
    input.shared = m.shared;
    input.keys = m.keys;
    TRY(mesh_part_create(m.mesh, &input));
    TRY(check_groups(m.mesh));
    *mesh = m.mesh;
    m.mesh = NULL;
done:
    maker_free(&m);
    return status;
}
