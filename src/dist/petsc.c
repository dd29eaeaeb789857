/* Beginning and end of PETSc, its options and its errors. See petsc.h. */
#include "dist/petsc.h"

#include <limits.h>
#include <string.h>

static int begun_here;

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

facet_status dist_petsc_begin(void) {
    facet_status status = FACET_OK;
    PetscBool there = PETSC_FALSE;
    PETSC(PetscInitialized(&there));
    if (!there) {
        PETSC(PetscInitialize(NULL, NULL, NULL, NULL));
        begun_here = 1;
        PETSC(PetscPopSignalHandler()); /* Ctrl-C and faults are the program's business */
        PETSC(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); /* errors are told as ours */
    }
done:
    return status;
}

void dist_petsc_end(void) {
    PetscBool over = PETSC_FALSE;
    if (!begun_here || PetscFinalized(&over) != 0 || over) return;
    PetscFinalize();
    begun_here = 0;
}

facet_status dist_petsc_options(const char *text) {
    facet_status status = FACET_OK;
    PETSC(PetscOptionsInsertString(NULL, text));
done:
    return status;
}

facet_status dist_petsc_number(int64_t number, PetscInt *to) {
    *to = (PetscInt)number;
    if ((int64_t)*to == number) return FACET_OK;
    return base_fail(FACET_ERROR_INPUT, "unknown %lld of the last level is beyond the integers of this PETSc; "
                                        "use one with 64-bit indices",
                     (long long)number);
}
