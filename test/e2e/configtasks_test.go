// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/client/clienttest"
)

// hops is a kernel parameter that nothing else in the system sets, and that each network namespace has.
const (
	hops     = "/proc/sys/net/ipv4/ip_default_ttl"
	hopsPath = "net.ipv4.ip_default_ttl"
)

// configTasks change the configuration of the machine or of the user, and restore that of the machine.
var configTasks = []task{
	{name: "patch", calls: "ApplyConfiguration cosi.resource.State/Get", do: func(t *testing.T, s *session) {
		s.talosctl(t, "patch machineconfig --patch", `{"machine": {"sysctls": {"`+hopsPath+`": "21"}}}`)
		s.comesToShow(t, `^21\n$`, "read "+hops)
	}},
	{name: "edit", calls: "ApplyConfiguration cosi.resource.State/Get trial.TrialService/Confirm", do: func(t *testing.T, s *session) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()

		cmd := s.command(ctx, "edit machineconfig")
		cmd.Env = append(cmd.Env, "TALOS_EDITOR=", `EDITOR=sed -E -i s/(ip_default_ttl:.*)21/\122/`)

		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("talosctl edit machineconfig: %v\n%s", err, out)
		}

		s.comesToShow(t, `^22\n$`, "read "+hops)
		s.shows(t, `(?m)^@: trial \S+ is committed: `, "confirm") // it is on trial by default, and a person may end that
	}},
	{name: "confirm", calls: "trial.TrialService/Confirm ApplyConfiguration", do: func(t *testing.T, s *session) {
		try := func(value string) {
			s.talosctl(t, "patch machineconfig --mode try --timeout 10m --patch", `{"machine": {"sysctls": {"`+hopsPath+`": "`+value+`"}}}`)
			s.comesToShow(t, `^`+value+`\n$`, "read "+hops)
		}

		try("24")
		s.shows(t, `(?m)^@ +runtime +Trial +\S+ +\d+ +configuration +running +20\S+ *$`, "get trials")
		s.comesToShow(t, `a change of the configuration is on trial`, "explain") // it names three causes, and a busy machine may have others
		s.shows(t, `(?m)^@: trial \S+ is reverted: talosctl confirm \(os:admin\) refused it$`, "confirm --revert")
		s.comesToShow(t, `^22\n$`, "read "+hops)

		try("25")
		s.shows(t, `(?m)^@: trial \S+ is committed: talosctl confirm \(os:admin\) confirmed it$`, "confirm")
		s.shows(t, `"`+hopsPath+`": "25"|`+hopsPath+`: "25"`, "get machineconfig persistent -o yaml")
		s.talosctl(t, "patch machineconfig --patch", `{"machine": {"sysctls": {"`+hopsPath+`": "22"}}}`)
		s.comesToShow(t, `^22\n$`, "read "+hops)
	}},
	{name: "machineconfig patch", calls: "ApplyConfiguration", do: func(t *testing.T, s *session) {
		s.write(t, "own.yaml", s.Generated.ControlPlane)
		s.talosctl(t, "machineconfig patch own.yaml --output patched.yaml --patch", `{"machine": {"sysctls": {"`+hopsPath+`": "23"}}}`)
		s.shows(t, `(?m)^patched\.yaml is valid for metal mode$`, "validate --config patched.yaml --mode metal")
		s.shows(t, `Dry run summary:\n[\s\S]*ip_default_ttl`, "apply-config --dry-run --file patched.yaml")
		s.shows(t, `^22\n$`, "read "+hops)
	}},
	{name: "apply-config", calls: "ApplyConfiguration", do: func(t *testing.T, s *session) {
		s.write(t, "original.yaml", s.Generated.ControlPlane)
		s.talosctl(t, "apply-config --file original.yaml")

		if got := s.talosctl(t, "get machineconfig v1alpha1 -o yaml"); strings.Contains(got, hopsPath) {
			t.Errorf("the machine still has %s in its configuration", hopsPath)
		}
	}},
	{name: "config new", calls: "GenerateClientConfiguration", do: func(t *testing.T, s *session) {
		s.talosctl(t, "config new --roles os:reader --crt-ttl 1h reader.talosconfig")
		s.shows(t, `(?m)^Roles: +os:reader\nCertificate expires: +1 hour from now `, "config info --talosconfig reader.talosconfig")
		s.shows(t, `(?m)^\s+NODE: +@$`, "version --talosconfig reader.talosconfig")
		s.refused(t, `error: @: .*it requires one of the roles os:admin, the caller has \[os:reader\]`, "read /etc/hosts --talosconfig reader.talosconfig")
	}},
	{name: "a context by hand", do: contextByHand},
	{name: "gen ca", do: func(t *testing.T, s *session) {
		// A machine refuses certificates of another authority.
		s.talosctl(t, "gen ca --organization elsewhere")
		s.signed(t, "elsewhere", "stranger")
		s.refused(t, `error: @: .*certificate`, "version --talosconfig stranger.talosconfig")
	}},
}

// signed creates a client certificate with an authority that is in the folder, and a talosconfig of the same name.
func (s *session) signed(t *testing.T, authority, name string) {
	t.Helper()

	s.write(t, "machines.crt", s.Context.CA)
	s.talosctl(t, "gen key --name "+name)
	s.talosctl(t, "gen csr --roles os:reader --key "+name+".key")
	s.talosctl(t, "gen crt --ca "+authority+" --csr "+name+".csr --name "+name)

	file := " --talosconfig " + name + ".talosconfig"
	s.talosctl(t, "config add "+name+" --ca machines.crt --crt "+name+".crt --key "+name+".key"+file)
	s.talosctl(t, "config endpoint "+s.Node.APIEndpoint()+file)
	s.talosctl(t, "config node "+s.node()+file)
}

// contextByHand creates a certificate with the cluster's authority, and runs all talosctl config commands on its context.
func contextByHand(t *testing.T, s *session) {
	authority := s.Generated.Secrets.Certs.OS
	s.write(t, "os.crt", authority.Crt)
	s.write(t, "os.key", authority.Key)
	s.signed(t, "os", "byhand")

	const file = " --talosconfig byhand.talosconfig"

	s.shows(t, `(?m)^Current context: +byhand\nNodes: +@\nEndpoints: +\S+\nRoles: +os:reader$`, "config info"+file)
	s.shows(t, `(?m)^\s+NODE: +@$`, "version"+file)
	s.refused(t, `error: @: .*os:admin`, "read /etc/hosts"+file)

	proxy := clienttest.StartProxy(t)
	s.talosctl(t, "config proxy-url "+proxy.URL.String()+file)
	s.shows(t, `(?m)^\s+NODE: +@$`, "version"+file)
	s.talosctl(t, "config proxy-url"+file)
	s.shows(t, `(?m)^\s+NODE: +@$`, "version"+file)

	if diff := cmp.Diff([]string{s.Node.APIEndpoint()}, proxy.Tunnels()); diff != "" {
		t.Errorf("tunnels of the proxy (-want +got):\n%s", diff)
	}

	s.write(t, "admin.talosconfig", s.Generated.Talosconfig)
	s.talosctl(t, "config merge admin.talosconfig"+file)
	s.shows(t, `(?m)^ +byhand +\S+ +@\n\* +e2e +\S+ +@$`, "config contexts"+file)
	s.shows(t, `localhost`, "read /etc/hosts"+file)

	s.talosctl(t, "config context byhand"+file)
	s.talosctl(t, "config rename byhand reader"+file)
	s.shows(t, `(?m)^Current context: +reader$`, "config info"+file)
	s.talosctl(t, "config remove reader --noconfirm"+file)
	s.shows(t, `^CURRENT .*\n\* +e2e +\S+ +@\n$`, "config contexts"+file)
}

// offlineTasks run without a machine; a machine then checks their results.
var offlineTasks = []task{
	{name: "gen config", calls: "Version", do: func(t *testing.T, s *session) {
		s.write(t, "own.yaml", s.Generated.ControlPlane)
		s.talosctl(t, "gen secrets --from-controlplane-config own.yaml --output secrets.yaml")
		s.talosctl(t, "gen config e2e https://"+s.node()+":6443 --with-secrets secrets.yaml --output made")
		s.shows(t, `is valid for metal mode`, "validate --config made/controlplane.yaml --mode metal")
		s.shows(t, `is valid for metal mode`, "validate --config made/worker.yaml --mode metal")
		// It is the same cluster: its machine accepts the certificate.
		s.shows(t, `(?m)^\s+NODE: +@$`, "version --talosconfig made/talosconfig --endpoints "+s.Node.APIEndpoint()+" --nodes "+s.node())
	}},
	{name: "machineconfig gen", do: func(t *testing.T, s *session) {
		s.shows(t, `(?m)^    type: worker$`, "machineconfig gen other https://"+s.node()+":6443 --output-types worker --output -")
	}},
	{name: "inject serviceaccount", do: func(t *testing.T, s *session) {
		s.write(t, "pod.yaml", []byte("{apiVersion: v1, kind: Pod, metadata: {name: reader}, spec: {containers: [{name: a, image: a}]}}"))
		s.shows(t, `(?m)^ +secretName: reader-talos-secrets$[\s\S]*^kind: ServiceAccount$`, "inject serviceaccount --file pod.yaml --roles os:reader")
	}},
	{name: "gen keypair", do: func(t *testing.T, s *session) {
		s.talosctl(t, "gen keypair --organization example --ip "+s.node())

		if got := string(s.read(t, "example.crt")); strings.Count(got, "BEGIN CERTIFICATE") != 2 {
			t.Errorf("got %s, want a certificate and its authority's", got)
		}
	}},
}
