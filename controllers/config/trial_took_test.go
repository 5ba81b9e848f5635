// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"
	"time"

	"github.com/seed-59268b81/talos/install/trial"
)

// TestTook: how long the machine's start took counts what holds, not a condition that may never hold.
func TestTook(t *testing.T) {
	f := firstMet{at: map[string]time.Duration{
		"apid": 8*time.Second + time.Millisecond, "nodeReady": 200 * time.Second, "time": time.Hour, endpointCondition: 3 * time.Hour, apiServerCondition: 3 * time.Hour,
	}}

	for _, tt := range []struct {
		met       []string
		want, own time.Duration
	}{
		{nil, 0, 0},
		{[]string{"apid", "nodeReady"}, 200 * time.Second, 8 * time.Second},
		{[]string{"apid"}, 8 * time.Second, 8 * time.Second},
		{[]string{"apid", endpointCondition, apiServerCondition}, 8 * time.Second, 8 * time.Second}, // an earlier change was on trial after hours
		{[]string{"apid", "time"}, maxTook, maxTook},                                                // it waited for a person to correct the time server
	} {
		if got, own := f.took(conditionsMet(tt.met)); got != tt.want || own != tt.own {
			t.Errorf("%q: got %s and %s, want %s and %s", tt.met, got, own, tt.want, tt.own)
		}
	}
}

// TestTookAfterMaintenance: a machine that gets its configuration in this boot has no node before, and no start lasts until someone sends it.
func TestTookAfterMaintenance(t *testing.T) {
	f := newFirstMet()

	for _, seen := range []struct {
		at  time.Duration
		met []string
	}{
		{10 * time.Second, []string{"apid"}},                                                                   // it boots
		{15 * time.Second, []string{"apid", runningCondition}},                                                 // in maintenance
		{time.Hour, []string{"apid", runningCondition, "volumes"}},                                             // still
		{time.Hour + 15*time.Second, []string{"apid", configurationCondition, runningCondition}},               // its status is still that of maintenance
		{time.Hour + 16*time.Second, []string{"apid", configurationCondition}},                                 // it starts
		{time.Hour + 95*time.Second, []string{configurationCondition, runningCondition, "apid", "staticPods"}}, // its pods run
		{time.Hour + 105*time.Second, []string{configurationCondition, runningCondition, "apid", "nodeReady"}}, // the node is Ready
		{2 * time.Hour, []string{configurationCondition, runningCondition, "apid", "staticPods", "services", "nodeReady"}},
	} {
		f.note(conditionsMet(seen.met), seen.at)
	}

	// 15 s until maintenance, and 90 s from the configuration on.
	got, own := f.took(conditionsMet([]string{"apid", configurationCondition, "staticPods", "nodeReady"}))
	if want, wantOwn := 105*time.Second, 15*time.Second; got != want || own != wantOwn {
		t.Errorf("got %s and %s, want %s and %s", got, own, want, wantOwn)
	}
}

// TestTookAgain: a condition that holds before there is anything that it is about counts from when it holds again.
func TestTookAgain(t *testing.T) {
	f := newFirstMet()
	unmet := func(name string) []trial.Condition {
		return []trial.Condition{{Name: name, Kind: conditionKinds[name]}}
	}

	f.note(conditionsMet([]string{"staticPods", "services"}), 20*time.Second) // there are no pods yet
	f.note(append(unmet("staticPods"), conditionsMet([]string{"services"})...), 40*time.Second)
	f.note(conditionsMet([]string{"staticPods", "services"}), 140*time.Second)
	f.note(append(unmet("services"), conditionsMet([]string{"staticPods"})...), time.Hour)
	f.note(conditionsMet([]string{"staticPods", "services"}), time.Hour+time.Minute) // a service that restarted later is not of the start

	if got, _ := f.took(conditionsMet([]string{"staticPods", "services"})); got != 140*time.Second {
		t.Errorf("got %s, want 140s", got)
	}
}

// conditionsMet returns conditions of these names, all of which hold.
func conditionsMet(names []string) (out []trial.Condition) {
	for _, name := range names {
		out = append(out, trial.Condition{Name: name, Kind: conditionKinds[name], Met: true})
	}

	return out
}
