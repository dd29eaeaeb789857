/* Figures of bench results: data files that know their own titles, and pictures of them by gnuplot. */
#include "bench/plot.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

struct plot_series *plot_add(struct plot *plot, const char *label, const char *style) {
    if (plot->n_series == PLOT_MAX_SERIES) return NULL;
    struct plot_series *series = &plot->series[plot->n_series++];
    *series = (struct plot_series){.label = label, .style = style};
    return series;
}

void plot_point(struct plot_series *series, double x, double y) {
    if (series == NULL || series->n == PLOT_MAX_POINTS) return;
    series->x[series->n] = x;
    series->y[series->n++] = y;
}

/* ------------------------------------------------------------------------------------------ writing */

/* What the picture needs to know, then the series, each under its style and its label. */
static void write_data(const struct plot *plot, struct text *out) {
    text_printf(out, "# title: %s\n# x: %s\n# y: %s\n", plot->title, plot->x_label, plot->y_label);
    if (plot->log || plot->log_x || plot->log_y)
        text_printf(out, "# log: %s\n", plot->log ? "xy" : plot->log_x ? "x" : "y");
    for (int s = 0; s < plot->n_series; s++) {
        const struct plot_series *series = &plot->series[s];
        text_printf(out, "%s# %s: %s\n", s > 0 ? "\n\n" : "", series->style, series->label);
        for (int i = 0; i < series->n; i++) text_printf(out, "%.6g %.6g\n", series->x[i], series->y[i]);
    }
}

facet_status plot_write(const struct bench_options *options, const struct plot *plot) {
    char path[4096];
    struct text data = {0};
    if (options->output == NULL) return FACET_OK;
    write_data(plot, &data);
    snprintf(path, sizeof path, "%s/%s.dat", options->output, plot->name);
    facet_status status = data.status;
    if (status == FACET_OK) status = file_write_whole(path, data.data, data.length);
    if (status == FACET_OK) printf("written: %s; 'facet bench --plot %s' draws it\n\n", path, path);
    text_free(&data);
    return status;
}

/* ------------------------------------------------------------------------------------------ drawing */

/* What a data file becomes: settings and blocks of data, and gnuplot's list of what to plot. */
struct script {
    struct text settings, curves;
    int n_series, open; /* open: a block of data has begun */
};

/* A text in gnuplot's single quotes, where nothing has a meaning but the quote. */
static void put_quoted(struct text *out, const char *text) {
    text_printf(out, "'");
    for (const char *c = text; *c; c++) text_printf(out, *c == '\'' ? "''" : "%c", *c);
    text_printf(out, "'");
}

static void put_setting(struct text *out, const char *name, const char *value) {
    text_printf(out, "set %s ", name);
    put_quoted(out, value);
    text_printf(out, "\n");
}

/* The axes: logarithmic, or from zero. */
static int put_log(struct text *out, const char *axes) {
    if (strcmp(axes, "xy") != 0 && strcmp(axes, "x") != 0 && strcmp(axes, "y") != 0) return 0;
    text_printf(out, "set yrange [*:*]\nset logscale %s\n", axes);
    if (strcmp(axes, "y") == 0) text_printf(out, "set format y \"%%.0e\"\n");
    return 1;
}

static void end_series(struct script *script) {
    if (script->open) text_printf(&script->settings, "end_of_series\n");
    script->open = 0;
}

static void begin_series(struct script *script, const char *style, const char *label) {
    end_series(script);
    int s = script->n_series++;
    text_printf(&script->settings, "$series%d << end_of_series\n", s);
    text_printf(&script->curves, "%s $series%d with %s lw 2 title ", s > 0 ? ", \\\n    " : "", s, style);
    put_quoted(&script->curves, label);
    script->open = 1;
}

/* A line "# KEY: VALUE": a setting, or the begin of a series. False for what is neither. */
static int read_key(struct script *script, char *line) {
    static const char *const settings[][2] = {{"title", "title"}, {"x", "xlabel"}, {"y", "ylabel"}};
    static const char *const styles[] = {"lines", "points", "linespoints", "lines dt 2"};
    char *key = line + 1 + strspn(line + 1, " "), *colon = strstr(key, ": ");
    if (colon == NULL) return 0;
    *colon = '\0';
    const char *value = colon + 2;
    for (int i = 0; i < 4; i++)
        if (strcmp(key, styles[i]) == 0) {
            begin_series(script, styles[i], value);
            return 1;
        }
    if (script->n_series > 0) return 0;
    for (int i = 0; i < 3; i++)
        if (strcmp(key, settings[i][0]) == 0) {
            put_setting(&script->settings, settings[i][1], value);
            return 1;
        }
    return strcmp(key, "log") == 0 && put_log(&script->settings, value);
}

static int read_line(struct script *script, char *line) {
    double x, y;
    char more;
    if (line[0] == '#') return read_key(script, line);
    if (line[strspn(line, " \t\r")] == '\0') return 1;
    if (!script->open || sscanf(line, "%lf %lf %c", &x, &y, &more) != 2) return 0;
    text_printf(&script->settings, "%.17g %.17g\n", x, y);
    return 1;
}

static facet_status read_data(const char *path, struct script *script) {
    facet_status status = FACET_OK;
    char *bytes = NULL, *line, *next;
    size_t n;
    int number = 0;
    text_printf(&script->settings, "set grid\nset key outside\nset yrange [0:*]\n");
    TRY(file_read_whole(path, &bytes, &n));
    for (line = bytes; line < bytes + n; line = next) {
        next = line + strcspn(line, "\n");
        *next++ = '\0';
        number++;
        if (!read_line(script, line))
            FAIL(FACET_ERROR_INPUT, "%s, line %d: neither two numbers nor a heading of 'facet bench'", path,
                 number);
    }
    end_series(script);
    if (script->n_series == 0) FAIL(FACET_ERROR_INPUT, "%s: no series of points", path);
done:
    base_free(&bytes);
    return status;
}

/* Runs gnuplot on a script, of which it reads its standard input. */
static facet_status run_gnuplot(const char *path, const struct text *script) {
    facet_status status = FACET_OK;
    int result = -1;
    if (script->status != FACET_OK) return script->status;
    FILE *file = tmpfile();
    if (file == NULL || fwrite(script->data, 1, script->length, file) != script->length || fflush(file) != 0)
        FAIL(FACET_ERROR_MACHINE, "cannot write the script for gnuplot: %s", strerror(errno));
    rewind(file);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (dup2(fileno(file), STDIN_FILENO) >= 0) execlp("gnuplot", "gnuplot", "-", (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &result, 0) != child || !WIFEXITED(result))
        FAIL(FACET_ERROR_MACHINE, "gnuplot could not be run on '%s'", path);
    if (WEXITSTATUS(result) == 127)
        FAIL(FACET_ERROR_MACHINE,
             "pictures are drawn by gnuplot, which is not installed (Debian: gnuplot-nox)");
    if (WEXITSTATUS(result) != 0)
        FAIL(FACET_ERROR_MACHINE, "gnuplot failed on '%s' (status %d)", path, WEXITSTATUS(result));
done:
    if (file != NULL) fclose(file);
    return status;
}

/* PATH.dat becomes PATH.png and PATH.svg, in another folder if one is given. */
static facet_status draw_file(const char *path, const char *folder) {
    static const char *const terminals[][2] = {{"pngcairo", "png"}, {"svg", "svg"}};
    facet_status status = FACET_OK;
    struct script script = {0};
    char stem[4096], picture[4096 + 8];
    const char *slash = strrchr(path, '/'), *name = slash && folder ? slash + 1 : path;
    snprintf(stem, sizeof stem, "%s%s%.*s", folder ? folder : "", folder ? "/" : "", (int)strlen(name) - 4,
             name);
    TRY(read_data(path, &script));
    for (int t = 0; t < 2; t++) {
        snprintf(picture, sizeof picture, "%s.%s", stem, terminals[t][1]);
        text_printf(&script.settings, "set terminal %s size 1000,600\n", terminals[t][0]);
        put_setting(&script.settings, "output", picture);
        text_printf(&script.settings, "plot%s\n", script.curves.data ? script.curves.data : "");
    }
    if (script.curves.status != FACET_OK) FAIL(script.curves.status, "%s: out of memory", path);
    TRY(run_gnuplot(path, &script.settings));
    printf("drawn: %s.png, %s.svg\n", stem, stem);
done:
    text_free(&script.settings);
    text_free(&script.curves);
    return status;
}

static int is_data(const char *name) {
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".dat") == 0;
}

static int is_data_entry(const struct dirent *entry) {
    return is_data(entry->d_name);
}

static facet_status draw_folder(const char *path, const char *folder) {
    facet_status status = FACET_OK;
    char file[4096];
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_data_entry, alphasort);
    if (n < 0) FAIL(FACET_ERROR_MACHINE, "cannot read the directory '%s': %s", path, strerror(errno));
    if (n == 0) FAIL(FACET_ERROR_INPUT, "no .dat file in '%s'", path);
    for (int i = 0; i < n; i++) {
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        TRY(draw_file(file, folder));
    }
done:
    for (int i = 0; i < n; i++) free(entries[i]);
    free(entries);
    return status;
}

facet_status plot_draw(const char *path, const char *folder) {
    struct stat info;
    if (stat(path, &info) != 0)
        return base_fail(FACET_ERROR_INPUT, "cannot read '%s': %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) return draw_folder(path, folder);
    if (is_data(path)) return draw_file(path, folder);
    return base_fail(FACET_ERROR_INPUT, "'%s' is neither a directory nor a .dat file", path);
}
