// SPDX-License-Identifier: Apache-2.0

//go:build linux

package time

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// round is the result of asking all servers once.
type round struct {
	verdict

	kisses map[string]*KissError // by server
	err    error
}

// maxAsked is the number of servers that are asked at once.
const maxAsked = 8

// toAsk are the servers that are asked now: all that do not want to be left alone, or as many of them as are allowed, from
// others on each time that none was right.
func (l *loop) toAsk(now time.Time) []string {
	var servers []string

	for i := range l.servers {
		server := l.servers[(l.first+i)%len(l.servers)]
		if now.Before(l.held[server]) || len(servers) == maxAsked {
			continue
		}

		servers = append(servers, server)
	}

	return servers
}

// ask asks the servers, all at once. It is done when more than half of them agree, or all have answered or had their time.
func (l *loop) ask(ctx context.Context, servers []string) round {
	if len(servers) == 0 {
		return round{err: errors.New("there is no time server (talosctl get timeservers), or all want to be left alone")}
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	type result struct {
		answer
		err error
	}

	results := make(chan result, len(servers))

	for _, server := range servers {
		guard.Go(func() error {
			r := result{answer: answer{server: server}}

			r.err = guard.Call(func() (err error) {
				r.Sample, err = l.Clock.Query(ctx, server)

				return err
			})

			if said := time.Now().Add(r.Offset); r.err == nil && said.Before(l.Clock.Earliest) {
				r.err = fmt.Errorf("%s says that it is %s, but this version was made later", server, said.UTC().Format(time.RFC3339))
			}

			results <- r

			return nil
		})
	}

	var (
		answers []answer
		errs    []error
		kisses  = map[string]*KissError{}
	)

	for range servers {
		r := <-results

		if kiss := (*KissError)(nil); errors.As(r.err, &kiss) {
			kisses[r.server] = kiss
		}

		if r.err != nil {
			errs = append(errs, r.err)

			continue
		}

		answers = append(answers, r.answer)

		if v, err := agree(answers); err == nil && 2*len(v.agree) > len(servers) {
			return round{verdict: v, kisses: kisses}
		}
	}

	if len(answers) == 0 {
		return round{kisses: kisses, err: errors.Join(errs...)}
	}

	v, err := agree(answers)

	return round{verdict: v, kisses: kisses, err: err}
}
