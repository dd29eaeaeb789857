/* The solve on the last level, by PETSc. See petsc.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "dist/petsc.h"

/* Up to so many unknowns one rank factors the matrix; from so many a rank on all ranks take part. Rigid
 * motions are hard for algebraic multigrid (86 iterations in place of 28 where lambda is 50 mu): up to so
 * many of them MUMPS has a factor. */
#define FACTORED         4000
#define FACTORED_VECTORS 60000
#define UNKNOWNS_OF_RANK 250

struct coarse_solve {
    struct base_team *team;
    Mat A;
    KSP ksp;
    struct dist_vectors b;
    Vec x;
    int64_t pinned; /* this unknown is held at zero; -1: none */
    int64_t here;   /* where it is among the owned ones; -1: it is not */
    Vec kernel;     /* of length 1, where one mode spans it; else NULL */
};

static void coarse_free(void **data) {
    struct coarse_solve *s = *data;
    PetscBool over = PETSC_FALSE;
    if (s == NULL) return;
    if (PetscFinalized(&over) == 0 && !over) {
        KSPDestroy(&s->ksp);
        MatDestroy(&s->A);
        VecDestroy(&s->x);
        VecDestroy(&s->kernel);
        dist_vectors_destroy(&s->b);
    }
    base_free(data);
}

/* ------------------------------------------------------------------------------ the matrix */

facet_status dist_find_block_size(const struct coarse_matrix *m, PetscInt *size) {
    facet_status status = FACET_OK;
    double range[2] = {0.0, 0.0}; /* least, as negative, and most */
    for (int64_t i = 0; i < m->n_nodes; i++) {
        const double n = (double)(m->offsets[i + 1] - m->offsets[i]);
        range[0] = i == 0 ? -n : fmax(range[0], -n);
        range[1] = fmax(range[1], n);
    }
    if (m->n_nodes == 0) range[0] = -INFINITY;
    TRY(team_reduce(m->team, TEAM_MAX, 2, range));
    *size = -range[0] == range[1] && range[1] > 1.0 ? (PetscInt)range[1] : 1;
done:
    return status;
}

/* The first unknown that has a part in constants: row modes have none. */
static facet_status find_pinned(const struct coarse_matrix *m, struct coarse_solve *s) {
    facet_status status = FACET_OK;
    s->pinned = m->singular && m->kinds == NULL ? 0 : INT64_MAX;
    s->here = -1;
    for (int64_t i = 0; i < m->n_nodes && m->singular && m->kinds != NULL; i++)
        for (int64_t j = m->offsets[i]; j < m->offsets[i + 1] && m->kinds[i] == 0; j++)
            if (m->numbers[j] < s->pinned) s->pinned = m->numbers[j];
    TRY(team_reduce_counts(m->team, TEAM_MIN, 1, &s->pinned));
    if (s->pinned == INT64_MAX) s->pinned = -1;
    if (s->pinned >= m->first && s->pinned < m->first + m->n_owned) s->here = s->pinned - m->first;
done:
    return status;
}

/* The entries of all ranks, added up. */
static facet_status make_matrix(MPI_Comm comm, const struct coarse_matrix *m, struct coarse_solve *s) {
    facet_status status = FACET_OK;
    const struct csr *csr = &m->csr;
    PetscInt *rows = NULL, *columns = NULL, owned, block_size;
    double *values = NULL;
    const int64_t n = csr->n, entries = csr->offsets[n];
    TRY(ALLOC(rows, entries));
    TRY(ALLOC(columns, entries));
    TRY(ALLOC(values, entries));
    TRY(dist_petsc_number(m->n_owned, &owned));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = csr->offsets[i]; k < csr->offsets[i + 1]; k++) {
            const int64_t row = m->numbers[i], column = m->numbers[csr->columns[k]];
            TRY(dist_petsc_number(row, &rows[k]));
            TRY(dist_petsc_number(column, &columns[k]));
            values[k] = csr->values[k];
            if (row == s->pinned || column == s->pinned) values[k] = row == column ? values[k] : 0.0;
        }
    TRY(dist_find_block_size(m, &block_size));
    TRY(team_agree(m->team, FACET_OK));
    PETSC(MatCreate(comm, &s->A));
    PETSC(MatSetSizes(s->A, owned, owned, PETSC_DETERMINE, PETSC_DETERMINE));
    PETSC(MatSetBlockSize(s->A, block_size));
    PETSC(MatSetType(s->A, MATAIJ));
    PETSC(MatSetPreallocationCOO(s->A, (PetscCount)entries, rows, columns));
    PETSC(MatSetValuesCOO(s->A, values, INSERT_VALUES));
    PETSC(MatSetOption(s->A, MAT_SPD, PETSC_TRUE));
done:
    base_free(&rows);
    base_free(&columns);
    base_free(&values);
    return status;
}

/* ------------------------------------------------------------------------------ the solver */

/* Whether there is more than vertices or faces: row modes, which are few entries and many directions. */
static facet_status has_rows(const struct coarse_matrix *m, int *rows) {
    facet_status status = FACET_OK;
    int64_t found = 0;
    for (int64_t i = 0; i < m->n_nodes && m->kinds != NULL; i++) found |= m->kinds[i] > 0;
    TRY(team_reduce_counts(m->team, TEAM_MAX, 1, &found));
    *rows = found > 0;
done:
    return status;
}

/* What is taken unless options say something else. */
static facet_status choose(const struct coarse_matrix *m, int64_t n, struct dist_defaults *d) {
    facet_status status = FACET_OK;
    const char *prefix = "facet_coarse_";
    int64_t ranks = n <= FACTORED ? 1 : n / UNKNOWNS_OF_RANK;
    char factor[24];
    int rows;
    TRY(has_rows(m, &rows));
    if (ranks < m->team->size) {
        snprintf(factor, sizeof factor, "%lld", (long long)((m->team->size + ranks - 1) / ranks));
        TRY(dist_set_default(d, prefix, "pc_type", "telescope"));
        TRY(dist_set_default(d, prefix, "pc_telescope_reduction_factor", factor));
        prefix = "facet_coarse_telescope_";
        TRY(dist_set_default(d, prefix, "ksp_type", "preonly"));
    }
    if (n <= FACTORED) {
        TRY(dist_set_default(d, prefix, "pc_type", "cholesky"));
#ifdef PETSC_HAVE_SUITESPARSE
        TRY(dist_set_default(d, prefix, "pc_factor_mat_solver_type", "cholmod"));
#endif
    } else if (m->n_modes > 1 && n <= FACTORED_VECTORS) {
        TRY(dist_set_default(d, prefix, "pc_type", "cholesky"));
        TRY(dist_set_default(d, prefix, "pc_factor_mat_solver_type", "mumps"));
    } else if (m->n_modes > 1) {
        TRY(dist_set_default(d, prefix, "pc_type", "gamg"));
    } else {
        TRY(dist_set_default(d, prefix, "pc_type", "hypre"));
        TRY(dist_set_default(d, prefix, "pc_hypre_type", "boomeramg"));
        /* With these its grids have a third of the entries in 3D, for as many iterations:
         * docs/distributed.md. */
        TRY(dist_set_default(d, prefix, "pc_hypre_boomeramg_coarsen_type", "HMIS"));
        TRY(dist_set_default(d, prefix, "pc_hypre_boomeramg_interp_type", "ext+i"));
        TRY(dist_set_default(d, prefix, "pc_hypre_boomeramg_P_max", rows ? "6" : "4"));
        TRY(dist_set_default(d, prefix, "pc_hypre_boomeramg_strong_threshold", rows ? "0.25" : "0.5"));
    }
done:
    return status;
}

static facet_status make_solver(MPI_Comm comm, const struct coarse_matrix *m, struct coarse_solve *s) {
    facet_status status = FACET_OK;
    struct dist_defaults defaults = {0};
    PetscInt n;
    PETSC(MatGetSize(s->A, &n, NULL));
    TRY(choose(m, n, &defaults));
    PETSC(KSPCreate(comm, &s->ksp));
    PETSC(KSPSetOptionsPrefix(s->ksp, "facet_coarse_"));
    PETSC(KSPSetOperators(s->ksp, s->A, s->A));
    PETSC(KSPSetType(s->ksp, KSPPREONLY));
    PETSC(KSPSetErrorIfNotConverged(s->ksp, PETSC_FALSE));
    PETSC(KSPSetFromOptions(s->ksp));
    PETSC(KSPSetUp(s->ksp));
done:
    dist_clear_defaults(&defaults);
    return status;
}

static facet_status make_kernel(const struct coarse_matrix *m, struct coarse_solve *s) {
    facet_status status = FACET_OK;
    double *to, size;
    if (!m->singular || m->n_modes > 1) return FACET_OK;
    PETSC(VecDuplicate(s->b.all, &s->kernel));
    PETSC(VecGetArray(s->kernel, &to));
    for (int64_t i = 0; i < m->csr.n; i++) {
        const int64_t at = m->numbers[i] - m->first;
        if (at >= 0 && at < m->n_owned) to[at] = m->modes != NULL ? m->modes[i] : 1.0;
    }
    for (int64_t i = 0; i < m->n_nodes && m->kinds != NULL; i++) /* row modes are no part of a constant */
        for (int64_t j = m->offsets[i]; j < m->offsets[i + 1] && m->kinds[i] > 0; j++) {
            const int64_t at = m->numbers[j] - m->first;
            if (at >= 0 && at < m->n_owned) to[at] = 0.0;
        }
    PETSC(VecRestoreArray(s->kernel, &to));
    PETSC(VecNormalize(s->kernel, &size));
done:
    return status;
}

/* Rounding that a right-hand side has along the kernel would become a source at the unknown that is held. */
static facet_status remove_kernel(const struct coarse_solve *s, Vec v) {
    facet_status status = FACET_OK;
    double dot;
    if (s->kernel == NULL) return FACET_OK;
    PETSC(VecDot(v, s->kernel, &dot));
    PETSC(VecAXPY(v, -dot, s->kernel));
done:
    return status;
}

/* b is the sum of what the ranks have; all get the solution. PETSc is entered by all ranks, or by none. */
static facet_status coarse_apply(void *data, const double *b, double *x) {
    facet_status status = FACET_OK;
    struct coarse_solve *s = data;
    double *array;
    TRY(team_agree(s->team, FACET_OK));
    TRY(dist_vectors_add(&s->b, b, s->b.all));
    TRY(remove_kernel(s, s->b.all));
    if (s->here >= 0) {
        PETSC(VecGetArray(s->b.all, &array));
        array[s->here] = 0.0;
        PETSC(VecRestoreArray(s->b.all, &array));
    }
    PETSC(KSPSolve(s->ksp, s->b.all, s->x));
    TRY(remove_kernel(s, s->x));
    TRY(dist_vectors_get(&s->b, s->x, x));
done:
    return status;
}

facet_status dist_create_coarse(const struct device *device, const struct coarse_matrix *m,
                                struct linear_operator *M) {
    facet_status status = FACET_OK;
    MPI_Comm comm = dist_comm_of(m->team)->user;
    struct coarse_solve *s = NULL;
    TRY(CALLOC(s, 1));
    s->team = m->team;
    TRY(find_pinned(m, s));
    TRY(make_matrix(comm, m, s));
    TRY(dist_vectors_create(comm, m, &s->b));
    PETSC(VecDuplicate(s->b.all, &s->x));
    TRY(make_kernel(m, s));
    TRY(dist_set_near_null_space(m, s->b.all, s->A));
    TRY(make_solver(comm, m, s));
    status =
        operator_create_host(device, m->csr.n, "the last level of PETSc", coarse_apply, s, coarse_free, M);
    s = NULL;
done:
    coarse_free((void **)&s);
    return status;
}
