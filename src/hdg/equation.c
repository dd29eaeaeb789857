/* What the entries of the table of equations have in common: the fields, and what follows from the data. */
#include <stdio.h>
#include <string.h>

#include "hdg/hdg.h"

const struct hdg_field_kind hdg_fields[HDG_N_FIELDS] = {[HDG_U] = {"u", HDG_AS_U, 0},
                                                        [HDG_U_STAR] = {"u_star", HDG_AS_U, 1},
                                                        [HDG_Q] = {"q", HDG_VECTOR, 0},
                                                        [HDG_Q_STAR] = {"q_star", HDG_VECTOR, 1},
                                                        [HDG_H] = {"H", HDG_TENSOR, 0},
                                                        [HDG_P] = {"p", HDG_SCALAR, 0},
                                                        [HDG_STRESS] = {"stress", HDG_TENSOR, 0},
                                                        [HDG_STRAIN] = {"strain", HDG_TENSOR, 0},
                                                        [HDG_VON_MISES] = {"von_mises", HDG_SCALAR, 0},
                                                        [HDG_VORTICITY] = {"vorticity", HDG_CURL, 0},
                                                        [HDG_ACROSS] = {"stress_across", HDG_SCALAR, 0}};

int equation_field_components(const struct equation *e, int dim, enum hdg_field field) {
    const int sizes[] = {[HDG_SCALAR] = 1,
                         [HDG_VECTOR] = dim,
                         [HDG_TENSOR] = dim * dim,
                         [HDG_CURL] = dim == 2 ? 1 : 3,
                         [HDG_AS_U] = equation_components(e, dim)};
    return sizes[hdg_fields[field].form];
}

int hdg_find_field(const char *name) {
    for (int i = 0; i < HDG_N_FIELDS; i++)
        if (strcmp(name, hdg_fields[i].name) == 0) return i;
    return -1;
}

void equation_list_fields(const struct equation *e, const char *last, char *text, size_t n) {
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < HDG_N_FIELDS && used < n; i++)
        if (e->fields >> i & 1)
            used += (size_t)snprintf(text + used, n - used, "%s%s",
                                     used == 0                   ? ""
                                     : e->fields >> (i + 1) != 0 ? ", "
                                                                 : last,
                                     hdg_fields[i].name);
}

int equation_is_symmetric(const struct hdg_data *data) {
    for (int32_t f = 0; data->equation->asymmetric != 0 && f < data->mesh->n_faces; f++) {
        if (data->face_condition[f] < 0) continue;
        const struct hdg_condition *c = &data->conditions[data->face_condition[f]];
        if (c->symmetric) continue;
        for (int a = 0; data->equation->asymmetric & HDG_BIT(c->kind) && a < data->mesh->dim; a++)
            if (!c->fixed[a]) return 0;
    }
    return 1;
}
