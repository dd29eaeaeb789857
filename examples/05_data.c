/* Data that change while the matrix stays: a pipe wall whose inner temperature swings, through the C
 * interface.
 *
 *     cc examples/05_data.c $(pkg-config --cflags --libs facet) -lm -o 05_data
 *     ./05_data                          (PKG_CONFIG_PATH names PREFIX/lib/pkgconfig if PREFIX is your own)
 *
 * The wall between the radii 1 and 2 is 20 outside and 60 + 20 sin(t) inside, by an expression that reads the
 * time; it is so thin against the pace of t that every moment is a steady state: u = inside + (20 - inside) *
 * log(r) / log(2). Between the moments only the load is made anew, and the factor of the first solve serves
 * all. A parameter then changes the film on the outside, which is part of the matrix there, and at last the
 * conductivity, for which all cells are condensed again. facet_solver_update says which of these it did.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <facet.h>

static void check(facet_status status) {
    if (status == FACET_OK) return;
    fprintf(stderr, "05_data: %s\n", facet_message());
    exit((int)status);
}

/* The temperature in the middle of the wall after an update, and what was made anew for it. */
static double solve(facet_solver *solver) {
    const double middle[2] = {1.5, 0.0};
    double u;
    int changed;
    check(facet_solver_update(solver, &changed));
    check(facet_solver_solve(solver, NULL, NULL));
    check(facet_solver_evaluate(solver, "u", 1, middle, &u));
    printf("made anew:%s%s%s%s; u = %.6f in the middle of the wall\n", changed == 0 ? " nothing" : "",
           changed & FACET_LOAD ? " load" : "", changed & FACET_TRACE ? " trace" : "",
           changed & FACET_CELLS ? " cells" : "", u);
    return u;
}

int main(void) {
    const char *k = "k";
    facet_context *context = NULL;
    facet_mesh *mesh = NULL;
    facet_problem *problem = NULL;
    facet_solver *solver = NULL;
    double worst = 0.0;

    /* 1. A ring of curved triangles, round to 1e-5; its parts are called inner and outer. */
    check(facet_context_create("cpu", &context));
    check(facet_mesh_read(context, "examples/meshes/annulus.msh", &mesh));

    /* 2. The problem. A film h so good that the outside is at 20; h and k are parameters. */
    check(facet_problem_create(context, mesh, FACET_DIFFUSION, &problem));
    check(facet_problem_set_parameter(problem, "k", 1.0));
    check(facet_problem_set_parameter(problem, "h", 1e9));
    check(facet_problem_set_conductivity(problem, NULL, 1, &k));
    check(facet_problem_set_dirichlet(problem, "inner", "60 + 20*sin(t)"));
    check(facet_problem_set_robin(problem, "outer", "h", "h*20"));

    /* 3. The solver has its own copy of the problem, which may go. */
    facet_options options;
    facet_options_default(&options, sizeof options);
    options.degree = 6;
    check(facet_solver_create(problem, &options, &solver));
    facet_problem_destroy(&problem);

    /* 4. Moments. */
    for (int i = 0; i <= 4; i++) {
        double t = 0.4 * i, inside = 60.0 + 20.0 * sin(t);
        check(facet_solver_set_time(solver, t));
        worst = fmax(worst, fabs(solve(solver) - (inside + (20.0 - inside) * log(1.5) / log(2.0))));
    }

    /* 5. A poor film: the flux through it, h (u - 20), is that through the wall, k (inside - u) / log(2) / 2.
     */
    double inside = 60.0 + 20.0 * sin(1.6), h = 2.0, kappa = 1.0 / (2.0 * log(2.0));
    double outside = (kappa * inside + h * 20.0) / (kappa + h);
    check(facet_solver_set_parameter(solver, "h", h));
    worst = fmax(worst, fabs(solve(solver) - (inside + (outside - inside) * log(1.5) / log(2.0))));

    /* 6. A better conductor. */
    kappa *= 5.0;
    outside = (kappa * inside + h * 20.0) / (kappa + h);
    check(facet_solver_set_parameter(solver, "k", 5.0));
    worst = fmax(worst, fabs(solve(solver) - (inside + (outside - inside) * log(1.5) / log(2.0))));

    printf("largest error %.1e\n", worst);
    facet_solver_destroy(&solver);
    facet_mesh_destroy(&mesh);
    facet_context_destroy(&context);
    return worst < 1e-3 ? 0 : 1; /* of 80: what the ring lacks to be round */
}
