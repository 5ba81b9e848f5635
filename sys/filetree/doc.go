// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package filetree looks at files for somebody who is elsewhere: it walks trees and reads contents, of which any may
// change, go, or be no file at all meanwhile. Nothing here waits for a FIFO, a device, or the kernel's log. Where a
// file system does not answer, as its server is gone, Open, its Content and Statfs end with their context all the same; a
// walk ends when the answer to its one question is there, and few may wait like that at once (see gate.go). Symbolic links
// are followed at the start of a walk and nowhere below.
package filetree
