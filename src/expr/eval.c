/* Evaluation of a program over blocks of points, by the kernel `expression` of the host. */
#include "expr/program.h"

#include "base/memory.h"

facet_status run_begin(struct run *run, const struct program *program, int dim, int order, int block,
                       int keep) {
    facet_status status = FACET_OK;
    run->plan = (struct expression_plan){.dim = dim,
                                         .order = order,
                                         .block = block,
                                         .n_nodes = program->n_nodes,
                                         .keep = keep,
                                         .nodes = program->code};
    size_t jets = (size_t)(keep ? program->n_nodes : program->n_slots);
    size_t size = (jets * (size_t)expression_jet(order) + EXPRESSION_SCRATCH) * (size_t)block;
    run->work = run->few;
    if (size > RUN_FEW) TRY(ALLOC(run->work, size));
done:
    return status;
}

void run_end(struct run *run) {
    if (run->work != run->few) base_free(&run->work);
    run->work = NULL;
}

void run_block(struct run *run, int n, const double *x, const double *normals) {
    device_expression(device_host(), &run->plan, n, x, normals, run->work);
}

double *run_value(const struct run *run, int node) {
    return run->work + expression_row(&run->plan, node, 0);
}

double *run_first(const struct run *run, int node, int i) {
    return run->plan.nodes[node].first >> i & 1 ? run->work + expression_row(&run->plan, node, 1 + i) : NULL;
}

double *run_second(const struct run *run, int node, int i, int j) {
    int pair = expression_pair(i, j);
    return run->plan.nodes[node].second >> pair & 1 ? run->work + expression_row(&run->plan, node, 4 + pair)
                                                    : NULL;
}

double run_numbers(enum op op, double constant, const double *arguments) {
    int n = device_operations[op].n_arguments;
    const struct expression_node nodes[3] = {
        {.op = OP_NUMBER, .constant = arguments[0]},
        n == 2 ? (struct expression_node){.op = OP_NUMBER, .constant = arguments[1]}
               : (struct expression_node){.op = (int)op, .constant = constant},
        {.op = (int)op, .argument = {0, 1}, .constant = constant}};
    const struct expression_plan plan = {.dim = 1, .block = 1, .n_nodes = n + 1, .keep = 1, .nodes = nodes};
    double work[EXPRESSION_SCRATCH + 3];
    device_expression(device_host(), &plan, 1, NULL, NULL, work);
    return work[EXPRESSION_SCRATCH + n];
}
