/* Straight cells of elasticity with constant data, in lanes: reference matrices once, a few numbers per cell.
 */
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/elastic.h"

#define NOTHING      1e-12      /* entries of reference matrices below are rounding */
#define MOST_DEGREE  16         /* that the kernels turn faces of */
#define MOST_SCRATCH (64 << 20) /* bytes of a thread, */
#define MOST_THERE   (1 << 30)  /* and of a device with a memory of its own */

/* ------------------------------------------------------------------------------------------ tables */

/* Reference matrices on the host, before they go to the device. */
struct host_tables {
    double *D, *F, *FU, *DD, *DF, *FF, *mass, *coordinates;
    int32_t linear[3];
};

static void host_destroy(struct host_tables *h) {
    double **arrays[] = {&h->D, &h->F, &h->FU, &h->DD, &h->DF, &h->FF, &h->mass, &h->coordinates};
    for (int i = 0; i < 8; i++) base_free(arrays[i]);
}

/* The functions up to the last that meets a derivative: d_a phi is of degree k - 1 in each phi of degree k,
 * and the chi are orthonormal. */
static int count_low(int dim, const struct hdg_functions *v) {
    int low = 0;
    for (int i = 0; i < dim * v->N; i++)
        for (int j = low; j < v->Nu; j++)
            if (fabs(v->D_ref[(int64_t)i * v->Nu + j]) > NOTHING) low = j + 1;
    return low;
}

/* The psi that linear functions of a face need, and their moments: columns of FU of the functions that
 * coordinates consist of would do, but the rule of the face says it at once. */
static facet_status find_coordinates(const struct hdg *h, int block, struct elastic_tables *t,
                                     struct host_tables *to) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_face_table *face = h->functions[block].face;
    int dim = t->dim, m = t->m, n = face->rule.n;
    double *moments = NULL;
    int64_t size = (int64_t)t->n_faces * m;
    TRY(CALLOC(moments, dim * size));
    for (int i = 0; i < b->n_faces * n * m; i++) {
        int f = i / m / n, q = i / m % n, j = i % m;
        for (int e = 0; e < dim; e++)
            moments[e * size + f * m + j] +=
                face->rule.w[q] * face->psi[q * m + j] * face->side[f][0].xi[q * dim + e];
    }
    for (int j = 0; j < m; j++) {
        double most = j == 0 ? 1.0 : 0.0;
        for (int i = 0; i < dim * b->n_faces; i++) most = fmax(most, fabs(moments[(int64_t)i * m + j]));
        if (most > NOTHING && t->n_linear < dim) to->linear[t->n_linear++] = j;
    }
    TRY(ALLOC(to->coordinates, dim * t->n_faces * t->n_linear));
    for (int i = 0; i < dim * t->n_faces * t->n_linear; i++)
        to->coordinates[i] = moments[(int64_t)(i / t->n_linear) * m + to->linear[i % t->n_linear]];
done:
    base_free(&moments);
    return status;
}

static facet_status host_create(const struct elastic_tables *t, struct host_tables *h) {
    facet_status status = FACET_OK;
    int64_t dim = t->dim, N = t->N, Nu = t->Nu, low = t->n_low, m = t->m, faces = t->n_faces;
    TRY(CALLOC(h->D, dim * N * low + 1)); /* degree 0 has no low functions */
    TRY(ALLOC(h->F, faces * N * m));
    TRY(ALLOC(h->FU, faces * Nu * m));
    TRY(CALLOC(h->DD, dim * dim * low * low + 1));
    TRY(CALLOC(h->DF, faces * dim * low * m + 1));
    TRY(ALLOC(h->FF, faces * faces * m * m));
    TRY(ALLOC(h->mass, faces * Nu * Nu));
done:
    return status;
}

/* C = A'B for A: n x rows, B: n x columns. */
static void transposed_product(int n, int rows, const double *A, int columns, const double *B, double *C) {
    if (rows > 0 && columns > 0)
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rows, columns, n, 1.0, A, rows, B, columns, 0.0,
                    C, columns);
}

static void fill_tables(const struct hdg_functions *v, const struct elastic_tables *t,
                        struct host_tables *h) {
    int64_t N = t->N, Nu = t->Nu, low = t->n_low, m = t->m, dim = t->dim, faces = t->n_faces;
    for (int64_t i = 0; i < dim * N; i++)
        memcpy(h->D + i * low, v->D_ref + i * Nu, (size_t)low * sizeof(double));
    for (int64_t f = 0; f < faces; f++) { /* orientation 0 */
        memcpy(h->F + f * N * m, v->F_ref + f * 8 * N * m, (size_t)(N * m) * sizeof(double));
        memcpy(h->FU + f * Nu * m, v->FU_ref + f * 8 * Nu * m, (size_t)(Nu * m) * sizeof(double));
    }
    for (int64_t e = 0; e < dim * dim; e++)
        transposed_product(t->N, t->n_low, h->D + e / dim * N * low, t->n_low, h->D + e % dim * N * low,
                           h->DD + e * low * low);
    for (int64_t f = 0; f < faces; f++) {
        for (int64_t e = 0; e < dim; e++)
            transposed_product(t->N, t->n_low, h->D + e * N * low, t->m, h->F + f * N * m,
                               h->DF + (f * dim + e) * low * m);
        for (int64_t g = 0; g < faces; g++)
            transposed_product(t->N, t->m, h->F + f * N * m, t->m, h->F + g * N * m,
                               h->FF + (f * faces + g) * m * m);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, t->Nu, t->Nu, t->m, 1.0, h->FU + f * Nu * m,
                    t->m, h->FU + f * Nu * m, t->m, 0.0, h->mass + f * Nu * Nu, t->Nu);
    }
}

static facet_status tables_create(struct hdg *hdg, int block) {
    facet_status status = FACET_OK;
    const struct hdg_functions *v = &hdg->functions[block];
    const struct hdg_block_space *b = &hdg->space.blocks[block];
    struct elastic_tables *t = &hdg->elastic->tables[block];
    struct host_tables h = {0};
    int dim = hdg->data.mesh->dim;
    hdg->tables[block] = (struct affine_tables){.lanes = hdg->lanes, .n_faces = dim * b->n_faces, .m = b->m};
    *t = (struct elastic_tables){.turns = &hdg->tables[block],
                                 .lanes = hdg->lanes,
                                 .dim = dim,
                                 .n_faces = b->n_faces,
                                 .N = v->N,
                                 .Nu = v->Nu,
                                 .n_low = count_low(dim, v),
                                 .m = b->m,
                                 .rotations = !elastic_is_gradient(&hdg->data),
                                 .pressure = equation_has_field(hdg->data.equation, HDG_P)};
    TRY(host_create(t, &h));
    TRY(find_coordinates(hdg, block, t, &h));
    fill_tables(v, t, &h);
    size_t N = (size_t)t->N, Nu = (size_t)t->Nu, low = (size_t)t->n_low, m = (size_t)t->m, d = (size_t)dim,
           faces = (size_t)t->n_faces;
    struct {
        const double **to;
        const double *from;
        size_t size;
    } arrays[] = {{&t->D, h.D, d * N * low + 1},
                  {&t->F, h.F, faces * N * m},
                  {&t->FU, h.FU, faces * Nu * m},
                  {&t->DD, h.DD, d * d * low * low + 1},
                  {&t->DF, h.DF, faces * d * low * m + 1},
                  {&t->FF, h.FF, faces * faces * m * m},
                  {&t->mass, h.mass, faces * Nu * Nu},
                  {&t->coordinates, h.coordinates, d * faces * (size_t)t->n_linear}};
    for (int i = 0; i < (int)(sizeof arrays / sizeof arrays[0]); i++)
        TRY(device_copy(hdg->device, arrays[i].to, arrays[i].from, arrays[i].size, sizeof(double)));
    TRY(device_copy(hdg->device, &t->linear, h.linear, (size_t)t->n_linear, sizeof *h.linear));
    TRY(batch_turns_create(hdg, block));
done:
    host_destroy(&h);
    return status;
}

void elastic_tables_destroy(struct hdg *hdg, int block) {
    struct elastic_tables *t = &hdg->elastic->tables[block];
    const double **arrays[] = {&t->D, &t->F, &t->FU, &t->DD, &t->DF, &t->FF, &t->mass, &t->coordinates};
    for (int i = 0; i < 8; i++) device_free(hdg->device, arrays[i]);
    device_free(hdg->device, &t->linear);
    batch_turns_destroy(hdg, block);
}

/* ------------------------------------------------------------------------------------------- cells */

/* Moduli are two, no face is turned, and no unknown of the trace has a traction of its own. */
static int fits_general(const struct hdg *h, int block, int32_t cell) {
    const struct hdg_data *data = &h->data;
    const struct mesh_block *b = &data->mesh->blocks[block];
    int n_faces = h->space.blocks[block].n_faces;
    if (elastic_is_voigt(data, local_region(data, block, cell))) return 0;
    for (int f = 0; f < n_faces; f++) {
        int32_t face = b->faces[(int64_t)cell * n_faces + f];
        if (trace_turn_of(&h->trace, block, cell, f) != NULL ||
            trace_whole_turn_of(&h->trace, block, cell, f) != NULL)
            return 0;
        if (h->elastic->face_traction != NULL && h->elastic->face_traction[face] >= 0) return 0;
    }
    return 1;
}

/* And they are constant. */
static int fits(const struct hdg *h, int block, int32_t cell) {
    return elastic_is_uniform(&h->data, local_region(&h->data, block, cell)) && fits_general(h, block, cell);
}

facet_status elastic_find_fast(struct hdg *h, int block) {
    facet_status status = FACET_OK;
    const struct elastic_tables *t = &h->elastic->tables[block];
    if (h->space.degree > MOST_DEGREE || shape_faces_differ(h->data.mesh->blocks[block].shape))
        return FACET_OK;
    TRY(tables_create(h, block));
    const int64_t bytes = device_elastic_scratch(h->device, t, 1) * (int64_t)sizeof(double);
    if (device_has_memory(h->device) ? bytes > MOST_THERE : bytes / base_threads() > MOST_SCRATCH)
        return FACET_OK;
    TRY(batch_find_fast(h, block, fits));
    TRY(elastic_find_general(h, block, fits_general));
done:
    return status;
}

/* Between -1 and 1, the same every time. */
static double random_of(uint64_t i) {
    i *= 0x9e3779b97f4a7c15u;
    i = (i ^ i >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(i >> 11) * 0x1p-52 - 1.0;
}

/* What rounding leaves of K_e times a rotation is the same in all cells of a uniform mesh, and of one sign
 * adds up along a beam: n cells count n times where chance would have the root of n. Rotations of the
 * Jacobian as it would be after a few roundings differ from cell to cell; K_e being zero on them, their
 * energy is changed by the square. */
#define CHANCE (4.0 * DBL_EPSILON)

static facet_status fill(struct local *l, int block, int32_t cell, double *c, struct batch_facts *facts) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int dim = h->data.mesh->dim, lanes = h->lanes;
    struct elastic_layout at = elastic_layout(dim, b->n_faces);
    double C[9], mu, lambda, volume, det = batch_map(l, block, cell, C);
    TRY(elastic_moduli(&h->data, local_region(&h->data, block, cell), 1, l->geometry.x, &mu, &lambda));
    struct elastic_mixture mixture = elastic_mixture(&h->data, mu, lambda);
    int gradient = elastic_is_gradient(&h->data);
    const double moduli[] = {mixture.alpha, mixture.delta, mixture.gamma};
    const double flux[] = {gradient ? -1.0 : -mu, gradient ? 0.0 : -mu, gradient ? 0.0 : -lambda,
                           gradient ? mu + lambda : 0.0};
    for (int i = 0; i < 3; i++) c[(at.moduli + i) * lanes] = moduli[i] / det;
    for (int i = 0; i < 4; i++) c[(at.flux + i) * lanes] = flux[i] / det;
    for (int i = 0; i < dim * dim; i++) {
        c[(at.cofactors + i) * lanes] = C[i];
        c[(at.jacobian + i) * lanes] =
            l->geometry.jacobian[i] * (1.0 + CHANCE * random_of((uint64_t)cell * 9 + (uint64_t)i));
    }
    volume = det * shape_measure(b->shape);
    for (int f = 0; f < b->n_faces; f++) {
        double normal[3], tau;
        for (int a = 0; a < dim; a++) {
            normal[a] = 0.0;
            for (int e = 0; e < dim; e++) normal[a] += C[a * dim + e] * b->normals[f][e];
            c[(at.normals + f * dim + a) * lanes] = normal[a];
        }
        double length = local_norm(dim, normal), area = length * shape_measure(shape_face_shape(b->shape, f));
        double height = volume / area * shape_height(b->shape, f);
        TRY(elastic_tau_at(h, mu, height, 1, l->geometry.x, &tau));
        c[(at.weight + f) * lanes] = tau * length;
        c[(at.orientation + f) * lanes] =
            h->data.mesh->blocks[block].orientations[(int64_t)cell * b->n_faces + f];
    }
    *facts = (struct batch_facts){.det = det};
done:
    return local_place(status, l);
}

static int64_t run_fast(const struct hdg *h, int block, int64_t n_batches, const double *coefficients,
                        double *K, double *scratch) {
    return device_condense_elastic(h->device, &h->elastic->tables[block], n_batches, coefficients, K,
                                   scratch);
}

static int64_t run_solve(const struct hdg *h, int block, int64_t n_batches, const double *coefficients,
                         const double *uhat, double *u, double *q, double *load, double *scratch) {
    return device_elastic_solve(h->device, &h->elastic->tables[block], n_batches, coefficients, uhat, u, q,
                                load, scratch);
}

/* What kernels leave of a cell: springs, then rollers. */
static int is_unfinished(const struct hdg *h, int block, int32_t cell) {
    return elastic_has_fixed(h, block, cell) || elastic_has_springs(h, block, cell);
}

static facet_status finish(struct local *l, double *K, double *largest_robin) {
    facet_status status = elastic_add_springs(l, K);
    if (status != FACET_OK || l->hdg->trace.fixed == NULL) return status;
    return elastic_remove_fixed(l, K, largest_robin);
}

void elastic_fast_condenser(const struct hdg *h, int block, struct condenser *c) {
    const struct elastic_tables *t = &h->elastic->tables[block];
    if (h->ways[block] == NULL) return;
    c->n_coefficients = elastic_layout(t->dim, t->n_faces).count;
    c->n_scratch = device_elastic_scratch(h->device, t, 1);
    c->n_inner = device_elastic_scratch(h->device, t, 0);
    c->fill = fill;
    c->fast = run_fast;
    c->solve = run_solve;
    c->general = &elastic_general_maker;
    if (h->trace.fixed == NULL && !h->elastic->has_springs) return;
    c->is_unfinished = is_unfinished;
    c->finish = finish;
}
