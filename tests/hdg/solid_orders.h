/* Orders of convergence on triangles, quads, tets and hexes, degree 1 to 4: p+1 for u, q and q*, p+2 for u*,
 * on straight cells and on curved ones that keep their geometry under refinement; and what the order of the
 * geometry does to them where the data are known on the true boundary only. FACET_TEST_TABLE=1 in the
 * environment prints the measured rates. */
#ifndef FACET_TESTS_SOLID_ORDERS_H
#define FACET_TESTS_SOLID_ORDERS_H

#include <stdio.h>

#include "solid_helpers.h"

static const char *const shapes[4] = {"triangle", "quad", "tet", "hex"};

static int wants_table(void) {
    return getenv("FACET_TEST_TABLE") != NULL;
}

static void errors_of(struct setup *setup, struct facet_mesh *mesh, double *errors, double *conservation) {
    struct solved s;
    setup->mesh = mesh;
    solve(setup, &s);
    errors[0] = s.errors.u_L2;
    errors[1] = s.errors.q_L2;
    errors[2] = s.errors.u_star_L2;
    errors[3] = s.errors.q_star_L2;
    *conservation = fmax(*conservation, s.report.conservation);
    release(&s);
}

/* The rates between the last two meshes of a sequence; the mesh is consumed. */
static void check_rates(const char *name, struct facet_mesh *mesh, struct setup *setup, int levels) {
    static const char *const fields[4] = {"u", "q", "u*", "q*"};
    double before[4] = {0}, errors[4], rates[4], conservation = 0, p = setup->degree;
    const double expected[4] = {p + 1, p + 1, p + 2, p + 1};
    for (int level = 0; level <= levels; level++) {
        if (level > 0) ok(facet_mesh_refine(mesh, 1));
        if (level < levels - 1) continue;
        errors_of(setup, mesh, errors, &conservation);
        for (int i = 0; i < 4; i++) {
            rates[i] = log2(before[i] / errors[i]);
            before[i] = errors[i];
        }
    }
    if (wants_table())
        fprintf(stderr, "| %s | %d | %d | %.2f | %.2f | %.2f | %.2f | %.1e |\n", name, setup->degree,
                mesh->n_cells, rates[0], rates[1], rates[2], rates[3], conservation);
    for (int i = 0; i < 4; i++)
        if (!(rates[i] > expected[i] - 0.3))
            fail_msg("%s, degree %d: the rate of %s is %.3f, expected %.2f", name, setup->degree, fields[i],
                     rates[i], expected[i]);
    assert_true(conservation <= 1e-11);
    mesh_destroy(&mesh);
}

/* ------------------------------------------------------------------------------------------ the space */

static const char *const flat_K[4] = {"2+x*y", "0.5*cos(x)", "0.5*cos(x)", "1+exp(-y)"};
static const char *const solid_K[9] = {"2+x*y", "0.5*cos(z)", "0.2",   "0.5*cos(z)", "1+exp(-y)",
                                       "0.1*x", "0.2",        "0.1*x", "1.5+0.3*z"};

static struct setup problem(int dim, int degree) {
    struct setup setup = {
        .degree = degree,
        .exact =
            dim == 2 ? "sin(1.2*x+0.3)*cos(y)+0.4*exp(x*y/2)" : "sin(1.2*x+0.3)*cos(y)*exp(z/2)+0.3*x*y*z^2",
        .n_K = dim * dim,
        .reaction = "1+x",
        .tau = "5",
        .conditions = {{"xmax", "neumann", "exact", NULL}, {"ymin", "robin", "exact", "1+x^2"}}};
    memcpy(setup.K, dim == 2 ? flat_K : solid_K, (size_t)(dim * dim) * sizeof *setup.K); /* or its first */
    return setup;
}

/* How often a single cube is refined: as far as the order shows, deep or just. */
static int levels_of(int shape, int degree, int deep) {
    static const int just[4][5] = {{0, 4, 3, 3, 2}, {0, 4, 3, 3, 2}, {0, 2, 2, 2, 1}, {0, 3, 2, 2, 1}};
    static const int more[4][5] = {{0, 5, 4, 4, 3}, {0, 5, 4, 4, 3}, {0, 4, 3, 2, 2}, {0, 4, 3, 3, 2}};
    return (deep ? more : just)[shape][degree];
}

static void straight_cells(int deep) {
    for (int k = 0; k < 4; k++)
        for (int degree = 1; degree <= 4; degree++) {
            struct setup setup = problem(solid_dim(shapes[k]), degree);
            char name[64];
            snprintf(name, sizeof name, "%s, straight", shapes[k]);
            check_rates(name, unit_box(shapes[k], NULL, 1), &setup, levels_of(k, degree, deep));
        }
}

/* In the short run 3D stops at degree 3. */
static void curved_cells(int deep) {
    for (int k = 0; k < 4; k++)
        for (int degree = 1; degree <= (deep || k < 2 ? 4 : 3); degree++) {
            struct setup setup = problem(solid_dim(shapes[k]), degree);
            int order = degree < 3 ? degree + 1 : 3;
            char name[64];
            snprintf(name, sizeof name, "%s, curved, order %d", shapes[k], order);
            struct facet_mesh *mesh = remake(unit_box(shapes[k], NULL, 1), order, map_wavy, 3);
            check_rates(name, mesh, &setup, levels_of(k, degree, deep));
        }
}

/* ------------------------------------------------------------------------------------------ the geometry */

/* A piece of a pipe, meshed anew on every level with geometry of order g; u = 0 is known on the true
 * cylinders r = 1 and r = 2, and is imposed on those of the mesh, which are h^(g+1) away. So u and q cannot
 * do better than that, and u* with its order p+2 needs g = p+1. */
static void check_geometry(const char *shape, int degree, int order, int coarse) {
    double errors[2][4], conservation = 0, rates[4], p = degree;
    struct setup setup = {.degree = degree,
                          .exact = "sin(pi*(sqrt(x^2+y^2)-1))*exp(y/2)",
                          .tau = "5",
                          .conditions = {{"xmin", "dirichlet", "0", NULL}, {"xmax", "dirichlet", "0", NULL}}};
    for (int level = 0; level < 2; level++) {
        struct facet_mesh *mesh = remake(unit_box(shape, NULL, coarse << level), order, map_uneven_pipe, 3);
        errors_of(&setup, mesh, errors[level], &conservation);
        mesh_destroy(&mesh);
    }
    for (int i = 0; i < 4; i++) rates[i] = log2(errors[0][i] / errors[1][i]);
    if (wants_table())
        fprintf(stderr, "| %s | %d | %d | %.2f | %.2f | %.2f | %.2e |\n", shape, degree, order, rates[0],
                rates[1], rates[2], errors[1][2]);
    double best = order + 1;
    const double expected[4] = {fmin(p + 1, best), fmin(p + 1, best - 0.5), fmin(p + 2, best),
                                fmin(p + 1, best - 0.5)};
    for (int i = 0; i < 4; i++)
        if (!(rates[i] > expected[i] - 0.35))
            fail_msg("%s, degree %d, geometry of order %d: rate %d is %.3f, expected %.2f", shape, degree,
                     order, i, rates[i], expected[i]);
    if (order == degree && degree < 3) assert_true(rates[2] < p + 1.7);
}

static void orders_of_geometry(int deep) {
    static const int coarse[4][4] = {{0, 8, 8, 4}, {0, 8, 8, 4}, {0, 4, 4, 3}, {0, 4, 4, 3}};
    for (int k = deep ? 0 : 1; k < 4; k += deep ? 1 : 2)
        for (int degree = 1; degree <= (deep ? 3 : 1); degree++)
            for (int order = 1; order <= degree + 1; order++)
                check_geometry(shapes[k], degree, order, coarse[k][degree]);
}

#endif
