// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"
)

func TestExpressions(t *testing.T) {
	for _, tt := range []struct {
		name, expr, want string
	}{
		{"an id", "^eth[0-9]+$", ""},
		{"alternatives", "eth0|eth1|bond.*", ""},
		{"repeats", "^[a-z0-9]{1,63}(\\.[a-z]{2,10}){3}$", ""},
		{"a class of many", `\p{L}+`, ""},
		{"no expression", "(", "missing closing"},
		{"long", strings.Repeat("a", maxExpression+1), "more than the 1024"},
		{"many states", strings.Repeat("(.{1,9}){100}", 10), "repeats too much"},
		{"as many as the parser takes", strings.Repeat(".{1000}", 100), "repeats too much"},
		{"empty, and often", strings.Repeat("(){1000}", 100), "repeats too much"},
		{"without an end", strings.Repeat("(a{1000,})", 50), "repeats too much"},
		{"deep", strings.Repeat("(", 100) + "a" + strings.Repeat("){2}", 100), "invalid repeat count"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := compile(tt.expr)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
