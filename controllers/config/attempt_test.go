// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"fmt"
	"net/http/httptrace"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// awaitActive returns how long it takes until a configuration is active.
func (b *bench) awaitActive(t *testing.T, most time.Duration) time.Duration {
	t.Helper()

	started := time.Now()

	for b.active(t) == "" {
		if time.Since(started) > most {
			t.Fatalf("no configuration after %s", most)
		}

		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
	}

	return time.Since(started)
}

// TestNetworkComesUp: an attempt that waits for a server without a route to it ends when the network comes up, and the next one follows at
// once, whatever comes last: an address, a route or a name server.
func TestNetworkComesUp(t *testing.T) {
	for name, change := range map[string]func(context.Context, *bench) error{
		"address": func(ctx context.Context, b *bench) error {
			return typed.Set(ctx, b.st, "", "eth0/192.0.2.2/24", network.AddressStatusSpec{Address: netip.MustParsePrefix("192.0.2.2/24"), LinkName: "eth0"})
		},
		"route": func(ctx context.Context, b *bench) error {
			return typed.Set(ctx, b.st, "", "inet4/192.0.2.1//1024", network.RouteStatusSpec{OutLinkName: "eth0"})
		},
		"name server": func(ctx context.Context, b *bench) error {
			return typed.Set(ctx, b.st, "", files.ResolvConf, files.EtcFileStatusSpec{SpecVersion: "2"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer func() { cancel(); synctest.Wait() }()

				var up atomic.Bool

				whole := configtest.ControlPlane(t)
				b := startFetching(ctx, t, "talos.config=http://10.5.0.1/x", platform.Platform{}, func(ctx context.Context, _ cloud.Request) ([]byte, error) {
					if up.Load() {
						return whole, nil
					}

					<-ctx.Done() // as a connection does whose first packets are lost

					return nil, ctx.Err()
				})

				time.Sleep(17 * time.Second)
				synctest.Wait()
				up.Store(true)

				if err := change(ctx, b); err != nil {
					t.Fatal(err)
				}

				if took := b.awaitActive(t, time.Minute); took > 200*time.Millisecond {
					t.Errorf("the configuration is active %s after the network has come up", took)
				}
			})
		})
	}
}

// TestNetworkFlaps: a network that changes ten times a second does not prevent a download that takes longer, neither before nor after the
// server begins to answer.
func TestNetworkFlaps(t *testing.T) {
	for name, begins := range map[string]bool{"the server takes two seconds": false, "the answer takes a minute": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer func() { cancel(); synctest.Wait() }()

				whole := configtest.ControlPlane(t)
				b := startFetching(ctx, t, "talos.config=http://10.5.0.1/x", platform.Platform{}, func(ctx context.Context, _ cloud.Request) ([]byte, error) {
					takes := 2 * time.Second

					if begins {
						httptrace.ContextClientTrace(ctx).GotFirstResponseByte()

						takes = 50 * time.Second
					}

					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(takes):
						return whole, nil
					}
				})

				go func() {
					for n := range 10_000 {
						if typed.Set(ctx, b.st, "", "inet4/192.0.2.1//1024", network.RouteStatusSpec{OutLinkName: fmt.Sprint("eth", n)}) != nil {
							return
						}

						select {
						case <-ctx.Done():
							return
						case <-time.After(100 * time.Millisecond):
						}
					}
				}()

				b.awaitActive(t, time.Minute)
			})
		})
	}
}
