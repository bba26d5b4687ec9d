#include "fuzz/batch/batch.h"

#include <map>
#include <memory>
#include <optional>

#include "fuzz/batch/concatenate.h"
#include "kernels/simt/schedule.h"
#include "properties/laws/trial.h"
#include "reference/oracle/threads.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

using Indices = std::vector<std::size_t>;

/// Where the output of a case is: rows of what one launch returned.
struct Placed {
  std::shared_ptr<const Output> whole;  // null: the case has not run
  std::int64_t first_row = 0;
};

class Batch {
 public:
  Batch(const Kernel& kernel, std::span<const Case> cases, const BatchOptions& options)
      : kernel_(kernel), cases_(cases), options_(options), outputs_(cases.size()) {
    run_.executor = options.executor;
    result_.scores.resize(cases.size());
  }

  BatchResult run() {
    for (const Indices& launch : launches()) {
      if (launch.size() > 1) {
        together(launch);
      } else {
        alone(launch.front());
      }
      if (result_.lost) break;
    }
    judge();
    doubt();
    return std::move(result_);
  }

 private:
  /// Those that the kernel takes, by what may be joined, in the order of the first of each.
  std::vector<Indices> launches() const {
    std::vector<std::optional<std::string>> keys(cases_.size());
    for_each_case([&](std::size_t i) {
      const Problem& problem = cases_[i].problem;
      if (Trial(kernel_, cases_[i], nullptr, run_).refusal(problem).empty()) keys[i] = join_key(problem);
    });
    std::vector<Indices> list;
    std::map<std::string, std::size_t> by_key;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!keys[i]) continue;
      const auto [at, fresh] = by_key.try_emplace(*keys[i], list.size());
      if (keys[i]->empty() || fresh) {
        list.push_back({i});
      } else {
        list[at->second].push_back(i);
      }
    }
    return list;
  }

  void together(const Indices& launch) {
    result_.companies.push_back(launch);
    std::vector<const Problem*> problems;
    for (const std::size_t i : launch) problems.push_back(&cases_[i].problem);
    try {
      const auto whole = std::make_shared<const Output>(flashproof::run(kernel_, concatenate(problems), run_));
      std::int64_t row = 0;
      for (const std::size_t i : launch) {
        outputs_[i] = {whole, row};
        row += output_shape(cases_[i].problem).rows;
      }
      return;
    } catch (const KernelFault& fault) {
      if (options_.executor == Executor::cuda) {
        lose(fault.what());
        result_.together = launch;
        return;
      }
    } catch (const simt::Fault&) {  // of one of them: which one shows below
    } catch (const UsageError&) {   // the whole is too large for the kernel
    }
    for (const std::size_t i : launch) alone(i);
  }

  void alone(std::size_t i) {
    try {
      outputs_[i] = {std::make_shared<const Output>(flashproof::run(kernel_, cases_[i].problem, run_))};
    } catch (const UsageError&) {  // the kernel does not take it
    } catch (const KernelFault& fault) {
      result_.scores[i] = failed(fault.what());
      if (options_.executor == Executor::cuda) lose(fault.what());
    } catch (const simt::Fault& fault) {
      result_.scores[i] = failed(fault.what());
    }
  }

  void lose(const std::string& why) {
    result_.lost = true;
    result_.why = why;
  }

  template <class Body>
  void for_each_case(Body body) const {
    Threads(options_.threads).for_each(static_cast<std::int64_t>(cases_.size()), [&](std::int64_t i) {
      body(static_cast<std::size_t>(i));
    });
  }

  static Score failed(const char* what) {
    Score score;
    score.ran = true;
    score.what = "error";
    score.verdict = {VerdictKind::fail, Failure::error, what};
    return score;
  }

  void judge() {
    for_each_case([&](std::size_t i) {
      const Placed& at = outputs_[i];
      if (at.whole == nullptr) return;
      result_.scores[i] = score_output(kernel_, cases_[i], part_of(*at.whole, at.first_row, cases_[i].problem));
    });
  }

  void doubt() {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      Score& found = result_.scores[i];
      if (!found.failed() || found.what == "error") continue;
      if (result_.lost) {
        found.what = "batch:" + found.what;
        found.verdict.detail += " (in one launch with other cases; the context was lost before it could run alone)";
        continue;
      }
      ScoreOptions options;
      options.run = run_;
      Score alone = score(kernel_, cases_[i], options);
      if (!alone.failed()) {
        found.what = "batch:" + found.what;
        found.verdict.detail += " (in one launch with other cases; alone it passes)";
        continue;
      }
      found = std::move(alone);
      if (options_.executor == Executor::cuda && found.what == "error") lose(found.verdict.detail);
    }
  }

  const Kernel& kernel_;
  std::span<const Case> cases_;
  BatchOptions options_;
  RunOptions run_;
  std::vector<Placed> outputs_;
  BatchResult result_;
};

}  // namespace

BatchResult score_batch(const Kernel& kernel, std::span<const Case> cases, const BatchOptions& options) {
  return Batch(kernel, cases, options).run();
}

}  // namespace flashproof
