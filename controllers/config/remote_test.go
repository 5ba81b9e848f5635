// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/cosi/memory"
	cosiruntime "github.com/seed-59268b81/talos/cosi/runtime"
	"github.com/seed-59268b81/talos/cosi/typed"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// servers answers requests with documents; a URL that is not there has an error.
type servers struct {
	mu        sync.Mutex
	documents map[string]string
	asked     []string
}

var errUnreachable = errors.New("network is unreachable")

func (s *servers) set(url, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.documents[url] = text
}

func (s *servers) fetch(_ context.Context, r cloud.Request) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.asked = append(s.asked, r.URL)

	text, ok := s.documents[r.URL]
	if !ok {
		return nil, errUnreachable
	}

	if text == "none" {
		return nil, cloud.ErrNotFound
	}

	return []byte(text), nil
}

// startOn starts a controller on a platform, with STATE mounted and empty.
func startOn(ctx context.Context, t *testing.T, args string, p platform.Platform, s *servers) *bench {
	t.Helper()

	return startFetching(ctx, t, args, p, s.fetch)
}

func startFetching(ctx context.Context, t *testing.T, args string, p platform.Platform, fetch cloud.Fetch) *bench {
	t.Helper()

	b := &bench{st: memory.New(), disk: newCutDisk(nil, -1), meta: &metaFake{values: map[meta.Tag]string{}}}
	b.Controller = New(fstest.MapFS{}, cmdline.Parse(args), p, fetch, b.meta, func(err error) { b.failed = append(b.failed, err) })
	b.Controller.fs = b.disk

	rt := cosiruntime.New(b.st, slog.New(slog.DiscardHandler))
	if err := rt.RegisterController(b.Controller); err != nil {
		t.Fatal(err)
	}

	go rt.Run(ctx)

	synctest.Wait()
	b.mount(t)
	b.loaded(t)

	return b
}

func (b *bench) active(t *testing.T) string {
	t.Helper()

	var spec configres.MachineConfigSpec
	if f := typed.Read(t.Context(), b.st, configres.ActiveID, &spec); f.Err != nil {
		t.Fatal(f.Err)
	}

	if spec.Config() == nil {
		return ""
	}

	return string(spec.Config().Bytes())
}

func (b *bench) open(t *testing.T) bool {
	t.Helper()

	var spec runtime.MaintenanceServiceRequestSpec

	return typed.Read(t.Context(), b.st, runtime.MaintenanceServiceRequestID, &spec).OK
}

// The machine asks for its configuration until the server has it, and is open to no one meanwhile.
func TestURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()

		s := &servers{documents: map[string]string{}}
		b := startOn(ctx, t, "talos.config=http://10.5.0.1/${uuid}?m=${mac}&h=${hostname}", platform.Platform{Hardware: platform.Hardware{UUID: "4c4c"}}, s)

		time.Sleep(2 * time.Second)
		synctest.Wait()

		if len(s.asked) > 0 || b.open(t) {
			t.Errorf("before the card is known: asked %v, open %t", s.asked, b.open(t))
		}

		for id, set := range map[string]func() error{
			"mac": func() error {
				return typed.Set(ctx, b.st, "", network.FirstHardwareAddr, network.HardwareAddrSpec{HardwareAddr: []byte{0x52, 0x54, 0, 0, 0, 2}})
			},
			"hostname": func() error {
				return typed.Set(ctx, b.st, "", network.HostnameID, network.HostnameStatusSpec{Hostname: "node-1"})
			},
		} {
			if err := set(); err != nil {
				t.Fatal(id, err)
			}
		}

		time.Sleep(time.Minute)
		synctest.Wait()

		const url = "http://10.5.0.1/4c4c?m=52%3A54%3A00%3A00%3A00%3A02&h=node-1"
		if len(s.asked) == 0 || s.asked[0] != url || b.open(t) {
			t.Fatalf("asked %v, want %s; open %t", s.asked, url, b.open(t))
		}

		if len(b.failed) != 1 || !errors.Is(b.failed[0], errUnreachable) {
			t.Errorf("after a minute without a server: failed %v, want one failure", b.failed)
		}

		s.set(url, "machine: [")
		time.Sleep(30 * time.Second)
		synctest.Wait()

		if b.active(t) != "" || len(b.failed) == 0 || !strings.Contains(b.failed[len(b.failed)-1].Error(), "not YAML") {
			t.Errorf("with a damaged document: active %q, failed %v", b.active(t), b.failed)
		}

		whole := string(configtest.ControlPlane(t))
		s.set(url, string(gzipped(t, whole)))
		time.Sleep(30 * time.Second)
		synctest.Wait()

		if got := b.active(t); got != whole {
			t.Errorf("active is %q", got)
		}
	})
}

// A cloud without a configuration for the machine: the next source is used, and then the API opens.
func TestCloudWithoutConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()

		s := &servers{documents: map[string]string{}}
		b := startOn(ctx, t, "", platform.Platform{}.On("hcloud"), s)

		time.Sleep(5 * time.Second)
		synctest.Wait()

		if b.open(t) {
			t.Error("open before the cloud has answered")
		}

		s.set("http://169.254.169.254/hetzner/v1/userdata", "none")
		time.Sleep(5 * time.Second)
		synctest.Wait()

		if !b.open(t) {
			t.Error("not open after the cloud has answered that there is no configuration")
		}
	})
}

// Documents of several sources become one configuration. Those that come first are in effect before it is complete.
func TestPartialDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()

		const watchdog = "apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n"

		s := &servers{documents: map[string]string{}}
		b := startOn(ctx, t, "talos.config=http://10.5.0.1/x talos.config.early="+packed(t, watchdog), platform.Platform{}, s)

		time.Sleep(5 * time.Second)
		synctest.Wait()

		if got := b.active(t); got != watchdog || b.open(t) {
			t.Errorf("active is %q, open %t", got, b.open(t))
		}

		s.set("http://10.5.0.1/x", string(configtest.ControlPlane(t)))
		time.Sleep(5 * time.Second)
		synctest.Wait()

		if got := b.active(t); !strings.Contains(got, "device: /dev/watchdog0") || !strings.Contains(got, "machine:") {
			t.Errorf("active is %q", got)
		}
	})
}

// TestFoundIsChecked: a configuration from any source is refused for what one over the API is refused for, and the next source is read.
func TestFoundIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()

		const without = "\n---\napiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\nencryption: {provider: luks2}\n"

		s := &servers{documents: map[string]string{"http://10.5.0.1/x": string(configtest.ControlPlane(t)) + without}}
		b := startOn(ctx, t, "talos.config=http://10.5.0.1/x", platform.Platform{}, s)

		time.Sleep(time.Minute)
		synctest.Wait()

		if got := b.active(t); got != "" || !b.open(t) {
			t.Errorf("active is %q, open %t", got, b.open(t))
		}

		if len(b.failed) == 0 || !strings.Contains(b.failed[len(b.failed)-1].Error(), "encryption") {
			t.Errorf("got the errors %v", b.failed)
		}
	})
}

// TestApplyPart: documents without a main one that come over the API are in effect until there is a complete configuration.
func TestApplyPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()

		const (
			watchdog = "apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n"
			hostname = "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: first\nauto: \"off\"\n"
		)

		b := start(ctx, t, map[string]string{}, "")

		for _, tt := range []struct {
			name, text string
			change     Change
			want       error
		}{
			{"wrong value", strings.Replace(watchdog, "/dev/watchdog0", "watchdog", 1), Change{}, ErrInvalid},
			{"for the next boot", watchdog, Change{Mode: Staged}, ErrInvalid},
			{"nothing", "", Change{}, ErrInvalid},
			{"dry run", watchdog, Change{DryRun: true}, nil},
		} {
			tt.change.Text, tt.change.Anonymous = []byte(tt.text), true

			if _, err := b.Apply(ctx, tt.change); !errors.Is(err, tt.want) || b.text(t, configres.ActiveID) != "" {
				t.Errorf("%s: got %v, and the documents %q", tt.name, err, b.text(t, configres.ActiveID))
			}
		}

		for _, text := range []string{watchdog, hostname} {
			got, err := b.Apply(ctx, Change{Text: []byte(text), Anonymous: true})
			if err != nil || !strings.Contains(got.Details, "still waits") || len(got.Warnings) == 0 {
				t.Fatalf("got %+v, %v", got, err)
			}
		}

		if got := b.text(t, configres.ActiveID); !strings.Contains(got, "/dev/watchdog0") || !strings.Contains(got, "hostname: first") || !b.maintenance(t) {
			t.Errorf("active is %q, open %t", got, b.maintenance(t))
		}

		if got := b.text(t, configres.PersistentID); got != "" {
			t.Errorf("stored is %q", got)
		}

		if _, err := b.Apply(ctx, Change{Text: configtest.ControlPlane(t), Anonymous: true}); err != nil {
			t.Fatal(err)
		}

		if got := b.text(t, configres.ActiveID); strings.Contains(got, "watchdog") || b.maintenance(t) {
			t.Errorf("with a complete configuration active is %q, open %t", got, b.maintenance(t))
		}
	})
}
