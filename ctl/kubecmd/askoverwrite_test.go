// SPDX-License-Identifier: Apache-2.0

package kubecmd

import (
	"bufio"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

func TestAskOverwrite(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want bool
		fail bool
	}{
		{in: "o\n", want: true},
		{in: "what?\nRename\n"},
		{in: "", fail: true},
	} {
		var out strings.Builder

		got, err := askOverwrite(bufio.NewReader(strings.NewReader(tt.in)), &out)(kubeconfig.UserSection, "admin@demo")
		if got != tt.want || (err != nil) != tt.fail {
			t.Errorf("%q: got %t, %v, want %t", tt.in, got, err, tt.want)
		}

		if !strings.HasPrefix(out.String(), `user "admin@demo" already exists.`) {
			t.Errorf("%q: asked %q", tt.in, &out)
		}
	}
}
