// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Declaration is what a controller has declared: it may do that and nothing else.
type Declaration struct {
	name    string
	outputs []controller.Output
	inputs  atomic.Pointer[[]controller.Input]
}

// Declare returns a declaration; an input that is declared twice is an error.
func Declare(name string, inputs []controller.Input, outputs []controller.Output) (*Declaration, error) {
	d := &Declaration{name: name, outputs: slices.Clone(outputs)}

	return d, d.SetInputs(inputs)
}

// Name is the name of the controller.
func (d *Declaration) Name() string { return d.name }

// Inputs are the declared inputs; read-only.
func (d *Declaration) Inputs() []controller.Input { return *d.inputs.Load() }

// Outputs are the declared outputs; read-only.
func (d *Declaration) Outputs() []controller.Output { return d.outputs }

// SetInputs replaces the inputs.
func (d *Declaration) SetInputs(inputs []controller.Input) error {
	seen := map[controller.Input]bool{}

	for _, in := range inputs {
		in.Kind = 0 // one address, whatever the kind of the input

		if seen[in] {
			return fmt.Errorf("input %s(%s) %q is declared twice", in.Type, in.Namespace, in.ID)
		}

		seen[in] = true
	}

	inputs = slices.Clone(inputs)
	d.inputs.Store(&inputs)

	return nil
}

func (d *Declaration) denied(op string, ptr resource.Pointer, why string) error {
	return state.NewError(state.AccessDenied, op, ptr, "controller %q %s", d.name, why)
}

// MayRead refuses to read a resource that is neither input nor output. To read a whole kind, the input must be the whole
// kind.
func (d *Declaration) MayRead(op string, ptr resource.Pointer, kind bool) error {
	if d.isOutput(ptr.Type) {
		return nil
	}

	for _, in := range *d.inputs.Load() {
		if in.Type == ptr.Type && in.Namespace == ptr.Namespace && (in.ID == "" || !kind && in.ID == ptr.ID) {
			return nil
		}
	}

	return d.denied(op, ptr, "has not declared it as an input")
}

func (d *Declaration) isOutput(typ string) bool {
	return slices.ContainsFunc(d.outputs, func(o controller.Output) bool { return o.Type == typ })
}

// MayWrite refuses to write a resource that is not an output.
func (d *Declaration) MayWrite(op string, ptr resource.Pointer) error {
	for _, o := range d.outputs {
		if o.Type == ptr.Type && (o.Namespace == "" || o.Namespace == ptr.Namespace) {
			return nil
		}
	}

	return d.denied(op, ptr, "has not declared it as an output")
}

// MayHold refuses to change the finalizers of a resource that is not a strong input.
func (d *Declaration) MayHold(op string, ptr resource.Pointer) error {
	for _, in := range *d.inputs.Load() {
		holds := in.Kind == controller.Strong || in.Kind == controller.Primary || in.Kind == controller.Mapped
		if holds && in.Type == ptr.Type && in.Namespace == ptr.Namespace && (in.ID == "" || in.ID == ptr.ID) {
			return nil
		}
	}

	return d.denied(op, ptr, "has not declared it as a strong input")
}
