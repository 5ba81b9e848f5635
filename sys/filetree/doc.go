// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package filetree looks at files for somebody who is elsewhere: it walks trees and reads contents, of which any may
// change, go, or be no file at all meanwhile. Nothing here waits for a FIFO, a device, the kernel's log, or a server that
// is gone: when the context ends, so does the call. Symbolic links are followed at the start of a walk and nowhere below.
package filetree
