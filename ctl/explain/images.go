// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// recentPull is how long ago a pull that counts has failed. The kubelet pulls the image of a pod that still exists at least every five minutes.
const recentPull = 10 * time.Minute

// pullEnd matches what containerd logs at the end of the pull of an image for a pod.
var pullEnd = regexp.MustCompile(`^PullImage "([^"]+)" (failed|returns image reference)`)

// failedPulls returns the last error of each image that could not be pulled for a pod, from the log of containerd: the machine has no status of
// pods that are not static.
func (f *Facts) failedPulls() map[string]string {
	cri := f.service(runtimeService)
	if cri == nil {
		return nil
	}

	failed := map[string]string{}

	for _, line := range cri.Log {
		end := pullEnd.FindStringSubmatch(logged(line, "msg"))
		if end == nil {
			continue
		}

		delete(failed, end[1])

		at, err := time.Parse(time.RFC3339Nano, logged(line, "time"))
		if end[2] == "failed" && (err != nil || f.Now.Sub(at) < recentPull) {
			failed[end[1]] = logged(line, "error")
		}
	}

	return failed
}

// unpulled returns the images that could not be pulled.
func unpulled(f *Facts) []Symptom {
	var out []Symptom

	for image := range f.failedPulls() {
		out = append(out, Symptom{Kind: ImageOf, ID: image})
	}

	slices.SortFunc(out, func(a, b Symptom) int { return strings.Compare(a.ID, b.ID) })

	return out
}

// imageRule explains an image that cannot be pulled for a pod.
func imageRule(f *Facts, s Symptom) *Finding {
	text, ok := f.failedPulls()[s.ID]
	if !ok {
		return nil
	}

	finding := &Finding{
		Says:     fmt.Sprintf("the image of a pod cannot be pulled: %s", s.ID),
		Evidence: []string{"log of " + runtimeService + ": " + text},
		Try:      "correct the image in the pod, or let the machine reach its registry",
		Because:  unreachable(text),
	}
	f.describePod(finding, s.ID, text)

	return finding
}

// logged returns a field of a line of containerd's log: KEY=VALUE, or KEY="VALUE" with escapes.
func logged(line, key string) string {
	_, value, ok := strings.Cut(" "+line, " "+key+"=")
	if !ok {
		return ""
	}

	if quoted, err := strconv.QuotedPrefix(value); err == nil {
		text, _ := strconv.Unquote(quoted)

		return text
	}

	value, _, _ = strings.Cut(value, " ")

	return value
}
