// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// set writes a spec. One that is on its way out is written when it is gone: the runtime wakes us then.
func set[S resource.Spec](ctx context.Context, rt controller.Runtime, namespace, id string, spec S) error {
	if err := typed.Set(ctx, rt, namespace, id, spec); err != nil && !state.IsPhaseConflict(err) {
		return err
	}

	return nil
}

// propose writes specs to namespace network-config. The prefix tells those of several makers in a layer apart.
func propose[S layered](ctx context.Context, rt controller.Runtime, prefix string, specs []S) error {
	for _, spec := range specs {
		id := network.LayeredID(spec.ConfigLayer(), prefix+spec.ID())
		if err := set(ctx, rt, network.ConfigNamespaceName, id, spec); err != nil {
			return err
		}
	}

	return nil
}

// facts are what layers are made from.
type facts struct {
	// config says nothing without a configuration.
	config *view.Config
	// cmdline are the kernel's arguments about the network.
	cmdline arguments
	links   []network.LinkStatusSpec
	// names of links, in the order of links.
	names []string
}

// layerController proposes specs of S made by a pure function of the facts.
func layerController[S layered](name string, extra []controller.Input, propositions func(context.Context, controller.Runtime, facts, *slog.Logger) ([]S, error)) controller.Controller {
	return &controller.Reconciler{
		ControllerName: name,
		Reads: append([]controller.Input{
			controller.In[configres.MachineConfigSpec](controller.Weak, "", configres.ActiveID),
			controller.In[runtime.KernelCmdlineSpec](controller.Weak, "", runtime.KernelCmdlineID),
			controller.In[network.LinkStatusSpec](controller.Weak, ""),
		}, extra...),
		Writes:  []controller.Output{controller.Out[S](controller.Shared, network.ConfigNamespaceName)},
		Cleanup: []resource.Kind{resource.KindOf[S](network.ConfigNamespaceName)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			f, err := readFacts(ctx, rt, log)
			if err != nil || f == nil {
				return err
			}

			specs, err := propositions(ctx, rt, *f, log)
			if err != nil {
				return err
			}

			return propose(ctx, rt, "", specs)
		},
	}
}

// readFacts returns nil until the kernel's arguments are known: a default must not act against them.
func readFacts(ctx context.Context, rt state.Reader, log *slog.Logger) (*facts, error) {
	args, err := typed.Find[runtime.KernelCmdlineSpec](ctx, rt, "", runtime.KernelCmdlineID)
	if err != nil || args == nil {
		return nil, err
	}

	var f facts

	// A mistake in one argument must not cost the machine its network: the rest counts.
	if f.cmdline, err = parseArguments(cmdline.Parse(args.TypedSpec().Cmdline)); err != nil {
		log.Error("a kernel argument is not used", "error", err)
	}

	if f.config, err = readConfig(ctx, rt); err != nil {
		return nil, err
	}

	links, err := typed.List[network.LinkStatusSpec](ctx, rt, "")
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}

	for _, l := range links {
		f.links = append(f.links, *l.TypedSpec())
		f.names = append(f.names, l.Metadata().ID())
	}

	return &f, nil
}

// readConfig returns what the active configuration says; nothing without one.
func readConfig(ctx context.Context, rt state.Reader) (*view.Config, error) {
	cfg, err := typed.Find[configres.MachineConfigSpec](ctx, rt, "", configres.ActiveID)
	if err != nil || cfg == nil || cfg.Metadata().Phase() != resource.PhaseRunning {
		return view.Of(nil), err
	}

	return cfg.TypedSpec().View(), nil
}

// fromMachineConfig makes resources of S from the configuration alone.
func fromMachineConfig[S resource.Spec](name string, reconcile func(context.Context, controller.Runtime, *view.Config) error) controller.Controller {
	return &controller.Reconciler{
		ControllerName: name,
		Reads:          []controller.Input{controller.In[configres.MachineConfigSpec](controller.Weak, "", configres.ActiveID)},
		Writes:         []controller.Output{controller.Out[S](controller.Exclusive)},
		Cleanup:        []resource.Kind{resource.KindOf[S]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := readConfig(ctx, rt)
			if err != nil {
				return err
			}

			return reconcile(ctx, rt, cfg)
		},
	}
}
