/* The balance of every cell: what its source makes against the numerical flux through its faces. Kernels
 * find it for all cells that they condense, wherever u and q are; the rest is worked on one by one. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "hdg/elastic.h"
#include "hdg/inner.h"

struct balance_job {
    struct hdg_solution *solution;
    /* n_cells x (2 + components): the moduli of the terms of the flux, the most that the cell makes, and by
     * component what is left, with its sign. */
    double *cells;
    double *fluxes;                 /* n_cells x SHAPE_MAX_FACES x components */
    double *found[MESH_MAX_BLOCKS]; /* batch x cell_balance_size x LANES: what kernels find, */
    int kernels[MESH_MAX_BLOCKS];   /* where there are any */
};
static int row_of(const struct hdg *h) {
    return 2 + h->trace.n_components;
}

/* ------------------------------------------------------------------------------------------ in batches */

/* Of straight cells, behind their coefficients: nodes, and what kernels make of them. */
enum { B_NODES = W_OWN + 1, B_POINTS, B_NORMALS, N_ARRAYS };

/* One way through a block. The arrays are on the device. */
struct balance_walk {
    struct cell_balance cells; /* but for what is of a tile */
    double *phi, *chi, *psi, *inside, *jets, *one, *normals;
    double *balance; /* of all of the block */
};

static void walk_clear(const struct hdg *h, struct balance_walk *w) {
    double **arrays[] = {&w->phi, &w->chi, &w->psi, &w->inside, &w->jets, &w->one, &w->normals};
    for (int i = 0; i < 7; i++) device_free(h->device, arrays[i]);
}

/* Integrals over the reference faces of N functions whose products with psi_0 = 1 / one are known; the
 * constant is the same in every orientation. */
static facet_status put_integrals(const struct hdg *h, int block, int N, double one, const double *products,
                                  double **to) {
    facet_status status = FACET_OK;
    const int64_t n_faces = h->space.blocks[block].n_faces, m = h->space.blocks[block].m;
    double *host = NULL;
    TRY(ALLOC(host, n_faces * N));
    for (int64_t f = 0; f < n_faces; f++)
        for (int64_t i = 0; i < N; i++) host[f * N + i] = one * products[(f * 8 * N + i) * m];
    TRY(device_copy(h->device, to, host, (size_t)(n_faces * N), sizeof *host));
done:
    base_free(&host);
    return status;
}

/* From the nodes of a straight cell to the point and Jacobian that all of its faces share: n_nodes x
 * n_faces (1 + dim). / */
static facet_status put_jets(const struct hdg *h, int block, double **to) {
    facet_status status = FACET_OK;
    const struct mesh_block *b = &h->data.mesh->blocks[block];
    const int n_faces = h->space.blocks[block].n_faces, dim = h->data.mesh->dim, row = n_faces * (1 + dim);
    double *host = NULL;
    TRY(CALLOC(host, b->n_nodes * row));
    for (int i = 0; i < row; i++) host[i] = i % (1 + dim) == 0 ? 1.0 : -1.0;
    for (int a = 0; a < dim; a++) {
        const int node = shape_vertex_node(b->shape, h->data.mesh->order, shape_axis_vertex(b->shape, a));
        for (int f = 0; f < n_faces; f++) host[node * row + f * (1 + dim) + 1 + a] = 1.0;
    }
    TRY(device_copy(h->device, to, host, (size_t)(b->n_nodes * row), sizeof *host));
done:
    base_free(&host);
    return status;
}

/* Straight cells: all of a face is one point. */
static facet_status put_straight(const struct hdg *h, int block, struct balance_walk *w) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_functions *v = &h->functions[block];
    const double one = sqrt(shape_measure(shape_face_shape(b->shape, 0))),
                 root = sqrt(shape_measure(b->shape)), weight = 1.0;
    double *psi = NULL;
    TRY(put_integrals(h, block, v->N, one, v->F_ref, &w->phi));
    TRY(put_integrals(h, block, v->Nu, one, v->FU_ref, &w->chi));
    TRY(CALLOC(psi, 8 * b->m));
    for (int o = 0; o < 8; o++) psi[o * b->m] = one;
    TRY(device_copy(h->device, &w->psi, psi, (size_t)(8 * b->m), sizeof *psi));
    w->cells.n = w->cells.n_psi = 1;
    w->cells.phi_row = v->N;
    w->cells.phi = w->phi;
    w->cells.chi = w->chi;
    if (h->elastic != NULL) goto done;
    w->cells.n_inside = w->cells.N_inside = 1;
    TRY(device_copy(h->device, &w->inside, &root, 1, sizeof root));
    TRY(put_jets(h, block, &w->jets));
    TRY(device_copy(h->device, &w->one, &weight, 1, sizeof weight));
    TRY(device_copy(h->device, &w->normals, b->normals, (size_t)(3 * b->n_faces), sizeof(double)));
done:
    w->cells.inside = w->inside;
    base_free(&psi);
    return status;
}

/* The psi of a face at its points, as each orientation has them: 8 x n x m. */
static facet_status put_psi(const struct hdg *h, int block, double **psi) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &h->space.blocks[block];
    const struct hdg_face_table *face = h->functions[block].face;
    const int64_t m = b->m, n = face->rule.n;
    double *O = NULL, *host = NULL;
    TRY(CALLOC(O, 8 * m * m));
    TRY(CALLOC(host, 8 * n * m));
    TRY(batch_turn_matrices(b, h->space.degree, O));
    for (int64_t i = 0; i < 8 * n * m; i++)
        for (int64_t k = 0; k < m; k++)
            host[i] += face->psi[i / m % n * m + k] * O[(i / (n * m) * m + k) * m + i % m];
    TRY(device_copy(h->device, psi, host, (size_t)(8 * n * m), sizeof *host));
done:
    base_free(&O);
    base_free(&host);
    return status;
}

static facet_status put_varied(const struct hdg *h, int block, struct balance_walk *w) {
    facet_status status = FACET_OK;
    const struct general_tables *t = &h->general[block]->tables;
    w->cells.n = t->n_face;
    w->cells.n_psi = t->m;
    w->cells.phi_row = h->functions[block].Nu;
    w->cells.phi = w->cells.chi = h->general[block]->face_phi;
    TRY(put_psi(h, block, &w->psi));
    if (h->elastic != NULL || h->data.reaction == NULL) goto done;
    w->cells.n_inside = t->n;
    w->cells.N_inside = t->N;
    w->cells.inside = t->phi;
done:
    return status;
}

static facet_status put_tables(const struct hdg *h, int block, enum batch_way way, struct balance_walk *w) {
    facet_status status = FACET_OK;
    const struct hdg_functions *v = &h->functions[block];
    walk_clear(h, w);
    w->cells = (struct cell_balance){.lanes = h->lanes,
                                     .dim = h->data.mesh->dim,
                                     .components = h->trace.n_components,
                                     .n_faces = h->space.blocks[block].n_faces,
                                     .N = v->N,
                                     .Nu = v->Nu,
                                     .m = h->space.blocks[block].m,
                                     .pressure = h->elastic != NULL && elastic_is_gradient(&h->data),
                                     .chi_row = v->Nu,
                                     .mu = h->elastic != NULL ? 1.0 : -1.0,
                                     .constant = v->physical ? v->source.chi[0] : v->source.table->phi[0]};
    TRY(way == BATCH_FAST ? put_straight(h, block, w) : put_varied(h, block, w));
    w->cells.psi = w->psi;
done:
    return status;
}

/* Of the cells at hand. */
static void find_normals(struct general_work *w, const struct inner_job *job, int64_t begin, int64_t n) {
    const struct hdg *h = w->hdg;
    const struct balance_walk *walk = job->user;
    const int dim = walk->cells.dim, n_faces = walk->cells.n_faces, lanes = h->lanes;
    const int n_nodes = h->data.mesh->blocks[w->block].n_nodes;
    general_nodes(w, B_NODES, begin);
    device_table_apply(h->device, lanes, n, n_faces * (1 + dim), n_nodes, dim, walk->jets, w->device[B_NODES],
                       w->device[B_POINTS]);
    device_face_metric(h->device, lanes, n, dim, n_faces, 1, walk->one, walk->normals, w->device[B_POINTS],
                       w->device[B_NORMALS]);
}

/* What the kernel is given of straight cells, */
static facet_status place_straight(struct general_work *w, const struct inner_job *job, int64_t begin,
                                   int64_t n, struct cell_balance *b) {
    facet_status status = FACET_OK;
    const int64_t lanes = w->hdg->lanes, row = job->condenser.n_coefficients;
    const double *c = w->hdg->cells[w->block]->coefficients + begin * row * lanes;
    b->normals_row = b->tau_row = b->orientations_row = b->moduli_row = b->reaction_row = row;
    if (w->hdg->elastic != NULL) {
        const struct elastic_layout at = elastic_layout(b->dim, b->n_faces);
        b->normals = c + at.normals * lanes;
        b->tau = c + at.weight * lanes;
        b->orientations = c + at.orientation * lanes;
        if (b->pressure) {
            b->moduli[0] = c + (at.moduli + 2) * lanes;
            b->moduli[1] = c + at.flux * lanes;
        }
        goto done;
    }
    const struct affine_layout at = affine_layout(b->dim, b->n_faces);
    find_normals(w, job, begin, n);
    b->normals = w->device[B_NORMALS];
    b->normals_row = (int64_t)b->n_faces * b->dim;
    b->tau = c + at.weight * lanes;
    b->orientations = c + at.orientation * lanes;
    b->reaction = c + at.reaction * lanes;
done:
    return status;
}

/* and of others. */
static facet_status place_varied(struct general_work *w, const struct inner_job *job, int64_t begin,
                                 int64_t n, struct cell_balance *b) {
    facet_status status = FACET_OK;
    const int64_t lanes = w->hdg->lanes;
    TRY(job->condenser.general->data(w, begin, n, 0));
    b->orientations_row = b->n_faces;
    b->tau_row = (int64_t)b->n_faces * b->n;
    b->normals_row = b->tau_row * b->dim;
    b->normals = w->device[A_NORMALS];
    b->orientations = w->device[A_ORIENTATIONS];
    if (w->hdg->elastic == NULL) {
        b->tau = w->cells.tau;
        b->reaction = w->cells.reaction;
        b->reaction_row = b->n_inside;
        goto done;
    }
    b->tau = w->bodies.tau;
    b->own = w->bodies.face_chi != NULL;
    if (b->own) b->phi = b->chi = w->bodies.face_chi;
    if (b->pressure) {
        b->moduli[0] = w->bodies.numbers + E_GAMMA * lanes;
        b->moduli[1] = w->bodies.numbers + E_FLUX * lanes;
        b->moduli_row = N_ELASTIC_NUMBERS;
    }
done:
    return status;
}

static facet_status balance_run(struct general_work *w, const struct inner_job *job, int64_t begin,
                                int64_t n) {
    facet_status status = FACET_OK;
    const struct balance_walk *walk = job->user;
    const struct hdg_stored *there = &job->solution->cells[w->block];
    const int64_t first = begin * w->hdg->lanes;
    struct cell_balance b = walk->cells;
    TRY((job->way == BATCH_FAST ? place_straight : place_varied)(w, job, begin, n, &b));
    TRY(inner_put_trace(w, job, begin, n));
    b.u = there->u + first * job->N;
    b.q = there->q + first * job->Q;
    b.loads = there->loads + first * job->N;
    b.uhat = w->device[W_UHAT];
    device_cell_balance(w->hdg->device, &b, n,
                        walk->balance + first * cell_balance_size(b.n_faces, b.components));
done:
    return status;
}

/* What is needed of one way. */
static facet_status prepare(const struct hdg *h, const struct inner_job *job, int block,
                            struct general_plan *plan) {
    facet_status status = FACET_OK;
    struct balance_walk *walk = job->user;
    const int64_t dim = h->data.mesh->dim, n_faces = h->space.blocks[block].n_faces;
    TRY(put_tables(h, block, job->way, walk));
    if (job->way != BATCH_FAST) goto done;
    plan->n_arrays = N_ARRAYS;
    if (h->elastic != NULL) goto done;
    plan->sizes[B_POINTS] = n_faces * (1 + dim) * dim;
    plan->sizes[B_NORMALS] = n_faces * dim;
done:
    return status;
}

/* Of a block, to the host. */
static facet_status find_block(const struct hdg *h, int block, struct balance_job *job) {
    facet_status status = FACET_OK;
    const int64_t n = h->matrices.n_batches[block],
                  size = cell_balance_size(h->space.blocks[block].n_faces, h->trace.n_components) * h->lanes;
    struct balance_walk walk = {0};
    struct inner_job inner = {.solution = job->solution,
                              .ways = 1u << BATCH_FAST | 1u << BATCH_GENERAL,
                              .run = balance_run,
                              .prepare = prepare,
                              .user = &walk};
    TRY(ALLOC(job->found[block], n * size));
    TRY(device_alloc(h->device, &walk.balance, (size_t)(n * size), sizeof(double)));
    TRY(inner_walk(h, block, &inner));
    job->kernels[block] = inner.condenser.fast != NULL;
    TRY(device_download(h->device, job->found[block], walk.balance, (size_t)(n * size) * sizeof(double)));
done:
    walk_clear(h, &walk);
    device_free(h->device, &walk.balance);
    return status;
}

/* ------------------------------------------------------------------------------------------ one by one */

/* What the stress around the axis draws the cell at hand inward with. */
static double hoop_force(struct local *l, const struct hdg_solution *s) {
    const struct hdg_functions *v = &l->hdg->functions[l->block];
    const struct hdg_table *table = v->cell.table;
    int row;
    double sum = 0.0;
    const double *phi = local_chi(l, table, v->cell.chi, l->geometry.x, &row);
    for (int q = 0; q < table->n; q++)
        sum += l->geometry.wJ[q] / l->geometry.x[q * table->dim] *
               cblas_ddot(v->N, phi + (int64_t)q * row, 1, s->p[l->block] + (int64_t)l->cell * v->N, 1);
    return sum;
}

/* What one cell balances: by component what is left, and what goes out; and the moduli of the terms of
 * this. */
struct balanced {
    double left[3], out[3], moduli;
};

/* Of a cell that no kernel takes. */
static facet_status balance_single(struct local *l, const struct hdg_solution *s, double constant,
                                   double *fluxes, struct balanced *b) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const int nc = h->trace.n_components, Nu = h->functions[l->block].Nu, lanes = h->lanes;
    const double *load = s->loads[l->block] + local_lane(lanes, l->cell, (int64_t)nc * Nu);
    double absolute[3], taken;
    TRY(local_begin(l, l->block, l->cell));
    TRY(local_take(l, s, &taken));
    if (hdg_has_hoop(h)) taken += hoop_force(l, s);
    for (int c = 0; c < nc; c++)
        b->left[c] = load[(int64_t)c * Nu * lanes] / constant - (c == 0 ? taken : 0.0);
    for (int f = 0; f < h->space.blocks[l->block].n_faces; f++, fluxes += nc) {
        TRY(local_face_flux(l, s, f, 1, fluxes, absolute));
        for (int c = 0; c < nc; c++) {
            b->out[c] += fluxes[c];
            b->left[c] -= fluxes[c];
            b->moduli += absolute[c];
        }
        local_turn_values(l, f, 1, 1, fluxes); /* as the face across sees it */
    }
done:
    return status;
}

/* Of one that a kernel has balanced. */
static void take_balance(const struct hdg *h, int block, int32_t cell, const double *found, double *fluxes,
                         struct balanced *b) {
    const int nc = h->trace.n_components, n_faces = h->space.blocks[block].n_faces, lanes = h->lanes;
    const double *from = found + local_lane(lanes, cell, cell_balance_size(n_faces, nc));
    b->moduli = from[0];
    for (int c = 0; c < nc; c++) b->left[c] = from[(1 + c) * lanes];
    for (int i = 0; i < n_faces * nc; i++) b->out[i % nc] += fluxes[i] = from[(1 + nc + i) * lanes];
}

/* Of the cell at hand: what is in its load, and no source; and what is not in it. */
static facet_status correct(struct local *l, const struct hdg_solution *s, double constant,
                            struct balanced *b) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const int nc = h->trace.n_components;
    if (h->data.expansion != NULL) {
        int N, n;
        hdg_local_sizes(h, l->block, &N, &n);
        TRY(local_begin(l, l->block, l->cell));
        TRY(h->data.equation->initial(l, l->C + N + n, l->C));
        for (int c = 0; c < nc; c++) b->left[c] -= l->C[(int64_t)c * h->functions[l->block].Nu] / constant;
    }
    if (s->offset_source != 0.0) {
        const struct hdg_table *table = &h->space.blocks[l->block].cell;
        hdg_cell_geometry(&h->space, l->block, l->cell, table, &l->geometry);
        for (int p = 0; p < table->n; p++) b->left[0] += s->offset_source * l->geometry.wJ[p];
    }
done:
    return status;
}

static facet_status balance_work(struct local *l, int block, int32_t cell, void *user) {
    facet_status status = FACET_OK;
    const struct balance_job *job = user;
    const struct hdg *h = l->hdg;
    const struct hdg_functions *v = &h->functions[block];
    const int nc = h->trace.n_components;
    const int64_t id = h->data.mesh->blocks[block].first + cell;
    const double constant = v->physical ? v->source.chi[0] : v->source.table->phi[0]; /* the first function */
    double *to = job->cells + id * row_of(h), *fluxes = job->fluxes + id * SHAPE_MAX_FACES * nc;
    struct balanced b = {0};
    l->block = block;
    l->cell = cell;
    if (job->kernels[block] && batch_way(h, block, cell / h->lanes) != BATCH_SINGLE)
        take_balance(h, block, cell, job->found[block], fluxes, &b);
    else
        TRY(balance_single(l, job->solution, constant, fluxes, &b));
    TRY(correct(l, job->solution, constant, &b));
    to[0] = b.moduli;
    to[1] = 0.0;
    for (int c = 0; c < nc; c++) {
        to[1] = fmax(to[1], fabs(b.left[c] + b.out[c]));
        to[2 + c] = b.left[c];
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ all of them */

/* What all cells and faces lack, and what passes: by component. */
struct lacks {
    double worst, largest, through, square, missing[3];
};

/* Adds the sum of both fluxes through a face. */
static void add_jump(struct lacks *l, int n, const double *one, const double *other) {
    for (int c = 0; c < n; c++) {
        const double jump = one[c] + (other != NULL ? other[c] : 0.0);
        l->worst = fmax(l->worst, fabs(jump));
        l->missing[c] += jump;
    }
}

/* At a seam the sum of both copies, which counts in the part that has the face. fluxes: of the cells. */
static facet_status add_seam(const struct hdg *h, const double *fluxes, struct lacks *l) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    const struct trace_space *space = &h->trace;
    const int n = space->n_components;
    double *sums = NULL;
    int64_t *offsets = NULL;
    if (space->seam == NULL) return FACET_OK;
    TRY(ALLOC(offsets, space->n_free_faces + 1));
    TRY(CALLOC(sums, space->n_free_faces * n));
    for (int64_t b = 0; b <= space->n_free_faces; b++) offsets[b] = b * n;
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        const int64_t f = space->free_faces[b];
        if (mesh->face_cells[2 * f + 1] == MESH_SEAM)
            memcpy(sums + b * n,
                   fluxes +
                       ((int64_t)mesh->face_cells[2 * f] * SHAPE_MAX_FACES + mesh->face_locals[2 * f]) * n,
                   (size_t)n * sizeof *sums);
    }
    TRY(seam_add_blocks(space->seam, offsets, sums));
    for (int64_t b = 0; b < space->n_free_faces; b++) {
        const int64_t f = space->free_faces[b];
        struct lacks own = {0};
        if (mesh->face_cells[2 * f + 1] == MESH_SEAM) add_jump(&own, n, sums + b * n, NULL);
        l->worst = fmax(l->worst, own.worst);
        for (int c = 0; c < n && (mesh->part == NULL || mesh->part->owns_face[f]); c++)
            l->missing[c] += own.missing[c];
    }
done:
    base_free(&sums);
    base_free(&offsets);
    return status;
}

static void add_faces(const struct hdg *h, const double *fluxes, struct lacks *l) {
    const struct facet_mesh *mesh = h->data.mesh;
    const int n = h->trace.n_components;
    for (int64_t f = 0; f < mesh->n_faces; f++) {
        int64_t a = mesh->face_cells[2 * f], b = mesh->face_cells[2 * f + 1];
        const double *one = fluxes + (a * SHAPE_MAX_FACES + mesh->face_locals[2 * f]) * n;
        double largest = 0.0;
        if (b >= 0) add_jump(l, n, one, fluxes + (b * SHAPE_MAX_FACES + mesh->face_locals[2 * f + 1]) * n);
        for (int c = 0; c < n && mesh_is_boundary(mesh, f); c++) largest = fmax(largest, fabs(one[c]));
        l->through += 0.5 * largest;
    }
}

/* The sums over all parts of the mesh. */
static facet_status sum_up(const struct hdg *h, const struct lacks *l, struct solve_balance *balance) {
    facet_status status = FACET_OK;
    double most[2] = {l->worst, l->largest};
    double sums[5] = {l->through, l->square, l->missing[0], l->missing[1], l->missing[2]};
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_MAX, 2, most));
    TRY(team_reduce(mesh_team(h->data.mesh), TEAM_SUM, 5, sums));
    *balance = (struct solve_balance){.cells = most[1] > 0.0 ? most[0] / most[1] : 0.0,
                                      .missing = fmax(fabs(sums[2]), fmax(fabs(sums[3]), fabs(sums[4]))),
                                      .through = sums[0],
                                      .terms = sqrt(sums[1])};
done:
    return status;
}

static facet_status sum_balance(const struct hdg *h, const struct balance_job *job,
                                struct solve_balance *balance) {
    facet_status status = FACET_OK;
    const int n = h->trace.n_components;
    struct lacks lacks = {0};
    for (int64_t c = 0; c < h->data.mesh->n_cells; c++) {
        const double *of = job->cells + c * row_of(h);
        lacks.largest = fmax(lacks.largest, of[0]);
        lacks.square += of[0] * of[0];
        lacks.through += 0.5 * of[1];
        add_jump(&lacks, n, of + 2, NULL);
    }
    add_faces(h, job->fluxes, &lacks);
    TRY(add_seam(h, job->fluxes, &lacks));
    TRY(sum_up(h, &lacks, balance));
done:
    return status;
}

facet_status hdg_conservation(const struct hdg *h, struct hdg_solution *s, struct solve_balance *balance) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct balance_job job = {.solution = s};
    *balance = (struct solve_balance){.cells = -1.0};
    if (h->data.equation->conserved == NULL) return FACET_OK;
    TRY(ALLOC(job.cells, row_of(h) * (int64_t)mesh->n_cells));
    TRY(ALLOC(job.fluxes, (int64_t)mesh->n_cells * SHAPE_MAX_FACES * h->trace.n_components));
    for (int b = 0; b < mesh->n_blocks; b++) TRY(find_block(h, b, &job));
    TRY(local_for_all_cells(h, balance_work, &job));
    TRY(sum_balance(h, &job, balance));
done:
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&job.found[b]);
    base_free(&job.cells);
    base_free(&job.fluxes);
    return status;
}
