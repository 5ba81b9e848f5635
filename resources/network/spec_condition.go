// SPDX-License-Identifier: Apache-2.0

package network

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/enum"
)

var specConditionDefinition = domain.Type("SpecConditions", "State={.state}", "Cause={.cause}")

// SpecConditionSpec is the state of a spec of namespace network. Its id is SpecConditionID.
type SpecConditionSpec struct {
	State SpecState `yaml:"state" protobuf:"1"`
	// Cause is why the spec is not applied, or is applied with changes.
	Cause string `yaml:"cause,omitempty" protobuf:"2"`
}

// Definition implements resource.Spec.
func (SpecConditionSpec) Definition() *resource.Definition { return specConditionDefinition }

// Kinds of specs with conditions: the first part of a condition's id.
const (
	ConditionAddress  = "address"
	ConditionRoute    = "route"
	ConditionRule     = "rule"
	ConditionLink     = "link"
	ConditionOperator = "operator"
	ConditionChain    = "chain"
	ConditionEthernet = "ethernet"
	ConditionAlias    = "alias"
	// ConditionSetting is for a setting of the configuration, by its path, that is left out or followed with changes; it exists only then.
	ConditionSetting = "setting"
	// ConditionConflict is for an address that another machine has too; it exists only then.
	ConditionConflict = "conflict"
)

// SpecConditionID returns the id of the condition of a spec: route/inet4/10.0.0.1//1024.
func SpecConditionID(kind, specID string) string { return kind + "/" + specID }

// SpecState is the state of a spec.
type SpecState uint8

// The states.
const (
	// SpecApplied means that the spec is in effect.
	SpecApplied SpecState = iota
	// SpecWaiting means that the spec needs an object that does not exist yet.
	SpecWaiting
	// SpecConflict means that another spec, program or machine has precedence.
	SpecConflict
	// SpecRefused means that the kernel refuses the spec.
	SpecRefused
	// SpecDegraded means that an earlier state is in effect that could not be confirmed.
	SpecDegraded
)

var specStateNames = enum.Of[SpecState]("applied", "waiting", "conflict", "refused", "degraded")

func (s SpecState) String() string               { return specStateNames.Text(s) }
func (s SpecState) MarshalText() ([]byte, error) { return specStateNames.Marshal(s) }
func (s *SpecState) UnmarshalText(text []byte) error {
	return specStateNames.Parse("state of a spec", text, s)
}
