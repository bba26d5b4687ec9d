#include "reports/diagnose/cause/symptom_causes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "reference/error/element.h"

namespace flashproof {
namespace {

/// NaN and infinity come of the same mistakes; which of the two a row shows says little.
Symptom group_of(Symptom s) { return s == Symptom::infinite ? Symptom::nan : s; }

/// From the gravest, as far as saying what happened goes.
constexpr std::array kSymptomOrder = {Symptom::unwritten,        Symptom::nan,    Symptom::laundered,
                                      Symptom::finite_for_empty, Symptom::number, Symptom::empty};

struct RowSymptom {
  RowOfPart at;
  Symptom worst = Symptom::none;
  std::uint64_t elements = 0;  // failing ones
  std::uint64_t unwritten = 0;
  bool mixed = false;      // some columns fail, others pass
  std::uint8_t right = 0;  // Class bits of what passes: a row shows what it could have failed by

  /// Whether a row that passes could have shown the symptom.
  bool could_show(Symptom symptom) const {
    if (symptom == Symptom::laundered) return (right & kNaN) != 0;
    if (symptom == Symptom::finite_for_empty) return (right & kNegInf) != 0;
    return (right & (symptom == Symptom::nan ? kFinite | kNegInf : kFinite)) != 0;
  }
};

/// Is the row given as one that sees nothing: every column 0, or lse = -inf?
bool all_zero(const Observation& seen, Part part, std::int64_t row) {
  if (part == Part::o && seen.symptom(Part::lse, row) == Symptom::empty) return true;
  const Tensor& tensor = seen.output()[part];
  const std::int64_t width = seen.width(part);
  for (std::int64_t c = 0; c < width; ++c)
    if (decode(tensor.format, tensor.bits(row * width + c)) != 0) return false;
  return true;
}

RowSymptom symptom_of(const Observation& seen, Part part, std::int64_t row) {
  RowSymptom r{.at = {part, row}};
  std::uint64_t failing = 0, passing = 0;
  const auto take = [&](Part of, std::int64_t index) {
    const VerdictKind kind = seen.kind(of, index);
    const Symptom s = group_of(seen.symptom(of, index));
    if (kind == VerdictKind::pass) r.right |= class_of(decode(seen.output()[of].format, seen.output()[of].bits(index)));
    if (of != Part::lse) (kind == VerdictKind::fail ? failing : passing) += 1;
    if (kind != VerdictKind::fail) return;
    ++r.elements;
    r.unwritten += s == Symptom::unwritten ? 1 : 0;
    const auto place = [](Symptom x) { return std::ranges::find(kSymptomOrder, x) - kSymptomOrder.begin(); };
    if (r.worst == Symptom::none || place(s) < place(r.worst)) r.worst = s;
  };
  if (part == Part::o) take(Part::lse, row);
  const std::int64_t width = seen.width(part);
  for (std::int64_t c = 0; c < width; ++c) take(part, row * width + c);
  r.mixed = failing > 0 && passing > 0;
  if (r.worst == Symptom::empty && !all_zero(seen, part, row))
    r.worst = Symptom::number;  // a small number that underflows
  return r;
}

/// Columns of a row that is mixed: which fail with the symptom. All of them are units of their own.
void add_columns(Units& units, const Observation& seen, const RowOfPart& at, Symptom symptom) {
  const std::int64_t width = seen.width(at.part);
  const auto* merge = std::get_if<MergeProblem>(&seen.subject().problem);
  const std::int64_t block = merge != nullptr ? merge->o.shape[2] : width;  // concat: columns of one state
  for (std::int64_t c = 0; c < width; ++c) {
    const std::int64_t index = at.row * width + c;
    const bool fails = seen.kind(at.part, index) == VerdictKind::fail;
    if (fails && group_of(seen.symptom(at.part, index)) != symptom) continue;
    if (fails || seen.kind(at.part, index) == VerdictKind::pass)
      units.add(seen, at, fails, static_cast<double>(c % block));
  }
}

class Symptoms {
 public:
  Symptoms(const Kernel& kernel, const Looked& looked) : kernel_(kernel), looked_(looked) {
    for (const auto* cases : {&looked.failing, &looked.passing})
      for (const Observation& seen : *cases) {
        if (!seen.error().empty()) continue;
        for (const Part part : seen.parts()) {
          if (part == Part::lse) continue;
          for (std::int64_t row = 0; row < seen.rows(part); ++row) rows_[&seen].push_back(symptom_of(seen, part, row));
        }
      }
  }

  /// `open`: the failing cases that nothing explains yet. That something is not written no other cause explains.
  std::vector<Cause> causes(const std::vector<bool>& open) {
    std::vector<Cause> list;
    const std::vector<bool> every(open.size(), true);
    for (const Symptom symptom : kSymptomOrder) {
      if (auto cause = cause_of(symptom, symptom == Symptom::unwritten ? every : open))
        list.push_back(std::move(*cause));
    }
    return list;
  }

 private:
  std::optional<Cause> cause_of(Symptom symptom, const std::vector<bool>& open) {
    Cause cause;
    bool mixed = false;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (!open[i]) continue;
      bool shown = false;
      for (const RowSymptom& r : rows_[&looked_.failing[i]]) {
        if (r.worst != symptom) continue;
        shown = true;
        mixed |= r.mixed;
        cause.elements += symptom == Symptom::unwritten ? r.unwritten : r.elements;
      }
      if (!shown) continue;
      ++cause.cases;
      if (cause.witness.empty()) cause.witness = to_string(looked_.failing[i].subject().spec);
    }
    if (cause.cases == 0) return std::nullopt;
    cause.id = name(symptom);
    cause.sentence = sentence(symptom);
    // What is not written is a matter of columns first, where a row is written in part.
    const bool by_column = mixed && symptom == Symptom::unwritten;
    auto condition = condition_of(symptom, open, by_column);
    if (!condition && mixed) condition = condition_of(symptom, open, !by_column);
    // That a row sees nothing is what the symptom says already.
    if (symptom == Symptom::finite_for_empty && condition && condition->id.find("no_visible_key") == 0)
      condition.reset();
    if (condition) {
      cause.id += ":" + condition->id;
      cause.condition = condition->sentence;
      cause.confident = true;
    }
    if (!condition && symptom == Symptom::nan && cause.cases > 1 && everywhere(symptom)) {
      cause.id += ":everywhere";
      cause.condition = "in every row that has a number";
      cause.confident = true;
    }
    // These two say what happened by themselves.
    cause.confident |= symptom == Symptom::unwritten || symptom == Symptom::finite_for_empty;
    return cause;
  }

  /// Nothing else fails, and no row that could have shown it is without it.
  bool everywhere(Symptom symptom) const {
    return std::ranges::none_of(rows_, [&](const auto& seen) {
      return std::ranges::any_of(seen.second, [&](const RowSymptom& r) {
        return r.worst != symptom && (r.worst != Symptom::none || r.could_show(symptom));
      });
    });
  }

  std::optional<Condition> condition_of(Symptom symptom, const std::vector<bool>& open, bool mixed) {
    Units units(kernel_);
    const auto add = [&](const Observation& seen, bool failing_case) {
      const auto& rows = rows_[&seen];
      std::int64_t failing = 0, passing = 0;
      for (const RowSymptom& r : rows) (r.worst == symptom ? failing : passing) += 1;
      const std::int64_t each_failing = stride_of(failing * (mixed ? 8 : 1)),
                         each_passing = stride_of(passing * (mixed ? 8 : 1));
      std::int64_t nf = 0, np = 0;
      for (const RowSymptom& r : rows) {
        const bool fails = r.worst == symptom;
        if (!fails && (r.worst != Symptom::none || !r.could_show(symptom))) continue;
        if (fails && !failing_case) continue;
        const bool taken = fails ? nf++ % each_failing == 0 : np++ % each_passing == 0;
        if (!taken) continue;
        if (mixed)
          add_columns(units, seen, r.at, symptom);
        else
          units.add(seen, r.at, fails, kNoColumn);
      }
    };
    for (std::size_t i = 0; i < looked_.failing.size(); ++i) add(looked_.failing[i], open[i]);
    for (const Observation& seen : looked_.passing) add(seen, false);
    return units.condition(mixed ? "elements" : "rows");
  }

  const Kernel& kernel_;
  const Looked& looked_;
  std::map<const Observation*, std::vector<RowSymptom>> rows_;
};

}  // namespace

bool shows(const Observation& seen, Symptom symptom) {
  for (const Part part : seen.parts())
    for (std::int64_t i = 0; i < seen.rows(part) * seen.width(part); ++i)
      if (group_of(seen.symptom(part, i)) == symptom) return true;
  return false;
}

std::vector<Cause> by_symptoms(const Kernel& kernel, const Looked& looked, const std::vector<bool>& open) {
  return Symptoms(kernel, looked).causes(open);
}

}  // namespace flashproof
