/* Processor time of facet_solver_take with "max" and "min", by the public interface alone, so that it can be
 * linked with the library of any version, and two versions be compared (bench/versions/extremes.py):
 *
 *     cc -O2 -Iinclude bench/peers/extremes.c LIBRARY... -o extremes && OMP_NUM_THREADS=1 ./extremes [MESH
 * [DEGREE]]
 *
 * One line for every case and field: its name, the values, and ms of the fastest of several calls. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <facet.h>

static const struct mesh {
    const char *shape, *cells;
    int dim, n_cells, most; /* most: the highest degree that is solved in seconds */
} meshes[] = {{"tet", "[6, 6, 6]", 3, 1296, 5},     {"tet", "[10, 10, 10]", 3, 6000, 3},
              {"tet", "[15, 15, 15]", 3, 20250, 2}, {"hex", "[10, 10, 10]", 3, 1000, 4},
              {"triangle", "[30, 30]", 2, 1800, 5}, {"triangle", "[100, 100]", 2, 20000, 3},
              {"quad", "[40, 40]", 2, 1600, 5}};

/* By dimension - 2: a solution that the mesh resolves, and one that it does not. */
static const char *const solutions[2][2] = {
    {"sin(3*pi*x)*sin(2*pi*y)", "exp(-200*((x-0.31)^2+(y-0.22)^2))+0.1*sin(40*x*y)"},
    {"sin(3*pi*x)*sin(2*pi*y)*cos(pi*z)",
     "exp(-200*((x-0.31)^2+(y-0.22)^2+(z-0.57)^2))+0.1*sin(40*x*y+9*z)"}};

static const struct quantity {
    int elastic, component;
    const char *field;
} quantities[] = {{0, -1, "u"}, {0, 0, "q"}, {0, -1, "q"}, {1, 0, "u"}, {1, -1, "u"}, {1, -1, "von_mises"}};

static double measure(const facet_solver *solver, const struct quantity *wanted, const char *take,
                      double *value) {
    double least = HUGE_VAL, all = 0.0;
    for (int run = 0; run < 400 && (run < 5 || all < 0.15); run++) {
        double values[9];
        int n;
        const clock_t begin = clock();
        if (facet_solver_take(solver, wanted->field, wanted->component, take, 0, NULL, values, &n) !=
            FACET_OK) {
            fprintf(stderr, "extremes: %s\n", facet_message());
            exit(1);
        }
        const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        *value = values[0];
        all += seconds;
        least = fmin(least, seconds);
    }
    return 1e3 * least;
}

static void run(facet_context *context, const struct mesh *mesh, int degree, int rough, int elastic) {
    char text[2048];
    const char *given = solutions[mesh->dim - 2][rough];
    int n = snprintf(text, sizeof text, "mesh: {box: {lower: %s, upper: %s, cells: %s, shape: %s}}\n",
                     mesh->dim == 2 ? "[0, 0]" : "[0, 0, 0]", mesh->dim == 2 ? "[1, 1]" : "[1, 1, 1]",
                     mesh->cells, mesh->shape);
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "discretization: {degree: %d, operator: mapped}\nsolver: {rtol: 1.0e-4}\n", degree);
    if (elastic && mesh->dim == 2)
        snprintf(text + n, sizeof text - (size_t)n,
                 "equation: elasticity\nmaterial: {mu: 1, lambda: 1.25}\nexact: ['%s', 'x*x*y-y']\n", given);
    else if (elastic)
        snprintf(text + n, sizeof text - (size_t)n,
                 "equation: elasticity\nmaterial: {mu: 1, lambda: 1.25}\nexact: ['%s', 'x*x*y-z', 'z*y']\n",
                 given);
    else
        snprintf(text + n, sizeof text - (size_t)n, "equation: diffusion\nexact: '%s'\n", given);
    facet_case *file;
    if (facet_case_parse(context, text, NULL, 0, NULL, &file) != FACET_OK) {
        fprintf(stderr, "extremes: %s\n%s", facet_message(), text);
        exit(1);
    }
    facet_case_solve(file, 0);
    const facet_solver *solver = facet_case_solver(file, 0);
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++) {
        const struct quantity *wanted = &quantities[i];
        double value;
        if (wanted->elastic != elastic) continue;
        for (int greatest = 1; greatest >= 0; greatest--) {
            const char *take = greatest ? "max" : "min";
            const double ms = measure(solver, wanted, take, &value);
            printf("%s_%d k%d %s %s %s%s %s %.15g %.4f\n", mesh->shape, mesh->n_cells, degree,
                   rough ? "rough" : "smooth", elastic ? "elasticity" : "diffusion", wanted->field,
                   wanted->component == 0 ? "_x" : "", take, value, ms);
            fflush(stdout);
        }
    }
    facet_case_destroy(&file);
}

int main(int argc, char **argv) {
    facet_context *context;
    if (facet_context_create("cpu", &context) != FACET_OK) return 1;
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%d", meshes[m].shape, meshes[m].n_cells);
        if (argc > 1 && strstr(name, argv[1]) == NULL) continue;
        for (int degree = 1; degree <= meshes[m].most; degree++)
            for (int kind = 0; kind < 4 && (argc < 3 || atoi(argv[2]) == degree); kind++)
                run(context, &meshes[m], degree, kind % 2, kind / 2);
    }
    facet_context_destroy(&context);
    return 0;
}
