#include "reference/oracle/fp64/attention.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/fp64/attention_head.h"

namespace flashproof {

void fp64_attention(const AttentionProblem& problem, std::span<const std::int64_t> rows, const Threads& threads,
                    Truth& truth, std::span<RowCause> cause, const AttentionOptions& options) {
  using namespace attention64;
  require_ieee_environment();
  Call call{problem, options, truth, cause, {}, {}};
  // Rows that share keys stand together, whatever their order in the output.
  struct Job {
    std::int64_t sequence, kv_head, place;
    AttentionRow row;
  };
  std::vector<Job> jobs;
  jobs.reserve(rows.size());
  for (std::size_t p = 0; p < rows.size(); ++p) {
    const AttentionRow row = locate(problem, rows[p]);
    jobs.push_back({row.sequence, problem.kv_head(row.head), static_cast<std::int64_t>(p), row});
  }
  const auto key = [](const Job& job) { return std::tuple(job.sequence, job.kv_head, job.place); };
  std::ranges::sort(jobs, {}, key);
  std::vector<std::size_t> heads;  // where each begins
  for (std::size_t n = 0; n < jobs.size(); ++n) {
    if (n == 0 || jobs[n].sequence != jobs[n - 1].sequence || jobs[n].kv_head != jobs[n - 1].kv_head)
      heads.push_back(n);
  }
  // Whole heads side by side if there are enough of them, else one after the other with all threads in it.
  const bool side_by_side = static_cast<std::int64_t>(heads.size()) >= 2 * threads.count();
  const Threads outer(side_by_side ? threads.count() : 1);
  const Threads inner(side_by_side ? 1 : threads.count());
  outer.for_each(static_cast<std::int64_t>(heads.size()), [&](std::int64_t n) {
    const std::size_t begin = heads[static_cast<std::size_t>(n)];
    const std::size_t end =
        static_cast<std::size_t>(n) + 1 < heads.size() ? heads[static_cast<std::size_t>(n) + 1] : jobs.size();
    std::vector<RowState> states(end - begin);
    for (std::size_t i = 0; i < states.size(); ++i) {
      const Job& job = jobs[begin + i];
      states[i].place = job.place;
      states[i].row = job.row;
      states[i].visible = problem.visible_keys(job.sequence, job.row.query);
      states[i].visible.first = std::max<std::int64_t>(states[i].visible.first, 0);
    }
    run_head(call, jobs[begin].sequence, jobs[begin].kv_head, inner, states);
  });
  for (const Note& note : call.notes) truth.set_row(note.place, note.balls);
}

std::int64_t fp64_attention_memory(const AttentionProblem& problem, std::int64_t rows, int threads) {
  using namespace attention64;
  const AttentionOptions options;
  const std::int64_t padded = round_up(problem.value_dim(), kPanel);
  const std::int64_t capacity = chunk_capacity(problem, options);
  const std::int64_t depth = problem.head_dim();
  const std::int64_t chunk = Chunk::doubles(capacity, depth, padded) * 8;
  const std::int64_t per_thread =
      std::max(options.pack_bytes, chunk) + (Scratch::doubles(capacity, depth, padded) + kBlockRows * 3 * padded) * 8;
  // Rows: their jobs and states, and the vectors of the rows of one head where its keys do not fit at once. Special rows:
  // notes with balls, and lists of keys, or one list per row of a block for a long row.
  const std::int64_t per_row = 160 + static_cast<std::int64_t>(sizeof(RowState)) + 3 * padded * 8 +
                               problem.value_dim() * static_cast<std::int64_t>(sizeof(Ball));
  const std::int64_t lists = std::max(kListedKeys, kGroup * problem.k_length()) * 2 * 10;
  return per_row * rows + (per_thread + lists + HeadFlags::kBytes * problem.k_length()) * std::max(threads, 1);
}

}  // namespace flashproof
