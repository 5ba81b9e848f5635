// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// Installer puts the system of a machine that is on no disk onto one.
type Installer interface {
	// Check returns what an installation would do, or why it cannot begin. It changes nothing.
	Check(ctx context.Context, cfg *view.Config) (string, error)
	// Install calls say with each step.
	Install(ctx context.Context, cfg *view.Config, say func(string)) error
}

// diskPatience is how long a disk with the system may take to appear after udevd has handled all devices. Controllers of many disks take some
// seconds to find them.
const diskPatience = 15 * time.Second

// checkTime limits the look at disks before an installation.
const checkTime = 30 * time.Second

// installing is an installation that runs.
type installing struct {
	ended  <-chan error
	stop   context.CancelFunc
	reboot bool
	// waited is since when the devices are there and no disk has the system.
	waited time.Time
}

// halt ends an installation, which can be made again.
func (i *installing) halt() {
	if i.stop != nil {
		i.stop()
		<-i.ended
	}

	i.stop, i.ended = nil, nil
}

// withoutSystem returns none when no disk has the system, and absent while one may still appear.
func (c *Controller) withoutSystem(ctx context.Context, rt controller.Runtime) (diskState, error) {
	if c.Installer == nil {
		return absent, nil
	}

	devices := typed.Read(ctx, rt, runtime.DevicesStatusID, &runtime.DevicesStatusSpec{})
	system := typed.Read(ctx, rt, block.SystemDiskID, &block.SystemDiskSpec{})

	switch err := errors.Join(devices.Err, system.Err); {
	case err != nil:
		return absent, err
	case !devices.OK || system.OK:
		return absent, nil
	case c.installing.waited.IsZero():
		c.installing.waited = time.Now()
		time.AfterFunc(diskPatience, rt.QueueReconcile)
	}

	if time.Since(c.installing.waited) < diskPatience {
		return absent, nil
	}

	return none, nil
}

// beginInstall starts the installation of a configuration.
func (c *Controller) beginInstall(ctx context.Context, rt controller.Runtime, cfg *config.Config, log *slog.Logger) error {
	v := view.Of(cfg)
	status := runtime.UnattendedInstallStatusSpec{Phase: runtime.UnattendedInstallInstalling}

	if in := v.Install(); in != nil {
		c.installing.reboot, status.Image = in.Reboot, in.Image
	}

	if err := c.showInstall(ctx, rt, status); err != nil {
		return err
	}

	c.installing.halt()

	ctx, c.installing.stop = context.WithCancel(ctx)
	c.installing.ended = guard.Go(func() error {
		return c.Installer.Install(ctx, v, func(text string) { log.Info("installation: " + text) })
	})

	return nil
}

// endInstall handles the end of an installation.
func (c *Controller) endInstall(ctx context.Context, rt controller.Runtime, err error, log *slog.Logger) error {
	c.installing.stop()
	c.installing.stop, c.installing.ended = nil, nil

	var status runtime.UnattendedInstallStatusSpec
	if f := typed.Read(ctx, rt, runtime.UnattendedInstallStatusID, &status); f.Err != nil {
		return f.Err
	}

	switch {
	case err != nil:
		log.Error("the system was not installed: no disk starts it", "error", err)
		status.Phase, status.Error = runtime.UnattendedInstallFailed, err.Error()
	case c.installing.reboot:
		status.Phase, status.Error = runtime.UnattendedInstallWaitingForReboot, ""
	default:
		status.Phase, status.Error = runtime.UnattendedInstallInstalled, ""
	}

	if err := c.showInstall(ctx, rt, status); err != nil {
		return err
	}

	return c.handle(ctx, rt, installOver{c.installing.reboot, err}, log)
}

func (c *Controller) showInstall(ctx context.Context, rt controller.Runtime, status runtime.UnattendedInstallStatusSpec) error {
	return typed.Set(ctx, rt, "", runtime.UnattendedInstallStatusID, status)
}

// install accepts a configuration for a machine that is on no disk: the system is installed as it says, and it is stored there.
func (c *Controller) install(ctx context.Context, rt controller.Runtime, cfg *config.Config, change Change, log *slog.Logger) (string, error) {
	switch {
	case c.state.installation.running || c.state.installation.done:
		return "", fmt.Errorf("%w: the machine is being installed: see talosctl get unattendedinstallstatus", ErrNotReady)
	case change.Mode == Try || change.Mode == TryHealthy:
		return "", fmt.Errorf("%w: the machine is on no disk, so that nothing can be tried and taken back: apply it without --mode=try", ErrInvalid)
	}

	text, err := c.checkInstall(ctx, cfg)
	if err != nil {
		return "", err
	}

	if err := c.handle(ctx, rt, installRequested{cfg}, log); err != nil {
		return "", err
	}

	text = "The machine " + text + ", and stores the configuration there"
	if view.Of(cfg).Install().Reboot {
		text += ". Then it restarts from that disk"
	}

	return text + ": see talosctl get unattendedinstallstatus", nil
}

// checkInstall returns what an installation would do, or why it cannot begin.
func (c *Controller) checkInstall(ctx context.Context, cfg *config.Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()

	text, err := c.Installer.Check(ctx, view.Of(cfg))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}

	return text, nil
}
