/* q and u*. Post-processing makes u* of degree p + 1, from q and the mean of u, by fast diagonalization.
 *
 * With y_i the eigenfunctions of the 1D Neumann problem (y_i', w') = theta_i (y_i, w) on polynomials of
 * degree p + 1, orthonormal and y_0 constant, the system (k grad u*, grad w) = -(q, grad w) is diagonal in
 * their products: sum_d a_d theta_d on the left, -sum_d V (2/h_d) (q_d, d_d y) on the right. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "box/modes.h"
#include "boxhdg/fields.h"

/* (l_i', l_j') = sum_a (l_a, l_i') (l_a, l_j') couples functions of one parity only, and l_0 with none. */
static facet_status solve_neumann(struct boxhdg_star *s) {
    facet_status status = FACET_OK;
    int P = s->P, *itself = NULL, *signs = NULL;
    struct box_fold fold = {0};
    double *K = NULL;
    TRY(CALLOC(K, P * P));
    TRY(ALLOC(itself, P));
    TRY(ALLOC(signs, P));
    for (int i = 0; i < P; i++) {
        itself[i] = i;
        signs[i] = i % 2 == 0 ? 1 : -1;
        for (int j = 0; j < P; j++)
            for (int a = 0; a < P; a++) K[i * P + j] += box_legendre_slope(a, i) * box_legendre_slope(a, j);
    }
    TRY(box_fold_create(P, itself, signs, &fold));
    TRY(box_modes(&fold, NULL, K, P, s->Q, s->theta));
    for (int i = 0; i < P; i++) s->Q[i * P] = s->Q[i] = i == 0; /* the constant, but for sign and rounding */
    s->theta[0] = 0.0;
done:
    box_fold_destroy(&fold);
    base_free(&itself);
    base_free(&signs);
    base_free(&K);
    return status;
}

static facet_status create_star(const struct boxhdg *h, struct boxhdg_star *s) {
    facet_status status = FACET_OK;
    int P = s->P = h->n + 1, n = h->n;
    int64_t tables = (int64_t)h->n_lines * P * n;
    TRY(CALLOC(s->Q, P * P + P + 2 * tables));
    s->theta = s->Q + P * P;
    s->mass = s->theta + P;
    s->slope = s->mass + tables;
    TRY(solve_neumann(s));
    for (int l = 0; l < h->n_lines; l++) {
        const double *S = h->lines[l].S;
        double *mass = s->mass + (int64_t)l * P * n, *slope = s->slope + (int64_t)l * P * n;
        for (int i = 0; i < P; i++)
            for (int a = 0; a < n; a++) {
                double along = 0.0; /* (l_a, y_i') */
                for (int j = 0; j < P; j++) along += box_legendre_slope(a, j) * s->Q[j * P + i];
                for (int m = 0; m < n; m++) {
                    mass[i * n + m] += s->Q[a * P + i] * S[a * n + m];
                    slope[i * n + m] += along * S[a * n + m];
                }
            }
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------- on tiles */

void boxhdg_fields_destroy(struct boxhdg_fields *f) {
    if (f->tiles == NULL) return;
    const struct device *device = f->tiles->device;
    tile_tables_destroy(&f->moments);
    for (int d = 0; d < 3; d++) tile_tables_destroy(&f->into[d]);
    device_free(device, &f->flux);
    device_free(device, &f->ends);
    device_free(device, &f->theta);
    base_free(&f->post.Q);
    *f = (struct boxhdg_fields){0};
}

static facet_status make_star(struct boxhdg_fields *f) {
    facet_status status = FACET_OK;
    const int n = f->h->n;
    double *moments = NULL;
    TRY(create_star(f->h, &f->post));
    TRY(ALLOC(moments, (int64_t)f->h->n_lines * n));
    for (int l = 0; l < f->h->n_lines; l++)
        memcpy(moments + (int64_t)l * n, f->h->tables[l].moments, (size_t)n * sizeof *moments);
    const double *T[3] = {moments, moments, moments};
    TRY(tile_tables_create(f->tiles, n, 1, T, &f->moments));
    for (int d = 0; d < f->h->grid.dim; d++) {
        for (int t = 0; t < 3; t++) T[t] = t == d ? f->post.slope : f->post.mass;
        TRY(tile_tables_create(f->tiles, n, f->post.P, T, &f->into[d]));
    }
    TRY(device_copy(f->tiles->device, &f->theta, f->post.theta, (size_t)f->post.P, sizeof *f->theta));
done:
    base_free(&moments);
    return status;
}

facet_status boxhdg_fields_create(const struct boxhdg *h, struct box_tiles *tiles, int star,
                                  struct boxhdg_fields *f) {
    facet_status status = FACET_OK;
    const size_t n = (size_t)h->n, all = (size_t)h->n_lines * n;
    double *flux = NULL, *ends = NULL;
    *f = (struct boxhdg_fields){.h = h, .tiles = tiles};
    TRY(ALLOC(flux, all * n));
    TRY(ALLOC(ends, all));
    for (int l = 0; l < h->n_lines; l++) {
        memcpy(flux + (size_t)l * n * n, h->tables[l].flux, n * n * sizeof *flux);
        memcpy(ends + (size_t)l * n, h->tables[l].ends, n * sizeof *ends);
    }
    TRY(device_copy(tiles->device, &f->flux, flux, all * n, sizeof *flux));
    TRY(device_copy(tiles->device, &f->ends, ends, all, sizeof *ends));
    TRY(tiles_need_cells(tiles, 0, &tiles->k));
    if (star) TRY(make_star(f));
done:
    base_free(&flux);
    base_free(&ends);
    return status;
}

/* q = k (2/h) [D' u - e_+ uhat_+ + e_- uhat_-]. */
void boxhdg_fields_flux(const struct boxhdg_fields *f, const struct tile_plan *tile, int d,
                        const double *cells, double *q) {
    struct tile_scale scale = {.factor = 2.0, .of_cells = f->tiles->k};
    scale.powers[d] = -1;
    device_tile_flux(f->tiles->device, tile, f->h->n, f->h->tables[0].n_even, d, f->flux, f->ends, &scale,
                     boxhdg_fields_width(f->h), cells, q);
}

#define TABLES(t) ((const double *const *)(t).T)

void boxhdg_fields_star(const struct boxhdg_fields *f, const struct tile_plan *tile, const double *u,
                        const double *const q[3], double *constants, double *room, double *star) {
    const struct device *device = f->tiles->device;
    const int n = f->h->n, P = f->post.P, dim = tile->dim;
    for (int d = 0; d < dim; d++) {
        struct tile_scale scale = {.factor = -ldexp(1.0, 1 - dim), .powers = {1, 1, 1}};
        scale.powers[d]--;
        device_tile_contract(device, tile, n, P, TABLES(f->into[d]), &scale, d > 0 ? TILE_ADD : TILE_PUT,
                             q[d], star, room);
    }
    const struct tile_scale mean = {.factor = pow(2.0, -0.5 * dim)};
    device_tile_contract(device, tile, n, 1, TABLES(f->moments), &mean, TILE_PUT, u, constants, room);
    device_tile_divide(device, tile, P, f->theta, f->tiles->k, constants, star);
}

/* ------------------------------------------------------------------------------------- of a solution */

/* On the host, cell by cell: it may hold some alone. */
struct job {
    struct boxhdg_solution *solution;
    struct box_tiles *tiles;
    struct boxhdg_fields fields;
    struct tile_tables legendre; /* from the functions y */
};

static void job_destroy(struct job *job) {
    tile_tables_destroy(&job->legendre);
    boxhdg_fields_destroy(&job->fields);
    box_tiles_destroy(&job->tiles);
}

static facet_status job_create(const struct boxhdg *h, int star, struct job *job) {
    facet_status status = FACET_OK;
    TRY(box_tiles_create(device_host(), &h->grid, (const int *const *)h->column_line, &job->tiles));
    TRY(boxhdg_fields_create(h, job->tiles, star, &job->fields));
done:
    return status;
}

static struct tile_plan tile_of(const struct job *job, const struct boxhdg_at *at) {
    return tiles_next(job->tiles, box_cell(&at->h->grid, at->at), 1);
}

static facet_status flux_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct job *job = user;
    const struct boxhdg_solution *s = job->solution;
    const struct boxhdg *h = at->h;
    const struct tile_plan tile = tile_of(job, at);
    const int64_t size = h->cell_size, face = h->face_size;
    memcpy(scratch, s->u + at->cell * size, (size_t)size * sizeof *scratch);
    for (int i = 0; i < 2 * h->grid.dim; i++)
        memcpy(scratch + size + i * face, s->trace + at->faces[i / 2][i % 2], (size_t)face * sizeof *scratch);
    for (int d = 0; d < h->grid.dim; d++)
        boxhdg_fields_flux(&job->fields, &tile, d, scratch, s->q + (d * s->n_cells + at->cell) * size);
    return FACET_OK;
}

facet_status boxhdg_solution_find_q(const struct boxhdg *h, struct boxhdg_solution *s) {
    facet_status status = FACET_OK;
    struct job job = {.solution = s};
    double *own = NULL;
    TRY(job_create(h, 0, &job));
    if (s->q == NULL) {
        TRY(ALLOC(own, h->grid.dim * s->n_cells * h->cell_size));
        s->q = own;
    }
    TRY(boxhdg_for_solution(h, s, boxhdg_fields_width(h) + BOX_SLACK, flux_work, &job));
done:
    job_destroy(&job);
    if (status != FACET_OK && own != NULL) base_free(&s->q);
    return status;
}

static facet_status star_work(const struct boxhdg_at *at, double *scratch, void *user) {
    const struct job *job = user;
    struct boxhdg_solution *s = job->solution;
    const struct tile_scale plain = {.factor = 1.0};
    const struct tile_plan tile = tile_of(job, at);
    const int P = job->fields.post.P;
    const int64_t size = at->h->cell_size, star = box_power(P, tile.dim);
    const double *q[3] = {NULL};
    double constant, *room = scratch + star + BOX_SLACK;
    for (int d = 0; d < tile.dim; d++) q[d] = s->q + (d * s->n_cells + at->cell) * size;
    boxhdg_fields_star(&job->fields, &tile, s->u + at->cell * size, q, &constant, room, scratch);
    device_tile_contract(device_host(), &tile, P, P, TABLES(job->legendre), &plain, TILE_PUT, scratch,
                         s->star + at->cell * star, room);
    return FACET_OK;
}

facet_status boxhdg_postprocess(const struct boxhdg *h, struct boxhdg_solution *s) {
    facet_status status = FACET_OK;
    struct job job = {.solution = s};
    const int P = h->n + 1;
    const int64_t star = box_power(P, h->grid.dim);
    double *Q = NULL, *own = NULL;
    TRY(job_create(h, 1, &job));
    TRY(ALLOC(Q, (int64_t)h->n_lines * P * P));
    for (int l = 0; l < h->n_lines; l++)
        memcpy(Q + (int64_t)l * P * P, job.fields.post.Q, (size_t)(P * P) * sizeof *Q);
    const double *const T[3] = {Q, Q, Q};
    TRY(tile_tables_create(job.tiles, P, P, T, &job.legendre));
    if (s->star == NULL) {
        TRY(ALLOC(own, s->n_cells * star));
        s->star = own;
    }
    TRY(boxhdg_for_solution(h, s, star + BOX_SLACK + tile_scratch(1, h->grid.dim, P, P), star_work, &job));
done:
    base_free(&Q);
    job_destroy(&job);
    if (status != FACET_OK && own != NULL) base_free(&s->star);
    return status;
}
