#include "reports/views/html/report_file.h"

#include <fmt/format.h>

#include "reference/problem/error.h"
#include "reference/problem/text.h"
#include "reports/record/json_at.h"
#include "reports/record/record_claims.h"
#include "reports/views/html/schema.h"

namespace flashproof {

nlohmann::json read_report_file(const std::filesystem::path& path) {
  const std::string name = one_line(path.string());
  nlohmann::json document = read_json(path.string());
  try {
    html::require_schema(document);
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}", name, e.what()));
  }
  check_records(document, name);
  return document;
}

}  // namespace flashproof
