/* Files that a team writes together, by MPI-IO: the calls of base/team.h. */
#ifndef FACET_DIST_TEAM_FILE_H
#define FACET_DIST_TEAM_FILE_H

#include "base/team.h"

facet_status dist_file_open(struct base_team *team, const struct team_file *which, void **file);
facet_status dist_file_write(struct base_team *team, void *file, int64_t at, const void *bytes,
                             int64_t n_bytes);
facet_status dist_file_close(struct base_team *team, void **file);

#endif
