/* Gives every file of the directories named on the command line to a fuzz target once: the kept corpus as a
 * test that needs no fuzzer. */
#include "fuzz.h"

#include <dirent.h>

#include "base/file.h"

static int replay(const char *directory) {
    DIR *entries = opendir(directory);
    struct dirent *entry;
    int n = 0;
    fuzz_check(entries != NULL, directory);
    while ((entry = readdir(entries)) != NULL) {
        char path[4096], *bytes;
        size_t size;
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        fuzz_check(file_read_whole(path, &bytes, &size) == FACET_OK, path);
        uint8_t *copy = (uint8_t *)fuzz_text((const uint8_t *)bytes, size);
        base_free(&bytes); /* targets count what is allocated */
        LLVMFuzzerTestOneInput(copy, size);
        free(copy);
        n++;
    }
    closedir(entries);
    return n;
}

int main(int argc, char **argv) {
    int n = 0;
    for (int i = 1; i < argc; i++) n += replay(argv[i]);
    printf("%d inputs\n", n);
    return n > 0 ? 0 : 1;
}
