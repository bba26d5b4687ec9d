#include "reports/faults/habits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "kernels/run/run.h"
#include "kernels/simt/cpu/schedule.h"
#include "properties/laws/support/change.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

double rounded(Format format, double x) { return decode(format, encode(format, x)); }

struct Tolerance {
  double relative, absolute;
};
Tolerance default_tolerance(Format format) {
  if (format == Format::f32) return {1.3e-6, 1e-5};
  return {format == Format::f16 ? 1e-3 : 1.6e-2, 1e-5};
}

/// "" if close.
std::string not_close(const Tensor& computed, const Balls& exact, std::string_view name) {
  const Tolerance t = default_tolerance(computed.format);
  for (std::int64_t i = 0; i < computed.elements(); ++i) {
    const double a = decode(computed.format, computed.bits(i));
    const double e = rounded(computed.format, exact[static_cast<std::size_t>(i)].hi);
    if (!(std::fabs(a - e) <= t.absolute + t.relative * std::fabs(e))) {
      return fmt::format("{}[{}] is {:.7g}, expected {:.7g}", name, i, a, e);
    }
  }
  return {};
}

/// The textbook formula with every intermediate tensor rounded into the format; o, row-major.
std::vector<double> same_precision(const SoftmaxProblem& p) {
  std::vector<double> o;
  const std::int64_t rows = p.x.shape[0], cols = p.x.shape[1];
  for (std::int64_t r = 0; r < rows; ++r) {
    float m = -INFINITY, sum = 0;
    for (std::int64_t c = 0; c < cols; ++c) m = std::max(m, static_cast<float>(p.x.at({r, c})));
    for (std::int64_t c = 0; c < cols; ++c) sum += std::exp(static_cast<float>(p.x.at({r, c})) - m);
    for (std::int64_t c = 0; c < cols; ++c) {
      o.push_back(rounded(p.x.format, std::exp(static_cast<float>(p.x.at({r, c})) - m) / sum));
    }
  }
  return o;
}

std::vector<double> same_precision(const MergeProblem& p) {
  std::vector<double> o;
  const std::int64_t states = p.o.shape[0];
  const auto lse_of = [&](std::int64_t n, std::int64_t r) {
    const auto lse = static_cast<float>(p.lse.at({n, r}));
    return p.has_l() ? lse + std::log(static_cast<float>(p.l.at({n, r}))) : lse;
  };
  for (std::int64_t r = 0; r < p.o.shape[1]; ++r) {
    for (std::int64_t c = 0; c < p.o.shape[2]; ++c) {
      // out = out − sigmoid(lse_n − lse) (out − o_n), lse = lse − logsigmoid(lse − lse_n): the ring update.
      const auto value = [&](std::int64_t n) {
        const double stored = p.o.at({n, r, c});
        return p.has_l() ? rounded(p.o.format, static_cast<float>(stored) / static_cast<float>(p.l.at({n, r})))
                         : stored;
      };
      double out = value(0);
      float lse = lse_of(0, r);
      for (std::int64_t n = 1; n < states; ++n) {
        const float next = lse_of(n, r);
        const double weight = rounded(p.o.format, 1 / (1 + std::exp(lse - next)));
        const double difference = rounded(p.o.format, out - value(n));
        out = rounded(p.o.format, out - rounded(p.o.format, weight * difference));
        lse += std::log1p(std::exp(next - lse));
      }
      o.push_back(out);
    }
  }
  return o;
}

/// Rows of k or v of one sequence and kv head, decoded.
std::vector<double> decoded(const Tensor& tensor, std::int64_t rows,
                            const std::function<std::int64_t(std::int64_t)>& at) {
  std::vector<double> numbers;
  for (std::int64_t j = 0; j < rows; ++j) {
    for (std::int64_t d = 0; d < tensor.shape[3]; ++d) {
      numbers.push_back(decode(tensor.format, tensor.bits(at(j) + d * tensor.stride[3])));
    }
  }
  return numbers;
}

/// One query against k and v, decoded.
void same_precision_row(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t i,
                        const std::vector<double>& k, const std::vector<double>& v, double* o) {
  const Format format = p.q.format;
  const std::int64_t keys = p.k_length(s), d = p.head_dim(), dv = p.value_dim();
  std::vector<double> q, score(static_cast<std::size_t>(keys), -INFINITY);
  for (std::int64_t c = 0; c < d; ++c) {
    q.push_back(rounded(format, decode(format, p.q.bits(p.q_offset(s, h, i) + c * p.q.stride[3])) * p.scale));
  }
  float m = p.has_sink() ? static_cast<float>(p.sink.at({h})) : -INFINITY;
  for (std::int64_t j = 0; j < keys; ++j) {
    if (!p.position_visible(s, i, j)) continue;
    float dot = 0;
    for (std::int64_t c = 0; c < d; ++c) {
      dot += static_cast<float>(q[static_cast<std::size_t>(c)] * k[static_cast<std::size_t>(j * d + c)]);
    }
    double x = rounded(format, dot);
    if (p.softcap != 0) x = rounded(format, p.softcap * rounded(format, std::tanh(rounded(format, x / p.softcap))));
    if (p.has_alibi()) {
      const std::int64_t distance = std::abs(i + keys - p.q_length(s) - j);
      x = rounded(format, x - p.alibi.at({s, h}) * static_cast<double>(distance));
    }
    if (p.has_bias()) x = rounded(format, x + p.bias.at({s, h, i, j}));
    score[static_cast<std::size_t>(j)] = x;
    m = std::max(m, static_cast<float>(x));
  }
  float sum = p.has_sink() ? std::exp(static_cast<float>(p.sink.at({h})) - m) : 0;
  for (const double x : score) sum += std::exp(static_cast<float>(x) - m);
  for (double& x : score) x = rounded(format, std::exp(static_cast<float>(x) - m) / sum);
  for (std::int64_t c = 0; c < dv; ++c) {
    float value = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      value += static_cast<float>(score[static_cast<std::size_t>(j)] * v[static_cast<std::size_t>(j * dv + c)]);
    }
    o[c] = rounded(format, value);
  }
}

std::vector<double> same_precision(const AttentionProblem& p) {
  std::vector<double> o(static_cast<std::size_t>(p.batch() * p.q_heads() * p.q_length() * p.value_dim()));
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t kv = 0; kv < p.k_heads(); ++kv) {
      const auto k = decoded(p.k, p.k_length(s), [&](std::int64_t j) { return p.k_offset(s, kv, j); });
      const auto v = decoded(p.v, p.k_length(s), [&](std::int64_t j) { return p.v_offset(s, kv, j); });
      for (std::int64_t h = 0; h < p.q_heads(); ++h) {
        for (std::int64_t i = 0; p.kv_head(h) == kv && i < p.q_length(s); ++i) {
          same_precision_row(p, s, h, i, k, v, o.data() + p.output_row(s, h, i) * p.value_dim());
        }
      }
    }
  }
  return o;
}

double largest_error(const Problem& problem, const Truth& truth) {
  const std::vector<double> reference = visit_forward([](const auto& p) { return same_precision(p); }, problem);
  std::vector<double> errors(reference.size());
  for (std::size_t i = 0; i < reference.size(); ++i) errors[i] = std::fabs(reference[i] - truth.o[i].hi);
  return largest_of(errors);
}

/// An ordinary problem beside what both habits compare with.
struct Subject {
  NamedProblem named;
  Truth truth;
  double reference_error;
};

const std::vector<Subject>& subjects(ProblemKind problem) {
  static std::map<ProblemKind, std::vector<Subject>> all;
  std::vector<Subject>& list = all[problem];
  if (list.empty()) {
    for (NamedProblem& named : ordinary_problems(problem)) {
      Truth truth = Oracle(named.problem).truth();
      const double error = largest_error(named.problem, truth);
      list.push_back({std::move(named), std::move(truth), error});
    }
  }
  return list;
}

/// Whether there is a number that the comparisons could be wrong about.
bool tells_anything(const Truth& truth) {
  for (std::size_t i = 0; i < truth.o.size(); ++i) {
    const Ball ball = truth.o[i];
    if ((ball.classes & kFinite) != 0 && std::isfinite(ball.hi) && ball.hi != 0) return true;
  }
  return false;
}

/// "" if within.
std::string beyond_twice(const Subject& s, const Output& output) {
  std::vector<double> errors;
  double addition = 0;
  for (std::size_t i = 0; i < s.truth.o.size(); ++i) {
    const Format format = output.o.format;
    const double exact = s.truth.o[i].hi;
    errors.push_back(std::fabs(decode(format, output.o.bits(static_cast<std::int64_t>(i))) - exact));
    addition =
        std::max(addition, std::fabs(rounded(format, rounded(format, exact + 0.3) - 0.3) - rounded(format, exact)));
  }
  const double computed = largest_of(errors);
  if (computed <= 2 * s.reference_error + 2 * addition) return {};
  return fmt::format("error {:.3g}, the reference's {:.3g}", computed, s.reference_error);
}

struct Complaints {
  std::string allclose, twice;
};

Complaints complaints(const Kernel& kernel, const Subject& s) {
  try {
    const Output output = run(kernel, s.named.problem);
    std::string why = not_close(output.o, s.truth.o, "o");
    if (why.empty()) why = not_close(output.lse, s.truth.lse, "lse");
    return {why, beyond_twice(s, output)};
  } catch (const simt::Fault& fault) {
    return {fault.what(), fault.what()};
  } catch (const KernelFault& fault) {
    return {fault.what(), fault.what()};
  }
}

/// Of a kernel that faults are seeded in, on the subject of this number: asked again and again.
const Complaints& complaints_of_right(const Kernel& hardened, std::size_t number, const Subject& s) {
  static std::map<std::pair<std::string_view, std::size_t>, Complaints> known;
  const auto at = std::pair{hardened.id, number};
  const auto found = known.find(at);
  return found != known.end() ? found->second : known.emplace(at, complaints(hardened, s)).first->second;
}

void note(HabitResult& result, const Subject& s, const std::string& right, const std::string& broken) {
  if (!right.empty()) return;
  result.tested = result.tested || tells_anything(s.truth);
  if (result.sees || broken.empty()) return;
  result.sees = true;
  result.where = s.named.name + ": " + broken;
}

}  // namespace

double largest_of(const std::vector<double>& errors) {
  double largest = 0;
  for (const double error : errors) {
    if (!(error <= largest) && !std::isnan(largest)) largest = error;
  }
  return largest;
}

void prepare_habits(ProblemKind problem) { subjects(problem); }

Habits ask_habits(const Kernel& fault, const Kernel& hardened) {
  Habits habits;
  const std::vector<Subject>& all = subjects(fault.problem);
  for (std::size_t number = 0; number < all.size(); ++number) {
    const Subject& s = all[number];
    if (habits.allclose.sees && habits.twice.sees) break;
    if (!fault.supports(format_of(s.named.problem)) || !fault.unsupported(s.named.problem).empty()) continue;
    const Complaints broken = complaints(fault, s);
    const bool known = habits.allclose.tested && habits.twice.tested;
    if (known && broken.allclose.empty() && broken.twice.empty()) continue;
    const Complaints& right = complaints_of_right(hardened, number, s);
    note(habits.allclose, s, right.allclose, broken.allclose);
    note(habits.twice, s, right.twice, broken.twice);
  }
  return habits;
}

}  // namespace flashproof
