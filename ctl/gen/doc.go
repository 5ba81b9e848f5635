// SPDX-License-Identifier: Apache-2.0

// Package gen is "talosctl gen" and "talosctl machineconfig": configurations, secrets and certificates made on the person's own
// machine, without a cluster. What is made and how is in config/generate, config/secrets and pki; here
// are flags, files and messages.
//
// Files hold secrets, so they are readable by their owner only, and none is overwritten unasked.
package gen
