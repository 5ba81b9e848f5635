// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"net/http/httptest"
	"testing"
)

// TestMetal checks that a machine gets its configuration, unless it claims to be another one.
func TestMetal(t *testing.T) {
	in := testInstance(Metal)
	in.ID = "0e8a3b5c-1d2f-4a6b-8c7d-9e0f1a2b3c4d"

	server, err := New([]Instance{in})
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name, url string
		status    int
	}{
		{"no variable", ConfigPath, 200},
		{"all variables", ConfigPath + "?uuid=0E8A3B5C-1D2F-4A6B-8C7D-9E0F1A2B3C4D&mac=52:54:00:00:00:02&hostname=node-1.lab.example", 200},
		{"a name without its domain", ConfigPath + "?hostname=node-1", 200},
		{"its second card", ConfigPath + "?mac=52:54:00:00:00:03", 200},
		{"another UUID", ConfigPath + "?uuid=0e8a3b5c-1d2f-4a6b-8c7d-000000000000", 403},
		{"another card", ConfigPath + "?uuid=0e8a3b5c-1d2f-4a6b-8c7d-9e0f1a2b3c4d&mac=52:54:00:00:00:ff", 403},
		{"a variable without its value", ConfigPath + "?hostname=", 403},
		{"a variable that was not replaced", ConfigPath + "?hostname=$%7Bhostname%7D", 403},
		{"another path", "/user-data", 404},
	} {
		w := httptest.NewRecorder()
		server.Serve(w, httptest.NewRequest("GET", tt.url, nil), "node-1")

		if w.Code != tt.status || (w.Body.String() == userData) != (tt.status == 200) {
			t.Errorf("%s: got %d, %q, want %d", tt.name, w.Code, w.Body, tt.status)
		}
	}
}
