// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"regexp"

	"github.com/seed-59268b81/talos/cosi/meta"
)

// goesOn matches the error of a controller that keeps an old image running, since the next image cannot be pulled.
var goesOn = regexp.MustCompile(`(?m)^(\S+) goes on with image (\S+): pull (\S+?): (.*)$`)

// outdated is a service or control plane component that runs an older image than the configuration names.
type outdated struct {
	name          string
	running, next string
	controller    string
	failure, text string
}

// allOutdated returns the outdated services and components from the errors of controllers.
func (f *Facts) allOutdated() []outdated {
	var out []outdated

	for _, c := range all[meta.ControllerStatusSpec](f, "") {
		for _, m := range goesOn.FindAllStringSubmatch(c.spec.Error, -1) {
			out = append(out, outdated{name: m[1], running: m[2], next: m[3], failure: m[4], controller: c.ID, text: c.spec.Error})
		}
	}

	return out
}

// outdated returns the outdated service or component with the name, or nil.
func (f *Facts) outdated(name string) *outdated {
	return first(f.allOutdated(), func(o outdated) bool { return o.name == name })
}

// finding returns the finding about the image that cannot be pulled, or nil for nil.
func (o *outdated) finding(subject string) *Finding {
	if o == nil {
		return nil
	}

	return &Finding{
		Says:     fmt.Sprintf("the image of %s cannot be pulled: %s", subject, o.next),
		Evidence: []string{fmt.Sprintf("it still runs %s", o.running), o.controller + ": " + o.text},
		Try:      "correct the image in the machine configuration (" + imageField(o.name) + "), or let the machine reach its registry",
		Because:  unreachable(o.failure),
	}
}
