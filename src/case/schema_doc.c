/* The reference of the case file, written from the schema table: for the terminal, and as the page
 * docs/input.md. The cases inside the page are read by a test. */
#include <stdio.h>
#include <string.h>

#include "case/schema.h"
#include "expr/expr.h"

static const char introduction[] =
    "# The case file\n"
    "\n"
    "A case is one YAML file: the mesh, the equation with its data, the method, and what is wanted from the\n"
    "solution. `facet solve case.yaml` computes it, `facet check case.yaml` only looks for mistakes.\n"
    "\n"
    "The shortest case solves a Poisson problem on the unit square and knows the answer, so that the\n"
    "program reports errors:\n"
    "\n"
    "```yaml\n"
    "mesh: {box: {lower: [0, 0], upper: [1, 1], cells: [8, 8]}}\n"
    "equation: diffusion\n"
    "exact: sin(pi*x)*sin(pi*y)\n"
    "```\n"
    "\n"
    "The vocabulary is closed: a key that is not in the tables below is an error, which names the nearest\n"
    "known key. All errors of a file are reported at once, one per line, as `FILE:LINE:COLUMN: message`.\n"
    "\n";

static const char example[] =
    "## A complete case\n"
    "\n"
    "```yaml\n"
    "title: Heat through a wall with a hot spot     # any text\n"
    "parameters: {T0: 20, width: 0.1}               # names for the expressions below\n"
    "\n"
    "mesh:\n"
    "  box:                                         # or  file: wall.msh\n"
    "    lower: [0, 0]\n"
    "    upper: [2, 1]\n"
    "    cells: [16, 8]\n"
    "    shape: triangle\n"
    "    split: alternating\n"
    "  refine: 1                                    # every cell into four\n"
    "\n"
    "equation: diffusion                            # reaction u - div(conductivity grad u) = source\n"
    "conductivity: [[1 + x, 0.1], [0.1, 2]]         # a symmetric matrix; or  1 + x\n"
    "reaction: 0.5\n"
    "source: 100*exp(-((x - 1)^2 + (y - 0.5)^2)/width^2)\n"
    "\n"
    "boundary:\n"
    "  - {on: xmin, dirichlet: T0}                  # u = T0\n"
    "  - {on: xmax, robin: {a: 4, g: 4*T0}}         # K grad u . n + 4 u = 4 T0\n"
    "  - {on: ymin, dirichlet: \"max(T0, 10*x)\"}     # a comma inside { } or [ ] needs quotes\n"
    "  - {on: rest, neumann: 0}                     # all other parts: insulated\n"
    "\n"
    "discretization: {method: hdg, degree: 4, tau: 1, postprocess: true}\n"
    "solver: {method: cg, preconditioner: block, rtol: 1e-10, max_iterations: 2000}\n"
    "output: {file: wall.vtu, fields: [u, u_star, q, cell]}\n"
    "\n"
    "values:\n"
    "  - {name: centre, field: u_star, at: [1, 0.5]}\n"
    "  - {name: hottest, field: u, take: max}\n"
    "  - {name: loss, field: flux, take: integral, on: xmax}\n"
    "  - {name: upward, field: q, component: y, along: [[1, 0], [1, 1]], points: 51, file: upward.csv}\n"
    "```\n"
    "\n";

static const char elastic_example[] =
    "## A case of elasticity\n"
    "\n"
    "Displacement, source and boundary data are lists, one expression for each coordinate. On every part\n"
    "a component is held (`displacement`, `fixed`, `roller`, `symmetry`) or free; what is free may be "
    "loaded\n"
    "(`traction`, `pressure`, `force`, which add up) and bear on springs, and has no traction otherwise. "
    "Every\n"
    "part needs an entry all the same. Supports and springs together must hold the body: a motion that is\n"
    "still possible is an error which names it. A body that nothing holds at all is solved up to its rigid\n"
    "motions where its loads balance (`formulation: symmetric`).\n"
    "\n"
    "```yaml\n"
    "title: A bracket under a load\n"
    "mesh: {box: {lower: [0, 0], upper: [4, 1], cells: [16, 4], shape: quad}}\n"
    "equation: elasticity                           # -div sigma = source\n"
    "material: {E: 210e9, nu: 0.3}                  # or {mu: ..., lambda: ...}; or [{on: steel, E: ..., nu: "
    "...}, ...]\n"
    "plane: stress                                  # 2D: strain (default), stress or axisymmetric\n"
    "source: [0, -77e3]                             # force per volume\n"
    "boundary:\n"
    "  - {on: xmin, fixed: true}                    # or displacement: [0, 0]\n"
    "  - {on: ymin, roller: y}                      # or displacement: [null, 0]\n"
    "  - {on: xmax, traction: [0, -1e6]}            # sigma n; or force: [0, -1e6], a total\n"
    "  - {on: rest, pressure: 1e5}                  # sigma n = -p n\n"
    "discretization: {degree: 3, formulation: symmetric}\n"
    "output: {file: bracket.vtu, fields: [u, von_mises, stress]}\n"
    "values:\n"
    "  - {name: tip, field: u, component: y, at: [4, 1]}\n"
    "  - {name: largest, field: u, take: max}       # of the magnitude\n"
    "  - {name: bending, field: stress, component: xx, at: [0, 1]}\n"
    "  - {name: reaction, field: traction, take: integral, on: xmin}  # the force of the support\n"
    "```\n"
    "\n"
    "A torque T about the z axis on a flat side is a traction that grows with the distance from the axis:\n"
    "`traction: [-c*y, c*x, 0]` with `parameters: {c: T/J}` and J the integral of x^2 + y^2 over that side\n"
    "(R^4 pi/2 of a disk of radius R; about another axis, x - x0 and y - y0), in Python\n"
    "`x, weights, *_ = mesh.quadrature(4, on=\"end\"); J = weights @ (x[:, 0]**2 + x[:, 1]**2)`.\n"
    "\n"
    "The moment of a reaction is no value. Where all loads are known it is minus theirs, since what "
    "supports\n"
    "take balances them; where several supports share it, it is an integral of one's own, in Python:\n"
    "\n"
    "```python\n"
    "x, weights, normals, _ = mesh.quadrature(8, on=\"xmin\")\n"
    "t = np.einsum(\"iab,ib->ia\", solution(x, \"stress\"), normals)\n"
    "moment = weights @ (x[:, 0]*t[:, 1] - x[:, 1]*t[:, 0])  # about the origin, as exact as the stress is\n"
    "```\n"
    "\n";

static const char chain_example[] =
    "## A chain of cases\n"
    "\n"
    "One file may hold several cases under `cases`, which are solved one after the other on one mesh; the\n"
    "field of one is the temperature of another. `mesh`, `parameters` and `title` stand beside `cases`, all\n"
    "else inside. The JSON is `{\"cases\": [...]}`, an object for each; settings reach into a case by its\n"
    "number: `--set cases.0.source=50`. The first case that fails ends the chain with its status.\n"
    "\n"
    "```yaml\n"
    "title: Stress in a plate that is warm inside\n"
    "parameters: {alpha: 12e-6}\n"
    "mesh: {box: {lower: [0, 0], upper: [1, 0.5], cells: [8, 4], shape: quad}}\n"
    "cases:\n"
    "  - name: heat\n"
    "    equation: diffusion\n"
    "    conductivity: 45\n"
    "    source: 3e4\n"
    "    boundary: [{on: rest, dirichlet: 20}]\n"
    "  - name: stress\n"
    "    equation: elasticity\n"
    "    material: {E: 210e9, nu: 0.3}\n"
    "    thermal: {expansion: alpha, reference: 20, temperature: {case: heat, field: u}}\n"
    "    boundary:\n"
    "      - {on: [xmin, ymin], symmetry: true}\n"
    "      - {on: rest, traction: [0, 0]}\n"
    "    values: [{name: corner, field: u, at: [1, 0.5]}]\n"
    "```\n"
    "\n";

static const char rules[] =
    "## How values are written\n"
    "\n"
    "- Numbers in any usual notation: `1`, `.5`, `1e-10`, `1.0e-10`. They must be finite and stand without\n"
    "  quotes.\n"
    "- `true` and `false`; not `yes`, `no`, `on`, `off`.\n"
    "- Quote a text that contains `: ` or ` #`, that begins with one of `! & * [ { \" '`, or that contains\n"
    "  a comma and stands inside `{ }` or `[ ]`: `{on: xmin, dirichlet: \"max(x, y)\"}`.\n"
    "- One document per file, in UTF-8, indented with spaces. Anchors, aliases and tags are not supported.\n"
    "- The name of the mesh file is relative to the directory of the case file; names of files to be\n"
    "  written are relative to the current directory.\n"
    "- `--set key=value` on the command line overrides a value before anything is checked: parts of the key\n"
    "  are joined by dots, items of lists are numbers from 0, the value is YAML:\n"
    "  `--set discretization.degree=4`, `--set boundary.0.dirichlet=x`, `--set 'mesh.box.cells=[8, 8]'`.\n"
    "  Keys that are missing are added, but no parameter that neither the file nor an expression has.\n"
    "- Units are the user's: lengths, forces and the rest need only belong together (m, N, Pa; or mm, N,\n"
    "  MPa).\n"
    "\n"
    "What `mesh.refine` and the degree do not show is the error of the geometry: a mesh of order g is a "
    "body\n"
    "of its own, whose curved cells are split as they are. Whether a curved boundary is resolved shows a "
    "mesh\n"
    "that is made anew, with a higher order (`gmsh -order 3`) or smaller cells.\n"
    "\n";

static const char expressions[] =
    "An expression is a formula in the coordinates `x`, `y` (and `z`), the names under `parameters`, the\n"
    "time `t` (0 in a case), and the constants `pi` and `e`; data of boundary conditions also know the\n"
    "outward normal `nx`, `ny` (and `nz`). A parameter called `t` or `nx` hides these. Derivatives, where\n"
    "the program needs them, are exact.\n";

static const char *const syntax[][2] = {
    {"arithmetic", "`+ - * / ^`, parentheses; `-2^2` is -4 and `2^3^2` is 2^9"},
    {"comparisons", "`< <= > >= == !=`, with the value 1 or 0"},
    {"logic", "`and`, `or`, `not` (also `&&`, `||`, `!`)"},
    {"conditions", "`if(c, a, b)` or `c ? a : b` (the latter in quotes, because of the `: `)"},
};

static const char *const remarks[] = {
    "The source of an `exact` solution comes from its second derivatives, taken cell by cell: it must be\n"
    "smooth inside every cell. A kink (`abs`, `min`, `max`, `if`) is seen only along the borders of cells,\n"
    "where the mesh has to follow it; inside a cell the jump of the flux would be missing from the source,\n"
    "and the solution would be another one.\n",
    "A table of data has no place in a case file. In Python a function is data as well:\n"
    "`conductivity=lambda x: np.interp(x[:, 0], positions, values)` ([python.md](python.md)).\n",
    "A value that is not finite where it is needed (a division by zero, the logarithm of a negative number)\n"
    "is an error that names the operation and the point.\n",
};

static const char results[] =
    "## The results as JSON\n"
    "\n"
    "`facet solve CASE --json FILE` (or `-`) writes one object; a key that does not apply is left out. Exit\n"
    "status 1 says that the solve did not converge or is not to be trusted as a whole, and has no `values`, "
    "or\n"
    "that one of them is not to be trusted, which the message and `notes` name.\n"
    "\n"
    "| key | what it holds |\n"
    "|---|---|\n"
    "| `facet`, `commit` | version of the program, and the commit it was built from |\n"
    "| `case`, `device`, `threads` | name of the case file, device and threads of the run |\n"
    "| `dimension`, `method`, `equation`, `degree` | what was solved |\n"
    "| `mesh` | `cells`, `faces`, `shape`; of a mixed mesh `triangle+quad` |\n"
    "| `unknowns` | `trace`, without those that are eliminated, and `volume` |\n"
    "| `solver` | `method`, `preconditioner`, `iterations`, `converged`, `reason`, `residual` (the true one, "
    "relative "
    "to the right-hand side), `rate`, `error` (an estimate of what the solve and rounding leave, relative to "
    "the unknowns) |\n"
    "| `errors` | by field `L2`, of u also `Linf`, when the case gives `exact` |\n"
    "| `values` | by name a number, or an array |\n"
    "| `potentials` | by part the number that u is where `total_flux` is given |\n"
    "| `bars` | by name of a value, or part of a potential, that may be off by more than 2e-8 of its size: "
    "`error`, what the algebraic error of u may change in it; `kind`, `why` (a part whose name a value has: "
    "`potential of` the part) |\n"
    "| `seconds` | by phase, and `total` |\n"
    "| `memory_bytes` | the peak of the process |\n"
    "| `memory` | by phase the peak until its end |\n"
    "| `title`, `parameters` | those of the case, `parameters` after all overrides |\n"
    "| `overrides` | by key the value that `--set` gave: a number, or the text as it was written |\n"
    "| `balance` | the larger of two numbers: the largest imbalance of a cell, relative to the largest flux "
    "or force, and what goes into the whole body against what goes out, by the fluxes of the cells, relative "
    "to what passes through (the report says which of the two it is; of `condensed` and `continuous`, whose "
    "cells do "
    "not balance one by one, always the second) |\n"
    "| `notes` | sentences: what was chosen instead of what was asked for, boundary data that contradict "
    "`exact` |\n"
    "| `files` | the files that were written, `.vtu` first, without the JSON itself |\n"
    "\n"
    "A chain of cases writes `{\"cases\": [...]}`: such an object for each, with its `name`.\n"
    "\n"
    "`facet converge CASE --json FILE` writes `{\"rows\": [...]}`: such an object for each run, with `rates` "
    "beside\n"
    "`errors`, and without `files`, since none are written.\n";

#define N_SYNTAX  (sizeof syntax / sizeof syntax[0])
#define N_REMARKS (sizeof remarks / sizeof remarks[0])

/* True when the row lies below the top-level key `top`: "mesh.refine" or "boundary[].on". */
static int is_below(const struct schema_entry *e, const char *top) {
    size_t n = strlen(top);
    return !strncmp(e->path, top, n) && (e->path[n] == '.' || e->path[n] == '[');
}

static int has_section(const char *top) {
    for (int i = 0; i < schema_n_entries(); i++)
        if (is_below(schema_row(i), top)) return 1;
    return 0;
}

static void describe_row(const struct schema_entry *e, const char *key, struct text *out) {
    char phrase[320];
    schema_phrase(e, e->types, phrase, sizeof phrase);
    if (!strchr(e->path, '.') && has_section(e->path))
        text_printf(out, "| [`%s`](#%s) | ", key, e->path);
    else
        text_printf(out, "| `%s` | ", key);
    text_printf(out, "%s | ", phrase);
    if (e->fallback)
        text_printf(out, "`%s`", e->fallback);
    else
        text_printf(out, "%s", e->flags & SCHEMA_REQUIRED ? "required" : "");
    text_printf(out, " | %s |\n", e->help);
}

/* A help text on lines of a document. */
static void put_paragraph(const char *help, struct text *out) {
    const int width = 119;
    int column = 0;
    for (size_t n; *help; help += n + (help[n] == ' ')) {
        n = strcspn(help, " ");
        if (column > 0 && column + 1 + (int)n > width) text_printf(out, "\n"), column = 0;
        text_printf(out, "%s%.*s", column > 0 ? " " : "", (int)n, help);
        column += (column > 0) + (int)n;
    }
    text_printf(out, "\n");
}

/* The heading of the page for the keys below `top`. */
static void describe_section(const struct schema_entry *top, struct text *out) {
    text_printf(out, "### %s\n\n", top->path);
    put_paragraph(top->help, out);
    text_printf(out, "%s\n",
                top->types == SCHEMA_LIST ? "Every item of the list is a map with these keys:\n" : "");
    text_printf(out, "| key | value | default | meaning |\n|---|---|---|---|\n");
    for (int i = 0; i < schema_n_entries(); i++) {
        const struct schema_entry *e = schema_row(i);
        if (!is_below(e, top->path)) continue;
        const char *key = e->path + strlen(top->path);
        describe_row(e, *key == '[' ? key + 3 : key + 1, out);
    }
    text_printf(out, "\n");
}

/* What the library of expressions knows, by the number of arguments: "of two arguments `atan2 ...`". */
static void describe_functions(struct text *out) {
    static const struct {
        int least, most;
        const char *text;
    } kinds[] = {{1, 1, "of one argument"}, {2, 2, "of two"}, {3, 3, "of three"}, {2, -1, "of two or more"}};
    const char *name;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        int n = 0, least, most;
        for (int i = 0; (name = expr_function(i, &least, &most)) != NULL; i++) {
            if (least != kinds[k].least || most != kinds[k].most) continue;
            if (n++ == 0) text_printf(out, "%s%s `", k > 0 ? "; " : "", kinds[k].text);
            text_printf(out, "%s%s", n > 1 ? " " : "", name);
        }
        if (n > 0) text_printf(out, "`");
    }
}

static void describe_expressions(struct text *out) {
    text_printf(out, "## Expressions\n\n%s\n| | |\n|---|---|\n", expressions);
    for (size_t i = 0; i < N_SYNTAX; i++) {
        text_printf(out, "| %s | ", syntax[i][0]);
        for (const char *c = syntax[i][1]; *c; c++) text_printf(out, *c == '|' ? "\\|" : "%c", *c);
        text_printf(out, " |\n");
    }
    text_printf(out, "| functions | ");
    describe_functions(out);
    text_printf(out, " |\n");
    for (size_t i = 0; i < N_REMARKS; i++) text_printf(out, "\n%s", remarks[i]);
}

static void describe_markdown(struct text *out) {
    text_printf(out, "%s%s%s%s%s", introduction, example, elastic_example, chain_example, rules);
    text_printf(out, "## All keys\n\n| key | value | default | meaning |\n|---|---|---|---|\n");
    for (int i = 0; i < schema_n_entries(); i++)
        if (schema_is_child(schema_row(i), "")) describe_row(schema_row(i), schema_row(i)->path, out);
    text_printf(out, "\n");
    for (int i = 0; i < schema_n_entries(); i++) {
        const struct schema_entry *e = schema_row(i);
        if (schema_is_child(e, "") && has_section(e->path)) describe_section(e, out);
    }
    describe_expressions(out);
    text_printf(out, "\n%s", results);
}

/* A help text on lines of a terminal, indented, without the marks of the page. */
static void wrap(const char *help, int indent, struct text *out) {
    const int width = 96;
    int column = 0;
    while (*help) {
        while (*help == ' ' || *help == '\n') help++;
        size_t n = strcspn(help, " \n");
        if (n == 0) break;
        if (column > 0 && column + 1 + (int)n > width) {
            text_printf(out, "\n");
            column = 0;
        }
        if (column == 0)
            column = indent, text_printf(out, "%*s", indent, "");
        else
            column++, text_printf(out, " ");
        for (size_t i = 0; i < n; i++)
            if (help[i] != '`') text_append(out, help + i, 1), column++;
        help += n;
    }
    text_printf(out, "\n");
}

static void print_expressions(struct text *out) {
    struct text functions = {0};
    describe_functions(&functions);
    text_printf(out, "\nExpressions:\n\n");
    wrap(expressions, 4, out);
    for (size_t i = 0; i < N_SYNTAX; i++) {
        text_printf(out, "    %s\n", syntax[i][0]);
        wrap(syntax[i][1], 8, out);
    }
    text_printf(out, "    functions\n");
    if (functions.status == FACET_OK) wrap(functions.data, 8, out);
    for (size_t i = 0; i < N_REMARKS; i++) wrap(remarks[i], 4, out);
    if (functions.status != FACET_OK) out->status = functions.status;
    text_free(&functions);
}

static void describe_text(const struct schema_entry *e, struct text *out) {
    char phrase[320];
    schema_phrase(e, e->types, phrase, sizeof phrase);
    text_printf(out, "    %-26s %s", e->path, phrase);
    if (e->fallback) text_printf(out, " (default %s)", e->fallback);
    if (e->flags & SCHEMA_REQUIRED) text_printf(out, " (required)");
    text_printf(out, "\n");
    wrap(e->help, 8, out);
}

void schema_describe(int markdown, struct text *out) {
    if (markdown) {
        describe_markdown(out);
        return;
    }
    text_printf(out, "The keys of a case file; [] stands for every item of a list:\n\n");
    for (int i = 0; i < schema_n_entries(); i++) {
        const struct schema_entry *e = schema_row(i);
        if (!schema_is_child(e, "")) continue;
        describe_text(e, out);
        for (int k = 0; k < schema_n_entries(); k++)
            if (is_below(schema_row(k), e->path)) describe_text(schema_row(k), out);
    }
    print_expressions(out);
}
