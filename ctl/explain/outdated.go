// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"regexp"

	"github.com/seed-59268b81/talos/cosi/meta"
)

// goesOn is how controllers say that what runs is not replaced, since the image of the next cannot be had.
var goesOn = regexp.MustCompile(`(?m)^(\S+) goes on with image (\S+): pull (\S+?): (.*)$`)

// outdated is a service or a component of the control plane that goes on with an image that is not the configuration's.
type outdated struct {
	name          string
	running, next string
	controller    string
	failure, text string
}

// allOutdated are those that the controllers tell.
func (f *Facts) allOutdated() []outdated {
	var out []outdated

	for _, c := range all[meta.ControllerStatusSpec](f, "") {
		for _, m := range goesOn.FindAllStringSubmatch(c.spec.Error, -1) {
			out = append(out, outdated{name: m[1], running: m[2], next: m[3], failure: m[4], controller: c.ID, text: c.spec.Error})
		}
	}

	return out
}

// outdated returns the one of a name, nil if there is none.
func (f *Facts) outdated(name string) *outdated {
	return first(f.allOutdated(), func(o outdated) bool { return o.name == name })
}

// finding says which image cannot be had; nil of nil.
func (o *outdated) finding(subject string) *Finding {
	if o == nil {
		return nil
	}

	return &Finding{
		Says:     fmt.Sprintf("the image of %s cannot be pulled: %s", subject, o.next),
		Evidence: []string{fmt.Sprintf("it goes on with %s", o.running), o.controller + ": " + o.text},
		Try:      "correct the image in the machine configuration (" + imageField(o.name) + "), or let the machine reach its registry",
		Because:  unreachable(o.failure),
	}
}
