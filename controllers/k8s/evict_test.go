// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// evictable is an API server with the pods of a node. An evicted pod is listed two more times.
type evictable struct {
	mu    sync.Mutex
	pods  []kube.Object
	looks int // reads of the Node until it is cordoned
	asked []string
	left  map[string]int
}

func (e *evictable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()

	reply := func(code int, object kube.Object) {
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(object) // the client reports it
	}

	switch parts := strings.Split(r.URL.Path, "/"); {
	case strings.HasPrefix(r.URL.Path, "/api/v1/nodes/"):
		e.looks--
		reply(http.StatusOK, kube.Object{"spec": kube.Object{"unschedulable": e.looks <= 0}})
	case strings.HasSuffix(r.URL.Path, "/eviction"):
		name := parts[len(parts)-2]
		e.asked = append(e.asked, name)

		if name == "kept" {
			reply(http.StatusTooManyRequests, kube.Object{"kind": "Status", "message": "its budget"})

			return
		}

		e.left[name] = 2
		reply(http.StatusCreated, kube.Object{})
	default:
		e.pods = slices.DeleteFunc(e.pods, func(p kube.Object) bool {
			name, _ := p["metadata"].(kube.Object)["name"].(string)
			n, evicted := e.left[name]
			e.left[name] = n - 1

			return evicted && n <= 0
		})
		reply(http.StatusOK, kube.Object{"items": e.pods})
	}
}

func podObject(name, owner, phase string, annotations kube.Object) kube.Object {
	md := kube.Object{"namespace": "default", "name": name, "uid": name, "annotations": annotations}
	if owner != "" {
		md["ownerReferences"] = []any{kube.Object{"kind": owner, "controller": true}}
	}

	return kube.Object{"metadata": md, "status": kube.Object{"phase": phase}}
}

func TestEvict(t *testing.T) {
	mirror := kube.Object{kube.MirrorAnnotation: "x"}
	e := &evictable{looks: 3, left: map[string]int{}, pods: []kube.Object{
		podObject("web", "ReplicaSet", "Running", nil),
		podObject("db", "StatefulSet", "Pending", nil),
		podObject("kept", "ReplicaSet", "Running", nil),
		podObject("ended", "Job", "Succeeded", nil),
		podObject("proxy", "DaemonSet", "Running", nil),
		podObject("static", "Node", "Running", mirror),
		podObject("bare", "", "Running", nil),
	}}
	server := httptest.NewTLSServer(e)
	defer server.Close()

	client, err := kube.New(kubeconfig.Config{Server: server.URL, CA: certificateOf(server), Token: "a.b"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	// A pod that its budget keeps is reported, and the others have left.
	err = evict(t.Context(), client, "n1")
	if err == nil || !strings.Contains(err.Error(), "default/kept") || strings.Contains(err.Error(), "default/web") {
		t.Errorf("got %v, want an error about the kept pod only", err)
	}

	slices.Sort(e.asked)

	if diff := cmp.Diff([]string{"db", "kept", "web"}, e.asked); diff != "" {
		t.Errorf("evicted (-want +got):\n%s", diff)
	}

	// The pods would come back to a node that is not cordoned.
	e.looks, e.asked = 1000, nil

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()

	if err := evict(ctx, client, "n1"); err == nil || len(e.asked) > 0 {
		t.Errorf("not cordoned: got %v, and %q were evicted", err, e.asked)
	}
}
