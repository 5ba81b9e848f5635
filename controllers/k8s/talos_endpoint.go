// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/talosaccess"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/kubeaccess"
)

// The Service is a bootstrap manifest. Until it is there, and after an error, the endpoints wait for the retry. They are deleted with a Service
// that a user deletes, which is found at the next check.
const (
	talosServiceRetry = 5 * time.Second
	talosServiceCheck = 5 * time.Minute
)

// talosEndpointController writes the addresses of the control planes into the endpoints of the Service talos. Every control plane writes the
// same, and only what differs.
func talosEndpointController(root string) controller.Controller {
	var (
		access    kubeaccess.ConfigSpec
		published k8s.EndpointSpec
	)

	inputs := frominputs.List{
		frominputs.Of(kubeaccess.ConfigID, &access),
		frominputs.Of(k8s.EndpointAPIServerID, &published),
	}

	for _, in := range accessInputs() {
		inputs = append(inputs, frominputs.Also(in))
	}

	return frominputs.Reconciler("kubeaccess.EndpointController", nil, nil, inputs, func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
		if !access.Enabled {
			return nil
		}

		client, err := nodeClient(ctx, rt, root)
		if err != nil || client == nil {
			return err
		}
		defer client.Close()

		if err := writeTalosEndpoints(ctx, client, published.Addresses); err != nil {
			log.DebugContext(ctx, "the endpoints of the Service talos wait", "error", err)

			return controller.Requeue(talosServiceRetry)
		}

		return controller.Requeue(talosServiceCheck)
	})
}

func writeTalosEndpoints(ctx context.Context, client *kube.Client, addresses []netip.Addr) error {
	service, err := client.Get(ctx, talosaccess.ServicePath)
	if err != nil {
		return err
	}

	var errs []error

	for _, slice := range talosaccess.Slices(kube.At[string](service, "metadata", "uid"), addresses) {
		_, _, _, name := kube.Identity(slice)
		path := talosaccess.SlicesPath + "/" + name

		live, err := client.Get(ctx, path)
		if err == nil && talosaccess.Same(live, slice) || kube.IsNotFound(err) && talosaccess.Empty(slice) {
			continue
		}

		if err == nil || kube.IsNotFound(err) {
			_, err = client.Apply(ctx, path, "talos", slice)
		}

		errs = append(errs, err)
	}

	return errors.Join(errs...)
}
