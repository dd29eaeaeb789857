/* facet view: hands its arguments to the viewer, a Python script that lies beside the program. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "app/app.h"
#include "base/memory.h"

/* Where the script lies, seen from the directory of the program: installed, and in a build directory. */
static const char *const places[] = {"/../share/facet/view.py", "/tools/view.py", NULL};

static facet_status find_script(char *path, size_t bytes) {
    char program[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0)
        return base_fail(FACET_ERROR_MACHINE, "cannot find where the program lies: %s", strerror(errno));
    program[n] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    for (int i = 0; places[i]; i++) {
        int length = snprintf(path, bytes, "%s%s", program, places[i]);
        if (length > 0 && (size_t)length < bytes && access(path, R_OK) == 0) return FACET_OK;
    }
    return base_fail(
        FACET_ERROR_MACHINE,
        "the viewer (view.py) does not lie beside the program, in share/facet or tools; open the file "
        "with ParaView");
}

facet_status view_command(int argc, char **argv) {
    facet_status status = FACET_OK;
    char script[PATH_MAX + 64], python[] = "python3";
    char **arguments = NULL;
    if (argc == 0) FAIL(FACET_ERROR_INPUT, "'facet view' needs FILE; see 'facet view --help'");
    TRY(find_script(script, sizeof script));
    TRY(CALLOC(arguments, argc + 3));
    arguments[0] = python;
    arguments[1] = script;
    for (int i = 0; i < argc; i++) arguments[2 + i] = argv[i];
    execvp(python, arguments);
    FAIL(FACET_ERROR_MACHINE,
         "python3 could not be started: %s; 'facet view' needs Python with NumPy (Debian: python3-numpy), or "
         "open the file with ParaView",
         strerror(errno));
done:
    base_free(&arguments);
    return status;
}
