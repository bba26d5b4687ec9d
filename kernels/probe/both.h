// What the host and the device share in this folder.
#pragma once

#if defined(__CUDACC__)
#define FP_PROBE_BOTH __host__ __device__
#else
#define FP_PROBE_BOTH
#endif
