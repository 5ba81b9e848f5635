// SPDX-License-Identifier: Apache-2.0

package files

import (
	"io/fs"

	"github.com/seed-59268b81/talos/cosi/resource"
)

var etcFileSpecDefinition = domain.Sensitive().Type("EtcFileSpecs")

// EtcFileSpecSpec is a wanted file in /etc; its id is the path below /etc.
type EtcFileSpecSpec struct {
	Contents     string      `yaml:"contents" protobuf:"1"`
	Mode         fs.FileMode `yaml:"mode" protobuf:"2"`
	SELinuxLabel string      `yaml:"selinux_label" protobuf:"3"`
}

// Definition implements resource.Spec.
func (EtcFileSpecSpec) Definition() *resource.Definition { return etcFileSpecDefinition }

var etcFileStatusDefinition = domain.Type("EtcFileStatuses", "Spec Version={.specVersion}")

// EtcFileStatusSpec has the version of the spec that the file was written from.
type EtcFileStatusSpec struct {
	SpecVersion string `yaml:"specVersion" protobuf:"1"`
}

// Definition implements resource.Spec.
func (EtcFileStatusSpec) Definition() *resource.Definition { return etcFileStatusDefinition }
