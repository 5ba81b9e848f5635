// SPDX-License-Identifier: Apache-2.0

package rotateca

import (
	"context"

	"github.com/seed-59268b81/talos/config/talosconfig"
)

// take makes sure that the new talosconfig works, writes it, and goes on with it.
func (r *run) take(ctx context.Context, rotation *rotation) error {
	if len(r.admin.Crt) > 0 {
		return nil
	}

	own, err := administrator(machineAPI, rotation.new, rotation.key)
	if err != nil {
		return err
	}

	proof := r.cluster.as(own, rotation.new)

	if err := r.wait(ctx, "the new talosconfig", func(ctx context.Context) error { return r.cluster.answers(ctx, proof) }); err != nil {
		return err
	}

	if err := write(r.output, r.name, proof); err != nil {
		return err
	}

	r.admin = own
	r.say("  the new talosconfig is in %s, context %s", r.output, r.name)

	return r.cluster.reconnect(r.cluster.as(own, rotation.new, rotation.old))
}

// write puts a context into a talosconfig, whose other contexts stay.
func write(path, name string, context talosconfig.Context) error {
	config, err := talosconfig.LoadOrNew(path)
	if err != nil {
		return err
	}

	if config.Contexts == nil {
		config.Contexts = map[string]*talosconfig.Context{}
	}

	config.Contexts[name], config.Context = &context, name

	return config.Save(path)
}
