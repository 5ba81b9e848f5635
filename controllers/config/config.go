// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/platform"
)

const (
	controllerName = "config.ConfigController"
	requester      = "config"
)

// Controller finds the configuration, and puts new ones in effect.
type Controller struct {
	requests chan request
	sources  []source
	mode     validate.Mode
	fs       filesystem
	meta     Meta
	// failed is told when a configuration was found that cannot be used.
	failed func(error)

	// The rest is the loop's own. The store is nil until STATE is mounted, and from its unmounting on.
	store *store
	// coming is set while STATE is about to be mounted.
	coming bool
	// waited is when the wait for STATE began, after META was read; overdue is set when STATE did not appear in time.
	waited  time.Time
	overdue bool
	looked  bool
	// sourced is set when the places beside the disk were asked.
	sourced bool
	// unkept is a configuration that was found beside the disk, until STATE has it.
	unkept *config.Config
	// closed is set when the machine had a configuration that cannot be had: it is not open to strangers.
	closed bool
	// access is what is known of its administrators then.
	access *config.Config
	// unremembered is a stored configuration whose administrators META does not know yet.
	unremembered *config.Config
	// retry is when that is tried again.
	retry time.Time
	trial *trial
}

// New returns the controller; root is the root filesystem, args the kernel's. A configuration that cannot be used is
// reported to failed.
func New(root fs.FS, args cmdline.Cmdline, p platform.Platform, meta Meta, failed func(error)) *Controller {
	return &Controller{
		requests: make(chan request), sources: fixedSources(root, args, p), mode: validate.Mode(p.Mode.String()), fs: disk{}, meta: meta, failed: failed,
	}
}

// Name implements controller.Controller.
func (*Controller) Name() string { return controllerName }

// Inputs implements controller.Controller.
func (*Controller) Inputs() []controller.Input {
	return append(volume.Inputs(),
		controller.In[block.VolumeStatusSpec](controller.Weak, "", block.VolumeState),
		controller.In[runtime.MetaLoadedSpec](controller.Weak, "", runtime.MetaLoadedID),
	)
}

// Outputs implements controller.Controller.
func (*Controller) Outputs() []controller.Output {
	return []controller.Output{
		controller.Out[configres.MachineConfigSpec](controller.Exclusive),
		controller.Out[runtime.MaintenanceServiceRequestSpec](controller.Exclusive),
		volume.Output(),
	}
}

// Run implements controller.Controller.
func (c *Controller) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	for {
		// What is to be stored waits for a disk that is being made ready.
		requests := c.requests
		if c.store == nil && c.coming {
			requests = nil
		}

		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
			if err := c.mount(ctx, rt); err != nil {
				return err
			}

			if err := c.look(ctx, rt, log); err != nil {
				return err
			}

			c.remember(nil, rt.QueueReconcile, log)
		case req := <-requests:
			req.answer <- c.apply(ctx, rt, req, log)
		case <-c.trial.over():
			if err := c.revert(ctx, rt, log); err != nil {
				return err
			}
		}
	}
}

// mount asks for STATE, and lets go of it when the machine goes down.
func (c *Controller) mount(ctx context.Context, rt controller.Runtime) error {
	target, err := volume.Request(ctx, rt, controllerName, requester, block.VolumeState, func(context.Context) error {
		c.store = nil

		return nil
	})
	if err != nil {
		return err
	}

	if target != "" {
		c.store = &store{fs: c.fs, dir: target}
	}

	return nil
}

// look finds the first configuration: once the disk can be read, or is known to hold none, since STATE has yet to get
// its file system. That takes a while, in which a new machine can be talked to already.
func (c *Controller) look(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	status, err := typed.Find[block.VolumeStatusSpec](ctx, rt, "", block.VolumeState)
	if err != nil {
		return err
	}

	blank := status != nil && status.TypedSpec().Phase == block.VolumePhaseProvisioned
	c.coming = blank || status != nil && status.TypedSpec().Phase == block.VolumePhaseReady && !c.overdue

	switch {
	case c.unkept != nil && c.store != nil:
		return c.keep(ctx, rt, log)
	case c.looked:
		return nil
	case c.store == nil && !blank:
		return c.wait(ctx, rt, log)
	}

	if c.store != nil {
		cfg, access, err := c.store.find()
		if cfg != nil {
			log.Info("the configuration was found", "in", layout.PartitionState)

			c.looked = true

			return c.found(ctx, rt, cfg, log)
		}

		if err != nil {
			c.access = access
			c.shut(fmt.Errorf("the stored configuration cannot be used (it is left as it is, in STATE): %w", err), log)
		}
	}

	for _, s := range c.sources {
		if c.sourced || c.unkept != nil {
			break
		}

		c.unkept = c.fromSource(s, log)
	}

	c.sourced = true

	switch {
	case c.unkept != nil && c.store != nil:
		c.looked = true

		return c.keep(ctx, rt, log)
	case c.unkept != nil:
		c.looked = true

		return nil
	}

	if c.access == nil && !c.askMeta(log) {
		return nil
	}

	c.looked = true

	if !c.closed {
		log.Info("there is no configuration: waiting for one over the API (talosctl apply-config --insecure)")
	}

	return c.open(ctx, rt)
}

// found puts a configuration in effect that was found in STATE.
func (c *Controller) found(ctx context.Context, rt controller.Runtime, cfg *config.Config, log *slog.Logger) error {
	// A STATE that can be read and not written still has a configuration to run with.
	if err := c.store.saveAccess(cfg); err != nil {
		log.Error("what the API is reached by is not kept beside the configuration", "error", err)
	}

	return c.stored(ctx, rt, cfg, log)
}

// keep stores what was found beside the disk: from now on the machine's own disk has it.
func (c *Controller) keep(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	if err := c.store.save(c.unkept); err != nil {
		return err
	}

	cfg := c.unkept
	c.unkept = nil

	return c.stored(ctx, rt, cfg, log)
}

// stored puts a configuration in effect that STATE has.
func (c *Controller) stored(ctx context.Context, rt controller.Runtime, cfg *config.Config, log *slog.Logger) error {
	c.closed, c.access = false, nil

	if err := publish(ctx, rt, configres.PersistentID, cfg); err != nil {
		return err
	}

	if err := c.activate(ctx, rt, cfg); err != nil {
		return err
	}

	c.remember(cfg, rt.QueueReconcile, log)

	return nil
}

// shut keeps the machine closed to strangers: it had a configuration. That stays where it is, and the administrators may apply
// another, or start a version of the system that can read it.
func (c *Controller) shut(err error, log *slog.Logger) {
	if c.closed {
		return
	}

	c.closed = true
	log.Error("no configuration: the machine is open to its administrators alone", "error", err)
	c.failed(err)
}

// open lets in whoever may reach a machine without a configuration: all the world, or, if there was one, its administrators.
func (c *Controller) open(ctx context.Context, rt controller.Runtime) error {
	switch {
	case c.access != nil:
		return publish(ctx, rt, configres.AccessID, c.access)
	case c.closed:
		return nil
	default:
		return typed.Set(ctx, rt, "", runtime.MaintenanceServiceRequestID, runtime.MaintenanceServiceRequestSpec{})
	}
}

func (c *Controller) fromSource(s source, log *slog.Logger) *config.Config {
	text, err := s.read()
	if err == nil && text == nil {
		return nil
	}

	var cfg *config.Config
	if err == nil {
		cfg, err = usable(text)
	}

	if err != nil {
		err = fmt.Errorf("the configuration of %s cannot be used: %w", s.name, err)
		log.Error("no configuration", "error", err)
		c.failed(err)

		return nil
	}

	log.Info("the configuration was found", "in", s.name)

	if s.exposed {
		log.Warn("every container can read this configuration, with all its secrets, in /proc/cmdline until the next boot: use the argument for tests, "+
			"and apply the configuration over the API elsewhere", "in", s.name)
	}

	return cfg
}

// activate puts a configuration in effect.
func (c *Controller) activate(ctx context.Context, rt controller.Runtime, cfg *config.Config) error {
	if err := publish(ctx, rt, configres.ActiveID, cfg); err != nil {
		return err
	}

	if err := destroy(ctx, rt, resource.PointerOf[configres.MachineConfigSpec]("", configres.AccessID)); err != nil {
		return err
	}

	return destroy(ctx, rt, resource.PointerOf[runtime.MaintenanceServiceRequestSpec]("", runtime.MaintenanceServiceRequestID))
}

// publish writes the resource of a configuration. Its specification is a text in YAML, which clients are told by an annotation.
func publish(ctx context.Context, rt controller.Runtime, id string, cfg *config.Config) error {
	return typed.ModifyResource(ctx, rt, "", id, func(r *resource.Typed[configres.MachineConfigSpec]) error {
		r.Metadata().SetAnnotation(configres.AnnotationTextSpec, "1")
		*r.TypedSpec() = configres.NewMachineConfigSpec(cfg)

		return nil
	})
}
