// Plain loops over arrays, which compilers turn into vector code.
#include "reference/bound/row/row_entries.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/row/row_weights.h"
#include "reference/bound/vector/key_loops.h"
#include "reference/bound/vector/value_table.h"

namespace flashproof::bound {

namespace {

constexpr double kLargestEntry = 64;  // of a weight in f32: then no sum of 2^20 of them overflows
constexpr double kLineDoubt =
    0x1p-13;  // what lines may add to Σ (p + q) R'; the largest |v| is seldom 4 times the mean
constexpr double kUpward = 1 + 0x1p-22;  // rounds up into f32

}  // namespace

RowEntries::Keys RowEntries::keys_of(const Leaves& leaves) {
  Keys keys;
  const std::size_t n = leaves.size();
  keys.first = n > 0 && leaves.key[0] < 0 ? 1 : 0;
  keys.end = n > keys.first && leaves.key[n - 1] < 0 ? n - 1 : n;
  std::int64_t gaps = 0;
  for (std::size_t j = keys.first; j < keys.end; ++j) {
    gaps |= leaves.key[j] - leaves.key[keys.first] - static_cast<std::int64_t>(j - keys.first);
  }
  keys.run = gaps == 0;  // a key below 0 in between is a gap
  return keys;
}

RowEntries::Groups RowEntries::groups_of(const Leaves& leaves) {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max(), highest = -1;
  const Keys keys = keys_of(leaves);
  if (keys.run && keys.end > keys.first) {
    lowest = leaves.key[keys.first];
    highest = leaves.key[keys.end - 1];
  }
  for (std::size_t j = keys.first; !keys.run && j < keys.end; ++j) {
    if (leaves.key[j] < 0) continue;
    lowest = std::min(lowest, leaves.key[j]);
    highest = std::max(highest, leaves.key[j]);
  }
  return highest < 0 ? Groups{} : Groups{lowest / kGroupKeys, highest / kGroupKeys + 1};
}

/// Into the places of the leaves; zeros elsewhere.
template <class Value>
void RowEntries::place(float* to, Value&& value) const {
  const auto keys = static_cast<std::size_t>(groups_ * kGroupKeys);
  if (run_) {
    const std::size_t count = end_ - first_;
    std::fill(to, to + at_, 0.0F);
    for (std::size_t j = 0; j < count; ++j) to[at_ + j] = static_cast<float>(value(first_ + j));
    std::fill(to + at_ + count, to + keys, 0.0F);
    return;
  }
  std::fill(to, to + keys, 0.0F);
  for (std::size_t j = 0; j < row_->leaves.size(); ++j) {
    const std::int64_t key = row_->leaves.key[j];
    if (key >= 0) to[key - base_] = static_cast<float>(value(j));
  }
}

// (p + q) R' + z in growth_, numerator_ and rest_, and by which shares of other sums chance is bounded: shares by the row's
// sums, so that little lies above them. Returns Σ (p + q) R' + z.
double RowEntries::weigh_numerator() {
  const auto n = static_cast<std::int64_t>(row_->leaves.size());
  for (auto* array : {&growth_, &numerator_, &rest_}) array->resize(row_->leaves.size());
  const NumeratorInputs in{.p = weights_->p.data(),
                           .q = weights_->q.data(),
                           .units = row_->leaves.numerator.data(),
                           .lost = row_->leaves.lost_numerator.data(),
                           .own = row_->leaves.own.data(),
                           .own_numerator = row_->leaves.own_numerator.data(),
                           .lost_scale = weights_->low / weights_->sum * kSlack,
                           .centred_share = 1 - row_->drift,
                           .all_random = row_->numerator_square > 0,
                           .small = weights_->longest_numerator <= kSmallLog};
  if (!in.small) {
    for (std::int64_t j = 0; j < n; ++j) growth_[j] = std::expm1(in.units[j]) * kSlack;
  }
  NumeratorSums sums{};
  kernels::numerator_weights(in, n, growth_.data(), numerator_.data(), rest_.data(), sums);
  lost_ = sums.lost;
  own_numerator_ = sums.own_numerator > 0;
  extra_ = sums.extra * kSlack;
  const auto share = [](double part, double all) { return part > 0 && all > 0 ? std::min(part / all, 1.0) : 0; };
  coherent_share_ = share(sums.coherent, sums.q);
  rest_share_ = share(sums.rest, sums.total);
  kernels::above_shares(in, n, numerator_.data(), rest_.data(), coherent_share_, rest_share_, coherent_extra_,
                        rest_extra_);
  coherent_extra_ *= kSlack;
  rest_extra_ *= kSlack;
  return sums.total;
}

// The line through the last key's e^R − 1 that no other of the 16 exceeds.
void RowEntries::draw_lines(double total) {
  const auto keys = static_cast<std::size_t>(groups_ * kGroupKeys);
  const std::size_t lines = keys / kLineKeys;
  slope_.resize(lines);
  base_of_line_.resize(lines);
  dense_.resize(keys);
  place(dense_.data(), [&](std::size_t j) { return growth_[j] * kUpward; });
  const double above = kernels::draw_lines(dense_.data(), p_.data(), static_cast<std::int64_t>(lines), slope_.data(),
                                           base_of_line_.data());
  // Beside them, what extra_ has: weights of second order, and lost ones.
  lines_ = above / kEntryScale + extra_ + total * 0x1p-21 <= kLineDoubt * total;
}

void RowEntries::show_keys() {
  const auto keys = static_cast<std::size_t>(groups_ * kGroupKeys);
  visible_.assign(keys, 0);
  full_.resize(static_cast<std::size_t>(groups_));
  if (run_) {
    std::fill_n(visible_.begin() + static_cast<std::ptrdiff_t>(at_), end_ - first_, std::uint8_t{1});
  } else {
    for (const std::int64_t key : row_->leaves.key) {
      if (key >= 0) visible_[key - base_] = 1;
    }
  }
  for (std::size_t g = 0; g < full_.size(); ++g) {
    int seen = 0;
    for (std::size_t i = 0; i < kGroupKeys; ++i) seen += visible_[g * kGroupKeys + i];
    full_[g] = seen == kGroupKeys ? 1 : 0;
  }
}

void RowEntries::sum_blocks(const float* from, float* sums) const {
  for (std::int64_t g = 0; g < groups_; ++g) {
    float sum[kBlocks] = {};
    for (std::int64_t i = 0; i < kGroupKeys; i += kBlocks) {
      for (std::int64_t b = 0; b < kBlocks; ++b) sum[b] += from[g * kGroupKeys + i + b] * from[g * kGroupKeys + i + b];
    }
    std::copy(sum, sum + kBlocks, sums + g * kBlocks);
  }
}

bool RowEntries::enter(const RowModel& row, const RowWeights& weights, Groups groups, std::int64_t padded) {
  row_ = &row;
  weights_ = &weights;
  base_ = groups.first * kGroupKeys;
  groups_ = groups.end - groups.first;
  padded_ = padded;
  const Leaves& leaves = row.leaves;
  const std::size_t n = leaves.size();
  const Keys seen = keys_of(leaves);
  first_ = seen.first;
  end_ = seen.end;
  run_ = seen.run;
  at_ = run_ && end_ > first_ ? static_cast<std::size_t>(leaves.key[first_] - base_) : 0;
  sees_zero_ = first_ > 0 || end_ < n;
  for (std::size_t j = first_; !run_ && j < end_; ++j) sees_zero_ = sees_zero_ || leaves.key[j] < 0;

  const auto keys = static_cast<std::size_t>(groups_ * kGroupKeys);
  const auto blocks = static_cast<std::size_t>(groups_ * kBlocks);
  for (auto* array : {&p_, &q_, &dense_}) array->resize(keys);
  for (auto* array : {&own_square_, &numerator_square_}) array->resize(blocks);
  sums_.assign(static_cast<std::size_t>(kColumnSums * padded_), 0);
  show_keys();
  const double total = weigh_numerator();
  lines_ = true;
  if (!(total <= kLargestEntry) || weights.slop_ratio > 1 || weights.low <= 0x1p-20 || !(weights.sum > 0) ||
      weights.up > kLargestEntry) {
    for (auto* array : {&p_, &q_, &own_square_, &numerator_square_}) std::ranges::fill(*array, 0.0F);
    slope_.assign(keys / kLineKeys, 0);
    base_of_line_.assign(keys / kLineKeys, 0);
    std::ranges::fill(numerator_, 0.0);
    own_numerator_ = false;
    return false;
  }
  const double* const p = weights.p.data();
  const double* const q = weights.q.data();
  const double* const own = leaves.own.data();
  place(p_.data(), [&](std::size_t j) { return p[j] * kEntryScale; });
  place(q_.data(), [&](std::size_t j) { return q[j] * kEntryScale; });
  place(dense_.data(), [&](std::size_t j) { return p[j] * own[j] * 0x1p50; });
  sum_blocks(dense_.data(), own_square_.data());
  if (own_numerator_) {
    const double* const rounding = leaves.own_numerator.data();
    place(dense_.data(), [&](std::size_t j) { return p[j] * rounding[j] * 0x1p50; });
    sum_blocks(dense_.data(), numerator_square_.data());
  }
  draw_lines(total);
  return true;
}

void RowEntries::leave_lines() {
  lines_ = false;
  extra_ = 0;
  all_.resize(static_cast<std::size_t>(groups_ * kGroupKeys));
  place(all_.data(), [&](std::size_t j) { return numerator_[j] * kEntryScale; });
}

PassRow RowEntries::pass() {
  PassRow pass{.p = p_.data(),
               .q = q_.data(),
               .numerator = lines_ ? nullptr : all_.data(),
               .slope = slope_.data(),
               .base = base_of_line_.data(),
               .own_square = own_square_.data(),
               .numerator_square = own_numerator_ ? numerator_square_.data() : nullptr,
               .visible = visible_.data(),
               .full = full_.data(),
               .sees_zero = sees_zero_,
               .sums = {}};
  for (std::size_t i = 0; i < kColumnSums; ++i) pass.sums[i] = sums_.data() + i * static_cast<std::size_t>(padded_);
  return pass;
}

RowConstants RowEntries::constants(const EndingModel& ending) const {
  const RowModel& model = *row_;
  const RowWeights& weights = *weights_;
  const Leaves& leaves = model.leaves;
  RowConstants k{};
  k.low = weights.low;
  k.w = weights.sum;
  for (std::size_t j = 0; sees_zero_ && j < leaves.size(); ++j) {
    if (leaves.key[j] >= 0) continue;
    const double own = weights.p[j] * leaves.own[j];
    k.sink_q += weights.q[j];
    k.sink_own_square += own * own;
  }
  k.q_sum = weights.up - 1;
  k.slop = weights.slop_ratio;
  k.floor = static_cast<double>(groups_ * kGroupKeys) * kFloor;
  k.coarse = growth(weights.longest_numerator) + lost_ / weights.sum * kSlack;
  k.numerator_extra = extra_;
  k.numerator_underflow = model.numerator_underflow / weights.sum;
  k.denominator = denominator_error(weights, 1);
  k.ending = growth(ending.log_units);
  k.ending_underflow = (1 + k.ending) * ending.underflow;
  k.coherent_share = coherent_share_;
  k.coherent_extra = coherent_extra_;
  k.rest_share = rest_share_;
  k.rest_extra = rest_extra_;
  k.drift = model.drift;
  k.numerator_square = model.numerator_square;
  k.denominator_square = weights.denominator_square;
  k.own_root = kLambda * std::sqrt(weights.own_square) * kSlack;
  k.denominator_all = std::max(weights.denominator, weights.denominator_up);
  const bool random = weights.denominator_square > 0;
  k.denominator_rest = random ? weights.denominator_rest : 0;
  k.denominator_first = random ? weights.denominator_absolute : k.denominator_all;
  return k;
}

}  // namespace flashproof::bound
