// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"context"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/ctl/session"
)

// completePath completes the first argument with paths of the first node.
func completePath(s *session.Session) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace

		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}

		var found []string

		s.Ask(cmd.Context(), func(ctx context.Context, n session.Node) { found = pathsLike(ctx, n, typed) })

		return found, directive
	}
}

// pathsLike returns the paths that begin with what is typed. Paths of directories end with a slash.
func pathsLike(ctx context.Context, n session.Node, typed string) []string {
	directory, _ := path.Split("/" + strings.TrimPrefix(typed, "/"))

	var found []string

	for file, err := range n.List(ctx, &machine.ListRequest{Root: directory}) {
		if err != nil {
			break
		}

		name := path.Join(directory, file.GetRelativeName())
		if file.GetError() != "" || file.GetRelativeName() == "." || !strings.HasPrefix(name, typed) {
			continue
		}

		if file.GetIsDir() {
			name += "/"
		}

		found = append(found, name)
	}

	return found
}
