/* The compressor of VTU files (see compress.h). */
#include "io/compress.h"

#ifdef FACET_HAVE_ZLIB
#    include <zlib.h>

const char *compress_version(void) {
    return zlibVersion();
}

size_t compress_bound(size_t n) {
    return compressBound((uLong)n);
}

facet_status compress_bytes(int level, size_t n, const unsigned char *bytes, size_t *packed_bytes,
                            unsigned char *packed) {
    uLongf size = (uLongf)*packed_bytes;
    const int result = compress2(packed, &size, bytes, (uLong)n, level);
    if (result != Z_OK) return base_fail(FACET_ERROR_MACHINE, "zlib failed: %s", zError(result));
    *packed_bytes = size;
    return FACET_OK;
}

#else
#    include <string.h>

const char *compress_version(void) {
    return NULL;
}

size_t compress_bound(size_t n) {
    return n;
}

facet_status compress_bytes(int level, size_t n, const unsigned char *bytes, size_t *packed_bytes,
                            unsigned char *packed) {
    (void)level;
    memcpy(packed, bytes, n);
    *packed_bytes = n;
    return FACET_OK;
}
#endif
