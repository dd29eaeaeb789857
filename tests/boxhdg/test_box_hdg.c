/* HDG on boxes: solves against the mapped code on the same cells, orders, and the pieces around a solve. */
#include "bench/papers/box_plain.h"
#include "box_helpers.h"

/* ------------------------------------------------------------------------------------------ solves */

/* Conjugate gradients, to rounding. */
static void solve_trace(const struct boxhdg *h, const double *F, double *x) {
    size_t n = (size_t)h->n_trace;
    double *r = malloc(n * sizeof *r), *p = malloc(n * sizeof *p), *Ap = malloc(n * sizeof *Ap);
    double rr = 0, first;
    memcpy(r, F, n * sizeof *r);
    memcpy(p, F, n * sizeof *p);
    memset(x, 0, n * sizeof *x);
    for (size_t i = 0; i < n; i++) rr += r[i] * r[i];
    first = rr;
    for (int iteration = 0; iteration < 5000 && rr > 1e-28 * first; iteration++) {
        double pAp = 0, next = 0;
        ok(boxhdg_apply(h, p, Ap));
        for (size_t i = 0; i < n; i++) pAp += p[i] * Ap[i];
        for (size_t i = 0; i < n; i++) {
            x[i] += rr / pAp * p[i];
            r[i] -= rr / pAp * Ap[i];
            next += r[i] * r[i];
        }
        for (size_t i = 0; i < n; i++) p[i] = r[i] + next / rr * p[i];
        rr = next;
    }
    assert_true(rr <= 1e-24 * first);
    free(r);
    free(p);
    free(Ap);
}

static struct field *make_field(const char *text) {
    struct field *field;
    ok(field_create_texts(1, &text, 0, NULL, &field));
    return field;
}

static void solve_box(const struct boxhdg *h, const struct box_given *data, struct boxhdg_solution *s) {
    size_t bytes = (size_t)h->n_trace * sizeof(double);
    double *dirichlet = malloc(bytes), *neumann = malloc(bytes), *F = malloc(bytes);
    ok(boxhdg_solution_create(h, s));
    ok(ALLOC(s->q, h->grid.dim * s->n_cells * h->cell_size));
    ok(boxhdg_project_source(h, data, s->loads));
    ok(boxhdg_project_boundary(h, data, dirichlet, neumann));
    ok(boxhdg_condense_loads(h, s->loads, dirichlet, neumann, F));
    solve_trace(h, F, s->trace);
    boxhdg_add_dirichlet(h, dirichlet, s->trace);
    ok(boxhdg_recover(h, s->loads, s->trace, s->u, s->q));
    ok(boxhdg_postprocess(h, s));
    free(dirichlet);
    free(neumann);
    free(F);
}

static const char *const exacts[3] = {"sin(2*x+0.3)", "sin(2*x+0.3)*exp(0.5*y)+x*y",
                                      "sin(2*x+0.3)*exp(0.5*y)*cos(z)+x*y*z"};

/* Orders p + 1 of u, q and p + 2 of u*, the balance of cells, and the values at points. */
static void check_order(struct box_kind kind, int coarse) {
    struct field *exact = make_field(exacts[kind.dim - 1]);
    struct box_given data = {.exact = exact};
    struct box_errors e[2];
    for (int level = 0; level < 2; level++) {
        for (int d = 0; d < kind.dim; d++) kind.cells[d] = coarse << level;
        struct boxhdg *h = make_box(&kind);
        struct boxhdg_solution s;
        solve_box(h, &data, &s);
        ok(boxhdg_measure_errors(h, &s, exact, &e[level]));
        boxhdg_solution_destroy(&s);
        boxhdg_destroy(&h);
    }
    double order_u = log2(e[0].u_L2 / e[1].u_L2), order_q = log2(e[0].q_L2 / e[1].q_L2);
    double order_star = log2(e[0].u_star_L2 / e[1].u_star_L2);
    double order_trace = log2(e[0].trace_L2 / e[1].trace_L2);
    double order_q_star = log2(e[0].q_star_L2 / e[1].q_star_L2);
    int p = kind.degree;
    if (order_u < p + 0.7 || order_q < p + 0.5 || order_q_star < p + 0.6 || order_star < p + 1.6 ||
        (kind.dim > 1 && order_trace < p + 0.4)) /* in 1D traces are better than anything else */
        fail_msg("dim %d, degree %d: orders %.2f %.2f %.2f %.2f %.2f", kind.dim, p, order_u, order_q,
                 order_star, order_q_star, order_trace);
    assert_true(e[1].u_Linf < 30 * e[1].u_L2 + 1e-12);
    field_destroy(&exact);
}

static void test_orders(void **state) {
    (void)state;
    for (int p = 1; p <= 4; p++)
        check_order((struct box_kind){.dim = 1, .degree = p, .tau = 1, .reaction = 0}, 4);
    for (int p = 1; p <= 4; p++)
        check_order((struct box_kind){.dim = 2, .degree = p, .tau = 1, .mixed = 1}, 4);
    for (int p = 2; p <= 3; p++)
        check_order((struct box_kind){.dim = 3, .degree = p, .tau = 1, .mixed = p == 2}, 5 - p);
}

/* The trace of the box code at a point of a face. */
static double trace_at(const struct boxhdg *h, const double *trace, const int at[3], int d, int side,
                       const double *x) {
    double values[3][40] = {{1}, {1}, {1}}, sum = 0;
    int n[3] = {1, 1, 1};
    for (int t = 0; t < h->grid.dim; t++) {
        double low = h->grid.coordinates[t][at[t]], width = h->grid.widths[t][at[t]];
        double xi = 2 * (x[t] - low) / width - 1;
        if (t == d) continue;
        n[t] = h->n;
        ok(box_legendre_evaluate(h->n, boxhdg_line(h, t, at[t])->S, 1, &xi, values[t], NULL));
    }
    const double *face = trace + box_face(&h->grid, at, d, side) * h->face_size;
    for (int k = 0; k < n[2]; k++)
        for (int j = 0; j < n[1]; j++)
            for (int i = 0; i < n[0]; i++)
                sum += values[0][i] * values[1][j] * values[2][k] * face[(k * n[1] + j) * n[0] + i];
    return sum;
}

static void compare_traces(const struct boxhdg *h, const struct boxhdg_solution *s, const struct solved *m) {
    const struct hdg *hdg = mapped_of(m->solver)->hdg;
    const struct hdg_face_table *table = &hdg->space.blocks[0].face;
    const struct mesh_block *block = &hdg->data.mesh->blocks[0];
    int dim = h->grid.dim, n = table->rule.n, n_faces = shape_n_faces(block->shape);
    double *x = malloc((size_t)(n * dim) * sizeof *x), *normal = malloc((size_t)(n * dim) * sizeof *x);
    struct hdg_geometry geometry;
    ok(hdg_geometry_create(n, dim, &geometry));
    for (int32_t c = 0; c < block->count; c++)
        for (int f = 0; f < n_faces; f++) {
            int d = 0, at[3] = {0, 0, 0};
            const double *trace =
                mapped_of(m->solver)->solution.trace + hdg->trace.face_first[block->faces[c * n_faces + f]];
            hdg_face_geometry(&hdg->space, 0, c, f, table, &geometry, x, normal);
            for (int t = 1; t < dim; t++)
                if (fabs(normal[t]) > fabs(normal[d])) d = t;
            for (int t = 0; t < dim;
                 t++) { /* the face lies below the cell that is found, or above the last */
                double middle = 0;
                for (int p = 0; p < n; p++) middle += x[p * dim + t] / n;
                while (at[t] < h->grid.cells[t] - 1 && middle > h->grid.coordinates[t][at[t] + 1] - 1e-9)
                    at[t]++;
            }
            int side = fabs(x[d] - h->grid.coordinates[d][at[d] + 1]) < 1e-9;
            for (int p = 0; p < n; p++) {
                double value = 0;
                for (int i = 0; i < table->m; i++) value += table->psi[p * table->m + i] * trace[i];
                near(trace_at(h, s->trace, at, d, side, x + p * dim), value, 1e-10);
            }
        }
    hdg_geometry_destroy(&geometry);
    free(x);
    free(normal);
}

/* The same problem by the mapped code: traces, u, q, u*, q*, errors. */
static void check_mapped(const struct box_kind *kind) {
    struct boxhdg *h = make_box(kind);
    int dim = kind->dim;
    facet_box b = {.size = sizeof(facet_box), .dim = dim, .shape = dim == 2 ? "quad" : "hex"};
    for (int d = 0; d < dim; d++) {
        b.cells[d] = kind->cells[d];
        b.coordinates[d] = h->grid.coordinates[d];
        b.periodic[d] = kind->sides[d] == BOX_PERIODIC;
    }
    struct facet_mesh *mesh;
    struct solved mapped;
    struct setup setup = {.degree = kind->degree, .source = "exp(x)*(1+y)", .tau_hat = 1.5};
    if (kind->tau > 0) setup.tau = "2.5", setup.tau_hat = 0;
    setup.conditions[0] = (struct condition){"xmin", "dirichlet", "1+sin(y)", NULL};
    setup.conditions[1] = (struct condition){"xmax", "neumann", "cos(y)", NULL};
    setup.conditions[2] = (struct condition){"rest", "dirichlet", "x*y", NULL};
    if (dim == 2 && b.periodic[1]) setup.conditions[2].part = NULL;
    struct field *source = make_field("exp(x)*(1+y)"), *low = make_field("1+sin(y)"),
                 *high = make_field("cos(y)"), *rest = make_field("x*y");
    struct box_given data = {.source = source, .boundary = {{low, high}, {rest, rest}, {rest, rest}}};
    struct boxhdg_solution s;
    ok(mesh_create_box(&b, &mesh));
    ok(mesh_need_lists(mesh));
    setup.mesh = mesh;
    setup.rtol = 1e-13;
    solve(&setup, &mapped);
    /* both sides of direction 0 differ: make_box knows one kind for both, so xmax is set here */
    h->grid.sides[0][1] = BOX_NEUMANN;
    solve_box(h, &data, &s);
    compare_traces(h, &s, &mapped);
    static const char *const names[] = {"u", "u_star", "q", "q_star"};
    static const enum boxhdg_field fields[] = {BOX_U, BOX_U_STAR, BOX_Q, BOX_Q_STAR};
    static const double lattice[3] = {0.1, 0.35, 0.8};
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        int at[3], n = dim == 2 ? 9 : 27;
        double x[27 * 3], xi[27 * 3], ours[81], theirs[81], points[81];
        box_cell_at(&h->grid, c, at);
        for (int i = 0; i < n; i++)
            for (int d = 0, rest_of_i = i; d < dim; d++, rest_of_i /= 3) {
                xi[i * dim + d] = lattice[rest_of_i % 3];
                x[i * dim + d] = h->grid.coordinates[d][at[d]] + h->grid.widths[d][at[d]] * xi[i * dim + d];
            }
        for (int f = 0; f < 4; f++) {
            ok(boxhdg_evaluate(h, &s, fields[f], c, BOX_LATTICE(3, lattice), ours));
            ok(boxhdg_evaluate(h, &s, fields[f], c, &(struct box_places){.n = n, .xi = xi}, points));
            ok(facet_solver_evaluate(mapped.solver, names[f], n, x, theirs));
            for (int i = 0; i < n * boxhdg_field_components(h, fields[f]); i++) {
                near(ours[i], theirs[i], f < 2 ? 1e-10 : 1e-9);
                near(ours[i], points[i], 1e-12);
            }
        }
    }
    release(&mapped);
    mesh_destroy(&mesh);
    boxhdg_solution_destroy(&s);
    boxhdg_destroy(&h);
    field_destroy(&source);
    field_destroy(&low);
    field_destroy(&high);
    field_destroy(&rest);
}

static void test_mapped(void **state) {
    (void)state;
    check_mapped(&(struct box_kind){.dim = 2, .degree = 2, .cells = {3, 2}, .stretch = 1.5});
    check_mapped(&(struct box_kind){
        .dim = 2, .degree = 5, .cells = {3, 3}, .sides = {0, BOX_PERIODIC}, .lengths = {1, 2}, .tau = 2.5});
    check_mapped(&(struct box_kind){.dim = 3, .degree = 2, .cells = {2, 3, 2}, .stretch = 1.3, .tau = 2.5});
    check_mapped(&(struct box_kind){.dim = 3, .degree = 5, .cells = {2, 1, 2}, .lengths = {1, 1, 0.4}});
}

/* ------------------------------------------------------------------------------------------ pieces */

/* The L2 projection of a function onto the modes of every cell. */
static void project(const struct boxhdg *h, const struct field *field, double *modes) {
    const struct box_given data = {.source = field};
    ok(boxhdg_project_source(h, &data, modes));
    for (int64_t c = 0; c < h->grid.n_cells; c++) {
        int at[3];
        box_cell_at(&h->grid, c, at);
        double V = box_cell_volume(&h->grid, at) / (1 << h->grid.dim);
        for (int64_t i = 0; i < h->cell_size; i++) modes[c * h->cell_size + i] /= V;
    }
}

/* Polynomials go through points, modes and projections unharmed; means and shifts. */
static void test_pieces(void **state) {
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int p = 2; p <= 9; p++) {
            struct box_kind kind = {.dim = dim,
                                    .degree = p,
                                    .cells = {3, 2, 2},
                                    .stretch = 1.3,
                                    .sides = {BOX_NEUMANN},
                                    .tau = 1};
            struct boxhdg *h = make_box(&kind);
            struct field *field = make_field(dim == 1 ? "x*x" : dim == 2 ? "x*x*y" : "x*x*y+z");
            double *modes = random_vector(h->n_volume, 3), *values = random_vector(h->n_volume, 4), mean,
                   other;
            double *back = random_vector(h->n_volume, 5), *from = random_vector(h->n_volume, 6);
            ok(boxhdg_transform(h, 1, modes, values));
            ok(boxhdg_transform(h, 0, values, back));
            close_to(h->n_volume, back, modes, 1e-13, "points and back");
            project(h, field, modes);
            ok(boxhdg_transform(h, 1, modes, values));
            double error = 0;
            for (int64_t c = 0; c < h->grid.n_cells; c++)
                for (int64_t i = 0; i < h->cell_size; i++) {
                    int at[3];
                    int64_t rest = i;
                    double x[3] = {0, 0, 0};
                    box_cell_at(&h->grid, c, at);
                    for (int d = 0; d < dim; d++, rest /= h->n)
                        x[d] = h->grid.coordinates[d][at[d]] +
                               h->grid.widths[d][at[d]] * (1 + h->gauss[rest % h->n]) / 2;
                    double exact = dim == 1 ? x[0] * x[0] : x[0] * x[0] * x[1] + x[2];
                    error = fmax(error, fabs(exact - values[c * h->cell_size + i]));
                }
            near(error, 0, 1e-13);
            mean = boxhdg_mean(h, modes);
            near(mean, dim == 1 ? 1.0 / 3 : dim == 2 ? 1.0 / 6 : 2.0 / 3, 1e-13);
            ok(box_field_mean(&h->grid, h->n + BOX_EXTRA_POINTS, field, &other));
            near(other, mean, 1e-13);
            field_destroy(&field);
            boxhdg_destroy(&h);
            double *all[] = {modes, values, back, from};
            for (int i = 0; i < 4; i++) free(all[i]);
        }
}

/* Traces of a smooth function, and shifts. For a polynomial u, eq. 4a gives its own values. */
static void test_hybridize(void **state) {
    (void)state;
    struct box_kind kind = {
        .dim = 3, .degree = 3, .cells = {2, 3, 2}, .stretch = 1.2, .mixed = 1, .varying = 0};
    struct boxhdg *h = make_box(&kind);
    struct field *exact = make_field("x*x*y-z*z*z+x");
    struct box_given data = {.exact = exact};
    struct boxhdg_solution s;
    struct box_errors e;
    double *dirichlet = random_vector(h->n_trace, 1), *neumann = random_vector(h->n_trace, 2);
    ok(boxhdg_solution_create(h, &s));
    ok(ALLOC(s.q, h->grid.dim * s.n_cells * h->cell_size));
    ok(boxhdg_project_boundary(h, &data, dirichlet, neumann));
    project(h, exact, s.u);
    ok(boxhdg_hybridize(h, s.u, dirichlet, neumann, s.trace));
    ok(boxhdg_project_source(h, &data, s.loads));
    ok(boxhdg_recover(h, s.loads, s.trace, s.u, s.q));
    ok(boxhdg_postprocess(h, &s));
    ok(boxhdg_measure_errors(h, &s, exact, &e));
    near(e.trace_L2 + e.u_L2 + e.u_Linf, 0, 1e-11);
    near(e.q_L2 + e.u_star_L2 + e.q_star_L2, 0, 1e-11);
    double flux = boxhdg_face_flux(h, &s, 0, 1, 0), mean = boxhdg_mean_trace(h, &s, 0);
    double w = h->grid.widths[0][0], t = h->grid.widths[2][0];
    near(flux, w * w * w / 3 * t, 1e-12); /* q.n = k x^2 on the face y = 0 */
    boxhdg_shift(h, 2.5, &s);
    near(boxhdg_mean_trace(h, &s, 0), mean + 2.5, 1e-12);
    struct box_errors shifted;
    ok(boxhdg_measure_errors(h, &s, exact, &shifted));
    near(shifted.u_L2, 2.5, 1e-11);
    near(shifted.u_star_L2, 2.5, 1e-11);
    near(shifted.q_star_L2, 0, 1e-11);
    boxhdg_solution_destroy(&s);
    boxhdg_destroy(&h);
    field_destroy(&exact);
    free(dirichlet);
    free(neumann);
}

/* No Dirichlet side, no reaction: constants are the kernel, the source is balanced, u is shifted. */
static void test_singular(void **state) {
    (void)state;
    static const char *const texts[3] = {"cos(3*x)+x", "cos(3*x)*y+x", "cos(3*x)*y*z+x"};
    for (int dim = 1; dim <= 3; dim++) {
        struct box_kind kind = {.dim = dim,
                                .degree = 8,
                                .cells = {3, 2, 2},
                                .stretch = 1.3,
                                .tau = 2,
                                .sides = {BOX_NEUMANN, BOX_NEUMANN, BOX_NEUMANN}};
        struct boxhdg *h = make_box(&kind);
        struct field *exact = make_field(texts[dim - 1]);
        struct box_given data = {.exact = exact};
        struct boxhdg_solution s;
        struct box_errors e;
        double *one = random_vector(h->n_trace, 1), *y = random_vector(h->n_trace, 2);
        double *neumann = random_vector(h->n_trace, 3), shift, scale, mean;
        assert_true(h->grid.singular);
        boxhdg_constant(h, one);
        ok(boxhdg_apply(h, one, y));
        near(norm2(h->n_trace, y), 0, 1e-10 * norm2(h->n_trace, one));
        ok(boxhdg_solution_create(h, &s));
        ok(ALLOC(s.q, h->grid.dim * s.n_cells * h->cell_size));
        ok(boxhdg_project_source(h, &data, s.loads));
        ok(boxhdg_project_boundary(h, &data, NULL, neumann));
        boxhdg_balance(h, neumann, s.loads, &shift, &scale);
        near(shift, 0, 1e-8 * scale); /* quadrature */
        ok(boxhdg_condense_loads(h, s.loads, NULL, neumann, y));
        solve_trace(h, y, s.trace);
        ok(boxhdg_recover(h, s.loads, s.trace, s.u, s.q));
        ok(box_field_mean(&h->grid, h->n + BOX_EXTRA_POINTS, exact, &mean));
        boxhdg_shift(h, mean - boxhdg_mean(h, s.u), &s);
        ok(boxhdg_postprocess(h, &s));
        ok(boxhdg_measure_errors(h, &s, exact, &e));
        near(e.u_L2 + e.trace_L2 + e.u_star_L2, 0, 1e-6);
        /* an unbalanced source is balanced by what is too much */
        double *values = random_vector(h->n_volume, 4);
        for (int64_t i = 0; i < h->n_volume; i++) values[i] = 2.5;
        ok(boxhdg_load(h, values, NULL, NULL, s.loads, y));
        boxhdg_balance(h, NULL, s.loads, &shift, &scale);
        near(shift, 2.5, 1e-12);
        near(norm2(h->n_volume, s.loads), 0, 1e-12);
        free(values);
        free(one);
        free(y);
        free(neumann);
        field_destroy(&exact);
        boxhdg_solution_destroy(&s);
        boxhdg_destroy(&h);
    }
}

/* The same numbers with any number of threads. */
static void test_threads(void **state) {
    (void)state;
    struct box_kind kind = {.dim = 3,
                            .degree = 4,
                            .cells = {3, 3, 3},
                            .stretch = 1.1,
                            .varying = 1,
                            .sides = {0, 0, BOX_PERIODIC}};
    struct boxhdg *h = make_box(&kind);
    double *f = random_vector(h->n_volume, 1), *loads = random_vector(h->n_volume, 2);
    double *F[3], *dirichlet = random_vector(h->n_trace, 4);
    for (int i = 0; i < 3; i++) {
        F[i] = random_vector(h->n_trace, 3);
        base_set_threads(i + 1);
        ok(boxhdg_load(h, f, dirichlet, NULL, loads, F[i]));
    }
    base_set_threads(0);
    assert_memory_equal(F[0], F[1], (size_t)h->n_trace * sizeof(double));
    assert_memory_equal(F[0], F[2], (size_t)h->n_trace * sizeof(double));
    for (int i = 0; i < 3; i++) free(F[i]);
    free(f);
    free(loads);
    free(dirichlet);
    boxhdg_destroy(&h);
}

/* ------------------------------------------------------------------------------------------ faults */

static facet_status walk(const struct box_grid_data *data, const double *const rho[3],
                         const struct field *exact) {
    facet_status status = FACET_OK;
    struct boxhdg *h = NULL;
    struct boxhdg_solution s = {0};
    struct box_errors errors;
    struct box_given problem = {.exact = exact};
    double *F = NULL, *dirichlet = NULL, mean, point[2] = {0.5, 0.5}, value[2];
    TRY(boxhdg_create(data, 2, rho, &h));
    TRY(ALLOC(F, h->n_trace));
    TRY(ALLOC(dirichlet, h->n_trace));
    TRY(boxhdg_solution_create(h, &s));
    TRY(ALLOC(s.q, h->grid.dim * s.n_cells * h->cell_size));
    TRY(boxhdg_project_boundary(h, &problem, dirichlet, NULL));
    TRY(boxhdg_project_source(h, &problem, s.loads));
    TRY(boxhdg_condense_loads(h, s.loads, dirichlet, NULL, F));
    TRY(boxhdg_apply(h, F, s.trace));
    TRY(boxhdg_hybridize(h, s.u, dirichlet, NULL, s.trace));
    TRY(boxhdg_recover(h, s.loads, s.trace, s.u, s.q));
    TRY(boxhdg_postprocess(h, &s));
    TRY(boxhdg_measure_errors(h, &s, exact, &errors));
    TRY(boxhdg_evaluate(h, &s, BOX_Q_STAR, 0, &(struct box_places){.n = 1, .xi = point}, value));
    TRY(boxhdg_evaluate(h, &s, BOX_Q, 0, BOX_LATTICE(1, point), value));
    TRY(box_field_mean(&h->grid, h->n + BOX_EXTRA_POINTS, exact, &mean));
    TRY(boxhdg_load(h, s.u, NULL, NULL, s.loads, F));
    TRY(boxhdg_transform(h, 1, s.u, s.loads));
done:
    base_free(&F);
    base_free(&dirichlet);
    boxhdg_solution_destroy(&s);
    boxhdg_destroy(&h);
    return status;
}

static void test_faults(void **state) {
    (void)state;
    const double x[] = {0, 1, 2.5}, rho[] = {1, 1.5};
    const double *const all[3] = {rho, rho, NULL};
    struct box_grid_data data = {.dim = 2, .cells = {2, 2}, .coordinates = {x, x}};
    struct field *exact = make_field("sin(x)*y");
    ok(walk(&data, all, exact)); /* what LAPACK and the like keep for good */
    int64_t before = live_blocks();
    for (int64_t k = 1;; k++) {
        base_memory_fail_at(k);
        facet_status status = walk(&data, all, exact);
        base_memory_fail_at(0);
        assert_int_equal(live_blocks(), before);
        if (status == FACET_OK) break;
        assert_int_equal(status, FACET_ERROR_MACHINE);
    }
    field_destroy(&exact);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces), cmocka_unit_test(test_hybridize), cmocka_unit_test(test_orders),
        cmocka_unit_test(test_mapped), cmocka_unit_test(test_singular),  cmocka_unit_test(test_threads),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
