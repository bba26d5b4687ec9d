// A kernel that declares mask isolation: NaN and inf in k and v of keys that no query sees, and in q, dO, o and lse of queries
// that see no key, change no bit: such a pair is left out of every sum, and the gradients of such a key or query are 0. The last
// key of every sequence is hidden by a length first, so that every case has such keys. With a kernel that is not
// deterministic the gradients stay within both bounds.
#include <algorithm>
#include <limits>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
namespace {

constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};

void fill_row(Tensor& tensor, std::int64_t b, std::int64_t h, std::int64_t i, double value) {
  for (std::int64_t c = 0; c < tensor.shape[3]; ++c) tensor.set({b, h, i, c}, value);
}

/// The problem with every tensor dense and its last keys hidden.
BackwardProblem shortened(BackwardProblem p) {
  AttentionProblem& f = p.forward;
  for (Tensor* tensor : {&f.q, &f.k, &f.v, &p.d_out, &p.o, &p.lse}) {
    const std::vector<std::int64_t> all = iota(tensor->shape[0]);
    *tensor = gather(*tensor, 0, all);
  }
  std::vector<std::int32_t> length;
  length.reserve(static_cast<std::size_t>(f.batch()));
  for (std::int64_t b = 0; b < f.batch(); ++b) {
    length.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(f.visible_length(b) - 1, 0)));
  }
  f.key_length = std::move(length);
  return p;
}

/// How many rows hold the value now that no sum may read.
int plant(BackwardProblem& p, double value) {
  AttentionProblem& f = p.forward;
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(p.key_rows()), 0);
  int planted = 0;
  for_each_query(f, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t) {
    bool sees = false;
    const auto keys = f.visible_keys(b, i);
    for (std::int64_t j = keys.first; j < keys.last; ++j) {
      if (f.hidden_by_bias(b, h, i, j)) continue;
      seen[static_cast<std::size_t>(key_row(f, b, f.kv_head(h), j))] = 1;
      sees = true;
    }
    if (sees) return;
    for (Tensor* tensor : {&f.q, &p.d_out, &p.o}) fill_row(*tensor, b, h, i, value);
    p.lse.set({b, h, i}, value);
    ++planted;
  });
  for (std::int64_t row = 0; row < p.key_rows(); ++row) {
    if (seen[static_cast<std::size_t>(row)] != 0) continue;
    const std::int64_t j = row % f.k_length(), head = row / f.k_length();
    for (Tensor* tensor : {&f.k, &f.v}) fill_row(*tensor, head / f.k_heads(), head % f.k_heads(), j, value);
    ++planted;
  }
  return planted;
}

}  // namespace

Verdict hidden_nan_of_gradients(Trial& trial) {
  if (!trial.contract().isolates_hidden) return unsupported("the kernel does not declare mask isolation");
  if (no_rows(gradient_of(trial))) return vacuous("no row");
  const BackwardProblem base = shortened(with_any_forward(trial));
  const Case subject{trial.subject().spec, base};
  Trial shorter(trial.kernel(), subject, nullptr, trial.options(), trial.runner());
  if (std::string why = shorter.refusal(base); !why.empty()) return unsupported(std::move(why));
  Comparison tally;
  for (const double special : kSpecial) {
    BackwardProblem changed = base;
    if (plant(changed, special) == 0) return vacuous("every query sees every key");
    const bool same = tally.add(same_outputs(shorter, shorter.run(changed), shorter.output()), Failure::leak,
                                ", " + std::to_string(special) + " in keys and queries that see nothing of each other");
    if (!same) break;
  }
  return tally.verdict("");
}

}  // namespace flashproof
