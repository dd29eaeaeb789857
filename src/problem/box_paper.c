/* The operators of huismann2020 as a solver uses them: nodal vectors inside, modes outside. */
#include "problem/box_paper.h"

#include <string.h>

#include "base/memory.h"
#include "box/straight.h"

struct box_paper {
    struct box_straight *straight;
    int nodal;
};

facet_status box_paper_create(const struct device *device, const struct box_hdg *h, const char *name,
                              const char *preconditioner, struct box_paper **paper, struct operator* A,
                              struct operator* M) {
    facet_status status = FACET_OK;
    enum box_algorithm algorithm = strcmp(name, "tp") == 0 ? BOX_TP : BOX_TPT;
    TRY(CALLOC(*paper, 1));
    (*paper)->nodal = algorithm == BOX_TP;
    TRY(box_straight_create(h, BOX_LOBATTO, &(*paper)->straight));
    TRY(box_straight_operator(device, (*paper)->straight, algorithm, A));
    if (strcmp(preconditioner, "none") != 0)
        TRY(box_straight_preconditioner(device, (*paper)->straight, algorithm,
                                        strcmp(preconditioner, "jacobi") == 0 ? BOX_DIAGONAL : BOX_BLOCK, M));
done:
    return status;
}

void box_paper_destroy(struct box_paper **paper) {
    if (*paper == NULL) return;
    box_straight_destroy(&(*paper)->straight);
    base_free(paper);
}

int box_paper_is_nodal(const struct box_paper *paper) {
    return paper->nodal;
}

void box_paper_to_basis(const struct box_paper *paper, const double *F, const double *uhat, struct vector *b,
                        struct vector *x) {
    if (!paper->nodal) return;
    box_straight_to_nodes(paper->straight, BOX_RESIDUAL, F, b->data);
    box_straight_to_nodes(paper->straight, BOX_TRACE, uhat, x->data);
}

void box_paper_to_modes(const struct box_paper *paper, const struct vector *x, double *uhat) {
    if (paper->nodal) box_straight_to_modes(paper->straight, BOX_TRACE, x->data, uhat);
}
