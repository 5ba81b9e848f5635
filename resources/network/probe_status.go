// SPDX-License-Identifier: Apache-2.0

package network

import "github.com/seed-59268b81/talos/cosi/resource"

var probeStatusDefinition = domain.Alias("probe", "probes").Type("ProbeStatuses", "Success={.success}", "Last Error={.lastError}")

// ProbeStatusSpec is the result of a probe. Its id is that of the ProbeSpecSpec. There is none before the first attempt.
type ProbeStatusSpec struct {
	Success   bool   `yaml:"success" protobuf:"1"`
	LastError string `yaml:"lastError" protobuf:"2"`
}

// Definition implements resource.Spec.
func (ProbeStatusSpec) Definition() *resource.Definition { return probeStatusDefinition }
