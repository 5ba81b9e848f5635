// SPDX-License-Identifier: Apache-2.0

package manifestsync

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/kube"
)

func TestInventory(t *testing.T) {
	wanted := []kube.Object{
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": kube.Object{"namespace": "kube-system", "name": "a"}},
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": kube.Object{"name": "system:b"}},
	}
	present := kube.Object{"data": kube.Object{"kube-system_old__ConfigMap": "", "kube-system_gone__ConfigMap": ""}}
	pruned := []kube.Object{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": kube.Object{"namespace": "kube-system", "name": "gone"}}}

	got, changed := inventory(present, wanted, pruned)
	want := kube.Object{"kube-system_old__ConfigMap": "", "kube-system_a__ConfigMap": "", "_system__b_rbac.authorization.k8s.io_ClusterRole": ""}

	if diff := cmp.Diff(want, got); diff != "" || !changed {
		t.Errorf("changed %v (-want +got):\n%s", changed, diff)
	}

	if _, changed := inventory(kube.Object{"data": got}, wanted, pruned); changed {
		t.Error("nothing new: got a change, want none")
	}
}

func TestIdentified(t *testing.T) {
	for _, want := range []kube.Object{
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": kube.Object{"namespace": "kube-system", "name": "a"}},
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": kube.Object{"name": "system:b"}},
	} {
		got, ok := identified(identity(want))
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: got %t (-want +got):\n%s", identity(want), ok, diff)
		}
	}

	for _, id := range []string{"", "v1/Pod/a", "a/b/c/d/e/f"} {
		if _, ok := identified(id); ok {
			t.Errorf("%q: got an object, want none", id)
		}
	}
}

func TestHash(t *testing.T) {
	object := kube.Object{"kind": "Secret", "data": kube.Object{"a": "b"}}

	copied, err := clone(object)
	if err != nil {
		t.Fatal(err)
	}

	one, _ := hash([]byte("key"), object)
	again, _ := hash([]byte("key"), copied)
	other, _ := hash([]byte("another"), object)

	if one != again || one == other || len(one) != 32 {
		t.Errorf("got %s, %s of a copy and %s with another key", one, again, other)
	}
}

const deployment = `{"metadata": {"labels": {"app.kubernetes.io/name": "a", "app": "b"}, "finalizers": ["x", "y"]},
"spec": {"replicas": 2, "args": ["a", "b"], "ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP", "name": "t"}],
"containers": [{"name": "a", "image": "one"}, {"name": "b]", "image": "two", "env": [{"name": "E", "value": "v"}]}]}}`

func TestRemove(t *testing.T) {
	for path, gone := range map[string]string{
		".spec.replicas": `"replicas": 2, `,
		".metadata.labels.app.kubernetes.io/name":           `"app.kubernetes.io/name": "a", `,
		".metadata.labels.app":                              `, "app": "b"`,
		`.spec.containers[name="a"].image`:                  `, "image": "one"`,
		`.spec.containers[name="b]"].env[name="E"].value`:   `, "value": "v"`,
		`.spec.containers[name="a"]`:                        `{"name": "a", "image": "one"}, `,
		`.metadata.finalizers["x"]`:                         `"x", `,
		`.metadata.finalizers[="y"]`:                        `, "y"`,
		`.spec.args[1]`:                                     `, "b"`,
		`.spec.ports[containerPort=53,protocol="TCP"].name`: `, "name": "t"`,
		`.spec.ports[containerPort=53,protocol="UDP"]`:      `{"containerPort": 53, "protocol": "UDP"}, `,
		`.spec.absent`:                                      "", `.spec.containers[name="c"].image`: "", `spec`: "", `.spec.containers[name=`: "", `.spec.args[7]`: "",
		`.spec.containers[name="a"`: "", `.spec.args[0].x`: "", `.spec.replicas.x`: "", "": "", ".": "",
	} {
		got, want := decode(t, deployment), decode(t, without(t, deployment, gone))

		if ok := remove(got, path); ok != (gone != "") {
			t.Errorf("%s: got %t", path, ok)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}

	// YAML has integers, JSON has only floats.
	object := map[string]any{"ports": []any{map[string]any{"port": 53, "name": "x"}, map[string]any{"port": int64(54), "name": "y"}}}
	if !remove(object, `.ports[port=54,protocol="TCP"].name`) {
		t.Error("a key with a default: got no field")
	}
}

func without(t *testing.T, text, part string) string {
	t.Helper()

	for i := range text {
		if part != "" && len(text) >= i+len(part) && text[i:i+len(part)] == part {
			return text[:i] + text[i+len(part):]
		}
	}

	if part != "" {
		t.Fatalf("there is no %s", part)
	}

	return text
}

func decode(t *testing.T, text string) (out map[string]any) {
	t.Helper()

	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}

	return out
}

// FuzzRemove checks that remove changes an object if and only if it reports so, for any path of an API server.
func FuzzRemove(f *testing.F) {
	for _, seed := range []string{`.spec.containers[name="a"].image`, ".metadata.labels.app.kubernetes.io/name", `.metadata.finalizers["x"]`, ".spec.args[0]", `.a[b=1,c="]"]`} {
		f.Add(deployment, seed)
	}

	f.Fuzz(func(t *testing.T, text, path string) {
		var object map[string]any
		if json.Unmarshal([]byte(text), &object) != nil {
			return
		}

		before, _ := json.Marshal(object)
		removed := remove(object, path)
		after, _ := json.Marshal(object)

		if removed != (len(after) < len(before)) {
			t.Errorf("%s: got %t for\n%s\nand then\n%s", path, removed, before, after)
		}
	})
}
