#include "python/bindings/check_gradients.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>

#include "properties/driver/junit.h"
#include "properties/driver/property_files.h"
#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "properties/generators/gradient_case.h"
#include "properties/laws/judging_gradients.h"
#include "properties/shrink/brief.h"
#include "properties/shrink/gradients.h"
#include "python/bindings/call_faults.h"
#include "python/bindings/statistics_json.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace nb = nanobind;

namespace flashproof::python {
namespace {

/// Of a family, as many draws as this for every case that is wanted: the callable may refuse some.
constexpr std::uint64_t kDrawsPerCase = 16;
/// Of the seconds, where findings are to be made small: a callable may compile for every shape.
constexpr double kShareOfDrawing = 0.75;
/// Simpler problems that are asked of the callable, for a finding; as a property's (properties/driver/shrinking_search.h).
constexpr int kShrinks = 600;

enum Asked : std::uint8_t { kWithin, kWritten, kRerun };
constexpr struct {
  const char* name;
  const char* summary;
} kLaws[] = {
    {"gradient_within_bound", "every element of dq, dk and dv has the right class and lies within its a-priori bound"},
    {"gradient_fully_written", "every element of dq, dk and dv is stored"},
    {"gradient_rerun_is_bitwise", "a second run has the same bits"},
};

struct LawRecord {
  Asked law{};
  std::array<std::uint64_t, kVerdictKinds> counts{};
  std::optional<Verdict> failure;
  std::string line, witness, shrunk;
  std::optional<BackwardCase> failing;  // as it was drawn
};

/// Of one problem.
struct Answer {
  std::optional<GradientJudgement> judgement;       // of the first call; none where it was at fault
  std::array<Verdict, std::size(kLaws)> says = {};  // by Asked
  bool at_fault = false;                            // a call was, and every law says so
};

struct GradientFamily {
  std::string name, refused, finding;
  std::array<std::uint64_t, kVerdictKinds> counts{};
  ErrorStats dq, dk, dv;
};

/// The clock, Ctrl-C, and a device that answers no more.
class Stop {
 public:
  Stop(CallableGradient& gradient, double seconds) : gradient_(gradient), seconds_(seconds) { allow(1); }
  /// From now on until this share of all the seconds has passed, counted from the beginning.
  void allow(double share) {
    stopped_ = false;
    end_ = begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(share * seconds_));
  }
  bool operator()() {
    stopped_ = stopped_ || gradient_.lost() || (seconds_ > 0 && Clock::now() >= end_) || gradient_.interrupted();
    return stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  using Clock = std::chrono::steady_clock;
  CallableGradient& gradient_;
  double seconds_;  // 0: no limit
  Clock::time_point begin_ = Clock::now(), end_;
  bool stopped_ = false;
};

class Run {
 public:
  Run(CallableGradient& gradient, const GradientRequest& request)
      : gradient_(gradient), request_(request), stop_(gradient, request.seconds) {
    std::vector<std::string_view> names;
    for (const auto& law : kLaws) names.push_back(law.name);
    for (const std::size_t i : select_names(request.laws, names, "law")) {
      laws_.push_back({.law = static_cast<Asked>(i)});
    }
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
    for (const LawRecord& law : laws_) root["laws"].push_back(law_json(law));
    for (const GradientFamily& family : families_) {
      root["families"].push_back({{"family", family.name},
                                  {"cases", counts(family.counts)},
                                  {"refused", family.refused},
                                  {"finding", family.finding},
                                  {"dq", statistics(family.dq)},
                                  {"dk", statistics(family.dk)},
                                  {"dv", statistics(family.dv)}});
    }
    root["junit"] = junit();
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
      if (!all[i]->serves(ProblemKind::attention)) continue;
      GradientFamily family{.name = std::string(all[i]->name)};
      std::uint64_t ran = 0;
      const std::uint64_t first = request_.seed > 0 ? request_.seed - 1 : 0;
      for (std::uint64_t n = 0; ran < request_.cases && n < kDrawsPerCase * request_.cases && !stop_(); ++n) {
        BackwardCase drawn;
        try {
          drawn = make_gradient_case(
              {ProblemKind::attention, family.name, first + n, {{"format", format}, {"mode", "gradient"}}});
        } catch (const UsageError& error) {  // a feature without a gradient, or no case of this format
          family.refused = error.what();
          continue;
        }
        if (ask(drawn, family)) ++ran;
      }
      families_.push_back(std::move(family));
      if (stop_()) return;
    }
  }

  void replay() {
    BackwardCase given;
    if (is_backward_line(request_.replay)) {
      given = make_gradient_case(parse_backward_line(request_.replay));
    } else {
      given = parse_backward_witness(read_witness_bytes(request_.replay), request_.replay).content;
    }
    if (given.problem.mode != BackwardMode::gradient) {
      throw UsageError("case: a stage, legal: mode=gradient, for a callable takes no o and lse");
    }
    GradientFamily family{.name = given.spec.family};
    ask(given, family);
    families_.push_back(std::move(family));
  }

  /// False: refused.
  bool ask(const BackwardCase& subject, GradientFamily& family) {
    const std::string why = gradient_.refusal(subject.problem);
    if (!why.empty()) {
      family.refused = why;
      Answer refused;
      refused.says.fill({VerdictKind::unsupported, Failure::none, why});
      note(subject, family, refused);
      return false;
    }
    const Answer answer = answer_to(subject.problem, subject.spec.seed, asks(kRerun));
    if (answer.judgement) {
      for (const Part part : kGradientParts) stats(family, part).merge(answer.judgement->stats(part));
    }
    note(subject, family, answer);
    return true;
  }

  /// Of a problem that the callable takes.
  Answer answer_to(const BackwardProblem& problem, std::uint64_t seed, bool twice) {
    Answer answer;
    try {
      const Gradients first = gradient_.run(problem);
      const BackwardTruth truth = backward_truth(problem, gradient_.declaration().format);
      const BackwardBound bound = gradient_bound(problem, gradient_.arithmetic());
      const JudgedGradients judged{first, truth, bound};
      answer.judgement = judge(judged, gradient_.contract(), seed);
      answer.says[kWithin] = gradients_within_bound(*answer.judgement);
      answer.says[kWritten] = gradients_fully_written(judged);
      if (twice) answer.says[kRerun] = gradients_have_the_same_bits(first, gradient_.run(problem));
    } catch (const KernelFault& fault) {
      answer.at_fault = true;
      answer.says.fill({VerdictKind::fail, Failure::error, fault.what()});
    }
    return answer;
  }

  static ErrorStats& stats(GradientFamily& family, Part part) {
    return part == Part::dq ? family.dq : part == Part::dk ? family.dk : family.dv;
  }
  bool asks(Asked law) const {
    if (law == kRerun && !gradient_.declaration().deterministic) return false;
    return std::ranges::any_of(laws_, [law](const LawRecord& record) { return record.law == law; });
  }

  void note(const BackwardCase& subject, GradientFamily& family, const Answer& answer) {
    Verdict whole = answer.says[kWithin];
    bool told = false;
    for (LawRecord& law : laws_) {
      if (!asks(law.law)) continue;
      if (answer.at_fault && told) continue;  // one finding is enough
      told = true;
      const Verdict& says = answer.says[law.law];
      ++law.counts[static_cast<std::size_t>(says.kind)];
      if (outweighs(says, whole)) whole = says;
      if (!says.failed() || law.failure) continue;
      law.failure = says;
      law.line = backward_line(subject.spec);
      law.failing = subject;
    }
    ++family.counts[static_cast<std::size_t>(whole.kind)];
    if (whole.failed() && family.finding.empty()) {
      family.finding =
          backward_line(subject.spec) + "  " + to_string(Verdict{whole.kind, whole.failure, {}}) + "  " + whole.detail;
    }
  }

  bool wants_witnesses() const { return !request_.witnesses.empty() && request_.replay.empty(); }

  /// After all is judged: of every finding a witness of the smallest problem that fails in the same way, in what is left of the
  /// time, an equal part for each.
  void make_small() {
    if (!wants_witnesses()) return;
    std::filesystem::create_directories(request_.witnesses);
    const auto findings = std::ranges::count_if(laws_, [](const LawRecord& law) { return law.failing.has_value(); });
    double share = kShareOfDrawing;
    for (LawRecord& law : laws_) {
      if (!law.failing) continue;
      keep(law, *law.failing);  // whatever the search does, there is a witness
      if (gradient_.lost()) continue;
      share += (1 - kShareOfDrawing) / static_cast<double>(findings);
      stop_.allow(share);
      BackwardCase shown{law.failing->spec, smallest(*law.failing, law)};
      if (shown.problem == law.failing->problem) continue;
      law.shrunk = brief(shown.problem);
      keep(law, shown);
    }
  }

  void keep(LawRecord& law, const BackwardCase& shown) const {
    const std::string& id = gradient_.declaration().id;
    const auto path = std::filesystem::path(request_.witnesses) / (id + "." + kLaws[law.law].name + ".safetensors");
    write_backward_witness(path, {shown, {{"kernel", id}, {"verdict", to_string(*law.failure)}}});
    law.witness = path.string();
  }

  /// What fails only now and then stays nearly as it was drawn.
  BackwardProblem smallest(const BackwardCase& subject, LawRecord& law) {
    const Verdict found = *law.failure;
    const auto fails = [&](const BackwardProblem& problem) {
      if (!gradient_.refusal(problem).empty()) return false;
      Verdict says = answer_to(problem, subject.spec.seed, law.law == kRerun).says[law.law];
      if (gradient_.lost()) law.failure->detail += "; a simpler problem lost the device: " + says.detail;
      if (!says.failed() || says.failure != found.failure || call_fault_name(says) != call_fault_name(found))
        return false;
      law.failure = std::move(says);
      return true;
    };
    return minimise(subject.problem, fails, kShrinks, [this] { return stop_(); });
  }

  std::string replay_of(const LawRecord& law) const {
    const std::string& what = law.witness.empty() ? law.line : law.witness;
    return request_.program + " --law " + kLaws[law.law].name + " --replay " + shell_quoted(what);
  }

  std::string skipped(const LawRecord& law) const {
    if (law.law == kRerun && !gradient_.declaration().deterministic) return "it promises no determinism";
    return "the callable takes none of these cases";
  }

  Json law_json(const LawRecord& law) const {
    std::uint64_t executed = 0;
    for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
      executed += static_cast<VerdictKind>(kind) == VerdictKind::unsupported ? 0 : law.counts[kind];
    }
    Json json{{"law", kLaws[law.law].name},
              {"finding", law.failure.has_value()},
              {"skipped", executed == 0},
              {"cases", counts(law.counts)}};
    if (!law.failure) {
      if (executed == 0) json["message"] = skipped(law);
      return json;
    }
    json["failure"] = name(law.failure->failure);
    json["message"] = one_line(law.failure->detail);
    json["case"] = law.line;
    json["shrunk"] = law.shrunk;
    json["witness"] = law.witness;
    json["replay"] = replay_of(law);
    return json;
  }

  std::string junit() const {
    JunitSuite suite{"flashproof"};
    for (const LawRecord& law : laws_) {
      JunitCase& one = suite.cases.emplace_back();
      one.classname = gradient_.declaration().id;
      one.name = kLaws[law.law].name;
      const Json json = law_json(law);
      if (law.failure) {
        one.outcome = JunitOutcome::failed;
        one.type = name(law.failure->failure);
        one.message = law.line + (law.shrunk.empty() ? "" : " (shrunk to " + law.shrunk + ")") + "  " +
                      one_line(law.failure->detail) + "\nreplay: " + replay_of(law);
      } else if (json["skipped"]) {
        one.outcome = JunitOutcome::skipped;
        one.message = skipped(law);
      }
    }
    return junit_xml(std::span(&suite, 1));
  }

  CallableGradient& gradient_;
  const GradientRequest& request_;
  Stop stop_;
  std::vector<LawRecord> laws_;
  std::vector<GradientFamily> families_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> gradient_law_list() {
  std::vector<std::pair<std::string, std::string>> list;
  for (const auto& law : kLaws) list.emplace_back(law.name, law.summary);
  return list;
}

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
