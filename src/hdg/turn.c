/* What the orientation of a face does to its trace functions: F_f in orientation o is F_f O_o, with O_o
 * orthogonal.
 *
 * With T_o the map from the frame's coordinates to those of orientation 0, O_lj = (psi_l o T_o, psi_j). The
 * spaces of one degree are invariant and the functions of different degrees orthogonal, so few functions mix:
 * none on a segment (signs only), those of equal total degree on a triangle, psi_ij with psi_ji on a quad.
 * Which they are is read off the matrices.
 */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/batch.h"
#include "poly/basis.h"

#define NOTHING 1e-12 /* entries below are rounding; so are differences of this size from 0, 1 and -1 */

/* T_o at n points: the frame's corners lie at the corners that the permutation names. */
static void turn_points(enum shape shape, int orientation, int n, const double *s, double *out) {
    const int *permutation = shape_permutation(shape, orientation);
    const double *v = shape_vertices(shape);
    int dim = shape_dim(shape);
    for (int q = 0; q < n; q++)
        for (int c = 0; c < dim; c++) {
            double origin = v[permutation[0] * dim + c];
            out[q * dim + c] = origin;
            for (int d = 0; d < dim; d++) {
                int corner = permutation[d == 0 ? 1 : shape_n_vertices(shape) - 1];
                out[q * dim + c] += s[q * dim + d] * (v[corner * dim + c] - origin);
            }
        }
}

facet_status batch_turn_matrices(const struct hdg_block_space *b, int degree, double *O) {
    facet_status status = FACET_OK;
    enum shape shape = shape_face_shape(b->shape, 0);
    int m = b->m, n = b->face.rule.n;
    double *points = NULL, *values = NULL;
    TRY(ALLOC(points, n * shape_dim(shape)));
    TRY(ALLOC(values, (int64_t)n * m));
    for (int o = 0; o < shape_n_orientations(shape); o++) {
        double *to = O + (int64_t)o * m * m;
        turn_points(shape, o, n, b->face.rule.x, points);
        TRY(basis_eval(shape, degree, n, points, values, NULL));
        for (int q = 0; q < n; q++)
            for (int i = 0; i < m; i++) values[q * m + i] *= b->face.rule.w[q];
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, m, n, 1.0, values, m, b->face.psi, m, 0.0, to,
                    m);
        for (int i = 0; i < m * m; i++)
            if (fabs(to[i] - rint(to[i])) < NOTHING) to[i] = rint(to[i]);
    }
done:
    base_free(&points);
    base_free(&values);
    return status;
}

/* group[j]: the first function with which j mixes, through any chain of others. */
static void find_groups(int n_orientations, int m, const double *O, int32_t *group) {
    for (int j = 0; j < m; j++) group[j] = j;
    for (int o = 0; o < n_orientations; o++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++) {
                int32_t a = group[i], c = group[j];
                if (a == c || O[((int64_t)o * m + i) * m + j] == 0.0) continue;
                for (int k = 0; k < m; k++)
                    if (group[k] == (a > c ? a : c)) group[k] = a > c ? c : a;
            }
}

/* Groups in the order of their first functions; n_turn is the numbers of one orientation. */
static void list_groups(int m, const int32_t *group, int32_t *starts, int32_t *modes, int *n_groups,
                        int *n_turn) {
    *n_groups = *n_turn = starts[0] = 0;
    for (int j = 0; j < m; j++) {
        if (group[j] != j) continue;
        int32_t end = starts[*n_groups];
        for (int k = j; k < m; k++)
            if (group[k] == j) modes[end++] = k;
        int size = end - starts[*n_groups];
        *n_turn += size * size;
        starts[++*n_groups] = end;
    }
}

static void pick_blocks(int n_orientations, int m, const double *O, int n_groups, const int32_t *starts,
                        const int32_t *modes, double *turns) {
    for (int o = 0; o < n_orientations; o++)
        for (int g = 0; g < n_groups; g++)
            for (int32_t a = starts[g]; a < starts[g + 1]; a++)
                for (int32_t c = starts[g]; c < starts[g + 1]; c++)
                    *turns++ = O[((int64_t)o * m + modes[a]) * m + modes[c]];
}

facet_status batch_turns_create(struct hdg *hdg, int block) {
    facet_status status = FACET_OK;
    const struct hdg_block_space *b = &hdg->space.blocks[block];
    struct affine_tables *t = &hdg->tables[block];
    int n = shape_n_orientations(shape_face_shape(b->shape, 0)), m = b->m;
    double *O = NULL, *turns = NULL;
    int32_t *lists = NULL;
    TRY(ALLOC(O, (int64_t)n * m * m));
    TRY(ALLOC(lists, 3 * m + 1));
    int32_t *group = lists, *modes = lists + m, *starts = lists + 2 * m;
    TRY(batch_turn_matrices(b, hdg->space.degree, O));
    find_groups(n, m, O, group);
    list_groups(m, group, starts, modes, &t->n_groups, &t->n_turn);
    TRY(ALLOC(turns, n * t->n_turn));
    pick_blocks(n, m, O, t->n_groups, starts, modes, turns);
    TRY(device_copy(hdg->device, &t->group_starts, starts, (size_t)t->n_groups + 1, sizeof *starts));
    TRY(device_copy(hdg->device, &t->modes, modes, (size_t)m, sizeof *modes));
    TRY(device_copy(hdg->device, &t->turns, turns, (size_t)(n * t->n_turn), sizeof *turns));
done:
    base_free(&O);
    base_free(&turns);
    base_free(&lists);
    return status;
}

void batch_turns_destroy(struct hdg *hdg, int block) {
    struct affine_tables *t = &hdg->tables[block];
    device_free(hdg->device, &t->group_starts);
    device_free(hdg->device, &t->modes);
    device_free(hdg->device, &t->turns);
}
