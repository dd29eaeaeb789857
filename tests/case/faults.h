/* Allocation faults along whole runs of a case, shared by the sampled test and the complete one: from the
 * bytes of the case file to the VTU, the table of values and the JSON, the k-th allocation is made to fail,
 * for k = first, first + step, ... up to the last one. Each such run must end with FACET_ERROR_MACHINE, leave
 * nothing allocated, and leave no file that is not whole. */
#ifndef FACET_TESTS_FAULTS_H
#define FACET_TESTS_FAULTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/run.h"
#include "case/run_case.h"
#include "files.h"

/* A box of quads with a reaction and three kinds of conditions, general cells beside fast ones; a curved Gmsh
 * mesh with a matrix for conductivity; a box large enough for AMG to coarsen; a singular problem; the
 * condensed method; boxes of tets and of prisms; elasticity in both formulations; boxes whose conductivity
 * jumps; vertex functions in pieces; a box that is solved directly; data by group; loads, springs and
 * symmetry; a body that nothing holds; a chain; bodies of revolution, one of an orthotropic material. */
static const char *const fault_cases[] = {
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [3, 3], shape: quad}, refine: 1}\n"
    "equation: diffusion\n"
    "parameters: {k: 2}\n"
    "conductivity: k\n"
    "reaction: 1\n"
    "exact: x*x + k*y\n"
    "boundary: [{on: xmin, neumann: exact}, {on: ymax, robin: {a: 1, g: exact}}]\n"
    "discretization: {degree: 1}\n",
    "mesh: {file: annulus_2_41.msh}\n"
    "equation: diffusion\n"
    "conductivity: [[2 + x, 0.1], [0.1, 3]]\n"
    "exact: x*y\n"
    "boundary: [{on: rest, dirichlet: exact}]\n"
    "discretization: {degree: 2, tau: {hat: 1}}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [11, 11], shape: quad}}\n"
    "equation: diffusion\n"
    "exact: x*x + y\n"
    "discretization: {degree: 1, tau: 1}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [3, 3], shape: triangle, periodic: [x]}}\n"
    "equation: diffusion\n"
    "conductivity: 2\n"
    "exact: cos(pi*y)\n"
    "boundary: [{on: rest, neumann: exact}]\n"
    "discretization: {degree: 1}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 4], shape: triangle}}\n"
    "equation: diffusion\n"
    "reaction: 1\n"
    "exact: x*x + y\n"
    "boundary: [{on: xmin, neumann: exact}, {on: ymax, robin: {a: 1, g: exact}}]\n"
    "discretization: {method: condensed, degree: 3}\n",
    "mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [1, 1, 2], split: five, periodic: [z]}}\n"
    "equation: diffusion\n"
    "conductivity: [[2 + x, 0.1, 0], [0.1, 3, 0], [0, 0, 1]]\n"
    "exact: x*y + cos(2*pi*z)\n"
    "boundary: [{on: xmin, neumann: exact}]\n"
    "discretization: {degree: 1}\n",
    "mesh: {box: {lower: [0, 0, 0], upper: [1, 1, 1], cells: [1, 1, 2], shape: prism}}\n"
    "equation: diffusion\n"
    "exact: x*y + z\n"
    "boundary: [{on: xmin, neumann: exact}, {on: zmax, robin: {a: 1, g: exact}}]\n"
    "discretization: {degree: 2}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 1], shape: triangle}}\n"
    "equation: elasticity\n"
    "material: {E: 1 + x, nu: 0.3}\n"
    "exact: [x*y, x - y]\n"
    "boundary: [{on: xmin, traction: exact}, {on: ymax, displacement: [exact, null], traction: [null, "
    "exact]}]\n"
    "discretization: {degree: 1}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 1], shape: quad}}\n"
    "equation: elasticity\n"
    "material: {mu: 1, lambda: 2}\n"
    "exact: [x*y, x - y]\n"
    "boundary: [{on: xmin, traction: exact}, {on: ymax, gradient_pressure: exact}]\n"
    "discretization: {degree: 1, formulation: gradient}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 2], shape: quad}}\n"
    "equation: diffusion\n"
    "conductivity: if(x < 0.5, 1, 1e6)\n"
    "exact: y\n"
    "discretization: {degree: 1}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 2], shape: quad}}\n"
    "equation: diffusion\n"
    "conductivity: if(x < 0.5, 1, 1e6)\n"
    "exact: y\n"
    "discretization: {method: continuous, degree: 2}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 4], shape: triangle}}\n"
    "equation: diffusion\n"
    "conductivity: if(mod(floor(2*x) + floor(2*y), 2) < 1, 1, 1e4)\n"
    "exact: sin(2*pi*x)*sin(2*pi*y)\n"
    "discretization: {degree: 2}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [4, 2], shape: quad}}\n"
    "equation: diffusion\n"
    "exact: y\n"
    "discretization: {degree: 1}\n",
    "mesh: {file: annulus_2_41.msh, scale: 2}\n"
    "equation: diffusion\n"
    "parameters: {a: 1, b: 2*a}\n"
    "source: [{on: [lower part], value: b}]\n"
    "reaction: [{on: lower part, value: 1 + x^2}]\n"
    "interfaces: [{between: [lower part, upper part], conductance: b}]\n"
    "boundary: [{on: [inner], total_flux: 1}, {on: rest, neumann: 0}]\n"
    "discretization: {degree: 1}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 1], shape: triangle}}\n"
    "equation: diffusion\n"
    "plane: axisymmetric\n"
    "source: 1\n"
    "boundary: [{on: rest, robin: {a: 1, g: 0}}]\n"
    "discretization: {degree: 1}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 1], shape: triangle}}\n"
    "equation: elasticity\n"
    "material: {E: 1, nu: 0.3}\n"
    "thermal: {expansion: 1, temperature: x}\n"
    "boundary: [{on: xmin, symmetry: true}, {on: ymin, spring: {normal: 2, tangential: 1}}, {on: [xmax, "
    "ymax], "
    "force: [1, 1], pressure: y}]\n"
    "discretization: {degree: 1}\n",
    "mesh: {file: periodic_41.msh}\n"
    "equation: elasticity\n"
    "material: {E: 1, nu: 0.3}\n"
    "jump: [[1, 0.5], [0.5, 2]]\n"
    "boundary: [{on: rest, pressure: 1}]\n"
    "discretization: {degree: 1}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 1], shape: triangle}}\n"
    "cases:\n"
    "  - {name: heat, equation: diffusion, source: 1, boundary: [{on: rest, dirichlet: 0}], discretization: "
    "{degree: 1}}\n"
    "  - {name: stress, equation: elasticity, material: {E: 1, nu: 0.3}, thermal: {expansion: 1, "
    "temperature: {case: "
    "heat}}, boundary: [{on: rest, fixed: true}], discretization: {degree: 1}}\n",
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [2, 1], shape: triangle}}\n"
    "equation: elasticity\n"
    "plane: axisymmetric\n"
    "material: {orthotropic: {E: [1, 2, 3 + x], nu: [0, 0, 0], G: [1, 1, 1], first: [1, 1]}}\n"
    "boundary: [{on: ymin, roller: y}, {on: rest, pressure: 1}]\n"
    "discretization: {degree: 1}\n",
};
enum {
    BOX,
    GMSH,
    LARGE,
    SINGULAR,
    CONDENSED,
    SOLID,
    PRISMS,
    ELASTIC,
    GRADIENT,
    LAYERS,
    NODES,
    CHESS,
    PLAIN,
    GROUPS,
    AXIS,
    LOADS,
    AFLOAT,
    CHAIN,
    AXIS_ELASTIC
};
static const struct {
    int which;
    const char *method, *preconditioner;
} fault_ways[] = {
    {BOX, "direct", "auto"},       {BOX, "cg", "block"},          {BOX, "fgmres", "block"},
    {GMSH, "direct", "auto"},      {GMSH, "cg", "block"},         {GMSH, "cg", "jacobi"},
    {LARGE, "direct", "auto"},     {LARGE, "cg", "amg"},          {LARGE, "fgmres", "amg"},
    {SINGULAR, "direct", "auto"},  {SINGULAR, "cg", "block"},     {SINGULAR, "cg", "amg"},
    {SINGULAR, "fgmres", "block"}, {CONDENSED, "direct", "auto"}, {CONDENSED, "cg", "amg"},
    {SOLID, "direct", "auto"},     {ELASTIC, "direct", "auto"},   {ELASTIC, "cg", "block"},
    {GRADIENT, "fgmres", "block"}, {LAYERS, "cg", "additive"},    {NODES, "cg", "patches"},
    {CHESS, "cg", "pmg"},          {PLAIN, "direct", "auto"},     {GROUPS, "cg", "block"},
    {LOADS, "direct", "auto"},     {LOADS, "cg", "block"},        {CHAIN, "direct", "auto"},
    {PRISMS, "cg", "pmg"},         {AFLOAT, "direct", "auto"},    {AFLOAT, "cg", "amg"},
    {AXIS, "direct", "auto"},      {AXIS, "cg", "amg"},           {AXIS_ELASTIC, "direct", "auto"},
};
enum { N_FAULT_WAYS = sizeof fault_ways / sizeof *fault_ways };

static char fault_directory[] = "/tmp/facet-test-faults-XXXXXX";

struct fault_run {
    const char *device, *text;
    char path[64], vtu[64], csv[64], settings[5][256];
};

static const char *const fault_meshes[] = {"annulus_2_41.msh", "periodic_41.msh"};

static inline int fault_set_up(void **state) {
    (void)state;
    char *bytes = NULL, path[64];
    size_t n;
    if (mkdtemp(fault_directory) == NULL) return -1;
    facet_status status = FACET_OK;
    for (int i = 0; i < 2 && status == FACET_OK; i++) {
        char from[64];
        snprintf(path, sizeof path, "%s/%s", fault_directory, fault_meshes[i]);
        snprintf(from, sizeof from, "tests/meshes/%s", fault_meshes[i]);
        if (file_read_whole(from, &bytes, &n) != FACET_OK) return -1;
        status = file_write_whole(path, bytes, n);
        base_free(&bytes);
    }
    return status == FACET_OK ? 0 : -1;
}

static inline int fault_tear_down(void **state) {
    (void)state;
    char path[64];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", fault_directory, fault_meshes[i]);
        unlink(path);
    }
    return rmdir(fault_directory); /* fails when a part of a file was left */
}

static inline void fault_prepare(struct fault_run *r, int way, const char *device) {
    int which = fault_ways[way].which, is_elastic = which == ELASTIC || which == GRADIENT || which >= LOADS;
    const char *from = which == GMSH     ? "1.3"
                       : which == GROUPS ? "2.6"
                                         : "0",
               *to = which == GMSH     ? "1.4"
                     : which == GROUPS ? "2.8"
                                       : "1";
    *r = (struct fault_run){.device = device, .text = fault_cases[which]};
    snprintf(r->path, sizeof r->path, "%s/case.yaml", fault_directory);
    snprintf(r->vtu, sizeof r->vtu, "%s/a.vtu", fault_directory);
    snprintf(r->csv, sizeof r->csv, "%s/a.csv", fault_directory);
    const char *prefix = which == CHAIN ? "cases.1." : "";
    snprintf(r->settings[0], 256, "%soutput.file=%s", prefix, r->vtu);
    snprintf(r->settings[1], 256, "%ssolver.method=%s", prefix, fault_ways[way].method);
    snprintf(r->settings[2], 256, "%ssolver.preconditioner=%s", prefix, fault_ways[way].preconditioner);
    snprintf(
        r->settings[3], 256,
        "%svalues=[{name: l, field: %s, along: [[%s, 0.2%s], [%s, 0.3%s]], points: 3, file: %s}, {name: m, "
        "field: %s, take: max}, {name: i, field: %s, take: mean%s}]",
        prefix, is_elastic ? "stress" : "q", from, which == SOLID || which == PRISMS ? ", 0.1" : "", to,
        which == SOLID || which == PRISMS ? ", 0.7" : "", r->csv,
        which == CONDENSED || which == ELASTIC || which >= LOADS || which == NODES ? "u" : "u_star",
        is_elastic ? "traction" : "q",
        which == AXIS_ELASTIC ? ", on: xmax"
        : which == AFLOAT     ? ", on: rest"
        : is_elastic          ? ", on: xmin"
        : which == GROUPS     ? ", on: [inner, rest]"
                              : "");
    snprintf(r->settings[4], 256, "%ssolver.rtol=1e-8", prefix);
}

/* Once along the whole way. */
static inline facet_status fault_walk(const struct fault_run *r, struct text *json_text) {
    facet_status status = FACET_OK;
    struct case_file *file = NULL;
    facet_context *context = NULL;
    struct run runs[2] = {{0}, {0}};
    struct json json;
    int n = 0;
    const char *const settings[5] = {r->settings[0], r->settings[1], r->settings[2], r->settings[3],
                                     r->settings[4]};
    TRY(case_read_bytes(r->path, r->text, strlen(r->text), 5, settings, &file));
    TRY(facet_context_create(r->device, &context));
    for (const struct case_file *f = file; f != NULL; f = f->next, n++)
        TRY(run_solve(f, context, &(struct run_options){.before = runs, .n_before = n}, &runs[n]));
    json_begin(&json, json_text);
    run_write_json(&runs[n - 1], &runs[n - 1].errors, &json);
    TRY(json_text->status);
done:
    run_destroy(&runs[1]);
    run_destroy(&runs[0]);
    facet_context_destroy(&context);
    case_destroy(&file);
    return status;
}

/* Returns how many allocations were made to fail; *total: how many a run has. */
static inline int64_t fault_all(const struct fault_run *r, int64_t first, int64_t step, int64_t *total) {
    struct base_memory before, after;
    struct text json = {0};
    int64_t failed = 0;
    for (int clean = 0; clean < 2; clean++) { /* the first makes what lives for good */
        base_memory_read(&before);
        if (fault_walk(r, &json) != FACET_OK) fail_msg("%s", base_message());
        text_free(&json);
        base_memory_read(&after);
    }
    assert_int_equal(after.live_blocks, before.live_blocks);
    *total = after.allocations - before.allocations;
    for (int64_t k = first; k <= *total; k += step, failed++) {
        unlink(r->vtu);
        unlink(r->csv);
        base_memory_fail_at(k);
        facet_status status = fault_walk(r, &json);
        base_memory_fail_at(0);
        text_free(&json);
        base_memory_read(&after);
        if (status != FACET_ERROR_MACHINE)
            fail_msg("%s, %s, %s: allocation %lld of %lld: status %d, %s", r->device, r->settings[1],
                     r->settings[2], (long long)k, (long long)*total, (int)status, base_message());
        if (count_files(fault_directory, ".part") != 0)
            fail_msg("%s: allocation %lld of %lld leaves a part of a file", r->device, (long long)k,
                     (long long)*total);
        if (after.live_blocks != before.live_blocks || after.live_bytes != before.live_bytes)
            fail_msg("%s, %s, %s: allocation %lld of %lld leaves %lld blocks (%s)", r->device, r->settings[1],
                     r->settings[2], (long long)k, (long long)*total,
                     (long long)(after.live_blocks - before.live_blocks), base_message());
    }
    unlink(r->vtu);
    unlink(r->csv);
    return failed;
}

/* All ways on one device. step 1: every allocation. */
static inline void fault_device(const char *device, int threads, int64_t step) {
    int64_t failed = 0, all = 0, total;
    base_set_threads(threads);
    for (int way = 0; way < N_FAULT_WAYS; way++) {
        struct fault_run r;
        fault_prepare(&r, way, device);
        failed += fault_all(&r, 1 + 7 * way % step, step, &total);
        all += total;
    }
    print_message("%s, threads: %d; %lld of %lld allocations failed in turn, over %d runs\n", device, threads,
                  (long long)failed, (long long)all, N_FAULT_WAYS);
    base_set_threads(0);
}

#endif
