// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/protobuf/proto"

	machineapi "github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/network"
)

// addressEventController sends an event with the machine's hostname and current addresses at each change of one of them. It has no outputs.
func addressEventController(publish func(proto.Message)) controller.Controller {
	last := &machineapi.AddressEvent{}

	return &controller.Reconciler{
		ControllerName: "network.AddressEventController",
		Reads: []controller.Input{
			controller.In[network.NodeAddressSpec](controller.Weak, "", network.NodeAddressCurrentID),
			controller.In[network.HostnameStatusSpec](controller.Weak, "", network.HostnameID),
		},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				addresses network.NodeAddressSpec
				hostname  network.HostnameStatusSpec
			)

			if err := errors.Join(
				typed.Read(ctx, rt, network.NodeAddressCurrentID, &addresses).Err,
				typed.Read(ctx, rt, network.HostnameID, &hostname).Err,
			); err != nil {
				return err
			}

			next := addressEvent(hostname, addresses)
			if proto.Equal(last, next) {
				return nil
			}

			last = next

			if publish != nil {
				publish(next)
			}

			return nil
		},
	}
}

func addressEvent(hostname network.HostnameStatusSpec, addresses network.NodeAddressSpec) *machineapi.AddressEvent {
	event := &machineapi.AddressEvent{Hostname: hostname.Hostname}
	for _, ip := range addresses.IPs() {
		event.Addresses = append(event.Addresses, ip.String())
	}

	return event
}
