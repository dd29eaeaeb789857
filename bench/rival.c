/* Contests: all rivals are set up, then run in turn, pass after pass. */
#include "bench/rival.h"

#include <math.h>

#include "base/memory.h"
#include "bench/ceiling.h"

enum { SPACE_HDG, SPACE_CONDENSED, SPACE_CONTINUOUS, N_SPACES };

const char *rival_name(enum rival_kind kind) {
    static const char *const names[N_RIVALS] = {"HDG-unprec",
                                                "HDG-diag",
                                                "HDG-block",
                                                "HDG-trans",
                                                "CCG-unprec",
                                                "CCG-diag",
                                                "CCG-block",
                                                "CCG-trans",
                                                "trans, our operator",
                                                "additive",
                                                "Chebyshev",
                                                "vertex stars",
                                                "condensed, two levels",
                                                "direct, trace",
                                                "direct, volume",
                                                "continuous, direct"};
    return names[kind];
}

static int space_of(int kind) {
    if (kind == RIVAL_CONTINUOUS) return SPACE_CONTINUOUS;
    int condensed = (kind >= RIVAL_CCG_UNPREC && kind <= RIVAL_CCG_TRANS) || kind == RIVAL_CONDENSED;
    return condensed ? SPACE_CONDENSED : SPACE_HDG;
}

static int on_the_wall;

double rival_clock(void) {
    return on_the_wall ? base_seconds() : ceiling_clock();
}

double rival_micro(const struct contest *c, enum rival_kind kind) {
    return 1e6 * c->results[kind].seconds[RIVAL_SOLVE] / wave_unknowns(&c->wave);
}

double rival_ratio(const struct contest *c, enum rival_kind a, enum rival_kind b) {
    const struct rival_result *x = &c->results[a], *y = &c->results[b];
    double ratios[RIVAL_PASSES];
    int n = x->n_passes < y->n_passes ? x->n_passes : y->n_passes;
    if (n == 0) return NAN;
    for (int i = 0; i < n; i++) ratios[i] = x->passes[RIVAL_SOLVE][i] / y->passes[RIVAL_SOLVE][i];
    return ceiling_median(n, ratios);
}

/* Arrays of the volume: source, values for the norm, and those of every space; D^-1 of the straight port. */
double rival_bytes(const struct wave_case *wave, unsigned kinds) {
    double volumes = 2.4;
    int spaces[N_SPACES] = {0};
    for (int kind = 0; kind < N_RIVALS; kind++)
        if (kinds & RIVAL_BIT(kind)) spaces[space_of(kind)] = 1;
    volumes += 3.0 * spaces[SPACE_HDG] + 1.2 * spaces[SPACE_CONDENSED] + 3.0 * spaces[SPACE_CONTINUOUS];
    if (kinds & (RIVAL_BIT(RIVAL_CCG_UNPREC) - 1)) volumes += 1.0;
    return 8.0 * wave_unknowns(wave) * (volumes + 60.0 / (wave->degree + 1.0));
}

struct ring {
    struct wave wave;
    struct rival_space spaces[N_SPACES];
    void *solvers[N_RIVALS];
};

static void ring_destroy(struct ring *r) {
    for (int kind = 0; kind < N_RIVALS; kind++) {
        struct rival_space *space = &r->spaces[space_of(kind)];
        if (space->drop != NULL && space->data != NULL) space->drop(space, &r->solvers[kind]);
    }
    for (int i = 0; i < N_SPACES; i++)
        if (r->spaces[i].destroy != NULL) r->spaces[i].destroy(&r->spaces[i]);
    wave_destroy(&r->wave);
}

static facet_status ring_create(const struct device *device, struct contest *c, struct ring *r) {
    facet_status status = FACET_OK;
    static facet_status (*const makers[N_SPACES])(const struct wave *, const struct device *, double,
                                                  struct rival_space *) = {
        rival_space_hdg, rival_space_condensed, rival_space_continuous};
    TRY(wave_create(&c->wave, c->with_errors, &r->wave));
    for (int kind = 0; kind < N_RIVALS; kind++) {
        if (!(c->kinds & RIVAL_BIT(kind))) continue;
        struct rival_result *result = &c->results[kind];
        struct rival_space *space = &r->spaces[space_of(kind)];
        struct base_memory before, after;
        if (space->data == NULL) TRY(makers[space_of(kind)](&r->wave, device, c->rtol, space));
        base_memory_read(&before);
        double begin = rival_clock();
        TRY(space->create(space, kind, &r->solvers[kind]));
        result->preparation = rival_clock() - begin;
        base_memory_read(&after);
        result->bytes = (double)(after.live_bytes - before.live_bytes);
        result->present = 1;
    }
done:
    return status;
}

/* One run; the first is not counted unless it takes long. */
static facet_status run_one(struct contest *c, struct ring *r, int kind, int pass) {
    facet_status status = FACET_OK;
    struct rival_result *result = &c->results[kind];
    struct rival_space *space = &r->spaces[space_of(kind)];
    struct solve_report report = {0};
    double seconds[N_RIVAL_STAGES] = {0};
    if (pass > 0 && result->n_passes > 0 && result->passes[RIVAL_SOLVE][0] > c->patience) return status;
    TRY(space->run(space, r->solvers[kind], seconds, &report));
    if (pass == 1 && seconds[RIVAL_SOLVE] <= c->patience) result->n_passes = 0; /* forget the warm-up */
    for (int i = 0; i < N_RIVAL_STAGES; i++) result->passes[i][result->n_passes] = seconds[i];
    result->n_passes++;
    result->iterations = report.iterations;
    result->converged = report.converged;
    if (pass == 0 && c->with_errors) TRY(space->error(space, &result->error));
done:
    solve_report_clear(&report);
    return status;
}

static void take_medians(struct rival_result *result) {
    for (int i = 0; i < N_RIVAL_STAGES; i++) {
        double sorted[RIVAL_PASSES];
        for (int k = 0; k < result->n_passes; k++) sorted[k] = result->passes[i][k];
        if (result->n_passes > 0) result->seconds[i] = ceiling_median(result->n_passes, sorted);
    }
}

facet_status contest_run(const struct bench_options *options, struct contest *c) {
    facet_status status = FACET_OK;
    const struct device *device;
    struct ring ring = {0};
    for (int kind = 0; kind < N_RIVALS; kind++) c->results[kind] = (struct rival_result){0};
    on_the_wall = c->wall;
    TRY(device_find(options->device, &device));
    if (!device_is_host(device)) TRY(device_find("cpu", &device));
    TRY(ring_create(device, c, &ring));
    for (int pass = 0; pass <= c->passes && pass < RIVAL_PASSES; pass++)
        for (int kind = 0; kind < N_RIVALS; kind++) {
            if (!c->results[kind].present) continue;
            TRY(run_one(c, &ring, kind, pass));
            TRY(base_check_interrupt());
        }
    for (int kind = 0; kind < N_RIVALS; kind++) take_medians(&c->results[kind]);
done:
    ring_destroy(&ring);
    return status;
}
