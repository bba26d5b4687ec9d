// The verdict of one element, one case or one law, and how verdicts combine.
//
// Combining takes the first that occurs of
//     fail, inconclusive, pass, undecided, out_of_domain, vacuous, unsupported.
// So a fail is never outvoted and an inconclusive one only by a fail; and where nothing passed, the verdict is the one
// that ran furthest: undecided (passed, but too few elements were decided), out_of_domain (ran and had its special answers
// allowed), vacuous (ran, the bound said nothing), unsupported (never ran). Elements combine into a case and cases into a
// record by this one rule. A mix of pass and of what decides nothing is a pass only if enough of every output was decided:
// require_power() (power.h) is asked of every case, record, law and run.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace flashproof {

enum class VerdictKind : std::uint8_t { pass, vacuous, out_of_domain, unsupported, undecided, inconclusive, fail };
inline constexpr std::size_t kVerdictKinds = 7;

/// Ordered by severity: of two fails the larger names the combination.
enum class Failure : std::uint8_t {
  none,
  exceeds_bound,
  class_mismatch,  // NaN, ±inf or finite where another class is right
  laundering,      // a finite answer where a visible NaN or +inf makes NaN the answer
  leak,            // storage that belongs to no key, or a hidden key, changed the output
  silently_wrong,  // out of domain, finite, and outside the bound
  nondeterministic,
  unwritten,  // an output element was never written
  error,      // the kernel reported an error or the executor found one (divergent barrier, deadlock, ...)
};
inline constexpr std::size_t kFailures = static_cast<std::size_t>(Failure::error) + 1;

struct Verdict {
  VerdictKind kind = VerdictKind::pass;
  Failure failure = Failure::none;
  std::string detail;  // one line for a human; empty for pass

  bool failed() const { return kind == VerdictKind::fail; }
};

/// A verdict before anybody wants its words: nothing is allocated for the millions that pass.
struct Decision {
  VerdictKind kind = VerdictKind::pass;
  Failure failure = Failure::none;
  const char* why = "";
  // The error is certainly above the probable bound (README.md): no failure, but worth a look.
  bool investigate = false;

  bool failed() const { return kind == VerdictKind::fail; }
  Verdict verdict() const { return {kind, failure, why}; }
};

std::string_view name(VerdictKind kind);
std::string_view name(Failure failure);
/// What is wrong, without a subject: "further off than the declared arithmetic explains".
std::string_view in_words(Failure failure);
/// "pass", "vacuous", "fail(exceeds_bound)", ...
std::string to_string(const Verdict& verdict);

/// Position in the rule above; the larger wins.
int weight(VerdictKind kind);
/// `b` stands for both: it comes earlier in the rule, or both fail and b's failure is the more severe. Of equals the
/// first keeps its detail.
bool outweighs(const Decision& b, const Decision& a);
bool outweighs(const Verdict& b, const Verdict& a);
/// Two elements of a case, or two cases of a record. Associative; commutative but for the detail of equals.
Verdict combine(const Verdict& a, const Verdict& b);
/// All cases of a record. None at all is fail(error): a run that executed no case must not look like a success.
Verdict combine(std::span<const Verdict> cases);
/// The same rule on counts by kind; `if_none` when all are zero.
VerdictKind combine(const std::array<std::uint64_t, kVerdictKinds>& counts, VerdictKind if_none);

}  // namespace flashproof
