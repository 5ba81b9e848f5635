// SPDX-License-Identifier: Apache-2.0

// Package clustertest has a fake machine, for tests of code that makes machines a cluster.
package clustertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/secrets"
	"github.com/seed-59268b81/talos/pki"
)

// Machine serves the API of a machine and of the Kubernetes that it becomes: in maintenance to anyone, then with its
// cluster's certificates only.
type Machine struct {
	machine.UnimplementedMachineServiceServer
	cluster.UnimplementedClusterServiceServer

	// Addr is the machine's address in the lab. Others, on the first machine, are those of the other machines.
	Addr   string
	Others []string

	t          *testing.T
	api        net.Listener
	kubernetes *httptest.Server

	mu        sync.Mutex
	tls       *tls.Config
	calls     []string
	config    []byte
	bootstrap int // tries
	lists     int
}

// NewMachine starts a machine in maintenance; it ends with the test.
func NewMachine(t *testing.T, addr string) *Machine {
	f := &Machine{t: t, Addr: addr}

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, CommonName: "maintenance", TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	f.tls = f.serverTLS(ca, tls.NoClientCert)

	if f.api, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}

	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			f.mu.Lock()
			defer f.mu.Unlock()

			return f.tls, nil
		},
	})))
	machine.RegisterMachineServiceServer(server, f)
	cluster.RegisterClusterServiceServer(server, f)

	go func() { _ = server.Serve(f.api) }()
	t.Cleanup(server.Stop)

	f.kubernetes = httptest.NewTLSServer(http.HandlerFunc(f.nodes))
	t.Cleanup(f.kubernetes.Close)

	return f
}

// Endpoint returns the address of the machine's API on this computer, and KubernetesEndpoint that of Kubernetes.
func (f *Machine) Endpoint() string           { return f.api.Addr().String() }
func (f *Machine) KubernetesEndpoint() string { return f.kubernetes.Listener.Addr().String() }

// Calls returns the API calls so far.
func (f *Machine) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()

	return slices.Clone(f.calls)
}

// Configuration returns the configuration that was applied last.
func (f *Machine) Configuration() string {
	f.mu.Lock()
	defer f.mu.Unlock()

	return string(f.config)
}

// serverTLS returns a configuration for 127.0.0.1, the address of the lab's machines on this computer.
func (f *Machine) serverTLS(ca *pki.CA, auth tls.ClientAuthType) *tls.Config {
	pair, err := ca.Sign(pki.LeafOptions{CommonName: "machine", Server: true, TTL: time.Hour, IPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}})
	if err != nil {
		f.t.Error(err)

		return nil
	}

	certificate, err := tls.X509KeyPair(pair.Crt, pair.Key)
	if err != nil {
		f.t.Error(err)
	}

	pool := x509.NewCertPool()
	pool.AddCert(ca.Certificate)

	return &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientAuth: auth, ClientCAs: pool,
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"},
	}
}

func (f *Machine) called(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.calls = append(f.calls, call)
}

func (f *Machine) Version(ctx context.Context, _ *emptypb.Empty) (*machine.VersionResponse, error) {
	call := "version"

	if md, _ := metadata.FromIncomingContext(ctx); len(md.Get(contract.KeyNode)) > 0 {
		call += " of " + md.Get(contract.KeyNode)[0]
	}

	f.called(call)

	return &machine.VersionResponse{Messages: []*machine.Version{{}}}, nil
}

func (f *Machine) ApplyConfiguration(_ context.Context, r *machine.ApplyConfigurationRequest) (*machine.ApplyConfigurationResponse, error) {
	f.called("apply")

	decoded, err := config.Decode(r.GetData())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}

	f.mu.Lock()
	f.config = r.GetData()
	f.mu.Unlock()

	bundle, err := secrets.FromConfig(decoded)
	if err != nil { // a worker's
		return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{{}}}, nil
	}

	ca, err := pki.ParseCA(bundle.Certs.OS.Crt, bundle.Certs.OS.Key)
	if err != nil {
		return nil, err
	}

	authenticated := f.serverTLS(ca, tls.RequireAndVerifyClientCert)

	f.mu.Lock()
	f.tls = authenticated
	f.mu.Unlock()

	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{{Warnings: []string{"a warning"}}}}, nil
}

func (f *Machine) Bootstrap(context.Context, *machine.BootstrapRequest) (*machine.BootstrapResponse, error) {
	f.called("bootstrap")
	f.bootstrap++

	switch f.bootstrap {
	case 1:
		return nil, status.Error(codes.FailedPrecondition, "etcd is not ready yet")
	case 2:
		return nil, status.Error(codes.AlreadyExists, "etcd runs")
	}

	f.t.Error("bootstrap was called again after it had succeeded")

	return nil, status.Error(codes.Internal, "again")
}

func (f *Machine) Kubeconfig(_ *emptypb.Empty, stream grpc.ServerStreamingServer[common.Data]) error {
	f.called("kubeconfig")

	authority := base64.StdEncoding.EncodeToString(pki.EncodeCertificate(f.kubernetes.Certificate()))
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "admin@demo",
		"clusters": [{"name": "demo", "cluster": {"server": "https://%s:6443", "certificate-authority-data": %q}}],
		"contexts": [{"name": "admin@demo", "context": {"cluster": "demo", "user": "admin@demo"}}],
		"users": [{"name": "admin@demo", "user": {"token": "secret"}}]}`, f.Addr, authority)

	var packed bytes.Buffer

	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)

	if err := archive.WriteHeader(&tar.Header{Name: "kubeconfig", Typeflag: tar.TypeReg, Size: int64(len(text)), Mode: 0o600}); err != nil {
		return err
	}

	if _, err := archive.Write([]byte(text)); err != nil {
		return err
	}

	if err := archive.Close(); err != nil {
		return err
	}

	if err := zipped.Close(); err != nil {
		return err
	}

	return stream.Send(&common.Data{Bytes: packed.Bytes()})
}

func (f *Machine) HealthCheck(_ *cluster.HealthCheckRequest, stream grpc.ServerStreamingServer[cluster.HealthCheckProgress]) error {
	f.called("health")

	for _, message := range []string{"etcd is healthy: OK", "etcd is healthy: OK", "all is well: OK"} {
		if err := stream.Send(&cluster.HealthCheckProgress{Message: message}); err != nil {
			return err
		}
	}

	return nil
}

// nodes serves the nodes of Kubernetes, which are ready from the second request on.
func (f *Machine) nodes(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/nodes" || r.Header.Get("Authorization") != "Bearer secret" {
		http.Error(w, "unauthorized", http.StatusUnauthorized)

		return
	}

	f.lists++

	var items []string
	for _, addr := range append([]string{f.Addr}, f.Others...) {
		items = append(items, fmt.Sprintf(`{"metadata": {"name": "a"}, "status": {
			"addresses": [{"type": "InternalIP", "address": %q}],
			"conditions": [{"type": "Ready", "status": %q}]}}`, addr, map[bool]string{true: "True", false: "False"}[f.lists > 1]))
	}

	fmt.Fprintf(w, `{"items": [%s]}`, strings.Join(items, ","))
}
