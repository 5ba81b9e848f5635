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

// controllerRule reads the status of a controller that fails, or follows the inputs of one that does not.
func controllerRule(f *Facts, s Symptom) *Finding {
	if status, ok := find[meta.ControllerStatusSpec](f, s.ID); ok {
		finding := &Finding{
			Says: "controller " + s.ID + " fails: " + status.Error,
			Evidence: []string{fmt.Sprintf("%s: %s since %s",
				name(typeOf[meta.ControllerStatusSpec](), meta.NamespaceName, s.ID), english.Plural(int(status.Failures), "failure", ""), status.Since.UTC().Format(time.RFC3339))},
			Try:     "the error says what is missing; the machine goes on trying",
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

// inputs are the resources that an edge names and that may be what its controller waits for. One that no controller
// writes is a wish of somebody, which nobody need have.
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

// mounts are the volumes that a controller has asked for, and that are not mounted for it.
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

// verdict are the fields by which the specs of many types say how they are.
type verdict struct {
	Ready        *bool  `yaml:"ready"`
	Healthy      *bool  `yaml:"healthy"`
	Phase        string `yaml:"phase"`
	ErrorMessage string `yaml:"errorMessage"`
}

// resourceRule knows no type: a resource that does not exist comes from the controllers that write its type, one that
// says that it is not ready from its owner.
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

	finding := r.verdict()
	if finding != nil && r.Owner != "" {
		if _, fails := find[meta.ControllerStatusSpec](f, r.Owner); fails {
			finding.Because = []Symptom{{Kind: Controller, ID: r.Owner}}
		}
	}

	return finding
}

// unseen is the finding on what the caller may not read: it is known to be wrong only if those who make it fail.
func (f *Facts) unseen(s Symptom) *Finding {
	makers := failingOf(f, s.Type)
	if len(makers) == 0 {
		return nil
	}

	return &Finding{Says: name(s.Type, s.Namespace, s.ID) + " may be missing: who makes it fails", Vague: true, Because: makers}
}

// verdict of the resource on itself; nil if it has nothing to say against it.
func (r Resource) verdict() *Finding {
	var v verdict
	if yaml.Unmarshal([]byte(r.Spec), &v) != nil {
		return nil
	}

	full := r.Name()
	finding := &Finding{Try: "see all that it says: talosctl get " + strings.ToLower(short(r.Type)) + " " + r.ID + " -o yaml"}

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

// failingOf are the controllers that write the type and fail.
func failingOf(f *Facts, typ string) []Symptom {
	return slices.DeleteFunc(failingControllers(f), func(s Symptom) bool {
		return !slices.ContainsFunc(f.Edges, func(e Edge) bool { return e.Controller == s.ID && e.Output && e.Type == typ })
	})
}

// lists tells whether resources of the type could be read: of those asked for here, every machine has some.
func (f *Facts) lists(typ string) bool {
	return slices.ContainsFunc(f.Resources, func(r Resource) bool { return r.Type == typ })
}
