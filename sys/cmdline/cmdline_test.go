// SPDX-License-Identifier: Apache-2.0

package cmdline

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		want       []Argument
	}{
		{"empty", " \n", nil},
		{"plain", "quiet pti=on\n", []Argument{{Name: "quiet"}, {Name: "pti", Value: "on", HasValue: true}}},
		{"empty value", "slab_nomerge=", []Argument{{Name: "slab_nomerge", HasValue: true}}},
		{"quoted value", `dyndbg="file a.c +p" b`, []Argument{{Name: "dyndbg", Value: "file a.c +p", HasValue: true}, {Name: "b"}}},
		{"quoted whole", `"a=b c"`, []Argument{{Name: "a", Value: "b c", HasValue: true}}},
		{"open quote", `a="b c`, []Argument{{Name: "a", Value: "b c", HasValue: true}}},
		{"several equals", "root=UUID=1-2", []Argument{{Name: "root", Value: "UUID=1-2", HasValue: true}}},
		{"for init", "a -- b", []Argument{{Name: "a"}}},
		{"tabs and lines", "a\tb\nc", []Argument{{Name: "a"}, {Name: "b"}, {Name: "c"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Parse(tt.line).args); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGet(t *testing.T) {
	c := Parse("console=ttyS0 talos.hostname=a console=tty0 module.sig-enforce=1 talos.hostname=b")

	if got, _ := c.Get("talos.hostname"); got != "b" {
		t.Errorf("the last one wins: got %q", got)
	}

	if diff := cmp.Diff([]string{"ttyS0", "tty0"}, c.All("console")); diff != "" {
		t.Errorf("All (-want +got):\n%s", diff)
	}

	if got, _ := c.Get("module.sig_enforce"); got != "1" {
		t.Errorf("hyphen and underscore are the same: got %q", got)
	}

	if _, ok := c.Get("absent"); ok {
		t.Error("found what is not there")
	}
}

func TestParseIP(t *testing.T) {
	for _, tt := range []struct {
		value   string
		want    IP
		wantErr string
	}{
		{value: "dhcp", want: IP{DHCP: true}},
		{value: "off", want: IP{Off: true}},
		{value: "eth1:dhcp", want: IP{DHCP: true, Device: "eth1"}},
		{value: ":::::eth0:dhcp", want: IP{DHCP: true, Device: "eth0"}},
		{
			value: "172.20.0.2::172.20.0.1:255.255.255.0:node:eth0:none:172.20.0.1:0.0.0.0:172.20.0.9",
			want: IP{
				Address: netip.MustParsePrefix("172.20.0.2/24"), Gateway: netip.MustParseAddr("172.20.0.1"), Hostname: "node", Device: "eth0",
				DNS: []netip.Addr{netip.MustParseAddr("172.20.0.1")}, NTP: []netip.Addr{netip.MustParseAddr("172.20.0.9")},
			},
		},
		{value: "10.0.0.1:::20", want: IP{Address: netip.MustParsePrefix("10.0.0.1/20")}},
		{value: "10.0.0.1", want: IP{Address: netip.MustParsePrefix("10.0.0.1/32")}},
		{value: "[2001:db8::2]::[2001:db8::1]:64::eth0:off", want: IP{Address: netip.MustParsePrefix("2001:db8::2/64"), Gateway: netip.MustParseAddr("2001:db8::1"), Device: "eth0", Off: true}},
		{value: "10.0.0.1:::255.0.255.0", wantErr: "netmask 255.0.255.0 has holes"},
		{value: "10.0.0.1:::33", wantErr: `netmask "33"`},
		{value: "10.0.0.300", wantErr: "client address"},
		{value: "10.0.0.1::x", wantErr: "gateway"},
		{value: ":::::eth0:auto6", wantErr: `autoconfiguration "auto6" is not supported`},
		{value: "a:b:c:d:e:f:g:h:i:j:k", wantErr: "11 fields"},
	} {
		got, err := ParseIP(tt.value)
		if (err != nil) != (tt.wantErr != "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("ParseIP(%q): got error %v, want %q", tt.value, err, tt.wantErr)
		}

		if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); err == nil && diff != "" {
			t.Errorf("ParseIP(%q) (-want +got):\n%s", tt.value, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a=b", `a="b c" d`, `"a b"=c`, "slab_nomerge= pti=on ip=dhcp -- x", `a"b c"d=e`} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, line string) {
		c := Parse(line)

		for _, a := range c.args {
			if strings.ContainsAny(a.Name, "=") {
				t.Errorf("name %q", a.Name)
			}

			if got, ok := c.Get(a.Name); !ok || !slices.Contains(c.All(a.Name), got) {
				t.Errorf("Get(%q) = %q, %v of %q", a.Name, got, ok, c.All(a.Name))
			}
		}

		// An argument at the end is found, whatever is before it, unless it is in quotes or for init.
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(space, r) })
		if more := Parse(line + " talos.fuzz=1"); !strings.Contains(line, `"`) && !slices.Contains(words, "--") {
			if got, _ := more.Get("talos.fuzz"); got != "1" {
				t.Errorf("got %q", got)
			}
		}
	})
}

func FuzzParseIP(f *testing.F) {
	f.Add("172.20.0.2::172.20.0.1:255.255.255.0:node:eth0:none:172.20.0.1")
	f.Add("[::1]::[::2]:64")
	f.Fuzz(func(t *testing.T, value string) {
		ip, err := ParseIP(value)
		if err == nil && ip.Address.Addr().IsValid() && !ip.Address.IsValid() {
			t.Errorf("%q: prefix of %d bits", value, ip.Address.Bits())
		}
	})
}
