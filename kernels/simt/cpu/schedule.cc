#include "kernels/simt/cpu/schedule.h"

#include <charconv>
#include <system_error>

#include "reference/system/error.h"

namespace flashproof::simt {
namespace {

constexpr std::string_view kRandom = "random:";
constexpr std::string_view kBytesPrefix = "bytes:";
constexpr std::uint32_t kMostPreempt = 1'000'000;
constexpr std::string_view kLazy = "+lazy";
constexpr std::size_t kShown = 40;  // characters of a bad argument that are repeated in the message

[[noreturn]] void refuse(std::string_view text, const char* why) {
  std::string shown;
  for (const char c : text.substr(0, kShown)) shown += c >= ' ' && c <= '~' ? c : '?';
  if (text.size() > kShown) shown += "...";
  throw UsageError("schedule '" + shown + "': " + why +
                   "; expected fifo, lifo, random:SEED (0 to 18446744073709551615), random:SEED/N (N from 1 to "
                   "1000000) or bytes:HEX (two digits per byte), each also with +lazy");
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Schedule parse_schedule(std::string_view text) {
  if (text.ends_with(kLazy)) {
    Schedule schedule = parse_schedule(text.substr(0, text.size() - kLazy.size()));
    if (schedule.lazy_copies) refuse(text, "+lazy twice");
    schedule.lazy_copies = true;
    return schedule;
  }
  Schedule schedule;
  if (text == "fifo") return schedule;
  if (text == "lifo") {
    schedule.policy = Policy::lifo;
    return schedule;
  }
  if (text.starts_with(kRandom)) {
    schedule.policy = Policy::random;
    const std::string_view digits = text.substr(kRandom.size());
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, schedule.seed);
    if (error != std::errc{} || (stop != end && *stop != '/')) refuse(text, "bad seed");
    if (stop != end) {
      const auto [last, bad] = std::from_chars(stop + 1, end, schedule.preempt);
      if (bad != std::errc{} || last != end || schedule.preempt < 1 || schedule.preempt > kMostPreempt) {
        refuse(text, "bad number of accesses");
      }
    }
    return schedule;
  }
  if (text.starts_with(kBytesPrefix)) {
    schedule.policy = Policy::bytes;
    const std::string_view digits = text.substr(kBytesPrefix.size());
    if (digits.size() % 2 != 0) refuse(text, "odd number of hexadecimal digits");
    schedule.bytes.reserve(digits.size() / 2);
    for (std::size_t i = 0; i < digits.size(); i += 2) {
      const int high = hex_digit(digits[i]);
      const int low = hex_digit(digits[i + 1]);
      if (high < 0 || low < 0) refuse(text, "not a hexadecimal digit");
      schedule.bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
    }
    return schedule;
  }
  refuse(text, "unknown policy");
}

std::string to_string(const Schedule& schedule) {
  if (schedule.lazy_copies) {
    Schedule eager = schedule;
    eager.lazy_copies = false;
    return to_string(eager) + std::string(kLazy);
  }
  switch (schedule.policy) {
    case Policy::fifo:
      return "fifo";
    case Policy::lifo:
      return "lifo";
    case Policy::random:
      return std::string(kRandom) + std::to_string(schedule.seed) +
             (schedule.preempt > 0 ? "/" + std::to_string(schedule.preempt) : "");
    case Policy::bytes:
      break;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(kBytesPrefix);
  for (const std::uint8_t byte : schedule.bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace flashproof::simt
