// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Complete completes a flag with these values.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	CompleteBy(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteBy completes a flag with the values that complete returns.
func CompleteBy(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag is not defined, or has a completion already: an error in the program
	}
}

// completeFlags completes contexts, endpoints and nodes.
func (s *Session) completeFlags(cmd *cobra.Command) {
	CompleteBy(cmd, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, _, err := s.load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}

		return config.Names(), cobra.ShellCompDirectiveNoFileComp
	})

	CompleteBy(cmd, "endpoints", completeList(func(*cobra.Command) []string {
		context, err := s.Configured()
		if err != nil {
			return nil
		}

		return context.Dial()
	}))

	CompleteBy(cmd, "nodes", completeList(func(cmd *cobra.Command) []string { return s.memberNames(cmd.Context()) }))
}

// Beginning returns the values that begin with what is typed. Not every shell filters them itself.
func Beginning(typed string, values []string) []string {
	return slices.DeleteFunc(values, func(value string) bool { return !strings.HasPrefix(value, typed) })
}

// completeList completes the last element of a comma-separated list.
func completeList(values func(cmd *cobra.Command) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]

		offered := values(cmd)
		for i := range offered {
			offered[i] = before + offered[i]
		}

		return Beginning(typed, offered), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// memberNames returns the nodes of the client configuration, and the addresses and names of the cluster members that an endpoint
// knows.
func (s *Session) memberNames(ctx context.Context) []string {
	configured, err := s.Configured()
	if err != nil {
		return nil
	}

	names := slices.Clone(configured.Nodes)
	here := Session{talosconfig: s.talosconfig, context: s.context, endpoints: configured.Dial()[:1], CompletionTimeout: s.CompletionTimeout}

	here.Ask(ctx, func(ctx context.Context, n Node) {
		members, _ := n.Members(ctx)
		for _, m := range members {
			names = append(append(names, m.Addresses...), m.Name, m.Hostname)
		}
	})

	slices.Sort(names)

	return slices.Compact(slices.DeleteFunc(names, func(name string) bool { return name == "" }))
}

// Ask calls the first node for a completion, with a short timeout. Failures are not reported.
func (s *Session) Ask(ctx context.Context, call func(ctx context.Context, n Node)) {
	nodes, closeAll, err := s.Targets()
	if err != nil {
		return
	}

	defer closeAll()

	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.CompletionTimeout, 2*time.Second))
	defer cancel()

	call(nodes[0].Forward(ctx), nodes[0])
}

// CompleteArg completes the argument at a position with the values that the first node returns.
func (s *Session) CompleteArg(at int, values func(n Node, ctx context.Context) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var offered []string

		if len(args) == at {
			s.Ask(cmd.Context(), func(ctx context.Context, n Node) { offered, _ = values(n, ctx) })
		}

		return Beginning(typed, offered), cobra.ShellCompDirectiveNoFileComp
	}
}
