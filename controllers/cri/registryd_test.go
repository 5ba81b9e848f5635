// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// TestRegistryPort checks that the image cache's port is bound from the start, even without a volume, and stays bound after the service has
// ended: another program there could replace every image. The test of heldport checks that no other user can bind a held port.
func TestRegistryPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}

	registry := &RegistryPort{Address: l.Addr().String()}

	if _, err := registry.hold(t.Context()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("another listener: got %v, want %v", err, syscall.EADDRINUSE)
	}

	_ = l.Close()

	port, err := registry.hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	defer port.Close()

	if again, err := registry.hold(t.Context()); err != nil || again != port {
		t.Errorf("held again: got %v, %v, want the same", again, err)
	}

	taken := func(when string) {
		t.Helper()

		if l, err := net.Listen("tcp", registry.Address); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: got %v, want %v", when, err, syscall.EADDRINUSE)

			if err == nil {
				_ = l.Close()
			}
		}

		if _, err := http.Get("http://" + registry.Address + "/v2/"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: a pull got %v, want the connection refused, so that containerd tries the next host", when, err)
		}
	}

	taken("before the service")

	for range 2 { // the service restarts
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)

		go func() { ended <- serve(port, imagecache.New(t.TempDir()))(ctx, supervisor.Run{Log: io.Discard}) }()

		var response *http.Response

		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
			if response, err = http.Get("http://" + registry.Address + "/v2/"); err == nil || time.Now().After(deadline) {
				break
			}
		}

		if err != nil {
			t.Fatalf("the service runs: a pull got %v", err)
		}

		_ = response.Body.Close()

		cancel()

		if err := <-ended; err != nil {
			t.Errorf("the service: got %v", err)
		}

		taken("after the service")
	}
}
