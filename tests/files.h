/* What lies in a directory, for tests that want nothing left there. */
#ifndef FACET_TESTS_FILES_H
#define FACET_TESTS_FILES_H

#include <dirent.h>
#include <string.h>

/* The number of entries whose names end so, "." and ".." not counted; -1: there is no such directory. */
static inline int count_files(const char *directory, const char *end) {
    DIR *list = opendir(directory);
    int n = list != NULL ? 0 : -1;
    for (struct dirent *e; list != NULL && (e = readdir(list)) != NULL;) {
        const size_t bytes = strlen(e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || bytes < strlen(end)) continue;
        n += strcmp(e->d_name + bytes - strlen(end), end) == 0;
    }
    if (list != NULL) closedir(list);
    return n;
}

#endif
