// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/resources/service"
)

// register makes the types of resources that are read known to this process.
func register() error {
	return errors.Join(
		resource.Register[configres.MachineConfigSpec](), resource.Register[service.ServiceSpec](),
		resource.Register[k8s.NodenameSpec](), resource.Register[k8s.NodeIdentitySpec](), resource.Register[k8s.StaticPodSpec](),
		resource.Register[k8s.KubeletServingStatusSpec](), secrets.Register(),
	)
}

// host is a node.
type host struct {
	name         string
	controlPlane bool
}

// cluster is the nodes, through the endpoints of a talosconfig.
type cluster struct {
	context talosconfig.Context
	api     *client.Client
	hosts   []host
}

func connect(context *talosconfig.Context) (*cluster, error) {
	api, err := client.Connect(context)

	return &cluster{context: *context, api: api}, err
}

func (c *cluster) close() { c.api.Close() } // there is nothing to do about a failure

// reconnect continues with other credentials.
func (c *cluster) reconnect(context talosconfig.Context) error {
	api, err := client.Connect(&context)
	if err != nil {
		return err
	}

	c.close()
	c.api, c.context = api, context

	return nil
}

// as returns a context with the same endpoints and other credentials.
func (c *cluster) as(own pki.Pair, roots ...*x509.Certificate) talosconfig.Context {
	next := c.context
	next.CA, next.Crt, next.Key = pki.EncodeCertificates(roots), own.Crt, own.Key

	return next
}

// reader reads the resources of a node; of the endpoint itself if the name is empty.
type reader struct {
	node  string
	state *remote.State
}

func (c *cluster) reader(node string) reader { return reader{node, remote.New(c.api.Conn())} }

func (r reader) to(ctx context.Context) context.Context {
	if r.node == "" {
		return ctx
	}

	return client.WithNode(ctx, r.node)
}

// Get implements state.Reader.
func (r reader) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	return r.state.Get(r.to(ctx), ptr, opts...)
}

// List implements state.Reader.
func (r reader) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	return r.state.List(r.to(ctx), kind, opts...)
}

// discover finds the nodes: those that are named, or else those that a control plane node knows from Kubernetes. A node that is left out
// would lose its cluster, so all must be named.
func (c *cluster) discover(ctx context.Context, controlPlanes, workers []string) error {
	known, err := typed.List[k8s.NodeIdentitySpec](ctx, c.reader(""), "")
	if err != nil {
		return fmt.Errorf("find the nodes: %w", err)
	}

	if len(controlPlanes)+len(workers) == 0 {
		if len(known) == 0 {
			return errors.New("find the nodes: the endpoint knows no node of Kubernetes: is it a control plane node? Name the nodes with --control-plane-nodes and --worker-nodes")
		}

		for _, n := range known {
			if len(n.TypedSpec().Addresses) == 0 {
				return fmt.Errorf("find the nodes: node %s has no address", n.Metadata().ID())
			}

			c.hosts = append(c.hosts, host{n.TypedSpec().Addresses[0].String(), n.TypedSpec().ControlPlane})
		}

		return nil
	}

	for _, name := range controlPlanes {
		c.hosts = append(c.hosts, host{name, true})
	}

	for _, name := range workers {
		c.hosts = append(c.hosts, host{name, false})
	}

	for _, n := range known {
		if !slices.ContainsFunc(c.hosts, func(h host) bool { return names(n.Metadata().ID(), n.TypedSpec(), h.name) }) {
			return fmt.Errorf("find the nodes: node %s %s of the cluster is not named, and would lose the cluster: name it with --control-plane-nodes or --worker-nodes, or delete the Node if the machine is gone",
				n.Metadata().ID(), n.TypedSpec().Addresses)
		}
	}

	return nil
}

// names reports whether a name or an address is that of a node.
func names(id string, node *k8s.NodeIdentitySpec, name string) bool {
	addr, err := netip.ParseAddr(name)

	return name == id || slices.Contains(node.Names, name) || err == nil && slices.Contains(node.Addresses, addr.Unmap())
}

// read reads the configuration of a node. It must be the only one: a configuration that is staged would be activated by a change, and one
// on trial made permanent.
func (c *cluster) read(ctx context.Context, h host) (*view.Config, []byte, error) {
	var active, persistent configres.MachineConfigSpec

	r := c.reader(h.name)

	ok, err := typed.All(typed.Read(ctx, r, configres.ActiveID, &active), typed.Read(ctx, r, configres.PersistentID, &persistent))

	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read the configuration: %w", err)
	case !ok:
		return nil, nil, errors.New("read the configuration: the node has none that is active and stored")
	case string(active.Bytes()) != string(persistent.Bytes()):
		return nil, nil, errors.New("another configuration is staged for the next boot, or on trial: reboot the node, or apply the right one, first")
	case active.View().Type().IsControlPlane() != h.controlPlane:
		return nil, nil, fmt.Errorf("the node is of type %s: name it in the other list of nodes", active.View().Type())
	default:
		return active.View(), active.Bytes(), nil
	}
}

// apply puts a configuration in effect that was made from another, unless the node has a third by now.
func (c *cluster) apply(ctx context.Context, h host, from, to []byte) error {
	// A step is for good: the next one relies on it on all nodes.
	ctx = client.CommitNow(client.From(client.WithNode(ctx, h.name), configres.ActiveID, from))

	_, err := c.api.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: to, Mode: machine.ApplyConfigurationRequest_NO_REBOOT})

	return err
}

// changed reports whether a node refused a configuration because it has another by now than that from which the new one was made.
func changed(err error) bool { return status.Code(err) == codes.Aborted }

// answers checks that every node answers to credentials.
func (c *cluster) answers(ctx context.Context, credentials talosconfig.Context) error {
	api, err := client.Connect(&credentials)
	if err != nil {
		return err
	}
	defer api.Close()

	for _, h := range c.hosts {
		if _, err := api.Version(client.WithNode(ctx, h.name)); err != nil {
			return fmt.Errorf("node %s with the new talosconfig: %w", h.name, err)
		}
	}

	return nil
}

// kubernetesAt returns a client of the API servers for an administrator with a certificate of an authority. known is the authority that the
// user's kubeconfig has, which may name the way to the cluster.
func kubernetesAt(cfg *view.Config, endpoint string, known, issuing *x509.Certificate, key []byte, roots ...*x509.Certificate) (*kube.Client, string, error) {
	own, err := administrator(kubernetes, issuing, key)
	if err != nil {
		return nil, "", err
	}

	config := kubeconfig.ForUser(kubeconfig.Config{Server: cfg.Endpoint().String(), CA: pki.EncodeCertificate(known)}, endpoint)
	config.CA, config.Crt, config.Key = pki.EncodeCertificates(roots), own.Crt, own.Key

	api, err := kube.New(config)

	return api, config.Server, err
}
