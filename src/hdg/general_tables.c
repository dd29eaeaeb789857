/* Cells whose map is curved or whose data vary: the tables of a block, and which batches go this way. */
#include <cblas.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/general.h"
#include "poly/basis.h"

#define SCRATCH_BYTES (24 << 20) /* of the kernels of the host; larger matrices are better off one by one */

/* map[node][q (1 + dim) + s]: the Lagrange functions of the geometry (s = 0) and their derivatives, `first`
 * being the number of the first point among `total`. */
static void fill_map(const struct hdg_table *table, int first, int total, double *map) {
    int dim = table->dim, row = total * (1 + dim);
    for (int q = 0; q < table->n; q++)
        for (int i = 0; i < table->n_nodes; i++) {
            double *to = map + (int64_t)i * row + (int64_t)(first + q) * (1 + dim);
            to[0] = table->geo[(int64_t)q * table->n_nodes + i];
            for (int b = 0; b < dim; b++)
                to[1 + b] = table->geo_grad[((int64_t)q * table->n_nodes + i) * dim + b];
        }
}

facet_status general_rule_create(const struct hdg *h, const struct hdg_table *table, int straight,
                                 struct general_rule *rule) {
    facet_status status = FACET_OK;
    const struct hdg_table one = {
        .n = 1, .dim = table->dim, .n_nodes = table->n_nodes, .geo = table->geo, .geo_grad = table->geo_grad};
    size_t n_nodes = (size_t)table->n_nodes, n = (size_t)table->n, slopes = 1 + (size_t)table->dim;
    double *map = NULL, weight = 1.0;
    rule->table = table;
    TRY(ALLOC(map, n_nodes * n * slopes));
    if (straight) {
        fill_map(&one, 0, 1, map);
        TRY(device_copy(h->device, &rule->middle, map, n_nodes * slopes, sizeof *map));
        TRY(device_copy(h->device, &rule->spread, table->w, n, sizeof *map));
        for (size_t q = 0; q < n; q++)
            for (size_t i = 0; i < n_nodes; i++) map[i * n + q] = table->geo[q * n_nodes + i];
    } else {
        fill_map(table, 0, table->n, map);
    }
    TRY(device_copy(h->device, &rule->map, map, n_nodes * n * (straight ? 1 : slopes), sizeof *map));
    TRY(device_copy(h->device, &rule->w, straight ? &weight : table->w, straight ? 1 : n, sizeof *map));
done:
    base_free(&map);
    return status;
}

void general_rule_destroy(const struct hdg *h, struct general_rule *rule) {
    device_free(h->device, &rule->map);
    device_free(h->device, &rule->middle);
    device_free(h->device, &rule->w);
    device_free(h->device, &rule->spread);
}

/* The tables of a face in orientation 0 stand in one of the others' place where no cell has it: made anew. */
facet_status general_face_tables(const struct hdg *h, int block, const struct hdg_face_table *face,
                                 int degree, struct hdg_general *g) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int dim = h->data.mesh->dim, n = face->rule.n, total = b->n_faces * n, n_nodes = b->cell.n_nodes;
    int64_t N = basis_size(b->shape, degree);
    double *map = NULL, *phi = NULL, *xi = NULL;
    struct hdg_table table = {0};
    TRY(ALLOC(map, (int64_t)n_nodes * total * (1 + dim)));
    TRY(ALLOC(phi, total * N));
    TRY(ALLOC(xi, n * dim));
    for (int f = 0; f < b->n_faces; f++) {
        for (int q = 0; q < n; q++)
            shape_face_point(b->shape, f, 0, face->rule.x + q * (dim - 1), xi + q * dim);
        hdg_table_destroy(&table);
        TRY(hdg_table_create(b->shape, degree, h->data.mesh->order, n, xi, &table));
        fill_map(&table, f * n, total, map);
        memcpy(phi + (int64_t)f * n * N, table.phi, (size_t)(n * N) * sizeof *phi);
    }
    TRY(device_copy(h->device, &g->face.map, map, (size_t)n_nodes * (size_t)(total * (1 + dim)),
                    sizeof *map));
    TRY(device_copy(h->device, &g->face.w, face->rule.w, (size_t)n, sizeof *map));
    TRY(device_copy(h->device, &g->face_phi, phi, (size_t)(total * N), sizeof *phi));
    TRY(device_copy(h->device, &g->psi, face->psi, (size_t)n * (size_t)b->m, sizeof *phi));
    TRY(device_copy(h->device, &g->normals, &b->normals[0][0], 3 * (size_t)b->n_faces, sizeof *phi));
done:
    hdg_table_destroy(&table);
    base_free(&map);
    base_free(&phi);
    base_free(&xi);
    return status;
}

/* ---------------------------------------------------------------------------------------- few points */

#define TABLE_BYTES (32 << 20) /* of tables of polynomials of the map, at most */

static void few_destroy(const struct hdg *h, struct general_few *few) {
    rule_destroy(&few->rule);
    hdg_table_destroy(&few->points);
    general_rule_destroy(h, &few->at);
    device_free(h->device, &few->table);
}

/* kernel (n x points of the cell rule) = w_q sum_s P_s(q) P_s(x): with a rule exact to twice the degree, what
 * the value at q contributes to the polynomial at x. */
static facet_status few_kernel(const struct hdg_block_space *b, int degree, const struct rule *rule,
                               double *kernel) {
    facet_status status = FACET_OK;
    int S = basis_size(b->shape, degree), n = b->cell.n;
    double *here = NULL, *there = NULL;
    TRY(ALLOC(here, (int64_t)rule->n * S));
    TRY(ALLOC(there, (int64_t)n * S));
    TRY(basis_eval(b->shape, degree, rule->n, rule->x, here, NULL));
    TRY(basis_eval(b->shape, degree, n, b->cell.xi, there, NULL));
    for (int q = 0; q < rule->n; q++) cblas_dscal(S, rule->w[q], here + (int64_t)q * S, 1);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rule->n, n, S, 1.0, here, S, there, S, 0.0, kernel,
                n);
done:
    base_free(&here);
    base_free(&there);
    return status;
}

/* A polynomial of this degree (in every direction of tensor cells) against products of two functions: of phi
 * (gradients: of d_c phi_i, c = 0, 1, ..) with phi_j. Left without a table where the rule of the cell is not
 * worse, for so many cells. */
static facet_status few_create(struct hdg *h, int block, int degree, int gradients, int64_t n_cells,
                               struct general_few *few) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int N = b->N, n = b->cell.n, dim = gradients ? b->cell.dim : 1;
    double *kernel = NULL, *weight = NULL, *scaled = NULL, *table = NULL;
    TRY(rule_create(b->shape, 2 * degree, &few->rule));
    int64_t count = few->rule.n, size = count * dim * N * N;
    if (2 * count > n || count > n_cells || size * (int64_t)sizeof(double) > TABLE_BYTES) goto done;
    TRY(ALLOC(kernel, count * n));
    TRY(ALLOC(weight, n));
    TRY(ALLOC(scaled, (int64_t)n * N));
    TRY(ALLOC(table, size));
    TRY(few_kernel(b, degree, &few->rule, kernel));
    for (int64_t k = 0; k < count * dim; k++) {
        const double *A = gradients ? b->cell.grad + k % dim * n * N : b->cell.phi;
        for (int p = 0; p < n; p++) weight[p] = b->cell.w[p] * kernel[k / dim * n + p];
        hdg_weighted_product(n, N, A, N, weight, 1, N, b->cell.phi, N, 0.0, scaled, table + k * N * N, N);
    }
    TRY(device_copy(h->device, &few->table, table, (size_t)size, sizeof *table));
    TRY(hdg_table_create(b->shape, 0, h->data.mesh->order, few->rule.n, few->rule.x, &few->points));
    for (int q = 0; q < few->rule.n; q++) few->rule.w[q] = 1.0;
    few->points.w = few->rule.w;
    TRY(general_rule_create(h, &few->points, 0, &few->at));
done:
    base_free(&kernel);
    base_free(&weight);
    base_free(&scaled);
    base_free(&table);
    return status;
}

/* Cofactors are products of dim - 1 derivatives of the map, det J of dim. */
static facet_status few_tables(struct hdg *h, int block, int64_t n_cells, struct hdg_general *g) {
    facet_status status = FACET_OK;
    enum shape shape = h->space.blocks[block].shape;
    int dim = h->data.mesh->dim, order = h->data.mesh->order, simplex = shape_is_simplex(shape);
    int cofactor = (dim - 1) * (simplex ? order - 1 : order),
        det = simplex ? dim * (order - 1) : dim * order - 1;
    TRY(few_create(h, block, cofactor, 1, n_cells, &g->metric));
    TRY(few_create(h, block, det, 0, n_cells, &g->det));
    g->tables.D = g->metric.table;
    g->tables.M = g->det.table;
    g->tables.n_metric = g->metric.table != NULL ? g->metric.rule.n : g->tables.n;
    g->tables.n_det = g->det.table != NULL ? g->det.rule.n : 0;
done:
    return status;
}

void general_destroy(struct hdg *h, int block) {
    struct hdg_general *g = h->general[block];
    if (g == NULL) return;
    few_destroy(h, &g->metric);
    few_destroy(h, &g->det);
    double **arrays[] = {&g->normals, &g->phi, &g->grad, &g->face_phi, &g->psi};
    general_rule_destroy(h, &g->cell);
    general_rule_destroy(h, &g->face);
    for (int i = 0; i < (int)(sizeof arrays / sizeof arrays[0]); i++) device_free(h->device, arrays[i]);
    base_free(&h->general[block]);
}

facet_status general_create(struct hdg *h, int block) {
    static const char *const kernels[] = {"condense_general", "general_solve", "gradient_solve", NULL};
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int64_t n = trace_n_batches(h->device, h->data.mesh, block), found = 0;
    int dim = h->data.mesh->dim;
    struct hdg_general *g;
    for (int64_t i = 0; i < n; i++) found += h->ways[block][i] == BATCH_SINGLE;
    if (found == 0 || h->space.revolved) return FACET_OK;
    TRY(device_require(h->device, "a cell that is curved, or whose data vary,", kernels));
    TRY(CALLOC(h->general[block], 1));
    g = h->general[block];
    g->tables = (struct general_tables){.lanes = h->lanes,
                                        .dim = dim,
                                        .n_faces = b->n_faces,
                                        .N = b->N,
                                        .m = b->m,
                                        .n = b->cell.n,
                                        .n_face = b->face.rule.n,
                                        .affine = &h->tables[block]};
    if (!device_has_memory(h->device) &&
        device_condense_general_scratch(h->device, &g->tables, 1) / base_threads() >
            SCRATCH_BYTES / (int64_t)sizeof(double)) {
        base_free(&h->general[block]);
        goto done;
    }
    TRY(general_rule_create(h, &b->cell, 0, &g->cell));
    size_t size = (size_t)b->cell.n * (size_t)b->N;
    TRY(device_copy(h->device, &g->phi, b->cell.phi, size, sizeof(double)));
    TRY(device_copy(h->device, &g->grad, b->cell.grad, (size_t)dim * size, sizeof(double)));
    TRY(general_face_tables(h, block, &b->face, h->space.degree, g));
    TRY(few_tables(h, block, found * h->lanes, g));
    g->tables.phi = g->phi;
    g->tables.grad = g->grad;
    g->tables.face_phi = g->face_phi;
    g->tables.psi = g->psi;
    for (int64_t i = 0; i < n; i++)
        if (h->ways[block][i] == BATCH_SINGLE) h->ways[block][i] = BATCH_GENERAL;
done:
    return status;
}
