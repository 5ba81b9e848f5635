// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apid

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/seed-59268b81/talos/api/contract"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	apidctl "github.com/seed-59268b81/talos/controllers/apid"
	secretsctl "github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/remote"
	"github.com/seed-59268b81/talos/cosi/resource"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	cosiserver "github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/machine/server"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// controlPlane is the environment of apid on a control plane node: the machine's state, the controllers that issue the certificates,
// machined's two sockets, and apid's watch of its resources.
type controlPlane struct {
	t      *testing.T
	name   string
	addr   string
	state  *memory.State
	router *Router
	root   secrets.OSRootSpec
}

// startControlPlane starts one with the given certificates, which the controllers replace later.
func startControlPlane(t *testing.T, name string, ca *pki.CA, first time.Duration) *controlPlane {
	t.Helper()

	for _, register := range []func() error{meta.RegisterTypes, registerTypes, k8s.Register} {
		if err := register(); err != nil {
			t.Fatal(err)
		}
	}

	c := &controlPlane{t: t, name: name, state: memory.New()}
	c.root = secrets.OSRootSpec{IssuingCA: secrets.CertAndKey(ca.PEM), AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}}}

	if err := meta.Register(t.Context(), c.state); err != nil {
		t.Fatal(err)
	}

	if err := meta.RegisterDefinition(t.Context(), c.state, k8s.NodenameSpec{}.Definition()); err != nil {
		t.Fatal(err)
	}

	put(c, network.HostnameID, network.HostnameStatusSpec{Hostname: name})
	put(c, network.NodeAddressAccumulativeID, network.NodeAddressSpec{Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8")}})
	put(c, secrets.OSRootID, c.root)
	put(c, secrets.APIID, c.certificates(ca, first), state.WithOwner("secrets.APIController"))

	c.control()

	log := slog.New(slog.DiscardHandler)
	peers := func(roles []string) server.Peers {
		return server.Peers{
			Service: func(context.Context, int) string { return "apid" },
			Roles:   map[string][]string{"apid": roles},
		}
	}

	machined := server.New(log, peers(contract.Roles()).Options(server.Authorized(c.state))...)
	cosiapi.RegisterStateServer(machined, cosiserver.New(server.ReadOnly(c.state, server.ByRole(c.state))))

	resources := server.New(log, peers(nil).Options()...)
	cosiapi.RegisterStateServer(resources, cosiserver.New(server.ReadOnly(c.state, server.Only(Kinds()...))))

	c.serve(c.socket(machined), c.socket(resources))

	return c
}

// certificates returns the certificates of a node that has run for a while: they are due for renewal soon.
func (c *controlPlane) certificates(ca *pki.CA, life time.Duration) secrets.APICertsSpec {
	sign := func(opts pki.LeafOptions) secrets.CertAndKey {
		opts.CommonName, opts.NotBefore, opts.TTL = c.name, time.Now(), life

		leaf, err := ca.Sign(opts)
		if err != nil {
			c.t.Fatal(err)
		}

		return secrets.CertAndKey(leaf)
	}

	return secrets.APICertsSpec{
		Server:      sign(pki.LeafOptions{DNSNames: []string{"localhost", c.name}, IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Server: true}),
		Client:      sign(pki.LeafOptions{Organization: []string{contract.RoleImpersonator}, Client: true}),
		AcceptedCAs: c.root.AcceptedCAs,
	}
}

// control runs the controllers of the certificates and of apid's configuration.
func (c *controlPlane) control() {
	rt := cosiruntime.New(c.state, slog.New(slog.DiscardHandler))

	for _, controller := range append(secretsctl.Controllers(), apidctl.ConfigController()) {
		if err := rt.RegisterController(controller); err != nil {
			c.t.Fatal(err)
		}
	}

	c.background(rt.Run)
}

// socket serves g on a Unix socket and returns its path.
func (c *controlPlane) socket(g *grpc.Server) string {
	path := filepath.Join(c.t.TempDir(), "socket")

	l, err := server.Listen(path, 0o600, os.Getuid(), os.Getgid())
	if err != nil {
		c.t.Fatal(err)
	}

	c.background(func(ctx context.Context) error {
		defer context.AfterFunc(ctx, g.Stop)()

		return g.Serve(l)
	})

	return path
}

// serve runs apid like its process, but with another port and lookup of nodes, which have one IP address here.
func (c *controlPlane) serve(machined, resources string) {
	conn, err := grpc.NewClient("unix:"+resources, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		c.t.Fatal(err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}

	c.addr = l.Addr().String()
	addresses.Store(c.name, c.addr)

	c.router = NewRouter(slog.New(slog.DiscardHandler), machined)
	c.router.backends.address = addressOfNode
	g := c.router.Server()

	c.t.Cleanup(func() {
		c.router.Close()
		conn.Close()
	})

	views := make(chan *View)

	c.background(func(ctx context.Context) error { return watchViews(ctx, remote.New(conn), views) })
	c.background(func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case view := <-views:
				c.router.SetView(view)
			}
		}
	})
	c.background(func(ctx context.Context) error {
		defer context.AfterFunc(ctx, g.Stop)()

		return g.Serve(newListener(l, c.router.pressure))
	})

	c.until("there are certificates", func() bool { return c.router.View() != nil })
}

// background runs fn until the end of the test.
func (c *controlPlane) background(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)

	go func() { done <- run(ctx) }()

	c.t.Cleanup(func() {
		cancel()

		if err := <-done; err != nil {
			c.t.Error(err)
		}
	})
}

func (c *controlPlane) until(what string, done func() bool) {
	c.t.Helper()

	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("node %s: timed out waiting until %s", c.name, what)
		}
	}
}

// put writes a resource of the node.
func put[S resource.Spec](c *controlPlane, id string, spec S, opts ...state.WriteOption) {
	c.t.Helper()

	if err := typed.Set(c.t.Context(), c.state, "", id, spec, opts...); err != nil {
		c.t.Fatal(err)
	}
}
