// SPDX-License-Identifier: Apache-2.0

// Package config holds the controllers of the machine configuration: where it is found, how a new one takes effect,
// and how it is kept.
//
// The configuration has one writer, the ConfigController. It looks for one at the start of the machine (in STATE, then
// on the kernel's command line), asks for maintenance when there is none, and takes new ones from the API through
// Apply. What is on disk is written so that a power cut leaves the old text or the new one.
package config
