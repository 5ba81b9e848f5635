// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeprism"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// kubePrismController runs the load balancer where its settings say, and publishes whether it has an API server.
type kubePrismController struct{}

func (kubePrismController) Name() string { return "k8s.KubePrismController" }

func (kubePrismController) Inputs() []controller.Input {
	return []controller.Input{controller.In[k8s.KubePrismConfigSpec](controller.Weak, "", k8s.KubePrismConfigID)}
}

func (kubePrismController) Outputs() []controller.Output {
	return []controller.Output{controller.Out[k8s.KubePrismStatusesSpec](controller.Exclusive)}
}

// Run implements controller.Controller.
func (kubePrismController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var (
		balancer = kubeprism.Balancer{Ready: kubeprism.Readyz}
		serving  string
		stop     = func() {}
		failed   = make(chan error, 1)
	)

	defer func() { stop() }()

	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-rt.Events():
		}

		var settings k8s.KubePrismConfigSpec

		f := read(ctx, rt, k8s.KubePrismConfigID, &settings)
		if f.err != nil {
			return f.err
		}

		address := ""

		if f.ok {
			address = net.JoinHostPort(settings.Host, strconv.Itoa(settings.Port))

			balancer.SetUpstreams(upstreams(settings))
		}

		if address != serving {
			stop()

			stop, serving = func() {}, ""

			if address != "" {
				var err error

				if stop, err = startKubePrism(ctx, &balancer, address, failed, rt.QueueReconcile, log); err != nil {
					return err
				}

				serving = address
			}
		}

		rt.StartTrackingOutputs()

		if serving != "" {
			status := k8s.KubePrismStatusesSpec{Host: serving, Healthy: balancer.Healthy()}
			if err := typed.Set(ctx, rt, "", k8s.KubePrismStatusID, status); err != nil {
				return err
			}
		}

		if err := rt.CleanupOutputs(ctx, resource.KindOf[k8s.KubePrismStatusesSpec]("")); err != nil {
			return err
		}

		rt.ResetRestartBackoff()
	}
}

func upstreams(settings k8s.KubePrismConfigSpec) []kubeprism.Upstream {
	out := make([]kubeprism.Upstream, 0, len(settings.Endpoints))

	for _, endpoint := range settings.Endpoints {
		address := net.JoinHostPort(endpoint.Host, strconv.FormatUint(uint64(endpoint.Port), 10))
		ip := net.ParseIP(endpoint.Host)

		out = append(out, kubeprism.Upstream{Address: address, Local: ip != nil && ip.IsLoopback()})
	}

	return out
}

// startKubePrism listens and serves until it is stopped; stop returns when all connections are closed.
func startKubePrism(
	ctx context.Context, balancer *kubeprism.Balancer, address string, failed chan<- error, changed func(), log *slog.Logger,
) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("KubePrism: %w", err) //nolint:staticcheck // a name
	}

	ctx, cancel := context.WithCancel(ctx)

	var both guard.Group

	for _, half := range []func() error{
		func() error { return balancer.Serve(ctx, listener, log) },
		func() error { balancer.Check(ctx, changed, log); return nil },
	} {
		both.Go(func() error {
			err := guard.Call(half)
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}

			return err
		})
	}

	return func() { cancel(); _ = both.Wait() }, nil //nolint:errcheck // it was told
}
