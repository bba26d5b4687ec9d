// cp.async.bulk and cp.async.bulk.tensor: the runtime keeps the copies (run/bulk_copies.h).
#include "kernels/ptx/run/tensor_map.h"
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {
namespace {

void store_number(BlockCode& code, const Operand& operand, int index) {
  code.line("store <32 x i32> {}, ptr {}, align 128", code.value(operand, kWord), code.room_of(1, index, 32));
}

void put_address(BlockCode& code, const Operand& operand, Space space, int index) {
  code.line("store <32 x i64> {}, ptr {}, align 256", code.address(operand, space), code.room_of(0, index, 64));
}

}  // namespace

/// Into shared memory: destination, source, bytes, mbarrier; out of it: destination, source, bytes. A tensor has no bytes, its
/// coordinates are parts of its address.
void emit_bulk_copy(BlockCode& code, const Form& form, const Instruction& in) {
  const bool loads = form.has("mbarrier::complete_tx::bytes"), is_tensor = form.has("tensor");
  const Operand &global = in.operands[loads ? 1 : 0], &shared = in.operands[loads ? 0 : 1];
  Site site{};
  site.space = Space::shared;
  site.bytes = 16;
  site.operation = static_cast<std::uint8_t>(loads ? BulkOperation::load : BulkOperation::store);
  put_address(code, global, is_tensor ? Space::generic : Space::global, 0);
  put_address(code, shared, Space::shared, 1);
  if (loads) put_address(code, in.operands[is_tensor ? 2 : 3], Space::shared, 2);
  if (is_tensor) {
    const std::vector<Operand> start = elements(global.parts[0]);
    site.count = static_cast<std::uint8_t>(start.size());
    for (std::size_t i = 0; i < start.size(); ++i) store_number(code, start[i], static_cast<int>(i));
  } else {
    store_number(code, in.operands[2], 0);
  }
  code.line("call void @ptx_bulk_copy(ptr %c, i32 {}, ptr {}, ptr {}, i32 {})", code.active(), code.room(0),
            code.room(1), code.site(site));
}

void emit_bulk_group(BlockCode& code, const Form& form, const Instruction& in) {
  if (form.has("commit_group")) return code.line("call void @ptx_bulk_commit(ptr %c, i32 {})", code.active());
  const std::uint64_t pending = in.operands[0].bits;
  if (pending > INT32_MAX) code.complain(fmt::format("{}: operand 1: legal: 0 to {}", form.name, INT32_MAX));
  code.line("call void @ptx_bulk_wait(ptr %c, i32 {}, i32 {}, i32 {})", code.active(), pending,
            form.has("read") ? 1 : 0);
}

}  // namespace flashproof::ptx
