// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client/clienttest"
	"github.com/seed-59268b81/talos/config"
)

const nodeConfig = "version: v1alpha1 # kept\nmachine:\n    type: worker\n    token: a\n"

// startConfigured starts a server with a node that has a configuration.
func startConfigured(t *testing.T) (*clienttest.Server, *clienttest.Node) {
	t.Helper()

	block := "|\n    " + strings.ReplaceAll(strings.TrimSpace(nodeConfig), "\n", "\n    ") + "\n"
	node := newNode("172.20.0.2")
	node.Resources = []*cosiapi.Resource{
		clienttest.Resource("config", "MachineConfigs.config.talos.dev", "persistent", block),
		clienttest.Resource("config", "MachineConfigs.config.talos.dev", "v1alpha1", strings.Replace(block, "worker", "controlplane", 1)),
	}

	return clienttest.Start(t, map[string]*clienttest.Node{"": node, "172.20.0.2": node}), node
}

func TestPatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patch.yaml")
	if err := os.WriteFile(file, []byte("machine: {token: file}\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name   string
		args   []string
		exit   int
		want   string
		stderr string
	}{
		{name: "inline", args: []string{"mc", "-p", `{"machine": {"token": "b"}}`}, want: "token: b"},
		{name: "file", args: []string{"machineconfig", "--patch-file", file}, want: "token: file"},
		{name: "at file", args: []string{"MachineConfigs.config.talos.dev", "-p", "@" + file}, want: "token: file"},
		{name: "several", args: []string{"mc", "-p", "machine: {token: b}", "-p", "machine: {certSANs: [c]}"}, want: "- c"},
		{name: "the next boot's", args: []string{"mc", "-p", "machine: {token: b}"}, want: "type: worker"},
		{name: "the active one", args: []string{"mc", "v1alpha1", "-p", "machine: {token: b}"}, want: "type: controlplane"},
		{name: "no change", args: []string{"mc", "-p", "machine: {token: a}"}, stderr: "changes nothing, nothing was sent"},
		{name: "no patch", args: []string{"mc"}, exit: 1, stderr: "no patch: set one with --patch"},
		{name: "type", args: []string{"members", "-p", "{}"}, exit: 1, stderr: "only machineconfig can"},
		{name: "id", args: []string{"mc", "maintenance", "-p", "a: b"}, exit: 1, stderr: "want v1alpha1 or persistent"},
		{name: "wrong", args: []string{"mc", "-p", "machine: {x: y}"}, exit: 1, stderr: "machine.x: unknown key"},
		{name: "mode", args: []string{"mc", "-m", "reboot", "-p", "machine: {token: b}"}, exit: 1, stderr: "want auto, no-reboot"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, node := startConfigured(t)

			r := talosctl(t, s, append([]string{"patch", "-n", "172.20.0.2"}, tt.args...)...)
			if r.exit != tt.exit || !strings.Contains(r.stderr, tt.stderr) {
				t.Errorf("got %+v, want exit status %d and %q", r, tt.exit, tt.stderr)
			}

			got := string(node.Applied().GetData())
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) || got != "" && !strings.Contains(got, "# kept") {
				t.Errorf("got configuration\n%s\nwant %q in it", got, tt.want)
			}
		})
	}
}

// TestChangesSayWhatTheyStartedFrom: a node can refuse what would undo a change of someone else.
func TestChangesSayWhatTheyStartedFrom(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.yaml")
	if err := os.WriteFile(base, []byte(nodeConfig), 0o600); err != nil {
		t.Fatal(err)
	}

	next := "persistent:" + config.Digest([]byte(nodeConfig))
	active := "v1alpha1:" + config.Digest([]byte(strings.Replace(nodeConfig, "worker", "controlplane", 1)))

	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"patch":                  {[]string{"patch", "mc", "-p", "machine: {token: b}"}, next},
		"patch of the active":    {[]string{"patch", "mc", "v1alpha1", "-p", "machine: {token: b}"}, active},
		"edit":                   {[]string{"edit", "mc"}, next},
		"edit of the active":     {[]string{"edit", "mc", "v1alpha1"}, active},
		"apply":                  {[]string{"apply-config", "-f", base}, ""},
		"apply with its base":    {[]string{"apply-config", "-f", base, "--base", base}, next},
		"apply with a dry run":   {[]string{"apply-config", "-f", base, "--base", base, "--dry-run"}, next},
		"apply with other flags": {[]string{"apply-config", "-f", base, "-m", "staged"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, node := startConfigured(t)
			editor(t, `sed -i 's/token: a/token: b/' "$2"`)

			if r := talosctl(t, s, append(tt.args, "-n", "172.20.0.2")...); r.exit != 0 {
				t.Fatalf("got %+v", r)
			}

			if got := strings.Join(node.AppliedFrom(), " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPatchMode(t *testing.T) {
	s, node := startConfigured(t)

	if r := talosctl(t, s, "patch", "mc", "-p", "machine: {token: b}", "-m", "try", "--timeout", "2m", "--dry-run"); r.exit != 0 {
		t.Errorf("got %+v", r)
	}

	got := node.Applied()
	if got.GetMode() != machine.ApplyConfigurationRequest_TRY || got.GetTryModeTimeout().AsDuration() != 2*time.Minute || !got.GetDryRun() {
		t.Errorf("got request %v", got)
	}
}

// TestKeepIfHealthy holds that the node decides how long it needs, unless the user says so.
func TestKeepIfHealthy(t *testing.T) {
	s, node := startConfigured(t)

	for _, tt := range []struct {
		more    []string
		commit  string
		timeout time.Duration
	}{
		{[]string{"--keep-if-healthy"}, "healthy", 0},
		{[]string{"--keep-if-healthy", "--timeout", "5m"}, "healthy", 5 * time.Minute},
		{nil, "", time.Minute},
	} {
		if r := talosctl(t, s, append([]string{"patch", "mc", "-p", "machine: {token: b}", "-m", "try"}, tt.more...)...); r.exit != 0 {
			t.Errorf("got %+v", r)
		}

		commit := strings.Join(node.AppliedCommit(), " ")
		if got := node.Applied().GetTryModeTimeout().AsDuration(); got != tt.timeout || commit != tt.commit {
			t.Errorf("%q: got timeout %s, commit %q", tt.more, got, commit)
		}
	}

	if r := talosctl(t, s, "patch", "mc", "-p", "machine: {token: c}", "--keep-if-healthy"); r.exit == 0 || !strings.Contains(r.stderr, "--mode try only") {
		t.Errorf("without a trial: got %+v", r)
	}
}

// TestDefaultTrial holds what the node is told about a configuration that it keeps if it is healthy, and about one that is for good.
func TestDefaultTrial(t *testing.T) {
	s, node := startConfigured(t)

	for _, tt := range []struct {
		more    []string
		commit  string
		timeout time.Duration
	}{
		{nil, "", 0},
		{[]string{"--timeout", "5m"}, "healthy", 5 * time.Minute},
		{[]string{"--mode", "no-reboot", "--for-good"}, "now", 0},
		{[]string{"--mode", "staged", "--for-good"}, "now", 0},
		{[]string{"--mode", "staged", "--timeout", "4m"}, "healthy", 4 * time.Minute},
	} {
		if r := talosctl(t, s, append([]string{"patch", "mc", "-p", "machine: {token: b}"}, tt.more...)...); r.exit != 0 {
			t.Errorf("got %+v", r)
		}

		commit := strings.Join(node.AppliedCommit(), " ")
		if got := node.Applied().GetTryModeTimeout().AsDuration(); got != tt.timeout || commit != tt.commit {
			t.Errorf("%q: got timeout %s, commit %q", tt.more, got, commit)
		}
	}

	for _, wrong := range [][]string{{"--mode", "try"}, {"--timeout", "2m"}} {
		r := talosctl(t, s, append([]string{"patch", "mc", "-p", "machine: {token: c}", "--for-good"}, wrong...)...)
		if r.exit == 0 || !strings.Contains(r.stderr, "--for-good goes with") {
			t.Errorf("%q: got %+v", wrong, r)
		}
	}
}

// editor writes a script and sets it as the editor.
func editor(t *testing.T, script string) {
	t.Helper()

	path := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nset -e\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}

	t.Setenv("TALOS_EDITOR", path+" --wait")
}

func TestEdit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script string
		exit   int
		want   string
		stderr string
	}{
		{name: "changed", script: `[ "$1" = --wait ]; sed -i 's/token: a/token: b/' "$2"`, want: strings.Replace(nodeConfig, "token: a", "token: b", 1)},
		{name: "as it was", script: `grep -q '^#| The machine configuration of node 172.20.0.2' "$2"`, stderr: "172.20.0.2: nothing was changed"},
		{name: "emptied", script: `: > "$2"`, stderr: "nothing was changed"},
		{name: "editor failed", script: `exit 3`, exit: 1, stderr: "exit status 3; set $EDITOR"},
		{
			name: "mended", stderr: "WARNING",
			script: `if grep -q 'The node rejected it' "$2"; then sed -i 's/^version: v9/version: v1alpha1/' "$2"; else sed -i 's/^version: v1alpha1/version: v9/' "$2"; fi`,
			want:   nodeConfig,
		},
		{
			name: "given up", exit: 1, stderr: "version is not v1alpha1",
			script: `if ! grep -q 'The node rejected it' "$2"; then sed -i 's/^version: v1alpha1/version: v9/' "$2"; fi`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, node := startConfigured(t)
			editor(t, tt.script)

			r := talosctl(t, s, "edit", "mc", "-n", "172.20.0.2")
			if r.exit != tt.exit || !strings.Contains(r.stderr, tt.stderr) {
				t.Errorf("got %+v, want exit status %d and %q", r, tt.exit, tt.stderr)
			}

			if got := string(node.Applied().GetData()); got != tt.want {
				t.Errorf("got configuration %q, want %q", got, tt.want)
			}
		})
	}
}

// TestEditKeeps: an edited file is kept if it cannot be sent.
func TestEditKeeps(t *testing.T) {
	s, node := startConfigured(t)
	node.Scripts[machineService+"ApplyConfiguration"] = clienttest.Script{Err: status.Error(codes.Unavailable, "the node is gone")}

	t.Setenv("TMPDIR", t.TempDir())
	editor(t, `sed -i 's/token: a/token: b/' "$2"`)

	r := talosctl(t, s, "edit", "mc", "-n", "172.20.0.2")
	if r.exit != 1 || !strings.Contains(r.stderr, "the node is gone") {
		t.Errorf("got %+v", r)
	}

	_, path, _ := strings.Cut(r.stderr, "(kept in ")
	path, _, _ = strings.Cut(path, "): ")

	if got, err := os.ReadFile(path); err != nil || !strings.Contains(string(got), "token: b") {
		t.Errorf("got %q, %v, want what was edited", got, err)
	}
}

func TestReset(t *testing.T) {
	s, node := startNode(t, machineService+"Reset", clienttest.Answer(&machine.ResetResponse{Messages: []*machine.Reset{{ActorId: "actor-reset"}}}))

	r := talosctl(t, s, "reset", "-n", "172.20.0.2", "--wait=false", "--graceful=false", "--reboot", "--system-labels-to-wipe", "STATE,EPHEMERAL",
		"--user-disks-to-wipe", "/dev/sdb", "--wipe-mode", "system-disk")
	if r.exit != 0 {
		t.Fatalf("got %+v", r)
	}

	got := node.Requests(machineService + "Reset")[0].(*machine.ResetRequest)
	if got.GetGraceful() || !got.GetReboot() || got.GetMode() != machine.ResetRequest_SYSTEM_DISK || got.GetUserDisksToWipe()[0] != "/dev/sdb" {
		t.Errorf("got request %v", got)
	}

	if labels := got.GetSystemPartitionsToWipe(); len(labels) != 2 || labels[1].GetLabel() != "EPHEMERAL" || !labels[1].GetWipe() {
		t.Errorf("got partitions %v", labels)
	}
}

func TestWipeDisk(t *testing.T) {
	s, node := startNode(t, machineService+"Rollback", clienttest.Script{})

	if r := talosctl(t, s, "wipe", "disk", "sdb", "/dev/sdc1", "--method", "zeroes", "--drop-partition"); r.exit != 0 {
		t.Fatalf("got %+v", r)
	}

	want := `devices:{device:"sdb" method:ZEROES drop_partition:true} devices:{device:"sdc1" method:ZEROES drop_partition:true}`
	if got := compact(node.Requests("storage.StorageService/BlockDeviceWipe")[0]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	if r := talosctl(t, s, "wipe", "disk", "sdb", "--method", "shred"); r.exit != 1 || !strings.Contains(r.stderr, "want FAST or ZEROES") {
		t.Errorf("got %+v", r)
	}
}
