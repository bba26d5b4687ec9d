// cp.async: copies that the runtime keeps until their lane waits for them (run/async_copies.h).
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {

void emit_copy_async(BlockCode& code, const Form& form, const Instruction& in) {
  const std::uint64_t bytes = in.operands[2].bits;
  const bool all_caches = form.has("ca");
  if (bytes != 16 && !(all_caches && (bytes == 4 || bytes == 8))) {
    code.complain(fmt::format("{}: operand 3: {} bytes, legal: {}", form.name, static_cast<std::int64_t>(bytes),
                              all_caches ? "4, 8 or 16" : "16"));
  }
  Site site{};
  site.space = Space::shared;
  site.bytes = static_cast<std::uint8_t>(bytes);
  site.count = 1;
  store_address(code, in.operands[0], Space::shared, 0);
  store_address(code, in.operands[1], Space::global, 1);
  const std::size_t given = in.operands.size() - (form.has("L2::cache_hint") ? 1 : 0);
  const std::string valid = given > 3 ? code.value(in.operands[3], {'u', 32}) : integer_splat(bytes, 32);
  code.line("store <32 x i32> {}, ptr {}, align 128", valid, code.room(2));
  code.line("call void @ptx_copy_async(ptr %c, i32 {}, ptr {}, ptr {}, ptr {}, i32 {})", code.active(), code.room(0),
            code.room(1), code.room(2), code.site(site));
}

void emit_copy_group(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string lanes = code.active();
  if (!form.has("wait_group")) code.line("call void @ptx_copies_commit(ptr %c, i32 {})", lanes);
  if (form.has("commit_group")) return;
  const std::uint64_t pending = form.has("wait_group") ? in.operands[0].bits : 0;
  if (pending > INT32_MAX) code.complain(fmt::format("{}: operand 1: legal: 0 to {}", form.name, INT32_MAX));
  code.line("call void @ptx_copies_wait(ptr %c, i32 {}, i32 {})", lanes, pending);
}

}  // namespace flashproof::ptx
