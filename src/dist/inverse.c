/* The whole system by a KSP of PETSc: our product as a MatShell, our preconditioner as a PCShell, or the
 * assembled matrix with a preconditioner of PETSc. See petsc.h. */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/seam.h"
#include "dist/petsc.h"

static const char prefix[] = "facet_";

struct inverse {
    struct base_team *team;
    const struct linear_operator *A;
    struct linear_operator M;
    struct vector x, y; /* of the products, as ours */
    KSP ksp;
    Mat shell, P; /* P: assembled, or NULL */
    struct dist_vectors v;
    Vec solution;
    double *owned; /* room for what is owned of a vector, and zeros */
    int iterations;
    char ending[128], preconditioner[48];
};

static void inverse_free(void **data) {
    struct inverse *s = *data;
    PetscBool over = PETSC_FALSE;
    if (s == NULL) return;
    if (PetscFinalized(&over) == 0 && !over) {
        KSPDestroy(&s->ksp);
        MatDestroy(&s->shell);
        MatDestroy(&s->P);
        VecDestroy(&s->solution);
        dist_vectors_destroy(&s->v);
    }
    operator_destroy(&s->M);
    vector_destroy(&s->x);
    vector_destroy(&s->y);
    base_free(&s->owned);
    base_free(data);
}

/* `all` = what is owned of x, which is consistent. */
static facet_status put(const struct inverse *s, const double *x, Vec all) {
    memcpy(s->owned, x, (size_t)s->v.n * sizeof *x);
    seam_clear_foreign(s->A->seam, s->owned);
    return dist_vectors_add(&s->v, s->owned, all);
}

/* y = B x, in vectors of PETSc. */
static PetscErrorCode multiply(struct inverse *s, const struct linear_operator *B, Vec x, Vec y) {
    facet_status status = dist_vectors_get(&s->v, x, s->x.data);
    if (status == FACET_OK) operator_apply(B, &s->x, &s->y);
    if (status == FACET_OK) status = put(s, s->y.data, y);
    return status == FACET_OK ? 0 : PETSC_ERR_LIB;
}

static PetscErrorCode apply_product(Mat shell, Vec x, Vec y) {
    struct inverse *s;
    PetscErrorCode code = MatShellGetContext(shell, &s);
    return code != 0 ? code : multiply(s, s->A, x, y);
}

static PetscErrorCode apply_preconditioner(PC pc, Vec x, Vec y) {
    struct inverse *s;
    PetscErrorCode code = PCShellGetContext(pc, &s);
    return code != 0 ? code : multiply(s, &s->M, x, y);
}

/* The parts of the matrix, which are added up unless the preconditioner is BDDC. */
static facet_status make_matrix(MPI_Comm comm, const struct coarse_matrix *m, struct inverse *s) {
    facet_status status = FACET_OK;
    const struct csr *csr = &m->csr;
    ISLocalToGlobalMapping map = NULL;
    Mat parts = NULL, own = NULL;
    PetscInt *list = NULL, *offsets = NULL, n, owned, *columns = NULL, block_size;
    char type[32] = "";
    PetscBool given;
    TRY(ALLOC(list, csr->n));
    TRY(ALLOC(offsets, csr->n + 1));
    TRY(ALLOC(columns, csr->offsets[csr->n]));
    TRY(dist_petsc_number(csr->offsets[csr->n], &n));
    for (int64_t i = 0; i <= csr->n; i++) offsets[i] = (PetscInt)csr->offsets[i];
    for (int64_t i = 0; i < csr->offsets[csr->n]; i++) columns[i] = csr->columns[i];
    for (int64_t i = 0; i < csr->n; i++) TRY(dist_petsc_number(m->numbers[i], &list[i]));
    TRY(dist_petsc_number(csr->n, &n));
    TRY(dist_petsc_number(m->n_owned, &owned));
    TRY(dist_find_block_size(m, &block_size));
    TRY(team_agree(s->team, FACET_OK));
    PETSC(ISLocalToGlobalMappingCreate(comm, 1, n, list, PETSC_COPY_VALUES, &map));
    PETSC(MatCreateIS(comm, 1, owned, owned, PETSC_DETERMINE, PETSC_DETERMINE, map, map, &parts));
    PETSC(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, offsets, columns, csr->values, &own));
    PETSC(MatDuplicate(own, MAT_COPY_VALUES, &s->P)); /* the arrays are the caller's */
    PETSC(MatSetOption(s->P, MAT_SPD, PETSC_TRUE));
    PETSC(MatISSetLocalMat(parts, s->P));
    PETSC(MatDestroy(&s->P));
    PETSC(MatAssemblyBegin(parts, MAT_FINAL_ASSEMBLY));
    PETSC(MatAssemblyEnd(parts, MAT_FINAL_ASSEMBLY));
    PETSC(PetscOptionsGetString(NULL, prefix, "-pc_type", type, sizeof type, &given));
    if (strcmp(type, PCBDDC) == 0) {
        s->P = parts;
        parts = NULL;
    } else {
        PETSC(MatConvert(parts, MATAIJ, MAT_INITIAL_MATRIX, &s->P));
        PETSC(MatSetBlockSize(s->P, block_size));
    }
    PETSC(MatSetOption(s->P, MAT_SPD, PETSC_TRUE));
    TRY(dist_set_near_null_space(m, s->v.all, s->P));
done:
    ISLocalToGlobalMappingDestroy(&map);
    MatDestroy(&parts);
    MatDestroy(&own);
    base_free(&list);
    base_free(&offsets);
    base_free(&columns);
    return status;
}

struct ending {
    MPI_Comm comm;
    void *usual; /* of KSPConvergedDefault */
};

/* Whoever leaves an iteration of PETSc by himself leaves the others in it for ever: an interrupt of one rank
 * ends it for all, between two steps, and nowhere else. */
static PetscErrorCode converged(KSP ksp, PetscInt step, PetscReal norm, KSPConvergedReason *reason,
                                void *data) {
    struct ending *e = data;
    int stop = base_look() != FACET_OK;
    PetscErrorCode code = MPI_Allreduce(MPI_IN_PLACE, &stop, 1, MPI_INT, MPI_MAX, e->comm);
    if (code == 0) code = KSPConvergedDefault(ksp, step, norm, reason, e->usual);
    if (code == 0 && stop) *reason = KSP_DIVERGED_BREAKDOWN;
    return code;
}

static PetscErrorCode forget_ending(void *data) {
    struct ending *e = data;
    PetscErrorCode code = KSPConvergedDefaultDestroy(e->usual);
    base_free(&e);
    return code;
}

static facet_status end_together(struct dist_comm *comm, KSP ksp) {
    facet_status status = FACET_OK;
    struct ending *e = NULL;
    TRY(CALLOC(e, 1));
    e->comm = comm->data;
    PETSC(KSPConvergedDefaultCreate(&e->usual));
    PETSC(KSPSetConvergenceTest(ksp, converged, e, forget_ending));
done:
    return status;
}

/* BDDC: with the graph of the matrix every face of the interface would be primal, which is a direct solve.
 * What two parts share is a face to it: without primal averages there, as unknowns of their own, the problem
 * of a part that nothing holds would be singular. */
static facet_status make_solver(MPI_Comm comm, int vectors, double rtol, int max_iterations,
                                struct inverse *s) {
    facet_status status = FACET_OK;
    struct dist_defaults d = {0};
    PC pc;
    if (s->M.apply == NULL) {
        TRY(dist_set_default(&d, prefix, "pc_type", vectors ? PCGAMG : PCHYPRE));
        TRY(dist_set_default(&d, prefix, "pc_hypre_type", "boomeramg"));
        if (vectors) { /* the blocks of faces, and no squared graph: half the iterations, docs/distributed.md
                        */
            TRY(dist_set_default(&d, prefix, "mg_levels_pc_type", PCPBJACOBI));
            TRY(dist_set_default(&d, prefix, "pc_gamg_square_graph", "0"));
        }
        TRY(dist_set_default(&d, prefix, "pc_bddc_use_local_mat_graph", "0"));
        TRY(dist_set_default(&d, prefix, "pc_bddc_use_faces", "1"));
        TRY(dist_set_default(&d, prefix, "pc_bddc_use_change_of_basis", "1"));
        TRY(dist_set_default(&d, prefix, "pc_bddc_use_change_on_faces", "1"));
    }
    PETSC(KSPCreate(comm, &s->ksp));
    PETSC(KSPSetOptionsPrefix(s->ksp, prefix));
    PETSC(KSPSetOperators(s->ksp, s->shell, s->P != NULL ? s->P : s->shell));
    PETSC(KSPSetType(s->ksp, KSPCG));
    PETSC(KSPSetNormType(s->ksp, KSP_NORM_UNPRECONDITIONED));
    PETSC(KSPSetTolerances(s->ksp, rtol, DBL_MIN, PETSC_DEFAULT, max_iterations));
    PETSC(KSPGetPC(s->ksp, &pc));
    if (s->M.apply != NULL) {
        PETSC(PCSetType(pc, PCSHELL));
        PETSC(PCShellSetContext(pc, s));
        PETSC(PCShellSetApply(pc, apply_preconditioner));
    }
    TRY(end_together(dist_comm_of(s->team), s->ksp));
    PETSC(KSPSetFromOptions(s->ksp));
    PETSC(KSPSetUp(s->ksp));
done:
    dist_clear_defaults(&d);
    return status;
}

static facet_status solve(const struct inverse *s, const double *b, double *x) {
    facet_status status = FACET_OK;
    struct dist_comm *comm = dist_comm_of(s->team);
    TRY(team_agree(s->team, FACET_OK));
    TRY(put(s, b, s->v.all));
    comm->is_agreeing = 1; /* products do not look at interrupts */
    PetscErrorCode code = KSPSolve(s->ksp, s->v.all, s->solution);
    comm->is_agreeing = 0;
    PETSC(code);
    TRY(dist_vectors_get(&s->v, s->solution, x));
    TRY(base_look()); /* only now: that was PETSc's, too */
done:
    return status;
}

static facet_status inverse_apply(void *data, const double *b, double *x) {
    facet_status status = FACET_OK;
    struct inverse *s = data;
    KSPConvergedReason reason;
    PetscInt iterations;
    TRY(solve(s, b, x));
    PETSC(KSPGetIterationNumber(s->ksp, &iterations));
    PETSC(KSPGetConvergedReason(s->ksp, &reason));
    s->iterations += (int)iterations;
    if (reason == KSP_DIVERGED_ITS)
        snprintf(s->ending, sizeof s->ending, "the iteration limit was reached");
    else
        snprintf(s->ending, sizeof s->ending, "PETSc ended with %s, and the true residual %s",
                 KSPConvergedReasons[reason], reason < 0 ? "is too large" : "hardly falls any more");
done:
    return status;
}

/* For estimates of errors. */
#define ROUGH 1e-2

static facet_status rough_apply(void *data, const double *b, double *x) {
    facet_status status = FACET_OK;
    struct inverse *s = data;
    double rtol, atol, dtol;
    PetscInt most;
    PETSC(KSPGetTolerances(s->ksp, &rtol, &atol, &dtol, &most));
    PETSC(KSPSetTolerances(s->ksp, rtol < ROUGH ? ROUGH : rtol, atol, dtol, most));
    status = solve(s, b, x);
    KSPSetTolerances(s->ksp, rtol, atol, dtol, most);
done:
    return status;
}

facet_status dist_create_rough(const struct linear_operator *inverse, struct linear_operator *rough) {
    return operator_create_host(inverse->device, inverse->n, "the inverse of PETSc to a few digits",
                                rough_apply, operator_host_data(inverse), NULL, rough);
}

static const struct inverse *inverse_of(const struct linear_operator *inverse) {
    return operator_host_data(inverse);
}

int dist_inverse_iterations(const struct linear_operator *inverse) {
    return inverse_of(inverse)->iterations;
}

const char *dist_inverse_ending(const struct linear_operator *inverse) {
    return inverse_of(inverse)->ending;
}

const char *dist_inverse_preconditioner(const struct linear_operator *inverse) {
    const char *name = inverse_of(inverse)->preconditioner;
    return name[0] != '\0' ? name : NULL;
}

/* Of hypre, which has several, the one that it is. */
static facet_status find_name(struct inverse *s) {
    facet_status status = FACET_OK;
    const char *type = NULL;
    PC pc;
    PETSC(KSPGetPC(s->ksp, &pc));
    PETSC(PCGetType(pc, &type));
#ifdef PETSC_HAVE_HYPRE
    if (strcmp(type, PCHYPRE) == 0) PETSC(PCHYPREGetType(pc, &type));
#endif
    if (s->M.apply == NULL || strcmp(type, PCSHELL) != 0)
        snprintf(s->preconditioner, sizeof s->preconditioner, "%s", type);
done:
    return status;
}

facet_status dist_create_inverse(const struct linear_operator *A, struct linear_operator *M,
                                 const struct coarse_matrix *m, double rtol, int max_iterations,
                                 struct linear_operator *inverse) {
    facet_status status = FACET_OK;
    MPI_Comm comm = dist_comm_of(m->team)->user;
    struct inverse *s = NULL;
    PetscInt owned;
    TRY(CALLOC(s, 1));
    s->team = m->team;
    s->A = A;
    s->M = *M;
    *M = (struct linear_operator){0};
    TRY(ALLOC(s->owned, m->csr.n));
    TRY(vector_create(A->device, A->n, &s->x));
    TRY(vector_create(A->device, A->n, &s->y));
    s->x.seam = s->y.seam = A->seam;
    TRY(dist_petsc_number(m->n_owned, &owned));
    TRY(team_agree(s->team, FACET_OK));
    TRY(dist_vectors_create(comm, m, &s->v));
    PETSC(VecDuplicate(s->v.all, &s->solution));
    PETSC(MatCreateShell(comm, owned, owned, PETSC_DETERMINE, PETSC_DETERMINE, s, &s->shell));
    PETSC(MatShellSetOperation(s->shell, MATOP_MULT, (void (*)(void))apply_product));
    PETSC(MatSetOption(s->shell, MAT_SPD, PETSC_TRUE));
    if (s->M.apply == NULL) TRY(make_matrix(comm, m, s));
    TRY(make_solver(comm, m->n_modes > 1, rtol, max_iterations, s));
    TRY(find_name(s));
    status = operator_create_host(A->device, A->n, "the inverse of PETSc", inverse_apply, s, inverse_free,
                                  inverse);
    s = NULL;
    if (status == FACET_OK) inverse->seam = seam_hold(A->seam);
done:
    operator_destroy(M);
    inverse_free((void **)&s);
    return status;
}
