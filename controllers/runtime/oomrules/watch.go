// SPDX-License-Identifier: Apache-2.0

package oomrules

import (
	"time"

	"github.com/seed-59268b81/talos/sys/pressure"
)

// The prefixes of variables: of those with a number for each class, and of changes in a second.
const (
	vectorPrefix = "qos_"
	changePrefix = "d_"
)

// Watch computes the variables of the trigger from samples. The zero value is ready for use.
type Watch struct {
	at time.Time
	// triggered is when the expression was last true, or when the first sample was taken.
	triggered time.Time
	numbers   map[string]float64
	vectors   map[string]map[int64]float64
}

// Short evaluates the trigger: it reports whether a pod must be ended.
func (w *Watch) Short(r *Rules, now time.Time, s pressure.Sample, usages map[pressure.Class]pressure.Usage) (bool, error) {
	short, err := r.trigger.program.Matches(w.variables(now, s, usages))
	if short {
		w.triggered = now
	}

	return short, err
}

// variables returns the variables of the trigger at the time of a sample. Changes are those since the sample before.
func (w *Watch) variables(now time.Time, s pressure.Sample, usages map[pressure.Class]pressure.Usage) map[string]any {
	if w.numbers == nil {
		w.triggered = now
	}

	numbers := numbersOf(s.Pressure)
	numbers["memory_available"], numbers["memory_total"] = float64(s.Available), float64(s.Total)
	vectors := vectorsOf(usages)
	seconds := now.Sub(w.at).Seconds()

	out := map[string]any{"time_since_trigger": now.Sub(w.triggered)}
	addClasses(out)

	for name, n := range numbers {
		out[name] = n
		out[changePrefix+name] = change(w.numbers, name, n, seconds)
	}

	for name, vector := range vectors {
		changes := make(map[int64]float64, len(vector))
		for class, n := range vector {
			changes[class] = change(w.vectors[name], class, n, seconds)
		}

		out[name] = vector
		out[changePrefix+name] = changes
	}

	w.at, w.numbers, w.vectors = now, numbers, vectors

	return out
}

// change returns the change of a value in a second: 0 if it is new.
func change[K comparable](before map[K]float64, key K, now, seconds float64) float64 {
	value, known := before[key]
	if !known || seconds <= 0 {
		return 0
	}

	return (now - value) / seconds
}

// numbersOf returns the values of a pressure by their names. Totals are in microseconds, as in the file.
func numbersOf(p pressure.Pressure) map[string]float64 {
	out := map[string]float64{}

	for kind, stall := range map[string]pressure.Stall{"some": p.Some, "full": p.Full} {
		out["memory_"+kind+"_avg10"] = stall.Avg10
		out["memory_"+kind+"_avg60"] = stall.Avg60
		out["memory_"+kind+"_avg300"] = stall.Avg300
		out["memory_"+kind+"_total"] = float64(stall.Total / time.Microsecond)
	}

	return out
}

// vectorsOf returns, by the names of values, the values of each class.
func vectorsOf(usages map[pressure.Class]pressure.Usage) map[string]map[int64]float64 {
	out := map[string]map[int64]float64{}

	for _, class := range classes {
		usage := usages[class]

		values := numbersOf(usage.Pressure)
		values["memory_current"], values["memory_peak"], values["memory_max"] = float64(usage.Current), float64(usage.Peak), float64(usage.Max)

		for name, n := range values {
			name = vectorPrefix + name
			if out[name] == nil {
				out[name] = map[int64]float64{}
			}

			out[name][int64(class)] = n
		}
	}

	return out
}
