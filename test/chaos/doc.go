// SPDX-License-Identifier: Apache-2.0

// Package chaos runs a cluster of many machines, hurts it at random while clients write, and checks the history of what was
// seen. The faults follow from a seed (plan.go), so a run that found something can be repeated: CHAOS_SEED names the seed, CHAOS_TIME how
// long it goes on.
//
// The cluster has five control planes and two workers. A sixth machine with another name and address is off; it takes the place of a control
// plane whose machine is lost for good, and then the lost one is off, with empty disks, and replaces the next.
//
// What is checked, always:
//
//   - a write that was acknowledged is seen by every later read, at every API server, and is there at the end;
//   - all API servers belong to one cluster;
//   - no member leaves etcd unless its machine was wiped;
//   - when the faults are over, every machine is a Ready node, and every control plane a voting member; a machine that was replaced is neither.
//
// No fault sets a clock. The machines are containers, and Linux has one real-time clock for all of them. A time namespace has offsets of the
// monotonic and the boot-time clock only, which are fixed before its first process starts: a machine could begin with another uptime, which
// a reboot gives it too, but no clock would jump while it runs. What a jump of the real-time clock could harm is tested where the time is an
// input, or a virtual machine has a clock of its own:
//
//   - the clock itself: the scripts of controllers/time (testdata/sync), against servers that lie, disagree and are silent;
//   - certificates: TestKeepOrSign and TestRenewal of controllers/secrets, with a clock that was set back, ahead, and not yet;
//   - the cluster as a whole: TestClockJump of test/e2e, in a virtual machine.
//
// TTLs of the discovery service, leases of etcd and all timeouts are durations of the monotonic clock, also in the files that outlive a process:
// a snapshot of the discovery service has what is left of each TTL.
package chaos
