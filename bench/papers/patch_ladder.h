/* Gives the device cuda the kernels PATCH_KERNEL_BASIC and PATCH_KERNEL_LINEAR of patches (kernels/brick.h). */
#ifndef FACET_BENCH_PAPERS_PATCH_LADDER_H
#define FACET_BENCH_PAPERS_PATCH_LADDER_H

#ifdef __CUDACC__
extern "C" void papers_add_ladder(void);
#elif defined FACET_HAVE_CUDA
void papers_add_ladder(void);
#else
static inline void papers_add_ladder(void) {}
#endif

#endif
