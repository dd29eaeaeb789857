/* Writes the files that tests/io/test_vtu.py reads back with VTK's own reader and Python's json:  write_vtu
 * DIRECTORY
 *
 * Cell c of a file is the reference cell moved by the map F_c below (affine, or curved of degree 2), which
 * the Python side knows too. The fields are polynomials of degree <= order in x, so that VTK's interpolation
 * must reproduce them everywhere, and the reference coordinates themselves. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "io/json.h"
#include "io/vtu.h"

/* F_c(xi) = B xi + (1.5 c, 0, 0) + bend (xi_y^2, xi_x^2, xi_x xi_y) */
static void map_point(int dim, int64_t cell, double bend, const double *xi, double *x) {
    static const double B[3][3] = {{1.1, 0.2, -0.1}, {-0.15, 0.9, 0.05}, {0.1, 0.05, 1.2}};
    const double quadratic[3] = {xi[1] * xi[1], xi[0] * xi[0], xi[0] * xi[1]};
    for (int i = 0; i < dim; i++) {
        x[i] = (i == 0 ? 1.5 * (double)cell : 0) + bend * quadratic[i];
        for (int j = 0; j < dim; j++) x[i] += B[i][j] * xi[j];
    }
}

struct data {
    double *points, *u, *xi, *tensor, *number;
};

/* u = (0.3 + 0.2 x - 0.15 y + 0.1 z)^order; tensor_ij = u + i x_j (bounded for a few cells). */
static void fill_point(int dim, int order, int64_t cell, double bend, const double *xi, struct data *data,
                       int64_t p) {
    double *x = &data->points[p * dim];
    map_point(dim, cell, bend, xi, x);
    const double z = dim == 3 ? x[2] : 0;
    data->u[p] = pow(0.3 + 0.2 * x[0] - 0.15 * x[1] + 0.1 * z, order);
    memcpy(&data->xi[p * dim], xi, (size_t)dim * sizeof *xi);
    for (int i = 0; i < dim; i++) {
        for (int j = 0; j < dim; j++) data->tensor[(p * dim + i) * dim + j] = data->u[p] + i * x[j];
    }
}

static facet_status write_grid(const char *path, int dim, int order, double bend, int n_blocks,
                               const struct vtu_block *blocks) {
    facet_status status = FACET_OK;
    struct data data = {.points = NULL};
    double *lattice = NULL;
    int64_t n_points = 0, n_cells = 0, p = 0, c = 0;

    for (int b = 0; b < n_blocks; b++) {
        n_points += blocks[b].count * shape_n_nodes(blocks[b].shape, order);
        n_cells += blocks[b].count;
    }
    TRY(ALLOC(data.points, n_points * dim));
    TRY(ALLOC(data.u, n_points));
    TRY(ALLOC(data.xi, n_points * dim));
    TRY(ALLOC(data.tensor, n_points * dim * dim));
    TRY(ALLOC(data.number, n_cells));
    for (int b = 0; b < n_blocks; b++) {
        const int n_nodes = shape_n_nodes(blocks[b].shape, order);
        TRY(ALLOC(lattice, n_nodes * dim));
        shape_nodes(blocks[b].shape, order, lattice);
        for (int64_t i = 0; i < blocks[b].count; i++, c++) {
            data.number[c] = (double)c;
            for (int v = 0; v < n_nodes; v++, p++) {
                fill_point(dim, order, c, bend, &lattice[v * dim], &data, p);
            }
        }
        base_free(&lattice);
    }
    const struct vtu_grid grid = {dim, order, n_blocks, blocks, data.points, NULL, 1};
    const struct vtu_field fields[] = {
        {"u", 1, 0, data.u},
        {"cell \"number\" <&>", 1, 1, data.number},
        {"xi", dim, 0, data.xi},
        {"tensor", dim * dim, 0, data.tensor},
    };
    TRY(vtu_write(path, &grid, 4, fields));
done:
    base_free(&lattice);
    base_free(&data.points);
    base_free(&data.u);
    base_free(&data.xi);
    base_free(&data.tensor);
    base_free(&data.number);
    return base_wrap(status, "%s", path);
}

static facet_status write_grids(const char *directory) {
    static const enum shape shapes[] = {SHAPE_TRIANGLE, SHAPE_QUAD, SHAPE_TET, SHAPE_HEX, SHAPE_PRISM};
    const struct vtu_block mixed[] = {{SHAPE_TRIANGLE, 2}, {SHAPE_QUAD, 1}, {SHAPE_TRIANGLE, 1}};
    /* The last compressed block is exactly full: 5461 points are one block of coordinates, 16384 one of u. */
    const struct vtu_block full_points[] = {{SHAPE_TRIANGLE, 3}, {SHAPE_QUAD, 1363}},
                           full_u = {SHAPE_QUAD, 4096};
    const struct vtu_block many = {SHAPE_HEX, 20};
    facet_status status = FACET_OK;
    char path[4096];

#define PATH(...) (snprintf(path, sizeof path, __VA_ARGS__), path)
    for (int order = 1; order <= 10; order++) {
        for (int s = 0; s < 5; s++) {
            const struct vtu_block block = {shapes[s], 2};
            const int dim = shape_dim(shapes[s]);
            TRY(write_grid(PATH("%s/%s_%d.vtu", directory, shape_name(shapes[s]), order), dim, order, 0, 1,
                           &block));
            if (order == 1) continue;
            TRY(write_grid(PATH("%s/%s_%d_curved.vtu", directory, shape_name(shapes[s]), order), dim, order,
                           0.1, 1, &block));
        }
        TRY(write_grid(PATH("%s/mixed_%d.vtu", directory, order), 2, order, 0, 3, mixed));
    }
    TRY(write_grid(PATH("%s/full_points_1.vtu", directory), 2, 1, 0, 2, full_points));
    TRY(write_grid(PATH("%s/full_u_1.vtu", directory), 2, 1, 0, 1, &full_u));
    TRY(write_grid(PATH("%s/many_10.vtu", directory), 3, 10, 0, 1, &many));
    TRY(write_grid(PATH("%s/empty_2.vtu", directory), 2, 2, 0, 0, NULL));
#undef PATH
done:
    return status;
}

/* Pseudo-random bit patterns as numbers, with the same bits as integers beside them, and awkward strings. */
static facet_status write_json(const char *directory) {
    facet_status status = FACET_OK;
    struct text text = {.data = NULL};
    struct json json;
    char path[4096], every[256];
    uint64_t bits = 88172645463325252u;

    for (int i = 0; i < 127; i++) every[i] = (char)(i + 1);
    every[127] = '\0';
    json_begin(&json, &text);
    json_object_begin(&json, NULL);
    json_string(&json, "ascii", every);
    json_string(&json, "utf8", "Größe ∇·q 🙂");
    json_string(&json, "invalid",
                "a\xff"
                "b\xc3");
    json_string(&json, "quoted \"key\"\n", "");
    json_bool(&json, "yes", 1);
    json_number(&json, "nan", NAN);
    json_number(&json, "infinity", -INFINITY);
    json_number(&json, "tenth", 0.1);
    json_integer(&json, "least", INT64_MIN);
    json_object_begin(&json, "empty");
    json_object_end(&json);
    json_array_begin(&json, "numbers");
    for (int i = 0; i < 2000; i++) {
        double value;
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        memcpy(&value, &bits, sizeof value);
        json_array_begin(&json, NULL);
        json_number(&json, NULL, value);
        json_integer(&json, NULL, (int64_t)bits);
        json_array_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    TRY(text.status);
    snprintf(path, sizeof path, "%s/all.json", directory);
    TRY(file_write_whole(path, text.data, text.length));
done:
    text_free(&text);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: write_vtu DIRECTORY\n");
        return 2;
    }
    facet_status status = write_grids(argv[1]);
    if (status == FACET_OK) status = write_json(argv[1]);
    if (status != FACET_OK) fprintf(stderr, "write_vtu: %s\n", base_message());
    return status;
}
