// SPDX-License-Identifier: Apache-2.0

package value_test

import (
	"encoding"
	"testing"

	"github.com/seed-59268b81/talos/config/value"
)

// TestTexts checks which texts types take, and how they write them.
func TestTexts(t *testing.T) {
	for _, tt := range []struct {
		to   encoding.TextUnmarshaler
		text string
		want string // as it is written; nothing if the text is refused
	}{
		{new(value.ByteSize), "1048576", "1MiB"},
		{new(value.ByteSize), "10GiB", "10GiB"},
		{new(value.ByteSize), "10 gb", "10GB"},
		{new(value.ByteSize), "1.5GiB", "1536MiB"},
		{new(value.ByteSize), "100Mi", "100MiB"},
		{new(value.ByteSize), "0", "0"},
		{new(value.ByteSize), "18446744073709551615", ""},
		{new(value.ByteSize), "-1", ""},
		{new(value.ByteSize), "1XB", ""},
		{new(value.ByteSize), "", ""},
		{new(value.Size), "80%", "80%"},
		{new(value.Size), "-10GiB", "-10GiB"},
		{new(value.Size), "-5%", "-5%"},
		{new(value.Size), "0%", ""},
		{new(value.Size), "101%", ""},
		{new(value.Size), "--1", ""},
		{new(value.HexBytes), "00:01:a2", "0001a2"},
		{new(value.HexBytes), "0", ""},
		{new(value.HardwareAddr), "02:00:5E:10:00:01", "02:00:5e:10:00:01"},
		{new(value.HardwareAddr), "02:00", ""},
		{new(value.URL), "https://a.example:6443/x", "https://a.example:6443/x"},
		{new(value.URL), "a.example", ""},
		{new(value.URL), "https://:6443", ""},
		{new(value.URL), "https://a:0", ""},
	} {
		err := tt.to.UnmarshalText([]byte(tt.text))
		if (err == nil) != (tt.want != "") {
			t.Errorf("%T %q: got %v, want %q", tt.to, tt.text, err, tt.want)
		}

		if err != nil {
			continue
		}

		got, err := tt.to.(encoding.TextMarshaler).MarshalText()
		if err != nil || string(got) != tt.want {
			t.Errorf("%T %q: got %s, %v, want %s", tt.to, tt.text, got, err, tt.want)
		}
	}
}

// TestNames checks which texts types of names take.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		to    encoding.TextUnmarshaler
		text  string
		valid bool
	}{
		{new(value.SAN), "api.example.com", true},
		{new(value.SAN), "*.example.com", true},
		{new(value.SAN), "2001:db8::1", true},
		{new(value.SAN), "*", false},
		{new(value.SAN), "a.*.example", false},
		{new(value.SAN), "", false},
		{new(value.Host), "*.example.com", false},
		{new(value.Hostname), "node-1.example.com", true},
		{new(value.Hostname), "Node-1", true},
		{new(value.Hostname), "a_b", false},
		{new(value.Hostname), "-a", false},
		{new(value.LookupName), "a_b.example.com", true},
		{new(value.LookupName), "_dmarc.example.com.", true},
		{new(value.LookupName), "a..example", false},
		{new(value.LookupName), ".", false},
		{new(value.LookupName), "a b", false},
		{new(value.LookupName), "a\nb", false},
		{new(value.LookupName), "-a", false},
		{new(value.LinkName), "eth0.100", true},
		{new(value.LinkName), "a-name-of-17-byte", false},
		{new(value.LinkName), "..", false},
		{new(value.LinkName), "a/b", false},
		{new(value.Endpoint), "[2001:db8::1]:80", true},
		{new(value.Endpoint), "a.example", false},
		{new(value.Endpoint), "a.example:65536", false},
		{new(value.Image), "registry.k8s.io/a:v1@sha256:00", true},
		{new(value.Image), "a b", false},
		{new(value.WireguardKey), "a1AmpJpNUXb9JCfX+WLBPkkpQNYqFgOC4gEnrt8jKjM=", true},
		{new(value.WireguardKey), "a1AmpJpNUXb9JCfX", false},
		{new(value.Certificates), "text", false},
		{new(value.PrivateKey), "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", false},
	} {
		if err := tt.to.UnmarshalText([]byte(tt.text)); (err == nil) != tt.valid {
			t.Errorf("%T %q: got %v, want valid: %t", tt.to, tt.text, err, tt.valid)
		}
	}
}
