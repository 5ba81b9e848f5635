// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/seed-59268b81/talos/install/reset"
	"github.com/seed-59268b81/talos/sys/meta"
)

// Resumer goes on with a reset that was cut off.
type Resumer interface {
	// Resume looks for the record of a reset in META, and carries it out. It returns the partitions that it wiped. When it returns, the
	// volumes may be used.
	Resume(ctx context.Context, system, meta string, log *slog.Logger) (wiped []string, err error)
}

// ResetAtBoot is the Resumer of a machine. It is called before any volume is used, and before the values of META are read for anything else.
type ResetAtBoot struct {
	// World returns the machine, with the values of META and a function to be called for each wiped partition.
	World func(system string, values reset.Meta, wiped func(path string)) reset.World
	// End reboots the machine or switches it off.
	End func(reboot bool) error
}

// errUnread is the error of a META that cannot be read.
var errUnread = errors.New("look for a reset in META")

// userDiskPatience is how long a disk of users may take to appear after a boot.
const userDiskPatience = 30 * time.Second

// ResetWorld returns how the machine is wiped.
func ResetWorld(disks bool, sys string, patience time.Duration) func(system string, values reset.Meta, wiped func(string)) reset.World {
	return func(system string, values reset.Meta, wiped func(string)) reset.World {
		if !disks {
			return &ResetFolders{Root: "/", Values: values}
		}

		return &ResetDisks{Sys: sys, System: system, Values: values, Patience: patience, Wiped: wiped}
	}
}

// Resume implements Resumer.
func (r *ResetAtBoot) Resume(ctx context.Context, system, path string, log *slog.Logger) (wiped []string, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the file of a new machine without disks
	}

	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	}
	defer f.Close()

	// The machine can run with a META that is damaged, and reports the error when it reads the values. Without a record there is nothing to do.
	store, err := meta.Open(f)
	if err != nil && !errors.Is(err, meta.ErrDamaged) {
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	}

	text, there := store.Get(meta.Reset)
	if !there {
		return nil, nil
	}

	record, there, err := reset.Decode(text)
	if err != nil || !there {
		log.Error("a reset was cut off, and what it was to wipe cannot be read: reset the machine again", "error", err)

		// A later version must not wipe what is there by then.
		return nil, store.Delete(meta.Reset)
	}

	log.Warn("a reset goes on that was cut off", "wipes", record.String(), "by", record.By)

	world := r.World(system, store, func(path string) { wiped = append(wiped, path) })

	err = reset.Run(ctx, record, world, reset.Options{Last: true, Report: func(step string, err error) {
		if err != nil {
			log.Error("reset", "step", step, "error", err)
		} else {
			log.Info("reset", "step", step)
		}
	}})
	if err != nil {
		return nil, err
	}

	log.Info("the reset is done", "wiped", record.String())

	if record.SystemDisk || !record.Reboot {
		return wiped, r.End(record.Reboot)
	}

	return wiped, nil
}
