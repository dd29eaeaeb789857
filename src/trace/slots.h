/* Private to the room: products and operators from element matrices, whatever the unknowns stand on.
 *
 * A cell of block b has n_slots[b] slots; slot s of cell c belongs to the entity entities[b][c * n_slots[b] +
 * s] (a face, say), whose unknowns begin at first[entity], -1: it has none. Where starts[b] is NULL, slots
 * are of equal size; else slot s is of size starts[b][s + 1] - starts[b][s]. A cell may meet an entity twice.
 */
#ifndef FACET_TRACE_SLOTS_H
#define FACET_TRACE_SLOTS_H

#include "trace/trace.h"

struct trace_slots {
    int64_t count[MESH_MAX_BLOCKS]; /* cells */
    int n_slots[MESH_MAX_BLOCKS];
    const int *starts[MESH_MAX_BLOCKS];
    const int32_t *entities[MESH_MAX_BLOCKS];
    int64_t n_entities;
    const int64_t *first; /* n_entities */
    const uint8_t *early; /* n_entities flags: batches that meet one come first in a product; NULL: none */
};

/* The operator of n unknowns; it refers to the matrices, but not to the slots. */
facet_status trace_slots_operator(const struct trace_slots *slots, const struct trace_matrices *matrices,
                                  int64_t n, struct linear_operator *A);

#endif
