// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/secrets"
)

func TestGenerateClientConfiguration(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)

	request := func(ttl time.Duration, roles ...string) *machine.GenerateClientConfigurationRequest {
		return &machine.GenerateClientConfigurationRequest{Roles: roles, CrtTtl: durationpb.New(ttl)}
	}
	refused := func(what string, req *machine.GenerateClientConfigurationRequest, code codes.Code, want string) {
		t.Helper()

		if _, err := b.machine.GenerateClientConfiguration(ctx, req); status.Code(err) != code || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %v with %q", what, err, code, want)
		}
	}

	refused("no configuration", request(time.Hour, contract.RoleReader), codes.FailedPrecondition, "no configuration yet")
	configure(t, b, configtest.ControlPlane(t))
	refused("a worker", request(time.Hour, contract.RoleReader), codes.FailedPrecondition, "only a control plane node")

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519, Organization: []string{"talos"}})
	if err != nil {
		t.Fatal(err)
	}

	set(t, b, secrets.OSRootID, secrets.OSRootSpec{
		IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}, AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}},
	})

	refused("no role", request(time.Hour), codes.InvalidArgument, "name at least one of the roles")
	refused("impersonation", request(time.Hour, contract.RoleReader, "os:impersonator"), codes.InvalidArgument, `"os:impersonator"`)
	refused("a role of no use", request(time.Hour, "system:masters"), codes.InvalidArgument, `"system:masters"`)
	refused("no time", request(0, contract.RoleReader), codes.InvalidArgument, "not between")
	refused("too long", request(maxClientLifetime+1, contract.RoleReader), codes.InvalidArgument, "not between")
	refused("before it begins", request(-time.Hour, contract.RoleReader), codes.InvalidArgument, "not between")

	if _, err := b.machine.GenerateClientConfiguration(as(t.Context(), contract.RoleOperator), request(time.Hour, contract.RoleReader)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("an operator: got %v, want PermissionDenied", err)
	}

	r, err := b.machine.GenerateClientConfiguration(ctx, request(time.Hour, contract.RoleReader, contract.RoleEtcdBackup, contract.RoleReader))
	if err != nil {
		t.Fatal(err)
	}

	made := r.GetMessages()[0]

	file, err := talosconfig.Decode(made.GetTalosconfig())
	if err != nil {
		t.Fatal(err)
	}

	context, err := file.Find("")
	if err != nil || string(context.CA) != string(ca.PEM.Crt) || string(context.Crt) != string(made.GetCrt()) || string(made.GetCa()) != string(ca.PEM.Crt) {
		t.Errorf("the file does not have the generated content: %v", err)
	}

	if _, err := (pki.Pair{Crt: made.GetCrt(), Key: made.GetKey()}).TLS(); err != nil {
		t.Errorf("the key is not the certificate's: %v", err)
	}

	cert, err := pki.ParseCertificate(made.GetCrt())
	if err != nil {
		t.Fatal(err)
	}

	// The order of organizations in the certificate is not that of the request.
	if got, want := slices.Sorted(slices.Values(cert.Subject.Organization)), []string{contract.RoleEtcdBackup, contract.RoleReader}; !slices.Equal(got, want) {
		t.Errorf("roles: got %v, want %v", got, want)
	}

	if left := time.Until(cert.NotAfter); left > time.Hour || left < 55*time.Minute {
		t.Errorf("it is valid for %s, want an hour", left)
	}

	if err := cert.CheckSignatureFrom(ca.Certificate); err != nil || !slices.Equal(cert.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) {
		t.Errorf("signature %v, usages %v", err, cert.ExtKeyUsage)
	}
}
