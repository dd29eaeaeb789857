/* The kernels on boxes for numbers of type REAL: box.c includes this once for each precision. NUMBERS(plan):
 * the numbers of this precision, of type TABLES. */

/* Entry `mode` of a table with `modes` entries a column, for a pack or cell `column` of an axis and a lane.
 */
static REAL NAME(entry)(const REAL *const table[3], int axis, int modes, int column, int L, int lane,
                        int mode) {
    int64_t at = (int64_t)column * modes + mode;
    return axis == 0 ? table[0][at * L + lane] : table[axis][at];
}

/* The two tangential axes of a face. */
static void NAME(tangents)(int axis, int t[2]) {
    t[0] = axis == 0 ? 1 : 0;
    t[1] = axis == 2 ? 1 : 2;
}

/* The product of two table entries at mode t of a face-pack; *block: the block of parities it belongs to. */
static REAL NAME(product)(const struct box_plan *p, const REAL *const table[3], const struct box_face_pack *f,
                          int64_t t, int lane, int *block) {
    const int L = p->lanes;
    int axes[2], a, b;
    NAME(tangents)(f->axis, axes);
    for (*block = 3; box_block(p, axes[0], axes[1], *block / 2, *block % 2) > t; --*block) {
    }
    while (box_count(p, axes[0], *block / 2) * box_count(p, axes[1], *block % 2) == 0) --*block;
    int64_t local = t - box_block(p, axes[0], axes[1], *block / 2, *block % 2);
    int width = box_count(p, axes[1], *block % 2);
    a = box_first(p, axes[0], *block / 2) + (int)(local / width);
    b = box_first(p, axes[1], *block % 2) + (int)(local % width);
    return NAME(entry)(table, axes[0], p->modes[axes[0]], box_column(f, axes[0]), L, lane, a) *
           NAME(entry)(table, axes[1], p->modes[axes[1]], box_column(f, axes[1]), L, lane, b);
}

/* w of one cell. */
static REAL NAME(weight)(const struct box_plan *p, const REAL *metric, const int at[3], const int mode[3]) {
    const int L = p->lanes;
    const TABLES *numbers = NUMBERS(p);
    int lane = at[0] % L;
    REAL product = 1, Z = metric[3 * L + lane];
    for (int d = 0; d < 3; d++) {
        int column = d == 0 ? at[0] / L : at[d];
        product *= NAME(entry)(numbers->squares, d, p->modes[d], column, L, lane, mode[d]);
        Z += metric[d * L + lane] *
             NAME(entry)(numbers->eigenvalues, d, p->modes[d], column, L, lane, mode[d]);
    }
    return product / Z;
}

/* The mode of a face that three modes of the cell fall on, in the order of the face. */
static int64_t NAME(face_mode)(const struct box_plan *p, int axis, const int mode[3]) {
    int t[2];
    NAME(tangents)(axis, t);
    return box_face_mode(p, t[0], t[1], mode[t[0]], mode[t[1]]);
}

/* d = D r + P e at mode t of a lane; e may be NULL. */
static REAL NAME(form)(const struct box_plan *p, const struct box_face_pack *f, int64_t t, int lane,
                       const REAL *r, const REAL *e) {
    const int L = p->lanes;
    const TABLES *numbers = NUMBERS(p);
    const REAL *D = numbers->diagonal + box_diagonal_begin(p, f, L);
    int block;
    REAL hat = NAME(product)(p, numbers->hats, f, t, lane, &block),
         d = D[t * L + lane] * r[f->begin + t * L + lane];
    return e == NULL ? d : d + hat * e[(box_pack_number(p, f) * KERNEL_BOX_MOMENTS + block) * L + lane];
}

/* What a product is of: d, or where it is NULL what r and e give. */
struct NAME(factor) {
    const REAL *d, *r, *e;
};
static REAL NAME(factor)(const struct box_plan *p, const struct NAME(factor) * of,
                         const struct box_face_pack *f, int64_t t, int lane) {
    return of->d != NULL ? of->d[f->begin + t * p->lanes + lane] : NAME(form)(p, f, t, lane, of->r, of->e);
}

/* y += K d of one cell. */
static void NAME(cell)(const struct box_plan *p, const int at[3], const struct NAME(factor) * of, REAL *y) {
    const int L = p->lanes;
    const TABLES *numbers = NUMBERS(p);
    int lane = at[0] % L, m[3], lanes[3][2];
    struct box_face_pack faces[3][2];
    int64_t pack = ((int64_t)at[2] * p->cells[1] + at[1]) * p->packs + at[0] / L;
    const REAL *metric = numbers->metric + pack * KERNEL_BOX_METRIC * L;
    REAL k = metric[4 * L + lane];
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            lanes[axis][side] = p->present[axis] ? box_face_of(p, axis, at, side, L, &faces[axis][side]) : -1;
    for (m[0] = 0; m[0] < p->modes[0]; m[0]++)
        for (m[1] = 0; m[1] < p->modes[1]; m[1]++)
            for (m[2] = 0; m[2] < p->modes[2]; m[2]++) {
                REAL s = 0, value[3] = {0};
                for (int axis = 0; axis < 3; axis++) {
                    int64_t t = NAME(face_mode)(p, axis, m);
                    int odd = m[axis] >= p->even[axis];
                    for (int side = 0; side < 2; side++)
                        if (lanes[axis][side] >= 0)
                            value[axis] += (odd && side == 0 ? -1 : 1) *
                                           NAME(factor)(p, of, &faces[axis][side], t, lanes[axis][side]);
                    s += metric[axis * L + lane] * value[axis];
                }
                s *= NAME(weight)(p, metric, at, m);
                for (int axis = 0; axis < 3; axis++) {
                    int64_t t = NAME(face_mode)(p, axis, m) * L;
                    int odd = m[axis] >= p->even[axis];
                    REAL out = -s;
                    if (m[axis] == box_first(p, axis, odd)) { /* once for all modes along the axis */
                        int column = axis == 0 ? at[0] / L : at[axis];
                        REAL B = NAME(entry)(numbers->gamma, axis, 2, column, L, lane, odd);
                        for (int o = 0; o < 3; o++)
                            if (o != axis)
                                B *= NAME(entry)(numbers->squares, o, p->modes[o], o == 0 ? at[0] / L : at[o],
                                                 L, lane, m[o]);
                        out += B * value[axis];
                    }
                    out *= k * metric[axis * L + lane];
                    for (int side = 0; side < 2; side++)
                        if (lanes[axis][side] >= 0)
                            y[faces[axis][side].begin + lanes[axis][side] + t] +=
                                odd && side == 0 ? -out : out;
                }
            }
}

static void NAME(update)(const struct box_plan *p, const struct box_step *step, const REAL *f, REAL *r,
                         const REAL *e, REAL *d, REAL *x, const REAL *y) {
    const int L = p->lanes;
    const TABLES *numbers = NUMBERS(p);
    REAL x_old = (REAL)step->x_old, x_new = (REAL)step->x_new, a = (REAL)step->a, b = (REAL)step->b;
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        const REAL *D = numbers->diagonal + box_diagonal_begin(p, &face, L);
        for (int64_t i = 0; i < p->face[face.axis] * L; i++) {
            int64_t at = face.begin + i;
            int block;
            REAL hat = NAME(product)(p, numbers->hats, &face, i / L, (int)(i % L), &block);
            if (f != NULL) r[at] = step->subtract ? f[at] - y[at] : f[at];
            if (!step->direction) continue;
            REAL old = b != 0 || x_old != 0 ? d[at] : 0, start = x != NULL && !step->assign ? x[at] : 0;
            d[at] = a * D[i] * r[at] + (b != 0 ? b * old : 0);
            if (e != NULL) d[at] += hat * e[(number * KERNEL_BOX_MOMENTS + block) * L + i % L];
            if (x != NULL) x[at] = start + (x_old != 0 ? x_old * old : 0) + x_new * d[at];
        }
    }
}

void NAME(box_residual)(const struct box_plan *p, double alpha, const REAL *y, REAL *r, REAL *moments,
                        double *sums) {
    const int L = p->lanes;
    const TABLES *numbers = NUMBERS(p);
    sums[0] = sums[1] = 0.0;
    for (int64_t i = 0; moments != NULL && i < p->n_faces * KERNEL_BOX_MOMENTS * L; i++) moments[i] = 0;
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        const REAL *D = numbers->diagonal + box_diagonal_begin(p, &face, L);
        for (int64_t i = 0; i < p->face[face.axis] * L; i++) {
            int64_t at = face.begin + i;
            int block, lane = (int)(i % L);
            r[at] -= (REAL)alpha * y[at];
            sums[0] += (double)r[at] * (double)(D[i] * r[at]);
            sums[1] += (double)r[at] * (double)r[at] *
                       (double)NAME(product)(p, numbers->inverses, &face, i / L, lane, &block);
            REAL hat = NAME(product)(p, numbers->hats, &face, i / L, lane, &block);
            if (moments != NULL) moments[(number * KERNEL_BOX_MOMENTS + block) * L + lane] += hat * r[at];
        }
    }
}

/* y = K d; returns d . y. */
static double NAME(multiply_all)(const struct box_plan *p, const struct NAME(factor) * of, REAL *y) {
    const int L = p->lanes;
    double sum = 0.0;
    int at[3];
    for (int64_t i = 0; i < p->size; i++) y[i] = 0;
    for (at[2] = 0; at[2] < p->cells[2]; at[2]++)
        for (at[1] = 0; at[1] < p->cells[1]; at[1]++)
            for (at[0] = 0; at[0] < p->cells[0]; at[0]++) NAME(cell)(p, at, of, y);
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        for (int64_t i = 0; i < p->face[face.axis] * L; i++)
            sum += (double)NAME(factor)(p, of, &face, i / L, (int)(i % L)) * (double)y[face.begin + i];
    }
    return sum;
}

double NAME(box_step)(const struct box_plan *p, const struct box_step *step, const REAL *f, REAL *r,
                      const REAL *e, REAL *d, REAL *x, REAL *y) {
    NAME(update)(p, step, f, r, e, d, x, y);
    return step->product ? NAME(multiply_all)(p, &(struct NAME(factor)){.d = d}, y) : 0.0;
}

double NAME(box_form)(const struct box_plan *p, const REAL *r, const REAL *e, REAL *y) {
    return NAME(multiply_all)(p, &(struct NAME(factor)){.r = r, .e = e}, y);
}

void NAME(box_recur)(const struct box_plan *p, const struct box_recurrence *step, const REAL *y,
                     const REAL *r, const REAL *e_r, REAL *s, const REAL *e_s, REAL *d, REAL *x,
                     REAL *moments, double *sums) {
    const int L = p->lanes;
    const REAL b[2] = {(REAL)step->b[0], (REAL)step->b[1]}, c = (REAL)step->c;
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        for (int64_t i = 0; i < p->face[face.axis] * L; i++) {
            int64_t at = face.begin + i;
            int lane = (int)(i % L);
            if (x != NULL) {
                REAL first = NAME(form)(p, &face, i / L, lane, s, e_s) + (b[0] != 0 ? b[0] * d[at] : 0);
                d[at] = NAME(form)(p, &face, i / L, lane, r, e_r) + b[1] * first;
                x[at] += (REAL)step->a[0] * first + (REAL)step->a[1] * d[at];
            }
            s[at] = r[at] - (REAL)step->alpha * y[at] + (c != 0 ? c * (r[at] - s[at]) : 0);
        }
    }
    NAME(box_residual)(p, 0.0, s, s, moments, sums);
}

void NAME(box_scale)(const struct box_plan *p, const REAL *table_0, const REAL *table_1, const REAL *table_2,
                     REAL *x) {
    const REAL *const tables[3] = {table_0, table_1, table_2};
    const int L = p->lanes;
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        for (int64_t i = 0; i < p->face[face.axis] * L; i++) {
            int block;
            x[face.begin + i] *= NAME(product)(p, tables, &face, i / L, (int)(i % L), &block);
        }
    }
}

/* The four corners of one lane of a face-pack in the lattice; 0 for a lane that is no face. */
static int NAME(corners)(const struct box_plan *p, const struct box_face_pack *f, int lane,
                         int64_t corner[4]) {
    const int L = p->lanes;
    int size[3], at[3] = {f->at[0] * L + lane, f->at[1], f->at[2]}, t[2];
    if (f->at[0] < 0 ? lane != L - 1 : at[0] >= p->cells[0]) return 0;
    box_lattice(p, L, size);
    NAME(tangents)(f->axis, t);
    at[f->axis]++;
    for (int c = 0; c < 4; c++) {
        int v[3] = {at[0], at[1], at[2]};
        v[t[0]] += p->present[t[0]] ? c / 2 : 0;
        v[t[1]] += p->present[t[1]] ? c % 2 : 0;
        corner[c] = ((int64_t)v[2] * size[1] + v[1]) * size[0] + v[0];
    }
    return 1;
}

static const int NAME(signs)[4][4] = {{1, 1, 1, 1}, {-1, 1, -1, 1}, {-1, -1, 1, 1}, {1, -1, -1, 1}};

void NAME(box_prolong)(const struct box_plan *p, const double *vertices, REAL *coefficients) {
    const int L = p->lanes;
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        for (int lane = 0; lane < L; lane++)
            for (int q = 0; q < KERNEL_BOX_MOMENTS; q++) {
                int64_t corner[4];
                double sum = 0.0;
                if (NAME(corners)(p, &face, lane, corner))
                    for (int c = 0; c < 4; c++) sum += 0.25 * NAME(signs)[q][c] * vertices[corner[c]];
                coefficients[(number * KERNEL_BOX_MOMENTS + q) * L + lane] = (REAL)sum;
            }
    }
}

void NAME(box_restrict)(const struct box_plan *p, const REAL *moments, double *vertices) {
    const int L = p->lanes;
    int size[3];
    box_lattice(p, L, size);
    for (int64_t i = 0; i < (int64_t)size[0] * size[1] * size[2]; i++) vertices[i] = 0.0;
    for (int64_t number = 0; number < p->n_faces; number++) {
        struct box_face_pack face = box_face_pack(p, number, L);
        for (int lane = 0; lane < L; lane++) {
            int64_t corner[4];
            if (!NAME(corners)(p, &face, lane, corner)) continue;
            for (int q = 0; q < KERNEL_BOX_MOMENTS; q++)
                for (int c = 0; c < 4; c++)
                    vertices[corner[c]] += 0.25 * NAME(signs)[q][c] *
                                           (double)moments[(number * KERNEL_BOX_MOMENTS + q) * L + lane];
        }
    }
}
