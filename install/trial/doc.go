// SPDX-License-Identifier: Apache-2.0

// Package trial decides whether a change of the machine stays. A change is a new boot entry, a new configuration, or both. It is armed, it
// runs, and it is committed or reverted:
//
//	          boot, or at once            healthy for 30 s, or confirmed
//	armed ─────────────────────▶ running ────────────────────────────────▶ committed
//	  │                             │  deadline, cannot recover, refused,
//	  │ never started               │  or another boot: panic, hang, power cut
//	  └─────────────────────────────┴───────────────────────────────────▶ reverted
//
// Judge is a pure function from a record and an event to the next record and to actions. The record is kept in META, which is written as a
// whole, so it is readable before any file system is. Save is an action like the others: what comes before it in a list of actions is
// already on the disk when the record changes, and what comes after it can be done again.
//
// # What a power cut leaves
//
// Until the change is committed, the boot loader's default entry and the stored configuration are the old ones. The loader starts the new
// entry once, and the new configuration is a file of its own. So after a cut the machine starts with what was committed, and Judge finds the
// trial in the record:
//
//	armed                                 reverted: it never started. A configuration alone begins now
//	running                               reverted: the machine restarted before the trial was decided
//	running, and the default entry, or    committed: the cut came after the commit point, and the rest is done now
//	  without an entry the stored
//	  configuration, is the new one
//	reverted                              the rest is done now
//
// A change with an entry has its commit point in the default entry, and a change of the configuration alone in the stored configuration.
// Each is replaced atomically. Boot counting of systemd-boot was rejected: it renames files on FAT at each boot, and it takes the highest
// version, so a downgrade would never run.
//
// # Orderly restarts
//
// Who restarts a machine does not mean to undo its configuration. A configuration that waits for no person is committed before the restart if all
// conditions hold, and have for Settled; otherwise the trial is armed again, for the next boot, twice at most. A boot entry is not: whether it
// runs is what is tried, and a machine that cannot restart by itself must come back with the one before.
//
// # What decides
//
// The machine's own conditions, and those of the cluster that held before the change. The deadline leaves a slow machine's pods their time. The
// machine's own conditions have a shorter one: if they fail for that long without a break, the change is reverted. When the cluster is lost for
// all its nodes, a change after which the machine's own conditions hold is committed at the deadline: the change did not cause the loss, and
// going back would not end it.
package trial
