(* What a kernel does as a tree, executed: the trees of softmax's online forms and of joined states, for given scores. check.py compares their counts with
   those of the C++ code (softmax_paths*.cc, merge_sum_tree.cc). *)
From Coq Require Import Reals ZArith List Arith.
From Flashproof Require Import Units Trees.
Import ListNotations.

Open Scope nat_scope.

Definition T := tree unit unit.
Definition add (s t : T) : T := Err tt (Plus s t).
Definition rescale (t : T) : T := Err tt (Times tt t).
Definition lift (m f : Z) t := if (m <? f)%Z then rescale t else t.

(** (m, d): a running maximum and its sum. *)
Definition state := option (Z * T).
Definition push (s : state) (k : nat * Z) : state :=
  let (j, x) := k in
  match s with None => Some (x, Leaf j) | Some (m, t) => let f := Z.max m x in Some (f, add (lift m f t) (Leaf j)) end.
Definition join (s t : state) : state :=
  match s, t with
  | None, t => t | s, None => s
  | Some (m, a), Some (n, b) => let f := Z.max m n in Some (f, add (lift m f a) (lift n f b))
  end.
Definition plus (s t : option T) := match s, t with None, t => t | s, None => s | Some a, Some b => Some (add a b) end.

(** Pairs i and i + half, level by level. *)
Fixpoint butterfly {S} (op : option S -> option S -> option S) (fuel : nat) (l : list (option S)) : option S :=
  match fuel, l with
  | _, [] => None | _, [s] => s | O, s :: _ => s
  | S fuel, l => let h := Nat.div2 (length l) in butterfly op fuel (map (fun p => op (fst p) (snd p)) (combine (firstn h l) (skipn h l)))
  end.
Fixpoint update {S} (l : list S) (i : nat) (f : S -> S) :=
  match l, i with [], _ => [] | s :: l, O => f s :: l | s :: l, S i => s :: update l i f end.
Definition lane (lanes deal place : nat) := Nat.modulo (Nat.div place deal) lanes.

Definition strided_online (lanes deal : nat) (ks : list (nat * Z)) : list state :=
  [ butterfly join lanes (fold_left (fun ls k => update ls (lane lanes deal (fst k)) (fun s => push s k)) ks (repeat None lanes)) ].

(** A chunk's keys in the frame given: lanes, a butterfly per warp, a left fold over the warps. *)
Fixpoint cut {S} (n fuel : nat) (l : list S) := match fuel with O => [] | S f => match l with [] => [] | _ => firstn n l :: cut n f (skipn n l) end end.
Definition lane_sum (lanes deal warps : nat) (ks : list (nat * Z)) : option T :=
  let first := match ks with [] => 0 | k :: _ => fst k end in
  let ls := fold_left (fun ls k => update ls (lane lanes deal (fst k - first)) (fun s => plus s (Some (Leaf (fst k))))) ks (repeat None lanes) in
  fold_left plus (map (butterfly plus lanes) (cut (Nat.div lanes warps) warps ls)) None.
Definition chunked_online (lanes deal warps : nat) (chunks : list (list (nat * Z))) : list state :=
  [ fold_left (fun s ks =>
      match ks with
      | [] => s
      | (_, x) :: _ =>
          let high := fold_left (fun m k => Z.max m (snd k)) ks x in
          match lane_sum lanes deal warps ks with
          | None => s
          | Some c => match s with None => Some (high, c) | Some (m, t) => let f := Z.max m high in Some (f, add (lift m f t) c) end
          end
      end) chunks None ].
(** Every chunk in its own frame, joined as two states. *)
Definition chunked_local (lanes deal warps : nat) (chunks : list (list (nat * Z))) : list state :=
  [ fold_left (fun s ks =>
      match ks with
      | [] => s
      | (_, x) :: _ => join s (match lane_sum lanes deal warps ks with None => None | Some c => Some (fold_left (fun m k => Z.max m (snd k)) ks x, c) end)
      end) chunks None ].

(** States (m, l, O) joined one after the other, or neighbours round by round, an odd last one waiting. *)
Definition states (ks : list (nat * Z)) : list state := map (fun k => Some (snd k, Leaf (fst k))) ks.
Definition max_sum_fold (ks : list (nat * Z)) : list state := [ fold_left join (states ks) None ].
Fixpoint round (l : list state) := match l with s :: t :: l => join s t :: round l | l => l end.
Fixpoint rounds (fuel : nat) (l : list state) := match fuel with O => l | S fuel => rounds fuel (round l) end.
Definition max_sum_tree (ks : list (nat * Z)) : list state := rounds (length ks) (states ks).

(** Per key: factors on its way, roundings on its way. *)
Definition table (s : list state) : list (nat * (nat * nat)) :=
  flat_map (fun s => match s with None => [] | Some (_, t) => map (fun p => (key p, (length (moves p), length (errs p)))) (paths t) end) s.

(** The log units of a path are its count times those of one rounding. *)
Theorem units_count (h : R) (p : path unit unit) : up_units (fun _ => h) p = (INR (length (errs p)) * h)%R.
Proof. apply sum_const. Qed.
