/* What every cell balances: its source and reaction against the numerical flux through its faces, of
 * diffusion and of forces. Included by kernels/kernels.h.
 *
 * Component d of the flux out of a cell is the integral of p n_d - mu Q_d n + tau (u_d - uhat_d) over its
 * faces. Where normals and tau are constant on them, a "point" is all of a face, the functions there being
 * their integrals over the reference face. */
#ifndef FACET_KERNELS_BALANCE_H
#define FACET_KERNELS_BALANCE_H

#include <math.h>
#include <stdint.h>

#include "kernels/everywhere.h"

/* The cells, batch by batch, each with LANES. A `_row` is what the array before it has for a batch: so it
 * may be a part of a larger one. */
struct cell_balance {
    int lanes, dim, components, n_faces;
    int n;                /* points of a face */
    int N, Nu;            /* functions phi of Q and p, chi of a component of u */
    int m, n_psi;         /* functions of a component of the trace on a face; the first that have moments */
    int pressure;         /* p follows Q */
    int own;              /* phi and chi are in lanes, batch by batch: of every cell its own */
    int phi_row, chi_row; /* of a point, of which the first N and Nu count */
    const double *phi, *chi;     /* n_faces x n x row */
    const double *psi;           /* 8 x n x m: as the orientations of a face have them */
    const double *orientations;  /* n_faces: 0, 1, .. */
    const double *normals, *tau; /* n_faces x n x dim; n_faces x n: all times areas */
    int64_t orientations_row, normals_row, tau_row;
    double mu;
    const double *moduli[2]; /* of every cell two numbers, whose quotient is -mu; NULL: mu is that above */
    int64_t moduli_row;
    double constant;         /* chi_0 */
    const double *u, *loads; /* components x Nu: loads are (source, chi) */
    const double *q;         /* components x dim x N, N more with p */
    const double *uhat;      /* n_faces x components x m */
    int n_inside, N_inside;  /* reaction: weights at points, where the first functions of u are `inside` */
    const double *inside, *reaction; /* n_inside x N_inside; n_inside */
    int64_t reaction_row;
};

/* What is found of a cell: the sum of the moduli of the terms of its flux; by component, what source less
 * reaction and flux leave; of each face the flux out of it, by component. */
EVERYWHERE int64_t cell_balance_size(int n_faces, int components) {
    return 1 + components + (int64_t)n_faces * components;
}

#define CELL_BALANCE                   EVERYWHERE
#define NAMED(what)                    cell_balance_##what
#define NUMBER                         double
#define ZERO                           0.0
#define MODULUS(x)                     fabs(x)
#define AT(array, i)                   (array)[(int64_t)(i)*b->lanes + at]
#define PUT                            AT
#define OF_ORIENTATION(table, o, step) (table)[(int64_t)(o) * (step)]
#include "kernels/balance_cell.h"
#undef CELL_BALANCE
#undef NAMED
#undef NUMBER
#undef ZERO
#undef MODULUS
#undef AT
#undef PUT
#undef OF_ORIENTATION

#endif
