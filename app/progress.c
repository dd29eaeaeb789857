/* What is seen while the program works: a bar that is wiped away when the work is done, and the lines of
 * --monitor. The library may report from any thread, one at a time. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "app/app.h"

#define BAR_COLUMNS    24
#define REDRAW_SECONDS 0.05

void progress_clear(struct progress *p) {
    if (p->drawn > 0) fprintf(stderr, "\r%*s\r", p->drawn, "");
    p->drawn = 0;
    p->phase = NULL;
    p->n_open = 0;
}

static void draw(struct progress *p, const char *phase, double fraction, const char *note) {
    char bar[BAR_COLUMNS + 1];
    double now = base_seconds();
    if (phase == p->phase && now - p->last_seconds < REDRAW_SECONDS) return;
    p->phase = phase;
    int full = (int)(BAR_COLUMNS * fmin(fmax(fraction, 0.0), 1.0));
    for (int i = 0; i < BAR_COLUMNS; i++) bar[i] = i < full ? '#' : '.';
    bar[BAR_COLUMNS] = '\0';
    int n = fprintf(stderr, "\r%s%-11s [%s] %s", p->prefix, phase, bar, note) - 1;
    if (n < p->drawn) fprintf(stderr, "%*s", p->drawn - n, "");
    p->drawn = n > p->drawn ? n : p->drawn;
    p->last_seconds = now;
    fflush(stderr);
}

static void on_event(void *user, const facet_event *event) {
    struct progress *p = user;
    char note[64];
    const char *phase = facet_phase_name(event->phase);
    if (event->kind == FACET_EVENT_ITERATION && p->lines)
        fprintf(p->lines, "  iteration %6d   residual %.6e\n", event->iteration, event->residual);
    if (!p->bar) return;
    if (event->kind == FACET_EVENT_BEGIN) {
        if (p->n_open < FACET_N_PHASES) p->open[p->n_open++] = phase;
        draw(p, phase, 0.0, "");
    } else if (event->kind == FACET_EVENT_END) {
        if (p->n_open > 0) p->n_open--;
        if (p->n_open > 0) draw(p, p->open[p->n_open - 1], 0.0, "");
    } else if (event->kind == FACET_EVENT_PROGRESS) {
        snprintf(note, sizeof note, "%.0f of %.0f cells", event->done, event->total);
        draw(p, phase, event->total > 0.0 ? event->done / event->total : 0.0, note);
    } else if (event->kind == FACET_EVENT_ITERATION) {
        /* The way to the tolerance, in digits. */
        double fraction = event->residual > 0.0 ? log(event->residual) / log(p->rtol) : 1.0;
        snprintf(note, sizeof note, "iteration %d, residual %.1e", event->iteration, event->residual);
        draw(p, phase, fraction, note);
    }
}

void progress_begin(struct progress *p, const struct app_options *options, const struct case_file *file,
                    facet_context *context) {
    *p = (struct progress){.prefix = "", .rtol = file->options.rtol};
    p->lines = options->monitor ? report_stream(options) : NULL;
    p->bar = team_rank(options->team) == 0 && !options->quiet && !p->lines && isatty(STDERR_FILENO);
    facet_context_set_monitor(context, on_event, p);
}
