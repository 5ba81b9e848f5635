// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/imagerules"
)

// contacts returns the address of a listener that closes all connections, and how many it got.
func contacts(t *testing.T) (address string, n *atomic.Int32) {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = l.Close() })

	n = new(atomic.Int32)

	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}

			n.Add(1)
			_ = conn.Close()
		}
	}()

	return l.Addr().String(), n
}

// TestVerifyContactsNoHost: a reader cannot find out with Verify which ports of a network are open. The node contacts a host for a reader only if
// a rule asks for a signature, and never in maintenance mode, where anyone is a reader.
func TestVerifyContactsNoHost(t *testing.T) {
	b := newBench(t)
	address, connections := contacts(t)
	client := machine.NewImageServiceClient(b.conn)
	dir := t.TempDir()
	b.Registries = container.Access{Hosts: dir, Credentials: filepath.Join(dir, "credentials"), Cache: filepath.Join(dir, "cache")}

	digested := "@sha256:" + strings.Repeat("ab", 32)

	write := func(rules imagerules.Rules) {
		t.Helper()

		text, err := rules.Text()
		if err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(filepath.Join(dir, filepath.Base(layout.ImageRules)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		name    string
		rules   imagerules.Rules
		message string
	}{
		{"no rules", nil, "no rule of ImageVerificationConfig matches"},
		{"rules for others", imagerules.Rules{{Image: "registry.test/*", Deny: true}}, "no rule of ImageVerificationConfig matches"},
		{"a rule that skips", imagerules.Rules{{Image: "*", Skip: true}}, "asks for no signature"},
	} {
		write(tt.rules)

		for _, role := range []string{contract.RoleReader, contract.RoleImageVerifier} {
			for ref, want := range map[string]string{
				address + "/a:1":          address + "/a:1",
				address + "/a" + digested: address + "/a" + digested,
				address + "/b/c:late":     address + "/b/c:late",
			} {
				got, err := client.Verify(as(t.Context(), role), &machine.ImageServiceVerifyRequest{ImageRef: ref})
				if err != nil || got.GetVerified() || got.GetDigestedImageRef() != want || !strings.Contains(got.GetMessage(), tt.message) {
					t.Errorf("%s, %s, %s: got %v, %v, want that it may be pulled", tt.name, role, ref, got, err)
				}
			}
		}
	}

	for ref, want := range map[string]codes.Code{"Not a reference": codes.InvalidArgument, "": codes.InvalidArgument} {
		if got, err := client.Verify(as(t.Context(), contract.RoleReader), &machine.ImageServiceVerifyRequest{ImageRef: ref}); status.Code(err) != want {
			t.Errorf("%q: got %v, %v, want %s", ref, got, err, want)
		}
	}

	verify := func(role string) error {
		_, err := client.Verify(as(t.Context(), role), &machine.ImageServiceVerifyRequest{ImageRef: address + "/a:1"})

		return err
	}

	// A document of rules alone is not a configuration: the machine is in maintenance mode.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	public, err := pki.EncodePublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}

	write(imagerules.Rules{{Image: "*", PublicKey: string(public)}})
	set(t, b, secrets.APIID, secrets.APICertsSpec{SkipVerifyingClientCert: true})

	if err := verify(contract.RoleReader); status.Code(err) != codes.PermissionDenied {
		t.Errorf("in maintenance mode: got %v, want %s", err, codes.PermissionDenied)
	}

	if n := connections.Load(); n > 0 {
		t.Errorf("the host has got %d connections, want none", n)
	}

	set(t, b, secrets.APIID, secrets.APICertsSpec{})

	if err := verify(contract.RoleReader); err == nil || connections.Load() == 0 {
		t.Errorf("a rule asks for a signature: got %v, %d connections, want that the registry is contacted", err, connections.Load())
	}

	write(nil)
	connections.Store(0)

	if err := verify(contract.RoleOperator); err == nil || connections.Load() == 0 {
		t.Errorf("an operator: got %v, %d connections, want that the registry is contacted", err, connections.Load())
	}
}
