#include "fuzz/batch/batch.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>

#include "fuzz/batch/concatenate.h"
#include "kernels/simt/cpu/schedule.h"
#include "properties/laws/trial.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using Indices = std::vector<std::size_t>;

/// Large enough for a launch to cost little. The first of several is small enough for the judges to begin early; what fits one
/// launch is one, so that a launch that is kept fails again.
constexpr std::size_t kMostTogether = 256, kFirstTogether = 64;

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
    answer_and_judge(launches());
    doubt();
    return std::move(result_);
  }

 private:
  /// One thread at a time launches, as the executor wants it; the others judge what has been answered.
  void answer_and_judge(const std::vector<Indices>& launches) {
    struct Answered {
      std::size_t launch, index;
    };
    std::vector<Answered> answered;
    for (std::size_t l = 0; l < launches.size(); ++l) {
      for (const std::size_t i : launches[l]) answered.push_back({l, i});
    }
    std::vector<std::atomic<bool>> done(launches.size());
    for_each(answered.size() + 1, [&](std::size_t task) {
      if (task == 0) {
        const Release after{done};
        for (std::size_t l = 0; l < launches.size() && !result_.lost; ++l) {
          answer(launches[l]);
          release(done[l]);
        }
        return;
      }
      const Answered& mine = answered[task - 1];
      done[mine.launch].wait(false);  // the launches are the first task, so that a thread has begun them
      judge(mine.index);
    });
  }

  static void release(std::atomic<bool>& done) {
    done = true;
    done.notify_all();
  }

  /// Whatever happens, no thread waits for ever.
  struct Release {
    std::span<std::atomic<bool>> all;
    explicit Release(std::span<std::atomic<bool>> flags) : all(flags) {}
    Release(const Release&) = delete;
    Release& operator=(const Release&) = delete;
    ~Release() {
      for (std::atomic<bool>& done : all) release(done);
    }
  };

  /// Those that the kernel takes, by what may be joined, in the order of the first of each; full ones are followed by another.
  std::vector<Indices> launches() {
    std::vector<std::optional<std::string>> keys(cases_.size());
    for_each(cases_.size(), [&](std::size_t i) {
      const Problem& problem = cases_[i].problem;
      if (Trial(kernel_, cases_[i], nullptr, run_).refusal(problem).empty()) keys[i] = join_key(problem);
    });
    std::vector<Indices> list;
    std::map<std::string, std::size_t> by_key;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!keys[i]) continue;
      const auto [at, fresh] = by_key.try_emplace(*keys[i], list.size());
      const std::size_t most = at->second == 0 && cases_.size() > kMostTogether ? kFirstTogether : kMostTogether;
      if (!fresh && !keys[i]->empty() && list[at->second].size() < most) {
        list[at->second].push_back(i);
        continue;
      }
      at->second = list.size();
      list.push_back({i});
    }
    return list;
  }

  void answer(const Indices& launch) { launch.size() > 1 ? together(launch) : alone(launch.front()); }

  void together(const Indices& launch) {
    result_.failed_launches.push_back(launch);
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
  void for_each(std::size_t n, Body body) {
    Team& team = options_.team != nullptr ? *options_.team : caller_;
    team.for_each(static_cast<std::int64_t>(n), [&](std::int64_t i) { body(static_cast<std::size_t>(i)); });
  }

  static Score failed(const char* what) {
    Score score;
    score.ran = true;
    score.what = "error";
    score.verdict = {VerdictKind::fail, Failure::error, what};
    return score;
  }

  void judge(std::size_t i) {
    const Placed at = std::move(outputs_[i]);
    if (at.whole == nullptr) return;
    result_.scores[i] = score_output(kernel_, cases_[i], part_of(*at.whole, at.first_row, cases_[i].problem));
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
  Team caller_;
  RunOptions run_;
  std::vector<Placed> outputs_;
  BatchResult result_;
};

}  // namespace

BatchResult score_batch(const Kernel& kernel, std::span<const Case> cases, const BatchOptions& options) {
  return Batch(kernel, cases, options).run();
}

}  // namespace flashproof
