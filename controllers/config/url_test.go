// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

func valueOf(name string) (string, error) {
	value, ok := map[string]string{
		"uuid": "4c4c4544-0042", "serial": "A&B/ 1", "mac": "52:54:00:00:00:02", "hostname": "node-1.lab", "code": "x=y",
	}[name]
	if !ok {
		return "", errors.New("unknown variable " + name)
	}

	return value, nil
}

func TestExpand(t *testing.T) {
	for _, tt := range []struct{ text, want, wantErr string }{
		{"http://10.5.0.1/config.yaml", "http://10.5.0.1/config.yaml", ""},
		{"https://lab/${uuid}?m=${mac}&h=${hostname}", "https://lab/4c4c4544-0042?m=52%3A54%3A00%3A00%3A00%3A02&h=node-1.lab", ""},
		{"https://lab/${serial}/x?s=${serial}&c=${code}", "https://lab/A&B%2F%201/x?s=A%26B%2F+1&c=x%3Dy", ""},
		{"https://lab/$uuid?x={uuid}", "https://lab/$uuid?x={uuid}", ""},
		{"https://lab/a|b/${serial}", "https://lab/a%7Cb/A&B%2F%201", ""},
		{"https://${hostname}:8443", "https://node-1.lab:8443", ""},
		{"https://${serial}.lab/x", "", `the variable ${serial}: the value "A&B/ 1" cannot be a part of the name of a server`},
		{"https://u:${serial}@lab:1/x", "https://u:A&B%2F%201@lab:1/x", ""},
		{"https://${mac}/x", "", "cannot be a part of the name"},
		{"https://lab/?x=%${uuid}", "", "would complete the % before it"},
		{"https://lab/%4${uuid}", "", "would complete the % before it"},
		{"https://lab/%41${uuid}", "https://lab/%414c4c4544-0042", ""},
		{"https://lab/${uuid", "", "not closed"},
		{"https://lab/${other}", "", "unknown variable other"},
		{"file:///etc/passwd", "", "want a URL with http:// or https://, or metal-iso"},
		{"lab/config", "", "want a URL"},
	} {
		got, err := expand(tt.text, valueOf)
		if got != tt.want || (err != nil) != (tt.wantErr != "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("expand(%q): got %q, %v, want %q, %q", tt.text, got, err, tt.want, tt.wantErr)
		}
	}
}

// FuzzExpand checks that a value never changes the server, nor adds a segment of the path or a parameter.
func FuzzExpand(f *testing.F) {
	f.Add("server.example:8080/${uuid}?m=${mac}", "4c4c")
	f.Add("server.example?s=${serial}&c=${code}", "a&b=c#d/../e?f@host")
	f.Add("server.example/?%${code}", "41")
	f.Add("server.example/?x&${code}", "y")
	f.Add("server.example/|/${code}", "a/b")
	f.Add("a${code}b/", "@evil.example/")
	f.Fuzz(func(t *testing.T, address, value string) {
		one := func(v string) (*url.URL, error) {
			text, err := expand("http://"+address, func(string) (string, error) { return v, nil })
			if err != nil {
				return nil, err
			}

			return url.Parse(text)
		}

		got, err := one(value)
		if err != nil {
			return
		}

		plain, err := one("7")
		if err != nil {
			return
		}

		authority := func(u *url.URL) string { return u.User.String() + "@" + u.Host }

		for _, same := range []struct{ what, sign, got, plain string }{
			{"users", "@", authority(got), authority(plain)}, {"ports", ":", authority(got), authority(plain)},
			{"segments", "/", got.EscapedPath(), plain.EscapedPath()}, {"parameters", "&", got.RawQuery, plain.RawQuery}, {"parameters", ";", got.RawQuery, plain.RawQuery},
			{"names", "=", got.RawQuery, plain.RawQuery},
		} {
			if strings.Count(same.got, same.sign) != strings.Count(same.plain, same.sign) {
				t.Errorf("%q with %q: got %q, with another value %q: want as many %s", address, value, same.got, same.plain, same.what)
			}
		}

		if server, _ := cutBefore(address, "/?#"); !strings.Contains(server, "${") && authority(got) != authority(plain) {
			t.Errorf("%q with %q: got the server %s, with another value %s", address, value, got.Host, plain.Host)
		}

		if (got.Fragment == "") != (plain.Fragment == "") && value != "" {
			t.Errorf("%q with %q: got %s, with another value %s", address, value, got, plain)
		}
	})
}
