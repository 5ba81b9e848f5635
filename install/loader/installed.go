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

// Installed is the boot loader of this machine, systemd-boot. It reads the EFI partition for each use, which must not be mounted. It is safe
// for concurrent use.
type Installed struct {
	// Open opens the EFI partition, and returns its size in bytes.
	Open func() (Partition, int64, error)
	Vars efivar.Dir

	mu sync.Mutex
}

// Use calls fn with the boot loader.
func (i *Installed) Use(fn func(Loader) error) error {
	i.mu.Lock()
	defer i.mu.Unlock()

	p, size, err := i.Open()
	if err != nil {
		return fmt.Errorf("open the EFI partition: %w", err)
	}

	f, err := fat.Open(p, size, time.Now())
	if err != nil {
		return errors.Join(fmt.Errorf("open the EFI partition: %w", err), p.Close())
	}

	return errors.Join(fn(SystemdBoot{ESP: f, Vars: i.Vars}), p.Close())
}
