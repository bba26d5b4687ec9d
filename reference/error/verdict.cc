#include "reference/error/verdict.h"

namespace flashproof {

std::string_view name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::pass:
      return "pass";
    case VerdictKind::vacuous:
      return "vacuous";
    case VerdictKind::out_of_domain:
      return "out_of_domain";
    case VerdictKind::unsupported:
      return "unsupported";
    case VerdictKind::undecided:
      return "undecided";
    case VerdictKind::inconclusive:
      return "inconclusive";
    case VerdictKind::fail:
      return "fail";
  }
  return "?";
}

std::string_view name(Failure failure) {
  switch (failure) {
    case Failure::none:
      return "none";
    case Failure::exceeds_bound:
      return "exceeds_bound";
    case Failure::class_mismatch:
      return "class_mismatch";
    case Failure::laundering:
      return "laundering";
    case Failure::leak:
      return "leak";
    case Failure::silently_wrong:
      return "silently_wrong";
    case Failure::nondeterministic:
      return "nondeterministic";
    case Failure::unwritten:
      return "unwritten";
    case Failure::error:
      return "error";
  }
  return "?";
}

std::string_view in_words(Failure failure) {
  switch (failure) {
    case Failure::none:
      return "fails";
    case Failure::exceeds_bound:
      return "further off than the declared arithmetic explains";
    case Failure::class_mismatch:
      return "NaN, inf or a number where another of these is right";
    case Failure::laundering:
      return "a number where NaN is right";
    case Failure::leak:
      return "storage that belongs to no key, or a hidden key, changes the output";
    case Failure::silently_wrong:
      return "a wrong number outside the domain, where NaN or inf would be excused";
    case Failure::nondeterministic:
      return "another result where the same one is right";
    case Failure::unwritten:
      return "output elements that were never written";
    case Failure::error:
      return "the kernel crashed, hung or was faulted by its executor";
  }
  return "fails";
}

std::string to_string(const Verdict& verdict) {
  std::string text(name(verdict.kind));
  if (verdict.failed()) text.append("(").append(name(verdict.failure)).append(")");
  return text;
}

int weight(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::unsupported:
      return 0;
    case VerdictKind::vacuous:
      return 1;
    case VerdictKind::out_of_domain:
      return 2;
    case VerdictKind::undecided:
      return 3;
    case VerdictKind::pass:
      return 4;
    case VerdictKind::inconclusive:
      return 5;
    case VerdictKind::fail:
      return 6;
  }
  return 6;
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
