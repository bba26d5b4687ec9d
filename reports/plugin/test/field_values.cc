#include "reports/plugin/test/field_values.h"

#include <string>
#include <type_traits>
#include <utility>

#include "reference/bound/backward/arithmetic_fields.h"
#include "reference/bound/declare/arithmetic_fields.h"

namespace flashproof {
namespace {

using namespace bound;

/// Values worth declaring of every field, at any depth.
class FieldValues {
 public:
  explicit FieldValues(std::vector<FieldValue>& list, std::string path = "") : list_(list), path_(std::move(path)) {}

  void operator()(const char* name, const int&, Range legal) {
    for (const int value : {legal.least, 1, 2, 4, 8, 32, 512, legal.most}) {
      if (value >= legal.least && value <= legal.most) add(name, value);
    }
  }
  void operator()(const char* name, const double&, Interval legal) {
    for (const double value : {legal.least, 0x1p-12, 0x1p-6, 0x1p-2, 1.0, 512.0, 0x1p40, legal.below * (1 - 0x1p-50)}) {
      if (value >= legal.least && value < legal.below) add(name, value);
    }
  }
  void operator()(const char* name, const bool&) {
    add(name, false);
    add(name, true);
  }
  void operator()(const char* name, const BlockFma&) {
    for (const auto& unit : unit_names()) add(name, unit.name);
    add(name, nlohmann::ordered_json{{"k", 64}, {"f", 7}, {"ofb", 7}});
  }
  template <class T>
  void operator()(const char* name, const T& field) {
    if constexpr (std::is_enum_v<T>) {
      for (const auto& known : names_of<T>()) add(name, known.name);
    } else {
      fields(field, FieldValues(list_, path_ + "/" + name));
    }
  }

 private:
  template <class T>
  void add(const char* name, const T& value) {
    list_.push_back({nlohmann::ordered_json::json_pointer(path_ + "/" + name), value});
  }

  std::vector<FieldValue>& list_;
  std::string path_;
};

}  // namespace

std::vector<FieldValue> field_values(ProblemKind problem) {
  std::vector<FieldValue> list;
  constexpr Arithmetic kForward{};
  constexpr BackwardArithmetic kBackward{};
  if (problem == ProblemKind::backward) {
    fields(kBackward, FieldValues(list));
  } else {
    fields(kForward, FieldValues(list));
  }
  return list;
}

}  // namespace flashproof
