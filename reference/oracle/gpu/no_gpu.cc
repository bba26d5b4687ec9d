// The tier of a build without CUDA.
#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr const char* kWhy = "this program was built without CUDA";
[[noreturn]] void refuse() { throw InfrastructureError(std::string("the GPU tier: ") + kWhy); }

}  // namespace

bool gpu_tier_available(std::string* why) {
  if (why != nullptr) *why = kWhy;
  return false;
}

double gpu_free_bytes() { refuse(); }

struct GpuTier::State {};
GpuTier::GpuTier(const AttentionProblem& /*problem*/) { refuse(); }
GpuTier::~GpuTier() = default;
GpuTimes GpuTier::run(const GpuPlant& /*plant*/) { refuse(); }
GpuShare GpuTier::share() const { refuse(); }
Truth GpuTier::truth(std::vector<RowCause>* /*causes*/) const { refuse(); }
Truth GpuTier::truth(std::span<const std::int64_t> /*rows*/, std::vector<RowCause>* /*causes*/) const { refuse(); }
double GpuTier::upload_milliseconds() const { refuse(); }
double GpuTier::flops() const { refuse(); }
GpuTierResult gpu_tier(const AttentionProblem& /*problem*/) { refuse(); }
GpuCeiling gpu_ceiling(const std::string& /*cublas*/) { refuse(); }
std::vector<double> gpu_proven_exp(std::span<const double> /*x*/) { refuse(); }

}  // namespace flashproof
