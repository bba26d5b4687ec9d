// mbarrier: the runtime keeps the objects (run/mbarriers.h). A wait is a look; loops of looks take turns (translate/flow.h, Poll).
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {
namespace {

constexpr Type kState{'b', 64};

MbarrierOperation operation_of(const Form& form) {
  using Operation = MbarrierOperation;
  if (form.has("test_wait") || form.has("try_wait"))
    return form.has("parity") ? Operation::wait_parity : Operation::wait_state;
  if (form.has("async")) return form.has("noinc") ? Operation::follow_no_count : Operation::follow;
  if (form.has("arrive") || form.has("arrive_drop")) {
    const bool drops = form.has("arrive_drop");
    if (form.has("expect_tx")) return drops ? Operation::drop_expect : Operation::arrive_expect;
    if (form.has("noComplete")) return drops ? Operation::drop_no_complete : Operation::arrive_no_complete;
    return drops ? Operation::drop : Operation::arrive;
  }
  return form.has("init")        ? Operation::init
         : form.has("inval")     ? Operation::invalidate
         : form.has("expect_tx") ? Operation::expect
                                 : Operation::complete;
}

Site barrier_site(const Form& form) {
  Site site{};
  site.space =
      form.has("shared") || form.has("shared::cta") || form.has("shared::cluster") ? Space::shared : Space::generic;
  site.bytes = 8;
  site.count = 1;
  site.operation = static_cast<std::uint8_t>(operation_of(form));
  site.scope = MemoryScope::cta;
  site.acquires = site.releases = !form.has("relaxed");
  site.observes = true;
  return site;
}

/// The value, 64 bits a lane, into room 1.
void store_value(BlockCode& code, const Operand& operand, Type type) {
  std::string value = code.value(operand, type);
  if (type.bits == 32) value = code.op("zext <32 x i32> {} to <32 x i64>", value);
  code.line("store <32 x i64> {}, ptr {}, align 256", value, code.room(1));
}

}  // namespace

void emit_mbarrier(BlockCode& code, const Form& form, const Instruction& in) {
  const bool arrives = (form.has("arrive") || form.has("arrive_drop")) && !form.has("async");
  const std::size_t at = arrives ? 1 : 0;
  const Site site = barrier_site(form);
  store_address(code, in.operands[at], site.space, 0);
  Operand one;
  one.bits = 1;
  store_value(code, in.operands.size() > at + 1 ? in.operands[at + 1] : one, kWord);
  code.line("call void @ptx_mbarrier(ptr %c, i32 {}, ptr {}, ptr {}, ptr {}, i32 {})", code.active(), code.room(0),
            code.room(1), code.room(2), code.site(site));
  if (arrives) code.write(in.operands[0], code.op("load <32 x i64>, ptr {}, align 256", code.room(2)), kState);
}

void emit_mbarrier_wait(BlockCode& code, const Form& form, const Instruction& in) {
  const Site site = barrier_site(form);
  store_address(code, in.operands[1], site.space, 0);
  store_value(code, in.operands[2], form.has("parity") ? kWord : kState);
  const std::string over = code.op("call i32 @ptx_mbarrier_wait(ptr %c, i32 {}, ptr {}, ptr {}, i32 {})", code.active(),
                                   code.room(0), code.room(1), code.site(site));
  code.write_predicate(in.operands[0], code.predicate_of(over));
}

void emit_pending_count(BlockCode& code, const Form&, const Instruction& in) {
  const std::string low = code.op("trunc <32 x i64> {} to <32 x i32>", code.value(in.operands[1], kState));
  code.write(in.operands[0], code.op("and <32 x i32> {}, splat (i32 1048575)", low), kWord);
}

}  // namespace flashproof::ptx
