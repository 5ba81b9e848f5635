// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package stranger is a process of user 65534 on a machine's network, like a pod on the host's network. It reads what it can at every port of
// the loopback, binds the ports that it can, and answers there instead of their owners. It returns a report. Only tests import it.
//
// The test binary is also the stranger's program: a test package calls Main in an init function. The stranger has no descriptor, environment
// or file of the test: it gets only a network namespace.
package stranger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/netns"
)

// variable marks the stranger's process.
const variable = "TALOS_TEST_STRANGER"

// Task is what the stranger is to do.
type Task struct {
	// Read sends requests to all ports with a listener, and Take tries to bind them.
	Read, Take bool
	// Ports are tried for Patience, as when their owners restart. Clients that connect there get an answer.
	Ports    []int         `json:",omitempty"`
	Patience time.Duration `json:",omitempty"`
}

// Report is the result.
type Report struct {
	// Ports have a listener.
	Ports []int
	// Answers are the successful answers.
	Answers []Answer
	// Taken are the ports that it bound, each with how.
	Taken []string
	// Callers is how many clients connected to it instead of the owner, and Asked what they requested.
	Callers int
	Asked   []string
	// Heard is the text of all answers and requests.
	Heard []byte
}

// Answer is a successful answer of a server.
type Answer struct {
	Port   int
	What   string
	Length int
}

// Found returns the names of the secrets that the stranger has heard.
func (r Report) Found(secrets map[string]string) []string {
	var out []string

	for name, value := range secrets {
		if value != "" && bytes.Contains(r.Heard, []byte(value)) {
			out = append(out, name)
		}
	}

	return out
}

// String returns the report in figures.
func (r Report) String() string {
	answers := make([]string, 0, len(r.Answers))
	for _, a := range r.Answers {
		answers = append(answers, fmt.Sprintf("%d %s (%d bytes)", a.Port, a.What, a.Length))
	}

	return fmt.Sprintf("ports %v; %d answers, %d bytes: %s; ports taken: %d %q; callers: %d, requests of theirs: %d %q",
		r.Ports, len(r.Answers), len(r.Heard), strings.Join(answers, ", "), len(r.Taken), r.Taken, r.Callers, len(r.Asked), r.Asked)
}

// Main runs the stranger, if this process is one.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}

	var task Task

	if err := json.NewDecoder(os.Stdin).Decode(&task); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	report, err := task.do()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	os.Exit(0)
}

// Run does a task as a stranger in a network namespace: /proc/PID/ns/net, or "" for the one of the test.
func Run(t testing.TB, namespace string, task Task) Report {
	t.Helper()

	if os.Geteuid() != 0 {
		t.Skip("a process of another user takes root")
	}

	//program:built the test itself, as another user
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{variable + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: layout.UserNobody, Gid: layout.UserNobody}}

	var stdout, stderr bytes.Buffer

	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}

	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), &stdout, &stderr

	start := cmd.Start
	if namespace != "" {
		start = func() error { return netns.Do(namespace, cmd.Start) }
	}

	if err := start(); err != nil {
		t.Fatalf("stranger: %v", err)
	}

	if err := cmd.Wait(); err != nil {
		t.Fatalf("stranger: %v: %s", err, stderr.String())
	}

	var report Report

	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("stranger: %v: %s", err, stderr.String())
	}

	return report
}
