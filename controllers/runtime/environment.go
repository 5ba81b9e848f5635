// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
)

// EnvironmentController follows the environment variables of the configuration.
func EnvironmentController() controller.Controller {
	return fromconfig.Controller("runtime.EnvironmentController", runtime.EnvironmentID, controller.Exclusive,
		func(cfg *view.Config) (*runtime.EnvironmentSpec, error) {
			return &runtime.EnvironmentSpec{Variables: cfg.Variables()}, nil
		})
}

// processEnvironment changes the environment of this process.
type processEnvironment struct {
	lookup func(name string) (string, bool)
	set    func(name, value string) error
	unset  func(name string) error

	// before has the variables that were changed, as they were: nil for those that did not exist.
	before map[string]*string
}

// ProcessEnvironmentController gives this process the environment variables, and restores the former ones when they go. Package outbound reads
// the proxies there, for pulls and downloads.
func ProcessEnvironmentController(
	lookup func(name string) (string, bool), set func(name, value string) error, unset func(name string) error,
) controller.Controller {
	e := &processEnvironment{lookup: lookup, set: set, unset: unset, before: map[string]*string{}}

	return &controller.Reconciler{
		ControllerName: "runtime.ProcessEnvironmentController",
		Reads:          []controller.Input{controller.In[runtime.EnvironmentSpec](controller.Weak, "", runtime.EnvironmentID)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var spec runtime.EnvironmentSpec
			if f := typed.Read(ctx, rt, runtime.EnvironmentID, &spec); f.Err != nil {
				return f.Err
			}

			return e.apply(spec.Variables)
		},
	}
}

func (e *processEnvironment) apply(variables []string) error {
	wanted := map[string]bool{}

	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		wanted[name] = true

		old, exists := e.lookup(name)
		if exists && old == value {
			continue
		}

		if err := e.set(name, value); err != nil {
			return fmt.Errorf("set environment variable %s: %w", name, err)
		}

		if _, known := e.before[name]; !known {
			e.before[name] = nil
			if exists {
				e.before[name] = &old
			}
		}
	}

	for name, old := range e.before {
		if wanted[name] {
			continue
		}

		var err error
		if old == nil {
			err = e.unset(name)
		} else {
			err = e.set(name, *old)
		}

		if err != nil {
			return fmt.Errorf("restore environment variable %s: %w", name, err)
		}

		delete(e.before, name)
	}

	return nil
}
