(* Arguments of exponentials (attention/README.md, section 3; softmax/README.md, "Exponents"): what the difference, the product with fl(log2 e) and the
   exponential make of e^{a - b}, over the reals and then with binary32 operations, as one factor of a path. *)
From Coq Require Import Reals Psatz List.
From Flocq Require Import Core.
From Flashproof Require Import Units Factors Rounding.
Open Scope R_scope.

(** fl(fl(a - b) c^): slope (1+u)^2 (1+uc) - 1. *)
Theorem scaled_argument x d1 d2 dc v uc : 0 <= v -> 0 <= uc -> Rabs d1 <= v -> Rabs d2 <= v -> Rabs dc <= uc ->
  Rabs (x * (1 + d1) * (1 + dc) * (1 + d2) - x) <= ((1 + v) * (1 + v) * (1 + uc) - 1) * Rabs x.
Proof.
  intros Hv Hu H1 H2 Hc.
  replace (x * (1 + d1) * (1 + dc) * (1 + d2) - x) with ((d1 + dc + d2 + d1 * dc + d1 * d2 + dc * d2 + d1 * dc * d2) * x) by ring.
  apply abs_product; [|lra].
  replace ((1 + v) * (1 + v) * (1 + uc) - 1) with (v + uc + v + v * uc + v * v + uc * v + v * uc * v) by ring.
  apply abs_sum; [|apply abs_product; [apply abs_product|]; easy].
  repeat (apply abs_sum; [|apply abs_product; easy]). apply abs_sum; [apply abs_sum|]; easy.
Qed.

Section Forms.
Variables (v uc : R).
Hypothesis v0 : 0 <= v.  Hypothesis uc0 : 0 <= uc <= 1.

(** fused, fma(x, c^, -fl(f c^)): every x beside one frame f has its kappa_f; the rest is the key's own. *)
Theorem fused_argument x f dc df d : Rabs dc <= uc -> Rabs df <= v -> Rabs d <= v ->
  exists kappa own, (x * (1 + dc) - f * (1 + dc) * (1 + df)) * (1 + d) = (x - f) + kappa + own /\
    kappa = - (f * (1 + dc) * df) /\ Rabs kappa <= v * (1 + uc) * Rabs f /\
    Rabs own <= ((1 + v) * (1 + uc) - 1) * Rabs (x - f) + v * Rabs kappa.
Proof.
  intros Hc Hf Hd. exists (- (f * (1 + dc) * df)), ((dc + d + dc * d) * (x - f) + d * - (f * (1 + dc) * df)).
  split; [ring|]. split; [easy|]. split.
  - rewrite Rabs_Ropp. replace (f * (1 + dc) * df) with (df * (1 + dc) * f) by ring.
    apply abs_product; [|lra]. apply abs_product; [easy|]. apply abs_le in Hc. apply Rabs_le; lra.
  - apply abs_sum; [|apply abs_product; [easy|right; easy]]. apply abs_product; [|lra].
    replace ((1 + v) * (1 + uc) - 1) with (uc + v + uc * v) by ring. apply abs_sum; [now apply abs_sum|now apply abs_product].
Qed.

(** unfused, fl(fl(x c^) - fl(f c^)): u (1+uc) |x| (1+u) more. *)
Theorem unfused_argument x f dc dx df d : Rabs dc <= uc -> Rabs dx <= v -> Rabs df <= v -> Rabs d <= v ->
  exists kappa own, (x * (1 + dc) * (1 + dx) - f * (1 + dc) * (1 + df)) * (1 + d) = (x - f) + kappa + own /\
    kappa = - (f * (1 + dc) * df) /\ Rabs kappa <= v * (1 + uc) * Rabs f /\
    Rabs own <= ((1 + v) * (1 + uc) - 1) * Rabs (x - f) + v * Rabs kappa + v * (1 + uc) * Rabs x * (1 + v).
Proof.
  intros Hc Hx Hf Hd. destruct (fused_argument x f dc df d Hc Hf Hd) as (kappa & own & E & Ek & Hk & Ho).
  exists kappa, (own + dx * (1 + dc) * x * (1 + d)). split; [|split; [easy|split; [easy|]]].
  - replace ((x * (1 + dc) * (1 + dx) - f * (1 + dc) * (1 + df)) * (1 + d))
      with ((x * (1 + dc) - f * (1 + dc) * (1 + df)) * (1 + d) + dx * (1 + dc) * x * (1 + d)) by ring.
    rewrite E. ring.
  - apply abs_sum; [easy|]. apply abs_le in Hc, Hd. apply abs_product; [|apply Rabs_le; lra].
    apply abs_product; [|lra]. apply abs_product; [easy|]. apply Rabs_le; lra.
Qed.

(** Weights of several frames: kappa_b of a key's own frame against the common one. With the last frame as reference its keys pay
    nothing and the others both; without one every key pays its own and kappa = 0. *)
Theorem reference_frame kb kappa gb g : Rabs kb <= gb -> Rabs kappa <= g -> Rabs (kb - kappa) <= gb + g.
Proof. intros. apply abs_le in H, H0. apply Rabs_le; lra. Qed.
Theorem no_reference kb gb : Rabs kb <= gb -> Rabs (kb - 0) <= gb.
Proof. intros. now rewrite Rminus_0_r. Qed.
End Forms.

(** * From the bits *)
(** An exponential of y within eps, its result possibly subnormal, 1 at most below 0. *)
Definition exponential (eps z0 : R) (e w : R) := exists d z, w = e * (1 + d) + z /\ Rabs d <= eps /\ Rabs z <= z0 /\
  (normal_floor <= e * (1 + d) -> z = 0) /\ 0 <= w <= 1.
Definition factor_of (a b e eps d z extra : R) :=
  {| gap := b - a; base := 0; own := ln (e * (1 + d)) - (a - b); loss := z; cost := - ln (1 - eps) + extra; over := 0 |}.

Lemma ln_cost eps d : 0 <= eps < 1 -> Rabs d <= eps -> 0 < 1 + d /\ Rabs (ln (1 + d)) <= - ln (1 - eps) /\ 0 <= - ln (1 - eps).
Proof.
  intros He Hd. assert (U := units_of eps d He Hd). apply abs_le in Hd as Hd'.
  split; [lra|]. split; [easy|]. eapply Rle_trans; [apply Rabs_pos|exact U].
Qed.

(** e^{fl(a - b)}: the form `accurate`. *)
Theorem accurate_fits a b w eps z0 : is32 a -> is32 b -> a <= b -> 0 <= eps < 1 ->
  exponential eps z0 (exp (rn (a - b))) w -> exists s, fits u z0 s /\ got s = w /\ gap s = b - a /\ cost s = - ln (1 - eps) + 0.
Proof.
  intros Fa Fb L He (d & z & -> & Hd & Hz & Hn & Hw). destruct (ln_cost eps d He Hd) as (P & C & C0).
  assert (E0 := exp_pos (rn (a - b))). exists (factor_of a b (exp (rn (a - b))) eps d z 0).
  assert (I : ideal (factor_of a b (exp (rn (a - b))) eps d z 0) = exp (rn (a - b)) * (1 + d)).
  { unfold ideal, factor_of; cbn. replace (- (b - a) + 0 + (ln (exp (rn (a - b)) * (1 + d)) - (a - b)))
      with (ln (exp (rn (a - b)) * (1 + d))) by ring. apply exp_ln, Rmult_lt_0_compat; lra. }
  split; [|unfold got; rewrite I; cbn; auto].
  apply fits_rising; unfold got; rewrite ?I; cbn; auto; try lra; try (unfold u; lra).
  rewrite ln_mult, ln_exp by lra.
  destruct (rounding_sum a (- b)) as (d1 & e1 & E & H1 & H2 & _); [easy|now apply generic_format_opp|].
  assert (e1 = 0) as -> by (apply abs_le in H2; lra). fold (a - b) in E. rewrite E.
  replace ((a - b) * (1 + d1) + 0 + ln (1 + d) - (a - b)) with (d1 * (a - b) + ln (1 + d)) by ring.
  rewrite Rplus_0_r. apply abs_sum; [|easy]. apply abs_product; [easy|]. rewrite Rabs_left1; lra.
Qed.

(** exp2(fl(fl(a - b) c)), c ln 2 = 1 + dc: the forms `scaled_exp2`, `subtract_then_scale` and every rescale. A subnormal product
    costs 2^-150 more, which the evaluation's slack covers. *)
Theorem scaled_fits a b c uc w eps z0 : is32 a -> is32 b -> a <= b -> 0 <= eps < 1 -> 0 <= uc <= 1 / 4 -> Rabs (c * ln 2 - 1) <= uc ->
  exponential eps z0 (exp (rn (rn (a - b) * c) * ln 2)) w ->
  exists s, fits ((1 + u) * (1 + u) * (1 + uc) - 1) z0 s /\ got s = w /\ gap s = b - a /\ cost s = - ln (1 - eps) + half_least.
Proof.
  intros Fa Fb L He Hu Hc (d & z & -> & Hd & Hz & Hn & Hw). destruct (ln_cost eps d He Hd) as (P & C & C0).
  set (e := exp (rn (rn (a - b) * c) * ln 2)) in *. assert (E0 : 0 < e) by apply exp_pos.
  exists (factor_of a b e eps d z half_least).
  assert (I : ideal (factor_of a b e eps d z half_least) = e * (1 + d)).
  { unfold ideal, factor_of; cbn. replace (- (b - a) + 0 + (ln (e * (1 + d)) - (a - b))) with (ln (e * (1 + d))) by ring.
    apply exp_ln, Rmult_lt_0_compat; lra. }
  split; [|unfold got; rewrite I; cbn; auto]. assert (HL := half_least_normal).
  apply fits_rising; unfold got; rewrite ?I; cbn; auto; try lra; try (unfold u; lra); try (unfold u; nra).
  rewrite ln_mult by lra. unfold e. rewrite ln_exp.
  destruct (rounding_sum a (- b)) as (d1 & e1 & E & H1 & H2 & _); [easy|now apply generic_format_opp|].
  assert (e1 = 0) as -> by (apply abs_le in H2; lra). fold (a - b) in E.
  destruct (rounding (rn (a - b) * c)) as (d2 & e2 & E' & H3 & H4 & _). rewrite E', E.
  set (dc := c * ln 2 - 1) in *.
  assert (ln2 : 0 < ln 2 <= 1).
  { split; [rewrite <- ln_1; apply ln_increasing; lra|]. assert (X := ln_below 2). lra. }
  replace (((((a - b) * (1 + d1) + 0) * c) * (1 + d2) + e2) * ln 2 + ln (1 + d) - (a - b))
    with ((a - b) * (1 + d1) * (1 + dc) * (1 + d2) - (a - b) + (ln (1 + d) + e2 * ln 2)) by (unfold dc; ring).
  assert (S := scaled_argument (a - b) d1 d2 dc u uc). rewrite (Rabs_left1 (a - b)) in S by lra.
  replace (- (a - b)) with (b - a) in S by ring.
  apply abs_sum; [apply S; auto; unfold u; lra|]. apply abs_sum; [easy|].
  assert (X : Rabs (e2 * ln 2) <= half_least * 1) by (apply abs_product; [easy|rewrite Rabs_pos_eq; lra]).
  rewrite Rmult_1_r in X. exact X.
Qed.
