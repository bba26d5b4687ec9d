// The plain formulas as Python that NumPy and PyTorch both run: XP stands for either.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/export/script.h"

namespace flashproof {
namespace {

std::string list_constant(std::string_view name, const std::vector<std::int32_t>& values) {
  return fmt::format("{} = [{}]", name, fmt::join(values, ", "));
}

std::string number_constant(std::string_view name, float value, std::string_view note) {
  return fmt::format("{} = float.fromhex(\"{:a}\"){}", name, double{value}, note);
}

Formula softmax_formula(const SoftmaxProblem& p) {
  Formula f{{"x"}, {}, {}, "o, lse"};
  const bool lengths = !p.row_length.empty();
  if (lengths) f.constants.push_back(list_constant("ROW_LENGTH", p.row_length) + "  # visible columns of each row");
  f.body = R"(    o, lse = XP.zeros(x.shape, dtype=XP.float64), XP.full(x.shape[:1], -inf, dtype=XP.float64)
    for r in range(x.shape[0]):
        see = x[r] != -inf  # NaN is seen
)";
  if (lengths) f.body += "        see[ROW_LENGTH[r]:] = False\n";
  f.body += R"(        s = x[r][see]
        if not len(s):
            continue  # nothing visible: o = 0, lse = -inf
        p = XP.exp(s - s.max())
        o[r][see] = p / p.sum()
        lse[r] = s.max() + XP.log(p.sum())
)";
  return f;
}

Formula merge_formula(const MergeProblem& p) {
  Formula f{{"o", "lse"}, {}, {}, "out, out_lse"};
  if (p.has_l()) f.arguments.emplace_back("l");
  const bool concat = p.form == MergeForm::concat;
  f.body = fmt::format(R"(    n, rows, width = o.shape  # states, rows, columns of one state
    out, out_lse = XP.zeros((rows, {}), dtype=XP.float64), XP.full((rows,), -inf, dtype=XP.float64)
    for r in range(rows):
        see = {}
        s = lse[see, r]
        if not len(s):
            continue  # no state contributes: o = 0, lse = -inf
)",
                       concat ? "n * width" : "width",
                       p.has_l() ? "(lse[:, r] != -inf) & (l[:, r] != 0)" : "lse[:, r] != -inf");
  if (p.has_l()) {
    f.body += R"(        weight = l[see, r] * XP.exp(s - s.max())  # (m, l, O): not yet divided by l
        total = weight.sum() + 0 * weight.max()  # an infinite l is no state: NaN
)";
  } else {
    f.body += "        total = XP.exp(s - s.max()).sum()\n";
  }
  f.body += R"(        out_lse[r] = s.max() + XP.log(total)
        factor = XP.exp(s - s.max()) / total
)";
  if (concat) {
    f.body += R"(        blocks = XP.zeros((n, width), dtype=XP.float64)
        blocks[see] = factor[:, None] * o[see, r]  # the states side by side
        out[r] = blocks.reshape(n * width)
)";
  } else {
    f.body += "        out[r] = factor @ o[see, r]\n";
  }
  return f;
}

/// Everything up to the scores `s` of one query against the keys of its head, and which of them it may `see`.
/// `outputs`: the lines that make room for the results.
void attention_scores(Formula& f, const AttentionProblem& p, const std::string& outputs) {
  f.constants.push_back(number_constant("SCALE", p.scale, ""));
  if (p.softcap != 0) f.constants.push_back(number_constant("SOFTCAP", p.softcap, ""));
  if (!p.key_length.empty()) {
    f.constants.push_back(list_constant("KEY_LENGTH", p.key_length) + "  # keys of each sequence");
  }
  if (p.packed())
    f.constants.push_back(list_constant("Q_START", p.q_start) + "  # packed: sequence s owns START[s]:START[s+1]");
  if (p.packed() && !p.paged()) f.constants.push_back(list_constant("K_START", p.k_start));
  if (p.paged()) {
    f.constants.push_back(list_constant("PAGE_TABLE", p.page_table));
    f.constants.push_back(fmt::format("PAGES = {}  # of each sequence in PAGE_TABLE",
                                      p.page_table.size() / static_cast<std::size_t>(p.sequences())));
  }
  std::string& b = f.body;
  b += outputs;
  b += fmt::format("    for b in range({}):  # sequences\n", p.sequences());
  b += p.packed() ? "        Q = q[0, :, Q_START[b]:Q_START[b + 1]]\n" : "        Q = q[b]\n";
  if (p.paged()) {
    b += fmt::format("        length = {}\n", p.key_length.empty() ? "PAGES * k.shape[2]" : "KEY_LENGTH[b]");
    b += R"(        pages = XP.asarray(PAGE_TABLE[b * PAGES:][:-(-length // k.shape[2])], dtype=XP.int64)
        K, V = (x[pages].swapaxes(0, 1) for x in (k, v))  # head, page, place, column
        K, V = (x.reshape(x.shape[0], len(pages) * x.shape[2], x.shape[3])[:, :length] for x in (K, V))
)";
  } else {
    b += p.packed() ? "        K, V = (x[0, :, K_START[b]:K_START[b + 1]] for x in (k, v))\n"
                    : "        K, V = k[b], v[b]\n";
  }
  const bool grouped = p.q_heads() != p.k_heads();
  b += fmt::format(R"(        j = XP.arange(K.shape[1])
        for h, i in ((h, i) for h in range(Q.shape[0]) for i in range(Q.shape[1])):
            g = {}
            s = {} * (K[g] @ Q[h, i])
)",
                   grouped ? "h * K.shape[0] // Q.shape[0]  # grouped heads: the kv head that it reads" : "h",
                   std::string("SCALE") + (p.q_descale.shape.empty() ? "" : " * q_descale[b, g]") +
                       (p.k_descale.shape.empty() ? "" : " * k_descale[b, g]"));
  if (p.softcap != 0) b += "            s = SOFTCAP * XP.tanh(s / SOFTCAP)\n";
  if (p.has_bias()) b += "            s = s + bias[b, h, i, :len(s)]\n";
  b += "            at = i + K.shape[1] - Q.shape[1]  # aligned bottom right\n";
  if (p.has_alibi()) b += "            s = s - alibi[b, h] * abs(at - j)\n";
  b += "            see = s != -inf  # NaN is seen\n";
  if (p.has_bias()) b += "            see = see & (bias[b, h, i, :len(s)] != -inf)\n";
  if (!p.key_length.empty() && !p.paged()) b += "            see = see & (j < KEY_LENGTH[b])\n";
  if (p.causal) b += "            see = see & (j <= at)\n";
  if (p.window_left >= 0) b += fmt::format("            see = see & (j >= at - {})\n", p.window_left);
  if (p.window_right >= 0) b += fmt::format("            see = see & (j <= at + {})\n", p.window_right);
}

std::vector<std::string> attention_arguments(const AttentionProblem& p) {
  std::vector<std::string> names = {"q", "k", "v"};
  for (const auto& [name, tensor] : {std::pair("bias", &p.bias),
                                     {"alibi", &p.alibi},
                                     {"sink", &p.sink},
                                     {"q_descale", &p.q_descale},
                                     {"k_descale", &p.k_descale},
                                     {"v_descale", &p.v_descale}}) {
    if (!tensor->shape.empty()) names.emplace_back(name);
  }
  return names;
}

Formula attention_formula(const AttentionProblem& p) {
  Formula f{attention_arguments(p), {}, {}, "o, lse"};
  attention_scores(f, p,
                   "    o = XP.zeros((*q.shape[:3], v.shape[3]), dtype=XP.float64)\n"
                   "    lse = XP.full(q.shape[:3], -inf, dtype=XP.float64)\n");
  f.body += "            s, seen = s[see], V[g][see]\n";
  if (p.has_sink()) {
    f.body += "            s = XP.hstack([s, sink[h:h + 1][sink[h:h + 1] != -inf]])  # one more key, with v = 0\n";
  }
  const std::string row = p.packed() ? "0, h, Q_START[b] + i" : "b, h, i";
  f.body += fmt::format(R"(            if not len(s):
                continue  # no visible key: o = 0, lse = -inf
            p = XP.exp(s - s.max())
            o[{0}] = p{1} @ seen / p.sum(){2}
            lse[{0}] = s.max() + XP.log(p.sum())
)",
                        row, p.has_sink() ? "[:len(seen)]" : "", p.v_descale.shape.empty() ? "" : " * v_descale[b, g]");
  return f;
}

}  // namespace

Formula formula_of(const Problem& problem) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return softmax_formula(*softmax);
  if (const auto* merge = std::get_if<MergeProblem>(&problem)) return merge_formula(*merge);
  return attention_formula(std::get<AttentionProblem>(problem));
}

Formula formula_of(const BackwardProblem& p) {
  Formula f{attention_arguments(p.forward), {}, {}, "dq, dk, dv"};
  for (const char* name : {"d_out", "o", "lse"}) f.arguments.emplace_back(name);
  attention_scores(f, p.forward, "    dq, dk, dv = (XP.zeros(x.shape, dtype=XP.float64) for x in (q, k, v))\n");
  f.body += R"(            s = s[see]
            if not len(s):
                continue  # no visible key: this row gives nothing
)";
  f.body += p.mode == BackwardMode::stage
                ? R"(            P, O = XP.exp(s - lse[b, h, i]), o[b, h, i]  # o and lse are inputs like the others
)"
                : R"(            P = XP.exp(s - s.max())  # o and lse are roundings of the exact ones, which count here
            P, O = P / P.sum(), P @ V[g][see] / P.sum()
)";
  f.body += R"(            dS = P * (V[g][see] @ d_out[b, h, i] - d_out[b, h, i] @ O)
            dq[b, h, i] = SCALE * (dS @ K[g][see])
            dk[b, g][see] += SCALE * dS[:, None] * Q[h, i]
            dv[b, g][see] += P[:, None] * d_out[b, h, i]
)";
  return f;
}

}  // namespace flashproof
