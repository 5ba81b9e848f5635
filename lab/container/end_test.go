// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	tests := []struct {
		name       string
		cut, reset bool
		script     string
		want       end
	}{
		{"a power cut", true, false, "kill -KILL $$", end{why: "power cut"}},
		{"a reset", false, true, "kill -KILL $$", end{why: "reset", again: true}},
		{"cut while it is reset", true, true, "kill -KILL $$", end{why: "power cut"}},
		{"a reboot", false, false, "kill -HUP $$", end{why: "the guest rebooted", again: true}},
		{"powered off", false, false, "kill -INT $$", end{why: "the guest powered off"}},
		{"killed", false, false, "kill -KILL $$", end{why: "process 1 was killed, by a user or for lack of memory"}},
		{"crashed", false, false, "ulimit -c 0; kill -SEGV $$", end{why: "process 1 crashed: segmentation fault", again: true, pause: crashPause}},
		{"ended", false, false, "exit 3", end{why: "process 1 ended with exit code 3", again: true, pause: crashPause}},
		{"ended well", false, false, "exit 0", end{why: "process 1 ended with exit code 0", again: true, pause: crashPause}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := exec.CommandContext(t.Context(), "sh", "-c", tt.script).Run()

			if d := cmp.Diff(tt.want, judge(tt.cut, tt.reset, err), cmp.AllowUnexported(end{})); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
