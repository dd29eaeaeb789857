/* VTU files with Lagrange cells: appended raw binary, compressed if facet has zlib, points not shared between
 * cells, file version 1.0, which VTK and meshio read.
 *
 * The caller gives every cell's points at the lattice of shape_nodes(shape, order) of poly/shape.h; the
 * writer reorders them to VTK's numbering. order 1 writes linear cells (VTK_TRIANGLE, ...), order 2..10
 * Lagrange cells. The file appears when it is whole (base/file.h).
 *
 * A team writes one file: the cells of rank 0, then those of rank 1, and so on, as if one had all of them;
 * arrays are then not compressed, so that everybody knows where its part goes. Or it writes several pieces,
 * each with the cells of as many ranks, one after the other: name.vtu becomes name-0.vtu, name-1.vtu, ...,
 * and name.pvtu, which names them, comes last.
 */
#ifndef FACET_IO_VTU_H
#define FACET_IO_VTU_H

#include <stdint.h>

#include "base/team.h"
#include "poly/shape.h"

struct vtu_block {
    enum shape shape;
    int64_t count;
};
struct vtu_field {
    const char *name;
    int n_components; /* 1, 2 (padded to 3, so that ParaView sees a vector), 3, 4 (2x2, padded to 9) or 9 */
    int on_cells;     /* nonzero: one value per cell instead of per point */
    const double *values; /* (points or cells) x n_components, in the order of the blocks */
};
struct vtu_grid {
    int dim, order;
    int n_blocks;
    const struct vtu_block *blocks;
    const double *points;   /* all points of all cells x dim */
    struct base_team *team; /* who writes the file together, each the cells that it has; NULL: nobody else */
    int pieces;             /* of a team, at most one for each rank; 0, 1: one file */
};
/* How many files there will be beside name.pvtu; 1: the file itself alone. */
int vtu_n_pieces(const struct base_team *team, int pieces);
/* The name of a piece of a file, or (-1) of that which names them all; *name is freed by base_free. */
facet_status vtu_piece_name(const char *path, int piece, char **name);
/* fields[0] becomes the active scalars (or vectors). */
facet_status vtu_write(const char *path, const struct vtu_grid *grid, int n_fields,
                       const struct vtu_field *fields);

/* VTK's point number p of a Lagrange cell is lattice node map[p]. */
facet_status vtu_node_map(enum shape shape, int order, int *map);
/* The same of a cell in the memory of VTK 9. */
facet_status vtu_memory_map(enum shape shape, int order, int *map);
/* VTK's number of a cell. */
unsigned char vtu_cell_type(enum shape shape, int order);

#endif
