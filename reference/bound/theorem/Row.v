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

(* Where low is 0: each mean is at most the largest of what it averages. *)
Definition rest M N gd gu :=
  let d := Rmax (gd / (1 - gd)) (gu / (1 + gu)) * (M + N) in d + ((exp T - 1) * (M + N + d) + exp T * Eo).
Definition numerator_most :=
  most l (fun a => (exp (Q a) - 1) * Rabs (v a)) + (sum l (fun a => z a * Rabs (v a)) + EN) / W.
Definition shrink_most := most l (fun a => 1 - exp (- G a)) + El / W.
Definition swell_most := most l (fun a => exp (G a) - 1) + El / W.
Definition beyond := most l (fun a => Rabs (v a - exact)) + numerator_most
  + rest (most l (fun a => Rabs (v a))) numerator_most shrink_most swell_most.
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
  assert (0 <= lo) by (apply sum_ge0; intros; apply Rmax_l).
  assert (lo * U <= lo * c) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** Means over the computed weights, whatever low is. *)
Definition mean x := sum l (fun a => w a * x a) / total.
Theorem mean_largest x : mean x <= most l x.
Proof.
  apply Rmult_le_reg_r with total; [easy|]. unfold mean, Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  rewrite Rmult_comm. unfold total. apply sum_mean; [auto|]. intros; now apply most_ge.
Qed.
Lemma mean_ge0 x : (forall a, In a l -> 0 <= x a) -> 0 <= mean x.
Proof. intros Hx. apply over_ge0; [|easy]. apply sum_ge0; intros; apply Rmult_le_pos; auto. Qed.
Lemma mean_abs x : Rabs (mean x) <= mean (fun a => Rabs (x a)).
Proof.
  unfold mean, Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ total)) by (left; now apply Rinv_0_lt_compat).
  apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|].
  eapply Rle_trans; [apply sum_abs|]. apply sum_le; intros a Ha. rewrite Rabs_mult, (Rabs_pos_eq (w a)) by auto. lra.
Qed.
Lemma mean_most x : Rabs (mean x) <= most l (fun a => Rabs (x a)).
Proof. eapply Rle_trans; [apply mean_abs|apply mean_largest]. Qed.
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
Lemma mean_farthest : Rabs (mean v - o) <= most l (fun a => Rabs (v a - o)).
Proof. rewrite <- mean_minus. apply mean_most. Qed.

Lemma over_total x E : Rabs x <= E -> Rabs (x / total) <= E / W.
Proof.
  intros Hx. apply abs_product; [easy|]. rewrite Rabs_pos_eq by (left; now apply Rinv_0_lt_compat).
  now apply Rinv_le_contravar.
Qed.

Notation lost := ((sum l (fun a => z a * Rabs (v a)) + EN) / W).
Lemma numerator_mean : Rabs (Nh / total - mean v) <= mean (fun a => (exp (Q a) - 1) * Rabs (v a)) + lost.
Proof.
  replace (Nh / total - mean v) with (mean (fun a => r a * v a) + (sum l (fun a => y a * v a) + eN) / total).
  - apply abs_sum.
    + eapply Rle_trans; [apply mean_abs|].
      apply mean_le; intros a Ha. rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|auto].
    + apply over_total, abs_sum; [|easy]. eapply Rle_trans; [apply sum_abs|]. apply sum_le; intros a Ha.
      rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|auto].
  - rewrite N_model. unfold mean.
    rewrite (sum_ext _ (fun a => (w a * (1 + r a) + y a) * v a) (fun a => w a * (r a * v a) + y a * v a + w a * v a))
      by (intros; ring).
    rewrite !sum_plus. field; lra.
Qed.

(** l^ = total (1 + share), -shrink <= share <= swell. *)
Notation mean_shrink := (mean (fun a => 1 - exp (- G a))).
Notation mean_swell := (mean (fun a => exp (G a) - 1)).
Lemma shrink_terms a : In a l -> 0 <= 1 - exp (- G a).
Proof. intros Ha. assert (E := exp_le1 (G a) (G0 a Ha)). lra. Qed.
Lemma swell_terms a : In a l -> 0 <= exp (G a) - 1.
Proof. intros Ha. assert (E := exp_ge1 (G a) (G0 a Ha)). lra. Qed.
Lemma means0 : 0 <= mean_shrink /\ 0 <= mean_swell /\ 0 <= El / W.
Proof.
  repeat split; [apply mean_ge0, shrink_terms|apply mean_ge0, swell_terms|].
  apply over_ge0; [eapply Rle_trans; [apply Rabs_pos|exact el_E]|easy].
Qed.
Lemma denominator_mean : 1 - (mean_shrink + El / W) <= lh / total <= 1 + (mean_swell + El / W).
Proof.
  assert (E := over_total el El el_E). apply abs_le in E.
  replace (lh / total) with (1 + mean g + el / total).
  2:{ rewrite l_model, (sum_ext _ _ (fun a => w a + w a * g a)) by (intros; ring).
      rewrite sum_plus. fold total. unfold mean. field; lra. }
  assert (Up : mean g <= mean_swell) by (apply mean_le; intros a Ha; assert (X := g_G a Ha); lra).
  assert (Dn : - mean g <= mean_shrink).
  { replace (- mean g) with (mean (fun a => - g a)).
    - apply mean_le; intros a Ha. assert (X := g_G a Ha). lra.
    - unfold mean. rewrite (sum_ext _ _ (fun a => (-1) * (w a * g a))) by (intros; ring). rewrite sum_times. field; lra. }
  lra.
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

Lemma parts_add_up We Nu M gd gu : Rabs (mean v - o) <= We -> Rabs (Nh / total - mean v) <= Nu -> Rabs (mean v) <= M ->
  0 <= gd < 1 -> 0 <= gu -> 1 - gd <= lh / total <= 1 + gu -> Rabs (oh - o) <= We + Nu + rest T Eo M Nu gd gu.
Proof.
  intros B1 B2 BM Gd Gu Bl. unfold rest. set (De := Rmax (gd / (1 - gd)) (gu / (1 + gu)) * (M + Nu)).
  assert (BN : Rabs (Nh / total) <= M + Nu).
  { replace (Nh / total) with (mean v + (Nh / total - mean v)) by ring. now apply abs_sum. }
  assert (P : 0 < lh / total) by lra.
  assert (lh0 : lh <> 0) by (intros E; rewrite E in P; unfold Rdiv in P; rewrite Rmult_0_l in P; lra).
  assert (B3 : Rabs (Nh / lh - Nh / total) <= De).
  { replace (Nh / lh - Nh / total) with ((/ (lh / total) - 1) * (Nh / total)) by (field; lra).
    apply abs_product; [now apply reciprocal_ends|easy]. }
  assert (BQ : Rabs (Nh / lh) <= M + Nu + De).
  { replace (Nh / lh) with (Nh / total + (Nh / lh - Nh / total)) by ring. now apply abs_sum. }
  assert (B4 : Rabs (oh - Nh / lh) <= (exp T - 1) * (M + Nu + De) + exp T * Eo).
  { rewrite o_model. replace (Nh / lh * exp t + tau - Nh / lh) with ((exp t - 1) * (Nh / lh) + tau) by ring.
    apply abs_sum; [apply abs_product; [now apply units_both_ways|easy]|].
    assert (T0 : 0 <= T) by (eapply Rle_trans; [apply Rabs_pos|exact t_T]).
    assert (E0 : 0 <= Eo) by (eapply Rle_trans; [apply Rabs_pos|exact tau_E]).
    assert (1 <= exp T) by now apply exp_ge1. nra. }
  replace (oh - o) with (mean v - o + (Nh / total - mean v) + ((Nh / lh - Nh / total) + (oh - Nh / lh))) by ring.
  apply abs_sum; [now apply abs_sum|now apply abs_sum].
Qed.

(** README.md, section 3, where every weight may be lost: no hypothesis says that low is above 0. *)
Theorem beyond_bound : shrink_most l G W El < 1 -> Rabs (oh - o) <= beyond l p v G Q z W El EN T Eo.
Proof.
  intros Gd. destruct means0 as [D0 [S1 E0]]. assert (Bl := denominator_mean).
  assert (LD := mean_largest (fun a => 1 - exp (- G a))). assert (LU := mean_largest (fun a => exp (G a) - 1)).
  assert (LN := mean_largest (fun a => (exp (Q a) - 1) * Rabs (v a))). assert (N := numerator_mean).
  unfold beyond. apply parts_add_up; [apply mean_farthest| |apply mean_most| | |];
    unfold numerator_most, shrink_most, swell_most in *; lra.
Qed.

Hypothesis low0 : 0 < lo.

(** A mean of x over the computed weights: (3). *)
Theorem mean_average x : (forall a, In a l -> 0 <= x a) -> mean x <= avg x.
Proof.
  intros Hx. apply Rmin_glb; [|apply mean_largest]. unfold mean. set (B := sum l (fun a => (p a + q a) * x a)).
  assert (B0 : 0 <= B).
  { apply sum_ge0; intros a Ha. apply Rmult_le_pos; [|auto]. assert (M := moved0 a Ha). assert (P := p0 a Ha). lra. }
  assert (E : sum l (fun a => w a * x a) <= c * B).
  { unfold B. rewrite <- sum_times. apply sum_le; intros a Ha.
    assert (E := shift_moved a Ha). unfold shift in E. apply abs_le in E.
    assert (w a <= c * (p a + q a)).
    { replace (w a) with (c * (w a / c)) by (field; lra). apply Rmult_le_compat_l; lra. }
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; auto. }
  assert (L := low_total). apply Rle_trans with (c * B / total).
  - apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|easy].
  - replace (c * B / total) with (B / (total / c)) by (field; lra). now apply over_le.
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
  apply Rmin_glb; [|apply mean_farthest].
  rewrite cancellation. assert (L := low_total). unfold Rdiv at 1.
  apply Rle_trans with (sum l (fun a => q a * Rabs (v a - o)) / (total / c)).
  - unfold Rdiv at 2. rewrite Rabs_mult, (Rabs_pos_eq (/ (total / c))) by (left; apply Rinv_0_lt_compat; lra).
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
    eapply Rle_trans; [apply sum_abs|]. apply sum_le; intros a Ha. rewrite Rabs_mult.
    apply Rmult_le_compat_r; [apply Rabs_pos|now apply shift_moved].
  - apply over_le; [|easy|easy]. apply sum_ge0; intros. apply Rmult_le_pos; [now apply moved0|apply Rabs_pos].
Qed.

Theorem numerator_holds : Rabs (Nh / total - mean v) <= numerator_part l p v H Z Q z U W EN.
Proof.
  eapply Rle_trans; [apply numerator_mean|]. apply Rplus_le_compat_r, mean_average.
  intros a Ha. apply Rmult_le_pos; [|apply Rabs_pos]. assert (E := exp_ge1 (Q a) (Q0 a Ha)). lra.
Qed.

Notation gd := (shrink l p H Z G U W El).
Notation gu := (swell l p H Z G U W El).
Lemma shares0 : 0 <= gd /\ 0 <= gu.
Proof.
  destruct means0 as [D0 [S1 E0]]. assert (D := mean_average _ shrink_terms). assert (F := mean_average _ swell_terms).
  unfold shrink, swell. lra.
Qed.
Theorem denominator_share : 1 - gd <= lh / total <= 1 + gu.
Proof.
  assert (B := denominator_mean). assert (D := mean_average _ shrink_terms). assert (F := mean_average _ swell_terms).
  unfold shrink, swell. lra.
Qed.

(** README.md, section 3. *)
Theorem row_bound : gd < 1 -> Rabs (oh - o) <= bound l p v H Z G Q z U W El EN T Eo.
Proof.
  intros Gd. destruct shares0 as [Gd0 Gu0]. assert (B1 := weights_hold).
  assert (BM : Rabs (mean v) <= middle l p v H Z U).
  { apply Rmin_glb; [|apply mean_most]. replace (mean v) with (o + (mean v - o)) by ring. now apply abs_sum; [right|]. }
  eapply Rle_trans; [apply parts_add_up; [exact B1|apply numerator_holds|exact BM| | |apply denominator_share]; lra|].
  right. unfold bound, rest, output_part, denominator_part. ring.
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
