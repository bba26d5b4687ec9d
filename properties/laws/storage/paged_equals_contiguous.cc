// Where a key lies is no input of any operation. A contiguous problem cut into pages in random order, and a paged one
// gathered, or cut into other pages where the kernel takes pages alone, have the same keys: o and lse agree within both
// bounds; in every bit if the kernel is deterministic and the plan has the same chunks of the same keys (a longer room
// lengthens the last chunk by keys that no query sees). Slots that belong to no key are NaN. Positions count from the end of
// a sequence, which is its key_length in pages and the axis without: with a mask or ALiBi, sequences of their own lengths
// are gathered only where packed offsets can say them.
#include <algorithm>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"

namespace flashproof::law::paged_equals_contiguous {
namespace {

constexpr std::string_view kName = "paged_equals_contiguous";
constexpr std::string_view kTeeth[] = {"attention.broken.last_page_floored", "attention.broken.batch_stride_of_k"};

/// The `width` components of one key, to one place of a dense tensor.
void copy_key(const Tensor& from, std::int64_t from_offset, Tensor& to, std::int64_t to_offset) {
  for (std::int64_t c = 0; c < to.shape[3]; ++c) {
    to.set_bits(to_offset + c * to.stride[3], from.bits(from_offset + c * from.stride[3]));
  }
}

/// k and v of `to`, whose layout is set, from those of `from`: the keys that a sequence has.
void copy_keys(const AttentionProblem& from, AttentionProblem& to) {
  for (std::int64_t s = 0; s < from.sequences(); ++s) {
    for (std::int64_t h = 0; h < from.k_heads(); ++h) {
      for (std::int64_t j = 0; j < from.visible_length(s); ++j) {
        copy_key(from.k, from.k_offset(s, h, j), to.k, to.k_offset(s, h, j));
        copy_key(from.v, from.v_offset(s, h, j), to.v, to.v_offset(s, h, j));
      }
    }
  }
}

void lay_out(AttentionProblem& p, std::int64_t first, std::int64_t slots) {
  p.k = Tensor::dense(p.k.format, {first, p.k_heads(), slots, p.head_dim()});
  p.v = Tensor::dense(p.v.format, {first, p.k.shape[1], slots, p.value_dim()});
}

/// The last chunk ends with the room; false if there is none to lengthen.
bool stretch(AttentionProblem& p, std::int64_t room) {
  if (p.plan.chunks() == 0) return false;
  p.plan.boundary.back() = static_cast<std::int32_t>(room);
  if (p.has_bias() && room > p.bias.shape[3]) {
    const std::vector<std::int64_t> shape = {p.bias.shape[0], p.bias.shape[1], p.bias.shape[2], room - p.bias.shape[3]};
    p.bias = joined(p.bias, Tensor::dense(Format::f32, shape), 3);
  }
  return true;
}

/// Pages of this size, one more than needed, in random order.
bool page(const AttentionProblem& from, AttentionProblem& to, std::int64_t size, Random& random) {
  if (!from.paged() && !from.key_length.empty() && from.positions_matter()) return false;
  to = from;
  const std::int64_t most = from.k_length(), each = (most + size - 1) / size, pages = each * from.sequences() + 1;
  if (most == 0 || from.sequences() == 0 || !stretch(to, each * size)) return false;
  std::vector<std::int64_t> order = iota(pages);
  for (std::int64_t n = pages - 1; n > 0; --n) {
    std::swap(order[static_cast<std::size_t>(n)], order[static_cast<std::size_t>(random.integer(0, n))]);
  }
  to.k_start.clear();
  to.page_table.assign(order.begin(), order.end() - 1);
  to.key_length.clear();
  for (std::int64_t s = 0; s < from.sequences(); ++s) {
    to.key_length.push_back(static_cast<std::int32_t>(from.visible_length(s)));
  }
  lay_out(to, pages, size);
  copy_keys(from, to);
  return true;
}

/// Keys one behind another; same_chunks: the plan is as before.
bool make_contiguous(const AttentionProblem& from, AttentionProblem& to, bool& same_chunks) {
  to = from;
  to.page_table.clear();
  if (!from.packed()) {
    for (std::int64_t s = 0; s < from.sequences(); ++s) {
      if (from.positions_matter() && from.k_length(s) != from.k_length()) return false;
    }
    lay_out(to, from.sequences(), from.k_length());
    same_chunks = true;
  } else {
    to.key_length.clear();
    to.k_start = {0};
    std::int32_t longest = 0;
    for (std::int64_t s = 0; s < from.sequences(); ++s) {
      const auto length = static_cast<std::int32_t>(from.k_length(s));
      longest = std::max(longest, length);
      to.k_start.push_back(to.k_start.back() + length);
    }
    lay_out(to, 1, to.k_start.back());
    same_chunks = longest == from.k_length();
    if (!same_chunks) to.plan = ChunkPlan::uniform(longest, std::max<std::int64_t>(from.plan.boundary[1], 1));
  }
  copy_keys(from, to);
  return true;
}

Verdict relate(Trial& trial) {
  const auto* p = std::get_if<AttentionProblem>(&trial.problem());
  if (p == nullptr) return unsupported("attention only: there are no pages");
  Random random = trial.random(kName);
  const std::vector<std::uint8_t> rows = ordinary_rows(*p);
  Comparison tally;
  bool asked = false;
  const auto compare = [&](const AttentionProblem& changed, bool same_chunks) {
    asked = true;
    const Output output = trial.run(changed);
    if (same_chunks && trial.contract().deterministic) {
      const std::string difference = first_difference(output, trial.output());
      if (difference.empty()) return tally.held();
      return tally.fail(Failure::exceeds_bound, difference + ", the same keys elsewhere in storage");
    }
    const Bound bound = trial.bound_of(changed);
    tally.same({output, bound, trial.contract()}, {trial.output(), trial.bound(), trial.contract()},
               "the same keys elsewhere in storage", rows);
  };

  AttentionProblem changed;
  bool same_chunks = false;
  if (p->paged() && make_contiguous(*p, changed, same_chunks) && trial.refusal(changed).empty()) {
    compare(changed, same_chunks);
  }
  // A page of one key adjoins nothing; one of several is partly used at the end. Not all sizes fit a kernel's chunk.
  for (const std::int64_t size : {random.integer(2, 24), std::int64_t{1}}) {
    if (page(*p, changed, size, random) && trial.refusal(changed).empty()) {
      compare(changed, true);
      break;
    }
  }
  if (!asked) return unsupported("no other storage that the kernel takes");
  return tally.verdict("no key");
}

}  // namespace

Law paged_equals_contiguous() {
  return {"keys in pages and contiguous ones give the same o and lse, the same bits under the same plan", kTeeth,
          relate};
}

}  // namespace flashproof::law::paged_equals_contiguous
