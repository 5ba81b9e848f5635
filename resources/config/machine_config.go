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
	// PersistentID is the configuration of the next boot: the active one, unless that is a trial, or another one is staged.
	PersistentID = "persistent"
	// AccessID has only the authorities of a stored configuration that cannot be decoded, so that its administrators reach the
	// machine, and no one else.
	AccessID = "access"
)

// AnnotationTextSpec tells clients that the printed form of the spec is a string with YAML in it, and not an object.
const AnnotationTextSpec = "talos.dev/yaml-spec"

var machineConfigDefinition = domain.Alias("mc").Sensitive().Type("MachineConfigs")

// MachineConfigSpec is a whole configuration. Its printed form and its wire form are the text as it was applied, with its comments.
// It is immutable.
type MachineConfigSpec struct{ config *config.Config }

// NewMachineConfigSpec wraps a decoded configuration.
func NewMachineConfigSpec(cfg *config.Config) MachineConfigSpec {
	return MachineConfigSpec{config: cfg}
}

// Definition implements resource.Spec.
func (MachineConfigSpec) Definition() *resource.Definition { return machineConfigDefinition }

// Config returns the configuration; nil only of an empty spec.
func (s MachineConfigSpec) Config() *config.Config { return s.config }

// View returns the read-only view of the configuration.
func (s MachineConfigSpec) View() *view.Config { return view.Of(s.config) }

// Bytes returns the text of the configuration; read-only.
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

// DeepCopy returns the same configuration, which is immutable.
func (s MachineConfigSpec) DeepCopy() MachineConfigSpec { return s }

// MarshalYAML prints the text unchanged, as a block.
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
