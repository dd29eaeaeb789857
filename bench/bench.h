/* The benches: the papers' tables and figures, ours beside theirs. `facet bench NAME` runs one. */
#ifndef FACET_BENCH_BENCH_H
#define FACET_BENCH_BENCH_H

#include "io/table.h"

struct bench_options {
    const char *name;    /* of the bench, as called */
    const char *output;  /* folder for the results; NULL: they are printed only */
    const char *command; /* the whole command line, for the record */
    const char *device;
    const char *tau; /* replaces the paper's tau; NULL: as in the paper */
    int threads, quick;
    facet_context *context; /* that of the command */
    int silent;             /* another rank of facet-mpi speaks */
};
struct bench {
    const char *name, *help;
    facet_status (*run)(const struct bench_options *options);
};
/* The tau of a run: the paper's, which is 1 in all of them, or that of --tau. */
const char *bench_tau(const struct bench_options *options);
/* All benches of the program, `facet` or `facet-mpi`; the last has no name. */
const struct bench *bench_list(void);

/* Makes the folder of the results and sees whether it can be written to; before a bench runs. */
facet_status bench_check_output(const struct bench_options *options);
/* Prints a table under its title and, with an output folder, writes it there as NAME.md together with
 * command, date, commit and device. */
facet_status bench_emit(const struct bench_options *options, const char *name, const char *title,
                        const struct table *table);

facet_status bench_king2014(const struct bench_options *options);
facet_status bench_fabien2017_accuracy(const struct bench_options *options);
facet_status bench_fabien2017_roofline(const struct bench_options *options);
facet_status bench_fabien2017_multigrid(const struct bench_options *options);
facet_status bench_fabien2017_postprocess(const struct bench_options *options);
facet_status bench_fabien2019_accuracy(const struct bench_options *options);
facet_status bench_fabien2019_tas(const struct bench_options *options);
facet_status bench_fabien2019_iterations(const struct bench_options *options);
facet_status bench_fabien2019_gpu(const struct bench_options *options);
facet_status bench_cui2024_iterations(const struct bench_options *options);
facet_status bench_cui2024_gpu(const struct bench_options *options);
facet_status bench_cui2024_gpu_profile(const struct bench_options *options);
facet_status bench_cui2024_precision(const struct bench_options *options);
facet_status bench_local3d(const struct bench_options *options);
facet_status bench_pmg(const struct bench_options *options);
facet_status bench_pmg_jumps(const struct bench_options *options);
facet_status bench_pmg_elastic(const struct bench_options *options);
facet_status bench_pmg_bytes(const struct bench_options *options);
facet_status bench_auto_choice(const struct bench_options *options);
facet_status bench_pmg_large(const struct bench_options *options);
facet_status bench_gmg(const struct bench_options *options);
facet_status bench_gmg_flat(const struct bench_options *options);
facet_status bench_gmg_smoothers(const struct bench_options *options);
facet_status bench_amg(const struct bench_options *options);
facet_status bench_huismann2020(const struct bench_options *options);
facet_status bench_huismann2020_gpu(const struct bench_options *options);
facet_status bench_gpu_cells(const struct bench_options *options);
facet_status bench_gpu_general(const struct bench_options *options);
facet_status bench_gpu_whole(const struct bench_options *options);
facet_status bench_huismann2020_operators(const struct bench_options *options);
facet_status bench_huismann2020_solvers(const struct bench_options *options);
facet_status bench_huismann2020_high(const struct bench_options *options);
facet_status bench_huismann2020_mesh(const struct bench_options *options);
facet_status bench_huismann2020_robust(const struct bench_options *options);
facet_status bench_hdg_pays(const struct bench_options *options);
facet_status bench_expressions(const struct bench_options *options);
facet_status bench_smoothers(const struct bench_options *options);
facet_status bench_petsc(const struct bench_options *options); /* this and the next: facet-mpi */
facet_status bench_boxes(const struct bench_options *options);
facet_status bench_scaling(const struct bench_options *options);
facet_status bench_traffic(const struct bench_options *options);
facet_status bench_whole(const struct bench_options *options);

#endif
