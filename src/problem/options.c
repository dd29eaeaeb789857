/* The words, and what refuses them. The rules are looked at in their order, and the first that holds is said:
 * those of words among themselves and of the equation come first, then those of the three backends. */
#include "problem/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "boxsem/boxsem.h"
#include "problem/problem.h"

#define OPTION_TEXT(key, name, word)                  word,
#define OPTION_LIST(key, member, api, path, phrase)   [OPTION_##key] = {key##_WORDS(OPTION_TEXT, key)},
#define OPTION_PATH(key, member, api, path, phrase)   path,
#define OPTION_PHRASE(key, member, api, path, phrase) phrase,
#define OPTION_OFFSET(key, member, api, path, phrase) offsetof(facet_options, api),
const char *const option_words[OPTION_N_KEYS][OPTION_MAX_WORDS] = {OPTION_KEYS(OPTION_LIST)};
const char *const option_paths[OPTION_N_KEYS] = {OPTION_KEYS(OPTION_PATH)};
static const char *const numbers[] = {"smoother_degree", "coarse_unknowns", "fill", "degree"};
static const char *const phrases[] = {OPTION_KEYS(OPTION_PHRASE) "a smoother_degree", "coarse_unknowns",
                                      "a fill", "a degree above 16"};
static const size_t offsets[] = {OPTION_KEYS(OPTION_OFFSET)};

const char *option_name(enum option_key key) {
    if (key == OPTION_DISCRETIZATION) return "discretization"; /* "method" alone means that of the solver */
    const char *dot = key < OPTION_N_KEYS ? strrchr(option_paths[key], '.') : NULL;
    return dot != NULL ? dot + 1 : key < OPTION_N_KEYS ? option_paths[key] : numbers[key - OPTION_N_KEYS];
}

/* ------------------------------------------------------------------------------------------ the door */

/* A struct of facet.h must not end in padding: an older program leaves anything where later members lie. */
#define ENDS_WITH(type, member)                                                                              \
    _Static_assert(offsetof(type, member) + sizeof((type){0}.member) == sizeof(type), #type)
ENDS_WITH(facet_options, overlap);
ENDS_WITH(facet_box, split);
ENDS_WITH(facet_mesh_info, smallest_jacobian);
ENDS_WITH(facet_report, conservation_whole);
ENDS_WITH(facet_cells, nodes);
ENDS_WITH(facet_members, nodes);
ENDS_WITH(facet_arrays, groups);
ENDS_WITH(facet_sample_info, n_nodes);
ENDS_WITH(facet_sample_field, on_cells);
ENDS_WITH(facet_case_info, n_parameters);
ENDS_WITH(facet_value, n);
ENDS_WITH(facet_level, rate);
ENDS_WITH(facet_errors, stress_L2);
_Static_assert(FACET_N_PHASES <= FACET_MAX_PHASES, "the report has no room for more phases");

#define DEFAULT_RTOL 1e-10

void options_follow_error(struct options *o, int has_rtol) {
    if (o->error > 0.0 && !has_rtol) o->rtol = 0.1 * o->error;
}

void facet_options_default(facet_options *options, size_t size) {
    static const facet_options defaults = {
        .degree = 3, .postprocess = 1, .rtol = DEFAULT_RTOL, .max_iterations = 10000};
    if (options == NULL || size < sizeof size) return;
    memcpy(options, &size, sizeof size);
    base_struct_write("facet_options", &defaults, options, sizeof defaults);
}

#define PATCHES_LEFT "; patches of faces run in 'facet bench gmg-smoothers' only, faces and rows are as fast"

const char *options_left(const char *path, const char *word) {
    static const struct {
        enum option_key key;
        const char *word, *hint;
    } left[] = {
        {OPTION_OPERATOR, "tp", "; tp runs in 'facet bench huismann2020' only, tensor is faster"},
        {OPTION_OPERATOR, "tpt", "; tpt runs in 'facet bench huismann2020' only, tensor is faster"},
        {OPTION_OPERATOR, "mm",
         "; mm runs in 'facet bench huismann2020' only, mapped solves the same problem"},
        {OPTION_PRECONDITIONER, "stars",
         "; stars runs in 'facet bench huismann2020' only, additive and chebyshev are faster"},
        {OPTION_SMOOTHER, "point",
         "; point runs in 'facet bench cui2024-iterations' only, patches take fewer iterations"},
        {OPTION_SMOOTHER, "jacobi", "; jacobi is chebyshev with smoother_degree: 1"},
        {OPTION_SMOOTHER, "cells", PATCHES_LEFT},
        {OPTION_SMOOTHER, "vertices", PATCHES_LEFT},
        {OPTION_SMOOTHER, "sweep-cells", PATCHES_LEFT},
        {OPTION_SMOOTHER, "sweep-vertices", PATCHES_LEFT},
    };
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (strcmp(path, option_paths[left[i].key]) == 0 && strcmp(word, left[i].word) == 0)
            return left[i].hint;
    return "";
}

int options_find(enum option_key key, const char *word) {
    for (int i = 0; option_words[key][i] != NULL; i++)
        if (strcmp(option_words[key][i], word) == 0) return i;
    return -1;
}

static facet_status refuse_word(enum option_key key, const char *word) {
    char valid[256] = "";
    const struct device *device;
    if (key == OPTION_COARSE_DEVICE) return base_wrap(device_find(word, &device), "coarse_device");
    for (int i = 0; option_words[key][i] != NULL; i++)
        snprintf(valid + strlen(valid), sizeof valid - strlen(valid), "%s%s", i > 0 ? ", " : "",
                 option_words[key][i]);
    return base_fail(FACET_ERROR_INPUT, "unknown %s '%s'; valid: %s%s", option_name(key), word, valid,
                     options_left(option_paths[key], word));
}

facet_status options_read(const facet_options *given, struct options *o) {
    facet_options own;
    facet_options_default(&own, sizeof own);
    if (given != NULL) {
        facet_status status = base_struct_read("facet_options", given, &own, sizeof own);
        if (status != FACET_OK) return status;
    }
    given = &own;
    *o = (struct options){.has_formulation = given->formulation != NULL,
                          .has_plane = given->plane != NULL,
                          .degree = given->degree,
                          .postprocess = given->postprocess,
                          .smoother_degree = given->smoother_degree,
                          .warm_start = given->warm_start,
                          .watch = given->watch,
                          .max_iterations = given->max_iterations,
                          .coarse_unknowns = given->coarse_unknowns,
                          .tau = given->tau,
                          .petsc = given->petsc,
                          .tau_hat = given->tau_hat,
                          .fill = given->fill,
                          .rtol = given->rtol,
                          .error = given->error};
    options_follow_error(o, o->rtol != DEFAULT_RTOL);
    for (int key = 0; key < OPTION_N_KEYS; key++) {
        const char *word;
        memcpy(&word, (const char *)given + offsets[key], sizeof word);
        if (word != NULL) o->words[key] = options_find((enum option_key)key, word);
        if (o->words[key] < 0) return refuse_word((enum option_key)key, word);
    }
    return FACET_OK;
}

void options_write(const struct options *given, facet_options *o) {
    o->degree = given->degree;
    o->postprocess = given->postprocess;
    o->smoother_degree = given->smoother_degree;
    o->warm_start = given->warm_start;
    o->watch = given->watch;
    o->max_iterations = given->max_iterations;
    o->coarse_unknowns = given->coarse_unknowns;
    o->tau = given->tau;
    o->petsc = given->petsc;
    o->tau_hat = given->tau_hat;
    o->fill = given->fill;
    /* One that was given beside an error is not to look like none. */
    int beside = given->error > 0.0 && given->rtol == DEFAULT_RTOL;
    o->rtol = beside ? nextafter(DEFAULT_RTOL, 0.0) : given->rtol;
    o->error = given->error;
    for (int key = 0; key < OPTION_N_KEYS; key++) {
        const char *word = option_words[key][given->words[key]];
        if (key == OPTION_FORMULATION && !given->has_formulation) word = NULL;
        if (key == OPTION_PLANE && !given->has_plane) word = NULL;
        memcpy((char *)o + offsets[key], &word, sizeof word);
    }
}

/* ------------------------------------------------------------------------------------------ the rules */

#define BIT(name)          (1u << (name))
#define ANY                (~1u) /* any word but the first, or a number */
#define KEY(key)           BIT(OPTION_##key)
#define PLAIN              (BIT(PRECONDITIONER_NONE) | BIT(PRECONDITIONER_JACOBI))
#define SIMPLE             (PLAIN | BIT(PRECONDITIONER_BLOCK))
#define MULTIGRIDS         (BIT(PRECONDITIONER_PMG) | BIT(PRECONDITIONER_GMG))
#define OF_CONTINUOUS      (~(BIT(SMOOTHER_PATCHES) - 1)) /* smoothers */
#define OF_PMG             (BIT(SMOOTHER_AUTO) | BIT(SMOOTHER_FACES))
#define PRECONDITIONED     (~(BIT(PRECONDITIONER_AUTO) | BIT(PRECONDITIONER_NONE)))
#define OF_CYCLES          (KEY(CYCLE) | KEY(SMOOTHER) | KEY(SMOOTHER_DEGREE) | KEY(PRECISION)) /* keys */
#define GIVEN              1 /* keys whose first word may be given: its number and this; 0: none was */
#define OF_BODY            (BIT(GIVEN + PLANE_STRAIN) | BIT(GIVEN + PLANE_STRESS))
#define AXISYMMETRIC       BIT(GIVEN + PLANE_AXISYMMETRIC)
#define ALONE              0, 0
#define BESIDE(key, words) OPTION_##key, words
#define UNSYMMETRIC        "the matrix of the formulation gradient under tractions is not symmetric, and "

static unsigned bits(const struct options *o, int key) {
    int given = key == OPTION_SMOOTHER_DEGREE   ? o->smoother_degree > 0
                : key == OPTION_COARSE_UNKNOWNS ? o->coarse_unknowns > 0
                : key == OPTION_FILL            ? o->fill > 0.0
                : key == OPTION_HIGH_DEGREE     ? o->degree > PROBLEM_MAX_DEGREE
                : key == OPTION_FORMULATION     ? (o->has_formulation ? GIVEN + o->formulation : 0)
                : key == OPTION_PLANE           ? (o->has_plane ? GIVEN + o->plane : 0)
                                                : o->words[key];
    return BIT(given);
}

/* Refused are these words of these keys at a place with all these bits, beside these words of another key (0:
 * whatever it is). In a sentence %w is the word, %o that of the other key, %k the name of the key, and %a how
 * one speaks of it. */
static const struct refusal {
    unsigned keys, words, place;
    enum option_key other;
    unsigned beside;
    const char *sentence;
} rules[] = {
    {KEY(PLANE), OF_BODY, AT_DIFFUSION, ALONE,
     "%w belongs to equation: elasticity; diffusion has axisymmetric"},
    {KEY(DISCRETIZATION), ANY, AT_DIFFUSION, BESIDE(PLANE, AXISYMMETRIC),
     "the discretization %w does not know plane: axisymmetric; use hdg"},
    {KEY(FORMULATION), BIT(GIVEN + FORMULATION_GRADIENT), AT_ELASTICITY, BESIDE(PLANE, AXISYMMETRIC),
     "the formulation %w does not know plane: axisymmetric; use symmetric"},
    {KEY(FORMULATION), ANY, AT_DIFFUSION, ALONE, "a formulation belongs to elasticity"},
    {KEY(DISCRETIZATION), ANY, AT_ELASTICITY, ALONE,
     "the discretization %w belongs to equation: diffusion; elasticity has hdg"},
    {KEY(OPERATOR), BIT(OPERATOR_MAPPED), AT_CONTINUOUS, ALONE,
     "the operator %w belongs to the discretizations hdg and condensed; continuous has tensor"},
    {KEY(SMOOTHER), OF_CONTINUOUS, AT_TRACE, ALONE,
     "the smoother %w belongs to the discretization continuous"},
    {KEY(PRECONDITIONER), BIT(PRECONDITIONER_PATCHES), AT_TRACE, ALONE,
     "the preconditioner %w belongs to the discretization continuous"},
    {KEY(PRECONDITIONER), BIT(PRECONDITIONER_GMG), 0, BESIDE(DISCRETIZATION, BIT(DISCRETIZATION_CONDENSED)),
     "the preconditioner gmg belongs to the discretizations hdg and continuous; use amg"},
    {KEY(PRECONDITIONER), PRECONDITIONED, AT_TRACE, BESIDE(METHOD, BIT(METHOD_DIRECT)),
     "a direct solve has no preconditioner; it needs method: cg"},

    /* Continuous elements. */
    {KEY(PRECONDITIONER),
     ~(BIT(PRECONDITIONER_AUTO) | PLAIN | BIT(PRECONDITIONER_GMG) | BIT(PRECONDITIONER_PATCHES)), AT_BRICK,
     ALONE,
     "the preconditioner %w does not belong to the discretization continuous, which has none, jacobi, gmg "
     "and patches"},
    {KEY(COARSE_DEVICE) | KEY(COARSE_UNKNOWNS) | KEY(DEGREES) | KEY(FILL), ANY, AT_BRICK, ALONE,
     "%a belongs to the discretization hdg"},
    {KEY(METHOD), BIT(METHOD_DIRECT), AT_BRICK | AT_VARYING, ALONE,
     "the direct solve of the discretization continuous needs a conductivity and a reaction that are the "
     "same in all cells; use {method: cg}"},
    {OF_CYCLES, ANY, AT_BRICK, BESIDE(METHOD, BIT(METHOD_DIRECT)), "%a does not belong to the direct solve"},
    {KEY(PRECONDITIONER), PRECONDITIONED, AT_BRICK, BESIDE(METHOD, BIT(METHOD_DIRECT)),
     "%a does not belong to the direct solve"},
    {OF_CYCLES, ANY, AT_BRICK, BESIDE(PRECONDITIONER, PLAIN),
     "%a needs the preconditioner gmg or patches, not %o"},
    {KEY(METHOD), BIT(METHOD_MULTIGRID), AT_BRICK, BESIDE(PRECONDITIONER, PLAIN),
     "the method multigrid needs the preconditioner gmg or patches, not %o"},
    {KEY(SMOOTHER), ANY & ~OF_CONTINUOUS, AT_BRICK, ALONE,
     "the smoother %w belongs to the discretization hdg; continuous has patches, additive and chebyshev"},
    {KEY(SMOOTHER), BIT(SMOOTHER_CHEBYSHEV), AT_BRICK, BESIDE(PRECONDITIONER, BIT(PRECONDITIONER_PATCHES)),
     "the preconditioner patches smooths with patches; the smoother %w goes with gmg"},
    {KEY(CYCLE), BIT(CYCLE_FULL), AT_BRICK, BESIDE(METHOD, BIT(METHOD_CG) | BIT(METHOD_FGMRES)),
     "the cycle full goes with the method multigrid, not with %o"},
    {KEY(CYCLE), BIT(CYCLE_F), AT_BRICK, BESIDE(METHOD, BIT(METHOD_CG)),
     "the cycle F is not symmetric, as cg needs it; use {method: fgmres}"},

    {KEY(METHOD), BIT(METHOD_PETSC), AT_BRICK, ALONE,
     "the method petsc belongs to the discretization hdg and the operator mapped"},

    /* HDG on boxes. */
    {KEY(METHOD), BIT(METHOD_DIRECT), AT_TENSOR | AT_VARYING, ALONE,
     "the direct solve with the operator tensor needs a conductivity and a reaction that are the same in all "
     "cells; use {method: cg}, or operator: mapped"},
    {KEY(PRECISION), ANY, AT_TENSOR, BESIDE(METHOD, BIT(METHOD_DIRECT)),
     "precision belongs to the preconditioners pmg, additive and chebyshev"},
    {KEY(PRECISION), ANY, AT_TENSOR, BESIDE(PRECONDITIONER, SIMPLE),
     "precision belongs to the preconditioners pmg, additive and chebyshev"},

    /* Mapped cells; the preconditioner is that which is taken. */
    {KEY(METHOD), BIT(METHOD_PETSC), AT_ALONE, ALONE, "the method petsc belongs to the program facet-mpi"},
    {KEY(METHOD), BIT(METHOD_CG) | BIT(METHOD_MULTIGRID) | BIT(METHOD_DIRECT), AT_NONSYMMETRIC, ALONE,
     UNSYMMETRIC "the method %w needs one that is; use fgmres, or the formulation symmetric"},
    {KEY(PRECONDITIONER), BIT(PRECONDITIONER_AMG), AT_NONSYMMETRIC, ALONE,
     UNSYMMETRIC "amg needs one that is; use pmg or gmg"},
    {KEY(PRECONDITIONER), MULTIGRIDS, AT_TURNED, ALONE,
     "the preconditioner %w does not know oblique planes of symmetry; use amg or block, or a roller on "
     "planes "
     "across an axis"},
    {KEY(PRECISION), BIT(PRECISION_MIXED), AT_AXIS, ALONE,
     "plane: axisymmetric, whose faces on the axis have empty rows, has no single precision; use double"},
    {KEY(METHOD), BIT(METHOD_MULTIGRID), AT_MAPPED, BESIDE(PRECONDITIONER, SIMPLE),
     "the method multigrid takes the preconditioner amg, pmg or gmg, not %o"},
    {KEY(CYCLE), ANY, AT_MAPPED, BESIDE(PRECONDITIONER, SIMPLE),
     "a cycle belongs to the preconditioners amg, pmg and gmg"},
    {KEY(DEGREES), ANY, AT_MAPPED, BESIDE(PRECONDITIONER, ~BIT(PRECONDITIONER_GMG)),
     "a sequence of degrees belongs to the preconditioner gmg"},
    {KEY(FILL) | KEY(COARSE_UNKNOWNS), ANY, AT_MAPPED, BESIDE(PRECONDITIONER, ~BIT(PRECONDITIONER_GMG)),
     "%k belongs to the preconditioner gmg"},
    {KEY(FILL), ANY, AT_MAPPED, BESIDE(SMOOTHER, ~BIT(SMOOTHER_FSAI)), "fill belongs to the smoother fsai"},
    {KEY(COARSE_UNKNOWNS), ANY, AT_MAPPED, BESIDE(COARSE_DEVICE, BIT(COARSE_DEVICE_SAME)),
     "coarse_unknowns needs a coarse_device other than the device itself"},
    {KEY(SMOOTHER), ~OF_PMG, AT_MAPPED, BESIDE(PRECONDITIONER, BIT(PRECONDITIONER_PMG)),
     "the smoother %w belongs to the preconditioner gmg; pmg has faces"},
    {KEY(SMOOTHER) | KEY(SMOOTHER_DEGREE) | KEY(COARSE_DEVICE) | KEY(PRECISION), ANY, AT_MAPPED,
     BESIDE(PRECONDITIONER, ~MULTIGRIDS), "%k belongs to the preconditioners pmg and gmg"},
    {KEY(PRECONDITIONER), BIT(PRECONDITIONER_PMG), AT_MAPPED,
     BESIDE(DISCRETIZATION, BIT(DISCRETIZATION_CONDENSED)),
     "the preconditioner pmg belongs to the discretization hdg; use amg"},
    {KEY(SMOOTHER), BIT(SMOOTHER_ROWS), AT_NO_ROWS, BESIDE(PRECONDITIONER, BIT(PRECONDITIONER_GMG)),
     "the smoother rows is for one unknown function on quads; use faces"},
    {KEY(PRECISION), BIT(PRECISION_MIXED), AT_NONSYMMETRIC, ALONE,
     "the trace matrix of tractions in the gradient formulation has no single precision"},
};

/* The template with its words; n: room. */
static void say(const struct options *o, const char *sentence, int key, int other, char *text, size_t n) {
    size_t used = 0;
    for (; *sentence != '\0' && used + 1 < n; sentence++) {
        if (*sentence != '%') {
            text[used++] = *sentence;
            continue;
        }
        sentence++;
        int wrote = snprintf(text + used, n - used, "%s",
                             *sentence == 'w'   ? option_words[key][o->words[key]]
                             : *sentence == 'o' ? option_words[other][o->words[other]]
                             : *sentence == 'k' ? option_name(key)
                                                : phrases[key]);
        used = used + (size_t)wrote < n ? used + (size_t)wrote : n - 1;
    }
    text[used] = '\0';
}

/* The first of these keys that has one of the words; -1: none. */
static int first_key(const struct options *o, unsigned keys, unsigned words) {
    for (int key = 0; key <= OPTION_HIGH_DEGREE; key++)
        if (keys & BIT(key) && bits(o, key) & words) return key;
    return -1;
}

int options_refuse(const struct options *o, unsigned place, char sentence[OPTIONS_SENTENCE_BYTES]) {
    for (const struct refusal *r = rules; r < rules + sizeof rules / sizeof rules[0]; r++) {
        int key = (place & r->place) == r->place && (r->beside == 0 || bits(o, r->other) & r->beside)
                      ? first_key(o, r->keys, r->words)
                      : -1;
        if (key < 0) continue;
        say(o, r->sentence, key, r->other, sentence, OPTIONS_SENTENCE_BYTES);
        return key;
    }
    return -1;
}

facet_status options_check_place(const struct options *o, unsigned place) {
    char sentence[OPTIONS_SENTENCE_BYTES];
    return options_refuse(o, place, sentence) < 0 ? FACET_OK : base_fail(FACET_ERROR_INPUT, "%s", sentence);
}

unsigned options_place(const struct options *o, facet_equation equation) {
    return 1u << equation | (o->discretization == DISCRETIZATION_CONTINUOUS ? AT_CONTINUOUS : AT_TRACE);
}

/* ------------------------------------------------------------------------------------------ numbers */

static facet_status check_degree(const struct options *o, facet_equation equation) {
    int least = physics_entry(physics_of(equation), o)->least_degree;
    if (o->degree < least || o->degree > BOX_MAX_DEGREE)
        return base_fail(FACET_ERROR_INPUT,
                         "the degree must be %d to %d (with the operator tensor to %d), not %d", least,
                         PROBLEM_MAX_DEGREE, BOX_MAX_DEGREE, o->degree);
    if (o->discretization == DISCRETIZATION_CONTINUOUS && o->degree > BRICK_MAX_DEGREE)
        return base_fail(FACET_ERROR_INPUT,
                         "the degree of the discretization continuous must be 1 to %d, not %d; hdg and "
                         "condensed have more",
                         BRICK_MAX_DEGREE, o->degree);
    return FACET_OK;
}

facet_status options_check(const struct options *o, facet_equation equation) {
    facet_status status = FACET_OK;
    const struct device *device;
    TRY(check_degree(o, equation));
    if (o->tau_hat < 0.0 || !isfinite(o->tau_hat))
        FAIL(FACET_ERROR_INPUT, "tau.hat must be positive, not %g", o->tau_hat);
    if (physics_entry(physics_of(equation), o)->tau == NULL && (o->tau != NULL || o->tau_hat > 0.0))
        FAIL(FACET_ERROR_INPUT, "tau belongs to the discretization hdg; the %s one has no stabilization",
             option_words[OPTION_DISCRETIZATION][o->discretization]);
    if (!(o->error >= 0.0 && o->error < 1.0))
        FAIL(FACET_ERROR_INPUT, "error must lie between 0 and 1, not %g", o->error);
    if (!(o->rtol > 0.0 && o->rtol < 1.0))
        FAIL(FACET_ERROR_INPUT, "rtol must lie between 0 and 1, not %g", o->rtol);
    if (o->max_iterations < 1)
        FAIL(FACET_ERROR_INPUT, "max_iterations must be at least 1, not %d", o->max_iterations);
    if (!(o->fill >= 0.0 && isfinite(o->fill)))
        FAIL(FACET_ERROR_INPUT, "fill must not be negative: %g", o->fill);
    if (o->coarse_unknowns < 0)
        FAIL(FACET_ERROR_INPUT, "coarse_unknowns must not be negative: %lld", (long long)o->coarse_unknowns);
    TRY(options_check_place(o, options_place(o, equation)));
    if (o->coarse_device != COARSE_DEVICE_SAME)
        TRY(base_wrap(device_find(option_words[OPTION_COARSE_DEVICE][o->coarse_device], &device),
                      "coarse_device"));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ the operator */

struct options_need options_need(const struct options *o, unsigned place) {
    static const struct {
        unsigned place, keys, words;
        const char *what, *instead;
    } needs[] = {
        {AT_MAPPED, KEY(PRECONDITIONER), MULTIGRIDS | BIT(PRECONDITIONER_AMG), "the preconditioner %w",
         "another preconditioner"},
        {AT_MAPPED, KEY(METHOD), BIT(METHOD_FGMRES), "the method %w", "the method cg"},
        {AT_MAPPED, KEY(DISCRETIZATION), BIT(DISCRETIZATION_CONDENSED), "the discretization %w",
         "the discretization hdg or continuous"},
        {AT_MAPPED, KEY(METHOD), BIT(METHOD_MULTIGRID) | BIT(METHOD_PETSC), "the method %w", "the method cg"},
        {AT_MAPPED,
         KEY(CYCLE) | KEY(SMOOTHER) | KEY(SMOOTHER_DEGREE) | KEY(COARSE_DEVICE) | KEY(COARSE_UNKNOWNS) |
             KEY(DEGREES) | KEY(FILL),
         ANY, "%a", "no %k"},
        {AT_TENSOR, KEY(PRECONDITIONER), BIT(PRECONDITIONER_ADDITIVE) | BIT(PRECONDITIONER_CHEBYSHEV),
         "the preconditioner %w", "another preconditioner, or auto"},
        {AT_TENSOR, KEY(HIGH_DEGREE), ANY, "%a", "a %k of at most 16"},
    };
    struct options_need need = {"", ""};
    for (size_t i = 0; i < sizeof needs / sizeof needs[0] && need.what[0] == '\0'; i++) {
        int key = needs[i].place == place ? first_key(o, needs[i].keys, needs[i].words) : -1;
        if (key < 0) continue;
        say(o, needs[i].what, key, 0, need.what, sizeof need.what);
        say(o, needs[i].instead, key, 0, need.instead, sizeof need.instead);
    }
    return need;
}
