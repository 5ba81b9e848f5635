// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/mount"
)

// inContainer are the targets of the mounts that machined needs in a container too. The others are file systems of the kernel
// that belong to the host.
var inContainer = []string{layout.RunDir, layout.SystemDir, "/tmp", "/dev/shm", "/dev/pts", "/dev/mqueue", "/sys/fs/cgroup"}

// containerMounts returns the mounts that the container engine has not made.
func containerMounts(points []mount.Point, table []mount.Entry) []mount.Point {
	var out []mount.Point

	for _, p := range points {
		there := slices.ContainsFunc(table, func(e mount.Entry) bool { return e.Target == p.Target })
		if !there && slices.Contains(inContainer, p.Target) {
			out = append(out, p)
		}
	}

	return out
}

// standIns are replacements of files in /proc that describe the host. A boot of the container has its own id and no kernel
// arguments. The kubelet requires some kernel parameters and would set them; the replacements have them set.
func standIns(bootID string) map[string]string {
	return map[string]string{
		"/proc/sys/kernel/random/boot_id":     bootID,
		"/proc/cmdline":                       "\n",
		"/proc/sys/vm/overcommit_memory":      "1\n",
		"/proc/sys/vm/panic_on_oom":           "0\n",
		"/proc/sys/kernel/panic":              "10\n",
		"/proc/sys/kernel/panic_on_oops":      "1\n",
		"/proc/sys/kernel/keys/root_maxkeys":  "1000000\n",
		"/proc/sys/kernel/keys/root_maxbytes": "25000000\n",
	}
}

// earlyContainer is Early in a container: the same system folders and limits, without changes to the host.
func earlyContainer(canRaise bool) error {
	table, err := mount.Table()
	if err != nil {
		return err
	}

	// The kernel's log is the host's. The kubelet does not start without /dev/kmsg, but accepts an empty one.
	links := map[string]string{"/dev/fd": "/proc/self/fd", "/dev/kmsg": "/dev/null"}
	if err := prepare(containerMounts(Mounts(), table), links); err != nil {
		return err
	}

	// The kernel returns a new id at each read.
	bootID, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		return fmt.Errorf("create the id of this boot: %w", err)
	}

	if err := standIn(standIns(string(bootID))); err != nil {
		return err
	}

	return setEnvironment(canRaise)
}

// standIn binds files with the given content over others. It skips files that this kernel does not have.
func standIn(files map[string]string) error {
	for target, text := range files {
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			continue
		}

		source := filepath.Join(layout.ProcDir, target)

		if err := errors.Join(os.MkdirAll(filepath.Dir(source), 0o755), os.WriteFile(source, []byte(text), 0o444)); err != nil {
			return fmt.Errorf("replace %s: %w", target, err)
		}

		if err := mount.Bind(source, target, hardened|mount.ReadOnly); err != nil {
			return err
		}
	}

	return nil
}
