// SPDX-License-Identifier: Apache-2.0

//go:build linux

package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/sys/nstest"
)

func TestDiff(t *testing.T) {
	base := Snapshot{"mounts": {"/", "/proc"}, "links": {"lo up"}, "sysctls": {"vm/x = 1"}}

	for name, tt := range map[string]struct {
		before, after Snapshot
		want          []string
	}{
		"the same": {base, base, nil},
		"a mount instead of another, and a value": {
			base, Snapshot{"mounts": {"/", "/mnt"}, "links": {"lo up"}, "sysctls": {"net/new = 1", "vm/x = 2"}},
			[]string{"mounts: new: /mnt", "mounts: gone: /proc", "sysctls: new: vm/x = 2", "sysctls: gone: vm/x = 1"},
		},
		"a cgroup": {Snapshot{"cgroups": {"a", "b"}}, Snapshot{"cgroups": {"b", "c"}}, []string{"cgroups: new: c"}},
		"cgroups of others whose processes have ended": {
			Snapshot{"cgroups": {"a"}, othersCgroups: {"lab"}}, Snapshot{"cgroups": {"a", "lab", "lab/one", "laboratory"}, othersCgroups: nil},
			[]string{"cgroups: new: laboratory"},
		},
		"others start something": {Snapshot{"cgroups": {"a"}, othersCgroups: nil}, Snapshot{"cgroups": {"a"}, othersCgroups: {"lab"}}, nil},
		"rules that could not be seen before": {
			Snapshot{"links": {"lo up"}}, Snapshot{"links": {"lo up"}, "nftables": {"table ip nat"}}, nil,
		},
		"rules": {Snapshot{"nftables": nil}, Snapshot{"nftables": {"table ip nat"}}, []string{"nftables: new: table ip nat"}},
	} {
		if d := cmp.Diff(tt.want, Diff(tt.before, tt.after)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestSettle(t *testing.T) {
	for name, tt := range map[string]struct {
		looks [][]string // the last one again and again
		want  []string
		took  time.Duration
	}{
		"nothing":                    {[][]string{nil}, nil, 0},
		"what ends":                  {[][]string{{"a", "b"}, {"a"}, nil}, nil, 400 * time.Millisecond},
		"what stays":                 {[][]string{{"a", "b"}, {"b"}}, []string{"b"}, 2 * time.Second},
		"others', for a moment each": {[][]string{{"a"}, {"b"}, {"c"}}, nil, 200 * time.Millisecond},
		"both":                       {[][]string{{"a", "x"}, {"x", "b"}, {"c", "x"}}, []string{"x"}, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, looks := time.Now(), tt.looks

				got, err := settle(t.Context(), 2*time.Second, func() ([]string, error) {
					now := slices.Clone(looks[0])
					looks = looks[min(1, len(looks)-1):]

					return now, nil
				})
				if err != nil {
					t.Fatal(err)
				}

				if d := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}

				if took := time.Since(start); took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
			})
		})
	}

	broken := errors.New("no /proc")
	if _, err := settle(t.Context(), time.Minute, func() ([]string, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// TestRules checks that changes of other programs are left out, and that those which tests could forget are not.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		rules        []rule
		out, counted string
	}{
		{foreignMounts, "/snap/core22/1 /run/user/0 /run/netns/cni-1 /var/lib/docker/overlay2/x/merged", "/mnt /run/netns/e2e /var/lib /tmp/x"},
		{foreignNamespaces, "/run/netns/cni-1", "/run/netns/e2e"},
		{foreignLoops, "/var/lib/snapd/snaps/core22_1.snap", "/tmp/disk.raw"},
		{foreignLinks, "veth1a2b3c4 vethdeadbeef cali0123456789a vnet0", "veth0 lo eth0 va tap0 br-lab docker0 lxc"},
		{foreignCgroups, "system.slice system.slice/cron.service docker/1 user.slice/x", "talos-lab-e2e-01020304 memory/talos-lab-e2e-01020304"},
		{
			restless, "fs/file-nr kernel/ns_last_pid kernel/hung_task_warnings net/ipv4/tcp_available_ulp net/mptcp/available_schedulers " +
				"net/ipv6/conf/eth0/mtu net/ipv6/neigh/eth0/retrans_time_ms vm/drop_caches",
			// Set by the kubelet and by a machine's network.
			"kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes kernel/perf_event_paranoid kernel/printk " +
				"fs/inotify/max_user_watches net/ipv4/ip_forward net/ipv4/conf/all/rp_filter net/ipv6/conf/all/forwarding " +
				"net/ipv6/conf/default/accept_ra net/ipv4/neigh/default/gc_thresh1 net/netfilter/nf_conntrack_max user/max_user_namespaces vm/overcommit_memory",
		},
	} {
		for name := range strings.FieldsSeq(tt.out) {
			if !leftOut(tt.rules, name) {
				t.Errorf("%s: got it compared, want it left out", name)
			}
		}

		for name := range strings.FieldsSeq(tt.counted) {
			if leftOut(tt.rules, name) {
				t.Errorf("%s: got it left out, want it compared", name)
			}
		}
	}
}

// TestRealKernel creates, in namespaces of its own, one thing of each kind that can be created there, and finds just these.
func TestRealKernel(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("no private mounts: %v", err)
	}

	before, err := Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	if err := unix.Mount("made", dir, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, 0)

	ip := hosttest.Need(t, "ip")
	for _, args := range [][]string{
		{"link", "set", "lo", "up"}, {"address", "add", "192.0.2.1/24", "dev", "lo"}, {"route", "add", "198.51.100.0/24", "dev", "lo"},
	} {
		if out, err := exec.CommandContext(t.Context(), ip, args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v: %s", args, err, out)
		}
	}

	if err := os.WriteFile("/proc/sys/net/ipv4/ip_default_ttl", []byte("63"), 0); err != nil {
		t.Fatal(err)
	}

	after, err := Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	got := strings.Join(Diff(before, after), "\n")
	for _, want := range []string{
		"mounts: new: " + dir + " (tmpfs made)", "links: new: lo  mtu 65536 up", "addresses: new: lo 192.0.2.1/24",
		"routes: new: lo 006433C6", "sysctls: new: net/ipv4/ip_default_ttl = 63", "sysctls: gone: net/ipv4/ip_default_ttl = 64",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q in\n%s", want, got)
		}
	}
}

// TestQuiet checks that two snapshots do not differ when the test does nothing. Mounts of others do not appear in its
// namespace. Firewall and cgroups are left out, because others may change them at the same time.
func TestQuiet(t *testing.T) {
	if !nstest.Isolate(t) {
		return
	}

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skipf("no private mounts: %v", err)
	}

	before, err := Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	time.Sleep(300 * time.Millisecond) // for counters to change

	after, err := Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if len(before["sysctls"]) < 300 {
		t.Errorf("got %d sysctls, want several hundred", len(before["sysctls"]))
	}

	for _, kind := range []string{"sysctls", "links", "addresses", "routes", "mounts"} {
		if got := Diff(Snapshot{kind: before[kind]}, Snapshot{kind: after[kind]}); got != nil {
			t.Errorf("%s change by themselves, a rule is missing: got %q, want none", kind, got)
		}
	}
}

// TestLeft checks that a process whose parent has ended is found.
func TestLeft(t *testing.T) {
	if os.Getenv("TALOS_TEST_LEFT") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLeft$", "-test.v")
		cmd.Env = append(os.Environ(), "TALOS_TEST_LEFT=1")

		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestLeft") {
			t.Fatalf("%v\n%s", err, out)
		}

		return
	}

	if err := Adopt(t.Context()); err != nil {
		t.Fatal(err)
	}

	before, err := Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	pidFile := filepath.Join(t.TempDir(), "pid")

	// The shell ends at once, and its child does not.
	if err := exec.CommandContext(t.Context(), "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $! >"+pidFile).Run(); err != nil {
		t.Fatal(err)
	}

	different, err := Settle(t.Context(), before, 0)
	if err != nil {
		t.Fatal(err)
	}

	raw, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}

	pid := strings.TrimSpace(string(raw))
	if got, want := strings.Join(different, "\n"), "processes: new: "+pid+" sleep 1000"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	if err := exec.CommandContext(t.Context(), "sh", "-c", "kill "+pid).Run(); err != nil {
		t.Fatal(err)
	}

	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left, err := Left()
		if err != nil {
			t.Fatal(err)
		}

		if len(left) == 0 {
			return
		}

		if time.Now().After(deadline) {
			t.Fatalf("after its end: got %q, want none", left)
		}
	}
}

func TestDescendants(t *testing.T) {
	all := []Process{
		{PID: 1, Parent: 0, Line: "init"}, {PID: 9, Parent: 7, Line: "deep"}, {PID: 5, Parent: 1, Line: "us"}, {PID: 7, Parent: 5, Line: "child"},
		{PID: 8, Parent: 1, Line: "other"}, {PID: 10, Parent: 5, zombie: true, Line: ""},
	}

	want := []Process{{PID: 9, Parent: 7, Line: "deep"}, {PID: 7, Parent: 5, Line: "child"}}
	if d := cmp.Diff(want, descendants(5, all), cmp.AllowUnexported(Process{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestForeign uses folders in place of cgroups: the file has the same form.
func TestForeign(t *testing.T) {
	for _, tt := range []struct {
		name, outer, inner string
		want               bool
	}{
		{"empty", "", "", false},
		{"another's", "8\n9\n", "", true},
		{"another's below", "", "8\n", true},
		{"ours", "5\n", "", false},
		{"ours below another's", "8\n", "5\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "inner"), 0o755); err != nil {
				t.Fatal(err)
			}

			for name, text := range map[string]string{"cgroup.procs": tt.outer, "inner/cgroup.procs": tt.inner} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			if got := foreign(dir, map[int]bool{5: true}); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestParsers(t *testing.T) {
	if got, ok := parseStat("12 (a b) c) Z 3 12 12 0"); !ok || got.Parent != 3 || !got.zombie {
		t.Errorf("stat: got %+v, %t, want a zombie of 3", got, ok)
	}

	if _, ok := parseStat("rubbish"); ok {
		t.Error("stat: invalid text was accepted")
	}

	for name, tt := range map[string]struct{ got, want []string }{
		"mounts": {
			mountLines("22 1 0:20 / /proc rw,nosuid shared:5 - proc proc rw\n23 1 0:21 / /run/user/1000 rw - tmpfs tmpfs rw\nrubbish\n"),
			[]string{"/proc (proc proc)"},
		},
		"IPv6 addresses": {
			permanent6("00000000000000000000000000000001 01 80 10 80 lo\n20010db8000000000000000000000002 02 40 00 00 eth0\nrubbish\n"),
			[]string{"lo ::1/128"},
		},
		"an IPv4 route": {
			route4(strings.Fields("eth0 00000000 0102000A 0003 0 12 100 00000000 0 0 0")),
			[]string{"eth0", "00000000", "0102000A", "0003", "100", "00000000"},
		},
		"an IPv6 route":        {route6(strings.Fields("20 40 00 00 fe 00000400 00000001 00000000 00000001 eth0")), []string{"20/40", "fe", "00000400", "eth0"}},
		"one of a neighbour":   {route6(strings.Fields("20 40 00 00 fe 00000400 00000001 00000000 01000001 eth0")), nil},
		"one that expires":     {route6(strings.Fields("20 40 00 00 fe 00000400 00000001 00000000 00400003 eth0")), nil},
		"one of a container":   {route4(strings.Fields("veth1a2b3c4 00000000 0102000A 0003 0 12 100 00000000 0 0 0")), nil},
		"a blackhole":          {route6(strings.Fields("20 40 00 00 00 00000400 00000001 00000000 00000201 lo")), []string{"20/40", "00", "00000400", "lo"}},
		"one of advertisement": {route6(strings.Fields("20 40 00 00 fe 00000400 00000001 00000000 00040001 eth0")), nil},
		"rules": {
			ruleLines("table ip nat {\n\tchain out {\n\t\ttype nat hook\n\t\toif eth0 counter packets 7 bytes 9 accept\n\t}\n}\n"),
			[]string{"table ip nat", "table ip nat: chain out", "table ip nat: chain out: type nat hook", "table ip nat: chain out: oif eth0 counter accept"},
		},
	} {
		if d := cmp.Diff(tt.want, tt.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestRulesGiveAReason(t *testing.T) {
	for _, rules := range [][]rule{foreignMounts, foreignNamespaces, foreignLoops, foreignLinks, foreignCgroups, restless} {
		for _, r := range rules {
			if r.why == "" {
				t.Errorf("%s is left out without a reason", r.what)
			}
		}
	}
}
