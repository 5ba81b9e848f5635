// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apid_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/apid"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/resources/secrets"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/sandbox"
)

// TestServices holds when trustd is started, and that apid and trustd are sandboxed, each with its own user and sockets.
func TestServices(t *testing.T) {
	sup := &controllertest.Supervisor{}
	n := controllertest.Start(t,
		apid.TrustdController(sup, apid.Process{Executable: "/sbin/init", UID: 51, Sockets: []string{"/run/t/x.sock"}}),
	)

	api, err := apid.APIService(apid.Process{Executable: "/sbin/init", UID: 50, Sockets: []string{"/run/a/x.sock", "/run/m/y.sock"}})
	if err != nil {
		t.Fatal(err)
	}

	if _, _, ok := sup.Service("trustd"); ok {
		t.Error("trustd runs though it has no certificate")
	}

	check(t, api, cgroup.Apid.Path, `"uid":50`, `["/sbin/init","/etc/hosts","/etc/resolv.conf","/run/a","/run/m"]`)

	controllertest.Set(n, secrets.TrustdID, secrets.TrustdCertsSpec{})
	check(t, started(t, sup, "trustd"), cgroup.Trustd.Path, `"uid":51`, `["/sbin/init","/etc/hosts","/etc/resolv.conf","/run/t"]`, `"argv":["trustd"]`)
}

func started(t *testing.T, sup *controllertest.Supervisor, id string) supervisor.Service {
	t.Helper()

	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if svc, _, ok := sup.Service(id); ok {
			return svc
		}
	}

	t.Fatalf("%s was not started", id)

	return supervisor.Service{}
}

func check(t *testing.T, svc supervisor.Service, group string, wants ...string) {
	t.Helper()

	process, ok := svc.Runner.(*supervisor.Process)
	if !ok {
		t.Fatalf("%s: got a %T, want a process", svc.ID, svc.Runner)
	}

	if process.Cgroup != group || process.Path != sandbox.Stage || !slices.Equal(process.Argv, []string{"sandbox"}) {
		t.Errorf("%s: got %s %q in cgroup %s, want the sandbox in %s", svc.ID, process.Path, process.Argv, process.Cgroup, group)
	}

	for _, want := range wants {
		if env := strings.Join(process.Env, " "); !strings.Contains(env, want) {
			t.Errorf("%s: got %s, want %s in it", svc.ID, env, want)
		}
	}

	if svc.Health == nil || svc.RestartInterval > time.Second {
		t.Errorf("%s: want a health check, and a restart at once", svc.ID)
	}
}
