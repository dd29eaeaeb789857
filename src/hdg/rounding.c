/* Rounding in the element matrices: more than in products on stretched cells and with a large tau, and not of
 * single entries but of the largest ones, since condensation mixes them. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/batch.h"
#include "hdg/contact.h"
#include "hdg/elastic.h"
#include "trace/sides.h"

/* What K_e times a constant or a rotation lacks of what it should be, before that is restored, is what
 * rounding left in its entries: more than in products on stretched cells and with a large tau. Cells of a
 * sample are condensed once more to see it, no more than so many operations. */
#define SAMPLES           12
#define SAMPLE_OPERATIONS 3e8
/* Of more cells tau is looked at. */
#define LOOKS 200

/* The highest functions of u are held by tau alone: where it is tiny next to K/h, rounding in the local
 * problem is that much larger in u. Where it is huge, the rest drowns in its rounding. By measurement. */
static facet_status look_inside(struct local *l, struct hdg *to) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    int row;
    double K = l->elastic != NULL ? l->elastic->mean_mu : l->mean_K;
    const double *chi;
    for (int f = 0; f < h->space.blocks[l->block].n_faces; f++) {
        double area = 0.0, least = INFINITY, largest = 0.0;
        if (local_on_axis(l, f)) continue;
        int n_points = hdg_face_of(h->functions[l->block].face, f)->rule.n;
        TRY(local_face_tau(l, f, &chi, &row));
        for (int q = 0; q < n_points; q++) {
            area += local_norm(h->data.mesh->dim, l->normal + q * h->data.mesh->dim);
            least = fmin(least, l->values[q]);
            largest = fmax(largest, l->values[q]);
        }
        double scale = K * area / l->volume;
        to->inside = fmax(to->inside, DBL_EPSILON * fmax(0.1 * scale / least, 2.0 * largest / scale));
        to->heaviest = fmax(to->heaviest, largest / scale);
        to->lightest = fmin(to->lightest, least / scale);
    }
done:
    return status;
}

/* The i-th of n cells out of `count`: one of each n-th part, at no fixed place of it, since data may repeat
 * themselves from row to row. */
static int32_t sample(int i, int n, int32_t count) {
    const double golden = 0.6180339887498949;
    double place = (i + 1) * golden - floor((i + 1) * golden);
    return (int32_t)fmin((i + place) * count / n, count - 1);
}

/* What kernels of another device make of a cell of the sample must be what the host makes of it, up to
 * rounding. */
#define DIFFERENT 1e-5

/* Of so few cells of every block the matrix is kept until then. */
static facet_status keep(struct rounding_samples *samples, int i, int block, int32_t cell, int n,
                         const double *K) {
    facet_status status = FACET_OK;
    struct rounding_sample *s = &samples->of[samples->n];
    if (i >= ROUGH_KEPT) return FACET_OK;
    *s = (struct rounding_sample){.block = block, .cell = cell, .n = n};
    samples->n++;
    TRY(ALLOC(s->K, (int64_t)n * n));
    memcpy(s->K, K, (size_t)n * (size_t)n * sizeof *K);
done:
    return status;
}

static facet_status compare(const struct hdg *h, const struct rounding_sample *s) {
    facet_status status = FACET_OK;
    const struct trace_matrices *matrices = &h->matrices;
    const int lanes = matrices->lanes, n = s->n;
    const int64_t size = trace_matrix_size(matrices, s->block) * lanes,
                  start = trace_matrix_start(matrices, s->block, s->cell);
    double *there = NULL, difference = 0.0, largest = 0.0;
    TRY(ALLOC(there, size));
    TRY(device_download(h->device, there, matrices->values[s->block] + start / size * size,
                        (size_t)size * sizeof *there));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double *own = there + start % size, K = s->K[i * n + j];
            double value = matrices->full ? own[((int64_t)i * n + j) * lanes] : trace_entry(own, lanes, i, j);
            largest = fmax(largest, fabs(K));
            if (!(fabs(value - K) <= difference)) difference = fabs(value - K);
        }
    if (!(difference <= DIFFERENT * largest))
        FAIL(FACET_ERROR_MACHINE,
             "the element matrix of cell %d that the device '%s' made differs from that of the host by %.1e "
             "of "
             "it: its results are not to be trusted; use another device, and please report this",
             (int)s->cell, device_name(h->device), difference / largest);
done:
    base_free(&there);
    return status;
}

facet_status hdg_compare_samples(const struct hdg *h, struct rounding_samples *samples) {
    facet_status status = FACET_OK;
    for (int i = 0; i < samples->n; i++) TRY(compare(h, &samples->of[i]));
done:
    return status;
}

void rounding_samples_destroy(struct rounding_samples *samples) {
    for (int i = 0; i < samples->n; i++) base_free(&samples->of[i].K);
    samples->n = 0;
}

facet_status hdg_measure_rounding(struct hdg *h, struct rounding_samples *samples) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct local l = {0};
    double *matrix = NULL, robin = 0.0, softest = INFINITY, stiffest = 0.0;
    TRY(local_create(h, &l));
    h->rounding = h->inside = DBL_EPSILON;
    h->uneven = h->heaviest = h->lightest = 1.0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        struct condenser c;
        h->data.equation->condenser(h, b, &c);
        double operations = pow(h->n_eliminated[b] + c.n, 3);
        int n = (int)fmin(fmin(SAMPLES, mesh->blocks[b].count), SAMPLE_OPERATIONS / operations);
        base_free(&matrix);
        TRY(ALLOC(matrix, (int64_t)c.n * c.n));
        for (int i = 0; i < n; i++) {
            int32_t cell = sample(i, n, mesh->blocks[b].count);
            TRY(local_begin(&l, b, cell));
            TRY(c.cell(&l, matrix, &robin));
            if (!device_is_host(h->device)) TRY(keep(samples, i, b, cell, c.n, matrix));
            double least = INFINITY, most = hdg_stiffest(h, b, cell, c.n, matrix);
            for (int k = 0; k < c.n; k++) least = fmin(least, matrix[k * c.n + k]);
            if (least > 0.0) h->uneven = fmax(h->uneven, most / least);
            softest = fmin(softest, most);
            stiffest = fmax(stiffest, most);
        }
        n = (int)fmin(LOOKS, mesh->blocks[b].count);
        for (int i = 0; h->data.equation->by_faces && i < n; i++) {
            TRY(local_begin(&l, b, sample(i, n, mesh->blocks[b].count)));
            TRY(look_inside(&l, h));
        }
    }
    h->rounding = fmax(h->rounding, l.missing);
    double most[] = {h->rounding, h->inside, h->uneven, h->heaviest, stiffest},
           least[] = {h->lightest, softest};
    TRY(team_reduce(mesh_team(mesh), TEAM_MAX, 5, most));
    TRY(team_reduce(mesh_team(mesh), TEAM_MIN, 2, least));
    h->rounding = most[0], h->inside = most[1], h->uneven = most[2], h->heaviest = most[3];
    stiffest = most[4];
    h->lightest = least[0];
    softest = least[1];
    h->contrast = softest > 0.0 ? fmax(stiffest / softest, 1.0) : 1.0;
done:
    local_destroy(&l);
    base_free(&matrix);
    return status;
}

/* Entries that are rounded so many times as much as a product are worth a look of their own. */
#define ROUGH 20.0
/* Of two diagonal entries of K_e: cells are stretched, or tau is large. */
#define UNEVEN 1e3
/* Of the largest entries of two cells. */
#define CONTRAST 1e4
/* Signs cancel, but hardly where K jumps and products do not take constants off; by measurement. Entries that
 * are rounded once, when they are stored, are the least. */
#define PART   0.1
#define JUMPS  0.3
#define STORED (0.5 * DBL_EPSILON)

double hdg_rounding_error(const struct hdg *h) {
    return fmax(h->rounding, h->inside);
}

/* tau h / K. The default, h over the length of the domain, is far above it. */
#define LIGHT 1e-4

int hdg_is_light(const struct hdg *h) {
    return h->lightest < LIGHT;
}

/* Where K jumps from cell to cell, those that it holds firmly hang on others as a whole, and with them what
 * is rounded in their loads. */
static int jumps(const struct hdg *h) {
    return h->contrast > CONTRAST;
}

/* Where contacts or a weak reaction are all that holds a body, they stand against the rounding of its entries
 * even where that is small. */
static int hangs(const struct hdg *h) {
    return h->data.contacts != NULL || h->weak.n > 0; /* all ranks say the same */
}

int hdg_rounding_matters(const struct hdg *h) {
    return h->data.equation->rigid || h->rounding > ROUGH * DBL_EPSILON || h->uneven > UNEVEN || jumps(h) ||
           hangs(h);
}

/* 1 or -1, the same every time. */
static double sign_of(int draw, uint64_t i) {
    i = (i + (uint64_t)draw * 0xd1b54a32d192ed03u) * 0x9e3779b97f4a7c15u;
    return (i ^ i >> 29) >> 40 & 1 ? 1.0 : -1.0;
}

/* The largest unknown of a cell, without the constants that its matrix does not see (loose: bits). */
static double deformation(const struct hdg *h, int block, int loose, int n, const double *x) {
    int m = h->space.blocks[block].m, n_components = h->trace.n_components;
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        int c = i / m % n_components;
        double first = i % m == 0 && loose >> c & 1 ? x[c * m] : 0.0;
        most = fmax(most, fabs(x[i] - first));
    }
    return most;
}

/* The largest diagonal entry of the matrix of every cell of the mesh; of devices that are not the host
 * without the matrices. What Robin's a and springs add does not count: it is added after the condensation,
 * which therefore mixes it with nothing, and its rounding is a relative change of a. u sees a relative change
 * of that size, however large a is. */
static facet_status find_stiffest(const struct hdg *h, double *stiffest) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    const int there =
        !device_is_host(h->device) && h->data.equation->by_faces && h->contacts == NULL && !h->matrices.full;
    struct trace_view view = {.matrices = &h->matrices};
    struct trace_summary summary = {0};
    TRY(there ? trace_summary_open(&h->matrices, &h->trace, &summary) : trace_view_open(&h->matrices, &view));
    for (int b = 0; b < mesh->n_blocks; b++) {
        double *to = stiffest + mesh->blocks[b].first;
        int N, n;
        hdg_local_sizes(h, b, &N, &n);
#pragma omp parallel for num_threads(base_threads()) schedule(static)
        for (int32_t cell = 0; cell < mesh->blocks[b].count; cell++) {
            if (h->unheld != NULL && h->unheld[mesh->blocks[b].first + cell] > 0.0) {
                to[cell] = h->unheld[mesh->blocks[b].first + cell];
                continue;
            }
            to[cell] = there ? trace_summary_of(&summary, b, cell, TRACE_MOST) : 0.0;
            for (int i = 0; i < n && !there; i++)
                to[cell] = fmax(to[cell], trace_view_entry(&view, b, trace_view_cell(&view, b, cell), i, i));
        }
    }
done:
    trace_summary_close(&summary);
    trace_view_close(&view);
    return status;
}

/* The same of the traces that a second side of contacts has of its own, without their constant, which its
 * matrix sees as it should (contact.h). */
static double own_deformation(const struct hdg *h, int block, int32_t cell, const double *x) {
    const int *slots = h->trace.slots[block];
    double most = 0.0;
    int first = -1;
    for (int s = 0; s < h->trace.n_slots[block]; s++) {
        if (contact_is_second(h, block, cell, s)) continue;
        if (first < 0) first = slots[s];
        for (int i = slots[s]; i < slots[s + 1]; i++)
            most = fmax(most, fabs(x[i] - (i == slots[s] ? x[first] : 0.0)));
    }
    return most;
}

/* errors: of the cells of a block; they are its stiffest entries before. joined: likewise where a cell meets
 * the first sides of its contacts. */
static facet_status find_errors(const struct hdg *h, int block, const double *full, double *errors,
                                double *joined) {
    struct base_collector failures;
    int N, n;
    hdg_local_sizes(h, block, &N, &n);
    base_collector_init(&failures);
#pragma omp parallel num_threads(base_threads())
    {
        double *local = NULL;
        facet_status mine = ALLOC(local, n);
        base_collect(&failures, -1, mine);
#pragma omp for
        for (int32_t cell = 0; cell < h->data.mesh->blocks[block].count; cell++) {
            if (mine != FACET_OK) continue;
            trace_gather(&h->trace, block, cell, full, local, 1);
            const int loose = h->matrices.loose[block] != NULL ? h->matrices.loose[block][cell] : 0;
            const double part = fmax((jumps(h) && loose == 0 ? JUMPS : PART) * h->rounding, STORED),
                         all = deformation(h, block, loose, n, local);
            /* about an axis K_e times the motion r is restored (elastic_condense.c), and then stored */
            const double rest = hdg_has_hoop(h) ? deformation(h, block, loose | 1, n, local) : all;
            errors[cell] *= fmax(part * rest, STORED * all);
            if (!contact_has_cell(h, block, cell)) continue;
            const struct contact_cell *c = &h->contacts->cells[h->contacts->number[block][cell]];
            errors[cell] += part * c->stiffest * own_deformation(h, block, cell, local);
            joined[cell] = part * c->joined * all;
        }
        base_free(&local);
    }
    return base_collected(&failures);
}

/* Adds them to the unknowns of the cells, with one sign or the other; where K jumps with one sign, of the
 * first draw in all cells. */
static void spread_errors(const struct hdg *h, int block, int draw, const double *errors,
                          const double *joined, double *free) {
    const struct trace_space *t = &h->trace;
    const int *slots = t->slots[block], whole = jumps(h);
    for (int32_t cell = 0; cell < h->data.mesh->blocks[block].count; cell++)
        for (int s = 0; s < t->n_slots[block]; s++) {
            int64_t first = t->face_free[t->faces[block][(int64_t)cell * t->n_slots[block] + s]];
            double error =
                joined != NULL && contact_is_second(h, block, cell, s) ? joined[cell] : errors[cell];
            for (int i = slots[s]; first >= 0 && i < slots[s + 1]; i++) {
                int64_t at = first + i - slots[s];
                uint64_t number = (uint64_t)cell * KERNEL_CELL_UNKNOWNS + (uint64_t)(whole ? 0 : i);
                if (t->fixed != NULL && t->fixed[at]) continue;
                free[at] += error * (whole && draw == 0 ? 1.0 : sign_of(draw, number));
            }
        }
}

facet_status hdg_draw_rounding(void *hdg, int draw, const struct vector *x, struct vector *r) {
    facet_status status = FACET_OK;
    const struct hdg *h = hdg;
    double *free = NULL, *full = NULL, *errors = NULL, *joined = NULL;
    TRY(ALLOC(free, h->trace.n_free));
    TRY(ALLOC(full, h->trace.n_all));
    TRY(ALLOC(errors, h->data.mesh->n_cells));
    if (h->contacts != NULL) TRY(CALLOC(joined, h->data.mesh->n_cells));
    TRY(find_stiffest(h, errors));
    TRY(vector_download(x, free));
    trace_scatter(&h->trace, free, h->eliminated, full);
    memset(free, 0, (size_t)h->trace.n_free * sizeof *free);
    for (int b = 0; b < h->data.mesh->n_blocks; b++) {
        const int32_t first = h->data.mesh->blocks[b].first;
        double *of_joints = joined != NULL ? joined + first : NULL;
        TRY(find_errors(h, b, full, errors + first, of_joints));
        spread_errors(h, b, draw, errors + first, of_joints, free);
    }
    /* so are boundary data, which hold parts of the body up by their balance */
    for (int64_t i = 0; i < h->trace.n_free; i++)
        free[i] += STORED * fabs(h->boundary[i]) * sign_of(draw, (uint64_t)i);
    TRY(vector_upload(r, free));
    seam_add(h->trace.seam, r);
done:
    base_free(&free);
    base_free(&full);
    base_free(&errors);
    base_free(&joined);
    return status;
}
