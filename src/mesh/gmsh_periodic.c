/* $Periodic of a Gmsh file: which entities repeat others, by which map, and node by node. Here it is read,
 * the maps are looked at, and pairs of faces are made of those between parts of the boundary. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/gmsh.h"
#include "mesh/mesh_internal.h"

/* Of the size of the mesh: how far the nodes of a pair may be from fitting, and how far a map, written with
 * few digits, from being rigid. */
#define FITTING 1e-6

/* ------------------------------------------------------------------------------------------ the section */

/* In version 2.2 numbers are text also in binary files, and the map is there or not. */
static facet_status parse_old_map(struct gmsh_scanner *s, struct gmsh_link *link) {
    facet_status status = FACET_OK;
    gmsh_skip_space(s);
    if (gmsh_remaining(s) < 6 || memcmp(s->at, "Affine", 6) != 0) goto done;
    s->at += 6;
    link->has_map = 1;
    for (int i = 0; i < 16; i++) TRY(gmsh_text_double(s, "a number of a periodic map", &link->map[i]));
done:
    return status;
}

static facet_status parse_map(struct gmsh_scanner *s, struct gmsh_link *link) {
    facet_status status = FACET_OK;
    int64_t n;
    TRY(gmsh_count(s, "the numbers of a periodic map, 16 or 0", 2, 8, &n));
    if (n != 0 && n != 16)
        TRY(gmsh_fail(s, s->at, "expected a periodic map of 16 numbers or none, found %lld", (long long)n));
    link->has_map = n == 16;
    for (int64_t i = 0; i < n; i++) TRY(gmsh_double(s, "a number of a periodic map", &link->map[i]));
done:
    return status;
}

static facet_status parse_tag(struct gmsh_scanner *s, int old, const char *what, int64_t *tag) {
    return old ? gmsh_text_int(s, what, tag) : gmsh_size(s, what, tag);
}

static facet_status parse_ints(struct gmsh_scanner *s, int old, struct gmsh_link *link) {
    facet_status status = FACET_OK;
    int *const to[3] = {&link->dim, &link->tag, &link->from};
    for (int i = 0; i < 3; i++) {
        int64_t wide = 0;
        if (!old) {
            TRY(gmsh_int(s, "a dimension or tag of a periodic entity", to[i]));
            continue;
        }
        TRY(gmsh_text_int(s, "a dimension or tag of a periodic entity", &wide));
        if (wide < -INT32_MAX || wide > INT32_MAX)
            TRY(gmsh_fail(s, s->at, "expected the tag of a periodic entity, found %lld", (long long)wide));
        *to[i] = (int)wide;
    }
done:
    return status;
}

facet_status gmsh_parse_periodic(struct gmsh_scanner *s, struct gmsh_file *file,
                                 const struct gmsh_tag_map *map) {
    facet_status status = FACET_OK;
    int old = file->version < 4;
    int64_t n, count, tags[2];
    TRY(old ? gmsh_text_int(s, "the number of periodic entities", &n)
            : gmsh_size(s, "the number of periodic entities", &n));
    TRY(gmsh_check_count(s, "the number of periodic entities", n, old || !s->binary ? 8 : 28));
    TRY(CALLOC(file->links, n));
    for (int64_t i = 0; i < n; i++) {
        struct gmsh_link *link = &file->links[i];
        TRY(parse_ints(s, old, link));
        TRY(old ? parse_old_map(s, link) : parse_map(s, link));
        TRY(parse_tag(s, old, "the number of nodes of a periodic entity", &count));
        TRY(gmsh_check_count(s, "the number of nodes of a periodic entity", count,
                             old || !s->binary ? 4 : 16));
        TRY(gmsh_reserve(&file->pairs, &file->n_pairs, 2 * count, sizeof *file->pairs));
        link->first = file->n_pairs.count / 2;
        for (int64_t k = 0; k < count; k++) {
            for (int j = 0; j < 2; j++) TRY(parse_tag(s, old, "the tag of a periodic node", &tags[j]));
            int32_t here = gmsh_tag_find(map, tags[0]), there = gmsh_tag_find(map, tags[1]);
            if (here < 0 || there < 0) continue; /* of what was not saved */
            file->pairs[file->n_pairs.count++] = here;
            file->pairs[file->n_pairs.count++] = there;
        }
        link->count = file->n_pairs.count / 2 - link->first;
        file->n_links++;
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ the maps */

static double extent(const struct gmsh_file *file) {
    double lower[3], upper[3], size = 0.0;
    for (int d = 0; d < 3; d++) lower[d] = INFINITY, upper[d] = -INFINITY;
    for (int64_t i = 0; i < 3 * file->n_nodes; i++) {
        lower[i % 3] = fmin(lower[i % 3], file->x[i]);
        upper[i % 3] = fmax(upper[i % 3], file->x[i]);
    }
    for (int d = 0; d < 3 && file->n_nodes > 0; d++) size = fmax(size, upper[d] - lower[d]);
    return size;
}

static void image_of(const struct gmsh_link *link, const double *x, double *to) {
    for (int i = 0; i < 3; i++) {
        to[i] = link->map[4 * i + 3];
        for (int j = 0; j < 3; j++) to[i] += link->map[4 * i + j] * x[j];
    }
}

static void make_translation(const struct gmsh_file *file, struct gmsh_link *link) {
    for (int i = 0; i < 16; i++) link->map[i] = i % 5 == 0 ? 1.0 : 0.0;
    for (int64_t k = link->first; k < link->first + link->count; k++)
        for (int d = 0; d < 3; d++)
            link->map[4 * d + 3] += (file->x[3 * (int64_t)file->pairs[2 * k] + d] -
                                     file->x[3 * (int64_t)file->pairs[2 * k + 1] + d]) /
                                    (double)link->count;
}

/* The pair that fits worst, and by how much. */
static int64_t find_worst(const struct gmsh_file *file, const struct gmsh_link *link, double *distance) {
    int64_t worst = link->first;
    *distance = 0.0;
    for (int64_t k = link->first; k < link->first + link->count; k++) {
        double image[3], square = 0.0;
        image_of(link, file->x + 3 * (int64_t)file->pairs[2 * k + 1], image);
        for (int d = 0; d < 3; d++) square += pow(image[d] - file->x[3 * (int64_t)file->pairs[2 * k] + d], 2);
        if (!(sqrt(square) <= *distance)) {
            *distance = sqrt(square);
            worst = k;
        }
    }
    return worst;
}

/* A rotation and a translation. */
static int is_rigid(const struct gmsh_link *link) {
    double R[9];
    for (int i = 0; i < 9; i++) R[i] = link->map[i / 3 * 4 + i % 3];
    for (int i = 0; i < 9; i++) {
        double sum = i % 4 == 0 ? -1.0 : 0.0;
        for (int k = 0; k < 3; k++) sum += R[k * 3 + i / 3] * R[k * 3 + i % 3];
        if (!(fabs(sum) <= FITTING)) return 0;
    }
    return mesh_determinant(3, R) > 0.0;
}

static facet_status check_map(const struct gmsh_file *file, double size, struct gmsh_link *link) {
    double distance, other;
    char here[80], there[80];
    struct gmsh_link shift = *link;
    int64_t worst = find_worst(file, link, &distance);
    make_translation(file, &shift);
    int64_t worst_shifted = find_worst(file, &shift, &other);
    int fits = link->has_map && distance <= FITTING * size && is_rigid(link);
    if (!link->has_map || (!fits && other <= FITTING * size)) {
        *link = shift; /* not given, or not the one that the nodes were made by */
        worst = worst_shifted;
        distance = other;
    }
    const double *x = file->x + 3 * (int64_t)file->pairs[2 * worst],
                 *y = file->x + 3 * (int64_t)file->pairs[2 * worst + 1];
    if (!(distance <= FITTING * size))
        return base_fail(
            FACET_ERROR_INPUT,
            "$Periodic: the map from entity %d to %d (dimension %d) does not match: the node at %s is %.6g "
            "away from the image of the one at %s; mesh both alike (Gmsh: Periodic Curve, Periodic Surface), "
            "or leave the sides apart: mesh.periodic: false",
            link->from, link->tag, link->dim, mesh_point_text(3, x, here, sizeof here), distance,
            mesh_point_text(3, y, there, sizeof there));
    if (!is_rigid(link))
        return base_fail(FACET_ERROR_INPUT,
                         "$Periodic: the map from entity %d to %d (dimension %d) is no translation or "
                         "rotation; leave the sides apart: mesh.periodic: false",
                         link->from, link->tag, link->dim);
    return FACET_OK;
}

/* ------------------------------------------------------------------------------------------ pairs of faces
 */

struct faces {
    struct tuple_set set; /* faces of cells all of whose vertices are in some pair */
    uint8_t *n_cells;
    int32_t *corners; /* SHAPE_MAX_FACE_VERTICES each, around, padded with -1 */
};

/* The vertices of face k of a cell, padded with -1; their number, 0 when one is in no pair. */
static int marked_face(const struct gmsh_cells *cells, const uint8_t *marked, int64_t cell, int k,
                       int32_t *own) {
    enum shape shape = (enum shape)cells->shapes[cell];
    const int32_t *vertices = cells->vertices + cells->vertex_offsets[cell];
    int n = shape_n_vertices(shape_face_shape(shape, k));
    for (int i = 0; i < SHAPE_MAX_FACE_VERTICES; i++) {
        own[i] = i < n ? vertices[shape_face_vertices(shape, k)[i]] : -1;
        if (i < n && !marked[own[i]]) return 0;
    }
    return n;
}

static facet_status collect_faces(const struct gmsh_cells *cells, const uint8_t *marked, struct faces *f) {
    facet_status status = FACET_OK;
    int stride = cells->dim == 2 ? 2 : 4;
    int32_t own[SHAPE_MAX_FACE_VERTICES], key[SHAPE_MAX_FACE_VERTICES];
    int64_t most = 0;
    for (int64_t c = 0; c < cells->n_cells; c++)
        for (int k = 0; k < shape_n_faces((enum shape)cells->shapes[c]); k++)
            most += marked_face(cells, marked, c, k, own) > 0;
    TRY(tuple_set_init(&f->set, stride, most));
    TRY(CALLOC(f->n_cells, most));
    TRY(ALLOC(f->corners, most * SHAPE_MAX_FACE_VERTICES));
    for (int64_t c = 0; c < cells->n_cells; c++)
        for (int k = 0; k < shape_n_faces((enum shape)cells->shapes[c]); k++) {
            int n = marked_face(cells, marked, c, k, own);
            if (n == 0) continue;
            tuple_sort(n, own, stride, key);
            int32_t number = tuple_set_add(&f->set, key);
            memcpy(f->corners + (int64_t)number * SHAPE_MAX_FACE_VERTICES, own, sizeof own);
            if (f->n_cells[number] < 2) f->n_cells[number]++;
        }
done:
    return status;
}

static int is_free(const struct faces *f, int n, const int32_t *corners) {
    int32_t key[SHAPE_MAX_FACE_VERTICES];
    tuple_sort(n, corners, f->set.stride, key);
    int32_t number = tuple_set_find(&f->set, key);
    return number >= 0 && f->n_cells[number] == 1;
}

/* The pairs of one link. image: by vertex, -1 outside of it; covered: vertices of found faces. */
static facet_status join_faces(const struct faces *f, const int32_t *image, uint8_t *covered,
                               struct gmsh_pairs *pairs) {
    facet_status status = FACET_OK;
    for (int32_t i = 0; i < f->set.count; i++) {
        const int32_t *here = f->corners + (int64_t)i * SHAPE_MAX_FACE_VERTICES;
        int32_t there[SHAPE_MAX_FACE_VERTICES] = {-1, -1, -1, -1};
        int n = 0, all = f->n_cells[i] == 1;
        for (; n < SHAPE_MAX_FACE_VERTICES && here[n] >= 0; n++) {
            there[n] = image[here[n]];
            all = all && there[n] >= 0;
        }
        if (!all || !is_free(f, n, there)) continue;
        TRY(gmsh_reserve(&pairs->vertices, &pairs->n, 2 * SHAPE_MAX_FACE_VERTICES, sizeof *pairs->vertices));
        memcpy(pairs->vertices + pairs->n.count, there, sizeof there);
        memcpy(pairs->vertices + pairs->n.count + SHAPE_MAX_FACE_VERTICES, here, sizeof there);
        pairs->n.count += 2 * SHAPE_MAX_FACE_VERTICES;
        for (int k = 0; k < n; k++) covered[here[k]] = 1;
    }
done:
    return status;
}

static facet_status join_link(const struct gmsh_file *file, const struct gmsh_link *link,
                              const int32_t *vertex_of, const struct faces *f, int32_t *image,
                              uint8_t *covered, struct gmsh_pairs *pairs) {
    facet_status status = FACET_OK;
    char place[80];
    const int32_t *nodes = file->pairs + 2 * link->first;
    for (int64_t k = 0; k < link->count; k++) {
        int32_t here = vertex_of[nodes[2 * k]];
        if (here >= 0) image[here] = vertex_of[nodes[2 * k + 1]], covered[here] = 0;
    }
    TRY(join_faces(f, image, covered, pairs));
    for (int64_t k = 0; k < link->count; k++) {
        int32_t here = vertex_of[nodes[2 * k]];
        if (here >= 0 && !covered[here])
            FAIL(
                FACET_ERROR_INPUT,
                "$Periodic: no face of entity %d (dimension %d) at the node at %s has an image on entity %d; "
                "mesh both alike, or leave the sides apart: mesh.periodic: false",
                link->tag, link->dim,
                mesh_point_text(3, file->x + 3 * (int64_t)nodes[2 * k], place, sizeof place), link->from);
        if (here >= 0) image[here] = -1;
    }
done:
    return status;
}

facet_status gmsh_collect_pairs(const struct gmsh_file *file, const struct gmsh_cells *cells,
                                const int32_t *vertex_of, struct gmsh_pairs *pairs) {
    facet_status status = FACET_OK;
    struct faces f = {0};
    uint8_t *marked = NULL, *covered = NULL;
    int32_t *image = NULL;
    double size = extent(file);
    int any = 0;
    for (int64_t i = 0; i < file->n_links; i++) any |= file->links[i].dim == cells->dim - 1;
    if (!any) goto done;
    TRY(CALLOC(marked, cells->n_vertices));
    TRY(CALLOC(covered, cells->n_vertices));
    TRY(ALLOC(image, cells->n_vertices));
    for (int64_t v = 0; v < cells->n_vertices; v++) image[v] = -1;
    for (int64_t i = 0; i < file->n_links; i++) {
        struct gmsh_link *link = &file->links[i];
        if (link->dim != cells->dim - 1 || link->count == 0) continue;
        TRY(check_map(file, size, link));
        for (int64_t k = 2 * link->first; k < 2 * (link->first + link->count); k++)
            if (vertex_of[file->pairs[k]] >= 0) marked[vertex_of[file->pairs[k]]] = 1;
    }
    TRY(collect_faces(cells, marked, &f));
    for (int64_t i = 0; i < file->n_links; i++)
        if (file->links[i].dim == cells->dim - 1 && file->links[i].count > 0)
            TRY(join_link(file, &file->links[i], vertex_of, &f, image, covered, pairs));
done:
    tuple_set_free(&f.set);
    base_free(&f.n_cells);
    base_free(&f.corners);
    base_free(&marked);
    base_free(&covered);
    base_free(&image);
    return status;
}
