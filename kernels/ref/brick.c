/* Plain C: the specification of the kernels on bricks, whose bodies stand in brick_real.h. */
#include "kernels/brick.h"

#include <math.h>
#include <stddef.h>

#include "kernels/ref/ref.h"

#define TABLE    PICK(table, single)
#define TABLE_S  PICK(tables, single)
#define SCALE    PICK(scale, scale_single)
#define TEMPLATE "kernels/ref/brick_real.h"
#include "kernels/twice.h"

static int64_t cell_size(const struct brick_cells *c) {
    return (int64_t)(c->element[0].k + 1) * (c->element[1].k + 1) * (c->element[2].k + 1);
}

int64_t patch_scratch_ref(const struct brick_patches *p) {
    int64_t m = 1;
    for (int l = 0; l < p->n_lines; l++)
        if (p->lines[l].m > m) m = p->lines[l].m;
    return 5 * m * m * m + 4 * cell_size(p->cells) + brick_n_nodes(p->cells);
}

void brick_scale_ref(const struct brick_cells *c, const double *nodes, double *vertices, double *scale) {
    const int n[3] = {brick_n_vertices(c, 0), brick_n_vertices(c, 1), brick_n_vertices(c, 2)};
    for (int64_t i = 0; i < (int64_t)n[0] * n[1] * n[2]; i++)
        vertices[i] = brick_vertex_scale(
            c, (const int[3]){(int)(i % n[0]), (int)(i / n[0] % n[1]), (int)(i / n[0] / n[1])});
    for (int64_t i = 0; i < brick_n_nodes(c); i++) {
        int at[3];
        brick_node_at(c, i, at);
        scale[i] = brick_node_scale(c, nodes, vertices, at);
    }
}
