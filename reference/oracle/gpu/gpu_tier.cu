#include "reference/oracle/gpu/gpu_tier.h"

#include <algorithm>
#include <cmath>

#include "reference/oracle/gpu/attention.h"
#include "reference/oracle/gpu/device.h"
#include "reference/oracle/gpu/finish.h"
#include "reference/oracle/gpu/probe.h"
#include "reference/oracle/symbolic.h"

namespace flashproof {
namespace {

using namespace gpu;

constexpr double kU = 0x1p-53;
constexpr double kPlanted = 1 + 0x1p-30;
constexpr int kLeastShared = 227 * 1024;  // bytes that one block of the attention kernel asks for

int ceil_div(std::int64_t n, int size) { return static_cast<int>((n + size - 1) / size); }

/// The probe runs once a process; a device that fails it certifies nothing.
void require_probe() {
  static const std::string failure = probe_failure(device_multiply_add);
  if (!failure.empty()) throw InfrastructureError("the GPU's fp64 matrix product: " + failure);
}

/// What every query of every sequence sees; returns the number of pairs.
std::int64_t visible_pairs(const AttentionProblem& problem, std::vector<Visible>& visible) {
  std::int64_t pairs = 0;
  for (std::int64_t b = 0; b < problem.batch(); ++b) {
    for (std::int64_t i = 0; i < problem.q_length(); ++i) {
      const auto keys = problem.visible_keys(b, i);
      const std::int64_t first = std::max<std::int64_t>(keys.first, 0), last = std::min(keys.last, problem.k_length());
      visible.push_back(first < last ? Visible{static_cast<int>(first), static_cast<int>(last)} : Visible{0, 0});
      pairs += std::max<std::int64_t>(last - first, 0);
    }
  }
  return pairs;
}

}  // namespace

struct GpuTier::State {
  const AttentionProblem& problem;
  std::int64_t heads, kv_heads;
  int row_blocks, tiles;
  std::int64_t padded_rows;
  double pairs = 0;  // visible pairs of query and key
  double upload = 0;

  DeviceArray<std::byte> q_raw, k_raw, v_raw;
  DeviceArray<Visible> visible;
  DeviceArray<int> key_length;
  DeviceArray<double> sink;
  DeviceArray<double> q, k, v;
  DeviceArray<RowTerms> row;
  DeviceArray<HeadBounds> head;
  DeviceArray<double> o, radius, lse, lse_radius, score_error;
  DeviceArray<float> absolute;
  DeviceArray<RowState> state;
  DeviceArray<std::uint8_t> verdict;
  DeviceArray<Counts> counts;

  explicit State(const AttentionProblem& p)
      : problem(p),
        heads(p.batch() * p.q_heads()),
        kv_heads(p.batch() * p.k_heads()),
        row_blocks(ceil_div(p.q_length(), kRows)),
        tiles(ceil_div(p.k_length(), kKeys)),
        padded_rows(heads * row_blocks * kRows) {}

  void allocate() {
    const double needed = gpu_tier_bytes(problem), available = gpu_free_bytes();
    if (needed > available) {
      throw InfrastructureError("the GPU tier needs " + std::to_string(static_cast<std::int64_t>(needed / 1e6)) +
                                " MB on the device, " + std::to_string(static_cast<std::int64_t>(available / 1e6)) +
                                " MB are free");
    }
    const auto elements = static_cast<std::size_t>(padded_rows) * kDepth;
    const auto rows = static_cast<std::size_t>(padded_rows), kv_tiles = static_cast<std::size_t>(kv_heads) * tiles;
    q = DeviceArray<double>(elements), o = DeviceArray<double>(elements), radius = DeviceArray<double>(elements);
    absolute = DeviceArray<float>(elements);
    row = DeviceArray<RowTerms>(rows), state = DeviceArray<RowState>(rows), verdict = DeviceArray<std::uint8_t>(rows);
    lse = DeviceArray<double>(rows), lse_radius = DeviceArray<double>(rows), score_error = DeviceArray<double>(rows);
    k = DeviceArray<double>(kv_tiles * kKeyTile), v = DeviceArray<double>(kv_tiles * kTile);
    head = DeviceArray<HeadBounds>(kv_heads), counts = DeviceArray<Counts>(1);
  }

  void upload_inputs() {
    std::vector<Visible> ranges;
    pairs = static_cast<double>(visible_pairs(problem, ranges)) * static_cast<double>(problem.q_heads());
    Stopwatch watch;
    for (const auto& [tensor, array] :
         {std::pair(&problem.q, &q_raw), std::pair(&problem.k, &k_raw), std::pair(&problem.v, &v_raw)}) {
      *array = DeviceArray<std::byte>(tensor->storage.size());
      array->upload(tensor->data(), tensor->storage.size());
    }
    visible = DeviceArray<Visible>(ranges);
    std::vector<int> lengths;
    for (std::int64_t b = 0; b < problem.batch(); ++b) lengths.push_back(static_cast<int>(problem.visible_length(b)));
    key_length = DeviceArray<int>(lengths);
    if (problem.has_sink()) {
      std::vector<double> scores;
      // No sink: below every reference, as the kernel's own start.
      for (std::int64_t h = 0; h < problem.q_heads(); ++h)
        scores.push_back(std::max(problem.sink.at({h}), kNoReference));
      sink = DeviceArray<double>(scores);
    }
    upload = watch.milliseconds();
  }

  static DeviceTensor view(const Tensor& tensor, const DeviceArray<std::byte>& raw) {
    DeviceTensor result{
        raw.data(), tensor.format, {}, static_cast<int>(tensor.shape[2]), static_cast<int>(tensor.shape[3])};
    std::ranges::copy(tensor.stride, result.stride);
    return result;
  }

  // README.md, "The sums".
  double h_n() const {
    return std::min(tiles, kChunkTiles) * kKeys + 1 + ceil_div(tiles, kChunkTiles) + kExtraChunks + 1;
  }
  double h_l() const { return tiles + 10; }

  GpuTimes run(const GpuPlant& plant) {
    const int batch = static_cast<int>(problem.batch()), q_heads = static_cast<int>(problem.q_heads());
    const int k_heads = static_cast<int>(problem.k_heads()), q_length = static_cast<int>(problem.q_length());
    const Prepared in{q.data(), row.data(), k.data(), v.data(), head.data()};
    const double scale = problem.scale;
    GpuTimes times;
    if (padded_rows == 0) return times;
    counts.fill(0);
    verdict.fill(0);
    synchronize("before the run");
    Stopwatch watch;
    // (d − 1)·|scale|·u: at most two roundings, and |scale|·u may be subnormal in nothing (scale is an f32 number).
    prepare(view(problem.q, q_raw), view(problem.k, k_raw), view(problem.v, v_raw), key_length.data(), batch, q_heads,
            k_heads, static_cast<double>(problem.head_dim() - 1) * std::fabs(scale) * kU * (1 + 0x1p-50), in);
    times.prepare = watch.milliseconds();

    Stopwatch attention_watch;
    o.fill(0);
    absolute.fill(0);
    attention({in, visible.data(), sink.data(), plant.scores ? scale * kPlanted : scale, plant.values ? kPlanted : 1.0,
               h_n() * kU, batch, q_heads, k_heads, q_length, row_blocks, tiles, o.data(), absolute.data(),
               state.data()});
    times.attention = attention_watch.milliseconds();

    Stopwatch finish_watch;
    const FormatInfo& format = info(problem.q.format);
    finish({visible.data(),
            sink.data(),
            state.data(),
            row.data(),
            head.data(),
            absolute.data(),
            o.data(),
            radius.data(),
            lse.data(),
            lse_radius.data(),
            score_error.data(),
            verdict.data(),
            counts.data(),
            h_n() * kU,
            h_l() * kU,
            static_cast<double>(problem.k_length() + 1) * 0x1p-990,
            format.precision,
            format.min_exponent,
            static_cast<int>(problem.value_dim()),
            batch,
            q_heads,
            k_heads,
            q_length,
            row_blocks});
    times.finish = finish_watch.milliseconds();
    synchronize("the GPU tier");
    return times;
  }

  /// Rows [first, first + count) of one head, which become truth rows from `to` on.
  void fetch(std::int64_t head_index, std::int64_t first, std::int64_t count, std::int64_t to, Truth& truth,
             std::vector<RowCause>* causes) const {
    if (count == 0) return;
    const auto width = static_cast<std::size_t>(truth.width);
    const std::int64_t from = head_index * row_blocks * kRows + first;
    const auto copy = [&](double* host, const DeviceArray<double>& device) {
      check(cudaMemcpy2D(host + to * truth.width, width * sizeof(double), device.data() + from * kDepth,
                         kDepth * sizeof(double), width * sizeof(double), count, cudaMemcpyDeviceToHost),
            "copy from the device");
    };
    copy(truth.o.hi(), o);
    copy(truth.o.radius(), radius);
    lse.fetch(truth.lse.hi() + to, from, count);
    lse_radius.fetch(truth.lse.radius() + to, from, count);
    std::vector<std::uint8_t> verdicts(count);
    std::vector<double> errors(count);
    verdict.fetch(verdicts.data(), from, count);
    score_error.fetch(errors.data(), from, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const bool no_key = (verdicts[i] & kNoKey) != 0;
      truth.tier[to + i] = no_key ? Tier::symbolic : Tier::fp64;
      if (no_key) truth.lse.set(to + i, special_ball(kNegInf));
      if (causes != nullptr) (*causes)[to + i] = {errors[i], (verdicts[i] & kScoresDominate) != 0};
    }
  }
};

bool gpu_tier_available(std::string* why) {
  const auto no = [&](const std::string& text) {
    cudaGetLastError();  // a failed query must not be found by the next launch
    if (why != nullptr) *why = text;
    return false;
  };
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) return no(cudaGetErrorString(status));
  if (count == 0) return no("no CUDA device");
  int major = 0, shared = 0;
  status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  if (status != cudaSuccess) return no(cudaGetErrorString(status));
  if (major < 9 || shared < kLeastShared) {
    return no("the GPU tier needs compute capability 9.0 and 227 KB of shared memory per block");
  }
  return true;
}

double gpu_free_bytes() {
  std::size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  return static_cast<double>(available);
}

GpuTier::GpuTier(const AttentionProblem& problem) {
  const std::string unsupported = gpu_tier_unsupported(problem);
  if (!unsupported.empty()) throw UsageError(unsupported);
  std::string why;
  if (!gpu_tier_available(&why)) throw InfrastructureError("the GPU tier: " + why);
  require_probe();
  state_ = std::make_unique<State>(problem);
  state_->allocate();
  state_->upload_inputs();
}

GpuTier::~GpuTier() = default;

GpuTimes GpuTier::run(const GpuPlant& plant) { return state_->run(plant); }

GpuShare GpuTier::share() const {
  const Counts counts = state_->counts.fetch()[0];
  const auto rest = [&](int n) {
    return GpuRest{static_cast<std::int64_t>(counts.not_bounded[n]), static_cast<std::int64_t>(counts.scores[n]),
                   static_cast<std::int64_t>(counts.sums[n])};
  };
  GpuShare share;
  share.rows = state_->heads * state_->problem.q_length();
  share.elements = share.rows * state_->problem.value_dim();
  if (share.rows == 0) return share;
  share.rows_c = static_cast<std::int64_t>(counts.rows_c);
  share.rows_strict = static_cast<std::int64_t>(counts.rows_strict);
  share.elements_c = static_cast<std::int64_t>(counts.elements_c);
  share.elements_strict = static_cast<std::int64_t>(counts.elements_strict);
  share.rest_c = rest(0);
  share.rest_strict = rest(1);
  return share;
}

namespace {

Truth empty_truth(std::int64_t rows, std::int64_t width, std::vector<RowCause>* causes) {
  Truth truth = Truth::sized(rows, width);
  if (causes != nullptr) causes->assign(rows, RowCause{});
  return truth;
}

}  // namespace

Truth GpuTier::truth(std::vector<RowCause>* causes) const {
  const std::int64_t length = state_->problem.q_length();
  Truth truth = empty_truth(state_->heads * length, state_->problem.value_dim(), causes);
  for (std::int64_t h = 0; h < state_->heads; ++h) state_->fetch(h, 0, length, h * length, truth, causes);
  return truth;
}

Truth GpuTier::truth(std::span<const std::int64_t> rows, std::vector<RowCause>* causes) const {
  const std::int64_t length = state_->problem.q_length();
  Truth truth = empty_truth(static_cast<std::int64_t>(rows.size()), state_->problem.value_dim(), causes);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    state_->fetch(rows[n] / length, rows[n] % length, 1, static_cast<std::int64_t>(n), truth, causes);
  }
  return truth;
}

double GpuTier::upload_milliseconds() const { return state_->upload; }
double GpuTier::flops() const {
  return 2.0 * state_->pairs * static_cast<double>(state_->problem.head_dim() + state_->problem.value_dim());
}

GpuTierResult gpu_tier(const AttentionProblem& problem) {
  GpuTier tier(problem);
  GpuTierResult result;
  result.times = tier.run();
  result.truth = tier.truth(&result.causes);
  result.share = tier.share();
  return result;
}

}  // namespace flashproof
