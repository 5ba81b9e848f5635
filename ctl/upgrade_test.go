// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/api/trial"
	"github.com/seed-59268b81/talos/client/clienttest"
)

// upgradeAnswers are those of a node that installs a version.
func upgradeAnswers() clienttest.Script {
	return clienttest.Answer(
		&machine.LifecycleServiceUpgradeResponse{Progress: &machine.LifecycleServiceInstallProgress{
			Response: &machine.LifecycleServiceInstallProgress_Message{Message: "added boot entry Talos-v2.efi"},
		}},
		&machine.LifecycleServiceUpgradeResponse{Progress: &machine.LifecycleServiceInstallProgress{
			Response: &machine.LifecycleServiceInstallProgress_ExitCode{},
		}},
	)
}

// TestUpgradeStays: a node that does not restart into the version that it installed does not try it at a later boot, unless it may restart
// nevertheless.
func TestUpgradeStays(t *testing.T) {
	const (
		reboot    = machineService + "Reboot"
		confirm   = "trial.TrialService/Confirm"
		withdrawn = "172.20.0.2: the version is not tried at a later boot"
	)

	refused := status.Error(codes.FailedPrecondition, "reboot: etcd would lose its quorum")

	for _, tt := range []struct {
		name     string
		args     []string
		reboot   error
		confirm  error
		noTrial  bool
		confirms int
		stderr   []string
	}{
		{name: "refused", reboot: refused, confirms: 1, stderr: []string{withdrawn, "etcd would lose its quorum"}},
		{name: "followed", args: []string{"--wait"}, reboot: refused, confirms: 1, stderr: []string{withdrawn, "etcd would lose its quorum"}},
		{name: "not drained", args: []string{"--drain"}, confirms: 1, stderr: []string{withdrawn, "name of the node in Kubernetes"}},
		{
			name: "not withdrawn", reboot: refused, confirm: status.Error(codes.FailedPrecondition, "META cannot be written"), confirms: 1,
			stderr: []string{"etcd would lose its quorum", "the next boot tries the version nevertheless", "META cannot be written"},
		},
		{name: "no answer", reboot: status.Error(codes.Unavailable, "the connection was lost"), stderr: []string{"the connection was lost"}},
		{name: "another system", reboot: refused, noTrial: true, stderr: []string{"etcd would lose its quorum"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := newNode("172.20.0.2")
			node.Scripts = scripts()
			node.Scripts["machine.LifecycleService/Upgrade"] = upgradeAnswers()
			node.Scripts[reboot] = clienttest.Script{Err: tt.reboot}

			if tt.confirm != nil {
				node.Scripts[confirm] = clienttest.Script{Err: tt.confirm}
			}

			for id, state := range map[string]string{"old": "committed", "k3q7zd": "armed"} {
				if tt.noTrial {
					break
				}

				node.Resources = append(node.Resources, clienttest.Resource("runtime", "Trials.runtime.talos.dev", id, "state: "+state+"\n"))
			}

			args := []string{"upgrade", "-n", "172.20.0.2", "--image", "installer:2"}
			if tt.args == nil {
				tt.args = []string{"--wait=false", "--drain=false"}
			} else if tt.args[0] == "--wait" {
				tt.args = append(tt.args, "--drain=false")
			}

			r := talosctl(t, clienttest.Start(t, map[string]*clienttest.Node{"": node, "172.20.0.2": node}), append(args, tt.args...)...)
			if r.exit != 1 {
				t.Errorf("got exit status %d, want 1", r.exit)
			}

			inOrder(t, r.stderr, append([]string{"added boot entry Talos-v2.efi"}, tt.stderr...))

			if strings.Contains(r.stderr, withdrawn) != (tt.confirms > 0 && tt.confirm == nil) {
				t.Errorf("got\n%s", r.stderr)
			}

			requests := node.Requests(confirm)
			if len(requests) != tt.confirms {
				t.Fatalf("got the requests %v, want %d", requests, tt.confirms)
			}

			for _, got := range requests {
				if want := (&trial.ConfirmRequest{Id: "k3q7zd", Revert: true}); !proto.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
}

// TestUpgradeKept: the command ends with what became of the version. A node that has lost its configuration has no containerd, and may not run
// afterwards either.
func TestUpgradeKept(t *testing.T) {
	const (
		trials   = "Trials.runtime.talos.dev"
		statuses = "MachineStatuses.runtime.talos.dev"
	)

	noContainerd := status.Error(codes.Unavailable, "pull image: connect to containerd: no such file or directory; see: talosctl service cri")

	for _, tt := range []struct {
		name          string
		before, after string // stages
		pull, upgrade error
		end           string
		exit          int
		stderr        []string
	}{
		{
			name: "stays", before: "running", after: "running", end: "state: committed\nwhy: all conditions held\n",
			stderr: []string{"pulling installer:2", "added boot entry", "booted", "running", "the version stays: all conditions held"},
		},
		{
			name: "goes back", before: "running", after: "running", end: "state: reverted\nwhy: not healthy within 2m30s\n", exit: 1,
			stderr: []string{"booted", "the node has gone back to the version that it had before: not healthy within 2m30s"},
		},
		{
			name: "without a configuration", before: "booting", after: "booting", pull: noContainerd, end: "state: committed\nwhy: all conditions held\n",
			stderr: []string{"added boot entry", "booted", "the version stays: all conditions held"},
		},
		{
			name: "not in the registry", before: "booting", pull: noContainerd, upgrade: status.Error(codes.NotFound, "upgrade: read installer:2: not found"), exit: 1,
			stderr: []string{"pulling installer:2", "upgrade: read installer:2: not found"},
		},
		{
			name: "neither pulled nor imported", before: "running", pull: status.Error(codes.NotFound, "pull image: installer:2: not found"),
			upgrade: status.Error(codes.NotFound, "upgrade: no such image"), exit: 1, stderr: []string{"pulling installer:2", "pull image: installer:2: not found"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := newNode("172.20.0.2")
			node.Scripts = scripts()
			node.Scripts["machine.LifecycleService/Upgrade"] = upgradeAnswers()

			if tt.upgrade != nil {
				node.Scripts["machine.LifecycleService/Upgrade"] = clienttest.Script{Err: tt.upgrade}
			}

			if tt.pull != nil {
				node.Scripts["machine.ImageService/Pull"] = clienttest.Script{Err: tt.pull}
			}

			for _, r := range node.Resources {
				if r.GetMetadata().GetType() == statuses {
					r.Spec.YamlSpec = "stage: " + tt.before + "\n"
				}
			}

			node.Resources = append(node.Resources, clienttest.Resource("runtime", trials, "k3q7zd", "state: armed\n"))
			node.Rebooted = []*cosiapi.Resource{
				clienttest.Resource("runtime", trials, "k3q7zd", tt.end), clienttest.Resource("runtime", statuses, "machine", "stage: "+tt.after+"\n"),
			}

			r := talosctl(t, clienttest.Start(t, map[string]*clienttest.Node{"": node, "172.20.0.2": node}),
				"upgrade", "-n", "172.20.0.2", "--image", "installer:2", "--drain=false", "--timeout", "1m")
			if r.exit != tt.exit {
				t.Errorf("got exit status %d, want %d", r.exit, tt.exit)
			}

			inOrder(t, r.stderr, tt.stderr)
		})
	}
}

// TestUpgradeInsecure: a node that has lost its certificate is upgraded, too. Of such a command -i is the image.
func TestUpgradeInsecure(t *testing.T) {
	node := newNode("172.20.0.2")
	node.Scripts = scripts()
	node.Scripts["machine.LifecycleService/Upgrade"] = upgradeAnswers()

	s := clienttest.StartMaintenance(t, node)
	t.Setenv("TALOSCONFIG", filepath.Join(t.TempDir(), "none"))

	r := run(t.Context(), "upgrade", "-n", s.Endpoint, "--insecure", "-i", "installer:2", "--no-reboot")
	if r.exit != 0 {
		t.Errorf("got exit status %d", r.exit)
	}

	inOrder(t, r.stderr, []string{"added boot entry Talos-v2.efi", "the next reboot is into the new version"})

	if r := run(t.Context(), "upgrade", "-n", s.Endpoint, "-i", "installer:2", "--no-reboot"); r.exit != 1 {
		t.Errorf("without --insecure: got exit status %d", r.exit)
	}
}
