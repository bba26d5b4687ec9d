// The table itself. A form that no row matches is refused by name before anything runs.
#include "kernels/ptx/translate/emit.h"
#include "kernels/ptx/translate/special_functions.h"

namespace flashproof::ptx {

std::span<const FormRow> form_rows() {
#define INTEGERS "{u16,s16,u32,s32,u64,s64}"
#define ANY_INTEGER "{u8,s8,u16,s16,u32,s32,u64,s64}"
#define FLOAT_COMPARED "{{,.ftz}.{f32,f16,f16x2},.{f64,bf16,bf16x2}}"
#define ANY_BITS "{b16,b32,b64}"
#define ANY "{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}"
#define ROUND "{,.rn,.rz,.rm,.rp}"
#define ROUNDED "{.rn,.rz,.rm,.rp}"
#define ORDER "{,.weak,.volatile,.relaxed{.cta,.gpu,.sys},.acquire{.cta,.gpu,.sys},.release{.cta,.gpu,.sys}}"
#define SPACE "{,.global,.shared,.shared::cta,.local}"
#define CACHE "{,.ca,.cg,.cs,.lu,.cv,.wb,.wt}"
#define EVICTED                                                                                                    \
  "{,.L1::evict_normal,.L1::evict_first,.L1::evict_last,.L1::evict_unchanged,.L1::no_allocate}{,.L2::evict_last,." \
  "L2::evict_normal,.L2::evict_first}"
#define PREFETCHED "{,.L2::64B,.L2::128B,.L2::256B}"
#define EVICT EVICTED PREFETCHED
#define ATOMIC "{,.relaxed,.acquire,.release,.acq_rel}{,.cta,.gpu,.sys}{,.global,.shared,.shared::cta}"
// as the ISA has it, and as libcu++ writes it, which ptxas takes as well
#define ATOMIC_OF(operation) "{" ATOMIC "." operation ",." operation ATOMIC "}"
#define FLOAT_SUM ATOMIC_OF("add") "{.f32,.f64,.noftz.{f16,f16x2,bf16,bf16x2}}"
#define FLOAT_COMPARISONS "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"
#define INTEGER_COMPARISONS "{eq,ne,lt,le,gt,ge,lo,ls,hi,hs}"
#define COMPARABLE "{b16,b32,b64,u16,s16,u32,s32,u64,s64}"
#define COMBINE "{.and,.or,.xor}"
// the ISA's order, and those of FlashAttention-2 and FlashInfer, which ptxas takes as well
#define MATRICES "{.m8n8{.x1,.x2,.x4}{,.trans},{.x1,.x2,.x4}{,.trans}.m8n8,.trans.m8n8{.x1,.x2,.x4}}"
#define COLUMNS                                                                                              \
  "{8,16,24,32,40,48,56,64,72,80,88,96,104,112,120,128,136,144,152,160,168,176,184,192,200,208,216,224,232," \
  "240,248,256}"
#define AXES ".{1d,2d,3d,4d,5d}"
#define INTO "{.shared::cluster,.shared::cta}"
#define COMPLETED ".mbarrier::complete_tx::bytes"
#define CLUSTER_SPACE "{,.shared,.shared::cta,.shared::cluster}"
#define ARRIVAL "{,.release.cta,.release.cluster,.relaxed.cta,.relaxed.cluster}"
#define LOOK "{,.acquire.cta,.acquire.cluster,.relaxed.cta,.relaxed.cluster}{,.shared,.shared::cta}"
  static const FormRow rows[] = {
      // float
      {"{add,sub,mul}" ROUND "{,.ftz}{,.sat}.f32", "d s s", emit_float_arithmetic},
      {"{fma,mad}" ROUNDED "{,.ftz}{,.sat}.f32", "d s s s", emit_float_arithmetic},
      {"div" ROUNDED "{,.ftz}.f32", "d s s", emit_float_arithmetic},
      {"{rcp,sqrt}" ROUNDED "{,.ftz}.f32", "d s", emit_float_arithmetic},
      {"{add,sub,mul}" ROUND ".f64", "d s s", emit_float_arithmetic},
      {"{fma,mad}" ROUNDED ".f64", "d s s s", emit_float_arithmetic},
      {"div" ROUNDED ".f64", "d s s", emit_float_arithmetic},
      {"{rcp,sqrt}" ROUNDED ".f64", "d s", emit_float_arithmetic},
      {"{add,sub,mul}{,.rn}{{,.ftz}{,.sat}.{f16,f16x2},.{bf16,bf16x2}}", "d s s", emit_half_arithmetic},
      {"fma.rn{{,.ftz}{,.sat,.relu}.{f16,f16x2},{,.relu}.{bf16,bf16x2}}", "d s s s", emit_half_arithmetic},
      {"{min,max}{{,.ftz}{,.NaN}{,.xorsign.abs}.{f32,f16,f16x2},{,.NaN}{,.xorsign.abs}.{bf16,bf16x2},.f64}", "d s s",
       emit_float_extremum},
      {"{abs,neg}{{,.ftz}.{f32,f16,f16x2},.{f64,bf16,bf16x2}}", "d s", emit_float_sign},
      {"copysign.{f32,f64}", "d s s", emit_copysign},
      {"testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}", "P s", emit_testp},
      {"{ex2,lg2,rcp,rsqrt,sqrt,sin,cos}.approx{,.ftz}.f32", "d s", emit_special_function},
      {"tanh.approx.{f32,f16,f16x2,bf16,bf16x2}", "d s", emit_special_function},
      {"ex2.approx{.{f16,f16x2},.ftz.{bf16,bf16x2}}", "d s", emit_special_function},
      {"div{.approx,.full}{,.ftz}.f32", "d s s", emit_special_function},
      {"setp." FLOAT_COMPARISONS FLOAT_COMPARED, "P| s s", emit_setp},
      {"setp." FLOAT_COMPARISONS COMBINE FLOAT_COMPARED, "P| s s p", emit_setp},
      {"set." FLOAT_COMPARISONS "{,.ftz}.{u32,s32}.{f32,f16,f16x2}", "d:u32 s s", emit_set},
      {"set." FLOAT_COMPARISONS ".{u32,s32}.{f64,bf16,bf16x2}", "d:u32 s s", emit_set},
      {"set." FLOAT_COMPARISONS "{,.ftz}.f32.f32", "d s s", emit_set},
      {"set." FLOAT_COMPARISONS "{,.ftz}.{{u16,s16,f16}.f16,f16x2.f16x2}", "d s s", emit_set},
      {"set." FLOAT_COMPARISONS ".{{u16,s16,bf16}.bf16,bf16x2.bf16x2}", "d s s", emit_set},
      // integer
      {"setp." INTEGER_COMPARISONS "." COMPARABLE, "P| s s", emit_setp},
      {"setp." INTEGER_COMPARISONS COMBINE "." COMPARABLE, "P| s s p", emit_setp},
      {"{add,sub}." INTEGERS, "d s s", emit_integer_arithmetic},
      {"{add,sub}.sat.s32", "d s s", emit_integer_arithmetic},
      {"mul{.lo,.hi}." INTEGERS, "d s s", emit_integer_arithmetic},
      {"mul.wide.{u16,s16,u32,s32}", "d:wide s s", emit_integer_arithmetic},
      {"mad{.lo,.hi}." INTEGERS, "d s s s", emit_integer_arithmetic},
      {"mad.wide.{u16,s16,u32,s32}", "d:wide s s s:wide", emit_integer_arithmetic},
      {"{{add,sub}.cc,{addc,subc}{,.cc}}.{u32,s32,u64,s64}", "d s s", emit_with_carry},
      {"{mad{.lo,.hi}.cc,madc{.lo,.hi}{,.cc}}.{u32,s32,u64,s64}", "d s s s", emit_with_carry},
      {"{div,rem}." INTEGERS, "d s s", emit_division},
      {"{min,max}." INTEGERS, "d s s", emit_integer_arithmetic},
      {"{abs,neg}.{s16,s32,s64}", "d s", emit_integer_arithmetic},
      {"dp4a.{u32,s32}.{u32,s32}", "d:u32 s:u32 s:u32 s:u32", emit_dot_product},
      {"sad." INTEGERS, "d s s s", emit_absolute_difference},
      {"{and,or,xor}." ANY_BITS, "d s s", emit_logic},
      {"not." ANY_BITS, "d s", emit_logic},
      {"{and,or,xor}.pred", "P p p", emit_logic},
      {"not.pred", "P p", emit_logic},
      {"shl." ANY_BITS, "d s s:u32", emit_shift},
      {"shr.{b16,b32,b64,u16,s16,u32,s32,u64,s64}", "d s s:u32", emit_shift},
      {"shf{.l,.r}{.wrap,.clamp}.b32", "d s s s:u32", emit_funnel_shift},
      {"{popc,clz}.{b32,b64}", "d:u32 s", emit_bit_count},
      {"brev.{b32,b64}", "d s", emit_bit_count},
      {"bfe.{u32,s32}", "d s s:u32 s:u32", emit_bit_field},
      {"bfe.{u64,s64}", "d s s:u32 s:u32", emit_wide_bit_field},
      {"bfi.b32", "d s s s:u32 s:u32", emit_bit_field},
      {"bfi.b64", "d s s s:u32 s:u32", emit_wide_bit_field},
      {"bmsk.{clamp,wrap}.b32", "d s s", emit_bit_mask},
      {"bfind{,.shiftamt}.{u32,s32,u64,s64}", "d:u32 s", emit_bit_find},
      {"prmt.b32", "d s s s:u32", emit_prmt},
      {"lop3.b32", "d s s s i", emit_lop3},
      // moves and conversions
      {"selp.{b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}", "d s s p", emit_selp},
      {"mov.pred", "P p", emit_logic},
      {"mov.{b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}", "d x", emit_mov},
      {"cvt{,.sat}." ANY_INTEGER "." ANY_INTEGER, "d> s>:from", emit_cvt_integer},
      {"cvt{.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}." ANY_INTEGER ".f32", "d> s:from", emit_cvt_to_integer},
      {"cvt{.rni,.rzi,.rmi,.rpi}{,.sat}." ANY_INTEGER ".{f64,f16,bf16}", "d> s:from", emit_cvt_to_integer},
      {"cvt" ROUNDED "{,.sat}.{f32,f16}." ANY_INTEGER, "d s>:from", emit_cvt_from_integer},
      {"cvt" ROUNDED ".bf16." ANY_INTEGER, "d s>:from", emit_cvt_from_integer},
      {"cvt.rn{,.sat}.f64." ANY_INTEGER, "d s>:from", emit_cvt_from_integer},
      {"cvt{,.rni,.rzi,.rmi,.rpi}{{,.ftz}{,.sat}.f32.f32,{,.sat}{.f64.f64,.f16.f16},.bf16.bf16}", "d s:from",
       emit_cvt_float},
      {"cvt{{,.ftz}{,.sat}.f32.f16,{,.sat}.f64.f16,.f32.bf16,.f64.bf16,{,.ftz}{,.sat}.f64.f32}", "d s:from",
       emit_cvt_float},
      {"cvt" ROUNDED "{{,.ftz}{,.sat}.f32.f64,{,.sat}.f16.f64}", "d s:from", emit_cvt_float},
      {"cvt" ROUNDED "{,.ftz}{,.sat}.f16.f32", "d s:from", emit_cvt_float},
      {"cvt" ROUNDED ".bf16.f32", "d s:from", emit_cvt_float},
      {"cvt.rn.bf16.f64", "d s:from", emit_cvt_float},
      {"cvt{.rn,.rz}{,.relu}{,.satfinite}.{f16,bf16}.f32", "d s:from", emit_cvt_float},
      {"cvt{.rn,.rz}{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32", "d s:f32 s:f32", emit_cvt_float},
      {"cvt.rna{,.satfinite}.tf32.f32", "d:b32 s:f32", emit_cvt_tf32},
      {"cvt{.rn,.rz}{,.relu}.tf32.f32", "d:b32 s:f32", emit_cvt_tf32},
      {"cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f32", "d s:f32 s:f32", emit_cvt_fp8},
      {"cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f16x2", "d s:from", emit_cvt_fp8},
      {"cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2}", "d s:from", emit_cvt_fp8},
      {"cvta{,.to}.{global,shared,shared::cta,local,const,param}.u64", "d x", emit_cvta},
      {"isspacep.{global,shared,local}", "P s:u64", emit_isspacep},
      // memory
      {"ld" ORDER SPACE CACHE "{,.nc}" EVICT "{,.v2,.v4}." ANY, "v> m", emit_load},
      {"ld" ORDER SPACE CACHE "{,.nc}" EVICTED ".L2::cache_hint" PREFETCHED "{,.v2,.v4}." ANY, "v> m s:u64", emit_load},
      {"ld{,.weak}{.const,.param,.param::entry,.param::func}{,.v2,.v4}." ANY, "v> m", emit_load},
      {"st{,.weak}{.param,.param::func}{,.v2,.v4}." ANY, "m w>", emit_store},
      {"st" ORDER SPACE CACHE EVICT "{,.v2,.v4}." ANY, "m w>", emit_store},
      {"st" ORDER SPACE CACHE EVICTED ".L2::cache_hint{,.v2,.v4}." ANY, "m w> s:u64", emit_store},
      {"createpolicy.fractional.L2::{evict_last,evict_normal,evict_first,evict_unchanged}{,.L2::{evict_first,evict_"
       "unchanged}}.b64",
       "d ?s:f32", emit_policy},
      {"atom" ATOMIC_OF("{add,min,max}") ".{u32,s32,u64,s64}", "d m s", emit_atomic},
      {"atom" ATOMIC_OF("{and,or,xor,exch}") ".{b32,b64}", "d m s", emit_atomic},
      {"atom" ATOMIC_OF("{inc,dec}") ".u32", "d m s", emit_atomic},
      {"atom" FLOAT_SUM, "d m s", emit_atomic},
      {"atom" ATOMIC_OF("cas") ".{b16,b32,b64}", "d m s s", emit_atomic},
      {"red" ATOMIC_OF("{add,min,max}") ".{u32,s32,u64,s64}", "m s", emit_atomic},
      {"red" ATOMIC_OF("{and,or,xor}") ".{b32,b64}", "m s", emit_atomic},
      {"red" ATOMIC_OF("{inc,dec}") ".u32", "m s", emit_atomic},
      {"red" FLOAT_SUM, "m s", emit_atomic},
      {"cp.async.{ca,cg}.{shared,shared::cta}.global" PREFETCHED, "m m i ?s:u32", emit_copy_async},
      {"cp.async.{ca,cg}.{shared,shared::cta}.global.L2::cache_hint" PREFETCHED, "m m i ?s:u32 s:u64", emit_copy_async},
      {"cp.async.{commit_group,wait_all}", "", emit_copy_group},
      {"cp.async.wait_group", "i", emit_copy_group},
      {"cp.async.mbarrier.arrive{,.noinc}{,.shared,.shared::cta}.b64", "m", emit_mbarrier},
      {"cp.async.bulk" INTO ".global" COMPLETED, "m m s:u32 m", emit_bulk_copy},
      {"cp.async.bulk" INTO ".global" COMPLETED ".L2::cache_hint", "m m s:u32 m s:u64", emit_bulk_copy},
      {"cp.async.bulk.global.shared::cta.bulk_group", "m m s:u32", emit_bulk_copy},
      {"cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", "m m s:u32 s:u64", emit_bulk_copy},
      {"cp.async.bulk.tensor" AXES INTO ".global{,.tile}" COMPLETED, "m t m", emit_bulk_copy},
      {"cp.async.bulk.tensor" AXES INTO ".global{,.tile}" COMPLETED ".L2::cache_hint", "m t m s:u64", emit_bulk_copy},
      {"cp.async.bulk.tensor" AXES ".global.shared::cta{,.tile}.bulk_group", "t m", emit_bulk_copy},
      {"cp.async.bulk.tensor" AXES ".global.shared::cta{,.tile}.bulk_group.L2::cache_hint", "t m s:u64",
       emit_bulk_copy},
      {"cp.async.bulk.prefetch.L2.global", "m s:u32", emit_nothing},
      {"cp.async.bulk.prefetch.L2.global.L2::cache_hint", "m s:u32 s:u64", emit_nothing},
      {"cp.async.bulk.prefetch.tensor" AXES ".L2.global{,.tile}", "t", emit_nothing},
      {"cp.async.bulk.prefetch.tensor" AXES ".L2.global{,.tile}.L2::cache_hint", "t s:u64", emit_nothing},
      {"prefetch{,.param,.const}.tensormap", "m", emit_nothing},
      {"cp.async.bulk.commit_group", "", emit_bulk_group},
      {"cp.async.bulk.wait_group{,.read}", "i", emit_bulk_group},
      {"membar.{cta,gl,sys}", "", emit_fence},
      {"griddepcontrol.{wait,launch_dependents}", "", emit_nothing},  // a launch ends before the next one begins
      {"fence{,.acq_rel,.sc}.{cta,cluster,gpu,sys}", "", emit_fence},
      {"fence.proxy.async{,.global,.shared::cta,.shared::cluster}", "", emit_proxy_fence},
      {"fence.{proxy.alias,mbarrier_init.release.cluster}", "", emit_nothing},
      // mbarrier
      {"mbarrier.init{,.shared,.shared::cta}.b64", "m s:u32", emit_mbarrier},
      {"mbarrier.inval{,.shared,.shared::cta}.b64", "m", emit_mbarrier},
      {"mbarrier.{expect_tx,complete_tx}{,.relaxed.cta,.relaxed.cluster}" CLUSTER_SPACE ".b64", "m s:u32",
       emit_mbarrier},
      {"mbarrier.{arrive,arrive_drop}" ARRIVAL CLUSTER_SPACE ".b64", "d m ?s:u32", emit_mbarrier},
      {"mbarrier.{arrive,arrive_drop}.expect_tx" ARRIVAL CLUSTER_SPACE ".b64", "d m s:u32", emit_mbarrier},
      {"mbarrier.{arrive,arrive_drop}.noComplete{,.release.cta}{,.shared,.shared::cta}.b64", "d m s:u32",
       emit_mbarrier},
      {"mbarrier.test_wait" LOOK ".b64", "P m s", emit_mbarrier_wait},
      {"mbarrier.test_wait.parity" LOOK ".b64", "P m s:u32", emit_mbarrier_wait},
      {"mbarrier.try_wait" LOOK ".b64", "P m s ?s:u32", emit_mbarrier_wait},
      {"mbarrier.try_wait.parity" LOOK ".b64", "P m s:u32 ?s:u32", emit_mbarrier_wait},
      {"mbarrier.pending_count.b64", "d:u32 s", emit_pending_count},
      // a cluster of one block
      {"mapa{,.shared::cluster}.{u32,u64}", "d x s:u32", emit_map_address},
      {"getctarank{,.shared::cluster}.{u32,u64}", "d:u32 x", emit_rank_of_address},
      {"barrier.cluster.arrive{,.release,.relaxed}{,.aligned}", "", emit_nothing},
      {"barrier.cluster.wait{,.acquire}{,.aligned}", "", emit_nothing},
      {"elect.sync", "d|:b32 s:b32", emit_elect},
      {"setmaxnreg.{inc,dec}.sync.aligned.u32", "i", emit_register_count},
      // nothing to do
      {"prefetch{,.global,.local}{.L1,.L2}", "m", emit_nothing},
      {"nanosleep.u32", "s", emit_nothing},
      // warps and blocks
      {"shfl.sync.{up,down,bfly,idx}.b32", "d| s s:u32 s:u32 s:u32", emit_shuffle},
      {"vote.sync.{any,all,uni}.pred", "P p s:b32", emit_vote},
      {"vote.sync.ballot.b32", "d p s:b32", emit_vote},
      {"match.any.sync.b32", "d s s:b32", emit_reduction},
      {"redux.sync.{add,min,max}.{u32,s32}", "d s s:b32", emit_reduction},
      {"redux.sync.{and,or,xor}.b32", "d s s:b32", emit_reduction},
      {"mma.sync.aligned.m16n8k16.row.col.f32.{f16.f16,bf16.bf16}.f32", "v4:f32 w4:b32 w2:b32 w4:f32", emit_mma},
      {"mma.sync.aligned.m16n8k8.row.col.f32.{f16.f16,bf16.bf16}.f32", "v4:f32 w2:b32 w1:b32 w4:f32", emit_mma},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "v4:f32 w4:b32 w2:b32 w4:f32", emit_mma},
      {"mma.sync.aligned.m16n8k32.row.col.f32.{e4m3.e4m3,e5m2.e5m2}.f32", "v4:f32 w4:b32 w2:b32 w4:f32", emit_mma},
      {"wgmma.mma_async.sync.aligned.m64n" COLUMNS "k16.f32.{f16.f16,bf16.bf16}", "u:f32 a:b32 s:b64 p i i i ?i",
       emit_wgmma},
      {"wgmma.mma_async.sync.aligned.m64n" COLUMNS "{k8.f32.tf32.tf32,k32.f32.{e4m3.e4m3,e5m2.e5m2}}",
       "u:f32 a:b32 s:b64 p i i", emit_wgmma},
      {"wgmma.fence.sync.aligned", "", emit_nothing},
      {"wgmma.commit_group.sync.aligned", "", emit_wgmma_group},
      {"wgmma.wait_group.sync.aligned", "i", emit_wgmma_group},
      {"ldmatrix.sync.aligned" MATRICES "{,.shared,.shared::cta}.b16", "v:b32 m", emit_ldmatrix},
      {"stmatrix.sync.aligned" MATRICES "{,.shared,.shared::cta}.b16", "m w:b32", emit_stmatrix},
      {"activemask.b32", "d", emit_activemask},
      {"bar.warp.sync", "s:b32", emit_nothing},
      {"{bar,barrier,barrier.cta}.sync{,.aligned}", "s:u32 ?s:u32", emit_nothing},
      {"{bar,barrier,barrier.cta}.arrive{,.aligned}", "s:u32 s:u32", emit_nothing},
      {"{bar,barrier,barrier.cta}.red{,.aligned}.{and,or}.pred", "P s:u32 ?s:u32 p", emit_barrier_result},
      {"{bar,barrier,barrier.cta}.red{,.aligned}.popc.u32", "d:u32 s:u32 ?s:u32 p", emit_barrier_result},
      // control: translate/flow.cc
      {"bra{,.uni}", "L", emit_nothing},
      {"{ret,ret.uni,exit,trap,brkpt}", "", emit_nothing},
      // functions: translate/calls.cc makes the other two of call and ret, which it checks
      {"call{,.uni}", "", emit_nothing},
      {"call of function", "L d:u32 C C", emit_call_result},
      {"return from function", "s:u32", emit_nothing},
      {"vprintf of the driver", "C C", emit_print},
      {"__assertfail of the driver", "C C", emit_assert_fail},
  };
  return rows;
}

}  // namespace flashproof::ptx
