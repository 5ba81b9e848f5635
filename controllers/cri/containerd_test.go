// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cri"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// freePort returns an address on the loopback where nothing listens.
func freePort(t *testing.T) string {
	t.Helper()

	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()

	return l.Addr().String()
}

// mountVolume lets a requester have a volume.
func mountVolume(n *controllertest.Node, requester, volume, target string) {
	controllertest.Set(n, requester+"-"+volume, block.VolumeMountStatusSpec{VolumeID: volume, Requester: requester, Target: target})
}

// restarted waits until containerd was started a number of times, and returns its variables.
func restarted(t *testing.T, s *controllertest.Supervisor, times int) []string {
	t.Helper()

	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		svc, got, _ := s.Service(ServiceID)
		if got == times {
			process, ok := svc.Runner.(*supervisor.Process)
			if !ok {
				t.Fatalf("the runner is a %T", svc.Runner)
			}

			return process.Env
		}

		if time.Now().After(deadline) {
			t.Fatalf("containerd was started %d times, want %d", got, times)
		}
	}
}

// TestContainerdFollows checks when containerd starts, and which changes of the configuration restart it.
func TestContainerdFollows(t *testing.T) {
	sup := &controllertest.Supervisor{}
	c := &containerdController{supervisor: sup, registry: newRegistryPort(t), root: t.TempDir(), at: metal}
	n := controllertest.Start(t, c.controller(), RegistriesConfigController(), CustomizationConfigController(), RuntimeSpecConfigController())
	read := func(path string) string { return string(must(os.ReadFile(filepath.Join(c.root, path)))) }

	const main = "machine: {type: worker, env: {HTTPS_PROXY: 'http://proxy.example:3128'}}\n"

	document := func(kind, fields string) string {
		return "---\napiVersion: v1alpha1\nkind: " + kind + "\n" + fields + "\n"
	}
	login := document("RegistryAuthConfig", "name: r.example\nusername: a\npassword: hidden")

	n.Configure([]byte(main + login))
	mountVolume(n, ServiceID, block.VolumeEphemeral, "/var")
	controllertest.Set(n, block.VolumeImageCache, block.VolumeStatusSpec{Phase: block.VolumePhaseMissing})
	controllertest.Set(n, cri.ImageCacheID, cri.ImageCacheConfigSpec{Status: cri.ImageCacheDisabled})
	controllertest.Wait[cri.RegistriesConfigSpec](n, cri.RegistriesID, nil)

	if _, times, _ := sup.Service(ServiceID); times != 0 {
		t.Error("containerd was started before its environment was known")
	}

	controllertest.Set(n, runtime.EnvironmentID, runtime.EnvironmentSpec{Variables: []string{"HTTPS_PROXY=http://proxy.example:3128"}})

	if env := restarted(t, sup, 1); !slices.Contains(env, "HTTPS_PROXY=http://proxy.example:3128") || !slices.ContainsFunc(env, func(v string) bool {
		return strings.HasPrefix(v, "PATH=")
	}) {
		t.Errorf("variables: got %q", env)
	}

	if got := read(layout.RegistryCredentials); !strings.Contains(got, `"password":"hidden"`) {
		t.Errorf("credentials: got %s", got)
	}

	// Mirrors need no restart.
	mirror := document("RegistryMirrorConfig", "name: r.example\nendpoints: [{url: 'https://m.example'}]")
	n.Configure([]byte(main + login + mirror))

	hosts := filepath.Join(layout.RegistryHostsDir, "r.example", hostsFile)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(c.root, hosts)); err == nil && strings.Contains(string(text), "https://m.example") {
			break
		}

		if time.Now().After(deadline) {
			t.Fatal("the mirror is not in the hosts folder")
		}
	}

	restarted(t, sup, 1)

	n.Configure([]byte(main + login + mirror + document("CRIBaseRuntimeSpecConfig", "overrides: {hostname: x}")))
	restarted(t, sup, 2)

	if got := read(layout.BaseRuntimeSpec); !strings.Contains(got, `"hostname":"x"`) || !strings.Contains(read(ConfigPath), layout.BaseRuntimeSpec) {
		t.Errorf("runtime specification: got %s", got)
	}

	n.Configure([]byte(main + document("CRICustomizationConfig", "name: a\ncontent: oom_score = 7")))
	restarted(t, sup, 3) // once, for all that has changed

	controllertest.Set(n, files.CABundle, files.EtcFileStatusSpec{SpecVersion: "1"})
	restarted(t, sup, 4)
}

// TestOpenOpt checks that a machine whose /opt cannot be made writable goes on, and says so once for each reason.
func TestOpenOpt(t *testing.T) {
	var out strings.Builder

	c := &containerdController{root: t.TempDir()}
	log := slog.New(slog.NewTextHandler(&out, nil))

	for range 2 {
		c.openOpt(log)
	}

	if n := strings.Count(out.String(), "pods cannot install programs"); n != 1 {
		t.Errorf("got %d warnings, want 1: %s", n, &out)
	}

	if err := os.Mkdir(filepath.Join(c.root, layout.OptDir), 0o755); err != nil {
		t.Fatal(err)
	}

	out.Reset()

	if c.openOpt(log); out.Len() > 0 || c.readOnly != "" {
		t.Errorf("a writable folder: got %s", &out)
	}
}

// TestImageCacheStatus checks when images come from the image cache.
func TestImageCacheStatus(t *testing.T) {
	sup := &controllertest.Supervisor{}
	registry := newRegistryPort(t)
	n := controllertest.Start(t, ImageCacheConfigController(sup, registry))
	wait := func(status cri.ImageCacheStatus, roots ...string) {
		t.Helper()
		controllertest.Wait(n, cri.ImageCacheID, func(s cri.ImageCacheConfigSpec) bool {
			return s.Status == status && slices.Equal(s.Roots, roots) && s.CopyStatus == cri.ImageCacheCopySkipped
		})
	}

	const disabled = "---\napiVersion: v1alpha1\nkind: ImageCacheConfig\nlocal: {enabled: false}\n"

	n.Configure([]byte("machine: {type: worker}\n"))
	wait(cri.ImageCachePreparing)

	controllertest.Set(n, block.VolumeImageCache, block.VolumeStatusSpec{Phase: block.VolumePhaseMissing})
	wait(cri.ImageCacheDisabled)

	controllertest.Set(n, block.VolumeImageCache, block.VolumeStatusSpec{Phase: block.VolumePhaseReady})
	wait(cri.ImageCachePreparing)

	mountVolume(n, RegistrydID, block.VolumeImageCache, "/cache")
	wait(cri.ImageCacheReady, "/cache")

	if _, _, ok := sup.Service(RegistrydID); !ok {
		t.Error("the image cache is not served")
	}

	n.Configure([]byte("machine: {type: worker}\n" + disabled))
	wait(cri.ImageCacheDisabled)

	if _, _, ok := sup.Service(RegistrydID); ok {
		t.Error("the image cache is served, and disabled")
	}

	n.Configure([]byte("machine: {type: worker, features: {imageCache: {localEnabled: true}}}\n"))
	wait(cri.ImageCacheReady, "/cache")
}
