// SPDX-License-Identifier: Apache-2.0

package oomrules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/value"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/sys/pressure"
)

// TestShort evaluates triggers over samples of each second: memory stalls for 100 ms in each, and the kubelet and etcd for half of that.
func TestShort(t *testing.T) {
	for trigger, want := range map[string]string{
		"memory_full_avg10 > 12.0": "true true true true",
		"memory_full_avg10 > 12 && memory_some_avg60 == 3.5 && memory_full_avg300 < 1":             "true true true true",
		`memory_full_avg10 > 12.0 && time_since_trigger > duration("1500ms")`:                      "false false true false",
		"memory_full_total > 250000.0":                                                             "false false false true",
		"d_memory_full_total == 100000.0":                                                          "false true true true",
		"d_memory_full_avg10 > 0.0":                                                                "false false false false",
		"memory_available < memory_total / 2.0":                                                    "true true true true",
		"d_qos_memory_full_total[Podruntime] == 50000.0 && d_qos_memory_full_total[System] == 0.0": "false true true true",
		"multiply_qos_vectors(d_qos_memory_full_total, {System: 8.0, Podruntime: 4.0}) > 150000.0": "false true true true",
		"qos_memory_current[Burstable] == 7.0 && qos_memory_peak[Burstable] == 0.0":                "true true true true",
		`{Besteffort: 1}[Burstable] == 1`:                                                          "no such key no such key no such key no such key",
		"memory_full > 12.0":                                                                       "undeclared reference",
		"memory_full_avg10":                                                                        "want true or false",
		"class == System":                                                                          "undeclared reference",
		strings.Repeat(" ", 17<<10) + "false":                                                      "at most",
	} {
		var (
			rules Rules
			watch Watch
			got   []string
		)

		if err := rules.Compile(view.OOM{Trigger: trigger})[TriggerKey]; err != nil {
			if !strings.Contains(err.Error(), want) || rules.Triggers() {
				t.Errorf("%.80s: got %v, want %s", trigger, err, want)
			}

			continue
		}

		for i := range 4 {
			d := time.Duration(i) * time.Second
			s := pressure.Sample{Pressure: pressure.Pressure{Full: pressure.Stall{Avg10: 12.5, Total: d / 10}, Some: pressure.Stall{Avg60: 3.5}}, Available: 1, Total: 9}

			var usages map[pressure.Class]pressure.Usage
			if rules.NeedsUsages() {
				usages = map[pressure.Class]pressure.Usage{
					pressure.PodRuntime: {Pressure: pressure.Pressure{Full: pressure.Stall{Total: d / 20}}}, pressure.Burstable: {Current: 7},
				}
			}

			short, err := watch.Short(&rules, time.Unix(100, 0).Add(d), s, usages)

			text := fmt.Sprint(short)
			if err != nil {
				text, _, _ = strings.Cut(err.Error(), ":")
			}

			got = append(got, text)
		}

		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", trigger, diff)
		}
	}
}

func TestScores(t *testing.T) {
	pods := []pressure.Pod{
		{Path: "kubepods/besteffort/pod-1", Used: 10, Memory: pressure.Memory{Current: new(uint64(20)), Max: new(uint64(40))}},
		{Path: "kubepods/burstable/pod-2", Class: pressure.Burstable, Used: 30, Memory: pressure.Memory{Current: new(uint64(50)), Peak: new(uint64(60))}},
		{Path: "kubepods/pod-3", Class: pressure.Guaranteed},
		{Path: "kubepods/burstable/podstatic", Class: pressure.Burstable, Static: true, Used: 90},
	}

	for ranking, want := range map[string]string{
		"memory_used":                "[10 30 0 0]",
		"int(path.endsWith('1'))":    "no matching overload",
		`path.endsWith("1") ? 1 : 0`: "[1 0 0 0]",
		"{Besteffort: 1.0, Burstable: 0.5, Guaranteed: 0.0, Podruntime: 0.0, System: 0.0}[class] * double(memory_current.orValue(0u))": "[20 25 0 0]",
		"memory_max.hasValue() ? 0.0 : double(memory_peak.orValue(7u))":                                                                "[0 60 7 0]",
		"1.0 / double(memory_used)":           "[0.1 0.03333333333333333 1.7976931348623157e+308 0]",
		`path.contains("static") ? 1 / 0 : 2`: "[2 2 2 0]",
		"memory_peak.value()":                 "optional.none() dereference",
		"memory_current > 5u ? 1 : 0":         "no matching overload",
		"memory_full_avg10":                   "undeclared reference",
		"path":                                "want a number",
	} {
		var (
			rules Rules
			got   string
		)

		if err := rules.Compile(view.OOM{Ranking: ranking})[RankingKey]; err != nil {
			got = err.Error()
		} else if scores, err := rules.Scores(pods); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(scores)
		}

		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", ranking, got, want)
		}
	}
}

// TestCompile: an expression is compiled once, and forgotten when the configuration does not have it any more.
func TestCompile(t *testing.T) {
	var rules Rules

	settings := view.OOM{Trigger: "false", Ranking: "1"}
	if errs := rules.Compile(settings); len(errs) > 0 || !rules.Triggers() || !rules.Ranks() {
		t.Errorf("got %v", errs)
	}

	before := rules
	if rules.Compile(settings); rules != before {
		t.Error("the same expressions were compiled again")
	}

	if errs := rules.Compile(view.OOM{Ranking: "1 +"}); len(errs) != 1 || rules.Triggers() || rules.Ranks() {
		t.Errorf("got %v, triggers %t, ranks %t", errs, rules.Triggers(), rules.Ranks())
	}
}

func TestCheck(t *testing.T) {
	cfg, err := config.Decode([]byte("apiVersion: v1alpha1\nkind: OOMConfig\ntriggerExpression: none > 1\ncgroupRankingExpression: 'true'\n"))
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, f := range Check(view.Of(cfg)) {
		got = append(got, f.Path)
	}

	if diff := cmp.Diff([]string{TriggerKey, RankingKey}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExamplesOfReference: the examples that the reference and the JSON schema give are valid expressions.
func TestExamplesOfReference(t *testing.T) {
	settings := view.OOM{Trigger: value.MemoryExpression("").Format().Example, Ranking: value.PodExpression("").Format().Example}
	if errs := new(Rules).Compile(settings); len(errs) > 0 || settings.Trigger == "" || settings.Ranking == "" {
		t.Errorf("%+v: got %v", settings, errs)
	}
}
