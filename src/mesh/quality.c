/* What a mesh measures: its volume by quadrature, and the sizes and Jacobians of its cells. */
#include <math.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/mesh_internal.h"
#include "mesh/part.h"
#include "poly/basis.h"
#include "poly/rule.h"

/* Tables for the cells of one block. */
struct gauge {
    const struct facet_mesh *mesh;
    const struct mesh_block *block;
    int all;                     /* else volume and bounds alone */
    struct mesh_samples samples; /* the lattice on which mesh_create judged the cells */
    struct mesh_samples points;  /* quadrature */
    struct rule rule;
    double
        *corner_values; /* n_nodes x n_vertices in lattice order: the multilinear map at the lattice nodes */
};

/* det J has degree dim (g - 1) on simplices and dim g - 1 in each coordinate on tensor cells. */
static facet_status gauge_init(struct gauge *gauge, const struct facet_mesh *mesh,
                               const struct mesh_block *block, int all) {
    facet_status status = FACET_OK;
    double *lattice = NULL;
    int dim = mesh->dim, order = mesh->order, n_vertices = shape_n_vertices(block->shape);
    *gauge = (struct gauge){.mesh = mesh, .block = block, .all = all};
    int degree = shape_is_simplex(block->shape) ? dim * (order - 1) : dim * order - 1;
    TRY(mesh_samples_create(block->shape, order, MESH_SAMPLE_LATTICE(order), &gauge->samples));
    TRY(rule_create(block->shape, degree, &gauge->rule));
    int64_t size = (int64_t)gauge->rule.n * block->n_nodes;
    gauge->points = (struct mesh_samples){.n = gauge->rule.n, .n_nodes = block->n_nodes, .dim = dim};
    TRY(ALLOC(gauge->points.values, size));
    TRY(ALLOC(gauge->points.gradients, size * dim));
    TRY(basis_lagrange(block->shape, order, gauge->rule.n, gauge->rule.x, gauge->points.values,
                       gauge->points.gradients));
    TRY(ALLOC(lattice, block->n_nodes * dim));
    TRY(ALLOC(gauge->corner_values, block->n_nodes * n_vertices));
    shape_nodes(block->shape, order, lattice);
    TRY(basis_lagrange(block->shape, 1, block->n_nodes, lattice, gauge->corner_values, NULL));
done:
    base_free(&lattice);
    return status;
}

static void gauge_free(struct gauge *gauge) {
    mesh_samples_free(&gauge->samples);
    mesh_samples_free(&gauge->points);
    rule_destroy(&gauge->rule);
    base_free(&gauge->corner_values);
}

/* Neither an affine simplex nor multilinear: some lattice node is off the map through the vertices. */
static int is_curved(const struct gauge *gauge, int32_t cell, const double *nodes, double size) {
    const struct mesh_block *block = gauge->block;
    int dim = gauge->mesh->dim, n_vertices = shape_n_vertices(block->shape), order = gauge->mesh->order;
    if (order == 1 || block->affine[cell]) return 0;
    for (int i = 0; i < block->n_nodes; i++)
        for (int a = 0; a < dim; a++) {
            double x = 0;
            for (int v = 0; v < n_vertices; v++)
                x += gauge->corner_values[i * n_vertices + shape_vertex_node(block->shape, 1, v)] *
                     nodes[shape_vertex_node(block->shape, order, v) * dim + a];
            if (fabs(x - nodes[i * dim + a]) > 1e-10 * size) return 1;
        }
    return 0;
}

static double diameter_of(int n, int dim, const double *nodes) {
    double largest = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double square = 0;
            for (int a = 0; a < dim; a++)
                square +=
                    (nodes[i * dim + a] - nodes[j * dim + a]) * (nodes[i * dim + a] - nodes[j * dim + a]);
            largest = fmax(largest, square);
        }
    return sqrt(largest);
}

/* The smallest and the largest Jacobian determinant at the samples, as a ratio; the diameter. */
static void judge_cell(const struct gauge *gauge, int32_t cell, const double *nodes,
                       struct mesh_quality *quality) {
    const struct mesh_block *block = gauge->block;
    double least = INFINITY, most = -INFINITY, ratio = 1,
           diameter = diameter_of(block->n_nodes, gauge->mesh->dim, nodes);
    for (int s = 0; s < gauge->samples.n && !block->affine[cell]; s++) {
        double determinant = mesh_sample_determinant(&gauge->samples, s, nodes);
        least = fmin(least, determinant);
        most = fmax(most, determinant);
        ratio = least / most;
    }
    if (ratio < quality->smallest_jacobian) {
        quality->smallest_jacobian = ratio;
        quality->smallest_jacobian_cell = block->first + cell;
    }
    quality->smallest_diameter = fmin(quality->smallest_diameter, diameter);
    quality->largest_diameter = fmax(quality->largest_diameter, diameter);
    quality->n_curved += is_curved(gauge, cell, nodes, diameter);
}

static void measure_cell(const struct gauge *gauge, int32_t cell, struct mesh_quality *quality) {
    const struct mesh_block *block = gauge->block;
    int dim = gauge->mesh->dim;
    const double *nodes = block->nodes + (int64_t)cell * block->n_nodes * dim;
    double J[9], lower[3], upper[3];
    if (block->affine[cell]) {
        mesh_affine_jacobian(block->shape, gauge->mesh->order, nodes, J);
        quality->volume += shape_measure(block->shape) * mesh_determinant(dim, J);
    } else {
        for (int p = 0; p < gauge->points.n; p++)
            quality->volume += gauge->rule.w[p] * mesh_sample_determinant(&gauge->points, p, nodes);
    }
    if (gauge->all) judge_cell(gauge, cell, nodes, quality);
    mesh_bounds(block->n_nodes, dim, nodes, lower, upper);
    for (int a = 0; a < dim; a++) { /* fmin is a call, and there are millions */
        quality->lower[a] = lower[a] < quality->lower[a] ? lower[a] : quality->lower[a];
        quality->upper[a] = upper[a] > quality->upper[a] ? upper[a] : quality->upper[a];
    }
}

static const struct mesh_quality nothing = {.smallest_diameter = INFINITY,
                                            .smallest_jacobian = 1,
                                            .lower = {INFINITY, INFINITY, INFINITY},
                                            .upper = {-INFINITY, -INFINITY, -INFINITY}};

static void join(int dim, struct mesh_quality *into, const struct mesh_quality *part) {
    into->volume += part->volume;
    into->n_curved += part->n_curved;
    into->smallest_diameter = fmin(into->smallest_diameter, part->smallest_diameter);
    into->largest_diameter = fmax(into->largest_diameter, part->largest_diameter);
    if (part->smallest_jacobian < into->smallest_jacobian) {
        into->smallest_jacobian = part->smallest_jacobian;
        into->smallest_jacobian_cell = part->smallest_jacobian_cell;
    }
    for (int a = 0; a < dim; a++) {
        into->lower[a] = fmin(into->lower[a], part->lower[a]);
        into->upper[a] = fmax(into->upper[a], part->upper[a]);
    }
}

/* The cells are measured in parts that do not depend on the number of threads, and neither does the sum. */
static facet_status measure(const struct facet_mesh *mesh, int all, struct mesh_quality *quality) {
    enum { PARTS = 64 };
    facet_status status = FACET_OK;
    struct gauge gauge = {0};
    if (mesh_is_box(mesh)) {
        mesh_measure_box(mesh, quality);
        return FACET_OK;
    }
    *quality = nothing;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        struct mesh_quality parts[PARTS];
        TRY(gauge_init(&gauge, mesh, block, all));
#pragma omp parallel for num_threads(base_threads()) schedule(dynamic)
        for (int p = 0; p < PARTS; p++) {
            parts[p] = nothing;
            int32_t end = (int32_t)((int64_t)block->count * (p + 1) / PARTS);
            for (int32_t c = (int32_t)((int64_t)block->count * p / PARTS); c < end; c++)
                measure_cell(&gauge, c, &parts[p]);
        }
        for (int p = 0; p < PARTS; p++) join(mesh->dim, quality, &parts[p]);
        gauge_free(&gauge);
    }
    for (int a = mesh->dim; a < 3; a++) quality->lower[a] = quality->upper[a] = 0;
done:
    gauge_free(&gauge);
    return status;
}

/* What it takes beside the size to know the quality of the whole. */
static facet_status join_parts(const struct facet_mesh *mesh, struct mesh_quality *quality) {
    facet_status status = FACET_OK;
    double least[2] = {quality->smallest_diameter, quality->smallest_jacobian};
    int64_t curved = quality->n_curved, cell = mesh->part->cell_numbers[quality->smallest_jacobian_cell];
    TRY(team_reduce(mesh_team(mesh), TEAM_MIN, 2, least));
    TRY(team_reduce(mesh_team(mesh), TEAM_MAX, 1, &quality->largest_diameter));
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, &curved));
    if (quality->smallest_jacobian > least[1]) cell = INT64_MAX;
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MIN, 1, &cell));
    quality->smallest_diameter = least[0];
    quality->smallest_jacobian = least[1];
    quality->n_curved = curved;
    quality->smallest_jacobian_cell = cell;
done:
    return status;
}

static facet_status join_sizes(const struct facet_mesh *mesh, struct mesh_quality *quality) {
    facet_status status = FACET_OK;
    TRY(team_reduce(mesh_team(mesh), TEAM_SUM, 1, &quality->volume));
    TRY(team_reduce(mesh_team(mesh), TEAM_MIN, 3, quality->lower));
    TRY(team_reduce(mesh_team(mesh), TEAM_MAX, 3, quality->upper));
done:
    return status;
}

facet_status mesh_measure_quality(const struct facet_mesh *mesh, struct mesh_quality *quality) {
    facet_status status = measure(mesh, 1, quality);
    if (status == FACET_OK) status = join_sizes(mesh, quality);
    return status == FACET_OK && mesh->part != NULL ? join_parts(mesh, quality) : status;
}

facet_status mesh_measure_size(const struct facet_mesh *mesh, struct mesh_quality *quality) {
    facet_status status = measure(mesh, 0, quality);
    return status == FACET_OK ? join_sizes(mesh, quality) : status;
}
