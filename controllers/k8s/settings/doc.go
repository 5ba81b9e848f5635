// SPDX-License-Identifier: Apache-2.0

// Package settings turns the machine configuration into the settings of Kubernetes' programs.
//
// It is pure. The controllers call its functions for the active configuration. Check calls the same functions, and those that use their
// results, before a configuration is accepted: settings that a controller could not apply are refused.
package settings
