/* Private to the room: the fast path. Cells that are affine, with constant K, lambda and tau and no Robin
 * face, differ by a few numbers only; the kernels condense them from these and from reference matrices. A
 * batch is fast when all its cells are. */
#ifndef FACET_HDG_BATCH_H
#define FACET_HDG_BATCH_H

#include "hdg/local.h"

facet_status batch_tables_create(struct hdg *hdg, int block);
void batch_tables_destroy(struct hdg *hdg, int block);
int batch_is_fast(const struct hdg *hdg, int block, int64_t batch);
/* Coefficients of the fast batches begin .. end-1 into host memory; *volume and *reaction (or NULL): the sum
 * of the cells' volumes, the largest reaction coefficient. */
facet_status batch_coefficients(const struct hdg *hdg, int block, int64_t begin, int64_t end,
                                double *coefficients, double *volume, double *reaction);

#endif
