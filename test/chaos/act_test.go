// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	machineapi "github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/netswitch"
	"github.com/seed-59268b81/talos/lab/state"
)

// slowDisk is one on which a write that waits for the disk takes some tenths of a second, as on one that is worn out or shared by too many.
var slowDisk = machine.Disk{Writes: 10}

// do carries out a round, and returns when all its faults are over.
func (w *world) do(ctx context.Context, round Round) error {
	errs := make([]error, len(round.Faults))

	var all sync.WaitGroup

	for i, f := range round.Faults {
		all.Go(func() {
			if err := w.fault(ctx, f); err != nil {
				errs[i] = fmt.Errorf("%s: %w", f, err)
			}
		})
	}

	all.Wait()

	return errors.Join(errs...)
}

// fault begins a fault, waits, and ends it, also when ctx is done.
func (w *world) fault(ctx context.Context, f Fault) error {
	always := context.WithoutCancel(ctx)

	begin, end, err := w.ways(f)
	if err != nil {
		return err
	}

	if err := begin(always); err != nil {
		return err
	}

	select {
	case <-ctx.Done():
	case <-time.After(f.For):
	}

	return end(always)
}

// ways returns how a fault begins and ends.
func (w *world) ways(f Fault) (begin, end func(context.Context) error, err error) {
	var nodes []*lab.Node

	for _, name := range f.Machines {
		n, err := w.lab.NodeByName(name)
		if err != nil {
			return nil, nil, err
		}

		nodes = append(nodes, n)
	}

	each := func(do func(context.Context, *lab.Node) error) func(context.Context) error {
		return func(ctx context.Context) error {
			var errs []error
			for _, n := range nodes {
				errs = append(errs, do(ctx, n))
			}

			return errors.Join(errs...)
		}
	}

	link := func(l netswitch.Link) func(context.Context) error {
		return each(func(ctx context.Context, n *lab.Node) error { return n.SetLink(ctx, l) })
	}

	cut := netswitch.Impairment{Cut: true}
	bad := netswitch.Impairment{Delay: 80 * time.Millisecond, Jitter: 60 * time.Millisecond, Loss: 0.08, Duplicate: 0.05}

	disk := func(d machine.Disk) func(context.Context) error {
		return each(func(ctx context.Context, n *lab.Node) error { return n.SetDisk(ctx, d) })
	}

	switch f.Kind {
	case Kill:
		return each(func(ctx context.Context, n *lab.Node) error { return n.PowerCut(ctx) }), each(switchOn), nil
	case Reboot:
		return each(func(ctx context.Context, n *lab.Node) error { return n.Reset(ctx) }), each(switchOn), nil
	case Pause:
		return each(func(ctx context.Context, n *lab.Node) error { return n.Pause(ctx) }),
			each(func(ctx context.Context, n *lab.Node) error { return n.Resume(ctx) }), nil
	case Cut:
		return link(netswitch.Link{In: cut, Out: cut}), link(netswitch.Link{}), nil
	case Deaf:
		return link(netswitch.Link{In: cut}), link(netswitch.Link{}), nil
	case Slow:
		return link(netswitch.Link{In: bad, Out: bad}), link(netswitch.Link{}), nil
	case Partition:
		others := w.others(f.Machines)

		return func(ctx context.Context) error { return w.lab.Partition(ctx, f.Machines, others) },
			func(ctx context.Context) error { return w.lab.Join(ctx, f.Machines, others) }, nil
	case SlowDisk:
		return disk(slowDisk), disk(machine.Disk{}), nil
	case Wipe:
		return each(w.wipe), each(w.configure), nil
	case Replace:
		lost, instead := nodes[0], nodes[1]

		return func(ctx context.Context) error { return w.replace(ctx, lost, instead) },
			func(ctx context.Context) error { return w.forget(ctx, lost) }, nil
	}

	return nil, nil, fmt.Errorf("unknown fault %q", f.Kind)
}

// switchOn switches a machine on that may be on.
func switchOn(ctx context.Context, n *lab.Node) error {
	if err := n.PowerOn(ctx); err != nil {
		status, statusErr := n.Status(ctx)
		if statusErr != nil || status.Machine.Power != machine.On {
			return errors.Join(err, statusErr)
		}
	}

	return nil
}

func (w *world) wipe(ctx context.Context, n *lab.Node) error {
	w.history.Wiped(n.Name)

	if err := n.PowerCut(ctx); err != nil {
		return err
	}

	if err := n.Wipe(ctx); err != nil {
		return err
	}

	return n.PowerOn(ctx)
}

// configure applies the configuration of a machine's role, as soon as the machine accepts it.
func (w *world) configure(ctx context.Context, n *lab.Node) error {
	name := "worker.yaml"
	if n.Role == state.ControlPlane {
		name = "controlplane.yaml"
	}

	text, err := os.ReadFile(filepath.Join(w.lab.State().ConfigsPath(), name))
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()

	for {
		short, done := context.WithTimeout(ctx, 10*time.Second)
		err := w.apply(short, n, text)

		done()

		if err == nil {
			return nil
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("apply the configuration: %w", err)
		case <-time.After(time.Second):
		}
	}
}

func (w *world) apply(ctx context.Context, n *lab.Node, text []byte) error {
	api, err := client.New([]string{n.APIEndpoint()}, client.WithInsecure())
	if err != nil {
		return err
	}
	defer api.Close()

	_, err = api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{Data: text, Mode: machineapi.ApplyConfigurationRequest_AUTO})

	return err
}
