(* README.md, section 5: means over weights in boxes a <= w <= b. t bounds every such mean as soon as phi(t) <= 0, and the root of phi
   is a mean that occurs; so the largest mean over the boxes is never above the closed form, which holds of every point of them. *)
From Coq Require Import Reals Psatz List.
From Flashproof Require Import Units.
Import ListNotations.
Open Scope R_scope.

Section Boxes.
Context {A : Type} (l : list A).
Variables (a b x : A -> R).
Hypothesis a0 : forall i, In i l -> 0 <= a i <= b i.
Definition phi t := sum l (fun i => Rmax (a i * (x i - t)) (b i * (x i - t))).
Definition at_end t i := if Rle_dec t (x i) then b i else a i.
Definition in_box (w : A -> R) := forall i, In i l -> a i <= w i <= b i.
Definition mean (w : A -> R) := sum l (fun i => w i * x i) / sum l w.

Lemma at_end_box t : in_box (at_end t).
Proof. intros i I. unfold at_end. assert (H := a0 i I). destruct (Rle_dec t (x i)); lra. Qed.
Lemma phi_at_end t : phi t = sum l (fun i => at_end t i * (x i - t)).
Proof.
  apply sum_ext; intros i I. unfold at_end. assert (H := a0 i I). destruct (Rle_dec t (x i)); [apply Rmax_right|apply Rmax_left]; nra.
Qed.
Lemma around w t : sum l (fun i => w i * (x i - t)) = sum l (fun i => w i * x i) - sum l w * t.
Proof. rewrite <- sum_times_r, <- sum_minus. apply sum_ext; intros; ring. Qed.
Lemma phi_most w t : in_box w -> sum l (fun i => w i * (x i - t)) <= phi t.
Proof.
  intros B. apply sum_le; intros i I. specialize (B i I).
  destruct (Rle_dec t (x i)); [eapply Rle_trans; [|apply Rmax_r]|eapply Rle_trans; [|apply Rmax_l]]; nra.
Qed.
Theorem box_bound w t : in_box w -> 0 < sum l w -> phi t <= 0 -> mean w <= t.
Proof.
  intros B W P. assert (M := phi_most w t B). rewrite around in M. unfold mean.
  apply Rmult_le_reg_r with (sum l w); [easy|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Theorem box_attained t : 0 < sum l (at_end t) -> phi t = 0 -> mean (at_end t) = t.
Proof.
  intros W P. rewrite phi_at_end, around in P. unfold mean. apply Rmult_eq_reg_r with (sum l (at_end t)); [|lra].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
(** Dinkelbach's step never falls while phi >= 0, and its value is a mean that occurs. *)
Theorem box_step t : 0 < sum l (at_end t) -> 0 <= phi t -> t <= mean (at_end t).
Proof.
  intros W P. rewrite phi_at_end, around in P. unfold mean. apply Rmult_le_reg_r with (sum l (at_end t)); [easy|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
Theorem phi_falls s t : s <= t -> phi t <= phi s.
Proof.
  intros H. apply sum_le; intros i I. assert (E := a0 i I). apply Rmax_lub.
  - eapply Rle_trans; [|apply Rmax_l]. apply Rmult_le_compat_l; lra.
  - eapply Rle_trans; [|apply Rmax_r]. apply Rmult_le_compat_l; lra.
Qed.
End Boxes.
