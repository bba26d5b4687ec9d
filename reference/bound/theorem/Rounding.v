(* README.md, section 1: one binary32 operation, x(1 + d) + e, from Flocq's formats. x is any exact real, so that sums,
   products, quotients and fma are alike; flushing may look at the exact or at the rounded result, and at the operands. *)
From Coq Require Import Reals Psatz ZArith List.
From Flocq Require Import Core Relative Plus_error.
From Flashproof Require Import Units Trees.
Open Scope R_scope.

Definition binary32 := FLT_exp (-149) 24.
Global Instance digits : Prec_gt_0 24. Proof. reflexivity. Qed.
Definition ties n := negb (Z.even n).
Definition rn x := round radix2 binary32 (Znearest ties) x.
Definition is32 x := generic_format radix2 binary32 x.
Definition u := / 16777216.
Definition half_least := bpow radix2 (-150).
Definition normal := bpow radix2 (-126).          (* the least normal number *)

Lemma normal0 : 0 < normal. Proof. apply bpow_gt_0. Qed.
Lemma half_least_normal : 0 <= half_least <= normal.
Proof. split; [apply bpow_ge_0|now apply bpow_le]. Qed.
Lemma u0 : Rabs 0 <= u. Proof. rewrite Rabs_R0; unfold u; lra. Qed.

(** What section 1 says of an operation, eta being the largest absolute part. *)
Definition rounded (eta x y : R) := exists d e, y = x * (1 + d) + e /\ Rabs d <= u /\ Rabs e <= eta /\ d * e = 0.
Lemma rounded_weaken a b x y : a <= b -> rounded a x y -> rounded b x y.
Proof. intros H (d & e & E & Hd & He & Z). exists d, e. repeat split; auto; lra. Qed.
Lemma lost_whole eta x : Rabs x <= eta -> rounded eta x 0.
Proof. intros H. exists 0, (- x). rewrite Rabs_Ropp. assert (U := u0). repeat split; auto; lra. Qed.

Theorem rounding x : rounded half_least x (rn x).
Proof.
  destruct (error_N_FLT radix2 (-149) 24 eq_refl ties x) as (d & e & Hd & He & Z & E).
  exists d, e. repeat split; auto.
  - eapply Rle_trans; [exact Hd|]. unfold u. cbn. lra.
  - eapply Rle_trans; [exact He|]. unfold half_least.
    replace (bpow radix2 (-150)) with (/ 2 * bpow radix2 (-149)); [lra|].
    change (/ 2) with (bpow radix2 (-1)). now rewrite <- bpow_plus.
Qed.

(** A sum of two numbers of the format has no absolute part. *)
Theorem rounding_sum x y : is32 x -> is32 y -> rounded 0 (x + y) (rn (x + y)).
Proof.
  intros Fx Fy. destruct (FLT_plus_error_N_ex radix2 (-149) 24 ties x y Fx Fy) as (d & Hd & E).
  exists d, 0. rewrite Rabs_R0, Rplus_0_r. repeat split; [exact E| |lra|ring]. eapply Rle_trans; [exact Hd|].
  replace (u_ro radix2 24) with u.
  2:{ unfold u_ro, u. change (bpow radix2 (- (24) + 1)) with (/ 8388608). lra. }
  unfold u. apply Rmult_le_reg_r with (1 + / 16777216); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma rn_format x : is32 (rn x).
Proof. apply generic_format_round; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N]. Qed.
Lemma rn_exact x : is32 x -> rn x = x.
Proof. intros; apply round_generic; [apply valid_rnd_N|easy]. Qed.
Lemma rn_0 : rn 0 = 0. Proof. apply round_0, valid_rnd_N. Qed.
Lemma power_format e : (-149 <= e <= 127)%Z -> is32 (bpow radix2 e).
Proof. intros. apply generic_format_bpow. unfold binary32, FLT_exp. lia. Qed.

(** * Flush to zero *)
Definition flushed x y := y = rn x \/ (y = 0 /\ Rabs x < normal).
Theorem flushed_after x : Rabs (rn x) < normal -> flushed x 0.
Proof.
  intros H. right. split; [easy|]. destruct (Rlt_or_le (Rabs x) normal) as [|C]; [easy|exfalso].
  assert (normal <= Rabs (rn x)); [|lra].
  apply abs_round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N|now apply power_format|exact C].
Qed.
Theorem rounding_flushed x y : flushed x y -> rounded normal x y.
Proof.
  intros [-> | [-> H]]; [|apply lost_whole; lra].
  eapply rounded_weaken; [apply half_least_normal|apply rounding].
Qed.

Definition operand x x' := x' = x \/ (x' = 0 /\ Rabs x < normal).

(** A sum with flushed operands: two least normal numbers (costs.h charges three). *)
Theorem rounding_sum_flushed a b a' b' y : is32 a -> is32 b -> operand a a' -> operand b b' -> flushed (a' + b') y ->
  rounded (2 * normal) (a + b) y.
Proof.
  intros Fa Fb Ha Hb Hy. assert (N := normal0). assert (T := Rabs_triang a b).
  assert (One : forall x e, is32 x -> Rabs e < normal -> flushed x y -> rounded (2 * normal) (x + e) y).
  { intros x e Fx He [-> | [-> Hx]].
    - rewrite rn_exact by easy. exists 0, (- e). rewrite Rabs_Ropp. assert (U := u0). repeat split; auto; lra.
    - apply lost_whole. eapply Rle_trans; [apply Rabs_triang|lra]. }
  destruct Ha as [-> | [-> Ha]], Hb as [-> | [-> Hb]].
  - eapply rounded_weaken; [|now apply rounding_flushed]. lra.
  - apply One; auto. now rewrite Rplus_0_r in Hy.
  - rewrite Rplus_comm. apply One; auto. now rewrite Rplus_0_l in Hy.
  - assert (y = 0) as -> by (destruct Hy as [-> | [-> _]]; [rewrite Rplus_0_r, rn_0|]; easy). apply lost_whole; lra.
Qed.

(** A product with a flushed operand loses it times the other one, which may be large. *)
Theorem rounding_product_flushed a b a' b' y : operand a a' -> operand b b' -> flushed (a' * b') y ->
  rounded (normal * Rmax 1 (Rmax (Rabs a) (Rabs b))) (a * b) y.
Proof.
  intros Ha Hb Hy. assert (N := normal0).
  assert (M1 := Rmax_l 1 (Rmax (Rabs a) (Rabs b))). assert (M2 := Rmax_r 1 (Rmax (Rabs a) (Rabs b))).
  assert (M3 := Rmax_l (Rabs a) (Rabs b)). assert (M4 := Rmax_r (Rabs a) (Rabs b)). set (m := Rmax 1 _) in *.
  assert (Pa := Rabs_pos a). assert (Pb := Rabs_pos b).
  assert (Z : a' * b' = 0 -> Rabs (a * b) <= normal * m -> rounded (normal * m) (a * b) y).
  { intros E L. rewrite E in Hy. assert (y = 0) as -> by (destruct Hy as [-> | [-> _]]; [apply rn_0|easy]). now apply lost_whole. }
  destruct Ha as [-> | [-> Ha]]; [destruct Hb as [-> | [-> Hb]]|].
  - eapply rounded_weaken; [|now apply rounding_flushed]. nra.
  - apply Z; [ring|]. rewrite Rmult_comm. apply abs_product; lra.
  - apply Z; [ring|]. apply abs_product; lra.
Qed.

(** "With flush to zero eta is the least normal number" is thus false of products: 2^-127 times 2^100. *)
Theorem flushed_operand_scales : exists a b a' b' y, is32 a /\ is32 b /\ operand a a' /\ operand b b' /\
  flushed (a' * b') y /\ forall eta, rounded eta (a * b) y -> bpow radix2 98 * normal <= eta.
Proof.
  exists (bpow radix2 (-127)), (bpow radix2 100), 0, (bpow radix2 100), 0. repeat split.
  - now apply power_format.
  - now apply power_format.
  - right. split; [easy|]. rewrite Rabs_pos_eq by apply bpow_ge_0. now apply bpow_lt.
  - now left.
  - left. now rewrite Rmult_0_l, rn_0.
  - intros eta (d & e & E & Hd & He & _). unfold normal. rewrite <- bpow_plus in *.
    change (98 + -126)%Z with (-28)%Z. change (-127 + 100)%Z with (-27)%Z in E.
    replace (bpow radix2 (-27)) with (2 * bpow radix2 (-28)) in E.
    2:{ change 2 with (bpow radix2 1). now rewrite <- bpow_plus. }
    assert (P : 0 < bpow radix2 (-28)) by apply bpow_gt_0. set (b := bpow radix2 (-28)) in *. clearbody b.
    apply abs_le in Hd, He. unfold u in Hd. nra.
Qed.

(** * As nodes of a tree *)
Definition h := u + u * u.
Lemma h0 : 0 <= h. Proof. unfold h, u; lra. Qed.
Theorem rounded_slip eta x y : rounded eta x y ->
  slip (fun _ : unit => h) (fun _ => h) (fun _ => eta) tt x y.
Proof.
  intros (d & e & E & Hd & He & _). exists d, e.
  assert (A := one_rounding u). assert (B : exp (- h) <= 1 - u).
  { rewrite <- (exp_ln (1 - u)) by (unfold u; lra). apply exp_mono. unfold h. unfold u in *. lra. }
  assert (C : 1 + h <= exp h) by apply exp_ineq1_le. apply abs_le in Hd.
  repeat split; auto; [apply Rabs_le|]; unfold h, u in *; lra.
Qed.

(** Any tree of binary32 sums is off by at most (e^{height h} - 1) sum |x|, underflow or not. *)
Fixpoint sum32 (x : nat -> R) (t : tree unit unit) : R :=
  match t with Leaf j => x j | Plus s t => sum32 x s + sum32 x t | Times _ t => sum32 x t | Err _ t => rn (sum32 x t) end.
Fixpoint sums_of_two (t : tree unit unit) : Prop :=
  match t with Leaf _ => True | Err _ (Plus s t) => sums_of_two s /\ sums_of_two t | _ => False end.
Theorem sums32 x t : (forall j, is32 (x j)) -> NoDup (keys t) -> sums_of_two t ->
  Rabs (sum32 x t - sum (paths t) (fun p => x (key p))) <=
    (exp (longest (fun _ => h) t) - 1) * sum (paths t) (fun p => Rabs (x (key p))).
Proof.
  intros Fx ND S.
  assert (X : is32 (sum32 x t) /\ plain (fun _ : unit => 0) t /\ run (fun _ => h) (fun _ => h) (fun _ => 0) (fun _ => 1) x t (sum32 x t)).
  { clear ND. revert S. enough (H : forall n t, (length (paths t) <= n)%nat -> sums_of_two t ->
      is32 (sum32 x t) /\ plain (fun _ : unit => 0) t /\ run (fun _ => h) (fun _ => h) (fun _ => 0) (fun _ => 1) x t (sum32 x t)) by (apply (H (length (paths t))); lia).
    clear t. induction n as [|n IH]; intros t L S.
    { exfalso. assert (P := paths_some t). destruct (paths t); [easy|cbn in L; lia]. }
    destruct t as [j|s t|f t|k t]; cbn in S; try easy; [repeat split; cbn; auto; constructor|].
    destruct t as [j|s t|f t|k' t]; try easy. destruct S as [Ss St].
    cbn [paths] in L. rewrite map_length, app_length in L.
    assert (Ls : (0 < length (paths s))%nat) by (assert (P := paths_some s); destruct (paths s); [easy|cbn; lia]).
    assert (Lt : (0 < length (paths t))%nat) by (assert (P := paths_some t); destruct (paths t); [easy|cbn; lia]).
    destruct (IH s) as (Fs & Ps & Rs); [lia|easy|]. destruct (IH t) as (Ft & Pt & Rt); [lia|easy|].
    split; [apply rn_format|]. split; [cbn; auto|].
    cbn [sum32]. destruct k. eapply run_err; [apply run_plus; [exact Rs|exact Rt]|]. apply rounded_slip. now apply rounding_sum. }
  destruct X as (_ & P & Q).
  apply (plain_sum (fun _ : unit => h) (fun _ => h) (fun _ => 0) (fun _ => 1) x); auto using h0, Rle_refl.
Qed.
