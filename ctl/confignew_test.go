// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client/clienttest"
	"github.com/seed-59268b81/talos/config/talosconfig"
)

func TestConfigNew(t *testing.T) {
	const method = machineService + "GenerateClientConfiguration"

	node := newNode("172.20.0.2")
	s := clienttest.Start(t, map[string]*clienttest.Node{"172.20.0.2": node})

	made := *s.Context
	made.Endpoints = nil

	text, err := talosconfig.New("lab", &made).Encode()
	if err != nil {
		t.Fatal(err)
	}

	node.Scripts[method] = clienttest.Answer(&machine.GenerateClientConfigurationResponse{
		Messages: []*machine.GenerateClientConfiguration{{Talosconfig: text}},
	})

	path := filepath.Join(t.TempDir(), "reader")
	args := []string{"config", "new", path, "--roles", "os:reader,os:etcd:backup", "--crt-ttl", "24h", "-n", "172.20.0.2"}

	if r := talosctl(t, s, args...); r.exit != 0 {
		t.Fatalf("got %+v", r)
	}

	request := node.Requests(method)[0].(*machine.GenerateClientConfigurationRequest)
	if diff := cmp.Diff([]string{"os:reader", "os:etcd:backup"}, request.GetRoles()); diff != "" || request.GetCrtTtl().AsDuration() != 24*time.Hour {
		t.Errorf("got request %v", request)
	}

	got, err := talosconfig.Load(path)
	if err != nil {
		t.Fatal(err)
	}

	context, err := got.Find("lab")
	if err != nil || !cmp.Equal(context.Endpoints, []string{s.Endpoint}) || !cmp.Equal(context.Nodes, []string{"172.20.0.2"}) {
		t.Errorf("got context %+v, %v, want the endpoints and nodes in use", context, err)
	}

	if r := run(t.Context(), "memory", "--talosconfig", path); r.exit != 0 {
		t.Errorf("with the new configuration: got %+v", r)
	}

	if r := talosctl(t, s, args...); r.exit != 1 || !strings.Contains(r.stderr, "exists") {
		t.Errorf("over an existing file: got %+v", r)
	}

	if r := talosctl(t, s, "config", "new", path+"2", "--crt-ttl", "-1h"); r.exit != 1 || !strings.Contains(r.stderr, "want a positive time") {
		t.Errorf("without a lifetime: got %+v", r)
	}

	node.Scripts[method] = clienttest.Script{Err: status.Error(codes.PermissionDenied, "not for os:reader")}

	if r := talosctl(t, s, "config", "new", path+"3", "-n", "172.20.0.2"); r.exit != 1 || !strings.Contains(r.stderr, "config info shows its roles") {
		t.Errorf("without the role: got %+v", r)
	}
}
