#include "reference/error/verdict.h"

namespace flashproof {

std::string_view name(VerdictKind kind) {
  constexpr std::string_view kNames[kVerdictKinds] = {"pass",      "vacuous",      "out_of_domain", "unsupported",
                                                      "undecided", "inconclusive", "fail"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(Failure failure) {
  constexpr std::string_view kNames[kFailures] = {"none", "exceeds_bound",  "class_mismatch",   "laundering",
                                                  "leak", "silently_wrong", "nondeterministic", "unwritten",
                                                  "error"};
  return kNames[static_cast<std::size_t>(failure)];
}

std::string_view in_words(Failure failure) {
  constexpr std::string_view kTexts[kFailures] = {
      "fails",
      "further off than the declared arithmetic explains",
      "NaN, inf or a number where another of these is right",
      "a number where NaN is right",
      "storage that belongs to no key, or a hidden key, changes the output",
      "a wrong number outside the domain, where NaN or inf would be excused",
      "another result where the same one is right",
      "output elements that were never written",
      "the call of the kernel failed"};
  return kTexts[static_cast<std::size_t>(failure)];
}

std::string to_string(const Verdict& verdict) {
  std::string text(name(verdict.kind));
  if (verdict.failed()) text.append("(").append(name(verdict.failure)).append(")");
  return text;
}

int weight(VerdictKind kind) {
  // From the lightest on: unsupported, vacuous, out_of_domain, undecided, pass, inconclusive, fail.
  constexpr int kWeights[kVerdictKinds] = {4, 1, 2, 0, 3, 5, 6};
  return kWeights[static_cast<std::size_t>(kind)];
}

bool outweighs(const Decision& b, const Decision& a) {
  if (b.kind != a.kind) return weight(b.kind) > weight(a.kind);
  return b.failed() && b.failure > a.failure;
}

bool outweighs(const Verdict& b, const Verdict& a) {
  return outweighs(Decision{b.kind, b.failure}, Decision{a.kind, a.failure});
}

Verdict combine(const Verdict& a, const Verdict& b) { return outweighs(b, a) ? b : a; }

Verdict combine(std::span<const Verdict> cases) {
  if (cases.empty()) return {VerdictKind::fail, Failure::error, "no case was executed"};
  Verdict worst = cases.front();
  for (const Verdict& verdict : cases.subspan(1)) worst = combine(worst, verdict);
  return worst;
}

VerdictKind combine(const std::array<std::uint64_t, kVerdictKinds>& counts, VerdictKind if_none) {
  bool any = false;
  VerdictKind worst = if_none;
  for (std::size_t i = 0; i < kVerdictKinds; ++i) {
    if (counts[i] == 0) continue;
    const auto kind = static_cast<VerdictKind>(i);
    if (!any || weight(kind) > weight(worst)) worst = kind;
    any = true;
  }
  return worst;
}

}  // namespace flashproof
