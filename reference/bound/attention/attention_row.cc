#include "reference/bound/attention/attention_row.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/costs.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

namespace {

constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kKeyBlock = AttentionInput::kKeyBlock;

/// Of two computed scores, at most.
double spread(const Leaves& leaves) {
  double highest = -kInfinity, lowest = kInfinity;
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    highest = std::max(highest, leaves.score[j] + leaves.score_error[j]);
    lowest = std::min(lowest, leaves.score[j] - leaves.score_error[j]);
  }
  return (highest - lowest) * kSlack;
}

}  // namespace

AttentionRows::AttentionRows(const AttentionProblem& p, const Arithmetic& a, const AttentionInput& input)
    : p_(p), a_(a), input_(input) {
  if (!p.has_descale()) use_scale(0, 0);
}

void AttentionRows::use_scale(std::int64_t s, std::int64_t kv) {
  const ScoreScale scale = score_scale(p_, a_, s, kv);
  value_factor_ = AttentionProblem::descale(p_.v_descale, s, kv);
  scores_.emplace(p_, a_, scale);
  paths_.emplace(p_, a_, scale);
  split_.emplace(p_, a_, scale, value_factor_);
}

void AttentionRows::use_head() {
  if (p_.has_descale()) use_scale(input_.sequence(), input_.kv_head());
}

void AttentionRows::load_bias(std::int64_t query, std::int64_t first, std::int64_t count) {
  bias_.resize(std::max<std::size_t>(bias_.size(), count));
  const std::int64_t at = p_.bias.offset({input_.sequence(), input_.head_index(), query, 0});
  for (std::int64_t j = 0; j < count; ++j) {
    bias_[j] = decode(p_.bias.format, p_.bias.bits(at + (first + j) * p_.bias.stride[3]));
  }
}

/// made_[0, count) to the leaves, but for those whose weight is 0, as if masked. False: the row is symbolic.
bool AttentionRows::append(const double* dot, std::int64_t i, std::int64_t first, std::int64_t count, bool biased,
                           Leaves& leaves) {
  std::int64_t odd = 0;
  for (std::int64_t j = 0; j < count; ++j) odd |= std::fabs(made_.value[j]) + std::fabs(dot[j]) < kInfinity ? 0 : 1;
  std::int64_t kept = count;
  if (odd != 0) {
    kept = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      if (biased && bias_[j] == -kInfinity) continue;
      const double value = made_.value[j];
      if (!std::isfinite(value) || !std::isfinite(dot[j])) {
        // Finite products beside an infinite one may overflow first.
        double finite = 0;
        for (std::int64_t c = 0; c < p_.head_dim(); ++c) {
          const double product = std::fabs(input_.q(i)[c] * head().k[(first + j) * p_.head_dim() + c]);
          finite += std::isfinite(product) ? product : 0;
        }
        range_.largest = std::max(range_.largest, Raw{scores_->partial_sum(finite)});
      }
      range_.lost = range_.lost || value == -kInfinity;
      if (value == -kInfinity) continue;
      if (!std::isfinite(value)) return false;
      leaves.key.push_back(first + j);
      for (auto* array : {&made_.value, &made_.error, &made_.own, &made_.largest}) (*array)[kept] = (*array)[j];
      ++kept;
    }
  } else {
    const std::size_t at = leaves.key.size();
    leaves.key.resize(at + count);
    for (std::int64_t j = 0; j < count; ++j) leaves.key[at + j] = first + j;
  }
  leaves.score.insert(leaves.score.end(), made_.value.begin(), made_.value.begin() + kept);
  leaves.score_error.insert(leaves.score_error.end(), made_.error.begin(), made_.error.begin() + kept);
  leaves.own.insert(leaves.own.end(), made_.own.begin(), made_.own.begin() + kept);
  // Lane by lane: a plain maximum is no vector code.
  double largest[kLanes] = {}, natural[kLanes] = {};
  const auto take = [&](std::int64_t j, std::int64_t lane) {
    const double size = std::fabs(made_.value[j]) + made_.error[j];
    largest[lane] = made_.largest[j] > largest[lane] ? made_.largest[j] : largest[lane];
    natural[lane] = size > natural[lane] ? size : natural[lane];
  };
  std::int64_t j = 0;
  for (; j + kLanes <= kept; j += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) take(j + lane, lane);
  }
  for (; j < kept; ++j) take(j, 0);
  range_.largest = std::max(range_.largest, Raw{*std::max_element(largest, largest + kLanes)});
  range_.natural = std::max(range_.natural, Nats{*std::max_element(natural, natural + kLanes)});
  return true;
}

bool AttentionRows::collect_scores(std::int64_t i, Leaves& leaves) {
  leaves.key.clear();
  for (auto* array : {&leaves.score, &leaves.score_error, &leaves.own}) array->clear();
  range_ = {};
  const std::int64_t query = input_.query(i);
  const AttentionProblem::Keys keys = p_.visible_keys(input_.sequence(), query);
  const ScoreTerms terms{.bias = nullptr, .sequence = input_.sequence(), .head = input_.head_index(), .query = query};
  made_.resize(kKeyBlock);
  if (p_.has_sink()) {
    const double sink = p_.sink.at({input_.head_index()});
    if (std::isnan(sink) || sink == kInfinity) return false;
    if (sink != -kInfinity) {
      scores_->sink(sink, made_);
      leaves.key.push_back(-1);
      leaves.score.push_back(made_.value[0]);
      leaves.score_error.push_back(made_.error[0]);
      leaves.own.push_back(made_.own[0]);
      range_ = {
          .largest = {made_.largest[0]}, .natural = {std::fabs(sink) + made_.error[0]}, .apart = {}, .lost = false};
    }
  }
  std::int64_t end = 0;
  for (std::int64_t first = std::max<std::int64_t>(keys.first, 0); first < keys.last; first = end) {
    const std::int64_t block = first / kKeyBlock * kKeyBlock;
    end = std::min(block + kKeyBlock, keys.last);
    const double* const dot = input_.dot(i, first);
    ScoreTerms here = terms;
    if (p_.has_bias()) {
      load_bias(query, first, end - first);
      here.bias = bias_.data();
    }
    scores_->score(dot, input_.size(i, first), input_.sizes(i), head(), first, end - first, here, made_);
    if (!append(dot, i, first, end - first, here.bias != nullptr, leaves)) return false;
  }
  return leaves.size() > 0;
}

// o = N/l, N·fl(1/l) or N·e^{m−lse}, and its product with v_descale; the last of them is the storage rounding in f32.
void AttentionRows::end_whole_row(AttentionRow& row) const {
  const bool narrow = p_.output_format() != Format::f32, product = !p_.v_descale.shape.empty();
  const int store = narrow || product ? 1 : 0;
  const double frame = std::fabs(row.model.frame.max) + row.model.frame.error + row.model.lag;
  row.lse = lse_bound(row.weights, a_.log_error, a_.log_absolute);
  const double size = std::fabs(row.weights.lse) + row.lse.total();
  const double form = lse_form_cost(a_, scores_->scale(), Nats{frame}, Nats{size});
  row.lse.output += form;
  row.lse.probable += form;
  EndingModel& ending = row.ending;
  if (a_.reduction != Reduction::chunk_deferred && a_.reduction != Reduction::lse_running) {
    ending = EndingModel(0);
  } else if (a_.ending == Ending::division_free) {
    ending = division_free_ending(row.weights, a_, size + form);
    ending.log_units += roundings(store - 1);  // its product is the last rounding in f32
    if (rounds_frame(a_)) ending.log_units += division_free_argument(a_, row.weights.log_sum, size + form);
    if (a_.lse_form == LseForm::base2) ending.log_units += form + roundings(2) * frame;
  } else {
    ending = EndingModel(store);
    if (a_.ending == Ending::multiply_reciprocal) {
      ending.log_units += a_.reciprocal_error == 0 ? roundings(1) : -std::log1p(-a_.reciprocal_error);
      ending.underflow += 0x1p-150;
    }
  }
  if (narrow && product) ending.log_units += roundings(1);
  if (a_.underflow == Underflow::flush) ending.underflow += (product ? 3 : 2) * 0x1p-126;
}

// What the product loses where it is subnormal is the only part that it does not multiply. A split's parts have paid for it.
ElementBound AttentionRows::descaled(const ElementBound& bound) const {
  const double factor = std::fabs(value_factor_);
  if (factor == 0) return {};  // 0 times a number, in the kernel too
  ElementBound result = bound;
  for (double* const part : {&result.weights, &result.numerator, &result.denominator, &result.output, &result.probable,
                             &result.drift, &result.size}) {
    *part *= factor;
  }
  const double lost = a_.split.parts > 1 ? 0 : product_underflow(a_);
  result.output += lost;
  result.probable += lost;
  return result;
}

bool AttentionRows::build(std::int64_t i, AttentionRow& row) {
  RowModel& model = row.model;
  Leaves& leaves = model.leaves;
  row.preconditions.clear();
  if (!collect_scores(i, leaves)) {
    if (leaves.size() == 0 && range_.lost) {
      score_preconditions(scores_->scale(), range_, scores_->query_range(input_.sizes(i)), row.preconditions);
    }
    return false;
  }
  for (auto* array : {&leaves.exponent, &leaves.numerator, &leaves.denominator}) array->resize(leaves.size());
  for (auto* array : {&leaves.lost, &leaves.lost_numerator, &leaves.own_numerator}) array->assign(leaves.size(), 0);
  model.frame = frame_of(leaves);
  model.lead = 0;
  paths_->charge(model, head());
  const bool parts = a_.split.parts > 1;
  if (parts) split_->charge(model, *paths_);
  const double floor = model.frame.max - model.frame.error;
  // Fused, a rounded frame leaves arguments above 0: such a weight is above 1, and its exponential errs further up.
  model.above = 0;
  if (a_.exponent == Exponent::fused) {
    for (std::size_t j = 0; j < leaves.size(); ++j) {
      const double height = std::min(0.0, leaves.score[j] + leaves.score_error[j] - floor);
      model.above = std::max(model.above, height + leaves.exponent[j]);
    }
  }
  if (parts || paths_->exponents().rounds_frame() || model.lag > 0) {
    // The largest weight is not exactly 1 then: it errs by its own exponent.
    for (std::size_t j = 0; j < leaves.size(); ++j) {
      if (leaves.score[j] + leaves.score_error[j] >= floor) model.lead = std::max(model.lead, leaves.exponent[j]);
    }
    model.lag += model.lead;
  }
  perturbed_weights(model, row.weights);
  paths_->add_underflow(model, row.weights, head(), parts ? split_->normalised_underflow() : 0,
                        parts ? split_->least_log() : 0);
  if (parts) {
    row.ending = split_->ending();
    row.lse = split_->lse();
    row.lse.size = std::fabs(row.weights.lse);
    if (a_.underflow == Underflow::flush) row.ending.underflow += 2 * 0x1p-126 * split_->per_factor();
  } else {
    end_whole_row(row);
  }
  if (a_.unit == ScoreUnit::raw) range_.apart = {spread(leaves)};
  auto& list = row.preconditions;
  row_preconditions(a_, scores_->scale(), range_, scores_->query_range(input_.sizes(i)), *paths_, row.weights, list);
  if (parts) list.insert(list.end(), split_->preconditions().begin(), split_->preconditions().end());
  if (a_.ending == Ending::division_free) {
    const double units = parts ? split_->largest_ending() : row.ending.log_units;
    list.push_back({kFreeFactor, units + model.common + model.lead, kLogF32Max});
  }
  const double ended = parts ? growth(*std::ranges::max_element(leaves.numerator)) : 0;
  row.accumulator = accumulator_range(a_, *paths_, value_factor_, static_cast<double>(leaves.size()), ended);
  return true;
}

double AttentionRows::largest_value(const AttentionRow& row, std::int64_t column) const {
  double largest = 0;
  for (const std::int64_t key : row.model.leaves.key) {
    if (key < 0) continue;
    const double v = head().v[key * p_.value_dim() + column];
    largest = std::isfinite(v) ? std::max(largest, std::fabs(v)) : kInfinity;
  }
  return largest;
}

}  // namespace flashproof::bound
