/* The error of a solve by groups of cells. An estimate is relative to the whole solution: where u of one
 * group is a millionth of that of another, an error of 1e-9 of the whole may be a thousandth of what a user
 * reads there. So the errors that an estimate is made of (solve_control.regard) are added up by group too,
 * and the worst group is told (SOLVER_NOTE_SHARE) where it is much worse than the whole. A mesh without
 * groups is looked at by its pieces. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "mesh/part.h"
#include "problem/problem.h"

/* A group is told when its own error, which one draw of signs may make a few times too small, is above this,
 * and so many times that of the whole. */
#define LEAST_ERROR 2e-8
#define WORSE       3.0
/* Beside the whole, a group with so little of u is zero up to rounding, and its error is nobody's concern. */
#define NOTHING 1e-14
/* With such an error, relative to the u that was found, no digit is certain. */
#define NO_DIGIT 0.1

void solver_shares_destroy(struct solver_shares *shares) {
    base_free(&shares->cell_share);
    base_free(&shares->squares);
    *shares = (struct solver_shares){0};
}

/* A cell of several groups belongs to the smallest of them, as the whole mesh has it. */
static facet_status share_by_groups(const struct facet_mesh *mesh, struct solver_shares *shares) {
    facet_status status = FACET_OK;
    int64_t *counts = NULL, *least = NULL;
    uint64_t names = 14695981039346656037u;
    TRY(ALLOC(counts, mesh->n_groups));
    TRY(ALLOC(least, mesh->n_cells));
    for (int g = 0; g < mesh->n_groups; g++) {
        counts[g] = mesh->groups[g].count;
        for (const char *c = mesh->groups[g].name; *c != '\0'; c++)
            names = (names ^ (uint8_t)*c) * 1099511628211u;
    }
    int64_t same[2] = {(int64_t)(names >> 2), -(int64_t)(names >> 2)};
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_MAX, 2, same));
    if (same[0] != -same[1]) goto done; /* parts that know different groups */
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_SUM, mesh->n_groups, counts));
    for (int32_t c = 0; c < mesh->n_cells; c++) least[c] = INT64_MAX;
    for (int g = 0; g < mesh->n_groups; g++) {
        const struct mesh_group *group = &mesh->groups[g];
        if (group->dim != mesh->dim) continue;
        for (int32_t i = 0; i < group->count; i++) {
            if (counts[g] >= least[group->ids[i]]) continue;
            least[group->ids[i]] = counts[g];
            shares->cell_share[group->ids[i]] = g;
        }
        shares->n_used += counts[g] > 0;
    }
    shares->n = mesh->n_groups;
done:
    base_free(&counts);
    base_free(&least);
    return status;
}

facet_status solver_shares_create(struct facet_solver *s) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct solver_shares *shares = &s->shares;
    solver_shares_destroy(shares);
    TRY(problem_fill(mesh->n_cells, -1, &shares->cell_share));
    TRY(share_by_groups(mesh, shares));
    shares->by_groups = shares->n_used > 1;
    if (!shares->by_groups) {
        int32_t n;
        mesh_find_pieces(mesh, shares->cell_share);
        TRY(mesh_number_pieces(mesh, shares->cell_share, &n));
        shares->n = shares->n_used = n;
    }
    if (shares->n_used < 2) {
        solver_shares_destroy(shares);
        goto done;
    }
    TRY(CALLOC(shares->squares, shares->n + 1));
done:
    return status;
}

/* Adds the squares of the unknowns of every share, and at the end of all; free: in the free numbering of the
 * solve, else as the cells see them. counts (or NULL): of the faces whose unknowns these are. */
static void add_squares(const struct facet_solver *s, int free, const double *x, double *squares,
                        double *counts) {
    const struct hdg *h = s->hdg;
    const struct trace_space *t = free ? &h->trace : contact_seen(h);
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        for (int32_t cell = 0; cell < h->data.mesh->blocks[b].count; cell++) {
            const int32_t share = s->shares.cell_share[h->data.mesh->blocks[b].first + cell];
            for (int slot = 0; slot < t->n_slots[b]; slot++) {
                const int32_t face = t->faces[b][(int64_t)cell * t->n_slots[b] + slot];
                const int64_t first = free ? t->face_free[face] : t->face_first[face],
                              n = t->face_first[face + 1] - t->face_first[face];
                double sum = 0.0;
                if (first < 0 || (free && contact_is_second(h, b, cell, slot))) continue;
                for (int64_t i = first; i < first + n; i++) sum += x[i] * x[i];
                if (share >= 0) squares[share] += sum;
                squares[s->shares.n] += sum;
                if (counts != NULL && share >= 0) counts[share] += 1.0;
                if (counts != NULL) counts[s->shares.n] += 1.0;
            }
        }
}

facet_status solver_shares_regard(void *solver, const struct vector *error) {
    facet_status status = FACET_OK;
    struct facet_solver *s = solver;
    if (error == NULL) {
        memset(s->shares.squares, 0, (size_t)(s->shares.n + 1) * sizeof *s->shares.squares);
        return FACET_OK;
    }
    TRY(vector_download(error, s->F));
    add_squares(s, 1, s->F, s->shares.squares, NULL);
done:
    return status;
}

/* Squares of the solution. */
static facet_status size_up(const struct facet_solver *s, double *sizes, double *counts) {
    facet_status status = FACET_OK;
    const struct hdg *h = s->hdg;
    double *full = NULL;
    if (h->resident == NULL) {
        add_squares(s, 0, s->solution.trace, sizes, counts);
        goto done;
    }
    TRY(ALLOC(full, h->trace.n_all));
    TRY(vector_download(&s->x, s->F));
    trace_scatter(&h->trace, s->F, h->eliminated, full);
    add_squares(s, 0, full, sizes, counts);
done:
    base_free(&full);
    return status;
}

facet_status solver_shares_judge(struct facet_solver *s, double error, double constant) {
    facet_status status = FACET_OK;
    struct solver_shares *shares = &s->shares;
    const struct facet_mesh *mesh = s->problem->mesh;
    const int n = shares->n, n_all = n + 1;
    double *sums = NULL;
    shares->worst = -1;
    shares->n_told = 0;
    shares->error = 0.0;
    if (n == 0 || s->n_unknowns == 0) return FACET_OK;
    TRY(CALLOC(sums, 3 * n_all));
    double *errors = sums, *sizes = errors + n_all, *counts = sizes + n_all;
    TRY(size_up(s, sizes, counts));
    memcpy(errors, shares->squares, (size_t)n_all * sizeof *errors);
    TRY(team_reduce(mesh_team(mesh), TEAM_SUM, 3 * n_all, sums));
    for (int i = 0; i < n; i++) {
        if (!(sizes[i] > NOTHING * NOTHING * sizes[n])) continue;
        double ratio = sizes[n] / sizes[i], own = constant * sqrt(ratio * (counts[i] / counts[n]));
        if (errors[n] > 0.0) own += error * sqrt(ratio * (errors[i] / errors[n]));
        if (!(own > fmax(LEAST_ERROR, WORSE * fmax(error, constant)))) continue;
        shares->n_told++;
        if (own <= shares->error) continue;
        shares->worst = i;
        shares->error = own;
        shares->size = sqrt(counts[n] / counts[i] / ratio);
    }
    if (shares->worst >= 0 && !shares->by_groups)
        TRY(mesh_piece_text(mesh, shares->cell_share, shares->worst, shares->place));
done:
    base_free(&sums);
    return status;
}

const char *solver_shares_note(const struct facet_solver *s, char *text, size_t bytes) {
    const struct solver_shares *shares = &s->shares;
    char others[64] = "";
    if (shares->n == 0 || shares->worst < 0 || !s->report.converged) return NULL;
    if (shares->n_told > 1)
        snprintf(others, sizeof others, "; u in %d more of them has fewer digits, too", shares->n_told - 1);
    snprintf(text, bytes,
             "u in the %s%s%s has %s: its algebraic error there is about %.1e of u "
             "there, which is %.1e of u of the whole%s",
             shares->by_groups ? "group '" : "piece with the cell at ",
             shares->by_groups ? s->problem->mesh->groups[shares->worst].name : shares->place,
             shares->by_groups ? "'" : "",
             shares->error < NO_DIGIT ? "fewer digits than the rest" : "no digit that can be trusted",
             shares->error, shares->size, others);
    return text;
}
