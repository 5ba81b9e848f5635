// SPDX-License-Identifier: Apache-2.0

// Package machine has the common parts of virtual machines (package qemu) and containers (package container): power
// button, status, network cards, and the console with a log of each boot.
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

// PowerCut is why a machine is off after its power was cut.
const PowerCut = "power cut"

// Status is the status of a machine.
type Status struct {
	Power Power `json:"power"`
	// Why is the reason of the power state.
	Why string `json:"why"`
	// Since is the time of the latest change.
	Since time.Time `json:"since"`
	// Boots counts power-ons and resets, the guest's own reboots among them.
	Boots int `json:"boots"`
	// PID is the machine's process while the power is on.
	PID int `json:"pid,omitempty"`
	// Paused is set while the machine's processors are stopped.
	Paused bool `json:"paused,omitempty"`
}

// Disk is how the disks of a machine behave. The zero Disk is a good one.
type Disk struct {
	// Writes is how many writes per second it makes at most; 0 means as many as it can.
	Writes int `json:"writes,omitempty"`
}

// Machine is a machine of a lab.
type Machine interface {
	Status() Status
	// On switches the power on. It returns ErrOn if it is on.
	On(ctx context.Context) error
	// Off asks the guest to power off, and waits until it has or ctx is done.
	Off(ctx context.Context) error
	// Reset presses the reset button. It returns ErrOff if the power is off.
	Reset(ctx context.Context) error
	// Cut cuts the power. A machine that is off stays off.
	Cut()
	// Pause stops the machine's processors, while its clock and the world go on. It returns ErrOff if the power is off. A
	// machine that is switched on or reset runs.
	Pause(ctx context.Context) error
	// Resume ends a pause. A machine that is not paused runs on.
	Resume(ctx context.Context) error
	// Wipe replaces the disks with those that the machine was created with. It returns ErrOn if the power is on.
	Wipe(ctx context.Context) error
	// SetDisk sets how the disks behave, until the machine is switched off or started again. It returns ErrOff if the power is off.
	SetDisk(ctx context.Context, disk Disk) error
	// Plug plugs a network card into its slot. It returns ErrPlugged if the card is there. A machine that is off has it
	// when it is switched on.
	Plug(ctx context.Context, card int) error
	// Unplug unplugs a network card. It returns ErrUnplugged if it is not there.
	Unplug(ctx context.Context, card int) error
}
