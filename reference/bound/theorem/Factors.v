(* README.md, section 2: a key's weight is the product of the computed exponentials on its way to the last frame. Their arguments
   telescope, and what underflow takes away stays small; frames may be stale, lazy or rounded on their own. *)
From Coq Require Import Reals Psatz List.
From Flashproof Require Import Units Trees.
Import ListNotations.
Open Scope R_scope.

(** One factor e^{-gap + base + own} + loss, in [0, e^over].
    gap: by how much the frame rises; below 0 where a lazy frame lies under the score that enters.
    base: error that all weights of one frame share (fl(f c^)); own: the argument's and the exponential's; cost: -ln(1 - eps), or
    -ln(1 - u) of a rounding that both sums share (gap 0). *)
Record factor := { gap : R; base : R; own : R; loss : R; cost : R; over : R }.
Definition ideal s := exp (- gap s + base s + own s).
Definition got s := ideal s + loss s.
Definition normal_floor := exp (- (126 * ln 2)).

Section Factors.
Variables (slope z0 : R).        (* of the argument's error; what a subnormal exponential loses *)
Hypothesis slope0 : 0 <= slope.
Hypothesis z00 : 0 <= z0.

Definition fits s := Rabs (own s) <= slope * Rabs (gap s) + cost s /\ 0 <= cost s /\ 0 <= over s /\
  - gap s + base s + own s <= over s + cost s /\ 0 <= got s <= exp (over s) /\
  Rabs (loss s) <= z0 /\ (normal_floor <= ideal s -> loss s = 0).

(** Rising frames (gap >= 0, nothing shared) satisfy the part about `over` of themselves. *)
Lemma fits_rising s : slope <= 1 -> 0 <= gap s -> base s = 0 -> over s = 0 -> 0 <= cost s ->
  Rabs (own s) <= slope * gap s + cost s -> 0 <= got s <= 1 -> Rabs (loss s) <= z0 ->
  (normal_floor <= ideal s -> loss s = 0) -> fits s.
Proof.
  intros H1 Hg Hb Ho Hc Hw Hr Hl Hn. unfold fits. rewrite Ho, Hb, exp_0, (Rabs_pos_eq (gap s)) by easy.
  repeat split; auto; try lra. apply abs_le in Hw. nra.
Qed.

Notation way l := (sum l (fun s => Rabs (gap s))).
Notation costs l := (sum l cost).

Lemma ideal_prod l : prod ideal l = exp (- sum l gap + sum l base + sum l own).
Proof.
  induction l as [|s l IH]; cbn; [now rewrite Ropp_0, !Rplus_0_r, exp_0|].
  rewrite IH. unfold ideal. rewrite <- exp_plus. f_equal; ring.
Qed.

(** The errors of all arguments together: slope times the way, whatever the stations, and the costs of the factors. *)
Theorem telescoping l : Forall fits l -> Rabs (sum l own) <= slope * way l + costs l.
Proof.
  induction 1 as [|s l Hs Hl IH]; cbn [sum]; [rewrite Rabs_R0; lra|].
  destruct Hs as (Hs & _). eapply Rle_trans; [apply abs_sum; eassumption|]. lra.
Qed.

Lemma sums0 l : Forall fits l -> 0 <= costs l /\ 0 <= sum l over /\ 0 <= way l.
Proof.
  intros F. rewrite Forall_forall in F. repeat split; apply sum_ge0; intros s I; try apply Rabs_pos; now apply F in I as (? & ? & ? & _).
Qed.
Lemma ideal_below l : Forall fits l -> 0 <= prod ideal l <= exp (costs l + sum l over).
Proof.
  induction 1 as [|s l Hs Hl IH]; cbn [prod sum]; [rewrite Rplus_0_r, exp_0; lra|].
  destruct Hs as (_ & _ & _ & Hi & _). assert (P := exp_ge0 (- gap s + base s + own s)). fold (ideal s) in P.
  split; [apply Rmult_le_pos; lra|]. replace (cost s + costs l + (over s + sum l over)) with (over s + cost s + (costs l + sum l over)) by ring.
  rewrite exp_plus. apply Rmult_le_compat; try lra. unfold ideal. now apply exp_mono.
Qed.
Lemma got_below l : Forall fits l -> 0 <= prod got l.
Proof. induction 1 as [|s l (_ & _ & _ & _ & Hg & _) _ IH]; cbn; [lra|]. apply Rmult_le_pos; lra. Qed.

(** Z_j: each factor loses at most z0 beside the others. *)
Theorem underflow l : Forall fits l ->
  Rabs (prod got l - prod ideal l) <= INR (length l) * z0 * exp (costs l + sum l over).
Proof.
  induction 1 as [|s l Hs Hl IH]; [cbn; rewrite Rminus_diag_eq, Rabs_R0 by easy; lra|].
  cbn [prod length sum].
  replace (got s * prod got l - ideal s * prod ideal l) with (got s * (prod got l - prod ideal l) + loss s * prod ideal l)
    by (unfold got; ring).
  destruct Hs as (_ & Hc & Ho & _ & Hg & Hz & _). destruct (sums0 l Hl) as (C & O & _).
  assert (B := ideal_below l Hl).
  replace (cost s + costs l + (over s + sum l over)) with (over s + (cost s + (costs l + sum l over))) by ring.
  set (e := exp (costs l + sum l over)) in *.
  assert (E : e <= exp (cost s + (costs l + sum l over))) by (apply exp_mono; lra).
  rewrite exp_plus, S_INR. set (e' := exp (cost s + _)) in *. assert (O1 := exp_ge1 (over s) Ho). assert (N := pos_INR (length l)).
  assert (X : Rabs (got s * (prod got l - prod ideal l)) <= exp (over s) * (INR (length l) * z0 * e)).
  { apply abs_product; [rewrite Rabs_pos_eq; lra|easy]. }
  assert (Y : Rabs (loss s * prod ideal l) <= z0 * e) by (apply abs_product; [easy|rewrite Rabs_pos_eq; lra]).
  assert (P : 0 <= INR (length l) * z0) by now apply Rmult_le_pos.
  assert (e0 : 0 <= e) by apply exp_ge0.
  assert (X' : exp (over s) * (INR (length l) * z0 * e) <= INR (length l) * z0 * (exp (over s) * e')).
  { replace (exp (over s) * (INR (length l) * z0 * e)) with (INR (length l) * z0 * (exp (over s) * e)) by ring.
    apply Rmult_le_compat_l; [easy|]. apply Rmult_le_compat_l; lra. }
  assert (Y' : z0 * e <= z0 * (exp (over s) * e')) by (apply Rmult_le_compat_l; [easy|nra]).
  eapply Rle_trans; [apply abs_sum; eassumption|]. lra.
Qed.

(** How deep a weight may come on its way, and the threshold: above it nothing is lost, because every single factor is at least
    the weight with all its errors the wrong way. *)
Definition depth l := way l + sum l (fun s => Rabs (base s)) + slope * way l + costs l.
Theorem stays_normal l s : Forall fits l -> In s l -> exp (- depth l) <= ideal s.
Proof.
  intros F I. apply exp_mono. assert (Fs := F). rewrite Forall_forall in Fs. assert (Ps := Fs s I).
  assert (W : Rabs (gap s) <= way l) by (apply (sum_one l (fun s => Rabs (gap s))); auto; intros; apply Rabs_pos).
  assert (B : Rabs (base s) <= sum l (fun s => Rabs (base s))) by (apply (sum_one l (fun s => Rabs (base s))); auto; intros; apply Rabs_pos).
  assert (C : cost s <= costs l) by (apply sum_one; auto; intros b Ib; now apply Fs in Ib as (? & ? & _)).
  destruct Ps as (Ho & _). assert (S : slope * Rabs (gap s) <= slope * way l) by now apply Rmult_le_compat_l.
  unfold depth. assert (G1 := Rle_abs (gap s)). assert (B1 := Rle_abs (- base s)). rewrite Rabs_Ropp in B1.
  apply abs_le in Ho. lra.
Qed.
Theorem no_loss l : Forall fits l -> depth l <= 126 * ln 2 -> prod got l = prod ideal l.
Proof.
  intros F D. assert (N : forall s, In s l -> got s = ideal s).
  { intros s I. unfold got. assert (Fs := F). rewrite Forall_forall in Fs. destruct (Fs s I) as (_ & _ & _ & _ & _ & _ & Hn).
    rewrite Hn; [ring|]. eapply Rle_trans; [|now apply (stays_normal l s)]. apply exp_mono; lra. }
  clear F D. induction l as [|s l IH]; cbn; [easy|]. rewrite N, IH; auto. intros; apply N; now right. now left.
Qed.
Definition lost_of l := if Rle_dec (depth l) (126 * ln 2) then 0 else INR (length l) * z0 * exp (costs l + sum l over).
Theorem lost_holds l : Forall fits l -> Rabs (prod got l - prod ideal l) <= lost_of l.
Proof.
  intros F. unfold lost_of. destruct (Rle_dec _ _) as [D|_]; [|now apply underflow].
  rewrite no_loss by easy. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra.
Qed.
End Factors.

(** * Which paths there are *)
(** E exponentials and S shared roundings along frames that only rise, from the computed score to f: section 2's H_j. *)
Theorem rising_costs l slope e s (exponentials shared : list factor) : l = exponentials ++ shared ->
  (forall x, In x exponentials -> cost x = e) -> (forall x, In x shared -> cost x = s /\ gap x = 0) ->
  (forall x, In x l -> 0 <= gap x) ->
  slope * sum l (fun x => Rabs (gap x)) + sum l cost
    = slope * sum l gap + INR (length exponentials) * e + INR (length shared) * s.
Proof.
  intros -> He Hs Hg. rewrite (sum_ext _ (fun x => Rabs (gap x)) gap) by (intros; apply Rabs_pos_eq; auto).
  rewrite (sum_app _ _ cost), (sum_ext exponentials cost (fun _ => e)), (sum_ext shared cost (fun _ => s)), !sum_const by (intros; auto; now apply Hs).
  ring.
Qed.

(** Lazy frames: only the entry may go down, by lag at most, so that the way is at most 2 lag longer. *)
Theorem lazy_way entry rises lag : - gap entry <= lag -> 0 <= lag -> (forall x, In x rises -> 0 <= gap x) ->
  sum (entry :: rises) (fun x => Rabs (gap x)) <= sum (entry :: rises) gap + 2 * lag.
Proof.
  intros He Hl Hr. cbn. rewrite (sum_ext rises (fun x => Rabs (gap x)) gap) by (intros; apply Rabs_pos_eq; auto).
  unfold Rabs. destruct (Rcase_abs (gap entry)); lra.
Qed.
