/* Local solvers of cells that are curved or whose data vary, beside those of straight ones with one number,
 * on the device that is given: element matrices, and u and q from a trace, where everything stays on the
 * device. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "bench/subject.h"
#include "hdg/device_cells.h"
#include "hdg/general.h"

#define REPEATS 3

enum variant { STRAIGHT, VARYING, MATRIX, CURVED, N_VARIANTS };
enum { CONDENSE, RECOVER, N_WHATS };

/* ------------------------------------------------------------------------------------------ curved boxes */

/* Order 2 from order 1: points of a lattice half as wide, moved. nodes: of a cell, by the lattice. */
static facet_status curve(facet_context *context, int dim, int cells, const char *shape, int n_corners,
                          const facet_mesh *straight, facet_mesh **mesh) {
    facet_status status = FACET_OK;
    const int side = 2 * cells + 1, simplex = n_corners == dim + 1;
    int64_t n_points = (int64_t)side * side * (dim == 3 ? side : 1), n, count = 0;
    int64_t *corners = NULL, *nodes = NULL;
    double *points = NULL, *old = NULL;
    facet_cells block = {.size = sizeof block};
    TRY(facet_mesh_block(straight, 0, "lattice", &block, NULL));
    TRY(facet_mesh_n_points(straight, &n));
    TRY(ALLOC(corners, block.count * n_corners));
    TRY(ALLOC(nodes, block.count * 27));
    TRY(ALLOC(old, n * dim));
    TRY(ALLOC(points, n_points * dim));
    TRY(facet_mesh_block(straight, 0, "lattice", &block, corners));
    TRY(facet_mesh_points(straight, old));
    for (int64_t c = 0; c < block.count; c++)
        for (int k = 0; k < (dim == 3 ? 3 : 1); k++)
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++) {
                    const int at[3] = {i, j, k};
                    int64_t place = 0, step = 1;
                    if (simplex && i + j + k > 2) continue;
                    for (int d = 0; d < dim; d++, step *= side) {
                        const double *first = old + corners[c * n_corners] * dim;
                        double x = first[d];
                        for (int e = 0; e < dim; e++) {
                            const int corner = simplex ? 1 + e : 1 << e;
                            x += 0.5 * at[e] * (old[corners[c * n_corners + corner] * dim + d] - first[d]);
                        }
                        place += step * (int64_t)lround(x * 2 * cells);
                    }
                    nodes[count++] = place;
                }
    for (int64_t p = 0; p < n_points; p++) {
        const double x = (double)(p % side) / (side - 1), y = (double)(p / side % side) / (side - 1);
        points[p * dim] = x + 0.05 * sin(3 * y);
        points[p * dim + 1] = y + 0.05 * sin(3 * x);
        if (dim == 3) points[p * dim + 2] = (double)(p / side / side) / (side - 1) + 0.05 * x * x;
    }
    facet_cells bent = {
        .size = sizeof bent, .shape = shape, .order = 2, .count = block.count, .nodes = nodes};
    facet_arrays arrays = {.size = sizeof arrays,
                           .dim = dim,
                           .n_points = n_points,
                           .points = points,
                           .numbering = "lattice",
                           .n_blocks = 1,
                           .blocks = &bent};
    TRY(facet_mesh_create_arrays(context, &arrays, NULL, mesh));
done:
    base_free(&corners);
    base_free(&nodes);
    base_free(&points);
    base_free(&old);
    return status;
}

static facet_status make_mesh(facet_context *context, const struct subject_shape *shape, int cells,
                              enum variant variant, facet_mesh **mesh) {
    facet_status status = FACET_OK;
    const int dim = shape_dim(shape->shape);
    facet_box box = subject_box(shape, cells);
    facet_mesh *straight = NULL;
    TRY(facet_mesh_create_box(context, &box, &straight));
    if (variant == CURVED) {
        TRY(curve(context, dim, cells, shape->name, shape_n_vertices(shape->shape), straight, mesh));
    } else {
        *mesh = straight;
        straight = NULL;
    }
done:
    facet_mesh_destroy(&straight);
    return status;
}

/* ------------------------------------------------------------------------------------------ runs */

static facet_status set_conductivity(facet_problem *problem, int dim, enum variant variant) {
    static const char *const flat[] = {"3 + x", "y/2", "y/2", "2"}, *const solid[] = {"3 + x", "y/2", "0",
                                                                                      "y/2",   "2",   "z/3",
                                                                                      "0",     "z/3", "4"};
    const char *scalar[] = {variant == VARYING ? "1 + x*y" : "2"};
    if (variant != MATRIX) return facet_problem_set_conductivity(problem, NULL, 1, scalar);
    return facet_problem_set_conductivity(problem, NULL, dim * dim, dim == 2 ? flat : solid);
}

static facet_status make(const struct bench_options *bench, const struct subject_shape *shape, int cells,
                         int degree, enum variant variant, struct subject *s) {
    facet_status status = FACET_OK;
    TRY(facet_context_create(bench->device, &s->context));
    TRY(make_mesh(s->context, shape, cells, variant, &s->mesh));
    TRY(facet_problem_create(s->context, s->mesh, FACET_DIFFUSION, &s->problem));
    TRY(set_conductivity(s->problem, shape_dim(shape->shape), variant));
    TRY(subject_finish(degree, s));
    if (!mapped_of(s->solver)->hdg->stays)
        FAIL(FACET_ERROR_INPUT,
             "gpu-general is for devices whose memory is not the host's; use --device cuda");
    vector_fill(&mapped_of(s->solver)->x, 1.0);
    TRY(hdg_load(mapped_of(s->solver)->hdg, NULL, &mapped_of(s->solver)->solution, &mapped_of(s->solver)->b));
    TRY(hdg_set_trace(mapped_of(s->solver)->hdg, &mapped_of(s->solver)->x, &mapped_of(s->solver)->solution));
done:
    return status;
}

static facet_status condense(struct hdg *h) {
    facet_status status = FACET_OK;
    struct condenser c;
    double *scratch = NULL, *volumes = NULL, reaction;
    if (!batch_is_fast(h, 0, 0)) {
        TRY(ALLOC(volumes, h->matrices.n_batches[0]));
        TRY(general_condense(h, 0, 0, h->matrices.n_batches[0], volumes, &reaction));
        goto done;
    }
    h->data.equation->condenser(h, 0, &c);
    TRY(device_alloc(h->device, &scratch, (size_t)c.n_scratch, sizeof *scratch));
    c.fast(h, 0, h->matrices.n_batches[0], h->cells[0]->coefficients, h->matrices.values[0], scratch);
    TRY(device_check(h->device));
done:
    device_free(h->device, &scratch);
    base_free(&volumes);
    return status;
}

/* Seconds, the best of some runs. */
static facet_status measure(const struct bench_options *options, const struct subject_shape *shape, int cells,
                            int degree, enum variant variant, double best[N_WHATS], double *n_cells) {
    facet_status status = FACET_OK;
    struct subject s = {0};
    TRY(make(options, shape, cells, degree, variant, &s));
    struct hdg *h = mapped_of(s.solver)->hdg;
    *n_cells = h->data.mesh->n_cells;
    for (int what = 0; what < N_WHATS; what++) {
        best[what] = INFINITY;
        for (int i = 0; i <= REPEATS; i++) {
            double begin = base_seconds();
            TRY(what == CONDENSE ? condense(h) : hdg_recover(h, &mapped_of(s.solver)->solution));
            TRY(device_check(h->device)); /* waits */
            if (i > 0) best[what] = fmin(best[what], base_seconds() - begin);
        }
    }
done:
    subject_destroy(&s);
    return status;
}

static facet_status add_row(const struct bench_options *options, const struct subject_shape *shape, int cells,
                            int degree, struct table *table) {
    facet_status status = FACET_OK;
    double seconds[N_VARIANTS][N_WHATS], n_cells = 0.0;
    char text[32];
    for (enum variant v = 0; v < N_VARIANTS; v++)
        TRY(measure(options, shape, cells, degree, v, seconds[v], &n_cells));
    subject_cells_text(shape, cells, text, sizeof text);
    table_cell(table, "%s", shape->name);
    table_cell(table, "%d", degree);
    table_cell(table, "%s", text);
    for (int what = 0; what < N_WHATS; what++) {
        table_cell(table, "%.1f", 1e9 * seconds[STRAIGHT][what] / n_cells);
        for (enum variant v = VARYING; v < N_VARIANTS; v++)
            table_cell(table, "%.1f", seconds[v][what] / seconds[STRAIGHT][what]);
    }
done:
    return status;
}

facet_status bench_gpu_general(const struct bench_options *options) {
    facet_status status = FACET_OK;
    static const struct {
        const struct subject_shape *shape;
        int degree, cells;
    } rows[] = {{&subject_tets, 2, 24},  {&subject_tets, 3, 20},       {&subject_tets, 4, 16},
                {&subject_tets, 5, 12},  {&subject_triangles, 3, 160}, {&subject_quads, 4, 96},
                {&subject_hexes, 2, 24}, {&subject_hexes, 3, 16}};
    static const char *const headers[] = {"shape",  "k",       "cells",   "K_e ns", "varying", "matrix",
                                          "curved", "u, q ns", "varying", "matrix", "curved"};
    struct table *table = NULL;
    TRY(table_create(11, headers, &table));
    for (size_t i = 0; i < (options->quick ? 2 : sizeof rows / sizeof *rows); i++) {
        TRY(add_row(options, rows[i].shape, options->quick ? 2 : rows[i].cells, rows[i].degree, table));
        TRY(base_check_interrupt());
    }
    TRY(bench_emit(
        options, "gpu-general",
        "Local solvers: nanoseconds a straight cell with one number for K, and how many times as long cells "
        "take whose K is 1 + x y, a matrix that varies, or whose map is of order 2; with the maps and data "
        "at "
        "points that they are made from. Element matrices, then u and q from a trace.",
        table));
done:
    table_destroy(&table);
    return status;
}
