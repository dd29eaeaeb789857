/* Which support is the softest: for who reads that a solve failed, or is not to be trusted, and has to find
 * what holds the body, or a piece of it, so weakly that rounding decides about where it is. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "problem/problem.h"

/* What is firmer than this part of the stiffness of the body is not to blame. */
#define WEAK 1e-6

static const char spring[] = "the spring";

/* The largest of the numbers of a field; 0 where there is none, or it varies. */
static double largest_number(const struct field *field) {
    double value, largest = 0.0;
    for (int c = 0; field != NULL && c < field_n_components(field); c++)
        if (field_is_number(field, c, &value)) largest = fmax(largest, fabs(value));
    return largest;
}

/* Of a spring: the smaller one of k along the normal and across it, where both hold. */
static double softest_number(const struct field *k) {
    double along, across;
    if (k == NULL || field_n_components(k) != 2 || !field_is_number(k, 0, &along) ||
        !field_is_number(k, 1, &across))
        return largest_number(k);
    return along > 0.0 && across > 0.0 ? fmin(along, across) : fmax(along, across);
}

/* The largest coefficient of all cells, in their middles: K, or mu. */
static facet_status largest_coefficient(const struct problem *p, const struct problem_resolved *r,
                                        double *largest) {
    facet_status status = FACET_OK;
    double x[3], J[9], values[9];
    *largest = 0.0;
    for (int32_t cell = 0; cell < p->mesh->n_cells; cell++) {
        const int32_t region = r->cell_region != NULL ? r->cell_region[cell] : r->region;
        const struct field *field = r->mu[region] != NULL ? r->mu[region] : r->conductivity[region];
        mesh_middle(p->mesh, cell, -1, x, J);
        TRY(field_eval(field, 1, p->mesh->dim, x, values));
        for (int c = 0; c < field_n_components(field); c++) *largest = fmax(*largest, fabs(values[c]));
    }
done:
    return status;
}

struct softest {
    double size;
    char name[160];
};

static void keep_softer(double size, const char *what, const char *part, const char *other,
                        struct softest *softest) {
    if (!(size > 0.0) || size >= softest->size) return;
    softest->size = size;
    if (other != NULL)
        snprintf(softest->name, sizeof softest->name, "%s between '%.60s' and '%.60s'", what, part, other);
    else
        snprintf(softest->name, sizeof softest->name, "%s on '%.100s'", what, part);
}

facet_status problem_softest_support(const struct problem *p, const struct problem_resolved *r, char *text,
                                     size_t bytes) {
    facet_status status = FACET_OK;
    struct softest softest = {.size = INFINITY};
    struct mesh_quality size;
    double most, length = 0.0;
    text[0] = '\0';
    for (int i = 0; i < p->n_conditions; i++) {
        const struct problem_condition *c = &p->conditions[i];
        keep_softer(softest_number(c->spring), spring, c->part, NULL, &softest);
        if (c->kind == HDG_ROBIN) keep_softer(largest_number(c->a), "robin a", c->part, NULL, &softest);
    }
    for (int i = 0; i < p->n_contacts; i++)
        keep_softer(largest_number(p->contacts[i].conductance), "the conductance", p->contacts[i].between[0],
                    p->contacts[i].between[1], &softest);
    if (isinf(softest.size) || p->mesh->part != NULL) return FACET_OK; /* parts see their own cells alone */
    TRY(mesh_measure_size(p->mesh, &size));
    TRY(largest_coefficient(p, r, &most));
    for (int d = 0; d < p->mesh->dim; d++) length = fmax(length, size.upper[d] - size.lower[d]);
    if (!(softest.size * length < WEAK * most)) return FACET_OK;
    snprintf(text, bytes,
             "the softest support is %s: %.3g, which is %.1e of the %s over the size of the body%s",
             softest.name, softest.size, softest.size * length / most,
             r->mu[0] != NULL ? "shear modulus" : "conductivity",
             strncmp(softest.name, spring, strlen(spring)) == 0
                 ? ": make it stiffer, or, where the loads are in balance, leave it out: a "
                   "body that nothing holds is solved up to its rigid motions"
                 : "");
done:
    return status;
}
