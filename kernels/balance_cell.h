/* The kernel cell_balance (kernels/balance.h) for one NUMBER, which is of one cell or of as many as a
 * register has. The includer defines it, its ZERO, MODULUS(x) and NAMED(what), the name of a function;
 * AT(array, i), number i of these cells in an array in lanes, of which `at` says which cells they are;
 * PUT(array, i), the same to be written; and OF_ORIENTATION(table, o, step), number o step of a table, where o
 * is of every cell its own. */

/* The sum over the points of a face of weights, `step` apart, times function i; row: of the functions at a
 * point. */
CELL_BALANCE NUMBER NAMED(moment)(const struct cell_balance *b, int at, const double *weights, int step,
                                  const double *functions, int row, int i) {
    NUMBER sum = ZERO;
    for (int p = 0; b->own && p < b->n; p++) sum += AT(weights, p * step) * AT(functions, p * row + i);
    for (int p = 0; !b->own && p < b->n; p++) sum += AT(weights, p * step) * functions[p * row + i];
    return sum;
}

/* What goes out through face f of a batch, by component, into flux; returns the moduli of the terms. */
CELL_BALANCE NUMBER NAMED(face)(const struct cell_balance *b, int64_t batch, int at, int f, NUMBER mu,
                                NUMBER *flux) {
    const int dim = b->dim, nc = b->components, n = b->n, N = b->N, Nu = b->Nu, m = b->m;
    const int64_t lanes = b->lanes, face = b->own ? batch * b->n_faces + f : f, step = b->own ? n * lanes : n;
    const double *normals = b->normals + (batch * b->normals_row + f * n * dim) * lanes,
                 *tau = b->tau + (batch * b->tau_row + f * n) * lanes,
                 *phi = b->phi + face * b->phi_row * step, *chi = b->chi + face * b->chi_row * step;
    const double *q = b->q + batch * (nc * dim + b->pressure) * N * lanes,
                 *u = b->u + batch * nc * Nu * lanes,
                 *uhat = b->uhat + (batch * b->n_faces + f) * nc * m * lanes;
    NUMBER moduli = ZERO, term;
    for (int d = 0; d < nc; d++) flux[d] = ZERO;
    for (int i = 0; i < N; i++) {
        NUMBER moments[3];
        for (int a = 0; a < dim; a++)
            moments[a] = NAMED(moment)(b, at, normals + a * lanes, dim, phi, b->phi_row, i);
        for (int d = 0; d < nc; d++) {
            term = ZERO;
            for (int a = 0; a < dim; a++) term -= moments[a] * AT(q, (d * dim + a) * N + i);
            term *= mu;
            if (b->pressure) term += moments[d] * AT(q, nc * dim * N + i);
            flux[d] += term;
            moduli += MODULUS(term);
        }
    }
    for (int i = 0; i < Nu; i++) {
        const NUMBER weight = NAMED(moment)(b, at, tau, 1, chi, b->chi_row, i);
        for (int d = 0; d < nc; d++) {
            term = weight * AT(u, d * Nu + i);
            flux[d] += term;
            moduli += MODULUS(term);
        }
    }
    const NUMBER o = AT(b->orientations + batch * b->orientations_row * lanes, f);
    for (int j = 0; j < b->n_psi; j++) {
        NUMBER weight = ZERO;
        for (int p = 0; p < n; p++) weight += AT(tau, p) * OF_ORIENTATION(b->psi + p * m + j, o, n * m);
        for (int d = 0; d < nc; d++) {
            term = weight * AT(uhat, d * m + j);
            flux[d] -= term;
            moduli += MODULUS(term);
        }
    }
    return moduli;
}

/* What the reaction takes. */
CELL_BALANCE NUMBER NAMED(taken)(const struct cell_balance *b, int64_t batch, int at) {
    const double *u = b->u + batch * b->components * b->Nu * b->lanes,
                 *reaction = b->reaction + batch * b->reaction_row * b->lanes;
    NUMBER sum = ZERO;
    for (int p = 0; p < b->n_inside; p++) {
        NUMBER value = ZERO;
        for (int i = 0; i < b->N_inside; i++) value += b->inside[p * b->N_inside + i] * AT(u, i);
        sum += AT(reaction, p) * value;
    }
    return sum;
}

/* All of it, of cells of a batch. */
CELL_BALANCE void NAMED(all)(const struct cell_balance *b, int64_t batch, int at, double *balance) {
    const int nc = b->components;
    const double *loads = b->loads + batch * nc * b->Nu * b->lanes;
    NUMBER left[3], flux[3], moduli = ZERO, mu = ZERO + b->mu;
    balance += batch * cell_balance_size(b->n_faces, nc) * b->lanes;
    if (b->moduli[0] != (const double *)0) {
        const int64_t first = batch * b->moduli_row * b->lanes;
        mu = -AT(b->moduli[0] + first, 0) / AT(b->moduli[1] + first, 0);
    }
    for (int d = 0; d < nc; d++) left[d] = AT(loads, d * b->Nu) / b->constant;
    if (b->n_inside > 0) left[0] -= NAMED(taken)(b, batch, at);
    for (int f = 0; f < b->n_faces; f++) {
        moduli += NAMED(face)(b, batch, at, f, mu, flux);
        for (int d = 0; d < nc; d++) {
            left[d] -= flux[d];
            PUT(balance, 1 + nc + f * nc + d) = flux[d];
        }
    }
    for (int d = 0; d < nc; d++) PUT(balance, 1 + d) = left[d];
    PUT(balance, 0) = moduli;
}
