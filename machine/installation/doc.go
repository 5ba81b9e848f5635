// SPDX-License-Identifier: Apache-2.0

// Package installation puts the system of a machine that is on no disk onto one: it finds the disk that the configuration means, and the
// release, which is that of the medium that the machine was started from, or of a registry. Package install writes.
//
//	disks.go    which disk: by its path, by its properties, or by an expression
//	media.go    the medium, which is never written to
//	release.go  which release, and where it is
//
// Check says what an installation would do, or why it cannot be. It changes nothing, and an installation makes the same checks again.
package installation
