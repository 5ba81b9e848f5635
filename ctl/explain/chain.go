// SPDX-License-Identifier: Apache-2.0

package explain

import "slices"

// Symptom is something that may not be as it should be.
type Symptom struct {
	Kind Kind
	// Type and Namespace are set for resources only.
	Type, Namespace, ID string
}

// Kind is the kind of a symptom.
type Kind string

// The kinds.
const (
	Machine    Kind = "machine"    // not ready
	Condition  Kind = "condition"  // of the machine's readiness, unmet
	InstanceOf Kind = "resource"   // missing, or saying that it is not ready
	ServiceOf  Kind = "service"    // not up
	PodOf      Kind = "pod"        // static, not ready
	Controller Kind = "controller" // failing, or waiting
	Route      Kind = "route"      // there is no default route
	Address    Kind = "address"    // there is no address
	Cable      Kind = "cable"      // there is no network card with a carrier
	Names      Kind = "names"      // are not resolved
	Endpoint   Kind = "endpoint"   // of the cluster, not answering
	Quorum     Kind = "quorum"     // of etcd, lost
	ImageOf    Kind = "image"      // of a pod, not pulled
)

// Finding is what a rule found out about a symptom.
type Finding struct {
	// Says is what is wrong, as a sentence that names its subject.
	Says     string
	Evidence []string
	// Try is what to do if this is the root cause.
	Try string
	// Because are the symptoms that may have caused it.
	Because []Symptom
	// Vague is set if this cannot be a root cause: without a further cause, the reason is unknown.
	Vague bool
}

// Step is a step of a chain of causes.
type Step struct {
	Symptom
	Finding

	Causes []*Step
}

// Root reports whether the chain ends here.
func (s *Step) Root() bool { return len(s.Causes) == 0 }

// Explain follows a symptom to its causes; nil if there is nothing wrong.
func Explain(f *Facts, s Symptom) *Step {
	e := &explorer{facts: f, known: map[Symptom]*Step{}}

	return e.follow(s)
}

type explorer struct {
	facts *Facts
	known map[Symptom]*Step // nil while it is being followed, or if nothing is wrong
}

func (e *explorer) follow(s Symptom) *Step {
	s = e.facts.canonical(s)

	if step, known := e.known[s]; known {
		return step
	}

	e.known[s] = nil // a circle explains nothing

	finding := rules[s.Kind](e.facts, s)
	if finding == nil {
		return nil
	}

	step := &Step{Symptom: s, Finding: *finding}

	for _, cause := range finding.Because {
		if c := e.follow(cause); c != nil && !slices.Contains(step.Causes, c) {
			step.Causes = append(step.Causes, c)
		}
	}

	// Guesses are dropped when there is a certain cause.
	if slices.ContainsFunc(step.Causes, certain) {
		step.Causes = slices.DeleteFunc(step.Causes, func(c *Step) bool { return !certain(c) })
	}

	e.known[s] = step

	return step
}

// certain reports whether one of the ends of the chain is more than a guess.
func certain(s *Step) bool {
	if s.Root() {
		return !s.Vague
	}

	return slices.ContainsFunc(s.Causes, certain)
}

// Roots returns the shortest chain from the symptom to each root cause. Certain causes come before guesses, and then the causes that
// explain the most.
func (s *Step) Roots() [][]*Step {
	var (
		chains [][]*Step
		queue  = [][]*Step{{s}}
		seen   = map[*Step]bool{s: true}
	)

	for len(queue) > 0 {
		chain := queue[0]
		queue = queue[1:]
		last := chain[len(chain)-1]

		if last.Root() {
			chains = append(chains, chain)
		}

		for _, c := range last.Causes {
			if !seen[c] {
				seen[c] = true
				queue = append(queue, append(slices.Clone(chain), c))
			}
		}
	}

	rank := func(chain []*Step) int {
		root := chain[len(chain)-1]
		n := len(s.through(root))

		if !root.Vague {
			n += 1000
		}

		return -n
	}

	slices.SortStableFunc(chains, func(a, b []*Step) int { return rank(a) - rank(b) })

	return chains
}

// through returns the direct causes of the step that lead to the root.
func (s *Step) through(root *Step) []*Step {
	var out []*Step

	for _, c := range s.Causes {
		if c.leads(root) {
			out = append(out, c)
		}
	}

	return out
}

func (s *Step) leads(to *Step) bool {
	return s == to || slices.ContainsFunc(s.Causes, func(c *Step) bool { return c.leads(to) })
}
