// SPDX-License-Identifier: Apache-2.0

package cmdline

import (
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing to hide", "quiet talos.platform=metal\n", "quiet talos.platform=metal\n"},
		{"one", "a=b talos.config.inline=c2VjcmV0+/= c\n", "a=b talos.config.inline=(redacted) c\n"},
		{"several", "talos.config.inline=c2Vj talos.config.early=cmV0", "talos.config.inline=(redacted) talos.config.early=(redacted)"},
		{"in the kernel's log", "Kernel command line: talos.config.inline=c2Vj panic=10", "Kernel command line: talos.config.inline=(redacted) panic=10"},
		{"cut off", "Command line: talos.config.inline=c2Vjcm", "Command line: talos.config.inline=(redacted)"},
		{"quoted value", `talos.config.inline="c2Vj cmV0" c`, "talos.config.inline=(redacted) c"},
		{"open quote", `talos.config.inline="c2Vj cmV0`, "talos.config.inline=(redacted)"},
		{"quoted whole", `"talos.config.inline=c2Vj" c`, `"talos.config.inline=(redacted)" c`},
		{"a client's secret", "talos.config.oauth.client_secret=x talos.config.oauth.client_id=y", "talos.config.oauth.client_secret=(redacted) talos.config.oauth.client_id=y"},
		{"empty", "talos.config.inline= c", "talos.config.inline= c"},
		{"another of the kind", "talos.config=https://x talos.config.inlines=x", "talos.config=https://x talos.config.inlines=x"},
	} {
		if got := Redact(tt.text); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// FuzzRedact: no value of these arguments is left in the text.
func FuzzRedact(f *testing.F) {
	f.Add("a talos.config.inline=c2VjcmV0 b")
	f.Add(`"talos.config.early=c2VjcmV0" "talos.config.inline="c2VjcmV0`)

	f.Fuzz(func(t *testing.T, text string) {
		redacted := Parse(Redact(text))

		for _, name := range []string{ConfigEarly, ConfigInline} {
			for _, value := range redacted.All(name) {
				if rest := strings.TrimPrefix(value, "(redacted)"); rest == value && value != "" && !strings.ContainsAny(value, "\"\n \t\v\f\r") {
					t.Errorf("%q: %s=%q is left", text, name, value)
				}
			}
		}
	})
}
