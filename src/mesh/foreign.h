/* Files that are given as a mesh, or as a case, and are something else: geometry, meshes of other programs,
 * pictures. What they are is known by their first bytes, else by the end of their names. */
#ifndef FACET_MESH_FOREIGN_H
#define FACET_MESH_FOREIGN_H

#include <stddef.h>

#define FOREIGN_HEAD_BYTES   4096 /* that are looked at */
#define FOREIGN_ADVICE_BYTES 320

struct foreign {
    const char *what;                  /* "STEP geometry" */
    char advice[FOREIGN_ADVICE_BYTES]; /* "mesh it with Gmsh: gmsh -3 part.step -o part.msh"; "" for none */
    int becomes_mesh;                  /* the advice leads to a mesh */
    int is_old;                        /* a mesh of Gmsh, of a version that is not read */
};
#define FOREIGN_OLD ", which is not read (versions 2.2 and 4.1 are)"
/* 1 when the file is known; bytes: its beginning, n of them. by_name: its name may tell. A Gmsh mesh is known
 * too. */
int foreign_identify(const char *path, const char *bytes, size_t n, int by_name, struct foreign *found);

#endif
