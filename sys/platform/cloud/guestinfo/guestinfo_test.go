// SPDX-License-Identifier: Apache-2.0

//go:build linux

package guestinfo

import (
	"errors"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name      string
		hw        platform.Hardware
		processor bool
		want      string
	}{
		{"a virtual machine", platform.Hardware{Vendor: "VMware, Inc.", Serial: "VMware-42 1c"}, true, ""},
		{"with the vendor of the host", platform.Hardware{Vendor: "Dell Inc.", Serial: "VMware-42 1c"}, true, ""},
		{"with a serial number of its own", platform.Hardware{Vendor: "VMware, Inc.", Serial: "A1"}, true, ""},
		{"another hypervisor with that firmware", platform.Hardware{Vendor: "VMware, Inc."}, false, "its processor does not name that hypervisor"},
		{"another hypervisor with that name", platform.Hardware{Vendor: "QEMU"}, true, `the vendor in its firmware is "QEMU"`},
		{"without firmware", platform.Hardware{}, true, `the vendor in its firmware is ""`},
	} {
		err := check(tt.hw, tt.processor)
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestFetch(t *testing.T) {
	answers := map[string]string{
		"info-get guestinfo.talos.config": "1 bWFjaGluZToge30K",
		"info-get guestinfo.empty":        "1 ",
		"info-get guestinfo.metadata":     "0 No value found",
		"info-get guestinfo.secret":       "0 Permission denied",
		"info-get guestinfo.nothing":      "",
		"info-get guestinfo.digit":        "1",
	}
	silent := errors.New("no channel")

	g := &Reader{ask: func(command string) ([]byte, error) {
		if answer, ok := answers[command]; ok {
			return []byte(answer), nil
		}

		return nil, silent
	}}

	fetch := func(url string) (string, error) {
		text, err := g.Fetch(t.Context(), cloud.Request{URL: url})

		return string(text), err
	}

	if got, err := fetch("guestinfo://talos.config"); got != "bWFjaGluZToge30K" || err != nil {
		t.Errorf("a value: got %q, %v", got, err)
	}

	if got, err := fetch("guestinfo://empty"); got != "" || err != nil {
		t.Errorf("an empty value: got %q, %v", got, err)
	}

	if _, err := fetch("guestinfo://metadata"); !errors.Is(err, cloud.ErrNotFound) {
		t.Errorf("no value: got error %v, want %v", err, cloud.ErrNotFound)
	}

	if _, err := fetch("guestinfo://secret"); err == nil || errors.Is(err, cloud.ErrNotFound) || !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("a refusal: got error %v, want its cause", err)
	}

	for _, url := range []string{"guestinfo://nothing", "guestinfo://digit"} {
		if got, err := fetch(url); got != "" || err == nil || errors.Is(err, cloud.ErrNotFound) {
			t.Errorf("%s: got %q, %v, want an error: the answer is not one of this protocol", url, got, err)
		}
	}

	if _, err := fetch("guestinfo://userdata"); !errors.Is(err, silent) {
		t.Errorf("no answer: got error %v, want %v", err, silent)
	}

	for _, url := range []string{"guestinfo://", "guestinfo://a b", "guestinfo://%s", "http://talos.config", "guestinfo://" + strings.Repeat("a", maxName+1)} {
		if _, err := fetch(url); err == nil || errors.Is(err, silent) {
			t.Errorf("%.40s: got error %v, want one without a request", url, err)
		}
	}

	if _, err := new(Reader).Fetch(t.Context(), cloud.Request{URL: "guestinfo://talos.config"}); err == nil {
		t.Error("the zero Reader: got no error")
	}
}

// TestElsewhere checks that a computer that is not VMware's is not asked.
func TestElsewhere(t *testing.T) {
	_, err := New(platform.Hardware{Vendor: "QEMU"}).Fetch(t.Context(), cloud.Request{URL: "guestinfo://talos.config"})
	if err == nil || !strings.Contains(err.Error(), "the computer is not a virtual machine of VMware") {
		t.Errorf("got error %v", err)
	}
}

// FuzzFetch asks for any name and gets any answer: the command is one for that name alone, and the value is what the answer says.
func FuzzFetch(f *testing.F) {
	for _, answer := range []string{"1 bWFjaGluZToge30K", "1 ", "1", "", "0 No value found", "0 Permission denied", "2 x"} {
		f.Add("talos.config", []byte(answer))
	}

	f.Add("a b", []byte("1 x"))

	f.Fuzz(func(t *testing.T, name string, answer []byte) {
		g := &Reader{ask: func(command string) ([]byte, error) {
			if words := strings.Fields(command); len(words) != 2 || words[0] != "info-get" || words[1] != "guestinfo."+name || len(command) > 200 {
				t.Errorf("got the command %q", command)
			}

			return answer, nil
		}}

		got, err := g.Fetch(t.Context(), cloud.Request{URL: "guestinfo://" + name})

		switch {
		case err == nil && "1 "+string(got) != string(answer):
			t.Errorf("got %q of the answer %q", got, answer)
		case err != nil && got != nil:
			t.Errorf("got %q with the error %v", got, err)
		case errors.Is(err, cloud.ErrNotFound) && string(answer) != "0 No value found":
			t.Errorf("no value is found in the answer %q", answer)
		case err != nil && len(err.Error()) > 5000:
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	})
}
