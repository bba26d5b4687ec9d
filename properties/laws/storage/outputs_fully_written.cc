// Every element of every output was stored. run() poisons the outputs with a NaN that no arithmetic makes; this law looks
// for its bits and consults neither truth nor bound, so a forgotten element is seen even where NaN is the answer.
#include <fmt/format.h>

#include "properties/laws/law.h"

namespace flashproof::law::outputs_fully_written {
namespace {

constexpr std::string_view kTeeth[] = {"softmax.broken.tail_dropped", "attention_backward.broken.unseen_not_written"};

Verdict check(const Evaluation& e) {
  std::string first;
  std::int64_t unwritten = 0, all = 0;
  for (const Part part : parts_of(e.output)) {
    const Tensor& tensor = e.output[part];
    const std::uint64_t poison = poison_bits(tensor.format);
    all += count(e.truth, part);
    for (std::int64_t i = 0; i < count(e.truth, part); ++i) {
      if (tensor.bits(i) != poison) continue;
      if (++unwritten == 1) first = describe(e.element(part, i));
    }
  }
  if (all == 0) return kNoElement.verdict();
  if (unwritten == 0) return {};
  return {VerdictKind::fail, Failure::unwritten,
          fmt::format("{} of {} elements were never written, first {}", unwritten, all, first)};
}

}  // namespace

Law outputs_fully_written() {
  return {.summary = "every element of every output is stored", .must_reject = kTeeth, .judge = check};
}

}  // namespace flashproof::law::outputs_fully_written
