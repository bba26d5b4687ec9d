// What every reader of an attention problem may rely on: after this its accessors stay inside its tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/problem/checks.h"
#include "reference/problem/problems.h"
#include "reference/system/error.h"

namespace flashproof {

using namespace checks;

namespace {

/// 0 = start[0] <= start[1] <= ... <= total, and equal to it at the end if `exact`.
void check_start(std::string_view argument, const std::vector<std::int32_t>& start, std::string_view axis,
                 std::int64_t total, bool exact) {
  if (start.front() != 0) throw UsageError(fmt::format("{}[0]: {}, must be 0", argument, start.front()));
  for (std::size_t s = 1; s < start.size(); ++s) {
    if (start[s] < start[s - 1] || start[s] > total) {
      throw UsageError(fmt::format("{}[{}]: {}, must be {}..{}", argument, s, start[s], start[s - 1], total));
    }
  }
  if (exact && start.back() != total) {
    throw UsageError(fmt::format("{}: ends with {}, must end with {}, {}", argument, start.back(), axis, total));
  }
}

void check_packs(const AttentionProblem& p) {
  if (!p.packed()) {
    if (!p.k_start.empty()) throw UsageError("k_start: must be empty without q_start");
    return;
  }
  check_axis("q axis 0 (packed)", p.q.shape[0], 1, 1);
  check_start("q_start", p.q_start, "q axis 2", p.q.shape[2], true);
  if (p.has_bias()) throw UsageError("bias: must be absent where sequences are packed (q_start)");
  if (p.paged()) {
    if (!p.k_start.empty()) throw UsageError("k_start: must be empty where keys are paged (page_table)");
    return;
  }
  if (p.k_start.size() != p.q_start.size()) {
    throw UsageError(
        fmt::format("k_start: {} entries, must be as many as q_start, {}", p.k_start.size(), p.q_start.size()));
  }
  check_start("k_start", p.k_start, "k axis 2", p.k.shape[2], false);
}

/// The size of the table; k_length() does not overflow after this.
void check_pages(const AttentionProblem& p) {
  const std::int64_t sequences = p.sequences();
  const auto entries = static_cast<std::int64_t>(p.page_table.size());
  if (sequences == 0 || entries % sequences != 0) {
    throw UsageError(fmt::format(
        "page_table: {} entries, must be {}", entries,
        sequences == 0 ? "empty without a sequence" : fmt::format("a multiple of the {} sequences", sequences)));
  }
  const std::int64_t page_size = p.k.shape[2];
  check_axis("k axis 2 (page size)", page_size, 1, kMaxExtent);
  if (entries / sequences > kMaxExtent / page_size) {
    throw UsageError(fmt::format("page_table: {} pages of {} keys per sequence, must be at most {} keys",
                                 entries / sequences, page_size, kMaxExtent));
  }
}

/// Of the pages that hold keys. k_length() and key_length are checked.
void check_page_entries(const AttentionProblem& p) {
  const std::int64_t per_sequence = p.pages_per_sequence(), page_size = p.k.shape[2], pages = p.k.shape[0];
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t page = 0; page * page_size < p.visible_length(s); ++page) {
      const std::int32_t entry = p.page_table[s * per_sequence + page];
      if (entry >= 0 && entry < pages) continue;
      throw UsageError(fmt::format("page_table[{}]: {}, must be 0..{} (k axis 0): sequence {} has keys there",
                                   s * per_sequence + page, entry, pages - 1, s));
    }
  }
}

/// f32 (sequences, heads), finite; no shape = none. `what` its numbers are.
void check_factors(std::string_view name, const Tensor& tensor, std::int64_t sequences, std::int64_t heads,
                   std::string_view what) {
  if (tensor.shape.empty()) return check_absent(name, tensor);
  check_tensor(name, tensor, 2, Legal::f32);
  check_shape(name, tensor, {sequences, heads});
  // The strides of a hostile file may make 2^40 numbers of one; the outputs bound them, but for empty ones.
  if (sequences > 0 && heads > kMaxExtent / sequences) {
    throw UsageError(fmt::format("{}: {} x {} {}, must be at most {}", name, sequences, heads, what, kMaxExtent));
  }
  const auto& stride = tensor.stride;  // one number that serves a whole axis is looked at once
  for (std::int64_t s = 0; s < (stride[0] == 0 ? std::min<std::int64_t>(sequences, 1) : sequences); ++s) {
    for (std::int64_t h = 0; h < (stride[1] == 0 ? 1 : heads); ++h) {
      if (!std::isfinite(tensor.at({s, h}))) throw UsageError(fmt::format("{}[{}, {}]: must be finite", name, s, h));
    }
  }
}

void check_scores(const AttentionProblem& p) {
  if (!std::isfinite(p.scale)) throw UsageError("scale: must be finite");
  if (!(p.softcap >= 0.0F) || !std::isfinite(p.softcap)) {
    throw UsageError(fmt::format("softcap: {}, must be 0 (none) or finite and positive", p.softcap));
  }
  check_axis("window_left", p.window_left, -1, kMaxExtent);
  check_axis("window_right", p.window_right, -1, kMaxExtent);
  if (p.has_bias()) {
    check_tensor("bias", p.bias, 4, Legal::f32);
    check_shape("bias", p.bias, {p.batch(), p.q_heads(), p.q_length(), p.k_length()});
  } else {
    check_absent("bias", p.bias);
  }
  check_factors("alibi", p.alibi, p.sequences(), p.q_heads(), "slopes");
  check_factors("q_descale", p.q_descale, p.sequences(), p.k_heads(), "factors");
  check_factors("k_descale", p.k_descale, p.sequences(), p.k_heads(), "factors");
  check_factors("v_descale", p.v_descale, p.sequences(), p.k_heads(), "factors");
  if (!p.has_sink()) return check_absent("sink", p.sink);
  check_tensor("sink", p.sink, 1, Legal::f32);  // any value: NaN and +inf have their answer
  check_shape("sink", p.sink, {p.q_heads()});
}

void check_key_lengths(const AttentionProblem& p) {
  check_lengths("key_length", p.key_length, p.sequences(), p.k_length());
  if (p.k_start.empty()) return;
  for (std::size_t s = 0; s < p.key_length.size(); ++s) {
    const std::int64_t most = p.k_start[s + 1] - p.k_start[s];
    if (p.key_length[s] > most) {
      throw UsageError(fmt::format("key_length[{}]: {}, must be 0..{}", s, p.key_length[s], most));
    }
  }
}

}  // namespace

void validate(const AttentionProblem& problem) {
  check_tensor("q", problem.q, 4, Legal::with_8_bits);
  check_tensor("k", problem.k, 4, Legal::with_8_bits);
  check_tensor("v", problem.v, 4, Legal::with_8_bits);
  check_same_format("v", problem.v, "k", problem.k);
  const std::int64_t q_heads = problem.q_heads(), k_heads = problem.k_heads();
  check_axis("q axis 3 (d)", problem.head_dim(), 1, kMaxHeadDim);
  check_axis("v axis 3 (dv)", problem.value_dim(), 1, kMaxHeadDim);
  check_axis("k axis 1 (heads)", k_heads, 1, kMaxExtent);
  check_axis("q axis 1 (heads)", q_heads, 1, kMaxExtent);
  if (q_heads % k_heads != 0) {
    throw UsageError(fmt::format("q axis 1 (heads): {}, must be a multiple of the {} heads of k", q_heads, k_heads));
  }
  check_packs(problem);
  if (problem.paged()) check_pages(problem);
  const std::int64_t outer = problem.paged() ? problem.k.shape[0] : problem.batch();  // batch or 1 pack, or pages
  check_shape("k", problem.k, {outer, k_heads, problem.k.shape[2], problem.head_dim()});
  check_shape("v", problem.v, {outer, k_heads, problem.k.shape[2], problem.value_dim()});
  check_scores(problem);
  check_output(problem.batch() * q_heads * problem.q_length(), problem.value_dim());
  check_key_lengths(problem);
  if (problem.paged()) check_page_entries(problem);
  check_plan(problem.plan, problem.k_length());
}

}  // namespace flashproof
