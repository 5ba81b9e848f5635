// SPDX-License-Identifier: Apache-2.0

//go:build linux

package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mounts lists the mounts of this process's namespace, which is the host's.
func mounts(context.Context) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}

	return mountLines(string(text)), nil
}

// mountLines returns the mounts of mountinfo(5), as point, file system and source.
func mountLines(text string) []string {
	var all []string

	for line := range strings.Lines(text) {
		head, tail, ok := strings.Cut(line, " - ")
		before, after := strings.Fields(head), strings.Fields(tail)

		if !ok || len(before) < 5 || len(after) < 2 || leftOut(foreignMounts, before[4]) {
			continue
		}

		all = append(all, before[4]+" ("+after[0]+" "+after[1]+")")
	}

	return all
}

// namedNamespaces lists network namespaces that a name keeps alive; those of processes end with them.
func namedNamespaces(context.Context) ([]string, error) {
	all, err := filepath.Glob("/run/netns/*")

	return slices.DeleteFunc(all, func(name string) bool { return leftOut(foreignNamespaces, name) }), err
}

// cgroups lists the folders of all hierarchies, except those in which only others' processes run.
func cgroups(context.Context) ([]string, error) {
	all, _, err := cgroupsBelow("/sys/fs/cgroup")

	return all, err
}

// cgroupsOfOthers lists the cgroups in which, or below which, only others' processes run.
func cgroupsOfOthers(context.Context) ([]string, error) {
	_, others, err := cgroupsBelow("/sys/fs/cgroup")

	return others, err
}

// cgroupsBelow returns the folders below one: those that may be ours, and those of others. Folders below one of others are
// not listed.
func cgroupsBelow(top string) (all, others []string, err error) {
	processes, err := table()
	if err != nil {
		return nil, nil, err
	}

	ours := below(os.Getpid(), processes)

	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed, or there are none
			return nil
		case err != nil || !d.IsDir():
			return err
		}

		name := strings.TrimPrefix(path, top+"/")
		if path != top && leftOut(foreignCgroups, name) {
			return fs.SkipDir
		}

		if path != top && foreign(path, ours) {
			others = append(others, name)

			return fs.SkipDir
		}

		all = append(all, name)

		return nil
	})

	return all, others, err
}

// foreign reports whether processes run in a cgroup or below it, and none of them is ours. It is then the cgroup of another
// lab or of a container engine.
func foreign(dir string, ours map[int]bool) bool {
	some, own := false, false

	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}

		text, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return nil
		}

		for pid := range strings.FieldsSeq(string(text)) {
			n, err := strconv.Atoi(pid)
			some = true
			own = own || err == nil && ours[n]
		}

		return nil
	})

	return some && !own
}

// loopDevices lists the loop devices with a file.
func loopDevices(context.Context) ([]string, error) {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")

	var all []string

	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil { // it was detached
			continue
		}

		if behind := strings.TrimSpace(string(text)); !leftOut(foreignLoops, behind) {
			all = append(all, strings.Split(file, "/")[3]+" of "+behind)
		}
	}

	return all, err
}

// sysctls lists the settings of the kernel, its file systems, network, memory and namespaces. A user who cannot read a
// setting cannot change it either.
func sysctls(context.Context) ([]string, error) {
	const top = "/proc/sys"

	var all []string

	for _, part := range []string{"fs", "kernel", "net", "user", "vm"} {
		err := filepath.WalkDir(filepath.Join(top, part), func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(path, top+"/")

			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case leftOut(restless, name) && d.IsDir():
				return fs.SkipDir
			case leftOut(restless, name) || d.IsDir():
				return nil
			}

			// A setting that can only be written is a command.
			if value, err := os.ReadFile(path); err == nil {
				all = append(all, name+" = "+strings.Join(strings.Fields(string(value)), " "))
			}

			return nil
		})
		if err != nil {
			return nil, err
		}
	}

	return all, nil
}
