(* Where a weaker assumption, a smaller constant or a factor left out makes a formula false. *)
From Coq Require Import Reals Psatz.
From Flashproof Require Import Units.
Open Scope R_scope.

(** D4. Weights must not be negative: two leaves of p = 1/2 with v = 0, 1 and computed weights 3/2, -1/2 leave the values' range. *)
Theorem sign_needed : exists w0 w1 : R, w0 + w1 = 1 /\ Rabs (w0 - 1 / 2) <= 1 /\ Rabs (w1 - 1 / 2) <= 1 /\
  1 / 2 < Rabs ((w0 * 0 + w1 * 1) / (w0 + w1) - 1 / 2).
Proof.
  exists (3 / 2), (-1 / 2). repeat split; [lra|rewrite Rabs_pos_eq; lra|rewrite Rabs_left; lra|].
  replace ((3 / 2 * 0 + -1 / 2 * 1) / (3 / 2 + -1 / 2)) with (-1 / 2) by field. rewrite Rabs_left; lra.
Qed.

(** D5. (1) with lead = 0 needs the maximum's weight to be exactly e^kappa: a fused one may be 1 - eps. *)
Theorem own_weight_needed eps : 0 < eps < 1 -> exists eta, Rabs eta <= - ln (1 - eps) /\ exp eta < exp (- 0 - 0).
Proof.
  intros H. exists (ln (1 - eps)). assert (ln (1 - eps) < 0) by (rewrite <- ln_1; apply ln_increasing; lra). split.
  - rewrite Rabs_left by easy. lra.
  - apply exp_increasing. lra.
Qed.

(** D1. What is lost when P is stored is multiplied by every later rounding. One key with v = 1 (the others 0) weighs half the least
    number x of e4m3 and is stored up as 2x; the accumulator then grows by e^{1/4}. Numerator part without the factor e^R on z: R is
    ln(1 + 2^-4) + 1/4 and z = (x + 33 2^-13 16 x)(1 + 2^-10). The error is larger. *)
Theorem stored_loss_grows x : 0 < x ->
  x * (exp (ln (1 + 1 / 16) + 1 / 4) - 1) + x * (1 + 33 / 8192 * 16) * (1 + 1 / 1024) < 2 * x * exp (1 / 4) - x.
Proof.
  intros Hx. rewrite exp_plus, exp_ln by lra. assert (B := exp_ineq1_le (1 / 4)).
  assert (Q : (1 + 33 / 8192 * 16) * (1 + 1 / 1024) < (1 - 1 / 16) * exp (1 / 4)) by lra.
  apply Rmult_lt_compat_l with (r := x) in Q; [|easy]. lra.
Qed.

(** D6. Units counted as ln(1 + b) do not bound |ln|: a step that loses b of its sum has more. *)
Theorem truncation_is_longer b : 0 < b < 1 -> ln (1 + b) < Rabs (ln (1 - b)).
Proof.
  intros H. assert (N : ln (1 - b) < 0) by (rewrite <- ln_1; apply ln_increasing; lra). rewrite Rabs_left by easy.
  rewrite <- ln_Rinv by lra. apply ln_increasing; [lra|].
  apply Rmult_lt_reg_r with (1 - b); [lra|]. rewrite Rinv_l; nra.
Qed.

(** D7. 1 + 2^-10 covers 16,368 later roundings, not 16,385, and for 2^20 more than 1.06 is needed. *)
Theorem later_covers n : 0 <= n <= 16368 -> exp (n * (/ 16777216 + / 16777216 * / 16777216)) <= 1 + 1 / 1024.
Proof.
  intros H. set (x := 16368 * (/ 16777216 + / 16777216 * / 16777216)).
  assert (E : exp (n * (/ 16777216 + / 16777216 * / 16777216)) <= exp x) by (apply exp_mono, Rmult_le_compat_r; lra).
  assert (B := exp_ineq1_le (- x)). rewrite exp_Ropp in B. assert (P := exp_pos x).
  assert (X : / (1 + 1 / 1024) <= 1 - x) by (unfold x; lra).
  assert (Y : exp x <= / / (1 + 1 / 1024)).
  { rewrite <- (Rinv_inv (exp x)). apply Rinv_le_contravar; [apply Rinv_0_lt_compat; lra|lra]. }
  rewrite Rinv_inv in Y. lra.
Qed.
Theorem later_needed n : 16385 <= INR n -> 1 + 1 / 1024 < (1 + / 16777216) ^ n.
Proof. intros H. assert (B := poly n (/ 16777216)). assert (0 < / 16777216) by lra. specialize (B H0). nra. Qed.
Theorem later_at_most n : 1048576 <= INR n -> 1 + 6 / 100 < (1 + / 16777216) ^ n.
Proof. intros H. assert (B := poly n (/ 16777216)). assert (0 < / 16777216) by lra. specialize (B H0). nra. Qed.

(** D8. Stable merges with T = ln(e^a + e^b) without the exponential's error: equal sides and theta = 2^-22 alone exceed u. *)
Theorem top_needs_theta : / 16777216 < ln (1 + exp (/ 4194304)) - ln (1 + 1).
Proof.
  set (t := / 4194304). assert (E := exp_ineq1_le t).
  assert (A : ln ((1 + 1) * (1 + t / 2)) <= ln (1 + exp t)) by (apply ln_mono; unfold t in *; lra).
  rewrite ln_mult in A by (unfold t; lra).
  assert (B := ln_below (/ (1 + t / 2))). rewrite ln_Rinv in B by (unfold t; lra).
  assert (P : 0 < / (1 + t / 2)) by (apply Rinv_0_lt_compat; unfold t; lra). specialize (B P).
  assert (C : / (1 + t / 2) < 1 - / 16777216) by (unfold t; lra). lra.
Qed.

(** D10. kappa dropped from a split's exponents: two equal keys with v = 1, -1 and kappa = k, -k are off where the bound is 0. *)
Theorem kappa_needed k : 0 < k ->
  0 < (1 / 2 * exp k * 1 + 1 / 2 * exp (- k) * -1) / (1 / 2 * exp k + 1 / 2 * exp (- k)) - (1 / 2 * 1 + 1 / 2 * -1).
Proof.
  intros H. assert (exp (- k) < exp k) by (apply exp_increasing; lra). assert (0 < exp (- k)) by apply exp_pos.
  replace (1 / 2 * 1 + 1 / 2 * -1) with 0 by lra. rewrite Rminus_0_r. apply Rdiv_lt_0_compat; lra.
Qed.
