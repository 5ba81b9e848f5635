// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command talos is the operating system's multi-call program. It runs machined (as /sbin/init, process 1), apid, trustd
// or discoveryd, depending on its name.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/apid"
	"github.com/seed-59268b81/talos/discovery/carrier"
	"github.com/seed-59268b81/talos/machine"
	"github.com/seed-59268b81/talos/trustd"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "init", "machined":
		if os.Getpid() != 1 {
			fail("%s: must run as process 1, not %d", name, os.Getpid())
		}

		machine.Main()
	case "apid":
		rename(name)
		apid.Main()
	case "trustd":
		rename(name)
		trustd.Main()
	case "discoveryd":
		rename(name)
		carrier.Main()
	default:
		fail("unknown name %q: want init, machined, apid, trustd or discoveryd", name)
	}
}

func init() { runtime.LockOSThread() } // for rename: main runs on the first thread

// rename sets the process name: the kernel would show the name of the executable file.
func rename(name string) {
	defer runtime.UnlockOSThread()

	text, err := unix.BytePtrFromString(name)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(text)), 0, 0, 0)
	}

	if err != nil {
		fail("set process name: %v", err)
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "talos: "+format+"\n", args...)
	os.Exit(1)
}
