/* Errors of diffusion at points, the weights of its post-processing, and balances: the same arithmetic in every
 * lane. */
#include "kernels/simd/lane.h"

#define PARTS (L / PART)
/* Number `i` of an array in lanes, the part at hand. */
#define AT(array, i) (((const packet *)(array))[(int64_t)(i)*PARTS + part])

INLINE packet larger(packet a, packet b) {
    for (int i = 0; i < PART; i++) a[i] = a[i] > b[i] ? a[i] : b[i];
    return a;
}

INLINE packet modulus(packet a) {
    for (int i = 0; i < PART; i++) a[i] = a[i] < 0 ? -a[i] : a[i];
    return a;
}

INLINE void apply_matrix(int dim, const double *K, int part, const packet *x, packet *y) {
    for (int a = 0; a < dim; a++) {
        y[a] = AT(K, a * dim) * x[0];
        for (int b = 1; b < dim; b++) y[a] += AT(K, a * dim + b) * x[b];
    }
}

/* Numbers of this part that stand one lane after the other, dim of each. */
INLINE void take_rows(int dim, const double *from, int part, packet *x) {
    from += part * PART * dim;
    for (int a = 0; a < dim; a++) {
        packet row = {0};
        for (int i = 0; i < PART; i++) row[i] = from[i * dim + a];
        x[a] = row;
    }
}

INLINE void squares_of_part(int dim, int plain, int star, const struct error_points *p, int64_t batch,
                            int part, double *errors) {
    packet e[N_ERRORS];
    for (int i = 0; i < N_ERRORS; i++) e[i] = (packet){0};
    for (int q = 0; q < p->n; q++) {
        const int64_t i = batch * p->n + q, at = p->straight ? batch : i;
        const double *K = p->K + (p->varying ? i : batch) * dim * dim * L;
        packet w = AT(p->wJ, i), u = AT(p->u, i), grad[3], flux[3], slope[3], error;
        take_rows(dim, p->grad + i * L * dim, part, grad);
        if (plain) {
            error = AT(p->u_h, i) - u;
            e[ERROR_U] += w * error * error;
            e[ERROR_MAX] = larger(e[ERROR_MAX], modulus(error));
            apply_matrix(dim, K, part, grad, flux);
            for (int a = 0; a < dim; a++) {
                error = AT(p->q, i * dim + a) + flux[a];
                e[ERROR_Q + a] += w * error * error;
            }
        }
        if (!star) continue;
        packet scale = 1.0 / AT(p->det, at);
        error = AT(p->star, i) - u;
        e[ERROR_STAR] += w * error * error;
        for (int a = 0; a < dim; a++) {
            packet sum = AT(p->C, at * dim * dim + a) * AT(p->slopes, batch * dim * p->n + q);
            for (int c = 1; c < dim; c++)
                sum += AT(p->C, (at * dim + c) * dim + a) * AT(p->slopes, (batch * dim + c) * p->n + q);
            slope[a] = scale * sum - grad[a];
        }
        apply_matrix(dim, K, part, slope, flux);
        for (int a = 0; a < dim; a++) e[ERROR_Q_STAR + a] += w * flux[a] * flux[a];
    }
    for (int i = 0; i < N_ERRORS; i++) ((packet *)errors)[(batch * N_ERRORS + i) * PARTS + part] = e[i];
}

void OF(error_squares)(const struct error_points *p, int64_t n_batches, double *errors) {
    const int kind = (p->dim == 3) * 4 + (p->u_h != NULL) * 2 + (p->star != NULL);
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < n_batches * PARTS; i++) switch (kind) {
#define CASE(dim, plain, star)                                                                               \
    case ((dim) == 3) * 4 + (plain)*2 + (star):                                                              \
        squares_of_part(dim, plain, star, p, i / PARTS, (int)(i % PARTS), errors);                           \
        break;
            CASE(2, 0, 1)
            CASE(2, 1, 0)
            CASE(2, 1, 1)
            CASE(3, 0, 1)
            CASE(3, 1, 0)
            CASE(3, 1, 1)
#undef CASE
        default:
            break;
        }
}

INLINE void weights_of_point(int dim, int n, int64_t point, int part, const double *wJ, const double *C,
                             const double *K, const double *q, double *flow, double *W) {
    const int pairs = dim * (dim + 1) / 2;
    packet rows[3][3], KC[3][3], scale = 1.0 / AT(wJ, point);
    for (int b = 0; b < dim; b++) {
        packet sum = {0};
        for (int a = 0; a < dim; a++) {
            rows[b][a] = AT(C, (point * dim + b) * dim + a);
            sum -= rows[b][a] * AT(q, point * dim + a);
        }
        ((packet *)flow)[((point / n * dim + b) * n + point % n) * PARTS + part] = sum;
        apply_matrix(dim, K, part, rows[b], KC[b]);
    }
    for (int e = 0, pair = 0; e < dim; e++)
        for (int b = 0; b <= e; b++, pair++) {
            packet sum = rows[b][0] * KC[e][0];
            for (int a = 1; a < dim; a++) sum += rows[b][a] * KC[e][a];
            ((packet *)W)[(point * pairs + pair) * PARTS + part] = scale * sum;
        }
}

void OF(star_weights)(int lanes, int64_t n_batches, int dim, int n, int varying, const double *wJ,
                      const double *C, const double *K, const double *q, double *flow, double *W) {
    (void)lanes;
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t point = 0; point < n_batches * n; point++) {
        const double *k = K + (varying ? point : point / n) * dim * dim * L;
        for (int part = 0; part < PARTS; part++)
            if (dim == 2)
                weights_of_point(2, n, point, part, wJ, C, k, q, flow, W);
            else
                weights_of_point(3, n, point, part, wJ, C, k, q, flow, W);
    }
}

/* ------------------------------------------------------------------------------- balance */

INLINE packet of_orientation(const double *table, packet o, int step) {
    packet found;
    for (int i = 0; i < PART; i++) found[i] = table[(int64_t)o[i] * step];
    return found;
}

/* `at`: a part. */
#undef AT
#define CELL_BALANCE                   INLINE
#define NAMED(what)                    parts_##what
#define NUMBER                         packet
#define ZERO                           ((packet){0})
#define MODULUS(x)                     modulus(x)
#define AT(array, i)                   ((const packet *)(array))[(int64_t)(i)*PARTS + at]
#define PUT(array, i)                  ((packet *)(array))[(int64_t)(i)*PARTS + at]
#define OF_ORIENTATION(table, o, step) of_orientation(table, o, step)
#include "kernels/balance_cell.h"

void OF(cell_balance)(const struct cell_balance *cells, int64_t n_batches, double *balance) {
#pragma omp parallel for num_threads(base_threads()) schedule(static)
    for (int64_t i = 0; i < n_batches * PARTS; i++) parts_all(cells, i / PARTS, (int)(i % PARTS), balance);
}
