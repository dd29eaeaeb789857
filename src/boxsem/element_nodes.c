/* Cells of continuous elements: tables and nodes. */
#include "boxsem/element_nodes.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"

facet_status boxsem_tabulate(const void *user, int kind, int n_points, const double *x, double *values,
                             double *slopes) {
    const struct boxsem *c = user;
    (void)kind;
    return box_element_tables(&c->element, n_points, x, values, slopes);
}

facet_status boxsem_samples_create(const struct boxsem *c, int n_points, struct box_samples *samples) {
    return box_samples_create(c->n, n_points, 1, boxsem_tabulate, c, samples);
}

/* ------------------------------------------------------------------------------------- nodes of a cell */

/* Rows of a cell: k nodes that follow each other and the last, which may be the first of a ring. */
void boxsem_cell_move(const struct boxsem *c, const int at[3], enum boxsem_move how, double *nodes,
                      double *local) {
    int k = c->degree, n[3];
    for (int d = 0; d < 3; d++) n[d] = d < c->grid.dim ? c->n : 1;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++, local += n[0]) {
            int64_t row = boxsem_around(c, 2, at[2] * k + z);
            row = (row * c->n_nodes[1] + boxsem_around(c, 1, at[1] * k + y)) * c->n_nodes[0];
            double *first = nodes + row + at[0] * k,
                   *last = nodes + row + boxsem_around(c, 0, (at[0] + 1) * k);
            if (how == BOXSEM_GATHER) {
                memcpy(local, first, sizeof *local * (size_t)k);
                local[k] = *last;
            } else if (how == BOXSEM_ADD) {
                for (int i = 0; i < k; i++) first[i] += local[i];
                *last += local[k];
            } else {
                memcpy(first, local, sizeof *local * (size_t)k);
                *last = local[k];
            }
        }
}

/* ------------------------------------------------------------------------------------- vectors */

facet_status boxsem_nodes_open(const struct vector *v, double **nodes) {
    facet_status status = FACET_OK;
    *nodes = device_seen(v->device, v->data);
    if (*nodes != NULL) return FACET_OK;
    TRY(ALLOC(*nodes, v->n));
    TRY(vector_download(v, *nodes));
done:
    if (status != FACET_OK) base_free(nodes);
    return status;
}

facet_status boxsem_nodes_close(struct vector *v, int write, double **nodes) {
    facet_status status = FACET_OK;
    if (*nodes == NULL || *nodes == v->data) return FACET_OK;
    if (write) status = vector_upload(v, *nodes);
    base_free(nodes);
    return status;
}

/* In pieces that do not depend on the number of threads, and so does not the sum. */
void boxsem_add_up(const struct boxsem *c, const double *nodes, double sums[2]) {
    enum { PIECES = 64 };
    double parts[PIECES][2];
    const int threads = base_threads_for(c->n_all);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int p = 0; p < PIECES; p++) {
        double sum = 0.0, moduli = 0.0;
        for (int64_t i = c->n_all * p / PIECES; i < c->n_all * (p + 1) / PIECES; i++) {
            sum += nodes[i];
            moduli += fabs(nodes[i]);
        }
        parts[p][0] = sum;
        parts[p][1] = moduli;
    }
    sums[0] = sums[1] = 0.0;
    for (int p = 0; p < PIECES; p++)
        for (int i = 0; i < 2; i++) sums[i] += parts[p][i];
}

static facet_status need_places(struct boxsem *c) {
    if (c->fixed_places != NULL) return FACET_OK;
    return device_place(c->device, c->fixed, (size_t)(c->n_all - c->n_free), sizeof *c->fixed,
                        (const void **)&c->fixed_places);
}

facet_status boxsem_nodes_fix(struct boxsem *c, const double *values, struct vector *v) {
    facet_status status = FACET_OK;
    const double *sent = NULL;
    int64_t n_fixed = c->n_all - c->n_free, first = 0;
    while (values != NULL && first < n_fixed && values[first] == 0.0) first++;
    if (n_fixed == 0) return FACET_OK;
    /* Zeros stay where they are: nothing has to come from the device and go back. */
    int zero = values == NULL || first == n_fixed, solution = v == &c->u;
    if (solution && zero && c->fixed_is_zero) return FACET_OK;
    if (solution) c->fixed_is_zero = zero;
    TRY(need_places(c));
    if (!zero) TRY(device_place(v->device, values, (size_t)n_fixed, sizeof *values, (const void **)&sent));
    device_put_entries(v->device, F64, n_fixed, c->fixed_places, sent, 0.0, v->data);
done:
    if (sent != NULL) device_unplace(v->device, values, (const void **)&sent);
    return status;
}

facet_status boxsem_keep_loads(struct boxsem *c) {
    facet_status status = FACET_OK;
    const int64_t n_fixed = c->n_all - c->n_free;
    if (n_fixed == 0) return FACET_OK;
    TRY(need_places(c));
    device_take_entries(c->device, F64, n_fixed, c->fixed_places, c->b.data, c->fixed_loads);
    TRY(boxsem_nodes_fix(c, NULL, &c->b));
done:
    return status;
}
