#include "reports/export/script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reference/problem/text.h"

namespace flashproof {
namespace {

bool has(const std::vector<Format>& formats, Format format) {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

std::string library(std::string text, Python python) {
  const std::string name = python == Python::numpy ? "np" : "torch";
  for (std::size_t at = 0; (at = text.find("XP", at)) != std::string::npos;) text.replace(at, 2, name);
  return text;
}

/// How a format of the file is called, and of what integers NumPy, which lacks it, makes it.
std::string numpy_types(const std::vector<Format>& formats) {
  std::vector<std::string> types;
  types.reserve(formats.size());
  for (const Format f : formats) {
    types.push_back(fmt::format("\"{}\": \"<{}{}\"", info(f).safetensors,
                                f == Format::f64 || f == Format::f32 || f == Format::f16 ? "f" : "u", bytes_of(f)));
  }
  return fmt::format("{}", fmt::join(types, ", "));
}

std::string torch_types(const std::vector<Format>& formats) {
  const auto name = [](Format f) {
    switch (f) {
      case Format::f64:
        return "float64";
      case Format::f32:
        return "float32";
      case Format::f16:
        return "float16";
      case Format::bf16:
        return "bfloat16";
      case Format::e4m3fn:
        return "float8_e4m3fn";
      default:
        return "float8_e5m2";
    }
  };
  std::vector<std::string> types;
  types.reserve(formats.size());
  for (const Format f : formats) types.push_back(fmt::format("\"{}\": torch.{}", info(f).safetensors, name(f)));
  return fmt::format("{}", fmt::join(types, ", "));
}

std::string numpy_reader(const std::vector<Format>& formats) {
  std::string text = fmt::format(R"(import json, pathlib, sys
import numpy as np

raw = pathlib.Path(__file__).with_name("{}").read_bytes()
header, t = 8 + int.from_bytes(raw[:8], "little"), {{}}
for name, d in json.loads(raw[8:header]).items():
    if name == "__metadata__":
        continue
    begin, end = d["data_offsets"]
    a = np.frombuffer(raw[header + begin:header + end], {{{}}}[d["dtype"]])
)",
                                 kReproductionFile, numpy_types(formats));
  // The formats that NumPy does not have are parts of ones that it has, or small enough to spell out.
  if (has(formats, Format::bf16))
    text += R"(    if d["dtype"] == "BF16":
        a = (a.astype("<u4") << 16).view("<f4")
)";
  if (has(formats, Format::e5m2))
    text += R"(    if d["dtype"] == "F8_E5M2":
        a = (a.astype("<u2") << 8).view("<f2")
)";
  if (has(formats, Format::e4m3fn))
    text += R"(    if d["dtype"] == "F8_E4M3":
        e, m = (a.astype("i4") >> 3) & 15, a.astype("i4") & 7
        size = np.ldexp(m + 8.0 * (e > 0), np.maximum(e, 1) - 10)
        a = np.where(a & 127 == 127, np.nan, np.where(a & 128, -size, size))
)";
  return text + R"(    t[name] = a.reshape(d["shape"]).astype("f8")  # every value as it is
)";
}

std::string torch_reader(const std::vector<Format>& formats) {
  return fmt::format(R"(import json, pathlib, sys
import torch

raw = bytearray(pathlib.Path(__file__).with_name("{}").read_bytes())
header, t = 8 + int.from_bytes(raw[:8], "little"), {{}}
for name, d in json.loads(raw[8:header]).items():
    if name == "__metadata__":
        continue
    begin, end = d["data_offsets"]
    t[name] = torch.frombuffer(raw[header + begin:header + end] or bytearray(8), dtype={{{}}}[d["dtype"]])
    t[name] = t[name][:None if end > begin else 0].reshape(d["shape"])
)",
                     kReproductionFile, torch_types(formats));
}

/// Rounds into the format of the output.
std::string rounding(const ReproducedTensor& tensor, Python python) {
  if (python == Python::torch) {
    return fmt::format("lambda y: torch.as_tensor(y).to(torch.{})", tensor.format == Format::f32   ? "float32"
                                                                    : tensor.format == Format::f16 ? "float16"
                                                                                                   : "bfloat16");
  }
  return tensor.format == Format::f32 ? "np.float32" : tensor.format == Format::f16 ? "np.float16" : "bf16";
}

constexpr std::string_view kNumpyBf16 = R"(
def bf16(y):  # to nearest, ties to even; NumPy has no such type
    b = np.asarray(y, "<f4").view("<u4")
    return np.where(np.isnan(y), np.nan, ((b + 0x7FFF + (b >> 16 & 1)) & 0xFFFF0000).view("<f4"))

)";

std::string check_text(const Reproduction& r, const Formula& formula, Python python) {
  std::vector<std::string> stored, outputs, inputs;
  for (const ReproducedTensor& t : r.outputs) {
    stored.push_back(fmt::format("\"{}\": {}", t.name, rounding(t, python)));
    outputs.push_back("\"" + t.name + "\"");
  }
  for (const std::string& name : formula.arguments) inputs.push_back("t[\"" + name + "\"]");
  const bool judged = !r.kernel.empty();
  return fmt::format(R"(
def right(y, low, high, may_be):  # a number between its limits, or an infinity or NaN that is allowed here
    bit = 4 if y != y else 1 if y == inf else 2 if y == -inf else 0
    return int(may_be) & bit != 0 if bit else low <= y <= high


def place(i, shape):
    return [] if not shape else place(i // shape[-1], shape[:-1]) + [i % shape[-1]]


source = sys.argv[1] if len(sys.argv) > 1 else "kernel"
if source not in ({0}):
    print("usage: {1} [{2}]", file=sys.stderr)
    sys.exit(2)
if source == "kernel":
    y = dict(zip([{3}], kernel({4})))
else:
    y = {{name: t[name + "." + source] for name in [{3}]}}
wrong, total, worst = 0, 0, (False, -2.0, "there is no element")
for name, stored in {{{5}}}.items():
    assert y[name].shape == t[name + ".exact"].shape, (name, y[name].shape)
    columns = (t[name + c] for c in (".exact", ".exact_lo", ".ulp", ".low", ".high", ".may_be", ".bound"))
    rows = zip(*(c.flatten().tolist() for c in (stored(y[name]), *columns)))
    for i, (a, exact, lo, ulp, low, high, may_be, bound) in enumerate(rows):
        error = abs((a - exact) - lo) if abs(a) < inf and abs(exact) < inf else inf
        bad = not right(a, low, high, may_be){6}
        share = -1.0 if not abs(exact) < inf else inf if error == inf else {7}
        wrong, total = wrong + bad, total + 1
        if (bad, share if bad or error < inf else -1.0) > worst[:2]:
            worst = (bad, share, f"{{name}}{{place(i, y[name].shape)}}: computed {{a:.9g}}, exact {{exact:.17g}}, error {{error:.6g}}, "
                     f"{{error / ulp:.6g}} ulp{8}")
print(f"{{source}}: {{wrong}} of {{total}} elements wrong; worst: {{worst[2]}}")
sys.exit(1 if wrong else 0)
)",
                     r.has_recorded() ? R"("kernel", "recorded", "exact")" : R"("kernel", "exact")", kScriptFile,
                     r.has_recorded() ? "kernel|recorded|exact" : "kernel|exact", fmt::join(outputs, ", "),
                     fmt::join(inputs, ", "), fmt::join(stored, ", "), judged ? "" : " or error / ulp > LIMIT_ULP",
                     judged ? "0.0 if error == 0 else inf if bound == 0 else error / bound" : "error / ulp",
                     judged ? ", {share:.6g} of its bound" : "");
}

std::string opening(const Reproduction& r, const std::string& command) {
  std::string text = fmt::format(
      "# Does a kernel get this case right? {}\n#\n#   python3 {}            kernel(), below: put yours there; until "
      "then the plain formula\n",
      one_line(r.case_line), kScriptFile);
  if (r.has_recorded()) {
    text += fmt::format("#   python3 {} recorded   what {} computed ({})\n", kScriptFile, r.kernel, r.place);
  }
  text += fmt::format(
      "#   python3 {} exact      the exact values, rounded once\n#\n# Exits 1 if an element is wrong, 0 if none is.\n",
      kScriptFile);
  text += "# T.exact + T.exact_lo is the exact result of the stored inputs for output T, off by at most T.radius.\n";
  if (r.kernel.empty()) {
    text +=
        "# Whose arithmetic it is was not said, so no bound is known: a NaN, inf or number where another is right is "
        "wrong,\n"
        "# and what is more than LIMIT_ULP units in the last place off.\n";
  } else {
    text += fmt::format(
        "# A number is right from T.low to T.high: as far off as the declared arithmetic of {} explains.\n", r.kernel);
    std::string_view rest = r.verdict;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      text += "#   " + one_line(line) + "\n";
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
  }
  return text + "# Made by flashproof: " + one_line(command) + "\n";
}

}  // namespace

std::string script_text(const Reproduction& r, const Formula& formula, const std::vector<Format>& formats,
                        Python python, const std::string& command) {
  const bool numpy = python == Python::numpy;
  std::string text = opening(r, command) + (numpy ? numpy_reader(formats) : torch_reader(formats));
  text += numpy ? "np.seterr(all=\"ignore\")\ninf = float(\"inf\")\n" : "inf = float(\"inf\")\n";
  if (r.kernel.empty()) text += "LIMIT_ULP = inf  # set it: how far off your kernel may be\n";
  for (const std::string& line : formula.constants) text += line + "\n";
  const bool bf16 =
      std::any_of(r.outputs.begin(), r.outputs.end(), [](const auto& t) { return t.format == Format::bf16; });
  if (numpy && bf16) text += kNumpyBf16;
  const std::string arguments = fmt::format("{}", fmt::join(formula.arguments, ", "));
  text += fmt::format("\ndef kernel({}):  # <- call your kernel here; {}\n", arguments,
                      numpy ? "these are float64 arrays with the values of the stored inputs"
                            : "these are the stored tensors, in their own types");
  if (!numpy)
    text += fmt::format("    {}{} = (x.double() for x in ({},))\n", arguments, formula.arguments.size() == 1 ? "," : "",
                        arguments);
  text += library(formula.body, python) + "    return " + formula.returns + "\n\n";
  return text + check_text(r, formula, python);
}

}  // namespace flashproof
