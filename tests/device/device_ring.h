/* A ring of cells: cell c has the faces c and c+1 of the ring, and its own for the rest, of odd sizes with m
 * or m / 2 unknowns; even and odd batches are the two colours, whatever the lanes. Some faces are left out.
 */
struct cell_ring {
    int64_t n, n_cells, n_unknowns; /* n: unknowns of a cell */
    int starts[8];
    int64_t colour_starts[3];
    struct cell_plan plan; /* without matrices; the ring must not move */
};

static void put_cell_ring_of(struct arena *a, int64_t size, int n_faces, int m, int uneven,
                             struct cell_ring *r) {
    const int L = device_lanes(a->device);
    *r = (struct cell_ring){.n_cells = 192 * (1 + size % 7)};
    int64_t n_cells = r->n_cells, n_batches = n_cells / L;
    assert_int_equal(n_cells % (2 * L), 0);
    for (int f = 0; f < n_faces; f++)
        r->starts[f + 1] = r->starts[f] + (uneven && f > 1 && f % 2 ? m / 2 : m);
    r->n = r->starts[n_faces];
    r->n_unknowns = n_cells * n_faces * m;
    r->colour_starts[1] = n_batches / 2;
    r->colour_starts[2] = n_batches;
    int64_t *maps = test_malloc((size_t)(n_cells * n_faces) * sizeof *maps),
            *batches = test_malloc((size_t)n_batches * sizeof *batches);
    for (int64_t b = 0; b < n_batches; b++)
        batches[b] = b < n_batches / 2 ? 2 * b : 2 * (b - n_batches / 2) + 1;
    for (int64_t c = 0; c < n_cells; c++)
        for (int f = 0; f < n_faces; f++) {
            int64_t face = f < 2 ? (c + f) % n_cells : n_cells + c * (n_faces - 2) + f - 2;
            maps[(c / L * n_faces + f) * L + c % L] = (c + 3 * f) % 11 == 0 ? -1 : face * m;
        }
    r->plan = (struct cell_plan){.lanes = L,
                                 .n_faces = n_faces,
                                 .m = m,
                                 .starts = uneven ? r->starts : NULL,
                                 .n_batches = n_batches,
                                 .n_colours = 2,
                                 .run = device_cell_tuning(a->device)->colours ? 4 : 1,
                                 .colour_starts = r->colour_starts,
                                 .colour_batches = put(a, batches, n_batches, sizeof *batches),
                                 .maps = put(a, maps, n_cells * n_faces, sizeof *maps),
                                 .threads = base_threads()};
    ok(device_alloc(a->device, &r->plan.room, (size_t)r->plan.threads,
                    (size_t)cell_plan_room_bytes(&r->plan)));
    a->pointers[a->n++] = r->plan.room;
    test_free(maps);
    test_free(batches);
}

static void put_cell_ring(struct arena *a, int64_t size, struct cell_ring *r) {
    put_cell_ring_of(a, size, 3 + (int)(size % 4), 1 + (int)(size % 9), (int)(size % 2), r);
}
