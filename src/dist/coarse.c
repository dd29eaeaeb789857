/* The solve on the last level, by PETSc. See petsc.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "dist/petsc.h"

/* Up to so many unknowns one rank factors the matrix; from so many a rank on all ranks take part. */
#define FACTORED         4000
#define UNKNOWNS_OF_RANK 1000

struct coarse_solve {
    struct base_team *team;
    int64_t n;
    Mat A;
    KSP ksp;
    Vec b, x, local; /* of all ranks; of this one, with the unknowns of others that it has */
    VecScatter scatter;
    int pinned; /* unknown 0 is held at zero, and is owned here */
};

static void coarse_free(void **data) {
    struct coarse_solve *s = *data;
    PetscBool over = PETSC_FALSE;
    if (s == NULL) return;
    if (PetscFinalized(&over) == 0 && !over) {
        KSPDestroy(&s->ksp);
        MatDestroy(&s->A);
        VecDestroy(&s->b);
        VecDestroy(&s->x);
        VecDestroy(&s->local);
        VecScatterDestroy(&s->scatter);
    }
    base_free(data);
}

/* ------------------------------------------------------------------------------ the matrix */

/* As many unknowns at every node of all ranks: its number; else 1. */
static facet_status find_block_size(const struct coarse_matrix *m, PetscInt *size) {
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
            if (m->singular && (row == 0 || column == 0)) values[k] = row == column ? values[k] : 0.0;
        }
    TRY(find_block_size(m, &block_size));
    TRY(team_settle(m->team, status));
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

/* What is smooth in it: the modes, made orthonormal one after the other. */
static facet_status set_near_null_space(MPI_Comm comm, const struct coarse_matrix *m, struct coarse_solve *s) {
    facet_status status = FACET_OK;
    Vec modes[6] = {NULL};
    MatNullSpace space = NULL;
    int n = 0;
    if (m->n_modes < 2 || m->n_modes > 6) return FACET_OK;
    for (int k = 0; k < m->n_modes; k++) {
        double *to, size;
        PETSC(VecDuplicate(s->b, &modes[n]));
        PETSC(VecGetArray(modes[n], &to));
        for (int64_t i = 0; i < m->csr.n; i++) {
            const int64_t at = m->numbers[i] - m->first;
            if (at >= 0 && at < m->n_owned) to[at] = m->modes[k * m->csr.n + i];
        }
        PETSC(VecRestoreArray(modes[n], &to));
        for (int j = 0; j < 2 * n; j++) { /* twice is enough */
            double dot;
            PETSC(VecDot(modes[n], modes[j % n], &dot));
            PETSC(VecAXPY(modes[n], -dot, modes[j % n]));
        }
        PETSC(VecNormalize(modes[n], &size));
        if (size > 0.0)
            n++;
        else
            PETSC(VecDestroy(&modes[n]));
    }
    PETSC(MatNullSpaceCreate(comm, PETSC_FALSE, n, modes, &space));
    PETSC(MatSetNearNullSpace(s->A, space));
done:
    MatNullSpaceDestroy(&space);
    for (int k = 0; k < 6; k++) VecDestroy(&modes[k]);
    return status;
}

/* ------------------------------------------------------------------------------ the solver */

/* Options that were set here, to be taken out again. */
struct defaults {
    int n;
    char keys[8][96];
};

static facet_status set_default(struct defaults *d, const char *prefix, const char *name, const char *value) {
    facet_status status = FACET_OK;
    PetscBool there;
    char *key = d->keys[d->n];
    snprintf(key, sizeof d->keys[0], "-%s%s", prefix, name);
    PETSC(PetscOptionsHasName(NULL, NULL, key, &there));
    if (there) goto done;
    PETSC(PetscOptionsSetValue(NULL, key, value));
    d->n++;
done:
    return status;
}

/* What is taken unless options say something else. */
static facet_status choose(const struct coarse_matrix *m, int64_t n, struct defaults *d) {
    facet_status status = FACET_OK;
    const char *prefix = "facet_coarse_";
    int64_t ranks = n <= FACTORED ? 1 : n / UNKNOWNS_OF_RANK;
    char factor[24];
    if (ranks < m->team->size) {
        snprintf(factor, sizeof factor, "%lld", (long long)((m->team->size + ranks - 1) / ranks));
        TRY(set_default(d, prefix, "pc_type", "telescope"));
        TRY(set_default(d, prefix, "pc_telescope_reduction_factor", factor));
        prefix = "facet_coarse_telescope_";
        TRY(set_default(d, prefix, "ksp_type", "preonly"));
    }
    if (n <= FACTORED) {
        TRY(set_default(d, prefix, "pc_type", "cholesky"));
#ifdef PETSC_HAVE_SUITESPARSE
        TRY(set_default(d, prefix, "pc_factor_mat_solver_type", "cholmod"));
#endif
    } else {
        TRY(set_default(d, prefix, "pc_type", "hypre"));
        TRY(set_default(d, prefix, "pc_hypre_type", "boomeramg"));
    }
done:
    return status;
}

static facet_status make_solver(MPI_Comm comm, const struct coarse_matrix *m, struct coarse_solve *s) {
    facet_status status = FACET_OK;
    struct defaults defaults = {0};
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
    for (int i = 0; i < defaults.n; i++) PetscOptionsClearValue(NULL, defaults.keys[i]);
    return status;
}

static facet_status make_vectors(MPI_Comm comm, const struct coarse_matrix *m, struct coarse_solve *s) {
    facet_status status = FACET_OK;
    IS numbers = NULL;
    PetscInt *list = NULL, n;
    TRY(ALLOC(list, m->csr.n));
    for (int64_t i = 0; i < m->csr.n; i++) TRY(dist_petsc_number(m->numbers[i], &list[i]));
    TRY(dist_petsc_number(m->csr.n, &n));
    PETSC(MatCreateVecs(s->A, &s->x, &s->b));
    PETSC(VecCreateSeq(PETSC_COMM_SELF, n, &s->local));
    PETSC(ISCreateGeneral(comm, n, list, PETSC_COPY_VALUES, &numbers));
    PETSC(VecScatterCreate(s->b, numbers, s->local, NULL, &s->scatter));
done:
    ISDestroy(&numbers);
    base_free(&list);
    return status;
}

/* b is the sum of what the ranks have; all get the solution. PETSc is entered by all ranks, or by none. */
static facet_status coarse_apply(void *data, const double *b, double *x) {
    facet_status status = FACET_OK;
    struct coarse_solve *s = data;
    double all_here = 1.0, *array;
    const double *solution;
    TRY(team_reduce(s->team, TEAM_MIN, 1, &all_here));
    PETSC(VecGetArray(s->local, &array));
    if (s->n > 0) memcpy(array, b, (size_t)s->n * sizeof *b);
    PETSC(VecRestoreArray(s->local, &array));
    PETSC(VecSet(s->b, 0.0));
    PETSC(VecScatterBegin(s->scatter, s->local, s->b, ADD_VALUES, SCATTER_REVERSE));
    PETSC(VecScatterEnd(s->scatter, s->local, s->b, ADD_VALUES, SCATTER_REVERSE));
    if (s->pinned) {
        PETSC(VecGetArray(s->b, &array));
        array[0] = 0.0;
        PETSC(VecRestoreArray(s->b, &array));
    }
    PETSC(KSPSolve(s->ksp, s->b, s->x));
    PETSC(VecScatterBegin(s->scatter, s->x, s->local, INSERT_VALUES, SCATTER_FORWARD));
    PETSC(VecScatterEnd(s->scatter, s->x, s->local, INSERT_VALUES, SCATTER_FORWARD));
    PETSC(VecGetArrayRead(s->local, &solution));
    if (s->n > 0) memcpy(x, solution, (size_t)s->n * sizeof *x);
    PETSC(VecRestoreArrayRead(s->local, &solution));
done:
    return status;
}

static facet_status coarse_create(const struct coarse_elsewhere *self, const struct device *device,
                                  const struct coarse_matrix *m, struct operator* M) {
    facet_status status = FACET_OK;
    MPI_Comm comm = dist_comm_of(m->team)->user;
    struct coarse_solve *s = NULL;
    (void)self;
    TRY(CALLOC(s, 1));
    s->team = m->team;
    s->n = m->csr.n;
    s->pinned = m->singular && m->first == 0 && m->n_owned > 0;
    TRY(make_matrix(comm, m, s));
    TRY(make_vectors(comm, m, s));
    TRY(set_near_null_space(comm, m, s));
    TRY(make_solver(comm, m, s));
    status = operator_create_host(device, s->n, "the last level of PETSc", coarse_apply, s, coarse_free, M);
    s = NULL;
done:
    coarse_free((void **)&s);
    return status;
}

const struct coarse_elsewhere dist_coarse = {.create = coarse_create};
