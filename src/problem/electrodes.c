/* Electrodes: parts of a boundary at one potential, which is what lets a given total in. The discretization
 * sees Dirichlet parts. What goes in through electrode i is an affine function of the potentials,
 *
 *     Q_i(U) = Q_i(0) + sum_j C_ij U_j,
 *
 * so a solve for each electrode gives C, which is kept as long as the matrices are, and one more the answer:
 * U grows by C^-1 (Q - Q(U)) until that is nothing. Where constants are not held by anything else C 1 = 0;
 * then the totals must balance, and the first electrode is the ground, U_1 = 0. */
#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "problem/problem.h"

#define MOST_STEPS 6
/* Relative to the largest total: totals that balance, and what may be missing in the end. */
#define BALANCE 1e-6
#define ENOUGH  1e-9

facet_status facet_problem_set_total_flux(facet_problem *problem, int n_parts, const char *const *parts,
                                          const char *text) {
    facet_status status = FACET_OK;
    struct problem_condition c = {.kind = HDG_DIRICHLET};
    REQUIRE(problem);
    REQUIRE(parts);
    REQUIRE(text);
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

/* Q(U) of all electrodes, for these potentials. */
static facet_status find_totals(struct facet_solver *s, solver_once once, const double *source, int there,
                                const double *U, double *Q) {
    facet_status status = FACET_OK;
    const char **parts = NULL;
    TRY(put_potentials(s, U));
    TRY(once(s, source, there));
    TRY(ALLOC(parts, s->own.n_conditions));
    for (int e = 1; e <= s->own.n_electrodes; e++) {
        int n = 0, found;
        for (int i = 0; i < s->own.n_conditions; i++)
            if (s->own.conditions[i].electrode == e) parts[n++] = s->own.conditions[i].part;
        Q[e - 1] = 0.0;
        if (n > 0) TRY(sample_take_on(s, "flux", -1, SAMPLE_INTEGRAL, n, parts, &Q[e - 1], &found));
        Q[e - 1] = -Q[e - 1]; /* in, where q.n is out */
    }
done:
    base_free(&parts);
    return status;
}

/* ------------------------------------------------------------------------------------------ the system */

/* C by one solve for each electrode, with a step from U, where the totals are Q. */
static facet_status find_response(struct facet_solver *s, solver_once once, const double *source, int there,
                                  double *U, const double *Q) {
    facet_status status = FACET_OK;
    int n = s->own.n_electrodes;
    double *C = NULL, *moved = NULL;
    TRY(ALLOC(C, n * n));
    TRY(ALLOC(moved, n));
    for (int j = 0; j < n; j++) {
        double step = 1.0 + fabs(U[j]);
        U[j] += step;
        status = find_totals(s, once, source, there, U, moved);
        U[j] -= step;
        if (status != FACET_OK) goto done;
        for (int i = 0; i < n; i++) C[i * n + j] = (moved[i] - Q[i]) / step;
    }
    s->response = C;
    C = NULL;
done:
    base_free(&C);
    base_free(&moved);
    return status;
}

/* Whether nothing else holds the constant, so that C 1 = 0. */
static int floats(const struct facet_solver *s) {
    const struct problem_resolved *r = &s->resolved;
    double number;
    for (int i = 0; i < s->own.n_conditions; i++)
        if (s->own.conditions[i].electrode == 0 && s->own.conditions[i].kind != HDG_NEUMANN) return 0;
    for (int i = 0; r->shares[SHARE_REACTION] != NULL && i < r->n_regions; i++) {
        const struct field *reaction = r->shares[SHARE_REACTION][i];
        if (reaction != NULL && (!field_is_constant(reaction, &number) || number != 0.0)) return 0;
    }
    return 1;
}

/* U += C^-1 r; first: without the first electrode, which is the ground. */
static facet_status correct(int n, const double *C, int first, double *r, double *U) {
    facet_status status = FACET_OK;
    int m = n - first;
    double *A = NULL;
    int *pivots = NULL;
    TRY(ALLOC(A, m * m + 1));
    TRY(ALLOC(pivots, m + 1));
    for (int i = 0; i < m * m; i++) A[i] = C[(first + i / m) * n + first + i % m];
    if (m > 0 && LAPACKE_dgesv(LAPACK_ROW_MAJOR, m, 1, A, m, pivots, r + first, 1) != 0)
        FAIL(FACET_ERROR_INPUT,
             "boundary: the potentials of the parts with total_flux are not determined; is each of "
             "them connected with the others?");
    for (int i = 0; i < m; i++) U[first + i] += r[first + i];
done:
    base_free(&A);
    base_free(&pivots);
    return status;
}

/* Of a problem that floats: the totals with all else that goes in; what is missing is not for potentials to
 * give. */
static facet_status check_balance(int n, const double *r, double scale) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += r[i];
    if (fabs(sum) <= BALANCE * scale) return FACET_OK;
    return base_fail(
        FACET_ERROR_INPUT,
        "boundary: nothing but total_flux holds the solution, so that all that goes in must balance, but "
        "%.6g is too much; subtract it, or give a part another condition",
        sum);
}

/* Rounding in totals is so much of what u and q would send through electrodes. */
#define ROUNDING 1e-12

/* The sizes of u and of q times the area that the mesh shows: where nothing is to go through an electrode,
 * they alone say how large rounding is. */
struct sizes {
    double u, total;
};

static facet_status find_sizes(const struct facet_solver *s, struct sizes *sizes) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct mesh_quality quality;
    double most, least, q, square = 0.0;
    int found;
    TRY(sample_take(s, "u", -1, SAMPLE_MAX, NULL, &most, &found));
    TRY(sample_take(s, "u", -1, SAMPLE_MIN, NULL, &least, &found));
    TRY(sample_take(s, "q", -1, SAMPLE_MAX, NULL, &q, &found));
    TRY(mesh_measure_size(mesh, &quality));
    for (int d = 0; d < mesh->dim; d++) square += pow(quality.upper[d] - quality.lower[d], 2);
    *sizes = (struct sizes){fmax(fabs(most), fabs(least)), q * pow(sqrt(square), mesh->dim - 1)};
done:
    return status;
}

/* Whether what totals lack is rounding of a solution of these sizes. */
static int is_rounding(const struct facet_solver *s, double lack, const struct sizes *sizes) {
    int n = s->own.n_electrodes;
    double most = 0.0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(s->response[i * n + i]));
    return lack <= ROUNDING * fmax(most * sizes->u, sizes->total);
}

/* Whether a reaction is given for a region. */
static int reacts(const struct problem_resolved *r, int32_t region) {
    const struct field *reaction =
        r->shares[SHARE_REACTION] != NULL ? r->shares[SHARE_REACTION][region] : NULL;
    double number;
    return reaction != NULL && (!field_is_constant(reaction, &number) || number != 0.0);
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

/* r = Q wanted - Q; the size of what goes through. */
static double find_lack(const struct facet_solver *s, const double *Q, double *r) {
    double scale = 0.0, wanted = 0.0;
    for (int i = 0; i < s->own.n_conditions; i++) {
        const struct problem_condition *c = &s->own.conditions[i];
        if (c->electrode == 0 || !field_is_constant(c->total, &wanted)) continue;
        r[c->electrode - 1] = wanted - Q[c->electrode - 1];
        scale = fmax(scale, fmax(fabs(wanted), fabs(Q[c->electrode - 1])));
    }
    return scale;
}

facet_status solver_balance_electrodes(struct facet_solver *s, solver_once once, const double *source,
                                       int there) {
    facet_status status = FACET_OK;
    int n = s->own.n_electrodes, good = 0, ground = floats(s);
    double *U = NULL, *Q = NULL, *r = NULL, least = INFINITY, scale = 0.0;
    struct sizes sizes;
    TRY(check_pieces(s));
    TRY(CALLOC(U, n));
    TRY(CALLOC(Q, n));
    TRY(CALLOC(r, n));
    for (int i = 0; i < s->own.n_conditions; i++)
        if (s->own.conditions[i].electrode > 0)
            U[s->own.conditions[i].electrode - 1] = solver_potential(s, i);
    for (int step = 0; step < MOST_STEPS && !good; step++) {
        TRY(find_totals(s, once, source, there, U, Q));
        double lack = 0.0;
        int fresh = s->response == NULL;
        scale = fmax(scale, find_lack(s, Q, r));
        for (int i = 0; i < n; i++) lack = fmax(lack, fabs(r[i]));
        good = lack <= ENOUGH * scale || (step > 1 && lack <= BALANCE * scale && lack > 0.5 * least);
        least = fmin(least, lack);
        if (good) break;
        TRY(find_sizes(s, &sizes));
        if (fresh) TRY(find_response(s, once, source, there, U, Q));
        good = is_rounding(s, lack, &sizes);
        if (good && fresh) TRY(find_totals(s, once, source, there, U, Q)); /* the solution for U again */
        if (good) break;
        if (ground) TRY(check_balance(n, r, scale));
        TRY(correct(n, s->response, ground, r, U));
    }
    if (!good)
        FAIL(FACET_NOT_CONVERGED,
             "the potentials of the parts with total_flux were not found: %.3g is missing", least);
done:
    base_free(&U);
    base_free(&Q);
    base_free(&r);
    return status;
}

facet_status facet_solver_potential(const facet_solver *solver, const char *part, double *potential) {
    REQUIRE(solver);
    REQUIRE(part);
    REQUIRE(potential);
    for (int i = 0; i < solver->own.n_conditions; i++)
        if (solver->own.conditions[i].electrode > 0 && strcmp(solver->own.conditions[i].part, part) == 0) {
            *potential = solver_potential(solver, i);
            return solver->solved ? FACET_OK : base_fail(FACET_ERROR_INPUT, "there is no solution yet");
        }
    return base_fail(FACET_ERROR_INPUT, "the boundary part '%s' has no total_flux", part);
}
