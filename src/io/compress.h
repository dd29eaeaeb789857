/* The compressor of VTU files: zlib. A build without zlib stores the bytes as they are. */
#ifndef FACET_IO_COMPRESS_H
#define FACET_IO_COMPRESS_H

#include "base/status.h"

/* zlib's version; NULL means that there is no compressor. */
const char *compress_version(void);
/* How many bytes n bytes may become. */
size_t compress_bound(size_t n);
/* Compresses n bytes. *packed_bytes is the room in `packed` before, and what was written there after. Level 0
 * only stores. */
facet_status compress_bytes(int level, size_t n, const unsigned char *bytes, size_t *packed_bytes,
                            unsigned char *packed);

#endif
