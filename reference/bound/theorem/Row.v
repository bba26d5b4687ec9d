(* README.md, section 3: from the model of a row to the four parts of its bound. A leaf is any key of any row; nothing here
   knows what a kernel is. The first section holds the formulas, the second the errors they are proved to cover. *)
From Coq Require Import Reals Psatz List.
From Flashproof Require Import Units.
Import ListNotations.
Open Scope R_scope.

Section Formulas.
Context {A : Type} (l : list A).
Variables (p v : A -> R).              (* exact weights, values *)
Variables (H Z G Q z : A -> R).        (* H_j, Z_j, G_j, R_j, z_j of the README *)
Variables (U W El EN T Eo : R).

Definition exact := sum l (fun a => p a * v a).
Definition moved a := p a * (exp (H a) - 1) + Z a / U.                       (* q_j *)
Definition least a := Rmax 0 (p a * exp (- H a) - Z a / U).                  (* a_j *)
Definition low := sum l least.
Definition up := 1 + sum l moved.
Definition average x := Rmin (sum l (fun a => (p a + moved a) * x a) / low) (most l x).                     (* (3) *)
Definition weights_part :=
  Rmin (sum l (fun a => moved a * Rabs (v a - exact)) / low) (most l (fun a => Rabs (v a - exact))).
Definition numerator_part :=
  average (fun a => (exp (Q a) - 1) * Rabs (v a)) + (sum l (fun a => z a * Rabs (v a)) + EN) / W.
Definition shrink := average (fun a => 1 - exp (- G a)) + El / W.
Definition swell := average (fun a => exp (G a) - 1) + El / W.
Definition middle := Rmin (Rabs exact + weights_part) (most l (fun a => Rabs (v a))).                       (* M *)
Definition denominator_part :=
  Rmax (shrink / (1 - shrink)) (swell / (1 + swell)) * (middle + numerator_part).
Definition output_part := (exp T - 1) * (middle + numerator_part + denominator_part) + exp T * Eo.
Definition bound := weights_part + numerator_part + denominator_part + output_part.
Definition lse_part := Rmax (ln up) (- ln low) + Rmax (- ln (1 - shrink)) (ln (1 + swell)).
End Formulas.

Section Row.
Context {A : Type} (l : list A).
Variables (p v H Z G Q z : A -> R) (U W El EN T Eo : R).
(* c is e^{lambda - f + kappa}; the errors that one run of a kernel has made: *)
Variables (c : R) (eta zeta w g r y : A -> R) (el eN t tau lh Nh oh : R).

Hypothesis p0 : forall a, In a l -> 0 <= p a.
Hypothesis p1 : sum l p = 1.
Hypothesis U0 : 0 < U.
Hypothesis Uc : U <= c.
Hypothesis w_model : forall a, In a l -> w a = c * (p a * exp (eta a)) + zeta a.
Hypothesis w0 : forall a, In a l -> 0 <= w a.
Hypothesis eta_H : forall a, In a l -> Rabs (eta a) <= H a.
Hypothesis zeta_Z : forall a, In a l -> Rabs (zeta a) <= Z a.
Hypothesis l_model : lh = sum l (fun a => w a * (1 + g a)) + el.
Hypothesis N_model : Nh = sum l (fun a => (w a * (1 + r a) + y a) * v a) + eN.
Hypothesis o_model : oh = Nh / lh * exp t + tau.
Hypothesis G0 : forall a, In a l -> 0 <= G a.
Hypothesis g_G : forall a, In a l -> exp (- G a) <= 1 + g a <= exp (G a).
Hypothesis Q0 : forall a, In a l -> 0 <= Q a.
Hypothesis r_Q : forall a, In a l -> Rabs (r a) <= exp (Q a) - 1.
Hypothesis y_z : forall a, In a l -> Rabs (y a) <= z a.
Hypothesis el_E : Rabs el <= El.
Hypothesis eN_E : Rabs eN <= EN.
Hypothesis t_T : Rabs t <= T.
Hypothesis tau_E : Rabs tau <= Eo.

Notation o := (exact l p v).
Notation q := (moved p H Z U).
Notation lo := (low l p H Z U).
Notation avg := (average l p H Z U).
Definition total := sum l w.

Hypothesis low0 : 0 < lo.
Hypothesis W0 : 0 < W.
Hypothesis W_total : W <= total.

Let c0 : 0 < c. Proof. lra. Qed.
Let S0 : 0 < total. Proof. unfold total in *; lra. Qed.

Lemma lost_share a : In a l -> Rabs (zeta a / c) <= Z a / U.
Proof.
  intros Ha. unfold Rdiv. apply abs_product; [auto|].
  rewrite Rabs_pos_eq by (left; now apply Rinv_0_lt_compat). now apply Rinv_le_contravar.
Qed.
Lemma share a : In a l -> w a / c = p a * exp (eta a) + zeta a / c.
Proof. intros Ha. rewrite w_model by easy. field; lra. Qed.

(** |p_j omega_j| <= q_j *)
Definition shift a := w a / c - p a.
Theorem shift_moved a : In a l -> Rabs (shift a) <= q a.
Proof.
  intros Ha. unfold shift, moved. rewrite share by easy.
  replace (p a * exp (eta a) + zeta a / c - p a) with (p a * (exp (eta a) - 1) + zeta a / c) by ring.
  apply abs_sum; [|now apply lost_share].
  rewrite Rabs_mult, Rabs_pos_eq by auto. apply Rmult_le_compat_l; [auto|]. now apply units_both_ways, eta_H.
Qed.
Lemma moved0 a : In a l -> 0 <= q a.
Proof. intros Ha. assert (E := shift_moved a Ha). assert (F := Rabs_pos (shift a)). lra. Qed.

(** (2): a_j <= p_j (1 + omega_j), and low <= sum <= up. *)
Lemma least_share a : In a l -> least p H Z U a <= w a / c.
Proof.
  intros Ha. unfold least. apply Rmax_lub; [apply over_ge0; auto|].
  rewrite share by easy. assert (E := lost_share a Ha). apply abs_le in E.
  assert (F := eta_H a Ha). apply abs_le in F.
  assert (p a * exp (- H a) <= p a * exp (eta a)) by (apply Rmult_le_compat_l; [auto|apply exp_mono; lra]). lra.
Qed.
Let total_over_c : total / c = sum l (fun a => w a / c).
Proof. unfold total, Rdiv. now rewrite sum_times_r. Qed.
Theorem low_total : lo <= total / c.
Proof. rewrite total_over_c. apply sum_le, least_share. Qed.
Theorem total_up : total / c <= up l p H Z U.
Proof.
  rewrite total_over_c. unfold up. rewrite <- p1, <- sum_plus. apply sum_le; intros a Ha.
  assert (E := shift_moved a Ha). unfold shift in E. apply abs_le in E. lra.
Qed.
(** W may be low U. *)
Theorem low_unit : lo * U <= total.
Proof.
  assert (B := low_total). apply Rmult_le_compat_r with (r := c) in B; [|lra].
  replace (total / c * c) with total in B by (field; lra).
  assert (lo * U <= lo * c) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** A mean of x over the computed weights: (3). *)
Definition mean x := sum l (fun a => w a * x a) / total.
Theorem mean_average x : (forall a, In a l -> 0 <= x a) -> mean x <= avg x.
Proof.
  intros Hx. unfold mean. apply Rmin_glb.
  - set (B := sum l (fun a => (p a + q a) * x a)).
    assert (B0 : 0 <= B).
    { apply sum_ge0; intros a Ha. apply Rmult_le_pos; [|auto]. assert (M := moved0 a Ha). assert (P := p0 a Ha). lra. }
    assert (E : sum l (fun a => w a * x a) <= c * B).
    { unfold B. rewrite <- sum_times. apply sum_le; intros a Ha.
      assert (E := shift_moved a Ha). unfold shift in E. apply abs_le in E.
      assert (w a <= c * (p a + q a)).
      { replace (w a) with (c * (w a / c)) by (field; lra). apply Rmult_le_compat_l; lra. }
      rewrite <- Rmult_assoc. apply Rmult_le_compat_r; auto. }
    assert (L := low_total). apply Rle_trans with (c * B / total).
    + apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|easy].
    + replace (c * B / total) with (B / (total / c)) by (field; lra). now apply over_le.
  - apply Rmult_le_reg_r with total; [easy|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    rewrite Rmult_comm. unfold total. apply sum_mean; [auto|]. intros; now apply most_ge.
Qed.
Lemma average0 x : (forall a, In a l -> 0 <= x a) -> 0 <= avg x.
Proof.
  intros Hx. eapply Rle_trans; [|now apply mean_average]. apply over_ge0; [|easy].
  apply sum_ge0; intros; apply Rmult_le_pos; auto.
Qed.
Lemma mean_abs x : Rabs (mean x) <= mean (fun a => Rabs (x a)).
Proof.
  unfold mean, Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ total)) by (left; now apply Rinv_0_lt_compat).
  apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
  eapply Rle_trans; [apply sum_abs|]. apply sum_le; intros a Ha. rewrite Rabs_mult, (Rabs_pos_eq (w a)) by auto. lra.
Qed.
Lemma mean_most x : Rabs (mean x) <= most l (fun a => Rabs (x a)).
Proof.
  eapply Rle_trans; [apply mean_abs|]. eapply Rle_trans; [apply mean_average; intros; apply Rabs_pos|apply Rmin_r].
Qed.
Lemma mean_le x k : (forall a, In a l -> x a <= k a) -> mean x <= mean k.
Proof.
  intros Hx. unfold mean. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
  apply sum_le; intros. apply Rmult_le_compat_l; auto.
Qed.
Lemma mean_minus x k : mean (fun a => x a - k) = mean x - k.
Proof.
  unfold mean. rewrite (sum_ext _ _ (fun a => w a * x a - w a * k)) by (intros; ring).
  rewrite sum_minus, sum_times_r. fold total. field; lra.
Qed.

(** (4): of the weights' errors only what the values' distance from o sees is left. *)
Theorem cancellation : mean v - o = sum l (fun a => shift a * (v a - o)) / (total / c).
Proof.
  assert (E : sum l (fun a => p a * (v a - o)) = 0).
  { rewrite (sum_ext _ _ (fun a => p a * v a - p a * o)) by (intros; ring).
    rewrite sum_minus, sum_times_r, p1. unfold exact; ring. }
  assert (F : sum l (fun a => shift a * (v a - o)) = sum l (fun a => w a * (v a - o)) / c).
  { rewrite <- (Rminus_0_r (_ / c)), <- E. unfold Rdiv at 1. rewrite <- sum_times_r, <- sum_minus.
    apply sum_ext; intros; unfold shift; field; lra. }
  rewrite F, <- mean_minus. unfold mean. field; lra.
Qed.

Theorem weights_hold : Rabs (mean v - o) <= weights_part l p v H Z U.
Proof.
  apply Rmin_glb.
  - rewrite cancellation. assert (L := low_total). unfold Rdiv at 1.
    apply Rle_trans with (sum l (fun a => q a * Rabs (v a - o)) / (total / c)).
    + unfold Rdiv at 2. rewrite Rabs_mult, (Rabs_pos_eq (/ (total / c))) by (left; apply Rinv_0_lt_compat; lra).
      apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
      eapply Rle_trans; [apply sum_abs|]. apply sum_le; intros a Ha. rewrite Rabs_mult.
      apply Rmult_le_compat_r; [apply Rabs_pos|now apply shift_moved].
    + apply over_le; [|easy|easy]. apply sum_ge0; intros. apply Rmult_le_pos; [now apply moved0|apply Rabs_pos].
  - rewrite <- mean_minus. apply mean_most.
Qed.

Lemma over_total x E : Rabs x <= E -> Rabs (x / total) <= E / W.
Proof.
  intros Hx. apply abs_product; [easy|]. rewrite Rabs_pos_eq by (left; now apply Rinv_0_lt_compat).
  now apply Rinv_le_contravar.
Qed.

Theorem numerator_holds : Rabs (Nh / total - mean v) <= numerator_part l p v H Z Q z U W EN.
Proof.
  replace (Nh / total - mean v) with (mean (fun a => r a * v a) + (sum l (fun a => y a * v a) + eN) / total).
  - apply abs_sum.
    + eapply Rle_trans; [apply mean_abs|]. eapply Rle_trans; [|apply mean_average].
      * apply mean_le; intros a Ha. rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|auto].
      * intros a Ha. apply Rmult_le_pos; [|apply Rabs_pos]. assert (E := exp_ge1 (Q a) (Q0 a Ha)). lra.
    + apply over_total, abs_sum; [|easy]. eapply Rle_trans; [apply sum_abs|]. apply sum_le; intros a Ha.
      rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|auto].
  - rewrite N_model. unfold mean.
    rewrite (sum_ext _ (fun a => (w a * (1 + r a) + y a) * v a) (fun a => w a * (r a * v a) + y a * v a + w a * v a))
      by (intros; ring).
    rewrite !sum_plus. field; lra.
Qed.

(** l^ = total (1 + share), -shrink <= share <= swell. *)
Notation gd := (shrink l p H Z G U W El).
Notation gu := (swell l p H Z G U W El).
Lemma shrink_terms a : In a l -> 0 <= 1 - exp (- G a).
Proof. intros Ha. assert (E := exp_le1 (G a) (G0 a Ha)). lra. Qed.
Lemma swell_terms a : In a l -> 0 <= exp (G a) - 1.
Proof. intros Ha. assert (E := exp_ge1 (G a) (G0 a Ha)). lra. Qed.
Lemma shares0 : 0 <= gd /\ 0 <= gu.
Proof.
  assert (E : 0 <= El / W) by (apply over_ge0; [eapply Rle_trans; [apply Rabs_pos|exact el_E]|easy]).
  assert (D := average0 _ shrink_terms). assert (F := average0 _ swell_terms). unfold shrink, swell. lra.
Qed.
Theorem denominator_share : 1 - gd <= lh / total <= 1 + gu.
Proof.
  assert (E := over_total el El el_E). apply abs_le in E.
  replace (lh / total) with (1 + mean g + el / total).
  2:{ rewrite l_model, (sum_ext _ _ (fun a => w a + w a * g a)) by (intros; ring).
      rewrite sum_plus. fold total. unfold mean. field; lra. }
  assert (Up : mean g <= avg (fun a => exp (G a) - 1)).
  { eapply Rle_trans; [|apply mean_average, swell_terms]. apply mean_le; intros a Ha. assert (X := g_G a Ha). lra. }
  assert (Dn : - mean g <= avg (fun a => 1 - exp (- G a))).
  { eapply Rle_trans; [|apply mean_average, shrink_terms]. replace (- mean g) with (mean (fun a => - g a)).
    - apply mean_le; intros a Ha. assert (X := g_G a Ha). lra.
    - unfold mean. rewrite (sum_ext _ _ (fun a => (-1) * (w a * g a))) by (intros; ring). rewrite sum_times. field; lra. }
  unfold shrink, swell. lra.
Qed.

(** |1/(1 + x) - 1| is largest at an end. *)
Lemma reciprocal_ends x a b : 0 <= a < 1 -> 0 <= b -> 1 - a <= x <= 1 + b ->
  Rabs (/ x - 1) <= Rmax (a / (1 - a)) (b / (1 + b)).
Proof.
  intros Ha Hb Hx. assert (I1 : / (1 + b) <= / x) by (apply Rinv_le_contravar; lra).
  assert (I2 : / x <= / (1 - a)) by (apply Rinv_le_contravar; lra).
  assert (M1 := Rmax_l (a / (1 - a)) (b / (1 + b))). assert (M2 := Rmax_r (a / (1 - a)) (b / (1 + b))).
  replace (b / (1 + b)) with (1 - / (1 + b)) in * by (field; lra).
  replace (a / (1 - a)) with (/ (1 - a) - 1) in * by (field; lra). apply Rabs_le; lra.
Qed.

(** README.md, section 3. *)
Theorem row_bound : gd < 1 -> Rabs (oh - o) <= bound l p v H Z G Q z U W El EN T Eo.
Proof.
  intros Gd. destruct shares0 as [Gd0 Gu0].
  set (We := weights_part l p v H Z U). set (Nu := numerator_part l p v H Z Q z U W EN).
  set (M := middle l p v H Z U). set (De := denominator_part l p v H Z G Q z U W El EN).
  assert (B1 : Rabs (mean v - o) <= We) by apply weights_hold.
  assert (B2 : Rabs (Nh / total - mean v) <= Nu) by apply numerator_holds.
  assert (BM : Rabs (mean v) <= M).
  { apply Rmin_glb; [|apply mean_most]. replace (mean v) with (o + (mean v - o)) by ring. now apply abs_sum; [right|]. }
  assert (BN : Rabs (Nh / total) <= M + Nu).
  { replace (Nh / total) with (mean v + (Nh / total - mean v)) by ring. now apply abs_sum. }
  assert (Bl := denominator_share). assert (P : 0 < lh / total) by lra.
  assert (lh0 : lh <> 0) by (intros E; rewrite E in P; unfold Rdiv in P; rewrite Rmult_0_l in P; lra).
  assert (B3 : Rabs (Nh / lh - Nh / total) <= De).
  { replace (Nh / lh - Nh / total) with ((/ (lh / total) - 1) * (Nh / total)) by (field; lra).
    apply abs_product; [now apply reciprocal_ends|easy]. }
  assert (BQ : Rabs (Nh / lh) <= M + Nu + De).
  { replace (Nh / lh) with (Nh / total + (Nh / lh - Nh / total)) by ring. now apply abs_sum. }
  assert (B4 : Rabs (oh - Nh / lh) <= output_part l p v H Z G Q z U W El EN T Eo).
  { rewrite o_model. replace (Nh / lh * exp t + tau - Nh / lh) with ((exp t - 1) * (Nh / lh) + tau) by ring.
    apply abs_sum; [apply abs_product; [now apply units_both_ways|easy]|].
    assert (T0 : 0 <= T) by (eapply Rle_trans; [apply Rabs_pos|exact t_T]).
    assert (E0 : 0 <= Eo) by (eapply Rle_trans; [apply Rabs_pos|exact tau_E]).
    assert (1 <= exp T) by now apply exp_ge1. nra. }
  replace (oh - o) with (mean v - o + (Nh / total - mean v) + (Nh / lh - Nh / total) + (oh - Nh / lh)) by ring.
  unfold bound. apply abs_sum; [apply abs_sum; [apply abs_sum|]|]; assumption.
Qed.

(** Section 4: ln l^ against ln c. *)
Theorem lse_holds : gd < 1 -> Rabs (ln lh - ln c) <= lse_part l p H Z G U W El.
Proof.
  intros Gd. destruct shares0 as [Gd0 Gu0]. assert (Bl := denominator_share).
  assert (L1 := low_total). assert (L2 := total_up).
  assert (P1 : 0 < lh / total) by lra. assert (P2 : 0 < total / c) by lra.
  replace lh with (lh / total * (total / c) * c) by (field; lra).
  rewrite 2 ln_mult; [|easy..|now apply Rmult_lt_0_compat|easy].
  assert (A1 := ln_mono _ _ low0 L1). assert (A2 := ln_mono _ _ P2 L2).
  assert (A3 : ln (1 - gd) <= ln (lh / total)) by (apply ln_mono; lra).
  assert (A4 : ln (lh / total) <= ln (1 + gu)) by (apply ln_mono; lra).
  unfold lse_part.
  assert (M1 := Rmax_l (ln (up l p H Z U)) (- ln lo)). assert (M2 := Rmax_r (ln (up l p H Z U)) (- ln lo)).
  assert (M3 := Rmax_l (- ln (1 - gd)) (ln (1 + gu))). assert (M4 := Rmax_r (- ln (1 - gd)) (ln (1 + gu))).
  apply Rabs_le; lra.
Qed.
End Row.
