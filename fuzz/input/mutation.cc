#include "fuzz/input/mutation.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "properties/generators/numbers.h"
#include "reference/problem/random.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kStream = 0x6d757461;

/// A run of entries of one tensor, by offset.
struct Strand {
  Tensor& tensor;
  std::int64_t start, step, count;

  double at(std::int64_t i) const { return decode(tensor.format, tensor.bits(start + i * step)); }
  void set(std::int64_t i, double x) {
    if (!std::isfinite(at(i))) return;
    tensor.set_bits(start + i * step, encode(tensor.format, clamp_to(tensor.format, x)));
  }
  void copy(const Strand& from) {
    for (std::int64_t i = 0; i < count; ++i) tensor.set_bits(start + i * step, tensor.bits(from.start + i * from.step));
  }
};

double resampled(Random& random, double x) {
  return x == 0 ? 0 : std::copysign(pow2(exponent_of(x)), x) * random.uniform(1, 2);
}

/// What happens to single entries, how strongly, and to how many of them: drawn once per strand.
class Change {
 public:
  Change(Random& random, std::int64_t entries) : kind_(random.integer(0, 8)) {
    constexpr double kShares[] = {0, 0, 0.02, 0.125, 0.5, 1};
    share_ = pick(random, kShares);
    least_ = share_ == 0 ? random.integer(1, std::min<std::int64_t>(entries, 3)) : 0;
    octave_ = static_cast<int>(random.integer(1, 4)) * (random.chance(0.5) ? 1 : -1);
    size_ = magnitude(random, -9, 4);
  }

  void apply(Random& random, Strand strand) const {
    for (std::int64_t n = 0; n < least_; ++n) one(random, strand, random.integer(0, strand.count - 1));
    for (std::int64_t i = 0; i < strand.count && share_ > 0; ++i) {
      if (random.chance(share_)) one(random, strand, i);
    }
  }

 private:
  void one(Random& random, Strand& strand, std::int64_t i) const {
    const double x = strand.at(i);
    if (!std::isfinite(x)) return;
    switch (kind_) {
      case 0:
        return strand.set(i, -x);
      case 1:
        return strand.set(i, x * pow2(octave_));
      case 2:
        return strand.set(i, resampled(random, x));
      case 3:
      case 4: {  // a few units in the last place: which way a rounding goes
        const double step =
            spacing(std::max(std::fabs(x), min_normal(strand.tensor.format)), info(strand.tensor.format).precision);
        return strand.set(i, x + step * static_cast<double>(random.integer(-3, 3)));
      }
      case 5:
        return strand.set(i, x + size_ * random.uniform(-1, 1));
      case 6: {
        const double other = strand.at(random.integer(0, strand.count - 1));
        if (std::isfinite(other)) strand.set(i, other);
        return;
      }
      case 7: {
        const std::int64_t j = random.integer(0, strand.count - 1);
        const double other = strand.at(j);
        if (!std::isfinite(other)) return;
        strand.set(i, other);
        return strand.set(j, x);
      }
      default:
        return strand.set(i, x * random.uniform(0.75, 1.25));
    }
  }

  std::int64_t kind_;
  double share_ = 0;
  std::int64_t least_ = 0;
  int octave_ = 0;
  double size_ = 0;
};

/// The strand as a whole: its level or its scale.
void move_all(Random& random, Strand strand) {
  const bool shift = random.chance(0.5);
  const double by =
      shift ? magnitude(random, -6, 6) * random_sign(random) : pow2(static_cast<int>(random.integer(-2, 2)));
  for (std::int64_t i = 0; i < strand.count; ++i) strand.set(i, shift ? strand.at(i) + by : strand.at(i) * by);
}

void change(Random& random, const Strand& strand) {
  if (strand.count == 0) return;
  if (random.chance(0.08)) return move_all(random, strand);
  const Change drawn(random, strand.count);
  drawn.apply(random, strand);
}

using StrandOf = std::function<Strand(std::int64_t)>;

/// Strands 0..n−1 of one tensor: every one but the parent becomes a changed copy of it.
void breed(Random& random, std::int64_t n, std::int64_t parent, const StrandOf& strand_of) {
  const std::int64_t from = parent % n;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i == from) continue;
    Strand strand = strand_of(i);
    strand.copy(strand_of(from));
    change(random, strand);
  }
}

void mutate_kind(SoftmaxProblem& p, Random& random, const Mutation& m) {
  const auto row = [&](std::int64_t r) { return Strand{p.x, r * p.x.stride[0], p.x.stride[1], p.x.shape[1]}; };
  if (p.x.shape[0] == 0) return;
  breed(random, p.x.shape[0], m.row, row);
  if (p.x.shape[0] == 1) change(random, row(0));
}

void mutate_kind(MergeProblem& p, Random& random, const Mutation& m) {
  const std::int64_t states = p.o.shape[0], rows = p.o.shape[1], columns = p.o.shape[2];
  if (rows == 0) return;
  const std::int64_t row = m.row % rows;
  const auto lse_row = [&](std::int64_t r) { return Strand{p.lse, r * p.lse.stride[1], p.lse.stride[0], states}; };
  if (random.chance(0.5)) {  // the states' lse, with the outputs of the parent's row
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns && r != row; ++c) {
        const auto of = [&](std::int64_t at) {
          return Strand{p.o, at * p.o.stride[1] + c * p.o.stride[2], p.o.stride[0], states};
        };
        of(r).copy(of(row));
      }
    }
    breed(random, rows, row, lse_row);
    if (rows == 1) change(random, lse_row(0));
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    breed(random, columns, m.column,
          [&](std::int64_t c) { return Strand{p.o, r * p.o.stride[1] + c * p.o.stride[2], p.o.stride[0], states}; });
    if (columns == 1) change(random, Strand{p.o, r * p.o.stride[1], p.o.stride[0], states});
  }
}

/// Batch 0 and head 0 of each tensor: the searches use no others.
void mutate_kind(AttentionProblem& p, Random& random, const Mutation& m) {
  const auto strand = [](Tensor& t, std::int64_t i) { return Strand{t, i * t.stride[2], t.stride[3], t.shape[3]}; };
  const std::int64_t queries = p.q.shape[2], keys = p.k.shape[2];
  if (queries == 0 || keys == 0) return;
  const std::int64_t dice = random.integer(0, 9);
  if (dice < 4) {
    breed(random, p.v.shape[3], m.column,
          [&](std::int64_t c) { return Strand{p.v, c * p.v.stride[3], p.v.stride[2], keys}; });
    return;
  }
  if (dice < 7) {
    breed(random, queries, m.row, [&](std::int64_t i) { return strand(p.q, i); });
    if (p.has_bias()) breed(random, queries, m.row, [&](std::int64_t i) { return strand(p.bias, i); });
    return;
  }
  if (dice < 8) {  // one component of every key
    const std::int64_t c = random.integer(0, p.k.shape[3] - 1);
    return change(random, {p.k, c * p.k.stride[3], p.k.stride[2], keys});
  }
  const std::int64_t changed = random.chance(0.5) ? 1 : random.integer(1, keys);
  for (std::int64_t n = 0; n < changed; ++n) change(random, strand(p.k, random.integer(0, keys - 1)));
}

/// Batch 0 and head 0 of d_out.
void mutate_kind(BackwardProblem& p, Random& random, const Mutation& m) {
  Tensor& t = p.d_out;
  const std::int64_t queries = t.shape[2], columns = t.shape[3];
  if (queries == 0 || columns == 0) return;
  if (random.chance(0.5)) {
    breed(random, queries, m.row, [&](std::int64_t i) { return Strand{t, i * t.stride[2], t.stride[3], columns}; });
    return;
  }
  const std::int64_t c = random.integer(0, columns - 1);
  change(random, {t, c * t.stride[3], t.stride[2], queries});
}

}  // namespace

void mutate(Problem& problem, const Mutation& mutation) {
  Random random(mutation.seed, kStream);
  if (auto* gradient = std::get_if<BackwardProblem>(&problem)) return mutate_kind(*gradient, random, mutation);
  visit_forward([&](auto& p) { mutate_kind(p, random, mutation); }, problem);
}

std::string to_text(const std::vector<Mutation>& mutations) {
  std::string text;
  for (const Mutation& m : mutations) {
    text += fmt::format("{}{}:{}:{}", text.empty() ? "" : " ", m.seed, m.row, m.column);
  }
  return text;
}

std::vector<Mutation> parse_mutations(std::string_view text) {
  std::vector<Mutation> mutations;
  const auto number = [&](std::string_view token, std::uint64_t most) {
    const auto value = parse_u64(token);
    if (!value || *value > most) {
      throw UsageError("mutations: " + quote(token) + fmt::format(" must be an integer in 0..{}", most));
    }
    return *value;
  };
  while (!text.empty()) {
    if (mutations.size() == kMostMutations) throw UsageError(fmt::format("mutations: at most {}", kMostMutations));
    const std::string_view one = text.substr(0, text.find(' '));
    text.remove_prefix(one.size());
    if (text.size() == 1) throw UsageError("mutations: a space at the end");
    if (!text.empty()) text.remove_prefix(1);
    const std::size_t first = one.find(':'), second = first == one.npos ? one.npos : one.find(':', first + 1);
    if (second == one.npos) throw UsageError("mutations: " + quote(one) + " must be seed:row:column");
    constexpr std::uint64_t kMostSeed = 0xffffffff, kMostPlace = 0x7fffffff;
    mutations.push_back({static_cast<std::uint32_t>(number(one.substr(0, first), kMostSeed)),
                         static_cast<std::int32_t>(number(one.substr(first + 1, second - first - 1), kMostPlace)),
                         static_cast<std::int32_t>(number(one.substr(second + 1), kMostPlace))});
  }
  return mutations;
}

}  // namespace flashproof
