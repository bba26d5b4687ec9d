// report.html: a report as one page that opens from a file, offline, with no server and no request.
#pragma once

#include <string>

#include "reports/record/report.h"

namespace flashproof {

/// A pure function: the same report gives the same bytes. Every string of it ends as text, whatever it holds.
std::string html_text(const Report& report);

}  // namespace flashproof
