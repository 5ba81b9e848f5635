// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/sys/mount"
)

// Paths in the initramfs.
const (
	// RootImage is the root file system.
	RootImage = "/rootfs.sqsh"
	// ModuleList names the module files to load, one a line, in order. Their parameters follow the name.
	ModuleList = "/modules.load"
	// EvidenceList names the file of the driver of the firmware's memory, in which the kernel keeps its last lines when it panics. It is loaded
	// before the root image is mounted, so that a version that ends then leaves its reason. A machine without such a memory has no use for it.
	EvidenceList = "/evidence.load"
	// newRoot is where the new root is assembled.
	newRoot = "/root"
	// realInit is what runs after the switch.
	realInit = "/sbin/init"
)

// initramfsMounts are moved into the new root.
var initramfsMounts = []mount.Point{
	{Source: "devtmpfs", Target: "/dev", FSType: "devtmpfs", Flags: mount.NoSuid, Data: "mode=0755"},
	{Source: "proc", Target: "/proc", FSType: "proc", Flags: mount.NoSuid | mount.NoDev | mount.NoExec},
	{Source: "sysfs", Target: "/sys", FSType: "sysfs", Flags: mount.NoSuid | mount.NoDev | mount.NoExec},
}

// Initramfs is process 1 of the initramfs. It does not return: it becomes /sbin/init of the new root, or logs the error and
// reboots after a pause. With the kernel argument panic=0 it waits instead.
func Initramfs() {
	err := mount.All(initramfsMounts)
	log := openKmsg()

	if err == nil {
		// Each takes time. The boot waits for the watchdog only before it leaves the initramfs, and never for what the firmware has kept.
		armed := guard.Go(func() error { armWatchdog(log); return nil })
		guard.Go(func() error { return loadModules(EvidenceList) })

		err = enterRoot(log, armed)
	}

	Halt(fmt.Errorf("initramfs: %w", err), log.errorf)
}

// enterRoot mounts the root image and starts its init, when the watchdog is armed.
func enterRoot(log *kmsg, armed <-chan error) error {
	if err := loadModules(ModuleList); err != nil {
		return err
	}

	if err := mountImage(RootImage, newRoot); err != nil {
		return fmt.Errorf("the root image cannot be mounted: %w", err)
	}

	if _, err := os.Stat(newRoot + realInit); err != nil {
		return fmt.Errorf("the root image has no %s: %w", realInit, err)
	}

	if err := embedConfig("/", newRoot); err != nil {
		log.errorf("initramfs: %v", err)
	}

	if err := <-armed; err != nil {
		log.errorf("initramfs: watchdog: %v", err)
	}

	for _, p := range initramfsMounts {
		if err := mount.Move(p.Target, newRoot+p.Target); err != nil {
			return err
		}
	}

	if err := plugCards(); err != nil {
		log.errorf("initramfs: %v", err)
	}

	log.infof("switching to the root image")

	return switchRoot(newRoot, realInit)
}

// loadModules inserts the modules of a list, in order. Modules that are loaded already are skipped.
func loadModules(list string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return fmt.Errorf("load kernel modules: %w", err)
	}

	for _, m := range moduleLines(string(text)) {
		if err := m.insert(); err != nil {
			return err
		}
	}

	return nil
}

// moduleFile is a line of a list of modules.
type moduleFile struct{ file, params string }

func moduleLines(text string) (out []moduleFile) {
	for line := range strings.Lines(text) {
		file, params, _ := strings.Cut(strings.TrimSpace(line), " ")
		if file != "" {
			out = append(out, moduleFile{file, strings.TrimSpace(params)})
		}
	}

	return out
}

// name returns the name of the module.
func (m moduleFile) name() string { return strings.TrimSuffix(path.Base(m.file), ".ko") }

// insert loads the module, unless it is loaded.
func (m moduleFile) insert() error {
	f, err := os.Open(m.file)
	if err == nil {
		err = unix.FinitModule(int(f.Fd()), m.params, 0)
		f.Close()
	}

	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("load kernel module %s: %w", m.file, err)
	}

	return nil
}
