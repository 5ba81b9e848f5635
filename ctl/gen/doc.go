// SPDX-License-Identifier: Apache-2.0

// Package gen is "talosctl gen" and "talosctl machineconfig": it generates configurations, secrets and certificates, without a cluster.
// The contents are from config/generate, config/secrets and pki. This package has the flags, files and messages.
//
// Files hold secrets, so only their owner can read them. Existing files are overwritten only with --force.
package gen
