(* Sums and rescales in any order. A reduction is a tree: leaves are keys, Plus and Times are exact, and an Err node marks every
   place where a computed result departs from the exact one. A rounded sum is Err (Plus s t), a rounded rescale
   Err (Times f t), a step of a matrix unit Plus over addends that each have an Err of their own (Units of steps, below). *)
From Coq Require Import Reals Psatz List Arith Permutation.
From Flashproof Require Import Units.
Import ListNotations.
Open Scope R_scope.

Inductive tree (K F : Type) := Leaf (j : nat) | Plus (s t : tree K F) | Times (f : F) (t : tree K F) | Err (k : K) (t : tree K F).
Arguments Leaf {K F}. Arguments Plus {K F}. Arguments Times {K F}. Arguments Err {K F}.

(** What a key meets on its way to the root, the root's first: factors, and kinds of errors. *)
Record path (K F : Type) := { key : nat; moves : list F; errs : list K }.
Arguments key {K F}. Arguments moves {K F}. Arguments errs {K F}.

Section Shape.
Context {K F : Type}.
Implicit Types t : tree K F.

Fixpoint paths t : list (path K F) :=
  match t with
  | Leaf j => [ {| key := j; moves := []; errs := [] |} ]
  | Plus s t => paths s ++ paths t
  | Times f t => map (fun p => {| key := key p; moves := f :: moves p; errs := errs p |}) (paths t)
  | Err k t => map (fun p => {| key := key p; moves := moves p; errs := k :: errs p |}) (paths t)
  end.
Definition keys t := map key (paths t).
(** Err nodes of the whole tree. *)
Fixpoint nodes t : list K :=
  match t with Leaf _ => [] | Plus s t => nodes s ++ nodes t | Times _ t => nodes t | Err k t => k :: nodes t end.

Lemma keys_plus s t : keys (Plus s t) = keys s ++ keys t.
Proof. unfold keys; cbn. apply map_app. Qed.
Lemma keys_times f t : keys (Times f t) = keys t.
Proof. unfold keys; cbn. now rewrite map_map. Qed.
Lemma keys_err k t : keys (Err k t) = keys t.
Proof. unfold keys; cbn. now rewrite map_map. Qed.
Lemma paths_some t : paths t <> [].
Proof.
  induction t as [j|s IHs t IHt|f t IH|k t IH]; cbn; [easy| | |].
  - intros E. now apply app_eq_nil in E as [E _].
  - intros E. now apply map_eq_nil in E.
  - intros E. now apply map_eq_nil in E.
Qed.
End Shape.

Fixpoint prod {F} (val : F -> R) (l : list F) : R := match l with [] => 1 | f :: l => val f * prod val l end.
Lemma prod_app {F} (val : F -> R) a b : prod val (a ++ b) = prod val a * prod val b.
Proof. induction a as [|x a IH]; cbn; [ring|]. rewrite IH; ring. Qed.
Lemma prod_unit {F} (val : F -> R) l : (forall f, In f l -> 0 <= val f <= 1) -> 0 <= prod val l <= 1.
Proof.
  induction l as [|f l IH]; cbn; intros H; [lra|]. assert (X : 0 <= prod val l <= 1) by auto.
  assert (Y : 0 <= val f <= 1) by auto. split; [apply Rmult_le_pos; lra|nra].
Qed.

Section Run.
Context {K F : Type}.
Variables (above below lost : K -> R) (val : F -> R) (x : nat -> R).
Hypothesis above0 : forall k, 0 <= above k.
Hypothesis lost0 : forall k, 0 <= lost k.

(** One result: relative, at most `above` units up and `below` down, and absolute. *)
Definition slip k y z := exists d e,
  z = y * (1 + d) + e /\ Rabs d <= exp (above k) - 1 /\ exp (- below k) <= 1 + d /\ Rabs e <= lost k.
Inductive run : tree K F -> R -> Prop :=
| run_leaf j : run (Leaf j) (x j)
| run_plus s t y z : run s y -> run t z -> run (Plus s t) (y + z)
| run_times f t y : run t y -> run (Times f t) (val f * y)
| run_err k t y z : run t y -> slip k y z -> run (Err k t) z.

(** Absolute errors, as later nodes let them grow. *)
Fixpoint absolute (t : tree K F) : R :=
  match t with
  | Leaf _ => 0
  | Plus s t => absolute s + absolute t
  | Times _ t => absolute t
  | Err k t => absolute t * exp (above k) + lost k
  end.
Fixpoint longest (t : tree K F) : R :=
  match t with
  | Leaf _ => 0
  | Plus s t => Rmax (longest s) (longest t)
  | Times _ t => longest t
  | Err k t => longest t + above k
  end.
Lemma absolute0 t : 0 <= absolute t.
Proof.
  induction t as [j|s IHs t IHt|f t IH|k t IH]; cbn; try lra.
  specialize (lost0 k). assert (0 <= absolute t * exp (above k)) by (apply Rmult_le_pos; [easy|apply exp_ge0]). lra.
Qed.
Lemma longest0 t : 0 <= longest t.
Proof.
  induction t as [j|s IHs t IHt|f t IH|k t IH]; cbn; try lra.
  - eapply Rle_trans; [exact IHs|apply Rmax_l].
  - specialize (above0 k). lra.
Qed.
(** ... at most e^{longest path} times their sum. *)
Theorem absolute_longest t : absolute t <= sum (nodes t) lost * exp (longest t).
Proof.
  induction t as [j|s IHs t IHt|f t IH|k t IH]; cbn; [lra| |easy|].
  - rewrite sum_app, Rmult_plus_distr_r.
    assert (forall u : tree K F, 0 <= sum (nodes u) lost) by (intros; apply sum_ge0; auto).
    assert (X : forall y, y <= Rmax (longest s) (longest t) -> exp y <= exp (Rmax (longest s) (longest t))) by (intros; now apply exp_mono).
    apply Rplus_le_compat; (eapply Rle_trans; [eassumption|]; apply Rmult_le_compat_l; [easy|apply X]); [apply Rmax_l|apply Rmax_r].
  - rewrite exp_plus, Rmult_plus_distr_r. specialize (lost0 k).
    assert (1 <= exp (longest t) * exp (above k)).
    { rewrite <- exp_plus. apply exp_ge1. assert (A := longest0 t). specialize (above0 k). lra. }
    assert (absolute t * exp (above k) <= sum (nodes t) lost * exp (longest t) * exp (above k)).
    { apply Rmult_le_compat_r; [apply exp_ge0|easy]. }
    nra.
Qed.

Fixpoint bounded (t : tree K F) : Prop :=
  match t with Leaf _ => True | Plus s t => bounded s /\ bounded t | Times f t => Rabs (val f) <= 1 /\ bounded t | Err _ t => bounded t end.

Definition up_units (p : path K F) := sum (errs p) above.
Definition down_units (p : path K F) := sum (errs p) below.
Definition within (g : nat -> R) (p : path K F) :=
  Rabs (g (key p) - 1) <= exp (up_units p) - 1 /\ exp (- down_units p) <= g (key p).

Lemma product_of_slips g d G D a b : Rabs (g - 1) <= exp G - 1 -> exp (- D) <= g -> 0 <= a -> 0 <= G ->
  Rabs d <= exp a - 1 -> exp (- b) <= 1 + d -> Rabs (g * (1 + d) - 1) <= exp (a + G) - 1 /\ exp (- (b + D)) <= g * (1 + d).
Proof.
  intros Hg Hl Ha HG Hd Hb. split.
  - replace (g * (1 + d) - 1) with ((g - 1) * (1 + d) + d) by ring. rewrite exp_plus.
    assert (E : Rabs (1 + d) <= exp a) by (apply abs_le in Hd; apply Rabs_le; lra).
    assert (P := abs_product _ _ _ _ Hg E). eapply Rle_trans; [apply abs_sum; [exact P|exact Hd]|lra].
  - replace (- (b + D)) with (- D + - b) by ring. rewrite exp_plus.
    apply Rmult_le_compat; auto using exp_ge0.
Qed.

Definition has (j : nat) (l : list nat) := existsb (Nat.eqb j) l.
Lemma has_in j l : has j l = true <-> In j l.
Proof.
  unfold has. rewrite existsb_exists. split.
  - intros (i & I & E). apply Nat.eqb_eq in E. now subst.
  - intros I. exists j. split; [easy|apply Nat.eqb_refl].
Qed.
Lemma has_not j l : ~ In j l -> has j l = false.
Proof. intros N. destruct (has j l) eqn:E; [|easy]. now apply has_in in E. Qed.

Lemma in_keys (t : tree K F) p : In p (paths t) -> In (key p) (keys t).
Proof. intros. now apply in_map. Qed.

Lemma no_dup_app (a b : list nat) : NoDup (a ++ b) -> NoDup a /\ NoDup b /\ forall j, In j a -> ~ In j b.
Proof.
  induction a as [|i a IH]; cbn; intros N; [repeat split; auto; constructor|].
  inversion N as [|i' l Ni Nl]; subst. destruct (IH Nl) as (Na & Nb & D). repeat split; auto.
  - constructor; [|easy]. intros I; apply Ni, in_or_app; now left.
  - intros j [->|I]; [|now apply D]. intros J; apply Ni, in_or_app; now right.
Qed.

(** Every sum and rescale together: each key's own factor g, and one absolute error. *)
Theorem tree_model t z : NoDup (keys t) -> bounded t -> run t z ->
  exists g e, (forall p, In p (paths t) -> within g p) /\ Rabs e <= absolute t /\
    z = sum (paths t) (fun p => x (key p) * prod val (moves p) * g (key p)) + e.
Proof.
  intros ND B H; revert ND B. induction H as [j|s t y z _ IHs _ IHt|f t y _ IH|k t y z _ IH S]; intros ND B.
  - exists (fun _ => 1), 0. repeat split.
    + rewrite Rminus_diag_eq, Rabs_R0 by easy.
      assert (1 <= exp (up_units p)); [|lra]. apply exp_ge1, sum_ge0; intros; apply above0.
    + destruct H as [<-|[]]. unfold down_units; cbn. rewrite Ropp_0, exp_0; lra.
    + rewrite Rabs_R0. cbn. lra.
    + cbn. ring.
  - rewrite keys_plus in ND. destruct B as [Bs Bt].
    destruct (no_dup_app _ _ ND) as (NDs & NDt & Apart).
    destruct (IHs NDs Bs) as (g & e & Hg & He & ->). destruct (IHt NDt Bt) as (g' & e' & Hg' & He' & ->).
    exists (fun j => if has j (keys s) then g j else g' j), (e + e').
    assert (X : forall p, In p (paths s) -> has (key p) (keys s) = true) by (intros p I; now apply has_in, in_keys).
    assert (Y : forall p, In p (paths t) -> has (key p) (keys s) = false).
    { intros p I. apply has_not. intros J. apply (Apart _ J). now apply in_keys. }
    split; [|split].
    + cbn [paths]. intros p I. unfold within. apply in_app_or in I as [I|I]; [rewrite (X p I); now apply Hg|rewrite (Y p I); now apply Hg'].
    + cbn [absolute]. now apply abs_sum.
    + cbn [paths]. rewrite sum_app.
      rewrite (sum_ext (paths s) (fun p => x (key p) * prod val (moves p) * (if has (key p) (keys s) then g (key p) else g' (key p)))
        (fun p => x (key p) * prod val (moves p) * g (key p))) by (intros p I; now rewrite (X p I)).
      rewrite (sum_ext (paths t) (fun p => x (key p) * prod val (moves p) * (if has (key p) (keys s) then g (key p) else g' (key p)))
        (fun p => x (key p) * prod val (moves p) * g' (key p))) by (intros p I; now rewrite (Y p I)).
      ring.
  - rewrite keys_times in ND. destruct B as [Bf Bt]. destruct (IH ND Bt) as (g & e & Hg & He & ->).
    exists g, (val f * e). split; [|split].
    + cbn [paths]. intros p I. apply in_map_iff in I as (p' & <- & I). now apply (Hg p').
    + cbn [absolute]. rewrite <- (Rmult_1_l (absolute t)). now apply abs_product.
    + cbn [paths]. rewrite sum_map. cbn [key moves prod]. rewrite Rmult_plus_distr_l, <- sum_times. f_equal.
      apply sum_ext; intros; ring.
  - rewrite keys_err in ND. destruct (IH ND B) as (g & e & Hg & He & ->). destruct S as (d & e' & -> & Hd & Hb & He').
    exists (fun j => g j * (1 + d)), (e * (1 + d) + e'). split; [|split].
    + cbn [paths]. intros p I. apply in_map_iff in I as (p' & <- & I). destruct (Hg p' I) as [U L].
      unfold within, up_units, down_units. cbn [key errs sum].
      apply product_of_slips; auto. apply sum_ge0; intros; apply above0.
    + cbn [absolute]. apply abs_sum; [|easy]. apply abs_product; [easy|].
      apply abs_le in Hd. apply Rabs_le; lra.
    + cbn [paths]. rewrite sum_map. cbn [key moves].
      rewrite (sum_ext (paths t) (fun p => x (key p) * prod val (moves p) * (g (key p) * (1 + d)))
        (fun p => x (key p) * prod val (moves p) * g (key p) * (1 + d))) by (intros; ring).
      rewrite sum_times_r. ring.
Qed.

(** Sums alone, nothing lost: |z - sum x| <= (e^{units of the longest path} - 1) sum |x|. *)
Fixpoint plain (t : tree K F) : Prop :=
  match t with Leaf _ => True | Plus s t => plain s /\ plain t | Times _ _ => False | Err k t => lost k = 0 /\ plain t end.
Lemma plain_bounded t : plain t -> bounded t.
Proof. induction t; cbn; tauto. Qed.
Lemma plain_moves t p : plain t -> In p (paths t) -> moves p = [].
Proof.
  revert p. induction t as [j|s IHs t IHt|f t IH|k t IH]; cbn; intros p P I; [|destruct P|easy|destruct P].
  - destruct I as [<-|[]]; easy.
  - apply in_app_or in I as [I|I]; auto.
  - apply in_map_iff in I as (q & <- & I). cbn. auto.
Qed.
Lemma plain_absolute t : plain t -> absolute t = 0.
Proof.
  induction t as [j|s IHs t IHt|f t IH|k t IH]; cbn; intros P; [easy|destruct P as [Ps Pt]; rewrite IHs, IHt by easy; ring|easy|].
  destruct P as [-> P]. rewrite IH by easy. ring.
Qed.
Lemma up_longest (t : tree K F) p : In p (paths t) -> up_units p <= longest t.
Proof.
  revert p. unfold up_units. induction t as [j|s IHs t IHt|f t IH|k t IH]; cbn; intros p I.
  - destruct I as [<-|[]]; cbn; lra.
  - apply in_app_or in I as [I|I]; (eapply Rle_trans; [eauto|]); [apply Rmax_l|apply Rmax_r].
  - apply in_map_iff in I as (q & <- & I). cbn. auto.
  - apply in_map_iff in I as (q & <- & I). cbn. specialize (IH q I). lra.
Qed.
Theorem plain_sum t z : NoDup (keys t) -> plain t -> run t z ->
  Rabs (z - sum (paths t) (fun p => x (key p))) <= (exp (longest t) - 1) * sum (paths t) (fun p => Rabs (x (key p))).
Proof.
  intros ND P R. destruct (tree_model t z ND (plain_bounded t P) R) as (g & e & Hg & He & ->).
  rewrite plain_absolute in He by easy. assert (e = 0) as -> by (apply abs_le in He; lra).
  rewrite Rplus_0_r, <- sum_minus, <- sum_times. eapply Rle_trans; [apply sum_abs|]. apply sum_le; intros p I.
  rewrite (plain_moves t p P I). cbn [prod].
  replace (x (key p) * 1 * g (key p) - x (key p)) with ((g (key p) - 1) * x (key p)) by ring.
  rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|]. destruct (Hg p I) as [B _].
  assert (exp (up_units p) <= exp (longest t)) by now apply exp_mono, up_longest. lra.
Qed.
End Run.

(** * Units of steps *)
(** An error beside a sum of addends is a relative error of each of them: how one step of a matrix unit enters a tree. *)
Theorem spread_error (a : list R) (s b : R) : 0 <= b -> Rabs (s - sum a (fun y => y)) <= b * sum a Rabs ->
  exists d, Rabs d <= b /\ s = sum a (fun y => y * (1 + d * (if Rle_dec 0 y then 1 else -1))).
Proof.
  intros Hb H. set (m := sum a Rabs) in *.
  assert (m0 : 0 <= m) by (apply sum_ge0; intros; apply Rabs_pos).
  assert (E : forall d, sum a (fun y => y * (1 + d * (if Rle_dec 0 y then 1 else -1))) = sum a (fun y => y) + d * m).
  { intros d. unfold m. rewrite <- sum_times, <- sum_plus. apply sum_ext; intros y _.
    destruct (Rle_dec 0 y); [rewrite Rabs_pos_eq by easy|rewrite Rabs_left by lra]; ring. }
  destruct (Req_dec m 0) as [Z|N].
  - exists 0. rewrite Rabs_R0, E, Z. rewrite Z, Rmult_0_r in H. apply abs_le in H. split; lra.
  - exists ((s - sum a (fun y => y)) / m). rewrite E. split; [|field; lra].
    unfold Rdiv. rewrite Rabs_mult, (Rabs_pos_eq (/ m)) by (left; apply Rinv_0_lt_compat; lra).
    apply Rmult_le_reg_r with m; [lra|]. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(** attention/README.md, section 1: addends of which `cuts` 2^-F of the largest are cut away, a result cut to ofb bits. *)
Definition beta (kF oF : R) := kF + oF * (1 + kF).
Theorem step_error (exact_a cut_a : list R) kF oF M t r : 0 <= kF -> 0 <= oF -> 0 <= M <= sum exact_a Rabs ->
  Rabs (sum cut_a (fun y => y) - sum exact_a (fun y => y)) <= kF * M -> Rabs t <= oF -> r = sum cut_a (fun y => y) * (1 + t) ->
  Rabs (r - sum exact_a (fun y => y)) <= beta kF oF * sum exact_a Rabs.
Proof.
  intros Hk Ho HM Hc Ht ->. unfold beta.
  set (X := sum exact_a (fun y => y)) in *. set (C := sum cut_a (fun y => y)) in *. set (A := sum exact_a Rabs) in *.
  assert (B : Rabs X <= A) by apply sum_abs.
  assert (kA : kF * M <= kF * A) by (apply Rmult_le_compat_l; lra).
  replace (C * (1 + t) - X) with ((C - X) + t * ((C - X) + X)) by ring.
  assert (S : Rabs (C - X + X) <= kF * A + A) by (apply abs_sum; lra).
  assert (P := abs_product _ _ _ _ Ht S).
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

(** T steps, the accumulator an addend of each: every product errs by as many factors 1 + beta as follow it. *)
Section Steps.
Context {F : Type}.
Fixpoint addends (ts : list (tree unit F)) (t : tree unit F) : tree unit F :=
  match ts with [] => Err tt t | s :: ts => Plus (Err tt s) (addends ts t) end.
Theorem step_run b val x (ts : list (tree unit F)) (ys : list R) t y r : 0 <= b < 1 ->
  Forall2 (run (fun _ => ln (1 + b)) (fun _ => - ln (1 - b)) (fun _ => 0) val x) ts ys ->
  run (fun _ => ln (1 + b)) (fun _ => - ln (1 - b)) (fun _ => 0) val x t y ->
  Rabs (r - sum (ys ++ [y]) (fun z => z)) <= b * sum (ys ++ [y]) Rabs ->
  run (fun _ => ln (1 + b)) (fun _ => - ln (1 - b)) (fun _ => 0) val x (addends ts t) r.
Proof.
  intros Hb Hs Ht Hr. destruct (spread_error _ _ _ (proj1 Hb) Hr) as (d & Hd & E).
  set (m := fun z => z * (1 + d * (if Rle_dec 0 z then 1 else -1))) in E.
  assert (S : forall z, slip (fun _ : unit => ln (1 + b)) (fun _ => - ln (1 - b)) (fun _ => 0) tt z (m z)).
  { intros z. exists (d * (if Rle_dec 0 z then 1 else -1)), 0. unfold m. rewrite Ropp_involutive, !exp_ln by lra.
    apply abs_le in Hd. repeat split; [ring| |destruct (Rle_dec 0 z); lra|rewrite Rabs_R0; lra].
    apply Rabs_le. destruct (Rle_dec 0 z); lra. }
  assert (X : forall l, Forall2 (run (fun _ : unit => ln (1 + b)) (fun _ => - ln (1 - b)) (fun _ => 0) val x) ts l ->
    run (fun _ : unit => ln (1 + b)) (fun _ => - ln (1 - b)) (fun _ => 0) val x (addends ts t) (sum (l ++ [y]) m)).
  { clear Hs Hr E. induction ts as [|s ts IH]; intros l Hl; inversion Hl as [|a b' c e H1 H2]; subst; cbn [addends app sum].
    - rewrite Rplus_0_r. econstructor; eauto.
    - apply run_plus; [econstructor; eauto|now apply IH]. }
  rewrite E. now apply X.
Qed.
End Steps.
