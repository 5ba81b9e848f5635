// SPDX-License-Identifier: Apache-2.0

package introspect

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/runtime"
)

// NamespaceName is where the metrics are.
const NamespaceName = "controllers"

// ControllerMetricsSpec has the counters of a controller since it was registered; the id is its name. See runtime.Metrics.
type ControllerMetricsSpec struct {
	Wakeups uint64 `yaml:"wakeups" protobuf:"1"`
	Crashes uint64 `yaml:"crashes" protobuf:"2"`
	Reads   uint64 `yaml:"reads"   protobuf:"3"`
	Writes  uint64 `yaml:"writes"  protobuf:"4"`
	// Finished means that the controller does not run again.
	Finished bool `yaml:"finished" protobuf:"5"`
	// The rest is of queue controllers.
	Processed   uint64 `yaml:"processed,omitempty"   protobuf:"6"`
	Requeues    uint64 `yaml:"requeues,omitempty"    protobuf:"7"`
	Skips       uint64 `yaml:"skips,omitempty"       protobuf:"8"`
	Mapped      uint64 `yaml:"mapped,omitempty"      protobuf:"9"`
	QueueLength uint64 `yaml:"queueLength,omitempty" protobuf:"10"`
}

var metricsDefinition = &resource.Definition{
	Type:             "ControllerMetrics.meta.cosi.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Wakeups", JSONPath: "{.wakeups}"},
		{Name: "Crashes", JSONPath: "{.crashes}"},
		{Name: "Reads", JSONPath: "{.reads}"},
		{Name: "Writes", JSONPath: "{.writes}"},
		{Name: "Finished", JSONPath: "{.finished}"},
	},
}

// Definition implements resource.Spec.
func (ControllerMetricsSpec) Definition() *resource.Definition { return metricsDefinition }

func specOf(m runtime.Metrics) ControllerMetricsSpec {
	return ControllerMetricsSpec{
		Wakeups: m.Wakeups, Crashes: m.Crashes, Reads: m.Reads, Writes: m.Writes, Finished: m.Finished,
		Processed: m.Processed, Requeues: m.Requeues, Skips: m.Skips, Mapped: m.Mapped, QueueLength: uint64(m.QueueLength),
	}
}

// RegisterTypes registers the types; see resource.Register.
func RegisterTypes() error { return resource.Register[ControllerMetricsSpec]() }
