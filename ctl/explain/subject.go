// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// Subjects returns the symptoms to follow for resources of a type: the resource with the id, or all resources if the id is "".
func Subjects(f *Facts, typ, namespace, id string) []Symptom {
	if typ == typeOf[runtime.MachineStatusSpec]() {
		return []Symptom{{Kind: Machine}}
	}

	var out []Symptom

	for _, r := range f.Resources {
		if r.Type == typ && r.Namespace == namespace && id == "" {
			out = append(out, Symptom{Kind: InstanceOf, Type: typ, Namespace: namespace, ID: r.ID})
		}
	}

	if len(out) == 0 {
		out = []Symptom{{Kind: InstanceOf, Type: typ, Namespace: namespace, ID: id}}
	}

	return out
}

// canonical returns a symptom with its only name. Services, static pods and failures of controllers are resources too.
func (f *Facts) canonical(s Symptom) Symptom {
	if s.Kind == InstanceOf {
		switch s.Type {
		case typeOf[serviceres.ServiceSpec]():
			return Symptom{Kind: ServiceOf, ID: s.ID}
		case typeOf[k8s.StaticPodStatusSpec]():
			return Symptom{Kind: PodOf, ID: s.ID}
		case typeOf[meta.ControllerStatusSpec]():
			if _, fails := find[meta.ControllerStatusSpec](f, s.ID); fails {
				return Symptom{Kind: Controller, ID: s.ID}
			}
		}
	}

	if s.Kind == PodOf {
		if r := f.pod(s.ID); r != nil {
			s.ID = r.ID
		}
	}

	return s
}

// pod finds the status of a static pod by its id, or by its component.
func (f *Facts) pod(id string) *Resource {
	return first(f.Resources, func(r Resource) bool {
		return r.Type == typeOf[k8s.StaticPodStatusSpec]() && (r.ID == id || component(r.ID) == id)
	})
}
