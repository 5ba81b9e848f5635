// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"os/exec"
	"path/filepath"
	"testing"
)

func TestStart(t *testing.T) {
	ended := make(chan error, 1)

	if err := Start(exec.CommandContext(t.Context(), "sh", "-c", "exit 3"), ended); err != nil {
		t.Fatal(err)
	}

	if err := <-ended; err == nil || err.Error() != "exit status 3" {
		t.Errorf("got %v, want exit status 3", err)
	}

	//program:optional a program that is not there
	none := exec.CommandContext(t.Context(), filepath.Join(t.TempDir(), "none"))

	if err := Start(none, ended); err == nil || len(ended) > 0 {
		t.Errorf("got %v and %d ends, want an error and none", err, len(ended))
	}
}
