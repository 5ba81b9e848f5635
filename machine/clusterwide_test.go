// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/controllers/clusterstate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/memory"
	clusterstateres "github.com/seed-59268b81/talos/resources/clusterstate"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// TestClusterWide: the roles that may read the cluster-wide resources are those of every type, also where there are none; the error
// says why there are none. Other namespaces are not affected.
func TestClusterWide(t *testing.T) {
	m := &Machine{State: memory.New(), shared: clusterstate.New()}
	n := controllertest.Start(t, clusterstate.Controllers(clusterstate.Deps{Shared: m.shared})...)

	if err := registerDefinitions(t.Context(), m.State); err != nil {
		t.Fatal(err)
	}

	states := cosiapi.NewStateClient(serveState(t, m.shown()))

	as := func(role string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "talos-role", role)
	}

	list := func(role, namespace, typ string) error {
		stream, err := states.List(as(role), &cosiapi.ListRequest{Namespace: namespace, Type: typ})
		if err != nil {
			return err
		}

		for err == nil {
			_, err = stream.Recv()
		}

		if ended(err) == codes.OK {
			return nil
		}

		return err
	}

	kind := clusterstateres.LockSpec{}.Definition()
	lists := func(role string) error { return list(role, kind.DefaultNamespace, kind.Type) }

	for role, want := range map[string]codes.Code{
		contract.RoleAdmin: codes.Unavailable, contract.RoleOperator: codes.Unavailable, contract.RoleReader: codes.Unavailable,
		contract.RoleEtcdBackup: codes.PermissionDenied, "": codes.PermissionDenied,
	} {
		if err := lists(role); status.Code(err) != want {
			t.Errorf("list as %q without etcd: got %v, want %v", role, err, want)
		}
	}

	_, err := states.Destroy(as(contract.RoleAdmin), &cosiapi.DestroyRequest{Namespace: kind.DefaultNamespace, Type: kind.Type, Id: "etcd-members"})
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("destroy: got %v, want PermissionDenied", err)
	}

	controllertest.Set(n, "discovery", k8s.EndpointSpec{Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.2")}})
	controllertest.Set(n, config.MachineTypeID, config.MachineTypeSpec{MachineType: config.TypeWorker})

	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		err := lists(contract.RoleReader)
		if status.Code(err) == codes.Unimplemented && strings.Contains(err.Error(), "10.5.0.2") {
			break
		}

		if time.Since(began) > 30*time.Second {
			t.Fatalf("on a worker: got %v, want Unimplemented and the address of a control plane", err)
		}
	}

	if err := list(contract.RoleReader, "k8s", "Nodenames.kubernetes.talos.dev"); err != nil {
		t.Errorf("another namespace: got %v", err)
	}
}
