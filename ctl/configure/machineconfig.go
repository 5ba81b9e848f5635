// SPDX-License-Identifier: Apache-2.0

package configure

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// machineConfigKind is the kind of the two configurations of a node: the one in effect, and the one of the next boot.
var machineConfigKind = client.Kind{Namespace: "config", Type: "MachineConfigs.config.talos.dev"}

const (
	activeConfig     = "v1alpha1"
	persistentConfig = "persistent"
)

// machineConfigArgs checks the arguments of commands that change a machine configuration, the only resource that can be changed. It
// returns the id, if there is one.
func machineConfigArgs(cmd *cobra.Command, args []string) (id string, err error) {
	switch name := strings.ToLower(args[0]); name {
	case "mc", "machineconfig", "machineconfigs", strings.ToLower(machineConfigKind.Type):
	default:
		return "", session.UsageError(cmd, "resources of type %q cannot be changed: only machineconfig can", args[0])
	}

	if len(args) < 2 {
		return "", nil
	}

	if args[1] != activeConfig && args[1] != persistentConfig {
		return "", session.UsageError(cmd, "there is no machine configuration %q: want %s or %s", args[1], activeConfig, persistentConfig)
	}

	return args[1], nil
}

func completeMachineConfig(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	offered := [][]string{{"machineconfig"}, {persistentConfig, activeConfig}, nil}[min(len(args), 2)]

	return offered, cobra.ShellCompDirectiveNoFileComp
}

// start is the configuration that a change starts from.
type start struct{ id, text string }

// readMachineConfig reads the node's configuration. Without an id it reads the one of the next boot, so that a staged change is not lost.
func readMachineConfig(ctx context.Context, n session.Node, id string) (start, error) {
	if id != "" {
		text, err := oneMachineConfig(ctx, n, id)

		return start{id, text}, err
	}

	text, err := oneMachineConfig(ctx, n, persistentConfig)
	if status.Code(err) == codes.NotFound {
		text, err = oneMachineConfig(ctx, n, activeConfig)

		return start{activeConfig, text}, err
	}

	return start{persistentConfig, text}, err
}

func oneMachineConfig(ctx context.Context, n session.Node, id string) (string, error) {
	r, err := n.Resource(ctx, machineConfigKind, id)
	if err != nil {
		return "", err
	}

	text := r.GetSpec().GetYamlSpec()
	if session.ManyDocuments(text) {
		return text, nil
	}

	spec, err := session.DecodePlain(text)
	if err != nil {
		return "", fmt.Errorf("decode machine configuration: %w", err)
	}

	if block, isText := spec.(string); isText {
		return block, nil
	}

	return text, nil
}
