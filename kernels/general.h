/* Cells whose map is curved or whose data vary, in lanes: what their matrices are integrated from. Included
 * by kernels/kernels.h. */
#ifndef FACET_KERNELS_GENERAL_H
#define FACET_KERNELS_GENERAL_H

#include <math.h>

#include "kernels/everywhere.h"
#include "kernels/expression.h"

/* One shape and degree; faces in orientation 0. N functions phi inside, m functions psi of a face. The tables
 * are in the device's memory. */
struct general_tables {
    int lanes, dim, n_faces, N, m;
    int n, n_face;            /* points inside, on every face */
    const double *phi, *grad; /* n x N, dim x n x N */
    const double *face_phi;   /* n_faces x n_face x N */
    const double *psi;        /* n_face x m */
    /* Cofactors and determinants of maps are polynomials, known from few points. What their values there
     * contribute: D: n_metric x dim x N x N, of cofactor c of every point to (d_c phi_i, phi_j), M: n_det x N
     * x N to (phi_i, phi_j). NULL: by the rule, n_metric = n. */
    int n_metric, n_det;
    const double *D, *M;
    const struct affine_tables *affine; /* on the host: measure of a face, and turns */
};

/* The cells, batch by batch; weights of the rules, and of the tables above, are contained. */
struct general_cells {
    int full;            /* mass has dim (dim + 1) / 2 weights: 00 01 11 (02 12 22) of K^-1 */
    const double *mass;  /* batch x (1 or pairs) x n x LANES: det J / K */
    const double *det;   /* batch x n_det x LANES: the same at the points of M instead, or NULL */
    const double *roots; /* batch x dim x dim x LANES, or NULL: K = root root' times what mass has, lower */
    const double *reaction;     /* batch x n x LANES, or NULL: det J lambda */
    const double *cofactors;    /* batch x n_metric x dim x dim x LANES: det J d xi_c / d x_a at [c][a] */
    const double *normals;      /* batch x n_faces x n_face x dim x LANES */
    const double *tau;          /* batch x n_faces x n_face x LANES: times the length of the normal */
    const double *orientations; /* batch x n_faces x LANES: 0, 1, .. */
};

/* Fields of diffusion and the exact solution at the n points of every cell, batch by batch. C: cofactors (det
 * J d xi_c / d x_a at [c][a]) times what `det` contains. */
struct error_points {
    int lanes, dim, n;
    int straight;           /* one C and one det for all points */
    int varying;            /* K has n matrices, else one */
    const double *wJ;       /* n x LANES */
    const double *C, *det;  /* dim x dim x LANES, LANES, of a point */
    const double *K;        /* dim x dim x LANES, of a point */
    const double *u, *grad; /* n x LANES, n x LANES x dim: exact */
    const double *u_h, *q;  /* n x LANES, n x dim x LANES; NULL: not measured */
    const double *star,
        *slopes; /* n x LANES, dim x n x LANES, by reference coordinates; NULL: not measured */
};
/* What is found of a cell: integrals of the squares of u_h - u, of the components of q + K grad u, of u* - u
 * and of the components of K grad(u* - u); the largest |u_h - u|. */
enum { ERROR_U, ERROR_Q, ERROR_STAR = ERROR_Q + 3, ERROR_Q_STAR, ERROR_MAX = ERROR_Q_STAR + 3, N_ERRORS };

/* Of lane_values: numbers of a program, or a constant, at n points of every cell. */
struct lane_points {
    int lanes, dim, n;
    int step;               /* numbers of a point, x first */
    const double *points;   /* batch x n x step x LANES */
    const double *weights;  /* batch x n x LANES: what they are multiplied with; NULL: 1 */
    const int32_t *regions; /* batch x LANES: cells of other regions than this are left alone; NULL: none */
    int region;
    int row, n_rows;             /* values: number `row` of batch x n x n_rows x LANES, */
    int by_rows;                 /* or of batch x n_rows x n x LANES */
    double constant;             /* without a program */
    struct expression_plan plan; /* n_nodes 0: none; of values, x its only argument */
    double *work;                /* of the kernel expression, block threads at once */
};

/* Where the value at a point (of all batches) of a lane goes. */
EVERYWHERE int64_t lane_place(const struct lane_points *p, int64_t point, int64_t lane) {
    const int64_t batch = point / p->n;
    return (p->by_rows ? (batch * p->n_rows + p->row) * p->n + point % p->n : point * p->n_rows + p->row) *
               p->lanes +
           lane;
}

/* Of general_weights: data at the points of cells, and what becomes of them (struct general_cells). */
struct general_data {
    int lanes, dim, n, n_faces, n_face, n_det;
    int varying, n_components; /* K: batch x (varying: n, else 1) x (1 or dim dim) x LANES */
    const double *K;
    const double *reaction;        /* batch x n x LANES, or NULL */
    const double *wJ, *normals;    /* of cell_metric and face_metric */
    double tau, tau_hat, length;   /* tau > 0: that; tau_hat > 0: 2 tau_hat / height; else mean K / length */
    double heights[6], unit, most; /* shape_height; measure of the reference cell; K is in 1 / most .. most */
    int full;
    double *mass, *roots, *weights, *taus; /* weights: of the reaction. NULL: not wanted */
    double *det;                           /* at the points of general_tables.M: becomes det J / K; or NULL */
    double *size, *largest;                /* batch x LANES: volume / unit, the largest reaction */
};

/* y = K x, entries of K `lanes` apart. */
EVERYWHERE void general_apply_matrix(int dim, int lanes, const double *K, const double *x, double *y) {
    for (int a = 0; a < dim; a++) {
        y[a] = 0.0;
        for (int b = 0; b < dim; b++) y[a] += K[(a * dim + b) * lanes] * x[b];
    }
}
/* What point q of a cell adds to its errors, which stand `step` apart. */
EVERYWHERE void general_add_errors(const struct error_points *p, int64_t batch, int q, int lane, double *e,
                                   int step) {
    const int dim = p->dim, lanes = p->lanes;
    const int64_t i = batch * p->n + q, at = p->straight ? batch : i, k = p->varying ? i : batch;
    const double *K = p->K + k * dim * dim * lanes + lane, *C = p->C + at * dim * dim * lanes + lane;
    const double *grad = p->grad + (i * lanes + lane) * dim, w = p->wJ[i * lanes + lane],
                 u = p->u[i * lanes + lane];
    double flux[3], slope[3];
    if (p->u_h != (const double *)0) {
        double error = p->u_h[i * lanes + lane] - u;
        e[ERROR_U * step] += w * error * error;
        e[ERROR_MAX * step] = fmax(e[ERROR_MAX * step], fabs(error));
        general_apply_matrix(dim, lanes, K, grad, flux);
        for (int a = 0; a < dim; a++) {
            error = p->q[(i * dim + a) * lanes + lane] + flux[a];
            e[(ERROR_Q + a) * step] += w * error * error;
        }
    }
    if (p->star == (const double *)0) return;
    double error = p->star[i * lanes + lane] - u, scale = 1.0 / p->det[at * lanes + lane];
    e[ERROR_STAR * step] += w * error * error;
    for (int a = 0; a < dim; a++) {
        slope[a] = 0.0;
        for (int c = 0; c < dim; c++)
            slope[a] += C[(c * dim + a) * lanes] * p->slopes[((batch * dim + c) * p->n + q) * lanes + lane];
        slope[a] = scale * slope[a] - grad[a];
    }
    general_apply_matrix(dim, lanes, K, slope, flux);
    for (int a = 0; a < dim; a++) e[(ERROR_Q_STAR + a) * step] += w * flux[a] * flux[a];
}

/* What star_weights makes at point number i (batch by batch) of a lane. */
EVERYWHERE void general_star_weights(int lanes, int dim, int n, int varying, const double *wJ,
                                     const double *C, const double *K, const double *q, int64_t i, int lane,
                                     double *flow, double *W) {
    const int pairs = dim * (dim + 1) / 2;
    const int64_t batch = i / n;
    const double *c = C + i * dim * dim * lanes + lane,
                 *k = K + (varying ? i : batch) * dim * dim * lanes + lane;
    double rows[3][3], KC[3][3];
    for (int b = 0; b < dim; b++) {
        double sum = 0.0;
        for (int a = 0; a < dim; a++) {
            rows[b][a] = c[(b * dim + a) * lanes];
            sum -= rows[b][a] * q[(i * dim + a) * lanes + lane];
        }
        flow[((batch * dim + b) * n + i % n) * lanes + lane] = sum;
        general_apply_matrix(dim, lanes, k, rows[b], KC[b]);
    }
    for (int e = 0, pair = 0; e < dim; e++)
        for (int b = 0; b <= e; b++, pair++) {
            double sum = 0.0;
            for (int a = 0; a < dim; a++) sum += rows[b][a] * KC[e][a];
            W[(i * pairs + pair) * lanes + lane] = sum / wJ[i * lanes + lane];
        }
}

/* K = root root', lower by rows; 0: not positive definite, or no more than rounding is. */
EVERYWHERE int general_root(int dim, const double *K, double *root) {
    for (int i = 0; i < 9; i++) root[i] = 0.0;
    for (int i = 0; i < dim; i++)
        for (int j = 0; j <= i; j++) {
            double sum = K[i * dim + j];
            for (int k = 0; k < j; k++) sum -= root[i * dim + k] * root[j * dim + k];
            if (i == j && !(sum > 16.0 * 2.220446049250313e-16 * K[i * (dim + 1)])) return 0;
            root[i * dim + j] = i == j ? sqrt(sum) : sum / root[j * dim + j];
        }
    return 1;
}
/* And K^-1. */
EVERYWHERE int general_inverse(int dim, const double *K, double *inverse) {
    double root[9], column[3];
    if (!general_root(dim, K, root)) return 0;
    for (int c = 0; c < dim; c++) {
        for (int i = 0; i < dim; i++) {
            column[i] = i == c ? 1.0 : 0.0;
            for (int k = 0; k < i; k++) column[i] -= root[i * dim + k] * column[k];
            column[i] /= root[i * dim + i];
        }
        for (int i = dim - 1; i >= 0; i--) {
            for (int k = i + 1; k < dim; k++) column[i] -= root[k * dim + i] * column[k];
            column[i] /= root[i * dim + i];
            inverse[i * dim + c] = column[i];
        }
    }
    return 1;
}
/* Symmetric positive definite, by more than rounding? */
EVERYWHERE int general_is_definite(int dim, const double *K) {
    double scale = fabs(K[0]), root[9];
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < i; j++) {
            scale = fmax(scale, fabs(K[i * dim + i]));
            if (fabs(K[i * dim + j] - K[j * dim + i]) > 1e-12 * scale) return 0;
        }
    return general_root(dim, K, root);
}

/* K (dim x dim) at a point of a cell; 0: it is none. */
EVERYWHERE int general_conductivity_at(const struct general_data *d, int64_t batch, int lane, int q,
                                       double *K) {
    const int dim = d->dim, n = d->n_components;
    const double *from =
        d->K + ((batch * (d->varying ? d->n : 1) + (d->varying ? q : 0)) * n) * d->lanes + lane;
    for (int i = 0; i < dim * dim; i++)
        K[i] = n > 1 ? from[(int64_t)i * d->lanes] : i % (dim + 1) == 0 ? from[0] : 0.0;
    return K[0] >= 1.0 / d->most && K[0] <= d->most && (n == 1 || general_is_definite(dim, K));
}

/* What general_weights makes of a cell is made of parts, which threads of a device may share: points of the
 * cell, which leave sums; points of its faces, which leave areas; and tau, which needs both. */
struct general_sums {
    double volume, trace, largest; /* trace: the integral of that of K; largest: of the reaction */
    int fit;                       /* 0: the data are not fit */
};
/* K: dim x dim, which is asked for where `fresh`. */
EVERYWHERE void general_weigh_point(const struct general_data *d, int64_t batch, int lane, int q, int fresh,
                                    double *K, struct general_sums *sums) {
    const int dim = d->dim, n = d->n, L = d->lanes, pairs = d->full ? dim * (dim + 1) / 2 : 1;
    const double w = d->wJ[(batch * n + q) * L + lane];
    double other[9];
    if (fresh || d->varying) sums->fit &= general_conductivity_at(d, batch, lane, q, K);
    sums->volume += w;
    for (int a = 0; a < dim; a++) sums->trace += w * K[a * (dim + 1)];
    if (d->mass != (double *)0 && d->full) {
        sums->fit &= general_inverse(dim, K, other);
        for (int b = 0, pair = 0; b < dim; b++)
            for (int a = 0; a <= b; a++, pair++)
                d->mass[((batch * pairs + pair) * n + q) * L + lane] = w * other[a * dim + b];
    } else if (d->mass != (double *)0) {
        d->mass[(batch * n + q) * L + lane] = d->roots != (double *)0 ? w : w / K[0];
    }
    if (d->reaction != (const double *)0) {
        const double lambda = d->reaction[(batch * n + q) * L + lane];
        sums->fit &= lambda >= 0.0 && lambda <= d->most;
        sums->largest = fmax(sums->largest, lambda);
        d->weights[(batch * n + q) * L + lane] = w * lambda;
    }
}
/* Point q of all points of the faces: the length of its normal, which goes where tau times it will stand. */
EVERYWHERE double general_length(const struct general_data *d, int64_t batch, int lane, int q) {
    const int64_t at = batch * d->n_faces * d->n_face + q;
    double square = 0.0;
    for (int a = 0; a < d->dim; a++) {
        const double normal = d->normals[(at * d->dim + a) * d->lanes + lane];
        square += normal * normal;
    }
    return d->taus[at * d->lanes + lane] = sqrt(square);
}
EVERYWHERE double general_tau(const struct general_data *d, int face, double volume, double trace,
                              double area) {
    return d->tau > 0.0       ? d->tau
           : d->tau_hat > 0.0 ? 2.0 * d->tau_hat / (volume / area * d->heights[face])
                              : trace / (volume * d->dim) / d->length;
}
/* K: of the last point. */
EVERYWHERE int general_weigh_rest(const struct general_data *d, int64_t batch, int lane, const double *K,
                                  const struct general_sums *sums) {
    const int dim = d->dim, L = d->lanes;
    double root[9];
    d->size[batch * L + lane] = sums->volume / d->unit;
    d->largest[batch * L + lane] = sums->largest;
    if (d->roots == (double *)0) return sums->fit;
    const int fit = general_root(dim, K, root);
    for (int i = 0; i < dim * dim; i++) d->roots[(batch * dim * dim + i) * L + lane] = root[i];
    return sums->fit & fit;
}

/* All of it; 0: its data are not fit. */
EVERYWHERE int general_weights_of(const struct general_data *d, int64_t batch, int lane) {
    struct general_sums sums = {0.0, 0.0, 0.0, 1};
    double K[9];
    for (int q = 0; q < d->n; q++) general_weigh_point(d, batch, lane, q, q == 0, K, &sums);
    for (int q = 0; d->det != (double *)0 && d->roots == (double *)0 && q < d->n_det; q++)
        d->det[(batch * d->n_det + q) * d->lanes + lane] /= K[0];
    for (int f = 0; f < d->n_faces; f++) {
        double area = 0.0;
        for (int q = 0; q < d->n_face; q++) area += general_length(d, batch, lane, f * d->n_face + q);
        const double tau = general_tau(d, f, sums.volume, sums.trace, area);
        for (int q = 0; q < d->n_face; q++)
            d->taus[((batch * d->n_faces + f) * d->n_face + q) * d->lanes + lane] *= tau;
    }
    return general_weigh_rest(d, batch, lane, K, &sums);
}

#endif
