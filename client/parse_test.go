// SPDX-License-Identifier: Apache-2.0

package client

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
)

func TestSplitEndpoint(t *testing.T) {
	for _, tt := range []struct{ endpoint, want string }{
		{"172.20.0.2", "172.20.0.2:50000"},
		{"172.20.0.2:41000", "172.20.0.2:41000"},
		{"node.example", "node.example:50000"},
		{"fd00::2", "[fd00::2]:50000"},
		{"[fd00::2]", "[fd00::2]:50000"},
		{"[fd00::2]:41000", "[fd00::2]:41000"},
	} {
		host, port, err := splitEndpoint(tt.endpoint)
		if got := net.JoinHostPort(host, port); got != tt.want || err != nil {
			t.Errorf("%s: got %s, %v, want %s", tt.endpoint, got, err, tt.want)
		}
	}
}

func FuzzSplitEndpoint(f *testing.F) {
	for _, s := range []string{"a", "a:1", "[::1]:1", "::1", "[", ":", "a:99999"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, endpoint string) {
		host, port, err := splitEndpoint(endpoint)
		if err != nil {
			return
		}

		again, samePort, err := splitEndpoint(net.JoinHostPort(host, port))
		if again != host || samePort != port || err != nil {
			t.Errorf("%q is %q and %q, which is %q and %q, %v", endpoint, host, port, again, samePort, err)
		}
	})
}

func archiveOf(t testing.TB, files map[string]string) []byte {
	t.Helper()

	var b bytes.Buffer

	zip := gzip.NewWriter(&b)
	archive := tar.NewWriter(zip)

	for name, content := range files {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}

		if _, err := archive.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}

	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}

	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}

	return b.Bytes()
}

func TestUnpackKubeconfig(t *testing.T) {
	whole := archiveOf(t, map[string]string{"other": "x", "kubeconfig": "kind: Config"})

	for _, tt := range []struct {
		name    string
		archive []byte
		want    string
		err     string
	}{
		{name: "whole", archive: whole, want: "kind: Config"},
		{name: "another file", archive: archiveOf(t, map[string]string{"config": "x"}), err: "no file named kubeconfig"},
		{name: "cut", archive: whole[:len(whole)/2], err: "unexpected EOF"},
		{name: "not gzip", archive: []byte("kind: Config"), err: "gzip"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := unpackKubeconfig(bytes.NewReader(tt.archive))
			if string(got) != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v, want %q and error %q", got, err, tt.want, tt.err)
			}
		})
	}
}

func FuzzUnpackKubeconfig(f *testing.F) {
	f.Add(archiveOf(f, map[string]string{"kubeconfig": "kind: Config"}))
	f.Add([]byte{0x1f, 0x8b})

	f.Fuzz(func(t *testing.T, archive []byte) {
		if got, err := unpackKubeconfig(bytes.NewReader(archive)); err != nil && got != nil {
			t.Errorf("got %q and %v", got, err)
		}
	})
}

func TestFind(t *testing.T) {
	definitions := Definitions{
		{Type: "Addresses.net.talos.dev", AllAliases: []string{"addresses", "address"}},
		{Type: "AddressStatuses.net.talos.dev", AllAliases: []string{"addressstatuses", "as", "address"}},
	}

	for _, tt := range []struct{ name, want, err string }{
		{name: "addressstatuses.NET.talos.dev", want: "AddressStatuses.net.talos.dev"},
		{name: "AS", want: "AddressStatuses.net.talos.dev"},
		{name: "addresses", want: "Addresses.net.talos.dev"},
		{name: "address", err: "AddressStatuses.net.talos.dev or Addresses.net.talos.dev"},
		{name: "", err: `"" is unknown`},
	} {
		got, err := definitions.Find(tt.name)
		if got.Type != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: got %q, %v, want %q and error %q", tt.name, got.Type, err, tt.want, tt.err)
		}
	}
}

func TestUnwrap(t *testing.T) {
	failed := &machine.VersionResponse{Messages: []*machine.Version{{Metadata: &common.Metadata{Error: "no route"}}}}
	coded := &machine.VersionResponse{Messages: []*machine.Version{{Metadata: &common.Metadata{
		Error: "no route", Status: status.New(codes.Unavailable, "no route").Proto(),
	}}}}

	for _, tt := range []struct {
		name string
		r    *machine.VersionResponse
		err  error
		want string
		code codes.Code
	}{
		{name: "answer", r: &machine.VersionResponse{Messages: []*machine.Version{{}}}},
		{name: "empty", r: &machine.VersionResponse{}, want: "version: the answer is empty", code: codes.Unknown},
		{name: "error of the call", err: status.Error(codes.NotFound, "none"), want: "version: rpc error: code = NotFound desc = none", code: codes.NotFound},
		{name: "error in the answer", r: failed, want: "version: rpc error: code = Unknown desc = no route", code: codes.Unknown},
		{name: "status in the answer", r: coded, want: "version: rpc error: code = Unavailable desc = no route", code: codes.Unavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := unwrap("version", tt.r, tt.err)
			if status.Code(err) != tt.code || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s of code %s", err, tt.want, tt.code)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		name       string
		err        error
		cause, try string
	}{
		{name: "no status", err: fmt.Errorf("read: %w", net.ErrClosed), cause: "read: use of closed network connection"},
		{name: "node's own text", err: fmt.Errorf("bootstrap: %w", status.Error(codes.FailedPrecondition, "a worker has no etcd")), cause: "bootstrap: a worker has no etcd"},
		{
			name:  "handshake",
			err:   fmt.Errorf("version: %w", status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority"`)),
			cause: "version: authentication handshake failed: tls: failed to verify certificate: x509: certificate signed by unknown authority",
			try:   "the machine belongs to another cluster",
		},
		{name: "role", err: status.Error(codes.PermissionDenied, "not authorized"), cause: "not authorized", try: "lacks the role"},
		{
			name:  "node that the endpoint cannot reach",
			err:   fmt.Errorf("memory: %w", status.Error(codes.Unavailable, "node cp-2: connect: dial tcp 10.5.0.3:50000: i/o timeout; check that the machine is on")),
			cause: "memory: node cp-2: connect: dial tcp 10.5.0.3:50000: i/o timeout", try: "check that the machine is on",
		},
		{name: "part of a node", err: status.Error(codes.Unavailable, "containerd does not answer: connection error: refused"), cause: "containerd does not answer: connection error: refused"},
		{name: "step named twice", err: fmt.Errorf("rollback: %w", status.Error(codes.Unimplemented, "rollback: there is no earlier version")), cause: "rollback: there is no earlier version"},
		{name: "call of a later version", err: status.Error(codes.Unimplemented, "unknown service a.B"), cause: "unknown service a.B", try: "does not have this call"},
		{
			name:  "too large",
			err:   status.Error(codes.ResourceExhausted, "grpc: received message larger than max (33554433 vs. 33554432)"),
			cause: "grpc: received message larger than max (33554433 vs. 33554432)", try: "32 MiB",
		},
		{name: "too much of something else", err: status.Error(codes.ResourceExhausted, "packet capture: 8 are running already"), cause: "packet capture: 8 are running already"},
		{name: "refused while writing", err: status.Error(codes.Unavailable, "remote error: tls: unknown certificate authority"), cause: "remote error: tls: unknown certificate authority", try: "does not accept the talosconfig's certificate"},
		{name: "silence", err: status.Error(codes.Unavailable, "i/o timeout"), cause: "i/o timeout", try: "up and reachable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cause, try := Explain(tt.err)
			if cause != tt.cause || (try == "") != (tt.try == "") || !strings.Contains(try, tt.try) {
				t.Errorf("got %q, %q, want %q, %q", cause, try, tt.cause, tt.try)
			}
		})
	}
}
