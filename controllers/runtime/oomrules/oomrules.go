// SPDX-License-Identifier: Apache-2.0

// Package oomrules evaluates the expressions of an OOMConfig: when a pod is ended because memory is short, and which one.
//
// The trigger sees the files of the machine's pressure and those of its classes of cgroups. The ranking sees one pod, by the files of its
// cgroup. The names of variables are those of the files, with _ for the dot, as docs/system.md lists them. Cgroups of the machine
// itself are never ranked: no expression ends etcd or the API of the machine.
//
// The package decides only. The controller reads the kernel, and has a policy of its own for an expression that fails.
package oomrules

import (
	"maps"
	"math"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/expression"
	"github.com/seed-59268b81/talos/sys/pressure"
)

// The keys of the expressions.
const (
	TriggerKey = "OOMConfig.triggerExpression"
	RankingKey = "OOMConfig.cgroupRankingExpression"
)

// classes are the names of the classes in expressions.
var classes = map[string]pressure.Class{
	"Besteffort": pressure.BestEffort, "Burstable": pressure.Burstable, "Guaranteed": pressure.Guaranteed, "Podruntime": pressure.PodRuntime,
	"System": pressure.System,
}

// Check returns what is wrong with the expressions of a configuration.
func Check(cfg *view.Config) []validate.Finding {
	var (
		findings []validate.Finding
		rules    Rules
	)

	errs := rules.Compile(cfg.OOM())

	for _, key := range []string{TriggerKey, RankingKey} {
		if err := errs[key]; err != nil {
			findings = append(findings, validate.Finding{Path: key, Text: err.Error()})
		}
	}

	return findings
}

// Rules are the compiled expressions. The zero value has none.
type Rules struct{ trigger, ranking compiled }

type compiled struct {
	text    string
	program expression.Program
	err     error
}

// usable reports whether there is an expression that can be evaluated.
func (c compiled) usable() bool { return c.text != "" && c.err == nil }

// Compile compiles the expressions that have changed. It returns what is wrong with them by their keys.
func (r *Rules) Compile(settings view.OOM) map[string]error {
	r.trigger.compile(settings.Trigger, expression.Compile, func() map[string]any { return new(Watch).variables(time.Time{}, pressure.Sample{}, nil) })
	r.ranking.compile(settings.Ranking, expression.CompileNumber, func() map[string]any { return variablesOf(pressure.Pod{}) })

	errs := map[string]error{TriggerKey: r.trigger.err, RankingKey: r.ranking.err}
	maps.DeleteFunc(errs, func(_ string, err error) bool { return err == nil })

	return errs
}

func (c *compiled) compile(text string, compile func(string, map[string]any) (expression.Program, error), values func() map[string]any) {
	if text == c.text {
		return
	}

	*c = compiled{text: text}
	if text != "" {
		c.program, c.err = compile(text, values())
	}
}

// Triggers reports whether there is an expression for the trigger, and Ranks whether there is one for the ranking.
func (r *Rules) Triggers() bool { return r.trigger.usable() }

// Ranks is described with Triggers.
func (r *Rules) Ranks() bool { return r.ranking.usable() }

// NeedsUsages reports whether the trigger may need the usages of the classes, which are many files.
func (r *Rules) NeedsUsages() bool {
	return r.trigger.usable() && strings.Contains(r.trigger.text, vectorPrefix)
}

// Scores returns the scores of pods. A pod with 0 or less is not ended. Static pods have 0: they are never ended, so no expression has to
// be able to rank them.
func (r *Rules) Scores(pods []pressure.Pod) ([]float64, error) {
	scores := make([]float64, len(pods))

	for i, pod := range pods {
		if pod.Static {
			continue
		}

		score, err := r.ranking.program.Number(variablesOf(pod))
		if err != nil {
			return nil, err
		}

		scores[i] = min(score, math.MaxFloat64) // JSON has no infinity
	}

	return scores, nil
}

// variablesOf returns the variables of the ranking for a pod.
func variablesOf(p pressure.Pod) map[string]any {
	out := map[string]any{
		"class": int(p.Class), "path": p.Path, "memory_used": p.Used,
		"memory_current": expression.Optional(p.Memory.Current), "memory_peak": expression.Optional(p.Memory.Peak),
		"memory_max": expression.Optional(p.Memory.Max),
	}
	addClasses(out)

	return out
}

func addClasses(out map[string]any) {
	for name, class := range classes {
		out[name] = int(class)
	}
}
