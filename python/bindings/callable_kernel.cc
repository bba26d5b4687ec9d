#include "python/bindings/callable_kernel.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "python/bindings/problem_json.h"
#include "python/bindings/semantics.h"
#include "python/bindings/shape_features.h"
#include "python/bindings/values.h"
#include "reference/bound/backward/arithmetic_json.h"
#include "reference/bound/backward/gradient_bound.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/bound/declare/declaration.h"
#include "reference/error/judge.h"
#include "reference/problem/hidden_keys.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof::python {
namespace {

/// What Python returned of one output: [address, bytes].
Tensor output_of(const Problem& problem, Part part, const Json& bits) {
  Tensor tensor = Tensor::dense(output_format(problem, part), output_shape(problem, part));
  const auto size = bits.at(1).get<std::size_t>();
  if (size != tensor.storage.size()) {
    throw KernelFault("wrong_shape: " + std::string(name(part)) + " has " + std::to_string(size) + " bytes, not " +
                      std::to_string(tensor.storage.size()));
  }
  if (size > 0) std::memcpy(tensor.storage.data(), std::bit_cast<const void*>(bits.at(0).get<std::uintptr_t>()), size);
  return tensor;
}

Returns returns_named(const std::string& text) {
  if (text == "both") return Returns::both;
  if (text == "o") return Returns::o;
  if (text == "lse") return Returns::lse;
  throw UsageError("returns " + text + ": legal both, o, lse");
}

}  // namespace

CallableKernel::CallableKernel(const Json& declared, const Python& python)
    : python_(python),
      id_(value<std::string>(declared, "id")),
      formats_{format_named(value<std::string>(declared, "format"))},
      takes_(value<std::vector<std::string>>(declared, "takes")),
      refuses_(value_or(declared, "refuses", false)),
      shows_progress_(value_or(declared, "progress", false)) {
  kernel_.id = id_;
  kernel_.problem = problem_kind(value<std::string>(declared, "problem"));
  kernel_.form = Form::published;
  kernel_.formats = formats_;
  Contract& contract = kernel_.contract;
  contract.semantics = semantics_named(value_or<std::string>(declared, "semantics", ""), kernel_.problem);
  contract.returns = returns_named(value<std::string>(declared, "returns"));
  contract.deterministic = value_or(declared, "deterministic", contract.deterministic);
  contract.batch_invariant = value_or(declared, "batch_invariant", contract.batch_invariant);
  contract.isolates_hidden = value_or(declared, "isolates_hidden", contract.isolates_hidden);
  contract.overflow = value_or(declared, "saturates", false) ? Overflow::saturate : Overflow::ieee;
  const auto arithmetic = value_or<std::string>(declared, "arithmetic", "unknown");
  if (kernel_.problem == ProblemKind::backward) {
    GradientArithmetic both = parse_gradient_arithmetic(arithmetic, formats_[0]);
    kernel_.arithmetic = both.forward;
    kernel_.backward_one_of = std::move(both.backward);
    kernel_.own_forward = true;
  } else {
    kernel_.arithmetic = parse_arithmetic(arithmetic, kernel_.problem, formats_[0]);
  }
  kernel_.unsupported = Refusal([this](const Problem& problem) { return refusal(problem); }, features_among(takes_));
  kernel_.launch = static_cast<void (*)(const SoftmaxArgs&, Stream)>(nullptr);
  kernel_.foreign = [this](const Problem& problem, const RunOptions& options) { return run(problem, options); };
}

std::string CallableKernel::refusal(const Problem& problem) {
  if (!lost_.empty()) return "the device was lost: " + lost_;
  if (over_ && over_()) return "the time is over";
  std::string why = beyond_shape(problem, takes_);
  // What the declared arithmetic has no meaning for has no bound.
  if (const auto* attention = std::get_if<AttentionProblem>(&problem);
      attention != nullptr && why.empty() && kernel_.arithmetic.unit == ScoreUnit::raw) {
    why = raw_scores_refused(*attention);
  }
  if (why.empty() && !kernel_.contract.isolates_hidden) why = needs_isolation(problem);
  const auto* masked = std::get_if<AttentionProblem>(&problem);
  if (why.empty() && masked != nullptr && masked->top_left && masked->counts_distances())
    why = "alibi: legal with semantics: diagonal: bottom_right, from where its distances count";
  if (!why.empty() || !refuses_) return why;
  ask(fmt::format(R"({{"ask":"refuses","problem":{}}})", to_json(problem)), [&](const Json& said) {
    if (!said.is_null()) why = one_line(said.get<std::string>());
  });
  return why;
}

void CallableKernel::ask(const std::string& question, const std::function<void(const Json&)>& heard) {
  if (python_.ask(question, heard)) return;
  ended_ = true;
  throw Interrupted("the run was ended from Python");
}

Output CallableKernel::run(const Problem& problem, const RunOptions& options) {
  Output output;
  const auto take = [&](const Json& said) {
    const auto status = said.at(0).get<std::string>();
    if (status == "lost") lost_ = one_line(said.at(1).get<std::string>());
    if (status != "ok") throw KernelFault(one_line(said.at(1).get<std::string>()));
    std::size_t next = 1;
    for (const Part part : parts(kernel_.problem)) {
      if (returned(kernel_.contract, part)) output[part] = output_of(problem, part, said.at(next));
      ++next;
    }
  };
  ask(fmt::format(R"({{"ask":"call","guard":{},"problem":{}}})", options.guard_inputs, to_arguments(problem)), take);
  for (const Part part : parts(kernel_.problem)) {
    if (!returned(kernel_.contract, part))
      output[part] = poisoned(output_format(problem, part), output_shape(problem, part));
  }
  return output;
}

bool CallableKernel::interrupted() {
  ended_ = ended_ || !python_.ask(R"({"ask":"signals"})");
  return ended_;
}

/// A bar that cannot be shown ends no run. Ctrl-C may fall into its code as into any other.
void CallableKernel::show_progress(std::uint64_t done, std::uint64_t total, std::string_view what) {
  if (shows_progress_)
    ended_ = !python_.ask(fmt::format(R"({{"ask":"progress","done":{},"total":{},"what":"{}"}})", done, total, what)) ||
             ended_;
}

}  // namespace flashproof::python
