/* Levels of continuous elements: the operators, transfers and smoothers that the multigrid is made of. */
#include "boxsem/halved_boxes.h"

#include <stdio.h>

#include "base/memory.h"
#include "solve/coarse.h"

/* Nodes of a direction whose modes are found by a dense eigensolver for a coarse level. */
#define LONGEST_DIRECT 512

/* ------------------------------------------------------------------------------ operator and transfer */

/* y = a A x + b f. Of a block the products are parts of sums, f is not. */
static void product(const struct linear_operator *A, double a, const struct vector *x, double b,
                    const struct vector *f, struct vector *y) {
    const struct boxsem_level *l = A->data;
    const int whole = l->seam == NULL;
    device_brick_apply(A->device, A->precision, &l->brick.cells, a, x->numbers, whole ? b : 0.0,
                       whole ? f->numbers : NULL, y->numbers, l->all->scratch);
    seam_add(l->seam, y);
    if (!whole && b != 0.0) vector_axpby(b, f, 1.0, y);
}

static void apply(const struct linear_operator *A, const struct vector *x, struct vector *y) {
    product(A, 1.0, x, 0.0, &(struct vector){0}, y);
}

static void residual(const struct linear_operator *A, const struct vector *f, const struct vector *x,
                     struct vector *r) {
    product(A, -1.0, x, 1.0, f, r);
}

static struct linear_operator level_operator(struct boxsem_level *l, enum precision precision) {
    return (struct linear_operator){.n = l->n,
                                    .device = l->all->device,
                                    .apply = apply,
                                    .residual = residual,
                                    .seam = seam_hold(l->seam),
                                    .data = l,
                                    .name = "continuous elements on a box",
                                    .precision = precision};
}

static void prolong(const struct mg_link *link, const struct vector *coarse, struct vector *fine) {
    const struct boxsem_level *l = link->data;
    if (l->gather != NULL)
        boxsem_gather_prolong(l->gather, coarse, fine, l->all->scratch);
    else
        device_brick_prolong(l->all->device, fine->precision, &l->transfer.plan, coarse->numbers,
                             fine->numbers, l->all->scratch);
}

/* Of a block: nodes that belong to it, so that each counts once; what they make of nodes at the seams of the
 * next level are parts of sums, which whoever solves there takes if it is the last. */
static void restrict_block(const struct boxsem_level *l, const struct vector *fine, struct vector *coarse) {
    struct boxsem_window w = {.from = {0}};
    struct vector owned = l->owned; /* has room for either precision */
    owned.precision = fine->precision;
    for (int d = 0; d < 3; d++) {
        w.count[d] = boxsem_owned_nodes(&l->blocks, boxsem_own_block(&l->blocks), l->all->element->k, d);
        w.ends_from[d] = w.ends_to[d] = l->brick.cells.n_nodes[d];
    }
    vector_fill(&owned, 0.0);
    boxsem_window_copy(&w, fine, &owned);
    device_brick_restrict(l->all->device, fine->precision, &l->transfer.plan, owned.numbers, coarse->numbers,
                          l->all->scratch);
    if (l + 1 < l->all->levels + l->all->n_levels) seam_add(l[1].seam, coarse);
}

static void restrict_(const struct mg_link *link, const struct vector *fine, struct vector *coarse) {
    const struct boxsem_level *l = link->data;
    if (l->gather != NULL)
        boxsem_gather_restrict(l->gather, fine, coarse, l->all->scratch);
    else if (l->seam != NULL)
        restrict_block(l, fine, coarse);
    else
        device_brick_restrict(l->all->device, fine->precision, &l->transfer.plan, fine->numbers,
                              coarse->numbers, l->all->scratch);
}

/* ------------------------------------------------------------------------------ smoothers */

static void sweep_patches(const struct boxsem_level *l, int backward, const struct vector *f,
                          struct vector *x) {
    device_patch_sweep(l->all->device, x->precision, &l->patches.plan, backward, f->numbers, x->numbers,
                       l->all->scratch);
}

static void sweep(const struct boxsem_level *l, int backward, const struct vector *f, int from_zero,
                  struct vector *x) {
    const struct boxsem_options *o = l->all->options;
    if (l->halo != NULL) {
        boxsem_halo_sweep(l->halo, o->steps, backward, from_zero, f, x, l->all->scratch);
        return;
    }
    if (from_zero) vector_fill(x, 0.0);
    for (int step = 0; step < o->steps; step++)
        if (o->smoother == BOXSEM_OTHER)
            o->other(l->all->device, x->precision, &l->brick.cells, backward, f->numbers, x->numbers);
        else
            sweep_patches(l, backward, f, x);
}

static void smooth(const struct smoother *s, const struct linear_operator *A, const struct vector *f,
                   int from_zero, struct vector *x) {
    (void)A;
    sweep(s->data, 0, f, from_zero, x);
}

static void smooth_reversed(const struct smoother *s, const struct linear_operator *A, const struct vector *f,
                            struct vector *x) {
    (void)A;
    sweep(s->data, 1, f, 0, x);
}

/* Zero on nodes with Dirichlet values, so that iterations for eigenvalues do not see them. */
facet_status boxsem_levels_diagonal(const struct boxsem_level *l, struct linear_operator *D) {
    facet_status status = FACET_OK;
    const struct device *device = l->all->device;
    struct vector diagonal = {0};
    double *host = NULL;
    TRY(vector_create(device, l->n, &diagonal));
    TRY(ALLOC(host, l->n));
    device_brick_diagonal(device, F64, &l->brick.cells, diagonal.data);
    seam_add(l->seam, &diagonal);
    TRY(vector_download(&diagonal, host));
#pragma omp parallel for num_threads(base_threads_for(l->n)) schedule(static)
    for (int64_t i = 0; i < l->n; i++) host[i] = brick_is_fixed(&l->brick.cells, i) ? 0.0 : 1.0 / host[i];
    TRY(operator_create_diagonal(device, l->n, host, D));
done:
    vector_destroy(&diagonal);
    base_free(&host);
    return status;
}

static facet_status create_smoother(struct boxsem_level *l, const struct linear_operator *A,
                                    struct smoother *s) {
    facet_status status = FACET_OK;
    const struct boxsem_options *o = l->all->options;
    struct linear_operator D = {0};
    *s = (struct smoother){.smooth = smooth, .post = o->reversed ? smooth_reversed : NULL, .data = l};
    if (o->smoother != BOXSEM_CHEBYSHEV) return FACET_OK;
    TRY(boxsem_levels_diagonal(l, &D));
    if (A->precision == F32) TRY(operator_round(&D));
    TRY(smoother_create_chebyshev(A, &D, POLYNOMIAL_FOURTH, 4.0, o->steps, s));
done:
    operator_destroy(&D);
    return status;
}

/* ------------------------------------------------------------------------------ grids */

/* Which directions can be halved, and leave an unknown then; returns whether any can. */
static int find_halved(int dim, const int cells[3], const enum box_side sides[3][2], int k, int halved[3]) {
    int any = 0;
    for (int d = 0; d < 3; d++) {
        int N = cells[d], fixed = (sides[d][0] == BOX_DIRICHLET) + (sides[d][1] == BOX_DIRICHLET);
        halved[d] = d < dim && N > 1 && N % 2 == 0 && k * (N / 2) + 1 - fixed > 0;
        any = any || halved[d];
    }
    return any;
}

/* Means over the cells of coarse cells, by volume; of equal values exactly that value. */
static facet_status coarsen_values(const struct box_grid *g, const int cells[3], const int halved[3],
                                   const double *values, double **coarse) {
    facet_status status = FACET_OK;
    int64_t n = (int64_t)cells[0] * cells[1] * cells[2];
    if (values == NULL) return FACET_OK;
    TRY(ALLOC(*coarse, n));
#pragma omp parallel for num_threads(base_threads_for(8 * n))
    for (int64_t c = 0; c < n; c++) {
        int at[3] = {(int)(c % cells[0]), (int)(c / cells[0] % cells[1]), (int)(c / cells[0] / cells[1])};
        double first = 0.0, sum = 0.0, total = 0.0;
        for (int part = 0; part < 8; part++) {
            int fine[3], outside = 0;
            for (int d = 0; d < 3; d++) {
                int offset = part >> d & 1;
                outside |= offset && !halved[d];
                fine[d] = halved[d] ? 2 * at[d] + offset : at[d];
            }
            if (outside) continue;
            double volume = box_cell_volume(g, fine), value = values[box_cell(g, fine)];
            if (part == 0) first = value;
            sum += volume * (value - first);
            total += volume;
        }
        (*coarse)[c] = first + sum / total;
    }
done:
    return status;
}

static facet_status coarsen(const struct box_grid *g, const int halved[3], struct box_grid *coarse) {
    facet_status status = FACET_OK;
    struct box_grid_data data = {.dim = g->dim, .part = g->part};
    double *coordinates[3] = {NULL}, *conductivity = NULL, *reaction = NULL;
    for (int d = 0; d < 3; d++) {
        data.cells[d] = g->cells[d] >> halved[d];
        for (int side = 0; side < 2; side++) data.sides[d][side] = g->sides[d][side];
    }
    for (int d = 0; d < g->dim; d++) {
        TRY(ALLOC(coordinates[d], data.cells[d] + 1));
        for (int i = 0; i <= data.cells[d]; i++) coordinates[d][i] = g->coordinates[d][i << halved[d]];
        data.coordinates[d] = coordinates[d];
    }
    TRY(coarsen_values(g, data.cells, halved, g->conductivity, &conductivity));
    TRY(coarsen_values(g, data.cells, halved, g->reaction, &reaction));
    data.conductivity = conductivity;
    data.reaction = reaction;
    TRY(box_grid_create(&data, coarse));
done:
    for (int d = 0; d < 3; d++) base_free(&coordinates[d]);
    base_free(&conductivity);
    base_free(&reaction);
    return status;
}

/* ------------------------------------------------------------------------------ the last level */

/* One patch is the whole box. */
static void solve_patch(const struct linear_operator *M, const struct vector *f, struct vector *x) {
    vector_fill(x, 0.0);
    sweep_patches(M->data, 0, f, x);
}

static int is_one_patch(const struct boxsem_level *l) {
    int one = !l->grid.singular && l->grid.separable;
    for (int d = 0; d < 3; d++) one = one && l->patches.plan.axis[d].n_columns == 1;
    return one;
}

/* Whether a level is small enough for the direct solution. */
static int is_direct(const struct boxsem_levels *all, const struct box_grid *g) {
    int64_t n = 1;
    for (int d = 0; d < g->dim; d++) {
        if (all->element->k * (int64_t)g->cells[d] > LONGEST_DIRECT) return 0;
        n *= all->element->k * (int64_t)g->cells[d] + 1;
    }
    return g->separable && n <= all->options->direct && all->options->smoother == BOXSEM_VERTEX;
}

static facet_status create_factor(struct boxsem_level *l, struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct coarse_matrix matrix = {.singular = l->grid.singular};
    TRY(boxsem_levels_assemble(l, l->all->element, &matrix.csr));
    TRY(operator_create_coarse(l->all->device, &matrix, &(struct coarse_options){.wish = COARSE_FACTOR}, M));
    l->all->factored = 1;
done:
    coarse_matrix_destroy(&matrix);
    return status;
}

static facet_status create_last(struct boxsem_levels *levels, int single, struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct boxsem_level *l = &levels->levels[levels->n_levels - 1];
    int patches = levels->options->smoother == BOXSEM_VERTEX;
    int direct = levels->n_levels > 1 && is_direct(levels, &l->grid);
    if (patches && !direct && is_one_patch(l)) {
        *M = level_operator(l, single && levels->n_levels > 1);
        M->apply = solve_patch;
        M->residual = NULL;
    } else if (l->grid.separable) {
        TRY(operator_create_diagonalization(levels->device, &l->grid, levels->element, &levels->diagonal, M));
    } else {
        TRY(create_factor(l, M));
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------ all of them */

void boxsem_levels_destroy(struct boxsem_levels **levels) {
    struct boxsem_levels *all = *levels;
    if (all == NULL) return;
    for (int i = 0; i < all->n_levels; i++) {
        struct boxsem_level *l = &all->levels[i];
        if (i > 0) box_grid_destroy(&l->grid); /* the first is borrowed */
        boxsem_brick_destroy(&l->brick);
        boxsem_patches_destroy(&l->patches);
        boxsem_transfer_destroy(&l->transfer);
        boxsem_blocks_destroy(&l->blocks);
        seam_release(&l->seam);
        boxsem_halo_destroy(&l->halo);
        boxsem_gather_destroy(&l->gather);
        vector_destroy(&l->owned);
    }
    operator_destroy(&all->A);
    box_diagonal_destroy(&all->diagonal);
    if (all->device != NULL) device_free(all->device, &all->scratch);
    base_free(&all->levels);
    base_free(levels);
}

static int inner_steps(const struct boxsem_levels *all) {
    return all->options->inner < 0 ? device_inner_steps(all->device) : all->options->inner;
}

static facet_status fill_level(struct boxsem_level *l) {
    facet_status status = FACET_OK;
    const struct boxsem_levels *all = l->all;
    const struct boxsem_options *o = all->options;
    TRY(boxsem_brick_create(all->device, &l->grid, all->element, &l->brick));
    l->n = brick_n_nodes(&l->brick.cells);
    if (l->blocks.blocks != NULL) {
        TRY(boxsem_blocks_seam(&l->blocks, all->element->k, &l->seam));
        if (o->smoother == BOXSEM_VERTEX)
            TRY(boxsem_halo_create(all->device, &l->blocks, &l->grid, all->element, o->single ? F32 : F64,
                                   o->variant, inner_steps(all), &l->halo));
    } else if (o->smoother == BOXSEM_VERTEX || o->smoother == BOXSEM_ADDITIVE) {
        TRY(boxsem_patches_create(all->device, &l->grid, all->element, &l->brick.cells, &l->patches));
        l->patches.plan.variant = o->smoother == BOXSEM_ADDITIVE ? PATCH_ADDITIVE : o->variant;
        l->patches.plan.inner = inner_steps(all);
    }
done:
    return status;
}

/* From level i + 1 to level i. */
static facet_status make_transfer(struct boxsem_levels *all, int i) {
    facet_status status = FACET_OK;
    struct boxsem_level *l = &all->levels[i];
    if (l->blocks.blocks != NULL && l[1].blocks.blocks == NULL) {
        TRY(boxsem_gather_create(all->device, &l->blocks, &l[1].grid, all->element, &l->gather));
        goto done;
    }
    if (l->blocks.blocks != NULL) TRY(vector_create(all->device, l->n, &l->owned));
    TRY(boxsem_transfer_create(all->device, &l->grid, &l[1].grid, all->element, all->element, &l->transfer));
done:
    return status;
}

/* A level with no more nodes than these is better had whole by every process than in blocks, whose patches
 * wait for messages after each colour. Where blocks cannot be halved, one is had whole that is small, or no
 * larger than so many blocks; below others stand the vertices of their cells. */
#define FEW_WHOLE_NODES  10000
#define MOST_WHOLE_NODES 100000
#define MOST_BLOCKS      4

/* The next level below one of blocks: of blocks, or whole. *done_: there is none, for it would be too large.
 */
static facet_status coarsen_blocks(struct boxsem_level *l, int *done_) {
    facet_status status = FACET_OK;
    const struct boxsem_blocks *b = &l->blocks;
    struct box_grid whole = {0};
    const int k = l->all->element->k;
    int halved[3], any = find_halved(b->dim, b->cells, b->sides, k, halved), nested = any;
    int64_t n = 1, most = MOST_WHOLE_NODES;
    for (int r = 0; r < b->team->size; r++) {
        int64_t nodes = MOST_BLOCKS;
        for (int d = 0; d < 3; d++) {
            const struct boxsem_block *block = &b->blocks[r];
            nested = nested && !(halved[d] && (block->first[d] % 2 || block->count[d] % 2));
            nodes *= boxsem_owned_nodes(b, block, k, d);
        }
        most = nodes > most ? nodes : most;
    }
    for (int d = 0; d < b->dim; d++)
        n *= k * (int64_t)(b->cells[d] >> halved[d]) + (b->sides[d][0] != BOX_PERIODIC);
    *done_ = 0;
    if (nested && n > FEW_WHOLE_NODES) {
        TRY(boxsem_blocks_halve(b, halved, &l[1].blocks));
        TRY(coarsen(&l->grid, halved, &l[1].grid));
    } else if (n <= most) {
        TRY(boxsem_blocks_whole(b, &l->grid, &whole));
        if (any) {
            TRY(coarsen(&whole, halved, &l[1].grid));
        } else {
            l[1].grid = whole;
            whole = (struct box_grid){0};
        }
    } else {
        *done_ = 1;
    }
done:
    box_grid_destroy(&whole);
    return status;
}

/* Grids until none can be halved, or one is solved directly. Plans hold addresses of levels, so the list is
 * made first. */
static facet_status make_levels(struct boxsem_levels *all, const struct box_grid *grid, int only_first) {
    facet_status status = FACET_OK;
    int halved[3], done_ = 0;
    TRY(CALLOC(all->levels, MG_MAX_LEVELS));
    all->levels[0].grid = *grid;
    all->n_levels = 1;
    for (int i = 0; i < MG_MAX_LEVELS; i++) all->levels[i].all = all;
    if (grid->part != NULL) TRY(boxsem_blocks_create(grid, &all->levels[0].blocks));
    while (!only_first) {
        struct boxsem_level *last = &all->levels[all->n_levels - 1];
        const struct box_grid *g = &last->grid;
        if (last->blocks.blocks != NULL) {
            TRY(coarsen_blocks(last, &done_));
            all->on_vertices = done_;
            if (done_) break;
        } else {
            if (all->n_levels > 1 && is_direct(all, g)) break;
            if (!find_halved(g->dim, g->cells, g->sides, all->element->k, halved)) break;
            TRY(coarsen(g, halved, &last[1].grid));
        }
        all->n_levels++;
    }
    for (int i = 0; i < all->n_levels; i++) {
        TRY(fill_level(&all->levels[i]));
        if (i > 0) TRY(make_transfer(all, i - 1));
    }
    if (all->options->vertices) all->on_vertices = 1;
    if (all->on_vertices) TRY(boxsem_levels_reach_vertices(all));
done:
    return status;
}

static facet_status add_level(struct boxsem_levels *all, int i, struct multigrid *mg) {
    facet_status status = FACET_OK;
    struct boxsem_level *l = &all->levels[i];
    struct linear_operator A = {0};
    struct smoother s = {0};
    char name[32];
    const int *cells = l->blocks.blocks != NULL ? l->blocks.cells : l->grid.cells;
    snprintf(name, sizeof name, "%dx%dx%d", cells[0], cells[1], cells[2]);
    if (l->grid.dim < 3) snprintf(name, sizeof name, "%dx%d", cells[0], cells[1]);
    if (i == all->n_levels - 1 && !all->on_vertices) {
        TRY(create_last(all, all->options->single, &A));
        TRY(multigrid_end(mg, name, &A));
        goto done;
    }
    A = level_operator(l, all->options->single);
    TRY(create_smoother(l, &A, &s));
    TRY(multigrid_append(mg, name, NULL, &A, &s));
    A = level_operator(l, 0);
    if (all->options->single) multigrid_refine(mg, &A);
    struct mg_link link = {
        .n_fine = l->n, .n_coarse = 1, .prolong = prolong, .restrict_ = restrict_, .data = l};
    for (int d = 0; d < 3; d++) link.n_coarse *= l->transfer.plan.axis[d].n_coarse;
    if (l->gather != NULL) link.n_coarse = l[1].n;
    TRY(multigrid_link(mg, &link));
done:
    return status;
}

static facet_status make_multigrid(struct boxsem_levels *all, struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct multigrid *mg = NULL;
    TRY(multigrid_create(&mg));
    for (int i = 0; i < all->n_levels; i++) TRY(add_level(all, i, mg));
    if (all->on_vertices) TRY(boxsem_levels_end_vertices(all, mg));
    TRY(multigrid_finish(mg));
    int full = all->options->cycle == MG_FULL && all->options->solver != BOXSEM_MULTIGRID;
    TRY(multigrid_set_cycle(mg, full ? MG_V : all->options->cycle));
    TRY(operator_create_multigrid(&mg, M));
done:
    multigrid_destroy(&mg);
    return status;
}

static int64_t scratch_needed(const struct boxsem_levels *all) {
    int64_t most = 0;
    for (int i = 0; i < all->n_levels; i++) {
        const struct boxsem_level *l = &all->levels[i];
        int64_t sizes[3] = {brick_scratch(&l->brick.cells, base_threads()), 0, 0};
        if (l->patches.device != NULL) sizes[1] = device_patch_scratch(all->device, &l->patches.plan);
        if (l->halo != NULL) sizes[1] = device_patch_scratch(all->device, boxsem_halo_plan(l->halo));
        if (l->gather != NULL) sizes[2] = boxsem_gather_scratch(l->gather);
        if (l->transfer.device != NULL) sizes[2] = brick_transfer_scratch(&l->transfer.plan, base_threads());
        for (int s = 0; s < 3; s++) most = sizes[s] > most ? sizes[s] : most;
    }
    return most;
}

facet_status boxsem_levels_prepare(struct boxsem_levels *all) {
    facet_status status = FACET_OK;
    int64_t size = scratch_needed(all);
    if (size <= all->scratch_size) return FACET_OK;
    device_free(all->device, &all->scratch);
    all->scratch_size = 0;
    TRY(device_alloc(all->device, &all->scratch, (size_t)size, sizeof *all->scratch));
    all->scratch_size = size;
done:
    return status;
}

facet_status boxsem_levels_create(const struct device *device, const struct box_grid *grid,
                                  const struct box_element *element, const struct boxsem_options *options,
                                  struct linear_operator *M, struct boxsem_levels **levels) {
    facet_status status = FACET_OK;
    struct boxsem_levels *all = NULL;
    *levels = NULL;
    TRY(CALLOC(all, 1));
    all->device = device;
    all->options = options;
    all->element = element;
    TRY(make_levels(all, grid, M == NULL || options->vertices));
    all->A = level_operator(&all->levels[0], 0);
    TRY(boxsem_levels_prepare(all));
    if (M != NULL) TRY(make_multigrid(all, M));
    *levels = all;
done:
    if (status != FACET_OK) boxsem_levels_destroy(&all);
    return status;
}

int boxsem_levels_can_change(const struct boxsem_levels *all) {
    return all->options->smoother != BOXSEM_CHEBYSHEV && !all->factored &&
           all->levels[0].blocks.blocks == NULL;
}

void boxsem_levels_set_reaction(struct boxsem_levels *all, double reaction) {
    for (int i = 0; i < all->n_levels; i++) {
        struct brick_cells *cells = &all->levels[i].brick.cells;
        device_free(all->device, (void *)&cells->reaction);
        cells->lambda = reaction;
    }
    if (all->diagonal != NULL) box_diagonal_set_reaction(all->diagonal, reaction);
}
