#include "reports/ledger/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/system/text.h"
#include "reports/views/terminal/text.h"

namespace flashproof {

namespace {

/// Of the terms first to last − 1, which are those of the outputs of some problems; "" where no entry has one.
std::string terms_between(const Ledger& ledger, std::size_t first, std::size_t last) {
  std::vector<const LedgerEntry*> entries;
  std::size_t label = 6;
  for (const LedgerEntry& e : ledger.entries) {
    if (!e.term || static_cast<std::size_t>(*e.term) < first || static_cast<std::size_t>(*e.term) >= last) continue;
    entries.push_back(&e);
    label = std::max(label, e.kernel.size());
  }
  if (entries.empty()) return "";
  std::string out = fmt::format("{} {:<5}", pad("kernel", label), "fmt");
  for (std::size_t t = first; t < last; ++t) out += fmt::format(" {:>15}", name(static_cast<Term>(t)));
  out += fmt::format(" {:>8}\n", "best");
  for (auto at = entries.begin(); at != entries.end();) {
    const LedgerEntry& row = **at;
    out += fmt::format("{} {:<5}", pad(row.kernel, label), info(row.format).name);
    double best = 0;
    for (std::size_t t = first; t < last; ++t) {
      const bool there = at != entries.end() && (*at)->kernel == row.kernel && (*at)->format == row.format &&
                         (*at)->term == static_cast<Term>(t);
      std::string cell = "-";
      if (there && (*at)->best.dominates()) {
        best = std::max(best, (*at)->best.ratio);
        cell = short_number((*at)->best.ratio) + ((*at)->best.ratio < kTermTarget ? " loose" : "");
      } else if (there) {
        cell = fmt::format("share {:.2f}", (*at)->best.share);
      }
      out += fmt::format(" {:>15}", cell);
      if (there) ++at;
    }
    out += fmt::format(" {:>8}\n", short_number(best) + (best < kKernelTarget ? " !" : ""));
  }
  return out;
}

}  // namespace

std::string terms_table(const Ledger& ledger) {
  constexpr auto kGradient = static_cast<std::size_t>(Term::dq_weights);
  std::string out = terms_between(ledger, 0, kGradient) + terms_between(ledger, kGradient, kTerms);
  out += fmt::format(
      "largest error/bound of an element of which the term is at least {:.0f} % of the bound; loose: below {}; share: "
      "the term never dominated, the largest share met; !: below {}\n",
      100 * kDominates, kTermTarget, kKernelTarget);
  return out;
}

std::string whole_bounds_table(const Ledger& ledger) {
  std::size_t kernel = 6, architecture = 4;
  for (const LedgerEntry& e : ledger.entries) {
    if (e.term) continue;
    kernel = std::max(kernel, e.kernel.size());
    architecture = std::max(architecture, e.architecture.size());
  }
  std::string out = fmt::format("{} {:<5} {} {:>9}  {}\n", pad("kernel", kernel), "fmt", pad("on", architecture),
                                "err/bound", "case");
  for (const LedgerEntry& e : ledger.entries) {
    if (e.term) continue;
    out += fmt::format("{} {:<5} {} {:>9}  {}{}\n", pad(e.kernel, kernel), info(e.format).name,
                       pad(e.architecture, architecture), short_number(e.best.ratio), one_line(e.case_line),
                       e.mutations.empty() ? "" : " and a search from there");
  }
  return out;
}

}  // namespace flashproof
