// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"strings"
	"testing"
)

func TestBootThatHasNotBeen(t *testing.T) {
	for _, command := range [][]string{{"logs", "kubelet"}, {"dmesg"}} {
		if r := talosctl(t, startCluster(t), append(command, "--boot", "1")...); r.exit != 1 || !strings.Contains(r.stderr, "has not been yet") {
			t.Errorf("%v: got %+v", command, r)
		}
	}
}
