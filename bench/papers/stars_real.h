/* The vertex stars for numbers of type REAL, on top of the loops of stars_loops_real.h: tables, one star, the
 * sweep over all of them. stars.c includes this once for each precision, with NAME(what) giving the names. */

/* ------------------------------------------------------------------------------------- the tables */

struct NAME(stars) {
    struct NAME(star_axis) * axes[3]; /* of every kind of place of a direction */
    struct NAME(star_line) * lines;   /* of every line of the discretization */
    int padded;                       /* n, in whole vectors */
    REAL **star_inverses;             /* per triple of kinds of places, or NULL: made when needed */
    REAL **cell_inverses;             /* per triple of kinds of columns, or NULL */
    REAL *zero;                       /* a face */
    int64_t scratch_size;
    REAL *scratch; /* of every thread */
};

static int NAME(pad)(int n) {
    return (n + LANES - 1) / LANES * LANES;
}

static void NAME(axis_free)(struct NAME(star_axis) * a) {
    for (int b = 0; b < 2; b++) {
        base_free(&a->Q[b]);
        base_free(&a->Q_turned[b]);
    }
    base_free(&a->P);
    base_free(&a->theta);
    base_free(&a->signs);
}

/* From the chain: two parities where two cells are mirror images, else one. */
static facet_status NAME(axis_make)(const struct box_axis *from, int n_even, struct NAME(star_axis) * a) {
    facet_status status = FACET_OK;
    int folded = from->n_cells == 2 && from->modes.fold.sizes[1] > 0, n = from->n;
    a->m = from->modes.n_modes;
    a->cells = from->n_cells;
    a->has_plane = from->n_planes > 0;
    a->sizes[0] = folded ? from->modes.fold.sizes[0] : from->modes.n_modes;
    a->sizes[1] = folded ? from->modes.fold.sizes[1] : 0;
    a->starts[1] = NAME(pad)(a->sizes[0]);
    a->row = a->starts[1] + NAME(pad)(a->sizes[1]);
    a->inverse = a->has_plane ? (REAL)from->inverse[0][0] : 0;
    TRY(CALLOC(a->P, a->row));
    TRY(CALLOC(a->theta, a->row));
    TRY(CALLOC(a->signs, NAME(pad)(n)));
    for (int j = 0; j < n; j++) a->signs[j] = j < n_even ? 1 : -1;
    for (int i = 0; i < a->row; i++) a->theta[i] = 1.0; /* padding */
    for (int b = 0, first = 0; b < 2; first += a->sizes[b++]) {
        int size = a->sizes[b], width = NAME(pad)(size);
        TRY(CALLOC(a->Q[b], size * width));
        TRY(CALLOC(a->Q_turned[b], size * width));
        for (int e = 0; e < size; e++) {
            int parity = first + e >= from->modes.fold.sizes[0], at = a->starts[b] + e;
            a->theta[at] = from->modes.theta[first + e];
            if (a->has_plane && !parity) a->P[at] = (REAL)from->P[0][first + e];
            for (int i = 0; i < size; i++) {
                double q = folded ? sqrt(0.5) * from->modes.backward[b][i * size + e]
                                  : box_direction_value(&from->modes, i, e);
                a->Q[b][i * width + e] = a->Q_turned[b][e * width + i] = (REAL)q;
            }
        }
    }
done:
    return status;
}

static facet_status NAME(line_make)(const struct box_line *line, struct NAME(star_line) * l) {
    facet_status status = FACET_OK;
    for (int i = 0; i < 2; i++) {
        TRY(CALLOC(l->b[i], NAME(pad)(line->n)));
        TRY(CALLOC(l->both[i], NAME(pad)(line->n)));
        l->gamma[i] = (REAL)line->gamma[i];
    }
    l->opposite = (REAL)(line->gamma[0] - line->gamma[1]);
    for (int m = 0; m < line->n; m++) {
        int odd = m >= line->n_even;
        l->b[odd][m] = l->both[1][m] = (REAL)line->b[m];
        l->both[0][m] = (REAL)(odd ? -line->b[m] : line->b[m]);
    }
done:
    return status;
}

/* 1 / (shift + theta_1 + theta_2 + theta_3); a constant that a star of closed directions leaves is taken out.
 */
static void NAME(star_table)(const struct NAME(star_axis) *const a[3], double shift, REAL *table) {
    double largest = shift;
    for (int d = 0; d < 3; d++) {
        double top = 0.0;
        for (int i = 0; i < a[d]->row; i++) top = fmax(top, a[d]->theta[i]);
        largest += top;
    }
    for (int k = 0; k < a[2]->m; k++) {
        int zp = k < a[2]->sizes[0] ? k : a[2]->starts[1] + k - a[2]->sizes[0];
        NAME(invert)
        (a[0], a[1], shift + a[2]->theta[zp], SINGULAR * largest, table + (int64_t)k * a[1]->m * a[0]->row);
    }
}

/* k / Z of a cell: n x n x padded. */
static void NAME(cell_table)(const struct boxhdg *h, const int at[3], int padded, REAL *table) {
    int dim = h->grid.dim, n[3] = {h->n, dim > 1 ? h->n : 1, dim > 2 ? h->n : 1};
    double a[3], reaction = boxhdg_metric(h, at, a), k = box_conductivity(&h->grid, box_cell(&h->grid, at));
    const double *lambda[3];
    for (int d = 0; d < dim; d++) lambda[d] = boxhdg_line(h, d, at[d])->eigenvalues;
    for (int z = 0; z < n[2]; z++)
        for (int y = 0; y < n[1]; y++) {
            double rest = reaction;
            if (dim > 1) rest += a[1] * lambda[1][y];
            if (dim > 2) rest += a[2] * lambda[2][z];
            for (int x = 0; x < n[0]; x++) table[x] = (REAL)(k / (rest + a[0] * lambda[0][x]));
            for (int x = n[0]; x < padded; x++) table[x] = 0;
            table += padded;
        }
}

/* --------------------------------------------------------------------------------------- one star */

/* The scratch of a thread. */
struct NAME(space) {
    REAL *F[3], *G[3], *work, *row, *faces[3][4], *sums[3], *differences[3], *out[3][2], *inverse;
};
static void NAME(lay_out)(const struct box_stars *s, const struct NAME(stars) * t, REAL *from,
                          struct NAME(space) * p) {
    int64_t face = (int64_t)s->h->n * t->padded, plane = 2 * (int64_t)s->h->n * 2 * t->padded;
    for (int d = 0; d < 3; d++) {
        p->F[d] = from;
        p->G[d] = from + plane;
        from += 2 * plane;
        for (int i = 0; i < 4; i++, from += face) p->faces[d][i] = from;
        p->sums[d] = from;
        p->differences[d] = from + face;
        p->out[d][0] = from + 2 * face;
        p->out[d][1] = from + 3 * face;
        from += 4 * face;
    }
    p->work = from;
    p->row = from + plane;
    p->inverse = p->row + plane;
}
static int64_t NAME(space_size)(const struct box_stars *s, const struct NAME(stars) * t) {
    int64_t face = (int64_t)s->h->n * t->padded, plane = 2 * (int64_t)s->h->n * 2 * t->padded;
    return 8 * plane + 24 * face + s->h->n * face;
}

/* to -= factor (scale from - sums), rows of n of a face, those of `from` and `sums` padded. */
static void NAME(subtract_face)(int rows, int n, int padded, REAL factor, REAL scale, const REAL *from,
                                const REAL *sums, REAL *to) {
    for (int k = 0; k < rows; k++)
        for (int j = 0; j < n; j++)
            to[k * n + j] -= factor * (scale * from[k * padded + j] - sums[k * padded + j]);
}

/* What a trace does to the residual of one cell. in: per direction the trace of the lower and of the upper
 * face, or NULL. exact: only the faces opposite to those are wanted, of which there is one a direction. */
static void NAME(update_cell)(const struct box_stars *s, const struct NAME(stars) * t, const int at[3],
                              REAL *const in[3][2], int exact, struct NAME(space) * p, REAL *r) {
    const struct boxhdg *h = s->h;
    const struct box_grid *g = &h->grid;
    struct NAME(cell_data) c = {.n_even = (h->n + 1) / 2, .row = t->padded};
    int dim = g->dim, rows = dim > 2 ? h->n : 1, n_fast = dim > 1 ? h->n : 1, kind = 0;
    double a[3], k = box_conductivity(g, box_cell(g, at));
    size_t face = (size_t)h->n * (size_t)t->padded * sizeof(REAL);
    boxhdg_metric(h, at, a);
    for (int d = 0; d < 3; d++) {
        const struct NAME(star_line) *line = &t->lines[d < dim ? h->column_line[d][at[d]] : 0];
        REAL *low = in[d][0], *high = in[d][1];
        c.n[d] = d < dim ? h->n : 1;
        c.a[d] = (REAL)(a[d] / k);
        memset(p->out[d][0], 0, face);
        if (!exact) memset(p->out[d][1], 0, face);
        for (int b = 0; b < 2; b++) c.out[d][b] = p->out[d][b];
        if (exact) {
            c.in[d][0] = high != NULL ? high : low != NULL ? low : t->zero;
            c.b_in[d][0] = line->both[high != NULL];
            c.b_out[d][0] = line->both[high == NULL];
            continue;
        }
        c.in[d][0] = t->zero;
        c.in[d][1] = t->zero;
        for (int b = 0; b < 2; b++) c.b_in[d][b] = c.b_out[d][b] = line->b[b];
        if (low == NULL && high == NULL) continue;
        c.in[d][0] = p->sums[d];
        c.in[d][1] = p->differences[d];
        for (int64_t i = 0; i < (int64_t)h->n * t->padded; i++) {
            REAL one = low != NULL ? low[i] : 0, two = high != NULL ? high[i] : 0;
            c.in[d][0][i] = two + one;
            c.in[d][1][i] = two - one;
        }
    }
    for (int d = dim - 1; d >= 0; d--) kind = kind * s->n_column_kinds[d] + s->column_kinds[d][at[d]];
    const REAL *inverses = t->cell_inverses != NULL ? t->cell_inverses[kind] : p->inverse;
    if (t->cell_inverses == NULL) NAME(cell_table)(h, at, t->padded, p->inverse);
    if (exact)
        NAME(cell_one)(&c, inverses);
    else
        NAME(cell_two)(&c, inverses);
    for (int d = 0; d < dim; d++) {
        const struct NAME(star_line) *line = &t->lines[h->column_line[d][at[d]]];
        for (int side = 0; side < 2; side++) {
            int plane = (at[d] + side) % g->planes[d];
            REAL *to = r + box_face(g, at, d, side) * h->face_size;
            if (box_plane_is_fixed(g, d, plane)) continue;
            if (!exact)
                for (int b = 0; b < 2; b++) NAME(subtract_face)
            (rows, n_fast, t->padded, (REAL)(b == 1 && side == 0 ? -a[d] : a[d]), line->gamma[b], c.in[d][b],
             c.out[d][b], to);
            else if (in[d][side] == NULL && in[d][1 - side] != NULL) NAME(subtract_face)(
                rows, n_fast, t->padded, (REAL)a[d], line->opposite, c.in[d][0], c.out[d][0], to);
        }
    }
}

/* Solves on the star at the given places, corrects x, updates r. */
static void NAME(star)(const struct box_stars *s, const struct NAME(stars) * t,
                       const struct star_place *const at[3], struct NAME(space) * p, REAL *x, REAL *r) {
    const struct boxhdg *h = s->h;
    const struct box_grid *g = &h->grid;
    const struct NAME(star_axis) * a[3];
    const REAL *from[4];
    int dim = g->dim, kind = 0, n_fast = dim > 1 ? h->n : 1, n_slow = dim > 2 ? h->n : 1, exact = s->exact;
    int64_t offsets[3][4];
    double weights[3][4], shift = star_weights(s, at, weights);
    REAL scales[3][4];
    for (int d = 0; d < 3; d++) a[d] = &t->axes[d][at[d]->kind];
    for (int d = 2; d >= 0; d--) kind = kind * s->n_kinds[d] + at[d]->kind;
    for (int d = 0; d < dim; d++) {
        const struct NAME(star_axis) *fast = a[d == 0 ? 1 : 0], *slow = a[d == 2 ? 1 : 2];
        if (!a[d]->has_plane) continue;
        star_faces(s, at, d, offsets[d]);
        for (int i = 0; i < 4; i++) {
            from[i] = r + offsets[d][i];
            scales[d][i] = (REAL)weights[d][i];
        }
        NAME(plane_forward)(fast, slow, n_fast, n_slow, scales[d], from, p->F[d], p->work);
        for (int i = 0; i < slow->m * fast->row; i++) p->G[d][i] = a[d]->inverse * p->F[d][i];
    }
    NAME(middle)(a, t->star_inverses != NULL ? t->star_inverses[kind] : NULL, shift, p->F, p->G, p->row);
    for (int d = 0; d < dim; d++) {
        const struct NAME(star_axis) *fast = a[d == 0 ? 1 : 0], *slow = a[d == 2 ? 1 : 2];
        if (!a[d]->has_plane) continue;
        NAME(plane_back)(fast, slow, n_fast, n_slow, scales[d], t->padded, p->G[d], p->faces[d], p->work);
        for (int i = 0; i < 4; i++) {
            if (i % 2 >= fast->cells || i / 2 >= slow->cells) continue;
            REAL *to = x + offsets[d][i], *rest = r + offsets[d][i], *e = p->faces[d][i];
            for (int z = 0; z < n_slow; z++)
                for (int j = 0; j < n_fast; j++) to[z * n_fast + j] += e[z * t->padded + j];
            if (exact) memset(rest, 0, (size_t)h->face_size * sizeof *rest);
        }
    }
    for (int c = 0; c < a[0]->cells * a[1]->cells * a[2]->cells; c++) {
        int local[3] = {c % a[0]->cells, c / a[0]->cells % a[1]->cells, c / a[0]->cells / a[1]->cells},
            cell[3];
        REAL *in[3][2] = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
        star_cell(s, at, c, cell);
        for (int d = 0; d < dim; d++) {
            REAL *face = p->faces[d][local[d == 2 ? 1 : 2] * 2 + local[d == 0 ? 1 : 0]];
            if (!a[d]->has_plane) continue;
            if (a[d]->cells == 2)
                in[d][1 - local[d]] = face;
            else {
                if (cell[d] % g->planes[d] == at[d]->plane) in[d][0] = face;
                if ((cell[d] + 1) % g->planes[d] == at[d]->plane) in[d][1] = face;
            }
        }
        NAME(update_cell)(s, t, cell, in, exact, p, r);
    }
}

/* The largest eigenvalue of the star's matrix times its approximate inverse, from below, by the power method:
 * the solve leaves r - K e on the faces of the star, and what it adds elsewhere is wiped out. x, r: n_trace,
 * zero before and after. */
static double NAME(estimate)(const struct box_stars *s, const struct NAME(stars) * t,
                             const struct star_place *const at[3], struct NAME(space) * p, REAL *x, REAL *r,
                             REAL *w) {
    const struct box_grid *g = &s->h->grid;
    int64_t offsets[3][4], n = 0;
    double top = 0.0, square = 1.0;
    for (int step = 0; step <= POWER_STEPS; step++) {
        double sum = 0.0;
        n = 0;
        for (int d = 0; d < g->dim; d++) {
            int fast = at[d == 0 ? 1 : 0]->cells, slow = at[d == 2 ? 1 : 2]->cells;
            if (at[d]->plane < 0) continue;
            star_faces(s, at, d, offsets[d]);
            for (int i = 0; i < 4; i++)
                for (int64_t j = 0; i % 2 < fast && i / 2 < slow && j < s->h->face_size; j++, n++) {
                    REAL *rest = r + offsets[d][i] + j;
                    w[n] = step == 0 ? (REAL)(1.0 + (double)(n * 7919 % 101) / 101.0) : w[n] - *rest;
                    sum += (double)w[n] * (double)w[n];
                }
        }
        if (step > 0) top = sqrt(sum / square);
        square = sum;
        for (int c = 0; c < at[0]->cells * at[1]->cells * at[2]->cells; c++) {
            int cell[3];
            star_cell(s, at, c, cell);
            for (int d = 0; d < g->dim; d++)
                for (int side = 0; side < 2; side++) {
                    int64_t face = box_face(g, cell, d, side) * s->h->face_size;
                    memset(r + face, 0, (size_t)s->h->face_size * sizeof *r);
                    memset(x + face, 0, (size_t)s->h->face_size * sizeof *x);
                }
        }
        if (step == POWER_STEPS || !(sum > 0.0)) break;
        REAL factor = (REAL)(1.0 / sqrt(sum));
        square = 1.0;
        n = 0;
        for (int d = 0; d < g->dim; d++) {
            int fast = at[d == 0 ? 1 : 0]->cells, slow = at[d == 2 ? 1 : 2]->cells;
            for (int i = 0; i < 4 && at[d]->plane >= 0; i++)
                for (int64_t j = 0; i % 2 < fast && i / 2 < slow && j < s->h->face_size; j++, n++)
                    r[offsets[d][i] + j] = w[n] *= factor;
        }
        NAME(star)(s, t, at, p, x, r);
    }
    return top;
}

/* All stars of the colours given by direction; rows of the last direction in phases that touch no common
 * face. */
static void NAME(sweep_colour)(struct box_stars *s, const struct NAME(stars) * t, const int colour[3],
                               REAL *x, REAL *r) {
    int last = s->h->grid.dim - 1, first[3], count[3];
    for (int d = 0; d < 3; d++) {
        first[d] = s->colour_starts[d][colour[d]];
        count[d] = s->colour_starts[d][colour[d] + 1] - first[d];
    }
    int64_t others = (int64_t)count[0] * count[1] * count[2] / count[last];
    int wraps = s->h->grid.sides[last][0] == BOX_PERIODIC && count[last] % 2 == 1 && count[last] > 1;
    for (int phase = 0; phase < 2 + wraps; phase++) {
        int begin = phase == 2 ? count[last] - 1 : phase,
            end = phase == 0 ? count[last] - wraps : count[last];
#pragma omp parallel for schedule(static) num_threads(s->n_work)
        for (int i = begin; i < end; i += 2) {
            struct NAME(space) space;
            NAME(lay_out)(s, t, t->scratch + omp_get_thread_num() * t->scratch_size, &space);
            for (int64_t o = 0; o < others; o++) {
                const struct star_place *at[3];
                int64_t rest = o;
                for (int d = 0; d < 3; d++) {
                    at[d] = &s->places[d][first[d] + (d == last ? i : (int)(rest % count[d]))];
                    if (d != last) rest /= count[d];
                }
                NAME(star)(s, t, at, &space, x, r);
            }
        }
    }
}

static void NAME(sweep)(struct box_stars *s, const struct NAME(stars) * t, int backward, REAL *x, REAL *r) {
    int total = s->n_colours[0] * s->n_colours[1] * s->n_colours[2];
    for (int i = 0; i < total; i++) {
        int c = backward ? total - 1 - i : i;
        int colour[3] = {c % s->n_colours[0], c / s->n_colours[0] % s->n_colours[1],
                         c / s->n_colours[0] / s->n_colours[1]};
        NAME(sweep_colour)(s, t, colour, x, r);
    }
}

/* The factors of all stars: their largest eigenvalue becomes STAR_TOP. */
static facet_status NAME(make_factors)(struct box_stars *s, const struct NAME(stars) * t) {
    facet_status status = FACET_OK;
    int64_t all = (int64_t)s->n_places[0] * s->n_places[1] * s->n_places[2];
    REAL *x = NULL, *r = NULL, *w = NULL;
    struct NAME(space) space;
    TRY(ALLOC(s->factors, all));
    TRY(CALLOC(x, s->h->n_trace));
    TRY(CALLOC(r, s->h->n_trace));
    TRY(ALLOC(w, 12 * s->h->face_size));
    NAME(lay_out)(s, t, t->scratch, &space);
    for (int64_t i = 0; i < all; i++) s->factors[i] = 1.0;
    for (int64_t i = 0; i < all; i++) {
        const struct star_place *at[3];
        int64_t rest = i;
        for (int d = 0; d < 3; rest /= s->n_places[d++]) at[d] = &s->places[d][rest % s->n_places[d]];
        s->factors[i] = NAME(estimate)(s, t, at, &space, x, r, w) / STAR_TOP;
    }
done:
    base_free(&x);
    base_free(&r);
    base_free(&w);
    return status;
}

/* r -= K x: layers of the last direction, the even ones first. */
static void NAME(subtract)(struct box_stars *s, const struct NAME(stars) * t, const REAL *x, REAL *r) {
    const struct box_grid *g = &s->h->grid;
    int dim = g->dim, layers = g->cells[dim - 1], n_fast = dim > 1 ? s->h->n : 1,
        n_slow = dim > 2 ? s->h->n : 1;
    int wraps = g->sides[dim - 1][0] == BOX_PERIODIC && layers % 2 == 1 && layers > 1;
    int64_t others = g->n_cells / layers;
    for (int phase = 0; phase < 2 + wraps; phase++) {
        int begin = phase == 2 ? layers - 1 : phase, end = phase == 0 ? layers - wraps : layers;
#pragma omp parallel for schedule(static) num_threads(s->n_work)
        for (int layer = begin; layer < end; layer += 2) {
            struct NAME(space) p;
            NAME(lay_out)(s, t, t->scratch + omp_get_thread_num() * t->scratch_size, &p);
            for (int64_t o = 0; o < others; o++) {
                int at[3];
                REAL *in[3][2] = {{NULL, NULL}, {NULL, NULL}, {NULL, NULL}};
                box_cell_at(g, layer * others + o, at);
                for (int d = 0; d < dim; d++)
                    for (int side = 0; side < 2; side++) {
                        const REAL *from = x + box_face(g, at, d, side) * s->h->face_size;
                        if (box_plane_is_fixed(g, d, (at[d] + side) % g->planes[d])) continue;
                        in[d][side] = p.faces[d][side];
                        for (int k = 0; k < n_slow; k++)
                            memcpy(in[d][side] + k * t->padded, from + k * n_fast,
                                   (size_t)n_fast * sizeof *from);
                    }
                NAME(update_cell)(s, t, at, in, 0, &p, r);
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------ set-up */

static void NAME(stars_free)(const struct box_stars *s, struct NAME(stars) * *stars) {
    struct NAME(stars) *t = *stars;
    if (t == NULL) return;
    for (int d = 0; d < 3; d++) {
        for (int i = 0; i < s->n_kinds[d] && t->axes[d] != NULL; i++) NAME(axis_free)(&t->axes[d][i]);
        base_free(&t->axes[d]);
    }
    for (int l = 0; l < s->h->n_lines && t->lines != NULL; l++)
        for (int b = 0; b < 2; b++) {
            base_free(&t->lines[l].b[b]);
            base_free(&t->lines[l].both[b]);
        }
    for (int i = 0; i < s->n_star_tables && t->star_inverses != NULL; i++) base_free(&t->star_inverses[i]);
    for (int i = 0; i < s->n_cell_tables && t->cell_inverses != NULL; i++) base_free(&t->cell_inverses[i]);
    base_free(&t->star_inverses);
    base_free(&t->cell_inverses);
    base_free(&t->lines);
    base_free(&t->zero);
    base_free(&t->scratch);
    base_free(stars);
}

static facet_status NAME(tables_make)(const struct box_stars *s, struct NAME(stars) * t) {
    facet_status status = FACET_OK;
    const struct boxhdg *h = s->h;
    if (s->n_star_tables > 0) TRY(CALLOC(t->star_inverses, s->n_star_tables));
    for (int i = 0; i < s->n_star_tables; i++) {
        const struct NAME(star_axis) * a[3];
        for (int d = 0, rest = i; d < 3; rest /= s->n_kinds[d++]) a[d] = &t->axes[d][rest % s->n_kinds[d]];
        TRY(ALLOC(t->star_inverses[i], (int64_t)a[0]->row * a[1]->m * a[2]->m));
        NAME(star_table)(a, s->shift, t->star_inverses[i]);
    }
    if (s->n_cell_tables > 0) TRY(CALLOC(t->cell_inverses, s->n_cell_tables));
    for (int i = 0; i < s->n_cell_tables; i++) {
        int at[3] = {0, 0, 0};
        for (int d = 0, rest = i; d < h->grid.dim; rest /= s->n_column_kinds[d++])
            while (s->column_kinds[d][at[d]] != rest % s->n_column_kinds[d]) at[d]++;
        TRY(ALLOC(t->cell_inverses[i], h->cell_size / h->n * t->padded));
        NAME(cell_table)(h, at, t->padded, t->cell_inverses[i]);
    }
done:
    return status;
}

static facet_status NAME(stars_make)(struct box_stars *s, struct box_axis *const axes[3],
                                     struct NAME(stars) * *stars) {
    facet_status status = FACET_OK;
    struct NAME(stars) * t;
    const struct boxhdg *h = s->h;
    TRY(CALLOC(*stars, 1));
    t = *stars;
    t->padded = NAME(pad)(h->n);
    for (int d = 0; d < 3; d++) {
        TRY(CALLOC(t->axes[d], s->n_kinds[d]));
        for (int i = 0; i < s->n_kinds[d]; i++)
            TRY(NAME(axis_make)(&axes[d][i], h->lines[0].n_even, &t->axes[d][i]));
    }
    TRY(CALLOC(t->lines, h->n_lines));
    for (int l = 0; l < h->n_lines; l++) TRY(NAME(line_make)(&h->lines[l], &t->lines[l]));
    TRY(CALLOC(t->zero, h->n * t->padded));
    TRY(NAME(tables_make)(s, t));
    t->scratch_size = NAME(space_size)(s, t);
    TRY(CALLOC(t->scratch, s->n_work * t->scratch_size));
    if (!h->grid.separable) TRY(NAME(make_factors)(s, t));
done:
    return status;
}
#undef VECTOR
#undef LANES
#undef MOST
