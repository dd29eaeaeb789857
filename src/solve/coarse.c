/* How the last level is solved. See coarse.h. */
#include "solve/coarse.h"

#include <math.h>

#include "base/memory.h"
#include "base/run.h"
#include "solve/amg.h"
#include "solve/external.h"

/* A factor may take this part of the bytes of the finest level, or so many bytes. */
#define FACTOR_SHARE 1.0
#define SMALL_FACTOR 3.2e7
/* One thread orders and passes a factor, however many share the finest level: beyond so many of these it has
 * to be cheaper. */
#define FACTOR_THREADS 2
/* On the vertices of a solid a factor saves one or two of a dozen iterations: so many operations for each
 * byte that a product on the finest level passes, and no more. Few are always worth it. The factor of n
 * vertices takes so many times n^2 of them at least. */
#define SOLID_OPERATIONS 4.0
#define FEW_OPERATIONS   5e7
#define SOLID_SQUARES    3.0
/* Where aggregates would lock, it may take this part of the memory. */
#define FACTOR_MEMORY_SHARE 0.3
/* To order a matrix costs about as much as passing so many bytes for each of its entries; it may cost what so
 * many products do, and a small one is always tried. */
#define ORDERING_BYTES    2500.0
#define ORDERING_PRODUCTS 15.0
#define SMALL_ENTRIES     400000
/* Beside a GPU the host's factor costs two copies and its solves; more unknowns are for algebraic multigrid
 * there, which takes many more steps where its aggregates lock. */
#define FEW_BESIDE_GPU  1000
#define LOCK_BESIDE_GPU 20000

void coarse_matrix_destroy(struct coarse_matrix *m) {
    csr_destroy(&m->csr);
    base_free(&m->offsets);
    base_free(&m->kinds);
    base_free(&m->modes);
    base_free(&m->numbers);
}

/* Fills in what was left out. */
static facet_status complete(struct coarse_matrix *m, int modes) {
    facet_status status = FACET_OK;
    int64_t n = m->csr.n;
    if (m->offsets == NULL) {
        m->n_nodes = n;
        TRY(ALLOC(m->offsets, n + 1));
        for (int64_t i = 0; i <= n; i++) m->offsets[i] = i;
    }
    if (modes && m->modes == NULL) {
        m->n_modes = 1;
        TRY(ALLOC(m->modes, n));
        for (int64_t i = 0; i < n; i++) m->modes[i] = 1.0;
    }
done:
    return status;
}

/* ------------------------------------------------------------------------------ a factor */

/* The bytes of the finest level for each of those threads. */
static double fine_bytes(const struct coarse_options *o) {
    return o->fine_bytes / fmax((double)base_threads() / FACTOR_THREADS, 1.0);
}

static int has_few_operations(const struct coarse_options *o, double operations) {
    return !o->solid || o->locking || operations <= fmax(SOLID_OPERATIONS * fine_bytes(o), FEW_OPERATIONS);
}

int coarse_is_worth_ordering(const struct coarse_options *o, int64_t n, double entries) {
    if (n > cholesky_reasonable_size() || (o->unknowns > 0 && n > o->unknowns)) return 0;
    if (!has_few_operations(o, SOLID_SQUARES * (double)n * (double)n)) return 0;
    return o->locking || o->fine_bytes == 0.0 || entries <= SMALL_ENTRIES ||
           ORDERING_BYTES * entries <= ORDERING_PRODUCTS * fine_bytes(o);
}

static int is_cheap(const struct coarse_options *o, double bytes, double operations) {
    if (!has_few_operations(o, operations)) return 0;
    if (o->locking) return bytes <= FACTOR_MEMORY_SHARE * base_available_bytes();
    return o->fine_bytes == 0.0 || bytes <= fmax(FACTOR_SHARE * fine_bytes(o), SMALL_FACTOR);
}

/* M stays empty where the options do not allow a factor. */
static facet_status try_factor(const struct device *device, struct coarse_matrix *m,
                               const struct coarse_options *o, double *bytes, struct linear_operator *M) {
    facet_status status = FACET_OK;
    struct cholesky *cholesky = NULL;
    int64_t n = m->csr.n;
    *M = (struct linear_operator){0};
    if (o->wish == COARSE_AMG) goto done;
    int64_t few = o->locking ? LOCK_BESIDE_GPU : o->beside_gpu > 0 ? o->beside_gpu : FEW_BESIDE_GPU;
    if (o->wish == COARSE_AUTO && device_has_memory(device) && n > few) goto done;
    if (o->wish == COARSE_AUTO && !coarse_is_worth_ordering(o, n, (double)m->csr.offsets[n])) goto done;
    TRY(complete(m, 0));
    TRY(cholesky_analyze(&m->csr, m->n_nodes, m->offsets, m->singular ? 0 : -1, &cholesky, bytes));
    if (o->wish == COARSE_AUTO && !is_cheap(o, *bytes, cholesky_operations(cholesky))) goto done;
    TRY(cholesky_factor_last(cholesky, &m->csr));
    TRY(operator_create_cholesky(device, n, &cholesky, M));
done:
    cholesky_destroy(&cholesky);
    return status;
}

facet_status multigrid_end_factored(struct multigrid *mg, const struct device *device,
                                    struct coarse_matrix *m, const struct coarse_options *options,
                                    int *done) {
    facet_status status = FACET_OK;
    struct linear_operator solve;
    int64_t entries = m->csr.offsets[m->csr.n];
    double bytes;
    *done = 0;
    TRY(try_factor(device, m, options, &bytes, &solve));
    *done = solve.apply != NULL;
    if (!*done) goto done;
    TRY(multigrid_end(mg, m->name, &solve));
    multigrid_describe(mg, entries, bytes);
done:
    return status;
}

/* ------------------------------------------------------------------------------ algebraic multigrid */

/* On a GPU the steps of a K-cycle would wait for their dot products. There aggregates of one mode are visited
 * in a W-cycle whose corrections are scaled by this instead, since aggregates make them too small: with a
 * factor below 2 and Galerkin's matrices two visits from zero have a spectrum in (0, 1], so that the cycle
 * stays positive definite however many levels there are. (Classical interpolation takes an iteration or two
 * fewer, but much longer to set up: docs/gpu.md.) */
#define GPU_SCALE 1.9
/* Small levels are visited most often, and cost launches there, not operations: up to so many unknowns are
 * inverted. Aggregates of rigid motions keep the K-cycle, and where they lock take two steps of a polynomial
 * instead, whose bounds are measured once, with more smoothing: 71 iterations for 108, each 0.7 of the time.
 */
#define GPU_INVERTED         1000
#define GPU_LOCKING_INVERTED 1600
#define GPU_LOCKING_DEGREE   4

/* Many threads gain little on small levels, and a K-cycle of aggregates visits these four times: on the
 * vertices of a solid a V-cycle of classical interpolation takes one iteration fewer. */
static int is_shared_by_many(const struct device *device, const struct coarse_matrix *m,
                             const struct coarse_options *options) {
    return !device_has_memory(device) && options->solid && !options->locking && options->cycle == MG_K &&
           m->n_modes == 1 && base_threads() > FACTOR_THREADS;
}

static struct amg_options amg_of(const struct device *device, const struct coarse_matrix *m,
                                 const struct coarse_options *options) {
    struct amg_options amg;
    amg_options_default(&amg);
    amg.cycle = options->cycle;
    if (device_has_memory(device) && options->cycle == MG_K) {
        if (m->n_modes == 1) {
            amg.cycle = MG_W;
            amg.overcorrection = GPU_SCALE;
        } else if (options->locking) {
            amg.cycle = MG_TWICE;
            amg.degree = amg.coarse_degree = GPU_LOCKING_DEGREE;
            amg.coarse_size = GPU_LOCKING_INVERTED;
        } else {
            amg.coarse_size = GPU_INVERTED;
        }
    }
    amg.kinds = m->kinds;
    amg.name = m->name;
    amg.n_kernel = m->singular ? m->n_modes : 0;
    if (m->classical || is_shared_by_many(device, m, options)) {
        amg.aggregation = AMG_CLASSICAL;
        amg.cycle = options->cycle == MG_W ? MG_W : MG_V;
        amg.overcorrection = 1.0;
    }
    return amg;
}

facet_status multigrid_end_coarse(struct multigrid *mg, const struct device *device, struct coarse_matrix *m,
                                  const struct coarse_options *options) {
    facet_status status = FACET_OK;
    struct linear_operator solve = {0};
    int done;
    if (team_size(m->team) > 1) {
        if (options->external == NULL)
            FAIL(FACET_ERROR_INPUT, "a multigrid over several processes needs the library facet_dist");
        int64_t entries = m->csr.offsets[m->csr.n];
        TRY(options->external->create_coarse(device, m, &solve));
        TRY(multigrid_end(mg, m->name, &solve));
        multigrid_describe(mg, entries, 12.0 * (double)entries);
        goto done;
    }
    TRY(multigrid_end_factored(mg, device, m, options, &done));
    if (done) goto done;
    TRY(complete(m, 1));
    struct amg_options amg = amg_of(device, m, options);
    multigrid_visit(mg, amg.cycle, 1.0);
    TRY(multigrid_append_amg(mg, device, &m->csr, m->n_nodes, m->offsets, m->n_modes, m->modes, &amg));
done:
    return status;
}

static void do_nothing(const struct linear_operator *M, const struct vector *b, struct vector *x) {
    (void)M;
    (void)b;
    (void)x;
}

facet_status operator_create_coarse(const struct device *device, struct coarse_matrix *m,
                                    const struct coarse_options *options, struct linear_operator *M) {
    facet_status status = FACET_OK;
    double bytes;
    *M = (struct linear_operator){.device = device, .apply = do_nothing, .name = "no unknowns"};
    if (m->csr.n == 0) goto done;
    TRY(try_factor(device, m, options, &bytes, M));
    if (M->apply != NULL) goto done;
    TRY(complete(m, 1));
    struct amg_options amg = amg_of(device, m, options);
    TRY(operator_create_amg(device, &m->csr, m->n_nodes, m->offsets, m->n_modes, m->modes, &amg, M));
done:
    return status;
}
