// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
)

// Facts are what is known of a machine; a value.
type Facts struct {
	Resources []Resource
	Services  []Service
	Edges     []Edge
	// Members of etcd as this one knows them.
	Members []Member
	// Clock holds what asking each time server said: "" for an answer.
	Clock map[string]string
	// Hidden are the types that the caller may not read.
	Hidden []string
	// Missing says what else could not be read.
	Missing []string
}

// Resource as it is printed.
type Resource struct {
	Namespace, Type, ID, Owner, Phase string
	Finalizers                        []string
	// Spec as YAML.
	Spec string
}

// Name of the resource, as in the messages of the machine.
func (r Resource) Name() string { return name(r.Type, r.Namespace, r.ID) }

// Service of the machine.
type Service struct {
	ID, State string
	// Healthy is meaningful with HasHealth.
	HasHealth, Healthy bool
	// Health says why not.
	Health string
	// Messages of its history, oldest first, and the end of its log.
	Messages, Log []string
}

func (s Service) up() bool { return s.State == "Running" && (!s.HasHealth || s.Healthy) }

// last message of its history.
func (s Service) last() string {
	if len(s.Messages) == 0 {
		return ""
	}

	return s.Messages[len(s.Messages)-1]
}

// Edge is what a controller does with a kind of resources.
type Edge struct {
	Controller, Namespace, Type, ID string
	Output                          bool
}

// Member of etcd.
type Member struct {
	Name, ID string
	PeerURLs []string
}

func name(typ, namespace, id string) string {
	return short(typ) + "(" + namespace + "/" + id + ")"
}

func short(typ string) string {
	name, _, _ := strings.Cut(typ, ".")

	return name
}

func typeOf[S resource.Spec]() string { return resource.DefinitionOf[S]().Type }

// resource finds one in any namespace, or in a given one.
func (f *Facts) resource(typ, namespace, id string) *Resource {
	return first(f.Resources, func(r Resource) bool {
		return r.Type == typ && r.ID == id && (namespace == "" || r.Namespace == namespace)
	})
}

func (f *Facts) service(id string) *Service {
	return first(f.Services, func(s Service) bool { return s.ID == id })
}

// first returns the first thing that is so, or nil.
func first[T any](all []T, is func(T) bool) *T {
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return nil
	}

	return &all[i]
}

// find reads the resource with the id; false if there is none, or this program does not understand it.
func find[S resource.Spec](f *Facts, id string) (S, bool) {
	var spec S

	r := f.resource(typeOf[S](), "", id)
	if r == nil {
		return spec, false
	}

	return spec, yaml.Unmarshal([]byte(r.Spec), &spec) == nil
}

// all reads the resources of a kind.
func all[S resource.Spec](f *Facts, namespace string) []item[S] {
	var out []item[S]

	for _, r := range f.Resources {
		if r.Type != typeOf[S]() || namespace != "" && r.Namespace != namespace {
			continue
		}

		it := item[S]{Resource: r}
		if yaml.Unmarshal([]byte(r.Spec), &it.spec) == nil {
			out = append(out, it)
		}
	}

	return out
}

type item[S resource.Spec] struct {
	Resource

	spec S
}

// said is a line that the machine has said, with who said it.
type said struct{ by, text string }

// sayings are the errors of controllers, and the messages and logs of services, latest first.
func (f *Facts) sayings() []said {
	var out []said

	for _, c := range all[meta.ControllerStatusSpec](f, "") {
		out = append(out, said{"controller " + c.ID, c.spec.Error})
	}

	for _, s := range f.Services {
		if s.HasHealth && !s.Healthy && s.Health != "" {
			out = append(out, said{"health of service " + s.ID, s.Health})
		}

		if m := s.last(); m != "" {
			out = append(out, said{"service " + s.ID, m})
		}

		for _, line := range slices.Backward(s.Log) {
			out = append(out, said{"log of " + s.ID, line})
		}
	}

	return out
}
