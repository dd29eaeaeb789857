/* p-multigrid on traces: exact transfers, Galerkin products, counts of iterations, and allocation faults. */
#include <stdio.h>

#include "long.h"
#include "multigrid_helpers.h"
#include "solve/jumps.h"
#include "trace/pmg.h"
#include "trace/pmg_parts.h"

/* A condensed problem on a box with shaken vertices. */
static void condensed(struct setup *setup, struct solved *s, int k, int n, int degree, const char *tau) {
    *setup = (struct setup){.mesh = remake(unit_box(multigrid_shapes[k], NULL, n), 1, map_bent, 11u),
                            .degree = degree,
                            .tau = tau,
                            .exact = k < 2 ? "exp(x)*sin(2*y+1)" : "exp(x)*sin(2*y+1)*cos(z)"};
    solve(setup, s);
}

/* On simplices P'KP is the same where it is made from the vertices of cells alone. */
static void same_from_vertices(const struct hdg *h, const struct trace_nodes *nodes, const struct csr *csr) {
    struct csr other;
    assert_non_null(nodes->columns);
    ok(trace_galerkin_vertices(&h->trace, &h->matrices, csr->n, nodes->columns, &other));
    assert_int_equal(other.n, csr->n);
    for (int64_t i = 0; i < csr->n; i++) {
        assert_int_equal(other.offsets[i + 1], csr->offsets[i + 1]);
        for (int64_t e = csr->offsets[i]; e < csr->offsets[i + 1]; e++) {
            assert_int_equal(other.columns[e], csr->columns[e]);
            near(other.values[e], csr->values[e], 1e-12);
        }
    }
    csr_destroy(&other);
}

/* P'KP from the cells is P'(KP); the sum of all continuous functions is the constant. */
static void coarse_matrices_are_galerkin_products(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int degree = 1; degree <= 3; degree++)
            for (int rows = 0; rows < (k % 2 ? 2 : 1); rows++) {
                struct setup setup;
                struct solved s;
                struct trace_nodes nodes;
                struct csr csr;
                condensed(&setup, &s, k, k < 2 ? 4 : 3, degree, NULL);
                const struct hdg *h = mapped_of(s.solver)->hdg;
                ok(trace_continuous_nodes(&h->trace, rows, NULL, &nodes));
                assert_true(rows ? nodes.n > nodes.n_vertices : nodes.n == nodes.n_vertices);
                ok(trace_galerkin(&h->trace, &h->matrices, &nodes.P, &csr));
                if (k % 2 == 0) same_from_vertices(h, &nodes, &csr);
                int64_t n = h->trace.n_free, nc = csr.n;
                double *x = calloc((size_t)nc, sizeof *x), *Px = malloc((size_t)n * sizeof *Px),
                       *KPx = malloc((size_t)n * sizeof *KPx), *left = calloc((size_t)nc, sizeof *left);
                uint32_t seed = 9;
                noise(&seed, nc, x);
                for (int64_t i = 0; i < n; i++) {
                    Px[i] = 0.0;
                    for (int64_t e = nodes.P.offsets[i]; e < nodes.P.offsets[i + 1]; e++)
                        Px[i] += nodes.P.values[e] * x[nodes.P.columns[e]];
                }
                apply(&mapped_of(s.solver)->A, Px, KPx);
                for (int64_t i = 0; i < n; i++)
                    for (int64_t e = nodes.P.offsets[i]; e < nodes.P.offsets[i + 1]; e++)
                        left[nodes.P.columns[e]] += nodes.P.values[e] * KPx[i];
                for (int64_t i = 0; i < nc; i++) {
                    double sum = 0.0;
                    for (int64_t e = csr.offsets[i]; e < csr.offsets[i + 1]; e++)
                        sum += csr.values[e] * x[csr.columns[e]];
                    near(sum, left[i], 1e-11);
                }
                free(x);
                free(Px);
                free(KPx);
                free(left);
                csr_destroy(&csr);
                trace_nodes_destroy(&nodes);
                release(&s);
                facet_mesh_destroy(&setup.mesh);
            }
}

/* Pure Neumann: every free face sees all its vertices, so P 1 is the trace of the constant. */
static void continuous_functions_contain_the_constant(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct facet_mesh *mesh = remake(unit_box(multigrid_shapes[k], NULL, 2), 1, map_bent, 11u);
        struct trace_space space;
        struct trace_nodes nodes;
        uint8_t *none = calloc((size_t)mesh->n_faces, 1);
        ok(trace_space_create(mesh, 3, 1, none, &space));
        ok(trace_continuous_nodes(&space, 0, NULL, &nodes));
        assert_int_equal(nodes.n, mesh->n_vertices);
        for (int64_t b = 0; b < space.n_free_faces; b++)
            for (int64_t i = space.free_offsets[b]; i < space.free_offsets[b + 1]; i++) {
                double sum = 0.0, one = sqrt(shape_measure((enum shape)mesh->face_shapes[b]));
                for (int64_t e = nodes.P.offsets[i]; e < nodes.P.offsets[i + 1]; e++)
                    sum += nodes.P.values[e];
                near(sum, i == space.free_offsets[b] ? one : 0.0, 1e-14);
            }
        trace_nodes_destroy(&nodes);
        trace_space_destroy(&space);
        free(none);
        mesh_destroy(&mesh);
    }
}

/* What one of the threads makes on a mesh that is large enough for many: the nodes with row modes, the
 * transpose of P, P'P 1 and a sum over the cells. */
struct shared {
    struct trace_nodes nodes;
    struct mg_transfer R;
    double *product, *sum;
};

static void make_shared(const struct trace_space *space, double *const *locals, int n_threads,
                        struct shared *s) {
    const struct device *device = find("cpu");
    struct linear_operator P = {0}, R = {0};
    struct vector coarse = {0}, fine = {0};
    base_set_threads(n_threads);
    ok(trace_continuous_nodes(space, TRACE_ROWS, NULL, &s->nodes));
    ok(mg_transpose(&s->nodes.P, &s->R));
    ok(operator_create_transfer(device, &s->nodes.P, &P));
    ok(operator_create_transfer(device, &s->R, &R));
    ok(vector_create(device, s->R.n_rows, &coarse));
    ok(vector_create(device, s->R.n_columns, &fine));
    s->product = malloc((size_t)s->R.n_rows * sizeof *s->product);
    s->sum = malloc((size_t)space->n_free * sizeof *s->sum);
    vector_fill(&coarse, 1.0);
    operator_apply(&P, &coarse, &fine);
    operator_apply(&R, &fine, &coarse);
    ok(vector_download(&coarse, s->product));
    trace_assemble_vector(space, 1, locals, s->sum);
    vector_destroy(&coarse);
    vector_destroy(&fine);
    operator_destroy(&P);
    operator_destroy(&R);
    base_set_threads(0);
}

static void many_threads_do_what_one_does(void **state) {
    (void)state;
    struct facet_mesh *mesh = unit_box("hex", NULL, 26);
    struct trace_space space;
    struct shared one, many;
    uint8_t *given = calloc((size_t)mesh->n_faces, 1);
    uint32_t seed = 3;
    for (int32_t f = 0; f < mesh->n_faces; f++) given[f] = mesh->face_cells[2 * f + 1] < 0 && f % 5 == 0;
    ok(trace_space_create(mesh, 2, 1, given, &space));
    const int64_t n_locals = (int64_t)mesh->n_cells * trace_cell_size(&space, 0);
    double *locals[MESH_MAX_BLOCKS] = {malloc((size_t)n_locals * sizeof(double))};
    noise(&seed, n_locals, locals[0]);
    make_shared(&space, locals, 1, &one);
    make_shared(&space, locals, 5, &many);
    const int64_t n = one.nodes.n, n_columns = one.R.n_rows, nnz = one.R.offsets[n_columns];
    assert_true(one.nodes.n_vertices > 0 && n > one.nodes.n_vertices && space.n_free_faces > 50000);
    assert_int_equal(n, many.nodes.n);
    assert_int_equal(one.nodes.n_vertices, many.nodes.n_vertices);
    assert_memory_equal(one.nodes.offsets, many.nodes.offsets, (size_t)(n + 1) * sizeof(int64_t));
    assert_memory_equal(one.nodes.vertices, many.nodes.vertices, (size_t)n * sizeof(int32_t));
    assert_memory_equal(one.nodes.places, many.nodes.places, (size_t)n * sizeof(int32_t));
    assert_memory_equal(one.nodes.P.offsets, many.nodes.P.offsets,
                        (size_t)(space.n_free + 1) * sizeof(int64_t));
    assert_memory_equal(one.nodes.P.columns, many.nodes.P.columns, (size_t)nnz * sizeof(int32_t));
    assert_memory_equal(one.nodes.P.values, many.nodes.P.values, (size_t)nnz * sizeof(double));
    assert_int_equal(n_columns, many.R.n_rows);
    assert_memory_equal(one.R.offsets, many.R.offsets, (size_t)(n_columns + 1) * sizeof(int64_t));
    assert_memory_equal(one.R.columns, many.R.columns, (size_t)nnz * sizeof(int32_t));
    assert_memory_equal(one.R.values, many.R.values, (size_t)nnz * sizeof(double));
    assert_memory_equal(one.product, many.product, (size_t)n_columns * sizeof(double));
    assert_memory_equal(one.sum, many.sum, (size_t)space.n_free * sizeof(double));
    for (int64_t i = 0; i < n_columns; i++) /* rows of a column ascend */
        for (int64_t k = one.R.offsets[i] + 1; k < one.R.offsets[i + 1]; k++)
            assert_true(one.R.columns[k - 1] < one.R.columns[k]);
    for (int k = 0; k < 2; k++) {
        struct shared *s = k == 0 ? &one : &many;
        trace_nodes_destroy(&s->nodes);
        mg_transfer_destroy(&s->R);
        free(s->product);
        free(s->sum);
    }
    trace_space_destroy(&space);
    free(locals[0]);
    free(given);
    mesh_destroy(&mesh);
}

/* What devices do with the vertices of faces is what P does, and its transpose. */
static void corners_are_the_same_functions(void **state) {
    (void)state;
    const struct device *device;
    ok(device_find("debug", &device));
    for (int k = 0; k < 4; k += 2) {
        struct facet_mesh *mesh = remake(unit_box(multigrid_shapes[k], NULL, 3), 1, map_bent, 12u);
        struct trace_space space;
        struct trace_nodes nodes, others;
        struct mg_link link;
        struct vector coarse = {0}, fine = {0};
        int32_t *corners;
        uint32_t seed = 5;
        uint8_t *given = calloc((size_t)mesh->n_faces, 1);
        for (int32_t f = 0; f < mesh->n_faces; f++) given[f] = mesh->face_cells[2 * f + 1] < 0 && f % 3 == 0;
        ok(trace_space_create(mesh, 1, 1, given, &space));
        ok(trace_continuous_nodes(&space, 0, NULL, &nodes));
        ok(trace_corner_nodes(&space, &others, &corners));
        assert_true(nodes.n > 0 && nodes.n < mesh->n_vertices);
        assert_int_equal(nodes.n, others.n);
        assert_memory_equal(nodes.columns, others.columns, (size_t)mesh->n_vertices * sizeof(int32_t));
        ok(trace_corner_link(device, &space, others.n, corners, &link));
        ok(vector_create(device, nodes.n, &coarse));
        ok(vector_create(device, space.n_free, &fine));
        double *x = malloc((size_t)nodes.n * sizeof *x), *y = malloc((size_t)space.n_free * sizeof *y),
               *down = malloc((size_t)nodes.n * sizeof *down), *sums = calloc((size_t)nodes.n, sizeof *sums);
        noise(&seed, nodes.n, x);
        ok(vector_upload(&coarse, x));
        vector_fill(&fine, 0.0);
        link.prolong(&link, &coarse, &fine);
        link.restrict_(&link, &fine, &coarse);
        ok(vector_download(&fine, y));
        ok(vector_download(&coarse, down));
        for (int64_t i = 0; i < space.n_free; i++) {
            double sum = 0.0;
            for (int64_t e = nodes.P.offsets[i]; e < nodes.P.offsets[i + 1]; e++) {
                sum += nodes.P.values[e] * x[nodes.P.columns[e]];
                sums[nodes.P.columns[e]] += nodes.P.values[e] * y[i];
            }
            near(y[i], sum, 1e-14);
        }
        for (int64_t i = 0; i < nodes.n; i++) near(down[i], sums[i], 1e-13);
        mg_link_destroy(&link);
        vector_destroy(&coarse);
        vector_destroy(&fine);
        trace_nodes_destroy(&nodes);
        trace_nodes_destroy(&others);
        base_free(&corners);
        trace_space_destroy(&space);
        free(x);
        free(y);
        free(down);
        free(sums);
        free(given);
        mesh_destroy(&mesh);
    }
}

static int count_within(double symmetry, const struct solved *s, const struct pmg_options *options,
                        int64_t *held) {
    struct facet_solver *v = s->solver;
    struct multigrid *mg;
    struct linear_operator M = {0};
    struct solve_report report = {0};
    struct base_memory before, after;
    base_memory_read(&before);
    ok(trace_pmg_create(&mapped_of(v)->hdg->trace, &mapped_of(v)->hdg->matrices, &mapped_of(v)->A, options,
                        &mg));
    base_memory_read(&after);
    if (held != NULL) *held = after.live_bytes - before.live_bytes;
    struct solve_control control = {
        .rtol = 1e-10, .max_iterations = 200, .flexible = multigrid_is_flexible(mg)};
    ok(operator_create_multigrid(&mg, &M));
    if (!control.flexible) check_symmetric(&M, symmetry);
    ok(solve_fill_noise(&mapped_of(v)->b));
    vector_fill(&mapped_of(v)->x, 0.0);
    ok(solve_cg(&mapped_of(v)->A, &M, &mapped_of(v)->b, &mapped_of(v)->x, &control, &report));
    int iterations = report.iterations;
    solve_report_clear(&report);
    operator_destroy(&M);
    return iterations;
}

static int count(const struct solved *s, const struct pmg_options *options, int64_t *held) {
    return count_within(1e-11, s, options, held);
}

static void iterations_do_not_grow(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int degree = 1; degree <= 4; degree += degree < 2 ? 1 : 2) {
            int first = 0;
            for (int level = 0; level < 3; level++) {
                struct setup setup;
                struct solved s;
                struct pmg_options options;
                if (k >= 2 && (level == 2 && degree > 2)) break;
                pmg_options_default(&options);
                condensed(&setup, &s, k, (k < 2 ? 8 : 2) << level, degree, NULL);
                int n = count(&s, &options, NULL);
                if (level == 0) first = n;
                if (!(n <= 20) || n > first + 5)
                    fail_msg("%s, degree %d, level %d: %d iterations after %d", multigrid_shapes[k], degree,
                             level, n, first);
                release(&s);
                facet_mesh_destroy(&setup.mesh);
            }
        }
}

/* K = 1 or c on a chessboard of n^dim cells, on one of 2^dim, and without pattern on n^dim. */
static void jumping(int kind, int dim, int n, const char *c, size_t size, char *K) {
    const char *z = dim == 2 ? "0" : "z";
    if (kind == 1) n = 2;
    if (kind < 2)
        snprintf(K, size, "if(mod(floor(%d*x)+floor(%d*y)+floor(%d*%s),2)<0.5,1,%s)", n, n, n, z, c);
    else
        snprintf(K, size, "if(sin(127.1*floor(%d*x)+311.7*floor(%d*y)+74.7*floor(%d*%s))<0,1,%s)", n, n, n, z,
                 c);
}

static void iterations_do_not_see_jumps(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int degree = 1; degree <= 3; degree += 2)
            for (int kind = 0; kind < 3; kind++)
                for (int contrast = 0; contrast < 2; contrast++) {
                    int n = k < 2 ? 16 : is_long_run() || degree == 1 ? 6 : 4;
                    char K[160];
                    struct pmg_options options;
                    struct solved s;
                    jumping(kind, k < 2 ? 2 : 3, n, contrast == 0 ? "1e3" : "1e8", sizeof K, K);
                    struct setup setup = {.mesh = unit_box(multigrid_shapes[k], NULL, n),
                                          .degree = degree,
                                          .n_K = 1,
                                          .K = {K},
                                          .source = "1"};
                    setup.conditions[0] = (struct condition){.part = "rest", .kind = "dirichlet", .g = "0"};
                    solve(&setup, &s);
                    pmg_options_default(&options);
                    options.last = COARSE_AMG;
                    int found = count_within(contrast == 0 ? 1e-9 : 1e-4, &s, &options, NULL); /* rounding */
                    if (found > 25)
                        fail_msg("%s, degree %d, %s: %d iterations", multigrid_shapes[k], degree, K, found);
                    release(&s);
                    facet_mesh_destroy(&setup.mesh);
                }
}

/* What P makes of ones in all columns that belong to a vertex. */
static double column_sum(const struct trace_nodes *nodes, int64_t row, int32_t vertex) {
    double sum = 0.0;
    for (int64_t e = nodes->P.offsets[row]; e < nodes->P.offsets[row + 1]; e++)
        if (nodes->vertices[nodes->P.columns[e]] == vertex) sum += nodes->P.values[e];
    return sum;
}

/* The pieces of a vertex sum up to its continuous function. On a chessboard of 2^d there is another piece at
 * its middle (in 3D three, since four cubes of large K meet there, and one on the inner edges, where two do);
 * cubes that touch the boundary in no more than a vertex or an edge have pieces there that no wall holds. */
static void pieces_sum_up_to_the_vertices(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        int dim = k < 2 ? 2 : 3, n = 4;
        char K[160];
        struct solved s;
        struct trace_nodes whole, cut;
        struct trace_pieces pieces;
        double jump;
        jumping(1, dim, n, "1e6", sizeof K, K);
        struct setup setup = {
            .mesh = unit_box(multigrid_shapes[k], NULL, n), .degree = 2, .n_K = 1, .K = {K}, .source = "1"};
        setup.conditions[0] = (struct condition){.part = "rest", .kind = "dirichlet", .g = "0"};
        solve(&setup, &s);
        const struct hdg *h = mapped_of(s.solver)->hdg;
        ok(trace_pieces_create(&h->trace, &h->matrices, &jump, &pieces));
        assert_true(jump > 1e5 && jump < 1e7);
        ok(trace_continuous_nodes(&h->trace, 0, NULL, &whole));
        ok(trace_continuous_nodes(&h->trace, 0, &pieces, &cut));
        int64_t more = 0;
        for (int64_t i = 0; i < cut.n; i++) {
            int found = 0;
            for (int64_t j = 0; j < whole.n; j++) found |= whole.vertices[j] == cut.vertices[i];
            if (!found) more++; /* on the boundary */
        }
        assert_int_equal(cut.n - more - whole.n, dim == 2 ? 1 : 3 + 6);
        assert_int_equal(more, 0);
        for (int64_t row = 0; row < h->trace.n_free; row++)
            for (int64_t j = 0; j < whole.n; j++)
                near(column_sum(&cut, row, whole.vertices[j]), column_sum(&whole, row, whole.vertices[j]),
                     1e-15);
        trace_pieces_destroy(&pieces);
        trace_nodes_destroy(&whole);
        trace_nodes_destroy(&cut);
        release(&s);
        facet_mesh_destroy(&setup.mesh);
    }
}

/* Seven stiff cells in a row round a vertex, whose ends a soft one joins, and a wall behind the first or
 * none: parts of at most three cells, of equal length, the wall's being the first two cells. */
static void long_chains_are_cut(void **state) {
    (void)state;
    enum { N = 9, WALL = 8, SOFT = 7 };
    for (int wall = 0; wall < 2; wall++) {
        double values[N], peaks[N];
        int32_t neighbours[N * 3], work[2 * N], pieces[N];
        for (int i = 0; i < N; i++) {
            values[i] = i == WALL ? INFINITY : i == SOFT ? 1.0 : 1e6;
            neighbours[3 * i] = i < SOFT ? i + 1 : i == SOFT ? 0 : -1;
            neighbours[3 * i + 1] = i > 0 && i <= SOFT ? i - 1 : i == 0 ? SOFT : -1;
            neighbours[3 * i + 2] = wall && i == 0 ? WALL : -1;
        }
        solve_star_jump(N, values, 3, neighbours, work, peaks, pieces);
        for (int i = 0; i < WALL; i++) assert_int_equal(pieces[i], wall ? pieces[WALL] : pieces[0]);
        solve_star_cut(N, values, 3, neighbours, 2, work, pieces);
        int n_parts = 0, cut = 0;
        for (int i = 0; i < N; i++) n_parts += pieces[i] == i;
        for (int i = 0; i + 3 < SOFT; i++) assert_int_not_equal(pieces[i], pieces[i + 3]);
        for (int i = 0; i + 1 < SOFT; i++) cut += pieces[i] != pieces[i + 1];
        assert_int_equal(cut, 2);
        assert_int_equal(n_parts, wall ? 3 : 4); /* the wall is one */
        assert_int_equal(pieces[1] == pieces[WALL], wall);
        assert_int_equal(pieces[2] == pieces[WALL], 0);
        assert_true(pieces[SOFT] == pieces[0] || pieces[SOFT] == pieces[SOFT - 1]);
    }
}

/* Parts of chains sum up to the continuous function of their vertex as well, but where a wall held it. */
static void parts_sum_up_to_the_vertices(void **state) {
    (void)state;
    char K[160];
    struct solved s;
    struct trace_nodes whole, cut;
    struct trace_pieces pieces;
    double jump;
    jumping(0, 3, 4, "1e6", sizeof K, K);
    struct setup setup = {.mesh = unit_box("tet", NULL, 4), .degree = 1, .n_K = 1, .K = {K}, .source = "1"};
    setup.conditions[0] = (struct condition){.part = "rest", .kind = "dirichlet", .g = "0"};
    solve(&setup, &s);
    const struct hdg *h = mapped_of(s.solver)->hdg;
    ok(trace_pieces_create(&h->trace, &h->matrices, &jump, &pieces));
    assert_true(pieces.chains);
    ok(trace_continuous_nodes(&h->trace, 0, NULL, &whole));
    ok(trace_continuous_nodes(&h->trace, 0, &pieces, &cut));
    assert_true(cut.n > whole.n);
    for (int64_t row = 0; row < h->trace.n_free; row++)
        for (int64_t j = 0; j < whole.n; j++)
            near(column_sum(&cut, row, whole.vertices[j]), column_sum(&whole, row, whole.vertices[j]), 1e-15);
    trace_pieces_destroy(&pieces);
    trace_nodes_destroy(&whole);
    trace_nodes_destroy(&cut);
    release(&s);
    facet_mesh_destroy(&setup.mesh);
}

/* Single precision keeps the flux through cells of large K, since products take their constants off. */
static void single_precision_follows_jumps(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int degree = 1; degree <= 3; degree += 2) {
            int n = k < 2 ? 16 : 6;
            char K[160];
            struct pmg_options options;
            struct solved s;
            jumping(2, k < 2 ? 2 : 3, n, "1e8", sizeof K, K);
            struct setup setup = {.mesh = unit_box(multigrid_shapes[k], NULL, n),
                                  .degree = degree,
                                  .n_K = 1,
                                  .K = {K},
                                  .source = "1"};
            setup.conditions[0] = (struct condition){.part = "rest", .kind = "dirichlet", .g = "0"};
            solve(&setup, &s);
            pmg_options_default(&options);
            options.precision = PMG_DOUBLE;
            int exact = count_within(1e-4, &s, &options, NULL);
            options.precision = PMG_MIXED;
            int mixed = count_within(1.0, &s, &options, NULL);
            if (mixed > exact + 4)
                fail_msg("%s, degree %d: %d iterations, %d in double precision", multigrid_shapes[k], degree,
                         mixed, exact);
            release(&s);
            facet_mesh_destroy(&setup.mesh);
        }
}

/* tau h = 1e-5: rows of quads are long, whatever the number of cells. */
static void row_modes_cure_small_tau(void **state) {
    (void)state;
    for (int k = 1; k < 4; k += 2)
        for (int degree = 2; degree <= 3; degree++) {
            struct setup setup;
            struct solved s;
            struct pmg_options options, without;
            pmg_options_default(&options);
            options.last = COARSE_FACTOR; /* what is compared are the spaces, with the same smoother */
            options.degree = 4;
            without = options;
            without.coarse = PMG_CONTINUOUS;
            condensed(&setup, &s, k, k == 1 ? 32 : 6, degree, "0.001");
            int n = count(&s, &options, NULL), plain = count(&s, &without, NULL);
            if (!(n <= 14) || (k == 1 && !(plain > 4 * n)))
                fail_msg("%s, degree %d: %d iterations with row modes, %d without", multigrid_shapes[k],
                         degree, n, plain);
            release(&s);
            facet_mesh_destroy(&setup.mesh);
        }
}

static void variants_solve(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct setup setup;
        struct solved s;
        condensed(&setup, &s, k, k < 2 ? 12 : 4, 3, NULL);
        for (int coarse = PMG_CONSTANT; coarse <= PMG_PIECES; coarse++)
            for (int last = COARSE_FACTOR; last <= COARSE_AMG; last++)
                for (int single = 0; single < 2; single++) {
                    struct pmg_options options = {.coarse = (enum pmg_coarse)coarse,
                                                  .last = (enum coarse_wish)last,
                                                  .between = -1,
                                                  .precision = single ? PMG_MIXED : PMG_DOUBLE};
                    int n = count(&s, &options, NULL);
                    if (!(n <= 40))
                        fail_msg("%s, coarse %d, last %d, single %d: %d iterations", multigrid_shapes[k],
                                 coarse, last, single, n);
                }
        release(&s);
        facet_mesh_destroy(&setup.mesh);
    }
}

/* Through the public interface: the same solution as the factor's, no matrix assembled, and less memory than
 * it would take. */
static void the_fine_matrix_is_never_assembled(void **state) {
    (void)state;
    static const char *const methods[] = {"cg", "fgmres", "multigrid"};
    static const char *const cycles[] = {"auto", "V", "W", "F", "full"};
    for (int k = 2; k < 4; k++) {
        struct setup setup;
        struct solved direct;
        condensed(&setup, &direct, k, 4, 3, NULL);
        struct csr csr;
        ok(hdg_assemble(mapped_of(direct.solver)->hdg, &csr));
        double assembled = 12.0 * (double)csr.offsets[csr.n];
        csr_destroy(&csr);
        for (int m = 0; m < 3; m++)
            for (int c = 0; c < 5; c++) {
                if (!is_long_run() && (k + m + c) % 3 != 0) continue; /* each cycle with one method */
                facet_options options;
                facet_solver *solver;
                facet_report report = {.size = sizeof report};
                facet_errors errors = {.size = sizeof errors};
                facet_level level = {.size = sizeof level};
                facet_options_default(&options, sizeof options);
                options.method = methods[m];
                options.preconditioner = "pmg";
                options.cycle = cycles[c];
                options.precision = c % 2 ? "mixed" : "double";
                options.coarse_device = c == 2 ? "debug" : NULL;
                options.watch = c == 0;
                ok(facet_solver_create(direct.problem, &options, &solver));
                ok(facet_solver_solve(solver, NULL, NULL));
                ok(facet_solver_report(solver, &report));
                ok(facet_solver_errors(solver, &errors));
                near(errors.u_L2, direct.errors.u_L2, 1e-3 * direct.errors.u_L2);
                if (!(report.iterations <= 30))
                    fail_msg("%s, %s, cycle %s: %d iterations", multigrid_shapes[k], methods[m], cycles[c],
                             report.iterations);
                assert_true(mapped_of(solver)->assembled_bytes == 0.0);
                assert_true(facet_solver_n_levels(solver) >= 2);
                ok(facet_solver_level(solver, 0, &level));
                assert_string_equal(level.name, "k=3");
                assert_true(level.unknowns == report.trace_unknowns && level.visits > 0);
                assert_true(level.bytes < 0.5 * assembled);
                assert_true(options.watch ? level.rate > 0.0 && level.rate < 0.5 : level.rate < 0.0);
                refused(facet_solver_level(solver, 40, &level), FACET_ERROR_INPUT, "no level 40");
                facet_solver_destroy(&solver);
            }
        release(&direct);
        facet_mesh_destroy(&setup.mesh);
    }
}

/* ------------------------------------------------------------------------------------------ elasticity */

/* A cube held at xmin, on a roller at zmin, loaded by its weight. */
static int elastic_iterations(const char *shape, const char *formulation, int n, int degree,
                              const char *lambda) {
    static const char *const held[] = {"0", "0", "0"}, *const roller[] = {NULL, NULL, "0"},
                             *const slides[] = {"0", "0", NULL}, *const weight[] = {"1", "x", "-y"};
    const char *const moduli[] = {"1", lambda};
    struct facet_mesh *mesh = remake(unit_box(shape, NULL, n), 1, map_bent, 11u);
    facet_context *context;
    facet_problem *problem;
    facet_solver *solver;
    facet_options options;
    facet_report report = {.size = sizeof report};
    ok(facet_context_create("cpu", &context));
    ok(facet_problem_create(context, mesh, FACET_ELASTICITY, &problem));
    ok(facet_problem_set_material(problem, NULL, "mu,lambda", moduli));
    ok(facet_problem_set_vector_source(problem, 3, weight));
    ok(facet_problem_set_displacement(problem, "xmin", 3, held));
    if (formulation == NULL) {
        ok(facet_problem_set_displacement(problem, "zmin", 3, roller));
        ok(facet_problem_set_traction(problem, "zmin", 3, slides));
        ok(facet_problem_set_traction(problem, "rest", 3, held));
    } else {
        ok(facet_problem_set_gradient_pressure(problem, "rest", 3, held));
    }
    facet_options_default(&options, sizeof options);
    options.degree = degree;
    options.formulation = formulation;
    options.method = "cg";
    options.preconditioner = "pmg";
    options.rtol = 1e-7;
    ok(facet_solver_create(problem, &options, &solver));
    ok(facet_solver_solve(solver, NULL, NULL));
    ok(facet_solver_report(solver, &report));
    facet_solver_destroy(&solver);
    facet_problem_destroy(&problem);
    facet_context_destroy(&context);
    mesh_destroy(&mesh);
    return report.iterations;
}

static void elastic_bodies_take_few_iterations(void **state) {
    (void)state;
    static const char *const formulations[] = {NULL, "gradient"};
    for (int k = 2; k < 4; k++)
        for (int f = 0; f < 2; f++)
            for (int degree = 1; degree <= 2; degree++) {
                int first = elastic_iterations(multigrid_shapes[k], formulations[f], 2, degree, "1");
                int many = is_long_run() || degree == 1 ? 4 : 3;
                int second = elastic_iterations(multigrid_shapes[k], formulations[f], many, degree, "1");
                int stiff = elastic_iterations(multigrid_shapes[k], formulations[f], 3, degree, "1e6");
                if (!(second <= 25 && second <= first + 5 && stiff <= 25))
                    fail_msg("%s, %s, degree %d: %d, %d iterations, %d when incompressible",
                             multigrid_shapes[k], f == 0 ? "symmetric" : "gradient", degree, first, second,
                             stiff);
            }
}

static void keys_that_do_nothing_are_refused(void **state) {
    (void)state;
    struct setup setup;
    struct solved s;
    facet_solver *solver;
    facet_options options;
    condensed(&setup, &s, 0, 3, 1, NULL);
    facet_options_default(&options, sizeof options);
    options.method = "cg";
    options.preconditioner = "block";
    options.cycle = "W";
    refused(facet_solver_create(s.problem, &options, &solver), FACET_ERROR_INPUT, "a cycle belongs to");
    options.cycle = NULL;
    options.smoother = "faces";
    refused(facet_solver_create(s.problem, &options, &solver), FACET_ERROR_INPUT, "smoother belongs to");
    options.smoother = NULL;
    options.method = "multigrid";
    refused(facet_solver_create(s.problem, &options, &solver), FACET_ERROR_INPUT,
            "amg, pmg or gmg, not block");
    options.preconditioner = "ilu";
    refused(facet_solver_create(s.problem, &options, &solver), FACET_ERROR_INPUT, "unknown preconditioner");
    facet_options_default(&options, sizeof options);
    options.preconditioner = "pmg";
    options.discretization = "condensed";
    refused(facet_solver_create(s.problem, &options, &solver), FACET_ERROR_INPUT,
            "belongs to the discretization");
    release(&s);
    facet_mesh_destroy(&setup.mesh);
}

/* ------------------------------------------------------------------------------------------ faults */

static void failed_allocations_leak_nothing(void **state) {
    (void)state;
    struct setup setup;
    struct solved s;
    condensed(&setup, &s, 1, 4, 2, "0.01");
    struct facet_solver *v = s.solver;
    for (int variant = 0; variant < 4; variant++) {
        struct pmg_options options = {.between = -1,
                                      .coarse = variant == 1 ? PMG_CONTINUOUS : PMG_COARSE_AUTO,
                                      .last = variant == 2 ? COARSE_AMG : COARSE_AUTO,
                                      .precision = variant == 3 ? PMG_MIXED : PMG_DOUBLE};
        int64_t blocks = live_blocks();
        for (int k = 1;; k++) {
            struct multigrid *mg = NULL;
            base_memory_fail_at(k);
            facet_status status = trace_pmg_create(&mapped_of(v)->hdg->trace, &mapped_of(v)->hdg->matrices,
                                                   &mapped_of(v)->A, &options, &mg);
            base_memory_fail_at(0);
            if (status == FACET_OK) {
                multigrid_destroy(&mg);
                assert_int_equal(live_blocks(), blocks);
                assert_true(k > 20);
                break;
            }
            assert_int_equal(status, FACET_ERROR_MACHINE);
            assert_int_equal(live_blocks(), blocks);
        }
    }
    release(&s);
    facet_mesh_destroy(&setup.mesh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coarse_matrices_are_galerkin_products),
        cmocka_unit_test(many_threads_do_what_one_does),
        cmocka_unit_test(corners_are_the_same_functions),
        cmocka_unit_test(continuous_functions_contain_the_constant),
        cmocka_unit_test(iterations_do_not_grow),
        cmocka_unit_test(iterations_do_not_see_jumps),
        cmocka_unit_test(pieces_sum_up_to_the_vertices),
        cmocka_unit_test(long_chains_are_cut),
        cmocka_unit_test(parts_sum_up_to_the_vertices),
        cmocka_unit_test(single_precision_follows_jumps),
        cmocka_unit_test(row_modes_cure_small_tau),
        cmocka_unit_test(variants_solve),
        cmocka_unit_test(the_fine_matrix_is_never_assembled),
        cmocka_unit_test(elastic_bodies_take_few_iterations),
        cmocka_unit_test(keys_that_do_nothing_are_refused),
        cmocka_unit_test(failed_allocations_leak_nothing),
    };
    base_pretend_available(16e9); /* the machine is not asked thousands of times */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
