/* Tables of bases and geometry at quadrature points. */
#include "hdg/space.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "mesh/part.h"
#include "poly/basis.h"

/* Degrees. An integrand of the cell matrices is a product of two basis functions and det J, of degree 2k +
 * dim (g-1) on simplices and 2k + dim g - 1 per direction on tensor cells; two more for coefficients that
 * vary. Data and norms get six more. */
int hdg_rule_degree(enum hdg_use use, enum shape shape, int degree, int order) {
    int geometry = shape_is_simplex(shape) ? shape_dim(shape) * (order - 1) : shape_dim(shape) * order - 1;
    int extra = use == HDG_CELL || use == HDG_FACE ? 2 : use == HDG_NORM_STAR ? 8 : 6;
    return 2 * degree + geometry + extra;
}

facet_status hdg_default_rule(enum hdg_use use, enum shape shape, int degree, int order, struct rule *rule) {
    return rule_create(shape, hdg_rule_degree(use, shape, degree, order), rule);
}

facet_status hdg_table_create(enum shape shape, int degree, int order, int n, const double *xi,
                              struct hdg_table *table) {
    facet_status status = FACET_OK;
    double *gradients = NULL;
    int dim = shape_dim(shape), N = basis_size(shape, degree);
    *table = (struct hdg_table){.n = n, .N = N, .dim = dim, .n_nodes = shape_n_nodes(shape, order)};
    TRY(ALLOC(table->xi, n * dim));
    memcpy(table->xi, xi, (size_t)(n * dim) * sizeof *xi);
    TRY(ALLOC(table->phi, (int64_t)n * N));
    TRY(ALLOC(table->grad, (int64_t)n * N * dim));
    TRY(ALLOC(gradients, (int64_t)n * N * dim));
    TRY(basis_eval(shape, degree, n, xi, table->phi, gradients));
    for (int b = 0; b < dim; b++)
        for (int64_t i = 0; i < (int64_t)n * N; i++)
            table->grad[(int64_t)b * n * N + i] = gradients[i * dim + b];
    TRY(ALLOC(table->geo, (int64_t)n * table->n_nodes));
    TRY(ALLOC(table->geo_grad, (int64_t)n * table->n_nodes * dim));
    TRY(basis_lagrange(shape, order, n, xi, table->geo, table->geo_grad));
done:
    base_free(&gradients);
    if (status != FACET_OK) hdg_table_destroy(table);
    return status;
}

void hdg_table_destroy(struct hdg_table *table) {
    base_free(&table->xi);
    base_free(&table->phi);
    base_free(&table->grad);
    base_free(&table->geo);
    base_free(&table->geo_grad);
    *table = (struct hdg_table){0};
}

static facet_status make_cell_table(hdg_rule_maker maker, enum hdg_use use, enum shape shape, int degree,
                                    int basis_degree, int order, struct rule *rule, struct hdg_table *table) {
    facet_status status = FACET_OK;
    TRY(maker(use, shape, degree, order, rule));
    TRY(hdg_table_create(shape, basis_degree, order, rule->n, rule->x, table));
    table->w = rule->w;
done:
    return status;
}

void hdg_face_table_destroy(struct hdg_face_table *table) {
    rule_destroy(&table->rule);
    base_free(&table->psi);
    for (int f = 0; f < SHAPE_MAX_FACES; f++)
        for (int o = 0; o < 8; o++) hdg_table_destroy(&table->side[f][o]);
    if (table->other != NULL) hdg_face_table_destroy(table->other);
    base_free(&table->other);
    *table = (struct hdg_face_table){0};
}

/* The orientations that occur, a bit each, for every local face; 0 always, as the reference of the fast path.
 * A hex has 48 and a mesh of them a few. */
static void find_orientations(const struct mesh_block *block, uint8_t *used) {
    const int n_faces = shape_n_faces(block->shape);
    int found[SHAPE_MAX_FACES] = {0};
#pragma omp parallel for num_threads(base_threads_for(block->count)) schedule(static)                        \
    reduction(|                                                                                              \
              : found[:SHAPE_MAX_FACES])
    for (int32_t c = 0; c < block->count; c++)
        for (int f = 0; f < n_faces; f++) found[f] |= 1 << block->orientations[(int64_t)c * n_faces + f];
    for (int f = 0; f < SHAPE_MAX_FACES; f++) used[f] = (uint8_t)(1 | found[f]);
}

/* One rule for all faces of one shape. */
static facet_status make_face_table(hdg_rule_maker maker, enum hdg_use use, const struct mesh_block *block,
                                    enum shape face_shape, int degree, int basis_degree, int order,
                                    struct hdg_face_table *table) {
    facet_status status = FACET_OK;
    enum shape shape = block->shape;
    int dim = shape_dim(shape);
    uint8_t used[SHAPE_MAX_FACES];
    double *xi = NULL;
    TRY(maker(use, face_shape, basis_degree, order, &table->rule));
    int n = table->rule.n;
    table->m = basis_size(face_shape, degree);
    TRY(ALLOC(table->psi, n * table->m));
    TRY(basis_eval(face_shape, degree, n, table->rule.x, table->psi, NULL));
    TRY(ALLOC(xi, n * dim));
    find_orientations(block, used);
    for (int f = 0; f < shape_n_faces(shape); f++) {
        if (shape_face_shape(shape, f) != face_shape) continue;
        for (int o = 0; o < shape_n_orientations(face_shape); o++) {
            if (!(used[f] >> o & 1)) continue;
            for (int q = 0; q < n; q++)
                shape_face_point(shape, f, o, table->rule.x + q * (dim - 1), xi + q * dim);
            TRY(hdg_table_create(shape, basis_degree, order, n, xi, &table->side[f][o]));
        }
    }
done:
    base_free(&xi);
    return status;
}

facet_status hdg_face_table_create(hdg_rule_maker maker, enum hdg_use use, const struct mesh_block *block,
                                   int degree, int basis_degree, int order, struct hdg_face_table *table) {
    facet_status status = FACET_OK;
    enum shape first = shape_face_shape(block->shape, 0), second = first;
    TRY(make_face_table(maker, use, block, first, degree, basis_degree, order, table));
    for (int f = 1; f < shape_n_faces(block->shape); f++) {
        if (shape_face_shape(block->shape, f) == first) continue;
        second = shape_face_shape(block->shape, f);
        table->others |= 1u << f;
    }
    if (second == first) goto done;
    TRY(CALLOC(table->other, 1));
    TRY(make_face_table(maker, use, block, second, degree, basis_degree, order, table->other));
done:
    return status;
}

/* The outward normal of a reference face, as long as the area of the parallelogram its frame's parameters
 * span. */
static void reference_normal(enum shape shape, int face, double *normal) {
    const double *v = shape_vertices(shape);
    const int *ids = shape_face_vertices(shape, face);
    double a[3] = {0}, b[3] = {0};
    int dim = shape_dim(shape), last = shape_face_shape(shape, face) == SHAPE_QUAD ? 3 : 2;
    for (int d = 0; d < dim; d++) {
        a[d] = v[ids[1] * dim + d] - v[ids[0] * dim + d];
        b[d] = dim == 3 ? v[ids[last] * dim + d] - v[ids[0] * dim + d] : 0.0;
    }
    if (dim == 2) {
        normal[0] = a[1];
        normal[1] = -a[0];
        return;
    }
    normal[0] = a[1] * b[2] - a[2] * b[1];
    normal[1] = a[2] * b[0] - a[0] * b[2];
    normal[2] = a[0] * b[1] - a[1] * b[0];
}

void hdg_weighted_product(int n, int N, const double *A, int ld_A, const double *w, int step, int M,
                          const double *B, int ld_B, double beta, double *scaled, double *C, int ld_C) {
    for (int q = 0; q < n; q++)
        for (int i = 0; i < N; i++) scaled[(int64_t)q * N + i] = w[q * step] * A[(int64_t)q * ld_A + i];
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, M, n, 1.0, scaled, N, B, ld_B, beta, C, ld_C);
}

/* Reference matrices for affine cells. */
static facet_status make_reference_matrices(struct hdg_block_space *b, int dim) {
    facet_status status = FACET_OK;
    double *scaled = NULL;
    int64_t N = b->N, m = b->m, n = b->cell.n, n_face = hdg_face_points(&b->face);
    TRY(CALLOC(b->D_ref, dim * N * N));
    TRY(CALLOC(b->F_ref, b->n_faces * 8 * N * m));
    TRY(ALLOC(scaled, (n > n_face ? n : n_face) * N));
    for (int d = 0; d < dim; d++)
        hdg_weighted_product((int)n, b->N, b->cell.grad + d * n * N, b->N, b->cell.w, 1, b->N, b->cell.phi,
                             b->N, 0.0, scaled, b->D_ref + d * N * N, b->N);
    for (int f = 0; f < b->n_faces; f++) {
        const struct hdg_face_table *face = hdg_face_of(&b->face, f);
        for (int o = 0; o < 8; o++)
            if (face->side[f][o].phi != NULL)
                hdg_weighted_product(face->rule.n, b->N, face->side[f][o].phi, b->N, face->rule.w, 1, face->m,
                                     face->psi, face->m, 0.0, scaled, b->F_ref + (f * 8 + o) * N * m,
                                     face->m);
    }
done:
    base_free(&scaled);
    return status;
}

static facet_status make_block(const struct facet_mesh *mesh, int block, int degree, hdg_rule_maker maker,
                               struct hdg_block_space *b) {
    facet_status status = FACET_OK;
    int order = mesh->order;
    b->shape = mesh->blocks[block].shape;
    b->n_faces = shape_n_faces(b->shape);
    b->N = basis_size(b->shape, degree);
    b->N_star = basis_size(b->shape, degree + 1);
    for (int f = 0; f < b->n_faces; f++) {
        int m = basis_size(shape_face_shape(b->shape, f), degree);
        b->starts[f + 1] = b->starts[f] + m;
        b->m = m > b->m ? m : b->m;
    }
    b->n_trace = b->starts[b->n_faces];
    TRY(make_cell_table(maker, HDG_CELL, b->shape, degree, degree, order, &b->cell_rule, &b->cell));
    /* gradients of u* are of degree k on simplices */
    TRY(make_cell_table(maker, HDG_CELL, b->shape, degree + !shape_is_simplex(b->shape), degree + 1, order,
                        &b->star_rule, &b->star));
    TRY(make_cell_table(maker, HDG_SOURCE, b->shape, degree, degree, order, &b->source_rule, &b->source));
    TRY(make_cell_table(maker, HDG_NORM, b->shape, degree, degree, order, &b->norm_rule, &b->norm));
    TRY(make_cell_table(maker, HDG_NORM_STAR, b->shape, degree, degree + 1, order, &b->norm_star_rule,
                        &b->norm_star));
    double center[3] = {0.25, 0.25, 0.25};
    TRY(hdg_table_create(b->shape, degree, order, 1, center, &b->center));
    TRY(hdg_face_table_create(maker, HDG_FACE, &mesh->blocks[block], degree, degree, order, &b->face));
    TRY(hdg_face_table_create(maker, HDG_BOUNDARY, &mesh->blocks[block], degree, degree, order,
                              &b->boundary));
    TRY(hdg_face_table_create(maker, HDG_NORM_FACE, &mesh->blocks[block], degree, degree, order,
                              &b->norm_face));
    for (int f = 0; f < b->n_faces; f++) reference_normal(b->shape, f, b->normals[f]);
    TRY(make_reference_matrices(b, mesh->dim));
done:
    return status;
}

/* Of the faces begin .. end - 1 that have one cell. */
static facet_status boundary_area(const struct hdg_space *space, int64_t begin, int64_t end, double *area) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    struct hdg_geometry scratch = {0};
    int dim = mesh->dim, points = hdg_max_points(space);
    double *x = NULL, *normal = NULL;
    TRY(hdg_geometry_create(points, dim, &scratch));
    TRY(ALLOC(x, points * dim));
    TRY(ALLOC(normal, points * dim));
    for (int64_t f = begin; f < end; f++) {
        if (!mesh_is_boundary(mesh, f)) continue;
        const struct mesh_block *block = mesh_block_of(mesh, mesh->face_cells[2 * f]);
        int b = (int)(block - mesh->blocks);
        const struct hdg_face_table *table = hdg_face_of(&space->blocks[b].face, mesh->face_locals[2 * f]);
        hdg_face_geometry(space, b, mesh->face_cells[2 * f] - block->first, mesh->face_locals[2 * f], table,
                          &scratch, x, normal);
        for (int q = 0; q < table->rule.n; q++) {
            double square = 0.0;
            for (int a = 0; a < dim; a++) square += normal[q * dim + a] * normal[q * dim + a];
            *area += sqrt(square);
        }
    }
done:
    hdg_geometry_destroy(&scratch);
    base_free(&x);
    base_free(&normal);
    return status;
}

/* Volume over boundary is the length that a long or thin domain has across; on the unit square and cube it
 * is 1. Without a boundary: the smallest extent. */
static facet_status domain_length(const struct hdg_space *space, double *length) {
    enum { PARTS = 64 };
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = space->mesh;
    struct mesh_quality quality;
    struct base_collector failures;
    int dim = mesh->dim;
    double areas[PARTS] = {0}, area = 0.0, largest = 0.0, smallest = INFINITY;
    TRY(mesh_measure_size(mesh, &quality));
    base_collector_init(&failures);
#pragma omp parallel for num_threads(base_threads_for(mesh->n_faces)) schedule(dynamic)
    for (int p = 0; p < PARTS; p++) /* which do not depend on the number of threads */
        base_collect(&failures, p,
                     boundary_area(space, (int64_t)mesh->n_faces * p / PARTS,
                                   (int64_t)mesh->n_faces * (p + 1) / PARTS, &areas[p]));
    TRY(base_collected(&failures));
    for (int p = 0; p < PARTS; p++) area += areas[p];
    TRY(team_reduce(mesh_team(mesh), TEAM_SUM, 1, &area));
    for (int a = 0; a < dim; a++) {
        largest = fmax(largest, quality.upper[a] - quality.lower[a]);
        smallest = fmin(smallest, quality.upper[a] - quality.lower[a]);
    }
    *length = area > 0.0 ? fmin(largest, 2.0 * dim * quality.volume / area) : smallest;
done:
    return status;
}

/* Bytes of the tables of one rule: basis, its gradients and a copy of them while they are made. */
static facet_status table_bytes(hdg_rule_maker maker, enum hdg_use use, enum shape shape, int degree,
                                int order, double per_point, double *bytes) {
    struct rule rule = {0};
    facet_status status = maker(use, shape, degree, order, &rule);
    *bytes += per_point * rule.n * sizeof(double);
    rule_destroy(&rule);
    return status;
}

/* Of the tables of a degree and the scratch of the threads. */
static facet_status space_bytes(const struct facet_mesh *mesh, int degree, hdg_rule_maker maker,
                                double *sum) {
    static const enum hdg_use cell_uses[4] = {HDG_CELL, HDG_SOURCE, HDG_NORM, HDG_NORM_STAR};
    static const enum hdg_use face_uses[3] = {HDG_FACE, HDG_BOUNDARY, HDG_NORM_FACE};
    facet_status status = FACET_OK;
    double bytes = 0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        enum shape shape = mesh->blocks[b].shape;
        double N = basis_size(shape, degree), star = basis_size(shape, degree + 1), dim = mesh->dim;
        double n_faces = shape_n_faces(shape), m = 0, n = N;
        uint8_t used[SHAPE_MAX_FACES];
        find_orientations(&mesh->blocks[b], used);
        for (int u = 0; u < 4; u++)
            TRY(table_bytes(maker, cell_uses[u], shape, degree, mesh->order,
                            (1 + dim) * (cell_uses[u] == HDG_NORM_STAR ? star : N), &bytes));
        TRY(table_bytes(maker, HDG_CELL, shape, degree + 1, mesh->order, (1 + 2 * dim) * star, &bytes));
        for (int f = 0; f < n_faces; f++) {
            enum shape face_shape = shape_face_shape(shape, f);
            int n_tables = __builtin_popcount(used[f]), size = basis_size(face_shape, degree);
            for (int u = 0; u < 3; u++)
                TRY(table_bytes(maker, face_uses[u], face_shape, degree, mesh->order,
                                (1 + dim) * N * n_tables, &bytes));
            m = fmax(m, size);
            n += size;
        }
        bytes += sizeof(double) * (dim * N * N + 8 * n_faces * N * m);
        bytes += sizeof(double) * base_threads() * (dim * N * n + dim * N * dim * N + n * n);
    }
    *sum = bytes;
done:
    return status;
}

/* Says that a high degree does not fit before its tables are made, and which one would. */
static facet_status check_memory(const struct facet_mesh *mesh, int degree, hdg_rule_maker maker) {
    facet_status status = FACET_OK;
    double bytes, less, available = base_available_bytes();
    int lower = degree;
    char fits[64] = "no degree would fit";
    TRY(space_bytes(mesh, degree, maker, &bytes));
    for (less = bytes; less > available && lower > 0;) TRY(space_bytes(mesh, --lower, maker, &less));
    if (less <= available) snprintf(fits, sizeof fits, "degree %d would fit", lower);
    TRY(base_check_memory(bytes, available, "", fits,
                          "degree %d on cells of shape %s, its tables and the scratch of %d threads,", degree,
                          mesh->shape_text, base_threads()));
done:
    return status;
}

facet_status hdg_space_create(const struct facet_mesh *mesh, int degree, hdg_rule_maker maker,
                              struct hdg_space *space) {
    facet_status status = FACET_OK;
    *space = (struct hdg_space){.mesh = mesh, .degree = degree};
    TRY(check_memory(mesh, degree, maker != NULL ? maker : hdg_default_rule));
    TRY(mesh_need_lists(mesh));
    for (int b = 0; b < mesh->n_blocks; b++)
        TRY(make_block(mesh, b, degree, maker != NULL ? maker : hdg_default_rule, &space->blocks[b]));
    TRY(domain_length(space, &space->length));
done:
    if (status != FACET_OK) hdg_space_destroy(space);
    return status;
}

void hdg_space_destroy(struct hdg_space *space) {
    for (int i = 0; i < MESH_MAX_BLOCKS; i++) {
        struct hdg_block_space *b = &space->blocks[i];
        struct rule *rules[] = {&b->cell_rule, &b->star_rule, &b->source_rule, &b->norm_rule,
                                &b->norm_star_rule};
        struct hdg_table *tables[] = {&b->cell, &b->star, &b->source, &b->norm, &b->norm_star};
        for (int t = 0; t < 5; t++) {
            rule_destroy(rules[t]);
            hdg_table_destroy(tables[t]);
        }
        hdg_table_destroy(&b->center);
        hdg_face_table_destroy(&b->face);
        hdg_face_table_destroy(&b->boundary);
        hdg_face_table_destroy(&b->norm_face);
        base_free(&b->D_ref);
        base_free(&b->F_ref);
    }
    *space = (struct hdg_space){0};
}

int hdg_max_points(const struct hdg_space *space) {
    int n = 1;
    for (int i = 0; i < space->mesh->n_blocks; i++) {
        const struct hdg_block_space *b = &space->blocks[i];
        int counts[] = {b->cell.n,
                        b->star.n,
                        b->source.n,
                        b->norm.n,
                        b->norm_star.n,
                        hdg_face_points(&b->face),
                        hdg_face_points(&b->boundary),
                        hdg_face_points(&b->norm_face)};
        for (int t = 0; t < 8; t++) n = counts[t] > n ? counts[t] : n;
    }
    return n;
}
