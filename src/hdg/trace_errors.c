/* Errors of the trace against the exact solution, a few batches of faces at a time: the map of a face is that
 * of its nodes, in its frame, where the trace has its functions, so that all faces of a block that are of one
 * shape share two tables. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/general.h"
#include "poly/basis.h"

enum {
    T_NODES,  /* of the face, in its frame */
    T_POINTS, /* n x dim x dim: x, and its derivatives by the coordinates of the frame */
    T_TRACE,  /* m x components: coefficients */
    T_VALUES, /* n x components */
    /* of the host, for every point one lane after the other: */
    T_X,     /* n x LANES x dim */
    T_EXACT, /* n x LANES x components */
    N_ARRAYS
};

struct trace_job {
    const struct hdg_solution *solution;
    enum shape shape; /* of the faces */
    const struct hdg_face_table *table;
    int64_t n_faces;
    int32_t *list;                          /* n_faces: those whose first cell is in the block */
    int n_nodes;                            /* of a face */
    int32_t nodes[SHAPE_MAX_FACES][8][121]; /* which of the cell's, by face and orientation */
    double *map;                            /* device: n_nodes x n dim */
    double *psi;                            /* device: m x n */
    double *faces;                          /* what is found */
};

/* The cell's node at every node of the frame: the one whose Lagrange function is 1 there. */
static facet_status find_nodes(enum shape shape, int order, struct trace_job *job) {
    facet_status status = FACET_OK;
    enum shape face = job->shape;
    int dim = shape_dim(shape), n = shape_n_nodes(shape, order);
    double *s = NULL, *values = NULL, xi[3];
    job->n_nodes = shape_n_nodes(face, order);
    TRY(ALLOC(s, job->n_nodes * dim));
    TRY(ALLOC(values, n));
    shape_nodes(face, order, s);
    for (int f = 0; f < shape_n_faces(shape); f++)
        for (int o = 0; o < shape_n_orientations(face) && shape_face_shape(shape, f) == face; o++)
            for (int i = 0; i < job->n_nodes; i++) {
                shape_face_point(shape, f, o, s + i * (dim - 1), xi);
                TRY(basis_lagrange(shape, order, 1, xi, values, NULL));
                job->nodes[f][o][i] = (int32_t)cblas_idamax(n, values, 1);
            }
done:
    base_free(&s);
    base_free(&values);
    return status;
}

static facet_status find_tables(const struct hdg *h, struct trace_job *job) {
    facet_status status = FACET_OK;
    const struct hdg_face_table *table = job->table;
    int dim = h->data.mesh->dim, n = table->rule.n, m = table->m, nodes = job->n_nodes, along = dim - 1;
    double *values = NULL, *slopes = NULL, *turned = NULL;
    TRY(ALLOC(values, n * nodes));
    TRY(ALLOC(slopes, n * nodes * along));
    TRY(ALLOC(turned, n * (nodes * dim > m ? nodes * dim : m)));
    TRY(basis_lagrange(job->shape, h->data.mesh->order, n, table->rule.x, values, slopes));
    for (int q = 0; q < n; q++)
        for (int i = 0; i < nodes; i++) {
            double *to = turned + (i * n + q) * dim;
            to[0] = values[q * nodes + i];
            for (int b = 0; b < along; b++) to[1 + b] = slopes[(q * nodes + i) * along + b];
        }
    TRY(device_copy(h->device, &job->map, turned, (size_t)(nodes * n * dim), sizeof *turned));
    for (int q = 0; q < n; q++)
        for (int j = 0; j < m; j++) turned[j * n + q] = table->psi[q * m + j];
    TRY(device_copy(h->device, &job->psi, turned, (size_t)(n * m), sizeof *turned));
done:
    base_free(&values);
    base_free(&slopes);
    base_free(&turned);
    return status;
}

static facet_status find_faces(const struct facet_mesh *mesh, int block, struct trace_job *job) {
    const struct mesh_block *b = &mesh->blocks[block];
    facet_status status = ALLOC(job->list, mesh->n_faces);
    for (int32_t f = 0; f < mesh->n_faces && status == FACET_OK; f++)
        if (mesh->face_shapes[f] == job->shape && mesh->face_cells[2 * (int64_t)f] >= b->first &&
            mesh->face_cells[2 * (int64_t)f] < b->first + b->count)
            job->list[job->n_faces++] = f;
    return status;
}

/* The face of a lane; lanes nobody uses repeat the last one. */
static int32_t face_of(const struct general_work *w, const struct trace_job *job, int64_t batch, int lane) {
    int64_t i = batch * w->hdg->lanes + lane;
    return job->list[i < job->n_faces ? i : job->n_faces - 1];
}

/* Coefficients of the trace on a face of the cell at hand, m x components, and as many of scratch. What has
 * no unknowns there is u itself, a polynomial of its degree. */
static void put_trace(struct local *l, const struct hdg_solution *s, int32_t face, int local, double *to) {
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int nc = h->trace.n_components, m = hdg_face_size(b, local);
    if (!h->data.equation->by_faces) {
        cblas_dgemv(CblasRowMajor, CblasTrans, b->N, m, 1.0,
                    b->F_ref + (int64_t)(local * 8 + local_orientation(l, local)) * b->N * b->m, m,
                    s->u[l->block] + (int64_t)l->cell * b->N, 1, 0.0, to, 1);
        return;
    }
    double *seen = to + nc * m;
    memcpy(seen, s->trace + h->trace.face_first[face], (size_t)(nc * m) * sizeof *seen);
    trace_turn_slot(&h->trace, l->block, l->cell, local, 0, 1, 0, 1, seen);
    for (int j = 0; j < m; j++)
        for (int c = 0; c < nc; c++) to[j * nc + c] = seen[c * m + j];
}

/* Nodes and trace of one lane. */
static void put_face(struct general_work *w, const struct trace_job *job, int64_t begin, int64_t batch,
                     int lane) {
    const struct facet_mesh *mesh = w->hdg->data.mesh;
    const struct mesh_block *b = &mesh->blocks[w->block];
    struct local *l = &w->local;
    int lanes = w->hdg->lanes, dim = mesh->dim, size = job->table->m * w->hdg->trace.n_components;
    int32_t face = face_of(w, job, begin + batch, lane);
    int local = mesh->face_locals[2 * (int64_t)face];
    double *nodes = w->host[T_NODES] + batch * w->size[T_NODES] + lane;
    double *trace = w->host[T_TRACE] + batch * w->size[T_TRACE] + lane;
    l->block = w->block;
    l->cell = mesh->face_cells[2 * (int64_t)face] - b->first;
    const int32_t *numbers = job->nodes[local][local_orientation(l, local)];
    for (int i = 0; i < job->n_nodes; i++)
        for (int a = 0; a < dim; a++)
            nodes[(i * dim + a) * lanes] = b->nodes[((int64_t)l->cell * b->n_nodes + numbers[i]) * dim + a];
    put_trace(l, job->solution, face, local, l->vector);
    for (int i = 0; i < size; i++) trace[i * lanes] = l->vector[i];
}

/* The area element from the derivatives of x by the coordinates of the frame, `lanes` numbers apart. */
static inline double area_element(int dim, int lanes, const double *J) {
    if (dim == 2) return sqrt(J[0] * J[0] + J[lanes] * J[lanes]);
    const double *a = J, *b = J + 3 * lanes;
    double square = 0.0;
    for (int c = 0; c < 3; c++) {
        int c1 = (c + 1) % 3 * lanes, c2 = (c + 2) % 3 * lanes;
        double normal = a[c1] * b[c2] - a[c2] * b[c1];
        square += normal * normal;
    }
    return sqrt(square);
}

/* Squares of the errors of the face of one lane, and its area. */
static void measure_face(const struct general_work *w, const struct rule *rule, int64_t batch, int lane,
                         double *sums) {
    const struct hdg *h = w->hdg;
    int dim = h->data.mesh->dim, nc = h->trace.n_components, lanes = h->lanes;
    const double *points = w->host[T_POINTS] + batch * w->size[T_POINTS] + lane;
    const double *values = w->host[T_VALUES] + batch * w->size[T_VALUES] + lane;
    const double *exact = w->host[T_EXACT] + batch * w->size[T_EXACT] + lane * nc;
    for (int c = 0; c <= nc; c++) sums[c] = 0.0;
    for (int q = 0; q < rule->n; q++) {
        const double *at = points + (int64_t)q * dim * dim * lanes; /* x, then its derivatives */
        double area = rule->w[q] * area_element(dim, lanes, at + dim * lanes);
        if (h->space.revolved) area *= HDG_AROUND * at[0];
        sums[nc] += area;
        for (int c = 0; c < nc; c++) {
            double error = values[(q * nc + c) * lanes] - exact[q * lanes * nc + c];
            sums[c] += area * error * error;
        }
    }
}

static facet_status trace_piece(struct general_work *w, int64_t begin, int64_t n, void *user) {
    facet_status status = FACET_OK;
    const struct trace_job *job = user;
    const struct hdg *h = w->hdg;
    const struct hdg_face_table *table = job->table;
    int lanes = h->lanes, dim = h->data.mesh->dim, nc = h->trace.n_components, points = table->rule.n;
    double *x = w->host[T_X];
    for (int64_t i = 0; i < n * lanes; i++) put_face(w, job, begin, i / lanes, (int)(i % lanes));
    TRY(general_send(w, T_NODES, n));
    TRY(general_send(w, T_TRACE, n));
    device_table_apply(h->device, lanes, n, points * dim, job->n_nodes, dim, job->map, w->device[T_NODES],
                       w->device[T_POINTS]);
    device_table_apply(h->device, lanes, n, points, table->m, nc, job->psi, w->device[T_TRACE],
                       w->device[T_VALUES]);
    TRY(general_fetch(w, T_POINTS, n));
    TRY(general_fetch(w, T_VALUES, n));
    general_all_points(h, n * points, dim * dim, w->host[T_POINTS], x);
    status = field_eval(h->data.exact, (int)n * points * lanes, dim, x, w->host[T_EXACT]);
    if (status != FACET_OK) return base_wrap(status, "exact");
    for (int64_t i = 0; i < n * lanes && begin * lanes + i < job->n_faces; i++)
        measure_face(w, &table->rule, i / lanes, (int)(i % lanes),
                     job->faces + (int64_t)face_of(w, job, begin + i / lanes, (int)(i % lanes)) * (nc + 1));
done:
    return status;
}

static facet_status measure_block(const struct hdg *h, int block, struct trace_job *job) {
    facet_status status = FACET_OK;
    const struct hdg_face_table *table = job->table;
    int64_t dim = h->data.mesh->dim, n = table->rule.n, nc = h->trace.n_components;
    TRY(find_faces(h->data.mesh, block, job));
    if (job->n_faces == 0) goto done;
    TRY(find_nodes(h->space.blocks[block].shape, h->data.mesh->order, job));
    TRY(find_tables(h, job));
    struct general_plan plan = {.n_arrays = N_ARRAYS,
                                .sizes = {[T_NODES] = job->n_nodes * dim,
                                          [T_POINTS] = n * dim * dim,
                                          [T_TRACE] = table->m * nc,
                                          [T_VALUES] = n * nc,
                                          [T_X] = n * dim,
                                          [T_EXACT] = n * nc},
                                .n_scratch = 1};
    TRY(general_for_pieces(h, block, 0, (job->n_faces + h->lanes - 1) / h->lanes, &plan, trace_piece, job,
                           NULL));
done:
    base_free(&job->list);
    device_free(h->device, &job->map);
    device_free(h->device, &job->psi);
    return status;
}

facet_status general_trace_errors(const struct hdg *h, const struct hdg_solution *solution, double *faces) {
    facet_status status = FACET_OK;
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const struct hdg_face_table *first = &h->space.blocks[b].norm_face;
        for (const struct hdg_face_table *table = first; table != NULL; table = table->other) {
            int one = table == first ? 0 : __builtin_ctz(first->others); /* of its faces */
            struct trace_job job = {.solution = solution,
                                    .shape = shape_face_shape(h->space.blocks[b].shape, one),
                                    .table = table,
                                    .faces = faces};
            TRY(measure_block(h, b, &job));
        }
    }
done:
    return status;
}
