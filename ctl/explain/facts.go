// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
)

// Facts are what is known about a machine.
type Facts struct {
	Resources []Resource
	Services  []Service
	Edges     []Edge
	// Members are the members of etcd as this machine's member knows them.
	Members []Member
	// Clock has the failure of each time server, "" if it answered.
	Clock map[string]string
	// Now is when the facts were read.
	Now time.Time
	// Hidden are the types that the caller may not read.
	Hidden []string
	// Missing is what else could not be read, with the causes.
	Missing []string
}

// Resource is a resource of the machine.
type Resource struct {
	Namespace, Type, ID, Owner, Phase string
	Finalizers                        []string
	// Spec is YAML.
	Spec string
}

// Name returns the name of the resource, as in the messages of the machine.
func (r Resource) Name() string { return name(r.Type, r.Namespace, r.ID) }

// Service is a service of the machine.
type Service struct {
	ID, State string
	// Healthy is valid if HasHealth is set.
	HasHealth, Healthy bool
	// Health is why the service is not healthy.
	Health string
	// Messages are its events, oldest first. Log is the end of its log.
	Messages, Log []string
}

func (s Service) up() bool { return s.State == "Running" && (!s.HasHealth || s.Healthy) }

// last returns the message of the last event.
func (s Service) last() string {
	if len(s.Messages) == 0 {
		return ""
	}

	return s.Messages[len(s.Messages)-1]
}

// Edge is an input or output of a controller.
type Edge struct {
	Controller, Namespace, Type, ID string
	Output                          bool
}

// Member is a member of etcd.
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

// resource finds a resource in any namespace, or in a given one.
func (f *Facts) resource(typ, namespace, id string) *Resource {
	return first(f.Resources, func(r Resource) bool {
		return r.Type == typ && r.ID == id && (namespace == "" || r.Namespace == namespace)
	})
}

func (f *Facts) service(id string) *Service {
	return first(f.Services, func(s Service) bool { return s.ID == id })
}

// first returns the first element for which is returns true, or nil.
func first[T any](all []T, is func(T) bool) *T {
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return nil
	}

	return &all[i]
}

// find reads the resource with the id. It returns false if there is none, or its spec cannot be decoded.
func find[S resource.Spec](f *Facts, id string) (S, bool) {
	var spec S

	r := f.resource(typeOf[S](), "", id)
	if r == nil {
		return spec, false
	}

	return spec, yaml.Unmarshal([]byte(r.Spec), &spec) == nil
}

// all reads the resources of a kind whose spec can be decoded.
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

// message is a message and its source.
type message struct{ by, text string }

// messages returns the errors of controllers, and the messages and logs of services, latest first.
func (f *Facts) messages() []message {
	var out []message

	for _, c := range all[meta.ControllerStatusSpec](f, "") {
		out = append(out, message{"controller " + c.ID, c.spec.Error})
	}

	for _, s := range f.Services {
		if s.HasHealth && !s.Healthy && s.Health != "" {
			out = append(out, message{"health of service " + s.ID, s.Health})
		}

		if m := s.last(); m != "" {
			out = append(out, message{"service " + s.ID, m})
		}

		for _, line := range slices.Backward(s.Log) {
			out = append(out, message{"log of " + s.ID, line})
		}
	}

	return out
}
