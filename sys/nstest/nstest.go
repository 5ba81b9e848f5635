// SPDX-License-Identifier: Apache-2.0

// Package nstest runs a test on real kernel objects without touching the machine: the test binary starts itself again with network,
// mount, UTS and IPC namespaces of its own, and runs only that test there. Only tests import it.
//
//	func TestRealKernel(t *testing.T) {
//
// //	}
package nstest

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

const inside = "TALOS_TEST_IN_NAMESPACES"

// Isolate returns true in a process with namespaces of its own. In the first process it runs the test in such a process, takes over the
// result and returns false. Without permission to create namespaces it skips the test.
func Isolate(t *testing.T) bool {
	t.Helper()

	return isolate(t, syscall.CLONE_NEWNET|syscall.CLONE_NEWNS|syscall.CLONE_NEWUTS|syscall.CLONE_NEWIPC)
}

// IsolateInit is Isolate with a PID namespace, in which the process is process 1. Its /proc is that of the machine until the test
// mounts another.
func IsolateInit(t *testing.T) bool {
	t.Helper()

	return isolate(t, syscall.CLONE_NEWNET|syscall.CLONE_NEWNS|syscall.CLONE_NEWUTS|syscall.CLONE_NEWIPC|syscall.CLONE_NEWPID)
}

func isolate(t *testing.T, namespaces uintptr) bool {
	t.Helper()

	if os.Getenv(inside) == t.Name() {
		return true
	}

	args := []string{"-test.run=^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^") + "$", "-test.count=1", "-test.v"}

	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), inside+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: namespaces,
		Pdeathsig:  syscall.SIGKILL,
	}

	if uid := os.Geteuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}

	var out bytes.Buffer

	cmd.Stdout, cmd.Stderr = &out, &out

	if err := cmd.Start(); err != nil {
		t.Skipf("no permission to create namespaces (run as root): %v", err)
	}

	err := cmd.Wait()
	text := out.String()

	switch {
	case err != nil:
		t.Fatalf("in namespaces of its own: %v\n%s", err, text)
	case strings.Contains(text, "--- SKIP: "+t.Name()+" ("):
		t.Skip(text)
	case !strings.Contains(text, "--- PASS: "+t.Name()+" ("):
		t.Fatalf("the test did not run in namespaces of its own:\n%s", text)
	default:
		t.Log(text)
	}

	return false
}
