/* The error of a solve by groups of cells. An estimate is relative to the whole solution: where u of one
 * group is a millionth of that of another, an error of 1e-9 of the whole may be a thousandth of what a user
 * reads there. So the errors that an estimate is made of (solve_control.regard) are added up by cell and by
 * group too, values are judged by the error of u where they are taken (solver_error_at), and the worst group
 * is told (SOLVER_NOTE_GROUP) where it is much worse than the whole. A mesh without groups is looked at by
 * its pieces. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "hdg/contact.h"
#include "mesh/part.h"
#include "problem/mapped_backend.h"

/* A group is told when its own error, which one draw of signs may make a few times too small, is above this,
 * and so many times that of the whole. */
#define LEAST_ERROR 2e-8
#define WORSE       3.0
/* Beside the whole, a group with so little of u is zero up to rounding, and its error is nobody's concern. */
#define NOTHING 1e-14
/* With such an error, relative to the u that was found, no digit is certain. */
#define NO_DIGIT 0.1

/* NULL on boxes, which have none. */
static struct solver_group_errors *shares_of(const struct facet_solver *s) {
    return s->backend == &mapped_backend ? &mapped_of(s)->group_errors : NULL;
}

void solver_group_errors_destroy(struct solver_group_errors *shares) {
    base_free(&shares->cell_share);
    base_free(&shares->squares);
    base_free(&shares->errors);
    *shares = (struct solver_group_errors){0};
}

/* A cell of several groups belongs to the smallest of them, as the whole mesh has it. */
static facet_status share_by_groups(const struct facet_mesh *mesh, struct solver_group_errors *shares) {
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

facet_status solver_group_errors_create(struct facet_solver *s) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct solver_group_errors *shares = shares_of(s);
    solver_group_errors_destroy(shares);
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
        solver_group_errors_destroy(shares);
        goto done;
    }
    TRY(CALLOC(shares->squares, mesh->n_cells));
    TRY(CALLOC(shares->errors, 4 * ((int64_t)shares->n + 1)));
    shares->sizes = shares->errors + shares->n + 1;
    shares->levels = shares->sizes + shares->n + 1;
done:
    return status;
}

/* Adds to every cell the squares of the unknowns on its faces; free: in the free numbering of the solve, else
 * as the cells see them. counts (or NULL): the squares that u = 1 has there. */
static void add_squares(const struct facet_solver *s, int free, const double *x, double *squares,
                        double *counts) {
    const struct hdg *h = mapped_of(s)->hdg;
    const struct trace_space *t = free ? &h->trace : contact_seen(h);
    for (int b = 0; b < h->data.mesh->n_blocks; b++)
        for (int32_t cell = 0; cell < h->data.mesh->blocks[b].count; cell++) {
            const int32_t at = h->data.mesh->blocks[b].first + cell;
            for (int slot = 0; slot < t->n_slots[b]; slot++) {
                const int32_t face = t->faces[b][(int64_t)cell * t->n_slots[b] + slot];
                const int64_t first = free ? t->face_free[face] : t->face_first[face],
                              n = t->face_first[face + 1] - t->face_first[face];
                if (first < 0 || (free && contact_is_second(h, b, cell, slot))) continue;
                for (int64_t i = first; i < first + n; i++) squares[at] += x[i] * x[i];
                if (counts != NULL) counts[at] += pow(contact_one_on(h, face), 2);
            }
        }
}

facet_status solver_regard(void *solver, const struct vector *residual, const struct vector *error) {
    facet_status status = FACET_OK;
    struct facet_solver *s = solver;
    struct mapped *m = mapped_of(s);
    struct solver_group_errors *shares = shares_of(s);
    if (error == NULL) {
        s->energy = 0.0;
        if (shares->n > 0)
            memset(shares->squares, 0, (size_t)s->problem->mesh->n_cells * sizeof *shares->squares);
        return FACET_OK;
    }
    if (s->own.n_electrodes > 0) s->energy += fabs(vector_dot(residual, error));
    if (shares->n == 0) return FACET_OK;
    TRY(vector_download(error, m->F));
    add_squares(s, 1, m->F, shares->squares, NULL);
done:
    return status;
}

/* Squares of the solution. */
static facet_status size_up(const struct facet_solver *s, double *sizes, double *counts) {
    struct mapped *m = mapped_of(s);
    facet_status status = FACET_OK;
    const struct hdg *h = m->hdg;
    double *full = NULL;
    if (!h->stays) {
        add_squares(s, 0, m->solution.trace, sizes, counts);
        goto done;
    }
    TRY(ALLOC(full, h->trace.n_all));
    TRY(vector_download(&m->x, m->F));
    trace_scatter(&h->trace, m->F, h->eliminated, full);
    add_squares(s, 0, full, sizes, counts);
done:
    base_free(&full);
    return status;
}

/* Sums of all shares, and at the end of all cells. */
struct share_sums {
    double *errors, *sizes, *counts; /* squares of errors, of u and of u = 1 */
    double *peaks;                   /* of all cells the largest mean square of errors */
};

static facet_status sum_up(const struct facet_solver *s, const struct share_sums *sums) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    const struct solver_group_errors *shares = shares_of(s);
    const int n = shares->n;
    double *sizes = NULL, *counts = NULL;
    TRY(CALLOC(sizes, mesh->n_cells));
    TRY(CALLOC(counts, mesh->n_cells));
    TRY(size_up(s, sizes, counts));
    for (int32_t c = 0; c < mesh->n_cells; c++)
        for (int twice = 0; twice < 2; twice++) {
            const int share = twice ? n : shares->cell_share[c];
            if (share < 0 || counts[c] == 0.0) continue;
            sums->errors[share] += shares->squares[c];
            sums->sizes[share] += sizes[c];
            sums->counts[share] += counts[c];
            sums->peaks[share] = fmax(sums->peaks[share], shares->squares[c] / counts[c]);
        }
    TRY(team_reduce(mesh_team(mesh), TEAM_SUM, 3 * (n + 1), sums->errors));
    TRY(team_reduce(mesh_team(mesh), TEAM_MAX, n + 1, sums->peaks));
done:
    base_free(&sizes);
    base_free(&counts);
    return status;
}

/* What solver_error_at answers: by the worst cell of a share. */
static void keep_errors(struct solver_group_errors *shares, const struct share_sums *sums, double error,
                        double constant) {
    const int n = shares->n;
    const double size = sqrt(sums->sizes[n] / sums->counts[n]);
    for (int i = 0; i <= n; i++) {
        const double share =
            sums->errors[n] > 0.0 ? sums->peaks[i] / (sums->errors[n] / sums->counts[n]) : 1.0;
        shares->sizes[i] = sums->counts[i] > 0.0 ? sqrt(sums->sizes[i] / sums->counts[i]) : 0.0;
        shares->errors[i] = size * (error * sqrt(share) + constant);
        shares->levels[2 * i] = shares->levels[2 * i + 1] = 0.0;
    }
    shares->judged = error;
}

facet_status solver_group_errors_judge(struct facet_solver *s, double error, double constant) {
    facet_status status = FACET_OK;
    struct solver_group_errors *shares = shares_of(s);
    const int n = shares->n, n_all = n + 1;
    double *all = NULL;
    shares->worst = -1;
    shares->n_told = 0;
    shares->error = 0.0;
    if (n == 0 || s->n_unknowns == 0) return FACET_OK;
    TRY(CALLOC(all, 4 * n_all));
    const struct share_sums sums = {all, all + n_all, all + 2 * n_all, all + 3 * n_all};
    const double *errors = sums.errors, *sizes = sums.sizes, *counts = sums.counts;
    TRY(sum_up(s, &sums));
    keep_errors(shares, &sums, error, constant);
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
        TRY(mesh_piece_text(s->problem->mesh, shares->cell_share, shares->worst, shares->place));
done:
    base_free(&all);
    return status;
}

facet_status solver_group_errors_raise(struct facet_solver *s, const double *cells) {
    const struct facet_mesh *mesh = s->problem->mesh;
    struct solver_group_errors *shares = shares_of(s);
    if (shares->n == 0) return FACET_OK;
    for (int32_t cell = 0; cell < mesh->n_cells; cell++) {
        const int share = shares->cell_share[cell] >= 0 ? shares->cell_share[cell] : shares->n;
        shares->levels[2 * share] = fmax(shares->levels[2 * share], cells[cell]);
    }
    return team_reduce(mesh_team(mesh), TEAM_MAX, 2 * (shares->n + 1), shares->levels);
}

/* A trace on the faces of a cell: the largest coefficient, and the largest that is not that of a constant. */
static void size_trace(const struct facet_solver *s, int b, int32_t cell, const double *trace,
                       double sizes[2]) {
    const struct hdg *h = mapped_of(s)->hdg;
    const struct trace_space *t = contact_seen(h);
    double constant = NAN;
    sizes[0] = sizes[1] = 0.0;
    for (int slot = 0; slot < t->n_slots[b]; slot++) {
        const int32_t face = t->faces[b][(int64_t)cell * t->n_slots[b] + slot];
        const int64_t first = t->face_first[face];
        const double one = contact_one_on(h, face);
        if (isnan(constant) && one > 0.0) constant = trace[first] / one;
        for (int64_t i = first; i < t->face_first[face + 1]; i++) {
            sizes[0] = fmax(sizes[0], fabs(trace[i]));
            sizes[1] = fmax(sizes[1], fabs(trace[i] - (i == first ? constant * one : 0.0)));
        }
    }
}

facet_status solver_group_errors_add(struct facet_solver *s, int n, const double *errors,
                                     const double *const *traces) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = s->problem->mesh;
    struct solver_group_errors *shares = shares_of(s);
    if (shares == NULL || shares->n == 0) return FACET_OK;
    for (int b = 0; b < mesh->n_blocks; b++)
        for (int32_t cell = 0; cell < mesh->blocks[b].count; cell++) {
            const int32_t share = shares->cell_share[mesh->blocks[b].first + cell];
            double *of_share = shares->levels + 2 * (share >= 0 ? share : shares->n), sums[2] = {0.0};
            for (int k = 0; k < n; k++) {
                double sizes[2];
                size_trace(s, b, cell, traces[k], sizes);
                for (int i = 0; i < 2; i++) sums[i] += errors[k] * sizes[i];
            }
            for (int i = 0; i < 2; i++) of_share[i] = fmax(of_share[i], sums[i]);
        }
    TRY(team_reduce(mesh_team(mesh), TEAM_MAX, 2 * (shares->n + 1), shares->levels));
done:
    return status;
}

void solver_error_at(const struct facet_solver *s, int32_t cell, int of_change, double *error, double *size) {
    const struct solver_group_errors *shares = shares_of(s);
    const double whole = fmax(s->report.error, DBL_EPSILON);
    *size = s->report.largest;
    *error = whole * *size;
    if (shares == NULL || shares->n == 0 || s->n_unknowns == 0) return;
    const int share = shares->cell_share[cell] >= 0 ? shares->cell_share[cell] : shares->n;
    *size = shares->sizes[share];
    *error = fmax(shares->errors[share] + shares->levels[2 * share + of_change], DBL_EPSILON * *size);
    if (whole > shares->judged) *error += (whole - shares->judged) * shares->sizes[shares->n];
}

const char *solver_group_errors_note(const struct facet_solver *s, char *text, size_t bytes) {
    const struct solver_group_errors *shares = shares_of(s);
    char others[64] = "";
    if (shares == NULL || shares->n == 0 || shares->worst < 0 || !s->report.converged) return NULL;
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
