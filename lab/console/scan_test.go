// SPDX-License-Identifier: Apache-2.0

package console

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScan(t *testing.T) {
	tests := []struct {
		name    string
		console string
		want    []string // "line kind"
	}{
		{"a clean boot", `BdsDxe: starting Boot0001 "UEFI Misc Device"
[    0.000000] Linux version 6.1.0-42-cloud-amd64
[    1.203711] systemd-boot: no panic here, all is well
[    2.110000] talos: service etcd: health check failed: fatal error: connection refused, will retry
[    2.120000] talos: debug: kernel argument panic=1 oops=panic
[    2.5] audit: log "WARNING: DATA RACE" is a string in a pod
`, nil},
		{"kernel panic", `[    1.000000] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100
[    1.100000] CPU: 0 PID: 1 Comm: init Not tainted
`, []string{"1 kernel panic"}},
		{"oops and its panic", `+ 12.001 [    9.300000][  T12] BUG: kernel NULL pointer dereference, address: 0000000000000000
[    9.300100] Oops: 0000 [#1] PREEMPT SMP
[    9.310000] Kernel panic - not syncing: Fatal exception
`, []string{"1 kernel bug", "2 kernel oops", "3 kernel panic"}},
		{"kernel BUG", "[    3.1] kernel BUG at mm/slub.c:435!\n", []string{"1 kernel bug"}},
		{"soft lockup", "[  140.1] watchdog: BUG: soft lockup - CPU#1 stuck for 23s! [machined:1]\n", []string{"1 kernel lockup"}},
		{"hung task", "[  240.1] INFO: task xfsaild:99 blocked for more than 120 seconds.\n", []string{"1 kernel lockup"}},
		{"out of memory", "[   50.1] Out of memory: Killed process 812 (kube-apiserver)\n", []string{"1 out of memory"}},
		{"file system", "[   50.1] XFS (vda4): Corruption detected. Unmount and run xfs_repair\n", []string{"1 file system error"}},
		{"a program's crash", "[   50.1] runc[17]: segfault at 0 ip 00007f sp 00007f error 4\n", []string{"1 crashed program"}},
		{"Go panic with its trace", `+  4.120 panic: runtime error: index out of range [3] with length 3

goroutine 17 [running]:
main.main()
	/src/main.go:12 +0x1d
`, []string{"1 Go panic"}},
		{"Go panic behind a name", "[   4.1] [talos] machined: panic: assignment to entry in nil map\n", []string{"1 Go panic"}},
		{"Go panic from a service", "[   4.1] machined: panic: assignment to entry in nil map\n", []string{"1 Go panic"}},
		{"fatal error", "fatal error: concurrent map writes\n\ngoroutine 1 gp=0xc000 m=0 mp=0x1 [running]:\n", []string{"1 Go panic"}},
		{"signal", "[    4.1] SIGSEGV: segmentation violation\r\n", []string{"1 Go signal"}},
		{"a lone trace", "goroutine 12 [chan receive, 3 minutes]:\n", []string{"1 Go stack trace"}},
		{"data race", "==================\r\nWARNING: DATA RACE\r\nRead at 0x00c by goroutine 7:\r\n", []string{"2 data race"}},
		{"no end of line", "ok\npanic: x", []string{"2 Go panic"}},
		{"a line without end", strings.Repeat("x", 3*longestLine) + "\npanic: x\n", []string{"2 Go panic"}},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, err := Scan(strings.NewReader(tt.console))
			if err != nil {
				t.Fatal(err)
			}

			var got []string
			for _, f := range found {
				got = append(got, strings.Split(strings.TrimPrefix(f.String(), "line "), ": ")[0]+" "+f.Kind)
			}

			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("findings (-want +got):\n%s\n%v", d, found)
			}
		})
	}
}

func TestFindingKeepsWhatFollows(t *testing.T) {
	found, err := Scan(strings.NewReader("fine\npanic: x\n\ngoroutine 1 [running]:\nmain.main()\n" + strings.Repeat("later\n", 50)))
	if err != nil || len(found) != 1 {
		t.Fatalf("got %v, %v, want one finding", found, err)
	}

	if want := "panic: x\ngoroutine 1 [running]:\nmain.main()\nlater"; !strings.HasPrefix(found[0].Text, want) {
		t.Errorf("got %q, want it to begin with %q", found[0].Text, want)
	}

	if got := strings.Count(found[0].Text, "\n"); got >= contextLines {
		t.Errorf("got %d lines, want fewer than %d", got+1, contextLines+1)
	}
}

// FuzzScan checks that a sign on a line of its own is found after any text.
func FuzzScan(f *testing.F) {
	f.Add("[    1.0] fine")
	f.Add("+ 1.0 <3>[ 1.0][ T1] x: \x1b[2J")
	f.Add("panic: first")

	f.Fuzz(func(t *testing.T, before string) {
		found, err := Scan(strings.NewReader(before + "\n[    1.000000] Kernel panic - not syncing: x\n"))
		if err != nil {
			t.Fatal(err)
		}

		if len(found) == 0 || found[len(found)-1].Kind != "kernel panic" {
			t.Fatalf("the panic was not found: %v", found)
		}
	})
}
