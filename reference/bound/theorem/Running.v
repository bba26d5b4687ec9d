(* attention/README.md, section 4, "Running lse": chunk by chunk the frame's floor is the computed lse itself,
     e^{lse'} = (e^{lse} (1 + c) + sum of w e^C (1 + g)) e^rho,
   whatever C is. So e^{lse} is the sum of the keys' weights, each with the errors of its own chunk and of the later ones. *)
From Coq Require Import Reals Psatz List.
From Flashproof Require Import Units.
Import ListNotations.
Open Scope R_scope.

(** A key's weight e^{C} w in natural units and the log units it has from its own chunk; then per chunk the old sum's c and rho. *)
Record weighed := { mass : R; off : R }.
Inductive lse_of : list weighed -> R -> Prop :=
| first ks rho lse : exp lse = sum ks (fun k => mass k * exp (off k)) * exp rho ->
    lse_of (map (fun k => {| mass := mass k; off := off k + rho |}) ks) lse
| later old lse ks c rho lse' : lse_of old lse -> exp lse' = (exp lse * exp c + sum ks (fun k => mass k * exp (off k))) * exp rho ->
    lse_of (map (fun k => {| mass := mass k; off := off k + (c + rho) |}) old ++ map (fun k => {| mass := mass k; off := off k + rho |}) ks) lse'.

(** Every rho and c from a key's own chunk on is that key's: G_j. *)
Theorem running_lse ks lse : lse_of ks lse -> exp lse = sum ks (fun k => mass k * exp (off k)).
Proof.
  induction 1 as [ks rho lse E|old lse ks c rho lse' _ IH E].
  - rewrite E, sum_map. cbn. rewrite <- sum_times_r. apply sum_ext; intros. rewrite exp_plus. ring.
  - rewrite E, IH, sum_app, 2 sum_map. cbn. rewrite Rmult_plus_distr_r, <- 3 sum_times_r.
    f_equal; apply sum_ext; intros; rewrite ?exp_plus; ring.
Qed.
(** The output O e^{C - lse} is a quotient by l^ = e^{lse - C}: the last rho is the ending's. *)
Theorem running_quotient O C lse rho l : 0 < l -> exp lse = l * exp C * exp rho -> O * exp (C - lse) = O / l * exp (- rho).
Proof.
  intros H E. unfold Rminus. rewrite exp_plus, (exp_Ropp lse), (exp_Ropp rho), E. assert (A := exp_pos C). assert (B := exp_pos rho). field. lra.
Qed.
