/* What the kernels on tiles compute (kernels/tile.h). */
#include "kernels/tile.h"

#include <math.h>
#include <stddef.h>

#include "kernels/ref/ref.h"

/* One cell, by T without scale; work: two cells. Returns where the result is. */
static double *contract_cell(const struct tile_plan *t, const int at[3], int n_in, int n_out,
                             const double *const *T, const double *from, double *const work[2]) {
    for (int d = 0; d < t->dim; d++) {
        const double *M = T[d] + (int64_t)tile_kind(t, d, at) * n_out * n_in;
        const int64_t inner = tile_power(n_out, d), outer = tile_power(n_in, t->dim - 1 - d);
        for (int64_t i = 0; i < outer * n_out * inner; i++) {
            const int64_t r = i % inner, o = i / inner / n_out;
            double sum = 0.0;
            for (int q = 0; q < n_in; q++)
                sum += M[i / inner % n_out * n_in + q] * from[(o * n_in + q) * inner + r];
            work[d % 2][i] = sum;
        }
        from = work[d % 2];
    }
    return work[(t->dim - 1) % 2];
}

/* A point of a tile: its cell, its numbers on the lines of this, and its coordinates. */
struct point {
    int at[3], i[3];
    double x[3];
};

static struct point point_of(const struct tile_plan *t, const struct tile_points *points, int64_t number) {
    struct point p = {.x = {0.0}};
    int64_t size = 1;
    for (int d = 0; d < t->dim; d++) size *= points->n[d];
    tile_at(t, t->first + number / size, p.at);
    for (int d = 0; d < t->dim; number /= points->n[d++]) {
        const double *ends = t->ends[d] + p.at[d];
        p.i[d] = (int)(number % points->n[d]);
        p.x[d] = ends[0] + (ends[1] - ends[0]) * points->x[d][p.i[d]];
    }
    return p;
}

/* What a line or a plane has for a point. */
static void take_line(const struct tile_plan *t, const struct tile_points *points,
                      const struct expression_plan *plan, const struct tile_lines *lines, int l,
                      const struct point *p, double *work) {
    int rows[6];
    const int n = tile_line_rows(lines->set[l], plan->order, rows);
    const double *values = lines->values[l] + tile_line_place(t, points, lines->set[l], p->at, p->i);
    for (int r = 0; r < n; r++)
        work[expression_row(plan, lines->node[l], rows[r])] =
            values[r * tile_line_size(t, points, lines->set[l])];
}

void tile_expression_ref(const struct tile_plan *t, const struct tile_points *points,
                         const struct expression_plan *plan, const struct tile_lines *lines,
                         enum tile_jet jet, double *out, double *work) {
    int64_t total = t->count;
    const int root = plan->n_nodes - 1;
    const struct expression_node *node = plan->nodes + root;
    double *x = work; /* behind the rows of all slots */
    int slots = 0;
    for (int d = 0; d < t->dim; d++) total *= points->n[d];
    for (int i = 0; i < plan->n_nodes; i++)
        slots = plan->nodes[i].slot >= slots ? plan->nodes[i].slot + 1 : slots;
    x += (int64_t)(EXPRESSION_SCRATCH + (int64_t)slots * expression_jet(plan->order)) * plan->block;
    for (int64_t first = 0; first < total; first += plan->block) {
        const int64_t left = total - first, many = left < plan->block ? left : plan->block;
        for (int64_t i = 0; i < many; i++) {
            const struct point p = point_of(t, points, first + i);
            for (int d = 0; d < t->dim; d++) x[i * t->dim + d] = p.x[d];
            for (int l = 0; l < lines->n; l++) take_line(t, points, plan, lines, l, &p, work + i);
        }
        expression_ref(plan, many, x, NULL, work);
        for (int64_t i = 0; i < many; i++) {
            double laplacian = 0.0;
            out[first + i] = work[expression_row(plan, root, 0) + (size_t)i];
            for (int d = 0; d < t->dim; d++) {
                if (jet == TILE_GRADIENTS)
                    out[(1 + d) * total + first + i] =
                        node->first >> d & 1 ? work[expression_row(plan, root, 1 + d) + (size_t)i] : 0.0;
                const int pair = expression_pair(d, d);
                if (jet == TILE_LAPLACIANS && node->second >> pair & 1)
                    laplacian += work[expression_row(plan, root, 4 + pair) + (size_t)i];
            }
            if (jet == TILE_LAPLACIANS) out[total + first + i] = laplacian;
        }
    }
}

void tile_extremes_ref(int64_t n_cells, int64_t n, int components, int64_t step, const double *values,
                       double *extremes) {
    for (int64_t cell = 0; cell < n_cells; cell++) {
        double least = INFINITY, greatest = -INFINITY;
        for (int64_t i = cell * n; i < (cell + 1) * n; i++) {
            double value = values[i];
            if (components > 1) {
                double square = 0.0;
                for (int c = 0; c < components; c++) square += values[c * step + i] * values[c * step + i];
                value = sqrt(square);
            }
            if (!isfinite(value)) {
                least = greatest = NAN;
                break;
            }
            least = value < least ? value : least;
            greatest = value > greatest ? value : greatest;
        }
        extremes[2 * cell] = least;
        extremes[2 * cell + 1] = greatest;
    }
}

void tile_gather_ref(const struct tile_plan *t, int k, const int *nodes, const double *x, double *cells) {
    const int64_t size = tile_power(k + 1, t->dim);
    for (int64_t c = 0; c < t->count; c++) {
        int at[3];
        tile_at(t, t->first + c, at);
        for (int64_t i = 0; i < size; i++) *cells++ = x[tile_node(t, k, nodes, at, i)];
    }
}

void tile_add_ref(const struct tile_plan *t, int k, const int *nodes, const double *cells, double *x) {
    const int64_t size = tile_power(k + 1, t->dim);
    for (int64_t c = 0; c < t->count; c++) {
        int at[3];
        tile_at(t, t->first + c, at);
        for (int64_t i = 0; i < size; i++) x[tile_node(t, k, nodes, at, i)] += *cells++;
    }
}

void tile_contract_ref(const struct tile_plan *t, int n_in, int n_out, const double *const *T,
                       const struct tile_scale *scale, enum tile_end end, const double *in, double *out,
                       double *scratch) {
    const int64_t size_in = tile_power(n_in, t->dim), size = tile_power(n_out, t->dim);
    double *const work[2] = {scratch, scratch + (size_in > size ? size_in : size)};
    for (int64_t c = 0; c < t->count; c++, in += size_in) {
        int at[3];
        tile_at(t, t->first + c, at);
        const double *from = contract_cell(t, at, n_in, n_out, T, in, work);
        if (end == TILE_EXTREMES) {
            tile_extremes_ref(1, size, 1, 0, from, out + 2 * c);
            continue;
        }
        const double factor = tile_factor(t, scale, t->first + c, at);
        double *to = out + c * size;
        for (int64_t i = 0; i < size; i++) to[i] = (end == TILE_ADD ? to[i] : 0.0) + factor * from[i];
    }
}
