// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/lab/machine"
)

// SetDisk makes the disk of the machine slow, by the limit of its cgroups for writes. The kernel's own writes, such as those of a journal,
// are not limited, so other machines on the same file system hardly notice.
func (m *Machine) SetDisk(_ context.Context, disk machine.Disk) error {
	const op = "limit the disk of"

	r := m.run.Load()
	if r == nil {
		return fmt.Errorf("%s %s: %w", op, m.cfg.Name, machine.ErrOff)
	}

	// As in freeze.
	r.mu.Lock()
	defer r.mu.Unlock()

	switch {
	case r.boot.ended && disk == (machine.Disk{}): // the next boot has none
		return nil
	case r.boot.ended:
		return fmt.Errorf("%s %s: it is being started: try again", op, m.cfg.Name)
	}

	if err := m.cfg.Cgroup.limitWrites(filepath.Join(m.cfg.Dir, ephemeralDir), disk.Writes); err != nil {
		return fmt.Errorf("%s %s: %w", op, m.cfg.Name, err)
	}

	return nil
}

// The files with the limit, of both versions.
const (
	writes2 = "io.max"
	writes1 = "blkio.throttle.write_iops_device"
)

// limitWrites limits the writes per second to the disk with a folder; 0 removes the limit. In v1 the limit of a cgroup is not that of those below it,
// so that all of them get it, and those that are made later do not.
func (c Cgroup) limitWrites(folder string, most int) error {
	found := false

	for _, dir := range c.dirs() {
		for _, file := range []string{writes2, writes1} {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				continue
			}

			found = true

			if err := limitWrites(dir, file, folder, most); err != nil {
				return err
			}
		}
	}

	if !found && most > 0 {
		return errors.New("this computer has no controller of cgroups for disks")
	}

	return nil
}

func limitWrites(dir, file, folder string, most int) error {
	disk, err := diskOf(folder)
	if err != nil {
		if most == 0 {
			return nil // it never had a limit
		}

		return err
	}

	if file == writes2 {
		value := "max"
		if most > 0 {
			value = strconv.Itoa(most)
		}

		return os.WriteFile(filepath.Join(dir, file), []byte(disk+" wiops="+value), 0)
	}

	dirs, err := tree(dir)
	if err != nil {
		return err
	}

	for _, d := range dirs {
		if err := os.WriteFile(filepath.Join(d, file), fmt.Appendf(nil, "%s %d", disk, most), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}

	return nil
}

// diskOf returns the numbers of the disk with a folder, MAJOR:MINOR. That of a partition is the disk with the partition.
func diskOf(folder string) (string, error) {
	var s unix.Stat_t
	if err := unix.Stat(folder, &s); err != nil {
		return "", fmt.Errorf("find the disk of %s: %w", folder, err)
	}

	at := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(s.Dev), unix.Minor(s.Dev))
	if _, err := os.Stat(at); err != nil {
		return "", fmt.Errorf("find the disk of %s: its file system is not on one: %w", folder, err)
	}

	if _, err := os.Stat(at + "/partition"); err == nil {
		at += "/.." // at is a link
	}

	text, err := os.ReadFile(at + "/dev")
	if err != nil {
		return "", fmt.Errorf("find the disk of %s: %w", folder, err)
	}

	return strings.TrimSpace(string(text)), nil
}
