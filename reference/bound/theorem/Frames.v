(* Frames, lse and endings: the unit of the weights (1), the pivot, section 4's second bracket, endings without a division, and
   softmax's y. *)
From Coq Require Import Reals Psatz List.
From Flashproof Require Import Units.
Import ListNotations.
Open Scope R_scope.

(** (1): f lies above m^ by `lead` at most. *)
Theorem frame_unit lam m mh L f kappa D K lead : 0 < L -> lam = m + ln L -> Rabs (mh - m) <= D -> Rabs kappa <= K ->
  f <= mh + lead -> L * exp (- D - K - lead) <= exp (lam - f + kappa).
Proof.
  intros HL -> HD HK Hf. rewrite <- (exp_ln L) at 1 by easy. rewrite <- exp_plus. apply exp_mono.
  apply abs_le in HD, HK. lra.
Qed.
(** (1), second half: the weight of the maximum, which differs from e^{m^ - f + kappa} by `lead` at most as well. *)
Theorem maximum_weight mh f kappa eta K lead : Rabs kappa <= K -> f - mh - eta <= lead ->
  exp (- K - lead) <= exp (mh - f + kappa + eta).
Proof. intros HK Hl. apply exp_mono. apply abs_le in HK. lra. Qed.

(** The computed maximum errs by no more than the largest D_j. *)
Fixpoint largest (x : R) (l : list R) := match l with [] => x | y :: l => largest (Rmax x y) l end.
Theorem maximum_error l : forall x y (d : R) (k : list R), Rabs (x - y) <= d -> Forall2 (fun a b => Rabs (a - b) <= d) l k ->
  Rabs (largest x l - largest y k) <= d.
Proof.
  induction l as [|a l IH]; intros x y d k Hx F; inversion F as [|a' b l' k' Hab F']; subst; cbn; [easy|].
  apply IH; [|easy]. apply abs_le in Hx, Hab. apply Rabs_le. unfold Rmax.
  destruct (Rle_dec x a), (Rle_dec y b); lra.
Qed.

(** Pivot: certainly the maximum, so that it errs not at all and the others by both errors. *)
Theorem pivot sk shk sj shj Dk Dj : Rabs (shk - sk) <= Dk -> Rabs (shj - sj) <= Dj -> sj + Dj <= sk - Dk ->
  shj <= shk /\ Rabs ((shj - shk) - (sj - sk)) <= Dj + Dk.
Proof. intros H1 H2 H. apply abs_le in H1, H2. split; [lra|apply Rabs_le; lra]. Qed.

(** Section 4's second bracket: whatever the scores, n weights of at most the maximum's; that one is exactly e^{m^ - f + kappa}. *)
Theorem lse_bracket {A} (l : list A) (w : A -> R) a f kappa m mh L lam D K :
  In a l -> (forall b, In b l -> 0 <= w b <= w a) -> w a = exp (mh - f + kappa) ->
  1 <= L <= INR (length l) -> lam = m + ln L -> Rabs (mh - m) <= D -> Rabs kappa <= K ->
  Rabs (f + ln (sum l w) - lam) <= K + D + ln (INR (length l)).
Proof.
  intros Ia Hw Ew HL -> HD HK. apply abs_le in HD, HK.
  assert (P : 0 < w a) by (rewrite Ew; apply exp_pos).
  assert (S1 : w a <= sum l w) by (apply sum_one; auto; intros b Hb; now apply Hw).
  assert (S2 : sum l w <= INR (length l) * w a) by (rewrite <- sum_const; apply sum_le; intros b Hb; now apply Hw).
  assert (L1 := ln_mono _ _ P S1). assert (L2 : ln (sum l w) <= ln (INR (length l) * w a)) by (apply ln_mono; lra).
  rewrite ln_mult in L2 by lra. rewrite Ew, ln_exp in L1, L2.
  assert (L3 : ln 1 <= ln L) by (apply ln_mono; lra). rewrite ln_1 in L3.
  assert (L4 : ln L <= ln (INR (length l))) by (apply ln_mono; lra).
  apply Rabs_le; lra.
Qed.

(** Ending (a), lse^ of the same l^: only rho is left. *)
Theorem ending_same_sum N lh f rho : 0 < lh -> N * exp (f - (f + ln lh + rho)) = N / lh * exp (- rho).
Proof.
  intros H. replace (f - (f + ln lh + rho)) with (- ln lh + - rho) by ring.
  rewrite exp_plus, exp_Ropp, exp_ln by easy. unfold Rdiv; ring.
Qed.
(** Ending (b), fresh weights e^{s - lse^}: the whole error of lse^ multiplies. *)
Theorem ending_fresh x lam lamh Delta M : Rabs (lamh - lam) <= Delta -> Rabs (x * exp (- lam)) <= M ->
  Rabs (x * exp (- lamh) - x * exp (- lam)) <= (exp Delta - 1) * M.
Proof.
  intros H HM. replace (- lamh) with (- lam + (lam - lamh)) by ring. rewrite exp_plus.
  replace (x * (exp (- lam) * exp (lam - lamh)) - x * exp (- lam)) with ((exp (lam - lamh) - 1) * (x * exp (- lam))) by ring.
  apply abs_product; [|easy]. apply units_both_ways. now rewrite Rabs_minus_sym.
Qed.

(** softmax/README.md: y over a sum in [low, up] instead of 1, its own exponential apart. *)
Theorem softmax_weights y t low up : 0 <= y -> 0 < low -> low <= t <= up ->
  Rabs (y / t - y) <= y * Rmax (/ low - 1) (1 - / up).
Proof.
  intros Hy Hl Ht. replace (y / t - y) with (y * (/ t - 1)) by (field; lra).
  rewrite Rabs_mult, Rabs_pos_eq by easy. apply Rmult_le_compat_l; [easy|].
  assert (/ t <= / low) by (apply Rinv_le_contravar; lra). assert (/ up <= / t) by (apply Rinv_le_contravar; lra).
  assert (M1 := Rmax_l (/ low - 1) (1 - / up)). assert (M2 := Rmax_r (/ low - 1) (1 - / up)). apply Rabs_le; lra.
Qed.
