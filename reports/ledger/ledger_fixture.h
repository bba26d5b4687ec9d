// Entries for the tests of ledgers.
#pragma once

#include "reports/ledger/ledger.h"

namespace flashproof {

inline LedgerEntry term_entry(const char* kernel, Term term, double ratio) {
  LedgerEntry e;
  e.kernel = kernel;
  e.term = term;
  e.best = {ratio, 0.9, 1, 2, 0x3f800000};
  e.case_line = "softmax:normal:7:cols=512";
  e.mutations = {{3, 1, 0}, {9, 0, 5}};
  return e;
}

inline LedgerEntry whole_entry(const std::string& kernel, double ratio, const std::string& on = "cpu") {
  return {.kernel = kernel, .architecture = on, .best = {.ratio = ratio}, .case_line = "softmax:normal:3:format=f32"};
}

}  // namespace flashproof
