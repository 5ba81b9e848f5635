// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/test/cluster"
)

// machineCA matches the first authority of a configuration, that of the machine API.
var machineCA = regexp.MustCompile(`(?m)^    ca:\n(        .*\n)+`)

// badConfigurations are edits of a good one; each error must name the mistake.
func badConfigurations(t *testing.T, good []byte) []badConfiguration {
	t.Helper()

	unknown := bytes.Replace(good, []byte("\nmachine:\n"), []byte("\nmachine:\n    colour: red\n"), 1)
	wrong := bytes.Replace(good, []byte("type: controlplane"), []byte("type: [controlplane]"), 1)
	place := machineCA.FindIndex(good)

	if place == nil || bytes.Equal(unknown, good) || bytes.Equal(wrong, good) {
		t.Fatal("the generated configuration has changed: the text to edit is missing")
	}

	missing := append(bytes.Clone(good[:place[0]]), good[place[1]:]...)

	return []badConfiguration{
		{"an empty file", nil, "empty"},
		{"an unknown key", unknown, "colour"},
		{"a wrong type", wrong, "machine.type"},
		{"a missing CA", missing, "machine.ca"},
		{"no YAML", []byte("\x00\xff{["), ""},
	}
}

// alone is a configuration without the main document. A machine without any configuration takes it until it has a complete one.
var alone = []byte("apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: alone\n")

// takesPart checks that the document of alone has effect, and that the machine still waits for a complete configuration.
func takesPart(t *testing.T, c *cluster.Cluster) {
	if err := c.ApplyInsecure(t.Context(), alone); err != nil {
		t.Fatal(err)
	}

	hostname := client.Kind{Namespace: "network", Type: "HostnameStatuses.net.talos.dev"}

	c.Until("the hostname is that of the document", time.Minute, func(ctx context.Context) error {
		return c.With(ctx, client.WithInsecure(), func(ctx context.Context, api *client.Client) error {
			r, err := api.Resource(ctx, hostname, "hostname")
			if err == nil && !strings.Contains(r.GetSpec().GetYamlSpec(), "hostname: alone\n") {
				err = fmt.Errorf("the hostname is %s", r.GetSpec().GetYamlSpec())
			}

			return err
		})
	})

	c.Maintenance()
}

type badConfiguration struct {
	name string
	text []byte
	want string // part of the error
}

func refused(t *testing.T, name string, err error, code codes.Code, want string) {
	t.Helper()

	if status.Code(err) != code || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want %v with %q", name, err, code, want)
	}
}

func badInputInMaintenance(t *testing.T, c *cluster.Cluster) {
	for _, bad := range badConfigurations(t, c.Generated.ControlPlane) {
		refused(t, bad.name, c.ApplyInsecure(t.Context(), bad.text), codes.InvalidArgument, bad.want)
	}

	refused(t, "wrong document alone", c.ApplyInsecure(t.Context(), bytes.ReplaceAll(alone, []byte("alone"), []byte("not_one"))), codes.InvalidArgument, "not_one")

	err := c.With(t.Context(), client.WithInsecure(), func(ctx context.Context, api *client.Client) error {
		return api.Bootstrap(ctx, &machine.BootstrapRequest{})
	})
	refused(t, "bootstrap by anybody", err, codes.PermissionDenied, "os:admin")

	err = c.With(t.Context(), client.WithInsecure(), func(ctx context.Context, api *client.Client) error {
		_, err := api.Reboot(ctx, machine.RebootRequest_DEFAULT)

		return err
	})
	refused(t, "reboot by anybody", err, codes.PermissionDenied, "os:admin")

	// The machine still works.
	c.Maintenance()
}

func badInput(t *testing.T, c *cluster.Cluster) {
	for _, bad := range badConfigurations(t, c.Generated.ControlPlane) {
		err := c.API(t.Context(), func(ctx context.Context, api *client.Client) error {
			_, err := api.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: bad.text, Mode: machine.ApplyConfigurationRequest_AUTO})

			return err
		})
		refused(t, bad.name, err, codes.InvalidArgument, bad.want)
	}

	err := c.API(t.Context(), func(ctx context.Context, api *client.Client) error {
		_, err := api.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: c.Generated.Worker, Mode: machine.ApplyConfigurationRequest_AUTO})

		return err
	})
	refused(t, "a document alone", c.API(t.Context(), func(ctx context.Context, api *client.Client) error {
		_, err := api.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: alone, Mode: machine.ApplyConfigurationRequest_AUTO})

		return err
	}), codes.InvalidArgument, "v1alpha1")
	refused(t, "a control plane node made a worker", err, codes.InvalidArgument, "type")

	err = c.API(t.Context(), func(ctx context.Context, api *client.Client) error {
		return api.Bootstrap(ctx, &machine.BootstrapRequest{})
	})
	refused(t, "a second bootstrap", err, codes.AlreadyExists, "")

	c.Ready("")
}

// foreignClients have no certificate, one of another authority, or one without the role.
func foreignClients(t *testing.T, c *cluster.Cluster) {
	stranger, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	forged, err := stranger.Sign(pki.LeafOptions{Organization: []string{"os:admin"}, Client: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	own := c.Generated.Secrets.Certs.OS

	authority, err := pki.ParseCA(own.Crt, own.Key)
	if err != nil {
		t.Fatal(err)
	}

	reader, err := authority.Sign(pki.LeafOptions{Organization: []string{"os:reader"}, Client: true, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}

	version := func(ctx context.Context, api *client.Client) error {
		_, err := api.Version(ctx)

		return err
	}
	reboot := func(ctx context.Context, api *client.Client) error {
		_, err := api.Reboot(ctx, machine.RebootRequest_DEFAULT)

		return err
	}

	for _, tt := range []struct {
		name     string
		identity client.Option
		call     func(context.Context, *client.Client) error
		code     codes.Code
		want     string
	}{
		{"no certificate", client.WithInsecure(), version, codes.Unavailable, "certificate required"},
		{"one of another authority", client.WithTLS(presenting(t, c, forged)), version, codes.Unavailable, "unknown certificate authority"},
		{"a machine of another authority", client.WithCertificates(stranger.PEM.Crt, forged.Crt, forged.Key), version, codes.Unavailable, "unknown authority"},
		{"a reader who wants a reboot", client.WithCertificates(c.Context.CA, reader.Crt, reader.Key), reboot, codes.PermissionDenied, "os:operator"},
	} {
		refused(t, tt.name, c.With(t.Context(), tt.identity, tt.call), tt.code, tt.want)
	}

	if err := c.With(t.Context(), client.WithCertificates(c.Context.CA, reader.Crt, reader.Key), version); err != nil {
		t.Errorf("a read by a reader: %v", err)
	}
}

// presenting trusts the cluster and presents a certificate, whichever authorities the server accepts.
func presenting(t *testing.T, c *cluster.Cluster, pair pki.Pair) *tls.Config {
	t.Helper()

	cert, err := pair.TLS()
	if err != nil {
		t.Fatal(err)
	}

	pool, err := pki.Pool(c.Context.CA)
	if err != nil {
		t.Fatal(err)
	}

	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: pool,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil },
	}
}
