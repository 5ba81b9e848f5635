// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

var sbomItemDefinition = domain.Alias("sbom", "sboms").Type("SBOMItems", "Version={.version}", "License={.license}")

// SBOMItemSpec is a piece of software in the image: a module of a Go program, or a package of Debian. The id is its name, with its version
// if there are several.
type SBOMItemSpec struct {
	Name    string `yaml:"name"    protobuf:"1"`
	Version string `yaml:"version" protobuf:"2"`
	// License is an expression of SPDX, or empty if it is not known.
	License string   `yaml:"license" protobuf:"3"`
	CPEs    []string `yaml:"cpes,omitempty"  protobuf:"4"`
	PURLs   []string `yaml:"purls,omitempty" protobuf:"5"`
	// Extension is set for software of an extension.
	Extension bool `yaml:"extension,omitempty" protobuf:"6"`
}

// Definition implements resource.Spec.
func (SBOMItemSpec) Definition() *resource.Definition { return sbomItemDefinition }
