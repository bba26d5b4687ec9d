/* A kernel that is not ours, behind a C ABI: a shared library that says what its kernels compute and runs them.
 * ./flashproof check ./my.so loads it in a process of its own and judges them. Plain C11; C++ and CUDA take it too. How to
 * write one: kernels/plugin/README.md; examples: kernels/examples.
 *
 * A library defines
 *     FLASHPROOF_EXPORT const flashproof_plugin* flashproof_plugin_entry(uint32_t abi);
 *
 * Versions. Every structure but a tensor holds its size as its writer knew it, flashproof_plugin behind its version, the others first.
 * Members are only ever added at the end, and a reader uses those that lie within that size; anything else is another
 * FLASHPROOF_PLUGIN_ABI. `abi` is that of the caller: return a plugin of that version, or null.
 *
 * Ownership. Each side owns what it hands out. What the entry returns, and all that it points to, must stay as it is until the
 * process ends. A call, its tensors, shapes and memory are lent until run() returns; nothing of them is to be freed.
 *
 * Threads. One call at a time in each process. Several processes may have the library loaded at once.
 *
 * Nothing but return codes comes back: no C++ exception, longjmp or exit() may leave a function of the library. */
#ifndef FLASHPROOF_PLUGIN_H
#define FLASHPROOF_PLUGIN_H

#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming, modernize-use-nullptr): names and idioms of C */
#ifdef __cplusplus
extern "C" {
#endif

#define FLASHPROOF_PLUGIN_ABI 1u

#if defined(__GNUC__)
#define FLASHPROOF_EXPORT __attribute__((visibility("default")))
#else
#define FLASHPROOF_EXPORT
#endif

/* A tensor in DLPack's layout (dlpack.h of DLPack 1.x; its own DLTensor where that was included first): element [i, j, ...]
 * lies at data + byte_offset + (i * strides[0] + j * strides[1] + ...) * element size. Strides count elements and are never null;
 * 0 repeats an axis. Inputs are read, never written. The first element is aligned to its own size, or to what `alignment` of the
 * description says, and to no more; of the others the strides decide. */
#ifdef DLPACK_VERSION
#define FLASHPROOF_HAS_DLPACK
#endif
#ifdef DLPACK_MAJOR_VERSION
#define FLASHPROOF_HAS_DLPACK
#endif
#ifdef FLASHPROOF_HAS_DLPACK
typedef DLTensor flashproof_tensor;
#else
typedef struct flashproof_device {
  int32_t device_type; /* FLASHPROOF_CPU or FLASHPROOF_CUDA */
  int32_t device_id;
} flashproof_device;
typedef struct flashproof_dtype {
  uint8_t code;   /* one of FLASHPROOF_INT ... */
  uint8_t bits;   /* of one element */
  uint16_t lanes; /* 1 */
} flashproof_dtype;
typedef struct flashproof_tensor {
  void* data;
  flashproof_device device;
  int32_t ndim;
  flashproof_dtype dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} flashproof_tensor;
#endif

/* The numbers of DLDeviceType and DLDataTypeCode. */
enum { FLASHPROOF_CPU = 1, FLASHPROOF_CUDA = 2 };
enum {
  FLASHPROOF_INT = 0,
  FLASHPROOF_FLOAT = 2, /* bits 32: f32; bits 16: f16 */
  FLASHPROOF_BFLOAT = 4,
  FLASHPROOF_FLOAT8_E4M3FN = 10,
  FLASHPROOF_FLOAT8_E5M2 = 12
};

enum { FLASHPROOF_SOFTMAX = 0, FLASHPROOF_MERGE = 1, FLASHPROOF_ATTENTION = 2, FLASHPROOF_ATTENTION_BACKWARD = 3 };

/* What run() returns. Any other number is a finding. */
enum {
  FLASHPROOF_OK = 0,
  /* Not a problem that this kernel takes: counted, no finding. It must follow from shapes, strides, formats, integers and options, not
   * from the numbers, from where they lie or from earlier calls: the same call is asked again. */
  FLASHPROOF_UNSUPPORTED = 1,
  FLASHPROOF_ERROR = 2 /* it failed: a finding */
};

/* The problems. Optional tensors are null where the problem has none; a kernel sees only those that its description takes. Integers
 * are int32 and dense. The meaning of every edge case: reference/problem/README.md; where a kernel differs rightly, `semantics` of its
 * description says so. */

/* o[r, j] = exp(x[r, j] - lse[r]) for the first row_length[r] columns, 0 behind them; lse[r] = log of the sum of exp(x[r, j]).
 * A row without columns has o = 0 and lse = -inf. */
typedef struct flashproof_softmax {
  uint64_t struct_size;
  const flashproof_tensor* x;          /* (rows, cols) f32, f16 or bf16 */
  const flashproof_tensor* row_length; /* (rows), or null: every column */
} flashproof_softmax;

/* Joins partial results: lse = log of the sum of exp(lse_c), o = sum of exp(lse_c - lse) o_c; concat: those terms side by side,
 * block c at columns [c dv, (c + 1) dv). */
typedef struct flashproof_merge {
  uint64_t struct_size;
  const flashproof_tensor* o;     /* (states, rows, dv) f32, f16 or bf16 */
  const flashproof_tensor* lse;   /* (states, rows) f32; m_c of un-normalised states */
  const flashproof_tensor* l;     /* (states, rows) f32, or null: the states are normalised */
  const flashproof_tensor* order; /* (states): the order in which to fold them; never null */
  const flashproof_tensor* joins; /* (states - 1, 2) nodes, or null: no tree is asked for */
  int32_t concat;                 /* 0 or 1 */
} flashproof_merge;

/* s = cap(scale q_descale k_descale q.k) + bias - alibi |i + Sk - Sq - j|, cap(x) = softcap tanh(x / softcap);
 * lse = log of the sum of exp(s) over the visible keys (and of exp(sink)), o = v_descale sum of exp(s - lse) v.
 * Query i sees key j where causal: j <= i + Sk - Sq; where windowed: i + Sk - Sq - window_left <= j <= i + Sk - Sq +
 * window_right; where j < key_length of its sequence. Query head h reads kv head h / (Hq / Hk). */
typedef struct flashproof_attention {
  uint64_t struct_size;
  const flashproof_tensor* q;          /* (B, Hq, Sq, d); packed (1, Hq, tokens, d) */
  const flashproof_tensor* k;          /* (B, Hk, Sk, d); packed (1, Hk, tokens, d); paged (pages, Hk, page_size, d) */
  const flashproof_tensor* v;          /* as k, with dv */
  const flashproof_tensor* bias;       /* (B, Hq, Sq, Sk) f32, -inf hides a key; or null */
  const flashproof_tensor* alibi;      /* (B, Hq) f32 slopes, or null */
  const flashproof_tensor* sink;       /* (Hq) f32: the score of one more key with v = 0; or null */
  const flashproof_tensor* q_descale;  /* (B, Hk) f32, or null: 1 */
  const flashproof_tensor* k_descale;  /* the same */
  const flashproof_tensor* v_descale;  /* the same */
  const flashproof_tensor* key_length; /* (B), or null: all */
  const flashproof_tensor* q_start; /* (sequences + 1): sequence s has the tokens [q_start[s], q_start[s+1]); or null */
  const flashproof_tensor* k_start; /* the same of k and v */
  const flashproof_tensor* page_table; /* (B, pages per sequence) in axis 0 of k and v, a page once or often; or null */
  float scale;
  float softcap; /* 0: none */
  int32_t causal;
  int32_t window_left, window_right; /* -1: unlimited */
} flashproof_attention;

/* The gradient of the above, as the backward pass alone computes it: o and lse are inputs, as a forward pass has left them.
 *     P = exp(s - lse), D_i = sum of dO_i o_i, dS = P (dO v - D),
 *     dq_i = scale sum of dS_ij k_j, dk_j = scale sum of dS_ij q_i, dv_j = sum of P_ij dO_i,
 * sums over the keys that a query sees, and over the queries, of all heads that read this kv head, that see a key. A query without
 * keys has dq = 0, whatever its o, lse and dO hold. The problem has no sink, softcap, descale, q_start, k_start or page_table. */
typedef struct flashproof_attention_backward {
  uint64_t struct_size;
  const flashproof_attention* forward;
  const flashproof_tensor* d_out; /* (B, Hq, Sq, dv) in the format of q */
  const flashproof_tensor* o;     /* the same */
  const flashproof_tensor* lse;   /* (B, Hq, Sq) f32, natural logarithm */
} flashproof_attention_backward;

struct flashproof_kernel;

/* One run. Exactly one of softmax, merge, attention and attention_backward is set. */
typedef struct flashproof_call {
  uint64_t struct_size;
  const struct flashproof_kernel* kernel; /* as the library declared it; `user` is there */
  const flashproof_softmax* softmax;
  const flashproof_merge* merge;
  const flashproof_attention* attention;
  /* To be written, every element of it; dense, null if the description says that it is not returned. o has the format of x,
   * of a merge's o, of q (bf16 where q has 8 bits): (rows, cols); (rows, dv) or (rows, states dv); (B, Hq, Sq, dv), packed
   * (Hq, tokens, dv) behind an axis of 1. lse is f32: (rows); (rows); (B, Hq, Sq). Before the call they hold a NaN. */
  const flashproof_tensor* o;
  const flashproof_tensor* lse;
  void* workspace;         /* workspace_bytes() bytes, aligned to 256; null if that is 0. Holds anything */
  int64_t workspace_bytes; /* bytes of it */
  void*
      stream; /* CUstream, that is cudaStream_t, for device pointers: enqueue there, no need to wait; null on the CPU */
  char* error; /* room for a message of at most error_size bytes with its 0, shown with UNSUPPORTED and ERROR */
  uint64_t error_size;
  const flashproof_attention_backward* attention_backward;
  /* Of a gradient, in place of o and lse: dense, in the format of q, with the shapes of q, k and v. */
  const flashproof_tensor* dq;
  const flashproof_tensor* dk;
  const flashproof_tensor* dv;
} flashproof_call;

typedef struct flashproof_kernel {
  uint64_t struct_size;
  const char* id;          /* three names of [a-z0-9_] with dots, the first of them the problem's: "softmax.row.mine" */
  int32_t problem;         /* FLASHPROOF_SOFTMAX ... */
  int32_t device_type;     /* where the tensors must lie */
  const char* description; /* JSON: kernels/plugin/README.md */
  int32_t (*run)(const flashproof_call* call);
  /* Bytes of workspace for this call, 0..2^32, else a finding; or null: none. The tensors have shapes, and no data. */
  int64_t (*workspace_bytes)(const flashproof_call* call);
  void* user; /* the library's own */
} flashproof_kernel;

typedef struct flashproof_plugin {
  uint32_t abi_version; /* FLASHPROOF_PLUGIN_ABI */
  uint32_t reserved;    /* 0 */
  uint64_t struct_size;
  const char* name; /* of the library, for reports */
  const char* version;
  uint64_t kernel_count; /* 1..256 */
  const flashproof_kernel* const* kernels;
} flashproof_plugin;

typedef const flashproof_plugin* (*flashproof_plugin_entry_function)(uint32_t abi);
FLASHPROOF_EXPORT const flashproof_plugin* flashproof_plugin_entry(uint32_t abi);

/* The first element of a tensor; null of none. */
static inline void* flashproof_data(const flashproof_tensor* tensor) {
  return tensor ? (void*)((char*)tensor->data + tensor->byte_offset) : (void*)0;
}

/* A library with one kernel and no workspace, in one line at the end of the file. */
#define FLASHPROOF_PLUGIN_OF_ONE(id, problem, device_type, description, run)                   \
  static const flashproof_kernel flashproof_the_kernel = {                                     \
      sizeof(flashproof_kernel), id, problem, device_type, description, run, 0, 0};            \
  static const flashproof_kernel* const flashproof_the_kernels[] = {&flashproof_the_kernel};   \
  static const flashproof_plugin flashproof_the_plugin = {                                     \
      FLASHPROOF_PLUGIN_ABI, 0, sizeof(flashproof_plugin), id, "", 1, flashproof_the_kernels}; \
  const flashproof_plugin* flashproof_plugin_entry(uint32_t abi) {                             \
    return abi == FLASHPROOF_PLUGIN_ABI ? &flashproof_the_plugin : 0;                          \
  }

#ifdef __cplusplus
}
#endif
/* NOLINTEND(readability-identifier-naming, modernize-use-nullptr) */

#endif
