// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"

	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/cosi/resource"
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

var machineConfigDefinition = &resource.Definition{
	Type:             "MachineConfigs.config.talos.dev",
	DefaultNamespace: NamespaceName,
	Aliases:          []string{"mc"},
	Sensitivity:      resource.Sensitive,
}

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

// fieldYAML is MachineConfigSpec.yaml_marshalled.
const fieldYAML = 1

// MarshalProto implements protoenc.Marshaler.
func (s MachineConfigSpec) MarshalProto() ([]byte, error) {
	text := s.Bytes()
	if len(text) == 0 {
		return nil, nil
	}

	return protowire.AppendBytes(protowire.AppendTag(nil, fieldYAML, protowire.BytesType), text), nil
}

// UnmarshalProto implements protoenc.Unmarshaler.
func (s *MachineConfigSpec) UnmarshalProto(b []byte) error {
	var text []byte

	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}

		b = b[n:]

		if n = protowire.ConsumeFieldValue(num, wire, b); n < 0 {
			return protowire.ParseError(n)
		}

		if num == fieldYAML {
			if wire != protowire.BytesType {
				return errors.New("machine configuration: the text is not bytes")
			}

			text, _ = protowire.ConsumeBytes(b)
		}

		b = b[n:]
	}

	if len(text) == 0 {
		s.config = nil

		return nil
	}

	cfg, err := config.Decode(text)
	if err != nil {
		return err
	}

	s.config = cfg

	return nil
}
