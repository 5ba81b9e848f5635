// SPDX-License-Identifier: Apache-2.0

package cloudvip

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// recording is an API with recorded answers: "METHOD PATH STATUS", the answer, an empty line. An answer is used once, but the last one of
// a request again and again. Another request has status 404.
type recording struct {
	answers map[string][]answer
	changes []string        // requests that are not GET, with their bodies
	tokens  map[string]bool // of the requests to the API
}

type answer struct {
	status int
	body   string
}

// play starts a server with a recording.
func play(t *testing.T, name string) (*recording, string) {
	t.Helper()

	r := record(t, name)
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)

	return r, s.URL
}

// record reads a recording.
func record(t testing.TB, name string) *recording {
	t.Helper()

	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}

	r := &recording{answers: map[string][]answer{}, tokens: map[string]bool{}}

	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		head, body, _ := strings.Cut(part, "\n")
		fields := strings.Fields(head)
		key := fields[0] + " " + fields[1]

		status := http.StatusOK
		if len(fields) > 2 {
			status = map[string]int{"201": 201, "204": 204, "401": 401, "422": 422}[fields[2]]
		}

		r.answers[key] = append(r.answers[key], answer{status, body})
	}

	return r
}

// ServeHTTP implements http.Handler. Requests come one after the other.
func (r *recording) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	key := request.Method + " " + request.URL.RequestURI()

	if request.Method != http.MethodGet {
		r.changes = append(r.changes, strings.TrimSpace(key+" "+string(body)))
	}

	if !strings.HasPrefix(request.URL.Path, "/metadata") {
		r.tokens[request.Header.Get("Authorization")+request.Header.Get("X-Auth-Token")] = true
	} else if len(request.Header["Authorization"])+len(request.Header["X-Auth-Token"]) > 0 {
		r.tokens["told to the metadata server"] = true
	}

	answers := r.answers[key]
	if len(answers) == 0 {
		http.NotFound(w, request)

		return
	}

	if len(answers) > 1 {
		r.answers[key] = answers[1:]
	}

	w.WriteHeader(answers[0].status)
	_, _ = io.WriteString(w, answers[0].body)
}

// TestMove: what is changed in the cloud, and what a move that fails says.
func TestMove(t *testing.T) {
	for _, tt := range []struct {
		name, recording, addr string
		changes               []string
		err                   string
	}{
		{"an alias of another machine", "hcloud", "10.0.0.50", []string{
			`POST /api/servers/22/actions/change_alias_ips {"alias_ips":["10.0.0.60"],"network":7}`,
			`POST /api/servers/11/actions/change_alias_ips {"alias_ips":["10.0.0.9","10.0.0.50"],"network":7}`,
		}, ""},
		{"an alias that this machine has", "hcloud", "10.0.0.9", nil, ""},
		{"the API refuses", "hcloud-locked", "10.0.0.60", []string{`POST /api/servers/22/actions/change_alias_ips {"alias_ips":["10.0.0.50"],"network":7}`},
			"server 22 is locked"},
		{"a floating address", "hcloud", "192.0.2.51", []string{`POST /api/floating_ips/502/actions/assign {"server":11}`}, ""},
		{"a floating address that this machine has", "hcloud", "192.0.2.50", nil, ""},
		{"a floating network", "hcloud", "2001:db8:1::5", []string{`POST /api/floating_ips/503/actions/assign {"server":11}`}, "the action ended with status \"error\": no capacity"},
		{"an unknown address", "hcloud", "198.51.100.1", nil, "nor a floating address"},
		{"another token", "hcloud-token", "10.0.0.50", nil, "401 Unauthorized: unable to authenticate"},
		{"an elastic address of another machine", "equinix", "192.0.2.50", []string{"DELETE /api/ips/assigned-50", `POST /api/devices/device-a/ips {"address":"192.0.2.50/32"}`}, ""},
		{"an elastic address that this machine has", "equinix", "192.0.2.51", nil, ""},
		{"an elastic address that the API refuses", "equinix-refuses", "2001:db8::1", []string{`POST /api/devices/device-a/ips {"address":"2001:db8::1/128"}`}, "422 Unprocessable Entity: it is not routable"},
		{"no reservation", "equinix", "198.51.100.1", nil, "in no reservation"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, url := play(t, tt.recording)

			api := caller{client: apiClient, root: url + "/api", header: "Authorization", token: "Bearer secret"}
			metadata := caller{client: metadataClient, root: url + "/metadata"}

			var mover Mover = &hcloud{api, metadata}
			if strings.HasPrefix(tt.recording, "equinix") {
				api.header = "X-Auth-Token"
				mover = &equinix{api, metadata}
			}

			err := mover.Move(t.Context(), netip.MustParseAddr(tt.addr))
			if (err != nil) != (tt.err != "") || err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("got %v, want %q", err, tt.err)
			}

			if diff := cmp.Diff(tt.changes, r.changes); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}

			if want := map[string]bool{"Bearer secret": true}; !cmp.Equal(r.tokens, want) {
				t.Errorf("got the tokens %v, want %v", r.tokens, want)
			}
		})
	}
}
