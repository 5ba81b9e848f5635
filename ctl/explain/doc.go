// SPDX-License-Identifier: Apache-2.0

// Package explain finds out why a machine, or one of its resources, is not ready.
//
// Gather reads the facts from the machine's API: resources, services and the ends of their logs, the graph of controllers, the
// controllers that fail. Explain is pure: it begins with a symptom and calls the rule for it. The rule returns a finding: what is wrong,
// and which further symptoms may have caused it. A finding without a further cause is a root cause. Rules are small functions that read
// a few typed resources. A resource without a rule of its own is followed by the graph: from the resource to the controllers that write
// it, from a controller to its error, or to its missing inputs.
//
// A rule claims only what it has read. The output names the types that the caller may not read, so the command works with the role of a
// reader and in maintenance.
package explain
