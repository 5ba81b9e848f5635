// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/network"
)

const (
	// gatewayEvery is the time between two questions to the gateways, and gatewayPatience is how long they may take to answer: longer than
	// the kernel needs to notice that they do not.
	gatewayEvery    = 5 * time.Second
	gatewayPatience = 12 * time.Second
	// failuresInLoop is the number of failures without a success after which a controller is in a crash loop.
	failuresInLoop = 5
)

// gateway is a default gateway of the machine, or a link that needs none when it has no address.
type gateway struct {
	addr netip.Addr
	link string
}

// gateways asks the default gateways whether they answer on their network, while a change is on trial that is committed without a person. An
// address and a route say nothing about whether the machine can be reached.
type gateways struct {
	answers func(context.Context, netip.Addr, string) (bool, error)
	// cluster is asked with them, if there is one.
	cluster *apiServers

	mu sync.Mutex
	// trial is the trial in which they are asked, and list are the gateways.
	trial string
	list  []gateway
	stop  context.CancelFunc
	// asked is set when they were asked in this trial; silent are those that did not answer.
	asked  bool
	silent []string
}

// follow begins to ask when a trial begins, and stops when it is over. It calls changed after each round.
func (g *gateways) follow(ctx context.Context, trial string, list []gateway, changed func(), log *slog.Logger) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.list = list

	if g.trial == trial {
		return
	}

	if g.stop != nil {
		g.stop()
		g.stop = nil
	}

	g.trial, g.asked, g.silent = trial, false, nil

	if g.cluster != nil {
		g.cluster.forget()
	}

	if trial != "" {
		ctx, g.stop = context.WithCancel(ctx)
		guard.Detach(log, "gateways", func() { g.ask(ctx, trial, changed, log) })
	}
}

// ask asks until ctx is done.
func (g *gateways) ask(ctx context.Context, trial string, changed func(), log *slog.Logger) {
	for {
		g.mu.Lock()
		list := g.list
		g.mu.Unlock()

		silent := g.round(ctx, list, log)

		g.mu.Lock()
		if g.trial == trial && ctx.Err() == nil {
			g.asked, g.silent = true, silent
		}
		g.mu.Unlock()

		changed()

		select {
		case <-ctx.Done():
			return
		case <-time.After(gatewayEvery):
		}
	}
}

// round asks all gateways and the cluster at the same time, and returns the gateways that do not answer.
func (g *gateways) round(ctx context.Context, list []gateway, log *slog.Logger) (silent []string) {
	ctx, cancel := context.WithTimeout(ctx, gatewayPatience)
	defer cancel()

	var all guard.Group

	if g.cluster != nil {
		all.Go(func() error {
			g.cluster.ask(ctx)

			return nil
		})
	}

	all.Go(func() error {
		silent = g.silentOf(ctx, list, log)

		return nil
	})

	if err := all.Wait(); err != nil {
		log.Error("the gateways could not be asked", "error", err)
	}

	return silent
}

// anySilent reports whether a gateway does not answer now.
func (g *gateways) anySilent(ctx context.Context) bool {
	g.mu.Lock()
	list := g.list
	g.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, serverPatience+time.Second) // the kernel decides in 3 s
	defer cancel()

	return len(g.silentOf(ctx, list, slog.New(slog.DiscardHandler))) > 0
}

// silentOf asks gateways, and returns those that do not answer. An error says nothing about them.
func (g *gateways) silentOf(ctx context.Context, list []gateway, log *slog.Logger) (silent []string) {
	var (
		all guard.Group
		mu  sync.Mutex
	)

	for _, gw := range list {
		if !gw.addr.IsValid() {
			continue
		}

		all.Go(func() error {
			answers, err := g.answers(ctx, gw.addr, gw.link)
			if err != nil {
				log.Warn("whether the gateway answers is not known", "gateway", gw.addr, "link", gw.link, "error", err)
			}

			if err == nil && !answers {
				mu.Lock()
				defer mu.Unlock()

				silent = append(silent, fmt.Sprintf("%s on %s", gw.addr, gw.link))
			}

			return nil
		})
	}

	if err := all.Wait(); err != nil {
		log.Error("the gateways could not be asked", "error", err)
	}

	slices.Sort(silent)

	return silent
}

// condition returns the condition of the gateways.
func (g *gateways) condition() trial.Condition {
	g.mu.Lock()
	defer g.mu.Unlock()

	c := trial.Condition{Name: gatewayCondition, Kind: trial.OwnBefore}

	switch {
	case len(g.list) == 0:
		c.Why = "there is no default route"
	case g.trial != "" && !g.asked:
		c.Why = "it is being asked"
	case len(g.silent) > 0:
		c.Why = strings.Join(g.silent, ", ") + " does not answer on its network"
	default:
		c.Met = true
	}

	return c
}

// gatewaysOf returns the gateways of default routes. That of a route whose link reaches all directly has no address.
func gatewaysOf(routes []*resource.Typed[network.RouteStatusSpec]) []gateway {
	var out []gateway

	for _, r := range routes {
		s := r.TypedSpec()
		if !s.IsDefault() {
			continue
		}

		if len(s.NextHops) == 0 {
			out = append(out, gateway{s.Gateway, s.OutLinkName})
		}

		for _, hop := range s.NextHops {
			out = append(out, gateway{hop.Gateway, hop.OutLinkName})
		}
	}

	slices.SortFunc(out, func(a, b gateway) int { return strings.Compare(a.addr.String()+a.link, b.addr.String()+b.link) })

	return slices.Compact(out)
}

// volumesCondition returns the condition of the volumes: all are ready.
func volumesCondition(volumes []*resource.Typed[block.VolumeStatusSpec]) trial.Condition {
	var waiting []string

	for _, v := range volumes {
		if phase := v.TypedSpec().Phase; phase != block.VolumePhaseReady {
			waiting = append(waiting, fmt.Sprintf("%s is %s", v.Metadata().ID(), phase))
		}
	}

	return trial.Condition{Name: "volumes", Kind: trial.OwnBefore, Met: len(waiting) == 0, Why: strings.Join(waiting, ", ")}
}

// controllersCondition returns the condition of the controllers: none is in a crash loop. It is one of the cluster if nothing but other machines
// makes them fail.
func controllersCondition(failing []*resource.Typed[meta.ControllerStatusSpec]) trial.Condition {
	var loops []string

	kind := trial.Cluster

	for _, f := range failing {
		s := f.TypedSpec()
		if s.Failures < failuresInLoop {
			continue
		}

		loops = append(loops, fmt.Sprintf("%s fails again and again: %s", f.Metadata().ID(), s.Error))

		if !s.Unreached {
			kind = trial.OwnBefore
		}
	}

	return trial.Condition{Name: "controllers", Kind: kind, Met: len(loops) == 0, Why: strings.Join(loops, "; ")}
}
