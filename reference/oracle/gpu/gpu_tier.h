// The fp64 tier on a GPU, for problems of production size: the same certificate, value and radius, from the device's
// fp64 matrix product. Plain C++; built without CUDA, gpu_tier_available() says no. Derivation and trust: README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reference/oracle/tiers.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Is there a GPU that this tier runs on? `why` says what is missing.
bool gpu_tier_available(std::string* why = nullptr);

/// Why the tier does not take this valid problem; empty if it does. Reads every element of q, k and v.
std::string gpu_tier_unsupported(const AttentionProblem& problem);

/// What the tier allocates on the device for a problem of these shapes, strides and formats, in bytes; needs no GPU.
double gpu_tier_bytes(const AttentionProblem& problem);
/// What the device has free; throws InfrastructureError without one.
double gpu_free_bytes();

/// Rows by the first reason that their radius is too wide.
struct GpuRest {
  std::int64_t not_bounded = 0;  // no radius was found
  std::int64_t scores = 0;       // the scores dominate: dd_scores
  std::int64_t sums = 0;         // exp and the sums dominate: dd
  std::int64_t total() const { return not_bounded + scores + sums; }
};

/// Tolerance C: radius <= max(2^-12 ulp_f32(|o|), 2^-36 Σ p|v|); of lse, max(2^-12 ulp_f32(|lse|), 2^-36). Strict: 2^-12
/// ulp of the input format, of lse of f32. A row is certified if its lse and all its o are.
struct GpuShare {
  std::int64_t rows = 0, rows_c = 0, rows_strict = 0;
  std::int64_t elements = 0, elements_c = 0, elements_strict = 0;  // of o
  GpuRest rest_c, rest_strict;
};

/// Relative errors of 2^-30, for tests: the tier must be found out.
struct GpuPlant {
  bool scores = false;  // in Q Kᵀ
  bool values = false;  // in W V
};

/// Milliseconds on the device.
struct GpuTimes {
  double prepare = 0, attention = 0, finish = 0;
  double total() const { return prepare + attention + finish; }
};

/// One problem on the device. The constructor uploads, run() computes, the results stay there until fetched. The problem
/// must outlive this.
class GpuTier {
 public:
  /// Throws UsageError for what gpu_tier_unsupported() names, InfrastructureError if there is no usable GPU, too little
  /// memory on it, or it does not compute as assumed (probe.h).
  explicit GpuTier(const AttentionProblem& problem);
  explicit GpuTier(AttentionProblem&& problem) = delete;
  ~GpuTier();
  GpuTier(const GpuTier&) = delete;
  GpuTier& operator=(const GpuTier&) = delete;

  GpuTimes run(const GpuPlant& plant = {});
  GpuShare share() const;
  /// All rows, or those listed, in that order, as fp64_tier() returns them. causes: null, or one per row.
  Truth truth(std::vector<RowCause>* causes = nullptr) const;
  Truth truth(std::span<const std::int64_t> rows, std::vector<RowCause>* causes = nullptr) const;

  double upload_milliseconds() const;
  /// 2·(d + dv) per visible pair of query and key.
  double flops() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct GpuTierResult {
  Truth truth;
  std::vector<RowCause> causes;
  GpuShare share;
  GpuTimes times;
};
GpuTierResult gpu_tier(const AttentionProblem& problem);

/// The peak that the tier is measured against, in TFLOP/s: fp64 matrix instructions on registers alone, and cuBLAS dgemm
/// of 8192³ (0 without cuBLAS). `cublas` names the library to load; empty: the usual names. An environment that makes
/// cuBLAS emulate fp64 is refused.
struct GpuCeiling {
  double registers = 0, dgemm = 0;
  std::string note;  // where dgemm comes from, or why there is none
  std::string device;
};
GpuCeiling gpu_ceiling(const std::string& cublas = "");

/// proven_exp on the device, for the test that host and device agree in every bit.
std::vector<double> gpu_proven_exp(std::span<const double> x);

}  // namespace flashproof
