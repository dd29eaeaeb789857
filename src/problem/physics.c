#include "problem/physics.h"

#include <stdio.h>
#include <string.h>

#include "problem/problem.h"

static const struct physics table[] = {
    {.equation = FACET_DIFFUSION,
     .name = "diffusion",
     .chosen_by = OPTION_DISCRETIZATION,
     .entries = {&equation_hybrid, &equation_condensed, &equation_condensed},
     .coefficient = "conductivity",
     .keys = {"conductivity", "reaction", "interfaces"},
     .parts = {"dirichlet", "neumann", "robin", "total_flux"},
     .essential = HDG_DIRICHLET,
     .through = "flux",
     .through_phrase = "flux through",
     .inside = "q",
     .through_formula = "q . n",
     .through_verb = "goes through",
     .example = "sin(pi*x)*sin(pi*y)",
     .resolve = problem_resolve_diffusion},
    {.equation = FACET_ELASTICITY,
     .name = "elasticity",
     .chosen_by = OPTION_FORMULATION,
     .entries = {&equation_symmetric, &equation_gradient},
     .coefficient = "material",
     .needs_coefficient = 1,
     .keys = {"material", "discretization.formulation", "thermal"},
     .parts = {"displacement", "traction", "gradient_pressure", "fixed", "roller", "symmetry", "pressure",
               "force", "spring"},
     .essential = HDG_MECHANICAL,
     .through = "traction",
     .through_phrase = "traction on",
     .inside = "the stress",
     .through_formula = "sigma n",
     .through_verb = "acts upon",
     .example = "[sin(x)*y, x*cos(y)]",
     .resolve = problem_resolve_elastic},
};
const int physics_count = (int)(sizeof table / sizeof table[0]);
_Static_assert(AT_DIFFUSION == 1 << FACET_DIFFUSION && AT_ELASTICITY == 1 << FACET_ELASTICITY,
               "the places of equations stand in the order of facet_equation");

const struct physics *physics_of(facet_equation equation) {
    return (int)equation >= 0 && (int)equation < physics_count ? &table[equation] : NULL;
}

const struct equation *physics_entry(const struct physics *p, const struct options *o) {
    return p->entries[o != NULL ? o->words[p->chosen_by] : 0];
}

static int lists_key(const struct physics *p, const char *key) {
    for (int i = 0; i < PHYSICS_MOST_KEYS && p->keys[i] != NULL; i++)
        if (strcmp(p->keys[i], key) == 0) return 1;
    return 0;
}

int physics_has_key(const struct physics *p, const char *key) {
    int others = 0;
    for (int i = 0; i < physics_count; i++) others |= lists_key(&table[i], key);
    return !others || lists_key(p, key);
}

static int has_field(const struct physics *p, const char *name) {
    int field = hdg_find_field(name);
    for (int i = 0; field >= 0 && p->entries[i] != NULL; i++)
        if (equation_has_field(p->entries[i], (enum hdg_field)field)) return 1;
    return strcmp(p->through, name) == 0;
}

const struct physics *physics_of_field(const struct physics *own, const char *name) {
    if (has_field(own, name)) return own;
    for (int i = 0; i < physics_count; i++)
        if (has_field(&table[i], name)) return &table[i];
    return NULL;
}

const char *physics_elsewhere(const struct physics *p, const struct options *o, enum hdg_field field,
                              char *instead, size_t instead_bytes) {
    const char *const *words = option_words[p->chosen_by];
    const struct equation *own = physics_entry(p, o);
    char fields[128];
    int which = 0;
    equation_list_fields(own, " and ", fields, sizeof fields);
    snprintf(instead, instead_bytes, "; %s has %s%s", words[o->words[p->chosen_by]], fields,
             own->raise && hdg_fields[field].star ? ", and its u has that order itself" : "");
    while (p->entries[which] != NULL && !equation_has_field(p->entries[which], field)) which++;
    return words[which];
}
