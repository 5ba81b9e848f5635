// SPDX-License-Identifier: Apache-2.0

package imagecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// DebugCommand returns talosctl debug.
func DebugCommand(s *session.Session) *cobra.Command {
	var (
		spec     machine.DebugContainerRunRequestSpec
		hostOnly bool
	)

	cmd := s.Flags(&cobra.Command{
		Use:   "debug IMAGE|ARCHIVE",
		Short: "Run a container on one node with this terminal attached",
		Long: `Run a privileged container on one node, with this terminal attached, and remove it when it ends.

The node pulls the image; a file that ends with .tar is sent to the node.`,
		Example: "  talosctl debug -n 172.20.0.2 docker.io/library/busybox:latest --args sh",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec.Profile = machine.DebugContainerRunRequestSpec_PROFILE_PRIVILEGED
			if hostOnly {
				spec.Profile = machine.DebugContainerRunRequestSpec_PROFILE_HOST_NS
			}

			spec.Tty = session.IsTerminal(cmd.InOrStdin()) && session.IsTerminal(cmd.OutOrStdout())

			return s.One(cmd, func(ctx context.Context, n session.Node) error {
				var err error
				if spec.ImageName, err = debugImage(ctx, n, spec.GetContainerd(), args[0]); err != nil {
					return err
				}

				return runAttached(ctx, cmd, n, &spec)
			})
		},
	})

	session.ImageStoreFlag(cmd, &spec.Containerd, "system")
	cmd.Flags().StringArrayVar(&spec.Args, "args", nil, "what to run in the container in place of the image's command; one flag for each argument")
	cmd.Flags().BoolVar(&hostOnly, "host-namespaces", false, "use the namespaces of the node, without further privileges")
	cmd.Flags().StringToStringVar(&spec.Env, "env", nil, "environment, as NAME=VALUE")

	return cmd
}

// debugImage sends or pulls the image to the node, and returns its name there.
func debugImage(ctx context.Context, n session.Node, instance *common.ContainerdInstance, image string) (string, error) {
	if strings.HasSuffix(image, ".tar") {
		file, err := os.Open(image)
		if err != nil {
			return "", fmt.Errorf("send image: %w", err)
		}

		defer file.Close()

		return n.ImportImage(ctx, instance, file)
	}

	return session.PullImage(ctx, n, instance, image)
}

// runAttached connects input and output with the container until it ends.
func runAttached(ctx context.Context, cmd *cobra.Command, n session.Node, spec *machine.DebugContainerRunRequestSpec) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	container, err := n.RunDebugContainer(ctx, spec)
	if err != nil {
		return err
	}

	if spec.GetTty() {
		restore, err := rawTerminal(cmd.InOrStdin().(*os.File), container)
		if err != nil {
			return err
		}

		defer restore()
	}

	// A read from a terminal cannot be canceled: it ends with the program.
	go passInput(cmd.InOrStdin(), container)

	code, err := container.Output(cmd.OutOrStdout())
	if err == nil && code != 0 {
		err = fmt.Errorf("the container ended with exit status %d", code)
	}

	return err
}

func passInput(in io.Reader, container *client.DebugContainer) {
	for buffer := make([]byte, 4096); ; {
		count, err := in.Read(buffer)
		if count > 0 && container.Input(buffer[:count]) != nil {
			return
		}

		if errors.Is(err, io.EOF) {
			container.CloseInput() // a failure shows when the container ends
		}

		if err != nil {
			return
		}
	}
}

// rawTerminal sends every key to the container, and the terminal's size, now and whenever it changes.
func rawTerminal(terminal *os.File, container *client.DebugContainer) (restore func(), err error) {
	fd := int(terminal.Fd())

	tellSize := func() error {
		width, height, err := term.GetSize(fd)
		if err != nil {
			return err
		}

		return container.Resize(width, height)
	}

	if err := tellSize(); err != nil {
		return nil, fmt.Errorf("size of the terminal: %w", err)
	}

	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("set up the terminal: %w", err)
	}

	ignore := onResize(func() { tellSize() }) // a failure shows when the container ends

	return func() {
		ignore()
		term.Restore(fd, state) // there is nothing to do about a failure
	}, nil
}
