// One kernel under several laws: draws until a law fails, shrinks that case, keeps its witness, and says what the whole run decided.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/driver/draws.h"
#include "properties/driver/property_run.h"
#include "properties/laws/law.h"
#include "properties/laws/run_power.h"

namespace flashproof {

/// Where the witness of this kernel and law goes; the folder is there.
std::filesystem::path witness_path(const PropertyOptions& options, const PropertyResult& result);

/// Whose turn a law is (PropertyOptions::turns): of the kernels of a problem, one after the other, each family asks another one. Not
/// more turns than kernels, so that every law meets every family.
struct Turn {
  std::size_t number = 0, of = 1;
};

/// The arguments must outlive it.
class KernelLaws {
 public:
  KernelLaws(const Kernel& kernel, Turn turn, std::span<const Question> questions, const PropertyOptions& options,
             std::span<PropertyResult> results)
      : kernel_(kernel),
        turn_(turn),
        questions_(questions),
        options_(options),
        results_(results),
        decisions_(options.before) {}

  bool stopped() const { return options_.stop && options_.stop(); }
  std::uint64_t cases() const { return cases_; }

  /// Cases are drawn until a law fails; that one is shrunk, and the others follow without that law.
  /// `most`: of the family, with those of earlier calls.
  /// `family`: its place in the run.
  void draw(const Draws& draws, std::size_t family, std::uint64_t most);
  /// After the last family: what the whole run says of the declaration, and which promises were left untested.
  void conclude();
  /// After all else, of a run that was stopped.
  void mark_unasked(std::size_t families);
  /// The cases of its problem and nothing else; nothing is shrunk.
  void replay(std::span<const Case> cases);

 private:
  struct Failing {
    std::size_t law;
    Verdict verdict;  // of the simplest case so far
  };

  /// None where the user ends the run while a case is drawn: whether the kernel takes it is asked of the kernel, too.
  std::optional<FoundCase> next(const Draws& draws, std::uint64_t most);
  /// The first of the laws that were asked and said something tells what the run says as a whole; null where none did.
  PropertyResult* as_a_whole();
  /// What makes no pass of a run in which no law failed that was asked.
  void tell(const Conclusion& conclusion, PropertyResult& result);
  /// Drawn: asks every law that has not failed yet, and counts, until the run is to stop. Shrunk: asks the first that failed.
  bool fails(const Case& c);
  bool fails_as_drawn(const Case& c);
  bool is_its_turn(std::size_t law) const;
  Extent extent(std::size_t law) const;
  /// In the same way: a case that fails in another is another finding. A run that is to stop looks for no simpler one.
  bool fails_again(Failing& failing, const Case& c);
  void keep(const Failing& failing, const Case& drawn, const Case& simplest);

  const Kernel& kernel_;
  Turn turn_;
  std::span<const Question> questions_;
  const PropertyOptions& options_;
  std::span<PropertyResult> results_;
  std::size_t family_ = 0;  // that is drawn from, its place in the run
  RunDecisions decisions_;
  std::uint64_t cases_ = 0;
  std::map<std::string, bool> taken_;  // of a foreign kernel, by family
  std::vector<Failing> failing_;       // on the last draw; RapidCheck shrinks for the first
};

}  // namespace flashproof
