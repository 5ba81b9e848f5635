// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/access"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/validation"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/neighbor"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

const (
	controllerName = "config.ConfigController"
	requester      = "config"
)

// Controller finds the configuration, and puts new ones in effect.
type Controller struct {
	requests chan request
	sources  sources
	remote   *remote
	observed *observed
	mode     validate.Mode
	fs       filesystem
	meta     Meta
	// failed is called when a configuration was found that cannot be used.
	failed func(error)
	// Installer is set before the controller runs; nil for a machine that has no disks of its own.
	Installer Installer
	// Reboot restarts the machine. It is set before the controller runs.
	Reboot    func(ctx context.Context, why string)
	decisions chan Decision
	// LastEnd returns why the last boot ended, as far as the hardware and the firmware kept it, and whether all that they kept can be read
	// already. It is set before the controller runs, or nil.
	LastEnd func() (why string, known bool)
	// Entries are set before the controller runs; nil if the machine has none.
	Entries       Entries
	entryRequests chan entryRequest
	// seen has the conditions that a trial waits for.
	seen chan sight
	// cluster asks the API servers of the machine's cluster, and gateways the default gateways.
	cluster  *apiServers
	gateways *gateways
	images   images

	// Only the loop uses the rest. The store is nil unless STATE is mounted.
	store      *store
	state      acquisition
	asking     asking
	installing installing
	partial    []byte
	trials     trials
	failure    failure
	// following is set while the network is an input.
	following bool
}

// New returns the controller; root is the root filesystem, args are the kernel's, fetch reads documents of the platform. failed is called
// with the error of a configuration that cannot be used.
func New(root fs.FS, args cmdline.Cmdline, p platform.Platform, fetch cloud.Fetch, meta Meta, failed func(error)) *Controller {
	known := &observed{}
	remote := remoteOf(args, p, fetch, known.values(p.Hardware, meta))

	return &Controller{
		requests: make(chan request), decisions: make(chan Decision), entryRequests: make(chan entryRequest), seen: make(chan sight, 1), cluster: newAPIServers(), gateways: &gateways{answers: neighbor.Answers}, trials: newTrials(), sources: fixedSources(root, args, p), remote: remote, observed: known, mode: validate.Mode(p.Mode.String()),
		fs: disk{}, meta: meta, failed: failed, state: acquisition{remote: remote != nil},
	}
}

// Name implements controller.Controller.
func (*Controller) Name() string { return controllerName }

// Inputs implements controller.Controller.
func (*Controller) Inputs() []controller.Input { return inputs() }

func inputs() []controller.Input {
	return append(volume.Inputs(),
		controller.In[block.VolumeStatusSpec](controller.Weak, "", block.VolumeState),
		controller.In[block.SystemDiskSpec](controller.Weak, "", block.SystemDiskID),
		controller.In[runtime.DevicesStatusSpec](controller.Weak, "", runtime.DevicesStatusID),
		controller.In[runtime.MetaLoadedSpec](controller.Weak, "", runtime.MetaLoadedID),
		controller.In[network.HardwareAddrSpec](controller.Weak, "", network.FirstHardwareAddr),
		controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
		controller.In[runtime.PowerRequestSpec](controller.Weak, "", runtime.PowerRequestID),
	)
}

// Outputs implements controller.Controller.
func (*Controller) Outputs() []controller.Output {
	return []controller.Output{
		controller.Out[configres.MachineConfigSpec](controller.Exclusive),
		controller.Out[configres.ConfigFailureSpec](controller.Exclusive),
		controller.Out[runtime.MaintenanceServiceRequestSpec](controller.Exclusive),
		controller.Out[runtime.TrialSpec](controller.Exclusive),
		controller.Out[runtime.UnattendedInstallStatusSpec](controller.Exclusive),
		volume.Output(),
	}
}

// Run implements controller.Controller.
func (c *Controller) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	defer c.asking.stop()
	defer c.installing.halt()

	// After an error the controller is started again.
	if c.state.sources == asked {
		c.asking.start(ctx, c.remote, c.failing(rt), log)
	}

	if c.state.installation.running {
		if err := c.beginInstall(ctx, rt, c.state.unkept, log); err != nil {
			return err
		}
	}

	for {
		if err := errors.Join(c.followNetwork(rt), c.failure.show(ctx, rt)); err != nil {
			return err
		}

		// Requests wait for a disk that is about to be mounted.
		requests := c.requests
		if c.store == nil && c.state.coming() {
			requests = nil
		}

		select {
		case <-ctx.Done():
			return nil
		case <-rt.Events():
			if err := c.observe(ctx, rt, log); err != nil {
				return err
			}

			if err := c.leave(ctx, rt, log); err != nil {
				return err
			}

			if err := c.mount(ctx, rt); err != nil {
				return err
			}

			if err := c.find(ctx, rt, log); err != nil {
				return err
			}

			disk, err := c.disk(ctx, rt)
			if err != nil {
				return err
			}

			if err := c.handle(ctx, rt, seen{disk}, log); err != nil {
				return err
			}

			c.giveUp(ctx, rt, log)
			c.overtaken(ctx, rt, log)
		case req := <-requests:
			req.answer <- c.apply(ctx, rt, req, log)
		case text := <-c.asking.answers:
			if err := c.handle(ctx, rt, platformAnswered(c.accumulate(c.remote.name, text, log)), log); err != nil {
				return err
			}
		case err := <-c.asking.ended:
			c.asking.ended = nil

			if err != nil {
				return fmt.Errorf("ask the platform: %w", err)
			}
		case err := <-c.installing.ended:
			if err := c.endInstall(ctx, rt, err, log); err != nil {
				return err
			}
		case d := <-c.decisions:
			d.answer <- c.decide(ctx, rt, d, log)
		case r := <-c.entryRequests:
			record, err := c.tryEntry(ctx, rt, r, log)
			r.answer <- entryAnswer{record, err}
		case now := <-c.seen:
			c.noteConditions(ctx, rt, now, log)
		case <-c.trials.due():
			c.judge(ctx, rt, trial.Tick{Now: c.trials.now()}, log)
		}
	}
}

// followNetwork makes the network an input while the platform is asked.
func (c *Controller) followNetwork(rt controller.Runtime) error {
	follow := c.state.sources == asked
	if follow == c.following {
		return nil
	}

	all := inputs()
	if follow {
		all = append(all, networkInputs()...)
	}

	c.following = follow

	rt.QueueReconcile()

	return rt.UpdateInputs(all)
}

// observe notes what the URL of a configuration may have, and whether the network has changed while the platform is asked.
func (c *Controller) observe(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var (
		card network.HardwareAddrSpec
		name network.HostnameStatusSpec
	)

	err := errors.Join(
		typed.Read(ctx, rt, network.FirstHardwareAddr, &card).Err,
		typed.Read(ctx, rt, network.HostnameID, &name).Err,
	)

	c.observed.set(card.HardwareAddr.String(), name.FQDN())

	if err != nil || !c.following {
		return err
	}

	now, err := networkNow(ctx, rt, card.HardwareAddr.String(), name.FQDN())
	if err != nil {
		return err
	}

	return c.handle(ctx, rt, networkSeen{now}, log)
}

// handle carries out the actions of an event, and those of the events that follow from them.
func (c *Controller) handle(ctx context.Context, rt controller.Runtime, event any, log *slog.Logger) error {
	var actions []any
	c.state, actions = c.state.next(event, time.Now())

	for _, action := range actions {
		result, err := c.do(ctx, rt, action, log)
		if err == nil && result != nil {
			err = c.handle(ctx, rt, result, log)
		}

		if err != nil {
			return err
		}
	}

	return nil
}

// do carries out an action. It returns the event that follows, or nil.
func (c *Controller) do(ctx context.Context, rt controller.Runtime, action any, log *slog.Logger) (any, error) {
	switch a := action.(type) {
	case readStore:
		cfg, access, err := c.store.find()
		c.trials.unusable = err

		return storeRead{cfg: cfg, instead: c.trials.instead, confirm: c.trials.record.Confirm, access: access, err: err}, nil
	case readSources:
		all := c.sources.before
		if a.all {
			all = slices.Concat(all, c.sources.after)
		}

		return c.readSources(all, log), nil
	case readLate:
		return c.readSources(c.sources.after, log), nil
	case askPlatform:
		c.asking.start(ctx, c.remote, c.failing(rt), log)
	case askAgain:
		c.asking.hurry()
	case stopPlatform:
		c.asking.stop()
	case readMeta:
		return c.administrators(), nil
	case save:
		return nil, c.store.save(a.cfg)
	case saveAccess:
		// A machine whose STATE can be read but not written runs with its configuration all the same.
		if err := c.store.saveAccess(a.cfg); err != nil {
			log.Error("the settings by which the API is reached are not stored beside the configuration", "error", err)
		}
	case remember:
		text, err := access.EncodeAuthorities(a.cfg)
		if err == nil {
			err = c.meta.Set(meta.Administrators, text)
		}

		return remembered{err}, nil
	case show:
		return nil, publish(ctx, rt, a.id, a.cfg)
	case activate:
		return nil, c.activate(ctx, rt, a.cfg)
	case deactivate:
		return nil, destroy(ctx, rt, resource.PointerOf[configres.MachineConfigSpec]("", configres.ActiveID))
	case admitAll:
		return nil, typed.Set(ctx, rt, "", runtime.MaintenanceServiceRequestID, runtime.MaintenanceServiceRequestSpec{})
	case admitNone:
		return nil, destroy(ctx, rt, resource.PointerOf[runtime.MaintenanceServiceRequestSpec]("", runtime.MaintenanceServiceRequestID))
	case install:
		return nil, c.beginInstall(ctx, rt, a.cfg, log)
	case restart:
		c.Reboot(ctx, "the system was installed")
	case fail:
		c.fail(a.err)
	case wake:
		time.AfterFunc(a.after, rt.QueueReconcile)
	case report:
		log.Log(ctx, a.level, a.text, a.args...)
	case then:
		return a.event, nil
	}

	return nil, nil
}

// readSources reads sources up to the one that makes the configuration complete.
func (c *Controller) readSources(all []source, log *slog.Logger) (found sourcesRead) {
	for _, s := range all {
		text, err := s.read()
		if err != nil {
			c.unusable(s.name, err, log)

			continue
		}

		if len(text) == 0 {
			continue
		}

		if more := c.accumulate(s.name, text, log); more != (sourcesRead{}) {
			found = more
		}

		if s.exposed {
			log.Warn("every container can read this configuration, with all its secrets, in /proc/cmdline until the next boot: use the argument for tests, "+
				"and apply the configuration over the API elsewhere", "in", s.name)
		}

		if found.cfg != nil {
			return found
		}
	}

	return found
}

// accumulate adds the documents of a source to those that were found so far. A document that was found before is merged.
func (c *Controller) accumulate(source string, text []byte, log *slog.Logger) sourcesRead {
	if len(text) == 0 {
		return sourcesRead{}
	}

	cfg, err := join(c.partial, text)

	var warnings []string
	if err == nil {
		warnings, err = validation.Config(cfg, c.mode)
	}

	if err != nil {
		c.unusable(source, err, log)

		return sourcesRead{}
	}

	log.Info("the configuration was found", "in", source)

	for _, warning := range warnings {
		log.Warn("a warning about the configuration", "in", source, "warning", warning)
	}

	if view.Of(cfg).Complete() {
		return sourcesRead{cfg: cfg}
	}

	c.partial = cfg.Bytes()

	return sourcesRead{partial: cfg}
}

// unusable reports a configuration that cannot be used.
func (c *Controller) unusable(source string, err error, log *slog.Logger) {
	err = fmt.Errorf("configuration of %s: %w", source, err)
	log.Error("no configuration", "error", err)
	c.fail(err)
}

// activate puts a configuration in effect.
func (c *Controller) activate(ctx context.Context, rt controller.Runtime, cfg *config.Config) error {
	c.failure.set(nil)

	if configres.NewMachineConfigSpec(cfg).View().Complete() { // an administrator may have sent one that this version can use
		c.trials.unusable = nil
	}

	if err := publish(ctx, rt, configres.ActiveID, cfg); err != nil {
		return err
	}

	if err := destroy(ctx, rt, resource.PointerOf[configres.MachineConfigSpec]("", configres.AccessID)); err != nil {
		return err
	}

	return destroy(ctx, rt, resource.PointerOf[runtime.MaintenanceServiceRequestSpec]("", runtime.MaintenanceServiceRequestID))
}

// publish writes the resource of a configuration. An annotation tells clients that its spec is a text in YAML.
func publish(ctx context.Context, rt controller.Runtime, id string, cfg *config.Config) error {
	return typed.ModifyResource(ctx, rt, "", id, func(r *resource.Typed[configres.MachineConfigSpec]) error {
		r.Metadata().SetAnnotation(configres.AnnotationTextSpec, "1")
		*r.TypedSpec() = configres.NewMachineConfigSpec(cfg)

		return nil
	})
}
