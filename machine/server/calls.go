// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
)

const (
	// maxCalls is how many calls run at once, watches and followed logs included. The last quarter is for administrators, so
	// that no reader can lock them out.
	maxCalls       = 512
	maxCallsOthers = maxCalls / 4 * 3
)

// costly are the methods with a lower limit: their messages are large, or they walk through file systems.
var costly = map[string]int{
	"/machine.MachineService/ApplyConfiguration": 8,
	"/machine.MachineService/EtcdRecover":        8,
	"/machine.ImageService/Import":               8,
	"/machine.MachineService/DiskUsage":          8,
	"/machine.MachineService/List":               32,
}

// Bounded returns the check that refuses a call when too many run. It must be the last: a call that it lets through counts
// until it ends.
func Bounded() Check {
	return (&calls{costly: map[string]int{}}).enter
}

type calls struct {
	mu     sync.Mutex
	all    int
	costly map[string]int
}

func (c *calls) enter(ctx context.Context, method string) error {
	limit := maxCallsOthers
	if slices.Contains(rolesFrom(ctx), contract.RoleAdmin) {
		limit = maxCalls
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	switch {
	case c.all >= limit:
		return status.Errorf(codes.ResourceExhausted, "%d calls run on this machine: end some (watches and followed logs are calls too), or try again", c.all)
	case costly[method] > 0 && c.costly[method] >= costly[method]:
		return status.Errorf(codes.ResourceExhausted, "%s: %d of these calls run on this machine: try again", strings.TrimPrefix(method, "/"), c.costly[method])
	}

	c.count(method, 1)
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()

		c.count(method, -1)
	})

	return nil
}

func (c *calls) count(method string, n int) {
	c.all += n

	if costly[method] > 0 {
		c.costly[method] += n
	}
}
