/* Functions of headers that the host and the GPU share. */
#ifndef FACET_KERNELS_EVERYWHERE_H
#define FACET_KERNELS_EVERYWHERE_H

#ifdef __CUDACC__
#    define EVERYWHERE static inline __host__ __device__
#else
#    define EVERYWHERE static inline
#endif

#endif
