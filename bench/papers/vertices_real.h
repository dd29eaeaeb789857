/* Transfers between the vertices and trace vectors of numbers of type REAL: coarse.c includes this once for
 * each precision, with NAME(what) giving the names. */

void NAME(box_coarse_prolong)(const struct box_coarse *c, const double *x, REAL *trace) {
    const struct box_grid *g = &c->h->grid;
#pragma omp parallel for schedule(static) num_threads(base_threads_for(c->h->n_trace))
    for (int64_t face = 0; face < g->n_faces; face++) {
        struct face_frame f;
        double corners[4];
        if (!find_frame(c, face, &f)) continue;
        for (int v = 0; v < 4; v++) corners[v] = f.numbers[v] >= 0 ? x[f.numbers[v]] : 0.0;
        REAL *to = trace + face * c->h->face_size;
        for (int k = 0; k < f.n[1]; k++) {
            const double *e = f.ends[1] + 2 * k;
            double low = e[0] * corners[0] + e[1] * corners[2], high = e[0] * corners[1] + e[1] * corners[3];
            for (int j = 0; j < f.n[0]; j++)
                to[k * f.n[0] + j] += (REAL)(f.ends[0][2 * j] * low + f.ends[0][2 * j + 1] * high);
        }
    }
}

/* The part of one face in the sums of its four corners. */
static void NAME(face_sums)(const struct face_frame *f, const REAL *from, double sums[4]) {
    for (int v = 0; v < 4; v++) sums[v] = 0.0;
    for (int k = 0; k < f->n[1]; k++) {
        double low = 0.0, high = 0.0;
        for (int j = 0; j < f->n[0]; j++) {
            low += f->ends[0][2 * j] * (double)from[k * f->n[0] + j];
            high += f->ends[0][2 * j + 1] * (double)from[k * f->n[0] + j];
        }
        for (int v = 0; v < 4; v++) sums[v] += f->ends[1][2 * k + v / 2] * (v % 2 == 0 ? low : high);
    }
}

/* The order of the sums does not depend on the threads: every vertex gathers from the faces around it. */
void NAME(box_coarse_restrict)(const struct box_coarse *c, const REAL *trace, double *x) {
    const struct box_grid *g = &c->h->grid;
    double(*sums)[4] = c->sums;
#pragma omp parallel for schedule(static) num_threads(base_threads_for(c->h->n_trace))
    for (int64_t face = 0; face < g->n_faces; face++) {
        struct face_frame f;
        for (int v = 0; v < 4; v++) sums[face][v] = 0.0;
        if (find_frame(c, face, &f)) NAME(face_sums)(&f, trace + face * c->h->face_size, sums[face]);
    }
    for (int64_t i = 0; i < c->n; i++) x[i] = 0.0;
    for (int64_t face = 0; face < g->n_faces; face++) {
        struct face_frame f;
        if (!find_frame(c, face, &f)) continue;
        for (int v = 0; v < 4; v++)
            if (f.numbers[v] >= 0) x[f.numbers[v]] += sums[face][v];
    }
}
