// SPDX-License-Identifier: Apache-2.0

// Package chaos runs a cluster of many machines, hurts it at random while clients write, and checks the history of what was
// seen. The faults follow from a seed (plan.go), so a run that found something can be repeated: CHAOS_SEED names the seed, CHAOS_TIME how
// long it goes on.
//
// What is checked, always:
//
//   - a write that was acknowledged is seen by every later read, at every API server, and is there at the end;
//   - all API servers belong to one cluster;
//   - no member leaves etcd unless its machine was wiped;
//   - when the faults are over, every machine is a Ready node, and every control plane a voting member.
package chaos
