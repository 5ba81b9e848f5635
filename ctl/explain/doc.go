// SPDX-License-Identifier: Apache-2.0

// Package explain finds out why a machine, or one of its resources, is not ready.
//
// Gather reads what the machine tells over its API: resources, services and the ends of their logs, the graph of
// controllers, the controllers that fail. Explain is pure: it begins with a symptom and asks the rules for a finding,
// which says what is wrong and which further symptoms that may come from. A symptom that turns out to be none is
// dropped; a finding of which no symptom is left is a root cause. Rules are small functions that read a few typed
// resources; what none of them knows is followed by the graph, from a resource to the controllers that write it, from a
// controller to its error, or to the inputs that it still misses.
//
// A rule only claims what it has read. What the caller may not read is left out and said so, so that the command works
// with the rights of a reader and in maintenance.
package explain
