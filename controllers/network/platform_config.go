// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// platformConfig publishes what the platform says about the machine: a cloud's metadata, or on metal a value of META. It has a Run of its
// own because it asks a server.
type platformConfig struct {
	declared
	platform platform.Platform
	ask      func(ctx context.Context) (cloud.Machine, error)

	mu sync.Mutex
	// machine is nil until the platform has answered.
	machine *cloud.Machine
	// ignored are the settings that were reported.
	ignored []string
}

func platformConfigController(d *Deps) controller.Controller {
	c := &platformConfig{
		declared: declared{
			name: "network.PlatformConfigController",
			reads: []controller.Input{
				controller.In[network.LinkStatusSpec](controller.Weak, ""),
				controller.In[runtime.MetaKeySpec](controller.Weak, "", meta.MetalNetworkPlatformConfig.String()),
			},
			writes: []controller.Output{controller.Out[network.PlatformConfigSpec](controller.Shared)},
		},
		platform: d.Platform, ask: d.Metadata,
	}

	if c.ask == nil {
		c.machine = &cloud.Machine{}
	}

	return c
}

// The pauses between requests: a server that does not answer yet, and one whose answer may change.
const (
	metadataRetry   = time.Second
	metadataSlow    = 10 * time.Second
	metadataRefresh = 10 * time.Minute
	metadataTimeout = time.Minute
	// metadataQuick is how many requests follow each other quickly: the network comes up within seconds.
	metadataQuick = 60
)

// Run implements controller.Controller.
func (c *platformConfig) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	watch := func(ctx context.Context, changed func()) error { return c.watch(ctx, changed, log) }

	return follow(ctx, rt, watch, func(ctx context.Context) (time.Duration, error) {
		spec, ok, err := c.spec(ctx, rt, log)
		if err != nil || !ok {
			return 0, err
		}

		return 0, set(ctx, rt, "", network.PlatformConfigActiveID, spec)
	})
}

// watch asks the platform again and again.
func (c *platformConfig) watch(ctx context.Context, changed func(), log *slog.Logger) error {
	if c.ask == nil {
		<-ctx.Done()

		return nil
	}

	said := ""

	for attempt := 0; ; attempt++ {
		pause := metadataRetry
		if attempt >= metadataQuick {
			pause = metadataSlow
		}

		m, err := c.once(ctx)

		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			said, pause = "", metadataRefresh

			if c.learn(m) {
				log.Info("the platform has described the machine", "platform", c.platform.Name(), "hostname", m.Hostname, "links", len(m.Links))
				changed()
			}
		case err.Error() != said:
			said = err.Error()
			log.Warn("the platform has not described the machine: trying again", "error", err)
		}

		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

func (c *platformConfig) once(ctx context.Context) (cloud.Machine, error) {
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()

	return c.ask(ctx)
}

// learn keeps an answer, and reports whether it is a new one.
func (c *platformConfig) learn(m cloud.Machine) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.machine != nil && reflect.DeepEqual(*c.machine, m) {
		return false
	}

	c.machine = &m

	return true
}

// spec returns false until the platform has answered.
func (c *platformConfig) spec(ctx context.Context, rt controller.Runtime, log *slog.Logger) (network.PlatformConfigSpec, bool, error) {
	c.mu.Lock()
	machine := c.machine
	c.mu.Unlock()

	if machine == nil {
		return network.PlatformConfigSpec{}, false, nil
	}

	var f facts

	links, err := typed.List[network.LinkStatusSpec](ctx, rt, "")
	if err != nil {
		return network.PlatformConfigSpec{}, false, fmt.Errorf("list links: %w", err)
	}

	for _, l := range links {
		f.links = append(f.links, *l.TypedSpec())
		f.names = append(f.names, l.Metadata().ID())
	}

	spec, ignored := platformSpecs(c.platform.Name(), *machine, f)
	ignored = append(slices.Clone(machine.Ignored), ignored...)

	if c.platform.Mode == platform.Metal {
		if spec, ignored, err = c.metal(ctx, rt, spec); err != nil {
			return network.PlatformConfigSpec{}, false, err
		}
	}

	if !slices.Equal(ignored, c.ignored) {
		for _, what := range ignored {
			log.Error("a setting of the platform is ignored", "error", what)
		}

		c.ignored = ignored
	}

	return spec, true, nil
}

// metal adds the network that META has for a machine on no cloud.
func (c *platformConfig) metal(ctx context.Context, rt controller.Runtime, spec network.PlatformConfigSpec) (network.PlatformConfigSpec, []string, error) {
	var value runtime.MetaKeySpec

	key := meta.MetalNetworkPlatformConfig.String()

	if f := typed.Read(ctx, rt, key, &value); f.Err != nil || value.Value == "" {
		return spec, nil, f.Err
	}

	stored, err := metalPlatformConfig([]byte(value.Value))
	if err != nil {
		return spec, []string{fmt.Sprintf("META key %s: %v", key, err)}, nil
	}

	stored.Metadata = spec.Metadata

	return stored, nil, nil
}
