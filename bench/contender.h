/* Operators on a box, made to run against each other: the five of huismann2020 and ours. */
#ifndef FACET_BENCH_CONTENDER_H
#define FACET_BENCH_CONTENDER_H

#include "bench/wave.h"
#include "solve/solve.h"

enum contender_kind {
    CONTENDER_HDG_TP,
    CONTENDER_HDG_TPT,
    CONTENDER_CCG_MM,
    CONTENDER_CCG_TP,
    CONTENDER_CCG_TPT,
    CONTENDER_TENSOR, /* ours, HDG */
    CONTENDER_PARITY, /* ours, condensed */
    N_CONTENDERS
};
const char *contender_name(enum contender_kind kind);

struct contender {
    enum contender_kind kind;
    struct linear_operator A;
    struct vector x, y;
    double preparation; /* seconds: 1D matrices and all that is stored */
    double operations;  /* floating-point, of one application */
    double bytes;       /* loads and stores of Table 2; of ours: x read and y written once */
    void *space;
    void (*destroy)(struct contender *contender);
};
facet_status contender_create(const struct wave *wave, const struct device *device, enum contender_kind kind,
                              struct contender *contender);
void contender_destroy(struct contender *contender); /* safe on a zeroed struct, and twice */

/* One file each. */
facet_status contender_create_hdg(const struct wave *wave, const struct device *device,
                                  struct contender *contender);
facet_status contender_create_condensed(const struct wave *wave, const struct device *device,
                                        struct contender *contender);

#endif
