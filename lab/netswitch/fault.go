// SPDX-License-Identifier: Apache-2.0

package netswitch

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// Protocol is a protocol that an impairment can block.
type Protocol string

// UDP is all UDP over IPv4 and IPv6, also fragments, also DNS, DHCP and QUIC.
const UDP Protocol = "udp"

// Impairment is a fault of frames in one direction. The zero value is none.
type Impairment struct {
	// Delay is added to each frame.
	Delay time.Duration `json:"delay,omitempty"`
	// Jitter is the largest random difference from Delay. Frames may overtake each other.
	Jitter time.Duration `json:"jitter,omitempty"`
	// Loss is the probability that a frame is lost, from 0 to 1.
	Loss float64 `json:"loss,omitempty"`
	// Duplicate is the probability that a frame arrives twice.
	Duplicate float64 `json:"duplicate,omitempty"`
	// Corrupt is the probability that one bit after the Ethernet header is flipped.
	Corrupt float64 `json:"corrupt,omitempty"`
	// Bandwidth in bits per second; 0 means unlimited. Frames wait in a queue, and are dropped when it is full.
	Bandwidth uint64 `json:"bandwidth,omitempty"`
	// DropOver is a black hole for frames of more bytes than this, Ethernet header included: 1414 lets IP packets of up
	// to 1400 bytes pass. 0 is none.
	DropOver int `json:"dropOver,omitempty"`
	// Block drops all packets of a protocol.
	Block Protocol `json:"block,omitempty"`
	// Cut drops all frames.
	Cut bool `json:"cut,omitempty"`
}

// Validate returns an error for a wrong impairment.
func (i Impairment) Validate() error {
	var errs []error
	if i.Delay < 0 || i.Jitter < 0 {
		errs = append(errs, fmt.Errorf("delay %v, jitter %v: neither may be negative", i.Delay, i.Jitter))
	}

	for _, p := range i.chances() {
		if !(p.value >= 0 && p.value <= 1) { // NaN too
			errs = append(errs, fmt.Errorf("%s %v: want a probability from 0 to 1", p.name, p.value))
		}
	}

	if i.Bandwidth > 0 && i.Bandwidth < minBandwidth {
		errs = append(errs, fmt.Errorf("bandwidth %d bit/s: want at least %d, or 0 for no limit", i.Bandwidth, minBandwidth))
	}

	if i.DropOver < 0 || i.DropOver > 0 && i.DropOver < headerLen {
		errs = append(errs, fmt.Errorf("drop over %d bytes: want at least %d, or 0 for no limit", i.DropOver, headerLen))
	}

	if i.Block != "" && i.Block != UDP {
		errs = append(errs, fmt.Errorf("block %q: only %q can be blocked", i.Block, UDP))
	}

	return errors.Join(errs...)
}

type probability struct {
	name  string
	value float64
}

func (i Impairment) chances() []probability {
	return []probability{{"loss", i.Loss}, {"duplicate", i.Duplicate}, {"corrupt", i.Corrupt}}
}

// String returns a text such as "delay 20ms±5ms loss 1% bandwidth 1000000 bit/s", or an empty one for no impairment.
func (i Impairment) String() string {
	if i.Cut {
		return "cut"
	}

	var parts []string

	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }

	if i.Delay > 0 || i.Jitter > 0 {
		add("delay %v±%v", i.Delay, i.Jitter)
	}

	for _, p := range i.chances() {
		if p.value > 0 {
			add("%s %.3g%%", p.name, p.value*100)
		}
	}

	if i.Bandwidth > 0 {
		add("bandwidth %d bit/s", i.Bandwidth)
	}

	if i.DropOver > 0 {
		add("drop over %d bytes", i.DropOver)
	}

	if i.Block != "" {
		add("block %s", i.Block)
	}

	return strings.Join(parts, " ")
}

// Link has the impairments of one port.
type Link struct {
	// Out impairs the frames that the port's machine sends.
	Out Impairment `json:"out,omitzero"`
	// In impairs the frames that it receives.
	In Impairment `json:"in,omitzero"`
}

// Path is the one-way connection from one port to another.
type Path struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Faults are all current impairments.
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
