#include "reports/record/packed_text.h"

#include <fmt/format.h>
#include <zstd.h>

#include <boost/archive/iterators/base64_from_binary.hpp>
#include <boost/archive/iterators/binary_from_base64.hpp>
#include <boost/archive/iterators/dataflow_exception.hpp>
#include <boost/archive/iterators/transform_width.hpp>
#include <memory>

#include "reference/system/error.h"

namespace flashproof {
namespace {

namespace it = boost::archive::iterators;

/// Above it a default report takes seconds longer and is a tenth smaller.
constexpr int kLevel = 12;
/// 32 MiB, the whole of a default report: records of one kernel are far apart and alike.
constexpr int kWindowLog = 25;

std::string base64(const std::string& bytes) {
  using Encode = it::base64_from_binary<it::transform_width<std::string::const_iterator, 6, 8>>;
  std::string text(Encode(bytes.begin()), Encode(bytes.end()));
  text.append((3 - bytes.size() % 3) % 3, '=');
  return text;
}

std::string bytes_of(std::string_view text) {
  using Decode = it::transform_width<it::binary_from_base64<std::string_view::const_iterator>, 8, 6>;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  if ((text.size() + padding) % 4 != 0) throw UsageError("no base64: its length is no multiple of 4");
  try {
    // Whole bytes alone: of the bits that the padding leaves over there is no end to step to.
    const std::size_t size = text.size() * 6 / 8;
    std::string bytes;
    bytes.reserve(size);
    for (Decode next(text.begin()); bytes.size() < size; ++next) bytes.push_back(static_cast<char>(*next));
    return bytes;
  } catch (const it::dataflow_exception&) {
    throw UsageError("no base64: legal are A-Z, a-z, 0-9, + and /");
  }
}

}  // namespace

std::string packed_text(std::string_view text) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, kWindowLog);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  const std::size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), text.data(), text.size());
  if (ZSTD_isError(size) != 0) throw InfrastructureError(fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  frame.resize(size);
  return base64(frame);
}

std::string unpacked_text(std::string_view packed, std::uint64_t most) {
  const std::string frame = bytes_of(packed);
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    throw UsageError("no frame of zstd that says how long its text is");
  if (size > most) throw UsageError(fmt::format("its text has {} bytes, legal are at most {}", size, most));
  std::string text(size, '\0');
  const std::size_t read = ZSTD_decompress(text.data(), text.size(), frame.data(), frame.size());
  if (ZSTD_isError(read) != 0) throw UsageError(fmt::format("no text of zstd: {}", ZSTD_getErrorName(read)));
  if (read != size) throw UsageError(fmt::format("its text has {} bytes, it says {}", read, size));
  return text;
}

}  // namespace flashproof
