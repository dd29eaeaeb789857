/* The table of what people have instead of a mesh, and what helps then; the commands are those of Gmsh 4 and
 * of meshio. */
#include "mesh/foreign.h"

#include <stdio.h>
#include <string.h>

enum advice {
    NOTHING,
    MESH_IT,
    MERGE_IT,
    EXPORT_IT,
    GMSH_IT,
    MESHIO_IT,
    FLUENT_IT,
    OLD_GMSH,
    UNPACK_IT,
    FETCH_IT,
    USE_IT
};

/* A kind is known by one of its beginnings (text behind white space, in letters of any case) or by the end of
 * a name; both are lists with a bar between. */
static const struct kind {
    const char *what, *begins, *ends;
    enum advice advice;
} kinds[] = {
    {"a Gmsh mesh", "$MeshFormat", "", USE_IT},
    {"a Gmsh mesh of version 1", "$NOD|$PTS", "", OLD_GMSH},
    /* geometry */
    {"STEP geometry", "ISO-10303-21", ".step|.stp|.p21", MESH_IT},
    {"IGES geometry", "", ".iges|.igs", MESH_IT},
    {"BREP geometry", "DBRep_DrawableShape|CASCADE Topology", ".brep", MESH_IT},
    {"a Gmsh script", "", ".geo|.geo_unrolled", MESH_IT},
    {"a file of a CAD program", "",
     ".sldprt|.sldasm|.ipt|.iam|.prt|.catpart|.3dm|.fcstd|.x_t|.x_b|.sat|.dwg|.dxf", EXPORT_IT},
    {"an STL surface", "solid ", ".stl", MERGE_IT},
    {"a surface of triangles (PLY)", "ply\n|ply\r", ".ply", EXPORT_IT},
    {"a surface of triangles (OFF)", "OFF\n|OFF\r", ".off", EXPORT_IT},
    {"a surface of triangles (OBJ)", "", ".obj", EXPORT_IT},
    {"a surface of triangles", "", ".3mf|.amf|.wrl", EXPORT_IT},
    /* meshes of others */
    {"a VTK mesh", "# vtk DataFile", ".vtk", GMSH_IT},
    {"a VTK file", "<VTKFile", ".vtu|.pvtu|.vtp|.vtkhdf", MESHIO_IT},
    {"an XDMF mesh", "<Xdmf", ".xdmf|.xmf", MESHIO_IT},
    {"a DOLFIN mesh", "<dolfin", "", MESHIO_IT},
    {"an Abaqus mesh", "*HEADING|*NODE|*PART|** ", ".inp", MESHIO_IT},
    {"an LS-DYNA mesh", "*KEYWORD", ".key|.k", NOTHING},
    {"an I-deas mesh (UNV)", "", ".unv", GMSH_IT},
    {"a Nastran mesh", "BEGIN BULK|CEND|GRID ", ".bdf|.nas|.fem", GMSH_IT},
    {"a Medit mesh", "MeshVersionFormatted", ".mesh|.meshb", GMSH_IT},
    {"an SU2 mesh", "NDIME=|NDIME =", ".su2", MESHIO_IT},
    {"a Netgen mesh", "mesh3d|mesh2d", ".vol", MESHIO_IT},
    {"a Fluent mesh", "(0 \"|(0 |(1 |(2 ", ".cas", FLUENT_IT},
    {"a COMSOL mesh", "# Created by COMSOL", ".mphtxt|.mphbin", NOTHING},
    {"an MFEM mesh", "MFEM mesh|MFEM NURBS", "", NOTHING},
    {"a TetGen mesh", "", ".ele|.node|.smesh", MESHIO_IT},
    {"an OpenFOAM file", "FoamFile|/*--------------------------------*- C++", "", NOTHING},
    {"a CGNS mesh", "@(#)ADF", ".cgns", GMSH_IT},
    {"a MED mesh", "", ".med|.rmed|.mmed", GMSH_IT},
    {"an Exodus mesh", "", ".exo|.e|.ex2|.exii", MESHIO_IT},
    {"a netCDF file, such as an Exodus mesh,", "CDF\1|CDF\2|CDF\5", "", MESHIO_IT},
    {"an HDF5 file", "\x89HDF\r\n\x1a\n", ".h5|.hdf5", MESHIO_IT},
    /* what is none at all */
    {"a picture (PNG)", "\x89PNG", ".png", NOTHING},
    {"a picture (JPEG)", "\xff\xd8\xff", ".jpg|.jpeg", NOTHING},
    {"a picture (GIF)", "GIF87a|GIF89a", ".gif", NOTHING},
    {"a picture (TIFF)", "II* |MM *", ".tif|.tiff", NOTHING},
    {"a picture (BMP)", "", ".bmp", NOTHING},
    {"a picture (SVG)", "<svg", ".svg", NOTHING},
    {"a PDF document", "%PDF", ".pdf", NOTHING},
    {"a web page", "<!DOCTYPE html|<html", ".html|.htm", NOTHING},
    {"a pointer of Git LFS", "version https://git-lfs", "", FETCH_IT},
    {"compressed", "\x1f\x8b|PK\3\4|BZh|\xfd\x37zXZ|\x28\xb5\x2f\xfd", ".gz|.zip|.bz2|.xz|.zst|.7z",
     UNPACK_IT},
    {"a program", "\x7f\x45LF", ".exe", NOTHING},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static int lower(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int is_same(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (lower(a[i]) != lower(b[i])) return 0;
    return 1;
}

/* Whether the text begins (or ends) with a word of the list "a|b". */
static int matches(const char *text, size_t n, const char *list, int at_end) {
    while (*list) {
        size_t length = strcspn(list, "|");
        if (length <= n && is_same(at_end ? text + n - length : text, list, length)) return 1;
        list += length + (list[length] == '|');
    }
    return 0;
}

/* Lines of 80 columns, of which the last eight count: "S      1". */
static int is_iges(const char *bytes, size_t n) {
    if (n < 80 || memchr(bytes, '\n', 80) || bytes[72] != 'S') return 0;
    return bytes[79] == '1' && strspn(bytes + 73, " 0") >= 6;
}

/* A line with -1 and a line with the number of a set of data. */
static int is_unv(const char *text, size_t n) {
    static const char *const sets[] = {"151", "164", "781", "2411", "2412", "2420"};
    if (n < 8 || strncmp(text, "-1", 2) != 0) return 0;
    size_t i = 2 + strspn(text + 2, " \r\n");
    for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
        size_t length = strlen(sets[k]);
        if (strncmp(text + i, sets[k], length) == 0 && strchr(" \r\n", text[i + length])) return 1;
    }
    return 0;
}

static const struct kind *find_end(const char *path) {
    for (int k = 0; k < N_KINDS; k++)
        if (matches(path, strlen(path), kinds[k].ends, 1)) return &kinds[k];
    return NULL;
}

/* By contents; text is NUL-terminated and its white space at the beginning is gone. */
static const struct kind *find_begin(const char *path, const char *bytes, const char *text, size_t n) {
    const struct kind *found = NULL;
    for (int k = 0; k < N_KINDS && !found; k++)
        if (matches(text, n, kinds[k].begins, 0)) found = &kinds[k];
    if (found && found->begins[0] == '\x89' && found->advice == MESHIO_IT) { /* HDF5 is a container */
        const struct kind *inside = find_end(path);
        return inside && (inside->advice == GMSH_IT || inside->advice == MESHIO_IT) ? inside : found;
    }
    if (found) return found;
    if (is_iges(bytes, (size_t)(text - bytes) + n)) return find_end(".iges");
    if (is_unv(text, n)) return find_end(".unv");
    if (strncmp(text, "<?xml", 5) != 0) return NULL;
    for (int k = 0; k < N_KINDS; k++)
        if (kinds[k].begins[0] == '<' && strstr(text, kinds[k].begins)) return &kinds[k];
    return NULL;
}

static void advise(enum advice advice, const char *path, struct foreign *found) {
    char stem[80], *text = found->advice;
    if (strlen(path) >= sizeof stem) path = "FILE";
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(stem, sizeof stem, "%.*s", dot && dot > name ? (int)(dot - path) : (int)strlen(path), path);
    found->becomes_mesh = advice >= MESH_IT && advice <= OLD_GMSH;
    found->is_old = advice == OLD_GMSH;
    text[0] = '\0';
    switch (advice) {
    case NOTHING:
        break;
    case MESH_IT:
        snprintf(text, FOREIGN_ADVICE_BYTES, "mesh it with Gmsh: gmsh -3 %s -o %s.msh (-2 in the plane)",
                 path, stem);
        break;
    case MERGE_IT:
        snprintf(text, FOREIGN_ADVICE_BYTES,
                 "it has no inside: write 'Merge \"%s\"; Surface Loop(1) = {1}; Volume(1) = {1};' to a file "
                 "solid.geo, then mesh it with Gmsh: gmsh -3 solid.geo -o %s.msh",
                 name, stem);
        break;
    case EXPORT_IT:
        snprintf(text, FOREIGN_ADVICE_BYTES,
                 "export it as STEP, then mesh that with Gmsh: gmsh -3 %s.step -o %s.msh", stem, stem);
        break;
    case GMSH_IT:
        snprintf(text, FOREIGN_ADVICE_BYTES, "convert it with Gmsh: gmsh %s -save -o %s.msh", path, stem);
        break;
    case OLD_GMSH:
        snprintf(text, FOREIGN_ADVICE_BYTES, "convert it with Gmsh: gmsh %s -save -format msh41 -o %s-41.msh",
                 path, stem);
        break;
    case MESHIO_IT:
        snprintf(text, FOREIGN_ADVICE_BYTES,
                 "convert it with meshio (pip install meshio): meshio convert %s %s.msh", path, stem);
        break;
    case FLUENT_IT:
        snprintf(text, FOREIGN_ADVICE_BYTES,
                 "convert it with meshio (pip install meshio): meshio convert --input-format ansys %s "
                 "%s-gmsh.msh",
                 path, stem);
        break;
    case UNPACK_IT:
        snprintf(text, FOREIGN_ADVICE_BYTES, "unpack it first");
        break;
    case FETCH_IT:
        snprintf(text, FOREIGN_ADVICE_BYTES, "fetch the file itself with: git lfs pull");
        break;
    case USE_IT:
        snprintf(text, FOREIGN_ADVICE_BYTES,
                 "name it in a case with mesh: {file: %s}; facet check %s reports on it", path, path);
        break;
    }
}

int foreign_identify(const char *path, const char *bytes, size_t n, int by_name, struct foreign *found) {
    char head[FOREIGN_HEAD_BYTES + 1];
    const struct kind *kind = NULL;
    if (n > FOREIGN_HEAD_BYTES) n = FOREIGN_HEAD_BYTES;
    for (size_t i = 0; i < n; i++)
        head[i] = bytes[i] ? bytes[i] : ' '; /* so that it can be searched as text */
    head[n] = '\0';
    size_t space = n >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    space += strspn(head + space, " \t\r\n");
    if (n > 0) kind = find_begin(path, head, head + space, n - space);
    if (!kind && by_name) kind = find_end(path);
    if (!kind) return 0;
    found->what = kind->what;
    advise(kind->advice, path, found);
    return 1;
}
