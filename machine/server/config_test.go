// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/pki"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/network"
	runtimeres "github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
)

const (
	auto   = machine.ApplyConfigurationRequest_AUTO
	reboot = machine.ApplyConfigurationRequest_REBOOT
	staged = machine.ApplyConfigurationRequest_STAGED
	try    = machine.ApplyConfigurationRequest_TRY
)

// TestApplyConfiguration applies a sequence of configurations to one machine. A refused one changes nothing.
func TestApplyConfiguration(t *testing.T) {
	b := newBench(t)
	b.runConfig(t)

	first := string(configtest.ControlPlane(t))
	second := strings.Replace(first, "clusterName: ", "clusterName: other-", 1)
	wrongType := strings.Replace(first, "type: controlplane", "type: [controlplane]", 1)
	unknownKey := strings.Replace(first, "\nmachine:\n", "\nmachine:\n    colour: red\n", 1)
	noCA := regexp.MustCompile(`(?m)^    ca:\n        crt: .*\n        key: .*\n`).ReplaceAllString(first, "")

	for _, text := range []string{second, wrongType, unknownKey, noCA} {
		if text == first {
			t.Fatal("the example has changed: the text to edit is missing")
		}
	}

	active := func() string {
		cfg, err := typed.Find[configres.MachineConfigSpec](t.Context(), b.State, "", configres.ActiveID)
		if err != nil {
			t.Fatal(err)
		}

		if cfg == nil {
			return ""
		}

		return string(cfg.TypedSpec().Bytes())
	}

	stored := func() string {
		text, err := os.ReadFile(filepath.Join(b.disk, "config.yaml"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}

		return string(text)
	}

	current, onDisk := "", ""

	for _, tt := range []struct {
		name    string
		role    string
		request *machine.ApplyConfigurationRequest
		code    codes.Code
		text    string // part of the error or of the details
		active  bool   // becomes the active one, or is stored
		stored  bool
	}{
		{"empty", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: auto}, codes.InvalidArgument, "empty", false, false},
		{"blank", contract.RoleReader, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte("\n \n")}, codes.InvalidArgument, "empty", false, false},
		{"no YAML", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte("\x00{[")}, codes.InvalidArgument, "", false, false},
		{"unknown key", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(unknownKey)}, codes.InvalidArgument, "colour", false, false},
		{"wrong type", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(wrongType)}, codes.InvalidArgument, "machine.type", false, false},
		{"no authority", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(noCA)}, codes.InvalidArgument, "machine.ca", false, false},
		{"another's mode", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: 77, Data: []byte(first)}, codes.InvalidArgument, "mode 77", false, false},
		{"dry run in maintenance", contract.RoleReader, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(first), DryRun: true}, codes.OK, "Dry run", false, false},
		{"an old client in maintenance", contract.RoleReader, &machine.ApplyConfigurationRequest{Mode: reboot, Data: []byte(first)}, codes.OK, "without a reboot", true, true},
		{"a reader, afterwards", contract.RoleReader, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(second)}, codes.PermissionDenied, "client certificate", false, false},
		{"with a reboot", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: reboot, Data: []byte(second)}, codes.Unimplemented, "reboot", false, false},
		{"another type of machine", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: auto, Data: configtest.Worker(t)}, codes.InvalidArgument, "type", false, false},
		{"dry run", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(second), DryRun: true}, codes.OK, "clusterName: other-", false, false},
		{"dry run: what it does", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(second), DryRun: true}, codes.OK, "\nThe change:\n- ", false, false},
		{"dry run: reboot", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(second), DryRun: true}, codes.OK, "\n- needs no reboot\n", false, false},
		{"dry run of a staged one", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: staged, Data: []byte(second), DryRun: true}, codes.OK, "\n- has effect after the next reboot\n", false, false},
		{"staged", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: staged, Data: []byte(second)}, codes.OK, "after the next reboot", false, true},
		{"now", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: auto, Data: []byte(second)}, codes.OK, "without a reboot", true, true},
		{"on trial", contract.RoleAdmin, &machine.ApplyConfigurationRequest{Mode: try, Data: []byte(first), TryModeTimeout: durationpb.New(time.Hour)}, codes.OK, "1h0m0s", true, false},
	} {
		r, err := b.machine.ApplyConfiguration(as(t.Context(), tt.role), tt.request)

		got := r.GetMessages()
		if status.Code(err) != tt.code {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.code)

			continue
		}

		text := status.Convert(err).Message()
		if err == nil {
			text = got[0].GetModeDetails()
		}

		if !strings.Contains(text, tt.text) {
			t.Errorf("%s: got %q, want it to contain %q", tt.name, text, tt.text)
		}

		if tt.active {
			current = string(tt.request.GetData())
		}

		if tt.stored {
			onDisk = string(tt.request.GetData())
		}

		if active() != current {
			t.Errorf("%s: the active configuration has changed", tt.name)
		}

		if stored() != onDisk {
			t.Errorf("%s: the stored configuration has changed", tt.name)
		}
	}
}

// TestNoLostUpdate: a change that was made from another configuration than the machine's is refused, if the client says from which.
func TestNoLostUpdate(t *testing.T) {
	b := newBench(t)
	b.runConfig(t)

	first := string(configtest.ControlPlane(t))
	second := strings.Replace(first, "clusterName: ", "clusterName: other-", 1)
	third := strings.Replace(first, "clusterName: ", "clusterName: third-", 1)
	version := func(id, text string) string { return id + ":" + config.Digest([]byte(text)) }

	for _, tt := range []struct {
		name, from, text string
		mode             machine.ApplyConfigurationRequest_Mode
		code             codes.Code
		message          string
	}{
		{"there is none yet", version("persistent", first), first, auto, codes.Aborted, "the machine has no configuration persistent"},
		{"a client that does not say", "", first, auto, codes.OK, ""},
		{"the machine's", version("persistent", first), second, auto, codes.OK, ""},
		{"an older one", version("persistent", first), third, auto, codes.Aborted, "the configuration has changed since it was read, and the change would undo that; read it again"},
		{"an older one, staged", version("v1alpha1", first), third, staged, codes.Aborted, "read it again"},
		{"the active one", version("v1alpha1", second), first, staged, codes.OK, ""},
		{"the active one, but not the stored one", version("persistent", second), third, auto, codes.Aborted, "read it again"},
		{"the stored one, with another line end", version("persistent", first+"\n"), third, auto, codes.OK, ""},
		{"no version", "persistent", first, auto, codes.InvalidArgument, `"persistent" is not`},
		{"another resource", "access:00", first, auto, codes.InvalidArgument, `"access:00" is not`},
	} {
		ctx := as(t.Context(), contract.RoleAdmin)
		if tt.from != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, contract.KeyConfigFrom, tt.from)
		}

		_, err := b.machine.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Mode: tt.mode, Data: []byte(tt.text)})
		if status.Code(err) != tt.code || !strings.Contains(status.Convert(err).Message(), tt.message) {
			t.Errorf("%s: got %v, want %v with %q", tt.name, err, tt.code, tt.message)
		}
	}
}

func TestKubeconfig(t *testing.T) {
	b := newBench(t)
	b.runConfig(t)

	ctx := as(t.Context(), contract.RoleAdmin)

	refused := func(want string) {
		t.Helper()

		stream, err := b.machine.Kubeconfig(ctx, &emptypb.Empty{})
		if _, err = text(t, stream, err); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want FailedPrecondition with %q", err, want)
		}
	}

	refused("no configuration yet")

	if _, err := b.machine.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Mode: auto, Data: configtest.ControlPlane(t)}); err != nil {
		t.Fatal(err)
	}

	refused("only a control plane node")

	ca, err := pki.NewCA(pki.CAOptions{Kind: pki.Ed25519})
	if err != nil {
		t.Fatal(err)
	}

	root := secrets.KubernetesRootSpec{
		Name: "c", Endpoint: secrets.URL{FullPath: "https://10.5.0.2:6443"}, IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}, AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}},
	}
	set(t, b, secrets.KubernetesRootID, root)

	stream, err := b.machine.Kubeconfig(ctx, &emptypb.Empty{})

	archive, err := text(t, stream, err)
	if err != nil {
		t.Fatal(err)
	}

	zr, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}

	files := tar.NewReader(zr)

	header, err := files.Next()
	if err != nil || header.Name != "kubeconfig" || header.Mode != 0o600 {
		t.Fatalf("first file: got %+v, %v", header, err)
	}

	content, err := io.ReadAll(files)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := files.Next(); err != io.EOF { // as it is
		t.Errorf("a second file: %v", err)
	}

	config, err := kubeconfig.Parse(content)
	if err != nil {
		t.Fatal(err)
	}

	leaf, err := pki.ParseCertificate(config.Crt)
	if err != nil {
		t.Fatal(err)
	}

	if config.Server != "https://10.5.0.2:6443" || !bytes.Equal(config.CA, ca.PEM.Crt) {
		t.Errorf("got server %s and another CA", config.Server)
	}

	if got := leaf.Subject.String(); got != "CN=admin,O=system:masters" || leaf.CheckSignatureFrom(ca.Certificate) != nil {
		t.Errorf("got the certificate of %s, or not of the authority", got)
	}
}

// TestApplyEndsDHCP: the machine names the cards that lose DHCP by a document about another one, also when nothing is changed yet.
func TestApplyEndsDHCP(t *testing.T) {
	b := newBench(t)
	b.runConfig(t)

	if err := typed.Set(t.Context(), b.State, "", runtimeres.KernelCmdlineID, runtimeres.KernelCmdlineSpec{}); err != nil {
		t.Fatal(err)
	}

	for i, name := range []string{"eth0", "eth1"} {
		if err := typed.Set(t.Context(), b.State, "", name, network.LinkStatusSpec{Type: 1, Index: uint32(i + 2), LinkState: true}); err != nil {
			t.Fatal(err)
		}
	}

	text := string(configtest.ControlPlane(t)) + "---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: 192.0.2.7/24}]\n"

	for _, dryRun := range []bool{true, false} {
		response, err := b.machine.ApplyConfiguration(as(t.Context(), contract.RoleAdmin), &machine.ApplyConfigurationRequest{
			Data: []byte(text), Mode: auto, DryRun: dryRun,
		})
		if err != nil {
			t.Fatal(err)
		}

		if got := strings.Join(response.GetMessages()[0].GetWarnings(), "\n"); !strings.Contains(got, "DHCP ends on eth1, and") {
			t.Errorf("a dry run is %t: got the warnings %q", dryRun, got)
		}
	}
}

// TestApplyExcludes: a firewall that shuts out the machine that it comes from must be tried.
func TestApplyExcludes(t *testing.T) {
	b := newBench(t)
	b.runConfig(t)

	if err := typed.Set(t.Context(), b.State, "", network.NodeAddressCurrentID, network.NodeAddressSpec{
		Addresses: []netip.Prefix{netip.MustParsePrefix("198.51.100.1/24")},
	}); err != nil {
		t.Fatal(err)
	}

	before := configtest.ControlPlane(t)
	after := string(before) + "---\napiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: block\n" +
		"---\napiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: apid\nportSelector: {protocol: tcp, ports: [50000]}\ningress: [{subnet: 192.0.2.0/24}]\n"

	apply := func(text string, mode machine.ApplyConfigurationRequest_Mode, md ...string) (string, error) {
		t.Helper()

		response, err := b.machine.ApplyConfiguration(metadata.AppendToOutgoingContext(as(t.Context(), contract.RoleAdmin), md...), &machine.ApplyConfigurationRequest{
			Data: []byte(text), Mode: mode, DryRun: text == after,
		})
		if err != nil {
			return "", err
		}

		return strings.Join(response.GetMessages()[0].GetWarnings(), "\n"), nil
	}

	if _, err := apply(string(before), auto); err != nil {
		t.Fatal(err)
	}

	const excluded = "no longer accepts connections from 198.51.100.7, where this call is from"

	stranger := []string{contract.KeyPeer, "198.51.100.7"}

	for name, test := range map[string]struct {
		mode      machine.ApplyConfigurationRequest_Mode
		md        []string
		want, err string
	}{
		"a stranger":            {auto, stranger, "", excluded},
		"for the next boot":     {machine.ApplyConfigurationRequest_STAGED, stranger, "", excluded},
		"a trial":               {machine.ApplyConfigurationRequest_TRY, stranger, excluded, ""},
		"a trial by itself":     {machine.ApplyConfigurationRequest_TRY, append(stranger, contract.KeyCommit, contract.CommitHealthy), "", excluded},
		"for good":              {auto, append(stranger, contract.KeyCommit, contract.CommitNow), excluded, ""},
		"from a network":        {auto, []string{contract.KeyPeer, "192.0.2.7"}, "", ""},
		"from the machine":      {auto, []string{contract.KeyPeer, "198.51.100.1"}, "", ""},
		"over the loopback":     {auto, []string{contract.KeyPeer, "::1"}, "", ""},
		"from an unknown place": {auto, []string{contract.KeyPeer, "?"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, err := apply(after, test.mode, test.md...)
			if !strings.Contains(warnings, test.want) || test.want == "" && strings.Contains(warnings, "no longer accepts") {
				t.Errorf("got the warnings %q, want %q", warnings, test.want)
			}

			if (err != nil) != (test.err != "") || err != nil && (status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got %v, want %q", err, test.err)
			}
		})
	}
}
