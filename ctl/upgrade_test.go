// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

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
