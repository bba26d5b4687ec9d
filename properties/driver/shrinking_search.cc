#include "properties/driver/shrinking_search.h"

#include <rapidcheck.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "properties/shrink/shrink.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

/// The valid and simpler problems of a case one after another, as RapidCheck wants them.
class SimplerCases {
 public:
  explicit SimplerCases(std::shared_ptr<const Case> whole)
      : whole_(std::move(whole)), candidates_(candidates(whole_->problem)), before_(complexity(whole_->problem)) {}

  rc::Maybe<rc::Shrinkable<Case>> operator()();

 private:
  std::shared_ptr<const Case> whole_;
  std::vector<Candidate> candidates_;
  Complexity before_;
  std::size_t next_ = 0;
};

rc::Shrinkable<Case> shrinkable(Case c) {
  const auto shared = std::make_shared<const Case>(std::move(c));
  return rc::shrinkable::lambda(
      [shared] { return *shared; },
      [shared]() -> rc::Seq<rc::Shrinkable<Case>> { return rc::makeSeq<SimplerCases>(shared); });
}

rc::Maybe<rc::Shrinkable<Case>> SimplerCases::operator()() {
  while (next_ < candidates_.size()) {
    if (auto simpler = simpler_problem(candidates_[next_++], before_)) {
      return shrinkable({whole_->spec, *std::move(simpler)});
    }
  }
  return rc::Nothing;
}

/// A draw of the family, in one of the kernel's formats. Of a covering array the rows come one after another, from a random
/// one on: `row` is the seed before this one.
Case drawn_case(const Kernel& kernel, const Family& family, int redraws, std::optional<std::uint64_t>& row,
                rc::Random random) {
  constexpr int kDraws = 50;
  for (int draw = 0;; ++draw) {
    std::uint64_t seed = random.next() >> 32;  // ten digits at most: a line to read
    if (family.round != nullptr) seed = *(row = row ? *row + 1 : seed);
    const Format format = kernel.formats[random.next() % kernel.formats.size()];
    try {
      Case drawn =
          make_case({kernel.problem, std::string(family.name), seed, {{"format", std::string(info(format).name)}}});
      if (redraws-- > 0 && !kernel.unsupported(drawn.problem).empty()) continue;
      return drawn;
    } catch (const UsageError&) {  // the family has no such case
      if (draw >= kDraws) throw;
    }
  }
}

/// RapidCheck's own words go nowhere: the caller tells the story.
class Silent : public rc::detail::TestListener {
 public:
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

}  // namespace

std::optional<FoundCase> search(const Kernel& kernel, const Family& family, const Search& options,
                                const std::function<bool(const Case& c)>& fails) {
  // RapidCheck takes any exception for a failing case: keep it, and let the search end.
  std::exception_ptr thrown;
  const auto keep_thrown = [&](const auto& action) {
    try {
      action();
    } catch (const std::exception&) {
      if (!thrown) thrown = std::current_exception();
    }
  };
  std::optional<std::uint64_t> row;
  const rc::Gen<Case> any_case([&](const rc::Random& random, int) {
    Case drawn;
    keep_thrown([&] { drawn = drawn_case(kernel, family, options.redraws, row, random); });
    return shrinkable(std::move(drawn));
  });
  std::optional<FoundCase> found;
  int shrinks = options.shrinks;
  const auto property = rc::detail::toProperty([&] {
    const Case c = *any_case;
    if (thrown || (found && shrinks-- <= 0)) return;  // no more time: nothing simpler fails
    bool failed = false;
    keep_thrown([&] { failed = fails(c); });
    if (!failed) return;
    if (!found) found = {c, c};
    found->simplest = c;  // RapidCheck goes on from a shrink that fails
    RC_FAIL("");
  });
  rc::detail::TestParams params;
  params.seed = options.seed;
  params.maxSuccess = static_cast<int>(options.cases);
  Silent silent;
  rc::detail::checkProperty(property, {}, params, silent, {});
  if (thrown) std::rethrow_exception(thrown);
  return found;
}

}  // namespace flashproof
