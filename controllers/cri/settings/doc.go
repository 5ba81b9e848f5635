// SPDX-License-Identifier: Apache-2.0

// Package settings turns a configuration into the settings of the container runtime: pure functions, which the controllers call, and which
// check a configuration before it is accepted. It runs on laptops too.
package settings
