// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/enum"
)

var specConditionDefinition = &resource.Definition{
	Type:             "SpecConditions.net.talos.dev",
	DefaultNamespace: NamespaceName,
	PrintColumns: []resource.PrintColumn{
		{Name: "State", JSONPath: "{.state}"},
		{Name: "Cause", JSONPath: "{.cause}"},
	},
}

// SpecConditionSpec tells what has become of a spec of namespace network. Its id is SpecConditionID.
type SpecConditionSpec struct {
	State SpecState `yaml:"state" protobuf:"1"`
	// Cause is why the spec is not applied, or not as it says.
	Cause string `yaml:"cause,omitempty" protobuf:"2"`
}

// Definition implements resource.Spec.
func (SpecConditionSpec) Definition() *resource.Definition { return specConditionDefinition }

// Kinds of specs with conditions: the first part of a condition's id.
const (
	ConditionAddress  = "address"
	ConditionRoute    = "route"
	ConditionLink     = "link"
	ConditionOperator = "operator"
	// ConditionConflict is of an address that another machine has too; it is there only then.
	ConditionConflict = "conflict"
)

// SpecConditionID is the identity of the condition of a spec: route/inet4/10.0.0.1//1024.
func SpecConditionID(kind, specID string) string { return kind + "/" + specID }

// SpecState is what has become of a spec.
type SpecState uint8

// The states.
const (
	// SpecApplied is in effect.
	SpecApplied SpecState = iota
	// SpecWaiting needs something that is not there yet.
	SpecWaiting
	// SpecConflict loses to another spec, to another program, or to another machine.
	SpecConflict
	// SpecRefused is refused by the kernel, whatever else comes.
	SpecRefused
	// SpecDegraded is in effect by what was true before and could not be confirmed.
	SpecDegraded
)

var specStateNames = enum.Of[SpecState]("applied", "waiting", "conflict", "refused", "degraded")

func (s SpecState) String() string               { return specStateNames.Text(s) }
func (s SpecState) MarshalText() ([]byte, error) { return specStateNames.Marshal(s) }
func (s *SpecState) UnmarshalText(text []byte) error {
	return specStateNames.Parse("state of a spec", text, s)
}
