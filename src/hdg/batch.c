/* What the kernels need to know of affine cells: reference matrices once, a few numbers per cell. */
#include "hdg/batch.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/diffusion.h"

/* Reference matrices on the host, before they go to the device. */
struct host_tables {
    double *stiffness, *face_mass, *F, *DF, *FF;
};

static void fill_volume_tables(const struct hdg_block_space *b, int dim, struct host_tables *h) {
    int N = b->N, pair = 0;
    for (int c = 0; c < dim; c++)
        for (int a = 0; a <= c; a++, pair++) {
            double *P = h->stiffness + (int64_t)pair * N * N;
            const double *Da = b->D_ref + (int64_t)a * N * N, *Dc = b->D_ref + (int64_t)c * N * N;
            cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, N, N, 1.0, Da, N, Dc, N, 0.0, P, N);
            if (a < c)
                cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, N, N, 1.0, Dc, N, Da, N, 1.0, P, N);
        }
}

static void fill_face_tables(const struct hdg_block_space *b, int dim, struct host_tables *h) {
    int N = b->N, m = b->m;
    for (int f = 0; f < b->n_faces; f++) {
        const double *F = b->F_ref + (int64_t)f * 8 * N * m; /* orientation 0 */
        memcpy(h->F + (int64_t)f * N * m, F, (size_t)(N * m) * sizeof *F);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, N, N, m, 1.0, F, m, F, m, 0.0,
                    h->face_mass + (int64_t)f * N * N, N);
        for (int a = 0; a < dim; a++)
            cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, N, m, N, 1.0, b->D_ref + (int64_t)a * N * N,
                        N, F, m, 0.0, h->DF + (int64_t)(f * dim + a) * N * m, m);
        for (int g = 0; g < b->n_faces; g++)
            cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, m, N, 1.0, F, m,
                        b->F_ref + (int64_t)g * 8 * N * m, m, 0.0,
                        h->FF + (int64_t)(f * b->n_faces + g) * m * m, m);
    }
}

facet_status batch_tables_create(struct hdg *hdg, int block) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &hdg->space.blocks[block];
    struct affine_tables *t = &hdg->tables[block];
    struct host_tables h = {0};
    int dim = hdg->data.mesh->dim;
    size_t N = (size_t)b->N, m = (size_t)b->m, faces = (size_t)b->n_faces, directions = (size_t)dim;
    size_t pairs = directions * (directions + 1) / 2;
    *t = (struct affine_tables){.lanes = hdg->lanes,
                                .dim = dim,
                                .n_faces = b->n_faces,
                                .N = b->N,
                                .m = b->m,
                                .volume = shape_measure(b->shape),
                                .face = shape_measure(shape_face_shape(b->shape, 0))};
    TRY(ALLOC(h.stiffness, pairs * N * N));
    TRY(ALLOC(h.face_mass, faces * N * N));
    TRY(ALLOC(h.F, faces * N * m));
    TRY(ALLOC(h.DF, faces * directions * N * m));
    TRY(ALLOC(h.FF, faces * faces * m * m));
    fill_volume_tables(b, dim, &h);
    fill_face_tables(b, dim, &h);
    TRY(device_copy(hdg->device, &t->stiffness, h.stiffness, pairs * N * N, sizeof(double)));
    TRY(device_copy(hdg->device, &t->face_mass, h.face_mass, faces * N * N, sizeof(double)));
    TRY(device_copy(hdg->device, &t->F, h.F, faces * N * m, sizeof(double)));
    TRY(device_copy(hdg->device, &t->DF, h.DF, faces * directions * N * m, sizeof(double)));
    TRY(device_copy(hdg->device, &t->FF, h.FF, faces * faces * m * m, sizeof(double)));
    TRY(device_copy(hdg->device, &t->D, b->D_ref, directions * N * N, sizeof(double)));
    TRY(batch_turns_create(hdg, block));
done:
    base_free(&h.stiffness);
    base_free(&h.face_mass);
    base_free(&h.F);
    base_free(&h.DF);
    base_free(&h.FF);
    return status;
}

void batch_tables_destroy(struct hdg *hdg, int block) {
    struct affine_tables *t = &hdg->tables[block];
    const double **arrays[] = {&t->stiffness, &t->face_mass, &t->F, &t->DF, &t->FF, &t->D};
    for (int i = 0; i < 6; i++) device_free(hdg->device, arrays[i]);
    batch_turns_destroy(hdg, block);
}

int batch_has_robin(const struct hdg *h, int block, int32_t cell) {
    const struct hdg_data *data = &h->data;
    int n_faces = h->space.blocks[block].n_faces;
    if (!h->has_robin) return 0;
    for (int f = 0; f < n_faces; f++) {
        int32_t condition =
            data->face_condition[data->mesh->blocks[block].faces[(int64_t)cell * n_faces + f]];
        if (condition >= 0 && data->conditions[condition].kind == HDG_ROBIN) return 1;
    }
    return 0;
}

int batch_fits_diffusion(const struct hdg *h, int block, int32_t cell) {
    return field_is_constant(h->data.conductivity[local_region(&h->data, block, cell)], NULL);
}

static int all_fast(const struct hdg *h, int block, batch_fits fits, int64_t batch) {
    const int lanes = h->lanes;
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    int64_t begin = batch * lanes, end = begin + lanes;
    for (int64_t cell = begin; cell < end && cell < b->count; cell++)
        if (!b->affine[cell] || !fits(h, block, (int32_t)cell) ||
            !local_constant_reaction(&h->data, local_region(&h->data, block, (int32_t)cell), NULL))
            return 0;
    return 1;
}

facet_status batch_find_fast(struct hdg *h, int block, batch_fits fits) {
    const struct hdg_data *data = &h->data;
    int64_t n = trace_n_batches(h->device, data->mesh, block);
    int constant = !h->space.revolved && (data->tau == NULL || field_is_constant(data->tau, NULL)) &&
                   !shape_faces_differ(data->mesh->blocks[block].shape);
    facet_status status = CALLOC(h->ways[block], n);
#pragma omp parallel for num_threads(base_threads_for(n * h->lanes)) schedule(static)
    for (int64_t batch = 0; batch < (status == FACET_OK && constant ? n : 0); batch++)
        h->ways[block][batch] = all_fast(h, block, fits, batch) ? BATCH_FAST : BATCH_SINGLE;
    return status;
}

enum batch_way batch_way(const struct hdg *h, int block, int64_t batch) {
    return h->ways[block] != NULL ? (enum batch_way)h->ways[block][batch] : BATCH_SINGLE;
}

facet_status batch_refuse(const struct hdg *h, int block, int64_t batch, const char *what) {
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    int64_t last = (batch + 1) * h->lanes - 1;
    return base_fail(FACET_ERROR_INPUT,
                     "%s of one of the cells %lld to %lld (%s) is singular; is it degenerate?", what,
                     (long long)(b->first + batch * h->lanes),
                     (long long)(b->first + (last < b->count ? last : b->count - 1)), shape_name(b->shape));
}

double batch_map(struct local *l, int block, int32_t cell, double *C) {
    const struct hdg *h = l->hdg;
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    const struct hdg_table *center = &h->space.blocks[block].center;
    int dim = h->data.mesh->dim;
    l->block = block;
    l->cell = cell;
    mesh_cell_map(b, dim, cell, 1, center->geo, center->geo_grad, NULL, l->geometry.jacobian);
    memcpy(l->geometry.x, b->nodes + (int64_t)cell * b->n_nodes * dim, (size_t)dim * sizeof(double));
    return straight_cofactors(dim, l->geometry.jacobian, C);
}

/* The data of the cell at hand, whose point is known. */
static facet_status find_data(struct local *l) {
    facet_status status = FACET_OK;
    const struct hdg_data *data = &l->hdg->data;
    const int32_t region = local_region(data, l->block, l->cell);
    const double *x = l->geometry.x;
    double tau;
    if (l->known == region + 1) return FACET_OK;
    l->known = 0;
    TRY(local_conductivity(l, region, 1, x, l->known_K));
    TRY(local_reaction(data, region, 1, x, &l->known_reaction));
    if (data->tau != NULL) TRY(local_given_tau(data, 1, x, &tau));
    l->known = region + 1;
done:
    return local_place(status, l);
}

facet_status batch_cell(struct local *l, int block, int32_t cell, struct batch_cell *out) {
    facet_status status = FACET_OK;
    int dim = l->hdg->data.mesh->dim;
    out->det = batch_map(l, block, cell, out->C);
    double scale = 1.0 / out->det;
    TRY(find_data(l));
    memcpy(out->K, l->known_K, sizeof out->K);
    out->reaction = l->known_reaction;
    for (int a = 0; a < dim; a++)
        for (int e = 0; e < dim; e++) {
            double sum = 0.0;
            for (int d = 0; d < dim; d++) sum += out->K[a * dim + d] * out->C[d * dim + e];
            out->KC[a * dim + e] = sum * scale;
        }
done:
    return status;
}

void batch_stiffness(int dim, const struct batch_cell *a, int step, double *c) {
    for (int e = 0; e < dim; e++)
        for (int b = 0; b <= e; b++, c += step) {
            *c = 0.0;
            for (int d = 0; d < dim; d++) *c += a->C[d * dim + b] * a->KC[d * dim + e];
        }
}

struct straight_cells batch_straight(const struct hdg *h, int block) {
    const struct hdg_block_space *b = &h->space.blocks[block];
    return (struct straight_cells){.lanes = h->lanes,
                                   .dim = h->data.mesh->dim,
                                   .n_faces = b->n_faces,
                                   .simplex = shape_is_simplex(b->shape),
                                   .normals = b->normals[0],
                                   .volume = shape_measure(b->shape),
                                   .face = shape_measure(shape_face_shape(b->shape, 0)),
                                   .tau_hat = h->data.tau_hat,
                                   .length = h->space.length};
}

facet_status batch_coefficients(const struct hdg *h, int block, int64_t begin, int64_t end, batch_filler fill,
                                int64_t n_coefficients, double *coefficients, double *volumes,
                                double *reaction) {
    const int lanes = h->lanes;
    struct base_collector failures;
    const struct hdg_block_space *b = &h->space.blocks[block];
    int64_t count = h->data.mesh->blocks[block].count, stride = n_coefficients * lanes;
    double largest = 0.0;
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads()) reduction(max : largest)
    {
        struct local l;
        facet_status mine = local_create_light(h, &l);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(static)
        for (int64_t batch = begin; batch < end; batch++) {
            double sum = 0.0;
            for (int lane = 0; lane < lanes && mine == FACET_OK; lane++) {
                int64_t cell = batch * lanes + lane;
                struct batch_facts facts = {0};
                /* lanes nobody uses repeat the last cell */
                mine = fill(&l, block, (int32_t)(cell < count ? cell : count - 1),
                            coefficients + (batch - begin) * stride + lane, &facts);
                base_collect(&failures, cell, mine);
                if (mine != FACET_OK || cell >= count) continue;
                sum += facts.det * shape_measure(b->shape);
                largest = fmax(largest, facts.reaction);
            }
            volumes[batch - begin] = sum;
        }
        local_destroy(&l);
    }
    *reaction = largest;
    return base_collected(&failures);
}
