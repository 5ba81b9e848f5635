// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"time"

	"github.com/seed-59268b81/talos/sys/pressure"
)

// Memory is short when little is available and, for a part of some seconds, nothing could run for want of memory. Either alone is not
// enough: pods at their own limits stall too, with plenty available; and a machine may run well with little available.
const (
	shortageWindow = 4 * time.Second
	// stalledShare of the window: one of so many parts.
	stalledShare = 3
	// availableShare of the memory: one of so many parts.
	availableShare = 16
	// worthShare of the memory is what a pod uses at least that is ended: one of so many parts.
	worthShare = 100
)

// shortage finds out from samples whether memory is short.
type shortage struct {
	samples []timed
	// stalled is for how long nothing could run within the window before the last sample.
	stalled time.Duration
}

type timed struct {
	at      time.Time
	stalled time.Duration
}

// add adds a sample, and reports whether memory is short.
func (s *shortage) add(now time.Time, sample pressure.Sample) bool {
	if sample.Available > sample.Total/availableShare {
		s.clear()

		return false
	}

	s.samples = append(s.samples, timed{now, sample.Pressure.Full.Total})

	// The first sample is the last one that is as old as the window.
	for len(s.samples) > 1 && now.Sub(s.samples[1].at) >= shortageWindow {
		s.samples = s.samples[1:]
	}

	first := s.samples[0]
	if now.Sub(first.at) < shortageWindow {
		return false
	}

	s.stalled = sample.Pressure.Full.Total - first.stalled

	return s.stalled >= shortageWindow/stalledShare
}

// clear begins a new window: what was ended gets the time to have an effect.
func (s *shortage) clear() { s.samples = nil }

// choose returns the pod to end, and its score, which is 0 if there is none, by what pods use. Guaranteed pods are not ended.
func choose(pods []pressure.Pod, byClass bool, total uint64) (pressure.Pod, float64) {
	scores := make([]float64, len(pods))

	for i, pod := range pods {
		switch {
		case pod.Used < total/worthShare:
		case pod.Class == pressure.BestEffort:
			scores[i] = float64(pod.Used)
		case pod.Class == pressure.Burstable:
			scores[i] = float64(pod.Used) / 2
		}
	}

	return highest(pods, scores, byClass)
}

// highest returns the pod with the highest score, and its score, which is 0 if none is above 0. Pods of the machine itself are not ended.
func highest(pods []pressure.Pod, scores []float64, byClass bool) (best pressure.Pod, score float64) {
	for i, pod := range pods {
		s := scores[i]
		if pod.Static || !(s > 0) { // or not a number
			continue
		}

		switch {
		case score == 0, s > score && (!byClass || pod.Class == best.Class), byClass && pod.Class < best.Class:
			best, score = pod, s
		}
	}

	return best, score
}
