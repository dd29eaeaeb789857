/* Beginning and end of PETSc, its options and its errors. See petsc.h. */
#include "dist/petsc.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

facet_status dist_petsc_check(PetscErrorCode code, const char *call) {
    const char *text = NULL;
    char *specific = NULL;
    if (code == 0) return FACET_OK;
    PetscErrorMessage(code, &text, &specific);
    int length = (int)strcspn(call, "(");
    return base_fail(code == PETSC_ERR_MEM ? FACET_ERROR_MACHINE : FACET_ERROR_INPUT, "PETSc: %.*s: %s%s%s",
                     length, call, text != NULL ? text : "failed", specific != NULL && *specific ? ": " : "",
                     specific != NULL ? specific : "");
}

/* MPI_Finalize lets go what hangs on MPI_COMM_SELF before anything else. */
static int end(MPI_Comm self, int key, void *value, void *extra) {
    PetscBool over = PETSC_FALSE;
    (void)self;
    (void)key;
    (void)value;
    (void)extra;
    if (PetscFinalized(&over) == 0 && !over) PetscFinalize();
    return MPI_SUCCESS;
}

facet_status dist_petsc_begin(MPI_Comm comm) {
    facet_status status = FACET_OK;
    PetscBool there = PETSC_FALSE;
    int key;
    PETSC(PetscInitialized(&there));
    if (there) goto done;
    PETSC_COMM_WORLD = comm;
    /* Ctrl-C and faults are the program's business: to pop PETSc's handlers would leave none. */
    PETSC(PetscOptionsSetValue(NULL, "-no_signal_handler", NULL));
    PETSC(PetscInitialize(NULL, NULL, NULL, NULL));
    PETSC(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); /* errors are told as ours */
    TRY(dist_check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &key, NULL), "MPI_Comm_create_keyval"));
    TRY(dist_check(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL), "MPI_Comm_set_attr"));
done:
    return status;
}

facet_status dist_petsc_options(const char *text) {
    facet_status status = FACET_OK;
    struct text all = {0};
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, " \t\n"), gap = strspn(at + length, " \t\n");
        int key = at[0] == '-' && strchr("0123456789.", at[1]) == NULL;
        if (key && strncmp(at, "-facet_", 7) != 0)
            text_printf(&all, "-facet_%.*s ", (int)length - 1, at + 1);
        else
            text_printf(&all, "%.*s ", (int)length, at);
        at += length + gap;
    }
    TRY(all.status);
    if (all.length > 0) PETSC(PetscOptionsInsertString(NULL, all.data));
done:
    text_free(&all);
    return status;
}

int dist_petsc_unused(char *text, size_t bytes) {
    char **names = NULL, **values = NULL;
    size_t used = 0;
    PetscInt n = 0;
    text[0] = '\0';
    if (PetscOptionsLeftGet(NULL, &n, &names, &values) != 0) return 0;
    for (PetscInt i = 0; i < n && used < bytes; i++)
        if (strncmp(names[i], "facet_", 6) == 0)
            used += (size_t)snprintf(text + used, bytes - used, "%s-%s", used > 0 ? ", " : "", names[i]);
    PetscOptionsLeftRestore(NULL, &n, &names, &values);
    return used > 0;
}

facet_status dist_petsc_number(int64_t number, PetscInt *to) {
    *to = (PetscInt)number;
    if ((int64_t)*to == number) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT,
                     "unknown %lld of the last level is beyond the integers of this PETSc; "
                     "use one with 64-bit indices",
                     (long long)number);
}

/* ------------------------------------------------------------------------------ defaults */

facet_status dist_set_default(struct dist_defaults *d, const char *prefix, const char *name,
                              const char *value) {
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

void dist_clear_defaults(struct dist_defaults *d) {
    while (d->n > 0) PetscOptionsClearValue(NULL, d->keys[--d->n]);
}

/* ------------------------------------------------------------------------------ vectors */

void dist_vectors_destroy(struct dist_vectors *v) {
    VecDestroy(&v->all);
    VecDestroy(&v->here);
    VecScatterDestroy(&v->scatter);
    v->n = 0;
}

facet_status dist_vectors_create(MPI_Comm comm, const struct coarse_matrix *m, struct dist_vectors *v) {
    facet_status status = FACET_OK;
    IS numbers = NULL;
    PetscInt *list = NULL, n, owned;
    v->n = m->csr.n;
    TRY(ALLOC(list, m->csr.n));
    for (int64_t i = 0; i < m->csr.n; i++) TRY(dist_petsc_number(m->numbers[i], &list[i]));
    TRY(dist_petsc_number(m->csr.n, &n));
    TRY(dist_petsc_number(m->n_owned, &owned));
    TRY(team_agree(m->team, FACET_OK));
    PETSC(VecCreateMPI(comm, owned, PETSC_DETERMINE, &v->all));
    PETSC(VecCreateSeq(PETSC_COMM_SELF, n, &v->here));
    PETSC(ISCreateGeneral(comm, n, list, PETSC_COPY_VALUES, &numbers));
    PETSC(VecScatterCreate(v->all, numbers, v->here, NULL, &v->scatter));
done:
    ISDestroy(&numbers);
    base_free(&list);
    if (status != FACET_OK) dist_vectors_destroy(v);
    return status;
}

facet_status dist_vectors_add(const struct dist_vectors *v, const double *part, Vec all) {
    facet_status status = FACET_OK;
    double *array;
    PETSC(VecGetArray(v->here, &array));
    if (v->n > 0) memcpy(array, part, (size_t)v->n * sizeof *part);
    PETSC(VecRestoreArray(v->here, &array));
    PETSC(VecSet(all, 0.0));
    PETSC(VecScatterBegin(v->scatter, v->here, all, ADD_VALUES, SCATTER_REVERSE));
    PETSC(VecScatterEnd(v->scatter, v->here, all, ADD_VALUES, SCATTER_REVERSE));
done:
    return status;
}

facet_status dist_vectors_get(const struct dist_vectors *v, Vec all, double *x) {
    facet_status status = FACET_OK;
    const double *array;
    PETSC(VecScatterBegin(v->scatter, all, v->here, INSERT_VALUES, SCATTER_FORWARD));
    PETSC(VecScatterEnd(v->scatter, all, v->here, INSERT_VALUES, SCATTER_FORWARD));
    PETSC(VecGetArrayRead(v->here, &array));
    if (v->n > 0) memcpy(x, array, (size_t)v->n * sizeof *x);
    PETSC(VecRestoreArrayRead(v->here, &array));
done:
    return status;
}

facet_status dist_set_near_null_space(const struct coarse_matrix *m, Vec like, Mat A) {
    facet_status status = FACET_OK;
    Vec modes[6] = {NULL};
    MatNullSpace space = NULL;
    int n = 0;
    if (m->n_modes < 2 || m->n_modes > 6) return FACET_OK;
    for (int k = 0; k < m->n_modes; k++) {
        double *to, size;
        PETSC(VecDuplicate(like, &modes[n]));
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
    PETSC(MatNullSpaceCreate(PetscObjectComm((PetscObject)A), PETSC_FALSE, n, modes, &space));
    PETSC(MatSetNearNullSpace(A, space));
done:
    MatNullSpaceDestroy(&space);
    for (int k = 0; k < 6; k++) VecDestroy(&modes[k]);
    return status;
}

const struct solve_external dist_external = {.options = dist_petsc_options,
                                             .unused = dist_petsc_unused,
                                             .create_coarse = dist_create_coarse,
                                             .create_inverse = dist_create_inverse,
                                             .iterations = dist_inverse_iterations,
                                             .ending = dist_inverse_ending,
                                             .preconditioner = dist_inverse_preconditioner,
                                             .create_rough = dist_create_rough};
