// SPDX-License-Identifier: Apache-2.0

package files

import (
	"github.com/seed-59268b81/talos/cosi/resource"
)

var etcFileStatusDefinition = &resource.Definition{
	Type:             "EtcFileStatuses.files.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "Spec Version", JSONPath: "{.specVersion}"},
	},
}

// EtcFileStatusSpec tells that the file is in place, as of a version of its spec.
type EtcFileStatusSpec struct {
	SpecVersion string `yaml:"specVersion" protobuf:"1"`
}

// Definition implements resource.Spec.
func (EtcFileStatusSpec) Definition() *resource.Definition { return etcFileStatusDefinition }
