/* facet: elliptic problems by high-order hybridized discontinuous Galerkin (HDG) methods.
 *
 * Conventions
 * -----------
 * Equations.
 *     Diffusion: lambda u - div(K grad u) = f with lambda >= 0 and K symmetric positive definite. The flux is
 *     q = -K grad u; on every facet the unknown is the trace uhat, and qhat.n = q.n + tau (u - uhat).
 *     Elasticity: -div sigma = f with sigma = 2 mu eps(u) + lambda (div u) I and eps(u) the symmetric part of
 *     grad u. The displacement u, the source f and boundary data have `dim` components.
 *
 * Arrays.
 *     Row-major, the last index fastest. Points are rows of `dim` coordinates.
 *
 * Functions.
 *     Data of a problem is a number written as text ("2"), an expression in x, y, z ("sin(pi*x)*y"), or a C
 *     function that is called with many points at once, possibly from several threads.
 *
 * Ownership.
 *     facet_X_create(..., &x) makes, facet_X_destroy(&x) frees and sets x to NULL. Everything passed in is
 *     copied, except meshes and contexts, which must outlive what was made from them, and user pointers of
 *     callbacks. A mesh may be shared by many problems. Arrays that are filled in are the caller's, and where
 *     nothing else is said in the memory of the host.
 *
 * Failure.
 *     Every fallible call returns a facet_status; facet_message() is then a sentence that says what is wrong,
 *     where, and what would be right. A NULL pointer is refused where nothing else is said. The library never
 *     prints, exits or aborts.
 *
 * Structs.
 *     Options, boxes, and all that the library fills in carry their size as first member: the program sets it
 *     (`facet_report report = {.size = sizeof report};`), and the library reads and writes no more than that.
 *     From 0.2 on they, and facet_event, only grow at their end, where nothing is padding, and phases are
 *     only appended: a program that was compiled with an older header works with a newer library, which takes
 *     the members it does not have at their defaults. A program that sets members which the library does not
 *     know yet is refused.
 *
 * Threads.
 *     Different solvers may be used from different threads at the same time, on every device, also solvers of
 *     one problem, one mesh and one context. Reading a solution is reading: any number of threads may do it
 * at once (facet_solver_evaluate, _take, _report, _errors, _write, _potential, _points, facet_field_create,
 *     facet_field_evaluate, facet_field_function, facet_sample_create and their like), also from functions
 *     that the solve of another solver asks for data. While a solver solves or is changed (_solve, _set_...,
 *     _update, facet_field_update), or multiplies (_apply, _precondition, _matrix), one thread alone uses it;
 *     neither may a mesh, a problem or a context be changed while others use it. A call works with as many
 * threads of its own as its context says (facet_context_set_threads), a call of a solver with as many as when
 * the solver was made. Programs with many threads of their own give each call one. Threads that wait for each
 * other spin while they have the processors to themselves, and give them up soon while other programs are
 * seen to want them, unless OMP_WAIT_POLICY, GOMP_SPINCOUNT or KMP_BLOCKTIME says how they are to wait.
 * OpenBLAS, whose threads belong to the process, is set to one when the first context is made.
 *
 * The same bits.
 *     The same calls with the same number of threads give the same bits, whatever runs beside them; what the
 *     library chooses follows from the problem, never from a clock. Two things are left to the machine. Where
 *     the word auto may take a direct solve, or one on the coarsest level, the factor must fit into the
 *     memory that is free; facet_report and facet_level say what was taken. And while a call of more than one
 *     thread factors a large matrix, BLAS has these threads for the whole process, so that last bits of calls
 *     beside it may differ; with one thread a call this does not happen.
 *
 * The life of a program (see examples/01_box.c to examples/08_case.c):
 *
 *     facet_context *ctx;   facet_context_create("cpu", &ctx);
 *     facet_mesh *mesh;     facet_mesh_read(ctx, "part.msh", &mesh);
 *     facet_problem *pb;    facet_problem_create(ctx, mesh, FACET_DIFFUSION, &pb);
 *                           facet_problem_set_dirichlet(pb, "inlet", "1");
 *     facet_solver *sv;     facet_solver_create(pb, NULL, &sv);
 *                           facet_solver_solve(sv, NULL, NULL);
 *                           facet_solver_write(sv, "part.vtu", NULL);
 */
#ifndef FACET_H
#define FACET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FACET_VERSION_MAJOR 0
#define FACET_VERSION_MINOR 2
#define FACET_VERSION_PATCH 0
#define FACET_VERSION       "0.2.0"

#if defined(__GNUC__)
#    define FACET_API __attribute__((visibility("default")))
#else
#    define FACET_API
#endif

/* ------------------------------------------------------------------------------------------ status */

/* The values are also the exit status of the program. */
typedef enum facet_status {
    FACET_OK = 0,
    FACET_NOT_CONVERGED = 1, /* the solve stopped before it reached the tolerance */
    FACET_ERROR_INPUT = 2,   /* the input is wrong */
    FACET_ERROR_MACHINE = 3, /* memory, device or file */
    FACET_INTERRUPTED = 130  /* facet_interrupt() or facet_context_interrupt() was called */
} facet_status;

/* What went wrong in the calling thread's last failing call; valid until its next call. */
FACET_API const char *facet_message(void);
FACET_API const char *facet_version(void);
/* The commit of the sources that the library was built from, as git abbreviates it (5ccc179b), with "-dirty"
 * after it when files that git tracks had been changed; "unknown" when the sources came without git and
 * without a note. */
FACET_API const char *facet_commit(void);

/* Asks the running calls of all contexts to stop, solves at their next iteration; may be called from a signal
 * handler. Calls that notice return FACET_INTERRUPTED. Where a context has no call under way, the next one
 * that can be interrupted does. A call that returns FACET_INTERRUPTED has obeyed: the calls of its context
 * that begin after it work again, and contexts made later are not concerned. */
FACET_API void facet_interrupt(void);
/* Takes back what facet_interrupt() asked for and no call has obeyed yet. */
FACET_API void facet_interrupt_clear(void);

/* ------------------------------------------------------------------------------------------ context */

typedef struct facet_context facet_context; /* a device, and a monitor */
typedef struct facet_mesh facet_mesh;
typedef struct facet_problem facet_problem; /* mesh, equation, data, boundary conditions */
typedef struct facet_field facet_field;     /* a field of a solution, as data for others */
typedef struct facet_sample facet_sample;   /* a solution on cells that viewers understand */
typedef struct facet_case facet_case;       /* a case file */
typedef struct facet_solver facet_solver;   /* a discretized problem, set up once to be solved many times */

/* Every second of a run belongs to one phase. A phase may begin inside another, which then stands still. */
typedef enum facet_phase {
    FACET_PHASE_MESH,
    FACET_PHASE_CONDENSE, /* the matrices of the cells */
    FACET_PHASE_ASSEMBLE,
    FACET_PHASE_SETUP, /* the case, the choice of the method, and what the solve needs beside the matrix */
    FACET_PHASE_LOAD,  /* the right-hand side from source and boundary data */
    FACET_PHASE_SOLVE,
    FACET_PHASE_RECOVER,
    FACET_PHASE_POSTPROCESS,
    FACET_PHASE_MEASURE, /* errors, balance, values */
    FACET_PHASE_OUTPUT,
    FACET_N_PHASES /* of this version; never more than FACET_MAX_PHASES */
} facet_phase;
#define FACET_MAX_PHASES 32
/* "?" for a number that is none. */
FACET_API const char *facet_phase_name(facet_phase phase);

typedef enum facet_event_kind {
    FACET_EVENT_BEGIN,    /* of a phase */
    FACET_EVENT_PROGRESS, /* done of total cells */
    FACET_EVENT_ITERATION,
    FACET_EVENT_END, /* of a phase: seconds, without those of the phases inside it */
    FACET_EVENT_TICK /* nothing else was to be told for a tenth of a second; phase: that which runs, or ran
                        last */
} facet_event_kind;

/* Made by the library; later versions add members at the end, kinds and phases. */
typedef struct facet_event {
    facet_event_kind kind;
    facet_phase phase;
    double done, total;
    int iteration;
    double residual; /* relative */
    double seconds;
} facet_event;
/* Called in the thread of the call that it tells about: from several, where several use the context; at least
 * five times a second, unless a factorization, one kernel over all cells or unknowns, or a function of the
 * caller takes longer. It stops that call by facet_context_interrupt, which is seen between two iterations,
 * and between cells wherever these are looped over; it makes no other calls with objects of the context. */
typedef void (*facet_monitor)(void *user, const facet_event *event);

/* device: "cpu" (the default when NULL), "ref", "debug" or "cuda". */
FACET_API facet_status facet_context_create(const char *device, facet_context **context);
FACET_API void facet_context_destroy(facet_context **context);
/* Of the calls that begin later with this context, its meshes and its problems; a solver keeps the number it
 * was made with. 0 (as after facet_context_create): as many as the process may use. A library that was built
 * without OpenMP has one thread, whatever is asked for. */
FACET_API facet_status facet_context_set_threads(facet_context *context, int n);
FACET_API int facet_context_threads(const facet_context *context);
/* As facet_interrupt(), for the calls of one context, from any thread or signal handler. */
FACET_API void facet_context_interrupt(facet_context *context);
FACET_API const char *facet_context_device(const facet_context *context);
/* Memory of the context's device, for facet_solver_solve_device: on `cuda` that of the GPU (what cudaMalloc
 * gives is as good), on `cpu` and `ref` the host's own, on `debug` memory that only copies and kernels reach.
 * *pointer: NULL for 0 bytes. Copies wait for what was asked of the device before. */
FACET_API facet_status facet_device_alloc(facet_context *context, size_t bytes, void **pointer);
FACET_API void facet_device_free(facet_context *context, void **pointer);
FACET_API facet_status facet_device_write(facet_context *context, void *to, const void *from_host,
                                          size_t bytes);
FACET_API facet_status facet_device_read(facet_context *context, void *to_host, const void *from,
                                         size_t bytes);
FACET_API void facet_context_set_monitor(facet_context *context, facet_monitor monitor, void *user);

/* ------------------------------------------------------------------------------------------ mesh */

typedef struct facet_box {
    size_t size; /* sizeof(facet_box) */
    int dim;     /* 2 or 3 */
    int cells[3];
    int periodic[3]; /* nonzero: periodic in that direction; with "five", cells[i] is even there */
    double lower[3], upper[3];
    const double *coordinates[3]; /* cells[i] + 1 increasing numbers each, for a graded box; NULL: uniform */
    const char *shape;            /* "triangle" or "quad"; "tet", "hex" or "prism" */
    const char *split;            /* of quads into triangles: "right" (NULL), "left", "alternating"; of cubes
                                     into tets: "six" (NULL), every cube alike, or "five", alternating */
} facet_box;

typedef struct facet_mesh_info {
    size_t size; /* set by the caller */
    int dim;
    int geometry_order;
    int64_t n_cells, n_faces, n_boundary_faces, n_vertices;
    const char *shape; /* "triangle", "quad", "triangle+quad"; "tet", "hex", "tet+hex+prism"; valid while the
                          mesh lives */
    double volume;     /* sum of |cell| */
    double smallest_cell, largest_cell; /* diameters */
    double smallest_jacobian;           /* min over cells of min det J / max det J, 1 for affine cells */
} facet_mesh_info;

/* A box [lower, upper]; its sides are called xmin, xmax, ymin, ymax, in 3D also zmin, zmax. */
FACET_API facet_status facet_mesh_create_box(facet_context *context, const facet_box *box, facet_mesh **mesh);
/* A Gmsh file, format 2.2 or 4.1, ASCII or binary. Boundary parts and regions are its physical groups. Sides
 * that its $Periodic says to repeat each other are joined, and are no boundary; _apart leaves them apart. */
FACET_API facet_status facet_mesh_read(facet_context *context, const char *path, facet_mesh **mesh);
FACET_API facet_status facet_mesh_read_apart(facet_context *context, const char *path, facet_mesh **mesh);
/* Splits every cell `times` times into 2^dim; curved geometry is kept, and so are the coarser meshes, for
 * geometric multigrid. More cells than 32-bit numbers count are FACET_ERROR_INPUT, more than the memory holds
 * FACET_ERROR_MACHINE, both before anything is done. Solvers that were made before refuse to go on. */
FACET_API facet_status facet_mesh_refine(facet_mesh *mesh, int times);
/* Multiplies all coordinates, as for a file in millimetres. Solvers that were made before refuse to go on. */
FACET_API facet_status facet_mesh_scale(facet_mesh *mesh, double factor);
FACET_API facet_status facet_mesh_get_info(const facet_mesh *mesh, facet_mesh_info *info);

/* Cells of one shape and order, as arrays. In an array of these structs all have the size of the first. */
typedef struct facet_cells {
    size_t size;          /* sizeof(facet_cells) */
    const char *shape;    /* "triangle" or "quad"; "tet", "hex", "prism" or "pyramid" */
    int order;            /* of the geometry, 1 .. 9 */
    int64_t count;        /* of the cells */
    const int64_t *nodes; /* count * nodes of a cell: rows of the points */
} facet_cells;
/* A group of cells, or of faces. Groups of one name and kind are one. */
typedef struct facet_members {
    size_t size; /* sizeof(facet_members) */
    const char *name;
    int dim; /* that of the mesh: cells; one less: faces */
    int64_t count;
    const int64_t *cells; /* of a group of cells: numbers from 0, through all blocks in their order */
    const int64_t *nodes; /* of a group of faces: the points at their corners, in any order; count * 2 in 2D,
                             count * 4 in 3D, the last of a triangle being -1 */
} facet_members;
typedef struct facet_arrays {
    size_t size; /* sizeof(facet_arrays) */
    int dim;     /* 2 or 3 */
    int64_t n_points;
    const double *points;  /* n_points * dim; those that no cell has are left out */
    const char *numbering; /* of the nodes of a cell: "gmsh" (NULL), "vtk" (the Lagrange cells of VTK 9), or
                              "lattice": equispaced points, the first coordinate fastest. In the first two
                              corners come first: around a triangle or quad, those of a tet being (0,0,0),
                              (1,0,0), (0,1,0), (0,0,1), of a hex the quad below and that above it */
    int n_blocks;
    const facet_cells *blocks;
    int n_groups;
    const facet_members *groups;
} facet_arrays;
/* A mesh from arrays, which are copied; checked as a file is, and what makes no mesh is refused with the
 * entry. Cells that share corners share points: two points of one place are two. Cells of lower order are
 * taken to that of the others. numbers (or NULL): receives for each cell the number that it has in the mesh,
 * where cells of one shape stand together, and of these straight ones before bent ones. */
FACET_API facet_status facet_mesh_create_arrays(facet_context *context, const facet_arrays *arrays,
                                                int64_t *numbers, facet_mesh **mesh);
/* The way back, also for viewers: points that neighbours share are one, the corners of cells come first;
 * cells of each shape, of the order of the mesh, numbered through the blocks as groups and results are. That
 * sides are periodic does not go with them. */
FACET_API facet_status facet_mesh_n_points(const facet_mesh *mesh, int64_t *n_points);
FACET_API facet_status facet_mesh_points(const facet_mesh *mesh, double *points);
FACET_API int facet_mesh_n_blocks(const facet_mesh *mesh);
/* cells->nodes is not touched: nodes (or NULL) receives them. */
FACET_API facet_status facet_mesh_block(const facet_mesh *mesh, int block, const char *numbering,
                                        facet_cells *cells, int64_t *nodes);
/* A named group of cells, or part of the boundary. */
typedef struct facet_group {
    size_t size;      /* set by the caller */
    const char *name; /* valid while the mesh lives and is not refined */
    int dim;          /* that of the mesh: cells; one less: faces */
    int64_t count;    /* of them */
} facet_group;
FACET_API int facet_mesh_n_groups(const facet_mesh *mesh);
FACET_API facet_status facet_mesh_group(const facet_mesh *mesh, int i, facet_group *group);
/* Its members, count each, ascending; any array may be NULL. cells: their numbers, or those of the cells at
 * the faces. faces: the numbers of these in their cells, by corners: 01 12 20 of a triangle, 01 12 23 30 of a
 * quad, 021 013 032 123 of a tet, 0321 0154 1265 2376 3047 4567 of a hex. nodes: the corners of the faces in
 * this order, as in facet_members. */
FACET_API facet_status facet_mesh_group_members(const facet_mesh *mesh, int i, int64_t *cells, int *faces,
                                                int64_t *nodes);
/* Points and weights with which functions are integrated over the mesh (n_on 0), over groups of cells, or
 * over groups of faces, together, each cell and face once; "boundary": all of it, unless a group has that
 * name. Exact for polynomials of the degree (on quads and hexes in each coordinate) where the geometry is
 * affine. *n: before, for how many points there is room; after, how many there are. Arrays that are NULL are
 * not wanted; without any only *n is found. x: n * dim. normals: n * dim, of length 1, out of the cell;
 * for faces. cells: n, in which cell a point lies. */
FACET_API facet_status facet_mesh_quadrature(const facet_mesh *mesh, int degree, int n_on,
                                             const char *const *on, int64_t *n, double *x, double *weights,
                                             double *normals, int64_t *cells);
FACET_API void facet_mesh_destroy(facet_mesh **mesh);

/* ------------------------------------------------------------------------------------------ problem */

typedef enum facet_equation { FACET_DIFFUSION, FACET_ELASTICITY } facet_equation;

/* A call that belongs to the other equation is FACET_ERROR_INPUT. */

/* Points at which data are wanted, made by the library; later versions add members at the end. */
typedef struct facet_points {
    int n, dim;
    const double *x;       /* n * dim */
    const double *normals; /* n * dim: of length 1, outward, for data of boundary conditions; else NULL */
    double t;              /* see facet_solver_set_time; 0 where it was not called */
    const char *group;     /* the boundary part or group of cells that the data were set for; NULL: all */
} facet_points;

/* Data as a C function: values[i*n_values + c] at point i. A nonzero return stops the call with
 * FACET_ERROR_INPUT. It may be called from several threads at once, and for few or many points. */
typedef int (*facet_function)(void *user, const facet_points *points, double *values);

/* Data as an expression (docs/input.md): of x, y, z, the problem's parameters and the time t; data of
 * boundary conditions also of the outward normal nx, ny, nz. A parameter of such a name hides it. */

FACET_API facet_status facet_problem_create(facet_context *context, const facet_mesh *mesh,
                                            facet_equation equation, facet_problem **problem);
FACET_API void facet_problem_destroy(facet_problem **problem);

/* A value that is set again replaces the earlier one; only a boundary part keeps the condition it has, and a
 * second one is an error. A solver has copies of all that was set when it was made, but for the mesh and what
 * functions read: what is set later is for later solvers. */

/* A name for the expressions set after it. Set again, it is another value for all expressions. */
FACET_API facet_status facet_problem_set_parameter(facet_problem *problem, const char *name, double value);

/* K on the cells of a group (NULL: all). One text: K is that scalar; dim*dim texts by rows: a symmetric
 * matrix. */
FACET_API facet_status facet_problem_set_conductivity(facet_problem *problem, const char *group, int n_texts,
                                                      const char *const *texts);
/* n_values: 1 or dim*dim. */
FACET_API facet_status facet_problem_set_conductivity_function(facet_problem *problem, const char *group,
                                                               int n_values, facet_function function,
                                                               void *user);
FACET_API facet_status facet_problem_set_reaction(facet_problem *problem, const char *text);
FACET_API facet_status facet_problem_set_reaction_function(facet_problem *problem, facet_function function,
                                                           void *user);
FACET_API facet_status facet_problem_set_source(facet_problem *problem, const char *text);
/* The same for the cells of one group, instead; n_texts: 1, in elasticity dim. Cells of no such group have
 * what the calls above give, or zero. */
FACET_API facet_status facet_problem_set_group_reaction(facet_problem *problem, const char *group,
                                                        const char *text);
FACET_API facet_status facet_problem_set_group_source(facet_problem *problem, const char *group, int n_texts,
                                                      const char *const *texts);
FACET_API facet_status facet_problem_set_group_reaction_function(facet_problem *problem, const char *group,
                                                                 facet_function function, void *user);
FACET_API facet_status facet_problem_set_group_source_function(facet_problem *problem, const char *group,
                                                               facet_function function, void *user);
/* Elasticity: dim values a point. */
FACET_API facet_status facet_problem_set_source_function(facet_problem *problem, facet_function function,
                                                         void *user);

/* The exact solution: an expression. Source and boundary data are derived from it, errors are measured
 * against it, and boundary parts not named get its Dirichlet values. The conductivity must then be
 * expressions too. */
FACET_API facet_status facet_problem_set_exact(facet_problem *problem, const char *text);

/* Boundary conditions on a part; "rest" stands for all parts not named. The text "exact" takes the data from
 * the exact solution. dirichlet: u = g; neumann: K grad u . n = g; robin: K grad u . n + a u = g. */
FACET_API facet_status facet_problem_set_dirichlet(facet_problem *problem, const char *part, const char *g);
FACET_API facet_status facet_problem_set_dirichlet_function(facet_problem *problem, const char *part,
                                                            facet_function g, void *user);
FACET_API facet_status facet_problem_set_neumann(facet_problem *problem, const char *part, const char *g);
FACET_API facet_status facet_problem_set_neumann_function(facet_problem *problem, const char *part,
                                                          facet_function g, void *user);
FACET_API facet_status facet_problem_set_robin(facet_problem *problem, const char *part, const char *a,
                                               const char *g);
FACET_API facet_status facet_problem_set_robin_function(facet_problem *problem, const char *part,
                                                        facet_function a, void *a_user, facet_function g,
                                                        void *g_user);

/* The parts together are an electrode: u is one number there, such that the integral of K grad u . n, what
 * goes in, is this total, which depends on no coordinate. Where only such parts and fluxes are given the
 * totals must balance, and the first electrode has u = 0. A solve then takes as many more as there are
 * electrodes, and later ones with the same matrices one more. */
FACET_API facet_status facet_problem_set_total_flux(facet_problem *problem, int n_parts,
                                                    const char *const *parts, const char *text);
/* A contact that resists, where cells of two groups meet: the flux from one to the other is the conductance
 * (an expression, positive) times the difference of u, which jumps there. HDG on mapped cells. */
FACET_API facet_status facet_problem_set_interface(facet_problem *problem, const char *one, const char *other,
                                                   const char *conductance);
/* On a mesh with joined sides u is a function that repeats itself plus jump . x, so that across sides a
 * distance s apart it differs by jump . s; dim numbers. Elasticity: the gradient of the displacement, dim x
 * dim by rows (formulation symmetric). HDG on mapped cells. */
FACET_API facet_status facet_problem_set_jump(facet_problem *problem, int n_texts, const char *const *texts);
/* Elasticity. The material of the cells of a group (NULL: all that no other group names). which: "mu,lambda"
 * or "E,nu"; texts: the two. mu > 0 and -2/3 mu < lambda <= 1e6 mu; or E > 0 and -1 < nu < 0.5, nu so far
 * from 0.5 that lambda <= 1e6 mu. Every cell needs a material. */
FACET_API facet_status facet_problem_set_material(facet_problem *problem, const char *group,
                                                  const char *which, const char *const texts[2]);
/* Two values a point. */
FACET_API facet_status facet_problem_set_material_function(facet_problem *problem, const char *group,
                                                           const char *which, facet_function function,
                                                           void *user);
/* An orthotropic material instead (formulation symmetric): E1, E2, E3, nu12, nu13, nu23, G12, G13, G23,
 * positive definite, nu12 being minus the strain along axis 2 over that along axis 1 under a pull along 1; in
 * plane stress E1, E2, nu12, G12 will do. axes (n_axes 0: those of the coordinates): in 2D the direction of
 * axis 1, in 3D that and one in the plane of axes 1 and 2, of any length. About an axis of revolution 3 is
 * around it. */
FACET_API facet_status facet_problem_set_orthotropic(facet_problem *problem, const char *group, int n_texts,
                                                     const char *const *texts, int n_axes,
                                                     const char *const *axes);
/* The body force f and the exact displacement; n_texts is dim. As facet_problem_set_source and _exact. */
FACET_API facet_status facet_problem_set_vector_source(facet_problem *problem, int n_texts,
                                                       const char *const *texts);
FACET_API facet_status facet_problem_set_vector_exact(facet_problem *problem, int n_texts,
                                                      const char *const *texts);
/* Heat: without stress a body is stretched by expansion (temperature - reference) in all directions; in plane
 * strain not across the plane. An expansion of a group (NULL: of all cells that no other group names); cells
 * that have none do not mind. Both calls, or neither. */
FACET_API facet_status facet_problem_set_expansion(facet_problem *problem, const char *group,
                                                   const char *text);
FACET_API facet_status facet_problem_set_expansion_function(facet_problem *problem, const char *group,
                                                            facet_function function, void *user);
FACET_API facet_status facet_problem_set_temperature(facet_problem *problem, const char *text,
                                                     const char *reference);
FACET_API facet_status facet_problem_set_temperature_function(facet_problem *problem, facet_function function,
                                                              void *user, const char *reference);
/* The temperature is a field of another solver ("u", "u_star") that was solved, is kept, and solves no more
 * while it is looked at; its mesh covers that of the problem. */
FACET_API facet_status facet_problem_set_temperature_field(facet_problem *problem, const facet_solver *from,
                                                           const char *field, const char *reference);
/* Conditions on a part, dim texts each. displacement: u_c = g_c; traction: (sigma n)_c = t_c. A component
 * whose text is NULL belongs to the other of the two, or, given by neither, has no traction: a roller is
 * {"0", NULL}. Either all texts that are not NULL are "exact", or none is. */
FACET_API facet_status facet_problem_set_displacement(facet_problem *problem, const char *part, int n_texts,
                                                      const char *const *texts);
FACET_API facet_status facet_problem_set_traction(facet_problem *problem, const char *part, int n_texts,
                                                  const char *const *texts);
/* components: dim flags, zero where the other of the two gives the component (NULL: all are given); the
 * function sets dim values a point, whatever the flags. */
FACET_API facet_status facet_problem_set_displacement_function(facet_problem *problem, const char *part,
                                                               const int *components, facet_function g,
                                                               void *user);
FACET_API facet_status facet_problem_set_traction_function(facet_problem *problem, const char *part,
                                                           const int *components, facet_function t,
                                                           void *user);
/* Loads beside the traction, on components that no displacement holds. A pressure: -p n is added. A force:
 * its dim texts, which depend on no coordinate, are a total that is spread evenly over all the parts
 * together. */
FACET_API facet_status facet_problem_set_pressure(facet_problem *problem, const char *part, const char *p);
FACET_API facet_status facet_problem_set_pressure_function(facet_problem *problem, const char *part,
                                                           facet_function p, void *user);
FACET_API facet_status facet_problem_set_force(facet_problem *problem, int n_parts, const char *const *parts,
                                               int n_texts, const char *const *texts);
/* sigma n + k u = t, formulation "symmetric" only; t: traction, pressure and force. One text: the number k;
 * two: k along the normal, and across it; dim*dim: a matrix by rows, symmetric and positive semidefinite. */
FACET_API facet_status facet_problem_set_spring(facet_problem *problem, const char *part, int n_texts,
                                                const char *const *texts);
/* n_values: 1, 2 or dim*dim. */
FACET_API facet_status facet_problem_set_spring_function(facet_problem *problem, const char *part,
                                                         int n_values, facet_function k, void *user);
/* u . n = 0, and no traction along the part. */
FACET_API facet_status facet_problem_set_symmetry(facet_problem *problem, const char *part);
/* (mu grad u - p I) n = g with p = -(mu + lambda) div u: formulation "gradient" only. */
FACET_API facet_status facet_problem_set_gradient_pressure(facet_problem *problem, const char *part,
                                                           int n_texts, const char *const *texts);
FACET_API facet_status facet_problem_set_gradient_pressure_function(facet_problem *problem, const char *part,
                                                                    facet_function g, void *user);

/* ------------------------------------------------------------------------------------------ solver */

typedef struct facet_options {
    size_t size;                /* set by facet_options_default */
    const char *discretization; /* "hdg" (NULL); "condensed": continuous elements, condensed to their
                                   boundaries; without tau, u* and q*, and with q = -K grad u at points;
                                   "continuous": the same elements solved whole, on boxes of quads and hexes
                                   with Dirichlet, Neumann and periodic sides and coefficients that are
                                   constant in every cell */
    int degree; /* 1 .. 16, with the operator tensor to 32, continuous to 15; of the formulation gradient
                   also 0 */
    const char *operator_name; /* how the matrix of a cell acts: "auto" (NULL), "mapped": dense, for all
                                  cells; "tensor": factored, for boxes of quads and hexes with Dirichlet,
                                  Neumann and periodic sides, coefficients that are constant in every cell,
                                  and a tau that follows the conductivity. auto: tensor where it applies and
                                  the discretization is not condensed */
    const char *tau; /* physical tau: number or expression; NULL: mean K of the cell / size of the domain */
    double tau_hat;  /* > 0: tau = 2 tau_hat / h instead */
    int postprocess; /* compute u* and q* */
    const char *formulation; /* elasticity: "symmetric" (NULL), or "gradient": one mu for the whole body */
    const char *plane;  /* 2D: elasticity has "strain" (NULL) and "stress"; "axisymmetric": the body that the
                           mesh makes turning about x = 0, x being r and y being z. All integrals are then over
                           that body; faces on the axis take no condition */
    const char *method; /* "auto" (NULL), "cg", "fgmres", "direct", or "multigrid": cycles by themselves; of
                           contexts over MPI also "petsc" */
    const char *preconditioner; /* "auto" (NULL), "none", "jacobi", "block"; of the operator mapped "amg",
                                   "pmg", and of hdg "gmg" (pmg where there is no coarser mesh); of tensor
                                   "additive", "chebyshev"; of continuous "none", "jacobi", and
                                   cycles: "gmg", or with vertex patches "patches" */
    const char *cycle;          /* of all these cycles: "auto" (NULL), "V", "W", "F", "full" */
    const char *smoother;       /* "auto" (NULL); of pmg "faces"; of gmg also "rows", "fsai"; of continuous
                                   "patches", "additive", "point", "jacobi", "chebyshev" */
    int smoother_degree;        /* of a Chebyshev polynomial, or steps of the other smoothers; 0: chosen */
    const char *precision;      /* of the preconditioners pmg, additive, chebyshev, gmg, patches: "auto"
                                   (NULL), "double", "mixed" (single) */
    const char *coarse_device;  /* of the coarse levels of pmg and gmg; NULL: that of the context */
    int64_t coarse_unknowns;    /* of gmg: levels of at most so many unknowns are coarse; 0: the last one */
    const char *degrees; /* of gmg, those between the degree and 1: "auto" (NULL), "arithmetic", "even",
                            "geometric", "straight" */
    double fill;         /* of the smoother fsai: its entries against those of the matrix; 0: 1 */
    int warm_start;      /* the iteration begins with what the solutions before make of the data */
    int watch;           /* measure the rate of every level (facet_solver_level), which costs time */
    int max_iterations;
    double rtol;  /* on the true residual |F - K uhat| / |F| */
    double error; /* 0, or what the estimate of the algebraic error (facet_report) is to fall below; rtol,
                     unless it is given, then follows from it */
    const char
        *petsc; /* of contexts over MPI (facet_dist.h): options for PETSc, as on a command line; NULL */
    const char *overlap; /* cells of a mesh that occupy the same space, as bodies do that were not cut at each
                            other: "refuse" (NULL), or "allow", and what is there twice counts twice. Bodies
                            that reach into each other by no more than the error of their geometry, as curved
                            ones do that touch, do not overlap */
} facet_options;
/* degree 3, tau chosen, postprocess, rtol 1e-10, max_iterations 10000. size: sizeof(facet_options). */
FACET_API void facet_options_default(facet_options *options, size_t size);

typedef struct facet_report {
    size_t size;                             /* set by the caller */
    int64_t trace_unknowns, volume_unknowns; /* trace: without the eliminated ones; negative: there is no
                                                trace, all unknowns are those of the volume */
    int iterations, converged;
    const char *method, *preconditioner, *operator_name; /* those that were used */
    const char *reason;                                  /* why the solve stopped */
    double residual, rate;                               /* rate: negative: not available */
    double seconds[FACET_MAX_PHASES]; /* of the solver by phase: none of mesh, measure and output, which are
                                         its caller's */
    double conservation; /* the larger of two numbers: the largest imbalance of a cell, relative to the terms
                            of the flux through one; and what flows into the whole, is made there, and neither
                            flows out nor is used up, relative to all that passes (where that is rounding, to
                            the terms again). Computed when the report is asked for; negative: no solution.
                            Of continuous elements, whose cells do not balance, the second number */
    double peak_bytes[FACET_MAX_PHASES]; /* the most memory that the process had until the end of each phase
                                            of the solver; 0: the phase was not run */
    double error; /* of the unknowns that were solved for, relative to all of them: an estimate of what the
                     solve and rounding leave, not of the discretization; negative: not available. A group of
                     cells whose own error is far above it is told by a note (facet_solver_note) */
    const char *discretization, *equation, *device;
    int degree, dim, threads;
    int n_notes;               /* see facet_solver_note */
    double memory_bytes;       /* the most that the process has had */
    double conservation_whole; /* the second of the two numbers that `conservation` is the larger of */
} facet_report;

/* A level of the multigrid that was used, 0 being the finest. */
typedef struct facet_level {
    size_t size;                           /* set by the caller */
    const char *name, *device, *precision; /* "k=3", "cpu", "double"; valid while the solver lives */
    int64_t unknowns;
    double bytes; /* what it takes beyond the element matrices */
    int64_t visits;
    double smooth, residual, transfer, solve; /* seconds */
    double reduction;                         /* of the residual by the last visit; negative: not watched */
    double rate;                              /* geometric mean of these */
} facet_level;

typedef struct facet_errors {
    size_t size;                                               /* set by the caller */
    double u_L2, u_Linf, q_L2, u_star_L2, q_star_L2, trace_L2; /* negative: not available */
    double H_L2, p_L2, stress_L2;                              /* elasticity; H and p: formulation gradient */
} facet_errors;

/* options: NULL for the defaults. Condenses, assembles and prepares the solve. */
FACET_API facet_status facet_solver_create(const facet_problem *problem, const facet_options *options,
                                           facet_solver **solver);
FACET_API void facet_solver_destroy(facet_solver **solver);

/* The points of a solver: n_points_per_cell quadrature points in every cell, where a caller's source is given
 * and his solution returned. x: n * dim numbers. */
FACET_API int64_t facet_solver_n_points(const facet_solver *solver);
FACET_API facet_status facet_solver_points(const facet_solver *solver, double *x);
/* n numbers: the integral of a function that is given at the points is the sum of its products with them. */
FACET_API facet_status facet_solver_weights(const facet_solver *solver, double *weights);

/* source: values at the points (NULL: the problem's own source), all finite. u: receives the solution there
 * (or NULL). Elasticity: dim values a point. */
FACET_API facet_status facet_solver_solve(facet_solver *solver, const double *source, double *u);
/* The same for callers who want their arrays checked: each has n numbers, or is NULL. A number other than
 * that of the points (times dim in elasticity) is FACET_ERROR_INPUT, and nothing is read. */
FACET_API facet_status facet_solver_solve_n(facet_solver *solver, int64_t n, const double *source, double *u);
/* The same with arrays in the memory of the context's device, which may be one and the same: nothing of the
 * size of the problem goes to the host and back. Boxes with a unique solution: hdg with conjugate gradients,
 * continuous. An array of the host, here, and one of a GPU in the calls above, is FACET_ERROR_INPUT. */
FACET_API facet_status facet_solver_solve_device(facet_solver *solver, const double *source, double *u);
/* Where the next iteration begins: with this u, n numbers at the points (continuous), or with the traces that
 * belong to it and to q = -K grad u (hdg with the operator tensor). That q is not HDG's, so that even the
 * solution itself is only a good guess (30 iterations instead of 37, say): to begin where the solve before
 * ended, use the option warm_start. A direct solve has no use for either. */
FACET_API facet_status facet_solver_set_guess(facet_solver *solver, int64_t n, const double *u);
/* Another reaction, the same number everywhere, for the solves that follow: an implicit step of another
 * length. With hdg and the operator tensor, and with continuous, where this is much cheaper than a new
 * solver; refused where it is not. */
FACET_API facet_status facet_solver_set_reaction(facet_solver *solver, double reaction);

/* Another value of a parameter (facet_problem_set_parameter), or another time t (0 before the first call),
 * for this solver: what its expressions read, and functions are told. The next solve, or facet_solver_update,
 * makes anew what depends on it. A value that an expression cannot take is refused, and nothing changes. */
FACET_API facet_status facet_solver_set_parameter(facet_solver *solver, const char *name, double value);
FACET_API facet_status facet_solver_set_time(facet_solver *solver, double t);

/* What depends on data, from cheap to dear: right-hand sides (sources, boundary values); the matrix where the
 * boundary is part of it (Robin's a); and the cells (conductivity, material, reaction, tau). */
enum { FACET_LOAD = 1, FACET_TRACE = 2, FACET_CELLS = 4 };
/* Makes anew what depends on data that have changed since the solver was made or updated last, and no more:
 * expressions by facet_solver_set_parameter and facet_solver_set_time, functions by whatever they read, which
 * shows itself at the points where integrals over cells are taken. *changed (or NULL): the sum of FACET_LOAD
 * and so on; functions of sources and boundary values, which every solve asks anew, are always counted, and
 * so are those of Robin's a and of springs, which this call asks anew, as does a solve at another time. The
 * solution before is gone where matrices have changed, but for warm_start. When the new data are refused the
 * solver waits for others: solves fail until an update succeeds. */
FACET_API facet_status facet_solver_update(facet_solver *solver, int *changed);

FACET_API facet_status facet_solver_report(const facet_solver *solver, facet_report *report);
/* 0 when no multigrid was used. */
FACET_API int facet_solver_n_levels(const facet_solver *solver);
FACET_API facet_status facet_solver_level(const facet_solver *solver, int level, facet_level *info);
FACET_API facet_status facet_solver_errors(const facet_solver *solver, facet_errors *errors);
/* A number, or several, of a field: take is "integral", "mean", "max" or "min" over the mesh (n_on 0), or
 * over groups of cells, or parts of the boundary, together; "rest": the parts that no condition names.
 * component: of a vector or tensor, from 0 and by rows; -1: all of them, the extremes being those of the
 * magnitude. Fields: as below, and over parts "flux" (q . n out of the domain) or "traction" (the force upon
 * it), which have integrals and means. values: room for 9 numbers; *n_values: how many were set. */
FACET_API facet_status facet_solver_take(const facet_solver *solver, const char *field, int component,
                                         const char *take, int n_on, const char *const *on, double *values,
                                         int *n_values);
/* The greatest ("max") or the least ("min") value of a field as facet_solver_take has it, and where it is:
 * at: room for 3 coordinates; *cell: its number (either may be NULL). The value is that of the polynomials in
 * the cells, to rounding, and not of samples; where values differ by no more than 1e-10 of their range, the
 * place is that of the cell with the lowest number. */
FACET_API facet_status facet_solver_extreme(const facet_solver *solver, const char *field, int component,
                                            const char *take, int n_on, const char *const *on, double *value,
                                            double *at, int64_t *cell);
/* The relative residuals of the last solve, before its first iteration and after each; values: room for n
 * numbers (NULL: none). *n_values: how many there are. A direct solve has those of its corrections. */
FACET_API facet_status facet_solver_history(const facet_solver *solver, int64_t n, double *values,
                                            int64_t *n_values);
/* What the program notes beside its results, such as why the operator tensor was not taken, parts of the
 * boundary that contradict each other where they meet, or what was taken off data that must balance: note i
 * as a sentence, cut to `bytes`, with its end. */
FACET_API facet_status facet_solver_note(const facet_solver *solver, int i, size_t bytes, char *text);

/* The linear system K x = F itself, for those who look at it or have solvers of their own, in arrays of the
 * host. n: facet_solver_n_unknowns. Of the operator mapped these are the unknowns of the trace without the
 * eliminated ones; of tensor all of the trace, of continuous all nodes, and rows of those with Dirichlet
 * values are zero. A constant that K does not determine, or a weak reaction, is treated apart by
 * facet_solver_solve. */
FACET_API int64_t facet_solver_n_unknowns(const facet_solver *solver);
/* y = K x. */
FACET_API facet_status facet_solver_apply(const facet_solver *solver, int64_t n, const double *x, double *y);
/* y = M x, the preconditioner that is used; of a direct solve the inverse itself, up to rounding. */
FACET_API facet_status facet_solver_precondition(const facet_solver *solver, int64_t n, const double *x,
                                                 double *y);
/* F and x of the last solve; either array may be NULL. */
FACET_API facet_status facet_solver_system(const facet_solver *solver, int64_t n, double *F, double *x);
/* K in compressed rows, assembled for this call: the operator mapped. *n_entries: before, for how many there
 * is room; after, how many there are. offsets: n + 1; columns, values: n_entries; NULL: only *n_entries is
 * found. Columns ascend in every row. */
FACET_API facet_status facet_solver_matrix(const facet_solver *solver, int64_t n, int64_t *n_entries,
                                           int64_t *offsets, int32_t *columns, double *values);
/* The number that u is on a part with a total flux. */
FACET_API facet_status facet_solver_potential(const facet_solver *solver, const char *part,
                                              double *potential);
/* A field at points anywhere in the mesh. Between cells (on a face, an edge, a vertex) the value is the mean
 * of all cells that touch the point, on every mesh and over MPI alike. A point outside the mesh, but by no
 * more than the error of its geometry (docs/input.md, values[].at), has the value of the nearest point of the
 * boundary; farther away it is an error, and the message says how far. Diffusion: "u", "u_star" (values: n *
 * 1), "q", "q_star" (n * dim). Elasticity: "u" (n * dim), "stress", "strain" (n * dim * dim, by rows),
 * "von_mises" (n * 1) and in 2D "stress_across" (n * 1: across the plane, or around the axis); of the
 * formulation gradient also "u_star" (n * dim), "H" = grad u (n * dim * dim), "p" (n * 1) and "vorticity" =
 * curl u (n * 1 in 2D, n * 3 in 3D). */
FACET_API facet_status facet_solver_evaluate(const facet_solver *solver, const char *field, int64_t n_points,
                                             const double *x, double *values);
/* A VTU file for ParaView. fields: names separated by commas (NULL: all). */
FACET_API facet_status facet_solver_write(const facet_solver *solver, const char *path, const char *fields);

/* ------------------------------------------------------------------------------------------ fields */

/* A field of a solution (names as of facet_solver_evaluate), to be asked as often as one likes: the search
 * for cells is prepared once. The solver outlives it. When it solves again, facet_field_update takes the new
 * solution; until then the field is refused, but for u, which always is the newest. Several threads may ask at
 * once, while the solver does nothing else. */
FACET_API facet_status facet_field_create(const facet_solver *from, const char *name, facet_field **field);
FACET_API void facet_field_destroy(facet_field **field);
FACET_API facet_status facet_field_update(facet_field *field);
FACET_API int facet_field_components(const facet_field *field);
FACET_API facet_status facet_field_evaluate(const facet_field *field, int64_t n_points, const double *x,
                                            double *values);
/* A facet_function: with the facet_field as its user pointer a field is data of another problem, on a mesh
 * that this one covers, as in facet_problem_set_source_function(pb, facet_field_function, field). Inside
 * functions of one's own it may be called as well. The field outlives the solvers that were made with it. */
FACET_API int facet_field_function(void *field, const facet_points *points, double *values);

/* The cells of a VTU file, in memory: Lagrange cells with points of their own, on which fields are sampled.
 * fields: as of facet_solver_write, "" for the cells alone; order: of the cells, 1 .. 10, 0: chosen. */
typedef struct facet_sample_info {
    size_t size; /* set by the caller */
    int dim, order, n_fields;
    int64_t n_points, n_cells, n_nodes; /* n_nodes: all numbers of the connectivity */
} facet_sample_info;
typedef struct facet_sample_field {
    size_t size;      /* set by the caller */
    const char *name; /* valid while the sample lives */
    int components;
    int on_cells; /* one row a cell, instead of one a point */
} facet_sample_field;
FACET_API facet_status facet_sample_create(const facet_solver *solver, const char *fields, int order,
                                           facet_sample **sample);
FACET_API void facet_sample_destroy(facet_sample **sample);
FACET_API facet_status facet_sample_get_info(const facet_sample *sample, facet_sample_info *info);
/* points: n_points * dim. nodes: those of all cells, one after the other, in the order of VTK 9; offsets:
 * n_cells + 1, where each cell begins; types: n_cells, VTK's numbers (VTK_TRIANGLE 5, ..; of order 2 and more
 * VTK_LAGRANGE_TRIANGLE 69, ..). Arrays may be NULL. */
FACET_API facet_status facet_sample_cells(const facet_sample *sample, double *points, int64_t *nodes,
                                          int64_t *offsets, uint8_t *types);
/* values (or NULL): (n_points or n_cells) * components. */
FACET_API facet_status facet_sample_get_field(const facet_sample *sample, int i, facet_sample_field *field,
                                              double *values);
FACET_API facet_status facet_sample_write(const facet_sample *sample, const char *path);

/* ------------------------------------------------------------------------------------------ cases */

/* A case file (docs/input.md): a case, or a chain of them on one mesh. settings: texts "key=value", as of
 * --set. What is wrong with it is told all at once, one line each with file, line and column. The context
 * outlives it. */
FACET_API facet_status facet_case_load(facet_context *context, const char *path, int n_settings,
                                       const char *const *settings, facet_case **file);
/* The same from a text. path: for messages, and mesh files are relative to its directory; it need not be
 * there. NULL: "case.yaml" in the current directory. */
FACET_API facet_status facet_case_parse(facet_context *context, const char *text, const char *path,
                                        int n_settings, const char *const *settings, facet_case **file);
FACET_API void facet_case_destroy(facet_case **file);

typedef struct facet_case_info {
    size_t size;              /* set by the caller */
    const char *name, *title; /* NULL: none; valid while the case lives, as all texts below */
    const char *output;       /* the file that it writes; NULL: none */
    facet_equation equation;
    int from; /* the case of the chain whose field is its temperature; -1: none */
    int n_values, n_parameters;
} facet_case_info;
FACET_API int facet_case_count(const facet_case *file);
FACET_API facet_status facet_case_get_info(const facet_case *file, int i, facet_case_info *info);
FACET_API facet_status facet_case_parameter(const facet_case *file, int i, int k, const char **name,
                                            double *value);
/* What case i says, to go on with: its mesh, the problem on it, and options. Mesh and problem are the
 * caller's. from: the solver, solved, of the case whose field is its temperature (NULL: a temperature of 0 is
 * taken instead). */
FACET_API facet_status facet_case_create_mesh(const facet_case *file, facet_mesh **mesh);
FACET_API facet_status facet_case_create_problem(const facet_case *file, int i, const facet_mesh *mesh,
                                                 const facet_solver *from, facet_problem **problem);
FACET_API facet_status facet_case_options(const facet_case *file, int i, facet_options *options);

/* All of it, as `facet solve` does: mesh, solves, errors, values, and with `write` the files that it names.
 * FACET_NOT_CONVERGED leaves what there is up to then. A second call begins anew. */
FACET_API facet_status facet_case_solve(facet_case *file, int write);
/* Of the last facet_case_solve, valid until the next: NULL where it did not come so far. json: what `facet
 * solve --json` writes. */
FACET_API const facet_mesh *facet_case_mesh(const facet_case *file);
FACET_API const facet_solver *facet_case_solver(const facet_case *file, int i);
FACET_API const char *facet_case_json(const facet_case *file);
/* What stands under `values`, number k. solver: whose solution is taken; NULL: that of facet_case_solve. */
typedef struct facet_value {
    size_t size; /* set by the caller */
    const char *name, *field;
    int64_t n_points;      /* of a line; 0: it is none */
    double from[3], to[3]; /* of a point or a line; from: where an extreme is */
    int components, n;     /* n: numbers in all */
} facet_value;
/* numbers (or NULL): room for `room` of them. */
FACET_API facet_status facet_case_value(const facet_case *file, int i, int k, const facet_solver *solver,
                                        facet_value *value, int64_t room, double *numbers);

#ifdef __cplusplus
}
#endif
#endif
