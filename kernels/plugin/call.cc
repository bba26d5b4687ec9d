#include "kernels/plugin/call.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "kernels/plugin/arena.h"
#include "kernels/plugin/device_driver.h"
#include "reference/error/rounded_truth.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace flashproof {
namespace {

constexpr std::int64_t kMostWorkspace = std::int64_t{1} << 34;
constexpr std::size_t kMessage = 512, kBehindMessage = 1024;  // bytes: a zone behind the room for the message
constexpr char kUntouched = '\x5a';

#ifdef FLASHPROOF_HAS_DLPACK
#error "this file lays tensors out by plugin.h's own structures"
#endif

flashproof_dtype dtype_of(Format format) {
  const auto bits = static_cast<std::uint8_t>(info(format).bits);
  switch (format) {
    case Format::bf16:
      return {FLASHPROOF_BFLOAT, bits, 1};
    case Format::e4m3fn:
      return {FLASHPROOF_FLOAT8_E4M3FN, bits, 1};
    case Format::e5m2:
      return {FLASHPROOF_FLOAT8_E5M2, bits, 1};
    default:
      return {FLASHPROOF_FLOAT, bits, 1};
  }
}

/// A tensor as the library sees it. The extents are copies: what a library writes there changes nothing of ours.
struct Slot {
  flashproof_tensor tensor{};
  std::array<std::int64_t, 4> shape{}, strides{};
  std::size_t region = 0;
};

/// The structures of one call and the regions behind them. Nothing here may move once it is built.
class Call {
 public:
  Call(const flashproof_kernel& kernel, Returns returns, const Problem& problem) : device_(kernel.device_type) {
    call_.struct_size = sizeof call_;
    call_.kernel = &kernel;
    std::visit([&](const auto& p) { inputs(p); }, problem);
    const OutputShape shape = output_shape(problem);
    output_ = {poisoned(output_format(problem), {shape.rows, shape.width}), poisoned(Format::f32, {shape.rows})};
    if (returns != Returns::lse) call_.o = output("o", output_.o, o_shape(problem, shape));
    if (returns != Returns::o) call_.lse = output("lse", output_.lse, lse_shape(problem, shape));
    error_.fill(kUntouched);
    error_[0] = '\0';
    call_.error = error_.data();
    call_.error_size = kMessage;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  flashproof_call& call() { return call_; }
  std::vector<Region>& regions() { return regions_; }

  /// Pointers, once the regions have their place.
  void point(const Arena& arena) {
    for (Slot& slot : slots_) slot.tensor.data = arena.address(regions_[slot.region]);
    if (call_.workspace_bytes > 0) call_.workspace = arena.address(regions_.back());
  }
  void add_workspace(std::int64_t bytes) {
    call_.workspace_bytes = bytes;
    if (bytes > 0) regions_.push_back({"the workspace", Role::workspace, nullptr, static_cast<std::size_t>(bytes)});
  }
  std::string message() const {
    return printable(std::string_view(error_.data(), ::strnlen(error_.data(), kMessage)), 400);
  }
  bool wrote_beyond_message() const {
    return std::any_of(error_.begin() + kMessage, error_.end(), [](char c) { return c != kUntouched; });
  }
  Output take(const Arena& arena) {
    for (const Region& region : regions_) {
      if (region.role != Role::output || region.bytes == 0) continue;
      Tensor& tensor = region.initial == output_.o.data() ? output_.o : output_.lse;
      std::memcpy(tensor.data(), arena.result(region), region.bytes);
    }
    return std::move(output_);
  }

 private:
  using Shape = std::vector<std::int64_t>;

  static Shape o_shape(const Problem& problem, const OutputShape& shape) {
    if (const auto* p = std::get_if<AttentionProblem>(&problem)) {
      return {p->q.shape[0], p->q_heads(), p->q_length(), p->value_dim()};
    }
    return {shape.rows, shape.width};
  }
  static Shape lse_shape(const Problem& problem, const OutputShape& shape) {
    if (const auto* p = std::get_if<AttentionProblem>(&problem)) return {p->q.shape[0], p->q_heads(), p->q_length()};
    return {shape.rows};
  }

  const flashproof_tensor* add(std::string_view name, Role role, const void* data, std::size_t bytes,
                               flashproof_dtype dtype, const Shape& shape, const Shape& strides) {
    Slot& slot = slots_.emplace_back();
    std::ranges::copy(shape, slot.shape.begin());
    std::ranges::copy(strides, slot.strides.begin());
    slot.region = regions_.size();
    slot.tensor.device = {device_, 0};
    slot.tensor.ndim = static_cast<std::int32_t>(shape.size());
    slot.tensor.dtype = dtype;
    slot.tensor.shape = slot.shape.data();
    slot.tensor.strides = slot.strides.data();
    regions_.push_back({name, role, data, bytes});
    return &slot.tensor;
  }
  const flashproof_tensor* input(std::string_view name, const Tensor& t) {
    if (t.shape.empty()) return nullptr;
    return add(name, Role::input, t.data(), t.storage.size(), dtype_of(t.format), t.shape, t.stride);
  }
  const flashproof_tensor* output(std::string_view name, const Tensor& t, const Shape& shape) {
    return add(name, Role::output, t.data(), t.storage.size(), dtype_of(t.format), shape, dense_stride(shape));
  }
  /// int32, dense; null where there are none.
  const flashproof_tensor* integers(std::string_view name, const void* data, const Shape& shape) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return add(name, Role::input, data, count * sizeof(std::int32_t), {FLASHPROOF_INT, 32, 1}, shape,
               dense_stride(shape));
  }
  const flashproof_tensor* integers(std::string_view name, const std::vector<std::int32_t>& values) {
    return values.empty() ? nullptr : integers(name, values.data(), {static_cast<std::int64_t>(values.size())});
  }

  void inputs(const SoftmaxProblem& p) {
    softmax_ = {sizeof softmax_, input("x", p.x), integers("row_length", p.row_length)};
    call_.softmax = &softmax_;
  }
  void inputs(const MergeProblem& p) {
    merge_.struct_size = sizeof merge_;
    merge_.o = input("o_in", p.o);
    merge_.lse = input("lse_in", p.lse);
    merge_.l = input("l_in", p.l);
    merge_.order = integers("order", p.order);
    static_assert(sizeof(Join) == 2 * sizeof(std::int32_t));
    if (!p.joins.empty()) {
      merge_.joins = integers("joins", p.joins.data(), {static_cast<std::int64_t>(p.joins.size()), 2});
    }
    merge_.concat = p.form == MergeForm::concat ? 1 : 0;
    call_.merge = &merge_;
  }
  void inputs(const AttentionProblem& p) {
    attention_.struct_size = sizeof attention_;
    attention_.q = input("q", p.q);
    attention_.k = input("k", p.k);
    attention_.v = input("v", p.v);
    attention_.bias = input("bias", p.bias);
    attention_.alibi = input("alibi", p.alibi);
    attention_.sink = input("sink", p.sink);
    attention_.q_descale = input("q_descale", p.q_descale);
    attention_.k_descale = input("k_descale", p.k_descale);
    attention_.v_descale = input("v_descale", p.v_descale);
    attention_.key_length = integers("key_length", p.key_length);
    attention_.q_start = integers("q_start", p.q_start);
    attention_.k_start = integers("k_start", p.k_start);
    if (p.paged()) {
      attention_.page_table = integers("page_table", p.page_table.data(), {p.sequences(), p.pages_per_sequence()});
    }
    attention_.scale = p.scale;
    attention_.softcap = p.softcap;
    attention_.causal = p.causal ? 1 : 0;
    attention_.window_left = p.window_left;
    attention_.window_right = p.window_right;
    call_.attention = &attention_;
  }

  std::int32_t device_;
  flashproof_call call_{};
  flashproof_softmax softmax_{};
  flashproof_merge merge_{};
  flashproof_attention attention_{};
  std::deque<Slot> slots_;
  std::vector<Region> regions_;
  Output output_;
  std::array<char, kMessage + kBehindMessage> error_;
};

/// The environment for as long as it lives.
class ScopedEnvironment {
 public:
  explicit ScopedEnvironment(const std::fenv_t& environment) {
    std::fegetenv(&ours_);
    std::fesetenv(&environment);
  }
  ~ScopedEnvironment() { std::fesetenv(&ours_); }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  std::fenv_t ours_;
};

template <class Function>
auto guarded(const char* what, const std::fenv_t& environment, Function function) {
  try {
    const ScopedEnvironment scope(environment);
    return function();
  } catch (...) {
    throw KernelFault(std::string("a C++ exception left ") + what + "()");
  }
}

}  // namespace

Output call_plugin(const flashproof_kernel& kernel, const std::fenv_t& environment, Returns returns,
                   const Problem& problem, const RunOptions& options) {
  const bool on_device = kernel.device_type == FLASHPROOF_CUDA;
  if (on_device != (options.executor == Executor::cuda)) {
    throw UsageError(on_device ? "takes device pointers, legal: executor cuda"
                               : "takes host pointers, legal: executor cpu");
  }
  static Arena host(false);
  static auto* device = new Arena(true);  // never destroyed: the driver may be gone by then
  Arena& arena = on_device ? *device : host;

  Call built(kernel, returns, problem);
  flashproof_call& call = built.call();
  if (kernel.workspace_bytes != nullptr) {
    const std::int64_t bytes = guarded("workspace_bytes", environment, [&] { return kernel.workspace_bytes(&call); });
    if (bytes < 0 || bytes > kMostWorkspace) {
      throw KernelFault("workspace_bytes() returned " + std::to_string(bytes) + ", legal 0.." +
                        std::to_string(kMostWorkspace));
    }
    built.add_workspace(bytes);
  }
  if (on_device) call.stream = device::stream();
  arena.place(built.regions(), options.workspace_fill);
  built.point(arena);
  const std::int32_t code = guarded("run", environment, [&] { return kernel.run(&call); });
  if (on_device) device::wait();
  if (const std::string damage = arena.damage(built.regions()); !damage.empty()) {
    throw KernelFault("the kernel " + damage);
  }
  if (built.wrote_beyond_message()) throw KernelFault("the kernel wrote beyond the room for its message");
  const std::string message = built.message();
  if (code == FLASHPROOF_UNSUPPORTED) throw UsageError(message.empty() ? "the kernel refuses it" : message);
  if (code == FLASHPROOF_ERROR)
    throw KernelFault("the kernel returned an error: " + (message.empty() ? "no message" : message));
  if (code != FLASHPROOF_OK) {
    throw KernelFault("the kernel returned " + std::to_string(code) + ", legal 0 (ok), 1 (unsupported), 2 (error)");
  }
  Output output = built.take(arena);
  if (returns == Returns::o) output.lse = rounded_truth(problem, Part::lse);
  if (returns == Returns::lse) output.o = rounded_truth(problem, Part::o);
  return output;
}

}  // namespace flashproof
