// SPDX-License-Identifier: Apache-2.0

// Package clienttest is an API endpoint for tests: a real gRPC server with mutual TLS on loopback, in front of nodes that are
// plain data in memory. It routes calls by node as apid does, and answers as machined would.
package clienttest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/api/contract"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/pki"
)

// Server is a running endpoint.
type Server struct {
	// Endpoint is its address.
	Endpoint string
	// Context has the credentials of an administrator.
	Context *talosconfig.Context
	// Certificate is its own certificate.
	Certificate tls.Certificate

	config *tls.Config
}

// Start serves the nodes, by name, until the test ends. The node "" serves calls that name no node.
func Start(t testing.TB, nodes map[string]*Node) *Server {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	shown := sign(t, ca, pki.LeafOptions{Organization: []string{contract.RoleAdmin}, Client: true, TTL: time.Hour})

	clients, err := pki.Pool(ca.PEM.Crt)
	if err != nil {
		t.Fatal(err)
	}

	s := serve(t, nodes, &tls.Config{
		Certificates: serving(t, ca, pki.LeafOptions{IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}}),
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: clients, MinVersion: tls.VersionTLS13,
	})
	s.Context = &talosconfig.Context{Endpoints: []string{s.Endpoint}, CA: ca.PEM.Crt, Crt: shown.Crt, Key: shown.Key}

	return s
}

// Beside serves other nodes as another endpoint of the same cluster.
func (s *Server) Beside(t testing.TB, nodes map[string]*Node) *Server {
	t.Helper()

	other := serve(t, nodes, s.config)
	other.Context = &talosconfig.Context{Endpoints: []string{other.Endpoint}, CA: s.Context.CA, Crt: s.Context.Crt, Key: s.Context.Key}

	return other
}

// StartMaintenance serves one node like a machine in maintenance mode: to everyone, with a self-signed certificate.
func StartMaintenance(t testing.TB, node *Node) *Server {
	t.Helper()

	return serve(t, map[string]*Node{"": node}, maintenance(t))
}

// StartLost serves one node like a machine that has lost its configuration: only to the administrators of the context, with a
// self-signed certificate.
func StartLost(t testing.TB, node *Node, context *talosconfig.Context) *Server {
	t.Helper()

	config := maintenance(t)
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	config.ClientCAs.AppendCertsFromPEM(context.CA)

	return serve(t, map[string]*Node{"": node}, config)
}

func maintenance(t testing.TB) *tls.Config {
	t.Helper()

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519})
	if err != nil {
		t.Fatal(err)
	}

	return &tls.Config{Certificates: serving(t, ca, pki.LeafOptions{CommonName: pki.MaintenanceName}), MinVersion: tls.VersionTLS13}
}

// serving returns the certificate of a server.
func serving(t testing.TB, ca *pki.CA, options pki.LeafOptions) []tls.Certificate {
	t.Helper()

	options.Server, options.TTL = true, time.Hour

	certificate, err := sign(t, ca, options).TLS()
	if err != nil {
		t.Fatal(err)
	}

	return []tls.Certificate{certificate}
}

func sign(t testing.TB, ca *pki.CA, options pki.LeafOptions) pki.Pair {
	t.Helper()

	pair, err := ca.Sign(options)
	if err != nil {
		t.Fatal(err)
	}

	return pair
}

func serve(t testing.TB, nodes map[string]*Node, config *tls.Config) *Server {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(config)), grpc.InTapHandle(routes(nodes).enter),
		grpc.UnaryInterceptor(unary), grpc.StreamInterceptor(stream), grpc.UnknownServiceHandler(unknown),
	)
	machine.RegisterMachineServiceServer(server, machineServer{})
	cluster.RegisterClusterServiceServer(server, machineServer{})
	cosiapi.RegisterStateServer(server, stateServer{})

	done := make(chan error, 1)

	go func() { done <- server.Serve(listener) }()

	t.Cleanup(func() {
		server.Stop()

		// A test may end before the server has started.
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("serve: %v", err)
		}
	})

	return &Server{Endpoint: listener.Addr().String(), Certificate: config.Certificates[0], config: config}
}
