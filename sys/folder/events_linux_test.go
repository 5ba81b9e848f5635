// SPDX-License-Identifier: Apache-2.0

package folder_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/folder"
)

// TestNoEventsOfTheFolder watches a folder as the kubelet watches its static pods: a write is an event of a file, and never of the folder
// itself.
func TestNoEventsOfTheFolder(t *testing.T) {
	root := t.TempDir()
	want := folder.Folder{Path: "/pods", UID: os.Getuid(), Files: map[string]folder.File{"a.json": folder.Private([]byte("{}"))}}

	if err := folder.Write(root, want); err != nil {
		t.Fatal(err)
	}

	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)

	if _, err := unix.InotifyAddWatch(fd, filepath.Join(root, want.Path), unix.IN_ATTRIB|unix.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}

	want.Files["b.json"] = folder.Private([]byte("{}"))

	for _, write := range []func(string, folder.Folder) error{folder.Write, folder.Add} {
		if err := write(root, want); err != nil {
			t.Fatal(err)
		}
	}

	// An event has 16 bytes; the last four are the length of the name, which is zero for the folder itself.
	events := make([]byte, 4096)

	n, err := unix.Read(fd, events)
	if err != nil {
		t.Fatal(err)
	}

	moved := 0

	for at := 0; at < n; {
		mask, length := uint32At(events, at+4), uint32At(events, at+12)
		if length == 0 {
			t.Errorf("got event %#x of the folder, want none", mask)
		}

		if mask&unix.IN_MOVED_TO != 0 {
			moved++
		}

		at += unix.SizeofInotifyEvent + int(length)
	}

	if moved != 1 {
		t.Errorf("got %d files moved into the folder, want 1", moved)
	}
}

func uint32At(b []byte, at int) uint32 {
	return uint32(b[at]) | uint32(b[at+1])<<8 | uint32(b[at+2])<<16 | uint32(b[at+3])<<24
}
