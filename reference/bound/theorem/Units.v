(* Finite sums over lists, and log units: x of them stand for a relative error of at most e^x - 1, either way. *)
From Coq Require Import Reals Psatz List Permutation.
Import ListNotations.
Open Scope R_scope.

Lemma abs_le x y : Rabs x <= y -> - y <= x <= y.
Proof. unfold Rabs; destruct (Rcase_abs x); lra. Qed.
Lemma abs_sum x y a b : Rabs x <= a -> Rabs y <= b -> Rabs (x + y) <= a + b.
Proof. intros. eapply Rle_trans; [apply Rabs_triang|lra]. Qed.
Lemma abs_product x y a b : Rabs x <= a -> Rabs y <= b -> Rabs (x * y) <= a * b.
Proof. intros. rewrite Rabs_mult. apply Rmult_le_compat; auto using Rabs_pos. Qed.
Lemma over_le x a b : 0 <= x -> 0 < b -> b <= a -> x / a <= x / b.
Proof. intros. apply Rmult_le_compat_l; [easy|]. now apply Rinv_le_contravar. Qed.
Lemma over_ge0 x a : 0 <= x -> 0 < a -> 0 <= x / a.
Proof. intros. apply Rmult_le_pos; [easy|left; now apply Rinv_0_lt_compat]. Qed.

(** * Sums and maxima *)
Section Sums.
Context {A : Type}.
Implicit Types (l : list A) (f g : A -> R).

Fixpoint sum l f : R := match l with [] => 0 | a :: rest => f a + sum rest f end.
(** Of values that are not negative. *)
Fixpoint most l f : R := match l with [] => 0 | a :: rest => Rmax (f a) (most rest f) end.

Lemma sum_ext l f g : (forall a, In a l -> f a = g a) -> sum l f = sum l g.
Proof. induction l as [|a l IH]; cbn; intros H; [easy|]. rewrite H, IH; auto. Qed.
Lemma sum_plus l f g : sum l (fun a => f a + g a) = sum l f + sum l g.
Proof. induction l as [|a l IH]; cbn; [lra|]. rewrite IH; lra. Qed.
Lemma sum_minus l f g : sum l (fun a => f a - g a) = sum l f - sum l g.
Proof. induction l as [|a l IH]; cbn; [lra|]. rewrite IH; lra. Qed.
Lemma sum_times l c f : sum l (fun a => c * f a) = c * sum l f.
Proof. induction l as [|a l IH]; cbn; [lra|]. rewrite IH; lra. Qed.
Lemma sum_times_r l c f : sum l (fun a => f a * c) = sum l f * c.
Proof. induction l as [|a l IH]; cbn; [lra|]. rewrite IH; lra. Qed.
Lemma sum_le l f g : (forall a, In a l -> f a <= g a) -> sum l f <= sum l g.
Proof. induction l as [|a l IH]; cbn; intros H; [lra|]. apply Rplus_le_compat; auto. Qed.
Lemma sum_ge0 l f : (forall a, In a l -> 0 <= f a) -> 0 <= sum l f.
Proof. induction l as [|a l IH]; cbn; intros H; [lra|]. apply Rplus_le_le_0_compat; auto. Qed.
Lemma sum_abs l f : Rabs (sum l f) <= sum l (fun a => Rabs (f a)).
Proof. induction l as [|a l IH]; cbn; [rewrite Rabs_R0; lra|]. eapply Rle_trans; [apply Rabs_triang|lra]. Qed.
Lemma sum_app l k f : sum (l ++ k) f = sum l f + sum k f.
Proof. induction l as [|a l IH]; cbn; [lra|]. rewrite IH; lra. Qed.
Lemma sum_const l c : sum l (fun _ => c) = INR (length l) * c.
Proof. induction l as [|a l IH]; [cbn; lra|]. cbn [sum length]. rewrite S_INR, IH; lra. Qed.
Lemma sum_one l f a : (forall b, In b l -> 0 <= f b) -> In a l -> f a <= sum l f.
Proof.
  induction l as [|b l IH]; cbn; [easy|]. intros H [->|E].
  - assert (0 <= sum l f) by (apply sum_ge0; auto). lra.
  - assert (0 <= f b) by auto. assert (f a <= sum l f) by auto. lra.
Qed.
Lemma sum_mean l w x X : (forall a, In a l -> 0 <= w a) -> (forall a, In a l -> x a <= X) ->
  sum l (fun a => w a * x a) <= sum l w * X.
Proof. intros Hw Hx. rewrite <- sum_times_r. apply sum_le; intros a Ha. apply Rmult_le_compat_l; auto. Qed.
Lemma sum_permutation l k f : Permutation l k -> sum l f = sum k f.
Proof. induction 1; cbn; lra. Qed.
Lemma sum_pos l f : l <> [] -> (forall a, In a l -> 0 < f a) -> 0 < sum l f.
Proof.
  destruct l as [|a l]; [easy|]. intros _ H. cbn. assert (0 < f a) by (apply H; now left).
  assert (0 <= sum l f) by (apply sum_ge0; intros; left; apply H; now right). lra.
Qed.

Lemma most_ge l f a : In a l -> f a <= most l f.
Proof.
  induction l as [|b l IH]; cbn; [easy|]. intros [->|I]; [apply Rmax_l|].
  eapply Rle_trans; [now apply IH|apply Rmax_r].
Qed.
Lemma most_ge0 l f : 0 <= most l f.
Proof. induction l as [|a l IH]; cbn; [lra|]. eapply Rle_trans; [exact IH|apply Rmax_r]. Qed.
End Sums.

Lemma sum_map {A B} (h : A -> B) l f : sum (map h l) f = sum l (fun a => f (h a)).
Proof. induction l as [|a l IH]; cbn; [easy|]. now rewrite IH. Qed.

(** * Log units *)
Lemma exp_mono x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [left; now apply exp_increasing|lra]. Qed.
Lemma ln_mono x y : 0 < x -> x <= y -> ln x <= ln y.
Proof. intros Hx [H| ->]; [left; now apply ln_increasing|lra]. Qed.
Lemma exp_ge1 x : 0 <= x -> 1 <= exp x.
Proof. intros H. rewrite <- exp_0. now apply exp_mono. Qed.
Lemma exp_ge0 x : 0 <= exp x.
Proof. left; apply exp_pos. Qed.
Lemma exp_le1 x : 0 <= x -> exp (- x) <= 1.
Proof. intros. rewrite <- exp_0. apply exp_mono; lra. Qed.
Lemma ln_below x : 0 < x -> ln x <= x - 1.
Proof. intros H. assert (E := exp_ineq1_le (ln x)). rewrite exp_ln in E by easy. lra. Qed.

(** x units move a number by at most e^x - 1 of itself, up or down. *)
Theorem units_both_ways t x : Rabs t <= x -> Rabs (exp t - 1) <= exp x - 1.
Proof.
  intros H. assert (H1 := exp_ineq1_le x). assert (H2 := exp_ineq1_le (- x)). apply abs_le in H.
  assert (exp (- x) <= exp t) by (apply exp_mono; lra).
  assert (exp t <= exp x) by (apply exp_mono; lra). apply Rabs_le; lra.
Qed.

(** A relative error of at most d is at most -ln(1 - d) units. *)
Theorem units_of d t : 0 <= d < 1 -> Rabs t <= d -> Rabs (ln (1 + t)) <= - ln (1 - d).
Proof.
  intros Hd Ht. apply abs_le in Ht. apply Rabs_le. split.
  - assert (ln (1 - d) <= ln (1 + t)) by (apply ln_mono; lra). lra.
  - rewrite <- ln_Rinv by lra. apply ln_mono; [lra|].
    apply Rmult_le_reg_r with (1 - d); [lra|]. rewrite Rinv_l by lra. nra.
Qed.

(** -ln(1 - u) <= u + u^2, what roundings() counts: the difference vanishes at 0 and grows up to u = 1/2. *)
Theorem one_rounding u : 0 <= u <= 1 / 2 -> - ln (1 - u) <= u + u * u.
Proof.
  intros H. destruct (Req_dec u 0) as [->|Hn]; [rewrite Rminus_0_r, ln_1; lra|].
  set (g := fun x => ln (1 - x) + x + x * x). set (g' := fun x => - / (1 - x) + 1 + 2 * x).
  assert (D : forall c, 0 <= c <= u -> derivable_pt_lim g c (g' c)).
  { intros c Hc. unfold g, g'.
    replace (- / (1 - c) + 1 + 2 * c) with (/ (1 - c) * (0 - 1) + 1 + (1 * c + c * 1)) by (field; lra).
    apply derivable_pt_lim_plus; [apply derivable_pt_lim_plus|].
    - apply (derivable_pt_lim_comp (fun x => 1 - x) ln).
      + apply derivable_pt_lim_minus; [apply derivable_pt_lim_const|apply derivable_pt_lim_id].
      + apply derivable_pt_lim_ln; lra.
    - apply derivable_pt_lim_id.
    - apply (derivable_pt_lim_mult id id); apply derivable_pt_lim_id. }
  destruct (MVT_cor2 g g' 0 u) as (c & E & Hc); [lra|exact D|].
  assert (g 0 = 0) by (unfold g; rewrite Rminus_0_r, ln_1; lra).
  assert (0 <= g' c).
  { unfold g'. replace (- / (1 - c) + 1 + 2 * c) with (c * (1 - 2 * c) / (1 - c)) by (field; lra).
    apply over_ge0; [nra|lra]. }
  unfold g in *. nra.
Qed.
