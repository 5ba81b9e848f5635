// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/service/supervisor"
)

// newRegistryPort returns one that is closed when the test ends.
func newRegistryPort(t *testing.T) *RegistryPort {
	t.Helper()

	r := &RegistryPort{Address: freePort(t)}

	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})

	return r
}

// TestRegistryPort checks that the image cache's port is bound from the start, even without a volume, and stays bound after the service has
// ended: another program there, of whatever user, could replace every image.
func TestRegistryPort(t *testing.T) {
	registry, log := newRegistryPort(t), slog.New(slog.DiscardHandler)

	l, err := net.Listen("tcp", registry.Address)
	if err != nil {
		t.Fatal(err)
	}

	if err := registry.hold(t.Context(), log); !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("another listener: got %v, want %v", err, syscall.EADDRINUSE)
	}

	_ = l.Close()

	for range 2 {
		if err := registry.hold(t.Context(), log); err != nil {
			t.Fatal(err)
		}
	}

	taken := func(when string) {
		t.Helper()

		for _, host := range []string{"127.0.0.1", "0.0.0.0", "::"} {
			for _, option := range []int{unix.SO_REUSEADDR, unix.SO_REUSEPORT} {
				config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
					return errors.Join(c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, 1) }), err)
				}}

				_, port, _ := net.SplitHostPort(registry.Address)

				if l, err := config.Listen(t.Context(), "tcp", net.JoinHostPort(host, port)); !errors.Is(err, syscall.EADDRINUSE) {
					t.Errorf("%s: another socket on %s with the option %d: got %v, want %v", when, host, option, err, syscall.EADDRINUSE)

					if err == nil {
						_ = l.Close()
					}
				}
			}
		}

		if status, err := get(registry.Address, "/v2/kubelet/manifests/latest"); status != http.StatusNotFound || err != nil {
			t.Errorf("%s: a pull got %d, %v, want %d, so that containerd tries the next host", when, status, err, http.StatusNotFound)
		}
	}

	taken("before the service")

	for range 2 { // the service restarts
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		sending := make(chan struct{})

		handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/large" {
				close(sending)

				for err := error(nil); err == nil; { // until it is cut off
					_, err = io.WriteString(w, strings.Repeat("x", 1<<20))
				}
			}
		})

		go func() { ended <- registry.serve(handler)(ctx, supervisor.Run{Log: io.Discard}) }()

		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
			if status, err := get(registry.Address, "/v2/"); err == nil && status == http.StatusOK {
				break
			} else if time.Now().After(deadline) {
				t.Fatalf("the service runs: a pull got %d, %v", status, err)
			}
		}

		response, err := registryClient.Get("http://" + registry.Address + "/large")
		if err != nil {
			t.Fatal(err)
		}

		<-sending
		cancel()

		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the service: got %v", err)
			}
		case <-time.After(5 * time.Second):
			t.Error("the service does not end while a client takes no more of a blob")
		}

		_ = response.Body.Close()

		taken("after the service")
	}
}

// get returns the status of an answer.
func get(address, path string) (int, error) {
	response, err := registryClient.Get("http://" + address + path)
	if err != nil {
		return 0, err
	}

	return response.StatusCode, response.Body.Close()
}
