// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	"github.com/containerd/cgroups/v3/cgroup2/stats"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Usage of a running container.
type Usage struct {
	Listed

	// Memory in bytes, without inactive file cache.
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

		memory, cpu, err := measured(m.GetData())
		if err != nil {
			return nil, fmt.Errorf("metrics of container %s: %w", l.ID, err)
		}

		out = append(out, Usage{Listed: l, Memory: memory, CPU: cpu})
	}

	return out, nil
}

// measured decodes the metrics of a cgroup. Each version of cgroups has its own message.
func measured(data *anypb.Any) (memory uint64, cpu time.Duration, err error) {
	var inactive uint64

	if strings.Contains(data.GetTypeUrl(), ".cgroups.v1.") {
		var group v1.Metrics
		if err := proto.Unmarshal(data.GetValue(), &group); err != nil {
			return 0, 0, err
		}

		memory, inactive = group.GetMemory().GetUsage().GetUsage(), group.GetMemory().GetTotalInactiveFile()
		cpu = time.Duration(group.GetCPU().GetUsage().GetTotal())
	} else {
		var group stats.Metrics
		if err := proto.Unmarshal(data.GetValue(), &group); err != nil {
			return 0, 0, err
		}

		memory, inactive = group.GetMemory().GetUsage(), group.GetMemory().GetInactiveFile()
		cpu = time.Duration(group.GetCPU().GetUsageUsec()) * time.Microsecond
	}

	return memory - min(memory, inactive), cpu, nil
}
