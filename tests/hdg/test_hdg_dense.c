/* The condensed solution against the whole system in (q, u, uhat), assembled densely here from the weak form
 * with monomial bases and Gauss points of its own: nothing of the hdg room is used but its answer. Inverse
 * conductivities, reaction and tau are polynomials of low degree, so that both sides integrate exactly. */
#include <lapacke.h>

#include "hdg_helpers.h"
#include "poly/basis.h"
#include "poly/rule.h"

#define N_GAUSS 10

/* ------------------------------------------------------------------------------------------ data */

struct medium {
    int n;
    const char *K[4];
};
static const struct medium media[] = {
    {1, {"2.5"}},
    {4, {"2", "0.5", "0.5", "1"}},
    {1, {"1/(1+x)"}},
    {4,
     {"(1+y)/((2+x)*(1+y)-0.25)", "-0.5/((2+x)*(1+y)-0.25)", "-0.5/((2+x)*(1+y)-0.25)",
      "(2+x)/((2+x)*(1+y)-0.25)"}},
};

static void inverse_conductivity(int medium, const double *x, double *R) {
    const double inverses[4][4] = {{0.4, 0, 0, 0.4},
                                   {1 / 1.75, -0.5 / 1.75, -0.5 / 1.75, 2 / 1.75},
                                   {1 + x[0], 0, 0, 1 + x[0]},
                                   {2 + x[0], 0.5, 0.5, 1 + x[1]}};
    memcpy(R, inverses[medium], sizeof inverses[medium]);
}

enum { TAU_NUMBER, TAU_EXPRESSION, TAU_HAT };

struct problem_of_this_test {
    struct facet_mesh *mesh;
    int degree, medium, tau, reaction;
};

static double reaction(const struct problem_of_this_test *p, const double *x) {
    return p->reaction ? 1 + x[0] : 0;
}

static double tau_at(const struct problem_of_this_test *p, double height, const double *x) {
    return p->tau == TAU_NUMBER ? 1.5 : p->tau == TAU_EXPRESSION ? 1 + x[1] : 2 * 0.7 / height;
}

static double source(const double *x) {
    return 1 + x[0] * x[0] * x[1] - 3 * x[1];
}

/* ------------------------------------------------------------------------------------------ cells */

/* One cell: vertices counterclockwise, and where its unknowns begin. */
struct cell {
    int n_vertices, n; /* n: functions of the volume basis */
    int degree;
    int32_t vertices[4], faces[4];
    double x[4][2];
    int first; /* q_x, q_y, u: n unknowns each */
};

static const double corners[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}},
                    corners3[3][2] = {{0, 0}, {1, 0}, {0, 1}};

static const double *corner(const struct cell *c, int v) {
    return c->n_vertices == 3 ? corners3[v] : corners[v];
}

static double map_cell(const struct cell *c, const double *xi, double *x, double J[2][2]) {
    double a = xi[0], b = xi[1];
    double shape4[4] = {(1 - a) * (1 - b), a * (1 - b), a * b, (1 - a) * b}, shape3[3] = {1 - a - b, a, b};
    double da4[4] = {b - 1, 1 - b, b, -b}, db4[4] = {a - 1, -a, a, 1 - a}, da3[3] = {-1, 1, 0},
           db3[3] = {-1, 0, 1};
    const double *shape = c->n_vertices == 3 ? shape3 : shape4, *da = c->n_vertices == 3 ? da3 : da4,
                 *db = c->n_vertices == 3 ? db3 : db4;
    memset(J, 0, 4 * sizeof(double));
    x[0] = x[1] = 0;
    for (int v = 0; v < c->n_vertices; v++)
        for (int d = 0; d < 2; d++) {
            x[d] += shape[v] * c->x[v][d];
            J[d][0] += da[v] * c->x[v][d];
            J[d][1] += db[v] * c->x[v][d];
        }
    return J[0][0] * J[1][1] - J[0][1] * J[1][0];
}

/* Monomials a^i b^j and their gradients in x and y. */
static void volume_basis(const struct cell *c, const double *xi, double J[2][2], double *phi,
                         double (*grad)[2]) {
    double det = J[0][0] * J[1][1] - J[0][1] * J[1][0];
    int n = 0;
    for (int i = 0; i <= c->degree; i++)
        for (int j = 0; j <= (c->n_vertices == 3 ? c->degree - i : c->degree); j++, n++) {
            double da = i > 0 ? i * pow(xi[0], i - 1) * pow(xi[1], j) : 0;
            double db = j > 0 ? j * pow(xi[0], i) * pow(xi[1], j - 1) : 0;
            phi[n] = pow(xi[0], i) * pow(xi[1], j);
            grad[n][0] = (J[1][1] * da - J[1][0] * db) / det;
            grad[n][1] = (-J[0][1] * da + J[0][0] * db) / det;
        }
}

static int find_cells(const struct facet_mesh *mesh, int degree, struct cell *cells) {
    int first = 0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        int n = shape_n_vertices(block->shape);
        for (int32_t k = 0; k < block->count; k++) {
            struct cell *c = &cells[block->first + k];
            *c = (struct cell){.n_vertices = n, .degree = degree, .first = first};
            c->n = n == 3 ? (degree + 1) * (degree + 2) / 2 : (degree + 1) * (degree + 1);
            first += 3 * c->n;
            for (int v = 0; v < n; v++) {
                c->vertices[v] = block->vertices[k * n + v];
                c->faces[v] = block->faces[k * n + v];
                memcpy(c->x[v],
                       block->nodes + 2 * (k * block->n_nodes + shape_vertex_node(block->shape, 1, v)),
                       2 * sizeof(double));
            }
        }
    }
    return first;
}

/* ------------------------------------------------------------------------------------------ weak form */

struct dense {
    const struct problem_of_this_test *p;
    struct cell *cells;
    int n, n_volume; /* faces follow: degree + 1 unknowns each */
    double *A, *b;
    double gauss[N_GAUSS], weight[N_GAUSS]; /* on 0..1 */
};

static void add(struct dense *s, int row, int column, double value) {
    s->A[(size_t)row * (size_t)s->n + (size_t)column] += value;
}

/* (K^-1 q, v) - (u, div v) and (lambda u, w) - (q, grad w) = (f, w) at one point. */
static void add_volume_point(struct dense *s, const struct cell *c, const double *xi, double weight) {
    double x[2], J[2][2], phi[36], grad[36][2], R[4];
    double dx = weight * map_cell(c, xi, x, J), lambda = reaction(s->p, x);
    int u = c->first + 2 * c->n;
    volume_basis(c, xi, J, phi, grad);
    inverse_conductivity(s->p->medium, x, R);
    for (int i = 0; i < c->n; i++) {
        for (int j = 0; j < c->n; j++) {
            for (int a = 0; a < 2; a++) {
                for (int d = 0; d < 2; d++)
                    add(s, c->first + a * c->n + i, c->first + d * c->n + j,
                        dx * R[2 * a + d] * phi[i] * phi[j]);
                add(s, c->first + a * c->n + i, u + j, -dx * grad[i][a] * phi[j]);
                add(s, u + i, c->first + a * c->n + j, -dx * phi[j] * grad[i][a]);
            }
            add(s, u + i, u + j, dx * lambda * phi[i] * phi[j]);
        }
        s->b[u + i] += dx * source(x) * phi[i];
    }
}

/* What a boundary condition adds to the row of mu = s^i, whose beginning is <qhat.n, mu>. */
static void add_boundary_point(struct dense *s, int row, int trace, int i, const double *x, double ds,
                               const double *powers) {
    double mu = powers[i];
    if (x[0] == 1) {
        s->b[row] -= ds * (1 + x[0] * x[1] * x[1]) * mu;
        return;
    }
    for (int j = 0; j <= s->p->degree; j++) /* robin: a = 1 + x */
        add(s, row, trace + j, -ds * (1 + x[0]) * powers[j] * mu);
    s->b[row] -= ds * (x[0] * x[0] - 1) * mu;
}

static double area_of(const struct cell *c) {
    double twice = 0;
    for (int v = 0; v < c->n_vertices; v++) {
        const double *a = c->x[v], *b = c->x[(v + 1) % c->n_vertices];
        twice += a[0] * b[1] - a[1] * b[0];
    }
    return 0.5 * twice;
}

/* Face from vertex v to the next, at the point t of the way. */
static void add_face_point(struct dense *s, const struct cell *c, int v, double t, double weight) {
    int next = (v + 1) % c->n_vertices, k = s->p->degree, u = c->first + 2 * c->n;
    int32_t face = c->faces[v];
    int boundary = s->p->mesh->face_cells[2 * face + 1] < 0;
    double xi[2], x[2], J[2][2], phi[36], grad[36][2], powers[8];
    double normal[2] = {c->x[next][1] - c->x[v][1], c->x[v][0] - c->x[next][0]}; /* times the length */
    double length = hypot(normal[0], normal[1]), ds = weight * length;
    double height = area_of(c) / length * (c->n_vertices == 3 ? 2 : 1);
    double along = c->vertices[v] < c->vertices[next] ? t : 1 - t;
    int trace = s->n_volume + face * (k + 1);
    for (int d = 0; d < 2; d++) xi[d] = (1 - t) * corner(c, v)[d] + t * corner(c, next)[d];
    map_cell(c, xi, x, J);
    volume_basis(c, xi, J, phi, grad);
    for (int j = 0; j <= k; j++) powers[j] = pow(along, j);
    double tau = tau_at(s->p, height, x);
    int left = boundary && c->x[v][0] == 0 && c->x[next][0] == 0,
        top = boundary && c->x[v][1] == 1 && c->x[next][1] == 1, dirichlet = left || top;
    if (boundary && c->x[v][0] == 1 && c->x[next][0] == 1) x[0] = 1; /* free of rounding */
    for (int i = 0; i < c->n; i++) {
        for (int j = 0; j <= k; j++) { /* <uhat, v.n>; -<tau uhat, w> */
            for (int a = 0; a < 2; a++)
                add(s, c->first + a * c->n + i, trace + j, weight * normal[a] * phi[i] * powers[j]);
            add(s, u + i, trace + j, -ds * tau * phi[i] * powers[j]);
        }
        for (int j = 0; j < c->n; j++) { /* <q.n + tau u, w> */
            for (int a = 0; a < 2; a++)
                add(s, u + i, c->first + a * c->n + j, weight * normal[a] * phi[i] * phi[j]);
            add(s, u + i, u + j, ds * tau * phi[i] * phi[j]);
        }
    }
    for (int i = 0; i <= k; i++) {
        double mu = powers[i];
        if (dirichlet) { /* <uhat, mu> = <g, mu> */
            for (int j = 0; j <= k; j++) add(s, trace + i, trace + j, ds * powers[j] * mu);
            s->b[trace + i] += ds * (1 + x[0] * x[1] - x[1] * x[1] * x[1]) * mu;
            continue;
        }
        for (int j = 0; j < c->n; j++) {
            for (int a = 0; a < 2; a++)
                add(s, trace + i, c->first + a * c->n + j, weight * normal[a] * phi[j] * mu);
            add(s, trace + i, u + j, ds * tau * phi[j] * mu);
        }
        for (int j = 0; j <= k; j++) add(s, trace + i, trace + j, -ds * tau * powers[j] * mu);
        if (boundary) add_boundary_point(s, trace + i, trace, i, x, ds, powers);
    }
}

static void dense_solve(const struct problem_of_this_test *p, struct dense *s) {
    const struct facet_mesh *mesh = p->mesh;
    *s = (struct dense){.p = p};
    s->cells = test_calloc((size_t)mesh->n_cells, sizeof *s->cells);
    s->n_volume = find_cells(mesh, p->degree, s->cells);
    s->n = s->n_volume + mesh->n_faces * (p->degree + 1);
    s->A = test_calloc((size_t)s->n * (size_t)s->n, sizeof(double));
    s->b = test_calloc((size_t)s->n, sizeof(double));
    ok(rule_gauss_jacobi(N_GAUSS, 0, 0, s->gauss, s->weight));
    for (int i = 0; i < N_GAUSS; i++) {
        s->gauss[i] = 0.5 * (1 + s->gauss[i]);
        s->weight[i] *= 0.5;
    }
    for (int k = 0; k < mesh->n_cells; k++) {
        const struct cell *c = &s->cells[k];
        for (int i = 0; i < N_GAUSS; i++)
            for (int j = 0; j < N_GAUSS; j++) { /* triangles: the square with one side shrunk to a point */
                double shrink = c->n_vertices == 3 ? 1 - s->gauss[j] : 1;
                double xi[2] = {s->gauss[i] * shrink, s->gauss[j]};
                add_volume_point(s, c, xi, s->weight[i] * s->weight[j] * shrink);
            }
        for (int v = 0; v < c->n_vertices; v++)
            for (int i = 0; i < N_GAUSS; i++) add_face_point(s, c, v, s->gauss[i], s->weight[i]);
    }
    int *pivots = test_calloc((size_t)s->n, sizeof *pivots);
    assert_int_equal(LAPACKE_dgesv(LAPACK_ROW_MAJOR, s->n, 1, s->A, s->n, pivots, s->b, 1), 0);
    test_free(pivots);
}

static void dense_destroy(struct dense *s) {
    test_free(s->cells);
    test_free(s->A);
    test_free(s->b);
}

/* ------------------------------------------------------------------------------------------ comparison */

static void condensed_solve(const struct problem_of_this_test *p, struct solved *s) {
    struct setup setup = {.mesh = p->mesh,
                          .degree = p->degree,
                          .n_K = media[p->medium].n,
                          .reaction = p->reaction ? "1+x" : NULL,
                          .source = "1 + x^2*y - 3*y",
                          .tau = p->tau == TAU_NUMBER       ? "1.5"
                                 : p->tau == TAU_EXPRESSION ? "1+y"
                                                            : NULL,
                          .tau_hat = p->tau == TAU_HAT ? 0.7 : 0,
                          .conditions = {{"xmin", "dirichlet", "1 + x*y - y^3", NULL},
                                         {"xmax", "neumann", "1 + x*y^2", NULL},
                                         {"ymin", "robin", "x^2 - 1", "1 + x"},
                                         {"ymax", "dirichlet", "1 + x*y - y^3", NULL}}};
    memcpy(setup.K, media[p->medium].K, sizeof media[p->medium].K);
    solve(&setup, s);
}

static void compare_volume(const struct dense *d, const struct solved *s) {
    for (int k = 0; k < d->p->mesh->n_cells; k++) {
        const struct cell *c = &d->cells[k];
        static const double places[3][2] = {{0.2, 0.3}, {0.6, 0.1}, {0.15, 0.7}};
        for (int i = 0; i < 3; i++) {
            double x[2], J[2][2], phi[36], grad[36][2], u, q[2];
            map_cell(c, places[i], x, J);
            volume_basis(c, places[i], J, phi, grad);
            ok(facet_solver_evaluate(s->solver, "u", 1, x, &u));
            ok(facet_solver_evaluate(s->solver, "q", 1, x, q));
            double mine[3] = {0, 0, 0};
            for (int a = 0; a < 3; a++)
                for (int j = 0; j < c->n; j++) mine[a] += d->b[c->first + a * c->n + j] * phi[j];
            near(q[0], mine[0], 1e-10);
            near(q[1], mine[1], 1e-10);
            near(u, mine[2], 1e-10);
        }
    }
}

static void compare_trace(const struct dense *d, const struct solved *s) {
    int k = d->p->degree;
    for (int f = 0; f < d->p->mesh->n_faces; f++)
        for (double t = 0; t <= 1; t += 0.25) {
            double psi[8], mine = 0, theirs = 0;
            ok(basis_eval(SHAPE_SEGMENT, k, 1, &t, psi, NULL));
            for (int i = 0; i <= k; i++) {
                mine += d->b[d->n_volume + f * (k + 1) + i] * pow(t, i);
                theirs +=
                    psi[i] *
                    mapped_of(s->solver)->solution.trace[mapped_of(s->solver)->hdg->trace.face_first[f] + i];
            }
            near(mine, theirs, 1e-10);
        }
}

static void the_condensed_solution_solves_the_whole_system(void **state) {
    (void)state;
    for (int k = 0; k < 5; k++)
        for (int degree = 1; degree <= 3; degree++)
            for (int medium = 0; medium < 4; medium++)
                for (int tau = 0; tau < 3; tau++) {
                    struct problem_of_this_test p = {k == 0   ? box("quad", 2, 1, 0, 0)
                                                     : k == 1 ? box("triangle", 1, 1, 0, 0)
                                                     : k == 2 ? lattice(QUADS, 2, 2, 0.2)
                                                     : k == 3 ? lattice(TRIANGLES, 2, 2, 0.2)
                                                              : lattice(MIXED, 2, 2, 0.2),
                                                     degree, medium, tau, (medium + tau) % 2};
                    struct dense d;
                    struct solved s;
                    dense_solve(&p, &d);
                    condensed_solve(&p, &s);
                    compare_volume(&d, &s);
                    compare_trace(&d, &s);
                    release(&s);
                    dense_destroy(&d);
                    mesh_destroy(&p.mesh);
                }
}

/* (q* - q, grad w) = 0 for all w of one degree more, and equal means: what defines u*, with q* = -K grad u*.
 */
static void the_post_processed_solution_is_as_defined(void **state) {
    (void)state;
    for (int triangles = 0; triangles < 2; triangles++)
        for (int degree = 1; degree <= 4; degree++) {
            struct problem_of_this_test p = {
                triangles ? lattice(TRIANGLES, 2, 2, 0.2) : box("quad", 2, 2, 0, 0), degree, 1, 0, 1};
            struct cell cells[8];
            struct solved s;
            double gauss[N_GAUSS], weight[N_GAUSS];
            find_cells(p.mesh, degree + 1, cells);
            condensed_solve(&p, &s);
            ok(rule_gauss_jacobi(N_GAUSS, 0, 0, gauss, weight));
            for (int k = 0; k < p.mesh->n_cells; k++) {
                const struct cell *c = &cells[k];
                double moments[36] = {0}, mean = 0;
                for (int i = 0; i < N_GAUSS; i++)
                    for (int j = 0; j < N_GAUSS; j++) {
                        double b = 0.5 * (1 + gauss[j]), shrink = c->n_vertices == 3 ? 1 - b : 1;
                        double xi[2] = {0.5 * (1 + gauss[i]) * shrink, b};
                        double x[2], J[2][2], phi[36], grad[36][2], u, u_star, q[2], q_star[2];
                        double dx = 0.25 * weight[i] * weight[j] * shrink * map_cell(c, xi, x, J);
                        volume_basis(c, xi, J, phi, grad);
                        ok(facet_solver_evaluate(s.solver, "u", 1, x, &u));
                        ok(facet_solver_evaluate(s.solver, "u_star", 1, x, &u_star));
                        ok(facet_solver_evaluate(s.solver, "q", 1, x, q));
                        ok(facet_solver_evaluate(s.solver, "q_star", 1, x, q_star));
                        mean += dx * (u_star - u);
                        for (int w = 0; w < c->n; w++)
                            moments[w] +=
                                dx * ((q_star[0] - q[0]) * grad[w][0] + (q_star[1] - q[1]) * grad[w][1]);
                    }
                near(mean, 0, 1e-12);
                for (int w = 0; w < c->n; w++) near(moments[w], 0, 1e-11);
            }
            release(&s);
            mesh_destroy(&p.mesh);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_condensed_solution_solves_the_whole_system),
        cmocka_unit_test(the_post_processed_solution_is_as_defined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
