// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/control"
	"github.com/seed-59268b81/talos/lab/netswitch"
)

// etherHeader is the size of the Ethernet header, which DropOver of package netswitch includes.
const etherHeader = 14

// direction is a set of directions of a link, from the point of view of its machine.
type direction uint

const (
	in direction = 1 << iota
	out
	both = in | out
)

// linkFlags holds the flags of a fault of a link.
type linkFlags struct {
	direction direction
	time      time.Duration
}

func (f *linkFlags) flags(cmd *cobra.Command) {
	session.EnumFlag(cmd, &f.direction, "direction", "", "both", "which packets: in (to the machine), out (from it) or both",
		[]session.Named[direction]{{Name: "in", Value: in}, {Name: "out", Value: out}, {Name: "both", Value: both}})
	cmd.Flags().DurationVar(&f.time, "for", 0, "wait this long, then put the links back as they were")
}

// each returns a function that edits the directions of a link.
func each(directions direction, edit func(*netswitch.Impairment)) func(*netswitch.Link) {
	return func(l *netswitch.Link) {
		if directions&in != 0 {
			edit(&l.In)
		}

		if directions&out != 0 {
			edit(&l.Out)
		}
	}
}

// linkFault describes a command that changes one property of links.
type linkFault struct {
	use, short, long, example string
	// edit returns what changes a link, from the value of the command if it has one.
	edit func(value string) (func(*netswitch.Impairment), error)
	// flags adds further flags; it may be nil.
	flags func(*cobra.Command)
}

func newLinkCommands(p *place) []*cobra.Command {
	var (
		jitter time.Duration
		all    []*cobra.Command
	)

	for _, fault := range []linkFault{
		{
			use: "delay NAME TIME", short: "Delay packets",
			long: "Delay each packet by TIME, in each direction: an answer is late by twice that. 0 removes the delay.",
			example: `  talosctl cluster net delay worker-1 200ms --jitter 20ms
  talosctl cluster net delay worker-1/storage 1s --direction in
  talosctl cluster net delay site-1-router/internet 50ms`,
			edit: func(value string) (func(*netswitch.Impairment), error) {
				delay, err := time.ParseDuration(value)
				if err != nil {
					return nil, fmt.Errorf("delay %q: want a time such as 200ms", value)
				}

				return func(i *netswitch.Impairment) { i.Delay, i.Jitter = delay, jitter }, nil
			},
			flags: func(cmd *cobra.Command) {
				cmd.Flags().DurationVar(&jitter, "jitter", 0, "random variation of the delay, at most this much")
			},
		},
		{
			use: "loss NAME PERCENT", short: "Lose packets",
			long:    "Lose PERCENT of the packets in each direction. 0 loses none.",
			example: "  talosctl cluster net loss worker-1 5%",
			edit:    percent(func(i *netswitch.Impairment) *float64 { return &i.Loss }),
		},
		{
			use: "duplicate NAME PERCENT", short: "Deliver packets twice",
			long:    "Deliver PERCENT of the packets in each direction twice. 0 delivers each once.",
			example: "  talosctl cluster net duplicate worker-1 10%",
			edit:    percent(func(i *netswitch.Impairment) *float64 { return &i.Duplicate }),
		},
		{
			use: "corrupt NAME PERCENT", short: "Damage packets",
			long:    "Flip one bit of PERCENT of the packets in each direction. 0 damages none.",
			example: "  talosctl cluster net corrupt worker-1 0.1%",
			edit:    percent(func(i *netswitch.Impairment) *float64 { return &i.Corrupt }),
		},
		{
			use: "bandwidth NAME RATE", short: "Limit the bandwidth",
			long:    "Let no more than RATE pass in each direction: bits per second, such as 10Mbit. 0 means unlimited.",
			example: "  talosctl cluster net bandwidth site-1-router/internet 10Mbit",
			edit: func(value string) (func(*netswitch.Impairment), error) {
				rate, unit, err := humanize.ParseSI(value)
				if err != nil || !(rate >= 0 && rate <= 1e15) || !slices.Contains([]string{"", "bit", "bit/s", "bps"}, unit) {
					return nil, fmt.Errorf("bandwidth %q: want bits per second such as 10Mbit", value)
				}

				return func(i *netswitch.Impairment) { i.Bandwidth = uint64(rate) }, nil
			},
		},
		{
			use: "mtu NAME BYTES", short: "Lose packets that are too big, silently",
			long: `Lose each packet of more than BYTES, without an ICMP error to its sender: a black hole for path MTU discovery. 0 lets all pass.`,
			example: `  talosctl cluster net mtu worker-1 1400
  talosctl cluster net mtu worker-1 0`,
			edit: func(value string) (func(*netswitch.Impairment), error) {
				size, err := strconv.ParseUint(value, 10, 16)
				if err != nil {
					return nil, fmt.Errorf("MTU %q: want a number of bytes such as 1400", value)
				}

				return func(i *netswitch.Impairment) {
					if i.DropOver = int(size) + etherHeader; size == 0 {
						i.DropOver = 0
					}
				}, nil
			},
		},
		{
			use: "cut NAME", short: "Let no packet through",
			long: "Let no packet through, as if the cable were cut. The card keeps its carrier. talosctl cluster net heal NAME removes the fault.",
			example: `  talosctl cluster net cut worker-1
  talosctl cluster net cut worker-1 --direction out --for 30s`,
			edit: func(string) (func(*netswitch.Impairment), error) {
				return func(i *netswitch.Impairment) { i.Cut = true }, nil
			},
		},
	} {
		all = append(all, newLinkCommand(p, fault))
	}

	return all
}

func newLinkCommand(p *place, fault linkFault) *cobra.Command {
	var f linkFlags

	count := strings.Count(fault.use, " ")
	cmd := &cobra.Command{
		Use: fault.use, Short: fault.short, Long: fault.long, Example: fault.example,
		Args:              cobra.ExactArgs(count),
		ValidArgsFunction: completion(p, allNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			edit, err := fault.edit(args[count-1])
			if err != nil {
				return err
			}

			return f.run(cmd, p, args[0], edit)
		},
	}

	f.flags(cmd)

	if fault.flags != nil {
		fault.flags(cmd)
	}

	return cmd
}

// percent returns an edit that parses a probability such as 5%.
func percent(of func(*netswitch.Impairment) *float64) func(string) (func(*netswitch.Impairment), error) {
	return func(value string) (func(*netswitch.Impairment), error) {
		p, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return nil, fmt.Errorf("%q: want a percentage from 0 to 100, such as 5%%", value)
		}

		return func(i *netswitch.Impairment) { *of(i) = p / 100 }, nil
	}
}

// run changes the links of a name, for a time or until they are healed.
func (f *linkFlags) run(cmd *cobra.Command, p *place, name string, edit func(*netswitch.Impairment)) error {
	l, err := p.open()
	if err != nil {
		return err
	}

	name = fullName(l, name)
	directions := f.direction

	// A packet from one port of a network to another port must not get the fault twice.
	if _, ok := l.State().World.Network(name); ok && directions == both {
		directions = in
	}

	before, err := links(cmd.Context(), l, name)
	if err != nil {
		return err
	}

	if err := l.EditLink(cmd.Context(), name, each(directions, edit)); err != nil {
		return err
	}

	if err := printLinks(cmd.Context(), cmd.OutOrStdout(), l, name); err != nil || f.time == 0 {
		return err
	}

	return lasting(cmd, f.time, func(ctx context.Context) error {
		var errs []error
		for _, link := range before {
			errs = append(errs, l.SetLink(ctx, link.Exact(), link.Link))
		}

		return errors.Join(errs...)
	})
}

// lasting undoes a fault after its time, or when the command is interrupted.
func lasting(cmd *cobra.Command, d time.Duration, undo func(context.Context) error) error {
	ctx := cmd.Context()

	select {
	case <-time.After(d):
	case <-ctx.Done():
	}

	if err := undo(context.WithoutCancel(ctx)); err != nil {
		return err
	}

	fmt.Fprintln(cmd.OutOrStdout(), "as before")

	return nil
}

// links returns the links of a name.
func links(ctx context.Context, l *lab.Lab, name string) ([]control.LinkStatus, error) {
	s := l.State()

	ports, err := s.World.Find(s.Machines(), name)
	if err != nil {
		return nil, err
	}

	status, err := l.Status(ctx)
	if err != nil {
		return nil, err
	}

	return slices.DeleteFunc(status.Links(), func(link control.LinkStatus) bool { return !slices.Contains(ports, link.Port) }), nil
}

func printLinks(ctx context.Context, w io.Writer, l *lab.Lab, name string) error {
	now, err := links(ctx, l, name)
	if err != nil {
		return err
	}

	for _, link := range now {
		fmt.Fprintf(w, "%s on %s: %s\n", link.Name, link.Network, describe(link.Link))
	}

	return nil
}
