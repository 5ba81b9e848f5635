// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/sys/efivar"
	"github.com/seed-59268b81/talos/sys/fat"
)

// Partition is an open partition that nothing else uses.
type Partition interface {
	fat.Device
	Close() error
}

// ErrNoSystem is the error of a machine that is on no disk.
var ErrNoSystem = errors.New("no disk has the system: see talosctl get systemdisk")

// Installed is the boot loader of this machine. It reads the partition with the entries for each use, which must not be mounted. It is safe for
// concurrent use.
type Installed struct {
	// Open opens the partition with the entries, and returns its size in bytes: the EFI partition, or BOOT of a machine with a BIOS.
	Open func() (Partition, int64, error)
	Vars efivar.Dir
	// BIOS is set if GRUB has started the machine, and Cmdline has the kernel's command line then.
	BIOS    bool
	Cmdline string

	mu sync.Mutex
}

// Use calls fn with the boot loader.
func (i *Installed) Use(fn func(Loader) error) error {
	i.mu.Lock()
	defer i.mu.Unlock()

	p, size, err := i.Open()
	if err != nil {
		return fmt.Errorf("open the partition with the boot entries: %w", err)
	}

	f, err := fat.Open(p, size, time.Now())
	if err != nil {
		return errors.Join(fmt.Errorf("open the partition with the boot entries: %w", err), p.Close())
	}

	if i.BIOS {
		return errors.Join(fn(GRUB{Boot: f, Cmdline: i.Cmdline}), p.Close())
	}

	return errors.Join(fn(SystemdBoot{ESP: f, Vars: i.Vars}), p.Close())
}
