/* How hard the smoother of a two-level method has to work, from a few element matrices.
 *
 * With K = sum K_e, D = sum D_e (its blocks of single faces) and v any trace, a coarse space that takes the
 * part p of v on every cell leaves z = v - p with (z, D_e z) <= C_e (v, K_e v). A Chebyshev polynomial of the
 * fourth kind of degree d then reduces the error by about C / (C + 4/3 d (d + 1)), C being the largest C_e.
 * So C tells the degree, and which of two coarse spaces is the better one, before any level is made. On quads
 * and hexes it grows like 1 / (tau h) without row modes. What it cannot see is that the functions of a vertex
 * are shared by many cells: on stretched simplices that is the harder part, so the stretching is told apart.
 */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "poly/basis.h"
#include "trace/pmg.h"
#include "trace/pmg_parts.h"
#include "trace/sides.h"

#define SAMPLES      24
#define MANY_SAMPLES 512
/* Parts of a mesh share them; each has these at least. */
#define LEAST_SAMPLES      2
#define LEAST_MANY_SAMPLES 32
/* A column whose part orthogonal to the earlier ones is below this share of it adds nothing. */
#define RANK_TOLERANCE 1e-8
/* Eigenvalues below this share of the largest are zero. */
#define KERNEL_TOLERANCE 1e-11
#define POWER_STEPS      12

/* One sampled cell: n free unknowns. */
struct sample {
    int n, n_columns;
    int *place;        /* of each in the element matrix */
    int *face;         /* local number */
    int64_t *row;      /* of P */
    double *S, *L;     /* n x n, column-major: K_e, then its scaled form; factors of the blocks */
    double *W;         /* n x n_columns: L'P_e, then an orthonormal basis of its range */
    double *values;    /* n */
    int32_t *unknowns; /* n_columns */
};

/* Of a mesh, or of its part. */
static int choose_samples(const struct facet_mesh *mesh, int all, int least) {
    const int parts = team_size(mesh_team(mesh)), share = (all + parts - 1) / parts,
              wanted = share > least ? share : least;
    return mesh->n_cells < wanted ? mesh->n_cells : wanted;
}

static facet_status sample_create(int n, struct sample *s) {
    facet_status status = FACET_OK;
    *s = (struct sample){0};
    TRY(ALLOC(s->place, n));
    TRY(ALLOC(s->face, n));
    TRY(ALLOC(s->row, n));
    TRY(ALLOC(s->S, (int64_t)n * n));
    TRY(ALLOC(s->L, (int64_t)n * n));
    TRY(ALLOC(s->W, (int64_t)n * n));
    TRY(ALLOC(s->values, 4 * n));
    TRY(ALLOC(s->unknowns, n));
done:
    return status;
}

static void sample_destroy(struct sample *s) {
    base_free(&s->place);
    base_free(&s->face);
    base_free(&s->row);
    base_free(&s->S);
    base_free(&s->L);
    base_free(&s->W);
    base_free(&s->values);
    base_free(&s->unknowns);
}

/* The free unknowns of a cell, its matrix, and the columns of P that they meet (at most n of them). */
static void gather(const struct trace_space *space, const double *K, int step, const struct mg_transfer *P,
                   int block, int32_t cell, struct sample *s) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    int n_faces = shape_n_faces(b->shape), place = 0;
    s->n = s->n_columns = 0;
    for (int f = 0; f < n_faces; f++) {
        int32_t face = b->faces[(int64_t)cell * n_faces + f];
        int size = (int)(space->face_first[face + 1] - space->face_first[face]);
        for (int i = 0; i < size && space->face_free[face] >= 0; i++) {
            s->place[s->n] = place + i;
            s->face[s->n] = f;
            s->row[s->n++] = space->face_free[face] + i;
        }
        place += size;
    }
    int n = s->n, most = n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) s->S[(int64_t)j * n + i] = trace_entry(K, step, s->place[i], s->place[j]);
    memset(s->W, 0, (size_t)(n * n) * sizeof *s->W);
    for (int i = 0; i < n; i++)
        for (int64_t e = P->offsets[s->row[i]]; e < P->offsets[s->row[i] + 1]; e++) {
            int c = 0;
            while (c < s->n_columns && s->unknowns[c] != P->columns[e]) c++;
            if (c == most) continue;
            if (c == s->n_columns) s->unknowns[s->n_columns++] = P->columns[e];
            s->W[(int64_t)c * n + i] = P->values[e];
        }
}

/* S = L^-1 K_e L^-T and W = L'P_e, L being the Cholesky factors of the blocks; 0 when one is not definite. */
static int scale(struct sample *s) {
    int n = s->n;
    memset(s->L, 0, (size_t)(n * n) * sizeof *s->L);
    for (int first = 0, last; first < n; first = last) {
        for (last = first; last < n && s->face[last] == s->face[first]; last++) continue;
        for (int j = first; j < last; j++)
            for (int i = j; i < last; i++) s->L[(int64_t)j * n + i] = s->S[(int64_t)j * n + i];
        if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', last - first, s->L + (int64_t)first * n + first, n) !=
            0)
            return 0;
    }
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, n, 1.0, s->L, n, s->S,
                n);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1.0, s->L, n, s->S, n);
    cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, n, s->n_columns, 1.0, s->L, n,
                s->W, n);
    return 1;
}

/* Orthonormal columns in place of W (Gram-Schmidt, twice); their number. */
static int orthonormalise(struct sample *s) {
    int n = s->n, rank = 0;
    for (int c = 0; c < s->n_columns; c++) {
        double *v = s->W + (int64_t)c * n, before = cblas_dnrm2(n, v, 1);
        for (int k = 0; k < 2 * rank; k++) {
            const double *q = s->W + (int64_t)(k % rank) * n;
            cblas_daxpy(n, -cblas_ddot(n, q, 1, v, 1), q, 1, v, 1);
        }
        double after = cblas_dnrm2(n, v, 1);
        if (!(after > RANK_TOLERANCE * before)) continue;
        double *to = s->W + (int64_t)rank++ * n;
        for (int i = 0; i < n; i++) to[i] = v[i] / after;
    }
    return rank;
}

/* The largest eigenvalue of Z'S^+ Z, Z being what is orthogonal to the first `rank` columns of W and S^+ the
 * inverse of S up to its kernel (constants, which W contains): the inverse of the Schur complement of S in
 * which the coarse part is free to follow. 0 when LAPACK fails. */
static double largest_inverse(struct sample *s, int rank) {
    int n = s->n;
    double *lambda = s->values, *x = lambda + n, *y = x + n, value = 0.0;
    if (rank == n) return 1.0;
    if (LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'L', n, s->S, n, lambda) != 0) return 0.0;
    for (int i = 0; i < n; i++) x[i] = 1.0 + sin(1.7 * i); /* no structure */
    for (int step = 0; step < POWER_STEPS; step++) {
        for (int k = 0; k < rank; k++) {
            const double *q = s->W + (int64_t)k * n;
            cblas_daxpy(n, -cblas_ddot(n, q, 1, x, 1), q, 1, x, 1);
        }
        double size = cblas_dnrm2(n, x, 1);
        if (!(size > 0.0)) return 1.0;
        cblas_dscal(n, 1.0 / size, x, 1);
        cblas_dgemv(CblasColMajor, CblasTrans, n, n, 1.0, s->S, n, x, 1, 0.0, y, 1);
        value = 0.0;
        for (int i = 0; i < n; i++) {
            double inverse = lambda[i] > KERNEL_TOLERANCE * lambda[n - 1] ? 1.0 / lambda[i] : 0.0;
            value += inverse * y[i] * y[i];
            y[i] *= inverse;
        }
        cblas_dgemv(CblasColMajor, CblasNoTrans, n, n, 1.0, s->S, n, y, 1, 0.0, x, 1);
    }
    return value;
}

/* The root of the ratio of the energies of constants on single faces: that of the areas of its faces on a
 * cell of one isotropic material. */
static double face_stretch(const struct trace_summary *summary, int block, int32_t cell) {
    double least = INFINITY, most = 0.0;
    for (int f = 0; f < summary->n_faces[block]; f++) {
        double energy = trace_summary_of(summary, block, cell, TRACE_CONSTANTS + f);
        least = fmin(least, energy);
        most = fmax(most, energy);
    }
    return least > 0.0 ? sqrt(most / least) : 1.0;
}

/* The k-th of so many cells: the one of its part of the mesh that looks the most stretched, which is also
 * what a cell looks like where K jumps inside it; else the one in the middle. */
static int32_t pick_cell(const struct trace_summary *summary, const struct facet_mesh *mesh, int k,
                         int n_samples) {
    const double notably = 1.001;
    int64_t first = (int64_t)k * mesh->n_cells / n_samples,
            end = ((int64_t)k + 1) * mesh->n_cells / n_samples;
    int32_t picked = (int32_t)((2 * (int64_t)k + 1) * mesh->n_cells / (2 * n_samples));
    double most = 0.0;
    for (int64_t c = first - 1; c < end; c++) {
        int32_t cell = c < first ? picked : (int32_t)c;
        const struct mesh_block *block = mesh_block_of(mesh, cell);
        double stretch = face_stretch(summary, (int)(block - mesh->blocks), cell - block->first);
        if (stretch <= notably * most) continue;
        most = stretch;
        picked = cell;
    }
    return picked;
}

facet_status trace_smoothing_constant(const struct trace_space *space, const struct trace_matrices *matrices,
                                      const struct mg_transfer *P, double *constant) {
    facet_status status = FACET_OK;
    struct trace_summary summary = {0};
    struct trace_picks picks = {0};
    struct base_collector failures;
    const struct facet_mesh *mesh = space->mesh;
    int n_samples = choose_samples(mesh, SAMPLES, LEAST_SAMPLES), largest_cell = 0;
    int32_t cells[SAMPLES];
    double largest = 1.0;
    for (int b = 0; b < mesh->n_blocks; b++)
        if (trace_cell_size(space, b) > largest_cell) largest_cell = trace_cell_size(space, b);
    base_collector_init(&failures);
    TRY(trace_summary_open(matrices, space, &summary));
    for (int k = 0; k < n_samples; k++) cells[k] = pick_cell(&summary, mesh, k, n_samples);
    TRY(trace_picks_create(matrices, mesh, n_samples, cells, &picks));
#pragma omp parallel num_threads(base_threads()) reduction(max : largest)
    {
        struct sample s;
        facet_status mine = sample_create(largest_cell, &s);
        base_collect(&failures, -1, mine);
#pragma omp for schedule(dynamic, 1)
        for (int k = 0; k < n_samples; k++) {
            if (mine != FACET_OK) continue;
            const struct mesh_block *block = mesh_block_of(mesh, cells[k]);
            gather(space, picks.K[k], picks.step, P, (int)(block - mesh->blocks), cells[k] - block->first,
                   &s);
            if (s.n == 0 || !scale(&s)) continue;
            largest = fmax(largest, largest_inverse(&s, orthonormalise(&s)));
        }
        sample_destroy(&s);
    }
    TRY(base_collected(&failures));
    *constant = largest;
    TRY(team_reduce(mesh_team(mesh), TEAM_MAX, 1, constant));
done:
    trace_picks_destroy(&picks);
    trace_summary_close(&summary);
    return status;
}

/* The functions of the vertices of a cell: those of its unknowns that they have a part in, and by how much.
 */
struct vertex_functions {
    int n, n_vertices;
    int unknowns[SHAPE_MAX_FACES * SHAPE_MAX_FACE_VERTICES];
    double values[SHAPE_MAX_FACES * SHAPE_MAX_FACE_VERTICES][SHAPE_MAX_VERTICES];
};

static void find_vertex_functions(const struct trace_space *space, double *const *hats, int32_t cell,
                                  struct vertex_functions *P) {
    const struct facet_mesh *mesh = space->mesh;
    const struct mesh_block *block = mesh_block_of(mesh, cell);
    const int *slots = space->slots[block - mesh->blocks];
    int n_faces = shape_n_faces(block->shape);
    const int32_t *faces = block->faces + (int64_t)(cell - block->first) * n_faces;
    *P = (struct vertex_functions){.n_vertices = shape_n_vertices(block->shape)};
    for (int f = 0; f < n_faces; f++) {
        enum shape shape = (enum shape)mesh->face_shapes[faces[f]];
        int32_t vertices[SHAPE_MAX_FACE_VERTICES];
        int local[SHAPE_MAX_FACE_VERTICES];
        int64_t at = 2 * (int64_t)faces[f];
        int side = mesh->face_cells[at] != cell || mesh->face_locals[at] != f;
        int n_ends = mesh_side_vertices(mesh, faces[f], side, vertices, local);
        for (int i = 0; i < basis_size(shape, 1); i++, P->n++) {
            P->unknowns[P->n] = slots[f] + i;
            for (int j = 0; j < n_ends; j++) P->values[P->n][local[j]] = hats[shape][i * n_ends + j];
        }
    }
}

/* The same from the eigenvalues of P'KP: they see a strong direction that lies across all faces too. The
 * least belongs to the constant. In units of what they are on Kuhn's tets (2 + 2^(1/2) over 2 - 2^(1/2)). */
static double skew_stretch(const double *K, int lanes, const struct vertex_functions *P) {
    const double round_cell = 2.4142135623730951, smallest = 1e-14;
    const int n = P->n_vertices;
    double A[SHAPE_MAX_VERTICES * SHAPE_MAX_VERTICES] = {0}, values[SHAPE_MAX_VERTICES], work[64];
    for (int i = 0; i < P->n; i++)
        for (int j = 0; j < P->n; j++) {
            double entry = trace_entry(K, lanes, P->unknowns[i], P->unknowns[j]);
            for (int v = 0; v < n; v++)
                for (int w = v; w < n && P->values[i][v] != 0.0; w++)
                    A[w * n + v] += P->values[i][v] * entry * P->values[j][w];
        }
    if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'N', 'U', n, A, n, values, work, 64) != 0) return 1.0;
    double most = values[n - 1], least = fmax(values[1], smallest * most);
    return most > 0.0 ? sqrt(most / least) / round_cell : 1.0;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of the parts of a mesh, by their numbers of cells. */
static facet_status mean_of_parts(const struct facet_mesh *mesh, double *stretch, double *skew) {
    const double n = mesh->n_cells;
    double sums[3] = {n, n * *stretch, n * *skew};
    if (mesh->part == NULL) return FACET_OK;
    facet_status status = team_reduce(mesh->part->team, TEAM_SUM, 3, sums);
    *stretch = sums[1] / sums[0];
    *skew = sums[2] / sums[0];
    return status;
}

/* Whether some cell has a side of this shape. */
static int has_faces_of(const struct facet_mesh *mesh, enum shape shape) {
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int f = 0; f < shape_n_faces(mesh->blocks[b].shape); f++)
            if (shape_face_shape(mesh->blocks[b].shape, f) == shape) return 1;
    return 0;
}

facet_status trace_stretch(const struct trace_space *space, const struct trace_matrices *matrices,
                           double *stretch, double *skew) {
    facet_status status = FACET_OK;
    struct trace_summary summary = {0};
    struct trace_picks picks = {0};
    const struct facet_mesh *mesh = space->mesh;
    const int scalar = space->n_components == 1 && space->n_faces == mesh->n_faces;
    const int n_samples = choose_samples(mesh, MANY_SAMPLES, LEAST_MANY_SAMPLES), place = 3 * n_samples / 4;
    double along[MANY_SAMPLES], across[MANY_SAMPLES], *hats[SHAPE_COUNT] = {NULL};
    int32_t cells[MANY_SAMPLES];
    for (int k = 0; k < n_samples; k++)
        cells[k] = (int32_t)((2 * (int64_t)k + 1) * mesh->n_cells / (2 * n_samples));
    TRY(trace_summary_open(matrices, space, &summary));
    TRY(trace_picks_create(matrices, mesh, n_samples, cells, &picks));
    for (int f = 0; f < SHAPE_COUNT; f++)
        if (has_faces_of(mesh, (enum shape)f)) TRY(trace_hats((enum shape)f, &hats[f]));
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int k = 0; k < n_samples; k++) {
        const struct mesh_block *block = mesh_block_of(mesh, cells[k]);
        struct vertex_functions P;
        along[k] = face_stretch(&summary, (int)(block - mesh->blocks), cells[k] - block->first);
        across[k] = 1.0;
        if (!scalar || space->degree < 1) continue;
        find_vertex_functions(space, hats, cells[k], &P);
        across[k] = skew_stretch(picks.K[k], picks.step, &P);
    }
    qsort(along, (size_t)n_samples, sizeof *along, ascending);
    qsort(across, (size_t)n_samples, sizeof *across, ascending);
    *stretch = *skew = 1.0;
    if (n_samples == 0) goto done;
    *stretch = fmax(along[place], across[place]);
    *skew = fmax(across[place] / along[place], 1.0);
    TRY(mean_of_parts(mesh, stretch, skew));
done:
    for (int i = 0; i < SHAPE_COUNT; i++) base_free(&hats[i]);
    trace_picks_destroy(&picks);
    trace_summary_close(&summary);
    return status;
}

/* The least and the most of the diagonal entries of all element matrices, or of their means over a cell. */
static facet_status diagonal_range(const struct trace_space *space, const struct trace_matrices *matrices,
                                   int means, double *least, double *most) {
    facet_status status = FACET_OK;
    struct trace_summary summary = {0};
    double low = INFINITY, high = 0.0;
    TRY(trace_summary_open(matrices, space, &summary));
    for (int b = 0; b < matrices->n_blocks; b++) {
#pragma omp parallel for num_threads(base_threads()) schedule(static) reduction(min                          \
                                                                                : low) reduction(max         \
                                                                                                 : high)
        for (int32_t c = 0; c < space->mesh->blocks[b].count; c++) {
            low = fmin(low, trace_summary_of(&summary, b, c, means ? TRACE_MEAN : TRACE_LEAST));
            high = fmax(high, trace_summary_of(&summary, b, c, means ? TRACE_MEAN : TRACE_MOST));
        }
    }
    *least = low;
    *most = high;
    TRY(team_reduce(mesh_team(space->mesh), TEAM_MIN, 1, least));
    TRY(team_reduce(mesh_team(space->mesh), TEAM_MAX, 1, most));
done:
    trace_summary_close(&summary);
    return status;
}

facet_status trace_contrast(const struct trace_space *space, const struct trace_matrices *matrices,
                            double *contrast) {
    double least = 1.0, most = 1.0;
    facet_status status = diagonal_range(space, matrices, 1, &least, &most);
    *contrast = most / least;
    return status;
}

facet_status trace_spread(const struct trace_space *space, const struct trace_matrices *matrices,
                          double *spread) {
    double least = 1.0, most = 1.0;
    facet_status status = diagonal_range(space, matrices, 0, &least, &most);
    *spread = least > 1e-30 && most < 1e30 ? most / least : INFINITY;
    return status;
}
