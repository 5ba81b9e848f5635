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
//
// No fault sets a clock. The machines are containers, and Linux has one real-time clock for all of them: time namespaces shift only the
// monotonic and the boot-time clock, and a container may not set the other one. A clock that jumps is in the scripts of controllers/time
// (testdata/sync), against servers that lie, disagree and are silent.
package chaos
