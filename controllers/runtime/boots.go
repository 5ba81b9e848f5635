// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/sys/kmsg"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/version"
)

// bootLogs writes the logs of this boot to EPHEMERAL while that is mounted, records the reason when the machine goes down, and
// publishes the known boots.
type bootLogs struct {
	journal  *bootlog.Journal
	platform platform.Platform
	root     string
	settled  <-chan struct{}
	settling <-chan error // nil until settle has begun
}

// settledTime bounds the wait for the drivers that show why the last boot ended.
const settledTime = 20 * time.Second

// BootLogController writes the journal to EPHEMERAL. The evidence of a crash is below root, which is "/" outside of tests. It is read
// after settled is closed, because the drivers of the firmware's memory and of watchdogs are loaded late. Evidence of the host is
// left alone.
func BootLogController(journal *bootlog.Journal, p platform.Platform, root string, settled <-chan struct{}) controller.Controller {
	c := &bootLogs{journal: journal, platform: p, root: root, settled: settled}

	return &controller.Reconciler{
		ControllerName: c.name(),
		Reads: append(volume.Inputs(),
			controller.In[runtime.PowerRequestSpec](controller.Weak, "", runtime.PowerRequestID),
			controller.In[runtime.BootIDSpec](controller.Weak, "", runtime.BootIDID),
		),
		Writes:    []controller.Output{volume.Output(), controller.Out[runtime.BootSpec](controller.Exclusive)},
		Cleanup:   []resource.Kind{resource.KindOf[runtime.BootSpec]("")},
		Reconcile: c.reconcile,
	}
}

func (*bootLogs) name() string { return "runtime.BootLogController" }

func (c *bootLogs) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	// Record the reason before the disk is released: the machine goes down.
	var (
		request runtime.PowerRequestSpec
		id      runtime.BootIDSpec
	)

	asked := typed.Read(ctx, rt, runtime.PowerRequestID, &request)
	if asked.Err != nil {
		return asked.Err
	}

	if asked.OK {
		if err := c.journal.End(endReason(request)); err != nil {
			log.Error("the reason of this boot's end could not be recorded", "error", err)
		}
	}

	if f := typed.Read(ctx, rt, runtime.BootIDID, &id); !f.OK {
		return f.Err
	}

	mounted, err := volume.Request(ctx, rt, c.name(), "boot-logs", block.VolumeEphemeral, func(context.Context) error {
		if err := c.journal.Close(); err != nil {
			// The machine must go down: lines that could not be written are lost.
			log.Error("the last lines of this boot could not be kept", "error", err)
		}

		return nil
	})
	if err != nil || mounted == "" {
		return err
	}

	boot := bootlog.Boot{ID: id.BootID, Start: c.started().UTC(), Version: version.Tag}
	report := func(err error) {
		if err != nil {
			log.Error("the logs of this boot are not kept", "error", err)
		} else {
			log.Info("the logs of this boot are kept again")
		}
	}

	if err := c.journal.Open(bootlog.Folder(mounted), boot, report); err != nil {
		return err
	}

	if c.settling == nil {
		c.settling = guard.Go(func() error { return c.settle(ctx, rt.QueueReconcile, log) })
	}

	return c.state(ctx, rt)
}

// settle records why the last boot ended, when the drivers that show it are loaded. The controller does not wait for it, because the
// machine may go down first.
func (c *bootLogs) settle(ctx context.Context, settled func(), log *slog.Logger) error {
	evidence := bootlog.Evidence{}

	if c.platform.Owns(platform.CrashEvidence) {
		select {
		case <-c.settled:
		case <-time.After(settledTime):
		case <-ctx.Done():
			return nil
		}

		evidence = bootlog.Gather(c.root)
	}

	if err := c.journal.Settle(evidence); err != nil {
		log.Error("why the last boot ended could not be recorded", "error", err)
	}

	settled()

	return nil
}

// started returns when this boot began: at the start of the kernel, unless that is the host's.
func (c *bootLogs) started() time.Time {
	if c.platform.Owns(platform.KernelLog) {
		return kmsg.BootTime()
	}

	return processStart
}

// processStart is when machined was started.
var processStart = time.Now()

// state writes the boots as resources.
func (c *bootLogs) state(ctx context.Context, rt controller.Runtime) error {
	boots, err := c.journal.Boots()
	if err != nil {
		return err
	}

	for i, b := range boots {
		spec := runtime.BootSpec{Boot: -i, BootID: b.ID, Start: moment(b.Start), End: moment(b.End), Reason: b.Reason, Version: b.Version}
		if err := typed.Set(ctx, rt, "", fmt.Sprintf("%08d", b.Number), spec); err != nil {
			return err
		}
	}

	return nil
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}

	return t.UTC().Format(time.RFC3339)
}

// endReason returns why the machine goes down.
func endReason(request runtime.PowerRequestSpec) string {
	reason := cmp.Or(request.Reason, string(request.Action))

	if request.Force {
		reason += ", forced"
	}

	if request.ActorID != "" {
		reason += ", actor " + request.ActorID
	}

	return reason
}
