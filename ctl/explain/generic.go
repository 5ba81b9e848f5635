// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/block"
)

// controllerRule explains a controller that fails by its error, and any other controller by its missing inputs.
func controllerRule(f *Facts, s Symptom) *Finding {
	if status, ok := find[meta.ControllerStatusSpec](f, s.ID); ok {
		finding := &Finding{
			Says: "controller " + s.ID + " fails: " + status.Error,
			Evidence: []string{fmt.Sprintf("%s: %s since %s",
				name(typeOf[meta.ControllerStatusSpec](), meta.NamespaceName, s.ID), english.Plural(int(status.Failures), "failure", ""), status.Since.UTC().Format(time.RFC3339))},
			Try:     "the error says what is missing; the controller retries",
			Because: unreachable(status.Error),
		}

		if status.Resource != "" {
			finding.Evidence = append(finding.Evidence, "at work on "+status.Resource)
		}

		if endpoint, ok := clusterEndpoint(f); ok && mentions(status.Error, endpoint.Host) {
			finding.Because = append(finding.Because, Symptom{Kind: Endpoint})
		}

		return finding
	}

	finding := &Finding{Says: "controller " + s.ID + " waits for what it reads", Vague: true}

	for _, e := range f.Edges {
		if e.Controller == s.ID && !e.Output {
			finding.Because = append(finding.Because, f.inputs(e)...)
		}
	}

	finding.Because = append(finding.Because, f.mounts(s.ID)...)

	return finding
}

// inputs returns the resources that the controller of an input edge may wait for. A resource that no controller writes is optional.
func (f *Facts) inputs(e Edge) []Symptom {
	if e.ID != "" {
		if !slices.ContainsFunc(f.Edges, func(o Edge) bool { return o.Output && o.Type == e.Type }) {
			return nil
		}

		return []Symptom{{Kind: InstanceOf, Type: e.Type, Namespace: e.Namespace, ID: e.ID}}
	}

	var out []Symptom

	for _, r := range f.Resources {
		if r.Type == e.Type && r.Namespace == e.Namespace && r.verdict() != nil {
			out = append(out, Symptom{Kind: InstanceOf, Type: r.Type, Namespace: r.Namespace, ID: r.ID})
		}
	}

	return out
}

// mounts returns the volumes that a controller has requested and that are not mounted for it.
func (f *Facts) mounts(controller string) []Symptom {
	var out []Symptom

	for _, request := range all[block.VolumeMountRequestSpec](f, "") {
		if request.Owner != controller || f.resource(typeOf[block.VolumeMountStatusSpec](), "", request.ID) != nil {
			continue
		}

		out = append(out, instance[block.VolumeStatusSpec](block.NamespaceName, request.spec.VolumeID))
	}

	return out
}

// verdict has the fields of a status that many types share.
type verdict struct {
	Ready        *bool  `yaml:"ready"`
	Healthy      *bool  `yaml:"healthy"`
	Phase        string `yaml:"phase"`
	ErrorMessage string `yaml:"errorMessage"`
}

// resourceRule explains resources of any type. A missing resource is caused by the controllers that write its type, a resource that is
// not ready by its owner.
func resourceRule(f *Facts, s Symptom) *Finding {
	r := f.resource(s.Type, s.Namespace, s.ID)
	full := name(s.Type, s.Namespace, s.ID)

	if r == nil {
		if s.Type == typeOf[meta.ControllerStatusSpec]() {
			return nil // a controller that does not fail has no status
		}

		if slices.Contains(f.Hidden, s.Type) {
			return f.unseen(s)
		}

		finding := &Finding{Says: full + " does not exist", Vague: true}
		if s.ID == "" {
			finding.Says = "there is no " + s.Type + " in namespace " + s.Namespace
		}

		for _, e := range f.Edges {
			if e.Output && e.Type == s.Type {
				finding.Because = append(finding.Because, Symptom{Kind: Controller, ID: e.Controller})
			}
		}

		return finding
	}

	if r.Phase == "tearingDown" {
		return &Finding{
			Says:     full + " is being torn down, and is held by " + strings.Join(r.Finalizers, ", "),
			Evidence: []string{full + ": finalizers " + strings.Join(r.Finalizers, ", ")},
			Try:      "see what the holder waits for: talosctl explain controllerstatuses",
		}
	}

	if conditions := conditionsOf(f, s.Type); len(conditions) > 0 {
		return &Finding{Says: full + " is not in effect", Vague: true, Because: conditions}
	}

	finding := r.verdict()
	if finding != nil && r.Owner != "" {
		if _, fails := find[meta.ControllerStatusSpec](f, r.Owner); fails {
			finding.Because = []Symptom{{Kind: Controller, ID: r.Owner}}
		}
	}

	return finding
}

// unseen returns the finding about a resource that the caller may not read: it may be missing if a controller that writes its type
// fails.
func (f *Facts) unseen(s Symptom) *Finding {
	makers := failingOf(f, s.Type)
	if len(makers) == 0 {
		return nil
	}

	return &Finding{Says: name(s.Type, s.Namespace, s.ID) + " may be missing: its controller fails", Vague: true, Because: makers}
}

// verdict returns the finding from the resource's own status, or nil if that is good.
func (r Resource) verdict() *Finding {
	var v verdict
	if yaml.Unmarshal([]byte(r.Spec), &v) != nil {
		return nil
	}

	full := r.Name()
	finding := &Finding{Try: "see all of it: talosctl get " + strings.ToLower(short(r.Type)) + " " + r.ID + " -o yaml"}

	switch {
	case v.ErrorMessage != "":
		finding.Says = full + " has failed: " + v.ErrorMessage
		finding.Evidence = []string{full + ": phase " + v.Phase}
	case v.Ready != nil && !*v.Ready:
		finding.Says = full + " is not ready"
		finding.Evidence = []string{full + ": ready is false"}
	case v.Healthy != nil && !*v.Healthy:
		finding.Says = full + " is not healthy"
		finding.Evidence = []string{full + ": healthy is false"}
	case v.Phase == "failed", v.Phase == "missing", v.Phase == "waiting":
		finding.Says = full + " is " + v.Phase
		finding.Evidence = []string{full + ": phase " + v.Phase}
	default:
		return nil
	}

	return finding
}

func instance[S resource.Spec](namespace, id string) Symptom {
	return Symptom{Kind: InstanceOf, Type: typeOf[S](), Namespace: namespace, ID: id}
}

func failingControllers(f *Facts) []Symptom {
	var out []Symptom

	for _, c := range all[meta.ControllerStatusSpec](f, "") {
		out = append(out, Symptom{Kind: Controller, ID: c.ID})
	}

	return out
}

// failingOf returns the controllers that write the type and fail.
func failingOf(f *Facts, typ string) []Symptom {
	return slices.DeleteFunc(failingControllers(f), func(s Symptom) bool {
		return !slices.ContainsFunc(f.Edges, func(e Edge) bool { return e.Controller == s.ID && e.Output && e.Type == typ })
	})
}

// lists reports whether the facts have resources of the type. Every machine has some of the types that rules pass here.
func (f *Facts) lists(typ string) bool {
	return slices.ContainsFunc(f.Resources, func(r Resource) bool { return r.Type == typ })
}
