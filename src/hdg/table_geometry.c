/* Geometry of cells and faces at the points of a table. */
#include "base/memory.h"
#include "hdg/space.h"

facet_status hdg_geometry_create(int n, int dim, struct hdg_geometry *geometry) {
    facet_status status = FACET_OK;
    *geometry = (struct hdg_geometry){0};
    TRY(ALLOC(geometry->x, n * dim));
    TRY(ALLOC(geometry->wJ, n));
    TRY(ALLOC(geometry->inverse, n * dim * dim));
    TRY(ALLOC(geometry->jacobian, n * dim * dim));
done:
    if (status != FACET_OK) hdg_geometry_destroy(geometry);
    return status;
}

void hdg_geometry_destroy(struct hdg_geometry *geometry) {
    base_free(&geometry->x);
    base_free(&geometry->wJ);
    base_free(&geometry->inverse);
    base_free(&geometry->jacobian);
}

/* inverse = J^{-1}; returns det J. */
static double invert(int dim, const double *J, double *inverse) {
    if (dim == 2) {
        double det = J[0] * J[3] - J[1] * J[2];
        inverse[0] = J[3] / det;
        inverse[1] = -J[1] / det;
        inverse[2] = -J[2] / det;
        inverse[3] = J[0] / det;
        return det;
    }
    double c[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            c[j * 3 + i] = J[i1 * 3 + j1] * J[i2 * 3 + j2] - J[i1 * 3 + j2] * J[i2 * 3 + j1];
        }
    double det = J[0] * c[0] + J[1] * c[3] + J[2] * c[6];
    for (int i = 0; i < 9; i++) inverse[i] = c[i] / det;
    return det;
}

/* Where a cell is affine up to the digits of a file, one map must serve all that is to cancel: J alone of
 * plane integrals, the map at every point of a revolved space, whose weights contain x. */

/* One Jacobian serves all points: x = x_0 + J (xi - xi_0) at those of a rule, which are inside; points
 * without weights may lie on faces, where mesh_cell_map is exact. dim is a constant where this is inlined. */
static inline __attribute__((always_inline)) void affine_geometry(int dim, const struct mesh_block *block,
                                                                  int32_t cell, const struct hdg_table *table,
                                                                  struct hdg_geometry *g) {
    double J[9], inverse[9], origin[3];
    mesh_cell_map(block, dim, cell, 1, table->geo, table->geo_grad, origin, J);
    double det = invert(dim, J, inverse);
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++) origin[a] -= J[a * dim + b] * table->xi[b];
    if (table->w == NULL) mesh_cell_map(block, dim, cell, table->n, table->geo, table->geo_grad, g->x, NULL);
    for (int q = 0; q < table->n && table->w != NULL; q++) {
        const double *xi = table->xi + q * dim;
        for (int a = 0; a < dim; a++) {
            double sum = origin[a];
            for (int b = 0; b < dim; b++) sum += J[a * dim + b] * xi[b];
            g->x[q * dim + a] = sum;
        }
    }
    for (int q = 0; q < table->n; q++) g->wJ[q] = table->w != NULL ? table->w[q] * det : det;
    for (int q = 0; q < table->n; q++)
        for (int i = 0; i < dim * dim; i++) {
            g->inverse[q * dim * dim + i] = inverse[i];
            g->jacobian[q * dim * dim + i] = J[i];
        }
}

static void curved_geometry(const struct mesh_block *b, int32_t cell, const struct hdg_table *table,
                            struct hdg_geometry *g) {
    int dim = table->dim;
    mesh_cell_map(b, dim, cell, table->n, table->geo, table->geo_grad, g->x, g->jacobian);
    for (int q = 0; q < table->n; q++) {
        double det = invert(dim, g->jacobian + q * dim * dim, g->inverse + q * dim * dim);
        g->wJ[q] = table->w != NULL ? table->w[q] * det : det;
    }
}

void hdg_cell_geometry(const struct hdg_space *space, int block, int32_t cell, const struct hdg_table *table,
                       struct hdg_geometry *g) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    int dim = table->dim, n = table->n;
    if (!b->affine[cell] || n == 0 || space->revolved)
        curved_geometry(b, cell, table, g);
    else if (dim == 2)
        affine_geometry(2, b, cell, table, g);
    else
        affine_geometry(3, b, cell, table, g);
    for (int q = 0; q < n && space->revolved && table->w != NULL; q++) g->wJ[q] *= HDG_AROUND * g->x[q * dim];
}

/* One Jacobian serves all points of a face of an affine cell; x is exact on the face, as mesh_cell_map has
 * it. */
static void affine_face(const struct mesh_block *block, int32_t cell, const struct hdg_table *side,
                        const double *weights, const double *reference, double *x, double *normal) {
    double J[9], inverse[9], scaled[3];
    int dim = side->dim;
    mesh_cell_map(block, dim, cell, 1, NULL, side->geo_grad, NULL, J);
    mesh_cell_map(block, dim, cell, side->n, side->geo, NULL, x, NULL);
    double det = invert(dim, J, inverse);
    for (int a = 0; a < dim; a++) {
        scaled[a] = 0.0;
        for (int c = 0; c < dim; c++) scaled[a] += inverse[c * dim + a] * reference[c];
    }
    for (int q = 0; q < side->n; q++)
        for (int a = 0; a < dim; a++) normal[q * dim + a] = det * weights[q] * scaled[a];
}

/* n dS = det J J^{-T} n_ref: Nanson */
static void curved_face(const struct hdg_space *space, int block, int32_t cell, const struct hdg_table *side,
                        const double *weights, const double *reference, struct hdg_geometry *scratch,
                        double *x, double *normal) {
    int dim = side->dim;
    hdg_cell_geometry(space, block, cell, side, scratch);
    for (int q = 0; q < side->n; q++) {
        double scale = scratch->wJ[q] * weights[q];
        for (int a = 0; a < dim; a++) {
            double sum = 0.0;
            for (int c = 0; c < dim; c++) sum += scratch->inverse[(q * dim + c) * dim + a] * reference[c];
            normal[q * dim + a] = scale * sum;
            x[q * dim + a] = scratch->x[q * dim + a];
        }
    }
}

void hdg_face_geometry(const struct hdg_space *space, int block, int32_t cell, int face,
                       const struct hdg_face_table *table, struct hdg_geometry *scratch, double *x,
                       double *normal) {
    const struct mesh_block *b = &space->mesh->blocks[block];
    const double *reference = space->blocks[block].normals[face];
    table = hdg_face_of(table, face);
    int dim = space->mesh->dim, n = table->rule.n;
    int orientation = b->orientations[(int64_t)cell * space->blocks[block].n_faces + face];
    const struct hdg_table *side = &table->side[face][orientation];
    if (b->affine[cell] && n > 0 && side->w == NULL && !space->revolved)
        affine_face(b, cell, side, table->rule.w, reference, x, normal);
    else
        curved_face(space, block, cell, side, table->rule.w, reference, scratch, x, normal);
    for (int i = 0; i < n * dim && space->revolved; i++) normal[i] *= HDG_AROUND * x[i / dim * dim];
}
