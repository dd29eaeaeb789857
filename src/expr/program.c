/* Building a program: nodes with constants folded and repetitions shared, then the removal of what is not
 * needed and the assignment of slots. */
#include "expr/program.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* Above this exponent the rounding of repeated squaring begins to show; pow() takes over. */
#define LARGEST_INTEGER_POWER 64

/* 0 and -0 are two numbers, so that constants are compared by their bits. */
static uint64_t bits(double value) {
    uint64_t result;
    memcpy(&result, &value, sizeof result);
    return result;
}

static unsigned hash(const struct node *node) {
    uint64_t h = (uint64_t)node->op * 0x9e3779b97f4a7c15u ^ bits(node->constant);
    for (int i = 0; i < 3; i++)
        h = (h ^ (h >> 29) ^ (uint64_t)(unsigned)node->argument[i]) * 0xbf58476d1ce4e5b9u;
    return (unsigned)((h >> 32) % PROGRAM_BUCKETS);
}

static int same(const struct node *a, const struct node *b) {
    return a->op == b->op && bits(a->constant) == bits(b->constant) && a->argument[0] == b->argument[0] &&
           a->argument[1] == b->argument[1] && a->argument[2] == b->argument[2];
}

/* The node itself, or an equal one that is there already. */
static facet_status append(struct program *program, const struct node *node, int *number) {
    facet_status status = FACET_OK;
    unsigned bucket = hash(node);
    for (int i = program->bucket[bucket]; i; i = program->nodes[i - 1].chain) {
        if (!same(&program->nodes[i - 1], node)) continue;
        *number = i - 1;
        return FACET_OK;
    }
    if (program->n_nodes == program->capacity) {
        int capacity = program->capacity ? 2 * program->capacity : 32;
        TRY(base_realloc(&program->nodes, (size_t)capacity, sizeof *program->nodes));
        program->capacity = capacity;
    }
    *number = program->n_nodes++;
    program->nodes[*number] = *node;
    program->nodes[*number].chain = program->bucket[bucket];
    program->bucket[bucket] = *number + 1;
done:
    return status;
}

facet_status program_number(struct program *program, double value, int column, int *node) {
    struct node n = {.op = OP_NUMBER, .argument = {-1, -1, -1}, .constant = value, .column = column};
    return append(program, &n, node);
}

facet_status program_coordinate(struct program *program, int axis, int column, int *node) {
    struct node n = {.op = OP_COORDINATE,
                     .argument = {-1, -1, -1},
                     .constant = axis,
                     .column = column,
                     .coordinates = 1 << axis,
                     .first = axis < 3 ? 1 << axis : 0};
    return append(program, &n, node);
}

/* The pairs (i, j) with i in one set and j in the other. */
static int pairs(int a, int b) {
    int set = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (a >> i & 1 && b >> j & 1) set |= 1 << expression_pair(i, j);
    return set;
}

/* f(a, b) has the first derivatives of its arguments, their second ones, and those that f's own curvature
 * adds. */
static void find_derivatives(const struct program *program, struct node *node) {
    const struct operation *info = &device_operations[node->op];
    int first[3] = {0}, second[3] = {0};
    for (int i = 0; i < info->n_arguments; i++) {
        const struct node *argument = &program->nodes[node->argument[i]];
        node->coordinates |= argument->coordinates;
        first[i] = argument->first;
        second[i] = argument->second;
    }
    if (info->bends & EXPRESSION_FLAT) return;
    int from = node->op == OP_SELECT ? 1 : 0; /* the condition has no derivative */
    for (int i = from; i < info->n_arguments; i++) node->first |= first[i], node->second |= second[i];
    if (info->bends & EXPRESSION_AA) node->second |= pairs(first[0], first[0]);
    if (info->bends & EXPRESSION_AB) node->second |= pairs(first[0], first[1]);
    if (info->bends & EXPRESSION_BB) node->second |= pairs(first[1], first[1]);
}

static int is_number(const struct program *program, int node, double *value) {
    if (program->nodes[node].op != OP_NUMBER) return 0;
    *value = program->nodes[node].constant;
    return 1;
}

/* A new node; when all of its arguments are numbers and its value is finite, that number. */
static facet_status make(struct program *program, enum op op, double constant, int column,
                         const int *arguments, int *result) {
    facet_status status = FACET_OK;
    struct node node = {.op = op, .argument = {-1, -1, -1}, .constant = constant, .column = column};
    double value[3] = {0.0}, folded = NAN;
    int n = device_operations[op].n_arguments, n_numbers = 0;
    for (int i = 0; i < n; i++) {
        node.argument[i] = arguments[i];
        n_numbers += is_number(program, arguments[i], &value[i]);
    }
    if (n_numbers == n && n <= 2) folded = run_numbers(op, constant, value);
    if (isfinite(folded)) return program_number(program, folded, column, result);
    find_derivatives(program, &node);
    TRY(append(program, &node, result));
done:
    return status;
}

/* a^b by what is known of a and b. */
static facet_status make_power(struct program *program, int column, const int *arguments, int *result) {
    double base, exponent;
    int constant_base = is_number(program, arguments[0], &base);
    int constant_exponent = is_number(program, arguments[1], &exponent);
    if (constant_exponent && !constant_base) {
        if (exponent == 0) return program_number(program, 1, column, result);
        if (exponent == 1) {
            *result = arguments[0];
            return FACET_OK;
        }
        int integer = exponent == rint(exponent) && fabs(exponent) <= LARGEST_INTEGER_POWER;
        return make(program, integer ? OP_INTEGER_POWER : OP_CONSTANT_EXPONENT, exponent, column, arguments,
                    result);
    }
    if (constant_base && !constant_exponent && base > 0) {
        int natural = base == M_E;
        return make(program, natural ? OP_EXP : OP_CONSTANT_BASE, natural ? 0 : base, column, arguments + 1,
                    result);
    }
    return make(program, OP_POWER, 0, column, arguments, result);
}

/* `and` and `or` whose first argument is a number. */
static facet_status make_logical(struct program *program, enum op op, double left, int column, int right,
                                 int *result) {
    facet_status status = FACET_OK;
    if ((op == OP_AND) == (left == 0)) return program_number(program, op == OP_OR, column, result);
    int pair[2] = {right, 0};
    TRY(program_number(program, 0, column, &pair[1]));
    TRY(make(program, OP_NOT_EQUAL, 0, column, pair, result));
done:
    return status;
}

facet_status program_apply(struct program *program, enum op op, int column, const int *arguments, int *node) {
    facet_status status = FACET_OK;
    double value;
    if (op == OP_MIN || op == OP_MAX) {
        int choice[3] = {0, arguments[0], arguments[1]};
        TRY(make(program, op == OP_MIN ? OP_LESS_EQUAL : OP_GREATER_EQUAL, 0, column, arguments, &choice[0]));
        TRY(program_apply(program, OP_SELECT, column, choice, node));
    } else if (op == OP_POWER) {
        TRY(make_power(program, column, arguments, node));
    } else if ((op == OP_AND || op == OP_OR) && is_number(program, arguments[0], &value)) {
        TRY(make_logical(program, op, value, column, arguments[1], node));
    } else if (op == OP_SELECT && is_number(program, arguments[0], &value)) {
        *node = arguments[value != 0 ? 1 : 2];
    } else {
        TRY(make(program, op, 0, column, arguments, node));
    }
done:
    return status;
}

enum { NEEDED = 1, ALWAYS = 2 }; /* ALWAYS: whichever branches are taken */

static void mark_needed(struct program *program, int root) {
    for (int i = 0; i < program->n_nodes; i++) program->nodes[i].mark = 0;
    program->nodes[root].mark = NEEDED | ALWAYS;
    for (int i = root; i >= 0; i--) {
        const struct node *node = &program->nodes[i];
        if (!node->mark) continue;
        int guarded = node->op == OP_SELECT || node->op == OP_AND || node->op == OP_OR;
        for (int j = 0; j < device_operations[node->op].n_arguments; j++)
            program->nodes[node->argument[j]].mark |= guarded && j > 0 ? NEEDED : node->mark;
    }
}

/* Only a constant that is not finite was left unfolded. The first such node has numbers for arguments. */
static facet_status check_constants(const struct program *program) {
    for (int i = 0; i < program->n_nodes; i++) {
        const struct node *node = &program->nodes[i];
        if (node->coordinates || node->op == OP_NUMBER || !(node->mark & ALWAYS)) continue;
        double value[2] = {0};
        int n = device_operations[node->op].n_arguments, n_numbers = 0;
        for (int j = 0; j < n && j < 2; j++) n_numbers += is_number(program, node->argument[j], &value[j]);
        if (n_numbers == n) return fault_fail(node, 0, value[0], value[1]);
    }
    return FACET_OK;
}

static void drop_unneeded(struct program *program, int *renumbered) {
    int n = 0;
    for (int i = 0; i < program->n_nodes; i++) {
        struct node node = program->nodes[i];
        if (!node.mark) continue;
        for (int j = 0; j < device_operations[node.op].n_arguments; j++)
            node.argument[j] = renumbered[node.argument[j]];
        renumbered[i] = n;
        program->nodes[n++] = node;
    }
    program->n_nodes = n;
}

/* A slot is free again after the last use of its node; a result never shares a slot with its arguments. */
static void assign_slots(struct program *program, int *last_use, int *free_slots) {
    int n_free = 0;
    program->n_slots = 0;
    for (int i = 0; i < program->n_nodes; i++)
        for (int j = 0; j < device_operations[program->nodes[i].op].n_arguments; j++)
            last_use[program->nodes[i].argument[j]] = i;
    for (int i = 0; i < program->n_nodes; i++) {
        struct node *node = &program->nodes[i];
        node->slot = n_free ? free_slots[--n_free] : program->n_slots++;
        for (int j = 0; j < device_operations[node->op].n_arguments; j++) {
            int argument = node->argument[j];
            if (last_use[argument] != i) continue;
            last_use[argument] = -1; /* once, though it may be an argument twice */
            free_slots[n_free++] = program->nodes[argument].slot;
        }
    }
}

facet_status program_finish(struct program *program, int root) {
    facet_status status = FACET_OK;
    int *numbers = NULL, *free_slots = NULL;
    mark_needed(program, root);
    TRY(check_constants(program));
    TRY(ALLOC(numbers, program->n_nodes));
    TRY(ALLOC(free_slots, program->n_nodes));
    drop_unneeded(program, numbers);
    assign_slots(program, numbers, free_slots);
    TRY(ALLOC(program->code, program->n_nodes));
    for (int i = 0; i < program->n_nodes; i++) {
        const struct node *node = &program->nodes[i];
        program->code[i] =
            (struct expression_node){.constant = node->constant,
                                     .op = (int)node->op,
                                     .argument = {node->argument[0], node->argument[1], node->argument[2]},
                                     .first = node->first,
                                     .second = node->second,
                                     .slot = node->slot};
    }
    TRY(stages_create(program));
done:
    base_free(&numbers);
    base_free(&free_slots);
    return status;
}

void program_free(struct program *program) {
    stages_free(program);
    base_free(&program->code);
    base_free(&program->nodes);
}
