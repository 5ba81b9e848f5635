// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/service/supervisor"
)

const (
	// requestTime is how long a request may take to arrive.
	requestTime = 10 * time.Second
	// blobTime is how long a blob may take to be sent: containerd may unpack others to the same slow disk meanwhile.
	blobTime = 30 * time.Minute
)

// RegistryPort is the port of the image cache. containerd requests every image there first, even on a machine without an image cache and
// while the cache restarts: another program on that port could replace the kubelet, etcd and all pods. So the port is bound before
// containerd starts, and kept until the machine goes down, and the socket listens all that time: the kernel lets no other socket share the
// port then, whatever its user and options. Without a cache each request is answered with 404, and containerd tries the next host.
type RegistryPort struct {
	// Address is imagecache.Address, or a test's.
	Address string

	mu     sync.Mutex
	server *http.Server
	ended  guard.Group
	cache  *cache // nil while there is none
}

// cache is an image cache that is served.
type cache struct {
	handler http.Handler
	stopped context.Context
	open    sync.WaitGroup // requests
}

// hold binds the port if it is not bound yet.
func (r *RegistryPort) hold(ctx context.Context, log *slog.Logger) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.server != nil {
		return nil
	}

	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", r.Address)
	if err != nil {
		return fmt.Errorf("image cache: %w", err)
	}

	server := &http.Server{
		Handler: r, ReadTimeout: requestTime, WriteTimeout: blobTime, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	r.server = server

	r.ended.Go(func() error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the image cache's port is lost", "error", err)
		}

		return nil
	})

	return nil
}

// Close releases the port.
func (r *RegistryPort) Close() error {
	r.mu.Lock()
	server := r.server
	r.mu.Unlock()

	if server == nil {
		return nil
	}

	return errors.Join(server.Close(), r.ended.Wait())
}

// serve answers with the cache until the service ends. Then no file of the cache is open.
func (r *RegistryPort) serve(handler http.Handler) supervisor.Func {
	return func(ctx context.Context, _ supervisor.Run) error {
		c := &cache{handler: handler, stopped: ctx}

		r.set(c)
		<-ctx.Done()
		r.set(nil)
		c.open.Wait()

		return nil
	}
}

func (r *RegistryPort) set(c *cache) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.cache = c
}

// ServeHTTP implements http.Handler.
func (r *RegistryPort) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	c := r.cache

	if c != nil {
		c.open.Add(1)
	}
	r.mu.Unlock()

	if c == nil {
		http.Error(w, "the machine has no image cache", http.StatusNotFound)

		return
	}

	defer c.open.Done()

	// What is still being sent when the service ends is cut off.
	defer context.AfterFunc(c.stopped, func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Now()) })()

	c.handler.ServeHTTP(w, req)
}
