// SPDX-License-Identifier: Apache-2.0

package cloudvip

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// fuzz replaces one answer of a recorded cloud, and checks what a move relies on: it ends, it changes nothing but the address, and its error is
// one that can be logged.
func fuzz(f *testing.F, name string, addrs []string, hostile map[string]string, changes *regexp.Regexp, mover func(api, metadata caller) Mover) {
	f.Helper()

	recorded := record(f, name)
	keys := slices.Sorted(maps.Keys(recorded.answers))

	for i, key := range keys {
		for j := range addrs {
			f.Add(uint8(i), uint8(j), true, []byte(recorded.answers[key][0].body))
		}
	}

	for key, text := range hostile {
		f.Add(uint8(slices.Index(keys, key)), uint8(0), true, []byte(text))
	}

	f.Add(uint8(0), uint8(0), false, []byte(`{"error": {"code": "locked", "message": "the server is locked"}}`))
	f.Add(uint8(0), uint8(0), false, []byte(`{"errors": ["it is not routable"]}`))

	f.Fuzz(func(t *testing.T, which, addr uint8, ok bool, text []byte) {
		status := http.StatusOK
		if !ok {
			status = http.StatusUnprocessableEntity
		}

		r := &recording{answers: maps.Clone(recorded.answers), tokens: map[string]bool{}}
		r.answers[keys[int(which)%len(keys)]] = []answer{{status, string(text)}}

		synctest.Test(t, func(t *testing.T) { // actions that never end, and their timeouts
			client := &http.Client{Timeout: callTimeout, Transport: &direct{t: t, cloud: r, most: 500 + 4*len(text)}}
			m := mover(
				caller{client: client, root: "http://cloud.example/api", header: "Authorization", token: "secret"},
				caller{client: client, root: "http://cloud.example/metadata"},
			)

			err := m.Move(t.Context(), netip.MustParseAddr(addrs[int(addr)%len(addrs)]))
			if err != nil && (strings.Contains(err.Error(), "secret") && !strings.Contains(string(text), "secret") || len(err.Error()) > 2000) {
				t.Errorf("the error of %d bytes: %.2000s", len(err.Error()), err)
			}
		})

		for _, change := range r.changes {
			if !changes.MatchString(change) {
				t.Errorf("got the change %s", change)
			}
		}

		if r.tokens["told to the metadata server"] {
			t.Error("the token is sent to the metadata server")
		}
	})
}

// direct calls the recorded cloud without a connection.
type direct struct {
	t           *testing.T
	cloud       http.Handler
	calls, most int
}

// RoundTrip implements http.RoundTripper.
func (d *direct) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}

	if d.calls++; d.calls > d.most {
		d.t.Fatalf("%d calls", d.calls)
	}

	if p := request.URL.Path; path.Clean(p) != p || request.URL.Host != "cloud.example" || request.URL.Fragment != "" {
		d.t.Errorf("got a request to %.300s", request.URL)
	}

	w := httptest.NewRecorder()
	d.cloud.ServeHTTP(w, request)

	return w.Result(), nil
}

func FuzzHCloud(f *testing.F) {
	long := strings.Repeat("x", 5000)
	hostile := map[string]string{
		"GET /metadata/instance-id":                     long,
		"GET /api/networks/6":                           `{"network": {"ip_range": "` + long + `"}}`,
		"GET /api/servers?page=1&per_page=50":           `{"servers": [], "meta": {"pagination": {"next_page": 1}}}`,
		"POST /api/servers/11/actions/change_alias_ips": `{"action": {"id": 901, "status": "` + long + `"}}`,
		"POST /api/servers/22/actions/change_alias_ips": `{"action": {"id": 0, "status": "running"}}`,
		"GET /api/servers/11":                           `{"server": {"private_net": [{"network": 1` + strings.Repeat("0", 5000) + `}]}}`,
		"GET /api/floating_ips?page=1&per_page=50":      `{"floating_ips": [{"id": -1, "ip": "0.0.0.0/0"}, {"ip": "::/0"}]}`,
		"POST /api/floating_ips/502/actions/assign":     `null`,
	}

	changes := regexp.MustCompile(`^POST /api/(servers/-?\d+/actions/change_alias_ips \{"alias_ips":\[.*\],"network":-?\d+}|` +
		`floating_ips/-?\d+/actions/assign \{"server":-?\d+})$`)

	fuzz(f, "hcloud", []string{"10.0.0.50", "10.0.0.9", "192.0.2.51", "2001:db8:1::5"}, hostile, changes,
		func(api, metadata caller) Mover { return &hcloud{api, metadata} })
}

func FuzzEquinix(f *testing.F) {
	hostile := map[string]string{
		"GET /metadata/metadata":          `{"id": "` + strings.Repeat("x", 5000) + `"}`,
		"GET /api/devices/device-a":       `{"project": {"href": ".."}}`,
		"GET /api/projects/project-1/ips": `{"ip_addresses": [{"network": "192.0.2.48", "cidr": 28, "assignments": [{"href": "a?b"}, {"href": ""}]}]}`,
		"GET /api/ips/assigned-50":        `{"network": "192.0.2.50", "cidr": 0, "assigned_to": {}}`,
	}

	changes := regexp.MustCompile(`^(DELETE /api/ips/[\w-]+|POST /api/devices/[\w-]+/ips \{"address":"(192\.0\.2\.50/32|192\.0\.2\.51/32|2001:db8::1/128)"})$`)

	fuzz(f, "equinix", []string{"192.0.2.50", "192.0.2.51", "2001:db8::1"}, hostile, changes,
		func(api, metadata caller) Mover { return &equinix{api, metadata} })
}
