/* Contacts that resist: contact.h has the algebra. */
#include "hdg/contact.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "mesh/part.h"
#include "trace/sides.h"

/* Of h length / K: what so weak a contact holds alone, rounding in K moves as well. */
#define WEAK        1e-9
#define PLACE_BYTES 80

int contact_has_cell(const struct hdg *h, int block, int32_t cell) {
    return h->contacts != NULL && h->contacts->number[block][cell] >= 0;
}

/* Of the stiffness of a cell, that of its contacts. */
#define HARDLY 0.01

int contact_is_weak(const struct hdg *h, int block, int32_t cell, int slot) {
    if (!contact_has_cell(h, block, cell) || !contact_is_second(h, block, cell, slot)) return 0;
    const struct contact_cell *c = &h->contacts->cells[h->contacts->number[block][cell]];
    return c->joined < HARDLY * c->stiffest;
}

facet_status contact_conductance(struct local *l, int face) {
    const struct hdg *h = l->hdg;
    const struct hdg_block_space *b = &h->space.blocks[l->block];
    const struct hdg_contact *contact = &h->data.contacts[h->data.face_contact[local_face_number(l, face)]];
    int n = hdg_face_of(&b->boundary, face)->rule.n, dim = h->data.mesh->dim;
    facet_status status = FACET_OK;
    hdg_face_geometry(&h->space, l->block, l->cell, face, &b->boundary, &l->face_geometry, l->x, l->normal);
    TRY(field_eval(contact->conductance, n, dim, l->x, l->values));
    for (int q = 0; q < n; q++) {
        if (!(l->values[q] > 0.0))
            TRY(local_refuse("the conductance", "be positive", l->values[q], dim, l->x + q * dim));
        TRY(local_check_size("the conductance", l->values[q], dim, l->x + q * dim));
    }
done:
    return base_wrap(status, "interface between '%s' and '%s'", contact->between[0], contact->between[1]);
}

/* ------------------------------------------------------------------------------------------ set-up */

/* Joined sides at seams, where the other side is not here. */
struct seam_joints {
    struct mesh_seam_joint *list;
    int32_t n;
};

static int compare_faces(const void *face, const void *joint) {
    const int32_t a = *(const int32_t *)face, b = ((const struct mesh_seam_joint *)joint)->face;
    return (a > b) - (a < b);
}

/* shift: from the first side to the second. */
static int jumps_at(const struct hdg *h, const struct seam_joints *seams, int32_t face, double shift[3]) {
    double R[9];
    if (h->data.jump == NULL) return 0;
    if (h->data.mesh->face_cells[2 * (int64_t)face + 1] != MESH_SEAM)
        return mesh_face_joint(h->data.mesh, face, R, shift) != MESH_ONE_PLACE;
    const struct mesh_seam_joint *joint =
        seams->n > 0 ? bsearch(&face, seams->list, (size_t)seams->n, sizeof *seams->list, compare_faces)
                     : NULL;
    if (joint != NULL) memcpy(shift, joint->s, sizeof joint->s);
    return joint != NULL;
}

static facet_status add_jump(struct hdg_contacts *c, int block, int32_t cell, int slot,
                             const double shift[3]) {
    facet_status status = FACET_OK;
    TRY(base_realloc(&c->jumps, (size_t)c->n_jumps + 1, sizeof *c->jumps));
    struct contact_jump *j = &c->jumps[c->n_jumps++];
    *j = (struct contact_jump){.block = block, .cell = cell, .slot = slot};
    memcpy(j->shift, shift, sizeof j->shift);
done:
    return status;
}

/* The cells that are second sides, in the order of the mesh. */
static facet_status find_cells(struct hdg *h, const struct seam_joints *seams) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct hdg_contacts *c = h->contacts;
    int64_t most = 0;
    for (int b = 0; b < mesh->n_blocks; b++) {
        const struct mesh_block *block = &mesh->blocks[b];
        int n_faces = h->trace.n_slots[b], n = trace_cell_size(&h->trace, b);
        most = n > most ? n : most;
        TRY(ALLOC(c->number[b], block->count));
        for (int32_t cell = 0; cell < block->count; cell++) {
            struct contact_cell own = {.block = b, .cell = cell};
            double shift[3] = {0.0};
            for (int s = 0; s < n_faces; s++) {
                int32_t f = block->faces[(int64_t)cell * n_faces + s];
                if (c->seen.faces[b][(int64_t)cell * n_faces + s] == f) continue;
                if (h->data.face_contact != NULL && h->data.face_contact[f] >= 0) {
                    own.slots[own.n_slots++] = (uint8_t)s;
                    own.starts[own.n_slots] =
                        own.starts[own.n_slots - 1] + hdg_face_size(&h->space.blocks[b], s);
                }
                if (jumps_at(h, seams, f, shift)) TRY(add_jump(c, b, cell, s, shift));
            }
            int rows = own.starts[own.n_slots];
            c->number[b][cell] = own.n_slots > 0 ? c->n : -1;
            if (own.n_slots == 0) continue;
            TRY(base_realloc(&c->cells, (size_t)c->n + 1, sizeof *c->cells));
            c->cells[c->n++] = own;
            TRY(CALLOC(c->cells[c->n - 1].T, (int64_t)rows * n));
            TRY(CALLOC(c->cells[c->n - 1].L, (int64_t)rows * rows));
        }
    }
    TRY(ALLOC(c->scratch, most));
done:
    return status;
}

facet_status contact_create(struct hdg *h, const uint8_t *eliminated) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    struct local l = {0};
    struct seam_joints seams = {0};
    uint8_t *two = NULL, *second = NULL;
    double shift[3];
    if (h->data.face_contact == NULL && h->data.jump == NULL) return FACET_OK;
    TRY(CALLOC(h->contacts, 1));
    TRY(ALLOC(two, mesh->n_faces));
    TRY(ALLOC(second, mesh->n_faces));
    TRY(mesh_find_second_sides(mesh, second));
    TRY(mesh_find_seam_joints(mesh, &seams.list, &seams.n));
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        two[f] =
            (h->data.face_contact != NULL && h->data.face_contact[f] >= 0) || jumps_at(h, &seams, f, shift);
        if (two[f] && second[f]) two[f] = TRACE_SECOND_HERE;
    }
    TRY(trace_space_create_with(mesh, h->space.degree, h->trace.n_components, eliminated,
                                &(struct trace_extras){.two = two}, &h->contacts->seen));
    TRY(find_cells(h, &seams));
    TRY(local_create(h, &l));
    for (int32_t i = 0; i < h->contacts->n; i++) {
        l.block = h->contacts->cells[i].block;
        l.cell = h->contacts->cells[i].cell;
        for (int k = 0; k < h->contacts->cells[i].n_slots; k++)
            TRY(contact_conductance(&l, h->contacts->cells[i].slots[k]));
    }
done:
    local_destroy(&l);
    base_free(&two);
    base_free(&second);
    base_free(&seams.list);
    return status;
}

void contact_destroy(struct hdg *h) {
    struct hdg_contacts *c = h->contacts;
    if (c == NULL) return;
    for (int32_t i = 0; i < c->n; i++) {
        base_free(&c->cells[i].T);
        base_free(&c->cells[i].L);
    }
    base_free(&c->cells);
    base_free(&c->jumps);
    base_free(&c->scratch);
    for (int b = 0; b < MESH_MAX_BLOCKS; b++) base_free(&c->number[b]);
    trace_space_destroy(&c->seen);
    base_free(&h->contacts);
}

/* ------------------------------------------------------------------------------------------ condensation */

/* Numbers of one cell: f rows of contacts among n unknowns, and where these stand. */
struct sizes {
    int n, f;
    const struct hdg_block_space *space;
};

static int contact_of(const struct contact_cell *c, int i) {
    int k = 0;
    while (i >= c->starts[k + 1]) k++;
    return k;
}

/* Where row i of the contacts stands among the unknowns of the cell. */
static int place(const struct contact_cell *c, const struct sizes *s, int i) {
    int k = contact_of(c, i);
    return s->space->starts[c->slots[k]] + i - c->starts[k];
}

/* h M of all contacts, f x f, zero between different ones. */
static facet_status find_masses(struct local *l, const struct contact_cell *c, const struct sizes *s,
                                double *mass) {
    facet_status status = FACET_OK;
    memset(mass, 0, (size_t)s->f * (size_t)s->f * sizeof *mass);
    for (int k = 0; k < c->n_slots; k++) {
        const struct hdg_face_table *table = hdg_face_of(&s->space->boundary, c->slots[k]);
        TRY(contact_conductance(l, c->slots[k]));
        for (int q = 0; q < table->rule.n; q++) l->values[q] = copysign(l->values[q], table->rule.w[q]);
        local_face_mass(table->rule.n, table->m, table->psi, l->hdg->data.mesh->dim, l->normal, l->values,
                        mass + (int64_t)c->starts[k] * (s->f + 1), s->f);
    }
done:
    return status;
}

/* B (f x n) becomes L^-1 B, or L'^-1 B. */
static void half_solve(const struct contact_cell *c, int f, int n, CBLAS_TRANSPOSE transposed, double *B) {
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, transposed, CblasNonUnit, f, n, 1.0, c->L, f, B, n);
}

/* T = S^-1 [-K_fo, h M], in the columns of the cell's unknowns. */
static void find_T(const struct contact_cell *c, const struct sizes *s, const double *K, const double *mass) {
    int n = s->n, f = s->f;
    for (int i = 0; i < f; i++)
        for (int j = 0; j < n; j++) c->T[i * n + j] = -K[place(c, s, i) * n + j];
    for (int i = 0; i < f; i++)
        for (int j = 0; j < f; j++) c->T[i * n + place(c, s, j)] = mass[i * f + j];
    half_solve(c, f, n, CblasNoTrans, c->T);
    half_solve(c, f, n, CblasTrans, c->T);
}

/* K with the rows and columns of the contacts in terms of the first sides. Where tau is large, S has both tau
 * and K in it, and only its factor, not its inverse, leaves K_oo with the rounding of K alone. rows, more:
 * scratch, f x n. */
static void replace(const struct contact_cell *c, const struct sizes *s, const double *mass, double *rows,
                    double *more, double *K) {
    int n = s->n, f = s->f;
    for (int i = 0; i < f; i++)
        for (int j = 0; j < n; j++) rows[i * n + j] = K[place(c, s, i) * n + j];
    half_solve(c, f, n, CblasNoTrans, rows);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, n, n, f, -1.0, rows, n, rows, n, 1.0, K, n);
    half_solve(c, f, n, CblasTrans, rows);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, f, n, f, 1.0, mass, f, rows, n, 0.0, more, n);
    for (int i = 0; i < f; i++)
        for (int j = 0; j < n; j++) K[place(c, s, i) * n + j] = more[i * n + j];
    for (int i = 0; i < f; i++)
        for (int j = 0; j < n; j++) K[j * n + place(c, s, i)] = more[i * n + j];
    for (int i = 0; i < f; i++)
        for (int j = 0; j < f; j++)
            K[place(c, s, i) * n + place(c, s, j)] =
                0.5 * (more[i * n + place(c, s, j)] + more[j * n + place(c, s, i)]);
}

/* v (n) = T'v, T being the identity in the rows of others than contacts. */
static void transpose(const struct contact_cell *c, const struct sizes *s, int stride, double *v,
                      double *own) {
    for (int i = 0; i < s->f; i++) {
        own[i] = v[place(c, s, i) * stride];
        v[place(c, s, i) * stride] = 0.0;
    }
    cblas_dgemv(CblasRowMajor, CblasTrans, s->f, s->n, 1.0, c->T, s->n, own, 1, 1.0, v, stride);
}

static struct sizes sizes_of(const struct hdg *h, const struct contact_cell *c) {
    return (struct sizes){.n = trace_cell_size(&h->trace, c->block),
                          .f = c->starts[c->n_slots],
                          .space = &h->space.blocks[c->block]};
}

/* K 1 = sums where columns and rows are those of contacts (own), or the others. */
static void restore_side(int n, const uint8_t *is_contact, int own, int n_ones, const int *places,
                         const double *ones, const double *sums, double *missing, double *K) {
    int n_own = 0, at[SHAPE_MAX_FACES];
    double one[SHAPE_MAX_FACES];
    for (int k = 0; k < n_ones; k++)
        if (is_contact[places[k]] == own) {
            at[n_own] = places[k];
            one[n_own++] = ones[k];
        }
    if (n_own == 0) return;
    for (int i = 0; i < n; i++) {
        missing[i] = is_contact[i] == own ? sums[i] : 0.0;
        for (int k = 0; k < n_ones; k++)
            if ((is_contact[i] == own) != (is_contact[places[k]] == own))
                missing[i] += (is_contact[i] == own ? -1.0 : 1.0) * ones[k] * K[i * n + places[k]];
    }
    local_restore_sums(n, n_own, at, one, missing, K);
}

facet_status contact_condense(struct local *l, double *sums, double *K) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    double *scratch = NULL, ones[SHAPE_MAX_FACES];
    uint8_t *is_contact = NULL;
    int places[SHAPE_MAX_FACES], n_ones = local_find_ones(l, 1, 0, places, ones);
    if (!contact_has_cell(h, l->block, l->cell)) return FACET_OK;
    struct contact_cell *c = &h->contacts->cells[h->contacts->number[l->block][l->cell]];
    struct sizes s = sizes_of(h, c);
    int n = s.n, f = s.f;
    TRY(ALLOC(scratch, f * f + 2 * f * n + n + f));
    TRY(CALLOC(is_contact, n));
    double *mass = scratch, *rows = mass + f * f, *more = rows + f * n, *missing = more + f * n;
    TRY(find_masses(l, c, &s, mass));
    for (int i = 0; i < f; i++) is_contact[place(c, &s, i)] = 1;
    for (int i = 0; i < f; i++)
        for (int j = 0; j < f; j++)
            c->L[i * f + j] = mass[i * f + j] + K[place(c, &s, i) * n + place(c, &s, j)];
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', f, c->L, f) != 0) /* by rows lower */
        FAIL(FACET_ERROR_INPUT, "the problem of its contact is singular; is the cell degenerate?");
    c->stiffest = 0.0;
    for (int i = 0; i < n; i++) c->stiffest = fmax(c->stiffest, K[i * (n + 1)]);
    find_T(c, &s, K, mass);
    transpose(c, &s, 1, sums, missing); /* K 1, which is zero without reaction, becomes T'K 1 */
    replace(c, &s, mass, rows, more, K);
    c->joined = 0.0;
    for (int i = 0; i < f; i++) c->joined = fmax(c->joined, K[place(c, &s, i) * (n + 1)]);
    for (int own = 0; own < 2; own++)
        restore_side(n, is_contact, own, n_ones, places, ones, sums, missing, K);
done:
    base_free(&scratch);
    base_free(&is_contact);
    return status;
}

/* ------------------------------------------------------------------------------------------ solves */

/* Where row i of the contacts of a cell stands in an array of the traces of second sides alone. */
static int64_t own_place(const struct hdg *h, const struct contact_cell *c, int i) {
    const struct trace_space *seen = &h->contacts->seen;
    int k = contact_of(c, i);
    return seen->face_first[seen->faces[c->block][(int64_t)c->cell * seen->n_slots[c->block] + c->slots[k]]] -
           h->trace.n_all + i - c->starts[k];
}

void contact_load(const struct hdg *h, struct hdg_solution *s, double *const *locals) {
    for (int32_t i = 0; h->contacts != NULL && i < h->contacts->n; i++) {
        const struct contact_cell *c = &h->contacts->cells[i];
        struct sizes size = sizes_of(h, c);
        double *F = locals[c->block] + local_lane(h->lanes, c->cell, size.n);
        double *own = h->contacts->scratch;
        transpose(c, &size, h->lanes, F, own);
        half_solve(c, size.f, 1, CblasNoTrans, own);
        half_solve(c, size.f, 1, CblasTrans, own);
        for (int k = 0; k < size.f; k++) s->kept[own_place(h, c, k)] = own[k];
    }
}

/* One on a component of the face of a jump, in the unknowns of its cell. */
static int jump_place(const struct hdg *h, const struct contact_jump *j, int component, double *one) {
    const struct hdg_block_space *b = &h->space.blocks[j->block];
    *one = sqrt(shape_measure(shape_face_shape(b->shape, j->slot)));
    return h->trace.slots[j->block][j->slot] + component * hdg_face_size(b, j->slot);
}

facet_status contact_lift(struct hdg *h, double *lift) {
    facet_status status = FACET_OK;
    struct trace_view view = {.matrices = &h->matrices};
    const struct trace_space *t = &h->trace;
    int dim = h->data.mesh->dim, nc = t->n_components;
    double jump[9], one;
    if (h->contacts == NULL || h->contacts->n_jumps == 0) return FACET_OK;
    field_is_constant(h->data.jump, jump);
    TRY(trace_view_open(&h->matrices, &view));
    for (int32_t i = 0; i < h->contacts->n_jumps; i++) {
        struct contact_jump *j = &h->contacts->jumps[i];
        const int32_t *faces = t->faces[j->block] + (int64_t)j->cell * t->n_slots[j->block];
        const double *K = trace_view_cell(&view, j->block, j->cell);
        for (int c = 0; c < nc; c++) {
            j->value[c] = cblas_ddot(dim, jump + c * dim, 1, j->shift, 1);
            int column = jump_place(h, j, c, &one);
            for (int slot = 0; slot < t->n_slots[j->block]; slot++) {
                int64_t to = t->face_free[faces[slot]];
                for (int k = t->slots[j->block][slot]; to >= 0 && k < t->slots[j->block][slot + 1]; k++)
                    lift[to++] -= one * j->value[c] * trace_view_entry(&view, j->block, K, k, column);
            }
        }
    }
done:
    trace_view_close(&view);
    return status;
}

/* What the second sides would see without resistance. */
static void copy_first(const struct hdg *h, int jump, struct hdg_solution *s) {
    const struct trace_space *seen = &h->contacts->seen;
    for (int64_t f = h->trace.n_faces; f < seen->n_faces; f++)
        memcpy(s->trace + seen->face_first[f], s->trace + seen->face_first[seen->records[f].face],
               (size_t)seen->records[f].size * sizeof *s->trace);
    for (int32_t i = 0; jump && i < h->contacts->n_jumps; i++) {
        const struct contact_jump *j = &h->contacts->jumps[i];
        double *to = s->trace + contact_start(h, j->block, j->cell, j->slot), one;
        for (int c = 0; c < h->trace.n_components; c++)
            to[jump_place(h, j, c, &one) - h->trace.slots[j->block][j->slot]] += one * j->value[c];
    }
}

void contact_recover(const struct hdg *h, int jump, struct hdg_solution *s) {
    if (h->contacts != NULL) copy_first(h, jump, s);
    for (int32_t i = 0; h->contacts != NULL && i < h->contacts->n; i++) {
        const struct contact_cell *c = &h->contacts->cells[i];
        struct sizes size = sizes_of(h, c);
        double *first = h->contacts->scratch;
        trace_gather(&h->contacts->seen, c->block, c->cell, s->trace, first, 1);
        for (int k = 0; k < size.f; k++) {
            int64_t at = own_place(h, c, k);
            s->trace[h->trace.n_all + at] =
                s->kept[at] + cblas_ddot(size.n, c->T + (int64_t)k * size.n, 1, first, 1);
        }
    }
}

/* The jump from the first to the second side of what has these coefficients, at a point of the face. */
static double jump_at(int m, const double *psi, const double *first, const double *second) {
    double sum = 0.0;
    for (int i = 0; i < m; i++) sum += psi[i] * (second[i] - first[i]);
    return sum;
}

static facet_status add_face_totals(struct local *l, int slot, const double *trace, int n, double *const *psi,
                                    double *totals, double *moduli) {
    facet_status status = FACET_OK;
    const struct hdg *h = l->hdg;
    const struct hdg_face_table *table = hdg_face_of(&h->space.blocks[l->block].boundary, slot);
    const int64_t first = h->trace.face_first[local_face_number(l, slot)];
    const int64_t second = contact_start(h, l->block, l->cell, slot);
    const int dim = h->data.mesh->dim, m = table->m;
    TRY(contact_conductance(l, slot));
    for (int q = 0; q < table->rule.n; q++) {
        const double *at = table->psi + (int64_t)q * m;
        double through = l->values[q] * copysign(local_norm(dim, l->normal + q * dim), table->rule.w[q]) *
                         jump_at(m, at, trace + first, trace + second);
        for (int i = 0; i < n; i++) {
            double part = through * jump_at(m, at, psi[i] + first, psi[i] + second);
            totals[i] += part;
            moduli[i] += fabs(part);
        }
    }
done:
    return status;
}

facet_status contact_add_totals(const struct hdg *h, const struct hdg_solution *s, int n, double *const *psi,
                                double *totals, double *moduli) {
    facet_status status = FACET_OK;
    struct local l = {0};
    if (h->contacts == NULL) return FACET_OK;
    TRY(local_create(h, &l));
    for (int32_t i = 0; i < h->contacts->n; i++) {
        const struct contact_cell *c = &h->contacts->cells[i];
        l.block = c->block;
        l.cell = c->cell;
        for (int k = 0; k < c->n_slots; k++)
            TRY(add_face_totals(&l, c->slots[k], s->trace, n, psi, totals, moduli));
    }
done:
    local_destroy(&l);
    return status;
}

/* ------------------------------------------------------------------------------------------ weak contacts */

/* The sides (bits) to which a contact is weak. */
enum { WEAK_TO_FIRST = 1, WEAK_TO_SECOND = 2 };

/* cut: those of every face, as mesh->face_cells has them. */
static facet_status find_weak(const struct hdg *h, uint8_t *cut) {
    facet_status status = FACET_OK;
    struct local l = {0};
    struct mesh_quality quality;
    const struct facet_mesh *mesh = h->data.mesh;
    double square = 0.0;
    TRY(mesh_measure_size(mesh, &quality));
    for (int d = 0; d < mesh->dim; d++) square += pow(quality.upper[d] - quality.lower[d], 2);
    TRY(local_create(h, &l));
    for (int32_t i = 0; i < h->contacts->n; i++) {
        const struct contact_cell *c = &h->contacts->cells[i];
        for (int k = 0; k < c->n_slots; k++) {
            double largest = 0.0;
            TRY(local_begin(&l, c->block, c->cell));
            TRY(contact_conductance(&l, c->slots[k]));
            for (int q = 0; q < hdg_face_of(&h->space.blocks[c->block].boundary, c->slots[k])->rule.n; q++)
                largest = fmax(largest, l.values[q]);
            const int32_t face = local_face_number(&l, c->slots[k]);
            for (int side = 0; side < 2; side++) {
                const int32_t cell = mesh->face_cells[2 * (int64_t)face + side];
                if (cell < 0) continue; /* another part's */
                const struct mesh_block *block = mesh_block_of(mesh, cell);
                TRY(local_begin(&l, (int)(block - mesh->blocks), cell - block->first));
                if (largest * sqrt(square) < WEAK * l.mean_K)
                    cut[face] |= side == 0 ? WEAK_TO_FIRST : WEAK_TO_SECOND;
            }
        }
    }
done:
    local_destroy(&l);
    return status;
}

facet_status contact_check(const struct hdg *h) {
    facet_status status = FACET_OK;
    const struct facet_mesh *mesh = h->data.mesh;
    int32_t *piece = NULL;
    uint8_t *cut = NULL, *held = NULL;
    int64_t n = 0;
    if (h->contacts == NULL) return FACET_OK;
    n = h->contacts->n;
    TRY(team_reduce_counts(mesh_team(mesh), TEAM_SUM, 1, &n));
    if (n == 0 || h->largest_reaction > 0.0) goto done;
    TRY(CALLOC(cut, mesh->n_faces));
    TRY(CALLOC(held, mesh->n_cells));
    TRY(ALLOC(piece, mesh->n_cells));
    TRY(find_weak(h, cut));
    for (int32_t f = 0; f < mesh->n_faces && mesh->part != NULL; f++) /* pieces go on in other parts */
        if (cut[f])
            FAIL(FACET_ERROR_INPUT,
                 "an interface whose conductance is below %g of K/length is not distributed yet; use the "
                 "program facet",
                 WEAK);
    mesh_find_pieces_between(mesh, cut, piece);
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        int32_t c = h->data.face_condition[f];
        if (c >= 0 && h->data.conditions[c].kind != HDG_NEUMANN)
            held[piece[mesh->face_cells[2 * (int64_t)f]]] = 1;
    }
    for (int32_t f = 0; f < mesh->n_faces; f++) {
        const int32_t *cells = mesh->face_cells + 2 * (int64_t)f;
        int loose = (cut[f] & WEAK_TO_FIRST && !held[piece[cells[0]]])    ? 0
                    : (cut[f] & WEAK_TO_SECOND && !held[piece[cells[1]]]) ? 1
                                                                          : -1;
        if (loose < 0) continue;
        const struct hdg_contact *contact = &h->data.contacts[h->data.face_contact[f]];
        char text[PLACE_BYTES];
        mesh_middle_text(mesh, cells[loose], -1, text, sizeof text);
        FAIL(FACET_ERROR_INPUT,
             "the interface between '%s' and '%s' is all that holds the part with the cell at %s, but its "
             "conductance is below %g of K/length there, and rounding would decide about u; give the part a "
             "condition that holds it",
             contact->between[0], contact->between[1], text, WEAK);
    }
done:
    base_free(&piece);
    base_free(&cut);
    base_free(&held);
    return status;
}
