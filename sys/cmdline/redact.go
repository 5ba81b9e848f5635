// SPDX-License-Identifier: Apache-2.0

package cmdline

import (
	"regexp"
	"strings"
)

// Arguments that say where the machine runs, and where its configuration is.
const (
	Platform = "talos.platform"
	Config   = "talos.config"
	// ConfigOAuth begins the arguments by which the machine authenticates to the server of Config.
	ConfigOAuth = "talos.config.oauth."
)

// Arguments with a configuration, including its secrets: base64 of zstd, split into any number of arguments of the same name.
const (
	ConfigEarly  = "talos.config.early"
	ConfigInline = "talos.config.inline"
)

// secretArgument matches such an argument, or the one with the secret of an OAuth client, in a command line or in the kernel's log of one. A value that is cut off ends with the line.
// The kernel treats hyphens as underscores, but these names have neither.
var secretArgument = regexp.MustCompile(`(talos\.config\.(?:early|inline|oauth\.client_secret)=)("[^"\n]*"?|[^\s"]+)`)

// Redact replaces the values that have secrets.
func Redact(text string) string {
	if !strings.Contains(text, "talos.config.") { // fast path: a log has many lines
		return text
	}

	return secretArgument.ReplaceAllString(text, "$1(redacted)")
}
