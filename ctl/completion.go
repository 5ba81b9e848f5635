// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/talosconfig"
)

// complete offers words for a flag.
func complete(cmd *cobra.Command, flag string, words ...string) {
	completeBy(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func completeBy(cmd *cobra.Command, flag string, words cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, words); err != nil {
		panic(err) // The flag is not defined, or has words already: a mistake of the caller.
	}
}

// completeFlags offers contexts, endpoints and nodes.
func (c *connection) completeFlags(cmd *cobra.Command) {
	completeBy(cmd, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		path, err := talosconfig.Path(c.talosconfig)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}

		config, err := talosconfig.Load(path)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}

		return config.Names(), cobra.ShellCompDirectiveNoFileComp
	})

	completeBy(cmd, "endpoints", completeList(func(*cobra.Command) []string {
		context, err := c.configured()
		if err != nil {
			return nil
		}

		return context.Dial()
	}))

	completeBy(cmd, "nodes", completeList(func(cmd *cobra.Command) []string { return c.memberNames(cmd.Context()) }))
}

// beginning are the words that begin with what is typed: not every shell looks.
func beginning(typed string, words []string) []string {
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

		return beginning(typed, offered), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// memberNames are the nodes of the configuration, and the addresses and names of the cluster's members as an endpoint
// knows them.
func (c *connection) memberNames(ctx context.Context) []string {
	configured, err := c.configured()
	if err != nil {
		return nil
	}

	names := slices.Clone(configured.Nodes)
	here := connection{talosconfig: c.talosconfig, context: c.context, endpoints: configured.Dial()[:1], CompletionTimeout: c.CompletionTimeout}

	here.ask(ctx, func(ctx context.Context, n node) {
		for r, err := range n.Resources(ctx, client.Kind{Namespace: "cluster", Type: "Members.cluster.talos.dev"}) {
			if err != nil {
				return
			}

			spec, err := decodeSpec[struct {
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

// ask asks the first node something for a completion: in little time, and with no word about failures.
func (c *connection) ask(ctx context.Context, question func(ctx context.Context, n node)) {
	nodes, closeAll, err := c.targets()
	if err != nil {
		return
	}

	defer closeAll()

	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.CompletionTimeout, 2*time.Second))
	defer cancel()

	question(nodes[0].towards(ctx), nodes[0])
}

// completeArg offers what the first node has for the argument at a position.
func (c *connection) completeArg(at int, words func(n node, ctx context.Context) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var offered []string

		if len(args) == at {
			c.ask(cmd.Context(), func(ctx context.Context, n node) { offered, _ = words(n, ctx) })
		}

		return beginning(typed, offered), cobra.ShellCompDirectiveNoFileComp
	}
}

// serviceIDs are the services that the node has.
func (n node) serviceIDs(ctx context.Context) ([]string, error) {
	services, err := n.Services(ctx)

	var ids []string
	for _, service := range services {
		ids = append(ids, service.GetId())
	}

	return ids, err
}

// completeGet offers resource types, and the ids that there are of one.
func completeGet(c *connection, g *get) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var offered []string

		c.ask(cmd.Context(), func(ctx context.Context, n node) {
			definitions, err := n.Definitions(ctx)

			switch {
			case err != nil:
			case len(args) == 0:
				offered = typeNames(definitions)
			case len(args) == 1:
				offered = n.resourceIDs(ctx, definitions, args[0], g.namespace)
			}
		})

		return beginning(typed, offered), cobra.ShellCompDirectiveNoFileComp
	}
}

func typeNames(definitions client.Definitions) []string {
	var names []string

	for _, definition := range definitions {
		names = append(append(names, definition.Type, strings.ToLower(definition.DisplayType)), definition.AllAliases...)
	}

	slices.Sort(names)

	return slices.Compact(names)
}

func (n node) resourceIDs(ctx context.Context, definitions client.Definitions, name, namespace string) []string {
	definition, err := definitions.Find(name)
	if err != nil {
		return nil
	}

	var ids []string

	for r, err := range n.Resources(ctx, client.Kind{Namespace: cmp.Or(namespace, definition.DefaultNamespace), Type: definition.Type}) {
		if err != nil {
			break
		}

		ids = append(ids, r.GetMetadata().GetId())
	}

	return ids
}
