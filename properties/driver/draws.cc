#include "properties/driver/draws.h"

#include <algorithm>
#include <string>

#include "properties/laws/trial.h"
#include "properties/shrink/shrink.h"
#include "reference/problem/random.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr int kGradientShrinks = 120;

/// What a family's name adds to the seed, so that no two families see the same draws.
std::uint64_t seed_of(std::string_view family) {
  std::uint64_t hash = 0;
  for (const char c : family) hash = hash * 0x100000001b3 + static_cast<unsigned char>(c);
  return hash;
}

bool stopped(const PropertyOptions& options) { return options.stop && options.stop(); }

/// RapidCheck draws until a case fails, shrinks that one, and begins again with another seed for the cases that are left. A search
/// that ended with `most` goes on from its first case, and asks nothing of those that it has asked about.
class Searches {
 public:
  Searches(const Kernel& kernel, const Family& family, const PropertyOptions& options)
      : kernel_(kernel),
        family_(family),
        options_(options),
        how_{.seed = options.seed + seed_of(family.name),
             .cases = family.cases(kernel.problem, options.cases),
             .redraws = options.redraws} {}

  std::optional<FoundCase> operator()(const std::function<bool(const Case&)>& fails, std::uint64_t most) {
    constexpr std::uint64_t kRound = 0x9e3779b97f4a7c15;
    if (asked_ >= how_.cases || drawn_ >= most) return std::nullopt;
    Search part = how_;
    part.cases = asked_ + std::min(how_.cases - asked_, most - drawn_);
    std::uint64_t again = asked_;
    bool failed = false;
    const auto counted = [&](const Case& c) {
      if (failed) return fails(c);  // a simpler one
      if (again > 0) return --again, false;
      if (stopped(options_)) {
        how_.cases = 0;
        return false;  // the engine draws on, but nothing runs
      }
      ++asked_;
      ++drawn_;
      return failed = fails(c);
    };
    auto found = search(kernel_, family_, part, counted);
    if (found) {
      how_.cases -= std::min(how_.cases, asked_);
      how_.seed += kRound;
      asked_ = 0;
    }
    return found;
  }

 private:
  const Kernel& kernel_;
  const Family& family_;
  const PropertyOptions& options_;
  Search how_;
  std::uint64_t asked_ = 0, drawn_ = 0;  // by this search, by all
};

CaseSpec drawn_spec(const Kernel& kernel, std::string_view family, Random& random) {
  const std::uint64_t seed = random.next_u32();  // ten digits at most: a line to read
  const auto n = static_cast<std::size_t>(random.integer(0, std::ssize(kernel.formats) - 1));
  CaseSpec spec{kernel.problem, std::string(family), seed, {{"format", std::string(info(kernel.formats[n]).name)}}};
  if (kernel.own_forward) spec.keys["mode"] = "gradient";
  return spec;
}

/// Where a family has no case with a gradient for a seed, it is drawn again. One that is about a feature without a gradient has
/// none at all. `redraws`: as in Search.
std::optional<Case> drawn_case(const Kernel& kernel, std::string_view family, int redraws, Random& random) {
  constexpr int kDraws = 50;
  for (int draw = 0; draw < kDraws; ++draw) {
    const CaseSpec spec = drawn_spec(kernel, family, random);
    try {
      Case drawn = make_case(spec);
      if (redraws-- > 0 && !Trial(kernel, drawn).refusal(drawn.problem).empty()) continue;
      return drawn;
    } catch (const UsageError&) {  // a feature without a gradient
    }
  }
  return std::nullopt;
}

/// Case n of `cases`, from 1 on, of a family that has rows of its own for gradients, in one of the kernel's formats: where they are
/// fewer than the rows, each lies as far from the next.
std::optional<Case> row(const Kernel& kernel, const Family& family, std::uint64_t n, std::uint64_t cases,
                        Random& random) {
  CaseSpec spec = drawn_spec(kernel, family.name, random);
  const std::uint64_t rows = family.round(kernel.problem);
  spec.seed = cases < rows ? (n - 1) * rows / cases : n - 1;
  return make_case(spec);
}

/// `cases` of what draw(n, random) makes, n from 1 on.
template <class Draw>
Draws by_seed(std::string_view family, Random random, std::uint64_t cases, const PropertyOptions& options, Draw draw) {
  const int shrinks = options.out.empty() ? 0 : kGradientShrinks;
  return {family, shrinks,
          [&options, shrinks, random, draw, n = std::uint64_t{0}, cases](
              const auto& fails, std::uint64_t most) mutable -> std::optional<FoundCase> {
            while (n < std::min(cases, most) && !stopped(options)) {
              const std::optional<Case> drawn = draw(++n, random);
              if (!drawn) n = cases;
              if (!drawn || !fails(*drawn)) continue;
              const auto still = [&](const Problem& simpler) { return fails({drawn->spec, simpler}); };
              return FoundCase{
                  *drawn,
                  {drawn->spec, minimise(drawn->problem, still, shrinks, [&options] { return stopped(options); })}};
            }
            return std::nullopt;
          }};
}

}  // namespace

std::vector<Draws> draws_of(const Kernel& kernel, std::span<const Family* const> families,
                            const PropertyOptions& options) {
  std::vector<Draws> list;
  for (const Family* family : families) {
    if (kernel.problem != ProblemKind::backward) {
      list.push_back({family->name, Search{}.shrinks, Searches(kernel, *family, options)});
      continue;
    }
    const std::uint64_t cases = family->cases(kernel.problem, options.cases);
    const auto drawn = [&kernel, family, cases, redraws = options.redraws](std::uint64_t n, Random& random) {
      return family->gradient != nullptr ? row(kernel, *family, n, cases, random)
                                         : drawn_case(kernel, family->name, redraws, random);
    };
    list.push_back(by_seed(family->name, Random(options.seed, seed_of(family->name)), cases, options, drawn));
  }
  return list;
}

}  // namespace flashproof
