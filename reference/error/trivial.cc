#include "reference/error/trivial.h"

#include <cmath>
#include <numbers>

#include "reference/bound/row/decode_row.h"
#include "reference/error/error_stats.h"
#include "reference/problem/score_terms.h"
#include "reference/problem/special_values.h"

namespace flashproof {

std::string_view name(Trivial answer) {
  constexpr std::string_view kNames[kTrivials] = {"0",
                                                  "1",
                                                  "a copy of the input",
                                                  "uniform weights",
                                                  "the least or the largest value",
                                                  "the largest score alone",
                                                  "twice or half the sum"};
  return kNames[static_cast<std::size_t>(answer)];
}

namespace {

/// One element and the answers that every output has.
class Candidate {
 public:
  Candidate(Format format, const Ball& truth, TrivialGap& gap)
      : format_(format),
        truth_(truth),
        number_(truth.classes == kFinite),
        half_ulp_(number_ ? ulp(format, truth) / 2 : 0),
        gap_(gap) {
    exactly(Trivial::zero, 0);
    exactly(Trivial::one, 1);
  }
  void consider(Trivial answer, double value) {
    // As a kernel stores it: the rounding may carry it into what is accepted.
    if (number_) gap_.consider(answer, round_to(format_, value), truth_, half_ulp_);
  }
  /// The same of a number of the format, or a NaN.
  void exactly(Trivial answer, double value) {
    if (number_) gap_.consider(answer, value, truth_, half_ulp_);
  }
  /// Of an lse, whose largest score this is. Where ln 2 is lost in the last rounding the format has no room for the sum.
  void sum(double largest_score) {
    consider(Trivial::maximum, largest_score);
    if (number_ && half_ulp_ < std::numbers::ln2) consider(Trivial::twice, truth_.hi + std::numbers::ln2);
  }

 private:
  Format format_;
  Ball truth_;
  bool number_;
  double half_ulp_;
  TrivialGap& gap_;
};

TrivialGaps sized(const Truth& truth) {
  return {std::vector<TrivialGap>(truth.o.size()), std::vector<TrivialGap>(truth.lse.size())};
}

/// Least, largest and mean of each column of what a row sees.
struct Columns {
  std::vector<double> least, largest, sum;
  double rows = 0;

  explicit Columns(std::size_t width) : least(width, kInfinity), largest(width, -kInfinity), sum(width) {}
  void add(const double* row) {
    ++rows;
    for (std::size_t c = 0; c < sum.size(); ++c) {
      least[c] = row[c] < least[c] ? row[c] : least[c];
      largest[c] = row[c] > largest[c] ? row[c] : largest[c];
      sum[c] += row[c];
    }
  }
  void consider(std::size_t column, double factor, Candidate& candidate) const {
    candidate.consider(Trivial::uniform, factor * (sum[column] / rows));
    candidate.consider(Trivial::extreme, factor * least[column]);
    candidate.consider(Trivial::extreme, factor * largest[column]);
  }
};

TrivialGaps of_softmax(const SoftmaxProblem& p, const Truth& truth) {
  TrivialGaps gaps = sized(truth);
  std::vector<double> row(static_cast<std::size_t>(truth.width));
  for (std::int64_t r = 0; r < truth.rows; ++r) {
    const std::int64_t length = p.row_length.empty() ? truth.width : p.row_length[static_cast<std::size_t>(r)];
    bound::decode_row(p.x, p.x.offset({r, 0}), p.x.stride[1], truth.width, row.data());
    double maximum = -kInfinity, visible = 0;
    for (std::int64_t c = 0; c < length; ++c) {
      const double x = row[static_cast<std::size_t>(c)];
      maximum = x > maximum ? x : maximum;
      visible += x == -kInfinity ? 0 : 1;
    }
    const double uniform = round_to(p.x.format, 1 / visible);
    for (std::int64_t c = 0; c < truth.width; ++c) {
      const auto i = static_cast<std::size_t>(r * truth.width + c);
      Candidate candidate(p.x.format, truth.o[i], gaps.o[i]);
      candidate.exactly(Trivial::copy, row[static_cast<std::size_t>(c)]);
      candidate.exactly(Trivial::uniform, uniform);
    }
    Candidate lse(Format::f32, truth.lse[static_cast<std::size_t>(r)], gaps.lse[static_cast<std::size_t>(r)]);
    lse.sum(maximum);
  }
  return gaps;
}

/// What the states are worth to the output of row r, one after another: o_c, or O_c/l_c of an un-normalised one.
void read_states(const MergeProblem& p, std::int64_t r, std::vector<double>& values) {
  const std::int64_t states = p.o.shape[0], width = p.o.shape[2];
  for (std::int64_t s = 0; s < states; ++s) {
    double* const row = values.data() + s * width;
    bound::decode_row(p.o, p.o.offset({s, r, 0}), p.o.stride[2], width, row);
    if (!p.has_l()) continue;
    const double sum = p.l.at({s, r});
    for (std::int64_t c = 0; c < width; ++c) row[c] /= sum;
  }
}

TrivialGaps of_merge(const MergeProblem& p, const Truth& truth) {
  TrivialGaps gaps = sized(truth);
  const std::int64_t states = p.o.shape[0], width = p.o.shape[2];
  std::vector<double> values(static_cast<std::size_t>(states * width));
  for (std::int64_t r = 0; r < truth.rows; ++r) {
    read_states(p, r, values);
    Columns columns(static_cast<std::size_t>(width));
    double maximum = -kInfinity;
    for (std::int64_t s = 0; s < states; ++s) {
      const double lse = p.lse.at({s, r});
      maximum = lse > maximum ? lse : maximum;
      if (lse != -kInfinity) columns.add(values.data() + s * width);
    }
    for (std::int64_t c = 0; c < truth.width; ++c) {
      const auto i = static_cast<std::size_t>(r * truth.width + c);
      Candidate candidate(p.o.format, truth.o[i], gaps.o[i]);
      const auto copy = [&](double value) {
        p.has_l() ? candidate.consider(Trivial::copy, value) : candidate.exactly(Trivial::copy, value);
      };
      if (p.form == MergeForm::concat) {
        const double block = values[static_cast<std::size_t>(c)];  // of state c / width, as they lie one after another
        copy(block);
        candidate.consider(Trivial::uniform, block / columns.rows);
        continue;
      }
      for (std::int64_t s = 0; s < states; ++s) copy(values[static_cast<std::size_t>(s * width + c)]);
      columns.consider(static_cast<std::size_t>(c), 1, candidate);
    }
    Candidate lse(Format::f32, truth.lse[static_cast<std::size_t>(r)], gaps.lse[static_cast<std::size_t>(r)]);
    lse.sum(maximum);
  }
  return gaps;
}

/// One sequence and head of an attention, its keys and values decoded. Scores are plain doubles: a trivial answer need not be
/// known better than the distance that is asked for.
class Head {
 public:
  Head(const AttentionProblem& p, std::int64_t s, std::int64_t h)
      : p_(p),
        s_(s),
        h_(h),
        kv_(p.kv_head(h)),
        keys_(p.visible_length(s)),
        width_(p.value_dim()),
        factor_(static_cast<double>(p.scale) * AttentionProblem::descale(p.q_descale, s, kv_) *
                AttentionProblem::descale(p.k_descale, s, kv_)),
        values_(static_cast<std::size_t>(keys_ * width_)),
        transposed_(static_cast<std::size_t>(keys_ * p.head_dim())),
        query_(static_cast<std::size_t>(p.head_dim())) {
    for (std::int64_t j = 0; j < keys_; ++j) {
      const std::int64_t k = p.k_offset(s, kv_, j), v = p.v_offset(s, kv_, j);
      bound::decode_row(p.k, k, p.k.stride[3], p.head_dim(), query_.data());
      for (std::int64_t c = 0; c < p.head_dim(); ++c) {
        transposed_[static_cast<std::size_t>(c * keys_ + j)] = query_[static_cast<std::size_t>(c)];
      }
      bound::decode_row(p.v, v, p.v.stride[3], width_, values_.data() + j * width_);
    }
  }

  void row(std::int64_t i, const Truth& truth, TrivialGaps& gaps) {
    const AttentionProblem::Keys keys = p_.visible_keys(s_, i);
    if (!(seen_ && !p_.has_bias() && keys.first == first_ && keys.last == last_)) see(i, keys);
    const double value_factor = AttentionProblem::descale(p_.v_descale, s_, kv_);
    const std::int64_t row = p_.output_row(s_, h_, i);
    bound::decode_row(p_.q, p_.q_offset(s_, h_, i), p_.q.stride[3], p_.head_dim(), query_.data());
    for (std::int64_t c = 0; c < width_; ++c) {
      const auto at = static_cast<std::size_t>(row * width_ + c);
      Candidate candidate(p_.output_format(), truth.o[at], gaps.o[at]);
      if (c < p_.head_dim()) candidate.consider(Trivial::copy, query_[static_cast<std::size_t>(c)]);
      columns_.consider(static_cast<std::size_t>(c), value_factor, candidate);
    }
    const auto at = static_cast<std::size_t>(row);
    Candidate lse(Format::f32, truth.lse[at], gaps.lse[at]);
    lse.sum(largest_score(i, keys));
  }

 private:
  void see(std::int64_t i, const AttentionProblem::Keys& keys) {
    columns_ = Columns(static_cast<std::size_t>(width_));
    for (std::int64_t j = keys.first; j < keys.last; ++j) {
      if (!p_.hidden_by_bias(s_, h_, i, j)) columns_.add(values_.data() + j * width_);
    }
    first_ = keys.first;
    last_ = keys.last;
    seen_ = true;
  }

  /// query_ is that of the row.
  double largest_score(std::int64_t i, const AttentionProblem::Keys& keys) {
    double largest = p_.has_sink() ? p_.sink.at({h_}) : -kInfinity;
    if (keys.first >= keys.last) return largest;
    dots_.assign(static_cast<std::size_t>(keys_), 0.0);
    for (std::int64_t c = 0; c < p_.head_dim(); ++c) {
      const double component = query_[static_cast<std::size_t>(c)];
      const double* column = transposed_.data() + c * keys_;
      for (std::int64_t j = keys.first; j < keys.last; ++j) dots_[static_cast<std::size_t>(j)] += component * column[j];
    }
    const double cap = static_cast<double>(p_.softcap);
    for (std::int64_t j = keys.first; j < keys.last; ++j) {
      double score = factor_ * dots_[static_cast<std::size_t>(j)];
      if (cap != 0) score = cap * std::tanh(score / cap);
      score += added_to_score(p_, s_, h_, i, j);
      largest = score > largest ? score : largest;
    }
    return largest;
  }

  const AttentionProblem& p_;
  std::int64_t s_, h_, kv_, keys_, width_;
  double factor_;
  std::vector<double> values_, transposed_, query_, dots_;  // query_: of one row, before that of one key
  // Of the keys [first_, last_), where no bias hides one: rows without a mask share them.
  Columns columns_{0};
  std::int64_t first_ = 0, last_ = 0;
  bool seen_ = false;
};

TrivialGaps of_attention(const AttentionProblem& p, const Truth& truth) {
  TrivialGaps gaps = sized(truth);
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      Head head(p, s, h);
      for (std::int64_t i = 0; i < p.q_length(s); ++i) head.row(i, truth, gaps);
    }
  }
  return gaps;
}

/// The gradient of `input`, row-major over its shape.
std::vector<TrivialGap> of_gradient(const Tensor& input, const Balls& truth, Format format) {
  std::vector<TrivialGap> gaps(truth.size());
  std::vector<double> row(static_cast<std::size_t>(input.shape[3]));
  std::size_t at = 0;
  for (std::int64_t b = 0; b < input.shape[0]; ++b) {
    for (std::int64_t h = 0; h < input.shape[1]; ++h) {
      for (std::int64_t i = 0; i < input.shape[2]; ++i) {
        bound::decode_row(input, input.offset({b, h, i, 0}), input.stride[3], input.shape[3], row.data());
        for (std::int64_t c = 0; c < input.shape[3]; ++c, ++at) {
          Candidate candidate(format, truth[at], gaps[at]);
          candidate.consider(Trivial::copy, row[static_cast<std::size_t>(c)]);
        }
      }
    }
  }
  return gaps;
}

TrivialGaps of_backward(const BackwardProblem& p, const Truth& truth) {
  const Format format = p.forward.q.format;
  return {.dq = of_gradient(p.forward.q, truth.dq, format),
          .dk = of_gradient(p.forward.k, truth.dk, format),
          .dv = of_gradient(p.forward.v, truth.dv, format)};
}

}  // namespace

TrivialGaps trivial_gaps(const Problem& problem, const Truth& truth) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return of_softmax(*softmax, truth);
  if (const auto* merge = std::get_if<MergeProblem>(&problem)) return of_merge(*merge, truth);
  if (const auto* backward = std::get_if<BackwardProblem>(&problem)) return of_backward(*backward, truth);
  return of_attention(std::get<AttentionProblem>(problem), truth);
}

}  // namespace flashproof
