// What baseline.py asks and no command prints.
//   flashproof-baseline elites FILE               every line of elites.txt run again: "kernel format term TAB {JSON}"
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>

#include "fuzz/score/elite_score.h"
#include "reference/system/error.h"
#include "reference/system/program.h"
#include "reference/system/read_file.h"
#include "reference/system/text.h"
#include "reports/record/json_parts.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kMostFile = 1 << 26;

json_parts::Json json_of(const Score& score) {
  json_parts::Json json{{"ran", score.ran}, {"verdict", to_string(score.verdict)}, {"climbed", score.climbed}};
  if (score.failed()) {
    json["what"] = score.what;
    json["term"] = score.term;
    json["ratio"] = json_parts::number(score.ratio);
  }
  for (const TermRatio& term : score.terms) {
    json["terms"][std::string(term.term)] = {json_parts::number(term.ratio), term.row, term.column};
  }
  return json;
}

void replay(const std::string& text) {
  if (text.empty() || text.front() == '#') return;
  const EliteLine line = parse_elite_line(text);
  const std::optional<Score> found = score(line);
  if (!found) throw UsageError(quote(line.kernel) + ": no such kernel");
  std::printf("%s\t%s\n", line.key().c_str(), json_parts::dump_line(json_of(*found)).c_str());
}

int elites(const char* file) {
  std::istringstream lines(read_file(file, kMostFile));
  std::string text;
  for (int number = 1; std::getline(lines, text); ++number) {
    try {
      replay(text);
    } catch (const UsageError& error) {
      throw UsageError("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return 0;
}

int records(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "elites" && argc == 3) return elites(argv[2]);
  throw UsageError("usage: flashproof-baseline elites FILE");
}

}  // namespace
}  // namespace flashproof

int main(int argc, char** argv) {
  return flashproof::run_program([&] { return flashproof::records(argc, argv); });
}
