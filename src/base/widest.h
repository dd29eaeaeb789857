/* Hot loops outside kernels/: a function that is marked WIDEST is compiled for several instruction sets, all
 * that it calls in its file included, and the program takes the best one that the processor has when it
 * starts (kernels/choose.c does the same for the kernels). Not with sanitizers, whose memory is not there yet
 * when that is decided, and not where the whole library is compiled for one processor. */
#ifndef FACET_BASE_WIDEST_H
#define FACET_BASE_WIDEST_H

#ifdef FACET_WIDEST
#    define WIDEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), flatten))
#else
#    define WIDEST
#endif

#endif
