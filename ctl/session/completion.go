// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/client"
)

// Complete offers words for a flag.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	CompleteBy(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteBy offers what words returns for a flag.
func CompleteBy(cmd *cobra.Command, flag string, words cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, words); err != nil {
		panic(err) // The flag is not defined, or has words already: a mistake of the caller.
	}
}

// completeFlags offers contexts, endpoints and nodes.
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

// Beginning are the words that begin with what is typed: not every shell looks.
func Beginning(typed string, words []string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) })
}

// completeList offers words for the last element of a list with commas between.
func completeList(words func(cmd *cobra.Command) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]

		offered := words(cmd)
		for i := range offered {
			offered[i] = before + offered[i]
		}

		return Beginning(typed, offered), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// memberNames are the nodes of the configuration, and the addresses and names of the cluster's members as an endpoint
// knows them.
func (s *Session) memberNames(ctx context.Context) []string {
	configured, err := s.Configured()
	if err != nil {
		return nil
	}

	names := slices.Clone(configured.Nodes)
	here := Session{talosconfig: s.talosconfig, context: s.context, endpoints: configured.Dial()[:1], CompletionTimeout: s.CompletionTimeout}

	here.Ask(ctx, func(ctx context.Context, n Node) {
		members, _ := All(n.Resources(ctx, client.Kind{Namespace: "cluster", Type: "Members.cluster.talos.dev"}))
		for _, r := range members {
			spec, err := DecodeSpec[struct {
				Hostname  string   `yaml:"hostname"`
				Addresses []string `yaml:"addresses"`
			}](r)
			if err != nil {
				return
			}

			names = append(append(names, spec.Addresses...), spec.Hostname)
		}
	})

	slices.Sort(names)

	return slices.Compact(names)
}

// Ask asks the first node something for a completion: in little time, and with no word about failures.
func (s *Session) Ask(ctx context.Context, question func(ctx context.Context, n Node)) {
	nodes, closeAll, err := s.Targets()
	if err != nil {
		return
	}

	defer closeAll()

	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.CompletionTimeout, 2*time.Second))
	defer cancel()

	question(nodes[0].Forward(ctx), nodes[0])
}

// CompleteArg offers what the first node has for the argument at a position.
func (s *Session) CompleteArg(at int, words func(n Node, ctx context.Context) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var offered []string

		if len(args) == at {
			s.Ask(cmd.Context(), func(ctx context.Context, n Node) { offered, _ = words(n, ctx) })
		}

		return Beginning(typed, offered), cobra.ShellCompDirectiveNoFileComp
	}
}
