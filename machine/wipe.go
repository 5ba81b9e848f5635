// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"fmt"
	"time"

	blockctl "github.com/seed-59268b81/talos/controllers/block"
	metactl "github.com/seed-59268b81/talos/controllers/meta"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/reset"
	"github.com/seed-59268b81/talos/resources/block"
	runtimeres "github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
)

// wipeTime is how long a machine that goes down may be wiped. It goes on at the next boot, without a limit.
const wipeTime = 10 * time.Minute

// wipe carries out the reset that is in META. Nothing uses the disks any more; what is still in use is wiped at the next boot.
func (m *Machine) wipe(values *metactl.Values) error {
	ctx, cancel := context.WithTimeout(context.Background(), wipeTime)
	defer cancel()

	// A dead disk may hang in the kernel.
	done := guard.Go(func() error { return m.wipeNow(ctx, values) })

	select {
	case err := <-done:
		return err
	case <-time.After(wipeTime + time.Second):
		return fmt.Errorf("wipe: timed out after %s", wipeTime)
	}
}

func (m *Machine) wipeNow(ctx context.Context, values *metactl.Values) error {
	text, err := values.Get(meta.Reset)
	if err != nil {
		return err
	}

	record, there, err := reset.Decode(text)
	if err != nil || !there {
		return err
	}

	var system block.SystemDiskSpec
	if f := typed.Read(ctx, m.State, block.SystemDiskID, &system); f.Err != nil {
		return f.Err
	}

	world := blockctl.ResetWorld(m.Platform.Owns(platform.Disks), disk.Sys, 0)(system.DevPath, values, nil)

	return reset.Run(ctx, record, world, reset.Options{Report: func(step string, err error) {
		if err == nil {
			m.Log.Info("reset", "step", step)
		}
	}})
}

// afterReset ends the machine after a reset that went on at this boot.
func (m *Machine) afterReset(reboot bool) error {
	if reboot {
		return m.end(runtimeres.PowerReboot)
	}

	return m.end(runtimeres.PowerShutdown)
}
