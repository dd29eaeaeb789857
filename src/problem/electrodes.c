/* Electrodes: parts of a boundary at one potential, which is what lets a given total in. The discretization
 * sees Dirichlet parts, and the potentials U are unknowns beside those of the trace. With psi_k, the discrete
 * solution without a source that is 1 on some electrodes and 0 on all other Dirichlet parts, what goes in
 * through these electrodes is
 *
 *     Q_k(u) = psi_k'(K uhat - F),     C_kl = psi_k' K psi_l,     C dV = Q wanted - Q(u),
 *
 * the rows that the bordered system has for them after the others are eliminated. A solve for each electrode
 * gives psi and C, which are kept as long as the matrices are, and one more the answer; where that lacks
 * something still, U and u are corrected once more.
 *
 * Why not the integral of q over the electrode, which is the same number? Because rounding in q is that of
 * K u / h: behind a contact of 1e-8 it is larger than what is to pass. In psi'(K uhat - F) errors of u count
 * only times errors of psi (hdg/totals.c). For the same reason psi_0 is 1 on all electrodes, and psi_k on the
 * electrode k + 1 alone, so that U_1 = V_0 and U_(k+1) = V_0 + V_k: electrodes on one body that is held
 * weakly have a large C_kl between them, and the small number that holds the body would be lost in the sum of
 * a row.
 *
 * Where nothing else holds constants, C_0l = 0; then the totals must balance, and the first electrode is the
 * ground, U_1 = 0. Continuous elements take the fluxes by their
 * equations (hdg/consistent.c), which are psi'(K u - F) with psi = 0 off the electrode.
 *
 * The error of U is C^-1 times what is still missing, rounding in the totals, and the product of the errors
 * of u and psi, |e'K d| <= |e|_K |d|_K with the energies that the estimates of the solves have seen. It goes
 * into that of the solution, and times |psi| into that of every group of cells. Where that bound is large
 * after an iteration (tau is small, K jumps), the product is what a correction of u changes in the totals
 * (correction.c), which have it then. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/mapped_backend.h"

#define MOST_STEPS 5
/* Totals balance where no more is missing, relative to the largest. */
#define BALANCE 1e-6
/* Potentials are good enough where what they still lack is this part of the error of u. */
#define ENOUGH 0.1

/* No equation is fulfilled better. */
#define LEAST_REST 1e-15

struct solver_electrodes {
    int n;
    double *C;    /* n x n */
    double **psi; /* n traces; NULL of `continuous` */
    /* n each. lack: the norm, the root of <tau e, e>, of the error e of psi that its solve estimates. rest:
     * the norm of the error that the residual of its equations leaves. */
    double *lack, *rest;
    double *energy;         /* n: the root of e'K e; 0: not known */
    double *errors, *sizes; /* n each: of the potentials, and |u| around them */
    double missing;         /* in the totals, all together */
};

void solver_forget_electrodes(struct facet_solver *s) {
    struct solver_electrodes *e = s->electrodes;
    if (e == NULL) return;
    for (int k = 0; e->psi != NULL && k < e->n; k++) base_free(&e->psi[k]);
    base_free(&e->psi);
    base_free(&e->C);
    base_free(&e->lack);
    base_free(&e->rest);
    base_free(&e->energy);
    base_free(&e->errors);
    base_free(&e->sizes);
    base_free(&s->electrodes);
}

facet_status facet_problem_set_total_flux(facet_problem *problem, int n_parts, const char *const *parts,
                                          const char *text) {
    facet_status status = FACET_OK;
    struct problem_condition c = {.kind = HDG_DIRICHLET};
    REQUIRE(problem, parts, text);
    if (n_parts < 1) FAIL(FACET_ERROR_INPUT, "total_flux: it needs a part to go through");
    for (int i = 0; i < n_parts; i++) REQUIRE(parts[i]);
    TRY(problem_may_set(problem, FACET_DIFFUSION, "total_flux"));
    c.electrode = problem->data.n_electrodes + 1;
    for (int i = 0; i < n_parts; i++) {
        TRY(base_wrap(problem_compile(&problem->data, 0, 1, &text, &c.total), "total_flux on '%s'",
                      parts[i]));
        if (!field_is_constant(c.total, NULL))
            FAIL(FACET_ERROR_INPUT,
                 "total_flux on '%s': is a total, so one number; for a flux that varies give "
                 "neumann",
                 parts[i]);
        TRY(field_create_constants(1, (const double[]){0.0}, &c.g));
        struct problem_condition given = c;
        c.total = c.g = NULL;
        TRY(problem_add_condition(problem, parts[i], given));
        problem->data.n_electrodes = c.electrode;
    }
done:
    field_destroy(&c.total);
    field_destroy(&c.g);
    return status;
}

/* ------------------------------------------------------------------------------------------ one solve */

double solver_potential(const struct facet_solver *s, int i) {
    double U = 0.0;
    field_is_constant(s->own.conditions[i].g, &U);
    return U;
}

static facet_status put_potentials(struct facet_solver *s, const double *U) {
    facet_status status = FACET_OK;
    for (int i = 0; i < s->own.n_conditions; i++) {
        struct problem_condition *c = &s->own.conditions[i];
        struct field *fresh = NULL;
        if (c->electrode == 0) continue;
        TRY(field_create_constants(1, &U[c->electrode - 1], &fresh));
        field_swap(c->g, fresh);
        field_destroy(&fresh);
    }
    if (s->backend->renew != NULL) TRY(s->backend->renew(s, FACET_LOAD));
done:
    return status;
}

/* ------------------------------------------------------------------------------------------ totals */

/* What goes in through the electrodes of each psi, and how well that is known. */
struct totals {
    double *Q, *bar; /* n each */
};

/* The fluxes of continuous elements, which rounding in u disturbs by that of K u / h. */
static facet_status sample_totals(const struct facet_solver *s, struct totals *t) {
    facet_status status = FACET_OK;
    const char **parts = NULL;
    TRY(ALLOC(parts, s->own.n_conditions));
    t->Q[0] = t->bar[0] = 0.0;
    for (int e = 0; e < s->own.n_electrodes; e++) {
        int n = 0, found;
        double Q = 0.0;
        struct sample_about about = {0};
        for (int i = 0; i < s->own.n_conditions; i++)
            if (s->own.conditions[i].electrode == e + 1) parts[n++] = s->own.conditions[i].part;
        if (n > 0) TRY(sample_take_with(s, "flux", -1, SAMPLE_INTEGRAL, n, parts, &Q, &found, &about));
        t->Q[0] -= Q; /* in, where q.n is out */
        t->bar[0] += about.bar.error;
        if (e == 0) continue;
        t->Q[e] = -Q;
        t->bar[e] = about.bar.error;
    }
done:
    base_free(&parts);
    return status;
}

/* What is left of the equations, relative to their terms: the residual. Where the matrices themselves are
 * rough it does not tell; there the error is known alone. */
static double find_rest(const struct facet_solver *s) {
    if (s->backend == &mapped_backend && hdg_rounding_matters(mapped_of(s)->hdg)) return s->report.error;
    return fmin(s->report.error, fmax(s->report.residual, LEAST_REST));
}

/* With errors e of u and d of psi, e'K d by their energies; where these are not known it is e'(what is left
 * of the equations of psi), or the reverse. norm: the root of <tau uhat, uhat>. */
static double find_product(const struct facet_solver *s, int k, double norm) {
    const struct solver_electrodes *e = s->electrodes;
    const double product = e->energy[k] * sqrt(s->energy);
    return product > 0.0 ? product : norm * fmin(s->report.error * e->rest[k], find_rest(s) * e->lack[k]);
}

/* Whether the numerical fluxes of HDG are there to be weighed. */
static int weighs(const struct facet_solver *s) {
    return s->backend->totals != NULL && s->resolved.data.equation->flux != NULL;
}

static facet_status find_totals(const struct facet_solver *s, struct totals *t) {
    facet_status status = FACET_OK;
    const struct solver_electrodes *e = s->electrodes;
    double *squares = NULL;
    if (!weighs(s)) return sample_totals(s, t);
    TRY(ALLOC(squares, e->n + 1));
    TRY(s->backend->totals(s, BACKEND_SOLVED, 1, e->n, e->psi, t->Q, t->bar, squares));
    for (int k = 0; k < e->n; k++) t->bar[k] += find_product(s, k, sqrt(squares[e->n]));
done:
    base_free(&squares);
    return status;
}

/* ------------------------------------------------------------------------------------------ the response */

/* A solution that others are compared with. */
struct kept {
    int n;
    struct backend_array here[BACKEND_MAX_ARRAYS]; /* of the solver */
    double *copies[BACKEND_MAX_ARRAYS];
    double error, rest, norm; /* relative, both; the root of <tau uhat, uhat> */
    double energy;
};

static void kept_destroy(struct kept *kept) {
    for (int i = 0; i < kept->n; i++) base_free(&kept->copies[i]);
}

static facet_status keep(struct facet_solver *s, struct kept *kept) {
    facet_status status = FACET_OK;
    double square;
    TRY(s->backend->arrays(s, kept->here, &kept->n));
    TRY(s->backend->totals(s, BACKEND_SOLVED, 1, 0, NULL, NULL, NULL, &square));
    kept->error = s->report.error;
    kept->rest = find_rest(s);
    kept->norm = sqrt(square);
    kept->energy = sqrt(s->energy);
    for (int i = 0; i < kept->n; i++) {
        TRY(ALLOC(kept->copies[i], kept->here[i].n));
        if (kept->here[i].n > 0)
            memcpy(kept->copies[i], kept->here[i].values, (size_t)kept->here[i].n * sizeof(double));
    }
done:
    return status;
}

static facet_status restore(struct facet_solver *s, struct kept *kept) {
    facet_status status = FACET_OK;
    TRY(s->backend->arrays(s, kept->here, &kept->n));
    for (int i = 0; i < kept->n; i++)
        if (kept->here[i].n > 0)
            memcpy(kept->here[i].values, kept->copies[i], (size_t)kept->here[i].n * sizeof(double));
done:
    return status;
}

/* The solution becomes psi_k, the change since `kept` over the step, and C has its row and column. */
static facet_status add_psi(struct facet_solver *s, struct kept *kept, double step, int k) {
    facet_status status = FACET_OK;
    struct solver_electrodes *e = s->electrodes;
    double *numbers = NULL; /* totals, roundings, squares */
    TRY(s->backend->arrays(s, kept->here, &kept->n));
    for (int i = 0; i < kept->n; i++)
        for (int64_t j = 0; j < kept->here[i].n; j++)
            kept->here[i].values[j] = (kept->here[i].values[j] - kept->copies[i][j]) / step;
    TRY(ALLOC(e->psi[k], kept->here[0].n));
    if (kept->here[0].n > 0)
        memcpy(e->psi[k], kept->here[0].values, (size_t)kept->here[0].n * sizeof(double));
    TRY(ALLOC(numbers, 3 * k + 4));
    TRY(s->backend->totals(s, BACKEND_SOLVED, 0, k + 1, e->psi, numbers, numbers + k + 1,
                           numbers + 2 * (k + 1)));
    for (int i = 0; i <= k; i++) e->C[i * e->n + k] = e->C[k * e->n + i] = numbers[i];
    const double before = kept->norm / step, after = sqrt(numbers[3 * k + 3]) + before;
    e->lack[k] = s->report.error * after + kept->error * before;
    e->rest[k] = find_rest(s) * after + kept->rest * before;
    e->energy[k] = (sqrt(s->energy) + kept->energy) / step;
done:
    base_free(&numbers);
    return status;
}

/* before (or NULL): a trace, which is taken off. */
static facet_status take_trace(struct facet_solver *s, const double *before, double step, double **trace) {
    facet_status status = FACET_OK;
    struct backend_array arrays[BACKEND_MAX_ARRAYS];
    int n;
    if (s->backend->arrays == NULL) return FACET_OK;
    TRY(s->backend->arrays(s, arrays, &n));
    TRY(ALLOC(*trace, arrays[0].n));
    for (int64_t i = 0; i < arrays[0].n; i++)
        (*trace)[i] = (arrays[0].values[i] - (before != NULL ? before[i] : 0.0)) / step;
done:
    return status;
}

/* C of continuous elements, and psi, which says how far errors of potentials reach; before: the totals
 * without the step, and the trace. */
static facet_status add_samples(struct facet_solver *s, const double *before, const double *trace,
                                double step, int k) {
    facet_status status = FACET_OK;
    struct solver_electrodes *e = s->electrodes;
    struct totals t = {0};
    TRY(take_trace(s, trace, step, &e->psi[k]));
    TRY(ALLOC(t.Q, e->n));
    TRY(ALLOC(t.bar, e->n));
    TRY(sample_totals(s, &t));
    for (int i = 0; i < e->n; i++) e->C[i * e->n + k] = (t.Q[i] - before[i]) / step;
done:
    base_free(&t.Q);
    base_free(&t.bar);
    return status;
}

/* psi and C by one solve for each electrode, with a step from U that is as large as u. The totals of the
 * solution for U are left in t. */
static facet_status find_response(struct facet_solver *s, solver_once once, const double *source, int there,
                                  double size, double *U, struct totals *t) {
    facet_status status = FACET_OK;
    const int n = s->own.n_electrodes;
    const double step = size > 0.0 ? size : 1.0;
    struct kept kept = {0};
    struct solver_electrodes *e = NULL;
    double *trace = NULL;
    TRY(CALLOC(s->electrodes, 1));
    e = s->electrodes;
    e->n = n;
    TRY(CALLOC(e->C, n * n));
    TRY(CALLOC(e->lack, n));
    TRY(CALLOC(e->rest, n));
    TRY(CALLOC(e->energy, n));
    TRY(CALLOC(e->errors, n));
    TRY(CALLOC(e->sizes, n));
    TRY(CALLOC(e->psi, n));
    TRY(weighs(s) ? keep(s, &kept) : sample_totals(s, t));
    if (!weighs(s)) TRY(take_trace(s, NULL, 1.0, &trace));
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < n; i++) U[i] += k == 0 || i == k ? step : 0.0;
        status = put_potentials(s, U);
        if (status == FACET_OK) status = once(s, source, there);
        for (int i = 0; i < n; i++) U[i] -= k == 0 || i == k ? step : 0.0;
        if (status != FACET_OK) goto done;
        TRY(weighs(s) ? add_psi(s, &kept, step, k) : add_samples(s, t->Q, trace, step, k));
    }
    if (!weighs(s)) goto done;
    TRY(restore(s, &kept));
    s->report.error = kept.error;
    s->energy = kept.energy * kept.energy;
    TRY(find_totals(s, t));
done:
    if (status != FACET_OK) solver_forget_electrodes(s);
    kept_destroy(&kept);
    base_free(&trace);
    return status;
}

/* Whether a reaction is given for a region. */
static int reacts(const struct problem_resolved *r, int32_t region) {
    const struct field *reaction =
        r->shares[SHARE_REACTION] != NULL ? r->shares[SHARE_REACTION][region] : NULL;
    double number;
    return reaction != NULL && (!field_is_constant(reaction, &number) || number != 0.0);
}

/* Whether nothing else holds the constant, so that C 1 = 0. */
static int floats(const struct facet_solver *s) {
    const struct problem_resolved *r = &s->resolved;
    for (int i = 0; i < s->own.n_conditions; i++)
        if (s->own.conditions[i].electrode == 0 && s->own.conditions[i].kind != HDG_NEUMANN) return 0;
    for (int i = 0; i < r->n_regions; i++)
        if (reacts(r, i)) return 0;
    return 1;
}

/* inverse (m x m) = that of C without its first `first` rows and columns, which are scaled so that each has 1
 * on the diagonal: numbers that belong to stiff and to weakly held bodies do not meet. */
static facet_status invert(int n, const double *C, int first, double *inverse) {
    facet_status status = FACET_OK;
    const int m = n - first;
    double *scale = NULL;
    TRY(ALLOC(scale, m + 1));
    for (int i = 0; i < m; i++) scale[i] = 1.0 / sqrt(C[(first + i) * (n + 1)]);
    for (int i = 0; i < m * m; i++)
        inverse[i] = scale[i / m] * C[(first + i / m) * n + first + i % m] * scale[i % m];
    if (!solve_invert(m, inverse))
        FAIL(FACET_ERROR_INPUT,
             "boundary: the potentials of the parts with total_flux are not determined; is "
             "each of them connected with the others?");
    for (int i = 0; i < m * m; i++) inverse[i] *= scale[i / m] * scale[i % m];
done:
    base_free(&scale);
    return status;
}

/* Of a problem that floats: the totals with all else that goes in; what is missing is not for potentials to
 * give. */
static facet_status check_balance(double missing, double scale) {
    if (fabs(missing) <= BALANCE * scale) return FACET_OK;
    return base_fail(
        FACET_ERROR_INPUT,
        "boundary: nothing but total_flux holds the solution, so that all that goes in must balance, but "
        "%.6g is too much; subtract it, or give a part another condition",
        missing);
}

/* Refuses pieces of the mesh that electrodes hold alone beside others: each would have a constant of its own.
 */
static facet_status check_pieces(const struct facet_solver *s) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct problem_resolved *r = &s->resolved;
    int32_t *piece = NULL, n;
    int64_t *held = NULL, *electrodes; /* flags of the pieces */
    char place[MESH_PLACE_BYTES];
    if (mesh_is_box(mesh) || r->face_condition == NULL) return FACET_OK;
    TRY(ALLOC(piece, mesh->n_cells));
    mesh_find_pieces(mesh, piece);
    TRY(mesh_number_pieces(mesh, piece, &n));
    TRY(CALLOC(held, 2 * (int64_t)n));
    electrodes = held + n;
    for (int32_t c = 0; c < mesh->n_cells; c++)
        if (reacts(r, r->cell_region[c])) held[piece[c]] = 1;
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        if (r->face_condition[f] < 0) continue;
        const struct problem_condition *c = &s->own.conditions[r->face_condition[f]];
        const int32_t at = piece[mesh->face_cells[2 * (int64_t)f]];
        if (c->electrode > 0)
            electrodes[at] = 1;
        else if (c->kind != HDG_NEUMANN)
            held[at] = 1;
    }
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, 2 * n, held));
    for (int32_t i = 0; n > 1 && i < n; i++) {
        if (!electrodes[i] || held[i]) continue;
        TRY(mesh_piece_text(mesh, piece, i, place));
        FAIL(FACET_ERROR_INPUT,
             "boundary: the mesh falls into unconnected pieces, and nothing but total_flux holds the one "
             "with "
             "the cell at %s; give one of its parts a potential (dirichlet) or another condition that "
             "holds it",
             place);
    }
done:
    base_free(&piece);
    base_free(&held);
    return status;
}

/* The totals that are wanted, as those of psi; returns the largest. */
static double find_wanted(const struct facet_solver *s, double *wanted) {
    double largest = 0.0, sum = 0.0, *own = wanted;
    for (int i = 0; i < s->own.n_conditions; i++) {
        const struct problem_condition *c = &s->own.conditions[i];
        if (c->electrode > 0) field_is_constant(c->total, &own[c->electrode - 1]);
    }
    for (int i = 0; i < s->own.n_electrodes; i++) {
        largest = fmax(largest, fabs(own[i]));
        sum += own[i];
    }
    wanted[0] = sum;
    return largest;
}

/* What U lacks, and how well that is known: relative to u. */
struct correction {
    double *change; /* n: dU */
    double *bars;   /* n: of dV, in the unit of u, with what it still changes */
    double move, bar;
};

/* ground: the first electrode keeps its potential. */
static facet_status find_correction(const struct facet_solver *s, int ground, const double *wanted,
                                    const struct totals *t, double size, struct correction *c) {
    facet_status status = FACET_OK;
    const int n = s->electrodes->n, m = n - ground;
    double *inverse = NULL, rest = ground ? fabs(wanted[0] - t->Q[0]) : 0.0;
    TRY(ALLOC(inverse, m * m + 1));
    TRY(invert(n, s->electrodes->C, ground, inverse));
    double common = 0.0, bar = 0.0;
    c->move = c->bar = 0.0;
    for (int k = 0; k < n; k++) {
        double change = 0.0, uncertain = 0.0;
        for (int l = ground; k >= ground && l < n; l++) {
            double entry = inverse[(k - ground) * m + l - ground];
            change += entry * (wanted[l] - t->Q[l]);
            uncertain += fabs(entry) * (t->bar[l] + rest);
        }
        if (k == 0) {
            common = change;
            bar = uncertain;
        }
        c->change[k] = k == 0 ? common : common + change;
        c->bars[k] = uncertain + fabs(change);
        c->move = fmax(c->move, fabs(c->change[k]));
        c->bar = fmax(c->bar, k == 0 ? bar : bar + uncertain);
    }
    if (c->move > 0.0) c->move /= size;
    if (c->bar > 0.0) c->bar /= size;
done:
    base_free(&inverse);
    return status;
}

/* So much of the largest total is not looked for. */
#define LITTLE 1e-8

/* The totals of a solution that iterations left, with what is missing in them. */
static facet_status complete_totals(const struct facet_solver *s, double largest, struct totals *t) {
    facet_status status = FACET_OK;
    const struct solver_electrodes *e = s->electrodes;
    int better;
    double *numbers = NULL; /* totals, roundings, squares */
    if (!weighs(s)) return FACET_OK;
    TRY(solver_find_better(s, LITTLE * largest, &better));
    if (better == BACKEND_SOLVED) return FACET_OK;
    TRY(ALLOC(numbers, 3 * e->n + 1));
    TRY(s->backend->totals(s, better, 1, e->n, e->psi, numbers, numbers + e->n, numbers + 2 * e->n));
    for (int k = 0; k < e->n; k++) {
        t->bar[k] = numbers[e->n + k] + fabs(numbers[k] - t->Q[k]);
        t->Q[k] = numbers[k];
    }
done:
    base_free(&numbers);
    return status;
}

/* The norm of errors tells no energy where tau is small; elsewhere what it makes of their product is an
 * estimate of it, and is enough where that is small. */
#define WORTH 1e-8
static int is_uncertain(const struct facet_solver *s, const struct correction *c) {
    return c->bar > WORTH || (s->backend == &mapped_backend && hdg_is_light(mapped_of(s)->hdg));
}

/* The largest |u|, potentials included. */
static facet_status find_size(struct facet_solver *s, const double *U, double *size) {
    facet_status status = FACET_OK;
    struct backend_array arrays[BACKEND_MAX_ARRAYS];
    double extremes[2] = {0.0};
    int n;
    if (weighs(s)) {
        TRY(s->backend->arrays(s, arrays, &n));
        extremes[0] = solve_largest(arrays[0].n, arrays[0].values);
        TRY(team_reduce(mesh_team(s->problem->mesh), TEAM_MAX, 1, extremes));
    } else {
        TRY(sample_take(s, "u", -1, SAMPLE_MAX, NULL, &extremes[0], &n));
        TRY(sample_take(s, "u", -1, SAMPLE_MIN, NULL, &extremes[1], &n));
    }
    *size = fmax(fabs(extremes[0]), fabs(extremes[1]));
    for (int i = 0; i < s->own.n_electrodes; i++) *size = fmax(*size, fabs(U[i]));
done:
    return status;
}

/* The largest |u| around the cells of electrodes, with U. */
static facet_status find_sizes(struct facet_solver *s, const double *U) {
    const struct problem_resolved *r = &s->resolved;
    const struct facet_mesh *mesh = s->problem->mesh;
    double *sizes = s->electrodes->sizes, error, size;
    for (int k = 0; k < s->electrodes->n; k++)
        sizes[k] = fmax(fabs(U[k]), mesh_is_box(mesh) ? s->report.largest : 0.0);
    for (int32_t f = 0; !mesh_is_box(mesh) && f < mesh->n_faces; f++) {
        const int32_t condition = r->face_condition[f];
        const int electrode = condition >= 0 ? s->own.conditions[condition].electrode : 0;
        if (electrode == 0) continue;
        solver_error_at(s, mesh->face_cells[2 * (int64_t)f], 0, &error, &size);
        sizes[electrode - 1] = fmax(sizes[electrode - 1], size);
    }
    return team_reduce(mesh_team(mesh), TEAM_MAX, s->electrodes->n, sizes);
}

/* Whether what goes in is what is wanted, as far as anybody knows; sum: what is missing, all together. */
static int totals_are_right(int n, const double *wanted, const struct totals *t, double largest,
                            double *sum) {
    int right = 1;
    *sum = 0.0;
    for (int k = 0; k < n; k++) {
        const double missing = fabs(wanted[k] - t->Q[k]);
        right = right && missing <= fmax(t->bar[k], LITTLE * largest);
        *sum += missing + t->bar[k];
    }
    return right;
}

/* What the potentials still lack: in them, in u, and in the groups of cells. */
static facet_status tell_errors(struct facet_solver *s, const struct correction *c, const double *U) {
    facet_status status = FACET_OK;
    struct solver_electrodes *e = s->electrodes;
    const double before = s->report.error;
    for (int k = 0; k < e->n; k++) e->errors[k] = c->bars[0] + (k > 0 ? c->bars[k] : 0.0);
    TRY(solver_group_errors_add(s, e->n, c->bars, (const double *const *)e->psi));
    TRY(find_sizes(s, U));
    status = solve_accept_more(s->options.rtol, c->move + c->bar, &s->report);
    if (s->backend == &mapped_backend) /* no group has that beside its own */
        mapped_of(s)->group_errors.judged += s->report.error - before;
done:
    return status;
}

double solver_totals_error(const struct facet_solver *s) {
    return s->own.n_electrodes == 0 ? 0.0 : s->electrodes != NULL ? s->electrodes->missing : INFINITY;
}

double solver_potential_error(const struct facet_solver *s, int i, double *size) {
    const int k = s->own.conditions[i].electrode - 1;
    *size = s->electrodes->sizes[k];
    return s->electrodes->errors[k];
}

facet_status solver_balance_electrodes(struct facet_solver *s, solver_once once, const double *source,
                                       int there) {
    facet_status status = FACET_OK;
    const int n = s->own.n_electrodes, ground = floats(s);
    double *U = NULL, *wanted = NULL, before = INFINITY, size;
    struct totals t = {0};
    struct correction c = {0};
    TRY(check_pieces(s));
    TRY(CALLOC(U, n));
    TRY(CALLOC(wanted, n));
    TRY(CALLOC(t.Q, n));
    TRY(CALLOC(t.bar, n));
    TRY(CALLOC(c.change, n));
    TRY(CALLOC(c.bars, n));
    const double largest = find_wanted(s, wanted);
    for (int i = 0; i < s->own.n_conditions; i++)
        if (s->own.conditions[i].electrode > 0)
            U[s->own.conditions[i].electrode - 1] = solver_potential(s, i);
    for (int step = 0; step < MOST_STEPS; step++) {
        TRY(put_potentials(s, U));
        TRY(once(s, source, there));
        const int fresh = s->electrodes == NULL;
        TRY(find_size(s, U, &size));
        TRY(fresh ? find_response(s, once, source, there, size, U, &t) : find_totals(s, &t));
        if (ground) TRY(check_balance(wanted[0] - t.Q[0], fmax(largest, t.bar[0] / BALANCE)));
        TRY(find_correction(s, ground, wanted, &t, size, &c));
        if (!fresh && is_uncertain(s, &c)) { /* else the last solve was that of psi */
            TRY(complete_totals(s, largest, &t));
            TRY(find_correction(s, ground, wanted, &t, size, &c));
        }
        const int right = totals_are_right(n, wanted, &t, largest, &s->electrodes->missing);
        const int small = c.move <= fmax(ENOUGH * s->report.error, DBL_EPSILON);
        if (!fresh && ((small && right) || c.move > 0.5 * before)) break;
        before = fresh ? INFINITY : c.move;
        for (int i = 0; i < n; i++) U[i] += c.change[i];
    }
    TRY(tell_errors(s, &c, U));
done:
    base_free(&U);
    base_free(&wanted);
    base_free(&t.Q);
    base_free(&t.bar);
    base_free(&c.change);
    base_free(&c.bars);
    return status;
}

facet_status facet_solver_potential(const facet_solver *solver, const char *part, double *potential) {
    REQUIRE(solver, part, potential);
    for (int i = 0; i < solver->own.n_conditions; i++)
        if (solver->own.conditions[i].electrode > 0 && strcmp(solver->own.conditions[i].part, part) == 0) {
            *potential = solver_potential(solver, i);
            return solver->solved ? FACET_OK : base_fail(FACET_ERROR_INPUT, "there is no solution yet");
        }
    return base_fail(FACET_ERROR_INPUT, "the boundary part '%s' has no total_flux", part);
}
