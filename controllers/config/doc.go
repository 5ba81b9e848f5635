// SPDX-License-Identifier: Apache-2.0

// Package config holds the controllers of the machine configuration: where it is found, how a new one takes effect,
// and how it is kept.
//
// The configuration has one writer, the ConfigController. It looks for one at the start of the machine (in STATE, then
// on the kernel's command line), asks for maintenance when there is none, and takes new ones from the API through
// Apply. What is on disk is written so that a power cut leaves the old text or the new one.
//
// A stored configuration that cannot be decoded, of a newer version or damaged, stays where it is, and the machine stays closed to
// strangers: what the API needs to know of its administrators is kept in a second file (config/access). The certificates of their
// authorities are in META too, a partition of its own: so is a machine whose STATE is lost, empty, or cannot be mounted
// (administrators.go).
package config
