// SPDX-License-Identifier: Apache-2.0

//go:build linux

package etcd_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/controllers/etcd"
	"github.com/seed-59268b81/talos/controllers/secrets"
	"github.com/seed-59268b81/talos/resources/block"
	etcdres "github.com/seed-59268b81/talos/resources/etcd"
)

// TestService: etcd waits for the request, starts a cluster once, and starts by itself after a reboot.
func TestService(t *testing.T) {
	supervisor, root := &controllertest.Supervisor{}, t.TempDir()

	boot := func() *controllertest.Node {
		n := controllertest.Start(t, slices.Concat(secrets.Controllers(), etcd.Controllers(etcd.Deps{Supervisor: supervisor, Root: root}))...)
		n.Ready(generate.Options{})

		return n
	}

	until := func(fingerprint string) {
		t.Helper()

		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			svc, _, ok := supervisor.Service("etcd")
			if ok && strings.HasPrefix(svc.Fingerprint, fingerprint) {
				return
			}

			if time.Now().After(deadline) {
				t.Fatalf("service: got %q, %v; want %q", svc.Fingerprint, ok, fingerprint)
			}
		}
	}

	n := boot()
	ask := func() error {
		return etcd.RequestBootstrap(context.Background(), n.State, root, etcdres.BootstrapRequestSpec{})
	}

	if err := ask(); !errors.Is(err, etcd.ErrDiskNotReady) {
		t.Errorf("before the disk is mounted: got %v, want %v", err, etcd.ErrDiskNotReady)
	}

	controllertest.Set(n, "etcd-EPHEMERAL", block.VolumeMountStatusSpec{Target: "/var"})
	until("waiting")

	if err := ask(); err != nil {
		t.Fatal(err)
	}

	until("/usr/local/bin/etcd")

	if svc, _, _ := supervisor.Service("etcd"); svc.Health.Live == nil || svc.Health.Failures == 0 {
		t.Errorf("an etcd that hangs is not restarted: got %+v", svc.Health)
	}

	if err := ask(); !errors.Is(err, etcd.ErrAlreadyAsked) {
		t.Errorf("asked twice: got %v, want %v", err, etcd.ErrAlreadyAsked)
	}

	// The power is cut before etcd has written its log: the request was answered, so it is carried out, once.
	supervisor = &controllertest.Supervisor{}
	n = boot()
	controllertest.Set(n, "etcd-EPHEMERAL", block.VolumeMountStatusSpec{Target: "/var"})
	until("/usr/local/bin/etcd")

	if err := ask(); !errors.Is(err, etcd.ErrAlreadyAsked) {
		t.Errorf("asked again after a power cut: got %v, want %v", err, etcd.ErrAlreadyAsked)
	}

	// etcd writes its log; the machine reboots, and there is no further request.
	wal := filepath.Join(root, etcd.DataDir, "member", "wal", "0.wal")
	if err := os.MkdirAll(filepath.Dir(wal), 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(wal, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := ask(); !errors.Is(err, etcd.ErrHasData) {
		t.Errorf("asked when there is data: got %v, want %v", err, etcd.ErrHasData)
	}

	supervisor = &controllertest.Supervisor{}
	n = boot()
	controllertest.Set(n, "etcd-EPHEMERAL", block.VolumeMountStatusSpec{Target: "/var"})
	until("/usr/local/bin/etcd")

	// The data is lost: the same request does not start another cluster.
	if err := os.RemoveAll(filepath.Join(root, etcd.DataDir, "member")); err != nil {
		t.Fatal(err)
	}

	supervisor = &controllertest.Supervisor{}
	n = boot()
	controllertest.Set(n, "etcd-EPHEMERAL", block.VolumeMountStatusSpec{Target: "/var"})
	until("waiting")
}
