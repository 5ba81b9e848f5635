// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"sync"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
)

// failure is the error of the configuration that was found last and cannot be used. The platform is asked in a goroutine of its own.
type failure struct {
	mu    sync.Mutex
	text  string
	shown string
}

// set notes an error; nil says that a configuration is active.
func (f *failure) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.text = ""
	if err != nil {
		f.text = err.Error()
	}
}

// show writes the resource, unless a whole configuration is active. Only the loop of the controller calls it.
func (f *failure) show(ctx context.Context, rt controller.Runtime) error {
	f.mu.Lock()
	text := f.text
	f.mu.Unlock()

	var active configres.MachineConfigSpec

	found := typed.Read(ctx, rt, configres.ActiveID, &active)
	if found.OK && active.View().Complete() { // another source may have failed since
		text = ""
	}

	if found.Err != nil || text == f.shown {
		return found.Err
	}

	var err error

	if text == "" {
		err = destroy(ctx, rt, resource.PointerOf[configres.ConfigFailureSpec]("", configres.FailureID))
	} else {
		err = typed.Set(ctx, rt, "", configres.FailureID, configres.ConfigFailureSpec{Error: text})
	}

	if err == nil {
		f.shown = text
	}

	return err
}

// fail reports a configuration that cannot be used.
func (c *Controller) fail(err error) {
	c.failure.set(err)
	c.failed(err)
}

// failing returns fail for the goroutine that asks the platform: the loop shows what it notes.
func (c *Controller) failing(rt controller.Runtime) func(error) {
	return func(err error) {
		c.fail(err)
		rt.QueueReconcile()
	}
}
