// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

// Needs are the requirements of a lab of containers.
type Needs struct {
	// Dir is the lab's folder; it need not exist.
	Dir string
	// Space is the space that it needs there, in bytes.
	Space uint64
	// Squashfs is set if a root image must be unpacked.
	Squashfs bool
}

// Check returns an error if this computer cannot run containers. It names each missing part with the command that adds
// it, and leaves nothing behind.
func Check(n Needs) error {
	errs := []error{n.space(), checkTun()}

	if n.Squashfs {
		errs = append(errs, findProgram("unsquashfs"))
	}

	ids, err := FindIDs()
	errs = append(errs, err, checkNamespaces())

	if cgroups, cgroupErr := NewCgroups("check"); cgroupErr != nil {
		errs = append(errs, cgroupErr)
	} else {
		errs = append(errs, cgroups.check())
	}

	// The errors above are clearer than the kernel's errors in a trial.
	if err := errors.Join(errs...); err != nil {
		return err
	}

	return probe(ids)
}

func (n Needs) space() error {
	dir := n.Dir
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}

		dir = filepath.Dir(dir)
	}

	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("read the free space in %s: %w", dir, err)
	}

	if free := st.Bavail * uint64(st.Bsize); free < n.Space {
		return fmt.Errorf("%s has %s of free space, and the machines need %s: free some space, or choose another folder with --state",
			dir, humanize.IBytes(free), humanize.IBytes(n.Space))
	}

	return nil
}

func checkTun() error {
	fd, err := unix.Open(tunPath, unix.O_RDWR|unix.O_CLOEXEC, 0)

	switch {
	case err == nil:
		return unix.Close(fd)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%s: %w: machines need it for network cards; load its module with: sudo modprobe tun", tunPath, err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s: %w: allow users to create network cards with: sudo chmod 666 %s", tunPath, err, tunPath)
	}

	return fmt.Errorf("%s: %w", tunPath, err)
}

// forbidding are settings that forbid user namespaces, with the values that do so.
var forbidding = []struct{ path, value, mend string }{
	{"/proc/sys/user/max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=10000"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"},
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
}

func checkNamespaces() error {
	if os.Geteuid() == 0 {
		return nil
	}

	for _, f := range forbidding {
		if value, err := os.ReadFile(f.path); err == nil && strings.TrimSpace(string(value)) == f.value {
			return fmt.Errorf("this computer forbids users to create namespaces (%s is %s); allow it with: %s", f.path, f.value, f.mend)
		}
	}

	return nil
}

// check returns an error if the lab cannot create its cgroups.
func (c *Cgroups) check() error {
	for _, h := range c.all {
		if err := writable(h.own); err != nil {
			if c.V1() {
				return fmt.Errorf("cgroup %s is not yours (%w), and a cgroup v1 cannot be delegated: run this as root, or start this computer with systemd.unified_cgroup_hierarchy=1",
					h.own, err)
			}

			return fmt.Errorf("cgroup %s is not delegated to you (%w): start the command with: systemd-run --user --scope -p Delegate=yes talosctl cluster create …",
				h.own, err)
		}
	}

	var missing []string

	for _, controller := range needed {
		if !c.has(controller) {
			missing = append(missing, controller)
		}
	}

	if len(missing) == 0 {
		return nil
	}

	own, add := c.all[0].own, strings.Join(missing, " +")
	if os.Geteuid() == 0 {
		return fmt.Errorf("cgroup %s has no controller %s for its children: echo +%s > %s/cgroup.subtree_control",
			own, strings.Join(missing, ", "), add, own)
	}

	return fmt.Errorf("cgroup %s has no controller %s: delegate them to users with: sudo systemctl set-property user@%d.service Delegate='cpu cpuset io memory pids', then log in again",
		own, strings.Join(missing, ", "), os.Geteuid())
}

// has reports whether children of the lab's cgroups can have a controller.
func (c *Cgroups) has(controller string) bool {
	for _, h := range c.all {
		if !h.v2 && slices.Contains(h.controllers, controller) {
			return true
		}

		// The lab does not change the controllers of the root's children.
		file := "cgroup.controllers"
		if h.own == h.mount && os.Geteuid() == 0 {
			file = "cgroup.subtree_control"
		}

		if text, err := os.ReadFile(filepath.Join(h.own, file)); h.v2 && err == nil && slices.Contains(strings.Fields(string(text)), controller) {
			return true
		}
	}

	return false
}

// writable returns an error if the caller cannot create children of a cgroup.
func writable(dir string) error {
	for _, path := range []string{dir, filepath.Join(dir, "cgroup.procs"), filepath.Join(dir, "cgroup.subtree_control")} {
		if err := unix.Access(path, unix.W_OK); err != nil && (path == dir || !errors.Is(err, unix.ENOENT)) { // v1 has no subtree_control
			return err
		}
	}

	return nil
}
