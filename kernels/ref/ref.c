/* The table of the specification. */
#include "kernels/ref/ref.h"

#include "kernels/table.h"

const struct kernels *kernels_ref(void) {
    static const struct kernels table = {
        .cells = {.half_rows = 1},
#define KERNEL(result, precisions, name, parameters, arguments) .name = ENTRY_##precisions(name),
#include "kernels/kernels.def"
#undef KERNEL
    };
    return &table;
}
