/* The discretization itself: lines, columns and sizes. */
#include "boxhdg/boxhdg.h"

#include <math.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "poly/rule.h"

/* Two columns share a line when their rho differ by rounding only. */
#define SAME_RHO 1e-13

static facet_status find_line(struct boxhdg *h, double rho, int *line) {
    facet_status status = FACET_OK;
    for (*line = 0; *line < h->n_lines; ++*line)
        if (fabs(rho - h->lines[*line].rho) <= SAME_RHO * rho) return FACET_OK;
    TRY(base_realloc(&h->lines, (size_t)h->n_lines + 1, sizeof *h->lines));
    TRY(base_realloc(&h->tables, (size_t)h->n_lines + 1, sizeof *h->tables));
    h->tables[h->n_lines] = (struct box_table){0};
    TRY(box_line_create(h->degree, rho, 0, &h->lines[h->n_lines]));
    h->n_lines++;
    TRY(box_table_create(&h->lines[*line], h->gauss, h->weights, &h->tables[*line]));
done:
    return status;
}

static void count_unknowns(struct boxhdg *h) {
    const struct box_grid *g = &h->grid;
    int64_t fixed = 0;
    h->face_size = h->cell_size = 1;
    for (int d = 0; d < g->dim; d++) h->cell_size *= h->n;
    h->face_size = h->cell_size / h->n;
    for (int d = 0; d < g->dim; d++)
        for (int s = 0; s < g->planes[d]; s++)
            if (box_plane_is_fixed(g, d, s)) fixed += g->n_cells / g->cells[d];
    h->n_trace = g->n_faces * h->face_size;
    h->n_free = (g->n_faces - fixed) * h->face_size;
    h->n_volume = g->n_cells * h->cell_size;
}

/* The number of a face of the block in the order of box/box.h. */
static int32_t face_of(const struct boxhdg *h, int32_t face) {
    const struct facet_mesh *mesh = h->grid.part->mesh;
    int at[3], d, side;
    shape_face_side(mesh->blocks[0].shape, mesh->face_locals[2 * (int64_t)face], &d, &side);
    box_cell_at(&h->grid, mesh->face_cells[2 * (int64_t)face], at);
    return (int32_t)box_face(&h->grid, at, d, side);
}

static facet_status make_seam(struct boxhdg *h) {
    facet_status status = FACET_OK;
    const struct mesh_part *part = h->grid.part->mesh->part;
    struct team_neighbour *neighbours = NULL;
    int64_t *offsets = NULL;
    if (h->grid.n_faces >= INT32_MAX)
        FAIL(FACET_ERROR_INPUT, "a block of %lld faces is too large for one process",
             (long long)h->grid.n_faces);
    TRY(CALLOC(neighbours, part->n_neighbours));
    TRY(ALLOC(offsets, h->grid.n_faces + 1));
    for (int64_t f = 0; f <= h->grid.n_faces; f++) offsets[f] = f * h->face_size;
    for (int k = 0; k < part->n_neighbours; k++) {
        const struct team_neighbour *from = &part->neighbours[k];
        neighbours[k] = (struct team_neighbour){.rank = from->rank, .count = from->count};
        TRY(ALLOC(neighbours[k].items, from->count));
        for (int32_t i = 0; i < from->count; i++) neighbours[k].items[i] = face_of(h, from->items[i]);
    }
    TRY(seam_create(part->team, h->grid.n_faces, offsets, part->n_neighbours, neighbours, &h->seam));
    h->n_all_free = seam_n_owned(h->seam) - (h->n_trace - h->n_free);
    TRY(team_reduce_counts(part->team, TEAM_SUM, 1, &h->n_all_free));
done:
    for (int k = 0; neighbours != NULL && k < part->n_neighbours; k++) base_free(&neighbours[k].items);
    base_free(&neighbours);
    base_free(&offsets);
    return status;
}

facet_status boxhdg_create(const struct box_grid_data *data, int degree, const double *const rho[3],
                           struct boxhdg **hdg) {
    facet_status status = FACET_OK;
    struct boxhdg *h;
    TRY(CALLOC(*hdg, 1));
    h = *hdg;
    h->degree = degree;
    h->n = degree + 1;
    if (degree < 1 || degree > BOX_MAX_DEGREE)
        FAIL(FACET_ERROR_INPUT, "the degree on a box must be 1 to %d, not %d", BOX_MAX_DEGREE, degree);
    TRY(box_grid_create(data, &h->grid));
    TRY(ALLOC(h->gauss, h->n));
    TRY(ALLOC(h->weights, h->n));
    TRY(rule_gauss_jacobi(h->n, 0.0, 0.0, h->gauss, h->weights));
    for (int d = 0; d < 3; d++) {
        TRY(CALLOC(h->column_line[d], h->grid.cells[d]));
        for (int i = 0; d < data->dim && i < h->grid.cells[d]; i++)
            TRY(base_wrap(find_line(h, rho[d][i], &h->column_line[d][i]), "column %d in direction %c", i,
                          "xyz"[d]));
    }
    count_unknowns(h);
    h->n_all_free = h->n_free;
    if (h->grid.part != NULL) TRY(make_seam(h));
done:
    if (status != FACET_OK) boxhdg_destroy(hdg);
    return status;
}

void boxhdg_destroy(struct boxhdg **hdg) {
    if (*hdg == NULL) return;
    struct boxhdg *h = *hdg;
    for (int l = 0; l < h->n_lines; l++) {
        box_line_destroy(&h->lines[l]);
        box_table_destroy(&h->tables[l]);
    }
    base_free(&h->lines);
    base_free(&h->tables);
    for (int d = 0; d < 3; d++) base_free(&h->column_line[d]);
    base_free(&h->gauss);
    base_free(&h->weights);
    seam_release(&h->seam);
    box_grid_destroy(&h->grid);
    base_free(hdg);
}

double boxhdg_metric(const struct boxhdg *h, const int at[3], double a[3]) {
    const struct box_grid *g = &h->grid;
    double V = 1.0;
    int64_t cell = box_cell(g, at);
    for (int d = 0; d < g->dim; d++) V *= 0.5 * g->widths[d][at[d]];
    for (int d = 0; d < 3; d++) {
        double inverse = 2.0 / g->widths[d][at[d]];
        a[d] = d < g->dim ? box_conductivity(g, cell) * V * inverse * inverse : 0.0;
    }
    return box_reaction(g, cell) * V;
}
