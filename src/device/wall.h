/* Private to the room: memory that nobody may touch while the wall is shut. */
#ifndef FACET_DEVICE_WALL_H
#define FACET_DEVICE_WALL_H

#include <stddef.h>

#include "base/status.h"

facet_status wall_alloc(void *pointer, size_t count, size_t size);
void wall_free(void *pointer);
int wall_owns(const void *address);
/* Whether so many bytes from an address on are of one allocation, up to the end of a page. */
int wall_holds(const void *address, size_t bytes);
/* Pairs may nest and come from several threads; the memory is reachable while any pair is open. */
void wall_open(void);
void wall_shut(void);

#endif
