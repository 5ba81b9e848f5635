// SPDX-License-Identifier: Apache-2.0

// Package settings turns the machine configuration into the settings of Kubernetes' programs.
//
// It is pure. The controllers call its functions when a configuration is in effect, and Check calls the same functions, and
// all that follows from them, before one is accepted: what a controller could not carry out is refused.
package settings
