// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
)

// kernelFiles are files of a kernel 6.1.
var kernelFiles = map[string]string{
	"proc/loadavg": "0.52 1.58 2.59 3/611 12345\n",
	"proc/stat": `cpu  300 20 1000 5000 60 7 8 90 1 2
cpu0 100 10 400 2000 20 3 4 40 1 0
cpu1 200 10 600 3000 40 4 4 50 0 2
intr 1462898 120 9 0 5
ctxt 2000000
btime 1763700000
processes 4321
procs_running 3
procs_blocked 1
softirq 5057579 250191 1481983 1647 211099 186066 0 1783454 622196 12 508
`,
	"proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 142\nmodel name\t: A Processor @ 1.90GHz\n" +
		"stepping\t: 10\nmicrocode\t: 0xca\ncpu MHz\t\t: 799.998\ncache size\t: 8192 KB\nphysical id\t: 0\nsiblings\t: 8\ncore id\t\t: 0\n" +
		"cpu cores\t: 4\napicid\t\t: 0\ninitial apicid\t: 0\nfpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: 22\nwp\t\t: yes\n" +
		"flags\t\t: fpu vme sse\nbugs\t\t: spectre_v1\nbogomips\t: 4224.00\nclflush size\t: 64\ncache_alignment\t: 64\n" +
		"address sizes\t: 39 bits physical, 48 bits virtual\npower management:\n\n",
	"proc/diskstats": "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n   8       1 sda1 100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
	"proc/net/dev": "Inter-|   Receive                                                |  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n" +
		"    lo:       1       2    3    4    5     6          7         8        9      10   11   12   13    14      15         16\n" +
		"  eth0:     100       0    0    0    0     0          0         0        0       0    0    0    0     0       0          7\n",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq":  "1200000\n",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq":  "800000\n",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq":  "2400000\n",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":  "powersave\n",
	"sys/devices/system/cpu/cpu2/online":                    "1\n",
	"sys/devices/system/cpu/cpu10/cpufreq/scaling_cur_freq": "<unknown>\n",
	"sys/devices/system/cpu/cpu10/cpufreq/scaling_governor": "schedutil\n",
}

// newKernel makes the bench show files with the given texts instead of the kernel's.
func newKernel(t *testing.T, b *bench, files map[string]string) {
	t.Helper()

	b.Root = t.TempDir()

	for name, content := range files {
		path := filepath.Join(b.Root, name)

		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStatistics(t *testing.T) {
	b := newBench(t)
	newKernel(t, b, kernelFiles)

	ctx, none := as(t.Context(), contract.RoleReader), &emptypb.Empty{}

	for _, tt := range []struct {
		name string
		call func() (proto.Message, error)
		want proto.Message
	}{
		{"load", func() (proto.Message, error) { return b.machine.LoadAvg(ctx, none) },
			&machine.LoadAvgResponse{Messages: []*machine.LoadAvg{{Load1: 0.52, Load5: 1.58, Load15: 2.59}}}},
		{"stat", func() (proto.Message, error) { return b.machine.SystemStat(ctx, none) },
			&machine.SystemStatResponse{Messages: []*machine.SystemStat{{
				BootTime: 1763700000,
				CpuTotal: &machine.CPUStat{
					User: 3, Nice: 0.2, System: 10, Idle: 50, Iowait: 0.6, Irq: 0.07, SoftIrq: 0.08, Steal: 0.9, Guest: 0.01, GuestNice: 0.02,
				},
				Cpu: []*machine.CPUStat{
					{User: 1, Nice: 0.1, System: 4, Idle: 20, Iowait: 0.2, Irq: 0.03, SoftIrq: 0.04, Steal: 0.4, Guest: 0.01},
					{User: 2, Nice: 0.1, System: 6, Idle: 30, Iowait: 0.4, Irq: 0.04, SoftIrq: 0.04, Steal: 0.5, GuestNice: 0.02},
				},
				IrqTotal: 1462898, Irq: []uint64{120, 9, 0, 5}, ContextSwitches: 2000000,
				ProcessCreated: 4321, ProcessRunning: 3, ProcessBlocked: 1, SoftIrqTotal: 5057579,
				SoftIrq: &machine.SoftIRQStat{
					Hi: 250191, Timer: 1481983, NetTx: 1647, NetRx: 211099, Block: 186066, Tasklet: 1783454, Sched: 622196, Hrtimer: 12, Rcu: 508,
				},
			}}}},
		{"frequency", func() (proto.Message, error) { return b.machine.CPUFreqStats(ctx, none) },
			&machine.CPUFreqStatsResponse{Messages: []*machine.CPUsFreqStats{{CpuFreqStats: []*machine.CPUFreqStats{
				{CurrentFrequency: 1200000, MinimumFrequency: 800000, MaximumFrequency: 2400000, Governor: "powersave"}, {}, {Governor: "schedutil"},
			}}}}},
		{"disks", func() (proto.Message, error) { return b.machine.DiskStats(ctx, none) },
			&machine.DiskStatsResponse{Messages: []*machine.DiskStats{{
				Total: diskStat("", 101), Devices: []*machine.DiskStat{diskStat("sda", 1), {Name: "sda1", ReadCompleted: 100}},
			}}}},
		{"links", func() (proto.Message, error) { return b.machine.NetworkDeviceStats(ctx, none) },
			&machine.NetworkDeviceStatsResponse{Messages: []*machine.NetworkDeviceStats{{
				Total: netDev("", 101, 23), Devices: []*machine.NetDev{{Name: "eth0", RxBytes: 100, TxCompressed: 7}, netDev("lo", 1, 16)},
			}}}},
	} {
		got, err := tt.call()
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if d := cmp.Diff(tt.want, got, protocmp.Transform(), cmp.Comparer(near)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}

	cpus, err := b.machine.CPUInfo(ctx, none)
	if err != nil {
		t.Fatal(err)
	}

	cpu := cpus.GetMessages()[0].GetCpuInfo()[0]
	if cpu.GetModelName() != "A Processor @ 1.90GHz" || cpu.GetCpuMhz() != 799.998 || cpu.GetCpuCores() != 4 || len(cpu.GetFlags()) != 3 {
		t.Errorf("processor: got %v", cpu)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func diskStat(name string, reads uint64) *machine.DiskStat {
	return &machine.DiskStat{
		Name: name, ReadCompleted: reads, ReadMerged: 2, ReadSectors: 3, ReadTimeMs: 4, WriteCompleted: 5, WriteMerged: 6, WriteSectors: 7,
		WriteTimeMs: 8, IoInProgress: 9, IoTimeMs: 10, IoTimeWeightedMs: 11, DiscardCompleted: 12, DiscardMerged: 13, DiscardSectors: 14,
		DiscardTimeMs: 15,
	}
}

func netDev(name string, received, compressed uint64) *machine.NetDev {
	return &machine.NetDev{
		Name: name, RxBytes: received, RxPackets: 2, RxErrors: 3, RxDropped: 4, RxFifo: 5, RxFrame: 6, RxCompressed: 7, RxMulticast: 8,
		TxBytes: 9, TxPackets: 10, TxErrors: 11, TxDropped: 12, TxFifo: 13, TxCollisions: 14, TxCarrier: 15, TxCompressed: compressed,
	}
}

// A missing or damaged file of the kernel is an error that names it, and never a panic.
func TestStatisticsMissing(t *testing.T) {
	b := newBench(t)
	broken := map[string]string{"proc/self/comm": "x", "sys/x": "x"}

	for name := range kernelFiles {
		broken[name] = "nonsense: :\nnonsense\neth0: non sense\n"
	}

	for _, files := range []map[string]string{{"proc/x": "", "sys/x": ""}, broken, nil} {
		newKernel(t, b, files)

		ctx, none := as(t.Context(), contract.RoleReader), &emptypb.Empty{}

		for name, call := range map[string]func() (any, error){
			"load average":       func() (any, error) { return b.machine.LoadAvg(ctx, none) },
			"processors":         func() (any, error) { return b.machine.CPUInfo(ctx, none) },
			"disk statistics":    func() (any, error) { return b.machine.DiskStats(ctx, none) },
			"network statistics": func() (any, error) { return b.machine.NetworkDeviceStats(ctx, none) },
		} {
			if r, err := call(); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), name) {
				t.Errorf("%s of %d files: got %v, %v", name, len(files), r, err)
			}
		}
	}
}

func TestProcessTable(t *testing.T) {
	b := newBench(t)

	r, err := b.machine.Processes(as(t.Context(), contract.RoleReader), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	for _, p := range r.GetMessages()[0].GetProcesses() {
		if p.GetPid() != int32(os.Getpid()) {
			continue
		}

		if p.GetPpid() != int32(os.Getppid()) || p.GetCommand() != "server.test" || p.GetThreads() < 2 || p.GetResidentMemory() < 1<<20 ||
			p.GetVirtualMemory() < p.GetResidentMemory() || !strings.HasSuffix(p.GetExecutable(), "server.test") ||
			!strings.Contains(p.GetArgs(), "-test.") || p.GetState() == "" {
			t.Errorf("got %v", p)
		}

		return
	}

	t.Error("this process is missing")
}

// TestManyArgs has more processes with long arguments than fit into an answer.
func TestManyArgs(t *testing.T) {
	const processes = 1000

	b := newBench(t)
	b.Root = t.TempDir()

	for pid := range processes {
		dir := filepath.Join(b.Root, "proc", strconv.Itoa(pid+1))
		stat := fmt.Sprintf("%d (many) S 1%s\n", pid+1, strings.Repeat(" 0", 48))

		if err := errors.Join(
			os.MkdirAll(dir, 0o755),
			os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600),
			os.WriteFile(filepath.Join(dir, "cmdline"), bytes.Repeat([]byte("x"), maxArgs+1), 0o600),
		); err != nil {
			t.Fatal(err)
		}
	}

	r, err := b.machine.Processes(as(t.Context(), contract.RoleReader), &emptypb.Empty{}, grpc.MaxCallRecvMsgSize(contract.MaxMessage))
	if err != nil {
		t.Fatal(err)
	}

	shortest, longest := maxArgs, 0
	for _, p := range r.GetMessages()[0].GetProcesses() {
		shortest, longest = min(shortest, len(p.GetArgs())), max(longest, len(p.GetArgs()))
	}

	if n := len(r.GetMessages()[0].GetProcesses()); n != processes || shortest < fewArgs || longest < maxArgs || proto.Size(r) > maxAllArgs+1<<20 {
		t.Errorf("got %d processes in %d bytes, with arguments of %d to %d", n, proto.Size(r), shortest, longest)
	}
}

func TestClipArgs(t *testing.T) {
	for _, tt := range []struct{ in, want string }{{"short", "short"}, {"0123456789", "01234567…"}, {"0123456é9", "0123456…"}} {
		if got := clip(tt.in, 8); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestMounts(t *testing.T) {
	b := newBench(t)

	r, err := b.machine.Mounts(as(t.Context(), contract.RoleReader), &emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}

	found := map[string]*machine.MountStat{}
	for _, m := range r.GetMessages()[0].GetStats() {
		found[m.GetMountedOn()] = m
	}

	if root := found["/"]; root.GetSize() == 0 || root.GetAvailable() > root.GetSize() {
		t.Errorf("/: got %v", root)
	}

	if proc, ok := found["/proc"]; !ok || proc.GetSize() != 0 || proc.GetFilesystem() != "proc" {
		t.Errorf("/proc: got %v", proc)
	}
}

func TestStatfs(t *testing.T) {
	b := newBench(t)
	client := machine.NewStorageServiceClient(b.conn)

	fs, err := client.Statfs(as(t.Context(), contract.RoleReader), &machine.StorageServiceStatfsRequest{Path: t.TempDir()})
	if err != nil || fs.GetSize() == 0 || fs.GetUsed() > fs.GetSize() || fs.GetAvailable() > fs.GetSize() || fs.GetInodes() != fs.GetInodesFree()+fs.GetInodesUsed() {
		t.Errorf("got %v, %v", fs, err)
	}

	for path, code := range map[string]codes.Code{"/none": codes.NotFound, "etc": codes.InvalidArgument, "": codes.InvalidArgument} {
		if _, err := client.Statfs(as(t.Context(), contract.RoleReader), &machine.StorageServiceStatfsRequest{Path: path}); status.Code(err) != code {
			t.Errorf("%q: got %v, want %v", path, err, code)
		}
	}
}
