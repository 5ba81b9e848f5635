// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/k8s/servingcert"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// TestApprove checks that only the judged request is approved, and only once.
func TestApprove(t *testing.T) {
	t.Parallel()

	const path = signingRequestsPath + "/csr-1"

	request := func(uid string, conditions ...any) kube.Object {
		return kube.Object{
			"metadata": kube.Object{"name": "csr-1", "uid": uid, "resourceVersion": "7"},
			"spec":     kube.Object{"request": "eA=="}, "status": kube.Object{"conditions": conditions},
		}
	}

	for name, test := range map[string]struct {
		// there is the request as it is read, nil if there is none; answer is the status of the approval.
		there  kube.Object
		answer int
		// writes is the number of approvals sent; fails reports whether approve returns an error.
		writes int
		fails  bool
	}{
		"as judged":                   {there: request("u"), answer: http.StatusOK, writes: 1},
		"another of that name":        {there: request("other"), answer: http.StatusOK},
		"denied in between":           {there: request("u", kube.Object{"type": "Denied"}), answer: http.StatusOK},
		"approved in between":         {there: request("u", kube.Object{"type": "Approved"}), answer: http.StatusOK},
		"gone":                        {},
		"deleted after it was read":   {there: request("u"), answer: http.StatusNotFound, writes: 1},
		"another approver is first":   {there: request("u"), answer: http.StatusConflict, writes: 1},
		"the permissions are missing": {there: request("u"), answer: http.StatusForbidden, writes: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var sent []kube.Object

			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var body kube.Object

				switch {
				case r.Method == http.MethodPut && r.URL.Path == path+"/approval":
					_ = json.NewDecoder(r.Body).Decode(&body) // an empty body fails the test
					sent = append(sent, body)

					w.WriteHeader(test.answer)
				case r.Method != http.MethodGet || r.URL.Path != path:
					t.Errorf("got %s %s", r.Method, r.URL.Path)
				case test.there == nil:
					w.WriteHeader(http.StatusNotFound)
				default:
					body = test.there
				}

				_ = json.NewEncoder(w).Encode(body) // the client reports it
			}))
			defer server.Close()

			client, err := kube.New(kubeconfig.Config{Server: server.URL, CA: certificateOf(server)})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()

			err = approve(t.Context(), client, servingcert.Request{Name: "csr-1", UID: "u", Username: "system:node:w1"})
			if (err != nil) != test.fails || len(sent) != test.writes {
				t.Errorf("got %v and %d approvals, want an error %t and %d", err, len(sent), test.fails, test.writes)
			}

			for _, object := range sent {
				want := []any{kube.Object{
					"type": "Approved", "status": "True", "reason": "KubeletServingApproved",
					"message": "all names and addresses are those of Node w1 and of no other",
				}}

				status, _ := object["status"].(kube.Object)
				metadata, _ := object["metadata"].(kube.Object)

				if diff := cmp.Diff(want, status["conditions"]); diff != "" || metadata["resourceVersion"] != "7" {
					t.Errorf("version %v, conditions (-want +got):\n%s", metadata["resourceVersion"], diff)
				}
			}
		})
	}
}
