// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/cosi/resource"
)

const (
	maxHistory = 240  // samples of the CPU
	maxLines   = 2000 // of a log
)

// Node is what is known about a machine.
type Node struct {
	Name string
	// Errors are the failures of the questions, by question.
	Errors map[string]failure
	// Answered is the time of the last answer.
	Answered time.Time

	Version   *machine.VersionInfo
	Load      *machine.LoadAvg
	Memory    *machine.MemInfo
	Stat      *machine.SystemStat
	CPU       []float64 // busy, 0 to 1, oldest first
	Processes []process
	Services  []*machine.ServiceInfo
	Types     client.Definitions

	// Resources are the watched resources, by kind and id.
	Resources map[client.Kind]map[string]*cosiapi.Resource

	// Log has the last lines of the service that is shown.
	Log    []string
	LogErr string
	logged int // lines received, less those that were dropped

	times   map[int32]float64 // CPU seconds of each process, as of the sample before
	sampled time.Time         // when that was
}

type failure struct{ cause, try string }

type process struct {
	*machine.ProcessInfo
	cpu float64 // of one CPU, 0 to 1 and more
}

func newNode(name string) *Node {
	return &Node{Name: name, Errors: map[string]failure{}, Resources: map[client.Kind]map[string]*cosiapi.Resource{}, times: map[int32]float64{}}
}

// dead reports whether the node does not answer.
func (n *Node) dead() bool {
	return len(n.Errors) > 0 && n.Answered.IsZero() || n.Errors[questionAlive].cause != ""
}

// answered records the outcome of a question.
func (n *Node) answered(question string, at time.Time, err error) {
	if err == nil {
		delete(n.Errors, question)
		n.Answered = at

		return
	}

	cause, try := client.Explain(err)
	n.Errors[question] = failure{clean(cause), try}
}

// problems returns the failures in order, each cause once.
func (n *Node) problems() []failure {
	var out []failure

	for _, question := range slices.Sorted(maps.Keys(n.Errors)) {
		f := n.Errors[question]
		_, reason, found := strings.Cut(f.cause, ": ")

		if !found {
			reason = f.cause
		}

		if !slices.ContainsFunc(out, func(o failure) bool { return strings.HasSuffix(o.cause, reason) }) {
			out = append(out, f)
		}
	}

	return out
}

// setStat sets the counters of the CPUs, and the share of busy time since the last counters.
func (n *Node) setStat(stat *machine.SystemStat) {
	if last := n.Stat.GetCpuTotal(); last != nil {
		busy := busyTime(stat.GetCpuTotal()) - busyTime(last)
		all := allTime(stat.GetCpuTotal()) - allTime(last)

		if all > 0 {
			n.CPU = append(n.CPU, min(1, max(0, busy/all)))
			n.CPU = n.CPU[max(0, len(n.CPU)-maxHistory):]
		}
	}

	n.Stat = stat
}

func busyTime(s *machine.CPUStat) float64 {
	return s.GetUser() + s.GetNice() + s.GetSystem() + s.GetIrq() + s.GetSoftIrq() + s.GetSteal()
}

func allTime(s *machine.CPUStat) float64 { return busyTime(s) + s.GetIdle() + s.GetIowait() }

// setProcesses sets the processes, busiest first. Elapsed is the time since they were last set.
func (n *Node) setProcesses(list []*machine.ProcessInfo, elapsed time.Duration) {
	times := make(map[int32]float64, len(list))
	n.Processes = n.Processes[:0]

	for _, p := range list {
		times[p.GetPid()] = p.GetCpuTime()
		shown := process{ProcessInfo: p}

		if before, ok := n.times[p.GetPid()]; ok && elapsed > 0 {
			shown.cpu = max(0, (p.GetCpuTime()-before)/elapsed.Seconds())
		}

		n.Processes = append(n.Processes, shown)
	}

	n.times = times

	slices.SortFunc(n.Processes, func(a, b process) int {
		return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.GetResidentMemory(), a.GetResidentMemory()), cmp.Compare(a.GetPid(), b.GetPid()))
	})
}

// forgetLog drops the lines of the log.
func (n *Node) forgetLog() {
	n.logged -= len(n.Log)
	n.Log, n.LogErr = nil, ""
}

func (n *Node) addLog(lines []string) {
	n.logged += len(lines)

	for _, l := range lines {
		n.Log = append(n.Log, clean(l))
	}

	if extra := len(n.Log) - maxLines; extra > 0 {
		n.Log = slices.Clone(n.Log[extra:])
	}
}

func kindOf[S resource.Spec]() client.Kind {
	def := resource.DefinitionOf[S]()

	return client.Kind{Namespace: def.DefaultNamespace, Type: def.Type}
}

// spec decodes the resource with the id.
func spec[S resource.Spec](n *Node, id string) (S, bool) {
	var s S

	r, ok := n.Resources[kindOf[S]()][id]

	return s, ok && yaml.Unmarshal([]byte(r.GetSpec().GetYamlSpec()), &s) == nil
}

type entry[S resource.Spec] struct {
	id   string
	spec S
}

// specs decodes all resources of a type, by id. It leaves out those that cannot be decoded.
func specs[S resource.Spec](n *Node) []entry[S] {
	kind := n.Resources[kindOf[S]()]

	var out []entry[S]

	for _, id := range slices.Sorted(maps.Keys(kind)) {
		e := entry[S]{id: clean(id)}
		if yaml.Unmarshal([]byte(kind[id].GetSpec().GetYamlSpec()), &e.spec) == nil {
			out = append(out, e)
		}
	}

	return out
}
