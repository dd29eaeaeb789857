/* Preconditioners of section 5.1 of huismann2020, and the transformations of its Algorithm 6. */
#include <string.h>

#include "base/memory.h"
#include "base/run.h"
#include "bench/papers/straight_work.h"

/* Some cell of a face, and the direction that the face is normal to. */
static int place_of_face(const struct box_grid *g, int64_t face, int at[3]) {
    int d = 0, extent[3] = {g->cells[0], g->cells[1], g->cells[2]};
    while (face >= g->first_face[d + 1]) d++;
    face -= g->first_face[d];
    extent[d] = g->planes[d];
    at[0] = (int)(face % extent[0]);
    at[1] = (int)(face / extent[0] % extent[1]);
    at[2] = (int)(face / extent[0] / extent[1]);
    if (at[d] == g->cells[d]) at[d]--;
    return d;
}

/* The four matrices of a line. */
enum turn { TURN_S, TURN_SM, TURN_ST, TURN_MS };

static void tangential(const struct box_straight *s, int64_t face, enum turn turn, const double *T[2]) {
    const struct straight_line *lines[2];
    int at[3], d = place_of_face(&s->h->grid, face, at);
    straight_tangents(s, at, d, lines);
    for (int t = 0; t < 2; t++) {
        const struct straight_line *l = lines[t];
        T[t] = l == NULL         ? NULL
               : turn == TURN_S  ? l->S
               : turn == TURN_SM ? l->SM
               : turn == TURN_ST ? l->St
                                 : l->MS;
    }
}

/* to = (second x second) diagonal (first x first) from, face by face; diagonal NULL: the first alone. work:
 * per thread 3 arrays of a face. */
static void turn_faces(const struct box_straight *s, enum turn first, const double *diagonal,
                       enum turn second, const double *from, double *to) {
    int64_t size = s->h->face_size, step = size + BOX_SLACK;
    int threads = straight_threads(s);
    int64_t share = (s->h->grid.n_faces + threads - 1) / threads;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        double *in = s->scratch + t * s->scratch_size, *work = in + step, *out = work + step;
        int64_t end = (t + 1) * share < s->h->grid.n_faces ? (t + 1) * share : s->h->grid.n_faces;
        for (int64_t f = t * share; f < end; f++) {
            const double *T[2];
            memcpy(in, from + f * size, (size_t)size * sizeof *in);
            tangential(s, f, first, T);
            straight_turn(s, T, in, work, out);
            if (diagonal != NULL) {
                for (int64_t i = 0; i < size; i++) in[i] = diagonal[f * size + i] * out[i];
                tangential(s, f, second, T);
                straight_turn(s, T, in, work, out);
            }
            memcpy(to + f * size, out, (size_t)size * sizeof *out);
        }
    }
}

void box_straight_to_modes(const struct box_straight *s, enum box_quantity quantity, const double *nodes,
                           double *modes) {
    turn_faces(s, quantity == BOX_TRACE ? TURN_SM : TURN_ST, NULL, TURN_S, nodes, modes);
}

void box_straight_to_nodes(const struct box_straight *s, enum box_quantity quantity, const double *modes,
                           double *nodes) {
    turn_faces(s, quantity == BOX_TRACE ? TURN_S : TURN_MS, NULL, TURN_S, modes, nodes);
}

/* ------------------------------------------------------------------------------------- preconditioners */

static void block_apply(const struct linear_operator *M, const struct vector *x, struct vector *y) {
    const struct box_straight *s = M->data;
    turn_faces(s, TURN_ST, s->block, TURN_S, x->data, y->data);
}

static void trans_apply(const struct linear_operator *M, const struct vector *x, struct vector *y) {
    const struct box_straight *s = M->data;
    device_multiply(M->device, F64, M->n, s->block, x->data, y->data);
}

static void diagonal_apply(const struct linear_operator *M, const struct vector *x, struct vector *y) {
    device_multiply(M->device, F64, M->n, M->data, x->data, y->data);
}

static void diagonal_free(struct linear_operator *M) {
    base_free(&M->data);
}

/* The diagonal of (MS x MS) Y (S'M x S'M): squares of MS times Y, Y being the inverse of what is kept. */
static facet_status nodal_diagonal(const struct box_straight *s, double **diagonal) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = s->h;
    int n = h->n;
    int64_t size = h->face_size, step = size + BOX_SLACK;
    double *squares = NULL, *work = NULL;
    TRY(ALLOC(*diagonal, h->n_trace));
    TRY(ALLOC(squares, 2 * n * n));
    TRY(CALLOC(work, 3 * step));
    for (int64_t f = 0; f < h->grid.n_faces; f++) {
        const double *T[2], *const Q[2] = {squares, squares + n * n}, *block = s->block + f * size;
        double *to = *diagonal + f * size;
        tangential(s, f, TURN_MS, T);
        for (int t = 0; t < 2; t++)
            for (int i = 0; T[t] != NULL && i < n * n; i++) squares[t * n * n + i] = T[t][i] * T[t][i];
        for (int64_t i = 0; i < size; i++) work[i] = block[i] != 0.0 ? 1.0 / block[i] : 0.0;
        straight_turn(s, Q, work, work + step, work + 2 * step);
        for (int64_t i = 0; i < size; i++) to[i] = work[2 * step + i] != 0.0 ? 1.0 / work[2 * step + i] : 0.0;
    }
done:
    base_free(&squares);
    base_free(&work);
    if (status != FACET_OK) base_free(diagonal);
    return status;
}

facet_status box_straight_preconditioner(const struct device *device, struct box_straight *s,
                                         enum box_algorithm algorithm, enum box_condition condition,
                                         struct linear_operator *M) {
    facet_status status = FACET_OK;
    double *diagonal = NULL;
    if (!device_is_host(device))
        return base_fail(FACET_ERROR_INPUT,
                         "the preconditioners of tp and tpt run on the host, not on the device %s",
                         device_name(device));
    *M = (struct linear_operator){.n = s->h->n_trace, .device = device, .data = s};
    if (algorithm == BOX_TPT) {
        M->apply = trans_apply;
        M->name = "HDG-trans";
    } else if (condition == BOX_BLOCK) {
        M->apply = block_apply;
        M->name = "HDG-block";
    } else {
        TRY(nodal_diagonal(s, &diagonal));
        M->apply = diagonal_apply;
        M->free = diagonal_free;
        M->data = diagonal;
        M->name = "HDG-diag";
    }
done:
    return status;
}
