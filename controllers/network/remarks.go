// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/network"
)

// remarks are the conditions of settings that are left out or followed with changes, by the paths of the settings in the configuration. The
// nil map ignores what is added: several controllers read the same settings, and one of them reports what is wrong.
type remarks map[string]network.SpecConditionSpec

// leftOut reports that a setting cannot be followed. Everything else is.
func (r remarks) leftOut(at string, err error) { r.add(at, network.SpecRefused, err.Error()) }

// add adds what is to be said about a setting. Several remarks about it become one, with the worst state.
func (r remarks) add(at string, state network.SpecState, cause string) {
	if r == nil {
		return
	}

	if other, ok := r[at]; ok {
		state, cause = max(state, other.State), other.Cause+"; "+cause
	}

	r[at] = network.SpecConditionSpec{State: state, Cause: cause}
}

// publish writes the conditions.
func (r remarks) publish(ctx context.Context, rt controller.Runtime) error {
	for at, condition := range r {
		if err := set(ctx, rt, "", network.SpecConditionID(network.ConditionSetting, at), condition); err != nil {
			return err
		}
	}

	return nil
}

// log logs the conditions that were others before.
func (r remarks) log(log *slog.Logger, before remarks) {
	for _, at := range slices.Sorted(maps.Keys(r)) {
		if condition := r[at]; condition != before[at] {
			log.Warn("a setting of the network is not followed as it is", "at", at, "state", condition.State, "cause", condition.Cause)
		}
	}
}
