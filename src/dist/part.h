/* Parts of meshes (mesh/part.h): how they come to their ranks. All calls are collective over the team. A rank
 * without cells gets no mesh: *mesh = NULL. The team of a part is one of its own, of the ranks that have
 * cells; it belongs to the finest mesh. */
#ifndef FACET_DIST_PART_H
#define FACET_DIST_PART_H

#include "dist/comm.h"
#include "mesh/part.h"

/* A part of a box, made in place: no rank ever holds the whole. Blocks of bricks, cut where the coarsest box
 * of the hierarchy can be cut, so that coarser boxes are parted alike. */
facet_status part_create_box(struct dist_comm *comm, const facet_box *box, struct facet_mesh **mesh);
/* Of a Gmsh file that rank 0 reads, cut by METIS by the cost of cells, and sent out. join: as of
 * mesh_read_gmsh_as. */
facet_status part_read_gmsh(struct dist_comm *comm, const char *path, int join, struct facet_mesh **mesh);
/* Of a mesh that only rank 0 has (NULL on the others); ranks[cell] (rank 0): where each cell goes. */
facet_status part_distribute(struct dist_comm *comm, const struct facet_mesh *whole, const int32_t *ranks,
                             struct facet_mesh **mesh);
/* mesh_refine_keeping for a part. */
facet_status part_refine(struct facet_mesh *mesh, int times);

#endif
