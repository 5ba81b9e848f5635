// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cmdline"
)

// set writes a spec. A resource that is being torn down is written when it is destroyed: the runtime wakes the controller then.
func set[S resource.Spec](ctx context.Context, rt controller.Runtime, namespace, id string, spec S) error {
	if err := typed.Set(ctx, rt, namespace, id, spec); err != nil && !state.IsPhaseConflict(err) {
		return err
	}

	return nil
}

// propose writes specs to namespace network-config. The prefix distinguishes those of several controllers in a layer. Of several specs
// with one id the last is written: two descriptions of a link may have the same address.
func propose[S layered](ctx context.Context, rt controller.Runtime, prefix string, specs []S) error {
	last := map[string]int{}
	for i, spec := range specs {
		last[network.LayeredID(spec.ConfigLayer(), prefix+spec.ID())] = i
	}

	for i, spec := range specs {
		id := network.LayeredID(spec.ConfigLayer(), prefix+spec.ID())
		if last[id] != i {
			continue
		}

		if err := set(ctx, rt, network.ConfigNamespaceName, id, spec); err != nil {
			return err
		}
	}

	return nil
}

// facts are the inputs of layers.
type facts struct {
	// config is empty without a configuration.
	config *view.Config
	// cmdline are the kernel's arguments about the network.
	cmdline arguments
	links   []network.LinkStatusSpec
	// names of links, in the order of links.
	names []string
	// platform are the links that the platform has settings for.
	platform []string
	// mistake is what is wrong with the kernel's arguments; the others are used.
	mistake error
}

// layerController proposes specs of S, which a function computes from the facts. What cannot be set is left out, and has a condition: one mistake
// does not take the network from the machine.
func layerController[S layered](name string, propositions func(facts, remarks) []S) controller.Controller {
	return layerOf(name, nil, func(_ context.Context, _ controller.Runtime, f facts, said remarks) ([]S, error) {
		return propositions(f, said), nil
	})
}

// layerOf is layerController with more inputs, which the function reads.
func layerOf[S layered](name string, extra []controller.Input, propositions func(context.Context, controller.Runtime, facts, remarks) ([]S, error)) controller.Controller {
	var before remarks

	return &controller.Reconciler{
		ControllerName: name,
		Reads: append([]controller.Input{
			fromconfig.Input(),
			controller.In[runtime.KernelCmdlineSpec](controller.Weak, "", runtime.KernelCmdlineID),
			controller.In[network.LinkStatusSpec](controller.Weak, ""),
			controller.In[network.PlatformConfigSpec](controller.Weak, "", network.PlatformConfigActiveID),
		}, extra...),
		Writes: []controller.Output{
			controller.Out[S](controller.Shared, network.ConfigNamespaceName), controller.Out[network.SpecConditionSpec](controller.Shared),
		},
		Cleanup: []resource.Kind{resource.KindOf[S](network.ConfigNamespaceName), resource.KindOf[network.SpecConditionSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			f, err := readFacts(ctx, rt)
			if err != nil || f == nil {
				return err
			}

			said := remarks{}

			specs, err := propositions(ctx, rt, *f, said)
			if err != nil {
				return err
			}

			said.log(log, before)
			before = said

			return errors.Join(propose(ctx, rt, "", specs), said.publish(ctx, rt))
		},
	}
}

// readFacts returns nil until the kernel's arguments are known: a default must not contradict them.
func readFacts(ctx context.Context, rt state.Reader) (*facts, error) {
	var (
		f    facts
		args runtime.KernelCmdlineSpec
		err  error
	)

	if found := typed.Read(ctx, rt, runtime.KernelCmdlineID, &args); found.Err != nil || !found.OK {
		return nil, found.Err
	}

	// With an invalid argument the machine must still have a network: the others are used.
	f.cmdline, f.mistake = parseArguments(cmdline.Parse(args.Cmdline))

	if f.config, err = fromconfig.View(ctx, rt); err != nil {
		return nil, err
	}

	var active network.PlatformConfigSpec
	if found := typed.Read(ctx, rt, network.PlatformConfigActiveID, &active); found.Err != nil {
		return nil, found.Err
	}

	for _, l := range active.Links {
		f.platform = append(f.platform, l.Name)
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
