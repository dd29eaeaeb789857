/* Element matrices of elasticity: condensation of one cell, unknowns whose value is given (rollers), and the
 * correction that tractions make in the gradient formulation.
 *
 * There the natural condition is (mu H - p I) n, and the traction is more by (mu H' - mu tr H I) n. With H_ac
 * = -M^-1 t_ac and the Gram matrix P of the cell, the moments of the surplus on the rows (c, i) of face f are
 *
 *     mu (P_ca - P_ac) [u; -uhat],    rows (f, i), component a in the columns,
 *
 * and with u = S^-1 f + U uhat they are N uhat + (load) f: K + N is the matrix, F - (load) f the right-hand
 * side. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "hdg/elastic.h"

/* K_e times a translation is zero (hdg/condense.c says why to the last bit). One translation after the
 * other: the later ones do not disturb the earlier, K_e being symmetric. */
static void restore_translations(struct local *l, double *matrix) {
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    int dim = l->hdg->data.mesh->dim, n = dim * b->n_trace;
    int places[SHAPE_MAX_FACES];
    double ones[SHAPE_MAX_FACES];
    for (int c = l->hdg->space.revolved; c < dim; c++) { /* about an axis: along it alone */
        memset(l->vector, 0, (size_t)n * sizeof *l->vector);
        int n_ones = local_find_ones(l, dim, c, places, ones);
        l->missing = fmax(l->missing, local_restore_sums(n, n_ones, places, ones, l->vector, matrix));
    }
}

/* X (dim x n_trace): the traces of the coordinates on the faces of the cell, their means taken off. */
static void trace_coordinates(struct local *l, double *X) {
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    int dim = l->hdg->data.mesh->dim, row, places[SHAPE_MAX_FACES];
    double ones[SHAPE_MAX_FACES], square = 0.0;
    memset(X, 0, (size_t)(dim * b->n_trace) * sizeof *X);
    for (int f = 0; f < b->n_faces; f++) {
        const struct hdg_face_table *table = hdg_face_of(l->hdg->functions[l->block].face, f);
        (void)local_face(l, f, &row);
        for (int q = 0; q < table->rule.n; q++)
            for (int a = 0; a < dim; a++)
                for (int i = 0; i < table->m; i++)
                    X[a * b->n_trace + b->starts[f] + i] += table->rule.w[q] * table->psi[q * table->m + i] *
                                                            (l->x[q * dim + a] - l->geometry.x[a]);
    }
    int n_ones = local_find_ones(l, 1, 0, places, ones);
    for (int f = 0; f < n_ones; f++) square += ones[f] * ones[f];
    for (int a = 0; a < dim; a++) { /* orthogonal to the function 1 */
        double mean = 0.0;
        for (int f = 0; f < n_ones; f++) mean += ones[f] * X[a * b->n_trace + places[f]] / square;
        for (int f = 0; f < n_ones; f++) X[a * b->n_trace + places[f]] -= mean * ones[f];
    }
}

/* v (n): the rotation about an axis, orthogonal to the translations and the rotations before it, of length
 * 1. */
static void make_rotation(const struct local *l, int axis, const double *X, const double *before,
                          int n_before, double *v) {
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    int dim = l->hdg->data.mesh->dim, n = dim * b->n_trace;
    int from = (axis + 1) % 3, to = (axis + 2) % 3;
    memset(v, 0, (size_t)n * sizeof *v);
    for (int f = 0; f < b->n_faces; f++)
        for (int i = 0; i < hdg_face_size(b, f); i++) {
            v[elastic_trace_start(b, dim, f, from) + i] = -X[to * b->n_trace + b->starts[f] + i];
            v[elastic_trace_start(b, dim, f, to) + i] = X[from * b->n_trace + b->starts[f] + i];
        }
    for (int k = 0; k < 2 * n_before; k++) { /* twice is enough */
        const double *u = before + (int64_t)(k % n_before) * n;
        cblas_daxpy(n, -cblas_ddot(n, u, 1, v, 1), u, 1, v, 1);
    }
    cblas_dscal(n, 1.0 / cblas_dnrm2(n, v, 1), v, 1);
}

/* So are rotations, where the faces can hold them and stresses are symmetric. What is missing is rounding,
 * unless the rule is not exact on a curved cell. */
#define EXACT 1e-8

static void restore_rotations(struct local *l, double *K) {
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int dim = h->data.mesh->dim, n = dim * b->n_trace, n_rotations = dim == 2 ? 1 : 3;
    double *X = l->vector, *d = X + n, *all = d + n;
    if (elastic_is_gradient(&h->data) || h->data.mesh->order > h->space.degree || h->space.revolved) return;
    trace_coordinates(l, X);
    for (int r = 0; r < n_rotations; r++) {
        double *v = all + (int64_t)r * n, missing, largest = 0.0;
        make_rotation(l, dim == 2 ? 2 : r, X, all, r, v);
        for (int i = 0; i < n; i++) largest = fmax(largest, K[i * n + i]);
        cblas_dsymv(CblasRowMajor, CblasUpper, n, -1.0, K, n, v, 1, 0.0, d, 1);
        missing = cblas_dnrm2(n, d, 1) / largest;
        if (!(missing < EXACT)) return;
        l->missing = fmax(l->missing, missing);
        cblas_daxpy(n, -0.5 * cblas_ddot(n, d, 1, v, 1), v, 1, d, 1);
        cblas_dsyr2(CblasRowMajor, CblasUpper, n, 1.0, d, 1, v, 1, K, n);
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) K[j * n + i] = K[i * n + j];
    }
}

/* v: the traces of the motion (r, -2 (z - mean)) about an axis; t: the moments of its traction 2 mu (n_r, -2
 * n_z). Answers with |v|^2. */
static double trace_swelling(struct local *l, double *v, double *t) {
    const struct hdg_block_space *b = &l->hdg->space.blocks[l->block];
    int n = 2 * b->n_trace, row, places[SHAPE_MAX_FACES];
    double ones[SHAPE_MAX_FACES], square = 0.0, mean = 0.0;
    memset(v, 0, (size_t)n * sizeof *v);
    memset(t, 0, (size_t)n * sizeof *t);
    for (int f = 0; f < b->n_faces; f++) {
        const struct hdg_face_table *table = hdg_face_of(l->hdg->functions[l->block].face, f);
        if (local_on_axis(l, f)) continue;
        (void)local_face(l, f, &row);
        for (int a = 0; a < 2; a++)
            for (int i = 0; i < table->m; i++) {
                int at = elastic_trace_start(b, 2, f, a) + i;
                for (int q = 0; q < table->rule.n; q++) {
                    double psi = table->psi[q * table->m + i], x = l->x[q * 2 + a];
                    v[at] += table->rule.w[q] * psi * (a == 0 ? x : -2.0 * (x - l->geometry.x[1]));
                    t[at] += 2.0 * l->elastic->mu[0] * psi * (a == 0 ? 1.0 : -2.0) * l->normal[q * 2 + a];
                }
            }
    }
    int n_ones = local_find_ones(l, 2, 1, places, ones);
    for (int f = 0; f < n_ones; f++) square += ones[f] * ones[f];
    for (int f = 0; f < n_ones; f++) mean += ones[f] * v[places[f]] / square;
    for (int f = 0; f < n_ones; f++) v[places[f]] -= mean * ones[f];
    return cblas_ddot(n, v, 1, v, 1);
}

/* A ring that grows by r and shrinks by 2 z along its axis keeps its volume: its stress is 2 mu diag(1, 1,
 * -2), which balances itself and knows no lambda. K_e times this motion is made what it should be, since in a
 * thin wall it is most of u, and with lambda >> mu or a cell far from the axis its energy is far below the
 * rounding of K_e. */
static void restore_swelling(struct local *l, double *K) {
    const struct hdg *h = l->hdg;
    const int n = 2 * h->space.blocks[l->block].n_trace;
    double *v = l->vector, *d = v + n, square, missing, largest = 0.0;
    if (!hdg_has_hoop(h) || !l->elastic->constant || h->data.mesh->order > h->space.degree ||
        (h->data.orthotropic != NULL &&
         h->data.orthotropic[local_region(&h->data, l->block, l->cell)] != NULL))
        return;
    square = trace_swelling(l, v, d);
    for (int i = 0; i < n; i++) largest = fmax(largest, K[i * n + i]);
    cblas_dsymv(CblasRowMajor, CblasUpper, n, -1.0, K, n, v, 1, 1.0, d, 1);
    missing = cblas_dnrm2(n, d, 1) / (largest * sqrt(square));
    if (!(missing < EXACT)) return;
    l->missing = fmax(l->missing, missing);
    cblas_dscal(n, 1.0 / square, d, 1);
    cblas_daxpy(n, -0.5 * cblas_ddot(n, d, 1, v, 1) / square, v, 1, d, 1);
    cblas_dsyr2(CblasRowMajor, CblasUpper, n, 1.0, d, 1, v, 1, K, n);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) K[j * n + i] = K[i * n + j];
}

static int64_t free_start(const struct local *l, int face) {
    const struct hdg *h = l->hdg;
    int n_faces = h->space.blocks[l->block].n_faces;
    return h->trace.face_free[h->data.mesh->blocks[l->block].faces[(int64_t)l->cell * n_faces + face]];
}

/* Rows and columns of fixed unknowns leave the matrix, but for the diagonal. A face has at most two cells, so
 * that their contributions add to the same sum in either order. */
facet_status elastic_remove_fixed(struct local *l, double *matrix, double *largest_robin) {
    (void)largest_robin;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int dim = h->data.mesh->dim, n = dim * b->n_trace;
    double *moved = h->moved;
    for (int f = 0; f < b->n_faces; f++)
        for (int i = 0; i < dim * hdg_face_size(b, f); i++) {
            int64_t at = free_start(l, f);
            int row = dim * b->starts[f] + i;
            if (at < 0 || !h->trace.fixed[at + i]) continue;
            double value = h->held[at + i], diagonal = matrix[row * n + row];
            for (int j = 0, g = 0; j < n; j++) {
                while (j >= dim * b->starts[g + 1]) g++;
                int64_t to = free_start(l, g), k = j - dim * b->starts[g];
                double entry = matrix[(int64_t)j * n + row];
                if (to >= 0 && !h->trace.fixed[to + k] && entry != 0.0) {
#pragma omp atomic
                    moved[to + k] -= entry * value;
                }
                matrix[(int64_t)j * n + row] = matrix[(int64_t)row * n + j] = 0.0;
            }
            matrix[row * n + row] = diagonal;
            moved[at + i] = diagonal * value;
        }
    return FACET_OK;
}

int elastic_has_fixed(const struct hdg *h, int block, int32_t cell) {
    const struct hdg_block_space *b = &h->space.blocks[block];
    for (int f = 0; f < b->n_faces && h->trace.fixed != NULL; f++) {
        int64_t at = h->trace.face_free[h->data.mesh->blocks[block].faces[(int64_t)cell * b->n_faces + f]];
        for (int i = 0; at >= 0 && i < h->data.mesh->dim * hdg_face_size(b, f); i++)
            if (h->trace.fixed[at + i]) return 1;
    }
    return 0;
}

/* The rows of one face with tractions: from Gram rows (l->elastic->rows) and from C as local_eliminate left
 * it. */
static facet_status traction_rows(struct local *l, int face, struct elastic_traction *t) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    int dim = h->data.mesh->dim, m = hdg_face_size(b, face), size = dim * m, N, n;
    hdg_local_sizes(h, l->block, &N, &n);
    int Nu = N / dim, ld = N + n;
    const double *rows = l->elastic->rows + (int64_t)dim * b->starts[face] * ld;
    /* constant moduli: l->C's Gram was that of the plain mass; else of the mass over mu */
    double scale = l->elastic->constant ? l->elastic->mu[0] : 1.0;
    if (t->trace == NULL) TRY(ALLOC(t->trace, size * n));
    if (t->load == NULL) TRY(ALLOC(t->load, size * N));
    for (int c = 0; c < dim; c++)
        for (int a = 0; a < dim; a++)
            for (int i = 0; i < m; i++) {
                const double *ca = rows + (int64_t)(c * m + i) * ld, *ac = rows + (int64_t)(a * m + i) * ld;
                for (int j = 0; j < Nu; j++) /* P_ca - P_ac on u_a: columns of direction a, of direction c */
                    t->load[(c * m + i) * N + a * Nu + j] = scale * (ca[a * Nu + j] - ac[c * Nu + j]);
                for (int f = 0; f < b->n_faces; f++) {
                    int in_a = elastic_trace_start(b, dim, f, a), in_c = elastic_trace_start(b, dim, f, c);
                    for (int j = 0; j < hdg_face_size(b, f); j++)
                        t->trace[(c * m + i) * n + in_a + j] = -scale * (ca[N + in_a + j] - ac[N + in_c + j]);
                }
            }
    /* load = load S^-1, and between its halves trace += (load L'^-1) (L^-1 R) */
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, size, N, 1.0, l->C, ld,
                t->load, N);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size, n, N, 1.0, t->load, N, l->C + N, ld, 1.0,
                t->trace, n);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasUpper, CblasTrans, CblasNonUnit, size, N, 1.0, l->C, ld,
                t->load, N);
done:
    return status;
}

/* From what the cell sees to the unknowns, where these are turned. */
static void turn_vector(const struct local *l, int back, double *v) {
    trace_turn(&l->hdg->trace, l->block, l->cell, back, 1, 0, 1, v);
}

static void turn_rows(const struct local *l, int face, int N, int n, struct elastic_traction *t) {
    const struct trace_space *trace = &l->hdg->trace;
    trace_turn(trace, l->block, l->cell, 1,
               hdg_face_size(&l->hdg->space.blocks[l->block], face) * trace->n_components, n, 1, t->trace);
    trace_turn_slot(trace, l->block, l->cell, face, 1, n, 1, n, t->trace);
    trace_turn_slot(trace, l->block, l->cell, face, 1, N, 1, N, t->load);
}

static facet_status elastic_cell(struct local *l, double *K, double *largest_robin) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    struct hdg_elastic *e = h->elastic;
    int n_faces = h->space.blocks[l->block].n_faces, N, n;
    *largest_robin = 0.0; /* there are no such conditions */
    hdg_local_sizes(h, l->block, &N, &n);
    TRY(elastic_matrix(l));
    TRY(local_eliminate(l, N, n, K));
    restore_swelling(l, K);
    restore_translations(l, K);
    restore_rotations(l, K);
    TRY(elastic_add_springs(l, K));
    for (int f = 0; f < n_faces && e->face_traction != NULL; f++) {
        int32_t traction = e->face_traction[local_face_number(l, f)];
        if (traction < 0) continue;
        TRY(traction_rows(l, f, &e->tractions[traction]));
        turn_rows(l, f, N, n, &e->tractions[traction]);
    }
    trace_turn(&h->trace, l->block, l->cell, 1, n, n, 1, K);
    trace_turn(&h->trace, l->block, l->cell, 1, n, 1, n, K);
    if (h->trace.fixed != NULL) TRY(elastic_remove_fixed(l, K, largest_robin));
done:
    return status;
}

void elastic_condenser(const struct hdg *h, int block, struct condenser *c) {
    *c = (struct condenser){.matrix = elastic_matrix, .cell = elastic_cell, .turn = turn_vector, .sign = 1.0};
    hdg_local_sizes(h, block, &c->N, &c->n);
    elastic_fast_condenser(h, block, c);
}

/* ---------------------------------------------------------------------------------------- correction */

static int is_fixed(const struct hdg *h, int64_t unknown) {
    return h->trace.fixed != NULL && h->trace.fixed[unknown];
}

/* One row of the correction: free columns into the csr, ascending by face, the others to the lift. */
static void correction_row(const struct hdg *h, const struct elastic_traction *t, int i, struct csr *csr,
                           double *lift) {
    const struct hdg_block_space *b = &h->space.blocks[t->block];
    const int32_t *faces = h->data.mesh->blocks[t->block].faces + (int64_t)t->cell * b->n_faces;
    int dim = h->data.mesh->dim, n = dim * b->n_trace, order[SHAPE_MAX_FACES];
    int64_t row = h->trace.face_free[t->face] + i, at = csr->offsets[row];
    for (int f = 0; f < b->n_faces; f++) { /* ascending */
        int k = f;
        for (; k > 0 && faces[order[k - 1]] > faces[f]; k--) order[k] = order[k - 1];
        order[k] = f;
    }
    lift[row] = 0.0;
    if (is_fixed(h, row)) return;
    for (int k = 0; k < b->n_faces; k++) {
        const double *from = t->trace + (int64_t)i * n + dim * b->starts[order[k]];
        int32_t face = faces[order[k]];
        for (int j = 0; j < dim * hdg_face_size(b, order[k]); j++) {
            int64_t column = h->trace.face_free[face];
            if (column < 0)
                lift[row] -= from[j] * h->eliminated[h->trace.face_first[face] + j];
            else if (is_fixed(h, column + j))
                lift[row] -= from[j] * h->held[column + j];
            csr->columns[at] = (int32_t)(column + j);
            csr->values[at] = column < 0 || is_fixed(h, column + j) ? 0.0 : from[j];
            if (column >= 0) at++;
        }
    }
}

static int traction_size(const struct hdg *h, const struct elastic_traction *t) {
    return h->data.mesh->dim * hdg_face_size(&h->space.blocks[t->block], t->local);
}

static int64_t correction_length(const struct hdg *h, const struct elastic_traction *t) {
    const struct hdg_block_space *b = &h->space.blocks[t->block];
    const int32_t *faces = h->data.mesh->blocks[t->block].faces + (int64_t)t->cell * b->n_faces;
    int64_t length = 0;
    for (int f = 0; f < b->n_faces; f++)
        if (h->trace.face_free[faces[f]] >= 0) length += h->data.mesh->dim * hdg_face_size(b, f);
    return length;
}

static facet_status make_correction(struct hdg *h) {
    facet_status status = FACET_OK;
    struct hdg_elastic *e = h->elastic;
    struct csr *csr = &e->correction;
    csr_destroy(csr);
    csr->n = h->trace.n_free;
    csr->asymmetric = 1;
    TRY(CALLOC(csr->offsets, csr->n + 1));
    for (int64_t k = 0; k < e->n_tractions; k++) {
        const struct elastic_traction *t = &e->tractions[k];
        int size = traction_size(h, t);
        for (int i = 0; i < size; i++)
            csr->offsets[h->trace.face_free[t->face] + i + 1] =
                is_fixed(h, h->trace.face_free[t->face] + i) ? 0 : correction_length(h, t);
    }
    base_sum_up(csr->n, csr->offsets);
    TRY(ALLOC(csr->columns, csr->offsets[csr->n] + 1)); /* one more: where eliminated columns fall */
    TRY(ALLOC(csr->values, csr->offsets[csr->n] + 1));
    for (int64_t k = 0; k < e->n_tractions; k++) {
        int size = traction_size(h, &e->tractions[k]);
        for (int i = 0; i < size; i++) correction_row(h, &e->tractions[k], i, csr, e->correction_lift);
    }
done:
    return status;
}

facet_status elastic_finish_condense(struct hdg *h) {
    facet_status status = FACET_OK;
    for (int64_t i = 0; i < h->trace.n_free && h->moved != NULL; i++)
        h->lift[i] = is_fixed(h, i) ? h->moved[i] : h->lift[i] + h->moved[i];
    if (!h->nonsymmetric) return FACET_OK;
    TRY(make_correction(h));
    for (int64_t i = 0; i < h->trace.n_free; i++) h->lift[i] += h->elastic->correction_lift[i];
done:
    return status;
}

void elastic_finish_load(const struct hdg *h, const struct hdg_solution *s, double *F) {
    const int lanes = h->lanes;
    const struct hdg_elastic *e = h->elastic;
    for (int64_t k = 0; k < e->n_tractions; k++) {
        const struct elastic_traction *t = &e->tractions[k];
        int N, n, size = traction_size(h, t);
        hdg_local_sizes(h, t->block, &N, &n);
        const double *f = s->loads[t->block] + local_lane(lanes, t->cell, N);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, size, N, -1.0, t->load, N, f, lanes, 1.0,
                    F + h->trace.face_free[t->face], 1);
    }
    for (int64_t i = 0; i < h->trace.n_free && h->trace.fixed != NULL; i++)
        if (h->trace.fixed[i]) F[i] = h->lift[i];
}

facet_status elastic_operator(const struct hdg *h, struct linear_operator *A) {
    facet_status status = FACET_OK;
    struct linear_operator parts[2] = {{0}, {0}};
    TRY(trace_operator_create(&h->trace, &h->matrices, &parts[0]));
    TRY(operator_create_csr(h->device, &h->elastic->correction, &parts[1]));
    TRY(operator_create_sum(h->device, h->trace.n_free, 2, parts,
                            "the trace matrix of tractions in the gradient formulation", A));
done:
    for (int i = 0; i < 2; i++) operator_destroy(&parts[i]);
    return status;
}

void elastic_add_correction(const struct hdg *h, struct csr *csr) {
    const struct csr *from = &h->elastic->correction;
    csr->asymmetric = h->nonsymmetric;
    for (int64_t i = 0; i < csr->n && h->nonsymmetric; i++) {
        int64_t at = csr->offsets[i];
        for (int64_t k = from->offsets[i]; k < from->offsets[i + 1]; k++) {
            while (csr->columns[at] != from->columns[k]) at++; /* both ascend, and the matrix has them all */
            csr->values[at] += from->values[k];
        }
    }
}
