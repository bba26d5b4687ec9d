// K, F, ofb of a matrix unit, and truncation or rounding, from vectors whose result says one thing each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/probe/unit_questions.h"

namespace flashproof::probe {
namespace {

constexpr int kMostFraction = 46;  // what the model takes

/// The largest n up to `limit` for which every n' <= n keeps `small(n')` beside terms that cancel.
template <class Make>
int kept_bits(Asker& asker, int limit, const Make& make) {
  std::vector<Step> steps;
  for (int n = 1; n <= limit; ++n) steps.push_back(make(n));
  const std::vector<double> values = asker.values(steps);
  int n = 0;
  while (n < limit && values[static_cast<std::size_t>(n)] != 0) ++n;
  return n;
}

/// For every pair of places (i, j): 2^top first, product i = −2^top, product j = 2^(top − n), and the largest n that is
/// kept. If j is added together with i that is F; if after it, there is no limit; if before it, F or what the result of
/// that step keeps, which is less. What comes first is c, or, where c comes last, the product at place `first`.
class Pairs {
 public:
  Pairs(Asker& asker, int limit, int first) : n_(asker.unit().products), first_(first) {
    std::vector<Step> steps;
    const int top = asker.most();
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j) {
        for (int n = 1; n <= limit && real(i, j); ++n) {
          steps.push_back(asker.step_at(first < 0 ? std::ldexp(1, top) : 0, {{i, {-1, top}}, {j, {1, top - n}}}));
          if (first >= 0) asker.add(steps.back(), first, {1, top});
        }
      }
    }
    const std::vector<double> values = asker.values(steps);
    auto at = values.begin();
    kept_.assign(static_cast<std::size_t>(n_) * n_, limit);
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j) {
        if (!real(i, j)) continue;
        kept_[static_cast<std::size_t>(i) * n_ + j] = static_cast<int>(std::find(at, at + limit, 0.0) - at);
        at += limit;
      }
    }
    f_ = f();
  }

  bool one_step() const {
    for (int i = 0; i < n_; ++i) {
      for (int j = 0; j < n_; ++j) {
        if (real(i, j) && later(i, j)) return false;
      }
    }
    return true;
  }
  /// That of a place in the first step: the others give less or as much.
  int f() const {
    int most = 0;
    for (int i = 0; i < n_; ++i) {
      int least = std::numeric_limits<int>::max();
      for (int j = 0; j < n_; ++j) {
        if (real(i, j)) least = std::min(least, kept_[static_cast<std::size_t>(i) * n_ + j]);
      }
      if (i != first_) most = std::max(most, least);
    }
    return most;
  }
  /// Places in the order of their steps; sets the size of the first step.
  std::vector<int> ordered(int& size) const {
    std::vector<std::pair<int, int>> ranked;
    for (int i = 0; i < n_; ++i) {
      int before = 0;
      for (int j = 0; j < n_; ++j) before += real(i, j) && later(j, i) ? 1 : 0;
      ranked.emplace_back(before, i);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<int> order;
    order.reserve(ranked.size());
    for (const auto& [before, i] : ranked) order.push_back(i);
    size = static_cast<int>(std::count_if(ranked.begin(), ranked.end(), [](const auto& r) { return r.first == 0; }));
    return order;
  }

 private:
  bool real(int i, int j) const { return i != j && i != first_ && j != first_; }
  /// j is added in a later step than i.
  bool later(int i, int j) const { return kept_[static_cast<std::size_t>(i) * n_ + j] > f_; }

  int n_, first_, f_ = 0;
  std::vector<int> kept_;
};

std::string list(const std::vector<int>& numbers, int count) {
  return fmt::format("{}", fmt::join(numbers.begin(), numbers.begin() + count, " "));
}

/// Fraction bits of the result: 2^m products of one size and one 2^-n of it are told from the first alone as long as
/// m + n <= ofb.
int result_bits(Asker& asker, int f, int group, std::string& figure) {
  int visible = 0;
  int hidden = 64;
  for (int m = 0; (1 << m) < group; ++m) {
    for (int n = 1; n <= f; ++n) {
      std::vector<Term> products(static_cast<std::size_t>(1) << m, {1, asker.most()});
      products.push_back({1, asker.most() - n});
      const double whole = std::ldexp(1, asker.most() + m);
      const bool seen = asker.value(asker.step(0, products)) != whole;
      if (seen) visible = std::max(visible, m + n);
      if (!seen) hidden = std::min(hidden, m + n);
    }
  }
  figure = hidden == 64 ? fmt::format("{} bits seen, none lost", visible)
                        : fmt::format("{} bits seen, {} lost", visible, hidden);
  return visible;
}

/// The smallest subnormal of the inputs times a power of two, and its negative, beside c = 2^-n of that product: kept up
/// to F less the leading zeros of the subnormal, or up to F.
void ask_subnormal_exponent(Asker& asker, UnitProfile& profile) {
  const Format format = asker.unit().inputs;
  const bool tf32 = format == Format::f32;
  const double tiny = tf32 ? 0x1p-136 : min_subnormal(format);
  const int zeros = tf32 ? 10 : info(format).precision - 1;
  const double factor = tf32 || format == Format::bf16 ? 0x1p100 : std::ldexp(1, asker.most() / 2);
  const int kept = kept_bits(asker, profile.block.f + 3, [&](int n) {
    Step step = asker.step(std::ldexp(tiny * factor, -n), {});
    asker.set(step, asker.places[0], tiny, factor);
    asker.set(step, asker.places[1], -tiny, factor);
    return step;
  });
  const bool own = kept == profile.block.f - zeros;
  if (!own) asker.exponents = Format::f32;
  profile.answers.push_back({"a subnormal factor has the least exponent of its format", own,
                             fmt::format("2^-n of it kept up to n = {}, F less {} leading zeros is {}", kept, zeros,
                                         profile.block.f - zeros)});
}

/// Half an ulp and a half of it more, of c: to nearest is up. The factors of such a unit are taken for f16's, which the
/// inputs are converted to; the random steps say whether that is so.
void ask_last_c(Asker& asker, UnitProfile& profile) {
  constexpr int kExponent = 32;
  asker.exponents = Format::f16;
  const double c = std::ldexp(1, kExponent);
  const double ulps = (asker.value(asker.step(c, {{1.5, kExponent - 24}})) - c) / std::ldexp(1, kExponent - 23);
  profile.answers.push_back(
      {"c is added last, rounded to nearest", ulps == 1,
       fmt::format("1 + 0.75 ulp -> 1 + {} ulp; beside cancelling products nothing of c is lost", ulps)});
}

void answer(UnitProfile& profile, const char* question, bool yes, std::string figure) {
  profile.answers.push_back({question, yes, std::move(figure)});
}

/// How products and c enter the sum: f is known, the places of a group too.
void ask_addends(Asker& asker, int f, UnitProfile& profile) {
  const int top = asker.most();
  // 1.5 * 1.5 = 2.25 keeps the exponent of its factors: 2^-F of that is still counted.
  Step product = asker.step(0, {{}, {}, {1, top - 2 - f}});
  const double root = 1.5 * std::ldexp(1, (top - 2) / 2);
  asker.set(product, asker.places[0], root, root);
  asker.set(product, asker.places[1], -root, root);
  answer(profile, "products are not normalised", asker.value(product) != 0,
         fmt::format("2.25 - 2.25 + 2^-{} -> {}", f, asker.value(product) != 0 ? "2^-F" : "0"));

  const double quantum = std::ldexp(1, top - f);
  const double up = asker.value(asker.step(0, {{1, top}, {-1, top}, {1.75, top - f}}));
  const double down = asker.value(asker.step(0, {{1, top}, {-1, top}, {-1.75, top - f}}));
  answer(profile, "addends are cut toward zero", up == quantum && down == -quantum,
         fmt::format("1.75 and -1.75 units of 2^-{} -> {} and {}", f, up / quantum, down / quantum));
}

/// 1 + 0.75 ulp in as many equal products as it takes for the unit to keep the bits.
void ask_result(Asker& asker, int f, int group, int ofb, UnitProfile& profile) {
  const int top = asker.most();
  const int m = std::max(0, ofb + 2 - f);
  if ((1 << m) >= group) return;
  const auto rest = [&](double sign) {
    std::vector<Term> products(static_cast<std::size_t>(1) << m, {sign, top});
    products.push_back({1.5 * sign, top + m - ofb - 1});
    return asker.value(asker.step(0, products)) - sign * std::ldexp(1, top + m);
  };
  const double ulp = std::ldexp(1, top + m - ofb);
  const double above = rest(1) / ulp, below = rest(-1) / ulp;
  answer(profile, "the result is cut toward zero", above == 0 && below == 0,
         fmt::format("1 + 0.75 ulp -> 1 + {} ulp, -1 - 0.75 ulp -> -1 - {} ulp", above, std::fabs(below)));
}

}  // namespace

void ask_block(Asker& asker, UnitProfile& profile) {
  const int top = asker.most();
  const int limit = std::min(kMostFraction, top - asker.least());
  const auto of_c = [&](int n) { return asker.step(std::ldexp(1, top - n), {{1, top}, {-1, top}}); };
  Pairs pairs(asker, limit, -1);
  if (pairs.f() == limit) return;  // no alignment to a common quantum within reach: no block unit
  const int f_of_c = kept_bits(asker, limit, of_c);
  profile.c_last = f_of_c == limit;  // it did not stand beside the products that cancel
  for (int first = 0; profile.c_last && first < asker.unit().products; ++first) {
    pairs = Pairs(asker, limit, first);
    if (!pairs.one_step()) break;
  }
  const int f = pairs.f();
  int group = 0;
  asker.places = pairs.ordered(group);
  const auto among_products = [&](int n) { return asker.step(0, {{1, top}, {-1, top}, {1, top - n}}); };
  const auto beside_c = [&](int n) { return asker.step(std::ldexp(1, top), {{-1, top}, {1, top - n}}); };
  const int f_products = kept_bits(asker, limit, among_products);
  const int f_beside_c = kept_bits(asker, limit, beside_c);
  answer(profile, "c is aligned like a product", f_products == f && f_beside_c == f && !profile.c_last && f_of_c == f,
         fmt::format("2^-n kept up to n = {} among products, {} beside c, {} of c", f_products, f_beside_c, f_of_c));

  const bool all = group == asker.unit().products;
  answer(profile, "all products in one step", all,
         all ? fmt::format("{} of {} products are aligned together", group, group)
             : fmt::format("{} of {} products are aligned together, first those of k = {}", group,
                           asker.unit().products, list(asker.places, group)));

  ask_addends(asker, f, profile);
  std::string figure;
  const int ofb = result_bits(asker, f, group, figure);
  answer(profile, "the result has ofb fraction bits", ofb <= 23, figure);

  ask_result(asker, f, group, ofb, profile);
  profile.block = {.k = group, .f = f, .ofb = ofb};
  if (profile.c_last) {
    ask_last_c(asker, profile);
  } else {
    ask_subnormal_exponent(asker, profile);
  }

  if (asker.unit().inputs == Format::f32) {
    Step low = asker.step(0, {});
    asker.set(low, asker.places[0], 1 + 0x1.8p-11, 1);
    const double cut = asker.value(low);
    answer(profile, "tf32 inputs are cut to 10 fraction bits", cut == 1,
           fmt::format("1 + 0.75*2^-10 counts as 1 + {}*2^-10", (cut - 1) * 1024));
  }
}

}  // namespace flashproof::probe
