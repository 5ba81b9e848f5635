// SPDX-License-Identifier: Apache-2.0

package files

import (
	"io/fs"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var etcFileSpecDefinition = &resource.Definition{
	Type:             "EtcFileSpecs.files.talos.dev",
	DefaultNamespace: NamespaceName,
	Sensitivity:      resource.Sensitive,
}

// EtcFileSpecSpec is a file wanted under /etc; its id is the path below it.
type EtcFileSpecSpec struct {
	Contents     string      `yaml:"contents" protobuf:"1"`
	Mode         fs.FileMode `yaml:"mode" protobuf:"2"`
	SELinuxLabel string      `yaml:"selinux_label" protobuf:"3"`
}

// Definition implements resource.Spec.
func (EtcFileSpecSpec) Definition() *resource.Definition { return etcFileSpecDefinition }
