/* Plots of bench results, by gnuplot. */
#include "bench/plot.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

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

/* Series as blocks of lines; gnuplot's `index` picks one. */
static void write_data(const struct plot *plot, struct text *out) {
    for (int s = 0; s < plot->n_series; s++) {
        const struct plot_series *series = &plot->series[s];
        text_printf(out, "%s# %s\n", s > 0 ? "\n\n" : "", series->label);
        for (int i = 0; i < series->n; i++) text_printf(out, "%.6g %.6g\n", series->x[i], series->y[i]);
    }
}

static void write_script(const struct plot *plot, struct text *out) {
    text_printf(out, "# gnuplot %s.gp draws %s.png and %s.svg from %s.dat\n", plot->name, plot->name,
                plot->name, plot->name);
    text_printf(out, "set title \"%s\"\nset xlabel \"%s\"\nset ylabel \"%s\"\nset grid\nset key outside\n",
                plot->title, plot->x_label, plot->y_label);
    if (plot->log) text_printf(out, "set logscale xy\n");
    if (plot->log_x) text_printf(out, "set logscale x\n");
    if (plot->log_y) text_printf(out, "set logscale y\nset format y \"%%.0e\"\n");
    if (!plot->log && !plot->log_x && !plot->log_y) text_printf(out, "set yrange [0:*]\n");
    static const char *const terminals[] = {"pngcairo size 1000,600", "svg size 1000,600"};
    static const char *const endings[] = {"png", "svg"};
    for (int t = 0; t < 2; t++) {
        text_printf(out, "set terminal %s\nset output \"%s.%s\"\nplot", terminals[t], plot->name, endings[t]);
        for (int s = 0; s < plot->n_series; s++)
            text_printf(out, "%s \"%s.dat\" index %d with %s lw 2 title \"%s\"", s > 0 ? ", \\\n    " : "",
                        plot->name, s, plot->series[s].style, plot->series[s].label);
        text_printf(out, "\n");
    }
}

static facet_status write_text(const struct bench_options *options, const struct plot *plot,
                               const char *ending, const struct text *text) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s", options->output, plot->name, ending);
    return text->status != FACET_OK ? text->status : file_write_whole(path, text->data, text->length);
}

/* Runs gnuplot in the output folder; its exit status, 127 when there is no gnuplot. */
static int draw(const struct bench_options *options, const struct plot *plot) {
    char script[256];
    int status;
    snprintf(script, sizeof script, "%s.gp", plot->name);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (chdir(options->output) == 0) execlp("gnuplot", "gnuplot", script, (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

facet_status plot_write(const struct bench_options *options, const struct plot *plot) {
    facet_status status = FACET_OK;
    struct text data = {0}, script = {0};
    if (options->output == NULL) return FACET_OK;
    write_data(plot, &data);
    write_script(plot, &script);
    TRY(write_text(options, plot, "dat", &data));
    TRY(write_text(options, plot, "gp", &script));
    int result = draw(options, plot);
    if (result == 0)
        printf("drawn: %s/%s.png, %s/%s.svg\n\n", options->output, plot->name, options->output, plot->name);
    else
        printf("%s: run 'gnuplot %s.gp' in %s for the picture\n\n",
               result == 127 ? "gnuplot is not installed" : "gnuplot failed", plot->name, options->output);
done:
    text_free(&data);
    text_free(&script);
    return status;
}
