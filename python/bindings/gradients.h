// What is true of a gradient and what its error may be, as arrays; and the door of check_gradients().
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace flashproof::python {

/// `problem` is attention's dict and "do" the pair of dO. {"dq", "dk", "dv"}: each as references.h's truth(), in the shape of q,
/// k and v, every radius at most 2^-12 ulp of f32 where 4096 bits get there.
nanobind::dict gradients(const nanobind::dict& problem);
/// {"dq", "dk", "dv"}: each as references.h's bound(); {"dq_in_domain", "dk_in_domain", "dv_in_domain"}: uint8, as shaped.
nanobind::dict gradient_bound(const nanobind::dict& problem, const std::string& arithmetic);

/// Adds these, the lists and check_gradients() to the module.
void add_gradients(nanobind::module_& m);

}  // namespace flashproof::python
