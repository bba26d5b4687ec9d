#include "kernels/plugin/call.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/plugin/arena.h"
#include "reference/problem/random.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::int64_t kMostWorkspace = std::int64_t{1} << 32;  // a judge in each core may have it
constexpr char kUntouched = '\x5a';
constexpr std::uint64_t kPlacement = 0x706c616365;  // a stream of random numbers

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

/// The structures of one call, with the addresses that they will have in the shared block, and the regions behind them.
class Call {
 public:
  Call(const ForeignKernel& kernel, const Problem& problem, const CallRecord* there, bool zeroed_outputs)
      : there_(there), device_(kernel.on_device ? FLASHPROOF_CUDA : FLASHPROOF_CPU) {
    call_.struct_size = sizeof call_;
    std::visit([&](const auto& p) { inputs(p); }, problem);
    for (const Part part : parts(kind_of(problem))) {
      output_[part] = poisoned(output_format(problem, part), output_shape(problem, part));
      if (zeroed_outputs) std::ranges::fill(output_[part].storage, std::byte{0});
      const bool left_out =
          (part == Part::o && kernel.returns == Returns::lse) || (part == Part::lse && kernel.returns == Returns::o);
      if (!left_out) *member(part) = output(name(part), output_[part], shape_seen(problem, part));
    }
    record_.message.fill(kUntouched);
    record_.message[0] = '\0';
    call_.error = seen(record_.message)->data();
    call_.error_size = kMessageBytes;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const CallRecord& record() const { return record_; }
  std::vector<Region>& regions() { return regions_; }

  /// Draws by how much tensors are less than generously aligned: a quarter of all calls not at all, so that a fast path for aligned
  /// pointers is taken, a quarter to the promise exactly, and in the others each tensor is on its own.
  void place(std::uint64_t placement, std::size_t promised) {
    if (placement == 0) return;
    Random random(placement, kPlacement);
    const std::int64_t kind = random.integer(0, 3);
    for (std::uint64_t i = 0; i < record_.tensors && kind != 0; ++i) {
      const auto unit = static_cast<std::int64_t>(
          std::max<std::size_t>(promised, record_.slots[i].tensor.dtype.bits / std::size_t{8}));
      const std::int64_t places = static_cast<std::int64_t>(kMostAlignment) / unit;
      const std::int64_t odd = places < 2 ? 0 : 2 * random.integer(0, places / 2 - 1) + 1;
      const std::int64_t any = random.integer(0, places - 1);
      regions_[i].shift = static_cast<std::size_t>((kind == 1 ? odd : any) * unit);
    }
  }

  /// Pointers, once the regions have their place. Each lies before its tensor, in what it may not touch, by a byte_offset of its
  /// own: a kernel that leaves that out reads and writes a zone.
  void point(const Arena& arena) {
    for (std::uint64_t i = 0; i < record_.tensors; ++i) {
      flashproof_tensor& tensor = record_.slots[i].tensor;
      tensor.byte_offset = 16 * (i + 1);
      tensor.data = arena.address(regions_[i]) - tensor.byte_offset;  // their order is that of the tensors
    }
    if (call_.workspace_bytes > 0) call_.workspace = arena.address(regions_.back());
  }
  void add_workspace(std::int64_t bytes) {
    call_.workspace_bytes = bytes;
    if (bytes > 0) regions_.push_back({"the workspace", Role::workspace, nullptr, static_cast<std::size_t>(bytes)});
  }
  Output take(const Arena& arena) {
    for (const Region& region : regions_) {
      if (region.role != Role::output || region.bytes == 0) continue;
      for (std::size_t i = 0; i < kPartCount; ++i) {
        Tensor& tensor = output_[static_cast<Part>(i)];
        if (region.initial == tensor.data()) std::memcpy(tensor.data(), arena.result(region), region.bytes);
      }
    }
    return std::move(output_);
  }

 private:
  using Shape = std::vector<std::int64_t>;

  /// With the axes of q, where rows are those of attention.
  static Shape shape_seen(const Problem& problem, Part part) {
    Shape shape = output_shape(problem, part);
    const auto* p = std::get_if<AttentionProblem>(&problem);
    if (p == nullptr) return shape;
    Shape axes = {p->q.shape[0], p->q_heads(), p->q_length()};
    if (part == Part::o) axes.push_back(shape.back());
    return axes;
  }

  const flashproof_tensor** member(Part part) {
    const flashproof_tensor** const members[] = {&call_.o, &call_.lse, &call_.dq, &call_.dk, &call_.dv};
    return members[static_cast<std::size_t>(part)];
  }

  /// Where a member of the record will lie.
  template <class T>
  T* seen(T& member) const {
    const auto offset = reinterpret_cast<const std::byte*>(&member) - reinterpret_cast<const std::byte*>(&record_);
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(const_cast<CallRecord*>(there_)) + offset);
  }

  const flashproof_tensor* add(std::string_view name, Role role, const void* data, std::size_t bytes,
                               flashproof_dtype dtype, const Shape& shape, const Shape& strides) {
    Slot& slot = record_.slots.at(record_.tensors++);
    std::ranges::copy(shape, slot.shape.begin());
    std::ranges::copy(strides, slot.strides.begin());
    slot.tensor.device = {device_, 0};
    slot.tensor.ndim = static_cast<std::int32_t>(shape.size());
    slot.tensor.dtype = dtype;
    slot.tensor.shape = seen(slot.shape)->data();
    slot.tensor.strides = seen(slot.strides)->data();
    regions_.push_back({name, role, data, bytes});
    return seen(slot.tensor);
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
    call_.softmax = seen(softmax_);
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
    call_.merge = seen(merge_);
  }
  void inputs(const AttentionProblem& p) {
    attention(p);
    call_.attention = seen(attention_);
  }
  void inputs(const BackwardProblem& p) {
    attention(p.forward);
    backward_ = {sizeof backward_, seen(attention_), input("d_out", p.d_out), input("o_in", p.o),
                 input("lse_in", p.lse)};
    call_.attention_backward = seen(backward_);
  }
  void attention(const AttentionProblem& p) {
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
  }

  const CallRecord* there_;
  std::int32_t device_;
  CallRecord record_{};
  flashproof_call& call_ = record_.call;
  flashproof_softmax& softmax_ = record_.softmax;
  flashproof_merge& merge_ = record_.merge;
  flashproof_attention& attention_ = record_.attention;
  flashproof_attention_backward& backward_ = record_.attention_backward;
  std::vector<Region> regions_;
  Output output_;
};

/// Of the copy that was made of the record after the call.
std::string message_of(const CallRecord& left) {
  return printable(std::string_view(left.message.data(), ::strnlen(left.message.data(), kMessageBytes)), 400);
}

bool wrote_beyond_message(const CallRecord& left) {
  return std::any_of(left.message.begin() + kMessageBytes, left.message.end(), [](char c) { return c != kUntouched; });
}

/// What the return code and the memory after the call say of it.
void judge_return(std::int64_t code, const Arena& arena, const std::vector<Region>& regions) {
  if (const std::string damage = arena.damage(regions); !damage.empty()) throw KernelFault("the kernel " + damage);
  if (wrote_beyond_message(arena.left_record())) {
    throw KernelFault("the kernel wrote beyond the room for its message");
  }
  const std::string message = message_of(arena.left_record());
  if (code == FLASHPROOF_UNSUPPORTED) throw UsageError(message.empty() ? "the kernel refuses it" : message);
  if (code == FLASHPROOF_ERROR) {
    throw KernelFault("the kernel returned an error: " + (message.empty() ? "no message" : message));
  }
  if (code != FLASHPROOF_OK) {
    throw KernelFault("the kernel returned " + std::to_string(code) + ", legal 0 (ok), 1 (unsupported), 2 (error)");
  }
}

}  // namespace

Output call_plugin(PluginProcess& process, const ForeignKernel& kernel, const Problem& problem,
                   const RunOptions& options) {
  if (kernel.on_device != (options.executor == Executor::cuda)) {
    throw UsageError(kernel.on_device ? "takes device pointers, legal: executor cuda"
                                      : "takes host pointers, legal: executor cpu");
  }
  if (options.new_process) process.restart();
  Arena& arena = process.arena();
  Call built(kernel, problem, arena.record(), options.zeroed_outputs);
  built.place(options.placement, kernel.alignment);
  if (kernel.has_workspace) {
    arena.write(built.record());
    const std::int64_t bytes = process.ask(PluginRequest::What::workspace, kernel.index, kernel.id).value;
    if (bytes < 0 || bytes > kMostWorkspace) {
      throw KernelFault("workspace_bytes() returned " + std::to_string(bytes) + ", legal 0.." +
                        std::to_string(kMostWorkspace));
    }
    built.add_workspace(bytes);
  }
  arena.place(built.regions(), options.workspace_fill);
  built.point(arena);
  arena.write(built.record());
  const std::int64_t code = process.ask(PluginRequest::What::run, kernel.index, kernel.id).value;
  arena.copy();
  process.settle();
  judge_return(code, arena, built.regions());
  return built.take(arena);
}

}  // namespace flashproof
