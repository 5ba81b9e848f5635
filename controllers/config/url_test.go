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

// FuzzExpand checks that a value never changes the server, nor adds a parameter.
func FuzzExpand(f *testing.F) {
	f.Add("/${uuid}?m=${mac}", "4c4c")
	f.Add("?s=${serial}&c=${code}", "a&b=c#d/../e?f@host")
	f.Fuzz(func(t *testing.T, tail, value string) {
		one := func(v string) (*url.URL, error) {
			text, err := expand("http://server.example:8080/"+tail, func(string) (string, error) { return v, nil })
			if err != nil {
				return nil, err
			}

			return url.Parse(text)
		}

		got, err := one(value)
		if err != nil {
			return
		}

		plain, err := one("x")
		if err != nil {
			return
		}

		if got.Host != "server.example:8080" || len(got.Query()) > len(plain.Query()) || got.Fragment != plain.Fragment && !strings.Contains(plain.Fragment, "x") {
			t.Errorf("%q with %q: got %s", tail, value, got)
		}
	})
}
