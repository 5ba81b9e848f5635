// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/resources/runtime"
)

// lately is how long a change that was reverted is worth telling.
const lately = time.Hour

// trials returns the changes that wait for a person or for the machine, and the last one if it was reverted lately.
func trials(f *Facts) []Symptom {
	var out []Symptom

	for _, it := range all[runtime.TrialSpec](f, "") {
		if trialRule(f, Symptom{ID: it.ID}, it.spec) != nil {
			out = append(out, instance[runtime.TrialSpec](runtime.NamespaceName, it.ID))
		}
	}

	return out
}

// trialRule reports a change that is on trial, or that was reverted.
func trialRule(f *Facts, s Symptom, spec runtime.TrialSpec) *Finding {
	evidence := []string{fmt.Sprintf("%s: by %s, since %s", name(typeOf[runtime.TrialSpec](), runtime.NamespaceName, s.ID), cmp.Or(spec.By, "a client"), cmp.Or(spec.Since, "an unknown time"))}

	switch spec.State {
	case runtime.TrialRunning:
		// One that only waits for time to pass keeps the machine from nothing.
		if spec.Waits == "" || strings.HasPrefix(spec.Waits, runtime.TrialHealthy) {
			return nil
		}

		return &Finding{
			Says:     fmt.Sprintf("a change of the %s is on trial, and is reverted at %s: it waits for %s", spec.Tries, spec.Until, spec.Waits),
			Evidence: evidence,
			Try:      fmt.Sprintf("keep it: talosctl confirm %s; or go back at once: talosctl confirm --revert %s", s.ID, s.ID),
		}
	case runtime.TrialReverted:
		since, err := time.Parse(time.RFC3339, spec.Since)
		if err != nil || f.Now.Sub(since) > lately {
			return nil
		}

		for _, it := range all[runtime.TrialSpec](f, "") {
			if it.spec.Since > spec.Since { // the times are UTC, and so in order
				return nil
			}
		}

		return &Finding{
			Says:     fmt.Sprintf("a change of the %s was tried and reverted: %s", spec.Tries, spec.Why),
			Evidence: evidence,
			Try:      "the machine is as it was before; correct the change, and apply it again",
		}
	default:
		return nil
	}
}
