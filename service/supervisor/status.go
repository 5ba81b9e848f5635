// SPDX-License-Identifier: Apache-2.0

package supervisor

import "time"

// State of a service; existing clients know the names.
type State string

// The states.
const (
	StateInitialized State = "Initialized"
	StatePreparing   State = "Preparing"
	StateWaiting     State = "Waiting"
	StateStarting    State = "Starting"
	StateRunning     State = "Running"
	StateStopping    State = "Stopping"
	StateFinished    State = "Finished"
	StateFailed      State = "Failed"
)

// Event is one entry of a service's history.
type Event struct {
	Time    time.Time
	State   State
	Message string
}

// HealthStatus of a service.
type HealthStatus struct {
	Known       bool
	Healthy     bool
	LastMessage string
	LastChange  time.Time
}

// Status is the state of a service.
type Status struct {
	ID     string
	State  State
	PID    int
	Health HealthStatus
	// HasHealth reports whether the service has a health check.
	HasHealth bool
	// Events, oldest first, bounded.
	Events []Event
	// Control has the actions that the service allows.
	Control Control
}

// Up reports whether the service is running and, if it has a health check, healthy.
func (s Status) Up() bool {
	return s.State == StateRunning && (!s.HasHealth || s.Health.Known && s.Health.Healthy)
}
