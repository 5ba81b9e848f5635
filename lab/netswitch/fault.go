// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"errors"
	"fmt"
	"maps"
	"time"
)

// Impairment is what is done to frames in one direction. The zero value does
// nothing.
type Impairment struct {
	// Delay is added to each frame.
	Delay time.Duration `json:"delay,omitempty"`
	// Jitter is the most that chance adds to or takes from Delay, so that frames
	// may overtake each other.
	Jitter time.Duration `json:"jitter,omitempty"`
	// Loss is the probability that a frame disappears, from 0 to 1.
	Loss float64 `json:"loss,omitempty"`
	// Cut lets no frame through.
	Cut bool `json:"cut,omitempty"`
}

// Validate tells what is wrong with an impairment.
func (i Impairment) Validate() error {
	var errs []error
	if i.Delay < 0 || i.Jitter < 0 {
		errs = append(errs, fmt.Errorf("delay %v, jitter %v: neither may be negative", i.Delay, i.Jitter))
	}

	if !(i.Loss >= 0 && i.Loss <= 1) {
		errs = append(errs, fmt.Errorf("loss %v: want a probability from 0 to 1", i.Loss))
	}

	return errors.Join(errs...)
}

// Link is what is done to the frames of one port.
type Link struct {
	// Out hurts what the port's machine sends.
	Out Impairment `json:"out,omitzero"`
	// In hurts what it receives.
	In Impairment `json:"in,omitzero"`
}

// Path is the one-way connection from one port to another.
type Path struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Faults are all the impairments in force.
type Faults struct {
	Links map[string]Link
	Paths map[Path]Impairment
}

func (f *Faults) clone() *Faults {
	c := &Faults{Links: map[string]Link{}, Paths: map[Path]Impairment{}}
	if f != nil {
		maps.Copy(c.Links, f.Links)
		maps.Copy(c.Paths, f.Paths)
	}

	return c
}

// verdict is what becomes of one frame.
type verdict int

const (
	pass verdict = iota
	lost
	cut
)

// judge decides over a frame from one port to another, with chance giving
// numbers from 0 up to 1. The delay is that of all three impairments on the
// way: the sender's, the path's, the receiver's.
func (f *Faults) judge(from, to string, chance func() float64) (verdict, time.Duration) {
	var delay time.Duration

	for _, i := range [...]Impairment{f.Links[from].Out, f.Paths[Path{from, to}], f.Links[to].In} {
		switch {
		case i.Cut:
			return cut, 0
		case i.Loss > 0 && chance() < i.Loss:
			return lost, 0
		}

		delay += i.Delay
		if i.Jitter > 0 {
			delay += time.Duration((2*chance() - 1) * float64(i.Jitter))
		}
	}

	return pass, max(delay, 0)
}
