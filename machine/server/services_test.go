// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/service/supervisor"
)

func TestServices(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleAdmin)
	sick := errors.New("no leader")

	forever := func(ctx context.Context, _ supervisor.Run) error {
		<-ctx.Done()

		return nil
	}
	b.service(t, supervisor.Service{ID: "etcd", Health: &supervisor.Health{
		Check: func(context.Context) error { return sick }, InitialDelay: time.Millisecond, Period: 10 * time.Millisecond,
	}}, forever)
	b.service(t, supervisor.Service{ID: "kubelet", Control: supervisor.CanStart | supervisor.CanStop | supervisor.CanRestart}, forever)

	list := func() map[string]*machine.ServiceInfo {
		r, err := b.machine.ServiceList(ctx, &emptypb.Empty{})
		if err != nil {
			t.Fatal(err)
		}

		all := map[string]*machine.ServiceInfo{}
		for _, s := range r.GetMessages()[0].GetServices() {
			all[s.GetId()] = s
		}

		return all
	}

	eventually(t, "etcd to be sick", func() bool {
		h := list()["etcd"].GetHealth()

		return !h.GetUnknown() && !h.GetHealthy() && strings.Contains(h.GetLastMessage(), "no leader") && h.GetLastChange() != nil
	})
	eventually(t, "kubelet to run without a check", func() bool {
		s := list()["kubelet"]

		return s.GetState() == "Running" && s.GetHealth().GetUnknown() && len(s.GetEvents().GetEvents()) > 0
	})

	for _, tt := range []struct {
		name, id string
		want     codes.Code
		resp     string
		state    string
	}{
		{"restart", "etcd", codes.FailedPrecondition, "", "Running"},
		{"restart", "unknown", codes.NotFound, "", ""},
		{"stop", "etcd", codes.FailedPrecondition, "", "Running"},
		{"restart", "kubelet", codes.OK, `Service "kubelet" restarted`, "Running"},
		{"stop", "kubelet", codes.OK, `Service "kubelet" stopped`, "Finished"},
		{"start", "kubelet", codes.OK, `Service "kubelet" started`, "Running"},
		{"start", "unknown", codes.NotFound, "", ""},
	} {
		var (
			resp string
			err  error
		)

		switch tt.name {
		case "start":
			r, e := b.machine.ServiceStart(ctx, &machine.ServiceStartRequest{Id: tt.id})
			if err = e; err == nil {
				resp = r.GetMessages()[0].GetResp()
			}
		case "stop":
			r, e := b.machine.ServiceStop(ctx, &machine.ServiceStopRequest{Id: tt.id})
			if err = e; err == nil {
				resp = r.GetMessages()[0].GetResp()
			}
		case "restart":
			r, e := b.machine.ServiceRestart(ctx, &machine.ServiceRestartRequest{Id: tt.id})
			if err = e; err == nil {
				resp = r.GetMessages()[0].GetResp()
			}
		}

		if status.Code(err) != tt.want || resp != tt.resp {
			t.Errorf("%s %s: got %q, %v, want %q, %v", tt.name, tt.id, resp, err, tt.resp, tt.want)
		}

		if err != nil && !strings.Contains(err.Error(), tt.id) {
			t.Errorf("%s %s: the error does not name the service: %v", tt.name, tt.id, err)
		}

		if tt.state != "" {
			eventually(t, tt.id+" to be "+tt.state, func() bool { return list()[tt.id].GetState() == tt.state })
		}
	}
}

// text reads a stream of bytes to its end.
func text(t *testing.T, stream grpc.ServerStreamingClient[common.Data], err error) (string, error) {
	t.Helper()

	var all strings.Builder

	for err == nil {
		var data *common.Data

		if data, err = stream.Recv(); err == nil {
			all.Write(data.GetBytes())
		}
	}

	if errors.Is(err, io.EOF) {
		err = nil
	}

	return all.String(), err
}

func TestLogs(t *testing.T) {
	b := newBench(t)
	ctx := as(t.Context(), contract.RoleReader)

	for _, line := range []string{"one", "two", "three"} {
		b.Outputs.Append("etcd", []byte(line))
	}

	b.Root = t.TempDir()

	for path, content := range map[string]string{
		"kube-system_coredns-a_uid/coredns/0.log":  "old\n",
		"kube-system_coredns-a_uid/coredns/10.log": "first\nsecond\n",
		"kube-system_coredns-a_uid/coredns/9.log":  "middle\n",
	} {
		path = filepath.Join(b.Root, layout.PodLogsDir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, tt := range []struct {
		name    string
		request *machine.LogsRequest
		want    string
		code    codes.Code
	}{
		{"all", &machine.LogsRequest{Namespace: "system", Id: "etcd", TailLines: -1}, "one\ntwo\nthree\n", codes.OK},
		{"the last", &machine.LogsRequest{Id: "etcd", TailLines: 1}, "three\n", codes.OK},
		{"more than exist", &machine.LogsRequest{Id: "etcd", TailLines: 100}, "one\ntwo\nthree\n", codes.OK},
		{"none", &machine.LogsRequest{Id: "etcd"}, "", codes.OK},
		{"no such service", &machine.LogsRequest{Id: "unknown"}, "", codes.NotFound},
		{"a container, its latest run", &machine.LogsRequest{Namespace: "k8s.io", Id: "kube-system/coredns-a:coredns", TailLines: -1}, "first\nsecond\n", codes.OK},
		{"a container, the last line", &machine.LogsRequest{Namespace: "k8s.io", Id: "kube-system/coredns-a:coredns:id", TailLines: 1}, "second\n", codes.OK},
		{"no such container", &machine.LogsRequest{Namespace: "k8s.io", Id: "kube-system/coredns-a:other", TailLines: 1}, "", codes.NotFound},
		{"a path for an id", &machine.LogsRequest{Namespace: "k8s.io", Id: "../../x:y", TailLines: 1}, "", codes.InvalidArgument},
		{"a pattern for an id", &machine.LogsRequest{Namespace: "k8s.io", Id: "kube-system/*:*", TailLines: 1}, "", codes.InvalidArgument},
		{"no container named", &machine.LogsRequest{Namespace: "k8s.io", Id: "kube-system/coredns-a", TailLines: 1}, "", codes.InvalidArgument},
	} {
		stream, err := b.machine.Logs(ctx, tt.request)

		got, err := text(t, stream, err)
		if got != tt.want || status.Code(err) != tt.code {
			t.Errorf("%s: got %q, %v, want %q, %v", tt.name, got, err, tt.want, tt.code)
		}
	}

	r, err := b.machine.LogsContainers(ctx, &emptypb.Empty{})
	if err != nil || strings.Join(r.GetMessages()[0].GetIds(), " ") != "etcd" {
		t.Errorf("logs that exist: got %v, %v, want etcd", r, err)
	}
}

func TestLogsFollow(t *testing.T) {
	b := newBench(t)
	b.Outputs.Append("etcd", []byte("one"))

	ctx, cancel := context.WithCancel(as(t.Context(), contract.RoleReader))
	defer cancel()

	stream, err := b.machine.Logs(ctx, &machine.LogsRequest{Id: "etcd", Follow: true, TailLines: -1})
	if err != nil {
		t.Fatal(err)
	}

	for i, want := range []string{"one\n", "two\n", "three\n"} {
		data, err := stream.Recv()
		if err != nil || string(data.GetBytes()) != want {
			t.Fatalf("got %q, %v, want %q", data.GetBytes(), err, want)
		}

		b.Outputs.Append("etcd", []byte([]string{"two", "three", "four"}[i]))
	}

	cancel()

	for {
		if _, err = stream.Recv(); err != nil {
			break
		}
	}

	if status.Code(err) != codes.Canceled {
		t.Errorf("after the caller left: got %v, want Canceled", err)
	}
}
