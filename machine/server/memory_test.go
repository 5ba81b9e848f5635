// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
)

func TestParseMeminfo(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       *machine.MemInfo
	}{
		{"a kernel's", "MemTotal:        4015520 kB\nMemAvailable:    3500000 kB\nActive(anon):       1024 kB\nNFS_Unstable:          3 kB\n" +
			"CmaTotal:              7 kB\nHugePages_Surp:        5\nDirectMap2M:     4096000 kB\nHardwareCorrupted:     1 kB\n",
			&machine.MemInfo{
				Memtotal: 4015520, Memavailable: 3500000, Activeanon: 1024, Nfsunstable: 3, Cmatotal: 7, Hugepagessurp: 5,
				Directmap2M: 4096000, Hardwarecorrupted: 1,
			}},
		{"what is new to us", "Zswap: 1 kB\nMemFree: 2 kB\n", &machine.MemInfo{Memfree: 2}},
		{"no number", "MemTotal: many kB\nMemFree:\nMemAvailable\n: 5\n", &machine.MemInfo{}},
		{"nothing", "", &machine.MemInfo{}},
	} {
		if d := cmp.Diff(tt.want, parseMeminfo([]byte(tt.text)), protocmp.Transform()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestMemory(t *testing.T) {
	b := newBench(t)

	r, err := b.machine.Memory(as(t.Context(), contract.RoleReader), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	if info := r.GetMessages()[0].GetMeminfo(); info.GetMemtotal() == 0 || info.GetMemfree() > info.GetMemtotal() {
		t.Errorf("got %v", info)
	}

	if total, err := totalMemory(t.Context()); err != nil || total != r.GetMessages()[0].GetMeminfo().GetMemtotal()<<10 {
		t.Errorf("in bytes: got %d, %v", total, err)
	}
}

func FuzzParseMeminfo(f *testing.F) {
	f.Add([]byte("MemTotal: 1 kB\n"))
	f.Add([]byte("Metadata: 1\nmessages: 2\nActive(anon)_: 18446744073709551616\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if parseMeminfo(text) == nil {
			t.Error("got nothing")
		}
	})
}
