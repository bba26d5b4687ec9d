#include "kernels/ptx/runtime/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "kernels/ptx/parse/lexer.h"
#include "reference/system/error.h"

namespace flashproof::cudart {
namespace {

[[noreturn]] void wrong(const char* name, std::string_view value, const char* legal) {
  throw UsageError(fmt::format("{}='{}', legal: {}", name, ptx::shown(value), legal));
}

template <class Value, std::size_t count>
void choose(const char* name, std::string_view value, const std::pair<const char*, Value> (&choices)[count],
            const char* legal, Value& chosen) {
  for (const auto& [word, means] : choices) {
    if (value == word) {
      chosen = means;
      return;
    }
  }
  wrong(name, value, legal);
}

template <class Number>
void number(const char* name, std::string_view value, Number most, const char* legal, Number& read) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
  if (error != std::errc() || end != value.data() + value.size() || read < 1 || read > most) wrong(name, value, legal);
}

}  // namespace

Settings settings_of(const std::function<const char*(const char*)>& environment) {
  Settings settings;
  const auto given = [&](const char* name, const auto& read) {
    if (const char* value = environment(name); value != nullptr) read(name, std::string_view(value));
  };
  given("FLASHPROOF_CUDART_RACES", [&](const char* name, std::string_view value) {
    choose(name, value, {std::pair{"on", true}, {"off", false}}, "on, off", settings.races);
  });
  given("FLASHPROOF_CUDART_ORDER", [&](const char* name, std::string_view value) {
    choose(name, value, {std::pair{"first", Order::first}, {"last", Order::last}, {"both", Order::both}},
           "first, last, both", settings.order);
  });
  given("FLASHPROOF_CUDART_FINDING", [&](const char* name, std::string_view value) {
    choose(name, value, {std::pair{"error", false}, {"exit", true}}, "error, exit", settings.exits);
  });
  given("FLASHPROOF_CUDART_CAPABILITY", [&](const char* name, std::string_view value) {
    choose(name, value, {std::pair{"7.5", 75U}, {"8.0", 80U}, {"8.6", 86U}, {"8.7", 87U}, {"8.9", 89U}, {"9.0", 90U}},
           "7.5, 8.0, 8.6, 8.7, 8.9, 9.0", settings.capability);
  });
  given("FLASHPROOF_CUDART_MEMORY", [&](const char* name, std::string_view value) {
    number(name, value, std::uint64_t{1} << 20, "MiB, 1 to 1048576", settings.memory_mib);
  });
  given("FLASHPROOF_CUDART_INSTRUCTIONS", [&](const char* name, std::string_view value) {
    number(name, value, std::int64_t{1'000'000'000'000'000'000}, "instructions of a launch, 1 to 10^18",
           settings.max_instructions);
  });
  return settings;
}

}  // namespace flashproof::cudart
