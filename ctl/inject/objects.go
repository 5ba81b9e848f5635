// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/controllers/k8s/talosaccess"
	"github.com/seed-59268b81/talos/kube"
)

// volume is the name of the volume with the credentials.
const volume = "talos-secrets"

// templates are the paths of the pod in each kind of objects that has one.
var templates = map[string][]string{
	"Pod":                   {"spec"},
	"Deployment":            {"spec", "template", "spec"},
	"DaemonSet":             {"spec", "template", "spec"},
	"StatefulSet":           {"spec", "template", "spec"},
	"ReplicaSet":            {"spec", "template", "spec"},
	"ReplicationController": {"spec", "template", "spec"},
	"Job":                   {"spec", "template", "spec"},
	"CronJob":               {"spec", "jobTemplate", "spec", "template", "spec"},
}

// ServiceAccounts adds to each pod in a text of manifests the volume with the credentials, and to the text the objects that request them, with
// the roles. A text that has them already stays as it is.
func ServiceAccounts(text []byte, roles []string) ([]byte, error) {
	objects, err := decode(text)
	if err != nil {
		return nil, err
	}

	var (
		out      []kube.Object
		injected int
	)

	for _, object := range objects {
		account, err := inject(object, roles)
		if err != nil {
			return nil, err
		}

		out = append(out, object)

		if account == nil {
			continue
		}

		injected++

		// A second run replaces the roles of the first.
		if i := slices.IndexFunc(objects, func(other kube.Object) bool { return same(other, account) }); i >= 0 {
			objects[i]["spec"] = account["spec"]
		} else if !slices.ContainsFunc(out, func(other kube.Object) bool { return same(other, account) }) {
			out = append(out, account)
		}
	}

	if injected == 0 {
		return nil, errors.New("the manifest has no object with pods, such as a Deployment")
	}

	return encode(out)
}

// inject adds the volume to an object, and returns the request for credentials; nil if the object has no pods.
func inject(object kube.Object, roles []string) (kube.Object, error) {
	_, kind, namespace, name := kube.Identity(object)

	at, known := templates[kind]
	if !known {
		return nil, nil
	}

	pod := kube.At[kube.Object](object, at...)
	if pod == nil || name == "" {
		return nil, fmt.Errorf("%s %q: want metadata.name and a pod", kind, name)
	}

	secret := name + "-" + volume

	pod["volumes"] = set(kube.At[[]any](pod, "volumes"), "name", kube.Object{"name": volume, "secret": kube.Object{"secretName": secret}})

	for _, key := range []string{"initContainers", "containers"} {
		for _, container := range kube.Items(pod, key) {
			if container == nil {
				return nil, fmt.Errorf("%s %s: an element of %s is not an object", kind, name, key)
			}

			container["volumeMounts"] = set(kube.At[[]any](container, "volumeMounts"), "mountPath",
				kube.Object{"name": volume, "mountPath": path.Dir(talosconfig.PodPath), "readOnly": true})
		}
	}

	metadata := kube.Object{"name": secret}
	if namespace != "" {
		metadata["namespace"] = namespace
	}

	wanted := make([]any, 0, len(roles))
	for _, role := range roles {
		wanted = append(wanted, role)
	}

	return kube.Object{
		"apiVersion": talosaccess.APIVersion, "kind": talosaccess.Kind, "metadata": metadata, "spec": kube.Object{"roles": wanted},
	}, nil
}

// set replaces the element of a list with the same value of a key, or appends one.
func set(list []any, key string, element kube.Object) []any {
	i := slices.IndexFunc(list, func(other any) bool {
		object, _ := other.(kube.Object)

		return object[key] == element[key]
	})

	if i < 0 {
		return append(list, element)
	}

	list[i] = element

	return list
}

// same reports whether two objects have the same identity.
func same(a, b kube.Object) bool {
	version, kind, namespace, name := kube.Identity(a)
	otherVersion, otherKind, otherNamespace, otherName := kube.Identity(b)

	return version == otherVersion && kind == otherKind && namespace == otherNamespace && name == otherName
}

func decode(text []byte) ([]kube.Object, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))

	var out []kube.Object

	for n := 1; ; n++ {
		var object kube.Object

		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}

		if object != nil {
			out = append(out, object)
		}
	}
}

func encode(objects []kube.Object) ([]byte, error) {
	var out bytes.Buffer

	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)

	for _, object := range objects {
		if err := encoder.Encode(object); err != nil {
			return nil, fmt.Errorf("encode manifest: %w", err)
		}
	}

	return out.Bytes(), encoder.Close()
}
