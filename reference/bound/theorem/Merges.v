(* merge/README.md, "Trees": states (o, lse) joined two at a time. A node reads the computed lse of its sides a, b and gives them the weights
   e^{a + ea - top}, e^{b + eb - top}; its own lse is top + rho. What `top` is makes the form:
   stable     e^top = e^{a+ea} + e^{b+eb}: the error of e^{-|a-b|} on one side, the two weights sum to 1
   one_sided  e^top = e^a + e^b: every weight has an exponential of its own
   running    top is the computed lse itself, rho = 0 *)
From Coq Require Import Reals Psatz List Arith.
From Flashproof Require Import Units.
From Flashproof Require Row.
Import ListNotations.
Open Scope R_scope.

Inductive merge := State (lam ov : R) | Join (top rho ea eb : R) (s t : merge).
Definition lse m := match m with State l _ => l | Join top rho _ _ _ _ => top + rho end.
Definition top m := match m with State l _ => l | Join top _ _ _ _ _ => top end.
Definition rho m := match m with State _ _ => 0 | Join _ rho _ _ _ _ => rho end.
Lemma lse_top m : lse m = top m + rho m. Proof. destruct m; cbn; lra. Qed.

(** A state at the root: what its lse has been moved by on its way, and its computed weight. *)
Record leaf := { lam : R; ov : R; moved : R; weight : R }.
Definition under e w p := {| lam := lam p; ov := ov p; moved := e + moved p; weight := w * weight p |}.
Fixpoint leaves m : list leaf :=
  match m with
  | State l o => [ {| lam := l; ov := o; moved := 0; weight := 1 |} ]
  | Join tp _ ea eb s t =>
      map (under (rho s + ea) (exp (lse s + ea - tp))) (leaves s) ++ map (under (rho t + eb) (exp (lse t + eb - tp))) (leaves t)
  end.
Lemma leaves_some m : leaves m <> [].
Proof.
  induction m as [l o|tp r ea eb s IHs t IHt]; cbn; [easy|]. intros E. apply app_eq_nil in E as [E _]. now apply map_eq_nil in E.
Qed.

(** The weight of state c is exp(lam_c + the errors of the exponentials on its way + the rho of every node but the root - top). *)
Theorem telescoped m p : In p (leaves m) -> weight p = exp (lam p + moved p - top m).
Proof.
  revert p; induction m as [l o|tp r ea eb s IHs t IHt]; intros p I.
  - destruct I as [<-|[]]; cbn. replace (l + 0 - l) with 0 by ring. now rewrite exp_0.
  - cbn [leaves] in I. apply in_app_or in I as [I|I]; apply in_map_iff in I as (q & <- & I); unfold under; cbn [weight lam moved top].
    + rewrite (IHs q I), lse_top, <- exp_plus. f_equal; ring.
    + rewrite (IHt q I), lse_top, <- exp_plus. f_equal; ring.
Qed.

(** * Exact states *)
Definition total m := sum (leaves m) (fun p => exp (lam p)).
Definition share m p := exp (lam p) / total m.
Definition exact_lse m := ln (total m).
Definition exact_o m := sum (leaves m) (fun p => share m p * ov p).
Lemma total_pos m : 0 < total m.
Proof. apply sum_pos; [apply leaves_some|]. intros; apply exp_pos. Qed.
Lemma shares m : sum (leaves m) (share m) = 1.
Proof. assert (P := total_pos m). unfold share, Rdiv. rewrite sum_times_r. fold (total m). apply Rinv_r; lra. Qed.
Lemma share_pos m p : 0 <= share m p.
Proof. apply over_ge0; [apply exp_ge0|apply total_pos]. Qed.
Lemma weight_share m p : In p (leaves m) -> weight p = total m * exp (- top m) * (share m p * exp (moved p)) + 0.
Proof.
  intros I. rewrite (telescoped m p I). unfold share, Rminus. rewrite 2 exp_plus. field. assert (P := total_pos m). lra.
Qed.

(** Bounds per node: R of rho, H of what the exponentials add. *)
Fixpoint within (R H : R) m : Prop :=
  match m with State _ _ => True
  | Join _ r ea eb s t => Rabs r <= R /\ Rabs ea <= H /\ Rabs eb <= H /\ within R H s /\ within R H t end.
Fixpoint depth m : nat := match m with State _ _ => 0 | Join _ _ _ _ s t => S (max (depth s) (depth t)) end.
(** Every node but the root costs R: the root's rho is free. *)
Theorem moved_bound R H m p : 0 <= R -> 0 <= H -> within R H m -> In p (leaves m) ->
  Rabs (moved p) <= R * INR (pred (depth m)) + H * INR (depth m).
Proof.
  intros R0 H0. revert p.
  assert (X : forall m, within R H m -> Rabs (rho m) <= R * (INR (depth m) - INR (pred (depth m)))).
  { intros [l o|tp r ea eb s t]; cbn [rho depth pred within]; [intros _; rewrite Rabs_R0; lra|]. intros (Hr & _). rewrite S_INR. lra. }
  induction m as [l o|tp r ea eb s IHs t IHt]; intros p Hw I; [destruct I as [<-|[]]; cbn; rewrite Rabs_R0; lra|].
  destruct Hw as (_ & Ta & Tb & Hs & Ht). cbn [leaves depth pred] in *. rewrite S_INR.
  assert (M1 : INR (depth s) <= INR (max (depth s) (depth t))) by (apply le_INR; lia).
  assert (M2 : INR (depth t) <= INR (max (depth s) (depth t))) by (apply le_INR; lia).
  apply in_app_or in I as [I|I]; apply in_map_iff in I as (q & <- & I); unfold under; cbn [moved]; (eapply Rle_trans; [apply Rabs_triang|]).
  - assert (P := IHs q Hs I). assert (Q := X s Hs). assert (T := Rabs_triang (rho s) ea). nra.
  - assert (P := IHt q Ht I). assert (Q := X t Ht). assert (T := Rabs_triang (rho t) eb). nra.
Qed.

(** * The merged output: a mean over the weights, by the theorem of section 3 *)
Section Output.
Variables (m : merge) (h : R).
Hypothesis h_moved : forall p, In p (leaves m) -> Rabs (moved p) <= h.
Notation o := (exact_o m).
Definition weighted := sum (leaves m) (fun p => weight p * ov p).
Definition weights_total := sum (leaves m) weight.
Definition spread := Rmin ((exp h - 1) * exp h * sum (leaves m) (fun p => share m p * Rabs (ov p - o)))
                          (most (leaves m) (fun p => Rabs (ov p - o))).

Lemma c_pos : 0 < total m * exp (- top m).
Proof. apply Rmult_lt_0_compat; [apply total_pos|apply exp_pos]. Qed.
Theorem merged_mean : Rabs (weighted / weights_total - o) <= spread.
Proof.
  set (c := total m * exp (- top m)). assert (C := c_pos).
  assert (L : Row.low (leaves m) (share m) (fun _ => h) (fun _ => 0) c = exp (- h)).
  { unfold Row.low, Row.least. transitivity (sum (leaves m) (share m) * exp (- h)); [|rewrite shares; ring].
    rewrite <- sum_times_r. apply sum_ext; intros p _. unfold Rdiv. rewrite Rmult_0_l, Rminus_0_r.
    apply Rmax_right, Rmult_le_pos; [apply share_pos|apply exp_ge0]. }
  assert (W0 : 0 < weights_total).
  { apply sum_pos; [apply leaves_some|]. intros p I. rewrite (telescoped m p I). apply exp_pos. }
  eapply Rle_trans; [apply (Row.weights_hold (leaves m) (share m) ov (fun _ => h) (fun _ => 0) c weights_total c moved (fun _ => 0) weight)|].
  - intros; apply share_pos.
  - apply shares.
  - exact C.
  - lra.
  - intros p I. now apply weight_share.
  - intros p I. rewrite (telescoped m p I). apply exp_ge0.
  - exact h_moved.
  - intros; rewrite Rabs_R0; lra.
  - exact W0.
  - apply Rle_refl.
  - rewrite L. apply exp_pos.
  - unfold Row.weights_part. rewrite L. apply Rle_min_compat_r. unfold Rdiv. rewrite exp_Ropp, Rinv_inv.
    change (Row.exact (leaves m) (share m) ov) with o.
    rewrite (sum_ext _ _ (fun p => (exp h - 1) * (share m p * Rabs (ov p - o)))).
    + rewrite sum_times. right; ring.
    + intros p _. unfold Row.moved, Rdiv. ring.
Qed.

(** Weights that nothing divides and that sum to e^x, |x| <= dev: the deviation multiplies o. *)
Theorem undivided dev : exp (- dev) <= weights_total <= exp dev ->
  Rabs (weighted - o) <= spread + (exp dev - 1) * (Rabs o + spread).
Proof.
  intros Hd. assert (M := merged_mean). set (x := weighted / weights_total) in *.
  assert (W0 : 0 < weights_total) by (eapply Rlt_le_trans; [apply exp_pos|apply Hd]).
  replace (weighted - o) with ((x - o) + (weights_total - 1) * x) by (unfold x; field; lra).
  apply abs_sum; [easy|]. apply abs_product.
  - assert (A := exp_ineq1_le dev). assert (B := exp_ineq1_le (- dev)). apply Rabs_le; lra.
  - replace x with (o + (x - o)) by ring. now apply abs_sum; [right|].
Qed.

(** running: |top - lambda| <= delta multiplies everything, and |o_c| takes the place of |o_c - o|. *)
Theorem running_output delta : Rabs (top m - exact_lse m) <= delta ->
  Rabs (weighted - o) <= (exp (h + delta) - 1) * sum (leaves m) (fun p => share m p * Rabs (ov p)).
Proof.
  intros Hd. unfold weighted, exact_o. rewrite <- sum_minus, <- sum_times. eapply Rle_trans; [apply sum_abs|].
  apply sum_le; intros p I. rewrite (telescoped m p I).
  replace (exp (lam p + moved p - top m)) with (share m p * exp (moved p - (top m - exact_lse m))).
  2:{ unfold share, exact_lse, Rdiv. rewrite <- (exp_ln (total m)) at 1 by apply total_pos.
      rewrite <- exp_Ropp, <- 2 exp_plus. f_equal; ring. }
  replace (share m p * exp (moved p - (top m - exact_lse m)) * ov p - share m p * ov p)
    with ((exp (moved p - (top m - exact_lse m)) - 1) * (share m p * ov p)) by ring.
  apply abs_product.
  - apply units_both_ways. assert (X := h_moved p I). apply abs_le in X, Hd. apply Rabs_le; lra.
  - rewrite Rabs_mult, (Rabs_pos_eq (share m p)) by apply share_pos. lra.
Qed.
End Output.

(** * What the weights of a form sum to *)
Fixpoint stable m : Prop :=
  match m with State _ _ => True
  | Join tp _ ea eb s t => exp tp = exp (lse s + ea) + exp (lse t + eb) /\ stable s /\ stable t end.
(** Totals: exactly 1, without a division. *)
Theorem stable_total m : stable m -> weights_total m = 1.
Proof.
  unfold weights_total. induction m as [l o|tp r ea eb s IHs t IHt]; intros St; [cbn; ring|].
  destruct St as (Et & Ss & St). cbn [leaves]. rewrite sum_app, 2 sum_map. unfold under; cbn [weight].
  rewrite 2 sum_times, IHs, IHt, 2 Rmult_1_r by easy. unfold Rminus. rewrite 2 (exp_plus _ (- tp)), <- Rmult_plus_distr_r, <- Et, <- exp_plus.
  now rewrite Rplus_opp_r, exp_0.
Qed.
Theorem stable_output m h : stable m -> (forall p, In p (leaves m) -> Rabs (moved p) <= h) ->
  Rabs (weighted m - exact_o m) <= spread m h.
Proof.
  intros St Hm. assert (M := merged_mean m h Hm). rewrite (stable_total m St) in M.
  replace (weighted m / 1) with (weighted m) in M by field. exact M.
Qed.

(** one_sided: with shares a, b of the two sides and errors xa, xb, a node's two weights sum to at most 1 + a (e^xa - 1) + b (e^xb - 1),
    and downwards to no less than its reciprocal. *)
Theorem one_sided_node a b ea eb xa xb : 0 <= a -> 0 <= b -> a + b = 1 -> Rabs ea <= xa -> Rabs eb <= xb ->
  let y := ln (1 + a * (exp xa - 1) + b * (exp xb - 1)) in exp (- y) <= a * exp ea + b * exp eb <= exp y.
Proof.
  intros Ha Hb Hab H1 H2 y. apply abs_le in H1, H2.
  assert (A : 1 <= exp xa) by (apply exp_ge1; lra). assert (B : 1 <= exp xb) by (apply exp_ge1; lra).
  set (s := 1 + a * (exp xa - 1) + b * (exp xb - 1)) in *.
  assert (Es : s = a * exp xa + b * exp xb) by (unfold s; replace 1 with (a + b) at 1 by easy; ring).
  assert (s1 : 1 <= s) by (unfold s; nra).
  unfold y. rewrite exp_Ropp, exp_ln by lra. split.
  - apply Rle_trans with (a * exp (- xa) + b * exp (- xb)).
    + apply Rmult_le_reg_r with s; [lra|]. rewrite Rinv_l by lra. rewrite Es.
      assert (P1 : exp (- xa) * exp xa = 1) by (rewrite <- exp_plus, Rplus_opp_l, exp_0; easy).
      assert (P2 : exp (- xb) * exp xb = 1) by (rewrite <- exp_plus, Rplus_opp_l, exp_0; easy).
      set (A1 := exp (- xa)) in *. set (B1 := exp (- xb)) in *. set (A2 := exp xa) in *. set (B2 := exp xb) in *.
      assert (Q1 : 0 <= A1) by apply exp_ge0. assert (Q2 : 0 <= B1) by apply exp_ge0.
      (* Cauchy-Schwarz: A1 B2 + B1 A2 >= 2 since their product is 1 *)
      assert (C : 2 <= A1 * B2 + B1 * A2).
      { assert (E : (A1 * B2) * (B1 * A2) = 1) by (replace ((A1 * B2) * (B1 * A2)) with ((A1 * A2) * (B1 * B2)) by ring; rewrite P1, P2; ring).
        assert (0 <= A1 * B2) by (apply Rmult_le_pos; lra). assert (0 <= B1 * A2) by (apply Rmult_le_pos; lra).
        assert (S := Rle_0_sqr (A1 * B2 - B1 * A2)). unfold Rsqr in S. nra. }
      replace ((a * A1 + b * B1) * (a * A2 + b * B2)) with (a * a * (A1 * A2) + b * b * (B1 * B2) + a * b * (A1 * B2 + B1 * A2)) by ring.
      rewrite P1, P2. assert (0 <= a * b) by now apply Rmult_le_pos.
      assert (E1 : (a + b) * (a + b) = 1) by (rewrite Hab; ring). nra.
    + apply Rplus_le_compat; apply Rmult_le_compat_l; auto; apply exp_mono; lra.
  - rewrite Es. apply Rplus_le_compat; apply Rmult_le_compat_l; auto; apply exp_mono; lra.
Qed.
Fixpoint deviation m : R :=
  match m with State _ _ => 0
  | Join tp _ ea eb s t => Rmax (deviation s) (deviation t) + Rabs (ln (exp (lse s + ea - tp) + exp (lse t + eb - tp))) end.
Theorem one_sided_total m : exp (- deviation m) <= weights_total m <= exp (deviation m).
Proof.
  unfold weights_total. induction m as [l o|tp r ea eb s IHs t IHt]; [cbn; rewrite Ropp_0, exp_0; lra|].
  cbn [leaves deviation]. rewrite sum_app, 2 sum_map. unfold under; cbn [weight]. rewrite 2 sum_times.
  set (x := exp (lse s + ea - tp)). set (y := exp (lse t + eb - tp)).
  set (D := Rmax (deviation s) (deviation t)). set (E := Rabs (ln (x + y))).
  assert (x0 : 0 < x) by apply exp_pos. assert (y0 : 0 < y) by apply exp_pos.
  assert (Ds : deviation s <= D) by apply Rmax_l. assert (Dt : deviation t <= D) by apply Rmax_r.
  assert (S : exp (- D) <= sum (leaves s) weight <= exp D).
  { split; [eapply Rle_trans; [|apply IHs]; apply exp_mono; lra|eapply Rle_trans; [apply IHs|now apply exp_mono]]. }
  assert (T : exp (- D) <= sum (leaves t) weight <= exp D).
  { split; [eapply Rle_trans; [|apply IHt]; apply exp_mono; lra|eapply Rle_trans; [apply IHt|now apply exp_mono]]. }
  assert (XY : exp (- E) <= x + y <= exp E).
  { assert (L := Rle_refl E). unfold E at 1 in L. apply abs_le in L. rewrite <- (exp_ln (x + y)) by lra. split; apply exp_mono; lra. }
  replace (- (D + E)) with (- D + - E) by ring. rewrite 2 exp_plus.
  assert (P1 := exp_pos (- D)). assert (P2 := exp_pos (- E)). assert (P3 := exp_pos D). split.
  - apply Rle_trans with (exp (- D) * (x + y)); [apply Rmult_le_compat_l; lra|]. nra.
  - apply Rle_trans with (exp D * (x + y)); [nra|apply Rmult_le_compat_l; lra].
Qed.

(** * lse: log-sum-exp moves by no more than its arguments; every node's own error, the root's too, is paid once. *)
Fixpoint reads (R : R) m : Prop :=
  match m with State _ _ => True
  | Join tp r _ _ s t => Rabs (tp + r - ln (exp (lse s) + exp (lse t))) <= R /\ reads R s /\ reads R t end.
Lemma lipschitz a b x y d : Rabs (a - x) <= d -> Rabs (b - y) <= d -> Rabs (ln (exp a + exp b) - ln (exp x + exp y)) <= d.
Proof.
  intros H1 H2. apply abs_le in H1, H2.
  assert (P := exp_pos a). assert (P' := exp_pos b). assert (Q := exp_pos x). assert (Q' := exp_pos y).
  assert (U : forall a b x y, a <= x + d -> b <= y + d -> ln (exp a + exp b) <= ln (exp x + exp y) + d).
  { intros a' b' x' y' A B. rewrite <- (ln_exp d).
    assert (exp a' <= exp x' * exp d) by (rewrite <- exp_plus; now apply exp_mono).
    assert (exp b' <= exp y' * exp d) by (rewrite <- exp_plus; now apply exp_mono).
    assert (X1 := exp_pos x'). assert (X2 := exp_pos y'). assert (X3 := exp_pos a'). assert (X4 := exp_pos b').
    rewrite <- ln_mult; [|lra|apply exp_pos]. apply ln_mono; lra. }
  assert (U1 := U a b x y). assert (U2 := U x y a b). apply Rabs_le; split; [apply Rplus_le_reg_r with (ln (exp x + exp y)); specialize (U2 ltac:(lra) ltac:(lra)); lra|specialize (U1 ltac:(lra) ltac:(lra)); lra].
Qed.
Theorem merged_lse R m : 0 <= R -> reads R m -> Rabs (lse m - exact_lse m) <= R * INR (depth m).
Proof.
  intros R0. induction m as [l o|tp r ea eb s IHs t IHt]; intros Hr.
  - unfold exact_lse, total; cbn. rewrite Rplus_0_r, ln_exp, Rminus_diag_eq, Rabs_R0 by easy. lra.
  - destruct Hr as (Hn & Hs & Ht). specialize (IHs Hs). specialize (IHt Ht). cbn [depth]. rewrite S_INR.
    assert (E : exact_lse (Join tp r ea eb s t) = ln (exp (exact_lse s) + exp (exact_lse t))).
    { unfold exact_lse at 1, total. cbn [leaves]. rewrite sum_app, 2 sum_map. unfold under; cbn [lam].
      unfold exact_lse. now rewrite 2 exp_ln by apply total_pos. }
    rewrite E. cbn [lse].
    assert (M1 : INR (depth s) <= INR (max (depth s) (depth t))) by (apply le_INR; lia).
    assert (M2 : INR (depth t) <= INR (max (depth s) (depth t))) by (apply le_INR; lia).
    set (n := INR (max (depth s) (depth t))) in *.
    assert (L : Rabs (ln (exp (lse s) + exp (lse t)) - ln (exp (exact_lse s) + exp (exact_lse t))) <= R * n).
    { apply lipschitz; [eapply Rle_trans; [exact IHs|]|eapply Rle_trans; [exact IHt|]]; now apply Rmult_le_compat_l. }
    replace (tp + r - ln (exp (exact_lse s) + exp (exact_lse t)))
      with ((tp + r - ln (exp (lse s) + exp (lse t))) + (ln (exp (lse s) + exp (lse t)) - ln (exp (exact_lse s) + exp (exact_lse t)))) by ring.
    eapply Rle_trans; [apply abs_sum; [exact Hn|exact L]|lra].
Qed.
