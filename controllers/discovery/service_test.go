// SPDX-License-Identifier: Apache-2.0

//go:build linux

package discovery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/apid"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/discovery"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/sandbox"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestService holds when discoveryd runs, and that it is sandboxed with a user and a socket of its own.
func TestService(t *testing.T) {
	sup := &controllertest.Supervisor{}
	n := controllertest.Start(t, discovery.ServiceController(sup, apid.Process{Executable: "/sbin/init", UID: 52, Sockets: []string{"/run/d/x.sock"}}))

	if _, _, ok := sup.Service(discovery.ServiceID); ok {
		t.Error("discoveryd runs though it has no certificate")
	}

	controllertest.Set(n, secrets.DiscoverydID, secrets.DiscoverydSpec{ClusterID: "c"})

	svc := await(t, sup, true)

	process, ok := svc.Runner.(*supervisor.Process)
	if !ok || process.Cgroup != cgroup.Discoveryd.Path || process.Path != sandbox.Stage || !slices.Equal(process.Argv, []string{"sandbox"}) {
		t.Fatalf("got %+v, want the sandbox in %s", svc.Runner, cgroup.Discoveryd.Path)
	}

	for _, want := range []string{`"uid":52`, `["/sbin/init","/etc/hosts","/etc/resolv.conf","/run/d"]`, `"argv":["discoveryd"]`, `GOMEMLIMIT=384MiB`} {
		if env := strings.Join(process.Env, " "); !strings.Contains(env, want) {
			t.Errorf("got %s, want %s in it", env, want)
		}
	}

	if svc.Health == nil || svc.RestartInterval > time.Second {
		t.Error("want a health check, and a restart at once")
	}

	// The configuration no longer has discovery.
	if err := n.State.Destroy(t.Context(), resource.KindOf[secrets.DiscoverydSpec]("").Pointer(secrets.DiscoverydID)); err != nil {
		t.Fatal(err)
	}

	await(t, sup, false)
}

func await(t *testing.T, sup *controllertest.Supervisor, want bool) supervisor.Service {
	t.Helper()

	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if svc, _, ok := sup.Service(discovery.ServiceID); ok == want {
			return svc
		}
	}

	t.Fatalf("discoveryd runs: want %t", want)

	return supervisor.Service{}
}
