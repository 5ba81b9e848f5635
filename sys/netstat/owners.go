// SPDX-License-Identifier: Apache-2.0

//go:build linux

package netstat

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process holds a socket.
type Process struct {
	PID  uint32
	Name string
}

// Owners returns the process that holds each socket, by inode; of several processes, the one with the lowest number. proc is /proc.
// Processes that hide their files, or end during the call, are left out.
func Owners(ctx context.Context, proc string) (map[uint64]Process, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}

	owners := map[uint64]Process{}

	for _, e := range entries {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}

		pid, err := strconv.ParseUint(e.Name(), 10, 32)
		if err != nil {
			continue // not a process
		}

		p := Process{PID: uint32(pid)}

		for _, inode := range sockets(filepath.Join(proc, e.Name(), "fd")) {
			if p.Name == "" {
				comm, _ := os.ReadFile(filepath.Join(proc, e.Name(), "comm")) // it ended
				p.Name = strings.TrimSpace(string(comm))
			}

			if old, ok := owners[inode]; !ok || p.PID < old.PID {
				owners[inode] = p
			}
		}
	}

	return owners, nil
}

// sockets returns the inodes of the sockets among the open files of a process.
func sockets(folder string) []uint64 {
	dir, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer dir.Close()

	names, _ := dir.Readdirnames(-1) // it ended

	var inodes []uint64

	for _, name := range names {
		target, err := os.Readlink(filepath.Join(folder, name))
		if err != nil {
			continue
		}

		if text, ok := strings.CutPrefix(target, "socket:["); ok {
			if inode, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 64); err == nil {
				inodes = append(inodes, inode)
			}
		}
	}

	return inodes
}
