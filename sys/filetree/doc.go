// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package filetree reads files for a remote user: it walks trees and reads contents. A file may change or be removed at any time,
// or may not be a regular file. Nothing here waits for a FIFO, a device, or the kernel's log. When a file system does not answer,
// because its server is down, Open, its Content and Statfs still end with their context; a walk ends when its current system call
// returns, and only a few may wait at once (see gate.go). A walk follows symbolic links at its root and nowhere below.
package filetree
