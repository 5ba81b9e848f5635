// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// everyRole is what a certificate can hold, and some that it should not.
var everyRole = []string{
	RoleAdmin, RoleOperator, RoleReader, RoleEtcdBackup, RoleMetaWriter, "os:image:verifier", "os:impersonator", "", "OS:ADMIN", "os:admin ", "admin",
}

// allowed has who may make the calls that are not for administrators alone: A is os:admin, O os:operator, R os:reader.
var allowed = map[string]string{
	"machine.MachineService/ApplyConfiguration": "AR", // the handler refuses readers of a configured machine
	"machine.MachineService/Dmesg":              "AOR",
	"machine.MachineService/Events":             "AOR",
	"machine.MachineService/Hostname":           "AOR",
	"machine.MachineService/Logs":               "AOR",
	"machine.MachineService/LogsContainers":     "AOR",
	"machine.MachineService/Memory":             "AOR",
	"machine.MachineService/Reboot":             "AO",
	"machine.MachineService/ServiceList":        "AOR",
	"machine.MachineService/ServiceRestart":     "AO",
	"machine.MachineService/ServiceStart":       "AO",
	"machine.MachineService/ServiceStop":        "AO",
	"machine.MachineService/Shutdown":           "AO",
	"machine.MachineService/Version":            "AOR",
	"cluster.ClusterService/HealthCheck":        "AOR",
	"cosi.resource.State/Get":                   "AOR",
	"cosi.resource.State/List":                  "AOR",
	"cosi.resource.State/Watch":                 "AOR",
}

// TestEveryMethodForEveryRole goes through all methods that the server knows.
func TestEveryMethodForEveryRole(t *testing.T) {
	b := newBench(t)
	left := maps.Clone(allowed)
	count := 0

	for service, info := range b.grpc.GetServiceInfo() {
		for _, method := range info.Methods {
			name := service + "/" + method.Name

			letters, ok := left[name]
			if !ok {
				letters = "A"
			}

			delete(left, name)

			for _, role := range everyRole {
				want := role == RoleAdmin && strings.Contains(letters, "A") ||
					role == RoleOperator && strings.Contains(letters, "O") || role == RoleReader && strings.Contains(letters, "R")

				md := metadata.MD{}
				md.Set(metadataRoleKey, role)

				err := authorize(metadata.NewIncomingContext(t.Context(), md), "/"+name)
				if got := err == nil; got != want {
					t.Errorf("%s as %q: allowed is %t, want %t (%v)", name, role, got, want, err)
				}

				if err != nil && status.Code(err) != codes.PermissionDenied {
					t.Errorf("%s as %q: got %v, want PermissionDenied", name, role, err)
				}

				count++
			}

			if authorize(t.Context(), "/"+name) == nil {
				t.Errorf("%s without any role is allowed", name)
			}
		}
	}

	if len(left) > 0 {
		t.Errorf("the server has no methods %v", slices.Sorted(maps.Keys(left)))
	}

	if count < 60*len(everyRole) {
		t.Errorf("only %d pairs were looked at", count)
	}
}

// TestRulesAreInPlace makes one call and one stream, so that the rules above are known to be asked.
func TestRulesAreInPlace(t *testing.T) {
	b := newBench(t)

	for _, tt := range []struct {
		role string
		want codes.Code
	}{{RoleAdmin, codes.OK}, {RoleReader, codes.OK}, {RoleEtcdBackup, codes.PermissionDenied}} {
		if _, err := b.machine.Version(as(t.Context(), tt.role), &emptypb.Empty{}); status.Code(err) != tt.want {
			t.Errorf("Version as %s: got %v, want %v", tt.role, err, tt.want)
		}
	}

	stream, err := b.machine.Kubeconfig(as(t.Context(), RoleOperator), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	_, err = stream.Recv()
	want := "machine.MachineService/Kubeconfig: it takes one of the roles os:admin, the caller has [os:operator]"

	if s := status.Convert(err); s.Code() != codes.PermissionDenied || s.Message() != want {
		t.Errorf("got %v, want PermissionDenied: %s", err, want)
	}
}

// TestPanicIsOneCallsError has a call run into a nil pointer.
func TestPanicIsOneCallsError(t *testing.T) {
	b := newBench(t)
	b.Server.Ring = nil

	stream, err := b.machine.Events(as(t.Context(), RoleReader), &machine.EventsRequest{TailEvents: 1})
	if err != nil {
		t.Fatal(err)
	}

	if _, err := stream.Recv(); status.Code(err) != codes.Internal || !strings.Contains(fmt.Sprint(err), "machine.MachineService/Events failed in the server") {
		t.Errorf("got %v, want Internal", err)
	}

	if _, err := b.machine.Version(as(t.Context(), RoleReader), &emptypb.Empty{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}
