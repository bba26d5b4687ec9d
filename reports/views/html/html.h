// report.html: a report.json document as one page that opens from a file, offline, with no server and no request.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace flashproof {

/// The page of a document of schema flashproof.report/5. A pure function: the same document gives the same bytes. Every string
/// of the document ends as text, whatever it holds. Throws UsageError, which says where, for a document of another schema and
/// for a member of the wrong type; a member that is missing counts as not measured.
std::string html_text(const nlohmann::json& report);

}  // namespace flashproof
