/* Expressions: the loops of kernels/expression_block.h, which the compiler turns into vector instructions.
 * A sine takes some 35 operations, so that AVX2 could do one in a nanosecond; bench `expressions` reports
 * where we are. */
#include <string.h>

#include "kernels/expression_block.h"
#include "kernels/simd/lane.h"
#include "kernels/tile.h"

void OF(expression)(const struct expression_plan *plan, int64_t n, const double *x, const double *normals,
                    double *work) {
    const struct block block = {plan, (int)n, x, normals, work};
    evaluate_block(&block);
}

/* ------------------------------------------------------------------------------------- tiles */

/* Where in a tile the next point is. */
struct place {
    const struct tile_plan *t;
    const struct tile_points *points;
    int i[3], at[3];
    int64_t cell;
};

static struct place place_of(const struct tile_plan *t, const struct tile_points *points, int64_t size,
                             int64_t number) {
    struct place p = {.t = t, .points = points, .cell = t->first + number / size};
    number %= size;
    for (int d = 0; d < t->dim; number /= points->n[d++]) p.i[d] = (int)(number % points->n[d]);
    tile_at(t, p.cell, p.at);
    return p;
}

/* On by so many points, which do not go beyond their row. */
static void move_on(struct place *p, int many) {
    p->i[0] += many;
    for (int d = 0; p->i[d] == p->points->n[d];) {
        p->i[d++] = 0;
        if (d < p->t->dim)
            p->i[d]++;
        else {
            tile_at(p->t, ++p->cell, p->at);
            return;
        }
    }
}

/* What lines and planes know of so many points of a row, from number `first` of a block on. */
static void take_lines(const struct place *p, const struct expression_plan *plan,
                       const struct tile_lines *lines, int first, int many, double *work) {
    for (int l = 0; l < lines->n; l++) {
        const int set = lines->set[l];
        const int64_t size = tile_line_size(p->t, p->points, set);
        const double *values = lines->values[l] + tile_line_place(p->t, p->points, set, p->at, p->i);
        int rows[6], n = 1;
        if (plan->order > 0)
            n = tile_line_rows(set, plan->order, rows);
        else
            rows[0] = 0;
        for (int r = 0; r < n; r++, values += size) {
            double *row = work + expression_row(plan, lines->node[l], rows[r]) + first;
            if (set & 1)
                for (int i = 0; i < many; i++) row[i] = values[i];
            else
                for (int i = 0; i < many; i++) row[i] = values[0];
        }
    }
}

/* The points from here on, row by row; x NULL: nobody asks for their coordinates. */
static void fill_points(struct place p, const struct expression_plan *plan, const struct tile_lines *lines,
                        int many, double *x, double *work) {
    const int dim = p.t->dim;
    for (int done = 0, some; done < many; done += some, move_on(&p, some)) {
        const int left = p.points->n[0] - p.i[0];
        some = left < many - done ? left : many - done;
        for (int d = 0; d < dim && x != NULL; d++) {
            const double *ends = p.t->ends[d] + p.at[d], *points = p.points->x[d] + p.i[d];
            for (int i = 0; i < some; i++)
                x[(done + i) * dim + d] = ends[0] + (ends[1] - ends[0]) * points[d == 0 ? i : 0];
        }
        take_lines(&p, plan, lines, done, some, work);
    }
}

/* The jet of the result at `many` points, from its rows from number `first` on. */
static void take_result(const struct block *b, int first, int many, int dim, enum tile_jet jet, int64_t total,
                        double *out) {
    const int root = b->plan->n_nodes - 1;
    const double *value = row_of_value(b, root) + first;
    for (int i = 0; i < many; i++) out[i] = value[i];
    for (int d = 0; d < dim && jet == TILE_GRADIENTS; d++) {
        const double *row = row_of_first(b, root, d);
        double *to = out + (1 + d) * total;
        for (int i = 0; i < many; i++) to[i] = row != NULL ? row[first + i] : 0.0;
    }
    if (jet != TILE_LAPLACIANS) return;
    out += total;
    for (int i = 0; i < many; i++) out[i] = 0.0;
    for (int d = 0; d < dim; d++) {
        const double *row = row_of_second(b, root, d, d);
        for (int i = 0; row != NULL && i < many; i++) out[i] += row[first + i];
    }
}

/* Points of a block whose rows stay in the nearest cache. */
static const int many_points[3] = {256, 128, 64};

/* What a program knows: how many slots it has, whether it asks for coordinates, and the last direction that
 * it depends on. */
struct needs {
    int slots, coordinates, last;
};

static struct needs needs_of(const struct expression_plan *plan, const struct tile_lines *lines) {
    struct needs n = {0};
    for (int i = 0; i < plan->n_nodes; i++) {
        const struct expression_node *node = &plan->nodes[i];
        n.slots = node->slot >= n.slots ? node->slot + 1 : n.slots;
        if (node->op != OP_COORDINATE) continue;
        n.coordinates = 1;
        n.last = (int)node->constant > n.last ? (int)node->constant : n.last;
    }
    for (int l = 0; l < lines->n; l++)
        for (int d = 0; d < 3; d++) n.last = lines->set[l] >> d & 1 && d > n.last ? d : n.last;
    return n;
}

/* By the calling thread, with the rows of a short block, which lie in those of the plan. What does not depend
 * on the last directions is computed once for each cell, and copied along these. */
void OF(tile_expression)(const struct tile_plan *t, const struct tile_points *points,
                         const struct expression_plan *plan, const struct tile_lines *lines,
                         enum tile_jet jet, double *out, double *work) {
    const struct needs needs = needs_of(plan, lines);
    struct expression_plan own = *plan;
    struct tile_points few = *points;
    int64_t size = 1, period = 1;
    for (int d = 0; d < t->dim; d++) {
        few.n[d] = d > needs.last ? 1 : points->n[d];
        size *= points->n[d];
        period *= few.n[d];
    }
    if (own.block > many_points[plan->order]) own.block = many_points[plan->order];
    const int64_t total = t->count * size, all = t->count * period;
    double *x = work + (EXPRESSION_SCRATCH + (int64_t)needs.slots * expression_jet(plan->order)) * own.block;
    for (int64_t first = 0; first < all; first += own.block) {
        const int many = all - first < own.block ? (int)(all - first) : own.block;
        fill_points(place_of(t, &few, period, first), &own, lines, many, needs.coordinates ? x : NULL, work);
        const struct block block = {&own, many, x, NULL, work};
        evaluate_block(&block);
        for (int done = 0, some; done < many; done += some) {
            const int64_t cell = (first + done) / period, place = (first + done) % period;
            some = period - place < many - done ? (int)(period - place) : many - done;
            take_result(&block, done, some, t->dim, jet, total, out + cell * size + place);
        }
    }
    for (int64_t c = 0; c < t->count * tile_jets(jet, t->dim); c++)
        for (int64_t i = period; i < size; i += period)
            memcpy(out + c * size + i, out + c * size, (size_t)period * sizeof *out);
}
