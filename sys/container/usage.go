// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/cgroups/v3/cgroup2/stats"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"google.golang.org/protobuf/proto"
)

// Usage of a running container.
type Usage struct {
	Listed

	// Memory in bytes that the container holds and cannot do without: file cache that nobody reads is not in it.
	Memory uint64
	// CPU time since the start.
	CPU time.Duration
}

// Usage returns what the running containers of a containerd namespace use.
func (i *Inventory) Usage(ctx context.Context, namespace string) ([]Usage, error) {
	all, err := i.List(ctx, namespace)
	if err != nil {
		return nil, err
	}

	metrics, err := tasks.NewTasksClient(i.conn).Metrics(namespaces.WithNamespace(ctx, namespace), &tasks.MetricsRequest{})
	if err != nil {
		return nil, fmt.Errorf("metrics of the containers of %s: %w", namespace, err)
	}

	return used(all, metrics.GetMetrics())
}

func used(all []Listed, metrics []*types.Metric) ([]Usage, error) {
	byID := map[string]*types.Metric{}
	for _, m := range metrics {
		byID[m.GetID()] = m
	}

	var out []Usage

	for _, l := range all {
		m, ok := byID[l.InternalID]
		if !ok || m.GetData() == nil {
			continue
		}

		// The runtime has types for the first version of cgroups, too; the system has only the second.
		var group stats.Metrics
		if err := proto.Unmarshal(m.GetData().GetValue(), &group); err != nil {
			return nil, fmt.Errorf("metrics of container %s: %w", l.ID, err)
		}

		memory := group.GetMemory().GetUsage()
		memory -= min(memory, group.GetMemory().GetInactiveFile())

		out = append(out, Usage{Listed: l, Memory: memory, CPU: time.Duration(group.GetCPU().GetUsageUsec()) * time.Microsecond})
	}

	return out, nil
}
