/* The balance of moments of a body whose curved cells have faces of a lower degree than their geometry. What
 * is tested on a face are polynomials of its reference coordinates, and a rotation is one of the degree of
 * the geometry. With fewer a cell that turns is strained: its forces balance as ever, their moments do not.
 * So a support gives way too little or too much, by as much as the moments of what is done to the whole body
 * lack, each tested with the projection of the rotation; what passes between cells cancels. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/local.h"
#include "mesh/part.h"

/* About the axes x, y, z through the center, by cell: what is missing, and its moduli. */
enum { TURNS = 3, MODULUS = TURNS, ROW };

struct moment_job {
    const struct hdg_solution *solution;
    double center[3];
    double *cells; /* n_cells x ROW */
};

/* Component a of a rotation about the axis `turn` at a point. */
static double rotation(const struct moment_job *job, int dim, const double *x, int turn, int a) {
    const int b = (turn + 1) % 3, c = (turn + 2) % 3;
    if (a == b) return c < dim ? -(x[c] - job->center[c]) : 0.0;
    return a == c && b < dim ? x[b] - job->center[b] : 0.0;
}

static void add_moment(const double *moment, double *to) {
    for (int turn = 0; turn < TURNS; turn++) to[turn] += moment[turn];
    to[MODULUS] += local_norm(TURNS, moment);
}

/* Of the forces in the cell at hand. */
static facet_status add_source(struct local *l, const struct moment_job *job, double *to) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_table *table = h->functions[l->block].source.table;
    const int32_t region = local_region(&h->data, l->block, l->cell);
    const int dim = h->data.mesh->dim;
    if (h->data.source == NULL || h->data.source[region] == NULL) return FACET_OK;
    hdg_cell_geometry(&h->space, l->block, l->cell, table, &l->geometry);
    TRY(local_source(l, region, table->n, l->geometry.x, l->values));
    for (int q = 0; q < table->n; q++) {
        double moment[TURNS] = {0.0};
        for (int i = 0; i < TURNS * dim; i++)
            moment[i / dim] += l->geometry.wJ[q] * l->values[q * dim + i % dim] *
                               rotation(job, dim, l->geometry.x + q * dim, i / dim, i % dim);
        add_moment(moment, to);
    }
done:
    return status;
}

/* Of what the numerical flux takes out through a face of the cell at hand. */
static facet_status add_face(struct local *l, const struct moment_job *job, int face, double *to) {
    facet_status status = FACET_OK;
    const int dim = l->hdg->data.mesh->dim;
    struct local_face at;
    double *mass = NULL, moment[TURNS] = {0.0};
    TRY(local_face_values(l, job->solution, face, 1, &at));
    const int n = at.n, m = at.table->m;
    const double *psi = at.table->psi;
    TRY(CALLOC(mass, (int64_t)m * m + (2 + TURNS) * (int64_t)m + n));
    double *through = mass + (int64_t)m * m, *projected = through + m, *turned = projected + m,
           *values = turned + (int64_t)TURNS * m;
    local_face_mass(n, m, psi, dim, l->normal, NULL, mass, m);
    if (!solve_invert(m, mass)) goto done;
    for (int a = 0; a < dim; a++) {
        memset(through, 0, (size_t)(m * (2 + TURNS)) * sizeof *through);
        for (int p = 0; p < n; p++) {
            const double weight = l->values[p] * local_norm(dim, l->normal + p * dim);
            const double flux = cblas_ddot(dim, at.Q + (p * dim + a) * dim, 1, l->normal + p * dim, 1) +
                                weight * (at.u[p * dim + a] - at.uhat[p * dim + a]);
            cblas_daxpy(m, flux, psi + p * m, 1, through, 1);
        }
        cblas_dgemv(CblasRowMajor, CblasNoTrans, m, m, 1.0, mass, m, through, 1, 0.0, projected, 1);
        for (int turn = 0; turn < TURNS; turn++) {
            for (int p = 0; p < n; p++) values[p] = rotation(job, dim, l->x + p * dim, turn, a);
            local_face_moments(n, m, psi, dim, l->normal, values, turned + turn * m);
            moment[turn] -= cblas_ddot(m, projected, 1, turned + turn * m, 1);
        }
    }
    add_moment(moment, to);
done:
    base_free(&mass);
    return status;
}

static facet_status moment_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct moment_job *job = user;
    const struct facet_mesh *mesh = l->hdg->data.mesh;
    double *to = job->cells + (mesh->blocks[block].first + (int64_t)cell) * ROW;
    int begun = 0;
    memset(to, 0, ROW * sizeof *to);
    l->block = block;
    l->cell = cell;
    TRY(add_source(l, job, to));
    for (int face = 0; face < shape_n_faces(mesh->blocks[block].shape); face++) {
        if (!mesh_is_boundary(mesh, local_face_number(l, face))) continue;
        if (!begun++) TRY(local_begin(l, block, cell));
        TRY(add_face(l, job, face, to));
    }
done:
    return status;
}

facet_status hdg_missing_moment(const struct hdg *h, const struct hdg_solution *s, const double *center,
                                double *share) {
    facet_status status = FACET_OK;
    struct moment_job job = {.solution = s};
    double sums[ROW] = {0.0};
    *share = 0.0;
    memcpy(job.center, center, (size_t)h->data.mesh->dim * sizeof *center);
    TRY(ALLOC(job.cells, (int64_t)h->data.mesh->n_cells * ROW));
    TRY(local_for_all_cells(h, moment_work, &job));
    for (int64_t i = 0; i < (int64_t)h->data.mesh->n_cells * ROW; i++) sums[i % ROW] += job.cells[i];
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_SUM, ROW, sums));
    if (sums[MODULUS] > 0.0) *share = local_norm(TURNS, sums) / (0.5 * sums[MODULUS]);
done:
    base_free(&job.cells);
    return status;
}
