// SPDX-License-Identifier: Apache-2.0

// Package validate checks the values of a configuration, beyond their types.
//
//	warnings, err := validate.Validate(cfg, validate.Metal)
//
// The error has one line for each mistake: the path, the value unless it is a secret, and what to do. Warnings
// are for settings that work but are probably not intended, are deprecated, or have no effect in this version.
// Validate looks at the configuration only; Change compares a new one with the one that the machine runs.
package validate
