#include "python/bindings/check_gradients.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>

#include "properties/driver/property_files.h"
#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "properties/laws/law.h"
#include "properties/laws/run_power.h"
#include "properties/shrink/brief.h"
#include "properties/shrink/shrink.h"
#include "python/bindings/call_faults.h"
#include "python/bindings/gradient_answer.h"
#include "python/bindings/gradient_records.h"
#include "python/bindings/stop.h"
#include "reference/problem/error.h"
#include "reference/problem/shown_text.h"
#include "reference/problem/text.h"

namespace nb = nanobind;

namespace flashproof::python {
namespace {

/// Of a family, as many draws as this for every case that is wanted: the callable may refuse some.
constexpr std::uint64_t kDrawsPerCase = 16;
/// Cases of neighbouring seeds lie as far apart as they can, modulo 2^64: an odd number near 2^64 over the golden ratio.
constexpr std::uint64_t kSeedsApart = 0x9E3779B97F4A7C15;
/// Of the seconds, where findings are to be made small: a callable may compile for every shape.
constexpr double kShareOfDrawing = 0.75;
/// Simpler problems that are asked of the callable, for a finding; as a property's (properties/driver/shrinking_search.h).
constexpr int kShrinks = 600;

class Run {
 public:
  Run(CallableGradient& gradient, const GradientRequest& request)
      : gradient_(gradient), request_(request), stop_(gradient, request.seconds) {
    const std::vector<const Law*> chosen = select_laws(request.laws);
    for (std::size_t i = 0; i < std::size(kGradientLaws); ++i) {
      if (std::ranges::find(chosen, find_law(kGradientLaws[i])) == chosen.end()) continue;
      GradientLawRecord& law = laws_.emplace_back(GradientLawRecord{.law = static_cast<GradientLawAsked>(i)});
      if (law.law == kRerun && !gradient.declaration().deterministic) law.skipped = "it promises no determinism";
    }
    if (!laws_.empty()) return;
    std::string legal;
    for (const char* law : kGradientLaws) legal += (legal.empty() ? "" : ", ") + std::string(law);
    throw UsageError("laws: of gradients legal " + legal);
  }

  Json result() {
    if (request_.replay.empty()) {
      if (wants_witnesses()) stop_.allow(kShareOfDrawing);
      draw();
    } else {
      replay();
    }
    Json root = Json::object();
    root["partial"] = stop_.stopped();
    make_small();
    root["lost"] = gradient_.lost();
    for (Json& list : {std::ref(root["laws"]), std::ref(root["families"])}) list = Json::array();
    for (GradientLawRecord& law : laws_) {
      if (law.failure) law.replay = replay_of(law);
      root["laws"].push_back(to_json(law));
    }
    for (const GradientFamily& family : families_) root["families"].push_back(to_json(family));
    const std::vector<std::string> why = undecided();
    root["undecided"] = why;
    root["decided"] = request_.replay.empty() ? decided_shares(power_.balanced()) : Json::object();
    root["open"] = request_.replay.empty() ? power_.open() : std::vector<std::string>{};
    root["junit"] = gradient_junit(laws_, gradient_.declaration().id, whole(why));
    return root;
  }

 private:
  void draw() {
    std::vector<std::string_view> names;
    std::vector<const Family*> all;
    for (const Family& family : families()) {
      names.push_back(family.name);
      all.push_back(&family);
    }
    const std::string format(info(gradient_.declaration().format).name);
    for (const std::size_t i : select_names(request_.families, names, "family")) {
      if (!all[i]->serves(ProblemKind::backward)) continue;
      GradientFamily family{.name = std::string(all[i]->name)};
      std::uint64_t ran = 0, drawn_cases = 0;
      const std::uint64_t first = kSeedsApart * (request_.seed - 1);
      for (std::uint64_t n = 0; ran < request_.cases && n < kDrawsPerCase * request_.cases && !stop_(); ++n) {
        Case drawn;
        try {
          drawn =
              make_case({ProblemKind::backward, family.name, first + n, {{"format", format}, {"mode", "gradient"}}});
        } catch (const UsageError& error) {  // a feature without a gradient, or no case of this format
          family.refused = error.what();
          continue;
        }
        ++drawn_cases;
        if (ask(drawn, family)) ++ran;
      }
      offered_ += drawn_cases > 0 ? 1 : 0;
      families_.push_back(std::move(family));
      if (stop_()) return;
    }
  }

  void replay() {
    const std::string& text = request_.replay;
    const Case given = text.ends_with(".safetensors") || std::filesystem::exists(text)
                           ? read_witness(text).content
                           : make_case(parse_case_spec(text));
    const auto* problem = std::get_if<BackwardProblem>(&given.problem);
    if (problem == nullptr) throw UsageError("case: no gradient, legal: attention_backward");
    if (problem->mode != BackwardMode::gradient) {
      throw UsageError("case: a stage, legal: mode=gradient, for a callable takes no o and lse");
    }
    GradientFamily family{.name = given.spec.family};
    ask(given, family);
    families_.push_back(std::move(family));
  }

  /// False: refused.
  bool ask(const Case& subject, GradientFamily& family) {
    const auto& problem = std::get<BackwardProblem>(subject.problem);
    const std::string why = gradient_.refusal(problem);
    if (!why.empty()) {
      family.refused = why;
      GradientAnswer refused;
      refused.says.fill({VerdictKind::unsupported, Failure::none, why});
      note(subject, family, refused);
      return false;
    }
    power_.ask(subject.spec.family);
    const GradientAnswer answer = answer_to(gradient_, problem, subject.spec.seed, asks(kRerun));
    if (answer.judgement) {
      for (const Part part : kGradientParts) family.stats(part).merge((*answer.judgement)[part]);
      power_.add(subject.spec, answer.power);
    }
    note(subject, family, answer);
    return true;
  }

  /// Why the run is no pass though nothing failed; of a replay, which need not be a test, what a judging law says.
  std::vector<std::string> undecided() const {
    std::vector<std::string> why;
    if (!unasked_.empty()) why.push_back(unasked_);
    if (!request_.replay.empty()) return why;
    const auto& families = power_.families();
    if (static_cast<double>(families.size()) < kLeastTaken * static_cast<double>(offered_)) {
      std::string text = "what the callable takes leaves " + std::to_string(families.size()) + " of " +
                         std::to_string(offered_) + " input families:";
      for (const auto& [name, family] : families) text += " " + name;
      why.push_back(std::move(text));
    }
    // A preset's domain is not the user's to narrow: where it leaves most families out, too few of them are decided.
    if (std::string text = power_.undecided(); !text.empty()) why.push_back(std::move(text));
    return why;
  }

  /// What is wrong with the run beside its laws: the first finding of a family, else what is undecided.
  std::string whole(const std::vector<std::string>& undecided) const {
    const auto found = std::ranges::find_if(families_, [](const GradientFamily& f) { return !f.finding.empty(); });
    if (found != families_.end()) return found->finding;
    return undecided.empty() ? std::string() : undecided.front();
  }

  bool asks(GradientLawAsked law) const {
    if (law == kRerun && !gradient_.declaration().deterministic) return false;
    return std::ranges::any_of(laws_, [law](const GradientLawRecord& record) { return record.law == law; });
  }

  void note(const Case& subject, GradientFamily& family, const GradientAnswer& answer) {
    Verdict whole = answer.says[kWithin];
    if (outweighs(answer.says[kClass], whole)) whole = answer.says[kClass];
    // That the bits are the same again is no pass of gradients that are wrong.
    for (const GradientLawAsked law : kJudging) {
      const Verdict& says = answer.says[law];
      if (asks(law) || !unasked_.empty() || (!says.failed() && says.kind != VerdictKind::inconclusive)) continue;
      unasked_ = std::string(kGradientLaws[law]) + " was not asked, and says " +
                 to_string({says.kind, says.failure, {}}) + " of " + to_string(subject.spec) + ": " +
                 one_line(says.detail);
    }
    const GradientLawRecord* told = nullptr;
    for (GradientLawRecord& law : laws_) {
      if (!asks(law.law)) continue;
      if (answer.at_fault && told != nullptr) {  // one finding is enough
        law.skipped = std::string("not judged: it met the fault that ") + kGradientLaws[told->law] + " tells of";
        continue;
      }
      told = &law;
      const Verdict& says = answer.says[law.law];
      ++law.counts[static_cast<std::size_t>(says.kind)];
      if (outweighs(says, whole)) whole = says;
      if (!says.failed() || law.failure) continue;
      law.failure = says;
      law.line = to_string(subject.spec);
      law.failing = subject;
    }
    ++family.counts[static_cast<std::size_t>(whole.kind)];
    if (whole.failed() && family.finding.empty()) {
      family.finding =
          to_string(subject.spec) + "  " + to_string(Verdict{whole.kind, whole.failure, {}}) + "  " + whole.detail;
    }
  }

  bool wants_witnesses() const { return !request_.witnesses.empty() && request_.replay.empty(); }

  /// After all is judged: of every finding a witness of the smallest problem that fails in the same way, in what is left of the
  /// time, an equal part for each.
  void make_small() {
    if (!wants_witnesses()) return;
    std::filesystem::create_directories(request_.witnesses);
    const auto findings =
        std::ranges::count_if(laws_, [](const GradientLawRecord& law) { return law.failing.has_value(); });
    double share = kShareOfDrawing;
    for (GradientLawRecord& law : laws_) {
      if (!law.failing) continue;
      keep(law, *law.failing);  // whatever the search does, there is a witness
      if (gradient_.lost()) continue;
      share += (1 - kShareOfDrawing) / static_cast<double>(findings);
      stop_.allow(share);
      Case shown{law.failing->spec, smallest(*law.failing, law)};
      if (shown.problem == law.failing->problem) continue;
      law.shrunk = brief(shown.problem);
      keep(law, shown);
    }
  }

  void keep(GradientLawRecord& law, const Case& shown) const {
    const std::string& id = gradient_.declaration().id;
    const auto path = std::filesystem::path(request_.witnesses) / (id + "." + kGradientLaws[law.law] + ".safetensors");
    write_witness(path, {shown, {{"kernel", id}, {"verdict", to_string(*law.failure)}}});
    law.witness = path.string();
  }

  /// What fails only now and then stays nearly as it was drawn.
  Problem smallest(const Case& subject, GradientLawRecord& law) {
    const Verdict found = *law.failure;
    const auto fails = [&](const Problem& simpler) {
      const auto& problem = std::get<BackwardProblem>(simpler);
      if (!gradient_.refusal(problem).empty()) return false;
      Verdict says = answer_to(gradient_, problem, subject.spec.seed, law.law == kRerun).says[law.law];
      if (gradient_.lost()) law.failure->detail += "; a simpler problem lost the device: " + says.detail;
      if (!says.failed() || says.failure != found.failure || call_fault_name(says) != call_fault_name(found))
        return false;
      law.failure = std::move(says);
      return true;
    };
    return minimise(subject.problem, fails, kShrinks, [this] { return stop_(); });
  }

  std::string replay_of(const GradientLawRecord& law) const {
    const std::string& what = law.witness.empty() ? law.line : law.witness;
    return request_.program + " --law " + kGradientLaws[law.law] + " --replay " + shell_word(what);
  }

  CallableGradient& gradient_;
  const GradientRequest& request_;
  Stop<CallableGradient> stop_;
  RunPower power_;           // of the cases as they were drawn
  std::size_t offered_ = 0;  // families that have a case of this format and a gradient
  std::string unasked_;      // a judging law that was not asked and is no pass: the first case
  std::vector<GradientLawRecord> laws_;
  std::vector<GradientFamily> families_;
};

}  // namespace

std::string check_gradients(GradientDeclaration declaration, const GradientRequest& request) {
  CallableGradient gradient(std::move(declaration));
  std::string text;
  std::exception_ptr failed;
  {
    const nb::gil_scoped_release unlocked;
    try {
      text = Run(gradient, request).result().dump(-1, ' ', false, Json::error_handler_t::replace);
    } catch (...) {
      failed = std::current_exception();
    }
  }
  gradient.rethrow_interrupt();
  if (failed) std::rethrow_exception(failed);
  return text;
}

}  // namespace flashproof::python
