// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/secrets"
)

func TestReadsByRole(t *testing.T) {
	b := newBench(t)
	set(t, b, network.HostnameID, network.HostnameStatusSpec{Hostname: "cp-1"})
	set(t, b, secrets.OSRootID, secrets.OSRootSpec{})

	plain, secret := resource.KindOf[network.HostnameStatusSpec](""), resource.KindOf[secrets.OSRootSpec]("")

	for _, tt := range []struct {
		name, role   string
		namespace    string
		typ, id      string
		get, listing codes.Code
	}{
		{"reader", contract.RoleReader, plain.Namespace, plain.Type, network.HostnameID, codes.OK, codes.OK},
		{"operator", contract.RoleOperator, plain.Namespace, plain.Type, network.HostnameID, codes.OK, codes.OK},
		{"reader, a missing resource", contract.RoleReader, plain.Namespace, plain.Type, "other", codes.NotFound, codes.OK},
		{"reader, a secret", contract.RoleReader, secret.Namespace, secret.Type, secrets.OSRootID, codes.PermissionDenied, codes.PermissionDenied},
		{"operator, a secret", contract.RoleOperator, secret.Namespace, secret.Type, secrets.OSRootID, codes.PermissionDenied, codes.PermissionDenied},
		{"administrator, a secret", contract.RoleAdmin, secret.Namespace, secret.Type, secrets.OSRootID, codes.OK, codes.OK},
		{"reader, a secret, in another case", contract.RoleReader, secret.Namespace, strings.ToUpper(secret.Type), secrets.OSRootID, codes.PermissionDenied, codes.PermissionDenied},
		{"reader, an unknown type", contract.RoleReader, "x", "Xs.x.talos.dev", "x", codes.PermissionDenied, codes.PermissionDenied},
		{"administrator, an unknown type", contract.RoleAdmin, "x", "Xs.x.talos.dev", "x", codes.PermissionDenied, codes.PermissionDenied},
		{"a role for other things", contract.RoleEtcdBackup, plain.Namespace, plain.Type, network.HostnameID, codes.PermissionDenied, codes.PermissionDenied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := as(t.Context(), tt.role)

			_, err := b.states.Get(ctx, &cosiapi.GetRequest{Namespace: tt.namespace, Type: tt.typ, Id: tt.id})
			if status.Code(err) != tt.get {
				t.Errorf("get: got %v, want %v", err, tt.get)
			}

			list, err := b.states.List(ctx, &cosiapi.ListRequest{Namespace: tt.namespace, Type: tt.typ})
			if err == nil {
				_, err = list.Recv()
			}

			if status.Code(err) != tt.listing {
				t.Errorf("list: got %v, want %v", err, tt.listing)
			}

			watch, err := b.states.Watch(ctx, &cosiapi.WatchRequest{
				Namespace: tt.namespace, Type: tt.typ, Options: &cosiapi.WatchOptions{BootstrapContents: true}, ApiVersion: 1,
			})
			if err == nil {
				_, err = watch.Recv()
			}

			if status.Code(err) != tt.listing {
				t.Errorf("watch: got %v, want %v", err, tt.listing)
			}
		})
	}
}

// TestNobodyWrites tries every write, as the administrator.
func TestNobodyWrites(t *testing.T) {
	b := newBench(t)
	set(t, b, network.HostnameID, network.HostnameStatusSpec{Hostname: "cp-1"})

	kind := resource.KindOf[network.HostnameStatusSpec]("")
	ctx := as(t.Context(), contract.RoleAdmin)

	got, err := b.states.Get(ctx, &cosiapi.GetRequest{Namespace: kind.Namespace, Type: kind.Type, Id: network.HostnameID})
	if err != nil {
		t.Fatal(err)
	}

	r := got.GetResource()

	for name, call := range map[string]func() error{
		"create": func() error {
			fresh := &cosiapi.Resource{Metadata: &cosiapi.Metadata{Namespace: kind.Namespace, Type: kind.Type, Id: "new", Version: "1", Phase: "running"}, Spec: r.GetSpec()}
			_, err := b.states.Create(ctx, &cosiapi.CreateRequest{Resource: fresh})

			return err
		},
		"update": func() error {
			_, err := b.states.Update(ctx, &cosiapi.UpdateRequest{NewResource: r})

			return err
		},
		"teardown": func() error {
			_, err := b.states.Teardown(ctx, &cosiapi.TeardownRequest{Namespace: kind.Namespace, Type: kind.Type, Id: network.HostnameID})

			return err
		},
		"teardown and destroy": func() error {
			_, err := b.states.TeardownAndDestroy(ctx, &cosiapi.TeardownAndDestroyRequest{Namespace: kind.Namespace, Type: kind.Type, Id: network.HostnameID})

			return err
		},
		"destroy": func() error {
			_, err := b.states.Destroy(ctx, &cosiapi.DestroyRequest{Namespace: kind.Namespace, Type: kind.Type, Id: network.HostnameID})

			return err
		},
	} {
		if err := call(); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: got %v, want PermissionDenied", name, err)
		}
	}

	after, err := b.states.Get(ctx, &cosiapi.GetRequest{Namespace: kind.Namespace, Type: kind.Type, Id: network.HostnameID})
	if err != nil || after.GetResource().GetMetadata().GetVersion() != r.GetMetadata().GetVersion() {
		t.Errorf("the resource has changed: %v, %v", after, err)
	}
}

// TestOnly tests the rule of apid's own socket.
func TestOnly(t *testing.T) {
	rule := Only(resource.KindOf[network.HostnameStatusSpec](""))

	if err := rule(t.Context(), resource.KindOf[network.HostnameStatusSpec]("elsewhere")); err != nil {
		t.Errorf("the kind, in any namespace: %v", err)
	}

	if err := rule(t.Context(), resource.KindOf[secrets.OSRootSpec]("")); status.Code(err) != codes.PermissionDenied {
		t.Errorf("another kind: got %v, want PermissionDenied", err)
	}
}
