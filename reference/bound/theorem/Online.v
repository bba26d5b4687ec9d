(* Online softmax end to end: keys in any order, frames that rise by any rule, l and N reduced by two trees of their own. All that
   the trees share is each key's factors, the computed rescales, because both sums are rescaled by the same numbers. *)
From Coq Require Import Reals Psatz List Arith Permutation.
From Flashproof Require Import Units Trees Factors.
From Flashproof Require Row.
Import ListNotations.
Open Scope R_scope.

(** Both trees give every key the same factors. *)
Definition strip {K F} (p : path K F) := (key p, moves p).
(** A state in the frame f: how a tree of moves keeps its frames consistent. *)
Fixpoint in_frame {K} (start : nat -> R) (t : tree K factor) (f : R) : Prop :=
  match t with
  | Leaf j => f = start j
  | Plus s t => in_frame start s f /\ in_frame start t f
  | Times m t => in_frame start t (f - gap m)
  | Err _ t => in_frame start t f
  end.
Theorem frames_add_up {K} start (t : tree K factor) f p : in_frame start t f -> In p (paths t) ->
  sum (moves p) gap = f - start (key p).
Proof.
  revert f p. induction t as [j|s IHs t IHt|m t IH|k t IH]; cbn; intros f p Hf I.
  - destruct I as [<-|[]]. cbn. rewrite Hf. ring.
  - destruct Hf. apply in_app_or in I as [I|I]; auto.
  - apply in_map_iff in I as (q & <- & I). cbn. rewrite (IH _ q Hf I). ring.
  - apply in_map_iff in I as (q & <- & I). cbn. auto.
Qed.

Section Online.
Context {K : Type}.
Variables (above below lostl lostN : K -> R).          (* log units up and down of a kind of node; absolute errors in l, in N *)
Hypothesis above0 : forall k, 0 <= above k.
Hypothesis lostl0 : forall k, 0 <= lostl k.
Hypothesis lostN0 : forall k, 0 <= lostN k.
Variables (slope z0 : R).
Hypothesis slope0 : 0 <= slope.
Hypothesis z00 : 0 <= z0.

Variables (tl tN : tree K factor).
Notation ps := (paths tl).
Hypothesis distinct : NoDup (keys tl).
Hypothesis same_factors : Permutation (map strip (paths tN)) (map strip ps).
Hypothesis bounded_l : bounded got tl.
Hypothesis bounded_N : bounded got tN.

(* A key: exact score and its error, what made its weight (nothing where that is exactly 1), value, P as stored. *)
Variables (score serr value rho sub : nat -> R) (entry : nat -> list factor).
Variables (D own_frame stored least : nat -> R) (f kappa : R).
Definition factors (p : path K factor) := moves p ++ entry (key p).
Definition weight p := prod got (factors p).
Hypothesis fit : forall p, In p ps -> Forall (fits slope z0) (factors p).
Hypothesis moves1 : forall p s, In p ps -> In s (moves p) -> 0 <= got s <= 1.
Hypothesis reaches : forall p, In p ps -> sum (factors p) gap = f - (score (key p) + serr (key p)).
Hypothesis scores : forall p, In p ps -> Rabs (serr (key p)) <= D (key p).
Hypothesis frames : forall p, In p ps -> Rabs (sum (factors p) base - kappa) <= own_frame (key p).
Hypothesis rho_stored : forall p, In p ps -> Rabs (rho (key p)) <= exp (stored (key p)) - 1.
Hypothesis stored0 : forall j, 0 <= stored j.
Hypothesis sub_least : forall p, In p ps -> Rabs (sub (key p)) <= least (key p).

Variables (lh Nh : R).
Definition weight_in j := prod got (entry j).
Definition product_in j := (prod got (entry j) * (1 + rho j) + sub j) * value j.
Hypothesis run_l : run above below lostl got weight_in tl lh.
Hypothesis run_N : run above below lostN got product_in tN Nh.

(** * The model of the row: the README's H, Z, G, R, z of a key, from its own path *)
Definition lambda := ln (sum ps (fun p => exp (score (key p)))).
Definition share (p : path K factor) := exp (score (key p) - lambda).
Definition val (p : path K factor) := value (key p).
Definition Hj p := D (key p) + own_frame (key p) + slope * sum (factors p) (fun s => Rabs (gap s)) + sum (factors p) cost.
Definition Zj p := lost_of slope z0 (factors p).
Definition Gj (p : path K factor) := Rmax (up_units above p) (down_units below p).
Definition units_N j := sum (paths tN) (fun p => if key p =? j then up_units above p else 0).
Definition Rj (p : path K factor) := units_N (key p) + stored (key p).
(* Not e^{R_j}: what is lost was not rounded as well. *)
Definition zj (p : path K factor) := least (key p) * exp (units_N (key p)).
Definition unit := exp (lambda - f + kappa).

Lemma up0 (p : path K factor) : 0 <= up_units above p.
Proof. apply sum_ge0; intros; apply above0. Qed.
Lemma units_at p : In p (paths tN) -> up_units above p <= units_N (key p).
Proof.
  intros I. unfold units_N.
  eapply Rle_trans; [|apply (sum_one _ (fun q => if key q =? key p then up_units above q else 0) p)]; auto.
  - rewrite Nat.eqb_refl. lra.
  - intros q _. destruct (key q =? key p); [apply up0|lra].
Qed.
Lemma units_N0 j : 0 <= units_N j.
Proof. apply sum_ge0; intros q _. destruct (key q =? j); [apply up0|lra]. Qed.

Lemma keys_strip (t : tree K factor) : keys t = map fst (map strip (paths t)).
Proof. unfold keys. now rewrite map_map. Qed.
Lemma distinct_N : NoDup (keys tN).
Proof.
  rewrite keys_strip. eapply Permutation_NoDup; [apply Permutation_sym, Permutation_map, same_factors|].
  rewrite <- keys_strip. exact distinct.
Qed.
Lemma twin p : In p ps -> exists q, In q (paths tN) /\ key q = key p /\ moves q = moves p.
Proof.
  intros I. assert (J : In (strip p) (map strip (paths tN))) by (eapply Permutation_in; [apply Permutation_sym, same_factors|now apply in_map]).
  apply in_map_iff in J as (q & E & J). exists q. unfold strip in E. now inversion E.
Qed.
(** A sum that sees only keys and factors is the same over both trees. *)
Lemma over_N (F : nat * list factor -> R) : sum (paths tN) (fun p => F (strip p)) = sum ps (fun p => F (strip p)).
Proof. rewrite <- (sum_map strip), <- (sum_map strip ps). now apply sum_permutation. Qed.

Theorem sums_model : exists g r el eN, Rabs el <= absolute above lostl tl /\ Rabs eN <= absolute above lostN tN /\
  (forall p, In p ps -> exp (- Gj p) <= g (key p) <= exp (Gj p)) /\
  (forall p, In p ps -> Rabs (r (key p) - 1) <= exp (units_N (key p)) - 1 /\ 0 <= r (key p)) /\
  lh = sum ps (fun p => weight p * g (key p)) + el /\
  Nh = sum ps (fun p => (weight p * ((1 + rho (key p)) * r (key p)) + sub (key p) * prod got (moves p) * r (key p)) * val p) + eN.
Proof.
  destruct (tree_model above below lostl got weight_in above0 tl lh distinct bounded_l run_l) as (g & el & Hg & Hel & El).
  destruct (tree_model above below lostN got product_in above0 tN Nh distinct_N bounded_N run_N) as (r & eN & Hr & HeN & EN).
  exists g, r, el, eN. split; [easy|]. split; [easy|]. split; [|split; [|split]].
  - intros p I. destruct (Hg p I) as [U L]. apply abs_le in U. unfold Gj.
    assert (M1 := Rmax_l (up_units above p) (down_units below p)). assert (M2 := Rmax_r (up_units above p) (down_units below p)).
    split; [eapply Rle_trans; [|exact L]; apply exp_mono; lra|].
    apply Rle_trans with (exp (up_units above p)); [lra|now apply exp_mono].
  - intros p I. destruct (twin p I) as (q & J & Ek & _). destruct (Hr q J) as [U L]. rewrite Ek in *.
    assert (X := units_at q J). rewrite Ek in X. apply exp_mono in X. split; [lra|].
    eapply Rle_trans; [|exact L]. apply exp_ge0.
  - rewrite El. f_equal. apply sum_ext; intros p _. unfold weight, factors, weight_in. rewrite prod_app. ring.
  - rewrite EN. f_equal.
    assert (X := over_N (fun a => product_in (fst a) * prod got (snd a) * r (fst a))). cbn in X. rewrite X.
    apply sum_ext; intros p _. unfold strip, product_in, weight, factors, val; cbn [fst snd].
    rewrite prod_app. ring.
Qed.

(** Weights: e^{s - f + kappa + eta} + zeta. *)
Definition etaj p := serr (key p) + sum (factors p) base - kappa + sum (factors p) own.
Definition zetaj p := weight p - exp (score (key p) - f + kappa + etaj p).
Theorem weights_model p : In p ps -> Rabs (etaj p) <= Hj p /\ Rabs (zetaj p) <= Zj p /\ 0 <= weight p.
Proof.
  intros I. assert (F := fit p I). repeat split.
  - unfold etaj, Hj. assert (T := telescoping slope z0 _ F).
    replace (serr (key p) + sum (factors p) base - kappa + sum (factors p) own)
      with (serr (key p) + (sum (factors p) base - kappa) + sum (factors p) own) by ring.
    assert (S := scores p I). assert (B := frames p I). eapply Rle_trans; [apply abs_sum; [apply abs_sum; eassumption|exact T]|lra].
  - unfold zetaj. replace (exp _) with (prod ideal (factors p)); [now apply lost_holds|].
    rewrite ideal_prod, (reaches p I). unfold etaj. f_equal; ring.
  - now apply (got_below slope z0).
Qed.

Lemma exponentials_pos : 0 < sum ps (fun p => exp (score (key p))).
Proof. apply sum_pos; [apply paths_some|]. intros; apply exp_pos. Qed.
Lemma share_pos (p : path K factor) : 0 <= share p. Proof. apply exp_ge0. Qed.
Lemma shares_one : sum ps share = 1.
Proof.
  unfold share. rewrite (sum_ext _ _ (fun p => exp (score (key p)) * exp (- lambda))) by (intros; now rewrite <- exp_plus).
  rewrite sum_times_r. unfold lambda. rewrite exp_Ropp, exp_ln by apply exponentials_pos. apply Rinv_r.
  assert (X := exponentials_pos). lra.
Qed.
Lemma weight_share p : weight p = unit * (share p * exp (etaj p)) + zetaj p.
Proof.
  unfold zetaj, unit, share. rewrite <- !exp_plus.
  replace (lambda - f + kappa + (score (key p) - lambda + etaj p)) with (score (key p) - f + kappa + etaj p) by ring. ring.
Qed.

(** * The bound *)
Variables (U Wmax T Eo t tau oh : R) (top : path K factor).
Hypothesis U0 : 0 < U.
Hypothesis U_unit : U <= unit.
Notation low := (Row.low ps share Hj Zj U).
Hypothesis low0 : 0 < low.
Hypothesis top_in : In top ps.
Hypothesis top_weight : Wmax <= weight top.
Definition W := Rmax Wmax (low * U).
Hypothesis o_model : oh = Nh / lh * exp t + tau.
Hypothesis t_T : Rabs t <= T.
Hypothesis tau_E : Rabs tau <= Eo.

Definition out := sum ps (fun p => share p * val p).
Definition El := absolute above lostl tl.
Definition EN := absolute above lostN tN.

Lemma W_pos : 0 < W.
Proof. apply Rlt_le_trans with (low * U); [now apply Rmult_lt_0_compat|apply Rmax_r]. Qed.
Lemma W_below : W <= sum ps weight.
Proof.
  unfold W. apply Rmax_lub.
  - eapply Rle_trans; [exact top_weight|]. apply sum_one; [intros; now apply weights_model|easy].
  - apply (Row.low_unit ps share Hj Zj U unit etaj zetaj weight); auto using share_pos, weight_share;
      intros; now apply weights_model.
Qed.
Lemma G_pos p : 0 <= Gj p.
Proof. eapply Rle_trans; [apply up0|apply Rmax_l]. Qed.
Lemma R_pos p : 0 <= Rj p.
Proof. unfold Rj. assert (A := units_N0 (key p)). assert (B := stored0 (key p)). lra. Qed.

Theorem online_bound : Row.shrink ps share Hj Zj Gj U W El < 1 ->
  Rabs (oh - out) <= Row.bound ps share val Hj Zj Gj Rj zj U W El EN T Eo.
Proof.
  intros HG. destruct sums_model as (g & r & el & eN & Hel & HeN & Hg & Hr & Elh & ENh).
  apply (Row.row_bound ps share val Hj Zj Gj Rj zj U W El EN T Eo unit etaj zetaj weight
    (fun p => g (key p) - 1) (fun p => (1 + rho (key p)) * r (key p) - 1)
    (fun p => sub (key p) * prod got (moves p) * r (key p)) el eN t tau lh Nh oh);
    auto using share_pos, shares_one, weight_share, W_pos, W_below, G_pos, R_pos; try (intros; now apply weights_model).
  - rewrite Elh. f_equal. apply sum_ext; intros; ring.
  - rewrite ENh. f_equal. apply sum_ext; intros; ring.
  - intros p I. replace (1 + (g (key p) - 1)) with (g (key p)) by ring. auto.
  - intros p I. destruct (Hr p I) as [Ur L]. unfold Rj. rewrite exp_plus. assert (S := rho_stored p I).
    replace ((1 + rho (key p)) * r (key p) - 1) with ((r (key p) - 1) * (1 + rho (key p)) + rho (key p)) by ring.
    assert (X : Rabs (1 + rho (key p)) <= exp (stored (key p))) by (apply abs_le in S; apply Rabs_le; lra).
    eapply Rle_trans; [apply abs_sum; [apply abs_product; eassumption|exact S]|lra].
  - intros p I. destruct (Hr p I) as [Ur L]. unfold zj. apply abs_le in Ur. apply abs_product.
    + replace (least (key p)) with (least (key p) * 1) by ring. apply abs_product; auto.
      assert (M := prod_unit got (moves p) (fun s Is => moves1 p s I Is)). apply Rabs_le; lra.
    + rewrite Rabs_pos_eq by easy. lra.
Qed.

Theorem online_lse : Row.shrink ps share Hj Zj Gj U W El < 1 ->
  Rabs (f + ln lh - (lambda + kappa)) <= Row.lse_part ps share Hj Zj Gj U W El.
Proof.
  intros HG. destruct sums_model as (g & r & el & eN & Hel & HeN & Hg & Hr & Elh & ENh).
  replace (f + ln lh - (lambda + kappa)) with (ln lh - ln unit) by (unfold unit; rewrite ln_exp; ring).
  apply (Row.lse_holds ps share Hj Zj Gj U W El unit etaj zetaj weight (fun p => g (key p) - 1) el lh);
    auto using share_pos, shares_one, weight_share, W_pos, W_below, G_pos; try (intros; now apply weights_model).
  - rewrite Elh. f_equal. apply sum_ext; intros; ring.
  - intros p I. replace (1 + (g (key p) - 1)) with (g (key p)) by ring. auto.
Qed.
End Online.
