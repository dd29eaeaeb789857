/* Vertex stars: places, colours and kinds of stars; the two-level preconditioner that is made of them. */
#include "bench/papers/stars.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/memory.h"
#include "boxhdg/axis.h"

/* More kinds of stars or cells than this have no tables of their inverses. */
#define MAX_TABLES 32
/* A denominator that is rounding: the constant on a box of one closed cell. */
#define SINGULAR 1e-13
/* Approximate solves are scaled so that their product with the matrix has this largest eigenvalue, as the
 * power method sees it: below 2, or a sweep would not reduce the energy. */
#define STAR_TOP    1.5
#define POWER_STEPS 8
/* Widths that differ by rounding only make one kind. */
#define SAME_WIDTH 1e-13

/* Where a star may be in one direction: its cells begin with `first`, its plane is `plane` (-1: none). */
struct star_place {
    int first, cells, plane, kind, colour;
};

struct stars;
struct stars_single;
struct box_stars {
    const struct boxhdg *h;
    int n_work;
    int exact;       /* k and lambda constant, no closed direction: a solve leaves no residual inside */
    int n_places[3]; /* at least 1 */
    struct star_place *places[3]; /* by colours */
    int n_colours[3], colour_starts[3][4];
    int n_kinds[3];                          /* of places */
    int n_column_kinds[3], *column_kinds[3]; /* of cells */
    int n_star_tables, n_cell_tables;        /* 0: none, the inverses are made when needed */
    double shift;                            /* lambda / k where it is constant */
    double *factors;                         /* of every star where k or lambda vary, by places; or NULL */
    struct stars *in_double;
    struct stars_single *in_single;
};

/* Cell c of a star. */
static void star_cell(const struct box_stars *s, const struct star_place *const at[3], int c, int cell[3]) {
    for (int d = 0; d < 3; c /= at[d++]->cells)
        cell[d] = (at[d]->first + c % at[d]->cells) % s->h->grid.cells[d];
}

/* Where cells differ in k, a star takes the matrix of k = 1 with its faces scaled by the roots of the mean k
 * of their two cells, S K_1 S: exact for the rough part of the trace, which a face shares with these cells
 * alone. weights: 1 / S of the faces of every plane. Returns mean lambda over mean k. */
static double star_weights(const struct box_stars *s, const struct star_place *const at[3],
                           double weights[3][4]) {
    const struct box_grid *g = &s->h->grid;
    double k = 0.0, lambda = 0.0, factor = 1.0;
    int cell[3], count = at[0]->cells * at[1]->cells * at[2]->cells;
    if (g->separable) {
        for (int i = 0; i < 12; i++) weights[i / 4][i % 4] = 1.0 / sqrt(box_conductivity(g, 0));
        return s->shift;
    }
    for (int c = 0; c < count; c++) {
        star_cell(s, at, c, cell);
        k += box_conductivity(g, box_cell(g, cell));
        lambda += box_reaction(g, box_cell(g, cell));
    }
    if (s->factors != NULL)
        factor = s->factors[((at[2] - s->places[2]) * s->n_places[1] + (at[1] - s->places[1])) *
                                (int64_t)s->n_places[0] +
                            (at[0] - s->places[0])];
    for (int d = 0; d < g->dim; d++)
        for (int i = 0; i < 4; i++) {
            int fast = d == 0 ? 1 : 0, slow = d == 2 ? 1 : 2;
            double sum = 0.0;
            weights[d][i] = 0.0;
            if (i % 2 >= at[fast]->cells || i / 2 >= at[slow]->cells) continue;
            cell[fast] = (at[fast]->first + i % 2) % g->cells[fast];
            cell[slow] = (at[slow]->first + i / 2) % g->cells[slow];
            for (int side = 0; side < at[d]->cells; side++) {
                cell[d] = (at[d]->first + side) % g->cells[d];
                sum += box_conductivity(g, box_cell(g, cell));
            }
            weights[d][i] = 1.0 / sqrt(factor * sum / at[d]->cells);
        }
    return lambda / k;
}

/* Where the faces of a star's plane begin in plain modes: [slow cell][fast cell]. */
static void star_faces(const struct box_stars *s, const struct star_place *const at[3], int d,
                       int64_t offsets[4]) {
    const struct box_grid *g = &s->h->grid;
    int fast = d == 0 ? 1 : 0, slow = d == 2 ? 1 : 2;
    for (int i = 0; i < 4; i++) {
        int cell[3];
        offsets[i] = offsets[0];
        if (i % 2 >= at[fast]->cells || i / 2 >= at[slow]->cells) continue;
        cell[d] = at[d]->plane;
        cell[fast] = (at[fast]->first + i % 2) % g->cells[fast];
        cell[slow] = (at[slow]->first + i / 2) % g->cells[slow];
        offsets[i] = box_face(g, cell, d, 0) * s->h->face_size;
    }
}

/* The sums of the rows of a square of numbers, each level adding neighbours. */
typedef double whole __attribute__((vector_size(64)));
typedef float whole_single __attribute__((vector_size(64)));
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

static inline whole sum_rows(const whole *x) {
    whole two[4], four[2];
    for (int i = 0; i < 4; i++) {
        whole a = x[2 * i], b = x[2 * i + 1];
        two[i] = PICK(a, b, 0, 8, 2, 10, 4, 12, 6, 14) + PICK(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 2; i++) {
        whole a = two[2 * i], b = two[2 * i + 1];
        four[i] = PICK(a, b, 0, 1, 8, 9, 4, 5, 12, 13) + PICK(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
    return PICK(four[0], four[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           PICK(four[0], four[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

static inline whole_single sum_rows_single(const whole_single *x) {
    whole_single two[8], four[4], eight[2];
    for (int i = 0; i < 8; i++) {
        whole_single a = x[2 * i], b = x[2 * i + 1];
        two[i] = PICK(a, b, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30) +
                 PICK(a, b, 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
    }
    for (int i = 0; i < 4; i++) {
        whole_single a = two[2 * i], b = two[2 * i + 1];
        four[i] = PICK(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
                  PICK(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    }
    for (int i = 0; i < 2; i++) {
        whole_single a = four[2 * i], b = four[2 * i + 1];
        eight[i] = PICK(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27) +
                   PICK(a, b, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
    }
    return PICK(eight[0], eight[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
           PICK(eight[0], eight[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}

#define REAL       double
#define NAME(what) what
#include "bench/papers/stars_loops_real.h"
#include "bench/papers/stars_real.h"
#undef REAL
#undef NAME
#define REAL       float
#define NAME(what) what##_single
#include "bench/papers/stars_loops_real.h"
#include "bench/papers/stars_real.h"
#undef REAL
#undef NAME

/* ------------------------------------------------------------------------------------------ set-up */

/* Every free plane with the cells on its sides; without any, the one cell of the direction. Colours: every
 * other plane, and a third one where an odd number of them closes a circle. */
static facet_status make_places(struct box_stars *s, int d) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &s->h->grid;
    int N = g->cells[d], periodic = d < g->dim && g->sides[d][0] == BOX_PERIODIC, n = 0;
    struct star_place *all = NULL;
    TRY(CALLOC(all, N + 1));
    for (int plane = 0; plane < g->planes[d]; plane++) {
        struct star_place p = {.first = plane - 1, .cells = 2, .plane = plane, .colour = n % 2};
        if (box_plane_is_fixed(g, d, plane)) continue;
        if (periodic) {
            p.first = (plane - 1 + N) % N;
            p.cells = N > 1 ? 2 : 1;
            if (plane == N - 1 && N % 2 == 1 && N > 1) p.colour = 2;
        } else if (plane == 0 || plane == N) {
            p.first = plane == 0 ? 0 : N - 1;
            p.cells = 1;
        }
        all[n++] = p;
    }
    if (n == 0) all[n++] = (struct star_place){.first = 0, .cells = 1, .plane = -1};
    s->n_places[d] = n;
    TRY(ALLOC(s->places[d], n));
    for (int colour = 0, at = 0; colour < 3; colour++) {
        for (int i = 0; i < n; i++)
            if (all[i].colour == colour) s->places[d][at++] = all[i];
        s->colour_starts[d][colour + 1] = at;
        if (at > s->colour_starts[d][colour]) s->n_colours[d] = colour + 1;
    }
done:
    base_free(&all);
    return status;
}

/* The chain of a place: its plane is free, all else is zero. */
static facet_status make_axis(const struct box_stars *s, int d, const struct star_place *p,
                              struct box_axis *axis) {
    const struct box_grid *g = &s->h->grid;
    double widths[2];
    const struct box_line *lines[2];
    int low[2], high[2];
    struct box_chain chain = {.n = s->h->n,
                              .n_cells = p->cells,
                              .n_planes = p->plane >= 0,
                              .widths = widths,
                              .lines = lines,
                              .low = low,
                              .high = high};
    if (d >= g->dim) return box_axis_create_whole(s->h, d, axis);
    for (int i = 0; i < p->cells; i++) {
        int cell = (p->first + i) % g->cells[d];
        widths[i] = g->widths[d][cell];
        lines[i] = boxhdg_line(s->h, d, cell);
        low[i] = p->plane >= 0 && cell % g->planes[d] == p->plane && (p->cells == 1 || i == 1) ? 0 : -1;
        high[i] =
            p->plane >= 0 && (cell + 1) % g->planes[d] == p->plane && (p->cells == 1 || i == 0) ? 0 : -1;
    }
    return box_axis_create(&chain, axis);
}

/* Two places with the same cells and the same end free. */
static int same_place(const struct box_stars *s, int d, const struct star_place *p,
                      const struct star_place *q) {
    const struct box_grid *g = &s->h->grid;
    if (d >= g->dim) return 1;
    if (p->cells != q->cells || (p->plane < 0) != (q->plane < 0)) return 0;
    if (p->cells == 1 && (p->plane == p->first) != (q->plane == q->first)) return 0;
    for (int i = 0; i < p->cells; i++) {
        int a = (p->first + i) % g->cells[d], b = (q->first + i) % g->cells[d];
        if (fabs(g->widths[d][a] - g->widths[d][b]) > SAME_WIDTH * g->widths[d][a]) return 0;
        if (s->h->column_line[d][a] != s->h->column_line[d][b]) return 0;
    }
    return 1;
}

static facet_status make_kinds(struct box_stars *s, int d, struct box_axis **axes) {
    facet_status status = FACET_OK;
    const struct box_grid *g = &s->h->grid;
    TRY(CALLOC(*axes, s->n_places[d]));
    for (int i = 0; i < s->n_places[d]; i++) {
        struct star_place *p = &s->places[d][i];
        int j = 0;
        while (!same_place(s, d, p, &s->places[d][j])) j++;
        p->kind = j < i ? s->places[d][j].kind : s->n_kinds[d];
        if (j < i) continue;
        TRY(base_wrap(make_axis(s, d, p, &(*axes)[s->n_kinds[d]]), "direction %c", "xyz"[d]));
        s->n_kinds[d]++;
    }
    TRY(CALLOC(s->column_kinds[d], g->cells[d]));
    for (int i = 0; i < g->cells[d]; i++) {
        int j = 0;
        while (fabs(g->widths[d][i] - g->widths[d][j]) > SAME_WIDTH * g->widths[d][i] ||
               s->h->column_line[d][i] != s->h->column_line[d][j])
            j++;
        s->column_kinds[d][i] = j < i ? s->column_kinds[d][j] : s->n_column_kinds[d]++;
    }
done:
    return status;
}

/* Tables serve where lambda / k is the same everywhere and there are few kinds. */
static void count_tables(struct box_stars *s) {
    const struct box_grid *g = &s->h->grid;
    int64_t stars = 1, cells = 1;
    s->exact = g->separable;
    s->shift = box_reaction(g, 0) / box_conductivity(g, 0);
    for (int d = 0; d < 3; d++) {
        stars *= s->n_kinds[d];
        cells *= s->n_column_kinds[d];
        if (d < g->dim && g->sides[d][0] == BOX_PERIODIC && g->cells[d] == 1) s->exact = 0;
    }
    for (int64_t c = 0; c < g->n_cells; c++)
        if (box_reaction(g, c) != s->shift * box_conductivity(g, c)) stars = cells = MAX_TABLES + 1;
    s->n_star_tables = stars <= MAX_TABLES ? (int)stars : 0;
    s->n_cell_tables = cells <= MAX_TABLES ? (int)cells : 0;
}

void box_stars_destroy(struct box_stars **stars) {
    struct box_stars *s = *stars;
    if (s == NULL) return;
    stars_free(s, &s->in_double);
    stars_free_single(s, &s->in_single);
    for (int d = 0; d < 3; d++) {
        base_free(&s->places[d]);
        base_free(&s->column_kinds[d]);
    }
    base_free(&s->factors);
    base_free(stars);
}

facet_status box_stars_create(const struct boxhdg *h, int single, struct box_stars **stars) {
    facet_status status = FACET_OK;
    struct box_axis *axes[3] = {NULL, NULL, NULL};
    struct box_stars *s = NULL;
    TRY(CALLOC(*stars, 1));
    s = *stars;
    s->h = h;
    s->n_work = base_threads_for(h->n_volume / 2); /* several points each, in colours */
    for (int d = 0; d < 3; d++) {
        TRY(make_places(s, d));
        TRY(make_kinds(s, d, &axes[d]));
    }
    count_tables(s);
    if (single)
        TRY(stars_make_single(s, axes, &s->in_single));
    else
        TRY(stars_make(s, axes, &s->in_double));
done:
    for (int d = 0; d < 3; d++) {
        for (int i = 0; s != NULL && axes[d] != NULL && i < s->n_kinds[d]; i++) box_axis_destroy(&axes[d][i]);
        base_free(&axes[d]);
    }
    if (status != FACET_OK) box_stars_destroy(stars);
    return status;
}

void box_stars_sweep(struct box_stars *s, int backward, double *x, double *r) {
    sweep(s, s->in_double, backward, x, r);
}
void box_stars_sweep_single(struct box_stars *s, int backward, float *x, float *r) {
    sweep_single(s, s->in_single, backward, x, r);
}
void box_stars_subtract(struct box_stars *s, const double *x, double *r) {
    subtract(s, s->in_double, x, r);
}
void box_stars_subtract_single(struct box_stars *s, const float *x, float *r) {
    subtract_single(s, s->in_single, x, r);
}
const struct boxhdg *box_stars_hdg(const struct box_stars *s) {
    return s->h;
}
int box_stars_is_single(const struct box_stars *s) {
    return s->in_single != NULL;
}
