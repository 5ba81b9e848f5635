// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"

	subid "github.com/moby/sys/user"
)

// idCount is how many ids a machine has besides root's: pods use any of 16 bits, and the scheduler uses 65536.
const idCount = 1 << 16

// IDs are this computer's ids for a machine's ids. Id 0 is the caller, and those from 1 on are subordinate ids.
type IDs struct {
	UID, GID       int
	SubUID, SubGID int
}

// FindIDs returns the caller's subordinate ids, and nil for root, which needs none.
func FindIDs() (*IDs, error) {
	if os.Geteuid() == 0 {
		return nil, nil
	}

	ids := &IDs{UID: os.Geteuid(), GID: os.Getegid()}
	errs := []error{findProgram("newuidmap"), findProgram("newgidmap")}

	name := strconv.Itoa(ids.UID)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}

	for _, file := range []struct {
		path, option string
		first        *int
	}{{"/etc/subuid", "--add-subuids", &ids.SubUID}, {"/etc/subgid", "--add-subgids", &ids.SubGID}} {
		ranges, err := subid.ParseSubIDFileFilter(file.path, func(s subid.SubID) bool {
			return (s.Name == name || s.Name == strconv.Itoa(ids.UID)) && s.Count >= idCount
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("read %s: %w", file.path, err))
		} else if len(ranges) == 0 {
			errs = append(errs, fmt.Errorf("%s has no %d subordinate ids for %s: add them with: sudo usermod %s 100000-165535 %s",
				file.path, idCount, name, file.option, name))
		} else {
			*file.first = int(ranges[0].SubID)
		}
	}

	return ids, errors.Join(errs...)
}

func findProgram(name string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("%s is not installed: sudo apt-get install %s", name, packages[name])
	}

	return nil
}

// packages are the Debian packages of the programs that containers need.
var packages = map[string]string{"newuidmap": "uidmap", "newgidmap": "uidmap", "unsquashfs": "squashfs-tools"}

// apply sets the ids of a process in a new user namespace.
func (i *IDs) apply(pid int) error {
	if i == nil {
		return nil
	}

	for _, m := range []struct {
		program    string
		own, first int
	}{{"newuidmap", i.UID, i.SubUID}, {"newgidmap", i.GID, i.SubGID}} {
		cmd := exec.Command(m.program, strconv.Itoa(pid),
			"0", strconv.Itoa(m.own), "1", "1", strconv.Itoa(m.first), strconv.Itoa(idCount))

		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", m.program, err, strings.TrimSpace(string(out)))
		}
	}

	return nil
}
