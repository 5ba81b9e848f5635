// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package e2e

import (
	"testing"

	"github.com/seed-59268b81/talos/test/cluster"
)

func strangers(t *testing.T, _ *cluster.Cluster) {
	t.Skip("a process in another network namespace needs Linux")
}
