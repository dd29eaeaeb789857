/* Evaluation of a program over a block of points. With a and b the arguments of f, subscripts i, j for
 * coordinates,
 *
 *     f_i  = f_a a_i + f_b b_i
 *     f_ij = f_a a_ij + f_b b_ij + f_aa a_i a_j + f_ab (a_i b_j + a_j b_i) + f_bb b_i b_j
 *
 * where terms with a factor that is zero at every point are left out, so that an infinite partial derivative
 * does not spoil the directions it has nothing to do with. Conditionals copy from the branch taken and
 * compute nothing. */
#include "expr/program.h"

#include <math.h>

#include "base/memory.h"
#include "base/widest.h"

#define N_PARTIALS 5

/* Numbers per point and slot, by order. */
static const int n_rows[3] = {1, 4, 10};

static const double ones[EXPR_BLOCK] = {[0 ... EXPR_BLOCK - 1] = 1};
static const double zeros[EXPR_BLOCK];

facet_status run_begin(struct run *run, const struct program *program, int dim, int order, int block,
                       int keep) {
    *run = (struct run){.program = program, .dim = dim, .order = order, .block = block, .keep = keep};
    size_t rows = (size_t)n_rows[order] * (size_t)(keep ? program->n_nodes : program->n_slots) + N_PARTIALS;
    return ALLOC(run->work, rows * (size_t)block);
}

void run_end(struct run *run) {
    base_free(&run->work);
}

static double *row(const struct run *run, int node, int number) {
    int slot = run->keep ? node : run->program->nodes[node].slot;
    return run->work + ((size_t)N_PARTIALS + (size_t)slot * (size_t)n_rows[run->order] + (size_t)number) *
                           (size_t)run->block;
}

double *run_value(const struct run *run, int node) {
    return row(run, node, 0);
}

double *run_first(const struct run *run, int node, int i) {
    return run->program->nodes[node].first >> i & 1 ? row(run, node, 1 + i) : NULL;
}

double *run_second(const struct run *run, int node, int i, int j) {
    int pair = expr_pair[i][j];
    return run->program->nodes[node].second >> pair & 1 ? row(run, node, 4 + pair) : NULL;
}

/* A sum of products, term by term, which is all zero before the first. */
struct sum {
    double *out;
    int n, begun;
};

/* Adds p q, where both are there. */
static void add2(struct sum *sum, const double *restrict p, const double *restrict q) {
    double *out = sum->out;
    if (!p || !q) return;
    const double *old = sum->begun ? out : zeros;
#pragma omp simd
    for (int i = 0; i < sum->n; i++) out[i] = old[i] + p[i] * q[i];
    sum->begun = 1;
}

/* Adds p q r. */
static void add3(struct sum *sum, const double *restrict p, const double *restrict q,
                 const double *restrict r) {
    double *out = sum->out;
    if (!p || !q || !r) return;
    const double *old = sum->begun ? out : zeros;
#pragma omp simd
    for (int i = 0; i < sum->n; i++) out[i] = old[i] + p[i] * (q[i] * r[i]);
    sum->begun = 1;
}

/* The chain rule above for node f of arguments a and b (b < 0: none); partial derivatives f_a, f_b, f_aa,
 * f_ab, f_bb, NULL for those that are zero everywhere. */
static void chain_rule(const struct run *run, int n, int f, int a, int b, const double *const d[N_PARTIALS]) {
    const double *ga[3] = {0}, *gb[3] = {0};
    for (int i = 0; i < run->dim; i++) {
        ga[i] = run_first(run, a, i);
        gb[i] = b < 0 ? NULL : run_first(run, b, i);
        struct sum sum = {run_first(run, f, i), n, 0};
        if (!sum.out) continue;
        add2(&sum, d[0], ga[i]);
        add2(&sum, d[1], gb[i]);
    }
    if (run->order < 2) return;
    for (int i = 0; i < run->dim; i++)
        for (int j = i; j < run->dim; j++) {
            struct sum sum = {run_second(run, f, i, j), n, 0};
            if (!sum.out) continue;
            add2(&sum, d[0], run_second(run, a, i, j));
            add3(&sum, d[2], ga[i], ga[j]);
            if (b < 0) continue;
            add2(&sum, d[1], run_second(run, b, i, j));
            add3(&sum, d[3], ga[i], gb[j]);
            add3(&sum, d[3], ga[j], gb[i]);
            add3(&sum, d[4], gb[i], gb[j]);
        }
}

static void unary_node(const struct run *run, int n, int number) {
    const struct node *node = &run->program->nodes[number];
    int order = node->first ? run->order : 0, a = node->argument[0];
    double *fa = run->work, *faa = fa + run->block;
    op_unary(node->op, node->constant, order, n, run_value(run, a), run_value(run, number), fa, faa);
    const double *d[N_PARTIALS] = {fa, NULL, op_table[node->op].bends & OP_AA ? faa : NULL, NULL, NULL};
    if (order) chain_rule(run, n, number, a, -1, d);
}

static void binary_node(const struct run *run, int n, int number) {
    const struct node *node = &run->program->nodes[number];
    int order = node->first ? run->order : 0, a = node->argument[0], b = node->argument[1];
    int bends = op_table[node->op].bends;
    double *w[N_PARTIALS];
    for (int i = 0; i < N_PARTIALS; i++) w[i] = run->work + (size_t)i * (size_t)run->block;
    op_binary(node->op, order, n, run_value(run, a), run_value(run, b), run_value(run, number), w);
    if (!order) return;
    if (node->op == OP_MULTIPLY) {
        const double *d[N_PARTIALS] = {run_value(run, b), run_value(run, a), NULL, ones, NULL};
        chain_rule(run, n, number, a, b, d);
    } else {
        const double *d[N_PARTIALS] = {w[0], w[1], bends & OP_AA ? w[2] : NULL, bends & OP_AB ? w[3] : NULL,
                                       bends & OP_BB ? w[4] : NULL};
        chain_rule(run, n, number, a, b, d);
    }
}

/* The rows of three nodes that belong together: values, or one of the derivatives. */
struct triple {
    double *out;
    const double *a, *b;
};

/* Lists the rows of node `f` with the like ones of a and b (b < 0: none; NULL: zero); returns how many. */
static int list_rows(const struct run *run, int f, int a, int b, struct triple list[10]) {
    int count = 0;
    list[count++] = (struct triple){run_value(run, f), run_value(run, a), b < 0 ? NULL : run_value(run, b)};
    for (int i = 0; run->order >= 1 && i < run->dim; i++)
        if (run_first(run, f, i))
            list[count++] = (struct triple){run_first(run, f, i), run_first(run, a, i),
                                            b < 0 ? NULL : run_first(run, b, i)};
    for (int i = 0; run->order == 2 && i < run->dim; i++)
        for (int j = i; j < run->dim; j++)
            if (run_second(run, f, i, j))
                list[count++] = (struct triple){run_second(run, f, i, j), run_second(run, a, i, j),
                                                b < 0 ? NULL : run_second(run, b, i, j)};
    return count;
}

/* a + b, a - b, -a: the same for every row of the jet. */
static void linear_node(const struct run *run, int n, int number) {
    const struct node *node = &run->program->nodes[number];
    struct triple list[10];
    int count = list_rows(run, number, node->argument[0], node->argument[1], list);
    double sign = node->op == OP_ADD ? 1 : -1;
    for (int k = 0; k < count; k++) {
        double *restrict out = list[k].out;
        const double *a = list[k].a ? list[k].a : zeros, *b = list[k].b;
        if (node->op == OP_NEGATE) b = a, a = zeros;
        if (a == zeros || !b) {
            const double *only = b ? b : a;
            double factor = b ? sign : 1;
#pragma omp simd
            for (int i = 0; i < n; i++) out[i] = factor * only[i];
        } else {
#pragma omp simd
            for (int i = 0; i < n; i++) out[i] = a[i] + sign * b[i];
        }
    }
}

/* c != 0 ? a : b; a condition that is not a number has no answer. */
static void select_node(const struct run *run, int n, int number) {
    const struct node *node = &run->program->nodes[number];
    struct triple list[10];
    const double *c = run_value(run, node->argument[0]);
    int count = list_rows(run, number, node->argument[1], node->argument[2], list);
    for (int k = 0; k < count; k++) {
        double *restrict out = list[k].out;
        const double *a = list[k].a ? list[k].a : zeros, *b = list[k].b ? list[k].b : zeros;
#pragma omp simd
        for (int i = 0; i < n; i++) out[i] = c[i] != c[i] ? c[i] : c[i] != 0 ? a[i] : b[i];
    }
}

static void coordinate_node(const struct run *run, int n, int number, const double *x,
                            const double *normals) {
    int axis = (int)run->program->nodes[number].constant, dim = run->dim;
    const double *from = axis < 3 ? x : normals;
    double *out = run_value(run, number);
    if (axis % 3 >= dim) from = NULL;
    for (int i = 0; i < n; i++) out[i] = from ? from[(size_t)i * (size_t)dim + (size_t)(axis % 3)] : 0;
    if (run->order == 0 || axis >= dim) return;
    out = run_first(run, number, axis);
    for (int i = 0; i < n; i++) out[i] = 1;
}

WIDEST void run_block(struct run *run, int n, const double *x, const double *normals) {
    for (int i = 0; i < run->program->n_nodes; i++) {
        const struct node *node = &run->program->nodes[i];
        if (node->op == OP_NUMBER) {
            double *out = run_value(run, i);
            for (int p = 0; p < n; p++) out[p] = node->constant;
        } else if (node->op == OP_COORDINATE) {
            coordinate_node(run, n, i, x, normals);
        } else if (node->op == OP_SELECT) {
            select_node(run, n, i);
        } else if (node->op == OP_ADD || node->op == OP_SUBTRACT || node->op == OP_NEGATE) {
            linear_node(run, n, i);
        } else if (op_table[node->op].n_arguments == 1) {
            unary_node(run, n, i);
        } else {
            binary_node(run, n, i);
        }
    }
}
