// SPDX-License-Identifier: Apache-2.0

// Package config holds the controllers of the machine configuration: they find it, put a new one in effect, and store it.
//
// The configuration has one writer, the ConfigController. It looks for a configuration at the start of the machine (in STATE, then
// on the kernel's command line), requests maintenance when there is none, and accepts new ones from the API through Apply. After a
// power cut the disk has the old text or the new one.
//
// A configuration that is tried is a file of its own beside the stored one until it is committed. Package install/trial decides what becomes of
// it, and trials.go carries that out. The record of the last trial is in META, and the resource Trial shows it. What is applied is tried unless
// the caller says otherwise, or it cannot be (trial_default.go).
//
// A stored configuration that cannot be decoded, because it is damaged or of a newer version, is left unchanged, and the machine
// stays closed to strangers: a second file has what the API needs to know of the administrators (config/access). The certificates of
// their authorities are also in META, so that a machine whose STATE is lost, empty or cannot be mounted stays closed, too
// (administrators.go).
package config
