// SPDX-License-Identifier: Apache-2.0

// Package machine is what the machines of a lab have in common, whether they
// are virtual machines (package qemu) or containers (package container): a power
// button, a status, and a console whose boots are kept.
package machine

import (
	"context"
	"errors"
	"time"
)

// Errors of the power button.
var (
	ErrOn  = errors.New("the machine is already on")
	ErrOff = errors.New("the machine is off")
)

// Errors of the network cards.
var (
	ErrPlugged   = errors.New("the card is already plugged in")
	ErrUnplugged = errors.New("the card is not plugged in")
)

// Power is whether a machine is on.
type Power string

// The states of a machine's power.
const (
	Off Power = "off"
	On  Power = "on"
)

// PowerCut is why a machine is off whose power was taken away.
const PowerCut = "power cut"

// Status is how a machine is.
type Status struct {
	Power Power `json:"power"`
	// Why tells what brought it there.
	Why string `json:"why"`
	// Since is when it did.
	Since time.Time `json:"since"`
	// Boots counts power-ons and resets, the guest's own reboots among them.
	Boots int `json:"boots"`
	// PID is the machine's process while the power is on.
	PID int `json:"pid,omitempty"`
}

// Machine is a machine of a lab.
type Machine interface {
	Status() Status
	// On switches the power on; ErrOn tells that it is on.
	On(ctx context.Context) error
	// Off asks the guest to power off, and waits until it has or ctx is done.
	Off(ctx context.Context) error
	// Reset presses the reset button; ErrOff tells that the power is off.
	Reset(ctx context.Context) error
	// Cut takes the power away. A machine that is off stays so.
	Cut()
	// Plug puts a network card into its slot; ErrPlugged tells that it is there. A
	// machine that is off has it when it is switched on.
	Plug(ctx context.Context, card int) error
	// Unplug takes a network card out; ErrUnplugged tells that it is not there.
	Unplug(ctx context.Context, card int) error
}
