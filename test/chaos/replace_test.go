// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	machineapi "github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/machine"
)

// spare takes the last control plane away, as an operator does. From then on its machine is the one that replaces others.
func (w *world) spare() {
	w.t.Helper()

	names := *w.now.Load()
	last := len(names.ControlPlanes) - 1

	n, err := w.lab.NodeByName(names.ControlPlanes[last])
	if err != nil {
		w.t.Fatal(err)
	}

	names.ControlPlanes, names.Spare = slices.Clone(names.ControlPlanes[:last]), n.Name

	ctx, cancel := context.WithTimeout(w.t.Context(), bootTime)
	defer cancel()

	err = w.with(ctx, n, func(api *client.Client) error {
		_, err := api.Reset(ctx, &machineapi.ResetRequest{Graceful: true})

		return err
	})
	if err != nil {
		w.t.Fatalf("reset %s: %v", n.Name, err)
	}

	for power := machine.On; power != machine.Off; pause(ctx, time.Second) {
		status, err := n.Status(ctx)
		if err != nil {
			w.t.Fatalf("%s was reset, and is not off: %v", n.Name, err)
		}

		power = status.Machine.Power
	}

	w.now.Store(&names)

	if err := errors.Join(n.Wipe(ctx), w.forget(ctx, n)); err != nil {
		w.t.Fatal(err)
	}

	w.t.Logf("whole without %s after %.1fs", n.Name, w.whole(wholeTime).Seconds())
}

// replace loses a machine for good, and has another one join.
func (w *world) replace(ctx context.Context, lost, instead *lab.Node) error {
	w.history.Wiped(lost.Name)

	if err := errors.Join(lost.PowerCut(ctx), lost.Wipe(ctx), instead.PowerOn(ctx)); err != nil {
		return err
	}

	return w.configure(ctx, instead)
}

// forget removes what the cluster knows of a machine that is gone: its member of etcd, and its node.
func (w *world) forget(ctx context.Context, gone *lab.Node) error {
	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()

	for {
		err := w.forgets(ctx, gone)
		if err == nil {
			return nil
		}

		pause(ctx, time.Second)

		if ctx.Err() != nil {
			return fmt.Errorf("forget %s: %w", gone.Name, err)
		}
	}
}

// forgets tries it once, with a machine that stays.
func (w *world) forgets(ctx context.Context, gone *lab.Node) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()

	by := slices.IndexFunc(w.controlPlanes(), func(n *lab.Node) bool { return n.Name != gone.Name })

	err := w.with(ctx, w.controlPlanes()[by], func(api *client.Client) error {
		members, err := api.EtcdMembers(ctx, false)

		for _, m := range members {
			if m.GetHostname() == gone.Name {
				err = errors.Join(err, api.EtcdRemoveMember(ctx, m.GetId()))
			}
		}

		return err
	})
	if err != nil {
		return err
	}

	server := w.servers()[slices.IndexFunc(w.servers(), func(s server) bool { return s.name != gone.Name })]
	path := "/api/v1/nodes/" + gone.Name

	var node kube.Object

	found, err := server.Find(ctx, path, &node)
	if err != nil || !found {
		return err
	}

	return server.Delete(ctx, path, kube.At[string](node, "metadata", "uid"))
}
