// The search of minimise(): the first simpler problem that still fails, again and again.
#pragma once

#include <functional>
#include <utility>

namespace flashproof {

/// Of for_each_simpler(problem, use), found where it is called. At most `tries` calls of `fails`; none after stop().
template <class P>
P simplest(P problem, const std::function<bool(const P&)>& fails, int tries, const std::function<bool()>& stop = {}) {
  for (bool found = true; found && tries > 0;) {
    found = false;
    P simpler;
    for_each_simpler(problem, [&](P candidate) {
      if (tries-- <= 0 || (stop && stop())) return false;
      if (!fails(candidate)) return true;
      simpler = std::move(candidate);
      found = true;
      return false;
    });
    if (found) problem = std::move(simpler);
  }
  return problem;
}

}  // namespace flashproof
