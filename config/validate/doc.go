// SPDX-License-Identifier: Apache-2.0

// Package validate checks what a configuration says, beyond its types.
//
//	warnings, err := validate.Validate(cfg, validate.Metal)
//
// An error holds everything that is wrong, one line each: the path, the value where it is not a secret,
// and what to do. Warnings are what works, but is likely not meant, is an older way of saying it, or has
// no effect in this version. The package looks at nothing but the configuration; Change compares one with
// the one that the machine runs.
package validate
