// SPDX-License-Identifier: Apache-2.0

package cmdline

import (
	"regexp"
	"strings"
)

// Arguments that carry a configuration, with all its secrets: base64 of zstd, in as many arguments of the name as it takes.
const (
	ConfigEarly  = "talos.config.early"
	ConfigInline = "talos.config.inline"
)

// secretArgument is one of them, in a command line or in what the kernel logs of one. The value ends with the line when it is cut
// off. Dots in a name are dots; the kernel does not tell hyphens from underscores, and there is none in these.
var secretArgument = regexp.MustCompile(`(talos\.config\.(?:early|inline)=)("[^"\n]*"?|[^\s"]+)`)

// Redact replaces the values that carry secrets.
func Redact(text string) string {
	if !strings.Contains(text, "talos.config.") { // a log has many lines
		return text
	}

	return secretArgument.ReplaceAllString(text, "$1(redacted)")
}
