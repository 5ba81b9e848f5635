// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	cosiserver "github.com/seed-59268b81/talos/cosi/server"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/machine/server"
	"github.com/seed-59268b81/talos/machine/server/servertest"
)

// TestEveryTypeForEveryRole checks for all types of the machine which roles may read them, by which call.
func TestEveryTypeForEveryRole(t *testing.T) {
	st := memory.New()
	if err := registerDefinitions(t.Context(), st); err != nil {
		t.Fatal(err)
	}

	definitions, err := st.List(t.Context(), resource.KindOf[meta.ResourceDefinitionSpec](meta.NamespaceName))
	if err != nil {
		t.Fatal(err)
	}

	states := cosiapi.NewStateClient(serveState(t, st))
	secret := 0

	for _, r := range definitions {
		def, ok := r.Spec().(*meta.ResourceDefinitionSpec)
		if !ok {
			t.Fatalf("%s is not a definition", r.Metadata())
		}

		sensitive := def.Sensitivity != resource.NonSensitive
		if sensitive {
			secret++
		}

		// This namespace is secret, except whether certificates were issued, and their names.
		if def.DefaultNamespace == "secrets" && !sensitive && !strings.HasPrefix(def.Type, "CertSANs.") && !strings.HasPrefix(def.Type, "KubernetesStatuses.") {
			t.Errorf("%s: in the namespace of secrets, and not sensitive", def.Type)
		}

		for _, role := range append(contract.Roles(), "os:impersonator", "", "-") {
			want := codes.PermissionDenied
			if role == contract.RoleAdmin || !sensitive && (role == contract.RoleOperator || role == contract.RoleReader) {
				want = codes.OK
			}

			ctx := metadata.AppendToOutgoingContext(t.Context(), "talos-role", role)
			if role == "-" {
				ctx = t.Context()
			}

			for verb, got := range readEveryWay(ctx, states, def) {
				if got != want {
					t.Errorf("%s of %s as %q: got %v, want %v", verb, def.Type, role, got, want)
				}
			}
		}
	}

	if len(definitions) < 30 || secret < 5 {
		t.Errorf("only %d types, %d of them sensitive, were checked", len(definitions), secret)
	}
}

// readEveryWay returns the result of each way to read a type: OK for an answer, also an empty one.
func readEveryWay(ctx context.Context, states cosiapi.StateClient, def *meta.ResourceDefinitionSpec) map[string]codes.Code {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	_, err := states.Get(ctx, &cosiapi.GetRequest{Namespace: def.DefaultNamespace, Type: def.Type, Id: "nothing"})
	if status.Code(err) == codes.NotFound {
		err = nil
	}

	got := map[string]codes.Code{"get": status.Code(err)}

	list, err := states.List(ctx, &cosiapi.ListRequest{Namespace: def.DefaultNamespace, Type: def.Type})
	if err == nil {
		for err == nil {
			_, err = list.Recv()
		}

		got["list"] = ended(err)
	}

	watch, err := states.Watch(ctx, &cosiapi.WatchRequest{
		Namespace: def.DefaultNamespace, Type: def.Type, ApiVersion: 1, Options: &cosiapi.WatchOptions{BootstrapContents: true},
	})
	if err == nil {
		_, err = watch.Recv() // what there is, or that it was all
		got["watch"] = ended(err)
	}

	return got
}

func ended(err error) codes.Code {
	if err == nil || err.Error() == "EOF" {
		return codes.OK
	}

	return status.Code(err)
}

func serveState(t *testing.T, st state.State) *grpc.ClientConn {
	t.Helper()

	peers := server.Peers{
		Service: func(context.Context, int) string { return "apid" },
		Roles:   map[string][]string{"apid": contract.Roles()},
	}
	g := server.New(slog.New(slog.DiscardHandler), peers.Options(server.Authorized(st))...)
	cosiapi.RegisterStateServer(g, cosiserver.New(server.ReadOnly(st, server.ByRole(st))))

	l, err := server.Listen(filepath.Join(t.TempDir(), "machine.sock"), 0o600, os.Getuid(), os.Getgid())
	if err != nil {
		t.Fatal(err)
	}

	return servertest.Serve(t, g, l)
}
