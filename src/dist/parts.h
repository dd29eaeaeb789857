/* Parts of meshes (mesh/part.h): how they come to their ranks. All calls are collective over the team. A rank
 * without cells gets no mesh: *mesh = NULL. The team of a part is that of the ranks that have cells, which
 * are the first ones; it lives as long as the team that was given. Refinement (mesh_refine_keeping) is local.
 */
#ifndef FACET_DIST_PARTS_H
#define FACET_DIST_PARTS_H

#include "dist/comm.h"
#include "mesh/part.h"

/* A part of a box, made in place: no rank ever holds the whole. Blocks of bricks, cut where the coarsest box
 * of the hierarchy can be cut, so that coarser boxes are parted alike. */
facet_status part_create_box(struct base_team *team, const facet_box *box, struct facet_mesh **mesh);
/* Of a Gmsh file that rank 0 reads, cut by METIS by the cost of cells, and sent out. join: as of
 * mesh_read_gmsh_as. */
facet_status part_read_gmsh(struct base_team *team, const char *path, int join, struct facet_mesh **mesh);
/* Of the files into which Gmsh has split a partitioned mesh, one for each rank; pattern: their path, with a *
 * for the number of the part. */
facet_status part_read_files(struct base_team *team, const char *pattern, int join, struct facet_mesh **mesh);
/* Of a mesh that only rank 0 has (NULL on the others); ranks[cell] (rank 0): where each cell goes. */
facet_status part_distribute(struct base_team *team, const struct facet_mesh *whole, const int32_t *ranks,
                             struct facet_mesh **mesh);
#endif
