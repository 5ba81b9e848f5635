// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
)

// The ids of machine configurations.
const (
	// ActiveID is the configuration that controllers follow.
	ActiveID = "v1alpha1"
	// PersistentID is the one that the next boot finds: the active one, unless that is a trial, or another
	// is staged.
	PersistentID = "persistent"
	// AccessID is what is left of a stored configuration that cannot be decoded: its authorities alone, so that its
	// administrators reach the machine, and no one else.
	AccessID = "access"
)

// AnnotationTextSpec tells clients that the printed form of the specification is a string, which is YAML by itself, and no object.
const AnnotationTextSpec = "talos.dev/yaml-spec"

var machineConfigDefinition = domain.Alias("mc").Sensitive().Type("MachineConfigs")

// MachineConfigSpec is a whole configuration. Its forms, printed and on the wire, are the text as it was
// applied, with its comments. It is immutable: a change is another configuration.
type MachineConfigSpec struct{ config *config.Config }

// NewMachineConfigSpec wraps a decoded configuration.
func NewMachineConfigSpec(cfg *config.Config) MachineConfigSpec {
	return MachineConfigSpec{config: cfg}
}

// Definition implements resource.Spec.
func (MachineConfigSpec) Definition() *resource.Definition { return machineConfigDefinition }

// Config is the configuration; nil only in an empty spec.
func (s MachineConfigSpec) Config() *config.Config { return s.config }

// View is what the configuration says.
func (s MachineConfigSpec) View() *view.Config { return view.Of(s.config) }

// Bytes is the text of the configuration; read-only.
func (s MachineConfigSpec) Bytes() []byte {
	if s.config == nil {
		return nil
	}

	return s.config.Bytes()
}

// Equal compares the texts.
func (s MachineConfigSpec) Equal(other MachineConfigSpec) bool {
	return s.config == other.config || bytes.Equal(s.Bytes(), other.Bytes())
}

// DeepCopy returns the same configuration, which does not change.
func (s MachineConfigSpec) DeepCopy() MachineConfigSpec { return s }

// MarshalYAML prints the text as it is, as a block.
func (s MachineConfigSpec) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.LiteralStyle, Value: string(s.Bytes())}, nil
}

// wire is the form on the wire.
type wire struct {
	YAML []byte `protobuf:"1"`
}

// MarshalProto implements protoenc.Marshaler.
func (s MachineConfigSpec) MarshalProto() ([]byte, error) { return protoenc.Marshal(wire{s.Bytes()}) }

// UnmarshalProto implements protoenc.Unmarshaler.
func (s *MachineConfigSpec) UnmarshalProto(b []byte) error {
	var (
		w    wire
		next MachineConfigSpec
		err  error
	)

	if err = protoenc.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("machine configuration: %w", err)
	}

	if len(w.YAML) > 0 {
		if next.config, err = config.Decode(w.YAML); err != nil {
			return err
		}
	}

	*s = next

	return nil
}
