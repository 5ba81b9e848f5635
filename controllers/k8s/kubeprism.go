// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/seed-59268b81/talos/controllers/k8s/kubeprism"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/sys/heldport"
)

// kubePrismController runs the load balancer at the configured address, and publishes whether an API server answers.
type kubePrismController struct {
	// The port stays bound while the controller fails and restarts, so that no other program can answer there.
	held    *heldport.Port
	address string
}

func (*kubePrismController) Name() string { return "k8s.KubePrismController" }

func (*kubePrismController) Inputs() []controller.Input {
	return []controller.Input{
		controller.In[k8s.KubePrismConfigSpec](controller.Weak, "", k8s.KubePrismConfigID),
		controller.In[secrets.KubeletSpec](controller.Weak, "", secrets.KubeletID),
		controller.In[network.NodeAddressSpec](controller.Weak, "", network.NodeAddressCurrentID),
	}
}

func (*kubePrismController) Outputs() []controller.Output {
	return []controller.Output{controller.Out[k8s.KubePrismStatusesSpec](controller.Exclusive)}
}

// Run implements controller.Controller.
func (c *kubePrismController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	var (
		prober   kubeprism.Prober
		balancer = kubeprism.Balancer{Probe: prober.Readyz}
		serving  string
		stop     = func() {}
		failed   = make(chan error, 1)
	)

	defer func() {
		stop()
		prober.Close()

		if ctx.Err() != nil {
			_ = c.hold(ctx, "")
		}
	}()

	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-rt.Events():
		}

		var settings k8s.KubePrismConfigSpec

		f := typed.Read(ctx, rt, k8s.KubePrismConfigID, &settings)
		if f.Err != nil {
			return f.Err
		}

		// The authorities stay as they are while they are not known.
		var join secrets.KubeletSpec

		if f := typed.Read(ctx, rt, secrets.KubeletID, &join); f.Err != nil {
			return f.Err
		} else if f.OK {
			prober.Trust(secrets.JoinCerts(join.AcceptedCAs))
			prober.Expect(join.EndpointTLSServerName)
		}

		var own network.NodeAddressSpec

		if f := typed.Read(ctx, rt, network.NodeAddressCurrentID, &own); f.Err != nil {
			return f.Err
		}

		address := ""

		if f.OK {
			address = net.JoinHostPort(settings.Host, strconv.Itoa(settings.Port))

			balancer.SetUpstreams(upstreams(settings, own.IPs()))
		}

		if address != serving {
			stop()

			stop, serving = func() {}, ""

			if err := c.hold(ctx, address); err != nil {
				return err
			}

			if address != "" {
				stop = startKubePrism(ctx, &balancer, c.held, failed, rt.QueueReconcile, log)
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

// upstreams returns the API servers, each once: on a control plane, an address of the node itself leads to the same one as its loopback. It
// would look like another that answers when the node's own has failed.
func upstreams(settings k8s.KubePrismConfigSpec, own []netip.Addr) []kubeprism.Upstream {
	var (
		out   = make([]kubeprism.Upstream, 0, len(settings.Endpoints))
		local = map[uint32]bool{} // by port
	)

	for _, endpoint := range settings.Endpoints {
		ip, _ := netip.ParseAddr(endpoint.Host)
		if local[endpoint.Port] && slices.Contains(own, ip) {
			continue
		}

		if ip.IsLoopback() {
			local[endpoint.Port] = true
		}

		address := net.JoinHostPort(endpoint.Host, strconv.FormatUint(uint64(endpoint.Port), 10))
		out = append(out, kubeprism.Upstream{Address: address, Local: ip.IsLoopback()})
	}

	return out
}

// hold binds the port of an address, and releases the previous port. "" only releases.
func (c *kubePrismController) hold(ctx context.Context, address string) error {
	if c.held != nil && c.address == address {
		return nil
	}

	if c.held != nil {
		c.held.Close() // there is nothing to flush
		c.held = nil
	}

	if address == "" {
		return nil
	}

	held, err := heldport.Hold(ctx, address)
	if err != nil {
		return fmt.Errorf("KubePrism: %w", err)
	}

	c.held, c.address = held, address

	return nil
}

// startKubePrism serves until it is stopped; stop returns when all connections are closed.
func startKubePrism(
	ctx context.Context, balancer *kubeprism.Balancer, port kubeprism.Port, failed chan<- error, changed func(), log *slog.Logger,
) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)

	var both guard.Group

	for _, half := range []func() error{
		func() error { return balancer.Serve(ctx, port, log) },
		func() error { return balancer.Check(ctx, changed, log) },
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

	return func() { cancel(); _ = both.Wait() }
}
