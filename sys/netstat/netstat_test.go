// SPDX-License-Identifier: Apache-2.0

package netstat_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/sys/netstat"
)

const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// The lines are of a little-endian machine, such as amd64 and arm64.
func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []netstat.Socket
		err        string
	}{
		{"tcp", head +
			"   0: 0100007F:0C64 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 15721 1 ffff8f5a40d7a1c0 100 0 0 10 0\n" +
			"   1: 0F02000A:C350 0402000A:17A4 01 0000002A:00000007 02:000007C3 00000001    60        4 29115 2 0000000000000000 20 4 30 10 -1\n",
			[]netstat.Socket{
				{
					Local: addrPort("127.0.0.1:3172"), Remote: addrPort("0.0.0.0:0"), State: netstat.Listen, RxQueue: 3, Inode: 15721,
					References: 1, Pointer: 0xffff8f5a40d7a1c0,
				},
				{
					Local: addrPort("10.0.2.15:50000"), Remote: addrPort("10.0.2.4:6052"), State: netstat.Established, TxQueue: 42, RxQueue: 7,
					Timer: 2, TimerWhen: 0x7c3, Retransmits: 1, UID: 60, Timeout: 4, Inode: 29115, References: 2,
				},
			}, ""},
		{"udp6 with drops", head +
			"  123: 00000000000000000000000001000000:0035 B80D0120000000000000000001000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 20393 2 00000000a1b2c3d4 9\n",
			[]netstat.Socket{{
				Local: addrPort("[::1]:53"), Remote: addrPort("[2001:db8::1]:0"), State: 7, UID: 101, Inode: 20393, References: 2, Pointer: 0xa1b2c3d4,
			}}, ""},
		{"an orphan, whose timeout is negative", head +
			"   0: 0100007F:0016 0100007F:E000 06 00000000:00000000 03:00001000 00000000     0        -1 0 3 ffff8f5a40d7a1c0\n",
			[]netstat.Socket{{
				Local: addrPort("127.0.0.1:22"), Remote: addrPort("127.0.0.1:57344"), State: 6, Timer: 3, TimerWhen: 0x1000, References: 3,
				Pointer: 0xffff8f5a40d7a1c0,
			}}, ""},
		{"none", head, nil, ""},
		{"nothing", "", nil, ""},
		{"cut off", head + "   0: 0100007F:0C64 00000000:0000 0A\n", nil, "line 2: got 4 fields"},
		{"no address", head + "0: 0100007:0C64 00000000:0000 0A 0:0 0:0 0 0 0 15721 1 ff\n", nil, `address "0100007:0C64"`},
		{"no port", head + "0: 0100007F 00000000:0000 0A 0:0 0:0 0 0 0 15721 1 ff\n", nil, `port of "0100007F"`},
		{"a port too large", head + "0: 0100007F:10000 00000000:0000 0A 0:0 0:0 0 0 0 15721 1 ff\n", nil, `port of "0100007F:10000"`},
		{"no queues", head + "0: 0100007F:0001 00000000:0000 0A 0 0:0 0 0 0 15721 1 ff\n", nil, "want a colon in each"},
		{"no number", head + "0: 0100007F:0001 00000000:0000 XX 0:0 0:0 0 0 0 15721 1 ff\n", nil, `"XX": invalid syntax`},
		{"a line without end", head + strings.Repeat("0", 100_000), nil, "too long"},
	} {
		var got []netstat.Socket

		err := netstat.ReadFile(fstest.MapFS{"table": {Data: []byte(tt.text)}}, "table", func(s netstat.Socket) error {
			got = append(got, s)

			return nil
		})
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.err)
		}

		if d := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}

	if err := netstat.ReadFile(fstest.MapFS{}, "udplite", nil); err != nil {
		t.Errorf("a protocol that the kernel lacks: %v", err)
	}

	stop := errors.New("stop")
	if err := netstat.Read(strings.NewReader(head+"0: 0100007F:1 00000000:0 0A 0:0 0:0 0 0 0 1 1 f\n"), func(netstat.Socket) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("stopped: got %v", err)
	}
}

func TestHasPeer(t *testing.T) {
	for remote, want := range map[string]bool{"0.0.0.0:0": false, "[::]:0": false, "0.0.0.0:1": true, "10.0.0.1:0": true} {
		if got := (netstat.Socket{Remote: addrPort(remote)}).HasPeer(); got != want {
			t.Errorf("%s: got %t, want %t", remote, got, want)
		}
	}
}

func TestOwners(t *testing.T) {
	proc := t.TempDir()

	for pid, files := range map[string][]string{
		"200": {"socket:[17]", "/dev/null", "socket:[18]", "socket:[x]", "pipe:[19]"},
		"12":  {"socket:[17]"},
		"13":  nil,
		"net": {"socket:[20]"},
	} {
		err := errors.Join(os.MkdirAll(filepath.Join(proc, pid, "fd"), 0o755), os.WriteFile(filepath.Join(proc, pid, "comm"), []byte("p"+pid+"\n"), 0o600))

		for i, f := range files {
			err = errors.Join(err, os.Symlink(f, filepath.Join(proc, pid, "fd", string(rune('0'+i)))))
		}

		if err != nil {
			t.Fatal(err)
		}
	}

	got, err := netstat.Owners(t.Context(), proc)
	if err != nil {
		t.Fatal(err)
	}

	want := map[uint64]netstat.Process{17: {PID: 12, Name: "p12"}, 18: {PID: 200, Name: "p200"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("   0: 0100007F:0C64 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 15721 1 ffff8f5a40d7a1c0 100 0 0 10 0")
	f.Add("0: : : : : : : : : : : :")
	f.Fuzz(func(t *testing.T, line string) {
		s, err := netstat.Parse(line)
		if err == nil && (!s.Local.IsValid() || !s.Remote.IsValid()) {
			t.Errorf("%q: got %+v without an error", line, s)
		}
	})
}
