// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// confinedVariable makes the test's program the confined process.
const confinedVariable = "LAB_TEST_CONFINED"

// TestConfine checks a program that a confined process has executed: it has only its standard descriptors, a session
// keyring of its own, and no capabilities that change the whole computer.
func TestConfine(t *testing.T) {
	if os.Getenv(confinedVariable) != "" {
		becomeConfined(t)
	}

	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	//program:self the test, as the process that is confined
	cmd := exec.CommandContext(t.Context(), executable, "-test.run=^TestConfine$", "-test.count=1")
	cmd.Env = append(os.Environ(), confinedVariable+"=1")

	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	found := map[string]string{}

	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			found[name] = strings.TrimSpace(value)
		}
	}

	// The last descriptor is that of the listing itself.
	if got := strings.Fields(found["descriptors"]); !slices.Equal(got[:min(3, len(got))], []string{"0", "1", "2"}) || len(got) > 4 {
		t.Errorf("got descriptors %v, want 0, 1 and 2", got)
	}

	for _, name := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		set, err := strconv.ParseUint(found[name], 16, 64)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}

		for _, c := range withheld {
			if set&(1<<c) != 0 {
				t.Errorf("%s has capability %d", name, c)
			}
		}
	}

	if found["keyring"] == "same" {
		t.Error("the session keyring is the caller's")
	}
}

// becomeConfined leaves a descriptor open, as a shell does, and executes a program that prints its descriptors and
// capabilities.
func becomeConfined(t *testing.T) {
	runtime.LockOSThread()

	if _, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0); err != nil { // without O_CLOEXEC
		t.Fatal(err)
	}

	before, _ := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true) // 0 without keys

	if err := (&Spec{}).confine(); err != nil {
		t.Fatal(err)
	}

	if after, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); err == nil && after == before {
		fmt.Println("keyring: same")
	}

	t.Fatal(syscall.Exec("/bin/sh", []string{"sh", "-c", "echo descriptors: $(ls /proc/self/fd); grep ^Cap /proc/self/status"}, os.Environ()))
}
