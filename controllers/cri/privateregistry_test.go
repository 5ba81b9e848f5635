// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"net"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/seed-59268b81/talos/test/registrytest"
)

// privateRegistry is a registry with one image.
type privateRegistry struct {
	*registrytest.Registry

	image v1.Image // test/image:1
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}

	return v
}

func startRegistry(t *testing.T, requires registrytest.Access) *privateRegistry {
	t.Helper()

	r := &privateRegistry{registrytest.Start(t, requires), registrytest.Random(t)}
	r.Push(t, "test/image", r.image)

	return r
}

// startProxy runs a proxy on the loopback, and returns its URL and the number of its connections.
func (r *privateRegistry) startProxy(t *testing.T, status int) (url string, connections func() int) {
	t.Helper()

	l := must(net.Listen("tcp", "127.0.0.1:0"))

	return "http://" + l.Addr().String(), r.Proxy(t, l, status)
}
