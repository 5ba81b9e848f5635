// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/trial"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

// trials is the kind of changes on trial.
var trials = client.Kind{Namespace: "runtime", Type: "Trials.runtime.talos.dev"}

type trialSpec struct {
	State string `yaml:"state"`
	Why   string `yaml:"why"`
	Waits string `yaml:"waits"`
}

// armedTrial returns the id of the trial that begins with the node's next boot, or an empty string: other systems have none.
func armedTrial(ctx context.Context, n session.Node) string {
	for r, err := range n.Resources(ctx, trials) {
		if err != nil {
			return ""
		}

		if spec, err := session.DecodeSpec[trialSpec](r); err == nil && spec.State == "armed" {
			return r.GetMetadata().GetId()
		}
	}

	return ""
}

// errReverted is the error of a node that has gone back to the version before.
var errReverted = errors.New("the node has gone back to the version that it had before")

// untilKept waits until the trial of a version is decided.
func untilKept(ctx context.Context, n session.Node, id string, say func(string)) error {
	var (
		spec   trialSpec
		waited string
	)

	err := until(ctx, "for the trial of the version", func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, pollTimeout)
		defer cancel()

		r, err := n.Resource(ctx, trials, id)
		if err != nil {
			return false, err
		}

		if spec, err = session.DecodeSpec[trialSpec](r); err != nil {
			return false, err
		}

		if spec.Waits != "" && spec.Waits != waited {
			waited = spec.Waits
			say("the version is tried; waits for: " + waited)
		}

		return spec.State == "committed" || spec.State == "reverted", nil
	})

	switch {
	case err != nil:
		return err
	case spec.State == "reverted":
		return fmt.Errorf("%w: %s", errReverted, spec.Why)
	default:
		say("the version stays: " + spec.Why)

		return nil
	}
}

// mayRestart reports whether a node restarts after a call that asked it to: without an answer it may.
func mayRestart(err error) bool {
	switch status.Code(err) {
	case codes.OK, codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unknown:
		return true
	default:
		return false
	}
}

// withdraw ends the trial that begins with the node's next boot, also when the command was interrupted. It reports whether there was one:
// other systems have none.
func withdraw(ctx context.Context, n session.Node) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()

	id := armedTrial(ctx, n)
	if id == "" {
		return false, nil
	}

	_, err := n.Confirm(ctx, &trial.ConfirmRequest{Id: id, Revert: true})

	return err == nil, err
}
