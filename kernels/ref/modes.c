/* Plain C: the specification of the direct solution on bricks (kernels/brick.h). */
#include <string.h>

#include "kernels/ref/ref.h"

/* Entry i of block `which` of a direction from the values at the free nodes, or what it gives to them (back):
 * returns how many nodes there are, 0 in the padding; all have the factor 1 but the second the sign. */
static int nodes_of(const struct brick_modes *m, int d, int which, int i, int nodes[2], double *sign) {
    const int two = brick_modes_blocks(m, d) == 2, odd = m->n[d] - m->even[d];
    const int mirror = m->n[d] - 1 - i;
    if (i >= (!two ? m->n[d] : which ? odd : m->even[d])) return 0;
    nodes[0] = m->first[d] + i;
    nodes[1] = m->first[d] + mirror;
    *sign = which ? -1.0 : 1.0;
    return two && mirror != i ? 2 : 1;
}

static int64_t node_at(const struct brick_modes *m, const int at[3]) {
    return ((int64_t)at[2] * m->n_nodes[1] + at[1]) * m->n_nodes[0] + at[0];
}

/* w = sums and differences of b, or u += those of w. */
static void fold(const struct brick_modes *m, const double *b, double *w, double *u) {
    int length[3];
    for (int d = 0; d < 3; d++) length[d] = brick_modes_blocks(m, d) * m->size[d];
    for (int64_t entry = 0; entry < brick_modes_count(m); entry++) {
        const int at[3] = {(int)(entry % length[0]), (int)(entry / length[0] % length[1]),
                           (int)(entry / length[0] / length[1])};
        int nodes[3][2], count[3];
        double signs[3] = {1.0, 1.0, 1.0};
        if (u == NULL) w[entry] = 0.0;
        for (int d = 0; d < 3; d++)
            count[d] = nodes_of(m, d, at[d] / m->size[d], at[d] % m->size[d], nodes[d], &signs[d]);
        for (int s = 0; s < count[0] * count[1] * count[2]; s++) {
            const int which[3] = {s % count[0], s / count[0] % count[1], s / count[0] / count[1]};
            int node[3];
            double sign = 1.0;
            for (int d = 0; d < 3; d++) {
                node[d] = nodes[d][which[d]];
                if (which[d]) sign *= signs[d];
            }
            if (u == NULL)
                w[entry] += sign * b[node_at(m, node)];
            else
                u[node_at(m, node)] += sign * w[entry];
        }
    }
}

/* to = the matrix of direction d times from. */
static void transform(const struct brick_modes *m, int d, const double *matrix, const double *from,
                      double *to) {
    const int size = m->size[d];
    int64_t stride = 1;
    for (int i = 0; i < d; i++) stride *= (int64_t)brick_modes_blocks(m, i) * m->size[i];
    for (int64_t entry = 0; entry < brick_modes_count(m); entry++) {
        const int at = (int)(entry / stride % ((int64_t)brick_modes_blocks(m, d) * size));
        const double *row = matrix + (int64_t)at * size, *column = from + entry - at % size * stride;
        double sum = 0.0;
        for (int i = 0; i < size; i++) sum += row[i] * column[i * stride];
        to[entry] = sum;
    }
}

static void divide(const struct brick_modes *m, double *w) {
    int length[3];
    for (int d = 0; d < 3; d++) length[d] = brick_modes_blocks(m, d) * m->size[d];
    for (int64_t i = 0; i < brick_modes_count(m); i++) {
        const double theta = m->theta[0][i % length[0]] + m->theta[1][i / length[0] % length[1]] +
                             m->theta[2][i / length[0] / length[1]];
        const int constant = i == 0 && m->singular && m->reaction == 0.0;
        w[i] = constant ? 0.0 : w[i] / (m->reaction + m->conductivity * theta);
    }
}

void modes_solve_ref(const struct brick_modes *m, const double *b, double *u, double *scratch) {
    double *w = scratch, *t = scratch + brick_modes_count(m);
    fold(m, b, w, NULL);
    transform(m, 0, m->forward[0], w, t);
    transform(m, 1, m->forward[1], t, w);
    transform(m, 2, m->forward[2], w, t);
    divide(m, t);
    transform(m, 2, m->backward[2], t, w);
    transform(m, 1, m->backward[1], w, t);
    transform(m, 0, m->backward[0], t, w);
    memset(u, 0, sizeof *u * (size_t)m->n_nodes[0] * (size_t)m->n_nodes[1] * (size_t)m->n_nodes[2]);
    fold(m, NULL, w, u);
}
