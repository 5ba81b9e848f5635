// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/runtime/oomrules"
	"github.com/seed-59268b81/talos/sys/pressure"
)

// compile compiles the expressions of the configuration if they have changed.
func (c *oom) compile(settings view.OOM, log *slog.Logger) {
	texts := [2]string{settings.Trigger, settings.Ranking}
	if texts == c.texts {
		return
	}

	before := c.texts
	c.texts = texts
	errs := c.rules.Compile(settings)

	// What is wrong with the other expression stays known: a ranking is evaluated only when memory is short.
	if texts[0] != before[0] {
		c.trigger = oomrules.Watch{} // an expression does not see changes since samples that were taken for another one
		c.note(oomrules.TriggerKey, errs[oomrules.TriggerKey], log)
	}

	if texts[1] != before[1] {
		c.note(oomrules.RankingKey, errs[oomrules.RankingKey], log)
	}
}

// short reports whether memory is short, and what it was like, by the expression of the configuration, or by the rules of shortage.
func (c *oom) short(sample pressure.Sample, log *slog.Logger) (short bool, trigger string) {
	now := time.Now()
	state := fmt.Sprintf("%d of %d MiB available, ", sample.Available>>20, sample.Total>>20)

	// These rules see each sample: they take over when the expression fails.
	short = c.watch.add(now, sample)
	trigger = state + fmt.Sprintf("all processes stalled for %s of %s", c.watch.stalled.Round(time.Millisecond), shortageWindow)

	if !c.rules.Triggers() {
		return short, trigger
	}

	var usages map[pressure.Class]pressure.Usage
	if c.rules.NeedsUsages() {
		usages = c.memory.Usages()
	}

	wanted, err := c.trigger.Short(&c.rules, now, sample, usages)
	if c.note(oomrules.TriggerKey, err, log); err != nil {
		return short, trigger
	}

	return wanted, state + fmt.Sprintf("all processes stalled for %.2f %% of 10 s, and the expression is true", sample.Pressure.Full.Avg10)
}

// victim returns the pod to end, and its score, which is 0 if there is none.
func (c *oom) victim(pods []pressure.Pod, byClass bool, total uint64, log *slog.Logger) (pressure.Pod, float64) {
	if c.rules.Ranks() {
		scores, err := c.rules.Scores(pods)
		if c.note(oomrules.RankingKey, err, log); err == nil {
			return highest(pods, scores, byClass)
		}
	}

	return choose(pods, byClass, total)
}

// note keeps what is wrong with an expression, and logs it when it is new.
func (c *oom) note(key string, err error, log *slog.Logger) {
	switch {
	case err == nil:
		delete(c.faults, key)
	case c.faults[key] != err.Error():
		c.faults[key] = err.Error()
		log.Error("an expression cannot be evaluated, and the default is followed instead", "key", key, "error", err)
	}
}

// conditions are the settings that are not in effect now, with the reason.
func (c *oom) conditions() map[string]string {
	out := map[string]string{}

	if c.fault != nil {
		out[oomCondition] = c.fault.Error()
	}

	for key, cause := range c.faults {
		out[oomCondition+"/"+key] = cause + ": the default is followed instead"
	}

	return out
}
