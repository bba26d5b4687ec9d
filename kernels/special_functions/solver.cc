#include "kernels/special_functions/solver.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace flashproof::special {
namespace {

constexpr std::int64_t kWindow = 64;  // of b, around the estimate

struct Room {
  std::int64_t least_a, most_a;
  std::int64_t size() const { return most_a - least_a; }
};

Room room_for(const Evidence& e, std::int64_t b, std::int64_t c) {
  std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t* const low = e.low.data();
  const std::int64_t* const high = e.high.data();
  const std::int64_t* const squares = e.squares.data();
  const auto inputs = static_cast<std::int64_t>(e.low.size());
  for (std::int64_t x = 0; x < inputs; ++x) {
    const std::int64_t curve = b * x + c * squares[x];
    least = std::max(least, low[x] - curve);
    most = std::min(most, high[x] - curve);
  }
  return {least, most};
}

/// f(x) ~ f0 + slope·x + bend·x², by three means.
struct Parabola {
  double slope, bend;
};

Parabola estimate(const Evidence& e) {
  const auto inputs = static_cast<std::int64_t>(e.low.size());
  const std::int64_t width = inputs / 16, middle = inputs / 2;
  const auto mean = [&](std::int64_t centre) {
    double sum = 0;
    for (std::int64_t x = centre - width / 2; x < centre + width / 2; ++x) {
      const auto i = static_cast<std::size_t>(x), at = static_cast<std::size_t>(middle);
      sum += 0.5 * (static_cast<double>(e.low[i] - e.low[at]) + static_cast<double>(e.high[i] - e.low[at]));
    }
    return sum / static_cast<double>(width);
  };
  const std::int64_t first = width / 2, last = inputs - width / 2;
  const double f0 = mean(first), f1 = mean(middle), f2 = mean(last);
  const double step = static_cast<double>(last - first) / 2;
  const double bend = (f0 - 2 * f1 + f2) / (2 * step * step);
  return {(f2 - f0) / (2 * step) - 2 * bend * static_cast<double>(middle), bend};
}

}  // namespace

std::optional<Segment> solve(const Evidence& e) {
  const auto inputs = static_cast<double>(e.low.size());
  const auto [slope, bend] = estimate(e);
  const double ratio = static_cast<double>(e.squares.back()) / ((inputs - 1) * (inputs - 1));
  const std::int64_t centre = std::llround(bend / ratio);
  const std::int64_t reach = 6 + std::llabs(centre) / 300;
  std::optional<Segment> best;
  std::int64_t best_size = -1;
  for (std::int64_t c = centre - reach; c <= centre + reach; ++c) {
    const std::int64_t b_centre = std::llround(slope + static_cast<double>(centre - c) * ratio * inputs);
    std::int64_t from = b_centre - kWindow, to = b_centre + kWindow;
    while (to - from > 4) {
      const std::int64_t b = from + (to - from) / 2;
      if (room_for(e, b, c).size() < room_for(e, b + 1, c).size()) {
        from = b + 1;
      } else {
        to = b;
      }
    }
    for (std::int64_t b = from; b <= to; ++b) {
      const Room room = room_for(e, b, c);
      if (room.size() <= best_size) continue;
      best_size = room.size();
      best = Segment{room.least_a, static_cast<std::int32_t>(b), static_cast<std::int32_t>(c)};
    }
  }
  return best;
}

}  // namespace flashproof::special
