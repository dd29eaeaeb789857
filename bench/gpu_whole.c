/* What a user waits for on boxes, and on boxes cut into tets: `facet solve` from exec to exit, on the device
 * given by --device and on the processors beside it, with values and the report and without files. Every run
 * is a process of its own. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/run.h"
#include "bench/bench.h"

struct whole {
    const char *name, *discretization, *solver, *conductivity;
    int cells, degree;
    double goal; /* seconds; 0: none */
    int beside;  /* the processors do it too */
    int tets;    /* six of every cell */
};
static const struct whole wholes[] = {
    {"hdg, additive", "method: hdg", "method: cg, preconditioner: additive, rtol: 1.0e-10", NULL, 80, 7, 1.2,
     1, 0},
    {"hdg, additive", "method: hdg", "method: cg, preconditioner: additive, rtol: 1.0e-10", NULL, 144, 7, 3.0,
     0, 0},
    {"hdg, direct", "method: hdg", "method: direct", NULL, 80, 7, 0.9, 0, 0},
    {"continuous, mixed", "method: continuous", "precision: mixed, rtol: 1.0e-9", NULL, 64, 7, 0.0, 1, 0},
    {"continuous, mixed", "method: continuous", "precision: mixed, rtol: 1.0e-9", NULL, 128, 7, 1.5, 0, 0},
    {"continuous, k of the cells by turns 1 and 100", "method: continuous", "rtol: 1.0e-9",
     "if(mod(floor(N*x) + floor(N*y) + floor(N*z), 2) < 1, 1, 100)", 128, 3, 0.8, 1, 0},
    {"hdg on tets, pmg", "method: hdg", "method: cg, preconditioner: pmg, rtol: 1.0e-10", NULL, 44, 3, 0.0, 1,
     1},
    {"hdg on tets, pmg", "method: hdg", "method: cg, preconditioner: pmg, rtol: 1.0e-10", NULL, 80, 3, 0.0, 0,
     1},
};
enum { N_WHOLES = sizeof wholes / sizeof *wholes, QUICK_CELLS = 8 };

/* The case file of a run. */
static facet_status write_case(const char *path, const struct whole *w, int cells) {
    FILE *file = fopen(path, "w");
    if (file == NULL) return base_fail(FACET_ERROR_MACHINE, "cannot write '%s': %s", path, strerror(errno));
    fprintf(file,
            "parameters: {N: %d}\n"
            "mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [%d, %d, %d], shape: %s}}\n"
            "equation: diffusion\n"
            "conductivity: \"%s\"\n"
            "source: 3*pi^2*sin(pi*x)*sin(pi*y)*sin(pi*z)\n"
            "boundary: [{on: rest, dirichlet: 0}]\n"
            "discretization: {%s, degree: %d}\n"
            "solver: {%s}\n"
            "values:\n"
            "  - {name: mean, field: u, take: mean}\n"
            "  - {name: largest, field: u, take: max}\n"
            "  - {name: middle, field: u, at: [0.5, 0.5, 0.5]}\n",
            cells, cells, cells, cells, w->tets ? "tet" : "hex",
            w->conductivity != NULL ? w->conductivity : "1", w->discretization, w->degree, w->solver);
    if (strstr(w->discretization, "hdg") != NULL)
        fprintf(file, "  - {name: out, field: flux, take: integral, on: xmin}\n");
    return fclose(file) == 0 ? FACET_OK : base_fail(FACET_ERROR_MACHINE, "cannot write '%s'", path);
}

/* The program itself, in a process of its own; its JSON goes to `json`. */
static facet_status run_process(const struct bench_options *options, const char *device, const char *path,
                                const char *json, double *wall) {
    char program[4096], threads[16];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0) return base_fail(FACET_ERROR_MACHINE, "the program does not know where it is");
    program[n] = '\0';
    snprintf(threads, sizeof threads, "%d", options->threads);
    double begin = base_seconds();
    pid_t child = fork();
    if (child == 0) {
        execl(program, "facet", "solve", path, "--device", device, "--json", json, "--quiet", "--threads",
              threads, (char *)NULL);
        _exit(127);
    }
    int ended = -1;
    if (child < 0 || waitpid(child, &ended, 0) < 0)
        return base_fail(FACET_ERROR_MACHINE, "a process could not be started: %s", strerror(errno));
    *wall = base_seconds() - begin;
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return FACET_OK;
    return base_fail(FACET_ERROR_MACHINE, "'facet solve %s --device %s' ended with status %d", path, device,
                     WIFEXITED(ended) ? WEXITSTATUS(ended) : -1);
}

/* A number of the JSON by its key, the first that comes; negative: there is none. */
static double number_of(const char *text, const char *key) {
    char pattern[64];
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    const char *found = strstr(text, pattern);
    return found != NULL ? strtod(found + strlen(pattern), NULL) : -1.0;
}

static facet_status run_whole(const struct bench_options *options, const char *device, const struct whole *w,
                              const char *folder, struct table *table) {
    facet_status status = FACET_OK;
    static const char *const phases[] = {"mesh", "condense", "setup", "load", "solve", "recover", "measure"};
    char path[4200], json[4200];
    int cells = options->quick ? QUICK_CELLS : w->cells;
    double wall = 0.0, best = INFINITY, n_unknowns;
    char *text = NULL;
    size_t bytes;
    snprintf(path, sizeof path, "%s/case.yaml", folder);
    snprintf(json, sizeof json, "%s/result.json", folder);
    TRY(write_case(path, w, cells));
    for (int i = 0; i < (options->quick || strcmp(device, "cpu") == 0 ? 1 : 2); i++) {
        TRY(run_process(options, device, path, json, &wall));
        best = wall < best ? wall : best;
    }
    TRY(file_read_whole(json, &text, &bytes));
    n_unknowns =
        pow((double)cells * (strstr(w->discretization, "hdg") != NULL ? w->degree + 1 : w->degree), 3);
    if (w->tets) n_unknowns = number_of(text, "trace");
    table_cell(table, "%s", w->name);
    table_cell(table, w->tets ? "%d^3 x 6, %d" : "%d^3, %d", cells, w->degree);
    table_cell(table, "%.0f M", 1e-6 * n_unknowns);
    table_cell(table, "%s", device);
    table_cell(table, "%.0f", number_of(text, "iterations"));
    for (int p = 0; p < 7; p++) {
        double seconds = number_of(strstr(text, "\"seconds\""), phases[p]);
        table_cell(table, "%.2f", seconds > 0.0 ? seconds : 0.0);
    }
    table_cell(table, "%.2f", best);
    if (w->goal > 0.0 && !options->quick)
        table_cell(table, "%.1f", w->goal);
    else
        table_cell(table, "-");
    table_cell(table, "%.2f", 1e-9 * number_of(text, "memory_bytes"));
done:
    base_free(&text);
    return status;
}

facet_status bench_gpu_whole(const struct bench_options *options) {
    facet_status status = FACET_OK;
    static const char *const headers[] = {
        "case", "cells, degree", "unknowns", "device",  "iterations",    "mesh", "condense",      "setup",
        "load", "solve",         "recover",  "measure", "whole process", "goal", "GB of the host"};
    char folder[] = "/tmp/facet-whole-XXXXXX", path[4200];
    struct table *table = NULL;
    const char *device = options->device != NULL ? options->device : "cpu";
    if (mkdtemp(folder) == NULL)
        return base_fail(FACET_ERROR_MACHINE, "no folder in /tmp: %s", strerror(errno));
    TRY(table_create(15, headers, &table));
    for (int i = 0; i < N_WHOLES; i++) {
        TRY(run_whole(options, device, &wholes[i], folder, table));
        if (wholes[i].beside && strcmp(device, "cpu") != 0)
            TRY(run_whole(options, "cpu", &wholes[i], folder, table));
    }
    TRY(bench_emit(options, "gpu-whole",
                   "Whole runs on boxes: seconds of `facet solve` from exec to exit, the better of two (cpu: "
                   "one), with four "
                   "values (three of continuous elements) and the report, no file; phases of the second run; "
                   "unknowns on tets are those of the "
                   "trace",
                   table));
done:
    table_destroy(&table);
    snprintf(path, sizeof path, "%s/case.yaml", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/result.json", folder);
    unlink(path);
    rmdir(folder);
    return status;
}
