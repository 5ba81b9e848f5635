// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/sys/clock"
)

// answer is the sample of a server.
type answer struct {
	Sample

	server string
}

// slack is the error that a busy computer adds to an answer.
const slack = 50 * time.Millisecond

// low and high are the bounds of the offset if the server is right.
func (a answer) low() time.Duration  { return a.Offset - a.Distance - slack }
func (a answer) high() time.Duration { return a.Offset + a.Distance + slack }

// errDisagree is the error when no majority of the servers agrees.
var errDisagree = errors.New("the time servers disagree")

// verdict on answers of several servers.
type verdict struct {
	// best of those that agree: the one with the smallest error.
	best answer
	// agree are the servers that agree, wrong the others.
	agree, wrong []string
	// leap is the leap second that most of the agreeing servers announce.
	leap clock.Leap
}

// agree finds the offset that most servers agree on (RFC 5905, 11.2.1): the largest set of answers whose intervals have a point in
// common. It must have more than half of the answers, so that one of three servers may be wrong. Two servers that contradict each
// other are both ignored.
func agree(answers []answer) (verdict, error) {
	var most []answer

	for _, at := range answers { // the most intervals overlap where one of them begins
		var here []answer

		for _, a := range answers {
			if a.low() <= at.low() && at.low() <= a.high() {
				here = append(here, a)
			}
		}

		if len(here) > len(most) {
			most = here
		}
	}

	if 2*len(most) <= len(answers) {
		return verdict{}, fmt.Errorf("%w: %s", errDisagree, list(answers))
	}

	v := verdict{best: slices.MinFunc(most, func(a, b answer) int { return cmp.Compare(a.Distance, b.Distance) })}
	announced := map[clock.Leap]int{}

	for _, a := range answers {
		if !slices.Contains(most, a) {
			v.wrong = append(v.wrong, a.server)

			continue
		}

		v.agree = append(v.agree, a.server)

		if announced[a.Leap]++; 2*announced[a.Leap] > len(most) {
			v.leap = a.Leap
		}
	}

	return v, nil
}

func list(answers []answer) string {
	texts := make([]string, len(answers))
	for i, a := range answers {
		texts[i] = fmt.Sprintf("%s says that this clock is off by %s", a.server, a.Offset)
	}

	return strings.Join(texts, ", ")
}
