// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package security holds the controllers of what the machine trusts.
package security

import "github.com/seed-59268b81/talos/cosi/controller"

// Controllers returns the controllers of this domain.
func Controllers() []controller.Controller {
	return []controller.Controller{ImageVerificationConfigController()}
}
