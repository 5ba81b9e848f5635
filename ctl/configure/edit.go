// SPDX-License-Identifier: Apache-2.0

package configure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/ctl/session"
)

func newEditCommand(s *session.Session) *cobra.Command {
	var (
		applying  applying
		namespace string
	)

	cmd := s.Flags(&cobra.Command{
		Use:   "edit machineconfig [ID]",
		Short: "Change the machine configuration of the nodes in an editor",
		Long: `Open the machine configuration of each node, one after the other, in an editor ($TALOS_EDITOR, $EDITOR or vi), and send the saved
file. An unchanged file is not sent. If the node rejects the configuration, the editor opens again. If the node's configuration has changed
in the meantime, the node refuses the edited one, and the file is kept.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := machineConfigArgs(cmd, args)
			if err != nil {
				return err
			}

			if namespace != machineConfigKind.Namespace {
				return session.UsageError(cmd, "--namespace %q: machine configurations are in %s", namespace, machineConfigKind.Namespace)
			}

			return s.InTurn(cmd, func(ctx context.Context, n session.Node) error {
				from, err := readMachineConfig(ctx, n, id)
				if err != nil {
					return err
				}

				return editAndSend(ctx, cmd, n, &applying, from)
			})
		},
		ValidArgsFunction: completeMachineConfig,
	})

	applying.flags(cmd)
	cmd.Flags().StringVar(&namespace, "namespace", machineConfigKind.Namespace, "namespace of the resource; config is the only one")

	return cmd
}

func editAndSend(ctx context.Context, cmd *cobra.Command, n session.Node, applying *applying, from start) error {
	// The file holds secrets, so it is in a directory of its own.
	directory, err := os.MkdirTemp("", "talosctl-edit-")
	if err != nil {
		return fmt.Errorf("edit: %w", err)
	}

	path, keep := filepath.Join(directory, "machineconfig.yaml"), false

	defer func() {
		if !keep {
			os.RemoveAll(directory) // there is nothing to do about a failure
		}
	}()

	var refused error

	for before := from.text; ; {
		edited, err := edit(ctx, cmd, path, editHeader(n.Name, refused)+before)
		if err != nil {
			return err
		}

		switch {
		case edited == before && refused != nil:
			return refused
		case edited == before || strings.TrimSpace(edited) == "":
			_, err := fmt.Fprintf(cmd.ErrOrStderr(), "%s: nothing was changed, nothing was sent\n", n.Name)

			return err
		}

		err = applying.send(ctx, n, cmd.ErrOrStderr(), []byte(edited), from)
		if err == nil || ctx.Err() != nil {
			return err
		}

		if status.Code(err) != codes.InvalidArgument {
			keep = true

			return fmt.Errorf("send configuration (kept in %s): %w", path, err)
		}

		before, refused = edited, err
	}
}

// editMark begins the lines of the header, which are not sent.
const editMark = "#|"

func editHeader(node string, refused error) string {
	text := "The machine configuration of node " + node + ". Save to send it, leave it unchanged to cancel."
	if refused != nil {
		text += "\n\nThe node rejected it:\n" + refused.Error()
	}

	var header strings.Builder

	for line := range strings.SplitSeq(text, "\n") {
		header.WriteString(strings.TrimRight(editMark+" "+line, " ") + "\n")
	}

	return header.String()
}

func withoutHeader(text string) string {
	var kept strings.Builder

	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, editMark) {
			kept.WriteString(line)
		}
	}

	return kept.String()
}

// edit opens the text in an editor, as the file at path, and returns what it saves.
func edit(ctx context.Context, cmd *cobra.Command, path, text string) (string, error) {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}

	editor := strings.Fields(cmp.Or(os.Getenv("TALOS_EDITOR"), os.Getenv("EDITOR"), "vi"))
	if len(editor) == 0 {
		return "", errors.New("edit: $EDITOR is blank")
	}

	//program:user $EDITOR
	program := exec.CommandContext(ctx, editor[0], append(editor[1:], path)...)
	program.Stdin, program.Stdout, program.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()

	if err := program.Run(); err != nil {
		return "", fmt.Errorf("edit: run %s: %w; set $EDITOR to the editor to use", editor[0], err)
	}

	edited, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("edit: %w", err)
	}

	return withoutHeader(string(edited)), nil
}
