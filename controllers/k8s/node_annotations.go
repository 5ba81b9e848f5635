// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/keep"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
)

// nodeAnnotationController requests for the own Node the annotations of the configuration, and one with all addresses of the machine. By that
// one a control plane knows the machine when it connects from another address than the kubelet's.
func nodeAnnotationController() controller.Controller {
	var (
		cfg       *view.Config
		addresses network.NodeAddressSpec
	)

	return frominputs.Controller[k8s.NodeAnnotationSpecSpec]("k8s.NodeAnnotationSpecController", controller.Shared, frominputs.List{
		frominputs.Config(&cfg),
		frominputs.Of(ownAddresses, &addresses).Optional(),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		for key, value := range cfg.NodeAnnotations() {
			if err := typed.Set(ctx, rt, "", key, k8s.NodeAnnotationSpecSpec{Key: key, Value: value}); err != nil {
				return err
			}
		}

		if _, ok := cfg.NodeAnnotations()[k8s.NodeAddressesAnnotation]; ok {
			return nil
		}

		if len(addresses.Addresses) == 0 {
			return keep.Outputs[k8s.NodeAnnotationSpecSpec](ctx, rt, k8s.NodeAddressesAnnotation)
		}

		return typed.Set(ctx, rt, "", k8s.NodeAddressesAnnotation, k8s.NodeAnnotationSpecSpec{
			Key: k8s.NodeAddressesAnnotation, Value: joinAddresses(addresses.IPs()),
		})
	})
}

// ownAddresses is the id of the addresses at which the machine is reachable, without those of pods and services.
var ownAddresses = network.FilteredNodeAddressID(network.NodeAddressRoutedID, network.NodeAddressFilterNoK8s)

func joinAddresses(addrs []netip.Addr) string {
	texts := make([]string, 0, len(addrs))
	for _, addr := range addrs[:min(len(addrs), maxNodeAddresses)] {
		texts = append(texts, addr.String())
	}

	return strings.Join(texts, ",")
}
