/* Orders of convergence of elasticity, shared by the quick test and the complete one. */
#ifndef FACET_TESTS_ELASTIC_ORDERS_H
#define FACET_TESTS_ELASTIC_ORDERS_H

#include "elastic_helpers.h"

static inline void at_least(const char *what, const struct body *b, double coarse, double fine,
                            double order) {
    double found = log2(coarse / fine);
    if (!(found >= order))
        fail_msg("%s, degree %d, formulation %d, lambda %s: %s has order %.2f (%.2e, %.2e), not %.2f",
                 b->mesh->shape_text, b->degree, b->gradient, b->lambda, what, found, coarse, fine, order);
}

/* Both formulations at lambda = mu and 1e6 mu, from n to 2 n cells per direction of a straight or curved
 * mesh, for a divergence-free displacement; with displacements, tractions and rollers in the symmetric
 * formulation, with displacements and the natural condition in the other. The stabilization of the gradient
 * formulation lets tensor cells reach their orders late; where supports end, the dual problem of the L2 norm
 * is singular, which takes up to 0.3 of the last order of u. */
static inline void elastic_orders(const char *shape, int degree, int curved, int n) {
    static const char *const plane[3] = {"sin(2*x)*cos(1.5*y)*2", "-cos(2*x)*sin(1.5*y)*2*2/1.5+x^3/30",
                                         NULL};
    static const char *const solid[3] = {"sin(2*x)*cos(1.5*y)*sin(z)+y*z",
                                         "cos(2*x)*sin(1.5*y)*sin(z)/1.5+x^2",
                                         "3*cos(2*x)*cos(1.5*y)*cos(z)"};
    int dim = solid_dim(shape), order = curved ? (degree > 1 ? degree : 2) : 1, k = degree;
    double late = strcmp(shape, "quad") == 0 ? 0.3 : strcmp(shape, "tet") == 0 || dim == 2 ? 0.1 : 0.6;
    const char *const *u = dim == 2 ? plane : solid;
    for (int gradient = 0; gradient < 2; gradient++)
        for (int stiff = 0; stiff < 2; stiff++) {
            struct hdg_errors e[2];
            struct body b = {.degree = degree,
                             .gradient = gradient,
                             .lambda = stiff ? "1e6" : "1",
                             .exact = {u[0], u[1], u[2]},
                             .conditions = {{.part = "xmax", .kind = gradient ? "natural" : "traction"},
                                            {.part = "ymin", .kind = gradient ? "fixed" : "y"}}};
            struct facet_mesh *mesh = NULL;
            for (int r = 0; r < 2; r++) {
                struct answer a;
                mesh_destroy(&mesh);
                b.mesh = mesh = remake(unit_box(shape, NULL, n << r), order, map_wavy, 3);
                body_solve(&b, &a);
                e[r] = a.errors;
                answer_free(&a);
            }
            at_least("stress", &b, e[0].stress_L2, e[1].stress_L2, k + 1 - 0.15 - gradient * late);
            if (!gradient) {
                at_least("u", &b, e[0].u_L2, e[1].u_L2, k + 2 - (dim == 3 ? 0.6 : 0.3));
            } else {
                at_least("u", &b, e[0].u_L2, e[1].u_L2, k + 1 - 0.15 - late);
                at_least("H", &b, e[0].H_L2, e[1].H_L2, k + 1 - 0.15 - late);
                at_least("p", &b, e[0].p_L2, e[1].p_L2, k + 1 - 0.15 - late);
                at_least("u*", &b, e[0].u_star_L2, e[1].u_star_L2, k + 2 - 0.3 - late);
            }
            mesh_destroy(&mesh);
        }
}

#endif
