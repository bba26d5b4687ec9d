// ID@DOSE: a seeded fault at another strength than the registered one.
#pragma once

#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/broken/fault.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof::compare {

/// A kernel, and at which dose; owns what it changed.
struct Chosen {
  const Kernel* kernel = nullptr;
  std::shared_ptr<SeededFault> fault;
  std::shared_ptr<Kernel> dosed;
};

inline std::pair<std::string, std::string> split_dose(std::string_view text) {
  const std::size_t at = text.find('@');
  return {std::string(text.substr(0, at)), at == std::string_view::npos ? "" : std::string(text.substr(at + 1))};
}

inline Chosen at_dose(const Kernel* kernel, const std::string& text) {
  Chosen chosen{kernel, nullptr, nullptr};
  const auto [id, dose] = split_dose(text);
  if (text.find('@') == std::string::npos) return chosen;
  double value = 0;
  const auto [end, error] = std::from_chars(dose.data(), dose.data() + dose.size(), value);
  if (error != std::errc() || end != dose.data() + dose.size() || !(value > 0) || !std::isfinite(value)) {
    throw UsageError(quote(text) + ": the dose behind @ must be a positive number");
  }
  if (kernel->fault == nullptr || kernel->fault->dose.unit.empty()) {
    throw UsageError(quote(text) + ": only a seeded fault with a dose takes one (list faults)");
  }
  // What runs at no dose of its own runs at the registered one.
  chosen.fault = std::make_shared<SeededFault>(*kernel->fault);
  chosen.fault->dose.registered = value;
  chosen.dosed = std::make_shared<Kernel>(*kernel);
  chosen.dosed->fault = chosen.fault.get();
  chosen.kernel = chosen.dosed.get();
  return chosen;
}

}  // namespace flashproof::compare
